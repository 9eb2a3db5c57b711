//! Draws curves over time, one panel below the other, with axes, labels and a legend.

use super::font;
use super::image::{Image, Rgb};

const PAPER: Rgb = [255, 255, 255];
const INK: Rgb = [40, 40, 44];
const FAINT: Rgb = [120, 120, 126];
const GRID: Rgb = [230, 230, 233];
const LIMIT: Rgb = [200, 40, 40];
/// Colours of x, y, z and w.
pub const COLOURS: [Rgb; 4] = [[200, 66, 50], [46, 140, 70], [44, 96, 200], [150, 90, 170]];

const WIDTH: usize = 1200;
const PANEL: usize = 210;
const GAP: usize = 46;
const HEADER: usize = 74;
const FOOTER: usize = 52;
const LEFT: usize = 96;
const RIGHT: usize = 24;

/// The style of a curve.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CurveStyle {
    /// Broad and pale, drawn below the others.
    Broad,
    /// Thin and dark, drawn above the others.
    Thin,
    /// Dots, such as keys.
    Dots,
}

/// A curve; x is time.
pub struct Series {
    /// Name in the legend; no entry if empty.
    pub name: String,
    /// Colour of the whole curve.
    pub colour: Rgb,
    /// Style of the curve.
    pub style: CurveStyle,
    /// Time and value, ascending in time.
    pub points: Vec<[f64; 2]>,
}

/// Curves that share one axis of values.
pub struct Panel {
    /// Title of the values, with their unit.
    pub title: String,
    /// Curves, the lowest first.
    pub series: Vec<Series>,
    /// A line that should not be crossed, and its name.
    pub limit: Option<(f64, String)>,
    /// `true` if the axis starts at 0.
    pub from_zero: bool,
}

/// Draws the whole picture. `times` are the first and the last time.
pub fn draw(title: &str, subtitle: &str, times: [f64; 2], panels: &[Panel]) -> Image {
    let height = HEADER + panels.len() * (PANEL + GAP) + FOOTER - GAP / 2;
    let mut image = Image::new(WIDTH, height, PAPER);
    font::draw(&mut image, title, LEFT as f32, 18.0, 16.0, INK);
    font::draw(&mut image, subtitle, LEFT as f32, 46.0, 10.0, FAINT);
    let times = match times[1] > times[0] {
        true => times,
        false => [times[0] - 0.5, times[0] + 0.5],
    };
    for (i, panel) in panels.iter().enumerate() {
        let top = HEADER + 14 + i * (PANEL + GAP);
        draw_panel(&mut image, panel, top, times);
    }
    let label = "time in seconds";
    let x = LEFT as f32 + (WIDTH - LEFT - RIGHT) as f32 / 2.0 - font::width(label, 10.0) / 2.0;
    font::draw(&mut image, label, x, height as f32 - 24.0, 10.0, INK);
    image
}

fn draw_panel(image: &mut Image, panel: &Panel, top: usize, times: [f64; 2]) {
    let [low, high] = range(panel);
    let (width, height) = ((WIDTH - LEFT - RIGHT) as f64, PANEL as f64);
    let at = |[time, value]: [f64; 2]| {
        let x = LEFT as f64 + (time - times[0]) / (times[1] - times[0]) * width;
        let y = top as f64 + (high - value) / (high - low) * height;
        [x as f32, y as f32]
    };
    font::draw(image, &panel.title, LEFT as f32, top as f32 - 18.0, 10.0, INK);
    for value in ticks(low, high, 5.0) {
        let y = at([times[0], value])[1];
        image.fill(LEFT, y.round() as usize, width as usize, 1, GRID);
        let text = format_value(value, high - low);
        let x = LEFT as f32 - 8.0 - font::width(&text, 8.0);
        font::draw(image, &text, x, y - 4.5, 8.0, FAINT);
    }
    for time in ticks(times[0], times[1], 10.0) {
        let x = at([time, low])[0];
        image.fill(x.round() as usize, top, 1, PANEL, GRID);
        let text = format_value(time, times[1] - times[0]);
        let x = x - font::width(&text, 8.0) / 2.0;
        font::draw(image, &text, x, (top + PANEL) as f32 + 6.0, 8.0, FAINT);
    }
    image.fill(LEFT, top, 1, PANEL, INK);
    image.fill(LEFT, top + PANEL, width as usize, 1, INK);
    let mut right = (WIDTH - RIGHT) as f32;
    let mut legend = |image: &mut Image, name: &str, colour: Rgb| {
        if name.is_empty() {
            return;
        }
        right -= font::width(name, 9.0);
        font::draw(image, name, right, top as f32 - 17.0, 9.0, colour);
        right -= 16.0;
    };
    if let Some((value, name)) = &panel.limit {
        let [a, b] = times.map(|time| at([time, *value]));
        font::segment(image, a, b, 0.7, LIMIT);
        legend(image, name, LIMIT);
    }
    for series in &panel.series {
        let points: Vec<[f32; 2]> =
            (series.points.iter()).filter(|p| p[1].is_finite()).map(|p| at(*p)).collect();
        match series.style {
            CurveStyle::Dots => points.iter().for_each(|p| font::segment(image, *p, *p, 2.6, series.colour)),
            look => {
                let (half, colour) = match look {
                    CurveStyle::Broad => (2.6, pale(series.colour)),
                    _ => (0.8, series.colour),
                };
                for pair in points.windows(2) {
                    font::segment(image, pair[0], pair[1], half, colour);
                }
                if let [single] = points[..] {
                    font::segment(image, single, single, half + 1.5, colour);
                }
            }
        }
    }
    for series in panel.series.iter().rev() {
        legend(image, &series.name, series.colour);
    }
}

