//! Units of particles and curves: frames are predicted from the same points in other frames. The written
//! bytes are decoded again and checked.

use crate::mesh::particles::{self, ParticleFrame};
use crate::mesh::plan::MeshPlan;
use crate::mesh::streams::{self, EMPTY_BOUNDS, Quantized, QuantizedCode};
use crate::method::chain::ChainCoder;
use crate::method::coder::FrameMeasure;
use crate::method::coder::FramePayload;
use crate::method::coder::Payload;
use crate::method::fluid::stream_target;
use crate::{Error, with_quantized};
use meshreel_codec::record;
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_codec::schedule::MAX_REFERENCES;
use meshreel_codec::schedule::{KEY_INTERVAL, Schedule, Unit};
use meshreel_codec::values::particles as codec;
use meshreel_codec::values::particles::chain::ChainCoding;
use meshreel_codec::values::particles::{
    ParticleBuffers, ParticleKind, ParticlePoints, ParticleReader, ParticleWriter, PointBuffers,
};
use meshreel_codec::{Corrupt, put_length_prefixed};
use meshreel_scene::{CurveBasis, CurveEnds};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A decoded frame that others may refer to.
pub(crate) struct DecodedParticles {
    /// One more than its run; 0 with ids, and for a hidden frame.
    run: u32,
    count: usize,
    ids: Vec<u64>,
    curves: Vec<u32>,
    /// Values of each stream; empty for a hidden frame.
    streams: Vec<Quantized>,
}

/// Decoded frames by number.
pub(crate) type DecodedParticleFrames = BTreeMap<u32, Arc<DecodedParticles>>;

/// The frames that one may refer to, in the order in which its kind counts them, and their distance in frames
/// to it.
struct ParticleReferences {
    frames: Vec<Arc<DecodedParticles>>,
    frame_distances: Vec<i32>,
}

/// The coder of particles or curves.
pub struct ParticlesCoder {
    plan: Arc<MeshPlan>,
    schedule: Schedule,
    shape: ParticleKind,
    /// The coding of chains.
    coding: ChainCoding,
    /// Keys that have been coded.
    keys: RwLock<DecodedParticleFrames>,
    chain: ChainCoder,
    /// `true` if chains are smaller.
    chains: OnceLock<bool>,
    /// The first and the last frame that are wanted, or needed for these.
    stretch: [u32; 2],
}

/// The largest number of segments, from the first frame on, in which chains are tried.
const TRIED_SEGMENTS: u32 = 1;

/// Returns the record of particles in the file.
pub fn particles_record(plan: &MeshPlan) -> Option<record::ParticlesRecord> {
    let own = plan.prepared.particles.as_ref()?;
    let curves = plan.source.mesh.particles.as_ref().and_then(|p| p.curves.as_ref());
    let curves = curves.zip(own.curves).map(|(curves, most)| record::CurvesRecord {
        basis: match curves.basis {
            CurveBasis::Linear => record::CurveBasis::Linear,
            CurveBasis::Bezier => record::CurveBasis::Bezier,
            CurveBasis::BSpline => record::CurveBasis::BSpline,
            CurveBasis::CatmullRom => record::CurveBasis::CatmullRom,
        },
        curve_ends: match curves.curve_ends {
            CurveEnds::Open => record::CurveEnds::Open,
            CurveEnds::Closed => record::CurveEnds::Closed,
            CurveEnds::Pinned => record::CurveEnds::Pinned,
        },
        max_curves: most as u32,
    });
    Some(record::ParticlesRecord { ids: own.ids, curves })
}

impl DecodedParticles {
    fn points(&self) -> ParticlePoints<'_> {
        ParticlePoints { count: self.count, run: self.run, ids: &self.ids, curves: &self.curves }
    }
}

impl ParticleReferences {
    fn points(&self) -> Vec<ParticlePoints<'_>> {
        self.frames.iter().map(|frame| frame.points()).collect()
    }

    fn stream<W: QuantizedCode>(&self, stream: usize) -> Vec<&[W]> {
        let all = self.frames.iter();
        all.map(|frame| frame.streams.get(stream).and_then(W::values).unwrap_or(&[])).collect()
    }
}

