//! The window.

use crate::camera::{Camera, Up};
use crate::document::Document;
use crate::errors::said;
use crate::loading::{Loading, Ready, is_reel};
use crate::looks::Look;
use crate::panels::{self, bytes};
use crate::renderer::{Renderer, Style};
use crate::source::{self, FrameErrors, Opening, Source};
use eframe::egui;
use egui::{Key, RichText};
use std::path::{Path, PathBuf};

pub struct App {
    renderer: Renderer,
    files: Vec<PathBuf>,
    document: Option<Document>,
    loading: Option<Loading>,
    source: SourceState,
    /// How far the frame that is shown is from the source.
    errors: Option<FrameErrors>,
    tab: Tab,
    /// MiB of the heap of a player that streams.
    heap: usize,
    /// What went wrong last, to be read and closed.
    problem: Option<String>,
    camera: Camera,
    style: Style,
    filter: String,
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
    Open(Box<Source>),
}

/// What the panel at the side shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tab {
    Facts,
    Bytes,
    Streaming,
}

/// Which nodes the list shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Only {
    All,
    Animated,
    Static,
}

impl App {
    pub fn new(
        context: &eframe::CreationContext<'_>,
        files: &[PathBuf],
        source: Option<PathBuf>,
        style: Style,
    ) -> anyhow::Result<App> {
        let Some(state) = &context.wgpu_render_state else {
            anyhow::bail!(
                "no graphics adapter: install the driver of your card, or mesa-vulkan-drivers, which needs none"
            );
        };
        let mut app = App {
            renderer: Renderer::new(state.device.clone(), state.queue.clone()),
            files: Vec::new(),
            document: None,
            loading: None,
            source: SourceState::Unknown,
            errors: None,
            tab: Tab::Facts,
            heap: 64,
            problem: None,
            camera: Camera::default(),
            style: Style { grid: true, ..style },
            filter: String::new(),
            only: Only::All,
            picture: None,
            pixels: [0; 2],
            took: 0.0,
        };
        files.iter().for_each(|file| app.add(file));
        if let Some(first) = files.first() {
            app.open(first);
        }
        if let (Some(path), Some(document)) = (source, &app.document) {
            app.source = SourceState::Opening(Opening::start(&path, &document.reel));
        }
        Ok(app)
    }

    fn add(&mut self, path: &Path) {
        if !self.files.iter().any(|known| known == path) {
            self.files.push(path.into());
        }
    }

    fn open(&mut self, path: &Path) {
        self.loading = None;
        if is_reel(path) {
            return self.show(path, Ready { reel: path.into(), folder: None });
        }
        self.loading = Some(Loading::start(path));
    }

