//! Meshes that bones move: what bones leave too far off goes through the soft codec, so the promise is the
//! same.
//!
//! ```text
//! model      parts or a skin, from the extraction                                         model
//! rest       one frame of the soft codec; weights as coarse as they may be
//! bones      against the rest pose *as decoded*: rigid ones through the clip codec         rigid
//!            affine ones as four points each, through the soft codec
//! residual   points that all this leaves farther off than the tolerance in any frame: the soft codec, with bones as prediction
//! ```

mod choice;
mod given;
mod hints;
mod measure;
mod model;
mod positions;
mod rigid;

pub use choice::{Chosen, Found, HASTY, Tried, choose};
pub use hints::names;
pub use model::Model;

use crate::cells::{self, Coder, Decoded, Frames, Group, Seen, Segment, Width};
use crate::report::{Measures, Rest};
use crate::{Error, Options, Preset, TransformForm};
use meshreel_codec::put_sized;
use meshreel_codec::record::Bones;
use meshreel_codec::skin::{self, Handles, Matrix, Parts, Rig, Skin, weights};
use meshreel_codec::soft::cell::Cell;
use meshreel_codec::soft::decode::{self, First, Static};
use meshreel_codec::soft::encode::{self, Encoder, Refused, Source, Work};
use meshreel_codec::soft::hierarchy::Hierarchy;
use meshreel_codec::soft::lattice::{Extent, Grid};
use meshreel_codec::soft::range;
use meshreel_codec::soft::schedule::{Schedule, Unit};
use meshreel_codec::soft::shared::Sets;
use meshreel_codec::soft::tables::LAYERS;
use positions::Positions;
use rayon::prelude::*;
use rigid::Rigid;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

// Tuning.
/// Frames in which weights are tried.
const FRAMES: usize = 16;
/// Units of a grid that no residual needs: at most this part of the tolerance.
const UNIT: f64 = 0.12;
/// How often points that the last grid leaves too far off are given a residual.
const ROUNDS: usize = 6;
/// Units that bones may put a point away from the middle: beyond, the encoder's fractions of units would not
/// fit 32 bits.
const FARTHEST: f32 = 16_777_216.0;

/// Parts of the tolerance that some of what places a point may take. Errors rarely add up, and points where
/// they do get a residual: together they may well be more than all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shares {
    /// The rest pose.
    pub rest: f64,
    /// Weights.
    pub weights: f64,
    /// Handles of affine bones.
    pub handles: f64,
}

/// What becomes of a mesh that bones move.
pub struct Made<'a> {
    pub coder: Box<dyn Coder + 'a>,
    pub bones: Bones,
    /// Cells are i32.
    pub wide: bool,
    /// Points hang on several bones.
    pub blends: bool,
}

/// Handles of affine bones, coded.
struct Affine {
    bytes: Vec<u8>,
    coded: Static,
    frames: HandleFrames,
    units: BTreeMap<u32, Vec<u8>>,
}

/// Decoded handles, by frame.
enum HandleFrames {
    Narrow(Vec<Vec<[i16; 4]>>),
    Wide(Vec<Vec<[i32; 4]>>),
}

/// All but the residual.
struct Posed<'a> {
    frames: &'a Frames<'a>,
    schedule: Schedule,
    extent: Extent,
    hierarchy: Hierarchy,
    /// Three points each.
    triangles: Vec<u32>,
    rest_bytes: Vec<u8>,
    weights: weights::Weights,
    skin: Skin,
    rigid: Option<Rigid>,
    affine: Option<Affine>,
    /// Of rigid bones.
    rest: Option<Rest>,
}

/// Positions of one frame, or what is given as them.
struct Given<F>(F);

impl<F: Fn(u32, &mut [[f32; 3]]) + Sync> Source for Given<F> {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        (self.0)(frame, out);
    }
}

fn broken(what: &str) -> Error {
    Error::Promise { what: format!("bones: {what}"), target: Default::default() }
}

/// What the soft codec is asked for.
fn settings(options: &Options) -> encode::Options {
    encode::Options {
        effort: options.effort,
        packed: options.preset == Preset::Fast,
        restart: options.restart(),
        choice: None,
        own_tables: false,
    }
}

