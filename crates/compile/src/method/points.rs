//! The points of a mesh, and frames of one stream as the soft codec reads them.

use crate::Error;
use crate::mesh::evaluate::{Scratch, Want};
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::Fixed;
use crate::mesh::source::Source;
use crate::mesh::streams::VertexValues;
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::{encode, hierarchy};
use meshreel_codec::quantize::lattice::Extent;
use meshreel_codec::record::{Semantic, StreamRecord};
use meshreel_codec::topology::grid::Shape;
use std::sync::{Mutex, PoisonError};

/// The points of a mesh: vertices that coincide in every frame are one.
pub struct MeshPoints {
    /// Point of each vertex, numbered by first vertices.
    pub of: Vec<u32>,
    /// First vertex of each point.
    pub vertex: Vec<u32>,
}

impl MeshPoints {
    /// The points of a mesh with fixed topology.
    pub fn new(fixed: &Fixed) -> MeshPoints {
        let vertices = fixed.vertex_point.len() as u32;
        let first = |v: u32| fixed.weld.as_ref().map_or(v, |weld| weld[v as usize]);
        let mut points = MeshPoints { of: vec![0; vertices as usize], vertex: Vec::new() };
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
pub struct PointFrames<'a> {
    pub plan: &'a MeshPlan<'a>,
    pub fixed: &'a Fixed,
    pub points: &'a MeshPoints,
    pub record: &'a StreamRecord,
    /// Number of the stream's component that comes first.
    first: usize,
    /// The first error while a frame was read, which the encoder cannot carry.
    failed: Mutex<Option<Error>>,
}

impl<'a> PointFrames<'a> {
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
            uvs: self.record.semantic == Semantic::Uv,
            colours: self.record.semantic == Semantic::Colour,
            ..Want::default()
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

    /// The kind of values of the stream.
    pub fn semantic(&self) -> Semantic {
        self.record.semantic
    }

    /// Where frames come from.
    pub fn source(&self) -> &Source<'a> {
        &self.plan.source
    }

    /// The points of the source.
    pub fn count_of_source(&self) -> usize {
        self.plan.prepared.points
    }

    /// The source's point of each point.
    pub fn source_points(&self) -> impl Iterator<Item = u32> + '_ {
        let vertex_point = &self.fixed.vertex_point;
        (self.points.vertex.iter()).map(|&v| vertex_point[v as usize])
    }

    /// The error of reading, if a frame could not be read.
    pub fn check(&self) -> Result<(), Error> {
        self.plan.source.cancellation.check()?;
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or(Ok(()), Err)
    }
}

fn copy<const N: usize>(values: &[[f32; N]], first: usize, out: &mut [[f32; 3]]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = std::array::from_fn(|k| value.get(first + k).copied().unwrap_or(0.0));
    }
}

impl encode::Source for PointFrames<'_> {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        if let Err(error) = self.read(frame, out) {
            // The encoder stops at a frame that is nowhere.
            out.fill([f32::NAN; 3]);
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
    }
}

/// Makes the frames of a stream's parts ready: positions and uvs are one, colours two.
pub fn point_frames<'a>(
    plan: &'a MeshPlan<'a>,
    fixed: &'a Fixed,
    points: &'a MeshPoints,
    record: &'a StreamRecord,
) -> Vec<PointFrames<'a>> {
    let parts = record.semantic.components().div_ceil(3);
    (0..parts)
        .map(|i| PointFrames { plan, fixed, points, record, first: 3 * i, failed: Mutex::default() })
        .collect()
}

/// The hierarchy of a stream's points, and the triangles that it was made from.
pub fn build_hierarchy(frames: &PointFrames<'_>) -> (Hierarchy, Vec<u32>) {
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
pub fn extent(frames: &PointFrames<'_>) -> Option<Extent> {
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
