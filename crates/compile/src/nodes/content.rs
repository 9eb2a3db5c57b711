//! What is compiled: what nearly every pass needs to know.

use crate::tighter::Tighter;
use meshreel_options::Options;
use meshreel_options::by_path::ByPath;
use meshreel_process::Cancellation;
use meshreel_scene::{Placed, Scene};

/// A scene, its objects, the frames that are compiled, and what is asked.
#[derive(Clone, Copy)]
pub struct Content<'a> {
    /// The scene.
    pub scene: &'a Scene,
    /// The placed objects of the scene.
    pub placed: &'a [Placed],
    /// Seconds of each frame.
    pub times: &'a [f64],
    /// The options for everything.
    pub options: &'a Options,
    /// What is aimed at more closely than is promised.
    pub tighter: &'a Tighter,
    /// The options for single objects, by their paths.
    pub by_path: &'a ByPath<'a>,
    /// Ends the work with an error.
    pub cancellation: &'a Cancellation,
}
