//! Vertex animation textures in OpenVAT's standard encoding, as a mesh whose points and normals move: a proxy
//! mesh, whose second set of uvs names a texel for each vertex; a texture of offsets, in which each frame is
//! one row further down; and a JSON file with the range of the offsets. Textures are in Blender's axes (up is
//! z) and have 16 bits per channel (PNG) or uncompressed floats (EXR). Normals are in the lower half of the
//! texture, in a texture of their own, or absent.
//!
//! After the documentation of OpenVAT, Luke Stilson, 2024 to 2026.

use super::{ReadOptions, gltf};
use meshreel_files::{FileSource, Folder, ReadAt};
use meshreel_scene::{
    Attribute, Channel, Error, Identity, Mesh, Scene, Scope, Source, TimeSampling, Topology,
};
use serde::Deserialize;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The largest width and height of a texture.
const MAX_TEXTURE_SIDE: usize = 16384;
/// The largest size of a texture in memory.
const MAX_TEXTURE_BYTES: u64 = 1 << 30;
/// The largest size of the JSON file.
const MAX_JSON_BYTES: u64 = 1 << 20;

/// A folder's content.
pub struct VertexTextures {
    /// One mesh, one sample per frame, in metres. Samples are numbered from 0 and not in seconds.
    pub scene: Scene,
    /// The largest distance by which the texture's bits can displace a point, in metres.
    pub rounding: f64,
}

/// `true` if a folder holds textures under its own name.
pub fn is_folder(folder: &Path) -> bool {
    folder_files(folder).exists(&format!("{}-remap_info.json", name(folder)))
}

fn folder_files(folder: &Path) -> Folder {
    Folder::containing(&folder.join("files"))
}

/// Returns the name of the files: the folder's without `_vat`.
fn name(folder: &Path) -> String {
    let real = folder.canonicalize();
    let name = real.as_deref().unwrap_or(folder).file_name().unwrap_or_default().to_string_lossy();
    name.strip_suffix("_vat").filter(|short| !short.is_empty()).unwrap_or(&name).to_owned()
}

/// Opens a folder. A missing file is an I/O error; files that do not fit each other are malformed; a texture
/// above 16384 texels on a side, or 1 GiB, is a limit error.
pub fn open(folder: &Path) -> Result<VertexTextures, Error> {
    let (files, name) = (folder_files(folder), name(folder));
    let info = read_info(folder, &files, &format!("{name}-remap_info.json"))?;
    let texture = |end: &str| -> Result<Option<Texture>, Error> {
        let kinds: [(&str, DecodeTexture); 2] = [("png", Texture::png), ("exr", Texture::exr)];
        for (kind, decode) in kinds {
            let file = format!("{name}{end}.{kind}");
            if files.exists(&file) {
                let path = folder.join(&file);
                return decode(&path, read_file(&path, &files, &file, MAX_TEXTURE_BYTES)?).map(Some);
            }
        }
        Ok(None)
    };
    let proxy = folder.join(format!("{name}.glb"));
    let (mut scene, _) = gltf::open(&proxy, &ReadOptions::default())?;
    let [mesh] = &mut scene.meshes[..] else {
        return Err(Error::malformed(&proxy, "the proxy is not one mesh", "meshes"));
    };
    let Some(offsets) = texture("_vat")? else {
        let path = folder.join(format!("{name}_vat.png"));
        return Err(Error::io(&path, std::io::ErrorKind::NotFound.into()));
    };
    let rounding = info.rounding(offsets.is_float);
    let rows = TexelRows::new(&proxy, mesh, &offsets, info.frames)?;
    let normals = match texture("_vnrm")? {
        Some(own) if (own.width, own.height) == (offsets.width, offsets.height) => Some((Arc::new(own), 0)),
        Some(_) => return Err(Error::malformed(&proxy, "textures of two sizes", "normals")),
        None if offsets.height >= 2 * rows.frame_rows => {
            Some((Arc::new(offsets.clone()), offsets.height / 2))
        }
        None => None,
    };
    animate(mesh, Arc::new(rows), info, Arc::new(offsets), normals)?;
    scene.format = "openvat";
    Ok(VertexTextures { scene, rounding })
}

