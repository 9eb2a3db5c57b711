//! Values of a binary layer. Each has 64 bits that state its type, whether it is an array, compressed or
//! inlined, and its file offset or the inlined value itself.

use super::integers::{DamagedBlock, Integer, MAX_VALUES, integers};
use super::sections::{PathNode, Tables};
use crate::bytes::LayerBytes;
use crate::specs::ValueRef;
use crate::spline::Spline;
use crate::value::{ListEdit, Numbers, Reference, Retime, Scalar, Value};
use meshreel_scene::Error;
use meshreel_scene::layout::usd::{END_MARK, MIN_COMPRESSED_ELEMENTS, kind};
use std::sync::Arc;

/// Upper limit for the elements of a path.
const MAX_PATH_DEPTH: usize = 2048;
/// Upper limits for the entries of a list, of a list edit, and of an edit of integers.
const MAX_LIST: u64 = 1 << 16;
const MAX_EDITED_ITEMS: u64 = 1 << 14;
const MAX_EDITED_INTEGERS: u64 = 1 << 20;
/// Upper limit for the entries of a dictionary.
const MAX_DICTIONARY: u64 = 1 << 10;

/// The 64 bits of a value.
#[derive(Clone, Copy)]
struct ValueRep(u64);

impl ValueRep {
    fn is_array(self) -> bool {
        self.0 >> 63 == 1
    }
    fn is_inlined(self) -> bool {
        self.0 >> 62 & 1 == 1
    }
    fn is_compressed(self) -> bool {
        self.0 >> 61 & 1 == 1
    }
    /// `true` for an edit of a weaker array, which exists since version 0.13.
    fn is_edit(self) -> bool {
        self.0 >> 60 & 1 == 1
    }
    fn kind(self) -> u8 {
        (self.0 >> 48) as u8
    }
    fn payload(self) -> u64 {
        self.0 & ((1 << 48) - 1)
    }
}

/// Returns the number type of a value type, and how many numbers make an element.
fn layout(kind: u8) -> Option<(Scalar, usize)> {
    use Scalar::*;
    Some(match kind {
        kind::BOOL => (Bool, 1),
        2 => (U8, 1),
        3 => (I32, 1),
        4 => (U32, 1),
        5 => (I64, 1),
        6 => (U64, 1),
        7 => (F16, 1),
        8 => (F32, 1),
        9 | kind::TIME_CODE => (F64, 1),
        13 => (F64, 4),
        14 => (F64, 9),
        15 => (F64, 16),
        16 => (F64, 4),
        17 => (F32, 4),
        18 => (F16, 4),
        // Vectors of two, three and four numbers: f64, f32, f16, i32.
        19..=30 => {
            let scalar = [F64, F32, F16, I32][usize::from(kind - 19) % 4];
            (scalar, 2 + usize::from(kind - 19) / 4)
        }
        _ => return None,
    })
}

/// Times, and the value at each of them.
pub type TimeSamples = (Vec<f64>, Vec<u64>);

/// An open binary layer.
pub struct Binary {
    bytes: LayerBytes,
    version: [u8; 2],
    tokens: Vec<Arc<str>>,
    strings: Vec<u32>,
    paths: Vec<PathNode>,
}

impl Binary {
    /// Takes over the tables that values refer to.
    pub fn new(bytes: LayerBytes, tables: &mut Tables) -> Binary {
        Binary {
            bytes,
            version: tables.version,
            tokens: tables.tokens.clone(),
            strings: std::mem::take(&mut tables.strings),
            paths: std::mem::take(&mut tables.paths),
        }
    }

    /// Returns the path with this index; `None` if it does not exist or has too many elements.
    pub fn path(&self, number: u32) -> Option<Arc<str>> {
        let mut elements = Vec::new();
        let mut at = self.paths.get(number as usize)?;
        while at.parent != END_MARK {
            if elements.len() >= MAX_PATH_DEPTH {
                return None;
            }
            let token: &str = self.tokens.get(at.token as usize)?;
            elements.push((token, at.is_property));
            at = self.paths.get(at.parent as usize)?;
        }
        if elements.is_empty() {
            return Some("/".into());
        }
        let mut path = String::new();
        for (token, is_property) in elements.into_iter().rev() {
            // Variant selections and targets have their own brackets.
            if is_property {
                path.push('.');
            } else if !token.starts_with(['{', '[']) && !path.ends_with('}') {
                path.push('/');
            }
            path.push_str(token);
        }
        Some(path.into())
    }

