//! Which lattice, steps and tables suit a mesh: settings are tried on a sample of its groups of frames, and
//! the cheapest is taken.

use crate::mesh::decode::{self, Vector};
use crate::mesh::encode::coding::{Coding, codings};
use crate::mesh::encode::frame::fraction;
use crate::mesh::encode::group::{Coded, Common, Model, Part, Refused, Setup, Work};
use crate::mesh::encode::output::Sink;
use crate::mesh::encode::settings::{FIRST_MOVE, LAST_MOVE, MOVES, STARTS, moved};
use crate::mesh::encode::temporal::{self, Sample, Scale, SpatialResidual};
use crate::mesh::hierarchy::Hierarchy;
use crate::mesh::tables::{Counts, LAYERS, Tables};
use crate::mesh::weights::{self, FITS};
use crate::quantize::fixed::FixedPoint;
use crate::quantize::lattice::{Choice, Lattice};
use crate::schedule::Unit;
use std::sync::Arc;

/// Effort of those who ask for none.
pub(super) const USUAL_EFFORT: u32 = 5;

// Tuning, by effort.
/// The work that all trials of settings may take, as a part of the frames of the file; the two numbers after
/// it say what a frame counts for, at once and for each bit per vertex.
const TRIALS: [f64; 9] = [0.0, 0.1, 0.2, 0.4, 0.75, 1.5, 2.5, 3.5, 5.0];

const FRAME_WORK: f64 = 0.5;

const BIT_WORK: f64 = 0.25;

/// Least part of the groups that a trial codes.
const TRYING: [f64; 9] = [0.01, 0.01, 0.02, 0.02, 0.1, 0.1, 0.2, 0.3, 0.5];

/// Part of the groups that are coded to learn the tables, and how often. Up to twice the part where a vertex
/// has fewer bits than so many.
const LEARNING: [f64; 9] = [0.1, 0.15, 0.2, 0.35, 0.5, 1.0, 1.0, 1.0, 1.0];

const LEARNING_BITS: f64 = 1.5;

const LEARNED: [u32; 9] = [1, 1, 1, 1, 1, 1, 1, 2, 2];

/// Frames by which the fit of spatial weights is chosen.
const FIT_FRAMES: [u32; 9] = [2, 4, 4, 4, 4, 8, 12, 16, 24];

/// The mean square of a corrected vertex' error that the choice of the fit of spatial weights assumes, as a
/// part of the squared error bound; and that bound, as a part of the real one, since much is corrected that
/// would not have to be.
const FIT_NOISE: f32 = 0.45;
const FIT_BOUND: f32 = 0.5;

/// More bits than a default set of tables can be good for.
const MOST_DEFAULT_BITS: f64 = (1 << 20) as f64;

/// Of the states of a unit, on top of their information.
const STATE_BITS: f64 = 200.0;

/// The result of coding a sample of the groups.
pub(super) struct Trial {
    /// Bits of the whole file, as far as the sample tells.
    pub(super) bits: f64,
    pub(super) coding: Arc<Coding>,
    /// The tables by which frame 0 was weighed, if there were any.
    pub(super) weighed_by: Option<Arc<Coding>>,
    /// The tokens of the sample.
    pub(super) counts: Counts,
    /// Frames that were coded.
    pub(super) frames: usize,
}

