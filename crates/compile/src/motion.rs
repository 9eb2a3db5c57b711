//! First look at the transforms: what moves, what a translation, rotation and scale can say, how large the
//! world gets and what is visible when. One pass over all frames, nothing kept per frame but a visibility
//! bit.

use crate::Error;
use crate::flatten::FlatNode;
use crate::mesh::trs::{Trs, decompose};
use glam::{DMat4, DVec3};
use meshreel_codec::record::Visibility;
use meshreel_codec::transform::Transform;
use meshreel_scene::{
    Placed, Scene,
    sample::{World, largest_scale},
};
use rayon::prelude::*;

/// One bit per frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameSet(Vec<u64>);

impl FrameSet {
    /// No frame of `frames`.
    pub fn new(frames: usize) -> FrameSet {
        FrameSet(vec![0; frames.div_ceil(64)])
    }
    /// Adds a frame.
    pub fn insert(&mut self, frame: usize) {
        self.0[frame / 64] |= 1 << (frame % 64);
    }
    /// True where the frame is in the set.
    pub fn contains(&self, frame: usize) -> bool {
        self.0.get(frame / 64).is_some_and(|word| word >> (frame % 64) & 1 == 1)
    }
    /// Number of frames in the set.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
    /// Makes room for `frames`.
    pub fn grow(&mut self, frames: usize) {
        self.0.resize(self.0.len().max(frames.div_ceil(64)), 0);
    }
    /// Adds all frames of `other`.
    pub fn extend(&mut self, other: &FrameSet) {
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            *a |= b;
        }
    }
}

/// Whether a node follows its parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Inherits {
    Always,
    Never,
    /// Sometimes: its local matrix then is its world matrix.
    Mixed,
}

/// What one placed object's local transform does over all frames.
#[derive(Clone, Copy, Debug)]
pub struct Local {
    /// It changes.
    pub animated: bool,
    /// Translation, rotation and scale say it exactly: no shear, nothing degenerate.
    pub pure: bool,
    /// Its scale is the same along all axes (so that what stands below cannot be sheared by it).
    pub uniform: bool,
    /// It turns nothing (so that no scale above can shear it).
    pub unrotated: bool,
    /// Nothing about its decomposition depends on the frames before: its handedness stays and no scale is
    /// zero.
    pub steady: bool,
    /// Whether it follows its parents.
    pub inherits: Inherits,
}

/// Outcome of the pass.
pub struct Motion {
    /// Per placed object.
    pub local: Vec<Local>,
    /// Largest scale of the world transform over all frames, per placed object (0 where not selected).
    pub largest_scale: Vec<f64>,
    /// Frames in which it is visible, per placed object (empty where not selected).
    pub visible: Vec<FrameSet>,
    /// A world matrix with NaN or infinity occurred here.
    pub broken: Vec<bool>,
}

/// Relative error below which a matrix counts as translation, rotation and scale. Far below any float32
/// rounding that a file's own matrices carry; what it lets through is measured later.
const PURE: f64 = 1e-7;

/// Looks at `placed` at all `times`; call it inside the pool that may be used.
pub fn scan(scene: &Scene, placed: &[Placed], selected: &[bool], times: &[f64]) -> Result<Motion, Error> {
    let mut first = World::new(scene, placed)?;
    first.evaluate(times[0])?;
    let mut parts =
        in_chunks(times, true, |start, times| scan_part(scene, placed, selected, &first, start, times))?
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
            a.inherits = if b.inherits == Inherits::Mixed { Inherits::Mixed } else { a.inherits };
        }
        for i in 0..placed.len() {
            motion.largest_scale[i] = motion.largest_scale[i].max(part.largest_scale[i]);
            motion.broken[i] |= part.broken[i];
            motion.visible[i].extend(&part.visible[i]);
        }
    }
    Ok(motion)
}

/// Runs `work(number of the first frame, times)` on parts of the animation in parallel, or on all of it,
/// where frames depend on those before.
pub fn in_chunks<T: Send>(
    times: &[f64],
    parallel: bool,
    work: impl Fn(usize, &[f64]) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    // Whole words of frame sets; enough frames that setting up a world does not matter.
    let size = times.len().div_ceil(rayon::current_num_threads()).next_multiple_of(64).max(if parallel {
        64
    } else {
        times.len()
    });
    times.par_chunks(size).enumerate().map(|(i, times)| work(i * size, times)).collect()
}

