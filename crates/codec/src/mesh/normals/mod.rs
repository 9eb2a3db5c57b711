//! Normals and tangents as corrections of what the decoded geometry says. Error bound: the tolerance, in
//! degrees, of normals and of tangents, as the encoder measures it on the decoder's own output for every
//! vertex and frame.
//!
//! Points that are 10⁻⁴ of the mesh off give normals that are mostly a few tenths of a degree off: as good as
//! stored ones. So the file keeps, for every normal, a *state*: where it lies in the frame of the predicted
//! one, in steps of an angle; and for every vertex by how many steps its tangent is turned. Nearly all states
//! are those of the frame they are predicted from, which costs hundredths of a bit.
//!
//! ```text
//! group      vertices that share a normal in all frames (topology/partition.rs); its predicted normal n: mesh/normals/surface.rs
//! state      x, y in steps s, e₁ e₂ the frame that turns with the surface: r = √(x² + y²), a = s·r
//!            normal = n·cos a + (x·e₁ + y·e₂)/r · sin a. The map keeps distances from its middle and shortens the others, so a lattice
//!            covers all directions as well as it covers those near n; 32767 steps reach the opposite pole down to 0.02°
//! turn       z in steps of another angle: the predicted tangent (mesh/normals/tangents.rs, with the decoded normal) turned about the normal
//! base       a state and a turn for each group and vertex, kept once: what an artist's normals, bent polygons and rounded uvs
//!            are off at all times
//! ```
//!
//! A third of the tolerance is one step, and a frame differs from its reference by whole multiples of three:
//! what is corrected is at most √½ of the tolerance off, and tangents half of it, so that both together keep
//! it.
//!
//! ```text
//! reference  of a frame: 0 is the base, i the i-th of the frames it may refer to: the caller's, then those of the unit so far.
//!            A plain number of as many bits as the largest needs
//! group g    old = its state in the reference; one bit [normal, class, near, past]: is it another?
//!            x = number[state, 0], y = number[state, x = 0 ? 2 : 1];  state = old + 3·(x, y)
//! vertex v   old = its turn in the reference, plus what the turn of its mate w differs from the reference's;
//!            one bit [turn, class, near, past]: is it another?  turn = old + 3·number[turn, 0]
//! number     one bit [zero]: is it not 0?  sign, plain;  bits [length] while the logarithm of its size is larger, at most 15;
//!            as many plain bits of the size
//! class      0 … 3, how often the encoder's samples corrected the item
//! near       of g: how many of up to three earlier groups that touch it differ from the reference in this frame, at most 2; of v: how many of
//!            two earlier vertices do, plus one if the group of v does
//! past       1 if the reference differs from the base here, 0 if not, 2 where the reference is the base
//! ```
//!
//! Items *touch* as in topology/partition.rs, the first ones found count; the *mate* is the first that has the
//! same group.
//!
//! # Levels
//!
//! A decoded frame keeps what was decoded as octahedral levels, or as those of tangent frames, by the f32
//! encoders of [`crate::quantize::octahedral`] and [`crate::quantize::qtangent`]: at 16 bits they add less than 0.01 degrees. The
//! encoder measures the promise on these levels.
//!
//! # How it is computed
//!
//! Everything is written for eight polygons, groups, classes or vertices at a time (`codec/src/lanes.rs`),
//! with AVX2 where the machine has it; blocks whose states are all zero are not bent, and what follows the
//! last correction of a unit is copied.
//!
//! # Bytes
//!
//! Static part:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | flags | 1 tangents, 2 polygons are kept, 4 predicted normals are negated |
//! | 1 | 4 | step | of states, radians, f32 |
//! | 5 | 4 | turn step | of turns, radians, f32; 0 without tangents |
//! | 9 | … | range coded | faces if kept; groups; signs of vertices with tangents; class and base of each group; class and turn of each vertex with tangents; starting chances |
//!
//! The faces, groups and signs are those of topology/partition.rs; a sign is one bit, whether it is not that of
//! the uv area of the vertex's first triangle that has one, its context what the vertex before did. A class
//! is as many ones as it is high, at most three, in the contexts of the class before (at most 2); then one
//! bit, in the context of the class, for groups and vertices apart, whether the base is not what is expected:
//! 0 for groups, the mate's for turns; then numbers. A starting chance is one bit, whether it is not even,
//! then eight plain ones.
//!
//! A unit is one range coded string (entropy/range.rs): for each frame its reference, its groups, its vertices.
//! It is empty where all is as predicted.
//!
//! # How it is used
//!
//! * Compile: [`Sharing`](crate::topology::partition::Sharing) over the source's normals of all frames (or started from
//!   the smoothing groups, without looking at frames); [`Encoder::new`](crate::mesh::normals::encode::Encoder::new)
//!   with about two dozen decoded frames, then its `static_bytes`; `encode` for each unit gives bytes, states
//!   and the largest errors: where these are above the tolerance, the mesh cannot be done this way (vertices
//!   of one group that differ, normals that are no numbers).
//! * Load: [`Normals::read`], [`Normals::work`], and [`Normals::set_uvs`], again for each frame only where
//!   uvs move.
//! * Unit: [`Normals::decode`] gives the states of its frames; no positions are needed. A player keeps
//!   [`Normals::state_len`] × 2 bytes per frame: 4 for each group and 2 for each vertex with tangents.
//! * Frame that is shown: [`Normals::levels`] with its points and states; or [`Normals::build`], then
//!   [`Built::normal`] and [`Built::tangent`] of any vertex.
//!
//! References cost nothing but that the states of their frames are there; none (an empty list) is always
//! allowed, in the decoder exactly as in the encoder.