/// Bytes of one frame, and what they decode to.
pub type Still = (Vec<u8>, Vec<[f32; 3]>);

/// One frame alone, within a radius: its static part, and what it decodes to.
pub fn still(
    positions: &[[f32; 3]],
    radius: f64,
    hierarchy: &Hierarchy,
    options: &Options,
) -> Result<Option<Still>, Error> {
    let extent = box_of(positions, radius);
    let source = Given(|_, out: &mut [[f32; 3]]| out.copy_from_slice(positions));
    let settings = settings(options);
    fn bytes<W: Cell>(
        levels: Hierarchy,
        extent: Extent,
        settings: encode::Options,
        source: &dyn Source,
    ) -> Result<Vec<u8>, Refused> {
        let mut work = Work::default();
        let made = Encoder::<W>::new(levels, 1, extent, settings, source, &mut work)?;
        Ok(made.static_bytes().to_vec())
    }
    let coded = bytes::<i16>(hierarchy.clone(), extent, settings, &source)
        .or_else(|_| bytes::<i32>(hierarchy.clone(), extent, settings, &source));
    let Ok(coded) = coded else { return Ok(None) };
    let decoded = decode::still(&coded, hierarchy).map_err(|c| broken(c.0))?;
    Ok(Some((coded, decoded)))
}

fn box_of(positions: &[[f32; 3]], radius: f64) -> Extent {
    let mut extent = Extent { low: [f32::INFINITY; 3], high: [f32::NEG_INFINITY; 3], radius, axes: 3 };
    for p in positions {
        for (k, &v) in p.iter().enumerate() {
            extent.low[k] = extent.low[k].min(v);
            extent.high[k] = extent.high[k].max(v);
        }
    }
    extent
}

/// Bytes of weights, and what they decode to.
pub fn coded_weights(weights: &weights::Weights, levels: &Hierarchy, bones: u32) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    let out = range::Encoder::new(&mut bytes);
    let (_, out) =
        weights::code(out, levels, bones, weights.depth, Some(weights)).map_err(|c| broken(c.0))?;
    out.finish();
    Ok(bytes)
}

/// Codes affine bones as four points each.
fn affine(
    model: &Model,
    rig: &Rig,
    schedule: Schedule,
    radius: f64,
    options: &Options,
) -> Result<Option<Affine>, Error> {
    let regions = &rig.regions[model.rigid.len()..];
    let at = |frame: usize| -> Vec<[f32; 3]> {
        let of = |(region, motion): (&skin::Region, &Vec<glam::DAffine3>)| {
            let middle = glam::DVec3::from_array(region.middle);
            let half = glam::DVec3::from_array(region.half);
            skin::handles::CORNERS.map(|corner| {
                let arm = half * glam::DVec3::from_array(corner);
                motion[frame].transform_point3(middle + arm).as_vec3().to_array()
            })
        };
        regions.iter().zip(&model.affine).flat_map(of).collect()
    };
    let all: Vec<Vec<[f32; 3]>> = (0..schedule.frames() as usize).map(at).collect();
    let every: Vec<[f32; 3]> = all.iter().flatten().copied().collect();
    let extent = box_of(&every, radius);
    let levels = skin::handles::levels(regions);
    let narrow = handles::<i16>(&all, &levels, schedule, extent, options)?;
    let made = match narrow {
        Some((bytes, units, frames)) => Some((bytes, units, HandleFrames::Narrow(frames))),
        None => handles::<i32>(&all, &levels, schedule, extent, options)?
            .map(|(bytes, units, frames)| (bytes, units, HandleFrames::Wide(frames))),
    };
    let Some((bytes, units, frames)) = made else {
        return Ok(None);
    };
    let coded = Static::decode(&bytes, levels, None).map_err(|c| broken(c.0))?;
    Ok(Some(Affine { bytes, coded, frames, units }))
}

/// Static part, units, decoded frames.
type CodedFrames<W> = (Vec<u8>, BTreeMap<u32, Vec<u8>>, Vec<Vec<[W; 4]>>);

