//! `clips`: bytes, error and speed of skeletal clips, one row each, compared with the Animation Compression
//! Library on the same clips.
//!
//! Every clip is compiled to a file, opened by the runtime and verified against its source, read again. Times
//! are those of one thread, in its own processor time if the system provides it, so that a busy machine does
//! not distort them.

use crate::baselines::clip_baselines;
use crate::machine;
use anyhow::{Context, bail};
use meshreel::clip::{Clip, ClipCursor, Query, SkeletonRecord};
use meshreel::{Limits, Reel, Transform};
use meshreel_codec::clip::random_access::{InterpolationWeights, RandomAccess};
use meshreel_codec::simd::isa::Isa;
use meshreel_compile::{Silent, compile};
use meshreel_options::{LayerChoice, Options, Tolerance};
use meshreel_read::ReadOptions;
use meshreel_scene::Scene;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Size of each clip as compressed by ACL, in bytes.
const ACL_CLIP_BYTES: &str = include_str!("../definitions/acl_clips.csv");
/// ACL's nanoseconds for a pose in the caches, a pose not in the caches, and one joint: medians over the 40
/// clips on another, faster machine.
const ACL_NANOSECONDS: [f64; 3] = [301.0, 1242.0, 23.0];

#[derive(clap::Args)]
pub struct Arguments {
    /// BVH files, or folders of them.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Promised error in centimetres.
    #[arg(long, default_value_t = 0.01)]
    tolerance: f64,
    /// Effort spent on size, 1 to 9.
    #[arg(long, default_value_t = 9)]
    effort: u32,
    /// Only every N-th file.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Append the results to bench/record/MACHINE/DATE.csv.
    #[arg(long)]
    record: bool,
}

#[derive(Default)]
struct Row {
    name: String,
    joints: usize,
    samples: usize,
    raw: u64,
    bytes: u64,
    file: u64,
    tolerance: f64,
    max_error: f64,
    mid_error: f64,
    ambiguous: usize,
    /// Time of compression in seconds.
    compress: f64,
    /// Nanoseconds per pose, playing forward at 60 Hz from the streamed form.
    play: f64,
    /// Size of the random-access form in bytes.
    random_access_bytes: u64,
    random_access_error: f64,
    /// Nanoseconds per pose of the random-access form at random times, all of it in the caches.
    pose: f64,
    /// Nanoseconds per pose with nothing of it in the caches, and of copying as many bytes as the pose has.
    cold: [f64; 2],
    /// Nanoseconds per joint of the random-access form at random times, all of it in the caches.
    joint: f64,
    /// Cost of a second layer in bytes, and its limit: two bits per sub-track, and 64 bytes.
    second_layer: [f64; 2],
    ok: bool,
    acl: Option<u64>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let acl = acl_bytes();
    let files = files(&arguments.inputs)?;
    let mut rows = Vec::new();
    for file in files.iter().step_by(arguments.every.max(1)) {
        let mut row = measure(file, arguments).with_context(|| file.display().to_string())?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        row.acl = acl.get(&*name).copied();
        rows.push(row);
    }
    let figures = figures(&rows);
    if arguments.json {
        print_json(&rows, &figures);
    } else {
        print_rows(&rows);
        for (name, figure) in figures {
            println!("{name:24} {figure:.4}");
        }
        print_baselines(&rows, arguments)?;
    }
    if arguments.record {
        let names: Vec<&str> = figures.iter().map(|(name, _)| *name).collect();
        let header = format!("bench,tolerance,effort,{}", names.join(","));
        let values: Vec<String> = figures.iter().map(|(_, v)| v.to_string()).collect();
        let line = format!("clips,{},{},{}", arguments.tolerance, arguments.effort, values.join(","));
        let path = machine::record(&header, &[line])?;
        eprintln!("recorded in {}", path.display());
    }
    Ok(rows.iter().all(|r| r.ok))
}

