//! Cameras and their lenses.

use crate::pointers::{check_number, fill_text, free, make, shared, write_out};
use crate::prefixed::{self, Prefixed};
use crate::reel::mr_reel;
use crate::status::{guard, mr_status};
use crate::types::mr_pair;
use meshreel::{Camera, Error, Lens};
use std::ffi::c_char;

/// The cameras of a file. Several threads can use them at once; they remain valid after the reel is freed.
pub struct mr_cameras(Vec<Camera>);

/// Reads the cameras of a file; there may be none.
///
/// # Safety
/// `reel` is a valid reel; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cameras_new(reel: *const mr_reel, out: *mut *mut mr_cameras) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_reel(reel) = unsafe { shared(reel, "the reel") }?;
        // SAFETY: as above.
        unsafe { make(out, || reel.cameras().map(mr_cameras)) }
    })
}

/// Frees cameras. Null is allowed.
///
/// # Safety
/// `cameras` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cameras_free(cameras: *mut mr_cameras) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(cameras) })
}

/// Writes the number of cameras.
///
/// # Safety
/// `cameras` is from `mr_cameras_new`; `out` is valid for one write.
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

/// Properties of a camera. The camera has the transform of its node, and looks along −z, with y up.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_camera_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// The number of its node.
    pub node: u32,
    /// 1 if any value of the lens is animated.
    pub animated: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_camera_info {}

/// Writes the properties of a camera, and its path in the source. `path` and `length` may both be null.
///
/// # Safety
/// `cameras` is from `mr_cameras_new`; `out` is as large as its `size` says; `path` is null or has room for
/// `capacity` bytes; `length` is null or valid for one write.
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

/// The values of a lens at a time.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_lens {
    /// The size of this structure in bytes.
    pub size: usize,
    /// Focal length in millimetres.
    pub focal_length: f32,
    /// Width and height of the picture plane in millimetres; for an orthographic camera the size of the
    /// visible area, in tenths of the file's unit.
    pub aperture: [f32; 2],
    /// Offset of the picture's centre from the optical axis in millimetres.
    pub aperture_offset: [f32; 2],
    /// The factor by which an anamorphic lens widens the picture; 1 for none.
    pub squeeze: f32,
    /// The additional area on the left, right, top and bottom, as fractions of the picture.
    pub overscan: [f32; 4],
    /// Focal length over the diameter of the aperture; 0 if everything is in focus.
    pub f_stop: f32,
    /// The distance that is in focus, in the file's unit.
    pub focus_distance: f32,
    /// Opening and closing of the shutter, in seconds from the frame's time.
    pub shutter: [f32; 2],
    /// The near and far clipping distances, in the file's unit.
    pub clipping: [f32; 2],
    /// 1 for an orthographic camera.
    pub orthographic: u32,
    /// The vertical angle of view in radians; 0 for an orthographic camera.
    pub vertical_angle: f32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
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

/// Writes the values of a lens at a time; between two frames each value is interpolated linearly.
///
/// # Safety
/// `cameras` is from `mr_cameras_new`; `out` is as large as its `size` says.
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
