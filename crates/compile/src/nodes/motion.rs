//! First pass over the transforms: which ones move, which are exactly translation, rotation and scale, the
//! extent of the world, and visibility. One pass over all frames, keeping only a visibility bit per frame.

use crate::Error;
use crate::context::Content;
use glam::{DMat4, DVec3};
use meshreel_codec::record::Visibility;
use meshreel_process::Cancellation;
use meshreel_process::frame_set::FrameSet;
use meshreel_scene::sample::{World, largest_scale};
use meshreel_scene::{LocalTransform, PlacedObject, Scene};
use rayon::prelude::*;

/// The way in which a node follows its parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Inheritance {
    Always,
    Never,
    /// Only at times; the world matrix is used as its local matrix then.
    Mixed,
}

/// The behaviour of the local transform of one placed object over all frames.
#[derive(Clone, Copy, Debug)]
pub struct LocalMotion {
    /// `true` if it changes between frames.
    pub animated: bool,
    /// `true` if translation, rotation and scale represent it exactly: no shear, nothing degenerate.
    pub pure: bool,
    /// `true` if its scale is the same along all axes (children cannot be sheared by it).
    pub uniform: bool,
    /// `true` if it has no rotation (no scale above can shear it).
    pub unrotated: bool,
    /// `true` if its decomposition does not depend on earlier frames: the source has it decomposed, or its
    /// handedness stays and no scale is zero.
    pub steady: bool,
    /// `true` if the source has it decomposed, and its scale changes.
    pub scales: bool,
    /// The way in which it follows its parents.
    pub inherits: Inheritance,
}

/// Results of the pass.
pub struct Motion {
    /// By placed object, the behaviour of its local transform.
    pub local: Vec<LocalMotion>,
    /// By placed object, the largest scale of its world transform over all frames (0 if not selected).
    pub largest_scale: Vec<f64>,
    /// By placed object, the frames in which it is visible (empty if not selected).
    pub visible: Vec<FrameSet>,
    /// By placed object, `true` if a world matrix has NaN or infinity.
    pub broken: Vec<bool>,
}

/// Relative error below which a matrix counts as translation, rotation and scale. It is far below the float32
/// rounding of the file's own matrices; the remaining error is measured later.
const PURE_TOLERANCE: f64 = 1e-7;

/// Scans the transforms of all objects in all frames.
pub fn scan_transforms(content: &Content, selected: &[bool]) -> Result<Motion, Error> {
    let Content { scene, placed, times, cancellation, .. } = content;
    let mut first = World::new(scene, placed)?;
    first.evaluate(times[0])?;
    let mut parts = in_chunks(times, true, |start, times| {
        scan_part(scene, placed, selected, &first, start, times, cancellation)
    })?
    .into_iter();
    let Some(mut motion) = parts.next() else {
        return Err(Error::misuse("no frames"));
    };
    motion.visible.iter_mut().zip(selected).for_each(|(set, &s)| set.grow(if s { times.len() } else { 0 }));
    for part in parts {
        for (a, b) in motion.local.iter_mut().zip(&part.local) {
            a.animated |= b.animated;
            a.pure &= b.pure;
            a.uniform &= b.uniform;
            a.unrotated &= b.unrotated;
            a.steady &= b.steady;
            a.scales |= b.scales;
            a.inherits = if b.inherits == Inheritance::Mixed { Inheritance::Mixed } else { a.inherits };
        }
        for i in 0..placed.len() {
            motion.largest_scale[i] = motion.largest_scale[i].max(part.largest_scale[i]);
            motion.broken[i] |= part.broken[i];
            motion.visible[i].extend(&part.visible[i]);
        }
    }
    Ok(motion)
}

/// Runs `work(number of the first frame, times)` on parts of the animation in parallel, or on all of it at
/// once if frames depend on those before.
pub fn in_chunks<T: Send>(
    times: &[f64],
    parallel: bool,
    work: impl Fn(usize, &[f64]) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    // Whole words of frame sets; enough frames that the cost of setting up a world does not matter.
    let size = times.len().div_ceil(rayon::current_num_threads()).next_multiple_of(64).max(if parallel {
        64
    } else {
        times.len()
    });
    times.par_chunks(size).enumerate().map(|(i, times)| work(i * size, times)).collect()
}

