//! A frame's normals and tangents, sixteen at a time: vectors of polygons, then groups, classes and vertices.
//! Where a class is a group, or a vertex, their steps are one.

use crate::mesh::normals::gather::sixteen;
use crate::mesh::normals::model::{Directions, Normals, Work};
use crate::mesh::normals::places::{Laid, Unit};
use crate::mesh::normals::roots::{directions, flat, rotation, turn};
use crate::mesh::normals::tangents::Tangents;
use crate::simd::lanes::{BLOCK, BlockTask, Number, Part, Vector, cross, plus, select, times};
use std::f32::consts::PI;
use std::marker::PhantomData;

/// How far a frame is computed.
pub(super) enum Stage<'a> {
    /// Predicted normals of groups.
    #[cfg(feature = "encode")]
    Predicted,
    /// Normals of groups, from the predicted ones that are there, or as they are there, and predicted tangents
    /// of classes, if wanted, of a frame that is predicted.
    #[cfg(feature = "encode")]
    Bent(Option<Corrections<'a>>, bool),
    /// Normals of groups and, if wanted, tangents of classes, without turns.
    Built(Corrections<'a>, bool),
    /// Only what is asked for, of all vertices.
    Written(Corrections<'a>, Directions<'a>),
}

/// States of groups and turns of vertices, of a frame or between two.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corrections<'a> {
    pub states: &'a [[i16; 2]],
    pub turns: &'a [i16],
    pub next: Option<Next<'a>>,
}

/// States and turns of the frame that follows, and how far on the way there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Next<'a> {
    pub states: &'a [[i16; 2]],
    pub turns: &'a [i16],
    pub t: f32,
}

impl Corrections<'_> {
    /// States of a part of a block; none where all are zero.
    #[inline(always)]
    fn states<L: Part>(&self, block: usize, part: usize) -> Option<[L; 2]> {
        let from = sixteen(self.states, block * BLOCK, [0; 2]);
        let Some(Next { states: next, t, .. }) = self.next else {
            return if from == [[0; 2]; BLOCK] { None } else { Some(axes(&from, part)) };
        };
        let to = sixteen(next, block * BLOCK, [0; 2]);
        if from == to {
            return if from == [[0; 2]; BLOCK] { None } else { Some(axes(&from, part)) };
        }
        let ([x, y], [x2, y2]): ([L; 2], [L; 2]) = (axes(&from, part), axes(&to, part));
        let t = L::splat(t);
        Some([x + (x2 - x) * t, y + (y2 - y) * t])
    }

    /// Turns of a part of a block, in steps; none where all are zero.
    #[inline(always)]
    fn turns<L: Part>(&self, block: usize, part: usize, step: f32) -> Option<L> {
        let from = sixteen(self.turns, block * BLOCK, 0);
        let Some(Next { turns: next, t, .. }) = self.next else {
            return if from == [0; BLOCK] { None } else { Some(L::load_i16(&from, part)) };
        };
        let to = sixteen(next, block * BLOCK, 0);
        if from == to {
            return if from == [0; BLOCK] { None } else { Some(L::load_i16(&from, part)) };
        }
        Some(between(L::load_i16(&from, part), L::load_i16(&to, part), t, step))
    }

    /// The turn of a vertex, in steps.
    pub fn turn(&self, v: usize, step: f32) -> f32 {
        let from = f32::from(self.turns[v]);
        match self.next {
            Some(Next { turns: next, t, .. }) => between(from, f32::from(next[v]), t, step),
            None => from,
        }
    }
}

/// Between two turns; the nearer one where they are more than half a turn apart.
#[inline(always)]
fn between<N: Number>(from: N, to: N, t: f32, step: f32) -> N {
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

/// The kernel of a frame whose points are laid, in a unit that `U` knows.
pub(super) struct Kernel<'a, U> {
    pub normals: &'a Normals,
    pub unit: PhantomData<U>,
    pub work: &'a mut Work,
    pub stage: Stage<'a>,
}

