//! The state of the window, and pending background work.

use crate::adapter::NO_ADAPTER;
use crate::arguments::{Arguments, Panel};
use crate::camera::Camera;
use crate::curves::{CurveSampling, Curves};
use crate::document::Document;
use crate::errors::one_line;
use crate::follow::Following;
use crate::loading::{Loading, is_reel};
use crate::looks::DisplayMode;
use crate::picking::{self, Picking};
use crate::picture;
use crate::renderer::Renderer;
use crate::source::{self, ClipErrors, ErrorMeasurement, FrameErrors, SourceFile, SourceOpening};
use crate::style::Style;
use crate::watch::FileWatch;
use eframe::egui;
use egui::Key;
use glam::DVec3;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The window.
pub struct App {
    pub(super) renderer: Renderer,
    pub(super) files: Vec<PathBuf>,
    pub(super) document: Option<Document>,
    pub(super) loading: Option<Loading>,
    /// Tells when the file of `document` is replaced on the disk.
    watch: Option<FileWatch>,
    /// Command line arguments for the first file.
    pub(super) arguments: Option<Arguments>,
    pub(super) source: SourceState,
    /// Errors of the current frame and clip sample against the source.
    pub(super) errors: Option<FrameErrors>,
    pub(super) clip_errors: Option<ClipErrors>,
    /// Finds the node that was clicked.
    pub(super) picking: Option<Picking>,
    /// Curves of the selected joint, and the sampling that will replace them.
    pub(super) curves: Option<Curves>,
    pub(super) sampling: Option<CurveSampling>,
    pub(super) panel: Panel,
    /// Heap of the streaming player in MiB.
    pub(super) heap: usize,
    /// The last error, until it is closed.
    pub(super) problem: Option<String>,
    pub(super) camera: Camera,
    /// `true` while everything stays in view, whatever the size of the window.
    pub(super) framed: bool,
    /// Moves the camera with the content, if that is switched on.
    pub(super) following: Option<Following>,
    pub(super) style: Style,
    /// Shows names of joints; the next flag shows the source's pose beside the decoded one.
    pub(super) names: bool,
    pub(super) source_pose: bool,
    pub(super) filter: String,
    pub(super) joint_filter: String,
    pub(super) node_filter: NodeFilter,
    pub(super) picture: Option<egui::TextureId>,
    pub(super) pixels: [u32; 2],
    /// Smoothed CPU time of the last pictures, in milliseconds.
    pub(super) cpu_ms: f64,
}

/// The source that errors are measured against.
pub(super) enum SourceState {
    /// Not needed so far.
    Unknown,
    /// Not beside the file, so the user is asked; holds the text typed so far.
    AskUser(String),
    Opening(SourceOpening),
    Open(Arc<SourceFile>, ErrorMeasurement),
}

/// The nodes that the list shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeFilter {
    All,
    Animated,
    Static,
}

impl App {
    pub fn new(context: &eframe::CreationContext<'_>, arguments: &Arguments) -> anyhow::Result<App> {
        let Some(state) = &context.wgpu_render_state else { anyhow::bail!(NO_ADAPTER) };
        if !wgpu::Limits::default().check_limits(&state.device.limits()) {
            let name = state.adapter.get_info().name;
            anyhow::bail!("{name} cannot run compute passes, which the viewer needs; {NO_ADAPTER}");
        }
        let mut app = App {
            renderer: Renderer::new(state.device.clone(), state.queue.clone()),
            files: Vec::new(),
            document: None,
            loading: None,
            watch: None,
            arguments: Some(arguments.clone()),
            source: SourceState::Unknown,
            errors: None,
            clip_errors: None,
            picking: None,
            curves: None,
            sampling: None,
            panel: arguments.panel,
            heap: 64,
            problem: None,
            camera: arguments.camera(),
            framed: false,
            following: arguments.follow.then(Following::default),
            // Contact shading costs a processor more than the rest of a picture.
            style: arguments.style(state.adapter.get_info().device_type != wgpu::DeviceType::Cpu),
            names: false,
            source_pose: false,
            filter: String::new(),
            joint_filter: String::new(),
            node_filter: NodeFilter::All,
            picture: None,
            pixels: [0; 2],
            cpu_ms: 0.0,
        };
        arguments.files.iter().for_each(|file| app.add(file));
        if let Some(first) = arguments.files.first() {
            app.open(first);
        }
        Ok(app)
    }

    pub(super) fn add(&mut self, path: &Path) {
        if !self.files.iter().any(|known| known == path) {
            self.files.push(path.into());
        }
    }

