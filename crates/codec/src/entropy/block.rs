//! Block compression: store, deflate, LZ4 (HC), zstd. Lossless. Encoding needs the feature `encode`; decoding
//! uses C libraries with the feature `native`, and otherwise pure Rust with the same result.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | 1 | `format` | 0 store · 1 deflate · 2 LZ4 · 3 zstd |
//! | 1 | 1 … 5 | `raw_size` | varint, bytes of the content |
//! | … | rest | `data` | store: the content · deflate: a raw stream (RFC 1951) · LZ4: one block without frame · zstd: one frame (RFC 8878) without dictionary |
//!
//! Every block states its own format: a block that a library cannot shrink is stored, whatever the others
//! are. The content's size is in the header, so a decoder can refuse it before it allocates memory; the
//! content must have exactly that size.

use crate::Corrupt;
use crate::bytes::Cursor;

/// Formats of a block. The numbers are part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum BlockFormat {
    Store = 0,
    Deflate = 1,
    Lz4 = 2,
    Zstd = 3,
}

/// The largest size of a block's header, in bytes.
pub const MAX_HEADER_BYTES: usize = 6;

/// Returns the most content that a block of this many bytes may hold, where nothing else limits it: so the
/// memory for a read block is bounded before it is decompressed. Part of the format.
pub const fn max_content_bytes(block: usize) -> usize {
    (64 << 10) + block.saturating_mul(256)
}

/// Splits a block into its format, the size of its content, and its data.
fn split(block: &[u8]) -> Result<(BlockFormat, usize, &[u8]), Corrupt> {
    let mut c = Cursor::new(block);
    let format = match c.u8()? {
        0 => BlockFormat::Store,
        1 => BlockFormat::Deflate,
        2 => BlockFormat::Lz4,
        3 => BlockFormat::Zstd,
        _ => return Err(Corrupt("block: unknown format")),
    };
    let size = usize::try_from(c.varint()?).map_err(|_| Corrupt("block: too large for this machine"))?;
    Ok((format, size, c.bytes(c.left())?))
}

/// Decompresses blocks of any format; reuses its contexts between calls.
///
/// The native libraries allocate nothing per call; the pure-Rust zstd decoder grows its own window as needed.
pub struct Decompressor {
    #[cfg(feature = "native")]
    decoder: native::Decoder,
    #[cfg(not(feature = "native"))]
    decoder: pure::Decoder,
}

impl Decompressor {
    /// Returns a decompressor that is ready for all formats.
    pub fn new() -> Decompressor {
        Decompressor { decoder: Default::default() }
    }

    /// Returns the size of the block's content, from its header. Callers compare it with their limits before
    /// they allocate.
    pub fn raw_size(block: &[u8]) -> Result<usize, Corrupt> {
        split(block).map(|(_, size, _)| size)
    }

    /// Returns the content of a block, without a copy if it is stored; else decompressed to the front of
    /// `scratch`. Fails if that is smaller than the raw size.
    pub fn content<'a>(&mut self, block: &'a [u8], scratch: &'a mut [u8]) -> Result<&'a [u8], Corrupt> {
        let (format, size, data) = split(block)?;
        if format == BlockFormat::Store && data.len() == size {
            return Ok(data);
        }
        let out = scratch.get_mut(..size).ok_or(Corrupt("block: content has another size"))?;
        self.decompress(block, out)?;
        Ok(out)
    }

    /// Fills `out`, whose length must be the raw size.
    pub fn decompress(&mut self, block: &[u8], out: &mut [u8]) -> Result<(), Corrupt> {
        let (format, size, data) = split(block)?;
        if size != out.len() {
            return Err(Corrupt("block: content has another size"));
        }
        if format == BlockFormat::Store {
            if data.len() != size {
                return Err(Corrupt("block: stored content has another size"));
            }
            out.copy_from_slice(data);
            return Ok(());
        }
        match self.decoder.decompress(format, data, out) {
            Some(filled) if filled == size => Ok(()),
            _ => Err(Corrupt("block: data does not decompress to its size")),
        }
    }
}

impl Default for Decompressor {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decompressor")
    }
}

#[cfg(feature = "encode")]
pub use native::Compressor;

/// The C libraries.
#[cfg(feature = "native")]
mod native {
    use super::BlockFormat;
    use crate::bytes::put_varint;
    use lz4::block::CompressionMode;
    use zstd::zstd_safe::{CParameter, DCtx};

