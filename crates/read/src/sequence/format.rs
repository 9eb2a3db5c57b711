//! The file formats a sequence can have.

/// The format of each file of a sequence.
#[derive(Clone, Copy)]
pub(super) enum SequenceFormat {
    Obj,
    Ply,
}
