//! The coder of a mesh moved by bones: the residual of points that they leave outside the tolerance is coded
//! by the soft codec, with bones as its prediction.

use super::handles::{AffineBones, HandleFrames};
use super::measure;
use super::model::BoneModel;
use super::posed::{ErrorBudget, PosedMesh};
use super::positions::Positions;
use super::rigid::RigidBones;
use super::single_frame::{encode_weights, encoder_options, mismatch_error};
use crate::Error;
use crate::decisions::{CoderDecisions, SkinDecisions};
use crate::method::coder;
use crate::method::coder::{
    CodedUnits, DecodedByWidth, FrameMeasure, RigidMotion, StreamCoder, Width, vectors_from_bytes,
    vectors_to_bytes,
};
use crate::method::points;
use crate::method::points::PointFrames;
use crate::report::BoneMeasures;
use meshreel_codec::mesh::decode::FirstFrame;
use meshreel_codec::mesh::encode::{EncodeBuffers, EncodeError, Encoder, PositionSource};
use meshreel_codec::mesh::skin;
use meshreel_codec::mesh::skin::{Skin, SkinContents};
use meshreel_codec::mesh::table_sets::TableSets;
use meshreel_codec::quantize::fixed_point::FixedPoint;
use meshreel_codec::quantize::lattice::FixedPointGrid;
use meshreel_codec::record::BoneCounts;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::transform::Transform;
use meshreel_codec::{each_width, put_length_prefixed};
use meshreel_options::Options;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The number of rounds in which points that the last lattice leaves outside the tolerance are given a
/// residual.
const ROUNDS: usize = 6;

/// A mesh moved by bones, ready to be coded.
pub struct SkinnedMesh {
    /// Codes its frames.
    pub coder: Box<dyn StreamCoder>,
    /// The number of bones, and of points that have a residual.
    pub bones: BoneCounts,
    /// `true` if fixed-point positions are i32, not i16.
    pub wide: bool,
    /// `true` if some point follows several bones.
    pub blends: bool,
}

/// The residual of a mesh as it is encoded: the points that have one, and the lattice.
struct FittedResidual<W> {
    posed: Arc<PosedMesh>,
    grid: FixedPointGrid,
    /// Encoder of the residual; `None` if bones alone hold the tolerance.
    encoder: Option<Encoder<'static, W>>,
    /// Points that have a residual, in the encoder's order.
    residual_points: Vec<u32>,
    work: EncodeBuffers<W>,
}

/// Either the result, or the mesh given back because values of this width cannot hold the tolerance.
type WidthResult<T> = Result<Result<T, PosedMesh>, Error>;

/// Gives back a mesh that has no other user.
fn give_back<T>(posed: Arc<PosedMesh>) -> WidthResult<T> {
    match Arc::try_unwrap(posed) {
        Ok(posed) => Ok(Err(posed)),
        Err(_) => Err(mismatch_error("in use")),
    }
}

impl PosedMesh {
    /// Creates the coder with fixed-point positions of one width.
    fn coder<W: Width>(self, all: &Positions, options: &Options) -> WidthResult<(SkinCoder<W>, BoneCounts)> {
        let fitted = match self.fit_residual::<W>(all, options)? {
            Ok(fitted) => fitted,
            Err(posed) => return Ok(Err(posed)),
        };
        let bones = BoneCounts { coded: fitted.residual_points.len() as u32, ..fitted.posed.skin.bones };
        let static_bytes = fitted.static_part()?;
        let skin = fitted.decode_static_part(&static_bytes, bones)?;
        let FittedResidual { posed, grid, encoder, residual_points: cells, work } = fitted;
        let coder = SkinCoder {
            static_bytes,
            grid,
            skin,
            order: posed.hierarchy.order.clone(),
            encoder,
            keys: RwLock::default(),
            works: Mutex::new(vec![work]),
            residual_points: cells,
            bits: Mutex::default(),
            posed,
        };
        Ok(Ok((coder, bones)))
    }

