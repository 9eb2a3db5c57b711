//! Units of a mesh whose faces change: consecutive frames with the same faces form a run, in which frames are
//! predicted from each other; all other frames are coded by themselves. The written bytes are decoded again
//! and checked.

use crate::mesh::fluid::{FrameLayout, lay_out};
use crate::mesh::plan::MeshPlan;
use crate::mesh::streams::{self, EMPTY_BOUNDS, Quantized, QuantizedCode, Scratch, VertexValues};
use crate::method::coder::{FrameMeasure, Payload};
use crate::{Error, with_quantized};
use meshreel_codec::record::source_map::SourceMap;
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_codec::schedule::{MAX_REFERENCES, Schedule, Unit};
use meshreel_codec::values::changing::{
    ChangingBuffers, ChangingReader, ChangingWriter, FrameHead, InputTopology, StreamPrediction,
    TriangleBuffers,
};
use meshreel_codec::values::coding::InputValues;
use meshreel_codec::values::{changing, error_bound};
use meshreel_codec::{Corrupt, put_length_prefixed};
use meshreel_options::Options;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The number of runs whose orders are cached while more of their frames may come.
const MAX_CACHED_RUNS: usize = 32;

/// Triangles of a frame in the source's order, and in the decoder's.
#[derive(Default)]
struct FrameOrder {
    triangles: Vec<[u32; 3]>,
    material: Vec<u32>,
    /// By vertex, its point; vertices of one position share a point.
    point: Vec<u32>,
    points: usize,
    /// By new vertex, the old one.
    vertices: Vec<u32>,
    ranges: Vec<[u32; 2]>,
    indices: Vec<u32>,
    /// By new vertex, its point; empty if every vertex is a point of its own.
    new_point: Vec<u32>,
}

/// A decoded frame that others may refer to.
pub(crate) struct DecodedFrame {
    run: u32,
    order: Arc<FrameOrder>,
    streams: Vec<Quantized>,
}

/// Decoded frames by number.
pub(crate) type DecodedFrames = BTreeMap<u32, Arc<DecodedFrame>>;

/// A coded frame, with the values that a decoder must get from its bytes.
struct CodedFrame {
    frame: Arc<DecodedFrame>,
    head: FrameHead,
    references: FrameReferences,
    /// Expected sizes of positions, and of all streams, in 2⁻⁸ bits.
    bits: [u64; 2],
}

/// All streams of a frame as decoded, the measure of its positions, and the expected sizes of positions and
/// of all streams, in 2⁻⁸ bits.
struct CodedStreams {
    streams: Vec<Quantized>,
    measure: FrameMeasure,
    bits: [u64; 2],
}

/// The coder of a mesh whose faces change.
pub struct FluidCoder {
    plan: Arc<MeshPlan>,
    options: Arc<Options>,
    schedule: Schedule,
    /// The first and the last frame that are wanted, if not all are.
    stretch: Option<[u32; 2]>,
    /// Keys that have been coded.
    keys: RwLock<DecodedFrames>,
    /// Orders of runs, by their first frame.
    runs: Mutex<BTreeMap<u32, Arc<FrameOrder>>>,
    /// Source maps by run, and the run of each frame.
    maps: Mutex<RunMaps>,
    /// The largest number of points of a frame, and whether any frame has fewer points than vertices.
    points: AtomicU32,
    split: AtomicBool,
}

impl FluidCoder {
    /// Creates the coder of a mesh whose faces change.
    pub fn new(plan: Arc<MeshPlan>, schedule: Schedule, options: Arc<Options>) -> Self {
        FluidCoder {
            plan,
            options,
            schedule,
            stretch: None,
            keys: RwLock::default(),
            runs: Mutex::default(),
            maps: Mutex::default(),
            points: AtomicU32::new(0),
            split: AtomicBool::new(false),
        }
    }

    /// Restricts coding to the frames from the first of these to the last, and the frames that they refer to.
    pub fn restrict_to(&mut self, stretch: [u32; 2]) {
        self.stretch = Some(stretch);
    }

    /// Returns `true` if a frame is wanted, or has the same triangles as a wanted one.
    fn is_needed(&self, frame: u32) -> bool {
        let Some([first, last]) = self.stretch else { return true };
        let runs = &self.plan.prepared.scan.runs;
        let run = |frame: u32| runs.get(frame as usize);
        run(frame) == run(frame.clamp(first, last))
    }

