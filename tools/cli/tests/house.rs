//! The rules of the repository as tests: those that Cargo cannot enforce. `ARCHITECTURE.md` gives the
//! reasons.

mod arrows;
mod comments;
mod functions;
mod growth;
mod imports;
mod names;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Files that may contain unsafe code, apart from the files of `codec` that are named after an instruction
/// set.
const UNSAFE_FILES: &[&str] = &[
    // The token of an instruction set for numbers that are made without one.
    "crates/codec/src/simd/lanes/narrow.rs",
    "crates/play/src/stream/heap.rs",
    "crates/play/tests/allocations.rs",
    "crates/play/tests/memory.rs",
    "tools/cli/src/counting.rs",
    // The entry point of an extension of Godot.
    "integrations/godot/src/extension.rs",
    "fuzz/src/meter.rs",
];
const UNSAFE_FOLDERS: &[&str] = &["bindings/c/", "bindings/web/wasm/"];
const INSTRUCTION_SETS: &[&str] = &["sse2", "ssse3", "sse41", "avx2", "avx512", "neon", "wasm128"];

/// Files of readers that open or look for files by a path, and how often: only paths that a caller named.
/// Files named by a file are opened by `Folder` of `meshreel-files` alone.
const OPENED: &[(&str, usize)] = &[
    ("read/src/open.rs", 2),
    ("read/src/sequence/pattern.rs", 1),
    ("read/src/sequence/files.rs", 1),
    ("read/src/alembic/hdf5/container.rs", 1),
    ("read/src/bvh.rs", 1),
    ("read/src/fbx/mod.rs", 1),
    ("read/src/gltf/document.rs", 1),
    ("read/src/obj.rs", 1),
    ("read/src/ply.rs", 1),
    ("read/src/points.rs", 1),
    ("read-usd/src/assets.rs", 1),
];

const MAX_FILE_LINES: usize = 800;
const MAX_FUNCTION_LINES: usize = 80;
const MAX_ARGUMENTS: usize = 7;

/// Folders of tests, whose files are not program code.
const OF_TESTS: &[&str] = &["/tests/", "/benches/", "/Tests~/", "/unreal/Tests/"];

/// Functions that may be longer or take more arguments, at most fifteen: file, name, reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    ("tools/cli/src/picture/font.rs", "strokes", "a table: one line for each character"),
    ("crates/codec/src/mesh/encode/frame.rs", "token_block", "a kernel: what it takes stays in registers"),
    ("crates/codec/src/mesh/encode/frame.rs", "pack_block", "a kernel: what it takes stays in registers"),
    (
        "crates/codec/src/values/stream.rs",
        "encode_residuals",
        "one pass over values for reading, writing and skipping",
    ),
];

/// Files that may be longer: file, reason.
const LONG_FILES: &[(&str, &str)] = &[];

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).expect("the repository's root")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns all files of the repository by their path from its root, without build outputs and test data.
fn files() -> Vec<String> {
    fn walk(folder: &Path, root: &Path, out: &mut Vec<String>) {
        for entry in fs::read_dir(folder).expect("a readable folder").flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir() {
                let skipped = [".git", "target", "testdata", "node_modules", "corpus", "artifacts"];
                if !skipped.contains(&&*name) {
                    walk(&path, root, out);
                }
            } else if kind.is_file() {
                let path = path.strip_prefix(root).expect("inside the root");
                out.push(path.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    let root = root();
    let mut out = Vec::new();
    walk(&root, &root, &mut out);
    out.sort();
    out
}

/// Returns path and text of every Rust source.
fn sources() -> Vec<(String, String)> {
    let sources: Vec<_> = files()
        .into_iter()
        .filter(|path| path.ends_with(".rs"))
        .map(|path| {
            let text = read(&root().join(&path));
            (path, text)
        })
        .collect();
    assert!(sources.len() > 30, "the sources were not found");
    sources
}

/// Returns name, folder and manifest of every package of the workspace.
fn packages() -> Vec<(String, String, Table)> {
    let mut out = Vec::new();
    for path in files() {
        let Some(folder) = path.strip_suffix("/Cargo.toml") else {
            continue;
        };
        if folder.starts_with("fuzz") {
            continue;
        }
        let manifest: Table = read(&root().join(&path)).parse().expect("a manifest");
        // The workspaces of the model checker and of the GPU tests, like that of the fuzz targets, are
        // independent.
        let is_test = ["/model", "/on_adapter"].iter().any(|end| folder.ends_with(end));
        if is_test && manifest.contains_key("workspace") {
            continue;
        }
        let name = manifest["package"]["name"].as_str().expect("a name").to_owned();
        out.push((name, folder.to_owned(), manifest));
    }
    assert!(out.len() > 5, "the packages were not found");
    out
}

/// Returns all packages that a manifest names, for every target, including build and test dependencies.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    std::iter::once(manifest)
        .chain(targets)
        .flat_map(|table| KINDS.iter().filter_map(|kind| table.get(*kind)?.as_table()))
        .flat_map(Table::keys)
        .cloned()
        .collect()
}

/// Returns the code alone: comments, strings and characters become blanks, so that a search finds only code.
fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let len = if rest.starts_with(b"//") {
            rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len())
        } else if rest.starts_with(b"/*") {
            block_comment(rest)
        } else if let Some(len) = raw_string(rest, at.checked_sub(1).map(|i| bytes[i])) {
            len
        } else if rest[0] == b'"' {
            quoted(rest, b'"')
        } else if rest[0] == b'\'' && is_character(rest) {
            quoted(rest, b'\'')
        } else {
            at += 1;
            continue;
        };
        for byte in &mut out[at..at + len] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at += len;
    }
    String::from_utf8(out).expect("still text")
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += 1;
        }
    }
    at
}

