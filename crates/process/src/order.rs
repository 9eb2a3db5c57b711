//! Order of triangles and vertices.
//!
//! Triangles are grouped by material, in each group ordered for the vertex cache (T. Forsyth, *Linear-speed
//! vertex cache optimisation*, 2006, in meshoptimizer's form), and vertices are numbered in the order in
//! which triangles first use them. The order is strip-like, which prediction needs: nearly every vertex
//! closes a triangle next to one whose three vertices came shortly before.
//!
//! Each step of the optimizer examines all remaining triangles around each vertex in the cache. A vertex of
//! more than `MAX_VERTEX_TRIANGLES` triangles is therefore passed to it as several, each with some of them in
//! the order of the source, so that the work stays proportional to the triangles.

/// The order of triangles and vertices, and the resulting indices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TriangleOrder {
    /// Three new vertex numbers per triangle, materials one after the other.
    pub indices: Vec<u32>,
    /// By new triangle, the old one.
    pub triangle_order: Vec<u32>,
    /// By new vertex, the old one; vertices that no triangle uses come last.
    pub vertex_order: Vec<u32>,
    /// First index and number of indices of each material.
    pub ranges: Vec<(u32, u32)>,
}

/// Lays out `triangles` (vertex numbers below `vertices`), whose materials are numbers below `materials`.
pub fn order_triangles(
    triangles: &[[u32; 3]],
    triangle_material: &[u32],
    materials: usize,
    vertices: usize,
) -> TriangleOrder {
    assert_eq!(triangles.len(), triangle_material.len());
    let mut out = TriangleOrder {
        indices: Vec::with_capacity(triangles.len() * 3),
        triangle_order: Vec::with_capacity(triangles.len()),
        vertex_order: Vec::with_capacity(vertices),
        ranges: Vec::with_capacity(materials),
    };
    let by_material = sort_by_material(triangle_material, materials);
    let mut local = LocalIndices { number: vec![ABSENT; vertices], global: Vec::new() };
    for members in &by_material {
        let first = out.indices.len() as u32;
        let order = cache_order(triangles, members, &mut local);
        for (triangle, [a, b, c]) in order {
            out.triangle_order.push(triangle);
            out.indices.extend([a, b, c]);
        }
        out.ranges.push((first, out.indices.len() as u32 - first));
    }
    let mut number = vec![ABSENT; vertices];
    for index in &mut out.indices {
        let slot = &mut number[*index as usize];
        if *slot == ABSENT {
            *slot = out.vertex_order.len() as u32;
            out.vertex_order.push(*index);
        }
        *index = *slot;
    }
    let unused = number.iter().enumerate().filter(|(_, n)| **n == ABSENT).map(|(v, _)| v as u32);
    out.vertex_order.extend(unused);
    out
}

const ABSENT: u32 = u32::MAX;

/// The largest number of triangles around a vertex that is passed to the optimizer.
const MAX_VERTEX_TRIANGLES: u32 = 1024;

fn sort_by_material(triangle_material: &[u32], materials: usize) -> Vec<Vec<u32>> {
    let mut count = vec![0usize; materials];
    for &m in triangle_material {
        count[m as usize] += 1;
    }
    let mut lists: Vec<Vec<u32>> = count.iter().map(|&n| Vec::with_capacity(n)).collect();
    for (t, &m) in triangle_material.iter().enumerate() {
        lists[m as usize].push(t as u32);
    }
    lists
}

/// Vertex numbers within one material, so that work and memory depend on its size and not on the whole
/// mesh's.
struct LocalIndices {
    number: Vec<u32>,
    global: Vec<u32>,
}

/// Returns the members in cache order, each with its vertices as rotated by the optimizer.
fn cache_order(triangles: &[[u32; 3]], members: &[u32], local: &mut LocalIndices) -> Vec<(u32, [u32; 3])> {
    for v in local.global.drain(..) {
        local.number[v as usize] = ABSENT;
    }
    let mut indices = Vec::with_capacity(members.len() * 3);
    for &t in members {
        for v in triangles[t as usize] {
            let slot = &mut local.number[v as usize];
            if *slot == ABSENT {
                *slot = local.global.len() as u32;
                local.global.push(v);
            }
            indices.push(*slot);
        }
    }
    split_hubs(&mut indices, &mut local.global);
    meshopt::optimize_vertex_cache_in_place(&mut indices, local.global.len());
    let ordered: Vec<[u32; 3]> =
        indices.chunks_exact(3).map(|t| [0, 1, 2].map(|k| local.global[t[k] as usize])).collect();

    // The optimizer returns vertices, not triangle numbers: old and new triangles are matched by their
    // vertices.
    let mut old: Vec<([u32; 3], u32)> =
        members.iter().map(|&t| (smallest_first(triangles[t as usize]), t)).collect();
    let mut new: Vec<([u32; 3], u32)> =
        ordered.iter().enumerate().map(|(i, &t)| (smallest_first(t), i as u32)).collect();
    old.sort_unstable();
    new.sort_unstable();
    let mut out: Vec<(u32, [u32; 3])> = ordered.iter().map(|&t| (ABSENT, t)).collect();
    for (old, new) in old.iter().zip(&new) {
        assert_eq!(old.0, new.0, "the optimizer changed a triangle");
        out[new.1 as usize].0 = old.1;
    }
    out
}

