//! The clips of a file: the current one, its pose at a moment, and the layers and tiers that are played.

use glam::{DMat4, DVec3};
use meshreel::Transform;
use meshreel::clip::{Clip, ClipCursor, LayerInfo, Query, Rounding, SkeletonRecord, object_space};
use meshreel_extract::convert::joint_matrix;
use meshreel_scene::Qvv;

/// Number of samples from which a clip's bounds are estimated.
const BOUNDS_SAMPLES: usize = 64;

/// All clips, and the current one.
pub struct Clips {
    all: Vec<Clip>,
    chosen: usize,
    /// The current clip with the tiers that are played.
    played: Clip,
    cursor: ClipCursor,
    /// Layers of the current clip, the base first; empty for a clip without layers.
    pub layers: Vec<LayerInfo>,
    /// Number of tiers of each layer that are played, 0 for none.
    tiers: Vec<usize>,
    /// The selected joint.
    pub joint: Option<usize>,
    local: Vec<Transform>,
    /// Object-space transforms of the pose, by joint.
    object: Vec<[[f32; 4]; 3]>,
}

/// A bone from a joint to a child, in object space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bone {
    /// The joint that moves it.
    pub joint: usize,
    pub from: DVec3,
    pub to: DVec3,
}

impl Clips {
    /// Shows the first clip; `None` if there are none.
    pub fn new(all: Vec<Clip>) -> Option<Clips> {
        let played = all.first()?.clone();
        let mut clips = Clips {
            cursor: played.cursor(),
            played,
            all,
            chosen: 0,
            layers: Vec::new(),
            tiers: Vec::new(),
            joint: None,
            local: Vec::new(),
            object: Vec::new(),
        };
        clips.choose(0);
        Some(clips)
    }

    /// Returns all clips as they are in the file.
    pub fn all(&self) -> &[Clip] {
        &self.all
    }

    /// Returns the index of the current clip.
    pub fn chosen(&self) -> usize {
        self.chosen
    }

    /// Returns the current clip with the tiers that are played.
    pub fn played(&self) -> &Clip {
        &self.played
    }

    /// Returns the skeleton of the current clip.
    pub fn skeleton(&self) -> &SkeletonRecord {
        self.played.skeleton()
    }

    /// Shows another clip, with all of its tiers. The selected joint stays if the skeleton is the same.
    pub fn choose(&mut self, clip: usize) {
        let Some(found) = self.all.get(clip) else { return };
        if self.all[self.chosen].record().skeleton != found.record().skeleton {
            self.joint = None;
        }
        self.chosen = clip;
        self.played = found.clone();
        self.cursor = self.played.cursor();
        self.layers = self.played.layers();
        self.tiers = self.layers.iter().map(|layer| layer.tiers.len()).collect();
        self.local = vec![Transform::IDENTITY; self.played.joints()];
        self.object = vec![[[0.0; 4]; 3]; self.played.joints()];
    }

    /// Returns the number of tiers of each layer that are played.
    pub fn tiers(&self) -> &[usize] {
        &self.tiers
    }

    /// Sets the number of tiers of each layer that are played; layers beyond the list play all.
    pub fn set_tiers(&mut self, tiers: &[usize]) {
        for (own, wanted) in self.tiers.iter_mut().zip(tiers) {
            *own = *wanted;
        }
        for (own, layer) in self.tiers.iter_mut().zip(&self.layers) {
            *own = (*own).min(layer.tiers.len());
        }
        self.played = self.all[self.chosen].with_tiers(&self.tiers);
    }

    /// Returns the layer of a joint, if there are several.
    pub fn layer_of(&self, joint: usize) -> Option<usize> {
        (!self.layers.is_empty()).then(|| self.played.joint_layer(joint).map(usize::from)).flatten()
    }

    /// Returns the number of samples of the current clip, at least 1.
    pub fn samples(&self) -> usize {
        self.played.samples()
    }

    /// Returns the time of a sample in seconds.
    pub fn time(&self, sample: usize) -> f64 {
        self.played.start() + sample as f64 / self.played.fps()
    }

    /// Poses the skeleton at a time.
    pub fn pose(&mut self, time: f64, interpolates: bool) -> anyhow::Result<()> {
        let rounding = if interpolates { Rounding::None } else { Rounding::Floor };
        // Accumulated times are slightly off, which matters without interpolation.
        let seconds = time - self.played.start() + 1e-9;
        self.cursor.pose(&Query::new(seconds).with_rounding(rounding), &mut self.local[..])?;
        object_space(&self.played.skeleton().parents, &self.local, &mut self.object);
        Ok(())
    }

    /// Returns the position of a joint.
    pub fn joint_position(&self, joint: usize) -> DVec3 {
        origin(&self.object[joint])
    }

