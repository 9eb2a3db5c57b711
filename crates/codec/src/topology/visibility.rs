//! Triangle visibility: the frames in which each triangle of a mesh is visible. Triangles that nobody can see
//! while parts fit together, or lie on something, are left out for that time. Lossless. Used on request.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 … 5 | `count` | varint, intervals: 1 … triangles |
//! | … | 2 … 10 each | `intervals` | two varints, `from` and number of frames − `to`, both at most the number of frames; in rising order as defined below |
//! | … | rest | `which` | bits of the range coder: the interval of each triangle |
//!
//! ```text
//! visible    a triangle is visible in frame f if from ≤ f and f < to; between frames a < b if from ≤ b and a < to; always between the last and the first frame of a loop
//! order      of intervals (from, to), n frames: those with from = 0 and to < n; from = 0 and to = n; from > 0 and to = n; others. Within each class by from, then by to.
//!            So the triangles that are visible in a frame are in few ranges: the last intervals of the first class, the first ones of the third
//! which      for each triangle in the mesh's order, a bit for each entry of a list of recent intervals: is it this one? at most 4 [position];
//!            none of them: its number, plain, as many bits as the number of intervals − 1 has. The list is 0 1 2 3 at first; the interval used moves to its front, and four entries are kept
//! triangles  are sorted by material, then by interval, then by the mesh's order: the ranges of visible triangles refer to that order
//! ```
//!
//! Probabilities begin even.
//!
//! Credit: the need for culling by phase is described in Zabir Hoque, Jacob Dean and Sarah Davis, *Geometry
//! caching in Halo 5*, 2017; the list is move-to-front.

use crate::Corrupt;
use crate::bytes::{Cursor, put_varint};
#[cfg(feature = "encode")]
use crate::entropy::range::Encoder;
use crate::entropy::range::{BitCoder, Chance, Decoder};

/// The number of intervals that are remembered. Part of the format.
const RECENT: usize = 4;

/// A range of frames: the first, and the first one after it.
pub type Interval = [u32; 2];

/// Returns the sort key of an interval, in a file of `frames` frames.
pub fn sort_key(interval: Interval, frames: u32) -> (u8, u32, u32) {
    let [from, to] = interval;
    let class = match (from > 0, to < frames) {
        (false, true) => 0,
        (false, false) => 1,
        (true, false) => 2,
        (true, true) => 3,
    };
    (class, from, to)
}

/// Returns `true` if a triangle with this interval is visible between two frames; both are equal at a frame
/// itself, and second < first in the seam of a loop.
pub fn is_visible([from, to]: Interval, first: u32, second: u32) -> bool {
    second < first || from <= second && first < to
}

struct IntervalCoder {
    recent: [u32; RECENT],
    chances: [Chance; RECENT],
    width: u32,
}

impl IntervalCoder {
    fn new(count: u32) -> IntervalCoder {
        IntervalCoder {
            recent: [0, 1, 2, 3],
            chances: Default::default(),
            width: 32 - count.saturating_sub(1).leading_zeros(),
        }
    }

    fn code<B: BitCoder<Context = Chance>>(&mut self, bits: &mut B, asked: u32) -> u32 {
        for place in 0..RECENT {
            if bits.bit(&mut self.chances[place], self.recent[place] == asked) {
                self.recent[..=place].rotate_right(1);
                return self.recent[0];
            }
        }
        self.recent.rotate_right(1);
        self.recent[0] = bits.raw_bits(self.width, asked);
        self.recent[0]
    }
}

/// Appends the visibility of triangles. `intervals` must be in order; `which` has the interval of each
/// triangle.
#[cfg(feature = "encode")]
pub fn encode(intervals: &[Interval], which: &[u32], frames: u32, out: &mut Vec<u8>) {
    put_varint(intervals.len() as u32, out);
    for &[from, to] in intervals {
        put_varint(from, out);
        put_varint(frames - to, out);
    }
    let (mut bits, mut coder) = (Encoder::new(out), IntervalCoder::new(intervals.len() as u32));
    for &interval in which {
        coder.code(&mut bits, interval);
    }
    bits.finish();
}

/// Returns the number of intervals of a mesh with this many triangles.
pub fn interval_count(bytes: &[u8], triangles: u32) -> Result<u32, Corrupt> {
    let count = Cursor::new(bytes).varint()?;
    match (1..=triangles).contains(&count) {
        true => Ok(count),
        false => Err(Corrupt("triangle visibility: no intervals, or more than triangles")),
    }
}

