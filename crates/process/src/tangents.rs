//! Tangents of every frame, with the handedness of the first frame throughout.
//!
//! The tangent space is M. Mikkelsen's (*Simulation of wrinkled surfaces revisited*, 2008; the standard of
//! renderers and bakers), at its default threshold of 180°: vertices with equal position, normal and uv are
//! one; triangles around a vertex that are connected by edges and agree in handedness form a group; a group's
//! tangent is the sum of its triangles' uv gradients along u, projected along the normal, weighted with the
//! angle at the vertex.
//!
//! The crate `bevy_mikktspace` does the same and is the oracle of the tests. It is not used here because it
//! finds the groups again in every frame, which takes four fifths of its time, and because it fails on bad
//! meshes: it recurses once per triangle around a vertex, and searches all triangles for each collapsed one.
//! Here groups are kept from the first frame, and found again only in frames where vertices coincide or
//! triangles collapse that did not before.
//!
//! A renderer interpolates between frames, so a vertex cannot change its handedness: [`orient`] splits
//! vertices whose corners disagree in the first frame, and later frames keep that frame's sign.

use super::angle::arc_cosine;
use super::hash::FoldedHash;
use super::weld::{Welding, weld};
use std::borrow::Cow;

pub use super::weld::Vertices;

/// Tangents of one mesh, shared by the threads that work on different frames.
pub struct Tangents {
    triangles: Vec<[u32; 3]>,
    groups: TangentGroups,
    hash: FoldedHash,
    /// Detects whether the same vertices are equal as in the first frame.
    welding: Welding,
}

/// Tangents of one frame, by corner.
pub struct CornerTangents<'a> {
    groups: Cow<'a, TangentGroups>,
    /// By group, a unit vector, or zero.
    tangents: Vec<[f32; 3]>,
}

/// The groups of corners that share a tangent.
#[derive(Clone, Default)]
struct TangentGroups {
    /// The input of the grouping: the first vertex that equals each vertex, and the kind of each triangle.
    weld: Vec<u32>,
    kinds: Vec<TriangleKind>,
    /// By corner, its group, or [`NO_GROUP`].
    corner_group: Vec<[u32; 3]>,
    /// By group, +1 or −1.
    signs: Vec<f32>,
}

/// The kind of a triangle: whether it defines a tangent, and its orientation in uv.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TriangleKind {
    /// Two of its positions are equal. Takes a tangent from a neighbour, defines none.
    Collapsed,
    /// No area in uv or in space. Joins any group, defines no tangent.
    Flat,
    /// Counter-clockwise in uv: sign +1.
    Unmirrored,
    /// Clockwise in uv: sign −1.
    Mirrored,
}

const NO_GROUP: u32 = u32::MAX;

impl Tangents {
    /// Finds the groups of the first frame. `triangles` are vertex numbers that exist in each array of
    /// `first`.
    pub fn new(triangles: Vec<[u32; 3]>, first: Vertices<'_>) -> Tangents {
        let hash = FoldedHash::new();
        let mut kinds = vec![TriangleKind::Flat; triangles.len()];
        gradients(&triangles, first, &mut kinds);
        let groups = find_groups(&triangles, weld(first, hash), kinds);
        let welding = Welding::new(first.uvs, &groups.weld);
        Tangents { triangles, groups, hash, welding }
    }

    /// Returns the triangles.
    pub fn triangles(&self) -> &[[u32; 3]] {
        &self.triangles
    }

