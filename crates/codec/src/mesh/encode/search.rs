//! Chooses the lattice, steps and tables of a mesh: tries settings on a sample of its groups of frames, and
//! takes the cheapest.

use crate::mesh::decode::{self, DecodedPoint};
use crate::mesh::encode::coding::{CodingTables, default_coding_tables, default_token_lengths};
use crate::mesh::encode::frame::fraction_bits;
use crate::mesh::encode::group::{
    CodeResult, EncodeBuffers, EncodeError, GroupFrames, MeshModel, Setup, SourceMesh,
};
use crate::mesh::encode::output::UnitBuilder;
use crate::mesh::encode::settings::{FIRST_MOVE, LAST_MOVE, MOVES, STARTS, neighbouring_setting};
use crate::mesh::encode::temporal::{self, SampledVertices, SimulatedQuantizer, SpatialResidual};
use crate::mesh::hierarchy::Hierarchy;
use crate::mesh::tables::{LAYERS, TokenCounts, TokenTables};
use crate::mesh::weights::{self, FITS};
use crate::quantize::fixed_point::FixedPoint;
use crate::quantize::lattice::{Lattice, LatticeChoice};
use crate::schedule::Unit;
use std::sync::Arc;

/// The number of points from which work on one mesh is done in parallel, and the most tasks at the same time.
const MIN_PARALLEL_POINTS: usize = 1 << 14;
const MAX_PARALLEL_TASKS: usize = 3;

/// The default effort.
pub(super) const USUAL_EFFORT: u32 = 5;

// Tuning, by effort.
/// The limit for the work of all trials, relative to the frames of the file. The next two constants are the
/// work of a frame: a fixed part, and a part for each bit per vertex.
const TRIAL_WORK: [f64; 9] = [0.0, 0.1, 0.2, 0.4, 0.75, 1.5, 2.5, 3.5, 5.0];

const FRAME_WORK: f64 = 0.5;

const BIT_WORK: f64 = 0.25;

/// The smallest fraction of the groups that a trial codes.
const TRIAL_FRACTION: [f64; 9] = [0.01, 0.01, 0.02, 0.02, 0.1, 0.1, 0.2, 0.3, 0.5];

/// The fraction of the groups that are coded to learn the tables, and the number of passes. Up to twice the
/// fraction if a vertex has fewer than `LEARNING_BITS` bits.
const LEARNING_FRACTION: [f64; 9] = [0.1, 0.15, 0.2, 0.35, 0.5, 1.0, 1.0, 1.0, 1.0];

const LEARNING_BITS: f64 = 1.5;

const LEARNING_PASSES: [u32; 9] = [1, 1, 1, 1, 1, 1, 1, 2, 2];

/// The number of frames by which the fit of spatial weights is chosen.
const FIT_FRAMES: [u32; 9] = [2, 4, 4, 4, 4, 8, 12, 16, 24];

/// The mean squared error of a corrected vertex that the choice of the fit of spatial weights assumes,
/// relative to the squared error bound; and the bound used, relative to the real one, since many vertices are
/// corrected that would not need it.
const FIT_NOISE: f32 = 0.45;
const FIT_BOUND: f32 = 0.5;

/// Meshes with more bits than this never use a default set of tables.
const MAX_DEFAULT_SET_BITS: f64 = (1 << 20) as f64;

/// The bits of the states of an access unit that do not carry information.
const STATE_BITS: f64 = 200.0;

/// The result of coding a sample of the groups.
pub(super) struct Trial {
    /// The estimated bits of the whole file.
    pub(super) bits: f64,
    pub(super) coding: Arc<CodingTables>,
    /// The tables from which the costs of frame 0 were estimated, if any.
    pub(super) cost_tables: Option<Arc<CodingTables>>,
    /// The tokens of the sample.
    pub(super) counts: TokenCounts,
    /// The number of frames that were coded.
    pub(super) frames: usize,
}

/// The tokens and other bits of a part of the sample. Frames that stand for others count that many times.
#[derive(Default)]
struct Tally {
    counts: TokenCounts,
    plain: f64,
    packed: f64,
    frames: u32,
    /// The largest number of frames that one coded frame stood for.
    most: u32,
    coded: usize,
}