fn scan_part(
    scene: &Scene,
    placed: &[PlacedObject],
    selected: &[bool],
    first: &World<'_>,
    start: usize,
    times: &[f64],
    cancellation: &Cancellation,
) -> Result<Motion, Error> {
    let n = placed.len();
    let mut world = World::new(scene, placed)?;
    let of = |flag: bool| {
        if flag { Inheritance::Always } else { Inheritance::Never }
    };
    let mut motion = Motion {
        local: first
            .local
            .iter()
            .map(|l| LocalMotion {
                animated: false,
                pure: true,
                uniform: true,
                unrotated: true,
                steady: true,
                scales: false,
                inherits: of(l.1),
            })
            .collect(),
        largest_scale: vec![0.0; n],
        visible: selected.iter().map(|&s| FrameSet::new(if s { start + times.len() } else { 0 })).collect(),
        broken: vec![false; n],
    };
    for (frame, &time) in times.iter().enumerate() {
        cancellation.check()?;
        world.evaluate(time)?;
        for i in 0..n {
            let state = &mut motion.local[i];
            let (local, inherits) = world.local[i];
            if frame == 0 || !world.is_constant(i) {
                state.animated |= local != first.local[i].0;
                if inherits != first.local[i].1 {
                    state.inherits = Inheritance::Mixed;
                }
                classify(&local, &first.local[i].0, state);
            }
            if selected[i] {
                if world.visible[i] {
                    motion.visible[i].insert(start + frame);
                }
                let matrix = &world.matrix[i];
                if !matrix.is_finite() {
                    motion.broken[i] = true;
                } else if frame == 0 || !is_constant(&world, placed, i) {
                    motion.largest_scale[i] = motion.largest_scale[i].max(largest_scale(matrix));
                }
            }
        }
    }
    Ok(motion)
}

fn is_constant(world: &World<'_>, placed: &[PlacedObject], mut i: usize) -> bool {
    loop {
        if !world.is_constant(i) {
            return false;
        }
        match placed[i].parent {
            Some(parent) => i = parent,
            None => return true,
        }
    }
}

/// Returns the sign of a matrix's determinant; 0 where it is so flat that rounding could change it.
fn handedness(m: &DMat4) -> f64 {
    let columns = [m.x_axis, m.y_axis, m.z_axis].map(|c| c.truncate());
    let lengths = columns.map(DVec3::length);
    let longest = lengths[0].max(lengths[1]).max(lengths[2]);
    let volume = columns[0].cross(columns[1]).dot(columns[2]);
    let clear =
        lengths.iter().all(|l| *l > 1e-6 * longest) && volume.abs() > 1e-3 * lengths.iter().product::<f64>();
    if clear && m.is_finite() { volume.signum() } else { 0.0 }
}

fn classify(local: &LocalTransform, first: &LocalTransform, state: &mut LocalMotion) {
    if let (LocalTransform::Components(own), LocalTransform::Components(first)) = (local, first) {
        let sizes = own.scale.abs();
        let size = sizes.max_element();
        let negative = |scale: DVec3| scale.to_array().map(|s| s < 0.0);
        let is_far =
            |a: DVec3, b: DVec3| (a - b).abs().max_element() > PURE_TOLERANCE * a.abs().max_element();
        state.pure &= own.matrix().is_finite();
        // A scale that changes sign is non-uniform in between.
        state.uniform &= size > 0.0
            && size - sizes.min_element() <= PURE_TOLERANCE * size
            && negative(own.scale) == negative(first.scale);
        state.unrotated &= own.rotation.xyz().abs().max_element() <= PURE_TOLERANCE;
        state.scales |= is_far(own.scale, first.scale);
        return;
    }
    let m = &local.matrix();
    let hand = handedness(&first.matrix());
    state.steady &= hand != 0.0 && handedness(m) == hand;
    let (x, y, z) = (m.x_axis.truncate(), m.y_axis.truncate(), m.z_axis.truncate());
    let (a, b, c) = (x.length(), y.length(), z.length());
    let size = a.max(b).max(c);
    let orthogonal = |u: DVec3, v: DVec3, lu: f64, lv: f64| u.dot(v).abs() <= PURE_TOLERANCE * lu * lv;
    state.pure &= m.is_finite() && orthogonal(x, y, a, b) && orthogonal(x, z, a, c) && orthogonal(y, z, b, c);
    state.uniform &= size > 0.0 && (size - a.min(b).min(c)) <= PURE_TOLERANCE * size;
    let off = [x.y, x.z, y.x, y.z, z.x, z.y].iter().fold(0.0f64, |m, v| m.max(v.abs()));
    state.unrotated &= off <= PURE_TOLERANCE * size;
}

