//! Tests of layered files from real inputs: the tolerance is kept, and a frame is the same by any path of the
//! decoder.

use meshreel_testkit::{corpus, is_thorough};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshreel::raw::record::Coding;
use meshreel::{FrameDecoder, FrameKind, Limits, Reel};
use meshreel_check::verify;
use meshreel_compile::{Silent, compile};
use meshreel_format::checksum;
use meshreel_options::{Options, Preset, Tolerance};
use meshreel_scene::Scene;
use meshreel_scene::sample::TimeRange;

/// Deforming with uvs; skinned with normals; changing topology; visibility; transforms; shear.
const INPUTS: [&str; 6] = [
    "a_flag_wind.abc",
    "d_snake_skinned.abc",
    "e_metaballs.abc",
    "j_visibility_particles.abc",
    "n_robot_bone_parented.abc",
    "m_scale_shear.abc",
];

fn input(name: &str) -> Scene {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs").join(name);
    meshreel_read::open(&path, &meshreel_read::ReadOptions::default()).unwrap().0
}

fn compiled(scene: &Scene, options: &Options) -> Reel {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.reel");
    compile(scene.clone(), Vec::new(), &path, options, &meshreel_check::reopen, &Silent).unwrap();
    let bytes: Arc<[u8]> = std::fs::read(&path).unwrap().into();
    Reel::from_source(Arc::new(bytes), &Limits::default()).unwrap()
}

fn options(last: usize) -> Options {
    let effort = if is_thorough() { Options::default().effort } else { 2 };
    Options { preset: Preset::Small, range: Some(TimeRange::Frames(0, last)), effort, ..Options::default() }
}

/// Returns all values of a frame that can be compared.
fn frame_values(decoder: &FrameDecoder) -> Vec<u32> {
    let description = decoder.reel().description();
    let mut out = Vec::new();
    for node in 0..description.nodes.len() {
        out.push(u32::from(decoder.visible(node)));
        let transform = decoder.transform(node);
        out.extend(transform.rotation.map(f32::to_bits));
        out.extend(transform.translation.map(f32::to_bits));
    }
    for mesh in 0..description.meshes.len() {
        let view = decoder.mesh(mesh);
        let mut floats = vec![0.0f32; 3 * view.vertex_count()];
        view.positions_into(&mut floats).unwrap();
        out.extend(floats.iter().map(|f| f.to_bits()));
        if view.has_normals() {
            view.normals_into(&mut floats).unwrap();
            out.extend(floats.iter().map(|f| f.to_bits()));
        }
        out.extend(view.indices());
    }
    out
}

/// Returns a digest of the frame's values.
fn frame_digest(decoder: &FrameDecoder) -> u64 {
    let mut hasher = DefaultHasher::new();
    frame_values(decoder).hash(&mut hasher);
    hasher.finish()
}

/// Returns the points of each triangle in the source, from the lowest, sorted.
fn triangles(reel: &Reel) -> Vec<[u32; 3]> {
    let points = reel.source_map(0).unwrap().unwrap().vertex_point;
    let turned = |t: &[u32; 3]| {
        let [a, b, c] = t.map(|v| points[v as usize]);
        [[a, b, c], [b, c, a], [c, a, b]].into_iter().min().unwrap()
    };
    let mut out: Vec<_> = reel.indices(0).unwrap().as_chunks().0.iter().map(turned).collect();
    out.sort_unstable();
    out
}

#[test]
fn triangles_of_small_are_compact_where_that_is_smaller() {
    let scene = input("c_wall_fracture_onemesh.abc");
    let [small, fast] =
        [Preset::Small, Preset::Fast].map(|preset| compiled(&scene, &Options { preset, ..options(1) }));
    let bits = |reel: &Reel| {
        let mesh = &reel.description().meshes[0];
        8 * mesh.connectivity.size / (mesh.indices / 3)
    };
    assert!(bits(&small) < 6 && bits(&fast) > 15, "{} {}", bits(&small), bits(&fast));
    assert_eq!(small.description().meshes[0].points, fast.description().meshes[0].points);
    assert_eq!(triangles(&small), triangles(&fast));
    // Triangles in rows keep the order in which uvs repeat.
    let rows = compiled(&input("d_snake_skinned.abc"), &options(1));
    assert!(bits(&rows) > 15);
}

