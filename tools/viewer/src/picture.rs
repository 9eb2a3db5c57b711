//! Draws pictures without a window.

use crate::adapter::{NO_ADAPTER, features};
use crate::arguments::Arguments;
use crate::document::Document;
use crate::errors::Usage;
use crate::follow::Following;
use crate::loading::{Loading, is_reel};
use crate::looks::DisplayMode;
use crate::renderer::{Renderer, SourceComparison};
use crate::source::{self, ClipErrors, FrameErrors, SourceOpening};
use crate::style::Style;
use anyhow::{Context, anyhow, bail};
use std::path::Path;

/// Returns a device without a window.
fn device() -> anyhow::Result<(wgpu::Device, wgpu::Queue)> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()));
    let adapter = adapter.map_err(|_| anyhow!(NO_ADAPTER))?;
    let wanted =
        wgpu::DeviceDescriptor { required_features: features(&adapter), ..wgpu::DeviceDescriptor::default() };
    Ok(pollster::block_on(adapter.request_device(&wanted))?)
}

/// Draws the requested pictures.
pub fn pictures(arguments: &Arguments, target: &Path) -> anyhow::Result<()> {
    let file = arguments.files.first().context("which file?")?;
    let (device, queue) = device()?;
    let mut renderer = Renderer::new(device, queue);
    let card = (renderer.device.clone(), renderer.queue.clone());
    let mut document = *Loading::start(file, card).wait().map_err(|e| anyhow!("{e}"))?;
    choose(arguments, &mut document)?;
    let last = document.frame_count() - 1;
    let moments: Vec<f64> = match arguments.frames {
        Some((first, end)) => (first..=end).map(|f| f as f64).collect(),
        None => vec![arguments.frame],
    };
    if moments.iter().any(|m| !(0.0..=last as f64).contains(m)) {
        bail!(Usage(format!("{}: frames are 0 to {last}", file.display())));
    }
    let (width, height) = arguments.size;
    let mut camera = arguments.camera();
    let style = Style { bones: arguments.bones || document.meshes.is_none(), ..arguments.style(true) };
    // The first frame, which is decoded.
    let picked = document.picked(style);
    let start = if arguments.follow { document.extent(picked)? } else { None };
    if arguments.eye.is_none() {
        let [low, high] = start.map_or(document.bounds, |(extent, _)| extent.roomy_bounds());
        camera.frame(low, high, f64::from(width) / f64::from(height));
    }
    let mut following = start.map(|(extent, time)| Following::start(picked, &extent, time));
    document.clock.playing = false;
    let source = match arguments.look {
        DisplayMode::Error => Some(open_source(&document, file, arguments.source.as_deref())?),
        _ => None,
    };
    let mut errors: Option<FrameErrors> = None;
    let mut clip_errors: Option<ClipErrors> = None;
    for &moment in &moments {
        let frame = moment.floor() as usize;
        let (from, to) = (document.time(frame), document.time((frame + 1).min(last)));
        document.clock.time = from + (to - from) * moment.fract();
        if let Some(source) = &source {
            if let Some(meshes) = &mut document.meshes {
                errors = Some(source.measure(meshes.decode(frame)?)?);
            }
            let sample = document.clip_sample();
            clip_errors = match &document.clips {
                Some(clips) => source.measure_clip(clips.chosen(), clips.played(), sample)?,
                None => None,
            };
        }
        let beside = SourceComparison { frame: errors.as_ref(), clip: clip_errors.as_ref(), pose: &[] };
        let following = following.as_mut().map(|following| (following, f64::INFINITY));
        renderer.draw(Some(&mut document), beside, &mut camera, following, style, [width, height])?;
        let path = match arguments.frames {
            Some(_) => target.with_extension(format!("{frame:04}.png")),
            None => target.to_path_buf(),
        };
        write(&path, width, height, &renderer.pixels()?)?;
    }
    if arguments.json {
        let frame = moments.last().copied().unwrap_or_default();
        println!("{}", json(&document, arguments, frame, errors.as_ref(), clip_errors.as_ref()));
    }
    Ok(())
}

/// Selects the clip, its tiers and the joint of the command line.
pub fn choose(arguments: &Arguments, document: &mut Document) -> anyhow::Result<()> {
    let wants = arguments.clip.is_some() || arguments.joint.is_some() || !arguments.tiers.is_empty();
    let Some(clips) = &document.clips else {
        if wants {
            bail!(Usage(format!("{}: it has no clips", document.path.display())));
        }
        return Ok(());
    };
    if let Some(wanted) = &arguments.clip {
        let named = clips.all().iter().position(|clip| clip.name() == wanted);
        let found = named.or_else(|| wanted.parse().ok().filter(|number| *number < clips.all().len()));
        let Some(found) = found else {
            let names: Vec<&str> = clips.all().iter().map(|clip| clip.name()).collect();
            bail!(Usage(format!("no clip {wanted}; there are {}", names.join(", "))));
        };
        document.choose_clip(found)?;
    }
    let Some(clips) = &mut document.clips else { return Ok(()) };
    clips.set_tiers(&arguments.tiers);
    if let Some(wanted) = &arguments.joint {
        let found = clips.skeleton().names.iter().position(|name| name == wanted);
        clips.joint = Some(found.ok_or_else(|| Usage(format!("no joint is called {wanted}")))?);
    }
    Ok(())
}

fn json(
    document: &Document,
    arguments: &Arguments,
    frame: f64,
    errors: Option<&FrameErrors>,
    clip_errors: Option<&ClipErrors>,
) -> serde_json::Value {
    let description = document.reel.description();
    let meshes: Vec<_> = (description.meshes.iter())
        .map(|mesh| serde_json::json!({ "path": mesh.path, "method": format!("{:?}", mesh.method).to_lowercase(), "vertices": mesh.vertices }))
        .collect();
    let worst = errors.and_then(|errors| errors.worst).map(|w| {
        let path = &description.nodes[w.node].path;
        serde_json::json!({ "distance": w.distance, "of_tolerance": w.fraction, "path": path, "vertex": w.vertex, "at": w.position.to_array() })
    });
    let clip = document.clips.as_ref().map(|clips| {
        let worst = clip_errors.map(|errors| {
            let (distance, part, joint) = errors.worst;
            let joint = clips.skeleton().names.get(joint);
            serde_json::json!({ "distance": distance, "of_tolerance": part, "joint": joint })
        });
        serde_json::json!({ "name": clips.played().name(), "joints": clips.played().joints(), "tiers": clips.tiers(), "largest_error": worst })
    });
    let (width, height) = arguments.size;
    serde_json::json!({ "frame": frame, "look": arguments.look.name(), "size": [width, height], "meshes": meshes, "clip": clip, "largest_error": worst })
}

/// Opens the source: the one that was named or compiled, or the one beside the file.
fn open_source(document: &Document, file: &Path, named: Option<&Path>) -> anyhow::Result<source::SourceFile> {
    let own = (!is_reel(file)).then(|| file.to_path_buf());
    let found = named.map(Path::to_path_buf).or(own).or_else(|| source::find_source(file));
    let path = found.ok_or_else(|| {
        Usage(format!("{}: its source does not lie beside it; name it with --source", file.display()))
    })?;
    SourceOpening::start(&path, &document.reel).wait().map_err(|e| anyhow!("{e}"))
}

fn write(path: &Path, width: u32, height: u32, pixels: &[u8]) -> anyhow::Result<()> {
    let file =
        std::fs::File::create(path).with_context(|| format!("{}: could not be written", path.display()))?;
    let mut encoder = png::Encoder::new(std::io::BufWriter::new(file), width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(pixels)?;
    Ok(())
}
