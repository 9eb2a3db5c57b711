//! Computes a frame's normals and tangents, sixteen at a time: vectors of polygons, then groups, classes and
//! vertices. If each class is a group, or a vertex, their steps are merged.

use crate::mesh::normals::arranged_points::{ArrangedPoints, DifferenceUnit};
use crate::mesh::normals::gather::padded_block;
use crate::mesh::normals::model::{Directions, NormalBuffers, Normals};
use crate::mesh::normals::roots::{cosine_and_sine, normalized, project_to_plane, rotation};
use crate::mesh::normals::tangents::Tangents;
use crate::simd::lanes::{BLOCK, BlockTask, Number, Part, Vector, cross, plus, select, times};
use std::f32::consts::PI;
use std::marker::PhantomData;

/// The extent to which a frame is computed.
pub(super) enum Stage<'a> {
    /// Predicted normals of groups.
    #[cfg(feature = "encode")]
    Predicted,
    /// Normals of groups, by correcting the predicted ones in the buffer or unchanged, and, if wanted,
    /// predicted tangents of classes, in a frame that has been predicted.
    #[cfg(feature = "encode")]
    Corrected(Option<Corrections<'a>>, bool),
    /// Normals of groups and, if wanted, tangents of classes before turns.
    Built(Corrections<'a>, bool),
    /// Only the requested directions, of all vertices.
    Written(Corrections<'a>, Directions<'a>),
}

/// The states of groups and turns of vertices, in a frame or between two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corrections<'a> {
    pub states: &'a [[i16; 2]],
    pub turns: &'a [i16],
    pub next: Option<NextFrame<'a>>,
}

/// The states and turns of the following frame, and the fraction of the way to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NextFrame<'a> {
    pub states: &'a [[i16; 2]],
    pub turns: &'a [i16],
    pub t: f32,
}

impl Corrections<'_> {
    /// Returns the states of a part of a block; `None` if all are zero.
    #[inline(always)]
    fn states<L: Part>(&self, block: usize, part: usize) -> Option<[L; 2]> {
        let from = padded_block(self.states, block * BLOCK, [0; 2]);
        let Some(NextFrame { states: next, t, .. }) = self.next else {
            return if from == [[0; 2]; BLOCK] { None } else { Some(axes(&from, part)) };
        };
        let to = padded_block(next, block * BLOCK, [0; 2]);
        if from == to {
            return if from == [[0; 2]; BLOCK] { None } else { Some(axes(&from, part)) };
        }
        let ([x, y], [x2, y2]): ([L; 2], [L; 2]) = (axes(&from, part), axes(&to, part));
        let t = L::splat(t);
        Some([x + (x2 - x) * t, y + (y2 - y) * t])
    }

    /// Returns the turns of a part of a block, in steps; `None` if all are zero.
    #[inline(always)]
    fn turns<L: Part>(&self, block: usize, part: usize, step: f32) -> Option<L> {
        let from = padded_block(self.turns, block * BLOCK, 0);
        let Some(NextFrame { turns: next, t, .. }) = self.next else {
            return if from == [0; BLOCK] { None } else { Some(L::load_i16(&from, part)) };
        };
        let to = padded_block(next, block * BLOCK, 0);
        if from == to {
            return if from == [0; BLOCK] { None } else { Some(L::load_i16(&from, part)) };
        }
        Some(interpolate_turns(L::load_i16(&from, part), L::load_i16(&to, part), t, step))
    }

    /// Returns the turn of a vertex, in steps.
    pub fn turn(&self, v: usize, step: f32) -> f32 {
        let from = f32::from(self.turns[v]);
        match self.next {
            Some(NextFrame { turns: next, t, .. }) => interpolate_turns(from, f32::from(next[v]), t, step),
            None => from,
        }
    }
}

/// Interpolates two turns; returns the nearer one if they are more than half a turn apart.
#[inline(always)]
fn interpolate_turns<N: Number>(from: N, to: N, t: f32, step: f32) -> N {
    let off = to - from;
    let far = N::splat(PI).less(off.abs() * N::splat(step));
    let nearer = if t < 0.5 { from } else { to };
    N::select(far, nearer, from + off * N::splat(t))
}

