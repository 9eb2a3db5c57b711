//! Block compression: any bytes as a block; and any bytes through each compressor and back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use meshreel_codec::entropy::block::{BlockFormat, Compressor, Decompressor};

fuzz_target!(|data: &[u8]| {
    let mut decompressor = Decompressor::new();
    if let Ok(size) = Decompressor::raw_size(data)
        && size <= 1 << 24
    {
        let _ = decompressor.decompress(data, &mut vec![0; size]);
    }
    let Some((&choice, raw)) = data.split_first() else {
        return;
    };
    let formats = [BlockFormat::Store, BlockFormat::Deflate, BlockFormat::Lz4, BlockFormat::Zstd];
    let format = formats[usize::from(choice) % formats.len()];
    let mut block = Vec::new();
    Compressor::new(format, 1 + u32::from(choice) / 32).compress(raw, &mut block);
    assert_eq!(Decompressor::raw_size(&block), Ok(raw.len()));
    let mut out = vec![0; raw.len()];
    decompressor.decompress(&block, &mut out).expect("our own block");
    assert_eq!(out, raw);
});
