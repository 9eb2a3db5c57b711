//! Any frame of a file, decoded at once, for tools, exporters and engines that stream by themselves.

use crate::frame::{FrameContent, mr_frame};
use crate::pointers::{free, make, shared, write_out};
use crate::reel::mr_reel;
use crate::status::{guard, mr_status};
use meshreel::FrameDecoder;
use std::ptr::NonNull;

/// Decodes frames of one file in any order, into memory that it allocated once. One thread at a time uses it
/// and its frame.
pub struct mr_decoder {
    decoder: NonNull<FrameDecoder>,
    /// Lends the decoder, as long as this lives.
    frame: mr_frame,
}

impl Drop for mr_decoder {
    fn drop(&mut self) {
        // SAFETY: it was boxed when this was made, and is freed once.
        drop(unsafe { Box::from_raw(self.decoder.as_ptr()) });
    }
}

/// Makes a decoder, and allocates all that it needs. The reel may be freed before.
///
/// # Safety
/// `reel` is a reel; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_decoder_new(reel: *const mr_reel, out: *mut *mut mr_decoder) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_reel(reel) = unsafe { shared(reel, "the reel") }?;
        let new = || {
            let decoder = NonNull::from(Box::leak(Box::new(FrameDecoder::new(reel)?)));
            Ok(mr_decoder { decoder, frame: mr_frame(FrameContent::Decoder(decoder)) })
        };
        // SAFETY: as above.
        unsafe { make(out, new) }
    })
}

/// Frees a decoder, and its frame with it. Null is nothing.
///
/// # Safety
/// `decoder` is null, or was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_decoder_free(decoder: *mut mr_decoder) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(decoder) })
}

/// Decodes a frame, which the decoder's frame shows from then on. Where it fails, that shows nothing; other
/// frames that do not need what is damaged can still be decoded. (A player keeps showing the last good
/// frame.)
///
/// # Safety
/// `decoder` is a decoder that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_decoder_decode(decoder: *mut mr_decoder, frame: u32) -> mr_status {
    guard(|| {
        // Shared, as its frame was lent.
        // SAFETY: the caller's promise.
        let decoder = unsafe { shared(decoder.cast_const(), "the decoder") }?;
        let mut decoder = decoder.decoder;
        // SAFETY: it lives as long as this, and nobody looks at its frame meanwhile.
        unsafe { decoder.as_mut() }.decode(frame as usize)
    })
}

/// The frame of a decoder, the same one for all that it decodes. It lives as long as the decoder, and is not
/// freed.
///
/// # Safety
/// `decoder` is a decoder; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_decoder_frame(
    decoder: *const mr_decoder,
    out: *mut *const mr_frame,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let decoder = unsafe { shared(decoder, "the decoder") }?;
        // SAFETY: as above.
        unsafe { write_out(out, &raw const decoder.frame, "the place for the frame") }
    })
}
