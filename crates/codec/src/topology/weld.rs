//! The vertices that always coincide: a point for each vertex. Lossless. Used if fixed-point positions belong
//! to points (positions of the soft codec), so that a seam, where the vertices of one point differ in uvs or
//! normals, can never open.
//!
//! Points are numbered in the order of their first vertices. Each vertex has a varint: 0 = the next point,
//! n > 0 = the point n before the next one. All are zero if no vertices coincide.

use crate::Corrupt;
use crate::bytes::{Cursor, put_varint};

/// Appends the points of vertices. Panics if they are not numbered in the order of their first vertices.
#[cfg(feature = "encode")]
pub fn encode(points: &[u32], out: &mut Vec<u8>) {
    let mut next = 0;
    for &point in points {
        assert!(point <= next, "points are numbered by their first vertices");
        put_varint(next - point, out);
        next += u32::from(point == next);
    }
}

/// Decodes the points of all vertices from the start of `bytes`, `points` of them; returns the number of
/// bytes used.
pub fn decode(bytes: &[u8], points: u32, out: &mut [u32]) -> Result<usize, Corrupt> {
    let mut c = Cursor::new(bytes);
    let mut next = 0;
    for point in out {
        let back = c.varint()?;
        *point = u32::checked_sub(next, back).ok_or(Corrupt("weld: a point before the first"))?;
        next += u32::from(back == 0);
    }
    if next != points {
        return Err(Corrupt("weld: another number of points"));
    }
    Ok(c.used())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden() {
        let mut bytes = Vec::new();
        encode(&[0, 1, 0, 2, 2, 3], &mut bytes);
        assert_eq!(bytes, [0, 0, 2, 0, 1, 0]);
        assert!(decode(&bytes, 3, &mut [0; 6]).is_err());
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end], 4, &mut [0; 6]).is_err());
        }
        assert_eq!(decode(&[], 0, &mut []), Ok(0));
    }

    proptest! {
        #[test]
        fn round_trip(picks: Vec<u32>) {
            let mut next = 0;
            let points: Vec<u32> = (picks.iter())
                .map(|pick| {
                    let point = pick % (next + 1);
                    next += u32::from(point == next);
                    point
                })
                .collect();
            let mut bytes = Vec::new();
            encode(&points, &mut bytes);
            let mut back = vec![0; points.len()];
            prop_assert_eq!(decode(&bytes, next, &mut back), Ok(bytes.len()));
            prop_assert_eq!(back, points);
        }

        #[test]
        fn any_bytes(bytes: Vec<u8>, points: u32, vertices in 0usize..40) {
            let mut out = vec![0; vertices];
            if decode(&bytes, points, &mut out).is_ok() {
                prop_assert!(out.iter().all(|&p| p < points));
            }
        }
    }
}