mod contexts;
#[cfg(feature = "encode")]
pub mod encode;
pub mod surface;
pub(crate) mod tangents;

use crate::bytes::Cursor;
use crate::entropy::range::{Bits, Chance, Decoder};
use crate::mesh::normals::surface::{Surface, directions, turn};
use crate::mesh::normals::tangents::{Slopes, Tangents, turned};
use crate::quantize::{octahedral, qtangent};
use crate::simd::isa::Isa;
use crate::simd::lanes::{
    self, LANES, Lanes, Number, Place, Points, Row, Vector, eight, plus, select, times,
};
use crate::topology::partition;
use crate::topology::partition::{Near, Polygons};
use crate::{Corrupt, each_width};
#[cfg(feature = "encode")]
pub(in crate::mesh) use contexts::level_near;
use contexts::{CLASSES, CorrectionContexts, EVEN_LEVEL, level_of, moved, strides};
pub(in crate::mesh) use contexts::{Contexts, STRIDE, level};

/// The mesh as encoder and decoder both know it.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    /// Vertices of each triangle.
    pub triangles: &'a [[u32; 3]],
    /// Point of each vertex, numbered without gaps.
    pub point: &'a [u32],
    /// Decoded uv of each vertex in the first frame, which tangents follow; empty where there are no
    /// tangents.
    pub uvs: &'a [[f32; 2]],
}

const HEAD: usize = 9;

/// Static part of the normals of a mesh, made from its bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Normals {
    pub(in crate::mesh) surface: Surface,
    pub(in crate::mesh) tangents: Option<Tangents>,
    /// Group of each vertex.
    pub(in crate::mesh) group: Vec<u32>,
    /// State of each group, then turn of each vertex.
    pub(in crate::mesh) base: Vec<i16>,
    /// Class of each group, then of each vertex.
    pub(in crate::mesh) classes: Vec<u8>,
    /// Up to three groups before each group, and two vertices before each vertex, that touch it.
    near_groups: Vec<[u32; 3]>,
    near_vertices: Vec<[u32; 2]>,
    /// A vertex before each vertex that touches it and has the same normal.
    mates: Vec<u32>,
    pub(in crate::mesh) step: f32,
    pub(in crate::mesh) turn_step: f32,
    pub(in crate::mesh) negated: bool,
    pub(in crate::mesh) chances: Contexts<Chance>,
}

/// Buffers of the frame that is built.
#[derive(Debug, Clone, Default)]
pub struct Work {
    pub(in crate::mesh) normals: Vec<[f32; 4]>,
    pub(in crate::mesh) slopes: Slopes,
    /// Per class of tangents.
    tangents: Vec<[f32; 4]>,
}

/// No item.
const NONE: u32 = u32::MAX;

