//! Clips in memory, sampled at random: the resident form, which nothing is unpacked of.
//!
//! A pose is read bit by bit where it stands, eight sub-tracks at a time; two samples of one segment are blended before they become rotations, two of
//! different segments afterwards.

use super::pose::{Masked, check, put_all};
use super::{Pose, Query, Repeats, Rounding, SkeletonRecord};
use crate::Error;
use meshreel_codec::clip::resident::{Parts, Resident};
use meshreel_codec::transform::Transform;
use std::path::Path;
use std::sync::Arc;

/// A clip that stays in memory. Clones share its data.
#[derive(Clone, Debug)]
pub struct ResidentClip {
    skeleton: Arc<SkeletonRecord>,
    resident: Arc<Resident>,
}

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

    /// Its skeleton: names, parents, default pose.
    pub fn skeleton(&self) -> &SkeletonRecord {
        &self.skeleton
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

    /// Local transforms of all joints `seconds` after the first sample, into `pose`, one per joint. Allocates nothing.
    pub fn sample(
        &self,
        seconds: f64,
        repeats: Repeats,
        rounding: Rounding,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        let query = Query {
            repeats,
            ..Query::at(seconds).rounded(rounding)
        };
        self.pose(&query, pose)
    }

    /// Local transforms of the joints that `query` wants. Allocates nothing.
    #[inline]
    pub fn pose(&self, query: &Query<'_>, pose: &mut (impl Pose + ?Sized)) -> Result<(), Error> {
        check(pose, self.joints())?;
        let (left, right, each) = query.locate(self.samples(), self.fps());
        self.resident.fetch(left, right);
        put_all(self.resident.plan.still(), query, pose);
        let mask = query.mask;
        self.resident
            .pose(left, right, each, &mut Masked { mask, pose });
        Ok(())
    }

    /// The local transform of one joint. Allocates nothing.
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
        let query = Query {
            repeats,
            ..Query::at(seconds).rounded(rounding)
        };
        let (left, right, each) = query.locate(self.samples(), self.fps());
        let mut out = *still;
        self.resident
            .joint(left, right, each.of(joint), joint, &mut out);
        Ok(out)
    }
}