impl Tally {
    fn add(&mut self, hierarchy: &Hierarchy, sink: &UnitBuilder, times: &dyn Fn(usize) -> u32) {
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

/// The tokens and bits of a sample of a file's frames.
#[derive(Default)]
struct SampleTallies {
    /// Frame 0.
    first: Tally,
    /// All other key frames.
    keys: Tally,
    /// The frames of groups.
    inside: Tally,
}

/// Key frames that were decoded while a sample was coded.
#[derive(Clone)]
struct KnownKeys<W> {
    /// The number of each key, and its frame.
    frames: Vec<(u32, Arc<Vec<DecodedPoint<W>>>)>,
    /// Keys below this number were counted.
    counted: u32,
}

impl<W> KnownKeys<W> {
    fn frame(&self, key: Option<u32>) -> Option<&[DecodedPoint<W>]> {
        let found = self.frames.iter().find(|k| Some(k.0) == key);
        found.map(|k| &k.1[..])
    }
}

/// The state of the search for settings: the best so far, those tried, and the work that is left.
struct Search<W> {
    best: Option<(MeshModel<W>, Trial)>,
    tried: Vec<LatticeChoice>,
    /// The work that is left, in frames.
    left: f64,
}

/// A setting with which a sample was coded.
struct Attempt<W> {
    model: MeshModel<W>,
    trial: Trial,
    /// The work that it took, in frames.
    work: f64,
}

impl<W> Search<W> {
    /// Records that a setting was tried; returns `true` if it is the best so far. `attempt` is `None` if the
    /// setting is too fine for the width of values.
    fn record(&mut self, choice: LatticeChoice, attempt: Option<Attempt<W>>) -> bool {
        self.tried.push(choice);
        let Some(Attempt { model, trial, work }) = attempt else {
            return false;
        };
        self.left -= work;
        let better = self.best.as_ref().is_none_or(|best| trial.bits < best.1.bits);
        if better {
            self.best = Some((model, trial));
        }
        better
    }
}

impl SourceMesh<'_> {
    /// Tries settings on a sample, then learns the tables of the best.
    pub(super) fn choose<W: FixedPoint>(
        &self,
        work: &mut EncodeBuffers<W>,
    ) -> Result<(MeshModel<W>, Trial), EncodeError> {
        let effort = self.effort();
        let left = TRIAL_WORK[effort] * f64::from(self.schedule.frames());
        let mut search = Search { best: None, tried: Vec::new(), left };
        match self.options.choice {
            Some(choice) => {
                self.attempt(choice, &mut search, work)?;
            }
            None => self.search(&mut search, work)?,
        }
        let (mut model, mut trial) = search.best.ok_or(EncodeError::TooFine)?;
        if self.options.packed {
            return Ok((model, trial));
        }
        for _ in 0..LEARNING_PASSES[effort] {
            model = self.build_model(model.choice, Some(&trial.coding), work)?;
            let more = (LEARNING_BITS / self.rate(&trial)).clamp(1.0, 2.0);
            let part = (LEARNING_FRACTION[effort] * more).min(1.0);
            let weighed_by = Some(trial.coding.clone());
            trial = self.trial(&model, Some(&trial.coding), part, true, work)?;
            trial.cost_tables = weighed_by;
        }
        Ok((model, trial))
    }

    /// Returns the bits per vertex and frame.
    fn rate(&self, trial: &Trial) -> f64 {
        trial.bits / (self.points() as f64 * f64::from(self.schedule.frames())).max(1.0)
    }

    /// Returns the mesh's own tables, or a default set if that takes fewer bits. `scale` is the ratio of the
    /// file's tokens to those counted.
    fn choose_tables(&self, own: TokenTables, counts: &TokenCounts, scale: f64) -> Arc<CodingTables> {
        let own = Arc::new(CodingTables::new(own, 0));
        let tokens = counts.occurring();
        let bits = scale * own.tables.bits_by(&own.tables.lengths(), &tokens);
        if self.options.own_tables || bits > MAX_DEFAULT_SET_BITS {
            return own;
        }
        let mut best = (&own, bits + table_bits(&own));
        for (set, lengths) in default_coding_tables().iter().zip(default_token_lengths()) {
            let bits = scale * set.tables.bits_by(lengths, &tokens);
            if bits < best.1 {
                best = (set, bits);
            }
        }
        best.0.clone()
    }

    /// Tries a setting; returns `true` if it is the best so far.
    fn attempt<W: FixedPoint>(
        &self,
        choice: LatticeChoice,
        search: &mut Search<W>,
        work: &mut EncodeBuffers<W>,
    ) -> Result<bool, EncodeError> {
        let attempt = self.code_sample(choice, search, work)?;
        Ok(search.record(choice, attempt))
    }

    /// Codes a sample with a setting; `None` if that is too fine for the width of values.
    fn code_sample<W: FixedPoint>(
        &self,
        choice: LatticeChoice,
        search: &Search<W>,
        work: &mut EncodeBuffers<W>,
    ) -> Result<Option<Attempt<W>>, EncodeError> {
        // Tokens of another lattice have other contexts, so tables are learned first.
        let lattice = search.best.as_ref().map(|b| b.0.choice.lattice);
        let mut learn = lattice != Some(choice.lattice);
        // All settings use the same tables; with its own, the best one would seem to cost more.
        let mut coding = search.best.as_ref().and_then(|b| b.1.cost_tables.clone());
        let mut done = 0.0;
        loop {
            let part = TRIAL_FRACTION[self.effort()];
            let trial = self.build_model(choice, coding.as_deref(), work).and_then(|model| {
                let trial = self.trial(&model, coding.as_deref(), part, learn, work)?;
                Ok((model, trial))
            });
            let (model, trial) = match trial {
                Err(EncodeError::TooFine) => return Ok(None),
                other => other?,
            };
            done += trial.frames as f64 * (FRAME_WORK + BIT_WORK * self.rate(&trial));
            if !learn || search.left <= done {
                let trial = Trial { cost_tables: coding, ..trial };
                return Ok(Some(Attempt { model, trial, work: done }));
            }
            (coding, learn) = (Some(trial.coding), false);
        }
    }

    /// Returns the number of tasks that are done in parallel. The result does not depend on it; each takes
    /// memory.
    fn parallel_tasks(&self) -> usize {
        match self.points() < MIN_PARALLEL_POINTS {
            true => 1,
            false => self.options.tasks.threads().min(MAX_PARALLEL_TASKS),
        }
    }

    /// Runs a task for each of a few items, in parallel; a single one uses `work`.
    fn run_parallel<T: Sync, R: Send, W: FixedPoint>(
        &self,
        items: &[T],
        work: &mut EncodeBuffers<W>,
        task: impl Fn(&T, &mut EncodeBuffers<W>) -> R + Sync,
    ) -> Vec<R> {
        match items {
            [item] => vec![task(item, work)],
            _ => self.options.tasks.map(items, |item| task(item, &mut EncodeBuffers::default())),
        }
    }

    /// Searches from several starts until no move is an improvement.
    fn search<W: FixedPoint>(
        &self,
        search: &mut Search<W>,
        work: &mut EncodeBuffers<W>,
    ) -> Result<(), EncodeError> {
        let allowed = |c: &LatticeChoice| c.lattice == Lattice::Cubic || self.extent.axes == 3;
        let fit = self.best_fit(STARTS[0].1, work)?;
        let frames = self.schedule.frames();
        let starts = STARTS.map(|(rates, start)| {
            // A frame 0 that more frames refer to deserves more bits.
            let long = (frames as f32 / 100.0).clamp(0.25, 1.0).sqrt();
            let first = (start.first_precision * long).max(1.0);
            (rates, LatticeChoice { fit, first_precision: first, ..start })
        });
        // The first trial has no tables from which to estimate bits.
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
            let (mut improved, mut number) = (false, 0);
            while number < MOVES {
                let Some(now) = search.best.as_ref().map(|b| b.0.choice) else {
                    return Ok(());
                };
                let mut moves: Vec<(u32, LatticeChoice)> = Vec::new();
                for number in number..MOVES {
                    let next = neighbouring_setting(now, number, size);
                    let known = search.tried.contains(&next) || moves.iter().any(|other| other.1 == next);
                    if known || !allowed(&next) {
                        continue;
                    }
                    // The work on another lattice depends on the work that is left.
                    let waits = !moves.is_empty() && next.lattice != now.lattice;
                    if waits || moves.len() == self.parallel_tasks() {
                        break;
                    }
                    moves.push((number, next));
                }
                if moves.is_empty() {
                    break;
                }
                if search.left <= 0.0 {
                    return Ok(());
                }
                // After an improvement the other results are dropped: the next moves start from there.
                let coded =
                    self.run_parallel(&moves, work, |next, work| self.code_sample(next.1, search, work));
                for ((of_move, next), attempt) in moves.into_iter().zip(coded) {
                    if search.left <= 0.0 {
                        return Ok(());
                    }
                    number = of_move + 1;
                    if search.record(next, attempt?) {
                        improved = true;
                        break;
                    }
                }
            }
            if !improved {
                size = size.sqrt();
            }
        }
        Ok(())
    }

