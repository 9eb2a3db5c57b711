//! The node that plays a file.

use crate::materials::SurfaceMaterials;
use crate::model::library::{Library, Report};
use crate::model::settings::{Settings, playable_range};
use crate::nodes::FileNodes;
use crate::resource::ReelResource;
use crate::runtime::{ReelRuntime, frame_number};
use godot::classes::node::InternalMode;
use godot::classes::notify::Node3DNotification;
use godot::classes::{Camera3D, INode3D, Material};
use godot::prelude::*;
use meshreel::{Command, InstanceId, Repeat, ShownFrames};

/// What happens at the ends of the range that is played.
#[derive(GodotConvert, Var, Export, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[godot(via = i64)]
pub enum ReelRepeat {
    /// It stays at the last frame, or played backwards at the first.
    #[default]
    Once,
    /// It goes on at the other end: a closed cycle smoothly, others jump.
    Loop,
    /// As a loop, and the last frame is blended into the first.
    Cycle,
    /// It turns around at both ends.
    PingPong,
}

impl ReelRepeat {
    fn repeat(self) -> Repeat {
        match self {
            ReelRepeat::Once => Repeat::Once,
            ReelRepeat::Loop => Repeat::Loop,
            ReelRepeat::Cycle => Repeat::Cycle,
            ReelRepeat::PingPong => Repeat::PingPong,
        }
    }
}

/// Plays a `.reel` file: baked animation of any size, streamed from the disk in fixed memory.
///
/// When its first frame is decoded, it gets the nodes of the file as children, below a node `Reel` that
/// scales to metres: a [Node3D] for each node of the hierarchy, with its name; below these a [MeshInstance3D]
/// for each mesh, with a surface for each material, and a [Camera3D] for each camera. They belong to no scene
/// and are not saved.
#[derive(GodotClass)]
#[class(tool, init, base = Node3D)]
pub struct ReelInstance3D {
    /// The file. A new one begins at its start, and plays or not as before.
    #[export]
    #[var(set = set_reel)]
    reel: Option<Gd<ReelResource>>,

    /// `true` if it plays; else it stands.
    #[export]
    #[var(set = set_playing)]
    playing: bool,

    /// Seconds of animation per second; negative is backwards, 0 stands still.
    #[export]
    #[var(set = set_rate)]
    #[init(val = 1.0)]
    rate: f64,

    /// What happens at the ends of the range.
    #[export]
    #[var(set = set_repeat)]
    repeat: ReelRepeat,

    /// The time at which it begins, in seconds from the first frame. 0: at the beginning of the range, or
    /// played backwards at its end.
    #[export(range = (0.0, 3600.0, 0.001, or_greater, suffix = "s"))]
    #[var(set = set_start)]
    start: f64,

    /// The first time that is played, in seconds from the first frame.
    #[export(range = (0.0, 3600.0, 0.001, or_greater, suffix = "s"))]
    #[var(set = set_range_begin)]
    range_begin: f64,

    /// The last time that is played. The whole file is, if this is not after the first time.
    #[export(range = (0.0, 3600.0, 0.001, or_greater, suffix = "s"))]
    #[var(set = set_range_end)]
    range_end: f64,

    /// `true` if frames are blended; else the earlier of two is shown.
    #[export]
    #[var(set = set_interpolate)]
    #[init(val = true)]
    interpolate: bool,

    /// The time, in seconds from the first frame. Set once, it is a jump. A track of an [AnimationPlayer]
    /// keys it: as long as it is set in each frame, playback follows it.
    #[var(get = get_time, set = set_time, usage_flags = [EDITOR])]
    time: PhantomVar<f64>,

    /// The materials, by the names of the source: [method ReelResource.get_material_names].
    #[export]
    #[var(set = set_materials)]
    materials: Dictionary<GString, Option<Gd<Material>>>,

    /// The material of all surfaces whose names are not listed; light grey, or of the colours of the
    /// vertices, if there is none.
    #[export]
    #[var(set = set_default_material)]
    default_material: Option<Gd<Material>>,

    surface_materials: SurfaceMaterials,
    id: Option<InstanceId>,
    /// The revision of the resource that was opened.
    revision: u64,
    /// A time that was set before the file was opened.
    pending_time: Option<f64>,
    priority: i32,
    nodes: Option<FileNodes>,
    /// Counts how often nodes were created.
    builds: u64,
    /// The last frame of the engine in which a node showed copies of this one.
    copied: Option<u64>,
    /// The error of a frame that was reported last, so that it is not reported in each frame.
    error: String,
    base: Base<Node3D>,
}

