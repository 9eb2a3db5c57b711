//! Normals and tangents, stored as corrections to a prediction from the decoded geometry. Error bound: the
//! tolerance, in degrees, of normals and of tangents, as the encoder measures it on the decoder's own output
//! for every vertex and frame.
//!
//! Points that are off by 10⁻⁴ of the mesh's size give normals that are mostly off by a few tenths of a
//! degree, as good as stored ones. So the file stores, for every normal, a *state*: its position in the frame
//! of the predicted normal, in steps of an angle; and for every vertex the steps by which its tangent is
//! turned. Nearly all states equal those of the frame they are predicted from, which costs hundredths of a
//! bit.
//!
//! ```text
//! group      vertices that share a normal in all frames (topology/partition.rs); its predicted normal n: mesh/normals/surface.rs
//! state      x, y in steps s, e₁ e₂ the frame that turns with the surface: X = x·s/2, Y = y·s/2, (c, f) = rotation(X² + Y²)
//!            normal = n·c + (X·e₁ + Y·e₂)·f: n turned by about s·√(x² + y²), without a root. The map keeps distances from its middle and
//!            shortens the others, so a lattice covers all directions as well as it covers those near n; 32767 steps reach the opposite
//!            pole down to 0.02°
//! turn       z in steps of another angle: the predicted tangent (mesh/normals/tangents.rs, with the decoded normal) turned about the normal
//! base       a state and a turn for each group and vertex, stored once: the constant difference that an artist's normals, bent polygons
//!            and rounded uvs cause
//! ```
//!
//! A step is a third of the tolerance, and a frame differs from its reference by multiples of three steps:
//! corrected normals are off by at most √½ of the tolerance, and tangents by half of it, so that both
//! together stay within it.
//!
//! ```text
//! reference  of a frame: 0 is the base, i the i-th of the frames it may refer to: the caller's, then those of the unit so far
//! item       a group with its state, or a vertex with its turn; old = that of the reference. The items that change, and the
//!            multiples of three by which they do, are a tree of masks and numbers (mesh/normals/states.rs)
//! class      0 … 3, how often the encoder's samples corrected the item, and so how likely it is to change
//! ```
//!
//! Items *touch* as defined in topology/partition.rs, in the order found there; the *mate* of a vertex is the
//! first touching one of the same group.
//!
//! # Between frames
//!
//! A decoded frame keeps its states; normals are computed when it is shown. Between two frames they are
//! computed from interpolated points and states, both on straight lines ([`InterpolatedFrame`]). No error is
//! guaranteed there; at both ends the normals are those of the frames.
//!
//! # How it is computed
//!
//! All computation is in blocks of sixteen polygons, groups, classes or vertices (`simd/lanes/block.rs`),
//! with AVX-512 or AVX2 if the machine has it (mesh/normals/kernel.rs); blocks whose states are all zero skip
//! the correction.
//!
//! # Bytes
//!
//! Static part:
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | flags | 1 tangents, 2 polygons are stored, 4 predicted normals are negated, 8 and 16 weights of normals (3: mesh/normals/turned.rs), 32 of tangents, 64 weights of normals are 3 (8 and 16 are 0), 128 states are packed |
//! | 1 | 4 | step | of states, radians, f32 |
//! | 5 | 4 | turn step | of turns, radians, f32; 0 without tangents |
//! | 9 | … | range coded | faces if stored; groups; signs of vertices with tangents; class and base of each group; class and turn of each vertex with tangents; first tables |
//!
//! The faces, groups and signs are those of topology/partition.rs. The sign of a vertex is one bit: whether
//! it differs from the sign of the uv area of the vertex's first triangle with one, in the context of the bit
//! of the vertex before. A class is coded in unary, with at most three ones, in the contexts of the class
//! before (at most 2); then one bit, in the context of the class, for groups and vertices separately: whether
//! the base differs from the expected value, 0 for groups and the mate's for turns; then numbers.
//!
//! ```text
//! number     one bit [zero]: is it not 0?  sign, plain;  bits [length], ones up to the logarithm of its absolute value, at most 15;
//!            that many plain bits of the absolute value
//! ```
//!
//! An access unit is one string of symbols (mesh/normals/states.rs), or packed (mesh/normals/packed.rs),
//! without first tables. It is empty if all states are the base.
//!
//! # How it is used
//!
//! * Compile: build [`NormalSharing`](crate::topology::partition::NormalSharing) from the source's normals of
//!   all frames (or from the smoothing groups, without reading frames), then
//!   [`Encoder::new`](crate::mesh::normals::encode::Encoder::new) with about two dozen decoded frames, then
//!   its `static_bytes`. `encode` returns the bytes, states and largest errors of each access unit; if these
//!   are above the tolerance, the mesh cannot be coded in this way (vertices of one group that differ,
//!   normals that are not numbers).
//! * Load: [`Normals::read`], [`Normals::buffers`].
//! * Access unit: [`Normals::decode`] returns the states of its frames; it needs no positions. A player keeps
//!   [`Normals::state_len`] × 2 bytes per frame: 4 for each group and 2 for each vertex with tangents.
//! * Moment to show: [`Normals::write`] with the points and states of its frames; or [`Normals::build`], then
//!   [`ComputedNormals::normal`] and [`ComputedNormals::tangent`] of any vertex.
//!
//! References only require the states of their frames; an empty list is always allowed, if decoder and
//! encoder use the same one.