fn raw_string(rest: &[u8], before: Option<u8>) -> Option<usize> {
    if rest[0] != b'r' || before.is_some_and(|b| b != b'b' && (b.is_ascii_alphanumeric() || b == b'_')) {
        return None;
    }
    let hashes = rest[1..].iter().take_while(|&&b| b == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None;
    }
    let start = hashes + 2;
    let end = format!("\"{}", "#".repeat(hashes));
    let len = rest[start..].windows(end.len()).position(|window| window == end.as_bytes())?;
    Some(start + len + end.len())
}

fn quoted(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// `true` for a character, `false` for a lifetime: `'x'`, `'\n'`, `'é'`.
fn is_character(rest: &[u8]) -> bool {
    rest.get(1) == Some(&b'\\')
        || rest.iter().skip(2).take(4).position(|&b| b == b'\'').is_some_and(|n| n == 0 || rest[1] >= 0x80)
}

fn has_word(code: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word)
        .any(|(at, _)| !code[..at].ends_with(part) && !code[at + word.len()..].starts_with(part))
}

/// Fails with all findings, not only the first.
fn assert_none(found: Vec<String>, rule: &str) {
    assert!(found.is_empty(), "{rule}:\n  {}", found.join("\n  "));
}

#[test]
fn code_is_told_from_comments_and_strings() {
    let text = r##"a /* x /* y */ z */ b // unsafe
        "un\"safe" r#"uns"afe"# b"q" 'c' '\'' 'é' fn f<'a>(x: &'a str) {} unsafe2 br"raw" c"##;
    let code = code_of(text);
    assert_eq!(code.len(), text.len());
    let words: Vec<&str> = code.split_whitespace().collect();
    assert_eq!(words.join(" "), "a b b fn f<'a>(x: &'a str) {} unsafe2 b c");
    assert!(!has_word(&code, "unsafe"));
    assert!(has_word("x unsafe{", "unsafe"));
}

