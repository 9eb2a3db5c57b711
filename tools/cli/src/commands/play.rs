//! `meshreel play`: playback in real time, without a picture, through the player that games use.

use crate::cli::PlayArgs;
use crate::commands::bench::limits;
use crate::commands::live::{Live, StreamName};
use crate::commands::poses::{ClipPlayback, PlayedClip};
use crate::output::{Class, Failure, Output, one_line, print_error_line, table};
use crate::{counting, memory, units};
use meshreel::raw::record::{Coding, Semantic, StreamRecord, Visibility};
use meshreel::stream::Statistics;
use meshreel::view::QuantizedValues;
use meshreel::{
    Command, Event, FileId, FrameDecoder, InstanceId, Limits, MeshView, Options, Player, Reel, Repeat,
    ShownFrames, Transform,
};
use meshreel_commands::reels;
use serde::Serialize;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Seconds of playback after which nothing may allocate any more.
const WARM_UP_SECONDS: f64 = 1.0;
/// Longest time for opening all files.
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);
/// Seconds of playback without `--seconds`, if it would be endless or longer than a day.
const DEFAULT_SECONDS: f64 = 10.0;
const MAX_SECONDS: f64 = 86_400.0;
/// Largest number of ticks of a run; their times are stored.
const MAX_TICKS: f64 = 1e7;
/// Largest number of instances of all files.
const MAX_INSTANCES: u64 = 100_000;
/// Largest rate that a clock supports.
const MAX_RATE: f64 = 65_536.0;

/// Runs the verb.
pub fn run(arguments: &PlayArgs, output: Output) -> Result<ExitCode, Failure> {
    check_arguments(arguments)?;
    let plain = match arguments.check {
        true => Some(reference_digests(&arguments.files, &options(arguments).file_limits())?),
        false => None,
    };
    let watch = memory::PeakMemory::start();
    let mut session = Session::open(arguments, plain)?;
    session.play(arguments, output)?;
    let report = session.into_report(arguments, watch.stop());
    for line in &report.errors {
        print_error_line(&format!("error: {}", one_line(line)));
    }
    output.result(&report, true, || report.text(arguments))?;
    let well = report.errors.is_empty() && report.wrong_frames + report.wrong_poses == 0;
    Ok(ExitCode::from(u8::from(!well)))
}

fn check_arguments(arguments: &PlayArgs) -> Result<(), Failure> {
    let positive = |value: f64, name: &str| match value.is_finite() && value > 0.0 {
        true => Ok(()),
        false => Err(Failure::usage(format!("{name} must be greater than 0"))),
    };
    positive(arguments.fps, "--fps")?;
    positive(arguments.seconds.unwrap_or(1.0), "--seconds")?;
    positive(arguments.seek_every.unwrap_or(1.0), "--seek-every")?;
    if !(0.0..=60.0).contains(&arguments.pre_roll) {
        return Err(Failure::usage("--pre-roll must be from 0 to 60 seconds"));
    }
    if arguments.fps > 10_000.0 || arguments.seconds.unwrap_or(0.0) > MAX_SECONDS {
        return Err(Failure::usage("at most 10000 frames per second and a day"));
    }
    if arguments.fps < 1e-3 {
        return Err(Failure::usage("--fps must be 0.001 at least"));
    }
    if arguments.seconds.unwrap_or(0.0) * arguments.fps > MAX_TICKS {
        let what = format!("--seconds times --fps must be {MAX_TICKS} at most");
        return Err(Failure::usage(what));
    }
    if !(-MAX_RATE..=MAX_RATE).contains(&arguments.rate) {
        let what = format!("--rate must be a number from -{MAX_RATE} to {MAX_RATE}");
        return Err(Failure::usage(what));
    }
    if arguments.files.len() as u64 * u64::from(arguments.copies) > MAX_INSTANCES {
        let what = format!("--copies times the number of files must be {MAX_INSTANCES} at most");
        return Err(Failure::usage(what));
    }
    for path in &arguments.files {
        reels::expect_reel(path)?;
    }
    Ok(())
}