mod arranged_points;
mod coding;
mod contexts;
#[cfg(feature = "encode")]
pub mod encode;
mod fans;
mod gather;
mod kernel;
pub mod lists;
mod model;
mod packed;
mod roots;
mod states;
pub mod surface;
pub(crate) mod tangents;
mod turned;

use crate::bytes::Cursor;
use crate::entropy::nibble;
use crate::entropy::nibble::NibbleCoder;
use crate::entropy::range::{BitCoder, Chance, Decoder};
use crate::mesh::byte_budget::ByteBudget;
use crate::mesh::normals::arranged_points::{ArrangePoints, ArrangedPoints};
#[cfg(feature = "encode")]
use crate::mesh::normals::kernel::corrected;
use crate::mesh::normals::kernel::{Corrections, Kernel, NextFrame, Stage, turned};
use crate::mesh::normals::lists::{JaggedArray, NormalLists, TangentSums};
pub use crate::mesh::normals::model::{Directions, NormalBuffers, Normals};
use crate::mesh::normals::roots::cosine_and_sine;
use crate::mesh::normals::surface::{IntegerPoint, NormalWeights, Surface};
use crate::mesh::normals::tangents::{TangentWeights, Tangents, VertexTables};
pub use crate::mesh::normals::turned::PointBones;
use crate::mesh::normals::turned::TurnedVectors;
use crate::simd::isa::Isa;
use crate::simd::lanes::{self, BLOCK};
use crate::topology::grid;
use crate::topology::partition;
use crate::topology::partition::{Polygons, TouchingVertices};
use crate::transform::Transform;
use crate::{Corrupt, Points, each_width, for_width};
use coding::StateCoding;
pub(in crate::mesh) use contexts::STRIDE;
use contexts::{CLASSES, CorrectionContexts};
use std::marker::PhantomData;

/// The mesh as both encoder and decoder know it.
#[derive(Debug, Clone, Copy)]
pub struct MeshGeometry<'a> {
    /// The vertices of each triangle.
    pub triangles: &'a [[u32; 3]],
    /// The point of each vertex, numbered without gaps.
    pub point: &'a [u32],
    /// The decoded uv of each vertex in the first frame, from which tangents follow; empty without tangents.
    pub uvs: &'a [[f32; 2]],
    /// The grid, if the vertices form a regular one, numbered row by row.
    pub grid: Option<grid::GridShape>,
    /// The points of frame 0.
    pub first: Points<'a>,
    /// The bones of the points, if rigid bones alone move them.
    pub point_bones: Option<PointBones<'a>>,
}

