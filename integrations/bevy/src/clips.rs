//! Clips on skeletons of entities: those of a scene that is there already, such as a glTF character, or new
//! ones.

use crate::asset::Reel;
use crate::event::{ReelEnded, fail};
use crate::hierarchy::{metres, transform};
use bevy::platform::collections::HashMap;
use bevy::prelude::*;
use meshreel::clip::{Clip, ClipCursor, Query as ClipQuery, SkeletonRecord, blend};
use meshreel::{Error, Transform as JointTransform};

/// Plays the clips of a file on the joints below its entity.
///
/// Joints are entities with the names that the file gives them. [`ReelClipPlayer::new`] spawns them;
/// [`ReelClipPlayer::on_scene`] moves those of a scene that is there, or will be: of a glTF character, with
/// its skin. Clips stay compressed in memory.
#[derive(Component, Clone, Debug)]
#[require(Transform, Visibility)]
pub struct ReelClipPlayer {
    reel: Handle<Reel>,
    on_scene: bool,
    clip: Option<String>,
    /// The seconds over which the clip that is asked for takes the place of the one before.
    fade: f64,
    seconds: f64,
    /// Seconds of animation per second; negative is backwards.
    pub rate: f64,
    /// `true` if it goes on at the other end; else it stays there, and triggers [`ReelEnded`]. Default
    /// `true`.
    pub repeats: bool,
    /// `false` if it stands.
    pub plays: bool,
}

/// A joint of a skeleton, on the entities that [`ReelClipPlayer::new`] spawns.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[require(Transform, Visibility)]
pub struct ReelJoint {
    /// The number of the joint in the skeleton.
    pub number: usize,
}

impl ReelClipPlayer {
    /// Plays the first clip of a file on joints that are spawned below its entity, in metres if the file
    /// names its unit.
    pub fn new(reel: Handle<Reel>) -> ReelClipPlayer {
        ReelClipPlayer {
            reel,
            on_scene: false,
            clip: None,
            fade: 0.0,
            seconds: 0.0,
            rate: 1.0,
            repeats: true,
            plays: true,
        }
    }

    /// Plays the first clip of a file on those entities below its own that have the names of joints, once
    /// there are any.
    pub fn on_scene(reel: Handle<Reel>) -> ReelClipPlayer {
        ReelClipPlayer { on_scene: true, ..ReelClipPlayer::new(reel) }
    }

    /// Begins with the clip of this name.
    pub fn with_clip(self, name: impl Into<String>) -> ReelClipPlayer {
        ReelClipPlayer { clip: Some(name.into()), ..self }
    }

    /// Plays the clip of this name from its beginning. It takes the place of the one before over `fade`
    /// seconds.
    pub fn play(&mut self, name: impl Into<String>, fade: f64) {
        self.clip = Some(name.into());
        (self.fade, self.seconds) = (fade, 0.0);
    }

    /// Jumps to a time, in seconds from the first sample.
    pub fn seek(&mut self, seconds: f64) {
        self.seconds = seconds;
    }

    /// Returns the time, in seconds from the first sample.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }
}

/// The joints of a [`ReelClipPlayer`] and what is played on them.
#[derive(Component, Debug)]
pub(crate) struct Skeleton {
    reel: AssetId<Reel>,
    clips: Vec<Clip>,
    joints: Vec<Option<Entity>>,
    /// The entity above the joints that were spawned.
    root: Option<Entity>,
    now: PlayedClip,
    /// The clip before, while it is replaced, and the seconds that have passed since.
    before: Option<(PlayedClip, f64)>,
    pose: Vec<JointTransform>,
    has_ended: bool,
    /// `true` if the clip cannot be decoded.
    has_failed: bool,
}

/// A clip that is played.
#[derive(Debug)]
struct PlayedClip {
    name: Option<String>,
    cursor: ClipCursor,
    seconds: f64,
    pose: Vec<JointTransform>,
}

impl PlayedClip {
    /// Finds a clip by name, or the first.
    fn new(clips: &[Clip], name: Option<&String>, reel: &meshreel::Reel) -> Result<PlayedClip, Error> {
        let found = clips.iter().find(|clip| name.is_none_or(|name| clip.name() == name));
        let clip = found.ok_or_else(|| {
            let names: Vec<&str> = clips.iter().map(Clip::name).collect();
            let asked = name.map_or("", |name| name);
            Error::misuse(format!("{}: no clip {asked}, only {names:?}", reel.path().display()))
        })?;
        let pose = vec![JointTransform::IDENTITY; clip.joints()];
        Ok(PlayedClip { name: name.cloned(), cursor: clip.cursor(), seconds: 0.0, pose })
    }

    fn sample(&mut self, repeats: bool) -> Result<(), Error> {
        let query = ClipQuery::new(self.seconds);
        self.cursor.pose(&if repeats { query.wrapped() } else { query }, &mut self.pose[..])
    }
}

