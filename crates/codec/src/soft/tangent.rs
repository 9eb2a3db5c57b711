//! Tangents of a decoded surface, the same bits on every machine: what stored tangents are predicted from. No error of its own.
//!
//! M. Mikkelsen's tangent space (*Simulation of wrinkled surfaces revisited*, 2008) from decoded points, normals and uvs: each
//! corner adds the direction in which u grows, projected along the normal, weighted with the angle of its projected edges.
//! What the original finds again in every frame is static here: a *class* are the vertices of one point with one normal, one uv and
//! one sign, and its corners are those of its vertices. Where the original parts or joins them otherwise, the coder's bases and
//! corrections make up for it.
//!
//! ```text
//! for each class                  n = its normal
//!     for each of its corners, at the point p, with the points a after and b before it
//!         e = a − p, f = b − p, both less their part along n
//!         g = e · v(b) − f · v(a)          v(a) = v of a − v of p;  both zero where (u(a)·v(b) − v(a)·u(b)) has not the sign
//!                                          of the class, negated where it is negative
//!         sum += arc_cosine(e · f / (|e| |f|)) · unit(g)
//!     unit(sum less its part along n), or the first axis of the normal's frame
//! ```

use super::surface::{
    LANES, Lanes, Place, arc_cosine, cross3, dot3, dots, flat, inverse_length, lanes,
};
use crate::Corrupt;

/// Static part: corners by class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tangents {
    /// Class of each vertex.
    class: Vec<u32>,
    /// Per class its group, and where its corners end.
    group: Vec<u32>,
    ends: Vec<u32>,
    /// Per corner its vertex and the vertices after and before it; and their points.
    corners: Vec<[u32; 3]>,
    places: Vec<[u32; 3]>,
    /// Per vertex +1 or −1.
    signs: Vec<f32>,
}

/// What the uvs say at each corner.
pub type Slopes = Vec<[f32; 2]>;

impl Tangents {
    /// `triangles` are vertices; per vertex its point, normal group, uv (of the first frame) and sign.
    pub fn new(
        triangles: &[[u32; 3]],
        point: &[u32],
        group: &[u32],
        uvs: &[[f32; 2]],
        signs: Vec<f32>,
    ) -> Result<Tangents, Corrupt> {
        let count = point.len();
        if [group.len(), uvs.len(), signs.len()] != [count; 3] {
            return Err(Corrupt("tangents without uvs"));
        }
        let key = |v: u32| {
            let v = v as usize;
            let uv = uvs[v].map(|x| (x + 0.0).to_bits());
            (point[v], group[v], uv, signs[v] < 0.0)
        };
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_key(|&v| (key(v), v));
        let mut out = Tangents {
            class: vec![0; count],
            ..Tangents::default()
        };
        for same in order.chunk_by(|a, b| key(*a) == key(*b)) {
            for &v in same {
                out.class[v as usize] = out.group.len() as u32;
            }
            out.group.push(group[same[0] as usize]);
        }
        out.signs = signs;
        let mut corners: Vec<(u32, [u32; 3])> = triangles
            .iter()
            .flat_map(|t| [0, 1, 2].map(|k| [t[k], t[(k + 1) % 3], t[(k + 2) % 3]]))
            .map(|c| (out.class[c[0] as usize], c))
            .collect();
        // Stable: inside a class as the triangles come.
        corners.sort_by_key(|c| c.0);
        out.ends = vec![0; out.group.len()];
        for (class, _) in &corners {
            out.ends[*class as usize] += 1;
        }
        let mut end = 0;
        for slot in &mut out.ends {
            end += *slot;
            *slot = end;
        }
        out.corners = corners.into_iter().map(|c| c.1).collect();
        let place = |c: &[u32; 3]| c.map(|v| point[v as usize]);
        out.places = out.corners.iter().map(place).collect();
        Ok(out)
    }

    /// Class of each vertex.
    pub fn classes(&self) -> &[u32] {
        &self.class
    }

