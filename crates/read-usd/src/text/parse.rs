//! The grammar of the text form: nested prims, their metadata, properties and variants.

use super::cursor::{Cursor, SyntaxError};
use super::metadata::{EditKeyword, VARIANT, integer, list, path, plain, reference, selections, sublayer};
use super::values::TextValues;
use crate::bytes::LayerBytes;
use crate::specs::{END_OF_FIELDS, PrimSpec, PropertySpec, SpecId, Specs, ValueRef};
use crate::value::{ListEdit, Numbers, Reference, Scalar, Value, type_name as current};
use meshreel_scene::Error;
use std::collections::HashMap;
use std::sync::Arc;

/// Upper limit for the size of a file in bytes; larger layers should use the binary form.
const MAX_TEXT_BYTES: u64 = 1 << 29;
/// Upper limit for the nesting of prims and variants.
const MAX_DEPTH: usize = 256;
/// Upper limit for the fields of a prim or a property.
const MAX_FIELDS: usize = 4096;
/// Upper limit for the nesting of dictionaries.
const MAX_DICTIONARIES: usize = 16;

/// Reads everything but values.
pub fn open(bytes: LayerBytes) -> Result<(Specs, TextValues), Error> {
    let length = bytes.length();
    if length > MAX_TEXT_BYTES {
        let what = "bytes of a text layer; write it as .usdc with `usdcat`";
        return Err(Error::limit(bytes.name(), what, length, MAX_TEXT_BYTES));
    }
    let content = bytes.read(0, length)?;
    let mut parser = Parser {
        cursor: Cursor { text: &content, offset: 0 },
        specs: Specs { prims: vec![PrimSpec::default()], ..Specs::default() },
        text: TextValues::new(bytes.clone()),
        names: HashMap::new(),
        path: String::new(),
    };
    match parser.layer() {
        Ok(()) => {}
        Err(SyntaxError { what, offset: at }) => {
            let line = 1 + content[..at.min(content.len())].iter().filter(|b| **b == b'\n').count();
            let what = format!("{what}; mend it there, or export it anew");
            return Err(Error::malformed(bytes.name(), what, format!("line {line}")));
        }
    }
    let Parser { specs, mut text, .. } = parser;
    text.set_text(content);
    Ok((specs, text))
}

type Fields = Vec<(u32, ValueRef)>;

/// A property while its statements are read.
struct OpenProperty {
    name: Arc<str>,
    fields: Fields,
    targets: Option<ListEdit<Arc<str>>>,
}

/// A prim while it is read.
#[derive(Default)]
struct OpenPrim {
    fields: Fields,
    references: ListEdit<Reference>,
    payload: ListEdit<Reference>,
    inherits: ListEdit<Arc<str>>,
    specializes: ListEdit<Arc<str>>,
    clip_sets: Option<ListEdit<Arc<str>>>,
    inactive_ids: Option<ListEdit<i64>>,
    properties: Vec<OpenProperty>,
    by_name: HashMap<Arc<str>, usize>,
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    specs: Specs,
    text: TextValues,
    names: HashMap<Arc<str>, u32>,
    /// The path of the current prim, with [`VARIANT`] for each variant; relative paths start there.
    path: String,
}