impl Normals {
    /// Reads the static part.
    pub fn read(bytes: &[u8], shape: Shape<'_>) -> Result<Normals, Corrupt> {
        let mut head = Cursor::new(bytes);
        let flags = head.u8()?;
        let steps = [head.f32()?, head.f32()?];
        let tangents = flags & 1 != 0;
        let usable = |s: f32| s > 0.0 && s <= 4.0;
        if flags > 7 || !usable(steps[0]) || (tangents && !usable(steps[1])) {
            return Err(Corrupt("normals: flags or steps out of range"));
        }
        let mut bits = Decoder::new(&bytes[HEAD..]);
        let draft = Draft {
            faces: None,
            groups: None,
            signs: None,
            polygons: flags & 2 != 0,
            tangents,
            steps,
            negated: flags & 4 != 0,
        };
        let mut out = draft.layout(&mut bits, shape)?;
        out.bases(&mut bits);
        out.starts(&mut bits);
        bits.finish()?;
        Ok(out)
    }

    /// Numbers of which the states of a frame consist.
    pub fn state_len(&self) -> usize {
        self.base.len()
    }

    /// States and turns that the mesh keeps once: where there is no better reference.
    pub fn base(&self) -> &[i16] {
        &self.base
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.group.len()
    }

    /// Number of different normals in a frame.
    pub fn groups(&self) -> usize {
        self.surface.groups()
    }

    /// Whether there are tangents.
    pub fn has_tangents(&self) -> bool {
        self.tangents.is_some()
    }

    /// Buffers for [`Normals::build`].
    pub fn work(&self) -> Work {
        let classes = self.tangents.as_ref().map_or(0, |t| t.groups().len());
        Work {
            normals: vec![[0.0; 4]; self.surface.slots()],
            slopes: Slopes::new(),
            tangents: vec![[0.0; 4]; classes.next_multiple_of(LANES)],
        }
    }

    /// Sets the decoded uvs: once where they stay, else before each [`Normals::build`].
    pub fn set_uvs(&self, uvs: &[[f32; 2]], work: &mut Work) {
        if let Some(tangents) = &self.tangents {
            tangents.slopes(uvs, &mut work.slopes);
        }
    }

    /// Codes classes and base of all items.
    pub(in crate::mesh) fn bases(&mut self, bits: &mut impl Bits<Context = Chance>) {
        let groups = self.groups();
        let mut known = [[Chance::default(); 3]; 3];
        let mut moved = [[Chance::default(); CLASSES]; 2];
        let mut numbers = [CorrectionContexts::default(); 2];
        let mut before = 0;
        let items = self.classes.len();
        for i in 0..items {
            let turn = usize::from(i >= groups);
            // Each class is a run of ones of its length.
            let context = &mut known[usize::from(before).min(2)];
            let wanted = self.classes[i];
            let mut class = 0;
            while class < CLASSES as u8 - 1 && bits.bit(&mut context[usize::from(class)], class < wanted) {
                class += 1;
            }
            (self.classes[i], before) = (class, class);
            let at = self.at(i);
            // Turns follow that of the vertex that moves along.
            let expected = match i.checked_sub(groups) {
                Some(v) if (self.mates[v] as usize) < v => self.base[2 * groups + self.mates[v] as usize],
                _ => 0,
            };
            let parts = &mut self.base[at];
            let any = parts.iter().any(|b| *b != expected);
            let any = bits.bit(&mut moved[turn][usize::from(class)], any);
            for part in parts {
                let off = part.wrapping_sub(expected);
                *part = match any {
                    true => expected.wrapping_add(numbers[turn].code(bits, turn, off)),
                    false => expected,
                };
            }
        }
    }

    /// Codes the chances with which units start: those that are even cost little.
    pub(in crate::mesh) fn starts(&mut self, bits: &mut impl Bits<Context = Chance>) {
        let mut used = Chance::default();
        for chance in self.chances.list() {
            let wanted = level_of(*chance);
            *chance = if bits.bit(&mut used, wanted != EVEN_LEVEL) {
                level(bits.plain(8, u32::from(wanted)) as u8)
            } else {
                level(EVEN_LEVEL)
            };
        }
    }

    /// Where an item's part of the states lies.
    #[inline]
    pub(in crate::mesh) fn at(&self, item: usize) -> std::ops::Range<usize> {
        let groups = self.groups();
        if item < groups { 2 * item..2 * item + 2 } else { groups + item..groups + item + 1 }
    }