#[godot_api]
impl INode3D for ReelInstance3D {
    // Not by the virtual methods: a script that has these too would take their place.
    fn on_notification(&mut self, what: Node3DNotification) {
        match what {
            Node3DNotification::ENTER_TREE => {
                self.base_mut().set_process_internal(true);
                self.open_reel();
            }
            Node3DNotification::EXIT_TREE => self.close_reel(),
            Node3DNotification::INTERNAL_PROCESS => {
                let delta = self.base().get_process_delta_time();
                self.advance(delta);
            }
            _ => {}
        }
    }

    fn get_configuration_warnings(&self) -> PackedStringArray {
        let has_file = self.reel.as_ref().is_some_and(|reel| !reel.bind().path().is_empty());
        let warning = (!has_file).then(|| GString::from("It has no file: set the property reel."));
        warning.into_iter().collect()
    }
}

#[godot_api]
impl ReelInstance3D {
    /// A value of `repeat`: it stays at the last frame, or played backwards at the first.
    #[constant]
    const REPEAT_ONCE: i64 = ReelRepeat::Once as i64;
    /// A value of `repeat`: it goes on at the other end.
    #[constant]
    const REPEAT_LOOP: i64 = ReelRepeat::Loop as i64;
    /// A value of `repeat`: the last frame is blended into the first.
    #[constant]
    const REPEAT_CYCLE: i64 = ReelRepeat::Cycle as i64;
    /// A value of `repeat`: it turns around at both ends.
    #[constant]
    const REPEAT_PING_PONG: i64 = ReelRepeat::PingPong as i64;

    /// The first frame is shown, and the nodes of the file exist.
    #[signal]
    fn reel_ready();

    /// It has played to the end, and does not repeat.
    #[signal]
    fn ended();

    /// Something about the file went wrong: it could not be opened, read or decoded, or the heap has no room
    /// for it. The last good frame stays. Also logged as an error.
    #[signal]
    fn failed(message: GString);

    /// A newer file has taken the place of the one that was shown. Its nodes are created anew, then
    /// `reel_ready` is emitted again.
    #[signal]
    fn replaced();

    /// Opens a file by its path.
    #[func]
    fn open(&mut self, path: GString) {
        self.set_reel(Some(ReelResource::for_file(&path)));
    }

    /// Starts or continues; starts again after the end.
    #[func]
    fn play(&mut self) {
        self.set_playing(true);
        self.command(Command::Play);
    }

    /// Stays at its time.
    #[func]
    fn pause(&mut self) {
        self.set_playing(false);
        self.command(Command::Pause);
    }

    /// Goes back to the start, and is hidden.
    #[func]
    fn stop(&mut self) {
        self.set_playing(false);
        self.command(Command::Stop);
    }

    /// Goes back to the start, playing or not as before.
    #[func]
    fn reset(&mut self) {
        self.command(Command::Reset);
    }

    /// Jumps to a time, in seconds from the first frame.
    #[func]
    fn seek(&mut self, seconds: f64) {
        match self.id {
            Some(_) => self.command(Command::GoTo(seconds)),
            None if seconds.is_finite() => self.pending_time = Some(seconds),
            None => {}
        }
    }

    /// Jumps to a frame. Frames are counted from 0; one beyond the last is the last.
    #[func]
    fn seek_frame(&mut self, frame: i64) {
        self.command(Command::GoToFrame(frame.max(0) as usize));
    }

    /// Plays only a named range of the file: [method ReelResource.get_range_names]. Returns `false`, and
    /// changes nothing, if there is no such range.
    #[func]
    fn play_range(&mut self, name: GString) -> bool {
        let range = self.reel.as_ref().and_then(|reel| reel.bind().range(&name.to_string()));
        let Some([begin, end]) = range else {
            self.fail(&format!("{}: there is no range {name}", self.file_name()));
            return false;
        };
        (self.range_begin, self.range_end) = (begin, end);
        self.change_settings();
        self.reset();
        self.play();
        true
    }

    /// Streams from a time on as well, so that a later jump there finds its frames. Negative: no longer.
    #[func]
    fn stream_at(&mut self, seconds: f64) {
        let is_at = seconds >= 0.0;
        self.command(if is_at { Command::StreamAt(seconds) } else { Command::StreamHere });
    }

    /// Sets the priority: if the heap has no room for all files, those of higher priority are played.
    #[func]
    fn set_priority(&mut self, priority: i32) {
        self.priority = priority;
        self.with_instance(|library, id| library.set_priority(id, priority));
    }

