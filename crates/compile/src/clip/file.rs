//! Skeletons and clips of a scene as chunks, and as a file of their own where there are no meshes.

use super::{ClipOptions, CompressedClip, compress};
use crate::encode::NOTHING;
use crate::{Error, Options, Phase, Progress, Report, Tolerance};
use meshreel_codec::block::{Compressor, Format};
use meshreel_codec::clip::record::{ClipRecord, SkeletonRecord, encode_clip, encode_skeleton};
use meshreel_codec::record::Description;
use meshreel_format::{CHUNK_ENTRY_SIZE, HEADER_SIZE, Summary, Writer, frame_table_size};
use meshreel_scene::{Remark, Scene, Unit};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Kinds of chunks. Part of the format.
const DESCRIPTION: u16 = 1;
const SKELETON: u16 = 7;
const CLIP: u16 = 8;

/// Usual tolerance and shell distance, in metres.
const TOLERANCE: f64 = 0.000_1;
const SHELL: f64 = 0.03;

/// What became of one clip.
#[derive(Clone, Debug, Default)]
pub struct ClipReport {
    /// Name.
    pub name: String,
    /// Joints of its skeleton.
    pub joints: usize,
    /// Samples.
    pub samples: usize,
    /// 40 bytes per joint and sample.
    pub raw_bytes: u64,
    /// Everything that playing needs but names, parents and rest pose.
    pub bytes: u64,
    /// Promised, in the file's unit.
    pub tolerance: f64,
    /// Largest error found, as decoded.
    pub max_error: f64,
    /// Rotation sub-tracks: default, constant, hinge, two axes, free.
    pub rotations: [usize; 5],
}

/// A chunk before it is written: kind, size before compression, bytes.
pub type Chunk = (u16, u32, Vec<u8>);

/// Metres in a unit; a file without one is taken as centimetres.
fn metres(unit: Option<Unit>) -> f64 {
    match unit {
        Some(Unit::Metre) => 1.0,
        Some(Unit::Centimetre) | None => 0.01,
        Some(Unit::Millimetre) => 0.001,
        Some(Unit::Inch) => 0.0254,
    }
}

/// The options of clips among those of a compile.
fn clip_options(scene: &Scene, options: &Options) -> Result<ClipOptions, Error> {
    let unit = metres(options.unit.or(scene.unit));
    let tolerance = match options.tolerance {
        Tolerance::Absolute(t) => t,
        // What stands there when nobody said anything.
        Tolerance::Relative(1e-4) => TOLERANCE / unit,
        Tolerance::Relative(_) => {
            return Err(Error::misuse(
                "a clip's --tolerance is a length (of any joint's error), not a percentage; for example --tolerance 0.01",
            ));
        }
    };
    Ok(ClipOptions {
        tolerance,
        shell: SHELL / unit,
        effort: options.effort as u8,
        restart: 7,
    })
}