#[inline(always)]
fn axes<L: Part>(states: &[[i16; 2]; BLOCK], part: usize) -> [L; 2] {
    let (mut x, mut y) = ([0; BLOCK], [0; BLOCK]);
    for l in 0..BLOCK {
        (x[l], y[l]) = (states[l][0], states[l][1]);
    }
    [L::load_i16(&x, part), L::load_i16(&y, part)]
}

/// The kernel of a frame whose points are laid out, with the unit that `U` gives.
pub(super) struct Kernel<'a, U> {
    pub normals: &'a Normals,
    pub unit: PhantomData<U>,
    pub work: &'a mut NormalBuffers,
    pub stage: Stage<'a>,
}

impl<U: DifferenceUnit> BlockTask for Kernel<'_, U> {
    #[inline(always)]
    fn run<L: Part>(self) {
        let Kernel { normals, work, stage, .. } = self;
        #[cfg(feature = "encode")]
        if let Stage::Corrected(states, tangents) = stage {
            for block in 0..if states.is_some() { work.normals.len() / BLOCK } else { 0 } {
                for part in 0..L::PARTS {
                    let n = load::<L>(&work.normals, block, part);
                    let n = normals.correct_block::<L, U>(&work.arranged, (block, part), n, states.as_ref());
                    store(n, &mut work.normals, block, part);
                }
            }
            if let Some(own) = normals.tangents.as_ref().filter(|_| tangents) {
                normals.all_classes::<L, U>(own, work);
            }
            return;
        }
        let tangents = match &stage {
            Stage::Built(_, tangents) => *tangents,
            Stage::Written(_, out) => out.tangents.is_some(),
            #[cfg(feature = "encode")]
            _ => true,
        };
        let tangents = normals.tangents.as_ref().filter(|_| tangents);
        if normals.turned.is_none() {
            normals.surface.write_vectors::<U>(&work.arranged, &mut work.vectors);
            if let Some(tangents) = tangents {
                tangents.write_vectors::<U>(&work.arranged, &mut work.vectors);
            }
        }
        match stage {
            #[cfg(feature = "encode")]
            Stage::Predicted => normals.all_groups::<L, U>(work, None),
            #[cfg(feature = "encode")]
            Stage::Corrected(..) => {}
            Stage::Built(states, _) => {
                normals.all_groups::<L, U>(work, Some(&states));
                if let Some(tangents) = tangents {
                    normals.all_classes::<L, U>(tangents, work);
                }
            }
            Stage::Written(states, out) => {
                let mut target = DirectionWriter { normals, states, out };
                match tangents {
                    None => normals.normals_only::<L, U>(work, &mut target),
                    Some(tangents) => normals.write_normals_and_tangents::<L, U>(tangents, work, &mut target),
                }
            }
        }
    }
}

#[cfg(feature = "encode")]
#[inline(always)]
fn load<L: Part>(list: &[[f32; 4]], block: usize, part: usize) -> Vector<L> {
    L::vectors(list, &item_indices(block), part)
}

#[inline(always)]
fn store<L: Part>(v: Vector<L>, list: &mut [[f32; 4]], block: usize, part: usize) {
    L::store_vectors(v, &mut list.as_chunks_mut().0[block], part);
}

/// Returns the numbers of the items of a block.
#[cfg(feature = "encode")]
#[inline(always)]
fn item_indices(block: usize) -> [u32; BLOCK] {
    let mut out = [0; BLOCK];
    for (l, out) in out.iter_mut().enumerate() {
        *out = (block * BLOCK + l) as u32;
    }
    out
}

