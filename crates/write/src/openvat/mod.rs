//! OpenVAT: vertex animation textures, which shaders of game engines read. Beside a still mesh, the proxy, a
//! folder has a texture in which each vertex has a column, or a part of one, and each frame a row: the offset
//! of the vertex from its place in the proxy, from 0 to 1 of a range that a JSON file names. Normals are
//! below in the same texture or in one of their own. Textures are in Blender's axes (up is z), the proxy in
//! those of glTF.
//!
//! ```text
//! NAME_vat/NAME.glb               the proxy; its second set of uvs says where in the texture a vertex is
//!          NAME_vat.png           offsets; in the lower half normals, if packed
//!          NAME_vnrm.png          normals, if separate
//!          NAME-remap_info.json   {"os-remap": {"Min", "Max", "Frames"}, "animations": {…}}
//! ```
//!
//! After the documentation of OpenVAT, Luke Stilson, 2024 to 2026.

mod combined;
mod image;
mod layout;
mod proxy;
mod texture;

use super::glb::metres;
use super::temporary::{Temporary, path_in_folder};
use combined::CombinedMesh;
use glam::DVec3;
pub use image::ImageFormat;
use layout::Layout;
pub use layout::MAX_TEXELS;
use meshreel_scene::sample::frame_ranges;
use meshreel_scene::{Error, Remark, Scene, TIME_TOLERANCE};
use serde::Serialize;
use serde::ser::SerializeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use texture::{Remap, Texture, TextureErrors, to_blender};

/// The place of normals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NormalTarget {
    /// In the lower half of the texture.
    #[default]
    Packed,
    /// In a texture of their own.
    Separate,
    /// Not written.
    None,
}

impl FromStr for NormalTarget {
    type Err = String;
    fn from_str(text: &str) -> Result<NormalTarget, String> {
        match text {
            "packed" => Ok(NormalTarget::Packed),
            "separate" => Ok(NormalTarget::Separate),
            "none" => Ok(NormalTarget::None),
            _ => Err(format!("'{text}' is no place for normals: give one of: packed, separate, none")),
        }
    }
}

/// The tolerance of positions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PositionTolerance {
    /// A length in the scene's unit.
    Length(f64),
    /// A fraction of the diagonal of the largest bounds of everything in any one frame.
    DiagonalFraction(f64),
}

/// The options of an export.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExportOptions {
    /// The place of normals.
    pub normals: NormalTarget,
    /// The image format of textures.
    pub image: ImageFormat,
    /// An error above this tolerance fails the export.
    pub tolerance: Option<PositionTolerance>,
}

/// The result of an export.
#[derive(Debug, Clone, Serialize)]
pub struct ExportReport {
    /// Width of the texture in texels.
    pub width: usize,
    /// Height of the texture in texels.
    pub height: usize,
    /// Rows per frame.
    pub wraps: usize,
    /// Vertices of the proxy.
    pub vertices: usize,
    /// The largest distance of a vertex, as read from the texture, from its reference, in the scene's unit.
    /// Hidden meshes do not count.
    pub error: f64,
    /// Path of the mesh with the largest error.
    pub error_mesh: String,
    /// Frame of the largest error.
    pub error_frame: usize,
    /// The largest angle between a normal, as read from the texture, and its reference, in degrees; `None`
    /// without normals.
    pub normal_error: Option<f64>,
    /// Total size of all files in bytes.
    pub bytes: u64,
    /// Remarks on what such files cannot hold.
    #[serde(skip)]
    pub remarks: Vec<Remark>,
}

/// Writes the scene at `times` into `folder`, which is created if needed, under the folder's name without a
/// trailing `_vat`. Files appear only when all of them are complete. `progress` is called with the frames
/// done and their number. Memory: one frame and 64 MiB. Changing faces, an empty scene and an error above the
/// tolerance are unsupported; textures above 16384 texels on a side are a limit error.
pub fn write(
    folder: &Path,
    scene: &Scene,
    times: &[f64],
    options: &ExportOptions,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<ExportReport, Error> {
    if times.is_empty() {
        return Err(Error::misuse("no frames to write"));
    }
    let placed = scene.expand()?;
    let metres = metres(scene.unit);
    let mut combined = CombinedMesh::new(folder, scene, &placed, times, metres)?;
    if combined.placed_meshes.is_empty() {
        let what = "there is no mesh that is ever shown, and textures of vertices hold nothing else; give .abc or .glb";
        return Err(Error::unsupported(folder, what));
    }
    let packed = options.normals == NormalTarget::Packed;
    let layout = Layout::new(folder, combined.count(), times.len(), packed)?;
    combined.evaluate_rest()?;
    let places: Vec<[f32; 3]> = combined.positions.iter().map(|p| p.as_vec3().to_array()).collect();
    let made = !folder.is_dir();
    meshreel_files::create_folder(folder).map_err(|e| Error::io(folder, e))?;
    let written = Export { folder, times, options, layout, proxy_positions: &places, metres }
        .write_files(&mut combined, progress);
    if written.is_err() && made {
        // The folder stays if it has got other files meanwhile.
        let _ = std::fs::remove_dir(folder);
    }
    written
}

/// The inputs of all files of an export.
struct Export<'a> {
    folder: &'a Path,
    times: &'a [f64],
    options: &'a ExportOptions,
    layout: Layout,
    /// Positions of the proxy's vertices.
    proxy_positions: &'a [[f32; 3]],
    metres: f64,
}

