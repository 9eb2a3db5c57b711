//! The points of a mesh, the frames of one stream as the soft codec reads them, and the encoder of a stream
//! that is kept as fixed-point positions of either width.

use crate::Error;
use crate::decisions::{CoderDecisions, PartDecisions};
use crate::mesh::particles;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::{CustomChannel, FixedLayout};
use crate::mesh::source::MeshSource;
use crate::mesh::streams::{RequestedValues, Scratch, VertexValues};
use crate::method::coder::{
    CodedUnits, DecodedByWidth, FrameMeasure, StreamCoder, Width, measure_frame, round_to_lattice,
    vectors_from_bytes, vectors_to_bytes,
};
use crate::threads::task_runner;
use meshreel_codec::for_width;
use meshreel_codec::mesh::decode::FirstFrame;
use meshreel_codec::mesh::encode::{EncodeBuffers, EncodeError, Encoder, PositionSource};
use meshreel_codec::mesh::height::{FixedPointPlane, HeightFieldPlane};
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::{encode, hierarchy};
use meshreel_codec::quantize::fixed_point::FixedPoint;
use meshreel_codec::quantize::lattice::{Extent, FixedPointGrid};
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_codec::schedule::Schedule;
use meshreel_codec::topology::grid::GridShape;
use meshreel_options::Options;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// The points of a mesh: vertices that coincide in every frame share one.
pub struct MeshPoints {
    /// By vertex, its point; points are numbered by their first vertices.
    pub vertex_point: Vec<u32>,
    /// By point, its first vertex.
    pub first_vertex: Vec<u32>,
}

impl MeshPoints {
    /// Finds the points of a mesh with fixed topology.
    pub fn new(fixed: &FixedLayout) -> MeshPoints {
        let vertices = fixed.vertex_point.len() as u32;
        let first = |v: u32| fixed.weld.as_ref().map_or(v, |weld| weld[v as usize]);
        let mut points = MeshPoints { vertex_point: vec![0; vertices as usize], first_vertex: Vec::new() };
        for v in 0..vertices {
            points.vertex_point[v as usize] = match first(v) {
                own if own == v => {
                    points.first_vertex.push(v);
                    points.first_vertex.len() as u32 - 1
                }
                earlier => points.vertex_point[earlier as usize],
            };
        }
        points
    }

    /// Returns, by vertex, the index of its point in the order of fixed-point positions.
    pub fn places(&self, order: &[u32]) -> Vec<u32> {
        let mut place = vec![0; self.first_vertex.len()];
        for (new, &point) in (0..).zip(order) {
            place[point as usize] = new;
        }
        self.vertex_point.iter().map(|&point| place[point as usize]).collect()
    }
}

/// Frames of one stream, or of one half of it, as 3-vectors.
pub struct PointFrames {
    pub plan: Arc<MeshPlan>,
    pub fixed: Arc<FixedLayout>,
    pub points: Arc<MeshPoints>,
    pub record: StreamRecord,
    /// Index of the stream's component that comes first.
    first: usize,
    /// The first error in reading a frame, which the encoder cannot return.
    failed: Mutex<Option<Error>>,
}

impl PointFrames {
    /// Returns `true` if the vertices form a regular grid.
    pub fn is_grid(&self) -> bool {
        self.fixed.grid.is_some()
    }

    fn read(&self, frame: u32, out: &mut [[f32; 3]]) -> Result<(), Error> {
        let (plan, frame) = (&*self.plan, frame as usize);
        if plan.prepared.particles.is_some() {
            return self.read_particles(frame, out);
        }
        let (mut scratch, mut values) = (Scratch::default(), VertexValues::default());
        if self.record.semantic == Semantic::Position {
            scratch.read(&plan.source, frame, &self.fixed.first_points)?;
            let points = scratch.points();
            for (out, &vertex) in out.iter_mut().zip(&self.points.first_vertex) {
                *out = points[self.fixed.vertex_point[vertex as usize] as usize];
            }
            return Ok(());
        }
        let want = RequestedValues {
            uvs: self.record.semantic == Semantic::Uv,
            colours: self.record.semantic == Semantic::Colour,
            ..RequestedValues::default()
        };
        let (prepared, source) = (&plan.prepared, &plan.source);
        (self.fixed).evaluate(source, prepared, frame, want, &mut scratch, &mut values)?;
        let set = usize::from(self.record.set);
        match self.record.semantic {
            Semantic::Uv => copy_components(&values.uvs[set], self.first, out),
            _ => copy_components(&values.colours[set], self.first, out),
        }
        Ok(())
    }

