//! The panel of facts: the content of the file, its error, and timings of the graphics card.

use super::state::{App, SourceState};
use crate::looks::DisplayMode;
use crate::source::SourceOpening;
use eframe::egui;
use meshreel_compile::report::readable::{bytes, count, short, with_noun};
use std::path::PathBuf;

impl App {
    /// Draws the result of the look "error", or asks for the source.
    pub(super) fn error_facts(&mut self, ui: &mut egui::Ui) {
        let wants = self.wants_source();
        let measures = self.style.look == DisplayMode::Error;
        let Some(document) = self.document.as_ref().filter(|_| wants) else { return };
        ui.heading("Against the source");
        let mut path = None;
        match &mut self.source {
            SourceState::AskUser(text) => {
                ui.label(match measures {
                    true => "The source does not lie beside the file. Its path, or drop it here:",
                    false => "The source does not lie beside the file. Its path:",
                });
                let typed = ui.text_edit_singleline(text).on_hover_text("A path; Enter opens it");
                let entered = typed.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
                if ui.button("open").clicked() || entered {
                    path = Some(PathBuf::from(text.clone()));
                }
            }
            SourceState::Unknown => {}
            SourceState::Opening(opening) => {
                ui.label(format!("opening {}", opening.path.display()));
                ui.spinner();
            }
            SourceState::Open(source, _) => {
                ui.label(source.path.display().to_string());
            }
        }
        if let Some(path) = path {
            self.source = SourceState::Opening(SourceOpening::start(&path, &document.reel));
        }
        if let Some(errors) = self.clip_errors.as_ref().filter(|_| measures)
            && let Some(clips) = &document.clips
        {
            let (distance, part, joint) = errors.worst;
            let name = clips.skeleton().names.get(joint).map_or("", |name| name);
            ui.label(format!(
                "largest of the clip in sample {}: {}{}, {:.0} % of the tolerance, at {name}",
                document.clip_sample(),
                short(distance),
                document.unit(),
                100.0 * part
            ));
        }
        if let Some(errors) = self.errors.as_ref().filter(|_| measures) {
            if let Some(worst) = errors.worst {
                let path = &document.reel.description().nodes[worst.node].path;
                let [x, y, z] = worst.position.to_array();
                ui.label(format!(
                    "largest in frame {}: {}{}, {:.0} % of the tolerance",
                    errors.frame,
                    short(worst.distance),
                    document.unit(),
                    100.0 * worst.fraction
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

    pub(super) fn facts(&self, ui: &mut egui::Ui) {
        let Some(document) = &self.document else { return };
        let description = document.reel.description();
        ui.heading("File");
        ui.label(format!("{} as it lies on the disk", bytes(document.path_bytes)));
        let clips = document.clips.as_ref().map_or(0, |clips| clips.all().len());
        ui.label(format!(
            "{}, {}, {}, {}",
            with_noun(document.reel.frame_count(), "frame"),
            with_noun(description.nodes.len(), "node"),
            with_noun(description.meshes.len(), "mesh"),
            with_noun(clips, "clip")
        ));
        self.selected_facts(ui);
        self.level_facts(ui);
        ui.heading("Graphics card");
        if let Some(meshes) = &document.meshes {
            let sizes = meshes.gpu.sizes();
            ui.label(format!(
                "{} fixed, {} a frame, {} of vertices",
                bytes(sizes.fixed),
                bytes(sizes.slot),
                bytes(sizes.vertices)
            ));
            let update = meshes.update;
            ui.label(format!("last picture: {} uploaded, {} passes", bytes(update.bytes), update.dispatches));
        }
        self.times(ui);
    }

    /// Draws the times of decoding, the graphics card and the CPU.
    pub(super) fn times(&self, ui: &mut egui::Ui) {
        if let Some(meshes) = self.document.as_ref().and_then(|document| document.meshes.as_ref()) {
            ui.label(format!("decoding takes up to {:.2} ms", meshes.decode_ms)).on_hover_text(
                "The frames of a picture, on a thread of its own, the most of late; not while it is streamed",
            );
        }
        match &self.renderer.timer {
            Some(timer) => {
                let [passes, drawing] = timer.smoothed_ms;
                ui.label(format!("passes that make vertices take {passes:.2} ms, drawing {drawing:.2} ms"))
                    .on_hover_text("By the card's own clock, smoothed over the last pictures");
            }
            None => drop(ui.label("this graphics card has no clock to time its passes")),
        }
        ui.label(format!("the CPU is busy {:.1} ms", self.cpu_ms))
            .on_hover_text("To upload and record a picture, smoothed over the last ones");
    }

    /// Draws the facts of the selected node.
    fn selected_facts(&self, ui: &mut egui::Ui) {
        let (Some(document), Some(node)) = (&self.document, self.style.selected) else { return };
        let description = document.reel.description();
        ui.heading("Selected");
        let record = &description.nodes[node];
        ui.label(&record.path);
        let Some(mesh) = record.mesh.map(|m| &description.meshes[m as usize]) else { return };
        ui.label(format!(
            "{:?}, {} vertices, {} triangles",
            mesh.method,
            count(mesh.vertices.into()),
            count(u64::from(mesh.indices) / 3)
        ));
        if record.tolerance > 0.0 {
            ui.label(format!("tolerance {}{}", short(record.tolerance), document.unit()));
        }
        for stream in &mesh.streams {
            let how = if stream.animated { "every frame" } else { "once" };
            ui.label(format!("{:?} {}: {how}", stream.semantic, stream.set));
        }
    }

    /// Draws the LOD levels of the selected mesh or, if none is, of all together, and the count of invisible
    /// triangles.
    fn level_facts(&self, ui: &mut egui::Ui) {
        let Some(document) = &self.document else { return };
        let Some(meshes) = &document.meshes else { return };
        let description = document.reel.description();
        let selected = self.style.selected.and_then(|node| description.nodes[node].mesh);
        let levels = meshes.lod_levels();
        if levels > 1 {
            ui.heading("Levels of detail");
            let of = match selected {
                Some(mesh) => mesh as usize..mesh as usize + 1,
                None => 0..description.meshes.len(),
            };
            for level in 0..levels {
                let facts = of.clone().map(|mesh| meshes.level_facts(mesh, level));
                let (triangles, error) =
                    facts.fold((0, 0.0f64), |all, own| (all.0 + own.0, all.1.max(own.1)));
                let text = match level {
                    0 => format!("0: {} triangles", count(triangles as u64)),
                    _ => format!(
                        "{level}: {} triangles, within {}{} of the mesh",
                        count(triangles as u64),
                        short(error),
                        document.unit()
                    ),
                };
                let text = egui::RichText::new(text);
                ui.label(if level == self.style.level { text.strong() } else { text });
            }
        }
        if self.style.visible || self.style.look == DisplayMode::Hidden {
            let [all, unseen] = meshes.hidden_triangles();
            ui.label(format!(
                "{} of {} triangles cannot be seen now",
                count(unseen.into()),
                count(all.into())
            ));
        }
    }
}
