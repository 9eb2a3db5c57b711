//! Clips: skeletons, poses at any time, root motion, what rides along.

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

/// The clips, skeletons and rigs of a file. Several threads can use them at once; what is made of them lives
/// on without them.
pub struct mr_clips {
    clips: Vec<Clip>,
    skeletons: Vec<Arc<SkeletonRecord>>,
    pub(crate) rigs: Vec<MeshRig>,
}

/// Reads the clips, skeletons and rigs of a file; there may be none.
///
/// # Safety
/// `reel` is a reel; `out` is a place.
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

/// Frees clips. Null is nothing.
///
/// # Safety
/// `clips` is null, or was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_clips_free(clips: *mut mr_clips) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(clips) })
}

/// How many there are.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct mr_clips_info {
    /// Bytes of this structure.
    pub size: usize,
    pub clips: u32,
    pub skeletons: u32,
    pub rigs: u32,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_clips_info {}

/// # Safety
/// Null, or from [`mr_clips_new`].
pub(crate) unsafe fn clips_of<'a>(clips: *const mr_clips) -> Result<&'a mr_clips, Error> {
    // SAFETY: the caller's promise.
    unsafe { shared(clips, "the clips") }
}

/// How many clips, skeletons and rigs there are.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` has the size that it says.
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

/// How a clip is kept.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_clip_codec {
    /// Segment by segment.
    Sampled = 0,
    /// Keys and splines.
    Curve = 1,
    /// Each sample by itself.
    RandomAccess = 2,
}

/// A clip.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_clip_info {
    /// Bytes of this structure.
    pub size: usize,
    /// Samples per second.
    pub fps: f64,
    /// Seconds from the first to the last sample.
    pub duration: f64,
    /// Time of the first sample in the source, in seconds; all times of a clip count from it.
    pub start: f64,
    /// Promised: the largest distance of any point of any joint from the source's, in its units.
    pub tolerance: f64,
    /// Bytes that it takes in the file.
    pub file_bytes: u64,
    /// Number of its skeleton.
    pub skeleton: u32,
    /// Joints: the length of a pose.
    pub joints: u32,
    /// Samples, at least 1.
    pub samples: u32,
    /// Layers of joints; 0 where it is in one piece.
    pub layers: u32,
    /// Scalar tracks.
    pub scalars: u32,
    /// Markers.
    pub markers: u32,
    /// An `mr_clip_codec`.
    pub codec: u32,
}

// SAFETY: `repr(C)`, a size first, numbers only.
unsafe impl Prefixed for mr_clip_info {}

/// # Safety
/// As of [`clips_of`].
unsafe fn clip_of<'a>(clips: *const mr_clips, clip: u32) -> Result<&'a Clip, Error> {
    // SAFETY: the caller's promise.
    let all = unsafe { clips_of(clips) }?;
    check_number(clip as usize, all.clips.len(), "clip")?;
    Ok(&all.clips[clip as usize])
}

/// A clip, and its name. `name` and `length` may both be null.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` has the size that it says; `name` is null or has room for `capacity`
/// bytes; `length` is null or a place.
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
/// As of [`clips_of`].
unsafe fn skeleton_of<'a>(clips: *const mr_clips, skeleton: u32) -> Result<&'a SkeletonRecord, Error> {
    // SAFETY: the caller's promise.
    let all = unsafe { clips_of(clips) }?;
    check_number(skeleton as usize, all.skeletons.len(), "skeleton")?;
    Ok(&all.skeletons[skeleton as usize])
}

/// Parents of a skeleton's joints, which stand before them; `MR_NONE` of those that have none. Their number
/// is that of the joints.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` numbers; `count` is null or a
/// place.
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

/// The rest pose of a skeleton.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` transforms; `count` is null or a
/// place.
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

/// The name of a joint.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `out` is null or has room for `capacity` bytes; `length` is null or a
/// place.
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

/// A marker of a clip: seconds after the first sample, and its name. `name` and `length` may both be null.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `seconds` is a place; `name` is null or has room for `capacity` bytes;
/// `length` is null or a place.
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

/// The name of a scalar track of a clip.
///
/// # Safety
/// As of `mr_clips_joint`.
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

