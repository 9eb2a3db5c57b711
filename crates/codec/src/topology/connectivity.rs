//! Triangles of any shape to about one bit each: the order of triangles and points is free, the connectivity
//! is preserved. Lossless. Used for frames of a mesh whose faces change.
//!
//! The coded region grows triangle by triangle. Its border is a set of half-edges, each linked to the one
//! before and the one after it; one of them is the *gate*, and the point of the triangle behind it is coded.
//!
//! ```text
//! half-edge   3t + k: of triangle t, from its corner k to the next one. from, to: its points. count of a point: its triangles so far
//! gate        g = a → b with p before it (from l) and n after it (to r); the second half-edge of the last triangle
//!             if that is open, else the oldest open one. Open: on the border, not glued, not an edge. None open: a *seed*
//! code        edge?   [count of a, at most 3][p edge][n edge]     there is no triangle: the gate stays on the border as an edge, and is not a gate any more
//!             left?   [count of a, at most 9][p edge]             l: the fan of a is complete
//!             new?    [count of b, at most 9][n edge]             the next new point
//!             right?  [count of b, at most 9]                     r
//!             near?   a point of the border: back? [1], then distance − 1 by `length`, at most 62
//!             far     any other point: newest − v, plain, as many bits as the newest number has
//! triangle    (b, a, v), half-edges e₀ e₁ e₂, e₀ glued to the gate
//! link        at h, the half-edge of the border that starts at v (left: p; right: the one after n; far: the last one from v that was put on the
//!             border, if it is still there), unless v is a or b: p → e₁ → h and (before h) → e₂ → n. Without h: p → e₁ → e₂ → n
//! zip         two half-edges of the border that follow each other and run from u to v and back to u are glued and leave the border, unless one is an
//!             edge; then those on either side are examined. First between e₁ and the one before it, then the one after it; the same for e₂
//! seed        three points, each: new?, else far; e₀ → e₁ → e₂ → e₀ is a border of its own
//! distance    back 0, 1 …: the start of the half-edge before p, and so on backwards; forth: the end of the half-edge after n, and so on
//! material    of a triangle, if there are several: is it that of the triangle at the gate (before, for a seed)? else a plain number
//! ```
//!
//! Points without triangles come last. So a regular mesh costs the entropy of its points' triangle counts.
//! The coder is [`crate::entropy::range`]; its probabilities start from constants and continue to adapt from
//! frame to frame of an access unit.
//!
//! Credit: Stefan Gumhold and Wolfgang Straßer, *Real Time Compression of Triangle Mesh Connectivity*, 1998
//! (the border and its operations); Costa Touma and Craig Gotsman, *Triangle Mesh Compression*, 1998 (fan by
//! fan, with the number of triangles as expectation). Differences: adaptive binary decisions instead of
//! operations and valences; border loops need not be distinguished, so any triangles can be coded.

use crate::Corrupt;
use crate::entropy::range::{BitCoder, Chance};

// Part of the format, like everything here.
const MAX_NEAR_DISTANCE: u32 = 62;
const COUNTS: usize = 10;
/// The link of a half-edge that is no longer on the border.
const NO_INDEX: u32 = u32::MAX;

/// The adaptive statistics for the frames of an access unit.
#[derive(Clone, Debug)]
pub struct ConnectivityContexts {
    edge: [[[Chance; 2]; 2]; 4],
    left: [[Chance; 2]; COUNTS],
    new: [[Chance; 2]; COUNTS],
    right: [Chance; COUNTS],
    near: Chance,
    back: Chance,
    length: [Chance; 6],
    seed: Chance,
    material: Chance,
}

impl Default for ConnectivityContexts {
    fn default() -> ConnectivityContexts {
        let even = Chance::default();
        ConnectivityContexts {
            edge: [[[even; 2]; 2]; 4],
            left: [[even; 2]; COUNTS],
            new: [[even; 2]; COUNTS],
            right: [even; COUNTS],
            near: even,
            back: even,
            length: [even; 6],
            seed: even,
            material: even,
        }
    }
}

