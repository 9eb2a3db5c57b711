//! Units of a mesh whose faces change: frames one after the other that have the same faces make a run, in
//! which frames are predicted from each other; all others are kept for themselves. What is written is decoded
//! again before it counts.

use crate::mesh::evaluate::Scratch;
use crate::mesh::fluid::{Laid, lay_out};
use crate::mesh::plan::MeshPlan;
use crate::mesh::streams::{self, NOTHING, Quantized, Typed};
use crate::method::coder::Seen;
use crate::method::payload::Payload;
use crate::{Error, Options, with_quantized};
use meshreel_codec::record::source_map::SourceMap;
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::values::changing::values::Wanted;
use meshreel_codec::values::changing::{Head, Kind, REFERENCES, Reader, Topology, Triangles, Work, Writer};
use meshreel_codec::values::{changing, error_bound};
use meshreel_codec::{Corrupt, put_sized};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Orders of runs that are kept while frames of them may come.
const RUNS_KEPT: usize = 32;

/// Triangles of a frame as the source has them, and as a decoder gets them.
#[derive(Default)]
struct Order {
    triangles: Vec<[u32; 3]>,
    material: Vec<u32>,
    /// Point of each vertex, vertices of one position having one.
    point: Vec<u32>,
    points: usize,
    /// Old vertex of each new one.
    vertices: Vec<u32>,
    ranges: Vec<[u32; 2]>,
    indices: Vec<u32>,
    /// Point of each new vertex; empty where every vertex is one.
    new_point: Vec<u32>,
}

/// A decoded frame.
struct Held {
    run: u32,
    order: Arc<Order>,
    levels: Vec<Quantized>,
}

/// Decoded frames by number.
pub(crate) type Frames = BTreeMap<u32, Arc<HeldFrame>>;
/// What other frames refer to.
pub(crate) struct HeldFrame(Held);

/// Bytes of maps back to the source that are kept of one mesh; where they are more, there is none of it.
const MOST_MAPS: usize = 256 << 20;

/// Maps back to the source, by run; and of frames the runs.
#[derive(Default)]
struct Maps {
    by_run: BTreeMap<u32, SourceMap>,
    of_frame: BTreeMap<u32, u32>,
    bytes: usize,
}

/// Codes a mesh.
pub struct FluidCoder<'a> {
    plan: &'a MeshPlan<'a>,
    options: &'a Options,
    schedule: Schedule,
    /// Keys that have been coded.
    keys: RwLock<Frames>,
    /// Orders of runs, by their first frames.
    runs: Mutex<BTreeMap<u32, Arc<Order>>>,
    /// Maps back to the source by run, and the run of each frame.
    maps: Mutex<Maps>,
    /// Most points of any frame, and whether any frame has fewer than vertices.
    points: AtomicU32,
    split: AtomicBool,
}

impl<'a> FluidCoder<'a> {
    /// The coder of a mesh whose faces change.
    pub fn new(plan: &'a MeshPlan<'a>, schedule: Schedule, options: &'a Options) -> Self {
        FluidCoder {
            plan,
            options,
            schedule,
            keys: RwLock::default(),
            runs: Mutex::default(),
            maps: Mutex::default(),
            points: AtomicU32::new(0),
            split: AtomicBool::new(false),
        }
    }

    /// Most points of a frame, or 0 where every vertex is one.
    pub fn points(&self) -> u32 {
        match self.split.load(Relaxed) {
            true => self.points.load(Relaxed),
            false => 0,
        }
    }

    /// Notes of the frame's map back to the source, where these are wanted.
    fn note_source(&self, frame: u32, run: u32, laid: &Laid, order: &Order) {
        if self.options.strip || !self.options.full_source_map {
            return;
        }
        let lock = || self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        lock().of_frame.insert(frame, run);
        if lock().by_run.contains_key(&run) || lock().bytes > MOST_MAPS {
            return;
        }
        let map = laid.source_map(&order.vertices, &order.indices);
        let mut maps = lock();
        maps.bytes += 4 * (2 * map.vertex_point.len() + 2 * map.triangle_face.len());
        maps.by_run.insert(run, map);
    }

