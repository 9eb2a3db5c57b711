//! Buffer views compressed with `EXT_meshopt_compression` or `KHR_meshopt_compression` (Khronos Group, glTF
//! extension registry). The bytes are untrusted: no more is allocated than they can fill, and every read is
//! checked.
//!
//! | mode | content |
//! |---|---|
//! | `ATTRIBUTES` | values of up to 256 bytes, stored byte by byte as differences ([`vertices`]) |
//! | `TRIANGLES` | three indices per triangle, by recent edges and corners ([`indices`]) |
//! | `INDICES` | indices as differences from one of two earlier ones |

mod bytes;
mod filters;
mod indices;
mod vertices;

use serde::Deserialize;

/// The extension's properties of a buffer view.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct CompressedView {
    pub buffer: usize,
    #[serde(default)]
    pub byte_offset: u64,
    pub byte_length: u64,
    pub byte_stride: u64,
    pub count: u64,
    mode: Mode,
    #[serde(default)]
    filter: Filter,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum Mode {
    Attributes,
    Triangles,
    Indices,
}

#[derive(Deserialize, Clone, Copy, Default, PartialEq, Eq)]
#[serde(rename_all = "UPPERCASE")]
enum Filter {
    #[default]
    None,
    Octahedral,
    Quaternion,
    Exponential,
    Color,
}

/// Upper limit for the bytes that one compressed byte decodes to: in version 1 of attributes, one byte can
/// state that four bytes of 256 values do not change. A triangle takes a byte, an index one.
const MAX_EXPANSION: u64 = 1024;
/// The size in bytes that is allowed to any view.
const MIN_VIEW_LIMIT_BYTES: u64 = 4096;

impl CompressedView {
    /// Returns the size of the decompressed view in bytes, or the fault that prevents decompression.
    pub fn check(&self) -> Result<u64, &'static str> {
        let stride = self.byte_stride;
        let fits = match self.mode {
            Mode::Attributes => stride.is_multiple_of(4) && (4..=256).contains(&stride),
            Mode::Triangles => matches!(stride, 2 | 4) && self.count.is_multiple_of(3),
            Mode::Indices => matches!(stride, 2 | 4),
        };
        let filtered = match self.filter {
            Filter::None => true,
            _ if self.mode != Mode::Attributes => false,
            Filter::Octahedral | Filter::Color => matches!(stride, 4 | 8),
            Filter::Quaternion => stride == 8,
            Filter::Exponential => true,
        };
        if !fits || !filtered {
            return Err("its mode, filter and stride do not go together");
        }
        let bytes = self.count.checked_mul(stride);
        bytes
            .filter(|bytes| {
                *bytes <= MAX_EXPANSION.saturating_mul(self.byte_length).saturating_add(MIN_VIEW_LIMIT_BYTES)
            })
            .ok_or("it is too short for so many values")
    }

    /// Decompresses the view from `bytes`.
    pub fn decode(&self, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
        let (count, stride) = (self.count as usize, self.byte_stride as usize);
        let mut out = vec![0; self.check()? as usize];
        match self.mode {
            Mode::Attributes => vertices::decode(bytes, stride, &mut out)?,
            Mode::Triangles => {
                indices::triangles(bytes, count, |i, index| write_index(&mut out, stride, i, index))?
            }
            Mode::Indices => {
                indices::sequence(bytes, count, |i, index| write_index(&mut out, stride, i, index))?
            }
        }
        match self.filter {
            Filter::None => {}
            Filter::Octahedral => filters::octahedral(&mut out, stride / 4),
            Filter::Quaternion => filters::quaternion(&mut out),
            Filter::Exponential => filters::exponential(&mut out),
            Filter::Color => filters::colour(&mut out, stride / 4),
        }
        Ok(out)
    }
}

/// Writes an index of two or four bytes.
fn write_index(out: &mut [u8], stride: usize, i: usize, index: u32) {
    out[i * stride..(i + 1) * stride].copy_from_slice(&index.to_le_bytes()[..stride]);
}

#[cfg(test)]
mod tests;
