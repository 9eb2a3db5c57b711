//! Groups of frames: the settings that they are tried with, and their coding.

use crate::mesh::decode::{self, Vector};
use crate::mesh::encode::coding::{Coding, codings};
use crate::mesh::encode::frame::{Job, Setting, Target, fraction};
use crate::mesh::encode::output::Sink;
use crate::mesh::encode::settings::{FIRST_MOVE, LAST_MOVE, MOVES, STARTS, moved};
use crate::mesh::encode::temporal::{self, Detail, Sample, Scale};
use crate::mesh::hierarchy::Hierarchy;
use crate::mesh::tables::{Counts, LAYERS, Tables};
use crate::mesh::weights::{self, FITS};
use crate::quantize::fixed::Cell;
use crate::quantize::lattice::{Choice, Extent, Grid, Lattice};
use crate::schedule::{REFERENCES, Schedule, Unit};
use std::ops::Range;
use std::sync::Arc;

/// Where frames come from.
pub trait Source: Sync {
    /// Fills in the positions of a frame, in the points' own order.
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]);
    /// Fills in what is predicted from outside (bones, parts), in units, in the hierarchy's order; false:
    /// nothing is. Either all frames have such a prediction or none. Frames are coded as positions less that,
    /// and it is added to what is decoded, both modulo the width of the cells.
    fn outside(&self, _frame: u32, _grid: &Grid, _out: &mut [[i32; 3]]) -> bool {
        false
    }
    /// The only coordinate that is coded; the others are what is predicted from outside, see
    /// [`crate::mesh::height`].
    fn axis(&self) -> Option<usize> {
        None
    }
}

impl<T: Source + ?Sized> Source for &T {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        (**self).positions(frame, out);
    }
    fn outside(&self, frame: u32, grid: &Grid, out: &mut [[i32; 3]]) -> bool {
        (**self).outside(frame, grid, out)
    }
    fn axis(&self) -> Option<usize> {
        (**self).axis()
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
    /// Tables are kept in the file even where a default set takes fewer bytes.
    pub own_tables: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { effort: 5, packed: false, restart: 4, choice: None, own_tables: false }
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
    pub(super) points: Vec<[f32; 3]>,
    pub(super) target: Target,
    pub(super) innovation: Vec<Vector<W>>,
    pub(super) details: [Detail; REFERENCES + 1],
    pub(super) frames: Vec<Vec<Vector<W>>>,
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
pub(super) struct Model<W> {
    pub(super) grid: Grid,
    pub(super) choice: Choice,
    pub(super) neighbours: Vec<[u32; 4]>,
    pub(super) weights: Vec<[i16; 4]>,
    pub(super) first: Vec<Vector<W>>,
    pub(super) first_sink: Sink,
    pub(super) sample: Sample,
}

/// What does not change with the settings.
pub(super) struct Common<'a> {
    pub(super) hierarchy: Hierarchy,
    pub(super) schedule: Schedule,
    pub(super) extent: Extent,
    pub(super) options: Options,
    pub(super) source: Arc<dyn Source + Send + 'a>,
}

// Tuning.
/// Vertices by which temporal weights are fitted, by effort; up to four times as many where they are only a
/// small part.
pub(super) const FIT_SAMPLE: [usize; 9] = [512, 512, 768, 768, 1024, 2048, 3072, 4096, 4096];

pub(super) const FIT_PART: usize = 12;

/// Vertices of a level by which its ρ is chosen.
pub(super) const RHO_SAMPLE: [usize; 9] = [64, 64, 96, 128, 160, 256, 400, 600, 1000];

pub(super) const FIT_ROUNDS: [u32; 9] = [2, 2, 2, 3, 3, 4, 5, 5, 6];

/// Gets a key, its unit and its decoded frame.
pub type Each<'a, W, T> = &'a mut dyn FnMut(u32, T, &[Vector<W>]);

/// Result of coding one frame within a longer task.
pub(super) type Coded = Result<(), Refused>;

