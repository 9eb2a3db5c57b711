//! Counts lines of code: neither blank, nor comments, nor tests.

use super::{OF_TESTS, code_of};

/// Lines of code of each package or folder. A commit that raises a number says why; one that lowers the code
/// lowers the number.
pub const LINES: &[(&str, usize)] = &[
    ("crates/check", 7_797),
    ("crates/codec", 34_290),
    ("crates/commands", 3_187),
    ("crates/compile", 22_840),
    ("crates/extract", 2_286),
    ("crates/files", 557),
    ("crates/format", 894),
    ("crates/gpu", 5_034),
    ("crates/http", 1_771),
    ("crates/inputs", 277),
    ("crates/options", 2_115),
    ("crates/play", 17_290),
    ("crates/process", 7_502),
    ("crates/read-usd", 9_249),
    ("crates/read/", 12_399),
    ("crates/scene", 3_160),
    ("crates/store", 335),
    ("crates/testkit", 101),
    ("crates/write", 6_841),
    ("bindings/c", 7_077),
    ("bindings/python", 2_345),
    ("bindings/web", 6_328),
    ("integrations/bevy", 2_263),
    ("integrations/blender", 1_437),
    ("integrations/conan", 72),
    ("integrations/farm", 30),
    ("integrations/godot", 2_840),
    ("integrations/unity", 5_390),
    ("integrations/unreal", 5_030),
    ("tools/cli", 7_020),
    ("tools/conformance", 621),
    ("tools/decode", 4_255),
    ("tools/release", 357),
    ("tools/site", 278),
    ("tools/viewer", 5_430),
    ("bench", 7_340),
    ("fuzz", 5_170),
    ("test.sh", 58),
];

/// The largest excess of a number over the code, in per cent.
pub const ROOM_PERCENT: usize = 1;

/// Returns the lines of code of a file; 0 for tests, documents and data.
pub fn lines_of_code(path: &str, text: &str) -> usize {
    let in_tests = OF_TESTS.iter().any(|folder| format!("/{path}").contains(folder));
    if in_tests || path.ends_with("tests.rs") {
        return 0;
    }
    let filled = |text: &str| text.lines().filter(|line| !line.trim().is_empty()).count();
    match path.rsplit('.').next().unwrap_or_default() {
        "rs" => {
            let code = code_of(text);
            // Tests stand at the end of a file.
            filled(code.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default())
        }
        "py" | "sh" => {
            text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#')).count()
        }
        "js" | "mjs" | "ts" | "wgsl" | "c" | "h" | "cpp" | "cs" => filled(&code_of(text)),
        _ => 0,
    }
}
