//! Node transforms: quaternion, translation, non-uniform scale, 10 f32, bit-exact. All animated nodes of a
//! frame are in one payload; nodes and components at rest cost almost nothing.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `kind` | 0: all nodes equal their predictions, nothing follows · 1: all nodes follow · 2: a bit map says which follow |
//! | 1 | 2 | `columns` | bit k set: component k of some node differs (rotation xyzw, translation xyz, scale xyz) |
//! | 3 | ⌈n/8⌉ | `map` | only kind 2: bit set = the node differs; node 0 is bit 0 of byte 0 |
//! | … | 4·m per set column | `planes` | per column, four planes of m bytes (m = nodes that differ), highest byte first |
//!
//! ```text
//! order(f)  = bits of f as u32; if the top bit is set: !bits, else bits | 0x8000_0000      preserves the order of numbers
//! predicted = the same node in the previous frame; without one: the node before in this frame, for node 0 the identity
//! stored    = zigzag(order(value) − order(predicted))                                       wrapping 32-bit arithmetic
//! ```

use crate::Corrupt;
use crate::bytes::Cursor;
use crate::quantize::code::Code;

/// Rotation (x, y, z, w; unit), translation, scale: `point ↦ rotation·(scale∘point) + translation`, column
/// vectors.
#[derive(Debug, Clone, Copy, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
#[allow(missing_docs)]
pub struct Transform {
    pub rotation: [f32; 4],
    pub translation: [f32; 3],
    pub scale: [f32; 3],
}

/// The number of components of a transform.
const COLUMNS: usize = 10;

impl Transform {
    /// The transform that changes nothing.
    pub const IDENTITY: Transform =
        Transform { rotation: [0.0, 0.0, 0.0, 1.0], translation: [0.0; 3], scale: [1.0; 3] };

    /// Returns the row-major 3×4 matrix in f64; the quaternion is normalized first, so that its f32 rounding
    /// does not change the scale. A quaternion of zero or non-finite length counts as the identity.
    #[inline]
    pub fn matrix(&self) -> [[f64; 4]; 3] {
        let q = self.rotation.map(f64::from);
        let length = (q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]).sqrt();
        let usable = length > 0.0 && length.is_finite();
        let [x, y, z, w] = if usable { q.map(|v| v / length) } else { [0.0, 0.0, 0.0, 1.0] };
        let rotation = [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ];
        let mut out = [[0.0; 4]; 3];
        for (r, (out, row)) in out.iter_mut().zip(rotation).enumerate() {
            for (c, v) in row.into_iter().enumerate() {
                out[c] = v * f64::from(self.scale[c]);
            }
            out[3] = f64::from(self.translation[r]);
        }
        out
    }

    /// Returns the ten components, mapped so that close floats are close integers.
    fn ordered(&self) -> [u32; COLUMNS] {
        let ([x, y, z, w], [a, b, c], [d, e, f]) = (self.rotation, self.translation, self.scale);
        [x, y, z, w, a, b, c, d, e, f].map(|v| {
            let bits = v.to_bits();
            if bits >> 31 == 1 { !bits } else { bits | 1 << 31 }
        })
    }

    fn from_ordered(columns: [u32; COLUMNS]) -> Transform {
        let [x, y, z, w, a, b, c, d, e, f] =
            columns.map(|o| f32::from_bits(if o >> 31 == 1 { o ^ 1 << 31 } else { !o }));
        Transform { rotation: [x, y, z, w], translation: [a, b, c], scale: [d, e, f] }
    }
}

/// Returns the zigzag residuals of every node.
#[cfg(feature = "encode")]
fn residuals(values: &[Transform], previous: Option<&[Transform]>) -> Vec<[u32; COLUMNS]> {
    let mut before = Transform::IDENTITY.ordered();
    let of = |(v, t): (usize, &Transform)| {
        let now = t.ordered();
        let from = previous.map_or(before, |p| p[v].ordered());
        before = now;
        std::array::from_fn(|k| now[k].wrapping_sub(from[k]).zigzag())
    };
    values.iter().enumerate().map(of).collect()
}

/// Appends transforms to `out`, relative to `previous` (same length) if given.
#[cfg(feature = "encode")]
pub fn encode(values: &[Transform], previous: Option<&[Transform]>, out: &mut Vec<u8>) {
    if let Some(previous) = previous {
        assert_eq!(values.len(), previous.len(), "previous frame has the same nodes");
    }
    let rows = residuals(values, previous);
    let moved = |row: &&[u32; COLUMNS]| row.iter().any(|&r| r != 0);
    let changed = rows.iter().filter(moved).count();
    if changed == 0 {
        out.push(0);
        return;
    }
    let columns = (0..COLUMNS).filter(|&k| rows.iter().any(|r| r[k] != 0));
    let mask = columns.clone().fold(0u16, |m, k| m | 1 << k);
    let all = changed == rows.len();
    out.push(if all { 1 } else { 2 });
    out.extend_from_slice(&mask.to_le_bytes());
    if !all {
        let bits = |rows: &[[u32; COLUMNS]]| {
            rows.iter().enumerate().fold(0u8, |b, (k, row)| b | u8::from(moved(&row)) << k)
        };
        out.extend(rows.chunks(8).map(bits));
    }
    for k in columns {
        for shift in [24, 16, 8, 0] {
            out.extend(rows.iter().filter(moved).map(|row| (row[k] >> shift) as u8));
        }
    }
}

