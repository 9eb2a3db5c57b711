//! Clips in memory, sampled at random: the resident form, which nothing is unpacked of.
//!
//! A pose is read bit by bit where it stands; two samples of one segment are blended before they become rotations, two of different segments
//! afterwards.

use super::{Repeats, Rounding, SkeletonRecord, blend, locate};
use crate::Error;
use meshreel_codec::clip::resident::{Resident, SEGMENT};
use meshreel_codec::transform::Transform;
use std::path::Path;
use std::sync::Arc;

/// A clip that stays in memory. Clones share its data.
#[derive(Clone, Debug)]
pub struct ResidentClip {
    skeleton: Arc<SkeletonRecord>,
    resident: Arc<Resident>,
}

/// What a thread that samples needs: one pose.
#[derive(Clone, Debug)]
pub struct Spare(Vec<Transform>);

impl ResidentClip {
    /// From the bytes of the resident form; all of them are checked. Errors name the place "(memory)".
    pub fn open(skeleton: &Arc<SkeletonRecord>, bytes: &[u8]) -> Result<ResidentClip, Error> {
        let resident = Resident::open(&skeleton.skeleton(), bytes)
            .map_err(|c| Error::corrupt(Path::new("(memory)"), c, "a resident clip"))?;
        Ok(ResidentClip {
            skeleton: skeleton.clone(),
            resident: Arc::new(resident),
        })
    }

    /// Number of joints: the length of a pose.
    pub fn joints(&self) -> usize {
        self.skeleton.parents.len()
    }
    /// Number of samples, at least 1.
    pub fn samples(&self) -> usize {
        self.resident.plan.header.samples as usize
    }
    /// Samples per second.
    pub fn fps(&self) -> f64 {
        self.resident.plan.header.fps
    }
    /// Seconds from first to last sample.
    pub fn duration(&self) -> f64 {
        (self.samples() - 1) as f64 / self.fps()
    }
    /// Bytes that it takes beside its skeleton.
    pub fn bytes(&self) -> usize {
        self.resident.packed_bytes()
    }
    /// Memory for [`ResidentClip::sample`].
    pub fn spare(&self) -> Spare {
        Spare(vec![Transform::IDENTITY; self.joints()])
    }

    /// Local transforms of all joints `seconds` after the first sample, into `pose`, one per joint. Allocates nothing.
    pub fn sample(
        &self,
        seconds: f64,
        repeats: Repeats,
        rounding: Rounding,
        spare: &mut Spare,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        let n = self.joints();
        if pose.len() != n || spare.0.len() != n {
            return Err(Error::misuse(format!(
                "a pose of {} transforms, memory for {}, for {n} joints",
                pose.len(),
                spare.0.len()
            )));
        }
        let (left, right, part) = locate(self.samples(), self.fps(), seconds, repeats, rounding);
        pose.copy_from_slice(self.resident.plan.still());
        if part == 0.0 || (right == left + 1 && left / SEGMENT == right / SEGMENT) {
            self.resident.pose(left, part as f32, pose);
            return Ok(());
        }
        spare.0.copy_from_slice(self.resident.plan.still());
        self.resident.pose(left, 0.0, &mut spare.0);
        self.resident.pose(right, 0.0, pose);
        for (a, b) in spare.0.iter().zip(pose) {
            let end = [*b];
            blend(
                std::slice::from_ref(a),
                &end,
                part as f32,
                std::slice::from_mut(b),
            );
        }
        Ok(())
    }

    /// The local transform of one joint.
    pub fn joint(
        &self,
        joint: usize,
        seconds: f64,
        repeats: Repeats,
        rounding: Rounding,
    ) -> Result<Transform, Error> {
        let Some(still) = self.resident.plan.still().get(joint) else {
            return Err(Error::misuse(format!("joint {joint} of {}", self.joints())));
        };
        let (left, right, part) = locate(self.samples(), self.fps(), seconds, repeats, rounding);
        let mut out = *still;
        if part == 0.0 || (right == left + 1 && left / SEGMENT == right / SEGMENT) {
            self.resident.joint(left, part as f32, joint, &mut out);
            return Ok(out);
        }
        let mut end = *still;
        self.resident.joint(left, 0.0, joint, &mut out);
        self.resident.joint(right, 0.0, joint, &mut end);
        let start = [out];
        blend(&start, &[end], part as f32, std::slice::from_mut(&mut out));
        Ok(out)
    }
}
