//! One index buffer for all frames: corners of a point become one vertex if every attribute is equal in every
//! frame, and stay separate if one differs once. Equality is that of bits, found by a 64-bit hash and
//! confirmed on the bits; or that of numbers within a distance, since exporters compute the uvs of a point
//! for each of its faces anew, and differences in the last bits are not a seam.
//!
//! Partition refinement. Corners begin in the class of their point. For each attribute and frame every corner
//! is compared with the first corner of its class; those that differ leave it and meet again where class and
//! bits are equal:
//!
//! ```text
//! for corner in corners            (ascending, so that the first of a class is seen before the others)
//!     if first of its class:       remember its bits
//!     else if bits differ:         class = new[(class, bits)]   or a new class that begins with this corner
//! ```
//!
//! If nothing changes, this is one linear pass without hashing.

use super::faces::NO_POINT;
use super::hash::FoldedHash;
use std::collections::HashMap;

/// A missing vertex, corner or point.
pub const NO_INDEX: u32 = u32::MAX;

/// Returns bits that are equal if the values count as equal: −0 equals 0 and all NaN are equal.
#[inline]
pub fn bits(value: f32) -> u32 {
    if value == 0.0 {
        0
    } else if value.is_nan() {
        0x7FC0_0000
    } else {
        value.to_bits()
    }
}

/// Returns [`bits`] of each component.
#[inline]
pub fn all_bits<const K: usize>(value: [f32; K]) -> [u32; K] {
    value.map(bits)
}

/// The number of classes of a point that a corner is compared with: no mesh has more seams at a point, except
/// adversarial ones.
const MAX_COMPARED_CLASSES: usize = 64;

/// Splits points into vertices.
pub struct Splitter {
    /// By corner, its class; [`NO_INDEX`] for corners that take no part.
    class: Vec<u32>,
    /// By class, its first corner.
    first: Vec<u32>,
    hash: FoldedHash,
}

/// The result: vertices in the order of their first corners, then one for every point that no corner uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Split {
    /// By corner, its vertex; [`NO_INDEX`] for corners without one.
    pub corner_vertex: Vec<u32>,
    /// By vertex, its first corner; [`NO_INDEX`] for a point without faces.
    pub vertex_corner: Vec<u32>,
    /// By vertex, its point.
    pub vertex_point: Vec<u32>,
}

impl Splitter {
    /// Starts with one class per point. `corner_point` is [`super::faces::Faces::corner_point`]: corners of
    /// unusable faces are [`NO_POINT`] and take no part.
    pub fn new(corner_point: &[u32]) -> Splitter {
        assert!(corner_point.len() < u32::MAX as usize);
        let points = corner_point.iter().filter(|&&p| p != NO_POINT).max().map_or(0, |&p| p as usize + 1);
        let mut class_of_point = vec![NO_INDEX; points];
        let mut first = Vec::new();
        let class = corner_point
            .iter()
            .enumerate()
            .map(|(corner, &point)| {
                if point == NO_POINT {
                    return NO_INDEX;
                }
                let class = &mut class_of_point[point as usize];
                if *class == NO_INDEX {
                    *class = first.len() as u32;
                    first.push(corner as u32);
                }
                *class
            })
            .collect();
        Splitter { class, first, hash: FoldedHash::new() }
    }

    /// Returns the number of vertices so far, without those of points that no corner uses.
    pub fn class_count(&self) -> usize {
        self.first.len()
    }

    /// Returns the class of a corner; [`NO_INDEX`] for corners that take no part.
    pub fn class_of(&self, corner: u32) -> u32 {
        self.class[corner as usize]
    }

    /// Refines the classes by one attribute at one frame; `value` returns a corner's bits ([`bits`]). Returns
    /// `true` if a class split. Attributes of points (and of the whole mesh) cannot split and need not be
    /// passed.
    pub fn refine<const K: usize>(&mut self, value: impl Fn(u32) -> [u32; K]) -> bool {
        let before = self.first.len();
        let mut bits_of_class: Vec<[u32; K]> = vec![[0; K]; before];
        let mut found: HashMap<(u32, [u32; K]), u32, FoldedHash> = HashMap::with_hasher(self.hash);
        for (corner, class) in self.class.iter_mut().enumerate() {
            if *class == NO_INDEX {
                continue;
            }
            let own = value(corner as u32);
            let old = *class as usize;
            if self.first[old] == corner as u32 {
                bits_of_class[old] = own;
            } else if bits_of_class[old] != own {
                *class = *found.entry((old as u32, own)).or_insert_with(|| {
                    self.first.push(corner as u32);
                    (self.first.len() - 1) as u32
                });
            }
        }
        self.first.len() > before
    }

