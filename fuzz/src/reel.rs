//! `.reel` files: checksums made right, and changes behind compression and sizes.

use libfuzzer_sys::fuzzer_mutate;
use meshreel_codec::block::{Compressor, Decompressor, Format};
use meshreel_format::{
    CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_SIZE, FRAME_ENTRY_FIELDS, FRAME_ENTRY_SIZE, Field,
    HEADER_FIELDS, HEADER_SIZE, MAGIC, checksum,
};

/// Blocks larger than this are changed as they are, not behind their compression.
const MOST_RAW: usize = 1 << 20;
/// Bytes by which a change may make a part longer.
const GROWTH: usize = 64;

/// Makes all checksums of a `.reel` file right and its length honest, so that changed bytes get further than the first check.
/// False where there is not even a header.
pub fn seal(bytes: &mut [u8]) -> bool {
    if bytes.len() < HEADER_SIZE {
        return false;
    }
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    let len = bytes.len() as u64;
    put(bytes, 0, field(HEADER_FIELDS, "version"), 0);
    put(bytes, 0, field(HEADER_FIELDS, "file_size"), len);
    for (noun, fields, size) in [
        ("frame", FRAME_ENTRY_FIELDS, FRAME_ENTRY_SIZE),
        ("chunk", CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_SIZE),
    ] {
        let header = |name: &str| field(HEADER_FIELDS, &format!("{noun}_{name}"));
        let table = get(bytes, 0, header("table")) as usize;
        let count = get(bytes, 0, header("count")) as usize;
        let Some(end) = count
            .checked_mul(size)
            .and_then(|size| table.checked_add(size))
            .filter(|&end| end <= bytes.len())
        else {
            continue;
        };
        for entry in (table..end).step_by(size) {
            let start = get(bytes, entry, field(fields, "offset")) as usize;
            let size = get(bytes, entry, field(fields, "size")) as usize;
            if let Some(part) = bytes.get(start..start.saturating_add(size)) {
                let sum = checksum(part);
                put(bytes, entry, field(fields, "checksum"), sum);
            }
        }
        let sum = checksum(&bytes[table..end]);
        put(bytes, 0, header("table_checksum"), sum);
    }
    let at = field(HEADER_FIELDS, "checksum");
    let sum = checksum(&bytes[..at.offset]);
    put(bytes, 0, at, sum);
    true
}

fn field(fields: &[Field], name: &str) -> Field {
    *fields
        .iter()
        .find(|field| field.name == name)
        .expect("a field of this name")
}

fn get(bytes: &[u8], structure: usize, field: Field) -> u64 {
    let mut value = [0; 8];
    let at = structure + field.offset;
    value[..field.size].copy_from_slice(&bytes[at..at + field.size]);
    u64::from_le_bytes(value)
}

fn put(bytes: &mut [u8], structure: usize, field: Field, value: u64) {
    let at = structure + field.offset;
    bytes[at..at + field.size].copy_from_slice(&value.to_le_bytes()[..field.size]);
}

/// A file's parts, each with its entry in one of the two tables.
struct Parts {
    header: Vec<u8>,
    frames: Vec<Part>,
    chunks: Vec<Part>,
}

struct Part {
    entry: Vec<u8>,
    block: Vec<u8>,
}

impl Parts {
    fn of(file: &[u8]) -> Option<Parts> {
        let header = file.get(..HEADER_SIZE)?.to_vec();
        let table = |noun: &str, fields: &[Field], size: usize| -> Option<Vec<Part>> {
            let number = |name: &str| {
                get(&header, 0, field(HEADER_FIELDS, &format!("{noun}_{name}"))) as usize
            };
            let start = number("table");
            let end = start.checked_add(number("count").checked_mul(size)?)?;
            let entries = file.get(start..end)?.chunks_exact(size);
            let part = |entry: &[u8]| {
                let start = get(entry, 0, field(fields, "offset")) as usize;
                let end = start.checked_add(get(entry, 0, field(fields, "size")) as usize)?;
                Some(Part {
                    entry: entry.to_vec(),
                    block: file.get(start..end)?.to_vec(),
                })
            };
            entries.map(part).collect()
        };
        let frames = table("frame", FRAME_ENTRY_FIELDS, FRAME_ENTRY_SIZE)?;
        let chunks = table("chunk", CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_SIZE)?;
        Some(Parts {
            header,
            frames,
            chunks,
        })
    }

