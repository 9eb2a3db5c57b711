//! `meshreel extract`: a `.reel` back as Alembic, glTF, BVH, an OBJ file or a sequence of them.

use super::lod;
use crate::cli::{Bones, ExtractArgs, NOT_BUILT};
use crate::output::{Class, Failure, Output, RemarkJson, remarks_json};
use crate::progress::Progress;
use crate::{reels, units};
use meshreel::{Limits, Reel};
use meshreel_check::extract::{As, SkinError, skin_errors, to_scene_at};
use meshreel_options::RigChoice;
use meshreel_scene::{Remark, Scene, Unit, locators, write};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Runs the verb.
pub fn run(arguments: &ExtractArgs, output: Output) -> Result<ExitCode, Failure> {
    let start = Instant::now();
    let kind = Kind::of(&arguments.output)?;
    if !reels::is_reel(&arguments.file) && arguments.file.exists() {
        return Err(Failure::new(
            Class::Malformed,
            "not a .reel; 'meshreel compile' makes one of a source file",
            Some(arguments.file.display().to_string()),
        ));
    }
    let reel = Reel::open(&arguments.file, &Limits::default())?;
    let name = arguments.output.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let progress = Progress::new(output, &name);
    let bones = bones_for(arguments, kind)?;
    let level = usize::from(arguments.lod);
    let most = lod::most(&reel)?;
    if level > most {
        return Err(Failure::usage(match most {
            0 => format!(
                "--lod {level}: the file has no levels of detail; 'meshreel compile --lod N' makes some"
            ),
            _ => format!("--lod {level}: the coarsest level of detail in the file is {most}"),
        }));
    }
    let (scene, undone) = to_scene_at(&reel, bones, level)?;
    let skins = skin_errors(&scene)?;
    let times: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
    let mut remarks = kind.write(&arguments.output, &scene, &times, &progress)?;
    remarks.extend(undone);
    remarks.extend(left_out(&reel, &scene, (kind, bones), &name)?);
    if arguments.bones == Some(Bones::Skins) {
        remarks.extend(skins.iter().map(skin_remark));
    }
    drop(progress);
    output.remarks(&remarks);
    let seconds = start.elapsed().as_secs_f64();
    let bytes = written_bytes(&arguments.output);
    let value = Extracted {
        output: arguments.output.display().to_string(),
        kind: kind.name(),
        frames: times.len(),
        meshes: scene.counts.meshes,
        level,
        clips: scene.clips.len(),
        skins: &skins,
        bytes,
        seconds,
        remarks: remarks_json(&remarks),
    };
    output.result(&value, true, || {
        format!(
            "{}: {}, {}, {}, {} in {seconds:.2} s",
            arguments.output.display(),
            units::number(times.len(), "frame"),
            units::number(scene.counts.meshes, "mesh"),
            units::number(scene.clips.len(), "clip"),
            units::bytes(bytes)
        )
    })?;
    Ok(ExitCode::SUCCESS)
}

/// What was written, as `--json` prints it.
#[derive(Serialize)]
struct Extracted<'a> {
    output: String,
    kind: &'static str,
    frames: usize,
    meshes: usize,
    /// LOD level.
    level: usize,
    clips: usize,
    skins: &'a [SkinError],
    bytes: u64,
    seconds: f64,
    remarks: Vec<RemarkJson>,
}

/// How meshes that bones move are written, if that kind of file can hold it.
fn bones_for(arguments: &ExtractArgs, kind: Kind) -> Result<As, Failure> {
    let asked = arguments.bones.unwrap_or(Bones::Auto);
    if asked == Bones::Skins && kind != Kind::Glb {
        return Err(Failure::usage(format!(
            "--as skins: only a .glb has skins, {} is none",
            arguments.output.display()
        )));
    }
    if asked == Bones::Parts && !matches!(kind, Kind::Glb | Kind::Alembic) {
        return Err(Failure::usage(format!(
            "--as parts: only .glb and .abc have nodes that move, {} has not",
            arguments.output.display()
        )));
    }
    Ok(match (asked, kind) {
        (Bones::Skins, _) => As::Skins,
        (Bones::Parts, _) => As::Parts,
        (Bones::Auto, Kind::Glb) => As::Auto,
        _ => As::Points,
    })
}

/// Remarks on what a file of this kind cannot say.
fn left_out(
    reel: &Reel,
    scene: &Scene,
    (kind, bones): (Kind, As),
    name: &str,
) -> Result<Vec<Remark>, Failure> {
    let mut remarks = Vec::new();
    let rig = reels::options(reel)?.rig;
    if matches!(bones, As::Points | As::Parts) && rig == RigChoice::Only {
        let what = "its meshes are moved by clips alone (--rig only): without skins they stand still; a .glb has them";
        remarks.push(Remark::new(name, what));
    }
    if kind != Kind::Glb && !scene.ranges.is_empty() {
        let names: Vec<&str> = scene.ranges.iter().map(|range| &range.name[..]).collect();
        let what = format!(
            "only a .glb has named ranges: here they are one after the other, without names ({})",
            names.join(", ")
        );
        remarks.push(Remark::new(name, what));
    }
    Ok(remarks)
}

/// How far a skin is from what was decoded.
fn skin_remark(skin: &SkinError) -> Remark {
    let most = units::short(skin.most);
    Remark::new(&skin.path, format!("as a skin it is up to {most} away from its decoded points"))
}