/// Mixes a colour with that of the paper.
fn pale(colour: Rgb) -> Rgb {
    colour.map(|v| ((u16::from(v) + 2 * 255) / 3) as u8)
}

/// Returns the lowest and highest value that is shown.
fn range(panel: &Panel) -> [f64; 2] {
    let values = panel.series.iter().flat_map(|s| s.points.iter().map(|p| p[1]));
    let limits = panel.limit.iter().map(|(value, _)| *value);
    let (mut low, mut high) = values
        .chain(limits)
        .filter(|v| v.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low > high {
        (low, high) = (0.0, 1.0);
    }
    if panel.from_zero {
        low = 0.0;
    }
    // A constant curve still needs an axis.
    let size = (high - low).max(1e-6 * high.abs().max(low.abs())).max(1e-12);
    match panel.from_zero {
        true => [0.0, high.max(size) + 0.06 * size],
        false => [low - 0.06 * size, low + 1.06 * size],
    }
}

/// Returns round numbers within a range, about `count` of them.
fn ticks(low: f64, high: f64, count: f64) -> impl Iterator<Item = f64> {
    let raw = (high - low) / count;
    let unit = 10f64.powf(raw.log10().floor());
    let step = match raw / unit {
        f if f <= 1.0 => unit,
        f if f <= 2.0 => 2.0 * unit,
        f if f <= 5.0 => 5.0 * unit,
        _ => 10.0 * unit,
    };
    let first = (low / step).ceil() as i64;
    let last = (high / step).floor() as i64;
    (first..=last.min(first + 40)).map(move |i| i as f64 * step)
}

/// Formats a value with enough digits to tell ticks of such a range apart.
fn format_value(value: f64, size: f64) -> String {
    let digits = (1.0 - size.log10().floor()).clamp(0.0, 9.0) as usize;
    match size < 1e-7 || value.abs() >= 1e7 {
        true => format!("{value:.2e}"),
        false => {
            let text = format!("{value:.digits$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').into(),
                false => text,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let all: Vec<f64> = ticks(-0.13, 0.97, 5.0).collect();
        assert_eq!(all, [0.0, 0.5]);
        assert_eq!(ticks(0.0, 10.0, 10.0).count(), 11);
        assert!(ticks(0.0, 1e-300, 5.0).count() <= 41);
    }

    #[test]
    fn a_curve_is_where_its_values_are() {
        let panel = |points: Vec<[f64; 2]>| Panel {
            title: "x".into(),
            series: vec![Series { name: String::new(), colour: [0; 3], style: CurveStyle::Thin, points }],
            limit: Some((2.0, "limit".into())),
            from_zero: true,
        };
        let image = draw("t", "s", [0.0, 1.0], &[panel(vec![[0.0, 1.0], [1.0, 1.0]])]);
        let dark = |row: usize| {
            let row = &image.pixels[row * WIDTH + LEFT + 40..(row + 1) * WIDTH - RIGHT - 40];
            row.iter().all(|p| p[0] < 120)
        };
        // Half-way up to the limit, and nowhere else but the axis.
        let rows: Vec<usize> = (HEADER + 20..HEADER + 14 + PANEL).filter(|r| dark(*r)).collect();
        let middle = HEADER + 14 + PANEL - (PANEL as f64 / 2.12) as usize;
        assert!(!rows.is_empty() && rows.iter().all(|r| r.abs_diff(middle) <= 2), "{rows:?} {middle}");
        // No points, one point, and no valid numbers still give a picture.
        for points in [vec![], vec![[0.0, 3.0]], vec![[0.0, f64::NAN], [1.0, f64::INFINITY]]] {
            draw("t", "s", [0.0, 0.0], &[panel(points)]);
        }
    }
}