#[test]
fn the_promise_holds() {
    for (name, preset) in INPUTS.into_iter().flat_map(|n| [(n, Preset::Small), (n, Preset::Fast)]) {
        let scene = input(name);
        let options = Options { preset, ..options(36) };
        let reel = compiled(&scene, &options);
        let report = verify(&scene, &reel, &|_, _| ()).unwrap();
        assert!(report.ok, "{name}: {:#?}", report.failures);
    }
}

#[test]
fn forward_backward_and_random_order_are_identical() {
    for (name, preset) in INPUTS.into_iter().zip([Preset::Fast, Preset::Small].into_iter().cycle()) {
        let options = Options { preset, ..options(70) };
        let reel = compiled(&input(name), &options);
        let frames = reel.frame_count();
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        let mut forward = Vec::new();
        for frame in 0..frames {
            decoder.decode(frame).unwrap();
            forward.push(frame_values(&decoder));
        }
        let mut backward = FrameDecoder::new(&reel).unwrap();
        for frame in (0..frames).rev() {
            backward.decode(frame).unwrap();
            assert!(frame_values(&backward) == forward[frame], "{name}: frame {frame}");
        }
        for step in [7, 31, 53] {
            for i in 0..frames {
                let frame = i * step % frames;
                decoder.decode(frame).unwrap();
                assert!(frame_values(&decoder) == forward[frame], "{name}: frame {frame}");
            }
        }
    }
}

/// Steps and jumps of any kind, in every preset: each frame equals that of a fresh decoder, and none is
/// refused.
#[test]
fn no_walk_leads_to_a_frame_that_is_refused() {
    let scene = input("a_flag_wind.abc");
    let presets = [
        (Preset::Small, None),
        (Preset::Small, Some(16)),
        (Preset::Fast, None),
        (Preset::Classic, None),
        (Preset::Classic, Some(9)),
        (Preset::Classic, Some(5)),
        (Preset::Classic, Some(64)),
    ];
    for (preset, index_every) in presets {
        let options = Options { preset, index_every, ..options(90) };
        let reel = compiled(&scene, &options);
        let frames = reel.frame_count();
        assert!(frames >= 30);
        let fresh = |frame| {
            let mut decoder = FrameDecoder::new(&reel).unwrap();
            decoder.decode(frame).unwrap();
            frame_digest(&decoder)
        };
        let expected: Vec<u64> = (0..frames).map(fresh).collect();
        for seed in 0..3u64 {
            let mut decoder = FrameDecoder::new(&reel).unwrap();
            let (mut state, mut at, mut forward) = (seed, 0, true);
            for step in 0..500 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(seed | 1);
                let (kind, value) = (state >> 61, (state >> 33) as usize % frames);
                match kind {
                    0 => forward = !forward,
                    1 => at = value,
                    2 => at = (at + value % 7).saturating_sub(3),
                    _ => at = if forward { at + 1 } else { at.saturating_sub(1) },
                }
                at = at.min(frames - 1);
                let at_step = || format!("{preset:?} {index_every:?} seed {seed} step {step}: frame {at}");
                decoder.decode(at).unwrap_or_else(|e| panic!("{}: {e}", at_step()));
                assert!(frame_digest(&decoder) == expected[at], "{}", at_step());
            }
        }
    }
}

#[test]
fn animations_of_any_length() {
    let scene = input("a_flag_wind.abc");
    for last in [0, 1, 2, 3, 15, 16, 17, 18, 31, 33] {
        let reel = compiled(&scene, &options(last));
        assert_eq!(reel.frame_count(), last + 1);
        let report = verify(&scene, &reel, &|_, _| ()).unwrap();
        assert!(report.ok, "{last}: {:#?}", report.failures);
    }
}

