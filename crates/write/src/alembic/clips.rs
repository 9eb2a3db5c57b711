//! Writes clips: the joints of each as transforms, which Alembic programs show as a tree of empties.

use super::plan::{ArchivePlan, empty_leaf};
use super::property::Leaf;
use crate::clip_samples::clip_samples;
use glam::DMat4;
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::layout::alembic::murmur3;
use meshreel_scene::{Clip, Qvv, Remark, Skeleton, TimeSampling};
use std::rc::Rc;

/// Returns remarks on parts of clips that an archive cannot hold.
pub(super) fn remarks_on_left_out(clips: &[Clip]) -> Vec<Remark> {
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

impl<'a> ArchivePlan<'a> {
    /// Adds the joints of each clip below a group of its name; at the top, if the clip is all there is.
    pub fn add_clips(&mut self) {
        let scene = self.scene;
        let alone = scene.nodes.is_empty() && scene.clips.len() == 1;
        for clip in &scene.clips {
            let top = match alone {
                true => 0,
                false => self.add_xform(0, &clip.name, Vec::new()),
            };
            self.add_clip(clip, &scene.skeletons[clip.skeleton], top);
        }
    }

    fn add_clip(&mut self, clip: &'a Clip, skeleton: &Skeleton, top: usize) {
        let times = TimeSampling::Uniform { start: clip.start, step: 1.0 / clip.fps };
        let mut places = Vec::with_capacity(skeleton.joints.len());
        for (joint, track) in skeleton.joints.iter().zip(&clip.tracks) {
            let moments = clip_samples(std::slice::from_ref(track), clip);
            let samples = moments.len();
            let sampling = match samples {
                1 => 0,
                _ if samples == clip.samples => self.samplings.index(&times, samples),
                _ => {
                    let times = moments.iter().map(|moment| moment.time(clip)).collect();
                    self.samplings.index(&TimeSampling::Acyclic { times }, samples)
                }
            };
            let inherits = Leaf {
                fill: Box::new(|_, out| {
                    out.push(1);
                    Ok(())
                }),
                identity: Box::new(|_| Some(0)),
                ..empty_leaf(true, Pod::Bool, 1, sampling, samples)
            };
            let mut properties = vec![self.leaf(".inherits", "", inherits)];
            let fps = clip.fps;
            let moments = Rc::new(moments);
            let (all, own) = (moments.clone(), moments);
            let matrix = move |i: usize| Ok(DMat4::from(all[i].local(track, fps).matrix()));
            let same = move |i: usize| murmur3(&bytes(&own[i].local(track, fps)));
            properties.extend(self.matrices((sampling, samples), matrix, same));
            let parent = joint.parent.map_or(top, |parent| places[parent]);
            places.push(self.add_xform(parent, &joint.name, properties));
        }
    }
}

fn bytes(local: &Qvv) -> Vec<u8> {
    let (turn, place, scale) = (local.rotation, local.translation, local.scale);
    let numbers = turn.to_array().into_iter();
    let numbers = numbers.chain(place.to_array()).chain(scale.to_array());
    numbers.flat_map(f64::to_le_bytes).collect()
}