/// Buffers, and the result. They are reused; within [`ConnectivityBuffers::reserve`] nothing is allocated.
#[derive(Clone, Debug, Default)]
pub struct ConnectivityBuffers {
    /// Three points per triangle, in coding order.
    pub corners: Vec<u32>,
    /// The material of each triangle.
    pub materials: Vec<u32>,
    next: Vec<u32>,
    before: Vec<u32>,
    edge: Vec<bool>,
    queue: Vec<u32>,
    count: Vec<u8>,
    /// For each point, the last half-edge that came on the border with it as start.
    border_start: Vec<u32>,
}

impl ConnectivityBuffers {
    /// Allocates memory for this many points and corners.
    pub fn reserve(&mut self, points: usize, corners: usize) {
        let more = |list: &mut Vec<u32>, size: usize| list.reserve(size.saturating_sub(list.len()));
        for list in [&mut self.corners, &mut self.next, &mut self.before, &mut self.queue] {
            more(list, corners);
        }
        more(&mut self.materials, corners / 3);
        more(&mut self.border_start, points);
        (self.edge).reserve(corners.saturating_sub(self.edge.len()));
        (self.count).reserve(points.saturating_sub(self.count.len()));
    }

    fn reset(&mut self, points: usize, corners: usize) {
        fn fill<T: Clone>(list: &mut Vec<T>, size: usize, value: T) {
            list.clear();
            list.resize(size, value);
        }
        fill(&mut self.corners, corners, 0);
        fill(&mut self.materials, corners / 3, 0);
        fill(&mut self.next, corners, NO_INDEX);
        fill(&mut self.before, corners, NO_INDEX);
        fill(&mut self.edge, corners, false);
        fill(&mut self.count, points, 0);
        fill(&mut self.border_start, points, NO_INDEX);
        self.queue.clear();
    }

    fn from(&self, h: u32) -> u32 {
        self.corners[h as usize]
    }

    fn to(&self, h: u32) -> u32 {
        self.corners[(h - h % 3 + (h + 1) % 3) as usize]
    }

    fn on_border(&self, h: u32) -> bool {
        self.next[h as usize] != NO_INDEX
    }

    /// Returns `true` if this half-edge can be a gate.
    fn is_open(&self, h: u32) -> bool {
        self.on_border(h) && !self.edge[h as usize]
    }

    fn join(&mut self, h: u32, then: u32) {
        self.next[h as usize] = then;
        self.before[then as usize] = h;
    }

    /// Glues `h` to the half-edge after it, if they are the two sides of one edge, and repeats for the
    /// half-edges that then meet.
    fn zip(&mut self, mut h: u32) {
        while self.is_open(h) {
            let then = self.next[h as usize];
            if then == h || self.edge[then as usize] || self.from(h) != self.to(then) {
                return;
            }
            let (before, behind) = (self.before[h as usize], self.next[then as usize]);
            self.next[h as usize] = NO_INDEX;
            self.next[then as usize] = NO_INDEX;
            if before == then {
                return;
            }
            self.join(before, behind);
            h = before;
        }
    }

    /// Puts triangle `t`, whose corners are written, behind the gate; `meets` is the half-edge of the border
    /// at its third point.
    fn close(&mut self, gate: u32, t: u32, meets: Option<u32>) {
        let (e1, e2) = (3 * t + 1, 3 * t + 2);
        let (p, n) = (self.before[gate as usize], self.next[gate as usize]);
        let v = self.from(e2);
        let apart = v != self.from(gate) && v != self.to(gate);
        let meets = meets.filter(|&h| apart && self.on_border(h) && self.from(h) == v);
        let meets = meets.map(|h| (self.before[h as usize], h));
        self.next[gate as usize] = NO_INDEX;
        let (p, n) = if p == gate { (e2, e1) } else { (p, n) };
        self.join(p, e1);
        self.join(e1, e2);
        self.join(e2, n);
        if let Some((u, h)) = meets {
            self.join(e1, h);
            self.join(u, e2);
        }
        for e in [e1, e2] {
            if self.on_border(e) {
                self.zip(self.before[e as usize]);
            }
            if self.on_border(e) {
                self.zip(e);
            }
        }
    }
}

