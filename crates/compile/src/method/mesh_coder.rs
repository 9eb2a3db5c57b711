//! Frames of a layered file (presets small and fast): the units of [`meshreel_codec::schedule`]. Keys of a
//! segment are coded one after the other, everything else in parallel: meshes, segments, groups.

use crate::codec_terms::block_format;
use crate::decisions::PartDecisions;
use crate::mesh::plan::{MeshPlan, Plans};
use crate::mesh::skin_search::SkinSearch;
use crate::method::coder::{
    CodedUnits, DecodedByWidth, FrameMeasure, FrameMeasures, KnownKeys, Payload, StreamCoder, Width,
};
use crate::method::decoding_time::PositionForm;
use crate::method::estimate::{SegmentSample, SegmentedCoder, estimate_size};
use crate::method::fluid::{FluidCoder, RunMaps};
use crate::method::lead_in_out::LeadInOut;
use crate::method::normal_coder::NormalCoder;
use crate::method::particles::ParticlesCoder;
use crate::method::points::{self, MeshPoints, PointFrames};
use crate::method::quantized::{QuantizedCoder, QuantizedUnit};
use crate::method::skin::{self, ChosenMethod};
use crate::method::uvs;
use crate::report::{BoneMeasures, TriedMethod};
use crate::{Error, with_quantized};
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::put_length_prefixed;
use meshreel_codec::record::source_map::SourceMap;
use meshreel_codec::record::{
    BoneCounts, CODEC_CLASSIC, CODEC_FAST, CODEC_SMALL, Coding, Method, Semantic, StreamRecord,
};
use meshreel_codec::schedule::{KEY_INTERVAL, Schedule, Unit};
use meshreel_codec::topology::weld;
use meshreel_codec::values::parallelogram::{self, PredictorTable};
use meshreel_codec::values::particles::chain::ChainCoding;
use meshreel_options::{MethodChoice, Options, Preset};
use meshreel_scene::Remark;
use rayon::prelude::*;
use std::sync::{Arc, PoisonError};

/// A part of a stream, unit by unit.
type PartUnits = Vec<(Vec<u8>, FrameMeasures)>;

/// A mesh as its coders read it.
pub struct CoderInput {
    pub plan: Arc<MeshPlan>,
    /// The points of a mesh with streams of fixed-point values; `None` for other meshes.
    pub points: Option<Arc<MeshPoints>>,
    /// By stream, the frames of its parts, for streams that can be fixed-point values.
    pub frames: Vec<Vec<Arc<PointFrames>>>,
}

impl CoderInput {
    /// Finds the points and the frames of the streams of a mesh.
    pub fn new(plan: &Arc<MeshPlan>) -> CoderInput {
        let plan = plan.clone();
        let Some(fixed) = plan.prepared.fixed.clone().filter(|_| plan.method == Method::Soft) else {
            return CoderInput { plan, points: None, frames: Vec::new() };
        };
        let points = Arc::new(MeshPoints::new(&fixed));
        let parts = |record: &StreamRecord| match record.animated && record.semantic.has_axes() {
            true => points::point_frames(&plan, &fixed, &points, record),
            false => Vec::new(),
        };
        let frames = plan.streams.iter().map(parts).collect();
        CoderInput { plan, points: Some(points), frames }
    }
}

/// Chooses the method and the settings of every mesh: the coder that takes the fewest bytes. The preset
/// classic has no coders.
pub fn choose_coders(
    plans: &Plans,
    schedule: Schedule,
    options: &Arc<Options>,
) -> Result<Vec<MeshCoder>, Error> {
    if options.preset == Preset::Classic {
        return Ok(Vec::new());
    }
    let ladder = effort_ladder(options);
    let meshes = plans.par_iter();
    meshes.map(|(plan, _)| MeshCoder::smallest(&CoderInput::new(plan), schedule, &ladder)).collect()
}

/// Returns the options with several efforts up to the requested one, so that more effort never takes more
/// bytes than less.
pub fn effort_ladder(options: &Arc<Options>) -> Vec<Arc<Options>> {
    let with = |&effort: &u32| Arc::new(Options { effort, ..Options::clone(options) });
    let steps = TRIED_EFFORTS.iter().filter(|&&step| step <= options.effort);
    let all: Vec<Arc<Options>> = steps.map(with).collect();
    match &all[..] {
        [] => vec![options.clone()],
        _ => all,
    }
}

