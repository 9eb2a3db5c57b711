//! A small scene: three towers fall one after the other and leave ruins, and a flag flies until it is taken
//! down. `cargo run --example sequencer tower.reel flag.reel`
//!
//! The sequencer reports what happens when. Instances are created when a clip begins to stream and removed
//! when it is over, so that towers that have fallen take no memory.

use meshreel::time::Timeline;
use meshreel::time::sequencer::{
    Action, ActionKind, ClipEnd, ClipStart, ExitSignal, SequenceClip, Sequencer, stagger,
};
use meshreel::{Error, Event, FileId, InstanceId, Options, Player};
use std::path::Path;

/// The game's number of the ruin's mesh, and of the signal to take down the flag.
const RUIN: u32 = 7;
const FLAG_DOWN: u32 = 1;

fn main() -> Result<(), Error> {
    let mut arguments = std::env::args().skip(1);
    let mut file = |name: &str| arguments.next().unwrap_or_else(|| panic!("name the {name}'s .reel"));
    for line in play(file("tower"), file("flag"), 1.0 / 60.0)? {
        println!("{line}");
    }
    Ok(())
}

/// Plays the scene; returns a log of its actions, line by line.
pub fn play(tower: impl AsRef<Path>, flag: impl AsRef<Path>, dt: f64) -> Result<Vec<String>, Error> {
    let mut player = Player::new(Options::default())?;
    let files = [player.open(tower), player.open(flag)];
    let [tower, flag] = timelines(&mut player, files)?;
    let mut scene = Sequencer::new(clips(&tower, &flag))?;
    let mut instances: Vec<Option<InstanceId>> = vec![None; scene.len()];
    let mut actions = Vec::with_capacity(64);
    let mut lines = Vec::new();
    let end = 1.0 + 3.0 * (0.25 + tower.duration());
    while scene.time() < end {
        let before = scene.time();
        scene.tick(dt, |action| actions.push(action));
        for action in actions.drain(..) {
            let clip = scene.clip(action.clip);
            apply(&mut player, files, clip, &action, &mut instances[action.clip]);
            lines.push(format!("{:6.3} s  {}: {}", action.at, clip.name, describe(clip, action.kind)));
        }
        if before < 1.0 && scene.time() >= 1.0 {
            scene.signal(FLAG_DOWN);
        }
        player.tick(dt);
        // Here every remaining instance is drawn, and the ruins: `scene.shown_mesh(clip)`.
    }
    Ok(lines)
}

fn clips(tower: &Timeline, flag: &Timeline) -> Vec<SequenceClip> {
    let fall =
        |number: usize| SequenceClip::new(format!("tower {number}"), 0, tower).with_end(ClipEnd::Mesh(RUIN));
    let mut clips: Vec<SequenceClip> = (1..=3).map(fall).collect();
    // If all fell at once, there would be a hitch.
    stagger(&mut clips, 0.25);
    clips.push(
        SequenceClip::new("flag", 1, flag)
            .with_start(ClipStart::At(0.0))
            .with_plays(0)
            .with_exit(ExitSignal::AtSeam(FLAG_DOWN)),
    );
    clips
}

/// Creates, commands or deletes the instance of a clip.
fn apply(
    player: &mut Player,
    files: [FileId; 2],
    clip: &SequenceClip,
    action: &Action,
    instance: &mut Option<InstanceId>,
) {
    let created = *instance.get_or_insert_with(|| {
        let file = files[clip.cache as usize];
        player.add_instance(file).expect("the files stay open")
    });
    for command in action.commands(clip) {
        player.command(created, command);
    }
    let over = matches!(action.kind, ActionKind::End | ActionKind::Remove) && clip.end != ClipEnd::Hold;
    if over && let Some(instance) = instance.take() {
        player.remove(instance);
    }
}

fn describe(clip: &SequenceClip, what: ActionKind) -> String {
    match (what, clip.end) {
        (ActionKind::End, ClipEnd::Mesh(mesh)) => format!("over, mesh {mesh} takes its place"),
        (ActionKind::End, _) => "over".into(),
        (what, _) => format!("{what:?}"),
    }
}

/// Waits until both files are open, as the sequencer needs their lengths.
fn timelines(player: &mut Player, files: [FileId; 2]) -> Result<[Timeline; 2], Error> {
    loop {
        player.tick(0.0);
        while let Some(event) = player.next_event() {
            if let Event::OpenFailed(_, error) = event {
                return Err(error);
            }
        }
        if let [Some(a), Some(b)] = files.map(|file| player.reel(file).map(Timeline::from_reel)) {
            return Ok([a, b]);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}
