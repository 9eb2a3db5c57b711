//! Rigid parts in a form that a graphics card reads directly: vertices and indices in groups of few parts,
//! and per frame 12 bytes for each part that moves. The functions here are the reference; a shader computes
//! the same.
//!
//! ```text
//! vertex   part = parts[group.first_part + vertex.part]
//!          part < left: words = end_transforms[part], box = end_bounds · part ≥ right: stands at middles[part] + vertex.place · else words = transforms[part − left], box of the frame
//! words    see packed transforms in `docs/FORMAT/mesh.md`; position = low + size·v/65535 + rotation·(scale·s/65535 · vertex.place), in the mesh's space
//! ```

use crate::Error;
use crate::decode::decoder::FrameDecoder;
use crate::decode::mesh::MeshView;
use meshreel_codec::mesh::skin::packed::rotation;
pub use meshreel_codec::mesh::skin::packed::{Bounds, PackedTransform};
use meshreel_codec::record::Method;
use std::collections::HashMap;

/// The largest number of parts of a group: the threads of the smallest wave.
pub const GROUP_PARTS: usize = 64;
/// The largest number of vertices of a group: indices are 16 bits.
pub const GROUP_VERTICES: usize = 1 << 16;

/// A vertex of a part.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct PackedVertex {
    /// Position at rest, relative to the middle of its part.
    pub place: [f32; 3],
    /// The index of its part among those of its group.
    pub part: u32,
}

/// Triangles of one material and few parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
#[allow(missing_docs)]
pub struct PackedGroup {
    pub material: u32,
    pub first_vertex: u32,
    pub vertices: u32,
    pub first_index: u32,
    pub indices: u32,
    /// The first of its parts in [`PackedRig::parts`], and their number.
    pub first_part: u32,
    pub parts: u32,
    pub spare: u32,
}

/// The packed transforms of one frame.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PackedFrame<'a> {
    /// Parts with a lower number have stopped: their transforms are in [`PackedRig::end_transforms`].
    pub left: usize,
    /// Parts from this number on have not moved yet.
    pub right: usize,
    /// The box in which the positions of the transforms are quantized.
    pub bounds: Bounds,
    /// Transforms of the parts from `left` to `right`, which move in this frame.
    pub transforms: &'a [PackedTransform],
}

/// The header of a frame in [`PackedSequence`].
#[derive(Clone, Copy, Debug, Default, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
#[allow(missing_docs)]
pub struct PackedFrameHeader {
    /// Index of its first transform in the buffer.
    pub first: u32,
    /// `left` in the low half, `right` in the high one.
    pub edges: u32,
    pub low: [f32; 3],
    pub size: [f32; 3],
}

/// The packed transforms of all frames in one buffer.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PackedSequence {
    /// Per frame the location of its transforms.
    pub offsets: Vec<PackedFrameHeader>,
    /// Packed transforms of all frames, one after the other.
    pub transforms: Vec<PackedTransform>,
}

/// The vertices, triangles and parts of a mesh with packed transforms, which are the same in all frames.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PackedRig {
    /// Vertices in groups; a vertex is repeated in each group that draws it.
    pub vertices: Vec<PackedVertex>,
    /// Per vertex its number in the mesh, by which its other attributes are found.
    pub sources: Vec<u32>,
    /// Three per triangle, relative to the group's first vertex.
    pub indices: Vec<u16>,
    /// Groups of at most 64 parts, one draw call each.
    pub groups: Vec<PackedGroup>,
    /// Parts of the groups, one group after the other.
    pub parts: Vec<u16>,
    /// Per part its middle at rest.
    pub middles: Vec<[f32; 3]>,
    /// Per part its packed transform once it has stopped.
    pub end_transforms: Vec<PackedTransform>,
    /// The box in which the positions of `end_transforms` are quantized.
    pub end_bounds: Bounds,
    /// The largest scale of any part in any frame.
    pub scale: f32,
    /// The number of points for which the parts alone exceed the tolerance; in frames of a decoder these have
    /// a residual.
    pub inexact_points: usize,
}