    /// The maps of all frames that have been coded: runs, and per frame one more than its run, or 0.
    pub fn source_runs(&self) -> (Vec<SourceMap>, Vec<u32>) {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        let maps = std::mem::take(&mut *maps);
        if maps.bytes > MOST_MAPS {
            return Default::default();
        }
        let number: BTreeMap<u32, u32> = maps.by_run.keys().copied().zip(1..).collect();
        let frames = 0..self.schedule.frames();
        let run_of = |frame| maps.of_frame.get(&frame).map_or(0, |run| number[run]);
        (maps.by_run.into_values().collect(), frames.map(run_of).collect())
    }

    /// Keys before this frame are not needed any more.
    pub fn forget(&self, frame: u32) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *held = held.split_off(&frame);
    }

    /// Codes a unit. `done`: frames of units that are coded with it, and where its own go.
    pub(crate) fn unit(&self, frames: &[u32], done: &mut Frames) -> Result<Payload, Error> {
        let mut payload = Payload::default();
        let mut work = Work::default();
        let mut bytes = Vec::new();
        let mut expected = Vec::new();
        let bits = changing::encode(&mut bytes, |writer| -> Result<[u64; 2], Error> {
            let mut bits = [0; 2];
            for &frame in frames {
                let coded = self.frame(frame, done, &mut work, writer, &mut payload)?;
                expected.push(coded.map(|(held, head, sources, cost)| {
                    bits = [bits[0] + cost[0], bits[1] + cost[1]];
                    let held = Arc::new(HeldFrame(held));
                    if self.is_run(frame) {
                        done.insert(frame, held.clone());
                        if self.schedule.key_of(frame).is_some() {
                            let keys = self.keys.write();
                            let mut keys = keys.unwrap_or_else(PoisonError::into_inner);
                            keys.insert(frame, held.clone());
                        }
                    }
                    (held, head, sources)
                }));
            }
            Ok(bits)
        })?;
        self.check(&bytes, &expected, &mut work).map_err(|corrupt| Error::Promise {
            what: format!(
                "{}: frames {frames:?} do not decode to what was encoded ({corrupt})",
                self.plan.path
            ),
            target: Default::default(),
        })?;
        // Of the bytes of values, by what symbols were expected to take.
        let share = bits[0] as f64 / bits[1].max(1) as f64;
        payload.position_bytes = (changing::value_bytes(&bytes) as f64 * share).round() as usize;
        put_sized(&bytes, &mut payload.bytes);
        Ok(payload)
    }

    fn is_run(&self, frame: u32) -> bool {
        let runs = &self.plan.prepared.runs;
        let lead = runs[frame as usize];
        let same = |other: Option<&u32>| other == Some(&lead);
        same(frame.checked_sub(1).and_then(|f| runs.get(f as usize))) || same(runs.get(frame as usize + 1))
    }

    /// Frames that one may refer to, as the player has them.
    fn sources(&self, frame: u32, done: &Frames) -> Sources {
        let key = self.schedule.key_of(frame).is_some();
        let held = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let references = self.schedule.references(frame);
        let list = references.iter().filter(|&&r| !(key && r == 0));
        list.map(|r| done.get(r).or_else(|| held.get(r)).cloned()).collect()
    }

    #[allow(clippy::type_complexity)]
    fn frame(
        &self,
        frame: u32,
        done: &Frames,
        work: &mut Work,
        writer: &mut Writer<'_>,
        payload: &mut Payload,
    ) -> Result<Option<(Held, Head, Sources, [u64; 2])>, Error> {
        let plan = self.plan;
        if !plan.shown.contains(frame as usize) {
            writer.head(Head::default());
            payload.seen.push((frame, Seen { bounds: NOTHING, error: 0.0 }));
            return Ok(None);
        }
        let mut scratch = Scratch::default();
        let laid = self.laid(frame, &mut scratch)?;
        let (run, order) = self.order(frame, &laid, &scratch)?;
        self.note_source(frame, run, &laid, &order);
        let counted = |n: usize| {
            u32::try_from(n).map_err(|_| Error::Limit {
                what: format!("{}: vertices of frame {frame}", plan.path),
                asked: n as u64,
                allowed: u64::from(u32::MAX),
            })
        };
        let mut head = Head {
            kind: 1,
            source_points: counted(laid.points)?,
            run,
            vertices: counted(order.vertices.len())?,
            points: counted(order.points)?,
            triangles: counted(order.indices.len())? / 3,
        };
        let sources = self.sources(frame, done);
        let alike = |held: &Arc<HeldFrame>| held.0.run == run;
        let same = sources.iter().position(|s| s.as_ref().is_some_and(alike));
        if let Some(at) = same {
            head.kind = 2 + at as u32;
        }
        writer.head(head);
        let mut back = Back::new(head, plan.prepared.materials.len());
        match same {
            Some(_) => {
                let triangles = back.triangles();
                triangles.ranges.copy_from_slice(&order.ranges);
                triangles.indices.copy_from_slice(&order.indices);
                triangles.point.copy_from_slice(&order.new_point);
                work.same(&triangles, order.vertices.len(), order.points);
            }
            None => {
                let points = order.of_points();
                let mut given = order.topology(&points);
                let done = writer.triangles(head, work, &mut back.triangles(), &mut given);
                done.map_err(|c| self.broken(frame, c))?;
            }
        }
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
        let frames: Vec<&Held> =
            (sources.iter().flatten()).filter(|held| alike(held)).map(|held| &held.0).collect();
        let mut cost = [0; 2];
        let mut all = Vec::new();
        for (s, record) in plan.streams.iter().enumerate() {
            let mut levels = Quantized::new(record.word);
            streams::quantize(record, &values, &mut levels);
            let kind = Kind::of(record.semantic);
            if kind == Kind::Normals {
                shade(work, &order.indices, &all[0], record);
            }
            let position = record.semantic == Semantic::Position;
            with_quantized!(&mut levels, v => {
                let offset = match position {
                    true => streams::offsets(record, &values.positions, v),
                    false => Vec::new(),
                };
                let leaf = !self.is_run(frame) || matches!(self.schedule.unit_of(frame), Unit::TopLayer(_));
                let bits = stream(record, s, &frames, (&offset, leaf), v, &order, work, writer);
                cost[0] += u64::from(position) * bits;
                cost[1] += bits;
            });
            let error = streams::error(record, &levels, &values);
            plan.keep_promise(record, error, frame as usize)?;
            if position {
                let bounds = streams::bounds(record, &levels);
                payload.seen.push((frame, Seen { bounds, error }));
            }
            all.push(levels);
        }
        payload.vertices = payload.vertices.max(order.vertices.len());
        payload.indices = payload.indices.max(order.indices.len());
        let held = Held { run, order, levels: all };
        Ok(Some((held, head, sources, cost)))
    }

    fn laid(&self, frame: u32, scratch: &mut Scratch) -> Result<Laid, Error> {
        let plan = self.plan;
        let lead = plan.prepared.runs[frame as usize] as usize;
        let frames = (lead, frame as usize);
        lay_out(&plan.source, &plan.prepared, frames, self.options, scratch)
    }

    /// The run that a frame belongs to, and the order of that; `scratch` has its points.
    fn order(&self, frame: u32, laid: &Laid, scratch: &Scratch) -> Result<(u32, Arc<Order>), Error> {
        let lead = self.plan.prepared.runs[frame as usize];
        let own = self.ordered(frame, laid, scratch);
        if !self.is_run(frame) {
            return Ok((lead, Arc::new(self.complete(own, frame)?)));
        }
        let of_run = self.lead(lead)?;
        // Corners can part from each other in the middle of a run.
        let same =
            own.triangles == of_run.triangles && own.point == of_run.point && own.material == of_run.material;
        match same {
            true => Ok((lead, of_run)),
            false => Ok((frame, Arc::new(self.complete(own, frame)?))),
        }
    }

    /// The order of the first frame of a run.
    fn lead(&self, lead: u32) -> Result<Arc<Order>, Error> {
        let held = |runs: &Mutex<BTreeMap<_, Arc<Order>>>| {
            let runs = runs.lock().unwrap_or_else(PoisonError::into_inner);
            runs.get(&lead).cloned()
        };
        if let Some(order) = held(&self.runs) {
            return Ok(order);
        }
        let mut scratch = Scratch::default();
        let laid = self.laid(lead, &mut scratch)?;
        let order = self.ordered(lead, &laid, &scratch);
        let order = Arc::new(self.complete(order, lead)?);
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.insert(lead, order.clone());
        if runs.len() > RUNS_KEPT {
            runs.pop_first();
        }
        Ok(order)
    }

    /// What the triangles of a frame join.
    fn ordered(&self, frame: u32, laid: &Laid, scratch: &Scratch) -> Order {
        let lead = self.plan.prepared.runs[frame as usize];
        let weld = self.plan.prepared.run_welds.get(&lead);
        let alone = !self.is_run(frame);
        let mut by_place = HashMap::new();
        let object = scratch.object();
        let mut place = |p: u32| match (alone, weld) {
            (true, _) => {
                let bits = object[p as usize].map(|x| if x == 0.0 { 0 } else { x.to_bits() });
                *by_place.entry(bits).or_insert(p)
            }
            (false, Some(weld)) => weld[p as usize],
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
        Order {
            triangles: laid.triangles.clone(),
            material: laid.material.clone(),
            point,
            points: points as usize,
            ..Order::default()
        }
    }

    /// Completes an order with vertices and triangles as a decoder will get them.
    fn complete(&self, order: Order, frame: u32) -> Result<Order, Error> {
        let mut nothing = Vec::new();
        let head = Head {
            vertices: order.point.len() as u32,
            points: order.points as u32,
            triangles: order.triangles.len() as u32,
            ..Head::default()
        };
        let mut back = Back::new(head, self.plan.prepared.materials.len());
        let points = order.of_points();
        let mut given = order.topology(&points);
        let coded = changing::encode(&mut nothing, |writer| {
            writer.triangles(head, &mut Work::default(), &mut back.triangles(), &mut given)
        });
        coded.map_err(|c| self.broken(frame, c))?;
        let vertices = given.order;
        Ok(Order { vertices, ranges: back.ranges, indices: back.indices, new_point: back.point, ..order })
    }

    fn broken(&self, frame: u32, corrupt: Corrupt) -> Error {
        Error::Promise {
            what: format!("{}: the triangles of frame {frame}: {corrupt}", self.plan.path),
            target: Default::default(),
        }
    }

    /// Decodes a unit as the player does.
    fn check(
        &self,
        bytes: &[u8],
        expected: &[Option<(Arc<HeldFrame>, Head, Sources)>],
        work: &mut Work,
    ) -> Result<(), Corrupt> {
        const OTHER: Corrupt = Corrupt("other values");
        let mut reader = Reader::new(bytes)?;
        for frame in expected {
            let head = reader.head();
            let Some((held, wanted, sources)) = frame else {
                if head.kind != 0 {
                    return Err(OTHER);
                }
                continue;
            };
            let order = &held.0.order;
            let shape = Head { kind: head.kind, ..*wanted };
            let mut back = Back::new(shape, order.ranges.len());
            if head.kind == 1 {
                reader.triangles(head, work, &mut back.triangles())?;
                let same = back.ranges == order.ranges
                    && back.indices == order.indices
                    && back.point == order.new_point;
                if !same || head != *wanted {
                    return Err(OTHER);
                }
            } else {
                let source = sources.get((head.kind as usize).wrapping_sub(2));
                let source = source.and_then(Option::as_ref).ok_or(OTHER)?;
                let from = &source.0.order;
                let same = from.ranges == order.ranges
                    && from.indices == order.indices
                    && from.new_point == order.new_point;
                if !same || head.kind != wanted.kind {
                    return Err(OTHER);
                }
                back.ranges.clone_from(&from.ranges);
                back.indices.clone_from(&from.indices);
                back.point.clone_from(&from.new_point);
                work.same(&back.triangles(), order.vertices.len(), order.points);
            }
            let run = |held: &&Arc<HeldFrame>| held.0.run == wanted.run;
            let frames: Vec<&Held> = (sources.iter().flatten()).filter(run).map(|held| &held.0).collect();
            for (s, record) in self.plan.streams.iter().enumerate() {
                if Kind::of(record.semantic) == Kind::Normals {
                    shade(work, &order.indices, &held.0.levels[0], record);
                }
                with_quantized!(&held.0.levels[s], v => {
                    let mut out = v.clone();
                    out.fill(Default::default());
                    let frames = of_stream(&frames, s);
                    let kind = Kind::of(record.semantic);
                    let components = record.semantic.components();
                    reader.stream(kind, components, &frames, &back.point, work, &mut out)?;
                    if out != *v {
                        return Err(OTHER);
                    }
                });
            }
        }
        reader.finish()
    }
}

