//! Checks what a server answers to a request for a range: that it is that range, of the file that was opened,
//! and not compressed. Nothing that a server says is trusted: a size is compared with what was asked for
//! before a byte of the body is read.

use crate::delay::parse_retry_after;
use crate::failure::Failure;
use std::io::ErrorKind;
use std::ops::Range;
use ureq::http::{HeaderMap, StatusCode};

/// What identifies a version of a file: its ETag, and the date of its last change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Validator {
    e_tag: Option<String>,
    last_modified: Option<String>,
}

/// The size and the version of a file.
#[derive(Debug, Clone)]
pub(crate) struct FileFacts {
    pub size: u64,
    pub validator: Validator,
}

/// An answer that was checked, whose body is to be read.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The body is the range that was asked for, as far as the file reaches.
    Range(FileFacts),
    /// The body is the whole file, whose size may be unknown: the server does not serve ranges.
    Whole(Option<u64>),
    /// The file has no bytes.
    Empty,
}

/// A range as `Content-Range` names it: the first byte, the last one, and the size of the file.
#[derive(Debug, PartialEq, Eq)]
struct ContentRange {
    first: u64,
    last: u64,
    size: Option<u64>,
}

impl Validator {
    pub fn read(headers: &HeaderMap) -> Validator {
        let own = |name| text(headers, name).map(str::to_owned);
        Validator { e_tag: own("etag"), last_modified: own("last-modified") }
    }

    /// Returns the header by which the server itself refuses another version. A weak ETag cannot be used: it
    /// may be the same for other bytes.
    pub fn precondition(&self) -> Option<(&'static str, &str)> {
        let strong = self.e_tag.as_deref().filter(|tag| tag.starts_with('"'));
        let date = self.last_modified.as_deref();
        strong.map(|tag| ("if-match", tag)).or(date.map(|date| ("if-unmodified-since", date)))
    }

    /// `true` if the two are of different versions. ETags decide if both have one.
    fn differs(&self, other: &Validator) -> bool {
        let pair = |own: &Option<String>, other: &Option<String>| match (own, other) {
            (Some(own), Some(other)) => Some(own != other),
            _ => None,
        };
        pair(&self.e_tag, &other.e_tag).or(pair(&self.last_modified, &other.last_modified)).unwrap_or(false)
    }
}

/// Checks status and headers of an answer to a request for `asked`. `known` describes the file as it was when
/// it was opened; without it, the range may reach beyond the file's end.
pub(crate) fn check_answer(
    status: StatusCode,
    headers: &HeaderMap,
    asked: &Range<u64>,
    known: Option<&FileFacts>,
) -> Result<Answer, Failure> {
    match status.as_u16() {
        206 => check_range(headers, asked, known).map(Answer::Range),
        200 => check_whole(headers, asked, known),
        412 => Err(changed()),
        416 => check_unsatisfiable(headers, known),
        _ => Err(refusal(status, headers)),
    }
}

fn check_range(
    headers: &HeaderMap,
    asked: &Range<u64>,
    known: Option<&FileFacts>,
) -> Result<FileFacts, Failure> {
    check_encoding(headers)?;
    let missing = || Failure::wrong_answer("the server sent a range and did not say which (Content-Range)");
    let range = text(headers, "content-range").and_then(parse_content_range).ok_or_else(missing)?;
    let Some(size) = range.size else {
        return Err(Failure::unsupported("the server does not say how long the file is (Content-Range)"));
    };
    let facts = FileFacts { size, validator: Validator::read(headers) };
    if known.is_some_and(|known| known.size != size || known.validator.differs(&facts.validator)) {
        return Err(changed());
    }
    let end = asked.end.min(size);
    if range.first != asked.start || range.last.checked_add(1) != Some(end) {
        return Err(Failure::wrong_answer("the server sent another range than it was asked for"));
    }
    if content_length(headers)?.is_some_and(|length| length != end - asked.start) {
        let what = "the server sent a range and another length (Content-Range, Content-Length)";
        return Err(Failure::wrong_answer(what));
    }
    Ok(facts)
}

fn check_whole(
    headers: &HeaderMap,
    asked: &Range<u64>,
    known: Option<&FileFacts>,
) -> Result<Answer, Failure> {
    check_encoding(headers)?;
    let length = content_length(headers)?;
    let Some(known) = known else {
        return Ok(Answer::Whole(length));
    };
    let validator = Validator::read(headers);
    if length.is_some_and(|length| length != known.size) || known.validator.differs(&validator) {
        return Err(changed());
    }
    if *asked == (0..known.size) {
        return Ok(Answer::Range(FileFacts { size: known.size, validator }));
    }
    let what = "the server sent the whole file, although it served a range of it before";
    Err(Failure::wrong_answer(what))
}

