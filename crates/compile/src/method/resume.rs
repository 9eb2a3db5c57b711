//! Stores the decisions on a mesh's frames, and continues from stored ones.

use crate::Error;
use crate::decisions::{CoderDecisions, MeshDecisions, SkinDecisions, StreamDecisions};
use crate::mesh::analysis::MeshAnalysis;
use crate::mesh::plan::MeshPlan;
use crate::mesh::plan::Plans;
use crate::method::coder::Payload;
use crate::method::coder::StreamCoder;
use crate::method::coder::{KnownKey, KnownKeys};
use crate::method::mesh_coder::{CoderInput, MeshCoder, effort_ladder, packed_units, part_coders};
use crate::method::normal_coder::NormalCoder;
use crate::method::particles::ParticlesCoder;
use crate::method::skin;
use meshreel_codec::record::Method;
use meshreel_codec::schedule::Schedule;
use meshreel_options::{Options, Preset};
use rayon::prelude::*;
use std::sync::Arc;

/// Returns the keys of a segment of the frames of a mesh, by the numbers of the mesh and the segment.
pub type AllKnownKeys = Arc<dyn Fn(usize, u32) -> Result<Option<Vec<KnownKey>>, Error> + Send + Sync>;

/// A stretch of frames to code from stored decisions: the source of keys that are already coded, and the
/// first and the last frame.
pub struct FrameSpan {
    pub keys: AllKnownKeys,
    pub frames: [u32; 2],
}

/// Creates the coders of all meshes from the decisions of [`MeshCoder::decisions`].
pub fn resume_coders(
    plans: &Plans,
    schedule: Schedule,
    options: &Arc<Options>,
    decided: &[MeshDecisions],
    span: &FrameSpan,
) -> Result<Vec<MeshCoder>, Error> {
    let ladder = effort_ladder(options);
    let resume = |(m, ((plan, _), decided)): (usize, (&(Arc<MeshPlan>, _), &MeshDecisions))| {
        let mut coder = MeshCoder::resume(&CoderInput::new(plan), schedule, &ladder, decided)?;
        match (&mut coder.fluid, &mut coder.particles) {
            (Some(fluid), _) => fluid.restrict_to(span.frames),
            (_, Some(particles)) => particles.resume(decided.chains, span.frames),
            _ => {
                let keys = span.keys.clone();
                coder.known = Some(Box::new(move |segment| keys(m, segment)));
            }
        }
        Ok(coder)
    };
    plans.par_iter().zip(decided).enumerate().map(resume).collect()
}

impl MeshCoder {
    /// Creates the coder from the decisions of [`MeshCoder::decisions`].
    fn resume(
        input: &CoderInput,
        schedule: Schedule,
        ladder: &[Arc<Options>],
        decided: &MeshDecisions,
    ) -> Result<MeshCoder, Error> {
        let CoderInput { plan, points, frames } = input;
        let options = ladder.iter().find(|options| options.effort == decided.effort);
        let options =
            options.ok_or_else(|| Error::Malformed { what: "an effort that was not tried".into() })?;
        let packed = if decided.packed { packed_units(options) } else { options.clone() };
        let options = &packed;
        let mut coder = MeshCoder::empty(input, schedule, options)?;
        let schedule = coder.schedule;
        let bad = || Error::Malformed { what: format!("{}: its streams", plan.path) };
        if decided.streams.len() != frames.len() || decided.normals.len() > plan.streams.len() {
            return Err(bad());
        }
        for (s, (parts, own)) in frames.iter().zip(&decided.streams).enumerate() {
            let skin = decided.skin.as_ref().filter(|_| s == 0);
            let (made, wide) = match (skin, &parts[..]) {
                (Some(skin), [positions]) => {
                    let made = skin::resume(positions, schedule, options, skin)?;
                    coder.bones = Some((made.bones, made.method()));
                    (vec![made.coder], made.wide)
                }
                (None, _) if own.parts.is_empty() => Default::default(),
                (None, parts) if own.parts.len() == parts.len() => {
                    let count = schedule.frames() as usize;
                    let made = match own.wide {
                        false => part_coders::<i16>(parts, count, options, Some(&own.parts))?,
                        true => part_coders::<i32>(parts, count, options, Some(&own.parts))?,
                    };
                    (made.ok_or_else(bad)?, own.wide)
                }
                _ => return Err(bad()),
            };
            coder.fixed_point.push(made);
            coder.wide.push(wide);
        }
        let positions = coder.fixed_point.first().and_then(|parts| parts.first());
        if let (Some(positions), Some(points)) = (positions, points) {
            let predict = |(stream, bytes): (usize, &Option<Vec<u8>>)| {
                let again = |bytes: &Vec<u8>| {
                    let how = (&**options, &bytes[..]);
                    NormalCoder::resume(plan, points, &**positions, stream, schedule, how)
                };
                bytes.as_ref().map(again).transpose()
            };
            coder.normals = decided.normals.iter().enumerate().map(predict).collect::<Result<_, Error>>()?;
        }
        coder.add_quantized();
        match coder.has_bases() {
            true => Ok(coder),
            false => Err(bad()),
        }
    }

