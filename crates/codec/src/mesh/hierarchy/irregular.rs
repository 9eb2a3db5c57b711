//! Hierarchy of a mesh's points, from its triangles alone: every point gets a ring of points of coarser
//! levels, so that all points of a level are predicted at once from the levels before it. Part of the format.
//!
//! ```text
//! repeat                                            one round = one level, the finest first
//!     valence(v) = number of different points that share a triangle with v
//!     for v by rising valence (1 … 8), ties by index:
//!         if v is not locked:
//!             remove v; note its ring (the points it shares triangles with); lock the ring
//!             choose t of the ring: the smallest present valence, the first of equals;
//!                 if v is on a border, points on a border precede others
//!     in every triangle replace each removed v by its t; drop triangles with two equal corners
//! until a round would remove less than a fiftieth of the points that still have triangles, or there were 64
//! ```
//!
//! | level | its points | ring |
//! |---|---|---|
//! | 0 | roots: of every component that has triangles the first point that no round removed; and the first lone point | empty |
//! | 1 | star: the other points that no round removed | the root of their component |
//! | … | lone points, in no triangle: their numbers j = odd · s, s a power of two that falls from level to level | j − s, j + s, j − 3s, j + 3s, those that exist |
//! | … | rounds, the last one first | as when they were removed; extended if below four |
//!
//! Within a level points keep their order by index. Levels except 0 and 1 are never empty. Removed points
//! share no triangle, so a round removes about a quarter of the points, which gives some 25 levels for 10,000
//! points. Time and memory are proportional to the size of the input whatever it contains: wild, degenerate,
//! repeated and unordered triangles are all allowed.
//!
//! Credit: removing independent sets of low valence is from David Kirkpatrick ("Optimal search in planar
//! subdivisions", 1983), as a hierarchy of meshes from Michael Lee and others (MAPS, 1998), and predicting
//! from coarse to fine is from the lifting scheme of Wim Sweldens (1996).

use super::order::Hierarchy;
use crate::sort;

// Part of the format.
const MAX_RING_POINTS: usize = 8;
const MAX_ROUNDS: usize = 64;
/// Smaller rings are widened by the points of up to 32 triangles of each of their points.
const MIN_RING_POINTS: usize = 4;
const MAX_WIDENING_TRIANGLES: usize = 32;
/// Triangles beyond this number are ignored.
const MAX_TRIANGLES: usize = 1 << 30;
/// A round that would remove less than one point in 50 is not made.
const MAX_POINTS_PER_REMOVAL: usize = 50;

/// Builds the hierarchy of `points` points from `triangles`, three indices each; incomplete triangles and
/// those with an index out of range are ignored. It takes time for a few passes over both, and temporary
/// memory of about 100 bytes per point and 40 per triangle.
pub fn build(points: u32, triangles: &[u32]) -> Hierarchy {
    let mut mesh = SimplifiedMesh::new(points, triangles);
    let component = components(points, &mesh.triangles);
    let lone = mesh.drop_lone();
    let mut levels = RemovalRounds::new(points);
    let mut left = Vec::new();
    for _ in 0..MAX_ROUNDS {
        if mesh.triangles.is_empty() || !mesh.round(&mut levels) {
            break;
        }
        left.extend(mesh.drop_lone());
    }
    left.extend_from_slice(&mesh.point_of);
    sort::unstable(&mut left);
    levels.finish(&component, &lone, &left)
}

/// Returns the smallest point of each point's component.
fn components(points: u32, triangles: &[[u32; 3]]) -> Vec<u32> {
    let mut parent: Vec<u32> = (0..points).collect();
    fn root(parent: &mut [u32], mut v: u32) -> u32 {
        while parent[v as usize] != v {
            let above = parent[parent[v as usize] as usize];
            parent[v as usize] = above;
            v = above;
        }
        v
    }
    for &[a, b, c] in triangles {
        let mut low = root(&mut parent, a);
        for v in [b, c] {
            let other = root(&mut parent, v);
            parent[other.max(low) as usize] = other.min(low);
            low = low.min(other);
        }
    }
    for v in 0..points {
        // Parents are smaller, so they are already final.
        parent[v as usize] = parent[parent[v as usize] as usize];
    }
    parent
}

