//! The container (`.glb` or `.gltf`), the parts of its JSON that are used, and the buffers it refers to.

use super::meshopt::CompressedView;
use meshreel_files::Folder;
use meshreel_files::PositionedFile;
use meshreel_scene::Error;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Upper limit for the size of the JSON in bytes.
const MAX_JSON_BYTES: u64 = 1 << 30;
/// Upper limit for the objects in the JSON: one takes some hundred bytes of memory but only two of the file.
const MAX_OBJECTS: usize = 4_000_000;
/// Upper limit for the buffers, each of which may be a file.
const MAX_BUFFERS: usize = 4096;

/// The parts of the file's JSON that are used. Indices into other lists are not checked yet.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Root {
    pub asset: Asset,
    pub scene: Option<usize>,
    pub scenes: Vec<SceneJson>,
    pub nodes: Vec<NodeJson>,
    pub meshes: Vec<MeshJson>,
    pub skins: Vec<SkinJson>,
    pub animations: Vec<AnimationJson>,
    pub accessors: Vec<AccessorJson>,
    pub buffer_views: Vec<ViewJson>,
    pub buffers: Vec<BufferJson>,
    pub materials: Vec<MaterialJson>,
    pub cameras: Vec<CameraJson>,
    pub extensions_used: Vec<String>,
    pub extensions_required: Vec<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Asset {
    pub version: String,
    pub generator: Option<String>,
    pub copyright: Option<String>,
}

impl Asset {
    fn check(&self, path: &Path) -> Result<(), Error> {
        if self.version.starts_with("2.") {
            return Ok(());
        }
        let version = self.version.escape_debug();
        Err(Error::unsupported(path, format!("glTF version '{version}'; only 2 is read, export it anew")))
    }
}

