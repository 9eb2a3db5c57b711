//! A small game: an app with a folder of assets.

use bevy::asset::AssetPlugin;
use bevy::camera::visibility::VisibilityPlugin;
use bevy::diagnostic::DiagnosticsPlugin;
use bevy::mesh::MeshPlugin;
use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;
use bevy_meshreel::meshreel::{FrameDecoder, Limits, Options};
use bevy_meshreel::{
    MeshreelPlugin, ReelDiagnosticsPlugin, ReelEnded, ReelFailed, ReelInstance, ReelPlayer, ReelReady,
    ReelReplaced, ReelSurface,
};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The length of a frame of the game.
pub const FRAME: Duration = Duration::from_millis(20);
/// The frames after which something that should happen counts as missing.
const PATIENCE: usize = 1000;

pub struct Game {
    pub app: App,
    pub folder: TempDir,
}

/// What was triggered, with the entity.
#[derive(Resource, Default)]
pub struct Log(pub Vec<(Entity, String)>);

/// Returns a file of the repository's golden files.
pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0").join(name)
}

/// Returns a file of the conformance set.
pub fn conformance(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/conformance").join(name)
}

/// Returns a decoder of a golden file at a frame.
pub fn decoded(name: &str, frame: usize) -> FrameDecoder {
    let reel = bevy_meshreel::meshreel::Reel::open(golden(name), &Limits::default()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(frame).unwrap();
    decoder
}

impl Game {
    /// Creates a game whose assets are copies of golden files. All decoding happens within frames.
    pub fn new(files: &[&str]) -> Game {
        Game::with(files, Options::default().with_threads(0).with_read_threads(0))
    }

    pub fn with(files: &[&str], options: Options) -> Game {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            std::fs::copy(golden(file), folder.path().join(file)).unwrap();
        }
        let assets = AssetPlugin { file_path: folder.path().display().to_string(), ..default() };
        let mut app = App::new();
        app.add_plugins((MinimalPlugins, assets, TransformPlugin, MeshPlugin, VisibilityPlugin))
            .init_asset::<StandardMaterial>()
            .add_plugins((MeshreelPlugin { options, ..default() }, DiagnosticsPlugin, ReelDiagnosticsPlugin))
            .insert_resource(TimeUpdateStrategy::ManualDuration(FRAME))
            .init_resource::<Log>();
        app.add_observer(|e: On<ReelReady>, mut log: ResMut<Log>| log.0.push((e.entity, "ready".into())));
        app.add_observer(|e: On<ReelEnded>, mut log: ResMut<Log>| log.0.push((e.entity, "ended".into())));
        app.add_observer(|e: On<ReelReplaced>, mut log: ResMut<Log>| {
            log.0.push((e.entity, "replaced".into()))
        });
        app.add_observer(|e: On<ReelFailed>, mut log: ResMut<Log>| log.0.push((e.entity, e.error.clone())));
        app.finish();
        app.cleanup();
        Game { app, folder }
    }

    /// Spawns a player of an asset.
    pub fn spawn(&mut self, file: &str, with: impl FnOnce(ReelPlayer) -> ReelPlayer) -> Entity {
        let reel = self.app.world().resource::<AssetServer>().load(file.to_owned());
        self.app.world_mut().spawn(with(ReelPlayer::new(reel))).id()
    }

    /// Spawns a player, and waits until it is ready.
    pub fn ready(&mut self, file: &str, with: impl FnOnce(ReelPlayer) -> ReelPlayer) -> Entity {
        let entity = self.spawn(file, with);
        self.wait_for(entity, "ready");
        entity
    }

    pub fn frames(&mut self, count: usize) {
        (0..count).for_each(|_| self.app.update());
    }

    /// Waits until the log has a line of an entity that contains `what`; takes it from the log.
    pub fn wait_for(&mut self, entity: Entity, what: &str) -> String {
        for _ in 0..PATIENCE {
            self.app.update();
            let log = &mut self.app.world_mut().resource_mut::<Log>().0;
            if let Some(found) = log.iter().position(|(of, line)| *of == entity && line.contains(what)) {
                return log.remove(found).1;
            }
            // Assets are loaded, and files watched, by threads and clocks of their own.
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("{what} does not happen: {:?}", self.app.world().resource::<Log>().0);
    }

    pub fn log(&self) -> &[(Entity, String)] {
        &self.app.world().resource::<Log>().0
    }

    pub fn instance(&self, entity: Entity) -> &ReelInstance {
        self.app.world().get(entity).expect("an instance")
    }

    pub fn player(&mut self, entity: Entity) -> Mut<'_, ReelPlayer> {
        self.app.world_mut().get_mut(entity).expect("a player")
    }

    /// Returns the surfaces below an entity.
    pub fn surfaces(&mut self, entity: Entity) -> Vec<Entity> {
        let mut out = Vec::new();
        let mut open = vec![entity];
        while let Some(entity) = open.pop() {
            let entity = self.app.world().entity(entity);
            out.extend(entity.contains::<ReelSurface>().then_some(entity.id()));
            open.extend(entity.get::<Children>().into_iter().flat_map(|children| children.iter()));
        }
        out
    }

    /// Returns the mesh of a surface.
    pub fn mesh(&self, surface: Entity) -> &Mesh {
        let handle = self.app.world().get::<Mesh3d>(surface).expect("a mesh");
        self.app.world().resource::<Assets<Mesh>>().get(&handle.0).expect("a mesh")
    }
}