/// Some packages must not use certain external packages or parts of the standard library.
#[test]
fn nobody_knows_more_than_it_should() {
    let mut found = Vec::new();
    for (name, _, manifest) in packages() {
        let imports = dependencies(&manifest);
        let forbidden: &[&str] = match &*name {
            "meshreel-codec" => &["rayon", "memmap2", "glam", "tempfile"],
            "meshreel-format" => &["rayon", "lz4", "libdeflater", "zstd", "lz4_flex", "ruzstd"],
            "meshreel" => &["wgpu", "glam", "rayon", "hdf5-reader", "gltf", "gltf-json"],
            "meshreel-options" | "meshreel-inputs" => &["clap", "indicatif", "rayon"],
            "meshreel-process" | "meshreel-compile" | "meshreel-extract" | "meshreel-check" => {
                &["wgpu", "winit", "hdf5-reader", "clap"]
            }
            _ => &[],
        };
        for import in imports.iter().filter(|import| forbidden.contains(&&***import)) {
            found.push(format!("{name} imports {import}"));
        }
        if !name.ends_with("-cli")
            && !name.ends_with("-viewer")
            && !arrows::FREE.contains(&&*name)
            && imports.contains("anyhow")
        {
            found.push(format!("{name} imports anyhow, which is for tools"));
        }
    }
    for (path, text) in sources() {
        // The choice of kernels depends on the machine, and on one environment variable.
        let forbidden: &[&str] = if path == "crates/codec/src/simd/isa.rs" {
            &["std::fs", "std::time", "std::thread", "std::net"]
        } else if path.starts_with("crates/codec/src/") {
            &["std::fs", "std::time", "std::thread", "std::net", "std::env"]
        } else if ["crates/scene/src/", "crates/process/src/", "crates/options/src/"]
            .iter()
            .any(|folder| path.starts_with(folder))
        {
            &["std::net", "std::fs"]
        } else if path.starts_with("crates/") && !path.starts_with("crates/http/tests/") {
            &["std::net"]
        } else {
            &[]
        };
        let code = code_of(&text);
        for word in forbidden.iter().filter(|word| has_word(&code, word)) {
            found.push(format!("{path} uses {word}"));
        }
    }
    assert_none(found, "knowledge that does not belong there");
}

#[test]
fn unsafe_code_is_only_where_it_is_allowed() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let stem = path.rsplit('/').next().unwrap_or_default();
        let stem = stem.trim_end_matches(".rs");
        let allowed = UNSAFE_FILES.contains(&&*path)
            || UNSAFE_FOLDERS.iter().any(|folder| path.starts_with(folder))
            || (path.starts_with("crates/codec/src/") && INSTRUCTION_SETS.contains(&stem));
        let code = code_of(&text);
        if !allowed && (has_word(&code, "unsafe") || has_word(&code, "unsafe_code")) {
            found.push(path);
        }
    }
    assert_none(found, "unsafe code");
}

#[test]
fn every_package_inherits_the_lints() {
    let mut found = Vec::new();
    for (name, _, manifest) in packages() {
        let lints = manifest.get("lints");
        let inherits = lints.and_then(|lints| lints.get("workspace")).and_then(Value::as_bool) == Some(true);
        let own = lints.and_then(|lints| lints.get("rust")?.get("unsafe_code")).and_then(Value::as_str);
        let apart = manifest.contains_key("workspace") && own == Some("deny");
        if !inherits && !apart {
            found.push(name);
        }
    }
    assert_none(found, "packages without `[lints] workspace = true`");
    let workspace: Table = read(&root().join("Cargo.toml")).parse().expect("a manifest");
    let lint = &workspace["workspace"]["lints"]["rust"]["unsafe_code"];
    assert_eq!(lint.as_str(), Some("deny"));
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        if lines > MAX_FILE_LINES && !LONG_FILES.iter().any(|(file, _)| *file == path) {
            found.push(format!("{path}: {lines} lines, {MAX_FILE_LINES} allowed"));
        }
        // A fuzz target begins with an attribute; every other file with a sentence.
        let first = text.lines().find(|line| !line.starts_with("#!["));
        if !first.is_some_and(|line| line.starts_with("//!")) {
            found.push(format!("{path}: does not begin with what it is"));
        }
    }
    let scripts = ["py", "js", "mjs", "ts", "sh", "wgsl"];
    for path in files().iter().filter(|path| scripts.contains(&path.rsplit('.').next().unwrap_or_default())) {
        let lines = read(&root().join(path)).lines().count();
        if lines > MAX_FILE_LINES {
            found.push(format!("{path}: {lines} lines, {MAX_FILE_LINES} allowed"));
        }
    }
    assert_none(found, "files too long or without a beginning");
}

/// Returns the folder of each package, and its sources by their path below `src`.
fn crates() -> Vec<(String, Vec<(String, String)>)> {
    let sources = sources();
    packages()
        .into_iter()
        .map(|(_, folder, _)| {
            let own = sources.iter().filter_map(|(path, text)| {
                let below = path.strip_prefix(&format!("{folder}/src/"))?;
                Some((below.to_owned(), text.clone()))
            });
            let own = own.collect();
            (folder, own)
        })
        .collect()
}

