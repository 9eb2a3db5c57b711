//! Passes over one mesh, in the order of [`crate::plan`].
