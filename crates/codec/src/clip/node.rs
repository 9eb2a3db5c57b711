//! A moving node: its parent, and the bounds of everything below it, which determine its step sizes.

use crate::transform::Transform;

/// A node, as far as the decoder needs it.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The parent's number, which is smaller than the node's own.
    pub parent: Option<u32>,
    /// The local transform in the first frame; in all frames if the node does not move.
    pub rest: Transform,
    /// `true` if the node moves.
    pub moves: bool,
    /// The bounds of its own mesh, or of a locator: min xyz, max xyz.
    pub bounds: Option<[f32; 6]>,
}

impl Node {
    /// Returns the bounds of a locator: a cube from −`reach` to `reach` along each axis.
    pub fn locator_bounds(reach: f32) -> [f32; 6] {
        [-reach, -reach, -reach, reach, reach, reach]
    }
}

/// Returns the bounds of everything below each node, in the node's space: min xyz, max xyz. If there is
/// nothing, min is +∞ and max −∞.
pub fn subtree_bounds(nodes: &[Node]) -> Vec<[f64; 6]> {
    let (high, low) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut out = vec![[low, low, low, high, high, high]; nodes.len()];
    for (n, node) in nodes.iter().enumerate().rev() {
        if let Some(bounds) = node.bounds {
            let own = bounds.map(f64::from);
            for k in 0..3 {
                out[n][k] = out[n][k].min(own[k]);
                out[n][k + 3] = out[n][k + 3].max(own[k + 3]);
            }
        }
        let below = out[n];
        let Some(above) = node.parent.and_then(|p| out.get_mut(p as usize)) else {
            continue;
        };
        if !(0..3).all(|k| below[k] <= below[k + 3]) {
            continue;
        }
        let m = node.rest.matrix();
        for corner in 0..8 {
            let p = [0, 1, 2].map(|k| below[if corner >> k & 1 == 0 { k } else { k + 3 }]);
            for k in 0..3 {
                let x = m[k][0] * p[0] + m[k][1] * p[1] + m[k][2] * p[2] + m[k][3];
                above[k] = above[k].min(x);
                above[k + 3] = above[k + 3].max(x);
            }
        }
    }
    out
}

/// Returns `true` if a step can be divided by this length.
pub(super) fn usable(length: f64) -> bool {
    length > 1e-30 && length < 1e30
}

/// Returns R·S·p: `p` scaled and rotated by the transform `t`.
#[inline]
pub(super) fn scale_and_rotate(t: &Transform, p: [f64; 3]) -> [f64; 3] {
    let mut out = [0.0; 3];
    for (out, m) in out.iter_mut().zip(t.matrix()) {
        *out = m[0] * p[0] + m[1] * p[1] + m[2] * p[2];
    }
    out
}
