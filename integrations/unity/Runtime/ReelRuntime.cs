using System;
using System.Collections.Generic;
using UnityEngine;

namespace Meshreel
{
    /// <summary>The player that all components of the process use: one heap, one set of threads, one tick per
    /// frame. It starts when the first component needs it.</summary>
    public static unsafe class ReelRuntime
    {
        static readonly List<SharedFile> files = new List<SharedFile>();
        static readonly List<ITicked> ticked = new List<ITicked>();
        static PlayerHandle player;
        static ReelDriver driver;
        static bool hasFailed;
        static bool isTicking;

        /// <summary>Options for the next start.</summary>
        public static ReelOptions Options = new ReelOptions();

        /// <summary>True after the first component has started the player.</summary>
        public static bool IsRunning
        {
            get { return player != null; }
        }

        /// <summary>Seconds between this tick and the one before.</summary>
        public static double Delta { get; private set; }

        /// <summary>Counters; all 0 if the player is not running.</summary>
        public static ReelStatistics Statistics
        {
            get
            {
                if (player == null) return new ReelStatistics();
                Native.mr_statistics read;
                read.size = (UIntPtr)sizeof(Native.mr_statistics);
                Native.Check(Native.mr_player_statistics(player.Pointer, &read));
                return new ReelStatistics(ref read);
            }
        }

        internal static IntPtr Player
        {
            get { return player.Pointer; }
        }

        /// <summary>Starts the player if it is not running. If that fails, the reason is logged once, and it
        /// returns false.</summary>
        internal static bool Start()
        {
            if (hasFailed) return false;
            if (player == null && !CreatePlayer()) return false;
            if (driver == null) driver = ReelDriver.Create();
            return true;
        }

        static bool CreatePlayer()
        {
            try
            {
                Native.RequireLibrary();
                Native.mr_player_options options;
                var size = (UIntPtr)sizeof(Native.mr_player_options);
                Native.Check(Native.mr_player_options_init(&options, size));
                Options.Write(ref options, Application.isEditor);
                IntPtr created;
                Native.Check(Native.mr_player_new(&options, &created));
                player = new PlayerHandle(created);
                return true;
            }
            catch (ReelException error)
            {
                hasFailed = true;
                Debug.LogError("meshreel: no .reel file can be played: " + error.Message);
                return false;
            }
        }

        /// <summary>Advances all components by a time in seconds. The package calls it once a frame, in
        /// LateUpdate; tools that have no frames call it themselves.</summary>
        public static void Tick(double seconds)
        {
            if (player == null || isTicking) return;
            isTicking = true;
            Delta = Math.Max(0, seconds);
            try
            {
                for (int i = 0; i < files.Count; i++) files[i].Poll(player.Pointer);
                for (int i = 0; i < ticked.Count; i++)
                {
                    if (ticked[i] != null) Advance(ticked[i], Phase.Before);
                }
                Native.Check(Native.mr_player_tick(player.Pointer, Delta));
                ReadEvents();
                for (int i = 0; i < ticked.Count; i++)
                {
                    if (ticked[i] != null) Advance(ticked[i], Phase.After);
                }
                for (int i = 0; i < ticked.Count; i++)
                {
                    if (ticked[i] != null) Advance(ticked[i], Phase.Last);
                }
            }
            catch (ReelException error)
            {
                Debug.LogError("meshreel: " + error.Message);
            }
            finally
            {
                isTicking = false;
                ticked.RemoveAll(IsRemoved);
            }
        }

        static readonly Predicate<ITicked> IsRemoved = component => component == null;

        /// <summary>The parts of a tick.</summary>
        enum Phase
        {
            Before,
            After,
            Last,
        }

        /// <summary>Advances a component. One that fails does not end the tick of the others.</summary>
        static void Advance(ITicked component, Phase phase)
        {
            try
            {
                if (phase == Phase.Before) component.BeforeTick();
                else if (phase == Phase.After) component.AfterTick();
                else component.AfterAll();
            }
            catch (Exception error)
            {
                // Of other errors the place is needed to mend them.
                component.Fail(error is ReelException ? error.Message : error.ToString());
            }
        }

        static void ReadEvents()
        {
            Native.mr_event read;
            while (player != null)
            {
                read.size = (UIntPtr)sizeof(Native.mr_event);
                Native.Check(Native.mr_player_event(player.Pointer, &read));
                if (read.kind == Native.EVENT_KIND_NONE) return;
                Handle(&read);
            }
        }

