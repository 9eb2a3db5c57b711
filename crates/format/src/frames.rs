//! The frame table: the time and the bounds of each frame. The bytes of a frame's content are in chunks; this
//! table does not say which.
//!
//! Layout: `docs/FORMAT/container.md`, "Frame table".

// Part of the format. Changing any of these needs a new version.

/// Bytes of the bounds of one frame in the table.
pub const BOX_SIZE: usize = 6;
/// The forms of the times in the table: all times listed, first + i·step, or (first + i) / rate.
const CLOCK_LISTED: u8 = 0;
const CLOCK_STEPS: u8 = 1;
const CLOCK_RATE: u8 = 2;
/// The number of parts into which each side of the file's bounds is divided; a frame's bounds are stored in
/// these.
const BOX_STEPS: f64 = 255.0;

/// The bounds of a frame in which nothing is shown.
pub const EMPTY_BOUNDS: [f32; 6] =
    [f32::INFINITY, f32::INFINITY, f32::INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY, f32::NEG_INFINITY];
/// The stored form of [`EMPTY_BOUNDS`].
const EMPTY_BOX: [u8; BOX_SIZE] = [255, 255, 255, 0, 0, 0];

/// The time of one frame, and the bounds of its content.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameEntry {
    /// Seconds; finite, and larger than the time of the frame before.
    pub time: f64,
    /// World-space bounds of everything shown: smallest x, y, z, largest x, y, z; or [`EMPTY_BOUNDS`]. In a
    /// file they are rounded outwards to 255ths of the file's bounds.
    pub bounds: [f32; 6],
}

/// Appends the frame table of `frames`, whose bounds lie inside `all`.
pub(crate) fn encode(frames: &[FrameEntry], all: &[f32; 6], out: &mut Vec<u8>) {
    let times: Vec<f64> = frames.iter().map(|f| f.time).collect();
    let (kind, numbers) = shortest_clock(&times);
    out.push(kind);
    match kind {
        CLOCK_LISTED => out.extend(frames.iter().flat_map(|f| f.time.to_le_bytes())),
        _ => out.extend(numbers.iter().flat_map(|n| n.to_le_bytes())),
    }
    out.extend(frames.iter().flat_map(|f| quantize_box(&f.bounds, all)));
}

/// Decodes the `count` frames of the table, or says what is wrong with it.
pub(crate) fn decode(bytes: &[u8], count: usize, all: &[f32; 6]) -> Result<Vec<FrameEntry>, &'static str> {
    const SIZE: &str = "a table of another size than its frames need";
    let (&kind, rest) = bytes.split_first().ok_or(SIZE)?;
    let listed = match kind {
        CLOCK_LISTED => count,
        CLOCK_STEPS | CLOCK_RATE => 2,
        _ => return Err("an unknown kind of times"),
    };
    let (times, boxes) = rest.split_at_checked(8 * listed).ok_or(SIZE)?;
    if Some(boxes.len()) != count.checked_mul(BOX_SIZE) {
        return Err(SIZE);
    }
    let number = |i: usize| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&times[8 * i..8 * i + 8]);
        f64::from_le_bytes(eight)
    };
    let mut frames: Vec<FrameEntry> = Vec::with_capacity(count);
    for (i, sides) in boxes.as_chunks::<BOX_SIZE>().0.iter().enumerate() {
        let time = match kind {
            CLOCK_LISTED => number(i),
            kind => frame_time(kind, [number(0), number(1)], i),
        };
        if !is_after(time, frames.last().map(|f| f.time)) {
            return Err("a time that is not after the one before");
        }
        let bounds = dequantize_box(sides, all);
        if !is_box(&bounds) {
            return Err("a box that is neither empty nor ordered");
        }
        frames.push(FrameEntry { time, bounds });
    }
    Ok(frames)
}

/// Returns the size in bytes of the frame table for these times.
#[must_use]
pub fn frame_table_size(times: &[f64]) -> u64 {
    let listed = shortest_clock(times).0 == CLOCK_LISTED;
    let clock = if listed { 8 * times.len() } else { 16 };
    (1 + clock + BOX_SIZE * times.len()) as u64
}

