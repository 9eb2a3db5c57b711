//! The window.

mod bytes;
mod clips;
mod curves;
mod facts;
mod scene;
mod streaming;
mod tools;

use crate::camera::Camera;
use crate::curves::Curves;
use crate::document::Document;
use crate::errors::said;
use crate::loading::{Loading, Ready, is_reel};
use crate::looks::Look;
use crate::renderer::{Renderer, Style};
use crate::source::{self, ClipErrors, FrameErrors, Measuring, Opening, Source};
use crate::{Arguments, NO_ADAPTER, Panel, picture};
use eframe::egui;
use egui::Key;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub struct App {
    renderer: Renderer,
    files: Vec<PathBuf>,
    document: Option<Document>,
    loading: Option<Loading>,
    /// What the command line says of the first file.
    arguments: Option<Arguments>,
    source: SourceState,
    /// How far the frame that is shown is from the source.
    errors: Option<FrameErrors>,
    clip_errors: Option<(ClipMoment, ClipErrors)>,
    /// Of the joint that is looked at.
    curves: Option<Curves>,
    panel: Panel,
    /// MiB of the heap of a player that streams.
    heap: usize,
    /// What went wrong last, to be read and closed.
    problem: Option<String>,
    camera: Camera,
    style: Style,
    /// Names of joints are shown; the source's pose is shown beside the decoded one.
    names: bool,
    source_pose: bool,
    filter: String,
    joint_filter: String,
    only: Only,
    picture: Option<egui::TextureId>,
    pixels: [u32; 2],
    /// Milliseconds of the last pictures.
    took: f64,
}

/// The source that errors are measured against.
enum SourceState {
    /// Nobody has asked.
    Unknown,
    /// It does not lie beside the file: the user is asked; what was typed.
    Asked(String),
    Opening(Opening),
    Open(Arc<Source>, Measuring),
}

/// A clip, its sample, and the tiers that are played.
#[derive(Clone, PartialEq)]
struct ClipMoment(usize, usize, Vec<usize>);

/// Which nodes the list shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    All,
    Animated,
    Static,
}

impl App {
    pub fn new(context: &eframe::CreationContext<'_>, arguments: &Arguments) -> anyhow::Result<App> {
        let Some(state) = &context.wgpu_render_state else { anyhow::bail!(NO_ADAPTER) };
        let mut app = App {
            renderer: Renderer::new(state.device.clone(), state.queue.clone()),
            files: Vec::new(),
            document: None,
            loading: None,
            arguments: Some(arguments.clone()),
            source: SourceState::Unknown,
            errors: None,
            clip_errors: None,
            curves: None,
            panel: arguments.panel,
            heap: 64,
            problem: None,
            camera: arguments.camera(),
            style: arguments.style(),
            names: false,
            source_pose: false,
            filter: String::new(),
            joint_filter: String::new(),
            only: Only::All,
            picture: None,
            pixels: [0; 2],
            took: 0.0,
        };
        arguments.files.iter().for_each(|file| app.add(file));
        if let Some(first) = arguments.files.first() {
            app.open(first);
        }
        Ok(app)
    }

    fn add(&mut self, path: &Path) {
        if !self.files.iter().any(|known| known == path) {
            self.files.push(path.into());
        }
    }

    /// Begins to open a file; what is shown stays until it is there.
    fn open(&mut self, path: &Path) {
        self.loading = Some(Loading::start(path));
    }

    fn show(&mut self, ready: Ready) {
        let card = (&self.renderer.device, &self.renderer.queue);
        match Document::new(ready, card, &mut self.renderer.shaders) {
            Ok(document) => {
                self.style.bones |= document.meshes.is_none();
                if document.meshes.is_none() && self.panel == Panel::Facts {
                    self.panel = Panel::Clips;
                }
                self.document = Some(document);
                self.style.selected = None;
                self.source = SourceState::Unknown;
                self.errors = None;
                self.clip_errors = None;
                self.curves = None;
                self.renderer.forget();
                self.problem = None;
                self.begin();
            }
            Err(error) => self.problem = Some(said(&error)),
        }
    }

