//! The source of the frames.

use meshreel::{DecodedFrame, FrameDecoder, FrameView, MeshView, ShownFrames};

/// The source of the frames: what an instance shows, or two decoders.
pub trait FrameSource {
    /// Returns both frames as one view.
    fn view(&self) -> FrameView<'_>;
    /// Returns a mesh in the first frame, or in the second.
    fn mesh(&self, second: bool, mesh: usize) -> MeshView<'_>;
}

impl FrameSource for ShownFrames {
    fn view(&self) -> FrameView<'_> {
        ShownFrames::view(self)
    }
    fn mesh(&self, second: bool, mesh: usize) -> MeshView<'_> {
        let frame: DecodedFrame<'_> = if second { self.second() } else { self.first() };
        frame.mesh(mesh)
    }
}

/// Two decoders of one file, with the view between their frames.
#[derive(Clone, Copy, Debug)]
pub struct DecoderPair<'a> {
    /// The frame at blend 0.
    pub first: &'a FrameDecoder,
    /// The frame at blend 1.
    pub second: &'a FrameDecoder,
    /// The view between both.
    pub view: FrameView<'a>,
}

impl FrameSource for DecoderPair<'_> {
    fn view(&self) -> FrameView<'_> {
        self.view
    }
    fn mesh(&self, second: bool, mesh: usize) -> MeshView<'_> {
        if second { self.second.mesh(mesh) } else { self.first.mesh(mesh) }
    }
}
