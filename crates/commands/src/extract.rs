//! Extracts a `.reel` as Alembic, USD, glTF, BVH, an OBJ file or a sequence of them, or vertex animation
//! textures.

use crate::cancellable::{cancellable_scene, unless_cancelled};
use crate::compressed::{CompressionLoss, ErrorBounds};
use crate::failure::{Class, Failure};
use crate::{Progress, reels};
use meshreel::Reel;
use meshreel_check::machine_limits;
use meshreel_compile::Cancellation;
use meshreel_compile::report::readable::{short, with_noun};
pub use meshreel_extract::BoneForm;
use meshreel_extract::{FaceForm, SkinError, skin_errors, to_scene_with_faces};
use meshreel_options::{Distance, RigChoice, Tolerance};
use meshreel_scene::{LengthUnit, Remark, Scene, locators};
use meshreel_write::glb::Extension;
use meshreel_write::openvat::{self, ExportReport, ImageFormat, NormalTarget, PositionTolerance};
use serde::Serialize;
use std::path::Path;
use std::str::FromStr;
use std::time::Instant;

/// The kind of output for a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectoryFormat {
    /// A sequence of OBJ files.
    Obj,
    /// Vertex animation textures, with the mesh that they move.
    OpenVat,
}

impl FromStr for DirectoryFormat {
    type Err = String;
    fn from_str(text: &str) -> Result<DirectoryFormat, String> {
        match text {
            "obj" => Ok(DirectoryFormat::Obj),
            "openvat" => Ok(DirectoryFormat::OpenVat),
            _ => Err(format!("'{text}' is nothing that a directory can get: give one of: obj, openvat")),
        }
    }
}

/// The options of an extraction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// The form of meshes moved by bones; `None` is `Auto` without remarks on skins.
    pub bones: Option<BoneForm>,
    /// LOD level.
    pub level: usize,
    /// The kind of output for a directory; `None` is a sequence of OBJ files.
    pub format: Option<DirectoryFormat>,
    /// The place of normals in textures.
    pub normals: Option<NormalTarget>,
    /// The image format of textures.
    pub image: Option<ImageFormat>,
    /// For textures, the largest error; a larger one fails. For a compressed glTF, the tolerance of
    /// positions, in place of the file's own.
    pub tolerance: Option<Distance>,
    /// The compression of a glTF.
    pub compress: Option<Extension>,
}

impl Options {
    /// Sets an option from text, by its name on the command line.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), Failure> {
        fn value<T: FromStr<Err = String>>(key: &str, text: &str) -> Result<Option<T>, Failure> {
            text.parse().map(Some).map_err(|what| Failure::usage(format!("{key}: {what}")))
        }
        match key {
            "bones" => self.bones = value(key, text)?,
            "format" => self.format = value(key, text)?,
            "normals" => self.normals = value(key, text)?,
            "image" => self.image = value(key, text)?,
            "compress" => self.compress = value(key, text)?,
            "tolerance" => self.tolerance = value(key, text)?,
            _ => return Err(Failure::usage(format!("'{key}' is nothing that extract can be asked for"))),
        }
        Ok(())
    }
}

/// The result of an extraction.
#[derive(Serialize)]
pub struct Extracted {
    /// The file, or the directory.
    pub output: String,
    /// The kind of file.
    pub kind: &'static str,
    /// Number of frames.
    pub frames: usize,
    /// Number of meshes.
    pub meshes: usize,
    /// LOD level.
    pub level: usize,
    /// Number of clips.
    pub clips: usize,
    /// Distances of skins from the decoded points.
    pub skins: Vec<SkinError>,
    /// Sizes and errors of vertex animation textures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub openvat: Option<ExportReport>,
    /// The loss through compression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compressed: Option<CompressionLoss>,
    /// Total size of the files written, in bytes.
    pub bytes: u64,
    /// Wall time, in seconds.
    pub seconds: f64,
    /// Remarks on what the output format cannot hold.
    pub remarks: Vec<Remark>,
}

