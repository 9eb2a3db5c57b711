//! Tests of one file compiled on many machines: it equals that of one machine byte for byte, and only parts
//! of one plan can be joined.

use crate::cli::common::{Run, bundled, corpus, names, run};
use crate::particles::{drops, rubble};
use meshreel_compile::{Error, Silent, farm};
use meshreel_options::{MethodChoice, Options};
use meshreel_scene::Scene;
use meshreel_scene::sample::TimeRange;
use meshreel_testkit::corpus_if_thorough;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A folder for planning, making parts and joining.
struct Farm(tempfile::TempDir);

impl Farm {
    fn new() -> Farm {
        Farm(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Returns the file that one machine makes.
    fn compiled(&self, inputs: &[&Path], options: &[&str]) -> Vec<u8> {
        let target = self.path("one.reel");
        let inputs: Vec<&str> = inputs.iter().map(|input| input.to_str().unwrap()).collect();
        let line = [&["compile"], &inputs[..], &["-o", &target, "--merge"], options].concat();
        run(line).expect(0);
        std::fs::read(target).unwrap()
    }

    fn plan(&self, inputs: &[&Path], options: &[&str]) -> Run {
        let inputs: Vec<&str> = inputs.iter().map(|input| input.to_str().unwrap()).collect();
        run([&["plan"], &inputs[..], &["-o", &self.path("x.plan"), "--json"], options].concat())
    }

    fn part(&self, number: u32, count: u32) -> Run {
        let (share, target) = (format!("{number}/{count}"), self.part_name(number, count));
        run(["part", &self.path("x.plan"), &share, "-o", &target, "--json"])
    }

    fn part_name(&self, number: u32, count: u32) -> String {
        self.path(&format!("{number}of{count}.part"))
    }

    fn join(&self, parts: &[String]) -> Run {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        run([&["join"], &parts[..], &["-o", &self.path("joined.reel"), "--json"]].concat())
    }

    /// Returns the file joined from this number of parts of an existing plan.
    fn joined(&self, count: u32) -> Vec<u8> {
        let mut parts: Vec<String> = (1..=count).map(|k| self.part_name(k, count)).collect();
        (1..=count).for_each(|k| drop(self.part(k, count).expect(0)));
        // In another order.
        parts.reverse();
        let done = self.join(&parts).expect(0).json();
        let bytes = std::fs::read(self.path("joined.reel")).unwrap();
        assert_eq!(
            (done["parts"].as_u64(), done["bytes"].as_u64()),
            (Some(count.into()), Some(bytes.len() as u64))
        );
        assert!(done["seconds"].is_number());
        bytes
    }

    /// Compares the file joined from each number of parts with that of one machine.
    fn check(inputs: &[&Path], options: &[&str], counts: &[u32]) {
        let farm = Farm::new();
        let one = farm.compiled(inputs, options);
        farm.plan(inputs, options).expect(0);
        for &count in counts {
            let same = farm.joined(count) == one;
            assert!(same, "{inputs:?} {options:?} in {count} parts is another file than of one machine");
        }
    }
}

#[test]
fn soft_meshes_are_the_same_in_any_number_of_parts() {
    let flag = bundled("a_flag_wind.abc");
    Farm::check(&[&flag], &["--effort", "3"], &[1, 2, 3, 5]);
    Farm::check(&[&flag], &["--effort", "3", "--preset", "fast", "--attributes-apart"], &[3]);
    // More segments than parts, and options from a file.
    let farm = Farm::new();
    std::fs::write(farm.path("o.toml"), "effort = 2\n[[mesh]]\nglob = \"/**\"\ntolerance = \"0.05%\"\n")
        .unwrap();
    let options = ["--options", &farm.path("o.toml"), "--index-every", "16"];
    Farm::check(&[&flag], &options, &[2, 5]);
}

/// Chains of particles cross segments; frames between keys refer to keys on both sides.
#[test]
fn particles_are_the_same_in_any_number_of_parts() {
    let farm = Farm::new();
    let path = farm.path("points.abc");
    let path = Path::new(&path);
    for (source, more) in [
        (rubble(65), &[][..]),
        (rubble(130), &[]),
        (rubble(197), &[]),
        (rubble(71), &["--index-every", "32"]),
        (drops(40, true), &[]),
        (drops(80, false), &[]),
    ] {
        meshreel_write::alembic::write(path, &source, &mut |_, _| {}).unwrap();
        Farm::check(&[path], more, &[1, 2, 3, 5]);
    }
}

/// Tests parts of an animation too long for all keys to be stored, of one that stands still at its ends, and
/// of one whose keys are too large for a plan.
#[test]
fn keys_are_the_same_whoever_codes_them() {
    let farm = Farm::new();
    let cloth = |frame: u32| {
        let t = f64::from(frame.clamp(70, 150) - 70);
        let at = |x: u32, y: u32| (0.1 * t).sin() * f64::from(x) * 0.3 + 0.05 * f64::from(y);
        let points = (0..4).flat_map(|y| (0..5).map(move |x| (x, y)));
        points.map(|(x, y)| [f64::from(x), f64::from(y), at(x, y)].map(|v| v as f32)).collect::<Vec<_>>()
    };
    let quad = |x, y| format!("f {} {} {} {}\n", 5 * y + x, 5 * y + x + 1, 5 * y + x + 6, 5 * y + x + 5);
    let faces: String = (0..3).flat_map(|y| (1..5).map(move |x| quad(x, y))).collect();
    let points: String = cloth(0).iter().map(|[x, y, z]| format!("v {x} {y} {z}\n")).collect();
    std::fs::write(farm.path("cloth.obj"), points + &faces).unwrap();
    let cache = |name: &str, count: u32| {
        let mut bytes = b"POINTCACHE2\0".to_vec();
        bytes.extend([1u32, 20].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend([0f32, 1.0].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend(count.to_le_bytes());
        let all = (0..count).flat_map(cloth).flatten();
        bytes.extend(all.flat_map(|number| number.to_le_bytes()));
        std::fs::write(farm.path(name), bytes).unwrap();
        PathBuf::from(farm.path(name))
    };
    let cloth = PathBuf::from(farm.path("cloth.obj"));
    let (short, long) = (cache("short.pc2", 300), cache("long.pc2", 290));
    let options = ["--effort", "2", "--tolerance", "0.1%"];
    Farm::check(&[&cloth, &short], &options, &[1, 4, 7]);
    // One key each.
    Farm::check(&[&cloth, &long], &[&options[..], &["--index-every", "16"]].concat(), &[1, 4, 30]);
    Farm::check(&[&cloth, &short], &[&options[..], &["--memory", "64k"]].concat(), &[4]);
}

#[test]
fn bones_are_the_same_in_any_number_of_parts() {
    let wall = bundled("c_wall_fracture_onemesh.abc");
    Farm::check(&[&wall], &["--effort", "2", "--method", "rigid"], &[3]);
    Farm::check(&[&wall], &["--effort", "2", "--preset", "fast", "--transforms", "packed"], &[2]);
    let snake = bundled("d_snake_skinned.abc");
    Farm::check(&[&snake], &["--effort", "2", "--method", "skinned"], &[1, 5]);
}

#[test]
fn changing_faces_are_the_same_in_any_number_of_parts() {
    let balls = bundled("e_metaballs.abc");
    Farm::check(&[&balls], &["--effort", "2"], &[1, 2, 5]);
    Farm::check(&[&balls], &["--effort", "2", "--preset", "fast", "--short-source-map"], &[3]);
}

#[test]
fn nodes_are_the_same_in_any_number_of_parts() {
    for (name, options) in [
        ("g_scene_attributes.abc", &["--lod", "2"][..]),
        ("j_visibility_particles.abc", &[]),
        ("m_scale_shear.abc", &["--preset", "fast"]),
        ("n_robot_bone_parented.abc", &["--strip"]),
    ] {
        Farm::check(&[&bundled(name)], &[options, &["--effort", "2"]].concat(), &[1, 3]);
    }
    // Several files merged, with clips.
    let both = [&*bundled("n_robot_bone_parented.abc"), &*bundled("prism.glb")];
    Farm::check(&both, &["--effort", "2"], &[2]);
}

#[test]
fn what_has_no_units_is_all_in_the_plan() {
    let prism = bundled("prism.glb");
    Farm::check(&[&prism], &["--clips-only"], &[1, 2]);
    Farm::check(&[&bundled("a_flag_wind.abc")], &["--preset", "classic", "--effort", "2"], &[2]);
    let farm = Farm::new();
    assert_eq!(farm.plan(&[&prism], &["--clips-only"]).expect(0).json()["units"], 0);
}

#[test]
fn the_corpus_is_the_same_in_parts() {
    let Some(corpus) = corpus_if_thorough() else {
        return;
    };
    for name in
        ["b_wall_fracture_xform", "d_creature_skinned", "e_sph_liquid", "f_ocean_height", "i_suzanne_morph"]
    {
        let path = corpus.join("alembic/gen").join(name).with_extension("abc");
        Farm::check(&[&path], &[], &[1, 4]);
        Farm::check(&[&path], &["--preset", "fast"], &[3]);
    }
    let [obj, points] = ["samba.obj", "samba.pc2"].map(|name| corpus.join("sequences").join(name));
    Farm::check(&[&obj, &points], &[], &[4]);
    Farm::check(&[&corpus.join("gltf/BrainStem.glb")], &["--rig", "keep"], &[3]);
}

#[test]
fn a_file_of_the_corpus_is_the_same_in_parts() {
    let Some(corpus) = corpus() else {
        return;
    };
    let height = corpus.join("alembic/gen/f_ocean_height.abc");
    Farm::check(&[&height], &["--effort", "2", "--fps", "12"], &[3]);
}

#[test]
fn a_relative_tolerance_is_that_of_the_whole() {
    // Each half of a growing square is smaller than the whole.
    let farm = Farm::new();
    for frame in 0..40 {
        let size = 1.0 + f64::from(frame);
        let text = format!("v 0 0 0\nv {size} 0 0\nv {size} {size} 0\nv 0 {size} 0\nf 1 2 3 4\n");
        std::fs::write(farm.path(&format!("s.{frame:02}.obj")), text).unwrap();
    }
    let sequence = PathBuf::from(farm.path("s.##.obj"));
    Farm::check(&[&sequence], &["--tolerance", "1%"], &[2]);
}

/// Returns a plan of a short soft mesh, and its two parts.
fn two_parts() -> Farm {
    let farm = Farm::new();
    farm.plan(&[&bundled("a_flag_wind.abc")], &["--effort", "1", "--range", "0:40"]).expect(0);
    (1..=2).for_each(|k| drop(farm.part(k, 2).expect(0)));
    farm
}

#[test]
fn a_part_that_is_there_is_left_alone_and_a_lost_one_made_again() {
    let farm = two_parts();
    let [first, second] = [1, 2].map(|k| std::fs::read(farm.part_name(k, 2)).unwrap());
    let again = farm.part(2, 2).expect(0).json();
    assert_eq!((&again["was_there"], &again["part"], &again["parts"]), (&true.into(), &2.into(), &2.into()));
    // A truncated file of a killed process is no part: it is made again, and only it.
    for cut in [0, 1, second.len() / 2, second.len() - 1] {
        std::fs::write(farm.part_name(2, 2), &second[..cut]).unwrap();
        assert_eq!(farm.part(2, 2).expect(0).json()["was_there"], false);
        assert!(std::fs::read(farm.part_name(2, 2)).unwrap() == second);
    }
    // Another part under its name is not accepted.
    std::fs::write(farm.part_name(2, 2), &first).unwrap();
    assert_eq!(farm.part(2, 2).expect(0).json()["was_there"], false);
    let text = run(["part", &farm.path("x.plan"), "2/2", "-o", &farm.part_name(2, 2)]).expect(0).stdout;
    assert!(text.contains("is there already"), "{text}");
    // The plan is the same whenever it is made, and so are its parts.
    let plan = std::fs::read(farm.path("x.plan")).unwrap();
    farm.plan(&[&bundled("a_flag_wind.abc")], &["--effort", "1", "--range", "0:40"]).expect(0);
    assert!(std::fs::read(farm.path("x.plan")).unwrap() == plan);
    // With any number of threads.
    let alone = farm.path("alone.part");
    run(["part", &farm.path("x.plan"), "1/2", "-o", &alone, "--jobs", "1"]).expect(0);
    assert!(std::fs::read(alone).unwrap() == first);
}

#[test]
fn only_all_parts_of_one_plan_are_joined() {
    let farm = two_parts();
    let [first, second] = [1, 2].map(|k| farm.part_name(k, 2));
    let refused = |parts: &[&String], code: i32, class: &str, words: &[&str]| {
        let parts: Vec<String> = parts.iter().map(|part| part.to_string()).collect();
        let run = farm.join(&parts).expect(code);
        assert_eq!(run.json()["error"]["class"], class, "{}", run.stderr);
        let line = run.error_line();
        assert!(words.iter().all(|word| line.contains(word)), "{line}");
        assert!(!Path::new(&farm.path("joined.reel")).exists());
    };
    refused(&[&first], 2, "usage", &["2/2", "missing"]);
    refused(&[&second], 2, "usage", &["1/2", "missing"]);
    refused(&[&first, &farm.path("no.part")], 1, "io", &["no.part"]);
    refused(&[&first, &farm.path("x.plan")], 1, "malformed", &["x.plan", "not a part"]);
    // From another division, and from another plan.
    farm.part(2, 3).expect(0);
    refused(&[&first, &farm.part_name(2, 3)], 1, "malformed", &["2of3.part", "1of2.part"]);
    let other = Farm::new();
    other.plan(&[&bundled("a_flag_wind.abc")], &["--effort", "2", "--range", "0:40"]).expect(0);
    other.part(2, 2).expect(0);
    let stranger = farm.path("stranger.part");
    std::fs::copy(other.part_name(2, 2), &stranger).unwrap();
    refused(&[&first, &stranger], 1, "malformed", &["stranger.part", "another plan"]);
    // Damaged anywhere.
    let whole = std::fs::read(&second).unwrap();
    let damaged = farm.path("damaged.part");
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&damaged, &bytes).unwrap();
        let class = if (8..12).contains(&at) { "unsupported" } else { "malformed" };
        refused(&[&first, &damaged], 1, class, &["damaged.part"]);
        std::fs::write(&damaged, &whole[..at]).unwrap();
        refused(&[&first, &damaged], 1, "malformed", &["damaged.part"]);
    }
    // An output with the name of an input, or of a part.
    run(["join", &first, &second, "-o", &first]).expect(2);
    run(["join", &first, &second, "-o", &farm.path("a.abc")]).expect(2);
    run(["plan", "a.abc", "-o", &farm.path("a.reel")]).expect(2);
    // Naming the same part twice is harmless.
    farm.join(&[first.clone(), second.clone(), first]).expect(0);
}

#[test]
fn damaged_plans_are_refused() {
    let farm = two_parts();
    let whole = std::fs::read(farm.path("x.plan")).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        for damaged in [&bytes[..], &whole[..at]] {
            std::fs::write(farm.path("x.plan"), damaged).unwrap();
            let run = farm.part(1, 1).expect(1);
            let version = (8..12).contains(&at) && damaged.len() == whole.len();
            let class = if version { "unsupported" } else { "malformed" };
            assert_eq!(run.json()["error"]["class"], class, "{at}: {}", run.stderr);
            assert!(run.error_line().contains("x.plan"), "{}", run.stderr);
        }
    }
    assert!(!Path::new(&farm.part_name(1, 1)).exists());
}

#[test]
fn parts_are_made_of_what_was_planned_with() {
    let farm = Farm::new();
    let square = |frame: u32, z: f64| {
        let text = format!("v 0 0 {z}\nv 1 0 {z}\nv 1 1 {z}\nv 0 1 {z}\nf 1 2 3 4\n");
        std::fs::write(farm.path(&format!("s.{frame}.obj")), text).unwrap();
    };
    (1..=4).for_each(|frame| square(frame, f64::from(frame)));
    let sequence = farm.path("s.#.obj");
    farm.plan(&[Path::new(&sequence)], &[]).expect(0);
    let refused = |more: &[&str], words: &[&str]| {
        let target = farm.part_name(1, 1);
        let line = ["part", &farm.path("x.plan"), "1/1", "-o", &target, "--json"];
        let run = run([&line, more].concat()).expect(1);
        assert_eq!(run.json()["error"]["class"], "malformed", "{}", run.stderr);
        assert!(words.iter().all(|word| run.error_line().contains(word)), "{}", run.stderr);
        assert!(!Path::new(&target).exists());
    };
    square(3, 7.0);
    refused(&[], &["s.3.obj", "changed", "plan again"]);
    square(3, 3.0);
    square(5, 5.0);
    refused(&[], &["5 files", "4"]);
    std::fs::remove_file(farm.path("s.5.obj")).unwrap();
    // Elsewhere, with the same content.
    std::fs::create_dir(farm.path("copy")).unwrap();
    for frame in 1..=4 {
        std::fs::rename(farm.path(&format!("s.{frame}.obj")), farm.path(&format!("copy/s.{frame}.obj")))
            .unwrap();
    }
    let gone = farm.part(1, 1).expect(1);
    assert_eq!(gone.json()["error"]["class"], "io");
    let copy = farm.path("copy/s.#.obj");
    let target = farm.part_name(1, 1);
    run(["part", &farm.path("x.plan"), "1/1", "-o", &target, "--source", &copy]).expect(0);
    farm.join(&[target]).expect(0);
}

#[test]
fn wrong_usage_of_a_farm_is_told() {
    let farm = two_parts();
    for share in ["0/2", "3/2", "2", "x"] {
        run(["part", &farm.path("x.plan"), share, "-o", &farm.path("y.part")]).expect(2);
    }
    run(["plan", "x.abc"]).expect(2);
    run(["plan", "x.abc", "-o", &farm.path("y.plan"), "--effort", "12"]).expect(2);
    let flag = bundled("a_flag_wind.abc");
    let dry = farm.plan(&[&flag], &["--effort", "1", "--range", "0:3", "--dry-run"]).expect(0).json();
    assert_eq!(dry["written"], false);
    let strict = bundled("m_scale_shear.abc");
    let strict = farm.plan(&[&strict], &["--strict", "--effort", "1"]);
    let compiled = run([
        "compile",
        bundled("m_scale_shear.abc").to_str().unwrap(),
        "--strict",
        "--effort",
        "1",
        "--dry-run",
    ]);
    assert_eq!(strict.code, compiled.code);
}

#[test]
#[cfg(unix)]
fn a_full_disk_leaves_nothing_half_done() {
    let farm = two_parts();
    // With the signal ignored, exceeding the limit is an error like a full disk. Blocks of 512 bytes.
    let limited = |line: &str| {
        let script = format!("trap '' XFSZ; ulimit -f 16; exec {line}");
        let program = env!("CARGO_BIN_EXE_meshreel");
        let done =
            Command::new("sh").args(["-c", &script]).env("BIN", program).current_dir(farm.0.path()).output();
        let done = done.unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(done.status.code(), Some(1), "{stderr}");
        assert!(stderr.lines().any(|line| line.starts_with("error: ")), "{stderr}");
    };
    let before = names(farm.0.path());
    let flag = bundled("a_flag_wind.abc");
    limited(&format!("\"$BIN\" plan {} -o full.plan --effort 1 --range 0:40", flag.display()));
    limited("\"$BIN\" part x.plan 1/1 -o full.part");
    limited("\"$BIN\" join 1of2.part 2of2.part -o full.reel");
    assert_eq!(names(farm.0.path()), before);
}

/// The records that parts and joining read.
struct Records {
    scene: Scene,
    options: Options,
    decisions: Vec<u8>,
    nodes: BTreeMap<u32, Vec<u8>>,
    keys: BTreeMap<[u32; 2], Vec<u8>>,
    assembly: Vec<u8>,
    frames: usize,
}

/// The tail of a part with all frames, and its units.
type Coded = (Vec<u8>, BTreeMap<u32, Vec<u8>>);

impl Records {
    fn new(name: &str, method: MethodChoice) -> Records {
        let (scene, _) = meshreel_read::open(&bundled(name), &Default::default()).unwrap();
        let range = Some(TimeRange::Frames(0, 20));
        let options = Options { effort: 1, jobs: 1, range, method, ..Options::default() };
        let farm::FarmPlan { decisions, nodes, keys, assembly, frames, .. } =
            farm::plan(scene.clone(), Vec::new(), &options, &Silent).unwrap();
        let (nodes, keys) = (nodes.into_iter().collect(), keys.into_iter().collect());
        Records { scene, options, decisions, nodes, keys, assembly, frames }
    }

