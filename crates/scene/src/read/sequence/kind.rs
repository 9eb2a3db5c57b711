//! Which kind of files a sequence is of.

/// What each file is.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Obj,
    Ply,
}
