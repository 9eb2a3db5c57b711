//! Meshes deformed by joints and blend shapes: points, normals, and the joints' matrices.

use super::samples::values_at;
use super::skeleton::{TransformChain, UsdSkeleton};
use super::xform;
use glam::{DMat4, DVec3};
use meshreel_scene::in_between::weight_of_key;
use meshreel_scene::skinning::{self, BindNormals, Influences};
use meshreel_scene::{Channel, DrivenMesh, Error, Identity, LocalTransform, Scope, Source, TimeSampling};
use std::sync::Arc;

/// A blend shape: the index of its weight in the animation, and its keys at their weights.
pub struct BlendShape {
    pub weight: usize,
    /// The weights at which each key is fully reached; at 0 none has an effect.
    pub targets: Vec<f64>,
    pub keys: Vec<ShapeOffsets>,
}

/// The index of a point, and its offset.
pub type PointOffset = (u32, [f32; 3]);

/// The offsets of points and of their normals.
#[derive(Default)]
pub struct ShapeOffsets {
    pub points: Vec<PointOffset>,
    pub normals: Vec<PointOffset>,
}

/// A mesh deformed by its skeleton.
pub struct SkinnedMesh {
    pub skeleton: UsdSkeleton,
    /// Maps the geometry's space to the skeleton's at bind time.
    pub bind: DMat4,
    /// Transforms from the skeleton to the common ancestor, outermost first, and the same from the mesh.
    pub to_skeleton: TransformChain,
    pub to_mesh: TransformChain,
    pub points: Arc<[[f32; 3]]>,
    /// The joints are those of the skeleton.
    pub influences: Influences,
    pub shapes: Vec<BlendShape>,
    pub normals: Option<(Scope, BindNormals)>,
    pub sampling: Arc<TimeSampling>,
    pub count: usize,
}

impl SkinnedMesh {
    /// Returns the matrix of each joint, from the skin's bind positions to the mesh's space.
    fn matrices(&self, time: f64) -> Result<Vec<DMat4>, Error> {
        let out_of = self.skeleton_to_mesh(time)?;
        let mut joints = self.skeleton.joint_transforms(time)?;
        for (joint, inverse) in joints.iter_mut().zip(&self.skeleton.inverse_bind) {
            *joint = out_of * *joint * *inverse * self.skin_bind();
        }
        Ok(joints)
    }

    /// Returns the matrix from the skeleton's space to the mesh's.
    fn skeleton_to_mesh(&self, time: f64) -> Result<DMat4, Error> {
        let product = |way: &[Channel<LocalTransform>]| -> Result<DMat4, Error> {
            let mut out = DMat4::IDENTITY;
            for channel in way {
                out *= xform::matrix_at(channel, time)?;
            }
            Ok(out)
        };
        let (skeleton, mesh) = (product(&self.to_skeleton)?, product(&self.to_mesh)?);
        Ok(if mesh.determinant() == 0.0 { skeleton } else { mesh.inverse() * skeleton })
    }

    /// Returns the matrix from the skin's bind positions to the skeleton's bind space. For dual quaternions,
    /// joints are decomposed in the skeleton's space, so the bind positions are already there.
    pub fn skin_bind(&self) -> DMat4 {
        if self.influences.dual.is_empty() { self.bind } else { DMat4::IDENTITY }
    }

    fn pose(&self, time: f64) -> Result<skinning::JointPose, Error> {
        if self.influences.dual.is_empty() {
            return Ok(skinning::JointPose::new(self.matrices(time)?, &self.influences));
        }
        let mut joints = self.skeleton.joint_transforms(time)?;
        for (joint, inverse) in joints.iter_mut().zip(&self.skeleton.inverse_bind) {
            *joint *= *inverse;
        }
        Ok(skinning::JointPose::dual_quaternion(self.bind, &joints, self.skeleton_to_mesh(time)?))
    }