#[test]
fn modules_form_no_circles() {
    let mut found = Vec::new();
    for (folder, sources) in crates() {
        let sources = sources.iter().map(|(path, text)| (&path[..], &text[..]));
        let circles = imports::Crate::new(sources).cycles();
        found.extend(circles.into_iter().map(|circle| format!("{folder}: {circle}")));
    }
    assert_none(found, "modules that import each other in a circle");
}

#[test]
fn functions_are_short() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        if OF_TESTS.iter().any(|folder| path.contains(folder)) {
            continue;
        }
        for function in functions::functions(&path, &text) {
            let functions::Function { name, lines, arguments } = function;
            if (lines > MAX_FUNCTION_LINES || arguments > MAX_ARGUMENTS)
                && !EXCEPTIONS.iter().any(|(file, known, _)| *file == path && *known == name)
            {
                found.push(format!("{path}: {name} has {lines} lines, {arguments} arguments"));
            }
        }
    }
    assert!(EXCEPTIONS.len() <= 15);
    assert_none(found, "functions that are too long, or take too much");
}

/// Lines of code only rise with a reason: their numbers stand in `house/growth.rs`.
#[test]
fn code_does_not_grow_unnoticed() {
    let mut counted = vec![0; growth::LINES.len()];
    let (mut found, mut elsewhere) = (Vec::new(), BTreeSet::new());
    for path in files() {
        let lines = match fs::read_to_string(root().join(&path)) {
            Ok(text) => growth::lines_of_code(&path, &text),
            Err(_) => 0,
        };
        let own = growth::LINES.iter().position(|(folder, _)| path.starts_with(folder));
        match own {
            Some(own) => counted[own] += lines,
            None if lines > 0 => {
                elsewhere.insert(path.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned());
            }
            None => {}
        }
    }
    for ((folder, most), lines) in growth::LINES.iter().zip(&counted) {
        let least = most - most * growth::ROOM_PERCENT / 100;
        if !(least..=*most).contains(lines) {
            found.push(format!("{folder}: {lines} lines of code, the table says {most}"));
        }
    }
    found.extend(elsewhere.into_iter().map(|folder| format!("{folder}: in no row of the table")));
    println!("{} lines of code", counted.iter().sum::<usize>());
    assert_none(found, "lines of code");
}

#[test]
fn names_are_words_of_the_field() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        let names::Definitions { items, members } = names::definitions(&path, &text);
        for name in items.iter().chain(&members) {
            if let Some(instead) = names::instead(&path, name) {
                found.push(format!("{path}: {name}: say {instead}"));
            }
        }
        let empty = items.iter().filter(|name| names::is_empty(name));
        found.extend(empty.map(|name| format!("{path}: {name} says nothing")));
    }
    assert_none(found, "names that the field has other words for (docs/GLOSSARY.md)");
}

#[test]
fn words_of_names() {
    assert_eq!(names::words("TriangleVisibility"), ["triangle", "visibility"]);
    assert_eq!(names::words("frame_kind"), ["frame", "kind"]);
    assert!(names::instead("crates/play/src/lib.rs", "DrawnRanges").is_some());
    assert!(names::instead("crates/play/src/lib.rs", "Drawing").is_none());
    // Words of text are words.
    assert!(names::instead("crates/read/src/lines.rs", "Words").is_none());
    assert!(names::instead("crates/codec/src/clip/curve/keys.rs", "Words").is_some());
    assert!(names::instead("crates/codec/src/lib.rs", "levels").is_some());
    assert!(names::instead("crates/codec/src/lib.rs", "HierarchyLevels").is_none());
}

#[test]
fn what_files_name_is_opened_by_one_function() {
    let calls = ["File::open(", "FileSource::open(", "meshreel_files::", "fs::"];
    let mut found = Vec::new();
    for (path, text) in sources() {
        let Some(own) = path.strip_prefix("crates/") else {
            continue;
        };
        let is_reader = ["read/src/", "read-usd/src/"].iter().any(|folder| own.starts_with(folder));
        if !is_reader || own.ends_with("tests.rs") {
            continue;
        }
        let code = code_of(&text);
        let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
        let lines = code.lines().filter(|line| !line.starts_with("use "));
        let count: usize =
            lines.map(|line| calls.iter().map(|call| line.matches(call).count()).sum::<usize>()).sum();
        let allowed = OPENED.iter().find(|(file, _)| *file == own).map_or(0, |(_, count)| *count);
        if count != allowed {
            found.push(format!("{path}: {count} files opened by a path, {allowed} allowed"));
        }
    }
    assert_none(found, "files that readers open by other means than `Folder`");
}

