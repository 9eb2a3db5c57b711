//! The caller's vertex layout: attributes, formats and offsets.

use meshreel::{Error, VertexAttribute, VertexChannel, VertexFormat};

/// The layout of a vertex buffer that the last pass writes.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct VertexLayout {
    /// Bytes from one vertex to the next: a multiple of 4. 0 for [`VertexLayout::pulled`].
    pub stride: usize,
    /// The attributes of a vertex, each at a multiple of 4 bytes. See [`formats`] for the possible ones.
    pub attributes: Vec<VertexAttribute>,
}

impl VertexLayout {
    /// Returns a layout of these attributes, one after the other.
    pub fn new(attributes: &[(VertexChannel, VertexFormat)]) -> VertexLayout {
        let mut out = VertexLayout { stride: 0, attributes: Vec::with_capacity(attributes.len()) };
        for &(what, format) in attributes {
            out.attributes.push(VertexAttribute { channel: what, format, offset: out.stride });
            out.stride += format.size();
        }
        out
    }

    /// Returns a layout for which no vertices are written: the caller's vertex shader fetches them
    /// ([`crate::shaders::pull_wgsl`]), and reads these attributes.
    pub fn pulled(asked: &[VertexChannel]) -> VertexLayout {
        let attribute = |&what: &VertexChannel| VertexAttribute {
            channel: what,
            format: formats(what).first().copied().unwrap_or(VertexFormat::F32x3),
            offset: 0,
        };
        VertexLayout { stride: 0, attributes: asked.iter().map(attribute).collect() }
    }

    /// `true` if vertices are fetched, not written.
    #[must_use]
    pub fn is_pulled(&self) -> bool {
        self.stride == 0
    }

    /// Returns a layout of everything that can be written, each in its plain format.
    pub fn plain() -> VertexLayout {
        let all = [
            VertexChannel::Position,
            VertexChannel::Normal,
            VertexChannel::Tangent,
            VertexChannel::Uv(0),
            VertexChannel::Velocity,
            VertexChannel::Colour(0),
        ];
        VertexLayout::new(&all.map(|what| (what, formats(what)[0])))
    }
}

impl Default for VertexLayout {
    /// Position f32×3, normal octahedral i16×2, uv f16×2: 20 bytes.
    fn default() -> Self {
        VertexLayout::new(&[
            (VertexChannel::Position, VertexFormat::F32x3),
            (VertexChannel::Normal, VertexFormat::I16x2),
            (VertexChannel::Uv(0), VertexFormat::F16x2),
        ])
    }
}

/// Returns the formats in which an attribute can be written on a card; their indices are the shader's format
/// numbers.
#[must_use]
pub const fn formats(what: VertexChannel) -> &'static [VertexFormat] {
    match what {
        VertexChannel::Position => {
            &[VertexFormat::F32x3, VertexFormat::F32x4, VertexFormat::F16x4, VertexFormat::U16x4]
        }
        VertexChannel::Normal => &[VertexFormat::F32x3, VertexFormat::I16x2],
        VertexChannel::Tangent => &[VertexFormat::F32x4, VertexFormat::I16x4],
        VertexChannel::Uv(0) => &[VertexFormat::F32x2, VertexFormat::F16x2],
        VertexChannel::Colour(0) => &[VertexFormat::U8x4],
        VertexChannel::Velocity => &[VertexFormat::F32x3, VertexFormat::F16x4],
        _ => &[],
    }
}

/// The offset of an attribute that is not written.
pub(crate) const NOT_WRITTEN: u32 = 0xFFFF;

/// The names of override constants: words from the start of a vertex to an attribute, and its format.
const CONSTANT_NAMES: [[&str; 2]; 6] = [
    ["POSITION_AT", "POSITION_FORMAT"],
    ["NORMAL_AT", "NORMAL_FORMAT"],
    ["TANGENT_AT", "TANGENT_FORMAT"],
    ["UV_AT", "UV_FORMAT"],
    ["COLOUR_AT", "COLOUR_FORMAT"],
    ["VELOCITY_AT", "VELOCITY_FORMAT"],
];