/// Returns the player's options.
fn options(arguments: &PlayArgs) -> Options {
    let default = Options::default();
    let threads = arguments.threads.unwrap_or(default.threads);
    default
        .with_resident(arguments.resident.0)
        .with_file_memory(limits(true).max_memory)
        .with_limits(limits(!arguments.no_attributes))
        .with_threads(threads)
}

/// Returns the options with the heap of the command line, or one in which all files can be shown.
fn options_with_heap(arguments: &PlayArgs) -> Result<Options, Failure> {
    let options = options(arguments);
    let heap = match arguments.heap {
        Some(heap) => heap.0,
        None => {
            let (limits, copies) = (options.file_limits(), arguments.copies);
            let of_file = |path| Ok(options.least_heap(&Reel::open(path, &limits)?, copies));
            let needs = arguments.files.iter().map(of_file).collect::<Result<Vec<u64>, Failure>>()?;
            needs.into_iter().sum::<u64>().min(limits.max_memory).max(options.heap as u64)
        }
    };
    Ok(options.with_heap(usize::try_from(heap).unwrap_or(usize::MAX)))
}

/// The digest of each frame of a file, by a plain decode.
type FrameDigests = Vec<u64>;

fn reference_digests(files: &[PathBuf], limits: &Limits) -> Result<Vec<FrameDigests>, Failure> {
    let of_file = |path: &PathBuf| {
        let reel = Reel::open(path, limits)?;
        let mut decoder = FrameDecoder::new(&reel)?;
        (0..reel.frame_count())
            .map(|frame| {
                decoder.decode(frame)?;
                let transform = |node| decoder.transform(node);
                Ok(digest(&reel, |n| decoder.visible(n), transform, |m| decoder.mesh(m)))
            })
            .collect::<Result<FrameDigests, Failure>>()
    };
    files.iter().map(of_file).collect()
}

/// Returns a digest of everything that a frame shows.
fn digest<'a>(
    reel: &Reel,
    visible: impl Fn(usize) -> bool,
    transform: impl Fn(usize) -> Transform,
    mesh: impl Fn(usize) -> MeshView<'a>,
) -> u64 {
    let mut digest = Digest([1, 2, 3, 4]);
    for (node, record) in reel.description().nodes.iter().enumerate() {
        if record.visibility == Visibility::Animated {
            digest.add(&[u32::from(visible(node))], |v| v);
        }
        if record.animated {
            let Transform { rotation, translation, scale } = transform(node);
            digest.add(&rotation, f32::to_bits);
            digest.add(&translation, f32::to_bits);
            digest.add(&scale, f32::to_bits);
        }
    }
    for (m, record) in reel.description().meshes.iter().enumerate() {
        let mesh = mesh(m);
        digest.add(mesh.indices(), |v| v);
        for range in mesh.materials() {
            digest.add(&[range.first, range.count], |v| v);
        }
        for (stream, of) in record.streams.iter().enumerate() {
            if of.coding.has_fixed_point() || of.coding == Coding::Predicted {
                digest.add_values(&mesh, of);
                continue;
            }
            match mesh.quantized(stream) {
                QuantizedValues::U8(levels) => digest.add(levels, u32::from),
                QuantizedValues::U16(levels) => digest.add(levels, u32::from),
                QuantizedValues::U32(levels) => digest.add(levels, |v| v),
                _ => {}
            }
        }
    }
    digest.0.iter().fold(0, |all, lane| mix(all, *lane))
}

thread_local! {
    static FLOATS: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) };
}

/// A digest of four independent sums, computed in parallel.
struct Digest([u64; 4]);