/// Groups then use keys of two segments besides their own.
#[test]
fn every_key_may_restart() {
    for (name, preset) in [
        ("a_flag_wind.abc", Preset::Fast),
        ("d_snake_skinned.abc", Preset::Small),
        ("n_robot_bone_parented.abc", Preset::Small),
    ] {
        let scene = input(name);
        let options = Options { preset, index_every: Some(16), jobs: 1, ..Options::default() };
        let reel = compiled(&scene, &options);
        assert_eq!(reel.description().restart, 1);
        let report = verify(&scene, &reel, &|_, _| ()).unwrap();
        assert!(report.ok, "{name}: {:#?}", report.failures);
    }
}

#[test]
fn moving_points_are_fixed_point_and_keys_restart() {
    let scene = input("a_flag_wind.abc");
    for every in [16, 32, 64] {
        let reel = compiled(&scene, &Options { index_every: Some(every), ..options(70) });
        let positions = &reel.description().meshes[0].streams[0];
        assert_eq!(positions.coding, Coding::FixedPoint);
        let alone = |f: &usize| reel.frame_kind(*f) == FrameKind::Index;
        let at: Vec<usize> = (0..reel.frame_count()).filter(alone).collect();
        assert!(at.windows(2).all(|w| w[1] - w[0] <= every), "{at:?}");
    }
}

#[test]
fn bytes_do_not_depend_on_threads() {
    let scene = input("a_flag_wind.abc");
    let bytes = |jobs: usize, memory: u64| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("test.reel");
        let options = Options { jobs, memory, ..options(70) };
        compile(scene.clone(), Vec::new(), &path, &options, &meshreel_check::reopen, &Silent).unwrap();
        std::fs::read(path).unwrap()
    };
    let one = bytes(1, 512 << 20);
    assert!(one == bytes(3, 512 << 20) && one == bytes(8, 1 << 20));
}

/// Changed bytes with corrected checksums give an error or other values, never a panic.
#[test]
fn changed_units_never_panic() {
    let reel = compiled(&input("a_flag_wind.abc"), &options(33));
    let mut file = vec![0; reel.file_bytes() as usize];
    reel.reader().source().read_at(0, &mut file).unwrap();
    let mut at = 1;
    for _ in 0..60 {
        let mut bytes = file.clone();
        at = at * 48_271 % 2_147_483_647u64;
        let chunk = at as usize % reel.chunks().len();
        let entry = reel.chunks()[chunk];
        if entry.size < 8 {
            continue;
        }
        at = at * 48_271 % 2_147_483_647u64;
        let place = entry.offset as usize + 6 + at as usize % (entry.size as usize - 6);
        bytes[place] ^= 1 << (at % 8);
        seal(&mut bytes, chunk);
        let Ok(reel) = Reel::from_source(Arc::new(bytes), &Limits::default()) else {
            continue;
        };
        let Ok(mut decoder) = FrameDecoder::new(&reel) else {
            continue;
        };
        for frame in (0..reel.frame_count()).rev() {
            if decoder.decode(frame).is_ok() {
                frame_values(&decoder);
            }
        }
    }
}

/// Corrects the checksums of a chunk, of the chunk table and of the header.
fn seal(bytes: &mut [u8], chunk: usize) {
    use meshreel_format::{CHUNK_ENTRY_SIZE, HEADER_SIZE, checksum};
    let u64_at = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (count, table) = (u64_at(bytes, 48) as usize, u64_at(bytes, 56) as usize);
    let size_at = |bytes: &[u8], i: usize| {
        let at = table + i * CHUNK_ENTRY_SIZE + 8;
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    };
    let start = HEADER_SIZE + (0..chunk).map(|i| size_at(bytes, i)).sum::<usize>();
    let sum = checksum(&bytes[start..start + size_at(bytes, chunk)]);
    let entry = table + chunk * CHUNK_ENTRY_SIZE;
    bytes[entry..entry + 8].copy_from_slice(&sum.to_le_bytes());
    let sum = checksum(&bytes[table..table + count * CHUNK_ENTRY_SIZE]);
    bytes[96..104].copy_from_slice(&sum.to_le_bytes());
    let sum = checksum(&bytes[..HEADER_SIZE - 8]);
    bytes[HEADER_SIZE - 8..HEADER_SIZE].copy_from_slice(&sum.to_le_bytes());
}

