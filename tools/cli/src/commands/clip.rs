//! What `info` says of clips, in a `.reel` and in a source.

use crate::output::{Failure, one_line, table};
use crate::units;
use crate::units::ratio;
use meshreel::Reel;
use meshreel::clip::PoseSource;
use meshreel_codec::clip::record::Codec;
use meshreel_codec::clip::scalars::{Component, ScalarTrack};
use meshreel_codec::clip::{Rotation, Vector, curve};
use meshreel_compile::ClipReport;
use meshreel_format::CHUNK_ENTRY_SIZE;
use meshreel_scene::Scene;
use serde::Serialize;

/// A clip of one of our files.
#[derive(Serialize)]
pub struct ClipInfo {
    name: String,
    skeleton: String,
    joints: usize,
    pub(super) samples: usize,
    fps: f64,
    pub(super) start: f64,
    pub(super) duration: f64,
    codec: &'static str,
    /// guaranteed (every point of the metric, in object space), or local (each sub-track by itself).
    rule: &'static str,
    bytes: usize,
    ratio: f64,
    /// None of moving nodes: each mesh's own is kept.
    tolerance: Option<f64>,
    /// Joints with a tolerance of their own.
    joint_tolerances: usize,
    /// Samples from one restart to the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    restart: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Keys>,
    /// Bits per sample of the whole pose.
    bits_per_sample: f64,
    rotations: Kinds,
    translations: Kinds,
    scales: Kinds,
    /// The base first; none where it is in one piece.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    layers: Vec<Layer>,
    scalars: Vec<ScalarInfo>,
    markers: Vec<MarkerInfo>,
}

/// A layer of a clip.
#[derive(Serialize)]
struct Layer {
    name: String,
    joints: usize,
    stepped: usize,
    samples: usize,
    /// Samples per second, on average.
    rate: f64,
    stripped: usize,
    header_bytes: usize,
    /// Bytes of each tier.
    tiers: Vec<usize>,
    bits_per_value: f64,
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
struct ScalarInfo {
    name: String,
    components: usize,
    /// Of these, those that are not the same always.
    animated: usize,
}

/// An event.
#[derive(Serialize)]
struct MarkerInfo {
    name: String,
    /// Seconds after the first sample.
    time: f64,
}

fn scalar_info(track: &ScalarTrack) -> ScalarInfo {
    let animated = |c: &&Component| matches!(c, Component::Animated { .. });
    ScalarInfo {
        name: track.name.clone(),
        components: track.components.len(),
        animated: track.components.iter().filter(animated).count(),
    }
}

/// Keys of a clip in codec `curve`.
#[derive(Serialize)]
struct Keys {
    keys: usize,
    tracks: usize,
    knots: String,
    rotation_bits: u32,
}

/// Numbers of sub-tracks, by kind.
#[derive(Serialize, Default)]
struct Kinds {
    default: usize,
    constant: usize,
    #[serde(skip_serializing_if = "is_zero")]
    hinge: usize,
    #[serde(skip_serializing_if = "is_zero")]
    two_axes: usize,
    animated: usize,
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