/// Compresses all clips of a scene: chunks in the order in which they are written, and what became of each.
pub fn chunks(
    scene: &Scene,
    options: &Options,
    remarks: &mut Vec<Remark>,
    progress: &dyn Progress,
) -> Result<(Vec<Chunk>, Vec<ClipReport>), Error> {
    let clip_options = clip_options(scene, options)?;
    for skeleton in &scene.skeletons {
        let joints = skeleton.joints.len();
        if joints == 0 {
            return Err(Error::Unsupported {
                what: format!("skeleton {} has no joints", skeleton.name),
            });
        }
    }
    let done = AtomicU64::new(0);
    let total = scene.clips.len() as u64;
    let compressed: Vec<CompressedClip> = (scene.clips.par_iter())
        .map(|clip| {
            let Some(skeleton) = scene.skeletons.get(clip.skeleton) else {
                return Err(Error::misuse(format!("clip {} has no skeleton", clip.name)));
            };
            let compressed = compress(skeleton, clip, &clip_options)?;
            progress.update(Phase::Encode, done.fetch_add(1, Relaxed) + 1, total);
            Ok(compressed)
        })
        .collect::<Result<_, Error>>()?;
    let mut chunks = Vec::new();
    let mut block = |kind: u16, raw: &[u8], format: Format| {
        let mut bytes = Vec::new();
        Compressor::new(format, options.effort).compress(raw, &mut bytes);
        chunks.push((kind, raw.len() as u32, bytes));
    };
    for skeleton in &scene.skeletons {
        let joints = super::truth::Joints::new(skeleton, clip_options.shell);
        let record = SkeletonRecord {
            name: skeleton.name.clone(),
            names: skeleton.joints.iter().map(|j| j.name.clone()).collect(),
            parents: joints.parents,
            rest: joints.rest,
            shell: joints.shell,
            ends: (skeleton.joints.iter())
                .map(|j| {
                    j.ends
                        .iter()
                        .map(|e| e.to_array().map(|v| v as f32))
                        .collect()
                })
                .collect(),
        };
        let mut bytes = Vec::new();
        encode_skeleton(&record, &mut bytes);
        block(SKELETON, &bytes, options.block);
    }
    let mut reports = Vec::new();
    for (clip, compressed) in scene.clips.iter().zip(compressed) {
        if compressed.tolerance > clip_options.tolerance {
            remarks.push(Remark::new(
                &clip.name,
                format!(
                    "the tolerance was raised to {}: f32 holds no more of coordinates so large",
                    compressed.tolerance
                ),
            ));
        }
        let record = ClipRecord {
            name: clip.name.clone(),
            skeleton: clip.skeleton as u32,
            asked: clip_options.tolerance,
            tolerance: compressed.tolerance,
        };
        let mut bytes = Vec::new();
        encode_clip(&record, &compressed.bytes, &mut bytes);
        crate::write::check_size("one clip", bytes.len())?;
        // Entropy-coded already.
        block(CLIP, &bytes, Format::Store);
        reports.push(ClipReport {
            name: clip.name.clone(),
            joints: clip.tracks.len(),
            samples: clip.samples,
            raw_bytes: clip.raw_bytes(),
            bytes: (compressed.bytes.len() + CHUNK_ENTRY_SIZE) as u64,
            tolerance: compressed.tolerance,
            max_error: compressed.max_error,
            rotations: compressed.rotations,
        });
    }
    Ok((chunks, reports))
}

/// A file of clips alone.
pub fn write(
    scene: &Scene,
    mut remarks: Vec<Remark>,
    target: &Path,
    options: &Options,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let (chunks, clips) = chunks(scene, options, &mut remarks, progress)?;
    if options.strict && !remarks.is_empty() {
        return Err(Error::Strict { remarks });
    }
    let description = Description {
        generator: concat!("meshreel ", env!("CARGO_PKG_VERSION")).into(),
        options: options.to_text(),
        unit: match options.unit.or(scene.unit) {
            None => 0,
            Some(Unit::Metre) => 1,
            Some(Unit::Centimetre) => 2,
            Some(Unit::Millimetre) => 3,
            Some(Unit::Inch) => 4,
        },
        fps: scene.fps.unwrap_or(0.0),
        ..Description::default()
    };
    let mut raw = Vec::new();
    meshreel_codec::record::encode(&description, &mut raw);
    let mut packed = Vec::new();
    Compressor::new(options.block, options.effort).compress(&raw, &mut packed);
    let raw_bytes = clips.iter().map(|clip| clip.raw_bytes).sum();
    let file_bytes = if options.dry_run {
        let stored: usize = chunks
            .iter()
            .map(|(.., bytes)| bytes.len() + CHUNK_ENTRY_SIZE)
            .sum();
        (stored + packed.len() + CHUNK_ENTRY_SIZE) as u64
            + HEADER_SIZE as u64
            + frame_table_size(&[])
    } else {
        let mut writer = Writer::create(target)?;
        for (kind, raw, bytes) in &chunks {
            writer.add_chunk(*kind, *raw, bytes)?;
        }
        writer.add_chunk(DESCRIPTION, raw.len() as u32, &packed)?;
        writer.finish(Summary {
            bounds: NOTHING,
            raw_bytes,
            flags: 0,
        })?
    };
    let kinds = |r: [usize; 5]| {
        let [default, constant, hinge, two, free] = r;
        format!(
            "rotations: {default} default, {constant} constant, {hinge} hinges, {two} of two axes, {free} free"
        )
    };
    let passes = clips.iter().map(|c| {
        (
            "clip".to_string(),
            format!("{}: {}", c.name, kinds(c.rotations)),
        )
    });
    Ok(Report {
        file_bytes,
        raw_bytes,
        passes: passes.collect(),
        remarks,
        clips,
        ..Report::default()
    })
}
