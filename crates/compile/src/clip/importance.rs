//! Importance of joints, by how much of the skeleton they move: the automatic choice of layers.
//!
//! ```text
//! importance(j) = Σ over joints k that j moves, itself included:  d(j, k) + Σ over the three points of the error of k: d(j, k) + shell(k)
//! d             = the way along the bones in the rest pose
//! ```
//!
//! Multiplied by the animator's bias of j, and never less than that of a child, since a layer needs the
//! joints above it.
//!
//! Credit: N. Frechette, ACL issue 392: total geodesic distance of what a joint moves, with a bias for
//! animators.

use super::reference::Joints;

/// Returns the importance of all joints, in units of length. `bias`: one per joint, 1 for none.
pub fn importance(joints: &Joints, bias: &[f64]) -> Vec<f64> {
    let n = joints.parents.len();
    // By joint: the number of joints that it moves, and the sums of the distances to them and of their
    // shells.
    let mut moved: Vec<(f64, f64, f64)> = (joints.shell.iter()).map(|s| (1.0, 0.0, f64::from(*s))).collect();
    for j in (0..n).rev() {
        let parent = joints.parents[j] as usize;
        if parent < j {
            let t = joints.rest[j].translation.map(f64::from);
            let way = (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]).sqrt();
            let (count, ways, shells) = moved[j];
            moved[parent].0 += count;
            moved[parent].1 += ways + count * way;
            moved[parent].2 += shells;
        }
    }
    let mut out: Vec<f64> = (moved.iter().zip(bias))
        .map(|((_, ways, shells), bias)| (4.0 * ways + 3.0 * shells) * bias)
        .collect();
    for j in (0..n).rev() {
        let parent = joints.parents[j] as usize;
        if parent < j {
            out[parent] = out[parent].max(out[j]);
        }
    }
    out
}

/// Returns the joints whose importance is below `part` of the largest.
pub fn below_fraction(importance: &[f64], part: f64) -> Vec<bool> {
    let most = importance.iter().copied().fold(0.0, f64::max);
    importance.iter().map(|i| *i < part * most).collect()
}

/// Returns the least important joints, a fraction `share` of all; of equal ones the later.
pub fn least_fraction(importance: &[f64], share: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..importance.len()).collect();
    order.sort_by(|&a, &b| importance[a].total_cmp(&importance[b]).then(b.cmp(&a)));
    let count = (share.clamp(0.0, 1.0) * order.len() as f64) as usize;
    let mut out = vec![false; order.len()];
    for &j in &order[..count] {
        out[j] = true;
    }
    out
}
