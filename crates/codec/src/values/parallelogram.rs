//! Parallelogram and averaging prediction inside one frame. Lossless. Used for index frames and for
//! everything that is stored once.
//!
//! A vertex is predicted from the triangle (A, B, C) on the other side of the edge (B, C), all three decoded
//! before it:
//!
//! ```text
//! parallelogram   P = C + B − A                       modulo the word
//! average         P = (B + C) >> 1                    rounds down; as two's complement where differences are coded
//! weighted        P = (edge·(B + C) + apex·A + 64) >> 7   rounds down; as two's complement where differences are coded
//! no triangle     A, B and C are the vertex before; vertex 0: P = 0
//! ```
//!
//! The first two are the usual ones of a stream; a frame may bring weights of its own, which then take their
//! place.
//!
//! Which triangle is the encoder's choice, made over several frames and kept in a table. The table is not
//! stored as distances but as a number in the list of choices that both sides draw up from the connectivity
//! alone ([`Choices`]): mostly the same small numbers, which block compression shrinks to little more than a
//! bit.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `kind` | 0: every vertex takes its first choice, nothing follows · 1: numbers follow |
//! | 1 | vertices | `choice` | number in the list of the vertex |
//!
//! ```text
//! the list of vertex v, over its corners in index order; a choice is listed once, the list ends at 32
//!   1. for a corner v of triangle (v, b, c): each other triangle on the edge (b, c), its third vertex being a:  (a, b, c)
//!   2. for a corner v of triangle (v, b, c): b alone and c alone, that is (b, b, b) and (c, c, c)
//!   3. the vertex before
//! only vertices below v and at most 4096 back count; at an edge the first 4 triangles in index order count, searched
//! among the first 64 corners of c if it has fewer corners than b, else of b
//! ```
//!
//! Credit: Costa Touma and Craig Gotsman, "Triangle Mesh Compression", 1998; the table is CryEngine's (Axel
//! Gneiting, 2014). Departures: chosen over several frames instead of the first; any neighbour serves where
//! no triangle does.

use crate::Corrupt;
use crate::quantize::code::Word;
use crate::simd::isa::Isa;

#[cfg(target_arch = "x86_64")]
mod avx2;

/// Per vertex the distances back to A, B, C of the triangle it is predicted from; 0xFFFF in the first =
/// previous vertex.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Table {
    entries: Vec<[u16; 3]>,
    /// Whether an entry points outside, or farther back than it may.
    wild: bool,
}

impl Table {
    /// Without entries: every vertex is predicted from the one before.
    pub fn new() -> Table {
        Table::default()
    }

    /// Without entries, and room for so many.
    pub fn with_capacity(vertices: usize) -> Table {
        Table { entries: Vec::with_capacity(vertices), wild: false }
    }

    fn clear(&mut self) {
        self.entries.clear();
        self.wild = false;
    }

    fn push(&mut self, entry: [u16; 3]) {
        let most = self.entries.len().min(LOOK_BACK as usize);
        let inside = |&d: &u16| (1..=most).contains(&usize::from(d));
        self.wild |= entry[0] != NONE && !entry.iter().all(inside);
        self.entries.push(entry);
    }
}

impl std::ops::Deref for Table {
    type Target = [[u16; 3]];
    fn deref(&self) -> &[[u16; 3]] {
        &self.entries
    }
}

impl FromIterator<[u16; 3]> for Table {
    fn from_iter<I: IntoIterator<Item = [u16; 3]>>(entries: I) -> Table {
        let mut table = Table::new();
        entries.into_iter().for_each(|entry| table.push(entry));
        table
    }
}

/// Largest distance back. Part of the format.
pub const LOOK_BACK: u32 = 4096;
/// No triangle: the previous vertex predicts. Part of the format.
pub const NONE: u16 = 0xFFFF;
/// Most choices of a vertex, most triangles that are taken on one edge, and most corners that are searched
/// for them (which bounds the work on hostile connectivity). Part of the format.
const MAX_CHOICES: usize = 32;
const MAX_FAN: usize = 4;
const MAX_LOOKED_AT: usize = 64;