    // Tuning: the libraries' levels for effort 1 … 9.
    #[cfg(feature = "encode")]
    const DEFLATE: [i32; 9] = [1, 2, 4, 5, 6, 7, 9, 10, 12];
    #[cfg(feature = "encode")]
    const ZSTD: [i32; 9] = [-3, 1, 2, 3, 4, 6, 9, 15, 19];
    #[cfg(feature = "encode")]
    const LZ4: [CompressionMode; 9] = [
        CompressionMode::FAST(2),
        CompressionMode::FAST(1),
        CompressionMode::HIGHCOMPRESSION(3),
        CompressionMode::HIGHCOMPRESSION(4),
        CompressionMode::HIGHCOMPRESSION(6),
        CompressionMode::HIGHCOMPRESSION(8),
        CompressionMode::HIGHCOMPRESSION(9),
        CompressionMode::HIGHCOMPRESSION(10),
        CompressionMode::HIGHCOMPRESSION(12),
    ];

    /// Compresses blocks; reuses its contexts between calls.
    #[cfg(feature = "encode")]
    pub struct Compressor {
        library: Library,
    }

    #[cfg(feature = "encode")]
    enum Library {
        Store,
        Deflate(libdeflater::Compressor),
        Lz4(CompressionMode),
        Zstd(zstd::bulk::Compressor<'static>),
    }

    #[cfg(feature = "encode")]
    impl Compressor {
        /// Returns a compressor; `effort` 1…9 is mapped to the library's levels.
        pub fn new(format: BlockFormat, effort: u32) -> Compressor {
            let at = effort.clamp(1, 9) as usize - 1;
            let with = match format {
                BlockFormat::Store => Library::Store,
                BlockFormat::Deflate => {
                    let level = libdeflater::CompressionLvl::new(DEFLATE[at]).unwrap_or_default();
                    Library::Deflate(libdeflater::Compressor::new(level))
                }
                BlockFormat::Lz4 => Library::Lz4(LZ4[at]),
                BlockFormat::Zstd => zstd_context(ZSTD[at]).map_or(Library::Store, Library::Zstd),
            };
            Compressor { library: with }
        }

        /// Appends header and compressed `input` to `out`. Stores the content if that is smaller.
        ///
        /// Panics if `input` is 4 GiB or larger.
        pub fn compress(&mut self, input: &[u8], out: &mut Vec<u8>) {
            let size = u32::try_from(input.len()).expect("a block is smaller than 4 GiB");
            let start = out.len();
            out.push(self.format() as u8);
            put_varint(size, out);
            let header = out.len();
            // Only as much room as the content itself: a larger result is stored instead.
            out.resize(header + input.len(), 0);
            match self.shrink(input, &mut out[header..]) {
                Some(written) if written < input.len() => out.truncate(header + written),
                _ => {
                    out[start] = BlockFormat::Store as u8;
                    out[header..].copy_from_slice(input);
                }
            }
        }

        /// Does the same as [`Compressor::compress`], but stores content that would shrink to less than
        /// [`max_content_bytes`](super::max_content_bytes) allows.
        pub fn compress_bounded(&mut self, input: &[u8], out: &mut Vec<u8>) {
            let start = out.len();
            self.compress(input, out);
            if input.len() > super::max_content_bytes(out.len() - start) {
                out.truncate(start);
                Compressor::new(BlockFormat::Store, 1).compress(input, out);
            }
        }

        fn format(&self) -> BlockFormat {
            match self.library {
                Library::Store => BlockFormat::Store,
                Library::Deflate(_) => BlockFormat::Deflate,
                Library::Lz4(_) => BlockFormat::Lz4,
                Library::Zstd(_) => BlockFormat::Zstd,
            }
        }

        /// Compresses into `out`. Returns the size, or `None` if it does not fit or the library refuses.
        fn shrink(&mut self, input: &[u8], out: &mut [u8]) -> Option<usize> {
            if input.is_empty() {
                return None;
            }
            match &mut self.library {
                Library::Store => None,
                Library::Deflate(c) => c.deflate_compress(input, out).ok(),
                Library::Lz4(mode) => lz4::block::compress_to_buffer(input, Some(*mode), false, out).ok(),
                Library::Zstd(c) => c.compress_to_buffer(input, out).ok(),
            }
        }
    }

