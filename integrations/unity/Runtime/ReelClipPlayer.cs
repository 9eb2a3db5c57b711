using System;
using System.Collections.Generic;
using UnityEngine;
using UnityEngine.Events;

namespace Meshreel
{
    /// <summary>The joints that a clip moves.</summary>
    public enum ReelJoints
    {
        /// <summary>Objects below this one that have the names of joints, such as those of a character with a
        /// skinned mesh.</summary>
        ByName = 0,
        /// <summary>Objects that are created below this one.</summary>
        Created = 1,
    }

    /// <summary>Plays the clips of a file on a hierarchy of transforms, without an Animator.</summary>
    [AddComponentMenu("Meshreel/Reel Clip Player"), DisallowMultipleComponent]
    public sealed unsafe class ReelClipPlayer : MonoBehaviour, ITicked, IFileUser
    {
        const int MaxMarkers = 32;

        [SerializeField] ReelAsset asset;
        [SerializeField] string path = "";
        [SerializeField] string clip = "";

        /// <summary>The joints that are moved.</summary>
        public ReelJoints joints = ReelJoints.ByName;
        /// <summary>True to play as soon as the file is open.</summary>
        public bool playOnEnable = true;
        /// <summary>Seconds of animation per second; negative plays backwards.</summary>
        public double rate = 1;
        /// <summary>True to go on at the other end; otherwise it stays there.</summary>
        public bool repeats = true;
        /// <summary>The factor of translations of joints that have been found by name; 0: the metres of the
        /// file's unit, for characters in metres.</summary>
        public float translationScale;
        /// <summary>True to move this object as the first joint moves along the ground; the joint itself has
        /// only what is left of its motion.</summary>
        public bool rootMotion;

        /// <summary>The joints have been found or created.</summary>
        public event Action<ReelClipPlayer> Ready;
        /// <summary>The end has been reached, and it does not repeat.</summary>
        public event Action<ReelClipPlayer> Ended;
        /// <summary>A marker of the clip has been passed.</summary>
        public event Action<ReelClipPlayer, string> MarkerPassed;
        /// <summary>The file or clip cannot be played; the pose remains.</summary>
        public event Action<ReelClipPlayer, string> Failed;

        /// <summary>As Ended, for the inspector.</summary>
        public UnityEvent onEnded = new UnityEvent();
        /// <summary>As Failed, for the inspector.</summary>
        public ReelFailedEvent onFailed = new ReelFailedEvent();

        readonly Native.mr_passed[] passed = new Native.mr_passed[MaxMarkers];
        SharedFile file;
        ReelClips clips;
        Transform[] transforms;
        GameObject created;
        PlayedClip now, before;
        Native.mr_transform[] blended;
        float scale = 1;
        double fade, faded;
        bool isPlaying, hasEnded, cannotPlay;
        string lastError;

        /// <summary>The clips of the file; null while it is not open.</summary>
        public ReelClips Clips
        {
            get { return clips; }
        }

        /// <summary>The name of the clip that is played; null while there is none.</summary>
        public string Clip
        {
            get { return now != null ? now.Info.Name : null; }
        }

        /// <summary>The position in seconds from the first sample.</summary>
        public double Seconds
        {
            get { return now != null ? now.Seconds : 0; }
        }

        /// <summary>True if time passes.</summary>
        public bool IsPlaying
        {
            get { return isPlaying && now != null; }
        }

        /// <summary>The last error; null if there was none since the file was set.</summary>
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

        /// <summary>The path of the file, a full one or one below StreamingAssets. Setting it opens the
        /// file.</summary>
        public string Path
        {
            get { return path; }
            set { Set(null, value); }
        }

        /// <summary>The object of a joint, or null.</summary>
        public Transform Joint(int number)
        {
            return transforms != null ? transforms[number] : null;
        }

        /// <summary>Plays the clip of a name from its beginning; without a name, the first. It takes the
        /// place of the one before over `fadeSeconds`. Before the file is open, it only sets the clip to
        /// begin with.</summary>
        public void Play(string name, double fadeSeconds = 0)
        {
            clip = name ?? "";
            isPlaying = true;
            if (clips == null) return;
            try
            {
                Start(fadeSeconds);
            }
            catch (ReelException error)
            {
                ((ITicked)this).Fail(error.Message);
            }
        }

        /// <summary>Continues.</summary>
        public void Resume()
        {
            isPlaying = true;
        }

        /// <summary>Stays at its position.</summary>
        public void Pause()
        {
            isPlaying = false;
        }

        /// <summary>Jumps to a time in seconds from the first sample.</summary>
        public void Seek(double seconds)
        {
            if (now == null) return;
            now.Seconds = seconds;
            hasEnded = false;
        }

