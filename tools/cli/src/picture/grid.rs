//! Draws a grid of pictures, all from the same camera.

use super::font;
use super::image::Image;
use super::render::{self, Camera, Light, Surface, guess_up};
use glam::DVec3;

const GAP: usize = 8;
const MARGIN: usize = 28;
const HEADER: usize = 100;
const FOOTER: usize = 24;
const PAPER: [u8; 3] = [248, 248, 246];
const INK: [u8; 3] = [32, 34, 38];
const FAINT: [u8; 3] = [112, 116, 122];

/// The pictures and their captions.
pub struct Grid {
    /// Surfaces of each picture, by row and column.
    pub rows: Vec<Vec<Vec<Surface>>>,
    /// Two lines above each column.
    pub heads: Vec<[String; 2]>,
    /// Width and height of a picture in pixels.
    pub size: [usize; 2],
}

impl Grid {
    /// Draws the grid, with a large line and a small one above.
    pub fn draw(&self, title: &str, what: &str) -> Image {
        let points: Vec<DVec3> = (self.rows.iter().flatten().flatten())
            .flat_map(|surface| surface.positions.iter().copied())
            .collect();
        let points = render::main_part(&points);
        let [width, height] = self.size;
        let aspect = width as f64 / height as f64;
        let camera = Camera::framing(&points, guess_up("", &points), aspect);
        let left = |c: usize| MARGIN + c * (width + GAP);
        let top = |r: usize| HEADER + r * (height + GAP);
        let (wide, high) = (left(self.heads.len()) + MARGIN - GAP, top(self.rows.len()));
        let mut image = Image::new(wide, high + FOOTER, PAPER);
        font::draw(&mut image, title, MARGIN as f32, 20.0, 20.0, INK);
        font::draw(&mut image, what, MARGIN as f32, 50.0, 11.0, FAINT);
        for (c, [head, note]) in self.heads.iter().enumerate() {
            font::draw(&mut image, head, left(c) as f32, 72.0, 10.0, INK);
            font::draw(&mut image, note, left(c) as f32, 87.0, 9.0, FAINT);
            for (r, row) in self.rows.iter().enumerate() {
                let tile = render::draw(&row[c], &camera, Light::Studio, width, height);
                image.paste(&tile, left(c), top(r));
            }
        }
        image
    }
}