/// The mesh before a round, with its vertices numbered without gaps.
struct SimplifiedMesh {
    /// The point of each vertex, ascending.
    point_of: Vec<u32>,
    triangles: Vec<[u32; 3]>,
    /// Vertex v has the corners `corners[first[v]..first[v + 1]]`: the two other vertices of each of its
    /// triangles.
    first: Vec<u32>,
    corners: Vec<[u32; 2]>,
    valence: Vec<u32>,
    border: Vec<bool>,
    /// Scratch: stamps of the vertices already visited.
    mark: Vec<u32>,
    state: Vec<State>,
    /// The vertex with which a removed vertex is merged.
    target: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Free,
    Locked,
    Removed,
}

impl SimplifiedMesh {
    fn new(points: u32, triangles: &[u32]) -> SimplifiedMesh {
        let triangles: Vec<[u32; 3]> = triangles
            .chunks_exact(3)
            .map(|t| [t[0], t[1], t[2]])
            .filter(|&[a, b, c]| a.max(b).max(c) < points && a != b && b != c && a != c)
            .take(MAX_TRIANGLES)
            .collect();
        SimplifiedMesh {
            point_of: (0..points).collect(),
            triangles,
            first: Vec::new(),
            corners: Vec::new(),
            valence: Vec::new(),
            border: Vec::new(),
            mark: Vec::new(),
            state: Vec::new(),
            target: Vec::new(),
        }
    }

    /// Removes vertices without triangles from the numbering and returns their points, ascending.
    fn drop_lone(&mut self) -> Vec<u32> {
        self.mark.clear();
        self.mark.resize(self.point_of.len(), 0);
        for v in self.triangles.as_flattened() {
            self.mark[*v as usize] = 1;
        }
        let mut lone = Vec::new();
        let mut kept = 0;
        for v in 0..self.point_of.len() {
            if self.mark[v] == 0 {
                lone.push(self.point_of[v]);
            } else {
                self.point_of[kept] = self.point_of[v];
                self.mark[v] = kept as u32;
                kept += 1;
            }
        }
        if !lone.is_empty() {
            self.point_of.truncate(kept);
            for v in self.triangles.as_flattened_mut() {
                *v = self.mark[*v as usize];
            }
        }
        lone
    }

    /// Runs one round. Returns `false` and changes nothing if it would remove too few points.
    fn round(&mut self, levels: &mut RemovalRounds) -> bool {
        self.find_corners();
        self.find_valences();
        let before = levels.pool.len();
        let removed = self.remove(levels);
        if removed * MAX_POINTS_PER_REMOVAL < self.point_of.len() {
            levels.pool.truncate(before);
            return false;
        }
        self.widen(levels);
        self.collapse(levels);
        true
    }

    fn find_corners(&mut self) {
        let n = self.point_of.len();
        self.first.clear();
        self.first.resize(n + 1, 0);
        for v in self.triangles.as_flattened() {
            self.first[*v as usize] += 1;
        }
        let mut sum = 0;
        for at in &mut self.first {
            sum += *at;
            *at = sum;
        }
        self.corners.clear();
        self.corners.resize(3 * self.triangles.len(), [0; 2]);
        // Backwards, so that the corners of each vertex keep the order of the triangles.
        for &[a, b, c] in self.triangles.iter().rev() {
            for (v, others) in [(a, [b, c]), (b, [c, a]), (c, [a, b])] {
                let at = &mut self.first[v as usize];
                *at -= 1;
                self.corners[*at as usize] = others;
            }
        }
    }

