//! Lookup tables for contexts in the layout that the vectorized decoders need: small enough for registers and
//! the first cache.

use crate::entropy::rans::Slots;
use crate::mesh::tables::{self, CONTEXTS, LAYERS, REFERENCE_CLASSES};

/// The lookup tables for contexts. They depend on the token tables alone.
#[derive(Debug)]
pub struct ContextLookup {
    /// Per layer, indexed by 8 × the class of the neighbours (leading bits of a float) + the class of the
    /// references: table · 4096 | shift << 24.
    pub(in crate::mesh) directory: Box<[[u32; DIRECTORY_ENTRIES]]>,
    /// The smaller lookup of AVX-512; `None` if there are more than 32 tables.
    #[cfg(target_arch = "x86_64")]
    pub(in crate::mesh) lookup: Option<Box<ByteLookup>>,
}

/// The number of directory entries: 128 classes of neighbours, 8 entries each.
pub(in crate::mesh) const DIRECTORY_ENTRIES: usize = 128 * 8;

/// The bits of 0.25_f32, the smallest sum that is looked up.
pub(in crate::mesh) const QUARTER_BITS: i32 = 125 << 23;

impl ContextLookup {
    /// The bytes of memory behind the struct, without the struct itself.
    pub const BYTES: usize = LAYERS * DIRECTORY_ENTRIES * 4 + LOOKUP;

    /// Builds the lookups. Every entry of `map` must be the number of a table.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub fn new(map: &[u8; CONTEXTS], slots: &[Slots]) -> ContextLookup {
        let entry = |layer: usize, index: usize| {
            // The smallest sum of this class: the kernel looks up the sum minus a half.
            let bits = ((index as u32 / 8) << 21) + QUARTER_BITS as u32;
            let sum = (f32::from_bits(bits) + 0.5).ceil() as i32;
            let near = tables::neighbour_class(if index < 8 { 0 } else { sum });
            let past = (index % 8).min(REFERENCE_CLASSES - 1);
            let table = map[tables::context(layer, near, past)];
            u32::from(table) << 12 | tables::shift(near) << 24
        };
        ContextLookup {
            directory: (0..LAYERS).map(|layer| std::array::from_fn(|index| entry(layer, index))).collect(),
            #[cfg(target_arch = "x86_64")]
            lookup: ByteLookup::new(map, slots).map(Box::new),
        }
    }
}

/// The size in bytes of [`ByteLookup`], where there is one.
#[cfg(target_arch = "x86_64")]
const LOOKUP: usize = size_of::<ByteLookup>();
#[cfg(not(target_arch = "x86_64"))]
const LOOKUP: usize = 0;

/// Byte-sized context lookups for AVX-512.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone)]
pub struct ByteLookup {
    /// By leading bits of the neighbours' sum: the first context of this class of neighbours within its
    /// layer, and its shift.
    pub(in crate::mesh) near: [u8; 128],
    pub(in crate::mesh) shift: [u8; 128],
    /// By layer and context within it: the number of the table.
    pub(in crate::mesh) tables: [[u8; 128]; LAYERS],
    /// By table: the frequency of token 0, out of 4096.
    pub(in crate::mesh) zeros: [u16; 32],
}

#[cfg(target_arch = "x86_64")]
impl ByteLookup {
    pub fn new(map: &[u8; CONTEXTS], slots: &[crate::entropy::rans::Slots]) -> Option<ByteLookup> {
        const { assert!(tables::NEIGHBOUR_CLASSES * REFERENCE_CLASSES <= 128 && REFERENCE_CLASS_LIMIT <= 16) };
        let near = |index: usize| {
            // The smallest sum of this class: the kernel looks up the sum minus a half.
            let bits = ((index as u32) << 21) + QUARTER_BITS as u32;
            let sum = (f32::from_bits(bits) + 0.5).ceil() as i32;
            tables::neighbour_class(if index == 0 { 0 } else { sum })
        };
        let mut zeros = [0; 32];
        if slots.len() > zeros.len() {
            return None;
        }
        for (zero, slots) in zeros.iter_mut().zip(slots) {
            // Token 0 has the first slots.
            *zero = slots.iter().take_while(|&&s| s as u8 == 0).count() as u16;
        }
        Some(ByteLookup {
            near: std::array::from_fn(|index| (REFERENCE_CLASSES * near(index)) as u8),
            shift: std::array::from_fn(|index| tables::shift(near(index)) as u8),
            tables: std::array::from_fn(|layer| {
                let first = tables::context(layer, 0, 0);
                std::array::from_fn(|c| {
                    if c < tables::NEIGHBOUR_CLASSES * REFERENCE_CLASSES { map[first + c] } else { 0 }
                })
            }),
            zeros,
        })
    }
}

/// Magnitudes from this one on are all in the last class of the references.
#[cfg(target_arch = "x86_64")]
pub(in crate::mesh) const REFERENCE_CLASS_LIMIT: usize = 16;
