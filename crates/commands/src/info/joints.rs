//! Joints of skeletons, of a `.reel` and of a source.

use crate::failure::Failure;
use meshreel::Reel;
use meshreel::clip::SkeletonRecord;
use meshreel_scene::Scene;
use serde::Serialize;

/// A skeleton.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct SkeletonInfo {
    pub name: String,
    pub joints: Vec<JointInfo>,
}

/// A joint: its name, and the index of its parent.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct JointInfo {
    pub name: String,
    pub parent: Option<usize>,
}

/// Returns the skeletons of a `.reel`.
pub fn reel_skeletons(reel: &Reel) -> Result<Vec<SkeletonInfo>, Failure> {
    let info = |skeleton: &SkeletonRecord| {
        let all = skeleton.names.iter().zip(&skeleton.parents).enumerate();
        SkeletonInfo {
            name: skeleton.name.clone(),
            joints: all
                .map(|(j, (name, &parent))| JointInfo {
                    name: name.clone(),
                    // Parents come first; any other index means that there is no parent.
                    parent: Some(parent as usize).filter(|&parent| parent < j),
                })
                .collect(),
        }
    };
    Ok(reel.skeletons()?.iter().map(|s| info(s)).collect())
}

/// Returns the skeletons of a source.
pub fn scene_skeletons(scene: &Scene) -> Vec<SkeletonInfo> {
    let info = |skeleton: &meshreel_scene::Skeleton| SkeletonInfo {
        name: skeleton.name.clone(),
        joints: (skeleton.joints.iter())
            .map(|joint| JointInfo { name: joint.name.clone(), parent: joint.parent })
            .collect(),
    };
    scene.skeletons.iter().map(info).collect()
}
