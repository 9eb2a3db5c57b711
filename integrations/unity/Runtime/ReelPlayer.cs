using System;
using System.Collections.Generic;
using UnityEngine;
using UnityEngine.Events;

namespace Meshreel
{
    /// <summary>The behaviour at the end of the animation.</summary>
    public enum ReelRepeat
    {
        /// <summary>It stays at the last frame; played backwards, at the first.</summary>
        Once = 0,
        /// <summary>It continues at the other end.</summary>
        Loop = 1,
        /// <summary>As Loop, and the last frame is blended into the first.</summary>
        Cycle = 2,
        /// <summary>It turns around at both ends.</summary>
        PingPong = 3,
    }

    /// <summary>The processor that computes vertices.</summary>
    public enum ReelProcessor
    {
        /// <summary>The graphics card, for meshes of which it can compute all that changes.</summary>
        GraphicsCard = 0,
        /// <summary>The CPU, for all meshes.</summary>
        Cpu = 1,
    }

    /// <summary>The clock of a player.</summary>
    public struct ReelClock
    {
        /// <summary>Seconds of animation from the first frame.</summary>
        public double Position;
        /// <summary>Seconds of all frames.</summary>
        public double Duration;
        /// <summary>Seconds of animation per second.</summary>
        public double Rate;
        /// <summary>True if the file is open; otherwise the numbers above have no meaning.</summary>
        public bool IsOpen;
        /// <summary>True if it is neither stopped nor paused.</summary>
        public bool IsPlaying;
        /// <summary>True if it would play, but data are not in memory yet.</summary>
        public bool IsWaiting;
        /// <summary>True if it has played to the end and does not repeat.</summary>
        public bool HasEnded;
        /// <summary>True if the heap has no room for it.</summary>
        public bool IsRefused;
        /// <summary>Ticks without the frame that should have been shown.</summary>
        public long Missed;
    }

    /// <summary>Plays a `.reel` file: creates objects for its nodes below its own, and shows frames in
    /// them.</summary>
    [AddComponentMenu("Meshreel/Reel Player"), DisallowMultipleComponent]
    public sealed unsafe class ReelPlayer : MonoBehaviour, ITicked, IFileUser
    {
        /// <summary>The file, as an asset of the project.</summary>
        [SerializeField] ReelAsset asset;
        /// <summary>The file, as a path: a full one, or one below StreamingAssets. Used without an
        /// asset.</summary>
        [SerializeField] string path = "";
        [SerializeField] bool playOnEnable = true;
        [SerializeField] double rate = 1;
        [SerializeField] ReelRepeat repeat = ReelRepeat.Loop;
        [SerializeField] bool interpolate = true;
        [SerializeField] double startTime;
        [SerializeField] int frameStep = 1;
        [SerializeField] int priority;
        [SerializeField] bool visible = true;

        /// <summary>Materials by the names in the file. Applied when objects are created.</summary>
        public ReelMaterials materials;
        /// <summary>Normals of meshes that have none. Applied when objects are created.</summary>
        public ReelNormals normals = ReelNormals.Computed;
        /// <summary>The processor that computes vertices. Applied when objects are created.</summary>
        public ReelProcessor processor = ReelProcessor.GraphicsCard;
        /// <summary>True to draw nothing by itself, for a player that only a crowd shows. Applied when
        /// objects are created.</summary>
        public bool hidden;
        /// <summary>The largest error of levels of detail on the screen, in pixels; 0: always the finest
        /// level.</summary>
        public float lodPixels;
        /// <summary>The camera that levels of detail depend on; null: the main camera.</summary>
        public Camera lodCamera;

        /// <summary>The objects of the file have been created and show its first frame.</summary>
        public event Action<ReelPlayer> Ready;
        /// <summary>The end has been reached, and it does not repeat.</summary>
        public event Action<ReelPlayer> Ended;
        /// <summary>The file was replaced on the disk; its objects are created anew.</summary>
        public event Action<ReelPlayer> Replaced;
        /// <summary>The file cannot be opened, read or shown; what is shown remains.</summary>
        public event Action<ReelPlayer, string> Failed;

        /// <summary>As Ready, for the inspector.</summary>
        public UnityEvent onReady = new UnityEvent();
        /// <summary>As Ended, for the inspector.</summary>
        public UnityEvent onEnded = new UnityEvent();
        /// <summary>As Replaced, for the inspector.</summary>
        public UnityEvent onReplaced = new UnityEvent();
        /// <summary>As Failed, for the inspector.</summary>
        public ReelFailedEvent onFailed = new ReelFailedEvent();

        readonly List<Native.mr_command> commands = new List<Native.mr_command>();
        SharedFile file;
        ulong instance;
        ReelView view;
        ReelPreview preview;
        bool hasEnded;
        bool hasFollowed;
        bool cannotShow;
        string lastError;

