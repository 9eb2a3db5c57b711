//! Frames of the preset `classic`: index frames, the B-frames between them, which are predicted from frames
//! before and after, and meshes whose faces change, each frame by itself. Everything is decoded again by the
//! player's own functions and compared before it may be written.

use crate::codec_terms::classic_work;
use crate::mesh::fluid;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::FixedLayout;
use crate::mesh::streams::{
    self, EMPTY_BOUNDS, Quantized, QuantizedCode, RequestedValues, Scratch, VertexValues,
};
use crate::method::coder::FramePayload;
use crate::method::particles;
use crate::{Error, with_quantized};
use meshreel_codec::classic::stream;
use meshreel_codec::classic::stream::References;
use meshreel_codec::record::{Method, Semantic, StreamRecord};
use meshreel_codec::topology::index;
use meshreel_codec::values::error_bound::Target;
use meshreel_codec::values::{error_bound, parallelogram};
use meshreel_options::Options;
use std::sync::Arc;

impl MeshPlan {
    /// Encodes frames `first..last` (and `last` itself if `with_last`), where `first` and `last` are index
    /// frames.
    pub fn encode_group(
        self: &Arc<Self>,
        first: usize,
        last: usize,
        with_last: bool,
        options: &Options,
    ) -> Result<Vec<FramePayload>, Error> {
        let count = last - first + usize::from(with_last);
        match (&self.prepared.fixed, self.method) {
            (None, Method::Particles) => {
                (first..first + count).map(|frame| particles::encode_classic_frame(self, frame)).collect()
            }
            (None, _) => (first..first + count).map(|frame| self.encode_fluid(frame, options)).collect(),
            (Some(_), Method::Static) => Ok((0..count)
                .map(|_| FramePayload { bounds: self.static_bounds(), ..FramePayload::default() })
                .collect()),
            (Some(fixed), _) => self.encode_soft(fixed, first, last, with_last, options),
        }
    }

    fn encode_soft(
        &self,
        fixed: &FixedLayout,
        first: usize,
        last: usize,
        with_last: bool,
        options: &Options,
    ) -> Result<Vec<FramePayload>, Error> {
        let animated: Vec<usize> = (0..self.streams.len()).filter(|&s| self.streams[s].animated).collect();
        let want = RequestedValues {
            normals: animated
                .iter()
                .any(|&s| matches!(self.streams[s].semantic, Semantic::Normal | Semantic::QTangent)),
            tangents: animated.iter().any(|&s| self.streams[s].semantic == Semantic::QTangent),
            uvs: animated.iter().any(|&s| self.streams[s].semantic == Semantic::Uv),
            colours: animated.iter().any(|&s| self.streams[s].semantic == Semantic::Colour),
            velocities: false,
        };
        let mut coder = GroupCoder {
            plan: self,
            fixed,
            want,
            options,
            scratch: Scratch::default(),
            values: VertexValues::default(),
            tracks: animated.iter().map(|&s| StreamHistory::new(s, &self.streams[s], last - first)).collect(),
        };
        let mut parts = Vec::new();
        parts.push(coder.index_frame(first, false)?);
        if last == first {
            return Ok(parts);
        }
        let end = coder.index_frame(last, true)?;
        for frame in first + 1..last {
            parts.push(coder.b_frame(frame)?);
        }
        if with_last {
            parts.push(end);
        }
        Ok(parts)
    }

    /// Encodes a frame by itself.
    pub fn encode_fluid(&self, frame: usize, options: &Options) -> Result<FramePayload, Error> {
        let mut part = FramePayload { bounds: EMPTY_BOUNDS, ..FramePayload::default() };
        if !self.shown.contains(frame) {
            part.bytes.push(0);
            return Ok(part);
        }
        let evaluated =
            fluid::evaluate(&self.source, &self.prepared, frame, options, &mut Scratch::default())?;
        let vertices = evaluated.values.positions.len();
        (part.vertices, part.indices) = (vertices, evaluated.indices.len());
        let out = &mut part.bytes;
        out.push(1);
        for number in [vertices, evaluated.indices.len(), evaluated.points] {
            let number = u32::try_from(number).map_err(|_| Error::Limit {
                what: format!("{}: vertices of frame {frame}", self.path),
                asked: number as u64,
                allowed: u64::from(u32::MAX),
            })?;
            out.extend_from_slice(&number.to_le_bytes());
        }
        for (start, count) in &evaluated.ranges {
            out.extend_from_slice(&start.to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
        }
        index::encode(&evaluated.indices, out);
        let table = parallelogram::derive_table(&evaluated.indices, vertices);
        for record in &self.streams {
            let mut quantized = Quantized::new(record.word);
            streams::quantize(record, &evaluated.values, &mut quantized);
            let error = streams::max_error(record, &quantized, &evaluated.values);
            self.check_tolerance(record, error, frame)?;
            let start = out.len();
            with_quantized!(&quantized, v => {
                let spatial = streams::spatial(record.semantic);
                let refs = References { table: &table, ..self.intra_references() };
                stream::encode_index(v, record.semantic.components(), spatial, refs, out);
                let mut back = vec![Default::default(); v.len()];
                let used = stream::decode(&out[start..], record.semantic.components(), spatial, refs, &mut back);
                if used != Ok(out.len() - start) || back != *v {
                    return Err(self.mismatch_error(record, frame));
                }
            });
            if record.semantic == Semantic::Position {
                part.position_bytes = out.len() - start;
                part.error = error;
                part.bounds = streams::bounds(record, &quantized);
            }
        }
        Ok(part)
    }
}

/// The frames of one stream that following frames refer to.
struct StreamHistory {
    stream: usize,
    index_before: Quantized,
    index_after: Quantized,
    previous: Quantized,
    before_previous: Quantized,
    /// The number of B-frames coded so far in this group.
    coded: usize,
    /// The number of frames from one index frame to the next.
    span: usize,
}

impl StreamHistory {
    fn new(stream: usize, record: &StreamRecord, span: usize) -> StreamHistory {
        let empty = || Quantized::new(record.word);
        StreamHistory {
            stream,
            index_before: empty(),
            index_after: empty(),
            previous: empty(),
            before_previous: empty(),
            coded: 0,
            span,
        }
    }
}

struct GroupCoder<'a> {
    plan: &'a MeshPlan,
    fixed: &'a FixedLayout,
    want: RequestedValues,
    options: &'a Options,
    scratch: Scratch,
    values: VertexValues,
    tracks: Vec<StreamHistory>,
}

