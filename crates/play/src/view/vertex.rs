//! Vertex buffers in the layouts that engines upload: attributes, formats and offsets of the caller's choice,
//! written directly from the decoded frames into the caller's bytes, for all vertices or a range.
//!
//! | attribute | formats |
//! |---|---|
//! | position | `F32x3` · `F32x4`, w = 1 · `U16x4`, 0 … 65,535 over the mesh's bounds, w = 65,535 |
//! | normal | `F32x3` · `I8x2`, `I16x2` octahedral |
//! | tangent | `F32x4`, w the bitangent's sign · `I8x4`, `I16x4` octahedral, sign, 0 |
//! | tangent frame | `I16x4`: a quaternion from x to tangent and z to normal; w's sign is the bitangent's |
//! | uv | `F32x2` · `F16x2` · `U16x2`, 0 … 65,535 over the range of the set |
//! | colour | `U8x4` · `F32x4` |
//! | velocity | object space, per second: `F32x3` · `F16x4`, w = 0 |
//! | width | `F32` |
//! | custom | `F32`, `F32x2`, `F32x3` or `F32x4`, by components |
//!
//! Signed numbers are ±127 and ±32,767 for ±1. All are little-endian.

use crate::Error;
use crate::decode::mesh::MeshView;
use crate::reel::fixed_point::{BLOCK_VERTICES, VertexBlock};
use crate::reel::normals::PredictedFrame;
use crate::reel::quantized::QuantizedValues;
use crate::view::interpolate::{DecodedTangents, StreamBlend, ZERO_BLOCK};
use meshreel_codec::mesh::normals::ComputedNormals;
use meshreel_codec::quantize;
use meshreel_codec::quantize::code::Code;
use meshreel_codec::quantize::{blend, qtangent};
use meshreel_codec::record::{Semantic, StreamRecord};
use std::ops::Range;

/// A value of a vertex that can be written into a vertex buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum VertexChannel {
    Position,
    Normal,
    Tangent,
    TangentFrame,
    Uv(u8),
    Colour(u8),
    Velocity,
    Width,
    Custom { components: u8, set: u8 },
}

impl VertexChannel {
    /// `true` for a normal, a tangent, or both.
    fn is_direction(self) -> bool {
        matches!(self, VertexChannel::Normal | VertexChannel::Tangent | VertexChannel::TangentFrame)
    }

    /// Returns every format that the value can be written in, the plain one first. All others are refused as
    /// misuse.
    #[must_use]
    pub const fn formats(self) -> &'static [VertexFormat] {
        match self {
            VertexChannel::Position => &[VertexFormat::F32x3, VertexFormat::F32x4, VertexFormat::U16x4],
            VertexChannel::Normal => &[VertexFormat::F32x3, VertexFormat::I8x2, VertexFormat::I16x2],
            VertexChannel::Tangent => &[VertexFormat::F32x4, VertexFormat::I8x4, VertexFormat::I16x4],
            VertexChannel::TangentFrame => &[VertexFormat::I16x4],
            VertexChannel::Uv(_) => &[VertexFormat::F32x2, VertexFormat::F16x2, VertexFormat::U16x2],
            VertexChannel::Colour(_) => &[VertexFormat::U8x4, VertexFormat::F32x4],
            VertexChannel::Velocity => &[VertexFormat::F32x3, VertexFormat::F16x4],
            VertexChannel::Width | VertexChannel::Custom { components: 1, .. } => &[VertexFormat::F32],
            VertexChannel::Custom { components: 2, .. } => &[VertexFormat::F32x2],
            VertexChannel::Custom { components: 3, .. } => &[VertexFormat::F32x3],
            VertexChannel::Custom { components: 4, .. } => &[VertexFormat::F32x4],
            VertexChannel::Custom { .. } => &[],
        }
    }
}

/// A number format: kind, bits, and number of components.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub enum VertexFormat {
    F32,
    F32x2,
    F32x3,
    F32x4,
    F16x2,
    F16x4,
    U8x4,
    U16x2,
    U16x4,
    I8x2,
    I8x4,
    I16x2,
    I16x4,
}

