//! Ids of a player's files and instances.

/// The id of a file of a player.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub(crate) u32, pub(crate) u32);

/// The id of an instance of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InstanceId(pub(crate) u32, pub(crate) u32);

/// Converts a pair of numbers to one and back, for callers that store ids as plain numbers: across a C
/// interface, or in a script. 0 is never a valid id.
macro_rules! impl_bits {
    ($($Id:ident)*) => {$(
        impl $Id {
            /// Returns the id as one number, never 0.
            pub const fn to_bits(self) -> u64 {
                (self.1 as u64) << 32 | self.0 as u64
            }
            /// Returns the id for a number from [`Self::to_bits`]. Any other number is an id of nothing.
            pub const fn from_bits(bits: u64) -> $Id {
                $Id(bits as u32, (bits >> 32) as u32)
            }
        }
    )*};
}

impl_bits!(FileId InstanceId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_bits() {
        for (place, generation) in [(0, 1), (7, u32::MAX), (u32::MAX, 1)] {
            let file = FileId(place, generation);
            assert_ne!(file.to_bits(), 0);
            assert_eq!(FileId::from_bits(file.to_bits()), file);
            let instance = InstanceId(place, generation);
            assert_eq!(InstanceId::from_bits(instance.to_bits()), instance);
        }
    }
}