    /// Returns `true` if the first frame's values are present for all streams that need them.
    fn has_bases(&self) -> bool {
        let (plan, fixed) = (&self.plan, self.plan.prepared.fixed.as_ref());
        let Some(fixed) = fixed else { return true };
        let vertices = fixed.vertex_point.len();
        let whole = |s: usize| plan.bases[s].len() == vertices * plan.streams[s].semantic.components();
        let table = self.needs_table().then_some(plan.has_table);
        (0..plan.streams.len()).all(|s| !self.is_quantized(s) || whole(s)) && table != Some(false)
    }

    /// Returns `true` if frames are predicted with the table.
    fn needs_table(&self) -> bool {
        self.quantized.as_ref().is_some_and(|levels| !levels.streams.is_empty())
    }

    /// Returns the checksum of everything computed from the first frame that frames are coded against.
    pub fn static_checksum(&self) -> u64 {
        let parts = self.fixed_point.iter().flatten().map(|part| part.static_bytes());
        let normals = self.normals.iter().flatten().map(NormalCoder::static_bytes);
        meshreel_format::checksum(&parts.chain(normals).collect::<Vec<_>>().concat())
    }

    /// Returns the decisions on the mesh, for [`resume_coders`].
    pub fn decisions(&self) -> MeshDecisions {
        let mut skin = None;
        let mut part = |coder: &dyn StreamCoder| match coder.decisions() {
            CoderDecisions::Part(part) => Some(part),
            CoderDecisions::Skin(own) => {
                let blends = self.bones.is_some_and(|bones| bones.1 == Method::Skinned);
                skin = Some(SkinDecisions { blends, ..*own });
                None
            }
        };
        let streams = self.fixed_point.iter().zip(&self.wide);
        let streams = streams.map(|(parts, &wide)| StreamDecisions {
            wide,
            parts: parts.iter().filter_map(|coder| part(&**coder)).collect(),
        });
        let levels: Vec<bool> = (0..self.plan.streams.len()).map(|s| self.is_quantized(s)).collect();
        MeshDecisions {
            analysis: MeshAnalysis::new(&self.plan, &levels, self.needs_table()),
            error_bound: self.plan.error_bound,
            explicit_normals: self.plan.explicit_normals,
            effort: self.options.effort,
            packed: self.options.preset == Preset::Fast,
            static_checksum: self.static_checksum(),
            streams: streams.collect(),
            normals: self.normals.iter().map(|n| n.as_ref().map(|n| n.static_bytes().to_vec())).collect(),
            skin,
            chains: self.particles.as_ref().is_some_and(ParticlesCoder::has_chains),
        }
    }

    /// Returns the approximate bytes of a mesh's keys in a plan; `None` if frames refer to no keys.
    pub fn known_size(&self) -> Option<u64> {
        let moves = self.fluid.is_none() && self.particles.is_none() && self.constant_bounds().is_none();
        let points = self.plan.prepared.scan.points as u64;
        moves.then(|| u64::from(self.schedule().keys()) * points * KEY_BYTES)
    }

    /// Returns the keys of all segments of its own frames, coded.
    pub fn known_keys(&self) -> Result<Vec<(u32, Vec<KnownKey>)>, Error> {
        let segments = (0..self.schedule.segments()).into_par_iter();
        let all: Vec<_> = segments.map(|s| Ok((s, self.coded_keys(s)?))).collect::<Result<_, Error>>()?;
        self.forget_all();
        Ok(all)
    }

    fn coded_keys(&self, segment: u32) -> Result<Vec<KnownKey>, Error> {
        let keys = self.schedule.segment(segment);
        let known = |(payload, key): (Payload, u32)| {
            let frame = self.schedule.key_frame(key);
            let cells = self.fixed_point.iter().flatten().map(|part| part.key_state(key).unwrap_or_default());
            let normals = self.normals.iter().map(|own| own.as_ref().and_then(|own| own.key_state(frame)));
            KnownKey { payload, fixed_point_states: cells.collect(), normals: normals.collect() }
        };
        Ok(self.own_segment(segment)?.into_iter().zip(keys).map(known).collect())
    }

    /// Registers the stored keys of a segment as if it had been coded.
    pub(super) fn known_segment(
        &self,
        segment: u32,
        known: &KnownKeys,
    ) -> Result<Option<Vec<Payload>>, Error> {
        let Some(all) = known(segment)? else { return Ok(None) };
        let bad = || Error::Malformed { what: format!("{}: its keys", self.plan.path) };
        let keys = self.schedule.segment(segment);
        if all.len() != keys.len() {
            return Err(bad());
        }
        let mut out = Vec::new();
        for (key, KnownKey { payload, fixed_point_states: cells, normals }) in keys.zip(all) {
            let frame = self.schedule.key_frame(key);
            let parts: Vec<_> = self.fixed_point.iter().flatten().collect();
            let own = normals.len() == self.normals.len() && cells.len() == parts.len();
            let hold = |(own, bytes): (&Option<NormalCoder>, &Option<Vec<u8>>)| match (own, bytes) {
                (Some(own), Some(bytes)) => own.restore_key(frame, bytes),
                (own, bytes) => own.is_none() && bytes.is_none(),
            };
            let fits = own
                && payload.measures.iter().all(|seen| seen.0 == frame)
                && parts.iter().zip(&cells).all(|(part, bytes)| part.restore_key(key, bytes))
                && self.normals.iter().zip(&normals).all(hold);
            if !fits {
                return Err(bad());
            }
            out.push(payload);
        }
        Ok(Some(out))
    }
}

/// Bytes of a point in a stored key: decoded, with the states of its normals and its coded bytes.
const KEY_BYTES: u64 = 24;