    #[cfg(feature = "encode")]
    impl std::fmt::Debug for Compressor {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "Compressor({:?})", self.format())
        }
    }

    /// The block's header has the size and the file has checksums, so the zstd frame needs neither.
    #[cfg(feature = "encode")]
    fn zstd_context(level: i32) -> Option<zstd::bulk::Compressor<'static>> {
        let mut c = zstd::bulk::Compressor::new(level).ok()?;
        c.set_parameter(CParameter::ContentSizeFlag(false)).ok()?;
        c.set_parameter(CParameter::ChecksumFlag(false)).ok()?;
        c.set_parameter(CParameter::DictIdFlag(false)).ok()?;
        Some(c)
    }

    pub(super) struct Decoder {
        deflate: libdeflater::Decompressor,
        zstd: Option<DCtx<'static>>,
    }

    impl Default for Decoder {
        fn default() -> Self {
            Decoder { deflate: libdeflater::Decompressor::new(), zstd: DCtx::try_create() }
        }
    }

    impl Decoder {
        /// Returns the bytes of the zstd context, the only one that could grow.
        #[cfg(test)]
        pub(super) fn size(&self) -> Option<usize> {
            self.zstd.as_ref().map(DCtx::sizeof)
        }

        pub(super) fn decompress(
            &mut self,
            format: BlockFormat,
            data: &[u8],
            out: &mut [u8],
        ) -> Option<usize> {
            match format {
                BlockFormat::Store => None,
                BlockFormat::Deflate => self.deflate.deflate_decompress(data, out).ok(),
                BlockFormat::Lz4 => {
                    let size = i32::try_from(out.len()).ok()?;
                    lz4::block::decompress_to_buffer(data, Some(size), out).ok()
                }
                BlockFormat::Zstd => self.zstd.as_mut()?.decompress(out, data).ok(),
            }
        }
    }
}

/// The pure-Rust decoders.
#[cfg(any(test, not(feature = "native")))]
mod pure {
    use super::BlockFormat;
    use miniz_oxide::inflate::TINFLStatus;
    use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

    pub(super) struct Decoder {
        deflate: Box<DecompressorOxide>,
        zstd: ruzstd::decoding::FrameDecoder,
    }

    impl Default for Decoder {
        fn default() -> Self {
            Decoder { deflate: Box::default(), zstd: ruzstd::decoding::FrameDecoder::new() }
        }
    }

