//! Plays the clips of a file on a skeleton: which bone a joint is, time, and fades from one clip to the next.

use meshreel::clip::{Clip, ClipCursor, Query, SkeletonRecord, blend};
use meshreel::{Error, Reel, Transform};

/// A clip that is played.
struct PlayedClip {
    cursor: ClipCursor,
    seconds: f64,
    pose: Vec<Transform>,
}

impl PlayedClip {
    fn new(clip: &Clip) -> PlayedClip {
        let pose = vec![Transform::IDENTITY; clip.joints()];
        PlayedClip { cursor: clip.cursor(), seconds: 0.0, pose }
    }

    fn sample(&mut self, repeats: bool) -> Result<(), Error> {
        let query = Query::new(self.seconds);
        self.cursor.pose(&if repeats { query.wrapped() } else { query }, &mut self.pose[..])
    }
}

/// The pose that a fade begins with.
enum FadeStart {
    /// A clip that goes on.
    Clip(PlayedClip),
    /// A pose that stays, as another fade was not over yet.
    Pose(Vec<Transform>),
}

/// A fade to the clip that is played.
struct Fade {
    start: FadeStart,
    /// The seconds that it takes, and those that have passed.
    length: f64,
    passed: f64,
}

/// Plays clips of one skeleton, and fades from one to the next.
pub struct ClipMixer {
    file: String,
    clips: Vec<Clip>,
    now: PlayedClip,
    fade: Option<Fade>,
    pose: Vec<Transform>,
    /// A time that was set since the last tick: time does not pass in this one.
    was_set: bool,
    ended: bool,
    /// Seconds of animation per second; negative is backwards.
    pub rate: f64,
    /// `true` if it goes on at the other end; else it stays there.
    pub repeats: bool,
    /// `false` if it stands.
    pub playing: bool,
}

impl std::fmt::Debug for ClipMixer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.now.seconds;
        f.debug_struct("ClipMixer").field("clip", &self.clip_name()).field("seconds", &seconds).finish()
    }
}

impl ClipMixer {
    /// Begins with the clip of this name, or the first if the name is empty. A misuse error if the file has
    /// no such clip.
    pub fn new(reel: &Reel, clip: &str) -> Result<ClipMixer, Error> {
        let (file, clips) = (reel.path().display().to_string(), reel.clips()?);
        let now = PlayedClip::new(find_clip(&clips, clip, &file)?);
        let pose = now.pose.clone();
        let mut mixer = ClipMixer {
            file,
            clips,
            now,
            fade: None,
            pose,
            was_set: true,
            ended: false,
            rate: 1.0,
            repeats: true,
            playing: true,
        };
        mixer.tick(0.0)?;
        mixer.was_set = false;
        Ok(mixer)
    }

    /// Plays the clip of this name from its beginning, or played backwards from its end; the first clip if
    /// the name is empty. It takes the place of the one before over `fade` seconds. A misuse error if there
    /// is no such clip, or if it is of another skeleton: the one before goes on.
    pub fn play(&mut self, clip: &str, fade: f64) -> Result<(), Error> {
        let clip = find_clip(&self.clips, clip, &self.file)?;
        if clip.skeleton().names != self.skeleton().names {
            let text = format!("{}: clip {} is of another skeleton", self.file, clip.name());
            return Err(Error::misuse(text));
        }
        let mut next = PlayedClip::new(clip);
        if self.rate < 0.0 {
            next.seconds = clip.duration();
        }
        let before = std::mem::replace(&mut self.now, next);
        self.fade = (fade > 0.0).then(|| {
            let start = match self.fade {
                Some(_) => FadeStart::Pose(self.pose.clone()),
                None => FadeStart::Clip(before),
            };
            Fade { start, length: fade, passed: 0.0 }
        });
        (self.was_set, self.ended) = (true, false);
        Ok(())
    }

    /// Jumps to a time, in seconds from the first sample, which is shown at the next tick. Not a number does
    /// nothing.
    pub fn seek(&mut self, seconds: f64) {
        if seconds.is_finite() {
            (self.now.seconds, self.was_set, self.ended) = (seconds, true, false);
        }
    }

