//! The binary form, version 0.8: a header, values as they come, and tables of tokens, strings, fields, lists
//! of fields, paths and specs at the end.

use super::integers::{pack, pack_integers};
use super::layer::{Layer, PrimId, Progress};
use super::value::{Element, Value};
use crate::Temporary;
use meshreel_scene::layout::usd::{END_MARK, MIN_COMPRESSED_ELEMENTS, kind, spec};
use meshreel_scene::{Error, Identity};
use std::collections::HashMap;
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

const VERSION: [u8; 8] = [0, 8, 0, 0, 0, 0, 0, 0];
const HEADER_BYTES: u64 = 88;

/// Bits of a list edit: which lists follow.
const EXPLICIT: u8 = 1 << 0 | 1 << 1;
const PREPENDED: u8 = 1 << 5;

const ARRAY: u64 = 1 << 63;
const INLINED: u64 = 1 << 62;
const COMPRESSED: u64 = 1 << 61;

fn inlined(kind: u8, payload: u32) -> u64 {
    INLINED | u64::from(kind) << 48 | u64::from(payload)
}

fn stored(kind: u8, offset: u64) -> u64 {
    u64::from(kind) << 48 | offset
}

pub(super) fn write(path: &Path, mut layer: Layer, progress: &mut Progress) -> Result<(), Error> {
    let mut out = Writer::create(path)?;
    let mut values: Vec<Vec<AttributeValues>> = Vec::with_capacity(layer.prims.len());
    values
        .extend(layer.prims.iter().map(|prim| prim.attributes.iter().map(|_| Default::default()).collect()));
    let counts = layer.prims.iter().flat_map(|prim| &prim.attributes).map(|own| own.samples.count());
    let total = counts.max().unwrap_or(0);
    for i in 0..total {
        for (prim, values) in layer.prims.iter_mut().zip(&mut values) {
            for (attribute, values) in prim.attributes.iter_mut().zip(values) {
                let samples = &mut attribute.samples;
                if i >= samples.count() {
                    continue;
                }
                let identity = (samples.identity)(i);
                let rep = match values.known.get(&identity) {
                    Some(known) => *known,
                    None => out.value(&(samples.read)(i)?)?,
                };
                values.known.insert(identity, rep);
                values.samples.push(rep);
            }
        }
        progress(i + 1, total);
    }
    let tables = Tables::new(&layer, &values, &mut out)?;
    out.finish(tables)
}

/// Values of one attribute that are in the file.
#[derive(Default)]
struct AttributeValues {
    samples: Vec<u64>,
    known: HashMap<Identity, u64>,
}

/// The file, with the texts that its values refer to.
struct Writer {
    file: Temporary,
    path: PathBuf,
    buffer: BufWriter<std::fs::File>,
    offset: u64,
    tokens: Interned,
    /// Numbers of tokens.
    strings: Vec<u32>,
    string_numbers: HashMap<u32, u32>,
    /// Lists of time codes by their bits.
    times: HashMap<Vec<u64>, u64>,
}

/// Texts by number.
#[derive(Default)]
struct Interned {
    numbers: HashMap<Rc<str>, u32>,
    list: Vec<Rc<str>>,
}

impl Interned {
    fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let (text, number): (Rc<str>, u32) = (text.into(), self.list.len() as u32);
        self.list.push(text.clone());
        self.numbers.insert(text, number);
        number
    }
}