    /// Returns the number of the frame that is shown, or the earlier of two that are blended. After a jump it
    /// is that from before, until the new one is decoded.
    #[func]
    fn get_frame(&self) -> i64 {
        let number = self.with_instance(|library, id| library.frame_number(id)).flatten();
        number.map_or(0, |number| number as i64)
    }

    /// `true` if the first frame was shown, and the nodes of the file exist.
    #[func]
    fn is_reel_ready(&self) -> bool {
        self.nodes.is_some()
    }

    /// `true` if it has played to the end, and does not repeat.
    #[func]
    fn has_ended(&self) -> bool {
        self.with_instance(|library, id| library.has_ended(id)).unwrap_or(false)
    }

    /// Returns a node of the file by its number; null before the first frame, and if there is no such node.
    #[func]
    fn get_reel_node(&self, number: i64) -> Option<Gd<Node3D>> {
        self.nodes.as_ref()?.node(usize::try_from(number).ok()?)
    }

    /// Returns the cameras of the file; make one of them current to look through it.
    #[func]
    fn get_cameras(&self) -> Array<Gd<Camera3D>> {
        self.nodes.iter().flat_map(FileNodes::cameras).cloned().collect()
    }

    #[func]
    fn get_time(&self) -> f64 {
        let time = self.with_instance(|library, id| library.time(id));
        time.or(self.pending_time).unwrap_or(0.0)
    }

    #[func]
    fn set_time(&mut self, time: f64) {
        let is_open = self.with_instance(|library, id| library.key_time(id, time)).is_some();
        if !is_open && time.is_finite() {
            self.pending_time = Some(time);
        }
    }

    #[func]
    fn set_reel(&mut self, reel: Option<Gd<ReelResource>>) {
        if self.reel == reel {
            return;
        }
        self.close_reel();
        self.pending_time = None;
        self.reel = reel;
        self.open_reel();
        self.base_mut().update_configuration_warnings();
    }

    #[func]
    fn set_playing(&mut self, playing: bool) {
        self.playing = playing;
        self.change_settings();
    }

    #[func]
    fn set_rate(&mut self, rate: f64) {
        if rate.is_finite() {
            self.rate = rate;
            self.change_settings();
        }
    }

    #[func]
    fn set_repeat(&mut self, repeat: ReelRepeat) {
        self.repeat = repeat;
        self.change_settings();
    }

    #[func]
    fn set_start(&mut self, start: f64) {
        self.start = start;
        self.change_settings();
    }

    #[func]
    fn set_range_begin(&mut self, seconds: f64) {
        self.range_begin = seconds;
        self.change_settings();
    }

    #[func]
    fn set_range_end(&mut self, seconds: f64) {
        self.range_end = seconds;
        self.change_settings();
    }

    #[func]
    fn set_interpolate(&mut self, interpolate: bool) {
        self.interpolate = interpolate;
        self.change_settings();
    }

    #[func]
    fn set_materials(&mut self, materials: Dictionary<GString, Option<Gd<Material>>>) {
        self.materials = materials;
        self.update_materials();
    }

    #[func]
    fn set_default_material(&mut self, material: Option<Gd<Material>>) {
        self.default_material = material;
        self.update_materials();
    }

    /// Takes the materials from the property again, after an entry of it was changed.
    #[func]
    fn update_materials(&mut self) {
        let named = self.materials.iter_shared();
        self.surface_materials.named = named.filter_map(|(name, material)| Some((name, material?))).collect();
        self.surface_materials.other = self.default_material.clone();
        if let Some(nodes) = &mut self.nodes {
            let materials = &self.surface_materials;
            nodes.set_materials(&|name, has_colours, primitive| materials.find(name, has_colours, primitive));
        }
    }
}

impl ReelInstance3D {
    /// Returns the instance of the player; `None` without an open file.
    pub(crate) fn id(&self) -> Option<InstanceId> {
        self.id
    }

    /// Returns the nodes of the file, and the number of times that they were created.
    pub(crate) fn file_nodes(&self) -> Option<(&FileNodes, u64)> {
        self.nodes.as_ref().map(|nodes| (nodes, self.builds))
    }

    /// Says that copies of this node are shown in a frame of the engine, so that it is decoded even if it is
    /// hidden.
    pub(crate) fn set_copied(&mut self, frame: u64) {
        self.copied = Some(frame);
    }