        static void Handle(Native.mr_event* read)
        {
            if (read->kind == Native.EVENT_KIND_REFUSED)
            {
                for (int i = 0; i < ticked.Count; i++)
                {
                    if (ticked[i] == null || !ticked[i].Owns(read->instance)) continue;
                    ticked[i].Fail("the heap has no room for it: it needs " + read->needed + " bytes, "
                        + read->left + " are left (ReelRuntime.Options.heapMegabytes)");
                }
                return;
            }
            SharedFile file = ById(read->file);
            if (file == null) return;
            switch (read->kind)
            {
                case Native.EVENT_KIND_OPENED:
                case Native.EVENT_KIND_NO_FRAMES:
                    file.IsOpen = true;
                    for (int i = 0; i < file.Users.Count; i++) file.Users[i].FileOpened();
                    break;
                case Native.EVENT_KIND_RECOVERED:
                    for (int i = 0; i < file.Users.Count; i++) file.Users[i].FileRecovered();
                    break;
                case Native.EVENT_KIND_REPLACED:
                    file.ForgetTables();
                    for (int i = 0; i < file.Users.Count; i++) file.Users[i].FileReplaced();
                    break;
                case Native.EVENT_KIND_OPEN_FAILED:
                case Native.EVENT_KIND_READ_FAILED:
                case Native.EVENT_KIND_DAMAGED:
                    string message = Native.Text(read->text, 256);
                    bool isFinal = read->kind == Native.EVENT_KIND_OPEN_FAILED;
                    file.Fail(message.Contains(file.Name) ? message : file.Name + ": " + message, isFinal);
                    break;
            }
        }

        static SharedFile ById(ulong id)
        {
            for (int i = 0; i < files.Count; i++)
            {
                if (files[i].Id == id && id != 0) return files[i];
            }
            return null;
        }

        /// <summary>Finds or opens the file of an asset or path, for a user. Null if the player cannot
        /// start.</summary>
        internal static SharedFile Use(ReelAsset asset, string path, IFileUser user)
        {
            if (!Start()) return null;
            string pathToOpen = asset != null ? asset.PathToOpen : path;
            byte[] bytes = asset != null && pathToOpen == null ? asset.Bytes : null;
            if (bytes == null && string.IsNullOrEmpty(pathToOpen))
                throw new ReelException(ReelStatus.Misuse, "neither an asset nor a path is set");
            string name = bytes != null ? asset.name : SharedFile.FullPath(pathToOpen);
            SharedFile file = null;
            for (int i = 0; i < files.Count && bytes == null; i++)
            {
                if (files[i].Name == name && !files[i].IsUnusable) file = files[i];
            }
            if (file == null)
            {
                file = bytes != null ? new SharedFile(name, bytes) : new SharedFile(name);
                file.Start(player.Pointer);
                files.Add(file);
            }
            file.Users.Add(user);
            return file;
        }

        /// <summary>Ends the use of a file; the last user closes it.</summary>
        internal static void Release(SharedFile file, IFileUser user)
        {
            if (file == null || !file.Users.Remove(user) || file.Users.Count > 0) return;
            files.Remove(file);
            if (player != null) file.Close(player.Pointer);
        }

        internal static void Add(ITicked component)
        {
            ticked.Add(component);
        }

        internal static void Remove(ITicked component)
        {
            int index = ticked.IndexOf(component);
            if (index < 0) return;
            // In a tick the list must not move.
            if (isTicking) ticked[index] = null;
            else ticked.RemoveAt(index);
        }

        /// <summary>Ends the player and frees its memory. Components that are enabled later start it
        /// again.</summary>
        public static void Shutdown()
        {
            for (int i = ticked.Count - 1; i >= 0; i--)
            {
                if (ticked[i] != null) ticked[i].End();
            }
            ticked.Clear();
            for (int i = 0; i < files.Count; i++) files[i].ForgetTables();
            files.Clear();
            if (player != null) player.Dispose();
            player = null;
            hasFailed = false;
            if (driver != null) Objects.Destroy(driver.gameObject);
            driver = null;
            Staging.Free();
        }

        [RuntimeInitializeOnLoadMethod(RuntimeInitializeLoadType.SubsystemRegistration)]
        static void Reset()
        {
            // The editor can begin to play without loading assemblies anew.
            Shutdown();
            Application.quitting -= Shutdown;
            Application.quitting += Shutdown;
        }
    }

    /// <summary>A component that the runtime advances.</summary>
    internal interface ITicked
    {
        /// <summary>Gives commands to the player.</summary>
        void BeforeTick();

        /// <summary>Shows what the player has.</summary>
        void AfterTick();

        /// <summary>Shows what depends on other components.</summary>
        void AfterAll();

        /// <summary>Reports an error; what is shown remains.</summary>
        void Fail(string message);

        /// <summary>True if an instance of the player belongs to it.</summary>
        bool Owns(ulong instance);

        /// <summary>The player ends.</summary>
        void End();
    }
}