impl Writer {
    fn create(path: &Path) -> Result<Writer, Error> {
        let file = Temporary::create(path)?;
        let handle = file.file().try_clone().map_err(|e| Error::io(path, e))?;
        let mut out = Writer {
            file,
            path: path.into(),
            buffer: BufWriter::with_capacity(1 << 20, handle),
            offset: 0,
            tokens: Interned::default(),
            strings: Vec::new(),
            string_numbers: HashMap::new(),
            times: HashMap::new(),
        };
        // Tokens of properties are stored as negative numbers, so number 0 is one that no property has.
        out.tokens.number("");
        out.bytes(&[0; HEADER_BYTES as usize])?;
        Ok(out)
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.buffer.write_all(bytes).map_err(|e| Error::io(&self.path, e))?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    /// Starts a value: returns its offset, a multiple of 8, so that readers can map arrays into memory.
    fn start(&mut self) -> Result<u64, Error> {
        self.bytes(&[0; 8][..self.offset.wrapping_neg() as usize % 8])?;
        Ok(self.offset)
    }

    /// Writes a count and items, and returns their offset.
    fn list(&mut self, items: impl ExactSizeIterator<Item = u32>) -> Result<u64, Error> {
        let at = self.start()?;
        self.bytes(&(items.len() as u64).to_le_bytes())?;
        let bytes: Vec<u8> = items.flat_map(u32::to_le_bytes).collect();
        self.bytes(&bytes)?;
        Ok(at)
    }

    fn string(&mut self, text: &str) -> u32 {
        let token = self.tokens.number(text);
        *self.string_numbers.entry(token).or_insert_with(|| {
            self.strings.push(token);
            self.strings.len() as u32 - 1
        })
    }

    /// Writes a value, unless it fits into the 64 bits that stand for it; returns these.
    fn value(&mut self, value: &Value) -> Result<u64, Error> {
        Ok(match value {
            Value::Bool(value) => inlined(kind::BOOL, u32::from(*value)),
            Value::Token(text) => inlined(kind::TOKEN, self.tokens.number(text)),
            Value::String(text) => inlined(kind::STRING, self.string(text)),
            Value::Tokens(texts) => {
                let numbers: Vec<u32> = texts.iter().map(|text| self.tokens.number(text)).collect();
                ARRAY | stored(kind::TOKEN, self.list(numbers.into_iter())?)
            }
            Value::Numbers { element, array: true, bytes } => self.array(*element, bytes)?,
            Value::Numbers { element, array: false, bytes } => self.number(*element, bytes)?,
        })
    }

    fn number(&mut self, element: Element, bytes: &[u8]) -> Result<u64, Error> {
        let code = element.layout().0;
        if let (Element::I32 | Element::F32, Some(bits)) = (element, bytes.first_chunk()) {
            return Ok(inlined(code, u32::from_le_bytes(*bits)));
        }
        if let (Element::F64, Some(bits)) = (element, bytes.first_chunk()) {
            let wide = f64::from_le_bytes(*bits);
            if f64::from(wide as f32).to_bits() == wide.to_bits() {
                return Ok(inlined(code, (wide as f32).to_bits()));
            }
        }
        let at = self.start()?;
        self.bytes(bytes)?;
        Ok(stored(code, at))
    }

    fn array(&mut self, element: Element, bytes: &[u8]) -> Result<u64, Error> {
        let (code, scalar, width) = element.layout();
        let count = bytes.len() / (scalar.size() * width);
        if count == 0 {
            return Ok(ARRAY | stored(code, 0));
        }
        let at = self.start()?;
        self.bytes(&(count as u64).to_le_bytes())?;
        if element == Element::I32 && count as u64 >= MIN_COMPRESSED_ELEMENTS {
            let numbers: Vec<i32> = bytes.as_chunks().0.iter().map(|b| i32::from_le_bytes(*b)).collect();
            self.block(&pack_integers(&numbers))?;
            return Ok(ARRAY | COMPRESSED | stored(code, at));
        }
        self.bytes(bytes)?;
        Ok(ARRAY | stored(code, at))
    }

    /// Writes the size of a block, and the block.
    fn block(&mut self, block: &[u8]) -> Result<(), Error> {
        self.bytes(&(block.len() as u64).to_le_bytes())?;
        self.bytes(block)
    }

    /// Writes the times and values of samples.
    fn time_samples(&mut self, codes: &[f64], values: &[u64]) -> Result<u64, Error> {
        let key: Vec<u64> = codes.iter().map(|code| code.to_bits()).collect();
        let times = match self.times.get(&key) {
            Some(known) => *known,
            None => {
                let at = self.start()?;
                self.bytes(&(codes.len() as u64).to_le_bytes())?;
                let bytes: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
                self.bytes(&bytes)?;
                self.times.insert(key, at);
                at
            }
        };
        // Distances from their own places to the next numbers, as nothing lies in between.
        let at = self.start()?;
        let head = [8, stored(kind::DOUBLE_VECTOR, times), 8, values.len() as u64];
        let bytes: Vec<u8> = head.iter().chain(values).flat_map(|v| v.to_le_bytes()).collect();
        self.bytes(&bytes)?;
        Ok(stored(kind::TIME_SAMPLES, at))
    }

    /// Writes a list edit of numbers, with what belongs to the last one; returns its offset.
    fn list_edit(&mut self, lists: u8, items: &[u32], after: &[u8]) -> Result<u64, Error> {
        let at = self.start()?;
        self.bytes(&[lists])?;
        self.bytes(&(items.len() as u64).to_le_bytes())?;
        let bytes: Vec<u8> = items.iter().flat_map(|item| item.to_le_bytes()).collect();
        self.bytes(&bytes)?;
        self.bytes(after)?;
        Ok(at)
    }

    /// Writes the tables and the header, and makes the file the target.
    fn finish(mut self, tables: Tables) -> Result<(), Error> {
        let mut sections: Vec<([u8; 16], u64, u64)> = Vec::new();
        let mut text = Vec::new();
        for token in &self.tokens.list {
            text.extend_from_slice(token.as_bytes());
            text.push(0);
        }
        let integers = |numbers: &[u32]| {
            let block = pack_integers(&numbers.iter().map(|v| *v as i32).collect::<Vec<i32>>());
            [&(block.len() as u64).to_le_bytes()[..], &block].concat()
        };
        let count = |count: usize| (count as u64).to_le_bytes().to_vec();
        let reps: Vec<u8> = tables.fields.iter().flat_map(|(_, rep)| rep.to_le_bytes()).collect();
        let (text_block, reps) = (pack(&text), pack(&reps));
        let names: Vec<u32> = tables.fields.iter().map(|(name, _)| *name).collect();
        let paths = &tables.paths;
        let strings: Vec<u8> = self.strings.iter().flat_map(|s| s.to_le_bytes()).collect();
        let column = |of: fn(&[u32; 3]) -> u32, rows: &[[u32; 3]]| -> Vec<u8> {
            integers(&rows.iter().map(of).collect::<Vec<u32>>())
        };
        let tokens = [count(self.tokens.list.len()), count(text.len()), count(text_block.len()), text_block];
        let contents: [(&str, Vec<Vec<u8>>); 6] = [
            ("TOKENS", tokens.into()),
            ("STRINGS", vec![count(self.strings.len()), strings]),
            ("FIELDS", vec![count(names.len()), integers(&names), count(reps.len()), reps]),
            ("FIELDSETS", vec![count(tables.lists.len()), integers(&tables.lists)]),
            (
                "PATHS",
                vec![
                    count(paths.len()),
                    count(paths.len()),
                    column(|path| path[0], paths),
                    column(|path| path[1], paths),
                    column(|path| path[2], paths),
                ],
            ),
            (
                "SPECS",
                vec![
                    count(tables.specs.len()),
                    column(|spec| spec[0], &tables.specs),
                    column(|spec| spec[1], &tables.specs),
                    column(|spec| spec[2], &tables.specs),
                ],
            ),
        ];
        for (name, parts) in contents {
            let at = self.start()?;
            self.bytes(&parts.concat())?;
            let mut padded = [0; 16];
            padded[..name.len()].copy_from_slice(name.as_bytes());
            sections.push((padded, at, self.offset - at));
        }
        let table = self.start()?;
        self.bytes(&(sections.len() as u64).to_le_bytes())?;
        for (name, at, size) in sections {
            self.bytes(&[&name[..], &at.to_le_bytes(), &size.to_le_bytes()].concat())?;
        }
        let io = |e| Error::io(&self.path, e);
        self.buffer.flush().map_err(io)?;
        let mut file = self.file.file();
        file.seek(SeekFrom::Start(0)).map_err(io)?;
        file.write_all(&[b"PXR-USDC", &VERSION[..], &table.to_le_bytes()].concat()).map_err(io)?;
        drop(self.buffer);
        self.file.publish()
    }
}

/// The tables at the end of the file.
struct Tables {
    /// Name and value.
    fields: Vec<(u32, u64)>,
    lists: Vec<u32>,
    /// Path, list of fields, type.
    specs: Vec<[u32; 3]>,
    /// Depth first: number, token (negative for a property), and distance to what follows.
    paths: Vec<[u32; 3]>,
    known_fields: HashMap<(u32, u64), u32>,
    known_lists: HashMap<Vec<u32>, u32>,
}

impl Tables {
    fn new(layer: &Layer, values: &[Vec<AttributeValues>], out: &mut Writer) -> Result<Tables, Error> {
        let mut tables = Tables {
            fields: Vec::new(),
            lists: Vec::new(),
            specs: Vec::new(),
            paths: Vec::new(),
            known_fields: HashMap::new(),
            known_lists: HashMap::new(),
        };
        // Numbers of paths: the root, then prims; properties follow when they are met.
        let mut next = 1 + layer.prims.len() as u32;
        let mut fields = Vec::new();
        for (name, value) in &layer.fields {
            fields.push((*name, out.value(value)?));
        }
        if let Some(first) = layer.roots.first() {
            fields.push(("defaultPrim", out.value(&Value::token(&layer.prims[*first].name))?));
        }
        fields.extend(tables.children("primChildren", names(layer, &layer.roots), out)?);
        tables.spec(0, spec::ROOT, fields, out);
        tables.paths.push([0, 0, jump(usize::from(!layer.roots.is_empty()), false)]);
        // Entries of each prim with all below it.
        let mut sizes = vec![0; layer.prims.len()];
        for (id, prim) in layer.prims.iter().enumerate().rev() {
            let children: usize = prim.children.iter().map(|child| sizes[*child]).sum();
            sizes[id] = 1 + prim.attributes.len() + prim.relationships.len() + children;
        }
        // Prims to be written, each with whether a sibling follows; the last is the next.
        let mut open: Vec<(PrimId, bool)> = Vec::new();
        push_siblings(&mut open, &layer.roots);
        while let Some((id, has_sibling)) = open.pop() {
            let prim = &layer.prims[id];
            let token = out.tokens.number(&prim.name);
            tables.paths.push([1 + id as u32, token, jump(sizes[id] - 1, has_sibling)]);
            tables.prim(layer, id, out)?;
            let properties = prim.attributes.len() + prim.relationships.len();
            let mut left = properties + usize::from(!prim.children.is_empty());
            let mut property = |tables: &mut Tables, token: u32| {
                left -= 1;
                let token = (token as i32).wrapping_neg() as u32;
                tables.paths.push([next, token, jump(0, left > 0)]);
                next += 1;
                next - 1
            };
            for (attribute, values) in prim.attributes.iter().zip(&values[id]) {
                let path = property(&mut tables, out.tokens.number(&attribute.name));
                let mut fields =
                    vec![("typeName", inlined(kind::TOKEN, out.tokens.number(attribute.type_name)))];
                if attribute.uniform {
                    fields.push(("variability", inlined(kind::VARIABILITY, 1)));
                }
                for (name, value) in &attribute.fields {
                    fields.push((*name, out.value(value)?));
                }
                match (&*attribute.samples.codes, &values.samples[..]) {
                    ([], [value]) => fields.push(("default", *value)),
                    (codes, values) => fields.push(("timeSamples", out.time_samples(codes, values)?)),
                }
                tables.spec(path, spec::ATTRIBUTE, fields, out);
            }
            for (name, target) in &prim.relationships {
                let path = property(&mut tables, out.tokens.number(name));
                let targets = out.list_edit(EXPLICIT, &[1 + *target as u32], &[])?;
                let fields = vec![
                    ("variability", inlined(kind::VARIABILITY, 1)),
                    ("targetPaths", stored(kind::PATH_LIST, targets)),
                ];
                tables.spec(path, spec::RELATIONSHIP, fields, out);
            }
            push_siblings(&mut open, &prim.children);
        }
        Ok(tables)
    }

