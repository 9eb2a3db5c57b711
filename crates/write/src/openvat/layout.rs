//! The layout of texels. A texture has `frames` rows for the first vertices, as many as it has columns, then
//! as many rows for the next, and so on: a vertex has a column and a first row, and each frame is one row
//! further down. Packed normals begin at half of the height.

use meshreel_scene::Error;
use std::path::Path;

/// Largest width and height of a texture, which today's graphics cards support and Direct3D 11 demands.
pub const MAX_TEXELS: usize = 16384;

/// Up to this number of vertices and rows a frame is one row: the encoder in Blender supports no larger
/// sizes, and some readers no other layout.
const MAX_SINGLE_ROW_TEXELS: usize = 8192;

/// The smallest width of a texture with several rows per frame.
const MIN_WRAPPED_WIDTH: usize = 64;

/// The size of the textures, the same for all of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Width in texels.
    pub width: usize,
    /// Height in texels.
    pub height: usize,
    /// Rows per frame.
    pub wraps: usize,
    /// Number of frames.
    pub frames: usize,
    /// Number of vertices.
    pub vertices: usize,
    /// `true` if normals are in the same texture.
    pub packed: bool,
}

/// The content of a row of a texture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RowContent {
    /// Index of the frame.
    pub frame: usize,
    /// Index of the first vertex, at the left.
    pub vertex: usize,
    /// `true` for normals, `false` for positions.
    pub normals: bool,
}

impl Layout {
    /// Chooses the layout for these numbers of vertices and frames. `path` is for the error if no texture can
    /// hold them.
    pub fn new(path: &Path, vertices: usize, frames: usize, packed: bool) -> Result<Layout, Error> {
        let kinds = if packed { 2 } else { 1 };
        let layout = |width: usize, height, wraps| Layout { width, height, wraps, frames, vertices, packed };
        if vertices <= MAX_SINGLE_ROW_TEXELS && kinds * frames <= MAX_SINGLE_ROW_TEXELS {
            return Ok(layout(vertices, kinds * frames, 1));
        }
        let widths = (0..).map(|i| MIN_WRAPPED_WIDTH << i).take_while(|w| *w <= MAX_TEXELS);
        let sizes = widths.filter_map(|width| {
            let wraps = vertices.div_ceil(width);
            let rows = wraps.checked_mul(frames)?.checked_mul(kinds)?;
            let height = rows.checked_next_power_of_two()?;
            (height <= MAX_TEXELS).then(|| layout(width, height, wraps))
        });
        // The smallest size, and among equal ones the most square.
        let best = sizes.min_by_key(|l| (l.width * l.height, l.width.max(l.height)));
        best.ok_or_else(|| {
            let what = match packed {
                true => "texels, of positions and normals, in a texture of 16384 on a side; give --normals separate or none, fewer frames (compile --range, --fps), or fewer vertices (--lod)",
                false => "texels in a texture of 16384 on a side; give fewer frames (compile --range, --fps) or fewer vertices (--lod)",
            };
            let asked = (vertices as u64).saturating_mul(frames as u64).saturating_mul(kinds as u64);
            Error::limit(path, what, asked, (MAX_TEXELS * MAX_TEXELS) as u64)
        })
    }

    /// Returns the first row of packed normals.
    fn first_normal_row(&self) -> usize {
        self.height / 2
    }

    /// Returns the content of row `row` in the texture of positions, or (`normals`) in that of separate
    /// normals.
    pub(super) fn row(&self, row: usize, normals: bool) -> Option<RowContent> {
        let below = self.packed && row >= self.first_normal_row();
        let at = if below { row - self.first_normal_row() } else { row };
        let (wrap, frame) = (at / self.frames, at % self.frames);
        (wrap < self.wraps).then_some(RowContent {
            frame,
            vertex: wrap * self.width,
            normals: normals || below,
        })
    }

    /// Returns the vertices of a row that begins with `first`.
    pub(super) fn vertices_from(&self, first: usize) -> std::ops::Range<usize> {
        first..(first + self.width).min(self.vertices)
    }

    /// Returns the centre of a vertex's texel at the first frame; (0, 0) is the upper left corner of the
    /// texture, as in glTF.
    pub(super) fn uv(&self, vertex: usize) -> [f32; 2] {
        let (column, wrap) = (vertex % self.width, vertex / self.width);
        let middle = |texel: usize, size: usize| ((texel as f64 + 0.5) / size as f64) as f32;
        [middle(column, self.width), middle(wrap * self.frames, self.height)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(vertices: usize, frames: usize, packed: bool) -> Result<Layout, Error> {
        Layout::new(Path::new("x"), vertices, frames, packed)
    }

    #[test]
    fn small_ones_have_a_row_per_frame() {
        for (vertices, frames, packed) in [(1, 1, false), (8192, 8192, false), (8192, 4096, true)] {
            let l = layout(vertices, frames, packed).unwrap();
            assert_eq!((l.width, l.height, l.wraps), (vertices, frames * (1 + usize::from(packed)), 1));
        }
    }

    #[test]
    fn larger_ones_wrap_into_powers_of_two() {
        // 10,000 vertices in 1024 columns are 10 wraps of 100 rows: 1000 of 1024.
        let l = layout(10_000, 100, false).unwrap();
        assert_eq!((l.width, l.height, l.wraps), (1024, 1024, 10));
        let l = layout(10_000, 100, true).unwrap();
        assert_eq!(l.width * l.height, 2048 * 1024);
        assert!(l.wraps * 100 <= l.height / 2);
        // The largest possible size, and one more.
        let l = layout(16_384, 16_384, false).unwrap();
        assert_eq!((l.width, l.height), (16_384, 16_384));
        for refused in [(16_385, 16_384, false), (16_384, 8193, true), (1, 16_385, false)] {
            let error = layout(refused.0, refused.1, refused.2).unwrap_err();
            assert!(matches!(error, Error::Limit { .. }), "{error}");
            assert_eq!(error.to_string().contains("--normals"), refused.2, "{error}");
        }
    }

    #[test]
    fn every_texel_is_of_one_vertex_and_frame() {
        for (vertices, frames, packed) in [(7, 3, false), (7, 3, true), (8200, 5, false), (9000, 9, true)] {
            let l = layout(vertices, frames, packed).unwrap();
            let mut seen = std::collections::HashSet::new();
            for (y, row) in (0..l.height).filter_map(|y| Some((y, l.row(y, false)?))) {
                for (x, vertex) in l.vertices_from(row.vertex).enumerate() {
                    assert!(seen.insert((row.frame, vertex, row.normals)));
                    // The same computation as in a reader.
                    let [u, v] = l.uv(vertex);
                    let v = f64::from(v) + row.frame as f64 / l.height as f64;
                    let v = v + if row.normals { 0.5 } else { 0.0 };
                    let texel = (f64::from(u) * l.width as f64, v * l.height as f64);
                    assert_eq!((texel.0 as usize, texel.1 as usize), (x, y));
                }
            }
            assert_eq!(seen.len(), vertices * frames * if packed { 2 } else { 1 });
        }
    }
}