/// Returns the options with the units of the preset fast.
pub fn packed_units(options: &Arc<Options>) -> Arc<Options> {
    Arc::new(Options { preset: Preset::Fast, ..Options::clone(options) })
}

/// Efforts that are tried; those between are seldom better than these, and often worse.
const TRIED_EFFORTS: [u32; 5] = [2, 5, 6, 7, 9];
/// Meshes with more points × frames than this are so large that the best effort does not depend on chance: up
/// to the default effort only the requested one is tried.
const MAX_LADDER_VALUES: usize = 1 << 18;

/// Returns the options of the ladder that are tried for a mesh with `values` points × frames.
pub fn tried_options(ladder: &[Arc<Options>], values: usize) -> &[Arc<Options>] {
    match (values > MAX_LADDER_VALUES, ladder) {
        (true, [_, own] | [own]) => std::slice::from_ref(own),
        _ => ladder,
    }
}

/// The coders of a mesh.
pub struct MeshCoder {
    pub(super) plan: Arc<MeshPlan>,
    pub(super) points: Option<Arc<MeshPoints>>,
    pub(super) options: Arc<Options>,
    /// Units of the frames in which the mesh moves.
    pub(super) schedule: Schedule,
    lead_in_out: Option<LeadInOut>,
    /// By stream, its parts; empty for streams kept as quantized values.
    pub(super) fixed_point: Vec<Vec<Box<dyn StreamCoder>>>,
    /// By stream, `true` if fixed-point values are 32 bits wide.
    pub(super) wide: Vec<bool>,
    /// By stream, the coder that predicts it from the positions.
    pub(super) normals: Vec<Option<NormalCoder>>,
    pub(super) quantized: Option<QuantizedCoder>,
    /// Coder of frames with triangles of their own.
    pub(super) fluid: Option<FluidCoder>,
    /// Points without faces.
    pub(super) particles: Option<ParticlesCoder>,
    /// The bones that move positions, and the method.
    pub(super) bones: Option<(BoneCounts, Method)>,
    /// Keys that were coded elsewhere.
    pub(super) known: Option<KnownKeys>,
    /// Methods that were tried, for `--explain`.
    pub tried: Vec<TriedMethod>,
    /// Remarks for the user.
    pub remarks: Vec<Remark>,
}

impl MeshCoder {
    /// Returns the smallest of the coders that the options of [`effort_ladder`] give for the requested
    /// effort: a longer search can end in a worse place than a shorter one, and the best settings for
    /// positions need not be the best for the normals that are predicted from them.
    pub fn smallest(
        input: &CoderInput,
        schedule: Schedule,
        ladder: &[Arc<Options>],
    ) -> Result<MeshCoder, Error> {
        let plan = &input.plan;
        let work = &plan.skin_search.work;
        work.trying("settings");
        let new = |options| MeshCoder::new(input, schedule, options, &plan.skin_search);
        let moves = plan.method == Method::Soft && plan.streams[0].animated;
        let values = plan.prepared.scan.points * schedule.frames() as usize;
        let Some((own, below)) = tried_options(ladder, values).split_last() else {
            return Err(Error::misuse("no options to choose from"));
        };
        if !moves || below.is_empty() {
            let coder = new(own);
            work.count_set();
            work.finish();
            return coder;
        }
        let size = |coder: &MeshCoder| {
            let sample = SegmentSample::new(plan.prepared.scan.points, coder.schedule, own.effort);
            Ok::<_, Error>(estimate_size(coder, coder.schedule, sample, own)? + coder.decoding_bytes(own))
        };
        let mut best = new(own).and_then(|coder| Ok((size(&coder)?, coder)));
        work.count_set();
        // Bones of a small mesh take so few bytes that entropy coding with its tables may take more.
        let is_skinned = best.as_ref().is_ok_and(|(_, coder)| coder.method() == Method::Skinned);
        let packed: Vec<Arc<Options>> = match is_skinned && own.preset == Preset::Small {
            true => tried_options(ladder, values).iter().map(packed_units).collect(),
            false => Vec::new(),
        };
        // Most work first, so that of equals it is taken.
        for options in below.iter().rev().chain(packed.iter().rev()) {
            work.trying("settings");
            let made = new(options).ok().map(|coder| size(&coder).map(|bytes| (bytes, coder)));
            work.count_set();
            let Some((bytes, coder)) = made.transpose()? else { continue };
            if best.as_ref().map_or(true, |best| bytes < best.0) {
                best = Ok((bytes, coder));
            }
        }
        work.finish();
        best.map(|best| best.1)
    }

