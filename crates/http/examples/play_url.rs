//! Plays a file over HTTP from its start to its end, in real time, and prints what that took:
//! `cargo run -p meshreel-http --example play_url http://localhost:8000/cloth.reel`.

use meshreel::{Command, Event, Options, Player};
use meshreel_http::{HttpClient, HttpOptions};
use std::process::ExitCode;
use std::time::{Duration, Instant};

const TICK_SECONDS: f64 = 1.0 / 60.0;

fn main() -> ExitCode {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("name the address of a .reel file");
        return ExitCode::from(2);
    };
    match play(&address) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn play(address: &str) -> Result<(), meshreel::Error> {
    let client = HttpClient::new(HttpOptions::default())?;
    let mut player = Player::new(Options::default())?;
    let began = Instant::now();
    let file = client.open(&mut player, address)?;
    let Some(instance) = player.add_instance(file) else {
        return Ok(());
    };
    player.command(instance, Command::Play);
    let (mut first, mut ticks) = (None, 0u64);
    loop {
        player.tick(TICK_SECONDS);
        while let Some(event) = player.next_event() {
            match event {
                Event::OpenFailed(_, error) => return Err(error),
                Event::NoFrames(_) => return Ok(()),
                other => eprintln!("{other:?}"),
            }
        }
        if player.frame(instance).is_some() {
            first.get_or_insert_with(|| began.elapsed());
        }
        ticks += 1;
        if player.clock(instance).is_some_and(|clock| clock.ended()) {
            break;
        }
        std::thread::sleep(Duration::from_secs_f64(TICK_SECONDS));
    }
    let late = player.late_ticks(instance).unwrap_or_default();
    println!("{ticks} ticks, {} late; the first frame after {:?}", late.0, first.unwrap_or_default());
    println!("{:#?}", client.statistics());
    Ok(())
}