fn handles<W: Width>(
    all: &[Vec<[f32; 3]>],
    levels: &Hierarchy,
    schedule: Schedule,
    extent: Extent,
    options: &Options,
) -> Result<Option<CodedFrames<W>>, Error> {
    let source = Given(|frame: u32, out: &mut [[f32; 3]]| out.copy_from_slice(&all[frame as usize]));
    let mut work = Work::<W>::default();
    let frames = schedule.frames();
    let made = Encoder::new(levels.clone(), frames, extent, settings(options), &source, &mut work);
    let Ok(encoder) = made else { return Ok(None) };
    let mut units = BTreeMap::new();
    let mut decoded = vec![Vec::new(); frames as usize];
    let refused = |_| broken("handles");
    for segment in 0..schedule.segments() {
        let each = &mut |key: u32, bytes: Vec<u8>, cells: &[[W; 4]]| {
            units.insert(schedule.number(Unit::Key(key)), bytes);
            decoded[schedule.key_frame(key) as usize] = cells.to_vec();
        };
        encoder.segment(segment, &mut work, each).map_err(refused)?;
    }
    for group in 0..schedule.groups() {
        let mut seen = Vec::new();
        let find = |frame: u32| &decoded[frame as usize][..];
        let watch = &mut |frame: u32, _: &[[f32; 3]], cells: &[[W; 4]]| {
            seen.push((frame, cells.to_vec()));
        };
        let bytes = encoder.group(group, &find, &mut work, watch).map_err(refused)?;
        for (unit, bytes) in [Unit::Inner(group), Unit::Last(group)].into_iter().zip(bytes) {
            units.insert(schedule.number(unit), bytes);
        }
        for (frame, cells) in seen {
            decoded[frame as usize] = cells;
        }
    }
    Ok(Some((encoder.static_bytes().to_vec(), units, decoded)))
}