    /// Decodes the states of the frames of a unit, [`Normals::state_len`] each, in the unit's order. `refs`
    /// are the states of the frames that the unit may refer to, the same as in the encoder.
    pub fn decode(&self, bytes: &[u8], refs: &[&[i16]], out: &mut [&mut [i16]]) -> Result<(), Corrupt> {
        let mut chances = self.chances;
        let mut bits = Decoder::new(bytes);
        for f in 0..out.len() {
            let (done, rest) = out.split_at_mut(f);
            let [state, ..] = rest else { break };
            let number = bits.plain(width(refs.len() + f), 0) as usize;
            let from: Option<&[i16]> = match number.checked_sub(1) {
                None => None,
                Some(i) if i < refs.len() => Some(refs[i]),
                Some(i) => Some(
                    done.get(i - refs.len()).ok_or(Corrupt("normals: a frame refers to one behind it"))?,
                ),
            };
            if state.len() != self.base.len() || from.is_some_and(|s| s.len() != state.len()) {
                return Err(Corrupt("normals: states of another length"));
            }
            self.frame(&mut bits, &mut chances, from, state);
        }
        bits.finish()
    }

    /// Codes the states of a frame; those that are there on entry in an encoder.
    pub(in crate::mesh) fn frame<B: Bits>(
        &self,
        bits: &mut B,
        chances: &mut Contexts<B::Context>,
        from: Option<&[i16]>,
        state: &mut [i16],
    ) {
        let groups = self.groups();
        let (states, turns) = state.split_at_mut(2 * groups);
        let states = states.as_chunks_mut::<2>().0;
        let base = self.base[..2 * groups].as_chunks::<2>().0;
        let before = from.map_or(base, |f| f[..2 * groups].as_chunks::<2>().0);
        let past = |moved: bool| match from {
            None => 2,
            Some(_) => usize::from(moved),
        };
        // Of an empty unit, or what follows its last correction, there is nothing to look at.
        let same = bits.only_zeros();
        if same {
            states.copy_from_slice(before);
        }
        for g in 0..if same { 0 } else { groups } {
            let other = |n: &u32| {
                let n = *n as usize;
                usize::from(n < g && states[n] != before[n])
            };
            let count = self.near_groups[g].iter().map(other).sum::<usize>();
            let class = usize::from(self.classes[g]);
            let chance = &mut chances.normal[class][count.min(2)][past(before[g] != base[g])];
            if bits.bit(chance, states[g] != before[g]) {
                let x = chances.states.code(bits, 0, strides(before[g][0], states[g][0]));
                let context = 1 + usize::from(x == 0);
                let y = chances.states.code(bits, context, strides(before[g][1], states[g][1]));
                states[g] = [moved(before[g][0], x), moved(before[g][1], y)];
            } else {
                states[g] = before[g];
            }
        }
        let base = &self.base[2 * groups..];
        let old = from.map_or(base, |f| &f[2 * groups..]);
        let same = bits.only_zeros();
        if same {
            // Mates move by the same, which is nothing.
            turns.copy_from_slice(old);
        }
        for v in 0..if same { 0 } else { turns.len() } {
            let other = |n: &u32| {
                let n = *n as usize;
                usize::from(n < v && turns[n] != old[n])
            };
            let count = self.near_vertices[v].iter().map(other).sum::<usize>();
            let g = self.group[v] as usize;
            let count = count + usize::from(states[g] != before[g]);
            let class = usize::from(self.classes[groups + v]);
            let expected = self.expected(v, turns, old);
            let chance = &mut chances.turn[class][count][past(old[v] != base[v])];
            turns[v] = if bits.bit(chance, turns[v] != expected) {
                moved(expected, chances.turns.code(bits, 0, strides(expected, turns[v])))
            } else {
                expected
            };
        }
    }

    /// The turn that is expected of a vertex: the reference's, moved like that of an earlier vertex that
    /// touches it and has its normal.
    #[inline]
    pub(in crate::mesh) fn expected(&self, v: usize, turns: &[i16], old: &[i16]) -> i16 {
        match self.mates[v] as usize {
            mate if mate < v => old[v].wrapping_add(turns[mate].wrapping_sub(old[mate])),
            _ => old[v],
        }
    }