#[test]
fn nothing_is_left_undone() {
    let words = ["todo!", "unimplemented!", "dbg!"];
    let mut found = Vec::new();
    for (path, text) in sources() {
        let code = code_of(&text);
        for word in words.iter().filter(|word| code.contains(**word)) {
            found.push(format!("{path}: {word}"));
        }
    }
    assert_none(found, "unfinished code");
}

/// Text files name no place of one particular machine, and hold no two versions that a merge left behind.
#[test]
fn no_paths_of_one_machine_and_no_unfinished_merges() {
    // In two pieces, so that this file does not find itself.
    let places = [concat!("/wo", "rk/"), concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("C:", "\\")];
    let merges = ["<<<<<<< ", ">>>>>>> "];
    let kinds = ["rs", "toml", "md", "sh", "py", "yml", "yaml", "json", "txt", "js", "ts", "wgsl", "h"];
    let mut found = Vec::new();
    for path in files() {
        let kind = path.rsplit('.').next().unwrap_or_default();
        if !kinds.contains(&kind) && path != ".ci/run" {
            continue;
        }
        let text = String::from_utf8_lossy(&fs::read(root().join(&path)).expect("readable")).into_owned();
        for (number, line) in text.lines().enumerate() {
            let unfinished = merges.iter().any(|mark| line.starts_with(mark));
            if unfinished || places.iter().any(|place| line.contains(place)) {
                found.push(format!("{path}:{}", number + 1));
            }
        }
    }
    assert_none(found, "paths of one machine, or unfinished merges");
}

/// Each library has one error. Those that read and write bytes have the same five classes; the others pass
/// these on. `codec` knows only corrupt bytes.
#[test]
fn libraries_have_one_error_of_five_classes() {
    let mut found = Vec::new();
    for (name, folder, _) in packages() {
        let classes: &[&str] = match &*name {
            "meshreel-format" | "meshreel-scene" => &["Io", "Malformed", "Unsupported", "Limit", "Misuse"],
            "meshreel-compile" => &["Unsupported", "Limit", "Misuse"],
            "meshreel-options" => &["Malformed", "Misuse"],
            "meshreel-inputs" => &["Io", "Unsupported", "Misuse"],
            // They use the error of the scene, or of the container.
            _ => continue,
        };
        let errors: Vec<_> = sources()
            .into_iter()
            .filter(|(path, _)| path.starts_with(&format!("{folder}/src/")))
            .map(|(path, text)| (path, code_of(&text)))
            .filter(|(_, code)| has_word(code, "pub enum Error"))
            .collect();
        let [(path, code)] = &errors[..] else {
            found.push(format!("{name}: {} errors", errors.len()));
            continue;
        };
        for class in classes.iter().filter(|class| !has_word(code, class)) {
            found.push(format!("{path}: no class {class}"));
        }
        if !code.contains("#[non_exhaustive]") {
            found.push(format!("{path}: not non-exhaustive"));
        }
    }
    assert_none(found, "errors");
}

/// Comments and documents refer to documents of this repository only, by their names in capitals.
#[test]
fn documents_that_are_named_exist() {
    let mut found = Vec::new();
    for path in files() {
        let kind = path.rsplit('.').next().unwrap_or_default();
        if !["rs", "md", "py", "sh", "toml"].contains(&kind) {
            continue;
        }
        let text = read(&root().join(&path));
        for (at, _) in text.match_indices(".md") {
            let part = |c: char| c.is_ascii_uppercase() || c == '_';
            let stem = &text[..at][text[..at].trim_end_matches(part).len()..];
            let name = format!("{stem}.md");
            let exists = ["", "docs/", "bench/", "fuzz/"]
                .iter()
                .any(|folder| root().join(folder).join(&name).is_file());
            if stem.len() > 2 && !exists {
                found.push(format!("{path} names {name}"));
            }
        }
        if has_word(&text, concat!("HO", "USE")) {
            found.push(format!("{path} names the rules of the house instead of a document"));
        }
    }
    assert_none(found, "documents that are not here");
}