    /// Adds the spec of a prim.
    fn prim(&mut self, layer: &Layer, id: PrimId, out: &mut Writer) -> Result<(), Error> {
        let prim = &layer.prims[id];
        let mut fields = vec![("specifier", inlined(kind::SPECIFIER, 0))];
        if !prim.type_name.is_empty() {
            fields.push(("typeName", inlined(kind::TOKEN, out.tokens.number(prim.type_name))));
        }
        for (name, value) in &prim.fields {
            fields.push((*name, out.value(value)?));
        }
        if !prim.schemas.is_empty() {
            let names: Vec<u32> = prim.schemas.iter().map(|name| out.tokens.number(name)).collect();
            fields.push(("apiSchemas", stored(kind::TOKEN_LIST, out.list_edit(PREPENDED, &names, &[])?)));
        }
        if let Some(target) = prim.reference {
            // No file, the prim, no change of times, no further data.
            let asset = out.string("");
            let rest = [0f64.to_le_bytes(), 1f64.to_le_bytes(), 0u64.to_le_bytes()].concat();
            let after = [&(1 + target as u32).to_le_bytes()[..], &rest].concat();
            let edit = out.list_edit(PREPENDED, &[asset], &after)?;
            fields.push(("references", stored(kind::REFERENCE_LIST, edit)));
        }
        let attributes = prim.attributes.iter().map(|own| &*own.name);
        let properties = attributes.chain(prim.relationships.iter().map(|own| own.0)).collect();
        fields.extend(self.children("properties", properties, out)?);
        fields.extend(self.children("primChildren", names(layer, &prim.children), out)?);
        self.spec(1 + id as u32, spec::PRIM, fields, out);
        Ok(())
    }

