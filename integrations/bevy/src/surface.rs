//! Meshes of Bevy from meshes of a file. A mesh with several materials becomes several meshes, each with the
//! range of vertices that its triangles use.

use bevy::asset::RenderAssetUsages;
use bevy::mesh::{Indices, MeshVertexAttribute, PrimitiveTopology, VertexAttributeValues};
use bevy::prelude::*;
use meshreel::{Error, MeshFrame, VertexAttribute, VertexChannel, VertexFormat};
use std::ops::Range;

/// The part of a mesh that has one material.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SurfacePart {
    /// The index of the material in the mesh's record; `None` for points and curves.
    pub material: Option<usize>,
    /// The vertices that it uses; `None` for all of a mesh whose vertices change.
    pub vertices: Option<Range<usize>>,
}

/// Returns the parts of a mesh.
pub(crate) fn parts(mesh: &MeshFrame<'_>) -> Vec<SurfacePart> {
    if mesh.record().particles.is_some() {
        return vec![SurfacePart { material: None, vertices: None }];
    }
    let part = |material: usize| {
        let vertices = match mesh.is_fluid() {
            true => None,
            false => {
                let indices = mesh.material_indices(material).unwrap_or(&[]);
                let (first, last) = (indices.iter().min()?, indices.iter().max()?);
                Some(*first as usize..*last as usize + 1)
            }
        };
        Some(SurfacePart { material: Some(material), vertices })
    };
    (0..mesh.record().materials.len()).filter_map(part).collect()
}

/// The vertices of a mesh at a moment.
#[derive(Debug, Default)]
pub(crate) struct Vertices {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    tangents: Vec<[f32; 4]>,
    uvs: [Vec<[f32; 2]>; 2],
    colours: Vec<[f32; 4]>,
}

impl Vertices {
    /// Writes all vertices of a mesh. Does not allocate once it has had a mesh of that size.
    pub fn read(&mut self, mesh: &MeshFrame<'_>) -> Result<(), Error> {
        let has = |channel: VertexChannel, format: VertexFormat| {
            let attribute = VertexAttribute { channel, format, offset: 0 };
            let there = mesh.write(&[attribute], format.size(), 0..0, &mut []).is_ok();
            if there { mesh.vertex_count() } else { 0 }
        };
        self.positions.resize(mesh.vertex_count(), [0.0; 3]);
        self.normals.resize(has(VertexChannel::Normal, VertexFormat::F32x3), [0.0; 3]);
        self.tangents.resize(has(VertexChannel::Tangent, VertexFormat::F32x4), [0.0; 4]);
        self.colours.resize(has(VertexChannel::Colour(0), VertexFormat::F32x4), [0.0; 4]);
        mesh.positions_into(self.positions.as_flattened_mut())?;
        match (self.normals.is_empty(), self.tangents.is_empty()) {
            (true, _) => {}
            (_, true) => mesh.normals_into(self.normals.as_flattened_mut())?,
            _ => mesh.directions_into(self.normals.as_flattened_mut(), self.tangents.as_flattened_mut())?,
        }
        if !self.colours.is_empty() {
            mesh.colours_into(0, self.colours.as_flattened_mut())?;
        }
        for (set, uvs) in (0..).zip(&mut self.uvs) {
            uvs.resize(has(VertexChannel::Uv(set), VertexFormat::F32x2), [0.0; 2]);
            if !uvs.is_empty() {
                mesh.uvs_into(set, uvs.as_flattened_mut())?;
                // Files have v upwards, Bevy downwards.
                uvs.iter_mut().for_each(|uv| uv[1] = 1.0 - uv[1]);
            }
        }
        Ok(())
    }

