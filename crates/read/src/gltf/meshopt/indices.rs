//! Decodes the modes `TRIANGLES` and `INDICES`.

use super::bytes::{ByteReader, TOO_SHORT, decode_zigzag};

/// The sizes in bytes of the table after the triangles, and of the tail after a sequence.
const TABLE_BYTES: usize = 16;
const TAIL_BYTES: usize = 4;

/// A ring of the last sixteen items.
struct RecentRing<T> {
    all: [T; 16],
    next: usize,
}

impl<T: Copy> RecentRing<T> {
    fn new(empty: T) -> RecentRing<T> {
        RecentRing { all: [empty; 16], next: 0 }
    }

    fn push(&mut self, one: T) {
        self.all[self.next] = one;
        self.next = (self.next + 1) % 16;
    }

    /// Returns the item pushed `count` pushes ago.
    fn recent(&self, count: usize) -> T {
        self.all[(self.next + 16 - count) % 16]
    }
}

struct TriangleDecoder<'a> {
    bytes: ByteReader<'a>,
    edges: RecentRing<(u32, u32)>,
    corners: RecentRing<u32>,
    /// The next index not used so far, and the last one stored as a difference.
    new: u32,
    stored: u32,
}

impl TriangleDecoder<'_> {
    fn take_new(&mut self) -> u32 {
        self.new = self.new.wrapping_add(1);
        self.new.wrapping_sub(1)
    }

    fn take_stored(&mut self) -> Result<u32, &'static str> {
        self.stored = self.stored.wrapping_add(decode_zigzag(self.bytes.varint()?));
        Ok(self.stored)
    }

    /// Decodes a triangle that shares a recent edge.
    fn on_edge(&mut self, code: u8, direct: u8) -> Result<[u32; 3], &'static str> {
        let (a, b) = self.edges.recent(1 + usize::from(code >> 4));
        let corner = code & 15;
        let c = match corner {
            0 => self.take_new(),
            _ if corner < direct => self.corners.recent(1 + usize::from(corner)),
            15 => self.take_stored()?,
            // 13 and 14: one below or one above the last stored index.
            _ => {
                let step = if corner == 13 { u32::MAX } else { 1 };
                self.stored = self.stored.wrapping_add(step);
                self.stored
            }
        };
        if corner == 0 || corner >= direct {
            self.corners.push(c);
        }
        self.edges.push((c, b));
        self.edges.push((a, c));
        Ok([a, b, c])
    }

    /// Decodes a triangle without a shared edge whose first corner is new.
    fn with_new_corner(&mut self, code: u8) -> Result<[u32; 3], &'static str> {
        let a = self.take_new();
        let mut corner = |which: u8| match which {
            0 => (self.take_new(), true),
            _ => (self.corners.recent(usize::from(which)), false),
        };
        let (b, c) = (corner(code >> 4), corner(code & 15));
        self.corners.push(a);
        for (index, is_new) in [b, c] {
            if is_new {
                self.corners.push(index);
            }
        }
        Ok(self.push_edges([a, b.0, c.0]))
    }

    /// Decodes a triangle without a shared edge of which any corner may be stored explicitly.
    fn with_any_corners(&mut self, stored: bool) -> Result<[u32; 3], &'static str> {
        let code = self.bytes.byte()?;
        if code == 0 {
            self.new = 0;
        }
        let first = if stored { 15 } else { 0 };
        let mut out = [(0, false); 3];
        // Stored corners are read after the others.
        for (out, which) in out.iter_mut().zip([first, code >> 4, code & 15]) {
            *out = match which {
                0 => (self.take_new(), true),
                15 => (0, true),
                _ => (self.corners.recent(usize::from(which)), false),
            };
        }
        for (out, which) in out.iter_mut().zip([first, code >> 4, code & 15]) {
            if which == 15 {
                out.0 = self.take_stored()?;
            }
        }
        for (index, is_new) in out {
            if is_new {
                self.corners.push(index);
            }
        }
        Ok(self.push_edges(out.map(|(index, _)| index)))
    }

    fn push_edges(&mut self, [a, b, c]: [u32; 3]) -> [u32; 3] {
        self.edges.push((b, a));
        self.edges.push((c, b));
        self.edges.push((a, c));
        [a, b, c]
    }
}

/// Passes the indices of `count / 3` triangles to `put`.
pub fn triangles(bytes: &[u8], count: usize, mut put: impl FnMut(usize, u32)) -> Result<(), &'static str> {
    let mut bytes = ByteReader(bytes);
    let head = bytes.byte()?;
    let version = head & 15;
    if head & 0xf0 != 0xe0 || version > 1 {
        return Err("it does not begin as compressed triangles do");
    }
    let codes = bytes.take(count / 3)?;
    let data = bytes.0.len().checked_sub(TABLE_BYTES).ok_or(TOO_SHORT)?;
    let (data, table) = bytes.0.split_at(data);
    let mut own = TriangleDecoder {
        bytes: ByteReader(data),
        edges: RecentRing::new((u32::MAX, u32::MAX)),
        corners: RecentRing::new(u32::MAX),
        new: 0,
        stored: 0,
    };
    let direct = if version == 0 { 15 } else { 13 };
    for (i, &code) in codes.iter().enumerate() {
        let corners = match code {
            0..0xf0 => own.on_edge(code, direct)?,
            0xf0..0xfe => own.with_new_corner(table[usize::from(code & 15)])?,
            _ => own.with_any_corners(code == 0xff)?,
        };
        corners.into_iter().enumerate().for_each(|(k, index)| put(3 * i + k, index));
    }
    match own.bytes.0.is_empty() {
        true => Ok(()),
        false => Err("it has bytes that belong to nothing"),
    }
}

/// Passes `count` indices to `put`.
pub fn sequence(bytes: &[u8], count: usize, mut put: impl FnMut(usize, u32)) -> Result<(), &'static str> {
    let mut bytes = ByteReader(bytes);
    let head = bytes.byte()?;
    if head & 0xf0 != 0xd0 || head & 15 > 1 {
        return Err("it does not begin as compressed indices do");
    }
    let data = bytes.0.len().checked_sub(TAIL_BYTES).ok_or(TOO_SHORT)?;
    bytes.0 = &bytes.0[..data];
    let mut last = [0u32; 2];
    for i in 0..count {
        let number = bytes.varint()?;
        let own = &mut last[(number & 1) as usize];
        *own = own.wrapping_add(decode_zigzag(number >> 1));
        put(i, *own);
    }
    match bytes.0.is_empty() {
        true => Ok(()),
        false => Err("it has bytes that belong to nothing"),
    }
}