    /// Chooses the points that get a residual, and the lattice, alternately: a finer lattice brings some
    /// points nearer and moves others, which bones place elsewhere, farther off.
    fn fit_residual<W: Width>(
        mut self,
        all: &Positions,
        options: &Options,
    ) -> WidthResult<FittedResidual<W>> {
        let Some(mut grid) = self.grid_without_residual(W::MAX_COORDINATE) else {
            return Ok(Err(self));
        };
        let Some(far) = self.mark_residual_points(&grid, all, true) else {
            return Ok(Err(self));
        };
        all.check()?;
        let coded = &mut self.weights.coded;
        coded.iter_mut().zip(far).for_each(|(coded, far)| *coded |= far);
        let mut work = EncodeBuffers::default();
        let mut this = Arc::new(self);
        for round in 0..ROUNDS {
            let points: Vec<u32> =
                (0u32..).zip(&this.weights.coded).filter_map(|(v, &coded)| coded.then_some(v)).collect();
            if points.is_empty() {
                break;
            }
            let levels = skin::residual_hierarchy(&points, &this.hierarchy, &this.triangles);
            let source = ResidualSource {
                posed: this.clone(),
                points: points.iter().map(|&v| this.hierarchy.order[v as usize]).collect(),
                hierarchy_points: levels.order.iter().map(|&p| points[p as usize]).collect(),
            };
            let cells = source.hierarchy_points.clone();
            let (frames, extent) = (this.schedule.frames(), this.extent);
            let source = Arc::new(source);
            let made = Encoder::<W>::with_owned_source(
                levels,
                frames,
                extent,
                encoder_options(options),
                source,
                &mut work,
            );
            this.frames.check()?;
            let made = match made {
                Ok(made) => made,
                Err(EncodeError::TooFine | EncodeError::TooManyLevels) => return give_back(this),
                Err(refused) => return Err(mismatch_error(&refused.to_string())),
            };
            grid = *made.grid();
            let Some(far) = this.mark_residual_points(&grid, all, false) else {
                // In units as fine as residuals need, bones move points too far.
                drop(made);
                return give_back(this);
            };
            let more = far.iter().zip(&this.weights.coded).any(|(far, coded)| *far && !coded);
            if !more {
                return Ok(Ok(FittedResidual {
                    posed: this,
                    grid,
                    encoder: Some(made),
                    residual_points: cells,
                    work,
                }));
            }
            drop(made);
            let Some(own) = Arc::get_mut(&mut this) else {
                return Err(mismatch_error("in use"));
            };
            let coded = &mut own.weights.coded;
            // If the lattice keeps changing, all points get a residual in the end.
            let all = round + 2 >= ROUNDS;
            coded.iter_mut().zip(far).for_each(|(coded, far)| *coded |= far || all);
        }
        Ok(Ok(FittedResidual { posed: this, grid, encoder: None, residual_points: Vec::new(), work }))
    }
}

