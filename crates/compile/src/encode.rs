//! Frames of one mesh to bytes, and the proof: everything is decoded again by the player's own functions and
//! compared before it may be written.

use crate::evaluate::{Scratch, Want};
use crate::fluid;
use crate::motion::FrameSet;
use crate::prepare::{Fixed, Normals, Prepared, Source};
use crate::report::NormalsDecide;
use crate::skin::Found;
use crate::streams::{self, Levels, Typed, VertexValues};
use crate::{Error, MethodChoice, Options, PartsChoice, Preset, with_levels};
use meshreel_codec::{
    ball::{self, Target},
    index, octahedral,
    parallelogram::{self, Table},
    qtangent,
    quantize::Axis,
    record::{Coding, Method, Semantic, StreamRecord},
    stream::{self, References},
};
use meshreel_scene::{Mesh, Remark};
use std::sync::Arc;

/// A mesh with everything decided.
pub struct MeshPlan<'a> {
    /// Source path of the first placement.
    pub path: String,
    /// Where its frames come from.
    pub source: Source<'a>,
    /// What the first pass found.
    pub prepared: Prepared,
    /// What was asked for.
    pub asked: MethodChoice,
    /// What tells its parts.
    pub parts: PartsChoice,
    /// How it is kept; the coder of a layered file may find better.
    pub method: Method,
    /// Its streams.
    pub streams: Vec<StreamRecord>,
    /// Adjacent-triangle table; the derived one where none is stored.
    pub table: Table,
    /// True where the table is stored.
    pub has_table: bool,
    /// Per stream its values (static) or base (animated). Empty for fluid.
    pub bases: Vec<Levels>,
    /// Largest distance of a decoded point in the mesh's own space.
    pub radius: f64,
    /// Normals are kept by themselves where they could be predicted from positions.
    pub normals_stored: bool,
    /// Skins that were sought for it.
    pub found: Arc<Found<'a>>,
    /// Positions are finer than they would have to be.
    pub normals_decide: Option<NormalsDecide>,
    /// Largest error of the static data, by stream.
    pub static_error: Vec<f64>,
    /// Frames in which it is shown somewhere.
    pub shown: FrameSet,
}

/// One frame of one mesh.
#[derive(Default)]
pub struct Part {
    /// The payload.
    pub bytes: Vec<u8>,
    /// Of that for positions.
    pub position_bytes: usize,
    /// Decoded bounds in the mesh's space, inverted where there is nothing.
    pub bounds: [f32; 6],
    /// Largest distance of a decoded point.
    pub error: f64,
    /// Vertices and indices, where they change per frame.
    pub vertices: usize,
    #[allow(missing_docs)]
    pub indices: usize,
}