/// Frames that one may refer to; none where it has nothing of a run.
type Sources = Vec<Option<Arc<HeldFrame>>>;

impl Order {
    fn of_points(&self) -> Vec<[u32; 3]> {
        let points = |t: &[u32; 3]| t.map(|v| self.point[v as usize]);
        self.triangles.iter().map(points).collect()
    }

    fn topology<'t>(&'t self, points: &'t [[u32; 3]]) -> Topology<'t> {
        Topology::new(&self.triangles, points, &self.point, self.points, &self.material)
    }
}

/// Where a decoder puts triangles.
struct Back {
    ranges: Vec<[u32; 2]>,
    indices: Vec<u32>,
    point: Vec<u32>,
}

impl Back {
    fn new(head: Head, materials: usize) -> Back {
        let split = head.points != head.vertices;
        Back {
            ranges: vec![[0; 2]; materials],
            indices: vec![0; 3 * head.triangles as usize],
            point: vec![0; if split { head.vertices as usize } else { 0 }],
        }
    }

    fn triangles(&mut self) -> Triangles<'_> {
        Triangles { ranges: &mut self.ranges, indices: &mut self.indices, point: &mut self.point }
    }
}

fn shade(work: &mut Work, indices: &[u32], positions: &Quantized, record: &StreamRecord) {
    with_quantized!(positions, v => work.shade(indices, v, u32::from(record.bits)));
}

