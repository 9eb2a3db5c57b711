using System;

namespace Meshreel
{
    /// <summary>A clip of a skeleton in a file.</summary>
    public struct ReelClipInfo
    {
        /// <summary>The name of the clip.</summary>
        public string Name;
        /// <summary>Seconds from the first to the last sample.</summary>
        public double Duration;
        /// <summary>Samples per second.</summary>
        public double SamplesPerSecond;
        /// <summary>The number of its skeleton.</summary>
        public int Skeleton;
        /// <summary>The number of joints.</summary>
        public int Joints;
        /// <summary>The number of samples.</summary>
        public int Samples;
        /// <summary>The names of markers.</summary>
        public string[] Markers;
    }

    /// <summary>The clips and skeletons of a file. Clips remain compressed in memory.</summary>
    public sealed unsafe class ReelClips : IDisposable
    {
        readonly ClipsHandle handle;
        readonly ReelClipInfo[] clips;

        /// <summary>The name of the file, for errors.</summary>
        public string Name { get; private set; }

        /// <summary>The metres of the file's unit of length; 1 if it names none.</summary>
        public float MetresPerUnit { get; private set; }

        internal IntPtr Pointer
        {
            get { return handle.Pointer; }
        }

        /// <summary>Reads the clips of a file; there may be none. They remain valid when the file is
        /// closed.</summary>
        public ReelClips(ReelFile file)
        {
            Name = file.Name;
            MetresPerUnit = file.MetresPerUnit;
            IntPtr pointer;
            Native.Check(Native.mr_clips_new(file.Pointer, &pointer));
            handle = new ClipsHandle(pointer);
            Native.mr_clips_info info;
            info.size = (UIntPtr)sizeof(Native.mr_clips_info);
            Native.Check(Native.mr_clips_get(pointer, &info));
            clips = new ReelClipInfo[info.clips];
            for (uint i = 0; i < clips.Length; i++) clips[i] = ReadClip(i);
        }

        /// <summary>The number of clips.</summary>
        public int Count
        {
            get { return clips.Length; }
        }

        /// <summary>The description of a clip.</summary>
        public ReelClipInfo this[int number]
        {
            get { return clips[number]; }
        }

        /// <summary>The number of the clip of a name, or -1; of the first one without a name.</summary>
        public int Find(string name)
        {
            if (string.IsNullOrEmpty(name)) return clips.Length > 0 ? 0 : -1;
            for (int i = 0; i < clips.Length; i++)
            {
                if (clips[i].Name == name) return i;
            }
            return -1;
        }

        /// <summary>The names of a skeleton's joints.</summary>
        public string[] Joints(int skeleton)
        {
            var names = new string[Parents(skeleton).Length];
            for (uint i = 0; i < names.Length; i++)
            {
                UIntPtr length;
                Native.Check(Native.mr_clips_joint(Pointer, (uint)skeleton, i, null, UIntPtr.Zero, &length));
                var bytes = new byte[(int)length + 1];
                fixed (byte* text = bytes)
                {
                    Native.Check(Native.mr_clips_joint(Pointer, (uint)skeleton, i, text, (UIntPtr)bytes.Length,
                        null));
                    names[i] = Native.Text(text, bytes.Length);
                }
            }
            return names;
        }

        /// <summary>The numbers of the parents of a skeleton's joints, -1 for roots. Parents stand before
        /// their children.</summary>
        public int[] Parents(int skeleton)
        {
            UIntPtr count;
            Native.Check(Native.mr_clips_parents(Pointer, (uint)skeleton, null, UIntPtr.Zero, &count));
            var read = new uint[(int)count];
            fixed (uint* target = read)
            {
                Native.Check(Native.mr_clips_parents(Pointer, (uint)skeleton, target, count, &count));
            }
            var parents = new int[read.Length];
            for (int i = 0; i < parents.Length; i++)
                parents[i] = read[i] == Native.NONE ? -1 : (int)read[i];
            return parents;
        }

