//! The plugin: opens files, passes commands on, and moves all players on once a frame.

use crate::asset::{Reel, ReelLoader};
use crate::card;
use crate::clips::{play_clips, start_clips};
use crate::distance::{apply_policies, choose_levels};
use crate::event::{ReelEnded, ReelFailed, ReelReplaced, fail};
use crate::hierarchy::{ReelCopy, ReelInstance};
use crate::materials::PlainMaterial;
use crate::player::ReelPlayer;
use crate::runtime::ReelRuntime;
use crate::sequence::run_sequences;
use crate::show::{show_frames, spawn_copies, spawn_players};
use bevy::asset::{AssetEventSystems, AssetLoadFailedEvent, AssetPlugin};
use bevy::camera::visibility::VisibilitySystems;
use bevy::ecs::entity::EntityHashSet;
use bevy::prelude::*;
use meshreel::time::Clock;
use meshreel::{Command, Event, FileId, Options};

/// Plays `.reel` files: add it after `DefaultPlugins`, or after those of assets, meshes and materials.
#[derive(Debug, Clone)]
pub struct MeshreelPlugin {
    /// The size of the heap, threads and limits. Files are watched if assets are.
    pub options: Options,
    /// `true`, the default: vertices are computed on the graphics card where it can; else all are on the CPU.
    pub card: bool,
}

impl Default for MeshreelPlugin {
    fn default() -> MeshreelPlugin {
        MeshreelPlugin { options: Options::default(), card: true }
    }
}

/// The order in which a frame is made, in `PostUpdate`, before transforms are propagated.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
pub enum ReelSystems {
    /// Files are opened, commands passed on, and clocks moved.
    Tick,
    /// Entities are spawned and moved, and meshes written.
    Show,
}

impl Plugin for MeshreelPlugin {
    fn build(&self, app: &mut App) {
        let folder = app.get_added_plugins::<AssetPlugin>().first().map(|plugin| plugin.file_path.clone());
        let watches = app.world().get_resource::<AssetServer>().is_some_and(|a| a.watching_for_changes());
        let options = self.options.clone();
        let options = if watches { options.with_watch(true) } else { options };
        let limits = options.file_limits();
        app.init_asset::<Reel>()
            .register_asset_loader(ReelLoader::new(folder.as_deref().unwrap_or("assets"), limits));
        match ReelRuntime::new(options) {
            Ok(runtime) => app.insert_resource(runtime),
            // Without it no system runs, and the game goes on.
            Err(error) => return error!("no .reel file can be played: {error}"),
        };
        app.init_resource::<PlainMaterial>()
            .add_observer(remove_player)
            .add_observer(remove_instance)
            .add_systems(
                PostUpdate,
                (
                    (
                        close_files,
                        report_failed_assets,
                        run_sequences,
                        start_players,
                        command_players,
                        apply_policies,
                        tick,
                        report_events,
                    )
                        .chain()
                        .in_set(ReelSystems::Tick),
                    (spawn_players, spawn_copies, choose_levels, show_frames, start_clips, play_clips)
                        .chain()
                        .in_set(ReelSystems::Show),
                ),
            );
        app.configure_sets(
            PostUpdate,
            (ReelSystems::Tick, ReelSystems::Show)
                .chain()
                .before(TransformSystems::Propagate)
                .before(VisibilitySystems::VisibilityPropagate)
                .before(AssetEventSystems),
        );
    }

    fn finish(&self, app: &mut App) {
        let has_card = self.card && card::prepare(app);
        if let Some(mut runtime) = app.world_mut().get_resource_mut::<ReelRuntime>() {
            runtime.has_card = has_card;
        }
    }
}

/// Closes files whose assets are gone, and opens those anew that were replaced in memory; a file on the disk
/// is watched by the player.
fn close_files(
    mut events: MessageReader<AssetEvent<Reel>>,
    mut runtime: ResMut<ReelRuntime>,
    reels: Res<Assets<Reel>>,
    mut players: Query<(Entity, &mut ReelPlayer, &mut ReelInstance)>,
    mut commands: Commands,
) {
    for event in events.read() {
        let id = match event {
            AssetEvent::Removed { id } => *id,
            AssetEvent::Modified { id } if reels.get(*id).is_some_and(|reel| !reel.is_file()) => *id,
            _ => continue,
        };
        let of_asset = players.iter_mut().filter(|(_, _, instance)| instance.reel == id);
        for (entity, mut player, mut instance) in of_asset {
            let clock = runtime.player.clock(instance.id);
            let position = clock.map(|clock| Command::GoTo(clock.position()));
            player.commands.splice(0..0, settings(clock).into_iter().chain(position));
            instance.despawn(&mut commands);
            if matches!(event, AssetEvent::Modified { .. }) {
                commands.trigger(ReelReplaced { entity });
            }
        }
        runtime.close(id);
    }
}

/// Reports assets that could not be loaded.
fn report_failed_assets(
    mut failed: MessageReader<AssetLoadFailedEvent<Reel>>,
    players: Query<(Entity, &ReelPlayer)>,
    mut commands: Commands,
) {
    for event in failed.read() {
        for (entity, _) in players.iter().filter(|(_, player)| player.reel.id() == event.id) {
            // The asset server has logged it.
            commands.trigger(ReelFailed { entity, error: format!("{}: {}", event.path, event.error) });
        }
    }
}