/// Returns the size of each clip as compressed by ACL, by file name.
fn acl_bytes() -> HashMap<&'static str, u64> {
    ACL_CLIP_BYTES
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let mut columns = line.split(',');
            Some((columns.next()?, columns.next()?.parse().ok()?))
        })
        .collect()
}

/// Returns the figures of all clips together, by name.
fn figures(rows: &[Row]) -> [(&'static str, f64); 25] {
    let (raw, bytes) = (sum(rows, |r| r.raw), sum(rows, |r| r.bytes));
    let with_acl: Vec<&Row> = rows.iter().filter(|r| r.acl.is_some()).collect();
    let acl_bytes: u64 = with_acl.iter().filter_map(|r| r.acl).sum();
    let own: u64 = with_acl.iter().map(|r| r.bytes).sum();
    let seconds: f64 = rows.iter().map(|r| r.compress).sum();
    let median = |f: fn(&Row) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(f).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(0.0)
    };
    let resident = sum(rows, |r| r.random_access_bytes);
    [
        ("raw_bytes", raw as f64),
        ("bytes", bytes as f64),
        ("file_bytes", sum(rows, |r| r.file) as f64),
        ("ratio", raw as f64 / bytes.max(1) as f64),
        ("acl_bytes", acl_bytes as f64),
        ("of_acl", own as f64 / acl_bytes.max(1) as f64),
        ("largest_of_acl", largest(rows, Row::ratio_to_acl)),
        ("max_error", largest(rows, |r| r.max_error)),
        ("mid_error", largest(rows, |r| r.mid_error)),
        ("ambiguous_pairs", sum(rows, |r| r.ambiguous as u64) as f64),
        ("compress_mb_per_s", raw as f64 / 1e6 / seconds),
        ("play_ns_per_pose_median", median(|r| r.play)),
        ("resident_bytes", resident as f64),
        ("resident_ratio", raw as f64 / resident.max(1) as f64),
        ("resident_max_error", largest(rows, |r| r.random_access_error)),
        ("resident_ns_per_pose_median", median(|r| r.pose)),
        ("acl_ns_per_pose_median", ACL_NANOSECONDS[0]),
        ("resident_cold_ns_per_pose_median", median(|r| r.cold[0])),
        ("copied_cold_ns_per_pose_median", median(|r| r.cold[1])),
        ("acl_cold_ns_per_pose_median", ACL_NANOSECONDS[1]),
        ("resident_ns_per_joint_median", median(|r| r.joint)),
        ("acl_ns_per_joint_median", ACL_NANOSECONDS[2]),
        ("second_layer_bytes_median", median(|r| r.second_layer[0])),
        ("second_layer_bytes_most", largest(rows, |r| r.second_layer[0])),
        ("second_layer_of_allowed", largest(rows, |r| r.second_layer[0] / r.second_layer[1])),
    ]
}

fn print_json(rows: &[Row], figures: &[(&str, f64)]) {
    let clips: Vec<_> = rows.iter().map(Row::json).collect();
    let mut value = serde_json::json!({ "clips": clips });
    for &(name, figure) in figures {
        value[name] = figure.into();
    }
    println!("{value}");
}

fn print_rows(rows: &[Row]) {
    println!(
        "{:32} {:>6} {:>7} {:>9} {:>7} {:>9} {:>6} {:>9} {:>9} {:>6} {:>7}",
        "clip", "joints", "samples", "bytes", "ratio", "ACL", "of it", "error", "between", "MB/s", "ns/pose"
    );
    for r in rows {
        println!(
            "{:32} {:6} {:7} {:9} {:7.2} {:>9} {:>6} {:9.6} {:9.6} {:6.2} {:7.0}{}",
            r.name,
            r.joints,
            r.samples,
            r.bytes,
            r.raw as f64 / r.bytes as f64,
            r.acl.map_or("–".into(), |acl| acl.to_string()),
            r.acl.map_or("–".into(), |_| format!("{:.3}", r.ratio_to_acl())),
            r.max_error,
            r.mid_error,
            r.raw as f64 / 1e6 / r.compress,
            r.play,
            if r.ok { "" } else { "  BROKEN" },
        );
    }
}