    /// Starts opening a file; the current one stays until it is ready. A file that is still being opened is
    /// dropped.
    pub(super) fn open(&mut self, path: &Path) {
        let card = (self.renderer.device.clone(), self.renderer.queue.clone());
        self.loading = Some(Loading::start(path, card));
    }

    pub(super) fn show(&mut self, mut document: Document, ctx: &egui::Context) {
        self.style.bones |= document.meshes.is_none();
        if document.meshes.is_none() && self.panel == Panel::Facts {
            self.panel = Panel::Clips;
        }
        let repaint = |ctx: egui::Context| move || ctx.request_repaint();
        self.picking = None;
        if let Some(meshes) = &mut document.meshes {
            meshes.decode_in_background(repaint(ctx.clone()));
            self.picking = Some(picking::start(&document.reel, repaint(ctx.clone())));
        }
        // A newer version of the file is shown as the older one was.
        let before = self.document.take().filter(|before| before.path == document.path);
        let (resumed, mut problem) = (before.is_some(), None);
        if let Some(before) = before
            && let Err(error) = document.resume(&before)
        {
            problem = Some(one_line(&error));
        }
        self.style.selected = self.style.selected.filter(|&node| resumed && node < document.hidden.len());
        self.document = Some(document);
        self.source = SourceState::Unknown;
        self.errors = None;
        self.clip_errors = None;
        self.curves = None;
        self.sampling = None;
        self.renderer.forget();
        self.problem = problem;
        if !resumed {
            self.apply_arguments();
        }
    }

    /// Applies the command line to the first file; others are shown as a whole.
    pub(super) fn apply_arguments(&mut self) {
        let Some(document) = &mut self.document else { return };
        let arguments = self.arguments.take();
        if let Some(arguments) = &arguments {
            if let Err(error) = picture::choose(arguments, document) {
                self.problem = Some(one_line(&error));
            }
            if let Some(path) = &arguments.source {
                self.source = SourceState::Opening(SourceOpening::start(path, &document.reel));
            }
        }
        if arguments.is_none_or(|arguments| arguments.eye.is_none()) {
            self.frame_all();
        } else if self.following.is_some() {
            self.follow_from_here();
        }
    }

    /// Follows the content from the current moment on, and returns its box.
    fn follow_from_here(&mut self) -> Option<[DVec3; 2]> {
        let document = self.document.as_mut()?;
        let picked = document.picked(self.style);
        // An error is reported when it is drawn.
        let (extent, time) = document.extent(picked).ok()??;
        self.following = Some(Following::start(picked, &extent, time));
        Some(extent.roomy_bounds())
    }

    pub(super) fn toggle_following(&mut self) {
        self.following = self.following.is_none().then(Following::default);
        self.framed = false;
    }

    pub(super) fn aspect(&self) -> f64 {
        if self.pixels[1] == 0 { 1.5 } else { f64::from(self.pixels[0]) / f64::from(self.pixels[1]) }
    }

    pub(super) fn frame_all(&mut self) {
        let followed = if self.following.is_some() { self.follow_from_here() } else { None };
        if let Some(document) = &self.document {
            let [low, high] = followed.unwrap_or(document.bounds);
            self.camera.frame(low, high, self.aspect());
            self.framed = true;
        }
    }

    pub(super) fn handle_keys(&mut self, ctx: &egui::Context) {
        if ctx.egui_wants_keyboard_input() {
            return;
        }
        let pressed = |key| ctx.input(|i| i.key_pressed(key));
        if pressed(Key::F) {
            self.frame_all();
        }
        if pressed(Key::T) {
            self.toggle_following();
        }
        let switches = [
            (Key::W, &mut self.style.wire),
            (Key::G, &mut self.style.grid),
            (Key::B, &mut self.style.bones),
            (Key::N, &mut self.names),
            (Key::C, &mut self.style.contact),
        ];
        for (key, switch) in switches {
            *switch ^= pressed(key);
        }
        let digits = [
            Key::Num1,
            Key::Num2,
            Key::Num3,
            Key::Num4,
            Key::Num5,
            Key::Num6,
            Key::Num7,
            Key::Num8,
            Key::Num9,
        ];
        for (key, look) in digits.into_iter().zip(DisplayMode::ALL) {
            if pressed(key) {
                self.style.look = look;
            }
        }
        let Some(document) = &mut self.document else { return };
        let last = document.frame_count() - 1;
        let frame = document.frame();
        if pressed(Key::Space) {
            document.clock.playing = !document.clock.playing;
        }
        // Several key presses may come between two pictures.
        let times = |key| ctx.input(|i| i.num_presses(key));
        let (ahead, back) = (times(Key::ArrowRight), times(Key::ArrowLeft));
        let moved = (frame + ahead).saturating_sub(back).min(last);
        let wanted = match (pressed(Key::Home), pressed(Key::End)) {
            (true, _) => Some(0),
            (_, true) => Some(last),
            _ => (ahead + back > 0).then_some(moved),
        };
        if let Some(frame) = wanted {
            document.clock.playing = false;
            document.go_to(frame);
        }
    }

