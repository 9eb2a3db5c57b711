//! Converts stored numbers to channels of the scene model: one source per property, which decodes on each
//! read.

use super::core::{Archive, PropertyHeader};
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::number::half;
use meshreel_scene::{Channel, Error, Identity, Source};
use std::cell::RefCell;
use std::sync::Arc;

/// A larger scratch buffer, in bytes, is not kept for the next read.
const MAX_SCRATCH_BYTES: usize = 8 << 20;

thread_local! {
    /// The stored bytes of the sample that is being read.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The archive and the path of the current object, which errors of a channel name.
#[derive(Clone)]
pub struct ArchiveObject {
    pub archive: Arc<dyn Archive>,
    /// The path of the object.
    pub path: Arc<str>,
}

/// Decodes the payload of one sample into values. The length of the result is bounded by that of the payload.
pub type Decode<T> = Box<dyn Fn(&[u8], &mut Vec<T>) + Send + Sync>;

struct PropertySource<T> {
    object: ArchiveObject,
    name: Box<str>,
    property: u64,
    samples: usize,
    /// The first and the last sample that differ from the one before; see [`PropertyHeader::changed`].
    changed: (usize, usize),
    decode: Decode<T>,
}

impl<T: Send + Sync> Source<T> for PropertySource<T> {
    fn len(&self) -> usize {
        self.samples
    }

    fn identity(&self, i: usize) -> Identity {
        // A sample that cannot be read shares its value with no other; reading it returns the error.
        let identity = self.object.archive.identity(self.property, i);
        identity.unwrap_or(!(i as Identity))
    }

    fn is_constant(&self) -> bool {
        // Only stored samples are compared, however many samples the property claims.
        let (first, last) = self.changed;
        last == 0 || {
            let zero = self.identity(0);
            (first..=last).all(|i| self.identity(i) == zero)
        }
    }

    fn read(&self, i: usize, out: &mut Vec<T>) -> Result<(), Error> {
        out.clear();
        read_bytes(&*self.object.archive, self.property, i, |bytes| {
            (self.decode)(bytes, out);
        })
        .map_err(|error| self.object.locate_error(error, &self.name, i))
    }
}

impl ArchiveObject {
    /// Makes a channel of a simple property, which must have at least one sample.
    pub fn channel<T: Clone + Send + Sync + 'static>(
        &self,
        header: &PropertyHeader,
        decode: Decode<T>,
    ) -> Channel<T> {
        let source = PropertySource {
            object: self.clone(),
            name: header.name.as_str().into(),
            property: header.id,
            samples: header.samples,
            changed: header.changed,
            decode,
        };
        Channel::new(header.sampling.clone(), Arc::new(source))
    }

    /// Adds object, property and sample to an error.
    fn locate_error(&self, error: Error, property: &str, sample: usize) -> Error {
        match error {
            Error::Malformed { path, what, at } => Error::Malformed {
                path,
                what,
                at: format!("{} {property}, sample {sample}, {at}", self.path),
            },
            other => other,
        }
    }
}

/// Passes the payload of a sample to `take`, in a reused buffer.
pub fn read_bytes<R>(
    archive: &dyn Archive,
    property: u64,
    sample: usize,
    take: impl FnOnce(&[u8]) -> R,
) -> Result<R, Error> {
    let mut bytes = SCRATCH.take();
    let result = archive.read(property, sample, &mut bytes);
    let result = result.map(|()| take(&bytes));
    if bytes.capacity() <= MAX_SCRATCH_BYTES {
        SCRATCH.set(bytes);
    }
    result
}

/// Returns the size of one number in bytes; `None` for strings.
pub fn size_of(pod: Pod) -> Option<usize> {
    match pod {
        Pod::Bool | Pod::U8 | Pod::I8 => Some(1),
        Pod::U16 | Pod::I16 | Pod::F16 => Some(2),
        Pod::U32 | Pod::I32 | Pod::F32 => Some(4),
        Pod::U64 | Pod::I64 | Pod::F64 => Some(8),
        Pod::String | Pod::WString => None,
    }
}

