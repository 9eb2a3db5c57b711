//! The reader: round trips, golden files, truncation, flipped bytes, and files whose checksums are right but whose numbers lie.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use meshreel_format::*;
use proptest::prelude::*;

const BOX: [f32; 6] = [-1.0, -2.0, -3.0, 4.0, 5.0, 6.5];

/// A file with three chunks and five frames of different sizes, the first of each empty.
fn write_sample() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sample.reel");
    let mut writer = Writer::create(&path).unwrap();
    for i in 0..3u16 {
        let bytes = vec![i as u8 ^ 0x5a; 7 * usize::from(i)];
        let index = writer.add_chunk(i + 1, 100 + u32::from(i), &bytes).unwrap();
        assert_eq!(index, u32::from(i));
    }
    for i in 0..5u8 {
        let kind = match i % 2 {
            0 => FrameKind::Index,
            _ => FrameKind::Between,
        };
        let bounds = if i == 3 { EMPTY_BOUNDS } else { BOX };
        let bytes: Vec<u8> = (0..i * 3).map(|b| b.wrapping_mul(37)).collect();
        writer
            .add_frame(f64::from(i) / 24.0 - 0.1, kind, bounds, 50, &bytes)
            .unwrap();
    }
    let written = writer.bytes_written();
    let summary = Summary {
        bounds: BOX,
        raw_bytes: 123_456_789_012,
        flags: 5,
    };
    let size = writer.finish(summary).unwrap();
    assert_eq!(size, written + 5 * 64 + 3 * 32);
    assert_eq!(size, std::fs::metadata(&path).unwrap().len());
    std::fs::read(&path).unwrap()
}

fn sample() -> Vec<u8> {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    SAMPLE.get_or_init(write_sample).clone()
}

fn open(bytes: &[u8]) -> Result<Reader, Error> {
    Reader::open(Arc::new(bytes.to_vec()), &Limits::default())
}

/// Opens, and reads every part.
fn read_all(bytes: &[u8]) -> Result<(Reader, Vec<Vec<u8>>), Error> {
    let reader = open(bytes)?;
    let mut parts = Vec::new();
    let mut part = Vec::new();
    for i in 0..reader.chunks().len() {
        reader.read_chunk(i, &mut part)?;
        parts.push(part.clone());
    }
    for i in 0..reader.frames().len() {
        reader.read_frame(i, &mut part)?;
        parts.push(part.clone());
    }
    Ok((reader, parts))
}

fn is_malformed<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Malformed { .. }))
}

fn is_misuse<T>(result: &Result<T, Error>) -> bool {
    matches!(result, Err(Error::Misuse { .. }))
}

#[test]
fn round_trip() {
    let bytes = sample();
    let (reader, parts) = read_all(&bytes).unwrap();
    let header = reader.header();
    assert_eq!((header.version, header.flags), (VERSION, 5));
    assert_eq!((header.frame_count, header.chunk_count), (5, 3));
    assert_eq!((header.raw_bytes, header.bounds), (123_456_789_012, BOX));
    assert_eq!(header.file_size, bytes.len() as u64);
    let kinds: Vec<u16> = reader.chunks().iter().map(|c| c.kind).collect();
    assert_eq!(kinds, [1, 2, 3]);
    assert_eq!(reader.chunks()[2].raw_size, 102);
    assert_eq!(reader.frames()[1].kind, FrameKind::Between);
    assert_eq!(reader.frames()[1].raw_size, 50);
    assert_eq!(reader.frames()[3].bounds, EMPTY_BOUNDS);
    assert_eq!(reader.frames()[4].time, 4.0 / 24.0 - 0.1);
    assert_eq!(parts[1], vec![0x5b; 7]);
    assert_eq!(parts[3], Vec::<u8>::new());
    assert_eq!(parts[4], [0, 37, 74]);
    // Into the caller's own memory: exactly as large as the part.
    let mut three = [0; 3];
    reader.read_frame_into(1, &mut three).unwrap();
    assert_eq!(three, [0, 37, 74]);
    assert!(is_misuse(&reader.read_frame_into(1, &mut [0; 4])));
    assert!(is_misuse(&reader.read_frame(5, &mut Vec::new())));
    assert!(is_misuse(&reader.read_chunk(3, &mut Vec::new())));
}