impl Digest {
    /// Adds the floats of a stream that has no quantized values.
    fn add_values(&mut self, mesh: &MeshView<'_>, stream: &StreamRecord) {
        FLOATS.with_borrow_mut(|floats| {
            let vertices = mesh.vertex_count();
            let count = match stream.semantic {
                Semantic::Normal => 3,
                Semantic::QTangent => 3 + 4,
                _ => stream.semantic.components(),
            } * vertices;
            // Not part of the player's memory.
            counting::uncounted(|| floats.resize(count, 0.0));
            let written = match stream.semantic {
                Semantic::Position => mesh.positions_into(floats),
                Semantic::Uv => mesh.uvs_into(stream.set, floats),
                Semantic::Colour => mesh.colours_into(stream.set, floats),
                Semantic::Velocity => mesh.velocities_into(floats),
                Semantic::Width => mesh.widths_into(floats),
                // Custom attributes have quantized values.
                Semantic::Custom1 | Semantic::Custom2 | Semantic::Custom3 | Semantic::Custom4 => Ok(()),
                Semantic::Normal => mesh.normals_into(floats),
                Semantic::QTangent => {
                    let (normals, tangents) = floats.split_at_mut(3 * vertices);
                    mesh.directions_into(normals, tangents)
                }
            };
            self.add(&[u32::from(written.is_ok())], |v| v);
            if written.is_ok() {
                self.add(floats, f32::to_bits);
            }
        });
    }

    fn add<T: Copy>(&mut self, values: &[T], bits: impl Fn(T) -> u32) {
        let (fours, rest) = values.as_chunks::<4>();
        for four in fours {
            for (lane, value) in self.0.iter_mut().zip(four) {
                *lane = mix(*lane, u64::from(bits(*value)));
            }
        }
        for (lane, value) in self.0.iter_mut().zip(rest) {
            *lane = mix(*lane, u64::from(bits(*value)));
        }
        self.0[0] = mix(self.0[0], values.len() as u64);
    }
}

