//! The handles of affine bones, and the order in which they are predicted from each other: bones usually form
//! chains like joints, though no file states it.
//!
//! ```text
//! far(b, a)  = the largest Σ_k |c_k − m_k| / h_k of the corners c of b's region; m, h: middle and half size of a's region
//! tree       root: the bone with the largest h_x + h_y + h_z, the first of equals
//!            then repeatedly: of all bones b that are not in the tree and bones a in it that have at most 23 ancestors, the pair with the least far(b, a) is taken, and b is put below a; of equals the first b, then the first a
//! level 0    handle 0 of the root        level 1    its other handles; ring: handle 0 of the root
//! level 2d   handle 0 of the bones with d ancestors; ring: the four handles of the bone above
//! level 2d+1 their other handles; ring: the four handles of the bone above and their own handle 0
//! ```
//!
//! More than 1,024 bones are treated as a mesh of the triangles (0, 1, 2), (0, 2, 3), (0, 3, 1) of each, in
//! the order of [`hierarchy`].

use super::kernel::Region;
use crate::mesh::hierarchy::{self, Hierarchy};

/// The number of handles of an affine bone.
pub const HANDLES: usize = 4;
/// The corners of the region at which handles are at rest.
pub const CORNERS: [[f64; 3]; HANDLES] =
    [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]];

// Part of the format.
/// The largest number of bones above another.
const MAX_TREE_DEPTH: u32 = 24;
/// Building the tree takes time quadratic in the number of bones, so they are limited.
const MAX_TREE_BONES: usize = 1024;

/// Returns the matrix that moves a region to the given handles.
pub fn affine(region: &Region, handles: [[f32; 3]; HANDLES]) -> [[f64; 4]; 3] {
    [0, 1, 2].map(|r| {
        let mut row = [0.0; 4];
        for (handle, corner) in handles.iter().zip(CORNERS) {
            let at = f64::from(handle[r]) * 0.25;
            row[3] += at;
            for k in 0..3 {
                row[k] += at * corner[k];
            }
        }
        for k in 0..3 {
            row[k] /= region.half[k];
            row[3] -= row[k] * region.middle[k];
        }
        row
    })
}

/// Builds the hierarchy of the handles of bones with these regions: number 4·b + k is handle k of bone b.
pub fn build_hierarchy(regions: &[Region]) -> Hierarchy {
    if regions.is_empty() || regions.len() > MAX_TREE_BONES {
        return irregular_hierarchy(regions.len() as u32);
    }
    let tree = tree(regions);
    let deepest = tree.iter().map(|t| t.depth).max().unwrap_or(0);
    let at_depth = |d: u32| (0u32..).zip(&tree).filter(move |(_, t)| t.depth == d);
    let handle = |bone: u32, k: u32| HANDLES as u32 * bone + k;
    let others = |bone: u32| (1..HANDLES as u32).map(move |k| handle(bone, k));
    let mut out = Hierarchy { starts: vec![0], ..Hierarchy::default() };
    for d in 0..=deepest {
        out.push_level(at_depth(d).map(|(bone, _)| handle(bone, 0)));
        out.push_level(at_depth(d).flat_map(|(bone, _)| others(bone)));
    }
    let mut new_of = vec![0; out.order.len()];
    for (new, &handle) in (0..).zip(&out.order) {
        new_of[handle as usize] = new;
    }
    out.ring_starts = vec![0];
    for new in 0..out.order.len() {
        let (bone, k) = (out.order[new] / HANDLES as u32, out.order[new] % HANDLES as u32);
        let above = tree[bone as usize].above.into_iter();
        let above = above.flat_map(|a| (0..HANDLES as u32).map(move |k| handle(a, k)));
        let own = (k > 0).then_some(handle(bone, 0));
        let ring: Vec<u32> = above.chain(own).map(|h| new_of[h as usize]).collect();
        out.push_ring(ring);
    }
    out
}

fn irregular_hierarchy(bones: u32) -> Hierarchy {
    let of = |b: u32| {
        let at = HANDLES as u32 * b;
        [[0, 1, 2], [0, 2, 3], [0, 3, 1]].map(|t| t.map(|k| at + k))
    };
    let triangles: Vec<[[u32; 3]; 3]> = (0..bones).map(of).collect();
    hierarchy::build(HANDLES as u32 * bones, triangles.as_flattened().as_flattened())
}

/// The place of a bone in the tree.
#[derive(Clone, Copy)]
struct TreeNode {
    above: Option<u32>,
    depth: u32,
}

