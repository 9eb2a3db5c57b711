//! Tests of the sequencer: equal results for any ticks, and the picture after the end of a clip.

use super::*;
use crate::time::clock::Clock;
use proptest::prelude::*;

fn second() -> Timeline {
    Timeline::new((0..11).map(|f| f as f64 / 10.0), 0.0)
}

fn clip(name: &str, start: ClipStart) -> SequenceClip {
    SequenceClip { start, stream_before: 0.0, ..SequenceClip::new(name, 0, &second()) }
}

/// Returns all actions until a time, as "time name kind".
fn log(sequencer: &mut Sequencer, until: f64, step: f64) -> Vec<String> {
    let mut actions = Vec::new();
    while sequencer.time() < until - 1e-9 {
        sequencer.tick(step, |action| actions.push(action));
    }
    let name = |action: &Action| sequencer.clip(action.clip).name.clone();
    (actions.iter()).map(|a| format!("{:.2} {} {:?}", a.at, name(a), a.kind)).collect()
}

fn sequence(clips: Vec<SequenceClip>) -> Sequencer {
    Sequencer::new(clips).unwrap()
}

#[test]
fn an_end_state_replaces_a_finished_sequence_and_frees_it() {
    let end = |end| SequenceClip { end, ..clip("tower", ClipStart::At(0.25)) };
    for (left, shown, memory) in [
        (ClipEnd::Nothing, ShownMesh::Nothing, false),
        (ClipEnd::Mesh(7), ShownMesh::Mesh(7), false),
        (ClipEnd::Hold, ShownMesh::Cache, true),
    ] {
        let mut sequencer = sequence(vec![end(left)]);
        assert_eq!(
            (sequencer.playback_state(0), sequencer.shown_mesh(0)),
            (PlaybackState::Idle, ShownMesh::Nothing)
        );
        assert_eq!(log(&mut sequencer, 1.0, 0.5), ["0.25 tower Start"]);
        assert_eq!((sequencer.shown_mesh(0), sequencer.holds_memory(0)), (ShownMesh::Cache, true));
        assert_eq!(sequencer.position(0), 0.75);
        assert_eq!(log(&mut sequencer, 2.0, 0.5), ["1.25 tower End"]);
        assert_eq!((sequencer.playback_state(0), sequencer.shown_mesh(0)), (PlaybackState::Ended, shown));
        assert_eq!(sequencer.holds_memory(0), memory);
        assert_eq!(sequencer.position(0), 1.0);
    }
}

#[test]
fn another_cache_can_be_the_end_state() {
    let mut fall = clip("fall", ClipStart::At(0.0));
    fall.end = ClipEnd::Clip(1);
    let mut smoke = clip("smoke", ClipStart::Never);
    smoke.plays = 0;
    let mut sequencer = sequence(vec![fall, smoke]);
    let said = log(&mut sequencer, 2.5, 2.5);
    assert_eq!(said, ["0.00 fall Start", "1.00 fall End", "1.00 smoke Start", "2.00 smoke Turn(1)"]);
    assert!(!sequencer.holds_memory(0) && sequencer.holds_memory(1));
}

#[test]
fn loops_never_visit_end_states() {
    let mut flag = clip("flag", ClipStart::At(0.0));
    flag.end = ClipEnd::Mesh(3);
    flag.plays = 0;
    flag.exit = Some(ExitSignal::AtSeam(9));
    let mut sequencer = sequence(vec![flag.clone()]);
    let mut ends = 0;
    for _ in 0..10_000 {
        sequencer.tick(0.037, |action| ends += usize::from(action.kind == ActionKind::End));
        assert_eq!(sequencer.shown_mesh(0), ShownMesh::Cache);
    }
    assert_eq!(ends, 0, "not one in 370 cycles");
    sequencer.signal(8);
    sequencer.signal(9);
    let left = log(&mut sequencer, 372.0, 0.5);
    assert_eq!(left, ["371.00 flag End"] as [&str; 1], "at its seam");
    assert_eq!(sequencer.shown_mesh(0), ShownMesh::Mesh(3));

    flag.exit = Some(ExitSignal::AtOnce(9));
    let mut sequencer = sequence(vec![flag]);
    log(&mut sequencer, 1.5, 0.5);
    sequencer.signal(9);
    assert_eq!(log(&mut sequencer, 2.0, 0.25), ["1.50 flag End"]);
    assert_eq!(sequencer.position(0), 0.5);
}

