//! The minimum that a game does to play a file: `cargo run --example minimal cloth.reel`.

use meshreel::{Command, Options, Player};

fn main() {
    play(std::env::args().nth(1).expect("name a .reel file"), 120);
}

/// Plays `frames` frames of a game.
pub fn play(path: impl AsRef<std::path::Path>, frames: u32) {
    let mut player = Player::new(Options::default()).unwrap();
    let file = player.open(path);
    let cloth = player.add_instance(file).expect("it is not closed");
    player.command(cloth, Command::Play);
    for _ in 0..frames {
        player.tick(1.0 / 60.0);
        if let Some(shown) = player.frame(cloth) {
            println!("frame {:?}", shown.view().pair()); // It is drawn here.
        }
        std::thread::sleep(std::time::Duration::from_millis(16));
    }
}
