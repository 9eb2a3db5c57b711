//! The points of particles or curves that are the same in all frames: their ids, or the number of points of
//! each curve. Lossless. Their frames are those of any other mesh; only points that appear or vanish need
//! frames of their own ([`super`]).
//!
//! ```text
//! ids      ascending. For each run of consecutive ids: its first id minus the first that could follow, as two varints, low and high
//!          32 bits; varint, the number of ids in the run
//! curves   for each run of curves with equally many points: varint, the points of each; varint, the number of curves
//! neither  nothing
//! ```

use super::ParticleKind;
use crate::Corrupt;
use crate::bytes::Cursor;
#[cfg(feature = "encode")]
use crate::bytes::put_varint;

/// Points that are the same in all frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointSet {
    /// The id of each point, ascending; empty if points have none.
    pub ids: Vec<u64>,
    /// The number of points of each curve; empty if the points are not those of curves.
    pub curves: Vec<u32>,
}

/// The error of runs that exceed the number of points or curves.
const TOO_MANY: Corrupt = Corrupt("point set: more than the description says");

impl PointSet {
    /// Appends the bytes that [`PointSet::decode`] reads.
    #[cfg(feature = "encode")]
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut next = 0u64;
        for run in self.ids.chunk_by(|a, b| a.checked_add(1) == Some(*b)) {
            let gap = run[0].wrapping_sub(next);
            put_varint(gap as u32, out);
            put_varint((gap >> 32) as u32, out);
            put_varint(run.len() as u32, out);
            next = run[run.len() - 1].wrapping_add(1);
        }
        for run in self.curves.chunk_by(u32::eq) {
            put_varint(run[0], out);
            put_varint(run.len() as u32, out);
        }
    }

    /// Decodes the set of `points` points, with at most `max_curves` curves; refuses bytes that are not used.
    pub fn decode(
        bytes: &[u8],
        kind: ParticleKind,
        points: usize,
        max_curves: usize,
    ) -> Result<PointSet, Corrupt> {
        let mut c = Cursor::new(bytes);
        let mut set = PointSet::default();
        set.ids.reserve_exact(if kind.ids { points } else { 0 });
        // Each run has at least one id, so the loop ends.
        let mut next = Some(0u64);
        while kind.ids && set.ids.len() < points {
            let gap = u64::from(c.varint()?) | u64::from(c.varint()?) << 32;
            let count = c.varint()? as usize;
            if count == 0 || count > points - set.ids.len() {
                return Err(TOO_MANY);
            }
            let first = next.and_then(|next| next.checked_add(gap));
            let last = first.and_then(|first| first.checked_add(count as u64 - 1));
            let (Some(first), Some(last)) = (first, last) else {
                return Err(Corrupt("point set: ids beyond 64 bits"));
            };
            set.ids.extend(first..=last);
            next = last.checked_add(1);
        }
        set.curves.reserve_exact(if kind.curves { max_curves } else { 0 });
        let mut left = points;
        while kind.curves && c.left() > 0 {
            let length = c.varint()?;
            let count = c.varint()? as usize;
            let taken = (length as usize).checked_mul(count);
            if count == 0 || count > max_curves - set.curves.len() || taken.is_none_or(|taken| taken > left) {
                return Err(TOO_MANY);
            }
            left -= length as usize * count;
            set.curves.resize(set.curves.len() + count, length);
        }
        if kind.curves && left > 0 {
            return Err(Corrupt("point set: points of no curve"));
        }
        match c.left() {
            0 => Ok(set),
            _ => Err(Corrupt("point set: bytes left over")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const IDS: ParticleKind = ParticleKind { ids: true, curves: false };
    const CURVES: ParticleKind = ParticleKind { ids: false, curves: true };

    #[test]
    fn golden() {
        let ids = PointSet { ids: vec![0, 1, 2, 7, 1 << 33, u64::MAX], curves: Vec::new() };
        let mut bytes = Vec::new();
        ids.encode(&mut bytes);
        assert_eq!(bytes[..9], [0, 0, 3, 4, 0, 1, 0xF8, 0xFF, 0xFF]);
        assert_eq!(PointSet::decode(&bytes, IDS, 6, 0), Ok(ids));
        for end in 0..bytes.len() {
            assert!(PointSet::decode(&bytes[..end], IDS, 6, 0).is_err());
        }
        let curves = PointSet { ids: Vec::new(), curves: vec![4, 4, 4, 0, 5] };
        let mut bytes = Vec::new();
        curves.encode(&mut bytes);
        assert_eq!(bytes, [4, 3, 0, 1, 5, 1]);
        assert_eq!(PointSet::decode(&bytes, CURVES, 17, 5), Ok(curves));
        assert!(PointSet::decode(&bytes, CURVES, 17, 4).is_err());
        assert!(PointSet::decode(&bytes, CURVES, 18, 5).is_err());
        assert!(PointSet::decode(&bytes, CURVES, 16, 5).is_err());
        let none = PointSet::default();
        assert_eq!(PointSet::decode(&[], ParticleKind::default(), 9, 0), Ok(none));
        assert!(PointSet::decode(&[0], ParticleKind::default(), 9, 0).is_err());
    }

    proptest! {
        #[test]
        fn round_trip(ids in prop::collection::btree_set(any::<u64>(), 0..200), curves: Vec<u8>) {
            let ids = PointSet { ids: ids.into_iter().collect(), curves: Vec::new() };
            let curves: Vec<u32> = curves.iter().map(|length| u32::from(*length % 5)).collect();
            let points = curves.iter().sum::<u32>() as usize;
            let curves = PointSet { ids: Vec::new(), curves };
            for (set, kind, points) in [(&ids, IDS, ids.ids.len()), (&curves, CURVES, points)] {
                let mut bytes = Vec::new();
                set.encode(&mut bytes);
                prop_assert_eq!(&PointSet::decode(&bytes, kind, points, set.curves.len()).unwrap(), set);
            }
        }

        #[test]
        fn any_bytes_are_safe(bytes: Vec<u8>, points in 0usize..1000, ids: bool, curves: bool) {
            let kind = ParticleKind { ids, curves };
            if let Ok(set) = PointSet::decode(&bytes, kind, points, 50) {
                prop_assert!(set.ids.len() <= points && set.curves.len() <= 50);
                prop_assert!(set.ids.windows(2).all(|w| w[0] < w[1]));
            }
        }
    }
}
