//! Metadata in the text form: list edits, references to files, and variant selections.

use super::cursor::{Cursor, SyntaxError};
use crate::value::{ListEdit, Numbers, Reference, Retime, Scalar, Value};
use std::sync::Arc;

/// The keyword in front of a list edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditKeyword {
    Explicit,
    Add,
    Prepend,
    Append,
    Delete,
    Reorder,
}

impl EditKeyword {
    /// Takes the keyword if there is one.
    pub fn take(cursor: &mut Cursor<'_>) -> EditKeyword {
        let words = [
            ("add", EditKeyword::Add),
            ("prepend", EditKeyword::Prepend),
            ("append", EditKeyword::Append),
            ("delete", EditKeyword::Delete),
            ("reorder", EditKeyword::Reorder),
        ];
        for (word, edit) in words {
            if cursor.take_word(word) {
                return edit;
            }
        }
        EditKeyword::Explicit
    }

    /// Stores a list in the matching field of an edit.
    pub fn store<T>(self, list: Vec<T>, into: &mut ListEdit<T>) {
        match self {
            EditKeyword::Explicit => into.explicit = Some(list),
            EditKeyword::Add => into.added = list,
            EditKeyword::Prepend => into.prepended = list,
            EditKeyword::Append => into.appended = list,
            EditKeyword::Delete => into.deleted = list,
            // Reordering alone affects nothing that is read.
            EditKeyword::Reorder => {}
        }
    }
}