/// How a stream is predicted inside a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spatial {
    /// P = C + B − A: positions, uvs.
    Parallelogram,
    /// P = (B + C) / 2: colours, QTangents, normals.
    Average,
}

/// Corners by vertex, in index order.
#[derive(Debug, Default)]
struct Corners {
    /// First corner of each vertex in `corners`, and the end.
    first: Vec<u32>,
    corners: Vec<u32>,
}

impl Corners {
    /// Triangles with indices that are out of range are left out.
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

    fn of(&self, v: usize) -> &[u32] {
        &self.corners[self.first[v] as usize..self.first[v + 1] as usize]
    }

    /// Calls `add` with the choices of vertex `v` in their order, without the vertex before, some more than
    /// once, until it says false.
    fn choices(&self, indices: &[u32], v: usize, add: &mut dyn FnMut([u16; 3]) -> bool) {
        let back =
            |u: u32| (v as u32).checked_sub(u).filter(|d| (1..=LOOK_BACK).contains(d)).map(|d| d as u16);
        let sides = |&at: &u32| {
            let t = at as usize / 3 * 3;
            let k = at as usize % 3;
            (indices[t + (k + 1) % 3], indices[t + (k + 2) % 3])
        };
        for (b, c) in self.of(v).iter().map(sides) {
            let (Some(db), Some(dc)) = (back(b), back(c)) else {
                continue;
            };
            // The triangles on the edge (b, c) are among the corners of either end: of the one with fewer.
            let fan = |u: u32| self.of(u as usize);
            let (around, other) = if fan(c).len() < fan(b).len() { (fan(c), b) } else { (fan(b), c) };
            let across = around.iter().take(MAX_LOOKED_AT).filter_map(|at| {
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
        for (b, c) in self.of(v).iter().map(sides) {
            for d in [b, c].into_iter().filter_map(back) {
                if !add([d; 3]) {
                    return;
                }
            }
        }
    }
}

/// The triangles that may predict each vertex, from connectivity alone.
pub struct Choices {
    /// First choice of each vertex in `list`, and the end.
    first: Vec<u32>,
    list: Vec<[u16; 3]>,
}

impl Choices {
    /// Draws up the lists. Allocates in proportion to vertices and indices; indices that are out of range are
    /// left out.
    pub fn new(indices: &[u32], vertices: usize) -> Choices {
        let mut corners = Corners::default();
        corners.fill(indices, vertices);
        let mut choices = Choices { first: Vec::with_capacity(vertices + 1), list: Vec::new() };
        for v in 0..vertices {
            let start = choices.list.len();
            choices.first.push(start as u32);
            let list = &mut choices.list;
            corners.choices(indices, v, &mut |choice| {
                if !list[start..].contains(&choice) {
                    list.push(choice);
                }
                list.len() - start < MAX_CHOICES - 1
            });
            choices.list.push([NONE; 3]);
        }
        choices.first.push(choices.list.len() as u32);
        choices
    }

    /// Choices of vertex `v`, never empty.
    fn of(&self, v: usize) -> &[[u16; 3]] {
        &self.list[self.first[v] as usize..self.first[v + 1] as usize]
    }
}

/// Chooses for each vertex the adjacent triangle with the least L1 residual summed over `frames`
/// (component-major, `components` × vertices each).
///
/// The first frame counts as coded by itself, every other one as coded by itself or by its difference to the
/// first, whichever suits it. Without frames every vertex takes its first choice.
pub fn build_table<W: Word>(indices: &[u32], vertices: usize, components: usize, frames: &[&[W]]) -> Table {
    let choices = Choices::new(indices, vertices);
    assert!(frames.iter().all(|f| f.len() == vertices * components), "all frames have one shape");
    let first = choices_table(&choices, |_, _| 0);
    let Some((base, later)) = frames.split_first() else {
        return first;
    };
    let mut signals: Vec<Vec<W>> = vec![base.to_vec()];
    for frame in later {
        let difference: Vec<W> = frame.iter().zip(*base).map(|(&v, &b)| v.wrapping_sub(b)).collect();
        let cost = |signal: &[W]| -> u64 {
            (0..vertices).map(|v| miss(signal, components, vertices, v, first[v])).sum()
        };
        signals.push(if cost(&difference) <= cost(frame) { difference } else { frame.to_vec() });
    }
    choices_table(&choices, |v, choice| {
        signals.iter().map(|signal| miss(signal, components, vertices, v, choice)).sum()
    })
}

/// L1 residual of one vertex.
fn miss<W: Word>(signal: &[W], components: usize, count: usize, v: usize, choice: [u16; 3]) -> u64 {
    let plane = |k: usize| &signal[k * count..(k + 1) * count];
    let of = |k: usize| {
        let plane = plane(k);
        let r = plane[v].wrapping_sub(predict(plane, v, choice, Parallelogram, false).unwrap_or_default());
        u64::from(r.signed().unsigned_abs())
    };
    (0..components).map(of).sum()
}

/// The choice of least cost for every vertex; the first of several.
fn choices_table(choices: &Choices, cost: impl Fn(usize, [u16; 3]) -> u64) -> Table {
    let best = |v: usize| {
        let list = choices.of(v);
        if list.len() == 1 {
            return list[0];
        }
        *list.iter().min_by_key(|&&choice| cost(v, choice)).unwrap_or(&[NONE; 3])
    };
    (0..choices.first.len() - 1).map(best).collect()
}

/// The table that takes the first choice everywhere: from connectivity only, nothing is stored.
pub fn derive_table(indices: &[u32], vertices: usize) -> Table {
    let mut table = Table::with_capacity(vertices);
    Deriver::default().derive(indices, vertices, &mut table);
    table
}

/// Derives tables; keeps its memory between calls.
#[derive(Debug, Default)]
pub struct Deriver {
    corners: Corners,
}

impl Deriver {
    /// With memory for so many vertices and indices: up to these, [`Deriver::derive`] allocates nothing.
    pub fn with_capacity(vertices: usize, indices: usize) -> Deriver {
        Deriver {
            corners: Corners {
                first: Vec::with_capacity(vertices + 2),
                corners: Vec::with_capacity(indices),
            },
        }
    }

    /// As [`derive_table`]; `table` is replaced, its memory reused.
    pub fn derive(&mut self, indices: &[u32], vertices: usize, table: &mut Table) {
        self.corners.fill(indices, vertices);
        table.clear();
        for v in 0..vertices {
            let mut first = [NONE; 3];
            self.corners.choices(indices, v, &mut |choice| {
                first = choice;
                false
            });
            table.push(first);
        }
    }
}

/// Appends the table of a mesh to `out`. Panics if an entry is not among the choices that `indices` give, as
/// those of [`build_table`] are.
pub fn encode_table(table: &Table, indices: &[u32], out: &mut Vec<u8>) {
    let choices = Choices::new(indices, table.len());
    let number = |(v, entry): (usize, &[u16; 3])| {
        choices.of(v).iter().position(|c| c == entry).expect("an entry of this connectivity") as u8
    };
    let numbers: Vec<u8> = table.iter().enumerate().map(number).collect();
    if numbers.iter().all(|&n| n == 0) {
        out.push(0);
    } else {
        out.push(1);
        out.extend(numbers);
    }
}

/// Reads the table of a mesh from the start of `bytes`; returns it and the bytes used. Read once at open;
/// allocates in proportion to `vertices` and `indices`, which the caller has already.
pub fn decode_table(bytes: &[u8], indices: &[u32], vertices: usize) -> Result<(Table, usize), Corrupt> {
    let (&kind, rest) = bytes.split_first().ok_or(crate::bytes::SHORT)?;
    match kind {
        0 => Ok((derive_table(indices, vertices), 1)),
        1 => {
            let numbers = rest.get(..vertices).ok_or(crate::bytes::SHORT)?;
            let choices = Choices::new(indices, vertices);
            let entry = |(v, &n): (usize, &u8)| choices.of(v).get(usize::from(n)).copied();
            let table: Option<Table> = numbers.iter().enumerate().map(entry).collect();
            Ok((table.ok_or(Corrupt("table: no such choice"))?, 1 + vertices))
        }
        _ => Err(Corrupt("table: unknown kind")),
    }
}

/// Weights of the three vertices, in 128ths: `P = (edge·(B + C) + apex·A + 64) >> 7`, as two's complement
/// where differences are coded. 128 and −128 is the parallelogram, 64 and 0 the average; what is noisy wants
/// to be averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Weights {
    pub edge: u8,
    pub apex: i8,
}

impl Weights {
    /// Nothing is predicted.
    pub const ZERO: Weights = Weights { edge: 0, apex: 0 };
}

/// What is made of A, B and C.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// As the kind of stream has it.
    Usual(Spatial),
    /// As the frame says.
    Weighted(Weights),
}

impl From<Spatial> for Rule {
    fn from(spatial: Spatial) -> Rule {
        Rule::Usual(spatial)
    }
}

/// A rule as code; generic functions are compiled for each. `signed`: the words are differences.
pub(crate) trait Combine: Copy {
    fn combine<W: Word>(self, a: W, b: W, c: W, signed: bool) -> W;
}

#[derive(Clone, Copy)]
pub(crate) struct Parallelogram;
impl Combine for Parallelogram {
    #[inline(always)]
    fn combine<W: Word>(self, a: W, b: W, c: W, _: bool) -> W {
        b.wrapping_add(c).wrapping_sub(a)
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Average;
impl Combine for Average {
    #[inline(always)]
    fn combine<W: Word>(self, _: W, b: W, c: W, signed: bool) -> W {
        b.mean(c, signed)
    }
}

impl Combine for Weights {
    #[inline(always)]
    fn combine<W: Word>(self, a: W, b: W, c: W, signed: bool) -> W {
        W::weighted(a, b, c, self.edge, self.apex, signed)
    }
}

/// Runs `$body` with `$with` being the code of a rule.
macro_rules! with_rule {
    ($rule:expr, $with:ident => $body:expr) => {
        match $rule {
            $crate::values::parallelogram::Rule::Usual(
                $crate::values::parallelogram::Spatial::Parallelogram,
            ) => {
                let $with = $crate::values::parallelogram::Parallelogram;
                $body
            }
            $crate::values::parallelogram::Rule::Usual($crate::values::parallelogram::Spatial::Average) => {
                let $with = $crate::values::parallelogram::Average;
                $body
            }
            $crate::values::parallelogram::Rule::Weighted($with) => $body,
        }
    };
}
pub(crate) use with_rule;

/// Prediction of `plane[v]` from what lies before it; None if the entry points outside. Where there is no
/// triangle the vertex before predicts: under weights as one that is A, B and C.
#[inline(always)]
pub(crate) fn predict<W: Word, R: Combine>(
    plane: &[W],
    v: usize,
    entry: [u16; 3],
    rule: R,
    signed: bool,
) -> Option<W> {
    let [a, b, c] = entry;
    if a == NONE {
        let Some(before) = v.checked_sub(1) else {
            return Some(W::default());
        };
        return Some(rule.combine(plane[before], plane[before], plane[before], signed));
    }
    let at = |d: u16| v.checked_sub(usize::from(d)).map(|u| plane[u]);
    Some(rule.combine(at(a)?, at(b)?, at(c)?, signed))
}

/// `out = values − prediction`, both component-major. `signed`: the values are differences. An empty table
/// predicts every vertex from the one before. Panics if lengths disagree or the table points outside.
pub fn residual<W: Word>(
    values: &[W],
    components: usize,
    rule: impl Into<Rule>,
    signed: bool,
    table: &Table,
    out: &mut [W],
) {
    assert_eq!(values.len(), out.len());
    let count = values.len() / components.max(1);
    assert!(values.len() == count * components && (table.is_empty() || table.len() == count), "one shape");
    with_rule!(rule.into(), rule => {
        for (values, out) in values.chunks_exact(count.max(1)).zip(out.chunks_exact_mut(count.max(1))) {
            for (v, o) in out.iter_mut().enumerate() {
                let entry = table.get(v).copied().unwrap_or([NONE; 3]);
                let p = predict(values, v, entry, rule, signed).expect("a table that points inside");
                *o = values[v].wrapping_sub(p);
            }
        }
    });
}

/// `values = residuals + prediction`, in place, vertex after vertex; 1 to 4 components. Fails if the table
/// points outside.
pub fn reconstruct<W: Word>(
    components: usize,
    rule: impl Into<Rule>,
    signed: bool,
    table: &Table,
    values: &mut [W],
) -> Result<(), Corrupt> {
    reconstruct_on(Isa::get(), components, rule, signed, table, values)
}

fn reconstruct_on<W: Word>(
    isa: Isa,
    components: usize,
    rule: impl Into<Rule>,
    signed: bool,
    table: &Table,
    values: &mut [W],
) -> Result<(), Corrupt> {
    let count = values.len() / components.max(1);
    if components > 4 || values.len() != count * components || !(table.is_empty() || table.len() == count) {
        return Err(Corrupt("table: another number of vertices"));
    }
    if count == 0 {
        return Ok(());
    }
    let rule = rule.into();
    #[cfg(target_arch = "x86_64")]
    if let (Isa::Avx2(avx2), false, false) = (isa, table.is_empty(), table.wild)
        && let Some(values) = W::words16_mut(values)
    {
        match components {
            1 => avx2::reconstruct::<1>(avx2, rule, signed, table, values),
            2 => avx2::reconstruct::<2>(avx2, rule, signed, table, values),
            3 => avx2::reconstruct::<3>(avx2, rule, signed, table, values),
            _ => avx2::reconstruct::<4>(avx2, rule, signed, table, values),
        }
        return Ok(());
    }
    with_rule!(rule, rule => match (components, table.is_empty()) {
        (_, true) => {
            for plane in values.chunks_exact_mut(count) {
                let mut before = W::default();
                for (v, value) in plane.iter_mut().enumerate() {
                    let p = if v == 0 { before } else { rule.combine(before, before, before, signed) };
                    *value = value.wrapping_add(p);
                    before = *value;
                }
            }
            Ok(())
        }
        (2, _) => reconstruct_planes::<W, _, 2>(rule, signed, table, values, count),
        (3, _) => reconstruct_planes::<W, _, 3>(rule, signed, table, values, count),
        (4, _) => reconstruct_planes::<W, _, 4>(rule, signed, table, values, count),
        _ => values.chunks_exact_mut(count).try_for_each(|plane| {
            reconstruct_planes::<W, _, 1>(rule, signed, table, plane, count)
        }),
    })
}

/// All components of a vertex together: each waits for its own last result only.
fn reconstruct_planes<W: Word, R: Combine, const N: usize>(
    rule: R,
    signed: bool,
    table: &Table,
    values: &mut [W],
    count: usize,
) -> Result<(), Corrupt> {
    let mut rest = values;
    let mut planes: [&mut [W]; N] = std::array::from_fn(|_| {
        let (plane, others) = std::mem::take(&mut rest).split_at_mut(count);
        rest = others;
        plane
    });
    for (v, &entry) in table.iter().enumerate() {
        for plane in &mut planes {
            let p = predict(plane, v, entry, rule, signed).ok_or(Corrupt("table: points outside"))?;
            plane[v] = plane[v].wrapping_add(p);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two triangles per cell of a grid, row by row.
    fn grid(w: u32, h: u32) -> Vec<u32> {
        let cell = |i: u32| {
            let v = i / (w - 1) * w + i % (w - 1);
            [v, v + 1, v + w, v + w, v + 1, v + w + 1]
        };
        (0..(w - 1) * (h - 1)).flat_map(cell).collect()
    }

    #[test]
    fn golden() {
        let indices = [0, 1, 2, 2, 1, 3];
        assert_eq!(derive_table(&indices, 4)[..], [[NONE; 3], [1; 3], [2, 2, 2], [3, 1, 2]]);
        let table = derive_table(&indices, 4);
        let mut r = [0u16; 4];
        residual(&[10, 12, 20, 23], 1, Spatial::Parallelogram, false, &table, &mut r);
        assert_eq!(r, [10, 2, 10, 1]);
        residual(&[10, 12, 20, 23], 1, Spatial::Average, false, &table, &mut r);
        assert_eq!(r, [10, 2, 10, 7]);
        residual(&[10u16, 12, 20, 23], 1, Spatial::Average, false, &Table::new(), &mut r);
        assert_eq!(r, [10, 2, 8, 3]);
    }

    #[test]
    fn planes_are_predicted_exactly() {
        let (w, h) = (20, 15);
        let indices = grid(w, h);
        let n = (w * h) as usize;
        let frame: Vec<u16> =
            (0..2 * n).map(|i| ((i % n) as u32 % w * 7 + (i % n) as u32 / w * 11) as u16).collect();
        let table = build_table(&indices, n, 2, &[&frame, &frame]);
        let mut r = vec![0; 2 * n];
        residual(&frame, 2, Spatial::Parallelogram, false, &table, &mut r);
        let wrong = r[..n].iter().filter(|&&r| r != 0).count();
        assert!(wrong < (w + h) as usize + 4, "{wrong}");
    }

    #[test]
    fn tables_round_trip() {
        let indices = grid(30, 40);
        let mut seed = 1u32;
        let frame: Vec<u16> = (0..3 * 1200)
            .map(|_| {
                seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
                (seed >> 24) as u16
            })
            .collect();
        let table = build_table(&indices, 1200, 3, &[&frame]);
        let mut bytes = Vec::new();
        encode_table(&table, &indices, &mut bytes);
        assert_eq!(bytes.len(), 1201);
        bytes.push(9);
        assert_eq!(decode_table(&bytes, &indices, 1200), Ok((table.clone(), 1201)));
        for cut in 0..1201 {
            assert!(decode_table(&bytes[..cut], &indices, 1200).is_err());
        }
        for at in (0..1201).step_by(7) {
            for value in [0, 1, 2, 7, 31, 32, 255] {
                let mut bad = bytes.clone();
                bad[at] = value;
                let _ = decode_table(&bad, &indices, 1200);
            }
        }
        let mut bytes = Vec::new();
        encode_table(&derive_table(&indices, 1200), &indices, &mut bytes);
        assert_eq!(bytes, [0]);
        assert_eq!(decode_table(&bytes, &indices, 1200), Ok((derive_table(&indices, 1200), 1)));
    }

    #[test]
    fn empty_and_outside() {
        assert!(build_table::<u16>(&[], 0, 3, &[&[]]).is_empty());
        assert_eq!(derive_table(&[0, 1, 9, u32::MAX, 0, 1], 2)[..], [[NONE; 3]; 2]);
        let mut values = [1u16, 2, 3];
        let bad: Table = [[1, 1, 1]; 3].into_iter().collect();
        assert!(reconstruct(1, Spatial::Parallelogram, false, &bad, &mut values).is_err());
        assert!(
            reconstruct(1, Spatial::Average, false, &[[NONE; 3]; 2].into_iter().collect(), &mut values)
                .is_err()
        );
        reconstruct::<u16>(3, Spatial::Average, false, &Table::new(), &mut []).unwrap();
    }

    #[test]
    fn many_triangles_on_one_edge() {
        let indices: Vec<u32> = (2..300).flat_map(|v| [0, 1, v]).collect();
        let table = derive_table(&indices, 300);
        assert_eq!(table[299], [297, 299, 298]);
    }

    /// More vertices than a ring has, and entries of every distance.
    #[test]
    fn far_back() {
        let n = 20_000usize;
        let mut seed = 1u32;
        let mut next = |limit: usize| {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            (seed >> 8) as usize % limit.max(1)
        };
        let table: Table = (0..n)
            .map(|v| match (v, next(9)) {
                (0, _) | (_, 0) => [NONE; 3],
                (_, 1) => [v.min(4096) as u16; 3],
                _ => [0; 3].map(|_| 1 + next(v.min(4096)) as u16),
            })
            .collect();
        assert!(!table.wild);
        let data: Vec<u16> = (0..4 * n).map(|_| next(65536) as u16).collect();
        for rule in [
            Rule::Usual(Spatial::Parallelogram),
            Rule::Usual(Spatial::Average),
            Rule::Weighted(Weights { edge: 255, apex: -128 }),
            Rule::Weighted(Weights { edge: 255, apex: 127 }),
        ] {
            for (components, signed) in [(1, false), (2, true), (3, false), (3, true), (4, true)] {
                let data = &data[..components * n];
                let mut r = vec![0; data.len()];
                residual(data, components, rule, signed, &table, &mut r);
                for isa in Isa::all() {
                    let mut back = r.clone();
                    reconstruct_on(isa, components, rule, signed, &table, &mut back).unwrap();
                    assert_eq!(back, data, "{isa:?} {rule:?} {components} {signed}");
                }
            }
        }
    }

    proptest! {
        #[test]
        fn reversible(triangles in proptest::collection::vec(0u32..50, 0..200), data in proptest::collection::vec(any::<u32>(), 150), signed: bool, average: bool, edge: u8, apex: i8) {
            let indices = &triangles[..triangles.len() / 3 * 3];
            let usual = if average { Spatial::Average } else { Spatial::Parallelogram };
            let mut deriver = Deriver::with_capacity(50, indices.len());
            let held = |d: &Deriver| (d.corners.first.capacity(), d.corners.corners.capacity());
            let (before, mut derived) = (held(&deriver), Table::with_capacity(50));
            for _ in 0..2 {
                deriver.derive(indices, 50, &mut derived);
                prop_assert_eq!(&derived, &choices_table(&Choices::new(indices, 50), |_, _| 0));
            }
            prop_assert_eq!((held(&deriver), derived.entries.capacity()), (before, 50));
            let table = build_table(indices, 50, 3, &[&data]);
            let mut bytes = Vec::new();
            encode_table(&table, indices, &mut bytes);
            prop_assert_eq!(decode_table(&bytes, indices, 50), Ok((table.clone(), bytes.len())));
            for table in [table, Table::new()] {
                for rule in [Rule::Usual(usual), Rule::Weighted(Weights { edge, apex })] {
                    for components in [1, 2, 3] {
                        let data = &data[..components * 50];
                        let mut r = vec![0; components * 50];
                        residual(data, components, rule, signed, &table, &mut r);
                        reconstruct(components, rule, signed, &table, &mut r).unwrap();
                        prop_assert_eq!(&r, data);
                    }
                    for components in 1..=4 {
                        let narrow: Vec<u16> = (0..components * 50).map(|i| data[i % 150] as u16).collect();
                        for isa in Isa::all() {
                            let mut r = vec![0; narrow.len()];
                            residual(&narrow, components, rule, signed, &table, &mut r);
                            reconstruct_on(isa, components, rule, signed, &table, &mut r).unwrap();
                            prop_assert_eq!(&r, &narrow, "{:?}", isa);
                        }
                    }
                }
            }
        }
    }
}
