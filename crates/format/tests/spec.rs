//! Checks that `docs/FORMAT/` agrees with the code: tables, constants, limits and the worked examples; and
//! that links between its sections are valid.

use std::path::Path;
use std::sync::Arc;

use meshreel_format::*;

/// The documents of the format, in reading order.
const DOCUMENTS: [&str; 3] = ["container", "mesh", "clip"];

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/FORMAT/{name}.md"));
    std::fs::read_to_string(path).unwrap()
}

/// Returns all documents, one after the other, with links as if they were one.
fn document() -> String {
    let all = DOCUMENTS.map(read).join("\n");
    DOCUMENTS.iter().fold(all, |all, name| all.replace(&format!("]({name}.md#"), "](#"))
}

/// Returns the lines under a heading of level two, up to the next heading.
fn section<'a>(document: &'a str, heading: &str) -> Vec<&'a str> {
    let title = format!("## {heading}");
    let lines: Vec<&str> = document
        .lines()
        .skip_while(|line| *line != title)
        .skip(1)
        .take_while(|line| !line.starts_with('#'))
        .collect();
    assert!(!lines.is_empty(), "docs/FORMAT has no section {heading:?}");
    lines
}

/// Returns the rows of the first table in these lines, without its head.
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
        lines.iter().any(|line| line.starts_with(&format!("{size} bytes."))),
        "{heading}: not said to be {size} bytes"
    );
    let written: Vec<(usize, usize, &str)> =
        rows(&lines).iter().map(|row| (row[0].parse().unwrap(), row[1].parse().unwrap(), row[2])).collect();
    let coded: Vec<(usize, usize, &str)> = fields.iter().map(|f| (f.offset, f.size, f.name)).collect();
    assert_eq!(written, coded, "{heading}");
    // No gaps, no overlaps.
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
    check_structure("Chunk entry", CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_SIZE);
}

/// The frame table has no fixed size: its fields are as the document names them, and so are the formulas
/// under them.
#[test]
fn frame_table_is_as_documented() {
    let document = document();
    let lines = section(&document, "Frame table");
    let written: Vec<[&str; 3]> = rows(&lines).iter().map(|row| [row[0], row[1], row[2]]).collect();
    let boxes = format!("{BOX_SIZE} per frame");
    let coded = [["0", "1", "clock"], ["1", "8 per frame, or 16", "times"], ["…", &boxes, "boxes"]];
    assert_eq!(written, coded);

    let all = [-1.0, -2.0, -3.0, 1.0, 2.0, 3.0];
    let bounds = [-0.5, 0.0, 0.1, 0.5, 1.5, 2.9];
    let clocks: [(u8, &[f64]); 3] = [
        (0, &[0.0, 0.5, 0.75]),
        (1, &[0.7, 0.7 + 0.013, 0.7 + 2.0 * 0.013]),
        (2, &[3.0 / 24.0, 4.0 / 24.0, 5.0 / 24.0]),
    ];
    for (clock, times) in clocks {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("frames.reel");
        let mut writer = Writer::create(&path).unwrap();
        for &time in times {
            writer.add_frame(time, bounds).unwrap();
        }
        let summary = Summary { bounds: all, raw_bytes: 0, flags: 0 };
        writer.finish(summary).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let reader = Reader::open_path(&path, &Limits::default()).unwrap();
        let table = &bytes[reader.header().frame_table as usize..];
        let size = frame_table_size(times) as usize;
        assert_eq!(table.len(), size, "there are no chunks after it");
        let kept = if clock == 0 { 8 * times.len() } else { 16 };
        assert_eq!(size, 1 + kept + 6 * times.len());
        assert_eq!(table[0], clock);
        let number = |i: usize| f64::from_le_bytes(table[1 + 8 * i..][..8].try_into().unwrap());
        for (i, &time) in times.iter().enumerate() {
            let (a, b, f) = (number(0), number(1), i as f64);
            let formulas = [number(i.min(kept / 8 - 1)), a + f * b, (a + f) / b];
            assert_eq!(formulas[usize::from(clock)], time);
        }
        for (i, frame) in reader.frames().iter().enumerate() {
            for (k, &part) in table[1 + kept + 6 * i..][..6].iter().enumerate() {
                let [low, high] = [all[k % 3], all[k % 3 + 3]].map(f64::from);
                let side = low + (high - low) * (f64::from(part) / 255.0);
                assert_eq!(frame.bounds[k], side as f32);
            }
        }
    }
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
    let written: Vec<(&str, u64)> =
        rows(&lines).iter().map(|row| (row[0], row[1].parse().unwrap())).collect();
    assert_eq!(written, coded);
}

