//! `.reel` files: checksums made right, and changes behind compression and sizes.

use std::ops::Range;

use libfuzzer_sys::fuzzer_mutate;
use meshreel::raw::format::kind;
use meshreel_codec::entropy::block::{BlockFormat, Compressor, Decompressor};
use meshreel_format::{
    BOX_SIZE, CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_SIZE, Field, HEADER_FIELDS, HEADER_SIZE, MAGIC, checksum,
};

/// Blocks larger than this are changed as they are, not behind their compression.
const MAX_RAW_BYTES: usize = 1 << 20;
/// Bytes by which a change may make a part longer.
const GROWTH: usize = 64;

/// Makes all checksums of a `.reel` file right and its length honest, so that changed bytes get further than
/// the first check. False where there is not even a header.
pub fn seal(bytes: &mut [u8]) -> bool {
    if bytes.len() < HEADER_SIZE {
        return false;
    }
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    let len = bytes.len() as u64;
    write_field(bytes, 0, field(HEADER_FIELDS, "version"), 0);
    write_field(bytes, 0, field(HEADER_FIELDS, "file_size"), len);
    if let Some(table) = chunk_table(bytes) {
        let entry = |name: &str| field(CHUNK_ENTRY_FIELDS, name);
        let mut start = HEADER_SIZE;
        for at in table.clone().step_by(CHUNK_ENTRY_SIZE) {
            let end = start.saturating_add(read_field(bytes, at, entry("size")) as usize);
            if let Some(chunk) = bytes.get(start..end) {
                let sum = checksum(chunk);
                write_field(bytes, at, entry("checksum"), sum);
            }
            start = end;
        }
        let sum = checksum(&bytes[table]);
        write_field(bytes, 0, field(HEADER_FIELDS, "chunk_table_checksum"), sum);
    }
    if let Some(table) = frame_table(bytes) {
        let sum = checksum(&bytes[table]);
        write_field(bytes, 0, field(HEADER_FIELDS, "frame_table_checksum"), sum);
    }
    let at = field(HEADER_FIELDS, "checksum");
    let sum = checksum(&bytes[..at.offset]);
    write_field(bytes, 0, at, sum);
    true
}

/// Where the table of chunks lies in a file that has a header.
fn chunk_table(file: &[u8]) -> Option<Range<usize>> {
    let start = header(file, "chunk_table");
    let size = header(file, "chunk_count").checked_mul(CHUNK_ENTRY_SIZE)?;
    within(file, start, size)
}

/// Where the table of frames lies: its first byte says whether it lists all times.
fn frame_table(file: &[u8]) -> Option<Range<usize>> {
    let (start, count) = (header(file, "frame_table"), header(file, "frame_count"));
    let times = match file.get(start)? {
        0 => count.checked_mul(8)?,
        _ => 16,
    };
    let size = count.checked_mul(BOX_SIZE)?.checked_add(times)?;
    within(file, start, size.checked_add(1)?)
}

fn within(file: &[u8], start: usize, size: usize) -> Option<Range<usize>> {
    let end = start.checked_add(size)?;
    (end <= file.len()).then_some(start..end)
}

fn header(file: &[u8], name: &str) -> usize {
    read_field(file, 0, field(HEADER_FIELDS, name)) as usize
}

fn field(fields: &[Field], name: &str) -> Field {
    *fields.iter().find(|field| field.name == name).expect("a field of this name")
}

fn read_field(bytes: &[u8], structure: usize, field: Field) -> u64 {
    let mut value = [0; 8];
    let at = structure + field.offset;
    value[..field.size].copy_from_slice(&bytes[at..at + field.size]);
    u64::from_le_bytes(value)
}

fn write_field(bytes: &mut [u8], structure: usize, field: Field, value: u64) {
    let at = structure + field.offset;
    bytes[at..at + field.size].copy_from_slice(&value.to_le_bytes()[..field.size]);
}

/// A file's parts: chunks, each with its entry in their table, and what the table of frames says.
pub(crate) struct Parts {
    header: Vec<u8>,
    pub chunks: Vec<Part>,
    /// How times are kept, and the times.
    pub clock: Vec<u8>,
    pub boxes: Vec<[u8; BOX_SIZE]>,
}

/// A chunk, and its entry in the table.
#[derive(Clone)]
pub(crate) struct Part {
    entry: Vec<u8>,
    pub block: Vec<u8>,
}

impl Part {
    pub fn kind(&self) -> u16 {
        read_field(&self.entry, 0, field(CHUNK_ENTRY_FIELDS, "kind")) as u16
    }

    pub fn set_kind(&mut self, kind: u16) {
        write_field(&mut self.entry, 0, field(CHUNK_ENTRY_FIELDS, "kind"), kind.into());
    }
}

impl Parts {
    pub fn parse(file: &[u8]) -> Option<Parts> {
        let own = file.get(..HEADER_SIZE)?.to_vec();
        let mut start = HEADER_SIZE;
        let part = |entry: &[u8]| {
            let end = start.checked_add(read_field(entry, 0, field(CHUNK_ENTRY_FIELDS, "size")) as usize)?;
            let block = file.get(start..end)?.to_vec();
            start = end;
            let entry = entry.to_vec();
            Some(Part { entry, block })
        };
        let entries = file[chunk_table(file)?].chunks_exact(CHUNK_ENTRY_SIZE);
        let chunks = entries.map(part).collect::<Option<_>>()?;
        let frames = &file[frame_table(file)?];
        let boxes = header(file, "frame_count") * BOX_SIZE;
        let (clock, boxes) = frames.split_at(frames.len() - boxes);
        Some(Parts { header: own, chunks, clock: clock.to_vec(), boxes: boxes.as_chunks().0.to_vec() })
    }

