//! The triangle that each vertex is predicted from: chosen, encoded and decoded.

use super::rule::{MAX_LOOK_BACK, NO_TRIANGLE, Parallelogram, predict};
use crate::Corrupt;
use crate::quantize::code::Code;

/// For each vertex the distances back to A, B, C of the triangle that predicts it; 0xFFFF in the first means
/// the previous vertex.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PredictorTable {
    pub(super) entries: Vec<[u16; 3]>,
    /// `true` if an entry points outside, or farther back than allowed.
    pub(super) out_of_range: bool,
}

impl PredictorTable {
    /// Returns a table without entries: every vertex is predicted from the one before.
    pub fn new() -> PredictorTable {
        PredictorTable::default()
    }

    /// Returns a table without entries, with memory for this many vertices.
    pub fn with_capacity(vertices: usize) -> PredictorTable {
        PredictorTable { entries: Vec::with_capacity(vertices), out_of_range: false }
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.out_of_range = false;
    }

    fn push(&mut self, entry: [u16; 3]) {
        let most = self.entries.len().min(MAX_LOOK_BACK as usize);
        let inside = |&d: &u16| (1..=most).contains(&usize::from(d));
        self.out_of_range |= entry[0] != NO_TRIANGLE && !entry.iter().all(inside);
        self.entries.push(entry);
    }
}

impl std::ops::Deref for PredictorTable {
    type Target = [[u16; 3]];
    fn deref(&self) -> &[[u16; 3]] {
        &self.entries
    }
}

impl FromIterator<[u16; 3]> for PredictorTable {
    fn from_iter<I: IntoIterator<Item = [u16; 3]>>(entries: I) -> PredictorTable {
        let mut table = PredictorTable::new();
        entries.into_iter().for_each(|entry| table.push(entry));
        table
    }
}

/// Upper limits: the choices of a vertex, the triangles that count on one edge, and the corners that are
/// searched for them (which bounds the work for malicious connectivity). Part of the format.
pub(super) const MAX_CHOICES: usize = 32;

pub(super) const MAX_FAN: usize = 4;

pub(super) const MAX_SEARCHED_CORNERS: usize = 64;

/// The corners of each vertex, in index order.
#[derive(Debug, Default)]
pub(super) struct VertexCorners {
    /// The first corner of each vertex in `corners`, and the end.
    pub(super) first: Vec<u32>,
    pub(super) corners: Vec<u32>,
}

impl VertexCorners {
    /// Collects the corners, without triangles whose indices are out of range.
    fn fill(&mut self, indices: &[u32], vertices: usize) {
        let triangles = indices.len() / 3;
        let corner = |at: usize| (indices[at] as usize) < vertices;
        let whole = |t: usize| corner(3 * t) && corner(3 * t + 1) && corner(3 * t + 2);
        let (first, corners) = (&mut self.first, &mut self.corners);
        first.clear();
        first.resize(vertices + 2, 0);
        for t in (0..triangles).filter(|&t| whole(t)) {
            for k in 0..3 {
                first[indices[3 * t + k] as usize + 2] += 1;
            }
        }
        for v in 2..first.len() {
            first[v] += first[v - 1];
        }
        corners.clear();
        corners.resize(first.last().map_or(0, |&n| n as usize), 0);
        for t in (0..triangles).filter(|&t| whole(t)) {
            for k in 0..3 {
                let slot = &mut first[indices[3 * t + k] as usize + 1];
                corners[*slot as usize] = (3 * t + k) as u32;
                *slot += 1;
            }
        }
    }

    fn vertex_corners(&self, v: usize) -> &[u32] {
        &self.corners[self.first[v] as usize..self.first[v + 1] as usize]
    }

    /// Adds the choices of vertex `v` to a list, each once; there is at least one.
    fn push_choices(&self, indices: &[u32], v: usize, list: &mut Vec<[u16; 3]>) {
        let start = list.len();
        self.choices(indices, v, &mut |choice| {
            if !list[start..].contains(&choice) {
                list.push(choice);
            }
            list.len() - start < MAX_CHOICES - 1
        });
        list.push([NO_TRIANGLE; 3]);
    }

