//! Skinning of points by skins and rigs.

use meshreel::clip::{SkeletonRecord, object_space};
use meshreel::view::{BoneMatrix, BonesView, PartAttribute};
use meshreel::{MeshRig, Transform};

/// Returns the matrices of a rig's joints, from bind pose to object space, in a pose of its skeleton.
pub fn rig_matrices(rig: &MeshRig, skeleton: &SkeletonRecord, pose: &[Transform]) -> Vec<BoneMatrix> {
    let mut object = vec![BoneMatrix::default(); pose.len()];
    object_space(&skeleton.parents, pose, &mut object);
    let mut matrices = vec![BoneMatrix::default(); rig.joints().len()];
    rig.matrices(&object, &mut matrices);
    matrices
}

/// Joints and weights of points in the form of [`Skin`]: the same number for each point, that of the point
/// with most.
pub(crate) struct Influences {
    /// Number of influences of each point, at least one.
    pub count: usize,
    /// Joint numbers, `count` per point.
    pub joint: Vec<u16>,
    /// Weights, `count` per point.
    pub weight: Vec<f32>,
}

impl Influences {
    /// Collects the joints and weights that `of` returns for each of the `vertices`; `None` if there are no
    /// vertices.
    pub fn new<I>(vertices: &[usize], of: impl Fn(usize) -> I) -> Option<Influences>
    where
        I: Iterator<Item = (usize, f32)>,
    {
        let count = vertices.iter().map(|&v| of(v).count()).max()?.max(1);
        let mut joint = vec![0; vertices.len() * count];
        let mut weight = vec![0.0; vertices.len() * count];
        for (i, &v) in vertices.iter().enumerate() {
            for (k, (j, w)) in of(v).enumerate() {
                joint[i * count + k] = j as u16;
                weight[i * count + k] = w;
            }
        }
        Some(Influences { count, joint, weight })
    }
}

/// Returns the group of a part attribute that a vertex belongs to: that of its part, or its own. `None` if
/// the attribute has one value for the whole mesh, or the vertex belongs to no known part.
pub fn vertex_group(attribute: &PartAttribute, bones: Option<&BonesView<'_>>, vertex: usize) -> Option<u32> {
    match (attribute.part_groups(), attribute.vertex_groups()) {
        (Some(groups), _) => {
            let (part, _) = bones?.influences(vertex).next()?;
            groups.get(part).copied()
        }
        (None, Some(groups)) => groups.get(vertex).copied(),
        (None, None) => None,
    }
}