/// The streams of a mesh whose points may be `radius` away from the source's.
pub fn choose_streams(
    mesh: &Mesh,
    prepared: &Prepared,
    radius: f64,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<StreamRecord>, Error> {
    let mut out = Vec::new();
    let fluid = prepared.fixed.is_none();
    let path = &mesh.path;
    let extents = [0, 1, 2].map(|k| prepared.extent.component(k));
    let axes = axes_within(extents, radius).ok_or_else(|| {
        let largest = extents.iter().fold(0.0f64, |m, (low, high)| m.max(f64::from(*high) - f64::from(*low)));
        Error::Limit {
            what: format!("{path}: levels along an axis"),
            asked: (largest / radius).min(1e18) as u64,
            allowed: 1 << 24,
        }
    })?;
    let runs = fluid && options.preset != Preset::Classic && prepared.has_runs();
    let axes = finer(&axes, extents, radius).filter(|_| runs).unwrap_or(axes);
    out.push(lattice(Semantic::Position, 0, String::new(), axes, prepared.moving || fluid, radius));
    if prepared.normals != Normals::None {
        let (semantic, mut bits) = match prepared.tangents {
            true => (Semantic::QTangent, qtangent::bits_for(options.normal_tolerance)),
            false => (Semantic::Normal, octahedral::bits_for(options.normal_tolerance)),
        };
        if bits > 16 {
            remarks.push(Remark::new(
                path,
                format!("--normal-tolerance {}: raised to what 16 bits hold", options.normal_tolerance),
            ));
            bits = 16;
        }
        out.push(StreamRecord {
            semantic,
            set: 0,
            name: String::new(),
            coding: Coding::Levels,
            animated: fluid
                || prepared.normals_animated
                || prepared.tangents && (prepared.moving || prepared.uvs[0].animated),
            word: streams::word_for(bits),
            bits: bits as u8,
            axes: Vec::new(),
            states: 0,
            bones: Default::default(),
            tolerance: options.normal_tolerance,
        });
    }
    for (i, set) in prepared.uvs.iter().enumerate() {
        let extents = [set.extent.component(0), set.extent.component(1)];
        let tolerance = uv_tolerance(&extents, options.uv_tolerance);
        if tolerance > options.uv_tolerance {
            remarks.push(Remark::new(
                path,
                format!(
                    "uv tolerance raised from {} to {tolerance}: float32 holds no less",
                    options.uv_tolerance
                ),
            ));
        }
        let axes = axes_within(extents, tolerance * 0.9999);
        let axes = axes.ok_or_else(|| Error::Limit {
            what: format!("{path}: uv levels"),
            asked: u64::MAX,
            allowed: 1 << 24,
        })?;
        out.push(lattice(
            Semantic::Uv,
            i as u8,
            mesh.uvs[set.source].name.clone(),
            axes,
            fluid || set.animated,
            tolerance,
        ));
    }
    for (i, set) in prepared.colours.iter().enumerate() {
        let levels = f64::from((1u32 << options.colour_bits) - 1);
        let mut axes = Vec::new();
        let mut tolerance = 0.0f64;
        for k in 0..4 {
            // 0…1 where the values are within, their own range where they are not.
            let (low, high) = set.extent.component(k);
            let (low, high) = (low.min(0.0), high.max(1.0));
            let step = (f64::from(high) - f64::from(low)) / levels;
            axes.push(Axis::new(low, high, step * (1.0 + 1e-6)).unwrap_or_default());
            tolerance = tolerance.max(step * 0.5 + slack(&[(low, high)], 2.0) + step * 1e-5);
        }
        out.push(lattice(
            Semantic::Colour,
            i as u8,
            mesh.colours[set.source].name.clone(),
            axes,
            fluid || set.animated,
            tolerance,
        ));
    }
    Ok(out)
}

/// Axes of one step on which every point of a box has a value that is at most `radius` away, rounding to f32
/// included.
fn axes_within<const N: usize>(extents: [(f32, f32); N], radius: f64) -> Option<Vec<Axis>> {
    // A cube of this edge has its corners `radius` from its middle.
    let edge = 2.0 / (N as f64).sqrt();
    let all = |axis: fn(f32, f32, f64) -> Option<Axis>, step: f64| -> Option<Vec<Axis>> {
        extents.iter().map(|&(low, high)| axis(low, high, step)).collect()
    };
    let rounding = all(Axis::new, radius * edge).map_or(f64::INFINITY, |axes| {
        let squares = axes.iter().map(|axis| axis.rounding().powi(2));
        squares.sum::<f64>().sqrt()
    });
    let step = (radius - rounding) * edge;
    // Near float32's own limit exact values are coarser than the step, but need nothing for rounding.
    let power = (radius * edge).log2().floor().exp2();
    let exact = || all(Axis::exact, radius * edge);
    let usual = || all(Axis::new, step);
    if step < power { exact().or_else(usual) } else { usual().or_else(exact) }
}

/// A lattice four times as fine, with room at its ends: for frames that others are predicted from. None where
/// f32 holds no such lattice well.
fn finer(axes: &[Axis], extents: [(f32, f32); 3], radius: f64) -> Option<Vec<Axis>> {
    let step = axes.iter().fold(0.0, |s, a| f64::max(s, a.step.into())) * FINER;
    if step == 0.0 || step < slack(&extents, 8.0) {
        return None;
    }
    let widened = |&(low, high): &(f32, f32)| match low < high {
        true => {
            let side = |x: f32, by: f64| (f64::from(x) + by) as f32;
            Axis::new(side(low, -2.0 * radius), side(high, 2.0 * radius), step)
        }
        false => Axis::new(low, high, step),
    };
    extents.iter().map(widened).collect()
}

/// A little less than a quarter, so that four of its steps keep the tolerance.
const FINER: f64 = 0.24999;

fn lattice(
    semantic: Semantic,
    set: u8,
    name: String,
    axes: Vec<Axis>,
    animated: bool,
    tolerance: f64,
) -> StreamRecord {
    let bits = axes.iter().map(Axis::bits).max().unwrap_or(0);
    StreamRecord {
        semantic,
        set,
        name,
        animated,
        coding: Coding::Levels,
        word: streams::word_for(bits),
        bits: bits as u8,
        axes,
        states: 0,
        bones: Default::default(),
        tolerance,
    }
}

/// `ulps` units in the last place of the largest of the values.
fn slack(extents: &[(f32, f32)], ulps: f64) -> f64 {
    let largest = extents.iter().fold(0.0f32, |m, (l, h)| m.max(l.abs()).max(h.abs()));
    ulps * ulp(f64::from(largest))
}

fn uv_tolerance(extents: &[(f32, f32)], asked: f64) -> f64 {
    asked.max(slack(extents, 4.0))
}

/// Distance of float32 values around `x`.
pub fn ulp(x: f64) -> f64 {
    // Below that numbers are subnormal, which graphics hardware takes for zero.
    let least = f64::from(f32::MIN_POSITIVE);
    let x = x.abs().max(least);
    (x.log2().floor() - 23.0).exp2().max(least)
}

impl<'a> MeshPlan<'a> {
    /// Points of the source, summed over frames.
    pub fn source_points(&self) -> u64 {
        let remeshed = self.source.remeshed.map(|r| r.source_points);
        remeshed.unwrap_or(self.prepared.points_total)
    }

    /// Box over all frames, min xyz, max xyz, in the space that the file keeps.
    pub fn bounds(&self) -> [f32; 6] {
        let side = |k: usize| self.prepared.extent.component(k);
        [side(0).0, side(1).0, side(2).0, side(0).1, side(1).1, side(2).1]
    }

    /// Lets points be `radius` away from the source's, and quantizes anew.
    pub fn refine(&mut self, radius: f64, normals_stored: bool, options: &Options) -> Result<(), Error> {
        (self.radius, self.normals_stored) = (radius, normals_stored);
        let (mesh, prepared) = (self.source.mesh, &self.prepared);
        // What there is to say was said when they were chosen first.
        self.streams = choose_streams(mesh, prepared, radius, options, &mut Vec::new())?;
        self.finish(self.source.times.len(), &mut Scratch::default())
    }

    /// Quantizes the first frame (bases, static streams) and chooses the table.
    pub fn finish(&mut self, frames: usize, scratch: &mut Scratch) -> Result<(), Error> {
        let Some(fixed) = &self.prepared.fixed else {
            return Ok(());
        };
        let mut values = VertexValues::default();
        fixed.evaluate(&self.source, &self.prepared, 0, Want::all(), scratch, &mut values)?;
        self.bases = self
            .streams
            .iter()
            .map(|record| {
                let mut levels = Levels::new(record.word);
                streams::quantize(record, &values, &mut levels);
                levels
            })
            .collect();
        self.static_error = self
            .streams
            .iter()
            .zip(&self.bases)
            .map(|(record, levels)| streams::error(record, levels, &values))
            .collect();
        for (record, error) in self.streams.iter().zip(&self.static_error) {
            self.keep_promise(record, *error, 0)?;
        }
        // The table is chosen over several frames, not from the first alone.
        let vertices = fixed.vertex_point.len();
        let mut looks = vec![self.bases[0].clone()];
        if self.streams[0].animated {
            for i in 1..LOOKS.min(frames) {
                let frame = i * (frames - 1) / (LOOKS.min(frames) - 1).max(1);
                fixed.evaluate(&self.source, &self.prepared, frame, Want::default(), scratch, &mut values)?;
                let mut levels = Levels::new(self.streams[0].word);
                streams::quantize(&self.streams[0], &values, &mut levels);
                looks.push(levels);
            }
        }
        // Without a stored table the decoder predicts from the previous vertex alone.
        self.has_table = true;
        self.table = with_levels!(&looks[0], first => build(first, &looks, &fixed.indices, vertices));
        Ok(())
    }

    /// Bytes of the table, where one is stored, and of the static streams and bases; how many of them
    /// positions need.
    pub fn encode_values(&self, out: &mut Vec<u8>) -> usize {
        let start = out.len();
        let indices = self.prepared.fixed.as_ref().map_or(&[][..], |f| &f.indices);
        if self.has_table {
            parallelogram::encode_table(&self.table, indices, out);
        }
        let mut position_bytes = 0;
        for (s, record) in self.streams.iter().enumerate() {
            self.encode_base(s, out);
            if record.semantic == Semantic::Position {
                position_bytes = out.len() - start;
            }
        }
        position_bytes
    }

    /// Appends the values or the base of a stream.
    pub fn encode_base(&self, stream: usize, out: &mut Vec<u8>) {
        let semantic = self.streams[stream].semantic;
        with_levels!(&self.bases[stream], v => {
            stream::encode_index(v, semantic.components(), streams::spatial(semantic), self.alone(), out)
        });
    }

    fn alone<W>(&self) -> References<'_, W> {
        References {
            base: None,
            previous: None,
            before_previous: None,
            index_before: None,
            index_after: None,
            table: &self.table,
        }
    }

    /// An error where a stream is farther off than it may be.
    pub fn keep_promise(&self, record: &StreamRecord, error: f64, frame: usize) -> Result<(), Error> {
        // Angles come back from f32 vectors: a few millionths of a degree are the measuring's own.
        let grain = match record.semantic {
            Semantic::Normal | Semantic::QTangent => 1e-4,
            _ => 0.0,
        };
        if error <= record.tolerance + grain {
            return Ok(());
        }
        Err(Error::Promise {
            what: format!(
                "{}: {:?} {} off by {error:e} in frame {frame}, {:e} allowed",
                self.path, record.semantic, record.set, record.tolerance
            ),
            target: Default::default(),
        })
    }

    /// Encodes frames `first..last` (and `last` itself if `with_last`), where `first` and `last` are index
    /// frames.
    pub fn encode_group(
        &self,
        first: usize,
        last: usize,
        with_last: bool,
        options: &Options,
    ) -> Result<Vec<Part>, Error> {
        let count = last - first + usize::from(with_last);
        match (&self.prepared.fixed, self.method) {
            (None, _) => (first..first + count).map(|frame| self.encode_fluid(frame, options)).collect(),
            (Some(_), Method::Static) => {
                Ok((0..count).map(|_| Part { bounds: self.static_bounds(), ..Part::default() }).collect())
            }
            (Some(fixed), _) => self.encode_soft(fixed, first, last, with_last, options),
        }
    }

    /// Box of the first frame.
    pub fn static_bounds(&self) -> [f32; 6] {
        streams::bounds(&self.streams[0], &self.bases[0])
    }

    fn encode_soft(
        &self,
        fixed: &Fixed,
        first: usize,
        last: usize,
        with_last: bool,
        options: &Options,
    ) -> Result<Vec<Part>, Error> {
        let animated: Vec<usize> = (0..self.streams.len()).filter(|&s| self.streams[s].animated).collect();
        let want = Want {
            normals: animated
                .iter()
                .any(|&s| matches!(self.streams[s].semantic, Semantic::Normal | Semantic::QTangent)),
            uvs: animated.iter().any(|&s| self.streams[s].semantic == Semantic::Uv),
            colours: animated.iter().any(|&s| self.streams[s].semantic == Semantic::Colour),
        };
        let mut coder = GroupCoder {
            plan: self,
            fixed,
            want,
            options,
            scratch: Scratch::default(),
            values: VertexValues::default(),
            tracks: animated.iter().map(|&s| Track::new(s, &self.streams[s], last - first)).collect(),
        };
        let mut parts = Vec::new();
        parts.push(coder.index_frame(first, false)?);
        if last == first {
            return Ok(parts);
        }
        let end = coder.index_frame(last, true)?;
        for frame in first + 1..last {
            parts.push(coder.between_frame(frame)?);
        }
        if with_last {
            parts.push(end);
        }
        Ok(parts)
    }

    /// A frame of its own.
    pub fn encode_fluid(&self, frame: usize, options: &Options) -> Result<Part, Error> {
        let mut part = Part { bounds: NOTHING, ..Part::default() };
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
            let mut levels = Levels::new(record.word);
            streams::quantize(record, &evaluated.values, &mut levels);
            let error = streams::error(record, &levels, &evaluated.values);
            self.keep_promise(record, error, frame)?;
            let start = out.len();
            with_levels!(&levels, v => {
                let spatial = streams::spatial(record.semantic);
                let refs = References { table: &table, ..self.alone() };
                stream::encode_index(v, record.semantic.components(), spatial, refs, out);
                let mut back = vec![Default::default(); v.len()];
                let used = stream::decode(&out[start..], record.semantic.components(), spatial, refs, &mut back);
                if used != Ok(out.len() - start) || back != *v {
                    return Err(self.broken(record, frame));
                }
            });
            if record.semantic == Semantic::Position {
                part.position_bytes = out.len() - start;
                part.error = error;
                part.bounds = streams::bounds(record, &levels);
            }
        }
        Ok(part)
    }

    /// What is decoded is not what was encoded.
    pub fn broken(&self, record: &StreamRecord, frame: usize) -> Error {
        Error::Promise {
            what: format!(
                "{}: {:?} of frame {frame} does not decode to what was encoded",
                self.path, record.semantic
            ),
            target: Default::default(),
        }
    }
}

