using System;
using System.Runtime.InteropServices;

namespace Meshreel
{
    /// <summary>Owns an object of the library, and frees it once: when it is disposed, or by the
    /// finalizer.</summary>
    internal abstract class NativeHandle : SafeHandle
    {
        protected NativeHandle(IntPtr handle) : base(IntPtr.Zero, true)
        {
            SetHandle(handle);
        }

        public override bool IsInvalid
        {
            get { return handle == IntPtr.Zero; }
        }

        /// <summary>The pointer for a call. It throws after the object was disposed, so that no call uses
        /// freed memory.</summary>
        public IntPtr Pointer
        {
            get
            {
                if (IsClosed || IsInvalid) throw new ObjectDisposedException(GetType().Name);
                return handle;
            }
        }
    }

    internal sealed class ReelHandle : NativeHandle
    {
        public ReelHandle(IntPtr handle) : base(handle) { }

        protected override bool ReleaseHandle()
        {
            return Native.mr_reel_free(handle) == Native.STATUS_OK;
        }
    }

    internal sealed class DecoderHandle : NativeHandle
    {
        public DecoderHandle(IntPtr handle) : base(handle) { }

        protected override bool ReleaseHandle()
        {
            return Native.mr_decoder_free(handle) == Native.STATUS_OK;
        }
    }

    internal sealed class CamerasHandle : NativeHandle
    {
        public CamerasHandle(IntPtr handle) : base(handle) { }

        protected override bool ReleaseHandle()
        {
            return Native.mr_cameras_free(handle) == Native.STATUS_OK;
        }
    }

    internal sealed class ClipsHandle : NativeHandle
    {
        public ClipsHandle(IntPtr handle) : base(handle) { }

        protected override bool ReleaseHandle()
        {
            return Native.mr_clips_free(handle) == Native.STATUS_OK;
        }
    }

    internal sealed class CursorHandle : NativeHandle
    {
        public CursorHandle(IntPtr handle) : base(handle) { }

        protected override bool ReleaseHandle()
        {
            return Native.mr_cursor_free(handle) == Native.STATUS_OK;
        }
    }

    internal sealed class PlayerHandle : NativeHandle
    {
        public PlayerHandle(IntPtr handle) : base(handle) { }

        protected override bool ReleaseHandle()
        {
            return Native.mr_player_free(handle) == Native.STATUS_OK;
        }
    }

    internal sealed class PlanHandle : NativeHandle
    {
        public PlanHandle(IntPtr handle) : base(handle) { }

        protected override bool ReleaseHandle()
        {
            return Native.mr_gpu_plan_free(handle) == Native.STATUS_OK;
        }
    }

    internal sealed class RingHandle : NativeHandle
    {
        public RingHandle(IntPtr handle) : base(handle) { }

        protected override bool ReleaseHandle()
        {
            return Native.mr_gpu_ring_free(handle) == Native.STATUS_OK;
        }
    }

    /// <summary>A frame of a player, owned for the length of a block. A struct, so that a tick does not
    /// allocate.</summary>
    internal struct OwnedFrame : IDisposable
    {
        public IntPtr Pointer;

        public OwnedFrame(IntPtr pointer)
        {
            Pointer = pointer;
        }

        public void Dispose()
        {
            Native.mr_frame_free(Pointer);
            Pointer = IntPtr.Zero;
        }
    }
}
