//! Tests of the reader: round trips, golden files, truncation, flipped bytes, and files with wrong numbers
//! but correct checksums.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use meshreel_format::*;
use proptest::prelude::*;

const BOX: [f32; 6] = [-1.0, -2.0, -3.0, 4.0, 5.0, 6.5];

/// Uneven, so each time is stored as it is.
const TIMES: [f64; 5] = [-0.1, 0.0, 0.125, 0.3, 7.0];

/// A file with eight chunks of different sizes, of which two are empty, and five frames, of which one shows
/// nothing.
fn write_sample_at(times: [f64; 5]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sample.reel");
    let mut writer = Writer::create(&path).unwrap();
    for i in 0..3u16 {
        let bytes = vec![i as u8 ^ 0x5a; 7 * usize::from(i)];
        let index = writer.add_chunk(i + 1, 100 + u32::from(i), &bytes).unwrap();
        assert_eq!(index, u32::from(i));
    }
    for i in 0..5u8 {
        let bytes: Vec<u8> = (0..i * 3).map(|b| b.wrapping_mul(37)).collect();
        writer.add_chunk(u16::from(5 + i % 2), 50, &bytes).unwrap();
        let bounds = if i == 3 { EMPTY_BOUNDS } else { BOX };
        writer.add_frame(times[usize::from(i)], bounds).unwrap();
    }
    let written = writer.bytes_written();
    let summary = Summary { bounds: BOX, raw_bytes: 123_456_789_012, flags: 5 };
    let size = writer.finish(summary).unwrap();
    assert_eq!(size, written + frame_table_size(&times) + 8 * 20);
    assert_eq!(size, std::fs::metadata(&path).unwrap().len());
    std::fs::read(&path).unwrap()
}

fn write_sample() -> Vec<u8> {
    write_sample_at(TIMES)
}

fn sample() -> Vec<u8> {
    static SAMPLE: OnceLock<Vec<u8>> = OnceLock::new();
    SAMPLE.get_or_init(write_sample).clone()
}

fn open(bytes: &[u8]) -> Result<Reader, Error> {
    Reader::open(Arc::new(bytes.to_vec()), &Limits::default())
}

/// Opens a file and reads every chunk.
fn read_all(bytes: &[u8]) -> Result<(Reader, Vec<Vec<u8>>), Error> {
    let reader = open(bytes)?;
    let mut parts = Vec::new();
    let mut part = Vec::new();
    for i in 0..reader.chunks().len() {
        reader.read_chunk(i, &mut part)?;
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
    assert_eq!((header.frame_count, header.chunk_count), (5, 8));
    assert_eq!((header.raw_bytes, header.bounds), (123_456_789_012, BOX));
    assert_eq!(header.file_size, bytes.len() as u64);
    let kinds: Vec<u16> = reader.chunks().iter().map(|c| c.kind).collect();
    assert_eq!(kinds, [1, 2, 3, 5, 6, 5, 6, 5]);
    assert_eq!(reader.chunks()[2].raw_size, 102);
    assert_eq!(reader.chunks()[4].raw_size, 50);
    let times: Vec<f64> = reader.frames().iter().map(|f| f.time).collect();
    assert_eq!(times, TIMES);
    for (i, frame) in reader.frames().iter().enumerate() {
        assert_eq!(frame.bounds, if i == 3 { EMPTY_BOUNDS } else { BOX });
    }
    assert_eq!(parts[1], vec![0x5b; 7]);
    assert_eq!(parts[3], Vec::<u8>::new());
    assert_eq!(parts[4], [0, 37, 74]);
    // Into the caller's memory, which must be exactly as large as the chunk.
    let mut three = [0; 3];
    reader.read_chunk_into(4, &mut three).unwrap();
    assert_eq!(three, [0, 37, 74]);
    assert!(is_misuse(&reader.read_chunk_into(4, &mut [0; 4])));
    assert!(is_misuse(&reader.read_chunk(8, &mut Vec::new())));
    // Bytes that were read by other means can be checked.
    reader.check_chunk(4, &[0, 37, 74]).unwrap();
    assert!(is_malformed(&reader.check_chunk(4, &[0, 37, 75])));
    assert!(is_malformed(&reader.check_chunk(4, &[0, 37])));
    assert!(is_misuse(&reader.check_chunk(8, &[])));
}

/// All three stored forms of times reproduce them exactly, to the bit.
#[test]
fn times_come_back_exactly() {
    let regular: [[f64; 5]; 3] = [
        std::array::from_fn(|i| (i as f64 + 2.0) / 24.0),
        std::array::from_fn(|i| 0.7 + i as f64 * 0.013),
        [-1e300, -1.0, f64::MIN_POSITIVE, 0.5, f64::MAX],
    ];
    let mut kinds = Vec::new();
    for times in regular {
        let bytes = write_sample_at(times);
        let reader = open(&bytes).unwrap();
        let back: Vec<f64> = reader.frames().iter().map(|f| f.time).collect();
        assert_eq!(back, times);
        kinds.push(bytes[reader.header().frame_table as usize]);
    }
    assert_eq!(kinds, [RATE, STEPS, LISTED]);
}

/// A frame's bounds are stored in 255ths of the file's, rounded outwards: they always contain the frame's
/// content.
#[test]
fn boxes_grow_a_little_and_never_shrink() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("boxes.reel");
    let mut writer = Writer::create(&path).unwrap();
    let boxes: [[f32; 6]; 3] =
        [[-0.9, -1.9, -2.9, 3.9, 4.9, 6.4], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [4.0, 5.0, 6.5, 4.0, 5.0, 6.5]];
    for (i, bounds) in boxes.iter().enumerate() {
        writer.add_frame(i as f64, *bounds).unwrap();
    }
    let summary = Summary { bounds: BOX, raw_bytes: 0, flags: 0 };
    writer.finish(summary).unwrap();
    let reader = Reader::open_path(&path, &Limits::default()).unwrap();
    for (frame, given) in reader.frames().iter().zip(boxes) {
        let kept = frame.bounds;
        for k in 0..3 {
            let grain = (BOX[k + 3] - BOX[k]) / 255.0 * 1.001;
            assert!(kept[k] <= given[k] && given[k] - kept[k] < grain);
            assert!(kept[k + 3] >= given[k + 3] && kept[k + 3] - given[k + 3] < grain);
            assert!(kept[k] >= BOX[k] && kept[k + 3] <= BOX[k + 3]);
        }
    }
}

