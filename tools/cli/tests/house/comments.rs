//! Rules for comments.

use super::{assert_none, sources};
use std::collections::HashSet;

/// Codes of the checklist in `docs/STATUS.md` mean nothing to a reader of the code: they stand only in names
/// of tests.
#[test]
fn comments_have_no_codes() {
    let is_code = |word: &str| {
        let bytes = word.as_bytes();
        bytes.len() == 3
            && (b'A'..=b'G').contains(&bytes[0])
            && matches!(&bytes[1..], [b'0', b'1'..=b'9'] | [b'1' | b'2', b'0'..=b'9'])
    };
    let mut found = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let comment = line.trim_start();
            let mut words = comment.split(|c: char| !c.is_ascii_alphanumeric());
            if comment.starts_with("//") && words.any(is_code) {
                found.push(format!("{path}:{}", number + 1));
            }
        }
    }
    assert_none(found, "codes of a list in comments");
}

/// A comment that begins with the name of a type is prose that a rename broke ("RemeshedFrames of a loop"),
/// unless the name stands in backticks or brackets.
#[test]
fn comments_do_not_begin_with_a_type() {
    let sources = sources();
    let mut types = HashSet::new();
    for (_, text) in &sources {
        for line in text.lines() {
            let mut words = line.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            if words.any(|word| matches!(word, "struct" | "enum" | "trait" | "type")) {
                // One hump may be a word of prose as well.
                let humps = |word: &&str| word.bytes().filter(u8::is_ascii_uppercase).count() > 1;
                types.extend(words.next().filter(humps).filter(|word| word.contains(char::is_lowercase)));
            }
        }
    }
    let mut found = Vec::new();
    for (path, text) in &sources {
        let mut is_first = true;
        for (number, line) in text.lines().enumerate() {
            let comment =
                line.trim_start().strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!', ' ']));
            let first = comment.filter(|_| is_first).and_then(|text| text.split([' ', '.', ',', ':']).next());
            if let Some(word) = first.filter(|word| types.contains(word)) {
                found.push(format!("{path}:{}: {word}", number + 1));
            }
            is_first = comment.is_none();
        }
    }
    assert_none(found, "comments that begin with the name of a type");
}

/// Comments are wrapped where code is; tables, addresses and what is between fences are as wide as they are.
#[test]
fn comments_are_as_wide_as_code() {
    let widest = 110;
    let mut found = Vec::new();
    for (path, text) in sources() {
        let mut is_fenced = false;
        for (number, line) in text.lines().enumerate() {
            let Some(comment) = line.trim_start().strip_prefix("//") else {
                is_fenced = false;
                continue;
            };
            let comment = comment.trim_start_matches(['/', '!', ' ']);
            is_fenced ^= comment.starts_with("```");
            let is_free = is_fenced || comment.starts_with('|') || comment.contains("://");
            if !is_free && line.chars().count() > widest {
                found.push(format!("{path}:{}", number + 1));
            }
        }
    }
    assert_none(found, "comments wider than code");
}