/// Writes the contents of the file at `path` to `output`, in the format of its name; it appears or is
/// replaced only when it is complete. After a cancellation it stops before the next frame is decoded, and
/// nothing is left.
pub fn extract(
    path: &Path,
    output: &Path,
    options: &Options,
    progress: Progress<'_>,
    cancellation: &Cancellation,
) -> Result<Extracted, Failure> {
    let start = Instant::now();
    let (bones, level) = (options.bones, options.level);
    let kind = OutputKind::from_path(output, options.format)?;
    kind.check(options, output)?;
    if !reels::is_reel(path) && meshreel_files::exists(path) {
        return Err(Failure::new(
            Class::Malformed,
            "not a .reel; 'meshreel compile' makes one of a source file",
            Some(path.display().to_string()),
        ));
    }
    let reel = Reel::open(path, &machine_limits())?;
    let name = output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let asked = bones_for(bones.unwrap_or(BoneForm::Auto), kind, output)?;
    check_level(&reel, level)?;
    let (scene, undone) = to_scene_with_faces(&reel, asked, level, kind.face_form())?;
    let scene = cancellable_scene(scene, cancellation);
    let skins = unless_cancelled(skin_errors(&scene), cancellation)?;
    let times: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
    let step = |done: usize, total: usize| progress("write frames", done as u64, total as u64);
    let (mut remarks, mut openvat, mut compressed) = (undone, None, None);
    match (kind, options.compress) {
        (OutputKind::OpenVat, _) => {
            let written = write_textures(output, &scene, &times, options, &mut { step });
            let (own, written) = unless_cancelled(written, cancellation)?;
            remarks.extend(own);
            openvat = Some(written);
        }
        (OutputKind::Glb, Some(extension)) => {
            let bounds = ErrorBounds::new(&reel, &scene, &times, extension, options.tolerance);
            let bounds = unless_cancelled(bounds, cancellation)?;
            let asked = &bounds.compression;
            let written = meshreel_write::glb::write_compressed(output, &scene, &times, asked, &mut { step });
            let (own, errors) = unless_cancelled(written.map_err(Failure::from), cancellation)?;
            remarks.extend(own);
            compressed = Some(bounds.report(&scene, &errors));
        }
        _ => remarks.extend(unless_cancelled(kind.write(output, &scene, &times, progress), cancellation)?),
    }
    remarks.extend(omission_remarks(&reel, &scene, (kind, asked), &name)?);
    if bones == Some(BoneForm::Skins) {
        remarks.extend(skins.iter().map(skin_remark));
    }
    Ok(Extracted {
        output: output.display().to_string(),
        kind: kind.name(),
        frames: times.len(),
        meshes: scene.counts.meshes,
        level,
        clips: scene.clips.len(),
        skins,
        bytes: openvat.as_ref().map_or_else(|| written_bytes(output), |written| written.bytes),
        openvat,
        compressed,
        seconds: start.elapsed().as_secs_f64(),
        remarks,
    })
}

/// Refuses a LOD level that no mesh has.
fn check_level(reel: &Reel, level: usize) -> Result<(), Failure> {
    let most = coarsest_level(reel)?;
    if level <= most {
        return Ok(());
    }
    Err(Failure::usage(match most {
        0 => {
            format!("--lod {level}: the file has no levels of detail; 'meshreel compile --lod N' makes some")
        }
        _ => format!("--lod {level}: the coarsest level of detail in the file is {most}"),
    }))
}

/// Returns the coarsest LOD level of any mesh.
pub fn coarsest_level(reel: &Reel) -> Result<usize, meshreel::Error> {
    let mut most = 0;
    for mesh in 0..reel.description().meshes.len() {
        most = most.max(reel.lod_count(mesh)? - 1);
    }
    Ok(most)
}

/// Returns the form for meshes moved by bones; an error if that kind of file cannot hold it.
fn bones_for(asked: BoneForm, kind: OutputKind, output: &Path) -> Result<BoneForm, Failure> {
    if asked == BoneForm::Skins && kind != OutputKind::Glb {
        return Err(Failure::usage(format!(
            "--as skins: only a .glb has skins of a mesh's own bones, {} is none",
            output.display()
        )));
    }
    if asked == BoneForm::Parts && !matches!(kind, OutputKind::Glb | OutputKind::Alembic | OutputKind::Usd) {
        return Err(Failure::usage(format!(
            "--as parts: only .glb, .abc and .usd have nodes that move, {} has not",
            output.display()
        )));
    }
    Ok(match (asked, kind) {
        (BoneForm::Skins, _) => BoneForm::Skins,
        (BoneForm::Parts, _) => BoneForm::Parts,
        (BoneForm::Auto, OutputKind::Glb) => BoneForm::Auto,
        (BoneForm::Auto, OutputKind::Usd) => BoneForm::Rigs,
        _ => BoneForm::Points,
    })
}