/// The kind of file that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `.abc`.
    Alembic,
    /// `.glb`.
    Glb,
    /// `.bvh`: a clip and its skeleton.
    Bvh,
    /// `.obj`: one frame.
    Obj,
    /// A directory of `.obj` files.
    ObjSequence,
}

impl Kind {
    /// Told by the output's name.
    pub fn of(path: &Path) -> Result<Kind, Failure> {
        let text = path.as_os_str().to_string_lossy();
        if text.ends_with('/') || text.ends_with(std::path::MAIN_SEPARATOR) || path.is_dir() {
            return Ok(Kind::ObjSequence);
        }
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
        let usage = |what: String| Err(Failure::usage(format!("{}: {what}", path.display())));
        match extension.to_ascii_lowercase().as_str() {
            "abc" => Ok(Kind::Alembic),
            "glb" => Ok(Kind::Glb),
            "bvh" => Ok(Kind::Bvh),
            "obj" => Ok(Kind::Obj),
            later @ ("gltf" | "usd" | "usda" | "usdc") => {
                usage(format!("writing .{later}: {NOT_BUILT}; give .abc, .glb, .bvh or a directory"))
            }
            _ => usage(
                "give a name that ends in .abc, .glb, .bvh or .obj, or a directory (ending in /)".into(),
            ),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Alembic => "alembic",
            Kind::Glb => "glb",
            Kind::Bvh => "bvh",
            Kind::Obj => "obj",
            Kind::ObjSequence => "obj-sequence",
        }
    }

    /// Writes `scene`; the target appears or is replaced only when it is complete.
    pub fn write(
        self,
        path: &Path,
        scene: &Scene,
        times: &[f64],
        progress: &Progress,
    ) -> Result<Vec<Remark>, Failure> {
        let mut step = |done: usize, total: usize| progress.step("write frames", done as u64, total as u64);
        let remarks = match self {
            Kind::Alembic => write::alembic::write(path, scene, &mut step)?,
            Kind::Glb => write::glb::write(path, scene, times, &mut step)?,
            Kind::Bvh => bvh(path, scene)?,
            Kind::Obj | Kind::ObjSequence => obj(self, path, scene, times, &mut step)?,
        };
        Ok(remarks)
    }
}

/// Meshes, frame by frame; or the only frame.
fn obj(
    kind: Kind,
    path: &Path,
    scene: &Scene,
    times: &[f64],
    step: &mut dyn FnMut(usize, usize),
) -> Result<Vec<Remark>, Failure> {
    let clips = scene.clips.len();
    if scene.meshes.is_empty() {
        let what = match clips {
            0 => "there is no mesh in the file, and an .obj holds nothing else; give .abc or .glb".into(),
            _ => format!(
                "there is no mesh in the file but {}, which an .obj cannot hold; give .abc, .glb or .bvh",
                units::number(clips, "clip")
            ),
        };
        return Err(Failure::new(Class::Unsupported, what, Some(path.display().to_string())));
    }
    let mut remarks = match (kind, times) {
        (Kind::Obj, [time]) => write::obj::write_frame(path, scene, *time)?,
        (Kind::Obj, _) => {
            return Err(Failure::usage(format!(
                "{}: an .obj holds one frame, and the file has {}; give a directory (ending in /) for a sequence",
                path.display(),
                units::number(times.len(), "frame")
            )));
        }
        _ => write::obj::write(path, scene, times, step)?,
    };
    let placed = scene.expand()?;
    let others = locators::find(scene, &placed, &|_| true);
    let mut others = placed.iter().zip(others).filter(|(_, is)| *is);
    if let Some((first, _)) = others.next() {
        let what = "an .obj holds no nodes without meshes; it and all like it were left out, which .abc and .glb hold";
        remarks.push(Remark::new(&first.path, what));
    }
    if clips > 0 {
        let what = format!(
            "an .obj holds no clips; {} left out, which .abc, .glb and .bvh hold",
            match clips {
                1 => "one was".into(),
                _ => format!("{clips} were"),
            }
        );
        remarks.push(Remark::new(&scene.clips[0].name, what));
    }
    Ok(remarks)
}

/// The first clip; a BVH holds one.
fn bvh(path: &Path, scene: &Scene) -> Result<Vec<Remark>, Failure> {
    let Some(clip) = scene.clips.first() else {
        return Err(Failure::new(
            Class::Unsupported,
            "there is no clip in the file, and a .bvh holds nothing else; give .abc, .glb or a directory",
            Some(path.display().to_string()),
        ));
    };
    // What reads BVH takes it as centimetres.
    let centimetres = match scene.unit {
        Some(Unit::Metre) => 100.0,
        Some(Unit::Millimetre) => 0.1,
        Some(Unit::Inch) => 2.54,
        Some(Unit::Centimetre) | None => 1.0,
    };
    let skeleton = scene.skeletons[clip.skeleton].scaled(centimetres);
    let mut remarks = write::bvh::write(path, &skeleton, &clip.scaled(centimetres))?;
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
        let meshes = units::number(scene.meshes.len(), "mesh");
        let what =
            format!("a .bvh holds a clip and nothing else: {meshes} left out, which .abc and .glb hold");
        remarks.push(Remark::new(&clip.name, what));
    }
    if !clip.scalars.is_empty() || !clip.markers.is_empty() {
        let what = "BVH holds neither markers nor numbers beside joints; they were left out";
        remarks.push(Remark::new(&clip.name, what));
    }
    Ok(remarks)
}

/// Bytes of a file, or of the files of a directory.
fn written_bytes(path: &Path) -> u64 {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
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