    /// Numbers of the chunks that are frames.
    pub fn frames(&self) -> Vec<usize> {
        let is_frame =
            |i: &usize| matches!(self.chunks[*i].kind(), kind::INDEPENDENT_UNIT | kind::DEPENDENT_UNIT);
        (0..self.chunks.len()).filter(is_frame).collect()
    }

    /// Takes frame `i` out, its chunk and what the tables say of it.
    pub fn remove_frame(&mut self, i: usize) {
        self.chunks.remove(self.frames()[i]);
        if i < self.boxes.len() {
            self.boxes.remove(i);
            if self.clock[0] == 0 && self.clock.len() >= 9 + 8 * i {
                self.clock.drain(1 + 8 * i..9 + 8 * i);
            }
        }
    }

    /// Says that there are `count` frames more, each some time after the one before.
    pub fn add_frames(&mut self, count: usize) {
        for _ in 0..count {
            self.boxes.push([0, 0, 0, 255, 255, 255]);
            if self.clock.first() == Some(&0) {
                let last = self.clock.last_chunk::<8>().copied().unwrap_or_default();
                let time = f64::from_le_bytes(last) + 1.0;
                self.clock.extend(time.to_le_bytes());
            }
        }
    }

    /// Chunks one after another, then the tables; all sizes and checksums right.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut file = self.header.clone();
        let mut table = Vec::new();
        for part in &self.chunks {
            let mut entry = part.entry.clone();
            let raw = Decompressor::raw_size(&part.block).unwrap_or(0) as u64;
            let mut number = |name, n| write_field(&mut entry, 0, field(CHUNK_ENTRY_FIELDS, name), n);
            number("size", part.block.len() as u64);
            number("raw_size", raw);
            file.extend_from_slice(&part.block);
            table.extend_from_slice(&entry);
        }
        let mut append = |noun: &str, count: usize, table: &[u8]| {
            let start = file.len() as u64;
            let header = |name: &str| field(HEADER_FIELDS, &format!("{noun}_{name}"));
            write_field(&mut file, 0, header("table"), start);
            write_field(&mut file, 0, header("count"), count as u64);
            file.extend_from_slice(table);
        };
        let frames = [&self.clock, self.boxes.as_flattened()].concat();
        append("frame", self.boxes.len(), &frames);
        append("chunk", self.chunks.len(), &table);
        seal(&mut file);
        file
    }
}

/// A custom mutator for whole files. Half of the changes are made to what one block holds, which is then
/// stored without compression, with sizes and offsets put right; the rest to frames as wholes, or to any byte
/// of the file. As [`libfuzzer_sys::fuzz_mutator`] wants it: changes `data[..size]`, returns the new size.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut random = seed;
    let mut next = |below: usize| {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 8) as usize % below.max(1)
    };
    if next(4) > 0
        && let Some(mut parts) = Parts::parse(&data[..size])
    {
        let frames = parts.frames();
        match next(8) {
            // A frame twice, gone, or of the other kind. Times are left as they are, so that they ascend.
            0 if !frames.is_empty() => {
                let (a, b) = (next(frames.len()), next(frames.len()));
                let (frame, other) = (frames[a], frames[b]);
                match next(3) {
                    0 => parts.chunks[frame].block = parts.chunks[other].block.clone(),
                    1 => parts.remove_frame(a),
                    _ => {
                        let kind = match parts.chunks[frame].kind() {
                            kind::INDEPENDENT_UNIT => kind::DEPENDENT_UNIT,
                            _ => kind::INDEPENDENT_UNIT,
                        };
                        parts.chunks[frame].set_kind(kind);
                    }
                }
            }
            1..=4 if !parts.chunks.is_empty() => {
                let chunk = next(parts.chunks.len());
                change(&mut parts.chunks[chunk].block);
            }
            _ if !frames.is_empty() => {
                let frame = frames[next(frames.len())];
                change(&mut parts.chunks[frame].block);
            }
            _ => {}
        }
        let file = parts.to_bytes();
        if file.len() <= max_size && file != data[..size] {
            data[..file.len()].copy_from_slice(&file);
            return file.len();
        }
    }
    fuzzer_mutate(data, size, max_size)
}

/// Changes what a block holds.
fn change(block: &mut Vec<u8>) {
    let raw_size = Decompressor::raw_size(block).ok().filter(|&n| n <= MAX_RAW_BYTES);
    let mut raw = vec![0; raw_size.unwrap_or(0)];
    let is_open = raw_size.is_some() && Decompressor::new().decompress(block, &mut raw).is_ok();
    let content = if is_open { &mut raw } else { &mut *block };
    let size = content.len();
    content.resize(size + GROWTH, 0);
    let size = fuzzer_mutate(content, size, size + GROWTH);
    content.truncate(size);
    if is_open {
        block.clear();
        Compressor::new(BlockFormat::Store, 1).compress(&raw, block);
    }
}
