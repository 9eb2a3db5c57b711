//! The input that nearly every pass needs.

use crate::tighter::Tightening;
use meshreel_options::Options;
use meshreel_options::by_path::ByPath;
use meshreel_process::Cancellation;
use meshreel_scene::{PlacedObject, Scene};

/// A scene, its objects, the frames that are compiled, and the options.
#[derive(Clone, Copy)]
pub struct Content<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// The placed objects of the scene.
    pub placed: &'a [PlacedObject],
    /// Time of each frame, in seconds.
    pub times: &'a [f64],
    /// The options for everything.
    pub options: &'a Options,
    /// Objects and streams that are coded with a smaller tolerance than the file stores.
    pub tighter: &'a Tightening,
    /// The options for single objects, by their paths.
    pub by_path: &'a ByPath<'a>,
    /// Cancels the work, which then ends with an error.
    pub cancellation: &'a Cancellation,
}