    /// Reads a frame of points without faces.
    fn read_particles(&self, frame: usize, out: &mut [[f32; 3]]) -> Result<(), Error> {
        let (semantic, set) = (self.record.semantic, usize::from(self.record.set));
        let wanted = |other, other_set| (other, other_set) == (semantic, set);
        let values =
            particles::evaluate_streams(&self.plan.source, &self.plan.prepared, frame, &wanted)?.values;
        match semantic {
            Semantic::Uv => copy_components(&values.uvs[set], self.first, out),
            Semantic::Colour => copy_components(&values.colours[set], self.first, out),
            Semantic::Velocity => copy_components(&values.velocities, self.first, out),
            Semantic::Width => copy_components(&values.widths, self.first, out),
            _ if semantic.is_custom() => copy_components(&values.custom[set], self.first, out),
            _ => copy_components(&values.positions, self.first, out),
        }
        Ok(())
    }

    /// Returns the shape of the grid, if every vertex is a point of its own.
    pub fn grid(&self) -> Option<&GridShape> {
        let grid = self.fixed.grid.as_ref()?;
        let apart = self.points.first_vertex.len() == self.points.vertex_point.len();
        (apart && !grid.shape.closed).then_some(&grid.shape)
    }

    /// Returns the kind of the stream's values.
    pub fn semantic(&self) -> Semantic {
        self.record.semantic
    }

    /// Returns the source of the frames.
    pub fn source(&self) -> &MeshSource {
        &self.plan.source
    }

    /// Returns the number of points of the source.
    pub fn source_point_count(&self) -> usize {
        self.plan.prepared.scan.points
    }

    /// Returns, by point, its point in the source.
    pub fn source_points(&self) -> impl Iterator<Item = u32> + '_ {
        let vertex_point = &self.fixed.vertex_point;
        (self.points.first_vertex.iter()).map(|&v| vertex_point[v as usize])
    }

    /// Returns the error of reading, if a frame could not be read.
    pub fn check(&self) -> Result<(), Error> {
        self.plan.source.cancellation.check()?;
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or(Ok(()), Err)
    }
}

fn copy_components<const N: usize>(values: &[[f32; N]], first: usize, out: &mut [[f32; 3]]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = std::array::from_fn(|k| value.get(first + k).copied().unwrap_or(0.0));
    }
}

