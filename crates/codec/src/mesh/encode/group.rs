//! Codes key frames and groups of frames with given settings.

use crate::mesh::decode::{self, DecodedPoint};
use crate::mesh::encode::coding::CodingTables;
use crate::mesh::encode::frame::{FrameCoder, FrameJob, FrameTarget, fraction_bits};
use crate::mesh::encode::output::UnitBuilder;
use crate::mesh::encode::temporal::{self, SampledVertices, SimulatedQuantizer, SpatialResidual};
use crate::mesh::hierarchy::Hierarchy;
use crate::quantize::fixed_point::FixedPoint;
use crate::quantize::lattice::{Extent, FixedPointGrid, LatticeChoice};
use crate::schedule::{MAX_REFERENCES, Schedule, Unit};
use crate::tasks::TaskRunner;
use std::ops::Range;
use std::sync::Arc;

/// A source of frames.
pub trait PositionSource: Sync {
    /// Writes the positions of a frame, in the points' own order.
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]);
    /// Writes the predictions from bones or parts, in units and in the hierarchy's order; returns `false` if
    /// there are none. Either all frames have predictions or none. They are subtracted from positions before
    /// coding and added after decoding, both modulo the width of fixed-point positions.
    fn outside_prediction(&self, _frame: u32, _grid: &FixedPointGrid, _out: &mut [[i32; 3]]) -> bool {
        false
    }
    /// The only coordinate that is coded; the others are those of [`PositionSource::outside_prediction`], see
    /// [`crate::mesh::height`].
    fn axis(&self) -> Option<usize> {
        None
    }
}

impl<T: PositionSource + ?Sized> PositionSource for &T {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        (**self).positions(frame, out);
    }
    fn outside_prediction(&self, frame: u32, grid: &FixedPointGrid, out: &mut [[i32; 3]]) -> bool {
        (**self).outside_prediction(frame, grid, out)
    }
    fn axis(&self) -> Option<usize> {
        (**self).axis()
    }
}

/// The options for encoding a mesh.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The work spent on size, 1 … 9.
    pub effort: u32,
    /// `true` to pack residuals instead of entropy coding them: larger, but faster.
    pub packed: bool,
    /// The interval, in key frames, at which one refers to key frame 0 alone.
    pub restart: u32,
    /// The lattice and steps, or `None` to choose them.
    pub choice: Option<LatticeChoice>,
    /// `true` to store tables in the file even if a default set takes fewer bytes.
    pub own_tables: bool,
    /// Runs what may be done in parallel.
    pub tasks: TaskRunner,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            effort: 5,
            packed: false,
            restart: 4,
            choice: None,
            own_tables: false,
            tasks: TaskRunner::default(),
        }
    }
}

/// The reason why a mesh cannot be coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// Fixed-point positions of this width cannot hold the bounds at this tolerance.
    #[error("the tolerance is too fine for the size")]
    TooFine,
    /// A frame is not finite or leaves the bounds.
    #[error("frame {0} leaves the box that was announced")]
    OutOfBounds(u32),
    /// The hierarchy has more levels than an access unit can describe.
    #[error("too many hierarchy levels")]
    TooManyLevels,
}

/// The buffers of one thread.
#[derive(Debug)]
pub struct EncodeBuffers<W> {
    pub(super) points: Vec<[f32; 3]>,
    pub(super) target: FrameTarget,
    pub(super) innovation: Vec<DecodedPoint<W>>,
    pub(super) spatial_residuals: [SpatialResidual; MAX_REFERENCES + 1],
    pub(super) frames: Vec<Vec<DecodedPoint<W>>>,
}

impl<W: FixedPoint> Default for EncodeBuffers<W> {
    fn default() -> Self {
        EncodeBuffers {
            points: Vec::new(),
            target: FrameTarget::default(),
            innovation: Vec::new(),
            spatial_residuals: Default::default(),
            frames: Vec::new(),
        }
    }
}

/// Called with the number of a frame, its points in their own order, and the decoded ones in the hierarchy's.
pub type FrameCallback<'a, W> = dyn FnMut(u32, &[[f32; 3]], &[DecodedPoint<W>]) + 'a;

