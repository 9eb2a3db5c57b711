//! Tests of clips in layers and tiers, from files: played whole, streamed through a database, with parts
//! missing, and damaged.

use meshreel::clip::{Clip, ClipCursor, Database, DatabaseOptions, LayerTier, Query, Rounding};
use meshreel::raw::format::ReadAt;
use meshreel::stream::{AsyncSource, ReadRequest, ReadToken};
use meshreel::{Limits, Reel, Transform};
use serde_json::Value;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_meshreel")).args(arguments).current_dir(folder).output().unwrap()
}

fn json(arguments: &[&str], folder: &Path) -> Value {
    let output = run(arguments, folder);
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|e| panic!("{e}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

const NAMES: [&str; 9] = ["hips", "spine", "head", "jaw", "brow", "arm", "hand", "finger1", "finger2"];
const PARENTS: [usize; 9] = [9, 0, 1, 2, 2, 1, 5, 6, 6];

/// Returns a BVH of nine joints: hips, spine, a head with a face, an arm with fingers.
fn bvh(samples: usize, phase: f64) -> String {
    fn joint(text: &mut String, j: usize) {
        let kind = if j == 0 { "ROOT" } else { "JOINT" };
        let channels = match j {
            0 => "6 Xposition Yposition Zposition Zrotation Yrotation Xrotation",
            _ => "3 Zrotation Yrotation Xrotation",
        };
        let _ = writeln!(text, "{kind} {}\n{{", NAMES[j]);
        let offset = [0.0, 20.0, 15.0, 5.0, 8.0, 12.0, 25.0, 6.0, 7.0][j];
        let _ = writeln!(text, "OFFSET {} {offset} 1\nCHANNELS {channels}", j % 2);
        let children: Vec<usize> = (0..9).filter(|&k| PARENTS[k] == j).collect();
        if children.is_empty() {
            text.push_str("End Site\n{\nOFFSET 0 3 0\n}\n");
        }
        children.into_iter().for_each(|k| joint(text, k));
        text.push_str("}\n");
    }
    let mut text = String::from("HIERARCHY\n");
    joint(&mut text, 0);
    let _ = writeln!(text, "MOTION\nFrames: {samples}\nFrame Time: 0.0333333333");
    for i in 0..samples {
        let t = i as f64 * 0.15 + phase;
        let _ = write!(text, "{} {} {}", t.sin() * 9.0, 90.0 + t.cos(), 4.0 * t);
        for j in 0..9 {
            let s = t * (1.0 + j as f64 * 0.21);
            let _ = write!(
                text,
                " {} {} {}",
                s.sin() * (30.0 - 2.0 * j as f64),
                (s * 1.7).cos() * 15.0,
                (s * 0.6).sin() * 10.0
            );
        }
        text.push('\n');
    }
    text
}

const PLAIN: &str =
    "[[layer]]\nname = \"base\"\n[[layer]]\nname = \"cosmetic\"\njoints = [\"finger*\", \"jaw\", \"brow\"]\n";
const TIERS: &str = "[[layer]]\nname = \"base\"\ntiers = 3\n[[layer]]\nname = \"cosmetic\"\njoints = [\"finger*\", \"jaw\", \"brow\"]\ntiers = 3\nrate = 10\nstrip = \"10%\"\n";

/// Compiles two clips with these options.
fn compiled(at: &Path, options: &str) -> Value {
    std::fs::write(at.join("walk.bvh"), bvh(300, 0.0)).unwrap();
    std::fs::write(at.join("run.bvh"), bvh(170, 2.0)).unwrap();
    std::fs::write(at.join("options.toml"), options).unwrap();
    json(
        &[
            "compile",
            "walk.bvh",
            "run.bvh",
            "--merge",
            "-o",
            "set.reel",
            "--options",
            "options.toml",
            "--json",
        ],
        at,
    )
}

fn clips(at: &Path) -> Vec<Clip> {
    Reel::open(at.join("set.reel"), &Limits::default()).unwrap().clips().unwrap()
}

fn pose(cursor: &mut ClipCursor, seconds: f64) -> Vec<Transform> {
    let mut pose = vec![Transform::IDENTITY; cursor.clip().joints()];
    cursor.pose(&Query::new(seconds).wrapped(), &mut pose[..]).unwrap();
    pose
}

fn cosmetic(clip: &Clip) -> Vec<usize> {
    (0..clip.joints()).filter(|&j| clip.joint_layer(j) == Some(1)).collect()
}

/// Ticks until no read is in progress.
fn settle(database: &mut Database) {
    for _ in 0..10_000 {
        database.tick();
        let busy = |part: &LayerTier| database.state(*part, None).reading > 0;
        if !database.layer_tiers().iter().any(busy) {
            return;
        }
        std::thread::yield_now();
    }
    panic!("reads do not end");
}

#[test]
fn g03_g07_layers_play_as_the_merged_clip_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let apart = format!("{PLAIN}tiers = 2\n");
    let all = [PLAIN, &apart].map(|options| {
        compiled(folder.path(), options);
        clips(folder.path())
    });
    for clip in all.into_iter().flatten() {
        assert_eq!(cosmetic(&clip), [3, 4, 7, 8]);
        let merged = clip.merged().unwrap().unwrap();
        let skeleton = clip.skeleton().clone();
        let stored =
            meshreel_codec::clip::streamed::StreamedClip::open(&skeleton.skeleton(), &merged).unwrap();
        let plan = &stored.layout;
        let mut scratch = meshreel_codec::clip::streamed::Scratch::new(plan);
        let mut cursor = clip.cursor();
        let (mut got, mut want) = (vec![Transform::IDENTITY; 9], vec![Transform::IDENTITY; 9]);
        for i in 0..clip.samples() {
            cursor.sample(i, &mut got).unwrap();
            match plan.locate_sample(i) {
                Ok(key) => plan.pose(stored.key_values(key), &mut want),
                Err((s, at)) => {
                    stored.decode(s, &mut scratch).unwrap();
                    plan.pose(scratch.sample(plan, at), &mut want);
                }
            }
            assert_eq!(got, want, "sample {i}");
        }
    }
}

#[test]
fn g04_g09_what_is_not_there_is_the_bind_pose_and_says_so() {
    for options in [PLAIN, &format!("{PLAIN}tiers = 2\n")] {
        let folder = tempfile::tempdir().unwrap();
        compiled(folder.path(), options);
        layers_left_out_are_the_bind_pose(&clips(folder.path())[0]);
    }
}

fn layers_left_out_are_the_bind_pose(clip: &Clip) {
    let mut cursor = clip.cursor();
    let rest = clip.skeleton().rest.clone();
    for i in 0..40 {
        let seconds = f64::from(i) * 0.11;
        cursor.set_tiers(&[]);
        let all = pose(&mut cursor, seconds);
        cursor.set_tiers(&[usize::MAX, 0]);
        let some = pose(&mut cursor, seconds);
        for j in 0..9 {
            let there = clip.joint_layer(j) == Some(0);
            let want = if there { all[j] } else { rest[j] };
            assert_eq!(some[j], want, "joint {j}");
            let one = cursor.joint(j, &Query::new(seconds).wrapped()).unwrap();
            assert_eq!((one.local, one.bind), (want, !there));
        }
    }
    assert_eq!(clip.joint_layer(9), None);
    assert!(cursor.joint(9, &Query::new(0.0)).is_err());
}

#[test]
fn g03_g04_layers_of_the_resident_form() {
    use meshreel_compile::clip::{ClipOptions, random_access};
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    compiled(at, PLAIN);
    let reel = Reel::open(at.join("set.reel"), &Limits::default()).unwrap();
    let skeleton = &reel.skeletons().unwrap()[0];
    let options = meshreel_read::ReadOptions::default();
    let (scene, _) = meshreel_read::open(&at.join("walk.bvh"), &options).unwrap();
    let layer_of = [0, 0, 0, 1, 1, 0, 0, 1, 1];
    let compress = |layer_of: &[u8]| {
        let (s, c) = (&scene.skeletons[0], &scene.clips[0]);
        let options = ClipOptions { tolerance: 0.01, ..ClipOptions::default() };
        random_access::compress_layers(s, c, &options, layer_of)
    };
    let (whole, layers) = compress(&layer_of).unwrap();
    assert!(whole.max_error <= 0.01 && layers.len() == 2);
    let layers: Vec<&[u8]> = layers.iter().map(Vec::as_slice).collect();
    let one = Clip::from_random_access(skeleton, &[&whole.bytes]).unwrap();
    let two = Clip::from_random_access(skeleton, &layers).unwrap();
    let base = Clip::from_random_access(skeleton, &layers[..1]).unwrap();
    let bytes = Clip::form_bytes;
    assert!(bytes(&base) < bytes(&two) && bytes(&two) < bytes(&one) * 11 / 10);
    let base_of_two = two.with_tiers(&[1, 0]);
    let mut cursors = [&one, &two, &base, &base_of_two].map(Clip::cursor);
    let bits = |t: &Transform| {
        let numbers = (t.rotation.into_iter()).chain(t.translation).chain(t.scale);
        numbers.map(f32::to_bits).collect::<Vec<_>>()
    };
    for i in 0..500 {
        let query = Query::new(f64::from(i) * 0.0371).wrapped();
        let mut poses = [(); 4].map(|()| vec![Transform::IDENTITY; 9]);
        for (cursor, pose) in cursors.iter_mut().zip(&mut poses) {
            cursor.pose(&query, &mut pose[..]).unwrap();
            for (j, want) in pose.iter().enumerate() {
                let got = cursor.joint(j, &query).unwrap();
                assert_eq!(bits(&got.local), bits(want), "{i} {j}");
            }
        }
        for j in 0..9 {
            assert_eq!(two.joint_layer(j), Some(layer_of[j]));
            assert_eq!(bits(&poses[0][j]), bits(&poses[1][j]), "{i} {j}");
            let want = match layer_of[j] {
                0 => &poses[0][j],
                _ => &skeleton.rest[j],
            };
            for base in &poses[2..] {
                assert_eq!(bits(&base[j]), bits(want), "{i} {j}");
            }
        }
    }
    // Layers that do not belong together, or whose parents are missing.
    assert!(Clip::from_random_access(skeleton, &[layers[0], layers[0]]).is_err());
    assert!(Clip::from_random_access(skeleton, &[]).is_err());
    assert!(compress(&[0, 1, 0, 0, 0, 0, 0, 0, 0]).is_err());
    assert!(compress(&[0; 3]).is_err());
}

/// Compiles, verifies and plays clips in layers of codec `random-access`; layers cannot be thinned.
#[test]
fn layers_of_the_random_access_form_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let random = |options: &str| {
        std::fs::write(at.join("walk.bvh"), bvh(300, 0.0)).unwrap();
        std::fs::write(at.join("run.bvh"), bvh(170, 2.0)).unwrap();
        std::fs::write(at.join("options.toml"), options).unwrap();
        let head = ["compile", "walk.bvh", "run.bvh", "--merge", "-o", "set.reel", "--json"];
        run(&[&head[..], &["--codec", "random-access", "--options", "options.toml"]].concat(), at)
    };
    let output = random(PLAIN);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    let verified = json(&["verify", "walk.bvh", "run.bvh", "set.reel", "--json"], at);
    assert_eq!(verified["ok"], true, "{verified}");
    let info = json(&["info", "set.reel", "--json"], at);
    for c in 0..2 {
        let (own, told) = (&done["clips"][c], &info["clips"][c]);
        assert_eq!((&own["codec"], &own["bytes"]), (&"random-access".into(), &told["bytes"]));
        assert_eq!(told["layers"][1]["name"], "cosmetic");
        assert_eq!(own["layers"][1]["tiers"], told["layers"][1]["tiers"]);
    }
    let played = json(&["play", "set.reel", "--check", "--seconds", "0.4", "--json"], at);
    assert_eq!(
        (&played["wrong_poses"], &played["allocations_after_warmup"]),
        (&0.into(), &0.into()),
        "{played}"
    );
    let clip = &clips(at)[0];
    assert_eq!(cosmetic(clip), [3, 4, 7, 8]);
    let base = clip.with_tiers(&[1, 0]);
    let (all, some) = (pose(&mut clip.cursor(), 1.23), pose(&mut base.cursor(), 1.23));
    for j in 0..9 {
        let want = if cosmetic(clip).contains(&j) { clip.skeleton().rest[j] } else { all[j] };
        assert_eq!(some[j], want, "joint {j}");
    }
    assert!(run(&["extract", "set.reel", "-o", "back.bvh"], at).status.success());
    // Random access allows no thinning.
    for more in ["tiers = 2", "rate = 10", "strip = \"10%\""] {
        let output = random(&format!("{PLAIN}{more}\n"));
        assert_eq!(output.status.code(), Some(2), "{more}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("random-access"), "{more}");
    }
}

#[test]
fn g05_g10_the_checker_agrees_and_prints_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let done = compiled(at, TIERS);
    assert_eq!(done["clips"][0]["layers"][1]["samples"], 101);
    let verified = json(&["verify", "walk.bvh", "run.bvh", "set.reel", "--json"], at);
    assert_eq!(verified["ok"], true, "{verified}");
    let layers = &verified["clips"][0]["layers"];
    assert!(layers[0]["tiers"][0]["max_error_without"].is_null());
    let cost = |l: usize, t: usize| layers[l]["tiers"][t]["max_error_without"].as_f64().unwrap();
    // The less of a layer is present, the larger the error. (Keys alone, seconds apart, can be farther off
    // than the bind pose.)
    assert!(cost(0, 1) > cost(0, 2) && cost(0, 2) > 0.01, "{verified}");
    assert!(cost(1, 1) > cost(1, 2) && cost(1, 0) > 0.01, "{verified}");
    assert_eq!(layers[1]["stripped"], 10);
    let info = json(&["info", "set.reel", "--json"], at);
    let cosmetic = &info["clips"][0]["layers"][1];
    assert_eq!(cosmetic["tiers"].as_array().unwrap().len(), 3);
    assert!((cosmetic["rate"].as_f64().unwrap() - 10.1).abs() < 0.2);
    let text = String::from_utf8(run(&["verify", "walk.bvh", "run.bvh", "set.reel"], at).stdout);
    assert!(text.unwrap().contains("error without"));
    // An extracted clip has all layers together.
    assert!(run(&["extract", "set.reel", "-o", "back.bvh"], at).status.success());
    // A file that leaves out more than requested is detected.
    std::fs::write(at.join("options.toml"), PLAIN).unwrap();
    let other = json(
        &[
            "compile",
            "walk.bvh",
            "run.bvh",
            "--merge",
            "-o",
            "plain.reel",
            "--options",
            "options.toml",
            "--json",
        ],
        at,
    );
    assert_eq!(other["clips"][0]["layers"][1]["samples"], 300);
}