/// Prints the published figures of other systems, next to those of these rows.
fn print_baselines(rows: &[Row], arguments: &Arguments) -> anyhow::Result<()> {
    println!("\nother systems on the 40 clips of the corpus, beside {} of ours:", rows.len());
    println!("{:20} {:36} {:>8} {:>9} {:>9}", "", "", "asked cm", "ratio", "worst cm");
    println!(
        "{:20} {:36} {:8} {:9.2} {:9.4}",
        "meshreel",
        format!("effort {}, guaranteed", arguments.effort),
        arguments.tolerance,
        sum(rows, |r| r.raw) as f64 / sum(rows, |r| r.bytes).max(1) as f64,
        largest(rows, |r| r.max_error)
    );
    for b in clip_baselines()? {
        println!("{:20} {:36} {:8} {:9.2} {:9.4}", b.system, b.setting, b.tolerance, b.ratio, b.worst);
    }
    Ok(())
}

fn largest(rows: &[Row], f: impl Fn(&Row) -> f64) -> f64 {
    rows.iter().map(f).fold(0.0, f64::max)
}

fn sum(rows: &[Row], f: impl Fn(&Row) -> u64) -> u64 {
    rows.iter().map(f).sum()
}

impl Row {
    /// Returns the size as a fraction of ACL's; 0 if ACL has none.
    fn ratio_to_acl(&self) -> f64 {
        self.acl.map_or(0.0, |acl| self.bytes as f64 / acl as f64)
    }

    fn json(&self) -> serde_json::Value {
        serde_json::json!({
            "name": self.name, "joints": self.joints, "samples": self.samples, "raw_bytes": self.raw,
            "bytes": self.bytes, "file_bytes": self.file, "tolerance": self.tolerance,
            "max_error": self.max_error, "mid_error": self.mid_error, "ambiguous_pairs": self.ambiguous,
            "compress_seconds": self.compress, "play_ns_per_pose": self.play, "ok": self.ok, "acl_bytes": self.acl,
            "second_layer_bytes": self.second_layer[0], "second_layer_allowed": self.second_layer[1],
        })
    }
}

/// Returns all BVH files, by name.
pub fn files(inputs: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    files_with_extensions(inputs, &["bvh"])
}

/// Returns all files, including those in folders that have one of some extensions, by name.
pub fn files_with_extensions(inputs: &[PathBuf], endings: &[&str]) -> anyhow::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for input in inputs {
        if input.is_dir() {
            for entry in std::fs::read_dir(input)? {
                let path = entry?.path();
                let ending = path.extension().unwrap_or_default();
                if endings.iter().any(|e| ending.eq_ignore_ascii_case(e)) {
                    out.push(path);
                }
            }
        } else {
            out.push(input.clone());
        }
    }
    if out.is_empty() {
        bail!("no .{} file there", endings.join(" or ."));
    }
    out.sort();
    Ok(out)
}