    fn text(&self) -> String {
        let all = [
            (self.default, "default"),
            (self.constant, "constant"),
            (self.hinge, "hinge"),
            (self.two_axes, "two axes"),
            (self.animated, "free"),
        ];
        let there = all.iter().filter(|(n, _)| *n > 0);
        there.map(|(n, what)| format!("{n} {what}")).collect::<Vec<_>>().join(", ")
    }
}

/// All clips of a file.
pub fn infos(reel: &Reel) -> Result<Vec<ClipInfo>, Failure> {
    let clips = reel.clips()?;
    // Tables of layers, one for each clip that has some.
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

/// Moving nodes of meshes, which are a clip too.
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

/// As a table for people.
pub fn info_table(clips: &[ClipInfo]) -> String {
    let rows: Vec<Vec<String>> = clips
        .iter()
        .map(|clip| {
            vec![
                one_line(&clip.name),
                clip.joints.to_string(),
                units::count(clip.samples as u64),
                units::short(clip.fps),
                match &clip.keys {
                    Some(keys) => format!("curve, {} keys", units::count(keys.keys as u64)),
                    None => clip.codec.into(),
                },
                match (clip.rule, clip.tolerance) {
                    ("local", Some(t)) => format!("{} per sub-track", units::short(t)),
                    (_, Some(t)) => units::short(t),
                    (_, None) => "of each mesh".into(),
                },
                units::bytes(clip.bytes as u64),
                format!("{}:1", units::short(clip.ratio)),
                format!("{:.0}", clip.bits_per_sample),
                clip.rotations.text(),
            ]
        })
        .collect();
    let head = [
        "clip",
        "joints",
        "samples",
        "fps",
        "<codec",
        "tolerance",
        "bytes",
        "ratio",
        "bits/sample",
        "<rotations",
    ];
    let mut out = table(&head, &rows);
    let layers: Vec<Vec<String>> = (clips.iter())
        .flat_map(|clip| clip.layers.iter().map(move |layer| (clip, layer)))
        .map(|(clip, layer)| {
            let tiers = layer.tiers.iter().map(|b| units::bytes(*b as u64));
            vec![
                one_line(&clip.name),
                one_line(&layer.name),
                layer.joints.to_string(),
                units::count(layer.samples as u64),
                units::short(layer.rate),
                units::count(layer.stripped as u64),
                units::bytes(layer.header_bytes as u64),
                tiers.collect::<Vec<_>>().join(" + "),
                format!("{:.2}", layer.bits_per_value),
            ]
        })
        .collect();
    if !layers.is_empty() {
        let head =
            ["clip", "<layer", "joints", "samples", "fps", "stripped", "header", "<tiers", "bits/value"];
        out.push_str(&table(&head, &layers));
    }
    out
}

fn rule(local: bool) -> &'static str {
    if local { "local" } else { "guaranteed" }
}

/// Compiled clips, one in each line.
pub fn compiled_table(clips: &[ClipReport], most: usize) -> String {
    let row = |clip: &ClipReport| {
        vec![
            one_line(&clip.name),
            clip.joints.to_string(),
            units::count(clip.samples as u64),
            clip.codec.name().into(),
            match clip.local {
                true => format!("{} per sub-track", units::short(clip.tolerance)),
                false => units::short(clip.tolerance),
            },
            units::short(clip.max_error),
            units::bytes(clip.bytes),
            format!("{}:1", units::short(clip.ratio)),
        ]
    };
    let rows: Vec<Vec<String>> = clips.iter().take(most).map(row).collect();
    let head = ["clip", "joints", "samples", "<codec", "tolerance", "max error", "bytes", "ratio"];
    match rows.is_empty() {
        true => String::new(),
        false => table(&head, &rows),
    }
}

/// What was tried for each clip, for `--explain`.
pub fn tried_table(clips: &[ClipReport]) -> String {
    let mut rows = Vec::new();
    for clip in clips {
        for tried in &clip.tried {
            let count = |n: Option<usize>| n.map_or("–".into(), |n| units::count(n as u64));
            rows.push(vec![
                one_line(&clip.name),
                tried.codec.name().into(),
                tried.bytes.map_or("–".into(), units::bytes),
                tried.max_error.map_or("–".into(), units::short),
                count(tried.samples),
                count(tried.keys),
                format!("{:.3} s", tried.seconds),
                match (tried.codec == clip.codec, tried.bytes, tried.keys) {
                    (true, ..) => "chosen",
                    (_, Some(_), _) => "larger",
                    (_, None, None) => "given up: larger",
                    (_, None, Some(_)) => "cannot hold the tolerance",
                }
                .into(),
            ]);
        }
    }
    let head = ["clip", "<codec", "bytes", "max error", "samples", "keys", "time", "<choice"];
    table(&head, &rows)
}

/// A clip of a source.
#[derive(Serialize)]
pub struct SourceInfo {
    name: String,
    joints: usize,
    samples: usize,
    fps: f64,
    duration: f64,
    raw_bytes: u64,
}

/// All clips of a source.
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

/// As a table for people.
pub fn source_table(clips: &[SourceInfo]) -> String {
    let rows: Vec<Vec<String>> = clips
        .iter()
        .map(|clip| {
            vec![
                one_line(&clip.name),
                clip.joints.to_string(),
                units::count(clip.samples as u64),
                units::short(clip.fps),
                format!("{} s", units::short(clip.duration)),
                units::bytes(clip.raw_bytes),
            ]
        })
        .collect();
    table(&["clip", "joints", "samples", "fps", "duration", "raw"], &rows)
}
