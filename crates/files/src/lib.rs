//! Files of the system: only ordinary ones are read, and what is written has its name when it is complete.
//!
//! Opening a named pipe waits until somebody writes to it, and reading a device may never end; [`open`]
//! refuses both at once. A [`Temporary`] is a file beside its target that takes the target's name at the end,
//! so that whoever looks finds the old file or the whole new one. It goes away when it is dropped, when the
//! process is told to stop ([`remove_unfinished`]), and, where the process could do nothing any more, with
//! the next one for the same target.
//!
//! What a file names is opened by a [`Folder`] alone, which keeps to the folder of that file.
//!
//! Names such as `s3://bucket/name` are files of a [`store`], where a program has connected one: they are read and
//! written like others.

mod named;
mod ordinary;
mod read_at;
mod source;
pub mod store;
mod temporary;

pub use named::{Folder, inside};
pub use ordinary::{create_folder, exists, length, names, open, refuse_link};
pub use read_at::ReadAt;
pub use source::FileSource;
pub use temporary::{Published, Temporary, remove_unfinished};