/// A place in a clip, with the memory that playing it needs. One thread at a time uses it; it keeps its clip
/// alive.
pub struct mr_cursor(ClipCursor);

/// Makes a cursor, and allocates all that it needs. `tiers` has of layer 0, 1 and so on how many tiers are
/// played, 0 for nothing of that layer, whose joints then stand in the rest pose; layers beyond the list are
/// played whole. Null and 0: all of it.
///
/// # Safety
/// `clips` is from `mr_clips_new`; `tiers` has `layers` numbers; `out` is a place.
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

/// Frees a cursor. Null is nothing.
///
/// # Safety
/// `cursor` is null, or was not freed yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mr_cursor_free(cursor: *mut mr_cursor) -> mr_status {
    // SAFETY: the caller's promise.
    guard(|| unsafe { free(cursor) })
}

/// How times between samples are taken.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_rounding {
    /// Interpolated.
    None = 0,
    /// The sample before.
    Floor = 1,
    /// The sample after.
    Ceil = 2,
    /// The nearer one.
    Nearest = 3,
}

const ROUNDINGS: [Rounding; 4] = [Rounding::None, Rounding::Floor, Rounding::Ceil, Rounding::Nearest];

/// What is asked of a clip.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_query {
    /// Seconds after the first sample.
    pub seconds: f64,
    /// 0: beyond its ends the first or last sample stands; else it starts over.
    pub wraps: u32,
    /// An `mr_rounding`.
    pub rounding: u32,
}

fn repeats_of(wraps: u32) -> Repeats {
    if wraps == 0 { Repeats::Clamp } else { Repeats::Wrap }
}

/// # Safety
/// Null, or a query.
unsafe fn query_of(query: *const mr_query) -> Result<Query<'static>, Error> {
    // SAFETY: the caller's promise.
    let query = unsafe { shared(query, "the query") }?;
    let rounding = ROUNDINGS.get(query.rounding as usize).ok_or_else(|| {
        Error::misuse(format!("rounding {} does not exist: it must be an mr_rounding", query.rounding))
    })?;
    Ok(Query::new(query.seconds).with_rounding(*rounding).with_repeats(repeats_of(query.wraps)))
}

/// Local transforms of all joints at a time, into exactly as many. Allocates nothing.
///
/// # Safety
/// `cursor` is a cursor that no other thread uses; `query` is there; `out` has room for `joints` transforms.
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

/// Local transforms of all joints at a sample, into exactly as many: the poses that the tolerance is promised
/// for. Allocates nothing.
///
/// # Safety
/// `cursor` is a cursor that no other thread uses; `out` has room for `joints` transforms.
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

/// The local transform of one joint at a time; `is_rest` is set to 1 where its layer is not played and this
/// is the rest pose. It may be null.
///
/// # Safety
/// As of `mr_cursor_pose`; `out` is a place, `is_rest` null or a place.
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

/// A step in time, seconds after the first sample; `to` may be the smaller.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct mr_step {
    pub from: f64,
    pub to: f64,
    /// 0: it ends at the clip's ends; else that starts over, any number of times.
    pub wraps: u32,
    /// 0.
    pub reserved: u32,
}

/// How a joint moves over a step, to be multiplied to the character's transform from the right. `up` is null
/// for all of the motion, or a unit vector of three numbers, for what of it is along the ground and about
/// that.
///
/// # Safety
/// As of `mr_cursor_pose`; `step` is there; `up` is null or has three numbers; `out` is a place.
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

/// The numbers of all scalar tracks at a time, four each, those that there are not being 0. `capacity` and
/// `count` are in tracks.
///
/// # Safety
/// `cursor` is a cursor; `query` is there; `out` is null or has room for four numbers for each of `capacity`
/// tracks; `count` is null or a place.
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
    /// When, on the axis of the step.
    pub seconds: f64,
    /// Its number in the clip.
    pub marker: u32,
    /// 0.
    pub reserved: u32,
}

/// The markers that a step passes, in the order in which it does, at most as many as there is room for;
/// `count` is set to how many were written. Whatever steps a stretch of time is cut into, each is passed
/// once.
///
/// # Safety
/// `cursor` is a cursor; `step` is there; `out` has room for `capacity` markers; `count` is a place.
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
        // A step of ten thousand years over a short loop passes more than anybody has room for.
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
