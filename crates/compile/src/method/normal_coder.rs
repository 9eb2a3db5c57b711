//! Normals and tangent frames of a layered file: predicted from the decoded positions, see
//! [`meshreel_codec::mesh::normals`].

use crate::Error;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::{FixedLayout, NormalOrigin};
use crate::mesh::skin_search::{SkinSearch, SourceNormals};
use crate::mesh::streams;
use crate::mesh::streams::{Quantized, RequestedValues, Scratch, VertexValues};
use crate::method::coder::{DecodedByWidth, RigidMotion, StreamCoder};
use crate::method::decoding_time::bits_per_nanosecond;
use crate::method::points::MeshPoints;
use crate::threads::task_runner;
use meshreel_codec::each_width;
use meshreel_codec::mesh::decode::FirstFrame;
use meshreel_codec::mesh::normals::encode::{Encoder, NormalSettings, NormalSource};
use meshreel_codec::mesh::normals::surface::IntegerPoint;
use meshreel_codec::mesh::normals::{Directions, MeshGeometry, NormalsFrame, PointBones};
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::topology::partition::NormalSharing;
use meshreel_codec::transform::Transform;
use meshreel_options::{Options, Preset};
use rayon::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

/// Bits per component in the description; not used by any decoder.
const BITS: u32 = 16;
/// Streams with finer tolerances are kept as quantized values.
const MIN_TOLERANCE_DEGREES: f64 = 0.1;
/// The number of frames that are sampled to choose the data that is stored once.
const SAMPLES: usize = 12;
/// Fewer of them on meshes with very many vertices: their values are held at once.
const MIN_SAMPLES: usize = 4;
/// The number of frames evaluated in parallel while vertices that share their normals are found.
const BATCH: usize = 16;
/// The same while units are coded, several of which may be coded in parallel.
const MAX_BATCH: usize = 4;
/// The number of vertices in all frames that are held at once.
const MAX_HELD_VERTICES: usize = 1 << 21;

/// The coder of a stream of normals or tangent frames.
pub struct NormalCoder {
    plan: Arc<MeshPlan>,
    fixed: Arc<FixedLayout>,
    schedule: Schedule,
    stream: usize,
    source: Arc<SourceNormals>,
    encoder: Encoder,
    /// By frame, the transforms of the rigid bones; empty without such bones.
    transforms: Arc<Vec<Vec<Transform>>>,
    /// By frame, the states of keys.
    states: RwLock<BTreeMap<u32, Arc<Vec<i16>>>>,
}

impl NormalCoder {
    /// Creates the coder; `None` if the stream is not of this kind, or is smaller as quantized values.
    pub fn new(
        plan: &Arc<MeshPlan>,
        points: &MeshPoints,
        positions: &dyn StreamCoder,
        stream: usize,
        schedule: Schedule,
        options: &Options,
        found: &SkinSearch,
    ) -> Result<Option<NormalCoder>, Error> {
        let record = &plan.streams[stream];
        let tangents = record.semantic == Semantic::QTangent;
        let of_kind = tangents || record.semantic == Semantic::Normal;
        let (Some(fixed), true) = (&plan.prepared.fixed, of_kind && record.animated) else {
            return Ok(None);
        };
        let uvs = plan.streams.iter().position(are_constant_uvs);
        if plan.explicit_normals
            || options.normal_tolerance < MIN_TOLERANCE_DEGREES
            || tangents && uvs.is_none()
        {
            return Ok(None);
        }
        let (first, rest) = (positions.first_frame(), positions.rigid_motion());
        let transforms = rest.as_ref().map(|rest| rest.transforms.clone()).unwrap_or_default();
        let mut coder = NormalStream {
            plan: plan.clone(),
            fixed: fixed.clone(),
            tangents,
            source: found.source_normals(),
            frames: schedule.frames(),
            transforms,
        };
        let groups = found.normal_groups(|| coder.groups())?;
        let (place, uvs) = position_indices_and_uvs(plan, points, positions, tangents);
        let shape = shape(fixed, &place, &uvs, (&first, rest.as_ref()));
        let wanted = NormalSettings {
            groups: &groups,
            faces: &fixed.triangle_face,
            signs: if tangents { &fixed.vertex_sign } else { &[] },
            degrees: options.normal_tolerance,
            frames: schedule.frames() as usize,
            packed: options.preset == Preset::Fast,
            bits_per_nanosecond: bits_per_nanosecond(options),
            weighting: found.weighting(rest.is_some()),
            tasks: task_runner(),
        };
        let encoder = coder.encoder(shape, wanted, positions)?;
        if let Some(encoder) = &encoder {
            found.keep_weighting(rest.is_some(), encoder.weighting());
        }
        Ok(encoder.map(|encoder| NormalCoder {
            plan: plan.clone(),
            fixed: fixed.clone(),
            schedule,
            stream,
            source: coder.source,
            encoder,
            transforms: coder.transforms,
            states: RwLock::default(),
        }))
    }

