//! Random commands over more than a hundred streams in a small heap, on a disk that fails and with jobs in
//! any order. Whatever happens, each frame that is returned equals a plain decode of it bit by bit; and when
//! the faults end, all instances play.
//!
//! `MESHREEL_STRESS=1000000` sets the number of commands; without it there are fewer, so that all tests take
//! a minute.

mod common;

use common::faults::{Disk, Faults, ManualPool, Random};
use common::playing::{Digest, assert_same, oracle};
use common::{golden, sample};
use meshreel::policy::DebugSwitches;
use meshreel::stream::Statistics;
use meshreel::{Command, FileId, InstanceId, Options, Player, Repeat, ShownFrames};
use meshreel_codec::entropy::block::BlockFormat;
use std::sync::Arc;

const FILES: usize = 110;
const INSTANCES: usize = 150;

struct Content {
    bytes: Arc<[u8]>,
    digests: Vec<u64>,
}

struct Opened {
    file: FileId,
    content: usize,
    disk: Arc<Disk>,
}

struct World {
    random: Random,
    player: Player,
    pool: Arc<ManualPool>,
    contents: Arc<Vec<Content>>,
    files: Vec<Opened>,
    /// Disks of closed files, whose reads in flight will end some day.
    closed: Vec<Arc<Disk>>,
    /// The instances, each with the index of its file.
    instances: Vec<(InstanceId, usize)>,
    lent: Vec<(ShownFrames, usize)>,
    digest: Digest,
    handed_out: u64,
    faults: bool,
    heap: usize,
}

/// Returns the contents of the files; a dozen of them fit into any heap unless layered ones are included.
fn contents(with_layered: bool) -> Arc<Vec<Content>> {
    let kinds = [(1, false), (2, true), (30, true), (61, false), (120, true), (240, false), (16, true)];
    let formats = [BlockFormat::Zstd, BlockFormat::Lz4, BlockFormat::Store, BlockFormat::Deflate];
    let contents = kinds.iter().enumerate().map(|(i, &(frames, fluid))| {
        let mut sample = sample(frames, fluid);
        sample.parts.format = formats[i % 4];
        let bytes: Arc<[u8]> = sample.parts.write().into();
        Content { digests: oracle(&bytes), bytes }
    });
    // Layered ones: key frames, and groups between them.
    let layered = ["v0/flag_small.reel", "v0/flag_fast.reel"].iter().map(|name| {
        let bytes: Arc<[u8]> = golden(name).into();
        Content { digests: oracle(&bytes), bytes }
    });
    Arc::new(match with_layered {
        true => contents.chain(layered).collect(),
        false => contents.collect(),
    })
}

impl World {
    fn new(seed: u64, heap: usize, resident: u64, contents: Arc<Vec<Content>>, faults: bool) -> World {
        let pool = Arc::new(ManualPool::default());
        let player = Player::new(
            Options::default()
                .with_heap(heap)
                .with_resident(resident)
                .with_read_size(20_000)
                .with_threads(0)
                .with_read_threads(0)
                .with_unload_after(0.5)
                .with_pool(pool.clone()),
        )
        .unwrap();
        let mut world = World {
            random: Random(seed),
            player,
            pool,
            contents,
            files: Vec::new(),
            closed: Vec::new(),
            instances: Vec::new(),
            lent: Vec::new(),
            digest: Digest::default(),
            handed_out: 0,
            faults,
            heap,
        };
        for place in 0..FILES {
            let opened = world.open();
            world.files.push(opened);
            let instance = world.player.add_instance(world.files[place].file).unwrap();
            world.instances.push((instance, place));
        }
        world.tick();
        world
    }

    fn open(&mut self) -> Opened {
        let content = self.random.below(self.contents.len());
        let disk = Disk::new(&self.contents[content].bytes);
        let name = format!("file {content}");
        let file = self.player.open_source(name, disk.clone());
        Opened { file, content, disk }
    }