const HEAD: usize = 9;
/// The value in place of the weights of normals if bones turn normals at rest.
const TURNED: u8 = 3;

/// The number that stands for no item.
const NO_MATE: u32 = u32::MAX;

impl Normals {
    /// Reads the static part. Fails if the lists made from it exceed the budget.
    pub fn read(bytes: &[u8], shape: MeshGeometry<'_>, budget: &mut ByteBudget) -> Result<Normals, Corrupt> {
        let mut head = Cursor::new(bytes);
        let flags = head.u8()?;
        let steps = [head.f32()?, head.f32()?];
        let tangents = flags & 1 != 0;
        let usable = |s: f32| s > 0.0 && s <= 4.0;
        let turned = flags >> 3 & 3 == TURNED;
        let weights = match (turned, flags >> 6 & 1, flags >> 3 & 3) {
            (true, 0, _) | (false, 1, 0) => NormalWeights::Interior,
            (false, 0, weights) => NormalWeights::ALL[usize::from(weights)],
            _ => return Err(Corrupt("normals: weights that are not known")),
        };
        let tangent_weights = TangentWeights::ALL[usize::from(flags >> 5 & 1)];
        if !usable(steps[0]) || (tangents && !usable(steps[1])) {
            return Err(Corrupt("normals: steps out of range"));
        }
        let mut bits = Decoder::new(&bytes[HEAD..]);
        let draft = LayoutInput {
            faces: None,
            groups: None,
            signs: None,
            polygons: flags & 2 != 0,
            tangents,
            steps,
            negated: flags & 4 != 0,
            weights,
            tangent_weights,
            packed: flags & 128 != 0,
            turned,
        };
        let partitions = draft.partitions(&mut bits, shape)?;
        let mut out = draft.arrange(&partitions, shape, budget)?;
        drop(partitions);
        out.bases(&mut bits);
        if turned {
            out.turn_rest(shape)?;
        }
        out.find_trees();
        out.starts(&mut bits);
        bits.finish()?;
        out.forget_classes();
        Ok(out)
    }

    /// Drops what only the coding of bases needs.
    fn forget_classes(&mut self) {
        (self.classes, self.mates) = Default::default();
    }

    /// Turns the base into vectors at rest, which bones turn.
    pub(in crate::mesh) fn turn_rest(&mut self, shape: MeshGeometry<'_>) -> Result<(), Corrupt> {
        let PointBones { bones, rigid } =
            shape.point_bones.ok_or(Corrupt("normals: turned where no rigid bones are"))?;
        let points = shape.first;
        let count = each_width!(points, points => points.len());
        if count < self.surface.points() || count != bones.len() || bones.iter().any(|bone| *bone > rigid) {
            return Err(Corrupt("normals: bones that do not fit the points"));
        }
        let mut work = self.buffers();
        let base = std::mem::take(&mut self.base);
        self.base = vec![0; base.len()];
        let at_rest = NormalsFrame { points, state: &base, transforms: &[] };
        self.build(at_rest.into(), self.has_tangents(), &mut work);
        let mut bone = vec![rigid; self.groups()];
        for (point, group) in shape.point.iter().zip(&self.group).rev() {
            bone[*group as usize] = bones[*point as usize];
        }
        let groups = self.tangents.as_ref().map_or(&[][..], |t| t.groups());
        let turned = TurnedVectors::new(&work.normals, &work.tangents, &bone, groups, rigid);
        self.vectors = turned.columns();
        self.turned = Some(turned);
        self.surface.forget_polygons();
        if let Some(tangents) = &mut self.tangents {
            tangents.forget_sums();
        }
        let states = 2 * self.groups();
        self.base[states..].copy_from_slice(&base[states..]);
        Ok(())
    }

    /// Returns the number of values in the states of a frame.
    pub fn state_len(&self) -> usize {
        self.base.len()
    }

