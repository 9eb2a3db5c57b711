//! `meshreel-view`: looks at caches, in a window or as pictures.

mod app;
mod camera;
mod clock;
mod document;
mod errors;
mod layout;
mod loading;
mod looks;
mod panels;
mod renderer;
mod source;
mod streaming;

use anyhow::{Context, anyhow, bail};
use camera::{Camera, Up};
use clap::Parser;
use document::Document;
use errors::{Usage, exit_code, said};
use loading::{Loading, Ready, is_reel};
use looks::Look;
use renderer::{Renderer, Style};
use source::{FrameErrors, Opening};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Looks at caches: .reel files as they are, any other input after compiling it in the background.
///
/// Mouse: drag turns, shift or the right button moves, the wheel comes nearer. Keys: space plays, arrows step, Home
/// and End, F frames all, W wire, G grid, 1 to 9 looks. A click selects.
#[derive(Parser)]
#[command(name = "meshreel-view", version)]
struct Arguments {
    /// Files; the first one is shown. None: drop some on the window.
    files: Vec<PathBuf>,
    /// Draws a picture instead of opening a window.
    #[arg(long, value_name = "OUT.png", requires = "files")]
    screenshot: Option<PathBuf>,
    /// The frame of the picture; a part of it is between two.
    #[arg(long, default_value_t = 0.0, requires = "screenshot")]
    frame: f64,
    /// Draws frames A to B instead of one, as OUT.0001.png and so on.
    #[arg(long, value_name = "A:B", conflicts_with = "frame", requires = "screenshot", value_parser = range)]
    frames: Option<(usize, usize)>,
    /// What surfaces show.
    #[arg(long, value_enum, default_value_t = Look::Shaded)]
    look: Look,
    /// The source, for the look "error"; else it is looked for beside the file.
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,
    /// Level of detail, 0 the finest.
    #[arg(long, default_value_t = 0)]
    level: usize,
    /// Leaves out triangles that cannot be seen.
    #[arg(long)]
    visible: bool,
    /// Draws edges on surfaces.
    #[arg(long)]
    wire: bool,
    /// Draws no grid beneath.
    #[arg(long)]
    no_grid: bool,
    /// z points upwards.
    #[arg(long)]
    z_up: bool,
    /// Size of pictures.
    #[arg(long, value_name = "WxH", default_value = "1280x720", value_parser = size)]
    size: (u32, u32),
    /// One JSON object about the pictures on standard output.
    #[arg(long, requires = "screenshot")]
    json: bool,
}

fn range(text: &str) -> Result<(usize, usize), String> {
    let parsed = text.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    parsed.filter(|(a, b)| a <= b).ok_or_else(|| "two frames, as in 0:99".into())
}

fn size(text: &str) -> Result<(u32, u32), String> {
    let parsed: Option<(u32, u32)> =
        text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
    parsed
        .filter(|(w, h)| (1..=8192).contains(w) && (1..=8192).contains(h))
        .ok_or_else(|| "as in 1280x720, at most 8192".into())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.screenshot {
        Some(target) => pictures(&arguments, target),
        None => window(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", said(&error));
            ExitCode::from(exit_code(&error))
        }
    }
}

impl Arguments {
    fn style(&self) -> Style {
        Style {
            look: self.look,
            wire: self.wire,
            grid: !self.no_grid,
            level: self.level,
            visible: self.visible,
            selected: None,
        }
    }
}

fn window(arguments: &Arguments) -> anyhow::Result<()> {
    let displays = ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"];
    if cfg!(target_os = "linux") && displays.iter().all(|name| std::env::var_os(name).is_none()) {
        bail!("no display to open a window on; --screenshot OUT.png draws without one");
    }
    let options = eframe::NativeOptions {
        viewport: eframe::egui::ViewportBuilder::default()
            .with_inner_size([1280.0, 800.0])
            .with_drag_and_drop(true),
        ..Default::default()
    };
    let (files, style, source) = (arguments.files.clone(), arguments.style(), arguments.source.clone());
    let made = move |context: &eframe::CreationContext<'_>| {
        let app = app::App::new(context, &files, source.clone(), style)?;
        Ok(Box::new(app) as Box<dyn eframe::App>)
    };
    eframe::run_native("meshreel", options, Box::new(made)).map_err(|e| anyhow!("{e}"))
}

