//! Two partitions that are stored once per mesh: the triangles that form one polygon, and the vertices that
//! share a normal. Lossless.
//!
//! Both are coded in the same way: items come in order, and each has a short list of *candidates*, the
//! classes of earlier items that touch it. One bit per candidate says whether the item joins it; an item that
//! joins none begins a class of its own.
//!
//! ```text
//! triangle t     over its edges 0 – 1, 1 – 2, 2 – 0: the face of the last triangle before t that has the edge
//! vertex v       the groups of the four vertices before v at its point, the nearest first; then of those before v among the first
//!                eight that lie beside v in its polygons: the next, the one before, in a quad the one across
//!                each candidate once; at most six
//! context        index of the candidate (0, 1, 2 …), number of items of its class (1, 2, 3 …), whether the item before joined a class
//! ```
//!
//! A face that is a disc becomes one polygon, its boundary; any other stays triangles.

use crate::entropy::range::{BitCoder, Chance};
use crate::sort;
#[cfg(feature = "encode")]
use std::collections::HashMap;

/// The number of a missing item.
const NO_ITEM: u32 = u32::MAX;
const MAX_CANDIDATES: usize = 6;

/// Polygons as lists of vertices, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Polygons {
    /// The vertices.
    pub vertices: Vec<u32>,
    /// The end of each polygon.
    pub end_offsets: Vec<usize>,
}

impl Polygons {
    /// Returns the polygons in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let mut start = 0;
        self.end_offsets.iter().map(move |&end| {
            let polygon = &self.vertices[start..end];
            start = end;
            polygon
        })
    }

    /// Collects the polygons; `faces` has the face of each triangle. Faces that are no discs stay triangles.
    pub fn new(triangles: &[[u32; 3]], faces: &[u32]) -> Polygons {
        let mut order: Vec<u32> = (0..triangles.len() as u32).collect();
        match faces.iter().all(|face| (*face as usize) < faces.len()) {
            true => sort_by_small_key(&mut order, faces),
            false => sort::by_key(&mut order, |&t| faces[t as usize]),
        }
        let mut runs: Vec<&[u32]> = order.chunk_by(|a, b| faces[*a as usize] == faces[*b as usize]).collect();
        sort::unstable_by_key(&mut runs, |run| run[0]);
        let mut out = Polygons {
            vertices: Vec::with_capacity(3 * triangles.len()),
            end_offsets: Vec::with_capacity(runs.len()),
        };
        let mut edges = Default::default();
        for run in runs {
            if run.len() > 1 && out.push_boundary(triangles, run, &mut edges) {
                continue;
            }
            for &t in run {
                out.vertices.extend(triangles[t as usize]);
                out.end_offsets.push(out.vertices.len());
            }
        }
        out
    }

    /// Adds the boundary of a disc of triangles; returns `false` if it is not a disc. The lists of edges are
    /// reused.
    fn push_boundary(
        &mut self,
        triangles: &[[u32; 3]],
        run: &[u32],
        [edges, rim]: &mut [Vec<(u32, u32)>; 2],
    ) -> bool {
        edges.clear();
        for &t in run {
            let [a, b, c] = triangles[t as usize];
            edges.extend([(a, b), (b, c), (c, a)]);
        }
        let first = edges[0].0;
        sort::unstable(edges);
        // The boundary: edges without an opposite edge in another triangle of the face.
        rim.clear();
        rim.extend(edges.iter().filter(|e| edges.binary_search(&(e.1, e.0)).is_err()));
        let twice = |w: &[(u32, u32)]| w[0].0 == w[1].0;
        // A disc without inner vertices has two more edges on its boundary than triangles.
        if rim.len() != run.len() + 2 || rim.windows(2).any(twice) {
            return false;
        }
        let start = self.vertices.len();
        let mut at = if rim.iter().any(|e| e.0 == first) { first } else { rim[0].0 };
        let first = at;
        for _ in 0..rim.len() {
            self.vertices.push(at);
            match rim.binary_search_by_key(&at, |e| e.0) {
                Ok(i) => at = rim[i].1,
                Err(_) => break,
            }
            if at == first {
                break;
            }
        }
        let whole = at == first && self.vertices.len() == start + rim.len();
        if whole {
            self.end_offsets.push(self.vertices.len());
        } else {
            self.vertices.truncate(start);
        }
        whole
    }
}

/// Sorts all triangles by keys below their number; those with equal keys stay in order.
fn sort_by_small_key(order: &mut [u32], keys: &[u32]) {
    let mut place = vec![0u32; keys.len() + 1];
    for key in keys {
        place[*key as usize + 1] += 1;
    }
    for i in 1..place.len() {
        place[i] += place[i - 1];
    }
    for (t, key) in (0..).zip(keys) {
        let place = &mut place[*key as usize];
        order[*place as usize] = t;
        *place += 1;
    }
}