impl<W: Width> FittedResidual<W> {
    /// Writes the static part of the mesh: rest pose, weights, handles, and that of the residual.
    fn static_part(&self) -> Result<Vec<u8>, Error> {
        let posed = &self.posed;
        let weight_bytes = encode_weights(&posed.weights, &posed.hierarchy, posed.skin.rig.bones() as u32)?;
        let mut bytes = Vec::new();
        skin::encode(
            &SkinContents {
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
    fn decode_static_part(&self, bytes: &[u8], bones: BoneCounts) -> Result<Skin, Error> {
        let posed = &self.posed;
        let mut sets = TableSets::default();
        let wide = W::BITS == 32;
        let back = Skin::decode(bytes, bones, wide, &posed.hierarchy, &posed.triangles, &mut sets)
            .map_err(|c| mismatch_error(c.0))?;
        let (rig, made) = (&posed.skin.rig, &back.rig);
        match made.moves_as(rig) && back.grid == self.grid && made.coded == self.residual_points {
            true => Ok(back),
            false => Err(mismatch_error("the static part decodes to something else")),
        }
    }
}

/// The points that have a residual, as the mesh encoder reads them: their positions, and those given by
/// bones.
struct ResidualSource {
    posed: Arc<PosedMesh>,
    /// Their indices in the source, in the order of the mesh's hierarchy.
    points: Vec<u32>,
    /// Their indices in the mesh's hierarchy, in the order of their own hierarchy.
    hierarchy_points: Vec<u32>,
}

impl PositionSource for ResidualSource {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        let mut all = vec![[0.0; 3]; self.posed.hierarchy.order.len()];
        self.posed.frames.positions(frame, &mut all);
        for (out, &point) in out.iter_mut().zip(&self.points) {
            *out = all[point as usize];
        }
    }

    fn outside_prediction(&self, frame: u32, grid: &FixedPointGrid, out: &mut [[i32; 3]]) -> bool {
        let matrices = self.posed.matrices(frame, grid);
        for (out, &cell) in out.iter_mut().zip(&self.hierarchy_points) {
            let at = self.posed.skin.rig.position(cell as usize, &matrices);
            *out = at.map(|x| x.round_ties_even() as i32);
        }
        true
    }
}

struct SkinCoder<W> {
    static_bytes: Vec<u8>,
    grid: FixedPointGrid,
    /// The decoded static part.
    skin: Skin,
    order: Vec<u32>,
    encoder: Option<Encoder<'static, W>>,
    /// Decoded residuals of keys, by number.
    keys: RwLock<BTreeMap<u32, Vec<[W; 4]>>>,
    works: Mutex<Vec<EncodeBuffers<W>>>,
    /// Points that have a residual, in the encoder's order, and the approximate bits that each has taken so
    /// far.
    residual_points: Vec<u32>,
    bits: Mutex<Vec<u64>>,
    posed: Arc<PosedMesh>,
}

impl<W: Width> SkinCoder<W> {
    fn with_work<T>(&self, run: impl FnOnce(&mut EncodeBuffers<W>) -> T) -> T {
        let works = || self.works.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = works().pop().unwrap_or_default();
        let out = run(&mut work);
        works().push(work);
        out
    }

    /// Joins a unit's bytes of bones with those of the residual.
    fn unit(&self, unit: Unit, residual: &[u8]) -> Vec<u8> {
        let number = self.posed.schedule.unit_number(unit);
        let mut out = Vec::new();
        if let Some(rigid) = &self.posed.rigid {
            put_length_prefixed(rigid.unit(number), &mut out);
        }
        if let Some(affine) = &self.posed.affine {
            put_length_prefixed(affine.units.get(&number).map_or(&[], Vec::as_slice), &mut out);
        }
        if self.encoder.is_some() {
            put_length_prefixed(residual, &mut out);
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
                let size = |v: &W| u64::from(32 - v.to_i32().unsigned_abs().leading_zeros());
                *bits += size(x) + size(y) + size(z);
            }
        }
        let seen = coder::measure_frame(&self.grid, &self.order, points, &out);
        match seen.error <= self.posed.extent.tolerance {
            true => Ok((out, seen)),
            false => Err(mismatch_error(&format!(
                "off by {:e} in frame {frame}, {:e} allowed",
                seen.error, self.posed.extent.tolerance
            ))),
        }
    }

    fn read_positions(&self, frame: u32) -> Result<Vec<[f32; 3]>, Error> {
        let mut points = vec![[0.0; 3]; self.order.len()];
        self.posed.frames.positions(frame, &mut points);
        self.posed.frames.check()?;
        Ok(points)
    }
}

impl<W: Width> StreamCoder for SkinCoder<W> {
    fn static_bytes(&self) -> &[u8] {
        &self.static_bytes
    }

    fn order(&self) -> &[u32] {
        &self.order
    }

    fn sample_frames(&self, frames: &[u32]) -> Result<DecodedByWidth, Error> {
        let mut out = BTreeMap::new();
        for &frame in frames {
            let points = self.read_positions(frame)?;
            out.insert(
                frame,
                coder::round_to_lattice(&self.grid, self.posed.extent.tolerance, &self.order, &points),
            );
        }
        Ok(W::wrap_frames(out))
    }

    fn segment(&self, segment: u32, keep: bool) -> Result<CodedUnits, Error> {
        let schedule = self.posed.schedule;
        let mut coded: Vec<(u32, Vec<u8>, Vec<[W; 4]>)> = Vec::new();
        match &self.encoder {
            Some(encoder) => self
                .with_work(|work| {
                    encoder.encode_segment(segment, work, &mut |key, bytes, cells| {
                        coded.push((key, bytes, cells.to_vec()));
                    })
                })
                .map_err(|r| mismatch_error(&r.to_string()))?,
            None => coded.extend(schedule.segment(segment).map(|key| (key, Vec::new(), Vec::new()))),
        }
        let (mut units, mut measures) = (Vec::new(), Vec::new());
        let mut decoded = BTreeMap::new();
        for (key, bytes, residual) in coded {
            let frame = schedule.key_frame(key);
            let (cells, seen) = self.compose(frame, &residual, &self.read_positions(frame)?)?;
            units.push(self.unit(Unit::Key(key), &bytes));
            measures.push((frame, seen));
            if keep {
                decoded.insert(frame, cells);
            }
            let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
            held.insert(key, residual);
        }
        Ok(CodedUnits { units, measures, decoded: W::wrap_frames(decoded) })
    }

