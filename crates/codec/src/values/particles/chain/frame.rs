//! What all chains have: streams, the layout of points, and the points of a frame.

use super::motion;
use crate::values::particles::{ParticleKind, ParticlePoints};

/// The coding of the links of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChainCoding {
    /// By a range coder, which learns how points move.
    #[default]
    Adaptive,
    /// In packed bits.
    Packed,
}

impl ChainCoding {
    /// Returns the number of 32-bit words per point in the saved state of a frame, from which decoding can
    /// resume, for this many components. The values themselves are not among them.
    pub const fn state_len(self, components: usize) -> usize {
        match self {
            ChainCoding::Adaptive => motion::stride(components) - components,
            ChainCoding::Packed => 2 * components,
        }
    }

    pub(super) const fn stride(self, components: usize) -> usize {
        self.state_len(components) + components
    }
}

/// A stream: its number of components, and the bytes of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainStream {
    /// The number of components, 1 to 4.
    pub components: usize,
    /// The bytes of a value: 1, 2 or 4.
    pub word: usize,
}

impl ChainStream {
    #[inline(always)]
    pub(super) fn wrap(self, value: i32) -> i32 {
        let mask = match self.word {
            1 => 0xFF,
            2 => 0xFFFF,
            _ => -1,
        };
        value & mask
    }

    /// Returns the number nearest to 0 that wraps to the same value.
    #[cfg(feature = "encode")]
    pub(super) fn narrow(self, value: i32) -> i32 {
        match self.word {
            1 => i32::from(value as i8),
            2 => i32::from(value as i16),
            _ => value,
        }
    }
}

/// The kind of points, and their maximum numbers.
#[derive(Clone, Copy, Debug)]
pub struct PointLayout<'a> {
    /// The coding of links.
    pub coding: ChainCoding,
    /// The kind of points: with ids, or of curves.
    pub kind: ParticleKind,
    /// The largest number of points of a frame.
    pub max_points: usize,
    /// The largest number of curves of a frame.
    pub max_curves: usize,
    /// The streams.
    pub streams: &'a [ChainStream],
}

/// The points of a frame, and their motion: [`ChainCoding::stride`] numbers per point in each stream; those
/// of packed chains in planes.
#[derive(Clone, Debug, Default)]
pub(super) struct PointFrame {
    pub count: usize,
    pub run: u32,
    pub ids: Vec<u64>,
    pub curves: Vec<u32>,
    pub streams: Vec<Vec<i32>>,
}

impl PointFrame {
    pub fn clear(&mut self, streams: usize) {
        (self.count, self.run) = (0, 0);
        self.ids.clear();
        self.curves.clear();
        self.streams.resize_with(streams, Vec::new);
        self.streams.iter_mut().for_each(Vec::clear);
    }

    /// Takes the points of another frame.
    pub fn copy_points(&mut self, other: &PointFrame) {
        (self.count, self.run) = (other.count, other.run);
        self.ids.extend_from_slice(&other.ids);
        self.curves.extend_from_slice(&other.curves);
    }

    pub fn points(&self) -> ParticlePoints<'_> {
        ParticlePoints { count: self.count, run: self.run, ids: &self.ids, curves: &self.curves }
    }
}

/// Makes room for this many items in all.
pub(super) fn room<T>(list: &mut Vec<T>, count: usize) {
    list.reserve(count.saturating_sub(list.len()));
}
