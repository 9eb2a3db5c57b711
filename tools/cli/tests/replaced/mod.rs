//! Makes files with content that no compiler writes, and correct checksums.

use meshreel::Reel;
use meshreel_codec::entropy::block::{BlockFormat, Compressor, Decompressor};
use meshreel_format::{Summary, Writer};

/// Returns the file with other content in its only chunk of a kind; all checksums are right.
pub fn replaced(reel: &Reel, kind: u16, change: &dyn Fn(&mut Vec<u8>)) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.reel");
    let mut writer = Writer::create(&path).unwrap();
    for (i, chunk) in reel.chunks().iter().enumerate() {
        let mut bytes = Vec::new();
        reel.reader().read_chunk(i, &mut bytes).unwrap();
        let mut raw = chunk.raw_size;
        if chunk.kind == kind {
            let mut content = vec![0; raw as usize];
            Decompressor::new().decompress(&bytes, &mut content).unwrap();
            change(&mut content);
            raw = content.len() as u32;
            bytes.clear();
            Compressor::new(BlockFormat::Store, 1).compress(&content, &mut bytes);
        }
        writer.add_chunk(chunk.kind, raw, &bytes).unwrap();
    }
    for frame in reel.frames() {
        writer.add_frame(frame.time, frame.bounds).unwrap();
    }
    let header = reel.reader().header();
    writer.finish(Summary { bounds: header.bounds, raw_bytes: header.raw_bytes, flags: 0 }).unwrap();
    std::fs::read(&path).unwrap()
}
