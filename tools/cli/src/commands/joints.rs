//! Joints of skeletons as `info` lists them, of a `.reel` and of a source.

use crate::output::{Failure, one_line};
use meshreel::Reel;
use meshreel_scene::Scene;
use serde::Serialize;
use std::fmt::Write;

/// A skeleton.
#[derive(Serialize)]
pub struct SkeletonInfo {
    name: String,
    joints: Vec<JointInfo>,
}

/// A joint: its name, and the number of the one above it.
#[derive(Serialize)]
struct JointInfo {
    name: String,
    parent: Option<usize>,
}

/// Those of one of our files.
pub fn of_reel(reel: &Reel) -> Result<Vec<SkeletonInfo>, Failure> {
    let info = |skeleton: &meshreel_codec::clip::record::SkeletonRecord| {
        let all = skeleton.names.iter().zip(&skeleton.parents).enumerate();
        SkeletonInfo {
            name: skeleton.name.clone(),
            joints: all
                .map(|(j, (name, &parent))| JointInfo {
                    name: name.clone(),
                    // Parents come first; anything else says that there is none.
                    parent: Some(parent as usize).filter(|&parent| parent < j),
                })
                .collect(),
        }
    };
    Ok(reel.skeletons()?.iter().map(|s| info(s)).collect())
}

/// Those of a source.
pub fn of_scene(scene: &Scene) -> Vec<SkeletonInfo> {
    let info = |skeleton: &meshreel_scene::Skeleton| SkeletonInfo {
        name: skeleton.name.clone(),
        joints: (skeleton.joints.iter())
            .map(|joint| JointInfo { name: joint.name.clone(), parent: joint.parent })
            .collect(),
    };
    scene.skeletons.iter().map(info).collect()
}

/// Skeletons as trees, children below their parents.
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
