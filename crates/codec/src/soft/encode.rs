//! The encoder of a mesh, in steps that can be spread over threads:
//!
//! ```text
//! Encoder::new     codes frame 0, tries settings on a sample of groups, makes the tables: the static part
//! segment(s)       the keys of a segment, one after the other; segments are independent
//! group(g)         the units Inner(g) and Last(g), from the decoded keys g − 1 … g + 2; groups are independent
//! ```
//!
//! Frames are asked for when they are needed and never kept, so memory does not grow with their number.

use super::cell::Cell;
use super::coder::{Coding, Job, Setting, Sink, Target, fraction, levels_fit};
use super::decode::{self, Vector};
use super::hierarchy::Hierarchy;
use super::lattice::{Choice, Extent, Grid, Lattice};
use super::schedule::{REFERENCES, Schedule, Unit};
use super::tables::Counts;
use super::temporal::{self, Detail, Sample, Scale};
use crate::bytes::put_varint;

/// Where frames come from.
pub trait Source: Sync {
    /// Fills in the positions of a frame, in the points' own order.
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]);
    /// Fills in what is predicted from outside (bones, parts), in units, in the hierarchy's order; false: nothing is.
    /// Either all frames have such a prediction or none. Frames are coded as positions less that, and it is added to
    /// what is decoded, both modulo the width of the cells.
    fn outside(&self, _frame: u32, _grid: &Grid, _out: &mut [[i32; 3]]) -> bool {
        false
    }
}

/// What the caller wants.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Work spent on size, 1 … 9.
    pub effort: u32,
    /// Residuals are packed, not entropy coded: larger, faster.
    pub packed: bool,
    /// Every how many keys one refers to key 0 alone.
    pub restart: u32,
    /// Lattice and steps, if they are not to be chosen.
    pub choice: Option<Choice>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            effort: 5,
            packed: false,
            restart: 4,
            choice: None,
        }
    }
}

/// Why a mesh cannot be coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Cells of this width cannot hold the box at this tolerance.
    #[error("the tolerance is too fine for the size")]
    TooFine,
    /// A frame is not finite or leaves the box.
    #[error("frame {0} leaves the box that was announced")]
    Outside(u32),
    /// More levels than a unit can describe.
    #[error("too many levels of detail")]
    Levels,
}

/// Buffers of one thread.
#[derive(Debug)]
pub struct Work<W> {
    points: Vec<[f32; 3]>,
    target: Target,
    innovation: Vec<Vector<W>>,
    details: [Detail; REFERENCES + 1],
    frames: Vec<Vec<Vector<W>>>,
}

impl<W: Cell> Default for Work<W> {
    fn default() -> Self {
        Work {
            points: Vec::new(),
            target: Target::default(),
            innovation: Vec::new(),
            details: Default::default(),
            frames: Vec::new(),
        }
    }
}

/// Called with the number of a frame, its points in their own order, and the decoded ones in the hierarchy's.
pub type Watch<'a, W> = dyn FnMut(u32, &[[f32; 3]], &[Vector<W>]) + 'a;

/// Everything but the tables.
struct Model<W> {
    grid: Grid,
    choice: Choice,
    neighbours: Vec<[u32; 4]>,
    weights: Vec<[i16; 4]>,
    first: Vec<Vector<W>>,
    first_sink: Sink,
    sample: Sample,
}

/// What does not change with the settings.
struct Common<'a> {
    hierarchy: Hierarchy,
    schedule: Schedule,
    extent: Extent,
    options: Options,
    source: &'a dyn Source,
}

/// A mesh whose static part is made.
pub struct Encoder<'a, W> {
    common: Common<'a>,
    model: Model<W>,
    coding: Coding,
    static_bytes: Vec<u8>,
}

