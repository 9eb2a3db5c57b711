//! Tests of the clock: any commands and ticks, and equal results for any partition of time.

use super::*;
use crate::time::timeline::FLICKS_PER_SECOND;
use proptest::prelude::*;

/// A timeline of `frames` frames at ten per second.
fn tenths(frames: usize, period: f64) -> Timeline {
    Timeline::new((0..frames).map(|f| f as f64 / 10.0), period)
}

fn clock(timeline: &Timeline, commands: &[Command]) -> Clock {
    let mut clock = Clock::new(timeline);
    for &command in commands {
        clock.command(command);
    }
    clock.advance(0.0);
    clock
}

/// Returns all frames in a demand's spans, with the seconds until each is due.
fn named(demand: &FrameDemand, timeline: &Timeline) -> Vec<(u32, f64)> {
    let mut out = Vec::new();
    for span in demand.spans() {
        let from = timeline.time(span.from as usize);
        for k in 0..=span.from.abs_diff(span.to) {
            let frame = if span.to >= span.from { span.from + k } else { span.from - k };
            let way = (timeline.time(frame as usize) - from).abs();
            let within = f64::from(span.in_seconds) + way / f64::from(span.rate);
            out.push((frame, (within * 1e4).round() / 1e4));
        }
    }
    out
}

fn frames(demand: &FrameDemand, timeline: &Timeline) -> Vec<u32> {
    named(demand, timeline).iter().map(|n| n.0).collect()
}

fn shows(clock: &Clock) -> (u32, u32, f32) {
    let pair = clock.demand().now.expect("it is shown");
    (pair.first, pair.second, (pair.blend * 1e4).round() / 1e4)
}

#[test]
fn play_pause_stop_reset() {
    let timeline = tenths(11, 0.0);
    let mut clock = Clock::new(&timeline);
    assert!(clock.stopped() && clock.demand() == FrameDemand::default());
    clock.command(Command::Play);
    assert!(clock.stopped(), "not before the next tick");
    assert_eq!(clock.advance(0.25).position, 0.25);
    assert_eq!(shows(&clock), (2, 3, 0.5));
    clock.command(Command::Pause);
    assert_eq!(clock.advance(0.25).position, 0.25);
    assert_eq!(shows(&clock), (2, 3, 0.5));
    clock.command(Command::Play);
    assert_eq!(clock.advance(0.25).position, 0.5);
    clock.command(Command::Reset);
    let moved = clock.advance(0.25);
    assert_eq!((moved.position, moved.jumped), (0.25, true));
    clock.command(Command::Stop);
    assert_eq!(clock.advance(0.25).position, 0.0);
    assert!(clock.stopped() && clock.demand().now.is_none());
    assert!(clock.demand().spans().is_empty());
    clock.command(Command::Pause);
    clock.advance(1.0);
    assert_eq!(shows(&clock), (0, 0, 0.0));
}

#[test]
fn a_timeline_that_replaces_another_keeps_settings_and_position() {
    let playing = [Command::Rate(2.0), Command::Repeat(Repeat::Loop), Command::Play];
    let mut clock = clock(&tenths(11, 0.0), &playing);
    clock.advance(0.3);
    let jumps = clock.demand().jump;
    clock.set_timeline(&tenths(11, 0.0));
    assert_eq!(clock.demand().jump, jumps, "the same timeline changes nothing");
    // Longer: goes on, now to the new end. Shorter: cut to the length.
    clock.set_timeline(&tenths(31, 0.0));
    assert_eq!((clock.position(), clock.rate(), clock.playing()), (0.6, 2.0, true));
    assert_ne!(clock.demand().jump, jumps);
    clock.advance(0.9);
    assert_eq!(shows(&clock), (24, 25, 0.0));
    clock.set_timeline(&tenths(6, 0.0));
    assert_eq!(clock.position(), 0.5);
    clock.advance(0.05);
    assert!(clock.playing() && clock.position() < 0.5, "it loops");
    // A range of some frames remains one, as far as it is there.
    clock.command(Command::Range(0.2, 0.4));
    clock.advance(0.0);
    clock.set_timeline(&tenths(4, 0.0));
    clock.command(Command::GoTo(0.0));
    clock.advance(0.0);
    assert_eq!(clock.position(), 0.2);
    clock.set_timeline(&tenths(0, 0.0));
    clock.advance(1.0);
    assert!(clock.demand().now.is_none());
}