impl ParticlesCoder {
    /// Creates the coder of particles; for a plan without them it codes nothing.
    pub fn new(plan: Arc<MeshPlan>, schedule: Schedule, coding: ChainCoding) -> Self {
        let own = plan.prepared.particles.as_ref();
        let shape = ParticleKind {
            ids: own.is_some_and(|own| own.ids),
            curves: own.is_some_and(|own| own.curves.is_some()),
        };
        let chain = ChainCoder::new(plan.clone(), schedule, shape, coding);
        let keys = RwLock::default();
        let chains = match coding {
            ChainCoding::Adaptive => OnceLock::new(),
            // Decoding takes a small part of the time of all others.
            ChainCoding::Packed => OnceLock::from(true),
        };
        ParticlesCoder { plan, schedule, shape, coding, keys, chain, chains, stretch: [0, u32::MAX] }
    }

    /// Continues from the stored decisions, for these frames only: chains need no others but the earlier ones
    /// of their segment.
    pub fn resume(&mut self, chains: bool, [first, last]: [u32; 2]) {
        self.chains = OnceLock::from(chains);
        if chains {
            let segment = self.schedule.restart().saturating_mul(KEY_INTERVAL).max(1);
            self.stretch = [first.saturating_sub(1) / segment * segment, last];
        }
    }

    /// Returns `true` if particles are coded in chains: if these are smaller in the first frames than frames
    /// predicted between frames.
    pub fn has_chains(&self) -> bool {
        *self.chains.get_or_init(|| self.chains_are_smaller().unwrap_or(false))
    }

    /// Codes the first frames both ways, as an animation of their own, and returns `true` if chains are
    /// smaller.
    fn chains_are_smaller(&self) -> Result<bool, Error> {
        let restart = self.schedule.restart();
        let most = restart.saturating_mul(TRIED_SEGMENTS).saturating_mul(KEY_INTERVAL).saturating_add(1);
        let schedule = Schedule::new(self.schedule.frames().min(most), restart);
        let chain = ChainCoder::new(self.plan.clone(), schedule, self.shape, self.coding);
        let between = ParticlesCoder {
            chains: OnceLock::from(false),
            ..ParticlesCoder::new(self.plan.clone(), schedule, self.coding)
        };
        let (mut bytes, mut done) = ([0, 0], DecodedParticleFrames::new());
        let keys = (0..schedule.keys()).map(Unit::Key);
        let groups = (0..schedule.groups()).flat_map(|g| [Unit::LowerLayers(g), Unit::TopLayer(g)]);
        for unit in keys.chain(groups) {
            let frames = schedule.frames_of(unit);
            if !frames.is_empty() {
                bytes[0] += chain.unit(&frames)?.bytes.len();
                bytes[1] += between.unit(&frames, &mut done)?.bytes.len();
            }
        }
        Ok(bytes[0] < bytes[1])
    }

    /// Returns the codec of its chains; `None` if it does not code in chains.
    pub fn chain_codec(&self) -> Option<u8> {
        self.has_chains().then_some(match self.coding {
            ChainCoding::Adaptive => record::CODEC_CHAIN,
            ChainCoding::Packed => record::CODEC_PACKED_CHAIN,
        })
    }

    /// Drops the keys before this frame.
    pub fn forget(&self, frame: u32) {
        self.chain.forget(frame);
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *held = held.split_off(&frame);
    }

    /// Returns the frames that one may refer to, as in the player.
    fn references(&self, frame: u32, done: &DecodedParticleFrames) -> Result<ParticleReferences, Error> {
        let key = self.schedule.key_of(frame).is_some();
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let references = self.schedule.references(frame);
        let list = references.iter().copied().filter(|&r| !(key && r == 0)).take(MAX_REFERENCES);
        let mut out = ParticleReferences { frames: Vec::new(), frame_distances: Vec::new() };
        for other in list {
            let decoded = done.get(&other).or_else(|| keys.get(&other));
            let missing = || self.mismatch_error(&[frame], Corrupt("a frame that it refers to is not there"));
            out.frames.push(decoded.ok_or_else(missing)?.clone());
            out.frame_distances.push((i64::from(other) - i64::from(frame)) as i32);
        }
        Ok(out)
    }

