//! Clips: skeletons, poses at any time, root motion, scalar tracks and markers.

use crate::pointers::{
    buffer, check_number, fill, fill_text, fill_with, free, list, make, shared, unique, write_out,
};
use crate::prefixed::{self, Prefixed};
use crate::reel::mr_reel;
use crate::status::{guard, mr_status};
use crate::types::{mr_transform, transforms_mut};
use meshreel::clip::{Clip, ClipCodec, ClipCursor, Query, Repeats, RootMotion, Rounding, SkeletonRecord};
use meshreel::{Error, MeshRig};
use std::ffi::c_char;
use std::sync::Arc;

/// The clips, skeletons and rigs of a file. Several threads can use them at once. Cursors created from them
/// remain valid after they are freed.
pub struct mr_clips {
    clips: Vec<Clip>,
    skeletons: Vec<Arc<SkeletonRecord>>,
    pub(crate) rigs: Vec<MeshRig>,
}

/// Reads the clips, skeletons and rigs of a file; there may be none.
///
/// # Safety
/// `reel` is a valid reel; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_new(reel: *const mr_reel, out: *mut *mut mr_clips) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_reel(reel) = unsafe { shared(reel, "the reel") }?;
        let read = || Ok(mr_clips { clips: reel.clips()?, skeletons: reel.skeletons()?, rigs: reel.rigs()? });
        // SAFETY: as above.
        unsafe { make(out, read) }
    })
}

/// Frees the clips. Null is allowed.
///
/// # Safety
/// `clips` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_free(clips: *mut mr_clips) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(clips) })
}

/// The numbers of clips, skeletons and rigs.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct mr_clips_info {
    /// The size of this structure in bytes.
    pub size: usize,
    pub clips: u32,
    pub skeletons: u32,
    pub rigs: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_clips_info {}

/// # Safety
/// Null, or from [`mr_clips_new`].
pub(crate) unsafe fn clips_of<'a>(clips: *const mr_clips) -> Result<&'a mr_clips, Error> {
    // SAFETY: the caller's promise.
    unsafe { shared(clips, "the clips") }
}

/// Writes the numbers of clips, skeletons and rigs.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is as large as its `size` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_get(clips: *const mr_clips, out: *mut mr_clips_info) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let all = unsafe { clips_of(clips) }?;
        let info = mr_clips_info {
            size: 0,
            clips: all.clips.len() as u32,
            skeletons: all.skeletons.len() as u32,
            rigs: all.rigs.len() as u32,
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }
    })
}

/// The stored form of a clip.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_clip_codec {
    /// Segments of samples, each decoded as a whole.
    Sampled = 0,
    /// Few keys, with splines between them.
    Curve = 1,
    /// Samples that can each be decoded by themselves.
    RandomAccess = 2,
}

/// Properties of a clip.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_clip_info {
    /// The size of this structure in bytes.
    pub size: usize,
    /// Samples per second.
    pub fps: f64,
    /// Seconds from the first to the last sample.
    pub duration: f64,
    /// The time of the first sample in the source, in seconds. All other times of a clip count from it.
    pub start: f64,
    /// The tolerance: the largest distance of any point of any joint from that of the source, in the source's
    /// unit.
    pub tolerance: f64,
    /// The bytes that it takes in the file.
    pub file_bytes: u64,
    /// The number of its skeleton.
    pub skeleton: u32,
    /// The number of joints: the length of a pose.
    pub joints: u32,
    /// The number of samples, at least 1.
    pub samples: u32,
    /// The number of layers of joints; 0 if the clip is not divided.
    pub layers: u32,
    /// The number of scalar tracks.
    pub scalars: u32,
    /// The number of markers.
    pub markers: u32,
    /// An `mr_clip_codec`.
    pub codec: u32,
}

// SAFETY: `repr(C)`, begins with its size, contains only numbers.
unsafe impl Prefixed for mr_clip_info {}

/// # Safety
/// As for [`clips_of`].
unsafe fn clip_of<'a>(clips: *const mr_clips, clip: u32) -> Result<&'a Clip, Error> {
    // SAFETY: the caller's promise.
    let all = unsafe { clips_of(clips) }?;
    check_number(clip as usize, all.clips.len(), "clip")?;
    Ok(&all.clips[clip as usize])
}