/// The part of the JSON that files of all versions share.
#[derive(Deserialize)]
struct Versioned {
    asset: Asset,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct MaterialJson {
    pub name: Option<String>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub(super) struct CameraJson {
    pub perspective: Option<PerspectiveJson>,
    pub orthographic: Option<OrthographicJson>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PerspectiveJson {
    pub aspect_ratio: Option<f64>,
    /// In radians.
    pub yfov: f64,
    pub znear: f64,
    pub zfar: Option<f64>,
}

#[derive(Deserialize, Default, Clone)]
#[serde(default)]
pub(super) struct OrthographicJson {
    pub xmag: f64,
    pub ymag: f64,
    pub znear: f64,
    pub zfar: f64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct SceneJson {
    pub nodes: Vec<usize>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct NodeJson {
    pub name: Option<String>,
    pub children: Vec<usize>,
    pub matrix: Option<[f64; 16]>,
    pub translation: Option<[f64; 3]>,
    pub rotation: Option<[f64; 4]>,
    pub scale: Option<[f64; 3]>,
    pub mesh: Option<usize>,
    pub skin: Option<usize>,
    pub weights: Option<Vec<f64>>,
    pub camera: Option<usize>,
    pub extensions: NodeExtensions,
    pub extras: serde_json::Value,
}

/// The extensions of a node.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct NodeExtensions {
    #[serde(rename = "EXT_mesh_gpu_instancing")]
    pub instancing: Option<InstancingJson>,
    #[serde(rename = "KHR_node_visibility")]
    pub visibility: Option<VisibilityJson>,
    /// Unsupported extensions, by name.
    #[serde(flatten)]
    pub others: BTreeMap<Box<str>, IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct InstancingJson {
    pub attributes: Accessors,
}

#[derive(Deserialize)]
#[serde(default)]
pub(super) struct VisibilityJson {
    pub visible: bool,
}

impl Default for VisibilityJson {
    fn default() -> VisibilityJson {
        VisibilityJson { visible: true }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct MeshJson {
    pub name: Option<String>,
    pub primitives: Vec<PrimitiveJson>,
    pub weights: Vec<f64>,
    pub extras: serde_json::Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct PrimitiveJson {
    pub attributes: Accessors,
    pub indices: Option<usize>,
    pub material: Option<usize>,
    pub mode: Option<u64>,
    pub targets: Vec<Accessors>,
}

/// Accessor numbers by attribute name, sorted by name. A file may have hundreds of thousands of these with
/// one entry each, for which a tree would take several times the memory.
#[derive(Default)]
pub(super) struct Accessors(Vec<(Box<str>, usize)>);

impl Accessors {
    /// Returns the accessor of the attribute with this name.
    pub fn get(&self, name: &str) -> Option<usize> {
        let at = self.0.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        Some(self.0[at].1)
    }

    /// Returns all attributes as name and accessor.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(name, accessor)| (&**name, *accessor))
    }
}

impl<'de> Deserialize<'de> for Accessors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Accessors, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Accessors;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("numbers of accessors by name")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Accessors, A::Error> {
                let mut list = Vec::new();
                while let Some(entry) = map.next_entry::<Box<str>, usize>()? {
                    list.push(entry);
                }
                // The last of two entries with the same name counts, as everywhere in JSON.
                list.reverse();
                list.sort_by(|a, b| a.0.cmp(&b.0));
                list.dedup_by(|later, kept| later.0 == kept.0);
                list.shrink_to_fit();
                Ok(Accessors(list))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SkinJson {
    pub name: Option<String>,
    pub joints: Vec<usize>,
    pub inverse_bind_matrices: Option<usize>,
    pub extras: serde_json::Value,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct AnimationJson {
    pub name: Option<String>,
    pub channels: Vec<ChannelJson>,
    pub samplers: Vec<SamplerJson>,
    pub extras: serde_json::Value,
}

#[derive(Deserialize)]
pub(super) struct ChannelJson {
    pub sampler: usize,
    pub target: TargetJson,
}

#[derive(Deserialize)]
pub(super) struct TargetJson {
    pub node: Option<usize>,
    pub path: String,
    #[serde(default)]
    extensions: TargetExtensions,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TargetExtensions {
    #[serde(rename = "KHR_animation_pointer")]
    pointer: Option<PointerJson>,
}

#[derive(Deserialize)]
struct PointerJson {
    pointer: String,
}

impl TargetJson {
    /// Returns the JSON pointer to the target, if there is one.
    pub fn pointer(&self) -> Option<&str> {
        self.extensions.pointer.as_ref().map(|own| &*own.pointer)
    }
}

#[derive(Deserialize)]
pub(super) struct SamplerJson {
    pub input: usize,
    pub output: usize,
    pub interpolation: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AccessorJson {
    pub buffer_view: Option<usize>,
    #[serde(default)]
    pub byte_offset: u64,
    pub component_type: u32,
    #[serde(default)]
    pub normalized: bool,
    pub count: u64,
    #[serde(rename = "type")]
    pub kind: String,
    pub sparse: Option<SparseJson>,
}

#[derive(Deserialize)]
pub(super) struct SparseJson {
    pub count: u64,
    pub indices: SparsePart,
    pub values: SparsePart,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparsePart {
    pub buffer_view: usize,
    #[serde(default)]
    pub byte_offset: u64,
    /// The type of the sparse indices; sparse values have none.
    #[serde(default)]
    pub component_type: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ViewJson {
    pub buffer: usize,
    #[serde(default)]
    pub byte_offset: u64,
    pub byte_length: u64,
    pub byte_stride: Option<u64>,
    #[serde(default)]
    extensions: ViewExtensions,
}

/// The compression extension of a view, which has two names.
#[derive(Deserialize, Default)]
#[serde(default)]
struct ViewExtensions {
    #[serde(rename = "EXT_meshopt_compression")]
    ext: Option<CompressedView>,
    #[serde(rename = "KHR_meshopt_compression")]
    khr: Option<CompressedView>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BufferJson {
    pub uri: Option<String>,
    pub byte_length: u64,
}

/// An open file: its JSON, and its buffers, which are read on demand.
pub(super) struct Document {
    pub path: PathBuf,
    pub root: Root,
    buffers: Vec<Buffer>,
}

enum Buffer {
    /// A part of a file.
    File { file: Arc<PositionedFile>, start: u64 },
    /// The contents of a data URI.
    Memory(Vec<u8>),
    /// A compressed buffer view, decompressed on first use.
    Compressed(CompressedView, OnceLock<Vec<u8>>),
    /// A buffer that cannot be read, and the reason.
    Missing(String),
}

/// The extensions that a file may require: each is supported, or affects nothing that is read here.
const KNOWN_EXTENSIONS: [&str; 12] = [
    "KHR_mesh_quantization",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    "KHR_materials_",
    "KHR_texture_",
    "KHR_lights_punctual",
    "KHR_xmp",
    "EXT_texture_",
    "MSFT_texture_",
    "KHR_animation_pointer",
    "KHR_node_visibility",
    "EXT_mesh_gpu_instancing",
];

/// `true` if the extension is supported or affects nothing that is read here.
pub(super) fn is_known(extension: &str) -> bool {
    KNOWN_EXTENSIONS.iter().any(|known| extension.starts_with(known))
}

impl Document {
    pub fn open(path: &Path) -> Result<Document, Error> {
        let file = Arc::new(PositionedFile::open(path)?);
        let (json, binary) = chunks(&file)?;
        let objects = json.iter().filter(|b| **b == b'{').count();
        if objects > MAX_OBJECTS {
            let what = "objects in the JSON of a glTF file";
            return Err(Error::limit(path, what, objects as u64, MAX_OBJECTS as u64));
        }
        let root: Root = serde_json::from_slice(&json).map_err(|error| {
            // Version 1 has maps where version 2 has lists.
            let own = serde_json::from_slice(&json).map(|Versioned { asset }| asset.check(path));
            let malformed = || Error::malformed(path, format!("its JSON: {error}"), "the JSON");
            own.ok().and_then(Result::err).unwrap_or_else(malformed)
        })?;
        drop(json);
        root.asset.check(path)?;
        if let Some(extension) = root.extensions_required.iter().find(|e| !is_known(e)) {
            let what = format!(
                "the file needs the extension {}; export it without compression and such extensions",
                extension.escape_debug()
            );
            return Err(Error::unsupported(path, what));
        }
        if root.buffers.len() > MAX_BUFFERS {
            let asked = root.buffers.len() as u64;
            return Err(Error::limit(path, "buffers", asked, MAX_BUFFERS as u64));
        }
        let mut root = root;
        let mut buffers = Vec::with_capacity(root.buffers.len());
        for (i, buffer) in root.buffers.iter_mut().enumerate() {
            let (data, length) = match buffer.uri.take() {
                Some(uri) => resource(path, &uri, i)?,
                None => match (binary, i) {
                    (Some((start, length)), 0) => {
                        let file = file.clone();
                        (Buffer::File { file, start }, length)
                    }
                    _ => (Buffer::Missing("has no data".into()), u64::MAX),
                },
            };
            if buffer.byte_length > length {
                let what = format!("cut short: {} bytes of {length}", buffer.byte_length);
                return Err(Error::malformed(path, what, format!("buffer {i}")));
            }
            buffers.push(data);
        }
        let mut document = Document { path: path.into(), root, buffers };
        document.take_compressed()?;
        Ok(document)
    }

    /// Gives each compressed view a buffer of its own.
    fn take_compressed(&mut self) -> Result<(), Error> {
        let Root { buffer_views, buffers, .. } = &mut self.root;
        // Compressed data cannot itself be in a compressed view.
        let plain = buffers.len();
        for (i, view) in buffer_views.iter_mut().enumerate() {
            let extensions = std::mem::take(&mut view.extensions);
            let Some(compressed) = extensions.khr.or(extensions.ext) else { continue };
            let wrong =
                |what: &str| Error::malformed(&self.path, what, format!("compressed buffer view {i}"));
            let bytes = compressed.check().map_err(wrong)?;
            let end = compressed.byte_offset.checked_add(compressed.byte_length);
            let own = buffers[..plain].get(compressed.buffer);
            let within = own.zip(end).is_some_and(|(own, end)| end <= own.byte_length);
            if !within || bytes != view.byte_length {
                return Err(wrong("it does not fit its buffer, or what it stands for"));
            }
            (view.buffer, view.byte_offset) = (buffers.len(), 0);
            buffers.push(BufferJson { uri: None, byte_length: bytes });
            self.buffers.push(Buffer::Compressed(compressed, OnceLock::new()));
        }
        Ok(())
    }

    /// Returns the files that hold the document's external buffers.
    pub fn buffer_files(&self) -> Vec<PathBuf> {
        let beside = self.buffers.iter().filter_map(|buffer| match buffer {
            Buffer::File { file, .. } if file.path() != self.path => Some(file.path().to_path_buf()),
            _ => None,
        });
        beside.collect()
    }

    /// Fills `out` with a buffer's bytes from `offset` on. The caller has checked the range against
    /// `byteLength`.
    pub fn read(&self, buffer: usize, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let wrong = |what: &str| Error::malformed(&self.path, what, format!("buffer {buffer}"));
        let copy = |bytes: &[u8], out: &mut [u8]| {
            let from = usize::try_from(offset).unwrap_or(usize::MAX);
            let bytes = bytes.get(from..).and_then(|rest| rest.get(..out.len()));
            out.copy_from_slice(bytes.ok_or_else(|| wrong("is too short"))?);
            Ok(())
        };
        match self.buffers.get(buffer) {
            Some(Buffer::File { file, start }) => Ok(file.read_exact(start + offset, out)?),
            Some(Buffer::Memory(bytes)) => copy(bytes, out),
            Some(Buffer::Compressed(compressed, bytes)) => match bytes.get() {
                Some(bytes) => copy(bytes, out),
                None => {
                    let new = self.decompressed(compressed)?;
                    copy(bytes.get_or_init(|| new), out)
                }
            },
            Some(Buffer::Missing(why)) => Err(wrong(why)),
            None => Err(wrong("is not there")),
        }
    }

    /// Returns the decompressed bytes of a compressed view.
    fn decompressed(&self, compressed: &CompressedView) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; compressed.byte_length as usize];
        self.read(compressed.buffer, compressed.byte_offset, &mut bytes)?;
        let at = format!("byte {} of buffer {}", compressed.byte_offset, compressed.buffer);
        compressed.decode(&bytes).map_err(|what| self.malformed(format!("compressed data: {what}"), at))
    }

    /// Makes an error about this file.
    pub fn malformed(&self, what: impl Into<String>, at: impl Into<String>) -> Error {
        Error::malformed(&self.path, what, at)
    }
}

/// Start and length of the binary chunk.
type Binary = Option<(u64, u64)>;

/// Reads the JSON, and finds the binary chunk.
fn chunks(file: &PositionedFile) -> Result<(Vec<u8>, Binary), Error> {
    let path = file.path();
    let read = |start: u64, length: u64| -> Result<Vec<u8>, Error> {
        if length > MAX_JSON_BYTES {
            return Err(Error::limit(path, "bytes of JSON", length, MAX_JSON_BYTES));
        }
        let mut bytes = vec![0; length as usize];
        file.read_exact(start, &mut bytes)?;
        Ok(bytes)
    };
    let mut head = [0; 20];
    let there = file.length().min(20) as usize;
    file.read_exact(0, &mut head[..there])?;
    if !head.starts_with(b"glTF") {
        return Ok((read(0, file.length())?, None));
    }
    let word =
        |at: usize| u64::from(u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    let wrong = |what: &str, at: u64| Err(Error::malformed(path, what, format!("byte {at}")));
    if word(4) != 2 {
        let what = format!("binary glTF version {}; only 2 is read", word(4));
        return Err(Error::unsupported(path, what));
    }
    let total = word(8);
    if there < 20 || total > file.length() || total < 20 {
        return wrong("cut short", there as u64);
    }
    let length = word(12);
    if &head[16..20] != b"JSON" || 20 + length > total {
        return wrong("its first chunk is not the JSON", 12);
    }
    let json = read(20, length)?;
    let at = 20 + length;
    if total - at < 8 {
        return Ok((json, None));
    }
    let second = read(at, 8)?;
    let length = u64::from(u32::from_le_bytes([second[0], second[1], second[2], second[3]]));
    if &second[4..] != b"BIN\0" {
        return Ok((json, None));
    }
    match at + 8 + length <= total {
        true => Ok((json, Some((at + 8, length)))),
        false => wrong("the binary chunk is cut short", at),
    }
}

/// Opens the buffer that a URI refers to; returns it and its length.
fn resource(path: &Path, uri: &str, buffer: usize) -> Result<(Buffer, u64), Error> {
    let at = format!("buffer {buffer}");
    if let Some(data) = uri.strip_prefix("data:") {
        let Some((_, text)) = data.split_once(";base64,") else {
            return Err(Error::malformed(path, "a data URI that is not base64", at));
        };
        let Some(bytes) = base64(text.as_bytes()) else {
            return Err(Error::malformed(path, "a data URI that is not base64", at));
        };
        let length = bytes.len() as u64;
        return Ok((Buffer::Memory(bytes), length));
    }
    let Some(name) = unescape(uri) else {
        return Err(Error::malformed(path, "a URI that is none", at));
    };
    let folder = Folder::containing(path);
    if folder.path(&name).is_err() {
        let what = format!(
            "{at} is '{}'; only files beside the .gltf or in folders there are read: put it there, or pack all into a .glb",
            abbreviated(&name)
        );
        return Err(Error::unsupported(path, what));
    }
    let file = Arc::new(PositionedFile::named(&folder, &name)?);
    let length = file.length();
    Ok((Buffer::File { file, start: 0 }, length))
}

/// Returns the start of a name, for messages.
pub(super) fn abbreviated(name: &str) -> String {
    name.chars().take(80).collect::<String>().escape_debug().to_string()
}

/// Decodes `%20` and the like in a URI.
fn unescape(uri: &str) -> Option<String> {
    let mut out = Vec::with_capacity(uri.len());
    let mut bytes = uri.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let digit = |b: Option<u8>| char::from(b?).to_digit(16);
            out.push((digit(bytes.next())? * 16 + digit(bytes.next())?) as u8);
        } else {
            out.push(byte);
        }
    }
    String::from_utf8(out).ok()
}

fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let end = text.iter().rposition(|b| *b != b'=').map_or(0, |i| i + 1);
    let mut out = Vec::with_capacity(end / 4 * 3 + 3);
    let (mut bits, mut held) = (0u32, 0);
    for &byte in &text[..end] {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_every_length() {
        for (text, bytes) in
            [("", &b""[..]), ("TQ==", b"M"), ("TWE=", b"Ma"), ("TWFu", b"Man"), ("TWFuTQ", b"ManM")]
        {
            assert_eq!(base64(text.as_bytes()).as_deref(), Some(bytes), "{text}");
        }
        assert_eq!(base64(b"T*=="), None);
    }

    #[test]
    fn uris_are_unescaped() {
        assert_eq!(unescape("a%20b.bin").as_deref(), Some("a b.bin"));
        assert_eq!(unescape("%e2%82%ac").as_deref(), Some("€"));
        for bad in ["%", "%2", "%zz", "%ff"] {
            assert_eq!(unescape(bad), None, "{bad}");
        }
    }
}