fn scan_part(
    scene: &Scene,
    placed: &[Placed],
    selected: &[bool],
    first: &World<'_>,
    start: usize,
    times: &[f64],
) -> Result<Motion, Error> {
    let n = placed.len();
    let mut world = World::new(scene, placed)?;
    let of = |flag: bool| {
        if flag { Inherits::Always } else { Inherits::Never }
    };
    let mut motion = Motion {
        local: first
            .local
            .iter()
            .map(|l| Local {
                animated: false,
                pure: true,
                uniform: true,
                unrotated: true,
                steady: true,
                inherits: of(l.1),
            })
            .collect(),
        largest_scale: vec![0.0; n],
        visible: selected.iter().map(|&s| FrameSet::new(if s { start + times.len() } else { 0 })).collect(),
        broken: vec![false; n],
    };
    for (frame, &time) in times.iter().enumerate() {
        world.evaluate(time)?;
        for i in 0..n {
            let state = &mut motion.local[i];
            let (local, inherits) = world.local[i];
            if frame == 0 || !world.is_constant(i) {
                state.animated |= local != first.local[i].0;
                if inherits != first.local[i].1 {
                    state.inherits = Inherits::Mixed;
                }
                classify(&local, handedness(&first.local[i].0), state);
            }
            if selected[i] {
                if world.visible[i] {
                    motion.visible[i].insert(start + frame);
                }
                let matrix = &world.matrix[i];
                if !matrix.is_finite() {
                    motion.broken[i] = true;
                } else if frame == 0 || !still(&world, placed, i) {
                    motion.largest_scale[i] = motion.largest_scale[i].max(largest_scale(matrix));
                }
            }
        }
    }
    Ok(motion)
}

fn still(world: &World<'_>, placed: &[Placed], mut i: usize) -> bool {
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

/// The sign of a matrix's determinant; 0 where it is so flat that rounding could change it.
fn handedness(m: &DMat4) -> f64 {
    let columns = [m.x_axis, m.y_axis, m.z_axis].map(|c| c.truncate());
    let lengths = columns.map(DVec3::length);
    let longest = lengths[0].max(lengths[1]).max(lengths[2]);
    let volume = columns[0].cross(columns[1]).dot(columns[2]);
    let clear =
        lengths.iter().all(|l| *l > 1e-6 * longest) && volume.abs() > 1e-3 * lengths.iter().product::<f64>();
    if clear && m.is_finite() { volume.signum() } else { 0.0 }
}

fn classify(m: &DMat4, hand: f64, state: &mut Local) {
    state.steady &= hand != 0.0 && handedness(m) == hand;
    let (x, y, z) = (m.x_axis.truncate(), m.y_axis.truncate(), m.z_axis.truncate());
    let (a, b, c) = (x.length(), y.length(), z.length());
    let size = a.max(b).max(c);
    let orthogonal = |u: DVec3, v: DVec3, lu: f64, lv: f64| u.dot(v).abs() <= PURE * lu * lv;
    state.pure &= m.is_finite() && orthogonal(x, y, a, b) && orthogonal(x, z, a, c) && orthogonal(y, z, b, c);
    state.uniform &= size > 0.0 && (size - a.min(b).min(c)) <= PURE * size;
    let off = [x.y, x.z, y.x, y.z, z.x, z.y].iter().fold(0.0f64, |m, v| m.max(v.abs()));
    state.unrotated &= off <= PURE * size;
}

/// The nodes that are left, frame by frame, as the player will see them: each matrix taken apart, rounded to
/// f32 and multiplied up the tree again.
pub struct Tracks<'a> {
    nodes: &'a [FlatNode],
    /// The source at the frame last asked for.
    pub world: World<'a>,
    previous: Vec<Option<Trs>>,
    /// Local transform per node.
    pub local: Vec<Transform>,
    /// World matrix per node, rows of 3×4.
    pub decoded: Vec<[[f64; 4]; 3]>,
}

