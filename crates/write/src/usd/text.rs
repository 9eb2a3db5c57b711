//! The text form.

use super::layer::{Attribute, Layer, PrimId, Progress};
use super::value::{Element, Scalar, Value};
use crate::Temporary;
use meshreel_scene::Error;
use meshreel_scene::number::half;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

pub(super) fn write(path: &Path, mut layer: Layer, progress: &mut Progress) -> Result<(), Error> {
    let file = Temporary::create(path)?;
    let mut out = Text { path, out: BufWriter::with_capacity(1 << 20, file.file()), depth: 0 };
    out.line("#usda 1.0")?;
    out.line("(")?;
    out.depth = 1;
    if let Some(first) = layer.roots.first() {
        out.field("defaultPrim", &Value::String(layer.prims[*first].name.clone()))?;
    }
    for (name, value) in &layer.fields {
        out.field(name, value)?;
    }
    out.depth = 0;
    out.line(")")?;
    let attributes = layer.prims.iter().map(|prim| prim.attributes.len()).sum();
    let mut written = 0;
    // Prims to be opened, and prims to be closed; the last is the next.
    let mut open: Vec<(PrimId, bool)> = layer.roots.iter().rev().map(|prim| (*prim, true)).collect();
    while let Some((id, opens)) = open.pop() {
        if !opens {
            out.depth -= 1;
            out.line("}")?;
            continue;
        }
        out.prim(&layer, id)?;
        out.line("{")?;
        out.depth += 1;
        for attribute in &mut layer.prims[id].attributes {
            out.attribute(attribute)?;
            written += 1;
            progress(written, attributes);
        }
        for (name, target) in &layer.prims[id].relationships {
            out.line(&format!("rel {name} = <{}>", layer.path(*target)))?;
        }
        open.push((id, false));
        open.extend(layer.prims[id].children.iter().rev().map(|child| (*child, true)));
    }
    out.out.flush().map_err(|e| Error::io(path, e))?;
    drop(out);
    file.publish()
}

struct Text<'a> {
    path: &'a Path,
    out: BufWriter<&'a std::fs::File>,
    depth: usize,
}

impl Text<'_> {
    fn line(&mut self, line: &str) -> Result<(), Error> {
        let (depth, path) = (4 * self.depth, self.path);
        writeln!(self.out, "{:depth$}{line}", "").map_err(|e| Error::io(path, e))
    }

    fn field(&mut self, name: &str, value: &Value) -> Result<(), Error> {
        self.line(&format!("{name} = {}", text(value)))
    }

    /// Writes the line and the metadata of a prim.
    fn prim(&mut self, layer: &Layer, id: PrimId) -> Result<(), Error> {
        let prim = &layer.prims[id];
        let type_name =
            if prim.type_name.is_empty() { String::new() } else { format!("{} ", prim.type_name) };
        self.line(&format!("def {type_name}\"{}\" (", prim.name))?;
        self.depth += 1;
        for (name, value) in &prim.fields {
            self.field(name, value)?;
        }
        if !prim.schemas.is_empty() {
            let names: Vec<String> = prim.schemas.iter().map(|name| quoted(name)).collect();
            self.line(&format!("prepend apiSchemas = [{}]", names.join(", ")))?;
        }
        if let Some(target) = prim.reference {
            self.line(&format!("prepend references = <{}>", layer.path(target)))?;
        }
        self.depth -= 1;
        self.line(")")
    }

    fn attribute(&mut self, attribute: &mut Attribute) -> Result<(), Error> {
        let uniform = if attribute.uniform { "uniform " } else { "" };
        let head = format!("{uniform}{} {}", attribute.type_name, attribute.name);
        let fields: Vec<String> =
            attribute.fields.iter().map(|(name, value)| format!("{name} = {}", text(value))).collect();
        let fields = if fields.is_empty() { String::new() } else { format!(" ({})", fields.join("; ")) };
        let samples = &mut attribute.samples;
        if samples.codes.is_empty() {
            let value = text(&(samples.read)(0)?);
            return self.line(&format!("{head} = {value}{fields}"));
        }
        if !fields.is_empty() {
            self.line(&format!("{head}{fields}"))?;
        }
        self.line(&format!("{head}.timeSamples = {{"))?;
        self.depth += 1;
        for i in 0..samples.codes.len() {
            let value = text(&(samples.read)(i)?);
            self.line(&format!("{}: {value},", samples.codes[i]))?;
        }
        self.depth -= 1;
        self.line("}")
    }
}

/// Returns a value as text.
fn text(value: &Value) -> String {
    match value {
        Value::Bool(value) => u8::from(*value).to_string(),
        Value::Token(text) | Value::String(text) => quoted(text),
        Value::Tokens(texts) => {
            format!("[{}]", texts.iter().map(|text| quoted(text)).collect::<Vec<_>>().join(", "))
        }
        Value::Numbers { element, array, bytes } => {
            let (_, scalar, width) = element.layout();
            let mut out = String::with_capacity(4 * bytes.len());
            if *array {
                out.push('[');
            }
            for (i, element_bytes) in bytes.chunks_exact(scalar.size() * width).enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                push_element(*element, element_bytes, &mut out);
            }
            if *array {
                out.push(']');
            }
            out
        }
    }
}

/// Appends one element: a number, or numbers in parentheses.
fn push_element(element: Element, bytes: &[u8], out: &mut String) {
    let (_, scalar, width) = element.layout();
    let number = |i: usize, out: &mut String| push_number(scalar, &bytes[i * scalar.size()..], out);
    let row = |numbers: &[usize], out: &mut String| {
        for (i, at) in numbers.iter().enumerate() {
            out.push_str(if i == 0 { "(" } else { ", " });
            number(*at, out);
        }
        out.push(')');
    };
    match (element, width) {
        (_, 1) => number(0, out),
        (Element::QuatF32 | Element::QuatF64, _) => row(&[3, 0, 1, 2], out),
        (Element::Matrix, _) => {
            for (i, numbers) in
                [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]].iter().enumerate()
            {
                out.push_str(if i == 0 { "( " } else { ", " });
                row(numbers, out);
            }
            out.push_str(" )");
        }
        _ => row(&[0, 1, 2, 3][..width], out),
    }
}

/// Appends a number, in as few digits as bring it back.
fn push_number(scalar: Scalar, bytes: &[u8], out: &mut String) {
    let two = |bytes: &[u8]| u16::from_le_bytes([bytes[0], bytes[1]]);
    let four = |bytes: &[u8]| std::array::from_fn(|i| bytes[i]);
    let eight = |bytes: &[u8]| std::array::from_fn(|i| bytes[i]);
    // Writing to a text cannot fail.
    let _ = match scalar {
        Scalar::I32 => write!(out, "{}", i32::from_le_bytes(four(bytes))),
        Scalar::I64 => write!(out, "{}", i64::from_le_bytes(eight(bytes))),
        Scalar::F16 => write!(out, "{}", half(two(bytes))),
        Scalar::F32 => write!(out, "{}", f32::from_le_bytes(four(bytes))),
        Scalar::F64 => write!(out, "{}", f64::from_le_bytes(eight(bytes))),
    };
    if out.ends_with("NaN") {
        out.truncate(out.len() - 3);
        out.push_str("nan");
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