    /// The normals and tangents of a frame. Panics where `points` or `state` are too few.
    pub fn build<'a, P: Place>(&'a self, points: &[P], state: &'a [i16], work: &'a mut Work) -> Built<'a> {
        self.compute(Isa::get(), P::kind(points), state, work, None);
        Built { normals: self, turns: &state[2 * self.groups()..], work }
    }

    /// Levels of a frame as a player keeps them, with `bits` each: of octahedral normals, or of tangent
    /// frames where there are tangents. Panics where `points`, `state` or `out` are too few.
    pub fn levels<P: Place>(&self, points: &[P], state: &[i16], work: &mut Work, bits: u32, out: &mut [u16]) {
        self.compute(Isa::get(), P::kind(points), state, work, Some((bits, out)));
    }

    fn compute(
        &self,
        isa: Isa,
        points: Points<'_>,
        state: &[i16],
        work: &mut Work,
        levels: Option<(u32, &mut [u16])>,
    ) {
        assert_eq!(state.len(), self.base.len(), "the states of a frame");
        let (states, turns) = state.split_at(2 * self.groups());
        let states = states.as_chunks().0;
        self.directions(isa, points, states, &mut work.normals);
        each_width!(points, points => {
            lanes::run(isa, Vertices { normals: self, points, turns, work, levels })
        })
    }

    /// Normals of all groups, [`Surface::slots`] of them, with their states; without states the predicted
    /// ones.
    pub(in crate::mesh) fn directions(
        &self,
        isa: Isa,
        points: Points<'_>,
        states: &[[i16; 2]],
        out: &mut [[f32; 4]],
    ) {
        each_width!(points, points => lanes::run(isa, Groups { normals: self, points, states, out }))
    }

    /// The normal that `state` means where `n` is predicted.
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn bend<P: Place>(
        &self,
        points: &[P],
        g: usize,
        n: [f32; 3],
        state: [i16; 2],
    ) -> [f32; 3] {
        if state == [0; 2] {
            return n;
        }
        bent(n, self.surface.frame(points, g, n), state.map(f32::from), self.step)
    }

    /// The predicted tangent of a class with the decoded normal `n`.
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn tangent<P: Place>(
        &self,
        class: usize,
        n: [f32; 3],
        points: &[P],
        slopes: &Slopes,
    ) -> [f32; 3] {
        match &self.tangents {
            Some(tangents) => tangents.tangent(class, n, (&self.surface, points), slopes),
            None => [1.0, 0.0, 0.0],
        }
    }
}

/// The normal of a state that is not zero, in the frame of the predicted normal `n`.
#[inline(always)]
fn bent<N: Number>(n: Vector<N>, [e1, e2]: [Vector<N>; 2], [x, y]: [N; 2], step: f32) -> Vector<N> {
    let length = (x * x + y * y).sqrt();
    let [c, s] = turn(length * N::splat(step));
    let scale = s / length;
    plus(times(n, c), plus(times(e1, x * scale), times(e2, y * scale)))
}

/// The kernel of [`Normals::directions`].
struct Groups<'a, P> {
    normals: &'a Normals,
    points: &'a [P],
    states: &'a [[i16; 2]],
    out: &'a mut [[f32; 4]],
}

impl<P: Place> lanes::Task for Groups<'_, P> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let surface = &self.normals.surface;
        surface.sums::<L, P>(self.points, self.out);
        let blocks = self.out.as_chunks_mut::<LANES>().0;
        for (start, out) in (0..).step_by(LANES).zip(blocks) {
            let mut n = directions(L::load_vectors(out));
            if self.normals.negated {
                n = [-n[0], -n[1], -n[2]];
            }
            let states = eight(self.states.get(start..).unwrap_or(&[]), [0; 2]);
            if states != [[0; 2]; LANES] {
                let groups: Row = std::array::from_fn(|l| (start + l) as u32);
                let frame = surface.frames::<L, P>(self.points, &groups, n);
                let [x, y] = [0, 1].map(|k| states.map(|s| s[k]));
                let [x, y] = [L::load_i16(&x), L::load_i16(&y)];
                let there = L::splat(0.0).less(x * x + y * y);
                n = select(there, bent(n, frame, [x, y], self.normals.step), n);
            }
            L::store_vectors(n, out);
        }
    }
}