// Tuning.
/// Vertices by which temporal weights are fitted, by effort.
const FIT_SAMPLE: [usize; 9] = [512, 768, 1024, 1536, 2048, 2048, 3072, 4096, 8192];
const FIT_ROUNDS: [u32; 9] = [2, 2, 3, 3, 4, 4, 5, 5, 8];

/// Gets a key, its unit and its decoded frame.
pub type Each<'a, W, T> = &'a mut dyn FnMut(u32, T, &[Vector<W>]);

/// Result of coding one frame within a longer task.
type Coded = Result<(), Refused>;

impl Common<'_> {
    fn effort(&self) -> usize {
        self.options.effort.clamp(1, 9) as usize - 1
    }

    fn sink(&self) -> Sink {
        Sink {
            residuals: self.options.packed.then(Vec::new),
            ..Sink::default()
        }
    }

    fn points(&self) -> usize {
        self.hierarchy.order.len()
    }

    fn load<W: Cell>(&self, frame: u32, grid: &Grid, work: &mut Work<W>) -> Coded {
        let points = self.points();
        work.points.resize(points, [0.0; 3]);
        self.source.positions(frame, &mut work.points);
        let target = &mut work.target;
        target.source.clear();
        target.source.extend(
            self.hierarchy
                .order
                .iter()
                .map(|&p| work.points[p as usize]),
        );
        target.outside.resize(points, [0; 3]);
        if !self.source.outside(frame, grid, &mut target.outside) {
            target.outside.clear();
        }
        match target.prepare::<W>(grid) {
            true => Ok(()),
            false => Err(Refused::Outside(frame)),
        }
    }

    fn model<W: Cell>(&self, choice: Choice, work: &mut Work<W>) -> Result<Model<W>, Refused> {
        let grid = self
            .extent
            .grid(&choice, W::REACH)
            .ok_or(Refused::TooFine)?;
        let points = self.points();
        let mut model = Model {
            grid,
            choice,
            neighbours: Vec::new(),
            weights: Vec::new(),
            first: vec![[W::default(); 4]; points],
            first_sink: Sink::default(),
            sample: Sample::default(),
        };
        if self.schedule.frames() > 0 {
            self.load(0, &grid, work)?;
            let mut first = std::mem::take(&mut model.first);
            let mut sink = Sink::default();
            let setting = self.setting(&model);
            if !setting.code_first(&work.target, None, &mut first, &mut sink) {
                return Err(Refused::TooFine);
            }
            model.first = first;
            model.first_sink = sink;
        }
        let outside = match &work.target.outside {
            o if o.is_empty() => None,
            o => Some(&o[..]),
        };
        (model.neighbours, model.weights) = decode::solve(&self.hierarchy, &model.first, outside);
        let level_2 = self.hierarchy.starts.get(2).map_or(0, |&s| s as usize);
        model.sample = Sample::new(level_2, &model.weights, FIT_SAMPLE[self.effort()]);
        Ok(model)
    }

    fn setting<'m, W>(&'m self, model: &'m Model<W>) -> Setting<'m> {
        Setting {
            grid: model.grid,
            choice: model.choice,
            radius: self.extent.radius,
            share: self.extent.share(),
            hierarchy: &self.hierarchy,
            neighbours: &model.neighbours,
            weights: &model.weights,
        }
    }

    /// Codes a frame from its references.
    #[allow(clippy::too_many_arguments)]
    fn frame<'r, W: Cell>(
        &self,
        model: &Model<W>,
        coding: Option<&Coding>,
        frame: u32,
        reference: &dyn Fn(u32) -> &'r [Vector<W>],
        work: &mut Work<W>,
        out: &mut [Vector<W>],
        sink: &mut Sink,
    ) -> Coded {
        self.load(frame, &model.grid, work)?;
        let list = self.schedule.references(frame);
        let slices: [&[Vector<W>]; REFERENCES] =
            std::array::from_fn(|k| reference(list[if k < list.len() { k } else { 0 }]));
        let layer = decode::layer(&self.schedule, frame);
        let coefficients = self.weigh(model, frame, layer, &list, &slices, work);
        work.innovation.resize(self.points(), [W::default(); 4]);
        let job = Job {
            layer,
            references: slices,
            coefficients,
            count: list.len(),
            target: &work.target,
        };
        let setting = self.setting(model);
        match setting.code(&job, coding, out, &mut work.innovation, sink) {
            true => Ok(()),
            false => Err(Refused::TooFine),
        }
    }

    /// The temporal weights that are likely to cost least.
    fn weigh<W: Cell>(
        &self,
        model: &Model<W>,
        frame: u32,
        layer: usize,
        list: &[u32],
        slices: &[&[Vector<W>]; REFERENCES],
        work: &mut Work<W>,
    ) -> [i16; REFERENCES] {
        if list.len() < 2 {
            return [256, 0, 0, 0];
        }
        let [own, details @ ..] = &mut work.details;
        let (near, weights) = (&model.neighbours[..], &model.weights[..]);
        let scale = 1.0 / (1u32 << fraction::<W>()) as f32;
        model
            .sample
            .source(&work.target.fixed, scale, near, weights, own);
        for (detail, slice) in details.iter_mut().zip(slices).take(list.len()) {
            model.sample.decoded(slice, near, weights, detail);
        }
        let details: Vec<&Detail> = details[..list.len()].iter().collect();
        let scale = Scale {
            ball: self.setting(model).ball::<W>(),
        };
        let times: Vec<f64> = list.iter().map(|&f| f64::from(f)).collect();
        let smooth = temporal::lagrange(f64::from(frame), &times);
        let linear = match layer {
            1 => [1.0, 0.0, 0.0, 0.0],
            _ => temporal::lagrange(f64::from(frame), &times[..2]),
        };
        let rounds = FIT_ROUNDS[self.effort()];
        let start = if layer == 1 { linear } else { smooth };
        let fitted = model.sample.fit(own, &details, start, scale, rounds);
        let mut best = ([0; REFERENCES], f32::MAX);
        for weights in [linear, smooth, fitted] {
            let weights = temporal::rounded(weights, list.len());
            let cost = model.sample.cost(own, &details, weights, scale);
            if cost < best.1 {
                best = (weights, cost);
            }
        }
        best.0
    }

    /// Codes the keys of a segment up to `end`, which are then called one after the other.
    fn segment<W: Cell>(
        &self,
        model: &Model<W>,
        coding: Option<&Coding>,
        keys: std::ops::Range<u32>,
        work: &mut Work<W>,
        each: Each<W, Sink>,
    ) -> Coded {
        let mut done: Vec<(u32, Vec<Vector<W>>)> = Vec::new();
        for key in keys {
            if key == 0 {
                done.push((0, model.first.clone()));
                each(0, Sink::default(), &model.first);
                continue;
            }
            let frame = self.schedule.key_frame(key);
            let mut out = vec![[W::default(); 4]; self.points()];
            let mut sink = self.sink();
            let find = |number: u32| {
                let known = done.iter().find(|d| d.0 == number);
                known.map_or(&model.first[..], |d| &d.1[..])
            };
            self.frame(model, coding, frame, &find, work, &mut out, &mut sink)?;
            each(key, sink, &out);
            done.push((frame, out));
            if done.len() > 3 {
                done.remove(0);
            }
        }
        Ok(())
    }

    /// Codes the frames of a group.
    fn group<'r, W: Cell>(
        &self,
        model: &Model<W>,
        coding: Option<&Coding>,
        group: u32,
        key: &dyn Fn(u32) -> &'r [Vector<W>],
        work: &mut Work<W>,
        watch: &mut Watch<'_, W>,
    ) -> Result<[Sink; 2], Refused> {
        let mut sinks = [self.sink(), self.sink()];
        let inner = self.schedule.frames_of(Unit::Inner(group));
        let last = self.schedule.frames_of(Unit::Last(group));
        let mut frames = std::mem::take(&mut work.frames);
        frames.resize(inner.len() + 1, Vec::new());
        for (at, &frame) in inner.iter().chain(last.iter()).enumerate() {
            let place = at.min(inner.len());
            let (before, rest) = frames.split_at_mut(place);
            let out = &mut rest[0];
            out.resize(self.points(), [W::default(); 4]);
            let before: &[Vec<Vector<W>>] = before;
            let find = |number: u32| match inner.iter().position(|&f| f == number) {
                Some(i) => &before[i][..],
                None => key(number),
            };
            let sink = &mut sinks[usize::from(at >= inner.len())];
            self.frame(model, coding, frame, &find, work, out, sink)?;
            watch(frame, &work.points, out);
        }
        work.frames = frames;
        Ok(sinks)
    }
}

