//! The binary chunk: written to disk as it grows, with the accessors that describe it. In a compressed file,
//! views refer to a placeholder buffer that does not exist, and to the compressed bytes of the chunk.

use super::meshopt::{Extension, compress_triangles, compress_values, filters};
use crate::Temporary;
use gltf_json::accessor::{Accessor, ComponentType, GenericComponentType, IndexComponentType, Type, sparse};
use gltf_json::buffer::{Buffer, Stride, Target, View};
use gltf_json::validation::Checked::Valid;
use gltf_json::validation::USize64;
use gltf_json::{Index, Root};
use meshreel_scene::Error;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::io::{Seek, Write};
use std::path::Path;

/// Largest size of the chunk, which leaves room for the JSON: a .glb as a whole is below 4 GiB.
const MAX_CHUNK_BYTES: u64 = u32::MAX as u64 - (256 << 20);

/// Weights of more bytes than this are written without their zeros, whose number grows with the square of the
/// frames.
const MIN_SPARSE_BYTES: u64 = 1 << 16;

/// Bytes that are buffered before they are written.
const FLUSH_BYTES: usize = 1 << 20;

/// The purpose of an accessor's values.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum AccessorUse {
    Vertices,
    Indices,
    Animation,
}

/// The compression of a view.
#[derive(Clone, Copy)]
enum Packing {
    /// No compression.
    Raw,
    /// Values of this many bytes, and the name of their filter.
    Values(usize, Option<&'static str>),
    /// Triangles with indices of this many bytes.
    Triangles(usize),
}

/// The document and its only buffer.
pub(crate) struct Document {
    pub root: Root,
    file: Temporary,
    compression: Option<Extension>,
    /// `true` if vertices of 16-bit or 8-bit integers are in it.
    quantized: bool,
    /// Size in bytes of the placeholder buffer.
    placeholder_bytes: u64,
    length: u64,
    /// Buffered bytes that are not yet in the file.
    pending: Vec<u8>,
    bytes: Vec<u8>,
    /// Key times in seconds, by accessor index.
    pub key_times: HashMap<usize, Vec<f32>>,
}

impl Document {
    pub fn create(target: &Path, compression: Option<Extension>) -> Result<Document, Error> {
        Ok(Document {
            root: Root::default(),
            file: Temporary::create(target)?,
            compression,
            quantized: false,
            placeholder_bytes: 0,
            length: 0,
            pending: Vec::new(),
            bytes: Vec::new(),
            key_times: HashMap::new(),
        })
    }

    /// Returns the path of the file that is written.
    pub fn target(&self) -> &Path {
        self.file.target()
    }

    /// Writes vectors, or scalars if `N` is 1. `bounds`: with min and max, as positions and key times need.
    pub fn floats<const N: usize>(
        &mut self,
        values: &[[f32; N]],
        purpose: AccessorUse,
        bounds: bool,
    ) -> Result<Index<Accessor>, Error> {
        self.bytes.clear();
        self.bytes.extend(values.iter().flatten().flat_map(|v| v.to_le_bytes()));
        let view = self.view(purpose, Packing::Values(4 * N, None))?;
        self.float_accessor(view, values, purpose, bounds)
    }

    fn float_accessor<const N: usize>(
        &mut self,
        view: Index<View>,
        values: &[[f32; N]],
        purpose: AccessorUse,
        bounds: bool,
    ) -> Result<Index<Accessor>, Error> {
        let (low, high) = bounds_of(values.iter().copied());
        let mut accessor = accessor(Some(view), values.len(), ComponentType::F32, accessor_type(N));
        if bounds {
            (accessor.min, accessor.max) = (Some(low.to_vec().into()), Some(high.to_vec().into()));
        }
        if purpose == AccessorUse::Animation && bounds {
            let times = values.iter().flatten().copied().collect();
            self.key_times.insert(self.root.accessors.len(), times);
        }
        Ok(Index::push(&mut self.root.accessors, accessor))
    }

