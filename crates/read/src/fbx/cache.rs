//! Geometry caches beside a file (`.xml` with `.mc` or `.mcx`, and `.pc2`). The package `ufbx` finds the
//! points of each frame once, and they are read on demand. Only files in the folder of the FBX file are
//! opened.

use meshreel_files::PositionedFile;
use meshreel_files::{Folder, resolve_inside};
use meshreel_scene::{Channel, Error, Identity, Remark, Source, TimeSampling};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Memory limit in bytes for parsing the list of frames.
const MAX_MEMORY_BYTES: usize = 1 << 30;
/// The largest number of open files of a cache.
const MAX_OPEN_FILES: usize = 16;

/// The geometry caches of a file, each loaded once.
pub(super) struct GeometryCaches {
    folder: Folder,
    known: HashMap<String, Option<ufbx::GeometryCacheRoot>>,
    open: Arc<OpenFiles>,
    /// All files opened so far.
    pub files: Vec<PathBuf>,
}

/// Open files by their names in the folder; only the most recently used are kept.
struct OpenFiles {
    folder: Folder,
    open: Mutex<Vec<(Arc<str>, Arc<PositionedFile>)>>,
}

impl OpenFiles {
    fn get(&self, name: &Arc<str>) -> Result<Arc<PositionedFile>, Error> {
        let mut open = self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(at) = open.iter().position(|(own, _)| own == name) {
            let own = open.remove(at);
            open.push(own.clone());
            return Ok(own.1);
        }
        let file = Arc::new(PositionedFile::named(&self.folder, name)?);
        if open.len() >= MAX_OPEN_FILES {
            open.remove(0);
        }
        open.push((name.clone(), file.clone()));
        Ok(file)
    }
}

/// The points of a mesh over time.
struct CachedPoints {
    files: Arc<OpenFiles>,
    frames: Vec<CacheFrame>,
    scale: f64,
}

/// Location and layout of the points of one frame.
struct CacheFrame {
    name: Arc<str>,
    offset: u64,
    count: usize,
    is_double: bool,
    is_big_endian: bool,
}

/// A file in the form in which `ufbx` reads it.
struct CacheStream {
    file: PositionedFile,
    position: u64,
}

impl ufbx::StreamInterface for CacheStream {
    fn read(&mut self, out: &mut [u8]) -> Option<usize> {
        let left = self.file.length().saturating_sub(self.position);
        let count = left.min(out.len() as u64) as usize;
        self.file.read_exact(self.position, &mut out[..count]).ok()?;
        self.position += count as u64;
        Some(count)
    }

    fn skip(&mut self, bytes: usize) -> bool {
        self.position = self.position.saturating_add(bytes as u64);
        self.position <= self.file.length()
    }
}

impl GeometryCaches {
    pub fn new(path: &Path) -> GeometryCaches {
        let folder = Folder::containing(path);
        let open = Arc::new(OpenFiles { folder: folder.clone(), open: Mutex::default() });
        GeometryCaches { folder, known: HashMap::new(), open, files: Vec::new() }
    }

    /// Returns the points of a mesh over time, if a cache has as many as the mesh has vertices.
    pub fn points(
        &mut self,
        parsed: &ufbx::Scene,
        mesh: &ufbx::Mesh,
        path: &str,
        remarks: &mut Vec<Remark>,
    ) -> Option<Channel<[f32; 3]>> {
        for deformer in &mesh.cache_deformers {
            let Some(file) = &deformer.file else { continue };
            let Some(name) = self.name(file) else {
                let what = format!(
                    "its geometry cache '{}' is not in the folder of the file; put it there",
                    display_name(file)
                );
                remarks.push(Remark::new(path, what));
                continue;
            };
            match self.deformer_points(parsed, &name, deformer, mesh.vertices.len()) {
                Ok(points) => return Some(points),
                Err(what) => {
                    remarks.push(Remark::new(path, format!("its geometry cache '{name}' {what}; left out")))
                }
            }
        }
        None
    }

    /// Returns the name of a cache's file relative to the folder: as the FBX file states it, or else its last
    /// part.
    fn name(&self, file: &ufbx::CacheFile) -> Option<String> {
        let said = [&file.relative_filename, &file.filename, &file.absolute_filename];
        let last = said.iter().filter_map(|name| name.rsplit(['/', '\\']).next());
        let all = said.iter().map(|name| &***name).chain(last);
        all.filter_map(|name| resolve_inside("", name).ok()).find(|name| self.folder.exists(name))
    }

