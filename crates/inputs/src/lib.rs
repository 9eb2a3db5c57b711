//! Opens the inputs that a user names as a scene and options: files, quoted globs and sequences, point caches
//! beside their meshes, several inputs merged into one, options files. This crate prints nothing and does not
//! depend on what a scene is compiled into.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod error;
mod expand;
mod extensions;
mod folder;
mod open;
mod options_file;

pub use error::Error;
pub use expand::expand;
pub use extensions::{EXTENSIONS, is_point_cache};
pub use open::{InputOptions, open, source_bytes};
pub use options_file::{read_options, read_options_text};