    /// Writes the first `components` numbers of each vertex.
    pub fn leading_components(
        &mut self,
        values: &[[f32; 4]],
        components: usize,
    ) -> Result<Index<Accessor>, Error> {
        fn first<const N: usize>(values: &[[f32; 4]]) -> Vec<[f32; N]> {
            let of = |v: &[f32; 4]| std::array::from_fn(|i| v[i]);
            values.iter().map(of).collect()
        }
        match components {
            1 => self.floats(&first::<1>(values), AccessorUse::Vertices, false),
            2 => self.floats(&first::<2>(values), AccessorUse::Vertices, false),
            3 => self.floats(&first::<3>(values), AccessorUse::Vertices, false),
            _ => self.floats(values, AccessorUse::Vertices, false),
        }
    }

    /// Writes rows of `columns` numbers with `value[column] = 1` and 0 elsewhere: weights of which at most
    /// one is set. `whole`: as a full list, of which parts can be taken.
    pub fn one_hot(
        &mut self,
        rows: &[Option<u32>],
        columns: usize,
        whole: bool,
    ) -> Result<Index<Accessor>, Error> {
        let asked = (rows.len() as u64).saturating_mul(columns as u64).saturating_mul(4);
        let count = rows.len().saturating_mul(columns);
        if asked > MIN_SPARSE_BYTES && !whole && count <= u32::MAX as usize {
            let place = |(row, column): (usize, &Option<u32>)| Some((row * columns) as u32 + (*column)?);
            let places: Vec<u32> = rows.iter().enumerate().filter_map(place).collect();
            if !places.is_empty() {
                let mut out = accessor(None, count, ComponentType::F32, Type::Scalar);
                out.sparse = Some(self.sparse(&places, count, &vec![1.0; places.len()])?);
                return Ok(Index::push(&mut self.root.accessors, out));
            }
        }
        self.check(asked)?;
        self.bytes.clear();
        self.bytes.resize(asked as usize, 0);
        for (row, column) in rows.iter().enumerate() {
            if let Some(column) = column {
                let at = (row * columns + *column as usize) * 4;
                self.bytes[at..at + 4].copy_from_slice(&1f32.to_le_bytes());
            }
        }
        let view = self.view(AccessorUse::Animation, Packing::Values(4, None))?;
        let accessor = accessor(Some(view), rows.len() * columns, ComponentType::F32, Type::Scalar);
        Ok(Index::push(&mut self.root.accessors, accessor))
    }

    /// Writes triangle corners; 16 bits if the number of vertices allows (65,535 itself is reserved).
    pub fn indices(&mut self, indices: &[u32], vertices: usize) -> Result<Index<Accessor>, Error> {
        self.bytes.clear();
        let kind = self.push_indices(indices, vertices);
        let stride = if vertices <= 0xffff { 2 } else { 4 };
        let view = self.view(AccessorUse::Indices, Packing::Triangles(stride))?;
        Ok(Index::push(&mut self.root.accessors, accessor(Some(view), indices.len(), kind, Type::Scalar)))
    }

    /// Writes vectors of four 16-bit integers.
    pub fn u16_vectors(&mut self, values: &[[u16; 4]]) -> Result<Index<Accessor>, Error> {
        self.bytes.clear();
        self.bytes.extend(values.iter().flatten().flat_map(|v| v.to_le_bytes()));
        let view = self.view(AccessorUse::Vertices, Packing::Values(8, None))?;
        Ok(Index::push(
            &mut self.root.accessors,
            accessor(Some(view), values.len(), ComponentType::U16, accessor_type(4)),
        ))
    }

