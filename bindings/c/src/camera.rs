//! Cameras: what their lenses say.

use crate::pointers::{check_number, fill_text, free, make, shared, write_out};
use crate::prefixed::{self, Prefixed};
use crate::reel::mr_reel;
use crate::status::{guard, mr_status};
use crate::types::mr_pair;
use meshreel::{Camera, Error, Lens};
use std::ffi::c_char;

/// The cameras of a file. Several threads can use them at once; they live on without the file.
pub struct mr_cameras(Vec<Camera>);

/// Reads the cameras of a file; there may be none.
///
/// # Safety
/// `reel` is a reel; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cameras_new(reel: *const mr_reel, out: *mut *mut mr_cameras) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_reel(reel) = unsafe { shared(reel, "the reel") }?;
        // SAFETY: as above.
        unsafe { make(out, || reel.cameras().map(mr_cameras)) }
    })
}

/// Frees cameras. Null is nothing.
///
/// # Safety
/// `cameras` is null, or was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cameras_free(cameras: *mut mr_cameras) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(cameras) })
}

/// How many there are.
///
/// # Safety
/// `cameras` is from `mr_cameras_new`; `out` is a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cameras_count(cameras: *const mr_cameras, out: *mut usize) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_cameras(all) = unsafe { shared(cameras, "the cameras") }?;
        // SAFETY: as above.
        unsafe { write_out(out, all.len(), "the place for the count") }
    })
}

/// # Safety
/// Null, or from [`mr_cameras_new`].
unsafe fn camera_of<'a>(cameras: *const mr_cameras, number: u32) -> Result<&'a Camera, Error> {
    // SAFETY: the caller's promise.
    let mr_cameras(all) = unsafe { shared(cameras, "the cameras") }?;
    check_number(number as usize, all.len(), "camera")?;
    Ok(&all[number as usize])
}

/// A camera. Where it is in a frame, its node says: it looks along −z, with y upwards.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_camera_info {
    /// Bytes of this structure.
    pub size: usize,
    /// The node that it stands at.
    pub node: u32,
    /// 1 where anything of the lens changes.
    pub animated: u32,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_camera_info {}

/// A camera, and its path in the source. `path` and `length` may both be null.
///
/// # Safety
/// `cameras` is from `mr_cameras_new`; `out` has the size that it says; `path` is null or has room for
/// `capacity` bytes; `length` is null or a place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_camera_get(
    cameras: *const mr_cameras,
    number: u32,
    out: *mut mr_camera_info,
    path: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let camera = unsafe { camera_of(cameras, number) }?;
        let info =
            mr_camera_info { size: 0, node: camera.node() as u32, animated: u32::from(camera.is_animated()) };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }?;
        if path.is_null() && length.is_null() {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { fill_text(camera.path(), path, capacity, length) }
    })
}

/// What a lens says at a moment.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_lens {
    /// Bytes of this structure.
    pub size: usize,
    /// Millimetres.
    pub focal_length: f32,
    /// Width and height of the picture plane, millimetres; of an orthographic camera the size of what is
    /// seen, in tenths of the file's unit.
    pub aperture: [f32; 2],
    /// Where its middle is beside the axis, millimetres.
    pub aperture_offset: [f32; 2],
    /// How much wider a lens that squeezes shows the picture; 1 for none.
    pub squeeze: f32,
    /// How much more is drawn on the left, right, top and bottom, as parts of the picture.
    pub overscan: [f32; 4],
    /// Focal length over the diameter of the opening; 0: all is sharp.
    pub f_stop: f32,
    /// Where all is sharp, in the file's unit.
    pub focus_distance: f32,
    /// When the shutter opens and closes, seconds from the frame's time.
    pub shutter: [f32; 2],
    /// The nearest and the farthest distance that is drawn, in the file's unit.
    pub clipping: [f32; 2],
    /// 1 without perspective.
    pub orthographic: u32,
    /// The angle of view upwards, radians; 0 where it is orthographic.
    pub vertical_angle: f32,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_lens {}

impl From<Lens> for mr_lens {
    fn from(lens: Lens) -> mr_lens {
        mr_lens {
            size: 0,
            focal_length: lens.focal_length,
            aperture: lens.aperture,
            aperture_offset: lens.aperture_offset,
            squeeze: lens.squeeze,
            overscan: lens.overscan,
            f_stop: lens.f_stop,
            focus_distance: lens.focus_distance,
            shutter: lens.shutter,
            clipping: lens.clipping,
            orthographic: u32::from(lens.orthographic),
            vertical_angle: lens.vertical_angle(),
        }
    }
}

/// What a lens says at a moment; between two frames each number goes straight.
///
/// # Safety
/// `cameras` is from `mr_cameras_new`; `out` has the size that it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_camera_lens(
    cameras: *const mr_cameras,
    number: u32,
    pair: mr_pair,
    out: *mut mr_lens,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let camera = unsafe { camera_of(cameras, number) }?;
        // SAFETY: as above.
        unsafe { prefixed::write(out, camera.lens(pair.into()).into(), "the lens") }
    })
}