    fn key_state(&self, key: u32) -> Option<Vec<u8>> {
        let held = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        held.get(&key).map(|residual| vectors_to_bytes(residual))
    }

    fn restore_key(&self, key: u32, bytes: &[u8]) -> bool {
        let points = if self.encoder.is_some() { self.residual_points.len() } else { 0 };
        let Some(residual) = vectors_from_bytes(bytes, points) else { return false };
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        held.insert(key, residual);
        true
    }

    fn group(&self, group: u32, keep: bool) -> Result<CodedUnits, Error> {
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
                        encoder.encode_group(group, &find, work, &mut |frame, _, cells| {
                            residuals.push((frame, cells.to_vec()));
                        })
                    })
                    .map_err(|r| mismatch_error(&r.to_string()))?;
            }
            None => {
                let frames = both.iter().flat_map(|&unit| schedule.frames_of(unit).to_vec());
                residuals.extend(frames.map(|frame| (frame, Vec::new())));
            }
        }
        let mut measures = Vec::new();
        let mut decoded = BTreeMap::new();
        for (frame, residual) in residuals {
            let (cells, seen) = self.compose(frame, &residual, &self.read_positions(frame)?)?;
            measures.push((frame, seen));
            if keep {
                decoded.insert(frame, cells);
            }
        }
        let unit = |(unit, bytes): (&Unit, &Vec<u8>)| match schedule.frames_of(*unit).is_empty() {
            true => Vec::new(),
            false => self.unit(*unit, bytes),
        };
        let units = both.iter().zip(&bytes).map(unit).collect();
        Ok(CodedUnits { units, measures, decoded: W::wrap_frames(decoded) })
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

    fn first_frame(&self) -> FirstFrame {
        self.skin.first.clone()
    }

    fn rigid_motion(&self) -> Option<RigidMotion> {
        let rigid = self.posed.rigid.as_ref()?;
        Some(RigidMotion {
            bones: self.skin.turning_bones()?,
            rigid: self.skin.bones.rigid,
            transforms: rigid.transforms.clone(),
        })
    }

    fn decisions(&self) -> CoderDecisions {
        let (posed, skin) = (&self.posed, &self.skin);
        let mut all = SkinDecisions {
            bones: [skin.bones.rigid, skin.bones.affine, skin.bones.codes_per_frame, skin.bones.coded],
            wide_handles: skin.bones.wide,
            wide: W::BITS == 32,
            static_bytes: self.static_bytes.clone(),
            residual_settings: self.encoder.as_ref().map(Encoder::search_result),
            ..SkinDecisions::default()
        };
        if let Some(rigid) = &posed.rigid {
            all.rigid_units = rigid.units().clone().into_iter().collect();
            all.transforms = rigid.transforms.iter().flatten().map(transform_to_array).collect();
        }
        if let Some(affine) = &posed.affine {
            all.affine_units = affine.units.clone().into_iter().collect();
            all.handles = each_width!(&affine.frames, frames => {
                frames.iter().flatten().map(|point| point.map(|v| v.to_i32())).collect()
            });
        }
        CoderDecisions::Skin(Box::new(all))
    }

    fn measures(&self) -> BoneMeasures {
        let bits = self.bits.lock().unwrap_or_else(PoisonError::into_inner);
        measure::measure_bones(&self.posed, &self.residual_points, &bits)
    }
}