/// The settings of a mesh and everything derived from them, except tables.
pub(super) struct MeshModel<W> {
    pub(super) grid: FixedPointGrid,
    pub(super) choice: LatticeChoice,
    pub(super) neighbours: Vec<[u32; 4]>,
    pub(super) weights: Vec<[i16; 4]>,
    pub(super) first: Vec<DecodedPoint<W>>,
    pub(super) first_sink: UnitBuilder,
    pub(super) sample: SampledVertices,
}

/// The model and the tables with which frames are coded.
pub(super) struct Setup<'m, W> {
    pub(super) model: &'m MeshModel<W>,
    /// The tables from which costs are estimated, if there are any yet.
    pub(super) coding: Option<&'m CodingTables>,
}

impl<W> Clone for Setup<'_, W> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<W> Copy for Setup<'_, W> {}

/// The mesh and its frames: everything that does not depend on the settings.
pub(super) struct SourceMesh<'a> {
    pub(super) hierarchy: Hierarchy,
    pub(super) schedule: Schedule,
    pub(super) extent: Extent,
    pub(super) options: Options,
    pub(super) source: Arc<dyn PositionSource + Send + 'a>,
}

// Tuning.
/// The number of vertices by which temporal weights are fitted, by effort; up to four times as many if they
/// are a small part of all, see [`FIT_PART`].
const FIT_SAMPLE: [usize; 9] = [512, 512, 768, 768, 1024, 2048, 3072, 4096, 4096];
/// At most one vertex in this number is used for fits.
const FIT_PART: usize = 12;

/// The number of vertices of a level by which its ρ is chosen.
const RHO_SAMPLE: [usize; 9] = [64, 64, 96, 128, 160, 256, 400, 600, 1000];

/// The number of rounds in which temporal weights are fitted, by effort.
const FIT_ROUNDS: [u32; 9] = [2, 2, 2, 3, 3, 4, 5, 5, 6];

/// The mean squared error of a corrected vertex that simulations assume, relative to the squared error bound.
const NOISE: f32 = 2.0;

/// Called with the number of a key frame, the result of coding it, and its decoded frame.
pub type KeyCallback<'a, W, T> = &'a mut dyn FnMut(u32, T, &[DecodedPoint<W>]);

/// The result of coding one frame within a longer task.
pub(super) type CodeResult = Result<(), EncodeError>;

