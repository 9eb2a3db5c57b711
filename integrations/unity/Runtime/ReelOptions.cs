using System;

namespace Meshreel
{
    /// <summary>Options of the player that all components use. They apply when it starts: set
    /// ReelRuntime.Options before the first component is enabled.</summary>
    [Serializable]
    public sealed class ReelOptions
    {
        /// <summary>Megabytes of the heap, which holds all large data that is read and decoded.</summary>
        public int heapMegabytes = 128;
        /// <summary>Files whose decoded frames take at most this many megabytes are decoded once and
        /// remain in memory.</summary>
        public int residentMegabytes = 16;
        /// <summary>Threads that decode; -1: the number of cores less one. 0: the main thread decodes, as on
        /// WebGL.</summary>
        public int threads = -1;
        /// <summary>Threads that read; -1: the library's choice.</summary>
        public int readThreads = -1;
        /// <summary>Seconds that frames are decoded before they are shown.</summary>
        public float decodeAhead = 0.4f;
        /// <summary>True to show files again that are replaced on the disk. Always on in the
        /// editor.</summary>
        public bool watch;

        internal void Write(ref Native.mr_player_options options, bool isEditor)
        {
            options.heap = (ulong)Math.Max(1, heapMegabytes) << 20;
            options.resident = (ulong)Math.Max(0, residentMegabytes) << 20;
            if (threads >= 0) options.threads = (uint)threads;
            if (readThreads >= 0) options.read_threads = (uint)readThreads;
            options.decode_ahead = Math.Max(0, decodeAhead);
            options.watch = watch || isEditor ? 1u : 0u;
#if UNITY_WEBGL && !UNITY_EDITOR
            options.threads = 0;
            options.read_threads = 0;
            options.watch = 0;
#endif
        }
    }

    /// <summary>Counters of the player that all components use.</summary>
    public struct ReelStatistics
    {
        /// <summary>Bytes of the heap.</summary>
        public long HeapBytes;
        /// <summary>Bytes of the heap that are not free.</summary>
        public long HeapUsed;
        /// <summary>The number of instances.</summary>
        public int Instances;
        /// <summary>The number of instances for which the heap has no room.</summary>
        public int Refused;
        /// <summary>The number of open files.</summary>
        public int Files;
        /// <summary>The number of decoded frames of all open files.</summary>
        public long FramesDecoded;
        /// <summary>Ticks of instances without the frame that should have been shown.</summary>
        public long Missed;
        /// <summary>Bytes requested from storage.</summary>
        public long BytesRead;
        /// <summary>Seconds that all threads together have spent decoding.</summary>
        public double DecodeSeconds;

        internal ReelStatistics(ref Native.mr_statistics from)
        {
            HeapBytes = (long)from.heap_bytes;
            HeapUsed = (long)from.heap_used;
            Instances = (int)from.instances;
            Refused = (int)from.refused;
            Files = (int)from.streams;
            FramesDecoded = (long)from.frames_decoded;
            Missed = (long)from.missed;
            BytesRead = (long)from.bytes_read;
            DecodeSeconds = from.decode_seconds;
        }
    }
}