    /// Returns the base: the states and turns stored once, used if no reference is better.
    pub fn base(&self) -> &[i16] {
        &self.base
    }

    /// Returns the number of vertices.
    pub fn vertices(&self) -> usize {
        self.group.len()
    }

    /// Returns the number of different normals in a frame.
    pub fn groups(&self) -> usize {
        self.surface.groups()
    }

    /// `true` if the mesh has tangents.
    pub fn has_tangents(&self) -> bool {
        self.tangents.is_some()
    }

    fn rows(&self) -> Vec<&arranged_points::PointRows> {
        let tangents = self.tangents.as_ref().map(|tangents| &tangents.rows);
        std::iter::once(&self.surface.rows).chain(tangents).collect()
    }

    /// Returns the static part as plain lists. Allocates.
    pub fn lists(&self) -> NormalLists {
        let groups = self.groups();
        let mut out = NormalLists {
            weights: self.surface.weights(),
            negated: self.negated,
            steps: [self.step, self.turn_step],
            group: self.group.clone(),
            corners: JaggedArray::default(),
            large_corners: JaggedArray::default(),
            polygons: JaggedArray::default(),
            anchors: self.surface.anchor_points(),
            turned: self.turned.as_ref().map(|turned| turned.group_list(groups)),
            tangents: None,
        };
        if out.turned.is_none() {
            out.corners = JaggedArray::new((0..groups).map(|g| self.surface.fan_of(g)));
            (out.large_corners, out.polygons) = self.surface.large_polygons();
        } else {
            out.corners.end_offsets = vec![0; groups];
            out.large_corners.end_offsets = vec![0; groups];
        }
        out.tangents = self.tangents.as_ref().map(|tangents| {
            let mut lists = tangents.lists(&self.surface.order, &out.anchors);
            if let Some(turned) = &self.turned {
                lists.sums = TangentSums::Turned(turned.class_list(lists.group.len()));
            }
            lists
        });
        out
    }

    /// Allocates the buffers for [`Normals::build`].
    pub fn buffers(&self) -> NormalBuffers {
        let classes = self.tangents.as_ref().map_or(0, |t| t.groups().len());
        NormalBuffers {
            arranged: ArrangedPoints::new(&self.surface.order, &self.rows()),
            vectors: vec![[0.0; 4]; self.vectors],
            normals: vec![[0.0; 4]; self.groups().next_multiple_of(BLOCK)],
            tangents: vec![[0.0; 4]; classes.next_multiple_of(BLOCK)],
        }
    }

