//! Writes clips: the joints of each as transforms, which Alembic programs show as a tree of empties.

use super::plan::{ArchivePlan, empty_leaf};
use super::property::Leaf;
use glam::DMat4;
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::layout::alembic::murmur3;
use meshreel_scene::model::BEFORE_STEP;
use meshreel_scene::{Clip, Qvv, Remark, Skeleton, SubTrack, TimeSampling, Track};
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
            let moments = clip_samples(track, clip);
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

/// A sample to write: one of the clip's, or the value right before it if values are held until then, since an
/// archive is interpolated linearly between samples.
#[derive(Clone, Copy)]
enum ClipSample {
    Sample(usize),
    BeforeStep(usize),
}

impl ClipSample {
    fn time(self, clip: &Clip) -> f64 {
        let at = |i: usize| clip.start + i as f64 / clip.fps;
        match self {
            ClipSample::Sample(i) => at(i),
            ClipSample::BeforeStep(i) => at(i) - BEFORE_STEP,
        }
    }

    fn local(self, track: &Track, fps: f64) -> Qvv {
        let i = match self {
            ClipSample::Sample(i) => return track.transform(i),
            ClipSample::BeforeStep(i) => i,
        };
        // Held values stay, others have nearly reached the sample.
        let part = 1.0 - BEFORE_STEP * fps;
        let (was, is) = (track.transform(i - 1), track.transform(i));
        Qvv {
            rotation: match track.rotation.is_held() {
                true => was.rotation,
                false => was.rotation.slerp(is.rotation, part),
            },
            translation: match track.translation.is_held() {
                true => was.translation,
                false => was.translation.lerp(is.translation, part),
            },
            scale: match track.scale.is_held() {
                true => was.scale,
                false => was.scale.lerp(is.scale, part),
            },
        }
    }
}

/// Returns all samples of a joint; one if it does not move.
fn clip_samples(track: &Track, clip: &Clip) -> Vec<ClipSample> {
    fn steps<T: Copy + PartialEq>(values: &SubTrack<T>, i: usize) -> bool {
        values.is_held() && values.sample(i) != values.sample(i - 1)
    }
    let constant =
        track.rotation.is_constant() && track.translation.is_constant() && track.scale.is_constant();
    let mut out = vec![ClipSample::Sample(0)];
    // At rates that leave no room for a step, linear interpolation is as good.
    let room = BEFORE_STEP * clip.fps < 0.25;
    for i in 1..if constant { 1 } else { clip.samples } {
        let held = steps(&track.rotation, i) || steps(&track.translation, i) || steps(&track.scale, i);
        if held && room {
            out.push(ClipSample::BeforeStep(i));
        }
        out.push(ClipSample::Sample(i));
    }
    out
}

fn bytes(local: &Qvv) -> Vec<u8> {
    let (turn, place, scale) = (local.rotation, local.translation, local.scale);
    let numbers = turn.to_array().into_iter();
    let numbers = numbers.chain(place.to_array()).chain(scale.to_array());
    numbers.flat_map(f64::to_le_bytes).collect()
}
