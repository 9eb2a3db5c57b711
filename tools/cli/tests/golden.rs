//! Files of every released version decode to the same bits for ever, on every machine. Version 0 is not
//! released: `MESHREEL_GOLDEN=write` renews its files.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::particles::{cloud, drops, rubble};
use crate::sample::{rich, small};
use meshreel::raw::record::{CODEC_CHAIN, CODEC_PACKED_CHAIN};
use meshreel::{Limits, Reel};
use meshreel_codec::entropy::block::BlockFormat;
use meshreel_compile::{Silent, compile};
use meshreel_options::{Options, Preset, Tolerance, TransformForm};
use meshreel_scene::Scene;
use meshreel_scene::sample::TimeRange;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden/v0")
}

/// Returns the name and bytes of each file as written by the current code.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.reel");
    let all = |format| rich(path.clone(), format, 10);
    vec![
        ("square.reel", small(path.clone()).0),
        ("everything_store.reel", all(BlockFormat::Store)),
        ("everything_deflate.reel", all(BlockFormat::Deflate)),
        ("everything_lz4.reel", all(BlockFormat::Lz4)),
        ("everything_zstd.reel", all(BlockFormat::Zstd)),
    ]
}

/// The file with separate attributes.
const APART: &str = "flag_apart.reel";

/// The file with packed transforms.
const PACKED: &str = "wall_packed.reel";

/// The file with 32-bit points.
const WIDE: &str = "flag_wide.reel";

/// The file with particles in chains, which no small real input has.
const CHAINS: &str = "chains_small.reel";

/// The file with particles in chains of packed bits.
const PACKED_CHAINS: &str = "chains_fast.reel";

/// The file with points that are the same in all frames, which are a mesh.
const POINTS: &str = "points_fast.reel";

/// Files of the soft codec, from an excerpt of a real input; compiled only to be renewed.
const LAYERED: [(&str, &str, Preset); 10] = [
    ("flag_small.reel", "a_flag_wind.abc", Preset::Small),
    ("flag_fast.reel", "a_flag_wind.abc", Preset::Fast),
    (WIDE, "a_flag_wind.abc", Preset::Fast),
    (APART, "a_flag_wind.abc", Preset::Small),
    ("robot_small.reel", "n_robot_bone_parented.abc", Preset::Small),
    ("snake_small.reel", "d_snake_skinned.abc", Preset::Small),
    ("wall_fast.reel", "c_wall_fracture_onemesh.abc", Preset::Fast),
    ("wall_small.reel", "c_wall_fracture_onemesh.abc", Preset::Small),
    (PACKED, "c_wall_fracture_onemesh.abc", Preset::Fast),
    ("particles_small.reel", "j_visibility_particles.abc", Preset::Small),
];

fn layered(name: &str, input: &str, preset: Preset) -> Vec<u8> {
    let input = folder().join("../../inputs").join(input);
    let scene = meshreel_read::open(&input, &meshreel_read::ReadOptions::default()).unwrap().0;
    compiled(name, &scene, preset)
}

fn compiled(name: &str, scene: &Scene, preset: Preset) -> Vec<u8> {
    let last = match name {
        WIDE => 11,
        // Long enough for a second segment.
        CHAINS => 69,
        _ => 37,
    };
    let options = Options {
        preset,
        attributes_apart: name == APART,
        transforms: if name == PACKED { TransformForm::Packed } else { TransformForm::default() },
        tolerance: Tolerance::Relative(if name == WIDE { 1e-6 } else { 1e-2 }),
        range: Some(TimeRange::Frames(0, last)),
        ..Options::default()
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file.reel");
    compile(scene.clone(), Vec::new(), &path, &options, &meshreel_check::reopen, &Silent).unwrap();
    fs::read(path).unwrap()
}

fn digest(bytes: Vec<u8>) -> u64 {
    meshreel_runtime_test::digest(bytes).unwrap()
}

#[test]
fn v0_decodes_to_the_same_bits() {
    let mut digests = String::new();
    let write = std::env::var_os("MESHREEL_GOLDEN").is_some_and(|v| v == "write");
    if write {
        for (name, input, preset) in LAYERED {
            fs::write(folder().join(name), layered(name, input, preset)).unwrap();
        }
        fs::write(folder().join(CHAINS), compiled(CHAINS, &rubble(70), Preset::Small)).unwrap();
        let drops = compiled(PACKED_CHAINS, &drops(38, true), Preset::Fast);
        fs::write(folder().join(PACKED_CHAINS), drops).unwrap();
        fs::write(folder().join(POINTS), compiled(POINTS, &cloud(38), Preset::Fast)).unwrap();
    }
    for (name, bytes) in files() {
        let path = folder().join(name);
        if write {
            fs::write(&path, &bytes).unwrap();
        }
        let golden = fs::read(&path).unwrap();
        // The output of compression libraries may change between versions; the decoded result may not.
        if name == "square.reel" || name.ends_with("_store.reel") {
            assert!(golden == bytes, "{name} would be written in another way");
        }
        writeln!(digests, "{:016x}  {name}", digest(golden)).unwrap();
    }
    for name in LAYERED.iter().map(|(name, ..)| *name).chain([CHAINS, PACKED_CHAINS, POINTS]) {
        let golden = fs::read(folder().join(name)).unwrap();
        writeln!(digests, "{:016x}  {name}", digest(golden)).unwrap();
    }
    let path = folder().join("DIGESTS");
    if write {
        fs::write(&path, &digests).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), digests);
}

#[test]
fn chains_are_among_them() {
    for (name, codec) in [(CHAINS, CODEC_CHAIN), (PACKED_CHAINS, CODEC_PACKED_CHAIN)] {
        let reel = Reel::open(folder().join(name), &Limits::default()).unwrap();
        assert_eq!(reel.description().meshes[0].codec, codec);
    }
}

#[test]
fn points_that_persist_are_among_them() {
    let reel = Reel::open(folder().join(POINTS), &Limits::default()).unwrap();
    let mesh = &reel.description().meshes[0];
    assert!(mesh.method.deforms() && mesh.particles.is_some());
}

#[test]
fn the_kind_of_compression_changes_nothing() {
    let digests: Vec<u64> = files().into_iter().skip(1).map(|f| digest(f.1)).collect();
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]));
}