/// Vertices times frames that are coded to learn the tables, by effort.
const TRAINING: [usize; 9] = [
    300_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 3_000_000, 6_000_000, 20_000_000, 60_000_000,
];

impl<'a, W: Cell> Encoder<'a, W> {
    /// Makes the static part of a mesh of `frames` frames within `extent`.
    pub fn new(
        hierarchy: Hierarchy,
        frames: u32,
        extent: Extent,
        options: Options,
        source: &'a dyn Source,
        work: &mut Work<W>,
    ) -> Result<Self, Refused> {
        if !levels_fit(&hierarchy) {
            return Err(Refused::Levels);
        }
        let common = Common {
            hierarchy,
            schedule: Schedule::new(frames, options.restart),
            extent,
            options,
            source,
        };
        let choice = options.choice.unwrap_or(Choice {
            lattice: if extent.axes < 3 {
                Lattice::Cubic
            } else {
                Lattice::Centred
            },
            key: 2.0,
            last: 1.0,
        });
        let model = common.model(choice, work)?;
        let (counts, share) = common.learn(&model, work)?;
        let coding = Coding::new(counts.tables(1.0 / share.max(1e-9)));
        let first = model.first_sink.clone().finish(&common.hierarchy, &coding);
        let mut static_bytes = Vec::new();
        put_static::<W>(&model.grid, &coding, &mut static_bytes);
        static_bytes.extend_from_slice(&first);
        Ok(Encoder {
            common,
            model,
            coding,
            static_bytes,
        })
    }

