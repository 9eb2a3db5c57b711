//! Commands, time and events of players.

use crate::game::{FRAME, Game};
use bevy::prelude::*;
use bevy_meshreel::ReelRuntime;
use bevy_meshreel::meshreel::Repeat;

fn position(game: &Game, entity: Entity) -> f64 {
    let id = game.instance(entity).id();
    game.app.world().resource::<ReelRuntime>().player().clock(id).unwrap().position()
}

#[test]
fn time_passes_only_while_it_plays() {
    let mut game = Game::new(&["flag_small.reel"]);
    let entity = game.ready("flag_small.reel", |player| player);
    game.frames(5);
    assert_eq!(position(&game, entity), 0.0);
    game.player(entity).play();
    game.frames(4);
    let played = position(&game, entity);
    assert!(played > 0.0 && played <= 4.0 * FRAME.as_secs_f64() + 1e-9, "{played}");
    game.player(entity).pause();
    game.frames(4);
    assert_eq!(position(&game, entity), played);
    game.player(entity).set_rate(-1.0);
    game.player(entity).play();
    game.frames(2);
    assert!(position(&game, entity) < played);
    game.player(entity).seek(0.05);
    game.player(entity).set_rate(0.0);
    game.frames(2);
    assert!((position(&game, entity) - 0.05).abs() < 1e-6);
}

#[test]
fn the_end_is_reported_once_for_each_play() {
    let mut game = Game::new(&["flag_small.reel"]);
    let entity = game.ready("flag_small.reel", |player| player.playing().at_rate(4.0));
    game.wait_for(entity, "ended");
    assert!(game.instance(entity).has_ended());
    game.frames(10);
    assert!(game.log().is_empty(), "{:?}", game.log());
    game.player(entity).play();
    game.wait_for(entity, "ended");
    game.player(entity).set_repeat(Repeat::Loop);
    game.player(entity).play();
    game.frames(200);
    assert!(game.log().is_empty(), "{:?}", game.log());
}

#[test]
fn removed_players_leave_nothing() {
    let mut game = Game::new(&["flag_small.reel", "robot_small.reel"]);
    // Whatever the first player brings for good is there from now on.
    let first = game.ready("robot_small.reel", |player| player);
    game.app.world_mut().despawn(first);
    game.frames(10);
    let before = game.app.world().entities().count_spawned();
    let [a, b] =
        ["flag_small.reel", "robot_small.reel"].map(|file| game.ready(file, |player| player.playing()));
    let [file_a, file_b] = [a, b].map(|entity| game.instance(entity).file());
    game.app.world_mut().despawn(a);
    game.app.world_mut().entity_mut(b).remove::<bevy_meshreel::ReelPlayer>();
    game.frames(3);
    game.app.world_mut().despawn(b);
    // The last handle is gone, and with it the asset, the file and the meshes.
    game.frames(10);
    let player = game.app.world().resource::<ReelRuntime>().player();
    assert_eq!((player.name(file_a), player.name(file_b)), (None, None));
    assert_eq!(game.app.world().entities().count_spawned(), before);
    assert_eq!(game.app.world().resource::<Assets<Mesh>>().len(), 0);
}

#[test]
fn another_file_takes_the_place_of_the_first() {
    let mut game = Game::new(&["flag_small.reel", "robot_small.reel"]);
    let entity = game.ready("flag_small.reel", |player| player.playing());
    let flag = game.surfaces(entity).len();
    let robot = game.app.world().resource::<AssetServer>().load("robot_small.reel");
    game.player(entity).reel = robot;
    game.wait_for(entity, "ready");
    assert_ne!(game.surfaces(entity).len(), flag);
    game.frames(5);
    assert!(game.log().is_empty(), "{:?}", game.log());
}
