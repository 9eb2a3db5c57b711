//! Buffer views compressed as `EXT_meshopt_compression` and `KHR_meshopt_compression` say
//! (Khronos Group, glTF extension registry). The bytes are somebody else's: nothing is allocated that they cannot fill,
//! and every read is checked.
//!
//! | mode | content |
//! |---|---|
//! | `ATTRIBUTES` | values of up to 256 bytes, byte by byte as differences ([`vertices`]) |
//! | `TRIANGLES` | three indices a triangle, by edges and corners that came last ([`indices`]) |
//! | `INDICES` | indices as differences from one of two before |

mod bytes;
mod filters;
mod indices;
mod vertices;

use serde::Deserialize;

/// What the extension says of a buffer view.
#[derive(Deserialize, Clone)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compressed {
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

/// Bytes that one compressed byte can stand for at most: in the second version of attributes, that four bytes of 256
/// values do not change. A triangle takes a byte, an index one.
const MOST: u64 = 1024;
/// The least that a view can have.
const LEAST: u64 = 4096;

impl Compressed {
    /// Bytes of the view, decompressed. What is wrong with it, where something is: then it is not decompressed.
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
            .filter(|bytes| *bytes <= MOST.saturating_mul(self.byte_length).saturating_add(LEAST))
            .ok_or("it is too short for so many values")
    }

    /// The view, decompressed, of the bytes that it names.
    pub fn decode(&self, bytes: &[u8]) -> Result<Vec<u8>, &'static str> {
        let (count, stride) = (self.count as usize, self.byte_stride as usize);
        let mut out = vec![0; self.check()? as usize];
        match self.mode {
            Mode::Attributes => vertices::decode(bytes, stride, &mut out)?,
            Mode::Triangles => indices::triangles(bytes, count, |i, index| put(&mut out, stride, i, index))?,
            Mode::Indices => indices::sequence(bytes, count, |i, index| put(&mut out, stride, i, index))?,
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
fn put(out: &mut [u8], stride: usize, i: usize, index: u32) {
    out[i * stride..(i + 1) * stride].copy_from_slice(&index.to_le_bytes()[..stride]);
}

#[cfg(test)]
mod tests;
