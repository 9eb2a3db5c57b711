//! `meshreel-view`: looks at caches, in a window or as pictures.

mod app;
mod bones;
mod camera;
mod clips;
mod clock;
mod curves;
mod document;
mod errors;
mod floor;
mod layout;
mod loading;
mod looks;
mod meshes;
mod picture;
mod pipelines;
mod renderer;
mod source;
mod streaming;
mod timing;

use anyhow::{anyhow, bail};
use camera::{Camera, Up};
use clap::Parser;
use errors::{exit_code, said};
use looks::Look;
use renderer::Style;
use std::path::PathBuf;
use std::process::ExitCode;

/// Looks at caches: .reel files as they are, any other input after compiling it in the background.
///
/// Mouse: drag turns, shift or the right button moves, the wheel comes nearer. Keys: space plays, arrows step, Home
/// and End, F frames all, W wire, G grid, B bones, N names, 1 to 9 looks. A click selects a mesh or a joint.
#[derive(Parser, Clone)]
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
    /// Draws the skeleton of a clip over the meshes; a file without meshes shows it anyway.
    #[arg(long)]
    bones: bool,
    /// The clip that is shown: its name, or its number from 0.
    #[arg(long, value_name = "NAME|N")]
    clip: Option<String>,
    /// The joint whose curves are shown.
    #[arg(long, value_name = "NAME")]
    joint: Option<String>,
    /// Tiers of each layer of the clip that are played, the base first; 0: none of that layer.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    tiers: Vec<usize>,
    /// The panel at the side of the window.
    #[arg(long, value_enum, default_value_t = Panel::Facts)]
    panel: Panel,
    /// Where the camera stands; with --target. Else all is seen.
    #[arg(long, value_name = "X,Y,Z", value_parser = point, requires = "target", allow_hyphen_values = true)]
    eye: Option<glam::DVec3>,
    /// What the camera looks at.
    #[arg(long, value_name = "X,Y,Z", value_parser = point, requires = "eye", allow_hyphen_values = true)]
    target: Option<glam::DVec3>,
    /// Its vertical angle of view, degrees.
    #[arg(long, value_name = "DEGREES")]
    angle: Option<f64>,
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

/// What the panel at the side shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Panel {
    /// What is in the file, and what the graphics card does.
    Facts,
    /// What takes the bytes, and what would make it smaller.
    Bytes,
    /// A player that streams it.
    Streaming,
    /// Clips, joints, layers and tiers.
    Clips,
}

fn point(text: &str) -> Result<glam::DVec3, String> {
    let numbers: Result<Vec<f64>, _> = text.split(',').map(|part| part.trim().parse()).collect();
    match numbers.as_deref() {
        Ok([x, y, z]) if [x, y, z].iter().all(|v| v.is_finite()) => Ok(glam::DVec3::new(*x, *y, *z)),
        _ => Err("three numbers, as in 1.5,0,-2".into()),
    }
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
        Some(target) => picture::pictures(&arguments, target),
        None => window(arguments),
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
            bones: self.bones,
            selected: None,
        }
    }

    /// The camera, as far as it was asked for.
    fn camera(&self) -> Camera {
        let mut camera = Camera { up: if self.z_up { Up::Z } else { Up::Y }, ..Camera::default() };
        if let Some(degrees) = self.angle {
            camera.angle = degrees.clamp(1.0, 170.0).to_radians();
        }
        if let (Some(eye), Some(target)) = (self.eye, self.target) {
            camera.look(eye, target);
        }
        camera
    }
}

/// The features of graphics cards that are used where they are there.
fn features(adapter: &wgpu::Adapter) -> wgpu::Features {
    adapter.features() & timing::clock()
}

/// What is said where nothing can draw.
const NO_ADAPTER: &str = "no graphics adapter: install the Vulkan driver of your card or, where there is no card, one that \
                          draws on the processor (mesa-vulkan-drivers on Debian, Ubuntu and Fedora, vulkan-swrast on \
                          Arch Linux)";

fn window(arguments: Arguments) -> anyhow::Result<()> {
    let displays = ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"];
    if cfg!(target_os = "linux") && displays.iter().all(|name| std::env::var_os(name).is_none()) {
        bail!("no display to open a window on; --screenshot OUT.png draws without one");
    }
    let mut options = eframe::NativeOptions {
        viewport: eframe::egui::ViewportBuilder::default()
            .with_inner_size([1280.0, 800.0])
            .with_min_inner_size([640.0, 400.0])
            .with_drag_and_drop(true),
        ..Default::default()
    };
    if let eframe::egui_wgpu::WgpuSetup::CreateNew(setup) = &mut options.wgpu_options.wgpu_setup {
        let usual = setup.device_descriptor.clone();
        setup.device_descriptor = std::sync::Arc::new(move |adapter| {
            let mut device = usual(adapter);
            device.required_features |= features(adapter);
            device
        });
    }
    let made = move |context: &eframe::CreationContext<'_>| {
        Ok(Box::new(app::App::new(context, &arguments)?) as Box<dyn eframe::App>)
    };
    let result = eframe::run_native("meshreel", options, Box::new(made));
    result.map_err(|error| match error {
        // What the library says of adapters is a list of what it tried, over many lines.
        eframe::Error::Wgpu(_) => anyhow!(NO_ADAPTER),
        error => anyhow!("{error}"),
    })
}
