//! Mode `TRIANGLES`: one byte for each triangle that shares an edge with a recent one, or starts with the
//! next new index. Lossless, except that a triangle may start with another of its corners.
//!
//! ```text
//! head     1 byte    0xe1
//! codes    1 byte per triangle
//!            edge << 4 | corner   the edge came so many edges ago (0 to 14); the third corner is new (0), came so many
//!                                 corners ago (1 to 12), is one below or above the last that was stored (13, 14), or is
//!                                 stored (15)
//!            0xf0 | place         the first corner is new; the table has the others at this place (0 to 13)
//!            0xfe, 0xff           the first corner is new, or stored; the others stand in the data
//! data               differences from what was stored last, seven bits a byte
//! table    16 bytes  two corners each: new (0), or so many corners ago (1 to 14); in the data also stored (15)
//! ```

// Part of the format.
const TABLE: usize = 16;
/// Number of table entries that codes can name.
const CODABLE_ENTRIES: usize = 14;
/// Codes of edges are below this.
const EDGE_CODES: usize = 15;
/// Codes of recent corners behind an edge are below this.
const RECENT_CORNER_CODES: usize = 13;
/// The largest code of a recent corner in triangles without an edge.
const MAX_RECENT_CORNER: usize = 14;
const STORED: u8 = 15;

/// The last sixteen items.
struct Fifo<T> {
    all: [T; 16],
    next: usize,
}

impl<T: Copy + PartialEq> Fifo<T> {
    fn new(empty: T) -> Fifo<T> {
        Fifo { all: [empty; 16], next: 0 }
    }
    fn push(&mut self, one: T) {
        self.all[self.next] = one;
        self.next = (self.next + 1) % 16;
    }
    /// Returns the item `count` before the next one.
    fn ago(&self, count: usize) -> T {
        self.all[(self.next + 16 - count) % 16]
    }
}

struct TriangleEncoder<'t> {
    table: &'t [u8; TABLE],
    codes: Vec<u8>,
    data: Vec<u8>,
    edges: Fifo<(u32, u32)>,
    corners: Fifo<u32>,
    new: u32,
    stored: u32,
    /// Number of uses of each pair of codes behind a new first corner.
    pairs: [u32; 256],
}

/// A way to write a triangle: the corner it starts with, and the number of bytes beside its code.
#[derive(Clone, Copy)]
struct Choice {
    rotation: usize,
    form: EncodingForm,
    size: usize,
}

#[derive(Clone, Copy)]
enum EncodingForm {
    /// The edge's distance in the list, and the code of the third corner.
    Edge(usize, u8),
    /// The first corner is new or stored; `others` are the codes of the other two.
    Free { stored: bool, others: [u8; 2] },
}

/// Returns the bytes of a number, seven bits each.
fn varint_bytes(number: u32) -> usize {
    (32 - (number | 1).leading_zeros() as usize).div_ceil(7)
}

fn zigzag(difference: u32) -> u32 {
    difference << 1 ^ (difference >> 31).wrapping_neg()
}

