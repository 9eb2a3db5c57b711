//! File names with a place for a number, and the files that match them.

use super::format::SequenceFormat;
use meshreel_scene::{Error, Remark};
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The largest number of names that one remark lists.
const MAX_LISTED: usize = 4;

/// A file name with a place for a number.
pub(super) struct NumberPattern {
    before: Vec<u8>,
    after: Vec<u8>,
    /// The least number of digits; 0: any.
    width: usize,
}

/// The files that match a pattern, in the order of their numbers.
pub(super) struct NumberedFiles {
    pub numbers: Vec<i64>,
    pub paths: Vec<PathBuf>,
    /// A remark about similar files that the pattern does not match.
    pub remark: Option<Remark>,
}

impl NumberPattern {
    pub(super) fn parse(path: &Path) -> Option<NumberPattern> {
        let name = path.file_name()?.as_encoded_bytes();
        let (place, width) = hashes(name).or_else(|| variable(name)).or_else(|| conversion(name))?;
        Some(NumberPattern { before: name[..place.start].into(), after: name[place.end..].into(), width })
    }

    /// Returns the number in `name` if it matches: padded to the width, with or without its sign counted, and
    /// longer only if the number needs more digits.
    fn number(&self, name: &[u8]) -> Option<i64> {
        let text = self.middle(name)?;
        let digits = text.strip_prefix(b"-").unwrap_or(text);
        let signed = digits.len() < text.len();
        let fits = match self.width {
            0 => true,
            width => {
                let padded = digits.len() == width || signed && text.len() == width;
                padded || (digits.len() > width && digits[0] != b'0')
            }
        };
        parse_whole_number(text).filter(|_| fits)
    }

    /// Returns the part of `name` in the number's place.
    fn middle<'a>(&self, name: &'a [u8]) -> Option<&'a [u8]> {
        name.strip_prefix(self.before.as_slice())?.strip_suffix(self.after.as_slice())
    }

    pub(super) fn format(&self, path: &Path) -> Result<SequenceFormat, Error> {
        let ends = |e: &[u8]| {
            self.after.len() >= e.len() && self.after[self.after.len() - e.len()..].eq_ignore_ascii_case(e)
        };
        if ends(b".obj") {
            Ok(SequenceFormat::Obj)
        } else if ends(b".ply") {
            Ok(SequenceFormat::Ply)
        } else {
            Err(Error::unsupported(path, "sequences of files other than .obj and .ply"))
        }
    }

    /// Finds the files that match, ordered by number.
    pub(super) fn find(&self, path: &Path) -> Result<NumberedFiles, Error> {
        let folder = match path.parent() {
            Some(p) if !p.as_os_str().is_empty() => p,
            _ => Path::new("."),
        };
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for name in meshreel_files::names(folder).map_err(|e| Error::io(folder, e))? {
            match self.number(name.as_encoded_bytes()) {
                Some(number) => found.push((number, folder.join(name))),
                None => others.extend(self.missed(name.as_encoded_bytes())),
            }
        }
        found.sort();
        if found.is_empty() {
            let also = match others.is_empty() {
                true => String::new(),
                false => format!(": {}", self.left_out_remark(&mut others)),
            };
            let what = format!("no file fits this pattern{also}");
            return Err(Error::io(path, std::io::Error::new(std::io::ErrorKind::NotFound, what)));
        }
        if let Some(pair) = found.windows(2).find(|p| p[0].0 == p[1].0) {
            let [a, b] = [&pair[0].1, &pair[1].1].map(|p| p.display().to_string());
            return Err(Error::misuse(format!(
                "{}: number {} is there twice: {a} and {b}",
                path.display(),
                pair[0].0
            )));
        }
        let (numbers, paths): (Vec<i64>, _) = found.into_iter().unzip();
        others.retain(|(number, _)| number.is_none_or(|n| numbers.binary_search(&n).is_err()));
        let remark = (!others.is_empty())
            .then(|| Remark::new(path.display().to_string(), self.left_out_remark(&mut others)));
        Ok(NumberedFiles { numbers, paths, remark })
    }

    /// Returns a near miss: a name whose number does not match the width or is decimal. The number is `None`
    /// unless it is whole.
    fn missed(&self, name: &[u8]) -> Option<(Option<i64>, String)> {
        let text = self.middle(name)?;
        let number = parse_whole_number(text);
        let decimal = || {
            let point = text.iter().position(|&b| b == b'.')?;
            parse_whole_number(&text[..point])?;
            parse_whole_number(&text[point + 1..]).filter(|n| *n >= 0)
        };
        (number.is_some() || decimal().is_some())
            .then(|| (number, String::from_utf8_lossy(name).into_owned()))
    }

    /// Writes a sentence that names the files left out and, if a pattern matches them all, that pattern.
    fn left_out_remark(&self, missed: &mut [(Option<i64>, String)]) -> String {
        missed.sort();
        let listed: Vec<&str> = missed.iter().take(MAX_LISTED).map(|(_, name)| &name[..]).collect();
        let more = match missed.len() - listed.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all: HashSet<Option<i64>> = missed.iter().map(|(number, _)| *number).collect();
        let cure = match all.contains(&None) || all.len() < missed.len() {
            true => "numbers of a sequence are whole, and each is there once".to_owned(),
            false => format!("'{}#{}' takes them", text(&self.before), text(&self.after)),
        };
        format!(
            "{}{more} are left out, as the pattern does not take their numbers; {cure}",
            listed.join(", ")
        )
    }

    /// Returns the pattern without number and extension: 'frame.####.obj' gives 'frame'. Empty if nothing
    /// else is left.
    pub(super) fn name(&self) -> String {
        let name = String::from_utf8_lossy(&self.before);
        name.trim_end_matches(SEPARATORS).into()
    }

    /// Like `name`, with the text between number and extension added: 'frame.####.left.obj' gives
    /// 'frame.left'.
    pub(super) fn stem(&self) -> String {
        let after = String::from_utf8_lossy(&self.after);
        let after = after.rfind('.').map_or("", |dot| &after[..dot]);
        format!("{}{after}", self.name()).trim_matches(SEPARATORS).into()
    }
}