impl<'a> Posed<'a> {
    /// None where a tolerance cannot be held so.
    fn new(
        model: &Model,
        frames: &'a Frames<'a>,
        all: &Positions<'_>,
        schedule: Schedule,
        shares: Shares,
        options: &Options,
    ) -> Result<Option<Posed<'a>>, Error> {
        let Some(extent) = cells::extent(frames) else {
            return Ok(None);
        };
        let (hierarchy, triangles) = cells::levels(frames);
        let radius = extent.radius;
        let Some((rest_bytes, rest)) = still(&model.rest, radius * shares.rest, &hierarchy, options)? else {
            return Ok(None);
        };
        let count = all.frames();
        let stride = count.div_ceil(FRAMES).max(1);
        let looked: Vec<usize> = (0..count).step_by(stride).collect();
        let weights = model.weights(&hierarchy, &looked, radius * shares.weights);
        let count = model.bones() as u32;
        let rig = Rig::new(rest, &weights, count, &hierarchy.order);
        let rigid = match model.rigid.len() {
            0 => None,
            _ if options.transforms == TransformForm::Packed => {
                let still = radius * rigid::STILL;
                Some(Rigid::packed(model, &rig, &hierarchy, all, schedule, still)?)
            }
            _ => {
                let room = radius * (1.0 - UNIT);
                Some(Rigid::new(model, &rig, &hierarchy, all, schedule, room)?)
            }
        };
        let rest = measure::rest(model, &rig, radius);
        let affine = match model.affine.len() {
            0 => None,
            _ => match affine(model, &rig, schedule, radius * shares.handles, options)? {
                Some(affine) => Some(affine),
                None => return Ok(None),
            },
        };
        let bones = Bones {
            rigid: model.rigid.len() as u32,
            affine: model.affine.len() as u32,
            wide: affine.as_ref().is_some_and(|a| matches!(a.frames, HandleFrames::Wide(_))),
            words: rigid.as_ref().map_or(0, |r| r.nodes.words as u32),
            coded: 0,
        };
        let skin = Skin {
            bones,
            grid: Grid { unit: 1.0, centre: [0.0; 3], steps: [1; LAYERS] },
            rig,
            nodes: rigid.as_ref().map(|r| r.nodes.clone()).unwrap_or_default(),
            packed: rigid.as_ref().and_then(|r| r.packed.clone()),
            handles: affine.as_ref().map(|a| a.coded.clone()),
            residual: None,
            first: First::Narrow(Vec::new()),
        };
        Ok(Some(Posed {
            frames,
            schedule,
            extent,
            hierarchy,
            triangles,
            rest_bytes,
            weights,
            skin,
            rigid,
            affine,
            rest,
        }))
    }

    /// Matrices of a frame in units of a grid.
    fn matrices(&self, frame: u32, grid: &Grid) -> Vec<Matrix> {
        let at = frame as usize;
        let transforms = self.rigid.as_ref().map(|r| &r.transforms[at][..]);
        let handles = match self.affine.as_ref().map(|a| &a.frames) {
            None => Handles::None,
            Some(HandleFrames::Narrow(frames)) => Handles::Narrow(&frames[at]),
            Some(HandleFrames::Wide(frames)) => Handles::Wide(&frames[at]),
        };
        let mut out = vec![Matrix::default(); self.skin.rig.bones() + 1];
        let transforms = transforms.unwrap_or_default();
        self.skin.matrices(grid, transforms, handles, &mut out);
        out
    }

    /// Marks points that are too far off without a residual. `both`: as cells, and as bones alone say, so
    /// that a mesh without residuals may be given away as its bones. None where bones throw points beyond
    /// what cells of any width can make good.
    fn mark(&self, grid: &Grid, all: &Positions<'_>, both: bool) -> Option<Vec<bool>> {
        let points = self.hierarchy.order.len();
        let limit = self.extent.radius * self.extent.radius;
        let of = |room: &mut Vec<[f32; 3]>, far: &mut [bool], frame: u32| {
            let matrices = self.matrices(frame, grid);
            let source = all.frame(frame, room);
            for (v, far) in far.iter_mut().enumerate() {
                let at = self.skin.rig.place(v, &matrices);
                let source = source[self.hierarchy.order[v] as usize].map(f64::from);
                let off = |place: [f64; 3]| -> f64 { (0..3).map(|k| (place[k] - source[k]).powi(2)).sum() };
                if !at.iter().all(|x| x.abs() < FARTHEST) {
                    return false;
                }
                let cell = grid.position(at.map(|x| x.round_ties_even() as i32));
                let square = off(cell.map(f64::from));
                *far |= square > limit || square.is_nan();
                if both {
                    let bones = [0, 1, 2]
                        .map(|k| f64::from(at[k]) * f64::from(grid.unit) + f64::from(grid.centre[k]));
                    *far |= off(bones) > limit;
                }
            }
            true
        };
        let none = || Some(vec![false; points]);
        let or = |a: Option<Vec<bool>>, b: Option<Vec<bool>>| {
            let (mut a, b) = (a?, b?);
            a.iter_mut().zip(&b).for_each(|(a, b)| *a |= b);
            Some(a)
        };
        (0..all.frames() as u32)
            .into_par_iter()
            .fold(
                || (Vec::new(), none()),
                |(mut room, far), frame| {
                    let far = far.and_then(|mut far| of(&mut room, &mut far, frame).then_some(far));
                    (room, far)
                },
            )
            .map(|(_, far)| far)
            .reduce(none, or)
    }

    /// The grid of cells that no residual needs.
    fn free_grid(&self, reach: i32) -> Option<Grid> {
        let extent = &self.extent;
        let smallest = extent.reach() / f64::from(reach);
        let unit = (extent.radius * UNIT) as f32;
        (f64::from(unit) > smallest && unit.is_normal()).then_some(Grid {
            unit,
            centre: extent.centre(),
            steps: [1; LAYERS],
        })
    }

    /// The coder with cells of one width; none where that cannot hold the tolerance.
    fn coder<W: Width>(
        mut self,
        all: &Positions<'_>,
        options: &Options,
    ) -> Result<Result<(SkinCoder<'a, W>, Bones), Posed<'a>>, Error> {
        let Some(mut grid) = self.free_grid(W::REACH) else {
            return Ok(Err(self));
        };
        let Some(far) = self.mark(&grid, all, true) else {
            return Ok(Err(self));
        };
        all.check()?;
        let coded = &mut self.weights.coded;
        coded.iter_mut().zip(far).for_each(|(coded, far)| *coded |= far);
        let mut work = Work::default();
        let mut this = Arc::new(self);
        let mut encoder = None;
        for round in 0..ROUNDS {
            let cells: Vec<u32> =
                (0u32..).zip(&this.weights.coded).filter_map(|(v, &coded)| coded.then_some(v)).collect();
            if cells.is_empty() {
                break;
            }
            let levels = skin::coded_levels(&cells, &this.hierarchy, &this.triangles);
            let source = Residual {
                posed: this.clone(),
                points: cells.iter().map(|&v| this.hierarchy.order[v as usize]).collect(),
                cells: levels.order.iter().map(|&p| cells[p as usize]).collect(),
            };
            let source = Arc::new(source);
            let (frames, extent) = (this.schedule.frames(), this.extent);
            let shared = source.clone();
            let made = Encoder::<W>::owning(levels, frames, extent, settings(options), shared, &mut work);
            this.frames.check()?;
            let made = match made {
                Ok(made) => made,
                Err(Refused::TooFine | Refused::Levels) => {
                    drop(source);
                    return match Arc::try_unwrap(this) {
                        Ok(this) => Ok(Err(this)),
                        Err(_) => Err(broken("in use")),
                    };
                }
                Err(refused) => return Err(broken(&refused.to_string())),
            };
            grid = *made.grid();
            let Some(far) = this.mark(&grid, all, false) else {
                // In units as fine as residuals need, bones throw points too far.
                drop((made, source));
                return match Arc::try_unwrap(this) {
                    Ok(this) => Ok(Err(this)),
                    Err(_) => Err(broken("in use")),
                };
            };
            let more = far.iter().zip(&this.weights.coded).any(|(far, coded)| *far && !coded);
            if !more {
                encoder = Some((made, source));
                break;
            }
            drop((made, source));
            let Some(own) = Arc::get_mut(&mut this) else {
                return Err(broken("in use"));
            };
            let coded = &mut own.weights.coded;
            // Where grids go on moving, all points get one in the end.
            let all = round + 2 >= ROUNDS;
            coded.iter_mut().zip(far).for_each(|(coded, far)| *coded |= far || all);
        }
        let cells = encoder.as_ref().map_or(Vec::new(), |(_, source)| source.cells.clone());
        let bones = Bones { coded: cells.len() as u32, ..this.skin.bones };
        let weights = &this.weights;
        let count = this.skin.rig.bones() as u32;
        let weight_bytes = coded_weights(weights, &this.hierarchy, count)?;
        let mut static_bytes = Vec::new();
        skin::encode(
            &Parts {
                depth: weights.depth,
                rest: &this.rest_bytes,
                weights: &weight_bytes,
                setup: this.rigid.as_ref().map(|r| &r.setup[..]),
                handles: this.affine.as_ref().map(|a| &a.bytes[..]),
                residual: encoder.as_ref().map(|(e, _)| e.static_bytes()),
                grid: &grid,
            },
            &mut static_bytes,
        );
        // What the player will make of it.
        let back = Skin::decode(
            &static_bytes,
            bones,
            W::BITS == 32,
            &this.hierarchy,
            &this.triangles,
            &mut Sets::default(),
        )
        .map_err(|c| broken(c.0))?;
        let (rig, made) = (&this.skin.rig, &back.rig);
        if !made.moves_as(rig) || back.grid != grid || made.coded != cells {
            return Err(broken("the static part decodes to something else"));
        }
        let order = this.hierarchy.order.clone();
        let coder = SkinCoder {
            static_bytes,
            grid,
            skin: back,
            order,
            encoder: encoder.map(|(encoder, _)| encoder),
            keys: RwLock::default(),
            works: Mutex::new(vec![work]),
            cells,
            bits: Mutex::default(),
            posed: this,
        };
        Ok(Ok((coder, bones)))
    }
}