#[test]
fn writing_twice_gives_equal_bytes() {
    assert_eq!(write_sample(), write_sample());
}

#[test]
fn a_file_of_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("empty.reel");
    let summary = Summary { bounds: EMPTY_BOUNDS, raw_bytes: 0, flags: 0 };
    let size = Writer::create(&path).unwrap().finish(summary).unwrap();
    // The frame table of no frames is its first byte.
    assert_eq!(size, HEADER_SIZE as u64 + 1);
    let reader = Reader::open_path(&path, &Limits::default()).unwrap();
    assert!(reader.frames().is_empty() && reader.chunks().is_empty());
}

/// Files of every released version stay as they are. Version 0 is not released: `MESHREEL_GOLDEN=write`
/// renews its files.
#[test]
fn golden_v0() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0/container.reel");
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
                // The version is checked before the checksum, so that a newer file is reported as newer and
                // not as damaged.
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
fn a_flipped_chunk_spoils_only_itself() {
    let mut bytes = sample();
    let at = open(&bytes).unwrap().chunks()[5].offset as usize;
    bytes[at] ^= 1;
    let reader = open(&bytes).unwrap();
    for i in 0..8 {
        assert_eq!(reader.read_chunk(i, &mut Vec::new()).is_err(), i == 5);
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

/// A file that is truncated while it is open gives an error.
#[test]
fn shrinking_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    std::fs::write(&path, sample()).unwrap();
    let reader = Reader::open_path(&path, &Limits::default()).unwrap();
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(130).unwrap();
    let result = reader.read_chunk(7, &mut Vec::new());
    assert!(matches!(result, Err(Error::Io { .. })));
}

#[test]
fn limits_are_the_callers() {
    let bytes: Arc<dyn ReadAt> = Arc::new(sample());
    let exact = Limits::default().with_max_chunk(102).with_max_frames(5).with_max_chunks(8);
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

// Wrong numbers with correct checksums.

fn field(fields: &[Field], name: &str) -> Field {
    *fields.iter().find(|f| f.name == name).unwrap()
}

fn write_field(bytes: &mut [u8], at: usize, fields: &[Field], name: &str, value: &[u8]) {
    let field = field(fields, name);
    assert!(value.len() <= field.size);
    bytes[at + field.offset..][..value.len()].copy_from_slice(value);
}

fn header_number(bytes: &[u8], name: &str) -> usize {
    let field = field(HEADER_FIELDS, name);
    u64::from_le_bytes(bytes[field.offset..][..8].try_into().unwrap()) as usize
}

// The forms of times in the frame table.
const LISTED: u8 = 0;
const STEPS: u8 = 1;
const RATE: u8 = 2;

/// Recomputes all checksums of the header and the tables.
fn seal(bytes: &mut [u8]) {
    for noun in ["frame", "chunk"] {
        let start = header_number(bytes, &format!("{noun}_table"));
        let count = header_number(bytes, &format!("{noun}_count"));
        let times = match bytes.get(start) {
            Some(&LISTED) => count.saturating_mul(8),
            _ => 16,
        };
        let len = match noun {
            "frame" => count.saturating_mul(BOX_SIZE).saturating_add(times).saturating_add(1),
            _ => count.saturating_mul(CHUNK_ENTRY_SIZE),
        };
        if let Some(table) = bytes.get(start..start.saturating_add(len)) {
            let value = checksum(table).to_le_bytes();
            let name = format!("{noun}_table_checksum");
            write_field(bytes, 0, HEADER_FIELDS, &name, &value);
        }
    }
    let sum = checksum(&bytes[..HEADER_SIZE - 8]).to_le_bytes();
    write_field(bytes, 0, HEADER_FIELDS, "checksum", &sum);
}

fn open_changed(change: impl FnOnce(&mut Vec<u8>)) -> Error {
    let mut bytes = sample();
    change(&mut bytes);
    seal(&mut bytes);
    match read_all(&bytes) {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

fn open_changed_header(name: &str, value: &[u8]) -> Error {
    open_changed(|bytes| write_field(bytes, 0, HEADER_FIELDS, name, value))
}

/// Writes `value` at byte `at` of the frame table.
fn write_frame_table(bytes: &mut [u8], at: usize, value: &[u8]) {
    let start = header_number(bytes, "frame_table") + at;
    bytes[start..start + value.len()].copy_from_slice(value);
}

/// Offsets in the frame table: of time `i` in a table that lists them, and of the bounds of frame `i` in the
/// sample's.
fn time_at(i: usize) -> usize {
    1 + 8 * i
}
fn box_at(i: usize) -> usize {
    time_at(5) + BOX_SIZE * i
}

fn open_changed_frames(at: usize, value: &[u8]) -> Error {
    open_changed(|bytes| write_frame_table(bytes, at, value))
}

fn open_changed_chunk(i: usize, name: &str, value: &[u8]) -> Error {
    open_changed(|bytes| {
        let at = header_number(bytes, "chunk_table") + i * CHUNK_ENTRY_SIZE;
        write_field(bytes, at, CHUNK_ENTRY_FIELDS, name, value);
    })
}

/// Asserts that the error says that the file is malformed, in these words.
fn assert_malformed(error: Error, words: &str) {
    let text = error.to_string();
    assert!(matches!(error, Error::Malformed { .. }), "{text}");
    assert!(text.contains(words), "{text:?} does not say {words:?}");
}

#[test]
fn unknown_versions_are_refused_by_name() {
    for version in [1u32, 7, u32::MAX] {
        let error = open_changed_header("version", &version.to_le_bytes());
        let text = error.to_string();
        assert!(matches!(error, Error::Unsupported { .. }), "{text}");
        assert!(text.contains(&format!("version {version} ")), "{text}");
    }
}

#[test]
fn lying_headers_are_refused() {
    let error = open_changed_header("flags", &0x8000_0005u32.to_le_bytes());
    assert!(matches!(error, Error::Unsupported { .. }));
    for value in [0u64, 1, u64::MAX] {
        assert_malformed(open_changed_header("file_size", &value.to_le_bytes()), "bytes long but is");
    }
    for name in ["frame_count", "chunk_count"] {
        for value in [u64::MAX, u64::MAX / 64, 1 << 60, (1 << 24) + 1] {
            let error = open_changed_header(name, &value.to_le_bytes());
            assert!(matches!(error, Error::Limit { asked, .. } if asked == value));
        }
        assert_malformed(open_changed_header(name, &(1u64 << 24).to_le_bytes()), "outside the file");
    }
    for name in ["frame_table", "chunk_table"] {
        for value in [0u64, 127, 1 << 40, u64::MAX, u64::MAX - 100] {
            assert_malformed(open_changed_header(name, &value.to_le_bytes()), "outside the file");
        }
    }
    assert_malformed(open_changed_header("reserved", &[0, 0, 1]), "reserved");
    for side in [f32::NAN, f32::INFINITY, 100.0] {
        assert_malformed(open_changed_header("bounds", &side.to_le_bytes()), "box");
    }
}

#[test]
fn lying_tables_of_frames_are_refused() {
    let wrong = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for time in wrong.into_iter().chain([-0.1, -1e300, 1e300]) {
        assert_malformed(open_changed_frames(time_at(1), &time.to_le_bytes()), "time");
    }
    for kind in 3..=255u8 {
        assert_malformed(open_changed_frames(0, &[kind]), "kind of times");
    }
    for sides in [[1, 0, 0, 0, 255, 255], [0, 0, 255, 255, 255, 254]] {
        assert_malformed(open_changed_frames(box_at(1), &sides), "box");
    }
    // Empty bounds have one stored form: sides out of order in another way are refused.
    assert_malformed(open_changed_frames(box_at(1), &[255, 255, 254, 0, 0, 0]), "box");
    // An infinite side has no points between its ends.
    let infinite = |part: u8| {
        let mut bytes = sample();
        let bounds = [BOX[0], BOX[1], BOX[2], f32::INFINITY, BOX[4], BOX[5]];
        let sides: Vec<u8> = bounds.iter().flat_map(|side| side.to_le_bytes()).collect();
        write_field(&mut bytes, 0, HEADER_FIELDS, "bounds", &sides);
        write_frame_table(&mut bytes, box_at(1), &[0, 0, 0, part, 255, 255]);
        seal(&mut bytes);
        read_all(&bytes)
    };
    infinite(255).unwrap();
    assert_malformed(infinite(254).unwrap_err(), "box");
}

/// Two numbers give all times of such a table: these must be finite and increase, or the file is refused.
#[test]
fn lying_clocks_are_refused() {
    let clock = |kind: u8, a: f64, b: f64| {
        let mut bytes = write_sample_at(std::array::from_fn(|i| i as f64 / 24.0));
        assert_ne!(bytes[header_number(&bytes, "frame_table")], LISTED);
        write_frame_table(&mut bytes, 0, &[kind]);
        write_frame_table(&mut bytes, 1, &a.to_le_bytes());
        write_frame_table(&mut bytes, 9, &b.to_le_bytes());
        seal(&mut bytes);
        read_all(&bytes)
    };
    for kind in [STEPS, RATE] {
        clock(kind, 3.0, 0.5).unwrap();
        for b in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_malformed(clock(kind, 3.0, b).unwrap_err(), "time");
        }
        for a in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300] {
            assert_malformed(clock(kind, a, 1.0).unwrap_err(), "time");
        }
    }
    // Too small a step, then too large a one.
    assert_malformed(clock(STEPS, 1.0, 1e-300).unwrap_err(), "time");
    assert_malformed(clock(STEPS, 0.0, f64::MAX).unwrap_err(), "time");
    assert_malformed(clock(RATE, 1.0, f64::MIN_POSITIVE / 1e9).unwrap_err(), "time");
}

#[test]
fn lying_tables_of_chunks_are_refused() {
    assert_malformed(open_changed_chunk(1, "reserved", &[1]), "reserved");
    for size in [100_000u32, u32::MAX] {
        assert_malformed(open_changed_chunk(1, "size", &size.to_le_bytes()), "outside");
    }
    let raw_size = ((1u32 << 30) + 1).to_le_bytes();
    let error = open_changed_chunk(1, "raw_size", &raw_size);
    assert!(matches!(error, Error::Limit { .. }));
    // A wrong size that fits moves all later chunks: their checksums do not match.
    for size in [6u32, 8, 0] {
        assert_malformed(open_changed_chunk(1, "size", &size.to_le_bytes()), "checksum");
    }
}

/// Many entries that name the same bytes would make a small file expensive to read. That is impossible: a
/// chunk begins where the one before ends, and sizes that fit one by one are refused if they do not fit
/// together.
#[test]
fn chunks_cannot_share_bytes() {
    let reader = open(&sample()).unwrap();
    let mut end = HEADER_SIZE as u64;
    for chunk in reader.chunks() {
        assert_eq!(chunk.offset, end);
        end += u64::from(chunk.size);
    }
    let error = open_changed(|bytes| {
        let half = ((bytes.len() - HEADER_SIZE) as u32 / 2 + 1).to_le_bytes();
        for i in 0..2 {
            let at = header_number(bytes, "chunk_table") + i * CHUNK_ENTRY_SIZE;
            write_field(bytes, at, CHUNK_ENTRY_FIELDS, "size", &half);
        }
    });
    assert_malformed(error, "outside");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// Changes to header and tables, with recomputed checksums: the file is refused or opened, never a panic.
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
        if let Ok(reader) = open(&bytes) {
            let all: u64 = reader.chunks().iter().map(|c| u64::from(c.size)).sum();
            prop_assert!(all <= (bytes.len() - HEADER_SIZE) as u64);
        }
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