impl VertexFormat {
    /// Returns the bytes of one value.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            VertexFormat::I8x2 => 2,
            VertexFormat::F32
            | VertexFormat::F16x2
            | VertexFormat::U8x4
            | VertexFormat::U16x2
            | VertexFormat::I8x4
            | VertexFormat::I16x2 => 4,
            VertexFormat::F32x2 | VertexFormat::F16x4 | VertexFormat::U16x4 | VertexFormat::I16x4 => 8,
            VertexFormat::F32x3 => 12,
            VertexFormat::F32x4 => 16,
        }
    }
}

/// An attribute of a vertex buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VertexAttribute {
    /// The value.
    pub channel: VertexChannel,
    /// The format that it is written in.
    pub format: VertexFormat,
    /// Bytes from the start of a vertex.
    pub offset: usize,
}

/// A mesh in one frame or between two.
#[derive(Clone, Copy)]
pub(crate) struct VertexWriter<'a> {
    pub first: MeshView<'a>,
    /// The mesh at blend 1, of equal topology.
    pub second: Option<MeshView<'a>>,
    pub blend: f32,
    /// The factor from a difference of the two frames to a change per second.
    pub per_second: f32,
    /// Seconds of animation per second: the factor for velocities of the source.
    pub speed: f32,
}