/// Reads one item, or several in brackets; none for `None`.
pub fn list<T>(
    cursor: &mut Cursor<'_>,
    mut one: impl FnMut(&mut Cursor<'_>) -> Result<T, SyntaxError>,
) -> Result<Vec<T>, SyntaxError> {
    if cursor.take_word("None") {
        return Ok(Vec::new());
    }
    if !cursor.take(b'[') {
        return Ok(vec![one(cursor)?]);
    }
    let mut out = Vec::new();
    while !cursor.take(b']') {
        out.push(one(cursor)?);
        cursor.take(b',');
    }
    Ok(out)
}

/// Reads a path; a relative one starts at the prim `at`.
pub fn path(cursor: &mut Cursor<'_>, at: &str) -> Result<Arc<str>, SyntaxError> {
    Ok(absolute(at, &cursor.path()?))
}

/// Stands for a variant in a path; `..` leaves it like a prim.
pub const VARIANT: &str = "/{}";

/// Converts a path relative to the prim `at` to an absolute one without variants. Paths in a variant start at
/// its prim. A path above the root stays unchanged, and does not exist.
fn absolute(at: &str, path: &str) -> Arc<str> {
    let (mut above, mut rest) = (at.trim_end_matches(VARIANT), path);
    while !rest.is_empty() {
        let (first, next) = rest.split_once('/').unwrap_or((rest, ""));
        match first {
            "." => {}
            ".." if !above.is_empty() => above = above.rsplit_once('/').map_or("", |(above, _)| above),
            // An absolute path, or one above the root.
            "" | ".." => return path.into(),
            _ => break,
        }
        rest = next;
    }
    let above = above.replace(VARIANT, "");
    match rest {
        "" if path.is_empty() || above.is_empty() => path.into(),
        "" => above.into(),
        _ if rest.starts_with('.') => (above + rest).into(),
        _ => [&*above, rest].join("/").into(),
    }
}

/// Reads a reference or payload of the prim `at`: a file, a path, or both, and its layer offset.
pub fn reference(cursor: &mut Cursor<'_>, at: &str) -> Result<Reference, SyntaxError> {
    let asset = if cursor.peek() == Some(b'@') { cursor.asset()? } else { "".into() };
    let prim = match cursor.peek() {
        // A path in another file is not relative to `at`.
        Some(b'<') if asset.is_empty() => path(cursor, at)?,
        Some(b'<') => cursor.path()?,
        _ => "".into(),
    };
    if asset.is_empty() && prim.is_empty() {
        // An empty path refers to the default prim of the same layer; anything else is no reference.
        if !cursor.text[..cursor.offset].ends_with(b">") && !cursor.text[..cursor.offset].ends_with(b"@") {
            return cursor.syntax_error("a reference is missing");
        }
    }
    Ok(Reference { asset, prim, retime: retime(cursor)? })
}

/// Reads a sublayer and its layer offset.
pub fn sublayer(cursor: &mut Cursor<'_>) -> Result<(Arc<str>, Retime), SyntaxError> {
    Ok((cursor.asset()?, retime(cursor)?))
}

/// Reads `(offset = 1; scale = 2)`, if present.
fn retime(cursor: &mut Cursor<'_>) -> Result<Retime, SyntaxError> {
    let mut out = Retime::IDENTITY;
    if !cursor.take(b'(') {
        return Ok(out);
    }
    while !cursor.take(b')') {
        let name = cursor.word();
        cursor.expect(b'=')?;
        let before = cursor.offset;
        match (name, cursor.number()) {
            ("offset", Some(offset)) => out.offset = offset,
            ("scale", Some(scale)) => out.scale = scale,
            _ => {
                cursor.offset = before;
                cursor.skip()?;
            }
        }
        cursor.take(b',');
    }
    Ok(out)
}

/// Reads an integer.
pub fn integer(cursor: &mut Cursor<'_>) -> Result<i64, SyntaxError> {
    match cursor.parsed() {
        Some(number) => Ok(number),
        None => cursor.syntax_error("a whole number is missing"),
    }
}

/// Reads `{ string set = "variant" }`.
pub fn selections(cursor: &mut Cursor<'_>) -> Result<Value, SyntaxError> {
    cursor.expect(b'{')?;
    let mut out = Vec::new();
    while !cursor.take(b'}') {
        if cursor.word() != "string" {
            return cursor.syntax_error("a selection of a variant is no string");
        }
        let set: Arc<str> = if cursor.is_string() { cursor.string()? } else { cursor.word().into() };
        cursor.expect(b'=')?;
        out.push((set, cursor.string()?));
        cursor.take(b',');
    }
    Ok(Value::Selections(out))
}

/// Reads a plain value: a string, a number or a bool; others give [`Value::Other`].
pub fn plain(cursor: &mut Cursor<'_>) -> Result<Value, SyntaxError> {
    if cursor.is_string() {
        return Ok(Value::Texts { array: false, list: vec![cursor.string()?] });
    }
    if cursor.peek() == Some(b'@') {
        return Ok(Value::Texts { array: false, list: vec![cursor.asset()?] });
    }
    for (word, truth) in [("true", 1), ("false", 0)] {
        if cursor.take_word(word) {
            let bytes = vec![truth];
            return Ok(Value::Numbers(Numbers { scalar: Scalar::Bool, width: 1, array: false, bytes }));
        }
    }
    if cursor.take_word("None") {
        return Ok(Value::Block);
    }
    if cursor.peek().is_some_and(|b| b.is_ascii_digit() || matches!(b, b'-' | b'+' | b'.'))
        && let Some(number) = cursor.number()
    {
        let bytes = number.to_le_bytes().to_vec();
        return Ok(Value::Numbers(Numbers { scalar: Scalar::F64, width: 1, array: false, bytes }));
    }
    cursor.skip()?;
    Ok(Value::Other)
}

#[cfg(test)]
mod tests {
    use super::absolute;

    #[test]
    fn relative_paths_start_at_their_prim() {
        for (at, path, whole) in [
            ("/A/B", "C", "/A/B/C"),
            ("/A/B", "../C/D", "/A/C/D"),
            ("/A/B", "../../C", "/C"),
            ("/A/B", "..", "/A"),
            ("/A/B", ".", "/A/B"),
            ("/A/B", "./C", "/A/B/C"),
            ("/A/B", ".attr", "/A/B.attr"),
            ("/A/B", "../C.attr", "/A/C.attr"),
            ("/A/B", "../.attr", "/A.attr"),
            ("/A/B", "/C", "/C"),
            ("/A/B", "", ""),
            ("", "C", "/C"),
            ("/A", "../../C", "../../C"),
            ("/A", "../..", "../.."),
            // As in the OpenUSD library: for prims in a variant, the variant is a step of its own.
            ("/A/{}", "../C", "/C"),
            ("/A/{}", "C", "/A/C"),
            ("/A/{}/B", "C", "/A/B/C"),
            ("/A/{}/B", "../C", "/A/C"),
            ("/A/{}/B", "../../C", "/A/C"),
            ("/A/{}/B", "../../../C", "/C"),
            ("/A/{}/{}", "../C", "/C"),
        ] {
            assert_eq!(&*absolute(at, path), whole, "{at} {path}");
        }
    }
}
