//! What a player shows of a file over HTTP is what a plain decode from the disk gives.

use crate::server::{Reply, Server, Step, golden, golden_bytes, serve};
use meshreel::raw::format::checksum;
use meshreel::{
    Command, DecodedFrame, Event, FrameDecoder, InstanceId, Limits, MeshView, Options, Player, Reel,
};
use meshreel_http::{HttpClient, HttpOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Options with which nothing fails because a machine is busy.
pub fn patient() -> HttpOptions {
    HttpOptions::default().with_timeout(Duration::from_secs(600)).with_first_delay(Duration::from_millis(1))
}

fn add_mesh(view: MeshView<'_>, all: &mut Vec<u8>) {
    let n = view.vertex_count();
    all.extend(view.indices().iter().flat_map(|index| index.to_le_bytes()));
    let mut add = |components: usize, read: &dyn Fn(&mut [f32]) -> bool| {
        let mut out = vec![0.0; components * n];
        all.push(u8::from(read(&mut out)));
        all.extend(out.iter().flat_map(|value| value.to_le_bytes()));
    };
    add(3, &|out| view.positions_into(out).is_ok());
    add(3, &|out| view.normals_into(out).is_ok());
    add(4, &|out| view.tangents_into(out).is_ok());
    add(2, &|out| view.uvs_into(0, out).is_ok());
    add(4, &|out| view.colours_into(0, out).is_ok());
}

/// Returns a checksum of all vertices of each frame of a reel.
pub fn decode_all(reel: &Reel) -> Vec<u64> {
    let mut decoder = FrameDecoder::new(reel).unwrap();
    let frame_of = |frame| {
        decoder.decode(frame).unwrap();
        let mut all = Vec::new();
        for mesh in 0..reel.description().meshes.len() {
            add_mesh(decoder.mesh(mesh), &mut all);
        }
        checksum(&all)
    };
    (0..reel.frame_count()).map(frame_of).collect()
}

pub fn reference(name: &str) -> (Reel, Vec<u64>) {
    let reel = Reel::open(golden(name), &Limits::default()).unwrap();
    let frames = decode_all(&reel);
    (reel, frames)
}

fn sum_of(frame: &DecodedFrame<'_>, meshes: usize) -> u64 {
    let mut all = Vec::new();
    for mesh in 0..meshes {
        add_mesh(frame.mesh(mesh), &mut all);
    }
    checksum(&all)
}

/// Stops at a frame, ticks until it is shown, and compares it with the reference. Events of failures that
/// pass are allowed if `failures` are.
pub fn show(
    player: &mut Player,
    own: InstanceId,
    reference: &(Reel, Vec<u64>),
    frame: usize,
    failures: bool,
) {
    player.command(own, Command::Pause);
    player.command(own, Command::GoToFrame(frame));
    loop {
        player.tick(0.02);
        while let Some(event) = player.next_event() {
            match event {
                Event::Opened(_) | Event::Recovered(_) => {}
                Event::ReadFailed(..) if failures => {}
                other => panic!("{other:?}"),
            }
        }
        if let Some(shown) = player.frame(own).filter(|shown| !shown.is_late()) {
            let (pair, meshes) = (shown.pair(), reference.0.description().meshes.len());
            if pair.first as usize == frame || pair.second as usize == frame {
                for (number, decoded) in [(pair.first, shown.first()), (pair.second, shown.second())] {
                    assert_eq!(sum_of(&decoded, meshes), reference.1[number as usize], "frame {number}");
                }
                return;
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Options of a player that reads nothing before it must.
fn hand_to_mouth() -> Options {
    let options = Options::default().with_heap(16 << 20).with_resident(0).with_read_size(1);
    options.with_decode_ahead(0.0).with_least_read_ahead(0.0).with_most_read_ahead(0.0)
}

fn names() -> Vec<String> {
    let list = String::from_utf8(golden_bytes("DIGESTS")).unwrap();
    list.lines().map(|line| line.split_once("  ").unwrap().1.to_owned()).collect()
}

#[test]
fn golden_files_show_the_same_vertices_as_from_disk() {
    let server = Server::start(|request| serve(&golden_bytes(&request.path[1..]), "\"a\"", request));
    // Small blocks, so that small files take many.
    let options =
        patient().with_block_bytes(1 << 10).with_max_request_bytes(8 << 10).with_cache_bytes(64 << 10);
    let client = HttpClient::new(options).unwrap();
    let mut player = Player::new(Options::default().with_heap(16 << 20).with_resident(0)).unwrap();
    let mut frames = 0;
    for name in names() {
        let expected = reference(&name);
        let file = client.open(&mut player, &server.url(&name)).unwrap();
        assert_eq!(player.name(file).unwrap().to_str(), Some(&*server.url(&name)));
        let own = player.add_instance(file).unwrap();
        for frame in 0..expected.1.len() {
            show(&mut player, own, &expected, frame, false);
            frames += 1;
        }
        player.close(file);
        let source = client.source(&server.url(&name)).unwrap();
        let reel = Reel::from_source(source, &Limits::default()).unwrap();
        assert_eq!(decode_all(&reel), expected.1, "{name}");
    }
    assert!(frames > 200, "{frames}");
    let statistics = client.statistics();
    assert_eq!((statistics.retries, statistics.redirects, statistics.whole_bytes), (0, 0, 0));
    assert_eq!(statistics.requests, server.requests().len() as u64);
    assert!(
        statistics.peak_cached_bytes <= 64 << 10 && statistics.cached_bytes <= statistics.peak_cached_bytes
    );
}

#[test]
fn a_file_is_played_from_its_start_to_its_end_in_few_requests() {
    let bytes = golden_bytes("flag_small.reel");
    let (len, expected) = (bytes.len() as u64, reference("flag_small.reel"));
    let server = Server::good(bytes);
    let client = HttpClient::new(patient()).unwrap();
    let mut player = Player::new(Options::default().with_heap(16 << 20)).unwrap();
    let file = client.open(&mut player, &server.url("flag.reel")).unwrap();
    let own = player.add_instance(file).unwrap();
    player.command(own, Command::Play);
    show(&mut player, own, &expected, expected.1.len() - 1, false);
    // It is smaller than a block.
    let statistics = client.statistics();
    assert_eq!((statistics.requests, statistics.bytes_received), (1, len));
    println!("{statistics:?}");
}

/// Opening reads the tables and static data, and a seek what its frame needs, in a request or two.
#[test]
fn opening_and_seeking_read_a_part_of_the_file() {
    let name = "wall_packed.reel";
    let (len, expected) = (golden_bytes(name).len() as u64, reference(name));
    for (block, most_requests) in [(64 << 10, 4), (4 << 10, 12)] {
        let server = Server::good(golden_bytes(name));
        let client = HttpClient::new(patient().with_block_bytes(block)).unwrap();
        let mut player = Player::new(hand_to_mouth()).unwrap();
        let file = client.open(&mut player, &server.url("wall.reel")).unwrap();
        while !matches!(player.next_event(), Some(Event::Opened(_))) {
            player.tick(0.0);
            std::thread::sleep(Duration::from_millis(1));
        }
        let opened = client.statistics();
        let own = player.add_instance(file).unwrap();
        show(&mut player, own, &expected, expected.1.len() - 1, false);
        let sought = client.statistics();
        for frame in 0..expected.1.len() {
            show(&mut player, own, &expected, frame, false);
        }
        let played = client.statistics();
        let figures = [opened, sought, played].map(|s| (s.requests, s.bytes_received));
        println!("{name}, {len} bytes, blocks of {block}: opened, sought, played {figures:?}");
        assert!(opened.requests <= most_requests && opened.bytes_received < len);
        assert!(sought.requests - opened.requests <= 3);
        // Nothing was read twice.
        assert!(played.bytes_received <= len);
    }
}

/// A player jumps about in a file of which few blocks fit in its cache, while reads are cancelled.
#[test]
fn a_storm_of_seeks_ends_with_the_right_frame() {
    let name = "wall_packed.reel";
    let expected = reference(name);
    let server = Server::good(golden_bytes(name));
    let options =
        patient().with_block_bytes(2 << 10).with_max_request_bytes(8 << 10).with_cache_bytes(16 << 10);
    let client = HttpClient::new(options).unwrap();
    let player_options = Options::default().with_heap(16 << 20).with_resident(0).with_decode_ahead(0.05);
    let mut player = Player::new(player_options).unwrap();
    let file = client.open(&mut player, &server.url(name)).unwrap();
    let own = player.add_instance(file).unwrap();
    player.command(own, Command::Play);
    let (count, mut next) = (expected.1.len(), 7);
    for jump in 0..400 {
        next = (next * 31 + 17) % 9973;
        player.command(own, Command::GoToFrame(next % count));
        player.tick(0.01);
        while let Some(event) = player.next_event() {
            assert!(matches!(event, Event::Opened(_)), "{event:?}");
        }
        if jump % 40 == 0 {
            show(&mut player, own, &expected, next % count, false);
        }
    }
    player.command(own, Command::Pause);
    show(&mut player, own, &expected, 3, false);
    assert!(client.statistics().peak_cached_bytes <= 16 << 10);
}

/// The tick and the reads of other files do not wait for a server that does not answer.
#[test]
fn a_server_that_stalls_holds_up_neither_the_tick_nor_other_files() {
    let name = "flag_small.reel";
    let expected = reference(name);
    let released = Arc::new(AtomicBool::new(false));
    let (gate, bytes) = (released.clone(), golden_bytes(name));
    let server = Server::start(move |request| {
        let reply = serve(&bytes, "\"a\"", request);
        let body = reply.body();
        reply.steps(vec![Step::Await(gate.clone()), Step::Send(body)])
    });
    let client = HttpClient::new(patient()).unwrap();
    // The player has one thread that opens files: the one on the disk comes first.
    let mut player = Player::new(Options::default().with_heap(16 << 20)).unwrap();
    let disk = player.open(golden(name));
    let own = player.add_instance(disk).unwrap();
    show(&mut player, own, &expected, 0, false);
    let slow = client.open(&mut player, &server.url(name)).unwrap();
    let waiting = player.add_instance(slow).unwrap();
    player.command(waiting, Command::Play);
    for frame in 0..expected.1.len() {
        show(&mut player, own, &expected, frame, false);
        assert!(player.frame(waiting).is_none());
    }
    released.store(true, Ordering::SeqCst);
    show(&mut player, waiting, &expected, 2, false);
}

/// A file that changes on the server while it is played is not mixed with the old one.
#[test]
fn a_file_that_changes_while_it_is_played_fails_and_what_was_shown_stays() {
    let name = "wall_packed.reel";
    let expected = reference(name);
    let changed = Arc::new(AtomicBool::new(false));
    let (old, own_changed) = (golden_bytes(name), changed.clone());
    let server = Server::start(move |request| match own_changed.load(Ordering::SeqCst) {
        false => serve(&old, "\"old\"", request),
        // A server that does not know preconditions.
        true if request.number % 2 == 0 => {
            let bytes = vec![7; old.len()];
            let range = request.range().unwrap();
            let content = format!("bytes {}-{}/{}", range.start, range.end - 1, bytes.len());
            Reply::new(206, &bytes[range]).with("Content-Range", content).with("ETag", "\"new\"")
        }
        true => serve(&old, "\"new\"", request),
    });
    let options =
        patient().with_block_bytes(2 << 10).with_max_request_bytes(8 << 10).with_cache_bytes(16 << 10);
    let client = HttpClient::new(options).unwrap();
    let player_options = Options::default().with_heap(16 << 20).with_resident(0).with_decode_ahead(0.0);
    let mut player =
        Player::new(player_options.with_most_read_ahead(0.0).with_least_read_ahead(0.0)).unwrap();
    let file = client.open(&mut player, &server.url(name)).unwrap();
    let own = player.add_instance(file).unwrap();
    show(&mut player, own, &expected, 0, false);
    changed.store(true, Ordering::SeqCst);
    let last = expected.1.len() - 1;
    player.command(own, Command::GoToFrame(last));
    let error = loop {
        player.tick(0.02);
        match player.next_event() {
            Some(Event::ReadFailed(_, error)) => break error,
            Some(other) => panic!("{other:?}"),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    assert!(error.to_string().contains("changed on the server"), "{error}");
    let shown = player.frame(own).expect("the frame before stays");
    assert_eq!(shown.pair().first, 0);
    assert!(shown.is_late());
    // When the old one is back, its playback goes on.
    changed.store(false, Ordering::SeqCst);
    show(&mut player, own, &expected, last, true);
}

/// Opening fails with the reason, names the file, and can be tried again.
#[test]
fn what_cannot_be_opened_is_an_event_that_names_the_file() {
    let server = Server::start(|request| match request.path.as_str() {
        "/text.reel?secret" => serve(&[b'x'; 5000], "\"a\"", request),
        "/short.reel" => serve(&golden_bytes("flag_small.reel")[..9000], "\"a\"", request),
        "/empty.reel" => serve(b"", "\"a\"", request),
        _ => Reply::new(404, b"no"),
    });
    let client = HttpClient::new(patient()).unwrap();
    let mut player = Player::new(Options::default().with_heap(16 << 20)).unwrap();
    for (path, reason) in [
        ("gone.reel", "there is no such file"),
        ("text.reel?secret", "not a .reel file"),
        ("short.reel", "downloaded only in part"),
        ("empty.reel", "does not begin with the magic number"),
    ] {
        let file = client.open(&mut player, &server.url(path)).unwrap();
        let error = loop {
            player.tick(0.02);
            match player.next_event() {
                Some(Event::OpenFailed(failed, error)) => break (failed, error.to_string()),
                Some(other) => panic!("{other:?}"),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        assert_eq!(error.0, file);
        let name = server.url(path.split('?').next().unwrap());
        assert!(error.1.contains(&name) && error.1.contains(reason), "{}", error.1);
        assert!(!error.1.contains("secret"), "{}", error.1);
    }
}

/// A player whose ticks do all work, as on one thread, opens a file that was connected before.
#[test]
fn a_player_without_threads_plays_as_well() {
    let name = "everything_zstd.reel";
    let expected = reference(name);
    let server = Server::good(golden_bytes(name));
    let client = HttpClient::new(patient().with_block_bytes(1 << 10)).unwrap();
    let options = Options::default().with_heap(16 << 20).with_threads(0).with_read_threads(0);
    let mut player = Player::new(options).unwrap();
    let source = client.source(&server.url(name)).unwrap();
    source.connect().unwrap();
    let file = player.open_source(source.name(), source.clone());
    let own = player.add_instance(file).unwrap();
    for frame in 0..expected.1.len() {
        show(&mut player, own, &expected, frame, false);
    }
}

/// A read that is no longer wanted frees its thread: what remains of it is not received.
#[test]
fn a_long_answer_that_nobody_wants_is_abandoned() {
    let name = "flag_wide.reel";
    let (armed, released) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (own_armed, gate, bytes) = (armed.clone(), released.clone(), golden_bytes(name));
    let server = Server::start(move |request| {
        let reply = serve(&bytes, "\"a\"", request);
        if !own_armed.swap(false, Ordering::SeqCst) {
            return reply;
        }
        let body = reply.body();
        assert!(body.len() > 16 << 10, "a long answer");
        let steps =
            [Step::Send(body[..1500].to_vec()), Step::Await(gate.clone()), Step::Send(body[1500..].to_vec())];
        reply.steps(steps.to_vec())
    });
    let options = patient().with_block_bytes(1 << 10).with_max_requests(1);
    let client = HttpClient::new(options).unwrap();
    let mut player = Player::new(Options::default().with_heap(16 << 20)).unwrap();
    let open = |player: &mut Player| {
        let file = client.open(player, &server.url(name)).unwrap();
        while !matches!(player.next_event(), Some(Event::Opened(_))) {
            player.tick(0.0);
            std::thread::sleep(Duration::from_millis(1));
        }
        file
    };
    let file = open(&mut player);
    let before = client.statistics();
    armed.store(true, Ordering::SeqCst);
    let own = player.add_instance(file).unwrap();
    player.command(own, Command::Play);
    while client.statistics().blocks_loaded == before.blocks_loaded {
        player.tick(0.0);
        std::thread::sleep(Duration::from_millis(1));
    }
    player.close(file);
    player.tick(0.0);
    released.store(true, Ordering::SeqCst);
    // There is one thread, which must have gone on to this file.
    open(&mut player);
    let received = client.statistics().bytes_received - 2 * before.bytes_received;
    assert!(received < 16 << 10, "{received} bytes");
}

/// Reads that fail for a while are retried by the client first and by the player afterwards.
#[test]
fn playback_survives_an_outage() {
    let name = "wall_small.reel";
    let expected = reference(name);
    let (down, bytes) = (Arc::new(AtomicBool::new(false)), golden_bytes(name));
    let own_down = down.clone();
    let server = Server::start(move |request| match own_down.load(Ordering::SeqCst) {
        true => Reply::new(503, b"later"),
        false => serve(&bytes, "\"a\"", request),
    });
    let options =
        patient().with_block_bytes(2 << 10).with_max_request_bytes(8 << 10).with_cache_bytes(16 << 10);
    let client = HttpClient::new(options.with_retries(1)).unwrap();
    let mut player = Player::new(hand_to_mouth()).unwrap();
    let file = client.open(&mut player, &server.url(name)).unwrap();
    let own = player.add_instance(file).unwrap();
    show(&mut player, own, &expected, 0, false);
    down.store(true, Ordering::SeqCst);
    let last = expected.1.len() - 1;
    player.command(own, Command::GoToFrame(last));
    loop {
        player.tick(0.02);
        assert!(player.frame(own).is_some());
        match player.next_event() {
            Some(Event::ReadFailed(_, error)) => {
                assert!(error.to_string().contains("503"), "{error}");
                break;
            }
            Some(other) => panic!("{other:?}"),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    down.store(false, Ordering::SeqCst);
    show(&mut player, own, &expected, last, true);
}
