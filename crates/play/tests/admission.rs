//! More instances than fit into the heap: as many as fit are served, by priority, and the others are
//! reported.

use crate::common::playing::{Digest, assert_same, oracle};
use crate::common::{golden, inline, open, sample};
use meshreel::stream::Statistics;
use meshreel::{Command, Error, Event, FileId, InstanceId, Options, Player, Repeat};
use std::collections::BTreeSet;
use std::sync::Arc;

const FPS: f64 = 60.0;

struct Crowd {
    player: Player,
    contents: Vec<(FileId, Vec<u64>)>,
    instances: Vec<(InstanceId, usize)>,
    refused: BTreeSet<InstanceId>,
    /// Ticks without the right picture, of served instances.
    late: usize,
    shown: usize,
    digest: Digest,
}

fn files() -> [Arc<[u8]>; 2] {
    let layered = golden("v0/flag_fast.reel");
    [sample(120, true).parts.write().into(), layered.into()]
}

fn player(heap: usize) -> Player {
    Player::new(inline(heap)).unwrap()
}

impl Crowd {
    fn new(heap: usize, files: &[Arc<[u8]>]) -> Crowd {
        let mut player = player(heap);
        let open = |bytes: &Arc<[u8]>| (player.open_bytes(Arc::new(bytes.clone())), oracle(bytes));
        let contents = files.iter().map(open).collect();
        let mut crowd = Crowd {
            player,
            contents,
            instances: Vec::new(),
            refused: BTreeSet::new(),
            late: 0,
            shown: 0,
            digest: Digest::default(),
        };
        crowd.tick();
        crowd
    }

    /// Adds an instance that plays another part at another rate.
    fn add(&mut self, file: usize) -> InstanceId {
        let (id, frames) = &self.contents[file];
        let instance = self.player.add_instance(*id).unwrap();
        let n = self.instances.len();
        for command in [
            Command::StartAt(n as f64 * 0.37 % (frames.len() as f64 / 24.0)),
            Command::Rate([1.0, -1.0, 0.5, -2.0][n % 4]),
            Command::Repeat([Repeat::Loop, Repeat::PingPong][n % 2]),
            Command::Play,
        ] {
            self.player.command(instance, command);
        }
        self.instances.push((instance, file));
        instance
    }

    fn tick(&mut self) {
        self.player.tick(1.0 / FPS);
        while let Some(event) = self.player.next_event() {
            match event {
                Event::Refused { instance, needed, left } => {
                    assert!(needed > left && self.refused.insert(instance));
                }
                Event::Admitted(instance) => assert!(self.refused.remove(&instance)),
                Event::Opened(_) => {}
                other => panic!("{other:?}"),
            }
        }
        for &(instance, file) in &self.instances {
            let shown = self.player.frame(instance);
            if let Some(shown) = &shown {
                assert_same(shown, &self.contents[file].1, &mut self.digest);
                self.shown += 1;
            }
            if !self.player.is_refused(instance) {
                self.late += usize::from(shown.is_none_or(|shown| shown.is_late()));
            }
        }
    }

    fn play(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.tick();
        }
    }

    /// From some point on, all served instances show what they should.
    fn all_served_play(&mut self) {
        self.play(60);
        self.late = 0;
        self.play(120);
        assert_eq!(self.late, 0);
        let mut statistics = Statistics::default();
        self.player.statistics(&mut statistics);
        assert_eq!(statistics.instances, self.instances.len());
        assert_eq!(statistics.refused, self.refused.len());
        for &(instance, _) in &self.instances {
            let told = self.refused.contains(&instance);
            assert_eq!(self.player.is_refused(instance), told);
        }
    }
}

#[test]
fn as_many_as_fit_are_played_and_the_others_told() {
    let files = files();
    for heap in [300 << 10, 500 << 10, 800 << 10] {
        for mixed in [false, true] {
            // The layered file needs a megabyte to be played at all.
            let heap = if mixed { 4 * heap } else { heap };
            let mut crowd = Crowd::new(heap, &files[..1 + usize::from(mixed)]);
            for n in 0..40 {
                crowd.add(if mixed { n % 2 } else { 0 });
                crowd.play(2);
            }
            crowd.all_served_play();
            let served = 40 - crowd.refused.len();
            // In the largest heap all of both files fits.
            assert!(served >= 2 && (mixed || served < 40), "{served} in {heap}");
            // Those that came first stay.
            assert!(!crowd.refused.contains(&crowd.instances[0].0));
            let missed = |i: &InstanceId| crowd.player.late_ticks(*i).unwrap().0;
            let missed: u64 = crowd.refused.iter().map(missed).sum();
            // In a larger heap all frames may be in memory, so that refused instances see them.
            assert!(heap > 300 << 10 || missed > 50 * crowd.refused.len() as u64, "{missed}");
        }
    }
}

