//! Mode `ATTRIBUTES`: blocks of up to 256 values; a block has the first bytes of all its values, then all
//! second ones, …, each as differences in groups of sixteen, with the number of bits that is smallest.
//! Lossless.
//!
//! ```text
//! head     1 byte    0xa0 | version
//! blocks             version 1: two bits for each byte of a value, which say how its differences are stored
//!                    per byte of a value: two bits for each group, then the groups
//! tail     32 bytes of version 0, 24 of version 1, or more: zeros, the value before the first; version 1: a byte for
//!          each four of a value: what its differences are of (bytes, 16 bits, 32 bits turned)
//! ```

// Part of the format.
/// Largest size of a block in bytes and values.
const MAX_BLOCK_BYTES: usize = 8192;
const MAX_BLOCK_VALUES: usize = 256;
/// Values of a group.
const GROUP: usize = 16;
/// Bits per value of a group, by its two header bits: for version 0, and for both modes of version 1.
const WIDTHS: [[u32; 4]; 3] = [[0, 2, 4, 8], [0, 1, 2, 4], [1, 2, 4, 8]];

// Tuning.
/// Number of blocks that are tried to choose the kind of differences.
const SAMPLED_BLOCKS: usize = 4;

/// One byte of each value of a block (a byte plane).
type Plane = [u8; MAX_BLOCK_VALUES];

/// Compresses values of `stride` bytes, a multiple of 4 of at most 256.
pub fn encode(bytes: &[u8], stride: usize, version: u8) -> Vec<u8> {
    let values = ((MAX_BLOCK_BYTES / stride) & !(GROUP - 1)).min(MAX_BLOCK_VALUES);
    let first = bytes.get(..stride).map_or(vec![0; stride], <[u8]>::to_vec);
    let channels: Vec<u8> = match version {
        0 => Vec::new(),
        _ => (0..stride / 4).map(|four| best_channel(bytes, stride, values, 4 * four)).collect(),
    };
    let mut out = vec![0xa0 | version];
    let mut before = first.clone();
    for block in bytes.chunks(values * stride) {
        let count = block.len() / stride;
        let (mut control, mut body) = (vec![0; if version == 0 { 0 } else { stride / 4 }], Vec::new());
        for four in 0..stride / 4 {
            let channel = channels.get(four).copied().unwrap_or(0);
            let planes = differences(block, &before, (stride, 4 * four), channel);
            for (k, plane) in planes.iter().enumerate() {
                let way = push_plane(&plane[..count], version, &mut body);
                if let Some(control) = control.get_mut(four) {
                    *control |= way << (2 * k);
                }
            }
        }
        before.copy_from_slice(&block[block.len() - stride..]);
        out.extend(control);
        out.extend(body);
    }
    let tail = stride + channels.len();
    out.resize(out.len() + (if version == 0 { 32usize } else { 24 }).saturating_sub(tail), 0);
    out.extend(first);
    out.extend(channels);
    out
}

/// Returns the differences of the four bytes at `at` of each value from those of the value before.
fn differences(block: &[u8], before: &[u8], (stride, at): (usize, usize), channel: u8) -> [Plane; 4] {
    let mut planes = [[0; MAX_BLOCK_VALUES]; 4];
    let mut last: [u8; 4] = std::array::from_fn(|k| before[at + k]);
    for (i, value) in block.chunks_exact(stride).enumerate() {
        let own: [u8; 4] = std::array::from_fn(|k| value[at + k]);
        let new = difference(own, last, channel);
        planes.iter_mut().zip(new).for_each(|(plane, new)| plane[i] = new);
        last = own;
    }
    planes
}

fn difference(own: [u8; 4], last: [u8; 4], channel: u8) -> [u8; 4] {
    match channel & 3 {
        0 => std::array::from_fn(|k| {
            let d = own[k].wrapping_sub(last[k]);
            d << 1 ^ (d >> 7).wrapping_neg()
        }),
        1 => {
            let half = |k: usize| {
                let [own, last] = [own, last].map(|v| u16::from_le_bytes([v[k], v[k + 1]]));
                let d = own.wrapping_sub(last);
                (d << 1 ^ (d >> 15).wrapping_neg()).to_le_bytes()
            };
            let (low, high) = (half(0), half(2));
            [low[0], low[1], high[0], high[1]]
        }
        _ => {
            let changed = u32::from_le_bytes(own) ^ u32::from_le_bytes(last);
            changed.rotate_left(u32::from(channel >> 4)).to_le_bytes()
        }
    }
}

