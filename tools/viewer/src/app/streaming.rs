//! The panel of streaming: a player that streams the file as a game does, with its heap, reads, frames and
//! times.

use super::state::App;
use super::stretches::stretches;
use crate::errors::one_line;
use crate::streaming::Streaming;
use eframe::egui;
use meshreel_compile::report::readable::{bytes, with_noun};

impl App {
    /// Draws the streaming player's state: its heap, the state of each frame, and its times.
    pub(super) fn streaming_facts(&mut self, ui: &mut egui::Ui) {
        let Some(document) = &mut self.document else { return };
        if document.meshes.is_none() {
            ui.label("Meshes are streamed; of clips layers and tiers come and go: see the panel of clips.");
            return;
        }
        let mut on = document.streaming.is_some();
        let toggled = ui
            .checkbox(&mut on, "stream it as a game does")
            .on_hover_text(
                "Reads from the disk ahead of time into a heap of fixed size, and shows what is there",
            )
            .changed();
        let heap = egui::DragValue::new(&mut self.heap).range(1..=4096).prefix("heap ").suffix(" MiB");
        let sized = ui.add(heap).on_hover_text("Too small a heap misses frames: that is seen below");
        let settled = sized.drag_stopped() || sized.lost_focus();
        if (toggled || settled && on)
            && let Err(error) = document.stream(on.then_some(self.heap << 20))
        {
            self.problem = Some(one_line(&error));
        }
        let frames = document.reel.frame_count() as f32;
        match &document.streaming {
            Some(streaming) => figures(ui, streaming, frames),
            None => drop(ui.label("Frames are decoded when they are asked for.")),
        }
        ui.heading("Times");
        self.times(ui);
    }
}

/// Draws the heap of a player, and the states of a file's frames, of which there are `frames`.
fn figures(ui: &mut egui::Ui, streaming: &Streaming, frames: f32) {
    let statistics = &streaming.statistics;
    ui.heading("Heap");
    ui.label(format!(
        "{} of {} in use, {} of them wanted",
        bytes(statistics.heap_used),
        bytes(statistics.heap_bytes),
        bytes(statistics.heap_held)
    ));
    let total = statistics.heap_bytes.max(1) as f32;
    let parts = statistics.regions.iter().map(|region| {
        let colour = match region.state {
            meshreel::stream::RegionState::Held => egui::Color32::from_rgb(80, 130, 190),
            meshreel::stream::RegionState::Spare => egui::Color32::from_rgb(45, 65, 85),
            _ => egui::Color32::from_gray(25),
        };
        let start = region.start as f32 / total;
        (start..start + region.size as f32 / total, colour)
    });
    stretches(ui, parts);
    ui.label("blue: in use; dark: kept while there is room");
    ui.heading("Frames");
    for stream in &statistics.streams {
        let lists = [
            ("on their way", &stream.requested, egui::Color32::from_rgb(200, 120, 60)),
            ("in memory as bytes", &stream.read, egui::Color32::from_rgb(190, 180, 80)),
            ("decoded", &stream.decoded, egui::Color32::from_rgb(90, 180, 100)),
        ];
        for (name, ranges, colour) in lists {
            ui.label(name);
            let part = |range: &[u32; 2]| (range[0] as f32 / frames..(range[1] + 1) as f32 / frames, colour);
            stretches(ui, ranges.iter().map(part));
        }
        let counters = stream.counters;
        ui.label(format!("{}, {}", with_noun(counters.reads as usize, "read"), bytes(counters.bytes_read)));
        ui.label(format!("{} units, {} frames decoded", counters.decodes, counters.frames_decoded));
    }
    let (missed, waited) = streaming.missed_ticks();
    ui.label(format!("{missed} ticks missed a frame, {waited} waited for a jump"));
    ui.label(format!("{:.3} ms a tick, {:.2} s of decoding", streaming.tick, statistics.decode_seconds));
}