#[test]
fn the_documented_version_is_the_coded_one() {
    let document = read(&root().join("docs/FORMAT/container.md"));
    let line = format!("Version: {}", meshreel_format::VERSION);
    assert!(document.lines().any(|l| l == line), "docs/FORMAT does not say {line:?}");
}

/// DEPENDENCIES.md gives a reason for every external package that the workspace imports, and ARCHITECTURE.md
/// names each of ours.
#[test]
fn every_dependency_has_a_reason() {
    let text = read(&root().join("ARCHITECTURE.md")) + &read(&root().join("docs/DEPENDENCIES.md"));
    let workspace: Table = read(&root().join("Cargo.toml")).parse().expect("a manifest");
    let named = workspace["workspace"]["dependencies"].as_table().expect("a table");
    let ours = packages();
    let found: Vec<String> = named
        .keys()
        .cloned()
        .chain(ours.iter().map(|(name, ..)| name.clone()))
        .chain(ours.iter().filter(|p| p.2.contains_key("workspace")).flat_map(|p| dependencies(&p.2)))
        .filter(|name| !text.contains(&format!("`{name}`")))
        .collect();
    assert_none(found, "packages that no document explains");
}

/// README and the build machine run the same tests.
#[test]
fn the_build_machine_runs_what_the_readme_says() {
    let command = "./test.sh";
    for path in ["README.md", ".ci/run"] {
        assert!(read(&root().join(path)).contains(command), "{path} does not run {command}");
    }
}

/// STATUS.md has a row for every id, with a state, and tests that exist.
#[test]
fn status_names_tests_that_exist() {
    let text = read(&root().join("docs/STATUS.md"));
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let ids = (1..=20).map(|i| format!("A{i:02}")).chain((1..=14).map(|i| format!("B{i:02}")));
    // The other ids that exist.
    let is_id = |id: &str| id.len() == 3 && matches!(id.as_bytes()[0], b'C'..=b'I');
    let others = rows.iter().map(|row| row[0].to_owned());
    let ids = ids.chain(others.filter(|id| is_id(id)));
    let mut found = Vec::new();
    for id in ids {
        let rows: Vec<_> = rows.iter().filter(|row| row[0] == id).collect();
        let [row] = rows[..] else {
            found.push(format!("{id}: {} rows", rows.len()));
            continue;
        };
        let (state, tests) = (row[2], row[3]);
        let tests: Vec<&str> = tests.split('`').skip(1).step_by(2).collect();
        match state {
            "done" | "part" if tests.is_empty() => found.push(format!("{id}: names no test")),
            "done" | "part" | "open" => {}
            _ => found.push(format!("{id}: unknown state {state:?}")),
        }
        for test in tests {
            if !test_exists(test) {
                found.push(format!("{id}: there is no test {test}"));
            }
        }
    }
    assert_none(found, "docs/STATUS.md");
}

/// `true` if a test exists: `path/from/root.rs::name`, likewise for `.py`, `.cs`, `.cpp` and `.gd`, or
/// `path/from/root.js::title of the test`.
fn test_exists(test: &str) -> bool {
    let Some((path, name)) = test.split_once("::") else {
        return false;
    };
    let Ok(text) = fs::read_to_string(root().join(path)) else {
        return false;
    };
    if path.ends_with(".test.js") {
        return ["'", "`"].iter().any(|quote| text.contains(&format!("test({quote}{name}")));
    }
    let declared = match path.rsplit('.').next().unwrap_or_default() {
        "py" => Some(format!("\ndef {name}(")),
        "gd" => Some(format!("\nfunc {name}(")),
        "cpp" => Some(format!("\nvoid {name}(")),
        "cs" => Some(format!(" public static void {name}(")),
        _ => None,
    };
    if let Some(declared) = declared {
        return text.contains(&declared);
    }
    let code = code_of(&text);
    let Some(at) = code.find(&format!("fn {name}(")) else {
        return false;
    };
    // An attribute stands right above, perhaps with others in between.
    code[..at].lines().rev().take(6).any(|line| line.trim() == "#[test]")
}