    /// Calls `add` with the choices of vertex `v` in order, except the previous vertex, possibly with
    /// repetitions, until it returns `false`.
    fn choices(&self, indices: &[u32], v: usize, add: &mut dyn FnMut([u16; 3]) -> bool) {
        let back =
            |u: u32| (v as u32).checked_sub(u).filter(|d| (1..=MAX_LOOK_BACK).contains(d)).map(|d| d as u16);
        let sides = |&at: &u32| {
            let t = at as usize / 3 * 3;
            let k = at as usize % 3;
            (indices[t + (k + 1) % 3], indices[t + (k + 2) % 3])
        };
        for (b, c) in self.vertex_corners(v).iter().map(sides) {
            let (Some(db), Some(dc)) = (back(b), back(c)) else {
                continue;
            };
            // The triangles on the edge (b, c) are among the corners of either end: takes the end with fewer
            // corners.
            let fan = |u: u32| self.vertex_corners(u as usize);
            let (around, other) = if fan(c).len() < fan(b).len() { (fan(c), b) } else { (fan(b), c) };
            let across = around.iter().take(MAX_SEARCHED_CORNERS).filter_map(|at| {
                let (x, y) = sides(at);
                if x == other { Some(y) } else { (y == other).then_some(x) }
            });
            for a in across.filter(|&a| a as usize != v).take(MAX_FAN) {
                if let Some(da) = back(a)
                    && !add([da, db, dc])
                {
                    return;
                }
            }
        }
        for (b, c) in self.vertex_corners(v).iter().map(sides) {
            for d in [b, c].into_iter().filter_map(back) {
                if !add([d; 3]) {
                    return;
                }
            }
        }
    }
}

/// The triangles that may predict each vertex, derived from connectivity alone.
#[cfg(feature = "encode")]
pub struct TriangleChoices {
    /// The first choice of each vertex in `list`, and the end.
    pub(super) first: Vec<u32>,
    pub(super) list: Vec<[u16; 3]>,
}

#[cfg(feature = "encode")]
impl TriangleChoices {
    /// Derives the lists. Allocates in proportion to vertices and indices; triangles with indices out of
    /// range are left out.
    pub fn new(indices: &[u32], vertices: usize) -> TriangleChoices {
        let mut corners = VertexCorners::default();
        corners.fill(indices, vertices);
        let mut choices = TriangleChoices { first: Vec::with_capacity(vertices + 1), list: Vec::new() };
        for v in 0..vertices {
            choices.first.push(choices.list.len() as u32);
            corners.push_choices(indices, v, &mut choices.list);
        }
        choices.first.push(choices.list.len() as u32);
        choices
    }

    /// Returns the choices of vertex `v`, never empty.
    fn vertex_choices(&self, v: usize) -> &[[u16; 3]] {
        &self.list[self.first[v] as usize..self.first[v + 1] as usize]
    }
}

/// Chooses for each vertex the adjacent triangle with the least L1 residual summed over `frames`
/// (component-major, `components` × vertices each).
///
/// The first frame counts as coded by itself, every other one as coded by itself or by its difference to the
/// first, whichever is cheaper. Without frames every vertex takes its first choice.
#[cfg(feature = "encode")]
pub fn build_table<W: Code>(
    indices: &[u32],
    vertices: usize,
    components: usize,
    frames: &[&[W]],
) -> PredictorTable {
    let choices = TriangleChoices::new(indices, vertices);
    assert!(frames.iter().all(|f| f.len() == vertices * components), "all frames have one shape");
    let first = choices_table(&choices, |_, _| 0);
    let Some((base, later)) = frames.split_first() else {
        return first;
    };
    let mut signals: Vec<Vec<W>> = vec![base.to_vec()];
    for frame in later {
        let difference: Vec<W> = frame.iter().zip(*base).map(|(&v, &b)| v.wrapping_sub(b)).collect();
        let cost = |signal: &[W]| -> u64 {
            (0..vertices).map(|v| l1_residual(signal, components, vertices, v, first[v])).sum()
        };
        signals.push(if cost(&difference) <= cost(frame) { difference } else { frame.to_vec() });
    }
    choices_table(&choices, |v, choice| {
        signals.iter().map(|signal| l1_residual(signal, components, vertices, v, choice)).sum()
    })
}