impl encode::PositionSource for PointFrames {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        if let Err(error) = self.read(frame, out) {
            // The encoder stops at a frame of NaN.
            out.fill([f32::NAN; 3]);
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}

/// Prepares the frames of a stream's parts: positions and uvs have one part, colours two.
pub fn point_frames(
    plan: &Arc<MeshPlan>,
    fixed: &Arc<FixedLayout>,
    points: &Arc<MeshPoints>,
    record: &StreamRecord,
) -> Vec<Arc<PointFrames>> {
    let parts = record.semantic.components().div_ceil(3);
    let part = |i: usize| PointFrames {
        plan: plan.clone(),
        fixed: fixed.clone(),
        points: points.clone(),
        record: record.clone(),
        first: 3 * i,
        failed: Mutex::default(),
    };
    (0..parts).map(|i| Arc::new(part(i))).collect()
}

/// Builds the hierarchy of a stream's points, and returns the triangles that it was built from.
pub fn build_hierarchy(frames: &PointFrames) -> (Hierarchy, Vec<u32>) {
    let indices = &frames.fixed.indices;
    let (count, triangles) = match frames.record.semantic {
        Semantic::Position => {
            let of = &frames.points.vertex_point;
            let triangles = indices.iter().map(|&v| of[v as usize]).collect();
            (frames.points.first_vertex.len(), triangles)
        }
        _ => (frames.fixed.vertex_point.len(), indices.clone()),
    };
    let shape = frames.fixed.grid.as_ref().map(|grid| &grid.shape);
    (hierarchy::build_with_grid(shape, count as u32, &triangles), triangles)
}

/// Returns the bounds and the tolerance of a part.
pub fn extent(frames: &PointFrames) -> Option<Extent> {
    let (plan, record) = (&*frames.plan, &frames.record);
    let set = usize::from(record.set);
    let channels = &plan.prepared.channels;
    let of_points = || plan.prepared.particles.as_ref();
    let side = |k: usize| match record.semantic {
        Semantic::Position => plan.prepared.scan.extent.component(k),
        Semantic::Uv => channels.uvs[set].extent.component(k),
        Semantic::Velocity => channels.velocities.map_or(NO_SIDE, |own| own.extent.component(k)),
        Semantic::Width => of_points().and_then(|own| own.widths).map_or(NO_SIDE, |w| w.extent.component(k)),
        semantic if semantic.is_custom() => {
            of_points().map_or(NO_SIDE, |own| own.custom[set].0.extent.component(k))
        }
        _ => channels.colours[set].extent.component(k),
    };
    let axes = (record.semantic.components() - frames.first).min(3);
    let sides: [(f32, f32); 3] = std::array::from_fn(|k| match k < axes {
        true => side(frames.first + k),
        false => (0.0, 0.0),
    });
    let extent = Extent {
        low: sides.map(|s| s.0),
        high: sides.map(|s| s.1),
        tolerance: part_tolerance(frames),
        axes: axes as u8,
    };
    let finite = extent.low.iter().chain(&extent.high).all(|v| v.is_finite());
    (finite && extent.tolerance > 0.0).then_some(extent)
}

/// The extent of a channel that is not there.
const NO_SIDE: (f32, f32) = (0.0, 0.0);

/// Returns the largest distance that a decoded vector of a part may have; 0 if it must be exact. The
/// components of colours and custom values of points each have a bound of their own: all keep the smallest.
fn part_tolerance(frames: &PointFrames) -> f64 {
    let (record, prepared) = (&frames.record, &frames.plan.prepared);
    let Some(particles) = prepared.particles.as_ref() else {
        return record.tolerance;
    };
    let of_components = record.semantic == Semantic::Colour || record.semantic.is_custom();
    if !of_components {
        return record.tolerance;
    }
    let components = record.semantic.components();
    let whole = |(set, ..): &(CustomChannel, String, usize)| set.integral[..components].contains(&true);
    if record.semantic.is_custom() && particles.custom.get(usize::from(record.set)).is_none_or(whole) {
        return 0.0;
    }
    record.axes.iter().map(|axis| f64::from(axis.step) * 0.5).fold(record.tolerance, f64::min)
}

/// Creates the encoder of a part; `None` if values of that width cannot hold the tolerance. If it was
/// `decided`, nothing is searched.
pub fn soft_coder<W: Width>(
    frames: &Arc<PointFrames>,
    count: usize,
    options: &Options,
    decided: Option<&PartDecisions>,
) -> Result<Option<Box<dyn StreamCoder>>, Error> {
    let (plan, record) = (&frames.plan, &frames.record);
    let (hierarchy, _) = build_hierarchy(frames);
    let settings = encode::Options {
        effort: options.effort,
        packed: options.preset == meshreel_options::Preset::Fast,
        restart: options.restart(),
        choice: None,
        own_tables: false,
        tasks: task_runner(),
    };
    let Some(extent) = extent(frames) else {
        return Ok(None);
    };
    let order = hierarchy.order.clone();
    let mut work = EncodeBuffers::default();
    if let Some(made) =
        height_field_coder::<W>(frames, &hierarchy, count, extent, settings, (decided, &mut work))?
    {
        return Ok(Some(Box::new(SoftCoder {
            static_bytes: made.static_bytes,
            flat: Some(made.flat),
            axis: Some(made.axis),
            frames: frames.clone(),
            extent,
            order,
            keys: RwLock::default(),
            works: Mutex::new(vec![work]),
            encoder: made.encoder,
        })));
    }
    if decided.is_some_and(|decided| decided.axis.is_some()) {
        return Err(Error::Malformed { what: format!("{}: its heights", plan.path) });
    }
    let made = match decided {
        None => {
            let source = frames.clone();
            Encoder::<W>::with_owned_source(hierarchy, count as u32, extent, settings, source, &mut work)
        }
        Some(PartDecisions { encoder_settings: settled, .. }) => {
            let source = frames.clone();
            let made = Encoder::from_search_result(
                hierarchy,
                count as u32,
                extent,
                settings,
                source,
                (settled, &mut work),
            );
            match made {
                Err(None) => return Err(Error::Malformed { what: format!("{}: its settings", plan.path) }),
                made => made.map_err(|refused| refused.unwrap_or(EncodeError::TooFine)),
            }
        }
    };
    frames.check()?;
    match made {
        Ok(encoder) => Ok(Some(Box::new(SoftCoder {
            static_bytes: encoder.static_bytes().to_vec(),
            flat: None,
            axis: None,
            frames: frames.clone(),
            extent,
            order,
            keys: RwLock::default(),
            works: Mutex::new(vec![work]),
            encoder,
        }))),
        Err(EncodeError::TooFine | EncodeError::TooManyLevels) => Ok(None),
        Err(refused) => Err(Error::Promise {
            what: format!("{}: {:?}: {refused}", plan.path, record.semantic),
            target: Default::default(),
        }),
    }
}

struct SoftCoder<W> {
    encoder: Encoder<'static, W>,
    frames: Arc<PointFrames>,
    extent: Extent,
    /// Point of each fixed-point position.
    order: Vec<u32>,
    static_bytes: Vec<u8>,
    /// The plane of a height field.
    flat: Option<FixedPointPlane>,
    /// The coordinate that moves.
    axis: Option<u8>,
    /// Decoded keys by number, without the plane.
    keys: RwLock<BTreeMap<u32, Vec<[W; 4]>>>,
    /// Buffers that no thread uses at the moment.
    works: Mutex<Vec<EncodeBuffers<W>>>,
}

impl<W: FixedPoint> SoftCoder<W> {
    /// Returns the fixed-point positions of a decoded frame as in the player.
    fn add_plane<'c>(&self, cells: &'c [[W; 4]]) -> Cow<'c, [[W; 4]]> {
        let mut cells = Cow::Borrowed(cells);
        if let Some(flat) = &self.flat {
            flat.restore_uncoded_axes(cells.to_mut());
        }
        cells
    }

    fn with_work<T>(&self, run: impl FnOnce(&mut EncodeBuffers<W>) -> T) -> T {
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
    fn measure(&self, points: &[[f32; 3]], decoded: &[[W; 4]]) -> FrameMeasure {
        measure_frame(self.encoder.grid(), &self.order, points, decoded)
    }

    /// The encoder has checked every point; a frame that exceeds the tolerance all the same must never be
    /// written.
    fn check_tolerance(&self, frame: u32, seen: &FrameMeasure) -> Result<(), Error> {
        if seen.error <= self.extent.tolerance {
            return Ok(());
        }
        let (plan, record) = (&self.frames.plan, &self.frames.record);
        Err(Error::Promise {
            what: format!(
                "{}: {:?} {} off by {:e} in frame {frame}, {:e} allowed",
                plan.path, record.semantic, record.set, seen.error, self.extent.tolerance
            ),
            target: Default::default(),
        })
    }

    fn encode_error(&self, refused: EncodeError) -> Error {
        Error::Promise {
            what: format!("{}: {:?}: {refused}", self.frames.plan.path, self.frames.record.semantic),
            target: Default::default(),
        }
    }
}

