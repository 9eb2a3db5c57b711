//! The player that streams all files of an app.

use crate::asset::{Reel, ReelSource};
use crate::surface::{SurfacePart, Vertices};
use bevy::platform::collections::HashMap;
use bevy::prelude::*;
use meshreel::{Error, FileId, InstanceId, Options, Player};
use std::sync::Arc;

/// The meshes of a mesh of a file, one for each part.
pub(crate) type PartMeshes = Vec<(SurfacePart, Handle<Mesh>)>;

/// The player that streams all files of the app, in a heap of fixed size.
#[derive(Resource, Debug)]
pub struct ReelRuntime {
    pub(crate) player: Player,
    files: HashMap<AssetId<Reel>, FileId>,
    pub(crate) entities: HashMap<InstanceId, Entity>,
    /// The meshes that do not change, by file, mesh and LOD level: all instances of a file share them.
    pub(crate) shared: HashMap<(FileId, usize, usize), PartMeshes>,
    /// The vertices of the mesh that was decoded last, on the way into meshes.
    pub(crate) vertices: Vertices,
    /// `true` if meshes can be computed on the card.
    pub(crate) has_card: bool,
    /// Files that the card cannot compute.
    pub(crate) not_on_card: Vec<FileId>,
}

impl ReelRuntime {
    /// Creates the player.
    pub(crate) fn new(options: Options) -> Result<ReelRuntime, Error> {
        Ok(ReelRuntime {
            player: Player::new(options)?,
            files: HashMap::default(),
            entities: HashMap::default(),
            shared: HashMap::default(),
            vertices: Vertices::default(),
            has_card: false,
            not_on_card: Vec::new(),
        })
    }

    /// Returns the player, for statistics and for what [`crate::ReelPlayer`] does not offer.
    pub fn player(&self) -> &Player {
        &self.player
    }

    /// See [`ReelRuntime::player`].
    pub fn player_mut(&mut self) -> &mut Player {
        &mut self.player
    }

    /// Returns the player's number of an asset, which is opened if it is not open.
    pub(crate) fn open(&mut self, id: AssetId<Reel>, reel: &Reel) -> FileId {
        if let Some(file) = self.files.get(&id) {
            return *file;
        }
        let file = match &reel.source {
            ReelSource::File(path) => self.player.open(path),
            ReelSource::Bytes(bytes) => {
                self.player.open_named_bytes(reel.tables().path(), Arc::new(bytes.clone()))
            }
        };
        self.files.insert(id, file);
        file
    }

    /// Closes the file of an asset; its instances show nothing any more.
    pub(crate) fn close(&mut self, id: AssetId<Reel>) {
        if let Some(file) = self.files.remove(&id) {
            self.player.close(file);
            self.forget_meshes(file);
            self.not_on_card.retain(|other| *other != file);
        }
    }

    /// `true` if the meshes of a file can be computed on the card.
    pub(crate) fn is_on_card(&self, file: FileId) -> bool {
        self.has_card && !self.not_on_card.contains(&file)
    }

    /// Drops the meshes that instances of a file share.
    pub(crate) fn forget_meshes(&mut self, file: FileId) {
        self.shared.retain(|(of, _, _), _| *of != file);
    }
}