    fn part(&self) -> Result<Coded, Error> {
        let mut units = BTreeMap::new();
        let none = || Error::Malformed { what: "no such unit".into() };
        let keys = self.keys.clone();
        let planned = farm::PlannedUnits {
            decisions: &self.decisions,
            nodes: &|number| self.nodes.get(&number).cloned().ok_or_else(none),
            keys: Arc::new(move |of| Ok(keys.get(&of).cloned())),
        };
        let take = &mut |number, bytes| {
            units.insert(number, bytes);
            Ok(())
        };
        let tail = farm::part(self.scene.clone(), &self.options, planned, (1, 1), &Silent, take)?;
        Ok((tail, units))
    }

    fn join(&self, (tail, units): &Coded) -> Result<farm::Joined, Error> {
        let folder = tempfile::tempdir().unwrap();
        let none = || Error::Malformed { what: "no such unit".into() };
        let mut unit = |number| units.get(&number).cloned().ok_or_else(none);
        let tails = std::slice::from_ref(tail);
        let pieces = farm::JoinInput { assembly: &self.assembly, tails, unit: &mut unit };
        farm::join(pieces, &folder.path().join("a.reel"), 1, &meshreel_check::reopen, &Silent)
    }
}

/// Returns variants of the bytes with one bit changed, and truncated there.
fn forged(bytes: &[u8], most: usize) -> Vec<Vec<u8>> {
    let flipped = |at: usize| {
        let mut forged = bytes.to_vec();
        forged[at] ^= 1 << (at % 8);
        [forged, bytes[..at].to_vec()]
    };
    (0..bytes.len()).step_by(bytes.len().div_ceil(most).max(1)).flat_map(flipped).collect()
}

/// Records with forged checksums: parts and joining treat their input as hostile.
#[test]
fn forged_records_are_refused_or_make_something() {
    let (auto, rigid) = (MethodChoice::Auto, MethodChoice::Rigid);
    for (name, method, parts) in [
        ("a_flag_wind.abc", auto, 150),
        ("e_metaballs.abc", auto, 60),
        ("c_wall_fracture_onemesh.abc", rigid, 40),
    ] {
        let mut records = Records::new(name, method);
        let (tail, units) = records.part().unwrap();
        assert_eq!(records.join(&(tail.clone(), units.clone())).unwrap().frames, records.frames);
        let (mut refused, mut cut) = (0, 0);
        for decisions in forged(&records.decisions.clone(), parts) {
            records.decisions = decisions;
            cut += 1;
            refused += usize::from(records.part().is_err());
        }
        let mut records = Records::new(name, method);
        let (nodes, keys) = (records.nodes.clone(), records.keys.clone());
        for (&number, bytes) in nodes.iter().take(3) {
            for bytes in forged(bytes, 8) {
                records.nodes.insert(number, bytes);
                cut += 1;
                refused += usize::from(records.part().is_err());
            }
            records.nodes = nodes.clone();
        }
        for (&of, bytes) in keys.iter().take(1) {
            for bytes in forged(bytes, parts / 4) {
                records.keys.insert(of, bytes);
                cut += 1;
                refused += usize::from(records.part().is_err());
            }
            records.keys = keys.clone();
        }
        // Every second one is truncated.
        assert!(2 * refused >= cut, "{name}: {refused} of {cut}");
        let whole = records.assembly.clone();
        for assembly in forged(&whole, parts) {
            records.assembly = assembly;
            refused += usize::from(records.join(&(tail.clone(), units.clone())).is_err());
        }
        records.assembly = whole;
        for tail in forged(&tail, 20) {
            refused += usize::from(records.join(&(tail, units.clone())).is_err());
        }
        for (&number, bytes) in units.iter().take(3) {
            for bytes in forged(bytes, parts / 5) {
                let mut units = units.clone();
                units.insert(number, bytes);
                refused += usize::from(records.join(&(tail.clone(), units)).is_err());
            }
        }
        // Every truncation is noticed, and most other damage.
        assert!(refused > 2 * parts, "{name}: {refused}");
    }
}
