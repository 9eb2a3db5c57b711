//! `choice`: the cost of the automatic choice of method, compared with the best method that can be requested.

use crate::clips;
use crate::compare::with_relative_tolerance;
use anyhow::Context;
use meshreel_compile::{Silent, compile};
use meshreel_options::{MethodChoice, Options};
use meshreel_read::{ReadOptions, open};
use meshreel_scene::Scene;
use meshreel_scene::sample::ChannelSelection;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Inputs with meshes, or folders of them; NAME.obj is moved by NAME.pc2 beside it.
    #[arg(required = true)]
    inputs: Vec<PathBuf>,
    /// Tolerances as fractions of the diagonal of each mesh's bounds over the whole animation.
    #[arg(long, value_delimiter = ',', default_value = "1e-3,1e-4")]
    tolerance: Vec<f64>,
    /// Effort spent on size, 1 to 9.
    #[arg(long, default_value_t = 5)]
    effort: u32,
    /// Allowed excess of a file over the best method, in percent.
    #[arg(long, default_value_t = 3.0)]
    limit: f64,
    /// Leave out files whose meshes take fewer bytes.
    #[arg(long, default_value_t = 4096)]
    least: u64,
}

/// Returns `false` if a choice exceeds the limit.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    println!(
        "{:<32} {:>7} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9} {:>8}",
        "bytes", "eps", "auto", "soft", "rigid", "skinned", "of soft", "of best", "seconds"
    );
    let mut good = true;
    for path in clips::files_with_extensions(&arguments.inputs, &["abc", "obj", "glb", "gltf"])? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let cache = path.with_extension("pc2");
        let options = ReadOptions {
            points: (path.extension().is_some_and(|e| e == "obj") && cache.exists()).then_some(cache),
            ..ReadOptions::default()
        };
        let scene = match open(&path, &options) {
            Ok((scene, _)) if !scene.meshes.is_empty() => scene,
            Ok(_) => continue,
            Err(error) => {
                eprintln!("{name}: {error}");
                continue;
            }
        };
        for &tolerance in &arguments.tolerance {
            good &= compare_choice(&scene, &name, tolerance, arguments)
                .with_context(|| path.display().to_string())?;
        }
    }
    Ok(good)
}

fn compare_choice(scene: &Scene, name: &str, tolerance: f64, arguments: &Arguments) -> anyhow::Result<bool> {
    let folder = tempfile::tempdir()?;
    let size = |method| size(scene, folder.path(), method, tolerance, arguments.effort);
    // Leaves out methods that cannot be requested: faces change, or nothing moves rigidly.
    let asked = [MethodChoice::Soft, MethodChoice::Rigid, MethodChoice::Skinned];
    let asked = asked.map(|method| size(method).ok());
    let Some(best) = asked.iter().flatten().copied().min() else {
        return Ok(true);
    };
    if best < arguments.least {
        return Ok(true);
    }
    let began = Instant::now();
    let auto = size(MethodChoice::Auto)?;
    let seconds = began.elapsed().as_secs_f64();
    let percent = |other: u64| 100.0 * auto as f64 / other as f64;
    let good = percent(best) <= 100.0 + arguments.limit && asked[0].is_none_or(|soft| auto <= soft);
    let [soft, rigid, skinned] = asked.map(|bytes| bytes.map_or("–".into(), |b| b.to_string()));
    let of_soft = asked[0].map_or("–".into(), |soft| format!("{:.1}%", percent(soft)));
    println!(
        "{name:<32} {tolerance:>7.0e} {auto:>10} {soft:>10} {rigid:>10} {skinned:>10} {of_soft:>9} {:>8.1}% {seconds:>8.1}{}",
        percent(best),
        if good { "" } else { "   NOT MET" }
    );
    Ok(good)
}

/// Returns the size of all meshes in bytes, without source maps: tables and names are the same.
fn size(
    scene: &Scene,
    folder: &Path,
    method: MethodChoice,
    tolerance: f64,
    effort: u32,
) -> anyhow::Result<u64> {
    let options = Options {
        channels: ChannelSelection { normals: false, uvs: false, colours: false, attributes: false },
        method,
        effort,
        ..Options::default()
    };
    let options = with_relative_tolerance(options, scene, tolerance)?;
    let report = compile(
        scene.clone(),
        Vec::new(),
        &folder.join("choice.reel"),
        &options,
        &meshreel_check::reopen,
        &Silent,
    )?;
    Ok(report.meshes.iter().map(|mesh| mesh.bytes).sum())
}