/// Writes the properties of a clip, and its name. `name` and `length` may both be null.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is as large as its `size` says; `name` is null or has room for
/// `capacity` bytes; `length` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_clip(
    clips: *const mr_clips,
    clip: u32,
    out: *mut mr_clip_info,
    name: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let clip = unsafe { clip_of(clips, clip) }?;
        let record = clip.record();
        let info = mr_clip_info {
            size: 0,
            fps: clip.fps(),
            duration: clip.duration(),
            start: clip.start(),
            tolerance: record.tolerance,
            file_bytes: clip.file_bytes() as u64,
            skeleton: record.skeleton,
            joints: clip.joints() as u32,
            samples: clip.samples() as u32,
            layers: clip.layers().len() as u32,
            scalars: clip.scalar_tracks().len() as u32,
            markers: clip.markers().len() as u32,
            codec: match record.codec {
                ClipCodec::Sampled => mr_clip_codec::Sampled,
                ClipCodec::Curve => mr_clip_codec::Curve,
                ClipCodec::RandomAccess => mr_clip_codec::RandomAccess,
            } as u32,
        };
        // SAFETY: as above.
        unsafe { prefixed::write(out, info, "the information") }?;
        if name.is_null() && length.is_null() {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { fill_text(&record.name, name, capacity, length) }
    })
}

/// # Safety
/// As for [`clips_of`].
unsafe fn skeleton_of<'a>(clips: *const mr_clips, skeleton: u32) -> Result<&'a SkeletonRecord, Error> {
    // SAFETY: the caller's promise.
    let all = unsafe { clips_of(clips) }?;
    check_number(skeleton as usize, all.skeletons.len(), "skeleton")?;
    Ok(&all.skeletons[skeleton as usize])
}

/// Writes the parents of a skeleton's joints: one number for each joint, `MR_NONE` for roots. Parents stand
/// before their children.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` numbers; `count` is null or valid
/// for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_parents(
    clips: *const mr_clips,
    skeleton: u32,
    out: *mut u32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { fill(&skeleton_of(clips, skeleton)?.parents, out, capacity, count) })
}

/// Writes the rest pose of a skeleton: local transforms.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` transforms; `count` is null or
/// valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_rest(
    clips: *const mr_clips,
    skeleton: u32,
    out: *mut mr_transform,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let rest = &unsafe { skeleton_of(clips, skeleton) }?.rest;
        // SAFETY: as above.
        unsafe { fill_with(rest.len(), out, capacity, count, |joint| rest[joint].into()) }
    })
}

/// Writes the name of a joint.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` bytes; `length` is null or valid
/// for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_joint(
    clips: *const mr_clips,
    skeleton: u32,
    joint: u32,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let names = &unsafe { skeleton_of(clips, skeleton) }?.names;
        check_number(joint as usize, names.len(), "joint")?;
        // SAFETY: as above.
        unsafe { fill_text(&names[joint as usize], out, capacity, length) }
    })
}

/// Writes the time of a marker, in seconds after the first sample of the clip, and its name. `name` and
/// `length` may both be null.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `seconds` is valid for one write; `name` is null or has room for
/// `capacity` bytes; `length` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_marker(
    clips: *const mr_clips,
    clip: u32,
    marker: u32,
    seconds: *mut f64,
    name: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let markers = unsafe { clip_of(clips, clip) }?.markers();
        check_number(marker as usize, markers.len(), "marker")?;
        let found = &markers[marker as usize];
        // SAFETY: as above.
        unsafe { write_out(seconds, found.time, "the place for the time") }?;
        if name.is_null() && length.is_null() {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe { fill_text(&found.name, name, capacity, length) }
    })
}

/// Writes the name of a scalar track of a clip.
///
/// # Safety
/// As for `mr_clips_joint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_scalar(
    clips: *const mr_clips,
    clip: u32,
    track: u32,
    out: *mut c_char,
    capacity: usize,
    length: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let tracks = unsafe { clip_of(clips, clip) }?.scalar_tracks();
        check_number(track as usize, tracks.len(), "scalar track")?;
        // SAFETY: as above.
        unsafe { fill_text(&tracks[track as usize].name, out, capacity, length) }
    })
}

// Playing.

/// A decoder of poses of one clip, with all the memory that it needs. One thread at a time uses it; it keeps
/// its clip alive.
pub struct mr_cursor(ClipCursor);

