//! The points of a mesh, and the frames of one stream as the soft codec reads them.

use crate::Error;
use crate::mesh::evaluate::{RequestedValues, Scratch};
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::FixedLayout;
use crate::mesh::source::MeshSource;
use crate::mesh::streams::VertexValues;
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::{encode, hierarchy};
use meshreel_codec::quantize::lattice::Extent;
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_codec::topology::grid::GridShape;
use std::sync::{Arc, Mutex, PoisonError};

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
    let side = |k: usize| match record.semantic {
        Semantic::Position => plan.prepared.scan.extent.component(k),
        Semantic::Uv => plan.prepared.channels.uvs[set].extent.component(k),
        _ => plan.prepared.channels.colours[set].extent.component(k),
    };
    let axes = (record.semantic.components() - frames.first).min(3);
    let sides: [(f32, f32); 3] = std::array::from_fn(|k| match k < axes {
        true => side(frames.first + k),
        false => (0.0, 0.0),
    });
    let extent = Extent {
        low: sides.map(|s| s.0),
        high: sides.map(|s| s.1),
        tolerance: record.tolerance,
        axes: axes as u8,
    };
    let finite = extent.low.iter().chain(&extent.high).all(|v| v.is_finite());
    (finite && extent.tolerance > 0.0).then_some(extent)
}
