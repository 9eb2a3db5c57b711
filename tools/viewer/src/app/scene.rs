//! The picture, and mouse input on it.

use super::state::{App, SourceState};
use crate::clips::{Bone, bones};
use crate::document::Document;
use crate::errors::one_line;
use crate::looks::DisplayMode;
use crate::picking::Ray;
use crate::renderer::SourceComparison;
use eframe::egui;

impl App {
    pub(super) fn scene(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        let area = ui.available_rect_before_wrap();
        let response = ui.allocate_rect(area, egui::Sense::click_and_drag());
        self.mouse(ui, area, &response);
        let dots = f64::from(ui.ctx().pixels_per_point());
        let pixels = [area.width(), area.height()].map(|v| (f64::from(v) * dots).round().max(1.0) as u32);
        let new = pixels != self.pixels;
        self.pixels = pixels;
        if new {
            // A view of everything stays one; panels reach their size in the next picture.
            if self.framed {
                self.frame_all();
            }
            ui.ctx().request_repaint();
        }
        let since = std::time::Instant::now();
        let pose = self.pose_of_source();
        let errors = self.style.look == DisplayMode::Error;
        let beside = SourceComparison {
            frame: self.errors.as_ref(),
            clip: self.clip_errors.as_ref().filter(|_| errors),
            pose: &pose,
        };
        let passed = ui.ctx().input(|i| f64::from(i.stable_dt)).min(0.3);
        let following = self.following.as_mut().map(|following| (following, passed));
        let (camera, document) = (&mut self.camera, self.document.as_mut());
        let drawn = self.renderer.draw(document, beside, camera, following, self.style, pixels);
        let texture = match drawn {
            Ok(texture) => texture.create_view(&Default::default()),
            Err(error) => {
                self.problem = Some(one_line(&error));
                self.document = None;
                return;
            }
        };
        self.cpu_ms += (since.elapsed().as_secs_f64() * 1e3 - self.cpu_ms) * 0.1;
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
        self.draw_names(ui, area);
        self.draw_waiting(ui, area);
    }

    /// Handles the mouse: orbits, pans, zooms, selects.
    fn mouse(&mut self, ui: &egui::Ui, area: egui::Rect, response: &egui::Response) {
        let scale = f64::from(area.height().max(1.0));
        let drag = response.drag_delta();
        let (x, y) = (f64::from(drag.x) / scale, f64::from(drag.y) / scale);
        let shift = ui.input(|i| i.modifiers.shift);
        if response.dragged_by(egui::PointerButton::Primary) && !shift {
            self.camera.orbit(x, y);
        } else if response.dragged() {
            self.camera.pan(x, y);
            self.framed = false;
        }
        if response.hovered() {
            let scroll = ui.input(|i| f64::from(i.smooth_scroll_delta().y));
            self.camera.zoom((scroll * 0.004).exp());
            self.framed &= scroll == 0.0;
        }
        if let Some(at) = response.interact_pointer_pos().filter(|_| response.clicked())
            && let Some(document) = &self.document
        {
            let place = (at - area.min) / area.size();
            let aspect = f64::from(area.width() / area.height().max(1.0));
            let [origin, direction] =
                self.camera.ray(f64::from(2.0 * place.x - 1.0), f64::from(1.0 - 2.0 * place.y), aspect);
            // Joints are on top: a click near one selects that joint.
            let clips = document.clips.as_ref().filter(|_| self.style.bones);
            let clip = self.camera.projection(aspect) * self.camera.view();
            let seen = [f64::from(2.0 * place.x - 1.0), f64::from(1.0 - 2.0 * place.y)];
            let joint = clips.and_then(|clips| clips.pick(clip, aspect, seen, 0.04));
            match (joint, &mut self.document) {
                (Some(joint), Some(Document { clips: Some(clips), .. })) => clips.joint = Some(joint),
                (_, Some(document)) => {
                    if let Some(picking) = &self.picking {
                        let (frame, hidden) = (document.frame(), document.hidden.clone());
                        picking.ask(Ray { frame, origin, direction, hidden });
                    }
                }
                _ => {}
            }
        }
    }