#[test]
fn jumps_to_times_and_frames() {
    let timeline = tenths(11, 0.0);
    let mut clock = clock(&timeline, &[Command::Pause]);
    for (command, at) in [
        (Command::GoTo(0.55), 0.55),
        (Command::GoToFrame(7), 0.7),
        (Command::GoToFrame(99), 1.0),
        (Command::GoTo(-3.0), 0.0),
        (Command::GoTo(f64::INFINITY), 1.0),
        (Command::GoTo(0.3), 0.3),
        (Command::GoTo(f64::NAN), 0.3),
    ] {
        clock.command(command);
        let before = clock.position();
        let moved = clock.advance(1.0);
        assert_eq!(moved.position, at, "{command:?}");
        assert_eq!(moved.jumped, before != at);
    }
    clock.command(Command::GoToFrame(2));
    clock.command(Command::GoToFrame(4));
    clock.advance(0.0);
    assert_eq!(shows(&clock), (4, 4, 0.0), "the later one counts");
}

#[test]
fn rates_of_every_kind() {
    let timeline = tenths(101, 0.0);
    let mut clock = clock(&timeline, &[Command::Play, Command::GoTo(5.0)]);
    for (rate, at) in [
        (0.37, 5.37),
        (-1.0, 4.37),
        (0.0, 4.37),
        (f64::NAN, 4.37),
        (2.5, 6.87),
        (f64::INFINITY, 10.0),
        (-1e9, 0.0),
    ] {
        clock.command(Command::Rate(rate));
        let at_rate = clock.advance(1.0).position;
        assert!((at_rate - at).abs() < 1e-8, "{rate}: {at_rate}");
    }
}

#[test]
fn once_ends_and_starts_anew() {
    let timeline = tenths(11, 0.0);
    let mut clock = clock(&timeline, &[Command::Play]);
    assert!(!clock.advance(0.9).ended);
    let moved = clock.advance(0.5);
    assert_eq!((moved.position, moved.ended), (1.0, true));
    assert_eq!(shows(&clock), (10, 10, 0.0));
    assert!(!clock.advance(0.5).ended, "said once");
    assert!(clock.ended() && clock.pace().speed == 0.0);
    clock.command(Command::Play);
    assert_eq!(clock.advance(0.25).position, 0.25);
    clock.command(Command::Rate(-1.0));
    assert!(clock.advance(5.0).ended);
    clock.command(Command::Play);
    assert_eq!(clock.advance(0.25).position, 0.75, "backwards from the end");
    clock.advance(5.0);
    clock.command(Command::GoTo(0.5));
    assert_eq!(clock.advance(0.25).position, 0.25, "a jump away goes on");
}

#[test]
fn the_start_offset_and_ranges() {
    let timeline = tenths(21, 0.0);
    let mut clock = clock(&timeline, &[Command::StartAt(0.7), Command::Range(0.5, 1.5), Command::Play]);
    assert_eq!(clock.position(), 0.7);
    assert!(clock.advance(5.0).ended);
    assert_eq!(clock.position(), 1.5);
    clock.command(Command::Repeat(Repeat::Loop));
    assert_eq!(clock.advance(0.25).position, 0.75);
    clock.command(Command::Frames(10, 12));
    assert_eq!(clock.advance(0.0).position, 1.0, "moved into the range");
    assert_eq!(clock.advance(0.25).position, 1.05);
    assert_eq!(frames(&clock.demand(), &timeline), [12]);
    clock.command(Command::Range(f64::NAN, 1.0));
    clock.command(Command::Range(1.3, 1.1));
    clock.command(Command::Reset);
    assert_eq!(clock.advance(1.0).position, 1.3, "an empty range is one moment");
}

