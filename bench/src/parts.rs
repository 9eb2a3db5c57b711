//! `parts`: rigid parts found in meshes, beside their connected components.

use anyhow::Context;
use meshreel_process::bones as skin;
use meshreel_process::parts::{NO_PART, Request, Trajectories, find_parts};
use meshreel_scene::read::{ReadOptions, open};
use meshreel_scene::{Mesh, Topology};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Inputs with meshes; NAME.obj is moved by NAME.pc2 beside it.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Largest distance from a part's transform, as a part of the diagonal of everything.
    #[arg(long, default_value_t = 1e-5)]
    tolerance: f64,
    /// Do not look at triangles.
    #[arg(long)]
    motion_only: bool,
    /// Find this many bones instead of rigid parts.
    #[arg(long)]
    bones: Option<usize>,
    /// Find as many bones as make the smallest file at the tolerance, with this effort (1 … 9).
    #[arg(long, conflicts_with = "bones")]
    choose: Option<u32>,
    /// Which points the bones are first sought with.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this many frames, from the first.
    #[arg(long)]
    frames: Option<usize>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    println!(
        "{:<40} {:>7} {:>6} {:>7} {:>6} {:>7} {:>7} {:>7} {:>8}",
        "mesh", "points", "frames", "pieces", "parts", "exact", "still", "left", "seconds"
    );
    for path in &arguments.paths {
        let cache = path.with_extension("pc2");
        let obj = path.extension().is_some_and(|e| e == "obj");
        let options =
            ReadOptions { points: (obj && cache.exists()).then_some(cache), ..ReadOptions::default() };
        let (scene, _) = open(path, &options).with_context(|| path.display().to_string())?;
        for mesh in scene.meshes.iter().filter(|m| m.topology == Topology::Homogeneous) {
            measure(mesh, arguments).with_context(|| mesh.path.clone())?;
        }
    }
    Ok(true)
}

fn measure(mesh: &Mesh, arguments: &Arguments) -> anyhow::Result<()> {
    let all = trajectories(mesh, arguments.frames.unwrap_or(usize::MAX))?;
    let tolerance = arguments.tolerance * all.diagonal();
    if let Some(bones) = arguments.bones {
        let request = skin::Request { seed: arguments.seed, ..skin::Request::new(bones, tolerance) };
        let began = Instant::now();
        let skin = skin::find(&all, &request).context("no skin")?;
        print_skin(mesh, &all, &skin, began.elapsed().as_secs_f64());
    } else if let Some(effort) = arguments.choose {
        measure_choice(mesh, &all, tolerance, effort);
    } else {
        measure_parts(mesh, &all, &triangles(mesh)?, tolerance, arguments.motion_only);
    }
    Ok(())
}

/// Where the points of a mesh are in its first frames.
fn trajectories(mesh: &Mesh, frames: usize) -> anyhow::Result<Trajectories> {
    let mut positions = Vec::new();
    let mut sample = Vec::new();
    for i in 0..frames.min(mesh.positions.len()) {
        mesh.positions.read(i, &mut sample)?;
        positions.extend_from_slice(&sample);
    }
    Ok(Trajectories::new(sample.len(), positions))
}

/// Points of the triangles of a mesh, three each; faces are cut into fans.
fn triangles(mesh: &Mesh) -> anyhow::Result<Vec<u32>> {
    let (mut counts, mut corners) = (Vec::new(), Vec::new());
    mesh.face_counts.read(0, &mut counts)?;
    mesh.face_indices.read(0, &mut corners)?;
    let mut triangles = Vec::new();
    let mut start = 0;
    for count in counts {
        let face = &corners[start..start + count as usize];
        for k in 2..face.len() {
            triangles.extend([face[0], face[k - 1], face[k]].map(|p| p as u32));
        }
        start += count as usize;
    }
    Ok(triangles)
}

