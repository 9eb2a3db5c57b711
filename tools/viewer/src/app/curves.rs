//! The panel of curves: the motion of the selected joint over time, source against decoded.

use super::state::App;
use crate::curves::{CurveSampling, Curves};
use crate::document::Document;
use eframe::egui;
use egui::{Color32, Pos2, Stroke};
use meshreel_compile::report::readable::short;

/// Colours of x, y, z, w.
const COLOURS: [Color32; 4] = [
    Color32::from_rgb(235, 90, 80),
    Color32::from_rgb(110, 200, 90),
    Color32::from_rgb(100, 150, 250),
    Color32::from_rgb(200, 200, 205),
];

/// A curve: its name, colour, decoded values and those of the source, if there are any.
struct Series {
    name: &'static str,
    colour: Color32,
    decoded: Vec<f64>,
    source: Vec<f64>,
}

/// Curves with a common time axis, in one frame.
struct Plot {
    title: String,
    series: Vec<Series>,
    /// Height above 0 of a horizontal line: the tolerance.
    limit: Option<f64>,
    from_zero: bool,
}

impl App {
    /// `true` if a joint is selected.
    pub(super) fn shows_curves(&self) -> bool {
        let clips = self.document.as_ref().and_then(|document| document.clips.as_ref());
        clips.is_some_and(|clips| clips.joint.is_some())
    }

    pub(super) fn curves(&mut self, ui: &mut egui::Ui) {
        let source = self.clip_source();
        let has_source = source.is_some();
        let Some(clips) = self.document.as_mut().and_then(|document| document.clips.as_mut()) else { return };
        match self.sampling.as_ref().and_then(CurveSampling::poll) {
            Some(Ok(curves)) => (self.curves, self.sampling) = (Some(curves), None),
            Some(Err(error)) => {
                (self.problem, self.sampling, clips.joint) = (Some(error), None, None);
            }
            None => {}
        }
        let known = self.curves.as_ref().is_some_and(|curves| curves.match_selection(clips, has_source));
        let comes =
            self.sampling.as_ref().is_some_and(|sampling| sampling.matches_selection(clips, has_source));
        if !known && !comes {
            let ctx = ui.ctx().clone();
            self.sampling = CurveSampling::start(clips, source, move || ctx.request_repaint());
        }
        let (Some(curves), Some(document)) = (&self.curves, &mut self.document) else { return };
        header(ui, document, curves);
        let plots = plots(curves, document.unit());
        let size = ui.available_size();
        let gap = 6.0;
        let width = (size.x - gap * (plots.len() - 1) as f32) / plots.len() as f32;
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = gap;
            for plot in &plots {
                draw(ui, egui::vec2(width, size.y.max(60.0)), plot, &curves.times, document);
            }
        });
        if ui.input(|input| input.key_pressed(egui::Key::Escape))
            && let Some(clips) = &mut document.clips
        {
            clips.joint = None;
        }
    }
}

/// Draws the joint's name and its error.
fn header(ui: &mut egui::Ui, document: &mut Document, curves: &Curves) {
    let unit = document.unit();
    let Some(clips) = &mut document.clips else { return };
    let name = clips.joint.and_then(|joint| clips.skeleton().names.get(joint).cloned()).unwrap_or_default();
    ui.horizontal(|ui| {
        ui.strong(name);
        let text = match (curves.worst(), curves.tolerance) {
            (Some((error, time)), Some(limit)) => format!(
                "largest error {}{unit} at {} s, {:.0} % of the tolerance; pale: source, thin: decoded",
                short(error),
                short(time),
                100.0 * error / limit
            ),
            (Some((error, time)), None) => {
                format!(
                    "largest error {}{unit} at {} s; pale: source, thin: decoded",
                    short(error),
                    short(time)
                )
            }
            (None, _) => "decoded; no source is open to compare with".to_string(),
        };
        ui.label(text);
        ui.with_layout(egui::Layout::right_to_left(egui::Align::Center), |ui| {
            if ui.small_button("×").on_hover_text("Closes the curves. Key Esc").clicked() {
                clips.joint = None;
            }
        });
    });
}

