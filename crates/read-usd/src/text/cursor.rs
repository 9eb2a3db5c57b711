//! A cursor over the text of a layer: reads words and strings, and skips values.

use std::sync::Arc;

/// A syntax error and its position.
pub struct SyntaxError {
    pub what: String,
    pub offset: usize,
}

pub struct Cursor<'a> {
    pub text: &'a [u8],
    pub offset: usize,
}

/// A value that was skipped.
pub struct TextSpan {
    pub start: usize,
    pub end: usize,
    /// The number of elements of a list; 1 for other values.
    pub count: usize,
}

impl<'a> Cursor<'a> {
    pub fn syntax_error<T>(&self, what: impl Into<String>) -> Result<T, SyntaxError> {
        Err(SyntaxError { what: what.into(), offset: self.offset })
    }

    /// Returns the next byte after spaces, line ends, `;` and comments.
    pub fn peek(&mut self) -> Option<u8> {
        loop {
            match self.text.get(self.offset)? {
                b' ' | b'\t' | b'\r' | b'\n' | b';' => self.offset += 1,
                b'#' => {
                    let rest = &self.text[self.offset..];
                    self.offset += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                }
                b'/' if self.text[self.offset..].starts_with(b"//") => {
                    let rest = &self.text[self.offset..];
                    self.offset += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                }
                b'/' if self.text[self.offset..].starts_with(b"/*") => {
                    let rest = &self.text[self.offset + 2..];
                    let end = rest.windows(2).position(|b| b == b"*/");
                    self.offset = end.map_or(self.text.len(), |end| self.offset + 4 + end);
                }
                byte => return Some(*byte),
            }
        }
    }

    /// Takes a byte if it is the next one.
    pub fn take(&mut self, byte: u8) -> bool {
        let is = self.peek() == Some(byte);
        self.offset += usize::from(is);
        is
    }

    pub fn expect(&mut self, byte: u8) -> Result<(), SyntaxError> {
        match self.take(byte) {
            true => Ok(()),
            false => self.syntax_error(format!("a '{}' is missing", byte as char)),
        }
    }