impl VertexWriter<'_> {
    /// Writes a range of vertices, `stride` bytes apart, the first at the start of `out`.
    pub fn write(
        &self,
        attributes: &[VertexAttribute],
        stride: usize,
        vertices: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        self.check(attributes, stride, &vertices, out.len())?;
        let is = |a: &&VertexAttribute| a.channel.is_direction();
        let Some(direction) = attributes.iter().find(is).filter(|_| !vertices.is_empty()) else {
            return self.write_with(None, attributes, stride, vertices, out);
        };
        let stream = self.channel_stream(direction.channel)?;
        let Some(frame) = self.first.predicted_frame(stream) else {
            return self.write_with(None, attributes, stride, vertices, out);
        };
        let tangents =
            attributes.iter().any(|a| a.channel.is_direction() && a.channel != VertexChannel::Normal);
        let built =
            |built: ComputedNormals<'_>| self.write_with(Some(built), attributes, stride, vertices, out);
        frame.build(self.next_frame(stream), tangents, built)
    }

    /// Returns the frame at blend 1 of a stream of predicted normals.
    fn next_frame(&self, stream: usize) -> Option<(PredictedFrame<'_>, f32)> {
        let second = self.second.as_ref().filter(|_| self.blend > 0.0)?;
        Some((second.predicted_frame(stream)?, self.blend))
    }

    /// Writes a range of vertices as `write` does, with the normals `built` from the positions, if there are
    /// any.
    fn write_with(
        &self,
        built: Option<ComputedNormals<'_>>,
        attributes: &[VertexAttribute],
        stride: usize,
        vertices: Range<usize>,
        out: &mut [u8],
    ) -> Result<(), Error> {
        for attribute in attributes {
            let stream = self.channel_stream(attribute.channel)?;
            let source = StreamBlend {
                first: &self.first,
                second: self.second.as_ref(),
                stream,
                blend: self.blend,
                built,
            };
            for start in vertices.clone().step_by(BLOCK_VERTICES) {
                let block = start..vertices.end.min(start + BLOCK_VERTICES);
                let at = (start - vertices.start) * stride;
                let target = AttributeTarget { bytes: &mut out[at..], stride, offset: attribute.offset };
                self.write_block(attribute, source, block, target)?;
            }
        }
        Ok(())
    }

    /// Writes an attribute of all vertices as floats, one after the other.
    pub fn write_floats(
        &self,
        what: VertexChannel,
        format: VertexFormat,
        out: &mut [f32],
    ) -> Result<(), Error> {
        let attribute = VertexAttribute { channel: what, format, offset: 0 };
        let vertices = 0..self.first.vertex_count();
        self.check(&[attribute], format.size(), &vertices, size_of_val(out))?;
        if self.write_whole(what, out)? {
            return Ok(());
        }
        let bytes = bytemuck::cast_slice_mut(out);
        self.write(&[attribute], format.size(), vertices, bytes)?;
        if cfg!(target_endian = "big") {
            let words: &mut [u32] = bytemuck::cast_slice_mut(out);
            words.iter_mut().for_each(|v| *v = v.swap_bytes());
        }
        Ok(())
    }

    /// Writes an attribute by kernels of the codec, which take all vertices at once. Returns `false` for an
    /// attribute that they do not support.
    fn write_whole(&self, what: VertexChannel, out: &mut [f32]) -> Result<bool, Error> {
        if what == VertexChannel::Velocity {
            return Ok(false);
        }
        let stream = self.channel_stream(what)?;
        let record = &self.first.record().streams[stream];
        if let (true, Some(frame)) = (what.is_direction(), self.first.predicted_frame(stream)) {
            let out = match what {
                VertexChannel::Normal => self.first.directions(Some(out), None)?,
                VertexChannel::Tangent => self.first.directions(None, Some(out))?,
                _ => return Ok(false),
            };
            frame.write(self.next_frame(stream), out);
            return Ok(true);
        }
        let blends = self.second.filter(|_| self.blend > 0.0 && record.animated);
        if blends.is_some() && self.first.particles_change() {
            return Ok(false);
        }
        let Some(second) = blends else {
            match what {
                VertexChannel::Position => self.first.positions_into(out)?,
                VertexChannel::Normal => self.first.normals_into(out)?,
                VertexChannel::Tangent => self.first.tangents_into(out)?,
                VertexChannel::Uv(set) => self.first.uvs_into(set, out)?,
                VertexChannel::Colour(set) => self.first.colours_into(set, out)?,
                VertexChannel::Width => self.first.widths_into(out)?,
                VertexChannel::Custom { .. } => self.first.custom_into(stream, out)?,
                VertexChannel::TangentFrame | VertexChannel::Velocity => return Ok(false),
            }
            return Ok(true);
        };
        Ok(match (self.first.quantized(stream), second.quantized(stream)) {
            (QuantizedValues::U8(from), QuantizedValues::U8(to)) => {
                self.blend_whole(what, record, from, to, out)
            }
            (QuantizedValues::U16(from), QuantizedValues::U16(to)) => {
                self.blend_whole(what, record, from, to, out)
            }
            _ => false,
        })
    }

    /// Writes all normals, three floats each, and tangents, four each, in one pass.
    pub fn write_directions_whole(&self, normals: &mut [f32], tangents: &mut [f32]) -> Result<(), Error> {
        let stream = self.channel_stream(VertexChannel::Tangent)?;
        if let Some(frame) = self.first.predicted_frame(stream) {
            frame.write(self.next_frame(stream), self.first.directions(Some(normals), Some(tangents))?);
            return Ok(());
        }
        self.write_floats(VertexChannel::Normal, VertexFormat::F32x3, normals)?;
        self.write_floats(VertexChannel::Tangent, VertexFormat::F32x4, tangents)
    }

    fn blend_whole<W: Code>(
        &self,
        what: VertexChannel,
        record: &StreamRecord,
        from: &[W],
        to: &[W],
        out: &mut [f32],
    ) -> bool {
        // Fixed-point streams have no quantized values.
        let levels = record.semantic.components() * self.first.vertex_count();
        if from.len() != levels || to.len() != levels || levels == 0 {
            return false;
        }
        let (bits, t) = (u32::from(record.bits), self.blend);
        match (what, record.semantic) {
            (VertexChannel::Normal, Semantic::QTangent) => blend::qtangent_normals(bits, from, to, t, out),
            (VertexChannel::Normal, _) => blend::octahedral_normals(bits, from, to, t, out),
            (VertexChannel::Tangent, _) => blend::qtangent_tangents(bits, from, to, t, out),
            _ => quantize::blend(&record.axes, from, to, t, out),
        }
        true
    }

    fn check(
        &self,
        attributes: &[VertexAttribute],
        stride: usize,
        vertices: &Range<usize>,
        bytes: usize,
    ) -> Result<(), Error> {
        let path = &self.first.record().path;
        let count = self.first.vertex_count();
        if vertices.start > vertices.end || vertices.end > count {
            let text = format!("vertices {vertices:?} of mesh {path}, which has {count}");
            return Err(Error::misuse(text));
        }
        for VertexAttribute { channel: what, format, offset } in attributes {
            self.channel_stream(*what)?;
            if offset.checked_add(format.size()).is_none_or(|end| end > stride) {
                return Err(Error::misuse(format!(
                    "{what:?} as {format:?} at byte {offset} does not fit into a vertex of {stride} bytes"
                )));
            }
        }
        let want = vertices.len().checked_mul(stride);
        if want != Some(bytes) {
            return Err(Error::misuse(format!(
                "{} vertices of mesh {path} need {stride} bytes each, not a buffer of {bytes}",
                vertices.len()
            )));
        }
        Ok(())
    }

    /// Returns the stream that has an attribute.
    fn channel_stream(&self, what: VertexChannel) -> Result<usize, Error> {
        let (semantic, set, name) = match what {
            VertexChannel::Velocity if self.first.find_stream(Semantic::Velocity, 0).is_some() => {
                (Semantic::Velocity, 0, "velocities")
            }
            VertexChannel::Position | VertexChannel::Velocity => (Semantic::Position, 0, "positions"),
            VertexChannel::Width => (Semantic::Width, 0, "widths"),
            VertexChannel::Custom { components, set } => {
                let semantic = Semantic::custom(usize::from(components));
                (semantic.unwrap_or(Semantic::Custom1), set, "attached numbers")
            }
            VertexChannel::Normal if self.first.has_tangents() => (Semantic::QTangent, 0, "normals"),
            VertexChannel::Normal => (Semantic::Normal, 0, "normals"),
            VertexChannel::Tangent | VertexChannel::TangentFrame => (Semantic::QTangent, 0, "tangents"),
            VertexChannel::Uv(set) => (Semantic::Uv, set, "uvs"),
            VertexChannel::Colour(set) => (Semantic::Colour, set, "colours"),
        };
        self.first.require_stream(semantic, set, name)
    }

    fn write_block(
        &self,
        attribute: &VertexAttribute,
        source: StreamBlend<'_>,
        vertices: Range<usize>,
        target: AttributeTarget<'_>,
    ) -> Result<(), Error> {
        match attribute.channel {
            VertexChannel::Position
            | VertexChannel::Uv(_)
            | VertexChannel::Colour(_)
            | VertexChannel::Width
            | VertexChannel::Custom { .. }
            | VertexChannel::Velocity => self.write_values(attribute, source, vertices, target),
            VertexChannel::Normal | VertexChannel::Tangent | VertexChannel::TangentFrame => {
                self.write_directions(attribute, source, vertices, target)
            }
        }
    }

    /// Writes positions, texture coordinates, colours or velocities.
    fn write_values(
        &self,
        attribute: &VertexAttribute,
        source: StreamBlend<'_>,
        vertices: Range<usize>,
        mut target: AttributeTarget<'_>,
    ) -> Result<(), Error> {
        let count = vertices.len();
        let mut block = ZERO_BLOCK;
        match (attribute.channel, attribute.format) {
            (VertexChannel::Position, VertexFormat::F32x3) => {
                source.values_into(vertices, &mut block);
                target.floats::<3>(&block, count);
            }
            (VertexChannel::Position, VertexFormat::F32x4) => {
                source.values_into(vertices, &mut block);
                block[3] = [1.0; BLOCK_VERTICES];
                target.floats::<4>(&block, count);
            }
            (VertexChannel::Position, VertexFormat::U16x4) => {
                source.values_into(vertices, &mut block);
                let bounds = self.first.record().bounds;
                for k in 0..3 {
                    normalise(&mut block[k], bounds[k], bounds[k + 3]);
                }
                block[3] = [1.0; BLOCK_VERTICES];
                target.unorms::<4>(&block, count);
            }
            (VertexChannel::Uv(_), VertexFormat::F32x2) => {
                source.values_into(vertices, &mut block);
                target.floats::<2>(&block, count);
            }
            (VertexChannel::Uv(_), VertexFormat::F16x2) => {
                source.values_into(vertices, &mut block);
                target.halves::<2>(&block, count);
            }
            (VertexChannel::Uv(_), VertexFormat::U16x2) => {
                source.values_into(vertices, &mut block);
                let Some([u, v, width, height]) = self.first.uv_range(source.stream) else {
                    let path = &self.first.record().path;
                    return Err(Error::misuse(format!("the uvs of mesh {path} are finer than U16x2")));
                };
                normalise(&mut block[0], u, u + width);
                normalise(&mut block[1], v, v + height);
                target.unorms::<2>(&block, count);
            }
            (VertexChannel::Colour(_), VertexFormat::F32x4) => {
                source.values_into(vertices, &mut block);
                target.floats::<4>(&block, count);
            }
            (VertexChannel::Colour(_), VertexFormat::U8x4) => {
                source.values_into(vertices, &mut block);
                target.bytes(&block, count);
            }
            (VertexChannel::Width, VertexFormat::F32) => {
                source.values_into(vertices, &mut block);
                target.floats::<1>(&block, count);
            }
            (VertexChannel::Custom { components, .. }, format)
                if attribute.channel.formats().contains(&format) =>
            {
                source.values_into(vertices, &mut block);
                match components {
                    1 => target.floats::<1>(&block, count),
                    2 => target.floats::<2>(&block, count),
                    3 => target.floats::<3>(&block, count),
                    _ => target.floats::<4>(&block, count),
                }
            }
            (VertexChannel::Velocity, VertexFormat::F32x3 | VertexFormat::F16x4) => {
                self.velocities(source, vertices, &mut block);
                match attribute.format {
                    VertexFormat::F32x3 => target.floats::<3>(&block, count),
                    _ => target.halves::<4>(&block, count),
                }
            }
            (what, format) => return Err(unwritable(what, format)),
        }
        Ok(())
    }

    /// Writes the velocities that the file stores or, if it has none, the change of positions from frame to
    /// frame.
    fn velocities(&self, source: StreamBlend<'_>, vertices: Range<usize>, block: &mut VertexBlock) {
        let stored = self.first.record().streams[source.stream].semantic == Semantic::Velocity;
        let factor = if stored { self.speed } else { self.per_second };
        match stored {
            true => source.values_into(vertices, block),
            false => source.difference_into(vertices, block),
        }
        block.as_flattened_mut().iter_mut().for_each(|v| *v *= factor);
    }

    /// Writes normals, tangents or tangent frames.
    fn write_directions(
        &self,
        attribute: &VertexAttribute,
        source: StreamBlend<'_>,
        vertices: Range<usize>,
        mut target: AttributeTarget<'_>,
    ) -> Result<(), Error> {
        let count = vertices.len();
        match (attribute.channel, attribute.format) {
            (VertexChannel::Normal, VertexFormat::F32x3 | VertexFormat::I8x2 | VertexFormat::I16x2) => {
                let mut block = ZERO_BLOCK;
                let record = &self.first.record().streams[source.stream];
                if record.semantic == Semantic::QTangent {
                    source.for_each_frame(vertices, &mut |i, tangents| {
                        let [x, y, z] = tangents.frame.normal;
                        (block[0][i], block[1][i], block[2][i]) = (x, y, z);
                    });
                } else {
                    source.normals_into(vertices, &mut block);
                }
                for i in 0..count {
                    let normal = [0, 1, 2].map(|k| block[k][i]);
                    target.normal(i, normal, attribute.format);
                }
            }
            (VertexChannel::Tangent, VertexFormat::F32x4 | VertexFormat::I8x4 | VertexFormat::I16x4) => {
                source.for_each_frame(vertices, &mut |i, tangents| {
                    target.tangent(i, &tangents, attribute.format);
                });
            }
            (VertexChannel::TangentFrame, VertexFormat::I16x4) => {
                source.for_each_frame(vertices, &mut |i, tangents| {
                    target.write_shorts(i, quaternion_shorts(&tangents));
                });
            }
            (what, format) => return Err(unwritable(what, format)),
        }
        Ok(())
    }
}