#[test]
fn room_that_becomes_free_goes_to_those_who_wait() {
    let mut crowd = Crowd::new(400 << 10, &files()[..1]);
    for _ in 0..30 {
        crowd.add(0);
    }
    crowd.all_served_play();
    let before = crowd.refused.clone();
    assert!(!before.is_empty());
    // Removed, hidden, stopped: each makes room for one instance.
    let served: Vec<InstanceId> =
        (crowd.instances.iter()).map(|i| i.0).filter(|i| !before.contains(i)).collect();
    crowd.player.remove(served[0]);
    crowd.instances.retain(|i| i.0 != served[0]);
    crowd.player.set_visible(served[1], false);
    crowd.player.command(served[2], Command::Stop);
    crowd.instances.retain(|i| !served[1..3].contains(&i.0));
    crowd.play(60);
    assert_eq!(crowd.refused.len(), before.len() - 3);
    assert!(crowd.refused.is_subset(&before));
    crowd.late = 0;
    crowd.play(60);
    assert_eq!(crowd.late, 0);
    // And back: instances that play are not interrupted; others wait for their turn.
    let waiting = crowd.refused.clone();
    crowd.player.set_visible(served[1], true);
    crowd.instances.push((served[1], 0));
    crowd.play(60);
    assert_eq!(crowd.refused.len(), waiting.len() + 1);
    assert!(crowd.refused.contains(&served[1]));
}

#[test]
fn priority_goes_before_age_and_may_change() {
    let mut crowd = Crowd::new(400 << 10, &files()[..1]);
    for _ in 0..20 {
        crowd.add(0);
    }
    crowd.all_served_play();
    let last = crowd.instances[19].0;
    assert!(crowd.refused.contains(&last));
    let count = crowd.refused.len();
    crowd.player.set_priority(last, 1);
    crowd.all_served_play();
    assert!(!crowd.refused.contains(&last));
    assert_eq!(crowd.refused.len(), count);
    // Seeks and other rates do not displace any instance.
    let refused = crowd.refused.clone();
    for step in 0..40 {
        for i in 0..crowd.instances.len() {
            let at = (step * 7 + i * 13) % 100;
            let instance = crowd.instances[i].0;
            crowd.player.command(instance, Command::GoToFrame(at));
            crowd.player.command(instance, Command::Rate(step as f64 - 20.0));
        }
        crowd.play(3);
    }
    assert_eq!(crowd.refused, refused);
    for i in 0..crowd.instances.len() {
        let rate = [1.0, -1.0][i % 2];
        crowd.player.command(crowd.instances[i].0, Command::Rate(rate));
    }
    crowd.player.set_priority(last, -1);
    crowd.all_served_play();
    assert!(crowd.refused.contains(&last));
}

#[test]
fn a_thousand_that_are_refused_are_all_told() {
    let mut crowd = Crowd::new(400 << 10, &files()[..1]);
    for _ in 0..1000 {
        crowd.add(0);
    }
    let some = crowd.instances.split_off(3);
    crowd.play(20);
    assert!(crowd.refused.len() > 900);
    for (instance, _) in some {
        crowd.refused.remove(&instance);
        crowd.player.remove(instance);
    }
    crowd.all_served_play();
}

#[test]
fn a_heap_that_can_never_show_a_frame_is_an_error_that_names_the_size() {
    for bytes in files() {
        let needed = |heap: usize| {
            let mut player = player(heap);
            player.open_bytes(Arc::new(bytes.clone()));
            player.tick(0.0);
            match player.next_event() {
                Some(Event::OpenFailed(_, Error::Limit { asked, allowed, .. })) => {
                    assert!(asked > allowed);
                    Some(asked)
                }
                Some(Event::Opened(_)) => None,
                other => panic!("{other:?}"),
            }
        };
        // The smallest size of a block depends on the heap.
        let mut heap = 4096;
        while let Some(asked) = needed(heap) {
            heap = asked as usize;
        }
        let mut crowd = Crowd::new(heap, std::slice::from_ref(&bytes));
        crowd.add(0);
        crowd.all_served_play();
        assert!(crowd.refused.is_empty() && crowd.shown > 0);
    }
}