impl GroupCoder<'_> {
    fn evaluate(&mut self, frame: usize) -> Result<(), Error> {
        let plan = self.plan;
        self.fixed.evaluate(
            &plan.source,
            &plan.prepared,
            frame,
            self.want,
            &mut self.scratch,
            &mut self.values,
        )
    }

    fn index_frame(&mut self, frame: usize, after: bool) -> Result<FramePayload, Error> {
        self.evaluate(frame)?;
        let mut part = FramePayload { bounds: self.plan.static_bounds(), ..FramePayload::default() };
        let mut tracks = std::mem::take(&mut self.tracks);
        for track in &mut tracks {
            let slot = if after { &mut track.index_after } else { &mut track.index_before };
            streams::quantize(&self.plan.streams[track.stream], &self.values, slot);
            self.finish(track.stream, slot, None, frame, &mut part)?;
        }
        self.tracks = tracks;
        Ok(part)
    }

    fn b_frame(&mut self, frame: usize) -> Result<FramePayload, Error> {
        self.evaluate(frame)?;
        let mut part = FramePayload { bounds: self.plan.static_bounds(), ..FramePayload::default() };
        let mut tracks = std::mem::take(&mut self.tracks);
        for track in &mut tracks {
            let record = &self.plan.streams[track.stream];
            let mut quantized = Quantized::new(record.word);
            streams::quantize(record, &self.values, &mut quantized);
            self.finish(track.stream, &mut quantized, Some(track), frame, &mut part)?;
            track.before_previous = std::mem::replace(&mut track.previous, quantized);
            track.coded += 1;
        }
        self.tracks = tracks;
        Ok(part)
    }

    /// Encodes `quantized`, decodes it again and measures the error.
    fn finish(
        &self,
        number: usize,
        quantized: &mut Quantized,
        between: Option<&StreamHistory>,
        frame: usize,
        part: &mut FramePayload,
    ) -> Result<(), Error> {
        let record = &self.plan.streams[number];
        let start = part.bytes.len();
        with_quantized!(quantized, v => self.code(number, v, between, frame, &mut part.bytes)?);
        let error = streams::max_error(record, quantized, &self.values);
        self.plan.check_tolerance(record, error, frame)?;
        if record.semantic == Semantic::Position {
            part.position_bytes = part.bytes.len() - start;
            part.error = error;
            part.bounds = streams::bounds(record, quantized);
        }
        Ok(())
    }

    fn code<W: QuantizedCode>(
        &self,
        number: usize,
        quantized: &mut [W],
        between: Option<&StreamHistory>,
        frame: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let record = &self.plan.streams[number];
        let components = record.semantic.components();
        let spatial = streams::spatial(record.semantic);
        let base = W::values(&self.plan.bases[number]);
        let refs = match between {
            None => References { base, ..self.plan.intra_references() },
            Some(track) => References {
                base,
                index_before: W::values(&track.index_before),
                index_after: W::values(&track.index_after),
                previous: W::values(if track.coded == 0 { &track.index_before } else { &track.previous }),
                before_previous: match track.coded {
                    0 => None,
                    1 => W::values(&track.index_before),
                    _ => W::values(&track.before_previous),
                },
                table: &self.plan.table,
            },
        };
        let start = out.len();
        let work = classic_work(self.options);
        let effort = work.effort;
        if record.semantic == Semantic::Position {
            let nearest = quantized.to_vec();
            let offset = streams::offsets(record, &self.values.positions, &nearest);
            let counts: Vec<u32> = record.axes.iter().map(|axis| axis.codes).collect();
            let target = Target {
                nearest: &nearest,
                offset: &offset,
                codes: &counts,
                radius: error_bound::radius(record.tolerance, &record.axes),
                thorough: effort > 2,
                welded: self.fixed.weld.as_deref(),
            };
            match between {
                None => stream::encode_index_within(target, spatial, refs, effort, quantized, out),
                Some(track) => {
                    let way = 256 * (track.coded + 1) / track.span.max(1);
                    stream::encode_b_frame_within(target, refs, way.min(255) as u8, work, quantized, out);
                }
            }
        } else {
            match between {
                None => stream::encode_index(quantized, components, spatial, refs, out),
                Some(_) => stream::encode_b_frame(quantized, components, refs, work, out),
            }
        }
        let mut back = vec![W::default(); quantized.len()];
        let used = stream::decode(&out[start..], components, spatial, refs, &mut back);
        if used != Ok(out.len() - start) || back != quantized {
            return Err(self.plan.mismatch_error(record, frame));
        }
        Ok(())
    }
}
