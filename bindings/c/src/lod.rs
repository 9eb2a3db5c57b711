//! Which level of detail is drawn at which distance.

use crate::pointers::{list, shared, write_out};
use crate::status::{guard, mr_status};
use meshreel::policy::{LodDistances, Projection};

/// Distances at which levels of detail end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_lod_distances {
    /// Where level i ends, ascending; infinite for levels without an end.
    pub ends: [f32; 7],
    /// The part of a distance by which one must come back nearer, so that nothing flickers: 0.05.
    pub margin: f32,
}

const _: () = assert!(LodDistances::MAX_LEVELS == 8);

/// Levels by what the eye can see of their errors: each begins at the distance from which its error is no
/// more than `pixels` of the picture. `errors` are those of the levels 1, 2 and so on; `scale` is the largest
/// scale of the world transform, `angle` the vertical angle of view in radians, `height` that of the picture
/// in pixels.
///
/// # Safety
/// `errors` has `count` numbers; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_lod_within(
    errors: *const f32,
    count: usize,
    scale: f32,
    angle: f32,
    height: f32,
    pixels: f32,
    out: *mut mr_lod_distances,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let errors = unsafe { list(errors, count, "the errors") }?;
        let levels = LodDistances::from_errors(errors, scale, &Projection::new(angle, height), pixels);
        // SAFETY: as above.
        unsafe {
            write_out(
                out,
                mr_lod_distances { ends: levels.end_distances, margin: levels.margin },
                "the distances",
            )
        }
    })
}

/// The level at a distance, where it was `was` before.
///
/// # Safety
/// `distances` is there; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_lod_at(
    distances: *const mr_lod_distances,
    distance: f32,
    was: u32,
    out: *mut u32,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let own = unsafe { shared(distances, "the distances") }?;
        let levels = LodDistances::ending_at(&own.ends).with_margin(own.margin);
        // SAFETY: as above.
        unsafe { write_out(out, levels.level(distance, was as usize) as u32, "the place for the level") }
    })
}