    /// Codes the classes and the base of all items.
    pub(in crate::mesh) fn bases(&mut self, bits: &mut impl BitCoder<Context = Chance>) {
        let groups = self.groups();
        let mut known = [[Chance::default(); 3]; 3];
        let mut moved = [[Chance::default(); CLASSES]; 2];
        let mut numbers = [CorrectionContexts::default(); 2];
        let mut before = 0;
        let items = self.classes.len();
        for i in 0..items {
            let turn = usize::from(i >= groups);
            // A class is as many ones as it is high.
            let context = &mut known[usize::from(before).min(2)];
            let wanted = self.classes[i];
            let mut class = 0;
            while class < CLASSES as u8 - 1 && bits.bit(&mut context[usize::from(class)], class < wanted) {
                class += 1;
            }
            (self.classes[i], before) = (class, class);
            let at = self.state_range(i);
            // The expected turn is that of the vertex's mate.
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

    /// Returns the range of an item's values within the states.
    #[inline]
    pub(in crate::mesh) fn state_range(&self, item: usize) -> std::ops::Range<usize> {
        let groups = self.groups();
        if item < groups { 2 * item..2 * item + 2 } else { groups + item..groups + item + 1 }
    }

    /// Decodes the states of the frames of an access unit, [`Normals::state_len`] each, in the unit's order.
    /// `refs` are the states of the frames that the unit may refer to, the same as in the encoder.
    pub fn decode(&self, bytes: &[u8], refs: &[&[i16]], out: &mut [&mut [i16]]) -> Result<(), Corrupt> {
        if self.packed {
            return self.unpack(bytes, refs, out);
        }
        if bytes.is_empty() {
            for state in out {
                self.reference(0, refs, &[], state)?;
                state.copy_from_slice(&self.base);
            }
            return Ok(());
        }
        let mut symbols = nibble::Decoder::new(bytes)?;
        let mut tables = self.coding.tables();
        for f in 0..out.len() {
            let (done, rest) = out.split_at_mut(f);
            let [state, ..] = rest else { break };
            let number = symbols.raw_bits(width(refs.len() + f), 0) as usize;
            let from = self.reference(number, refs, done, state)?.unwrap_or(&self.base);
            state.copy_from_slice(from);
            self.frame(&mut symbols, &mut tables, from, state);
        }
        symbols.finish()
    }

    /// Decodes an access unit of packed states.
    fn unpack(&self, bytes: &[u8], refs: &[&[i16]], out: &mut [&mut [i16]]) -> Result<(), Corrupt> {
        let mut reader = packed::Reader::new(bytes);
        for f in 0..out.len() {
            let (done, rest) = out.split_at_mut(f);
            let [state, ..] = rest else { break };
            let from = self.reference(usize::from(reader.u8()), refs, done, state)?;
            state.copy_from_slice(from.unwrap_or(&self.base));
            let (states, turns) = state.split_at_mut(2 * self.groups());
            reader.section::<2>(states.as_chunks_mut().0)?;
            if self.has_tangents() {
                reader.section::<1>(turns.as_chunks_mut().0)?;
            }
        }
        reader.finish()
    }

    /// Returns the reference with this number; `None` for the base.
    fn reference<'a>(
        &self,
        number: usize,
        refs: &[&'a [i16]],
        done: &'a [&mut [i16]],
        state: &[i16],
    ) -> Result<Option<&'a [i16]>, Corrupt> {
        let from: Option<&[i16]> = match number.checked_sub(1) {
            None => None,
            Some(i) if i < refs.len() => Some(refs[i]),
            Some(i) => {
                Some(done.get(i - refs.len()).ok_or(Corrupt("normals: a frame refers to one behind it"))?)
            }
        };
        if state.len() != self.base.len() || from.is_some_and(|s| s.len() != state.len()) {
            return Err(Corrupt("normals: states of another length"));
        }
        Ok(from)
    }

    /// Computes the normals and, if wanted, the tangents of a moment. Panics if it has too few points or
    /// states.
    pub fn build<'a>(
        &'a self,
        moment: InterpolatedFrame<'a>,
        tangents: bool,
        work: &'a mut NormalBuffers,
    ) -> ComputedNormals<'a> {
        let states = self.corrections(moment);
        self.compute(Isa::get(), moment, Stage::Built(states, tangents), work);
        ComputedNormals { normals: self, states, work }
    }

    /// Writes the requested normals and tangents of a moment; others are not computed. Panics if points or
    /// states are too few, if tangents are requested but there are none, or if an output is not as long as
    /// the number of vertices.
    pub fn write(&self, moment: InterpolatedFrame<'_>, work: &mut NormalBuffers, out: Directions<'_>) {
        assert!(out.normals.as_ref().is_none_or(|o| o.len() == self.vertices()), "normals of all vertices");
        assert!(out.tangents.as_ref().is_none_or(|o| o.len() == self.vertices()), "tangents of all vertices");
        assert!(out.tangents.is_none() || self.has_tangents(), "tangents");
        self.compute(Isa::get(), moment, Stage::Written(self.corrections(moment), out), work);
    }

    fn corrections<'a>(&self, moment: InterpolatedFrame<'a>) -> Corrections<'a> {
        let split = |state: &'a [i16]| {
            assert_eq!(state.len(), self.base.len(), "the states of a frame");
            let (states, turns) = state.split_at(2 * self.groups());
            (states.as_chunks().0, turns)
        };
        let (states, turns) = split(moment.first.state);
        let next = moment.next.map(|(next, t)| {
            let (states, turns) = split(next.state);
            NextFrame { states, turns, t }
        });
        Corrections { states, turns, next }
    }

    fn compute(&self, isa: Isa, moment: InterpolatedFrame<'_>, stage: Stage<'_>, work: &mut NormalBuffers) {
        let NormalsFrame { points: from, transforms, .. } = moment.first;
        if let Some(turned) = &self.turned {
            let next = moment.next.map(|(next, t)| (next.transforms, t));
            turned.write_columns(transforms, next, &mut work.vectors);
        }
        let to = moment.next.map(|(next, t)| (next.points, t));
        self.arrange_interpolated(isa, from, to, work);
        // Points between narrow ones are wide.
        let wide = matches!(from, Points::Wide(_)) || to.is_some();
        self.run_kernel(isa, wide, work, stage);
    }

    fn arrange_interpolated(
        &self,
        isa: Isa,
        from: Points<'_>,
        to: Option<(Points<'_>, f32)>,
        work: &mut NormalBuffers,
    ) {
        lanes::run(isa, ArrangePoints { order: &self.surface.order, from, to, out: &mut work.arranged });
    }

    /// Runs the kernel of a moment whose points are laid out.
    fn run_kernel(&self, isa: Isa, wide: bool, work: &mut NormalBuffers, stage: Stage<'_>) {
        #[cfg(target_arch = "wasm32")]
        {
            work.arranged.unit = for_width!(wide, W => <[W; 4] as IntegerPoint>::UNIT);
            let unit = PhantomData::<arranged_points::RuntimeUnit>;
            lanes::run(isa, Kernel { normals: self, unit, work, stage });
        }
        #[cfg(not(target_arch = "wasm32"))]
        for_width!(wide, W => {
            lanes::run(isa, Kernel { normals: self, unit: PhantomData::<[W; 4]>, work, stage })
        })
    }

    /// Predicts the normals of all groups, in a frame with these transforms of bones.
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn predict<P: IntegerPoint>(
        &self,
        points: &[P],
        transforms: &[Transform],
        work: &mut NormalBuffers,
    ) {
        if let Some(turned) = &self.turned {
            turned.write_columns(transforms, None, &mut work.vectors);
        }
        self.arrange_frame(P::kind(points), work);
        self.run_kernel(Isa::get(), P::WIDE, work, Stage::Predicted);
    }

    /// Lays out the points of a frame.
    #[cfg(feature = "encode")]
    fn arrange_frame(&self, points: Points<'_>, work: &mut NormalBuffers) {
        self.arrange_interpolated(Isa::get(), points, None, work);
    }

    /// Corrects the predicted normals of all groups by these states.
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn correct_normals<P: IntegerPoint>(
        &self,
        states: &[[i16; 2]],
        work: &mut NormalBuffers,
    ) {
        let states = Corrections { states, turns: &[], next: None };
        self.run_kernel(Isa::get(), P::WIDE, work, Stage::Corrected(Some(states), false));
    }

    /// Predicts the tangents of all classes from the normals in `work`.
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn all_tangents<P: IntegerPoint>(&self, work: &mut NormalBuffers) {
        self.run_kernel(Isa::get(), P::WIDE, work, Stage::Corrected(None, true));
    }

    /// Returns the normal that `state` denotes if `n` is predicted.
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn corrected_normal<P: IntegerPoint>(
        &self,
        work: &NormalBuffers,
        g: usize,
        n: [f32; 3],
        state: [i16; 2],
    ) -> [f32; 3] {
        if state == [0; 2] {
            return n;
        }
        corrected(n, self.surface.frame::<P>(&work.arranged, g, n), state.map(f32::from), self.step)
    }

    /// Predicts the tangent of a vertex with the decoded normal `n`, in a frame predicted into `work`.
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn tangent<P: IntegerPoint>(
        &self,
        v: usize,
        n: [f32; 3],
        work: &NormalBuffers,
    ) -> [f32; 3] {
        let tangents = self.tangents.as_ref().expect("tangents");
        let class = tangents.classes()[v] as usize;
        let at = (class / BLOCK, class % BLOCK);
        let sum = match &self.turned {
            Some(turned) => turned.class::<f32>(at.0, at.1, &work.vectors),
            None => tangents.sums::<f32, P>(at, &work.arranged, n, &work.vectors),
        };
        let (t, there) = roots::project_to_plane(sum, n);
        if there { t } else { self.surface.frame::<P>(&work.arranged, self.group[v] as usize, n)[0] }
    }
}

