//! A decoded frame: one flat buffer, and access to its parts as laid out by [`crate::reel::layout`].

use crate::reel::end_states::EndState;
use crate::reel::layout::{ArrayLayout, FrameLayout, IndexRange};
use crate::reel::quantized::QuantizedValues;
use bytemuck::Pod;
use meshreel_codec::transform::Transform;

/// A decoded frame, for reading.
#[derive(Clone, Copy)]
pub(crate) struct FrameData<'a> {
    pub layout: &'a FrameLayout,
    /// The frame's buffer: `layout.words` 64-bit words.
    pub words: &'a [u64],
}

/// Returns an array of a frame's buffer.
pub(crate) fn array<T: Pod>(words: &[u64], place: ArrayLayout) -> &[T] {
    let words = &words[place.offset..place.offset + place.words()];
    &bytemuck::cast_slice(words)[..place.len]
}

/// Returns an array of a frame's buffer, for writing.
pub(crate) fn array_mut<T: Pod>(words: &mut [u64], place: ArrayLayout) -> &mut [T] {
    let words = &mut words[place.offset..place.offset + place.words()];
    &mut bytemuck::cast_slice_mut(words)[..place.len]
}

/// Returns an array of quantized values: integers of 1, 2 or 4 bytes.
pub(crate) fn quantized(words: &[u64], place: ArrayLayout) -> QuantizedValues<'_> {
    match place.value_bytes {
        1 => QuantizedValues::U8(array(words, place)),
        2 => QuantizedValues::U16(array(words, place)),
        _ => QuantizedValues::U32(array(words, place)),
    }
}

impl<'a> FrameData<'a> {
    /// `true` if bit `bit` of the animated visibilities is set.
    pub fn visible(&self, bit: u32) -> bool {
        let bytes: &[u8] = array(self.words, self.layout.visibility);
        let byte = bytes.get(bit as usize / 8);
        byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
    }

    /// Returns the animated transforms.
    pub fn transforms(&self) -> &'a [Transform] {
        array(self.words, self.layout.transforms)
    }

    /// Returns the quantized values of a mesh's stream; `None` if the frame does not hold them.
    pub fn stream(&self, mesh: usize, stream: usize) -> Option<QuantizedValues<'a>> {
        let place = self.layout.meshes[mesh].streams[stream]?;
        Some(quantized(self.words, place))
    }

    /// Returns the frame's buffer and the place of a fixed-point stream in it; `None` if the frame does not
    /// hold it.
    pub fn fixed_point(&self, mesh: usize, stream: usize) -> Option<(&'a [u64], ArrayLayout)> {
        let place = self.layout.meshes[mesh].streams[stream]?;
        Some((self.words, place))
    }

    /// Returns the states of a stream of predicted normals; `None` if the frame does not hold them.
    pub fn normal_states(&self, mesh: usize, stream: usize) -> Option<&'a [i16]> {
        let place = self.layout.meshes[mesh].normal_states[stream]?;
        Some(array(self.words, place))
    }

    /// Returns the states of a mesh's rigid bones in this frame.
    pub fn bone_states(&self, mesh: usize) -> Option<&'a [u32]> {
        let bones = self.layout.meshes[mesh].bones?;
        Some(array(self.words, bones.states))
    }

    /// Returns the transforms of a mesh's rigid bones in this frame.
    pub fn bone_transforms(&self, mesh: usize) -> Option<&'a [Transform]> {
        let bones = self.layout.meshes[mesh].bones?;
        Some(array(self.words, bones.transforms))
    }

    /// Returns the number of particles in this frame, with their ids and curves.
    pub fn particles(&self, mesh: usize) -> Option<ParticlesFrame<'a>> {
        let places = self.layout.meshes[mesh].particles?;
        let &[count, curves, run] = array::<u32>(self.words, places.counts) else {
            return None;
        };
        let (ids, lengths): (&[u64], &[u32]) =
            (array(self.words, places.ids), array(self.words, places.curves));
        // Written by this crate; a buffer of anything else must not panic either.
        let (ids, lengths) =
            (&ids[..(count as usize).min(ids.len())], &lengths[..(curves as usize).min(lengths.len())]);
        Some(ParticlesFrame { count, run, ids, curves: lengths })
    }

    /// Returns the counts, triangles and materials of a fluid mesh in this frame.
    pub fn fluid(&self, mesh: usize) -> Option<FluidFrame<'a>> {
        let fluid = self.layout.meshes[mesh].fluid.as_ref()?;
        let counts: &[u32] = array(self.words, fluid.counts);
        let indices: &[u32] = array(self.words, fluid.indices);
        let split = counts[3] != counts[0];
        let points: &[u32] = if split { array(self.words, fluid.point) } else { &[] };
        Some(FluidFrame {
            vertices: counts[0],
            source_points: counts[2],
            // Written by this crate; a buffer of anything else must not panic either.
            indices: &indices[..(counts[1] as usize).min(indices.len())],
            materials: array(self.words, fluid.materials),
            points: &points[..(counts[0] as usize).min(points.len())],
        })
    }
}

/// Particles in one frame.
#[derive(Clone, Copy)]
pub(crate) struct ParticlesFrame<'a> {
    pub count: u32,
    /// Frames of the same run (not 0) have the same points by index; 0 if no other frame matches this one.
    pub run: u32,
    /// Ids, ascending; empty if the points have none.
    pub ids: &'a [u64],
    /// The number of points of each curve; empty if the points are not of curves.
    pub curves: &'a [u32],
}

/// A mesh with its own topology, in one frame.
pub(crate) struct FluidFrame<'a> {
    pub vertices: u32,
    pub source_points: u32,
    pub indices: &'a [u32],
    pub materials: &'a [IndexRange],
    /// The point of each vertex; empty if every vertex is a point of its own.
    pub points: &'a [u32],
}

impl<'a> FrameData<'a> {
    /// Returns the end state that a mesh is in, in this frame; `None` while it moves.
    pub fn end_state(&self, mesh: usize) -> Option<EndState> {
        let all: &[u8] = array(self.words, self.layout.end_states);
        match all.get(mesh) {
            Some(1) => Some(EndState::Start),
            Some(2) => Some(EndState::End),
            _ => None,
        }
    }
}
