//! Which kind of files a sequence is of.

/// The format of each file of a sequence.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Obj,
    Ply,
}