// A function for an instruction set is inlined as a whole. A WebAssembly program is compiled for one
// instruction set, so a function used in several places need not be duplicated.
impl Normals {
    /// Returns the normals of a part of a block of groups.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn group_block<L: Part, U: DifferenceUnit>(
        &self,
        (block, part): (usize, usize),
        (laid, vectors): (&ArrangedPoints, &[[f32; 4]]),
        states: Option<&Corrections<'_>>,
    ) -> Vector<L> {
        let n = match &self.turned {
            Some(turned) => normalized(turned.group::<L>(block, part, vectors)),
            None => {
                let n = self.surface.directions::<L, U>((block, part), laid, vectors);
                if self.negated { [-n[0], -n[1], -n[2]] } else { n }
            }
        };
        self.correct_block::<L, U>(laid, (block, part), n, states)
    }

    /// Corrects predicted normals by their states.
    #[inline(always)]
    fn correct_block<L: Part, U: DifferenceUnit>(
        &self,
        laid: &ArrangedPoints,
        (block, part): (usize, usize),
        n: Vector<L>,
        states: Option<&Corrections<'_>>,
    ) -> Vector<L> {
        let Some([x, y]) = states.and_then(|s| s.states::<L>(block, part)) else {
            return n;
        };
        let frame = self.surface.frames::<L, U>(laid, (block, part), n);
        let there = L::splat(0.0).less(x * x + y * y);
        select(there, corrected(n, frame, [x, y], self.step), n)
    }

    /// Computes the normals of all groups into `work`; the predicted ones without states.
    #[inline(always)]
    fn all_groups<L: Part, U: DifferenceUnit>(
        &self,
        work: &mut NormalBuffers,
        states: Option<&Corrections<'_>>,
    ) {
        for block in 0..self.surface.groups().div_ceil(BLOCK) {
            for part in 0..L::PARTS {
                let n = self.group_block::<L, U>((block, part), (&work.arranged, &work.vectors), states);
                store(n, &mut work.normals, block, part);
            }
        }
    }

    /// Returns the tangents of a part of a block of classes with the normals `n`.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn class_block<L: Part, U: DifferenceUnit>(
        &self,
        tangents: &Tangents,
        (block, part): (usize, usize),
        n: Vector<L>,
        (laid, vectors): (&ArrangedPoints, &[[f32; 4]]),
    ) -> Vector<L> {
        let sum = match &self.turned {
            Some(turned) => turned.class::<L>(block, part, vectors),
            None => tangents.sums::<L, U>((block, part), laid, n, vectors),
        };
        let (t, there) = project_to_plane(sum, n);
        if L::all(there) {
            return t;
        }
        let groups = padded_block(tangents.groups(), block * BLOCK, 0);
        let [other, _] = self.surface.frames_of::<L, U>(laid, &groups, part, n);
        select(there, t, other)
    }

    /// Computes the tangents of all classes into `work`, from known normals.
    #[inline(always)]
    fn all_classes<L: Part, U: DifferenceUnit>(&self, tangents: &Tangents, work: &mut NormalBuffers) {
        for block in 0..tangents.groups().len().div_ceil(BLOCK) {
            let groups = padded_block(tangents.groups(), block * BLOCK, 0);
            for part in 0..L::PARTS {
                let n = L::vectors(&work.normals, &groups, part);
                let t = self.class_block::<L, U>(tangents, (block, part), n, (&work.arranged, &work.vectors));
                store(t, &mut work.tangents, block, part);
            }
        }
    }

    /// Writes the normals of all vertices, without tangents.
    #[inline(always)]
    fn normals_only<L: Part, U: DifferenceUnit>(
        &self,
        work: &mut NormalBuffers,
        target: &mut DirectionWriter<'_>,
    ) {
        let groups = self.surface.groups();
        // Both are numbered in the order of vertices.
        let follow = groups == self.group.len();
        for block in 0..groups.div_ceil(BLOCK) {
            for part in 0..L::PARTS {
                let states = Some(&target.states);
                let n = self.group_block::<L, U>((block, part), (&work.arranged, &work.vectors), states);
                match follow {
                    true => target.write_normals((block, part), n),
                    false => store(n, &mut work.normals, block, part),
                }
            }
        }
        for block in 0..if follow { 0 } else { self.group.len().div_ceil(BLOCK) } {
            let group = padded_block(&self.group, block * BLOCK, 0);
            for part in 0..L::PARTS {
                target.write_normals((block, part), L::vectors(&work.normals, &group, part));
            }
        }
    }

    /// Writes the normals and tangents of all vertices, in as few steps as possible.
    #[inline(always)]
    fn write_normals_and_tangents<L: Part, U: DifferenceUnit>(
        &self,
        tangents: &Tangents,
        work: &mut NormalBuffers,
        target: &mut DirectionWriter<'_>,
    ) {
        let groups = self.surface.groups();
        let (with_groups, with_vertices) = (tangents.follow_groups(groups), tangents.follow_vertices());
        if !with_groups {
            self.all_groups::<L, U>(work, Some(&target.states));
        }
        for block in 0..tangents.groups().len().div_ceil(BLOCK) {
            let of = padded_block(tangents.groups(), block * BLOCK, 0);
            for part in 0..L::PARTS {
                let states = Some(&target.states);
                let n = match with_groups {
                    true => self.group_block::<L, U>((block, part), (&work.arranged, &work.vectors), states),
                    false => L::vectors(&work.normals, &of, part),
                };
                let t = self.class_block::<L, U>(tangents, (block, part), n, (&work.arranged, &work.vectors));
                if with_vertices {
                    target.write_both(tangents, (block, part), n, t);
                    continue;
                }
                if with_groups {
                    store(n, &mut work.normals, block, part);
                }
                store(t, &mut work.tangents, block, part);
            }
        }
        for block in 0..if with_vertices { 0 } else { self.group.len().div_ceil(BLOCK) } {
            let group = padded_block(&self.group, block * BLOCK, 0);
            let class = padded_block(tangents.classes(), block * BLOCK, 0);
            for part in 0..L::PARTS {
                let n = L::vectors(&work.normals, &group, part);
                let t = L::vectors(&work.tangents, &class, part);
                target.write_both(tangents, (block, part), n, t);
            }
        }
    }
}

