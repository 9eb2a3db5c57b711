//! The values of a text layer, parsed from the text on demand.

use super::cursor::{Cursor, TextSpan};
use super::splines::spline;
use crate::bytes::LayerBytes;
use crate::specs::ValueRef;
use crate::value::{Numbers, Scalar, Value, ValueKind};
use meshreel_scene::number::float;
use meshreel_scene::{Error, Identity};
use std::collections::HashMap;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Tags in the upper bits of a [`ValueRef`].
const PARSED_TAG: u64 = 1 << 62;
const SAMPLES_TAG: u64 = 2 << 62;

/// A value that is not parsed yet.
struct RawValue {
    start: u32,
    end: u32,
    count: u32,
    /// The index of the type's name.
    type_name: u32,
    hash: u64,
}

/// The values of a text layer.
pub struct TextValues {
    bytes: LayerBytes,
    text: Vec<u8>,
    raw: Vec<RawValue>,
    parsed: Vec<Value>,
    samples: Vec<(Arc<[f64]>, Vec<ValueRef>)>,
    types: Vec<Arc<str>>,
    type_numbers: HashMap<Arc<str>, u32>,
}

impl TextValues {
    pub fn new(bytes: LayerBytes) -> TextValues {
        let none = Vec::new;
        TextValues {
            bytes,
            text: none(),
            raw: Vec::new(),
            parsed: Vec::new(),
            samples: Vec::new(),
            types: Vec::new(),
            type_numbers: HashMap::new(),
        }
    }

    /// Stores the text, once the positions of all values in it are known.
    pub fn set_text(&mut self, text: Vec<u8>) {
        self.text = text;
    }

    /// Adds a value at a position of `text`, which is shorter than 4 GiB.
    pub fn add_raw(&mut self, text: &[u8], span: &TextSpan, type_name: &str) -> ValueRef {
        let own = text.get(span.start..span.end).unwrap_or_default();
        if own == b"None" || own == b"AnimationBlock" {
            return self.add(Value::Block);
        }
        let type_name = match self.type_numbers.get(type_name) {
            Some(number) => *number,
            None => {
                let name: Arc<str> = type_name.into();
                self.types.push(name.clone());
                let number = self.types.len() as u32 - 1;
                self.type_numbers.insert(name, number);
                number
            }
        };
        let (start, end, count) = (span.start as u32, span.end as u32, span.count as u32);
        self.raw.push(RawValue { start, end, count, type_name, hash: xxh3_64(own) });
        ValueRef(self.raw.len() as u64 - 1)
    }

    pub fn add(&mut self, value: Value) -> ValueRef {
        self.parsed.push(value);
        ValueRef(PARSED_TAG | (self.parsed.len() as u64 - 1))
    }

    pub fn add_samples(&mut self, times: Vec<f64>, values: Vec<ValueRef>) -> ValueRef {
        self.samples.push((times.into(), values));
        ValueRef(SAMPLES_TAG | (self.samples.len() as u64 - 1))
    }

    pub fn value(&self, value: ValueRef) -> Result<Value, Error> {
        let number = (value.0 & (PARSED_TAG - 1)) as usize;
        match value.0 & !(PARSED_TAG - 1) {
            PARSED_TAG => Ok(self.parsed.get(number).cloned().unwrap_or(Value::Other)),
            SAMPLES_TAG => Ok(Value::Other),
            _ => match self.raw.get(number) {
                Some(raw) => self.parse(raw),
                None => Ok(Value::Other),
            },
        }
    }

    pub fn is_block(&self, value: ValueRef) -> bool {
        self.parsed_value(value) == Some(&Value::Block)
    }

    fn parsed_value(&self, value: ValueRef) -> Option<&Value> {
        let is = value.0 & !(PARSED_TAG - 1) == PARSED_TAG;
        is.then(|| self.parsed.get((value.0 & (PARSED_TAG - 1)) as usize)).flatten()
    }

    fn raw_value(&self, value: ValueRef) -> Option<&RawValue> {
        self.raw.get(usize::try_from(value.0).ok()?)
    }

    pub fn length(&self, value: ValueRef) -> usize {
        match self.raw_value(value) {
            Some(raw) => raw.count as usize,
            None => usize::from(!self.is_block(value)),
        }
    }

