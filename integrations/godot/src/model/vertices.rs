//! The vertices of a mesh at a moment, as floats in Godot's conventions: v of uvs is downwards, and triangles
//! always have normals.

use meshreel::{Error, MeshFrame, VertexAttribute, VertexChannel, VertexFormat};

/// The primitives of a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// Triangles.
    Triangles,
    /// Pairs of points on curves.
    Lines,
    /// Points.
    Points,
}

/// Returns the primitives of a mesh.
pub fn primitive(mesh: &MeshFrame<'_>) -> Primitive {
    match &mesh.record().particles {
        None => Primitive::Triangles,
        Some(points) if points.curves.is_none() => Primitive::Points,
        Some(_) => Primitive::Lines,
    }
}

/// The vertices of a mesh at a moment. Lists of attributes that it does not have are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vertices {
    /// Positions in the mesh's own space.
    pub positions: Vec<[f32; 3]>,
    /// Unit normals; of triangles without any, those of the adjacent faces.
    pub normals: Vec<[f32; 3]>,
    /// Tangents; the fourth number is the sign of the bitangent.
    pub tangents: Vec<[f32; 4]>,
    /// The first two sets of uvs, with v downwards.
    pub uvs: [Vec<[f32; 2]>; 2],
    /// The first set of colours.
    pub colours: Vec<[f32; 4]>,
}

impl Vertices {
    /// Reads all vertices of a mesh. Does not allocate once it has had a mesh of that size.
    pub fn read(&mut self, mesh: &MeshFrame<'_>) -> Result<(), Error> {
        let count = |channel: VertexChannel, format: VertexFormat| {
            let attribute = VertexAttribute { channel, format, offset: 0 };
            let there = mesh.write(&[attribute], format.size(), 0..0, &mut []).is_ok();
            if there { mesh.vertex_count() } else { 0 }
        };
        self.positions.resize(mesh.vertex_count(), [0.0; 3]);
        self.normals.resize(count(VertexChannel::Normal, VertexFormat::F32x3), [0.0; 3]);
        self.tangents.resize(count(VertexChannel::Tangent, VertexFormat::F32x4), [0.0; 4]);
        self.colours.resize(count(VertexChannel::Colour(0), VertexFormat::F32x4), [0.0; 4]);
        mesh.positions_into(self.positions.as_flattened_mut())?;
        match (self.normals.is_empty(), self.tangents.is_empty()) {
            (true, _) => self.tangents.clear(),
            (_, true) => mesh.normals_into(self.normals.as_flattened_mut())?,
            _ => mesh.directions_into(self.normals.as_flattened_mut(), self.tangents.as_flattened_mut())?,
        }
        if !self.colours.is_empty() {
            mesh.colours_into(0, self.colours.as_flattened_mut())?;
        }
        for (set, uvs) in (0..).zip(&mut self.uvs) {
            uvs.resize(count(VertexChannel::Uv(set), VertexFormat::F32x2), [0.0; 2]);
            if !uvs.is_empty() {
                mesh.uvs_into(set, uvs.as_flattened_mut())?;
                uvs.iter_mut().for_each(|uv| uv[1] = 1.0 - uv[1]);
            }
        }
        if self.normals.is_empty() && primitive(mesh) == Primitive::Triangles {
            face_normals(&self.positions, mesh.indices(), &mut self.normals);
        }
        Ok(())
    }
}

/// Writes normals for vertices that have none: the sum of those of the adjacent triangles, by their areas.
/// Triangles are counter-clockwise.
fn face_normals(positions: &[[f32; 3]], indices: &[u32], out: &mut Vec<[f32; 3]>) {
    out.clear();
    out.resize(positions.len(), [0.0; 3]);
    let (triangles, _) = indices.as_chunks::<3>();
    for triangle in triangles {
        let corner = |k: usize| positions.get(triangle[k] as usize).copied().unwrap_or([0.0; 3]);
        let (a, b, c) = (corner(0), corner(1), corner(2));
        let (p, q): ([f32; 3], [f32; 3]) =
            (std::array::from_fn(|k| b[k] - a[k]), std::array::from_fn(|k| c[k] - a[k]));
        let normal = [p[1] * q[2] - p[2] * q[1], p[2] * q[0] - p[0] * q[2], p[0] * q[1] - p[1] * q[0]];
        for vertex in triangle {
            if let Some(sum) = out.get_mut(*vertex as usize) {
                *sum = std::array::from_fn(|k| sum[k] + normal[k]);
            }
        }
    }
    for normal in out {
        let length = normal.iter().map(|value| value * value).sum::<f32>().sqrt();
        *normal = if length > 0.0 { normal.map(|value| value / length) } else { [0.0, 1.0, 0.0] };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normals_of_faces_point_to_where_they_are_counter_clockwise() {
        let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [9.0, 9.0, 9.0]];
        let mut normals = Vec::new();
        face_normals(&positions, &[0, 1, 2, 0, 1, 77], &mut normals);
        assert_eq!(normals.len(), 4);
        assert!(normals[2][2] > 0.999, "{normals:?}");
        // No triangle.
        assert_eq!(normals[3], [0.0, 1.0, 0.0]);
    }
}
