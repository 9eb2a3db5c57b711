//! Particles in chains: the links of all frames between two keys at once, each frame predicted from the one
//! before. The written bytes are decoded again and checked.

use crate::Error;
use crate::mesh::particles::{self, ParticleFrame};
use crate::mesh::plan::MeshPlan;
use crate::mesh::streams::{self, EMPTY_BOUNDS, Quantized};
use crate::method::coder::FrameMeasure;
use crate::method::coder::Payload;
use crate::method::fluid::stream_target;
use crate::with_quantized;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::record::Semantic;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::values::particles::chain::{
    self, Chain, ChainCoding, ChainReader, ChainStream, InputFrame, InputStream, PointLayout,
};
use meshreel_codec::values::particles::{ParticleKind, ParticlePoints};
use meshreel_codec::{Corrupt, put_length_prefixed};
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Measurements of a frame.
#[derive(Clone, Copy)]
struct MeasuredFrame {
    measure: FrameMeasure,
    points: usize,
}

/// A frame of the source, quantized.
struct SourceFrame {
    frame: ParticleFrame,
    run: u32,
    streams: Vec<Quantized>,
}

impl SourceFrame {
    fn points(&self) -> ParticlePoints<'_> {
        let frame = &self.frame;
        let count = frame.values.positions.len();
        ParticlePoints { count, run: self.run, ids: &frame.ids, curves: &frame.curves }
    }
}

/// Codes particles or curves in chains.
pub struct ChainCoder {
    plan: Arc<MeshPlan>,
    schedule: Schedule,
    shape: ParticleKind,
    coding: ChainCoding,
    streams: Vec<ChainStream>,
    /// Chains at the keys that have been coded.
    keys: RwLock<BTreeMap<u32, Chain>>,
    measured: RwLock<BTreeMap<u32, MeasuredFrame>>,
}

impl ChainCoder {
    /// Creates the coder of particles.
    pub fn new(plan: Arc<MeshPlan>, schedule: Schedule, shape: ParticleKind, coding: ChainCoding) -> Self {
        let stream = |record: &meshreel_codec::record::StreamRecord| ChainStream {
            components: record.semantic.components(),
            word: usize::from(record.word),
        };
        let streams = plan.streams.iter().map(stream).collect();
        ChainCoder {
            plan,
            schedule,
            shape,
            coding,
            streams,
            keys: RwLock::default(),
            measured: RwLock::default(),
        }
    }

    /// Drops the keys before this frame.
    pub fn forget(&self, frame: u32) {
        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *keys = keys.split_off(&frame);
        let mut measured = self.measured.write().unwrap_or_else(PoisonError::into_inner);
        *measured = measured.split_off(&frame);
    }

    /// Codes a unit. The keys of a segment must come in order, and before its groups.
    pub fn unit(&self, frames: &[u32]) -> Result<Payload, Error> {
        let schedule = self.schedule;
        let Some(&first) = frames.first() else {
            return Ok(Payload::default());
        };
        let unit = schedule.unit_of(first);
        let group = match unit {
            Unit::Key(key) if schedule.chain_continues(key) => Some(key - 1),
            Unit::Key(_) => None,
            Unit::LowerLayers(group) | Unit::TopLayer(group) => Some(group),
        };
        let mut payload = Payload::default();
        match group {
            None => self.code(&[first], Chain::default(), &mut payload)?,
            Some(group) if schedule.chain_unit(group) == unit => {
                let key = schedule.key_frame(group);
                let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
                let entry = keys.get(&key).cloned();
                drop(keys);
                let missing =
                    || self.mismatch_error(frames, Corrupt("a frame that it goes on from is not there"));
                let list: Vec<u32> = schedule.chain_frames(group).collect();
                self.code(&list, entry.ok_or_else(missing)?, &mut payload)?;
            }
            Some(_) => put_length_prefixed(&[], &mut payload.bytes),
        }
        let measured = self.measured.read().unwrap_or_else(PoisonError::into_inner);
        for frame in frames {
            let missing = || self.mismatch_error(frames, Corrupt("a frame that was not coded"));
            let own = measured.get(frame).ok_or_else(missing)?;
            payload.measures.push((*frame, own.measure));
            payload.vertices = payload.vertices.max(own.points);
        }
        Ok(payload)
    }

    fn mismatch_error(&self, frames: &[u32], corrupt: Corrupt) -> Error {
        let path = &self.plan.path;
        let what = format!("{path}: frames {frames:?} do not decode to what was encoded ({corrupt})");
        Error::Promise { what, target: Default::default() }
    }