impl<W: Width> StreamCoder for SoftCoder<W> {
    fn static_bytes(&self) -> &[u8] {
        &self.static_bytes
    }

    fn has_heights(&self) -> bool {
        self.flat.is_some()
    }

    fn decisions(&self) -> CoderDecisions {
        CoderDecisions::Part(PartDecisions {
            encoder_settings: self.encoder.search_result(),
            axis: self.axis,
        })
    }

    fn order(&self) -> &[u32] {
        &self.order
    }

    fn first_frame(&self) -> FirstFrame {
        W::into_owned_points(self.add_plane(self.encoder.first()).into_owned())
    }

    /// Rounds to a lattice whose error is as large as that of decoding may be.
    fn sample_frames(&self, frames: &[u32]) -> Result<DecodedByWidth, Error> {
        let grid = self.encoder.grid();
        let mut points = vec![[0.0; 3]; self.order.len()];
        let mut out = BTreeMap::new();
        for &frame in frames {
            encode::PositionSource::positions(&*self.frames, frame, &mut points);
            self.frames.check()?;
            let cells = round_to_lattice(grid, self.extent.tolerance, &self.order, &points);
            out.insert(frame, cells);
        }
        Ok(W::wrap_frames(out))
    }

    fn segment(&self, segment: u32, keep: bool) -> Result<CodedUnits, Error> {
        let (mut units, mut measures) = (Vec::new(), Vec::new());
        let mut keys = Vec::new();
        let mut decoded_frames = BTreeMap::new();
        let mut points = vec![[0.0; 3]; self.order.len()];
        let done = self.with_work(|work| {
            (self.encoder).encode_segment(segment, work, &mut |key, bytes, decoded| {
                let frame = self.schedule().key_frame(key);
                encode::PositionSource::positions(&*self.frames, frame, &mut points);
                let laid = self.add_plane(decoded);
                units.push(bytes);
                measures.push((frame, self.measure(&points, &laid)));
                keys.push((key, decoded.to_vec()));
                if keep {
                    decoded_frames.insert(frame, laid.into_owned());
                }
            })
        });
        self.frames.check()?;
        done.map_err(|refused| self.encode_error(refused))?;
        for (frame, measure) in &measures {
            self.check_tolerance(*frame, measure)?;
        }
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        held.extend(keys);
        Ok(CodedUnits { units, measures, decoded: W::wrap_frames(decoded_frames) })
    }