/// Finds or spawns the joints of players whose files are loaded.
pub(crate) fn start_clips(
    mut commands: Commands,
    reels: Res<Assets<Reel>>,
    players: Query<(Entity, &ReelClipPlayer, Option<&Skeleton>), Without<FailedClips>>,
    (children, names): (Query<&Children>, Query<&Name>),
) {
    for (entity, player, skeleton) in &players {
        if skeleton.is_some_and(|skeleton| skeleton.reel == player.reel.id()) {
            continue;
        }
        let Some(reel) = reels.get(&player.reel) else { continue };
        if let Some(root) = skeleton.and_then(|skeleton| skeleton.root) {
            commands.entity(root).try_despawn();
        }
        let opened = reel.tables().clips().and_then(|clips| {
            let now = PlayedClip::new(&clips, player.clip.as_ref(), reel.tables())?;
            Ok((clips, now))
        });
        let (clips, now) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                commands.entity(entity).insert(FailedClips);
                fail(&mut commands, entity, &error);
                continue;
            }
        };
        let record = now.cursor.clip().skeleton();
        let (joints, root) = match player.on_scene {
            true => (find_joints(entity, record, &children, &names), None),
            false => {
                let scale = metres(reel.tables().description().unit);
                let (joints, root) = spawn_joints(entity, record, scale, &mut commands);
                (joints.into_iter().map(Some).collect(), Some(root))
            }
        };
        if joints.iter().all(Option::is_none) {
            continue;
        }
        let pose = now.pose.clone();
        let (reel, before) = (player.reel.id(), None);
        commands.entity(entity).insert(Skeleton {
            reel,
            clips,
            joints,
            root,
            now,
            before,
            pose,
            has_ended: false,
            has_failed: false,
        });
    }
}

/// On players whose clips cannot be read.
#[derive(Component, Debug)]
pub(crate) struct FailedClips;

/// Returns for each joint the entity of its name below an entity.
fn find_joints(
    entity: Entity,
    skeleton: &SkeletonRecord,
    children: &Query<&Children>,
    names: &Query<&Name>,
) -> Vec<Option<Entity>> {
    let named = |entity| Some((names.get(entity).ok()?.as_str(), entity));
    let found: HashMap<&str, Entity> = children.iter_descendants(entity).filter_map(named).collect();
    skeleton.names.iter().map(|name| found.get(name.as_str()).copied()).collect()
}

/// Spawns the joints of a skeleton in their rest pose.
fn spawn_joints(
    entity: Entity,
    skeleton: &SkeletonRecord,
    metres: f32,
    commands: &mut Commands,
) -> (Vec<Entity>, Entity) {
    let scale = Transform::from_scale(Vec3::splat(metres));
    let root = commands.spawn((scale, Visibility::Inherited, ChildOf(entity))).id();
    let mut joints: Vec<Entity> = Vec::with_capacity(skeleton.names.len());
    for (number, name) in skeleton.names.iter().enumerate() {
        // Parents come before their children; a root has none.
        let parent = joints.get(skeleton.parents[number] as usize).copied().unwrap_or(root);
        let place = transform(&skeleton.rest[number]);
        joints.push(
            commands.spawn((ReelJoint { number }, Name::new(name.clone()), place, ChildOf(parent))).id(),
        );
    }
    (joints, root)
}

/// Passes the time of all clips, and moves joints.
pub(crate) fn play_clips(
    time: Res<Time>,
    mut commands: Commands,
    reels: Res<Assets<Reel>>,
    mut players: Query<(Entity, &mut ReelClipPlayer, &mut Skeleton)>,
    mut transforms: Query<&mut Transform>,
) {
    for (entity, mut player, mut skeleton) in &mut players {
        let Some(reel) = reels.get(&player.reel).filter(|_| skeleton.reel == player.reel.id()) else {
            continue;
        };
        let (player, dt) = (player.bypass_change_detection(), time.delta_secs_f64());
        if skeleton.has_failed && player.clip == skeleton.now.name {
            continue;
        }
        if let Err(error) = skeleton.advance(player, reel.tables(), dt) {
            fail(&mut commands, entity, &error);
            // A clip that is not there leaves the one before; one that is damaged stands until another is
            // asked for.
            skeleton.has_failed = player.clip == skeleton.now.name;
            player.clip.clone_from(&skeleton.now.name);
            continue;
        }
        let ended = !player.repeats && skeleton.is_at_end(player.rate);
        if ended && !skeleton.has_ended {
            commands.trigger(ReelEnded { entity });
        }
        skeleton.has_ended = ended;
        for (joint, place) in skeleton.joints.iter().zip(&skeleton.pose) {
            if let Some(mut own) = joint.and_then(|joint| transforms.get_mut(joint).ok()) {
                own.set_if_neq(transform(place));
            }
        }
    }
}

impl Skeleton {
    /// Plays on by `dt` seconds, and writes the pose.
    fn advance(&mut self, player: &mut ReelClipPlayer, reel: &meshreel::Reel, dt: f64) -> Result<(), Error> {
        if player.clip.is_some() && player.clip != self.now.name {
            let next = PlayedClip::new(&self.clips, player.clip.as_ref(), reel)?;
            if next.pose.len() != self.pose.len() {
                let name = next.cursor.clip().name().to_owned();
                return Err(Error::misuse(format!("clip {name} is of another skeleton")));
            }
            let before = std::mem::replace(&mut self.now, next);
            self.before = (player.fade > 0.0).then_some((before, 0.0));
        }
        let passed = if player.plays { dt * player.rate } else { 0.0 };
        let length = self.now.cursor.clip().duration();
        player.seconds += passed;
        if !player.repeats {
            player.seconds = player.seconds.clamp(0.0, length);
        }
        self.now.seconds = player.seconds;
        self.now.sample(player.repeats)?;
        let Some((before, since)) = &mut self.before else {
            self.pose.copy_from_slice(&self.now.pose);
            return Ok(());
        };
        *since += dt;
        before.seconds += passed;
        before.sample(player.repeats)?;
        let part = (*since / player.fade).min(1.0);
        blend(&before.pose, &self.now.pose, part as f32, &mut self.pose);
        if part >= 1.0 {
            self.before = None;
        }
        Ok(())
    }

    fn is_at_end(&self, rate: f64) -> bool {
        match rate < 0.0 {
            true => self.now.seconds <= 0.0,
            false => self.now.seconds >= self.now.cursor.clip().duration(),
        }
    }
}