fn mix(digest: u64, value: u64) -> u64 {
    (digest.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// One playback run.
struct Session {
    player: Player,
    files: Vec<FileId>,
    names: Vec<String>,
    /// Each instance with the index of its file.
    instances: Vec<(usize, InstanceId)>,
    poses: ClipPlayback,
    reference: Option<Vec<FrameDigests>>,
    statistics: Statistics,
    tick_ms: Vec<f64>,
    incidents: Vec<String>,
    /// Per file, the instances for which the heap had no room at some time.
    refused: Vec<BTreeSet<InstanceId>>,
    /// Bytes that the first refused instance needed, and bytes that were left.
    shortage: Option<(u64, u64)>,
    /// The file index of each instance.
    file_of: BTreeMap<InstanceId, usize>,
    allocations: Option<u64>,
    checked: u64,
    wrong: u64,
    /// Number of frames that were not the expected ones.
    late_frames: u64,
    seconds: f64,
}

impl Session {
    /// Opens all files and creates their instances, none of which plays yet.
    fn open(arguments: &PlayArgs, plain: Option<Vec<FrameDigests>>) -> Result<Session, Failure> {
        let mut player = Player::new(options_with_heap(arguments)?)?;
        let files: Vec<FileId> = arguments.files.iter().map(|path| player.open(path)).collect();
        let begun = Instant::now();
        let mut opened = 0;
        while opened < files.len() {
            player.tick(0.0);
            while let Some(event) = player.next_event() {
                match event {
                    Event::Opened(_) => opened += 1,
                    Event::OpenFailed(_, error) => return Err(error.into()),
                    _ => {}
                }
            }
            if begun.elapsed() > OPEN_TIMEOUT {
                let what = format!("not open after {} s", OPEN_TIMEOUT.as_secs());
                return Err(Failure::new(Class::Io, what, None));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut instances = Vec::new();
        for copy in 0..arguments.copies {
            for (number, file) in files.iter().enumerate() {
                let Some(instance) = player.add_instance(*file) else {
                    continue;
                };
                instances.push((number, instance));
                let frames = player.reel(*file).map_or(0, Reel::frame_count);
                // Copies are at different times.
                let part = f64::from(copy) / f64::from(arguments.copies);
                if copy > 0 {
                    let start = (frames as f64 * part) as usize;
                    let at = player.reel(*file).map_or(0.0, |reel| match frames {
                        0 => 0.0,
                        _ => reel.time(start) - reel.time(0),
                    });
                    player.command(instance, Command::StartAt(at));
                }
            }
        }
        let file_of = instances.iter().map(|&(file, id)| (id, file)).collect();
        let mut poses = ClipPlayback::default();
        for (number, file) in files.iter().enumerate() {
            if let Some(reel) = player.reel(*file) {
                poses.add(number, reel, arguments.copies)?;
            }
        }
        Ok(Session {
            poses,
            player,
            names: arguments.files.iter().map(|f| f.display().to_string()).collect(),
            files,
            instances,
            reference: plain,
            statistics: Statistics::default(),
            tick_ms: Vec::new(),
            incidents: Vec::new(),
            refused: vec![BTreeSet::new(); arguments.files.len()],
            shortage: None,
            file_of,
            allocations: None,
            checked: 0,
            wrong: 0,
            late_frames: 0,
            seconds: 0.0,
        })
    }

    fn duration(&self, file: usize) -> f64 {
        let reel = self.player.reel(self.files[file]);
        let last = reel.filter(|reel| reel.frame_count() > 0);
        last.map_or(0.0, |reel| reel.time(reel.frame_count() - 1) - reel.time(0))
    }

    /// Plays in real time, to the end of everything that does not repeat, or as long as requested.
    fn play(&mut self, arguments: &PlayArgs, output: Output) -> Result<(), Failure> {
        for &(_, instance) in &self.instances {
            let repeat = if arguments.repeat { Repeat::Loop } else { Repeat::Once };
            self.player.command(instance, Command::Rate(arguments.rate));
            self.player.command(instance, Command::Repeat(repeat));
            self.player.command(instance, Command::PreRoll(arguments.pre_roll));
            self.player.command(instance, Command::FrameStep(arguments.frame_step));
            self.player.command(instance, Command::Play);
        }
        let longest = (0..self.files.len()).map(|f| self.duration(f)).fold(self.poses.longest(), f64::max);
        self.poses.start(arguments.rate);
        let once = longest / arguments.rate.abs();
        let ends = once < MAX_SECONDS && once * arguments.fps < MAX_TICKS;
        let endless = arguments.repeat || arguments.seek_every.is_some() || !ends;
        let seconds = arguments.seconds.unwrap_or(if endless { DEFAULT_SECONDS } else { once + 0.25 });
        let ticks = (seconds * arguments.fps).ceil().max(1.0) as u64;
        let warm = ((WARM_UP_SECONDS * arguments.fps) as u64).min(ticks / 2);
        self.tick_ms.reserve(ticks as usize);
        let dt = 1.0 / arguments.fps;
        let mut live = Live::new(output);
        let mut seeks = SeekSchedule::new(arguments.seek_every);
        let begun = Instant::now();
        for tick in 0..ticks {
            let due = Duration::from_secs_f64(tick as f64 * dt);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
            if tick == warm {
                counting::start();
            }
            if seeks.is_due(tick as f64 * dt) {
                for i in 0..self.instances.len() {
                    let (file, instance) = self.instances[i];
                    let at = seeks.next_fraction() * self.duration(file);
                    self.player.command(instance, Command::GoTo(at));
                    self.player.command(instance, Command::Play);
                }
                self.poses.seek(|| seeks.next_fraction());
            }
            self.tick(dt, arguments)?;
            if live.is_due(begun.elapsed()) {
                counting::uncounted(|| self.draw(&mut live));
            }
            if !endless && self.ended() && self.poses.ended(arguments.rate) {
                break;
            }
        }
        // A single frame can end before it is available.
        while self.owes_a_check(arguments) && begun.elapsed() < OPEN_TIMEOUT {
            std::thread::sleep(Duration::from_secs_f64(dt));
            self.tick(dt, arguments)?;
        }
        self.allocations = Some(counting::stop());
        live.clear();
        self.seconds = begun.elapsed().as_secs_f64();
        Ok(())
    }

    /// `true` if something was to be compared, and nothing has been yet.
    fn owes_a_check(&self, arguments: &PlayArgs) -> bool {
        let has_frames = |file: &FileId| self.player.reel(*file).is_some_and(|reel| reel.frame_count() > 0);
        let done =
            self.checked + self.poses.checked > 0 || self.shortage.is_some() || !self.incidents.is_empty();
        arguments.check && !done && self.files.iter().any(has_frames)
    }

    fn ended(&self) -> bool {
        let ended = |&(_, instance): &(usize, InstanceId)| {
            self.player.clock(instance).is_none_or(|clock| clock.ended())
        };
        self.instances.iter().all(ended)
    }

    fn tick(&mut self, dt: f64, arguments: &PlayArgs) -> Result<(), Failure> {
        let begun = Instant::now();
        self.player.tick(dt);
        let step = dt * arguments.rate;
        self.poses.tick(step, arguments.repeat)?;
        let mut busy = begun.elapsed();
        if arguments.check {
            counting::uncounted(|| self.poses.check(arguments.repeat))?;
        }
        for i in 0..self.instances.len() {
            let (file, instance) = self.instances[i];
            let begun = Instant::now();
            let frame = self.player.frame(instance);
            busy += begun.elapsed();
            if let Some(frame) = frame {
                self.late_frames += u64::from(frame.is_late());
                self.check_frame(file, &frame);
            }
        }
        self.tick_ms.push(busy.as_secs_f64() * 1e3);
        while let Some(event) = self.player.next_event() {
            counting::uncounted(|| {
                let line = match event {
                    Event::OpenFailed(_, error) | Event::Damaged(_, error) => error.to_string(),
                    Event::ReadFailed(file, error) => format!("{}: {error}", self.name(file)),
                    Event::Refused { instance, needed, left } => {
                        if let Some(&file) = self.file_of.get(&instance) {
                            self.refused[file].insert(instance);
                            self.shortage.get_or_insert((needed, left));
                        }
                        return;
                    }
                    _ => return,
                };
                self.incidents.push(line);
            });
        }
        Ok(())
    }

    fn name(&self, file: FileId) -> &str {
        let number = self.files.iter().position(|f| *f == file);
        number.map_or("", |number| &self.names[number])
    }

    fn check_frame(&mut self, file: usize, shown: &ShownFrames) {
        let Some(plain) = &self.reference else { return };
        let pair = shown.pair();
        for (number, still) in [(pair.first, shown.first()), (pair.second, shown.second())] {
            let transform = |node| still.transform(node);
            let is = digest(shown.reel(), |n| still.visible(n), transform, |m| still.mesh(m));
            self.checked += 1;
            self.wrong += u64::from(plain[file].get(number as usize) != Some(&is));
            if pair.first == pair.second {
                break;
            }
        }
    }

    fn into_report(mut self, arguments: &PlayArgs, peak_anon_bytes: Option<u64>) -> PlayReport {
        self.player.statistics(&mut self.statistics);
        let counts = self.instances.iter().filter_map(|i| self.player.late_ticks(i.1));
        let (missed, waited) = counts.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let streams = &self.statistics.streams;
        let files = self.files.iter().zip(&self.names).zip(&self.refused);
        let streams = files.map(|((file, name), refused)| {
            let found = streams.iter().find(|s| s.file == Some(*file));
            let counters = found.map(|s| s.counters).unwrap_or_default();
            StreamReport {
                name: name.clone(),
                missed: counters.missed,
                seek_wait_ticks: counters.seek_wait_ticks,
                aborts: counters.aborts,
                reads: counters.reads,
                bytes_read: counters.bytes_read,
                frames_decoded: counters.frames_decoded,
                resident: found.is_some_and(|s| s.resident),
                refused_instances: refused.len(),
            }
        });
        let streams: Vec<StreamReport> = streams.collect();
        if arguments.check && self.checked + self.poses.checked == 0 {
            let what = "nothing was compared: no frame was shown";
            self.incidents.push(what.into());
        }
        let bytes_read: u64 = streams.iter().map(|s| s.bytes_read).sum();
        let bytes_read_per_second = if self.seconds > 0.0 { bytes_read as f64 / self.seconds } else { 0.0 };
        PlayReport {
            ticks: self.tick_ms.len() as u64,
            instances: self.instances.len(),
            seconds: self.seconds,
            refused_instances: streams.iter().map(|s| s.refused_instances).sum(),
            refused_at_end: self.statistics.refused,
            missed_frames: missed,
            seek_wait_ticks: waited,
            bytes_read,
            bytes_read_per_second,
            heap_bytes: self.statistics.heap_bytes,
            heap_peak_bytes: self.statistics.heap.peak_bytes,
            heap_failures: self.statistics.heap.failures,
            peak_anon_bytes,
            allocations_after_warmup: self.allocations.unwrap_or(0),
            tick_ms: percentiles(&mut self.tick_ms),
            poses: self.poses.poses,
            checked_poses: arguments.check.then_some(self.poses.checked),
            wrong_poses: self.poses.wrong,
            clips: self.poses.reports(&self.names),
            clip_text: self.poses.text(),
            checked_frames: arguments.check.then_some(self.checked),
            wrong_frames: self.wrong,
            shortage: self.shortage,
            streams,
            errors: self.incidents,
        }
    }

    fn draw(&mut self, live: &mut Live) {
        self.player.statistics(&mut self.statistics);
        let file = |stream: usize| {
            let file = self.statistics.streams.get(stream)?.file?;
            let number = self.files.iter().position(|f| *f == file)?;
            Some(StreamName {
                name: &self.names[number],
                frames: self.player.reel(file).map_or(0, Reel::frame_count),
            })
        };
        let none = StreamName { name: "", frames: 0 };
        live.draw(&self.statistics, |stream| file(stream).unwrap_or(none));
    }
}

/// The times and targets of jumps: the same in every run.
struct SeekSchedule {
    every: Option<f64>,
    next_time: f64,
    state: u64,
}

impl SeekSchedule {
    fn new(every: Option<f64>) -> SeekSchedule {
        SeekSchedule { every, next_time: every.unwrap_or(0.0), state: 1 }
    }

    fn is_due(&mut self, now: f64) -> bool {
        let Some(every) = self.every.filter(|_| now >= self.next_time) else {
            return false;
        };
        self.next_time += every;
        true
    }

    /// Returns a fraction of the whole, 0 to 1.
    fn next_fraction(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.state >> 40) as f64 / (1u64 << 24) as f64
    }
}

/// Returns the median, the 99th percentile and the maximum, in milliseconds.
fn percentiles(values: &mut [f64]) -> Percentiles {
    values.sort_by(f64::total_cmp);
    let at = |part: f64| {
        let place = (values.len() as f64 * part).ceil() as usize;
        values.get(place.clamp(1, values.len().max(1)) - 1).copied().unwrap_or(0.0)
    };
    Percentiles { p50: at(0.5), p99: at(0.99), max: at(1.0) }
}

/// The result of a run, as `--json` prints it.
#[derive(Serialize)]
struct PlayReport {
    ticks: u64,
    instances: usize,
    seconds: f64,
    /// Number of instances for which the heap had no room at some time.
    refused_instances: usize,
    /// Number of instances without room at the end.
    refused_at_end: usize,
    missed_frames: u64,
    seek_wait_ticks: u64,
    bytes_read: u64,
    bytes_read_per_second: f64,
    heap_bytes: u64,
    heap_peak_bytes: u64,
    heap_failures: u64,
    peak_anon_bytes: Option<u64>,
    allocations_after_warmup: u64,
    tick_ms: Percentiles,
    /// Number of frames compared with a plain decode (`--check`); the next field counts those that differ.
    checked_frames: Option<u64>,
    wrong_frames: u64,
    poses: u64,
    clips: Vec<PlayedClip>,
    /// Number of poses compared with those of fresh cursors (`--check`); the next field counts those that
    /// differ.
    checked_poses: Option<u64>,
    wrong_poses: u64,
    streams: Vec<StreamReport>,
    /// Damaged files, failed reads, checks without anything to check.
    errors: Vec<String>,
    #[serde(skip)]
    clip_text: String,
    /// Bytes that the first refused instance needed, and bytes that were left.
    #[serde(skip)]
    shortage: Option<(u64, u64)>,
}

/// Times of ticks in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Percentiles {
    p50: f64,
    p99: f64,
    max: f64,
}

/// The streaming of a file.
#[derive(Serialize)]
struct StreamReport {
    name: String,
    missed: u64,
    seek_wait_ticks: u64,
    aborts: u64,
    reads: u64,
    bytes_read: u64,
    frames_decoded: u64,
    /// `true` if the file is entirely in memory, and nothing is read during playback.
    resident: bool,
    /// Number of instances for which the heap had no room at some time.
    refused_instances: usize,
}

impl PlayReport {
    fn text(&self, arguments: &PlayArgs) -> String {
        let rows: Vec<Vec<String>> = (self.streams.iter())
            .map(|s| {
                vec![
                    one_line(&s.name),
                    s.missed.to_string(),
                    s.seek_wait_ticks.to_string(),
                    s.aborts.to_string(),
                    s.reads.to_string(),
                    units::bytes(s.bytes_read),
                    s.frames_decoded.to_string(),
                    if s.resident { "memory".into() } else { "disk".into() },
                ]
            })
            .collect();
        let header = ["file", "missed", "waited", "aborts", "reads", "read", "decoded", "<played from"];
        let mut text = table(&header, &rows);
        let Percentiles { p50, p99, max } = self.tick_ms;
        text += &format!(
            "\n{} ticks in {:.1} s at {} per second, {} instances: {} frames missed, {} ticks waited after starts and seeks\n",
            self.ticks, self.seconds, arguments.fps, self.instances, self.missed_frames, self.seek_wait_ticks
        );
        text += &format!(
            "tick: {p50:.3} ms in half of all cases, {p99:.3} in 99 of 100, {max:.3} at worst; {} allocations after warm-up\n",
            self.allocations_after_warmup
        );
        text += &self.clip_text;
        text += &format!(
            "read: {} a second; heap: {} of {} at most\n",
            units::bytes(self.bytes_read_per_second as u64),
            units::bytes(self.heap_peak_bytes),
            units::bytes(self.heap_bytes)
        );
        if let Some((needed, left)) = self.shortage {
            text += &format!(
                "{} of {} instances found no room in the heap, {} of them to the end: the first needed {}, of which {} were left (--heap)\n",
                self.refused_instances,
                self.instances,
                self.refused_at_end,
                units::bytes(needed),
                units::bytes(left)
            );
        }
        if let Some(checked) = self.checked_frames {
            text += &format!("{checked} frames compared with a plain decode, {} differ\n", self.wrong_frames);
        }
        if let Some(checked) = self.checked_poses.filter(|checked| *checked > 0) {
            text += &format!(
                "{checked} poses compared with those of fresh cursors, {} differ\n",
                self.wrong_poses
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_few() {
        assert_eq!(percentiles(&mut []), Percentiles::default());
        assert_eq!(percentiles(&mut [2.0]), Percentiles { p50: 2.0, p99: 2.0, max: 2.0 });
        let mut hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentiles(&mut hundred), Percentiles { p50: 50.0, p99: 99.0, max: 100.0 });
    }

    #[test]
    fn seeks_come_when_they_are_due() {
        let mut seeks = SeekSchedule::new(Some(0.5));
        let due: Vec<bool> = (0..5).map(|i| seeks.is_due(f64::from(i) * 0.3)).collect();
        assert_eq!(due, [false, false, true, false, true]);
        assert!((0..100).all(|_| (0.0..1.0).contains(&seeks.next_fraction())));
        assert!(!SeekSchedule::new(None).is_due(1e9));
    }
}
