//! The coder of a mesh moved by bones: the residual of points that they leave outside the tolerance is coded
//! by the soft codec, with bones as its prediction.

use super::handles::{Affine, HandleFrames};
use super::measure;
use super::model::Model;
use super::posed::{ErrorBudget, Posed};
use super::positions::Positions;
use super::rigid::Rigid;
use super::single_frame::{broken, coded_weights, settings};
use crate::Error;
use crate::decided::{DecidedCoder, DecidedSkin};
use crate::method::coder;
use crate::method::coder::{
    AtRest, Coder, Decoded, FrameMeasure, Group, Segment, Width, held_bytes, held_values,
};
use crate::method::points;
use crate::method::points::PointFrames;
use crate::report::Measures;
use meshreel_codec::mesh::decode::First;
use meshreel_codec::mesh::encode::{Encoder, Refused, Source, Work};
use meshreel_codec::mesh::shared::Sets;
use meshreel_codec::mesh::skin;
use meshreel_codec::mesh::skin::{Parts, Skin};
use meshreel_codec::quantize::fixed::FixedPoint;
use meshreel_codec::quantize::lattice::Grid;
use meshreel_codec::record::Bones;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::transform::Transform;
use meshreel_codec::{each_width, put_sized};
use meshreel_options::Options;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The number of rounds in which points that the last lattice leaves outside the tolerance are given a
/// residual.
const ROUNDS: usize = 6;

/// A mesh moved by bones, ready to be coded.
pub struct SkinnedMesh<'a> {
    /// Codes its frames.
    pub coder: Box<dyn Coder + 'a>,
    /// The number of bones, and of points that have a residual.
    pub bones: Bones,
    /// `true` if fixed-point positions are i32, not i16.
    pub wide: bool,
    /// `true` if some point follows several bones.
    pub blends: bool,
}

/// The residual of a mesh as it is encoded: the points that have one, and the lattice.
struct FittedResidual<'a, W> {
    posed: Arc<Posed<'a>>,
    grid: Grid,
    /// Encoder of the residual; `None` if bones alone hold the tolerance.
    encoder: Option<Encoder<'a, W>>,
    /// Points that have a residual, in the encoder's order.
    cells: Vec<u32>,
    work: Work<W>,
}

/// Either the result, or the mesh given back because values of this width cannot hold the tolerance.
type OrPosed<'a, T> = Result<Result<T, Posed<'a>>, Error>;

/// Gives back a mesh that has no other user.
fn taken_back<'a, T>(posed: Arc<Posed<'a>>) -> OrPosed<'a, T> {
    match Arc::try_unwrap(posed) {
        Ok(posed) => Ok(Err(posed)),
        Err(_) => Err(broken("in use")),
    }
}

