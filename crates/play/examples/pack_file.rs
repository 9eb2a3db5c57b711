//! Plays files of a pack through a source of the program's own: `cargo run --example pack_file game.pack
//! a.reel b.reel` writes the pack and plays its files.
//!
//! A pack here is a count, that many offsets and sizes (u64, little-endian), and the files. A game has its
//! own format, an archive or an object store; the player only needs an [`AsyncSource`]: begin to read, and
//! report when it is done.

use meshreel::stream::{AsyncSource, ReadRequest};
use meshreel::{Command, Event, Options, Player};
use std::fs::File;
use std::io::{self, Read as _, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The number of reads that can wait; one more is refused, and the player asks again.
const WAITING: usize = 256;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [pack, files @ ..] = &arguments[..] else {
        return Err(io::Error::other("name a pack to write, and the files to put into it"));
    };
    write(pack, files)?;
    let frames = play(pack, 120)?;
    println!("frames shown of each file: {frames:?}");
    Ok(())
}

/// Puts files into a pack.
pub fn write(pack: impl AsRef<Path>, files: &[impl AsRef<Path>]) -> io::Result<()> {
    let contents: Vec<Vec<u8>> = files.iter().map(std::fs::read).collect::<io::Result<_>>()?;
    let mut out = File::create(pack)?;
    let mut offset = 8 + 16 * contents.len() as u64;
    out.write_all(&(contents.len() as u64).to_le_bytes())?;
    for content in &contents {
        out.write_all(&offset.to_le_bytes())?;
        out.write_all(&(content.len() as u64).to_le_bytes())?;
        offset += content.len() as u64;
    }
    contents.iter().try_for_each(|content| out.write_all(content))
}

/// A file in the pack: its place, and the queue of the thread that reads.
struct Packed {
    offset: u64,
    size: u64,
    requests: SyncSender<(u64, ReadRequest)>,
}

impl AsyncSource for Packed {
    fn size(&self) -> u64 {
        self.size
    }

    fn start(&self, read: ReadRequest) {
        // Called from the tick, so it does not wait. If the queue is full, the read is dropped, which
        // completes it.
        let _ = self.requests.try_send((self.offset + read.offset(), read));
    }
}

/// The one thread that reads the pack.
fn serve(mut file: File, requests: Receiver<(u64, ReadRequest)>) {
    for (at, mut read) in requests {
        if read.is_cancelled() {
            continue;
        }
        let size = read.buffer().len();
        let done = (file.seek(SeekFrom::Start(at))).and_then(|_| file.read_exact(read.buffer()));
        read.complete(done.map(|()| size));
    }
}

/// Opens every file of a pack for a player.
fn open(pack: impl AsRef<Path>) -> io::Result<Vec<Packed>> {
    let mut file = File::open(pack)?;
    let mut number = || {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes).map(|()| u64::from_le_bytes(bytes))
    };
    let count = number()?;
    let (requests, queue) = sync_channel(WAITING);
    let mut packed = Vec::new();
    for _ in 0..count {
        packed.push(Packed { offset: number()?, size: number()?, requests: requests.clone() });
    }
    std::thread::spawn(move || serve(file, queue));
    Ok(packed)
}

/// Plays all files of a pack; returns the number of frames that each has shown.
pub fn play(pack: impl AsRef<Path>, ticks: u32) -> io::Result<Vec<u32>> {
    let mut player = Player::new(Options::default()).unwrap();
    let mut instances = Vec::new();
    for (number, packed) in open(pack)?.into_iter().enumerate() {
        let file = player.open_source(format!("file {number} of the pack"), Arc::new(packed));
        instances.extend(player.add_instance(file));
    }
    for &instance in &instances {
        player.command(instance, Command::Play);
    }
    let mut shown = vec![0; instances.len()];
    for _ in 0..ticks {
        player.tick(1.0 / 60.0);
        while let Some(event) = player.next_event() {
            if let Event::OpenFailed(_, error) = event {
                return Err(io::Error::other(error));
            }
        }
        for (instance, shown) in instances.iter().zip(&mut shown) {
            *shown += u32::from(player.frame(*instance).is_some());
        }
        std::thread::sleep(std::time::Duration::from_millis(4));
    }
    Ok(shown)
}
