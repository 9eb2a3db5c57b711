//! LOD levels: fewer triangles between the same vertices. All are in memory when the file is open; the caller
//! chooses the one to draw from frame to frame, at no cost.

use crate::reel::layout::IndexRange;
use meshreel_codec::Corrupt;
use meshreel_codec::record::MeshRecord;
use meshreel_codec::topology::lod::{LodBuffers, LodReader};

/// An LOD level of a mesh. Its vertices are the mesh's, so one vertex buffer serves all levels.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
pub struct Lod<'a> {
    /// Three vertices per triangle, in the order of the mesh's own triangles.
    pub indices: &'a [u32],
    /// Index ranges of the record's materials, in its order.
    pub materials: &'a [IndexRange],
    /// The largest distance between level and mesh in any frame, in the mesh's own space; 0 for the mesh
    /// itself. It includes the error of quantization. It is measured at all vertices of the mesh, and at the
    /// middles of the level's triangles and of their edges. A piece that is removed counts as the vertex that
    /// it collapsed to.
    pub error: f32,
    /// For each vertex of the mesh the one that replaces it in this level, itself if it is drawn or has no
    /// triangle. To blend levels, move each vertex there. Empty for the mesh itself.
    pub becomes: &'a [u32],
}

/// An LOD level that owns its lists, for tools.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub struct LodTriangles {
    pub indices: Vec<u32>,
    pub materials: Vec<IndexRange>,
    pub error: f32,
    pub becomes: Vec<u32>,
}

impl From<Lod<'_>> for LodTriangles {
    fn from(lod: Lod<'_>) -> LodTriangles {
        LodTriangles {
            indices: lod.indices.to_vec(),
            materials: lod.materials.to_vec(),
            error: lod.error,
            becomes: lod.becomes.to_vec(),
        }
    }
}

/// An LOD level in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LodLevel {
    indices: Vec<u32>,
    materials: Vec<IndexRange>,
    error: f32,
    becomes: Vec<u32>,
}

impl LodLevel {
    pub fn lod(&self) -> Lod<'_> {
        Lod { indices: &self.indices, materials: &self.materials, error: self.error, becomes: &self.becomes }
    }
}

/// Upper limit for the bytes of a mesh's LOD levels: at most seven, each with at most ¾ of the triangles of
/// the one before.
pub(crate) fn max_bytes(mesh: &MeshRecord) -> u64 {
    let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
    let most = meshreel_codec::topology::lod::MAX_LEVELS as u64;
    let own = 12 * indices + most * (4 * vertices + 8 * mesh.materials.len() as u64 + 96);
    own + LodBuffers::bytes(vertices, indices) + 4 * vertices
}

pub(crate) fn read(record: &MeshRecord, indices: &[u32], bytes: &[u8]) -> Result<Vec<LodLevel>, Corrupt> {
    let mut reader = LodReader::new(bytes, record.indices)?;
    let head = *reader.head();
    let vertices = record.vertices as usize;
    let mut work = LodBuffers::default();
    work.reserve(vertices, indices.len());
    let mut step = vec![0; vertices];
    let mut out: Vec<LodLevel> = Vec::with_capacity(head.lod_levels().len());
    for said in head.lod_levels() {
        let mut level = LodLevel {
            indices: vec![0; 3 * said.triangles as usize],
            error: said.error,
            ..LodLevel::default()
        };
        let first = (indices, material_ranges(record));
        let before = out.last().map(|l| (&l.indices[..], l.materials.clone()));
        let (from, ranges) = before.unwrap_or(first);
        reader.level(from, &mut work, &mut step, &mut level.indices)?;
        level.materials = remaining_ranges(from, &ranges, &step);
        level.becomes = match out.last() {
            Some(last) => last.becomes.iter().map(|&v| step[v as usize]).collect(),
            None => step.clone(),
        };
        out.push(level);
    }
    reader.finish()?;
    Ok(out)
}

fn material_ranges(record: &MeshRecord) -> Vec<IndexRange> {
    let range = |m: &meshreel_codec::record::MaterialRecord| IndexRange { first: m.first, count: m.count };
    record.materials.iter().map(range).collect()
}

/// Returns the ranges of the remaining triangles: each begins at the number of those that remain before it.
fn remaining_ranges(indices: &[u32], ranges: &[IndexRange], becomes: &[u32]) -> Vec<IndexRange> {
    let mut left = vec![0u32];
    let mut count = 0;
    for t in indices.as_chunks::<3>().0 {
        let [a, b, c] = t.map(|v| becomes[v as usize]);
        count += u32::from(a != b && b != c && c != a);
        left.push(count);
    }
    let at = |index: u32| 3 * left[index as usize / 3];
    let range =
        |r: &IndexRange| IndexRange { first: at(r.first), count: at(r.first + r.count) - at(r.first) };
    ranges.iter().map(range).collect()
}
