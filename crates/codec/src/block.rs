//! Block compression: store, deflate, LZ4 (HC), zstd (B13). Encoding needs the feature `native` (C libraries).

use crate::Corrupt;

/// Formats of a block. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Format {
    Store = 0,
    Deflate = 1,
    Lz4 = 2,
    Zstd = 3,
}

/// Compresses blocks; keeps contexts between calls.
pub struct Compressor {
    _private: (),
}
impl Compressor {
    /// `effort` 1…9 is mapped to each library's levels.
    pub fn new(_format: Format, _effort: u32) -> Compressor {
        todo!()
    }
    /// Appends header and compressed `input` to `out`. Falls back to store where that is smaller.
    pub fn compress(&mut self, _input: &[u8], _out: &mut Vec<u8>) {
        todo!()
    }
}
/// Decompresses blocks of any format; keeps contexts between calls; allocates nothing per call.
pub struct Decompressor {
    _private: (),
}
impl Decompressor {
    /// Ready for all formats.
    pub fn new() -> Decompressor {
        todo!()
    }
    /// Size of the block's content, from its header.
    pub fn raw_size(_block: &[u8]) -> Result<usize, Corrupt> {
        todo!()
    }
    /// Fills `out`, whose length must be the raw size.
    pub fn decompress(&mut self, _block: &[u8], _out: &mut [u8]) -> Result<(), Corrupt> {
        todo!()
    }
}
impl Default for Decompressor {
    fn default() -> Self {
        Self::new()
    }
}
