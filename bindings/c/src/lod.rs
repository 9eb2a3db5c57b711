//! The choice of an LOD level by distance.

use crate::pointers::{list, shared, write_out};
use crate::status::{guard, mr_status};
use meshreel::policy::{LodDistances, Projection};

/// The distances at which LOD levels end.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_lod_distances {
    /// The distance at which level i ends, ascending; infinite for levels without an end.
    pub ends: [f32; 7],
    /// The hysteresis as a fraction of each distance, which keeps levels from flickering. Default 0.05.
    pub margin: f32,
}

const _: () = assert!(LodDistances::MAX_LEVELS == 8);

/// Computes distances from the visible size of the levels' errors: each level begins at the distance from
/// which on its error covers at most `pixels` pixels. `errors` are those of levels 1, 2 and so on
/// (`mr_lod_info`), in object units; `scale` is the largest scale of the world transform, `angle` the
/// vertical angle of view in radians, and `height` the height of the picture in pixels.
///
/// # Safety
/// `errors` has `count` numbers; `out` is valid for one write.
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

/// Writes the level for a distance. `was` is the level that was chosen before, for the hysteresis.
///
/// # Safety
/// `distances` is valid for one read; `out` is valid for one write.
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
