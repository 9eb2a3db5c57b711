//! Properties: headers, and samples written frame by frame. Only the place in the file is kept of a sample.

use super::ogawa::{NO_DATA, Ogawa, Reference};
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::{Error, Identity};
use std::collections::HashMap;

/// Fills the payload of sample `i` (cleared before) with all its numbers, little-endian, flat.
pub(super) type FillFn<'a> = Box<dyn FnMut(usize, &mut Vec<u8>) -> Result<(), Error> + 'a>;
/// Returns an identity that is equal for consecutive samples known to be equal; `None` if that is unknown.
pub(super) type IdentityFn<'a> = Box<dyn Fn(usize) -> Option<Identity> + 'a>;

pub(super) struct Property {
    pub name: String,
    pub meta: String,
    pub content: Content,
}

pub(super) enum Content {
    Compound(Vec<Property>),
    /// Index of a [`Leaf`].
    Leaf(usize),
}

/// A property with samples.
pub(super) struct Leaf<'a> {
    pub scalar: bool,
    pub pod: Pod,
    /// Components per element.
    pub extent: usize,
    /// Index into the table of time samplings.
    pub sampling: usize,
    pub samples: usize,
    /// `true` if its one sample is known only when all others are written.
    pub written_last: bool,
    pub fill: FillFn<'a>,
    pub identity: IdentityFn<'a>,
    pub written: WrittenSamples,
}

/// The samples of a simple property that are already written.
#[derive(Default)]
pub(super) struct WrittenSamples {
    /// Sample 0, then samples from `first` on.
    slots: Vec<Reference>,
    first: usize,
    last: usize,
    previous: Reference,
    identity: Option<Identity>,
    bytes: usize,
    /// Number of bytes of every sample; `varies` is set if they differ.
    always: Option<usize>,
    varies: bool,
}

impl Leaf<'_> {
    /// Writes sample `i`; samples must come in order. `buffer` is scratch.
    pub fn write(&mut self, i: usize, out: &mut Ogawa, buffer: &mut Vec<u8>) -> Result<(), Error> {
        let w = &mut self.written;
        let identity = (self.identity)(i);
        let mut reference = w.previous;
        if i == 0 || identity.is_none() || identity != w.identity {
            buffer.clear();
            (self.fill)(i, buffer)?;
            reference = out.sample(buffer)?;
            w.bytes = buffer.len();
        }
        w.identity = identity;
        w.varies |= w.always.is_some_and(|bytes| bytes != w.bytes);
        w.always = Some(w.bytes);
        if i == 0 {
            w.slots.push(reference);
        } else {
            if reference != w.previous {
                w.first = if w.first == 0 { i } else { w.first };
                w.last = i;
            }
            if w.first > 0 {
                w.slots.push(reference);
            }
        }
        w.previous = reference;
        Ok(())
    }

    /// Writes the group of the samples.
    fn group(&self, out: &mut Ogawa) -> Result<Reference, Error> {
        let w = &self.written;
        let used = match (w.slots.is_empty(), w.last) {
            (true, _) => 0,
            (false, 0) => 1,
            (false, last) => last - w.first + 2,
        };
        let slots = &w.slots[..used];
        if self.scalar {
            return out.group(slots);
        }
        // The second reference, the dimensions, is empty: arrays are one-dimensional, without strings.
        let pairs: Vec<Reference> = slots.iter().flat_map(|&slot| [slot, NO_DATA]).collect();
        out.group(&pairs)
    }

    fn info(&self) -> u32 {
        let w = &self.written;
        let element = pod_size(self.pod) * self.extent;
        let kind = match self.scalar {
            true => 1,
            false if !w.varies && w.always == Some(element) => 3,
            false => 2,
        };
        let mut info = kind | (self.pod as u32) << 4 | (self.extent as u32) << 12;
        if self.sampling != 0 {
            info |= 1 << 8;
        }
        if !w.varies {
            info |= 1 << 10;
        }
        match (w.first, w.last) {
            (0, 0) => info |= 1 << 11,
            (1, last) if last + 1 == self.samples => {}
            _ => info |= 1 << 9,
        }
        info
    }
}