#[test]
fn a_loop_that_is_not_closed_jumps() {
    let timeline = tenths(11, 0.0);
    let commands = [Command::Play, Command::Repeat(Repeat::Loop)];
    let mut clock = clock(&timeline, &commands);
    let moved = clock.advance(1.0);
    assert_eq!((moved.position, moved.turns, moved.jumped), (1.0, 0, false));
    assert_eq!(shows(&clock), (10, 10, 0.0));
    let moved = clock.advance(0.25);
    assert_eq!((moved.position, moved.turns, moved.jumped), (0.25, 1, true));
    let jump = clock.demand().jump;
    assert_eq!(clock.advance(3.5).turns, 3);
    assert_eq!(clock.demand().jump, jump, "a seam is no jump to wait for");
    clock.command(Command::Rate(-1.0));
    let moved = clock.advance(0.95);
    assert_eq!((moved.turns, moved.jumped), (1, true));
    assert!((moved.position - 0.8).abs() < 1e-9);
    assert!(!clock.ended());
}

#[test]
fn a_closed_cycle_is_blended_across_its_seam() {
    let timeline = tenths(10, 1.0);
    for repeat in [Repeat::Loop, Repeat::Cycle] {
        let mut clock = clock(&timeline, &[Command::Play, Command::Repeat(repeat)]);
        let moved = clock.advance(0.95);
        assert_eq!(moved.turns, 0);
        assert_eq!(shows(&clock), (9, 0, 0.5));
        let pace = clock.pace();
        assert!((pace.span - 0.1).abs() < 1e-9 && pace.speed == 1.0);
        assert_eq!(frames(&clock.demand(), &timeline)[..2], [1, 2]);
        let moved = clock.advance(0.1);
        assert_eq!((moved.turns, moved.jumped), (1, false));
        assert_eq!(shows(&clock), (0, 1, 0.5));
    }
    let once = clock(&timeline, &[Command::Play, Command::GoTo(0.95)]);
    assert_eq!(shows(&once), (9, 9, 0.0), "no seam for what is played once");
}

#[test]
fn the_caller_may_say_that_a_cycle_closes() {
    let timeline = tenths(21, 0.0);
    let commands = [Command::Repeat(Repeat::Cycle), Command::Frames(5, 9), Command::Play];
    let mut clock = clock(&timeline, &commands);
    clock.advance(0.45);
    assert_eq!(shows(&clock), (9, 5, 0.5));
    assert_eq!(clock.advance(0.1).turns, 1);
    assert_eq!(shows(&clock), (5, 6, 0.5));
}

#[test]
fn ping_pong_turns_at_both_ends() {
    let timeline = tenths(11, 0.0);
    let commands = [Command::Play, Command::Repeat(Repeat::PingPong)];
    let mut clock = clock(&timeline, &commands);
    let mut at = Vec::new();
    let mut turns = 0;
    for _ in 0..10 {
        let moved = clock.advance(0.25);
        assert!(!moved.jumped);
        turns += moved.turns;
        at.push(moved.position);
    }
    assert_eq!(at, [0.25, 0.5, 0.75, 1.0, 0.75, 0.5, 0.25, 0.0, 0.25, 0.5]);
    assert_eq!(turns, 2);
    clock.advance(1.0);
    assert_eq!(clock.position(), 0.5);
    assert_eq!(clock.pace().speed, -1.0);
}