/// Returns the size of the table in bytes, or `None` if it overflows. `kind` is the table's first byte.
pub(crate) fn size(kind: u8, count: u64) -> Option<u64> {
    let times = match kind {
        CLOCK_LISTED => count.checked_mul(8)?,
        _ => 16,
    };
    count.checked_mul(BOX_SIZE as u64)?.checked_add(times + 1)
}

fn frame_time(kind: u8, [a, b]: [f64; 2], i: usize) -> f64 {
    match kind {
        CLOCK_STEPS => a + i as f64 * b,
        _ => (a + i as f64) / b,
    }
}

/// Returns the shortest form that reproduces these times exactly: its first byte and its two numbers.
fn shortest_clock(times: &[f64]) -> (u8, [f64; 2]) {
    let (Some(first), Some(last)) = (times.first(), times.last()) else {
        return (CLOCK_LISTED, [0.0; 2]);
    };
    let mean = (last - first) / (times.len() - 1) as f64;
    let step = times.get(1).map_or(1.0, |second| second - first);
    let first = *first;
    let rate = (1.0 / mean).round();
    let forms = [
        (CLOCK_STEPS, [first, step]),
        (CLOCK_STEPS, [first, mean]),
        (CLOCK_RATE, [(first * rate).round(), rate]),
    ];
    let gives = |&(kind, numbers): &(u8, [f64; 2])| {
        let time = |(i, time): (usize, &f64)| frame_time(kind, numbers, i).to_bits() == time.to_bits();
        times.iter().enumerate().all(time)
    };
    forms.into_iter().find(gives).unwrap_or((CLOCK_LISTED, [0.0; 2]))
}

/// Returns the point `part` 255ths of the way from `low` to `high`.
fn box_coordinate(low: f32, high: f32, part: u8) -> f32 {
    match part {
        0 => low,
        255 => high,
        // Between infinite ends there is no such point.
        _ if !(low.is_finite() && high.is_finite()) => f32::NAN,
        _ => {
            let (low, high) = (f64::from(low), f64::from(high));
            (low + (high - low) * (f64::from(part) / BOX_STEPS)) as f32
        }
    }
}

fn dequantize_box(sides: &[u8; BOX_SIZE], all: &[f32; 6]) -> [f32; 6] {
    if *sides == EMPTY_BOX {
        return EMPTY_BOUNDS;
    }
    std::array::from_fn(|k| box_coordinate(all[k % 3], all[k % 3 + 3], sides[k]))
}

/// Returns the smallest stored bounds that contain `bounds`.
fn quantize_box(bounds: &[f32; 6], all: &[f32; 6]) -> [u8; BOX_SIZE] {
    if *bounds == EMPTY_BOUNDS {
        return EMPTY_BOX;
    }
    let sides = std::array::from_fn(|k| {
        let (low, high, lower) = (all[k % 3], all[k % 3 + 3], k < 3);
        let part = (f64::from(bounds[k]) - f64::from(low)) / (f64::from(high) - f64::from(low));
        let holds = |part: u8| match lower {
            true => box_coordinate(low, high, part) <= bounds[k],
            false => box_coordinate(low, high, part) >= bounds[k],
        };
        // The cast turns NaN into 0. If rounding cut into the bounds, the next part outwards is taken.
        let near = (part * BOX_STEPS).clamp(0.0, BOX_STEPS);
        let (near, out, last) = match lower {
            true => (near.floor() as u8, (near.floor() as u8).saturating_sub(1), 0),
            false => (near.ceil() as u8, (near.ceil() as u8).saturating_add(1), 255),
        };
        [near, out].into_iter().find(|&p| holds(p)).unwrap_or(last)
    });
    match sides {
        // Bounds that equal the whole file's must not be mistaken for empty ones.
        EMPTY_BOX => [0, 0, 0, 255, 255, 255],
        sides => sides,
    }
}

