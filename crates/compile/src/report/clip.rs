//! What became of clips and rigs: codecs, sizes and errors.

use meshreel_codec::clip::record::Codec;
use serde::{Serialize, Serializer};

/// What became of one clip.
#[derive(Clone, Debug, Default, Serialize)]
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
    /// `raw_bytes` over `bytes`.
    pub ratio: f64,
    /// The tolerance that is promised, in the file's unit.
    pub tolerance: f64,
    /// Largest error found, as decoded; of a joint with a tolerance of its own as a part of that, times
    /// `tolerance`.
    pub max_error: f64,
    /// Rotation sub-tracks: default, constant, hinge, two axes, free; not of codec `curve`.
    #[serde(skip)]
    pub rotations: [usize; 5],
    /// The codec that it is kept in.
    #[serde(serialize_with = "codec_name")]
    pub codec: Codec,
    /// Each sub-track by itself is within the tolerance; nothing is promised in object space.
    #[serde(rename = "rule", serialize_with = "rule_name")]
    pub local: bool,
    /// Samples and keys, where it is kept as curves.
    #[serde(flatten)]
    pub keys: Option<KeyCounts>,
    /// All codecs that were tried, for `--explain`.
    pub tried: Vec<ClipTried>,
    /// Its layers, the base first; none where it is in one piece.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerReport>,
    /// Its scalar tracks and markers.
    #[serde(flatten)]
    pub scalars: ScalarReport,
}

fn codec_name<S: Serializer>(codec: &Codec, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(codec.name())
}

fn rule_name<S: Serializer>(local: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *local { "local" } else { "guaranteed" })
}

/// How many keys stand for how many samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyCounts {
    /// Samples of animated sub-tracks in the source.
    #[serde(rename = "keys_before")]
    pub samples: usize,
    /// Keys that stand for them.
    pub keys: usize,
}

/// What became of a layer of a clip.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LayerReport {
    /// Name.
    pub name: String,
    /// Joints.
    pub joints: usize,
    /// Samples that it has.
    pub samples: usize,
    /// Samples of these that have no residuals.
    pub stripped: usize,
    /// Largest error at a sample without residuals.
    pub strip_error: f64,
    /// Bytes of its tiers.
    pub tiers: Vec<usize>,
    /// Bytes of its header.
    pub header_bytes: usize,
    /// Largest error at its other samples.
    pub max_error: f64,
}

/// One codec that was tried on a clip, for `--explain`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClipTried {
    /// The codec.
    #[serde(serialize_with = "codec_name")]
    pub codec: Codec,
    /// Bytes in the file, compressed; none where it gave up, because it would be larger or cannot hold the
    /// tolerance.
    pub bytes: Option<u64>,
    /// Largest error found, as decoded; none where it gave up.
    pub max_error: Option<f64>,
    /// Samples of animated sub-tracks; of codec `curve` alone, none where keys had become too many.
    #[serde(rename = "keys_before")]
    pub samples: Option<usize>,
    /// Keys that stand for these samples.
    pub keys: Option<usize>,
    /// Time that it took.
    pub seconds: f64,
}

impl ClipTried {
    /// Samples and keys, where it is of curves.
    pub fn key_counts(&self) -> Option<KeyCounts> {
        Some(KeyCounts { samples: self.samples?, keys: self.keys? })
    }
}

/// What became of the scalar tracks and markers of a clip.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScalarReport {
    /// Scalar tracks.
    #[serde(rename = "scalars")]
    pub tracks: usize,
    /// Markers.
    pub markers: usize,
    /// Largest error of any component, over its tolerance.
    #[serde(skip)]
    pub worst: f64,
    /// Bytes of the chunk.
    #[serde(rename = "scalar_bytes")]
    pub bytes: u64,
}

/// What became of a rig.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RigReport {
    /// Path of its mesh.
    pub path: String,
    /// Joints that the mesh hangs on.
    pub joints: usize,
    /// Points that it moves.
    pub points: usize,
    /// Clips of the skeleton.
    pub clips: usize,
    /// Bytes in the file, compressed.
    pub bytes: u64,
    /// The tolerance that is promised, in the file's unit.
    pub tolerance: f64,
    /// Largest distance found between a vertex that clips move and the source's, in the file's unit.
    pub max_error: f64,
}