/// A layer without a moving joint has no residuals, but none of its samples is stripped either.
#[test]
fn g05_a_layer_without_joints_strips_no_sample() {
    let folder = tempfile::tempdir().unwrap();
    let report = compiled(folder.path(), &TIERS.replace("\"finger*\", \"jaw\", \"brow\"", "\"tail*\""));
    assert!(report["error"].is_null(), "{report}");
    for clip in clips(folder.path()) {
        let layers = clip.layers();
        assert_eq!(layers[1].joints.len(), 0);
        assert!(layers[1].stripped.iter().all(|stripped| !stripped));
    }
}

#[test]
fn g05_tiers_stream_in_and_out_of_a_database() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), TIERS);
    let whole = clips(folder.path());
    let mut database =
        Database::open(folder.path().join("set.reel"), &Limits::default(), DatabaseOptions::default())
            .unwrap();
    let part = |layer, tier| LayerTier { layer, tier };
    assert_eq!(database.layer_tiers(), [part(0, 1), part(0, 2), part(1, 0), part(1, 1), part(1, 2)]);
    let compare = |database: &Database, tiers: &[usize]| {
        for (c, clip) in whole.iter().enumerate() {
            let mut cursor = clip.with_tiers(tiers).cursor();
            let own = database.clip(c).unwrap();
            let mut place = own.cursor();
            let mut got = vec![Transform::IDENTITY; 9];
            for i in 0..60 {
                let seconds = f64::from(i) * 0.173 - 1.0;
                for rounding in [Rounding::None, Rounding::Nearest] {
                    place.pose(&Query::new(seconds).wrapped().with_rounding(rounding), &mut got[..]).unwrap();
                    let mut all = vec![Transform::IDENTITY; 9];
                    cursor
                        .pose(&Query::new(seconds).wrapped().with_rounding(rounding), &mut all[..])
                        .unwrap();
                    assert_eq!(got, all, "clip {c}, {seconds} s, {tiers:?}");
                }
                let one = place.joint(7, &Query::new(seconds).wrapped()).unwrap();
                assert_eq!(one.bind, tiers[1] == 0);
            }
        }
    };
    compare(&database, &[1, 0]);
    for (layer, tier, tiers) in
        [(1, 0, [1, 1]), (0, 2, [1, 1]), (0, 1, [3, 1]), (1, 1, [3, 2]), (1, 2, [3, 3])]
    {
        assert!(database.stream_in(part(layer, tier), None).unwrap() > 0);
        settle(&mut database);
        assert!(database.state(part(layer, tier), None).is_loaded());
        compare(&database, &tiers);
    }
    assert_eq!(database.stream_in(part(1, 2), None).unwrap(), 0);
    for (layer, tier, tiers) in [(1, 0, [3, 0]), (0, 1, [1, 0])] {
        assert!(database.stream_out(part(layer, tier), None) > 0);
        compare(&database, &tiers);
    }
    database.stream_in(part(1, 0), Some(1)).unwrap();
    settle(&mut database);
    assert!(database.stream_in(part(7, 0), None).unwrap() == 0);
    assert!(database.clip(2).is_err());
}