    fn corners_of(&self, v: u32) -> &[[u32; 2]] {
        &self.corners[self.first[v as usize] as usize..self.first[v as usize + 1] as usize]
    }

    fn find_valences(&mut self) {
        let n = self.point_of.len();
        self.mark.clear();
        self.mark.resize(n, u32::MAX);
        self.valence.clear();
        self.border.clear();
        for v in 0..n as u32 {
            let corners = &self.corners[self.first[v as usize] as usize..self.first[v as usize + 1] as usize];
            let mut different = 0;
            for &u in corners.as_flattened() {
                let mark = &mut self.mark[u as usize];
                different += u32::from(*mark != v);
                *mark = v;
            }
            self.valence.push(different);
            // A closed fan has as many neighbours as triangles; an open one has more.
            self.border.push(different as usize > corners.len());
        }
    }

    /// Chooses the vertices of this round and leaves their rings (as vertices) in the pool. Returns their
    /// number.
    fn remove(&mut self, levels: &mut RemovalRounds) -> usize {
        let n = self.point_of.len();
        let mut queue: [Vec<u32>; MAX_RING_POINTS] = Default::default();
        for (v, &valence) in self.valence.iter().enumerate() {
            if valence as usize <= MAX_RING_POINTS {
                queue[valence as usize - 1].push(v as u32);
            }
        }
        self.state.clear();
        self.state.resize(n, State::Free);
        self.target.clear();
        self.target.resize(n, 0);
        let mut removed = 0;
        for v in queue.into_iter().flatten() {
            if self.state[v as usize] != State::Free {
                continue;
            }
            let start = levels.pool.len();
            for corner in self.corners_of(v) {
                for u in corner {
                    if !levels.pool[start..].contains(u) {
                        levels.pool.push(*u);
                    }
                }
            }
            let ring = &levels.pool[start..];
            levels.note(self.point_of[v as usize], start, ring.len());
            let ring = &levels.pool[start..];
            self.state[v as usize] = State::Removed;
            for &u in ring {
                self.state[u as usize] = State::Locked;
            }
            self.choose_target(v, ring);
            removed += 1;
        }
        removed
    }

    fn choose_target(&mut self, v: u32, ring: &[u32]) {
        let inland = |u: u32| self.border[v as usize] && !self.border[u as usize];
        let target = ring
            .iter()
            .copied()
            .min_by_key(|&u| (inland(u), self.valence[u as usize]))
            .expect("only vertices with triangles are removed");
        self.target[v as usize] = target;
        // The target takes over v's other neighbours; the neighbours of both lose one.
        let mut shared = 0;
        for at in self.first[v as usize]..self.first[v as usize + 1] {
            let [a, b] = self.corners[at as usize];
            if a == target || b == target {
                let other = a ^ b ^ target;
                let valence = &mut self.valence[other as usize];
                *valence = valence.saturating_sub(1);
                shared += 1;
            }
        }
        let valence = &mut self.valence[target as usize];
        *valence = (*valence + ring.len() as u32).saturating_sub(2 + shared);
    }