fn measure(file: &Path, arguments: &Arguments) -> anyhow::Result<Row> {
    let (scene, remarks) = meshreel_read::open(file, &ReadOptions::default())?;
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("clip.reel");
    let options = Options {
        tolerance: Tolerance::Absolute(arguments.tolerance),
        effort: arguments.effort,
        jobs: 1,
        ..Options::default()
    };
    // On a thread of its own, so that the thread's time is exactly that of the compression.
    let pool = meshreel_compile::clip::one_thread()?;
    let mut compress = f64::MAX;
    for _ in 0..2 {
        let start = pool.install(cpu_seconds);
        let wall = Instant::now();
        pool.install(|| meshreel_compile::clip_chunks(&scene, &options, &mut Vec::new(), &Silent))?;
        let seconds = match (start, pool.install(cpu_seconds)) {
            (Some(a), Some(b)) => b - a,
            _ => wall.elapsed().as_secs_f64(),
        };
        compress = compress.min(seconds);
    }
    let report = compile(scene.clone(), remarks, &target, &options, &meshreel_check::reopen, &Silent)?;
    let clip = &report.clips[0];
    let reel = Reel::open(&target, &Limits::default())?;
    let (again, _) = meshreel_read::open(file, &ReadOptions::default())?;
    let verified = meshreel_check::verify(&again, &reel, &|_, _| {})?;
    let check = verified.clips.first().context("no clip was checked")?;
    let clip_options =
        meshreel_compile::clip::ClipOptions { tolerance: arguments.tolerance, ..Default::default() };
    let in_memory =
        meshreel_compile::clip::random_access::compress(&scene.skeletons[0], &scene.clips[0], &clip_options)?;
    let resident = Clip::from_random_access(&reel.skeletons()?[0], &[&in_memory.bytes])?;
    same_everywhere(&scene.skeletons[0], &in_memory)?;
    Ok(Row {
        name: clip.name.clone(),
        joints: clip.joints,
        samples: clip.samples,
        raw: clip.raw_bytes,
        bytes: clip.bytes,
        file: report.file_bytes,
        tolerance: clip.tolerance,
        max_error: check.max_error,
        mid_error: check.mid_error,
        ambiguous: check.ambiguous_pairs,
        compress,
        play: streamed_pose_ns(&reel)?,
        random_access_bytes: in_memory.bytes.len() as u64,
        random_access_error: in_memory.max_error,
        pose: random_access_pose_ns(&mut resident.cursor())?,
        cold: cold_pose_ns(&reel.skeletons()?[0], &in_memory.bytes)?,
        joint: random_access_joint_ns(&mut resident.cursor())?,
        second_layer: second_layer(&scene, &options, clip.bytes)?,
        ok: verified.ok && in_memory.max_error <= in_memory.tolerance,
        acl: None,
    })
}

/// Returns the bytes that a second layer with the less important half of the joints costs, compared with a
/// clip without layers; and the limit for that.
fn second_layer(scene: &Scene, options: &Options, one: u64) -> anyhow::Result<[f64; 2]> {
    let mut options = options.clone();
    let layer =
        |name: &str, share| LayerChoice { name: name.into(), fraction: share, ..LayerChoice::default() };
    options.clips.layers = vec![layer("base", None), layer("cosmetic", Some(0.5))];
    let (_, clips) = meshreel_compile::clip_chunks(scene, &options, &mut Vec::new(), &Silent)?;
    let two = clips.first().context("no clip in layers")?;
    anyhow::ensure!(two.layers.len() == 2, "{}: not in two layers", two.name);
    let sub_tracks = 3 * two.joints;
    Ok([two.bytes as f64 - one as f64, 64.0 + sub_tracks as f64 / 4.0])
}

