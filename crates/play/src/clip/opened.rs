//! Opened clips of any codec: what they are, and what they hold.

use super::layer::{LayerInfo, LayeredClip, damaged_layers, interleaved_infos};
use super::random_access::RandomAccessLayers;
use crate::Error;
use meshreel_codec::Corrupt;
use meshreel_codec::clip::ClipHeader;
use meshreel_codec::clip::curve::CurveClip;
use meshreel_codec::clip::layer::LayerTable;
use meshreel_codec::clip::record::{ClipCodec, ClipRecord, SkeletonRecord};
use meshreel_codec::clip::scalars::ScalarsRecord;
use meshreel_codec::clip::streamed::StreamedClip;
#[cfg(feature = "encode")]
use meshreel_codec::transform::Transform;
use std::path::PathBuf;
use std::sync::Arc;

/// An opened clip of any codec: of a file, of memory, or of a database whose layers and tiers are streamed.
/// Clones share its data. [`Clip::cursor`] plays it.
///
/// ```
/// use meshreel::clip::{Clip, Query};
/// use meshreel::{Error, Transform};
///
/// /// The pose in the middle of a clip.
/// fn middle(clip: &Clip, pose: &mut [Transform]) -> Result<(), Error> {
///     clip.cursor().pose(&Query::new(clip.duration() / 2.0), pose)
/// }
/// ```
#[derive(Clone)]
pub struct Clip {
    pub(super) shared: Arc<ClipData>,
    /// The number of tiers of each layer that are played; layers beyond the end of the list are played whole.
    pub(super) tiers: Arc<[usize]>,
}

pub(super) struct ClipData {
    pub path: PathBuf,
    pub record: ClipRecord,
    pub skeleton: Arc<SkeletonRecord>,
    pub form: ClipForm,
    pub bytes: usize,
    pub file_bytes: usize,
    pub scalars: ScalarsRecord,
}

/// The form that a clip has in the file.
#[allow(clippy::large_enum_variant)]
pub(super) enum ClipForm {
    /// A clip in one piece, or with layers that are interleaved.
    Sampled(StreamedClip, Option<Box<LayerTable>>),
    Curve(CurveClip),
    Layers(Box<LayeredClip>),
    RandomAccess(RandomAccessLayers),
}

impl std::fmt::Debug for Clip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Clip")
            .field("name", &self.name())
            .field("joints", &self.joints())
            .field("samples", &self.samples())
            .finish_non_exhaustive()
    }
}

impl Clip {
    /// Makes a clip in memory from raw local transforms, sample by sample all joints of `skeleton`. It uses
    /// 48 bits per rotation and three times 16 per vector, without a search, so it is fast enough for
    /// loading. Rotations are exact to 10⁻⁴ rad, vectors to a 2¹⁷th of the clip's range. A misuse error if
    /// the poses are no whole samples, more than 65,536, or not finite.
    #[cfg(feature = "encode")]
    pub fn from_poses(
        skeleton: &Arc<SkeletonRecord>,
        name: &str,
        poses: &[Transform],
        fps: f64,
    ) -> Result<Clip, Error> {
        let wrong = |c: Corrupt| Error::misuse(format!("clip {name}: {}", c.0));
        skeleton.skeleton().check().map_err(wrong)?;
        let curves =
            meshreel_codec::clip::curve::from_poses(&skeleton.skeleton(), poses, fps, 0.0).map_err(wrong)?;
        let bytes = curves.memory_bytes();
        Ok(Clip::in_memory(skeleton, name, ClipCodec::Curve, ClipForm::Curve(curves), bytes))
    }

    /// Opens a clip of codec `random-access` from memory and checks all its bytes: one encoding per layer,
    /// the base first. Errors name the place "(memory)". A misuse error if there is no layer, if layers have
    /// different samples or rates, or if two have the same joint.
    pub fn from_random_access(skeleton: &Arc<SkeletonRecord>, layers: &[&[u8]]) -> Result<Clip, Error> {
        let form = RandomAccessLayers::from_memory(skeleton, layers)?;
        let bytes = form.memory_bytes();
        let codec = ClipCodec::RandomAccess;
        Ok(Clip::in_memory(skeleton, "", codec, ClipForm::RandomAccess(form), bytes))
    }

    fn in_memory(
        skeleton: &Arc<SkeletonRecord>,
        name: &str,
        codec: ClipCodec,
        form: ClipForm,
        bytes: usize,
    ) -> Clip {
        let record = ClipRecord { name: name.into(), codec, per_sub_track: true, ..ClipRecord::default() };
        let shared = Arc::new(ClipData {
            path: super::IN_MEMORY.into(),
            record,
            skeleton: skeleton.clone(),
            form,
            bytes,
            file_bytes: 0,
            scalars: ScalarsRecord::default(),
        });
        Clip { shared, tiers: Arc::new([]) }
    }