/// Returns remarks on what a file of this kind cannot hold.
fn omission_remarks(
    reel: &Reel,
    scene: &Scene,
    (kind, bones): (OutputKind, BoneForm),
    name: &str,
) -> Result<Vec<Remark>, Failure> {
    let mut remarks = Vec::new();
    let rig = reels::options(reel)?.rig;
    if matches!(bones, BoneForm::Points | BoneForm::Parts) && rig == RigChoice::Only {
        let what = "its meshes are moved by clips alone (--rig only): without skins they stand still; .glb and .usd have them";
        remarks.push(Remark::new(name, what));
    }
    if !matches!(kind, OutputKind::Glb | OutputKind::OpenVat) && !scene.ranges.is_empty() {
        let names: Vec<&str> = scene.ranges.iter().map(|range| &range.name[..]).collect();
        let what = format!(
            "only a .glb has named ranges: here they are one after the other, without names ({})",
            names.join(", ")
        );
        remarks.push(Remark::new(name, what));
    }
    Ok(remarks)
}

/// Returns a remark on the distance of a skin from the decoded points.
fn skin_remark(skin: &SkinError) -> Remark {
    let most = short(skin.max_error);
    Remark::new(&skin.path, format!("as a skin it is up to {most} away from its decoded points"))
}

/// The kind of file that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// `.abc`.
    Alembic,
    /// `.usd`, `.usda`, `.usdc`.
    Usd,
    /// `.glb`.
    Glb,
    /// `.bvh`: a clip and its skeleton.
    Bvh,
    /// `.obj`: one frame.
    Obj,
    /// A directory of `.obj` files.
    ObjSequence,
    /// A directory of textures and the mesh that they move.
    OpenVat,
}

impl OutputKind {
    /// Determines the kind by the output's name and, for a directory, by `format`.
    pub fn from_path(path: &Path, format: Option<DirectoryFormat>) -> Result<OutputKind, Failure> {
        let text = path.as_os_str().to_string_lossy();
        if text.ends_with('/') || text.ends_with(std::path::MAIN_SEPARATOR) || path.is_dir() {
            return Ok(match format {
                Some(DirectoryFormat::OpenVat) => OutputKind::OpenVat,
                Some(DirectoryFormat::Obj) | None => OutputKind::ObjSequence,
            });
        }
        if format.is_some() {
            let what =
                "--format says what a directory gets: give a name that ends in /, or leave --format out";
            return Err(Failure::usage(format!("{}: {what}", path.display())));
        }
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let usage = |what: String| Err(Failure::usage(format!("{}: {what}", path.display())));
        match extension.to_ascii_lowercase().as_str() {
            "abc" => Ok(OutputKind::Alembic),
            "usd" | "usda" | "usdc" => Ok(OutputKind::Usd),
            "glb" => Ok(OutputKind::Glb),
            "bvh" => Ok(OutputKind::Bvh),
            "obj" => Ok(OutputKind::Obj),
            "gltf" => usage("give a name that ends in .glb: binary glTF, in one file".into()),
            "usdz" => usage("give a name that ends in .usdc; usdzip packs it".into()),
            _ => usage(
                "give a name that ends in .abc, .usdc, .usda, .glb, .bvh or .obj, or a directory (ending in /)"
                    .into(),
            ),
        }
    }

    /// The form of faces in such files.
    fn face_form(self) -> FaceForm {
        match self {
            OutputKind::Glb | OutputKind::OpenVat => FaceForm::Triangles,
            OutputKind::Alembic
            | OutputKind::Usd
            | OutputKind::Bvh
            | OutputKind::Obj
            | OutputKind::ObjSequence => FaceForm::Source,
        }
    }