    /// Writes the differences of a morph target: sparse, if that is smaller.
    pub fn deltas(&mut self, deltas: &[[f32; 3]]) -> Result<Index<Accessor>, Error> {
        let moved: Vec<u32> = (0..deltas.len() as u32).filter(|&i| deltas[i as usize] != [0.0; 3]).collect();
        let index = if deltas.len() <= 0xffff { 2 } else { 4 };
        // Compressed, unchanged vertices take next to nothing.
        let whole = self.compression.is_some() && !moved.is_empty();
        if whole || moved.len() * (12 + index) * 5 > deltas.len() * 12 * 4 {
            return self.floats(deltas, AccessorUse::Vertices, true);
        }
        let (low, high) = bounds_of(deltas.iter().copied());
        let mut out = accessor(None, deltas.len(), ComponentType::F32, Type::Vec3);
        (out.min, out.max) = (Some(low.to_vec().into()), Some(high.to_vec().into()));
        // Neither view nor sparse: all values are zero.
        if !moved.is_empty() {
            let values: Vec<[f32; 3]> = moved.iter().map(|&i| deltas[i as usize]).collect();
            out.sparse = Some(self.sparse(&moved, deltas.len(), values.as_flattened())?);
        }
        Ok(Index::push(&mut self.root.accessors, out))
    }

    /// Returns a sparse accessor with these values at `places` of `count`; the others are zero.
    fn sparse(&mut self, places: &[u32], count: usize, values: &[f32]) -> Result<sparse::Sparse, Error> {
        self.bytes.clear();
        let kind = self.push_indices(places, count);
        let indices = self.view(AccessorUse::Animation, Packing::Raw)?;
        self.bytes.clear();
        self.bytes.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        let values = self.view(AccessorUse::Animation, Packing::Raw)?;
        Ok(sparse::Sparse {
            count: USize64::from(places.len()),
            indices: sparse::Indices {
                buffer_view: indices,
                byte_offset: USize64(0),
                component_type: Valid(IndexComponentType(kind)),
                extensions: None,
                extras: Default::default(),
            },
            values: sparse::Values {
                buffer_view: values,
                byte_offset: USize64(0),
                extensions: None,
                extras: Default::default(),
            },
            extensions: None,
            extras: Default::default(),
        })
    }

    /// Writes positions as 16-bit integers, or their differences if they are `signed`.
    pub fn fixed_point_positions(
        &mut self,
        values: &[[i32; 3]],
        signed: bool,
    ) -> Result<Index<Accessor>, Error> {
        self.quantized = true;
        self.bytes.clear();
        // Vertex attributes are aligned to 4 bytes.
        self.bytes
            .extend(values.iter().flat_map(|v| [v[0], v[1], v[2], 0]).flat_map(|v| (v as u16).to_le_bytes()));
        let component = if signed { ComponentType::I16 } else { ComponentType::U16 };
        let view = self.strided(8, None)?;
        let mut out = accessor(Some(view), values.len(), component, Type::Vec3);
        let bound = |pick: fn(i32, i32) -> i32| {
            let all = values.iter().copied().reduce(|a, b| std::array::from_fn(|i| pick(a[i], b[i])));
            Some(all.unwrap_or_default().to_vec().into())
        };
        (out.min, out.max) = (bound(i32::min), bound(i32::max));
        Ok(Index::push(&mut self.root.accessors, out))
    }

    /// Writes octahedral normals of 8 or 16 bits.
    pub fn octahedral_normals(&mut self, values: &[[i16; 4]], wide: bool) -> Result<Index<Accessor>, Error> {
        self.quantized = true;
        self.bytes.clear();
        match wide {
            true => self.bytes.extend(values.iter().flatten().flat_map(|v| v.to_le_bytes())),
            false => self.bytes.extend(values.iter().flatten().map(|v| *v as u8)),
        }
        let view = self.strided(if wide { 8 } else { 4 }, Some("OCTAHEDRAL"))?;
        let component = if wide { ComponentType::I16 } else { ComponentType::I8 };
        let mut out = accessor(Some(view), values.len(), component, Type::Vec3);
        out.normalized = true;
        Ok(Index::push(&mut self.root.accessors, out))
    }