    /// Returns the field that lists children or properties; none without any.
    fn children(
        &self,
        field: &'static str,
        names: Vec<&str>,
        out: &mut Writer,
    ) -> Result<Option<(&'static str, u64)>, Error> {
        if names.is_empty() {
            return Ok(None);
        }
        let numbers: Vec<u32> = names.into_iter().map(|name| out.tokens.number(name)).collect();
        Ok(Some((field, stored(kind::TOKEN_VECTOR, out.list(numbers.into_iter())?))))
    }

    /// Adds a spec; equal fields and equal lists of fields are stored once.
    fn spec(&mut self, path: u32, kind: u32, fields: Vec<(&'static str, u64)>, out: &mut Writer) {
        let mut list = Vec::with_capacity(fields.len() + 1);
        for (name, rep) in fields {
            let field = (out.tokens.number(name), rep);
            list.push(*self.known_fields.entry(field).or_insert_with(|| {
                self.fields.push(field);
                self.fields.len() as u32 - 1
            }));
        }
        list.push(END_MARK);
        let lists = &mut self.lists;
        let start = *self.known_lists.entry(list).or_insert_with_key(|list| {
            lists.extend(list);
            (lists.len() - list.len()) as u32
        });
        self.specs.push([path, start, kind]);
    }
}

fn names<'a>(layer: &'a Layer, prims: &[PrimId]) -> Vec<&'a str> {
    prims.iter().map(|prim| &*layer.prims[*prim].name).collect()
}

/// Returns the distance from an entry to its sibling, `below` entries after it; −1 for children alone, 0 for
/// a sibling alone, −2 for neither.
fn jump(below: usize, has_sibling: bool) -> u32 {
    let distance = match (below, has_sibling) {
        (0, false) => -2,
        (0, true) => 0,
        (_, false) => -1,
        (_, true) => 1 + below as i32,
    };
    distance as u32
}

fn push_siblings(open: &mut Vec<(PrimId, bool)>, siblings: &[PrimId]) {
    let last = siblings.last().copied();
    open.extend(siblings.iter().rev().map(|prim| (*prim, Some(*prim) != last)));
}