    fn key_state(&self, key: u32) -> Option<Vec<u8>> {
        let held = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        held.get(&key).map(|values| vectors_to_bytes(values))
    }

    fn restore_key(&self, key: u32, bytes: &[u8]) -> bool {
        let Some(values) = vectors_from_bytes(bytes, self.order.len()) else { return false };
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        held.insert(key, values);
        true
    }

    fn group(&self, group: u32, keep: bool) -> Result<CodedUnits, Error> {
        let held = self.keys.read().unwrap_or_else(PoisonError::into_inner);
        let find = |frame: u32| {
            let key = self.schedule().key_of(frame).and_then(|key| held.get(&key));
            // The caller has coded them; an empty slice is refused by the encoder's own checks.
            key.map_or(&[][..], Vec::as_slice)
        };
        let mut measures = Vec::new();
        let mut decoded_frames = BTreeMap::new();
        let done = self.with_work(|work| {
            (self.encoder).encode_group(group, &find, work, &mut |frame, points, decoded| {
                let laid = self.add_plane(decoded);
                measures.push((frame, self.measure(points, &laid)));
                if keep {
                    decoded_frames.insert(frame, laid.into_owned());
                }
            })
        });
        self.frames.check()?;
        let units = done.map_err(|refused| self.encode_error(refused))?;
        for (frame, measure) in &measures {
            self.check_tolerance(*frame, measure)?;
        }
        Ok(CodedUnits { units: units.into(), measures, decoded: W::wrap_frames(decoded_frames) })
    }

    fn forget(&self, before: u32) {
        let mut held = self.keys.write().unwrap_or_else(PoisonError::into_inner);
        *held = held.split_off(&before);
    }
}

/// Fraction of the tolerance for heights; the plane has √(1 − 0.98²) ≈ 0.2 of it, at a right angle to that.
const HEIGHT_FRACTION: f64 = 0.98;
/// Fraction of the tolerance by which the source may deviate from a plane, before the plane is rounded to
/// fixed-point positions.
const PLANE_ERROR_FRACTION: f64 = 0.1;

/// Coded heights.
struct CodedHeights<W> {
    encoder: Encoder<'static, W>,
    static_bytes: Vec<u8>,
    flat: FixedPointPlane,
    /// The coordinate that moves.
    axis: u8,
}

/// A height field as the encoder of fixed-point positions sees it.
struct HeightField {
    frames: Arc<PointFrames>,
    plane: HeightFieldPlane,
    /// By point, its column and row.
    columns_and_rows: Vec<[u32; 2]>,
    order: Vec<u32>,
    /// `true` if fixed-point positions are 16 bits wide.
    narrow: bool,
}

impl HeightField {
    fn flat(&self, grid: &FixedPointGrid) -> Option<FixedPointPlane> {
        for_width!(!self.narrow, W => self.plane.to_fixed_point::<W>(&self.columns_and_rows, &self.order, grid))
    }
}

impl PositionSource for HeightField {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        self.frames.positions(frame, out);
    }

    fn outside_prediction(&self, _: u32, grid: &FixedPointGrid, out: &mut [[i32; 3]]) -> bool {
        // Without a plane the encoder's result is discarded.
        if let Some(flat) = self.flat(grid) {
            out.copy_from_slice(&flat.base);
        }
        true
    }

    fn axis(&self) -> Option<usize> {
        Some(self.plane.axis)
    }
}