    /// Writes numbers from 0 to 1 as normalized integers: of 16 bits, or of 8 bits if there are four.
    pub fn normalized_integers<const N: usize>(
        &mut self,
        values: &[[f32; N]],
    ) -> Result<Index<Accessor>, Error> {
        self.quantized |= N == 2;
        self.bytes.clear();
        let part = |v: f32, most: f32| (v.clamp(0.0, 1.0) * most).round() as u16;
        let component = match N {
            4 => {
                self.bytes.extend(values.iter().flatten().map(|v| part(*v, 255.0) as u8));
                ComponentType::U8
            }
            _ => {
                let words = values.iter().flatten().map(|v| part(*v, 65535.0));
                self.bytes.extend(words.flat_map(u16::to_le_bytes));
                ComponentType::U16
            }
        };
        let stride = self.bytes.len() / values.len().max(1);
        let view = self.strided(stride.max(4), None)?;
        let mut out = accessor(Some(view), values.len(), component, accessor_type(N));
        out.normalized = true;
        Ok(Index::push(&mut self.root.accessors, out))
    }

    /// Writes vectors rounded to multiples of a power of two; unchanged, if that is too fine for them.
    pub fn rounded<const N: usize>(
        &mut self,
        values: &[[f32; N]],
        power: i32,
        bounds: bool,
    ) -> Result<Index<Accessor>, Error> {
        let words = values.iter().flatten().map(|v| filters::encode_exponential(*v, power));
        let Some(words) = words.collect::<Option<Vec<u32>>>() else {
            return self.floats(values, AccessorUse::Vertices, bounds);
        };
        let back: Vec<[f32; N]> = (words.chunks_exact(N))
            .map(|v| std::array::from_fn(|i| filters::decode_exponential(v[i])))
            .collect();
        self.bytes.clear();
        self.bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        let view = self.view(AccessorUse::Vertices, Packing::Values(4 * N, Some("EXPONENTIAL")))?;
        self.float_accessor(view, &back, AccessorUse::Vertices, bounds)
    }

    /// Adds a view of vertices with this stride in bytes.
    fn strided(&mut self, stride: usize, filter: Option<&'static str>) -> Result<Index<View>, Error> {
        let view = self.view(AccessorUse::Vertices, Packing::Values(stride, filter))?;
        self.root.buffer_views[view.value()].byte_stride = Some(Stride(stride));
        Ok(view)
    }

    fn push_indices(&mut self, indices: &[u32], vertices: usize) -> ComponentType {
        if vertices <= 0xffff {
            self.bytes.extend(indices.iter().flat_map(|&i| (i as u16).to_le_bytes()));
            ComponentType::U16
        } else {
            self.bytes.extend(indices.iter().flat_map(|&i| i.to_le_bytes()));
            ComponentType::U32
        }
    }

    fn check(&self, more: u64) -> Result<(), Error> {
        let asked = self.length.saturating_add(more);
        if asked > MAX_CHUNK_BYTES {
            let what = "bytes in a .glb, which cannot hold 4 GiB; write .abc instead";
            return Err(Error::limit(self.file.target(), what, asked, MAX_CHUNK_BYTES));
        }
        Ok(())
    }