    /// Returns the largest number of points of a frame, or 0 if every vertex is a point of its own.
    pub fn points(&self) -> u32 {
        match self.point_counts() {
            (points, true) => points,
            (_, false) => 0,
        }
    }

    /// Returns the largest number of points of a coded frame, and whether any has fewer points than vertices.
    pub fn point_counts(&self) -> (u32, bool) {
        (self.points.load(Relaxed), self.split.load(Relaxed))
    }

    /// Records the frame's source map, if these are wanted.
    fn note_source(&self, frame: u32, run: u32, laid: &FrameLayout, order: &FrameOrder) {
        if self.options.strip || self.options.short_source_map {
            return;
        }
        let lock = || self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        if !lock().record_run(frame, run) {
            return;
        }
        let map = laid.source_map(&order.vertices, &order.indices);
        lock().add_map(run, map);
    }

    /// Returns the source maps of all frames that have been coded.
    pub fn run_maps(&self) -> RunMaps {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the source maps: runs, and per frame one more than its run, or 0.
    pub fn source_runs(&self) -> (Vec<SourceMap>, Vec<u32>) {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *maps).finish(self.schedule.frames())
    }

    /// Drops the keys before this frame.
    pub fn forget(&self, frame: u32) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *held = held.split_off(&frame);
    }

    /// Codes a unit. `done`: decoded frames of the units that are coded together, to which its own are added.
    pub(crate) fn unit(&self, frames: &[u32], done: &mut DecodedFrames) -> Result<Payload, Error> {
        let mut payload = Payload::default();
        if !frames.iter().any(|&frame| self.is_needed(frame)) {
            return Ok(payload);
        }
        let mut work = ChangingBuffers::default();
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        changing::encode(&mut bytes, |writer| {
            for &frame in frames {
                let coded = self.encode_frame(frame, done, &mut work, writer, &mut payload)?;
                if let Some(coded) = coded.as_ref().filter(|_| self.is_run(frame)) {
                    done.insert(frame, coded.frame.clone());
                    if self.schedule.key_of(frame).is_some() {
                        let mut keys = self.keys.write().unwrap_or_else(PoisonError::into_inner);
                        keys.insert(frame, coded.frame.clone());
                    }
                }
                expected.push(coded);
            }
            Ok::<_, Error>(())
        })?;
        self.check(&bytes, &expected, &mut work).map_err(|corrupt| Error::Promise {
            what: format!(
                "{}: frames {frames:?} do not decode to what was encoded ({corrupt})",
                self.plan.path
            ),
            target: Default::default(),
        })?;
        // The share of positions in the bytes follows the expected sizes.
        let bits = |k: usize| expected.iter().flatten().map(|coded| coded.bits[k]).sum::<u64>();
        let part = bits(0) as f64 / bits(1).max(1) as f64;
        payload.position_bytes = (changing::value_bytes(&bytes) as f64 * part).round() as usize;
        put_length_prefixed(&bytes, &mut payload.bytes);
        Ok(payload)
    }

    /// Returns `true` if a frame has the same triangles as a neighbouring one.
    fn is_run(&self, frame: u32) -> bool {
        let runs = &self.plan.prepared.scan.runs;
        let lead = runs[frame as usize];
        let same = |other: Option<&u32>| other == Some(&lead);
        same(frame.checked_sub(1).and_then(|f| runs.get(f as usize))) || same(runs.get(frame as usize + 1))
    }

    /// Returns the decoded frames that one may refer to, as in the player.
    fn references(&self, frame: u32, done: &DecodedFrames) -> FrameReferences {
        let key = self.schedule.key_of(frame).is_some();
        let keys = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let references = self.schedule.references(frame);
        let list = references.iter().filter(|&&r| !(key && r == 0));
        list.map(|r| done.get(r).or_else(|| keys.get(r)).cloned()).collect()
    }

    /// Writes a frame: its head, its triangles, then each stream; returns `None` if the mesh is hidden.
    fn encode_frame(
        &self,
        frame: u32,
        done: &DecodedFrames,
        work: &mut ChangingBuffers,
        writer: &mut ChangingWriter<'_>,
        payload: &mut Payload,
    ) -> Result<Option<CodedFrame>, Error> {
        let plan = &self.plan;
        if !plan.shown.contains(frame as usize) {
            writer.head(FrameHead::default());
            payload.measures.push((frame, FrameMeasure { bounds: EMPTY_BOUNDS, error: 0.0 }));
            return Ok(None);
        }
        let mut scratch = Scratch::default();
        let laid = self.lay_out_frame(frame, &mut scratch)?;
        let (run, order) = self.order(frame, &laid, &scratch)?;
        self.note_source(frame, run, &laid, &order);
        let references = self.references(frame, done);
        let of_run: Vec<&DecodedFrame> =
            references.iter().flatten().filter(|other| other.run == run).map(|other| &**other).collect();
        let same = references.iter().position(|other| other.as_ref().is_some_and(|other| other.run == run));
        let head = self.head(frame, (run, same), laid.points, &order)?;
        writer.head(head);
        self.encode_triangles(frame, head, &order, work, writer)?;
        self.points.fetch_max(head.points, Relaxed);
        self.split.fetch_or(head.points != head.vertices, Relaxed);
        let values = laid.values(
            &plan.source,
            &plan.prepared,
            frame as usize,
            &order.vertices,
            &order.indices,
            &scratch,
        )?;
        let coded = self.encode_streams(frame, (&values, &order), &of_run, work, writer)?;
        payload.measures.push((frame, coded.measure));
        payload.vertices = payload.vertices.max(order.vertices.len());
        payload.indices = payload.indices.max(order.indices.len());
        let frame = Arc::new(DecodedFrame { run, order, streams: coded.streams });
        Ok(Some(CodedFrame { frame, head, references, bits: coded.bits }))
    }

    /// Writes the head of a frame of `run`; `same` is the number of the reference with the same triangles.
    fn head(
        &self,
        frame: u32,
        (run, same): (u32, Option<usize>),
        source_points: usize,
        order: &FrameOrder,
    ) -> Result<FrameHead, Error> {
        let counted = |n: usize| {
            u32::try_from(n).map_err(|_| Error::Limit {
                what: format!("{}: vertices of frame {frame}", self.plan.path),
                asked: n as u64,
                allowed: u64::from(u32::MAX),
            })
        };
        Ok(FrameHead {
            kind: same.map_or(1, |at| 2 + at as u32),
            source_points: counted(source_points)?,
            run,
            vertices: counted(order.vertices.len())?,
            points: counted(order.points)?,
            triangles: counted(order.indices.len())? / 3,
        })
    }

    /// Writes the triangles of a frame, unless a reference has them, and prepares `work` for its streams.
    fn encode_triangles(
        &self,
        frame: u32,
        head: FrameHead,
        order: &FrameOrder,
        work: &mut ChangingBuffers,
        writer: &mut ChangingWriter<'_>,
    ) -> Result<(), Error> {
        let mut back = DecodedTriangles::new(head, self.plan.prepared.materials.len());
        if head.kind == 1 {
            let points = order.triangle_points();
            let mut topology = order.topology(&points);
            let done = writer.triangles(head, work, &mut back.triangles(), &mut topology);
            return done.map_err(|c| self.mismatch_error(frame, c));
        }
        let triangles = back.triangles();
        triangles.ranges.copy_from_slice(&order.ranges);
        triangles.indices.copy_from_slice(&order.indices);
        triangles.point.copy_from_slice(&order.new_point);
        work.reuse_triangles(&triangles, order.vertices.len(), order.points);
        Ok(())
    }

    /// Quantizes and writes all streams of a frame, predicted from frames of the same run.
    fn encode_streams(
        &self,
        frame: u32,
        (values, order): (&VertexValues, &FrameOrder),
        of_run: &[&DecodedFrame],
        work: &mut ChangingBuffers,
        writer: &mut ChangingWriter<'_>,
    ) -> Result<CodedStreams, Error> {
        let plan = &self.plan;
        let leaf = !self.is_run(frame) || matches!(self.schedule.unit_of(frame), Unit::TopLayer(_));
        let mut seen = FrameMeasure { bounds: EMPTY_BOUNDS, error: 0.0 };
        let mut bits = [0; 2];
        let mut all = Vec::new();
        for (s, record) in plan.streams.iter().enumerate() {
            let mut quantized = Quantized::new(record.word);
            streams::quantize(record, values, &mut quantized);
            if StreamPrediction::from_semantic(record.semantic) == StreamPrediction::Normals {
                shade(work, &order.indices, &all[0], record);
            }
            let position = record.semantic == Semantic::Position;
            with_quantized!(&mut quantized, v => {
                let offset = match position {
                    true => streams::offsets(record, &values.positions, v),
                    false => Vec::new(),
                };
                let references = frame_streams(of_run, s);
                let wanted = stream_target(record, v, &offset, leaf);
                let kind = StreamPrediction::from_semantic(record.semantic);
                let components = record.semantic.components();
                let taken = writer.stream(kind, components, &references, &order.new_point, work, wanted);
                bits[0] += u64::from(position) * taken;
                bits[1] += taken;
            });
            let error = streams::max_error(record, &quantized, values);
            plan.check_tolerance(record, error, frame as usize)?;
            if position {
                seen = FrameMeasure { bounds: streams::bounds(record, &quantized), error };
            }
            all.push(quantized);
        }
        Ok(CodedStreams { streams: all, measure: seen, bits })
    }

    /// Lays out triangles and vertices of a frame, and leaves its points in `scratch`.
    fn lay_out_frame(&self, frame: u32, scratch: &mut Scratch) -> Result<FrameLayout, Error> {
        let plan = &self.plan;
        let lead = plan.prepared.scan.runs[frame as usize] as usize;
        let frames = (lead, frame as usize);
        lay_out(&plan.source, &plan.prepared, frames, &self.options, scratch)
    }

    /// Returns the run of a frame, and the order of the run; `scratch` has the frame's points.
    fn order(
        &self,
        frame: u32,
        laid: &FrameLayout,
        scratch: &Scratch,
    ) -> Result<(u32, Arc<FrameOrder>), Error> {
        let lead = self.plan.prepared.scan.runs[frame as usize];
        let own = self.order_frame(frame, laid, scratch);
        if !self.is_run(frame) {
            return Ok((lead, Arc::new(self.complete(own, frame)?)));
        }
        let of_run = self.first_frame_order(lead)?;
        // Corners can separate in the middle of a run.
        let same =
            own.triangles == of_run.triangles && own.point == of_run.point && own.material == of_run.material;
        match same {
            true => Ok((lead, of_run)),
            false => Ok((frame, Arc::new(self.complete(own, frame)?))),
        }
    }

    /// Returns the order of the first frame of a run.
    fn first_frame_order(&self, lead: u32) -> Result<Arc<FrameOrder>, Error> {
        let held = |runs: &Mutex<BTreeMap<_, Arc<FrameOrder>>>| {
            let runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.get(&lead).cloned()
        };
        if let Some(order) = held(&self.runs) {
            return Ok(order);
        }
        let mut scratch = Scratch::default();
        let laid = self.lay_out_frame(lead, &mut scratch)?;
        let order = self.order_frame(lead, &laid, &scratch);
        let order = Arc::new(self.complete(order, lead)?);
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.insert(lead, order.clone());
        if runs.len() > MAX_CACHED_RUNS {
            runs.pop_first();
        }
        Ok(order)
    }

    /// Returns the order of a frame's triangles, and of the points that they join.
    fn order_frame(&self, frame: u32, laid: &FrameLayout, scratch: &Scratch) -> FrameOrder {
        let lead = self.plan.prepared.scan.runs[frame as usize];
        let weld = self.plan.prepared.scan.run_welds.get(&lead);
        let alone = !self.is_run(frame);
        let mut by_place = HashMap::new();
        let object = scratch.object();
        let mut place = |p: u32| match (alone, weld) {
            (true, _) => {
                let bits = object[p as usize].map(|x| if x == 0.0 { 0 } else { x.to_bits() });
                *by_place.entry(bits).or_insert(p)
            }
            (false, Some(weld)) => weld.get(p as usize).copied().unwrap_or(p),
            (false, None) => p,
        };
        let mut number = vec![u32::MAX; object.len()];
        let mut points = 0;
        let dense = |&p: &u32| {
            let slot = &mut number[place(p) as usize];
            if *slot == u32::MAX {
                *slot = points;
                points += 1;
            }
            *slot
        };
        let point = laid.point.iter().map(dense).collect();
        FrameOrder {
            triangles: laid.triangles.clone(),
            material: laid.material.clone(),
            point,
            points: points as usize,
            ..FrameOrder::default()
        }
    }

    /// Completes an order with vertices and triangles as a decoder will get them.
    fn complete(&self, order: FrameOrder, frame: u32) -> Result<FrameOrder, Error> {
        let mut nothing = Vec::new();
        let head = FrameHead {
            vertices: order.point.len() as u32,
            points: order.points as u32,
            triangles: order.triangles.len() as u32,
            ..FrameHead::default()
        };
        let mut back = DecodedTriangles::new(head, self.plan.prepared.materials.len());
        let points = order.triangle_points();
        let mut given = order.topology(&points);
        let coded = changing::encode(&mut nothing, |writer| {
            writer.triangles(head, &mut ChangingBuffers::default(), &mut back.triangles(), &mut given)
        });
        coded.map_err(|c| self.mismatch_error(frame, c))?;
        let vertices = given.order;
        Ok(FrameOrder {
            vertices,
            ranges: back.ranges,
            indices: back.indices,
            new_point: back.point,
            ..order
        })
    }

    fn mismatch_error(&self, frame: u32, corrupt: Corrupt) -> Error {
        Error::Promise {
            what: format!("{}: the triangles of frame {frame}: {corrupt}", self.plan.path),
            target: Default::default(),
        }
    }

    /// Decodes a unit as the player does, and compares.
    fn check(
        &self,
        bytes: &[u8],
        expected: &[Option<CodedFrame>],
        work: &mut ChangingBuffers,
    ) -> Result<(), Corrupt> {
        const MISMATCH: Corrupt = Corrupt("other values");
        let mut reader = ChangingReader::new(bytes)?;
        for frame in expected {
            let head = reader.head();
            let Some(CodedFrame { frame, head: wanted, references, .. }) = frame else {
                if head.kind != 0 {
                    return Err(MISMATCH);
                }
                continue;
            };
            let order = &frame.order;
            let shape = FrameHead { kind: head.kind, ..*wanted };
            let mut back = DecodedTriangles::new(shape, order.ranges.len());
            if head.kind == 1 {
                reader.triangles(head, work, &mut back.triangles())?;
                let same = back.ranges == order.ranges
                    && back.indices == order.indices
                    && back.point == order.new_point;
                if !same || head != *wanted {
                    return Err(MISMATCH);
                }
            } else {
                let reference = references.get((head.kind as usize).wrapping_sub(2));
                let from = &reference.and_then(Option::as_ref).ok_or(MISMATCH)?.order;
                let same = from.ranges == order.ranges
                    && from.indices == order.indices
                    && from.new_point == order.new_point;
                if !same || head.kind != wanted.kind {
                    return Err(MISMATCH);
                }
                back.ranges.clone_from(&from.ranges);
                back.indices.clone_from(&from.indices);
                back.point.clone_from(&from.new_point);
                work.reuse_triangles(&back.triangles(), order.vertices.len(), order.points);
            }
            let same_run = references.iter().flatten().filter(|other| other.run == wanted.run);
            let of_run: Vec<&DecodedFrame> = same_run.map(|other| &**other).collect();
            for (s, record) in self.plan.streams.iter().enumerate() {
                if StreamPrediction::from_semantic(record.semantic) == StreamPrediction::Normals {
                    shade(work, &order.indices, &frame.streams[0], record);
                }
                with_quantized!(&frame.streams[s], v => {
                    let mut out = v.clone();
                    out.fill(Default::default());
                    let references = frame_streams(&of_run, s);
                    let kind = StreamPrediction::from_semantic(record.semantic);
                    let components = record.semantic.components();
                    reader.stream(kind, components, &references, &back.point, work, &mut out)?;
                    if out != *v {
                        return Err(MISMATCH);
                    }
                });
            }
        }
        reader.finish()
    }
}