#[test]
fn what_comes_next_follows_the_direction() {
    let timeline = tenths(7, 0.0);
    let ahead = |repeat, rate| {
        let commands = [Command::GoTo(0.25), Command::Play, Command::Repeat(repeat), Command::Rate(rate)];
        let clock = clock(&timeline, &commands);
        named(&clock.demand(), &timeline)
    };
    let forward = [(4, 0.05), (5, 0.15), (6, 0.25)];
    assert_eq!(ahead(Repeat::Once, 1.0), forward);
    let fast = forward.map(|(f, t): (u32, f64)| (f, (t / 2.0 * 1e4).round() / 1e4));
    assert_eq!(ahead(Repeat::Once, 2.0), fast);
    assert_eq!(ahead(Repeat::Once, 0.0), forward, "as if it were played");
    assert_eq!(ahead(Repeat::Once, -1.0), [(1, 0.05), (0, 0.15)]);
    let wrapped = [(0, 0.35), (1, 0.45)];
    assert_eq!(ahead(Repeat::Loop, 1.0)[3..], wrapped);
    let wrapped = [(6, 0.25), (5, 0.35), (4, 0.45)];
    assert_eq!(ahead(Repeat::Loop, -1.0)[2..], wrapped);
    let turned = [(1, 0.75), (0, 0.85)];
    assert_eq!(ahead(Repeat::PingPong, 1.0)[3..], turned);
    let cycle = ahead(Repeat::Cycle, 1.0);
    assert_eq!(cycle[3..], [(0, 0.35), (1, 0.45)], "needed before the seam");
}

#[test]
fn a_way_back_is_asked_for_before_the_turn() {
    let timeline = tenths(7, 0.0);
    let commands = [Command::Play, Command::Repeat(Repeat::PingPong), Command::GoTo(0.55)];
    let mut clock = clock(&timeline, &commands);
    assert_eq!(shows(&clock), (5, 6, 0.5));
    let next = named(&clock.demand(), &timeline);
    assert_eq!(next[..2], [(4, 0.15), (3, 0.25)]);
    clock.advance(0.1);
    assert_eq!(shows(&clock), (5, 6, 0.5));
    assert_eq!(named(&clock.demand(), &timeline)[0], (4, 0.05));
}

#[test]
fn streaming_elsewhere() {
    let timeline = tenths(41, 0.0);
    let mut clock = clock(&timeline, &[Command::Play, Command::StreamAt(3.0)]);
    clock.advance(0.05);
    let demand = clock.demand();
    assert_eq!(demand.now, Some(FramePair { first: 0, second: 1, blend: 0.5 }));
    assert_eq!(demand.spans().len(), 2);
    assert_eq!((demand.spans()[0].from, demand.spans()[1].from), (2, 30));
    assert_eq!(demand.spans()[1].in_seconds, 0.0);
    clock.command(Command::Pause);
    clock.advance(0.0);
    assert_eq!(frames(&clock.demand(), &timeline)[..3], [30, 31, 32]);
    clock.command(Command::Stop);
    clock.advance(0.0);
    assert!(clock.demand().spans().is_empty(), "stopping lets go of all");
    clock.command(Command::StreamAt(2.05));
    clock.advance(0.0);
    let demand = clock.demand();
    assert_eq!((demand.now, demand.spans()[0].from), (None, 20));
    clock.command(Command::StreamHere);
    clock.advance(0.0);
    assert!(clock.demand().spans().is_empty());
}

#[test]
fn half_the_rate_shows_every_second_frame_and_the_last() {
    let timeline = tenths(12, 0.0).with_temporal_layers();
    let mut half = clock(&timeline, &[Command::FrameStep(2), Command::Play]);
    let mut pairs = Vec::new();
    for _ in 0..23 {
        let demand = half.demand();
        let pair = demand.now.unwrap();
        assert!((demand.spans().iter()).all(|s| s.step == 2 && s.from % 2 == 0 || s.from == 11));
        if pairs.last() != Some(&(pair.first, pair.second)) {
            pairs.push((pair.first, pair.second));
        }
        half.advance(0.05);
    }
    assert_eq!(pairs, [(0, 2), (2, 4), (4, 6), (6, 8), (8, 10), (10, 11), (11, 11)]);
    // Half way from 0 to 2 is the time of frame 1.
    half.command(Command::GoTo(0.1));
    half.advance(0.0);
    let pair = half.demand().now.unwrap();
    assert_eq!((pair.first, pair.second), (0, 2));
    assert!((pair.blend - 0.5).abs() < 1e-6);
    // All frames again; a file without temporal layers ignores the command.
    half.command(Command::FrameStep(1));
    half.advance(0.0);
    assert_eq!(half.demand().now.unwrap().first, 1);
    let mut serial = clock(&tenths(12, 0.0), &[Command::FrameStep(2), Command::Play]);
    serial.advance(0.1);
    assert_eq!(serial.demand().now.unwrap().first, 1);
}

