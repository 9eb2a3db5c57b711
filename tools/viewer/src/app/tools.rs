//! The toolbar above, the timeline below, and the list of nodes.

use super::state::{App, NodeFilter};
use crate::camera::Up;
use crate::document::Document;
use crate::looks::DisplayMode;
use eframe::egui;
use egui::RichText;
use std::path::Path;

impl App {
    pub(super) fn tools(&mut self, ui: &mut egui::Ui) {
        ui.horizontal_wrapped(|ui| {
            let shown = self.document.as_ref().map(|d| d.path.clone());
            let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let title = shown.as_deref().map_or("drop a file here".into(), name);
            let mut chosen = None;
            let files = egui::ComboBox::from_id_salt("files").selected_text(title).width(120.0);
            let files = files.show_ui(ui, |ui| {
                for file in &self.files {
                    let entry = ui.selectable_label(shown.as_deref() == Some(file), name(file));
                    if entry.on_hover_text(file.display().to_string()).clicked() {
                        chosen = Some(file.clone());
                    }
                }
            });
            files.response.on_hover_text("The files that were opened or dropped here");
            if let Some(file) = chosen {
                self.open(&file);
            }
            ui.separator();
            for look in DisplayMode::ALL {
                let entry = ui.selectable_value(&mut self.style.look, look, look.name());
                entry.on_hover_text(match DisplayMode::ALL.iter().position(|l| *l == look) {
                    Some(i) if i < 9 => format!("{}. Key {}", look.tip(), i + 1),
                    _ => look.tip().to_string(),
                });
            }
            ui.separator();
            ui.toggle_value(&mut self.style.wire, "wire")
                .on_hover_text("Edges of the triangles that are drawn. Key W");
            ui.toggle_value(&mut self.style.grid, "grid").on_hover_text("A grid below, and the axes. Key G");
            ui.toggle_value(&mut self.style.contact, "contact").on_hover_text(
                "Darkens surfaces where others are near, in the looks shaded and colours. Key C",
            );
            ui.toggle_value(&mut self.style.visible, "visible only")
                .on_hover_text("Leaves out triangles that cannot be seen from outside");
            if self.document.as_ref().is_some_and(|document| document.clips.is_some()) {
                ui.toggle_value(&mut self.style.bones, "bones")
                    .on_hover_text("The skeleton of the clip that is chosen at the right. Key B");
                ui.toggle_value(&mut self.names, "names").on_hover_text("Names of its joints. Key N");
            }
            if let Some(levels) =
                self.document.as_ref().map(Document::lod_levels).filter(|levels| *levels > 1)
            {
                let level = egui::DragValue::new(&mut self.style.level).range(0..=levels - 1);
                ui.add(level.prefix("level ")).on_hover_text("Level of detail, 0 the mesh itself");
            }
            let z = self.camera.up == Up::Z;
            let turned = ui.selectable_label(z, "z up");
            if turned.on_hover_text("The z axis points upwards, else y").clicked() {
                self.camera.up = if z { Up::Y } else { Up::Z };
            }
            if ui.button("frame all").on_hover_text("Looks at all of it. Key F").clicked() {
                self.frame_all();
            }
            let follows = ui.selectable_label(self.following.is_some(), "follow");
            let tip = "The camera moves with the middle of what travels, or of what is picked. Key T";
            if follows.on_hover_text(tip).clicked() {
                self.toggle_following();
            }
        });
    }

    pub(super) fn timeline(&mut self, ui: &mut egui::Ui) {
        let Some(document) = &mut self.document else {
            ui.label("");
            return;
        };
        ui.horizontal(|ui| {
            let clock = &mut document.clock;
            let name = if clock.playing { "pause" } else { "play" };
            if ui.button(name).on_hover_text("Key space; the arrows step").clicked() {
                clock.playing = !clock.playing;
            }
            ui.toggle_value(&mut clock.repeats, "loop").on_hover_text("Begins anew at the end");
            let mut backwards = clock.rate < 0.0;
            if ui.toggle_value(&mut backwards, "back").on_hover_text("Plays backwards").changed() {
                clock.rate = -clock.rate;
            }
            let rate = egui::DragValue::new(&mut clock.rate).speed(0.01).range(-8.0..=8.0).suffix(" ×");
            ui.add(rate).on_hover_text("How fast it plays; drag or type");
            ui.toggle_value(&mut clock.interpolates, "interpolate")
                .on_hover_text("Shows moments between frames; off: frames as they are in the file");
            let mut frame = document.frame();
            let last = document.frame_count() - 1;
            let [start, end] = document.clock.range;
            let from = egui::DragValue::new(&mut document.clock.range[0]).range(0..=end);
            ui.add(from).on_hover_text("First frame that is played");
            let to = egui::DragValue::new(&mut document.clock.range[1]).range(start..=last);
            ui.add(to).on_hover_text("Last frame that is played");
            ui.spacing_mut().slider_width = (ui.available_width() - 170.0).max(80.0);
            let slider = ui.add(egui::Slider::new(&mut frame, 0..=last));
            if slider.on_hover_text("The frame that is shown").changed() {
                document.clock.playing = false;
                document.go_to(frame);
            }
            ui.label(format!("{:.3} s", document.clock.time));
        });
    }

    pub(super) fn tree(&mut self, ui: &mut egui::Ui) {
        let Some(document) = &mut self.document else { return };
        ui.horizontal(|ui| {
            ui.add(
                egui::TextEdit::singleline(&mut self.filter).hint_text("filter by name").desired_width(90.0),
            )
            .on_hover_text("Only nodes whose path has this in it");
            let kinds = [
                (NodeFilter::All, "all", "All nodes"),
                (NodeFilter::Animated, "animated", "Only what moves or changes"),
                (NodeFilter::Static, "static", "Only what stands still"),
            ];
            for (only, name, tip) in kinds {
                ui.selectable_value(&mut self.node_filter, only, name).on_hover_text(tip);
            }
        });
        let description = document.reel.description();
        let wanted = self.filter.to_lowercase();
        let moves = |node: usize| {
            let record = &description.nodes[node];
            let mesh = record.mesh.map(|m| &description.meshes[m as usize]);
            record.animated || mesh.is_some_and(|m| m.method != meshreel::raw::record::Method::Static)
        };
        let rows: Vec<usize> = (0..description.nodes.len())
            .filter(|&n| description.nodes[n].path.to_lowercase().contains(&wanted))
            .filter(|&n| match self.node_filter {
                NodeFilter::All => true,
                NodeFilter::Animated => moves(n),
                NodeFilter::Static => !moves(n),
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
                    if ui.checkbox(&mut visible, "").on_hover_text("Is drawn").changed() {
                        document.hidden[node] = !visible;
                    }
                    let marked = self.style.selected == Some(node);
                    let text =
                        if record.mesh.is_some() { RichText::new(name) } else { RichText::new(name).weak() };
                    if ui.selectable_label(marked, text).on_hover_text(&record.path).clicked() {
                        self.style.selected = (!marked).then_some(node);
                    }
                });
            }
        });
    }
}
