//! Streams kept as cells of the soft codec: where their frames come from, and the encoder of a stream
//! whatever its width.

use crate::encode::{MeshPlan, NOTHING};
use crate::evaluate::{Scratch, Want};
use crate::prepare::{Fixed, Source};
use crate::report::Measures;
use crate::streams::VertexValues;
use crate::{Error, Options, heights};
use meshreel_codec::grid::Shape;
use meshreel_codec::height::Flat;
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_codec::soft::cell::Cell;
use meshreel_codec::soft::encode::{self, Encoder, Refused, Work};
use meshreel_codec::soft::hierarchy::{self, Hierarchy};
use meshreel_codec::soft::lattice::{Extent, Grid};
use meshreel_codec::soft::schedule::Schedule;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError, RwLock};

/// The points of a mesh: vertices that coincide in every frame are one.
pub struct Points {
    /// Point of each vertex, numbered by first vertices.
    pub of: Vec<u32>,
    /// First vertex of each point.
    pub vertex: Vec<u32>,
}

impl Points {
    /// The points of a mesh with fixed topology.
    pub fn new(fixed: &Fixed) -> Points {
        let vertices = fixed.vertex_point.len() as u32;
        let first = |v: u32| fixed.weld.as_ref().map_or(v, |weld| weld[v as usize]);
        let mut points = Points { of: vec![0; vertices as usize], vertex: Vec::new() };
        for v in 0..vertices {
            points.of[v as usize] = match first(v) {
                own if own == v => {
                    points.vertex.push(v);
                    points.vertex.len() as u32 - 1
                }
                earlier => points.of[earlier as usize],
            };
        }
        points
    }
}

/// Frames of one stream, or of one half of it, as 3-vectors.
pub struct Frames<'a> {
    plan: &'a MeshPlan<'a>,
    fixed: &'a Fixed,
    points: &'a Points,
    record: &'a StreamRecord,
    /// First component.
    first: usize,
    /// What went wrong while a frame was read; the encoder cannot carry it.
    failed: Mutex<Option<Error>>,
}

impl<'a> Frames<'a> {
    /// Whether vertices are a regular grid.
    pub fn is_grid(&self) -> bool {
        self.fixed.grid.is_some()
    }

    fn read(&self, frame: u32, out: &mut [[f32; 3]]) -> Result<(), Error> {
        let (plan, frame) = (self.plan, frame as usize);
        let (mut scratch, mut values) = (Scratch::default(), VertexValues::default());
        if self.record.semantic == Semantic::Position {
            scratch.read(&plan.source, frame, &self.fixed.first_points)?;
            let points = scratch.points();
            for (out, &vertex) in out.iter_mut().zip(&self.points.vertex) {
                *out = points[self.fixed.vertex_point[vertex as usize] as usize];
            }
            return Ok(());
        }
        let want = Want {
            normals: false,
            uvs: self.record.semantic == Semantic::Uv,
            colours: self.record.semantic == Semantic::Colour,
        };
        let (prepared, source) = (&plan.prepared, &plan.source);
        (self.fixed).evaluate(source, prepared, frame, want, &mut scratch, &mut values)?;
        let set = usize::from(self.record.set);
        match self.record.semantic {
            Semantic::Uv => copy(&values.uvs[set], self.first, out),
            _ => copy(&values.colours[set], self.first, out),
        }
        Ok(())
    }

    /// The shape of the grid whose vertices, each of its own point, these are.
    pub fn grid(&self) -> Option<&Shape> {
        let grid = self.fixed.grid.as_ref()?;
        let apart = self.points.vertex.len() == self.points.of.len();
        (apart && !grid.shape.closed).then_some(&grid.shape)
    }

    /// What they are.
    pub fn semantic(&self) -> Semantic {
        self.record.semantic
    }

    /// Where frames come from.
    pub fn source(&self) -> &Source<'a> {
        &self.plan.source
    }

    /// Points of the source.
    pub fn count_of_source(&self) -> usize {
        self.plan.prepared.points
    }

    /// The source's point of each point.
    pub fn source_points(&self) -> impl Iterator<Item = u32> + '_ {
        let vertex_point = &self.fixed.vertex_point;
        (self.points.vertex.iter()).map(|&v| vertex_point[v as usize])
    }

    /// What [`Frames::read`] said, if it failed.
    pub fn check(&self) -> Result<(), Error> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or(Ok(()), Err)
    }
}

fn copy<const N: usize>(values: &[[f32; N]], first: usize, out: &mut [[f32; 3]]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = std::array::from_fn(|k| value.get(first + k).copied().unwrap_or(0.0));
    }
}

