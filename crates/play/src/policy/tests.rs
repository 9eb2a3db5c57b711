//! Tests of the rules for instances at any distance and time, and of draw lists.

use super::*;
use crate::time::clock::{Clock, Command, Repeat};
use crate::time::timeline::Timeline;
use proptest::prelude::*;

const POLICY: Policy = Policy {
    stand_ins: StandIns { first: Some(1), last: Some(2), default: Some(3) },
    stand_in_beyond: 100.0,
    stream_within: 120.0,
    lod_distances: LodDistances::SINGLE_LEVEL,
    half_rate_beyond: 200.0,
    keys_beyond: 400.0,
    margin: 0.1,
};

fn clock(commands: &[Command], dt: f64) -> Clock {
    let timeline = Timeline::new((0..11).map(|f| f as f64 / 10.0), 0.0);
    let mut clock = Clock::new(&timeline);
    for &command in commands {
        clock.command(command);
    }
    clock.advance(dt);
    clock
}

fn seen(distance: f32, ready: bool) -> InstanceState {
    InstanceState { distance, visible: true, ready }
}

fn decide(policy: &Policy, state: InstanceState, clock: &Clock) -> Decision {
    policy.decide(&state, clock, &Decision::default(), DebugSwitches::ON)
}

#[test]
fn stand_ins_by_time() {
    let play = |dt| clock(&[Command::Play], dt);
    let looped = |dt| clock(&[Command::Play, Command::Repeat(Repeat::Loop)], dt);
    let all = POLICY.stand_ins;
    assert_eq!(all.select(&play(0.0)), Some(1));
    assert_eq!(all.select(&play(0.5)), Some(3));
    assert_eq!(all.select(&play(2.0)), Some(2));
    assert_eq!(all.select(&looped(1.0)), Some(3), "a loop has no last frame");
    let default = StandIns { default: Some(3), ..StandIns::default() };
    assert_eq!([0.0, 0.5, 2.0].map(|dt| default.select(&play(dt))), [Some(3); 3]);
    let ends = StandIns { default: None, ..all };
    assert_eq!([0.0, 0.5, 2.0].map(|dt| ends.select(&play(dt))), [Some(1), None, Some(2)]);
}

#[test]
fn stand_ins_by_distance_and_while_loading() {
    let clock = clock(&[Command::Play], 0.5);
    let near = decide(&POLICY, seen(50.0, true), &clock);
    assert_eq!((near.draw, near.stream), (DrawChoice::Cache(0), true));
    let far = decide(&POLICY, seen(130.0, true), &clock);
    assert_eq!((far.draw, far.stream), (DrawChoice::StandIn(3), false));
    let loading = decide(&POLICY, seen(50.0, false), &clock);
    assert_eq!((loading.draw, loading.stream), (DrawChoice::StandIn(3), true));
    let approaching = decide(&POLICY, seen(110.0, false), &clock);
    assert_eq!((approaching.draw, approaching.stream), (DrawChoice::StandIn(3), true));
    let none = Policy::default();
    assert_eq!(decide(&none, seen(1e9, true), &clock).draw, DrawChoice::Cache(0));
    assert_eq!(decide(&none, seen(1.0, false), &clock).draw, DrawChoice::Nothing);
    let mut hidden = seen(50.0, true);
    hidden.visible = false;
    assert_eq!(decide(&POLICY, hidden, &clock).draw, DrawChoice::Nothing);
    let no_distance = decide(&POLICY, seen(f32::NAN, true), &clock);
    assert_eq!((no_distance.draw, no_distance.stream), (DrawChoice::StandIn(3), false));
}

