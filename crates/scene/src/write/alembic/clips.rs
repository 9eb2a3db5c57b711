//! Clips: the joints of each as transforms, which Alembic's programs show as a tree of empties.

use super::plan::{Plan, blank};
use super::property::Leaf;
use crate::read::alembic::core::Pod;
use crate::read::alembic::murmur::murmur3;
use crate::{Clip, Qvv, Remark, Skeleton, TimeSampling, Track};
use glam::DMat4;

/// What of the clips has no place in an archive.
pub(super) fn left_out(clips: &[Clip]) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for clip in clips {
        if !clip.scalars.is_empty() {
            let what = "Alembic holds no numbers beside joints; they were left out";
            remarks.push(Remark::new(&clip.name, what));
        }
        if !clip.markers.is_empty() {
            let what = "Alembic holds no markers; they were left out";
            remarks.push(Remark::new(&clip.name, what));
        }
    }
    remarks
}

impl<'a> Plan<'a> {
    /// Adds the joints of each clip below a group of its name; of a clip that is all there is, at the top.
    pub fn clips(&mut self) {
        let scene = self.scene;
        let alone = scene.nodes.is_empty() && scene.clips.len() == 1;
        for clip in &scene.clips {
            let top = match alone {
                true => 0,
                false => self.add_xform(0, &clip.name, Vec::new()),
            };
            self.clip(clip, &scene.skeletons[clip.skeleton], top);
        }
    }

    fn clip(&mut self, clip: &'a Clip, skeleton: &Skeleton, top: usize) {
        let times = TimeSampling::Uniform {
            start: clip.start,
            step: 1.0 / clip.fps,
        };
        let mut places = Vec::with_capacity(skeleton.joints.len());
        for (joint, track) in skeleton.joints.iter().zip(&clip.tracks) {
            let samples = match moves(track) {
                true => clip.samples,
                false => 1,
            };
            let sampling = match samples {
                1 => 0,
                _ => self.samplings.index(&times, samples),
            };
            let inherits = Leaf {
                fill: Box::new(|_, out| {
                    out.push(1);
                    Ok(())
                }),
                same: Box::new(|_| Some(0)),
                ..blank(true, Pod::Bool, 1, sampling, samples)
            };
            let mut properties = vec![self.leaf(".inherits", "", inherits)];
            let matrix = |i: usize| Ok(DMat4::from(track.at(i).matrix()));
            let same = |i: usize| murmur3(&bytes(&track.at(i)));
            properties.extend(self.matrices((sampling, samples), matrix, same));
            let parent = joint.parent.map_or(top, |parent| places[parent]);
            places.push(self.add_xform(parent, &joint.name, properties));
        }
    }
}

fn moves(track: &Track) -> bool {
    !(track.rotation.is_constant() && track.translation.is_constant() && track.scale.is_constant())
}

fn bytes(local: &Qvv) -> Vec<u8> {
    let (turn, place, scale) = (local.rotation, local.translation, local.scale);
    let numbers = turn.to_array().into_iter();
    let numbers = numbers.chain(place.to_array()).chain(scale.to_array());
    numbers.flat_map(f64::to_le_bytes).collect()
}