/// The table of chunk kinds lists every number in [`kind`], and the numbers are consecutive.
#[test]
fn kinds_are_as_documented() {
    let text = include_str!("../src/kind.rs");
    let coded: Vec<u16> = (text.lines().filter_map(|line| line.strip_prefix("pub const ")))
        .map(|line| line.split_once("= ").unwrap().1.trim_end_matches(';').parse().unwrap())
        .collect();
    assert_eq!(coded, (kind::DESCRIPTION..=kind::CAMERAS).collect::<Vec<_>>());
    let document = document();
    let table = document.lines().skip_while(|line| !line.starts_with("| kind | chunk |")).skip(2);
    let written: Vec<u16> = table
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').next().unwrap().trim().parse().unwrap())
        .collect();
    assert_eq!(written, coded);
}

/// The bytes of a block that begins with ` ```hex NAME
/// `: on each line an offset, bytes in hex, and a remark after `;`.
fn hex(document: &str, name: &str) -> Vec<u8> {
    let title = format!("```hex {name}");
    let mut bytes = Vec::new();
    for line in document.lines().skip_while(|line| *line != title).skip(1).take_while(|line| *line != "```") {
        let code = line.split(';').next().unwrap();
        let (offset, hex) = code.split_once("  ").unwrap();
        let offset = usize::from_str_radix(offset, 16).unwrap();
        assert_eq!(offset, bytes.len(), "{line}");
        bytes.extend(hex.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()));
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
    writer.add_chunk(5, 5, b"frame").unwrap();
    writer.add_frame(0.5, BOX).unwrap();
    let half = [-1.0, -2.0, -3.0, 0.0, 0.0, 0.0];
    writer.add_frame(0.75, half).unwrap();
    let summary = Summary { bounds: BOX, raw_bytes: 12, flags: 0 };
    writer.finish(summary).unwrap();
    let written = std::fs::read(&path).unwrap();
    let documented = hex(&document(), "container");
    assert!(written == documented, "it should be:\n{}", dump(&written));

    let reader = Reader::open(Arc::new(documented), &Limits::default()).unwrap();
    let mut bytes = Vec::new();
    reader.read_chunk(0, &mut bytes).unwrap();
    assert_eq!(bytes, b"meshreel");
    reader.read_chunk(1, &mut bytes).unwrap();
    assert_eq!(bytes, b"frame");
    let [first, second] = reader.frames() else {
        panic!("two frames");
    };
    assert_eq!((first.time, first.bounds), (0.5, BOX));
    assert_eq!(second.time, 0.75);
    // 128 parts of 255 are the first that reach 0.
    let part = |side: f64| (-side + 2.0 * side * (128.0 / 255.0)) as f32;
    let grown = [-1.0, -2.0, -3.0, part(1.0), part(2.0), part(3.0)];
    assert_eq!(second.bounds, grown);
    assert_eq!(reader.header().raw_bytes, 12);
}