#[test]
fn writing_twice_gives_equal_bytes() {
    assert_eq!(write_sample(), write_sample());
}

#[test]
fn a_file_of_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("empty.reel");
    let summary = Summary {
        bounds: EMPTY_BOUNDS,
        raw_bytes: 0,
        flags: 0,
    };
    let size = Writer::create(&path).unwrap().finish(summary).unwrap();
    assert_eq!(size, HEADER_SIZE as u64);
    let reader = Reader::open_path(&path, &Limits::default()).unwrap();
    assert!(reader.frames().is_empty() && reader.chunks().is_empty());
}

/// Files of every released version stay as they are. Version 0 is not released: `MESHREEL_GOLDEN=write` renews its files.
#[test]
fn golden_v0() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0/container.reel");
    if std::env::var_os("MESHREEL_GOLDEN").is_some_and(|v| v == "write") {
        std::fs::write(&path, sample()).unwrap();
    }
    let golden = std::fs::read(&path).unwrap();
    assert_eq!(golden, sample());
    read_all(&golden).unwrap();
}

#[test]
fn every_truncation_is_refused() {
    let bytes = sample();
    for len in 0..bytes.len() {
        assert!(is_malformed(&read_all(&bytes[..len])), "{len} bytes");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(is_malformed(&read_all(&longer)));
}

#[test]
fn every_flipped_bit_is_refused() {
    let mut bytes = sample();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            match read_all(&bytes) {
                Err(Error::Malformed { .. }) => {}
                // The version is looked at before the checksum, so that a newer file is called newer and not damaged.
                Err(Error::Unsupported { what, .. }) if (8..12).contains(&at) => {
                    assert!(what.contains("version"));
                }
                other => panic!("byte {at}, bit {bit}: {:?}", other.map(|_| ())),
            }
            bytes[at] ^= 1 << bit;
        }
    }
    read_all(&bytes).unwrap();
}

#[test]
fn a_flipped_frame_spoils_only_itself() {
    let mut bytes = sample();
    let at = open(&bytes).unwrap().frames()[2].offset as usize;
    bytes[at] ^= 1;
    let reader = open(&bytes).unwrap();
    for i in 0..5 {
        assert_eq!(reader.read_frame(i, &mut Vec::new()).is_err(), i == 2);
    }
}

#[test]
fn other_files_are_told_apart() {
    let message = |bytes: &[u8]| read_all(bytes).unwrap_err().to_string();
    assert!(message(b"Ogawa and so on").contains("magic"));
    assert!(message(&[]).contains("magic"));
    assert!(message(&[0; 300]).contains("never finished"));
    assert!(message(&sample()[..100]).contains("shorter"));
    assert!(message(&sample()[..200]).contains("should be"));
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_path_buf(), dir.path().join("missing.reel")] {
        let error = Reader::open_path(&path, &Limits::default()).unwrap_err();
        assert!(matches!(error, Error::Io { .. }));
        assert!(error.to_string().contains(&*path.to_string_lossy()));
    }
}

/// A file that becomes shorter while it is open.
#[test]
fn shrinking_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    std::fs::write(&path, sample()).unwrap();
    let reader = Reader::open_path(&path, &Limits::default()).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(130).unwrap();
    let result = reader.read_frame(4, &mut Vec::new());
    assert!(matches!(result, Err(Error::Io { .. })));
}