    /// The static part.
    pub fn static_bytes(&self) -> &[u8] {
        &self.static_bytes
    }

    /// Units, steps and middle.
    pub fn grid(&self) -> &Grid {
        &self.model.grid
    }

    /// Number of tables, and the bytes that they take in the static part.
    pub fn tables(&self) -> (usize, usize) {
        (
            self.coding.tables.tables.len(),
            self.coding.tables.encode().len(),
        )
    }

    /// The frames and their units.
    pub fn schedule(&self) -> &Schedule {
        &self.common.schedule
    }

    /// Codes the keys of a segment. `each` gets the key, its unit's bytes (none for key 0) and the decoded frame.
    pub fn segment(
        &self,
        segment: u32,
        work: &mut Work<W>,
        each: Each<W, Vec<u8>>,
    ) -> Result<(), Refused> {
        let keys = self.common.schedule.segment(segment);
        let mut sink = |key: u32, sink: Sink, frame: &[Vector<W>]| {
            let bytes = match key {
                0 => Vec::new(),
                _ => sink.finish(&self.common.hierarchy, &self.coding),
            };
            each(key, bytes, frame);
        };
        self.common
            .segment(&self.model, Some(&self.coding), keys, work, &mut sink)
    }

    /// Codes a group: the bytes of its units Inner and Last, empty where the unit has no frames. `key` gives the
    /// decoded frame of a key, by its frame number: keys `group − 1` … `group + 2`, where they exist. `watch` sees each
    /// decoded frame.
    pub fn group<'r>(
        &self,
        group: u32,
        key: &dyn Fn(u32) -> &'r [Vector<W>],
        work: &mut Work<W>,
        watch: &mut Watch<'_, W>,
    ) -> Result<[Vec<u8>; 2], Refused> {
        let coding = Some(&self.coding);
        let sinks = (self.common).group(&self.model, coding, group, key, work, watch)?;
        let units = [Unit::Inner(group), Unit::Last(group)];
        let empty = units.map(|u| self.common.schedule.frames_of(u).is_empty());
        let mut at = 0;
        Ok(sinks.map(|sink| {
            at += 1;
            match empty[at - 1] {
                true => Vec::new(),
                false => sink.finish(&self.common.hierarchy, &self.coding),
            }
        }))
    }
}