    /// Plays on by `delta` seconds, and shows what is due.
    fn advance(&mut self, delta: f64) {
        let revision = self.reel.as_ref().map_or(0, |reel| reel.bind().revision());
        if revision != self.revision {
            self.close_reel();
            self.pending_time = None;
            self.open_reel();
        }
        let Some(id) = self.id else { return };
        let frame = frame_number();
        let is_copied = self.copied.is_some_and(|copied| copied + 2 > frame);
        let visible = self.nodes.is_none() || is_copied || self.base().is_visible_in_tree();
        let state = ReelRuntime::with_library(|library| {
            library.set_visible(id, visible);
            library.see(id, frame);
            library.tick(frame, delta);
            (library.take_reports(id), library.frame(id), library.is_stopped(id))
        });
        let Some((reports, shown, is_stopped)) = state else { return };
        for report in reports {
            self.handle(report);
        }
        // A handler of a signal may have opened another file.
        if self.id != Some(id) {
            return;
        }
        if let Some(nodes) = &mut self.nodes {
            nodes.show_root(!is_stopped);
        }
        if let Some(shown) = shown {
            self.show_frames(&shown);
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            playing: self.playing,
            rate: self.rate,
            repeat: self.repeat.repeat(),
            start: (self.start > 0.0).then_some(self.start),
            range: playable_range(self.range_begin, self.range_end),
            interpolate: self.interpolate,
        }
    }

    fn with_instance<R>(&self, f: impl FnOnce(&mut Library, InstanceId) -> R) -> Option<R> {
        let id = self.id?;
        ReelRuntime::with_library(|library| f(library, id))
    }

    fn change_settings(&mut self) {
        let settings = self.settings();
        self.with_instance(|library, id| library.change_settings(id, settings));
    }

    fn command(&mut self, command: Command) {
        self.with_instance(|library, id| library.command(id, command));
    }

    fn file_name(&self) -> GString {
        self.reel.as_ref().map(|reel| reel.bind().path().clone()).unwrap_or_default()
    }

    /// Adds an instance of the file to the player, if it is in the tree and has a file.
    fn open_reel(&mut self) {
        let Some(reel) = self.reel.clone() else {
            self.revision = 0;
            return;
        };
        self.revision = reel.bind().revision();
        if self.id.is_some() || !self.base().is_inside_tree() || reel.bind().path().is_empty() {
            return;
        }
        let found = reel.bind().source();
        let source = match found {
            Ok(source) => source,
            Err(error) => return self.fail(&error),
        };
        let (settings, time, priority) = (self.settings(), self.pending_time.take(), self.priority);
        self.id = ReelRuntime::with_library(|library| {
            let id = library.add_instance(&source, settings)?;
            library.set_priority(id, priority);
            if let Some(time) = time {
                library.command(id, Command::GoTo(time));
            }
            Some(id)
        })
        .flatten();
        self.error.clear();
    }

    /// Removes the instance and its nodes. The time is kept for when the same file is opened again.
    fn close_reel(&mut self) {
        if let Some(nodes) = self.nodes.take() {
            nodes.free();
        }
        if let Some(id) = self.id.take() {
            self.pending_time = ReelRuntime::with_library(|library| {
                let time = library.time(id);
                library.remove_instance(id);
                time
            });
        }
    }

    fn handle(&mut self, report: Report) {
        match report {
            Report::Failed(error) => self.fail(&error),
            Report::Ended => self.signals().ended().emit(),
            Report::Replaced => {
                if let Some(nodes) = self.nodes.take() {
                    nodes.free();
                }
                if let Some(reel) = &self.reel {
                    reel.bind().forget_facts();
                }
                self.error.clear();
                self.signals().replaced().emit();
            }
        }
    }

    fn fail(&mut self, error: &str) {
        godot_error!("{error}");
        self.signals().failed().emit(&GString::from(error));
    }

    /// Shows a moment: creates the nodes of the file, or writes it into them.
    fn show_frames(&mut self, shown: &ShownFrames) {
        let view = shown.view();
        let mut vertices = ReelRuntime::take_vertices();
        let materials = std::mem::take(&mut self.surface_materials);
        let find = |name: &GString, has_colours, primitive| materials.find(name, has_colours, primitive);
        let (errors, created) = match &mut self.nodes {
            Some(nodes) => (nodes.show(&view, &mut vertices, &find), None),
            None => {
                let (nodes, errors) = FileNodes::new(&view, &mut vertices, &find);
                (errors, Some(nodes))
            }
        };
        self.surface_materials = materials;
        ReelRuntime::give_vertices(vertices);
        if let Some(nodes) = created {
            let root = nodes.root().clone();
            self.nodes = Some(nodes);
            self.builds += 1;
            self.base_mut().add_child_ex(&root).internal(InternalMode::BACK).done();
            self.signals().reel_ready().emit();
        }
        if let Some(error) = errors.into_iter().next().filter(|error| self.error != *error) {
            self.fail(&error);
            self.error = error;
        }
    }
}
