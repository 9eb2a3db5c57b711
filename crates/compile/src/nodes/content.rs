//! The input that nearly every pass needs.

use crate::Error;
use crate::tighter::{RequestedOptions, Tightening};
use meshreel_options::Options;
use meshreel_options::by_path::ByPath;
use meshreel_process::Cancellation;
use meshreel_process::remesh::Remeshed;
use meshreel_scene::{PlacedObject, Scene};
use std::sync::Arc;

/// A scene, its objects, the frames that are compiled, and the options. A copy shares all of them.
#[derive(Clone)]
pub struct Content {
    /// The scene.
    pub scene: Arc<Scene>,
    /// By mesh, its fixed faces, if it was re-meshed; empty if none was.
    pub remeshed: Arc<[Option<Arc<Remeshed>>]>,
    /// The placed objects of the scene.
    pub placed: Arc<[PlacedObject]>,
    /// Time of each frame, in seconds.
    pub times: Arc<[f64]>,
    /// The options for everything.
    pub options: Arc<Options>,
    /// Objects and streams that are coded with a smaller tolerance than the file stores.
    pub tighter: Arc<Tightening>,
    /// The options for single objects, by their paths.
    pub by_path: Arc<ByPath>,
    /// Cancels the work, which then ends with an error.
    pub cancellation: Cancellation,
}

impl Content {
    /// Returns the content of a scene, with no frames yet.
    pub(crate) fn new(
        scene: Arc<Scene>,
        asked: &RequestedOptions,
        cancellation: &Cancellation,
    ) -> Result<Content, Error> {
        Ok(Content {
            placed: scene.expand()?.into(),
            scene,
            remeshed: Arc::default(),
            times: Arc::default(),
            by_path: Arc::new(ByPath::new(asked.options.clone())?),
            options: asked.options.clone(),
            tighter: asked.tighter.clone(),
            cancellation: cancellation.clone(),
        })
    }
}
