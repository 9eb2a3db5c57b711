//! The PLY header: the elements that follow, their counts, and their properties.

use crate::lines::{Lines, Words, trim};
use meshreel_scene::Error;
use meshreel_scene::number;
use std::io::Read;
use std::path::Path;

/// Upper limit for the elements and properties of a header.
const MAX_PROPERTIES: usize = 4096;

/// The type of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum NumberType {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    F32,
    F64,
}

impl NumberType {
    fn from_name(name: &[u8]) -> Option<NumberType> {
        Some(match name {
            b"char" | b"int8" => NumberType::I8,
            b"uchar" | b"uint8" => NumberType::U8,
            b"short" | b"int16" => NumberType::I16,
            b"ushort" | b"uint16" => NumberType::U16,
            b"int" | b"int32" => NumberType::I32,
            b"uint" | b"uint32" => NumberType::U32,
            b"float" | b"float32" => NumberType::F32,
            b"double" | b"float64" => NumberType::F64,
            _ => return None,
        })
    }
    pub(super) fn size(self) -> usize {
        match self {
            NumberType::I8 | NumberType::U8 => 1,
            NumberType::I16 | NumberType::U16 => 2,
            NumberType::I32 | NumberType::U32 | NumberType::F32 => 4,
            NumberType::F64 => 8,
        }
    }
    /// Decodes the value in `bytes`, which are `size()` long; every type fits in f64.
    pub(super) fn value(self, bytes: &[u8], big: bool) -> f64 {
        let mut b = [0u8; 8];
        let b = &mut b[..bytes.len()];
        b.copy_from_slice(bytes);
        if big {
            b.reverse();
        }
        match (self, &*b) {
            (NumberType::I8, [a, ..]) => f64::from(*a as i8),
            (NumberType::U8, [a, ..]) => f64::from(*a),
            (NumberType::I16, [a, b, ..]) => f64::from(i16::from_le_bytes([*a, *b])),
            (NumberType::U16, [a, b, ..]) => f64::from(u16::from_le_bytes([*a, *b])),
            (NumberType::I32, [a, b, c, d, ..]) => f64::from(i32::from_le_bytes([*a, *b, *c, *d])),
            (NumberType::U32, [a, b, c, d, ..]) => f64::from(u32::from_le_bytes([*a, *b, *c, *d])),
            (NumberType::F32, [a, b, c, d, ..]) => f64::from(f32::from_le_bytes([*a, *b, *c, *d])),
            (NumberType::F64, [a, b, c, d, e, f, g, h]) => {
                f64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h])
            }
            _ => 0.0,
        }
    }
    /// Returns the value that stands for a full colour component of this type; colours are divided by it.
    pub(super) fn full(self) -> f64 {
        match self {
            NumberType::U16 | NumberType::I16 => 65535.0,
            NumberType::F32 | NumberType::F64 => 1.0,
            _ => 255.0,
        }
    }
}

/// The role of a property; the number is the component (axis or channel).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum PropertyRole {
    Skip,
    Position(usize),
    Normal(usize),
    Uv(usize),
    Colour(usize),
    /// Point indices of a face or of strips.
    Indices,
    /// Texture coordinates of a face's corners, u v u v …
    CornerUvs,
}