    /// Returns its name; empty if it has none.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.record.name
    }

    /// Returns its skeleton: names, parents, rest pose.
    #[must_use]
    pub fn skeleton(&self) -> &SkeletonRecord {
        &self.shared.skeleton
    }

    /// Returns the number of joints, which is the length of a pose.
    #[must_use]
    pub fn joints(&self) -> usize {
        self.shared.skeleton.parents.len()
    }

    /// Returns the number of samples, at least 1.
    #[must_use]
    pub fn samples(&self) -> usize {
        self.shared.form.timing().0
    }

    /// Returns the samples per second.
    #[must_use]
    pub fn fps(&self) -> f64 {
        self.shared.form.timing().1
    }

    /// Returns the time of sample 0 in seconds; the times of [`Query`](super::Query) are relative to it.
    #[must_use]
    pub fn start(&self) -> f64 {
        self.shared.form.timing().2
    }

    /// Returns the seconds from the first to the last sample.
    #[must_use]
    pub fn duration(&self) -> f64 {
        (self.samples() - 1) as f64 / self.fps()
    }

    /// Returns the layer of a joint: 0 for the base, others are cosmetic; 0 if there are no layers. `None` if
    /// there is no such joint.
    #[must_use]
    pub fn joint_layer(&self, joint: usize) -> Option<u8> {
        match &self.shared.form {
            ClipForm::Layers(layers) => layers.set.table.joint_layers.get(joint).copied(),
            ClipForm::Sampled(_, Some(table)) => table.joint_layers.get(joint).copied(),
            ClipForm::RandomAccess(form) => form.joint_layer(joint),
            _ => (joint < self.joints()).then_some(0),
        }
    }

    /// Returns the clip's record in the file: its name, codec and guaranteed tolerance.
    #[must_use]
    pub fn record(&self) -> &ClipRecord {
        &self.shared.record
    }

    /// Returns the bytes of the streamed form, of the random-access form, or of the curves in memory.
    #[must_use]
    pub fn form_bytes(&self) -> usize {
        self.shared.bytes
    }

    /// Returns the bytes that it takes in the file, where its chunk may be compressed, with its streamed
    /// pieces and without tables of layers.
    #[must_use]
    pub fn file_bytes(&self) -> usize {
        self.shared.file_bytes
    }

    /// Returns the side information and residuals of codec `sampled`, for tools that print the content of a
    /// clip; of the base for a clip in layers.
    #[must_use]
    pub fn streamed(&self) -> Option<&StreamedClip> {
        match &self.shared.form {
            ClipForm::Sampled(stored, _) => Some(stored),
            ClipForm::Layers(layers) => Some(&layers.base),
            ClipForm::Curve(_) | ClipForm::RandomAccess(_) => None,
        }
    }

    /// Returns the side information of the codecs of uniform samples, `sampled` and `random-access`: kinds of
    /// sub-tracks and quantization steps; of the base for a clip in layers.
    #[must_use]
    pub fn sampled_header(&self) -> Option<&ClipHeader> {
        match &self.shared.form {
            ClipForm::RandomAccess(form) => Some(&form.base().layout.header),
            _ => self.streamed().map(|stored| &stored.layout.header),
        }
    }

    /// Returns the keys of codec `curve`; `None` for other codecs.
    #[must_use]
    pub fn curves(&self) -> Option<&CurveClip> {
        match &self.shared.form {
            ClipForm::Curve(curves) => Some(curves),
            _ => None,
        }
    }

    /// Returns the joints, samples and sizes of each layer; empty if there are none.
    #[must_use]
    pub fn layers(&self) -> Vec<LayerInfo> {
        match &self.shared.form {
            ClipForm::Layers(layers) => layers.infos(),
            ClipForm::RandomAccess(form) => form.infos(),
            ClipForm::Sampled(stored, Some(table)) => interleaved_infos(table, stored),
            _ => Vec::new(),
        }
    }

    /// Returns the clip limited to `tiers[l]` tiers of each layer `l`. With 0 the layer is not played, so
    /// that its joints are in the bind pose. Layers beyond the list are played whole.
    #[must_use]
    pub fn with_tiers(&self, tiers: &[usize]) -> Clip {
        Clip { shared: self.shared.clone(), tiers: tiers.into() }
    }

    /// Returns all layers as one clip of codec `sampled`, in the streamed form: the same poses, but no longer
    /// separable while it plays. `None` if there are no layers, and for other codecs.
    #[cfg(feature = "encode")]
    pub fn merged(&self) -> Option<Result<Vec<u8>, Error>> {
        let merged = match &self.shared.form {
            ClipForm::Layers(layers) => layers.merged(&self.shared.skeleton.skeleton()),
            ClipForm::Sampled(stored, Some(_)) => Ok(stored.to_bytes()),
            _ => return None,
        };
        Some(merged.map_err(|c| self.damaged(c)))
    }

    /// Returns the error for a clip whose layers are damaged.
    pub(super) fn damaged(&self, c: Corrupt) -> Error {
        damaged_layers(&self.shared.path, self.name(), c)
    }
}

impl ClipForm {
    /// Returns the number of samples, their rate per second, and the time of the first in seconds.
    #[inline]
    pub fn timing(&self) -> (usize, f64, f64) {
        let of_header = |header: &ClipHeader| (header.samples as usize, header.fps, header.start);
        match self {
            ClipForm::Sampled(stored, _) => of_header(&stored.layout.header),
            ClipForm::RandomAccess(form) => of_header(&form.base().layout.header),
            ClipForm::Curve(curves) => (curves.head.samples as usize, curves.head.fps, curves.head.start),
            ClipForm::Layers(layers) => (layers.set.samples(), layers.set.fps, layers.set.start),
        }
    }
}