/// A source that holds reads back until released, or fails them.
struct Slow {
    bytes: Vec<u8>,
    held: Mutex<Vec<ReadRequest>>,
    hold: AtomicBool,
    fail: AtomicBool,
    cancelled: AtomicUsize,
}

impl Slow {
    fn finish(&self, mut read: ReadRequest) {
        let at = read.offset() as usize;
        let size = read.buffer().len();
        if self.fail.load(Ordering::Relaxed) && !read.is_opening() {
            return read.complete(Err(io::ErrorKind::PermissionDenied.into()));
        }
        read.buffer().copy_from_slice(&self.bytes[at..at + size]);
        read.complete(Ok(size));
    }

    fn release(&self) {
        let held = std::mem::take(&mut *self.held.lock().unwrap());
        // In reverse: order does not matter.
        held.into_iter().rev().for_each(|read| self.finish(read));
    }
}

impl AsyncSource for Slow {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn start(&self, read: ReadRequest) {
        match self.hold.load(Ordering::Relaxed) && !read.is_opening() {
            true => self.held.lock().unwrap().push(read),
            false => self.finish(read),
        }
    }
    fn cancel(&self, _: ReadToken) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }
}

fn slow(at: &Path) -> Arc<Slow> {
    Arc::new(Slow {
        bytes: std::fs::read(at.join("set.reel")).unwrap(),
        held: Mutex::default(),
        hold: AtomicBool::new(true),
        fail: AtomicBool::new(false),
        cancelled: AtomicUsize::new(0),
    })
}

