//! Writes the header of the C interface from its sources. With `--check` it writes nothing, and fails if the
//! existing header differs.

use cbindgen::{
    Builder, Config, DocumentationLength, DocumentationStyle, EnumConfig, ExportConfig, Language,
};
use cbindgen::{RenameRule, Style};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The beginning of the header: the rules that hold for all functions.
const HEAD: &str = include_str!("head.h");

/// Enumerations whose values are stored in structures as plain numbers, and which are therefore exported by
/// name.
const ENUMS: [&str; 18] = [
    "mr_channel",
    "mr_format",
    "mr_repeat",
    "mr_command_kind",
    "mr_event_kind",
    "mr_group_of",
    "mr_clip_codec",
    "mr_rounding",
    "mr_additive",
    "mr_gpu_pass",
    "mr_visibility",
    "mr_method",
    "mr_status",
    "mr_start",
    "mr_leave",
    "mr_end",
    "mr_action_kind",
    "mr_stage",
];

fn main() -> ExitCode {
    let check = std::env::args().nth(1).is_some_and(|argument| argument == "--check");
    match run(check) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!(
                "meshreel.h is not what its sources give: cargo run --manifest-path bindings/c/header/Cargo.toml"
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the header, or with `check` compares it. Returns whether the file is up to date.
fn run(check: bool) -> Result<bool, Box<dyn Error>> {
    let bindings = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let header = bindings.join("include/meshreel.h");
    let mut builder = Builder::new().with_config(config());
    for source in sources(&bindings.join("src"))? {
        builder = builder.with_src(source);
    }
    let mut bytes = Vec::new();
    builder.generate()?.write(&mut bytes);
    let text = comments(&String::from_utf8(bytes)?);
    if check {
        return Ok(std::fs::read_to_string(header)?.replace("\r\n", "\n") == text);
    }
    std::fs::write(header, text)?;
    Ok(true)
}

/// Removes empty lines from comments, and gives the sections on safety a heading for readers of C.
fn comments(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "/*" {
            out += line;
            out.push('\n');
            continue;
        }
        let indent = " ".repeat(line.len() - line.trim_start().len());
        let inside: Vec<&str> = lines.by_ref().map(str::trim).take_while(|line| *line != "*/").collect();
        let inside = inside.join("\n").replace("# Safety\n", "Must hold: ");
        let inside: Vec<String> = inside.lines().map(|line| format!("{indent}   {line}")).collect();
        let comment = inside.join("\n");
        out += &format!("{indent}/* {} */\n", comment.trim());
    }
    // Removes white space at the ends of lines.
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Returns the source files of the crate, in the order of its modules.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let root = folder.join("lib.rs");
    let text = std::fs::read_to_string(&root)?;
    let modules = text.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    Ok(modules.map(|module| folder.join(format!("{module}.rs"))).collect())
}

fn config() -> Config {
    Config {
        language: Language::C,
        cpp_compat: true,
        style: Style::Both,
        include_guard: Some("MESHREEL_H".into()),
        header: Some(HEAD.trim_end().into()),
        no_includes: true,
        sys_includes: vec!["stddef.h".into(), "stdint.h".into()],
        usize_is_size_t: true,
        documentation_style: DocumentationStyle::C,
        documentation_length: DocumentationLength::Full,
        line_length: 110,
        tab_width: 4,
        enumeration: EnumConfig {
            rename_variants: RenameRule::QualifiedScreamingSnakeCase,
            ..EnumConfig::default()
        },
        export: ExportConfig { include: ENUMS.map(String::from).to_vec(), ..ExportConfig::default() },
        ..Config::default()
    }
}