    /// Creates the coder from its static part, without a search.
    pub fn resume(
        plan: &Arc<MeshPlan>,
        points: &MeshPoints,
        positions: &dyn StreamCoder,
        stream: usize,
        schedule: Schedule,
        (options, bytes): (&Options, &[u8]),
    ) -> Result<NormalCoder, Error> {
        let broken = || Error::Malformed { what: format!("{}: its normals", plan.path) };
        let fixed = plan.prepared.fixed.as_ref().ok_or_else(broken)?;
        let tangents = plan.streams[stream].semantic == Semantic::QTangent;
        let (first, rest) = (positions.first_frame(), positions.rigid_motion());
        let (place, uvs) = position_indices_and_uvs(plan, points, positions, tangents);
        let shape = shape(fixed, &place, &uvs, (&first, rest.as_ref()));
        let encoder = Encoder::read(bytes, shape, options.normal_tolerance).map_err(|_| broken())?;
        if encoder.decoder().has_tangents() != tangents {
            return Err(broken());
        }
        let transforms = rest.map(|rest| rest.transforms).unwrap_or_default();
        let (plan, fixed) = (plan.clone(), fixed.clone());
        Ok(NormalCoder {
            plan,
            fixed,
            schedule,
            stream,
            source: Arc::default(),
            encoder,
            transforms,
            states: RwLock::default(),
        })
    }

    /// Returns the static part, which is stored once.
    pub fn static_bytes(&self) -> &[u8] {
        self.encoder.static_bytes()
    }

    /// Returns the bits of a component, and the number of values in the state of a frame.
    pub fn sizes(&self) -> (u8, u32) {
        (BITS as u8, self.encoder.decoder().state_len() as u32)
    }

    /// Drops the keys before this frame.
    pub fn forget(&self, frame: u32) {
        let mut held = self.states.write().unwrap_or_else(PoisonError::into_inner);
        *held = held.split_off(&frame);
    }

    /// Returns the stored state of a key that has been coded, as bytes, by its frame; `None` for others.
    pub fn key_state(&self, frame: u32) -> Option<Vec<u8>> {
        self.key(frame).map(|state| state.iter().flat_map(|number| number.to_le_bytes()).collect())
    }

    /// Restores the bytes of [`NormalCoder::key_state`] from elsewhere; returns `false` if they do not fit.
    pub fn restore_key(&self, frame: u32, bytes: &[u8]) -> bool {
        let (numbers, rest) = bytes.as_chunks::<2>();
        if !rest.is_empty() || numbers.len() != self.encoder.decoder().state_len() {
            return false;
        }
        let mut held = self.states.write().unwrap_or_else(PoisonError::into_inner);
        let state = numbers.iter().map(|&number| i16::from_le_bytes(number)).collect();
        held.insert(frame, Arc::new(state));
        true
    }

    /// Codes some units, in order, whose frames have decoded positions.
    pub fn units(&self, units: &[Unit], decoded: &DecodedByWidth) -> Result<Vec<Vec<u8>>, Error> {
        each_width!(decoded, frames => self.code_units(units, frames))
    }

    fn code_units<P: IntegerPoint>(
        &self,
        units: &[Unit],
        decoded: &BTreeMap<u32, Vec<P>>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let mut own: BTreeMap<u32, Arc<Vec<i16>>> = BTreeMap::new();
        let mut out = Vec::new();
        // Values of the source take more memory than all else that units need: few frames are held at once.
        let most = MAX_HELD_VERTICES / self.fixed.vertex_point.len().max(1);
        let most = most.clamp(1, MAX_BATCH.min(rayon::current_num_threads()));
        let frames: Vec<u32> =
            units.iter().flat_map(|unit| self.schedule.frames_of(*unit).to_vec()).collect();
        let mut batches = frames.chunks(most);
        let (mut ahead, mut coded_frames) = (VecDeque::new(), Vec::new());
        for &unit in units {
            // Not locked while other threads are waited for.
            let near = self.schedule.normal_references(unit);
            let earlier: Vec<Arc<Vec<i16>>> = (near.iter())
                .map(|frame| own.get(frame).cloned().or_else(|| self.key(*frame)).unwrap_or_default())
                .collect();
            let earlier: Vec<&[i16]> = earlier.iter().map(|states| &states[..]).collect();
            let (mut unit_encoder, mut bytes) = (self.encoder.begin_unit(&earlier), Vec::new());
            let frames = self.schedule.frames_of(unit);
            for &frame in &frames[..] {
                if ahead.is_empty() {
                    self.check_frames(&coded_frames, decoded)?;
                    coded_frames.clear();
                    ahead = self.evaluate_frames(batches.next().unwrap_or_default())?;
                }
                let values = ahead.pop_front().unwrap_or_default();
                let source = self.normal_source(frame, decoded, &values);
                let state = self.encoder.push_frame(&mut unit_encoder, &source).0.to_vec();
                coded_frames.push((frame, state, values));
            }
            let states = unit_encoder.finish(&mut bytes);
            own.extend(frames.iter().copied().zip(states.into_iter().map(Arc::new)));
            out.push(bytes);
        }
        self.check_frames(&coded_frames, decoded)?;
        let mut held = self.states.write().unwrap_or_else(PoisonError::into_inner);
        held.extend(own.into_iter().filter(|(frame, _)| self.schedule.key_of(*frame).is_some()));
        Ok(out)
    }

