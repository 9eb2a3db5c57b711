//! Tangents of a decoded surface, the same bits on every machine: what stored tangents are predicted from. No
//! error of its own.
//!
//! M. Mikkelsen's tangent space (*Simulation of wrinkled surfaces revisited*, 2008) from decoded points,
//! normals and uvs: each corner adds the direction in which u grows, projected along the normal, weighted
//! with the angle of its projected edges. What the original finds again in every frame is static here: a
//! *class* are the vertices of one point with one normal, one uv and one sign, and its corners are those of
//! its vertices. Where the original parts or joins them otherwise, the coder's bases and corrections make up
//! for it.
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

use crate::Corrupt;
use crate::mesh::normals::surface::{Surface, arc_cosine, flat, inverse_length};
use crate::simd::lanes::{
    LANES, Lanes, Number, Place, Row, Vector, cross, difference, dot, eight, minus, plus, select, times,
};

/// Static part: classes and their corners. Classes are in the order of how many corners they have, so that
/// eight in a row have about as many.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tangents {
    /// Class of each vertex.
    class: Vec<u32>,
    /// Group of each class.
    group: Vec<u32>,
    /// Per eight classes their points, and where their corners end.
    blocks: Vec<(Row, usize)>,
    /// A corner of each of eight classes: the points after and before it. Where there is none both are that
    /// of the class.
    places: Vec<[Row; 2]>,
    /// These corners as vertices: each its vertex and those after and before it; of the same vertex where
    /// there is none.
    corners: Vec<[Row; 3]>,
    /// Per vertex +1 or −1.
    signs: Vec<f32>,
}

