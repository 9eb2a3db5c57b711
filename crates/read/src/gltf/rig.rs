//! The nodes of a file with the animations played on them.

use super::takes::Takes;
use super::tree::Tree;
use meshreel_scene::Identity;
use meshreel_scene::identity::content_identity;
use std::sync::Arc;

/// The node tree and the animations that move it.
pub(super) struct Rig {
    pub tree: Arc<Tree>,
    /// The animations that are played: for each node the first that moves it, or all one after the other.
    pub takes: Takes,
}

/// Returns an identity by value, equal for samples with equal numbers.
pub(super) fn numbers_identity(numbers: &[f64]) -> Identity {
    let bits: Vec<[u32; 2]> =
        numbers.iter().map(|v| [(v.to_bits() >> 32) as u32, v.to_bits() as u32]).collect();
    content_identity(&bits)
}