    /// Its name in reports.
    fn name(self) -> &'static str {
        match self {
            OutputKind::Alembic => "alembic",
            OutputKind::Usd => "usd",
            OutputKind::Glb => "glb",
            OutputKind::Bvh => "bvh",
            OutputKind::Obj => "obj",
            OutputKind::ObjSequence => "obj-sequence",
            OutputKind::OpenVat => "openvat",
        }
    }

    /// Refuses options that have no meaning for this kind of file.
    fn check(self, options: &Options, output: &Path) -> Result<(), Failure> {
        let given = [("--normals", options.normals.is_some()), ("--image", options.image.is_some())];
        if let Some((name, _)) = given.iter().find(|(_, given)| *given && self != OutputKind::OpenVat) {
            return Err(Failure::usage(format!(
                "{name} is about textures of vertices: {} is none; give a directory and --format openvat",
                output.display()
            )));
        }
        if options.compress.is_some() && self != OutputKind::Glb {
            let what = format!("--compress: only a .glb is compressed so, {} is none", output.display());
            return Err(Failure::usage(what));
        }
        if options.tolerance.is_some() && self != OutputKind::OpenVat && options.compress.is_none() {
            return Err(Failure::usage(format!(
                "--tolerance is about --format openvat and --compress: all else is written as it was decoded ({})",
                output.display()
            )));
        }
        Ok(())
    }

    /// Writes `scene`; the target appears or is replaced only when it is complete.
    pub fn write(
        self,
        path: &Path,
        scene: &Scene,
        times: &[f64],
        progress: Progress<'_>,
    ) -> Result<Vec<Remark>, Failure> {
        let mut step = |done: usize, total: usize| progress("write frames", done as u64, total as u64);
        let remarks = match self {
            OutputKind::OpenVat => write_textures(path, scene, times, &Options::default(), &mut step)?.0,
            OutputKind::Alembic => meshreel_write::alembic::write(path, scene, &mut step)?,
            OutputKind::Usd => meshreel_write::usd::write(path, scene, times, &mut step)?,
            OutputKind::Glb => meshreel_write::glb::write(path, scene, times, &mut step)?,
            OutputKind::Bvh => write_bvh(path, scene)?,
            OutputKind::Obj | OutputKind::ObjSequence => write_obj(self, path, scene, times, &mut step)?,
        };
        Ok(remarks)
    }
}

/// Writes meshes as vertex animation textures.
fn write_textures(
    path: &Path,
    scene: &Scene,
    times: &[f64],
    options: &Options,
    step: &mut dyn FnMut(usize, usize),
) -> Result<(Vec<Remark>, ExportReport), Failure> {
    if scene.meshes.is_empty() {
        return Err(no_mesh("textures of vertices hold", scene, path));
    }
    let tolerance = options.tolerance.map(|tolerance| tolerance.in_unit(scene.unit)).transpose();
    let tolerance = tolerance.map_err(|e| Failure::usage(e.to_string()))?.map(|tolerance| match tolerance {
        Tolerance::Absolute(length) => PositionTolerance::Length(length),
        Tolerance::Relative(share) => PositionTolerance::DiagonalFraction(share),
    });
    let asked = openvat::ExportOptions {
        normals: options.normals.unwrap_or_default(),
        image: options.image.unwrap_or_default(),
        tolerance,
    };
    let written = openvat::write(path, scene, times, &asked, step)?;
    let mut remarks = written.remarks.clone();
    remarks.extend(dropped_content_remarks("textures of vertices hold", scene)?);
    Ok((remarks, written))
}

/// Returns the failure for a format that holds meshes only, when the file has none.
fn no_mesh(holder: &str, scene: &Scene, path: &Path) -> Failure {
    let what = match scene.clips.len() {
        0 => format!("there is no mesh in the file, and {holder} nothing else; give .abc, .usdc or .glb"),
        clips => format!(
            "there is no mesh in the file but {}, which {holder} not; give .abc, .usdc, .glb or .bvh",
            with_noun(clips, "clip")
        ),
    };
    Failure::new(Class::Unsupported, what, Some(path.display().to_string()))
}