#[test]
fn starts_are_staggered() {
    let mut towers: Vec<SequenceClip> =
        (0..4).map(|t| clip(&format!("tower {t}"), ClipStart::At(1.0))).collect();
    towers[3].start = ClipStart::At(0.9);
    towers.push(clip("later", ClipStart::OnSignal(4)));
    stagger(&mut towers, 0.25);
    let starts: Vec<ClipStart> = towers.iter().map(|t| t.start).collect();
    let at = [1.15, 1.4, 1.65, 0.9].map(ClipStart::At);
    assert_eq!(starts, [&at[..], &[ClipStart::OnSignal(4)]].concat());
    let mut sequencer = sequence(towers);
    let mut most = 0;
    for _ in 0..300 {
        let mut starts = 0;
        sequencer.tick(0.01, |action| starts += usize::from(action.kind == ActionKind::Start));
        most = starts.max(most);
    }
    assert_eq!(most, 1, "no tick begins two");
}

#[test]
fn segments_of_a_long_path_follow_each_other() {
    let mut segments: Vec<SequenceClip> =
        (0..5).map(|s| clip(&format!("s{s}"), ClipStart::At(0.5))).collect();
    segments[4].end = ClipEnd::Hold;
    chain(&mut segments);
    let mut sequencer = sequence(segments);
    for step in 0..60 {
        sequencer.tick(0.1, |_| {});
        let held = (0..5).filter(|&c| sequencer.holds_memory(c)).count();
        assert_eq!(held, usize::from(step >= 4), "one at a time, after step {step}");
    }
    assert_eq!(sequencer.shown_mesh(4), ShownMesh::Cache);
    let mut again = sequence((0..5).map(|c| sequencer.clip(c).clone()).collect());
    let said = log(&mut again, 3.0, 3.0);
    let seams = ["0.50 s0 Start", "1.50 s0 End", "1.50 s1 Start", "2.50 s1 End", "2.50 s2 Start"];
    assert_eq!(said, seams, "no moment without one");
}

#[test]
fn a_slice_plays_just_while_it_moves() {
    let mut slice = clip("slice", ClipStart::At(1.0));
    (slice.from, slice.to, slice.rate) = (0.25, 0.75, -0.5);
    slice.events = vec![(0.5, 77), (0.7, 78)];
    let mut sequencer = sequence(vec![slice]);
    let said = log(&mut sequencer, 3.0, 0.125);
    let want = ["1.00 slice Start", "1.10 slice Event(78)", "1.50 slice Event(77)", "2.00 slice End"];
    assert_eq!(said, want);
    assert_eq!(sequencer.position(0), 0.25);
}

#[test]
fn events_come_in_every_play_and_turn_around_with_it() {
    let mut swing = clip("swing", ClipStart::At(0.0));
    swing.repeat = Repeat::PingPong;
    swing.plays = 3;
    swing.events = vec![(0.25, 1), (0.75, 2), (1.0, 3)];
    let said = log(&mut sequence(vec![swing]), 4.0, 4.0);
    let want = [
        "0.00 swing Start",
        "0.25 swing Event(1)",
        "0.75 swing Event(2)",
        "1.00 swing Event(3)",
        "1.00 swing Turn(1)",
        "1.00 swing Event(3)",
        "1.25 swing Event(2)",
        "1.75 swing Event(1)",
        "2.00 swing Turn(2)",
        "2.25 swing Event(1)",
        "2.75 swing Event(2)",
        "3.00 swing Event(3)",
        "3.00 swing End",
    ];
    assert_eq!(said, want);
}