    /// Takes a word of letters, digits, `_`, `:` and non-ASCII characters; empty if there is none.
    pub fn word(&mut self) -> &'a str {
        self.peek();
        let rest = self.text.get(self.offset..).unwrap_or_default();
        let is = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':') || *b >= 0x80;
        let length = rest.iter().position(|b| !is(b)).unwrap_or(rest.len());
        self.offset += length;
        str::from_utf8(&rest[..length]).unwrap_or_default()
    }

    /// Takes a word of letters; empty if there is none.
    pub fn name(&mut self) -> &'a str {
        self.peek();
        let rest = self.text.get(self.offset..).unwrap_or_default();
        let length = rest.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(rest.len());
        self.offset += length;
        str::from_utf8(&rest[..length]).unwrap_or_default()
    }

    /// Takes a word if it is the next one.
    pub fn take_word(&mut self, word: &str) -> bool {
        let before = self.offset;
        let is = self.word() == word;
        if !is {
            self.offset = before;
        }
        is
    }

    /// Takes a number.
    pub fn number(&mut self) -> Option<f64> {
        self.parsed()
    }

    /// Takes a number of any type.
    pub fn parsed<T: std::str::FromStr>(&mut self) -> Option<T> {
        self.peek();
        let rest = self.text.get(self.offset..)?;
        let is = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        let length = rest.iter().position(|b| !is(b)).unwrap_or(rest.len());
        let number = str::from_utf8(&rest[..length]).ok()?.parse().ok()?;
        self.offset += length;
        Some(number)
    }

    pub fn is_string(&mut self) -> bool {
        matches!(self.peek(), Some(b'"' | b'\''))
    }

    /// Takes a string in one or three quotation marks.
    pub fn string(&mut self) -> Result<Arc<str>, SyntaxError> {
        let Some(quote @ (b'"' | b'\'')) = self.peek() else {
            return self.syntax_error("a string is missing");
        };
        let long = self.text[self.offset..].starts_with(&[quote; 3]);
        let marks = if long { 3 } else { 1 };
        self.offset += marks;
        let mut out = Vec::new();
        loop {
            match self.text.get(self.offset) {
                None => return self.syntax_error("a string does not end"),
                Some(b'\n') if !long => return self.syntax_error("a string does not end in its line"),
                Some(b'\\') => {
                    let Some(escaped) = self.text.get(self.offset + 1) else {
                        return self.syntax_error("a string does not end");
                    };
                    out.push(match escaped {
                        b'n' => b'\n',
                        b't' => b'\t',
                        b'r' => b'\r',
                        other => *other,
                    });
                    self.offset += 2;
                }
                Some(byte)
                    if *byte == quote && (!long || self.text[self.offset..].starts_with(&[quote; 3])) =>
                {
                    self.offset += marks;
                    return Ok(String::from_utf8_lossy(&out).into());
                }
                Some(byte) => {
                    out.push(*byte);
                    self.offset += 1;
                }
            }
        }
    }

    /// The name of an asset, between single or triple `@`. Between triple ones `\@@@` stands for `@@@`, and
    /// the name may end with one or two `@` (USD's text format, "Asset paths").
    pub fn asset(&mut self) -> Result<Arc<str>, SyntaxError> {
        self.expect(b'@')?;
        if !self.text[self.offset..].starts_with(b"@@") {
            return self.until(b"@");
        }
        self.offset += 2;
        let mut name = String::new();
        loop {
            name.push_str(&self.until(b"@@@")?);
            if !name.ends_with('\\') {
                break;
            }
            name.pop();
            name.push_str("@@@");
        }
        for _ in 0..2 {
            if self.text.get(self.offset) == Some(&b'@') {
                name.push('@');
                self.offset += 1;
            }
        }
        Ok(name.into())
    }

    /// Takes a path, in angle brackets.
    pub fn path(&mut self) -> Result<Arc<str>, SyntaxError> {
        self.expect(b'<')?;
        self.until(b">")
    }

    fn until(&mut self, mark: &[u8]) -> Result<Arc<str>, SyntaxError> {
        let rest = self.text.get(self.offset..).unwrap_or_default();
        let Some(length) = rest.windows(mark.len()).position(|b| b == mark) else {
            return self.syntax_error("a path or the name of an asset does not end");
        };
        self.offset += length + mark.len();
        Ok(String::from_utf8_lossy(&rest[..length]).into())
    }

    /// Skips a value: a word, a string, a path, or brackets with their contents.
    pub fn skip(&mut self) -> Result<TextSpan, SyntaxError> {
        self.peek();
        let start = self.offset;
        let is_list = self.text.get(start) == Some(&b'[');
        let (mut depth, mut elements, mut open) = (0usize, 0, false);
        loop {
            let Some(byte) = self.peek() else {
                return self.syntax_error("a value does not end");
            };
            // Anything in a list except a comma begins an element or belongs to one.
            if depth == 1 && byte != b',' && byte != b']' && !open {
                elements += 1;
                open = true;
            }
            match byte {
                b'"' | b'\'' => drop(self.string()?),
                b'@' => drop(self.asset()?),
                b'<' => drop(self.path()?),
                b'[' | b'(' | b'{' => {
                    self.offset += 1;
                    depth += 1;
                }
                b']' | b')' | b'}' if depth > 0 => {
                    self.offset += 1;
                    depth -= 1;
                }
                b',' if depth > 0 => {
                    open &= depth > 1;
                    self.offset += 1;
                }
                b'=' | b':' if depth > 0 => self.offset += 1,
                b']' | b')' | b'}' | b',' | b'=' => return self.syntax_error("a value is missing"),
                _ => self.skip_word(),
            }
            if depth == 0 {
                break;
            }
        }
        Ok(TextSpan { start, end: self.offset, count: if is_list { elements } else { 1 } })
    }

    /// Skips a number or a name, at least one byte.
    fn skip_word(&mut self) {
        let rest = &self.text[self.offset..];
        let ends = |b: &u8| b" \t\r\n;,()[]{}=:#\"'@<".contains(b);
        self.offset += rest.iter().position(ends).unwrap_or(rest.len()).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cursor(text: &str) -> Cursor<'_> {
        Cursor { text: text.as_bytes(), offset: 0 }
    }

    #[test]
    fn values_are_stepped_over() {
        for (text, count, rest) in [
            ("[1, 2, (3, 4),] x", 3, " x"),
            ("[] x", 0, " x"),
            ("(1, 2, 3)\ny", 1, "\ny"),
            ("-1.5e3 x", 1, " x"),
            ("[\"a]\", 'b', @c]@, </d>] #", 4, " #"),
            ("{ 1: [2], 3: { } }z", 1, "z"),
            ("[(1, 2) # ]\n, (3, 4)]", 2, ""),
        ] {
            let mut cursor = cursor(text);
            let Ok(span) = cursor.skip() else { panic!("{text}") };
            assert_eq!((span.count, &text[span.end..]), (count, rest), "{text}");
        }
        for text in ["", "[1, 2", "]", ", 1", "\"abc", "@x", "<y", "( \"\"\"a\"\" )"] {
            assert!(cursor(text).skip().is_err(), "{text}");
        }
    }

    #[test]
    fn strings_of_all_kinds() {
        for (text, value) in [
            (r#""a \"b\" \n""#, "a \"b\" \n"),
            ("'a\"b'", "a\"b"),
            ("\"\"\"two\n\"lines\"\"\"\"", "two\n\"lines"),
        ] {
            let Ok(string) = cursor(text).string() else { panic!("{text}") };
            assert_eq!(&*string, value);
        }
        for (text, value) in [
            ("@a/b.usd@", "a/b.usd"),
            ("@@", ""),
            ("@@@a@b@@@", "a@b"),
            (r"@@@a\@@@n.png@@@", "a@@@n.png"),
            ("@@@a@@@@@ (", "a@@"),
        ] {
            let Ok(asset) = cursor(text).asset() else { panic!("{text}") };
            assert_eq!(&*asset, value);
        }
    }
}