/// The characters that separate a name from its number.
const SEPARATORS: [char; 4] = ['.', '_', '-', ' '];

/// Finds the last '#', '##' … and the number of digits it stands for. A single '#' stands for any number of
/// digits, as in many programs.
fn hashes(name: &[u8]) -> Option<(Range<usize>, usize)> {
    let last = name.iter().rposition(|&b| b == b'#')?;
    let start = name[..last].iter().rposition(|&b| b != b'#').map_or(0, |i| i + 1);
    let width = last + 1 - start;
    Some((start..last + 1, if width == 1 { 0 } else { width }))
}

/// Finds '$F', '$F4' or '${F4}', and its number of digits.
fn variable(name: &[u8]) -> Option<(Range<usize>, usize)> {
    let start = name.iter().rposition(|&b| b == b'$')?;
    let (inner, braced) = match &name[start + 1..] {
        [b'{', rest @ ..] => (rest, true),
        rest => (rest, false),
    };
    let [b'F', rest @ ..] = inner else {
        return None;
    };
    let width = rest.first().filter(|b| b.is_ascii_digit()).map(|b| usize::from(b - b'0'));
    let rest = &rest[usize::from(width.is_some())..];
    let stop = name.len() - rest.len() + usize::from(braced);
    (!braced || rest.first() == Some(&b'}')).then(|| (start..stop, width.unwrap_or(0)))
}

/// Finds '%d' or '%04d', and its number of digits.
fn conversion(name: &[u8]) -> Option<(Range<usize>, usize)> {
    let start = name.iter().rposition(|&b| b == b'%')?;
    let digits = name[start + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
    if name.get(start + 1 + digits) != Some(&b'd') {
        return None;
    }
    let width = std::str::from_utf8(&name[start + 1..start + 1 + digits]).ok()?;
    let width = if width.is_empty() { 0 } else { width.parse().ok()? };
    Some((start..start + digits + 2, width))
}

/// Parses a whole number below 2^53 in magnitude.
fn parse_whole_number(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok().filter(|n: &i64| n.unsigned_abs() < 1 << 53)
}
