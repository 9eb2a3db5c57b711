//! Decoder, times and choices that all channels of a decoded scene share.

use super::faces::FaceForm;
use super::frames::Frames;
use glam::DMat4;
use meshreel::MeshRig;
use meshreel_scene::TimeSampling;
use std::sync::Arc;

/// How meshes that bones move come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum As {
    /// As the decoded points, frame by frame.
    Points,
    /// On their skeleton where the file has their rig, whose clip shows what its frames show, so that its clips
    /// move them; with their bones as a skin where these alone keep the promise; else as points.
    #[default]
    Auto,
    /// With their bones as a skin, whatever that leaves out.
    Skins,
    /// Rigid parts as constant meshes below nodes that move; what is of no part as points.
    Parts,
}

/// Decoder, times and choices that all channels of a scene share.
pub(super) struct Shared {
    pub bones: As,
    pub faces: FaceForm,
    /// LOD level; 0 is the mesh itself.
    pub lod: usize,
    /// The rigs of meshes that clips move.
    pub rigs: Vec<Rigged>,
    pub frames: Arc<Frames>,
    /// Times of the file's frames.
    pub times: Arc<TimeSampling>,
    /// The sampling of channels with one sample.
    pub constant: Arc<TimeSampling>,
}

/// A rig, and the matrices from its bind pose to the first frame, where that is known.
pub(super) struct Rigged {
    pub rig: MeshRig,
    /// Its clip shows what the file's frames show.
    pub shows_frames: bool,
    pub first: Option<Vec<DMat4>>,
}
