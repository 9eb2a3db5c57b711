//! Streams kept as quantized values in layered files: normals, and positions whose tolerance is too fine for
//! fixed-point ones. Each frame is predicted from the nearest decoded frames on both sides.

use crate::mesh::particles::evaluate_layout;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::FixedLayout;
use crate::mesh::streams::{self, Quantized, QuantizedCode, RequestedValues, Scratch, VertexValues};
use crate::{Error, with_quantized};
use meshreel_codec::classic::stream;
use meshreel_codec::classic::stream::References;
use meshreel_codec::record::Semantic;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_options::Options;
use std::sync::Arc;

/// The coder of a mesh's streams of quantized values.
pub struct QuantizedCoder {
    pub plan: Arc<MeshPlan>,
    pub fixed: Arc<FixedLayout>,
    /// Indices of the streams.
    pub streams: Vec<usize>,
    pub schedule: Schedule,
    pub options: Arc<Options>,
}

/// One frame, quantized.
struct QuantizedFrame {
    frame: u32,
    /// Quantized values by stream.
    streams: Vec<Quantized>,
    /// Error and bounds of the positions, if they are among the streams.
    position_measure: Option<(f64, [f32; 6])>,
}

/// Bytes of all streams for one unit.
#[derive(Default)]
pub struct QuantizedUnit {
    /// By stream, the frames of the unit one after the other.
    pub bytes: Vec<Vec<u8>>,
    /// By frame, error and bounds of the positions, if they are among the streams.
    pub position_measures: Vec<(u32, f64, [f32; 6])>,
}

impl QuantizedCoder {
    /// Codes some units whose frames lie close together.
    pub fn units(&self, units: &[Unit]) -> Result<Vec<QuantizedUnit>, Error> {
        let mut held: Vec<QuantizedFrame> = Vec::new();
        let mut out = Vec::new();
        for &unit in units {
            let mut coded =
                QuantizedUnit { bytes: vec![Vec::new(); self.streams.len()], position_measures: Vec::new() };
            for &frame in self.schedule.frames_of(unit).iter() {
                let references = self.references(frame);
                for needed in references.into_iter().flatten().chain([frame]) {
                    if held.iter().all(|q| q.frame != needed) {
                        held.push(self.quantize(needed)?);
                    }
                }
                let find = |wanted: u32| held.iter().find(|q| q.frame == wanted);
                let Some(own) = find(frame) else { continue };
                let [before, after] = references.map(|r| r.and_then(find));
                for (i, out) in coded.bytes.iter_mut().enumerate() {
                    with_quantized!(&own.streams[i], v => self.code(i, v, [before, after], frame, out)?);
                }
                if let Some((error, bounds)) = own.position_measure {
                    coded.position_measures.push((frame, error, bounds));
                }
            }
            out.push(coded);
        }
        Ok(out)
    }

    /// Returns the decoded frames before and after that a frame is predicted from; data that a key would take
    /// from the first frame is in the static data.
    fn references(&self, frame: u32) -> [Option<u32>; 2] {
        let key = self.schedule.key_of(frame).is_some();
        let all = self.schedule.references(frame);
        let mut list = all.iter().copied().filter(|&r| !(key && r == 0));
        let before = list.next();
        [before, list.next().or(before)]
    }

    fn quantize(&self, frame: u32) -> Result<QuantizedFrame, Error> {
        let plan = &self.plan;
        let has = |wanted: &[Semantic]| {
            let mut semantics = self.streams.iter().map(|&s| plan.streams[s].semantic);
            semantics.any(|s| wanted.contains(&s))
        };
        let want = RequestedValues {
            normals: has(&[Semantic::Normal, Semantic::QTangent]),
            tangents: has(&[Semantic::QTangent]),
            uvs: has(&[Semantic::Uv]),
            colours: has(&[Semantic::Colour]),
            velocities: false,
        };
        let mut values = VertexValues::default();
        let (source, prepared) = (&plan.source, &plan.prepared);
        let mut scratch = Scratch::default();
        let of = (&**source, &**prepared);
        evaluate_layout(&self.fixed, of, frame as usize, want, &mut scratch, &mut values)?;
        let mut out = QuantizedFrame { frame, streams: Vec::new(), position_measure: None };
        for &s in &self.streams {
            let record = &plan.streams[s];
            let mut quantized = Quantized::new(record.word);
            streams::quantize(record, &values, &mut quantized);
            let error = streams::max_error(record, &quantized, &values);
            plan.check_tolerance(record, error, frame as usize)?;
            if record.semantic == Semantic::Position {
                out.position_measure = Some((error, streams::bounds(record, &quantized)));
            }
            out.streams.push(quantized);
        }
        Ok(out)
    }

    fn code<W: QuantizedCode>(
        &self,
        i: usize,
        quantized: &[W],
        [before, after]: [Option<&QuantizedFrame>; 2],
        frame: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let s = self.streams[i];
        let record = &self.plan.streams[s];
        let components = record.semantic.components();
        let spatial = streams::spatial(record.semantic);
        let [before, after] = [before, after].map(|q| q.and_then(|q| W::values(&q.streams[i])));
        let references = References {
            previous: before,
            index_before: before,
            index_after: after,
            ..References::of_index_frame(W::values(&self.plan.bases[s]), &self.plan.table)
        };
        let start = out.len();
        match before {
            None => stream::encode_index(quantized, components, spatial, references, out),
            Some(_) => {
                let effort = self.options.effort;
                stream::encode_b_frame(quantized, components, references, effort, out);
            }
        }
        let mut back = vec![W::default(); quantized.len()];
        let used = stream::decode(&out[start..], components, spatial, references, &mut back);
        if used != Ok(out.len() - start) || back != quantized {
            return Err(self.plan.mismatch_error(record, frame as usize));
        }
        Ok(())
    }
}
