//! Textures written row by row: 16-bit PNG, or uncompressed 32-bit OpenEXR. Three numbers from 0 to 1 per
//! texel.

use crate::Temporary;
use meshreel_scene::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::str::FromStr;

/// The image format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImageFormat {
    /// 16 bits per channel.
    #[default]
    Png,
    /// 32-bit floats per channel, for loaders that keep only 8 bits of a PNG, and for values that need more
    /// than 16.
    Exr,
}

impl FromStr for ImageFormat {
    type Err = String;
    fn from_str(text: &str) -> Result<ImageFormat, String> {
        match text {
            "png" => Ok(ImageFormat::Png),
            "exr" => Ok(ImageFormat::Exr),
            _ => Err(format!("'{text}' is no kind of texture: give one of: png, exr")),
        }
    }
}

/// The largest 16-bit value.
const MAX_U16: f64 = 65535.0;

/// Returns the bytes of an EXR before its offsets: magic number, version, attributes.
fn exr_head(width: usize, height: usize) -> Vec<u8> {
    let mut out = 20_000_630u32.to_le_bytes().to_vec();
    out.extend(2u32.to_le_bytes());
    let mut attribute = |name: &str, kind: &str, value: &[u8]| {
        out.extend(name.bytes().chain([0]).chain(kind.bytes()).chain([0]));
        out.extend((value.len() as u32).to_le_bytes());
        out.extend(value);
    };
    let mut channels = Vec::new();
    for name in *b"BGR" {
        channels.extend([name, 0]);
        // Float, linear, reserved, sampling 1 and 1.
        for word in [2u32, 0, 1, 1] {
            channels.extend(word.to_le_bytes());
        }
    }
    channels.push(0);
    let edges = [0, 0, width as u32 - 1, height as u32 - 1];
    let window: Vec<u8> = edges.iter().flat_map(|v| v.to_le_bytes()).collect();
    attribute("channels", "chlist", &channels);
    attribute("compression", "compression", &[0]);
    attribute("dataWindow", "box2i", &window);
    attribute("displayWindow", "box2i", &window);
    attribute("lineOrder", "lineOrder", &[0]);
    attribute("pixelAspectRatio", "float", &1f32.to_le_bytes());
    attribute("screenWindowCenter", "v2f", &[0; 8]);
    attribute("screenWindowWidth", "float", &1f32.to_le_bytes());
    out.push(0);
    out
}

impl ImageFormat {
    /// Returns the file extension.
    pub fn extension(self) -> &'static str {
        match self {
            ImageFormat::Png => "png",
            ImageFormat::Exr => "exr",
        }
    }

    /// Returns the bytes of a row.
    pub(super) fn row_bytes(self, width: usize) -> usize {
        width
            * match self {
                ImageFormat::Png => 6,
                ImageFormat::Exr => 12,
            }
    }

    /// Writes a texel, each number from 0 to 1, into a row.
    pub(super) fn write_texel(self, row: &mut [u8], x: usize, values: [f64; 3]) {
        match self {
            ImageFormat::Png => {
                let words = values.map(|v| ((v * MAX_U16).round() as u16).to_be_bytes());
                row[6 * x..6 * x + 6].copy_from_slice(words.as_flattened());
            }
            ImageFormat::Exr => {
                let width = row.len() / 12;
                // Channels are stored separately in alphabetical order: blue, green, red.
                for (channel, value) in values.into_iter().rev().enumerate() {
                    let at = 4 * (channel * width + x);
                    row[at..at + 4].copy_from_slice(&(value as f32).to_le_bytes());
                }
            }
        }
    }

    /// Reads the texel at `x` of a row.
    pub(super) fn read_texel(self, row: &[u8], x: usize) -> [f64; 3] {
        std::array::from_fn(|channel| match self {
            ImageFormat::Png => {
                let at = 6 * x + 2 * channel;
                f64::from(u16::from_be_bytes([row[at], row[at + 1]])) / MAX_U16
            }
            ImageFormat::Exr => {
                let at = 4 * ((2 - channel) * (row.len() / 12) + x);
                f64::from(f32::from_le_bytes([row[at], row[at + 1], row[at + 2], row[at + 3]]))
            }
        })
    }
}

/// The encoder that receives the rows of an image.
enum Rows<'a> {
    /// Buffers a chunk itself.
    Png(Box<png::StreamWriter<'static, File>>),
    Exr(BufWriter<&'a File>, u32),
}

/// Writes an image to `file`, rows from the top.
pub(super) struct ImageWriter<'a> {
    rows: Rows<'a>,
    target: &'a Path,
    row: usize,
}