    /// Codes a unit. `done`: decoded frames of the units that are coded together, to which its own are added.
    pub(crate) fn unit(&self, frames: &[u32], done: &mut DecodedParticleFrames) -> Result<Payload, Error> {
        if self.has_chains() {
            return match frames.first() {
                Some(frame) if !(self.stretch[0]..=self.stretch[1]).contains(frame) => Ok(Payload::default()),
                _ => self.chain.unit(frames),
            };
        }
        let mut payload = Payload::default();
        let mut bytes = Vec::new();
        let mut work = ParticleBuffers::default();
        let mut bits = [0, 0];
        let mut referred = Vec::new();
        codec::encode(&mut bytes, |writer| {
            for &frame in frames {
                let references = self.references(frame, done)?;
                let leaf = matches!(self.schedule.unit_of(frame), Unit::TopLayer(_));
                let decoded =
                    self.frame(frame, (&references, leaf), writer, &mut work, &mut payload, &mut bits)?;
                let decoded = Arc::new(decoded);
                referred.push(references);
                done.insert(frame, decoded.clone());
                if self.schedule.key_of(frame).is_some() {
                    self.keys.write().unwrap_or_else(PoisonError::into_inner).insert(frame, decoded);
                }
            }
            Ok::<_, Error>(())
        })?;
        let back = self.check(&bytes, frames, &referred, done);
        back.map_err(|corrupt| self.mismatch_error(frames, corrupt))?;
        payload.position_bytes = position_bytes(bytes.len(), bits);
        put_length_prefixed(&bytes, &mut payload.bytes);
        Ok(payload)
    }

    fn mismatch_error(&self, frames: &[u32], corrupt: Corrupt) -> Error {
        Error::Promise {
            what: format!(
                "{}: frames {frames:?} do not decode to what was encoded ({corrupt})",
                self.plan.path
            ),
            target: Default::default(),
        }
    }

    /// Writes a frame: its kind, its points, then each stream.
    fn frame(
        &self,
        frame: u32,
        (references, leaf): (&ParticleReferences, bool),
        writer: &mut ParticleWriter<'_>,
        work: &mut ParticleBuffers,
        payload: &mut Payload,
        bits: &mut [u64; 2],
    ) -> Result<DecodedParticles, Error> {
        let plan = &self.plan;
        if !plan.shown.contains(frame as usize) {
            writer.kind(0);
            payload.measures.push((frame, FrameMeasure { bounds: EMPTY_BOUNDS, error: 0.0 }));
            return Ok(DecodedParticles {
                run: 0,
                count: 0,
                ids: Vec::new(),
                curves: Vec::new(),
                streams: Vec::new(),
            });
        }
        let ParticleFrame { ids, curves, values } =
            particles::evaluate(&plan.source, &plan.prepared, frame as usize)?;
        let count = values.positions.len();
        let run = if self.shape.ids { 0 } else { plan.prepared.scan.runs[frame as usize] + 1 };
        let mut own = DecodedParticles { run, count, ids, curves, streams: Vec::new() };
        let points = references.points();
        let same = |other: &ParticlePoints<'_>| match self.shape.ids {
            true => other.ids == own.ids,
            false => other.run == run,
        };
        let shown = |r: usize| !references.frames[r].streams.is_empty();
        let same = (0..points.len()).find(|&r| shown(r) && same(&points[r]));
        writer.kind(same.map_or(1, |at| 2 + at as u32));
        if same.is_none() {
            let written = writer.points(self.shape, &points, own.points());
            written.map_err(|c| self.mismatch_error(&[frame], c))?;
        }
        work.match_points(&own.points(), &points);
        let mut seen = FrameMeasure { bounds: EMPTY_BOUNDS, error: 0.0 };
        for (s, record) in plan.streams.iter().enumerate() {
            let mut quantized = Quantized::new(record.word);
            streams::quantize(record, &values, &mut quantized);
            let position = record.semantic == Semantic::Position;
            with_quantized!(&mut quantized, v => {
                let offset = match position {
                    true => streams::offsets(record, &values.positions, v),
                    false => Vec::new(),
                };
                let frames = references.stream(s);
                let wanted = stream_target(record, v, &offset, leaf);
                let components = record.semantic.components();
                let taken = writer.stream(components, (&frames, &references.frame_distances), work, wanted);
                bits[0] += u64::from(position) * taken;
                bits[1] += taken;
            });
            let error = streams::max_error(record, &quantized, &values);
            plan.check_tolerance(record, error, frame as usize)?;
            if position {
                seen = FrameMeasure { bounds: streams::bounds(record, &quantized), error };
            }
            own.streams.push(quantized);
        }
        payload.measures.push((frame, seen));
        payload.vertices = payload.vertices.max(count);
        Ok(own)
    }

    /// Decodes a unit and compares.
    fn check(
        &self,
        bytes: &[u8],
        frames: &[u32],
        references: &[ParticleReferences],
        done: &DecodedParticleFrames,
    ) -> Result<(), Corrupt> {
        const MISMATCH: Corrupt = Corrupt("another frame");
        let mut reader = ParticleReader::new(bytes)?;
        let mut work = ParticleBuffers::default();
        for (frame, references) in frames.iter().zip(references) {
            let wanted = done.get(frame).ok_or(MISMATCH)?;
            let points = references.points();
            let mut ids = vec![0; wanted.ids.len()];
            let mut curves = vec![0; wanted.curves.len()];
            match reader.kind() {
                0 if wanted.streams.is_empty() => continue,
                1 => {
                    let room = PointBuffers { ids: &mut ids, curves: &mut curves, count: wanted.count };
                    let found = reader.points(self.shape, &points, room)?;
                    if (found.count, found.run) != (wanted.count, wanted.run) {
                        return Err(MISMATCH);
                    }
                }
                kind => {
                    let from = references.frames.get((kind as usize).wrapping_sub(2)).ok_or(MISMATCH)?;
                    (ids, curves) = (from.ids.clone(), from.curves.clone());
                    if (from.count, from.run) != (wanted.count, wanted.run) {
                        return Err(MISMATCH);
                    }
                }
            }
            if ids != wanted.ids || curves != wanted.curves {
                return Err(MISMATCH);
            }
            work.match_points(&wanted.points(), &points);
            for (s, record) in self.plan.streams.iter().enumerate() {
                self.check_stream(&mut reader, (s, record), (references, wanted), &mut work)?;
            }
        }
        reader.finish()
    }

    fn check_stream(
        &self,
        reader: &mut ParticleReader<'_>,
        (s, record): (usize, &StreamRecord),
        (references, wanted): (&ParticleReferences, &DecodedParticles),
        work: &mut ParticleBuffers,
    ) -> Result<(), Corrupt> {
        with_quantized!(&wanted.streams[s], v => {
            let mut out = v.clone();
            out.fill(Default::default());
            let frames = references.stream(s);
            let components = record.semantic.components();
            reader.stream(components, (&frames, &references.frame_distances), work, &mut out)?;
            match out == *v {
                true => Ok(()),
                false => Err(Corrupt("another frame")),
            }
        })
    }
}