    /// Appends `self.bytes`, compressed or raw, aligned to 4.
    fn view(&mut self, purpose: AccessorUse, packing: Packing) -> Result<Index<View>, Error> {
        let plain = self.bytes.len();
        let packed = match self.compression {
            Some(extension) => pack(&self.bytes, extension, packing)?,
            None => None,
        };
        let (buffer, place, extensions) = match packed {
            None => (0, self.length, None),
            Some((bytes, name, said)) => {
                let place = self.placeholder_bytes;
                self.placeholder_bytes += plain.next_multiple_of(4) as u64;
                let mut said = said;
                said.insert("byteOffset".into(), self.length.into());
                said.insert("byteLength".into(), bytes.len().into());
                self.bytes = bytes;
                let others = Map::from_iter([(name.to_string(), Value::Object(said))]);
                (1, place, Some(gltf_json::extensions::buffer::View { others }))
            }
        };
        self.check(self.bytes.len() as u64 + 3)?;
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        self.pending.extend_from_slice(&self.bytes);
        if self.pending.len() >= FLUSH_BYTES {
            self.flush()?;
        }
        self.length += self.bytes.len() as u64;
        let view = View {
            buffer: Index::new(buffer),
            byte_length: USize64::from(plain),
            byte_offset: Some(USize64(place)),
            byte_stride: None,
            name: None,
            target: match purpose {
                AccessorUse::Vertices => Some(Valid(Target::ArrayBuffer)),
                AccessorUse::Indices => Some(Valid(Target::ElementArrayBuffer)),
                AccessorUse::Animation => None,
            },
            extensions,
            extras: Default::default(),
        };
        Ok(Index::push(&mut self.root.buffer_views, view))
    }

    fn flush(&mut self) -> Result<(), Error> {
        let done = self.file.file().write_all(&self.pending);
        done.map_err(|e| Error::io(self.file.target(), e))?;
        self.pending.clear();
        Ok(())
    }

    /// Sets the buffers and the required extensions of the document.
    fn describe(&mut self) {
        let buffer = |length| Buffer {
            byte_length: USize64(length),
            name: None,
            uri: None,
            extensions: None,
            extras: Default::default(),
        };
        if self.length > 0 {
            self.root.buffers = vec![buffer(self.length)];
        }
        let mut needed = Vec::new();
        if let Some(extension) = self.compression.filter(|_| self.placeholder_bytes > 0) {
            let fallback = serde_json::json!({ "fallback": true });
            let others = Map::from_iter([(extension.name().to_string(), fallback)]);
            let extensions = Some(gltf_json::extensions::buffer::Buffer { others });
            self.root.buffers.push(Buffer { extensions, ..buffer(self.placeholder_bytes) });
            needed.push(extension.name().to_string());
        }
        if self.quantized {
            needed.push("KHR_mesh_quantization".into());
        }
        self.root.extensions_used.extend(needed.iter().cloned());
        self.root.extensions_required.extend(needed);
    }

