//! Compresses the contents of buffer views as `EXT_meshopt_compression` and `KHR_meshopt_compression` specify
//! (Khronos Group, glTF extension registry). Lossless, except for values to which a filter is applied first.

pub(super) mod filters;

#[cfg(test)]
mod tests;

use meshreel_scene::Error;
use std::str::FromStr;

/// The glTF extension of a compressed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// `EXT_meshopt_compression`, which nearly all loaders know.
    Ext,
    /// `KHR_meshopt_compression`, whose attributes are smaller, for loaders of 2026 and later.
    Khr,
}

impl Extension {
    /// Returns the extension's name in a file.
    pub fn name(self) -> &'static str {
        match self {
            Extension::Ext => "EXT_meshopt_compression",
            Extension::Khr => "KHR_meshopt_compression",
        }
    }

    /// Returns the version of compressed attributes.
    fn version(self) -> i32 {
        match self {
            Extension::Ext => 0,
            Extension::Khr => 1,
        }
    }
}

/// The encoder's level of compression: the slowest and smallest.
const LEVEL: i32 = 3;

/// Compresses values of `stride` bytes in mode `ATTRIBUTES`. An error for a stride that no accessor of this
/// writer has.
pub(super) fn compress_values(bytes: &[u8], stride: usize, extension: Extension) -> Result<Vec<u8>, Error> {
    fn compress<const N: usize>(bytes: &[u8], version: i32) -> Result<Vec<u8>, Error> {
        let values = bytes.as_chunks::<N>().0;
        meshopt::encode_vertex_buffer_level(values, LEVEL, Some(version)).map_err(refused)
    }
    let version = extension.version();
    match stride {
        4 => compress::<4>(bytes, version),
        8 => compress::<8>(bytes, version),
        12 => compress::<12>(bytes, version),
        16 => compress::<16>(bytes, version),
        64 => compress::<64>(bytes, version),
        _ => Err(Error::misuse(format!("values of {stride} bytes in a compressed .glb"))),
    }
}

fn refused(error: meshopt::Error) -> Error {
    Error::misuse(format!("a compressed .glb: {error}"))
}

/// Compresses triangles, three indices each, in mode `TRIANGLES`. A triangle may come back with another of
/// its corners first.
pub(super) fn compress_triangles(indices: &[u32]) -> Result<Vec<u8>, Error> {
    let vertices = indices.iter().max().map_or(0, |&last| last as usize + 1);
    meshopt::encode_index_buffer(indices, vertices).map_err(refused)
}

impl FromStr for Extension {
    type Err = String;
    fn from_str(text: &str) -> Result<Extension, String> {
        match text {
            "meshopt" => Ok(Extension::Ext),
            "khr-meshopt" => Ok(Extension::Khr),
            _ => Err(format!("'{text}' compresses nothing: give one of: meshopt, khr-meshopt")),
        }
    }
}