    /// Extends rings of fewer than four by the neighbours of their vertices that are not removed, in order,
    /// up to eight.
    fn widen(&mut self, levels: &mut RemovalRounds) {
        for v in 0..self.point_of.len() {
            if self.state[v] != State::Removed {
                continue;
            }
            let ring = levels.noted(self.point_of[v]);
            if ring.len() >= MIN_RING_POINTS {
                continue;
            }
            let wide = levels.pool.len();
            levels.pool.extend_from_within(ring.clone());
            'full: for k in ring {
                for corner in self.corners_of(levels.pool[k]).iter().take(MAX_WIDENING_TRIANGLES) {
                    for u in corner {
                        let stays = self.state[*u as usize] != State::Removed;
                        if stays && !levels.pool[wide..].contains(u) {
                            levels.pool.push(*u);
                        }
                        if levels.pool.len() - wide == MAX_RING_POINTS {
                            break 'full;
                        }
                    }
                }
            }
            levels.note(self.point_of[v], wide, levels.pool.len() - wide);
        }
    }

    /// Merges removed vertices with their targets, drops degenerate triangles, and closes the gaps in the
    /// numbering.
    fn collapse(&mut self, levels: &mut RemovalRounds) {
        let mut round = Vec::new();
        let mut kept = 0;
        // `mark` becomes the new number of each vertex.
        for v in 0..self.point_of.len() {
            if self.state[v] == State::Removed {
                round.push(self.point_of[v]);
            } else {
                self.mark[v] = kept;
                kept += 1;
            }
        }
        levels.close(round, &self.point_of);
        let (state, target, mark) = (&self.state, &self.target, &self.mark);
        let to = |v: u32| match state[v as usize] {
            State::Removed => mark[target[v as usize] as usize],
            _ => mark[v as usize],
        };
        self.triangles.retain_mut(|t| {
            *t = t.map(to);
            t[0] != t[1] && t[1] != t[2] && t[0] != t[2]
        });
        let mut v = 0;
        self.point_of.retain(|_| {
            v += 1;
            self.state[v - 1] != State::Removed
        });
    }
}

/// The points that each round removed, and their rings.
struct RemovalRounds {
    rounds: Vec<Vec<u32>>,
    /// The rings of all rounds: points up to `points_end`, beyond it vertices of the current round.
    pool: Vec<u32>,
    points_end: usize,
    /// By point: the start and length of its ring in the pool.
    noted: Vec<[u32; 2]>,
}

impl RemovalRounds {
    fn new(points: u32) -> RemovalRounds {
        RemovalRounds {
            rounds: Vec::new(),
            pool: Vec::new(),
            points_end: 0,
            noted: vec![[0; 2]; points as usize],
        }
    }

    fn note(&mut self, point: u32, start: usize, len: usize) {
        self.noted[point as usize] = [start as u32, len as u32];
    }

    fn noted(&self, point: u32) -> std::ops::Range<usize> {
        let [start, len] = self.noted[point as usize];
        start as usize..(start + len) as usize
    }

    /// Ends a round that removed `round`: converts its rings from vertices to points.
    fn close(&mut self, round: Vec<u32>, names: &[u32]) {
        for u in &mut self.pool[self.points_end..] {
            *u = names[*u as usize];
        }
        self.points_end = self.pool.len();
        self.rounds.push(round);
    }