/// The contexts of one partition.
struct PartitionModel {
    chances: [[[Chance; 2]; 3]; MAX_CANDIDATES],
    joined: bool,
    /// The number of items in each class.
    sizes: Vec<u32>,
}

impl PartitionModel {
    fn new() -> PartitionModel {
        PartitionModel {
            chances: [[[Chance::default(); 2]; 3]; MAX_CANDIDATES],
            joined: false,
            sizes: Vec::new(),
        }
    }

    /// Codes the class of the next item; `class` is that of an encoder.
    fn item(&mut self, bits: &mut impl BitCoder<Context = Chance>, candidates: &[u32], class: u32) -> u32 {
        let before = usize::from(self.joined);
        for (i, &candidate) in candidates.iter().enumerate() {
            let size = (self.sizes[candidate as usize] as usize).clamp(1, 3) - 1;
            let chance = &mut self.chances[i][size][before];
            // A one is the rare bit of this coder: joining is the common case.
            if !bits.bit(chance, candidate != class) {
                self.sizes[candidate as usize] += 1;
                self.joined = true;
                return candidate;
            }
        }
        self.joined = false;
        self.sizes.push(1);
        self.sizes.len() as u32 - 1
    }
}

fn push(list: &mut [u32; MAX_CANDIDATES], count: &mut usize, class: u32) {
    if *count < MAX_CANDIDATES && !list[..*count].contains(&class) {
        list[*count] = class;
        *count += 1;
    }
}

/// Codes the face of each triangle. `wanted` are an encoder's faces, with any numbers; the result numbers
/// them from 0 on in the order of their first triangle. Triangles that are not connected through earlier
/// triangles get different faces in the result.
pub(crate) fn code_faces(
    bits: &mut impl BitCoder<Context = Chance>,
    triangles: &[[u32; 3]],
    wanted: Option<&[u32]>,
) -> Vec<u32> {
    let before = triangles_before(triangles);
    let mut model = PartitionModel::new();
    let mut out: Vec<u32> = Vec::with_capacity(triangles.len());
    for (t, others) in before.iter().enumerate() {
        let (mut list, mut count) = ([NO_ITEM; MAX_CANDIDATES], 0);
        let mut class = NO_ITEM;
        for &other in others.iter().filter(|other| **other != NO_ITEM) {
            push(&mut list, &mut count, out[other as usize]);
            if wanted.is_some_and(|w| w[other as usize] == w[t]) {
                class = out[other as usize];
            }
        }
        out.push(model.item(bits, &list[..count], class));
    }
    out
}

/// Returns, for the edges 0 – 1, 1 – 2, 2 – 0 of each triangle, the last triangle before it that has the
/// edge, or [`NO_ITEM`].
fn triangles_before(triangles: &[[u32; 3]]) -> Vec<[u32; 3]> {
    let edge = |corner: usize| {
        let (a, b) = (triangles[corner / 3][corner % 3], triangles[corner / 3][(corner + 1) % 3]);
        (a.min(b), a.max(b))
    };
    let vertices = triangles.as_flattened().iter().max().map_or(0, |v| *v as usize + 1);
    // Edges are sorted by their smaller vertex, which few of them share, then by the other.
    let mut starts = vec![0u32; vertices + 1];
    for corner in 0..3 * triangles.len() {
        starts[edge(corner).0 as usize + 1] += 1;
    }
    for v in 1..starts.len() {
        starts[v] += starts[v - 1];
    }
    let mut edges = vec![(0, 0); 3 * triangles.len()];
    for corner in 0..edges.len() {
        let (smaller, larger) = edge(corner);
        let place = &mut starts[smaller as usize];
        edges[*place as usize] = (larger, corner as u32);
        *place += 1;
    }
    let mut out = vec![[NO_ITEM; 3]; triangles.len()];
    let mut start = 0;
    for end in starts {
        let of_vertex = &mut edges[start..end.max(start as u32) as usize];
        sort::unstable(of_vertex);
        for (&(vertex, before), &(next_vertex, next)) in
            of_vertex.iter().zip(&of_vertex[1.min(of_vertex.len())..])
        {
            let corner = |number: u32| (number as usize / 3, number as usize % 3);
            let ((t, k), (next_t, next_k)) = (corner(before), corner(next));
            if vertex == next_vertex {
                // A triangle that has an edge twice.
                out[next_t][next_k] = if t == next_t { out[t][k] } else { t as u32 };
            }
        }
        start += of_vertex.len();
    }
    out
}

