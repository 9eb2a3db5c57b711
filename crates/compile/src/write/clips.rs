//! Skeletons and clips of a scene as chunks, and as a file of their own where there are no meshes.

use crate::clip::choice::{ChosenClip, Layers, compress_block, compress_clips};
use crate::clip::layer::LayeredClip;
use crate::clip::random_access::RandomAccessLayers;
use crate::clip::requested::{RequestedClips, RequestedSkeleton};
use crate::clip::tier_chunks::{pack_layers, pack_tiers};
use crate::codec_terms::block_format;
use crate::context::{CompileContext, Content, RequestedOptions};
use crate::mesh::plan::Plans;
use crate::mesh::streams::EMPTY_BOUNDS;
use crate::nodes::budget::Budget;
use crate::report::{ClipReport, KeyCounts, LayerReport, Log, PassReport, ScalarReport, TriedCodec};
use crate::rig::candidates;
use crate::rig::candidates::{EncodedRig, RigCandidate};
use crate::write::job::{Chunk, check_size, ratio};
use crate::{Error, Progress, Report};
use meshreel_codec::clip::layer;
use meshreel_codec::clip::layer::LayerTable;
use meshreel_codec::clip::record::{ClipCodec, ClipRecord, SkeletonRecord, encode_clip, encode_skeleton};
use meshreel_codec::entropy::block::{BlockFormat, Compressor};
use meshreel_codec::record::Description;
use meshreel_format::kind::{CLIP, DESCRIPTION, LAYERS, SCALARS, SKELETON, TIERS};
use meshreel_format::{CHUNK_ENTRY_SIZE, CompleteFile, HEADER_SIZE, Summary, Writer, frame_table_size};
use meshreel_options::{Options, RigChoice};
use meshreel_scene::{Clip, Joint, LengthUnit, Remark, Scene, Track};
use std::path::Path;

impl LayerReport {
    fn streamed(clip: &LayeredClip) -> Vec<LayerReport> {
        (clip.layers.iter().zip(&clip.table.layers).enumerate())
            .map(|(l, (layer, record))| {
                let header = layer::header_bytes(&layer.plan.header).len();
                let mut tiers: Vec<usize> = layer.tiers().iter().map(Vec::len).collect();
                tiers[0] = tiers[0].saturating_sub(header);
                let own = |of: &&u8| usize::from(**of) == l;
                LayerReport {
                    name: record.name.clone(),
                    joints: clip.table.joint_layers.iter().filter(own).count(),
                    samples: layer.plan.header.samples as usize,
                    stripped: layer.stripped.0,
                    strip_error: layer.stripped.1,
                    tiers,
                    header_bytes: header,
                    max_error: layer.max_error,
                }
            })
            .collect()
    }

    /// Reports the layers of a clip in the random-access form; `max_error` is that of all of them.
    fn random_access(clip: &RandomAccessLayers, max_error: f64) -> Vec<LayerReport> {
        let table = &clip.table;
        (clip.layers.iter().zip(&table.layers).enumerate())
            .map(|(l, (layer, record))| LayerReport {
                name: record.name.clone(),
                joints: table.joint_layers.iter().filter(|of| usize::from(**of) == l).count(),
                samples: table.samples as usize,
                tiers: vec![layer.body.len()],
                header_bytes: layer.header.len(),
                max_error,
                ..LayerReport::default()
            })
            .collect()
    }

    /// Reports layers in one stream, whose bytes are counted for the base layer.
    fn interleaved(table: &LayerTable, chosen: &ChosenClip) -> Vec<LayerReport> {
        (table.layers.iter().enumerate())
            .map(|(l, record)| LayerReport {
                name: record.name.clone(),
                joints: table.joint_layers.iter().filter(|of| usize::from(**of) == l).count(),
                samples: table.samples as usize,
                tiers: vec![if l == 0 { chosen.bytes.len() } else { 0 }],
                max_error: chosen.max_error,
                ..LayerReport::default()
            })
            .collect()
    }

    /// Reports the layers of a clip; empty if it has none.
    fn from_chosen(chosen: &ChosenClip) -> Vec<LayerReport> {
        match &chosen.layers {
            None => Vec::new(),
            Some(Layers::Streamed(clip)) => LayerReport::streamed(clip),
            Some(Layers::RandomAccess(clip)) => LayerReport::random_access(clip, chosen.max_error),
            Some(Layers::Interleaved(table)) => LayerReport::interleaved(table, chosen),
        }
    }
}