/// A range outside of the file: the file is empty, or shorter than it was.
fn check_unsatisfiable(headers: &HeaderMap, known: Option<&FileFacts>) -> Result<Answer, Failure> {
    let size = text(headers, "content-range").and_then(|value| value.strip_prefix("bytes */"));
    let size: Option<u64> = size.and_then(|size| size.trim().parse().ok());
    match (known, size) {
        (None, Some(0)) => Ok(Answer::Empty),
        (Some(known), Some(size)) if size != known.size => Err(changed()),
        _ => Err(Failure::wrong_answer("the server says that the range is not in the file (416)")),
    }
}

fn check_encoding(headers: &HeaderMap) -> Result<(), Failure> {
    let is_plain = |value: &str| value.trim().is_empty() || value.trim().eq_ignore_ascii_case("identity");
    let all = headers.get_all("content-encoding");
    if all.iter().all(|value| value.to_str().is_ok_and(is_plain)) {
        return Ok(());
    }
    let what =
        "the server compresses the file (Content-Encoding), so that its ranges are not those of the file";
    Err(Failure::unsupported(format!("{what}; switch that off for .reel files")))
}

/// The failure for an answer that has no file in it.
fn refusal(status: StatusCode, headers: &HeaderMap) -> Failure {
    let number = status.as_u16();
    let answered = |what: &str| format!("the server answered {number}: {what}");
    match number {
        401 | 403 => {
            Failure::permanent(ErrorKind::PermissionDenied, answered("it does not allow to read it"))
        }
        404 | 410 => Failure::permanent(ErrorKind::NotFound, answered("there is no such file")),
        407 => Failure::permanent(ErrorKind::PermissionDenied, answered("the proxy asks for a password")),
        408 | 425 | 429 | 500..=599 => {
            let retry_after = text(headers, "retry-after")
                .and_then(|value| parse_retry_after(value, text(headers, "date")));
            let failure = Failure::temporary(ErrorKind::Other, answered("it cannot serve it now"));
            Failure { retry_after, ..failure }
        }
        _ => Failure::permanent(ErrorKind::Other, answered("it sends no file")),
    }
}