    /// Returns the states of a key.
    fn key(&self, frame: u32) -> Option<Arc<Vec<i16>>> {
        self.states.read().unwrap_or_else(PoisonError::into_inner).get(&frame).cloned()
    }

    /// Evaluates the values of the source in some frames.
    fn evaluate_frames(&self, frames: &[u32]) -> Result<VecDeque<Arc<VertexValues>>, Error> {
        let tangents = self.encoder.decoder().has_tangents();
        let values =
            |&frame: &u32| self.source.frame(frame, || evaluate(&self.plan, &self.fixed, frame, tangents));
        frames.par_iter().map(values).collect()
    }

    /// Returns what a frame's states are made from.
    fn normal_source<'s, P>(
        &'s self,
        frame: u32,
        decoded: &'s BTreeMap<u32, Vec<P>>,
        values: &'s VertexValues,
    ) -> NormalSource<'s, P> {
        NormalSource {
            points: decoded.get(&frame).map_or(&[][..], Vec::as_slice),
            normals: &values.normals,
            tangents: if self.encoder.decoder().has_tangents() { &values.tangents } else { &[] },
            transforms: frame_transforms(&self.transforms, frame),
        }
    }

    /// Checks the error of frames, with their states.
    fn check_frames<P: IntegerPoint>(
        &self,
        frames: &[(u32, Vec<i16>, Arc<VertexValues>)],
        decoded: &BTreeMap<u32, Vec<P>>,
    ) -> Result<(), Error> {
        frames.par_iter().try_for_each(|(frame, state, values)| {
            self.check_tolerance(*frame, &self.normal_source(*frame, decoded, values), state, values)
        })
    }

    /// Computes the normals that the player will show, and checks their error.
    fn check_tolerance<P: IntegerPoint>(
        &self,
        frame: u32,
        source: &NormalSource<'_, P>,
        state: &[i16],
        values: &VertexValues,
    ) -> Result<(), Error> {
        let decoder = self.encoder.decoder();
        let count = values.normals.len();
        let (mut normals, mut tangents) = (vec![[0.0; 3]; count], vec![[0.0; 4]; count]);
        let out = Directions {
            normals: Some(&mut normals),
            tangents: decoder.has_tangents().then_some(&mut tangents[..]),
        };
        let frame_made =
            NormalsFrame { points: P::kind(source.points), state, transforms: source.transforms };
        decoder.write(frame_made.into(), &mut decoder.buffers(), out);
        let error = streams::max_angle(&normals, &values.normals);
        let error = match decoder.has_tangents() {
            true => error.max(streams::max_angle(&tangents, &values.tangents)),
            false => error,
        };
        self.plan.check_tolerance(&self.plan.streams[self.stream], error, frame as usize)
    }
}

/// Returns `true` if a stream is the uvs that tangents follow.
fn are_constant_uvs(record: &StreamRecord) -> bool {
    record.semantic == Semantic::Uv && record.set == 0 && !record.animated
}

/// Returns, by vertex, the index of its point in the order of positions; and decoded uvs, for tangents.
fn position_indices_and_uvs(
    plan: &MeshPlan,
    points: &MeshPoints,
    positions: &dyn StreamCoder,
    tangents: bool,
) -> (Vec<u32>, Vec<[f32; 2]>) {
    let uvs = match plan.streams.iter().position(are_constant_uvs) {
        Some(at) if tangents => constant_uvs(&plan.streams[at], &plan.bases[at]),
        _ => Vec::new(),
    };
    (points.places(positions.order()), uvs)
}

fn shape<'s>(
    fixed: &'s FixedLayout,
    place: &'s [u32],
    uvs: &'s [[f32; 2]],
    (first, rest): (&'s FirstFrame, Option<&'s RigidMotion>),
) -> MeshGeometry<'s> {
    MeshGeometry {
        triangles: fixed.indices.as_chunks::<3>().0,
        point: place,
        uvs,
        grid: fixed.grid.as_ref().map(|grid| grid.shape),
        first: first.as_points(),
        point_bones: rest.map(|rest| PointBones { bones: &rest.bones, rigid: rest.rigid }),
    }
}