/// The output for the directions of all vertices.
struct DirectionWriter<'a> {
    normals: &'a Normals,
    states: Corrections<'a>,
    out: Directions<'a>,
}

impl DirectionWriter<'_> {
    /// Writes the normals of a part of a block of vertices.
    #[inline(always)]
    fn write_normals<L: Part>(&mut self, (block, part): (usize, usize), n: Vector<L>) {
        let Some(out) = &mut self.out.normals else { return };
        match out[block * BLOCK..].first_chunk_mut() {
            Some(out) => L::store_threes(n, out, part),
            None => {
                let mut rows = [[0.0; 3]; BLOCK];
                L::store_threes(n, &mut rows, part);
                copy_last_block(&rows, out, (block, part), L::PARTS);
            }
        }
    }

    /// Writes normals, and turns and writes tangents, of a part of a block of vertices.
    #[inline(always)]
    fn write_both<L: Part>(
        &mut self,
        tangents: &Tangents,
        at: (usize, usize),
        n: Vector<L>,
        mut t: Vector<L>,
    ) {
        self.write_normals(at, n);
        let (block, part) = at;
        let step = self.normals.turn_step;
        if let Some(turns) = self.states.turns::<L>(block, part, step) {
            let there = L::splat(0.0).less(turns.abs());
            t = select(there, turned(t, n, cosine_and_sine(turns * L::splat(step))), t);
        }
        let Some(out) = &mut self.out.tangents else { return };
        let t = [t[0], t[1], t[2], tangents.signs_of::<L>(at)];
        match out[block * BLOCK..].first_chunk_mut() {
            Some(out) => L::store_fours(t, out, part),
            None => {
                let mut rows = [[0.0; 4]; BLOCK];
                L::store_fours(t, &mut rows, part);
                copy_last_block(&rows, out, (block, part), L::PARTS);
            }
        }
    }
}

/// Copies a part of the last block, as far as there are vertices.
#[inline(always)]
fn copy_last_block<const N: usize>(
    rows: &[[f32; N]; BLOCK],
    out: &mut [[f32; N]],
    (block, part): (usize, usize),
    parts: usize,
) {
    let each = BLOCK / parts;
    let out = &mut out[block * BLOCK..];
    let own = (part * each).min(out.len())..((part + 1) * each).min(out.len());
    out[own.clone()].copy_from_slice(&rows[own]);
}

/// Returns the normal of a nonzero state, in the frame of the predicted normal `n`.
#[inline(always)]
pub(super) fn corrected<N: Number>(
    n: Vector<N>,
    [e1, e2]: [Vector<N>; 2],
    [x, y]: [N; 2],
    step: f32,
) -> Vector<N> {
    let half = N::splat(step * 0.5);
    let (x, y) = (x * half, y * half);
    let [c, s] = rotation(x * x + y * y);
    plus(times(n, c), plus(times(e1, x * s), times(e2, y * s)))
}

/// Returns the unit vector perpendicular to `n` that results from rotating `t` about `n` by the angle with
/// the cosine and sine `turn`.
#[inline(always)]
pub(super) fn turned<N: Number>(t: Vector<N>, n: Vector<N>, turn: [N; 2]) -> Vector<N> {
    plus(times(t, turn[0]), times(cross(n, t), turn[1]))
}
