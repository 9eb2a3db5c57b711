//! The tables of a binary layer: their location and their contents.

use super::integers::{DamagedBlock, Integer, MAX_VALUES, integers, unpack};
use crate::bytes::LayerBytes;
use meshreel_scene::Error;
use meshreel_scene::layout::usd::END_MARK;
use std::sync::Arc;

/// The newest version that is read.
const MAX_VERSION: [u8; 2] = [0, 13];
/// From this version on tables are compressed; before, their rows are stored as they lie in memory.
const COMPRESSED_SINCE: [u8; 2] = [0, 4];
/// Before this version, rows of specs and paths begin with four unused bytes.
const UNPADDED_SINCE: [u8; 2] = [0, 1];
/// Upper limit for the bytes of the token section; larger files are refused.
const MAX_TOKEN_BYTES: u64 = 1 << 28;
/// Upper limit for the entries of a table.
const MAX_ENTRIES: u64 = 1 << 25;

/// One element of a path.
#[derive(Clone, Copy)]
pub struct PathNode {
    /// The index of the parent path; [`END_MARK`] for the root and for unused entries.
    pub parent: u32,
    pub token: u32,
    pub is_property: bool,
}

/// A field: the token index of its name, and its value as stored in the file.
#[derive(Clone, Copy)]
pub struct Field {
    pub name: u32,
    pub value: u64,
}

/// A spec: indices of path and field list, and its type.
#[derive(Clone, Copy)]
pub struct SpecRow {
    pub path: u32,
    pub fields: u32,
    pub kind: u32,
}

/// All tables of a layer.
pub struct Tables {
    /// The major and minor version.
    pub version: [u8; 2],
    pub tokens: Vec<Arc<str>>,
    pub strings: Vec<u32>,
    pub fields: Vec<Field>,
    /// Indices of fields; each list ends with [`END_MARK`].
    pub lists: Vec<u32>,
    pub paths: Vec<PathNode>,
    /// The index of the root's path.
    pub root: u32,
    pub specs: Vec<SpecRow>,
}

/// `true` if the first bytes are those of a binary layer.
pub fn is_binary(start: &[u8]) -> bool {
    start.starts_with(b"PXR-USDC")
}

pub fn read(bytes: &LayerBytes) -> Result<Tables, Error> {
    let head = bytes.read(0, 24)?;
    if !is_binary(&head) {
        return Err(bytes.malformed("does not begin as a binary layer does", 0));
    }
    let version = [head[8], head[9]];
    if version > MAX_VERSION {
        let what = format!(
            "version {}.{} of the binary form (0.0 to 0.13 are read); write it anew with `usdcat`",
            version[0], version[1]
        );
        return Err(Error::unsupported(bytes.name(), what));
    }
    let toc = u64::from_le_bytes(std::array::from_fn(|i| head[16 + i]));
    let count = bytes.u64(toc)?;
    if count > 64 {
        return Err(bytes.malformed(format!("a table of {count} sections, where 64 are the most"), toc));
    }
    let table = bytes.read(toc + 8, 32 * count)?;
    let section = |name: &str| -> Result<SectionReader<'_>, Error> {
        let row = table
            .as_chunks::<32>()
            .0
            .iter()
            .find(|row| row[..16].split(|b| *b == 0).next() == Some(name.as_bytes()));
        let Some(row) = row else {
            return Err(bytes.malformed(format!("there is no section {name}"), toc));
        };
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| row[at + i]));
        let (start, size) = (number(16), number(24));
        if start.checked_add(size).is_none_or(|end| end > bytes.length()) {
            return Err(bytes.malformed(format!("the section {name} is cut short"), start));
        }
        Ok(SectionReader { bytes, version, offset: start, end: start + size })
    };
    let tokens = read_tokens(section("TOKENS")?)?;
    let strings = read_strings(section("STRINGS")?)?;
    let fields = read_fields(section("FIELDS")?)?;
    let mut lists = section("FIELDSETS")?;
    let count = lists.count()?;
    let mut lists = match lists.is_compressed() {
        true => lists.numbers::<u32>(count)?,
        false => lists.rows::<1>(count, 0)?.into_iter().map(|[field]| field).collect(),
    };
    // Ends the last list, even if the file does not.
    lists.push(END_MARK);
    let (paths, root) = read_paths(section("PATHS")?)?;
    let specs = read_specs(section("SPECS")?)?;
    Ok(Tables { version, tokens, strings, fields, lists, paths, root, specs })
}

/// A cursor over a section.
struct SectionReader<'a> {
    bytes: &'a LayerBytes,
    version: [u8; 2],
    offset: u64,
    end: u64,
}