    /// Returns the fit of spatial weights with the lowest estimated cost, from frames of the source.
    fn best_fit<W: FixedPoint>(
        &self,
        choice: LatticeChoice,
        work: &mut EncodeBuffers<W>,
    ) -> Result<u8, EncodeError> {
        let model = match self.build_model(choice, None, work) {
            Err(EncodeError::TooFine) => return Ok(0),
            other => other?,
        };
        let outside = match &work.target.outside {
            o if o.is_empty() => None,
            o => Some(&o[..]),
        };
        let positions = decode::positions(&model.first, outside);
        let fits = self.options.tasks.map(&FITS, |&fit| {
            let solved = weights::solve_points(&self.hierarchy, &positions, fit, self.sampled());
            let sample = SampledVertices::new(self.sampled(), &solved.weights);
            (solved, sample)
        });
        let scale = 1.0 / (1u32 << fraction_bits::<W>()) as f32;
        let bound = self.frame_coder(&model).bound::<W>();
        let count = FIT_FRAMES[self.effort()];
        // One frame of each depth in turn.
        let frames = (0..count).filter_map(|n| {
            let groups = self.schedule.groups();
            let group = (u64::from(n) * u64::from(groups) / u64::from(count)) as u32;
            let frame = self.schedule.key_frame(group) + [8, 4, 2, 1][n as usize % 4];
            (frame < self.schedule.frames() && self.schedule.key_of(frame).is_none()).then_some(frame)
        });
        let frames: Vec<u32> = frames.collect();
        let costs_of = |&frame: &u32, work: &mut EncodeBuffers<W>| {
            let list = self.schedule.references(frame);
            let mut source = Vec::new();
            for f in std::iter::once(frame).chain(list.iter().copied()) {
                self.load(f, &model.grid, work)?;
                source.push(work.target.fixed.clone());
            }
            let times: Vec<f64> = list.iter().map(|&f| f64::from(f)).collect();
            let smooth = temporal::lagrange(f64::from(frame), &times);
            let mut costs = [0.0; FITS.len()];
            for ((solved, sample), cost) in fits.iter().zip(&mut costs) {
                for (detail, source) in work.spatial_residuals.iter_mut().zip(&source) {
                    sample.source(source, scale, &solved.neighbours, &solved.weights, detail);
                }
                let [own, references @ ..] = &work.spatial_residuals;
                let references: Vec<&SpatialResidual> = references.iter().take(list.len()).collect();
                let scale = SimulatedQuantizer { bound: FIT_BOUND * bound, noise: FIT_NOISE };
                let fitted = sample.fit(own, &references, smooth, scale, 2);
                let weights = temporal::rounded(fitted, list.len());
                *cost = sample.cost(own, &references, weights, scale);
            }
            Ok(costs)
        };
        let mut costs = [0.0; FITS.len()];
        for some in frames.chunks(self.parallel_tasks()) {
            for of_frame in self.run_parallel(some, work, costs_of) {
                costs.iter_mut().zip(of_frame?).for_each(|(cost, of_frame)| *cost += of_frame);
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

    /// Codes a fraction of the groups, of each a sample of its frames. `coding` has the tables from which
    /// costs are estimated. With `learn`, contexts are clustered anew.
    pub(super) fn trial<W: FixedPoint>(
        &self,
        model: &MeshModel<W>,
        coding: Option<&CodingTables>,
        part: f64,
        learn: bool,
        work: &mut EncodeBuffers<W>,
    ) -> Result<Trial, EncodeError> {
        let setup = Setup { model, coding };
        let groups = self.schedule.groups();
        let most = ((f64::from(groups) * part).ceil() as u32).clamp(1, groups.max(1));
        let mut sampled = SampleTallies::default();
        sampled.first.add(&self.hierarchy, &model.first_sink, &|_| 1);
        let mut known = KnownKeys { frames: Vec::new(), counted: 1 };
        let group = |n: u32| ((u64::from(n) * 2 + 1) * u64::from(groups) / (2 * u64::from(most))) as u32;
        let all: Vec<u32> = (0..most.min(groups)).map(group).collect();
        for some in all.chunks(self.parallel_tasks()) {
            let with_keys = some.iter().map(|&group| {
                self.code_keys(setup, group, &mut known, &mut sampled.keys, work)?;
                Ok((group, known.clone()))
            });
            let with_keys: Vec<(u32, KnownKeys<W>)> = with_keys.collect::<Result<_, _>>()?;
            let coded = self.run_parallel(&with_keys, work, |(group, known), work| {
                let key = |frame: u32| known.frame(self.schedule.key_of(frame)).unwrap_or(&model.first);
                let watch = &mut |_: u32, _: &[[f32; 3]], _: &[DecodedPoint<W>]| {};
                self.code_group(setup, *group, GroupFrames::Sample, &key, work, watch)
            });
            for (&group, sinks) in some.iter().zip(coded) {
                let times = self.frames_per_sample(group);
                for sink in sinks? {
                    sampled.inside.add(&self.hierarchy, &sink, &|layer| times[layer]);
                }
            }
        }
        Ok(self.estimate(&sampled, coding.filter(|_| !learn)))
    }

    /// Codes the key frames that the frames of `group` refer to, unless they are `known`. Keys that are coded
    /// repeatedly are counted once.
    fn code_keys<W: FixedPoint>(
        &self,
        setup: Setup<'_, W>,
        group: u32,
        known: &mut KnownKeys<W>,
        tally: &mut Tally,
        work: &mut EncodeBuffers<W>,
    ) -> CodeResult {
        let needed = group.saturating_sub(1)..(group + 3).min(self.schedule.keys());
        known.frames.retain(|k| needed.contains(&k.0));
        for segment in 0..self.schedule.segments() {
            let range = self.schedule.segment(segment);
            let range = range.start..range.end.min(needed.end);
            let missing = |k: u32| needed.contains(&k) && known.frame(Some(k)).is_none();
            if !range.clone().any(missing) {
                continue;
            }
            let mut each = |key: u32, sink: UnitBuilder, frame: &[DecodedPoint<W>]| {
                if key >= known.counted {
                    known.counted = key + 1;
                    tally.add(&self.hierarchy, &sink, &|_| 1);
                }
                if needed.contains(&key) && known.frame(Some(key)).is_none() {
                    known.frames.push((key, Arc::new(frame.to_vec())));
                }
            };
            self.code_segment(setup, range, work, &mut each)?;
        }
        Ok(())
    }

    /// Returns, by layer, the number of frames of a group that one frame of its sample stands for.
    fn frames_per_sample(&self, group: u32) -> [u32; LAYERS] {
        let (mut of_layer, mut coded) = ([0u32; LAYERS], [0u32; LAYERS]);
        for unit in [Unit::LowerLayers(group), Unit::TopLayer(group)] {
            for &frame in self.schedule.frames_of(unit).iter() {
                of_layer[decode::layer(&self.schedule, frame)] += 1;
            }
        }
        for frame in self.sample_of(group) {
            coded[decode::layer(&self.schedule, frame)] += 1;
        }
        std::array::from_fn(|layer| (of_layer[layer] / coded[layer].max(1)).max(1))
    }

    /// Makes tables from a sample, and estimates the bits of the whole file with them. With `like`, the
    /// contexts are clustered as there.
    fn estimate(&self, sampled: &SampleTallies, like: Option<&CodingTables>) -> Trial {
        let SampleTallies { first, keys, inside } = sampled;
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
        let own = match like {
            Some(coding) => counts.tables_like(&coding.tables, most),
            None => counts.tables(scale, most),
        };
        let coding = self.choose_tables(own, &counts, scale);
        let token_bits = |t: &Tally| t.plain + coding.tables.bits(&t.counts);
        let bits = |t: &Tally| match self.options.packed {
            true => t.packed,
            false => token_bits(t),
        };
        let mean = |t: &Tally| bits(t) / f64::from(t.frames.max(1));
        let frame_0 = token_bits(first);
        let units = all_keys * mean(keys) + all_inside.max(0.0) * mean(inside);
        let bits = table_bits(&coding) + frame_0 + units;
        Trial { bits, coding, cost_tables: None, counts, frames }
    }
}

/// Returns the bits of tables in the static part.
pub(super) fn table_bits(coding: &CodingTables) -> f64 {
    match coding.set {
        0 => 8.0 * coding.tables.encode().len() as f64 + 16.0,
        _ => 0.0,
    }
}