    /// The same for numbers that count as equal if no component differs by more than `within`: each corner is
    /// compared with the first one of its class, and with those of up to 64 classes of its point. Beyond
    /// these, only equal bits match.
    pub fn refine_within<const K: usize>(&mut self, value: impl Fn(u32) -> [f32; K], within: f32) -> bool {
        let before = self.first.len();
        let mut values: Vec<[f32; K]> = vec![[0.0; K]; before];
        // Classes that were split off from each class.
        let mut parts: HashMap<u32, Vec<u32>, FoldedHash> = HashMap::with_hasher(self.hash);
        let mut equal: HashMap<(u32, [u32; K]), u32, FoldedHash> = HashMap::with_hasher(self.hash);
        let near = |a: &[f32; K], b: &[f32; K]| {
            all_bits(*a) == all_bits(*b) || a.iter().zip(b).all(|(a, b)| (a - b).abs() <= within)
        };
        for (corner, class) in self.class.iter_mut().enumerate() {
            if *class == NO_INDEX {
                continue;
            }
            let own = value(corner as u32);
            let old = *class as usize;
            if self.first[old] == corner as u32 {
                values[old] = own;
            } else if !near(&values[old], &own) {
                *class = *equal.entry((old as u32, all_bits(own))).or_insert_with(|| {
                    let list = parts.entry(old as u32).or_default();
                    if let Some(part) = list.iter().find(|part| near(&values[**part as usize], &own)) {
                        return *part;
                    }
                    let part = values.len() as u32;
                    self.first.push(corner as u32);
                    values.push(own);
                    if list.len() < MAX_COMPARED_CLASSES {
                        list.push(part);
                    }
                    part
                });
            }
        }
        self.first.len() > before
    }