        /// <summary>The objects of the file; null until its first frame is in memory.</summary>
        public ReelView View
        {
            get { return view; }
        }

        /// <summary>The description of the file; null while it is not open.</summary>
        public ReelFile File
        {
            get { return file != null && file.IsOpen ? file.Tables(ReelRuntime.Player) : null; }
        }

        /// <summary>The last error; null if there was none since the file was set, or if it is
        /// over.</summary>
        public string Error
        {
            get { return lastError; }
        }

        /// <summary>The file as an asset. Setting it opens the file.</summary>
        public ReelAsset Asset
        {
            get { return asset; }
            set { Set(value, ""); }
        }

        /// <summary>The path of the file. Setting it opens the file.</summary>
        public string Path
        {
            get { return path; }
            set { Set(null, value); }
        }

        /// <summary>Seconds of animation per second; negative plays backwards.</summary>
        public double Rate
        {
            get { return rate; }
            set
            {
                rate = value;
                Send(Native.COMMAND_KIND_RATE, value);
            }
        }

        /// <summary>The behaviour at the end.</summary>
        public ReelRepeat Repeat
        {
            get { return repeat; }
            set
            {
                repeat = value;
                Send(Native.COMMAND_KIND_REPEAT, number: (uint)value);
            }
        }

        /// <summary>True to blend between frames; otherwise the earlier one is shown.</summary>
        public bool Interpolate
        {
            get { return interpolate; }
            set
            {
                interpolate = value;
                Send(Native.COMMAND_KIND_INTERPOLATE, number: value ? 1u : 0u);
            }
        }

        /// <summary>Shows every frame (1), every second one (2), or only every 16th (16), and the last; the
        /// rest is neither read nor decoded. For players far away; the file must have its frames in
        /// layers.</summary>
        public int FrameStep
        {
            get { return frameStep; }
            set
            {
                frameStep = Math.Max(1, value);
                Send(Native.COMMAND_KIND_FRAME_STEP, number: (uint)frameStep);
            }
        }

        /// <summary>Players of higher priority are served first if the heap has no room for all.</summary>
        public int Priority
        {
            get { return priority; }
            set
            {
                priority = value;
                if (instance != 0) Native.Check(Native.mr_player_priority(ReelRuntime.Player, instance, value));
            }
        }

        /// <summary>False to hide it: its time goes on, but nothing is read or decoded for it.</summary>
        public bool Visible
        {
            get { return visible; }
            set
            {
                visible = value;
                if (instance != 0)
                    Native.Check(Native.mr_player_show(ReelRuntime.Player, instance, value ? 1u : 0u));
            }
        }

        /// <summary>Seconds of animation at which it begins when the component is enabled.</summary>
        public double StartTime
        {
            get { return startTime; }
            set { startTime = value; }
        }

        /// <summary>True to play as soon as the component is enabled.</summary>
        public bool PlayOnEnable
        {
            get { return playOnEnable; }
            set { playOnEnable = value; }
        }

        /// <summary>The clock. Before the file is open, all is 0 and false.</summary>
        public ReelClock Clock
        {
            get
            {
                if (instance == 0) return new ReelClock();
                Native.mr_clock read;
                read.size = (UIntPtr)sizeof(Native.mr_clock);
                Native.Check(Native.mr_player_clock(ReelRuntime.Player, instance, &read));
                return new ReelClock
                {
                    Position = read.open != 0 ? read.position : 0,
                    Duration = read.open != 0 ? read.duration : 0,
                    Rate = read.rate,
                    IsOpen = read.open != 0,
                    IsPlaying = read.open != 0 && read.playing != 0,
                    IsWaiting = read.waiting != 0,
                    HasEnded = read.ended != 0,
                    IsRefused = read.refused != 0,
                    Missed = (long)read.missed,
                };
            }
        }

        /// <summary>Starts or continues; starts again after the end.</summary>
        public void Play()
        {
            Send(Native.COMMAND_KIND_PLAY);
        }

        /// <summary>Stays at its position, and remains visible.</summary>
        public void Pause()
        {
            Send(Native.COMMAND_KIND_PAUSE);
        }

        /// <summary>Goes back to the start, and is hidden until it plays.</summary>
        public void Stop()
        {
            Send(Native.COMMAND_KIND_STOP);
        }

        /// <summary>Goes back to the start, playing or not as before.</summary>
        public void ResetToStart()
        {
            Send(Native.COMMAND_KIND_RESET);
        }

        /// <summary>Jumps to a time, in seconds from the first frame.</summary>
        public void Seek(double seconds)
        {
            Send(Native.COMMAND_KIND_GO_TO, seconds);
        }

        /// <summary>Jumps to a frame.</summary>
        public void SeekFrame(int frame)
        {
            Send(Native.COMMAND_KIND_GO_TO_FRAME, number: (uint)Math.Max(0, frame));
        }