impl<'a> MeshView<'a> {
    /// Returns the packed transforms of this frame; `None` if the mesh has none, or no frame was decoded.
    #[must_use]
    pub fn packed(&self) -> Option<PackedFrame<'a>> {
        self.bones()?.skin.packed.as_ref()?;
        let words = self.bone_states()?;
        let (head, rest) = words.split_first_chunk::<7>()?;
        let (left, right) = (head[0] & 0xFFFF, head[0] >> 16);
        let [low, size] = [1, 4].map(|at| [0, 1, 2].map(|k| f32::from_bits(head[at + k])));
        let (all, _) = rest.as_chunks::<3>();
        Some(PackedFrame {
            left: left as usize,
            right: right as usize,
            bounds: Bounds { low, size },
            transforms: all.get(..right.checked_sub(left)? as usize)?,
        })
    }
}

fn not_packed() -> Error {
    Error::misuse("this mesh has no packed transforms: compile it with --transforms packed")
}

impl PackedRig {
    /// Collects the parts of a mesh. A misuse error if its transforms are not packed, or if bones of another
    /// kind move some of it.
    pub fn new(mesh: &MeshView<'_>) -> Result<PackedRig, Error> {
        let bones = mesh.bones().and_then(|b| Some((b, b.skin.packed.as_ref()?)));
        let Some((bones, packed)) = bones else {
            return Err(not_packed());
        };
        let skin = bones.skin;
        if mesh.record().method != Method::Rigid {
            return Err(Error::misuse(
                "several bones move a point of this mesh: packed transforms are for rigid parts",
            ));
        }
        let mut out = PackedRig {
            middles: (skin.rig.regions.iter()).map(|r| r.middle.map(|v| v as f32)).collect(),
            end_transforms: packed.end_states.clone(),
            end_bounds: packed.bounds,
            scale: packed.scale,
            inexact_points: skin.rig.coded.len(),
            ..PackedRig::default()
        };
        // Vertices that no part moves are given to a part that never begins to move.
        let still = out.middles.len();
        out.middles.push([0.0; 3]);
        let bone = |vertex: u32| {
            let own = bones.influences(vertex as usize).next();
            own.map_or(still, |(bone, _)| bone)
        };
        for (material, range) in mesh.materials().iter().enumerate() {
            let first = range.first as usize;
            let indices = mesh.indices().get(first..first + range.count as usize);
            let (triangles, _) = indices.unwrap_or_default().as_chunks::<3>();
            let mut order: Vec<&[u32; 3]> = triangles.iter().collect();
            order.sort_by_key(|t| bone(t[0]));
            let mut group = GroupBuilder::new(material as u32);
            for triangle in order {
                if !group.has_room(triangle, &bone) {
                    group.finish(&mut out);
                    group = GroupBuilder::new(material as u32);
                }
                for &vertex in triangle {
                    let part = bone(vertex);
                    let rest = bones.rest_position(vertex as usize);
                    let middle = out.middles[part];
                    let place = [0, 1, 2].map(|k| rest[k] - middle[k]);
                    group.add(vertex, part, place);
                }
            }
            group.finish(&mut out);
        }
        Ok(out)
    }

    /// Writes the vertices of a frame in the mesh's space. This is the reference of a shader, in f32 as
    /// there.
    pub fn pose(&self, frame: &PackedFrame<'_>, out: &mut [[f32; 3]]) {
        for group in &self.groups {
            let parts = &self.parts[group.first_part as usize..][..group.parts as usize];
            let range = group.first_vertex as usize..(group.first_vertex + group.vertices) as usize;
            let (Some(vertices), Some(out)) = (self.vertices.get(range.clone()), out.get_mut(range)) else {
                return;
            };
            for (vertex, out) in vertices.iter().zip(out) {
                let part = usize::from(parts[vertex.part as usize]);
                let words = match self.end_transforms.get(part) {
                    Some(end) if part < frame.left => Some((end, &self.end_bounds)),
                    Some(_) if part < frame.right => {
                        (frame.transforms.get(part - frame.left)).map(|words| (words, &frame.bounds))
                    }
                    _ => None,
                };
                *out = match words {
                    Some((words, bounds)) => self.transform_point(*words, bounds, vertex.place),
                    None => [0, 1, 2].map(|k| self.middles[part][k] + vertex.place[k]),
                };
            }
        }
    }