    /// `true` if something is shown that needs the source.
    pub(super) fn wants_source(&self) -> bool {
        let clips = self.document.as_ref().and_then(|document| document.clips.as_ref());
        let looks_at_joint = clips.is_some_and(|clips| clips.joint.is_some()) || self.source_pose;
        self.style.look == DisplayMode::Error || clips.is_some() && looks_at_joint
    }

    /// Returns the source, if it has the current clip.
    pub(super) fn clip_source(&self) -> Option<Arc<SourceFile>> {
        let SourceState::Open(source, _) = &self.source else { return None };
        let chosen = self.document.as_ref()?.clips.as_ref()?.chosen();
        source.clip(chosen).is_some().then(|| source.clone())
    }

    /// Opens the source once it is needed, and requests measurements of the current moment.
    pub(super) fn measure(&mut self, ctx: &egui::Context) {
        let wants = self.wants_source();
        let Some(document) = self.document.as_mut().filter(|_| wants) else { return };
        let measures = self.style.look == DisplayMode::Error;
        if measures {
            document.clock.interpolates = false;
        }
        match &mut self.source {
            SourceState::Unknown => {
                let own = (!is_reel(&document.path)).then(|| document.path.clone());
                self.source = match own.or_else(|| source::find_source(&document.path)) {
                    Some(path) => SourceState::Opening(SourceOpening::start(&path, &document.reel)),
                    None => SourceState::AskUser(String::new()),
                };
            }
            SourceState::AskUser(_) => {}
            SourceState::Opening(opening) => match opening.poll() {
                Some(Ok(source)) => {
                    let (source, ctx) = (Arc::new(source), ctx.clone());
                    let done = move || ctx.request_repaint();
                    let measuring = ErrorMeasurement::start(source.clone(), &document.reel, done);
                    self.source = SourceState::Open(source, measuring);
                }
                Some(Err(error)) => {
                    self.problem = Some(error);
                    self.source = SourceState::AskUser(opening.path.display().to_string());
                }
                None => {}
            },
            SourceState::Open(_, measuring) => {
                if document.meshes.is_some() && measures {
                    match measuring.frame(document.frame()) {
                        Some(Ok(errors)) => self.errors = Some(errors),
                        Some(Err(error)) => {
                            self.problem = Some(error);
                            self.style.look = DisplayMode::Shaded;
                        }
                        None => {}
                    }
                }
                if let Some(clips) = document.clips.as_ref().filter(|_| measures) {
                    match measuring.sample(clips, document.clip_sample()) {
                        Some(Ok(errors)) => self.clip_errors = errors,
                        Some(Err(error)) => {
                            self.problem = Some(error);
                            self.style.look = DisplayMode::Shaded;
                        }
                        None => {}
                    }
                }
            }
        }
    }

    /// Handles dropped files, and results of background work.
    pub(super) fn handle_arrivals(&mut self, ctx: &egui::Context) {
        let dropped: Vec<PathBuf> =
            ctx.input(|i| i.raw.dropped_files.iter().map(|file| file.path().to_path_buf()).collect());
        if let (SourceState::AskUser(_), Some(first), DisplayMode::Error) =
            (&self.source, dropped.first(), self.style.look)
            && let Some(document) = self.document.as_ref().filter(|_| !is_reel(first))
        {
            self.source = SourceState::Opening(SourceOpening::start(first, &document.reel));
        } else if let Some(first) = dropped.first() {
            dropped.iter().for_each(|file| self.add(file));
            self.open(first);
        }
        if self.watch.as_ref().is_some_and(FileWatch::take_replaced)
            && let Some(path) = self.document.as_ref().map(|document| document.path.clone())
        {
            self.open(&path);
        }
        match self.picking.as_ref().and_then(Picking::poll) {
            Some(Ok(node)) => self.style.selected = node,
            Some(Err(error)) => self.problem = Some(error),
            None => {}
        }
        if let Some(result) = self.loading.as_ref().and_then(Loading::poll) {
            let stamp = self.loading.take().and_then(|loading| loading.stamp);
            match result {
                Ok(document) => {
                    let waked = ctx.clone();
                    let wake = move || waked.request_repaint();
                    self.watch = Some(FileWatch::start(&document.path, stamp, wake));
                    self.show(*document, ctx);
                }
                Err(error) => self.problem = Some(error),
            }
        }
    }
}
