//! Tests of playing and measuring: the output, and that displayed frames equal those of the file.

use super::common::{bundled, run_line};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn compiled(directory: &Path, name: &str, options: &str) -> PathBuf {
    let (source, reel) = (bundled(name), directory.join(name).with_extension("reel"));
    let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
    run_line(&format!("compile $IN -o $OUT --quiet --effort 1 {options}"), &paths).expect(0);
    reel
}

fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or_else(|| panic!("{key} in {value}"))
}

/// Checks the keys that others rely on, and what must hold on any machine.
fn check(json: &Value, files: usize) {
    for key in [
        "ticks",
        "missed_frames",
        "seek_wait_ticks",
        "bytes_read",
        "heap_peak_bytes",
        "allocations_after_warmup",
    ] {
        number(json, key);
    }
    assert!(json["bytes_read_per_second"].as_f64().unwrap() > 0.0, "{json}");
    for key in ["p50", "p99", "max"] {
        assert!(json["tick_ms"][key].is_number(), "{json}");
    }
    let streams = json["streams"].as_array().unwrap();
    assert_eq!(streams.len(), files);
    for stream in streams {
        assert!(stream["name"].is_string());
        for count in ["missed", "aborts"] {
            assert!(stream[count].is_number(), "{stream}");
        }
    }
    assert!(number(json, "heap_peak_bytes") <= number(json, "heap_bytes"));
    assert!(number(json, "checked_frames") > 0);
    assert_eq!((number(json, "wrong_frames"), &json["errors"]), (0, &Value::Array(Vec::new())));
}

#[test]
fn f16_attributes_that_are_left_out_are_neither_read_nor_held() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["a_flag_wind.abc", "g_scene_attributes.abc"] {
        let play = |options: &str| {
            let reel = compiled(directory.path(), name, options);
            let source = bundled(name);
            let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
            let checked = run_line("verify $IN $OUT --json", &paths).expect(0).json();
            assert_eq!(checked["ok"], true);
            let json = run_line("play $OUT --json --check --seconds 1", &paths).expect(0).json();
            check(&json, 1);
            let bytes = std::fs::metadata(&reel).unwrap().len();
            [bytes, number(&json, "bytes_read"), number(&json, "heap_peak_bytes")]
        };
        let (all, positions) = (play(""), play("--channels positions"));
        let [file, read, held] = [0, 1, 2].map(|k| (positions[k], all[k]));
        assert!(file.0 < file.1 && read.0 < read.1, "{name}: {file:?} {read:?}");
        // Blocks of memory are rounded up, which matters in small files.
        let rounded = name == "g_scene_attributes.abc" && held.0 == held.1;
        assert!(held.0 < held.1 || rounded, "{name}: {held:?}");
    }
}

#[test]
fn f16_attributes_apart_are_read_only_where_they_are_wanted() {
    let directory = tempfile::tempdir().unwrap();
    let name = "a_flag_wind.abc";
    let source = bundled(name);
    let both = [false, true].map(|apart| {
        let options = if apart { "--attributes-apart" } else { "" };
        let reel = compiled(directory.path(), name, options);
        let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
        run_line("verify $IN $OUT", &paths).expect(0);
        let info = run_line("info $OUT --json", &paths).expect(0).json();
        let tiers = ["frames", "attributes"].map(|tier| number(&info["bytes"], tier));
        let text = run_line("info $OUT", &paths).expect(0).stdout;
        assert_eq!(text.contains("of animated attributes"), apart, "{text}");
        let play = |options: &str| {
            let line = format!("play $OUT --json --check --seconds 1.5 --resident 0 {options}");
            let json = run_line(&line, &paths).expect(0).json();
            check(&json, 1);
            [number(&json, "bytes_read"), number(&json, "heap_peak_bytes")]
        };
        (tiers, play(""), play("--no-attributes"))
    });
    let [(together, all, without), (apart, all_apart, without_apart)] = both;
    assert!(together[1] == 0 && apart[1] > 0 && apart[0] < together[0]);
    assert!(apart[0] + apart[1] < together[0] * 102 / 100, "{together:?} {apart:?}");
    // Both tiers are read, or the first alone; a file with both together is read whole, but not held.
    assert!(all == [together[0], all[1]] && without[0] == all[0], "{all:?} {without:?}");
    assert!(all_apart[0] > apart[0] + apart[1] / 2, "{all_apart:?} {apart:?}");
    assert!(without_apart[0] == apart[0], "{without_apart:?} {apart:?}");
    for (without, all) in [(without, all), (without_apart, all_apart)] {
        assert!(3 * without[1] < 2 * all[1], "{without:?} {all:?}");
    }
    let reel = directory.path().join("x.reel");
    let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
    let classic = "compile $IN -o $OUT --attributes-apart --preset classic";
    let refused = run_line(classic, &paths).expect(2);
    assert!(refused.error_line().contains("--attributes-apart"), "{}", refused.stderr);
}