/// What bones leave of the points that have a residual.
struct Residual<'a> {
    posed: Arc<Posed<'a>>,
    /// In their own order.
    points: Vec<u32>,
    /// In the order of their levels.
    cells: Vec<u32>,
}

impl Source for Residual<'_> {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        let mut all = vec![[0.0; 3]; self.posed.hierarchy.order.len()];
        self.posed.frames.positions(frame, &mut all);
        for (out, &point) in out.iter_mut().zip(&self.points) {
            *out = all[point as usize];
        }
    }

    fn outside(&self, frame: u32, grid: &Grid, out: &mut [[i32; 3]]) -> bool {
        let matrices = self.posed.matrices(frame, grid);
        for (out, &cell) in out.iter_mut().zip(&self.cells) {
            let at = self.posed.skin.rig.place(cell as usize, &matrices);
            *out = at.map(|x| x.round_ties_even() as i32);
        }
        true
    }
}

struct SkinCoder<'a, W> {
    static_bytes: Vec<u8>,
    grid: Grid,
    /// As decoded.
    skin: Skin,
    order: Vec<u32>,
    encoder: Option<Encoder<'a, W>>,
    /// Decoded residuals of keys, by number.
    keys: RwLock<BTreeMap<u32, Vec<[W; 4]>>>,
    works: Mutex<Vec<Work<W>>>,
    /// Cells that have a residual, in its order, and about how many bits each has taken so far.
    cells: Vec<u32>,
    bits: Mutex<Vec<u64>>,
    posed: Arc<Posed<'a>>,
}

