//! Vertices in the caller's layout: the attributes, their formats and offsets.

use crate::pointers::{list, shared};
use meshreel::raw::record::Semantic;
use meshreel::{Error, VertexAttribute, VertexChannel, VertexFormat};

/// A vertex attribute. `mr_format` lists the formats of each.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_channel {
    /// In object space.
    Position = 0,
    /// A unit vector.
    Normal = 1,
    /// xyz is a unit vector; w is the sign of the bitangent: cross(normal, tangent) · w.
    Tangent = 2,
    /// A quaternion that turns x to the tangent and z to the normal; the sign of its w is that of the
    /// bitangent.
    TangentFrame = 3,
    /// Texture coordinates of a set.
    Uv = 4,
    /// Colours of a set.
    Colour = 5,
    /// In object space, per second. For particles and meshes whose triangles change, the source's velocities
    /// if it has them; otherwise the difference of the frames.
    Velocity = 6,
    /// The width of particles or curves, as a diameter.
    Width = 7,
    /// Custom values of particles or curves, of a set, with one component.
    Custom1 = 8,
    /// Custom values with two components.
    Custom2 = 9,
    /// Custom values with three components.
    Custom3 = 10,
    /// Custom values with four components.
    Custom4 = 11,
}

/// The number formats of attributes, little-endian. Signed integers are normalized: ±127 and ±32,767 stand
/// for ±1.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum mr_format {
    /// Uvs; custom values with two components.
    F32x2 = 0,
    /// Positions, normals, velocities; custom values with three components.
    F32x3 = 1,
    /// Positions (w = 1), tangents, colours; custom values with four components.
    F32x4 = 2,
    /// Uvs.
    F16x2 = 3,
    /// Velocities (w = 0); in a layout for `mr_gpu_plan_new` also positions (w = 1).
    F16x4 = 4,
    /// Colours.
    U8x4 = 5,
    /// Uvs, 0 to 65,535 over the range of the set.
    U16x2 = 6,
    /// Positions, 0 to 65,535 over the bounds of the mesh, w = 65,535.
    U16x4 = 7,
    /// Normals, octahedral.
    I8x2 = 8,
    /// Tangents: octahedral, then the sign and 0.
    I8x4 = 9,
    /// Normals, octahedral.
    I16x2 = 10,
    /// Tangents: octahedral, then the sign and 0. Tangent frames.
    I16x4 = 11,
    /// Widths; custom values with one component.
    F32 = 12,
}

const FORMATS: [VertexFormat; 13] = [
    VertexFormat::F32x2,
    VertexFormat::F32x3,
    VertexFormat::F32x4,
    VertexFormat::F16x2,
    VertexFormat::F16x4,
    VertexFormat::U8x4,
    VertexFormat::U16x2,
    VertexFormat::U16x4,
    VertexFormat::I8x2,
    VertexFormat::I8x4,
    VertexFormat::I16x2,
    VertexFormat::I16x4,
    VertexFormat::F32,
];

/// An attribute of a vertex layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct mr_attribute {
    /// An `mr_channel`.
    pub channel: u32,
    /// The number of the set of uvs, colours or custom values; otherwise 0.
    pub set: u32,
    /// An `mr_format`.
    pub format: u32,
    /// The offset in bytes from the start of the vertex.
    pub offset: u32,
}

/// The layout of a vertex in the caller's buffer.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct mr_vertex_layout {
    /// The attributes. Other bytes of a vertex are not changed.
    pub attributes: *const mr_attribute,
    /// The number of attributes, at most 32.
    pub count: usize,
    /// Bytes from one vertex to the next.
    pub stride: usize,
}

/// The largest number of attributes of a vertex.
const MAX_ATTRIBUTES: usize = 32;

/// The attributes of a layout, stored without an allocation.
pub(crate) struct Attributes {
    list: [VertexAttribute; MAX_ATTRIBUTES],
    count: usize,
    pub stride: usize,
}

impl Attributes {
    pub fn list(&self) -> &[VertexAttribute] {
        &self.list[..self.count]
    }