impl<'a> Posed<'a> {
    /// Creates the coder with fixed-point positions of one width.
    fn coder<W: Width>(
        self,
        all: &Positions<'_>,
        options: &Options,
    ) -> OrPosed<'a, (SkinCoder<'a, W>, Bones)> {
        let fitted = match self.fit_residual::<W>(all, options)? {
            Ok(fitted) => fitted,
            Err(posed) => return Ok(Err(posed)),
        };
        let bones = Bones { coded: fitted.cells.len() as u32, ..fitted.posed.skin.bones };
        let static_bytes = fitted.static_part()?;
        let skin = fitted.decode_static_part(&static_bytes, bones)?;
        let FittedResidual { posed, grid, encoder, cells, work } = fitted;
        let coder = SkinCoder {
            static_bytes,
            grid,
            skin,
            order: posed.hierarchy.order.clone(),
            encoder,
            keys: RwLock::default(),
            works: Mutex::new(vec![work]),
            cells,
            bits: Mutex::default(),
            posed,
        };
        Ok(Ok((coder, bones)))
    }

    /// Chooses the points that get a residual, and the lattice, alternately: a finer lattice brings some
    /// points nearer and moves others, which bones place elsewhere, farther off.
    fn fit_residual<W: Width>(
        mut self,
        all: &Positions<'_>,
        options: &Options,
    ) -> OrPosed<'a, FittedResidual<'a, W>> {
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
        for round in 0..ROUNDS {
            let points: Vec<u32> =
                (0u32..).zip(&this.weights.coded).filter_map(|(v, &coded)| coded.then_some(v)).collect();
            if points.is_empty() {
                break;
            }
            let levels = skin::coded_levels(&points, &this.hierarchy, &this.triangles);
            let source = Residual {
                posed: this.clone(),
                points: points.iter().map(|&v| this.hierarchy.order[v as usize]).collect(),
                cells: levels.order.iter().map(|&p| points[p as usize]).collect(),
            };
            let cells = source.cells.clone();
            let (frames, extent) = (this.schedule.frames(), this.extent);
            let source = Arc::new(source);
            let made = Encoder::<W>::owning(levels, frames, extent, settings(options), source, &mut work);
            this.frames.check()?;
            let made = match made {
                Ok(made) => made,
                Err(Refused::TooFine | Refused::Levels) => return taken_back(this),
                Err(refused) => return Err(broken(&refused.to_string())),
            };
            grid = *made.grid();
            let Some(far) = this.mark(&grid, all, false) else {
                // In units as fine as residuals need, bones move points too far.
                drop(made);
                return taken_back(this);
            };
            let more = far.iter().zip(&this.weights.coded).any(|(far, coded)| *far && !coded);
            if !more {
                return Ok(Ok(FittedResidual { posed: this, grid, encoder: Some(made), cells, work }));
            }
            drop(made);
            let Some(own) = Arc::get_mut(&mut this) else {
                return Err(broken("in use"));
            };
            let coded = &mut own.weights.coded;
            // If the lattice keeps changing, all points get a residual in the end.
            let all = round + 2 >= ROUNDS;
            coded.iter_mut().zip(far).for_each(|(coded, far)| *coded |= far || all);
        }
        Ok(Ok(FittedResidual { posed: this, grid, encoder: None, cells: Vec::new(), work }))
    }
}

impl<W: Width> FittedResidual<'_, W> {
    /// Writes the static part of the mesh: rest pose, weights, handles, and that of the residual.
    fn static_part(&self) -> Result<Vec<u8>, Error> {
        let posed = &self.posed;
        let weight_bytes = coded_weights(&posed.weights, &posed.hierarchy, posed.skin.rig.bones() as u32)?;
        let mut bytes = Vec::new();
        skin::encode(
            &Parts {
                depth: posed.weights.depth,
                rest: &posed.rest_bytes,
                weights: &weight_bytes,
                setup: posed.rigid.as_ref().map(|r| &r.setup[..]),
                handles: posed.affine.as_ref().map(|a| &a.bytes[..]),
                residual: self.encoder.as_ref().map(|e| e.static_bytes()),
                grid: &self.grid,
            },
            &mut bytes,
        );
        Ok(bytes)
    }

    /// Decodes the static part as a player does, and compares it with what was encoded.
    fn decode_static_part(&self, bytes: &[u8], bones: Bones) -> Result<Skin, Error> {
        let posed = &self.posed;
        let mut sets = Sets::default();
        let wide = W::BITS == 32;
        let back = Skin::decode(bytes, bones, wide, &posed.hierarchy, &posed.triangles, &mut sets)
            .map_err(|c| broken(c.0))?;
        let (rig, made) = (&posed.skin.rig, &back.rig);
        match made.moves_as(rig) && back.grid == self.grid && made.coded == self.cells {
            true => Ok(back),
            false => Err(broken("the static part decodes to something else")),
        }
    }
}