#[test]
fn limits_are_the_callers() {
    let bytes: Arc<dyn ReadAt> = Arc::new(sample());
    let exact = Limits {
        max_chunk: 102,
        max_frames: 5,
        max_chunks: 3,
    };
    Reader::open(bytes.clone(), &exact).unwrap();
    let mut small = [exact.clone(), exact.clone(), exact];
    small[0].max_chunk -= 1;
    small[1].max_frames -= 1;
    small[2].max_chunks -= 1;
    for limits in small {
        let result = Reader::open(bytes.clone(), &limits);
        assert!(matches!(result, Err(Error::Limit { .. })));
    }
}

// Lies with right checksums.

fn field(fields: &[Field], name: &str) -> Field {
    *fields.iter().find(|f| f.name == name).unwrap()
}

fn put(bytes: &mut [u8], at: usize, fields: &[Field], name: &str, value: &[u8]) {
    let field = field(fields, name);
    assert!(value.len() <= field.size);
    bytes[at + field.offset..][..value.len()].copy_from_slice(value);
}

fn header_number(bytes: &[u8], name: &str) -> usize {
    let field = field(HEADER_FIELDS, name);
    u64::from_le_bytes(bytes[field.offset..][..8].try_into().unwrap()) as usize
}

/// Makes all checksums of header and tables right again.
fn seal(bytes: &mut [u8]) {
    for (noun, size) in [("frame", FRAME_ENTRY_SIZE), ("chunk", CHUNK_ENTRY_SIZE)] {
        let start = header_number(bytes, &format!("{noun}_table"));
        let len = header_number(bytes, &format!("{noun}_count")).saturating_mul(size);
        if let Some(table) = bytes.get(start..start.saturating_add(len)) {
            let value = checksum(table).to_le_bytes();
            let name = format!("{noun}_table_checksum");
            put(bytes, 0, HEADER_FIELDS, &name, &value);
        }
    }
    let sum = checksum(&bytes[..HEADER_SIZE - 8]).to_le_bytes();
    put(bytes, 0, HEADER_FIELDS, "checksum", &sum);
}