/// The decoded frames that one may refer to, in the order in which its head counts them; `None` for those
/// without a run.
type FrameReferences = Vec<Option<Arc<DecodedFrame>>>;

impl FrameOrder {
    /// Returns the points of each triangle.
    fn triangle_points(&self) -> Vec<[u32; 3]> {
        let points = |t: &[u32; 3]| t.map(|v| self.point[v as usize]);
        self.triangles.iter().map(points).collect()
    }

    fn topology<'t>(&'t self, points: &'t [[u32; 3]]) -> InputTopology<'t> {
        InputTopology::new(&self.triangles, points, &self.point, self.points, &self.material)
    }
}

/// The triangles of a frame as a decoder outputs them.
struct DecodedTriangles {
    ranges: Vec<[u32; 2]>,
    indices: Vec<u32>,
    point: Vec<u32>,
}

impl DecodedTriangles {
    fn new(head: FrameHead, materials: usize) -> DecodedTriangles {
        let split = head.points != head.vertices;
        DecodedTriangles {
            ranges: vec![[0; 2]; materials],
            indices: vec![0; 3 * head.triangles as usize],
            point: vec![0; if split { head.vertices as usize } else { 0 }],
        }
    }

    fn triangles(&mut self) -> TriangleBuffers<'_> {
        TriangleBuffers { ranges: &mut self.ranges, indices: &mut self.indices, point: &mut self.point }
    }
}