    /// Parts one after another, then the tables; all sizes, offsets and checksums right.
    fn file(&self) -> Vec<u8> {
        let mut file = self.header.clone();
        for (noun, fields, parts) in [
            ("chunk", CHUNK_ENTRY_FIELDS, &self.chunks),
            ("frame", FRAME_ENTRY_FIELDS, &self.frames),
        ] {
            let mut table = Vec::new();
            for part in parts {
                let mut entry = part.entry.clone();
                let raw = Decompressor::raw_size(&part.block).unwrap_or(0);
                put(&mut entry, 0, field(fields, "offset"), file.len() as u64);
                put(
                    &mut entry,
                    0,
                    field(fields, "size"),
                    part.block.len() as u64,
                );
                put(&mut entry, 0, field(fields, "raw_size"), raw as u64);
                file.extend_from_slice(&part.block);
                table.extend_from_slice(&entry);
            }
            let header = |name: &str| field(HEADER_FIELDS, &format!("{noun}_{name}"));
            let start = file.len() as u64;
            put(&mut file, 0, header("table"), start);
            put(&mut file, 0, header("count"), parts.len() as u64);
            file.extend_from_slice(&table);
        }
        seal(&mut file);
        file
    }
}

/// A custom mutator for whole files. Half of the changes are made to what one block holds, which is then stored without
/// compression, with sizes and offsets put right; the rest to frames as wholes, or to any byte of the file.
/// As [`libfuzzer_sys::fuzz_mutator`] wants it: changes `data[..size]`, returns the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = seed;
    let mut next = |below: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as usize % below.max(1)
    };
    if next(4) > 0
        && let Some(mut parts) = Parts::of(&data[..size])
    {
        let kind = next(8);
        let Parts { frames, chunks, .. } = &mut parts;
        match kind {
            // A frame twice, gone, or in another's place. Times are left as they are, so that they ascend.
            0 if !frames.is_empty() => {
                let (a, b) = (next(frames.len()), next(frames.len()));
                match next(3) {
                    0 => frames[a].block = frames[b].block.clone(),
                    1 => drop(frames.remove(a)),
                    _ => {
                        let kind = field(FRAME_ENTRY_FIELDS, "kind");
                        let other = get(&frames[a].entry, 0, kind) ^ 1;
                        put(&mut frames[a].entry, 0, kind, other);
                    }
                }
            }
            1..=4 if !chunks.is_empty() => {
                let chunk = next(chunks.len());
                change(&mut chunks[chunk].block);
            }
            _ if !frames.is_empty() => {
                let frame = next(frames.len());
                change(&mut frames[frame].block);
            }
            _ => {}
        }
        let file = parts.file();
        if file.len() <= max_size && file != data[..size] {
            data[..file.len()].copy_from_slice(&file);
            return file.len();
        }
    }
    fuzzer_mutate(data, size, max_size)
}

/// Changes what a block holds.
fn change(block: &mut Vec<u8>) {
    let raw_size = Decompressor::raw_size(block)
        .ok()
        .filter(|&n| n <= MOST_RAW);
    let mut raw = vec![0; raw_size.unwrap_or(0)];
    let is_open = raw_size.is_some() && Decompressor::new().decompress(block, &mut raw).is_ok();
    let content = if is_open { &mut raw } else { &mut *block };
    let size = content.len();
    content.resize(size + GROWTH, 0);
    let size = fuzzer_mutate(content, size, size + GROWTH);
    content.truncate(size);
    if is_open {
        block.clear();
        Compressor::new(Format::Store, 1).compress(&raw, block);
    }
}