/// A device without a window.
fn device() -> anyhow::Result<(wgpu::Device, wgpu::Queue)> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()));
    let adapter = adapter.map_err(|_| {
        anyhow!(
            "no graphics adapter: install the driver of your card, or mesa-vulkan-drivers, which needs none"
        )
    })?;
    Ok(pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default()))?)
}

fn pictures(arguments: &Arguments, target: &Path) -> anyhow::Result<()> {
    let file = arguments.files.first().context("which file?")?;
    let (device, queue) = device()?;
    let mut renderer = Renderer::new(device, queue);
    let ready = match is_reel(file) {
        true => Ready { reel: file.clone(), folder: None },
        false => Loading::start(file).wait().map_err(|e| anyhow!("{e}"))?,
    };
    let mut document = Document::open(
        &ready.reel,
        file,
        ready.folder,
        (&renderer.device, &renderer.queue),
        &mut renderer.shaders,
    )?;
    let last = document.reel.frame_count() - 1;
    let moments: Vec<f64> = match arguments.frames {
        Some((first, end)) => (first..=end).map(|f| f as f64).collect(),
        None => vec![arguments.frame],
    };
    if moments.iter().any(|m| !(0.0..=last as f64).contains(m)) {
        bail!(Usage(format!("{}: frames are 0 to {last}", file.display())));
    }
    let (width, height) = arguments.size;
    let mut camera = Camera { up: if arguments.z_up { Up::Z } else { Up::Y }, ..Camera::default() };
    let [low, high] = document.bounds;
    camera.frame(low, high, f64::from(width) / f64::from(height));
    document.clock.playing = false;
    let source = match arguments.look {
        Look::Error => Some(source_of(&document, file, arguments.source.as_deref())?),
        _ => None,
    };
    let mut errors: Option<FrameErrors> = None;
    for &moment in &moments {
        let frame = moment.floor() as usize;
        let (from, to) = (document.reel.time(frame), document.reel.time((frame + 1).min(last)));
        document.clock.time = from + (to - from) * moment.fract();
        if let Some(source) = &source {
            errors = Some(source.measure(document.show(frame)?)?);
        }
        renderer.draw(Some(&mut document), errors.as_ref(), &camera, arguments.style(), [width, height])?;
        let path = match arguments.frames {
            Some(_) => target.with_extension(format!("{frame:04}.png")),
            None => target.to_path_buf(),
        };
        write(&path, width, height, &renderer.pixels()?)?;
    }
    if arguments.json {
        let description = document.reel.description();
        let meshes: Vec<_> = (description.meshes.iter())
            .map(|mesh| serde_json::json!({ "path": mesh.path, "method": format!("{:?}", mesh.method).to_lowercase(), "vertices": mesh.vertices }))
            .collect();
        let frame = moments.last().copied().unwrap_or_default();
        let worst = errors.as_ref().and_then(|errors| errors.worst);
        let worst = worst.map(|w| {
            let path = &description.nodes[w.node].path;
            serde_json::json!({ "distance": w.distance, "of_tolerance": w.part, "path": path, "vertex": w.vertex, "at": w.at.to_array() })
        });
        println!(
            "{}",
            serde_json::json!({ "frame": frame, "look": arguments.look.name(), "size": [width, height], "meshes": meshes, "largest_error": worst })
        );
    }
    Ok(())
}

/// The source that was named, that was compiled, or that lies beside the file.
fn source_of(document: &Document, file: &Path, named: Option<&Path>) -> anyhow::Result<source::Source> {
    let own = (!is_reel(file)).then(|| file.to_path_buf());
    let found = named.map(Path::to_path_buf).or(own).or_else(|| source::beside(file));
    let path = found.ok_or_else(|| {
        Usage(format!("{}: its source does not lie beside it; name it with --source", file.display()))
    })?;
    Opening::start(&path, &document.reel).wait().map_err(|e| anyhow!("{e}"))
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