/// The slopes of the uvs at each corner, in the order of the corners.
pub type Slopes = Vec<[[f32; LANES]; 2]>;

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
            return Err(Corrupt("normals: tangents without uvs"));
        }
        let key = |v: u32| {
            let v = v as usize;
            let uv = uvs[v].map(|x| (x + 0.0).to_bits());
            (point[v], group[v], uv, signs[v] < 0.0)
        };
        let mut order: Vec<u32> = (0..count as u32).collect();
        order.sort_by_key(|&v| (key(v), v));
        let mut uses = vec![0u32; count];
        for v in triangles.as_flattened() {
            uses[*v as usize] += 1;
        }
        let mut classes: Vec<&[u32]> = order.chunk_by(|a, b| key(*a) == key(*b)).collect();
        let size = |c: &&[u32]| c.iter().map(|v| uses[*v as usize]).sum::<u32>();
        classes.sort_by_key(size);
        let mut out = Tangents {
            class: vec![0; count],
            group: classes.iter().map(|c| group[c[0] as usize]).collect(),
            ..Tangents::default()
        };
        for (number, class) in classes.iter().enumerate() {
            for v in *class {
                out.class[*v as usize] = number as u32;
            }
        }
        // Per class where its corners end.
        let mut end = 0;
        let ends = classes.iter().map(|c| {
            end += size(c) as usize;
            end
        });
        let ends: Vec<usize> = ends.collect();
        let mut free: Vec<usize> = (0..ends.len()).map(|c| if c == 0 { 0 } else { ends[c - 1] }).collect();
        let starts = free.clone();
        let mut list = vec![[0; 3]; end];
        // Inside a class as the triangles come.
        for t in triangles {
            for k in 0..3 {
                let corner = [t[k], t[(k + 1) % 3], t[(k + 2) % 3]];
                let at = &mut free[out.class[corner[0] as usize] as usize];
                list[*at] = corner;
                *at += 1;
            }
        }
        for first in (0..classes.len()).step_by(LANES) {
            let lanes: [usize; LANES] = std::array::from_fn(|l| (first + l).min(classes.len() - 1));
            let most = lanes.map(|c| ends[c] - starts[c]).into_iter().max().unwrap_or(0);
            let own = lanes.map(|c| classes[c][0]);
            for i in 0..most {
                let corner: [[u32; 3]; LANES] = std::array::from_fn(|l| {
                    let c = lanes[l];
                    let there = i < ends[c] - starts[c];
                    if there { list[starts[c] + i] } else { [own[l]; 3] }
                });
                let part = |k: usize| corner.map(|c| c[k]);
                out.corners.push([part(0), part(1), part(2)]);
                let place = |k: usize| corner.map(|c| point[c[k] as usize]);
                out.places.push([place(1), place(2)]);
            }
            out.blocks.push((own.map(|v| point[v as usize]), out.places.len()));
        }
        out.signs = signs;
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
    #[cfg(feature = "encode")]
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
        out.resize(self.corners.len(), [[0.0; LANES]; 2]);
        for (out, corners) in out.iter_mut().zip(&self.corners) {
            for l in 0..LANES {
                let [p, a, b] = corners.map(|c| uvs[c[l] as usize]);
                let (ua, va, ub, vb) = (a[0] - p[0], a[1] - p[1], b[0] - p[0], b[1] - p[1]);
                let area = ua * vb - va * ub;
                let sign = self.signs[corners[0][l] as usize];
                let usable = area * sign > 0.0 && area.abs() < f32::INFINITY;
                (out[0][l], out[1][l]) = if usable { (vb * sign, va * sign) } else { (0.0, 0.0) };
            }
        }
    }

    /// Rows of the corners of eight classes.
    #[inline(always)]
    fn rows(&self, block: usize) -> std::ops::Range<usize> {
        let start = block.checked_sub(1).map_or(0, |before| self.blocks[before].1);
        start..self.blocks[block].1
    }

    /// Predicted tangent of a class whose normal is the unit vector `n`.
    #[cfg(feature = "encode")]
    pub(in crate::mesh) fn tangent<P: Place>(
        &self,
        class: usize,
        n: [f32; 3],
        (surface, points): (&Surface, &[P]),
        slopes: &Slopes,
    ) -> [f32; 3] {
        let (block, lane) = (class / LANES, class % LANES);
        let own = points[self.blocks[block].0[lane] as usize];
        let mut sum = [0.0f32; 3];
        for i in self.rows(block) {
            let [after, before] = self.places[i].map(|row| points[row[lane] as usize].minus(own));
            let slopes = slopes[i].map(|s| s[lane]);
            sum = plus(sum, share(after, before, slopes, n));
        }
        let (t, there) = flat(sum, n);
        if there { t } else { surface.frame(points, self.group[class] as usize, n)[0] }
    }

    /// Predicted tangents of all classes; `normals` are those of all groups.
    #[inline(always)]
    pub(in crate::mesh) fn all<L: Lanes, P: Place>(
        &self,
        (surface, points): (&Surface, &[P]),
        normals: &[[f32; 4]],
        slopes: &Slopes,
        out: &mut [[f32; 4]],
    ) {
        assert!(slopes.len() == self.places.len(), "slopes of all corners");
        let blocks = out.as_chunks_mut::<LANES>().0.iter_mut().zip(&self.blocks);
        for (block, (out, (own, end))) in blocks.enumerate() {
            let groups = eight(&self.group[block * LANES..], 0);
            let n = L::vectors(normals, &groups);
            let own = L::points(points, own);
            let mut sum = [L::splat(0.0); 3];
            let rows = self.rows(block).start..*end;
            for (places, slopes) in self.places[rows.clone()].iter().zip(&slopes[rows]) {
                let after = difference::<L, P>(L::points(points, &places[0]), own);
                let before = difference::<L, P>(L::points(points, &places[1]), own);
                let slopes = [L::load(&slopes[0]), L::load(&slopes[1])];
                sum = plus(sum, share(after, before, slopes, n));
            }
            let (mut t, there) = flat(sum, n);
            if !L::all(there) {
                let [other, _] = surface.frames::<L, P>(points, &groups, n);
                t = select(there, t, other);
            }
            L::store_vectors(t, out);
        }
    }
}

/// The part of a vertex' tangent that comes from one corner, given the vectors to the points after and before
/// it.
#[inline(always)]
fn share<N: Number>(after: Vector<N>, before: Vector<N>, slopes: [N; 2], n: Vector<N>) -> Vector<N> {
    let e = minus(after, times(n, dot(after, n)));
    let f = minus(before, times(n, dot(before, n)));
    let g = minus(times(e, slopes[0]), times(f, slopes[1]));
    let cosine = dot(e, f) * (inverse_length(dot(e, e)) * inverse_length(dot(f, f)));
    times(g, arc_cosine(cosine) * inverse_length(dot(g, g)))
}

/// The unit vector at right angles to `n` that is turned from `t` by the angle of `turn` (cosine and sine)
/// about `n`.
#[inline(always)]
pub(in crate::mesh) fn turned<N: Number>(t: Vector<N>, n: Vector<N>, turn: [N; 2]) -> Vector<N> {
    let out = plus(times(t, turn[0]), times(cross(n, t), turn[1]));
    times(out, inverse_length(dot(out, out)))
}
