//! Accessors: typed arrays in buffers, plain, interleaved, normalized or sparse. Sizes are checked against
//! the available bytes before anything is allocated.

use super::document::{Document, SparsePart};
use meshreel_scene::Error;

/// Upper limit for the values of an accessor without a buffer view, whose values are zeros.
const MAX_ZEROS: u64 = 1 << 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Component {
    I8,
    U8,
    I16,
    U16,
    U32,
    F32,
}

impl Component {
    fn from_code(code: u32) -> Option<Component> {
        Some(match code {
            5120 => Component::I8,
            5121 => Component::U8,
            5122 => Component::I16,
            5123 => Component::U16,
            5125 => Component::U32,
            5126 => Component::F32,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Component::I8 | Component::U8 => 1,
            Component::I16 | Component::U16 => 2,
            Component::U32 | Component::F32 => 4,
        }
    }

    /// Converts a component to a float; normalized integers become fractions.
    fn float(self, bytes: &[u8], normalized: bool) -> f32 {
        let part = |value: f32, largest: f32| match normalized {
            true => (value / largest).max(-1.0),
            false => value,
        };
        match (self, bytes) {
            (Component::I8, &[a, ..]) => part(f32::from(a as i8), 127.0),
            (Component::U8, &[a, ..]) => part(f32::from(a), 255.0),
            (Component::I16, &[a, b, ..]) => part(f32::from(i16::from_le_bytes([a, b])), 32767.0),
            (Component::U16, &[a, b, ..]) => part(f32::from(u16::from_le_bytes([a, b])), 65535.0),
            (Component::U32, &[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]) as f32,
            (Component::F32, &[a, b, c, d, ..]) => f32::from_le_bytes([a, b, c, d]),
            _ => 0.0,
        }
    }

    /// Converts a component to an unsigned integer; other types give 0.
    fn integer(self, bytes: &[u8]) -> u32 {
        match (self, bytes) {
            (Component::U8, &[a, ..]) => a.into(),
            (Component::U16, &[a, b, ..]) => u16::from_le_bytes([a, b]).into(),
            (Component::U32, &[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]),
            _ => 0,
        }
    }
}

/// The location of values in a buffer, checked to lie within it.
#[derive(Clone, Copy)]
struct BufferLocation {
    buffer: usize,
    offset: u64,
    stride: usize,
}

/// A checked accessor.
pub(super) struct AccessorValues<'a> {
    document: &'a Document,
    number: usize,
    component: Component,
    components: usize,
    normalized: bool,
    /// The number of values.
    pub count: usize,
    location: Option<BufferLocation>,
    /// The number of replaced values, the type and location of their indices, and the location of their
    /// values.
    sparse: Option<(usize, Component, BufferLocation, BufferLocation)>,
}