type DecodeTexture = fn(&Path, Vec<u8>) -> Result<Texture, Error>;

/// Replaces a proxy's points and normals by those of all frames.
fn animate(
    mesh: &mut Mesh,
    rows: Arc<TexelRows>,
    info: RemapInfo,
    offsets: Arc<Texture>,
    normals: Option<(Arc<Texture>, usize)>,
) -> Result<(), Error> {
    let mut proxy = Vec::new();
    mesh.positions.read(0, &mut proxy)?;
    mesh.uvs.truncate(1);
    let sampling = Arc::new(TimeSampling::Uniform { start: 0.0, step: 1.0 });
    let frames = info.frames;
    let points = TextureFrames {
        rows: rows.clone(),
        texture: offsets,
        first_row: 0,
        frames,
        value: VertexValue::Points { proxy, info },
    };
    mesh.positions = Channel::new(sampling.clone(), Arc::new(points));
    mesh.topology = if frames > 1 { Topology::Homogeneous } else { Topology::Constant };
    mesh.normals = normals.map(|(texture, first_row)| {
        let values = TextureFrames { rows, texture, first_row, frames, value: VertexValue::Normals };
        let values = Channel::new(sampling, Arc::new(values));
        Attribute { name: "normals".into(), scope: Scope::Vertex, values, indices: None }
    });
    Ok(())
}

fn read_file(path: &Path, files: &Folder, name: &str, most: u64) -> Result<Vec<u8>, Error> {
    let source: FileSource = files.open(name).map_err(|e| Error::io(path, e))?;
    if source.len() > most {
        return Err(Error::limit(path, "bytes", source.len(), most));
    }
    let mut out = vec![0; source.len() as usize];
    source.read_at(0, &mut out).map_err(|e| Error::io(path, e))?;
    Ok(out)
}

/// The range of the offsets, in metres, and the number of frames.
#[derive(Clone, Copy)]
struct RemapInfo {
    low: [f64; 3],
    high: [f64; 3],
    frames: usize,
}

impl RemapInfo {
    /// Returns half of the diagonal of the smallest step.
    fn rounding(&self, is_float: bool) -> f64 {
        let step = if is_float { f64::from(f32::EPSILON) } else { 1.0 / 65535.0 };
        let size: f64 = self.low.iter().zip(&self.high).map(|(low, high)| (high - low).powi(2)).sum();
        size.sqrt() * step / 2.0
    }
}

fn read_info(folder: &Path, files: &Folder, name: &str) -> Result<RemapInfo, Error> {
    #[derive(Deserialize)]
    struct File {
        #[serde(rename = "os-remap")]
        remap: Remap,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "PascalCase")]
    struct Remap {
        min: [f64; 3],
        max: [f64; 3],
        frames: usize,
    }
    let path = folder.join(name);
    let text = read_file(&path, files, name, MAX_JSON_BYTES)?;
    let File { remap } =
        serde_json::from_slice(&text).map_err(|e| Error::malformed(&path, e.to_string(), "its JSON"))?;
    if !(1..=MAX_TEXTURE_SIDE).contains(&remap.frames) {
        return Err(Error::limit(&path, "frames", remap.frames as u64, MAX_TEXTURE_SIDE as u64));
    }
    if !remap.min.iter().chain(&remap.max).all(|v| v.abs() <= f64::from(f32::MAX)) {
        return Err(Error::malformed(&path, "the range is not finite", "os-remap"));
    }
    Ok(RemapInfo { low: remap.min, high: remap.max, frames: remap.frames })
}

/// An image of three numbers per texel, from 0 to 1, in memory.
#[derive(Clone)]
struct Texture {
    path: PathBuf,
    width: usize,
    height: usize,
    /// 16-bit numbers, big-endian, three per texel; of floats, one row of each channel after the other.
    texels: Arc<[u8]>,
    is_float: bool,
}