/// Returns the part of the bytes of a unit that positions take, in proportion to their expected size.
fn position_bytes(bytes: usize, [positions, all]: [u64; 2]) -> usize {
    match all {
        0 => 0,
        all => (bytes as f64 * positions as f64 / all as f64).round() as usize,
    }
}

/// Codes a frame by itself, for the preset `classic`.
pub fn encode_classic_frame(plan: &Arc<MeshPlan>, frame: usize) -> Result<FramePayload, Error> {
    // In a schedule of one frame no frame refers to others.
    let coder = ParticlesCoder::new(plan.clone(), Schedule::new(0, 1), ChainCoding::Adaptive);
    let mut bytes = Vec::new();
    let (mut payload, mut work, mut bits) = (Payload::default(), ParticleBuffers::default(), [0, 0]);
    let nothing = ParticleReferences { frames: Vec::new(), frame_distances: Vec::new() };
    let number = frame as u32;
    let mut done = DecodedParticleFrames::new();
    codec::encode(&mut bytes, |writer| {
        let decoded = coder.frame(number, (&nothing, true), writer, &mut work, &mut payload, &mut bits)?;
        done.insert(number, Arc::new(decoded));
        Ok::<_, Error>(())
    })?;
    let back = coder.check(&bytes, &[number], &[nothing], &done);
    back.map_err(|corrupt| coder.mismatch_error(&[number], corrupt))?;
    let seen =
        payload.measures.first().map_or(FrameMeasure { bounds: EMPTY_BOUNDS, error: 0.0 }, |seen| seen.1);
    let mut part = FramePayload {
        position_bytes: position_bytes(bytes.len(), bits),
        bounds: seen.bounds,
        error: seen.error,
        vertices: payload.vertices,
        ..FramePayload::default()
    };
    put_length_prefixed(&bytes, &mut part.bytes);
    Ok(part)
}