        /// <summary>Plays only from one time to another, in seconds from the first frame.</summary>
        public void SetRange(double start, double end)
        {
            Send(Native.COMMAND_KIND_RANGE, start, end);
        }

        /// <summary>Plays only from one frame to another, both included.</summary>
        public void SetFrames(int first, int last)
        {
            Send(Native.COMMAND_KIND_FRAMES, number: (uint)Math.Max(0, first), last: (uint)Math.Max(0, last));
        }

        /// <summary>Plays only a named range of frames of the file. Returns false if it has none of that
        /// name, or is not open.</summary>
        public bool SetRange(string rangeName)
        {
            ReelFile open = File;
            if (open == null) return false;
            foreach (ReelRange range in open.Ranges())
            {
                if (range.Name != rangeName) continue;
                SetFrames(range.First, range.First + Math.Max(1, range.Count) - 1);
                return true;
            }
            return false;
        }

        /// <summary>Waits before the position moves, in seconds.</summary>
        public void Delay(double seconds)
        {
            Send(Native.COMMAND_KIND_DELAY, seconds);
        }

        /// <summary>Waits until so many seconds of animation are in memory before playing starts.</summary>
        public void PreRoll(double seconds)
        {
            Send(Native.COMMAND_KIND_PRE_ROLL, seconds);
        }

        /// <summary>Streams from a time on as well, so that a later jump finds its frames.</summary>
        public void StreamAt(double seconds)
        {
            Send(Native.COMMAND_KIND_STREAM_AT, seconds);
        }

        /// <summary>Follows a clock of the caller's, such as a timeline: plays on where the position is
        /// right, and jumps where it is not. Call it once a frame.</summary>
        public void Follow(double seconds, double secondsPerSecond)
        {
            ReelClock clock = Clock;
            double off = Math.Abs(clock.Position - seconds);
            double allowed = Math.Max(0.1, 2 * Math.Abs(secondsPerSecond) * ReelRuntime.Delta);
            bool jumps = secondsPerSecond == 0 ? off > 1e-6 : off > allowed;
            if (jumps || !hasFollowed) Seek(seconds);
            if (secondsPerSecond != clock.Rate && secondsPerSecond != 0) Rate = secondsPerSecond;
            if (secondsPerSecond == 0) Pause();
            else if (!clock.IsPlaying) Play();
            hasFollowed = true;
        }

        /// <summary>Shows a time in the editor, without a game. Returns false, and logs why, if the file
        /// cannot be opened.</summary>
        public bool Preview(double seconds)
        {
            if (preview == null || preview.View == null)
            {
                try
                {
                    preview = new ReelPreview(asset, path, transform, materials);
                }
                catch (ReelException error)
                {
                    ((ITicked)this).Fail(error.Message);
                    return false;
                }
            }
            preview.Show(seconds);
            return true;
        }

        /// <summary>Destroys what a preview has created.</summary>
        public void EndPreview()
        {
            if (preview != null) preview.Dispose();
            preview = null;
        }

        void Set(ReelAsset newAsset, string newPath)
        {
            bool enabledNow = isActiveAndEnabled && Application.isPlaying;
            if (enabledNow) OnDisable();
            DestroyView();
            EndPreview();
            asset = newAsset;
            path = newPath ?? "";
            lastError = null;
            if (enabledNow) OnEnable();
        }

        void Send(uint kind, double a = 0, double b = 0, uint number = 0, uint last = 0)
        {
            var command = new Native.mr_command { kind = kind, number = number, last = last, a = a, b = b };
            // A component that is off applies its settings when it is enabled.
            if (file != null) commands.Add(command);
        }

        void OnEnable()
        {
            if (asset == null && string.IsNullOrEmpty(path)) return;
            try
            {
                file = ReelRuntime.Use(asset, path, this);
            }
            catch (ReelException error)
            {
                ((ITicked)this).Fail(error.Message);
            }
            if (file == null) return;
            ReelRuntime.Add(this);
            hasEnded = hasFollowed = false;
            Send(Native.COMMAND_KIND_REPEAT, number: (uint)repeat);
            Send(Native.COMMAND_KIND_RATE, rate);
            if (!interpolate) Send(Native.COMMAND_KIND_INTERPOLATE);
            if (frameStep > 1) FrameStep = frameStep;
            Send(playOnEnable ? Native.COMMAND_KIND_PLAY : Native.COMMAND_KIND_PAUSE);
            if (startTime > 0) Seek(startTime);
            ((IFileUser)this).FileStarted();
            if (view != null && view.Root != null) view.Root.SetActive(true);
        }