fn tree(regions: &[Region]) -> Vec<TreeNode> {
    let size = |region: &Region| region.half[0] + region.half[1] + region.half[2];
    let mut root = 0;
    for (b, region) in regions.iter().enumerate() {
        if size(region) > size(&regions[root]) {
            root = b;
        }
    }
    let mut out = vec![TreeNode { above: None, depth: 0 }; regions.len()];
    // For each bone, its distance from the nearest one in the tree, and the number of that one.
    let mut near = vec![(f64::INFINITY, u32::MAX); regions.len()];
    let mut open: Vec<usize> = (0..regions.len()).filter(|&b| b != root).collect();
    let mut last = root;
    loop {
        if out[last].depth < MAX_TREE_DEPTH {
            for &b in &open {
                let far = region_distance(&regions[b], &regions[last]);
                if far < near[b].0 || (far == near[b].0 && (last as u32) < near[b].1) {
                    near[b] = (far, last as u32);
                }
            }
        }
        let Some(mut at) = (!open.is_empty()).then_some(0) else {
            return out;
        };
        for (i, &b) in open.iter().enumerate() {
            if near[b].0 < near[open[at]].0 {
                at = i;
            }
        }
        last = open.remove(at);
        // No bone is nearest if distances are infinite.
        let above = match near[last].1 {
            u32::MAX => root as u32,
            above => above,
        };
        out[last] = TreeNode { above: Some(above), depth: out[above as usize].depth + 1 };
    }
}

fn region_distance(from: &Region, to: &Region) -> f64 {
    let mut most: f64 = 0.0;
    for corner in CORNERS {
        let mut sum = 0.0;
        for k in 0..3 {
            let at = from.middle[k] + from.half[k] * corner[k] - to.middle[k];
            sum += (at / to.half[k]).abs();
        }
        most = most.max(sum);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::weights;
    use proptest::prelude::*;

    fn region(middle: [f64; 3], half: [f64; 3]) -> Region {
        Region { middle, half, bounds: [0.0; 6] }
    }

    fn check(regions: &[Region]) -> Hierarchy {
        let h = build_hierarchy(regions);
        let n = HANDLES * regions.len();
        let mut all = h.order.clone();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..n as u32));
        assert_eq!((h.starts[0], h.ring_starts.len()), (0, n + 1));
        assert!(h.level_count() >= 2 && h.level_count() <= 2 * (MAX_TREE_DEPTH as usize + 1));
        for level in 0..h.level_count() {
            assert!(level < 2 || !h.level(level).is_empty());
            assert!(h.order[h.level(level)].is_sorted());
            for new in h.level(level) {
                let ring = h.ring_of(new);
                assert_eq!(ring.is_empty(), level == 0);
                assert!(ring.iter().all(|&r| (r as usize) < h.level(level).start));
                assert!(ring.len() <= 5);
            }
        }
        h
    }

    #[test]
    fn bones_of_a_chain_hang_on_their_neighbours() {
        let chain: Vec<Region> = (0..40)
            .map(|b| region([f64::from(b), 0.0, 0.0], [if b == 9 { 0.8 } else { 0.6 }, 0.3, 0.3]))
            .collect();
        let h = check(&chain);
        assert_eq!(h.order[0], 36);
        for new in h.level(1).end..h.order.len() {
            let bone = h.order[new] as usize / HANDLES;
            for &r in h.ring_of(new) {
                let other = h.order[r as usize] as usize / HANDLES;
                assert!(bone.abs_diff(other) <= 1 || bone > 30, "{bone} {other}");
            }
        }
    }

    #[test]
    fn what_a_bone_does_is_expected_of_the_next() {
        // All bones move by one affine map, so only the root has residuals.
        let regions = [0, 1, 2].map(|b| region([f64::from(b) * 1000.0, 50.0, 0.0], [600.0, 400.0, 500.0]));
        let h = check(&regions);
        let at_rest: Vec<[i32; 3]> = (h.order.iter())
            .map(|&p| {
                let (r, c) = (&regions[p as usize / 4], CORNERS[p as usize % 4]);
                [0, 1, 2].map(|k| (r.middle[k] + r.half[k] * c[k]) as i32)
            })
            .collect();
        let fit = *weights::FITS.last().unwrap();
        let w = weights::solve_with(&h, &at_rest, fit);
        let moved = |p: [i32; 3]| (p[0] * 3 - p[1] + 2 * p[2]) as f64;
        for new in h.level(1).end..h.order.len() {
            let expected: f64 = (0..4)
                .map(|k| {
                    f64::from(w.weights[new][k]) / 4096.0 * moved(at_rest[w.neighbours[new][k] as usize])
                })
                .sum();
            assert!((expected - moved(at_rest[new])).abs() < 30.0, "{expected}");
        }
    }

    #[test]
    fn none_one_many() {
        assert_eq!(build_hierarchy(&[]).order, []);
        check(&[region([0.0; 3], [1.0; 3])]);
        assert_eq!(build_hierarchy(&vec![region([0.0; 3], [1.0; 3]); 1025]), irregular_hierarchy(1025));
    }

    proptest! {
        #[test]
        fn any_regions(all in proptest::collection::vec(any::<([f64; 3], [f64; 3])>(), 1..80)) {
            let regions: Vec<Region> = all.into_iter().map(|(m, h)| region(m, h)).collect();
            check(&regions);
        }
    }
}