/// The triangles to encode, and the order in which they were coded.
#[derive(Clone, Debug, Default)]
pub struct InputTriangles<'a> {
    triangles: &'a [[u32; 3]],
    material: &'a [u32],
    /// Half-edges sorted by start and end.
    half_edges: Vec<(u32, u32, u32)>,
    done: Vec<bool>,
    /// The number of each point; `u32::MAX` while it has none.
    pub number: Vec<u32>,
    /// The point of each number.
    pub points: Vec<u32>,
    /// For each coded triangle: its original number, and the corners by which it was rotated.
    pub order: Vec<(u32, u32)>,
    first: usize,
}

impl<'a> InputTriangles<'a> {
    /// Prepares triangles of points below `points`; `material` is empty if there is only one.
    #[cfg(feature = "encode")]
    pub fn new(triangles: &'a [[u32; 3]], material: &'a [u32], points: usize) -> InputTriangles<'a> {
        let corner = |t: usize, k: usize| {
            let [a, b] = [triangles[t][k], triangles[t][(k + 1) % 3]];
            (a, b, (3 * t + k) as u32)
        };
        let all = (0..triangles.len()).flat_map(|t| [0, 1, 2].map(|k| corner(t, k)));
        let mut half_edges: Vec<_> = all.collect();
        half_edges.sort_unstable();
        InputTriangles {
            triangles,
            material,
            half_edges,
            done: vec![false; triangles.len()],
            number: vec![NO_INDEX; points],
            points: Vec::with_capacity(points),
            order: Vec::with_capacity(triangles.len()),
            first: 0,
        }
    }

    /// Returns the first remaining triangle with the half-edge between two numbered points, and its rotation.
    fn triangle_behind(&self, from: u32, to: u32) -> Option<(u32, u32)> {
        let (from, to) = (self.points[from as usize], self.points[to as usize]);
        let at = self.half_edges.partition_point(|h| (h.0, h.1) < (from, to));
        let equal = self.half_edges[at..].iter();
        let mut equal = equal.take_while(|h| (h.0, h.1) == (from, to));
        let left = equal.find(|h| !self.done[h.2 as usize / 3]);
        left.map(|h| (h.2 / 3, h.2 % 3))
    }

    fn seed(&mut self) -> u32 {
        while self.done[self.first] {
            self.first += 1;
        }
        self.first as u32
    }

    fn mark_coded(&mut self, t: u32, turn: u32) {
        self.done[t as usize] = true;
        self.order.push((t, turn));
    }

    fn material(&self, t: u32) -> u32 {
        self.material.get(t as usize).copied().unwrap_or(0)
    }

    fn add(&mut self, point: u32) {
        self.number[point as usize] = self.points.len() as u32;
        self.points.push(point);
    }

    /// Numbers the points without triangles.
    fn number_remaining_points(&mut self) {
        for point in 0..self.number.len() as u32 {
            if self.number[point as usize] == NO_INDEX {
                self.add(point);
            }
        }
    }
}

/// The numbers of points, triangles and materials.
#[derive(Clone, Copy, Debug)]
pub struct TriangleCounts {
    /// The number of points, including those without triangles.
    pub points: u32,
    /// The number of triangles; three times as many fit into a u32.
    pub triangles: u32,
    /// The number of materials, at least 1.
    pub materials: u32,
}

/// Returns the number of bits of numbers up to `most`.
fn bit_width(most: u32) -> u32 {
    32 - most.leading_zeros()
}

struct ConnectivityCoder<'a, B> {
    bits: &'a mut B,
    contexts: &'a mut ConnectivityContexts,
    work: &'a mut ConnectivityBuffers,
    size: TriangleCounts,
    known: u32,
}