#[test]
fn streaming_begins_before_the_start() {
    let mut late = clip("late", ClipStart::At(2.0));
    late.stream_before = 0.5;
    let mut then = clip("then", ClipStart::After(0, 0.25));
    then.stream_before = 1.0;
    let mut sequencer = sequence(vec![late, then]);
    let said = log(&mut sequencer, 4.0, 0.5);
    let want =
        ["1.50 late Stream", "2.00 late Start", "3.00 late End", "3.00 then Stream", "3.25 then Start"];
    assert_eq!(said, want);
    let mut sequencer = sequence(vec![sequencer.clip(0).clone()]);
    log(&mut sequencer, 1.75, 0.25);
    assert_eq!(sequencer.playback_state(0), PlaybackState::Streaming);
    assert_eq!((sequencer.shown_mesh(0), sequencer.holds_memory(0)), (ShownMesh::Nothing, true));
}

#[test]
fn a_circle_of_states() {
    let mut idle = clip("idle", ClipStart::At(0.0));
    (idle.plays, idle.exit) = (0, Some(ExitSignal::AtSeam(1)));
    idle.end = ClipEnd::Clip(1);
    let mut hit = clip("hit", ClipStart::Never);
    hit.end = ClipEnd::Clip(0);
    let mut sequencer = sequence(vec![idle, hit]);
    log(&mut sequencer, 1.5, 0.5);
    sequencer.signal(1);
    let said = log(&mut sequencer, 4.5, 0.5);
    let want = ["2.00 idle End", "2.00 hit Start", "3.00 hit End", "3.00 idle Start", "4.00 idle Turn(1)"];
    assert_eq!(said, want);
}

#[test]
fn what_was_left_stays_until_the_next_start() {
    let mut once = clip("once", ClipStart::OnSignal(1));
    (once.end, once.stream_before) = (ClipEnd::Mesh(4), 0.0);
    let mut other = clip("other", ClipStart::After(0, 0.0));
    other.end = ClipEnd::Nothing;
    let mut back = clip("back", ClipStart::After(1, 0.5));
    (back.end, back.stream_before) = (ClipEnd::Mesh(5), 0.25);
    let mut sequencer = sequence(vec![once, other, back]);
    for _ in 0..2 {
        sequencer.signal(1);
        let end = sequencer.time() + 3.75;
        log(&mut sequencer, end, 0.25);
        assert_eq!(sequencer.shown_mesh(0), ShownMesh::Mesh(4));
        assert_eq!(sequencer.shown_mesh(2), ShownMesh::Mesh(5));
        assert!((0..3).all(|c| !sequencer.holds_memory(c)));
    }
    sequencer.signal(1);
    sequencer.tick(2.4, |_| {});
    assert_eq!(sequencer.shown_mesh(2), ShownMesh::Mesh(5));
    assert!(sequencer.holds_memory(2), "it streams behind its end state");
}

#[test]
fn created_and_deleted_in_any_order() {
    let visible = |orders: [[f64; 2]; 3]| {
        let clips = orders.iter().enumerate().map(|(c, &[from, to])| {
            let mut clip = clip(&format!("part {c}"), ClipStart::At(from));
            clip.to = to - from;
            clip
        });
        let mut sequencer = sequence(clips.collect());
        let mut seen = Vec::new();
        for _ in 0..9 {
            sequencer.tick(0.125, |_| {});
            let shown = (0..3).map(|c| sequencer.shown_mesh(c) == ShownMesh::Cache);
            seen.push(shown.fold(0, |all, on| all * 10 + u32::from(on)));
        }
        seen
    };
    // Created and deleted in order; deleted in the opposite order; created in the opposite order.
    let in_order = visible([[0.1, 0.7], [0.3, 0.8], [0.5, 0.9]]);
    assert_eq!(in_order, [100, 100, 110, 111, 111, 11, 1, 0, 0]);
    let last_first = visible([[0.1, 0.9], [0.3, 0.8], [0.5, 0.7]]);
    assert_eq!(last_first, [100, 100, 110, 111, 111, 110, 100, 0, 0]);
    let created_last_first = visible([[0.5, 0.7], [0.3, 0.8], [0.1, 0.9]]);
    assert_eq!(created_last_first, [1, 1, 11, 111, 111, 11, 1, 0, 0]);
}

