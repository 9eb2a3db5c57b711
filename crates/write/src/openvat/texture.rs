//! Writes the texels of all frames in stretches of rows that fit into a fixed amount of memory, and reads
//! them back to measure their error.

use super::combined::CombinedMesh;
use super::image::{ImageFormat, ImageReader, ImageWriter};
use super::layout::Layout;
use crate::Temporary;
use glam::DVec3;
use meshreel_scene::Error;
use std::ops::Range;

/// Bytes of rows that are held at once.
const MAX_BUFFERED_BYTES: usize = 64 << 20;

/// Lowest and highest offset of any vertex from its place in the proxy, in Blender's axes, exact in f32.
#[derive(Debug, Clone, Copy)]
pub(super) struct Remap {
    pub low: DVec3,
    pub high: DVec3,
}

/// Converts from glTF's axes to Blender's, in which the textures are: up is z.
pub(super) fn to_blender(v: DVec3) -> DVec3 {
    DVec3::new(v.x, -v.z, v.y)
}

/// Converts from Blender's axes to glTF's.
pub(super) fn to_gltf(v: DVec3) -> DVec3 {
    DVec3::new(v.x, v.z, -v.y)
}

impl Remap {
    /// Returns the smallest range that contains these offsets.
    pub fn around(low: DVec3, high: DVec3) -> Remap {
        let down = |v: f64| {
            let near = v as f32;
            f64::from(if f64::from(near) > v { near.next_down() } else { near })
        };
        let numbers = |v: DVec3, down: &dyn Fn(f64) -> f64| DVec3::from_array(v.to_array().map(down));
        Remap { low: numbers(low, &down), high: numbers(high, &|v| -down(-v)) }
    }

    /// Returns an offset as a fraction of the range along each axis, 0 to 1; 0 if nothing moves that way.
    fn fraction(&self, offset: DVec3) -> [f64; 3] {
        let size = self.high - self.low;
        let of = |i: usize| match size[i] > 0.0 {
            true => ((offset[i] - self.low[i]) / size[i]).clamp(0.0, 1.0),
            false => 0.0,
        };
        [of(0), of(1), of(2)]
    }

    /// Returns the offset as readers compute it.
    fn offset(&self, share: [f64; 3]) -> DVec3 {
        self.low + DVec3::from_array(share) * (self.high - self.low)
    }
}

/// The content of one texture.
pub(super) struct Texture<'t> {
    pub file: &'t Temporary,
    pub image: ImageFormat,
    pub layout: &'t Layout,
    /// `true` for normals alone; else positions, and normals if they are packed.
    pub normals: bool,
    pub remap: &'t Remap,
    /// Positions of the vertices in the proxy.
    pub proxy: &'t [[f32; 3]],
}

/// The largest errors of a texture.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TextureErrors {
    /// Position error in metres; the placed mesh and the frame.
    pub position: (f64, usize, usize),
    /// Normal error in degrees.
    pub normal: f64,
}

impl Texture<'_> {
    fn size(&self) -> (usize, usize) {
        (self.layout.width, self.layout.height)
    }

    fn row_bytes(&self) -> usize {
        self.image.row_bytes(self.layout.width)
    }

    /// Splits the rows into stretches.
    fn stretches(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let (rows, height) = ((MAX_BUFFERED_BYTES / self.row_bytes()).max(1), self.layout.height);
        (0..height).step_by(rows).map(move |first| first..(first + rows).min(height))
    }

    /// Returns the frames in the rows of a stretch, each with its rows.
    fn frames(&self, stretch: &Range<usize>) -> Vec<(usize, Vec<usize>)> {
        let mut rows: Vec<Vec<usize>> = vec![Vec::new(); self.layout.frames];
        for y in stretch.clone() {
            if let Some(row) = self.layout.row(y, self.normals) {
                rows[row.frame].push(y);
            }
        }
        rows.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()).collect()
    }

    /// Returns the number of frame evaluations needed for all rows.
    pub fn evaluation_count(&self) -> usize {
        self.stretches().map(|stretch| self.frames(&stretch).len()).sum()
    }

    /// Writes all rows; `done` is called once per evaluated frame.
    pub fn write(&self, combined: &mut CombinedMesh<'_>, done: &mut dyn FnMut()) -> Result<(), Error> {
        let mut out = ImageWriter::start(self.image, self.file, self.size())?;
        let mut held = Vec::new();
        for stretch in self.stretches() {
            held.clear();
            held.resize(stretch.len() * self.row_bytes(), 0);
            for (frame, rows) in self.frames(&stretch) {
                combined.evaluate(frame)?;
                for y in rows {
                    let at = (y - stretch.start) * self.row_bytes();
                    self.fill(y, &mut held[at..at + self.row_bytes()], combined);
                }
                done();
            }
            out.write(&held)?;
        }
        out.finish()
    }

    fn fill(&self, y: usize, bytes: &mut [u8], combined: &CombinedMesh<'_>) {
        let Some(row) = self.layout.row(y, self.normals) else {
            return;
        };
        for (x, vertex) in self.layout.vertices_from(row.vertex).enumerate() {
            let share = match row.normals {
                true => to_blender(combined.normals[vertex]).to_array().map(|v| 0.5 * v + 0.5),
                false => {
                    let base = DVec3::from_array(self.proxy[vertex].map(f64::from));
                    self.remap.fraction(to_blender(combined.positions[vertex] - base))
                }
            };
            self.image.write_texel(bytes, x, share);
        }
    }

    /// Reads all rows back and compares them with the evaluated frames.
    pub fn measure(
        &self,
        combined: &mut CombinedMesh<'_>,
        done: &mut dyn FnMut(),
        errors: &mut TextureErrors,
    ) -> Result<(), Error> {
        let mut input = ImageReader::start(self.image, self.file, self.size())?;
        let mut held = Vec::new();
        for stretch in self.stretches() {
            held.resize(stretch.len() * self.row_bytes(), 0);
            for row in held.chunks_exact_mut(self.row_bytes()) {
                input.read(self.file.target(), row)?;
            }
            for (frame, rows) in self.frames(&stretch) {
                combined.evaluate(frame)?;
                for y in rows {
                    let at = (y - stretch.start) * self.row_bytes();
                    self.compare(y, &held[at..at + self.row_bytes()], combined, errors);
                }
                done();
            }
        }
        Ok(())
    }

    fn compare(&self, y: usize, bytes: &[u8], combined: &CombinedMesh<'_>, errors: &mut TextureErrors) {
        let Some(row) = self.layout.row(y, self.normals) else {
            return;
        };
        let mut placed_mesh = combined.placed_meshes.partition_point(|p| p.first <= row.vertex) - 1;
        for (x, vertex) in self.layout.vertices_from(row.vertex).enumerate() {
            while combined.placed_meshes.get(placed_mesh + 1).is_some_and(|next| next.first <= vertex) {
                placed_mesh += 1;
            }
            if !combined.placed_meshes[placed_mesh].visible {
                continue;
            }
            let share = self.image.read_texel(bytes, x);
            if row.normals {
                let found = to_gltf(DVec3::from_array(share.map(|v| 2.0 * v - 1.0)));
                errors.normal = errors.normal.max(found.angle_between(combined.normals[vertex]).to_degrees());
            } else {
                let base = DVec3::from_array(self.proxy[vertex].map(f64::from));
                let found = base + to_gltf(self.remap.offset(share));
                let off = found.distance(combined.positions[vertex]);
                if off > errors.position.0 {
                    errors.position = (off, placed_mesh, row.frame);
                }
            }
        }
    }
}