#[test]
fn keys_alone_are_every_16th_frame_and_the_last() {
    let timeline = tenths(40, 0.0).with_temporal_layers();
    for (step, expected) in
        [(16, [16, 32]), (99, [16, 32]), (15, [20, 22]), (3, [20, 22]), (1, [20, 21]), (0, [20, 21])]
    {
        let mut clock = clock(&timeline, &[Command::FrameStep(step), Command::Play, Command::GoTo(2.05)]);
        clock.advance(0.0);
        let pair = clock.demand().now.unwrap();
        assert_eq!([pair.first, pair.second], expected, "{step}");
        clock.command(Command::GoTo(3.9));
        clock.advance(0.0);
        assert_eq!(clock.demand().now.unwrap().first, 39);
    }
}

#[test]
fn half_the_rate_closes_a_cycle_where_all_of_it_does() {
    let all = tenths(11, 0.0).with_temporal_layers();
    let commands = [Command::Repeat(Repeat::Cycle), Command::Play];
    let mut full = clock(&all, &commands);
    let mut half = clock(&all, &commands);
    half.command(Command::FrameStep(2));
    for _ in 0..100 {
        assert_eq!(full.advance(0.07).position, half.advance(0.07).position);
    }
}

#[test]
fn pre_roll_does_not_wait_for_what_will_not_come() {
    let timeline = tenths(41, 0.0);
    let mut far = clock(&timeline, &[Command::PreRoll(3.0), Command::Play]);
    far.update_pre_roll(0.4, |frame| frame < 3);
    assert_eq!(far.advance(0.1).position, 0.0);
    far.update_pre_roll(0.4, |frame| frame < 5);
    assert_eq!(far.advance(0.1).position, 0.1, "more is not decoded ahead");
    let mut starved = clock(&timeline, &[Command::PreRoll(0.5), Command::Play]);
    for tick in 0..15 {
        assert_eq!(starved.advance(0.1).position, 0.0, "tick {tick}");
        starved.update_pre_roll(0.4, |frame| frame < 2);
    }
    assert!(starved.advance(0.1).position > 0.0);
}

#[test]
fn pre_roll_waits_until_enough_is_there() {
    let timeline = tenths(41, 0.0);
    let mut clock = clock(&timeline, &[Command::PreRoll(0.5), Command::Play]);
    assert!(clock.waiting());
    assert_eq!(clock.advance(1.0).position, 0.0);
    clock.update_pre_roll(f64::INFINITY, |frame| frame < 4);
    assert_eq!(clock.advance(1.0).position, 0.0, "0.3 s is not enough");
    clock.update_pre_roll(f64::INFINITY, |frame| frame < 6);
    assert_eq!(clock.advance(0.25).position, 0.25);
    assert!(!clock.waiting());
    clock.command(Command::GoTo(3.8));
    clock.advance(1.0);
    assert!(clock.waiting(), "after a jump again");
    assert_eq!(clock.position(), 3.8);
    clock.update_pre_roll(f64::INFINITY, |frame| frame >= 38);
    assert_eq!(clock.advance(0.1).position, 3.9, "there is no more than that");
    clock.command(Command::Pause);
    clock.command(Command::GoTo(0.0));
    clock.advance(0.1);
    assert!(!clock.waiting());
}

