//! The binary form of USD: numbers of types, and bits of values and list edits.

/// Types of values that are no numbers.
#[allow(missing_docs)]
pub mod kind {
    pub const BOOL: u8 = 1;
    pub const STRING: u8 = 10;
    pub const TOKEN: u8 = 11;
    pub const ASSET: u8 = 12;
    pub const DICTIONARY: u8 = 31;
    pub const TOKEN_LIST: u8 = 32;
    pub const STRING_LIST: u8 = 33;
    pub const PATH_LIST: u8 = 34;
    pub const REFERENCE_LIST: u8 = 35;
    pub const INTEGER_LIST: u8 = 37;
    pub const PATH_VECTOR: u8 = 40;
    pub const TOKEN_VECTOR: u8 = 41;
    pub const SPECIFIER: u8 = 42;
    pub const VARIABILITY: u8 = 44;
    pub const SELECTIONS: u8 = 45;
    pub const TIME_SAMPLES: u8 = 46;
    pub const PAYLOAD: u8 = 47;
    pub const DOUBLE_VECTOR: u8 = 48;
    pub const RETIME_VECTOR: u8 = 49;
    pub const STRING_VECTOR: u8 = 50;
    pub const BLOCK: u8 = 51;
    pub const PAYLOAD_LIST: u8 = 55;
    pub const TIME_CODE: u8 = 56;
    pub const SPLINE: u8 = 59;
    pub const ANIMATION_BLOCK: u8 = 60;
}

/// Types of specs.
#[allow(missing_docs)]
pub mod spec {
    pub const ATTRIBUTE: u32 = 1;
    pub const PRIM: u32 = 6;
    pub const ROOT: u32 = 7;
    pub const RELATIONSHIP: u32 = 8;
    pub const VARIANT: u32 = 10;
}

/// The fewest elements of a compressed array.
pub const MIN_COMPRESSED_ELEMENTS: u64 = 16;
/// Marks the end of a list of fields, and a path without a parent.
pub const END_MARK: u32 = u32::MAX;