        /// <summary>The motion of the first joint along the ground between two times, in metres: multiply the
        /// transform of a character by it from the right. False if no clip is played.</summary>
        public bool RootMotion(double from, double to, out Vector3 translation, out Quaternion rotation)
        {
            translation = Vector3.zero;
            rotation = Quaternion.identity;
            if (now == null || now.Pose.Length == 0) return false;
            Native.mr_transform motion = now.RootMotion(0, from, to, repeats);
            translation = Coordinates.Point(motion.translation) * clips.MetresPerUnit;
            rotation = Coordinates.Rotation(motion.rotation);
            return true;
        }

        void Set(ReelAsset newAsset, string newPath)
        {
            bool enabledNow = isActiveAndEnabled && Application.isPlaying;
            if (enabledNow) OnDisable();
            asset = newAsset;
            path = newPath ?? "";
            lastError = null;
            if (enabledNow) OnEnable();
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
            isPlaying = playOnEnable;
            ReelRuntime.Add(this);
        }

        void OnDisable()
        {
            ReelRuntime.Remove(this);
            if (file != null) ReelRuntime.Release(file, this);
            file = null;
            Forget();
        }

        /// <summary>Frees everything that belongs to the open file.</summary>
        void Forget()
        {
            if (now != null) now.Dispose();
            if (before != null) before.Dispose();
            if (clips != null) clips.Dispose();
            Objects.Destroy(created);
            now = before = null;
            clips = null;
            created = null;
            transforms = null;
            cannotPlay = false;
        }

        /// <summary>Opens the clips, once the file is there and, by name, some joints are.</summary>
        bool Open()
        {
            if (now != null) return true;
            if (file == null || !file.IsOpen || cannotPlay) return false;
            cannotPlay = true;
            if (clips == null) clips = new ReelClips(file.Tables(ReelRuntime.Player));
            Start(0);
            cannotPlay = false;
            if (now == null) return false;
            Handlers.Call(Ready, null, this, this);
            return now != null;
        }

        void Start(double fadeSeconds)
        {
            int number = clips.Find(clip);
            if (number < 0)
            {
                throw new ReelException(ReelStatus.Misuse,
                    clips.Name + ": no clip " + clip + " among " + clips.Count + " clips");
            }
            if (transforms == null && !FindJoints(clips[number].Skeleton)) return;
            if (now != null && !HasSameJoints(clips[number].Skeleton, now.Info.Skeleton))
                throw new ReelException(ReelStatus.Misuse, clips.Name + ": clip " + clip + " is of another skeleton");
            var next = new PlayedClip(clips, number);
            if (before != null) before.Dispose();
            before = fadeSeconds > 0 ? now : null;
            if (fadeSeconds <= 0 && now != null) now.Dispose();
            now = next;
            fade = fadeSeconds;
            faded = 0;
            hasEnded = false;
            if (rate < 0) now.Seconds = now.Info.Duration;
        }

        bool HasSameJoints(int a, int b)
        {
            if (a == b) return true;
            string[] names = clips.Joints(a), others = clips.Joints(b);
            bool same = names.Length == others.Length;
            for (int i = 0; same && i < names.Length; i++) same = names[i] == others[i];
            return same;
        }

        bool FindJoints(int skeleton)
        {
            string[] names = clips.Joints(skeleton);
            if (joints == ReelJoints.Created)
            {
                scale = 1;
                transforms = CreateJoints(skeleton, names);
                return true;
            }
            scale = translationScale != 0 ? translationScale : clips.MetresPerUnit;
            var byName = new Dictionary<string, Transform>();
            foreach (Transform each in GetComponentsInChildren<Transform>(true))
            {
                if (each != transform && !byName.ContainsKey(each.name)) byName.Add(each.name, each);
            }
            var found = new Transform[names.Length];
            int count = 0;
            for (int i = 0; i < names.Length; i++)
            {
                if (byName.TryGetValue(names[i], out found[i])) count++;
            }
            // The character may be loaded later.
            if (count == 0) return false;
            transforms = found;
            return true;
        }

        Transform[] CreateJoints(int skeleton, string[] names)
        {
            int[] parents = clips.Parents(skeleton);
            Native.mr_transform[] rest = clips.Rest(skeleton);
            created = new GameObject("Skeleton") { hideFlags = HideFlags.DontSave, layer = gameObject.layer };
            created.transform.SetParent(transform, false);
            created.transform.localScale = Vector3.one * clips.MetresPerUnit;
            var made = new Transform[names.Length];
            for (int i = 0; i < made.Length; i++)
            {
                var joint = new GameObject(names[i]) { hideFlags = HideFlags.DontSave, layer = created.layer };
                made[i] = joint.transform;
                made[i].SetParent(parents[i] < 0 ? created.transform : made[parents[i]], false);
                Native.mr_transform local = rest[i];
                Coordinates.Apply(made[i], &local);
            }
            return made;
        }