/// The kernel of the rest of a frame: tangents into `work`, and levels where they are wanted.
struct Vertices<'a, P> {
    normals: &'a Normals,
    points: &'a [P],
    turns: &'a [i16],
    work: &'a mut Work,
    levels: Option<(u32, &'a mut [u16])>,
}

impl<P: Place> lanes::Task for Vertices<'_, P> {
    #[inline(always)]
    fn run<L: Lanes>(self) {
        let (normals, work) = (self.normals, self.work);
        if let Some(tangents) = &normals.tangents {
            let of = (&normals.surface, self.points);
            tangents.all::<L, P>(of, &work.normals, &work.slopes, &mut work.tangents);
        }
        if let Some((bits, levels)) = self.levels {
            normals.write::<L>(self.turns, work, bits, levels);
        }
    }
}

impl Normals {
    /// Levels of all vertices from the normals and tangents of a frame.
    #[inline(always)]
    fn write<L: Lanes>(&self, turns: &[i16], work: &Work, bits: u32, levels: &mut [u16]) {
        let count = self.group.len();
        let planes = if self.has_tangents() { 4 } else { 2 };
        assert_eq!(levels.len(), planes * count, "levels of all vertices");
        let step = L::splat(self.turn_step);
        for start in (0..count).step_by(LANES) {
            let n = L::vectors(&work.normals, &eight(&self.group[start..], 0));
            let Some(tangents) = &self.tangents else {
                let [x, y] = octahedral::nearest(n, bits);
                put(levels, [start, 0, count], x);
                put(levels, [start, 1, count], y);
                continue;
            };
            let mut t = L::vectors(&work.tangents, &eight(&tangents.classes()[start..], 0));
            let turns = eight(&turns[start..], 0);
            if turns != [0; LANES] {
                let turns = L::load_i16(&turns);
                let there = L::splat(0.0).less(turns.abs());
                t = select(there, turned(t, n, turn(turns * step)), t);
            }
            let sign = L::load(&eight(&tangents.signs()[start..], 1.0));
            let [x, y, z, w] = qtangent::nearest([n, t], sign, bits);
            put(levels, [start, 0, count], x);
            put(levels, [start, 1, count], y);
            put(levels, [start, 2, count], z);
            put(levels, [start, 3, count], w);
        }
    }
}

/// Levels of up to eight vertices from `start` on, in plane `k` of `count` levels each.
#[inline(always)]
fn put<L: Lanes>(levels: &mut [u16], [start, k, count]: [usize; 3], words: L) {
    let out = &mut levels[k * count + start..(k + 1) * count];
    let words = words.words();
    match out.first_chunk_mut() {
        Some(out) => *out = words,
        None => out.copy_from_slice(&words[..out.len()]),
    }
}

/// A frame whose normals are known.
#[derive(Debug, Clone, Copy)]
pub struct Built<'a> {
    normals: &'a Normals,
    turns: &'a [i16],
    work: &'a Work,
}

impl Built<'_> {
    /// Unit normal of a vertex.
    #[inline]
    pub fn normal(&self, v: usize) -> [f32; 3] {
        let [x, y, z, _] = self.work.normals[self.normals.group[v] as usize];
        [x, y, z]
    }

    /// Unit tangent of a vertex and the sign of its bitangent. Panics where there are no tangents.
    #[inline]
    pub fn tangent(&self, v: usize) -> [f32; 4] {
        let tangents = self.normals.tangents.as_ref().expect("tangents");
        let [x, y, z, _] = self.work.tangents[tangents.classes()[v] as usize];
        let mut t = [x, y, z];
        if self.turns[v] != 0 {
            let angle = f32::from(self.turns[v]) * self.normals.turn_step;
            t = turned(t, self.normal(v), turn(angle));
        }
        [t[0], t[1], t[2], tangents.signs()[v]]
    }
}

/// Bits for a number from 0 to `most`.
pub(in crate::mesh) fn width(most: usize) -> u32 {
    most.checked_ilog2().map_or(0, |b| b + 1)
}

/// The input of the layout: all of it in an encoder, the flags in a decoder.
pub(in crate::mesh) struct Draft<'a> {
    pub faces: Option<&'a [u32]>,
    pub groups: Option<&'a [u32]>,
    pub signs: Option<&'a [f32]>,
    pub polygons: bool,
    pub tangents: bool,
    pub steps: [f32; 2],
    pub negated: bool,
}

