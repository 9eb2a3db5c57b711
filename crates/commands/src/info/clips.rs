//! Clips, of a `.reel` and of a source.

use super::ratio::ratio;
use crate::failure::Failure;
use meshreel::Reel;
use meshreel::clip::PoseSource;
use meshreel::format::CHUNK_ENTRY_SIZE;
use meshreel_codec::clip::record::Codec;
use meshreel_codec::clip::scalars::{Component, ScalarTrack};
use meshreel_codec::clip::{Rotation, Vector, curve};
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
    pub keys: Option<Keys>,
    /// Bits per sample of the whole pose.
    pub bits_per_sample: f64,
    pub rotations: Kinds,
    pub translations: Kinds,
    pub scales: Kinds,
    /// Clip layers, the base first; empty if the clip has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<Layer>,
    pub scalars: Vec<ScalarInfo>,
    pub markers: Vec<MarkerInfo>,
}

/// A layer of a clip.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct Layer {
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

impl Layer {
    fn all(clip: &meshreel::clip::Clip) -> Vec<Layer> {
        let intervals = |samples: usize| samples.saturating_sub(1) as f64;
        (clip.layers().into_iter())
            .map(|layer| Layer {
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
    let animated = |c: &&Component| matches!(c, Component::Animated { .. });
    ScalarInfo {
        name: track.name.clone(),
        components: track.components.len(),
        animated: track.components.iter().filter(animated).count(),
    }
}

/// Keys of a clip of codec `curve`.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct Keys {
    pub keys: usize,
    pub tracks: usize,
    pub knots: String,
    pub rotation_bits: u32,
}

/// Number of sub-tracks of each kind.
#[derive(Serialize, Default)]
#[allow(missing_docs)]
pub struct Kinds {
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

impl Kinds {
    fn rotations(all: &[Rotation]) -> Kinds {
        let mut kinds = Kinds::default();
        for rotation in all {
            match rotation {
                Rotation::Default => kinds.default += 1,
                Rotation::Constant(_) => kinds.constant += 1,
                Rotation::Hinge { .. } => kinds.hinge += 1,
                Rotation::TwoAxes { .. } => kinds.two_axes += 1,
                Rotation::Free => kinds.animated += 1,
            }
        }
        kinds
    }

    fn vectors(all: &[Vector]) -> Kinds {
        let mut kinds = Kinds::default();
        for vector in all {
            match vector {
                Vector::Default => kinds.default += 1,
                Vector::Constant(_) => kinds.constant += 1,
                Vector::Animated => kinds.animated += 1,
            }
        }
        kinds
    }

    fn curves(all: &[[curve::Kind; 3]], part: curve::Part) -> Kinds {
        let mut kinds = Kinds::default();
        for joint in all {
            match joint[part as usize] {
                curve::Kind::Default => kinds.default += 1,
                curve::Kind::Constant(_) => kinds.constant += 1,
                curve::Kind::Animated(_) => kinds.animated += 1,
            }
        }
        kinds
    }
}

/// Returns all clips of a file.
pub fn infos(reel: &Reel) -> Result<Vec<ClipInfo>, Failure> {
    let clips = reel.clips()?;
    // Tables of clip layers, one for each clip that has layers.
    let mut tables = (reel.chunks().iter()).filter(|chunk| chunk.kind == meshreel::kind::LAYERS);
    let info = |clip: &meshreel::clip::Clip| {
        let (samples, layers) = (clip.samples(), Layer::all(clip));
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
            rule: rule(record.local),
            bytes,
            ratio: ratio(40 * (clip.joints() * samples) as u64, bytes as u64),
            tolerance: Some(record.tolerance),
            joint_tolerances: own.iter().filter(|t| **t > 0.0).count(),
            restart: None,
            keys: None,
            bits_per_sample: 8.0 * bytes as f64 / samples as f64,
            rotations: Kinds::default(),
            translations: Kinds::default(),
            scales: Kinds::default(),
            layers,
            scalars: clip.scalar_tracks().iter().map(scalar_info).collect(),
            markers: (clip.markers().iter())
                .map(|m| MarkerInfo { name: m.name.clone(), time: m.time })
                .collect(),
        };
        if let Some(header) = clip.side() {
            info.restart = clip.streamed().map(|_| 1 << header.log);
            info.rotations = Kinds::rotations(&header.rotations);
            info.translations = Kinds::vectors(&header.translations);
            info.scales = Kinds::vectors(&header.scales);
        }
        if let Some(curves) = clip.curves() {
            let head = &curves.head;
            info.keys = Some(Keys {
                keys: curves.keys().len(),
                tracks: curves.tracks(),
                knots: format!("{:?}", head.knots).to_lowercase(),
                rotation_bits: if head.short { 32 } else { 48 },
            });
            info.rotations = Kinds::curves(&head.kinds, curve::Part::Rotation);
            info.translations = Kinds::curves(&head.kinds, curve::Part::Translation);
            info.scales = Kinds::curves(&head.kinds, curve::Part::Scale);
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
    let kinds = |moves: usize| Kinds { default: nodes.count - moves, animated: moves, ..Kinds::default() };
    Ok(Some(ClipInfo {
        name: "nodes".into(),
        skeleton: String::new(),
        joints: nodes.count,
        samples,
        fps: reel.description().fps,
        start,
        duration: reel.frames().last().map_or(0.0, |frame| frame.time - start),
        codec: Codec::Sampled.name(),
        rule: rule(false),
        bytes,
        ratio: ratio(40 * (nodes.count * samples) as u64, nodes.bytes),
        tolerance: None,
        joint_tolerances: 0,
        restart: Some(16 * reel.description().restart as usize),
        keys: None,
        bits_per_sample: 8.0 * bytes as f64 / samples.max(1) as f64,
        rotations: kinds(nodes.moves[1]),
        translations: kinds(nodes.moves[0]),
        scales: kinds(nodes.moves[2]),
        layers: Vec::new(),
        scalars: Vec::new(),
        markers: Vec::new(),
    }))
}

fn rule(local: bool) -> &'static str {
    if local { "local" } else { "guaranteed" }
}

/// A clip of a source.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct SourceInfo {
    pub name: String,
    pub joints: usize,
    pub samples: usize,
    pub fps: f64,
    pub duration: f64,
    pub raw_bytes: u64,
}

/// Returns all clips of a source.
pub fn sources(scene: &Scene) -> Vec<SourceInfo> {
    let info = |clip: &meshreel_scene::Clip| SourceInfo {
        name: clip.name.clone(),
        joints: clip.tracks.len(),
        samples: clip.samples,
        fps: clip.fps,
        duration: clip.duration(),
        raw_bytes: clip.raw_bytes(),
    };
    scene.clips.iter().map(info).collect()
}