fn of_stream<'h, W: Typed>(frames: &[&'h Held], stream: usize) -> Vec<&'h [W]> {
    let levels = frames.iter().filter_map(|held| W::of(&held.levels[stream]));
    levels.take(REFERENCES).collect()
}

/// Writes a stream; what it is expected to take, in 2⁻⁸ bits.
#[allow(clippy::too_many_arguments)] // One stream of one frame, and where it goes.
fn stream<W: Typed>(
    record: &StreamRecord,
    stream: usize,
    frames: &[&Held],
    (offset, leaf): (&[f32], bool),
    levels: &mut [W],
    order: &Order,
    work: &mut Work,
    writer: &mut Writer<'_>,
) -> u64 {
    let axes = &record.axes;
    let radius = match offset {
        [] => 0.0,
        _ => error_bound::radius(record.tolerance, axes),
    };
    // The corners of a cell are this far from its middle; errors of frames that others refer to come again in
    // these.
    let coarsest = (f64::from(radius) * 2.0 / 3f64.sqrt()) as u32;
    let wanted = Wanted {
        levels,
        offset,
        radius,
        grain: if leaf { coarsest } else { coarsest / 2 }.max(1),
        most: std::array::from_fn(|k| axes.get(k).map_or(0, |a| a.levels)),
    };
    let kind = Kind::of(record.semantic);
    let components = record.semantic.components();
    let frames = of_stream(frames, stream);
    writer.stream(kind, components, &frames, &order.new_point, work, wanted)
}