/// Encodes the triangles of `given`, or decodes triangles without `given`. They are in `work` afterwards.
pub fn code_triangles<B: BitCoder<Context = Chance>>(
    bits: &mut B,
    contexts: &mut ConnectivityContexts,
    size: TriangleCounts,
    work: &mut ConnectivityBuffers,
    mut given: Option<&mut InputTriangles<'_>>,
) -> Result<(), Corrupt> {
    work.reset(size.points as usize, 3 * size.triangles as usize);
    let mut coder = ConnectivityCoder { bits, contexts, work, size, known: 0 };
    let (mut t, mut oldest, mut last) = (0, 0, None);
    while t < size.triangles {
        let mut gate = last.take().filter(|&h| coder.work.is_open(h));
        while let (None, Some(&h)) = (gate, coder.work.queue.get(oldest)) {
            oldest += 1;
            gate = Some(h).filter(|&h| coder.work.is_open(h));
        }
        let done = match gate {
            Some(gate) => coder.code_behind_gate(gate, t, given.as_deref_mut())?,
            None => coder.seed(t, given.as_deref_mut())?,
        };
        if done {
            let e = [3 * t, 3 * t + 1, 3 * t + 2];
            for h in e {
                let from = coder.work.from(h) as usize;
                coder.work.count[from] = coder.work.count[from].saturating_add(1);
                if coder.work.is_open(h) {
                    coder.work.border_start[from] = h;
                    coder.work.queue.push(h);
                }
            }
            last = Some(e[1]);
            t += 1;
        }
    }
    if let Some(given) = given {
        given.number_remaining_points();
    }
    Ok(())
}

