// Stand-ins for Unity.Collections.
using System;
using System.Runtime.InteropServices;

namespace Unity.Collections
{
    public enum Allocator { Invalid, None, Temp, TempJob, Persistent }
    public enum NativeArrayOptions { UninitializedMemory, ClearMemory }

    public struct NativeArray<T> : IDisposable where T : struct
    {
        /// Bytes of all arrays that were not disposed, for the tests.
        internal IntPtr memory;
        int length;
        public NativeArray(int length, Allocator allocator, NativeArrayOptions options = NativeArrayOptions.ClearMemory)
        {
            this.length = length;
            int bytes = Math.Max(1, length * Marshal.SizeOf(typeof(T)));
            memory = Marshal.AllocHGlobal(bytes);
            if (options == NativeArrayOptions.ClearMemory) Marshal.Copy(new byte[bytes], 0, memory, bytes);
            NativeMemory.Arrays++;
        }
        public int Length { get { return length; } }
        public bool IsCreated { get { return memory != IntPtr.Zero; } }
        public void Dispose()
        {
            if (memory == IntPtr.Zero) throw new ObjectDisposedException("NativeArray");
            Marshal.FreeHGlobal(memory);
            memory = IntPtr.Zero;
            NativeMemory.Arrays--;
        }
    }

    public static class NativeMemory { public static int Arrays; }
}

namespace Unity.Collections.LowLevel.Unsafe
{
    public static class NativeArrayUnsafeUtility
    {
        public static unsafe void* GetUnsafePtr<T>(NativeArray<T> array) where T : struct
        {
            return (void*)array.memory;
        }
    }
}