impl Export<'_> {
    fn write_files(
        &self,
        combined: &mut CombinedMesh<'_>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<ExportReport, Error> {
        let name = self.name();
        let extension = self.options.image.extension();
        let file = |end: &str| path_in_folder(self.folder, &format!("{name}{end}"));
        let proxy = proxy::write(
            &file(".glb")?,
            &format!("{name}_vat"),
            combined,
            &self.layout,
            self.proxy_positions,
        )?;
        let textures = [
            Some(Temporary::create(&file(&format!("_vat.{extension}"))?)?),
            match self.options.normals {
                NormalTarget::Separate => Some(Temporary::create(&file(&format!("_vnrm.{extension}"))?)?),
                NormalTarget::Packed | NormalTarget::None => None,
            },
        ];
        let texture = |(file, normals, remap): (_, _, _)| Texture {
            file,
            image: self.options.image,
            layout: &self.layout,
            normals,
            remap,
            proxy: self.proxy_positions,
        };
        let files = || {
            textures.iter().zip([false, true]).filter_map(|(file, normals)| Some((file.as_ref()?, normals)))
        };
        let none = Remap { low: DVec3::ZERO, high: DVec3::ZERO };
        let work: usize =
            files().map(|(file, normals)| 2 * texture((file, normals, &none)).evaluation_count()).sum();
        let (mut done, total) = (0, self.times.len() + work);
        let mut step = || {
            done += 1;
            progress(done, total);
        };
        let (remap, diagonal) = self.bounds(combined, &mut step)?;
        let mut errors = TextureErrors::default();
        for (file, normals) in files() {
            let texture = texture((file, normals, &remap));
            texture.write(combined, &mut step)?;
            texture.measure(combined, &mut step, &mut errors)?;
        }
        self.check(&errors, diagonal)?;
        let info = Temporary::create(&file("-remap_info.json")?)?;
        let text = self.info(combined.scene, &name, &remap, combined)?;
        info.file().write_all(text.as_bytes()).map_err(|e| Error::io(info.target(), e))?;
        self.publish(proxy, textures, info, combined, &errors)
    }

    /// Publishes all files, last the one that readers need first.
    fn publish(
        &self,
        proxy: super::glb::buffer::Document,
        textures: [Option<Temporary>; 2],
        info: Temporary,
        combined: &CombinedMesh<'_>,
        errors: &TextureErrors,
    ) -> Result<ExportReport, Error> {
        let mut targets: Vec<PathBuf> = vec![proxy.target().into(), info.target().into()];
        proxy.finish()?;
        for texture in textures.into_iter().flatten() {
            targets.push(texture.target().into());
            texture.publish()?;
        }
        info.publish()?;
        Ok(ExportReport {
            width: self.layout.width,
            height: self.layout.height,
            wraps: self.layout.wraps,
            vertices: self.layout.vertices,
            error: errors.position.0 / self.metres,
            error_mesh: combined.path(errors.position.1).into(),
            error_frame: errors.position.2,
            normal_error: (self.options.normals != NormalTarget::None).then_some(errors.normal),
            bytes: targets.iter().map(|path| meshreel_files::length(path).unwrap_or_default()).sum(),
            remarks: combined.remarks.iter().cloned().collect(),
        })
    }

    /// Returns the folder's name without `_vat`, which OpenVAT's own folders end with.
    fn name(&self) -> String {
        let real = self.folder.canonicalize();
        let name = real.as_deref().unwrap_or(self.folder).file_name();
        let name = name.map_or("mesh".into(), |name| name.to_string_lossy().into_owned());
        match name.strip_suffix("_vat") {
            Some(short) if !short.is_empty() => short.into(),
            _ => name,
        }
    }

    /// Returns the range of offsets of vertices from the proxy, and the diagonal of the largest bounds of
    /// everything in any one frame, in metres.
    fn bounds(&self, combined: &mut CombinedMesh<'_>, done: &mut dyn FnMut()) -> Result<(Remap, f64), Error> {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let mut diagonal = 0.0f64;
        for frame in 0..self.times.len() {
            combined.evaluate(frame)?;
            let (mut first, mut last) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            for (p, base) in combined.positions.iter().zip(self.proxy_positions) {
                let offset = to_blender(*p - DVec3::from_array(base.map(f64::from)));
                (low, high) = (low.min(offset), high.max(offset));
                (first, last) = (first.min(*p), last.max(*p));
            }
            if first.x <= last.x {
                diagonal = diagonal.max(first.distance(last));
            }
            for i in (0..combined.placed_meshes.len()).filter(|&i| !combined.placed_meshes[i].visible) {
                let what = "it is hidden at times: its vertices lie in one point then, and from the frame before it shrinks to that";
                let remark = Remark::new(combined.path(i), what);
                combined.remarks.insert(remark);
            }
            done();
        }
        let remap = Remap::around(low, high);
        if !(remap.low.is_finite() && remap.high.is_finite()) {
            let what = "vertices go further than 32-bit numbers do";
            return Err(Error::unsupported(self.folder, what));
        }
        Ok((remap, diagonal))
    }

    /// Fails if a vertex error exceeds the tolerance.
    fn check(&self, errors: &TextureErrors, diagonal: f64) -> Result<(), Error> {
        let allowed = match self.options.tolerance {
            None => return Ok(()),
            Some(PositionTolerance::Length(length)) => length,
            Some(PositionTolerance::DiagonalFraction(share)) => share * diagonal / self.metres,
        };
        let error = errors.position.0 / self.metres;
        if error <= allowed {
            return Ok(());
        }
        let (bits, advice) = match self.options.image {
            ImageFormat::Png => ("16 bits", ", --image exr for floats"),
            ImageFormat::Exr => ("floats of 32 bits", ""),
        };
        // Rounded up, so that the printed value is enough as a tolerance.
        let enough = error * 1.01;
        let what = format!(
            "the tolerance is {allowed:.3e}, and {bits} hold these motions to {error:.3e} of the file's unit: give --tolerance {enough:.2e} or more{advice}, or a format that holds them as they are (.abc)"
        );
        Err(Error::unsupported(self.folder, what))
    }

    /// Writes the JSON beside the textures; its frames count from 1, as in Blender.
    fn info(
        &self,
        scene: &Scene,
        name: &str,
        remap: &Remap,
        combined: &mut CombinedMesh<'_>,
    ) -> Result<String, Error> {
        let times = self.times;
        let (first, last) = (times[0], times[times.len() - 1]);
        let step = (last - first) / (times.len().max(2) - 1) as f64;
        let even = times
            .iter()
            .zip(0..)
            .all(|(t, i)| (t - first - f64::from(i) * step).abs() < 10.0 * TIME_TOLERANCE);
        if !even {
            let what = "its frames are not even in time, and rows of a texture are: it plays at another pace (compile --fps makes even ones)";
            combined.remarks.insert(Remark::new(name, what));
        }
        let rate = if step > 0.0 { 1.0 / step } else { scene.fps.unwrap_or(24.0) };
        // The rate with few digits, if that is the same: 24, 29.97.
        let framerate = [rate.round(), (rate * 1000.0).round() / 1000.0];
        let framerate = framerate.into_iter().find(|r| (r - rate).abs() < 1e-6 * rate).unwrap_or(rate);
        let mut animations = frame_ranges(&scene.ranges, times);
        if animations.is_empty() {
            animations.push((name.into(), 0, times.len()));
        }
        let clip = |(name, start, count): (String, usize, usize)| {
            let clip =
                RemapClip { start_frame: start + 1, end_frame: start + count, framerate, looping: true };
            (name, clip)
        };
        let info = Info {
            remap: RemapRange { min: remap.low.to_array(), max: remap.high.to_array(), frames: times.len() },
            animations: Animations(animations.into_iter().map(clip).collect()),
        };
        serde_json::to_string_pretty(&info).map_err(|e| Error::misuse(format!("JSON: {e}")))
    }
}

/// The content of `NAME-remap_info.json`.
#[derive(Serialize)]
struct Info {
    #[serde(rename = "os-remap")]
    remap: RemapRange,
    animations: Animations,
}

#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct RemapRange {
    min: [f64; 3],
    max: [f64; 3],
    frames: usize,
}

/// Clips by name, in their own order.
struct Animations(Vec<(String, RemapClip)>);

impl Serialize for Animations {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, clip) in &self.0 {
            map.serialize_entry(name, clip)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RemapClip {
    start_frame: usize,
    end_frame: usize,
    framerate: f64,
    looping: bool,
}
