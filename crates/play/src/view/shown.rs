//! What an instance shows, lent from the player's memory.

use crate::decode::mesh::MeshView;
use crate::reel::frame::Frame;
use crate::reel::open_file::Reel;
use crate::stream::heap::ReadGuard;
use crate::stream::ids::FileId;
use crate::stream::loaded::Loaded;
use crate::time::clock::Pace;
use crate::time::demand::FramePair;
use crate::view::frame_view::FrameView;
use meshreel_codec::record::Visibility;
use meshreel_codec::transform::Transform;
use std::sync::Arc;

/// Two decoded frames and what lies between them: what an instance shows.
#[derive(Clone)]
pub struct Shown {
    pub(crate) id: FileId,
    pub(crate) file: Arc<Loaded>,
    pub(crate) first: ReadGuard,
    pub(crate) second: ReadGuard,
    pub(crate) pair: FramePair,
    pub(crate) pace: Pace,
    pub(crate) late: bool,
}

impl Shown {
    /// The file.
    pub fn reel(&self) -> &Reel {
        &self.file.reel
    }
    /// The player's name of the file: with a frame's number the key of what was made of that frame elsewhere.
    pub fn file(&self) -> FileId {
        self.id
    }
    /// The frames, and how far between them.
    pub fn pair(&self) -> FramePair {
        self.pair
    }
    /// Both frames as one view for drawing: blended, placed, with velocities.
    pub fn view(&self) -> FrameView<'_> {
        let frames = [self.first().frame, self.second().frame].map(Some);
        FrameView::new(
            &self.file.reel,
            &self.file.statics,
            frames,
            self.pair,
            // What is late stands still.
            if self.late { Pace::default() } else { self.pace },
        )
    }
    /// This is not what should be shown, which is not there yet, but what was shown last.
    pub fn is_late(&self) -> bool {
        self.late
    }
    /// The frame at blend 0.
    pub fn first(&self) -> DecodedFrame<'_> {
        self.decoded(&self.first)
    }
    /// The frame at blend 1.
    pub fn second(&self) -> DecodedFrame<'_> {
        self.decoded(&self.second)
    }

    fn decoded<'a>(&'a self, words: &'a [u64]) -> DecodedFrame<'a> {
        DecodedFrame::new(&self.file, words)
    }
}

/// A decoded frame that an instance will show, lent from the player's memory as [`Shown`] is.
#[derive(Clone)]
pub struct Ahead {
    pub(crate) file: Arc<Loaded>,
    pub(crate) words: ReadGuard,
    pub(crate) frame: u32,
}

impl Ahead {
    /// Its number.
    pub fn number(&self) -> u32 {
        self.frame
    }
    /// What it has.
    pub fn frame(&self) -> DecodedFrame<'_> {
        DecodedFrame::new(&self.file, &self.words)
    }
}

/// One decoded frame, lent.
#[derive(Clone, Copy)]
pub struct DecodedFrame<'a> {
    file: &'a Loaded,
    pub(crate) frame: Frame<'a>,
}

impl<'a> DecodedFrame<'a> {
    fn new(file: &'a Loaded, words: &'a [u64]) -> DecodedFrame<'a> {
        let reel = &file.reel;
        DecodedFrame { file, frame: Frame { layout: reel.layout(), words: &words[..reel.frame_words()] } }
    }

    /// A mesh. Panics where there is no such mesh.
    pub fn mesh(&self, mesh: usize) -> MeshView<'a> {
        MeshView::new(&self.file.reel, &self.file.statics, mesh, Some(self.frame))
    }

    /// Whether a node's own mesh is shown. Panics where there is no such node.
    pub fn visible(&self, node: usize) -> bool {
        match self.file.reel.description().nodes[node].visibility {
            Visibility::Always => true,
            Visibility::Never => false,
            Visibility::Animated => {
                let bit = self.file.reel.layout().bits[node];
                bit.is_some_and(|bit| self.frame.visible(bit))
            }
        }
    }

    /// Transform of a node relative to its parent. Panics where there is no such node.
    pub fn transform(&self, node: usize) -> Transform {
        match self.file.reel.layout().transform_numbers[node] {
            Some(number) => self.frame.transforms()[number as usize],
            None => self.file.reel.description().nodes[node].rest,
        }
    }
}