/// The error for a value in a format that it does not have; it lists those that it has.
fn unwritable(what: VertexChannel, format: VertexFormat) -> Error {
    let known: Vec<String> = what.formats().iter().map(|f| format!("{f:?}")).collect();
    Error::misuse(format!("{what:?} cannot be written as {format:?}, but as {}", known.join(", ")))
}

/// The bytes of a vertex buffer that one attribute of a block of vertices is written to.
struct AttributeTarget<'a> {
    bytes: &'a mut [u8],
    stride: usize,
    offset: usize,
}

impl AttributeTarget<'_> {
    fn write_bytes(&mut self, vertex: usize, bytes: &[u8]) {
        let start = vertex * self.stride + self.offset;
        self.bytes[start..start + bytes.len()].copy_from_slice(bytes);
    }

    fn write_floats<const N: usize>(&mut self, vertex: usize, values: [f32; N]) {
        self.write_bytes(vertex, values.map(f32::to_le_bytes).as_flattened());
    }

    fn write_shorts<const N: usize>(&mut self, vertex: usize, values: [i16; N]) {
        self.write_bytes(vertex, values.map(i16::to_le_bytes).as_flattened());
    }

    fn floats<const N: usize>(&mut self, block: &VertexBlock, count: usize) {
        for i in 0..count {
            self.write_floats::<N>(i, std::array::from_fn(|k| block[k][i]));
        }
    }

    fn words<const N: usize>(&mut self, count: usize, word: impl Fn(usize, usize) -> u16) {
        for i in 0..count {
            let words: [u16; N] = std::array::from_fn(|k| word(k, i));
            self.write_bytes(i, words.map(u16::to_le_bytes).as_flattened());
        }
    }

    fn halves<const N: usize>(&mut self, block: &VertexBlock, count: usize) {
        self.words::<N>(count, |k, i| half(block[k][i]));
    }

    fn unorms<const N: usize>(&mut self, block: &VertexBlock, count: usize) {
        // Conversions saturate, and NaN is 0.
        self.words::<N>(count, |k, i| (block[k][i] * 65535.0 + 0.5) as u16);
    }

    fn bytes(&mut self, block: &VertexBlock, count: usize) {
        for i in 0..count {
            self.write_bytes(i, &[0, 1, 2, 3].map(|k| (block[k][i] * 255.0 + 0.5) as u8));
        }
    }

    fn normal(&mut self, vertex: usize, normal: [f32; 3], format: VertexFormat) {
        match format {
            VertexFormat::I8x2 => self.write_bytes(vertex, &octahedral(normal).map(byte)),
            VertexFormat::I16x2 => self.write_shorts(vertex, octahedral(normal).map(short)),
            _ => self.write_floats(vertex, normal),
        }
    }

    fn tangent(&mut self, vertex: usize, tangents: &DecodedTangents, format: VertexFormat) {
        let ([x, y, z], sign) = (tangents.frame.tangent, tangents.frame.sign);
        let [u, v] = octahedral([x, y, z]);
        match format {
            VertexFormat::I8x4 => self.write_bytes(vertex, &[u, v, sign, 0.0].map(byte)),
            VertexFormat::I16x4 => self.write_shorts(vertex, [u, v, sign, 0.0].map(short)),
            _ => self.write_floats(vertex, [x, y, z, sign]),
        }
    }
}