    /// Chooses settings and codes static data: most of the work of a short animation.
    pub fn new(
        input: &CoderInput,
        schedule: Schedule,
        options: &Arc<Options>,
        found: &SkinSearch,
    ) -> Result<MeshCoder, Error> {
        MeshCoder::of_positions(input, schedule, options, found)?.with_others(input, options, found)
    }

    /// Returns the coder that [`MeshCoder::new`] makes if bones with weights move its positions; `None` if
    /// another method is smaller.
    pub fn skinned(
        input: &CoderInput,
        schedule: Schedule,
        options: &Arc<Options>,
        found: &SkinSearch,
    ) -> Result<Option<MeshCoder>, Error> {
        let coder = MeshCoder::of_positions(input, schedule, options, found)?;
        match coder.method() {
            Method::Skinned => coder.with_others(input, options, found).map(Some),
            _ => Ok(None),
        }
    }

    /// Makes the coders of fixed-point values, and chooses the method of positions.
    fn of_positions(
        input: &CoderInput,
        schedule: Schedule,
        options: &Arc<Options>,
        found: &SkinSearch,
    ) -> Result<MeshCoder, Error> {
        let frames = &input.frames;
        let mut coder = MeshCoder::empty(input, schedule, options)?;
        let schedule = coder.schedule;
        for parts in frames {
            let count = schedule.frames() as usize;
            let narrow = part_coders::<i16>(parts, count, options, None)?;
            let made = match narrow {
                Some(made) => Some((made, false)),
                None => part_coders::<i32>(parts, count, options, None)?.map(|made| (made, true)),
            };
            let (made, wide) = made.unwrap_or_default();
            coder.fixed_point.push(made);
            coder.wide.push(wide);
        }
        coder.choose_bones(frames, found)?;
        Ok(coder)
    }

    /// Adds the coders of all streams but fixed-point values.
    fn with_others(
        mut self,
        CoderInput { plan, points, .. }: &CoderInput,
        options: &Arc<Options>,
        found: &SkinSearch,
    ) -> Result<MeshCoder, Error> {
        let positions = self.fixed_point.first().and_then(|parts| parts.first());
        if let (Some(positions), Some(points)) = (positions, points) {
            let predict =
                |stream| NormalCoder::new(plan, points, &**positions, stream, self.schedule, options, found);
            let all = (0..plan.streams.len()).map(predict);
            self.normals = all.collect::<Result<_, Error>>()?;
        }
        self.add_quantized();
        Ok(self)
    }

    /// Creates a coder without streams.
    pub(super) fn empty(
        CoderInput { plan, points, .. }: &CoderInput,
        schedule: Schedule,
        options: &Arc<Options>,
    ) -> Result<MeshCoder, Error> {
        let still = LeadInOut::new(plan, schedule)?;
        let schedule = still.as_ref().map_or(schedule, |s| s.file.within(s.window));
        let coding = match options.preset {
            Preset::Fast => ChainCoding::Packed,
            _ => ChainCoding::Adaptive,
        };
        Ok(MeshCoder {
            plan: plan.clone(),
            points: points.clone(),
            options: options.clone(),
            schedule,
            lead_in_out: still,
            fixed_point: Vec::new(),
            wide: Vec::new(),
            normals: Vec::new(),
            quantized: None,
            fluid: (plan.method == Method::Fluid)
                .then(|| FluidCoder::new(plan.clone(), schedule, options.clone())),
            particles: (plan.method == Method::Particles)
                .then(|| ParticlesCoder::new(plan.clone(), schedule, coding)),
            bones: None,
            known: None,
            tried: Vec::new(),
            remarks: Vec::new(),
        })
    }