impl Document {
    /// Returns accessor `number`, which must have `components` numbers per value.
    pub fn values(&self, number: usize, components: usize) -> Result<AccessorValues<'_>, Error> {
        let at = || format!("accessor {number}");
        let Some(accessor) = self.root.accessors.get(number) else {
            return Err(self.malformed("is not there", at()));
        };
        let has = match &*accessor.kind {
            "SCALAR" => 1,
            "VEC2" => 2,
            "VEC3" => 3,
            "VEC4" | "MAT2" => 4,
            "MAT3" => 9,
            "MAT4" => 16,
            _ => 0,
        };
        let Some(component) = Component::from_code(accessor.component_type).filter(|_| has == components)
        else {
            let what = format!("its type is not one of {components} numbers");
            return Err(self.malformed(what, at()));
        };
        let count = usize::try_from(accessor.count).ok().filter(|n| *n < 1 << 31);
        let Some(count) = count else {
            return Err(Error::limit(
                &self.path,
                format!("values of accessor {number}"),
                accessor.count,
                1 << 31,
            ));
        };
        let size = component.size() * components;
        let place = match accessor.buffer_view {
            Some(view) => Some(self.locate(view, accessor.byte_offset, count, size, true, number)?),
            None if accessor.count > MAX_ZEROS => {
                let what = format!("zeros of accessor {number}");
                return Err(Error::limit(&self.path, what, accessor.count, MAX_ZEROS));
            }
            None => None,
        };
        let sparse = match &accessor.sparse {
            None => None,
            Some(sparse) => {
                let kind = Component::from_code(sparse.indices.component_type);
                let kind = kind.filter(|k| {
                    matches!(k, Component::U8 | Component::U16 | Component::U32)
                        && sparse.count <= accessor.count
                });
                let Some(kind) = kind else {
                    return Err(self.malformed("its sparse values make no sense", at()));
                };
                let n = sparse.count as usize;
                let place = |part: &SparsePart, size: usize| {
                    self.locate(part.buffer_view, part.byte_offset, n, size, false, number)
                };
                let indices = place(&sparse.indices, kind.size())?;
                Some((n, kind, indices, place(&sparse.values, size)?))
            }
        };
        Ok(AccessorValues {
            document: self,
            number,
            component,
            components,
            normalized: accessor.normalized,
            count,
            location: place,
            sparse,
        })
    }

    /// Returns the location of `count` values of `size` bytes, after checking that they lie within view and
    /// buffer.
    fn locate(
        &self,
        view: usize,
        offset: u64,
        count: usize,
        size: usize,
        strided: bool,
        accessor: usize,
    ) -> Result<BufferLocation, Error> {
        let at = || format!("accessor {accessor}");
        let Some(view) = self.root.buffer_views.get(view) else {
            return Err(self.malformed("its buffer view is not there", at()));
        };
        let Some(buffer) = self.root.buffers.get(view.buffer) else {
            return Err(self.malformed("its buffer is not there", at()));
        };
        let stride = match view.byte_stride.filter(|_| strided) {
            None => size as u64,
            Some(stride) if stride >= size as u64 && stride <= 252 => stride,
            Some(stride) => {
                let what = format!("a stride of {stride} bytes between values of {size}");
                return Err(self.malformed(what, at()));
            }
        };
        let needed = match count as u64 {
            0 => 0,
            // Below 2³¹ · 252, so no overflow.
            n => (n - 1) * stride + size as u64,
        };
        let within =
            |start: u64, length: u64, whole: u64| start.checked_add(length).is_some_and(|end| end <= whole);
        if !within(offset, needed, view.byte_length)
            || !within(view.byte_offset, view.byte_length, buffer.byte_length)
        {
            let what = format!("{count} values do not fit its buffer view, or that its buffer");
            return Err(self.malformed(what, at()));
        }
        Ok(BufferLocation { buffer: view.buffer, offset: view.byte_offset + offset, stride: stride as usize })
    }
}

impl AccessorValues<'_> {
    /// Returns the values as floats; `N` is the number of components.
    pub fn floats<const N: usize>(&self) -> Result<Vec<[f32; N]>, Error> {
        let (component, normalized) = (self.component, self.normalized);
        self.read(|bytes| component.float(bytes, normalized))
    }

    /// Returns the values as integers; `N` is the number of components.
    pub fn integers<const N: usize>(&self) -> Result<Vec<[u32; N]>, Error> {
        if !matches!(self.component, Component::U8 | Component::U16 | Component::U32) {
            let what = "its values are no whole numbers";
            return Err(self.document.malformed(what, self.label()));
        }
        self.read(|bytes| self.component.integer(bytes))
    }

    fn label(&self) -> String {
        format!("accessor {}", self.number)
    }

    fn read<T: Copy + Default, const N: usize>(
        &self,
        convert: impl Fn(&[u8]) -> T,
    ) -> Result<Vec<[T; N]>, Error> {
        debug_assert_eq!(N, self.components);
        let size = self.component.size();
        let value = |bytes: &[u8]| -> [T; N] {
            std::array::from_fn(|k| bytes.get(k * size..).map_or(T::default(), &convert))
        };
        let mut out = vec![[T::default(); N]; self.count];
        if let Some(place) = self.location {
            let bytes = self.bytes(place, self.count, size * N)?;
            for (out, bytes) in out.iter_mut().zip(bytes.chunks(place.stride)) {
                *out = value(bytes);
            }
        }
        if let Some((n, kind, indices, values)) = self.sparse {
            let indices = self.bytes(indices, n, kind.size())?;
            let values = self.bytes(values, n, size * N)?;
            for (index, bytes) in indices.chunks(kind.size()).zip(values.chunks(size * N)) {
                let index = kind.integer(index) as usize;
                let Some(out) = out.get_mut(index) else {
                    let what = format!("sparse value {index} of {}", self.count);
                    return Err(self.document.malformed(what, self.label()));
                };
                *out = value(bytes);
            }
        }
        Ok(out)
    }

    fn bytes(&self, place: BufferLocation, count: usize, size: usize) -> Result<Vec<u8>, Error> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; (count - 1) * place.stride + size];
        self.document.read(place.buffer, place.offset, &mut bytes)?;
        Ok(bytes)
    }
}