#[test]
fn a_delay_passes_first() {
    let timeline = tenths(11, 0.0);
    let mut clock = clock(&timeline, &[Command::Delay(0.5), Command::Play]);
    assert_eq!(clock.advance(0.25).position, 0.0);
    assert_eq!(clock.advance(0.5).position, 0.25);
    assert_eq!(clock.advance(0.25).position, 0.5);
    clock.command(Command::Delay(-0.25));
    assert_eq!(clock.advance(0.0).position, 0.75, "it began before");
    assert_eq!(clock.advance(0.0).position, 0.75);
}

#[test]
fn interpolation_can_be_switched_off() {
    let timeline = tenths(11, 0.0);
    let commands = [Command::Interpolate(false), Command::Play];
    let mut clock = clock(&timeline, &commands);
    clock.advance(0.29);
    assert_eq!(shows(&clock), (2, 3, 0.0));
    clock.command(Command::Pause);
    clock.advance(0.0);
    assert_eq!(shows(&clock), (2, 2, 0.0));
    assert_eq!(frames(&clock.demand(), &timeline)[0], 3);
}

#[test]
fn velocity_has_a_neighbour_on_every_frame() {
    let timeline = tenths(6, 0.0);
    let closed = tenths(6, 0.5);
    let at = |timeline: &Timeline, commands: &[Command]| {
        let mut clock = Clock::new(timeline);
        clock.command(Command::Play);
        for &command in commands {
            clock.command(command);
        }
        clock.advance(0.0);
        let pace = clock.pace();
        let (first, second, _) = shows(&clock);
        (first, second, (pace.span * 10.0).round(), pace.speed)
    };
    let back = Command::Rate(-2.0);
    let (go, looped) = (Command::GoToFrame, Command::Repeat(Repeat::Loop));
    assert_eq!(at(&timeline, &[go(3)]), (3, 4, 1.0, 1.0));
    assert_eq!(at(&timeline, &[go(3), back]), (3, 2, -1.0, -2.0));
    assert_eq!(at(&timeline, &[go(5), back]), (5, 4, -1.0, -2.0));
    assert_eq!(at(&timeline, &[go(5)]), (5, 5, 0.0, 0.0), "ended");
    assert_eq!(at(&timeline, &[go(0), back]), (0, 0, 0.0, 0.0), "ended");
    assert_eq!(at(&closed, &[go(5), looped]), (5, 1, 1.0, 1.0));
    assert_eq!(at(&closed, &[go(0), looped, back]), (0, 4, -1.0, -2.0));
    let open_seam = tenths(6, 0.6);
    assert_eq!(at(&open_seam, &[go(0), looped, back]), (0, 5, -1.0, -2.0));
    assert_eq!(at(&timeline, &[go(3), Command::Pause]), (3, 3, 0.0, 0.0));
}

#[test]
fn ticks_of_every_length_are_defined() {
    let timeline = tenths(11, 0.0);
    let commands = [Command::Play, Command::Repeat(Repeat::Loop)];
    for dt in [0.0, -1.0, f64::NAN, f64::NEG_INFINITY, -0.0, 1e-300] {
        assert_eq!(clock(&timeline, &commands).advance(dt).position, 0.0, "{dt}");
    }
    for dt in [f64::INFINITY, f64::MAX, 1e6] {
        let mut clock = clock(&timeline, &commands);
        clock.command(Command::Rate(f64::MAX));
        let moved = clock.advance(dt);
        assert_eq!(moved.position, 1.0, "{dt}");
        assert_eq!(moved.turns, u32::MAX);
    }
}

#[test]
fn files_with_no_frame_or_one() {
    for frames in [0, 1] {
        let timeline = tenths(frames, 0.0);
        for repeat in [Repeat::Once, Repeat::Loop, Repeat::Cycle, Repeat::PingPong] {
            let mut clock = clock(&timeline, &[Command::Play, Command::Repeat(repeat)]);
            for rate in [1.0, -1.0, 0.0] {
                clock.command(Command::Rate(rate));
                clock.command(Command::GoToFrame(3));
                assert_eq!(clock.advance(1.0).position, 0.0);
                assert_eq!(clock.demand().now.is_some(), frames == 1);
                assert!(clock.demand().spans().is_empty());
            }
        }
    }
}