impl<U: Unit> BlockTask for Kernel<'_, U> {
    #[inline(always)]
    fn run<L: Part>(self) {
        let Kernel { normals, work, stage, .. } = self;
        #[cfg(feature = "encode")]
        if let Stage::Bent(states, tangents) = stage {
            for block in 0..if states.is_some() { work.normals.len() / BLOCK } else { 0 } {
                for part in 0..L::PARTS {
                    let n = load::<L>(&work.normals, block, part);
                    let n = normals.bend_block::<L, U>(&work.laid, (block, part), n, states.as_ref());
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
            normals.surface.write_vectors::<U>(&work.laid, &mut work.vectors);
            if let Some(tangents) = tangents {
                tangents.write_vectors::<U>(&work.laid, &mut work.vectors);
            }
        }
        match stage {
            #[cfg(feature = "encode")]
            Stage::Predicted => normals.all_groups::<L, U>(work, None),
            #[cfg(feature = "encode")]
            Stage::Bent(..) => {}
            Stage::Built(states, _) => {
                normals.all_groups::<L, U>(work, Some(&states));
                if let Some(tangents) = tangents {
                    normals.all_classes::<L, U>(tangents, work);
                }
            }
            Stage::Written(states, out) => {
                let mut target = Target { normals, states, out };
                match tangents {
                    None => normals.normals_only::<L, U>(work, &mut target),
                    Some(tangents) => normals.shown::<L, U>(tangents, work, &mut target),
                }
            }
        }
    }
}

#[cfg(feature = "encode")]
#[inline(always)]
fn load<L: Part>(list: &[[f32; 4]], block: usize, part: usize) -> Vector<L> {
    L::vectors(list, &numbers(block), part)
}

#[inline(always)]
fn store<L: Part>(v: Vector<L>, list: &mut [[f32; 4]], block: usize, part: usize) {
    L::store_vectors(v, &mut list.as_chunks_mut().0[block], part);
}

/// Numbers of the items of a block.
#[cfg(feature = "encode")]
#[inline(always)]
fn numbers(block: usize) -> [u32; BLOCK] {
    let mut out = [0; BLOCK];
    for (l, out) in out.iter_mut().enumerate() {
        *out = (block * BLOCK + l) as u32;
    }
    out
}

// A function of an instruction set is one as a whole. In WebAssembly all of the program is compiled for one, and what is
// used in several places need not be there more than once.
impl Normals {
    /// Normals of a part of a block of groups.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn group_block<L: Part, U: Unit>(
        &self,
        (block, part): (usize, usize),
        (laid, vectors): (&Laid, &[[f32; 4]]),
        states: Option<&Corrections<'_>>,
    ) -> Vector<L> {
        let n = match &self.turned {
            Some(turned) => directions(turned.group::<L>(block, part, vectors)),
            None => {
                let n = self.surface.directions::<L, U>((block, part), laid, vectors);
                if self.negated { [-n[0], -n[1], -n[2]] } else { n }
            }
        };
        self.bend_block::<L, U>(laid, (block, part), n, states)
    }

    /// Turns predicted normals as their states say.
    #[inline(always)]
    fn bend_block<L: Part, U: Unit>(
        &self,
        laid: &Laid,
        (block, part): (usize, usize),
        n: Vector<L>,
        states: Option<&Corrections<'_>>,
    ) -> Vector<L> {
        let Some([x, y]) = states.and_then(|s| s.states::<L>(block, part)) else {
            return n;
        };
        let frame = self.surface.frames::<L, U>(laid, (block, part), n);
        let there = L::splat(0.0).less(x * x + y * y);
        select(there, bent(n, frame, [x, y], self.step), n)
    }

    /// Normals of all groups into `work`; without states the predicted ones.
    #[inline(always)]
    fn all_groups<L: Part, U: Unit>(&self, work: &mut Work, states: Option<&Corrections<'_>>) {
        for block in 0..self.surface.groups().div_ceil(BLOCK) {
            for part in 0..L::PARTS {
                let n = self.group_block::<L, U>((block, part), (&work.laid, &work.vectors), states);
                store(n, &mut work.normals, block, part);
            }
        }
    }

    /// Tangents of a part of a block of classes whose normals are `n`.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    #[cfg_attr(target_arch = "wasm32", inline(never))]
    fn class_block<L: Part, U: Unit>(
        &self,
        tangents: &Tangents,
        (block, part): (usize, usize),
        n: Vector<L>,
        (laid, vectors): (&Laid, &[[f32; 4]]),
    ) -> Vector<L> {
        let sum = match &self.turned {
            Some(turned) => turned.class::<L>(block, part, vectors),
            None => tangents.sums::<L, U>((block, part), laid, n, vectors),
        };
        let (t, there) = flat(sum, n);
        if L::all(there) {
            return t;
        }
        let groups = sixteen(tangents.groups(), block * BLOCK, 0);
        let [other, _] = self.surface.frames_of::<L, U>(laid, &groups, part, n);
        select(there, t, other)
    }

    /// Tangents of all classes into `work`, whose normals are known.
    #[inline(always)]
    fn all_classes<L: Part, U: Unit>(&self, tangents: &Tangents, work: &mut Work) {
        for block in 0..tangents.groups().len().div_ceil(BLOCK) {
            let groups = sixteen(tangents.groups(), block * BLOCK, 0);
            for part in 0..L::PARTS {
                let n = L::vectors(&work.normals, &groups, part);
                let t = self.class_block::<L, U>(tangents, (block, part), n, (&work.laid, &work.vectors));
                store(t, &mut work.tangents, block, part);
            }
        }
    }

    /// Normals of all vertices, without a thought of tangents.
    #[inline(always)]
    fn normals_only<L: Part, U: Unit>(&self, work: &mut Work, target: &mut Target<'_>) {
        let groups = self.surface.groups();
        // Both are numbered as vertices come.
        let follow = groups == self.group.len();
        for block in 0..groups.div_ceil(BLOCK) {
            for part in 0..L::PARTS {
                let states = Some(&target.states);
                let n = self.group_block::<L, U>((block, part), (&work.laid, &work.vectors), states);
                match follow {
                    true => target.normal((block, part), n),
                    false => store(n, &mut work.normals, block, part),
                }
            }
        }
        for block in 0..if follow { 0 } else { self.group.len().div_ceil(BLOCK) } {
            let group = sixteen(&self.group, block * BLOCK, 0);
            for part in 0..L::PARTS {
                target.normal((block, part), L::vectors(&work.normals, &group, part));
            }
        }
    }

    /// Normals and tangents of all vertices, in as few steps as there can be.
    #[inline(always)]
    fn shown<L: Part, U: Unit>(&self, tangents: &Tangents, work: &mut Work, target: &mut Target<'_>) {
        let groups = self.surface.groups();
        let (with_groups, with_vertices) = (tangents.follow_groups(groups), tangents.follow_vertices());
        if !with_groups {
            self.all_groups::<L, U>(work, Some(&target.states));
        }
        for block in 0..tangents.groups().len().div_ceil(BLOCK) {
            let of = sixteen(tangents.groups(), block * BLOCK, 0);
            for part in 0..L::PARTS {
                let states = Some(&target.states);
                let n = match with_groups {
                    true => self.group_block::<L, U>((block, part), (&work.laid, &work.vectors), states),
                    false => L::vectors(&work.normals, &of, part),
                };
                let t = self.class_block::<L, U>(tangents, (block, part), n, (&work.laid, &work.vectors));
                if with_vertices {
                    target.both(tangents, (block, part), n, t);
                    continue;
                }
                if with_groups {
                    store(n, &mut work.normals, block, part);
                }
                store(t, &mut work.tangents, block, part);
            }
        }
        for block in 0..if with_vertices { 0 } else { self.group.len().div_ceil(BLOCK) } {
            let group = sixteen(&self.group, block * BLOCK, 0);
            let class = sixteen(tangents.classes(), block * BLOCK, 0);
            for part in 0..L::PARTS {
                let n = L::vectors(&work.normals, &group, part);
                let t = L::vectors(&work.tangents, &class, part);
                target.both(tangents, (block, part), n, t);
            }
        }
    }
}