#[test]
fn streaming_starts_within_a_distance() {
    let mut clock = clock(&[], 0.0);
    let mut was = Decision::default();
    let mut told = Vec::new();
    for distance in [199.0, 121.0, 119.0, 125.0, 131.0, 133.0, 119.0] {
        let now = POLICY.decide(&seen(distance, false), &clock, &was, DebugSwitches::ON);
        let commands: Vec<Command> = now.commands(&was, &clock).collect();
        told.push(!commands.is_empty());
        commands.into_iter().for_each(|command| clock.command(command));
        clock.advance(0.0);
        assert_eq!(clock.demand().spans().is_empty(), !now.stream, "{distance}");
        assert_eq!(now.draw, DrawChoice::StandIn(1));
        was = now;
    }
    assert_eq!(told, [false, false, true, false, false, true, true], "with a margin");
}

#[test]
fn frames_are_left_out_by_distance() {
    let timeline = Timeline::new((0..65).map(|f| f as f64 / 10.0), 0.0).with_temporal_layers();
    let mut clock = Clock::new(&timeline);
    clock.command(Command::Play);
    clock.advance(0.0);
    let mut was = Decision::default();
    let mut steps = Vec::new();
    for distance in [10.0, 190.0, 210.0, 390.0, 410.0, 430.0, 450.0, 300.0, 190.0, 170.0, 500.0, f32::NAN] {
        let now = POLICY.decide(&seen(distance, true), &clock, &was, DebugSwitches::ON);
        now.commands(&was, &clock).for_each(|command| clock.command(command));
        clock.advance(0.0);
        assert!(clock.demand().spans().iter().all(|span| span.step == now.frame_step), "{distance}");
        steps.push(now.frame_step);
        was = now;
    }
    assert_eq!(steps, [1, 1, 1, 2, 2, 2, 16, 2, 1, 1, 16, 16], "with a margin");
}

#[test]
fn nothing_flickers_at_a_border() {
    let clock = clock(&[Command::Play], 0.5);
    let mut was = decide(&POLICY, seen(99.0, true), &clock);
    let mut changes = 0;
    for step in 0..100 {
        let distance = if step % 2 == 0 { 101.0 } else { 99.0 };
        let now = POLICY.decide(&seen(distance, true), &clock, &was, DebugSwitches::ON);
        changes += usize::from(now.draw != was.draw);
        was = now;
    }
    assert_eq!(changes, 0);
}

#[test]
fn levels_by_distance() {
    let levels = LodDistances::ending_at(&[10.0, 20.0, 40.0]);
    let at = |distance, was| levels.level(distance, was);
    assert_eq!([5.0, 10.0, 15.0, 30.0, 99.0].map(|d| at(d, 0)), [0, 0, 1, 2, 3]);
    assert_eq!((at(9.8, 1), at(9.4, 1)), (1, 0), "back with a margin");
    assert_eq!((at(19.5, 3), at(38.5, 3)), (2, 3));
    assert_eq!(at(f32::NAN, 0), LodDistances::MAX_LEVELS - 1);
    assert_eq!(LodDistances::SINGLE_LEVEL.level(1e30, 0), 0);
    let many = LodDistances::ending_at(&[1.0; 20]);
    assert_eq!(many.level(2.0, 0), LodDistances::MAX_LEVELS - 1);
}

#[test]
fn f08_levels_by_what_the_eye_sees() {
    let lens = Projection { angle: std::f32::consts::FRAC_PI_2, height: 1000.0 };
    assert!((lens.pixels(1.0, 500.0) - 1.0).abs() < 1e-4);
    assert_eq!(lens.pixels(1.0, 0.0), f32::INFINITY);
    // Half a pixel: level 1 from 10 on, level 2 from 40 on.
    let levels = LodDistances::from_errors(&[0.01, 0.04], 1.0, &lens, 0.5);
    assert!((levels.end_distances[0] - 10.0).abs() < 1e-3 && (levels.end_distances[1] - 40.0).abs() < 1e-3);
    assert_eq!([9.0, 11.0, 39.0, 41.0, 1e9].map(|d| levels.level(d, 0)), [0, 1, 1, 2, 2]);
    // Twice as large, twice as far; a narrow lens magnifies.
    let large = LodDistances::from_errors(&[0.01], 2.0, &lens, 0.5);
    assert!((large.end_distances[0] - 20.0).abs() < 1e-3);
    let near = Projection { angle: 0.1, ..lens };
    assert!(LodDistances::from_errors(&[0.01], 1.0, &near, 0.5).end_distances[0] > 90.0);
    // A level with an invalid error is never drawn; one that is as good as the level before replaces it.
    for bad in [f32::NAN, -1.0] {
        assert_eq!(LodDistances::from_errors(&[bad, 0.1], 1.0, &lens, 1.0), LodDistances::SINGLE_LEVEL);
    }
    assert_eq!(LodDistances::from_errors(&[0.0, 0.0], 1.0, &lens, 1.0).level(1.0, 0), 2);
    assert_eq!(LodDistances::from_errors(&[1.0; 20], 1.0, &lens, 1.0).level(f32::MAX, 0), 7);
}

