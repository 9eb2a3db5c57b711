//! `particles`: simulations with ids (a fountain, snow, debris, a cloud), and those of files, compared with
//! zstd at level 19 on quantized differences: positions with the same error, and ids, nothing else.

use crate::dice::Dice;
use crate::{compare, machine, particle_scenes};
use anyhow::Context;
use meshreel::{Limits, Reel};
use meshreel_codec::entropy::block::{BlockFormat, Compressor};
use meshreel_compile::{Silent, compile};
use meshreel_options::{Options, Preset};
use meshreel_read::ReadOptions;
use meshreel_scene::sample::{self, ChannelSelection};
use meshreel_scene::{Mesh, Scene};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Files with particles, in addition to the simulations.
    files: Vec<PathBuf>,
    /// Tolerances as fractions of the diagonal of the whole simulation.
    #[arg(long, value_delimiter = ',', default_value = "1e-3,1e-4")]
    tolerance: Vec<f64>,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    name: String,
    preset: &'static str,
    tolerance: f64,
    frames: usize,
    /// Number of particles in all frames together.
    points: usize,
    /// Bits per particle and frame: of the file, and of zstd.
    bits: f64,
    zstd_bits: f64,
    /// Size of the file divided by zstd's.
    ratio: f64,
    ok: bool,
}

/// The largest size allowed with the presets small and fast, as a fraction of zstd's.
const MAX_RATIOS: [f64; 2] = [0.5, 1.0];

/// Returns `false` if a simulation takes more of zstd's bytes than [`MAX_RATIOS`], or breaks its promise.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let mut rows = Vec::new();
    let simulations = particle_scenes::simulations(&mut Dice::new(1));
    let mut all: Vec<(String, Scene, bool)> =
        simulations.into_iter().map(|(name, scene)| (name.to_string(), scene, true)).collect();
    for path in &arguments.files {
        let (scene, _) = meshreel_read::open(path, &ReadOptions::default())?;
        all.push((path.file_stem().unwrap_or_default().to_string_lossy().into(), scene, false));
    }
    for (name, scene, counts) in &all {
        for &tolerance in &arguments.tolerance {
            for preset in [Preset::Small, Preset::Fast] {
                rows.push(measure(name, scene, tolerance, preset, *counts)?);
            }
        }
    }
    let ok = rows.iter().all(|row| row.ok);
    if arguments.json {
        println!("{}", serde_json::json!({ "machine": machine::name(), "rows": rows, "ok": ok }));
        return Ok(ok);
    }
    println!("{}", machine::name());
    println!("particles     preset  tolerance  frames   points  bits  zstd 19  ratio");
    for row in &rows {
        println!(
            "{:<13} {:<6} {:>10} {:>7} {:>8} {:>5.2} {:>8.2} {:>6.3}{}",
            row.name,
            row.preset,
            row.tolerance,
            row.frames,
            row.points,
            row.bits,
            row.zstd_bits,
            row.ratio,
            if row.ok { "" } else { "  not as it should be" }
        );
    }
    Ok(ok)
}

fn measure(name: &str, scene: &Scene, tolerance: f64, preset: Preset, counts: bool) -> anyhow::Result<Row> {
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("particles.reel");
    let options = Options {
        preset,
        channels: ChannelSelection { normals: false, uvs: false, colours: false, attributes: false },
        ..Options::default()
    };
    let options = compare::with_relative_tolerance(options, scene, tolerance)?;
    let report = compile(scene.clone(), Vec::new(), &target, &options, &meshreel_check::reopen, &Silent)?;
    let reel = Reel::open(&target, &Limits::default())?;
    let found = meshreel_check::verify::verify(scene, &reel, &|_, _| {})?;
    let mut plain = ZstdBaseline::default();
    let mut points = 0;
    for mesh in scene.meshes.iter().filter(|mesh| mesh.particles.is_some()) {
        let own = report.meshes.iter().find(|own| own.path == mesh.path).or(report.meshes.first());
        let allowed = own.context("nothing was compiled")?.tolerance;
        points += plain.add(mesh, allowed, &reel)?;
    }
    let bits = |bytes: f64| 8.0 * bytes / points.max(1) as f64;
    // For files with other content, only what particles take.
    let ours = match scene.meshes.iter().all(|mesh| mesh.particles.is_some()) {
        true => report.file_bytes as f64,
        false => {
            let of = report.meshes.iter().filter(|mesh| mesh.method == "particles");
            of.map(|mesh| mesh.bytes as f64).sum()
        }
    };
    let zstd = plain.bytes() as f64;
    let ratio = ours / zstd.max(1.0);
    Ok(Row {
        name: name.into(),
        preset: preset.name(),
        tolerance,
        frames: reel.frame_count(),
        points,
        bits: bits(ours),
        zstd_bits: bits(zstd),
        ratio,
        ok: found.ok && (!counts || ratio <= MAX_RATIOS[usize::from(preset == Preset::Fast)]),
    })
}

/// Differences between quantized positions of consecutive frames.
#[derive(Default)]
struct ZstdBaseline {
    /// Differences as they are.
    whole: Vec<u8>,
    /// The same, in byte planes for each frame.
    planes: Vec<u8>,
}

impl ZstdBaseline {
    /// Adds all frames; returns the number of particles in them.
    fn add(&mut self, mesh: &Mesh, tolerance: f64, reel: &Reel) -> anyhow::Result<usize> {
        // The half diagonal of a cube of this edge is the allowed error.
        let step = 2.0 * tolerance / 3f64.sqrt();
        let mut before: BTreeMap<u64, [i64; 3]> = BTreeMap::new();
        let (mut points, mut ids, mut sum) = (Vec::new(), Vec::new(), 0);
        for frame in 0..reel.frame_count() {
            let time = reel.time(frame);
            sample::positions_at(mesh, time, &mut points)?;
            sample::ids_at(mesh, time, &mut ids)?;
            if ids.len() != points.len() {
                ids = (0..points.len() as u64).collect();
            }
            let mut now: BTreeMap<u64, [i64; 3]> = BTreeMap::new();
            for (id, p) in ids.iter().zip(&points) {
                now.entry(*id).or_insert_with(|| p.map(|v| (f64::from(v) / step).round() as i64));
            }
            sum += now.len();
            let mut words: Vec<i32> = Vec::new();
            let mut last_id = 0u64;
            // Differences of ids, if they are not those of the previous frame.
            if !now.keys().eq(before.keys()) {
                for &id in now.keys() {
                    words.push((id - last_id) as i32);
                    last_id = id;
                }
            }
            for k in 0..3 {
                let mut newest = 0;
                for (id, p) in &now {
                    let from = before.get(id).map_or(newest, |p| p[k]);
                    let d = p[k] - from;
                    newest = p[k];
                    words.push(((d << 1) ^ (d >> 63)) as i32);
                }
            }
            self.whole.extend(words.iter().flat_map(|w| w.to_le_bytes()));
            for byte in 0..4 {
                self.planes.extend(words.iter().map(|w| w.to_le_bytes()[byte]));
            }
            before = now;
        }
        Ok(sum)
    }

    fn bytes(&self) -> usize {
        let packed = |bytes: &[u8]| {
            let mut out = Vec::new();
            Compressor::new(BlockFormat::Zstd, 19).compress(bytes, &mut out);
            out.len()
        };
        packed(&self.whole).min(packed(&self.planes))
    }
}
