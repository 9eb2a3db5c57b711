//! Vertices that the viewer makes itself.

use glam::DVec3;

/// Words of a vertex of [`crate::layout::layout`].
const WORDS: usize = 9;

/// Vertices in the viewer's layout and a colour for each.
#[derive(Default)]
pub struct Drawing {
    pub vertices: Vec<f32>,
    pub colours: Vec<[u8; 4]>,
}

impl Drawing {
    /// A vertex.
    pub fn put(&mut self, at: DVec3, colour: [u8; 4]) {
        let start = self.vertices.len();
        self.vertices.resize(start + WORDS, 0.0);
        self.vertices[start..start + 3].copy_from_slice(&at.as_vec3().to_array());
        self.colours.push(colour);
    }

    fn triangle(&mut self, corners: [DVec3; 3], colour: [u8; 4]) {
        corners.into_iter().for_each(|corner| self.put(corner, colour));
    }

    /// Vertices that there are.
    pub fn len(&self) -> u32 {
        self.colours.len() as u32
    }

    /// An octahedron from `from` to `to` with corners around `middle` at `radius`.
    pub fn octahedron(&mut self, [from, middle, to]: [DVec3; 3], radius: f64, colour: [u8; 4]) {
        let along = (to - from).normalize_or(DVec3::Y);
        let (side, other) = along.any_orthonormal_pair();
        let ring = [side, other, -side, -other].map(|way| middle + way * radius);
        for k in 0..4 {
            let (a, b) = (ring[k], ring[(k + 1) % 4]);
            self.triangle([from, b, a], colour);
            self.triangle([to, a, b], colour);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_octahedron_has_eight_triangles_around_its_middle() {
        let mut drawing = Drawing::default();
        drawing.octahedron([DVec3::ZERO, DVec3::Y * 0.2, DVec3::Y], 0.1, [0; 4]);
        assert_eq!(drawing.len(), 24);
        assert_eq!(drawing.vertices.len(), 24 * WORDS);
        let far = drawing.vertices.chunks_exact(WORDS).map(|v| v[0].hypot(v[2])).fold(0.0, f32::max);
        assert!((far - 0.1).abs() < 1e-6, "{far}");
    }
}
