//! Copies of players.

use crate::game::{Game, golden};
use bevy::platform::collections::HashSet;
use bevy::prelude::*;
use bevy_meshreel::{ReelCopy, ReelSurface};

const MANY: usize = 10_000;

/// Copies have one mesh and one material, so that Bevy draws all of them at once.
#[test]
fn ten_thousand_copies_share_one_mesh() {
    let mut game = Game::new(&["flag_small.reel"]);
    let player = game.ready("flag_small.reel", |player| player.playing().looping());
    let copies: Vec<Entity> = (0..MANY)
        .map(|i| {
            let place = Transform::from_xyz((i % 100) as f32, 0.0, (i / 100) as f32);
            game.app.world_mut().spawn((ReelCopy::new(player), place)).id()
        })
        .collect();
    game.frames(3);
    let world = game.app.world_mut();
    let mut surfaces =
        world.query_filtered::<(&Mesh3d, &MeshMaterial3d<StandardMaterial>), With<ReelSurface>>();
    let drawn: Vec<_> =
        surfaces.iter(world).map(|(mesh, material)| (mesh.0.clone(), material.0.clone())).collect();
    assert_eq!(drawn.len(), MANY + 1);
    assert_eq!(drawn.iter().collect::<HashSet<_>>().len(), 1);
    for (i, copy) in copies.iter().enumerate().step_by(999) {
        let node = game.app.world().get::<ReelCopy>(*copy).unwrap().node(0).unwrap();
        let own = game.app.world().get::<GlobalTransform>(node).unwrap().translation();
        let node = game.instance(player).node(0).unwrap();
        let of_player = game.app.world().get::<GlobalTransform>(node).unwrap().translation();
        let off = Vec3::new((i % 100) as f32, 0.0, (i / 100) as f32);
        assert!((own - of_player - off).length() < 1e-3, "copy {i}: {own} {of_player}");
    }
}

#[test]
fn copies_follow_their_player() {
    let mut game = Game::new(&["robot_small.reel", "flag_small.reel"]);
    let player = game.ready("robot_small.reel", |player| player.playing().looping());
    let copy = game.app.world_mut().spawn(ReelCopy::new(player)).id();
    // A player that is hidden plays on for its copies.
    game.app.world_mut().entity_mut(player).insert(Visibility::Hidden);
    game.frames(7);
    let robot = game.surfaces(copy).len();
    assert_eq!(robot, game.surfaces(player).len());
    let world = game.app.world();
    let nodes = decoded_nodes("robot_small.reel");
    for number in 0..nodes {
        let [own, of_player] = [
            world.get::<ReelCopy>(copy).unwrap().node(number).unwrap(),
            game.instance(player).node(number).unwrap(),
        ]
        .map(|node| world.get::<Transform>(node).unwrap());
        assert_eq!(own, of_player);
    }
    // Another file.
    let flag = game.app.world().resource::<AssetServer>().load("flag_small.reel");
    game.player(player).reel = flag;
    game.wait_for(player, "ready");
    game.frames(2);
    assert_eq!(game.surfaces(copy).len(), game.surfaces(player).len());
    assert_ne!(game.surfaces(copy).len(), robot);
    // No player.
    game.app.world_mut().despawn(player);
    game.frames(2);
    assert!(game.surfaces(copy).is_empty());
}

fn decoded_nodes(file: &str) -> usize {
    let limits = bevy_meshreel::meshreel::Limits::default();
    bevy_meshreel::meshreel::Reel::open(golden(file), &limits).unwrap().description().nodes.len()
}
