//! Clips in memory, sampled at random: the resident form, which nothing is unpacked of.
//!
//! A pose is read bit by bit where it stands, eight sub-tracks at a time; two samples of one segment are
//! blended before they become rotations, two of different segments afterwards.

use super::pose::{Masked, check, put_all};
use super::{Pose, Query, Repeats, Rounding, SkeletonRecord};
use crate::{Error, error};
use meshreel_codec::clip::resident::{Parts, Resident};
use meshreel_codec::clip::{Rotation, Vector};
use meshreel_codec::transform::Transform;
use std::path::Path;
use std::sync::Arc;

/// A clip that stays in memory. Clones share its data.
#[derive(Clone, Debug)]
pub struct ResidentClip {
    skeleton: Arc<SkeletonRecord>,
    resident: Arc<Resident>,
    /// Layers over it.
    over: Arc<[Layer]>,
}

/// A layer, which may be away.
#[derive(Clone, Debug)]
struct Layer {
    resident: Option<Arc<Resident>>,
    /// Joints that have anything in it.
    joints: Arc<[u32]>,
}

impl ResidentClip {
    /// From the bytes of the resident form; all of them are checked. Errors name the place "(memory)".
    pub fn open(skeleton: &Arc<SkeletonRecord>, bytes: &[u8]) -> Result<ResidentClip, Error> {
        let resident = Resident::open(&skeleton.skeleton(), bytes)
            .map_err(|c| error::corrupt(Path::new("(memory)"), c, "a resident clip"))?;
        Ok(ResidentClip { skeleton: skeleton.clone(), resident: Arc::new(resident), over: Arc::new([]) })
    }

    /// A clip in layers, the base first, each in the resident form. Misuse: layers of different samples or
    /// rates, or two that have the same joint.
    pub fn open_layers(skeleton: &Arc<SkeletonRecord>, layers: &[&[u8]]) -> Result<ResidentClip, Error> {
        let Some((base, over)) = layers.split_first() else {
            return Err(Error::misuse("a clip without layers"));
        };
        let base = ResidentClip::open(skeleton, base)?;
        let mut seen = own_joints(&base.resident);
        let mut all = Vec::with_capacity(over.len());
        for bytes in over {
            let layer = ResidentClip::open(skeleton, bytes)?;
            let joints = own_joints(&layer.resident);
            let alike = layer.samples() == base.samples() && layer.fps() == base.fps();
            if !alike || joints.iter().any(|j| seen.contains(j)) {
                return Err(Error::misuse("layers of different samples, or with the same joint"));
            }
            seen.extend(&joints);
            all.push(Layer { resident: Some(layer.resident), joints: joints.into() });
        }
        Ok(ResidentClip { over: all.into(), ..base })
    }

    /// The same clip without layer `layer`, whose joints then stand in the bind pose; its memory is freed
    /// with the last clip that has it. The base, layer 0, stays.
    pub fn without(&self, layer: usize) -> ResidentClip {
        let mut over = self.over.to_vec();
        if let Some(layer) = layer.checked_sub(1).and_then(|l| over.get_mut(l)) {
            layer.resident = None;
        }
        ResidentClip { over: over.into(), ..self.clone() }
    }

    /// The layer of a joint, 0 the base.
    pub fn cosmetic_level(&self, joint: usize) -> usize {
        let has = |layer: &Layer| layer.joints.contains(&(joint as u32));
        self.over.iter().position(has).map_or(0, |l| l + 1)
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
    /// Bytes that it takes beside its skeleton, with all layers that are there.
    pub fn bytes(&self) -> usize {
        let over = self.over.iter().flat_map(|layer| &layer.resident);
        self.resident.packed_bytes() + over.map(|r| r.packed_bytes()).sum::<usize>()
    }

    /// Local transforms of all joints `seconds` after the first sample, into `pose`, one per joint. Allocates
    /// nothing.
    pub fn sample(
        &self,
        seconds: f64,
        repeats: Repeats,
        rounding: Rounding,
        pose: &mut [Transform],
    ) -> Result<(), Error> {
        let query = Query { repeats, ..Query::at(seconds).rounded(rounding) };
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
        self.resident.pose(left, right, each, &mut Masked { mask, pose });
        for layer in &*self.over {
            let Some(resident) = &layer.resident else {
                continue;
            };
            for &j in &*layer.joints {
                let j = j as usize;
                if query.wants(j) && pose.wants(j) {
                    pose.put(j, &resident.plan.still()[j]);
                }
            }
            resident.pose(left, right, each, &mut Masked { mask, pose });
        }
        Ok(())
    }

    /// The local transform of one joint, the bind pose where its layer is not there. Allocates nothing.
    #[inline]
    pub fn joint(
        &self,
        joint: usize,
        seconds: f64,
        repeats: Repeats,
        rounding: Rounding,
    ) -> Result<Transform, Error> {
        let mut resident = &self.resident;
        if let Some(layer) = (self.over.iter()).find(|l| l.joints.contains(&(joint as u32))) {
            resident = layer.resident.as_ref().unwrap_or(resident);
        }
        let Some(still) = resident.plan.still().get(joint) else {
            return Err(Error::misuse(format!("joint {joint} of {}", self.joints())));
        };
        let query = Query { repeats, ..Query::at(seconds).rounded(rounding) };
        let (left, right, each) = query.locate(self.samples(), self.fps());
        let mut out = *still;
        resident.joint(left, right, each.of(joint), joint, &mut out);
        Ok(out)
    }
}

/// Joints of which a layer says anything.
fn own_joints(resident: &Resident) -> Vec<u32> {
    let header = &resident.plan.header;
    let says = |j: &usize| {
        header.rotations[*j] != Rotation::Default
            || header.translations[*j] != Vector::Default
            || header.scales[*j] != Vector::Default
    };
    let all = 0..header.rotations.len();
    all.filter(says).map(|j| j as u32).collect()
}