/// Maps a range to 0 … 1; an empty range gives 0.
fn normalise(plane: &mut [f32; BLOCK_VERTICES], from: f32, to: f32) {
    let size = to - from;
    let scale = if size > 0.0 { 1.0 / size } else { 0.0 };
    plane.iter_mut().for_each(|v| *v = (*v - from) * scale);
}

fn byte(value: f32) -> u8 {
    ((value * 127.0).round() as i8) as u8
}

fn short(value: f32) -> i16 {
    (value * 32767.0).round() as i16
}

/// Returns a direction as a point of the unfolded octahedron, −1 … 1; see `codec::octahedral`.
fn octahedral([x, y, z]: [f32; 3]) -> [f32; 2] {
    let sum = x.abs() + y.abs() + z.abs();
    if sum <= 0.0 {
        return [0.0; 2];
    }
    let (u, v) = (x / sum, y / sum);
    if z < 0.0 { [(1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v)] } else { [u, v] }
}

/// Returns the quaternion as shorts; the sign of w, which is never 0, is that of the bitangent.
fn quaternion_shorts(tangents: &DecodedTangents) -> [i16; 4] {
    let of_frame = || qtangent::quaternion_from_frame(tangents.frame.normal, tangents.frame.tangent);
    let [x, y, z, w] = tangents.rotation.unwrap_or_else(of_frame);
    let turn = if (w < 0.0) == (tangents.frame.sign < 0.0) { 1.0 } else { -1.0 };
    let mut q = [x, y, z, w].map(|v| short(v * turn));
    if q[3] == 0 {
        q[3] = if tangents.frame.sign < 0.0 { -1 } else { 1 };
    }
    q
}