fn constant_names(what: VertexChannel) -> Option<[&'static str; 2]> {
    Some(match what {
        VertexChannel::Position => CONSTANT_NAMES[0],
        VertexChannel::Normal => CONSTANT_NAMES[1],
        VertexChannel::Tangent => CONSTANT_NAMES[2],
        VertexChannel::Uv(0) => CONSTANT_NAMES[3],
        VertexChannel::Colour(0) => CONSTANT_NAMES[4],
        VertexChannel::Velocity => CONSTANT_NAMES[5],
        _ => return None,
    })
}

impl VertexLayout {
    /// Returns the words of a vertex.
    #[must_use]
    pub fn words(&self) -> usize {
        self.stride / 4
    }

    /// Returns the offset of an attribute in words, and its format as the shader's number.
    pub(crate) fn offset_and_format(&self, what: VertexChannel) -> Option<(usize, usize)> {
        let found = self.attributes.iter().find(|a| a.channel == what)?;
        Some((found.offset / 4, formats(what).iter().position(|f| *f == found.format)?))
    }

    /// Returns a misuse error if an attribute does not fit.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |what: String| Err(Error::misuse(what));
        if self.is_pulled() {
            let unknown = self.attributes.iter().find(|a| formats(a.channel).is_empty());
            return unknown
                .map_or(Ok(()), |a| refuse(format!("{:?} is not made on a graphics card", a.channel)));
        }
        if !self.stride.is_multiple_of(4) || self.stride / 4 >= NOT_WRITTEN as usize {
            return refuse(format!("a vertex of {} bytes: a multiple of 4 is needed", self.stride));
        }
        let mut taken = vec![false; self.words()];
        for a in &self.attributes {
            if !formats(a.channel).contains(&a.format) {
                return refuse(format!(
                    "{:?} as {:?} is not written on a graphics card; possible are {:?}",
                    a.channel,
                    a.format,
                    formats(a.channel)
                ));
            }
            if !a.offset.is_multiple_of(4) || a.offset + a.format.size() > self.stride {
                return refuse(format!(
                    "{:?} at byte {} does not fit a vertex of {} bytes",
                    a.channel, a.offset, self.stride
                ));
            }
            for taken in &mut taken[a.offset / 4..(a.offset + a.format.size()) / 4] {
                if std::mem::replace(taken, true) {
                    return refuse(format!(
                        "{:?} overlaps another attribute at byte {}",
                        a.channel, a.offset
                    ));
                }
            }
        }
        Ok(())
    }

    /// Returns the override constants of the shader that writes it.
    #[must_use]
    pub fn constants(&self) -> Vec<(&'static str, f64)> {
        let mut out: Vec<(&'static str, f64)> = CONSTANT_NAMES
            .iter()
            .flat_map(|[at, format]| [(*at, f64::from(NOT_WRITTEN)), (*format, 0.0)])
            .collect();
        out.push(("STRIDE", self.words() as f64));
        for a in &self.attributes {
            let (Some([at, format]), Some((offset, number))) =
                (constant_names(a.channel), self.offset_and_format(a.channel))
            else {
                continue;
            };
            for (name, value) in &mut out {
                if *name == at {
                    *value = offset as f64;
                } else if *name == format {
                    *value = number as f64;
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused() {
        assert!(VertexLayout::default().check().is_ok());
        let attribute = |what, format, offset| VertexAttribute { channel: what, format, offset };
        for (stride, attributes) in [
            (18, vec![]),
            (12, vec![attribute(VertexChannel::Position, VertexFormat::F32x4, 0)]),
            (12, vec![attribute(VertexChannel::Position, VertexFormat::U16x2, 0)]),
            (16, vec![attribute(VertexChannel::Position, VertexFormat::F32x3, 2)]),
            (16, vec![attribute(VertexChannel::Uv(1), VertexFormat::F32x2, 0)]),
            (
                16,
                vec![
                    attribute(VertexChannel::Position, VertexFormat::F32x3, 0),
                    attribute(VertexChannel::Normal, VertexFormat::I16x2, 8),
                ],
            ),
        ] {
            assert!(VertexLayout { stride, attributes }.check().is_err());
        }
        assert!(VertexLayout::pulled(&[VertexChannel::Normal]).check().is_ok());
    }
}
