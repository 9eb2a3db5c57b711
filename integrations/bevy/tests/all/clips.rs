//! Clips on joints.

use crate::game::{FRAME, Game};
use bevy::prelude::*;
use bevy_meshreel::meshreel::clip::{Clip, Query, blend};
use bevy_meshreel::meshreel::{Limits, Reel, Transform as JointTransform};
use bevy_meshreel::{ReelClipPlayer, ReelJoint};
use std::path::{Path, PathBuf};

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/clips/layers.reel")
}

fn clips() -> Vec<Clip> {
    Reel::open(file(), &Limits::default()).unwrap().clips().unwrap()
}

/// Returns the pose of a clip as the runtime decodes it.
fn pose(clip: &Clip, seconds: f64) -> Vec<JointTransform> {
    let mut out = vec![JointTransform::IDENTITY; clip.joints()];
    clip.cursor().pose(&Query::new(seconds).wrapped(), &mut out[..]).unwrap();
    out
}

fn game() -> Game {
    let game = Game::new(&[]);
    std::fs::copy(file(), game.folder.path().join("layers.reel")).unwrap();
    game
}

/// Spawns a player, and waits until it has joints.
fn spawn(game: &mut Game, with: impl FnOnce(ReelClipPlayer) -> ReelClipPlayer) -> Entity {
    let reel = game.app.world().resource::<AssetServer>().load("layers.reel");
    let entity = game.app.world_mut().spawn(with(ReelClipPlayer::new(reel))).id();
    for _ in 0..1000 {
        game.frames(1);
        let world = game.app.world_mut();
        if world.query::<&ReelJoint>().iter(world).count() > 0 {
            return entity;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    panic!("no joints");
}

fn joints(game: &mut Game) -> Vec<Transform> {
    let world = game.app.world_mut();
    let mut all: Vec<(usize, Transform)> =
        world.query::<(&ReelJoint, &Transform)>().iter(world).map(|(j, t)| (j.number, *t)).collect();
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, place)| place).collect()
}

fn player(game: &mut Game, entity: Entity) -> Mut<'_, ReelClipPlayer> {
    game.app.world_mut().get_mut(entity).unwrap()
}

fn assert_pose(own: &[Transform], expected: &[JointTransform]) {
    assert_eq!(own.len(), expected.len());
    for (own, expected) in own.iter().zip(expected) {
        assert_eq!(own.translation.to_array(), expected.translation);
        assert_eq!(own.rotation.to_array(), expected.rotation);
        assert_eq!(own.scale.to_array(), expected.scale);
    }
}

#[test]
fn joints_are_where_the_clip_has_them() {
    let mut game = game();
    let entity = spawn(&mut game, |player| player);
    player(&mut game, entity).plays = false;
    player(&mut game, entity).seek(3.21);
    game.frames(1);
    let walk = &clips()[0];
    assert_pose(&joints(&mut game), &pose(walk, 3.21));
    let world = game.app.world_mut();
    let mut named = world.query::<(&ReelJoint, &Name, &ChildOf)>();
    for (joint, name, parent) in named.iter(world) {
        assert_eq!(name.as_str(), walk.skeleton().names[joint.number]);
        let above = world.get::<ReelJoint>(parent.parent()).map(|joint| joint.number as u32);
        assert_eq!(above.unwrap_or(u32::MAX), walk.skeleton().parents[joint.number]);
    }
}

#[test]
fn a_clip_takes_the_place_of_another_little_by_little() {
    let mut game = game();
    let entity = spawn(&mut game, |player| player);
    let [walk, run] = &clips()[..] else { panic!("two clips") };
    player(&mut game, entity).seek(1.0);
    player(&mut game, entity).rate = 0.0;
    game.frames(1);
    player(&mut game, entity).play("run", 4.0 * FRAME.as_secs_f64());
    game.frames(1);
    let (from, to) = (pose(walk, 1.0), pose(run, 0.0));
    let mut expected = from.clone();
    blend(&from, &to, 0.25, &mut expected);
    assert_pose(&joints(&mut game), &expected);
    game.frames(5);
    assert_pose(&joints(&mut game), &to);
}

#[test]
fn entities_of_a_scene_are_moved_by_their_names() {
    let mut game = game();
    let walk = &clips()[0];
    let names = &walk.skeleton().names;
    let reel = game.app.world().resource::<AssetServer>().load("layers.reel");
    let entity = game.app.world_mut().spawn(ReelClipPlayer::on_scene(reel).with_clip("walk")).id();
    game.frames(30);
    // The scene comes later, and has other things in it.
    let scene = game.app.world_mut().spawn((Transform::default(), ChildOf(entity))).id();
    let mut spawn = |name: &str| {
        let place = Transform::from_xyz(9.0, 9.0, 9.0);
        game.app.world_mut().spawn((Name::new(name.to_owned()), place, ChildOf(scene))).id()
    };
    let (first, last, other) = (spawn(&names[0]), spawn(&names[names.len() - 1]), spawn("hat"));
    for _ in 0..1000 {
        game.frames(1);
        if game.app.world().get::<Transform>(first).unwrap().translation.x != 9.0 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    player(&mut game, entity).plays = false;
    player(&mut game, entity).seek(2.0);
    game.frames(1);
    let expected = pose(walk, 2.0);
    let at = |entity: Entity| *game.app.world().get::<Transform>(entity).unwrap();
    assert_pose(&[at(first), at(last)], &[expected[0], expected[names.len() - 1]]);
    assert_eq!(at(other).translation.x, 9.0);
    let world = game.app.world_mut();
    assert_eq!(world.query::<&ReelJoint>().iter(world).count(), 0);
}

#[test]
fn clips_end_or_go_on() {
    let mut game = game();
    let entity = spawn(&mut game, |player| player.with_clip("run"));
    player(&mut game, entity).seek(clips()[1].duration() - 0.05);
    game.frames(20);
    assert!(game.log().is_empty());
    player(&mut game, entity).repeats = false;
    player(&mut game, entity).seek(clips()[1].duration() - 0.05);
    game.wait_for(entity, "ended");
    game.frames(20);
    assert!(game.log().is_empty());
}

#[test]
fn a_clip_that_is_not_there_is_reported_with_those_that_are() {
    let mut game = game();
    let entity = spawn(&mut game, |player| player);
    player(&mut game, entity).play("swim", 0.2);
    let line = game.wait_for(entity, "swim");
    assert!(line.contains("walk") && line.contains("run"), "{line}");
    game.frames(5);
    assert!(game.log().is_empty());
    let reel = game.app.world().resource::<AssetServer>().load("layers.reel");
    let entity = game.app.world_mut().spawn(ReelClipPlayer::new(reel).with_clip("fly")).id();
    game.wait_for(entity, "fly");
    game.frames(5);
    assert!(game.log().is_empty());
}