/// Returns the transforms of a frame, if there are any.
fn frame_transforms(transforms: &[Vec<Transform>], frame: u32) -> &[Transform] {
    transforms.get(frame as usize).map_or(&[], Vec::as_slice)
}

fn evaluate(plan: &MeshPlan, fixed: &FixedLayout, frame: u32, tangents: bool) -> Result<VertexValues, Error> {
    let (mut scratch, mut values) = (Scratch::default(), VertexValues::default());
    let want = RequestedValues { normals: true, tangents, ..RequestedValues::default() };
    let (source, prepared) = (&plan.source, &plan.prepared);
    fixed.evaluate(source, prepared, frame as usize, want, &mut scratch, &mut values)?;
    Ok(values)
}

/// Returns the decoded uvs of a static set.
fn constant_uvs(record: &StreamRecord, base: &Quantized) -> Vec<[f32; 2]> {
    crate::with_quantized!(base, levels => {
        let count = levels.len() / 2;
        let at = |k: usize, v: usize| record.axes[k].value(Code::to_u32(levels[k * count + v]));
        (0..count).map(|v| [at(0, v), at(1, v)]).collect()
    })
}

/// A stream for which a coder is being made.
struct NormalStream {
    plan: Arc<MeshPlan>,
    fixed: Arc<FixedLayout>,
    tangents: bool,
    source: Arc<SourceNormals>,
    frames: u32,
    transforms: Arc<Vec<Vec<Transform>>>,
}

impl NormalStream {
    fn frame(&self, frame: u32, tangents: bool) -> Result<Arc<VertexValues>, Error> {
        self.source.frame(frame, || evaluate(&self.plan, &self.fixed, frame, tangents))
    }

    /// Returns, by vertex, a group number; the vertices of a group have equal normals in all frames.
    fn groups(&self) -> Result<Vec<u32>, Error> {
        let fixed = &self.fixed;
        if self.plan.prepared.channels.normals == NormalOrigin::Generated {
            let group = |&corner: &u32| {
                let group = fixed.groups.corner.get(corner as usize);
                group.map_or(0, |&g| g.wrapping_add(1))
            };
            let groups: Vec<u32> = fixed.vertex_corner.iter().map(group).collect();
            return Ok(NormalSharing::new(&groups).classes().to_vec());
        }
        let mut sharing = NormalSharing::new(&vec![0; fixed.vertex_point.len()]);
        let all: Vec<u32> = (0..self.frames).collect();
        let batch = MAX_HELD_VERTICES / fixed.vertex_point.len().max(1);
        for batch in all.chunks(batch.clamp(rayon::current_num_threads().min(BATCH), BATCH)) {
            // Tangents too if they are kept, and not needed a second time.
            let tangents = self.tangents && !self.source.keeps_none();
            let values: Vec<Arc<VertexValues>> =
                batch.par_iter().map(|&frame| self.frame(frame, tangents)).collect::<Result<_, Error>>()?;
            values.iter().for_each(|v| sharing.split_by_normals(&v.normals));
        }
        Ok(sharing.classes().to_vec())
    }

    fn encoder(
        &mut self,
        shape: MeshGeometry<'_>,
        wanted: NormalSettings<'_>,
        positions: &dyn StreamCoder,
    ) -> Result<Option<Encoder>, Error> {
        let most = (MAX_HELD_VERTICES / shape.point.len().max(1)).clamp(MIN_SAMPLES, SAMPLES);
        let apart = (self.frames as usize).div_ceil(most).max(1);
        let frames: Vec<u32> = (0..self.frames).step_by(apart).collect();
        let evaluated = frames.par_iter().map(|&frame| self.frame(frame, self.tangents));
        let values: Vec<Arc<VertexValues>> = evaluated.collect::<Result<_, Error>>()?;
        each_width!(positions.sample_frames(&frames)?, decoded => self.make_encoder(shape, wanted, &decoded, &values))
    }

    fn make_encoder<P: IntegerPoint>(
        &self,
        shape: MeshGeometry<'_>,
        wanted: NormalSettings<'_>,
        decoded: &BTreeMap<u32, Vec<P>>,
        values: &[Arc<VertexValues>],
    ) -> Result<Option<Encoder>, Error> {
        let samples: Vec<NormalSource<'_, P>> = (decoded.iter().zip(values))
            .map(|((&frame, points), values)| NormalSource {
                points,
                normals: &values.normals,
                tangents: if self.tangents { &values.tangents } else { &[] },
                transforms: frame_transforms(&self.transforms, frame),
            })
            .collect();
        // Fails if the mesh is beyond what it can describe: then quantized values are used.
        Ok(Encoder::new(shape, wanted, &samples).ok())
    }
}
