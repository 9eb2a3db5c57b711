//! Prints joints of skeletons, of a `.reel` and of a source, for `info`.

use crate::output::one_line;
use meshreel_commands::info::SkeletonInfo;
use std::fmt::Write;

/// Returns skeletons as trees, children below their parents.
pub fn text(skeletons: &[SkeletonInfo]) -> String {
    let mut out = String::new();
    for skeleton in skeletons {
        let count = skeleton.joints.len();
        let _ = writeln!(out, "\nskeleton {}, {count} joints", one_line(&skeleton.name));
        let mut depths: Vec<usize> = Vec::with_capacity(count);
        for joint in &skeleton.joints {
            let above = joint.parent.and_then(|parent| depths.get(parent));
            let depth = above.map_or(1, |depth| depth + 1);
            depths.push(depth);
            let _ = writeln!(out, "{}{}", "  ".repeat(depth), one_line(&joint.name));
        }
    }
    out
}