    fn deformer_points(
        &mut self,
        parsed: &ufbx::Scene,
        name: &str,
        deformer: &ufbx::CacheDeformer,
        vertices: usize,
    ) -> Result<Channel<[f32; 3]>, String> {
        if !self.known.contains_key(name) {
            let loaded = self.load(parsed, name);
            self.known.insert(name.to_owned(), loaded);
        }
        let Some(Some(cache)) = self.known.get(name) else {
            return Err("cannot be read".into());
        };
        // A single channel is used whatever its name.
        let mut channels = cache.channels.into_iter();
        let channel = match cache.channels.len() {
            1 => channels.next(),
            _ => channels.find(|channel| *channel.name == *deformer.channel),
        };
        let is_points = |channel: &&ufbx::CacheChannel| {
            matches!(
                channel.interpretation,
                ufbx::CacheInterpretation::VertexPosition | ufbx::CacheInterpretation::Points
            )
        };
        let Some(channel) = channel.filter(is_points) else {
            return Err(format!("has no positions of the name '{}'", &*deformer.channel));
        };
        let mut frames = Vec::with_capacity(channel.frames.len());
        let mut times: Vec<f64> = Vec::with_capacity(channel.frames.len());
        let mut names: HashMap<String, Arc<str>> = HashMap::new();
        for frame in &channel.frames {
            let is_double = match frame.data_format {
                ufbx::CacheDataFormat::Vec3Float => false,
                ufbx::CacheDataFormat::Vec3Double => true,
                _ => return Err("has positions that are no vectors".into()),
            };
            if frame.data_count as usize != vertices {
                return Err(format!("has {} points of a mesh of {vertices}", frame.data_count));
            }
            if !frame.time.is_finite() || times.last().is_some_and(|last| *last >= frame.time) {
                return Err("has frames that are not in order".into());
            }
            let Ok(inner) = resolve_inside("", &frame.filename) else {
                return Err("has frames outside of the folder".into());
            };
            let name = names.entry(frame.filename.to_string()).or_insert_with(|| inner.into()).clone();
            times.push(frame.time);
            let is_big = frame.data_encoding == ufbx::CacheDataEncoding::BigEndian;
            frames.push(CacheFrame {
                name,
                offset: frame.data_offset,
                count: vertices,
                is_double,
                is_big_endian: is_big,
            });
        }
        if frames.is_empty() {
            return Err("has no frames".into());
        }
        let files = self.open.clone();
        let points = CachedPoints { files, frames, scale: channel.scale_factor };
        Ok(Channel::new(Arc::new(sampling(times)), Arc::new(points)))
    }

    /// Finds all frames of a cache; its name and the names of the files it opens are relative to the folder.
    fn load(&mut self, parsed: &ufbx::Scene, name: &str) -> Option<ufbx::GeometryCacheRoot> {
        let mut opened = Vec::new();
        let folder = self.folder.clone();
        let mut open = |name: &str, _: &ufbx::OpenFileInfo| -> Option<ufbx::Stream> {
            if !folder.exists(name) {
                return None;
            }
            let file = PositionedFile::named(&folder, name).ok()?;
            opened.push(file.path().to_path_buf());
            Some(ufbx::Stream::Box(Box::new(CacheStream { file, position: 0 })))
        };
        let memory = || ufbx::AllocatorOpts { memory_limit: MAX_MEMORY_BYTES, ..Default::default() };
        let options = ufbx::GeometryCacheOpts {
            temp_allocator: memory(),
            result_allocator: memory(),
            open_file_cb: ufbx::OpenFileCb::Mut(&mut open),
            frames_per_second: parsed.settings.frames_per_second,
            use_scale_factor: true,
            scale_factor: parsed.metadata.geometry_scale,
            ..Default::default()
        };
        let loaded = ufbx::load_geometry_cache(name, options).ok();
        opened.sort();
        opened.dedup();
        self.files.extend(opened);
        loaded
    }
}

fn display_name(file: &ufbx::CacheFile) -> String {
    let name = [&file.relative_filename, &file.filename].into_iter().find(|name| !name.is_empty());
    name.map(|name| name.chars().take(80).collect()).unwrap_or_default()
}

/// Returns uniform sampling if the times are evenly spaced up to rounding.
fn sampling(times: Vec<f64>) -> TimeSampling {
    if let [start, .., end] = times[..] {
        let step = (end - start) / (times.len() - 1) as f64;
        let even = times.iter().enumerate().all(|(i, time)| (start + i as f64 * step - time).abs() < 1e-9);
        if even && step > 0.0 {
            return TimeSampling::Uniform { start, step };
        }
    }
    TimeSampling::Acyclic { times }
}

impl Source<[f32; 3]> for CachedPoints {
    fn len(&self) -> usize {
        self.frames.len()
    }

    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }

    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        out.clear();
        let Some(frame) = self.frames.get(i) else {
            return Ok(());
        };
        let file = self.files.get(&frame.name)?;
        let size = if frame.is_double { 8 } else { 4 };
        let bytes = (frame.count * 3 * size) as u64;
        if frame.offset.checked_add(bytes).is_none_or(|end| end > file.length()) {
            let what = "a frame of a geometry cache is cut short; copy or export it anew";
            return Err(Error::malformed(file.path(), what, format!("byte {}", frame.offset)));
        }
        let mut data = vec![0; bytes as usize];
        file.read_exact(frame.offset, &mut data)?;
        let number = |bytes: &[u8]| -> f64 {
            let mut own = [0; 8];
            own[..size].copy_from_slice(bytes);
            if frame.is_big_endian {
                own[..size].reverse();
            }
            match frame.is_double {
                true => f64::from_le_bytes(own),
                false => f64::from(f32::from_le_bytes([own[0], own[1], own[2], own[3]])),
            }
        };
        let point = |point: &[u8]| -> [f32; 3] {
            let coordinate = |k: usize| (self.scale * number(&point[k * size..(k + 1) * size])) as f32;
            std::array::from_fn(coordinate)
        };
        out.extend(data.chunks_exact(3 * size).map(point));
        Ok(())
    }
}