/// Converts numbers of any type to f64; integers are exact up to 2^53. Strings give no numbers.
pub fn f64s(pod: Pod, bytes: &[u8], out: &mut Vec<f64>) {
    fn each<const S: usize>(bytes: &[u8], out: &mut Vec<f64>, number: impl Fn([u8; S]) -> f64) {
        out.extend(bytes.as_chunks::<S>().0.iter().map(|b| number(*b)));
    }
    out.clear();
    match pod {
        Pod::Bool | Pod::U8 => each(bytes, out, |[b]| f64::from(b)),
        Pod::I8 => each(bytes, out, |b| f64::from(i8::from_le_bytes(b))),
        Pod::U16 => each(bytes, out, |b| f64::from(u16::from_le_bytes(b))),
        Pod::I16 => each(bytes, out, |b| f64::from(i16::from_le_bytes(b))),
        Pod::U32 => each(bytes, out, |b| f64::from(u32::from_le_bytes(b))),
        Pod::I32 => each(bytes, out, |b| f64::from(i32::from_le_bytes(b))),
        Pod::U64 => each(bytes, out, |b| u64::from_le_bytes(b) as f64),
        Pod::I64 => each(bytes, out, |b| i64::from_le_bytes(b) as f64),
        Pod::F16 => each(bytes, out, |b| f64::from(half(u16::from_le_bytes(b)))),
        Pod::F32 => each(bytes, out, |b| f64::from(f32::from_le_bytes(b))),
        Pod::F64 => each(bytes, out, f64::from_le_bytes),
        Pod::String | Pod::WString => {}
    }
}

/// Returns a decoder of `FROM` stored floats per element to `TO` f32; missing components are `fill`. If
/// `normalized`, integers become fractions of their type's largest value (colours in 8 or 16 bits).
pub fn floats<const FROM: usize, const TO: usize>(
    pod: Pod,
    normalized: bool,
    fill: f32,
) -> Option<Decode<[f32; TO]>> {
    fn decoder<const S: usize, const FROM: usize, const TO: usize>(
        fill: f32,
        number: impl Fn([u8; S]) -> f32 + Send + Sync + 'static,
    ) -> Decode<[f32; TO]> {
        Box::new(move |bytes, out| {
            let elements = bytes.as_chunks::<S>().0.as_chunks::<FROM>().0;
            out.extend(
                elements.iter().map(|element| {
                    std::array::from_fn(|k| element.get(k).map_or(fill, |bytes| number(*bytes)))
                }),
            );
        })
    }
    let one = |largest: f32| if normalized { largest } else { 1.0 };
    Some(match pod {
        Pod::F32 => decoder::<4, FROM, TO>(fill, f32::from_le_bytes),
        Pod::F64 => decoder::<8, FROM, TO>(fill, |b| f64::from_le_bytes(b) as f32),
        Pod::F16 => decoder::<2, FROM, TO>(fill, |b| half(u16::from_le_bytes(b))),
        Pod::U8 => {
            let one = one(255.0);
            decoder::<1, FROM, TO>(fill, move |[b]| f32::from(b) / one)
        }
        Pod::U16 => {
            let one = one(65535.0);
            decoder::<2, FROM, TO>(fill, move |b| f32::from(u16::from_le_bytes(b)) / one)
        }
        _ => return None,
    })
}

/// Returns a decoder of integers to i32; values out of range become −1, which is no valid face, corner or
/// count.
pub fn i32s(pod: Pod) -> Option<Decode<i32>> {
    Some(match pod {
        Pod::I32 => numbers(i32::from_le_bytes),
        Pod::U32 => numbers(|b| u32::from_le_bytes(b).try_into().unwrap_or(-1)),
        Pod::I64 => numbers(|b| i64::from_le_bytes(b).try_into().unwrap_or(-1)),
        Pod::U64 => numbers(|b| u64::from_le_bytes(b).try_into().unwrap_or(-1)),
        Pod::I16 => numbers(|b| i16::from_le_bytes(b).into()),
        Pod::U16 => numbers(|b| u16::from_le_bytes(b).into()),
        Pod::I8 => numbers(|b| i8::from_le_bytes(b).into()),
        Pod::U8 | Pod::Bool => numbers(|[b]| i32::from(b)),
        _ => return None,
    })
}