        void IFileUser.FileStarted() { }

        void IFileUser.FileOpened() { }

        void IFileUser.FileRecovered()
        {
            lastError = null;
        }

        void IFileUser.FileReplaced()
        {
            Forget();
        }

        void IFileUser.FileFailed(string message)
        {
            ((ITicked)this).Fail(message);
        }

        void ITicked.BeforeTick() { }

        void ITicked.AfterAll() { }

        void ITicked.AfterTick()
        {
            if (!Open()) return;
            double seconds = now.Seconds;
            double step = isPlaying ? ReelRuntime.Delta * rate : 0;
            double target = seconds + step;
            double end = now.Info.Duration;
            if (!repeats) target = Math.Max(0, Math.Min(end, target));
            now.Seconds = target;
            now.Sample(repeats);
            Native.mr_transform[] pose = Blend(step);
            Apply(pose, seconds, target);
            if (target != seconds) RaiseMarkers(seconds, target);
            if (now == null) return;
            bool ended = !repeats && isPlaying && (rate < 0 ? target <= 0 : target >= end);
            bool raises = ended && !hasEnded;
            hasEnded = ended;
            if (raises) Handlers.Call(Ended, onEnded, this, this);
        }

        Native.mr_transform[] Blend(double step)
        {
            if (before == null) return now.Pose;
            faded += ReelRuntime.Delta;
            if (faded >= fade)
            {
                before.Dispose();
                before = null;
                return now.Pose;
            }
            before.Seconds += step;
            before.Sample(repeats);
            if (blended == null || blended.Length != now.Pose.Length)
                blended = new Native.mr_transform[now.Pose.Length];
            fixed (Native.mr_transform* a = before.Pose, b = now.Pose, target = blended)
            {
                Native.Check(
                    Native.mr_pose_blend(a, b, (float)(faded / fade), target, (UIntPtr)blended.Length));
            }
            return blended;
        }

        void Apply(Native.mr_transform[] pose, double from, double to)
        {
            fixed (Native.mr_transform* all = pose)
            {
                for (int i = 0; i < transforms.Length; i++)
                {
                    if (transforms[i] == null) continue;
                    Coordinates.Apply(transforms[i], all + i);
                    if (scale != 1) transforms[i].localPosition = Coordinates.Point(all[i].translation) * scale;
                }
            }
            if (rootMotion && transforms.Length > 0) ApplyRootMotion(from, to);
        }

        /// <summary>Moves this object along the ground, and takes that motion from the first joint.</summary>
        void ApplyRootMotion(double from, double to)
        {
            Vector3 translation;
            Quaternion rotation;
            if (from != to && RootMotion(from, to, out translation, out rotation))
            {
                transform.localPosition += transform.localRotation * translation;
                transform.localRotation = transform.localRotation * rotation;
            }
            if (transforms[0] == null) return;
            // The joint has what is left: its height and tilt, above the origin of this object.
            Vector3 position = transforms[0].localPosition;
            var ground = new GroundMotion(position, transforms[0].localRotation);
            Quaternion back = GroundMotion.Inverse(ground.Rotation);
            transforms[0].localPosition = back * (position - ground.Position);
            transforms[0].localRotation = back * transforms[0].localRotation;
        }

        /// <summary>The part of a transform on the ground: a position without height, and a rotation about
        /// the vertical.</summary>
        struct GroundMotion
        {
            public readonly Vector3 Position;
            public readonly Quaternion Rotation;

            public GroundMotion(Vector3 position, Quaternion rotation)
            {
                Position = new Vector3(position.x, 0, position.z);
                float length = Mathf.Sqrt(rotation.y * rotation.y + rotation.w * rotation.w);
                Rotation = length > 1e-6f
                    ? new Quaternion(0, rotation.y / length, 0, rotation.w / length)
                    : Quaternion.identity;
            }

            public static Quaternion Inverse(Quaternion of)
            {
                return new Quaternion(-of.x, -of.y, -of.z, of.w);
            }
        }

        void RaiseMarkers(double from, double to)
        {
            int count = now.Markers(from, to, repeats, passed);
            PlayedClip playing = now;
            for (int i = 0; i < count && now == playing; i++)
                Handlers.Call(MarkerPassed, null, this, playing.Info.Markers[passed[i].marker], this);
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
            return false;
        }

        void ITicked.End()
        {
            OnDisable();
        }
    }
}