/// As many bones as make the smallest file, and the bits that they are estimated to take.
fn measure_choice(mesh: &Mesh, all: &Trajectories, tolerance: f64, effort: u32) {
    let began = Instant::now();
    let Some(choice) = skin::choose(all, tolerance, 4, effort, f64::INFINITY, &|_| ()) else {
        println!("{:<40} {:>7} {:>6} no skin", mesh.path, all.points(), all.frames());
        return;
    };
    print_skin(mesh, all, &choice.skin, began.elapsed().as_secs_f64());
    let each = |bits: f64| bits / (all.points() * all.frames()) as f64;
    let bits = choice.bits;
    println!(
        "{:<40} bits per vertex and frame, estimated: {:.3} = bones {:.3} + rest and weights {:.3} + residual {:.3}; without {:.3}",
        "",
        each(bits.total()),
        each(bits.bones),
        each(bits.rest),
        each(bits.residual),
        each(bits.plain)
    );
}

/// Rigid parts, beside the connected components: how many of these are one whole moving part.
fn measure_parts(mesh: &Mesh, all: &Trajectories, triangles: &[u32], tolerance: f64, motion_only: bool) {
    let request = Request {
        tolerance,
        groups: &[],
        pieces_only: false,
        triangles: if motion_only { &[] } else { triangles },
    };
    let began = Instant::now();
    let parts = find_parts(all, &request);
    let seconds = began.elapsed().as_secs_f64();
    let pieces = pieces(all.points(), triangles);
    let mut sizes = vec![0; parts.len()];
    let mut left = 0;
    for &part in &parts.of {
        match part {
            NO_PART => left += 1,
            part => sizes[part as usize] += 1,
        }
    }
    let exact = pieces.values().filter(|members| {
        let part = parts.of[members[0] as usize];
        let one = members.iter().all(|&p| parts.of[p as usize] == part);
        part != NO_PART && part != 0 && one && sizes[part as usize] == members.len()
    });
    println!(
        "{:<40} {:>7} {:>6} {:>7} {:>6} {:>7} {:>7} {:>7} {:>8.2}",
        mesh.path,
        all.points(),
        all.frames(),
        pieces.len(),
        parts.len() - 1,
        exact.count(),
        sizes[0],
        left,
        seconds
    );
}

fn print_skin(mesh: &Mesh, all: &Trajectories, skin: &skin::Skin, seconds: f64) {
    let (mut most, mut over) = (0.0f64, [0; 2]);
    for p in 0..all.points() {
        let off = |f: usize| (skin.place(f, p) - all.at(f, p as u32)).length();
        let worst = (0..all.frames()).map(off).fold(0.0, f64::max) / all.diagonal();
        most = most.max(worst);
        over[0] += usize::from(worst > 1e-4);
        over[1] += usize::from(worst > 1e-3);
    }
    let part = |n: usize| 100.0 * n as f64 / all.points() as f64;
    println!(
        "{:<40} {:>7} {:>6} bones {:>3}  rms {:.2e}  max {:.2e}  over 1e-4: {:.1} %  1e-3: {:.2} %  {:.1} s",
        mesh.path,
        all.points(),
        all.frames(),
        skin.transforms.len(),
        skin.error / all.diagonal(),
        most,
        part(over[0]),
        part(over[1]),
        seconds
    );
}

/// Points of each connected component.
fn pieces(points: usize, triangles: &[u32]) -> BTreeMap<u32, Vec<u32>> {
    let mut of: Vec<u32> = (0..points as u32).collect();
    loop {
        let mut changed = false;
        for t in triangles.chunks_exact(3) {
            let least = t.iter().map(|&p| of[p as usize]).min().unwrap_or(0);
            for &p in t {
                changed |= of[p as usize] != least;
                of[p as usize] = least;
            }
        }
        if !changed {
            break;
        }
    }
    let mut pieces: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (p, piece) in of.into_iter().enumerate() {
        pieces.entry(piece).or_default().push(p as u32);
    }
    pieces
}