#[test]
fn a_stream_of_irregular_times() {
    let times = [0.0, 0.1, 0.15, 0.9, 0.9 + 1e-6, 2.0];
    let timeline = Timeline::new(times, 0.0);
    let mut clock = clock(&timeline, &[Command::Play]);
    clock.advance(0.125);
    assert_eq!(shows(&clock), (1, 2, 0.5));
    clock.advance(0.4);
    assert_eq!(shows(&clock), (2, 3, 0.5));
    clock.advance(0.925);
    assert_eq!((shows(&clock).0, shows(&clock).1), (4, 5));
}

fn repeats() -> impl Strategy<Value = Repeat> {
    prop::sample::select(vec![Repeat::Once, Repeat::Loop, Repeat::Cycle, Repeat::PingPong])
}

fn commands() -> impl Strategy<Value = Command> {
    let time = prop_oneof![-1.0f64..5.0, Just(f64::NAN), Just(f64::INFINITY)];
    prop_oneof![
        Just(Command::Play),
        Just(Command::Pause),
        Just(Command::Stop),
        Just(Command::Reset),
        time.clone().prop_map(Command::GoTo),
        (0usize..50).prop_map(Command::GoToFrame),
        prop_oneof![-3.0f64..3.0, Just(0.0), Just(1.0), Just(f64::NAN)].prop_map(Command::Rate),
        repeats().prop_map(Command::Repeat),
        (time.clone(), time.clone()).prop_map(|(a, b)| Command::Range(a, b)),
        (0usize..50, 0usize..50).prop_map(|(a, b)| Command::Frames(a, b)),
        time.clone().prop_map(Command::StartAt),
        prop_oneof![Just(0.0), 0.0f64..2.0].prop_map(Command::PreRoll),
        time.clone().prop_map(Command::Delay),
        time.prop_map(Command::StreamAt),
        Just(Command::StreamHere),
        any::<bool>().prop_map(Command::Interpolate),
    ]
}

fn timelines() -> impl Strategy<Value = Timeline> {
    (prop::collection::vec(1u32..400, 0..40), 0u32..3).prop_map(|(steps, closing)| {
        let mut at = 0.0;
        let mut times = vec![0.0];
        for step in steps {
            at += f64::from(step) / 1000.0;
            times.push(at);
        }
        let period = [0.0, at, at + 0.1][closing as usize];
        Timeline::new(times, period)
    })
}