/// Prints the example as the document shows it, at most 8 bytes of one field per line, for use when the
/// layout changes.
fn dump(bytes: &[u8]) -> String {
    let part = |name, size| Field { name, offset: 0, size };
    let parts = [
        part("chunk 0", 8),
        part("chunk 1", 5),
        part("clock", 1),
        part("times", 16),
        part("box of frame 0", 6),
        part("box of frame 1", 6),
    ];
    let structures = [HEADER_FIELDS, &parts, CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_FIELDS];
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

/// Files of `codec` whose head comments describe no bytes of a file: they are about encoding, interpolation,
/// or how kernels work.
const NOT_BYTES: [&str; 8] = [
    "simd/isa.rs",
    "quantize/blend.rs",
    "values/error_bound.rs",
    "values/search.rs",
    "values/parallelogram/kernel.rs",
    "classic/motion/kernel.rs",
    "mesh/mod.rs",
    "mesh/encode",
];

/// Files and folders whose head comments say the same as the document in different words.
const OTHER_WORDS: [&str; 21] = [
    "entropy/nibble.rs",
    "entropy/range.rs",
    "entropy/rans.rs",
    "topology/connectivity.rs",
    "topology/corners.rs",
    "topology/neighbours.rs",
    "topology/partition.rs",
    "schedule.rs",
    "values/changing",
    "values/coding.rs",
    "values/particles",
    "mesh/decode",
    "mesh/hierarchy",
    "mesh/normals",
    "mesh/pack.rs",
    "mesh/pack",
    "mesh/table_sets.rs",
    "mesh/tables.rs",
    "mesh/token.rs",
    "mesh/weights.rs",
    "mesh/defaults.rs",
];

/// The documents repeat the tables and the pseudo-code at the head of each codec, word for word, and in the
/// same order.
#[test]
fn codecs_are_as_documented() {
    let document = document();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../codec/src");
    let mut checked = 0;
    let mut left = vec![root.clone()];
    while let Some(path) = left.pop() {
        let name = path.strip_prefix(&root).unwrap().to_string_lossy().replace('\\', "/");
        if NOT_BYTES.contains(&&*name) || OTHER_WORDS.contains(&&*name) {
            continue;
        }
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let mut rest = &document[..];
        for block in blocks(&std::fs::read_to_string(&path).unwrap()) {
            let at = rest.find(&block);
            let at = at.unwrap_or_else(|| panic!("{}: not in docs/FORMAT:\n{block}", path.display()));
            rest = &rest[at + block.len()..];
            checked += 1;
        }
    }
    assert!(checked > 20, "only {checked} tables and blocks of code found");
}

/// Returns the tables and the blocks of code of a file's first comment, each as the documents show it.
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

/// Turns links between source files into links between sections, which are named after the files.
fn link(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("[`crate::") {
        let (path, after) = after.split_once("`]").unwrap();
        let name = path.rsplit("::").next().unwrap();
        out += &format!("{before}[{name}](#{name})");
        rest = after;
    }
    // A link to a section is valid whichever document holds the section.
    let line = out + rest;
    DOCUMENTS.iter().fold(line, |line, name| line.replace(&format!("]({name}.md#"), "](#"))
}

/// Returns the anchors of a document's headings, as they are written in links.
fn anchors(document: &str) -> Vec<String> {
    let mut fenced = false;
    let mut out = Vec::new();
    for line in document.lines() {
        fenced ^= line.starts_with("```");
        if !fenced && line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || "-_ ".contains(*c));
            out.push(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    out
}

#[test]
fn links_lead_to_sections() {
    let documents = DOCUMENTS.map(|name| (name, read(name)));
    let mut checked = 0;
    for (name, text) in &documents {
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let Some((file, anchor)) = link.split_once('#') else { continue };
            let file = if file.is_empty() { name } else { file.trim_end_matches(".md") };
            let there = documents.iter().find(|(name, _)| *name == file);
            let (_, there) = there.unwrap_or_else(|| panic!("{name}: {link}: no such document"));
            assert!(anchors(there).iter().any(|a| a == anchor), "{name}: {link}: no such section");
            checked += 1;
        }
    }
    assert!(checked > 80, "only {checked} links found");
}

/// The second decoder names, above each of its steps, the section that it follows.
#[test]
fn the_second_decoder_names_sections() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/decode");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "py")).collect();
    assert!(files.len() > 10, "{files:?}");
    let code: String = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let documents = DOCUMENTS.map(|name| (name, anchors(&read(name))));
    let named = |line: &str| {
        let (file, anchor) = line.trim().strip_prefix("# ")?.split_once(".md#")?;
        let (_, anchors) = documents.iter().find(|(name, _)| *name == file)?;
        Some(anchors.iter().any(|a| a == anchor))
    };
    for line in code.lines() {
        assert_ne!(named(line), Some(false), "{line}: no such section");
    }
    // Helpers, which are no steps of decoding.
    let helpers = ["Malformed", "need", "f32", "document", "text_block", "numbers"];
    for (before, line) in code.lines().zip(code.lines().skip(1)) {
        let step = line.strip_prefix("def ").or(line.strip_prefix("class "));
        let Some(name) = step.and_then(|rest| rest.split(['(', ':']).next()) else { continue };
        assert!(helpers.contains(&name) || named(before) == Some(true), "{name} names no section");
    }
}

/// The documents need no source code: they name no file of it.
#[test]
fn documents_stand_for_themselves() {
    for name in DOCUMENTS {
        let text = read(name);
        for word in [".rs`", "crates/", "::"] {
            let line = text.lines().find(|line| line.contains(word));
            assert_eq!(line, None, "{name}");
        }
    }
}