impl SectionReader<'_> {
    fn damaged(&self, DamagedBlock(what): DamagedBlock) -> Error {
        self.bytes.malformed(what, self.offset)
    }

    fn take(&mut self, length: u64) -> Result<Vec<u8>, Error> {
        if length > self.end.saturating_sub(self.offset) {
            return Err(self.bytes.malformed("a section ends before what it should hold", self.offset));
        }
        let out = self.bytes.read(self.offset, length)?;
        self.offset += length;
        Ok(out)
    }

    fn u64(&mut self) -> Result<u64, Error> {
        let bytes = self.take(8)?;
        Ok(u64::from_le_bytes(std::array::from_fn(|i| bytes[i])))
    }

    /// Reads a number of entries, and checks it.
    fn count(&mut self) -> Result<u64, Error> {
        let count = self.u64()?;
        match count > MAX_ENTRIES.min(MAX_VALUES) {
            true => Err(self.bytes.limit("entries of a table", count, MAX_ENTRIES)),
            false => Ok(count),
        }
    }

    fn is_compressed(&self) -> bool {
        self.version >= COMPRESSED_SINCE
    }

    /// Reads rows of `N` 4-byte numbers, each row after `padding` unused bytes.
    fn rows<const N: usize>(&mut self, count: u64, padding: usize) -> Result<Vec<[u32; N]>, Error> {
        let width = padding + 4 * N;
        let bytes = self.take(count * width as u64)?;
        let number = |row: &[u8], i: usize| {
            let at = padding + 4 * i;
            u32::from_le_bytes(std::array::from_fn(|k| row[at + k]))
        };
        Ok(bytes.chunks_exact(width).map(|row| std::array::from_fn(|i| number(row, i))).collect())
    }

    /// Returns the number of padding bytes in rows of specs and paths.
    fn padding(&self) -> usize {
        if self.version < UNPADDED_SINCE { 4 } else { 0 }
    }

    /// Reads compressed numbers, which are preceded by their size.
    fn numbers<T: Integer>(&mut self, count: u64) -> Result<Vec<T>, Error> {
        let size = self.u64()?;
        let block = self.take(size)?;
        integers(&block, count).map_err(|error| self.damaged(error))
    }
}

fn read_tokens(mut section: SectionReader<'_>) -> Result<Vec<Arc<str>>, Error> {
    let count = section.count()?;
    let size = section.u64()?;
    if size > MAX_TOKEN_BYTES {
        return Err(section.bytes.limit("bytes of tokens", size, MAX_TOKEN_BYTES));
    }
    let packed = if section.is_compressed() { section.u64()? } else { size };
    let block = section.take(packed)?;
    let text = match section.is_compressed() && size > 0 {
        true => unpack(&block, size).map_err(|e| section.damaged(e))?,
        false => block,
    };
    let text = text.strip_suffix(&[0]).unwrap_or(&text);
    // An empty table and one with a single empty token have the same text.
    let tokens: Vec<Arc<str>> = match count {
        0 => Vec::new(),
        _ => text.split(|b| *b == 0).map(|token| String::from_utf8_lossy(token).into()).collect(),
    };
    match tokens.len() as u64 == count {
        true => Ok(tokens),
        false => Err(section
            .bytes
            .malformed(format!("{} tokens instead of {count}", tokens.len()), section.offset)),
    }
}

fn read_strings(mut section: SectionReader<'_>) -> Result<Vec<u32>, Error> {
    let count = section.count()?;
    let bytes = section.take(4 * count)?;
    Ok(bytes.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b)).collect())
}

fn read_fields(mut section: SectionReader<'_>) -> Result<Vec<Field>, Error> {
    let count = section.count()?;
    if !section.is_compressed() {
        let field =
            |[_, name, low, high]: [u32; 4]| Field { name, value: u64::from(low) | u64::from(high) << 32 };
        return Ok(section.rows::<4>(count, 0)?.into_iter().map(field).collect());
    }
    let names = section.numbers::<u32>(count)?;
    let size = section.u64()?;
    let block = section.take(size)?;
    let values =
        if count == 0 { Vec::new() } else { unpack(&block, 8 * count).map_err(|e| section.damaged(e))? };
    if values.len() as u64 != 8 * count {
        return Err(section.bytes.malformed("the values of fields are cut short", section.offset));
    }
    let values = values.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b));
    Ok(names.into_iter().zip(values).map(|(name, value)| Field { name, value }).collect())
}

fn read_specs(mut section: SectionReader<'_>) -> Result<Vec<SpecRow>, Error> {
    let count = section.count()?;
    if !section.is_compressed() {
        let rows = section.rows::<3>(count, section.padding())?;
        return Ok(rows.into_iter().map(|[path, fields, kind]| SpecRow { path, fields, kind }).collect());
    }
    let path = section.numbers::<u32>(count)?;
    let list = section.numbers::<u32>(count)?;
    let kind = section.numbers::<u32>(count)?;
    let rows = path.into_iter().zip(list).zip(kind);
    Ok(rows.map(|((path, fields), kind)| SpecRow { path, fields, kind }).collect())
}

