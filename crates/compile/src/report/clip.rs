//! The outcome for clips and rigs: codecs, sizes and errors.

use meshreel_codec::clip::record::ClipCodec;
use serde::{Serialize, Serializer};

/// The outcome for one clip.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ClipReport {
    /// Name of the clip.
    pub name: String,
    /// Number of joints of its skeleton.
    pub joints: usize,
    /// Number of samples.
    pub samples: usize,
    /// Size of the source, at 40 bytes per joint and sample.
    pub raw_bytes: u64,
    /// Bytes of everything that playing needs except names, parents and rest pose.
    pub bytes: u64,
    /// `raw_bytes` over `bytes`.
    pub ratio: f64,
    /// The tolerance that the file stores, in the file's unit.
    pub tolerance: f64,
    /// Largest decoding error found, in the file's unit; the error of a joint with its own tolerance counts
    /// as a fraction of that, times `tolerance`.
    pub max_error: f64,
    /// Rotation sub-tracks: default, constant, hinge, two axes, free; not for the codec `curve`.
    #[serde(skip)]
    pub rotations: [usize; 5],
    /// The codec that it is stored in.
    #[serde(serialize_with = "codec_name")]
    pub codec: ClipCodec,
    /// `true` if each sub-track by itself is within the tolerance; then nothing is guaranteed in object
    /// space.
    #[serde(rename = "rule", serialize_with = "rule_name")]
    pub local: bool,
    /// Samples and keys, if it is stored as curves.
    #[serde(flatten)]
    pub keys: Option<KeyCounts>,
    /// All codecs that were tried, for `--explain`.
    pub tried: Vec<TriedCodec>,
    /// Its layers, the base layer first; empty if it has no layers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<LayerReport>,
    /// Its scalar tracks and markers.
    #[serde(flatten)]
    pub scalars: ScalarReport,
}

fn codec_name<S: Serializer>(codec: &ClipCodec, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(codec.name())
}

fn rule_name<S: Serializer>(local: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *local { "local" } else { "guaranteed" })
}

/// The number of source samples, and of the keys that replace them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyCounts {
    /// Number of samples of animated sub-tracks in the source.
    #[serde(rename = "keys_before")]
    pub samples: usize,
    /// Number of keys that replace them.
    pub keys: usize,
}

/// The outcome for a layer of a clip.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LayerReport {
    /// Name of the layer.
    pub name: String,
    /// Number of joints.
    pub joints: usize,
    /// Number of its samples.
    pub samples: usize,
    /// Number of its samples without residuals.
    pub stripped: usize,
    /// Largest error at a sample without residuals.
    pub strip_error: f64,
    /// Bytes of each of its tiers.
    pub tiers: Vec<usize>,
    /// Bytes of its header.
    pub header_bytes: usize,
    /// Largest error at the other samples.
    pub max_error: f64,
}

/// One codec that was tried on a clip, for `--explain`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TriedCodec {
    /// The codec.
    #[serde(serialize_with = "codec_name")]
    pub codec: ClipCodec,
    /// Compressed bytes in the file; `None` if the codec gave up, because it would be larger or cannot hold
    /// the tolerance.
    pub bytes: Option<u64>,
    /// Largest decoding error found; `None` if the codec gave up.
    pub max_error: Option<f64>,
    /// Number of samples of animated sub-tracks; only for the codec `curve`, and `None` if it took too many
    /// keys.
    #[serde(rename = "keys_before")]
    pub samples: Option<usize>,
    /// Number of keys that replace these samples.
    pub keys: Option<usize>,
    /// Time taken, in seconds.
    pub seconds: f64,
}

impl TriedCodec {
    /// Samples and keys, if the codec is `curve`.
    pub fn key_counts(&self) -> Option<KeyCounts> {
        Some(KeyCounts { samples: self.samples?, keys: self.keys? })
    }
}

/// The outcome for the scalar tracks and markers of a clip.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScalarReport {
    /// Number of scalar tracks.
    #[serde(rename = "scalars")]
    pub tracks: usize,
    /// Number of markers.
    pub markers: usize,
    /// Largest error of any component, divided by its tolerance.
    #[serde(skip)]
    pub worst: f64,
    /// Bytes of the chunk that holds them.
    #[serde(rename = "scalar_bytes")]
    pub bytes: u64,
}

/// The outcome for a rig.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RigReport {
    /// Path of its mesh.
    pub path: String,
    /// Number of joints that move the mesh.
    pub joints: usize,
    /// Number of points that it moves.
    pub points: usize,
    /// Number of clips of the skeleton.
    pub clips: usize,
    /// Compressed bytes in the file.
    pub bytes: u64,
    /// The tolerance that the file stores, in the file's unit.
    pub tolerance: f64,
    /// Largest distance found between a vertex moved by clips and the reference, in the file's unit.
    pub max_error: f64,
}