#[test]
fn create_delete_create_delete() {
    let mut blink = clip("blink", ClipStart::OnSignal(1));
    (blink.to, blink.exit) = (0.9, Some(ExitSignal::AtOnce(2)));
    let mut sequencer = sequence(vec![blink]);
    let mut seen = Vec::new();
    for signal in [1, 2, 1, 2, 2, 1, 1] {
        sequencer.signal(signal);
        let end = sequencer.time() + 0.25;
        seen.extend(log(&mut sequencer, end, 0.25));
    }
    let want = [
        "0.00 blink Start",
        "0.25 blink End",
        "0.50 blink Start",
        "0.75 blink End",
        "1.25 blink Start",
        "1.50 blink Start",
    ];
    assert_eq!(seen, want);
    assert_eq!(sequencer.position(0), 0.25);
}

#[test]
fn jumps_say_what_to_change() {
    let mut first = clip("first", ClipStart::At(0.5));
    first.end = ClipEnd::Mesh(1);
    let mut swing = clip("swing", ClipStart::At(0.25));
    (swing.plays, swing.repeat) = (0, Repeat::PingPong);
    let mut sequencer = sequence(vec![first, swing, clip("third", ClipStart::After(0, 0.0))]);
    let mut jump = |time: f64| {
        let mut said = Vec::new();
        sequencer.go_to(time, |a| said.push((a.clip, a.kind, a.delay)));
        (said, sequencer.position(1))
    };
    let (said, position) = jump(2.0);
    let want = [(0, ActionKind::End, 0.0), (1, ActionKind::Start, -1.75), (2, ActionKind::Start, -0.5)];
    assert_eq!((said, position), (want.to_vec(), 0.25));
    let (said, _) = jump(0.75);
    let want = [(0, ActionKind::Start, -0.25), (1, ActionKind::Start, -0.5), (2, ActionKind::Remove, 0.0)];
    assert_eq!(said, want);
    assert_eq!(jump(0.0).0.len(), 2);
    assert_eq!(jump(f64::NAN).0, []);
}

#[test]
fn wrong_sequences_are_refused() {
    let refused = |change: &dyn Fn(&mut SequenceClip)| {
        let mut clip = clip("a", ClipStart::At(0.0));
        change(&mut clip);
        Sequencer::new(vec![clip]).expect_err("it is wrong").to_string()
    };
    assert!(refused(&|c| c.start = ClipStart::At(-1.0)).contains("clip a"));
    assert!(refused(&|c| c.start = ClipStart::After(1, 0.0)).contains("does not exist"));
    assert!(refused(&|c| c.end = ClipEnd::Clip(9)).contains("does not exist"));
    assert!(refused(&|c| c.rate = 0.0).contains("rate"));
    assert!(refused(&|c| c.rate = f64::NAN).contains("rate"));
    assert!(refused(&|c| c.to = 0.0).contains("millisecond"));
    assert!(refused(&|c| c.from = f64::NAN).contains("seconds"));
    assert!(refused(&|c| c.rate = 1e300).contains("millisecond"));
    let twice = vec![clip("a", ClipStart::Never), clip("a", ClipStart::Never)];
    assert!(Sequencer::new(twice).is_err());
    assert!(Sequencer::new(Vec::new()).unwrap().is_empty());
}

fn starts() -> impl Strategy<Value = ClipStart> {
    prop_oneof![
        (0u32..3000).prop_map(|ms| ClipStart::At(f64::from(ms) / 1000.0)),
        (0usize..4, 0u32..1000).prop_map(|(c, ms)| ClipStart::After(c, f64::from(ms) / 1000.0)),
        (0u32..3).prop_map(ClipStart::OnSignal),
        Just(ClipStart::Never),
    ]
}