    /// Builds the hierarchy from the rounds and the points that no round removed, `lone` and `left`, both
    /// ascending.
    fn finish(&self, component: &[u32], lone: &[u32], left: &[u32]) -> Hierarchy {
        let mut root_of = vec![u32::MAX; component.len()];
        let (mut roots, mut star) = (Vec::new(), Vec::new());
        for &p in left {
            let root = &mut root_of[component[p as usize] as usize];
            if *root == u32::MAX {
                *root = p;
                roots.push(p);
            } else {
                star.push(p);
            }
        }
        if let Some(&first) = lone.first() {
            roots.insert(roots.partition_point(|&p| p < first), first);
        }
        let steps = || {
            let longest = lone.len().next_power_of_two() / 2;
            std::iter::successors((longest > 0).then_some(longest), |s| (*s > 1).then_some(s / 2))
        };
        let odd = |step: usize| (step..lone.len()).step_by(2 * step);

        let mut out = Hierarchy::default();
        out.starts.push(0);
        out.push_level(roots);
        out.push_level(star);
        for step in steps() {
            out.push_level(odd(step).map(|j| lone[j]));
        }
        for round in self.rounds.iter().rev() {
            out.push_level(round.iter().copied());
        }

        let mut new_of = vec![0; component.len()];
        for (new, &p) in out.order.iter().enumerate() {
            new_of[p as usize] = new as u32;
        }
        let new_of = |p: &u32| new_of[*p as usize];
        out.ring_starts = vec![0; out.level(0).len() + 1];
        for new in out.level(1) {
            let root = root_of[component[out.order[new] as usize] as usize];
            out.push_ring([new_of(&root)]);
        }
        for step in steps() {
            for j in odd(step) {
                let ring = [Some(j - step), Some(j + step), j.checked_sub(3 * step), Some(j + 3 * step)];
                let ring = ring.into_iter().flatten().filter_map(|j| lone.get(j));
                out.push_ring(ring.map(new_of));
            }
        }
        for p in self.rounds.iter().rev().flatten() {
            out.push_ring(self.pool[self.noted(*p)].iter().map(new_of));
        }
        out
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A grid of `w` × `h` points, each quad split in two.
    pub fn grid(w: u32, h: u32) -> (u32, Vec<u32>) {
        let mut triangles = Vec::new();
        for y in 0..h - 1 {
            for x in 0..w - 1 {
                let a = y * w + x;
                triangles.extend([a, a + 1, a + w, a + w, a + 1, a + w + 1]);
            }
        }
        (w * h, triangles)
    }

    /// A closed torus of `w` × `h` points.
    pub fn torus(w: u32, h: u32) -> (u32, Vec<u32>) {
        let at = |x: u32, y: u32| (y % h) * w + x % w;
        let mut triangles = Vec::new();
        for y in 0..h {
            for x in 0..w {
                triangles.extend([at(x, y), at(x + 1, y), at(x, y + 1)]);
                triangles.extend([at(x, y + 1), at(x + 1, y), at(x + 1, y + 1)]);
            }
        }
        (w * h, triangles)
    }

    /// Builds a hierarchy and checks everything that the type promises.
    fn check(points: u32, triangles: &[u32]) -> Hierarchy {
        let h = build(points, triangles);
        assert_eq!(h, build(points, triangles));
        let n = points as usize;
        assert_eq!(h.ring_starts.len(), n + 1);
        assert_eq!((h.starts[0], h.ring_starts[0]), (0, 0));
        assert!(h.level_count() >= 2 && h.level_count() <= 2 + MAX_ROUNDS + 32);
        assert_eq!(h.level(h.level_count() - 1).end, n);
        let mut seen = vec![false; n];
        for &p in &h.order {
            assert!(!std::mem::replace(&mut seen[p as usize], true));
        }
        assert!(seen.into_iter().all(|s| s));
        for l in 0..h.level_count() {
            let level = h.level(l);
            assert!(l < 2 || !level.is_empty());
            assert!(h.order[level.clone()].is_sorted());
            for new in level.clone() {
                let ring = h.ring_of(new);
                assert!(ring.len() <= MAX_RING_POINTS);
                assert_eq!(ring.is_empty(), l == 0);
                for (k, &r) in ring.iter().enumerate() {
                    assert!((r as usize) < level.start && !ring[..k].contains(&r));
                }
            }
        }
        h
    }

    /// FNV-1a, for comparison with the frozen order and rings.
    pub fn hash(numbers: impl IntoIterator<Item = u32>) -> u64 {
        let bytes = numbers.into_iter().flat_map(u32::to_le_bytes);
        bytes.fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    }

    fn hash_of(h: &Hierarchy) -> u64 {
        let parts = [&h.order, &h.starts, &h.ring_starts, &h.ring];
        hash(parts.into_iter().flatten().copied())
    }

    #[test]
    fn nothing_one_and_few() {
        let h = check(0, &[]);
        assert_eq!((h.starts, h.order), (vec![0, 0, 0], vec![]));
        let h = check(1, &[0, 0, 0]);
        assert_eq!(h.starts, [0, 1, 1]);
        let h = check(3, &[2, 1, 0]);
        assert_eq!((&*h.order, &*h.starts), (&[1, 2, 0][..], &[0, 1, 2, 3][..]));
        assert_eq!(h.ring, [0, 1, 0]);
        // Two triangles on one edge: both outer points are removed in one round.
        let h = check(4, &[0, 1, 2, 1, 3, 2]);
        assert_eq!((&*h.order, &*h.starts), (&[1, 2, 0, 3][..], &[0, 1, 2, 4][..]));
        assert_eq!(h.ring_of(3), [1, 0]);
        // A tetrahedron.
        check(4, &[0, 1, 2, 0, 2, 3, 0, 3, 1, 1, 3, 2]);
    }

    #[test]
    fn lone_points_halve() {
        let h = check(9, &[]);
        assert_eq!(h.order, [0, 8, 4, 2, 6, 1, 3, 5, 7]);
        assert_eq!(h.starts, [0, 1, 1, 2, 3, 5, 9]);
        assert_eq!(h.ring_of(1), [0]);
        assert_eq!(h.ring_of(2), [0, 1]);
        assert_eq!(h.ring_of(6), [3, 2, 0, 4]);
        // A triangle among lone points.
        let h = check(6, &[1, 3, 4]);
        assert_eq!((h.starts[1], &h.order[..2]), (2, &[0, 3][..]));
    }

    #[test]
    fn smooth_meshes_have_few_levels_and_full_rings() {
        for (points, triangles) in [grid(60, 50), torus(50, 40)] {
            let h = check(points, &triangles);
            assert_eq!(h.starts[1], 1);
            assert!(h.level_count() <= 30, "{}", h.level_count());
            let finest = h.level(h.level_count() - 1);
            assert!(finest.len() * 5 >= points as usize);
            let small = (0..points as usize).filter(|&v| h.ring_of(v).len() < 4);
            assert!(small.count() < 10);
        }
    }

    #[test]
    fn components_have_a_root_each() {
        let (n, one) = grid(4, 5);
        let all: Vec<u32> = (0..7).flat_map(|k| one.iter().map(move |v| v + k * n)).collect();
        let h = check(7 * n, &all);
        assert_eq!(h.starts[1], 7);
        for new in 1..h.order.len() {
            for &r in h.ring_of(new) {
                assert_eq!(h.order[new] / n, h.order[r as usize] / n);
            }
        }
    }

    #[test]
    fn bad_triangles_count_for_nothing() {
        let (n, good) = grid(9, 9);
        let mut bad = good.clone();
        bad.splice(30..30, [5, 5, 7, 80, 81, 3, u32::MAX, 0, 1, 6, 6, 6]);
        bad.extend([1, 2]);
        assert_eq!(check(n, &bad), check(n, &good));
    }

    #[test]
    fn order_is_frozen() {
        let hashes = [grid(40, 30), torus(30, 20), (1000, vec![])].map(|(n, t)| hash_of(&build(n, &t)));
        assert_eq!(hashes, [0x187a781b125e988d, 0x5bf086ff1987f3eb, 0x86c5bb47050c1a94], "{hashes:#x?}");
    }

    #[test]
    fn wild_meshes_stay_fast() {
        // A fan around one point, a book of pages on one edge, one triangle many times, all pairs.
        let n = 20_000;
        let fan: Vec<u32> = (1..n - 1).flat_map(|k| [0, k, k + 1]).collect();
        let book: Vec<u32> = (2..n).flat_map(|k| [0, 1, k]).collect();
        let same: Vec<u32> = [3, 4, 5].repeat(n as usize);
        let pairs: Vec<u32> = (0..300).flat_map(|a| (0..a).flat_map(move |b| [a, b, 300])).collect();
        for triangles in [fan, book, same, pairs] {
            check(n, &triangles);
        }
    }

    proptest! {
        #[test]
        fn any_triangles_give_an_order(points in 0u32..60, triangles in proptest::collection::vec(0u32..64, 0..300)) {
            check(points, &triangles);
        }
    }
}
