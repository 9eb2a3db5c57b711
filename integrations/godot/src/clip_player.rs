//! The node that plays clips on a skeleton.

use crate::model::clips::{ClipMixer, bone_name, match_bones};
use crate::model::tree::unit_metres;
use crate::nodes::transform;
use crate::resource::ReelResource;
use godot::classes::notify::NodeNotification;
use godot::classes::{Engine, INode, Skeleton3D};
use godot::prelude::*;

/// The clips of a file on the bones of a skeleton.
struct BoundClips {
    mixer: ClipMixer,
    skeleton: Gd<Skeleton3D>,
    /// The bone of each joint.
    bones: Vec<Option<usize>>,
    /// The version of the skeleton's bones for which that holds.
    version: u64,
    /// The metres of the file's unit.
    metres: f32,
}

/// Plays the clips of a `.reel` file on a [Skeleton3D], such as that of an imported character. Joints and
/// bones belong together by their names.
#[derive(GodotClass)]
#[class(tool, init, base = Node)]
pub struct ReelClipPlayer {
    /// The file.
    #[export]
    #[var(set = set_reel)]
    reel: Option<Gd<ReelResource>>,

    /// The skeleton; the parent by default.
    #[export(node_path = ("Skeleton3D"))]
    #[var(set = set_skeleton)]
    #[init(val = NodePath::from(".."))]
    skeleton: NodePath,

    /// The clip that is played; the first one of the file if empty. To fade to another, call `play`.
    #[export]
    #[var(set = set_clip)]
    clip: GString,

    /// `true` if it plays; else it stands.
    #[export]
    #[init(val = true)]
    playing: bool,

    /// Seconds of animation per second; negative is backwards.
    #[export]
    #[init(val = 1.0)]
    rate: f64,

    /// `true` if it goes on at the other end; else it stays there and emits `ended`.
    #[export]
    #[init(val = true)]
    repeats: bool,

    /// `true`: a skeleton without bones gets those of the file, with their rest pose.
    #[export]
    create_bones: bool,

    /// `true` if it plays in the editor too. The scene is then saved with the bones as they are.
    #[export]
    plays_in_editor: bool,

    /// The time in seconds from the clip's first sample. A track of an [AnimationPlayer] can key it: in a
    /// frame in which it is set, it does not pass by itself.
    #[var(get = get_time, set = set_time, usage_flags = [EDITOR])]
    time: PhantomVar<f64>,

    bound: Option<BoundClips>,
    /// A time that was set before the file was opened.
    pending_time: Option<f64>,
    /// The revision of the resource that was opened.
    revision: u64,
    /// `true` if the file could not be opened or decoded; it is not tried again until something is set anew.
    has_failed: bool,
    base: Base<Node>,
}

#[godot_api]
impl INode for ReelClipPlayer {
    // Not by the virtual methods: a script that has these too would take their place.
    fn on_notification(&mut self, what: NodeNotification) {
        match what {
            NodeNotification::ENTER_TREE => self.base_mut().set_process_internal(true),
            NodeNotification::INTERNAL_PROCESS => {
                let delta = self.base().get_process_delta_time();
                self.advance(delta);
            }
            _ => {}
        }
    }

    fn get_configuration_warnings(&self) -> PackedStringArray {
        let mut out = PackedStringArray::new();
        if self.reel.is_none() {
            out.push("It has no file: set the property reel.");
        }
        if self.find_skeleton().is_none() {
            out.push("There is no Skeleton3D at the path of the property skeleton.");
        }
        out
    }
}

#[godot_api]
impl ReelClipPlayer {
    /// The clip has come to its end, and does not repeat.
    #[signal]
    fn ended();

    /// The file could not be opened or decoded, or there is no such clip. The last good pose stays. Also
    /// logged as an error.
    #[signal]
    fn failed(message: GString);

    /// Plays the clip of this name from its beginning. It takes the place of the one before over `fade`
    /// seconds. Returns `false` if there is no such clip: the one before goes on.
    #[func]
    fn play(&mut self, clip: GString, #[opt(default = 0.0)] fade: f64) -> bool {
        self.playing = true;
        if self.bound.is_none() {
            self.has_failed = false;
            self.clip = clip;
            self.bind_clips();
            return self.bound.is_some();
        }
        match self.change_clip(&clip, fade) {
            Ok(()) => {
                self.clip = clip;
                true
            }
            Err(error) => {
                self.report(error);
                false
            }
        }
    }

    /// Jumps to a time, in seconds from the first sample.
    #[func]
    fn seek(&mut self, seconds: f64) {
        self.set_time(seconds);
    }

    /// Returns the seconds of the clip; 0 before the file is open.
    #[func]
    fn get_duration(&self) -> f64 {
        self.bound.as_ref().map_or(0.0, |bound| bound.mixer.duration())
    }

    /// Returns the name of the clip that is played; empty before the file is open.
    #[func]
    fn get_current_clip(&self) -> GString {
        self.bound.as_ref().map(|bound| GString::from(bound.mixer.clip_name())).unwrap_or_default()
    }

    /// Returns the number of joints for which there is a bone.
    #[func]
    fn get_bound_bone_count(&self) -> i64 {
        self.bound.as_ref().map_or(0, |bound| bound.bones.iter().flatten().count() as i64)
    }

    #[func]
    fn get_time(&self) -> f64 {
        let time = self.bound.as_ref().map(|bound| bound.mixer.seconds());
        time.or(self.pending_time).unwrap_or(0.0)
    }

    #[func]
    fn set_time(&mut self, time: f64) {
        match &mut self.bound {
            Some(bound) => bound.mixer.seek(time),
            None => self.pending_time = Some(time),
        }
    }