    /// Reads a value other than time samples.
    pub fn value(&self, value: u64) -> Result<Value, Error> {
        let rep = ValueRep(value);
        if rep.is_edit() {
            return Ok(Value::Other);
        }
        if let Some((scalar, width)) = layout(rep.kind()) {
            let bytes = match (rep.is_array(), rep.is_inlined()) {
                (true, _) => self.array(rep, scalar, width)?,
                (false, true) => inlined(rep, scalar, width),
                (false, false) => self.bytes.read(rep.payload(), (scalar.size() * width) as u64)?,
            };
            return Ok(Value::Numbers(Numbers { scalar, width, array: rep.is_array(), bytes }));
        }
        let at = rep.payload();
        Ok(match rep.kind() {
            kind::STRING | kind::TOKEN | kind::ASSET => self.texts(rep)?,
            kind::TOKEN_VECTOR => self.vector(at, |number| self.token(number))?,
            kind::STRING_VECTOR => self.vector(at, |number| self.string(number))?,
            kind::PATH_VECTOR => self.vector(at, |number| self.path(number))?,
            kind::TOKEN_LIST => Value::List(self.indexed_edits(at, |_, n| Ok(self.token(n)), 4)?),
            kind::STRING_LIST => Value::List(self.indexed_edits(at, |_, n| Ok(self.string(n)), 4)?),
            kind::DICTIONARY => Value::Dictionary(self.dictionary(rep)?),
            kind::PATH_LIST => Value::List(self.indexed_edits(at, |_, n| Ok(self.path(n)), 4)?),
            kind::INTEGER_LIST => Value::Integers(self.edited_integers(at)?),
            kind::REFERENCE_LIST => Value::References(self.references(at, false)?),
            kind::PAYLOAD_LIST => Value::References(self.references(at, true)?),
            kind::PAYLOAD => {
                let (reference, _) = self.reference(at, true)?;
                let none = reference.asset.is_empty() && reference.prim.is_empty();
                let explicit = Some(if none { Vec::new() } else { vec![reference] });
                Value::References(ListEdit { explicit, ..ListEdit::default() })
            }
            kind::SPECIFIER | kind::VARIABILITY => {
                let bytes = (at as u32).to_le_bytes().to_vec();
                Value::Numbers(Numbers { scalar: Scalar::U32, width: 1, array: false, bytes })
            }
            kind::SELECTIONS => self.selections(rep)?,
            kind::DOUBLE_VECTOR => {
                let bytes = self.bytes.read(at + 8, self.count(at, 8)? * 8)?;
                Value::Numbers(Numbers { scalar: Scalar::F64, width: 1, array: true, bytes })
            }
            kind::RETIME_VECTOR => {
                let bytes = self.bytes.read(at + 8, self.count(at, 16)? * 16)?;
                let pairs = bytes.as_chunks::<16>().0.iter();
                Value::Retimes(pairs.map(|pair| retime(pair)).collect())
            }
            kind::BLOCK | kind::ANIMATION_BLOCK => Value::Block,
            kind::SPLINE if rep.is_inlined() => Value::Other,
            kind::SPLINE => {
                let bytes = self.bytes.read(at + 8, self.count(at, 1)?)?;
                if !Spline::is_known(&bytes) {
                    let what = "splines of a newer version; bake them into samples";
                    return Err(Error::unsupported(self.bytes.name(), what));
                }
                let own = Spline::parse(&bytes);
                Value::Spline(own.ok_or_else(|| self.bytes.malformed("a spline is cut short", at))?)
            }
            _ => Value::Other,
        })
    }

    /// Returns the number of elements of an array without reading it; 1 for other values, 0 for a block.
    pub fn length(&self, value: u64) -> Result<usize, Error> {
        let rep = ValueRep(value);
        match rep.kind() {
            kind::BLOCK | kind::ANIMATION_BLOCK => Ok(0),
            _ if !rep.is_array() => Ok(1),
            _ => Ok(self.array_head(rep)?.0 as usize),
        }
    }

