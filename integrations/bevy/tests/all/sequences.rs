//! Sequences and diagnostics.

use crate::game::{FRAME, Game};
use bevy::diagnostic::DiagnosticsStore;
use bevy::prelude::*;
use bevy_meshreel::meshreel::time::Timeline;
use bevy_meshreel::meshreel::time::sequencer::{ActionKind, ClipEnd, ClipStart, SequenceClip};
use bevy_meshreel::{
    Reel, ReelDiagnosticsPlugin, ReelInstance, ReelRuntime, ReelSequence, ReelSequenceAction,
};

#[derive(Resource, Default)]
struct Actions(Vec<(usize, ActionKind)>);

/// Returns a handle that is loaded, with its times.
fn load(game: &mut Game, file: &str) -> (Handle<Reel>, Timeline) {
    let handle: Handle<Reel> = game.app.world().resource::<AssetServer>().load(file.to_owned());
    for _ in 0..1000 {
        game.frames(1);
        if let Some(reel) = game.app.world().resource::<Assets<Reel>>().get(&handle) {
            return (handle.clone(), Timeline::from_reel(reel.tables()));
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    panic!("{file} is not loaded");
}

#[test]
fn clips_follow_each_other_and_leave_no_memory() {
    let mut game = Game::new(&["flag_small.reel", "robot_small.reel"]);
    let (flag, flag_times) = load(&mut game, "flag_small.reel");
    let (robot, robot_times) = load(&mut game, "robot_small.reel");
    game.app.init_resource::<Actions>();
    game.app.add_observer(|action: On<ReelSequenceAction>, mut all: ResMut<Actions>| {
        all.0.push((action.clip, action.kind));
    });
    let clips = vec![
        SequenceClip::new("first", 0, &flag_times).with_events(vec![(0.1, 7)]),
        SequenceClip::new("second", 1, &robot_times).with_start(ClipStart::After(0, 0.1)),
        SequenceClip::new("called", 1, &robot_times)
            .with_start(ClipStart::OnSignal(3))
            .with_end(ClipEnd::Hold),
    ];
    let sequence = ReelSequence::new(clips, vec![flag, robot]).unwrap();
    let entity = game.app.world_mut().spawn(sequence.with_place(1, Transform::from_xyz(5.0, 0.0, 0.0))).id();
    let seconds = flag_times.duration() + 0.1 + robot_times.duration();
    let mut was_shown = [false; 3];
    for _ in 0..(seconds / FRAME.as_secs_f64()) as usize + 10 {
        game.frames(1);
        for (clip, was_shown) in was_shown.iter_mut().enumerate() {
            let sequence = game.app.world().get::<ReelSequence>(entity).unwrap();
            let Some(player) = sequence.player(clip) else { continue };
            *was_shown |= !game.surfaces(player).is_empty();
        }
    }
    assert_eq!(was_shown, [true, true, false]);
    let kinds: Vec<_> = game.app.world().resource::<Actions>().0.clone();
    let place = |clip, kind: ActionKind| {
        kinds.iter().position(|k| *k == (clip, kind)).unwrap_or_else(|| panic!("{kinds:?}"))
    };
    assert!(place(0, ActionKind::Start) < place(0, ActionKind::Event(7)));
    assert!(place(0, ActionKind::Event(7)) < place(0, ActionKind::End));
    assert!(place(0, ActionKind::End) < place(1, ActionKind::Start));
    assert!(place(1, ActionKind::Start) < place(1, ActionKind::End));
    let world = game.app.world_mut();
    assert_eq!(world.query::<&ReelInstance>().iter(world).count(), 0);
    world.get_mut::<ReelSequence>(entity).unwrap().signal(3);
    game.frames(60);
    let held = game.app.world().get::<ReelSequence>(entity).unwrap().player(2).expect("it stays");
    assert!(!game.surfaces(held).is_empty());
    game.app.world_mut().get_mut::<ReelSequence>(entity).unwrap().seek(0.0);
    game.frames(3);
    let sequence = game.app.world().get::<ReelSequence>(entity).unwrap();
    assert!(sequence.player(0).is_some() && sequence.player(2).is_none());
    game.app.world_mut().despawn(entity);
    game.frames(2);
    let world = game.app.world_mut();
    assert_eq!(world.query::<&ReelInstance>().iter(world).count(), 0);
}

#[test]
fn a_sequence_names_files_that_are_there() {
    let clip = SequenceClip::new("lost", 3, &Timeline::new([0.0, 1.0], 0.0));
    let error = ReelSequence::new(vec![clip], vec![Handle::default()]).unwrap_err();
    assert!(error.to_string().contains("lost"), "{error}");
}

#[test]
fn diagnostics_count_what_is_played() {
    let mut game = Game::new(&["flag_small.reel"]);
    game.ready("flag_small.reel", |player| player.playing().looping());
    game.frames(20);
    let store = game.app.world().resource::<DiagnosticsStore>();
    let value = |path| store.get(&path).and_then(|diagnostic| diagnostic.value()).unwrap();
    assert_eq!(value(ReelDiagnosticsPlugin::INSTANCES), 1.0);
    assert!(value(ReelDiagnosticsPlugin::HEAP_HELD) > 1000.0);
    assert_eq!(value(ReelDiagnosticsPlugin::MISSED), 0.0);
    let decoded = store.get(&ReelDiagnosticsPlugin::DECODED).unwrap().values().sum::<f64>();
    assert!(decoded > 0.0);
    assert!(game.app.world().get_resource::<ReelRuntime>().is_some());
}