proptest! {
    /// After any commands the position is in the file and the pair around it, and the demanded frames exist,
    /// in order, each once per lane.
    #[test]
    fn any_commands_and_ticks(
        timeline in timelines(),
        steps in prop::collection::vec((commands(), 0u32..3000, any::<bool>()), 1..60),
    ) {
        let count = timeline.frame_count() as u32;
        let longest = timeline.duration() + timeline.period().unwrap_or(0.0) + 0.4;
        let mut clock = Clock::new(&timeline);
        for (command, dt, there) in steps {
            clock.command(command);
            clock.update_pre_roll(f64::INFINITY, |_| there);
            let moved = clock.advance(f64::from(dt) / 1000.0);
            prop_assert!((0.0..=longest).contains(&moved.position));
            prop_assert_eq!(clock.stopped(), clock.demand().now.is_none());
            let demand = clock.demand();
            if let Some(pair) = demand.now {
                prop_assert!(pair.first < count && pair.second < count);
                prop_assert!((0.0..1.0).contains(&pair.blend));
                prop_assert!(pair.first != pair.second || pair.blend == 0.0);
                prop_assert!(timeline.time(pair.first as usize) <= moved.position + 1e-9);
            }
            for span in demand.spans() {
                prop_assert!(span.from < count && span.to < count);
                prop_assert!(span.in_seconds >= 0.0 && span.rate > 0.0);
            }
            let named = frames(&demand, &timeline);
            let lanes = if demand.now.is_some() { 2 } else { 1 };
            for frame in &named {
                let times = named.iter().filter(|f| *f == frame).count();
                prop_assert!(times <= lanes, "{} of {:?}", frame, named);
            }
        }
    }

    /// One large step and many small ones give the same position to the last bit.
    #[test]
    fn a_sum_of_steps_is_one_step(
        timeline in timelines(),
        repeat in repeats(),
        rate in -4.0f64..4.0,
        start in 0.0f64..3.0,
        steps in prop::collection::vec(0u32..2000, 1..50),
    ) {
        let commands = [
            Command::Repeat(repeat),
            Command::Rate(rate),
            Command::GoTo(start),
            Command::Play,
        ];
        let mut one = clock(&timeline, &commands);
        let mut many = one.clone();
        let sum: u32 = steps.iter().sum();
        let mut turns = 0;
        for step in steps {
            turns += many.advance(f64::from(step) / 1000.0).turns;
        }
        prop_assert_eq!(one.advance(f64::from(sum) / 1000.0).turns, turns);
        prop_assert_eq!((one.position, one.returning), (many.position, many.returning));
        prop_assert_eq!(one.demand(), many.demand());
    }

    /// The same ticks at the opposite rate lead back to the same place.
    #[test]
    fn reversing_retraces(
        timeline in timelines(),
        repeat in repeats(),
        rate in -4.0f64..4.0,
        start in 0.0f64..1.0,
        steps in prop::collection::vec(1u32..500, 1..30),
    ) {
        let place = start * timeline.duration();
        let commands = [
            Command::Repeat(repeat),
            Command::Rate(rate),
            Command::GoTo(place),
            Command::Play,
        ];
        let mut clock = clock(&timeline, &commands);
        let mut passed = vec![(clock.position, clock.returning)];
        for step in &steps {
            clock.advance(f64::from(*step) / 1000.0);
            passed.push((clock.position, clock.returning));
        }
        // A step that was cut at the end is not retraced, and the ends of a loop are one moment.
        let course = clock.play_range();
        let ends = [course.begin, course.end].map(|t| i128::from(t) << FRACTION_BITS);
        prop_assume!(!passed[1..].iter().any(|(p, _)| ends.contains(p)));
        clock.command(Command::Rate(-rate));
        for (step, before) in steps.iter().zip(&passed).rev() {
            clock.advance(f64::from(*step) / 1000.0);
            if !ends.contains(&before.0) {
                prop_assert_eq!((clock.position, clock.returning), *before);
            }
        }
    }

    /// The spans are right: every frame that is shown later was in them, and due no later than it is shown.
    #[test]
    fn what_is_shown_was_asked_for_in_time(
        timeline in timelines(),
        repeat in repeats(),
        rate in prop_oneof![0.2f64..3.0, -3.0f64..-0.2],
        start in 0.0f64..1.0,
        ticks in 1usize..40,
    ) {
        let commands = [
            Command::Repeat(repeat),
            Command::Rate(rate),
            Command::GoTo(start * timeline.duration()),
            Command::Play,
        ];
        let mut clock = clock(&timeline, &commands);
        let demand = clock.demand();
        let first = demand.now.expect("it is shown");
        let mut due: Vec<f64> = vec![f64::INFINITY; timeline.frame_count()];
        for (frame, within) in named(&demand, &timeline) {
            due[frame as usize] = within;
        }
        due[first.first as usize] = 0.0;
        due[first.second as usize] = 0.0;
        // The times of a span are measured from its first frame: uneven steps shift them by at most the
        // longest.
        let longest = timeline.times().windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
        let slack = longest as f64 / FLICKS_PER_SECOND as f64 / rate.abs() + 1e-3;
        for tick in 1..=ticks {
            clock.advance(0.05);
            let pair = clock.demand().now.expect("it is shown");
            let now = tick as f64 * 0.05;
            for frame in [pair.first, pair.second] {
                let due = due[frame as usize];
                prop_assert!(due <= now + slack, "frame {} due in {} is shown at {}", frame, due, now);
            }
        }
    }
}