    pub fn is_whole_array(&self, value: u64) -> bool {
        let rep = ValueRep(value);
        let whole =
            matches!(layout(rep.kind()), Some((Scalar::I32 | Scalar::U32 | Scalar::I64 | Scalar::U64, 1)));
        whole && rep.is_array() && !rep.is_edit()
    }

    /// `true` if the value is a block, which stands for no value.
    pub fn is_block(&self, value: u64) -> bool {
        matches!(ValueRep(value).kind(), kind::BLOCK | kind::ANIMATION_BLOCK)
    }

    /// Returns times and values of time samples; `None` if the value has another type.
    pub fn time_samples(&self, value: u64) -> Result<Option<TimeSamples>, Error> {
        let rep = ValueRep(value);
        if rep.kind() != kind::TIME_SAMPLES || rep.is_inlined() {
            return Ok(None);
        }
        let at = rep.payload();
        let times_at = self.relative_offset(at)?;
        let times = match self.value(self.bytes.u64(times_at)?)? {
            Value::Numbers(numbers) if numbers.scalar == Scalar::F64 && numbers.width == 1 => numbers.f64s(),
            _ => return Err(self.bytes.malformed("the times of samples are no numbers", times_at)),
        };
        // The data an offset skips over lies before the next offset.
        let values_at = self.relative_offset(times_at.saturating_add(8))?;
        let count = self.count(values_at, 8)?;
        if count != times.len() as u64 {
            let what = format!("{count} values at {} times", times.len());
            return Err(self.bytes.malformed(what, values_at));
        }
        let values = self.bytes.read(values_at + 8, 8 * count)?;
        Ok(Some((times, values.as_chunks::<8>().0.iter().map(|b| u64::from_le_bytes(*b)).collect())))
    }

    /// Returns the location of the times of samples, which is the same for all values that share them.
    pub fn times_key(&self, value: u64) -> Option<u64> {
        let at = ValueRep(value).payload();
        self.bytes.u64(self.relative_offset(at).ok()?).ok()
    }

    /// Resolves an offset relative to its own position.
    fn relative_offset(&self, at: u64) -> Result<u64, Error> {
        let distance = self.bytes.u64(at)? as i64;
        at.checked_add_signed(distance).ok_or_else(|| self.bytes.malformed("an offset leads outside", at))
    }

    /// Reads a count of items of `size` bytes that follow it, and checks that they are there.
    fn count(&self, at: u64, size: u64) -> Result<u64, Error> {
        let count = self.bytes.u64(at)?;
        let room = self.bytes.length().saturating_sub(at);
        match count.checked_mul(size) {
            Some(bytes) if bytes <= room => Ok(count),
            _ => Err(self.bytes.malformed(format!("{count} values where the file ends"), at)),
        }
    }

    fn token(&self, number: u32) -> Option<Arc<str>> {
        self.tokens.get(number as usize).cloned()
    }

    fn string(&self, number: u32) -> Option<Arc<str>> {
        self.token(*self.strings.get(number as usize)?)
    }

    fn missing_entry(&self, at: u64) -> Error {
        self.bytes.malformed("a text or path has a number beyond all", at)
    }

    /// Returns the offset of an array's first element, and the number of elements.
    fn array_head(&self, rep: ValueRep) -> Result<(u64, u64), Error> {
        let at = rep.payload();
        if at == 0 {
            return Ok((0, 0));
        }
        // Before 0.5 a rank precedes the count.
        let at = if self.version < [0, 5] { at + 4 } else { at };
        let (count, at) = match self.version < [0, 7] {
            true => (u64::from(self.bytes.u32(at)?), at + 4),
            false => (self.bytes.u64(at)?, at + 8),
        };
        match count > MAX_VALUES {
            true => Err(self.bytes.limit("elements of an array", count, MAX_VALUES)),
            false => Ok((count, at)),
        }
    }

    fn array(&self, rep: ValueRep, scalar: Scalar, width: usize) -> Result<Vec<u8>, Error> {
        let (count, at) = self.array_head(rep)?;
        let packed =
            rep.is_compressed() && self.version >= [0, 5] && count >= MIN_COMPRESSED_ELEMENTS && width == 1;
        if !packed {
            return self.bytes.read(at, count * (scalar.size() * width) as u64);
        }
        match scalar {
            Scalar::I32 | Scalar::U32 => Ok(flat(self.integers::<u32>(at, count)?.0, u32::to_le_bytes)),
            Scalar::I64 | Scalar::U64 => Ok(flat(self.integers::<u64>(at, count)?.0, u64::to_le_bytes)),
            Scalar::F16 | Scalar::F32 | Scalar::F64 => self.floats(at, count, scalar),
            Scalar::Bool | Scalar::U8 => Err(self.bytes.malformed("an array of bytes is compressed", at)),
        }
    }