/// Bounds of nothing.
pub const NOTHING: [f32; 6] =
    [f32::INFINITY, f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];

/// Frames that the table is chosen over.
const LOOKS: usize = 5;

fn build<W: Typed>(_first: &[W], looks: &[Levels], indices: &[u32], vertices: usize) -> Table {
    let frames: Vec<&[W]> = looks.iter().filter_map(W::of).collect();
    parallelogram::build_table(indices, vertices, 3, &frames)
}

impl Want {
    /// Everything.
    pub fn all() -> Want {
        Want { normals: true, uvs: true, colours: true }
    }
}

/// Frames that the coming ones refer to, of one stream.
struct Track {
    stream: usize,
    index_before: Levels,
    index_after: Levels,
    previous: Levels,
    before_previous: Levels,
    /// Between frames coded so far in this group.
    coded: usize,
    /// Frames from one index frame to the next.
    span: usize,
}

impl Track {
    fn new(stream: usize, record: &StreamRecord, span: usize) -> Track {
        let empty = || Levels::new(record.word);
        Track {
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

struct GroupCoder<'a, 'b> {
    plan: &'a MeshPlan<'b>,
    fixed: &'a Fixed,
    want: Want,
    options: &'a Options,
    scratch: Scratch,
    values: VertexValues,
    tracks: Vec<Track>,
}

impl GroupCoder<'_, '_> {
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

    fn index_frame(&mut self, frame: usize, after: bool) -> Result<Part, Error> {
        self.evaluate(frame)?;
        let mut part = Part { bounds: self.plan.static_bounds(), ..Part::default() };
        let mut tracks = std::mem::take(&mut self.tracks);
        for track in &mut tracks {
            let slot = if after { &mut track.index_after } else { &mut track.index_before };
            streams::quantize(&self.plan.streams[track.stream], &self.values, slot);
            self.finish(track.stream, slot, None, frame, &mut part)?;
        }
        self.tracks = tracks;
        Ok(part)
    }

    fn between_frame(&mut self, frame: usize) -> Result<Part, Error> {
        self.evaluate(frame)?;
        let mut part = Part { bounds: self.plan.static_bounds(), ..Part::default() };
        let mut tracks = std::mem::take(&mut self.tracks);
        for track in &mut tracks {
            let record = &self.plan.streams[track.stream];
            let mut levels = Levels::new(record.word);
            streams::quantize(record, &self.values, &mut levels);
            self.finish(track.stream, &mut levels, Some(track), frame, &mut part)?;
            track.before_previous = std::mem::replace(&mut track.previous, levels);
            track.coded += 1;
        }
        self.tracks = tracks;
        Ok(part)
    }

    /// Encodes `levels`, decodes them again and measures.
    fn finish(
        &self,
        number: usize,
        levels: &mut Levels,
        between: Option<&Track>,
        frame: usize,
        part: &mut Part,
    ) -> Result<(), Error> {
        let record = &self.plan.streams[number];
        let start = part.bytes.len();
        with_levels!(levels, v => self.code(number, v, between, frame, &mut part.bytes)?);
        let error = streams::error(record, levels, &self.values);
        self.plan.keep_promise(record, error, frame)?;
        if record.semantic == Semantic::Position {
            part.position_bytes = part.bytes.len() - start;
            part.error = error;
            part.bounds = streams::bounds(record, levels);
        }
        Ok(())
    }

    fn code<W: Typed>(
        &self,
        number: usize,
        levels: &mut [W],
        between: Option<&Track>,
        frame: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let record = &self.plan.streams[number];
        let components = record.semantic.components();
        let spatial = streams::spatial(record.semantic);
        let base = W::of(&self.plan.bases[number]);
        let refs = match between {
            None => References { base, ..self.plan.alone() },
            Some(track) => References {
                base,
                index_before: W::of(&track.index_before),
                index_after: W::of(&track.index_after),
                previous: W::of(if track.coded == 0 { &track.index_before } else { &track.previous }),
                before_previous: match track.coded {
                    0 => None,
                    1 => W::of(&track.index_before),
                    _ => W::of(&track.before_previous),
                },
                table: &self.plan.table,
            },
        };
        let start = out.len();
        let work = self.options.work();
        let effort = work.effort;
        if record.semantic == Semantic::Position {
            let nearest = levels.to_vec();
            let offset = streams::offsets(record, &self.values.positions, &nearest);
            let counts: Vec<u32> = record.axes.iter().map(|axis| axis.levels).collect();
            let target = Target {
                nearest: &nearest,
                offset: &offset,
                levels: &counts,
                radius: ball::radius(record.tolerance, &record.axes),
                thorough: effort > 2,
                welded: self.fixed.weld.as_deref(),
            };
            match between {
                None => stream::encode_index_within(target, spatial, refs, effort, levels, out),
                Some(track) => {
                    let way = 256 * (track.coded + 1) / track.span.max(1);
                    stream::encode_between_within(target, refs, way.min(255) as u8, work, levels, out);
                }
            }
        } else {
            match between {
                None => stream::encode_index(levels, components, spatial, refs, out),
                Some(_) => stream::encode_between(levels, components, refs, work, out),
            }
        }
        let mut back = vec![W::default(); levels.len()];
        let used = stream::decode(&out[start..], components, spatial, refs, &mut back);
        if used != Ok(out.len() - start) || back != levels {
            return Err(self.plan.broken(record, frame));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare::{Extent, Set};
    use meshreel_scene::{Attribute, Channel, Scope, Topology, Winding};

    fn mesh() -> Mesh {
        let attribute = |name: &str| Attribute {
            name: name.into(),
            scope: Scope::Vertex,
            values: Channel::constant(vec![[0.0; 2]]),
            indices: None,
        };
        Mesh {
            path: "/m".into(),
            positions: Channel::constant(vec![[0.0; 3]]),
            face_counts: Channel::constant(vec![]),
            face_indices: Channel::constant(vec![]),
            winding: Winding::CounterClockwise,
            topology: Topology::Constant,
            normals: None,
            uvs: vec![attribute("map1"), attribute("far")],
            colours: vec![Attribute {
                name: "Cd".into(),
                scope: Scope::Vertex,
                values: Channel::constant(vec![[0.0; 4]]),
                indices: None,
            }],
            velocities: None,
            face_sets: Vec::new(),
            other_attributes: Vec::new(),
            is_subd: false,
            integers: Vec::new(),
            numbers: Vec::new(),
            names: Vec::new(),
            skin: None,
        }
    }

    fn prepared() -> Prepared {
        Prepared {
            extent: Extent { low: [-1.0, 0.0, 5.0], high: [1.0, 0.0, 5.5] },
            object_extent: Extent { low: [-1.0, 0.0, 5.0], high: [1.0, 0.0, 5.5] },
            points: 1,
            points_total: 1,
            moving: true,
            normals: Normals::None,
            normals_animated: false,
            tangents: false,
            uvs: vec![
                Set { source: 0, animated: false, extent: Extent { low: [-7.5, 0.0], high: [64.25, 1.0] } },
                Set { source: 1, animated: true, extent: Extent { low: [0.0, 0.0], high: [1e6, 1.0] } },
            ],
            colours: vec![Set {
                source: 0,
                animated: false,
                extent: Extent { low: [0.0, 0.2, -1.0, 1.0], high: [1.0, 0.4, 9.0, 1.0] },
            }],
            fixed: None,
            runs: Vec::new(),
            run_welds: Default::default(),
            materials: Vec::new(),
        }
    }

    #[test]
    fn lattices_hold_the_tolerance_for_tiling_negative_and_far_values() {
        let mut remarks = Vec::new();
        let options = Options::default();
        let streams = choose_streams(&mesh(), &prepared(), 1e-3, &options, &mut remarks).unwrap();
        let values = VertexValues {
            positions: vec![[-1.0, 0.0, 5.0], [0.123_456, 0.0, 5.499_9], [1.0, 0.0, 5.5]],
            uvs: vec![
                vec![[-7.5, 0.0], [-0.000_3, 0.5], [64.25, 1.0]],
                vec![[0.0, 0.0], [999_999.9, 0.3], [1e6, 1.0]],
            ],
            colours: vec![vec![[0.0, 0.2, -1.0, 1.0], [0.501, 0.3, 8.99, 1.0], [1.0, 0.4, 9.0, 1.0]]],
            ..VertexValues::default()
        };
        for record in &streams {
            let mut levels = Levels::new(record.word);
            streams::quantize(record, &values, &mut levels);
            let error = streams::error(record, &levels, &values);
            assert!(error <= record.tolerance, "{record:?} {error}");
        }
        assert_eq!(streams[1].tolerance, options.uv_tolerance);
        assert!(
            streams[2].tolerance > options.uv_tolerance && remarks.len() == 1,
            "far from zero f32 is coarser, and that is said"
        );
        assert_eq!((streams[3].word, streams[3].axes[0].levels), (1, 256), "colours of 0 to 1 are bytes");
        assert_eq!((streams[3].axes[2].min, streams[3].axes[2].levels), (-1.0, 256));
    }

    #[test]
    fn channels_are_static_or_animated_each_for_itself() {
        let mut still = prepared();
        still.fixed = Some(crate::prepare::Fixed::default());
        let streams = choose_streams(&mesh(), &still, 1e-3, &Options::default(), &mut Vec::new()).unwrap();
        assert_eq!(streams.iter().map(|s| s.animated).collect::<Vec<_>>(), [true, false, true, false]);
        // Without fixed topology everything comes per frame.
        let streams =
            choose_streams(&mesh(), &prepared(), 1e-3, &Options::default(), &mut Vec::new()).unwrap();
        assert!(streams.iter().all(|s| s.animated));
    }

    #[test]
    fn ulps() {
        assert_eq!(ulp(1.0), f64::from(f32::EPSILON));
        assert_eq!(ulp(-1.5), f64::from(f32::EPSILON));
        assert_eq!(ulp(4096.0), 4096.0 * f64::from(f32::EPSILON));
        assert!(ulp(0.0) > 0.0);
    }
}