fn lie(change: impl FnOnce(&mut Vec<u8>)) -> Error {
    let mut bytes = sample();
    change(&mut bytes);
    seal(&mut bytes);
    match read_all(&bytes) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

fn lie_header(name: &str, value: &[u8]) -> Error {
    lie(|bytes| put(bytes, 0, HEADER_FIELDS, name, value))
}

fn lie_frame(i: usize, name: &str, value: &[u8]) -> Error {
    lie(|bytes| {
        let at = header_number(bytes, "frame_table") + i * FRAME_ENTRY_SIZE;
        put(bytes, at, FRAME_ENTRY_FIELDS, name, value);
    })
}

fn lie_chunk(i: usize, name: &str, value: &[u8]) -> Error {
    lie(|bytes| {
        let at = header_number(bytes, "chunk_table") + i * CHUNK_ENTRY_SIZE;
        put(bytes, at, CHUNK_ENTRY_FIELDS, name, value);
    })
}

/// The error says that the file is malformed, in these words.
fn assert_malformed(error: Error, words: &str) {
    let text = error.to_string();
    assert!(matches!(error, Error::Malformed { .. }), "{text}");
    assert!(text.contains(words), "{text:?} does not say {words:?}");
}

#[test]
fn unknown_versions_are_refused_by_name() {
    for version in [1u32, 7, u32::MAX] {
        let error = lie_header("version", &version.to_le_bytes());
        let text = error.to_string();
        assert!(matches!(error, Error::Unsupported { .. }), "{text}");
        assert!(text.contains(&format!("version {version} ")), "{text}");
    }
}

#[test]
fn lying_headers_are_refused() {
    let error = lie_header("flags", &0x8000_0005u32.to_le_bytes());
    assert!(matches!(error, Error::Unsupported { .. }));
    for value in [0u64, 1, u64::MAX] {
        assert_malformed(
            lie_header("file_size", &value.to_le_bytes()),
            "bytes long but is",
        );
    }
    for name in ["frame_count", "chunk_count"] {
        for value in [u64::MAX, u64::MAX / 64, 1 << 60, (1 << 24) + 1] {
            let error = lie_header(name, &value.to_le_bytes());
            assert!(matches!(error, Error::Limit { asked, .. } if asked == value));
        }
        assert_malformed(
            lie_header(name, &(1u64 << 24).to_le_bytes()),
            "outside the file",
        );
    }
    for name in ["frame_table", "chunk_table"] {
        for value in [0u64, 127, 1 << 40, u64::MAX, u64::MAX - 100] {
            assert_malformed(lie_header(name, &value.to_le_bytes()), "outside the file");
        }
    }
    assert_malformed(lie_header("reserved", &[0, 0, 1]), "reserved");
    for side in [f32::NAN, f32::INFINITY, 100.0] {
        assert_malformed(lie_header("bounds", &side.to_le_bytes()), "box");
    }
}

#[test]
fn lying_tables_are_refused() {
    let nan = f64::NAN;
    let infinite = f64::INFINITY;
    for time in [nan, infinite, -infinite, -0.1, -1e300, 1e300] {
        assert_malformed(lie_frame(1, "time", &time.to_le_bytes()), "time");
    }
    for kind in 2..=255u8 {
        assert_malformed(lie_frame(1, "kind", &[kind]), "kind");
    }
    for end in [0, 4] {
        assert_malformed(lie_frame(end, "kind", &[1]), "index frame");
    }
    assert_malformed(lie_frame(1, "reserved", &[1]), "reserved");
    assert_malformed(lie_chunk(1, "reserved", &[1]), "reserved");
    assert_malformed(lie_frame(1, "bounds", &f32::NAN.to_le_bytes()), "box");
    for offset in [0u64, 127, 1 << 33, u64::MAX, u64::MAX - 2] {
        assert_malformed(lie_frame(1, "offset", &offset.to_le_bytes()), "outside");
        assert_malformed(lie_chunk(1, "offset", &offset.to_le_bytes()), "outside");
    }
    for size in [100_000u32, u32::MAX] {
        assert_malformed(lie_frame(1, "size", &size.to_le_bytes()), "outside");
        assert_malformed(lie_chunk(1, "size", &size.to_le_bytes()), "outside");
    }
    let raw_size = ((1u32 << 30) + 1).to_le_bytes();
    for error in [
        lie_frame(1, "raw_size", &raw_size),
        lie_chunk(1, "raw_size", &raw_size),
    ] {
        assert!(matches!(error, Error::Limit { .. }));
    }
}

/// Many entries that name the same bytes would make a small file cost much work.
#[test]
fn parts_that_share_bytes_are_refused() {
    let error = lie(|bytes| {
        let size = ((bytes.len() - HEADER_SIZE) as u32).to_le_bytes();
        let offset = (HEADER_SIZE as u64).to_le_bytes();
        for i in 0..2 {
            let at = header_number(bytes, "frame_table") + i * FRAME_ENTRY_SIZE;
            put(bytes, at, FRAME_ENTRY_FIELDS, "offset", &offset);
            put(bytes, at, FRAME_ENTRY_FIELDS, "size", &size);
        }
    });
    assert_malformed(error, "share");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// Changes to header and tables whose checksums are made right again: refused or opened, never a panic.
    #[test]
    fn sealed_changes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)
    ) {
        let mut bytes = sample();
        for (at, value) in changes {
            let at = at.index(bytes.len() - 12) + 12;
            bytes[at] = value;
        }
        seal(&mut bytes);
        let _ = read_all(&bytes);
    }

    #[test]
    fn any_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read_all(&bytes);
        if bytes.len() >= HEADER_SIZE {
            bytes[..8].copy_from_slice(&MAGIC);
            bytes[8..12].fill(0);
            seal(&mut bytes);
            let _ = read_all(&bytes);
        }
    }
}