    /// Adds a coder for the streams that are neither fixed-point values nor predicted, as quantized values.
    pub(super) fn add_quantized(&mut self) {
        let (plan, schedule, options) = (self.plan.clone(), self.schedule, self.options.clone());
        if let (Some(fixed), Method::Soft) = (&plan.prepared.fixed, plan.method) {
            let left = |&s: &usize| plan.streams[s].animated && self.is_quantized(s);
            let streams = (0..plan.streams.len()).filter(left).collect();
            let fixed = fixed.clone();
            self.quantized = Some(QuantizedCoder { plan, fixed, streams, schedule, options });
        }
    }

    /// Replaces the soft codec alone by bones, if they are smaller.
    fn choose_bones(&mut self, frames: &[Vec<Arc<PointFrames>>], found: &SkinSearch) -> Result<(), Error> {
        let Some([positions]) = frames.first().map(Vec::as_slice) else {
            return Ok(());
        };
        let Some(soft) = self.fixed_point.first().and_then(|parts| parts.first()) else {
            return Ok(());
        };
        let (plan, schedule) = (self.plan.clone(), self.schedule);
        let ChosenMethod { made, tried, remarks } =
            skin::choose_method(&plan, positions, (&**soft, self.wide[0]), schedule, &self.options, found)?;
        if self.options.strict && !remarks.is_empty() {
            return Err(Error::Strict { remarks });
        }
        (self.tried, self.remarks) = (tried, remarks);
        let forced = match plan.requested_method {
            MethodChoice::Rigid => Some("rigid"),
            MethodChoice::Skinned => Some("skinned"),
            _ => None,
        };
        if let (Some(name), None) = (forced, &made) {
            return Err(Error::Unsupported {
                what: format!(
                    "{}: --method {name} finds nothing in its motion, or has not the memory to look; leave --method away, or raise --memory",
                    plan.path
                ),
            });
        }
        if let Some(made) = made {
            self.bones = Some((made.bones, made.method()));
            self.wide[0] = made.wide;
            self.fixed_point[0] = vec![made.coder];
        }
        Ok(())
    }

    /// Returns the bytes that the decoding time of positions is worth.
    pub fn decoding_bytes(&self, options: &Options) -> u64 {
        let form = PositionForm {
            wide: self.wide.first().is_some_and(|wide| *wide),
            bones: self.bones.map(|(bones, _)| bones),
        };
        match self.fixed_point.first() {
            Some(parts) if !parts.is_empty() => {
                form.bytes((self.plan.prepared.scan.points, self.schedule.frames()), options)
            }
            _ => 0,
        }
    }

    /// Returns the sizes of bones and residuals, once all frames are coded.
    pub fn measures(&self) -> BoneMeasures {
        let positions = self.fixed_point.first().and_then(|parts| parts.first());
        positions.map_or(BoneMeasures::default(), |coder| coder.measures())
    }

