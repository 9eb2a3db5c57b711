//! `docs/FORMAT.md` says what the code does: tables, constants, limits and the worked example.

use std::path::Path;
use std::sync::Arc;

use meshreel_format::*;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FORMAT.md");
    std::fs::read_to_string(path).unwrap()
}

/// The lines under a heading of level two, up to the next heading.
fn section<'a>(document: &'a str, heading: &str) -> Vec<&'a str> {
    let title = format!("## {heading}");
    let lines: Vec<&str> = document
        .lines()
        .skip_while(|line| *line != title)
        .skip(1)
        .take_while(|line| !line.starts_with('#'))
        .collect();
    assert!(!lines.is_empty(), "FORMAT.md has no section {heading:?}");
    lines
}

/// The rows of the first table in these lines, without its head.
fn rows<'a>(lines: &[&'a str]) -> Vec<Vec<&'a str>> {
    lines
        .iter()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

fn check_structure(heading: &str, fields: &[Field], size: usize) {
    let document = document();
    let lines = section(&document, heading);
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with(&format!("{size} bytes."))),
        "{heading}: not said to be {size} bytes"
    );
    let written: Vec<(usize, usize, &str)> = rows(&lines)
        .iter()
        .map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap(), row[2]))
        .collect();
    let coded: Vec<(usize, usize, &str)> =
        fields.iter().map(|f| (f.offset, f.size, f.name)).collect();
    assert_eq!(written, coded, "{heading}");
    // No holes, no overlaps.
    let mut end = 0;
    for field in fields {
        assert_eq!(field.offset, end, "{heading}: {}", field.name);
        end += field.size;
    }
    assert_eq!(end, size, "{heading}");
}

#[test]
fn structures_are_as_documented() {
    check_structure("Header", HEADER_FIELDS, HEADER_SIZE);
    check_structure("Frame entry", FRAME_ENTRY_FIELDS, FRAME_ENTRY_SIZE);
    check_structure("Chunk entry", CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_SIZE);
}

#[test]
fn constants_are_as_documented() {
    let document = document();
    let version = format!("Version: {VERSION}");
    assert!(document.lines().any(|line| line == version));
    let magic: Vec<String> = MAGIC.iter().map(|b| format!("{b:02X}")).collect();
    assert!(document.contains(&format!("`{}`", magic.join(" "))));
    let limits = Limits::default();
    let coded = [
        ("max_chunk", limits.max_chunk),
        ("max_frames", limits.max_frames),
        ("max_chunks", limits.max_chunks),
    ];
    let lines = section(&document, "Limits");
    let written: Vec<(&str, u64)> = rows(&lines)
        .iter()
        .map(|row| (row[0], row[1].parse().unwrap()))
        .collect();
    assert_eq!(written, coded);
}

/// The bytes of a block that begins with ` ```hex NAME `: on each line an offset, bytes in hex, and a remark after `;`.
fn hex(document: &str, name: &str) -> Vec<u8> {
    let title = format!("```hex {name}");
    let mut bytes = Vec::new();
    for line in document
        .lines()
        .skip_while(|line| *line != title)
        .skip(1)
        .take_while(|line| *line != "```")
    {
        let code = line.split(';').next().unwrap();
        let (offset, hex) = code.split_once("  ").unwrap();
        let offset = usize::from_str_radix(offset, 16).unwrap();
        assert_eq!(offset, bytes.len(), "{line}");
        bytes.extend(
            hex.split_whitespace()
                .map(|byte| u8::from_str_radix(byte, 16).unwrap()),
        );
    }
    bytes
}

#[test]
fn example_is_what_the_writer_writes_and_the_reader_reads() {
    const BOX: [f32; 6] = [-1.0, -2.0, -3.0, 1.0, 2.0, 3.0];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("example.reel");
    let mut writer = Writer::create(&path).unwrap();
    writer.add_chunk(1, 8, b"meshreel").unwrap();
    writer
        .add_frame(0.5, FrameKind::Index, BOX, 5, b"frame")
        .unwrap();
    let summary = Summary {
        bounds: BOX,
        raw_bytes: 12,
        flags: 0,
    };
    writer.finish(summary).unwrap();
    let written = std::fs::read(&path).unwrap();
    let documented = hex(&document(), "container");
    assert!(written == documented, "it should be:\n{}", dump(&written));

    let reader = Reader::open(Arc::new(documented), &Limits::default()).unwrap();
    let mut bytes = Vec::new();
    reader.read_chunk(0, &mut bytes).unwrap();
    assert_eq!(bytes, b"meshreel");
    reader.read_frame(0, &mut bytes).unwrap();
    assert_eq!(bytes, b"frame");
    assert_eq!(reader.frames()[0].time, 0.5);
    assert_eq!(reader.header().raw_bytes, 12);
}

/// The example as the document shows it, at most 8 bytes of one field per line, for whoever changes the layout.
fn dump(bytes: &[u8]) -> String {
    let part = |name, size| {
        [Field {
            name,
            offset: 0,
            size,
        }]
    };
    let structures: [&[Field]; 5] = [
        HEADER_FIELDS,
        &part("the chunk", 8),
        &part("the frame", 5),
        FRAME_ENTRY_FIELDS,
        CHUNK_ENTRY_FIELDS,
    ];
    let mut out = String::new();
    let mut at = 0;
    for field in structures.into_iter().flatten() {
        for (i, piece) in bytes[at..at + field.size].chunks(8).enumerate() {
            let hex: Vec<String> = piece.iter().map(|b| format!("{b:02x}")).collect();
            let name = if i == 0 { field.name } else { "…" };
            out += &format!("{:04x}  {:<23}  ; {name}\n", at + 8 * i, hex.join(" "));
        }
        at += field.size;
    }
    out
}

/// Files of `codec` that only its encoders use.
const ENCODER_ONLY: [&str; 3] = ["ball", "cost", "search"];

/// Part II repeats the tables and the pseudo-code at the head of each codec, word for word, and in the same order.
#[test]
fn codecs_are_as_documented() {
    let document = document();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codec/src");
    let mut checked = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_string_lossy();
        let is_code = path.extension().is_some_and(|extension| extension == "rs");
        if !is_code || ENCODER_ONLY.contains(&&*stem) {
            continue;
        }
        let mut rest = &document[..];
        for block in blocks(&std::fs::read_to_string(&path).unwrap()) {
            let at = rest.find(&block);
            let at = at.unwrap_or_else(|| panic!("{}: not in FORMAT.md:\n{block}", path.display()));
            rest = &rest[at + block.len()..];
            checked += 1;
        }
    }
    assert!(
        checked > 20,
        "only {checked} tables and blocks of code found"
    );
}

/// Tables and blocks of code of a file's first comment, each as FORMAT.md shows it.
fn blocks(source: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut block = String::new();
    let mut fenced = false;
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        let fence = line.starts_with("```");
        if fence || fenced || line.starts_with('|') {
            block += &link(line);
            block.push('\n');
        }
        fenced ^= fence;
        if !(fenced || line.starts_with('|') || block.is_empty()) {
            blocks.push(std::mem::take(&mut block));
        }
    }
    blocks.extend((!block.is_empty()).then_some(block));
    blocks
}

/// Links between files of code become links between sections.
fn link(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("[`crate::") {
        let (name, after) = after.split_once("`]").unwrap();
        out += &format!("{before}[{name}](#{name})");
        rest = after;
    }
    out + rest
}
