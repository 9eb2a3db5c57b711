//! Animated PNG (PNG, third edition, "Animated PNG"): pictures of one size with a palette of 256 colours, each
//! stored where it differs from the one before.

use super::image::{Image, Rgb, write_atomically};
use crate::output::{Class, Failure};
use color_quant::NeuQuant;
use std::collections::HashMap;
use std::path::Path;

/// The number of pictures that the palette is made from.
pub const PALETTE_PICTURES: usize = 8;
/// Number of pixels per sample of the quantizer, 1 (best) to 30.
const SAMPLING: i32 = 5;
/// The longest duration of a picture that the file can hold, in milliseconds.
const MAX_MILLISECONDS: f64 = 65_535.0;

/// A palette, and the entry of each colour met so far.
struct Palette {
    quantizer: NeuQuant,
    entries: HashMap<Rgb, u8>,
}

impl Palette {
    fn new(pictures: &[Image]) -> Palette {
        let pixels = pictures.iter().flat_map(|picture| &picture.pixels);
        let rgba: Vec<u8> = pixels.flat_map(|&[r, g, b]| [r, g, b, 255]).collect();
        Palette { quantizer: NeuQuant::new(SAMPLING, 256, &rgba), entries: HashMap::new() }
    }

    fn entry(&mut self, colour: Rgb) -> u8 {
        let [r, g, b] = colour;
        let quantizer = &self.quantizer;
        *self.entries.entry(colour).or_insert_with(|| quantizer.index_of(&[r, g, b, 255]) as u8)
    }
}

/// The part of a picture that differs from the one before.
#[derive(Debug, PartialEq)]
struct Change {
    x: usize,
    y: usize,
    width: usize,
    height: usize,
}

/// Returns the smallest rectangle outside of which two pictures of `width` pixels per row are equal; one pixel
/// if they are equal everywhere.
fn changed_part(before: &[u8], after: &[u8], width: usize) -> Change {
    let differs = |at: &usize| before[*at] != after[*at];
    let (mut x, mut y) = ([usize::MAX, 0], [usize::MAX, 0]);
    for at in (0..after.len()).filter(differs) {
        for (range, at) in [(&mut x, at % width), (&mut y, at / width)] {
            *range = [range[0].min(at), range[1].max(at)];
        }
    }
    if x[0] == usize::MAX {
        (x, y) = ([0; 2], [0; 2]);
    }
    Change { x: x[0], y: y[0], width: x[1] + 1 - x[0], height: y[1] + 1 - y[0] }
}

/// Writes an animation that repeats for ever. `draw` returns the picture of a number below the number of
/// `seconds`, which are the durations of the pictures; it is called several times for some. `progress` gets the
/// number of pictures done. Returns the bytes written.
pub fn write(
    path: &Path,
    [width, height]: [usize; 2],
    seconds: &[f64],
    mut draw: impl FnMut(usize) -> Result<Image, Failure>,
    progress: impl Fn(usize),
) -> Result<usize, Failure> {
    let count = seconds.len();
    let step = count.div_ceil(PALETTE_PICTURES).max(1);
    let samples: Vec<Image> = (0..count).step_by(step).map(&mut draw).collect::<Result<_, _>>()?;
    let mut palette = Palette::new(&samples);
    drop(samples);

    let failed =
        |e: png::EncodingError| Failure::new(Class::Io, e.to_string(), Some(path.display().to_string()));
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette.quantizer.color_map_rgb());
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    encoder.set_animated(count as u32, 0).map_err(failed)?;
    let mut writer = encoder.write_header().map_err(failed)?;
    let mut before: Vec<u8> = Vec::new();
    for (i, &duration) in seconds.iter().enumerate() {
        let picture = draw(i)?;
        let after: Vec<u8> = picture.pixels.iter().map(|&colour| palette.entry(colour)).collect();
        let milliseconds = (duration * 1000.0).round().clamp(1.0, MAX_MILLISECONDS);
        writer.set_frame_delay(milliseconds as u16, 1000).map_err(failed)?;
        // The first picture is whole, as programs that know no animation show it.
        let part = match i {
            0 => Change { x: 0, y: 0, width, height },
            _ => changed_part(&before, &after, width),
        };
        if i > 0 {
            writer.reset_frame_position().map_err(failed)?;
            writer.set_frame_dimension(part.width as u32, part.height as u32).map_err(failed)?;
            writer.set_frame_position(part.x as u32, part.y as u32).map_err(failed)?;
        }
        let rows = after.chunks(width).skip(part.y).take(part.height);
        let stored: Vec<u8> = rows.flat_map(|row| &row[part.x..][..part.width]).copied().collect();
        writer.write_image_data(&stored).map_err(failed)?;
        before = after;
        progress(i + 1);
    }
    writer.finish().map_err(failed)?;
    write_atomically(path, &bytes)?;
    Ok(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A square that moves to the right over two colours.
    fn picture(i: usize) -> Image {
        let mut image = Image::new(40, 20, [250, 250, 250]);
        image.fill(0, 10, 40, 10, [20, 60, 200]);
        image.fill(2 * i, 5, 10, 10, [200, 30, 40]);
        image
    }

    #[test]
    fn an_animation_is_read_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("square.png");
        let durations = [0.04, 0.04, 0.5, 100.0];
        let bytes = write(&path, [40, 20], &durations, |i| Ok(picture(i.min(2))), |_| ()).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().len(), bytes as u64);

        let file = std::io::BufReader::new(std::fs::File::open(&path).unwrap());
        let mut decoder = png::Decoder::new(file);
        decoder.set_transformations(png::Transformations::EXPAND);
        let mut reader = decoder.read_info().unwrap();
        assert_eq!(reader.info().animation_control().unwrap().num_frames, 4);
        let mut shown = picture(0);
        for (i, milliseconds) in [40, 40, 500, 65_535].into_iter().enumerate() {
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            let control = *reader.info().frame_control().unwrap();
            assert_eq!((control.delay_num, control.delay_den), (milliseconds, 1000));
            let [x, y, width, height] =
                [control.x_offset, control.y_offset, control.width, control.height].map(|v| v as usize);
            let stored: Vec<Rgb> =
                pixels[..3 * width * height].chunks(3).map(|p| [p[0], p[1], p[2]]).collect();
            shown.paste(&Image { width, height, pixels: stored }, x, y);
            assert!(i == 0 || width * height < 300, "only what differs is stored");
            let expected = picture(i.min(2));
            let far = |(a, b): (&Rgb, &Rgb)| a.iter().zip(b).any(|(a, b)| a.abs_diff(*b) > 4);
            assert!(!shown.pixels.iter().zip(&expected.pixels).any(far), "picture {i}");
        }
    }

    #[test]
    fn equal_pictures_store_one_pixel() {
        let part = changed_part(&[1, 2, 3, 4], &[1, 2, 3, 4], 2);
        assert_eq!(part, Change { x: 0, y: 0, width: 1, height: 1 });
        let part = changed_part(&[1, 2, 3, 4], &[1, 9, 3, 9], 2);
        assert_eq!(part, Change { x: 1, y: 0, width: 1, height: 2 });
    }
}