impl encode::Source for Frames<'_> {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        if let Err(error) = self.read(frame, out) {
            out.fill([0.0; 3]);
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}

/// What was measured of a decoded frame.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Box of the decoded values.
    pub bounds: [f32; 6],
    /// Largest distance to the source.
    pub error: f64,
}

/// What was seen, by frame.
pub type Sights = Vec<(u32, Seen)>;

/// Decoded frames by number, in the order of cells.
pub enum Decoded {
    Narrow(BTreeMap<u32, Vec<[i16; 4]>>),
    Wide(BTreeMap<u32, Vec<[i32; 4]>>),
}

/// The keys of a segment.
pub struct Segment {
    /// Per key its unit and what was seen.
    pub keys: Vec<(u32, Vec<u8>, Seen)>,
    pub decoded: Decoded,
}

/// The frames of a group.
pub struct Group {
    /// Units Inner and Last.
    pub units: [Vec<u8>; 2],
    pub seen: Sights,
    pub decoded: Decoded,
}

/// The encoder of a stream.
pub trait Coder: Send + Sync {
    /// What is stored once.
    fn static_bytes(&self) -> &[u8];
    /// Point of each cell.
    fn order(&self) -> &[u32];
    /// About what some frames will be when decoded.
    fn sample(&self, frames: &[u32]) -> Result<Decoded, Error>;
    /// Codes the keys of a segment and keeps them for [`Coder::group`]; hands out the decoded frames only if
    /// `keep`.
    fn segment(&self, segment: u32, keep: bool) -> Result<Segment, Error>;
    /// Codes the units Inner and Last of a group, whose keys have been coded; the same.
    fn group(&self, group: u32, keep: bool) -> Result<Group, Error>;
    /// Keys before this one are not needed any more.
    fn forget(&self, before: u32);
    /// Only heights over a plane are coded.
    fn has_heights(&self) -> bool {
        false
    }
    /// By point the rigid bone that moves it alone, or [`crate::extract::NONE`]; empty without bones.
    fn parts(&self) -> Vec<u32> {
        Vec::new()
    }
    /// What was seen of bones, once all is coded.
    fn measures(&self) -> Measures {
        Measures::default()
    }
}

/// Makes the frames of a stream's parts ready: positions and uvs are one, colours two.
pub fn frames<'a>(
    plan: &'a MeshPlan<'a>,
    fixed: &'a Fixed,
    points: &'a Points,
    record: &'a StreamRecord,
) -> Vec<Frames<'a>> {
    let parts = record.semantic.components().div_ceil(3);
    (0..parts)
        .map(|i| Frames { plan, fixed, points, record, first: 3 * i, failed: Mutex::default() })
        .collect()
}

/// Cells that can be coded on several threads.
pub trait Width: Cell + Send + Sync {
    /// Frames of this width.
    fn decoded(frames: BTreeMap<u32, Vec<[Self; 4]>>) -> Decoded;
}

impl Width for i16 {
    fn decoded(frames: BTreeMap<u32, Vec<[i16; 4]>>) -> Decoded {
        Decoded::Narrow(frames)
    }
}

impl Width for i32 {
    fn decoded(frames: BTreeMap<u32, Vec<[i32; 4]>>) -> Decoded {
        Decoded::Wide(frames)
    }
}

/// Makes the encoder of a part; `None` where cells of that width cannot hold the tolerance.
pub fn coder<'a, W: Width>(
    frames: &'a Frames<'a>,
    count: usize,
    options: &Options,
) -> Result<Option<Box<dyn Coder + 'a>>, Error> {
    let (plan, record) = (frames.plan, frames.record);
    let (hierarchy, _) = levels(frames);
    let settings = encode::Options {
        effort: options.effort,
        packed: options.preset == crate::Preset::Fast,
        restart: options.restart(),
        choice: None,
        own_tables: false,
    };
    let Some(extent) = extent(frames) else {
        return Ok(None);
    };
    let order = hierarchy.order.clone();
    let mut work = Work::default();
    if let Some(made) = heights::coder::<W>(frames, &hierarchy, count, extent, settings, &mut work)? {
        return Ok(Some(Box::new(Track {
            static_bytes: made.static_bytes,
            flat: Some(made.flat),
            frames,
            extent,
            order,
            keys: RwLock::default(),
            works: Mutex::new(vec![work]),
            encoder: made.encoder,
        })));
    }
    let made = Encoder::<W>::new(hierarchy, count as u32, extent, settings, frames, &mut work);
    frames.check()?;
    match made {
        Ok(encoder) => Ok(Some(Box::new(Track {
            static_bytes: encoder.static_bytes().to_vec(),
            flat: None,
            frames,
            extent,
            order,
            keys: RwLock::default(),
            works: Mutex::new(vec![work]),
            encoder,
        }))),
        Err(Refused::TooFine | Refused::Levels) => Ok(None),
        Err(refused) => Err(Error::Promise {
            what: format!("{}: {:?}: {refused}", plan.path, record.semantic),
            target: Default::default(),
        }),
    }
}