impl<B: BitCoder<Context = Chance>> ConnectivityCoder<'_, B> {
    fn new_point(&mut self) -> Result<u32, Corrupt> {
        if self.known == self.size.points {
            return Err(Corrupt("connectivity: more points than there are"));
        }
        self.known += 1;
        Ok(self.known - 1)
    }

    fn code_far_point(&mut self, wanted: Option<u32>) -> Result<u32, Corrupt> {
        let Some(newest) = self.known.checked_sub(1) else {
            return Err(Corrupt("connectivity: a point before the first"));
        };
        let back = wanted.map_or(0, |v| newest - v);
        let back = self.bits.raw_bits(bit_width(newest), back);
        (newest.checked_sub(back)).ok_or(Corrupt("connectivity: a point before the first"))
    }

    /// Codes a triangle that starts a new border.
    fn seed(&mut self, t: u32, mut given: Option<&mut InputTriangles<'_>>) -> Result<bool, Corrupt> {
        let source = given.as_deref_mut().map(InputTriangles::seed);
        let from = t.checked_sub(1);
        self.material(t, from, source, given.as_deref())?;
        for k in 0..3 {
            let point = match (&given, source) {
                (Some(given), Some(source)) => Some(given.triangles[source as usize][k]),
                _ => None,
            };
            let number = point.and_then(|p| given.as_ref().map(|g| g.number[p as usize]));
            let new = (self.bits).bit(&mut self.contexts.seed, number == Some(NO_INDEX));
            let v = if new {
                if let (Some(given), Some(point)) = (given.as_deref_mut(), point) {
                    given.add(point);
                }
                self.new_point()?
            } else {
                self.code_far_point(number)?
            };
            self.work.corners[3 * t as usize + k] = v;
        }
        if let (Some(given), Some(source)) = (given, source) {
            given.mark_coded(source, 0);
        }
        for k in 0..3 {
            self.work.join(3 * t + k, 3 * t + (k + 1) % 3);
        }
        Ok(true)
    }

    fn material(
        &mut self,
        t: u32,
        from: Option<u32>,
        source: Option<u32>,
        given: Option<&InputTriangles<'_>>,
    ) -> Result<(), Corrupt> {
        if self.size.materials < 2 {
            return Ok(());
        }
        let near = from.map_or(0, |f| self.work.materials[f as usize]);
        let wanted = match (source, given) {
            (Some(source), Some(given)) => given.material(source),
            _ => near,
        };
        let other = (self.bits).bit(&mut self.contexts.material, wanted != near);
        let is = match other {
            true => self.bits.raw_bits(bit_width(self.size.materials - 1), wanted),
            false => near,
        };
        if is >= self.size.materials {
            return Err(Corrupt("connectivity: a material that is not there"));
        }
        self.work.materials[t as usize] = is;
        Ok(())
    }

    /// Codes the triangle behind a gate; returns `false` if there is none.
    fn code_behind_gate(
        &mut self,
        gate: u32,
        t: u32,
        mut given: Option<&mut InputTriangles<'_>>,
    ) -> Result<bool, Corrupt> {
        let w = &mut *self.work;
        let (a, b) = (w.from(gate), w.to(gate));
        let (p, n) = (w.before[gate as usize], w.next[gate as usize]);
        let (l, r) = (w.from(p), w.to(n));
        let found = given.as_deref().map(|g| g.triangle_behind(b, a));
        let point = |given: &Option<&mut InputTriangles<'_>>| {
            let given = given.as_deref()?;
            let (source, turn) = found??;
            Some(given.triangles[source as usize][(turn as usize + 2) % 3])
        };
        let point = point(&given);
        let number = point.and_then(|p| given.as_deref().map(|g| g.number[p as usize]));
        let count = |v: u32, most: usize| usize::from(w.count[v as usize]).min(most);
        let sides = [w.edge[p as usize], w.edge[n as usize]].map(usize::from);
        let (ca, cb) = (count(a, COUNTS - 1), count(b, COUNTS - 1));
        let (contexts, bits) = (&mut *self.contexts, &mut *self.bits);
        let edge = &mut contexts.edge[ca.min(3)][sides[0]][sides[1]];
        if bits.bit(edge, found == Some(None)) {
            w.edge[gate as usize] = true;
            return Ok(false);
        }
        let left = &mut contexts.left[ca][sides[0]];
        let (v, meets) = if bits.bit(left, number == Some(l)) {
            (l, Some(p))
        } else if bits.bit(&mut contexts.new[cb][sides[1]], number == Some(NO_INDEX)) {
            if let (Some(given), Some(point)) = (given.as_deref_mut(), point) {
                given.add(point);
            }
            (self.new_point()?, None)
        } else if bits.bit(&mut contexts.right[cb], number == Some(r)) {
            (r, Some(w.next[n as usize]))
        } else {
            let near = number.and_then(|v| w.border_distance(p, n, v));
            if bits.bit(&mut contexts.near, near.is_some()) {
                let (back, steps) = near.unwrap_or_default();
                let back = bits.bit(&mut contexts.back, back);
                let length = (steps + 1).ilog2();
                let mut found = 0;
                while found < 5 && bits.bit(&mut contexts.length[found as usize], found < length) {
                    found += 1;
                }
                let rest = bits.raw_bits(found, (steps + 1) & ((1 << found) - 1));
                let steps = (1 << found | rest) - 1;
                let h = w.walk(if back { p } else { n }, back, steps);
                (w.from(h), Some(h))
            } else {
                let v = self.code_far_point(number)?;
                (v, Some(self.work.border_start[v as usize]).filter(|&h| h != NO_INDEX))
            }
        };
        let [c0, c1, c2] = [0, 1, 2].map(|k| 3 * t as usize + k);
        (self.work.corners[c0], self.work.corners[c1]) = (b, a);
        self.work.corners[c2] = v;
        let source = found.flatten();
        self.material(t, Some(gate / 3), source.map(|s| s.0), given.as_deref())?;
        if let (Some(given), Some((source, turn))) = (given, source) {
            given.mark_coded(source, turn);
        }
        self.work.close(gate, t, meets);
        Ok(true)
    }
}

impl ConnectivityBuffers {
    /// Returns the half-edge of the border that is `steps` away; it starts at the point in question.
    fn walk(&self, from: u32, back: bool, steps: u32) -> u32 {
        let mut h = from;
        if back {
            for _ in 0..=steps {
                h = self.before[h as usize];
            }
        } else {
            // The half-edge after n starts at r; the next one starts at the first candidate.
            for _ in 0..steps + 2 {
                h = self.next[h as usize];
            }
        }
        h
    }

    /// Returns the direction and the distance of a point on the border, if it is near.
    fn border_distance(&self, p: u32, n: u32, v: u32) -> Option<(bool, u32)> {
        let (mut back, mut forth) = (self.walk(p, true, 0), self.walk(n, false, 0));
        for steps in 0..=MAX_NEAR_DISTANCE {
            if self.from(back) == v {
                return Some((true, steps));
            }
            if self.from(forth) == v {
                return Some((false, steps));
            }
            (back, forth) = (self.before[back as usize], self.next[forth as usize]);
        }
        None
    }
}