/// Codes the group of each vertex. `wanted` are an encoder's groups, with any numbers: vertices of one group
/// share a normal in all frames. The result is at least as fine, numbered from 0 on in the order of their
/// first vertex.
pub(crate) fn code_groups(
    bits: &mut impl BitCoder<Context = Chance>,
    near: &TouchingVertices,
    wanted: Option<&[u32]>,
) -> Vec<u32> {
    let vertices = near.same.len();
    let mut model = PartitionModel::new();
    let mut out: Vec<u32> = Vec::with_capacity(vertices);
    for v in 0..vertices {
        let (mut list, mut count) = ([NO_ITEM; MAX_CANDIDATES], 0);
        let mut class = NO_ITEM;
        near.for_each_earlier(v as u32, |w| {
            push(&mut list, &mut count, out[w as usize]);
            if class == NO_ITEM
                && list[..count].contains(&out[w as usize])
                && wanted.is_some_and(|g| g[w as usize] == g[v])
            {
                class = out[w as usize];
            }
        });
        out.push(model.item(bits, &list[..count], class));
    }
    out
}

/// The vertices that touch each vertex.
pub(crate) struct TouchingVertices {
    /// For each vertex the previous vertex at the same point.
    same: Vec<u32>,
    /// For each vertex up to eight vertices beside it in its polygons.
    beside: Vec<[u32; 8]>,
}

impl TouchingVertices {
    pub(crate) fn new(polygons: &Polygons, point: &[u32]) -> TouchingVertices {
        let mut last = vec![NO_ITEM; point.len()];
        let mut same = Vec::with_capacity(point.len());
        for (v, p) in point.iter().enumerate() {
            same.push(last[*p as usize]);
            last[*p as usize] = v as u32;
        }
        let mut beside = vec![[NO_ITEM; 8]; point.len()];
        for polygon in polygons.iter() {
            for (i, v) in polygon.iter().enumerate() {
                let slots = &mut beside[*v as usize];
                let free = slots.iter().position(|s| *s == NO_ITEM).unwrap_or(8);
                // The next, the previous, and in a quad the one across.
                let others = [1, polygon.len() - 1, 2];
                let others = &others[..polygon.len().clamp(3, 4) - 1 - usize::from(polygon.len() > 4)];
                for (slot, ahead) in slots[free..].iter_mut().zip(others) {
                    *slot = polygon[(i + ahead) % polygon.len()];
                }
            }
        }
        TouchingVertices { same, beside }
    }

    /// Calls `each` with the vertices before `v` that touch it: at most four of its point, then those beside
    /// it.
    pub(crate) fn for_each_earlier(&self, v: u32, mut each: impl FnMut(u32)) {
        let mut at = v;
        for _ in 0..4 {
            at = self.same[at as usize];
            if at == NO_ITEM {
                break;
            }
            each(at);
        }
        for &w in &self.beside[v as usize] {
            if w < v {
                each(w);
            }
        }
    }
}

/// Finds the vertices that share a normal in all frames, one frame after the other.
#[cfg(feature = "encode")]
#[derive(Debug, Clone)]
pub struct NormalSharing {
    class: Vec<u32>,
    /// The first vertex of each class.
    first: Vec<u32>,
}

#[cfg(feature = "encode")]
impl NormalSharing {
    /// Starts with classes of vertices that have the same `key`, e.g. all zero.
    pub fn new(key: &[u32]) -> NormalSharing {
        let mut out =
            NormalSharing { class: vec![0; key.len()], first: if key.is_empty() { vec![] } else { vec![0] } };
        out.refine(|v| [key[v], 0, 0]);
        out
    }

    /// Separates vertices whose normals differ.
    pub fn split_by_normals(&mut self, normals: &[[f32; 3]]) {
        self.refine(|v| normals[v].map(|x| (x + 0.0).to_bits()));
    }

    fn refine(&mut self, key: impl Fn(usize) -> [u32; 3]) {
        let class = &self.class;
        let fits = |v: usize| key(v) == key(self.first[class[v] as usize] as usize);
        if (0..class.len()).all(fits) {
            return;
        }
        let mut found: HashMap<(u32, [u32; 3]), u32> = HashMap::new();
        let mut first = Vec::new();
        for v in 0..self.class.len() {
            let slot = found.entry((self.class[v], key(v)));
            self.class[v] = *slot.or_insert_with(|| {
                first.push(v as u32);
                first.len() as u32 - 1
            });
        }
        self.first = first;
    }