/// Returns a decoder of integers to u32; values out of range become the largest u32, which is out of range as
/// an index.
pub fn u32s(pod: Pod) -> Option<Decode<u32>> {
    const OUT_OF_RANGE: u32 = u32::MAX;
    Some(match pod {
        Pod::U32 => numbers(u32::from_le_bytes),
        Pod::I32 => numbers(|b| i32::from_le_bytes(b).try_into().unwrap_or(OUT_OF_RANGE)),
        Pod::I64 => numbers(|b| i64::from_le_bytes(b).try_into().unwrap_or(OUT_OF_RANGE)),
        Pod::U64 => numbers(|b| u64::from_le_bytes(b).try_into().unwrap_or(OUT_OF_RANGE)),
        Pod::U16 => numbers(|b| u16::from_le_bytes(b).into()),
        Pod::U8 => numbers(|[b]| u32::from(b)),
        _ => return None,
    })
}

/// Returns a decoder of integers to i64; values out of range become the largest i64.
pub fn i64s(pod: Pod) -> Option<Decode<i64>> {
    Some(match pod {
        Pod::I64 => numbers(i64::from_le_bytes),
        Pod::U64 => numbers(|b| u64::from_le_bytes(b).try_into().unwrap_or(i64::MAX)),
        Pod::I32 => numbers(|b| i32::from_le_bytes(b).into()),
        Pod::U32 => numbers(|b| u32::from_le_bytes(b).into()),
        Pod::I16 => numbers(|b| i16::from_le_bytes(b).into()),
        Pod::U16 => numbers(|b| u16::from_le_bytes(b).into()),
        Pod::I8 => numbers(|b| i8::from_le_bytes(b).into()),
        Pod::U8 => numbers(|[b]| b.into()),
        _ => return None,
    })
}

/// Returns a decoder of one to four floats per element to four, with missing ones 0; `None` for other types.
pub fn padded_floats(pod: Pod, extent: usize) -> Option<Decode<[f32; 4]>> {
    if !matches!(pod, Pod::F16 | Pod::F32 | Pod::F64) {
        return None;
    }
    match extent {
        1 => floats::<1, 4>(pod, false, 0.0),
        2 => floats::<2, 4>(pod, false, 0.0),
        3 => floats::<3, 4>(pod, false, 0.0),
        4 => floats::<4, 4>(pod, false, 0.0),
        _ => None,
    }
}

/// Returns a decoder of strings, each ended by a zero byte; invalid UTF-8 is replaced.
pub fn texts() -> Decode<Arc<str>> {
    Box::new(|bytes, out| {
        // Runs of equal strings, the common case, share one allocation.
        let mut last: (&[u8], Arc<str>) = (&[], "".into());
        for text in bytes.split_inclusive(|&b| b == 0) {
            let text = text.strip_suffix(&[0]).unwrap_or(text);
            if text != last.0 {
                last = (text, String::from_utf8_lossy(text).into());
            }
            out.push(last.1.clone());
        }
    })
}

/// Makes a decoder of stored numbers of `S` bytes each, one value per number.
pub fn numbers<const S: usize, T: 'static>(
    number: impl Fn([u8; S]) -> T + Send + Sync + 'static,
) -> Decode<T> {
    Box::new(move |bytes, out| out.extend(bytes.as_chunks::<S>().0.iter().map(|b| number(*b))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves() {
        for (bits, value) in [
            (0x3C00, 1.0),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0x3555, 0.333_251_95),
            (0x7C00, f32::INFINITY),
        ] {
            assert_eq!(half(bits), value, "{bits:04x}");
        }
        assert_eq!(half(0x8000).to_bits(), (-0.0f32).to_bits());
        assert!(half(0x7E00).is_nan());
    }

    #[test]
    fn other_types_become_ours() {
        let mut points = Vec::new();
        let bytes: Vec<u8> =
            [1.0f64, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0].iter().flat_map(|v| v.to_le_bytes()).collect();
        floats::<3, 3>(Pod::F64, false, 0.0).unwrap()(&bytes, &mut points);
        assert_eq!(points, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
        let mut colours = Vec::new();
        floats::<3, 4>(Pod::U8, true, 1.0).unwrap()(&[0, 255, 51], &mut colours);
        assert_eq!(colours, [[0.0, 1.0, 0.2, 1.0]]);
        let mut faces = Vec::new();
        i32s(Pod::U32).unwrap()(&[255, 255, 255, 255, 7, 0, 0, 0, 1], &mut faces);
        assert_eq!(faces, [-1, 7]);
        assert!(i32s(Pod::F32).is_none() && floats::<3, 3>(Pod::String, false, 0.0).is_none());
    }
}