/// Returns the nearest 16-bit float, ties to even; values that are too large become infinite.
fn half(value: f32) -> u16 {
    let bits = value.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let magnitude = bits & 0x7FFF_FFFF;
    if magnitude > 0x7F80_0000 {
        return sign | 0x7E00;
    }
    if magnitude >= 0x4780_0000 {
        return sign | 0x7C00;
    }
    if magnitude < 0x3880_0000 {
        // A subnormal: adding half rounds the significant bits to the end of the fraction.
        let shifted = f32::from_bits(magnitude) + 0.5;
        return sign | (shifted.to_bits() - 0.5f32.to_bits()) as u16;
    }
    let odd = magnitude >> 13 & 1;
    sign | ((magnitude - 0x3800_0000 + 0xFFF + odd) >> 13) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let fraction = f64::from(bits & 1023);
        match i32::from(bits >> 10 & 31) {
            0 => sign * fraction * 2f64.powi(-24),
            31 => sign * f64::INFINITY,
            exponent => sign * (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
        }
    }

    #[test]
    fn halves_are_the_nearest() {
        for bits in (0..0x7C00).chain(0x8000..0xFC00) {
            let (this, next) = (float(bits), float(bits + 1));
            assert_eq!(half(this as f32), bits);
            if next.is_finite() {
                let middle = ((this + next) / 2.0) as f32;
                let even = bits + (bits & 1);
                assert_eq!(half(middle), even, "{bits}");
                let beyond = f32::from_bits(middle.to_bits() + 1);
                assert_eq!(half(beyond), bits + 1, "{bits}");
            }
        }
        assert_eq!(half(65519.0), 0x7BFF);
        assert_eq!([half(65520.0), half(f32::INFINITY), half(-1e30)], [0x7C00, 0x7C00, 0xFC00]);
        assert_eq!(half(f32::NAN) & 0x7E00, 0x7E00);
        assert_eq!([half(1e-30), half(-1e-30)], [0, 0x8000]);
    }

    #[test]
    fn a_quaternion_keeps_the_sign_of_the_bitangent() {
        for sign in [1.0, -1.0] {
            for rotation in [[1.0, 0.0, 0.0, 0.0], [0.0, 0.6, 0.0, 0.8], [0.0, 0.6, 0.0, -0.8]] {
                let frame = meshreel_codec::quantize::qtangent::frame(rotation, sign);
                let q = quaternion_shorts(&DecodedTangents { rotation: Some(rotation), frame });
                let again = quaternion_shorts(&DecodedTangents { rotation: None, frame });
                let same = (0..4).all(|k| (i32::from(q[k]) - i32::from(again[k])).abs() <= 1);
                assert!(same, "{q:?} {again:?}");
                assert_ne!(q[3], 0);
                assert_eq!(q[3] < 0, sign < 0.0);
            }
        }
    }

    #[test]
    fn formats_have_their_sizes() {
        assert_eq!(VertexFormat::F32x3.size(), 12);
        assert_eq!(VertexFormat::I8x2.size(), 2);
        assert_eq!(VertexFormat::U16x4.size(), VertexFormat::F16x4.size());
    }
}