    /// Returns, by vertex, the part that rigidly moves it, or [`meshreel_process::parts::NO_PART`]; empty
    /// without parts.
    pub fn parts(&self) -> Vec<u32> {
        let positions = self.fixed_point.first().and_then(|parts| parts.first());
        let of_point = positions.map_or(Vec::new(), |coder| coder.parts());
        match &self.points {
            Some(points) if !of_point.is_empty() => {
                points.vertex_point.iter().map(|&p| of_point[p as usize]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the number of rigid parts, and of bones with weights.
    pub fn bones(&self) -> [usize; 2] {
        let bones = self.bones.map_or(BoneCounts::default(), |b| b.0);
        [bones.rigid as usize, bones.affine as usize]
    }

    /// Returns the method that is stored in the file.
    pub fn method(&self) -> Method {
        self.bones.map_or(self.plan.method, |b| b.1)
    }

    /// Returns `true` if units keep its animated attributes apart.
    pub fn has_separate_attributes(&self) -> bool {
        let mut attributes = self.plan.streams.iter().skip(1);
        let animated = attributes.any(|s| s.animated) && self.plan.method == Method::Soft;
        self.options.attributes_apart && animated
    }

    /// Returns `true` if a stream is kept as quantized values.
    pub(super) fn is_quantized(&self, stream: usize) -> bool {
        let cells = self.fixed_point.get(stream).is_some_and(|parts| !parts.is_empty());
        let predicted = self.normals.get(stream).is_some_and(Option::is_some);
        !(cells || predicted)
    }

    fn predicts(&self) -> bool {
        self.normals.iter().any(Option::is_some)
    }

    fn has_fixed_point(&self) -> bool {
        self.fixed_point.iter().any(|parts| !parts.is_empty())
    }

    /// Returns the records of the streams as in the file.
    pub fn records(&self) -> Vec<StreamRecord> {
        let of = |(s, record): (usize, &StreamRecord)| {
            if let Some(Some(normals)) = self.normals.get(s) {
                let (bits, states) = normals.sizes();
                return StreamRecord { coding: Coding::Predicted, word: 2, bits, states, ..record.clone() };
            }
            if self.is_quantized(s) {
                return record.clone();
            }
            let bones = self.bones.filter(|_| s == 0).map(|b| b.0);
            let heights = self.fixed_point[s].iter().any(|part| part.has_heights());
            let coding = match bones {
                Some(_) => Coding::Bones,
                None if heights => Coding::Heights,
                None => Coding::FixedPoint,
            };
            StreamRecord {
                coding,
                bones: bones.unwrap_or_default(),
                word: if self.wide[s] { 4 } else { 2 },
                bits: 0,
                axes: Vec::new(),
                ..record.clone()
            }
        };
        self.plan.streams.iter().enumerate().map(of).collect()
    }

    /// Returns the codec of the mesh's frames, and the number of points with fixed-point positions.
    pub fn codec(&self) -> (u8, u32) {
        let fast = self.options.preset == Preset::Fast;
        let codec = if fast { CODEC_FAST } else { CODEC_SMALL };
        match (&self.fluid, self.has_fixed_point(), &self.points) {
            (Some(fluid), ..) => (codec, fluid.points()),
            _ if self.particles.is_some() => {
                (self.particles.as_ref().and_then(ParticlesCoder::chain_codec).unwrap_or(codec), 0)
            }
            (_, true, Some(points)) => (codec, points.first_vertex.len() as u32),
            _ => (CODEC_CLASSIC, 0),
        }
    }

    /// Returns `true` if a predictor table is stored: not if there are only fixed-point values.
    pub fn has_table(&self) -> bool {
        let levels = |s| self.is_quantized(s);
        self.plan.has_table && (0..self.plan.streams.len()).any(levels)
    }

    /// Appends the data that is stored once; returns the bytes of positions among it.
    pub fn encode_values(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let mut position_bytes = 0;
        let compact = self.plan.prepared.fixed.as_ref().is_some_and(|fixed| fixed.compact.is_some());
        if let (true, false, Some(points)) = (self.has_fixed_point(), compact, &self.points) {
            weld::encode(&points.vertex_point, out);
        }
        let (table, coded) = self.static_table();
        out.extend_from_slice(&coded);
        for (s, record) in self.plan.streams.iter().enumerate() {
            if let Some(Some(normals)) = self.normals.get(s) {
                put_length_prefixed(normals.static_bytes(), out);
            } else if self.is_quantized(s) {
                let start = out.len();
                self.plan.encode_base(s, &table, out);
                let positions = self.fixed_point.first().and_then(|parts| parts.first());
                if let (Some(positions), Some(points)) = (positions, &self.points) {
                    uvs::shorten(&self.plan, points, &**positions, s, &self.options, (start, out));
                }
            } else {
                let parts = &self.fixed_point[s];
                parts.iter().for_each(|part| put_length_prefixed(part.static_bytes(), out));
            }
            if record.semantic == Semantic::Position {
                position_bytes = out.len() - start;
            }
        }
        position_bytes
    }

    /// Returns the table by which static values are predicted, and its bytes: the one chosen over positions,
    /// unless it only serves values that do not change. Then it is the one with which these take the fewest
    /// bytes.
    fn static_table(&self) -> (PredictorTable, Vec<u8>) {
        let (plan, mut bytes) = (&*self.plan, Vec::new());
        let (true, Some(fixed)) = (self.has_table(), &plan.prepared.fixed) else {
            return (PredictorTable::new(), bytes);
        };
        let quantized: Vec<usize> = (0..plan.streams.len()).filter(|&s| self.is_quantized(s)).collect();
        if quantized.iter().any(|&s| plan.streams[s].animated) {
            parallelogram::encode_table(&plan.table, &fixed.indices, &mut bytes);
            return (plan.table.clone(), bytes);
        }
        let mut compressor = Compressor::new(block_format(self.options.block), self.options.effort);
        let mut tried = |table: PredictorTable| {
            let (mut coded, mut all, mut compressed) = (Vec::new(), Vec::new(), Vec::new());
            parallelogram::encode_table(&table, &fixed.indices, &mut coded);
            all.extend_from_slice(&coded);
            quantized.iter().for_each(|&s| plan.encode_base(s, &table, &mut all));
            compressor.compress(&all, &mut compressed);
            (compressed.len(), table, coded)
        };
        let vertices = fixed.vertex_point.len();
        let first = tried(parallelogram::derive_table(&fixed.indices, vertices));
        let own = quantized.iter().find(|&&s| !matches!(plan.streams[s].semantic, Semantic::Position));
        let own = own.map(|&s| {
            let components = plan.streams[s].semantic.components();
            with_quantized!(&plan.bases[s], v => {
                tried(parallelogram::build_table(&fixed.indices, vertices, components, &[v]))
            })
        });
        let best =
            [Some(first), Some(tried(plan.table.clone())), own].into_iter().flatten().min_by_key(|t| t.0);
        best.map(|(_, table, coded)| (table, coded)).unwrap_or_default()
    }

    /// Returns the units of the frames in which the mesh moves.
    pub fn schedule(&self) -> Schedule {
        self.schedule
    }

    /// Codes the keys of a segment of the file, in order.
    pub fn segment(&self, segment: u32) -> Result<Vec<Payload>, Error> {
        let Some(still) = &self.lead_in_out else {
            return self.own_segment(segment);
        };
        let units: Vec<Unit> = still.file.segment(segment).map(Unit::Key).collect();
        let own = units.iter().find_map(|&u| still.file.unit_within(still.window, u));
        let own = match own {
            Some(Unit::Key(key)) => self.own_segment(key / self.schedule.restart())?,
            _ => Vec::new(),
        };
        Ok(still.file_payloads(&units, own))
    }

    pub(super) fn own_segment(&self, segment: u32) -> Result<Vec<Payload>, Error> {
        if let Some(known) = &self.known
            && let Some(payloads) = self.known_segment(segment, known)?
        {
            return Ok(payloads);
        }
        let units: Vec<Unit> = self.schedule.segment(segment).map(Unit::Key).collect();
        self.code_units(&units, |part, keep| part.segment(segment, keep))
    }

    /// Codes units with all coders of fixed-point positions, and joins the streams.
    fn code_units(
        &self,
        units: &[Unit],
        code: impl Fn(&dyn StreamCoder, bool) -> Result<CodedUnits, Error>,
    ) -> Result<Vec<Payload>, Error> {
        let mut parts: Vec<Vec<PartUnits>> = Vec::new();
        let mut decoded = None;
        for stream in &self.fixed_point {
            let mut of_stream = Vec::new();
            for part in stream {
                let keep = parts.is_empty() && self.predicts();
                let coded = code(&**part, keep)?;
                let measures = |unit: &Unit| {
                    let frames = self.schedule.frames_of(*unit);
                    coded.measures.iter().filter(|(frame, _)| frames.contains(frame)).copied().collect()
                };
                let measured = units.iter().map(measures).collect::<Vec<FrameMeasures>>();
                of_stream.push(coded.units.into_iter().zip(measured).collect());
                if keep {
                    decoded = Some(coded.decoded);
                }
            }
            parts.push(of_stream);
        }
        self.join_streams(units, parts, decoded)
    }

    /// Codes the units LowerLayers and TopLayer of a group of the file; the keys that it needs have been
    /// coded.
    pub fn group(&self, group: u32) -> Result<Vec<Payload>, Error> {
        let Some(still) = &self.lead_in_out else {
            return self.own_group(group);
        };
        let units = [Unit::LowerLayers(group), Unit::TopLayer(group)];
        let own = units.map(|u| still.file.unit_within(still.window, u));
        let ([Some(Unit::LowerLayers(g)), _] | [_, Some(Unit::TopLayer(g))]) = own else {
            return Ok(still.file_payloads(&units, Vec::new()));
        };
        let coded = self.own_group(g)?.into_iter().zip(own);
        let own = coded.filter(|(_, unit)| unit.is_some()).map(|c| c.0);
        Ok(still.file_payloads(&units, own.collect()))
    }

    /// Returns the end states of the mesh as bytes, if it stands still at the start or at the end, and the
    /// bytes of positions among them.
    pub fn end_states(&self) -> (Vec<u8>, usize) {
        let (mut bytes, mut positions) = (Vec::new(), 0);
        if let Some(still) = &self.lead_in_out {
            let ends = still.end_payloads.lock().unwrap_or_else(PoisonError::into_inner);
            for end in ends.iter().flatten() {
                put_length_prefixed(&[&end.bytes[..], &end.attributes].concat(), &mut bytes);
                positions += end.position_bytes;
            }
        }
        (bytes, positions)
    }

    /// Returns the two end states separately, as far as they have been coded.
    pub fn end_state_units(&self) -> [Option<Vec<u8>>; 2] {
        let Some(still) = &self.lead_in_out else {
            return [None, None];
        };
        let ends = still.end_payloads.lock().unwrap_or_else(PoisonError::into_inner);
        ends.each_ref().map(|end| end.as_ref().map(|end| [&end.bytes[..], &end.attributes].concat()))
    }

    /// Returns the data of a mesh whose faces change that is known only when frames have been coded: source
    /// maps, and the largest number of points of a frame, with whether any has fewer points than vertices.
    pub fn changing_data(&self) -> Option<(RunMaps, (u32, bool))> {
        self.fluid.as_ref().map(|fluid| (fluid.run_maps(), fluid.point_counts()))
    }

    /// Returns the bounds of a mesh that is the same in all frames.
    pub fn constant_bounds(&self) -> Option<[f32; 6]> {
        let still = self.plan.prepared.fixed.is_some() && !self.plan.streams.iter().any(|s| s.animated);
        still.then(|| self.plan.static_bounds())
    }

    fn own_group(&self, group: u32) -> Result<Vec<Payload>, Error> {
        let units = [Unit::LowerLayers(group), Unit::TopLayer(group)];
        self.code_units(&units, |part, keep| part.group(group, keep))
    }

    /// Returns the source maps of frames with triangles of their own, once all have been coded.
    pub fn source_runs(&self) -> (Vec<SourceMap>, Vec<u32>) {
        let fluid = self.fluid.as_ref();
        fluid.map_or(Default::default(), FluidCoder::source_runs)
    }

    /// Drops the keys of the file before this one.
    pub fn forget(&self, key: u32) {
        let earlier = self.lead_in_out.as_ref().map_or(0, |s| s.window.start / KEY_INTERVAL);
        let key = key.saturating_sub(earlier);
        let parts = self.fixed_point.iter().flatten();
        parts.for_each(|part| part.forget(key));
        self.forget_frames(self.schedule.key_frame(key));
    }

    /// Drops all keys.
    pub(super) fn forget_all(&self) {
        let parts = self.fixed_point.iter().flatten();
        parts.for_each(|part| part.forget(u32::MAX));
        self.forget_frames(u32::MAX);
    }

    fn forget_frames(&self, frame: u32) {
        let normals = self.normals.iter().flatten();
        normals.for_each(|normals| normals.forget(frame));
        if let Some(fluid) = &self.fluid {
            fluid.forget(frame);
        }
        if let Some(particles) = &self.particles {
            particles.forget(frame);
        }
    }

    /// Joins the streams, unit by unit. `parts`: by stream, part and unit.
    fn join_streams(
        &self,
        units: &[Unit],
        parts: Vec<Vec<PartUnits>>,
        decoded: Option<DecodedByWidth>,
    ) -> Result<Vec<Payload>, Error> {
        let mut normals: Vec<Vec<Vec<u8>>> = Vec::new();
        for coder in &self.normals {
            normals.push(match (coder, &decoded) {
                (Some(coder), Some(decoded)) => coder.units(units, decoded)?,
                _ => Vec::new(),
            });
        }
        let levels: Vec<QuantizedUnit> = match &self.quantized {
            Some(coder) if !coder.streams.is_empty() => coder.units(units)?,
            _ => units.iter().map(|_| QuantizedUnit::default()).collect(),
        };
        let mut out = Vec::new();
        let (mut done, mut particles_done) = Default::default();
        let apart = self.has_separate_attributes();
        for (u, (&unit, levels)) in units.iter().zip(levels).enumerate() {
            let frames = self.schedule.frames_of(unit);
            let mut payload = match (&self.fluid, &self.particles) {
                _ if frames.is_empty() => Payload::default(),
                (Some(fluid), _) => fluid.unit(&frames, &mut done)?,
                (_, Some(particles)) => particles.unit(&frames, &mut particles_done)?,
                _ => Payload::default(),
            };
            let mut by_stream = levels.bytes.into_iter();
            for (s, record) in self.plan.streams.iter().enumerate() {
                let position = record.semantic == Semantic::Position;
                let start = payload.bytes.len();
                let bytes = match apart && !position {
                    true => &mut payload.attributes,
                    false => &mut payload.bytes,
                };
                if !record.animated || self.plan.method != Method::Soft || frames.is_empty() {
                    continue;
                }
                if let Some(coded) = normals.get(s).and_then(|units| units.get(u)) {
                    put_length_prefixed(coded, bytes);
                    continue;
                }
                match &parts[s][..] {
                    [] => bytes.extend(by_stream.next().unwrap_or_default()),
                    parts => {
                        for part in parts {
                            put_length_prefixed(&part[u].0, bytes);
                        }
                        if position {
                            payload.measures.clone_from(&parts[0][u].1);
                        }
                    }
                }
                if position {
                    payload.position_bytes = payload.bytes.len() - start;
                }
            }
            for &(frame, error, bounds) in &levels.position_measures {
                payload.measures.push((frame, FrameMeasure { bounds, error }));
            }
            if payload.measures.is_empty() && self.plan.prepared.fixed.is_some() {
                // Static positions.
                let bounds = self.plan.static_bounds();
                let seen = FrameMeasure { bounds, error: 0.0 };
                payload.measures = frames.iter().map(|&f| (f, seen)).collect();
            }
            out.push(payload);
        }
        Ok(out)
    }
}

impl SegmentedCoder for MeshCoder {
    fn static_part(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.fluid.is_none() && self.particles.is_none() {
            self.encode_values(&mut out);
        }
        out
    }

    fn key_units(&self, segment: u32) -> Result<Vec<Vec<u8>>, Error> {
        Ok(contents(self.own_segment(segment)?))
    }

    fn group_units(&self, group: u32) -> Result<Vec<Vec<u8>>, Error> {
        Ok(contents(self.own_group(group)?))
    }

    fn forget_keys(&self) {
        self.forget_all();
    }
}

fn contents(payloads: Vec<Payload>) -> Vec<Vec<u8>> {
    let content = |p: Payload| [p.bytes, p.attributes].concat();
    payloads.into_iter().map(content).collect()
}

#[allow(clippy::type_complexity)]
pub(super) fn part_coders<W: Width>(
    parts: &[Arc<PointFrames>],
    count: usize,
    options: &Options,
    decided: Option<&[PartDecisions]>,
) -> Result<Option<Vec<Box<dyn StreamCoder>>>, Error> {
    let decided = |p: usize| decided.and_then(|decided| decided.get(p));
    (parts.iter().enumerate())
        .map(|(p, part)| points::soft_coder::<W>(part, count, options, decided(p)))
        .collect()
}