/// Creates a cursor, and allocates all its memory. `tiers` gives, for layers 0, 1 and so on, the number of
/// tiers to play. A layer with 0 tiers is not played, and its joints stay in the rest pose; layers beyond the
/// list are played completely. Null with `layers` 0: everything is played.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `tiers` has `layers` numbers; `out` is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cursor_new(
    clips: *const mr_clips,
    clip: u32,
    tiers: *const u32,
    layers: usize,
    out: *mut *mut mr_cursor,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let clip = unsafe { clip_of(clips, clip) }?;
        // SAFETY: as above.
        let tiers = unsafe { list(tiers, layers, "the tiers") }?;
        let tiers: Vec<usize> = tiers.iter().map(|tiers| *tiers as usize).collect();
        let clip = if tiers.is_empty() { clip.clone() } else { clip.with_tiers(&tiers) };
        // SAFETY: as above.
        unsafe { make(out, || Ok(mr_cursor(clip.cursor()))) }
    })
}

/// Frees a cursor. Null is allowed.
///
/// # Safety
/// `cursor` is null, or has not been freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cursor_free(cursor: *mut mr_cursor) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(cursor) })
}

/// The rounding of times between two samples.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_rounding {
    /// The samples are interpolated.
    None = 0,
    /// The sample before.
    Floor = 1,
    /// The sample after.
    Ceil = 2,
    /// The nearer sample.
    Nearest = 3,
}

const ROUNDINGS: [Rounding; 4] = [Rounding::None, Rounding::Floor, Rounding::Ceil, Rounding::Nearest];

/// A request for a pose: a time, and its treatment between samples and beyond the ends.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_query {
    /// Seconds after the first sample.
    pub seconds: f64,
    /// 0: times beyond the ends are clamped to the first or last sample; otherwise the clip repeats.
    pub wraps: u32,
    /// An `mr_rounding`.
    pub rounding: u32,
}

fn repeats_of(wraps: u32) -> Repeats {
    if wraps == 0 { Repeats::Clamp } else { Repeats::Wrap }
}

/// # Safety
/// Null, or valid for one read.
unsafe fn query_of(query: *const mr_query) -> Result<Query<'static>, Error> {
    // SAFETY: the caller's promise.
    let query = unsafe { shared(query, "the query") }?;
    let rounding = ROUNDINGS.get(query.rounding as usize).ok_or_else(|| {
        Error::misuse(format!("rounding {} does not exist: it must be an mr_rounding", query.rounding))
    })?;
    Ok(Query::new(query.seconds).with_rounding(*rounding).with_repeats(repeats_of(query.wraps)))
}

/// Writes the local transforms of all joints at a time. `joints` must be their number. Does not allocate.
///
/// # Safety
/// `cursor` is a valid cursor that no other thread uses; `query` is valid for one read; `out` has room for
/// `joints` transforms.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cursor_pose(
    cursor: *mut mr_cursor,
    query: *const mr_query,
    out: *mut mr_transform,
    joints: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_cursor(cursor) = unsafe { unique(cursor, "the cursor") }?;
        // SAFETY: as above.
        let query = unsafe { query_of(query) }?;
        check_joints(cursor.clip(), joints)?;
        // SAFETY: as above.
        let out = unsafe { buffer(out, joints, "the buffer for the pose") }?;
        cursor.pose(&query, transforms_mut(out))
    })
}

/// Writes the local transforms of all joints at a sample: the poses for which the tolerance is promised.
/// `joints` must be their number. Does not allocate.
///
/// # Safety
/// `cursor` is a valid cursor that no other thread uses; `out` has room for `joints` transforms.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cursor_sample(
    cursor: *mut mr_cursor,
    sample: u32,
    out: *mut mr_transform,
    joints: usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_cursor(cursor) = unsafe { unique(cursor, "the cursor") }?;
        check_number(sample as usize, cursor.clip().samples(), "sample")?;
        check_joints(cursor.clip(), joints)?;
        // SAFETY: as above.
        let out = unsafe { buffer(out, joints, "the buffer for the pose") }?;
        cursor.sample(sample as usize, transforms_mut(out))
    })
}

fn check_joints(clip: &Clip, joints: usize) -> Result<(), Error> {
    match clip.joints() {
        own if own == joints => Ok(()),
        own => Err(Error::misuse(format!("a pose of this clip has {own} joints, not {joints}"))),
    }
}