impl Texture {
    fn new(path: &Path, (width, height): (usize, usize), texels: Vec<u8>, is_float: bool) -> Texture {
        Texture { path: path.into(), width, height, texels: texels.into(), is_float }
    }

    fn check_size(path: &Path, (width, height): (usize, usize)) -> Result<(), Error> {
        let largest = width.max(height);
        if largest > MAX_TEXTURE_SIDE {
            return Err(Error::limit(path, "texels on a side", largest as u64, MAX_TEXTURE_SIDE as u64));
        }
        Ok(())
    }

    fn png(path: &Path, bytes: Vec<u8>) -> Result<Texture, Error> {
        let wrong = |e: png::DecodingError| Error::malformed(path, e.to_string(), "PNG");
        let limits = png::Limits { bytes: MAX_TEXTURE_BYTES as usize };
        let mut reader =
            png::Decoder::new_with_limits(Cursor::new(bytes), limits).read_info().map_err(wrong)?;
        let info = reader.info();
        let size = (info.width as usize, info.height as usize);
        if (info.color_type, info.bit_depth) != (png::ColorType::Rgb, png::BitDepth::Sixteen) {
            return Err(Error::unsupported(path, "only RGB of 16 bits per channel is read"));
        }
        Texture::check_size(path, size)?;
        let length = 6 * size.0 as u64 * size.1 as u64;
        if length > MAX_TEXTURE_BYTES {
            return Err(Error::limit(path, "bytes", length, MAX_TEXTURE_BYTES));
        }
        let mut texels = vec![0; length as usize];
        reader.next_frame(&mut texels).map_err(wrong)?;
        Ok(Texture::new(path, size, texels, false))
    }

    /// Reads scan lines of three channels of floats without compression, whose table of offsets is in order.
    fn exr(path: &Path, bytes: Vec<u8>) -> Result<Texture, Error> {
        let wrong = |what: &str| Error::malformed(path, what, "EXR");
        let word = |at: usize| -> Option<usize> {
            Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?) as usize)
        };
        if word(0) != Some(20_000_630) || word(4) != Some(2) {
            return Err(wrong("does not begin as an EXR of scan lines does"));
        }
        let text = |at: usize| -> Option<(&[u8], usize)> {
            let length = bytes.get(at..)?.iter().take(256).position(|b| *b == 0)?;
            Some((&bytes[at..at + length], at + length + 1))
        };
        let (mut at, mut size) = (8, None);
        loop {
            let (name, next) = text(at).ok_or_else(|| wrong("its head ends early"))?;
            at = next;
            if name.is_empty() {
                break;
            }
            let (_, next) = text(at).ok_or_else(|| wrong("its head ends early"))?;
            let value = word(next).and_then(|length| bytes.get(next + 4..)?.get(..length));
            let value = value.ok_or_else(|| wrong("its head ends early"))?;
            at = next + 4 + value.len();
            match name {
                b"compression" if value != [0] => return Err(Error::unsupported(path, "compressed EXR")),
                b"channels" if value.len() != 3 * 18 + 1 => return Err(wrong("its channels are not three")),
                b"dataWindow" => {
                    let edge = |k: usize| {
                        Some(u32::from_le_bytes(*value.get(4 * k..)?.first_chunk::<4>()?) as usize)
                    };
                    size = edge(2).zip(edge(3)).map(|(x, y)| (x.saturating_add(1), y.saturating_add(1)));
                }
                _ => {}
            }
        }
        let (width, height) = size.ok_or_else(|| wrong("its size is missing"))?;
        Texture::check_size(path, (width, height))?;
        let (row, start) = (12 * width, at + 8 * height);
        if (bytes.len() as u64) < (start + height * (8 + row)) as u64 {
            return Err(wrong("a row is missing"));
        }
        let mut texels = Vec::with_capacity(row * height);
        for y in 0..height {
            let line = start + y * (8 + row) + 8;
            texels.extend(bytes.get(line..line + row).ok_or_else(|| wrong("a row is missing"))?);
        }
        Ok(Texture::new(path, (width, height), texels, true))
    }

    /// Returns the numbers of a texel inside the image.
    fn texel(&self, x: usize, y: usize) -> [f64; 3] {
        let number = |channel: usize| {
            let place = if self.is_float {
                // Channels are in alphabetical order: blue, green, red.
                4 * ((3 * y + 2 - channel) * self.width + x)
            } else {
                2 * (3 * (y * self.width + x) + channel)
            };
            let bytes = self.texels.get(place..).unwrap_or_default();
            match self.is_float {
                true => bytes.first_chunk().map_or(0.0, |b| f64::from(f32::from_le_bytes(*b))),
                false => bytes.first_chunk().map_or(0.0, |b| f64::from(u16::from_be_bytes(*b)) / 65535.0),
            }
        };
        [0, 1, 2].map(number)
    }
}