    /// Returns the identity of a value; values with the same text have the same.
    pub fn identity(&self, value: ValueRef) -> Identity {
        match self.raw_value(value) {
            Some(raw) => Identity::from(raw.hash) << 64 | Identity::from(raw.end - raw.start),
            None => Identity::from(value.0),
        }
    }

    pub fn samples(&self, value: ValueRef) -> Option<(Arc<[f64]>, Vec<ValueRef>)> {
        let is = value.0 & !(PARSED_TAG - 1) == SAMPLES_TAG;
        is.then(|| self.samples.get((value.0 & (PARSED_TAG - 1)) as usize).cloned()).flatten()
    }

    fn parse(&self, raw: &RawValue) -> Result<Value, Error> {
        let text = self.text.get(raw.start as usize..raw.end as usize).unwrap_or_default();
        let name = self.types.get(raw.type_name as usize).map_or("", |name| &**name);
        let (element, array) = match name.strip_suffix("[]") {
            Some(element) => (element, true),
            None => (name, false),
        };
        let wrong = || {
            let what = format!("a value is none of the type {name}; mend it there, or export it anew");
            Error::malformed(self.bytes.name(), what, format!("byte {}", raw.start))
        };
        if is_text(element) {
            let list = texts(text).ok_or_else(wrong)?;
            return match array || list.len() == 1 {
                true => Ok(Value::Texts { array, list }),
                false => Err(wrong()),
            };
        }
        if name == "spline" {
            return spline(text).map(Value::Spline).ok_or_else(wrong);
        }
        let Some((scalar, width)) = layout(element) else {
            return Ok(Value::Other);
        };
        let mut bytes = numbers(text, scalar).ok_or_else(wrong)?;
        let size = scalar.size() * width;
        if bytes.len() % size != 0 || !array && bytes.len() != size {
            return Err(wrong());
        }
        if element.starts_with("quat") {
            // The text form has the real part first.
            bytes.chunks_exact_mut(size).for_each(|quaternion| quaternion.rotate_left(scalar.size()));
        }
        Ok(Value::Numbers(Numbers { scalar, width, array, bytes }))
    }
}

fn is_text(element: &str) -> bool {
    matches!(element, "token" | "string" | "asset" | "pathExpression")
}

/// The kind of the values of a type, or of its elements; `None` for types whose values cannot be read.
pub fn kind_of_type(name: &str) -> Option<ValueKind> {
    let element = name.strip_suffix("[]").unwrap_or(name);
    if is_text(element) {
        return Some(ValueKind::Text);
    }
    let (scalar, width) = layout(element)?;
    Some(match scalar {
        Scalar::F16 | Scalar::F32 | Scalar::F64 => ValueKind::Number,
        _ => ValueKind::Whole { width },
    })
}

/// Returns the number type of a value type, and how many numbers make an element.
fn layout(element: &str) -> Option<(Scalar, usize)> {
    use Scalar::*;
    let plain = match element {
        "bool" => Some(Bool),
        "uchar" => Some(U8),
        "int" => Some(I32),
        "uint" => Some(U32),
        "int64" => Some(I64),
        "uint64" => Some(U64),
        "half" => Some(F16),
        "float" => Some(F32),
        "double" | "timecode" => Some(F64),
        _ => None,
    };
    if let Some(scalar) = plain {
        return Some((scalar, 1));
    }
    let of = |letter: &str| match letter {
        "d" => Some(F64),
        "f" => Some(F32),
        "h" => Some(F16),
        "i" => Some(I32),
        _ => None,
    };
    for (name, scalar) in [("int", I32), ("half", F16), ("float", F32), ("double", F64)] {
        if let Some(width) = element.strip_prefix(name).and_then(|rest| rest.parse().ok()) {
            return (2..=4).contains(&width).then_some((scalar, width));
        }
    }
    let roles = ["point", "vector", "normal", "color", "texCoord"];
    for role in roles {
        if let Some((width, letter)) = element.strip_prefix(role).and_then(|rest| rest.split_at_checked(1)) {
            let width = width.parse().ok().filter(|width| (2..=4).contains(width))?;
            return Some((of(letter)?, width));
        }
    }
    match element {
        "matrix2d" => Some((F64, 4)),
        "matrix3d" => Some((F64, 9)),
        "matrix4d" | "frame4d" => Some((F64, 16)),
        "quatd" | "quatf" | "quath" => Some((of(&element[4..])?, 4)),
        _ => None,
    }
}