impl<'a> Tracks<'a> {
    /// At no frame yet.
    pub fn new(scene: &'a Scene, placed: &'a [Placed], nodes: &'a [FlatNode]) -> Result<Tracks<'a>, Error> {
        Ok(Tracks {
            nodes,
            world: World::new(scene, placed)?,
            previous: vec![None; nodes.len()],
            local: vec![Transform::IDENTITY; nodes.len()],
            decoded: vec![Transform::IDENTITY.matrix(); nodes.len()],
        })
    }

    /// A node's local transform, not rounded.
    pub fn parts(&self, node: usize) -> Trs {
        self.previous[node].unwrap_or(Trs::IDENTITY)
    }

    /// Goes to a time. Signs of quaternions and scales follow the time asked for before, so times must be
    /// given in order.
    pub fn evaluate(&mut self, time: f64) -> Result<(), Error> {
        self.world.evaluate(time)?;
        for (i, node) in self.nodes.iter().enumerate() {
            if node.animated || self.previous[i].is_none() {
                let matrix = node.matrix(&self.world);
                let parts = decompose(&matrix, self.previous[i].as_ref())
                    .or(self.previous[i])
                    .unwrap_or(Trs::IDENTITY);
                self.local[i] = Transform {
                    rotation: parts.rotation.to_array().map(|x| x as f32),
                    translation: parts.translation.to_array().map(|x| x as f32),
                    scale: parts.scale.to_array().map(|x| x as f32),
                };
                self.previous[i] = Some(parts);
            }
            let own = self.local[i].matrix();
            self.decoded[i] = node.parent.map_or(own, |p| product(&self.decoded[p], &own));
        }
        Ok(())
    }
}

/// `a · b`, rows of 3×4.
pub fn product(a: &[[f64; 4]; 3], b: &[[f64; 4]; 3]) -> [[f64; 4]; 3] {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            let last = if j == 3 { a[i][3] } else { 0.0 };
            a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] + last
        })
    })
}

/// Bounds of a transformed box (min xyz, max xyz).
pub fn transform_box(m: &[[f64; 4]; 3], b: &[f32; 6]) -> [f64; 6] {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for corner in 0..8 {
        let p: [f64; 3] = std::array::from_fn(|k| f64::from(b[if corner >> k & 1 == 0 { k } else { k + 3 }]));
        for k in 0..3 {
            let x = m[k][0] * p[0] + m[k][1] * p[1] + m[k][2] * p[2] + m[k][3];
            (low[k], high[k]) = (low[k].min(x), high[k].max(x));
        }
    }
    [low[0], low[1], low[2], high[0], high[1], high[2]]
}

/// 40 bytes per sample of the transforms of all that is compiled, and of what is above it.
pub fn raw_bytes(scene: &Scene, placed: &[Placed], selected: &[bool]) -> u64 {
    let mut needed = selected.to_vec();
    let mut total = 0;
    for i in (0..placed.len()).rev() {
        if let (true, Some(parent)) = (needed[i], placed[i].parent) {
            needed[parent] = true;
        }
        if let (true, Some(transform)) = (needed[i], &scene.nodes[placed[i].node].transform) {
            total += 40 * transform.matrix.len() as u64;
        }
    }
    total
}

/// Visibility of a placement over `frames`.
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

    fn state(m: DMat4) -> Local {
        let mut state = Local {
            animated: false,
            pure: true,
            uniform: true,
            unrotated: true,
            steady: true,
            inherits: Inherits::Always,
        };
        classify(&m, handedness(&m), &mut state);
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
        // Turned over between two frames.
        let mut mirrored = state(DMat4::IDENTITY);
        classify(&scale(-1.0, 1.0, 1.0), 1.0, &mut mirrored);
        assert!(mirrored.pure && !mirrored.steady);
    }

    #[test]
    fn boxes_turn() {
        let m = Transform {
            rotation: [0.0, 0.0, (0.5f32).sqrt(), (0.5f32).sqrt()],
            translation: [10.0, 0.0, 0.0],
            scale: [1.0, 2.0, 1.0],
        }
        .matrix();
        let b = transform_box(&m, &[0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
        for (got, want) in b.iter().zip([8.0, 0.0, 0.0, 10.0, 1.0, 1.0]) {
            assert!((got - want).abs() < 1e-6, "{b:?}");
        }
        let twice = product(&m, &m);
        let b = transform_box(&twice, &[0.0; 6]);
        assert!((b[0] - 10.0).abs() < 1e-6 && (b[1] - 10.0).abs() < 1e-6, "{b:?}");
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