    /// Joins header, JSON and binary chunk to the file.
    pub fn finish(mut self) -> Result<(), Error> {
        self.describe();
        let mut json = self.root.to_vec().map_err(|e| Error::misuse(format!("glTF: {e}")))?;
        json.resize(json.len().next_multiple_of(4), b' ');
        let binary = if self.length > 0 { 8 + self.length } else { 0 };
        let total = 12 + 8 + json.len() as u64 + binary;
        let total = u32::try_from(total).map_err(|_| {
            Error::limit(self.file.target(), "bytes in a .glb; write .abc instead", total, u32::MAX.into())
        })?;
        self.flush()?;
        let mut head = b"glTF".to_vec();
        let word = |head: &mut Vec<u8>, value: u32| head.extend(value.to_le_bytes());
        word(&mut head, 2);
        word(&mut head, total);
        word(&mut head, json.len() as u32);
        head.extend(b"JSON");
        head.extend(json);
        if self.length > 0 {
            word(&mut head, self.length as u32);
            head.extend(b"BIN\0");
        }
        let out = Temporary::create(self.file.target())?;
        let assemble = || -> std::io::Result<()> {
            out.file().write_all(&head)?;
            self.file.file().rewind()?;
            std::io::copy(&mut self.file.file(), &mut out.file())?;
            Ok(())
        };
        assemble().map_err(|e| Error::io(out.target(), e))?;
        out.publish()
    }
}

/// Compressed bytes, the name of the extension and its content.
type PackedView = (Vec<u8>, &'static str, Map<String, Value>);

/// Returns compressed bytes, the extension and its content; `None` if the view stays raw.
fn pack(bytes: &[u8], extension: Extension, packing: Packing) -> Result<Option<PackedView>, Error> {
    let (packed, stride, mode, filter) = match packing {
        Packing::Raw => return Ok(None),
        _ if bytes.is_empty() => return Ok(None),
        Packing::Values(stride, filter) => {
            (compress_values(bytes, stride, extension)?, stride, "ATTRIBUTES", filter)
        }
        Packing::Triangles(stride) => {
            let index = |b: &[u8]| b.iter().rev().fold(0, |all, b| all << 8 | u32::from(*b));
            let list: Vec<u32> = bytes.chunks_exact(stride).map(index).collect();
            (compress_triangles(&list)?, stride, "TRIANGLES", None)
        }
    };
    let mut said = Map::new();
    said.insert("buffer".into(), 0.into());
    said.insert("byteStride".into(), stride.into());
    said.insert("count".into(), (bytes.len() / stride).into());
    said.insert("mode".into(), mode.into());
    if let Some(filter) = filter {
        said.insert("filter".into(), filter.into());
    }
    Ok(Some((packed, extension.name(), said)))
}

fn accessor_type(components: usize) -> Type {
    match components {
        1 => Type::Scalar,
        2 => Type::Vec2,
        3 => Type::Vec3,
        16 => Type::Mat4,
        _ => Type::Vec4,
    }
}

fn bounds_of<const N: usize>(values: impl Iterator<Item = [f32; N]>) -> ([f32; N], [f32; N]) {
    let mut bounds = ([f32::INFINITY; N], [f32::NEG_INFINITY; N]);
    for value in values {
        for ((low, high), v) in bounds.0.iter_mut().zip(&mut bounds.1).zip(value) {
            (*low, *high) = (low.min(v), high.max(v));
        }
    }
    bounds
}

fn accessor(view: Option<Index<View>>, count: usize, component: ComponentType, kind: Type) -> Accessor {
    Accessor {
        buffer_view: view,
        byte_offset: view.map(|_| USize64(0)),
        count: USize64::from(count),
        component_type: Valid(GenericComponentType(component)),
        extensions: None,
        extras: Default::default(),
        type_: Valid(kind),
        min: None,
        max: None,
        name: None,
        normalized: false,
        sparse: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_gibibytes_are_refused_before_they_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("a.glb");
        let mut document = Document::create(&target, None).unwrap();
        let error = document.one_hot(&vec![None; 40_000], 40_000, true).unwrap_err();
        assert!(matches!(error, Error::Limit { .. }), "{error}");
        assert!(error.to_string().contains(".abc"), "{error}");
        drop(document);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn many_weights_take_space_for_those_that_are_set() {
        let folder = tempfile::tempdir().unwrap();
        let mut document = Document::create(&folder.path().join("a.glb"), None).unwrap();
        let rows: Vec<Option<u32>> = (0..20_000).map(|row: u32| row.checked_sub(1)).collect();
        document.one_hot(&rows, 20_000, false).unwrap();
        let sparse = document.root.accessors[0].sparse.as_ref().unwrap();
        assert_eq!((sparse.count.0, document.root.accessors[0].count.0), (19_999, 400_000_000));
        assert!(document.length <= 8 * 20_000);
    }

    #[test]
    fn deltas_are_sparse_where_it_pays() {
        let folder = tempfile::tempdir().unwrap();
        let mut document = Document::create(&folder.path().join("a.glb"), None).unwrap();
        let mut deltas = vec![[0.0; 3]; 100];
        for (moved, sparse, view) in [(0, false, false), (1, true, false), (100, false, true)] {
            deltas[..moved].fill([1.0, 0.0, 0.0]);
            let accessor = document.deltas(&deltas).unwrap();
            let accessor = &document.root.accessors[accessor.value()];
            assert_eq!((accessor.sparse.is_some(), accessor.buffer_view.is_some()), (sparse, view));
        }
    }
}
