//! Reads a text or mixed file line by line and block by block from one growing buffer: no allocation per
//! line, and never more of the file in memory than its longest line or block.

use std::io::{self, Read};

const BLOCK_BYTES: usize = 256 << 10;

/// A buffered input that counts lines and bytes.
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// `buffer[start..end]` is read but not yet returned.
    start: usize,
    end: usize,
    ended: bool,
    /// Number of the line returned last, from 1.
    line: u64,
    /// The number of physical lines joined into the last logical line.
    joined: u64,
    /// Range in the buffer of the line returned last.
    last: (usize, usize),
    /// File offset of `buffer[0]`.
    base: u64,
    /// Whether a backslash before the line end joins a line with the next (OBJ).
    continuation: bool,
}

impl<R: Read> Lines<R> {
    /// Reads from `input`.
    pub fn new(input: R, continuation: bool) -> Lines<R> {
        Lines {
            input,
            buffer: vec![0; BLOCK_BYTES],
            start: 0,
            end: 0,
            ended: false,
            line: 0,
            joined: 1,
            last: (0, 0),
            base: 0,
            continuation,
        }
    }

    /// File offset of the next byte.
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Returns the next line without its end (LF or CRLF), or `None` after the last one.
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let mut scanned = 0;
        let mut joined = 1;
        let (stop, next) = loop {
            let from = self.start + scanned;
            match self.buffer[from..self.end].iter().position(|&b| b == b'\n') {
                Some(i) => {
                    let newline = from + i;
                    let mut stop = newline;
                    if stop > self.start && self.buffer[stop - 1] == b'\r' {
                        stop -= 1;
                    }
                    if self.continuation && self.is_continued(stop) {
                        self.buffer[stop - 1..=newline].fill(b' ');
                        scanned = newline + 1 - self.start;
                        joined += 1;
                        continue;
                    }
                    break (stop, newline + 1);
                }
                None => {
                    scanned = self.end - self.start;
                    if !self.fill()? {
                        break (self.end, self.end);
                    }
                }
            }
        };
        if self.start == next {
            return Ok(None);
        }
        self.line += self.joined;
        self.joined = joined;
        self.last = (self.start, stop);
        self.start = next;
        Ok(Some(self.current().0))
    }

    /// Returns the last line that [`Lines::next`] returned, and the number of its first physical line, from
    /// 1.
    pub fn current(&self) -> (&[u8], u64) {
        (&self.buffer[self.last.0..self.last.1], self.line)
    }

    /// Returns exactly `n` bytes, or `None` if the file ends first. The caller has checked `n` against the
    /// file's size.
    pub fn next_bytes(&mut self, n: usize) -> io::Result<Option<&[u8]>> {
        while self.end - self.start < n {
            if !self.fill()? {
                return Ok(None);
            }
        }
        let start = self.start;
        self.start += n;
        Ok(Some(&self.buffer[start..start + n]))
    }

    /// `true` if the line ending at `stop` is continued: a backslash stands before `stop`, and it is no
    /// comment.
    fn is_continued(&self, stop: usize) -> bool {
        stop > self.start
            && self.buffer[stop - 1] == b'\\'
            && self.buffer[self.start..stop].iter().find(|b| !b.is_ascii_whitespace()) != Some(&b'#')
    }

    /// Reads more into the buffer; returns `false` at the end of the file.
    fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        if self.end == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Ok(0) => {
                    self.ended = true;
                    return Ok(false);
                }
                Ok(n) => {
                    self.end += n;
                    return Ok(true);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// Iterates over the words of a line.
pub(crate) struct Words<'a>(pub &'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];
    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|&b| !is_space(b))?;
        let rest = &self.0[start..];
        let stop = rest.iter().position(|&b| is_space(b)).unwrap_or(rest.len());
        let (word, rest) = rest.split_at(stop);
        self.0 = rest;
        Some(word)
    }
}

/// `true` if the byte separates words.
#[inline]
pub(crate) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// The line without spaces at either end.
pub(crate) fn trim(mut line: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = line
        && is_space(*first)
    {
        line = rest;
    }
    while let [rest @ .., last] = line
        && is_space(*last)
    {
        line = rest;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<(u64, String)> {
        let mut lines = Lines::new(text, true);
        let mut out = Vec::new();
        while let Some(line) = lines.next().unwrap().map(<[u8]>::to_vec) {
            out.push((lines.current().1, String::from_utf8(line).unwrap()));
        }
        out
    }

    #[test]
    fn line_ends_continuations_and_numbers() {
        let got = all(b"a\r\nb \\\r\n c\n\n# x \\\nd\\");
        let want = [(1, "a"), (2, "b     c"), (4, ""), (5, "# x \\"), (6, "d\\")];
        assert_eq!(got, want.map(|(n, s)| (n, s.to_string())));
        assert!(all(b"").is_empty());
        assert_eq!(all(b"\n"), [(1, String::new())]);
    }

    #[test]
    fn lines_longer_than_a_block() {
        let mut text = vec![b'x'; BLOCK_BYTES * 3 + 7];
        text.extend(b"\ny");
        let got = all(&text);
        assert_eq!(got[0].1.len(), BLOCK_BYTES * 3 + 7);
        assert_eq!(got[1], (2, "y".into()));
    }

    #[test]
    fn blocks_after_lines() {
        let mut lines = Lines::new(&b"head\n1234567"[..], false);
        lines.next().unwrap();
        assert_eq!(lines.next_bytes(3).unwrap(), Some(&b"123"[..]));
        assert_eq!(lines.offset(), 8);
        assert_eq!(lines.next_bytes(5).unwrap(), None);
        assert_eq!(lines.next_bytes(4).unwrap(), Some(&b"4567"[..]));
    }

    #[test]
    fn words() {
        let got: Vec<&[u8]> = Words(b"  v\t1  2 \r").collect();
        assert_eq!(got, [&b"v"[..], b"1", b"2"]);
        assert_eq!(trim(b" \ta b\r"), b"a b");
    }
}