impl Draft<'_> {
    /// Codes partitions and signs and lays out everything that follows from them; bases and chances are
    /// empty.
    pub(in crate::mesh) fn layout(
        &self,
        bits: &mut impl Bits<Context = Chance>,
        shape: Shape<'_>,
    ) -> Result<Normals, Corrupt> {
        let Shape { triangles, point, .. } = shape;
        let count = point.len();
        let points = point.iter().max().map_or(0, |m| *m as usize + 1);
        if points > count || triangles.as_flattened().iter().any(|v| *v as usize >= count) {
            return Err(Corrupt("normals: triangles that do not fit their vertices"));
        }
        let faces = match self.polygons {
            true => partition::faces(bits, triangles, self.faces),
            false => (0..triangles.len() as u32).collect(),
        };
        let polygons = Polygons::new(triangles, &faces);
        let group = partition::groups(bits, &polygons, point, self.groups);
        let surface = Surface::new(&polygons.vertices, &polygons.ends, point, &group)?;
        let mut tangents = None;
        if self.tangents {
            let signs = signs(bits, shape, self.signs)?;
            tangents = Some(Tangents::new(triangles, point, &group, shape.uvs, signs)?);
        }
        let groups = surface.groups();
        let vertices = if self.tangents { count } else { 0 };
        let near = Near::new(&polygons, point);
        let (near_groups, near_vertices, mates) = touching(&near, &group, groups, vertices);
        Ok(Normals {
            surface,
            tangents,
            group,
            base: vec![0; 2 * groups + vertices],
            classes: vec![0; groups + vertices],
            near_groups,
            near_vertices,
            mates,
            step: self.steps[0],
            turn_step: self.steps[1],
            negated: self.negated,
            chances: Contexts::default(),
        })
    }
}

/// Which earlier groups touch each group, and which earlier vertices each vertex.
fn touching(
    near: &Near,
    group: &[u32],
    groups: usize,
    vertices: usize,
) -> (Vec<[u32; 3]>, Vec<[u32; 2]>, Vec<u32>) {
    let mut near_groups = vec![[NONE; 3]; groups];
    let mut near_vertices = vec![[NONE; 2]; vertices];
    let mut mates = vec![NONE; vertices];
    fn note<const N: usize>(list: &mut [u32; N], item: u32) {
        if !list.contains(&item)
            && let Some(free) = list.iter_mut().find(|s| **s == NONE)
        {
            *free = item;
        }
    }
    for v in 0..group.len() {
        near.earlier(v as u32, |w| {
            let (a, b) = (group[v], group[w as usize]);
            if a != b {
                note(&mut near_groups[a.max(b) as usize], a.min(b));
            }
            if let Some(list) = near_vertices.get_mut(v) {
                note(list, w);
                if a == b && mates[v] == NONE {
                    mates[v] = w;
                }
            }
        });
    }
    (near_groups, near_vertices, mates)
}

/// Codes the sign of each vertex: mostly that of the uvs in its first triangle.
fn signs(
    bits: &mut impl Bits<Context = Chance>,
    shape: Shape<'_>,
    wanted: Option<&[f32]>,
) -> Result<Vec<f32>, Corrupt> {
    if shape.uvs.len() != shape.point.len() {
        return Err(Corrupt("normals: tangents without uvs"));
    }
    let mut out = vec![0.0f32; shape.point.len()];
    for t in shape.triangles {
        let [p, a, b] = t.map(|v| shape.uvs[v as usize]);
        let area = (a[0] - p[0]) * (b[1] - p[1]) - (a[1] - p[1]) * (b[0] - p[0]);
        for v in t {
            let sign = &mut out[*v as usize];
            if *sign == 0.0 && area != 0.0 {
                *sign = if area < 0.0 { -1.0 } else { 1.0 };
            }
        }
    }
    let mut chance = [Chance::default(); 2];
    let mut before = false;
    for (v, sign) in out.iter_mut().enumerate() {
        let own = if *sign < 0.0 { -1.0 } else { 1.0 };
        before =
            bits.bit(&mut chance[usize::from(before)], wanted.is_some_and(|w| (w[v] < 0.0) != (own < 0.0)));
        *sign = if before { -own } else { own };
    }
    Ok(out)
}

#[cfg(test)]
mod tests;