#[test]
fn kill_switches() {
    let clock = clock(&[Command::Play], 0.5);
    for distance in [1.0, 1000.0] {
        let off = POLICY.decide(&seen(distance, true), &clock, &Decision::default(), DebugSwitches::OFF);
        assert_eq!(off.draw, DrawChoice::Nothing);
    }
    assert_eq!(DebugSwitches::default(), DebugSwitches::ON);
}

fn placed(meshes: &[u64]) -> Vec<PlacedMesh> {
    let world = |i: usize| [[i as f32; 4]; 3];
    let at = |(i, &mesh): (usize, &u64)| PlacedMesh { mesh, world: world(i) };
    meshes.iter().enumerate().map(at).collect()
}

#[test]
fn ten_equal_draws_become_one() {
    let meshes: Vec<u64> = (0..31).map(|i| [5, 7, 5][i % 3]).chain([9; 9]).collect();
    let mut draws = placed(&meshes);
    let mut order = [0; 40];
    let groups: Vec<(u64, usize, bool)> = group_draws(&mut draws, &mut order, MIN_INSTANCES)
        .map(|g| (g.mesh, g.placed.len(), g.instanced))
        .collect();
    assert_eq!(groups, [(5, 21, true), (7, 10, true), (9, 9, false)]);
    assert_eq!(group_draws(&mut draws, &mut [0; 3], MIN_INSTANCES).count(), 0);
    assert_eq!(group_draws(&mut [], &mut [], MIN_INSTANCES).count(), 0);
}

#[test]
fn debug_views() {
    assert!(MeshFilter::All.shows(true) && MeshFilter::All.shows(false));
    assert!(MeshFilter::Animated.shows(true) && !MeshFilter::Animated.shows(false));
    assert!(!MeshFilter::Static.shows(true) && MeshFilter::Static.shows(false));
    assert!(name_matches("Cloth.reel", "") && name_matches("Cloth.reel", "cLOTH"));
    assert!(!name_matches("Cloth.reel", "cloths") && !name_matches("", "a"));
    let colours: std::collections::BTreeSet<_> = (0..64).map(mesh_colour).collect();
    assert!(colours.len() > 56, "{}", colours.len());
    assert_eq!(mesh_colour(3), mesh_colour(3));
}

proptest! {
    #[test]
    fn groups_are_a_stable_sort(meshes in prop::collection::vec(0u64..6, 0..60)) {
        let mut draws = placed(&meshes);
        let mut sorted = draws.clone();
        sorted.sort_by_key(|d| d.mesh);
        let mut order = vec![0; meshes.len()];
        let grouped: Vec<PlacedMesh> = group_draws(&mut draws, &mut order, 3)
            .flat_map(|g| g.placed.to_vec())
            .collect();
        prop_assert_eq!(grouped, sorted);
    }

    #[test]
    fn levels_never_jump_back_and_forth(
        mut ends in prop::collection::vec(1.0f32..100.0, 0..7),
        distance in 0.0f32..120.0,
    ) {
        ends.sort_by(f32::total_cmp);
        let levels = LodDistances::ending_at(&ends);
        for was in 0..LodDistances::MAX_LEVELS {
            let level = levels.level(distance, was);
            prop_assert_eq!(levels.level(distance, level), level);
        }
    }
}