/// Reads the tree of paths; returns it and the index of its root.
fn read_paths(mut section: SectionReader<'_>) -> Result<(Vec<PathNode>, u32), Error> {
    let total = section.count()?;
    match section.is_compressed() {
        true => read_compressed_paths(section, total),
        false => read_plain_paths(section, total),
    }
}

/// Reads paths with flag bits for a following child (1), a following sibling (2), and a property (4). With
/// both a child and a sibling, the child follows directly, after the file offset of the sibling.
fn read_plain_paths(mut section: SectionReader<'_>, total: u64) -> Result<(Vec<PathNode>, u32), Error> {
    let (start, padding) = (section.offset, section.padding());
    let content = section.take(section.end - start)?;
    let wrong = |what: &str| section.bytes.malformed(what, start);
    if total > (content.len() / (padding + 12)) as u64 {
        return Err(wrong("a section ends before what it should hold"));
    }
    let number = |at: usize| {
        let bytes = content.get(at..at.saturating_add(4))?;
        Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    };
    let none = PathNode { parent: END_MARK, token: END_MARK, is_property: false };
    let (mut paths, mut root, mut count) = (vec![none; total as usize], END_MARK, 0);
    let mut open: Vec<(usize, u32)> = if total > 0 { vec![(0, END_MARK)] } else { Vec::new() };
    while let Some((mut at, mut parent)) = open.pop() {
        loop {
            let own = at + padding;
            let (Some(index), Some(token), Some(bits)) = (number(own), number(own + 4), number(own + 8))
            else {
                return Err(wrong("a path refers to one that is not there"));
            };
            let Some(path) = paths.get_mut(index as usize).filter(|_| count < total) else {
                return Err(wrong("a path has a number beyond all, or comes twice"));
            };
            count += 1;
            match root {
                END_MARK => root = index,
                _ => *path = PathNode { parent, token, is_property: bits & 4 != 0 },
            }
            at = own + 12;
            if bits & 3 == 3 {
                let sibling = number(at).zip(number(at + 4));
                let sibling = sibling.map(|(low, high)| u64::from(low) | u64::from(high) << 32);
                let sibling = sibling.and_then(|sibling| sibling.checked_sub(start));
                let Some(sibling) = sibling.filter(|sibling| *sibling < content.len() as u64) else {
                    return Err(wrong("a path refers to one that is not there"));
                };
                open.push((sibling as usize, parent));
                at += 8;
            }
            match bits & 3 {
                0 => break,
                2 => {}
                _ => parent = index,
            }
        }
    }
    Ok((paths, root))
}

/// Reads paths in depth-first order. The jump of each entry tells what follows: −2 nothing, −1 a child, 0 a
/// sibling, above 0 a child and, that many entries on, a sibling.
fn read_compressed_paths(mut section: SectionReader<'_>, total: u64) -> Result<(Vec<PathNode>, u32), Error> {
    let count = section.count()?;
    let numbers = section.numbers::<u32>(count)?;
    let elements = section.numbers::<u32>(count)?;
    let jumps = section.numbers::<u32>(count)?;
    let wrong = |what: &str| section.bytes.malformed(what, section.offset);
    let none = PathNode { parent: END_MARK, token: END_MARK, is_property: false };
    let mut paths = vec![none; total as usize];
    let mut seen = vec![false; total as usize];
    let mut root = END_MARK;
    // Entries still to be followed, each with its parent path.
    let mut open: Vec<(usize, u32)> = if count > 0 { vec![(0, END_MARK)] } else { Vec::new() };
    while let Some((mut entry, mut parent)) = open.pop() {
        loop {
            let Some(&number) = numbers.get(entry) else {
                return Err(wrong("a path refers to one that is not there"));
            };
            let (Some(path), Some(seen)) = (paths.get_mut(number as usize), seen.get_mut(number as usize))
            else {
                return Err(wrong("a path has a number beyond all"));
            };
            if std::mem::replace(seen, true) {
                return Err(wrong("a path comes twice"));
            }
            if parent == END_MARK && root == END_MARK {
                root = number;
            } else {
                let element = elements[entry] as i32;
                *path = PathNode { parent, token: element.unsigned_abs(), is_property: element < 0 };
            }
            let jump = jumps[entry] as i32;
            if jump > 0 {
                open.push((entry.saturating_add(jump as usize), parent));
            }
            match jump {
                -1 | 1.. => parent = number,
                0 => {}
                _ => break,
            }
            entry += 1;
        }
    }
    Ok((paths, root))
}