    fn clock_command(&mut self, frames: usize) -> Command {
        let r = &mut self.random;
        let time = (r.below(2000) as f64 / 100.0) - 5.0;
        match r.below(24) {
            0..6 => Command::Play,
            6 => Command::Pause,
            7 => Command::Stop,
            8 => Command::Reset,
            9 => Command::GoTo(time),
            10..13 => Command::GoToFrame(r.below(frames + 2)),
            13..16 => Command::Rate((r.below(800) as f64 - 400.0) / 100.0),
            16 => Command::Repeat(Repeat::Once),
            17 => Command::Repeat(Repeat::Loop),
            18 => Command::Repeat(Repeat::PingPong),
            19 => Command::Frames(r.below(frames + 1), r.below(frames + 1)),
            20 => Command::PreRoll(r.below(3) as f64 / 10.0),
            21 => Command::StreamAt(time),
            22 => Command::StreamHere,
            _ => Command::Interpolate(r.one_in(2)),
        }
    }

    fn command(&mut self) {
        let at = self.random.below(self.instances.len());
        let (instance, place) = self.instances[at];
        match self.random.below(200) {
            0..160 => {
                let frames = self.contents[self.files[place].content].digests.len();
                let command = self.clock_command(frames);
                self.player.command(instance, command);
            }
            160..172 => self.player.set_visible(instance, true),
            172..178 => self.player.set_visible(instance, false),
            178..184 => {
                if self.instances.len() > 1 {
                    self.player.remove(instance);
                    self.instances.swap_remove(at);
                }
            }
            184..191 => {
                let place = self.random.below(self.files.len());
                if self.instances.len() < INSTANCES {
                    let instance = self.player.add_instance(self.files[place].file).unwrap();
                    self.instances.push((instance, place));
                }
            }
            191 => {
                self.player.close(self.files[place].file);
                let opened = self.open();
                let closed = std::mem::replace(&mut self.files[place], opened);
                self.closed.push(closed.disk);
                self.instances.retain(|i| i.1 != place);
                let instance = self.player.add_instance(self.files[place].file).unwrap();
                self.instances.push((instance, place));
            }
            192..195 => {
                let r = &mut self.random;
                let faults = match r.below(6) {
                    _ if !self.faults => Faults::default(),
                    0 => Faults { errors: 50, ..Faults::default() },
                    1 => Faults { short: 50, late: 30, ..Faults::default() },
                    2 => Faults { corrupt: 50, ..Faults::default() },
                    3 => Faults { late: 95, ..Faults::default() },
                    4 => Faults { truncated: Some(r.below(20_000) as u64), ..Faults::default() },
                    _ => Faults::default(),
                };
                self.files[place].disk.set_faults(faults);
                if self.faults && r.one_in(3) {
                    // The file is replaced while it plays, and put back.
                    let other = r.below(self.contents.len());
                    let own = self.files[place].content;
                    let bytes = if r.one_in(2) { own } else { other };
                    self.files[place].disk.replace(&self.contents[bytes].bytes);
                }
            }
            195 => {
                let on = |random: &mut Random| !random.one_in(4);
                let switches = DebugSwitches::ON
                    .with_reads(on(&mut self.random))
                    .with_jobs(on(&mut self.random))
                    .with_drawing(on(&mut self.random));
                self.player.set_switches(switches);
            }
            196 | 197 => {
                if let Some(shown) = self.player.frame(instance) {
                    self.lent.push((shown, self.files[place].content));
                }
                if self.lent.len() > 20 {
                    let at = self.random.below(self.lent.len());
                    self.lent.swap_remove(at);
                }
            }
            _ => self.player.set_switches(DebugSwitches::ON),
        }
    }