/// Returns the plots: rotation, translation, scale if it is not 1, and the error if there is a source.
fn plots(curves: &Curves, unit: &str) -> Vec<Plot> {
    let all = || curves.decoded.iter().chain(&curves.source);
    let component = |name, k: usize, of: &dyn Fn(&meshreel_scene::Qvv) -> f64| Series {
        name,
        colour: COLOURS[k],
        decoded: curves.decoded.iter().map(of).collect(),
        source: curves.source.iter().map(of).collect(),
    };
    let names = ["x", "y", "z", "w"];
    let plot = |title: String, series| Plot { title, series, limit: None, from_zero: false };
    let rotation = (0..4).map(|k| component(names[k], k, &|q| q.rotation.to_array()[k])).collect();
    let translation = (0..3).map(|k| component(names[k], k, &|q| q.translation[k])).collect();
    let mut plots = vec![
        plot("rotation (quaternion, local)".into(), rotation),
        plot(format!("translation{} (local)", in_unit(unit)), translation),
    ];
    if all().any(|q| (q.scale - glam::DVec3::ONE).abs().max_element() > 1e-6) {
        let scale = (0..3).map(|k| component(names[k], k, &|q| q.scale[k])).collect();
        plots.push(plot("scale (local)".into(), scale));
    }
    if !curves.errors.is_empty() {
        let error = Series {
            name: "error",
            colour: Color32::from_rgb(240, 200, 90),
            decoded: curves.errors.clone(),
            source: Vec::new(),
        };
        plots.push(Plot {
            title: format!("error{} (object space)", in_unit(unit)),
            series: vec![error],
            limit: curves.tolerance,
            from_zero: true,
        });
    }
    plots
}

/// Turns " cm" into " in cm".
fn in_unit(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" in{unit}") }
}

fn draw(ui: &mut egui::Ui, size: egui::Vec2, plot: &Plot, times: &[f64], document: &mut Document) {
    let (response, painter) = ui.allocate_painter(size, egui::Sense::click_and_drag());
    let area = response.rect;
    painter.rect_filled(area, 2.0, Color32::from_gray(20));
    let all = plot.series.iter().flat_map(|series| series.decoded.iter().chain(&series.source));
    let (mut low, mut high) =
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
    if plot.from_zero {
        low = 0.0;
        high = high.max(plot.limit.unwrap_or(0.0) * 1.05);
    }
    let least = 1e-9 * high.abs().max(low.abs()).max(1e-9);
    if low > high || high - low <= least {
        (low, high) = (low - 0.5, high + 0.5);
    }
    let inner = area.shrink2(egui::vec2(4.0, 4.0)).with_min_y(area.top() + 18.0);
    let (start, end) = (times.first().copied().unwrap_or(0.0), times.last().copied().unwrap_or(1.0));
    let span = (end - start).max(1e-9);
    let x = |time: f64| inner.left() + inner.width() * ((time - start) / span) as f32;
    let y = |value: f64| inner.bottom() - inner.height() * ((value - low) / (high - low)) as f32;
    let line = |values: &[f64]| -> Vec<Pos2> {
        times.iter().zip(values).map(|(time, value)| egui::pos2(x(*time), y(*value))).collect()
    };
    for series in plot.series.iter().filter(|series| !series.source.is_empty()) {
        painter.line(line(&series.source), Stroke::new(4.0, series.colour.gamma_multiply(0.4)));
    }
    for series in &plot.series {
        painter.line(line(&series.decoded), Stroke::new(1.2, series.colour));
    }
    if let Some(limit) = plot.limit {
        let red = Stroke::new(1.0, Color32::from_rgb(220, 60, 50));
        painter.hline(inner.x_range(), y(limit), red);
    }
    let now = document.clock.time.clamp(start, end);
    painter.vline(x(now), inner.y_range(), Stroke::new(1.0, Color32::from_gray(150)));
    let font = egui::FontId::proportional(11.0);
    let grey = Color32::from_gray(170);
    painter.text(
        area.left_top() + egui::vec2(4.0, 2.0),
        egui::Align2::LEFT_TOP,
        &plot.title,
        font.clone(),
        grey,
    );
    let range = format!("{} … {}", short(low), short(high));
    painter.text(area.right_top() + egui::vec2(-4.0, 2.0), egui::Align2::RIGHT_TOP, range, font, grey);
    let time_at =
        |at: Pos2| start + span * f64::from(((at.x - inner.left()) / inner.width()).clamp(0.0, 1.0));
    if let Some(at) = response.interact_pointer_pos() {
        document.clock.playing = false;
        document.clock.time = time_at(at);
    }
    if let Some(at) = response.hover_pos() {
        let i = times.partition_point(|time| *time < time_at(at)).min(times.len().saturating_sub(1));
        response.on_hover_ui_at_pointer(|ui| {
            ui.label(format!("{} s; click or drag to go there", short(times[i])));
            for series in &plot.series {
                let source = series.source.get(i).map(|v| format!(", source {}", short(*v)));
                let text =
                    format!("{} {}{}", series.name, short(series.decoded[i]), source.unwrap_or_default());
                ui.colored_label(series.colour, text);
            }
        });
    }
}