/// Returns a digest of all frames of a file.
fn digest(path: &Path) -> u64 {
    let reel = Reel::open(path, &Limits::default()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let mut all = Vec::new();
    for frame in 0..reel.frame_count() {
        decoder.decode(frame).unwrap();
        all.extend(frame_values(&decoder).iter().flat_map(|word| word.to_le_bytes()));
    }
    checksum(&all)
}

/// Returns the files of a folder with their digests, sorted by name.
fn digests(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let line = |path: &PathBuf| format!("{:016x} {}", digest(path), path.display());
    paths.iter().map(line).collect()
}

const FOLDER: &str = "MESHREEL_TEST_FOLDER";

#[test]
#[ignore = "run by all_of_the_corpus_in_any_order_and_by_plain_code"]
fn print_digests() {
    let folder = std::env::var_os(FOLDER).expect("a folder");
    digests(Path::new(&folder)).iter().for_each(|line| println!("{line}"));
}

/// The first frames of all files of the corpus, in both presets: any order gives the same as forward, and so
/// does the code without vector instructions.
#[test]
fn all_of_the_corpus_in_any_order_and_by_plain_code() {
    let mut inputs = Vec::new();
    if let Some(corpus) = corpus() {
        for folder in ["gen", "gen_hdf5", "third_alembic", "third_imageengine"] {
            let entries = std::fs::read_dir(corpus.join("alembic").join(folder));
            inputs.extend(entries.into_iter().flatten().map(|e| e.unwrap().path()));
        }
        inputs.sort();
        if !is_thorough() {
            inputs = inputs.into_iter().step_by(5).collect();
        }
    }
    let bundled = |name: &&str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/inputs");
        folder.join(name)
    };
    inputs.extend(INPUTS.iter().map(bundled));
    inputs.sort();
    let dir = tempfile::tempdir().unwrap();
    let mut compiled = 0;
    for (i, input) in inputs.iter().enumerate() {
        let Ok((scene, _)) = meshreel_read::open(input, &meshreel_read::ReadOptions::default()) else {
            continue;
        };
        for preset in [Preset::Small, Preset::Fast] {
            let options = Options { preset, effort: 1, tolerance: Tolerance::Relative(1e-3), ..options(36) };
            let path = dir.path().join(format!("{i}.{}.reel", preset.name()));
            // Some have no mesh, or none that can be read.
            if compile(scene.clone(), Vec::new(), &path, &options, &meshreel_check::reopen, &Silent).is_err()
            {
                continue;
            }
            compiled += 1;
            let reel = Reel::open(&path, &Limits::default()).unwrap();
            let mut decoder = FrameDecoder::new(&reel).unwrap();
            let frames = reel.frame_count();
            let mut forward = Vec::new();
            for frame in 0..frames {
                decoder.decode(frame).unwrap();
                forward.push(frame_values(&decoder));
            }
            for i in 0..2 * frames {
                let frame = if i < frames { frames - 1 - i } else { i * 7919 % frames };
                decoder.decode(frame).unwrap();
                let name = input.display();
                assert!(frame_values(&decoder) == forward[frame], "{name}: frame {frame}");
            }
        }
    }
    println!("{compiled} files");
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["layered::print_digests", "--exact", "--ignored", "--nocapture"])
        .env("MESHREEL_SCALAR", "1")
        .env(FOLDER, dir.path())
        .output()
        .unwrap();
    assert!(child.status.success());
    let plain = String::from_utf8(child.stdout).unwrap();
    let plain: Vec<&str> = plain.lines().filter(|l| l.ends_with(".reel")).collect();
    assert_eq!(plain, digests(dir.path()));
}