/// The points that have a residual, as the mesh encoder reads them: their positions, and those given by
/// bones.
struct Residual<'a> {
    posed: Arc<Posed<'a>>,
    /// Their indices in the source, in the order of the mesh's hierarchy.
    points: Vec<u32>,
    /// Their indices in the mesh's hierarchy, in the order of their own hierarchy.
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
    /// The decoded static part.
    skin: Skin,
    order: Vec<u32>,
    encoder: Option<Encoder<'a, W>>,
    /// Decoded residuals of keys, by number.
    keys: RwLock<BTreeMap<u32, Vec<[W; 4]>>>,
    works: Mutex<Vec<Work<W>>>,
    /// Points that have a residual, in the encoder's order, and the approximate bits that each has taken so
    /// far.
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

    /// Joins a unit's bytes of bones with those of the residual.
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

    /// Returns the fixed-point positions of a frame, measured.
    fn compose(
        &self,
        frame: u32,
        residual: &[[W; 4]],
        points: &[[f32; 3]],
    ) -> Result<(Vec<[W; 4]>, FrameMeasure), Error> {
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
        let seen = coder::measure_frame(&self.grid, &self.order, points, &out);
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

    fn held(&self, key: u32) -> Option<Vec<u8>> {
        let held = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        held.get(&key).map(|residual| held_bytes(residual))
    }

    fn hold(&self, key: u32, bytes: &[u8]) -> bool {
        let points = if self.encoder.is_some() { self.cells.len() } else { 0 };
        let Some(residual) = held_values(bytes, points) else { return false };
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        held.insert(key, residual);
        true
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
        let mut parts = vec![meshreel_process::parts::NO_PART; self.order().len()];
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

    fn first(&self) -> First {
        self.skin.first.clone()
    }

    fn at_rest(&self) -> Option<AtRest> {
        let rigid = self.posed.rigid.as_ref()?;
        Some(AtRest {
            bones: self.skin.turning_bones()?,
            rigid: self.skin.bones.rigid,
            transforms: rigid.transforms.clone(),
        })
    }

    fn decided(&self) -> DecidedCoder {
        let (posed, skin) = (&self.posed, &self.skin);
        let mut all = DecidedSkin {
            bones: [skin.bones.rigid, skin.bones.affine, skin.bones.words, skin.bones.coded],
            wide_handles: skin.bones.wide,
            wide: W::BITS == 32,
            static_bytes: self.static_bytes.clone(),
            settled: self.encoder.as_ref().map(Encoder::settled),
            ..DecidedSkin::default()
        };
        if let Some(rigid) = &posed.rigid {
            all.rigid_units = rigid.units().clone().into_iter().collect();
            all.transforms = rigid.transforms.iter().flatten().map(transform_numbers).collect();
        }
        if let Some(affine) = &posed.affine {
            all.affine_units = affine.units.clone().into_iter().collect();
            all.handles = each_width!(&affine.frames, frames => {
                frames.iter().flatten().map(|point| point.map(|v| v.get())).collect()
            });
        }
        DecidedCoder::Skin(Box::new(all))
    }

    fn measures(&self) -> Measures {
        let bits = self.bits.lock().unwrap_or_else(PoisonError::into_inner);
        measure::measure_bones(&self.posed, &self.cells, &bits)
    }
}

/// Creates the coder of a model; `None` if it cannot hold the tolerance.
pub fn coder<'a>(
    model: &Model,
    frames: &'a PointFrames<'a>,
    all: &Positions<'_>,
    schedule: Schedule,
    budget: ErrorBudget,
    options: &Options,
) -> Result<Option<SkinnedMesh<'a>>, Error> {
    let Some(posed) = Posed::new(model, frames, all, schedule, budget, options)? else {
        return Ok(None);
    };
    let blends = model.blends();
    let posed = match posed.coder::<i16>(all, options)? {
        Ok((coder, bones)) => {
            return Ok(Some(SkinnedMesh { coder: Box::new(coder), bones, wide: false, blends }));
        }
        Err(posed) => posed,
    };
    Ok(match posed.coder::<i32>(all, options)? {
        Ok((coder, bones)) => Some(SkinnedMesh { coder: Box::new(coder), bones, wide: true, blends }),
        Err(_) => None,
    })
}

/// Returns rotation, translation and scale as consecutive numbers.
fn transform_numbers(t: &Transform) -> [f32; 10] {
    let ([a, b, c, d], [x, y, z], [p, q, r]) = (t.rotation, t.translation, t.scale);
    [a, b, c, d, x, y, z, p, q, r]
}

fn transform_of([a, b, c, d, x, y, z, p, q, r]: [f32; 10]) -> Transform {
    Transform { rotation: [a, b, c, d], translation: [x, y, z], scale: [p, q, r] }
}

/// Creates the coder from the decisions of [`Coder::decided`], without a search.
pub fn again<'a>(
    frames: &'a PointFrames<'a>,
    schedule: Schedule,
    options: &Options,
    decided: &DecidedSkin,
) -> Result<SkinnedMesh<'a>, Error> {
    let [rigid, affine, words, coded] = decided.bones;
    let bones = Bones { rigid, affine, wide: decided.wide_handles, words, coded };
    let coder: Box<dyn Coder + 'a> = match decided.wide {
        false => Box::new(coder_again::<i16>(frames, schedule, options, (bones, decided))?),
        true => Box::new(coder_again::<i32>(frames, schedule, options, (bones, decided))?),
    };
    Ok(SkinnedMesh { coder, bones, wide: decided.wide, blends: decided.blends })
}