    /// What the command line says of the first file; others are looked at as a whole.
    fn begin(&mut self) {
        let Some(document) = &mut self.document else { return };
        let arguments = self.arguments.take();
        if let Some(arguments) = &arguments {
            if let Err(error) = picture::choose(arguments, document) {
                self.problem = Some(said(&error));
            }
            if let Some(path) = &arguments.source {
                self.source = SourceState::Opening(Opening::start(path, &document.reel));
            }
        }
        if arguments.is_none_or(|arguments| arguments.eye.is_none()) {
            self.frame_all();
        }
    }

    fn aspect(&self) -> f64 {
        if self.pixels[1] == 0 { 1.5 } else { f64::from(self.pixels[0]) / f64::from(self.pixels[1]) }
    }

    fn frame_all(&mut self) {
        if let Some(document) = &self.document {
            let [low, high] = document.bounds;
            self.camera.frame(low, high, self.aspect());
        }
    }

    fn keys(&mut self, ctx: &egui::Context) {
        if ctx.egui_wants_keyboard_input() {
            return;
        }
        let pressed = |key| ctx.input(|i| i.key_pressed(key));
        if pressed(Key::F) {
            self.frame_all();
        }
        let switches = [
            (Key::W, &mut self.style.wire),
            (Key::G, &mut self.style.grid),
            (Key::B, &mut self.style.bones),
            (Key::N, &mut self.names),
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
        for (key, look) in digits.into_iter().zip(Look::ALL) {
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
        // Several strokes may come between two pictures.
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

    /// Whether something is shown that the source is needed for.
    fn wants_source(&self) -> bool {
        let clips = self.document.as_ref().and_then(|document| document.clips.as_ref());
        let looks_at_joint = clips.is_some_and(|clips| clips.joint.is_some()) || self.source_pose;
        self.style.look == Look::Error || clips.is_some() && looks_at_joint
    }

    /// The source of the clip that is shown.
    fn clip_source(&self) -> Option<&meshreel_scene::Clip> {
        let SourceState::Open(source, _) = &self.source else { return None };
        source.clip(self.document.as_ref()?.clips.as_ref()?.chosen())
    }

    /// The source, once something needs it; what is to be measured of the moment that is shown.
    fn measure(&mut self, ctx: &egui::Context) {
        let wants = self.wants_source();
        let Some(document) = self.document.as_mut().filter(|_| wants) else { return };
        let measures = self.style.look == Look::Error;
        if measures {
            document.clock.interpolates = false;
        }
        match &mut self.source {
            SourceState::Unknown => {
                let own = (!is_reel(&document.path)).then(|| document.path.clone());
                self.source = match own.or_else(|| source::beside(&document.path)) {
                    Some(path) => SourceState::Opening(Opening::start(&path, &document.reel)),
                    None => SourceState::Asked(String::new()),
                };
            }
            SourceState::Asked(_) => {}
            SourceState::Opening(opening) => match opening.poll() {
                Some(Ok(source)) => {
                    let (source, ctx) = (Arc::new(source), ctx.clone());
                    let done = move || ctx.request_repaint();
                    let measuring = Measuring::start(source.clone(), &document.reel, done);
                    self.source = SourceState::Open(source, measuring);
                }
                Some(Err(error)) => {
                    self.problem = Some(error);
                    self.source = SourceState::Asked(opening.path.display().to_string());
                }
                None => {}
            },
            SourceState::Open(source, measuring) => {
                if document.meshes.is_some() && measures {
                    match measuring.ask(document.frame()) {
                        Some(Ok(errors)) => self.errors = Some(errors),
                        Some(Err(error)) => {
                            self.problem = Some(error);
                            self.style.look = Look::Shaded;
                        }
                        None => {}
                    }
                }
                if let Some(clips) = document.clips.as_ref().filter(|_| measures) {
                    let sample = document.clip_sample();
                    let now = ClipMoment(clips.chosen(), sample, clips.tiers().to_vec());
                    if self.clip_errors.as_ref().is_none_or(|(of, _)| *of != now) {
                        self.clip_errors = source.measure_clip(clips, sample).map(|errors| (now, errors));
                    }
                }
            }
        }
    }

    /// What was dropped on the window, and what is done in the background.
    fn arrivals(&mut self, ctx: &egui::Context) {
        let dropped: Vec<PathBuf> =
            ctx.input(|i| i.raw.dropped_files.iter().map(|file| file.path().to_path_buf()).collect());
        if let (SourceState::Asked(_), Some(first), Look::Error) =
            (&self.source, dropped.first(), self.style.look)
            && let Some(document) = self.document.as_ref().filter(|_| !is_reel(first))
        {
            self.source = SourceState::Opening(Opening::start(first, &document.reel));
        } else if let Some(first) = dropped.first() {
            dropped.iter().for_each(|file| self.add(file));
            self.open(first);
        }
        if let Some(result) = self.loading.as_ref().and_then(Loading::poll) {
            self.loading = None;
            match result {
                Ok(ready) => self.show(ready),
                Err(error) => self.problem = Some(error),
            }
        }
    }

    /// The panel at the side.
    fn side(&mut self, ui: &mut egui::Ui) {
        ui.horizontal(|ui| {
            let panels = [
                (Panel::Facts, "facts", "What is in the file, and what the graphics card does"),
                (Panel::Bytes, "bytes", "What takes the bytes, and what would make it smaller"),
                (Panel::Streaming, "streaming", "A player that streams the file as a game does"),
                (Panel::Clips, "clips", "Clips, joints and their curves, layers and tiers"),
            ];
            for (panel, name, tip) in panels {
                ui.selectable_value(&mut self.panel, panel, name).on_hover_text(tip);
            }
        });
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            self.error_facts(ui);
            match self.panel {
                Panel::Facts => self.facts(ui),
                Panel::Bytes => self.byte_facts(ui),
                Panel::Streaming => self.streaming_facts(ui),
                Panel::Clips => self.clip_facts(ui),
            }
        });
    }
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        self.arrivals(&ctx);
        self.keys(&ctx);
        let passed = ctx.input(|i| f64::from(i.stable_dt)).min(0.1);
        if let Some(document) = &mut self.document {
            document.tick(passed);
        }
        self.measure(&ctx);
        egui::Panel::top("tools").show(ui, |ui| self.tools(ui));
        egui::Panel::bottom("time").show(ui, |ui| self.timeline(ui));
        if self.shows_curves() {
            egui::Panel::bottom("curves").resizable(true).default_size(190.0).show(ui, |ui| {
                self.curves(ui);
            });
        }
        egui::Panel::left("tree").default_size(230.0).show(ui, |ui| self.tree(ui));
        egui::Panel::right("facts").default_size(250.0).show(ui, |ui| self.side(ui));
        egui::CentralPanel::no_frame().show(ui, |ui| self.scene(ui, frame));
        if let Some(problem) = self.problem.clone() {
            egui::Window::new("That did not work")
                .collapsible(false)
                .anchor(egui::Align2::CENTER_CENTER, [0.0; 2])
                .show(&ctx, |ui| {
                    ui.label(&problem);
                    if ui.button("close").clicked() {
                        self.problem = None;
                    }
                });
        }
        let opening = matches!(self.source, SourceState::Opening(_)) && self.wants_source();
        let streams = self.document.as_ref().is_some_and(|d| d.streaming.is_some());
        let busy = streams
            || opening
            || self.loading.is_some()
            || self.document.as_ref().is_some_and(|d| d.clock.playing);
        if busy {
            ctx.request_repaint();
        }
    }
}