        internal Native.mr_transform[] Rest(int skeleton)
        {
            UIntPtr count;
            Native.Check(Native.mr_clips_rest(Pointer, (uint)skeleton, null, UIntPtr.Zero, &count));
            var rest = new Native.mr_transform[(int)count];
            fixed (Native.mr_transform* target = rest)
            {
                Native.Check(Native.mr_clips_rest(Pointer, (uint)skeleton, target, count, &count));
            }
            return rest;
        }

        ReelClipInfo ReadClip(uint number)
        {
            Native.mr_clip_info read;
            read.size = (UIntPtr)sizeof(Native.mr_clip_info);
            UIntPtr length;
            Native.Check(Native.mr_clips_clip(Pointer, number, &read, null, UIntPtr.Zero, &length));
            var name = new byte[(int)length + 1];
            var markers = new string[read.markers];
            fixed (byte* text = name)
            {
                Native.Check(
                    Native.mr_clips_clip(Pointer, number, &read, text, (UIntPtr)name.Length, null));
                for (uint i = 0; i < markers.Length; i++) markers[i] = MarkerName(number, i);
                return new ReelClipInfo
                {
                    Name = Native.Text(text, name.Length),
                    Duration = read.duration,
                    SamplesPerSecond = read.fps,
                    Skeleton = (int)read.skeleton,
                    Joints = (int)read.joints,
                    Samples = (int)read.samples,
                    Markers = markers,
                };
            }
        }

        string MarkerName(uint clip, uint marker)
        {
            UIntPtr length;
            double seconds;
            Native.Check(Native.mr_clips_marker(Pointer, clip, marker, &seconds, null, UIntPtr.Zero, &length));
            var bytes = new byte[(int)length + 1];
            fixed (byte* text = bytes)
            {
                Native.Check(Native.mr_clips_marker(Pointer, clip, marker, &seconds, text,
                    (UIntPtr)bytes.Length, null));
                return Native.Text(text, bytes.Length);
            }
        }

        /// <summary>Frees the clips. Cursors remain valid.</summary>
        public void Dispose()
        {
            handle.Dispose();
        }
    }

    /// <summary>A clip that is played, and its pose at a time.</summary>
    internal sealed unsafe class PlayedClip : IDisposable
    {
        readonly CursorHandle cursor;
        public readonly ReelClipInfo Info;
        public readonly Native.mr_transform[] Pose;
        public double Seconds;

        public PlayedClip(ReelClips clips, int number)
        {
            Info = clips[number];
            IntPtr pointer;
            Native.Check(Native.mr_cursor_new(clips.Pointer, (uint)number, null, UIntPtr.Zero, &pointer));
            cursor = new CursorHandle(pointer);
            Pose = new Native.mr_transform[Info.Joints];
        }

        /// <summary>Computes the pose at the current time.</summary>
        public void Sample(bool repeats)
        {
            var query = new Native.mr_query { seconds = Seconds, wraps = repeats ? 1u : 0u };
            fixed (Native.mr_transform* target = Pose)
            {
                Native.Check(Native.mr_cursor_pose(cursor.Pointer, &query, target, (UIntPtr)Pose.Length));
            }
        }

        /// <summary>Writes the markers that a step passes into a list that has room, and returns their
        /// number.</summary>
        public int Markers(double from, double to, bool repeats, Native.mr_passed[] passed)
        {
            if (Info.Markers.Length == 0) return 0;
            var step = new Native.mr_step { from = from, to = to, wraps = repeats ? 1u : 0u };
            UIntPtr count;
            fixed (Native.mr_passed* target = passed)
            {
                Native.Check(Native.mr_cursor_events(cursor.Pointer, &step, target, (UIntPtr)passed.Length,
                    &count));
            }
            return Math.Min((int)count, passed.Length);
        }

        /// <summary>The motion of a joint over a step along the ground.</summary>
        public Native.mr_transform RootMotion(uint joint, double from, double to, bool repeats)
        {
            var step = new Native.mr_step { from = from, to = to, wraps = repeats ? 1u : 0u };
            var up = stackalloc float[3];
            up[0] = 0;
            up[1] = 1;
            up[2] = 0;
            Native.mr_transform motion;
            Native.Check(Native.mr_cursor_root_motion(cursor.Pointer, joint, &step, up, &motion));
            return motion;
        }

        public void Dispose()
        {
            cursor.Dispose();
        }
    }
}