    /// Computes the tangents of a frame, by corner.
    #[inline(always)]
    pub fn corners(&self, frame: Vertices<'_>) -> CornerTangents<'_> {
        let mut kinds = vec![TriangleKind::Flat; self.triangles.len()];
        let gradients = gradients(&self.triangles, frame, &mut kinds);
        let groups =
            if kinds == self.groups.kinds && self.welding.is_unchanged(frame, &self.groups.weld, self.hash) {
                Cow::Borrowed(&self.groups)
            } else {
                Cow::Owned(find_groups(&self.triangles, weld(frame, self.hash), kinds))
            };
        let tangents = sum_gradients(&self.triangles, frame, &groups, &gradients);
        CornerTangents { groups, tangents }
    }

    /// Returns tangent and sign of each vertex: the average of its corners', perpendicular to the normal.
    /// `signs` are those of [`orient`], in the order of the vertices; corners of the other sign count only if
    /// there are no others.
    #[inline(always)]
    pub fn vertices(&self, frame: Vertices<'_>, signs: &[f32]) -> Vec<[f32; 4]> {
        let corners = self.corners(frame);
        let count = frame.positions.len();
        let mut agree = vec![[0f32; 3]; count];
        let mut others: Vec<[f32; 3]> = Vec::new();
        for (t, triangle) in self.triangles.iter().enumerate() {
            for (k, &v) in triangle.iter().enumerate() {
                let [x, y, z, sign] = corners.corner(t, k);
                let v = v as usize;
                let sum = if sign == signs[v] {
                    &mut agree[v]
                } else if sign != 0.0 || x != 0.0 || y != 0.0 || z != 0.0 {
                    others.resize(count, [0.0; 3]);
                    &mut others[v]
                } else {
                    continue;
                };
                *sum = [sum[0] + x, sum[1] + y, sum[2] + z];
            }
        }
        (0..count)
            .map(|v| {
                let n = frame.normals[v];
                let [x, y, z] = perpendicular_unit(agree[v], n)
                    .or_else(|| perpendicular_unit(*others.get(v)?, n))
                    .unwrap_or_else(|| any_perpendicular(n));
                [x, y, z, signs[v]]
            })
            .collect()
    }
}

impl CornerTangents<'_> {
    /// Returns unit tangent and sign (+1, −1) of a triangle's corner. Corners of collapsed triangles have a
    /// neighbour's tangent and sign 0, since they have none of their own; all zero if there is no tangent.
    #[inline(always)]
    pub fn corner(&self, triangle: usize, corner: usize) -> [f32; 4] {
        let group = self.groups.corner_group[triangle][corner];
        if group == NO_GROUP {
            return [0.0; 4];
        }
        let [x, y, z] = self.tangents[group as usize];
        let sign = match self.groups.kinds[triangle] {
            TriangleKind::Collapsed => 0.0,
            _ => self.groups.signs[group as usize],
        };
        [x, y, z, sign]
    }
}

/// A mesh in which all corners of a vertex have the same sign.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Oriented {
    /// Triangles of new vertex numbers.
    pub triangles: Vec<[u32; 3]>,
    /// By new vertex, the old one. Old vertices keep their numbers, added ones follow.
    pub vertex: Vec<u32>,
    /// By new vertex, +1 or −1.
    pub signs: Vec<f32>,
}

/// Splits vertices whose corners disagree in the first frame.
pub fn orient(triangles: &[[u32; 3]], first: &CornerTangents<'_>, vertices: usize) -> Oriented {
    let mut out = Oriented {
        triangles: triangles.to_vec(),
        vertex: (0..vertices as u32).collect(),
        signs: vec![0.0; vertices],
    };
    let mut other = vec![NO_GROUP; vertices];
    for (t, triangle) in out.triangles.iter_mut().enumerate() {
        for (k, slot) in triangle.iter_mut().enumerate() {
            let sign = first.corner(t, k)[3];
            let old = *slot as usize;
            if sign == 0.0 || sign == out.signs[old] {
                continue;
            }
            if out.signs[old] == 0.0 {
                out.signs[old] = sign;
                continue;
            }
            if other[old] == NO_GROUP {
                other[old] = out.vertex.len() as u32;
                out.vertex.push(old as u32);
                out.signs.push(sign);
            }
            *slot = other[old];
        }
    }
    for sign in &mut out.signs {
        if *sign == 0.0 {
            *sign = 1.0;
        }
    }
    out
}

