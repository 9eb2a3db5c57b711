//! Skeletons and clips: sets of transform tracks, sampled uniformly. Terms are ACL's: a *clip* has one
//! *track* per joint, a track has the *sub-tracks* rotation, translation and scale.
//!
//! Local transforms act on column vectors: rotation · scale, then translation; object space = parent's ·
//! local.

use crate::sample::{MAX_FRAMES, TimeRange};
use crate::transform::Qvv;
use crate::{Error, TIME_TOLERANCE};
use glam::{DQuat, DVec3, DVec4};
use std::borrow::Cow;

/// Largest number of joints of a skeleton: a joint's number fits 14 bits.
pub const MAX_JOINTS: usize = 1 << 14;

/// A joint of a skeleton.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Joint {
    /// Name as in the file; not necessarily unique.
    pub name: String,
    /// Index of the parent, smaller than the joint's own; `None` for a root. There may be several roots.
    pub parent: Option<usize>,
    /// The rest pose: the local transform if no clip has a track for the joint.
    pub rest: Qvv,
    /// The shell distance: distance from the joint of the error metric's three virtual points. `None`: the
    /// usual one.
    pub shell: Option<f64>,
    /// The axes (0 to 2) of the file's rotation channels, in the order in which it names them, outermost
    /// first. Only for writing the file back.
    pub rotation_order: Option<[u8; 3]>,
    /// Ends of the chain that have no joint of their own, in the joint's space (BVH's end sites). Only for
    /// writing the file back.
    pub end_sites: Vec<DVec3>,
    /// Name of the clip layer that the file assigns (glTF: the node's extras `layer`); `None` if it assigns
    /// none.
    pub layer: Option<String>,
    /// Factor on the joint's importance when joints are sorted into clip layers (glTF: extras `bias`),
    /// finite; `None` if the file has none.
    pub bias: Option<f64>,
}

/// Joints, parents before children.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Skeleton {
    /// Name; the file's name if it has none.
    pub name: String,
    /// The joints, at most [`MAX_JOINTS`].
    pub joints: Vec<Joint>,
}

impl Skeleton {
    /// Returns the names from the root to joint `j`, joined by slashes.
    pub fn path(&self, j: usize) -> String {
        let up = |j: &usize| self.joints[*j].parent;
        let mut names: Vec<&str> =
            std::iter::successors(Some(j), up).map(|j| self.joints[j].name.as_str()).collect();
        names.reverse();
        names.join("/")
    }

    /// Returns the skeleton in another length unit, with every length multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Skeleton {
        let mut out = self.clone();
        for joint in &mut out.joints {
            joint.rest.translation *= factor;
            joint.shell = joint.shell.map(|shell| shell * factor);
            joint.end_sites.iter_mut().for_each(|end| *end *= factor);
        }
        out
    }
}

/// One sub-track: one value per sample, or a single one; the flag says that values are held.
#[derive(Clone, Debug, PartialEq)]
pub struct SubTrack<T>(Vec<T>, bool);

impl<T: Copy + PartialEq> SubTrack<T> {
    /// Returns a sub-track of one value per sample; equal values are stored once. `None` if there are no
    /// samples.
    pub fn new(mut samples: Vec<T>) -> Option<SubTrack<T>> {
        let first = *samples.first()?;
        if samples.iter().all(|value| *value == first) {
            samples.truncate(1);
        }
        Some(SubTrack(samples, false))
    }

    /// Returns a sub-track of a single value.
    pub fn constant(value: T) -> SubTrack<T> {
        SubTrack(vec![value], false)
    }

    /// Makes the sub-track stepped if `held`: each value stays until the next sample, without interpolation.
    pub fn hold(mut self, held: bool) -> SubTrack<T> {
        self.1 = held && !self.is_constant();
        self
    }

    /// `true` if each value stays until the next sample.
    pub fn is_held(&self) -> bool {
        self.1
    }

    /// Returns sample `i`, or the last one if `i` is beyond it.
    pub fn sample(&self, i: usize) -> T {
        self.0[i.min(self.0.len() - 1)]
    }

    /// `true` if all samples are equal.
    pub fn is_constant(&self) -> bool {
        self.0.len() == 1
    }
}

/// The animation of one joint, relative to its parent.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Unit quaternions; `q` and `−q` are the same rotation.
    pub rotation: SubTrack<DQuat>,
    /// Translation in the length unit of the scene.
    pub translation: SubTrack<DVec3>,
    /// Scale per axis.
    pub scale: SubTrack<DVec3>,
}

impl Track {
    /// Returns a track that does not move.
    pub fn constant(value: Qvv) -> Track {
        Track {
            rotation: SubTrack::constant(value.rotation),
            translation: SubTrack::constant(value.translation),
            scale: SubTrack::constant(value.scale),
        }
    }