    /// # Safety
    /// Null, or a layout with a valid list of attributes.
    pub unsafe fn read(layout: *const mr_vertex_layout) -> Result<Attributes, Error> {
        // SAFETY: the caller's promise.
        let layout = unsafe { shared(layout, "the layout") }?;
        if layout.count > MAX_ATTRIBUTES {
            return Err(Error::misuse(format!(
                "a vertex of {} attributes: at most {MAX_ATTRIBUTES}",
                layout.count
            )));
        }
        // SAFETY: as above.
        let given = unsafe { list(layout.attributes, layout.count, "the attributes") }?;
        let none =
            VertexAttribute { channel: VertexChannel::Position, format: VertexFormat::F32x3, offset: 0 };
        let mut out = Attributes { list: [none; MAX_ATTRIBUTES], count: given.len(), stride: layout.stride };
        for (out, given) in out.list.iter_mut().zip(given) {
            *out = VertexAttribute {
                channel: channel(given.channel, given.set)?,
                format: format(given.format)?,
                offset: given.offset as usize,
            };
        }
        Ok(out)
    }
}

pub(crate) fn format(number: u32) -> Result<VertexFormat, Error> {
    FORMATS
        .get(number as usize)
        .copied()
        .ok_or_else(|| Error::misuse(format!("format {number} does not exist: it must be an mr_format")))
}

pub(crate) fn channel(number: u32, set: u32) -> Result<VertexChannel, Error> {
    let set = u8::try_from(set).map_err(|_| Error::misuse(format!("set {set}: at most 255")))?;
    Ok(match number {
        0 => VertexChannel::Position,
        1 => VertexChannel::Normal,
        2 => VertexChannel::Tangent,
        3 => VertexChannel::TangentFrame,
        4 => VertexChannel::Uv(set),
        5 => VertexChannel::Colour(set),
        6 => VertexChannel::Velocity,
        7 => VertexChannel::Width,
        8..=11 => VertexChannel::Custom { components: number as u8 - 7, set },
        _ => return Err(Error::misuse(format!("channel {number} does not exist: it must be an mr_channel"))),
    })
}

/// Returns the format in which a channel is written as floats.
pub(crate) fn floats(what: VertexChannel) -> Option<VertexFormat> {
    match what {
        VertexChannel::Position | VertexChannel::Normal | VertexChannel::Velocity => {
            Some(VertexFormat::F32x3)
        }
        VertexChannel::Tangent | VertexChannel::Colour(_) => Some(VertexFormat::F32x4),
        VertexChannel::Uv(_) => Some(VertexFormat::F32x2),
        VertexChannel::Width | VertexChannel::Custom { .. } => what.formats().first().copied(),
        _ => None,
    }
}

pub(crate) fn channel_of(semantic: Semantic) -> mr_channel {
    match semantic {
        Semantic::Position => mr_channel::Position,
        Semantic::Normal => mr_channel::Normal,
        Semantic::QTangent => mr_channel::TangentFrame,
        Semantic::Uv => mr_channel::Uv,
        Semantic::Colour => mr_channel::Colour,
        Semantic::Velocity => mr_channel::Velocity,
        Semantic::Width => mr_channel::Width,
        Semantic::Custom1 => mr_channel::Custom1,
        Semantic::Custom2 => mr_channel::Custom2,
        Semantic::Custom3 => mr_channel::Custom3,
        Semantic::Custom4 => mr_channel::Custom4,
    }
}

/// Returns the bytes of one value of an `mr_format`; 0 if there is no such format.
#[unsafe(no_mangle)]
pub extern "C" fn mr_format_size(format: u32) -> usize {
    FORMATS.get(format as usize).map_or(0, |format| format.size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_runtime() {
        let all = [mr_format::F32x2, mr_format::U16x4, mr_format::I16x4];
        for (own, theirs) in
            all.into_iter().zip([VertexFormat::F32x2, VertexFormat::U16x4, VertexFormat::I16x4])
        {
            assert_eq!(format(own as u32).unwrap(), theirs);
        }
        for number in 0..FORMATS.len() {
            let name = format!("{:?}", format(number as u32).unwrap());
            assert_eq!(mr_format_size(number as u32), format(number as u32).unwrap().size(), "{name}");
        }
        assert!(format(13).is_err() && mr_format_size(13) == 0 && channel(12, 0).is_err());
        assert!(channel(4, 256).is_err());
        assert_eq!(channel(mr_channel::Uv as u32, 3).unwrap(), VertexChannel::Uv(3));
        for semantic in Semantic::ALL {
            let what = channel(channel_of(semantic) as u32, 0).unwrap();
            assert!(what.formats().iter().all(|f| FORMATS.contains(f)) && !what.formats().is_empty());
        }
    }
}