/// Levels of detail, and the triangles that they were made from.
pub fn levels(frames: &Frames<'_>) -> (Hierarchy, Vec<u32>) {
    let indices = &frames.fixed.indices;
    let (count, triangles) = match frames.record.semantic {
        Semantic::Position => {
            let of = &frames.points.of;
            let triangles = indices.iter().map(|&v| of[v as usize]).collect();
            (frames.points.vertex.len(), triangles)
        }
        _ => (frames.fixed.vertex_point.len(), indices.clone()),
    };
    let shape = frames.fixed.grid.as_ref().map(|grid| &grid.shape);
    (hierarchy::of(shape, count as u32, &triangles), triangles)
}

/// The box and the tolerance of a part.
pub fn extent(frames: &Frames<'_>) -> Option<Extent> {
    let (plan, record) = (frames.plan, frames.record);
    let set = usize::from(record.set);
    let side = |k: usize| match record.semantic {
        Semantic::Position => plan.prepared.extent.component(k),
        Semantic::Uv => plan.prepared.uvs[set].extent.component(k),
        _ => plan.prepared.colours[set].extent.component(k),
    };
    let axes = (record.semantic.components() - frames.first).min(3);
    let sides: [(f32, f32); 3] = std::array::from_fn(|k| match k < axes {
        true => side(frames.first + k),
        false => (0.0, 0.0),
    });
    let extent = Extent {
        low: sides.map(|s| s.0),
        high: sides.map(|s| s.1),
        radius: record.tolerance,
        axes: axes as u8,
    };
    let finite = extent.low.iter().chain(&extent.high).all(|v| v.is_finite());
    (finite && extent.radius > 0.0).then_some(extent)
}

struct Track<'a, W> {
    encoder: Encoder<'a, W>,
    frames: &'a Frames<'a>,
    extent: Extent,
    /// Point of each cell.
    order: Vec<u32>,
    static_bytes: Vec<u8>,
    /// The plane of a height field.
    flat: Option<Flat>,
    /// Decoded keys by number, without that.
    keys: RwLock<BTreeMap<u32, Vec<[W; 4]>>>,
    /// Buffers that no thread uses at the moment.
    works: Mutex<Vec<Work<W>>>,
}

impl<W: Cell> Track<'_, W> {
    /// What the player has of a decoded frame.
    fn laid<'c>(&self, cells: &'c [[W; 4]]) -> Cow<'c, [[W; 4]]> {
        let mut cells = Cow::Borrowed(cells);
        if let Some(flat) = &self.flat {
            flat.lay(cells.to_mut());
        }
        cells
    }

    fn with_work<T>(&self, run: impl FnOnce(&mut Work<W>) -> T) -> T {
        let works = || self.works.lock().unwrap_or_else(PoisonError::into_inner);
        let mut work = works().pop().unwrap_or_default();
        let out = run(&mut work);
        works().push(work);
        out
    }

    fn schedule(&self) -> &Schedule {
        self.encoder.schedule()
    }

    /// Measures a decoded frame against its source.
    fn see(&self, points: &[[f32; 3]], decoded: &[[W; 4]]) -> Seen {
        seen(self.encoder.grid(), &self.order, points, decoded)
    }

    /// The encoder has checked every point; a frame that is off all the same must never be written.
    fn keep_promise(&self, frame: u32, seen: &Seen) -> Result<(), Error> {
        if seen.error <= self.extent.radius {
            return Ok(());
        }
        let (plan, record) = (self.frames.plan, self.frames.record);
        Err(Error::Promise {
            what: format!(
                "{}: {:?} {} off by {:e} in frame {frame}, {:e} allowed",
                plan.path, record.semantic, record.set, seen.error, self.extent.radius
            ),
            target: Default::default(),
        })
    }

    fn failed(&self, refused: Refused) -> Error {
        Error::Promise {
            what: format!("{}: {:?}: {refused}", self.frames.plan.path, self.frames.record.semantic),
            target: Default::default(),
        }
    }
}