impl SourceMesh<'_> {
    pub(super) fn effort(&self) -> usize {
        self.options.effort.clamp(1, 9) as usize - 1
    }

    fn sink(&self) -> UnitBuilder {
        UnitBuilder { residuals: self.options.packed.then(Vec::new), ..UnitBuilder::default() }
    }

    pub(super) fn points(&self) -> usize {
        self.hierarchy.order.len()
    }

    pub(super) fn load<W: FixedPoint>(
        &self,
        frame: u32,
        grid: &FixedPointGrid,
        work: &mut EncodeBuffers<W>,
    ) -> CodeResult {
        let points = self.points();
        work.points.resize(points, [0.0; 3]);
        self.source.positions(frame, &mut work.points);
        let target = &mut work.target;
        target.source.clear();
        target.source.extend(self.hierarchy.order.iter().map(|&p| work.points[p as usize]));
        target.outside.resize(points, [0; 3]);
        if !self.source.outside_prediction(frame, grid, &mut target.outside) {
            target.outside.clear();
        }
        if let Some(axis) = self.source.axis() {
            for (at, &cell) in target.source.iter_mut().zip(&target.outside) {
                let flat = grid.position(cell);
                for k in (0..3).filter(|&k| k != axis) {
                    at[k] = flat[k];
                }
            }
        }
        match target.prepare::<W>(grid) {
            true => Ok(()),
            false => Err(EncodeError::OutOfBounds(frame)),
        }
    }

    /// Codes frame 0. `coding` has the tables from which costs are estimated.
    pub(super) fn build_model<W: FixedPoint>(
        &self,
        choice: LatticeChoice,
        coding: Option<&CodingTables>,
        work: &mut EncodeBuffers<W>,
    ) -> Result<MeshModel<W>, EncodeError> {
        let grid = self.extent.grid(&choice, W::MAX_COORDINATE).ok_or(EncodeError::TooFine)?;
        let points = self.points();
        let mut model = MeshModel {
            grid,
            choice,
            neighbours: Vec::new(),
            weights: Vec::new(),
            first: vec![[W::default(); 4]; points],
            first_sink: UnitBuilder::default(),
            sample: SampledVertices::default(),
        };
        if self.schedule.frames() > 0 {
            self.load(0, &grid, work)?;
            let mut first = std::mem::take(&mut model.first);
            let mut sink = UnitBuilder::default();
            let setting = self.frame_coder(&model);
            if !setting.code_first(&work.target, coding, &mut first, &mut sink) {
                return Err(EncodeError::TooFine);
            }
            model.first = first;
            model.first_sink = sink;
        }
        let outside = match &work.target.outside {
            o if o.is_empty() => None,
            o => Some(&o[..]),
        };
        (model.neighbours, model.weights) =
            decode::solve_spatial_weights(&self.hierarchy, &model.first, outside, usize::from(choice.fit));
        model.sample = SampledVertices::new(self.sampled(), &model.weights);
        Ok(model)
    }

    /// Returns the vertices at which frames are compared.
    pub(super) fn sampled(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let level_2 = self.hierarchy.starts.get(2).map_or(0, |&s| s as usize);
        let count = self.points().saturating_sub(level_2);
        let least = FIT_SAMPLE[self.effort()];
        let most = (self.points() / FIT_PART).clamp(least, least * 4);
        let stride = count.div_ceil(most).max(1);
        (level_2..self.points()).step_by(stride)
    }

    pub(super) fn frame_coder<'m, W>(&'m self, model: &'m MeshModel<W>) -> FrameCoder<'m> {
        FrameCoder {
            grid: model.grid,
            choice: model.choice,
            radius: self.extent.tolerance,
            lattice_bound: self.extent.lattice_bound(),
            hierarchy: &self.hierarchy,
            neighbours: &model.neighbours,
            rho_sample: RHO_SAMPLE[self.effort()],
            weights: &model.weights,
        }
    }

    /// Codes a frame from its references.
    fn code_frame<'r, W: FixedPoint>(
        &self,
        Setup { model, coding }: Setup<'_, W>,
        frame: u32,
        reference: &dyn Fn(u32) -> &'r [DecodedPoint<W>],
        work: &mut EncodeBuffers<W>,
        out: &mut [DecodedPoint<W>],
        sink: &mut UnitBuilder,
    ) -> CodeResult {
        self.load(frame, &model.grid, work)?;
        let list = self.schedule.references(frame);
        let slices: [&[DecodedPoint<W>]; MAX_REFERENCES] =
            std::array::from_fn(|k| reference(list[if k < list.len() { k } else { 0 }]));
        let layer = decode::layer(&self.schedule, frame);
        let coefficients = self.weigh(model, frame, layer, &list, &slices, work);
        work.innovation.resize(self.points(), [W::default(); 4]);
        let job =
            FrameJob { layer, references: slices, coefficients, count: list.len(), target: &work.target };
        let setting = self.frame_coder(model);
        match setting.code(&job, coding, out, &mut work.innovation, sink) {
            true => Ok(()),
            false => Err(EncodeError::TooFine),
        }
    }

    /// Returns the temporal weights with the lowest estimated cost.
    fn weigh<W: FixedPoint>(
        &self,
        model: &MeshModel<W>,
        frame: u32,
        layer: usize,
        list: &[u32],
        slices: &[&[DecodedPoint<W>]; MAX_REFERENCES],
        work: &mut EncodeBuffers<W>,
    ) -> [i16; MAX_REFERENCES] {
        if list.len() < 2 {
            return [256, 0, 0, 0];
        }
        let [own, details @ ..] = &mut work.spatial_residuals;
        let (near, weights) = (&model.neighbours[..], &model.weights[..]);
        let scale = 1.0 / (1u32 << fraction_bits::<W>()) as f32;
        model.sample.source(&work.target.fixed, scale, near, weights, own);
        for (detail, slice) in details.iter_mut().zip(slices).take(list.len()) {
            model.sample.decoded(slice, near, weights, detail);
        }
        let details: Vec<&SpatialResidual> = details[..list.len()].iter().collect();
        let scale = SimulatedQuantizer { bound: self.frame_coder(model).bound::<W>(), noise: NOISE };
        let times: Vec<f64> = list.iter().map(|&f| f64::from(f)).collect();
        let smooth = temporal::lagrange(f64::from(frame), &times);
        let linear = match layer {
            1 => [1.0, 0.0, 0.0, 0.0],
            _ => temporal::lagrange(f64::from(frame), &times[..2]),
        };
        let rounds = FIT_ROUNDS[self.effort()];
        let start = if layer == 1 { linear } else { smooth };
        let fitted = model.sample.fit(own, &details, start, scale, rounds);
        let mut best = ([0; MAX_REFERENCES], f32::MAX);
        for weights in [linear, smooth, fitted] {
            let weights = temporal::rounded(weights, list.len());
            let cost = model.sample.cost(own, &details, weights, scale);
            if cost < best.1 {
                best = (weights, cost);
            }
        }
        best.0
    }

    /// Codes the key frames `keys` of a segment in order, and calls `each` with each of them.
    pub(super) fn code_segment<W: FixedPoint>(
        &self,
        setup: Setup<'_, W>,
        keys: Range<u32>,
        work: &mut EncodeBuffers<W>,
        each: KeyCallback<W, UnitBuilder>,
    ) -> CodeResult {
        let mut done: Vec<(u32, Vec<DecodedPoint<W>>)> = Vec::new();
        for key in keys {
            if key == 0 {
                done.push((0, setup.model.first.clone()));
                each(0, UnitBuilder::default(), &setup.model.first);
                continue;
            }
            let frame = self.schedule.key_frame(key);
            let mut out = vec![[W::default(); 4]; self.points()];
            let mut sink = self.sink();
            let find = |number: u32| {
                let known = done.iter().find(|d| d.0 == number);
                known.map_or(&setup.model.first[..], |d| &d.1[..])
            };
            self.code_frame(setup, frame, &find, work, &mut out, &mut sink)?;
            each(key, sink, &out);
            done.push((frame, out));
            if done.len() > 3 {
                done.remove(0);
            }
        }
        Ok(())
    }

    /// Returns one of a group's deepest frames that lies between others, and the frames that it needs.
    pub(super) fn sample_of(&self, group: u32) -> Vec<u32> {
        let last = self.schedule.frames_of(Unit::TopLayer(group));
        let mut out: Vec<u32> = last.get(last.len() * 5 / 16).copied().into_iter().collect();
        let mut at = 0;
        while at < out.len() {
            for &f in self.schedule.references(out[at]).iter() {
                if self.schedule.key_of(f).is_none() && !out.contains(&f) {
                    out.push(f);
                }
            }
            at += 1;
        }
        out
    }

    /// Codes the frames of a group.
    pub(super) fn code_group<'r, W: FixedPoint>(
        &self,
        setup: Setup<'_, W>,
        group: u32,
        part: GroupFrames,
        key: &dyn Fn(u32) -> &'r [DecodedPoint<W>],
        work: &mut EncodeBuffers<W>,
        watch: &mut FrameCallback<'_, W>,
    ) -> Result<[UnitBuilder; 2], EncodeError> {
        let mut sinks = [self.sink(), self.sink()];
        let part = (part == GroupFrames::Sample).then(|| self.sample_of(group));
        let frames = |unit: Unit| {
            let mut list = self.schedule.frames_of(unit).to_vec();
            list.retain(|f| part.as_ref().is_none_or(|part| part.contains(f)));
            list
        };
        let (inner, last) = (frames(Unit::LowerLayers(group)), frames(Unit::TopLayer(group)));
        let mut frames = std::mem::take(&mut work.frames);
        frames.resize(inner.len() + 1, Vec::new());
        for (at, &frame) in inner.iter().chain(last.iter()).enumerate() {
            let place = at.min(inner.len());
            let (before, rest) = frames.split_at_mut(place);
            let out = &mut rest[0];
            out.resize(self.points(), [W::default(); 4]);
            let before: &[Vec<DecodedPoint<W>>] = before;
            let find = |number: u32| match inner.iter().position(|&f| f == number) {
                Some(i) => &before[i][..],
                None => key(number),
            };
            let sink = &mut sinks[usize::from(at >= inner.len())];
            self.code_frame(setup, frame, &find, work, out, sink)?;
            watch(frame, &work.points, out);
        }
        work.frames = frames;
        Ok(sinks)
    }
}

/// The frames of a group that are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupFrames {
    All,
    /// Those of [`SourceMesh::sample_of`].
    Sample,
}