/// The inputs from which the normals of a frame are computed.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub struct NormalsFrame<'a> {
    pub points: Points<'a>,
    pub state: &'a [i16],
    /// The transforms of rigid bones, if these turn normals; missing ones are identities.
    pub transforms: &'a [Transform],
}

impl<'a> NormalsFrame<'a> {
    /// Creates a frame of a mesh whose normals are not turned by bones.
    pub fn new(points: impl Into<Points<'a>>, state: &'a [i16]) -> NormalsFrame<'a> {
        NormalsFrame { points: points.into(), state, transforms: &[] }
    }
}

/// A frame, or a moment between two frames.
#[derive(Debug, Clone, Copy)]
pub struct InterpolatedFrame<'a> {
    first: NormalsFrame<'a>,
    next: Option<(NormalsFrame<'a>, f32)>,
}

impl<'a> From<NormalsFrame<'a>> for InterpolatedFrame<'a> {
    fn from(first: NormalsFrame<'a>) -> InterpolatedFrame<'a> {
        InterpolatedFrame { first, next: None }
    }
}

impl<'a> InterpolatedFrame<'a> {
    /// Moves towards the next frame: `t` is 0 here and 1 there. Points and states are interpolated linearly,
    /// and normals are those of the interpolated surface; at both ends they are the frames' own.
    pub fn towards(self, next: NormalsFrame<'a>, t: f32) -> InterpolatedFrame<'a> {
        let next = (t > 0.0).then_some((next, t));
        InterpolatedFrame { next, ..self }
    }
}

/// A moment whose normals have been computed.
#[derive(Debug, Clone, Copy)]
pub struct ComputedNormals<'a> {
    normals: &'a Normals,
    states: Corrections<'a>,
    work: &'a NormalBuffers,
}