/// Returns, by triangle, the direction in which u grows, a unit vector or zero; sets its kind.
#[inline(always)]
fn gradients(triangles: &[[u32; 3]], frame: Vertices<'_>, kinds: &mut [TriangleKind]) -> Vec<[f32; 3]> {
    triangles
        .iter()
        .zip(kinds)
        .map(|(t, kind)| {
            let [p, q, r] = t.map(|v| frame.positions[v as usize]);
            if p == q || q == r || r == p {
                *kind = TriangleKind::Collapsed;
                return [0.0; 3];
            }
            let [a, b, c] = t.map(|v| frame.uvs[v as usize]);
            let (u1, v1, u2, v2) = (b[0] - a[0], b[1] - a[1], c[0] - a[0], c[1] - a[1]);
            let (e1, e2) = (sub(q, p), sub(r, p));
            let area = u1 * v2 - v1 * u2;
            let along_u = sub(scale(e1, v2), scale(e2, v1));
            let along_v = sub(scale(e2, u1), scale(e1, u2));
            // The length of the gradient, as tested in the original: it can vanish although the vector does
            // not.
            let exists = |v: [f32; 3]| nonzero(dot(v, v).sqrt() / area.abs());
            *kind = if !(nonzero(area) && exists(along_u) && exists(along_v)) {
                TriangleKind::Flat
            } else if area > 0.0 {
                TriangleKind::Unmirrored
            } else {
                TriangleKind::Mirrored
            };
            let direction = unit_or_zero(along_u);
            match *kind {
                TriangleKind::Unmirrored => direction,
                TriangleKind::Mirrored => scale(direction, -1.0),
                _ => [0.0; 3],
            }
        })
        .collect()
}

/// Collects corners into groups.
fn find_groups(triangles: &[[u32; 3]], weld: Vec<u32>, kinds: Vec<TriangleKind>) -> TangentGroups {
    let welded: Vec<[u32; 3]> = triangles.iter().map(|t| t.map(|v| weld[v as usize])).collect();
    let across = neighbours(&welded, &kinds);
    let mut sign_of: Vec<f32> = kinds
        .iter()
        .map(|k| match k {
            TriangleKind::Unmirrored => 1.0,
            TriangleKind::Mirrored => -1.0,
            _ => 0.0,
        })
        .collect();
    let mut of = vec![[NO_GROUP; 3]; triangles.len()];
    let mut signs: Vec<f32> = Vec::new();
    let mut stack = Vec::new();
    for t in 0..triangles.len() {
        if !matches!(kinds[t], TriangleKind::Unmirrored | TriangleKind::Mirrored) {
            continue;
        }
        for k in 0..3 {
            if of[t][k] != NO_GROUP {
                continue;
            }
            let (group, sign, centre) = (signs.len() as u32, sign_of[t], welded[t][k]);
            signs.push(sign);
            stack.push(t);
            while let Some(t) = stack.pop() {
                let Some(k) = (0..3).find(|&k| welded[t][k] == centre) else {
                    continue;
                };
                // A flat triangle takes the sign of the first group that reaches any of its corners.
                if kinds[t] == TriangleKind::Flat && of[t] == [NO_GROUP; 3] {
                    sign_of[t] = sign;
                }
                if of[t][k] != NO_GROUP || sign_of[t] != sign {
                    continue;
                }
                of[t][k] = group;
                // The two edges at this corner.
                for edge in [k, (k + 2) % 3] {
                    if across[t][edge] != NO_GROUP {
                        stack.push(across[t][edge] as usize);
                    }
                }
            }
        }
    }
    // Collapsed triangles take the first group at their vertex.
    if kinds.contains(&TriangleKind::Collapsed) {
        let mut at_vertex = vec![NO_GROUP; weld.len()];
        for (corners, groups) in welded.iter().zip(&of) {
            for k in 0..3 {
                let slot = &mut at_vertex[corners[k] as usize];
                if *slot == NO_GROUP {
                    *slot = groups[k];
                }
            }
        }
        for t in 0..triangles.len() {
            if kinds[t] == TriangleKind::Collapsed {
                of[t] = welded[t].map(|v| at_vertex[v as usize]);
            }
        }
    }
    TangentGroups { weld, kinds, corner_group: of, signs }
}