    fn layout(&self) -> PointLayout<'_> {
        let own = self.plan.prepared.particles.as_ref();
        PointLayout {
            coding: self.coding,
            kind: self.shape,
            max_points: self.plan.prepared.scan.points,
            max_curves: own.and_then(|own| own.curves).unwrap_or(0),
            streams: &self.streams,
        }
    }

    /// Codes consecutive frames, starting from the one that `entry` is at.
    fn code(&self, frames: &[u32], entry: Chain, payload: &mut Payload) -> Result<(), Error> {
        let sources: Vec<Option<SourceFrame>> =
            frames.iter().map(|&frame| self.source(frame)).collect::<Result<_, _>>()?;
        let mut given: Vec<InputFrame<'_>> =
            sources.iter().map(|source| self.chain_values(source.as_ref())).collect();
        let (mut bytes, mut own) = (Vec::new(), entry.clone());
        let bits = chain::encode(&mut bytes, self.layout(), &mut own, &mut given);
        let bits = bits.map_err(|c| self.mismatch_error(frames, c))?;
        self.check(&bytes, entry, &given).map_err(|c| self.mismatch_error(frames, c))?;
        for ((&frame, source), given) in frames.iter().zip(&sources).zip(&given) {
            self.measure(frame, source.as_ref(), given)?;
        }
        if let Some(last) = frames.last().filter(|&&frame| self.schedule.key_of(frame).is_some()) {
            self.keys.write().unwrap_or_else(PoisonError::into_inner).insert(*last, own);
        }
        payload.position_bytes = position_bytes(bytes.len(), bits);
        put_length_prefixed(&bytes, &mut payload.bytes);
        Ok(())
    }

    /// Reads a frame of the source; `None` if it is hidden.
    fn source(&self, frame: u32) -> Result<Option<SourceFrame>, Error> {
        let plan = &self.plan;
        if !plan.shown.contains(frame as usize) {
            return Ok(None);
        }
        let own = particles::evaluate(&plan.source, &plan.prepared, frame as usize)?;
        let run = if self.shape.ids { 0 } else { plan.prepared.scan.runs[frame as usize] + 1 };
        let quantized = plan.streams.iter().map(|record| {
            let mut quantized = Quantized::new(record.word);
            streams::quantize(record, &own.values, &mut quantized);
            quantized
        });
        Ok(Some(SourceFrame { run, streams: quantized.collect(), frame: own }))
    }

    fn chain_values<'s>(&self, source: Option<&'s SourceFrame>) -> InputFrame<'s> {
        let Some(source) = source else {
            return InputFrame::default();
        };
        let values = self.plan.streams.iter().zip(&source.streams).map(|(record, quantized)| {
            with_quantized!(quantized, v => {
                let offset = match record.semantic {
                    Semantic::Position => streams::offsets(record, &source.frame.values.positions, v),
                    _ => Vec::new(),
                };
                let codes = v.iter().map(|code| code.to_u32()).collect();
                let mut v = v.clone();
                // Errors must not repeat: the following frames predict from the motion of points.
                let wanted = stream_target(record, &mut v, &offset, true);
                let (radius, code_counts, grain) = (wanted.radius, wanted.code_counts, wanted.grain);
                InputStream { codes, radius, code_counts, grain, offset }
            })
        });
        InputFrame { points: source.points(), streams: values.collect() }
    }

    /// Measures the chosen values against the source.
    fn measure(&self, frame: u32, source: Option<&SourceFrame>, given: &InputFrame<'_>) -> Result<(), Error> {
        let mut own = MeasuredFrame {
            measure: FrameMeasure { bounds: EMPTY_BOUNDS, error: 0.0 },
            points: given.points.count,
        };
        if let Some(source) = source {
            for ((s, record), values) in self.plan.streams.iter().enumerate().zip(&given.streams) {
                let mut chosen = source.streams[s].clone();
                with_quantized!(&mut chosen, v => wrap_all(&values.codes, v));
                let error = streams::max_error(record, &chosen, &source.frame.values);
                self.plan.check_tolerance(record, error, frame as usize)?;
                if record.semantic == Semantic::Position {
                    own.measure = FrameMeasure { bounds: streams::bounds(record, &chosen), error };
                }
            }
        }
        self.measured.write().unwrap_or_else(PoisonError::into_inner).insert(frame, own);
        Ok(())
    }

    /// Decodes links and compares them with the expected frames.
    fn check(&self, bytes: &[u8], mut chain: Chain, frames: &[InputFrame<'_>]) -> Result<(), Corrupt> {
        const MISMATCH: Corrupt = Corrupt("another frame");
        let mut reader = ChainReader::new(bytes, self.layout(), &mut chain)?;
        for given in frames {
            if reader.frame(self.layout(), &mut chain)? == given.streams.is_empty() {
                return Err(MISMATCH);
            }
            if chain.points() != given.points {
                return Err(MISMATCH);
            }
            for (s, values) in given.streams.iter().enumerate() {
                let mut codes = vec![0u32; values.codes.len()];
                chain.values(s, self.streams[s].components, &mut codes);
                if codes != values.codes {
                    return Err(MISMATCH);
                }
            }
        }
        reader.finish()
    }
}

fn wrap_all<W: Code>(codes: &[u32], out: &mut [W]) {
    out.iter_mut().zip(codes).for_each(|(out, code)| *out = W::wrap32(*code));
}

/// Returns the part of the bytes of links that positions take, in proportion to their expected size.
fn position_bytes(bytes: usize, [positions, all]: [u64; 2]) -> usize {
    match all {
        0 => 0,
        all => (bytes as f64 * positions as f64 / all as f64).round() as usize,
    }
}
