using System;
using System.Collections.Generic;
using System.IO;
using UnityEngine;
using UnityEngine.Networking;

namespace Meshreel
{
    /// <summary>What waits for a file, and plays it.</summary>
    internal interface IFileUser
    {
        /// <summary>The file has its number: instances can be created.</summary>
        void FileStarted();

        /// <summary>The file is open.</summary>
        void FileOpened();

        /// <summary>A newer file has taken the place of the one that was open.</summary>
        void FileReplaced();

        /// <summary>Everything that had failed has been read.</summary>
        void FileRecovered();

        /// <summary>The file cannot be opened or read; what is shown remains.</summary>
        void FileFailed(string message);
    }

    /// <summary>A file of the shared player, for all components that use it. Where the file is not a file of
    /// the system, as on Android and WebGL, it is fetched as a whole, without a callback from other
    /// threads.</summary>
    internal sealed unsafe class SharedFile
    {
        public readonly string Name;
        public readonly List<IFileUser> Users = new List<IFileUser>();
        public ulong Id { get; private set; }
        public bool IsOpen;
        /// <summary>True if it cannot be opened: the next user tries again.</summary>
        public bool IsUnusable { get; private set; }
        readonly byte[] content;
        UnityWebRequest request;
        ReelFile tables;

        public SharedFile(string path)
        {
            Name = path;
        }

        public SharedFile(string name, byte[] bytes)
        {
            Name = name;
            content = bytes;
        }

        /// <summary>The full path of a file: relative ones are below StreamingAssets.</summary>
        public static string FullPath(string path)
        {
            if (path.Contains("://") || Path.IsPathRooted(path)) return path;
            string folder = Application.streamingAssetsPath;
            return folder.Contains("://") ? folder.TrimEnd('/') + "/" + path : Path.Combine(folder, path);
        }

        /// <summary>Begins to open the file.</summary>
        public void Start(IntPtr player)
        {
            if (content != null) OpenBytes(player, content);
            else if (!Name.Contains("://")) OpenPath(player);
            else
            {
                request = UnityWebRequest.Get(Name);
                request.SendWebRequest();
            }
        }

        /// <summary>Goes on to open a file that is being fetched. Called once a tick.</summary>
        public void Poll(IntPtr player)
        {
            if (request == null || !request.isDone) return;
            UnityWebRequest finished = request;
            request = null;
            try
            {
                if (finished.result != UnityWebRequest.Result.Success)
                {
                    Fail(Name + ": " + finished.error, true);
                    return;
                }
                OpenBytes(player, finished.downloadHandler.data);
                for (int i = 0; i < Users.Count; i++) Users[i].FileStarted();
            }
            catch (Exception error)
            {
                Fail(Name + ": " + error.Message, true);
            }
            finally
            {
                finished.Dispose();
            }
        }

        void OpenPath(IntPtr player)
        {
            ulong id;
            fixed (byte* name = Native.Utf8(Name)) Native.Check(Native.mr_player_open(player, name, &id));
            Id = id;
        }

        void OpenBytes(IntPtr player, byte[] bytes)
        {
            ulong id;
            fixed (byte* name = Native.Utf8(Name))
            fixed (byte* data = bytes)
            {
                Native.Check(Native.mr_player_open_memory(player, name, data, (UIntPtr)bytes.Length, &id));
            }
            Id = id;
        }

        /// <summary>The description of the open file, shared by its users.</summary>
        public ReelFile Tables(IntPtr player)
        {
            if (tables != null) return tables;
            IntPtr pointer;
            Native.Check(Native.mr_player_reel(player, Id, &pointer));
            if (pointer == IntPtr.Zero) return null;
            tables = new ReelFile(pointer, Name);
            return tables;
        }

        /// <summary>Forgets the description, as that of a replaced file.</summary>
        public void ForgetTables()
        {
            if (tables != null) tables.Dispose();
            tables = null;
        }

        /// <summary>Tells all users of an error; `isFinal` if the file cannot be opened.</summary>
        public void Fail(string message, bool isFinal)
        {
            IsUnusable |= isFinal;
            for (int i = 0; i < Users.Count; i++) Users[i].FileFailed(message);
        }

        public void Close(IntPtr player)
        {
            if (request != null)
            {
                request.Abort();
                request.Dispose();
                request = null;
            }
            ForgetTables();
            if (Id != 0) Native.mr_player_close(player, Id);
            Id = 0;
        }
    }
}