#[test]
fn the_least_heap_is_known_from_the_file() {
    for bytes in files() {
        let reel = open(bytes.to_vec()).unwrap();
        let least = inline(1 << 20).least_heap(&reel, 1);
        let mut crowd = Crowd::new(least as usize, std::slice::from_ref(&bytes));
        crowd.add(0);
        crowd.all_served_play();
        assert!(crowd.refused.is_empty() && crowd.shown > 0);
        // No smaller one is asked for than what a player with less names.
        let mut player = player(4096);
        player.open_bytes(Arc::new(bytes));
        player.tick(0.0);
        match player.next_event() {
            Some(Event::OpenFailed(_, Error::Limit { asked, .. })) => assert!(asked <= least),
            other => panic!("{other:?}"),
        }
        // Instances share the frames of a short file, and others need more.
        let some = inline(1 << 20).least_heap(&reel, 3);
        assert!(least <= some && some <= 3 * least);
    }
}

#[test]
fn the_first_picture_has_its_time_and_then_is_missed() {
    let mut crowd = Crowd::new(400 << 10, &files()[..1]);
    for _ in 0..30 {
        let instance = crowd.add(0);
        crowd.player.command(instance, Command::PreRoll(0.25));
    }
    // Twice the pre-roll plus half a second: one second.
    crowd.play(50);
    let of = |crowd: &Crowd| {
        let late = |i: &InstanceId| crowd.player.late_ticks(*i).unwrap();
        crowd.refused.iter().map(late).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
    };
    let (missed, waited) = of(&crowd);
    assert!(missed == 0 && waited > 0);
    crowd.play(60);
    let (missed, later) = of(&crowd);
    assert!(missed > 0 && later < 2 * waited, "{missed} {waited} {later}");
}

#[test]
fn options_that_make_no_sense_are_errors() {
    let refused = |options: Options| match Player::new(options) {
        Err(error) => assert!(matches!(error, Error::Misuse { .. }), "{error}"),
        Ok(_) => panic!("made"),
    };
    let options = Options::default;
    for heap in [usize::MAX, usize::MAX / 2, 1 << 62, 2 << 40] {
        refused(options().with_heap(heap));
    }
    for threads in [1025, usize::MAX] {
        refused(options().with_threads(threads));
        let read_threads = threads;
        refused(options().with_read_threads(read_threads));
    }
    let nan = f32::NAN;
    refused(options().with_decode_ahead(nan));
    refused(options().with_least_read_ahead(nan));
    refused(options().with_most_read_ahead(nan));
    refused(options().with_unload_after(nan));
    // Odd, but possible.
    let bytes = &files()[0];
    for heap in [0, 1, 3 << 20] {
        let mut player = Player::new(
            options()
                .with_heap(heap)
                .with_resident(u64::MAX)
                .with_read_size(u64::MAX)
                .with_threads(0)
                .with_read_threads(0)
                .with_decode_ahead(f32::INFINITY)
                .with_least_read_ahead(f32::NEG_INFINITY)
                .with_most_read_ahead(f32::INFINITY)
                .with_unload_after(-1.0),
        )
        .unwrap();
        let file = player.open_bytes(Arc::new(bytes.clone()));
        let instance = player.add_instance(file).unwrap();
        player.command(instance, Command::Play);
        for _ in 0..20 {
            player.tick(1.0 / FPS);
        }
        assert_eq!(player.frame(instance).is_some(), heap > 1);
    }
}

/// A file that unpacks to much more than the heap is refused before it does.
#[test]
fn what_a_file_may_ask_for_follows_from_the_heap() {
    let options = Options::default().with_heap(1 << 20);
    let limits = options.file_limits();
    assert_eq!(limits.max_memory, 20 << 20);
    assert_eq!(limits.format.max_chunk, 20 << 20);
    let bytes = sample(2, false).parts.write_with(&vec![0; 40 << 20]);
    assert!(bytes.len() < 100_000);
    let open = |file_memory: u64| {
        let mut player = Player::new(
            Options::default()
                .with_heap(1 << 20)
                .with_threads(0)
                .with_read_threads(0)
                .with_file_memory(file_memory),
        )
        .unwrap();
        player.open_bytes(Arc::new(bytes.clone()));
        player.tick(0.0);
        match player.next_event() {
            Some(Event::OpenFailed(_, error)) => error,
            other => panic!("{other:?}"),
        }
    };
    let Error::Limit { asked, allowed, .. } = open(0) else {
        panic!("refused");
    };
    assert_eq!((asked, allowed), (40 << 20, 20 << 20));
    // With a higher limit it is read, and found to be malformed.
    assert!(matches!(open(1 << 30), Error::Malformed { .. }));
}
