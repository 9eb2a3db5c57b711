//! Decoding of any frame of a file in the calling thread, for tools, exporters and engines with their own
//! streaming.

use crate::frame::{FrameContent, mr_frame};
use crate::pointers::{free, make, shared, write_out};
use crate::reel::mr_reel;
use crate::status::{guard, mr_status};
use meshreel::FrameDecoder;
use std::ptr::NonNull;

/// Decodes frames of one file in any order, into memory that is allocated once. One thread at a time uses the
/// decoder and its frame.
pub struct mr_decoder {
    decoder: NonNull<FrameDecoder>,
    /// Refers to the decoder, for as long as this lives.
    frame: mr_frame,
}

impl Drop for mr_decoder {
    fn drop(&mut self) {
        // SAFETY: it was boxed when this was created, and is freed once.
        drop(unsafe { Box::from_raw(self.decoder.as_ptr()) });
    }
}

/// Creates a decoder, and allocates all its memory. The reel may be freed before the decoder.
///
/// # Safety
/// `reel` is a valid reel; `out` is valid for one write.
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

/// Frees a decoder together with its frame. Null is allowed.
///
/// # Safety
/// `decoder` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_decoder_free(decoder: *mut mr_decoder) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(decoder) })
}

/// Decodes a frame; the decoder's frame (`mr_decoder_frame`) shows it from then on. If decoding fails, the
/// decoder's frame shows nothing; frames that do not need the damaged data can still be decoded. (A player
/// keeps showing the last good frame.)
///
/// # Safety
/// `decoder` is a valid decoder that no other thread uses.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_decoder_decode(decoder: *mut mr_decoder, frame: u32) -> mr_status {
    guard(|| {
        // Shared, not unique, as its frame was lent.
        // SAFETY: the caller's promise.
        let decoder = unsafe { shared(decoder.cast_const(), "the decoder") }?;
        let mut decoder = decoder.decoder;
        // SAFETY: it lives as long as this, and its frame is not used meanwhile.
        unsafe { decoder.as_mut() }.decode(frame as usize)
    })
}

/// Writes the frame of a decoder, always the same handle. It lives as long as the decoder, and must not be
/// freed.
///
/// # Safety
/// `decoder` is a valid decoder; `out` is valid for one write.
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