    /// Returns the time, in seconds from the first sample; of a clip that repeats within its length.
    pub fn seconds(&self) -> f64 {
        match self.repeats && self.duration() > 0.0 {
            true if self.now.seconds == self.duration() => self.now.seconds,
            true => self.now.seconds.rem_euclid(self.duration()),
            false => self.now.seconds,
        }
    }

    /// Returns the seconds of the clip that is played.
    pub fn duration(&self) -> f64 {
        self.now.cursor.clip().duration()
    }

    /// Returns the name of the clip that is played.
    pub fn clip_name(&self) -> &str {
        self.now.cursor.clip().name()
    }

    /// Returns the skeleton.
    pub fn skeleton(&self) -> &SkeletonRecord {
        self.now.cursor.clip().skeleton()
    }

    /// Returns the local transforms of all joints, as the last tick left them.
    pub fn pose(&self) -> &[Transform] {
        &self.pose
    }

    /// `true` if a fade is not over.
    pub fn fades(&self) -> bool {
        self.fade.is_some()
    }

    /// Plays on by `dt` seconds and writes the pose. Returns `true` if the end was reached in this tick.
    pub fn tick(&mut self, dt: f64) -> Result<bool, Error> {
        let was_set = std::mem::take(&mut self.was_set);
        let passed = if self.playing { dt * self.rate } else { 0.0 };
        let length = self.duration();
        if !was_set {
            self.now.seconds += passed;
        }
        if !self.repeats {
            self.now.seconds = self.now.seconds.clamp(0.0, length);
        }
        self.now.sample(self.repeats)?;
        self.pose.copy_from_slice(&self.now.pose);
        if let Some(fade) = &mut self.fade {
            fade.passed += dt;
            let start = match &mut fade.start {
                FadeStart::Pose(pose) => &pose[..],
                FadeStart::Clip(clip) => {
                    clip.seconds += passed;
                    clip.sample(self.repeats)?;
                    &clip.pose
                }
            };
            let part = (fade.passed / fade.length).min(1.0);
            blend(start, &self.now.pose, part as f32, &mut self.pose);
            if part >= 1.0 {
                self.fade = None;
            }
        }
        let at_end = match passed {
            passed if passed > 0.0 => self.now.seconds >= length,
            passed if passed < 0.0 => self.now.seconds <= 0.0,
            _ => self.ended,
        };
        let ended = at_end && !self.repeats;
        Ok(ended && !std::mem::replace(&mut self.ended, ended))
    }
}

fn find_clip<'a>(clips: &'a [Clip], name: &str, file: &str) -> Result<&'a Clip, Error> {
    let found = clips.iter().find(|clip| name.is_empty() || clip.name() == name);
    found.ok_or_else(|| {
        let names: Vec<&str> = clips.iter().map(Clip::name).collect();
        Error::misuse(format!("{file}: there is no clip {name:?}, only {names:?}"))
    })
}

/// Returns the bone of each joint, as `find` knows them by name: by the name of the joint, that name as
/// Godot's importers write it, or the last part of it if it is a path.
pub fn match_bones(joints: &[String], find: &mut dyn FnMut(&str) -> Option<usize>) -> Vec<Option<usize>> {
    let mut bone = |joint: &String| {
        let last = joint.rsplit(['/', '|']).next().unwrap_or(joint);
        find(joint).or_else(|| find(&bone_name(joint))).or_else(|| find(&bone_name(last)))
    };
    joints.iter().map(&mut bone).collect()
}

/// Returns a name without the characters that bones cannot have in Godot.
pub fn bone_name(joint: &str) -> String {
    joint.replace([':', '/'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bones_are_found_by_the_names_that_importers_give() {
        let bones = ["Hips", "rig_Spine", "Head"];
        let joints = ["Hips", "rig:Spine", "Hips/Neck/Head", "Tail"].map(str::to_owned);
        let mut find = |name: &str| bones.iter().position(|bone| *bone == name);
        assert_eq!(match_bones(&joints, &mut find), [Some(0), Some(1), Some(2), None]);
    }
}
