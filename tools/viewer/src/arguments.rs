//! The command line of the viewer.

use crate::camera::{Camera, Up};
use crate::looks::DisplayMode;
use crate::style::Style;
use clap::Parser;
use std::path::PathBuf;

/// Returns the first paragraph of clap's error in one line.
pub fn first_paragraph(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().map(str::trim).take_while(|line| !line.is_empty());
    lines.map(|line| line.strip_prefix("error: ").unwrap_or(line)).collect::<Vec<_>>().join(" ")
}

/// Views caches: .reel files as they are, any other input after compiling it in the background.
///
/// Mouse: drag orbits, shift or the right button pans, the wheel zooms. Keys: space plays, arrows step, Home
/// and End, F frames all, T follows what travels, W wire, G grid, C contact shading, B bones, N names, 1 to 9
/// looks. A click selects a mesh or a joint.
#[derive(Parser, Clone)]
#[command(name = "meshreel-view", version)]
pub struct Arguments {
    /// Files; the first one is shown. None: drop some on the window.
    pub files: Vec<PathBuf>,
    /// Draws a picture instead of opening a window.
    #[arg(long, value_name = "OUT.png", requires = "files")]
    pub screenshot: Option<PathBuf>,
    /// The frame of the picture; a fraction lies between two frames.
    #[arg(long, default_value_t = 0.0, requires = "screenshot")]
    pub frame: f64,
    /// Draws frames A to B instead of one, as OUT.0001.png and so on.
    #[arg(long, value_name = "A:B", conflicts_with = "frame", requires = "screenshot", value_parser = range)]
    pub frames: Option<(usize, usize)>,
    /// The look of surfaces.
    #[arg(long, value_enum, default_value_t = DisplayMode::Shaded)]
    pub look: DisplayMode,
    /// The source, for the look "error"; else it is looked for beside the file.
    #[arg(long, value_name = "FILE")]
    pub source: Option<PathBuf>,
    /// Level of detail, 0 the finest.
    #[arg(long, default_value_t = 0)]
    pub level: usize,
    /// Leaves out triangles that cannot be seen.
    #[arg(long)]
    pub visible: bool,
    /// Draws edges on surfaces.
    #[arg(long)]
    pub wire: bool,
    /// Draws the skeleton of a clip over the meshes; a file without meshes shows it anyway.
    #[arg(long)]
    pub bones: bool,
    /// The clip that is shown: its name, or its number from 0.
    #[arg(long, value_name = "NAME|N")]
    pub clip: Option<String>,
    /// The joint whose curves are shown.
    #[arg(long, value_name = "NAME")]
    pub joint: Option<String>,
    /// Tiers of each layer of the clip that are played, the base first; 0: none of that layer.
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub tiers: Vec<usize>,
    /// The panel at the side of the window.
    #[arg(long, value_enum, default_value_t = Panel::Facts)]
    pub panel: Panel,
    /// Position of the camera; with --target. Without it everything is in view.
    #[arg(long, value_name = "X,Y,Z", value_parser = point, requires = "target", allow_hyphen_values = true)]
    pub eye: Option<glam::DVec3>,
    /// The point that the camera looks at.
    #[arg(long, value_name = "X,Y,Z", value_parser = point, requires = "eye", allow_hyphen_values = true)]
    pub target: Option<glam::DVec3>,
    /// Vertical angle of view of the camera, degrees.
    #[arg(long, value_name = "DEGREES")]
    pub angle: Option<f64>,
    /// The camera moves with the middle of what travels, or of the joint that is named; it stands as it
    /// does at the first frame.
    #[arg(long)]
    pub follow: bool,
    /// Shading where surfaces meet, in the looks "shaded" and "colours". Otherwise pictures have it, and a
    /// window if a graphics card draws it.
    #[arg(long, value_enum, value_name = "ON|OFF")]
    pub contact: Option<Switch>,
    /// Draws no grid on the ground.
    #[arg(long)]
    pub no_grid: bool,
    /// z points upwards.
    #[arg(long)]
    pub z_up: bool,
    /// Size of pictures.
    #[arg(long, value_name = "WxH", default_value = "1280x720", value_parser = size)]
    pub size: (u32, u32),
    /// Prints one JSON object about the pictures on standard output.
    #[arg(long, requires = "screenshot")]
    pub json: bool,
}

/// A setting that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    On,
    Off,
}

/// The panel at the side of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Panel {
    /// The content of the file, and timings of the graphics card.
    Facts,
    /// The sizes of frames and meshes, and advice for a smaller file.
    Bytes,
    /// A player that streams the file.
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

impl Arguments {
    /// Returns the style; `contact` says whether there is contact shading without an argument.
    pub fn style(&self, contact: bool) -> Style {
        Style {
            look: self.look,
            wire: self.wire,
            grid: !self.no_grid,
            level: self.level,
            visible: self.visible,
            bones: self.bones,
            contact: self.contact.map_or(contact, |switch| switch == Switch::On),
            selected: None,
        }
    }

    /// Returns the camera of the command line.
    pub fn camera(&self) -> Camera {
        let mut camera = Camera { up: if self.z_up { Up::Z } else { Up::Y }, ..Camera::default() };
        if let Some(degrees) = self.angle {
            camera.angle = degrees.clamp(1.0, 170.0).to_radians();
        }
        if let (Some(eye), Some(target)) = (self.eye, self.target) {
            camera.look_at(eye, target);
        }
        camera
    }
}