impl Common<'_> {
    fn effort(&self) -> usize {
        self.options.effort.clamp(1, 9) as usize - 1
    }

    fn sink(&self) -> Sink {
        Sink { residuals: self.options.packed.then(Vec::new), ..Sink::default() }
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
        target.source.extend(self.hierarchy.order.iter().map(|&p| work.points[p as usize]));
        target.outside.resize(points, [0; 3]);
        if !self.source.outside(frame, grid, &mut target.outside) {
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
            false => Err(Refused::Outside(frame)),
        }
    }

    /// Codes frame 0. `coding`: tables that tell what tokens cost.
    fn model<W: Cell>(
        &self,
        choice: Choice,
        coding: Option<&Coding>,
        work: &mut Work<W>,
    ) -> Result<Model<W>, Refused> {
        let grid = self.extent.grid(&choice, W::REACH).ok_or(Refused::TooFine)?;
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
            if !setting.code_first(&work.target, coding, &mut first, &mut sink) {
                return Err(Refused::TooFine);
            }
            model.first = first;
            model.first_sink = sink;
        }
        let outside = match &work.target.outside {
            o if o.is_empty() => None,
            o => Some(&o[..]),
        };
        (model.neighbours, model.weights) =
            decode::solve(&self.hierarchy, &model.first, outside, usize::from(choice.fit));
        model.sample = Sample::new(self.sampled(), &model.weights);
        Ok(model)
    }

    /// The vertices at which frames are compared.
    fn sampled(&self) -> impl Iterator<Item = usize> + Clone + use<> {
        let level_2 = self.hierarchy.starts.get(2).map_or(0, |&s| s as usize);
        let count = self.points().saturating_sub(level_2);
        let least = FIT_SAMPLE[self.effort()];
        let most = (self.points() / FIT_PART).clamp(least, least * 4);
        let stride = count.div_ceil(most).max(1);
        (level_2..self.points()).step_by(stride)
    }

    fn setting<'m, W>(&'m self, model: &'m Model<W>) -> Setting<'m> {
        Setting {
            grid: model.grid,
            choice: model.choice,
            radius: self.extent.radius,
            share: self.extent.share(),
            hierarchy: &self.hierarchy,
            neighbours: &model.neighbours,
            rho_sample: RHO_SAMPLE[self.effort()],
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
        let job = Job { layer, references: slices, coefficients, count: list.len(), target: &work.target };
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
        model.sample.source(&work.target.fixed, scale, near, weights, own);
        for (detail, slice) in details.iter_mut().zip(slices).take(list.len()) {
            model.sample.decoded(slice, near, weights, detail);
        }
        let details: Vec<&Detail> = details[..list.len()].iter().collect();
        let scale = Scale { ball: self.setting(model).ball::<W>(), noise: NOISE };
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
    pub(super) fn segment<W: Cell>(
        &self,
        model: &Model<W>,
        coding: Option<&Coding>,
        keys: Range<u32>,
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

    /// One of a group's deepest frames that lies between others, and those that it needs.
    fn sample_of(&self, group: u32) -> Vec<u32> {
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
    #[allow(clippy::too_many_arguments)]
    pub(super) fn group<'r, W: Cell>(
        &self,
        model: &Model<W>,
        coding: Option<&Coding>,
        group: u32,
        part: Part,
        key: &dyn Fn(u32) -> &'r [Vector<W>],
        work: &mut Work<W>,
        watch: &mut Watch<'_, W>,
    ) -> Result<[Sink; 2], Refused> {
        let mut sinks = [self.sink(), self.sink()];
        let part = (part == Part::Sample).then(|| self.sample_of(group));
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

/// Which frames of a group are coded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    All,
    /// Those of [`Common::sample_of`].
    Sample,
}

/// Effort of those who ask for none.
pub(super) const USUAL_EFFORT: u32 = 5;

// Tuning, by effort.
/// What all trials of settings may code, as a part of the file; and what a frame counts, at once and for each
/// bit per vertex.
pub(super) const TRIALS: [f64; 9] = [0.0, 0.1, 0.2, 0.4, 0.75, 1.5, 2.5, 3.5, 5.0];

pub(super) const FRAME_WORK: f64 = 0.5;

pub(super) const BIT_WORK: f64 = 0.25;

/// Least part of the groups that a trial codes.
pub(super) const TRYING: [f64; 9] = [0.01, 0.01, 0.02, 0.02, 0.1, 0.1, 0.2, 0.3, 0.5];

/// Part of the groups that are coded to learn the tables, and how often. Up to twice the part where a vertex
/// has fewer bits than so many.
pub(super) const LEARNING: [f64; 9] = [0.1, 0.15, 0.2, 0.35, 0.5, 1.0, 1.0, 1.0, 1.0];

pub(super) const LEARNING_BITS: f64 = 1.5;

pub(super) const LEARNED: [u32; 9] = [1, 1, 1, 1, 1, 1, 1, 2, 2];

/// Frames by which the fit of spatial weights is chosen.
pub(super) const FIT_FRAMES: [u32; 9] = [2, 4, 4, 4, 4, 8, 12, 16, 24];

/// What the simulations take the mean square of a corrected vertex' error for, as a part of the ball's; and
/// for the fit of spatial weights the ball, as much is corrected that would not have to be.
pub(super) const NOISE: f32 = 2.0;

pub(super) const FIT_NOISE: f32 = 0.45;

pub(super) const FIT_BALL: f32 = 0.5;

/// More bits than a default set of tables can be good for.
pub(super) const MOST_DEFAULT_BITS: f64 = (1 << 20) as f64;

/// Of the states of a unit, on top of their information.
pub(super) const STATE_BITS: f64 = 200.0;

/// What coding a sample of groups showed.
pub(super) struct Trial {
    /// Bits of the whole file, as far as the sample tells.
    pub(super) bits: f64,
    pub(super) coding: Arc<Coding>,
    /// The tokens of the sample.
    pub(super) counts: Counts,
    /// Frames that were coded.
    pub(super) frames: usize,
}

/// A part of the sample: its tokens, and its other bits. Frames that stand for others count as often.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) counts: Counts,
    pub(super) plain: f64,
    pub(super) packed: f64,
    pub(super) frames: u32,
    /// How often those counted that stand for most.
    pub(super) most: u32,
    pub(super) coded: usize,
}

impl Tally {
    fn add(&mut self, hierarchy: &Hierarchy, sink: &Sink, times: &dyn Fn(usize) -> u32) {
        let mut all = 0;
        for (n, &layer) in sink.layers.iter().enumerate() {
            let times = times(layer);
            all += times;
            self.most = self.most.max(times);
            for &s in sink.symbols_of(hierarchy, n) {
                self.counts.add((s >> 8) as u16, s as u8, times);
            }
            let (plain, packed) = sink.plain_bits(hierarchy, n);
            self.plain += plain as f64 * f64::from(times);
            self.packed += packed as f64 * f64::from(times);
        }
        let coded = sink.layers.len();
        let heads = sink.heads.len() as f64 * f64::from(all) / coded.max(1) as f64;
        self.plain += heads + STATE_BITS;
        self.packed += heads;
        self.frames += all;
        self.coded += coded;
    }
}

/// What is left to be tried, and what was best.
pub(super) struct Search<W> {
    pub(super) best: Option<(Model<W>, Trial)>,
    /// Frames that may still be coded.
    pub(super) left: f64,
}

impl Common<'_> {
    /// Tries settings on a sample, then learns the tables of the best.
    pub(super) fn choose<W: Cell>(&self, work: &mut Work<W>) -> Result<(Model<W>, Trial), Refused> {
        let effort = self.effort();
        let mut search = Search { best: None, left: TRIALS[effort] * f64::from(self.schedule.frames()) };
        match self.options.choice {
            Some(choice) => {
                self.attempt(choice, &mut search, work)?;
            }
            None => self.search(&mut search, work)?,
        }
        let (mut model, mut trial) = search.best.ok_or(Refused::TooFine)?;
        if self.options.packed {
            return Ok((model, trial));
        }
        for _ in 0..LEARNED[effort] {
            model = self.model(model.choice, Some(&trial.coding), work)?;
            let more = (LEARNING_BITS / self.rate(&trial)).clamp(1.0, 2.0);
            let part = (LEARNING[effort] * more).min(1.0);
            trial = self.trial(&model, Some(&trial.coding), part, true, work)?;
        }
        Ok((model, trial))
    }

    /// Bits per vertex and frame.
    fn rate(&self, trial: &Trial) -> f64 {
        trial.bits / (self.points() as f64 * f64::from(self.schedule.frames())).max(1.0)
    }

    /// Tables of a mesh's own, or the default set that takes fewer bits. `scale`: times that counts stand
    /// for.
    fn coding(&self, own: Tables, counts: &Counts, scale: f64) -> Arc<Coding> {
        let own = Arc::new(Coding::new(own, 0));
        let bits = scale * own.tables.bits(counts);
        if self.options.own_tables || bits > MOST_DEFAULT_BITS {
            return own;
        }
        let mut best = (&own, bits + table_bits(&own));
        for set in codings() {
            let bits = scale * set.tables.bits(counts);
            if bits < best.1 {
                best = (set, bits);
            }
        }
        best.0.clone()
    }

    /// Tries a setting; true if it is the best.
    fn attempt<W: Cell>(
        &self,
        choice: Choice,
        search: &mut Search<W>,
        work: &mut Work<W>,
    ) -> Result<bool, Refused> {
        // Tokens of another lattice have other contexts: tables are learned first.
        let lattice = search.best.as_ref().map(|b| b.0.choice.lattice);
        let mut learn = lattice != Some(choice.lattice);
        let known = search.best.as_ref().map(|b| &b.1.coding);
        let mut coding = known.cloned();
        let (model, trial) = loop {
            let part = TRYING[self.effort()];
            let trial = self.model(choice, coding.as_deref(), work).and_then(|model| {
                let trial = self.trial(&model, coding.as_deref(), part, learn, work)?;
                Ok((model, trial))
            });
            let (model, trial) = match trial {
                Err(Refused::TooFine) => return Ok(false),
                other => other?,
            };
            search.left -= trial.frames as f64 * (FRAME_WORK + BIT_WORK * self.rate(&trial));
            if !learn || search.left <= 0.0 {
                break (model, trial);
            }
            (coding, learn) = (Some(trial.coding), false);
        };
        let better = search.best.as_ref().is_none_or(|b| trial.bits < b.1.bits);
        if better {
            search.best = Some((model, trial));
        }
        Ok(better)
    }

    /// From starts to what no move makes better.
    fn search<W: Cell>(&self, search: &mut Search<W>, work: &mut Work<W>) -> Result<(), Refused> {
        let allowed = |c: &Choice| c.lattice == Lattice::Cubic || self.extent.axes == 3;
        let fit = self.best_fit(STARTS[0].1, work)?;
        let frames = self.schedule.frames();
        let starts = STARTS.map(|(rates, start)| {
            // A frame 0 that is referred to for longer is worth more.
            let long = (frames as f32 / 100.0).clamp(0.25, 1.0).sqrt();
            let first = (start.first * long).max(1.0);
            (rates, Choice { fit, first, ..start })
        });
        // The first trial has no tables to weigh bits with.
        self.attempt(starts[0].1, search, work)?;
        let rate = search.best.as_ref().map(|b| self.rate(&b.1));
        for (rates, start) in starts.into_iter().skip(1) {
            let fits = self.effort() > 5 || rate.is_none_or(|rate| rates.contains(&rate));
            if allowed(&start) && fits && (search.best.is_none() || search.left > 0.0) {
                self.attempt(start, search, work)?;
            }
        }
        let mut size = FIRST_MOVE;
        while size > LAST_MOVE {
            let mut improved = false;
            for number in 0..MOVES {
                let Some(now) = search.best.as_ref().map(|b| b.0.choice) else {
                    return Ok(());
                };
                let next = moved(now, number, size);
                if next == now || !allowed(&next) {
                    continue;
                }
                if search.left <= 0.0 {
                    return Ok(());
                }
                improved |= self.attempt(next, search, work)?;
            }
            if !improved {
                size = size.sqrt();
            }
        }
        Ok(())
    }

    /// The fit of spatial weights that is likely to cost least, by frames of the source.
    fn best_fit<W: Cell>(&self, choice: Choice, work: &mut Work<W>) -> Result<u8, Refused> {
        let model = match self.model(choice, None, work) {
            Err(Refused::TooFine) => return Ok(0),
            other => other?,
        };
        let outside = match &work.target.outside {
            o if o.is_empty() => None,
            o => Some(&o[..]),
        };
        let positions = decode::positions(&model.first, outside);
        let fits = FITS.map(|fit| {
            let w = weights::solve_at(&self.hierarchy, &positions, fit, self.sampled());
            let sample = Sample::new(self.sampled(), &w.weights);
            (w, sample)
        });
        let scale = 1.0 / (1u32 << fraction::<W>()) as f32;
        let ball = self.setting(&model).ball::<W>();
        let mut costs = [0.0; FITS.len()];
        let count = FIT_FRAMES[self.effort()];
        for n in 0..count {
            // A frame of each depth in turn.
            let groups = self.schedule.groups();
            let group = (u64::from(n) * u64::from(groups) / u64::from(count)) as u32;
            let frame = self.schedule.key_frame(group) + [8, 4, 2, 1][n as usize % 4];
            if frame >= self.schedule.frames() || self.schedule.key_of(frame).is_some() {
                continue;
            }
            let list = self.schedule.references(frame);
            let mut source = Vec::new();
            for f in std::iter::once(frame).chain(list.iter().copied()) {
                self.load(f, &model.grid, work)?;
                source.push(work.target.fixed.clone());
            }
            let times: Vec<f64> = list.iter().map(|&f| f64::from(f)).collect();
            let smooth = temporal::lagrange(f64::from(frame), &times);
            for ((w, sample), cost) in fits.iter().zip(&mut costs) {
                for (detail, source) in work.details.iter_mut().zip(&source) {
                    sample.source(source, scale, &w.neighbours, &w.weights, detail);
                }
                let [own, references @ ..] = &work.details;
                let references: Vec<&Detail> = references.iter().take(list.len()).collect();
                let scale = Scale { ball: FIT_BALL * ball, noise: FIT_NOISE };
                let fitted = sample.fit(own, &references, smooth, scale, 2);
                let weights = temporal::rounded(fitted, list.len());
                *cost += sample.cost(own, &references, weights, scale);
            }
        }
        let mut best = 0;
        for (n, cost) in costs.iter().enumerate() {
            if *cost < costs[best] {
                best = n;
            }
        }
        Ok(best as u8)
    }

    /// Codes a part of the groups, of each a sample of its frames. `coding`: tables that tell what tokens
    /// cost. `learn`: contexts are joined anew.
    pub(super) fn trial<W: Cell>(
        &self,
        model: &Model<W>,
        coding: Option<&Coding>,
        part: f64,
        learn: bool,
        work: &mut Work<W>,
    ) -> Result<Trial, Refused> {
        let groups = self.schedule.groups();
        let most = ((f64::from(groups) * part).ceil() as u32).clamp(1, groups.max(1));
        let hierarchy = &self.hierarchy;
        let mut first = Tally::default();
        let (mut keys, mut inside) = (Tally::default(), Tally::default());
        first.add(hierarchy, &model.first_sink, &|_| 1);
        let mut known: Vec<(u32, Vec<Vector<W>>)> = Vec::new();
        let mut counted = 1;
        for n in 0..most.min(groups) {
            let group = (u64::from(n) * 2 + 1) * u64::from(groups) / (2 * u64::from(most));
            let group = group as u32;
            let needed = group.saturating_sub(1)..(group + 3).min(self.schedule.keys());
            known.retain(|k| needed.contains(&k.0));
            for segment in 0..self.schedule.segments() {
                let range = self.schedule.segment(segment);
                let range = range.start..range.end.min(needed.end);
                let missing = |k: u32| needed.contains(&k) && known.iter().all(|d| d.0 != k);
                if !range.clone().any(missing) {
                    continue;
                }
                let mut each = |key: u32, sink: Sink, frame: &[Vector<W>]| {
                    // Keys that were coded before count once.
                    if key >= counted {
                        counted = key + 1;
                        keys.add(hierarchy, &sink, &|_| 1);
                    }
                    if needed.contains(&key) && known.iter().all(|k| k.0 != key) {
                        known.push((key, frame.to_vec()));
                    }
                };
                self.segment(model, coding, range, work, &mut each)?;
            }
            let key = |frame: u32| {
                let key = self.schedule.key_of(frame);
                let found = known.iter().find(|k| Some(k.0) == key);
                found.map_or(&model.first[..], |k| &k.1[..])
            };
            let (mut of_layer, mut coded) = ([0u32; LAYERS], [0u32; LAYERS]);
            for unit in [Unit::LowerLayers(group), Unit::TopLayer(group)] {
                for &frame in self.schedule.frames_of(unit).iter() {
                    of_layer[decode::layer(&self.schedule, frame)] += 1;
                }
            }
            for frame in self.sample_of(group) {
                coded[decode::layer(&self.schedule, frame)] += 1;
            }
            let times = |layer: usize| (of_layer[layer] / coded[layer].max(1)).max(1);
            let watch = &mut |_: u32, _: &[[f32; 3]], _: &[Vector<W>]| {};
            for sink in self.group(model, coding, group, Part::Sample, &key, work, watch)? {
                inside.add(hierarchy, &sink, &times);
            }
        }
        let all_keys = f64::from(self.schedule.keys().max(1) - 1);
        let all_inside = f64::from(self.schedule.frames()) - all_keys - 1.0;
        let seen = 1 + keys.frames + inside.frames;
        let scale = (f64::from(self.schedule.frames()) / f64::from(seen)).max(1.0);
        let mut counts = first.counts.clone();
        if !self.options.packed {
            counts.merge(&keys.counts);
            counts.merge(&inside.counts);
        }
        let frames = first.coded + keys.coded + inside.coded;
        let most = match frames < self.schedule.frames() as usize && !self.options.packed {
            true => inside.most.max(1),
            false => 0,
        };
        let own = match coding {
            Some(coding) if !learn => counts.tables_like(&coding.tables, most),
            _ => counts.tables(scale, most),
        };
        let coding = self.coding(own, &counts, scale);
        let token_bits = |t: &Tally| t.plain + coding.tables.bits(&t.counts);
        let bits = |t: &Tally| match self.options.packed {
            true => t.packed,
            false => token_bits(t),
        };
        let mean = |t: &Tally| bits(t) / f64::from(t.frames.max(1));
        let frame_0 = token_bits(&first);
        let units = all_keys * mean(&keys) + all_inside.max(0.0) * mean(&inside);
        Ok(Trial { bits: table_bits(&coding) + frame_0 + units, coding, counts, frames })
    }
}

/// Bits of tables in the static part.
pub(super) fn table_bits(coding: &Coding) -> f64 {
    match coding.set {
        0 => 8.0 * coding.tables.encode().len() as f64 + 16.0,
        _ => 0.0,
    }
}
