//! Levels of detail: any bytes give triangles between vertices that are there, as many as said, or are
//! refused.
#![no_main]
use libfuzzer_sys::fuzz_target;
use meshreel_codec::topology::lod::{LodBuffers, LodEntries, LodReader};

const VERTICES: usize = 200;

fuzz_target!(|data: (Vec<[u8; 3]>, &[u8])| {
    let (triangles, bytes) = data;
    let corner = |v: u8| u32::from(v) % VERTICES as u32;
    let indices: Vec<u32> = (triangles.iter().take(400)).flat_map(|t| t.map(corner)).collect();
    let mut entries = LodEntries::new(bytes, 0);
    while let Ok(Some((_, own))) = entries.next() {
        read(own, &indices);
    }
    read(bytes, &indices);
});

fn read(bytes: &[u8], indices: &[u32]) {
    let Ok(mut reader) = LodReader::new(bytes, indices.len() as u32) else {
        return;
    };
    let head = *reader.head();
    let (mut work, mut before) = (LodBuffers::default(), indices.to_vec());
    let mut becomes = vec![0; VERTICES];
    for level in head.lod_levels() {
        let mut next = vec![0; 3 * level.triangles as usize];
        assert!(4 * next.len() <= 3 * before.len());
        if reader.level(&before, &mut work, &mut becomes, &mut next).is_err() {
            return;
        }
        assert!(next.iter().chain(&becomes).all(|&v| (v as usize) < VERTICES));
        before = next;
    }
    let _ = reader.finish();
}