impl<'t> TriangleEncoder<'t> {
    fn new(table: &'t [u8; TABLE]) -> TriangleEncoder<'t> {
        TriangleEncoder {
            table,
            codes: Vec::new(),
            data: Vec::new(),
            edges: Fifo::new((u32::MAX, u32::MAX)),
            corners: Fifo::new(u32::MAX),
            new: 0,
            stored: 0,
            pairs: [0; 256],
        }
    }

    fn triangle(&mut self, corners: [u32; 3]) {
        let turns = [0, 1, 2].map(|turn| std::array::from_fn(|k| corners[(turn + k) % 3]));
        let mut best: Option<Choice> = None;
        for (turn, own) in turns.into_iter().enumerate() {
            for (how, size) in
                [self.by_edge(own), self.without_edge(own, false), self.without_edge(own, true)]
                    .into_iter()
                    .flatten()
            {
                if best.is_none_or(|best| size < best.size) {
                    best = Some(Choice { rotation: turn, form: how, size });
                }
            }
        }
        // Any triangle can be written with all corners stored.
        if let Some(best) = best {
            self.write(turns[best.rotation], best.form);
        }
    }

    /// Writes a triangle by a recent edge, if it has one.
    fn by_edge(&self, [a, b, c]: [u32; 3]) -> Option<(EncodingForm, usize)> {
        let edge = (0..EDGE_CODES).find(|&edge| self.edges.ago(1 + edge) == (a, b))?;
        let lately = (1..RECENT_CORNER_CODES).find(|&corner| self.corners.ago(1 + corner) == c);
        let (corner, size) = match lately {
            _ if c == self.new => (0, 0),
            Some(corner) => (corner as u8, 0),
            None if c == self.stored.wrapping_sub(1) => (13, 0),
            None if c == self.stored.wrapping_add(1) => (14, 0),
            None => (STORED, varint_bytes(zigzag(c.wrapping_sub(self.stored)))),
        };
        Some((EncodingForm::Edge(edge, corner), size))
    }

    /// Writes a triangle without an edge; the first corner is new, or stored.
    fn without_edge(&self, [a, b, c]: [u32; 3], stored: bool) -> Option<(EncodingForm, usize)> {
        if !stored && a != self.new {
            return None;
        }
        let mut new = self.new.wrapping_add(u32::from(!stored));
        let (mut last, mut size) = (self.stored, 0);
        let mut store = |index: u32, size: &mut usize| {
            *size += varint_bytes(zigzag(index.wrapping_sub(last)));
            last = index;
        };
        if stored {
            store(a, &mut size);
        }
        let mut others = [0; 2];
        for (code, index) in others.iter_mut().zip([b, c]) {
            // Three new corners mean that counting restarts, if the first is not.
            *code = if index == new && !(stored && self.new == index) {
                new = new.wrapping_add(1);
                0
            } else {
                match (1..=MAX_RECENT_CORNER).find(|&corner| self.corners.ago(corner) == index) {
                    Some(corner) => corner as u8,
                    None => {
                        store(index, &mut size);
                        STORED
                    }
                }
            };
        }
        let pair = others[0] << 4 | others[1];
        if stored || self.table_index(pair).is_none() {
            size += 1;
        }
        Some((EncodingForm::Free { stored, others }, size))
    }

    fn table_index(&self, pair: u8) -> Option<usize> {
        self.table[..CODABLE_ENTRIES].iter().position(|own| *own == pair)
    }

    fn store(&mut self, index: u32) {
        let mut number = zigzag(index.wrapping_sub(self.stored));
        self.stored = index;
        while number >= 128 {
            self.data.push(number as u8 | 128);
            number >>= 7;
        }
        self.data.push(number as u8);
    }

    fn write(&mut self, [a, b, c]: [u32; 3], how: EncodingForm) {
        match how {
            EncodingForm::Edge(edge, corner) => {
                self.codes.push((edge as u8) << 4 | corner);
                match corner {
                    0 => self.new = self.new.wrapping_add(1),
                    13 | 14 => self.stored = c,
                    STORED => self.store(c),
                    _ => {}
                }
                if corner == 0 || usize::from(corner) >= RECENT_CORNER_CODES {
                    self.corners.push(c);
                }
                self.edges.push((c, b));
                self.edges.push((a, c));
            }
            EncodingForm::Free { stored, others } => {
                let pair = others[0] << 4 | others[1];
                match self.table_index(pair).filter(|_| !stored) {
                    Some(place) => self.codes.push(0xf0 | place as u8),
                    None => {
                        self.codes.push(if stored { 0xff } else { 0xfe });
                        self.data.push(pair);
                    }
                }
                if !stored && others.iter().all(|code| *code != STORED) {
                    self.pairs[usize::from(pair)] += 1;
                }
                let first = if stored { STORED } else { 0 };
                let codes = [first, others[0], others[1]];
                for (code, index) in codes.into_iter().zip([a, b, c]) {
                    match code {
                        0 => self.new = self.new.wrapping_add(1),
                        STORED => self.store(index),
                        _ => continue,
                    }
                }
                for (code, index) in codes.into_iter().zip([a, b, c]) {
                    if code == 0 || code == STORED {
                        self.corners.push(index);
                    }
                }
                self.edges.push((b, a));
                self.edges.push((c, b));
                self.edges.push((a, c));
            }
        }
    }
}

/// Compresses triangles, of three indices each.
pub fn encode(indices: &[u32]) -> Vec<u8> {
    // Three new corners are always in the table: in the data they would mean that counting restarts.
    let mut table = [0; TABLE];
    let pass = |table: &[u8; TABLE]| {
        let mut writer = TriangleEncoder::new(table);
        let triangles = indices.as_chunks::<3>().0;
        triangles.iter().for_each(|triangle| writer.triangle(*triangle));
        (writer.codes, writer.data, writer.pairs)
    };
    let (_, _, pairs) = pass(&table);
    let mut often: Vec<usize> = (1..256).filter(|pair| pairs[*pair] > 0).collect();
    often.sort_by_key(|pair| (u32::MAX - pairs[*pair], *pair));
    table[1..CODABLE_ENTRIES].iter_mut().zip(often).for_each(|(place, pair)| *place = pair as u8);
    let (codes, data, _) = pass(&table);
    let mut out = vec![0xe1];
    out.extend(codes);
    out.extend(data);
    out.extend(table);
    out
}