    impl Decoder {
        pub(super) fn decompress(
            &mut self,
            format: BlockFormat,
            data: &[u8],
            out: &mut [u8],
        ) -> Option<usize> {
            match format {
                BlockFormat::Store => None,
                BlockFormat::Deflate => {
                    self.deflate.init();
                    let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
                    let (status, _, filled) = decompress(&mut self.deflate, data, out, 0, flags);
                    (status == TINFLStatus::Done).then_some(filled)
                }
                BlockFormat::Lz4 => lz4_flex::block::decompress_into(data, out).ok(),
                BlockFormat::Zstd => self.zstd.decode_all(data, out).ok(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::put_varint;
    use proptest::prelude::*;

    const FORMATS: [BlockFormat; 4] =
        [BlockFormat::Store, BlockFormat::Deflate, BlockFormat::Lz4, BlockFormat::Zstd];

    /// Bytes that resemble residuals: mostly small, with runs.
    fn content(size: usize, seed: u64) -> Vec<u8> {
        let mut s = seed | 1;
        let next = |s: &mut u64| {
            *s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*s >> 56) as u8
        };
        (0..size).map(|k| if k % 97 < 40 { 0 } else { next(&mut s) & next(&mut s) & 15 }).collect()
    }

    fn decompress_both_ways(block: &[u8], size: usize) -> [Result<Vec<u8>, Corrupt>; 2] {
        let mut out = vec![0xAA; size];
        let native = Decompressor::new().decompress(block, &mut out).map(|()| out.clone());
        let rust = split(block).and_then(|(format, raw, data)| {
            if format == BlockFormat::Store || raw != size {
                return native.clone();
            }
            match pure::Decoder::default().decompress(format, data, &mut out) {
                Some(n) if n == size => Ok(out.clone()),
                _ => Err(Corrupt("pure")),
            }
        });
        [native, rust]
    }

    #[test]
    fn golden() {
        let mut out = vec![5];
        Compressor::new(BlockFormat::Store, 5).compress(b"abc", &mut out);
        assert_eq!(out, b"\x05\x00\x03abc");
        let deflate = [1, 5, 0x4B, 0x4C, 0x4C, 0x4C, 0x4C, 0x04, 0x00];
        let lz4 = [2, 20, 0x1A, b'a', 1, 0, 0x50, b'a', b'a', b'a', b'a', b'a'];
        for (block, want) in [(&deflate[..], "aaaaa"), (&lz4[..], "aaaaaaaaaaaaaaaaaaaaaaaaa")] {
            let size = Decompressor::raw_size(block).unwrap();
            for got in decompress_both_ways(block, size) {
                assert_eq!(got.ok().as_deref(), want.as_bytes().get(..size));
            }
        }
    }

    #[test]
    fn every_effort_round_trips() {
        for format in FORMATS {
            for effort in 0..=10 {
                let mut c = Compressor::new(format, effort);
                for size in [0, 1, 2, 13, 255, 256, 257, 5000, 140_000] {
                    let raw = content(size, 3);
                    let (mut block, mut again) = (Vec::new(), Vec::new());
                    c.compress(&raw, &mut block);
                    c.compress(&raw, &mut again);
                    assert_eq!(block, again, "{format:?} {effort} {size}");
                    assert!(block.len() <= size + MAX_HEADER_BYTES);
                    assert_eq!(Decompressor::raw_size(&block), Ok(size));
                    if size >= 5000 && format != BlockFormat::Store {
                        assert_eq!(block[0], format as u8);
                        assert!(block.len() < size * 3 / 4, "{format:?} {effort}");
                    }
                    for got in decompress_both_ways(&block, size) {
                        assert_eq!(got.as_deref(), Ok(&raw[..]), "{format:?} {effort} {size}");
                    }
                    for got in decompress_both_ways(&block, size + 1) {
                        assert!(got.is_err());
                    }
                }
            }
        }
    }

    /// LZ4 has no context and libdeflate's is fixed; only zstd's could grow, with the first block or a larger
    /// one.
    #[test]
    fn contexts_are_made_beforehand() {
        let mut decompressor = Decompressor::new();
        let before = decompressor.decoder.size().unwrap();
        for effort in [1, 5, 9] {
            for size in [100, 5000, 3_000_000] {
                let raw = content(size, 3);
                let mut block = Vec::new();
                Compressor::new(BlockFormat::Zstd, effort).compress(&raw, &mut block);
                let mut out = vec![0; size];
                assert_eq!(decompressor.content(&block, &mut out), Ok(&raw[..]));
                assert_eq!(decompressor.decoder.size(), Some(before));
            }
        }
        let mut block = Vec::new();
        Compressor::new(BlockFormat::Store, 5).compress(b"abc", &mut block);
        assert_eq!(decompressor.content(&block, &mut []), Ok(&b"abc"[..]));
        assert!(decompressor.content(&block[..4], &mut []).is_err());
    }

    #[test]
    fn damage_is_an_error_or_other_bytes() {
        let raw = content(700, 11);
        for format in FORMATS {
            let mut block = Vec::new();
            Compressor::new(format, 5).compress(&raw, &mut block);
            for cut in 0..block.len() {
                for got in decompress_both_ways(&block[..cut], raw.len()) {
                    assert!(got.is_err(), "{format:?} {cut}");
                }
            }
            for at in 0..block.len() {
                for bit in 0..8 {
                    let mut bad = block.clone();
                    bad[at] ^= 1 << bit;
                    let _ = decompress_both_ways(&bad, raw.len());
                }
            }
        }
    }

    proptest! {
        #[test]
        fn random_content_round_trips(raw in proptest::collection::vec(any::<u8>(), 0..600), format in 0usize..4, effort in 1u32..10) {
            let mut block = Vec::new();
            Compressor::new(FORMATS[format], effort).compress(&raw, &mut block);
            for got in decompress_both_ways(&block, raw.len()) {
                prop_assert_eq!(got.as_deref(), Ok(&raw[..]));
            }
        }

        #[test]
        fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..100), format in 0u8..4, size in 0usize..300) {
            let mut block = vec![format];
            put_varint(size as u32, &mut block);
            block.extend(bytes);
            let _ = decompress_both_ways(&block, size);
        }
    }
}