/// Parses all numbers of a text, ignoring brackets.
fn numbers(text: &[u8], scalar: Scalar) -> Option<Vec<u8>> {
    let mut cursor = Cursor { text, offset: 0 };
    let mut out = Vec::new();
    while let Some(byte) = cursor.peek() {
        if matches!(byte, b'[' | b']' | b'(' | b')' | b',') {
            cursor.offset += 1;
            continue;
        }
        let rest = &text[cursor.offset..];
        let is = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
        let word = &rest[..rest.iter().position(|b| !is(b)).unwrap_or(rest.len())];
        cursor.offset += word.len();
        let letters = str::from_utf8(word).ok().filter(|word| !word.is_empty())?;
        let whole = || letters.parse::<i64>().ok();
        match scalar {
            Scalar::F32 => out.extend(float(word)?.to_le_bytes()),
            Scalar::F64 => out.extend(letters.parse::<f64>().ok()?.to_le_bytes()),
            Scalar::F16 => out.extend(to_half(float(word)?).to_le_bytes()),
            Scalar::I64 => out.extend(whole()?.to_le_bytes()),
            Scalar::U64 => out.extend(letters.parse::<u64>().ok()?.to_le_bytes()),
            Scalar::I32 => out.extend(i32::try_from(whole()?).ok()?.to_le_bytes()),
            Scalar::U32 => out.extend(u32::try_from(whole()?).ok()?.to_le_bytes()),
            Scalar::U8 => out.push(u8::try_from(whole()?).ok()?),
            Scalar::Bool => out.push(match letters {
                "true" | "1" => 1,
                "false" | "0" => 0,
                _ => return None,
            }),
        }
    }
    Some(out)
}

/// Rounds to the nearest IEEE 754 binary16, ties to even.
fn to_half(value: f32) -> u16 {
    let sign = (value.to_bits() >> 16) as u16 & 0x8000;
    let size = value.abs();
    if value.is_nan() {
        return sign | 0x7E00;
    }
    if size >= 65_520.0 {
        return sign | 0x7C00;
    }
    // Steps of the spacing of halves at this magnitude; below the least exponent, that of subnormals.
    let exponent = ((size.to_bits() >> 23) as i32 - 127).max(-14);
    let spacing = (f64::from(exponent) - 10.0).exp2();
    let steps = (f64::from(size) / spacing).round_ties_even() as u32;
    // A step beyond the largest fraction carries into the exponent, as it should.
    let base = ((exponent + 14) as u32) << 10;
    sign | (base + steps) as u16
}

/// Parses all strings and asset names of a text.
fn texts(text: &[u8]) -> Option<Vec<Arc<str>>> {
    let mut cursor = Cursor { text, offset: 0 };
    let mut out = Vec::new();
    while let Some(byte) = cursor.peek() {
        match byte {
            b'[' | b']' | b',' => cursor.offset += 1,
            b'@' => out.push(cursor.asset().ok()?),
            _ => out.push(cursor.string().ok()?),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::number::half;

    #[test]
    fn types_by_name() {
        assert_eq!(layout("point3f"), Some((Scalar::F32, 3)));
        assert_eq!(layout("texCoord2h"), Some((Scalar::F16, 2)));
        assert_eq!(layout("double4"), Some((Scalar::F64, 4)));
        assert_eq!(layout("quatf"), Some((Scalar::F32, 4)));
        for none in ["float9", "point3x", "quat", "opaque", ""] {
            assert_eq!(layout(none), None, "{none}");
        }
    }

    #[test]
    fn halves_round_to_the_nearest() {
        for bits in (0..0x7C00).step_by(7) {
            let value = half(bits);
            assert_eq!(to_half(value), bits, "{value}");
            assert_eq!(to_half(-value), bits | 0x8000);
            // Slightly more than half-way to the next value.
            let next = half(bits + 1);
            if next.is_finite() {
                assert_eq!(to_half(value + (next - value) * 0.51), bits + 1);
            }
        }
        assert_eq!(to_half(f32::INFINITY), 0x7C00);
    }
}