/// Creates the coder of a model; `None` if it cannot hold the tolerance.
pub fn skin_coder(
    model: &BoneModel,
    frames: &Arc<PointFrames>,
    all: &Positions,
    schedule: Schedule,
    budget: ErrorBudget,
    options: &Options,
) -> Result<Option<SkinnedMesh>, Error> {
    let Some(posed) = PosedMesh::new(model, frames, all, schedule, budget, options)? else {
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
fn transform_to_array(t: &Transform) -> [f32; 10] {
    let ([a, b, c, d], [x, y, z], [p, q, r]) = (t.rotation, t.translation, t.scale);
    [a, b, c, d, x, y, z, p, q, r]
}

fn transform_from_array([a, b, c, d, x, y, z, p, q, r]: [f32; 10]) -> Transform {
    Transform { rotation: [a, b, c, d], translation: [x, y, z], scale: [p, q, r] }
}

/// Creates the coder from the decisions of [`StreamCoder::decisions`], without a search.
pub fn resume(
    frames: &Arc<PointFrames>,
    schedule: Schedule,
    options: &Options,
    decided: &SkinDecisions,
) -> Result<SkinnedMesh, Error> {
    let [rigid, affine, words, coded] = decided.bones;
    let bones = BoneCounts { rigid, affine, wide: decided.wide_handles, codes_per_frame: words, coded };
    let coder: Box<dyn StreamCoder> = match decided.wide {
        false => Box::new(resume_coder::<i16>(frames, schedule, options, (bones, decided))?),
        true => Box::new(resume_coder::<i32>(frames, schedule, options, (bones, decided))?),
    };
    Ok(SkinnedMesh { coder, bones, wide: decided.wide, blends: decided.blends })
}

fn resume_coder<W: Width>(
    frames: &Arc<PointFrames>,
    schedule: Schedule,
    options: &Options,
    (bones, decided): (BoneCounts, &SkinDecisions),
) -> Result<SkinCoder<W>, Error> {
    let bad = || Error::Malformed { what: format!("{}: its bones", frames.plan.path) };
    let extent = points::extent(frames).ok_or_else(bad)?;
    let (hierarchy, triangles) = points::build_hierarchy(frames);
    let static_bytes = decided.static_bytes.clone();
    let wide = W::BITS == 32;
    let mut sets = TableSets::default();
    let skin = Skin::decode(&static_bytes, bones, wide, &hierarchy, &triangles, &mut sets);
    let skin = skin.map_err(|_| bad())?;
    let posed = Arc::new(PosedMesh {
        frames: frames.clone(),
        schedule,
        extent,
        rest_bytes: Vec::new(),
        weights: Default::default(),
        rigid: resume_rigid(&skin, schedule, decided).ok_or_else(bad)?,
        affine: resume_affine(&skin, schedule, decided).ok_or_else(bad)?,
        rest: None,
        skin: skin.clone(),
        hierarchy,
        triangles,
    });
    let cells = skin.rig.coded.clone();
    let mut work = EncodeBuffers::default();
    let encoder = match &decided.residual_settings {
        None => None,
        Some(settled) => {
            let mut points = cells.clone();
            points.sort_unstable();
            let (hierarchy, count) = (&posed.hierarchy, schedule.frames());
            let levels = skin::residual_hierarchy(&points, hierarchy, &posed.triangles);
            let source = ResidualSource {
                points: points.iter().map(|&v| hierarchy.order[v as usize]).collect(),
                hierarchy_points: levels.order.iter().map(|&p| points[p as usize]).collect(),
                posed: posed.clone(),
            };
            let (how, source) = (encoder_options(options), Arc::new(source));
            let made =
                Encoder::from_search_result(levels, count, posed.extent, how, source, (settled, &mut work));
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
        residual_points: cells,
        bits: Mutex::default(),
        posed,
    })
}

/// Returns the rigid bones as they were coded, if there are any; `None` if the stored data does not fit.
fn resume_rigid(skin: &Skin, schedule: Schedule, decided: &SkinDecisions) -> Option<Option<RigidBones>> {
    let count = skin.bones.rigid as usize;
    if decided.transforms.len() != count * schedule.frames() as usize {
        return None;
    }
    if count == 0 {
        return Some(None);
    }
    let of_frame = |numbers: &[[f32; 10]]| numbers.iter().copied().map(transform_from_array).collect();
    let transforms = decided.transforms.chunks(count).map(of_frame).collect();
    let units = decided.rigid_units.iter().cloned().collect();
    Some(Some(RigidBones::from_coded(skin, transforms, units)))
}

/// The same for affine bones.
fn resume_affine(skin: &Skin, schedule: Schedule, decided: &SkinDecisions) -> Option<Option<AffineBones>> {
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
    Some(Some(AffineBones {
        bytes: Vec::new(),
        coded: skin.handles.clone()?,
        frames: match decided.wide_handles {
            false => HandleFrames::Narrow(frames(points, count)),
            true => HandleFrames::Wide(frames(points, count)),
        },
        units: decided.affine_units.iter().cloned().collect(),
    }))
}
