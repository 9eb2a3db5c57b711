//! Decoder, times and options that all channels of a decoded scene share.

use super::faces::FaceForm;
use super::frames::DecodedFrames;
use glam::DMat4;
use meshreel::MeshRig;
use meshreel_scene::TimeSampling;
use std::str::FromStr;
use std::sync::Arc;

/// The form of meshes that bones move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BoneForm {
    /// Decoded points, frame by frame.
    Points,
    /// A skin on the skeleton, which the skeleton's clips move, if the file has the mesh's rig and its clip
    /// shows the same as the frames; else a skin of the mesh's own bones if that alone keeps the promise;
    /// else points.
    #[default]
    Auto,
    /// A skin on the skeleton as with `Auto`, else points: for formats in which joints need a skeleton.
    Rigs,
    /// A skin of the mesh's bones, whatever that leaves out.
    Skins,
    /// Rigid parts as constant meshes below moving nodes; points in no part as points.
    Parts,
}

impl FromStr for BoneForm {
    type Err = String;
    fn from_str(text: &str) -> Result<BoneForm, String> {
        match text {
            "auto" => Ok(BoneForm::Auto),
            "points" => Ok(BoneForm::Points),
            "skins" => Ok(BoneForm::Skins),
            "parts" => Ok(BoneForm::Parts),
            _ => {
                Err(format!("'{text}' is no way to give bones back: give one of: auto, points, skins, parts"))
            }
        }
    }
}

/// Decoder, times and options that all channels of a scene share.
pub(super) struct Extraction {
    pub bones: BoneForm,
    pub faces: FaceForm,
    /// LOD level; 0 is the mesh itself.
    pub lod: usize,
    /// The rigs of meshes that clips move.
    pub rigs: Vec<ExtractedRig>,
    pub frames: Arc<DecodedFrames>,
    /// Times of the file's frames.
    pub times: Arc<TimeSampling>,
    /// The sampling of channels with one sample.
    pub constant: Arc<TimeSampling>,
}

/// A rig, and the matrices from its bind pose to the first frame, if known.
pub(super) struct ExtractedRig {
    pub rig: MeshRig,
    /// The rig's clip shows the same as the file's frames.
    pub shows_frames: bool,
    pub first_pose: Option<Vec<DMat4>>,
}