#[test]
fn frames_between_keys_are_not_read_for_distant_instances() {
    let directory = tempfile::tempdir().unwrap();
    let reel = compiled(directory.path(), "a_flag_wind.abc", "--preset fast");
    let paths = [("$OUT", reel.as_path())];
    let read = ["1", "2", "16"].map(|step| {
        let line = format!("play $OUT --json --check --copies 20 --seconds 3 --loop --frame-step {step}");
        let json = run_line(&line, &paths).expect(0).json();
        check(&json, 1);
        number(&json, "bytes_read")
    });
    assert!(read[2] < read[1] && read[1] < read[0], "{read:?}");
    let refused = run_line("play $OUT --frame-step 3", &paths).expect(2);
    assert!(refused.stderr.contains("1, 2, 16"), "{}", refused.stderr);
}

#[test]
fn every_way_of_playing_shows_what_is_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let flag = compiled(directory.path(), "a_flag_wind.abc", "");
    let fluid = compiled(directory.path(), "e_metaballs.abc", "--block lz4hc");
    let paths = [("$A", flag.as_path()), ("$B", fluid.as_path())];
    for options in [
        "",
        "--rate -1",
        "--rate 0.37 --resident 0",
        "--loop --resident 0",
        "--seek-every 0.3 --resident 0",
        "--copies 5 --loop --rate -2 --heap 32MiB",
    ] {
        let line = format!("play $A $B --json --check --seconds 1 {options}");
        check(&run_line(&line, &paths).expect(0).json(), 2);
    }
    let text = run_line("play $A --seconds 0.2 --fps 30", &paths).expect(0).stdout;
    assert!(text.contains("frames missed") && text.contains("a_flag_wind.reel"), "{text}");
    assert_eq!(run_line("play $A --seconds 0.1 --quiet", &paths).expect(0).stdout, "");
}

/// A file with one frame ends before anything is displayed.
#[test]
fn one_frame_is_compared() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("one.obj");
    std::fs::write(&source, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
    let reel = directory.path().join("one.reel");
    let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
    run_line("compile $IN -o $OUT --quiet", &paths).expect(0);
    for options in ["", "--resident 0", "--loop --seconds 0.1"] {
        let json = run_line(&format!("play $OUT --check --json {options}"), &paths).expect(0).json();
        assert!(number(&json, "checked_frames") > 0, "{options}: {json}");
        assert_eq!(json["wrong_frames"], 0);
    }
}

#[test]
fn playing_what_cannot_be_played() {
    let directory = tempfile::tempdir().unwrap();
    let flag = compiled(directory.path(), "a_flag_wind.abc", "--channels positions");
    let broken = directory.path().join("broken.reel");
    let paths = [("$A", flag.as_path()), ("$B", broken.as_path())];
    let missing = run_line("play $A $B --json", &paths).expect(1);
    assert_eq!(missing.json()["error"]["class"], "io");
    std::fs::write(&broken, &std::fs::read(&flag).unwrap()[..500]).unwrap();
    let cut = run_line("play $A $B", &paths).expect(1);
    assert!(cut.error_line().contains("broken.reel"), "{}", cut.stderr);
    run_line("bench $B", &paths).expect(1);
    for line in [
        "play",
        "play $A --fps 0",
        "play $A --seconds -1",
        "play $A --seconds nan",
        "play $A --rate inf",
        "play $A --copies 0",
        "play $A --seek-every 0",
        "play $A --heap lots",
        "play $A --fps 1e-300",
        "play $A --fps inf",
        "play $A --seconds 86400 --fps 10000",
        "play $A --seconds 1e300",
        "play $A --rate nan",
        "play $A --rate 1e300",
        "play $A --pre-roll nan",
        "play $A --pre-roll -1",
        "play $A --seek-every inf",
        "play $A --heap 0",
        "play $A --heap nan",
        "play $A --heap inf",
        "play $A --heap -1",
        "play $A --heap 4000000TB",
        "play $A --heap 1e300",
        "play $A --resident nan",
        "play $A --threads 100000",
        "play $A --threads 18446744073709551615",
        "play $A --copies 100001",
        "play $A $A --copies 60000",
        "bench",
        "bench $A $A",
        "bench $A --seconds nan",
        "bench $A --seconds inf",
        "bench $A --seconds 1e300",
        "bench $A --seconds -1",
    ] {
        run_line(line, &paths).expect(2);
    }
}

#[test]
fn the_heap_that_info_names_is_enough_and_bench_measures_short_files() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0");
    for name in ["particles_small.reel", "chains_small.reel", "flag_fast.reel", "wall_packed.reel"] {
        let reel = golden.join(name);
        let paths = [("$A", reel.as_path())];
        let info = run_line("info $A --json", &paths).expect(0).json();
        let least = number(&info, "player_heap_bytes");
        let line = format!("play $A --json --check --seconds 0.5 --resident 0 --heap {least}B");
        assert_eq!(number(&run_line(&line, &paths).expect(0).json(), "refused_instances"), 0);
        let bench = run_line("bench $A --seconds 0 --json", &paths).expect(0).json();
        let stages = bench["stages"].as_array().unwrap();
        assert_eq!(stages[0]["name"], "everything to f32");
        let decoded = stages.iter().find(|stage| stage["name"] == "decode, forward").unwrap();
        let seconds = |stage: &Value| stage["seconds"].as_f64().unwrap();
        // Nothing is left from the pass before: a microsecond decodes no frame.
        assert!(seconds(decoded) > 1e-6 && seconds(&stages[0]) > 1e-6, "{bench}");
    }
}

