//! Players of files in the library: time, settings, keyed time, pauses, and files that are replaced.

use crate::{decoded, golden};
use meshreel::{Command, InstanceId, Options, Repeat};
use meshreel_godot::model::library::{Library, Report};
use meshreel_godot::model::settings::{Settings, playable_range};
use meshreel_godot::model::source::ReelSource;
use meshreel_godot::model::tree::mesh_frame;
use meshreel_godot::model::vertices::Vertices;
use std::sync::Arc;
use std::time::{Duration, Instant};

const DT: f64 = 1.0 / 60.0;

/// A library with the engine's count of frames.
struct Game {
    library: Library,
    frame: u64,
}

impl Game {
    fn new(options: Options) -> Game {
        Game { library: Library::new(options).unwrap(), frame: 0 }
    }

    fn tick(&mut self, nodes: &[InstanceId], dt: f64) {
        self.frame += 1;
        for id in nodes {
            self.library.see(*id, self.frame);
            self.library.tick(self.frame, dt);
        }
    }

    /// Ticks without time until a condition holds.
    fn wait(&mut self, nodes: &[InstanceId], what: &str, mut there: impl FnMut(&mut Library) -> bool) {
        let start = Instant::now();
        while !there(&mut self.library) {
            assert!(start.elapsed() < Duration::from_secs(20), "{what}");
            self.tick(nodes, 0.0);
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn wait_for_frame(&mut self, nodes: &[InstanceId]) {
        let nodes = nodes.to_vec();
        self.wait(&nodes.clone(), "a frame", |library| nodes.iter().all(|id| library.frame(*id).is_some()));
    }
}

fn file(name: &str) -> ReelSource {
    ReelSource::Path(golden(name))
}

fn positions(library: &Library, id: InstanceId) -> Vec<[f32; 3]> {
    let shown = library.frame(id).unwrap();
    let view = shown.view();
    let node = view.reel().description().nodes.iter().position(|node| node.mesh == Some(0)).unwrap();
    let mut vertices = Vertices::default();
    vertices.read(&mesh_frame(&view, &[node]).unwrap()).unwrap();
    vertices.positions
}

#[test]
fn a_frame_that_is_jumped_to_is_the_decoders() {
    let mut game = Game::new(Options::default());
    let id = game.library.add_instance(&file("v0/flag_small.reel"), Settings::default()).unwrap();
    game.wait_for_frame(&[id]);
    let reel = game.library.reel(id).unwrap().clone();
    for frame in [0, 30, 7, 37] {
        game.library.command(id, Command::GoToFrame(frame));
        game.tick(&[id], DT);
        game.wait(&[id], "the frame", |library| library.frame_number(id) == Some(frame));
        let mut wanted = vec![0.0; 3 * 1271];
        decoded(&reel, frame).mesh(0).positions_into(&mut wanted).unwrap();
        assert_eq!(positions(&game.library, id).as_flattened(), wanted);
    }
}

#[test]
fn it_plays_to_the_end_and_says_so_once() {
    let mut game = Game::new(Options::default());
    let settings = Settings { playing: true, rate: 4.0, ..Settings::default() };
    let id = game.library.add_instance(&file("v0/flag_fast.reel"), settings).unwrap();
    game.wait(&[id], "open", |library| library.reel(id).is_some());
    let mut reports = Vec::new();
    for _ in 0..60 {
        game.tick(&[id], DT);
        reports.extend(game.library.take_reports(id));
    }
    assert_eq!(reports, [Report::Ended]);
    assert!(game.library.has_ended(id));
    assert!((game.library.time(id) - 37.0 / 24.0).abs() < 1e-6);
    // It starts again.
    game.library.command(id, Command::Play);
    game.tick(&[id], DT);
    assert!(!game.library.has_ended(id) && game.library.time(id) < 0.1);
}

#[test]
fn settings_that_change_are_given_to_the_clock() {
    let mut game = Game::new(Options::default());
    let mut settings = Settings { playing: true, ..Settings::default() };
    let id = game.library.add_instance(&file("v0/flag_small.reel"), settings).unwrap();
    game.wait(&[id], "open", |library| library.reel(id).is_some());
    let start = game.library.time(id);
    (0..6).for_each(|_| game.tick(&[id], DT));
    assert!((game.library.time(id) - start - 6.0 * DT).abs() < 1e-6);
    settings.playing = false;
    game.library.change_settings(id, settings);
    let start = game.library.time(id);
    (0..6).for_each(|_| game.tick(&[id], DT));
    assert_eq!(game.library.time(id), start);
    settings = Settings {
        playing: true,
        rate: -2.0,
        repeat: Repeat::Loop,
        range: playable_range(0.05, 0.5),
        ..settings
    };
    game.library.change_settings(id, settings);
    (0..6).for_each(|_| game.tick(&[id], DT));
    // 0.1 s, backwards by 0.2 s, through 0.05 to 0.5.
    assert!((game.library.time(id) - (start - 0.2 + 0.45)).abs() < 1e-6, "{}", game.library.time(id));
    settings.interpolate = false;
    game.library.change_settings(id, settings);
    game.tick(&[id], DT);
    let blend = |library: &mut Library| library.frame(id).map(|shown| shown.pair().blend);
    game.wait(&[id], "a whole frame", |library| blend(library) == Some(0.0));
}

/// Shows a file for 110 ticks, played or keyed; returns the number of ticks that were late.
fn late_ticks(keyed: bool) -> usize {
    let mut game = Game::new(Options::default().with_resident(0));
    let settings = Settings { playing: !keyed, rate: 0.8, ..Settings::default() };
    let id = game.library.add_instance(&file("v0/flag_fast.reel"), settings).unwrap();
    game.wait_for_frame(&[id]);
    let mut late = 0;
    for k in 0..110 {
        let time = f64::from(k) * 0.8 * DT;
        if keyed {
            game.library.key_time(id, time);
            assert_eq!(game.library.time(id), time);
        }
        game.tick(&[id], DT);
        std::thread::sleep(Duration::from_millis(8));
        assert!(!keyed || (game.library.time(id) - time).abs() < 1e-8, "{k}");
        let shown = game.library.frame(id).unwrap();
        late += usize::from(shown.is_late() && k > 10);
    }
    assert!(game.library.take_reports(id).iter().all(|report| *report == Report::Ended));
    if keyed {
        // It stands where it was keyed last.
        let last = game.library.time(id);
        (0..5).for_each(|_| game.tick(&[id], DT));
        assert_eq!(game.library.time(id), last);
    }
    late
}

#[test]
fn a_keyed_time_is_streamed_ahead_as_a_played_one_is() {
    let (played, keyed) = (late_ticks(false), late_ticks(true));
    println!("late: played {played}, keyed {keyed}");
    assert!(keyed <= played + 5, "{keyed}, played {played}");
}

#[test]
fn time_passes_once_per_frame_and_not_for_nodes_that_are_paused() {
    let mut game = Game::new(Options::default());
    let settings = Settings { playing: true, repeat: Repeat::Loop, ..Settings::default() };
    let both = [0, 1].map(|_| game.library.add_instance(&file("v0/flag_small.reel"), settings).unwrap());
    assert_eq!(game.library.file_count(), 1);
    game.wait_for_frame(&both);
    let start = game.library.time(both[0]);
    (0..10).for_each(|_| game.tick(&both, DT));
    assert!((game.library.time(both[0]) - start - 10.0 * DT).abs() < 1e-6);
    assert_eq!(game.library.time(both[0]), game.library.time(both[1]));
    // The second node is paused: after the tick in which that is noticed, its time stands.
    game.tick(&both[..1], DT);
    let stands = game.library.time(both[1]);
    (0..5).for_each(|_| game.tick(&both[..1], DT));
    assert_eq!(game.library.time(both[1]), stands);
    assert!((game.library.time(both[0]) - start - 16.0 * DT).abs() < 1e-6);
    (0..3).for_each(|_| game.tick(&both, DT));
    assert!(game.library.time(both[1]) > stands);
}

#[test]
fn a_file_in_memory_is_the_same() {
    let mut game = Game::new(Options::default());
    let bytes: Arc<[u8]> = std::fs::read(golden("v0/flag_small.reel")).unwrap().into();
    let memory = ReelSource::Bytes { name: "res://flag.reel".into(), bytes };
    let own = game.library.add_instance(&memory, Settings::default()).unwrap();
    let other = game.library.add_instance(&memory.clone(), Settings::default()).unwrap();
    let disk = game.library.add_instance(&file("v0/flag_small.reel"), Settings::default()).unwrap();
    assert_eq!(game.library.file_count(), 2);
    game.wait_for_frame(&[own, other, disk]);
    assert_eq!(positions(&game.library, own), positions(&game.library, disk));
    assert_eq!(game.library.reel(own).unwrap().path().to_str(), Some("res://flag.reel"));
}

#[test]
fn a_file_is_closed_with_its_last_instance() {
    let mut game = Game::new(Options::default());
    let both =
        [0, 1].map(|_| game.library.add_instance(&file("v0/flag_small.reel"), Settings::default()).unwrap());
    game.wait_for_frame(&both);
    game.library.remove_instance(both[0]);
    assert_eq!(game.library.file_count(), 1);
    assert!(game.library.frame(both[1]).is_some() && game.library.reel(both[0]).is_none());
    game.library.remove_instance(both[1]);
    game.library.remove_instance(both[1]);
    assert_eq!(game.library.file_count(), 0);
    game.tick(&both, DT);
    assert_eq!(game.library.time(both[1]), 0.0);
}

#[test]
fn a_file_that_is_replaced_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.reel");
    std::fs::copy(golden("v0/flag_small.reel"), &path).unwrap();
    let mut game = Game::new(Options::default().with_watch(true));
    let id = game.library.add_instance(&ReelSource::Path(path.clone()), Settings::default()).unwrap();
    game.wait_for_frame(&[id]);
    let next = folder.path().join("next");
    std::fs::copy(golden("v0/wall_small.reel"), &next).unwrap();
    std::fs::rename(&next, &path).unwrap();
    let start = Instant::now();
    let mut reports = Vec::new();
    while !reports.contains(&Report::Replaced) {
        assert!(start.elapsed() < Duration::from_secs(20));
        game.tick(&[id], 0.01);
        reports.extend(game.library.take_reports(id));
        std::thread::sleep(Duration::from_millis(5));
    }
    game.wait_for_frame(&[id]);
    assert_eq!(positions(&game.library, id).len(), 16193);
}