    /// Numbers the vertices. `corner_point` must be the argument of [`Splitter::new`]; `points` is the number
    /// of points of the mesh.
    pub fn finish(self, corner_point: &[u32], points: usize) -> Split {
        let mut vertex_of_class = vec![NO_INDEX; self.first.len()];
        let mut out = Split {
            corner_vertex: self.class,
            vertex_corner: Vec::with_capacity(self.first.len()),
            vertex_point: Vec::with_capacity(self.first.len()),
        };
        let mut used = vec![false; points];
        for (corner, slot) in out.corner_vertex.iter_mut().enumerate() {
            if *slot == NO_INDEX {
                continue;
            }
            let vertex = &mut vertex_of_class[*slot as usize];
            if *vertex == NO_INDEX {
                let point = corner_point[corner];
                *vertex = out.vertex_corner.len() as u32;
                out.vertex_corner.push(corner as u32);
                out.vertex_point.push(point);
                used[point as usize] = true;
            }
            *slot = *vertex;
        }
        for (point, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
            out.vertex_corner.push(NO_INDEX);
            out.vertex_point.push(point as u32);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::hash::Hasher;

    fn split(corner_point: &[u32], points: usize, channels: &[Vec<u32>]) -> Split {
        let mut splitter = Splitter::new(corner_point);
        for channel in channels {
            splitter.refine(|c| [channel[c as usize]]);
        }
        splitter.finish(corner_point, points)
    }

    #[test]
    fn nothing_differs_nothing_splits() {
        let corner_point = [2, 0, 1, 1, 0, 2];
        let result = split(&corner_point, 3, &[vec![7; 6]]);
        assert_eq!(result.corner_vertex, [0, 1, 2, 2, 1, 0]);
        assert_eq!(result.vertex_corner, [0, 1, 2]);
        assert_eq!(result.vertex_point, [2, 0, 1]);
    }

    #[test]
    fn one_difference_in_one_late_frame_splits() {
        let corner_point = [0, 0, 0, 1];
        let mut frames = vec![vec![0; 4]; 100];
        frames[99][1] = 1;
        let result = split(&corner_point, 2, &frames);
        assert_eq!(result.corner_vertex, [0, 1, 0, 2]);
    }

    #[test]
    fn points_without_faces_follow_and_unusable_corners_have_no_vertex() {
        let corner_point = [4, NO_POINT, 2];
        let result = split(&corner_point, 5, &[vec![1, 2, 3]]);
        assert_eq!(result.corner_vertex, [0, NO_INDEX, 1]);
        assert_eq!(result.vertex_corner, [0, 2, NO_INDEX, NO_INDEX, NO_INDEX]);
        assert_eq!(result.vertex_point, [4, 2, 0, 1, 3]);
    }

    #[test]
    fn zero_and_nan_are_one() {
        assert_eq!(bits(-0.0), bits(0.0));
        assert_eq!(bits(f32::NAN), bits(-f32::NAN));
        assert_eq!(bits(f32::from_bits(0x7F80_0001)), bits(f32::NAN));
        assert_ne!(bits(f32::INFINITY), bits(f32::NAN));
        assert_eq!(all_bits([1.0, -0.0]), [1f32.to_bits(), 0]);
    }

    /// A hash that is the same for every key: the bits alone must keep classes apart.
    #[test]
    fn a_colliding_hash_changes_nothing() {
        #[derive(Clone, Copy, Default)]
        struct Same;
        impl Hasher for Same {
            fn finish(&self) -> u64 {
                0
            }
            fn write(&mut self, _: &[u8]) {}
        }
        let mut map: HashMap<(u32, [u32; 2]), u32, std::hash::BuildHasherDefault<Same>> = HashMap::default();
        for i in 0..100 {
            map.insert((0, [i, 0]), i);
        }
        assert_eq!(map.len(), 100);
        assert_eq!(map[&(0, [57, 0])], 57);
    }

    #[test]
    fn millions_of_corners() {
        // Four corners per point, two of which always agree.
        let points = 500_000u32;
        let corner_point: Vec<u32> = (0..4 * points).map(|c| c % points).collect();
        let channel: Vec<u32> = (0..4 * points).map(|c| (c / points).min(2)).collect();
        let result = split(&corner_point, points as usize, &[channel]);
        assert_eq!(result.vertex_corner.len(), 3 * points as usize);
    }

    #[test]
    fn last_bits_are_no_seam() {
        let corner_point = [0, 0, 0, 0, 1, 1, 1];
        let uvs = [0.5, 0.500_000_1, 0.6, 0.600_000_1, f32::NAN, f32::NAN, f32::INFINITY];
        let mut splitter = Splitter::new(&corner_point);
        assert!(splitter.refine_within(|c| [uvs[c as usize]], 1e-6));
        assert!(!splitter.refine_within(|c| [uvs[c as usize]], 1e-6));
        let result = splitter.finish(&corner_point, 2);
        assert_eq!(result.corner_vertex, [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!(result.vertex_corner, [0, 2, 4, 6]);
    }

    #[test]
    fn a_point_of_many_uvs() {
        let corner_point = vec![0; 1_000_000];
        let mut splitter = Splitter::new(&corner_point);
        splitter.refine_within(|c| [(c / 2) as f32, -((c / 2) as f32)], 0.25);
        assert_eq!(splitter.class_count(), 500_000);
    }

    proptest! {
        #[test]
        fn equal_to_grouping_by_all_values(corners in prop::collection::vec((0u32..6, 0u32..3, 0u32..3, 0u32..3), 0..80)) {
            let corner_point: Vec<u32> = corners.iter().map(|c| c.0).collect();
            let channels = [
                corners.iter().map(|c| c.1).collect(),
                corners.iter().map(|c| c.2).collect(),
                corners.iter().map(|c| c.3).collect::<Vec<_>>(),
            ];
            let result = split(&corner_point, 6, &channels);
            let mut expected = BTreeMap::new();
            let mut next = 0;
            for (i, c) in corners.iter().enumerate() {
                let vertex = *expected.entry(*c).or_insert_with(|| { next += 1; next - 1 });
                prop_assert_eq!(result.corner_vertex[i], vertex);
                prop_assert_eq!(result.vertex_point[vertex as usize], c.0);
                prop_assert!(result.vertex_corner[vertex as usize] as usize <= i);
            }
        }
    }
}