impl ComputedNormals<'_> {
    /// Returns the unit normal of a vertex.
    #[inline]
    pub fn normal(&self, v: usize) -> [f32; 3] {
        let [x, y, z, _] = self.work.normals[self.normals.group[v] as usize];
        [x, y, z]
    }

    /// Returns the unit tangent of a vertex and the sign of its bitangent. Panics if there are no tangents.
    #[inline]
    pub fn tangent(&self, v: usize) -> [f32; 4] {
        let tangents = self.normals.tangents.as_ref().expect("tangents");
        let [x, y, z, _] = self.work.tangents[tangents.classes()[v] as usize];
        let mut t = [x, y, z];
        let turns = self.states.turn(v, self.normals.turn_step);
        if turns != 0.0 {
            t = turned(t, self.normal(v), cosine_and_sine(turns * self.normals.turn_step));
        }
        [t[0], t[1], t[2], tangents.sign(v)]
    }
}

/// Returns the number of bits for a number from 0 to `most`.
pub(in crate::mesh) fn width(most: usize) -> u32 {
    most.checked_ilog2().map_or(0, |b| b + 1)
}

/// The input of the layout: complete in an encoder, only the flags in a decoder.
#[derive(Clone, Copy)]
pub(in crate::mesh) struct LayoutInput<'a> {
    pub faces: Option<&'a [u32]>,
    pub groups: Option<&'a [u32]>,
    pub signs: Option<&'a [f32]>,
    pub polygons: bool,
    pub tangents: bool,
    pub steps: [f32; 2],
    pub negated: bool,
    pub weights: NormalWeights,
    pub tangent_weights: TangentWeights,
    pub packed: bool,
    #[cfg_attr(not(feature = "encode"), expect(dead_code, reason = "read where drafts are compared"))]
    pub turned: bool,
}