/// Returns, by edge (from corner k to k + 1), the triangle on its other side. If more than two meet, opposite
/// ones are paired in order.
fn neighbours(welded: &[[u32; 3]], kinds: &[TriangleKind]) -> Vec<[u32; 3]> {
    // Key: both ends; value: triangle · 4 + corner.
    let mut edges: Vec<(u64, u64)> = Vec::with_capacity(welded.len() * 3);
    for (t, corners) in welded.iter().enumerate() {
        if kinds[t] == TriangleKind::Collapsed {
            continue;
        }
        for k in 0..3 {
            let (a, b) = (corners[k], corners[(k + 1) % 3]);
            let key = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
            edges.push((key, (t as u64) << 2 | k as u64));
        }
    }
    edges.sort_unstable();
    let mut across = vec![[NO_GROUP; 3]; welded.len()];
    let mut waiting = std::collections::VecDeque::new();
    for run in edges.chunk_by(|a, b| a.0 == b.0) {
        waiting.clear();
        for &(_, packed) in run {
            let (t, k) = ((packed >> 2) as usize, (packed & 3) as usize);
            // All waiting edges run the same way, or they would have been paired.
            match waiting.front() {
                Some(&(u, j))
                    if {
                        let (u, j): (usize, usize) = (u, j);
                        welded[u][j] != welded[t][k]
                    } =>
                {
                    waiting.pop_front();
                    across[t][k] = u as u32;
                    across[u][j] = t as u32;
                }
                _ => waiting.push_back((t, k)),
            }
        }
    }
    across
}

/// Returns the tangent of each group.
#[inline(always)]
fn sum_gradients(
    triangles: &[[u32; 3]],
    frame: Vertices<'_>,
    groups: &TangentGroups,
    gradients: &[[f32; 3]],
) -> Vec<[f32; 3]> {
    let mut sums = vec![[0f32; 3]; groups.signs.len()];
    let with_area =
        |t: &u32| matches!(groups.kinds[*t as usize], TriangleKind::Unmirrored | TriangleKind::Mirrored);
    let mut numbers = (0..triangles.len() as u32).filter(with_area);
    loop {
        let mut own = [NO_GROUP; LANES];
        let mut count = 0;
        for (slot, t) in own.iter_mut().zip(&mut numbers) {
            *slot = t;
            count += 1;
        }
        if count == 0 {
            break;
        }
        let own = &own[..count];
        let shares = corner_contributions(own, triangles, frame, gradients);
        for (i, &t) in own.iter().enumerate() {
            for (share, group) in shares.iter().zip(groups.corner_group[t as usize]) {
                let sum = &mut sums[group as usize];
                for k in 0..3 {
                    sum[k] += share[k][i];
                }
            }
        }
    }
    for s in &mut sums {
        *s = unit_or_zero(*s);
    }
    sums
}

/// The number of triangles that are processed side by side (SIMD).
const LANES: usize = 8;
/// A vector of each of these triangles.
type Lanes = [[f32; LANES]; 3];

