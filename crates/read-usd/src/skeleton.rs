//! Skeletons, and the animations that move them.

use super::samples::{rotations_at, values_at};
use glam::{DMat4, DQuat, DVec3};
use meshreel_scene::{Channel, Error, LocalTransform};
use std::collections::HashMap;
use std::sync::Arc;

/// The animation of joints and blend shapes over time.
#[derive(Default)]
pub struct SkelAnimation {
    /// The index of each joint's values, by its name.
    pub joints: HashMap<Arc<str>, usize>,
    pub translations: Option<Channel<[f32; 3]>>,
    pub rotations: Option<Channel<f64>>,
    pub scales: Option<Channel<[f32; 3]>>,
    pub shapes: HashMap<Arc<str>, usize>,
    pub weights: Option<Channel<f64>>,
}

/// A skeleton with its animation.
pub struct UsdSkeleton {
    pub joints: Vec<Arc<str>>,
    pub parents: Vec<Option<usize>>,
    pub rest: Vec<DMat4>,
    pub inverse_bind: Vec<DMat4>,
    pub animation: SkelAnimation,
}

/// The transforms of nested prims, the outermost first.
pub type TransformChain = Vec<Channel<LocalTransform>>;

impl SkelAnimation {
    pub fn drop_empty(&mut self) {
        self.translations = self.translations.take().filter(|c| !c.is_empty());
        self.rotations = self.rotations.take().filter(|c| !c.is_empty());
        self.scales = self.scales.take().filter(|c| !c.is_empty());
        self.weights = self.weights.take().filter(|c| !c.is_empty());
    }
}

impl UsdSkeleton {
    /// Returns the weights of blend shapes over time.
    pub fn weights(&self) -> Option<&Channel<f64>> {
        self.animation.weights.as_ref()
    }

    /// Returns the transforms of joints at a time, each relative to its parent. Quaternions are used as they
    /// are, as the format defines, or normalized (`unit`).
    pub fn local_transforms(&self, time: f64, unit: bool) -> Result<Vec<DMat4>, Error> {
        let own = &self.animation;
        let wide = |v: &[f32; 3]| DVec3::from_array(v.map(f64::from));
        let mix = |a: DVec3, b: DVec3, f: f64| a + (b - a) * f;
        let vectors = |channel: &Option<Channel<[f32; 3]>>| -> Result<Vec<DVec3>, Error> {
            channel.as_ref().map_or(Ok(Vec::new()), |channel| values_at(channel, time, wide, mix))
        };
        let (translations, scales) = (vectors(&own.translations)?, vectors(&own.scales)?);
        let turns = own.rotations.as_ref().map_or(Ok(Vec::new()), |turns| rotations_at(turns, time))?;
        let local = |(number, name): (usize, &Arc<str>)| {
            let values = own.joints.get(name).and_then(|i| Some((translations.get(*i)?, turns.get(*i)?, i)));
            let Some((translation, turn, i)) = values else {
                return self.rest[number];
            };
            let scale = scales.get(*i).copied().unwrap_or(DVec3::ONE);
            let turn = match unit {
                true if turn.length_squared() > 0.0 => turn.normalize(),
                true => DQuat::IDENTITY,
                false => *turn,
            };
            DMat4::from_scale_rotation_translation(scale, turn, *translation)
        };
        Ok(self.joints.iter().enumerate().map(|(number, name)| local((number, name))).collect())
    }

    /// Returns the transforms of joints in the skeleton's space.
    pub fn joint_transforms(&self, time: f64) -> Result<Vec<DMat4>, Error> {
        let mut out = self.local_transforms(time, false)?;
        for number in 0..out.len() {
            if let Some(parent) = self.parents[number] {
                out[number] = out[parent] * out[number];
            }
        }
        Ok(out)
    }
}