    fn show(&mut self, path: &Path, ready: Ready) {
        let (card, shaders) = ((&self.renderer.device, &self.renderer.queue), &mut self.renderer.shaders);
        match Document::open(&ready.reel, path, ready.folder, card, shaders) {
            Ok(document) => {
                let [low, high] = document.bounds;
                self.camera.frame(low, high, self.aspect());
                self.document = Some(document);
                self.style.selected = None;
                self.source = SourceState::Unknown;
                self.errors = None;
                self.renderer.forget();
                self.problem = None;
            }
            Err(error) => self.problem = Some(said(&error)),
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
        if pressed(Key::W) {
            self.style.wire = !self.style.wire;
        }
        if pressed(Key::G) {
            self.style.grid = !self.style.grid;
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
        let last = document.reel.frame_count() - 1;
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

    fn tools(&mut self, ui: &mut egui::Ui) {
        ui.horizontal_wrapped(|ui| {
            let shown = self.document.as_ref().map(|d| d.path.clone());
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let title = shown.as_deref().map_or("drop a file here".into(), name);
            let mut chosen = None;
            egui::ComboBox::from_id_salt("files").selected_text(title).width(220.0).show_ui(ui, |ui| {
                for file in &self.files {
                    if ui.selectable_label(shown.as_deref() == Some(file), name(file)).clicked() {
                        chosen = Some(file.clone());
                    }
                }
            });
            if let Some(file) = chosen {
                self.open(&file);
            }
            ui.separator();
            for look in Look::ALL {
                ui.selectable_value(&mut self.style.look, look, look.name());
            }
            ui.separator();
            ui.toggle_value(&mut self.style.wire, "wire").on_hover_text("W");
            ui.toggle_value(&mut self.style.grid, "grid").on_hover_text("G");
            ui.toggle_value(&mut self.style.visible, "visible only")
                .on_hover_text("leaves out triangles that cannot be seen from outside");
            if let Some(levels) = self.document.as_ref().map(Document::levels).filter(|levels| *levels > 1) {
                let level = egui::DragValue::new(&mut self.style.level).range(0..=levels - 1);
                ui.add(level.prefix("level ")).on_hover_text("level of detail, 0 the finest");
            }
            let z = self.camera.up == Up::Z;
            if ui.selectable_label(z, "z up").clicked() {
                self.camera.up = if z { Up::Y } else { Up::Z };
            }
            if ui.button("frame all").on_hover_text("F").clicked() {
                self.frame_all();
            }
        });
    }

    fn timeline(&mut self, ui: &mut egui::Ui) {
        let Some(document) = &mut self.document else {
            ui.label("");
            return;
        };
        ui.horizontal(|ui| {
            let clock = &mut document.clock;
            if ui.button(if clock.playing { "pause" } else { "play" }).on_hover_text("space").clicked() {
                clock.playing = !clock.playing;
            }
            ui.toggle_value(&mut clock.repeats, "loop").on_hover_text("begin anew at the end");
            let mut backwards = clock.rate < 0.0;
            if ui.toggle_value(&mut backwards, "back").on_hover_text("backwards").changed() {
                clock.rate = -clock.rate;
            }
            ui.add(egui::DragValue::new(&mut clock.rate).speed(0.01).range(-8.0..=8.0).suffix(" ×"));
            ui.toggle_value(&mut clock.interpolates, "between").on_hover_text("moments between frames");
            let mut frame = document.frame();
            let last = document.reel.frame_count() - 1;
            let [start, end] = document.clock.range;
            let from = egui::DragValue::new(&mut document.clock.range[0]).range(0..=end);
            ui.add(from).on_hover_text("first frame that is played");
            let to = egui::DragValue::new(&mut document.clock.range[1]).range(start..=last);
            ui.add(to).on_hover_text("last frame that is played");
            ui.spacing_mut().slider_width = (ui.available_width() - 170.0).max(80.0);
            if ui.add(egui::Slider::new(&mut frame, 0..=last)).changed() {
                document.clock.playing = false;
                document.go_to(frame);
            }
            ui.label(format!("{:.3} s", document.clock.time));
        });
    }

    fn tree(&mut self, ui: &mut egui::Ui) {
        let Some(document) = &mut self.document else { return };
        ui.horizontal(|ui| {
            ui.add(
                egui::TextEdit::singleline(&mut self.filter).hint_text("filter by name").desired_width(120.0),
            );
            for (only, name) in [(Only::All, "all"), (Only::Animated, "animated"), (Only::Static, "static")] {
                ui.selectable_value(&mut self.only, only, name);
            }
        });
        let description = document.reel.description();
        let wanted = self.filter.to_lowercase();
        let moves = |node: usize| {
            let record = &description.nodes[node];
            let mesh = record.mesh.map(|m| &description.meshes[m as usize]);
            record.animated || mesh.is_some_and(|m| m.method != meshreel::record::Method::Static)
        };
        let rows: Vec<usize> = (0..description.nodes.len())
            .filter(|&n| description.nodes[n].path.to_lowercase().contains(&wanted))
            .filter(|&n| match self.only {
                Only::All => true,
                Only::Animated => moves(n),
                Only::Static => !moves(n),
            })
            .collect();
        let height = ui.text_style_height(&egui::TextStyle::Body);
        egui::ScrollArea::both().auto_shrink(false).show_rows(ui, height, rows.len(), |ui, range| {
            for &node in &rows[range] {
                let record = &description.nodes[node];
                let depth = record.path.matches('/').count();
                let name = record.path.rsplit('/').next().unwrap_or(&record.path);
                ui.horizontal(|ui| {
                    ui.add_space(8.0 * depth.saturating_sub(1) as f32);
                    let mut visible = !document.hidden[node];
                    if ui.checkbox(&mut visible, "").changed() {
                        document.hidden[node] = !visible;
                    }
                    let marked = self.style.selected == Some(node);
                    let text =
                        if record.mesh.is_some() { RichText::new(name) } else { RichText::new(name).weak() };
                    if ui.selectable_label(marked, text).clicked() {
                        self.style.selected = (!marked).then_some(node);
                    }
                });
            }
        });
    }

    /// The source, once the look that needs it is chosen; the errors of the frame that is shown.
    fn measure(&mut self) {
        let Some(document) = self.document.as_mut().filter(|_| self.style.look == Look::Error) else {
            return;
        };
        document.clock.interpolates = false;
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
                Some(Ok(source)) => self.source = SourceState::Open(Box::new(source)),
                Some(Err(error)) => {
                    self.problem = Some(error);
                    self.source = SourceState::Asked(opening.path.display().to_string());
                }
                None => {}
            },
            SourceState::Open(source) => {
                let frame = document.frame();
                if self.errors.as_ref().is_none_or(|errors| errors.frame != frame) {
                    match document.show(frame).and_then(|decoder| source.measure(decoder)) {
                        Ok(errors) => self.errors = Some(errors),
                        Err(error) => {
                            self.problem = Some(said(&error));
                            self.style.look = Look::Shaded;
                        }
                    }
                }
            }
        }
    }

    /// What the look "error" says, or asks for.
    fn error_facts(&mut self, ui: &mut egui::Ui) {
        let Some(document) = self.document.as_ref().filter(|_| self.style.look == Look::Error) else {
            return;
        };
        ui.heading("Against the source");
        let mut path = None;
        match &mut self.source {
            SourceState::Asked(text) => {
                ui.label("The source does not lie beside the file. Its path, or drop it here:");
                let typed = ui.text_edit_singleline(text);
                let entered = typed.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
                if ui.button("open").clicked() || entered {
                    path = Some(PathBuf::from(text.clone()));
                }
            }
            SourceState::Unknown => {}
            SourceState::Opening(opening) => {
                ui.label(format!("opening {}", opening.path.display()));
                ui.spinner();
            }
            SourceState::Open(source) => {
                ui.label(source.path.display().to_string());
            }
        }
        if let Some(path) = path {
            self.source = SourceState::Opening(Opening::start(&path, &document.reel));
        }
        if let Some(errors) = &self.errors {
            if let Some(worst) = errors.worst {
                let path = &document.reel.description().nodes[worst.node].path;
                let [x, y, z] = worst.at.to_array();
                ui.label(format!(
                    "largest in frame {}: {:.3e}, {:.0} % of the tolerance",
                    errors.frame,
                    worst.distance,
                    100.0 * worst.part
                ));
                ui.label(format!("{path}, vertex {}, at {x:.3} {y:.3} {z:.3}", worst.vertex));
            }
            if errors.unknown > 0 {
                ui.label(format!(
                    "{} meshes have other points than the source; they are grey",
                    errors.unknown
                ));
            }
        }
    }

    /// What takes the bytes: a bar for each frame, meshes by size.
    fn byte_facts(&mut self, ui: &mut egui::Ui) {
        let Some(document) = &mut self.document else { return };
        let reel = document.reel.clone();
        ui.heading("Frames");
        ui.label(format!("{} of {} are frames", bytes(reel.frame_bytes()), bytes(reel.file_bytes())));
        // A chunk may bring several frames: each has its share.
        let count = reel.frame_count();
        let mut shared = std::collections::HashMap::new();
        (0..count).for_each(|f| *shared.entry(reel.frame_chunk(f).offset).or_insert(0u32) += 1);
        let of = |f: usize| {
            let chunk = reel.frame_chunk(f);
            f64::from(chunk.size) / f64::from(shared[&chunk.offset])
        };
        let (response, painter) =
            ui.allocate_painter(egui::vec2(ui.available_width(), 90.0), egui::Sense::click_and_drag());
        let area = response.rect;
        painter.rect_filled(area, 0.0, egui::Color32::from_gray(20));
        let columns = (area.width() as usize).clamp(1, count);
        let most = (0..count).map(of).fold(1.0, f64::max);
        let now = document.frame();
        for column in 0..columns {
            let frames =
                column * count / columns..((column + 1) * count / columns).max(column * count / columns + 1);
            let height = frames.clone().map(of).fold(0.0, f64::max) / most * f64::from(area.height());
            let x = |c: usize| area.left() + area.width() * c as f32 / columns as f32;
            let colour = if frames.contains(&now) {
                egui::Color32::ORANGE
            } else {
                egui::Color32::from_rgb(80, 130, 190)
            };
            let top = area.bottom() - height as f32;
            let bar = egui::Rect::from_min_max(
                egui::pos2(x(column), top),
                egui::pos2(x(column + 1), area.bottom()),
            );
            painter.rect_filled(bar, 0.0, colour);
        }
        if let Some(at) = response.interact_pointer_pos() {
            let part = ((at.x - area.left()) / area.width()).clamp(0.0, 1.0);
            document.clock.playing = false;
            document.go_to((f64::from(part) * (count - 1) as f64).round() as usize);
        }
        ui.label(format!("frame {now}: {}; largest {}", bytes(of(now) as u64), bytes(most as u64)));
        ui.heading("Meshes");
        ui.label("of the frames that were seen");
        let description = reel.description();
        let mut meshes: Vec<(f64, &str)> = (document.decoder().mesh_bytes().iter().copied())
            .zip(description.meshes.iter().map(|mesh| &mesh.path[..]))
            .collect();
        meshes.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (size, path) in meshes.iter().take(12).filter(|(size, _)| *size > 0.0) {
            ui.label(format!("{}  {path}", bytes(*size as u64)));
        }
    }

    /// What the player does that streams the file: its heap, what of the frames is where, what it took.
    fn streaming_facts(&mut self, ui: &mut egui::Ui) {
        let Some(document) = &mut self.document else { return };
        let mut on = document.streaming.is_some();
        let toggled = ui.checkbox(&mut on, "stream it as a game does").changed();
        let heap = egui::DragValue::new(&mut self.heap).range(1..=4096).prefix("heap ").suffix(" MiB");
        let sized = ui.add(heap);
        let settled = sized.drag_stopped() || sized.lost_focus();
        if (toggled || settled && on)
            && let Err(error) = document.stream(on.then_some(self.heap << 20))
        {
            self.problem = Some(said(&error));
        }
        let frames = document.reel.frame_count() as f32;
        match &document.streaming {
            Some(streaming) => panels::streaming(ui, streaming, frames),
            None => drop(ui.label("Frames are decoded when they are asked for.")),
        }
    }

    fn facts(&self, ui: &mut egui::Ui) {
        let Some(document) = &self.document else { return };
        let description = document.reel.description();
        egui::ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
            ui.heading("File");
            let size = std::fs::metadata(&document.path).map_or(0, |m| m.len());
            ui.label(format!("{} as it lies on the disk", bytes(size)));
            ui.label(format!(
                "{} frames, {} nodes, {} meshes",
                document.reel.frame_count(),
                description.nodes.len(),
                description.meshes.len()
            ));
            if let Some(node) = self.style.selected {
                ui.heading("Selected");
                let record = &description.nodes[node];
                ui.label(&record.path);
                if let Some(mesh) = record.mesh.map(|m| &description.meshes[m as usize]) {
                    ui.label(format!(
                        "{:?}, {} vertices, {} triangles",
                        mesh.method,
                        mesh.vertices,
                        mesh.indices / 3
                    ));
                    for stream in &mesh.streams {
                        let how = if stream.animated { "every frame" } else { "once" };
                        ui.label(format!("{:?} {}: {how}", stream.semantic, stream.set));
                    }
                }
            }
            ui.heading("Graphics card");
            let sizes = document.gpu.sizes();
            ui.label(format!(
                "{} fixed, {} a frame, {} of vertices",
                bytes(sizes.fixed),
                bytes(sizes.slot),
                bytes(sizes.vertices)
            ));
            let update = document.update;
            ui.label(format!("last picture: {} uploaded, {} passes", bytes(update.bytes), update.dispatches));
            ui.label(format!("{:.1} ms of the CPU", self.took));
        });
    }

    fn scene(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        let area = ui.available_rect_before_wrap();
        let response = ui.allocate_rect(area, egui::Sense::click_and_drag());
        let scale = f64::from(area.height().max(1.0));
        let drag = response.drag_delta();
        let (x, y) = (f64::from(drag.x) / scale, f64::from(drag.y) / scale);
        let shift = ui.input(|i| i.modifiers.shift);
        if response.dragged_by(egui::PointerButton::Primary) && !shift {
            self.camera.orbit(x, y);
        } else if response.dragged() {
            self.camera.pan(x, y);
        }
        if response.hovered() {
            let scroll = ui.input(|i| f64::from(i.smooth_scroll_delta().y));
            self.camera.zoom((scroll * 0.004).exp());
        }
        let dots = f64::from(ui.ctx().pixels_per_point());
        if let Some(at) = response.interact_pointer_pos().filter(|_| response.clicked())
            && let Some(document) = &self.document
        {
            let place = (at - area.min) / area.size();
            let aspect = f64::from(area.width() / area.height().max(1.0));
            let [from, along] =
                self.camera.ray(f64::from(2.0 * place.x - 1.0), f64::from(1.0 - 2.0 * place.y), aspect);
            self.style.selected = document.pick(from, along);
        }
        let pixels = [area.width(), area.height()].map(|v| (f64::from(v) * dots).round().max(1.0) as u32);
        let new = pixels != self.pixels;
        self.pixels = pixels;
        let since = std::time::Instant::now();
        let drawn = self.renderer.draw(
            self.document.as_mut(),
            self.errors.as_ref(),
            &self.camera,
            self.style,
            pixels,
        );
        let texture = match drawn {
            Ok(texture) => texture.create_view(&Default::default()),
            Err(error) => {
                self.problem = Some(said(&error));
                self.document = None;
                return;
            }
        };
        self.took += (since.elapsed().as_secs_f64() * 1e3 - self.took) * 0.1;
        if let Some(state) = frame.wgpu_render_state() {
            let mut egui_renderer = state.renderer.write();
            let filter = wgpu::FilterMode::Nearest;
            match self.picture {
                Some(id) if new => {
                    egui_renderer.update_egui_texture_from_wgpu_texture(&state.device, &texture, filter, id);
                }
                Some(_) => {}
                None => {
                    let id = egui_renderer.register_native_texture(&state.device, &texture, filter);
                    self.picture = Some(id);
                }
            }
        }
        if let Some(id) = self.picture {
            let whole = egui::Rect::from_min_max(egui::pos2(0.0, 0.0), egui::pos2(1.0, 1.0));
            ui.painter().image(id, area, whole, egui::Color32::WHITE);
        }
        if let Some(loading) = &self.loading {
            let name = loading.path.display();
            let bar = egui::ProgressBar::new(loading.part()).text(format!("compiling {name}"));
            let place = egui::Rect::from_center_size(area.center(), egui::vec2(area.width() * 0.6, 24.0));
            ui.put(place, bar);
        } else if self.document.is_none() && self.problem.is_none() {
            let text = "drop a .reel, .abc, .glb, .obj or .bvh here";
            ui.painter().text(
                area.center(),
                egui::Align2::CENTER_CENTER,
                text,
                egui::FontId::proportional(20.0),
                egui::Color32::GRAY,
            );
        }
    }
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
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
            let path = self.loading.take().map(|loading| loading.path).unwrap_or_default();
            match result {
                Ok(ready) => self.show(&path, ready),
                Err(error) => self.problem = Some(error),
            }
        }
        self.keys(&ctx);
        let passed = ctx.input(|i| f64::from(i.stable_dt)).min(0.1);
        if let Some(document) = &mut self.document {
            document.tick(passed);
        }
        self.measure();
        egui::Panel::top("tools").show(ui, |ui| self.tools(ui));
        egui::Panel::bottom("time").show(ui, |ui| self.timeline(ui));
        egui::Panel::left("tree").default_size(230.0).show(ui, |ui| self.tree(ui));
        egui::Panel::right("facts").default_size(230.0).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.selectable_value(&mut self.tab, Tab::Facts, "facts");
                ui.selectable_value(&mut self.tab, Tab::Bytes, "bytes");
                ui.selectable_value(&mut self.tab, Tab::Streaming, "streaming");
            });
            self.error_facts(ui);
            match self.tab {
                Tab::Facts => self.facts(ui),
                Tab::Bytes => self.byte_facts(ui),
                Tab::Streaming => self.streaming_facts(ui),
            }
        });
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
        let opening = matches!(self.source, SourceState::Opening(_)) && self.style.look == Look::Error;
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
