//! Draws bars that show the parts of a whole.

use eframe::egui;

/// Draws a bar of stretches, each a range from 0 to 1.
pub(super) fn stretches(
    ui: &mut egui::Ui,
    parts: impl Iterator<Item = (std::ops::Range<f32>, egui::Color32)>,
) {
    let size = egui::vec2(ui.available_width(), 12.0);
    let (response, painter) = ui.allocate_painter(size, egui::Sense::hover());
    let area = response.rect;
    painter.rect_filled(area, 0.0, egui::Color32::from_gray(12));
    for (part, colour) in parts {
        let x = |at: f32| area.left() + area.width() * at.clamp(0.0, 1.0);
        let (from, to) = (x(part.start), x(part.end).max(x(part.start) + 0.5));
        let piece = egui::Rect::from_min_max(egui::pos2(from, area.top()), egui::pos2(to, area.bottom()));
        painter.rect_filled(piece, 0.0, colour);
    }
}