        void OnDisable()
        {
            ReelRuntime.Remove(this);
            commands.Clear();
            if (file == null) return;
            if (instance != 0 && ReelRuntime.IsRunning)
                Native.mr_player_remove(ReelRuntime.Player, instance);
            instance = 0;
            ReelRuntime.Release(file, this);
            file = null;
            if (view != null && view.Root != null) view.Root.SetActive(false);
        }

        void OnDestroy()
        {
            EndPreview();
            DestroyView();
        }

        void DestroyView()
        {
            if (view != null) view.Dispose();
            view = null;
            cannotShow = false;
        }

        void IFileUser.FileStarted()
        {
            if (file == null || file.Id == 0 || instance != 0) return;
            ulong created;
            Native.Check(Native.mr_player_instance(ReelRuntime.Player, file.Id, &created));
            instance = created;
            if (priority != 0) Priority = priority;
            if (!visible) Visible = false;
        }

        void IFileUser.FileOpened() { }

        void IFileUser.FileRecovered()
        {
            lastError = null;
        }

        void IFileUser.FileReplaced()
        {
            DestroyView();
            Handlers.Call(Replaced, onReplaced, this, this);
        }

        void IFileUser.FileFailed(string message)
        {
            ((ITicked)this).Fail(message);
        }

        void ITicked.BeforeTick()
        {
            if (instance == 0 || commands.Count == 0) return;
            string refused = null;
            for (int i = 0; i < commands.Count; i++)
            {
                Native.mr_command command = commands[i];
                uint status = Native.mr_player_command(ReelRuntime.Player, instance, &command);
                // Those that follow are right nevertheless.
                if (status != Native.STATUS_OK) refused = Native.Text(Native.mr_last_error());
            }
            commands.Clear();
            if (refused != null) ((ITicked)this).Fail(file.Name + ": " + refused);
        }

        void ITicked.AfterAll() { }

        void ITicked.AfterTick()
        {
            if (instance == 0) return;
            IntPtr pointer = CurrentFrame();
            if (pointer != IntPtr.Zero)
            {
                using (new OwnedFrame(pointer)) Show(pointer);
            }
            // A handler can turn the component off.
            if (instance == 0) return;
            Native.mr_clock clock;
            clock.size = (UIntPtr)sizeof(Native.mr_clock);
            Native.Check(Native.mr_player_clock(ReelRuntime.Player, instance, &clock));
            bool ended = clock.open != 0 && clock.ended != 0 && clock.playing != 0;
            bool raises = ended && !hasEnded;
            hasEnded = ended;
            bool shows = visible && !(clock.open != 0 && clock.stopped != 0);
            if (view != null && view.Root != null && view.Root.activeSelf != shows) view.Root.SetActive(shows);
            if (raises) Handlers.Call(Ended, onEnded, this, this);
        }

        /// <summary>What the library shows now, to be freed by the caller; zero if nothing is in
        /// memory.</summary>
        internal IntPtr CurrentFrame()
        {
            IntPtr pointer;
            if (instance == 0) return IntPtr.Zero;
            Native.Check(Native.mr_player_frame(ReelRuntime.Player, instance, &pointer));
            return pointer;
        }

        void Show(IntPtr frame)
        {
            bool isNew = view == null;
            if (isNew && cannotShow) return;
            if (isNew)
            {
                // Objects that cannot be created are not tried again in each frame.
                cannotShow = true;
                CreateView(frame);
                cannotShow = false;
            }
            view.Show(frame);
            if (lodPixels > 0)
            {
                Camera eye = lodCamera != null ? lodCamera : Camera.main;
                if (eye != null) view.ChooseLevels(frame, eye, lodPixels);
            }
            if (isNew) Handlers.Call(Ready, onReady, this, this);
        }

        void CreateView(IntPtr frame)
        {
            var options = new ReelViewOptions
            {
                Materials = materials,
                Normals = normals,
                Flags = HideFlags.DontSave,
                Hidden = hidden,
                Writer = !hidden && processor == ReelProcessor.GraphicsCard ? CreateCard(frame) : null,
            };
            view = new ReelView(File, frame, transform, options);
        }

        /// <summary>Prepares the graphics card; null if it cannot compute vertices.</summary>
        IVertexWriter CreateCard(IntPtr frame)
        {
            if (!ReelCard.IsSupported) return null;
            try
            {
                return new ReelCard(frame);
            }
            catch (ReelException error)
            {
                Debug.LogWarning("meshreel: " + file.Name + ": vertices are computed on the CPU: " + error.Message,
                    this);
                return null;
            }
        }

        void ITicked.Fail(string message)
        {
            if (message == lastError) return;
            lastError = message;
            Debug.LogError("meshreel: " + message, this);
            Handlers.Call(Failed, onFailed, this, message, this);
        }

        bool ITicked.Owns(ulong number)
        {
            return instance == number;
        }

        void ITicked.End()
        {
            OnDisable();
        }
    }
}