    /// Returns the class of each vertex.
    pub fn classes(&self) -> &[u32] {
        &self.class
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::range::{Decoder, Encoder};
    use proptest::prelude::*;

    /// Two quads, a pentagon and a single triangle, all in a strip.
    const TRIANGLES: [[u32; 3]; 8] =
        [[0, 1, 3], [1, 4, 3], [1, 2, 4], [2, 5, 4], [3, 4, 6], [4, 5, 6], [5, 7, 6], [6, 7, 8]];
    const FACES: [u32; 8] = [4, 4, 9, 9, 0, 0, 0, 2];

    #[test]
    fn discs_become_polygons() {
        let polygons = Polygons::new(&TRIANGLES, &FACES);
        let list: Vec<&[u32]> = polygons.iter().collect();
        let expected: [&[u32]; 4] = [&[0, 1, 4, 3], &[1, 2, 5, 4], &[3, 4, 5, 7, 6], &[6, 7, 8]];
        assert_eq!(list, expected);
    }

    #[test]
    fn what_is_no_disc_stays_triangles() {
        // A fan with an inner vertex, two triangles that touch at a point, one twice, and one with opposite
        // orientation.
        let cases: [&[[u32; 3]]; 4] = [
            &[[0, 1, 3], [1, 2, 3], [2, 0, 3]],
            &[[0, 1, 2], [2, 3, 4]],
            &[[0, 1, 2], [0, 1, 2]],
            &[[0, 1, 2], [0, 1, 3]],
        ];
        for triangles in cases {
            let polygons = Polygons::new(triangles, &vec![0; triangles.len()]);
            assert_eq!(polygons.vertices, triangles.as_flattened());
        }
    }

    fn encode_and_decode(
        triangles: &[[u32; 3]],
        wanted: &[u32],
        point: &[u32],
        normals: &[u32],
    ) -> [Vec<u32>; 2] {
        let mut bytes = Vec::new();
        let mut bits = Encoder::new(&mut bytes);
        let coded = code_faces(&mut bits, triangles, Some(wanted));
        let polygons = Polygons::new(triangles, &coded);
        let near = TouchingVertices::new(&polygons, point);
        let groups_coded = code_groups(&mut bits, &near, Some(normals));
        bits.finish();
        let mut bits = Decoder::new(&bytes);
        assert_eq!(code_faces(&mut bits, triangles, None), coded);
        assert_eq!(code_groups(&mut bits, &near, None), groups_coded);
        bits.finish().unwrap();
        [coded, groups_coded]
    }

    #[test]
    fn partitions_come_back() {
        let point = [0, 1, 2, 3, 4, 5, 6, 7, 7];
        let [f, g] = encode_and_decode(&TRIANGLES, &FACES, &point, &[1, 1, 5, 5, 1, 5, 8, 3, 3]);
        assert_eq!(f, [0, 0, 1, 1, 2, 2, 2, 3]);
        // 0, 1 and 4 touch and share a normal; 2 and 5 touch, 3 does not touch them.
        assert_eq!(g, [0, 0, 1, 2, 0, 1, 3, 4, 4]);
        assert_eq!(encode_and_decode(&[], &[], &[], &[]), [vec![], vec![]]);
    }

    #[test]
    fn sharing_follows_all_frames() {
        let mut sharing = NormalSharing::new(&[0, 0, 0, 1]);
        assert_eq!(sharing.classes(), [0, 0, 0, 1]);
        let (a, b) = ([0.0, 0.0, 1.0], [0.0, 1.0, 0.0]);
        sharing.split_by_normals(&[a, [-0.0, 0.0, 1.0], a, a]);
        assert_eq!(sharing.classes(), [0, 0, 0, 1]);
        sharing.split_by_normals(&[a, b, b, b]);
        assert_eq!(sharing.classes(), [0, 1, 1, 2]);
        sharing.split_by_normals(&[a, a, b, b]);
        assert_eq!(sharing.classes(), [0, 1, 2, 3]);
        assert!(NormalSharing::new(&[]).classes().is_empty());
    }

    proptest! {
        #[test]
        fn coded_partitions_refine_the_wanted(
            triangles in prop::collection::vec(prop::array::uniform3(0u32..9), 0..30),
            wanted in prop::collection::vec(0u32..4, 30),
            point in prop::collection::vec(0u32..5, 9),
            normals in prop::collection::vec(0u32..3, 9),
        ) {
            let [f, g] = encode_and_decode(&triangles, &wanted[..triangles.len()], &point, &normals);
            for (list, wanted) in [(&f, &wanted), (&g, &normals)] {
                for i in 0..list.len() {
                    for j in 0..i {
                        prop_assert!(list[i] != list[j] || wanted[i] == wanted[j]);
                    }
                }
            }
        }

        #[test]
        fn any_bytes_give_partitions(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            triangles in prop::collection::vec(prop::array::uniform3(0u32..9), 0..30),
            point in prop::collection::vec(0u32..5, 9),
        ) {
            let mut bits = Decoder::new(&bytes);
            let f = code_faces(&mut bits, &triangles, None);
            let polygons = Polygons::new(&triangles, &f);
            let near = TouchingVertices::new(&polygons, &point);
            prop_assert_eq!(code_groups(&mut bits, &near, None).len(), 9);
        }
    }
}
