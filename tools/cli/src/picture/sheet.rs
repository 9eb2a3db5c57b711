//! Draws contact sheets: several frames from left to right, each with two pictures and one in false colour.

use super::font;
use super::image::{Image, Rgb, to_linear};
use super::render::{self, Camera, Light, Surface, Up};
use glam::DVec3;

/// Colour of meshes that have none.
const CLAY: Rgb = [206, 199, 188];
/// Colour of the background.
pub const PAPER: Rgb = [248, 248, 246];
/// Colour of text.
pub const INK: Rgb = [32, 34, 38];
const FAINT: Rgb = [112, 116, 122];
/// Largest width of a picture; the next constant is the range of its aspect ratio.
const TILE_WIDTH: f64 = 340.0;
const ASPECTS: (f64, f64) = (0.8, 2.0);
const GAP: usize = 10;
const MARGIN: usize = 28;
const HEADER: usize = 100;
const LABEL: usize = 96;
const FOOTER: usize = 74;

/// One frame of a sheet.
pub struct Column {
    /// Text above the pictures: frame and time.
    pub title: String,
    /// Text below the pictures: the frame's error.
    pub note: String,
    /// The upper picture: the source.
    pub source: Vec<Surface>,
    /// The middle picture: the decoded frame.
    pub decoded: Vec<Surface>,
    /// The error of each vertex of the surfaces in `decoded` as a fraction of the tolerance, for the lower
    /// picture.
    pub errors: Vec<Vec<f32>>,
}

/// The content of a sheet.
pub struct Sheet {
    /// The large line of text.
    pub title: String,
    /// The small line below it.
    pub subtitle: String,
    /// Labels of the rows from top to bottom.
    pub rows: [&'static str; 3],
    /// The frames.
    pub columns: Vec<Column>,
    /// Label of the right end of the colour scale, such as "tolerance 0.01% = 0.0012".
    pub scale: String,
    /// The axis that points upwards.
    pub up: Up,
}

/// Returns the colour of meshes in linear light.
pub fn clay() -> [f32; 3] {
    to_linear(CLAY)
}

/// Returns a linear colour for an error as a fraction of the tolerance: dark blue 0, green the middle, yellow
/// 1, red beyond.
pub fn false_colour(fraction: f32) -> [f32; 3] {
    const STOPS: [Rgb; 6] =
        [[38, 44, 92], [40, 92, 150], [32, 142, 146], [72, 184, 112], [170, 216, 70], [250, 232, 60]];
    if fraction.is_nan() || fraction > 1.0 {
        return to_linear([226, 40, 40]);
    }
    let at = fraction.max(0.0) * (STOPS.len() - 1) as f32;
    let low = (at as usize).min(STOPS.len() - 2);
    let (a, b) = (STOPS[low], STOPS[low + 1]);
    let mix = at - low as f32;
    let stop: [f32; 3] = std::array::from_fn(|i| {
        let (a, b) = (f32::from(a[i]), f32::from(b[i]));
        a + (b - a) * mix
    });
    to_linear(stop.map(|value| value.round() as u8))
}

/// Draws a sheet.
pub fn compose(sheet: Sheet) -> Image {
    let points: Vec<DVec3> = sheet
        .columns
        .iter()
        .flat_map(|column| &column.source)
        .flat_map(|surface| &surface.positions)
        .copied()
        .collect();
    let points = render::main_part(&points);
    // The pictures get the aspect ratio of their content.
    let square = Camera::framing(&points, sheet.up, 1.0);
    let aspect = square.content_aspect(&points).clamp(ASPECTS.0, ASPECTS.1);
    let tile_width = (TILE_WIDTH * (aspect / 1.33).sqrt().min(1.0)) as usize;
    let tile_height = (tile_width as f64 / aspect) as usize;
    let camera = Camera::framing(&points, sheet.up, tile_width as f64 / tile_height as f64);
    drop(points);

    let columns = sheet.columns.len().max(1);
    let width = MARGIN * 2 + LABEL + columns * tile_width + (columns - 1) * GAP;
    let height = HEADER + 3 * tile_height + 2 * GAP + FOOTER;
    let mut image = Image::new(width, height, PAPER);
    font::draw(&mut image, &fitted(&sheet.title, 20.0, width), MARGIN as f32, 20.0, 20.0, INK);
    font::draw(&mut image, &fitted(&sheet.subtitle, 11.0, width), MARGIN as f32, 54.0, 11.0, FAINT);

    let left = |column: usize| MARGIN + LABEL + column * (tile_width + GAP);
    let top = |row: usize| HEADER + row * (tile_height + GAP);
    for (row, label) in sheet.rows.into_iter().enumerate() {
        let y = top(row) as f32 + tile_height as f32 / 2.0 - 8.0;
        font::draw(&mut image, label, MARGIN as f32, y, 12.0, INK);
    }
    for (i, column) in sheet.columns.into_iter().enumerate() {
        font::draw(&mut image, &column.title, left(i) as f32, 82.0, 10.0, INK);
        let below = (top(2) + tile_height + 8) as f32;
        font::draw(&mut image, &column.note, left(i) as f32, below, 10.0, FAINT);
        let tile = render::draw(&column.source, &camera, Light::Studio, tile_width, tile_height);
        image.paste(&tile, left(i), top(0));
        let tile = render::draw(&column.decoded, &camera, Light::Studio, tile_width, tile_height);
        image.paste(&tile, left(i), top(1));
        let mut surfaces = column.decoded;
        for (surface, errors) in surfaces.iter_mut().zip(&column.errors) {
            surface.colours = errors.iter().map(|&error| false_colour(error)).collect();
        }
        let tile = render::draw(&surfaces, &camera, Light::Even, tile_width, tile_height);
        image.paste(&tile, left(i), top(2));
    }
    legend(&mut image, left(0), height - 34, &sheet.scale);
    image
}

/// Draws the colour scale, from no error to the tolerance and beyond.
fn legend(image: &mut Image, x: usize, y: usize, scale: &str) {
    let (length, thick) = (260, 14);
    font::draw(image, "0", x as f32, y as f32 + 1.0, 10.0, INK);
    let start = x + 18;
    for i in 0..length {
        let colour = super::image::to_srgb(false_colour(i as f32 / (length - 1) as f32));
        image.fill(start + i, y, 1, thick, colour);
    }
    let over = super::image::to_srgb(false_colour(2.0));
    font::draw(image, scale, (start + length + 10) as f32, y as f32 + 1.0, 10.0, INK);
    let after = start + length + 10 + font::width(scale, 10.0) as usize + 26;
    image.fill(after, y, 30, thick, over);
    font::draw(image, "beyond", (after + 40) as f32, y as f32 + 1.0, 10.0, INK);
}

/// Returns `text`, shortened until it fits between the margins.
fn fitted(text: &str, size: f32, width: usize) -> String {
    let room = (width - 2 * MARGIN) as f32;
    let mut shown = text.to_string();
    while font::width(&shown, size) > room && shown.pop().is_some() {}
    shown
}
