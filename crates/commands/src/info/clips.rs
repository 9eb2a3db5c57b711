//! Clips, of a `.reel` and of a source.

use super::ratio::ratio;
use crate::failure::Failure;
use meshreel::Reel;
use meshreel::raw::format::CHUNK_ENTRY_SIZE;
use meshreel_codec::clip::record::ClipCodec;
use meshreel_codec::clip::scalars::{ScalarComponent, ScalarTrack};
use meshreel_codec::clip::{RotationSubTrack, VectorSubTrack, curve};
use meshreel_scene::Scene;
use serde::Serialize;

/// A clip of a `.reel`.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct ClipInfo {
    pub name: String,
    pub skeleton: String,
    pub joints: usize,
    pub samples: usize,
    pub fps: f64,
    pub start: f64,
    pub duration: f64,
    pub codec: &'static str,
    /// "guaranteed" (every point of the metric, in object space) or "local" (each sub-track by itself).
    pub rule: &'static str,
    pub bytes: usize,
    pub ratio: f64,
    /// `None` for moving nodes, where each mesh keeps its own.
    pub tolerance: Option<f64>,
    /// Number of joints with a tolerance of their own.
    pub joint_tolerances: usize,
    /// Number of samples from one restart to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeyCounts>,
    /// Bits per sample of the whole pose.
    pub bits_per_sample: f64,
    pub rotations: SubTrackCounts,
    pub translations: SubTrackCounts,
    pub scales: SubTrackCounts,
    /// Clip layers, the base first; empty if the clip has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<ClipLayerInfo>,
    pub scalars: Vec<ScalarInfo>,
    pub markers: Vec<MarkerInfo>,
}

/// A layer of a clip.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct ClipLayerInfo {
    pub name: String,
    pub joints: usize,
    pub stepped: usize,
    pub samples: usize,
    /// Samples per second, on average.
    pub rate: f64,
    pub stripped: usize,
    pub header_bytes: usize,
    /// Size of each tier, in bytes.
    pub tiers: Vec<usize>,
    pub bits_per_value: f64,
}

impl ClipLayerInfo {
    fn from_clip(clip: &meshreel::clip::Clip) -> Vec<ClipLayerInfo> {
        let intervals = |samples: usize| samples.saturating_sub(1) as f64;
        (clip.layers().into_iter())
            .map(|layer| ClipLayerInfo {
                name: layer.name,
                joints: layer.joints.len(),
                stepped: layer.stepped.len(),
                rate: match clip.samples() {
                    1 => clip.fps(),
                    all => clip.fps() * intervals(layer.samples.len()) / intervals(all),
                },
                samples: layer.samples.len(),
                stripped: layer.stripped.iter().filter(|s| **s).count(),
                header_bytes: layer.header_bytes,
                tiers: layer.tiers,
                bits_per_value: layer.bits_per_value,
            })
            .collect()
    }
}

/// A scalar track.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct ScalarInfo {
    pub name: String,
    pub components: usize,
    /// Number of these that change over time.
    pub animated: usize,
}

/// A marker.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct MarkerInfo {
    pub name: String,
    /// Time in seconds after the first sample.
    pub time: f64,
}

fn scalar_info(track: &ScalarTrack) -> ScalarInfo {
    let animated = |c: &&ScalarComponent| matches!(c, ScalarComponent::Animated { .. });
    ScalarInfo {
        name: track.name.clone(),
        components: track.components.len(),
        animated: track.components.iter().filter(animated).count(),
    }
}

/// Keys of a clip of codec `curve`.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct KeyCounts {
    pub keys: usize,
    pub tracks: usize,
    pub knots: String,
    pub rotation_bits: u32,
}