    /// Returns the bones of the pose. A joint without any has one of length 0.
    pub fn bones(&self) -> Vec<Bone> {
        let skeleton = self.skeleton();
        let place = |joint: usize| origin(&self.object[joint]);
        bones(skeleton, place, |joint, end| {
            crate::matrix::matrix(self.object[joint].map(|row| row.map(f64::from))).transform_point3(end)
        })
    }

    /// Returns corners of an approximate box around all joints at all times.
    pub fn bounds(&mut self) -> anyhow::Result<[DVec3; 2]> {
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let last = self.samples() - 1;
        let count = BOUNDS_SAMPLES.min(last + 1);
        for i in 0..count {
            self.pose(self.time(i * last / (count - 1).max(1)), false)?;
            for bone in self.bones() {
                low = low.min(bone.from).min(bone.to);
                high = high.max(bone.from).max(bone.to);
            }
        }
        Ok([low, high])
    }

    /// Returns the joint nearest to a point of the picture (−1 … 1), within this fraction of its height.
    pub fn pick(&self, clip: DMat4, aspect: f64, place: [f64; 2], within: f64) -> Option<usize> {
        let off = |joint: usize| {
            let seen = clip * self.joint_position(joint).extend(1.0);
            let at = seen.truncate() / seen.w;
            let (x, y) = ((at.x - place[0]) * aspect, at.y - place[1]);
            (seen.w > 0.0).then_some(x.hypot(y)).filter(|off| *off < within)
        };
        let all = (0..self.object.len()).filter_map(|joint| Some((joint, off(joint)?)));
        all.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(joint, _)| joint)
    }
}

/// Returns the bones of a skeleton for these joint positions; `end` places the end of a chain.
pub fn bones(
    skeleton: &SkeletonRecord,
    place: impl Fn(usize) -> DVec3,
    end: impl Fn(usize, DVec3) -> DVec3,
) -> Vec<Bone> {
    let mut out = Vec::with_capacity(skeleton.parents.len());
    let mut has_bone = vec![false; skeleton.parents.len()];
    for (joint, &parent) in skeleton.parents.iter().enumerate() {
        let parent = parent as usize;
        if parent < joint {
            out.push(Bone { joint: parent, from: place(parent), to: place(joint) });
            has_bone[parent] = true;
        }
        for tip in skeleton.end_sites.get(joint).into_iter().flatten() {
            let to = end(joint, DVec3::from_array(tip.map(f64::from)));
            out.push(Bone { joint, from: place(joint), to });
            has_bone[joint] = true;
        }
    }
    for joint in (0..has_bone.len()).filter(|joint| !has_bone[*joint]) {
        out.push(Bone { joint, from: place(joint), to: place(joint) });
    }
    out
}

/// Returns the largest distance between two poses of a joint's three points at the shell, in object space.
pub fn shell_distance(
    parents: &[u32],
    joint: usize,
    shell: f64,
    one: impl Fn(usize) -> Qvv,
    other: impl Fn(usize) -> Qvv,
) -> f64 {
    let (one, other) = (joint_matrix(parents, joint, one), joint_matrix(parents, joint, other));
    let points = DVec3::AXES.map(|axis| axis * shell);
    let off = points.map(|point| one.transform_point3(point).distance(other.transform_point3(point)));
    off.into_iter().fold(0.0, f64::max)
}

fn origin(object: &[[f32; 4]; 3]) -> DVec3 {
    DVec3::new(object[0][3].into(), object[1][3].into(), object[2][3].into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_joint_is_as_far_off_as_its_chain_makes_it() {
        let parents = [u32::MAX, 0];
        let moved = |by: f64| {
            move |joint: usize| Qvv {
                translation: DVec3::X * if joint == 0 { by } else { 1.0 },
                ..Qvv::default()
            }
        };
        assert!((shell_distance(&parents, 1, 3.0, moved(0.0), moved(0.25)) - 0.25).abs() < 1e-12);
    }

    #[test]
    fn every_joint_has_a_bone() {
        let skeleton = SkeletonRecord {
            name: String::new(),
            names: vec!["root".into(), "arm".into(), "hand".into(), "alone".into()],
            parents: vec![u32::MAX, 0, 1, u32::MAX],
            rest: vec![Transform::IDENTITY; 4],
            shell: vec![1.0; 4],
            tolerance: Vec::new(),
            orders: Vec::new(),
            end_sites: vec![Vec::new(), Vec::new(), vec![[0.0, 1.0, 0.0]]],
        };
        let place = |joint: usize| DVec3::X * joint as f64;
        let found = bones(&skeleton, place, |joint, end| place(joint) + end);
        let of: Vec<(usize, f64)> = found.iter().map(|b| (b.joint, b.from.distance(b.to))).collect();
        assert_eq!(of, [(0, 1.0), (1, 1.0), (2, 1.0), (3, 0.0)]);
    }
}