impl<W: Width> SkinCoder<'_, W> {
    fn with_work<T>(&self, run: impl FnOnce(&mut Work<W>) -> T) -> T {
        let works = || self.works.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = works().pop().unwrap_or_default();
        let out = run(&mut work);
        works().push(work);
        out
    }

    /// A unit from what it has of bones and the residual.
    fn unit(&self, unit: Unit, residual: &[u8]) -> Vec<u8> {
        let number = self.posed.schedule.number(unit);
        let mut out = Vec::new();
        if let Some(rigid) = &self.posed.rigid {
            put_sized(rigid.unit(number), &mut out);
        }
        if let Some(affine) = &self.posed.affine {
            put_sized(affine.units.get(&number).map_or(&[], Vec::as_slice), &mut out);
        }
        if self.encoder.is_some() {
            put_sized(residual, &mut out);
        }
        out
    }

    /// Cells of a frame, measured.
    fn compose(
        &self,
        frame: u32,
        residual: &[[W; 4]],
        points: &[[f32; 3]],
    ) -> Result<(Vec<[W; 4]>, Seen), Error> {
        let matrices = self.posed.matrices(frame, &self.grid);
        let mut out = vec![[W::default(); 4]; self.order.len()];
        self.skin.compose(&matrices, residual, &mut out);
        if !residual.is_empty() {
            let mut bits = self.bits.lock().unwrap_or_else(PoisonError::into_inner);
            bits.resize(residual.len(), 0);
            for (bits, [x, y, z, _]) in bits.iter_mut().zip(residual) {
                let size = |v: &W| u64::from(32 - v.get().unsigned_abs().leading_zeros());
                *bits += size(x) + size(y) + size(z);
            }
        }
        let seen = cells::seen(&self.grid, &self.order, points, &out);
        match seen.error <= self.posed.extent.radius {
            true => Ok((out, seen)),
            false => Err(broken(&format!(
                "off by {:e} in frame {frame}, {:e} allowed",
                seen.error, self.posed.extent.radius
            ))),
        }
    }

    fn source(&self, frame: u32) -> Result<Vec<[f32; 3]>, Error> {
        let mut points = vec![[0.0; 3]; self.order.len()];
        self.posed.frames.positions(frame, &mut points);
        self.posed.frames.check()?;
        Ok(points)
    }
}

