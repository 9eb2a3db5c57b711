//! Readers: one file or folder per format. [`open`] tells the format from content and name.
pub mod alembic;
