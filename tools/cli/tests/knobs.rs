//! Tests that options have their effect: neither more effort nor a looser tolerance ever gives a larger file.

use crate::cli::common::{corpus, run};
use crate::content::build::{alone, holds, mesh};
use meshreel_options::{Options, Tolerance};
use meshreel_scene::Scene;
use meshreel_testkit::is_thorough;
use meshreel_write::alembic;
use serde_json::Value;
use std::path::Path;

/// Returns cloth in wind, `n` × `n` points in triangles, with moving creases.
fn cloth(n: usize, frames: usize) -> Scene {
    let place = |f: usize, i: usize| {
        let (x, y, t) = ((i % n) as f32 / n as f32, (i / n) as f32 / n as f32, f as f32 / 24.0);
        let wave = |k: f32, w: f32| (k * x + 0.6 * k * y - w * t + 0.3 * (k * y).sin()).sin() / k;
        let z = x * (wave(5.0, 3.0) + wave(11.0, 4.1) + 0.7 * wave(23.0, 5.3));
        [x - 0.05 * z * z, y, z]
    };
    let positions: Vec<_> = (0..frames).map(|f| (0..n * n).map(|i| place(f, i)).collect()).collect();
    let mut indices = Vec::new();
    for i in (0..n * (n - 1)).filter(|i| i % n != n - 1) {
        // Rows are split differently, so that it is no grid.
        let (i, n) = (i as i32, n as i32);
        let (a, b, c, d) = (i, i + 1, i + n + 1, i + n);
        indices.extend(match (i / n + i) % 3 {
            0 => [a, b, c, a, c, d],
            _ => [a, b, d, b, c, d],
        });
    }
    let counts = vec![3; indices.len() / 3];
    alone(mesh(positions, vec![counts], vec![indices]))
}

/// Returns boxes that fly apart, each rotating on its own, in one mesh.
fn bricks(count: usize, frames: usize) -> Scene {
    let corner = |f: usize, b: usize, k: usize| {
        let turn = (f as f32 * 0.05) * (1.0 + (b * 7 % 5) as f32);
        let (sin, cos) = turn.sin_cos();
        let [x, y, z] = [k & 1, k >> 1 & 1, k >> 2].map(|v| v as f32 - 0.5);
        let speed = 0.02 * f as f32;
        [
            (b % 4) as f32 * 2.0 + cos * x - sin * y + speed * ((b * 3 % 7) as f32 - 3.0),
            (b / 4) as f32 * 2.0 + sin * x + cos * y + speed * ((b * 5 % 11) as f32 - 5.0),
            0.4 * z + speed * (b % 3) as f32,
        ]
    };
    let positions: Vec<_> =
        (0..frames).map(|f| (0..8 * count).map(|i| corner(f, i / 8, i % 8)).collect()).collect();
    let faces = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let indices: Vec<i32> =
        (0..count as i32).flat_map(|b| faces.map(|face| face.map(|k| 8 * b + k))).flatten().collect();
    alone(mesh(positions, vec![vec![4; 6 * count]], vec![indices]))
}

/// Asserts that no size exceeds the one before by more than half a percent, or a few bytes for the smallest
/// files.
pub fn none_grows(what: &str, sizes: &[u64]) {
    for (i, &size) in sizes.iter().enumerate() {
        let least = sizes[..i].iter().min().copied().unwrap_or(u64::MAX);
        let most = least.saturating_add(least / 200).saturating_add(48);
        assert!(size <= most, "{what}: number {i} of {sizes:?} is larger than one before it");
    }
}

fn bytes(scene: &Scene, options: &Options) -> u64 {
    holds(scene, options).report.file_bytes
}

#[test]
fn more_effort_is_never_larger() {
    for (what, scene, most) in [("cloth", cloth(14, 20), 9), ("bricks", bricks(12, 30), 9)] {
        let with = |effort| Options { effort, ..Options::default() };
        let step = if is_thorough() { 1 } else { 2 };
        let sizes: Vec<u64> = (1..=most).step_by(step).map(|e| bytes(&scene, &with(e))).collect();
        none_grows(what, &sizes);
    }
}

#[test]
fn a_looser_tolerance_is_never_larger() {
    for (what, scene) in [("cloth", cloth(20, 20)), ("bricks", bricks(12, 30))] {
        let with =
            |percent: f64| Options { tolerance: Tolerance::Relative(percent / 100.0), ..Options::default() };
        let percents = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];
        let step = if is_thorough() { 1 } else { 3 };
        let sizes: Vec<u64> = percents.iter().step_by(step).map(|&p| bytes(&scene, &with(p))).collect();
        none_grows(what, &sizes);
    }
}

#[test]
fn where_normals_decide_it_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("cloth.abc");
    alembic::write(&source, &cloth(24, 16), &mut |_, _| ()).unwrap();
    let compile = |options: &[&str]| -> (Value, String) {
        let out = folder.path().join("cloth.reel");
        let all = |more: &[&str]| {
            let fixed = ["compile", source.to_str().unwrap(), "-o", out.to_str().unwrap(), "--effort", "3"];
            run(fixed.iter().chain(options).chain(more)).expect(0)
        };
        (all(&["--json"]).json(), all(&[]).stdout)
    };
    let (json, text) = compile(&["--tolerance", "3%"]);
    let decided = &json["meshes"][0]["normals_decide"];
    assert!(decided["finer"].as_f64().unwrap() > 5.0, "{json}");
    assert!(text.contains("normals within 1°"), "{text}");
    assert!(text.contains("--normal-tolerance 5 makes about"), "{text}");
    // The predicted size with a larger normal tolerance is correct.
    let then = decided["bytes_then"].as_f64().unwrap();
    let (larger, _) = compile(&["--tolerance", "3%", "--normal-tolerance", "5"]);
    let bytes = larger["meshes"][0]["bytes"].as_f64().unwrap();
    assert!((bytes / then - 1.0).abs() < 0.15, "{bytes} {then}");
    let (json, text) = compile(&["--tolerance", "0.001%"]);
    assert!(json["meshes"][0]["normals_decide"].is_null(), "{json}");
    assert!(!text.contains("normals within"), "{text}");
}

/// Returns the size without the source map.
fn compiled(source: &Path, options: &[&str]) -> u64 {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.reel");
    let fixed = ["compile", source.to_str().unwrap(), "-o", out.to_str().unwrap(), "--json"];
    let json = run(fixed.iter().chain(options)).expect(0).json();
    json["file_bytes"].as_u64().unwrap() - json["source_map_bytes"].as_u64().unwrap()
}

#[test]
fn knobs_are_monotone_over_the_corpus() {
    let Some(corpus) = corpus() else { return };
    let files = [
        "alembic/gen/l_substeps_60fps.abc",
        "alembic/gen/j_visibility_particles.abc",
        "alembic/gen/m_scale_shear.abc",
        "alembic/gen/c_bricks_onemesh.abc",
        "alembic/gen/e_metaballs.abc",
        "gltf/Fox.glb",
    ];
    let sample = if is_thorough() { &files[..] } else { &files[..2] };
    for file in sample {
        let source = corpus.join(file);
        let sizes = ["1", "2", "5", "6", "7"].map(|e| compiled(&source, &["--effort", e]));
        none_grows(&format!("effort, {file}"), &sizes);
        let percents = ["0.003%", "0.01%", "0.03%", "0.1%", "1%", "3%"];
        let sizes = percents.map(|p| compiled(&source, &["--tolerance", p]));
        none_grows(&format!("tolerance, {file}"), &sizes);
    }
}