/// Returns, by corner, the contributions of some triangles to the tangents of their groups: the gradient
/// perpendicular to the normal there, with the angle between the edges as its length.
#[inline(always)]
fn corner_contributions(
    numbers: &[u32],
    triangles: &[[u32; 3]],
    frame: Vertices<'_>,
    gradients: &[[f32; 3]],
) -> [Lanes; 3] {
    let mut points = [[[0f32; LANES]; 3]; 3];
    let mut normals = [[[0f32; LANES]; 3]; 3];
    let mut along = [[0f32; LANES]; 3];
    for (i, &t) in numbers.iter().enumerate() {
        let triangle = triangles[t as usize];
        for k in 0..3 {
            let (p, n) = (frame.positions[triangle[k] as usize], frame.normals[triangle[k] as usize]);
            for axis in 0..3 {
                points[k][axis][i] = p[axis];
                normals[k][axis][i] = n[axis];
            }
            along[k][i] = gradients[t as usize][k];
        }
    }
    let mut out = [[[0f32; LANES]; 3]; 3];
    for k in 0..3 {
        let n = &normals[k];
        let edge = |other: usize| gather_lanes(|axis, i| points[other][axis][i] - points[k][axis][i]);
        let before = perpendicular_units(&edge((k + 2) % 3), n);
        let after = perpendicular_units(&edge((k + 1) % 3), n);
        let direction = perpendicular_units(&along, n);
        let mut angle = [0f32; LANES];
        for i in 0..LANES {
            let cosine = after[0][i] * before[0][i] + after[1][i] * before[1][i] + after[2][i] * before[2][i];
            angle[i] = arc_cosine(cosine.clamp(-1.0, 1.0));
        }
        out[k] = gather_lanes(|axis, i| angle[i] * direction[axis][i]);
    }
    out
}

#[inline(always)]
fn gather_lanes(of: impl Fn(usize, usize) -> f32) -> Lanes {
    let mut out = [[0f32; LANES]; 3];
    for (axis, out) in out.iter_mut().enumerate() {
        for (i, out) in out.iter_mut().enumerate() {
            *out = of(axis, i);
        }
    }
    out
}

/// Returns unit vectors along the components of `v` perpendicular to `n`; zero if a component vanishes.
#[inline(always)]
fn perpendicular_units(v: &Lanes, n: &Lanes) -> Lanes {
    let mut flat = [[0f32; LANES]; 3];
    let mut factor = [0f32; LANES];
    for i in 0..LANES {
        let along = n[0][i] * v[0][i] + n[1][i] * v[1][i] + n[2][i] * v[2][i];
        let own = [v[0][i] - along * n[0][i], v[1][i] - along * n[1][i], v[2][i] - along * n[2][i]];
        let most = own[0].abs().max(own[1].abs()).max(own[2].abs());
        let length = (own[0] * own[0] + own[1] * own[1] + own[2] * own[2]).sqrt();
        factor[i] = if nonzero(most) { 1.0 / length } else { 1.0 };
        (flat[0][i], flat[1][i], flat[2][i]) = (own[0], own[1], own[2]);
    }
    gather_lanes(|axis, i| flat[axis][i] * factor[i])
}

/// Returns the component of `v` perpendicular to `n`, as a unit vector; `None` if it vanishes.
#[inline(always)]
fn perpendicular_unit(v: [f32; 3], n: [f32; 3]) -> Option<[f32; 3]> {
    let (v, n) = (v.map(f64::from), n.map(f64::from));
    let along = v[0] * n[0] + v[1] * n[1] + v[2] * n[2];
    let rest: [f64; 3] = std::array::from_fn(|k| v[k] - n[k] * along);
    let square = |v: [f64; 3]| v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
    let length = square(rest).sqrt();
    // The second test rejects a remainder that is only rounding of a vector along the normal.
    (length > 1e-12 && length > 1e-5 * square(v).sqrt() && length.is_finite())
        .then(|| rest.map(|x| (x / length) as f32))
}

/// Returns a unit vector perpendicular to `n`, continuous except near the x axis.
fn any_perpendicular(n: [f32; 3]) -> [f32; 3] {
    perpendicular_unit([1.0, 0.0, 0.0], n)
        .filter(|_| n[0].abs() < 0.9)
        .or_else(|| perpendicular_unit([0.0, 1.0, 0.0], n))
        .unwrap_or([1.0, 0.0, 0.0])
}

fn nonzero(x: f32) -> bool {
    x.abs() > f32::MIN_POSITIVE
}

fn unit_or_zero(v: [f32; 3]) -> [f32; 3] {
    if v.iter().any(|&x| nonzero(x)) { scale(v, dot(v, v).sqrt().recip()) } else { v }
}

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn scale(v: [f32; 3], by: f32) -> [f32; 3] {
    v.map(|x| by * x)
}

fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn project(v: [f32; 3], n: [f32; 3]) -> [f32; 3] {
        let along = dot(n, v);
        [v[0] - along * n[0], v[1] - along * n[1], v[2] - along * n[2]]
    }

    #[derive(Clone, Default)]
    struct Mesh {
        triangles: Vec<[u32; 3]>,
        positions: Vec<[f32; 3]>,
        normals: Vec<[f32; 3]>,
        uvs: Vec<[f32; 2]>,
    }

    impl Mesh {
        fn frame(&self) -> Vertices<'_> {
            Vertices { positions: &self.positions, normals: &self.normals, uvs: &self.uvs }
        }
        fn tangents(&self) -> Tangents {
            Tangents::new(self.triangles.clone(), self.frame())
        }
    }

    /// The reference implementation: by corner, tangent and sign, `None` if it gives none.
    fn oracle(mesh: &Mesh) -> Vec<Option<[f32; 4]>> {
        struct Geometry<'a>(&'a Mesh, Vec<Option<[f32; 4]>>);
        impl bevy_mikktspace::Geometry for Geometry<'_> {
            fn num_faces(&self) -> usize {
                self.0.triangles.len()
            }
            fn num_vertices_of_face(&self, _: usize) -> usize {
                3
            }
            fn position(&self, f: usize, v: usize) -> [f32; 3] {
                self.0.positions[self.0.triangles[f][v] as usize]
            }
            fn normal(&self, f: usize, v: usize) -> [f32; 3] {
                self.0.normals[self.0.triangles[f][v] as usize]
            }
            fn tex_coord(&self, f: usize, v: usize) -> [f32; 2] {
                self.0.uvs[self.0.triangles[f][v] as usize]
            }
            fn set_tangent(&mut self, t: Option<bevy_mikktspace::TangentSpace>, f: usize, v: usize) {
                self.1[f * 3 + v] = t.map(|t| t.tangent_encoded());
            }
        }
        let mut geometry = Geometry(mesh, vec![None; mesh.triangles.len() * 3]);
        bevy_mikktspace::generate_tangents(&mut geometry).unwrap();
        geometry.1
    }

    /// A wavy sheet whose uvs are mirrored on its right half.
    fn sheet(n: u32, phase: f32) -> Mesh {
        let mut mesh = Mesh::default();
        for y in 0..n {
            for x in 0..n {
                let (a, b) = (x as f32 / n as f32, y as f32 / n as f32);
                let z = (a * 9.0 + phase).sin() * (b * 7.0).cos() * 0.2;
                mesh.positions.push([a, b, z]);
                let slope = [
                    -(a * 9.0 + phase).cos() * (b * 7.0).cos() * 1.8,
                    (a * 9.0 + phase).sin() * (b * 7.0).sin() * 1.4,
                    1.0,
                ];
                mesh.normals.push(unit_or_zero(slope));
                mesh.uvs.push([(a - 0.5).abs() + 0.1 * b, b]);
            }
        }
        for y in 0..n - 1 {
            for x in 0..n - 1 {
                let a = y * n + x;
                mesh.triangles.push([a, a + 1, a + n + 1]);
                mesh.triangles.push([a, a + n + 1, a + n]);
            }
        }
        mesh
    }

    fn same_as_oracle(mesh: &Mesh, corners: &CornerTangents<'_>) {
        for (i, expected) in oracle(mesh).into_iter().enumerate() {
            let kind = corners.groups.kinds[i / 3];
            let got = corners.corner(i / 3, i % 3);
            match expected {
                Some(e) if kind != TriangleKind::Collapsed => {
                    assert_eq!(e[3], got[3], "sign of corner {i} {kind:?}");
                    let zero = |v: [f32; 4]| v[..3].iter().all(|x| *x == 0.0);
                    let cosine = dot([e[0], e[1], e[2]], [got[0], got[1], got[2]]);
                    assert!(
                        cosine > 1.0 - 1e-5 || zero(e) && zero(got),
                        "corner {i} {kind:?}: {e:?} {got:?}"
                    );
                }
                Some(_) => {}
                // Collapsed triangles take the first existing tangent here, in the original that of the first
                // corner, if it has one.
                None if kind != TriangleKind::Collapsed => assert_eq!(got, [0.0; 4]),
                None => {}
            }
        }
    }

    #[test]
    fn a_sheet_in_motion_equals_the_original() {
        let first = sheet(24, 0.0);
        let tangents = first.tangents();
        for phase in [0.0, 0.3, 2.0] {
            let frame = sheet(24, phase);
            let corners = tangents.corners(frame.frame());
            assert!(matches!(corners.groups, Cow::Borrowed(_)));
            same_as_oracle(&frame, &corners);
        }
    }

    #[test]
    fn frames_in_which_things_fall_together_equal_the_original() {
        let first = sheet(12, 0.0);
        let tangents = first.tangents();
        let mut frame = sheet(12, 0.0);
        // One collapsed triangle, and two vertices that meet for this frame only.
        frame.positions[13] = frame.positions[12];
        frame.positions[100] = frame.positions[40];
        frame.normals[100] = frame.normals[40];
        frame.uvs[100] = frame.uvs[40];
        let corners = tangents.corners(frame.frame());
        assert!(matches!(corners.groups, Cow::Owned(_)));
        same_as_oracle(&frame, &corners);
    }

    #[test]
    fn mirrored_uvs_split_the_seam_and_the_sign_stays() {
        let mesh = sheet(24, 0.0);
        let tangents = mesh.tangents();
        let oriented = orient(&mesh.triangles, &tangents.corners(mesh.frame()), mesh.positions.len());
        let added = oriented.vertex.len() - mesh.positions.len();
        assert!((20..=48).contains(&added), "{added}");
        // No vertex has both signs now.
        let mut split = Mesh { triangles: oriented.triangles.clone(), ..Mesh::default() };
        for &old in &oriented.vertex {
            split.positions.push(mesh.positions[old as usize]);
            split.normals.push(mesh.normals[old as usize]);
            split.uvs.push(mesh.uvs[old as usize]);
        }
        let tangents = split.tangents();
        let corners = tangents.corners(split.frame());
        for (t, triangle) in split.triangles.iter().enumerate() {
            for (k, &v) in triangle.iter().enumerate() {
                assert_eq!(corners.corner(t, k)[3], oriented.signs[v as usize]);
            }
        }
        // The uvs flip later: signs stay, tangents stay perpendicular to the normal.
        let mut later = split.clone();
        later.uvs.iter_mut().for_each(|uv| uv[0] = -uv[0]);
        for (v, t) in tangents.vertices(later.frame(), &oriented.signs).iter().enumerate() {
            assert_eq!(t[3], oriented.signs[v]);
            let t = [t[0], t[1], t[2]];
            assert!(dot(t, split.normals[v]).abs() < 1e-6);
            assert!((dot(t, t) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn nothing_to_go_by_gives_a_perpendicular() {
        let mut mesh = sheet(4, 0.0);
        mesh.uvs.iter_mut().for_each(|uv| *uv = [0.5, 0.5]);
        mesh.positions.push([f32::NAN; 3]);
        mesh.normals.push([1.0, 0.0, 0.0]);
        mesh.uvs.push([f32::NAN; 2]);
        mesh.triangles.push([0, 1, 16]);
        let signs = vec![1.0; 17];
        for (v, t) in mesh.tangents().vertices(mesh.frame(), &signs).iter().enumerate() {
            let t = [t[0], t[1], t[2]];
            assert!(dot(t, mesh.normals[v]).abs() < 1e-6, "{t:?}");
            assert!((dot(t, t) - 1.0).abs() < 1e-5);
        }
        let empty = Mesh::default();
        assert!(empty.tangents().vertices(empty.frame(), &[]).is_empty());
    }

    /// Meshes that crash the original, or take it minutes.
    #[test]
    fn a_hub_of_many_triangles_and_many_collapsed_ones() {
        let n = 200_000u32;
        let mut mesh = Mesh::default();
        mesh.positions.push([0.0; 3]);
        mesh.uvs.push([0.0; 2]);
        for i in 0..n {
            let t = i as f32 / n as f32 * std::f32::consts::TAU;
            mesh.positions.push([t.cos(), t.sin(), 0.0]);
            mesh.uvs.push([t.cos(), t.sin()]);
            mesh.triangles.push([0, i + 1, (i + 1) % n + 1]);
            mesh.triangles.push([i + 1, i + 1, 0]);
            mesh.triangles.push([0, 1, 2]);
        }
        mesh.normals = vec![[0.0, 0.0, 1.0]; mesh.positions.len()];
        let corners = mesh.tangents();
        let corners = corners.corners(mesh.frame());
        assert_eq!(corners.corner(0, 0)[3], 1.0);
        assert_eq!(corners.corner(1, 0)[3], 0.0);
        assert_ne!(corners.corner(1, 0)[0], 0.0);
    }

    /// Returns `true` if triangles of one group have opposite tangents or bitangents. There rounding decides
    /// whether the original's threshold of 180° divides the group; here it is never divided.
    fn opposed(mesh: &Mesh, corners: &CornerTangents<'_>) -> bool {
        let mut kinds = vec![TriangleKind::Flat; mesh.triangles.len()];
        let along_u = gradients(&mesh.triangles, mesh.frame(), &mut kinds);
        // With u and v exchanged both area and gradient change sign: this is the gradient along v.
        let mut swapped = mesh.clone();
        swapped.uvs.iter_mut().for_each(|uv| uv.reverse());
        let along_v = gradients(&mesh.triangles, swapped.frame(), &mut kinds.clone());
        let mut members: Vec<(u32, [[f32; 3]; 2])> = Vec::new();
        for (t, triangle) in mesh.triangles.iter().enumerate() {
            for (k, &v) in triangle.iter().enumerate() {
                let group = corners.groups.corner_group[t][k];
                if group == NO_GROUP || !matches!(kinds[t], TriangleKind::Unmirrored | TriangleKind::Mirrored)
                {
                    continue;
                }
                let n = mesh.normals[v as usize];
                let own = [along_u[t], along_v[t]].map(|v| unit_or_zero(project(v, n)));
                if members
                    .iter()
                    .any(|(g, other)| *g == group && (0..2).any(|i| dot(own[i], other[i]) < -0.9999))
                {
                    return true;
                }
                members.push((group, own));
            }
        }
        false
    }

    proptest! {
        #[test]
        fn random_meshes_equal_the_original(
            triangles in prop::collection::vec([0u32..12, 0u32..12, 0u32..12], 1..30),
            numbers in prop::collection::vec((prop::array::uniform3(-8i8..8), prop::array::uniform3(-0.6f32..0.6), prop::array::uniform2(-9i8..9)), 12),
        ) {
            // Few different values, so that vertices coincide and triangles collapse; slightly curved, so
            // that few tangents are exactly opposite.
            let mesh = Mesh {
                triangles,
                positions: numbers.iter().map(|n| n.0.map(|x| f32::from(x) + f32::from(x).sin() * 0.1)).collect(),
                normals: numbers.iter().map(|n| unit_or_zero([n.1[0], n.1[1], 1.0])).collect(),
                uvs: numbers.iter().map(|n| n.2.map(|x| f32::from(x) * 0.37 + f32::from(x).cos() * 0.01)).collect(),
            };
            let first = oracle(&mesh);
            prop_assume!(first.iter().flatten().all(|t| t.iter().all(|x| x.is_finite())));
            let tangents = mesh.tangents();
            let corners = tangents.corners(mesh.frame());
            prop_assume!(!opposed(&mesh, &corners));
            same_as_oracle(&mesh, &corners);
        }
    }
}
