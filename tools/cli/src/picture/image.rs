//! An 8-bit sRGB picture: filling, blending, writing as PNG.

use crate::output::{Class, Failure};
use meshreel_files::Temporary;
use std::io::Write;
use std::path::Path;

/// A colour in sRGB.
pub type Rgb = [u8; 3];

/// A picture, row by row from the top.
#[derive(Clone)]
pub struct Image {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// `width * height` colours.
    pub pixels: Vec<Rgb>,
}

impl Image {
    /// Returns a picture of one colour.
    pub fn new(width: usize, height: usize, colour: Rgb) -> Image {
        Image { width, height, pixels: vec![colour; width * height] }
    }

    /// Copies `other` with its top left corner at (x, y), cut off at the edges.
    pub fn paste(&mut self, other: &Image, x: usize, y: usize) {
        let columns = other.width.min(self.width.saturating_sub(x));
        for row in 0..other.height.min(self.height.saturating_sub(y)) {
            let to = (y + row) * self.width + x;
            let from = row * other.width;
            self.pixels[to..to + columns].copy_from_slice(&other.pixels[from..from + columns]);
        }
    }

    /// Fills a rectangle.
    pub fn fill(&mut self, x: usize, y: usize, width: usize, height: usize, colour: Rgb) {
        for row in y..(y + height).min(self.height) {
            for column in x..(x + width).min(self.width) {
                self.pixels[row * self.width + column] = colour;
            }
        }
    }

    /// Blends `colour` over a pixel; ignored outside of the picture.
    pub fn blend(&mut self, x: i64, y: i64, colour: Rgb, coverage: f32) {
        if x < 0 || y < 0 || x >= self.width as i64 || y >= self.height as i64 {
            return;
        }
        let pixel = &mut self.pixels[y as usize * self.width + x as usize];
        for (old, new) in pixel.iter_mut().zip(colour) {
            let mixed = f32::from(*old) + (f32::from(new) - f32::from(*old)) * coverage;
            *old = mixed.round().clamp(0.0, 255.0) as u8;
        }
    }

    /// Writes a PNG to a temporary file next to `path`, then renames it.
    pub fn write_png(&self, path: &Path) -> Result<(), Failure> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder
            .write_header()
            .and_then(|mut writer| writer.write_image_data(self.pixels.as_flattened()))
            .map_err(|e| Failure::new(Class::Io, e.to_string(), Some(path.display().to_string())))?;
        write_atomically(path, &bytes)
    }
}

/// Writes `bytes` next to `path`, then renames: `path` is always the whole old or the whole new file.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let written = Temporary::create(path).and_then(|temporary| {
        temporary.file().write_all(bytes)?;
        temporary.publish()
    });
    written.map(drop).map_err(|error| Failure::io(path, &error))
}

/// Converts linear light to sRGB.
pub fn to_srgb(linear: [f32; 3]) -> Rgb {
    linear.map(|value| {
        let value = value.clamp(0.0, 1.0);
        let encoded =
            if value <= 0.003_130_8 { 12.92 * value } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
        (encoded * 255.0 + 0.5) as u8
    })
}

/// Converts sRGB to linear light.
pub fn to_linear(colour: Rgb) -> [f32; 3] {
    colour.map(|value| {
        let value = f32::from(value) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_survive_the_way_there_and_back() {
        for value in 0..=255u8 {
            assert_eq!(to_srgb(to_linear([value; 3])), [value; 3]);
        }
    }

    #[test]
    fn pasting_over_the_edge_cuts() {
        let mut image = Image::new(4, 4, [0; 3]);
        image.paste(&Image::new(3, 3, [9; 3]), 2, 3);
        assert_eq!(image.pixels.iter().filter(|p| **p == [9; 3]).count(), 2);
        image.paste(&Image::new(3, 3, [9; 3]), 7, 7);
    }
}
