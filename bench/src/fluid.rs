//! `fluid`: bits that triangles take where they change from frame to frame, beside the ordered indices of
//! meshes whose triangles stay, and meshoptimizer's.

use anyhow::{Context, anyhow};
use meshreel_codec::Corrupt;
use meshreel_codec::entropy::block::{Compressor, Format};
use meshreel_codec::topology::index;
use meshreel_codec::values::changing;
use meshreel_codec::values::changing::{Head, Topology, Triangles, Work};
use meshreel_process::order;
use meshreel_scene::read::{ReadOptions, open};
use meshreel_scene::{Mesh, sample};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Arguments {
    /// Inputs with meshes whose faces change.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Frames that share a coder: one for a key, eight for the last unit of a group.
    #[arg(long, default_value_t = 8)]
    unit: usize,
}

/// Bytes of all frames.
#[derive(Default)]
struct Sum {
    triangles: usize,
    border: usize,
    ordered: [usize; 2],
    meshopt: [usize; 2],
}

pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    println!(
        "{:<32} {:>6} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8}",
        "bits per triangle", "frames", "triangles", "border", "ordered", "+ zstd", "meshopt", "+ zstd"
    );
    for path in &arguments.paths {
        let (scene, _) = open(path, &ReadOptions::default()).with_context(|| path.display().to_string())?;
        for mesh in &scene.meshes {
            let times: Vec<f64> = (0..mesh.positions.len()).map(|i| mesh.positions.time(i)).collect();
            if !sample::fixed_topology(mesh, &times)? {
                measure(mesh, &times, arguments.unit.max(1)).with_context(|| mesh.path.clone())?;
            }
        }
    }
    Ok(true)
}

fn measure(mesh: &Mesh, times: &[f64], unit: usize) -> anyhow::Result<()> {
    let mut sum = Sum::default();
    let mut shrink = Compressor::new(Format::Zstd, 9);
    for times in times.chunks(unit) {
        let frames: Vec<(Vec<[u32; 3]>, usize)> =
            times.iter().map(|&time| triangles(mesh, time)).collect::<anyhow::Result<_>>()?;
        sum.border += border(&frames).map_err(|c| anyhow!("{c}"))?;
        for (triangles, vertices) in &frames {
            sum.triangles += triangles.len();
            let layout = order::layout(triangles, &vec![0; triangles.len()], 1, *vertices);
            let mut ordered = Vec::new();
            index::encode(&layout.indices, &mut ordered);
            let meshopt = meshopt::encode_index_buffer(&layout.indices, *vertices)?;
            for (bytes, out) in [(&ordered, &mut sum.ordered), (&meshopt, &mut sum.meshopt)] {
                let mut small = Vec::new();
                shrink.compress(bytes, &mut small);
                *out = [out[0] + bytes.len(), out[1] + small.len()];
            }
        }
    }
    let bits = |bytes: usize| format!("{:.2}", 8.0 * bytes as f64 / sum.triangles.max(1) as f64);
    println!(
        "{:<32} {:>6} {:>10} {:>8} {:>8} {:>8} {:>8} {:>8}",
        mesh.path,
        times.len(),
        sum.triangles,
        bits(sum.border),
        bits(sum.ordered[0]),
        bits(sum.ordered[1]),
        bits(sum.meshopt[0]),
        bits(sum.meshopt[1]),
    );
    Ok(())
}

/// Faces of a frame, cut into fans; and how many points it has.
fn triangles(mesh: &Mesh, time: f64) -> anyhow::Result<(Vec<[u32; 3]>, usize)> {
    let mut faces = sample::Faces::default();
    sample::faces_at(mesh, time, &mut faces)?;
    let mut points = Vec::new();
    sample::positions_at(mesh, time, &mut points)?;
    let mut rest = faces.indices.as_slice();
    let mut out = Vec::new();
    for &count in &faces.counts {
        let (face, after) =
            rest.split_at_checked(count.max(0) as usize).context("a face beyond the indices")?;
        rest = after;
        for i in 2..face.len() {
            let triangle = [face[0], face[i - 1], face[i]].map(|v| v as u32);
            if triangle.iter().all(|v| (*v as usize) < points.len()) {
                out.push(triangle);
            }
        }
    }
    Ok((out, points.len()))
}

/// Bytes of the triangles of frames that share a coder.
fn border(frames: &[(Vec<[u32; 3]>, usize)]) -> Result<usize, Corrupt> {
    let mut bytes = Vec::new();
    let mut work = Work::default();
    changing::encode(&mut bytes, |writer| {
        for (triangles, points) in frames {
            let point: Vec<u32> = (0..*points as u32).collect();
            let head = Head {
                kind: 1,
                vertices: *points as u32,
                points: *points as u32,
                triangles: triangles.len() as u32,
                ..Head::default()
            };
            let mut indices = vec![0; 3 * triangles.len()];
            let mut out = Triangles { ranges: &mut [[0; 2]], indices: &mut indices, point: &mut [] };
            let mut given = Topology::new(triangles, triangles, &point, *points, &[]);
            writer.triangles(head, &mut work, &mut out, &mut given)?;
        }
        Ok(())
    })?;
    Ok(bytes.len())
}