/// Where the directions of all vertices are written.
struct Target<'a> {
    normals: &'a Normals,
    states: Corrections<'a>,
    out: Directions<'a>,
}

impl Target<'_> {
    /// Of a part of a block of vertices.
    #[inline(always)]
    fn normal<L: Part>(&mut self, (block, part): (usize, usize), n: Vector<L>) {
        let Some(out) = &mut self.out.normals else { return };
        match out[block * BLOCK..].first_chunk_mut() {
            Some(out) => L::store_threes(n, out, part),
            None => {
                let mut rows = [[0.0; 3]; BLOCK];
                L::store_threes(n, &mut rows, part);
                put(&rows, out, (block, part), L::PARTS);
            }
        }
    }

    /// Of vertices whose tangents are not yet turned.
    #[inline(always)]
    fn both<L: Part>(&mut self, tangents: &Tangents, at: (usize, usize), n: Vector<L>, mut t: Vector<L>) {
        self.normal(at, n);
        let (block, part) = at;
        let step = self.normals.turn_step;
        if let Some(turns) = self.states.turns::<L>(block, part, step) {
            let there = L::splat(0.0).less(turns.abs());
            t = select(there, turned(t, n, turn(turns * L::splat(step))), t);
        }
        let Some(out) = &mut self.out.tangents else { return };
        let signs = sixteen(tangents.signs(), block * BLOCK, 1.0);
        let t = [t[0], t[1], t[2], L::load(&signs, part)];
        match out[block * BLOCK..].first_chunk_mut() {
            Some(out) => L::store_fours(t, out, part),
            None => {
                let mut rows = [[0.0; 4]; BLOCK];
                L::store_fours(t, &mut rows, part);
                put(&rows, out, (block, part), L::PARTS);
            }
        }
    }
}

/// Puts a part of the last block there, as far as there are vertices.
#[inline(always)]
fn put<const N: usize>(
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

/// The normal of a state that is not zero, in the frame of the predicted normal `n`.
#[inline(always)]
pub(super) fn bent<N: Number>(
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

/// The unit vector at right angles to `n` that is turned from `t` by the angle of `turn` (cosine and sine)
/// about `n`.
#[inline(always)]
pub(super) fn turned<N: Number>(t: Vector<N>, n: Vector<N>, turn: [N; 2]) -> Vector<N> {
    plus(times(t, turn[0]), times(cross(n, t), turn[1]))
}