    /// Returns a track of one transform per sample; without values, one that does not move.
    pub fn from_samples(values: &[Qvv]) -> Track {
        let first = values.first().copied().unwrap_or_default();
        let vector = |of: fn(&Qvv) -> DVec3| {
            SubTrack::new(values.iter().map(of).collect()).unwrap_or(SubTrack::constant(of(&first)))
        };
        let rotation = SubTrack::new(values.iter().map(|value| value.rotation).collect());
        Track {
            rotation: rotation.unwrap_or(SubTrack::constant(first.rotation)),
            translation: vector(|value| value.translation),
            scale: vector(|value| value.scale),
        }
    }

    /// Returns the local transform of sample `i`.
    pub fn transform(&self, i: usize) -> Qvv {
        Qvv {
            rotation: self.rotation.sample(i),
            translation: self.translation.sample(i),
            scale: self.scale.sample(i),
        }
    }
}

/// Numbers of a clip beside the joints, such as weights of morph targets: 1 to 4 per sample.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarTrack {
    /// Name as in the file.
    pub name: String,
    /// Number of components per sample, 1 to 4.
    pub components: usize,
    /// One value per sample of the clip; unused components are 0.
    pub values: SubTrack<DVec4>,
}

/// A named event of a clip: a foot comes down, a sound starts.
#[derive(Clone, Debug, PartialEq)]
pub struct Marker {
    /// Name as in the file; not necessarily unique.
    pub name: String,
    /// Time in seconds, on the same axis as [`Clip::start`]; may lie outside of the clip.
    pub time: f64,
}

/// Uniformly sampled animation of all joints of a skeleton.
#[derive(Clone, Debug, PartialEq)]
pub struct Clip {
    /// Name; the file's name if it has none.
    pub name: String,
    /// Index into [`crate::Scene::skeletons`].
    pub skeleton: usize,
    /// Time of sample 0, in seconds.
    pub start: f64,
    /// Samples per second, finite and > 0.
    pub fps: f64,
    /// Number of samples, at least 1.
    pub samples: usize,
    /// One track per joint, in the skeleton's order.
    pub tracks: Vec<Track>,
    /// Scalar tracks, sampled like the joints.
    pub scalars: Vec<ScalarTrack>,
    /// Markers, sorted by time.
    pub markers: Vec<Marker>,
}

impl ScalarTrack {
    /// Returns samples `first` to `last`, counted in steps of `step` samples of this track if given.
    fn portion(&self, first: usize, last: usize, step: Option<f64>) -> Option<ScalarTrack> {
        let at = |i: usize| match step {
            None => self.values.sample(i),
            Some(step) => {
                let at = i as f64 * step;
                let (left, part) = (at as usize, at.fract());
                self.values.sample(left).lerp(self.values.sample(left + 1), part)
            }
        };
        Some(ScalarTrack { values: SubTrack::new((first..=last).map(at).collect())?, ..self.clone() })
    }
}

impl Clip {
    /// Returns the time from the first to the last sample, in seconds.
    pub fn duration(&self) -> f64 {
        (self.samples - 1) as f64 / self.fps
    }

    /// Returns the clip in another length unit, with every length multiplied by `factor`.
    pub fn scaled(&self, factor: f64) -> Clip {
        let mut out = self.clone();
        for track in &mut out.tracks {
            track.translation.0.iter_mut().for_each(|v| *v *= factor);
        }
        out
    }

    /// Returns the raw size: 40 bytes per joint and sample, the usual reference for compression ratios.
    pub fn raw_bytes(&self) -> u64 {
        40 * self.tracks.len() as u64 * self.samples as u64
    }

    /// Writes all local transforms at sample `i`, one per joint, to `out`.
    pub fn pose(&self, i: usize, out: &mut Vec<Qvv>) {
        out.clear();
        out.extend(self.tracks.iter().map(|track| track.transform(i)));
    }

    /// Returns the local transform of a joint `at` samples after the first, by slerp along the shorter arc
    /// and lerp; `at` is clamped to the clip.
    pub fn interpolated(&self, joint: usize, at: f64) -> Qvv {
        let track = &self.tracks[joint];
        let left = at.max(0.0) as usize;
        let part = (at - left as f64).clamp(0.0, 1.0);
        let (a, b) = (track.transform(left), track.transform(left + 1));
        if part == 0.0 || left + 1 >= self.samples {
            return a;
        }
        let along = |held: bool| if held { 0.0 } else { part };
        Qvv {
            rotation: a.rotation.slerp(b.rotation, along(track.rotation.1)),
            translation: (a.translation).lerp(b.translation, along(track.translation.1)),
            scale: a.scale.lerp(b.scale, along(track.scale.1)),
        }
    }

