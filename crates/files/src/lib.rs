//! File access: reads ordinary files only, and gives a written file its name only once it is complete.
//!
//! Opening a named pipe blocks until somebody writes to it, and reading a device may never end; [`open`]
//! refuses both at once. A [`Temporary`] is a file beside its target that is renamed to the target at the
//! end, so that a reader finds either the old file or the whole new one. It is removed when it is dropped,
//! when the process is told to stop ([`remove_unfinished`]), or, if the process was killed, when the next one
//! for the same target is made.
//!
//! Files that are named within a file are opened through a [`Folder`] only, which stays in the folder of that
//! file.
//!
//! Names such as `s3://bucket/name` are files of a [`store`], if the program has connected one: they are read
//! and written like others.

mod named;
mod ordinary;
mod positioned;
mod read_at;
mod source;
mod stamp;
pub mod store;
mod temporary;

pub use named::{Folder, resolve_inside};
pub use ordinary::{create_folder, exists, length, names, open, refuse_link};
pub use positioned::{PositionedFile, Unreadable};
pub use read_at::ReadAt;
pub use source::FileSource;
pub use stamp::FileStamp;
pub use temporary::{Published, Temporary, remove_unfinished};