/// A part of the sample: its tokens, and its other bits. Frames that stand for others count as often.
#[derive(Default)]
struct Tally {
    counts: Counts,
    plain: f64,
    packed: f64,
    frames: u32,
    /// The largest number of frames that one coded frame stood for.
    most: u32,
    coded: usize,
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

/// The tokens and bits of a sample of a file's frames.
#[derive(Default)]
struct Sampled {
    /// Frame 0.
    first: Tally,
    /// All other keys.
    keys: Tally,
    /// The frames of groups.
    inside: Tally,
}

/// Keys that were decoded while a sample was coded.
struct KnownKeys<W> {
    /// Number of the key, and its frame.
    frames: Vec<(u32, Vec<Vector<W>>)>,
    /// Keys below this number were counted.
    counted: u32,
}

impl<W> KnownKeys<W> {
    fn of(&self, key: Option<u32>) -> Option<&[Vector<W>]> {
        let found = self.frames.iter().find(|k| Some(k.0) == key);
        found.map(|k| &k.1[..])
    }
}

/// The state of the search for settings: the best so far, what was tried, and the work that is left.
struct Search<W> {
    best: Option<(Model<W>, Trial)>,
    tried: Vec<Choice>,
    /// Frames that may still be coded.
    left: f64,
}

impl Common<'_> {
    /// Tries settings on a sample, then learns the tables of the best.
    pub(super) fn choose<W: FixedPoint>(&self, work: &mut Work<W>) -> Result<(Model<W>, Trial), Refused> {
        let effort = self.effort();
        let left = TRIALS[effort] * f64::from(self.schedule.frames());
        let mut search = Search { best: None, tried: Vec::new(), left };
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
            let weighed_by = Some(trial.coding.clone());
            trial = self.trial(&model, Some(&trial.coding), part, true, work)?;
            trial.weighed_by = weighed_by;
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
    fn attempt<W: FixedPoint>(
        &self,
        choice: Choice,
        search: &mut Search<W>,
        work: &mut Work<W>,
    ) -> Result<bool, Refused> {
        search.tried.push(choice);
        // Tokens of another lattice have other contexts: tables are learned first.
        let lattice = search.best.as_ref().map(|b| b.0.choice.lattice);
        let mut learn = lattice != Some(choice.lattice);
        // All others are weighed by the same tables: by those that the best one has made it would seem dearer itself.
        let mut coding = search.best.as_ref().and_then(|b| b.1.weighed_by.clone());
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
        let trial = Trial { weighed_by: coding, ..trial };
        if better {
            search.best = Some((model, trial));
        }
        Ok(better)
    }

    /// From starts to what no move makes better.
    fn search<W: FixedPoint>(&self, search: &mut Search<W>, work: &mut Work<W>) -> Result<(), Refused> {
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
                if search.tried.contains(&next) || !allowed(&next) {
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
    fn best_fit<W: FixedPoint>(&self, choice: Choice, work: &mut Work<W>) -> Result<u8, Refused> {
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
        let bound = self.setting(&model).bound::<W>();
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
                let references: Vec<&SpatialResidual> = references.iter().take(list.len()).collect();
                let scale = Scale { bound: FIT_BOUND * bound, noise: FIT_NOISE };
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
    pub(super) fn trial<W: FixedPoint>(
        &self,
        model: &Model<W>,
        coding: Option<&Coding>,
        part: f64,
        learn: bool,
        work: &mut Work<W>,
    ) -> Result<Trial, Refused> {
        let setup = Setup { model, coding };
        let groups = self.schedule.groups();
        let most = ((f64::from(groups) * part).ceil() as u32).clamp(1, groups.max(1));
        let mut sampled = Sampled::default();
        sampled.first.add(&self.hierarchy, &model.first_sink, &|_| 1);
        let mut known = KnownKeys { frames: Vec::new(), counted: 1 };
        for n in 0..most.min(groups) {
            let group = (u64::from(n) * 2 + 1) * u64::from(groups) / (2 * u64::from(most));
            let group = group as u32;
            self.code_keys(setup, group, &mut known, &mut sampled.keys, work)?;
            let key = |frame: u32| known.of(self.schedule.key_of(frame)).unwrap_or(&model.first);
            let times = self.times(group);
            let watch = &mut |_: u32, _: &[[f32; 3]], _: &[Vector<W>]| {};
            for sink in self.group(setup, group, Part::Sample, &key, work, watch)? {
                sampled.inside.add(&self.hierarchy, &sink, &|layer| times[layer]);
            }
        }
        Ok(self.estimate(&sampled, coding.filter(|_| !learn)))
    }

    /// Codes the keys that the frames of `group` refer to, as far as they are not `known`. Keys that were
    /// coded before count once.
    fn code_keys<W: FixedPoint>(
        &self,
        setup: Setup<'_, W>,
        group: u32,
        known: &mut KnownKeys<W>,
        tally: &mut Tally,
        work: &mut Work<W>,
    ) -> Coded {
        let needed = group.saturating_sub(1)..(group + 3).min(self.schedule.keys());
        known.frames.retain(|k| needed.contains(&k.0));
        for segment in 0..self.schedule.segments() {
            let range = self.schedule.segment(segment);
            let range = range.start..range.end.min(needed.end);
            let missing = |k: u32| needed.contains(&k) && known.of(Some(k)).is_none();
            if !range.clone().any(missing) {
                continue;
            }
            let mut each = |key: u32, sink: Sink, frame: &[Vector<W>]| {
                if key >= known.counted {
                    known.counted = key + 1;
                    tally.add(&self.hierarchy, &sink, &|_| 1);
                }
                if needed.contains(&key) && known.of(Some(key)).is_none() {
                    known.frames.push((key, frame.to_vec()));
                }
            };
            self.segment(setup, range, work, &mut each)?;
        }
        Ok(())
    }

    /// By layer: for how many frames of a group one of its sample stands.
    fn times(&self, group: u32) -> [u32; LAYERS] {
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

    /// Tables for what a sample took, and bits of the whole file with them. `like`: contexts stay joined as
    /// they are there.
    fn estimate(&self, sampled: &Sampled, like: Option<&Coding>) -> Trial {
        let Sampled { first, keys, inside } = sampled;
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
        let coding = self.coding(own, &counts, scale);
        let token_bits = |t: &Tally| t.plain + coding.tables.bits(&t.counts);
        let bits = |t: &Tally| match self.options.packed {
            true => t.packed,
            false => token_bits(t),
        };
        let mean = |t: &Tally| bits(t) / f64::from(t.frames.max(1));
        let frame_0 = token_bits(first);
        let units = all_keys * mean(keys) + all_inside.max(0.0) * mean(inside);
        let bits = table_bits(&coding) + frame_0 + units;
        Trial { bits, coding, weighed_by: None, counts, frames }
    }
}

/// Bits of tables in the static part.
pub(super) fn table_bits(coding: &Coding) -> f64 {
    match coding.set {
        0 => 8.0 * coding.tables.encode().len() as f64 + 16.0,
        _ => 0.0,
    }
}