    fn transform_point(&self, [turn, xy, zs]: PackedTransform, bounds: &Bounds, at: [f32; 3]) -> [f32; 3] {
        let [x, y, z, w] = rotation(turn).map(|v| v as f32);
        let scale = self.scale * ((zs >> 16) as f32 / 65535.0);
        let p = at.map(|v| v * scale);
        // p + 2w(v × p) + 2v × (v × p)
        let cross = |a: [f32; 3], b: [f32; 3]| {
            [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
        };
        let t = cross([x, y, z], p).map(|v| v * 2.0);
        let u = cross([x, y, z], t);
        let middle = [xy & 0xFFFF, xy >> 16, zs & 0xFFFF];
        [0, 1, 2].map(|k| {
            let middle = bounds.low[k] + bounds.size[k] * (middle[k] as f32 / 65535.0);
            middle + (p[k] + w * t[k] + u[k])
        })
    }
}

impl PackedSequence {
    /// Reads all frames of a mesh. A misuse error if its transforms are not packed.
    pub fn read(decoder: &mut FrameDecoder, mesh: usize) -> Result<PackedSequence, Error> {
        let mut out = PackedSequence::default();
        for frame in 0..decoder.reel().frame_count() {
            decoder.decode(frame)?;
            let Some(packed) = decoder.mesh(mesh).packed() else {
                return Err(not_packed());
            };
            out.offsets.push(PackedFrameHeader {
                first: out.transforms.len() as u32,
                edges: packed.left as u32 | (packed.right as u32) << 16,
                low: packed.bounds.low,
                size: packed.bounds.size,
            });
            out.transforms.extend_from_slice(packed.transforms);
        }
        Ok(out)
    }

    /// Returns a frame; `None` if there is no such frame.
    #[must_use]
    pub fn frame(&self, frame: usize) -> Option<PackedFrame<'_>> {
        let offset = self.offsets.get(frame)?;
        let (left, right) = (offset.edges & 0xFFFF, offset.edges >> 16);
        let transforms = self.transforms.get(offset.first as usize..)?;
        Some(PackedFrame {
            left: left as usize,
            right: right as usize,
            bounds: Bounds { low: offset.low, size: offset.size },
            transforms: transforms.get(..right.checked_sub(left)? as usize)?,
        })
    }
}

/// A group that is being made.
struct GroupBuilder {
    material: u32,
    vertices: Vec<PackedVertex>,
    sources: Vec<u32>,
    indices: Vec<u16>,
    parts: Vec<u16>,
    known: HashMap<u32, u16>,
}

impl GroupBuilder {
    fn new(material: u32) -> GroupBuilder {
        GroupBuilder {
            material,
            vertices: Vec::new(),
            sources: Vec::new(),
            indices: Vec::new(),
            parts: Vec::new(),
            known: HashMap::new(),
        }
    }

    fn has_room(&self, triangle: &[u32; 3], bone: &impl Fn(u32) -> usize) -> bool {
        let mut more: Vec<usize> = triangle.iter().map(|&v| bone(v)).collect();
        more.sort_unstable();
        more.dedup();
        more.retain(|&part| !self.parts.contains(&(part as u16)));
        self.parts.len() + more.len() <= GROUP_PARTS && self.vertices.len() + 3 <= GROUP_VERTICES
    }

    fn add(&mut self, vertex: u32, part: usize, place: [f32; 3]) {
        let number = *self.known.entry(vertex).or_insert_with(|| {
            // A u16 is enough for at most 65,535 bones and the part that stands still.
            let part = part as u16;
            let at = self.parts.iter().position(|&p| p == part);
            let at = at.unwrap_or_else(|| {
                self.parts.push(part);
                self.parts.len() - 1
            });
            self.sources.push(vertex);
            self.vertices.push(PackedVertex { place, part: at as u32 });
            (self.vertices.len() - 1) as u16
        });
        self.indices.push(number);
    }

    fn finish(self, out: &mut PackedRig) {
        if self.indices.is_empty() {
            return;
        }
        out.groups.push(PackedGroup {
            material: self.material,
            first_vertex: out.vertices.len() as u32,
            vertices: self.vertices.len() as u32,
            first_index: out.indices.len() as u32,
            indices: self.indices.len() as u32,
            first_part: out.parts.len() as u32,
            parts: self.parts.len() as u32,
            spare: 0,
        });
        out.vertices.extend(self.vertices);
        out.sources.extend(self.sources);
        out.indices.extend(self.indices);
        out.parts.extend(self.parts);
    }
}