    fn tick(&mut self) {
        let dt = [0.0, 1.0 / 60.0, 1.0 / 60.0, 1.0 / 30.0, 0.2, 3.0][self.random.below(6)];
        self.player.tick(dt);
        while self.player.next_event().is_some() {}
        for file in &self.files {
            if !self.random.one_in(3) {
                file.disk.step(&mut self.random);
            }
        }
        let random = &mut self.random;
        self.closed.retain(|disk| {
            disk.step(random);
            disk.pending() > 0
        });
        let most = self.random.below(400);
        self.pool.step(&mut self.random, most, if self.faults { 300 } else { 0 });
        for &(instance, place) in &self.instances {
            if let Some(shown) = self.player.frame(instance) {
                let content = &self.contents[self.files[place].content];
                assert_same(&shown, &content.digests, &mut self.digest);
                self.handed_out += 1;
            }
        }
        if self.random.one_in(8) {
            for (shown, content) in &self.lent {
                assert_same(shown, &self.contents[*content].digests, &mut self.digest);
            }
        }
    }

    /// Ends all faults, and leaves only as many instances as the heap can serve: each shows what it should.
    fn calm(&mut self) {
        self.lent.clear();
        self.player.set_switches(DebugSwitches::ON);
        for file in &self.files {
            file.disk.set_faults(Faults::default());
            file.disk.replace(&self.contents[file.content].bytes);
        }
        let served = (self.heap / (60 << 10)).clamp(1, 12);
        for (instance, _) in self.instances.drain(served.min(self.instances.len())..) {
            self.player.remove(instance);
        }
        for &(instance, _) in &self.instances {
            self.player.set_visible(instance, true);
            self.player.command(instance, Command::PreRoll(0.0));
            self.player.command(instance, Command::Play);
        }
        // Longer than the longest pause before a retry.
        for _ in 0..400 {
            self.player.tick(1.0 / 60.0);
            for disk in self.files.iter().map(|f| &f.disk).chain(&self.closed) {
                disk.set_faults(Faults::default());
                disk.step(&mut self.random);
            }
            while self.pool.step(&mut self.random, 1000, 0) {}
        }
        let mut statistics = Statistics::default();
        self.player.statistics(&mut statistics);
        for &(instance, place) in &self.instances {
            let shown = self.player.frame(instance);
            let name = &self.files[place].content;
            let shown = shown.unwrap_or_else(|| panic!("content {name} is shown: {statistics:#?}"));
            assert!(!shown.is_late(), "content {name}: {statistics:#?}");
            assert_same(&shown, &self.contents[self.files[place].content].digests, &mut self.digest);
        }
        // Nothing leaks: closing everything leaves an empty heap except for scratch.
        for file in &self.files {
            self.player.close(file.file);
        }
        for _ in 0..3 {
            self.player.tick(0.0);
            for file in &self.files {
                file.disk.step(&mut self.random);
            }
            while self.pool.step(&mut self.random, 1000, 0) {}
        }
        self.player.tick(0.0);
        self.player.statistics(&mut statistics);
        assert_eq!((statistics.in_flight, statistics.streams.len()), (0, 0));
        let pieces = statistics.regions.iter().filter(|r| r.owner != u32::MAX).count();
        assert_eq!(pieces, 0, "{:?}", statistics.regions);
    }
}

#[test]
fn random_commands_show_nothing_but_plain_decodes() {
    let commands = std::env::var("MESHREEL_STRESS");
    let commands: u64 = commands.ok().and_then(|c| c.parse().ok()).unwrap_or(24_000);
    let worlds = [
        (32 << 20, 0, true),
        (32 << 20, 1 << 20, true),
        (3 << 20, 0, true),
        (1 << 20, 0, false),
        (600 << 10, 100 << 10, true),
        (300 << 10, 0, true),
    ];
    for (seed, (heap, resident, faults)) in worlds.into_iter().enumerate() {
        let contents = contents(heap > 16 << 20);
        let mut world = World::new(seed as u64, heap, resident, contents, faults);
        for i in 0..commands / worlds.len() as u64 {
            world.command();
            if i % 10 == 0 {
                world.tick();
            }
        }
        println!("heap {heap}: {} frames handed out", world.handed_out);
        assert!(world.handed_out > commands / 60);
        world.calm();
    }
}