/// Number of sub-tracks of each kind.
#[derive(Serialize, Default)]
#[allow(missing_docs)]
pub struct SubTrackCounts {
    pub default: usize,
    pub constant: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub hinge: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub two_axes: usize,
    pub animated: usize,
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl SubTrackCounts {
    fn count_rotations(all: &[RotationSubTrack]) -> SubTrackCounts {
        let mut kinds = SubTrackCounts::default();
        for rotation in all {
            match rotation {
                RotationSubTrack::Default => kinds.default += 1,
                RotationSubTrack::Constant(_) => kinds.constant += 1,
                RotationSubTrack::Hinge { .. } => kinds.hinge += 1,
                RotationSubTrack::TwoAxes { .. } => kinds.two_axes += 1,
                RotationSubTrack::Free => kinds.animated += 1,
            }
        }
        kinds
    }

    fn count_vectors(all: &[VectorSubTrack]) -> SubTrackCounts {
        let mut kinds = SubTrackCounts::default();
        for vector in all {
            match vector {
                VectorSubTrack::Default => kinds.default += 1,
                VectorSubTrack::Constant(_) => kinds.constant += 1,
                VectorSubTrack::Animated => kinds.animated += 1,
            }
        }
        kinds
    }

    fn count_curves(all: &[[curve::CurveSubTrack; 3]], part: curve::TransformPart) -> SubTrackCounts {
        let mut kinds = SubTrackCounts::default();
        for joint in all {
            match joint[part as usize] {
                curve::CurveSubTrack::Default => kinds.default += 1,
                curve::CurveSubTrack::Constant(_) => kinds.constant += 1,
                curve::CurveSubTrack::Animated(_) => kinds.animated += 1,
            }
        }
        kinds
    }
}

/// Returns all clips of a file.
pub fn infos(reel: &Reel) -> Result<Vec<ClipInfo>, Failure> {
    let clips = reel.clips()?;
    // Tables of clip layers, one for each clip that has layers.
    let mut tables = (reel.chunks().iter()).filter(|chunk| chunk.kind == meshreel::raw::format::kind::LAYERS);
    let info = |clip: &meshreel::clip::Clip| {
        let (samples, layers) = (clip.samples(), ClipLayerInfo::from_clip(clip));
        let table = (!layers.is_empty()).then(|| tables.next()).flatten();
        let table = table.map_or(0, |table| table.raw_size as usize + CHUNK_ENTRY_SIZE);
        let bytes = clip.file_bytes() + CHUNK_ENTRY_SIZE + table;
        let record = clip.record();
        let own = &clip.skeleton().tolerance;
        let mut info = ClipInfo {
            name: clip.name().into(),
            skeleton: clip.skeleton().name.clone(),
            joints: clip.joints(),
            samples,
            fps: clip.fps(),
            start: clip.start(),
            duration: clip.duration(),
            codec: record.codec.name(),
            rule: guarantee_name(record.per_sub_track),
            bytes,
            ratio: ratio(40 * (clip.joints() * samples) as u64, bytes as u64),
            tolerance: Some(record.tolerance),
            joint_tolerances: own.iter().filter(|t| **t > 0.0).count(),
            restart: None,
            keys: None,
            bits_per_sample: 8.0 * bytes as f64 / samples as f64,
            rotations: SubTrackCounts::default(),
            translations: SubTrackCounts::default(),
            scales: SubTrackCounts::default(),
            layers,
            scalars: clip.scalar_tracks().iter().map(scalar_info).collect(),
            markers: (clip.markers().iter())
                .map(|m| MarkerInfo { name: m.name.clone(), time: m.time })
                .collect(),
        };
        if let Some(header) = clip.sampled_header() {
            info.restart = clip.streamed().map(|_| 1 << header.segment_log2);
            info.rotations = SubTrackCounts::count_rotations(&header.rotations);
            info.translations = SubTrackCounts::count_vectors(&header.translations);
            info.scales = SubTrackCounts::count_vectors(&header.scales);
        }
        if let Some(curves) = clip.curves() {
            let head = &curves.head;
            info.keys = Some(KeyCounts {
                keys: curves.keys().len(),
                tracks: curves.tracks(),
                knots: format!("{:?}", head.knots).to_lowercase(),
                rotation_bits: if head.short_rotations { 32 } else { 48 },
            });
            info.rotations = SubTrackCounts::count_curves(&head.sub_tracks, curve::TransformPart::Rotation);
            info.translations =
                SubTrackCounts::count_curves(&head.sub_tracks, curve::TransformPart::Translation);
            info.scales = SubTrackCounts::count_curves(&head.sub_tracks, curve::TransformPart::Scale);
        }
        info
    };
    let mut out: Vec<ClipInfo> = clips.iter().map(info).collect();
    out.extend(nodes(reel)?);
    Ok(out)
}

/// Returns the moving nodes of meshes, which are stored as a clip too.
fn nodes(reel: &Reel) -> Result<Option<ClipInfo>, Failure> {
    let Some(nodes) = reel.moving_nodes()? else {
        return Ok(None);
    };
    let (samples, bytes) = (reel.frame_count(), nodes.bytes as usize);
    let start = reel.frames().first().map_or(0.0, |frame| frame.time);
    let kinds = |moves: usize| SubTrackCounts {
        default: nodes.count - moves,
        animated: moves,
        ..SubTrackCounts::default()
    };
    Ok(Some(ClipInfo {
        name: "nodes".into(),
        skeleton: String::new(),
        joints: nodes.count,
        samples,
        fps: reel.description().fps,
        start,
        duration: reel.frames().last().map_or(0.0, |frame| frame.time - start),
        codec: ClipCodec::Sampled.name(),
        rule: guarantee_name(false),
        bytes,
        ratio: ratio(40 * (nodes.count * samples) as u64, nodes.bytes),
        tolerance: None,
        joint_tolerances: 0,
        restart: Some(16 * reel.description().restart as usize),
        keys: None,
        bits_per_sample: 8.0 * bytes as f64 / samples.max(1) as f64,
        rotations: kinds(nodes.animated_counts[1]),
        translations: kinds(nodes.animated_counts[0]),
        scales: kinds(nodes.animated_counts[2]),
        layers: Vec::new(),
        scalars: Vec::new(),
        markers: Vec::new(),
    }))
}

fn guarantee_name(local: bool) -> &'static str {
    if local { "local" } else { "guaranteed" }
}

/// A clip of a source.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct SourceClipInfo {
    pub name: String,
    pub joints: usize,
    pub samples: usize,
    pub fps: f64,
    pub duration: f64,
    pub raw_bytes: u64,
}

/// Returns all clips of a source.
pub fn sources(scene: &Scene) -> Vec<SourceClipInfo> {
    let info = |clip: &meshreel_scene::Clip| SourceClipInfo {
        name: clip.name.clone(),
        joints: clip.tracks.len(),
        samples: clip.samples,
        fps: clip.fps,
        duration: clip.duration(),
        raw_bytes: clip.raw_bytes(),
    };
    scene.clips.iter().map(info).collect()
}
