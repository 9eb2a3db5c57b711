//! Levels of detail: fewer triangles between the same vertices. They are there when the file is open; which
//! one is drawn is the caller's choice from frame to frame, and costs nothing.

use crate::reel::layout::Range;
use meshreel_codec::Corrupt;
use meshreel_codec::record::MeshRecord;
use meshreel_codec::topology::lod::{Reader, Work};

/// A level of detail of a mesh. Its vertices are the mesh's, so one vertex buffer serves all levels.
#[derive(Clone, Copy, Debug)]
pub struct Lod<'a> {
    /// Three vertices per triangle, in the order of the mesh's own.
    pub indices: &'a [u32],
    /// Ranges of the record's materials, in its order.
    pub materials: &'a [Range],
    /// Largest distance between level and mesh in any frame, in the mesh's own space; 0 for the mesh itself.
    /// What quantization adds is counted in. It was measured at all vertices of the mesh, and at the middles
    /// of the level's triangles and of their edges. A piece that is gone counts as the vertex that it has
    /// become.
    pub error: f32,
    /// For each vertex of the mesh the one that stands for it here, itself where it is drawn or has no
    /// triangle: to blend levels, move it there. Empty for the mesh itself.
    pub becomes: &'a [u32],
}

/// An LOD level with lists of its own: for tools.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct LodTriangles {
    pub indices: Vec<u32>,
    pub materials: Vec<Range>,
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

/// A level as it is kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LodLevel {
    indices: Vec<u32>,
    materials: Vec<Range>,
    error: f32,
    becomes: Vec<u32>,
}

impl LodLevel {
    pub fn lod(&self) -> Lod<'_> {
        Lod { indices: &self.indices, materials: &self.materials, error: self.error, becomes: &self.becomes }
    }
}

/// Bytes that the levels of a mesh take at most: each has at most ¾ of the triangles of the one before; at
/// most seven.
pub(crate) fn bytes(mesh: &MeshRecord) -> u64 {
    let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
    let most = meshreel_codec::topology::lod::MOST as u64;
    let own = 12 * indices + most * (4 * vertices + 8 * mesh.materials.len() as u64 + 96);
    own + Work::bytes(vertices, indices) + 4 * vertices
}

pub(crate) fn read(record: &MeshRecord, indices: &[u32], bytes: &[u8]) -> Result<Vec<LodLevel>, Corrupt> {
    let mut reader = Reader::new(bytes, record.indices)?;
    let head = *reader.head();
    let vertices = record.vertices as usize;
    let mut work = Work::default();
    work.reserve(vertices, indices.len());
    let mut step = vec![0; vertices];
    let mut out: Vec<LodLevel> = Vec::with_capacity(head.levels().len());
    for said in head.levels() {
        let mut level = LodLevel {
            indices: vec![0; 3 * said.triangles as usize],
            error: said.error,
            ..LodLevel::default()
        };
        let first = (indices, materials_of(record));
        let before = out.last().map(|l| (&l.indices[..], l.materials.clone()));
        let (from, ranges) = before.unwrap_or(first);
        reader.level(from, &mut work, &mut step, &mut level.indices)?;
        level.materials = ranges_of(from, &ranges, &step);
        level.becomes = match out.last() {
            Some(last) => last.becomes.iter().map(|&v| step[v as usize]).collect(),
            None => step.clone(),
        };
        out.push(level);
    }
    reader.finish()?;
    Ok(out)
}

fn materials_of(record: &MeshRecord) -> Vec<Range> {
    let range = |m: &meshreel_codec::record::Material| Range { first: m.first, count: m.count };
    record.materials.iter().map(range).collect()
}

/// Ranges of what is left of the triangles: where they begin is how many are left before.
fn ranges_of(indices: &[u32], ranges: &[Range], becomes: &[u32]) -> Vec<Range> {
    let mut left = vec![0u32];
    let mut count = 0;
    for t in indices.as_chunks::<3>().0 {
        let [a, b, c] = t.map(|v| becomes[v as usize]);
        count += u32::from(a != b && b != c && c != a);
        left.push(count);
    }
    let at = |index: u32| 3 * left[index as usize / 3];
    let range = |r: &Range| Range { first: at(r.first), count: at(r.first + r.count) - at(r.first) };
    ranges.iter().map(range).collect()
}