pub(super) struct Property {
    /// The type of the length, if the property is a list.
    pub(super) length_type: Option<NumberType>,
    pub(super) value_type: NumberType,
    pub(super) role: PropertyRole,
    /// The property's name in the file, if it is skipped.
    pub(super) skipped: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum ElementKind {
    Vertex,
    Face,
    Strips,
    Other,
}

pub(super) struct Element {
    pub(super) kind: ElementKind,
    /// The name in the file of an element that is skipped.
    pub(super) skipped: Option<String>,
    pub(super) count: u64,
    pub(super) properties: Vec<Property>,
}

impl Element {
    /// Returns the smallest number of bytes a row can take.
    pub(super) fn min_row_bytes(&self, text: bool) -> u64 {
        let size = |p: &Property| {
            if text { 2 } else { p.length_type.unwrap_or(p.value_type).size() as u64 }
        };
        self.properties.iter().map(size).sum()
    }
    pub(super) fn has_role(&self, role: PropertyRole) -> bool {
        self.properties.iter().any(|p| p.role == role)
    }
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Encoding {
    Text,
    LittleEndian,
    BigEndian,
}

pub(super) fn header<R: Read>(lines: &mut Lines<R>, path: &Path) -> Result<(Encoding, Vec<Element>), Error> {
    let mut encoding = None;
    let mut elements: Vec<Element> = Vec::new();
    let mut properties = 0;
    loop {
        let line = lines.next().map_err(|e| Error::io(path, e))?.is_some();
        let (text, number) = lines.current();
        let bad = |what: String| Error::malformed(path, what, format!("line {number}"));
        if !line {
            return Err(bad("the header does not end".into()));
        }
        let text = trim(text);
        if number == 1 {
            if text != b"ply" {
                return Err(bad("not a PLY file: its first line must be 'ply'".into()));
            }
            continue;
        }
        let mut words = Words(text);
        let shown = || String::from_utf8_lossy(&text[..text.len().min(60)]).into_owned();
        match words.next() {
            Some(b"format") => {
                encoding = Some(match words.next() {
                    Some(b"ascii") => Encoding::Text,
                    Some(b"binary_little_endian") => Encoding::LittleEndian,
                    Some(b"binary_big_endian") => Encoding::BigEndian,
                    _ => return Err(bad(format!("'{}'", shown()))),
                });
            }
            Some(b"element") => {
                let (kind, skipped) = match words.next() {
                    Some(b"vertex") => (ElementKind::Vertex, None),
                    Some(b"face") => (ElementKind::Face, None),
                    Some(b"tristrips") => (ElementKind::Strips, None),
                    Some(name) => (ElementKind::Other, Some(abbreviated(name))),
                    None => return Err(bad("an element without a name".into())),
                };
                let count = words.next().and_then(number::integer).filter(|(_, rest)| rest.is_empty());
                let count = count
                    .and_then(|(n, _)| u64::try_from(n).ok())
                    .ok_or_else(|| bad(format!("'{}'", shown())))?;
                elements.push(Element { kind, skipped, count, properties: Vec::new() });
                properties += 1;
            }
            Some(b"property") => {
                let element =
                    elements.last_mut().ok_or_else(|| bad("a property before any element".into()))?;
                let property = property(words, element.kind).ok_or_else(|| bad(format!("'{}'", shown())))?;
                element.properties.push(property);
                properties += 1;
            }
            Some(b"end_header") => break,
            // `comment`, `obj_info`, empty lines and extensions by other programs.
            _ => {}
        }
        if properties > MAX_PROPERTIES {
            return Err(Error::limit(path, "properties", properties as u64, MAX_PROPERTIES as u64));
        }
    }
    match encoding {
        Some(encoding) => Ok((encoding, elements)),
        None => Err(Error::malformed(path, "the header names no format", "header")),
    }
}

/// Returns a name for messages, cut to 60 bytes.
fn abbreviated(name: &[u8]) -> String {
    String::from_utf8_lossy(&name[..name.len().min(60)]).into_owned()
}

fn property(mut words: Words<'_>, element: ElementKind) -> Option<Property> {
    let first = words.next()?;
    let (list, kind) = if first == b"list" {
        let list = NumberType::from_name(words.next()?)
            .filter(|t| !matches!(t, NumberType::F32 | NumberType::F64))?;
        (Some(list), NumberType::from_name(words.next()?)?)
    } else {
        (None, NumberType::from_name(first)?)
    };
    let name = words.next()?;
    let colour = || {
        Some(match name {
            b"red" | b"r" | b"diffuse_red" => PropertyRole::Colour(0),
            b"green" | b"g" | b"diffuse_green" => PropertyRole::Colour(1),
            b"blue" | b"b" | b"diffuse_blue" => PropertyRole::Colour(2),
            b"alpha" | b"a" | b"diffuse_alpha" => PropertyRole::Colour(3),
            _ => return None,
        })
    };
    let role = match (element, list.is_some(), name) {
        (ElementKind::Vertex, false, _) => match name {
            b"x" => PropertyRole::Position(0),
            b"y" => PropertyRole::Position(1),
            b"z" => PropertyRole::Position(2),
            b"nx" => PropertyRole::Normal(0),
            b"ny" => PropertyRole::Normal(1),
            b"nz" => PropertyRole::Normal(2),
            b"s" | b"u" | b"texture_u" | b"texture_s" | b"s0" | b"u0" => PropertyRole::Uv(0),
            b"t" | b"v" | b"texture_v" | b"texture_t" | b"t0" | b"v0" => PropertyRole::Uv(1),
            _ => colour().unwrap_or(PropertyRole::Skip),
        },
        (ElementKind::Face | ElementKind::Strips, true, b"vertex_indices" | b"vertex_index") => {
            PropertyRole::Indices
        }
        (ElementKind::Face, true, b"texcoord") => PropertyRole::CornerUvs,
        (ElementKind::Face, false, _) => colour().unwrap_or(PropertyRole::Skip),
        _ => PropertyRole::Skip,
    };
    Some(Property {
        length_type: list,
        value_type: kind,
        role,
        skipped: (role == PropertyRole::Skip).then(|| abbreviated(name)),
    })
}