/// Returns the best kind of differences for four bytes, tried on some blocks.
fn best_channel(bytes: &[u8], stride: usize, values: usize, at: usize) -> u8 {
    let size = values * stride;
    let blocks = bytes.len().div_ceil(size);
    let tried: Vec<&[u8]> = (0..SAMPLED_BLOCKS.min(blocks))
        .map(|i| {
            let start = i * blocks / SAMPLED_BLOCKS.min(blocks) * size;
            &bytes[start..(start + size).min(bytes.len())]
        })
        .collect();
    let cost = |channel: u8| -> usize {
        let mut out = Vec::new();
        for block in &tried {
            for plane in differences(block, &block[..stride], (stride, at), channel) {
                push_plane(&plane[..block.len() / stride], 1, &mut out);
            }
        }
        out.len()
    };
    let channels = [0, 1].into_iter().chain((0..16).map(|turn| 2 | turn << 4));
    channels.min_by_key(|channel| cost(*channel)).unwrap_or(0)
}

/// Appends a plane in its smallest form; for version 1 it returns the number of the form.
fn push_plane(plane: &[u8], version: u8, out: &mut Vec<u8>) -> u8 {
    if version == 0 {
        push_groups(plane, &WIDTHS[0], out);
        return 0;
    }
    if plane.iter().all(|v| *v == 0) {
        return 2;
    }
    let (mut narrow, mut wide) = (Vec::new(), Vec::new());
    push_groups(plane, &WIDTHS[1], &mut narrow);
    push_groups(plane, &WIDTHS[2], &mut wide);
    let (way, best) = if narrow.len() <= wide.len() { (0, narrow) } else { (1, wide) };
    if plane.len() <= best.len() {
        out.extend(plane);
        return 3;
    }
    out.extend(best);
    way
}

/// Appends two bits for each group, then the groups.
fn push_groups(plane: &[u8], widths: &[u32; 4], out: &mut Vec<u8>) {
    let head = out.len();
    out.resize(head + plane.len().div_ceil(GROUP).div_ceil(4), 0);
    for (i, values) in plane.chunks(GROUP).enumerate() {
        let mut group = [0; GROUP];
        group[..values.len()].copy_from_slice(values);
        let (which, _) = (widths.iter().enumerate())
            .filter_map(|(which, &bits)| Some((which, group_bytes(&group, bits)?)))
            .min_by_key(|(_, size)| *size)
            .unwrap_or((3, 0));
        out[head + i / 4] |= (which as u8) << (2 * (i % 4));
        match widths[which] {
            0 => {}
            8 => out.extend(group),
            bits => push_narrow_group(&group, bits, out),
        }
    }
}

/// Returns the bytes of a group with this number of bits per value, if it can be stored so.
fn group_bytes(group: &[u8; GROUP], bits: u32) -> Option<usize> {
    match bits {
        0 => group.iter().all(|v| *v == 0).then_some(0),
        8 => Some(GROUP),
        _ => {
            let largest = (1 << bits) - 1;
            Some(GROUP * bits as usize / 8 + group.iter().filter(|v| **v >= largest).count())
        }
    }
}

/// Appends a group of 1, 2 or 4 bits per value; the largest code stands for a full byte behind the group.
fn push_narrow_group(group: &[u8; GROUP], bits: u32, out: &mut Vec<u8>) {
    let largest = (1 << bits) - 1;
    let start = out.len();
    out.resize(start + GROUP * bits as usize / 8, 0);
    for (i, &value) in group.iter().enumerate() {
        let at = i as u32 * bits;
        // Within a byte the highest bits come first; single bits come lowest first.
        let shift = if bits == 1 { at % 8 } else { 8 - bits - at % 8 };
        out[start + (at / 8) as usize] |= value.min(largest) << shift;
        if value >= largest {
            out.push(value);
        }
    }
}
