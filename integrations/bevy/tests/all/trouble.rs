//! Files and heaps with which something is wrong.

use crate::game::{Game, golden};
use bevy::prelude::*;
use bevy_meshreel::meshreel::{Limits, Options, Reel};
use bevy_meshreel::{ReelPlayer, ReelRuntime};

#[test]
fn a_damaged_file_is_reported_by_name() {
    let mut game = Game::new(&[]);
    std::fs::write(game.folder.path().join("noise.reel"), [7; 500]).unwrap();
    let noise = game.spawn("noise.reel", |player| player.playing());
    let line = game.wait_for(noise, "noise.reel");
    assert!(line.contains("not a .reel file"), "{line}");
    let missing = game.spawn("missing.reel", |player| player.playing());
    game.wait_for(missing, "missing.reel");
    game.frames(5);
    assert!(game.log().is_empty(), "{:?}", game.log());
}

#[test]
fn damage_in_the_middle_leaves_the_last_good_frame() {
    let mut game = Game::new(&[]);
    let mut bytes = std::fs::read(golden("flag_small.reel")).unwrap();
    let reel = Reel::open(golden("flag_small.reel"), &Limits::default()).unwrap();
    let chunk = reel.frame_chunk(reel.frame_count() - 3);
    let middle = (chunk.offset + u64::from(chunk.size) / 2) as usize;
    bytes[middle..middle + 4].fill(0xA5);
    std::fs::write(game.folder.path().join("hurt.reel"), bytes).unwrap();
    let hurt = game.ready("hurt.reel", |player| player.playing().looping());
    let surfaces = game.surfaces(hurt);
    assert!(!surfaces.is_empty());
    let line = game.wait_for(hurt, "hurt.reel");
    assert!(line.contains("damaged"), "{line}");
    game.frames(100);
    assert_eq!(game.surfaces(hurt), surfaces);
}

#[test]
fn a_file_that_is_replaced_is_shown_anew() {
    let options = Options::default().with_threads(0).with_read_threads(0).with_watch(true);
    let mut game = Game::with(&["flag_small.reel"], options);
    let entity = game.ready("flag_small.reel", |player| player.playing().looping());
    let before = game.surfaces(entity);
    let path = game.folder.path().join("flag_small.reel");
    let newer = game.folder.path().join("newer");
    std::fs::copy(golden("robot_small.reel"), &newer).unwrap();
    std::fs::rename(newer, path).unwrap();
    game.wait_for(entity, "replaced");
    game.wait_for(entity, "ready");
    assert_ne!(game.surfaces(entity), before);
}

/// A file in memory, as of packages and pages, goes on where the one before was.
#[test]
fn an_asset_in_memory_that_is_replaced_is_shown_anew() {
    let mut game = Game::new(&[]);
    let open = |name: &str| {
        let bytes = std::fs::read(golden(name)).unwrap();
        bevy_meshreel::Reel::from_bytes(name, bytes, &Limits::default()).unwrap()
    };
    let handle =
        game.app.world_mut().resource_mut::<Assets<bevy_meshreel::Reel>>().add(open("flag_small.reel"));
    let player = ReelPlayer::new(handle.clone()).looping().starting_at(0.5);
    let entity = game.app.world_mut().spawn(player).id();
    game.wait_for(entity, "ready");
    let before = game.surfaces(entity);
    let mut reels = game.app.world_mut().resource_mut::<Assets<bevy_meshreel::Reel>>();
    reels.insert(&handle, open("robot_small.reel")).unwrap();
    game.wait_for(entity, "replaced");
    game.wait_for(entity, "ready");
    assert_ne!(game.surfaces(entity).len(), before.len());
    game.frames(2);
    let player = game.app.world().resource::<ReelRuntime>().player();
    let clock = player.clock(game.instance(entity).id()).unwrap();
    assert!((clock.position() - 0.5).abs() < 1e-6 && !clock.playing(), "{clock:?}");
    // Without the asset nothing is shown.
    game.app.world_mut().resource_mut::<Assets<bevy_meshreel::Reel>>().remove(&handle);
    game.frames(3);
    assert!(game.surfaces(entity).is_empty());
}

#[test]
fn a_heap_that_is_too_small_is_reported() {
    let options = Options::default().with_threads(0).with_read_threads(0).with_heap(1 << 16);
    let mut game = Game::with(&["wall_small.reel"], options.with_file_memory(1 << 26));
    let entity = game.spawn("wall_small.reel", |player| player.playing());
    let line = game.wait_for(entity, "heap");
    assert!(line.contains("bytes"), "{line}");
}

#[test]
fn a_player_that_cannot_be_created_stops_no_game() {
    let mut game = Game::with(&["flag_small.reel"], Options::default().with_heap(usize::MAX / 4));
    game.spawn("flag_small.reel", |player| player.playing());
    game.frames(3);
    assert!(game.app.world().get_resource::<ReelRuntime>().is_none());
}
