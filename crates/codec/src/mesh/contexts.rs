//! What kernels look contexts up in: as much of the tables as fits into registers and small caches.

use crate::entropy::rans::Slots;
use crate::mesh::tables::{self, CONTEXTS, LAYERS, PAST};

/// The tables in which kernels look contexts up. They depend on the tables of tokens alone.
#[derive(Debug)]
pub struct Contexts {
    /// Per layer, by class of neighbours (of a float's leading bits) and of references: table · 4096 | shift
    /// << 24.
    pub(in crate::mesh) directory: Box<[[u32; DIRECTORY]]>,
    /// For AVX-512.
    #[cfg(target_arch = "x86_64")]
    pub(in crate::mesh) lookup: Option<Box<Lookup>>,
}

/// Classes of neighbours, 8 entries each.
pub(in crate::mesh) const DIRECTORY: usize = 128 * 8;

/// Bits of 0.25, the least of what is looked up.
pub(in crate::mesh) const QUARTER: i32 = 125 << 23;

impl Contexts {
    /// Bytes that they take beside themselves.
    pub const BYTES: usize = LAYERS * DIRECTORY * 4 + LOOKUP;

    /// Every number in `map` is that of a table.
    #[cfg_attr(not(target_arch = "x86_64"), allow(unused_variables))]
    pub fn new(map: &[u8; CONTEXTS], slots: &[Slots]) -> Contexts {
        let entry = |layer: usize, index: usize| {
            // The least sum of that class: what the kernel looks up is the sum less a half.
            let bits = ((index as u32 / 8) << 21) + QUARTER as u32;
            let sum = (f32::from_bits(bits) + 0.5).ceil() as i32;
            let near = tables::near(if index < 8 { 0 } else { sum });
            let past = (index % 8).min(PAST - 1);
            let table = map[tables::context(layer, near, past)];
            u32::from(table) << 12 | tables::shift(near) << 24
        };
        Contexts {
            directory: (0..LAYERS).map(|layer| std::array::from_fn(|index| entry(layer, index))).collect(),
            #[cfg(target_arch = "x86_64")]
            lookup: Lookup::new(map, slots).map(Box::new),
        }
    }
}

/// Bytes of what contexts are looked up in beside the directory.
#[cfg(target_arch = "x86_64")]
const LOOKUP: usize = size_of::<Lookup>();
#[cfg(not(target_arch = "x86_64"))]
const LOOKUP: usize = 0;

/// Bytes in which contexts are looked up.
#[cfg(target_arch = "x86_64")]
#[derive(Debug, Clone)]
pub struct Lookup {
    /// By leading bits of a sum: number of the first context with this class of neighbours, and its shift.
    pub(in crate::mesh) near: [u8; 128],
    pub(in crate::mesh) shift: [u8; 128],
    /// By layer and context within: the table.
    pub(in crate::mesh) tables: [[u8; 128]; LAYERS],
    /// By table: how often token 0 is among 4096.
    pub(in crate::mesh) zeros: [u16; 32],
}

/// The lookup of units without tokens.
#[cfg(target_arch = "x86_64")]
pub(in crate::mesh) static NO_LOOKUP: Lookup =
    Lookup { near: [0; 128], shift: [0; 128], tables: [[0; 128]; LAYERS], zeros: [0; 32] };

#[cfg(target_arch = "x86_64")]
impl Lookup {
    pub fn new(map: &[u8; CONTEXTS], slots: &[crate::entropy::rans::Slots]) -> Option<Lookup> {
        const { assert!(tables::NEAR * PAST <= 128 && PAST_MOST <= 16) };
        let near = |index: usize| {
            // The least sum of that class: what the kernel looks up is the sum less a half.
            let bits = ((index as u32) << 21) + QUARTER as u32;
            let sum = (f32::from_bits(bits) + 0.5).ceil() as i32;
            tables::near(if index == 0 { 0 } else { sum })
        };
        let mut zeros = [0; 32];
        if slots.len() > zeros.len() {
            return None;
        }
        for (zero, slots) in zeros.iter_mut().zip(slots) {
            // Token 0 has the first slots.
            *zero = slots.iter().take_while(|&&s| s as u8 == 0).count() as u16;
        }
        Some(Lookup {
            near: std::array::from_fn(|index| (PAST * near(index)) as u8),
            shift: std::array::from_fn(|index| tables::shift(near(index)) as u8),
            tables: std::array::from_fn(|layer| {
                let first = tables::context(layer, 0, 0);
                std::array::from_fn(|c| if c < tables::NEAR * PAST { map[first + c] } else { 0 })
            }),
            zeros,
        })
    }
}

/// Magnitudes from that on are all in the last class of the references.
#[cfg(target_arch = "x86_64")]
pub(in crate::mesh) const PAST_MOST: usize = 16;
