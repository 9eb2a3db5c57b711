//! `random`: compiles and verifies random scenes, and reduces those whose promise breaks. The generator is
//! that of the fuzz target `promise` and of the tests of the command line.

#[path = "../../fuzz/src/lively.rs"]
mod lively;
#[allow(dead_code)]
#[path = "../../fuzz/src/numbers.rs"]
mod numbers;
#[path = "../../fuzz/src/options.rs"]
mod options;
#[path = "../../fuzz/src/scene.rs"]
mod scene;
#[path = "../../fuzz/src/shape.rs"]
mod shape;
#[allow(dead_code)]
#[path = "../../fuzz/src/trial.rs"]
mod trial;
mod usda;

use anyhow::Context;
use meshreel_options::Options;
use meshreel_scene::{Channel, Scene};
use numbers::Numbers;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use trial::{Outcome, contents, made, outcome};

#[derive(clap::Args)]
pub struct Arguments {
    /// Number of scenes.
    #[arg(long, default_value_t = 20_000)]
    scenes: u64,
    /// Seed; another number gives other scenes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of the first scene: to repeat one that broke, with --scenes 1.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Number of broken scenes that are reduced.
    #[arg(long, default_value_t = 3)]
    reduce: usize,
    /// Folder for these, as .usda: their samples, without the motion between them.
    #[arg(long, default_value = ".")]
    folder: PathBuf,
}

/// The outcomes of all scenes.
#[derive(Default)]
struct Tally {
    holds: u64,
    refused: u64,
    broken: Vec<(u64, String)>,
}

/// Returns `true` if every scene that was compiled holds.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let started = Instant::now();
    let (first, end) = (arguments.first, arguments.first + arguments.scenes);
    let next = AtomicU64::new(first);
    let tally = Mutex::new(Tally::default());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= end {
                return;
            }
            let (scene, options) = made(arguments.seed, number);
            let begun = Instant::now();
            let found = outcome(&scene, &options);
            let took = begun.elapsed().as_secs_f64();
            let Ok(mut tally) = tally.lock() else { return };
            if took > 10.0 {
                println!("scene {number} took {took:.0} s");
            }
            match found {
                Outcome::Holds => tally.holds += 1,
                Outcome::Refused(_) => tally.refused += 1,
                Outcome::Broken(what) => {
                    println!("scene {number}: {what}");
                    tally.broken.push((number, what));
                }
            }
            let done = tally.holds + tally.refused + tally.broken.len() as u64;
            if done.is_multiple_of(1000) {
                println!(
                    "{done} scenes, {} broken, {:.0} s",
                    tally.broken.len(),
                    started.elapsed().as_secs_f64()
                );
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut tally = tally.into_inner().map_err(|_| anyhow::anyhow!("a thread failed"))?;
    tally.broken.sort_unstable();
    println!(
        "seed {}: {} of {} scenes hold, {} were refused, {} are broken; {:.0} s",
        arguments.seed,
        tally.holds,
        arguments.scenes,
        tally.refused,
        tally.broken.len(),
        started.elapsed().as_secs_f64()
    );
    for (number, what) in tally.broken.iter().take(arguments.reduce) {
        let (scene, options) = made(arguments.seed, *number);
        let (scene, options) = reduced(scene, options);
        let path = arguments.folder.join(format!("random_{}_{number}.usda", arguments.seed));
        std::fs::write(&path, usda::text(&scene)?).with_context(|| path.display().to_string())?;
        println!("--seed {} --first {number} --scenes 1: {what}", arguments.seed);
        if let Outcome::Broken(what) = outcome(&scene, &options) {
            println!("reduced, {}: {what}", path.display());
        }
        println!("{}{}", contents(&scene), options.to_text());
    }
    Ok(tally.broken.is_empty())
}

/// Returns the smallest scene and options found that still break the promise.
fn reduced(mut scene: Scene, mut options: Options) -> (Scene, Options) {
    let breaks = |scene: &Scene, options: &Options| matches!(outcome(scene, options), Outcome::Broken(_));
    loop {
        let before = (scene.nodes.len(), contents(&scene));
        let usual = Options { jobs: 1, ..Options::default() };
        for other in [
            usual.clone(),
            Options { tolerance: options.tolerance, ..usual.clone() },
            Options { tolerance: options.tolerance, between: options.between, ..usual.clone() },
            Options { between: options.between, preset: options.preset, method: options.method, ..usual },
        ] {
            if other != options && breaks(&scene, &other) {
                options = other;
                break;
            }
        }
        for smaller in reductions(&scene) {
            let other = smaller(&scene);
            if breaks(&other, &options) {
                scene = other;
            }
        }
        if before == (scene.nodes.len(), contents(&scene)) {
            return (scene, options);
        }
    }
}

/// A way to make a scene smaller.
type Reduction = Box<dyn Fn(&Scene) -> Scene>;

fn reductions(scene: &Scene) -> Vec<Reduction> {
    let mut out: Vec<Reduction> = Vec::new();
    let mut way = |change: fn(&mut Scene, usize), at: usize| {
        out.push(Box::new(move |scene: &Scene| {
            let mut scene = scene.clone();
            change(&mut scene, at);
            scene
        }));
    };
    for node in (0..scene.nodes.len()).rev() {
        way(without_node, node);
        let at = |change: fn(&mut Scene, usize)| change;
        for change in [
            at(|scene, n| scene.nodes.get_mut(n).into_iter().for_each(|n| n.transform = None)),
            at(|scene, n| scene.nodes.get_mut(n).into_iter().for_each(|n| n.visibility = None)),
            at(|scene, n| scene.nodes.get_mut(n).into_iter().for_each(|n| n.mesh = None)),
            at(|scene, n| scene.nodes.get_mut(n).into_iter().for_each(|n| n.camera = None)),
        ] {
            way(change, node);
        }
    }
    for mesh in 0..scene.meshes.len() {
        for change in [
            |scene: &mut Scene, m: usize| scene.meshes[m].normals = None,
            |scene: &mut Scene, m: usize| scene.meshes[m].uvs.clear(),
            |scene: &mut Scene, m: usize| scene.meshes[m].colours.clear(),
            |scene: &mut Scene, m: usize| scene.meshes[m].velocities = None,
            |scene: &mut Scene, m: usize| scene.meshes[m].face_sets.clear(),
            |scene: &mut Scene, m: usize| scene.meshes[m].skin = None,
            |scene: &mut Scene, m: usize| {
                let mesh = &mut scene.meshes[m];
                if mesh.positions.len() > 1 && !mesh.positions.has_own_interpolation() {
                    mesh.positions = halved(&mesh.positions);
                }
            },
        ] {
            way(change, mesh);
        }
    }
    out
}

/// Returns the first half of the samples.
fn halved(channel: &Channel<[f32; 3]>) -> Channel<[f32; 3]> {
    let read = |i: usize| {
        let mut values = Vec::new();
        channel.read(i, &mut values).map(|()| values).unwrap_or_default()
    };
    let half = channel.len().div_ceil(2);
    Channel::in_memory((**channel.sampling()).clone(), (0..half).map(read).collect())
}

/// Removes a node that has no children or instances.
fn without_node(scene: &mut Scene, at: usize) {
    let needed = |n: &meshreel_scene::Node| n.parent == Some(at) || n.instance_of == Some(at);
    if at >= scene.nodes.len() || scene.nodes.iter().any(needed) {
        return;
    }
    scene.nodes.remove(at);
    for node in &mut scene.nodes {
        for link in [&mut node.parent, &mut node.instance_of] {
            *link = link.map(|n| if n > at { n - 1 } else { n });
        }
    }
}
