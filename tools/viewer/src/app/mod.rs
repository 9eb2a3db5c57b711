//! The layout of the window.

mod bytes;
mod clips;
mod curves;
mod facts;
mod scene;
mod state;
mod streaming;
mod stretches;
mod tools;

pub use state::App;

use crate::arguments::Panel;
use eframe::egui;
use state::SourceState;

impl App {
    /// Draws the panel at the side.
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
    fn on_exit(&mut self) {
        if let Some(loading) = self.loading.take() {
            loading.cancel_and_wait();
        }
    }

    fn ui(&mut self, ui: &mut egui::Ui, frame: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        self.handle_arrivals(&ctx);
        self.handle_keys(&ctx);
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
            || self.following.is_some_and(|following| following.glides())
            || self.loading.is_some()
            || self.document.as_ref().is_some_and(|d| d.clock.playing);
        if busy {
            ctx.request_repaint();
        }
    }
}