/// Rotation orders, by their number in a skeleton's record.
const ROTATION_ORDERS: [[u8; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

/// Returns the number of a joint's rotation order in its record; 0 stands for z, y, x, the usual one.
fn axis_order(joint: &Joint) -> u8 {
    let at = ROTATION_ORDERS.iter().position(|o| Some(*o) == joint.rotation_order);
    at.filter(|at| *at < 5).map_or(0, |at| at as u8 + 1)
}

/// Returns the sub-tracks of a clip that are held, by their numbers in its record.
fn held_tracks(clip: &Clip) -> Vec<u32> {
    let of = |track: &Track| [track.rotation.is_held(), track.translation.is_held(), track.scale.is_held()];
    let all = clip.tracks.iter().flat_map(of);
    (0u32..).zip(all).filter(|(_, held)| *held).map(|(n, _)| n).collect()
}

/// Compresses all clips of a scene: returns chunks in the order in which they are written, and a report of
/// each clip.
pub fn chunks(
    scene: &Scene,
    options: &Options,
    remarks: &mut Vec<Remark>,
    progress: &dyn Progress,
) -> Result<(Vec<Chunk>, Vec<ClipReport>), Error> {
    let clips = compile_clips(scene, (options, false), &[], remarks, progress)?;
    Ok((clips.chunks, clips.reports))
}

/// The clips of a scene, compressed.
#[derive(Default)]
pub struct CompiledClips {
    /// Skeletons, clips, scalar tracks, layers and tiers, in the order in which they are written.
    pub chunks: Vec<Chunk>,
    /// A report of each clip.
    pub reports: Vec<ClipReport>,
    /// The rigs that hold with these clips.
    pub rigs: Vec<EncodedRig>,
}

/// Compresses all clips of a scene, and the rigs of `candidates` that hold with them. `tighter`: uses half
/// the tolerance.
fn compile_clips(
    scene: &Scene,
    (options, tighter): (&Options, bool),
    candidates: &[RigCandidate<'_>],
    remarks: &mut Vec<Remark>,
    progress: &dyn Progress,
) -> Result<CompiledClips, Error> {
    let mut wanted = RequestedClips::new(scene, options, remarks)?;
    wanted.options.cancellation = progress.cancellation();
    if tighter {
        wanted.tighten();
    }
    let (compressed, rigs) = match candidates.is_empty() {
        true => (compress_clips(&wanted, options, progress)?, Vec::new()),
        false => crate::rig::clips::compress(&mut wanted, candidates, options, remarks, progress)?,
    };
    let mut chunks = ClipChunks { options, chunks: Vec::new() };
    for skeleton in &wanted.skeletons {
        let mut bytes = Vec::new();
        encode_skeleton(&skeleton_record(skeleton, wanted.options.shell), &mut bytes);
        chunks.add(SKELETON, &bytes, block_format(options.block));
    }
    let (tiers, tables) = pack_all_layers(&compressed)?;
    let mut reports = Vec::new();
    for (c, (clip, compressed)) in (0u32..).zip(wanted.clips.iter().zip(&compressed)) {
        let asked = wanted.skeleton_options(clip.skeleton).tolerance;
        if compressed.tolerance > asked {
            remarks.push(Remark::new(
                &clip.name,
                format!(
                    "the tolerance was raised to {}: f32 holds no more of coordinates so large",
                    compressed.tolerance
                ),
            ));
        }
        let bytes = chunks.add_clip(clip, compressed, asked)?;
        // Playing needs all of a table except the names of layers.
        let bytes = match tables.iter().find(|table| table.clip == c) {
            Some(table) => bytes + table.bytes.len() + table.tier_bytes + CHUNK_ENTRY_SIZE,
            None => bytes,
        };
        let scalars = chunks.add_scalars(clip, c as usize)?;
        let bytes = (bytes + CHUNK_ENTRY_SIZE) as u64;
        let own = compressed.tried.iter().find(|tried| tried.codec == compressed.codec);
        reports.push(ClipReport {
            name: clip.name.clone(),
            joints: clip.tracks.len(),
            samples: clip.samples,
            raw_bytes: clip.raw_bytes(),
            bytes,
            ratio: ratio(clip.raw_bytes(), bytes),
            tolerance: compressed.tolerance,
            max_error: compressed.max_error,
            rotations: compressed.rotations,
            codec: compressed.codec,
            local: compressed.local,
            keys: own.and_then(TriedCodec::key_counts),
            tried: compressed.tried.clone(),
            layers: LayerReport::from_chosen(compressed),
            scalars,
        });
    }
    for table in &tables {
        chunks.add(LAYERS, &table.bytes, block_format(options.block));
    }
    for tier in tiers {
        // Stored without compression: streamed data is decoded in place.
        chunks.chunks.push((TIERS, tier.len() as u32, tier));
    }
    Ok(CompiledClips { chunks: chunks.chunks, reports, rigs })
}

/// Returns the record of a skeleton; joints without a shell distance of their own get `shell`.
fn skeleton_record(wanted: &RequestedSkeleton, shell: f64) -> SkeletonRecord {
    let skeleton = &wanted.skeleton;
    let joints = crate::clip::Joints::new(skeleton, shell);
    SkeletonRecord {
        name: skeleton.name.clone(),
        names: skeleton.joints.iter().map(|j| j.name.clone()).collect(),
        parents: joints.parents,
        rest: joints.rest,
        shell: joints.shell,
        tolerance: wanted.tolerances.clone(),
        orders: skeleton.joints.iter().map(axis_order).collect(),
        end_sites: (skeleton.joints.iter())
            .map(|j| j.end_sites.iter().map(|e| e.to_array().map(|v| v as f32)).collect())
            .collect(),
    }
}

/// Packs the layers of all clips: chunks of their data, and tables.
fn pack_all_layers(clips: &[ChosenClip]) -> Result<(Vec<Vec<u8>>, Vec<EncodedTable>), Error> {
    let (mut streamed, mut whole, mut interleaved) = (Vec::new(), Vec::new(), Vec::new());
    for (c, done) in (0u32..).zip(clips) {
        match &done.layers {
            None => {}
            Some(Layers::Streamed(clip)) => streamed.push((c, clip)),
            Some(Layers::RandomAccess(clip)) => whole.push((c, clip)),
            Some(Layers::Interleaved(table)) => interleaved.push(LayerTable { clip: c, ..table.clone() }),
        }
    }
    let (mut chunks, mut tables) = pack_tiers(&streamed)?;
    tables.extend(pack_layers(&whole, &mut chunks));
    tables.extend(interleaved);
    Ok((chunks, tables.iter().map(EncodedTable::new).collect()))
}

/// The layer table of a clip as bytes.
struct EncodedTable {
    clip: u32,
    bytes: Vec<u8>,
    /// Bytes of all tiers except the first of the base layer, which is in the clip's own chunk.
    tier_bytes: usize,
}

impl EncodedTable {
    fn new(table: &LayerTable) -> EncodedTable {
        let mut bytes = Vec::new();
        layer::encode(table, &mut bytes);
        let tier_bytes = table.tier_parts.iter().map(|p| p.size as usize).sum();
        EncodedTable { clip: table.clip, bytes, tier_bytes }
    }
}

/// Chunks of skeletons and clips, block-compressed as they are added.
struct ClipChunks<'a> {
    options: &'a Options,
    chunks: Vec<Chunk>,
}

impl ClipChunks<'_> {
    /// Adds a chunk; returns its size in the file.
    fn add(&mut self, kind: u16, raw: &[u8], format: BlockFormat) -> usize {
        let bytes = compress_block(raw, format, self.options.effort);
        let size = bytes.len();
        self.chunks.push((kind, raw.len() as u32, bytes));
        size
    }

    /// Adds a clip with its record; returns the bytes that are counted for the clip.
    fn add_clip(&mut self, clip: &Clip, compressed: &ChosenClip, asked: f64) -> Result<usize, Error> {
        let record = ClipRecord {
            name: clip.name.clone(),
            skeleton: clip.skeleton as u32,
            codec: compressed.codec,
            per_sub_track: compressed.local,
            requested_tolerance: asked,
            tolerance: compressed.tolerance,
            held_sub_tracks: held_tracks(clip),
        };
        let mut bytes = Vec::new();
        encode_clip(&record, &compressed.bytes, &mut bytes);
        check_size("one clip", bytes.len())?;
        Ok(match compressed.codec {
            // Already coded or packed.
            ClipCodec::Sampled | ClipCodec::RandomAccess => {
                self.add(CLIP, &bytes, BlockFormat::Store);
                compressed.bytes.len()
            }
            ClipCodec::Curve => self.add(CLIP, &bytes, block_format(self.options.block)),
        })
    }

    /// Adds the scalar tracks of a clip, if it has any; returns their report.
    fn add_scalars(&mut self, clip: &Clip, number: usize) -> Result<ScalarReport, Error> {
        let tolerance = self.options.scalar_tolerance;
        let Some((bytes, report)) = crate::clip::scalars::encode_chunk(clip, number, tolerance)? else {
            return Ok(ScalarReport::default());
        };
        if !bytes.is_empty() {
            check_size("scalar tracks of one clip", bytes.len())?;
            self.add(SCALARS, &bytes, block_format(self.options.block));
        }
        Ok(report)
    }
}

/// Compresses the clips of a scene with meshes, and the rigs of its meshes that hold with them. With
/// `--strict`, remarks end the compile here, before anything is written.
pub fn compile_clips_and_rigs(
    content: &Content,
    plans: &Plans,
    budgets: &[Budget],
    progress: &dyn Progress,
    log: &mut Log,
) -> Result<CompiledClips, Error> {
    let Content { scene, options, times, .. } = content;
    let wanted = candidates::rig_candidates(scene, plans, budgets, times[0], options, &mut log.remarks)?;
    let clips = match scene.clips.is_empty() {
        true => CompiledClips::default(),
        false => {
            let how = (&**options, content.tighter.clips);
            compile_clips(scene, how, &wanted, &mut log.remarks, progress)?
        }
    };
    if options.strict && !log.remarks.is_empty() {
        return Err(Error::Strict { remarks: std::mem::take(&mut log.remarks) });
    }
    if options.rig == RigChoice::Only {
        candidates::none_missing(plans, &clips.rigs, &log.remarks)?;
    }
    Ok(clips)
}

/// Returns the size of the source clips, at 40 bytes per joint and sample.
pub fn raw_bytes(clips: &[ClipReport]) -> u64 {
    clips.iter().map(|clip| clip.raw_bytes).sum()
}

/// Returns all chunks of a file that holds only clips, the description last.
pub fn clip_file_chunks(
    scene: &Scene,
    context: &CompileContext<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<(Vec<Chunk>, Vec<ClipReport>), Error> {
    let RequestedOptions { promised, options, tighter } = &context.asked;
    let clips = compile_clips(scene, (options, tighter.clips), &[], remarks, context.progress)?;
    let (mut chunks, clips) = (clips.chunks, clips.reports);
    if options.strict && !remarks.is_empty() {
        return Err(Error::Strict { remarks: std::mem::take(remarks) });
    }
    let description = Description {
        generator: concat!("meshreel ", env!("CARGO_PKG_VERSION")).into(),
        options: promised.stored_text(None),
        unit: match options.unit.or(scene.unit) {
            None => 0,
            Some(LengthUnit::Metre) => 1,
            Some(LengthUnit::Centimetre) => 2,
            Some(LengthUnit::Millimetre) => 3,
            Some(LengthUnit::Inch) => 4,
        },
        fps: scene.fps.unwrap_or(0.0),
        ..Description::default()
    };
    let mut raw = Vec::new();
    meshreel_codec::record::encode(&description, &mut raw);
    let mut packed = Vec::new();
    Compressor::new(block_format(options.block), options.effort).compress_bounded(&raw, &mut packed);
    chunks.push((DESCRIPTION, raw.len() as u32, packed));
    Ok((chunks, clips))
}

/// Writes a file that holds only clips.
pub fn write_clip_file(
    scene: &Scene,
    mut remarks: Vec<Remark>,
    target: &Path,
    context: &CompileContext<'_>,
) -> Result<(Report, Option<CompleteFile>), Error> {
    let (chunks, clips) = clip_file_chunks(scene, context, &mut remarks)?;
    let raw_bytes = raw_bytes(&clips);
    context.cancellation.check()?;
    let (file_bytes, file) = if context.asked.options.dry_run {
        let stored: usize = chunks.iter().map(|(.., bytes)| bytes.len() + CHUNK_ENTRY_SIZE).sum();
        (stored as u64 + HEADER_SIZE as u64 + frame_table_size(&[]), None)
    } else {
        let mut writer = Writer::create(target)?;
        for (kind, raw, bytes) in &chunks {
            writer.add_chunk(*kind, *raw, bytes)?;
        }
        let summary = Summary { bounds: EMPTY_BOUNDS, raw_bytes, flags: 0 };
        let file = writer.complete(summary)?;
        (file.size(), Some(file))
    };
    let kinds = |clip: &ClipReport| {
        let [default, constant, hinge, two, free] = clip.rotations;
        match clip.codec {
            ClipCodec::Sampled | ClipCodec::RandomAccess => format!(
                "{}: {}; rotations: {default} default, {constant} constant, {hinge} hinges, {two} of two axes, {free} free",
                clip.name,
                clip.codec.name()
            ),
            ClipCodec::Curve => {
                let KeyCounts { samples, keys } = clip.keys.unwrap_or_default();
                format!("{}: curve; {keys} keys of {samples} samples", clip.name)
            }
        }
    };
    let passes = clips.iter().map(|c| PassReport { pass: "clip".into(), what: kinds(c) });
    let passes = passes.collect();
    Ok((Report { file_bytes, raw_bytes, passes, remarks, clips, ..Report::default() }, file))
}