impl<W: Width> Coder for SkinCoder<'_, W> {
    fn static_bytes(&self) -> &[u8] {
        &self.static_bytes
    }

    fn order(&self) -> &[u32] {
        &self.order
    }

    fn sample(&self, frames: &[u32]) -> Result<Decoded, Error> {
        let mut out = BTreeMap::new();
        for &frame in frames {
            let points = self.source(frame)?;
            out.insert(frame, cells::rounded(&self.grid, self.posed.extent.radius, &self.order, &points));
        }
        Ok(W::decoded(out))
    }

    fn segment(&self, segment: u32, keep: bool) -> Result<Segment, Error> {
        let schedule = self.posed.schedule;
        let mut coded: Vec<(u32, Vec<u8>, Vec<[W; 4]>)> = Vec::new();
        match &self.encoder {
            Some(encoder) => self
                .with_work(|work| {
                    encoder.segment(segment, work, &mut |key, bytes, cells| {
                        coded.push((key, bytes, cells.to_vec()));
                    })
                })
                .map_err(|r| broken(&r.to_string()))?,
            None => coded.extend(schedule.segment(segment).map(|key| (key, Vec::new(), Vec::new()))),
        }
        let mut keys = Vec::new();
        let mut decoded = BTreeMap::new();
        for (key, bytes, residual) in coded {
            let frame = schedule.key_frame(key);
            let (cells, seen) = self.compose(frame, &residual, &self.source(frame)?)?;
            keys.push((key, self.unit(Unit::Key(key), &bytes), seen));
            if keep {
                decoded.insert(frame, cells);
            }
            let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
            held.insert(key, residual);
        }
        Ok(Segment { keys, decoded: W::decoded(decoded) })
    }

    fn group(&self, group: u32, keep: bool) -> Result<Group, Error> {
        let schedule = self.posed.schedule;
        let both = [Unit::Inner(group), Unit::Last(group)];
        let mut residuals: Vec<(u32, Vec<[W; 4]>)> = Vec::new();
        let mut bytes = [Vec::new(), Vec::new()];
        match &self.encoder {
            Some(encoder) => {
                let held = self.keys.read().unwrap_or_else(PoisonError::into_inner);
                let find = |frame: u32| {
                    let key = schedule.key_of(frame).and_then(|key| held.get(&key));
                    key.map_or(&[][..], Vec::as_slice)
                };
                bytes = self
                    .with_work(|work| {
                        encoder.group(group, &find, work, &mut |frame, _, cells| {
                            residuals.push((frame, cells.to_vec()));
                        })
                    })
                    .map_err(|r| broken(&r.to_string()))?;
            }
            None => {
                let frames = both.iter().flat_map(|&unit| schedule.frames_of(unit).to_vec());
                residuals.extend(frames.map(|frame| (frame, Vec::new())));
            }
        }
        let mut seen = Vec::new();
        let mut decoded = BTreeMap::new();
        for (frame, residual) in residuals {
            let (cells, of_frame) = self.compose(frame, &residual, &self.source(frame)?)?;
            seen.push((frame, of_frame));
            if keep {
                decoded.insert(frame, cells);
            }
        }
        let mut at = 0;
        Ok(Group {
            units: bytes.map(|bytes| {
                at += 1;
                match schedule.frames_of(both[at - 1]).is_empty() {
                    true => Vec::new(),
                    false => self.unit(both[at - 1], &bytes),
                }
            }),
            seen,
            decoded: W::decoded(decoded),
        })
    }

    fn forget(&self, before: u32) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *held = held.split_off(&before);
    }

    fn parts(&self) -> Vec<u32> {
        let (rig, rigid) = (&self.posed.skin.rig, self.posed.skin.bones.rigid as usize);
        let mut parts = vec![crate::extract::NONE; self.order().len()];
        for (cell, &point) in self.order().iter().enumerate() {
            let mut own = rig.influences(cell);
            if let (Some((bone, _)), None) = (own.next(), own.next())
                && bone < rigid
            {
                parts[point as usize] = bone as u32;
            }
        }
        parts
    }

    fn measures(&self) -> Measures {
        let bits = self.bits.lock().unwrap_or_else(PoisonError::into_inner);
        measure::all(&self.posed, &self.cells, &bits)
    }
}

/// Makes the coder of a model; none where it cannot hold the tolerance.
pub fn coder<'a>(
    model: &Model,
    frames: &'a Frames<'a>,
    all: &Positions<'_>,
    schedule: Schedule,
    shares: Shares,
    options: &Options,
) -> Result<Option<Made<'a>>, Error> {
    let Some(posed) = Posed::new(model, frames, all, schedule, shares, options)? else {
        return Ok(None);
    };
    let blends = model.blends();
    let posed = match posed.coder::<i16>(all, options)? {
        Ok((coder, bones)) => {
            return Ok(Some(Made { coder: Box::new(coder), bones, wide: false, blends }));
        }
        Err(posed) => posed,
    };
    Ok(match posed.coder::<i32>(all, options)? {
        Ok((coder, bones)) => Some(Made { coder: Box::new(coder), bones, wide: true, blends }),
        Err(_) => None,
    })
}