    /// Draws the file that is being opened, with a button to cancel; or a hint that none is open.
    fn draw_waiting(&mut self, ui: &mut egui::Ui, area: egui::Rect) {
        if let Some(loading) = &self.loading {
            let name = loading.path.file_name().unwrap_or_default().display();
            let (what, part) = match loading.compiles {
                true => ("compiling", loading.fraction()),
                false => ("opening", 0.0),
            };
            let bar = egui::ProgressBar::new(part).animate(true).text(format!("{what} {name}"));
            let place = egui::Rect::from_center_size(area.center(), egui::vec2(area.width() * 0.6, 24.0));
            ui.put(place, bar);
            let below = place.center_bottom() + egui::vec2(0.0, 22.0);
            let button = egui::Rect::from_center_size(below, egui::vec2(90.0, 24.0));
            let cancel = ui.put(button, egui::Button::new("Cancel"));
            if cancel.on_hover_text("Does not open it; what was shown stays").clicked() {
                self.loading = None;
            }
        } else if self.document.is_none() && self.problem.is_none() {
            let text = "drop .reel, .abc, .glb, .obj or .bvh files here";
            ui.painter().text(
                area.center(),
                egui::Align2::CENTER_CENTER,
                text,
                egui::FontId::proportional(20.0),
                egui::Color32::GRAY,
            );
        }
    }

    /// Returns the bones of the source's pose, if it is shown beside the decoded one.
    fn pose_of_source(&self) -> Vec<Bone> {
        let SourceState::Open(source, _) = &self.source else { return Vec::new() };
        let document = self.document.as_ref().filter(|_| self.source_pose && self.style.bones);
        let Some((clips, time)) = document.and_then(|d| Some((d.clips.as_ref()?, d.clock.time))) else {
            return Vec::new();
        };
        let Some(joints) = source.joints(clips, time) else { return Vec::new() };
        let place = |joint: usize| joints[joint].translation;
        bones(clips.skeleton(), place, |joint, end| joints[joint].transform_point3(end))
    }

    /// Draws names of joints as far as there is room; that of the selected joint always.
    fn draw_names(&self, ui: &egui::Ui, area: egui::Rect) {
        let Some(clips) = self.document.as_ref().and_then(|document| document.clips.as_ref()) else { return };
        if !self.style.bones {
            return;
        }
        let aspect = f64::from(area.width() / area.height().max(1.0));
        let clip = self.camera.projection(aspect) * self.camera.view();
        let names = &clips.skeleton().names;
        let first = clips.joint.into_iter();
        let others = (0..names.len()).filter(|joint| self.names && clips.joint != Some(*joint));
        let font = egui::FontId::proportional(12.0);
        let mut taken: Vec<egui::Rect> = Vec::new();
        for joint in first.chain(others) {
            let seen = clip * clips.joint_position(joint).extend(1.0);
            if seen.w <= 0.0 {
                continue;
            }
            let (x, y) = ((seen.x / seen.w) as f32, (seen.y / seen.w) as f32);
            let at = area.center() + 0.5 * egui::vec2(x * area.width(), -y * area.height());
            if !area.contains(at) {
                continue;
            }
            let marked = clips.joint == Some(joint);
            let colour =
                if marked { egui::Color32::from_rgb(255, 170, 60) } else { egui::Color32::from_gray(210) };
            let text = ui.painter().layout_no_wrap(names[joint].clone(), font.clone(), colour);
            let place = egui::Rect::from_min_size(at + egui::vec2(7.0, -7.0), text.size());
            if taken.len() > 400 || taken.iter().any(|other| other.intersects(place)) {
                continue;
            }
            taken.push(place);
            let shadow =
                ui.painter().layout_no_wrap(names[joint].clone(), font.clone(), egui::Color32::BLACK);
            let painter = ui.painter_at(area);
            painter.galley(place.min + egui::vec2(1.0, 1.0), shadow, egui::Color32::BLACK);
            painter.galley(place.min, text, colour);
        }
    }
}