    /// Adds the offsets of blend shapes to points or to normals, as `of` selects; `add` takes a point index
    /// and an offset.
    fn add_shape_offsets(
        &self,
        time: f64,
        of: fn(&ShapeOffsets) -> &[PointOffset],
        add: &mut dyn FnMut(u32, DVec3),
    ) -> Result<(), Error> {
        let Some(weights) = self.skeleton.weights().filter(|_| !self.shapes.is_empty()) else {
            return Ok(());
        };
        let weights = values_at(weights, time, |w| *w, |a, b, f| a + (b - a) * f)?;
        for shape in &self.shapes {
            let weight = weights.get(shape.weight).copied().unwrap_or(0.0);
            for (number, key) in shape.keys.iter().enumerate() {
                let share = weight_of_key(&shape.targets, number, weight);
                for (point, offset) in of(key).iter().filter(|_| share != 0.0) {
                    add(*point, DVec3::from_array(offset.map(f64::from)) * share);
                }
            }
        }
        Ok(())
    }

    fn points(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        let pose = self.pose(time)?;
        let mut points: Vec<DVec3> =
            self.points.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect();
        self.add_shape_offsets(time, |key| &key.points, &mut |point, offset| {
            if let Some(point) = points.get_mut(point as usize) {
                *point += offset;
            }
        })?;
        out.clear();
        let moved = |(number, point): (usize, &DVec3)| {
            self.influences.posed_point(number, *point, &pose).as_vec3().to_array()
        };
        out.extend(points.iter().enumerate().map(moved));
        Ok(())
    }

    /// Computes normals of unit length, by the inverse transpose of their points' transforms.
    fn normals(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        out.clear();
        let Some((_, own)) = &self.normals else {
            return Ok(());
        };
        let pose = self.pose(time)?;
        let mut offsets = vec![DVec3::ZERO; self.points.len()];
        self.add_shape_offsets(time, |key| &key.normals, &mut |point, offset| {
            if let Some(own) = offsets.get_mut(point as usize) {
                *own += offset;
            }
        })?;
        own.posed(&offsets, Some((&self.influences, &pose)), out);
        Ok(())
    }
}

impl Source<[f32; 3]> for SkinnedMesh {
    fn len(&self) -> usize {
        self.count
    }

    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }

    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        self.points(self.sampling.time(i), out)
    }

    fn has_own_interpolation(&self) -> bool {
        self.count > 1
    }

    fn read_between(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<bool, Error> {
        self.points(time, out).map(|()| true)
    }
}

impl DrivenMesh for SkinnedMesh {
    fn points(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        SkinnedMesh::points(self, time, out)
    }
}

/// The joint matrices of a mesh over time.
pub struct JointMatrices(pub Arc<SkinnedMesh>);

impl Source<DMat4> for JointMatrices {
    fn len(&self) -> usize {
        self.0.count
    }

    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }

    fn read(&self, i: usize, out: &mut Vec<DMat4>) -> Result<(), Error> {
        *out = self.0.matrices(self.0.sampling.time(i))?;
        Ok(())
    }

    fn has_own_interpolation(&self) -> bool {
        self.0.count > 1
    }

    fn read_between(&self, time: f64, out: &mut Vec<DMat4>) -> Result<bool, Error> {
        *out = self.0.matrices(time)?;
        Ok(true)
    }
}

/// The normals of a mesh over time.
pub struct SkinnedNormals(pub Arc<SkinnedMesh>);

impl Source<[f32; 3]> for SkinnedNormals {
    fn len(&self) -> usize {
        self.0.count
    }

    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }

    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        self.0.normals(self.0.sampling.time(i), out)
    }

    fn has_own_interpolation(&self) -> bool {
        self.0.count > 1
    }

    fn read_between(&self, time: f64, out: &mut Vec<[f32; 3]>) -> Result<bool, Error> {
        self.0.normals(time, out).map(|()| true)
    }
}