/// Metadata shared by several headers, by index: 0 is none, 255 means that it stands in the header itself.
#[derive(Default)]
pub(super) struct MetaTable {
    numbers: HashMap<String, u8>,
    /// Length as `u8` and text of each entry, from index 1 on.
    pub bytes: Vec<u8>,
}

impl MetaTable {
    pub fn number(&mut self, meta: &str) -> u8 {
        if meta.is_empty() {
            return 0;
        }
        if let Some(&number) = self.numbers.get(meta) {
            return number;
        }
        let (Ok(length), next @ 1..=254) = (u8::try_from(meta.len()), self.numbers.len() + 1) else {
            return 255;
        };
        self.bytes.push(length);
        self.bytes.extend_from_slice(meta.as_bytes());
        self.numbers.insert(meta.to_owned(), next as u8);
        next as u8
    }
}

/// Writes a compound with its content. Also returns an identity of the content, from headers and places of
/// all samples, so that equal content gives equal bytes.
pub(super) fn write_compound(
    properties: &[Property],
    leaves: &[Leaf],
    table: &mut MetaTable,
    out: &mut Ogawa,
    known_by: &mut Vec<u8>,
) -> Result<Reference, Error> {
    let mut children = Vec::with_capacity(properties.len() + 1);
    let mut headers = Vec::new();
    for property in properties {
        let number = table.number(&property.meta);
        match &property.content {
            Content::Compound(inner) => {
                children.push(write_compound(inner, leaves, table, out, known_by)?);
                let longest = property.name.len().max(property.meta.len());
                header(&mut headers, u32::from(number) << 20, hint(longest), property, number, &[]);
            }
            Content::Leaf(leaf) => {
                let leaf = &leaves[*leaf];
                children.push(leaf.group(out)?);
                for slot in &leaf.written.slots {
                    known_by.extend_from_slice(&slot.to_le_bytes());
                }
                let info = leaf.info() | u32::from(number) << 20;
                let mut counters = vec![leaf.samples];
                if info & 1 << 9 != 0 {
                    counters.extend([leaf.written.first, leaf.written.last]);
                }
                if leaf.sampling != 0 {
                    counters.push(leaf.sampling);
                }
                let longest =
                    counters.iter().fold(property.name.len().max(property.meta.len()), |a, &b| a.max(b));
                header(&mut headers, info, hint(longest), property, number, &counters);
            }
        }
    }
    if !properties.is_empty() {
        children.push(out.data(&headers)?);
    }
    known_by.extend_from_slice(&headers);
    out.group(&children)
}

/// Returns the code for the width of all counters of a header: 1, 2 or 4 bytes.
fn hint(largest: usize) -> u32 {
    match largest {
        0..=0xff => 0,
        0x100..=0xffff => 1,
        _ => 2,
    }
}

fn header(out: &mut Vec<u8>, info: u32, hint: u32, property: &Property, number: u8, counters: &[usize]) {
    out.extend_from_slice(&(info | hint << 2).to_le_bytes());
    let put = |out: &mut Vec<u8>, value: usize| {
        out.extend_from_slice(&(value as u32).to_le_bytes()[..1 << hint]);
    };
    for &counter in counters {
        put(out, counter);
    }
    put(out, property.name.len());
    out.extend_from_slice(property.name.as_bytes());
    if number == 255 {
        put(out, property.meta.len());
        out.extend_from_slice(property.meta.as_bytes());
    }
}

pub(super) fn pod_size(pod: Pod) -> usize {
    match pod {
        Pod::Bool | Pod::U8 | Pod::I8 | Pod::String => 1,
        Pod::U16 | Pod::I16 | Pod::F16 => 2,
        Pod::U32 | Pod::I32 | Pod::F32 | Pod::WString => 4,
        Pod::U64 | Pod::I64 | Pod::F64 => 8,
    }
}