#[test]
fn g05_reads_end_late_fail_and_are_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), TIERS);
    let source = slow(folder.path());
    let options = DatabaseOptions::default();
    let mut database = Database::from_source("set", source.clone(), &Limits::default(), options).unwrap();
    let part = LayerTier { layer: 1, tier: 0 };
    let count = database.stream_in(part, None).unwrap();
    assert_eq!(database.tick().arrived, 0);
    assert_eq!(database.state(part, None).reading, count);
    // Cancelled: the memory is returned when the source releases it, and its data is not used.
    assert_eq!(database.cancel(part, None), count);
    assert_eq!(source.cancelled.load(Ordering::Relaxed), count);
    assert_eq!(database.stream_in(part, None).unwrap(), 0);
    source.release();
    assert_eq!(database.tick().arrived, 0);
    assert_eq!(database.state(part, None).loaded, 0);
    // Requested again.
    assert_eq!(database.stream_in(part, None).unwrap(), count);
    source.release();
    assert_eq!(database.tick().arrived, count);
    assert!(database.state(part, None).is_loaded());
    database.stream_out(part, None);
    // Failures are reported, and can be retried.
    source.fail.store(true, Ordering::Relaxed);
    assert_eq!(database.stream_in(part, None).unwrap(), count);
    source.release();
    let ticked = database.tick();
    let (error, failed) = ticked.failed.unwrap();
    assert_eq!((failed, database.state(part, None).failed), (count, count));
    assert!(error.to_string().contains("could not be read"), "{error}");
    source.fail.store(false, Ordering::Relaxed);
    assert_eq!(database.stream_in(part, None).unwrap(), count);
    source.release();
    assert_eq!(database.tick().arrived, count);
}