fn coder_again<'a, W: Width>(
    frames: &'a PointFrames<'a>,
    schedule: Schedule,
    options: &Options,
    (bones, decided): (Bones, &DecidedSkin),
) -> Result<SkinCoder<'a, W>, Error> {
    let bad = || Error::Malformed { what: format!("{}: its bones", frames.plan.path) };
    let extent = points::extent(frames).ok_or_else(bad)?;
    let (hierarchy, triangles) = points::build_hierarchy(frames);
    let static_bytes = decided.static_bytes.clone();
    let wide = W::BITS == 32;
    let mut sets = Sets::default();
    let skin = Skin::decode(&static_bytes, bones, wide, &hierarchy, &triangles, &mut sets);
    let skin = skin.map_err(|_| bad())?;
    let posed = Arc::new(Posed {
        frames,
        schedule,
        extent,
        rest_bytes: Vec::new(),
        weights: Default::default(),
        rigid: rigid_again(&skin, schedule, decided).ok_or_else(bad)?,
        affine: affine_again(&skin, schedule, decided).ok_or_else(bad)?,
        rest: None,
        skin: skin.clone(),
        hierarchy,
        triangles,
    });
    let cells = skin.rig.coded.clone();
    let mut work = Work::default();
    let encoder = match &decided.settled {
        None => None,
        Some(settled) => {
            let mut points = cells.clone();
            points.sort_unstable();
            let (hierarchy, count) = (&posed.hierarchy, schedule.frames());
            let levels = skin::coded_levels(&points, hierarchy, &posed.triangles);
            let source = Residual {
                points: points.iter().map(|&v| hierarchy.order[v as usize]).collect(),
                cells: levels.order.iter().map(|&p| points[p as usize]).collect(),
                posed: posed.clone(),
            };
            let (how, source) = (settings(options), Arc::new(source));
            let made = Encoder::again(levels, count, posed.extent, how, source, (settled, &mut work));
            frames.check()?;
            Some(made.map_err(|_| bad())?)
        }
    };
    Ok(SkinCoder {
        static_bytes,
        grid: skin.grid,
        order: posed.hierarchy.order.clone(),
        skin,
        encoder,
        keys: RwLock::default(),
        works: Mutex::new(vec![work]),
        cells,
        bits: Mutex::default(),
        posed,
    })
}

/// Returns the rigid bones as they were coded, if there are any; `None` if the stored data does not fit.
fn rigid_again(skin: &Skin, schedule: Schedule, decided: &DecidedSkin) -> Option<Option<Rigid>> {
    let count = skin.bones.rigid as usize;
    if decided.transforms.len() != count * schedule.frames() as usize {
        return None;
    }
    if count == 0 {
        return Some(None);
    }
    let of_frame = |numbers: &[[f32; 10]]| numbers.iter().copied().map(transform_of).collect();
    let transforms = decided.transforms.chunks(count).map(of_frame).collect();
    let units = decided.rigid_units.iter().cloned().collect();
    Some(Some(Rigid::again(skin, transforms, units)))
}

/// The same for affine bones.
fn affine_again(skin: &Skin, schedule: Schedule, decided: &DecidedSkin) -> Option<Option<Affine>> {
    let count = 4 * skin.bones.affine as usize;
    if decided.handles.len() != count * schedule.frames() as usize {
        return None;
    }
    if count == 0 {
        return Some(None);
    }
    fn frames<W: Width>(points: &[[i32; 4]], count: usize) -> Vec<Vec<[W; 4]>> {
        points.chunks(count).map(|own| own.iter().map(|p| p.map(W::wrap)).collect()).collect()
    }
    let points = &decided.handles[..];
    Some(Some(Affine {
        bytes: Vec::new(),
        coded: skin.handles.clone()?,
        frames: match decided.wide_handles {
            false => HandleFrames::Narrow(frames(points, count)),
            true => HandleFrames::Wide(frames(points, count)),
        },
        units: decided.affine_units.iter().cloned().collect(),
    }))
}