/// Writes the local transform of one joint at a time. `is_rest` may be null; it is set to 1 if the layer of
/// the joint is not played, so that the transform is that of the rest pose, and to 0 otherwise.
///
/// # Safety
/// As for `mr_cursor_pose`; `out` is valid for one write; `is_rest` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cursor_joint(
    cursor: *mut mr_cursor,
    joint: u32,
    query: *const mr_query,
    out: *mut mr_transform,
    is_rest: *mut u32,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_cursor(cursor) = unsafe { unique(cursor, "the cursor") }?;
        // SAFETY: as above.
        let query = unsafe { query_of(query) }?;
        let pose = cursor.joint(joint as usize, &query)?;
        if !is_rest.is_null() {
            // SAFETY: as above.
            unsafe { write_out(is_rest, u32::from(pose.bind), "the place for is_rest") }?;
        }
        // SAFETY: as above.
        unsafe { write_out(out, pose.local.into(), "the place for the transform") }
    })
}

/// A step in time, in seconds after the first sample; `to` may be smaller than `from`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct mr_step {
    pub from: f64,
    pub to: f64,
    /// 0: the step ends at the clip's ends; otherwise the clip repeats, any number of times.
    pub wraps: u32,
    /// Reserved: 0.
    pub reserved: u32,
}

/// Writes the motion of a joint over a step; multiply the character's transform by it from the right. With
/// `up` null, it is the whole motion; otherwise `up` is a unit vector, and only the translation along the
/// ground and the rotation about `up` are kept.
///
/// # Safety
/// As for `mr_cursor_pose`; `step` is valid for one read; `up` is null or has three numbers; `out` is valid
/// for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cursor_root_motion(
    cursor: *mut mr_cursor,
    joint: u32,
    step: *const mr_step,
    up: *const f32,
    out: *mut mr_transform,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let mr_cursor(cursor) = unsafe { unique(cursor, "the cursor") }?;
        // SAFETY: as above.
        let step = unsafe { shared(step, "the step") }?;
        let extract = match up.is_null() {
            true => RootMotion::All,
            // SAFETY: as above.
            false => RootMotion::Planar { up: *unsafe { shared(up.cast::<[f32; 3]>(), "up") }? },
        };
        let times = (step.from, step.to);
        let moved = cursor.root_motion(joint as usize, times, repeats_of(step.wraps), extract)?;
        // SAFETY: as above.
        unsafe { write_out(out, moved.into(), "the place for the transform") }
    })
}

/// Writes the values of all scalar tracks at a time: four numbers per track, unused ones 0. `capacity` and
/// `count` are numbers of tracks.
///
/// # Safety
/// `cursor` is a valid cursor; `query` is valid for one read; `out` is null or has room for four numbers for
/// each of `capacity` tracks; `count` is null or valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cursor_scalars(
    cursor: *const mr_cursor,
    query: *const mr_query,
    out: *mut f32,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let clip = unsafe { shared(cursor, "the cursor") }?.0.clip();
        // SAFETY: as above.
        let query = unsafe { query_of(query) }?;
        let row = |track| clip.scalar(track, &query).unwrap_or_default();
        // SAFETY: as above.
        unsafe { fill_with(clip.scalar_tracks().len(), out.cast::<[f32; 4]>(), capacity, count, row) }
    })
}

/// A marker that a step passes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct mr_passed {
    /// The time at which it is passed, on the axis of the step.
    pub seconds: f64,
    /// The number of the marker in the clip.
    pub marker: u32,
    /// Reserved: 0.
    pub reserved: u32,
}

/// Writes the markers that a step passes, in the order in which it passes them, at most `capacity` of them,
/// and sets `count` to their number. If a time span is divided into steps, each marker is passed once,
/// however it is divided.
///
/// # Safety
/// `cursor` is a valid cursor; `step` is valid for one read; `out` has room for `capacity` markers; `count`
/// is valid for one write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cursor_events(
    cursor: *const mr_cursor,
    step: *const mr_step,
    out: *mut mr_passed,
    capacity: usize,
    count: *mut usize,
) -> mr_status {
    guard(|| {
        // SAFETY: the caller's promise.
        let clip = unsafe { shared(cursor, "the cursor") }?.0.clip();
        // SAFETY: as above.
        let step = unsafe { shared(step, "the step") }?;
        // SAFETY: as above.
        unsafe { write_out(count, 0, "the place for the count") }?;
        // A very long step over a short loop may pass more markers than the buffer has room for.
        let passed = clip.events(step.from, step.to, repeats_of(step.wraps)).take(capacity);
        let mut written = 0;
        for event in passed {
            let event = mr_passed { seconds: event.seconds, marker: event.number as u32, reserved: 0 };
            // SAFETY: as above; there is room for `capacity`.
            unsafe { write_out(out.wrapping_add(written), event, "the buffer for markers") }?;
            written += 1;
        }
        // SAFETY: as above.
        unsafe { write_out(count, written, "the place for the count") }
    })
}