#[test]
fn memory_of_a_database_is_what_was_given() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), TIERS);
    let path = folder.path().join("set.reel");
    let open = |memory| {
        Database::open(
            &path,
            &Limits::default(),
            DatabaseOptions::default().with_memory(memory).with_threads(1),
        )
        .unwrap()
    };
    let (slot, _) = open(0).memory();
    let mut small = open(slot as u64 * 2);
    assert_eq!(small.memory(), (slot, 2));
    let parts = small.layer_tiers();
    small.stream_in(parts[0], None).unwrap();
    small.stream_in(parts[1], None).unwrap();
    settle(&mut small);
    let error = small.stream_in(parts[2], None).unwrap_err().to_string();
    assert!(error.contains("stream something out"), "{error}");
    small.stream_out(parts[0], None);
    small.stream_in(parts[2], None).unwrap();
    settle(&mut small);
    assert!(small.state(parts[2], None).is_loaded());
}

#[test]
fn poses_are_whole_while_chunks_come_and_go() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), TIERS);
    let whole = clips(folder.path());
    let mut database =
        Database::open(folder.path().join("set.reel"), &Limits::default(), DatabaseOptions::default())
            .unwrap();
    // Every pose that can be right at a time, by the available parts of each layer.
    let mut right: Vec<Vec<Vec<Transform>>> = Vec::new();
    let mut cursor = whole[0].cursor();
    for i in 0..20 {
        let seconds = f64::from(i) * 0.31;
        let mut all = Vec::new();
        for base in 1..=3 {
            for cosmetic in 0..=3 {
                cursor.set_tiers(&[base, cosmetic]);
                all.push(pose(&mut cursor, seconds));
            }
        }
        right.push(all);
    }
    let stop = AtomicBool::new(false);
    // Chunks come and go only once both threads sample, however long a busy machine takes to start them.
    let started = std::sync::Barrier::new(3);
    let clip = database.clip(0).unwrap();
    std::thread::scope(|scope| {
        let sampler = || {
            let mut place = clip.cursor();
            let mut got = vec![Transform::IDENTITY; 9];
            started.wait();
            loop {
                for (i, right) in (0u32..).zip(&right) {
                    let seconds = f64::from(i) * 0.31;
                    place.pose(&Query::new(seconds).wrapped(), &mut got[..]).unwrap();
                    assert!(right.contains(&got), "{seconds} s");
                }
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        };
        let threads = [scope.spawn(sampler), scope.spawn(sampler)];
        started.wait();
        let parts = database.layer_tiers();
        for round in 0..60 {
            let part = parts[round * 7 % parts.len()];
            match database.state(part, None).loaded {
                0 => {
                    database.stream_in(part, None).unwrap();
                }
                _ => {
                    database.stream_out(part, None);
                }
            }
            for _ in 0..3 {
                database.tick();
                std::thread::yield_now();
            }
        }
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn g08_g13_layers_by_name_by_joint_and_by_importance() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let level = |options: &str| -> Vec<u8> {
        let done = compiled(at, options);
        assert!(done["clips"][0]["max_error"].as_f64().unwrap() <= 0.01, "{done}");
        let clip = &clips(at)[0];
        (0..9).map(|j| clip.joint_layer(j).unwrap()).collect()
    };
    let layers = "[[layer]]\nname = \"base\"\n[[layer]]\nname = \"c\"\n";
    // The least important half; a hand with fingers outweighs a finger, the head its face.
    assert_eq!(level(&format!("{layers}share = 0.5\n")), [0, 0, 0, 1, 1, 0, 0, 1, 1]);
    assert_eq!(level(&format!("{layers}share = 0.1\n")), [0; 9]);
    // An animator's bias keeps a finger.
    let bias = "[[joint]]\nglob = \"finger2\"\nbias = 50\n";
    assert_eq!(level(&format!("{layers}share = 0.4\n{bias}")), [0, 0, 0, 1, 1, 0, 0, 1, 0]);
    // A joint's own setting overrides the layer's; its ancestors are included.
    let own = "joints = [\"hand\", \"finger*\"]\n[[joint]]\nglob = \"finger1\"\nlayer = \"base\"\n";
    assert_eq!(level(&format!("{layers}{own}")), [0, 0, 0, 0, 0, 0, 0, 0, 1]);
    let options = at.join("options.toml");
    std::fs::write(&options, format!("{layers}rate = -1\n")).unwrap();
    let wrong = run(&["compile", "walk.bvh", "-o", "x.reel", "--options", "options.toml"], at);
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn g11_stepped_joints_are_never_interpolated() {
    let folder = tempfile::tempdir().unwrap();
    let stepped = format!("{TIERS}[[joint]]\nglob = \"finger1\"\nstepped = true\n");
    compiled(folder.path(), &stepped);
    let clip = &clips(folder.path())[0];
    let info = &clip.layers()[1];
    assert_eq!(info.stepped, [7]);
    // It changes at every sample: then all are kept.
    assert_eq!(info.samples.len(), 300);
    for i in 0..299 {
        let at = |x: f64| pose(&mut clip.cursor(), x / clip.fps())[7];
        if i % 37 == 0 {
            assert_eq!(at(f64::from(i) + 0.7), at(f64::from(i)));
            assert_ne!(at(f64::from(i) + 1.0), at(f64::from(i)));
        }
    }
    let first = clip.with_tiers(&[1, 1]);
    assert_eq!(pose(&mut first.cursor(), 3.0)[7], pose(&mut clip.cursor(), 3.0)[7]);
}

/// Interleaved layers add a table to the clip: a chunk's entry, names, half a byte per joint.
#[test]
fn g06_a_second_layer_costs_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = |options: &str| {
        let done = compiled(folder.path(), options);
        let bytes = |c: usize| done["clips"][c]["bytes"].as_u64().unwrap();
        [bytes(0), bytes(1)]
    };
    let (one, two) = (bytes(""), bytes(PLAIN));
    let table = 20 + 1 + 2 + 1 + 5 + 9 + 1 + 1 + 5;
    assert_eq!([two[0] - one[0], two[1] - one[1]], [table; 2]);
    let verified = json(&["verify", "walk.bvh", "run.bvh", "set.reel", "--json"], folder.path());
    assert_eq!(
        (&verified["ok"], &verified["clips"][0]["layers"][1]["name"]),
        (&true.into(), &"cosmetic".into())
    );
    let without = &verified["clips"][0]["layers"][1]["tiers"][0]["max_error_without"];
    assert!(without.as_f64().unwrap() > 0.01, "{verified}");
    let info = json(&["info", "set.reel", "--json"], folder.path());
    assert_eq!(info["clips"][0]["bytes"], two[0]);
    // They cannot be streamed separately.
    let options = DatabaseOptions::default();
    let refused = Database::open(folder.path().join("set.reel"), &Limits::default(), options);
    assert!(matches!(refused, Err(meshreel::Error::Misuse { .. })));
    // Stepped joints stay stepped in any layers.
    let stepped = format!("{PLAIN}[[joint]]\nglob = \"finger1\"\nstepped = true\n");
    compiled(folder.path(), &stepped);
    let clip = &clips(folder.path())[0];
    assert_eq!(clip.layers()[1].stepped, [7]);
    let at = |i: f64| pose(&mut clip.cursor(), i / clip.fps());
    let (before, between) = (at(10.0), at(10.7));
    assert_eq!(between[7], before[7]);
    assert_ne!(between[6], before[6]);
}

#[test]
fn g06_two_layers_decode_in_less_than_twice_the_time() {
    let folder = tempfile::tempdir().unwrap();
    compiled(folder.path(), "");
    let plain = clips(folder.path());
    let other = tempfile::tempdir().unwrap();
    compiled(other.path(), PLAIN);
    let layered = clips(other.path());
    let time = |clip: &Clip| {
        let mut cursor = clip.cursor();
        let mut pose = vec![Transform::IDENTITY; 9];
        let start = std::time::Instant::now();
        for i in 0..clip.samples() {
            cursor.sample(i, &mut pose).unwrap();
        }
        start.elapsed().as_secs_f64()
    };
    // The minimum of many alternating runs, as others use the machine, too.
    let mut least = [f64::INFINITY; 2];
    for _ in 0..60 {
        least[0] = least[0].min(time(&plain[0]));
        least[1] = least[1].min(time(&layered[0]));
    }
    println!("layers take {:.2} times as long", least[1] / least[0]);
    assert!(least[1] < 2.0 * least[0], "{least:?}");
}

#[test]
fn damaged_layers_are_refused_and_never_panic() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    compiled(at, TIERS);
    let whole = std::fs::read(at.join("set.reel")).unwrap();
    let try_all = |bytes: Vec<u8>| {
        let source: Arc<dyn ReadAt> = Arc::new(bytes);
        let limits = Limits::default();
        if let Ok(reel) = Reel::from_source(source.clone(), &limits) {
            let _ = reel.clips();
        }
        let options = DatabaseOptions::default().with_threads(0);
        let Ok(mut database) = Database::from_bytes("x", source, &limits, options) else {
            return false;
        };
        for part in database.layer_tiers() {
            let _ = database.stream_in(part, None);
        }
        let failed = database.tick().failed.is_some();
        for c in 0..database.clip_count() {
            let clip = database.clip(c).unwrap();
            let mut pose = vec![Transform::IDENTITY; clip.joints()];
            let _ = clip.cursor().pose(&Query::new(1.0).wrapped(), &mut pose[..]);
        }
        !failed
    };
    assert!(try_all(whole.clone()));
    for i in (0..whole.len()).step_by(whole.len() / 300) {
        let mut bytes = whole.clone();
        bytes[i] ^= 0x10;
        assert!(!try_all(bytes), "byte {i}");
        assert!(!try_all(whole[..i].to_vec()), "cut at {i}");
    }
}

/// Returns a digest of the poses of all samples.
fn digest(reel: &Reel) -> u64 {
    let mut all = Vec::new();
    for clip in reel.clips().unwrap() {
        for tiers in [[3, 3], [1, 0], [2, 1]] {
            let clip = clip.with_tiers(&tiers);
            let mut cursor = clip.cursor();
            let mut pose = vec![Transform::IDENTITY; clip.joints()];
            for i in 0..clip.samples() {
                cursor.sample(i, &mut pose).unwrap();
                for t in &pose {
                    let numbers = t.rotation.iter().chain(&t.translation).chain(&t.scale);
                    all.extend(numbers.flat_map(|v| v.to_le_bytes()));
                }
            }
        }
    }
    meshreel_format::checksum(&all)
}

/// Files of clips in the random-access form, and their options.
const RANDOM_ACCESS: [(&str, &str); 2] = [("random_access.reel", ""), ("random_access_layers.reel", PLAIN)];

/// A file in layers and tiers decodes to the same bits for ever; `MESHREEL_GOLDEN=write` renews it while the
/// version is 0.
#[test]
fn golden_layers() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/clips");
    let (file, sum) = (folder.join("layers.reel"), folder.join("DIGESTS"));
    let write = std::env::var_os("MESHREEL_GOLDEN").is_some_and(|v| v == "write");
    if write {
        let made = tempfile::tempdir().unwrap();
        compiled(made.path(), TIERS);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::copy(made.path().join("set.reel"), &file).unwrap();
        for (name, options) in RANDOM_ACCESS {
            let at = made.path();
            std::fs::write(at.join("options.toml"), options).unwrap();
            let head = ["compile", "walk.bvh", "run.bvh", "--merge", "-o", name, "--tolerance", "0.1"];
            let more = ["--codec", "random-access", "--block", "deflate", "--options", "options.toml"];
            assert!(run(&[&head[..], &more].concat(), at).status.success());
            std::fs::copy(at.join(name), folder.join(name)).unwrap();
        }
    }
    let digest_of = |name: &str| {
        let reel = Reel::open(folder.join(name), &Limits::default()).unwrap();
        format!("{:016x} {name}\n", digest(&reel))
    };
    let names = ["layers.reel"].into_iter().chain(RANDOM_ACCESS.map(|(name, _)| name));
    let got: String = names.map(digest_of).collect();
    if write {
        std::fs::write(&sum, &got).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&sum).unwrap(), got);
}
