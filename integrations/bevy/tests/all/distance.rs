//! Levels of detail, fewer frames and stand-ins by distance.

use crate::game::{Game, conformance};
use bevy::camera::{Camera, Projection};
use bevy::prelude::*;
use bevy_meshreel::meshreel::policy::Policy;
use bevy_meshreel::meshreel::{FrameDecoder, Limits, Reel};
use bevy_meshreel::{ReelCopy, ReelPolicy};

const FILE: &str = "levels.reel";

fn decoder() -> FrameDecoder {
    FrameDecoder::new(&Reel::open(conformance(FILE), &Limits::default()).unwrap()).unwrap()
}

fn game() -> (Game, Entity) {
    let mut game = Game::new(&[]);
    std::fs::copy(conformance(FILE), game.folder.path().join(FILE)).unwrap();
    let camera = (Camera::default(), Projection::default(), Transform::default());
    let camera = game.app.world_mut().spawn(camera).id();
    (game, camera)
}

fn look_from(game: &mut Game, camera: Entity, distance: f32) {
    *game.app.world_mut().get_mut::<Transform>(camera).unwrap() = Transform::from_xyz(0.0, 0.0, distance);
    // Places are known when they have been propagated.
    game.frames(2);
}

fn triangles(game: &mut Game, entity: Entity) -> usize {
    let surfaces = game.surfaces(entity);
    assert_eq!(surfaces.len(), 1);
    game.mesh(surfaces[0]).indices().unwrap().len() / 3
}

/// Returns the level that a surface shows, after its triangles and vertices were compared with those of the
/// decoder at the frame.
fn level(game: &mut Game, entity: Entity, frame: usize) -> usize {
    let mut decoder = decoder();
    decoder.decode(frame).unwrap();
    let view = decoder.mesh(0);
    let surface = game.surfaces(entity)[0];
    let mesh = game.mesh(surface);
    let own: Vec<u32> = mesh.indices().unwrap().iter().map(|index| index as u32).collect();
    let level = (0..3).find(|level| view.lod(*level).indices == own).expect("a level of the file");
    let mut positions = vec![0.0; 3 * view.vertex_count()];
    view.positions_into(&mut positions).unwrap();
    let shown = mesh.attribute(Mesh::ATTRIBUTE_POSITION).unwrap().as_float3().unwrap();
    assert_eq!(shown.as_flattened(), positions, "level {level} at frame {frame}");
    level
}

#[test]
fn levels_are_chosen_by_the_size_of_their_errors() {
    let (mut game, camera) = game();
    let player = game.ready(FILE, |player| player);
    let seek = |game: &mut Game, frame: usize| game.player(player).seek(frame as f64 / 24.0);
    let mut seen = Vec::new();
    for (i, distance) in [3.0, 10.0, 40.0, 25.5, 24.6, 10.0, 3.0].into_iter().enumerate() {
        seek(&mut game, i);
        look_from(&mut game, camera, distance);
        seen.push(level(&mut game, player, i));
    }
    assert_eq!(seen, [0, 1, 2, 2, 2, 1, 0], "with a margin");
    // A camera that is not active does not look; one that shows all in one size looks from any distance.
    game.app.world_mut().get_mut::<Camera>(camera).unwrap().is_active = false;
    look_from(&mut game, camera, 40.0);
    assert_eq!(triangles(&mut game, player), 1152);
    game.app.world_mut().get_mut::<Camera>(camera).unwrap().is_active = true;
    let wide = Projection::from(OrthographicProjection::default_3d());
    game.app.world_mut().entity_mut(camera).insert(wide);
    look_from(&mut game, camera, 0.0);
    assert_eq!(triangles(&mut game, player), 1152);
}

#[test]
fn copies_choose_levels_of_their_own() {
    let (mut game, camera) = game();
    let player = game.ready(FILE, |player| player);
    let far = Transform::from_xyz(0.0, 0.0, -60.0).with_scale(Vec3::splat(2.0));
    let copies = [Transform::from_xyz(3.0, 0.0, 0.0), Transform::from_xyz(0.0, 0.0, -8.0), far]
        .map(|place| game.app.world_mut().spawn((ReelCopy::new(player), place)).id());
    for frame in 0..5 {
        game.player(player).seek(frame as f64 / 24.0);
        look_from(&mut game, camera, 3.0);
    }
    let levels = [player, copies[0], copies[1], copies[2]].map(|entity| level(&mut game, entity, 4));
    assert_eq!(levels, [0, 0, 1, 2]);
    let pixels = ReelPolicy::new(Policy::default()).with_lod_pixels(4.0);
    game.app.world_mut().entity_mut(player).insert(pixels);
    game.frames(2);
    assert_eq!(level(&mut game, copies[1], 4), 2);
}

#[test]
fn a_stand_in_is_shown_beyond_a_distance() {
    let (mut game, camera) = game();
    let stand_in = game.app.world_mut().spawn((Transform::default(), Visibility::Inherited)).id();
    let policy =
        Policy::default().with_stand_in_beyond(20.0).with_half_rate_beyond(5.0).with_keys_beyond(10.0);
    let player = game.spawn(FILE, |player| player.playing().looping());
    game.app.world_mut().entity_mut(player).insert(ReelPolicy::new(policy).with_stand_in(stand_in));
    game.wait_for(player, "ready");
    let shown = |game: &Game| {
        let root = game.app.world().get::<Children>(player).unwrap()[0];
        [root, stand_in].map(|entity| {
            *game.app.world().get::<InheritedVisibility>(entity).unwrap() != InheritedVisibility::HIDDEN
        })
    };
    for (distance, expected) in [(3.0, [true, false]), (30.0, [false, true]), (3.0, [true, false])] {
        look_from(&mut game, camera, distance);
        game.frames(2);
        assert_eq!(shown(&game), expected, "{distance}");
    }
    // Farther off, only keys are shown: the first and the last frame of thirteen.
    look_from(&mut game, camera, 15.0);
    game.frames(30);
    let runtime = game.app.world().resource::<bevy_meshreel::ReelRuntime>();
    let pair = runtime.player().frame(game.instance(player).id()).unwrap().pair();
    assert!([pair.first, pair.second].iter().all(|frame| [0, 12].contains(frame)), "{pair:?}");
}
