//! Clips in memory, sampled at random: the random-access form, which nothing is unpacked of.
//!
//! A pose is read bit by bit where it stands, eight sub-tracks at a time; two samples of one segment are
//! blended before they become rotations, two of different segments afterwards.

use super::pose::{JointPose, Masked, Pose, check, put_all};
use super::pose_source::PoseSource;
use super::query::Query;
use crate::{Error, error};
use meshreel_codec::clip::random_access::{Parts, RandomAccess};
use meshreel_codec::clip::record::SkeletonRecord;
use meshreel_codec::clip::{Rotation, Vector};
use std::path::Path;
use std::sync::Arc;

/// A clip that stays in memory. Clones share its data.
#[derive(Clone, Debug)]
pub struct RandomAccessClip {
    skeleton: Arc<SkeletonRecord>,
    resident: Arc<RandomAccess>,
    /// Layers over it.
    over: Arc<[Layer]>,
}

/// A layer, which may be away.
#[derive(Clone, Debug)]
struct Layer {
    resident: Option<Arc<RandomAccess>>,
    /// Joints that have anything in it.
    joints: Arc<[u32]>,
}

impl RandomAccessClip {
    /// From the bytes of the random-access form; all of them are checked. Errors name the place "(memory)".
    pub fn open(skeleton: &Arc<SkeletonRecord>, bytes: &[u8]) -> Result<RandomAccessClip, Error> {
        let resident = RandomAccess::open(&skeleton.skeleton(), bytes)
            .map_err(|c| error::corrupt(Path::new("(memory)"), c, "a resident clip"))?;
        Ok(RandomAccessClip { skeleton: skeleton.clone(), resident: Arc::new(resident), over: Arc::new([]) })
    }

    /// A clip in layers, the base first, each in the random-access form. Misuse: layers of different samples
    /// or rates, or two that have the same joint.
    pub fn open_layers(skeleton: &Arc<SkeletonRecord>, layers: &[&[u8]]) -> Result<RandomAccessClip, Error> {
        let Some((base, over)) = layers.split_first() else {
            return Err(Error::misuse("a clip without layers"));
        };
        let base = RandomAccessClip::open(skeleton, base)?;
        let mut seen = own_joints(&base.resident);
        let mut all = Vec::with_capacity(over.len());
        for bytes in over {
            let layer = RandomAccessClip::open(skeleton, bytes)?;
            let joints = own_joints(&layer.resident);
            let alike = layer.samples() == base.samples() && layer.fps() == base.fps();
            if !alike || joints.iter().any(|j| seen.contains(j)) {
                return Err(Error::misuse("layers of different samples, or with the same joint"));
            }
            seen.extend(&joints);
            all.push(Layer { resident: Some(layer.resident), joints: joints.into() });
        }
        Ok(RandomAccessClip { over: all.into(), ..base })
    }

    /// The clip without layer `layer`, whose joints then stand in the bind pose; its memory is freed with the
    /// last clip that has it. The base, layer 0, stays.
    pub fn without(&self, layer: usize) -> RandomAccessClip {
        let mut over = self.over.to_vec();
        if let Some(layer) = layer.checked_sub(1).and_then(|l| over.get_mut(l)) {
            layer.resident = None;
        }
        RandomAccessClip { over: over.into(), ..self.clone() }
    }

    /// Bytes that it takes beside its skeleton, with all layers that are there.
    pub fn bytes(&self) -> usize {
        let over = self.over.iter().flat_map(|layer| &layer.resident);
        self.resident.packed_bytes() + over.map(|r| r.packed_bytes()).sum::<usize>()
    }
}

impl PoseSource for RandomAccessClip {
    type Cursor = ();

    fn name(&self) -> &str {
        ""
    }

    fn skeleton(&self) -> &SkeletonRecord {
        &self.skeleton
    }

    #[inline]
    fn samples(&self) -> usize {
        self.resident.plan.header.samples as usize
    }

    #[inline]
    fn fps(&self) -> f64 {
        self.resident.plan.header.fps
    }

    fn cosmetic_level(&self, joint: usize) -> Option<u8> {
        let has = |layer: &Layer| layer.joints.contains(&(joint as u32));
        let layer = self.over.iter().position(has).map_or(0, |l| l as u8 + 1);
        (joint < self.joints()).then_some(layer)
    }

    fn cursor(&self) {}

    #[inline]
    fn pose(&self, (): &mut (), query: &Query<'_>, pose: &mut (impl Pose + ?Sized)) -> Result<(), Error> {
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

    #[inline]
    fn joint(&self, (): &mut (), joint: usize, query: &Query<'_>) -> Result<JointPose, Error> {
        let (mut resident, mut bind) = (&self.resident, false);
        if let Some(layer) = (self.over.iter()).find(|l| l.joints.contains(&(joint as u32))) {
            bind = layer.resident.is_none();
            resident = layer.resident.as_ref().unwrap_or(resident);
        }
        let Some(still) = resident.plan.still().get(joint) else {
            return Err(Error::misuse(format!("joint {joint} of {}", self.joints())));
        };
        let rounding = query.rounding_of(joint);
        let alike = Query { rounding, roundings: &[], ..*query };
        let (left, right, each) = alike.locate(self.samples(), self.fps());
        let mut local = *still;
        resident.joint(left, right, each.of(joint), joint, &mut local);
        Ok(JointPose { local, bind })
    }
}

/// Joints of which a layer says anything.
fn own_joints(resident: &RandomAccess) -> Vec<u32> {
    let header = &resident.plan.header;
    let says = |j: &usize| {
        header.rotations[*j] != Rotation::Default
            || header.translations[*j] != Vector::Default
            || header.scales[*j] != Vector::Default
    };
    let all = 0..header.rotations.len();
    all.filter(says).map(|j| j as u32).collect()
}