    /// Reads compressed integers; returns them and the offset after them.
    fn integers<T: Integer>(&self, at: u64, count: u64) -> Result<(Vec<T>, u64), Error> {
        let size = self.bytes.u64(at)?;
        let block = self.bytes.read(at + 8, size)?;
        let numbers = integers(&block, count).map_err(|DamagedBlock(what)| self.bytes.malformed(what, at))?;
        Ok((numbers, at + 8 + size))
    }

    /// Reads compressed floats, stored as integers or as a table of values with an index for each element.
    fn floats(&self, at: u64, count: u64, scalar: Scalar) -> Result<Vec<u8>, Error> {
        let mut code = [0];
        self.bytes.read_into(at, &mut code)?;
        let size = scalar.size();
        if code == *b"i" {
            let (numbers, _) = self.integers::<u32>(at + 1, count)?;
            let numbers = numbers.into_iter().map(|v| v as i32);
            return Ok(match scalar {
                Scalar::F64 => numbers.flat_map(|v| f64::from(v).to_le_bytes()).collect(),
                Scalar::F32 => numbers.flat_map(|v| (v as f32).to_le_bytes()).collect(),
                _ => numbers.flat_map(|v| integer_to_half(v).to_le_bytes()).collect(),
            });
        }
        if code != *b"t" {
            return Err(self.bytes.malformed("floats are compressed in an unknown way", at));
        }
        let length = u64::from(self.bytes.u32(at + 1)?);
        let table = self.bytes.read(at + 5, length * size as u64)?;
        let (numbers, _) = self.integers::<u32>(at + 5 + length * size as u64, count)?;
        let mut out = Vec::with_capacity(numbers.len() * size);
        for number in numbers {
            let entry = (number as usize).checked_mul(size).and_then(|start| table.get(start..start + size));
            let Some(entry) = entry else {
                return Err(self.bytes.malformed("a float has a number beyond its table", at));
            };
            out.extend_from_slice(entry);
        }
        Ok(out)
    }

    fn texts(&self, rep: ValueRep) -> Result<Value, Error> {
        let is_string = rep.kind() == kind::STRING;
        let one = |number: u32| if is_string { self.string(number) } else { self.token(number) };
        let at = rep.payload();
        if !rep.is_array() {
            // A few writers do not inline the index.
            let number = if rep.is_inlined() { at as u32 } else { self.bytes.u32(at)? };
            let text = one(number).ok_or_else(|| self.missing_entry(at))?;
            return Ok(Value::Texts { array: false, list: vec![text] });
        }
        let (count, at) = self.array_head(rep)?;
        let numbers = self.bytes.read(at, 4 * count)?;
        // Asset paths are strings in arrays, and tokens otherwise.
        let of_strings = rep.kind() != kind::TOKEN;
        let one = |number: u32| if of_strings { self.string(number) } else { self.token(number) };
        let numbers = numbers.as_chunks::<4>().0.iter().map(|b| one(u32::from_le_bytes(*b)));
        let list = numbers.collect::<Option<Vec<_>>>().ok_or_else(|| self.missing_entry(at))?;
        Ok(Value::Texts { array: true, list })
    }

    /// Reads the names of children; a list much longer than the `expected` number is not read.
    pub fn names(&self, value: u64, expected: usize) -> Result<Vec<Arc<str>>, Error> {
        let rep = ValueRep(value);
        let at = rep.payload();
        if rep.kind() != kind::TOKEN_VECTOR || rep.is_inlined() {
            return Ok(Vec::new());
        }
        let count = self.count(at, 4)?;
        if count > 2 * expected as u64 {
            return Ok(Vec::new());
        }
        let numbers = self.bytes.read(at + 8, 4 * count)?;
        let numbers = numbers.as_chunks::<4>().0.iter();
        Ok(numbers.filter_map(|b| self.token(u32::from_le_bytes(*b))).collect())
    }