/// Decodes as many intervals as [`interval_count`] returns, and the interval of each triangle. All of `bytes`
/// belongs to them.
pub fn decode(
    bytes: &[u8],
    frames: u32,
    intervals: &mut [Interval],
    which: &mut [u32],
) -> Result<(), Corrupt> {
    let mut c = Cursor::new(bytes);
    if c.varint()? as usize != intervals.len() {
        return Err(Corrupt("triangle visibility: another number of intervals"));
    }
    let mut before = None;
    for interval in intervals.iter_mut() {
        let (from, rest) = (c.varint()?, c.varint()?);
        let to = frames.checked_sub(rest).filter(|_| from <= frames);
        *interval = [from, to.ok_or(Corrupt("triangle visibility: frames that are not there"))?];
        let own = Some(sort_key(*interval, frames));
        if own <= before {
            return Err(Corrupt("triangle visibility: intervals out of order"));
        }
        before = own;
    }
    let mut bits = Decoder::new(&bytes[c.used()..]);
    let count = intervals.len() as u32;
    let mut coder = IntervalCoder::new(count);
    for own in which.iter_mut() {
        *own = coder.code(&mut bits, 0);
        if *own >= count {
            return Err(Corrupt("triangle visibility: an interval that is not there"));
        }
    }
    bits.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8], triangles: u32, frames: u32) -> Result<(Vec<Interval>, Vec<u32>), Corrupt> {
        let mut intervals = vec![[0; 2]; interval_count(bytes, triangles)? as usize];
        let mut which = vec![0; triangles as usize];
        decode(bytes, frames, &mut intervals, &mut which)?;
        assert!(which.iter().all(|&i| (i as usize) < intervals.len()));
        assert!(intervals.iter().flatten().all(|&f| f <= frames));
        Ok((intervals, which))
    }

    fn wall() -> (Vec<Interval>, Vec<u32>) {
        // Bricks of twelve triangles, half of them inside.
        let mut intervals: Vec<Interval> = vec![[0, 50]];
        intervals.extend((10..30).map(|f| [f, 50]));
        intervals.extend((10..30).map(|f| [f, 60 - f]));
        intervals.extend((30..45).map(|f| [0, f]));
        intervals.push([50, 0]);
        intervals.sort_by_key(|&i| sort_key(i, 50));
        intervals.dedup();
        let which = (0..1200).map(|t| (t / 12 * 7 + t % 12 / 6) % intervals.len() as u32);
        let which = which.collect();
        (intervals, which)
    }

    #[test]
    fn f14_intervals_come_back_and_damage_is_refused() {
        let (intervals, which) = wall();
        let mut bytes = Vec::new();
        encode(&intervals, &which, 50, &mut bytes);
        assert_eq!(read(&bytes, 1200, 50), Ok((intervals, which)));
        println!("{} bytes for 1200 triangles", bytes.len());
        assert!(bytes.len() < 450);
        for cut in 0..bytes.len() {
            let _ = read(&bytes[..cut], 1200, 50);
        }
        for at in 0..bytes.len() {
            for bit in 0..8 {
                let mut bad = bytes.clone();
                bad[at] ^= 1 << bit;
                let _ = read(&bad, 1200, 50);
            }
        }
        assert!(read(&bytes, 20, 50).is_err(), "more intervals than triangles");
        assert!(read(&bytes, 1200, 12).is_err(), "beyond the last frame");
        bytes.extend([0; 9]);
        assert!(read(&bytes, 1200, 50).is_err());
    }

    #[test]
    fn f14_what_moves_is_drawn() {
        // Stands until frame 10, lies from frame 20 on.
        let own = [10, 20];
        for (first, second, drawn) in [
            (0, 0, false),
            (8, 9, false),
            (9, 10, true),
            (10, 10, true),
            (19, 20, true),
            (20, 20, false),
            (20, 21, false),
            (29, 0, true),
        ] {
            assert_eq!(is_visible(own, first, second), drawn, "{first} {second}");
        }
        assert!(!is_visible([30, 0], 3, 4));
    }

    proptest! {
        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..40), triangles in 0u32..50, frames in 0u32..20) {
            let _ = read(&bytes, triangles, frames);
        }
    }
}