/// Returns the size of the transforms of all compiled objects and their ancestors, at 40 bytes per sample.
pub fn raw_bytes(scene: &Scene, placed: &[PlacedObject], selected: &[bool]) -> u64 {
    let mut needed = selected.to_vec();
    let mut total = 0;
    for i in (0..placed.len()).rev() {
        if let (true, Some(parent)) = (needed[i], placed[i].parent) {
            needed[parent] = true;
        }
        if let (true, Some(transform)) = (needed[i], &scene.nodes[placed[i].node].transform) {
            total += 40 * transform.local.len() as u64;
        }
    }
    total
}

/// Returns the visibility of a placement over `frames`.
pub fn visibility(shown: &FrameSet, frames: usize) -> Visibility {
    match shown.count() {
        0 => Visibility::Never,
        n if n == frames => Visibility::Always,
        _ => Visibility::Animated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DQuat;

    fn state(m: DMat4) -> LocalMotion {
        let mut state = LocalMotion {
            animated: false,
            pure: true,
            uniform: true,
            unrotated: true,
            steady: true,
            scales: false,
            inherits: Inheritance::Always,
        };
        classify(&m.into(), &m.into(), &mut state);
        state
    }

    #[test]
    fn frames_in_sets() {
        let mut set = FrameSet::new(65);
        assert!(!set.contains(64) && set.count() == 0);
        set.insert(64);
        set.insert(0);
        assert!(set.contains(64) && set.contains(0) && !set.contains(1) && !set.contains(1000));
        let mut other = FrameSet::new(65);
        other.insert(3);
        other.extend(&set);
        assert_eq!((other.count(), set.count()), (3, 2));
        set.grow(200);
        set.insert(199);
        assert_eq!(set.count(), 3);
    }

    #[test]
    fn what_a_matrix_is() {
        let turn = DMat4::from_quat(DQuat::from_axis_angle(DVec3::new(1.0, 2.0, 3.0).normalize(), 0.9));
        let scale = |x, y, z| DMat4::from_scale(DVec3::new(x, y, z));
        let flags = |m| {
            let s = state(m);
            (s.pure, s.uniform, s.unrotated, s.steady)
        };
        assert_eq!(flags(DMat4::IDENTITY), (true, true, true, true));
        assert_eq!(flags(turn), (true, true, false, true));
        assert_eq!(flags(turn * scale(2.0, 2.0, 2.0)), (true, true, false, true));
        assert_eq!(flags(turn * scale(2.0, 1.0, 2.0)), (true, false, false, true));
        assert_eq!(flags(scale(2.0, 1.0, 2.0) * turn), (false, false, false, true));
        assert_eq!(flags(scale(-2.0, 2.0, 2.0)), (true, true, true, true));
        assert_eq!(flags(scale(0.0, 2.0, 2.0)), (true, false, true, false));
        assert_eq!(flags(DMat4::ZERO), (true, false, true, false));
        assert_eq!(flags(scale(1e-12, 1e-12, 1e-12)), (true, true, true, true));
        assert!(!state(DMat4::NAN).pure && !state(DMat4::NAN).steady);
        // Mirrored between two frames.
        let mut mirrored = state(DMat4::IDENTITY);
        classify(&scale(-1.0, 1.0, 1.0).into(), &DMat4::IDENTITY.into(), &mut mirrored);
        assert!(mirrored.pure && !mirrored.steady);
    }

    #[test]
    fn parts_cover_all_frames() {
        for frames in [1, 63, 64, 65, 1000] {
            let times: Vec<f64> = (0..frames).map(|f| f as f64).collect();
            for parallel in [true, false] {
                let parts = in_chunks(&times, parallel, |first, times| Ok((first, times.len()))).unwrap();
                let mut next = 0;
                for (first, count) in &parts {
                    assert_eq!((*first, first % 64), (next, 0));
                    next += count;
                }
                assert_eq!(next, frames);
                assert!(parallel || parts.len() == 1);
            }
        }
    }
}