#[test]
fn odd_numbers_give_sensible_runs() {
    let directory = tempfile::tempdir().unwrap();
    let flag = compiled(directory.path(), "a_flag_wind.abc", "--channels positions");
    let paths = [("$A", flag.as_path())];
    for options in [
        "--rate 1e-300",
        "--rate=-1e-300",
        "--rate 0",
        "--rate 65536",
        "--rate -65536 --loop",
        "--seek-every 1e-300",
        "--pre-roll 60",
        "--resident 4000000TB",
        "--threads 0",
        "--fps 10000",
    ] {
        let line = format!("play $A --json --check --seconds 0.2 {options}");
        check(&run_line(&line, &paths).expect(0).json(), 1);
    }
}

/// A heap for some of the instances: these play, the others are counted, and misses are reported.
#[test]
fn instances_that_do_not_fit_are_reported_and_the_others_play() {
    let directory = tempfile::tempdir().unwrap();
    let flag = compiled(directory.path(), "a_flag_wind.abc", "--channels positions");
    let paths = [("$A", flag.as_path())];
    let play = |options: &str| {
        let line = format!("play $A --json --check --seconds 1.5 --resident 0 --threads 1 {options}");
        run_line(&line, &paths)
    };
    // Too small for a frame: an error that names the size needed.
    let refused = play("--heap 64kB").expect(1).json();
    assert_eq!(refused["error"]["class"], "limit", "{refused}");
    let what = refused["error"]["what"].as_str().unwrap();
    let numbers: Vec<u64> = what.split_whitespace().filter_map(|w| w.parse().ok()).collect();
    let [asked, 64_000] = numbers[..] else {
        panic!("{what}");
    };
    // The size that was named is enough for one.
    let asked = asked + 65_536;
    let one = play(&format!("--heap {asked}B")).expect(0).json();
    check(&one, 1);
    assert_eq!(number(&one, "refused_instances"), 0);
    let some = play(&format!("--heap {asked}B --copies 7 --loop")).expect(0).json();
    check(&some, 1);
    assert!((1..7).contains(&number(&some, "refused_instances")), "{some}");
    assert_eq!(some["streams"][0]["refused_instances"], some["refused_instances"]);
    assert!(number(&some, "missed_frames") > 0, "{some}");
    let line = format!("play $A --seconds 1 --resident 0 --copies 7 --loop --heap {asked}B");
    let text = run_line(&line, &paths).expect(0).stdout;
    assert!(text.contains("found no room in the heap"), "{text}");
}

#[test]
fn a_check_that_compares_nothing_fails() {
    let directory = tempfile::tempdir().unwrap();
    let flag = compiled(directory.path(), "a_flag_wind.abc", "--channels positions");
    let paths = [("$A", flag.as_path())];
    // One tick, in which nothing is decoded yet.
    let line = "play $A --json --check --seconds 0.001 --fps 1";
    let run = run_line(line, &paths);
    let json = run.json();
    match number(&json, "checked_frames") {
        0 => {
            let run = run.expect(1);
            assert!(run.error_line().contains("nothing was compared"), "{}", run.stderr);
        }
        _ => drop(run.expect(0)),
    }
}

#[test]
fn a_damaged_frame_is_told_and_not_shown() {
    let directory = tempfile::tempdir().unwrap();
    let flag = compiled(directory.path(), "a_flag_wind.abc", "--channels positions");
    let mut bytes = std::fs::read(&flag).unwrap();
    // Within the frames, which follow the static data.
    let at = bytes.len() * 3 / 4;
    bytes[at] ^= 0x10;
    std::fs::write(&flag, bytes).unwrap();
    let paths = [("$A", flag.as_path())];
    let run = run_line("play $A --seconds 1 --json", &paths).expect(1);
    assert!(run.error_line().contains("a_flag_wind.reel"), "{}", run.stderr);
    assert!(!run.json()["errors"].as_array().unwrap().is_empty());
}

#[test]
fn bench_measures_every_stage() {
    let directory = tempfile::tempdir().unwrap();
    let flag = compiled(directory.path(), "a_flag_wind.abc", "--channels positions");
    let paths = [("$A", flag.as_path())];
    let json = run_line("bench $A --json --seconds 0.01", &paths).expect(0).json();
    let stages = json["stages"].as_array().unwrap();
    assert!(stages.len() >= 6);
    assert!(json["opening_seconds"].as_f64().unwrap() > 0.0 && json["triangles"].as_u64().unwrap() > 0);
    for stage in stages {
        assert!(stage["mb_per_second"].as_f64().unwrap() > 0.0, "{stage}");
    }
    let text = run_line("bench $A --seconds 0.01 --no-attributes", &paths).expect(0).stdout;
    assert!(text.contains("memcpy") && text.contains("plain block decompression"));
    assert!(text.contains("opened with"));
}