/// Returns the coder of a height field; `None` if the mesh is not one, or this width cannot hold it.
fn height_field_coder<W: Width>(
    frames: &Arc<PointFrames>,
    hierarchy: &Hierarchy,
    count: usize,
    extent: Extent,
    options: encode::Options,
    (decided, work): (Option<&PartDecisions>, &mut EncodeBuffers<W>),
) -> Result<Option<CodedHeights<W>>, Error> {
    let axis = match decided.map(|decided| decided.axis) {
        None => None,
        Some(Some(axis)) => Some(usize::from(axis)),
        // The mesh is known not to be a height field.
        Some(None) => return Ok(None),
    };
    let Some((plane, places, off)) = find_plane(frames, count, extent.tolerance, axis)? else {
        return Ok(None);
    };
    let source = Arc::new(HeightField {
        frames: frames.clone(),
        plane,
        columns_and_rows: places,
        order: hierarchy.order.clone(),
        narrow: W::BITS == 16,
    });
    let own = Extent { tolerance: extent.tolerance * HEIGHT_FRACTION, axes: 1, ..extent };
    let (levels, count) = (hierarchy.clone(), count as u32);
    let made = match decided {
        None => Encoder::with_owned_source(levels, count, own, options, source.clone(), work).ok(),
        Some(PartDecisions { encoder_settings: settled, .. }) => {
            Encoder::from_search_result(levels, count, own, options, source.clone(), (settled, work)).ok()
        }
    };
    frames.check()?;
    let Some(encoder) = made else { return Ok(None) };
    let grid = encoder.grid();
    let Some(flat) = source.flat(grid) else {
        return Ok(None);
    };
    // Fixed-point positions have an error of half a unit along both sides; the rest is for f32.
    let off = off + f64::from(grid.unit) * 0.75;
    if off * off + own.tolerance * own.tolerance > extent.tolerance * extent.tolerance {
        return Ok(None);
    }
    let mut static_bytes = Vec::new();
    plane.encode(encoder.static_bytes(), &mut static_bytes);
    Ok(Some(CodedHeights { encoder, static_bytes, flat, axis: plane.axis as u8 }))
}

/// A plane, column and row of every point, and their largest distance from the source.
type PlaneFit = (HeightFieldPlane, Vec<[u32; 2]>, f64);

/// Fits a plane. `only`: the coordinate that is known to move; then only the first frame is read.
fn find_plane(
    frames: &PointFrames,
    count: usize,
    radius: f64,
    only: Option<usize>,
) -> Result<Option<PlaneFit>, Error> {
    let Some(shape) = frames.grid().filter(|_| frames.semantic() == Semantic::Position) else {
        return Ok(None);
    };
    let places = shape.columns_and_rows();
    let mut first = vec![[0.0; 3]; places.len()];
    encode::PositionSource::positions(frames, 0, &mut first);
    let at = |i: u32, j: u32| {
        let number = places.iter().position(|&p| p == [i, j]);
        first[number.unwrap_or(0)].map(f64::from)
    };
    let ends = [at(0, 0), at(shape.width - 1, 0), at(0, shape.height - 1)];
    let steps = [f64::from(shape.width - 1), f64::from(shape.height - 1)];
    // A flat frame does not show which coordinate will move.
    let mut fit: Vec<(HeightFieldPlane, f64)> = Vec::new();
    for axis in (0..3).filter(|axis| only.is_none_or(|only| only == *axis)) {
        let side = |k: usize| {
            let [origin, right, up] = ends.map(|p| p[(axis + 1 + k) % 3]);
            [origin, (right - origin) / steps[0], (up - origin) / steps[1]].map(|v| v as f32)
        };
        let plane = HeightFieldPlane { axis, affine_coordinates: [side(0), side(1)] };
        let mut off = 0.0f64;
        for (p, &place) in first.iter().zip(&places) {
            let at = plane.position(place);
            let miss = |k: usize| f64::from(p[k]) - at[k];
            let others = [(axis + 1) % 3, (axis + 2) % 3].map(miss);
            off = off.max(others[0].hypot(others[1]));
        }
        if off <= PLANE_ERROR_FRACTION * radius {
            fit.push((plane, off));
        }
    }
    let mut points = vec![[0.0; 3]; places.len()];
    for frame in 1..count as u32 {
        if fit.is_empty() || only.is_some() {
            break;
        }
        encode::PositionSource::positions(frames, frame, &mut points);
        fit.retain(|(plane, _)| {
            let others = [(plane.axis + 1) % 3, (plane.axis + 2) % 3];
            let stays = |(p, f): (&[f32; 3], &[f32; 3])| others.iter().all(|&k| p[k] == f[k]);
            points.iter().zip(&first).all(stays)
        });
    }
    frames.check()?;
    Ok(fit.first().map(|&(plane, off)| (plane, places, off)))
}