/// Returns the nanoseconds per pose, playing forward at 60 Hz; the best of several rounds of whole clips,
/// since one pass is too short for the resolution of the system's processor time.
fn streamed_pose_ns(reel: &Reel) -> anyhow::Result<f64> {
    let clip = &reel.clips()?[0];
    let mut cursor = clip.cursor();
    let mut pose = vec![Transform::IDENTITY; clip.joints()];
    let ticks = (clip.duration() * 60.0) as usize + 1;
    let mut best = f64::MAX;
    for _ in 0..9 {
        let start = Instant::now();
        for tick in 0..ticks {
            let seconds = tick as f64 / 60.0;
            cursor.pose(&Query::new(seconds), &mut pose[..])?;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best * 1e9 / ticks as f64)
}

/// Returns pseudo-random times in seconds, the same in every run.
fn times(clip: &Clip) -> impl Iterator<Item = f64> {
    let duration = clip.duration();
    (0..4000u64).map(move |i| {
        let x = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
        x as f64 / (1u64 << 53) as f64 * duration
    })
}

/// Returns the nanoseconds per pose of the random-access form, the best of several passes.
fn random_access_pose_ns(cursor: &mut ClipCursor) -> anyhow::Result<f64> {
    let clip = cursor.clip().clone();
    let mut pose = vec![Transform::IDENTITY; clip.joints()];
    let mut best = f64::MAX;
    for _ in 0..40 {
        let start = Instant::now();
        for seconds in times(&clip).take(1000) {
            cursor.pose(&Query::new(seconds), &mut pose[..])?;
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(best * 1e9 / 1000.0)
}

/// Returns the nanoseconds per pose of the random-access form with nothing of the clip in the caches,
/// measured as in ACL's own benchmark: with enough copies of the clip for two poses of each to fill 33 MiB,
/// at least 4000, each in its own pages, one pose of each copy in turn. And the nanoseconds per pose to copy
/// from as many places. Medians of several passes.
fn cold_pose_ns(skeleton: &Arc<SkeletonRecord>, bytes: &[u8]) -> anyhow::Result<[f64; 2]> {
    const CACHE: usize = 33 << 20;
    const PAGES: usize = 4000;
    let joints = skeleton.parents.len();
    let copies = (CACHE / (80 * joints)).max(PAGES);
    let mut cursors = (0..copies)
        .map(|_| Ok(Clip::from_random_access(skeleton, &[bytes])?.cursor()))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let clip = cursors[0].clip().clone();
    let raw: Vec<Vec<Transform>> =
        (0..copies).map(|_| vec![Transform::IDENTITY; joints.max(8192 / 40)]).collect();
    let mut pose = vec![Transform::IDENTITY; joints];
    let mut all = [Vec::new(), Vec::new()];
    for seconds in times(&clip).skip(1).take(11) {
        let start = Instant::now();
        for cursor in &mut cursors {
            cursor.pose(&Query::new(seconds), &mut pose[..])?;
        }
        all[0].push(start.elapsed().as_secs_f64() * 1e9 / copies as f64);
        let start = Instant::now();
        for raw in &raw {
            pose.copy_from_slice(&raw[..joints]);
            std::hint::black_box(&mut pose);
        }
        all[1].push(start.elapsed().as_secs_f64() * 1e9 / copies as f64);
    }
    Ok(all.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    }))
}

/// Checks that all instruction sets give the same bits at every sample and between, for poses and single
/// joints.
fn same_everywhere(
    skeleton: &meshreel_scene::Skeleton,
    clip: &meshreel_compile::clip::CompressedClip,
) -> anyhow::Result<()> {
    let resident = RandomAccess::open(&clip.joints.skeleton(), &clip.bytes)?;
    let weights = InterpolationWeights::same(0.4);
    let mut poses = [(); 2].map(|()| resident.layout.constant_pose().to_vec());
    for left in 0..resident.layout.header.samples as usize {
        let right = (left + 1) % resident.layout.header.samples as usize;
        resident.pose_on(Isa::Scalar, left, right, &weights, &mut poses[0][..]);
        for isa in Isa::all() {
            resident.pose_on(isa, left, right, &weights, &mut poses[1][..]);
            anyhow::ensure!(poses[0] == poses[1], "{}: {isa:?} differs", skeleton.name);
            for (joint, pose) in poses[0].iter().enumerate() {
                let mut alone = resident.layout.constant_pose()[joint];
                resident.joint_on(isa, (left, right, 0.4), joint, &mut alone);
                anyhow::ensure!(alone == *pose, "{}: joint {joint} by {isa:?} differs", skeleton.name);
            }
        }
    }
    Ok(())
}

/// Returns the nanoseconds per single joint of the random-access form, the best of several passes.
fn random_access_joint_ns(cursor: &mut ClipCursor) -> anyhow::Result<f64> {
    let clip = cursor.clip().clone();
    let mut best = f64::MAX;
    let mut sum = 0.0;
    for _ in 0..9 {
        let start = Instant::now();
        for (i, seconds) in times(&clip).enumerate() {
            let joint = i * 7 % clip.joints();
            sum += cursor.joint(joint, &Query::new(seconds))?.local.rotation[3];
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    anyhow::ensure!(sum.is_finite(), "a rotation that is none");
    Ok(best * 1e9 / times(&clip).count() as f64)
}

/// Returns the processor time of this thread; `None` on systems other than Linux.
fn cpu_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    Some(nanoseconds / 1e9)
}