impl<'a> ImageWriter<'a> {
    pub fn start(
        image: ImageFormat,
        file: &'a Temporary,
        (width, height): (usize, usize),
    ) -> Result<ImageWriter<'a>, Error> {
        let target = file.target();
        let rows = match image {
            ImageFormat::Png => {
                let own = file.file().try_clone().map_err(|e| Error::io(target, e))?;
                let mut encoder = png::Encoder::new(own, width as u32, height as u32);
                encoder.set_color(png::ColorType::Rgb);
                encoder.set_depth(png::BitDepth::Sixteen);
                let writer = encoder.write_header().map_err(|e| png_error(target, e))?;
                Rows::Png(Box::new(
                    writer.into_stream_writer_with_size(1 << 16).map_err(|e| png_error(target, e))?,
                ))
            }
            ImageFormat::Exr => {
                let mut head = exr_head(width, height);
                let (data, row) = (head.len() + 8 * height, 8 + image.row_bytes(width));
                head.extend((0..height).flat_map(|y| ((data + y * row) as u64).to_le_bytes()));
                let mut out = BufWriter::new(file.file());
                out.write_all(&head).map_err(|e| Error::io(target, e))?;
                Rows::Exr(out, 0)
            }
        };
        Ok(ImageWriter { rows, target, row: image.row_bytes(width) })
    }

    /// Writes one or more whole rows.
    pub fn write(&mut self, rows: &[u8]) -> Result<(), Error> {
        let done = match &mut self.rows {
            Rows::Png(writer) => writer.write_all(rows),
            Rows::Exr(out, y) => rows.chunks_exact(self.row).try_for_each(|row| {
                out.write_all(&y.to_le_bytes())?;
                out.write_all(&(row.len() as u32).to_le_bytes())?;
                *y += 1;
                out.write_all(row)
            }),
        };
        done.map_err(|e| Error::io(self.target, e))
    }

    /// Finishes the image after its last row.
    pub fn finish(self) -> Result<(), Error> {
        match self.rows {
            Rows::Png(writer) => writer.finish().map_err(|e| png_error(self.target, e)),
            Rows::Exr(mut out, _) => out.flush().map_err(|e| Error::io(self.target, e)),
        }
    }
}

/// Reads the rows of a written image.
pub(super) enum ImageReader<'a> {
    Png(Box<png::Reader<BufReader<&'a File>>>),
    Exr(BufReader<&'a File>),
}

impl<'a> ImageReader<'a> {
    pub fn start(
        image: ImageFormat,
        file: &'a Temporary,
        (width, height): (usize, usize),
    ) -> Result<ImageReader<'a>, Error> {
        let mut input = file.file();
        let start = match image {
            ImageFormat::Png => 0,
            ImageFormat::Exr => exr_head(width, height).len() + 8 * height,
        };
        input.seek(SeekFrom::Start(start as u64)).map_err(|e| Error::io(file.target(), e))?;
        let input = BufReader::new(input);
        Ok(match image {
            ImageFormat::Png => {
                let reader = png::Decoder::new(input).read_info();
                ImageReader::Png(Box::new(reader.map_err(|e| read_error(file.target(), &e))?))
            }
            ImageFormat::Exr => ImageReader::Exr(input),
        })
    }

    /// Reads the next row.
    pub fn read(&mut self, target: &Path, row: &mut [u8]) -> Result<(), Error> {
        match self {
            ImageReader::Png(reader) => {
                let next = reader.read_row(row).map_err(|e| read_error(target, &e))?;
                next.map(|_| ()).ok_or_else(|| Error::malformed(target, "a row is missing", "its end"))
            }
            ImageReader::Exr(input) => {
                let mut head = [0; 8];
                let read = input.read_exact(&mut head).and_then(|()| input.read_exact(row));
                read.map_err(|e| Error::io(target, e))
            }
        }
    }
}

fn png_error(target: &Path, error: png::EncodingError) -> Error {
    match error {
        png::EncodingError::IoError(error) => Error::io(target, error),
        other => Error::misuse(format!("{}: {other}", target.display())),
    }
}

/// The error if a written image cannot be read back.
fn read_error(target: &Path, error: &png::DecodingError) -> Error {
    Error::malformed(target, format!("what was written reads otherwise: {error}"), "PNG")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back() {
        let folder = tempfile::tempdir().unwrap();
        for image in [ImageFormat::Png, ImageFormat::Exr] {
            let (width, height) = (5, 7);
            let value = |x: usize, y: usize| [x as f64 / 5.0, y as f64 / 7.0, ((x * y) % 3) as f64 / 2.0];
            let file = Temporary::create(&folder.path().join("a")).unwrap();
            let mut rows = vec![0; image.row_bytes(width) * height];
            for (y, row) in rows.chunks_exact_mut(image.row_bytes(width)).enumerate() {
                (0..width).for_each(|x| image.write_texel(row, x, value(x, y)));
            }
            let mut out = ImageWriter::start(image, &file, (width, height)).unwrap();
            let (first, rest) = rows.split_at(3 * image.row_bytes(width));
            out.write(first).unwrap();
            out.write(rest).unwrap();
            out.finish().unwrap();
            let mut input = ImageReader::start(image, &file, (width, height)).unwrap();
            for y in 0..height {
                let mut row = vec![0; image.row_bytes(width)];
                input.read(file.target(), &mut row).unwrap();
                for x in 0..width {
                    let (found, expected) = (image.read_texel(&row, x), value(x, y));
                    let off = (0..3).map(|i| (found[i] - expected[i]).abs()).fold(0.0, f64::max);
                    let allowed = if image == ImageFormat::Png { 0.5001 / MAX_U16 } else { 6e-8 };
                    assert!(off <= allowed, "{image:?} {found:?} {expected:?}");
                }
            }
        }
    }
}