fn clips() -> impl Strategy<Value = Vec<SequenceClip>> {
    let ends = prop_oneof![
        Just(ClipEnd::Nothing),
        Just(ClipEnd::Hold),
        Just(ClipEnd::Mesh(1)),
        (0usize..4).prop_map(ClipEnd::Clip),
    ];
    let leave = prop_oneof![
        Just(None),
        (0u32..3).prop_map(|s| Some(ExitSignal::AtOnce(s))),
        (0u32..3).prop_map(|s| Some(ExitSignal::AtSeam(s))),
    ];
    let repeat = prop::sample::select(vec![Repeat::Loop, Repeat::PingPong, Repeat::Cycle]);
    let rate = prop_oneof![0.3f64..4.0, -4.0f64..-0.3];
    let events = prop::collection::vec((0.0f64..1.0, 0u32..5), 0..4);
    let parts = (starts(), ends, leave, (repeat, 0u32..4), rate, events, 0u32..800);
    prop::collection::vec(parts, 4).prop_map(|all| {
        let clips = all.into_iter().enumerate();
        clips
            .map(|(c, (start, end, leave, (repeat, plays), rate, events, before))| SequenceClip {
                name: c.to_string(),
                start,
                end,
                exit: leave,
                repeat,
                plays,
                rate,
                events,
                stream_before: f64::from(before) / 1000.0,
                ..clip("", start)
            })
            .collect()
    })
}

/// Returns the actions of a sequencer and its state after these waits in milliseconds, each followed by a
/// signal, in ticks of `tick`.
fn played(clips: &[SequenceClip], waits: &[(u32, u32)], tick: u32) -> (Vec<Action>, Vec<String>) {
    let mut sequencer = sequence(clips.to_vec());
    let mut said = Vec::new();
    let mut states = Vec::new();
    for &(wait, signal) in waits {
        let mut left = wait;
        while left > 0 {
            let now = left.min(tick);
            left -= now;
            sequencer.tick(f64::from(now) / 1000.0, |action| {
                said.push(Action { delay: 0.0, ..action });
            });
        }
        let state = |c| {
            let (stage, shown) = (sequencer.playback_state(c), sequencer.shown_mesh(c));
            format!("{stage:?} {shown:?} {}", sequencer.position(c))
        };
        states.extend((0..clips.len()).map(state));
        sequencer.signal(signal);
    }
    (said, states)
}

proptest! {
    #[test]
    fn ticks_of_any_length_give_the_same(
        clips in clips(),
        waits in prop::collection::vec((0u32..2500, 0u32..5), 1..6),
        tick in 1u32..900,
    ) {
        let fine = played(&clips, &waits, 1);
        prop_assert_eq!(&fine, &played(&clips, &waits, tick));
        prop_assert_eq!(&fine, &played(&clips, &waits, 10_000));
    }

    /// The clock that obeys an action's commands agrees with the sequencer's position, whenever the tick was.
    #[test]
    fn clocks_follow(
        clips in clips(),
        ticks in prop::collection::vec((1u32..700, 0u32..6), 1..30),
        jump in 0u32..4000,
    ) {
        let mut sequencer = sequence(clips.clone());
        let timeline = second();
        let mut clocks: Vec<Clock> = clips.iter().map(|_| Clock::new(&timeline)).collect();
        let obey = |clocks: &mut Vec<Clock>, action: Action| {
            for command in action.commands(&clips[action.clip]) {
                clocks[action.clip].command(command);
            }
        };
        for (t, (ms, signal)) in ticks.iter().enumerate() {
            let dt = f64::from(*ms) / 1000.0;
            sequencer.signal(*signal);
            sequencer.tick(dt, |action| obey(&mut clocks, action));
            for clock in &mut clocks {
                clock.advance(dt);
            }
            if t == ticks.len() / 2 {
                sequencer.go_to(f64::from(jump) / 1000.0, |action| obey(&mut clocks, action));
                for clock in &mut clocks {
                    clock.advance(0.0);
                }
            }
            for c in 0..clips.len() {
                if sequencer.playback_state(c) == PlaybackState::Playing && clips[c].repeat != Repeat::Cycle {
                    let (has, is) = (clocks[c].position(), sequencer.position(c));
                    prop_assert!((has - is).abs() < 1e-7, "clip {}: {} instead of {}", c, has, is);
                }
                prop_assert!(sequencer.holds_memory(c) || clocks[c].stopped());
            }
        }
    }
}