impl<'a> Parser<'a> {
    fn name(&mut self, name: &str) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let (name, number): (Arc<str>, u32) = (name.into(), self.specs.names.len() as u32);
        self.specs.names.push(name.clone());
        self.names.insert(name, number);
        number
    }

    fn field(&mut self, fields: &mut Fields, name: &str, value: Value) {
        let value = self.text.add(value);
        let name = self.name(name);
        fields.retain(|(own, _)| *own != name);
        fields.push((name, value));
    }

    fn text_field(&mut self, fields: &mut Fields, name: &str, text: &str) {
        let list = vec![text.into()];
        self.field(fields, name, Value::Texts { array: false, list });
    }

    /// Adds fields to the tables; returns the start of their list.
    fn push_fields(&mut self, fields: Fields) -> u32 {
        let start = self.specs.lists.len() as u32;
        for field in fields {
            self.specs.lists.push(self.specs.fields.len() as u32);
            self.specs.fields.push(field);
        }
        self.specs.lists.push(END_OF_FIELDS);
        start
    }

    fn layer(&mut self) -> Result<(), SyntaxError> {
        let mut open = OpenPrim::default();
        if self.cursor.take(b'(') {
            self.metadata(&mut open)?;
        }
        while self.cursor.peek().is_some() {
            if self.prim(0, 1)? {
                continue;
            }
            if self.cursor.take_word("reorder") {
                self.reorder()?;
                continue;
            }
            return self.cursor.syntax_error("neither def, over nor class");
        }
        self.close(0, open);
        Ok(())
    }

    /// Skips `rootPrims = […]` and the like after `reorder`; reordering alone affects nothing that is read.
    fn reorder(&mut self) -> Result<(), SyntaxError> {
        self.cursor.word();
        self.cursor.expect(b'=')?;
        self.cursor.skip().map(drop)
    }

    /// Adds the collected statements of a prim to the tables.
    fn close(&mut self, id: SpecId, open: OpenPrim) {
        let OpenPrim { mut fields, references, payload, inherits, specializes, properties, .. } = open;
        for (name, edit) in [("references", references), ("payload", payload)] {
            if edit != ListEdit::default() {
                self.field(&mut fields, name, Value::References(edit));
            }
        }
        for (name, edit) in [("inheritPaths", inherits), ("specializes", specializes)] {
            if edit != ListEdit::default() {
                self.field(&mut fields, name, Value::List(edit));
            }
        }
        for OpenProperty { name, mut fields, targets } in properties {
            if let Some(targets) = targets {
                self.field(&mut fields, "targetPaths", Value::List(targets));
            }
            let fields = self.push_fields(fields);
            self.specs.prims[id as usize].properties.push(self.specs.properties.len() as u32);
            self.specs.properties.push(PropertySpec { name, fields });
        }
        self.specs.prims[id as usize].fields = self.push_fields(fields);
    }

    /// Reads a prim, if one begins here.
    fn prim(&mut self, parent: SpecId, depth: usize) -> Result<bool, SyntaxError> {
        let kinds = [("def", 0u32), ("over", 1), ("class", 2)];
        let Some((_, specifier)) = kinds.into_iter().find(|(word, _)| self.cursor.take_word(word)) else {
            return Ok(false);
        };
        if depth > MAX_DEPTH {
            return self.cursor.syntax_error(format!("prims are more than {MAX_DEPTH} deep in each other"));
        }
        let mut open = OpenPrim::default();
        let bytes = specifier.to_le_bytes().to_vec();
        let number = Numbers { scalar: Scalar::U32, width: 1, array: false, bytes };
        self.field(&mut open.fields, "specifier", Value::Numbers(number));
        let type_name = self.cursor.word();
        if !type_name.is_empty() {
            self.text_field(&mut open.fields, "typeName", type_name);
        }
        let name = self.cursor.string()?;
        let id = self.specs.prims.len() as SpecId;
        let above = self.path.len();
        self.path.push('/');
        self.path.push_str(&name);
        self.specs.prims.push(PrimSpec { name, ..PrimSpec::default() });
        self.specs.prims[parent as usize].children.push(id);
        if self.cursor.take(b'(') {
            self.metadata(&mut open)?;
        }
        self.body(id, &mut open, depth)?;
        self.path.truncate(above);
        self.close(id, open);
        Ok(true)
    }

    /// Reads the contents of the curly brackets of a prim or a variant.
    fn body(&mut self, id: SpecId, open: &mut OpenPrim, depth: usize) -> Result<(), SyntaxError> {
        self.cursor.expect(b'{')?;
        while !self.cursor.take(b'}') {
            if self.cursor.peek().is_none() {
                return self.cursor.syntax_error("a prim does not end");
            }
            if self.prim(id, depth + 1)? {
            } else if self.cursor.take_word("variantSet") {
                self.variants(id, depth + 1)?;
            } else {
                self.property(open)?;
            }
        }
        Ok(())
    }

    fn variants(&mut self, id: SpecId, depth: usize) -> Result<(), SyntaxError> {
        if depth > MAX_DEPTH {
            return self.cursor.syntax_error(format!("prims are more than {MAX_DEPTH} deep in each other"));
        }
        let set = self.cursor.string()?;
        self.cursor.expect(b'=')?;
        self.cursor.expect(b'{')?;
        while !self.cursor.take(b'}') {
            let name = self.cursor.string()?;
            let variant = self.specs.prims.len() as SpecId;
            self.specs.prims.push(PrimSpec::default());
            self.specs.prims[id as usize].variants.push((set.clone(), name, variant));
            let mut open = OpenPrim::default();
            let above = self.path.len();
            self.path.push_str(VARIANT);
            if self.cursor.take(b'(') {
                self.metadata(&mut open)?;
            }
            self.body(variant, &mut open, depth)?;
            self.path.truncate(above);
            self.close(variant, open);
        }
        Ok(())
    }

    /// Reads the metadata of a layer, a prim or a property, up to the closing bracket.
    fn metadata(&mut self, open: &mut OpenPrim) -> Result<(), SyntaxError> {
        while !self.cursor.take(b')') {
            if self.cursor.is_string() {
                let comment = self.cursor.string()?;
                self.text_field(&mut open.fields, "comment", &comment);
                continue;
            }
            let edit = EditKeyword::take(&mut self.cursor);
            let name = self.cursor.word();
            if name.is_empty() {
                return self.cursor.syntax_error("the name of metadata is missing");
            }
            if open.fields.len() > MAX_FIELDS {
                return self.cursor.syntax_error(format!("more than {MAX_FIELDS} fields of metadata"));
            }
            self.cursor.expect(b'=')?;
            let (cursor, at) = (&mut self.cursor, &*self.path);
            match name {
                "references" => edit.store(list(cursor, |c| reference(c, at))?, &mut open.references),
                "payload" => edit.store(list(cursor, |c| reference(c, at))?, &mut open.payload),
                "inherits" => edit.store(list(cursor, |c| path(c, at))?, &mut open.inherits),
                "specializes" => edit.store(list(cursor, |c| path(c, at))?, &mut open.specializes),
                "variants" => {
                    let value = selections(cursor)?;
                    self.field(&mut open.fields, "variantSelection", value);
                }
                "subLayers" => {
                    let (names, retimes) = list(cursor, sublayer)?.into_iter().unzip();
                    self.field(&mut open.fields, name, Value::Texts { array: true, list: names });
                    self.field(&mut open.fields, "subLayerOffsets", Value::Retimes(retimes));
                }
                "clips" => {
                    let value = self.dictionary(1)?;
                    self.field(&mut open.fields, name, value);
                }
                "clipSets" => {
                    let mut names = open.clip_sets.take().unwrap_or_default();
                    edit.store(list(cursor, |c| c.string())?, &mut names);
                    self.field(&mut open.fields, name, Value::List(names.clone()));
                    open.clip_sets = Some(names);
                }
                "inactiveIds" => {
                    let mut ids = open.inactive_ids.take().unwrap_or_default();
                    edit.store(list(cursor, integer)?, &mut ids);
                    self.field(&mut open.fields, name, Value::Integers(ids.clone()));
                    open.inactive_ids = Some(ids);
                }
                "doc" => {
                    let value = plain(cursor)?;
                    self.field(&mut open.fields, "documentation", value);
                }
                _ => {
                    let value = plain(cursor)?;
                    self.field(&mut open.fields, name, value);
                }
            }
        }
        Ok(())
    }

    /// Reads `{ type name = value … }`: the keys, and references to values, which are read on demand.
    fn dictionary(&mut self, depth: usize) -> Result<Value, SyntaxError> {
        self.cursor.expect(b'{')?;
        let mut out = Vec::new();
        while !self.cursor.take(b'}') {
            if out.len() > MAX_FIELDS || depth > MAX_DICTIONARIES {
                return self.cursor.syntax_error("a dictionary of too many entries, or too deep");
            }
            let mut type_name = self.cursor.word().to_owned();
            if type_name.is_empty() {
                return self.cursor.syntax_error("an entry of a dictionary has no type");
            }
            if self.cursor.take(b'[') {
                self.cursor.expect(b']')?;
                type_name.push_str("[]");
            }
            let is_string = self.cursor.is_string();
            let key: Arc<str> = if is_string { self.cursor.string()? } else { self.cursor.word().into() };
            self.cursor.expect(b'=')?;
            let value = match type_name == "dictionary" {
                true => {
                    let value = self.dictionary(depth + 1)?;
                    self.text.add(value)
                }
                false => {
                    let span = self.cursor.skip()?;
                    self.text.add_raw(self.cursor.text, &span, &current(type_name.into()))
                }
            };
            out.push((key, value));
            self.cursor.take(b',');
        }
        Ok(Value::Dictionary(out))
    }

    /// Reads a statement on a property.
    fn property(&mut self, open: &mut OpenPrim) -> Result<(), SyntaxError> {
        let edit = EditKeyword::take(&mut self.cursor);
        if edit == EditKeyword::Reorder {
            return self.reorder();
        }
        let mut is_uniform = false;
        let words = ["custom", "uniform", "varying", "config"];
        while let Some(word) = words.into_iter().find(|word| self.cursor.take_word(word)) {
            is_uniform |= word == "uniform";
        }
        // The keyword may also follow these words.
        let edit = if edit == EditKeyword::Explicit { EditKeyword::take(&mut self.cursor) } else { edit };
        let mut type_name = self.cursor.word().to_owned();
        if type_name.is_empty() {
            return self.cursor.syntax_error("neither a prim nor a property");
        }
        if self.cursor.take(b'[') {
            self.cursor.expect(b']')?;
            type_name.push_str("[]");
        }
        let type_name = current(type_name.into());
        let name = self.cursor.word();
        if name.is_empty() {
            return self.cursor.syntax_error("the name of a property is missing");
        }
        let number = match open.by_name.get(name) {
            Some(number) => *number,
            None => {
                let name: Arc<str> = name.into();
                open.by_name.insert(name.clone(), open.properties.len());
                open.properties.push(OpenProperty { name, fields: Vec::new(), targets: None });
                open.properties.len() - 1
            }
        };
        let mut fields = std::mem::take(&mut open.properties[number].fields);
        let is_relationship = &*type_name == "rel";
        if !is_relationship {
            self.text_field(&mut fields, "typeName", &type_name);
        }
        if is_uniform {
            let bytes = 1u32.to_le_bytes().to_vec();
            let number = Numbers { scalar: Scalar::U32, width: 1, array: false, bytes };
            self.field(&mut fields, "variability", Value::Numbers(number));
        }
        let part = if self.cursor.take(b'.') { self.cursor.word() } else { "" };
        if self.cursor.take(b'=') {
            if is_relationship && matches!(part, "" | "default") {
                let targets = open.properties[number].targets.get_or_insert_default();
                edit.store(list(&mut self.cursor, |c| path(c, &self.path))?, targets);
            } else {
                self.assigned(part, &type_name, &mut fields)?;
            }
        }
        if self.cursor.take(b'(') {
            let mut own = OpenPrim { fields, ..OpenPrim::default() };
            self.metadata(&mut own)?;
            fields = own.fields;
        }
        open.properties[number].fields = fields;
        Ok(())
    }

    /// Reads the text after the `=` of an attribute; `part` is the suffix of its name.
    fn assigned(&mut self, part: &str, type_name: &str, fields: &mut Fields) -> Result<(), SyntaxError> {
        let (name, value) = match part {
            "" | "default" => {
                let span = self.cursor.skip()?;
                ("default", self.text.add_raw(self.cursor.text, &span, type_name))
            }
            "timeSamples" => (part, self.samples(type_name)?),
            "spline" => {
                let span = self.cursor.skip()?;
                (part, self.text.add_raw(self.cursor.text, &span, part))
            }
            // Connections only concern materials.
            _ => {
                self.cursor.skip()?;
                ("connect", self.text.add(Value::Other))
            }
        };
        let name = self.name(name);
        fields.retain(|(own, _)| *own != name);
        fields.push((name, value));
        Ok(())
    }

    /// Reads `{ time: value, … }`.
    fn samples(&mut self, type_name: &str) -> Result<ValueRef, SyntaxError> {
        self.cursor.expect(b'{')?;
        let mut samples = Vec::new();
        while !self.cursor.take(b'}') {
            let Some(time) = self.cursor.number().filter(|time| time.is_finite()) else {
                return self.cursor.syntax_error("the time of a sample is no number");
            };
            self.cursor.expect(b':')?;
            let span = self.cursor.skip()?;
            samples.push((time, self.text.add_raw(self.cursor.text, &span, type_name)));
            self.cursor.take(b',');
        }
        // The last of two values at one time counts.
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        samples.reverse();
        samples.dedup_by(|a, b| a.0 == b.0);
        samples.reverse();
        let (times, values) = samples.into_iter().unzip();
        Ok(self.text.add_samples(times, values))
    }
}
