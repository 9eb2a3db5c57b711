//! The coder of a mesh that bones move: the residual of points that they leave too far off, through the soft
//! codec, with bones as its prediction.

use super::measure;
use super::model::Model;
use super::posed::{Posed, Shares};
use super::positions::Positions;
use super::still::{broken, coded_weights, settings};
use crate::method::coder::{self, Coder, Decoded, Group, Seen, Segment, Width};
use crate::method::points::Frames;
use crate::report::Measures;
use crate::{Error, Options};
use meshreel_codec::mesh::encode::{Encoder, Refused, Source, Work};
use meshreel_codec::mesh::shared::Sets;
use meshreel_codec::mesh::skin;
use meshreel_codec::mesh::skin::{Parts, Skin};
use meshreel_codec::put_sized;
use meshreel_codec::quantize::lattice::Grid;
use meshreel_codec::record::Bones;
use meshreel_codec::schedule::{Schedule, Unit};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// How often points that the last grid leaves too far off are given a residual.
const ROUNDS: usize = 6;

/// What becomes of a mesh that bones move.
pub struct Made<'a> {
    pub coder: Box<dyn Coder + 'a>,
    pub bones: Bones,
    /// Cells are i32.
    pub wide: bool,
    /// Points hang on several bones.
    pub blends: bool,
}

impl<'a> Posed<'a> {
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
        let seen = coder::seen(&self.grid, &self.order, points, &out);
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
            out.insert(frame, coder::rounded(&self.grid, self.posed.extent.radius, &self.order, &points));
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
        let both = [Unit::LowerLayers(group), Unit::TopLayer(group)];
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
        let mut parts = vec![meshreel_process::parts::NONE; self.order().len()];
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