    fn vector(&self, at: u64, one: impl Fn(u32) -> Option<Arc<str>>) -> Result<Value, Error> {
        let count = self.count(at, 4)?;
        if count > MAX_LIST {
            return Err(self.bytes.limit("entries of a list", count, MAX_LIST));
        }
        let numbers = self.bytes.read(at + 8, 4 * count)?;
        let texts = numbers.as_chunks::<4>().0.iter().map(|b| one(u32::from_le_bytes(*b)));
        let list = texts.collect::<Option<Vec<_>>>().ok_or_else(|| self.missing_entry(at))?;
        Ok(Value::Texts { array: true, list })
    }

    fn selections(&self, rep: ValueRep) -> Result<Value, Error> {
        let at = rep.payload();
        if rep.is_inlined() {
            return Ok(Value::Selections(Vec::new()));
        }
        let count = self.count(at, 8)?;
        let bytes = self.bytes.read(at + 8, 8 * count)?;
        let pairs = bytes.as_chunks::<4>().0.as_chunks::<2>().0.iter();
        let pairs = pairs.map(|pair| {
            let [set, variant] = pair.map(|b| self.string(u32::from_le_bytes(b)));
            Some((set?, variant?))
        });
        let list = pairs.collect::<Option<Vec<_>>>().ok_or_else(|| self.missing_entry(at))?;
        Ok(Value::Selections(list))
    }

    /// Reads a list edit whose items have `size` bytes and begin with an index.
    fn indexed_edits<T>(
        &self,
        at: u64,
        one: impl Fn(u64, u32) -> Result<Option<T>, Error>,
        size: u64,
    ) -> Result<ListEdit<T>, Error> {
        self.read_edits(at, MAX_EDITED_ITEMS, |at| {
            let item = one(at, self.bytes.u32(at)?)?;
            Ok((item.ok_or_else(|| self.missing_entry(at))?, at + size))
        })
    }

    fn references(&self, at: u64, payload: bool) -> Result<ListEdit<Reference>, Error> {
        self.read_edits(at, MAX_EDITED_ITEMS, |at| self.reference(at, payload))
    }

    fn edited_integers(&self, at: u64) -> Result<ListEdit<i64>, Error> {
        self.read_edits(at, MAX_EDITED_INTEGERS, |at| Ok((self.bytes.u64(at)? as i64, at + 8)))
    }

    fn read_edits<T>(
        &self,
        mut at: u64,
        most: u64,
        mut one: impl FnMut(u64) -> Result<(T, u64), Error>,
    ) -> Result<ListEdit<T>, Error> {
        let mut head = [0];
        self.bytes.read_into(at, &mut head)?;
        at += 1;
        let mut edit = ListEdit::default();
        if head[0] & 1 != 0 {
            edit.explicit = Some(Vec::new());
        }
        // Bits 1 to 6: explicit, added, deleted, ordered, prepended, appended items; stored in another order.
        for bit in [1, 2, 5, 6, 3, 4] {
            if head[0] >> bit & 1 == 0 {
                continue;
            }
            let count = self.count(at, 4)?;
            if count > most {
                return Err(self.bytes.limit("entries of a list", count, most));
            }
            at += 8;
            let mut list = Vec::new();
            for _ in 0..count {
                let (item, after) = one(at)?;
                list.push(item);
                at = after;
            }
            match bit {
                1 => edit.explicit = Some(list),
                2 => edit.added = list,
                5 => edit.prepended = list,
                6 => edit.appended = list,
                3 => edit.deleted = list,
                // Reordering alone affects nothing that is read.
                _ => {}
            }
        }
        Ok(edit)
    }

    /// Reads a reference or a payload; returns it and the offset after it.
    fn reference(&self, at: u64, payload: bool) -> Result<(Reference, u64), Error> {
        let asset = self.string(self.bytes.u32(at)?).ok_or_else(|| self.missing_entry(at))?;
        let path = self.bytes.u32(at + 4)?;
        // An empty path has an index that does not exist.
        let prim = self.path(path).unwrap_or_default();
        let prim = if &*prim == "/" { "".into() } else { prim };
        let mut end = at + 8;
        let mut own = Retime::IDENTITY;
        if !payload || self.version >= [0, 8] {
            let bytes = self.bytes.read(end, 16)?;
            own = retime(&bytes);
            end += 16;
        }
        if !payload {
            end = self.after_dictionary(end)?;
        }
        Ok((Reference { asset, prim, retime: own }, end))
    }