    #[func]
    fn set_reel(&mut self, reel: Option<Gd<ReelResource>>) {
        self.unbind();
        self.revision = reel.as_ref().map_or(0, |reel| reel.bind().revision());
        self.reel = reel;
    }

    #[func]
    fn set_skeleton(&mut self, skeleton: NodePath) {
        self.unbind();
        self.skeleton = skeleton;
    }

    #[func]
    fn set_clip(&mut self, clip: GString) {
        if self.bound.is_none() {
            self.clip = clip;
            self.has_failed = false;
            return;
        }
        match self.change_clip(&clip, 0.0) {
            Ok(()) => self.clip = clip,
            Err(error) => self.report(error),
        }
    }
}

impl ReelClipPlayer {
    /// Plays on by `delta` seconds, and poses the skeleton.
    fn advance(&mut self, delta: f64) {
        if Engine::singleton().is_editor_hint() && !self.plays_in_editor {
            return;
        }
        let revision = self.reel.as_ref().map_or(0, |reel| reel.bind().revision());
        if revision != self.revision {
            self.unbind();
            self.revision = revision;
        }
        if self.bound.as_ref().is_some_and(|bound| !bound.skeleton.is_instance_valid()) {
            self.unbind();
        }
        if self.bound.is_none() {
            self.bind_clips();
        }
        let (playing, rate, repeats) = (self.playing, self.rate, self.repeats);
        let Some(bound) = self.bound.as_mut().filter(|_| !self.has_failed) else { return };
        (bound.mixer.playing, bound.mixer.rate, bound.mixer.repeats) = (playing, rate, repeats);
        let ended = match bound.mixer.tick(delta) {
            Ok(ended) => ended,
            Err(error) => return self.fail(error.to_string()),
        };
        bound.show();
        if ended {
            self.signals().ended().emit();
        }
    }

    fn unbind(&mut self) {
        self.bound = None;
        self.has_failed = false;
    }

    fn find_skeleton(&self) -> Option<Gd<Skeleton3D>> {
        if !self.base().is_inside_tree() {
            return None;
        }
        self.base().get_node_or_null(&self.skeleton)?.try_cast::<Skeleton3D>().ok()
    }

    fn change_clip(&mut self, clip: &GString, fade: f64) -> Result<(), String> {
        let Some(bound) = &mut self.bound else { return Ok(()) };
        bound.mixer.rate = self.rate;
        bound.mixer.play(&clip.to_string(), fade).map_err(|error| error.to_string())?;
        self.has_failed = false;
        Ok(())
    }

    /// Opens the file and finds the bones, once there is a skeleton.
    fn bind_clips(&mut self) {
        let Some(reel) = self.reel.clone().filter(|reel| !reel.bind().path().is_empty()) else { return };
        let Some(skeleton) = self.find_skeleton().filter(|_| !self.has_failed) else { return };
        let opened = reel.bind().open().and_then(|reel| {
            let mixer = ClipMixer::new(&reel, &self.clip.to_string()).map_err(|error| error.to_string())?;
            Ok((mixer, unit_metres(reel.description().unit)))
        });
        let (mut mixer, metres) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.fail(error),
        };
        if let Some(time) = self.pending_time.take() {
            mixer.seek(time);
        }
        let mut bound = BoundClips { mixer, skeleton, bones: Vec::new(), version: 0, metres };
        if self.create_bones && bound.skeleton.get_bone_count() == 0 {
            bound.create_bones();
        }
        bound.match_bones();
        let is_matched = bound.bones.iter().any(Option::is_some);
        let path = reel.bind().path().clone();
        self.bound = Some(bound);
        if !is_matched {
            self.fail(format!("{path}: the skeleton has no bone with the name of a joint"));
        }
    }

    /// Reports an error, and does not try again.
    fn fail(&mut self, error: String) {
        self.has_failed = true;
        self.report(error);
    }

    fn report(&mut self, error: String) {
        godot_error!("{error}");
        self.signals().failed().emit(&GString::from(&error));
    }
}

impl BoundClips {
    /// Adds the joints of the file to a skeleton without bones.
    fn create_bones(&mut self) {
        let record = self.mixer.skeleton();
        for (number, name) in record.names.iter().enumerate() {
            let bone = self.skeleton.add_bone(&bone_name(name));
            // Parents come before their children; a root has none.
            let parent = record.parents[number] as usize;
            if bone >= 0 && parent < number {
                self.skeleton.set_bone_parent(bone, parent as i32);
            }
            let mut rest = transform(&record.rest[number]);
            rest.origin *= self.metres;
            self.skeleton.set_bone_rest(bone, rest);
        }
        self.skeleton.reset_bone_poses();
    }

    fn match_bones(&mut self) {
        let skeleton = &self.skeleton;
        let mut find = |name: &str| usize::try_from(skeleton.find_bone(name)).ok();
        self.bones = match_bones(&self.mixer.skeleton().names, &mut find);
        self.version = self.skeleton.get_version();
    }

    /// Writes the pose.
    fn show(&mut self) {
        if self.skeleton.get_version() != self.version {
            self.match_bones();
        }
        for (bone, place) in self.bones.iter().zip(self.mixer.pose()) {
            let Some(bone) = bone.map(|bone| bone as i32) else { continue };
            let [x, y, z] = place.translation.map(|value| value * self.metres);
            self.skeleton.set_bone_pose_position(bone, Vector3::new(x, y, z));
            let [x, y, z, w] = place.rotation;
            self.skeleton.set_bone_pose_rotation(bone, Quaternion::new(x, y, z, w));
            let [x, y, z] = place.scale;
            self.skeleton.set_bone_pose_scale(bone, Vector3::new(x, y, z));
        }
    }
}