/// Measures the cells of a frame against its source. `order`: point of each cell.
pub fn seen<W: Cell>(grid: &Grid, order: &[u32], points: &[[f32; 3]], decoded: &[[W; 4]]) -> Seen {
    let (mut bounds, mut most) = (NOTHING, 0.0f64);
    for (cell, &point) in decoded.iter().zip(order) {
        let value = grid.position([cell[0].get(), cell[1].get(), cell[2].get()]);
        let source = &points[point as usize];
        let mut square = 0.0;
        for k in 0..3 {
            bounds[k] = bounds[k].min(value[k]);
            bounds[k + 3] = bounds[k + 3].max(value[k]);
            let off = f64::from(value[k]) - f64::from(source[k]);
            square += off * off;
        }
        most = most.max(square);
    }
    Seen { bounds, error: most.sqrt() }
}

/// Cells of points on a lattice that is off as much as decoding may be.
pub fn rounded<W: Cell>(grid: &Grid, radius: f64, order: &[u32], points: &[[f32; 3]]) -> Vec<[W; 4]> {
    let step = radius * 2.0 / 3f64.sqrt();
    let cell = |&point: &u32| {
        let at = |k: usize| {
            let off = f64::from(points[point as usize][k]) - f64::from(grid.centre[k]);
            W::wrap(((off / step).round() * step / f64::from(grid.unit)).round() as i32)
        };
        [at(0), at(1), at(2), W::default()]
    };
    order.iter().map(cell).collect()
}

impl<W: Width> Coder for Track<'_, W> {
    fn static_bytes(&self) -> &[u8] {
        &self.static_bytes
    }

    fn has_heights(&self) -> bool {
        self.flat.is_some()
    }

    fn order(&self) -> &[u32] {
        &self.order
    }

    /// Rounds to a lattice that is off as much as decoding may be.
    fn sample(&self, frames: &[u32]) -> Result<Decoded, Error> {
        let grid = self.encoder.grid();
        let mut points = vec![[0.0; 3]; self.order.len()];
        let mut out = BTreeMap::new();
        for &frame in frames {
            encode::Source::positions(self.frames, frame, &mut points);
            self.frames.check()?;
            let cells = rounded(grid, self.extent.radius, &self.order, &points);
            out.insert(frame, cells);
        }
        Ok(W::decoded(out))
    }

    fn segment(&self, segment: u32, keep: bool) -> Result<Segment, Error> {
        let mut out = Vec::new();
        let mut keys = Vec::new();
        let mut decoded_frames = BTreeMap::new();
        let mut points = vec![[0.0; 3]; self.order.len()];
        let done = self.with_work(|work| {
            (self.encoder).segment(segment, work, &mut |key, bytes, decoded| {
                let frame = self.schedule().key_frame(key);
                encode::Source::positions(self.frames, frame, &mut points);
                let laid = self.laid(decoded);
                out.push((key, bytes, self.see(&points, &laid)));
                keys.push((key, decoded.to_vec()));
                if keep {
                    decoded_frames.insert(frame, laid.into_owned());
                }
            })
        });
        self.frames.check()?;
        done.map_err(|refused| self.failed(refused))?;
        for (key, _, seen) in &out {
            self.keep_promise(self.schedule().key_frame(*key), seen)?;
        }
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        held.extend(keys);
        Ok(Segment { keys: out, decoded: W::decoded(decoded_frames) })
    }

    fn group(&self, group: u32, keep: bool) -> Result<Group, Error> {
        let held = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let find = |frame: u32| {
            let key = self.schedule().key_of(frame).and_then(|key| held.get(&key));
            // The caller has coded them; an empty slice is refused by the encoder's own checks.
            key.map_or(&[][..], Vec::as_slice)
        };
        let mut seen = Vec::new();
        let mut decoded_frames = BTreeMap::new();
        let done = self.with_work(|work| {
            (self.encoder).group(group, &find, work, &mut |frame, points, decoded| {
                let laid = self.laid(decoded);
                seen.push((frame, self.see(points, &laid)));
                if keep {
                    decoded_frames.insert(frame, laid.into_owned());
                }
            })
        });
        self.frames.check()?;
        let units = done.map_err(|refused| self.failed(refused))?;
        for (frame, seen) in &seen {
            self.keep_promise(*frame, seen)?;
        }
        Ok(Group { units, seen, decoded: W::decoded(decoded_frames) })
    }

    fn forget(&self, before: u32) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *held = held.split_off(&before);
    }
}
