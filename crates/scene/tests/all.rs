//! Tests the model on scenes of files.

mod hierarchy;
