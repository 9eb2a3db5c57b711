using System;
using Unity.Collections;
using Unity.Collections.LowLevel.Unsafe;

namespace Meshreel
{
    /// <summary>Memory in which vertices and indices are written before they go to the engine, for all meshes
    /// of the process. It grows to the largest mesh, so that no frame allocates.</summary>
    internal static unsafe class Staging
    {
        static NativeArray<byte> bytes;
        static NativeArray<uint> words;

        /// <summary>Bytes with any content; the next call may return the same ones.</summary>
        public static NativeArray<byte> Bytes(int count)
        {
            if (bytes.IsCreated && bytes.Length >= count) return bytes;
            if (bytes.IsCreated) bytes.Dispose();
            bytes = new NativeArray<byte>(Grown(count), Allocator.Persistent,
                NativeArrayOptions.UninitializedMemory);
            return bytes;
        }

        /// <summary>Words with any content; the next call may return the same ones.</summary>
        public static NativeArray<uint> Words(int count)
        {
            if (words.IsCreated && words.Length >= count) return words;
            if (words.IsCreated) words.Dispose();
            words = new NativeArray<uint>(Grown(count), Allocator.Persistent,
                NativeArrayOptions.UninitializedMemory);
            return words;
        }

        public static byte* Pointer(NativeArray<byte> of)
        {
            return (byte*)NativeArrayUnsafeUtility.GetUnsafePtr(of);
        }

        public static uint* Pointer(NativeArray<uint> of)
        {
            return (uint*)NativeArrayUnsafeUtility.GetUnsafePtr(of);
        }

        static int Grown(int count)
        {
            return Math.Max(count, 1024) + count / 4;
        }

        public static void Free()
        {
            if (bytes.IsCreated) bytes.Dispose();
            if (words.IsCreated) words.Dispose();
            bytes = default(NativeArray<byte>);
            words = default(NativeArray<uint>);
        }
    }
}
