//! Compresses the contents of buffer views as `EXT_meshopt_compression` and `KHR_meshopt_compression` specify
//! (Khronos Group, glTF extension registry). Lossless, except for values to which a filter is applied first.

pub(super) mod filters;
pub(super) mod indices;
pub(super) mod vertices;

#[cfg(test)]
mod tests;

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
    pub(super) fn version(self) -> u8 {
        match self {
            Extension::Ext => 0,
            Extension::Khr => 1,
        }
    }
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
