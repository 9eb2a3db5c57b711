//! The packages of ours that each package may import.

use super::{assert_none, dependencies, packages};
use std::collections::BTreeSet;

/// The packages of ours that each package may import; every package needs a line here.
const ARROWS: &[(&str, &[&str])] = &[
    ("meshreel-codec", &[]),
    ("meshreel-files", &[]),
    ("meshreel-store", &["meshreel-files"]),
    ("meshreel-format", &["meshreel-files"]),
    ("meshreel-scene", &[]),
    ("meshreel-read-usd", &["meshreel-files", "meshreel-scene"]),
    ("meshreel-read", &["meshreel-files", "meshreel-scene", "meshreel-read-usd"]),
    ("meshreel-write", &["meshreel-files", "meshreel-scene"]),
    ("meshreel-options", &["meshreel-scene"]),
    ("meshreel-inputs", &["meshreel-files", "meshreel-scene", "meshreel-read", "meshreel-options"]),
    ("meshreel-process", &["meshreel-scene"]),
    (
        "meshreel-compile",
        &["meshreel-scene", "meshreel-options", "meshreel-process", "meshreel-codec", "meshreel-format"],
    ),
    ("meshreel", &["meshreel-codec", "meshreel-format"]),
    ("meshreel-gpu", &["meshreel"]),
    ("meshreel-c", &["meshreel", "meshreel-gpu"]),
    ("meshreel-http", &["meshreel"]),
    ("bevy_meshreel", &["meshreel", "meshreel-gpu"]),
    ("meshreel_godot", &["meshreel"]),
    ("meshreel-unity-shaders", &[]),
    ("meshreel-c-header", &[]),
    ("meshreel-fbx-oracle", &[]),
    (
        "meshreel-viewer",
        &[
            "meshreel-scene",
            "meshreel-options",
            "meshreel-inputs",
            "meshreel-compile",
            "meshreel",
            "meshreel-extract",
            "meshreel-check",
            "meshreel-gpu",
        ],
    ),
    ("meshreel-runtime-test", &["meshreel", "meshreel-format"]),
    ("meshreel-web", &["meshreel", "meshreel-gpu"]),
    ("meshreel-extract", &["meshreel-scene", "meshreel-options", "meshreel"]),
    (
        "meshreel-check",
        &["meshreel-scene", "meshreel-options", "meshreel", "meshreel-format", "meshreel-extract"],
    ),
    (
        "meshreel-cli",
        &[
            "meshreel-files",
            "meshreel-store",
            "meshreel-scene",
            "meshreel-read",
            "meshreel-write",
            "meshreel-options",
            "meshreel-inputs",
            "meshreel-compile",
            "meshreel-codec",
            "meshreel-format",
            "meshreel",
            "meshreel-extract",
            "meshreel-check",
            "meshreel-commands",
        ],
    ),
    (
        "meshreel-commands",
        &[
            "meshreel-files",
            "meshreel-scene",
            "meshreel-read",
            "meshreel-write",
            "meshreel-options",
            "meshreel-inputs",
            "meshreel-compile",
            "meshreel-codec",
            "meshreel",
            "meshreel-extract",
            "meshreel-check",
        ],
    ),
    (
        "meshreel-python",
        &[
            "meshreel-scene",
            "meshreel-options",
            "meshreel-inputs",
            "meshreel-compile",
            "meshreel",
            "meshreel-check",
            "meshreel-commands",
            "meshreel-cli",
        ],
    ),
];

/// Packages that may import anything.
pub const FREE: &[&str] = &["meshreel-bench", "meshreel-testkit"];

/// The packages of ours that the tests of a package may import besides: what is written is read again.
const ARROWS_OF_TESTS: &[(&str, &[&str])] = &[
    ("meshreel-scene", &["meshreel-read"]),
    ("meshreel-read", &["meshreel-write"]),
    ("meshreel-write", &["meshreel-read"]),
];

/// Packages that only tests may import.
const FOR_TESTS: &[&str] = &["meshreel-testkit", "meshreel-runtime-test"];

#[test]
fn imports_follow_the_arrows() {
    let packages = packages();
    let ours: BTreeSet<&str> = packages.iter().map(|(name, ..)| &**name).collect();
    let mut found = Vec::new();
    for (name, _, manifest) in &packages {
        if FREE.contains(&&**name) {
            continue;
        }
        let Some((_, allowed)) = ARROWS.iter().find(|(package, _)| package == name) else {
            found.push(format!("{name} is not in the table of arrows"));
            continue;
        };
        for import in dependencies(manifest) {
            let of_tests = ARROWS_OF_TESTS.iter().any(|(own, more)| own == name && more.contains(&&*import));
            let for_tests = (of_tests || FOR_TESTS.contains(&&*import))
                && manifest.get("dependencies").is_none_or(|of| of.get(&import).is_none());
            // Tests of a package may enable its own features.
            if ours.contains(&*import) && !allowed.contains(&&*import) && !for_tests && import != *name {
                found.push(format!("{name} imports {import}"));
            }
        }
    }
    assert_none(found, "imports against the arrows");
}