fn shade(work: &mut ChangingBuffers, indices: &[u32], positions: &Quantized, record: &StreamRecord) {
    with_quantized!(positions, v => work.predict_normals(indices, v, u32::from(record.bits)));
}

/// Returns one stream of several frames.
fn frame_streams<'f, W: QuantizedCode>(frames: &[&'f DecodedFrame], stream: usize) -> Vec<&'f [W]> {
    let values = frames.iter().filter_map(|frame| W::values(&frame.streams[stream]));
    values.take(MAX_REFERENCES).collect()
}

/// Returns the values of a stream, and how far they may be changed. `offset`: distances of positions from
/// their quantized values, empty for other streams. `leaf`: `true` if no frame refers to this one.
pub(crate) fn stream_target<'v, W: QuantizedCode>(
    record: &StreamRecord,
    values: &'v mut [W],
    offset: &'v [f32],
    leaf: bool,
) -> InputValues<'v, W> {
    let axes = &record.axes;
    let radius = match offset {
        [] => 0.0,
        _ => error_bound::radius(record.tolerance, axes),
    };
    // The corners of a cube of one step are this far from its centre; errors of reference frames return in
    // the frames that refer to them.
    let coarsest = (f64::from(radius) * 2.0 / 3f64.sqrt()) as u32;
    InputValues {
        codes: values,
        offset,
        radius,
        grain: if leaf { coarsest } else { coarsest / 2 }.max(1),
        code_counts: std::array::from_fn(|k| axes.get(k).map_or(0, |a| a.codes)),
    }
}