fn put_static<W: Cell>(grid: &Grid, coding: &Coding, out: &mut Vec<u8>) {
    out.push(if W::BITS == 32 { decode::WIDE } else { 0 });
    out.extend_from_slice(&grid.unit.to_le_bytes());
    grid.centre
        .iter()
        .for_each(|c| out.extend_from_slice(&c.to_le_bytes()));
    grid.steps
        .iter()
        .for_each(|&s| put_varint(u32::from(s), out));
    let tables = coding.tables.encode();
    put_varint(tables.len() as u32, out);
    out.extend_from_slice(&tables);
}

impl Common<'_> {
    /// Codes a sample of groups to count tokens. Also says what share of all tokens was counted.
    fn learn<W: Cell>(
        &self,
        model: &Model<W>,
        work: &mut Work<W>,
    ) -> Result<(Counts, f64), Refused> {
        let mut counts = Counts::default();
        let mut count = |sink: &Sink| {
            sink.symbols
                .iter()
                .for_each(|&s| counts.add((s >> 8) as u16, s as u8));
        };
        count(&model.first_sink);
        if self.options.packed {
            // Only frame 0 has tokens.
            return Ok((counts, 1.0));
        }
        let points = self.points().max(1);
        let groups = self.schedule.groups();
        let most =
            (TRAINING[self.effort()] / (points * 16)).clamp(1, groups.max(1) as usize) as u32;
        let mut seen = 1;
        let mut keys: Vec<(u32, Vec<Vector<W>>)> = Vec::new();
        for n in 0..most.min(groups) {
            let group = (u64::from(n) * 2 + 1) * u64::from(groups) / (2 * u64::from(most));
            let group = group as u32;
            let needed = group.saturating_sub(1)..(group + 3).min(self.schedule.keys());
            keys.retain(|k| needed.contains(&k.0));
            for segment in 0..self.schedule.segments() {
                let range = self.schedule.segment(segment);
                let range = range.start..range.end.min(needed.end);
                if range.is_empty() || range.end <= needed.start {
                    continue;
                }
                if range
                    .clone()
                    .all(|k| !needed.contains(&k) || keys.iter().any(|d| d.0 == k))
                {
                    continue;
                }
                let mut each = |key: u32, sink: Sink, frame: &[Vector<W>]| {
                    if key > 0 {
                        seen += 1;
                        count(&sink);
                    }
                    if needed.contains(&key) && keys.iter().all(|k| k.0 != key) {
                        keys.push((key, frame.to_vec()));
                    }
                };
                self.segment(model, None, range, work, &mut each)?;
            }
            let key = |frame: u32| {
                let key = self.schedule.key_of(frame);
                let known = keys.iter().find(|k| Some(k.0) == key);
                known.map_or(&model.first[..], |k| &k.1[..])
            };
            for sink in self.group(model, None, group, &key, work, &mut |_, _, _| {})? {
                seen += sink.symbols.len() / points;
                count(&sink);
            }
        }
        let share = seen as f64 / f64::from(self.schedule.frames().max(1));
        Ok((counts, share.min(1.0)))
    }
}