    /// Returns the clip at another rate, then cut to a range, as `--fps` and `--range` do. Samples of a range
    /// count from 0 at the new rate; times stay those of the clip.
    pub fn portion(&self, fps: Option<f64>, range: Option<TimeRange>) -> Result<Cow<'_, Clip>, Error> {
        let rate = fps.unwrap_or(self.fps);
        let count = match fps {
            None => self.samples,
            Some(fps) => self.samples_at(fps)?,
        };
        let (first, last) = match range {
            None => (0, count - 1),
            Some(range) => self.samples_in(range, rate, count)?,
        };
        if fps.is_none_or(|fps| fps == self.fps) && (first, last) == (0, self.samples - 1) {
            return Ok(Cow::Borrowed(self));
        }
        // The number of samples of this clip per sample of the new one.
        let step = fps.map(|fps| self.fps / fps);
        let nothing = || Error::misuse("a clip without samples");
        let tracks = (0..self.tracks.len()).map(|j| self.portion_of_track(j, first, last, step));
        let tracks = tracks.collect::<Option<Vec<_>>>().ok_or_else(nothing)?;
        let scalars = self.scalars.iter().map(|track| track.portion(first, last, step));
        let scalars = scalars.collect::<Option<Vec<_>>>().ok_or_else(nothing)?;
        let time = |i: usize| self.start + i as f64 / rate;
        let is_inside = |marker: &&Marker| {
            range.is_none()
                || (time(first) - TIME_TOLERANCE..=time(last) + TIME_TOLERANCE).contains(&marker.time)
        };
        Ok(Cow::Owned(Clip {
            name: self.name.clone(),
            skeleton: self.skeleton,
            start: self.start + first as f64 / rate,
            fps: rate,
            samples: last - first + 1,
            tracks,
            scalars,
            markers: self.markers.iter().filter(is_inside).cloned().collect(),
        }))
    }

    /// Returns the number of samples that the clip has at another rate.
    fn samples_at(&self, fps: f64) -> Result<usize, Error> {
        let count = (self.duration() * fps + 1e-6).floor() + 1.0;
        if !(fps.is_finite() && fps > 0.0 && count <= MAX_FRAMES as f64) {
            return Err(Error::misuse(format!(
                "--fps {fps}: gives no usable number of samples of clip {}",
                self.name
            )));
        }
        Ok(count as usize)
    }

    /// Returns the first and the last sample of a range, of `count` samples at `rate` per second.
    fn samples_in(&self, range: TimeRange, rate: f64, count: usize) -> Result<(usize, usize), Error> {
        match range {
            TimeRange::Frames(first, last) => {
                if first > last || first >= count {
                    return Err(Error::misuse(format!(
                        "--range {first}:{last}: clip {} has samples 0 to {}",
                        self.name,
                        count - 1
                    )));
                }
                Ok((first, last.min(count - 1)))
            }
            TimeRange::Seconds(first, last) => {
                let time = |i: usize| self.start + i as f64 / rate;
                let inside = |i: &usize| (first - TIME_TOLERANCE..=last + TIME_TOLERANCE).contains(&time(*i));
                match ((0..count).find(inside), (0..count).rev().find(inside)) {
                    (Some(start), Some(end)) => Ok((start, end)),
                    _ => Err(Error::misuse(format!(
                        "--range {first}s:{last}s: clip {} runs from {} s to {} s and has no sample there",
                        self.name,
                        self.start,
                        time(count - 1)
                    ))),
                }
            }
        }
    }

    /// Returns samples `first` to `last` of joint `j`, counted in steps of `step` samples of this clip if
    /// given.
    fn portion_of_track(&self, j: usize, first: usize, last: usize, step: Option<f64>) -> Option<Track> {
        let track = &self.tracks[j];
        let samples = |is_constant: bool| match is_constant {
            true => first..=first,
            false => first..=last,
        };
        let at = |i: usize| match step {
            None => track.transform(i),
            Some(step) => self.interpolated(j, i as f64 * step),
        };
        let rotation = samples(track.rotation.is_constant()).map(|i| at(i).rotation);
        let translation = samples(track.translation.is_constant()).map(|i| at(i).translation);
        let scale = samples(track.scale.is_constant()).map(|i| at(i).scale);
        Some(Track {
            rotation: SubTrack::new(rotation.collect())?.hold(track.rotation.1),
            translation: SubTrack::new(translation.collect())?.hold(track.translation.1),
            scale: SubTrack::new(scale.collect())?.hold(track.scale.1),
        })
    }

    /// Writes all local transforms half-way between samples `i` and `i + 1`, by slerp and lerp, to `out`.
    pub fn midpoint_pose(&self, i: usize, out: &mut Vec<Qvv>) {
        out.clear();
        out.extend(self.tracks.iter().map(|track| {
            let (a, b) = (track.transform(i), track.transform(i + 1));
            Qvv {
                rotation: a.rotation.slerp(b.rotation, 0.5),
                translation: (a.translation + b.translation) * 0.5,
                scale: (a.scale + b.scale) * 0.5,
            }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sliding(samples: usize) -> Clip {
        let at = |i: usize| DVec3::X * (i * i) as f64;
        Clip {
            name: "slide".into(),
            skeleton: 0,
            start: 1.0,
            fps: 10.0,
            samples,
            tracks: vec![Track {
                translation: SubTrack::new((0..samples).map(at).collect()).unwrap(),
                ..Track::constant(Qvv::IDENTITY)
            }],
            scalars: vec![ScalarTrack {
                name: "weight".into(),
                components: 1,
                values: SubTrack::new((0..samples).map(|i| DVec4::X * i as f64).collect()).unwrap(),
            }],
            markers: [1.0, 1.25, 1.9].map(|time| Marker { name: "step".into(), time }).to_vec(),
        }
    }

    #[test]
    fn another_rate_and_a_part() {
        let clip = sliding(11);
        assert!(matches!(clip.portion(None, None).unwrap(), Cow::Borrowed(_)));
        assert!(matches!(clip.portion(Some(10.0), None).unwrap(), Cow::Borrowed(_)));
        let double = clip.portion(Some(20.0), None).unwrap();
        assert_eq!((double.samples, double.fps, double.start), (21, 20.0, 1.0));
        let x = |clip: &Clip, i: usize| clip.tracks[0].transform(i).translation.x;
        for (i, want) in [(0, 0.0), (3, 2.5), (4, 4.0), (20, 100.0)] {
            assert!((x(&double, i) - want).abs() < 1e-9, "{i}");
        }
        // A rate that does not divide the duration ends before the end.
        assert_eq!(clip.portion(Some(7.0), None).unwrap().samples, 8);
        let part = clip.portion(None, Some(TimeRange::Frames(2, 4))).unwrap();
        assert_eq!((part.samples, part.start, x(&part, 0)), (3, 1.2, 4.0));
        assert_eq!((part.scalars[0].values.sample(1).x, part.markers.len()), (3.0, 1));
        assert_eq!((double.scalars[0].values.sample(3).x, double.markers.len()), (1.5, 3));
        let part = clip.portion(None, Some(TimeRange::Frames(9, 400))).unwrap();
        assert_eq!(part.samples, 2);
        let part = clip.portion(Some(20.0), Some(TimeRange::Seconds(1.1, 1.2))).unwrap();
        assert_eq!((part.samples, x(&part, 2)), (3, 4.0));
        for (fps, range) in [
            (None, Some(TimeRange::Frames(11, 12))),
            (None, Some(TimeRange::Frames(3, 2))),
            (None, Some(TimeRange::Seconds(0.0, 0.5))),
            (None, Some(TimeRange::Seconds(1.51, 1.59))),
            (Some(f64::NAN), None),
            (Some(0.0), None),
            (Some(1e12), None),
        ] {
            assert!(clip.portion(fps, range).is_err(), "{fps:?} {range:?}");
        }
    }

    #[test]
    fn what_is_held_stays_until_the_next_sample() {
        let mut clip = sliding(3);
        clip.tracks[0].translation = clip.tracks[0].translation.clone().hold(true);
        assert_eq!(clip.interpolated(0, 0.99).translation.x, 0.0);
        let double = clip.portion(Some(20.0), None).unwrap();
        let x: Vec<f64> = (0..5).map(|i| double.tracks[0].transform(i).translation.x).collect();
        assert_eq!(x, [0.0, 0.0, 1.0, 1.0, 4.0]);
        assert!(double.tracks[0].translation.is_held());
        assert!(!SubTrack::constant(1).hold(true).is_held());
    }

    #[test]
    fn paths_of_joints() {
        let joint = |name: &str, parent| Joint { name: name.into(), parent, ..Joint::default() };
        let skeleton =
            Skeleton { name: String::new(), joints: vec![joint("hips", None), joint("knee", Some(0))] };
        assert_eq!(skeleton.path(1), "hips/knee");
    }

    #[test]
    fn equal_samples_are_kept_once() {
        let still = SubTrack::new(vec![DVec3::ONE; 5]).unwrap();
        assert!(still.is_constant());
        assert_eq!(still.sample(4), DVec3::ONE);
        let moving = SubTrack::new(vec![DVec3::ONE, DVec3::ZERO]).unwrap();
        assert!(!moving.is_constant());
        assert_eq!((moving.sample(1), moving.sample(9)), (DVec3::ZERO, DVec3::ZERO));
        assert!(SubTrack::<DVec3>::new(Vec::new()).is_none());
    }
}