/// Returns `true` for [`EMPTY_BOUNDS`], and for bounds with smallest ≤ largest on each axis (never NaN;
/// infinite where a coordinate exceeds the range of `f32`).
pub(crate) fn is_box(bounds: &[f32; 6]) -> bool {
    let [x, y, z, to_x, to_y, to_z] = *bounds;
    *bounds == EMPTY_BOUNDS || (x <= to_x && y <= to_y && z <= to_z)
}

/// Returns `true` if a frame's time is finite and later than that of the frame before.
pub(crate) fn is_after(time: f64, before: Option<f64>) -> bool {
    time.is_finite() && before.is_none_or(|before| time > before)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames(times: impl IntoIterator<Item = f64>) -> Vec<FrameEntry> {
        let entry = |time| FrameEntry { time, bounds: EMPTY_BOUNDS };
        times.into_iter().map(entry).collect()
    }

    fn table(frames: &[FrameEntry], all: &[f32; 6]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(frames, all, &mut out);
        assert_eq!(size(out[0], frames.len() as u64), Some(out.len() as u64));
        let times: Vec<f64> = frames.iter().map(|f| f.time).collect();
        assert_eq!(frame_table_size(&times), out.len() as u64);
        out
    }

    #[test]
    fn regular_times_take_sixteen_bytes_and_come_back_exactly() {
        let regular: [Vec<f64>; 5] = [
            (0..240).map(|i| f64::from(i) / 24.0).collect(),
            (101..240).map(|i| f64::from(i) / 30.0).collect(),
            (0..50).map(|i| -0.7 + f64::from(i) * 0.013).collect(),
            vec![5.5],
            vec![0.0, 1e-9],
        ];
        for times in regular {
            let frames = frames(times);
            let bytes = table(&frames, &EMPTY_BOUNDS);
            assert_eq!(bytes.len(), 17 + 6 * frames.len(), "{:?}", frames[0]);
            assert_eq!(decode(&bytes, frames.len(), &EMPTY_BOUNDS), Ok(frames));
        }
        let uneven = frames([0.0, 0.1, 0.3]);
        let bytes = table(&uneven, &EMPTY_BOUNDS);
        assert_eq!(bytes[0], CLOCK_LISTED);
        assert_eq!(decode(&bytes, 3, &EMPTY_BOUNDS), Ok(uneven));
        assert_eq!(decode(&table(&[], &EMPTY_BOUNDS), 0, &EMPTY_BOUNDS), Ok(vec![]));
    }

    proptest! {
        #[test]
        fn boxes_never_shrink(all: [(f32, f32); 3], parts: [(f32, f32); 3]) {
            prop_assume!(all.iter().all(|(a, b)| !a.is_nan() && !b.is_nan()));
            let low = all.map(|(a, b)| a.min(b));
            let high = all.map(|(a, b)| a.max(b));
            let all = [low[0], low[1], low[2], high[0], high[1], high[2]];
            let mut bounds = all;
            for k in 0..3 {
                let inside = |v: f32| if v.is_nan() { low[k] } else { v.clamp(low[k], high[k]) };
                let (a, b) = (inside(parts[k].0), inside(parts[k].1));
                (bounds[k], bounds[k + 3]) = (a.min(b), a.max(b));
            }
            prop_assume!(is_box(&all) && all != EMPTY_BOUNDS);
            let entry = FrameEntry { time: 0.0, bounds };
            let back = decode(&table(&[entry], &all), 1, &all).unwrap()[0].bounds;
            for k in 0..3 {
                prop_assert!(back[k] <= bounds[k] && back[k + 3] >= bounds[k + 3]);
                prop_assert!(back[k] >= all[k] && back[k + 3] <= all[k + 3]);
                // At most a 255th too large on each side, up to rounding.
                let grain = (f64::from(all[k + 3]) - f64::from(all[k])) / 254.0;
                if grain.is_finite() {
                    prop_assert!(f64::from(bounds[k]) - f64::from(back[k]) <= grain + 1e-30);
                }
            }
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..80), count in 0usize..12, all: [f32; 6]) {
            if let Ok(frames) = decode(&bytes, count, &all) {
                prop_assert_eq!(frames.len(), count);
            }
        }
    }
}