fn changed() -> Failure {
    let what = "the file changed on the server after it was opened; open it again";
    Failure::permanent(ErrorKind::Other, what)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

fn content_length(headers: &HeaderMap) -> Result<Option<u64>, Failure> {
    let Some(value) = headers.get("content-length") else {
        return Ok(None);
    };
    let length = value.to_str().ok().and_then(parse_number);
    length.map(Some).ok_or_else(|| Failure::wrong_answer("the length of the answer is no number"))
}

/// Reads a number of digits alone.
fn parse_number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Reads `bytes FIRST-LAST/SIZE`, where the size may be `*`.
fn parse_content_range(value: &str) -> Option<ContentRange> {
    let (unit, rest) = value.trim().split_once(' ')?;
    let (range, size) = rest.trim().split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (parse_number(first)?, parse_number(last)?);
    let size = if size == "*" { None } else { Some(parse_number(size)?) };
    let is_inside = first <= last && size.is_none_or(|size| last < size);
    (unit.eq_ignore_ascii_case("bytes") && is_inside).then_some(ContentRange { first, last, size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureClass;

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        list.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn check(
        status: u16,
        list: &[(&'static str, &str)],
        asked: Range<u64>,
        known: Option<&FileFacts>,
    ) -> Result<Answer, Failure> {
        check_answer(StatusCode::from_u16(status).unwrap(), &headers(list), &asked, known)
    }

    fn known(size: u64, list: &[(&'static str, &str)]) -> FileFacts {
        FileFacts { size, validator: Validator::read(&headers(list)) }
    }

    #[test]
    fn ranges_are_read_strictly() {
        let range = |first, last, size| Some(ContentRange { first, last, size });
        assert_eq!(parse_content_range("bytes 0-9/10"), range(0, 9, Some(10)));
        assert_eq!(parse_content_range("Bytes 5-5/*"), range(5, 5, None));
        let max = u64::MAX;
        assert_eq!(parse_content_range(&format!("bytes 0-{}/{max}", max - 1)), range(0, max - 1, Some(max)));
        for value in [
            "",
            "bytes",
            "bytes 0-9",
            "bytes 9-0/10",
            "bytes 0-10/10",
            "bytes +0-9/10",
            "bytes */10",
            "lines 0-9/10",
            "bytes 0-99999999999999999999/*",
        ] {
            assert_eq!(parse_content_range(value), None, "{value}");
        }
    }

    #[test]
    fn only_the_range_that_was_asked_for_is_accepted() {
        let part = |range: &'static str, asked| check(206, &[("content-range", range)], asked, None);
        let size = |answer: Result<Answer, Failure>| match answer {
            Ok(Answer::Range(facts)) => facts.size,
            other => panic!("{other:?}"),
        };
        assert_eq!(size(part("bytes 0-99/1000", 0..100)), 1000);
        // The first request does not know where the file ends.
        assert_eq!(size(part("bytes 0-49/50", 0..100)), 50);
        for (range, asked) in [
            ("bytes 1-99/1000", 0..100),
            ("bytes 0-98/1000", 0..100),
            ("bytes 0-100/1000", 0..100),
            ("bytes 100-199/1000", 0..100),
            ("nothing", 0..100),
        ] {
            assert!(part(range, asked).is_err_and(|failure| failure.is_temporary()), "{range}");
        }
        let list = [("content-range", "bytes 0-99/1000"), ("content-length", "99")];
        assert!(check(206, &list, 0..100, None).is_err_and(|failure| failure.is_temporary()));
        assert!(check(206, &[], 0..100, None).is_err_and(|failure| failure.is_temporary()));
        let unknown = part("bytes 0-99/*", 0..100).unwrap_err();
        assert_eq!(unknown.class, FailureClass::Unsupported);
    }

    #[test]
    fn another_version_is_a_change_of_the_file() {
        let range = ("content-range", "bytes 0-99/1000");
        let is_changed = |list: &[(&'static str, &str)], known: &FileFacts| {
            check(206, &[&[range], list].concat(), 0..100, Some(known))
                .is_err_and(|failure| failure.what.contains("changed on the server"))
        };
        let tagged = known(1000, &[("etag", "\"a\""), ("last-modified", "Monday")]);
        assert!(!is_changed(&[("etag", "\"a\""), ("last-modified", "Tuesday")], &tagged));
        assert!(is_changed(&[("etag", "\"b\""), ("last-modified", "Monday")], &tagged));
        assert!(is_changed(&[("last-modified", "Tuesday")], &tagged));
        assert!(!is_changed(&[], &tagged));
        assert!(is_changed(&[], &known(999, &[])));
        let weak = known(1000, &[("etag", "W/\"a\"")]);
        assert!(is_changed(&[("etag", "W/\"b\"")], &weak));
        assert!(check(412, &[], 0..100, Some(&tagged)).is_err_and(|failure| !failure.is_temporary()));
        assert!(check(416, &[("content-range", "bytes */50")], 0..100, Some(&tagged)).is_err());

        assert_eq!(tagged.validator.precondition(), Some(("if-match", "\"a\"")));
        assert_eq!(weak.validator.precondition(), None);
        let dated = known(1000, &[("etag", "W/\"a\""), ("last-modified", "Monday")]);
        assert_eq!(dated.validator.precondition(), Some(("if-unmodified-since", "Monday")));
    }

    #[test]
    fn a_whole_file_is_accepted_first_or_if_it_was_asked_for() {
        assert!(matches!(check(200, &[("content-length", "7")], 0..100, None), Ok(Answer::Whole(Some(7)))));
        assert!(matches!(check(200, &[], 0..100, None), Ok(Answer::Whole(None))));
        assert!(check(200, &[("content-length", "-7")], 0..100, None).is_err());
        let facts = known(100, &[]);
        assert!(matches!(check(200, &[], 0..100, Some(&facts)), Ok(Answer::Range(_))));
        assert!(check(200, &[], 0..50, Some(&facts)).is_err_and(|failure| failure.is_temporary()));
        assert!(matches!(check(416, &[("content-range", "bytes */0")], 0..100, None), Ok(Answer::Empty)));
        assert!(check(416, &[("content-range", "bytes */9")], 0..100, None).is_err());
    }

    #[test]
    fn what_is_compressed_is_refused() {
        for (encoding, is_fine) in [("identity", true), ("", true), ("gzip", false), ("br", false)] {
            let list = [("content-range", "bytes 0-99/1000"), ("content-encoding", encoding)];
            assert_eq!(check(206, &list, 0..100, None).is_ok(), is_fine, "{encoding}");
            assert_eq!(check(200, &list[1..], 0..100, None).is_ok(), is_fine, "{encoding}");
        }
    }

    #[test]
    fn only_what_may_pass_is_tried_again() {
        for status in [408, 425, 429, 500, 502, 503, 504] {
            let failure = check(status, &[("retry-after", "3")], 0..100, None).unwrap_err();
            assert!(failure.is_temporary(), "{status}");
            assert_eq!(failure.retry_after.map(|delay| delay.as_secs()), Some(3));
        }
        for status in [204, 300, 304, 400, 401, 403, 404, 405, 407, 410, 418] {
            assert!(!check(status, &[], 0..100, None).unwrap_err().is_temporary(), "{status}");
        }
    }
}