    /// Reads keys and value references of a dictionary, but not the values.
    fn dictionary(&self, rep: ValueRep) -> Result<Vec<(Arc<str>, ValueRef)>, Error> {
        let at = rep.payload();
        if rep.is_inlined() || at == 0 {
            return Ok(Vec::new());
        }
        let count = self.count(at, 12)?;
        if count > MAX_DICTIONARY {
            return Err(self.bytes.limit("entries of a dictionary", count, MAX_DICTIONARY));
        }
        let mut at = at + 8;
        let mut out = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let key = self.string(self.bytes.u32(at)?).ok_or_else(|| self.missing_entry(at))?;
            let value = self.relative_offset(at + 4)?;
            if value < at + 12 {
                return Err(self.bytes.malformed("a dictionary leads back", at));
            }
            out.push((key, ValueRef(self.bytes.u64(value)?)));
            at = value + 8;
        }
        Ok(out)
    }

    /// Returns the offset after a dictionary: each entry has the index of its key and the distance to its
    /// value, which lies in between.
    fn after_dictionary(&self, at: u64) -> Result<u64, Error> {
        let count = self.count(at, 12)?;
        let mut at = at + 8;
        for _ in 0..count {
            let value = self.relative_offset(at + 4)?;
            if value < at + 12 {
                return Err(self.bytes.malformed("a dictionary leads back", at));
            }
            at = value + 8;
        }
        Ok(at)
    }
}

fn retime(bytes: &[u8]) -> Retime {
    let number = |at: usize| f64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
    Retime { offset: number(0), scale: number(8) }
}

fn flat<T, const S: usize>(numbers: Vec<T>, bytes: impl Fn(T) -> [u8; S]) -> Vec<u8> {
    numbers.into_iter().flat_map(bytes).collect()
}

/// Converts an integer to IEEE 754 binary16; integers that are not exact in it are never stored this way.
fn integer_to_half(value: i32) -> u16 {
    let sign = if value < 0 { 0x8000 } else { 0 };
    let size = value.unsigned_abs();
    if size == 0 {
        return sign;
    }
    let exponent = 31 - size.leading_zeros();
    let fraction = if exponent <= 10 { size << (10 - exponent) } else { size >> (exponent - 10) };
    if exponent > 15 {
        sign | 0x7C00
    } else {
        sign | ((exponent + 15) << 10) as u16 | (fraction & 0x3FF) as u16
    }
}

/// Returns an inlined value: a number of at most 32 bits, a wider one that fits into these, or a vector or
/// matrix diagonal of small integers.
fn inlined(rep: ValueRep, scalar: Scalar, width: usize) -> Vec<u8> {
    let bits = rep.payload() as u32;
    if width == 1 {
        return match scalar {
            Scalar::F64 => f64::from(f32::from_bits(bits)).to_le_bytes().to_vec(),
            Scalar::I64 => i64::from(bits as i32).to_le_bytes().to_vec(),
            Scalar::U64 => u64::from(bits).to_le_bytes().to_vec(),
            _ => bits.to_le_bytes()[..scalar.size()].to_vec(),
        };
    }
    let small = rep.payload().to_le_bytes().map(|b| i32::from(b as i8));
    // Quaternions are never inlined.
    let side = match (rep.kind(), width) {
        (13, _) => Some(2),
        (14, _) => Some(3),
        (15, _) => Some(4),
        _ => None,
    };
    let number = |i: usize| match side {
        Some(side) if i.is_multiple_of(side + 1) => small[i / (side + 1)],
        Some(_) => 0,
        None => small[i],
    };
    let bytes = |value: i32| match scalar {
        Scalar::F64 => f64::from(value).to_le_bytes().to_vec(),
        Scalar::F32 => (value as f32).to_le_bytes().to_vec(),
        Scalar::F16 => integer_to_half(value).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    };
    (0..width).flat_map(|i| bytes(number(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::number::half;

    #[test]
    fn whole_numbers_as_halves() {
        for value in [0, 1, -1, 2, 3, 7, -100, 127, -128, 1023, 2048, 65504] {
            assert_eq!(half(integer_to_half(value)), value as f32, "{value}");
        }
    }
}
