//! Compresses what buffer views hold, as `EXT_meshopt_compression` and `KHR_meshopt_compression` say (Khronos Group, glTF
//! extension registry). Values come back bit for bit; what filters are applied to before comes back as they round it.

pub(super) mod filters;
pub(super) mod indices;
pub(super) mod vertices;

#[cfg(test)]
mod tests;

use std::str::FromStr;

/// Which extension a file asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// `EXT_meshopt_compression`, which nearly all loaders know.
    Ext,
    /// `KHR_meshopt_compression`, whose attributes are smaller, for loaders of 2026 and later.
    Khr,
}

impl Extension {
    /// As a file names it.
    pub fn name(self) -> &'static str {
        match self {
            Extension::Ext => "EXT_meshopt_compression",
            Extension::Khr => "KHR_meshopt_compression",
        }
    }

    /// The version of compressed attributes.
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
