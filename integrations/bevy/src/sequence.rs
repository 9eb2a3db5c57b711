//! Sequences of clips: what plays when, as [`meshreel::time::sequencer`] decides.

use crate::asset::Reel;
use crate::player::ReelPlayer;
use bevy::prelude::*;
use meshreel::Error;
use meshreel::time::sequencer::{Action, ActionKind, ClipEnd, SequenceClip, Sequencer};

/// Plays clips of files one after the other, or together, as a [`Sequencer`] says. Each clip that is needed
/// is a child with a [`ReelPlayer`], which is despawned when the clip is over, so that it takes no memory.
#[derive(Component, Debug)]
#[require(Transform, Visibility)]
pub struct ReelSequence {
    sequencer: Sequencer,
    reels: Vec<Handle<Reel>>,
    places: Vec<Transform>,
    players: Vec<Option<Entity>>,
    jump: Option<f64>,
}

/// An action of a sequence has happened: a clip begins, turns or ends, or an event of it is passed.
#[derive(EntityEvent, Clone, Debug)]
pub struct ReelSequenceAction {
    /// The entity of the sequence.
    pub entity: Entity,
    /// The number of the clip.
    pub clip: usize,
    /// The kind of the action. At the end of a clip that leaves a mesh, the game shows that mesh.
    pub kind: ActionKind,
    /// The entity that plays the clip; `None` if it is over.
    pub player: Option<Entity>,
}

impl ReelSequence {
    /// Creates a sequence of clips; [`SequenceClip::cache`] is an index into `reels`. A misuse error if the
    /// clips contradict each other, or name a file that is not there.
    pub fn new(clips: Vec<SequenceClip>, reels: Vec<Handle<Reel>>) -> Result<ReelSequence, Error> {
        if let Some(clip) = clips.iter().find(|clip| clip.cache as usize >= reels.len()) {
            let (name, cache, count) = (&clip.name, clip.cache, reels.len());
            return Err(Error::misuse(format!("clip {name} is of file {cache}: there are {count}")));
        }
        let count = clips.len();
        let sequencer = Sequencer::new(clips)?;
        let places = vec![Transform::IDENTITY; count];
        Ok(ReelSequence { sequencer, reels, places, players: vec![None; count], jump: None })
    }

    /// Places a clip, relative to the entity of the sequence. Panics if there is no such clip.
    pub fn with_place(mut self, clip: usize, place: Transform) -> ReelSequence {
        self.places[clip] = place;
        self
    }

    /// Gives a signal, for which clips wait, or at which they end.
    pub fn signal(&mut self, signal: u32) {
        self.sequencer.signal(signal);
    }

    /// Jumps to a time, in seconds from the beginning of the sequence.
    pub fn seek(&mut self, seconds: f64) {
        self.jump = Some(seconds);
    }

    /// Returns the state of the sequence: its time, and which clips play.
    pub fn sequencer(&self) -> &Sequencer {
        &self.sequencer
    }

    /// Returns the entity that plays a clip, while it is streamed or shown. Panics if there is no such clip.
    pub fn player(&self, clip: usize) -> Option<Entity> {
        self.players[clip]
    }

    /// Creates, commands or despawns the player of a clip.
    fn apply(&mut self, entity: Entity, action: &Action, commands: &mut Commands) {
        let clip = self.sequencer.clip(action.clip);
        let known = self.players[action.clip];
        let is_over = matches!(action.kind, ActionKind::End | ActionKind::Remove);
        match (known, is_over && (clip.end != ClipEnd::Hold || action.kind == ActionKind::Remove)) {
            (Some(player), true) => {
                commands.entity(player).try_despawn();
                self.players[action.clip] = None;
            }
            (None, true) => {}
            (Some(player), false) => {
                let given: Vec<_> = action.commands(clip).collect();
                // The game may have despawned it.
                if let Ok(mut found) = commands.get_entity(player) {
                    found.entry::<ReelPlayer>().and_modify(|mut player| player.commands.extend(given));
                }
            }
            (None, false) => {
                let mut player = ReelPlayer::new(self.reels[clip.cache as usize].clone());
                // It is hidden until it starts.
                player.commands = action.commands(clip).collect();
                let name = Name::new(clip.name.clone());
                let spawned = commands.spawn((player, name, self.places[action.clip], ChildOf(entity)));
                self.players[action.clip] = Some(spawned.id());
            }
        }
    }
}

/// Passes the time of all sequences.
pub(crate) fn run_sequences(
    time: Res<Time>,
    mut commands: Commands,
    mut sequences: Query<(Entity, &mut ReelSequence)>,
    mut actions: Local<Vec<Action>>,
) {
    for (entity, mut sequence) in &mut sequences {
        if let Some(to) = sequence.jump.take() {
            sequence.sequencer.go_to(to, |action| actions.push(action));
        }
        sequence.sequencer.tick(time.delta_secs_f64(), |action| actions.push(action));
        for action in actions.drain(..) {
            sequence.apply(entity, &action, &mut commands);
            let (clip, kind) = (action.clip, action.kind);
            let player = sequence.players[clip];
            commands.trigger(ReelSequenceAction { entity, clip, kind, player });
        }
    }
}
