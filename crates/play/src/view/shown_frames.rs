//! The frames that an instance shows, lent from the player's memory.

use crate::debug::impl_debug;
use crate::decode::mesh::MeshView;
use crate::reel::frame::FrameData;
use crate::reel::open_file::Reel;
use crate::stream::heap::ReadGuard;
use crate::stream::ids::FileId;
use crate::stream::loaded::LoadedFile;
use crate::time::clock::Pace;
use crate::time::demand::FramePair;
use crate::view::frame_view::FrameView;
use meshreel_codec::record::Visibility;
use meshreel_codec::transform::Transform;
use std::sync::Arc;

/// The two decoded frames that an instance shows, and the blend between them.
#[derive(Clone)]
pub struct ShownFrames {
    pub(crate) id: FileId,
    pub(crate) file: Arc<LoadedFile>,
    pub(crate) first: ReadGuard,
    pub(crate) second: ReadGuard,
    pub(crate) pair: FramePair,
    pub(crate) pace: Pace,
    pub(crate) late: bool,
}

impl_debug!("ShownFrames", ShownFrames, |shown| { file: shown.id, pair: shown.pair, late: shown.late });

impl ShownFrames {
    /// Returns the file.
    #[must_use]
    pub fn reel(&self) -> &Reel {
        &self.file.reel
    }
    /// Returns the player's id of the file. Together with a frame's number it is a key for data that is made
    /// of that frame elsewhere.
    #[must_use]
    pub fn file(&self) -> FileId {
        self.id
    }
    /// Returns the frames and the blend weight between them.
    pub fn pair(&self) -> FramePair {
        self.pair
    }
    /// Returns both frames as one view for drawing: blended, placed, with velocities.
    pub fn view(&self) -> FrameView<'_> {
        let frames = [self.first().frame, self.second().frame].map(Some);
        FrameView::new(
            &self.file.reel,
            &self.file.statics,
            frames,
            self.pair,
            // A late frame does not move.
            if self.late { Pace::default() } else { self.pace },
        )
    }
    /// `true` if the frame that should be shown is not there yet, and this is the one that was shown last.
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.late
    }
    /// Returns the frame at blend 0.
    pub fn first(&self) -> DecodedFrame<'_> {
        self.decoded(&self.first)
    }
    /// Returns the frame at blend 1.
    pub fn second(&self) -> DecodedFrame<'_> {
        self.decoded(&self.second)
    }

    fn decoded<'a>(&'a self, words: &'a [u64]) -> DecodedFrame<'a> {
        DecodedFrame::new(&self.file, words)
    }
}

/// A decoded frame that an instance will show, lent from the player's memory as [`ShownFrames`] is.
#[derive(Clone)]
pub struct UpcomingFrame {
    pub(crate) file: Arc<LoadedFile>,
    pub(crate) words: ReadGuard,
    pub(crate) frame: u32,
}

impl_debug!("UpcomingFrame", UpcomingFrame, |upcoming| { frame: upcoming.frame });

impl UpcomingFrame {
    /// Returns its number.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.frame
    }
    /// Returns its content.
    pub fn frame(&self) -> DecodedFrame<'_> {
        DecodedFrame::new(&self.file, &self.words)
    }
}

/// One decoded frame, lent.
#[derive(Clone, Copy)]
#[must_use]
pub struct DecodedFrame<'a> {
    file: &'a LoadedFile,
    pub(crate) frame: FrameData<'a>,
}

impl_debug!("DecodedFrame", DecodedFrame<'_>, |frame| { reel: frame.file.reel });

impl<'a> DecodedFrame<'a> {
    fn new(file: &'a LoadedFile, words: &'a [u64]) -> DecodedFrame<'a> {
        let reel = &file.reel;
        DecodedFrame { file, frame: FrameData { layout: reel.layout(), words: &words[..reel.frame_words()] } }
    }

    /// Returns a mesh. Panics if there is no such mesh.
    pub fn mesh(&self, mesh: usize) -> MeshView<'a> {
        MeshView::new(&self.file.reel, &self.file.statics, mesh, Some(self.frame))
    }

    /// `true` if a node's own mesh is shown. Panics if there is no such node.
    #[must_use]
    pub fn visible(&self, node: usize) -> bool {
        match self.file.reel.description().nodes[node].visibility {
            Visibility::Always => true,
            Visibility::Never => false,
            Visibility::Animated => {
                let bit = self.file.reel.layout().visibility_bits[node];
                bit.is_some_and(|bit| self.frame.visible(bit))
            }
        }
    }

    /// Returns the transform of a node relative to its parent. Panics if there is no such node.
    #[must_use]
    pub fn transform(&self, node: usize) -> Transform {
        match self.file.reel.layout().transform_indices[node] {
            Some(number) => self.frame.transforms()[number as usize],
            None => self.file.reel.description().nodes[node].rest,
        }
    }
}
