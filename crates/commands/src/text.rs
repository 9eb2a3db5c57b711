//! Text for terminals. File names, and names within files, can contain anything, and a terminal obeys control
//! characters: no name may move its cursor, change its colours or reverse its text.

use std::path::Path;

/// `true` if a terminal acts on the character instead of showing it: control characters, line and paragraph
/// separators, and characters that change the direction of text.
fn is_terminal_control(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    c.is_control() || turns || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Returns `text` in one line: line breaks become blanks, and characters on which a terminal acts are
/// escaped.
pub fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.trim_end().chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            c if is_terminal_control(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// The largest number of characters of an error message: names in files can be of any length.
const MAX_TEXT_CHARS: usize = 400;

/// Returns [`one_line`] of a text; if it is too long, its middle is left out: the end contains the remedy.
pub fn short_line(text: &str) -> String {
    let line = one_line(text);
    let count = line.chars().count();
    if count <= MAX_TEXT_CHARS {
        return line;
    }
    let kept = MAX_TEXT_CHARS / 2 - 2;
    let (start, end): (String, String) =
        (line.chars().take(kept).collect(), line.chars().skip(count - kept).collect());
    format!("{start}...{end}")
}

/// Returns a path in one line.
pub fn display_path(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// Escapes the characters on which a terminal acts, except line breaks.
pub fn escape_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c != '\n' && is_terminal_control(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// Returns JSON in one line, with the same meaning: only its strings can contain characters on which a
/// terminal acts.
pub fn escape_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if is_terminal_control(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_terminals_act_on_does_not_reach_them() {
        let hostile = "a\nb\u{1b}[31m\u{9b}2J\u{202e}txt\u{2069}é";
        assert_eq!(one_line(hostile), "a b\\u{1b}[31m\\u{9b}2J\\u{202e}txt\\u{2069}é");
        assert_eq!(display_path(Path::new("x\r\u{7f}")), "x \\u{7f}");
        assert_eq!(escape_lines("a\n\u{1b}b\n"), "a\n\\u{1b}b\n");
    }

    #[test]
    fn lines_are_cut_in_the_middle() {
        let line = short_line(&format!("a{}: mend it", "\u{e9}".repeat(10_000)));
        assert!(line.chars().count() <= MAX_TEXT_CHARS, "{line}");
        assert!(line.starts_with('a') && line.ends_with(": mend it") && line.contains("..."), "{line}");
        assert_eq!(short_line("as it is"), "as it is");
    }

    #[test]
    fn json_says_the_same() {
        let value = "\u{7f}\u{9b}\u{202e}\u{1b}\n";
        let text = escape_json(&serde_json::to_string(value).unwrap());
        assert!(text.is_ascii());
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), value);
    }
}