    /// Group of each class.
    pub fn groups(&self) -> &[u32] {
        &self.group
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.class.len()
    }

    /// Sign of each vertex.
    pub fn signs(&self) -> &[f32] {
        &self.signs
    }

    /// Sets `out` to what the uvs of a frame say; once where they stay.
    pub fn slopes(&self, uvs: &[[f32; 2]], out: &mut Slopes) {
        assert!(uvs.len() >= self.class.len(), "all uvs");
        out.resize(self.corners.len(), [0.0; 2]);
        for (out, c) in out.iter_mut().zip(&self.corners) {
            let [p, a, b] = c.map(|v| uvs[v as usize]);
            let (ua, va, ub, vb) = (a[0] - p[0], a[1] - p[1], b[0] - p[0], b[1] - p[1]);
            let area = ua * vb - va * ub;
            let sign = self.signs[c[0] as usize];
            *out = if area * sign > 0.0 && area.abs() < f32::INFINITY {
                [vb * sign, va * sign]
            } else {
                [0.0; 2]
            };
        }
    }

    /// Predicted tangent of a class whose normal is the unit vector `n`; none where there is nothing to go by.
    #[inline]
    pub fn tangent<P: Place>(
        &self,
        class: usize,
        n: [f32; 3],
        points: &[P],
        slopes: &Slopes,
    ) -> Option<[f32; 3]> {
        let end = self.ends[class] as usize;
        let start = match class {
            0 => 0,
            _ => self.ends[class - 1] as usize,
        };
        let mut sum = [0.0f32; 3];
        let blocks = self.places[start..end].chunks(LANES);
        for (places, slopes) in blocks.zip(slopes[start..end].chunks(LANES)) {
            let (mut e, mut f) = ([[0.0; LANES]; 3], [[0.0; LANES]; 3]);
            let (mut of_e, mut of_f) = ([0.0; LANES], [0.0; LANES]);
            for (lane, (place, slope)) in places.iter().zip(slopes).enumerate() {
                let [own, after, before] = place.map(|p| points[p as usize]);
                let (after, before) = (after.minus(own), before.minus(own));
                for k in 0..3 {
                    (e[k][lane], f[k][lane]) = (after[k], before[k]);
                }
                (of_e[lane], of_f[lane]) = (slope[0], slope[1]);
            }
            let (e, f) = (project(&e, n), project(&f, n));
            let g: [Lanes; 3] =
                std::array::from_fn(|k| lanes(|l| e[k][l] * of_e[l] - f[k][l] * of_f[l]));
            let [ee, ff, ef, gg] = [dots(&e, &e), dots(&f, &f), dots(&e, &f), dots(&g, &g)];
            let weight: Lanes = lanes(|l| {
                let cosine = ef[l] * (inverse_length(ee[l]) * inverse_length(ff[l]));
                arc_cosine(cosine) * inverse_length(gg[l])
            });
            for lane in 0..places.len() {
                for k in 0..3 {
                    sum[k] += g[k][lane] * weight[lane];
                }
            }
        }
        flat(sum, n)
    }
}

#[inline(always)]
fn project(v: &[Lanes; 3], n: [f32; 3]) -> [Lanes; 3] {
    let along: Lanes = lanes(|l| v[0][l] * n[0] + v[1][l] * n[1] + v[2][l] * n[2]);
    std::array::from_fn(|k| lanes(|l| v[k][l] - n[k] * along[l]))
}

/// The unit vector at right angles to `n` that is turned from `t` by the angle of `turn` (cosine and sine) about `n`.
#[inline]
pub(super) fn turned(t: [f32; 3], n: [f32; 3], turn: [f32; 2]) -> [f32; 3] {
    let b = cross3(n, t);
    let out: [f32; 3] = std::array::from_fn(|k| t[k] * turn[0] + b[k] * turn[1]);
    let scale = inverse_length(dot3(out, out));
    out.map(|x| x * scale)
}