/// Limit for the bytes of one mesh's source maps; beyond it none is kept.
const MAX_MAP_BYTES: usize = 256 << 20;

/// Source maps by run, and the run of each frame.
#[derive(Clone, Default)]
pub struct RunMaps {
    /// By the first frame of a run, its source map.
    pub by_run: BTreeMap<u32, SourceMap>,
    /// By frame, its run.
    pub frame_runs: BTreeMap<u32, u32>,
    bytes: usize,
}

impl RunMaps {
    /// Records the run of a frame; returns `true` if its source map is still wanted.
    pub fn record_run(&mut self, frame: u32, run: u32) -> bool {
        self.frame_runs.insert(frame, run);
        !self.by_run.contains_key(&run) && !self.are_too_many()
    }

    /// Keeps the source map of a run.
    pub fn add_map(&mut self, run: u32, map: SourceMap) {
        let bytes = 4 * (2 * map.vertex_point.len() + 2 * map.triangle_face.len());
        if self.by_run.insert(run, map).is_none() {
            self.bytes += bytes;
        }
    }

    /// Returns `true` if the source maps exceed the limit and will be dropped.
    pub fn are_too_many(&self) -> bool {
        self.bytes > MAX_MAP_BYTES
    }

    /// Returns the source maps of all `frames` that have been coded: runs, and per frame one more than its
    /// run, or 0.
    pub fn finish(self, frames: u32) -> (Vec<SourceMap>, Vec<u32>) {
        if self.are_too_many() {
            return Default::default();
        }
        let number: BTreeMap<u32, u32> = self.by_run.keys().copied().zip(1..).collect();
        let run_of = |frame| {
            let run = self.frame_runs.get(&frame);
            run.and_then(|run| number.get(run)).copied().unwrap_or(0)
        };
        let of = (0..frames).map(run_of).collect();
        (self.by_run.into_values().collect(), of)
    }
}