/// Returns the L1 residual of one vertex.
#[cfg(feature = "encode")]
pub(super) fn l1_residual<W: Code>(
    signal: &[W],
    components: usize,
    count: usize,
    v: usize,
    choice: [u16; 3],
) -> u64 {
    let plane = |k: usize| &signal[k * count..(k + 1) * count];
    let of = |k: usize| {
        let plane = plane(k);
        let r = plane[v].wrapping_sub(predict(plane, v, choice, Parallelogram, false).unwrap_or_default());
        u64::from(r.signed().unsigned_abs())
    };
    (0..components).map(of).sum()
}

/// Returns the table of the cheapest choice of every vertex, the first of equals.
#[cfg(feature = "encode")]
pub(super) fn choices_table(
    choices: &TriangleChoices,
    cost: impl Fn(usize, [u16; 3]) -> u64,
) -> PredictorTable {
    let best = |v: usize| {
        let list = choices.vertex_choices(v);
        if list.len() == 1 {
            return list[0];
        }
        *list.iter().min_by_key(|&&choice| cost(v, choice)).unwrap_or(&[NO_TRIANGLE; 3])
    };
    (0..choices.first.len() - 1).map(best).collect()
}

/// Returns the table of first choices, which follows from connectivity alone and takes no bytes.
pub fn derive_table(indices: &[u32], vertices: usize) -> PredictorTable {
    let mut table = PredictorTable::with_capacity(vertices);
    TableDeriver::default().derive(indices, vertices, &mut table);
    table
}

/// Derives tables; reuses its memory between calls.
#[derive(Debug, Default)]
pub struct TableDeriver {
    pub(super) corners: VertexCorners,
}

impl TableDeriver {
    /// Allocates memory for this many vertices and indices: up to these, [`TableDeriver::derive`] allocates
    /// nothing.
    pub fn with_capacity(vertices: usize, indices: usize) -> TableDeriver {
        TableDeriver {
            corners: VertexCorners {
                first: Vec::with_capacity(vertices + 2),
                corners: Vec::with_capacity(indices),
            },
        }
    }

    /// Does the same as [`derive_table`]; `table` is replaced, its memory reused.
    pub fn derive(&mut self, indices: &[u32], vertices: usize, table: &mut PredictorTable) {
        self.corners.fill(indices, vertices);
        table.clear();
        for v in 0..vertices {
            let mut first = [NO_TRIANGLE; 3];
            self.corners.choices(indices, v, &mut |choice| {
                first = choice;
                false
            });
            table.push(first);
        }
    }
}

/// Appends the table of a mesh to `out`. Panics if an entry is not among the choices that follow from
/// `indices`, as those of [`build_table`] are.
#[cfg(feature = "encode")]
pub fn encode_table(table: &PredictorTable, indices: &[u32], out: &mut Vec<u8>) {
    let choices = TriangleChoices::new(indices, table.len());
    let number = |(v, entry): (usize, &[u16; 3])| {
        choices.vertex_choices(v).iter().position(|c| c == entry).expect("an entry of this connectivity")
            as u8
    };
    let numbers: Vec<u8> = table.iter().enumerate().map(number).collect();
    if numbers.iter().all(|&n| n == 0) {
        out.push(0);
    } else {
        out.push(1);
        out.extend(numbers);
    }
}

/// Decodes the table of a mesh from the start of `bytes`; returns it and the number of bytes used. Called
/// once when a file is opened; allocates in proportion to `vertices` and `indices`, which the caller already
/// holds.
pub fn decode_table(
    bytes: &[u8],
    indices: &[u32],
    vertices: usize,
) -> Result<(PredictorTable, usize), Corrupt> {
    let (&kind, rest) = bytes.split_first().ok_or(crate::bytes::UNEXPECTED_END)?;
    match kind {
        0 => Ok((derive_table(indices, vertices), 1)),
        1 => {
            let numbers = rest.get(..vertices).ok_or(crate::bytes::UNEXPECTED_END)?;
            let (mut corners, mut choices) = (VertexCorners::default(), Vec::new());
            corners.fill(indices, vertices);
            let mut table = PredictorTable::with_capacity(vertices);
            for (v, &n) in numbers.iter().enumerate() {
                choices.clear();
                corners.push_choices(indices, v, &mut choices);
                table.push(*choices.get(usize::from(n)).ok_or(Corrupt("table: no such choice"))?);
            }
            Ok((table, 1 + vertices))
        }
        _ => Err(Corrupt("table: unknown kind")),
    }
}