/// Gives a vertex of more than [`MAX_VERTEX_TRIANGLES`] triangles another number after each
/// [`MAX_VERTEX_TRIANGLES`] of them. `global` has the vertex of each number.
fn split_hubs(indices: &mut [u32], global: &mut Vec<u32>) {
    let mut uses = vec![0u32; global.len()];
    for &v in indices.iter() {
        uses[v as usize] += 1;
    }
    if uses.iter().all(|&uses| uses <= MAX_VERTEX_TRIANGLES) {
        return;
    }
    let mut number: Vec<u32> = (0..global.len() as u32).collect();
    uses.fill(0);
    for index in indices {
        let v = *index as usize;
        if uses[v] == MAX_VERTEX_TRIANGLES {
            uses[v] = 0;
            number[v] = global.len() as u32;
            global.push(global[v]);
        }
        uses[v] += 1;
        *index = number[v];
    }
}

/// Returns a triangle rotated so that its smallest vertex comes first.
fn smallest_first(t: [u32; 3]) -> [u32; 3] {
    let k = (0..3).min_by_key(|&k| t[k]).unwrap_or(0);
    [t[k], t[(k + 1) % 3], t[(k + 2) % 3]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn grid(n: u32) -> Vec<[u32; 3]> {
        let mut out = Vec::new();
        for y in 0..n - 1 {
            for x in 0..n - 1 {
                let a = y * n + x;
                out.push([a, a + 1, a + n + 1]);
                out.push([a, a + n + 1, a + n]);
            }
        }
        out
    }

    fn check(triangles: &[[u32; 3]], materials: &[u32], count: usize, vertices: usize) -> TriangleOrder {
        let layout = order_triangles(triangles, materials, count, vertices);
        let mut order = layout.vertex_order.clone();
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..vertices as u32));
        let mut order = layout.triangle_order.clone();
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..triangles.len() as u32));
        let mut seen = 0;
        for (new, &old) in layout.triangle_order.iter().enumerate() {
            let t: [u32; 3] = std::array::from_fn(|k| layout.indices[3 * new + k]);
            for v in t {
                assert!(v <= seen);
                seen = seen.max(v + 1);
            }
            let back = t.map(|v| layout.vertex_order[v as usize]);
            assert_eq!(smallest_first(back), smallest_first(triangles[old as usize]));
        }
        let mut first = 0;
        for (m, &(begin, length)) in layout.ranges.iter().enumerate() {
            assert_eq!(begin, first);
            first += length;
            for t in begin / 3..first / 3 {
                assert_eq!(materials[layout.triangle_order[t as usize] as usize], m as u32);
            }
        }
        assert_eq!(first as usize, layout.indices.len());
        layout
    }

    /// Returns the fraction of the vertices for which a parallelogram of earlier vertices within `look_back`
    /// exists.
    fn predicted(layout: &TriangleOrder, vertices: usize, look_back: u32) -> f64 {
        use std::collections::HashMap;
        let triangles: Vec<[u32; 3]> = layout.indices.chunks(3).map(|t| [t[0], t[1], t[2]]).collect();
        let mut across: HashMap<(u32, u32), Vec<u32>> = HashMap::new();
        for t in &triangles {
            for k in 0..3 {
                let (a, b, c) = (t[k], t[(k + 1) % 3], t[(k + 2) % 3]);
                across.entry((a.min(b), a.max(b))).or_default().push(c);
            }
        }
        let mut has = vec![false; vertices];
        for t in &triangles {
            for k in 0..3 {
                let (x, a, b) = (t[k], t[(k + 1) % 3], t[(k + 2) % 3]);
                for &c in &across[&(a.min(b), a.max(b))] {
                    let earlier = [a, b, c].iter().all(|&v| v < x && x - v <= look_back);
                    has[x as usize] |= earlier;
                }
            }
        }
        has.iter().filter(|h| **h).count() as f64 / vertices as f64
    }

    #[test]
    fn nearly_every_vertex_of_a_grid_can_be_predicted() {
        let n = 200;
        let triangles = grid(n);
        let layout = check(&triangles, &vec![0; triangles.len()], 1, (n * n) as usize);
        let part = predicted(&layout, (n * n) as usize, 4096);
        println!("predicted {part:.4}");
        assert!(part > 0.95, "{part}");
    }

    #[test]
    fn materials_stay_apart_and_loose_vertices_come_last() {
        let triangles = grid(20);
        let materials: Vec<u32> = (0..triangles.len() as u32).map(|t| t % 3 * 2).collect();
        let layout = check(&triangles, &materials, 6, 410);
        assert!(layout.vertex_order[400..].iter().copied().eq(400..410));
        assert_eq!(layout.ranges[1].1, 0);
    }

    /// These would take hours if each step examined all triangles of a vertex.
    #[test]
    fn a_million_triangles_around_a_vertex_and_on_three() {
        let count = 1_000_000;
        let fan: Vec<[u32; 3]> = (1..count).map(|i| [0, i, i + 1]).collect();
        check(&fan, &vec![0; fan.len()], 1, count as usize + 1);
        check(&vec![[0, 1, 2]; count as usize], &vec![0; count as usize], 1, 3);
    }

    #[test]
    fn nothing_and_repeated_triangles() {
        assert_eq!(check(&[], &[], 1, 0).ranges, [(0, 0)]);
        assert_eq!(check(&[], &[], 0, 3).vertex_order, [0, 1, 2]);
        let same = [[0, 1, 2], [1, 2, 0], [0, 2, 1], [0, 1, 2], [2, 2, 2], [0, 0, 1]];
        check(&same, &[0; 6], 1, 3);
    }

    proptest! {
        #[test]
        fn any_triangles(triangles in prop::collection::vec(([0u32..30, 0u32..30, 0u32..30], 0u32..4), 0..60)) {
            let (t, m): (Vec<_>, Vec<_>) = triangles.into_iter().unzip();
            let first = check(&t, &m, 4, 30);
            prop_assert_eq!(first, order_triangles(&t, &m, 4, 30));
        }
    }
}