/// The partitions and signs with which a static part begins.
pub(in crate::mesh) struct Partitions {
    polygons: Polygons,
    near: TouchingVertices,
    group: Vec<u32>,
    /// The sign of each vertex; empty without tangents.
    signs: Vec<f32>,
}

impl LayoutInput<'_> {
    /// Codes partitions and signs.
    pub(in crate::mesh) fn partitions(
        &self,
        bits: &mut impl BitCoder<Context = Chance>,
        shape: MeshGeometry<'_>,
    ) -> Result<Partitions, Corrupt> {
        let MeshGeometry { triangles, point, .. } = shape;
        let count = point.len();
        let points = point.iter().max().map_or(0, |m| *m as usize + 1);
        if points > count || triangles.as_flattened().iter().any(|v| *v as usize >= count) {
            return Err(Corrupt("normals: triangles that do not fit their vertices"));
        }
        let faces = match self.polygons {
            true => partition::code_faces(bits, triangles, self.faces),
            false => (0..triangles.len() as u32).collect(),
        };
        let polygons = Polygons::new(triangles, &faces);
        let near = TouchingVertices::new(&polygons, point);
        let group = partition::code_groups(bits, &near, self.groups);
        let signs = if self.tangents { signs(bits, shape, self.signs)? } else { Vec::new() };
        Ok(Partitions { polygons, near, group, signs })
    }

    /// Lays out everything that follows from partitions and signs; bases and chances are left empty.
    pub(in crate::mesh) fn arrange(
        &self,
        Partitions { polygons, near, group, signs }: &Partitions,
        shape: MeshGeometry<'_>,
        budget: &mut ByteBudget,
    ) -> Result<Normals, Corrupt> {
        let MeshGeometry { triangles, point, .. } = shape;
        let count = point.len();
        let (surface, place) = Surface::new(
            &polygons.vertices,
            &polygons.end_offsets,
            (point, shape.grid),
            group,
            self.weights,
            budget,
        )?;
        let mut vectors = surface.vectors();
        let mut tangents = None;
        if self.tangents {
            let first = surface.order.first(shape.first)?;
            let of = VertexTables { point, place: &place, group, uvs: shape.uvs, first: &first };
            tangents =
                Some(Tangents::new(triangles, of, signs, self.tangent_weights, (&mut vectors, budget))?);
        }
        let groups = surface.groups();
        let vertices = if self.tangents { count } else { 0 };
        let mut mates = Vec::new();
        if self.tangents {
            mates.extend((0..count).map(|v| mate(near, group, v)));
        }
        Ok(Normals {
            surface,
            tangents,
            turned: None,
            group: group.clone(),
            base: vec![0; 2 * groups + vertices],
            classes: vec![0; groups + vertices],
            mates,
            step: self.steps[0],
            turn_step: self.steps[1],
            negated: self.negated,
            packed: self.packed,
            vectors: vectors.next_multiple_of(BLOCK),
            coding: StateCoding::default(),
        })
    }
}

/// Returns the first earlier vertex that touches a vertex and has its group.
fn mate(near: &TouchingVertices, group: &[u32], v: usize) -> u32 {
    let mut mate = NO_MATE;
    near.for_each_earlier(v as u32, |w| {
        if mate == NO_MATE && group[w as usize] == group[v] {
            mate = w;
        }
    });
    mate
}

/// Codes the sign of each vertex, which is mostly that of the uvs in its first triangle.
fn signs(
    bits: &mut impl BitCoder<Context = Chance>,
    shape: MeshGeometry<'_>,
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