/// Returns remarks on nodes without meshes and on clips, for a format that holds neither.
fn dropped_content_remarks(holder: &str, scene: &Scene) -> Result<Vec<Remark>, Failure> {
    let mut remarks = Vec::new();
    let placed = scene.expand()?;
    let others = locators::find(scene, &placed, &|_| true);
    let mut others = placed.iter().zip(others).filter(|(_, is)| *is);
    if let Some((first, _)) = others.next() {
        let what = format!(
            "{holder} no nodes without meshes; it and all like it were left out, which .abc, .usdc and .glb hold"
        );
        remarks.push(Remark::new(&first.path, what));
    }
    let clips = scene.clips.len();
    if clips > 0 {
        let what = format!(
            "{holder} no clips; {} left out, which .abc, .usdc, .glb and .bvh hold",
            match clips {
                1 => "one was".into(),
                _ => format!("{clips} were"),
            }
        );
        remarks.push(Remark::new(&scene.clips[0].name, what));
    }
    Ok(remarks)
}

/// Writes meshes as OBJ: one file for each frame, or the only frame.
fn write_obj(
    kind: OutputKind,
    path: &Path,
    scene: &Scene,
    times: &[f64],
    step: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Remark>, Failure> {
    if scene.meshes.is_empty() {
        return Err(no_mesh("an .obj holds", scene, path));
    }
    let mut remarks = match (kind, times) {
        (OutputKind::Obj, [time]) => meshreel_write::obj::write_frame(path, scene, *time)?,
        (OutputKind::Obj, _) => {
            return Err(Failure::usage(format!(
                "{}: an .obj holds one frame, and the file has {}; give a directory (ending in /) for a sequence",
                path.display(),
                with_noun(times.len(), "frame")
            )));
        }
        _ => meshreel_write::obj::write(path, scene, times, step)?,
    };
    remarks.extend(dropped_content_remarks("an .obj holds", scene)?);
    Ok(remarks)
}

/// Writes the first clip; a BVH holds only one.
fn write_bvh(path: &Path, scene: &Scene) -> Result<Vec<Remark>, Failure> {
    let Some(clip) = scene.clips.first() else {
        return Err(Failure::new(
            Class::Unsupported,
            "there is no clip in the file, and a .bvh holds nothing else; give .abc, .glb or a directory",
            Some(path.display().to_string()),
        ));
    };
    // Programs that read BVH take its lengths as centimetres.
    let centimetres = match scene.unit {
        Some(LengthUnit::Metre) => 100.0,
        Some(LengthUnit::Millimetre) => 0.1,
        Some(LengthUnit::Inch) => 2.54,
        Some(LengthUnit::Centimetre) | None => 1.0,
    };
    let skeleton = scene.skeletons[clip.skeleton].scaled(centimetres);
    let mut remarks = meshreel_write::bvh::write(path, &skeleton, &clip.scaled(centimetres))?;
    let others = scene.clips.len() - 1;
    if others > 0 {
        let what = format!(
            "a .bvh holds one clip; {} left out",
            match others {
                1 => "another was".into(),
                _ => format!("{others} others were"),
            }
        );
        remarks.push(Remark::new(&clip.name, what));
    }
    if !scene.meshes.is_empty() {
        let meshes = with_noun(scene.meshes.len(), "mesh");
        let what = format!(
            "a .bvh holds a clip and nothing else: {meshes} left out, which .abc, .usdc and .glb hold"
        );
        remarks.push(Remark::new(&clip.name, what));
    }
    if !clip.scalars.is_empty() || !clip.markers.is_empty() {
        let what = "BVH holds neither markers nor numbers beside joints; they were left out";
        remarks.push(Remark::new(&clip.name, what));
    }
    Ok(remarks)
}

/// Returns the size of a file, or the total of the files in a directory, in bytes.
fn written_bytes(path: &Path) -> u64 {
    let size = |path: &Path| meshreel_files::length(path).unwrap_or_default();
    match std::fs::read_dir(path) {
        Err(_) => size(path),
        Ok(entries) => entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|e| e == "obj" || e == "mtl"))
            .map(|path| size(&path))
            .sum(),
    }
}
