//! The panel of clips: the current one, its layers and tiers, its joints.

use super::state::App;
use crate::clips::Clips;
use crate::document::Document;
use crate::errors::one_line;
use eframe::egui;
use egui::RichText;
use meshreel_compile::report::readable::{bytes, short, with_noun};

impl App {
    pub(super) fn clip_facts(&mut self, ui: &mut egui::Ui) {
        let Some(document) = &mut self.document else { return };
        if document.clips.is_none() {
            ui.label("The file has no clips. Skeletons come from .bvh and .glb files.");
            return;
        }
        ui.horizontal_wrapped(|ui| {
            ui.toggle_value(&mut self.style.bones, "bones").on_hover_text("Draws the skeleton. Key B");
            ui.toggle_value(&mut self.names, "names").on_hover_text("Names of joints. Key N");
            ui.toggle_value(&mut self.source_pose, "source beside it")
                .on_hover_text("The source's pose as blue lines; opens the source");
        });
        ui.heading("Clips");
        if let Some(clip) = choice(ui, document)
            && let Err(error) = document.choose_clip(clip)
        {
            self.problem = Some(one_line(&error));
        }
        let unit = document.unit();
        let Some(clips) = &mut document.clips else { return };
        let played = clips.played();
        ui.label(format!(
            "{}, {}, {} a second, {} s",
            with_noun(played.joints(), "joint"),
            with_noun(played.samples(), "sample"),
            short(played.fps()),
            short(played.duration())
        ));
        let record = played.record();
        ui.label(format!(
            "codec {}, tolerance {}{unit}, {}",
            record.codec.name(),
            short(record.tolerance),
            bytes(played.file_bytes() as u64)
        ));
        layers(ui, clips);
        markers(ui, clips);
        ui.heading("Joints");
        ui.add(egui::TextEdit::singleline(&mut self.joint_filter).hint_text("filter by name"))
            .on_hover_text("Only joints whose name has this in it");
        joints(ui, clips, &self.joint_filter);
    }
}

/// Draws the list of clips; returns the one that was clicked.
fn choice(ui: &mut egui::Ui, document: &Document) -> Option<usize> {
    let clips = document.clips.as_ref()?;
    let mut chosen = None;
    let height = ui.text_style_height(&egui::TextStyle::Body) + 4.0;
    let list = egui::ScrollArea::vertical().id_salt("clips").max_height(140.0);
    list.show_rows(ui, height, clips.all().len(), |ui, range| {
        for i in range {
            let clip = &clips.all()[i];
            let name = if clip.name().is_empty() { "(no name)" } else { clip.name() };
            let tip =
                format!("{} of {}", with_noun(clip.samples(), "sample"), with_noun(clip.joints(), "joint"));
            if ui.selectable_label(clips.chosen() == i, name).on_hover_text(tip).clicked() {
                chosen = Some(i);
            }
        }
    });
    chosen
}

/// Draws the layers, each with the number of tiers that are played.
fn layers(ui: &mut egui::Ui, clips: &mut Clips) {
    ui.heading("Layers and tiers");
    if clips.layers.is_empty() {
        ui.label("in one piece");
        return;
    }
    let mut tiers = clips.tiers().to_vec();
    for (layer, played) in clips.layers.iter().zip(&mut tiers) {
        let all = layer.tiers.len();
        ui.label(format!("{}: {}", layer.name, with_noun(layer.joints.len(), "joint")));
        let slider = egui::Slider::new(played, 0..=all).text(format!("of {}", with_noun(all, "tier")));
        ui.add(slider).on_hover_text(
            "Tiers that are there. Fewer: less exact; none: the joints of this layer stand in the bind pose",
        );
        let size = |tiers: usize| bytes(layer.tiers[..tiers].iter().sum::<usize>() as u64);
        ui.label(format!("{} of {}", size(*played), size(all)));
    }
    if tiers != clips.tiers() {
        clips.set_tiers(&tiers);
    }
}

fn markers(ui: &mut egui::Ui, clips: &Clips) {
    let played = clips.played();
    if !played.scalar_tracks().is_empty() {
        ui.label(format!("{} of numbers", with_noun(played.scalar_tracks().len(), "track")));
    }
    for marker in played.markers() {
        ui.label(format!("{} s: {}", short(marker.time), marker.name));
    }
}

/// Draws the joints, each below its parent; a click shows its curves.
fn joints(ui: &mut egui::Ui, clips: &mut Clips, filter: &str) {
    let wanted = filter.to_lowercase();
    let skeleton = clips.skeleton();
    let mut depths = vec![0usize; skeleton.parents.len()];
    let mut rows = Vec::new();
    for (joint, &parent) in skeleton.parents.iter().enumerate() {
        depths[joint] = depths.get(parent as usize).map_or(0, |depth| depth + 1);
        if skeleton.names[joint].to_lowercase().contains(&wanted) {
            rows.push(joint);
        }
    }
    let height = ui.text_style_height(&egui::TextStyle::Body) + 4.0;
    let mut chosen = None;
    let list = egui::ScrollArea::vertical().id_salt("joints").max_height(ui.available_height().max(160.0));
    list.auto_shrink(false).show_rows(ui, height, rows.len(), |ui, range| {
        for &joint in &rows[range] {
            ui.horizontal(|ui| {
                ui.add_space(7.0 * depths[joint].min(16) as f32);
                let text = match clips.layer_of(joint).is_some_and(|layer| clips.tiers()[layer] == 0) {
                    true => RichText::new(&skeleton.names[joint]).weak(),
                    false => RichText::new(&skeleton.names[joint]),
                };
                let entry = ui.selectable_label(clips.joint == Some(joint), text);
                if entry.on_hover_text("Shows its curves below").clicked() {
                    chosen = Some((clips.joint != Some(joint)).then_some(joint));
                }
            });
        }
    });
    if let Some(joint) = chosen {
        clips.joint = joint;
    }
}