/// Returns the commands after which a new clock behaves as one did; none for one that has had no commands.
fn settings(clock: Option<&Clock>) -> Vec<Command> {
    let Some(clock) = clock else { return Vec::new() };
    let plays = if clock.playing() { Command::Play } else { Command::Pause };
    vec![Command::Repeat(clock.repeat()), Command::Rate(clock.rate()), plays]
}

/// Creates an instance for each player whose file is loaded and has none.
fn start_players(
    mut commands: Commands,
    mut runtime: ResMut<ReelRuntime>,
    reels: Res<Assets<Reel>>,
    mut players: Query<(Entity, &mut ReelPlayer, Option<&ReelInstance>)>,
) {
    for (entity, mut player, instance) in &mut players {
        let id = player.reel.id();
        if let Some(instance) = instance {
            let is_open = runtime.player.name(instance.file).is_some();
            if instance.reel == id && is_open {
                continue;
            }
            if instance.reel != id {
                let settings = settings(runtime.player.clock(instance.id));
                player.bypass_change_detection().commands.splice(0..0, settings);
            }
            commands.entity(entity).remove::<ReelInstance>();
        }
        let Some(reel) = reels.get(id) else { continue };
        let file = runtime.open(id, reel);
        let Some(number) = runtime.player.add_instance(file) else { continue };
        runtime.entities.insert(number, entity);
        commands.entity(entity).insert(ReelInstance::new(number, file, id));
    }
}

/// Gives the commands of players to their clocks.
fn command_players(
    mut runtime: ResMut<ReelRuntime>,
    mut players: Query<(Entity, &mut ReelPlayer, &ReelInstance, &InheritedVisibility)>,
    copies: Query<&ReelCopy>,
    mut copied: Local<EntityHashSet>,
) {
    copied.clear();
    copied.extend(copies.iter().map(ReelCopy::player));
    for (entity, mut player, instance, visible) in &mut players {
        // A hidden instance asks for no frames; until it has entities, its visibility is not known.
        let is_new = instance.entities.root.is_none();
        runtime.player.set_visible(instance.id, visible.get() || copied.contains(&entity) || is_new);
        // Before its file is open, a player keeps its commands: the file may yet be another.
        if runtime.player.clock(instance.id).is_some() && !player.commands.is_empty() {
            for command in player.bypass_change_detection().commands.drain(..) {
                runtime.player.command(instance.id, command);
            }
        }
    }
}

fn tick(time: Res<Time>, mut runtime: ResMut<ReelRuntime>) {
    runtime.player.tick(time.delta_secs_f64());
}

/// Triggers what the player reports.
fn report_events(
    mut commands: Commands,
    mut runtime: ResMut<ReelRuntime>,
    mut players: Query<(Entity, &mut ReelInstance)>,
) {
    while let Some(event) = runtime.player.next_event() {
        let mut fail_all = |file: FileId, error: &dyn std::fmt::Display| {
            let of_file = players.iter().filter(|(_, instance)| instance.file == file);
            for (entity, _) in of_file {
                fail(&mut commands, entity, error);
            }
        };
        match event {
            Event::OpenFailed(file, error) | Event::Damaged(file, error) => fail_all(file, &error),
            Event::ReadFailed(file, error) => {
                let name = runtime.player.name(file).unwrap_or("(closed)".as_ref()).display().to_string();
                fail_all(file, &format!("{name}: reading: {error}"));
            }
            Event::NoFrames(file) => {
                let name = runtime.player.name(file).unwrap_or("(closed)".as_ref()).display().to_string();
                fail_all(
                    file,
                    &format!("{name}: it has no frames, only clips, which a game samples by itself"),
                );
            }
            Event::Refused { instance, needed, left } => {
                if let Some(entity) = runtime.entities.get(&instance) {
                    let error = format!(
                        "the heap has no room for an instance: it needs {needed} bytes, {left} are left \
                         (MeshreelPlugin::options, heap)"
                    );
                    fail(&mut commands, *entity, &error);
                }
            }
            Event::Replaced(file) => {
                runtime.forget_meshes(file);
                for (entity, mut instance) in players.iter_mut().filter(|(_, i)| i.file == file) {
                    instance.despawn(&mut commands);
                    commands.trigger(ReelReplaced { entity });
                }
            }
            _ => {}
        }
    }
    for (entity, mut instance) in &mut players {
        let ended = runtime.player.clock(instance.id).is_some_and(|clock| clock.ended() && clock.playing());
        if ended != instance.has_ended {
            instance.has_ended = ended;
            if ended {
                commands.trigger(ReelEnded { entity });
            }
        }
    }
}

/// Removes the instance of a player that is removed.
fn remove_player(removed: On<Remove, ReelPlayer>, mut commands: Commands) {
    commands.entity(removed.entity).try_remove::<ReelInstance>();
}

/// Removes an instance from the player, and despawns its entities.
fn remove_instance(
    removed: On<Remove, ReelInstance>,
    mut commands: Commands,
    mut instances: Query<&mut ReelInstance>,
    mut runtime: ResMut<ReelRuntime>,
) {
    if let Ok(mut instance) = instances.get_mut(removed.entity) {
        runtime.player.remove(instance.id);
        runtime.entities.remove(&instance.id);
        instance.despawn(&mut commands);
    }
}