/// Decodes `out.len()` transforms from the start of `bytes`; returns the number of bytes used.
pub fn decode(bytes: &[u8], previous: Option<&[Transform]>, out: &mut [Transform]) -> Result<usize, Corrupt> {
    if previous.is_some_and(|p| p.len() != out.len()) {
        return Err(Corrupt("transforms: the previous frame has other nodes"));
    }
    let mut c = Cursor::new(bytes);
    let kind = c.u8()?;
    let (mask, map): (u16, Option<&[u8]>) = match kind {
        0 => (0, None),
        1 => (u16::from_le_bytes(c.array()?), None),
        2 => (u16::from_le_bytes(c.array()?), Some(c.bytes(out.len().div_ceil(8))?)),
        _ => return Err(Corrupt("transforms: unknown kind")),
    };
    if mask >> COLUMNS != 0 {
        return Err(Corrupt("transforms: unknown component"));
    }
    let differs = |v: usize| map.map_or(kind == 1, |m| m[v / 8] >> (v % 8) & 1 == 1);
    let changed = (0..out.len()).filter(|&v| differs(v)).count();
    let mut planes: [&[u8]; COLUMNS] = [&[]; COLUMNS];
    for (k, plane) in planes.iter_mut().enumerate() {
        if mask >> k & 1 == 1 {
            *plane = c.bytes(changed.checked_mul(4).ok_or(crate::bytes::UNEXPECTED_END)?)?;
        }
    }
    let mut before = Transform::IDENTITY.ordered();
    let mut at = 0;
    for (v, transform) in out.iter_mut().enumerate() {
        let mut now = previous.map_or(before, |p| p[v].ordered());
        if differs(v) {
            for (value, plane) in now.iter_mut().zip(planes) {
                // A column without bytes has only zeros.
                let byte = |p: usize| u32::from(plane.get(p * changed + at).copied().unwrap_or(0));
                let stored = byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
                *value = value.wrapping_add(stored.unzigzag());
            }
            at += 1;
        }
        before = now;
        *transform = Transform::from_ordered(now);
    }
    Ok(c.used())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(a: &[Transform], b: &[Transform]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.ordered() == b.ordered())
    }

    fn any_transform() -> impl Strategy<Value = Transform> {
        (any::<[u32; 4]>(), any::<[u32; 3]>(), any::<[u32; 3]>()).prop_map(|(r, t, s)| Transform {
            rotation: r.map(f32::from_bits),
            translation: t.map(f32::from_bits),
            scale: s.map(f32::from_bits),
        })
    }

    fn round_trip(values: &[Transform], previous: Option<&[Transform]>) -> Vec<u8> {
        let mut bytes = vec![9];
        encode(values, previous, &mut bytes);
        bytes.remove(0);
        let mut again = Vec::new();
        encode(values, previous, &mut again);
        assert_eq!(bytes, again);
        let mut out = vec![Transform::IDENTITY; values.len()];
        bytes.push(77);
        assert_eq!(decode(&bytes, previous, &mut out), Ok(bytes.len() - 1));
        bytes.pop();
        assert!(same(&out, values));
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut], previous, &mut out).is_err());
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << (at % 8);
            let _ = decode(&bad, previous, &mut out);
            bad[at] = 255;
            let _ = decode(&bad, previous, &mut out);
        }
        bytes
    }

    #[test]
    fn golden() {
        let a = Transform { translation: [1.0, 0.0, 0.0], ..Transform::IDENTITY };
        assert_eq!(round_trip(&[a; 2], Some(&[a; 2])), [0]);
        let b = Transform { translation: [1.0f32.next_up(), 0.0, 0.0], ..a };
        assert_eq!(round_trip(&[a, b], Some(&[a; 2])), [2, 0x10, 0, 2, 0, 0, 0, 2]);
        assert_eq!(round_trip(&[Transform::IDENTITY; 3], None), [0]);
        assert_eq!(round_trip(&[], None), [0]);
        assert_eq!(round_trip(&[a, a], None), [2, 0x10, 0, 1, 0x7F, 0, 0, 0]);
    }

    #[test]
    fn block_edges() {
        for n in [1, 7, 8, 9, 16, 17] {
            let old = vec![Transform::IDENTITY; n];
            for moved in 0..n {
                let mut new = old.clone();
                new[moved].rotation = [-0.0, f32::NAN, 1e-44, f32::INFINITY];
                round_trip(&new, Some(&old));
                round_trip(&new, None);
            }
        }
    }

    #[test]
    fn matrices() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let t = Transform {
            rotation: [0.0, 0.0, half, half],
            translation: [1.0, 2.0, 3.0],
            scale: [2.0, 1.0, -1.0],
        };
        let want = [[0.0, -1.0, 0.0, 1.0], [2.0, 0.0, 0.0, 2.0], [0.0, 0.0, -1.0, 3.0]];
        for (row, want) in t.matrix().iter().zip(want) {
            for (a, b) in row.iter().zip(want) {
                assert!((a - b).abs() < 1e-12);
            }
        }
        let none = Transform { rotation: [0.0; 4], ..Transform::IDENTITY };
        assert_eq!(none.matrix(), Transform::IDENTITY.matrix());
    }

    proptest! {
        #[test]
        fn any_bits_come_back(pairs in proptest::collection::vec((any_transform(), any_transform(), any::<bool>()), 0..12)) {
            let old: Vec<_> = pairs.iter().map(|p| p.0).collect();
            let new: Vec<_> = pairs.iter().map(|p| if p.2 { p.1 } else { p.0 }).collect();
            round_trip(&new, Some(&old));
            round_trip(&new, None);
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..200), n in 0usize..20) {
            let mut out = vec![Transform::IDENTITY; n];
            let _ = decode(&bytes, None, &mut out);
        }
    }
}
