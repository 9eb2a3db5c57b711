//! Suggestions for a folder given as an input: patterns for the inputs in it.

use crate::extensions::{EXTENSIONS, has_extension, is_point_cache};
use std::collections::BTreeMap;
use std::path::Path;

/// The largest number of patterns suggested.
const MAX_PATTERNS: usize = 3;

/// Returns the reason for which a folder is no input, and what to name in its place.
pub(crate) fn folder_refusal(folder: &Path) -> String {
    let patterns = patterns(folder);
    match &patterns[..] {
        [] => {
            "is a directory in which nothing is an input; name a file, or a sequence such as 'frame.####.obj'"
                .into()
        }
        patterns => {
            let quoted = |name: &String| format!("'{}'", folder.join(name).display());
            let names: Vec<String> = patterns.iter().take(MAX_PATTERNS).map(quoted).collect();
            format!("is a directory; name what is in it, in quotes: {}", names.join(" or "))
        }
    }
}

/// Returns patterns for the inputs in a folder, those with most files first: one for each numbered sequence,
/// and one for all other files of the same extension.
fn patterns(folder: &Path) -> Vec<String> {
    // Number of digits of each file, by the text before the number and the extension.
    let mut sequences: BTreeMap<(String, String), Vec<usize>> = BTreeMap::new();
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for name in meshreel_files::names(folder).unwrap_or_default() {
        let path = Path::new(&name);
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        let is_input = EXTENSIONS.contains(&&*extension.to_ascii_lowercase()) && !is_point_cache(path);
        if !is_input || meshreel_files::length(&folder.join(path)).is_err() {
            continue;
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        match split_number(&stem).filter(|_| has_extension(path, &["obj", "ply"])) {
            Some((before, digits)) => {
                sequences.entry((before.to_owned(), extension)).or_default().push(digits);
            }
            None => *kinds.entry(extension).or_default() += 1,
        }
    }
    let mut all: Vec<(usize, String)> = Vec::new();
    for ((before, extension), digits) in sequences {
        match &digits[..] {
            [_] => *kinds.entry(extension).or_default() += 1,
            [first, rest @ ..] => {
                let width = if rest.iter().all(|digits| digits == first) { *first } else { 1 };
                all.push((digits.len(), format!("{before}{}.{extension}", "#".repeat(width))));
            }
            [] => {}
        }
    }
    all.extend(kinds.into_iter().map(|(kind, count)| (count, format!("*.{kind}"))));
    all.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    all.into_iter().map(|(_, pattern)| pattern).collect()
}

/// Splits the number off the end of a name: returns the text before it and its number of digits. A '-'
/// belongs to the number unless it separates it from a word.
fn split_number(stem: &str) -> Option<(&str, usize)> {
    let before = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = stem.len() - before.len();
    let unsigned = before.strip_suffix('-').filter(|b| b.is_empty() || b.ends_with(['.', '_', '-', ' ']));
    (digits > 0).then(|| (unsigned.unwrap_or(before), digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offered(names: &[&str]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("sub.abc")).unwrap();
        patterns(folder.path())
    }

    #[test]
    fn what_is_in_a_folder_is_offered() {
        assert_eq!(offered(&["b.abc", "a.abc", "notes.txt"]), ["*.abc"]);
        assert_eq!(offered(&["f.0001.obj", "f.0002.obj", "g.glb"]), ["f.####.obj", "*.glb"]);
        // Numbers of several lengths.
        assert_eq!(offered(&["f9.ply", "f10.ply", "f11.ply"]), ["f#.ply"]);
        assert_eq!(offered(&["s_-1.obj", "s_0.obj", "s_10.obj", "lone.obj"]), ["s_#.obj", "*.obj"]);
        // One file is no sequence, a cache goes with its mesh.
        assert_eq!(offered(&["body1.obj", "body1.pc2"]), ["*.obj"]);
        assert!(offered(&["notes.txt"]).is_empty());
    }
}
