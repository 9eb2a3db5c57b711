//! The fields of records: texts, lists, finite numbers. A count is accepted only if the remaining bytes could
//! hold that many items.

use crate::Corrupt;
use crate::bytes::Cursor;
#[cfg(feature = "encode")]
use crate::bytes::put_varint;

#[cfg(feature = "encode")]
pub(super) fn put_count(count: usize, out: &mut Vec<u8>) {
    put_varint(u32::try_from(count).expect("fewer than 2^32 items"), out);
}

#[cfg(feature = "encode")]
pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    put_count(text.len(), out);
    out.extend_from_slice(text.as_bytes());
}

#[cfg(feature = "encode")]
pub(super) fn put_floats(values: &[f32], out: &mut Vec<u8>) {
    out.extend(values.iter().flat_map(|v| v.to_le_bytes()));
}

#[cfg(feature = "encode")]
pub(super) fn put_f64(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// The reason why a description was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DescriptionError {
    /// The bytes are not what `encode` writes.
    #[error(transparent)]
    Corrupt(#[from] Corrupt),
    /// A mesh is stored in a way that this version does not know.
    #[error("description: unknown {what} {id}")]
    Unknown {
        /// "method" or "codec".
        what: &'static str,
        /// Its number.
        id: u8,
    },
}

/// Decodes a counted list whose items take at least `least` bytes each.
pub(super) fn list<'a, T>(
    c: &mut Cursor<'a>,
    least: usize,
    item: impl FnMut(&mut Cursor<'a>, u32) -> Result<T, Corrupt>,
) -> Result<Vec<T>, Corrupt> {
    let count = c.varint()?;
    items(c, count, least, item)
}

pub(super) fn items<'a, T, E: From<Corrupt>>(
    c: &mut Cursor<'a>,
    count: u32,
    least: usize,
    mut item: impl FnMut(&mut Cursor<'a>, u32) -> Result<T, E>,
) -> Result<Vec<T>, E> {
    if count as usize > c.left() / least {
        return Err(Corrupt("description: more items than bytes").into());
    }
    let mut all = Vec::with_capacity(count as usize);
    for at in 0..count {
        all.push(item(c, at)?);
    }
    Ok(all)
}

pub(super) fn text(c: &mut Cursor<'_>) -> Result<String, Corrupt> {
    let length = c.varint()? as usize;
    let bytes = c.bytes(length)?;
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Corrupt("description: text is not UTF-8"))
}

pub(super) fn finite(c: &mut Cursor<'_>) -> Result<f32, Corrupt> {
    let value = c.f32()?;
    if value.is_finite() { Ok(value) } else { Err(Corrupt("description: a number is not finite")) }
}

/// Decodes a number that is finite and not negative.
pub(super) fn non_negative_f64(c: &mut Cursor<'_>) -> Result<f64, Corrupt> {
    let value = c.f64()?;
    if value.is_finite() && value >= 0.0 {
        Ok(value)
    } else {
        Err(Corrupt("description: an amount is not a finite one"))
    }
}