/// Column and first row of each point.
struct TexelRows {
    texels: Vec<(usize, usize)>,
    /// Rows of all frames of one kind.
    frame_rows: usize,
}

impl TexelRows {
    fn new(path: &Path, mesh: &Mesh, texture: &Texture, frames: usize) -> Result<TexelRows, Error> {
        let Some(uvs) = mesh.uvs.get(1).filter(|uvs| uvs.scope == Scope::Vertex && uvs.indices.is_none())
        else {
            return Err(Error::malformed(path, "the proxy has no second set of uvs", "uvs"));
        };
        let (mut values, mut points) = (Vec::new(), Vec::new());
        uvs.values.read(0, &mut values)?;
        mesh.positions.read(0, &mut points)?;
        let texel = |[u, v]: &[f32; 2]| {
            // The origin of images is at the top.
            let (x, y) =
                (f64::from(*u) * texture.width as f64, (1.0 - f64::from(*v)) * texture.height as f64);
            let is_inside =
                (0.0..texture.width as f64).contains(&x) && (0.0..texture.height as f64).contains(&y);
            let texel = (x as usize, y as usize);
            (is_inside && texel.1 + frames <= texture.height).then_some(texel)
        };
        let texels: Option<Vec<(usize, usize)>> = values.iter().map(texel).collect();
        let Some(texels) = texels.filter(|texels| texels.len() == points.len()) else {
            return Err(Error::malformed(path, "a vertex has no texel", "uvs"));
        };
        let used = texels.iter().map(|(_, row)| row + frames).max().unwrap_or_default();
        Ok(TexelRows { texels, frame_rows: used })
    }
}

/// Values of all points by frame.
struct TextureFrames {
    rows: Arc<TexelRows>,
    texture: Arc<Texture>,
    /// Row of the texture at which these values begin.
    first_row: usize,
    frames: usize,
    value: VertexValue,
}

/// The meaning of texels.
enum VertexValue {
    Points { proxy: Vec<[f32; 3]>, info: RemapInfo },
    Normals,
}

/// From Blender's axes to those of glTF.
fn to_gltf([x, y, z]: [f64; 3]) -> [f64; 3] {
    [x, z, -y]
}

impl Source<[f32; 3]> for TextureFrames {
    fn len(&self) -> usize {
        self.frames
    }

    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }

    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        out.clear();
        if self.first_row + self.rows.frame_rows > self.texture.height {
            return Err(Error::malformed(&self.texture.path, "has fewer rows than frames need", "its end"));
        }
        out.extend(self.rows.texels.iter().enumerate().map(|(point, (x, row))| {
            let share = self.texture.texel(*x, self.first_row + row + i);
            match &self.value {
                VertexValue::Normals => to_gltf(share.map(|v| 2.0 * v - 1.0)).map(|v| v as f32),
                VertexValue::Points { proxy, info: RemapInfo { low, high, .. } } => {
                    let offset = to_gltf([0, 1, 2].map(|k| low[k] + share[k] * (high[k] - low[k])));
                    [0, 1, 2].map(|k| (f64::from(proxy[point][k]) + offset[k]) as f32)
                }
            }
        }));
        Ok(())
    }
}