    /// Creates the mesh of a part, with the triangles of a LOD level.
    pub fn build(&self, (mesh, level): (&MeshFrame<'_>, usize), part: &SurfacePart) -> Mesh {
        let topology = match mesh.record().particles {
            None => PrimitiveTopology::TriangleList,
            Some(points) if points.curves.is_none() => PrimitiveTopology::PointList,
            Some(_) => PrimitiveTopology::LineList,
        };
        let mut out = Mesh::new(topology, RenderAssetUsages::default());
        if self.is_empty() {
            // Bevy draws no mesh without vertices. The surface is hidden until there are some.
            out.insert_attribute(Mesh::ATTRIBUTE_POSITION, vec![[0.0; 3]]);
            if topology != PrimitiveTopology::PointList {
                out.insert_indices(Indices::U32(or_degenerate(Vec::new())));
            }
        }
        if let (Some(material), Some(range)) = (part.material, &part.vertices) {
            let lod = mesh.lod(level);
            let own =
                lod.materials.get(material).map(|own| own.first as usize..(own.first + own.count) as usize);
            let triangles = own.and_then(|own| lod.indices.get(own)).unwrap_or(&[]);
            out.insert_indices(indices_from(triangles, range.start));
        }
        self.write(mesh, part, &mut out);
        out
    }

    /// Writes the vertices of a part and, if they change, its triangles. A mesh without any vertex stays as
    /// it was, as Bevy has no empty ones; see [`Vertices::is_empty`].
    pub fn write(&self, mesh: &MeshFrame<'_>, part: &SurfacePart, out: &mut Mesh) {
        if self.is_empty() {
            return;
        }
        let range = part.vertices.clone().unwrap_or(0..self.positions.len());
        set(out, Mesh::ATTRIBUTE_POSITION, &self.positions, &range);
        set(out, Mesh::ATTRIBUTE_NORMAL, &self.normals, &range);
        set(out, Mesh::ATTRIBUTE_TANGENT, &self.tangents, &range);
        set(out, Mesh::ATTRIBUTE_UV_0, &self.uvs[0], &range);
        set(out, Mesh::ATTRIBUTE_UV_1, &self.uvs[1], &range);
        set(out, Mesh::ATTRIBUTE_COLOR, &self.colours, &range);
        match (&part.vertices, part.material) {
            (Some(_), _) => {}
            (None, Some(material)) => {
                out.insert_indices(indices_from(mesh.material_indices(material).unwrap_or(&[]), 0));
            }
            (None, None) if out.primitive_topology() == PrimitiveTopology::LineList => {
                out.insert_indices(Indices::U32(or_degenerate(line_indices(mesh.curves()))));
            }
            (None, None) => {}
        }
        if self.normals.is_empty() && part.material.is_some() {
            out.compute_smooth_normals();
        }
    }

    /// `true` if there is no vertex.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }
}

/// Sets an attribute to a range of values; does nothing for one that the mesh does not have.
fn set<T: Copy>(out: &mut Mesh, attribute: MeshVertexAttribute, values: &[T], range: &Range<usize>)
where
    Vec<T>: Into<VertexAttributeValues>,
{
    if let Some(values) = values.get(range.clone()) {
        out.insert_attribute(attribute, values.to_vec());
    }
}

/// Returns indices into the vertices from `first` on.
fn indices_from(all: &[u32], first: usize) -> Indices {
    Indices::U32(or_degenerate(all.iter().map(|index| index - first as u32).collect()))
}

/// Returns indices that draw nothing, of triangles or lines, in place of none: a material of a mesh whose
/// faces change can have no triangle at a moment, and Bevy has no empty index buffers.
fn or_degenerate(indices: Vec<u32>) -> Vec<u32> {
    if indices.is_empty() { vec![0; 6] } else { indices }
}

/// Returns pairs of neighbours on each curve.
fn line_indices(curves: &[u32]) -> Vec<u32> {
    let mut out = Vec::new();
    let mut first = 0;
    for &count in curves {
        out.extend((first + 1..first + count).flat_map(|at| [at - 1, at]));
        first += count;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_always_whole_triangles_and_lines() {
        assert_eq!(or_degenerate(Vec::new()).len() % 6, 0);
        assert_eq!(or_degenerate(vec![0, 1, 2]), [0, 1, 2]);
    }

    #[test]
    fn curves_are_lines_between_neighbours() {
        assert_eq!(line_indices(&[3, 1, 0, 2]), [0, 1, 1, 2, 4, 5]);
    }
}
