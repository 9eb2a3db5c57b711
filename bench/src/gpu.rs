//! `gpu`: cost of files on a graphics card: bytes uploaded for a frame compared with the raw ones,
//! dispatches, and the time of the passes compared with a copy of as many bytes on the same card.

use anyhow::{Context, anyhow};
use meshreel::{Command, FrameDecoder, FrameView, Limits, Options, Pace, Player, Reel};
use meshreel_gpu::VertexLayout;
use meshreel_gpu::wgpu::{Budget, DecoderPair, GpuReel, Output, Shaders};
use std::path::PathBuf;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// .reel files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Number of pictures of each file.
    #[arg(long, default_value_t = 60)]
    pictures: usize,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
}

/// The cost of a file. Times are medians, in microseconds.
#[derive(serde::Serialize)]
struct Cost {
    file: String,
    methods: Vec<String>,
    vertices: usize,
    /// Size of a frame's f32 positions, and of its upload.
    raw_bytes: u64,
    slot_bytes: u64,
    fixed_bytes: u64,
    vertex_bytes: u64,
    dispatches: u32,
    /// Time of `update` for a picture whose frames are loaded, and for one that brings a new frame.
    update: f64,
    update_new: f64,
    /// CPU time of a frame that is played, including reading and checking: with points decoded by the CPU,
    /// and by the card (meshes of the preset fast; then the bytes uploaded).
    played: f64,
    played_units: f64,
    unit_bytes: u64,
    /// Time of the passes of a picture.
    passes: f64,
    /// Time of a copy of the bytes that the passes must read and write.
    copy: f64,
}

/// A device, with timestamps if it supports them.
struct Card {
    device: wgpu::Device,
    queue: wgpu::Queue,
    name: String,
    /// Nanoseconds per tick of its clock.
    tick: Option<f32>,
}

impl Card {
    fn new() -> anyhow::Result<Card> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let asked = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = pollster::block_on(instance.request_adapter(&asked)).map_err(|_| {
            anyhow!("no graphics adapter: install the driver of your card, or mesa-vulkan-drivers")
        })?;
        let clock = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS;
        let has_clock = adapter.features().contains(clock);
        let limits = adapter.limits();
        let wanted = wgpu::DeviceDescriptor {
            required_features: if has_clock { clock } else { wgpu::Features::empty() },
            // Requests the card's own limits: large scenes need larger bindings than WebGPU's default.
            required_limits: wgpu::Limits {
                max_buffer_size: limits.max_buffer_size,
                max_storage_buffer_binding_size: limits.max_storage_buffer_binding_size,
                ..wgpu::Limits::default()
            },
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&wanted))?;
        let tick = has_clock.then(|| queue.get_timestamp_period());
        Ok(Card { device, queue, name: adapter.get_info().name, tick })
    }

    /// Returns the microseconds of the recorded work: by the card's clock or, without one, until it is done.
    fn time<T>(&self, record: impl FnOnce(&mut wgpu::CommandEncoder) -> T) -> anyhow::Result<(f64, T)> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let Some(tick) = self.tick else {
            let out = record(&mut encoder);
            let since = Instant::now();
            self.queue.submit([encoder.finish()]);
            self.device.poll(wgpu::PollType::wait_indefinitely())?;
            return Ok((since.elapsed().as_secs_f64() * 1e6, out));
        };
        let queries = self.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: None,
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        });
        let buffer = |usage| {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: 16,
                usage,
                mapped_at_creation: false,
            })
        };
        let resolved = buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
        let read = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        encoder.write_timestamp(&queries, 0);
        let out = record(&mut encoder);
        encoder.write_timestamp(&queries, 1);
        encoder.resolve_query_set(&queries, 0..2, &resolved, 0);
        encoder.copy_buffer_to_buffer(&resolved, 0, &read, 0, 16);
        self.queue.submit([encoder.finish()]);
        let slice = read.slice(..);
        slice.map_async(wgpu::MapMode::Read, |_| {});
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        let bytes = slice.get_mapped_range()?;
        let [from, to] = [0, 8].map(|at| {
            let mut own = [0; 8];
            own.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(own)
        });
        Ok((to.saturating_sub(from) as f64 * f64::from(tick) * 1e-3, out))
    }

    /// Returns the number of bytes that a copy reads and writes in a microsecond.
    fn copy_speed(&self) -> anyhow::Result<f64> {
        let size = 64 << 20;
        let buffer = || {
            self.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let (from, to) = (buffer(), buffer());
        let mut all = Vec::new();
        for _ in 0..9 {
            all.push(self.time(|encoder| encoder.copy_buffer_to_buffer(&from, 0, &to, 0, size))?.0);
        }
        Ok(2.0 * size as f64 / median(&mut all))
    }
}

fn median(all: &mut [f64]) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(0.0)
}

/// Returns `true`: there is no limit.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let card = Card::new()?;
    let speed = card.copy_speed()?;
    let mut shaders = Shaders::new(&card.device);
    let mut all = Vec::new();
    if !arguments.json {
        println!("{}: a copy moves {:.1} GB/s, read and written", card.name, speed * 1e-3);
        println!(
            "times in microseconds{}",
            if card.tick.is_some() { ", by its clock" } else { ", until done" }
        );
        println!(
            "{:<32} {:>9} {:>10} {:>10} {:>10} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}",
            "file",
            "vertices",
            "raw B",
            "up B",
            "units B",
            "passes",
            "update",
            "with new",
            "played",
            "units",
            "time",
            "× copy"
        );
    }
    for file in &arguments.files {
        let cost = cost(&card, speed, &mut shaders, file, arguments.pictures)
            .with_context(|| file.display().to_string())?;
        if !arguments.json {
            println!(
                "{:<32} {:>9} {:>10} {:>10} {:>10} {:>6} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>9.2}",
                cost.file,
                cost.vertices,
                cost.raw_bytes,
                cost.slot_bytes,
                cost.unit_bytes,
                cost.dispatches,
                cost.update,
                cost.update_new,
                cost.played,
                cost.played_units,
                cost.passes,
                cost.passes / cost.copy
            );
        }
        all.push(cost);
    }
    if arguments.json {
        let found = serde_json::json!({ "card": card.name, "copy_gb_per_s": speed * 1e-3, "files": all });
        println!("{found}");
    }
    Ok(true)
}

/// Returns the CPU time in microseconds of a frame that a player streams, decodes or only checks, and
/// uploads; and the bytes uploaded for it. Measured when all frames are played for the first time after the
/// file was opened.
fn measure_playback(
    card: &Card,
    shaders: &mut Shaders,
    file: &std::path::Path,
    frames: usize,
    points: bool,
) -> anyhow::Result<(f64, u64)> {
    let limits = Limits { points, poses: false, ..Limits::default() };
    let heap = 2 << 30;
    let mut player = Player::new(Options {
        heap,
        resident: 0,
        threads: 0,
        read_threads: 0,
        limits,
        ..Options::default()
    })?;
    let id = player.open(file);
    let instance = player.add_instance(id).context("it is not open")?;
    player.tick(0.0);
    player.command(instance, Command::Play);
    let step = match player.reel(id) {
        Some(reel) if frames > 1 => (reel.time(frames - 1) - reel.time(0)) / (frames - 1) as f64,
        _ => 0.04,
    };
    let mut on_card = None;
    let (mut time, mut bytes) = (0.0, 0);
    for _ in 0..frames {
        let since = Instant::now();
        player.tick(step);
        time += since.elapsed().as_secs_f64();
        let Some(shown) = player.frame(instance) else { continue };
        let (gpu, output): &mut (GpuReel, Output) = match &mut on_card {
            Some(made) => made,
            none => {
                let budget = Budget { ring: 2 << 30, ..Budget::default() };
                let layout = VertexLayout::default();
                let gpu = GpuReel::new((&card.device, &card.queue), shaders, &shown, layout, budget)?;
                let output = gpu.output(&card.device, shaders);
                none.insert((gpu, output))
            }
        };
        let mut encoder = card.device.create_command_encoder(&Default::default());
        let since = Instant::now();
        let both = (&card.device, &card.queue);
        let done = gpu.decode(both, shaders, &mut encoder, (&player, instance), 0)?;
        let shows = gpu.update(shaders, &card.queue, &mut encoder, &mut [(&mut *output, &shown)])?;
        time += since.elapsed().as_secs_f64();
        card.queue.submit([encoder.finish()]);
        card.device.poll(wgpu::PollType::wait_indefinitely())?;
        bytes += done.bytes + shows.bytes;
    }
    Ok((time * 1e6 / frames as f64, bytes / frames as u64))
}

fn cost(
    card: &Card,
    speed: f64,
    shaders: &mut Shaders,
    file: &std::path::Path,
    pictures: usize,
) -> anyhow::Result<Cost> {
    // The card applies the bones to points.
    let reel = Reel::open(file, &Limits { poses: false, ..Limits::default() })?;
    let frames = reel.frame_count();
    anyhow::ensure!(frames > 0 && !reel.description().meshes.is_empty(), "no meshes");
    let [mut first, mut second] = [FrameDecoder::new(&reel)?, FrameDecoder::new(&reel)?];
    let show = |first: &mut FrameDecoder, second: &mut FrameDecoder, frame: usize| {
        first.decode(frame)?;
        second.decode((frame + 1) % frames)
    };
    show(&mut first, &mut second, 0)?;
    fn interpolated<'a>(
        first: &'a FrameDecoder,
        second: &'a FrameDecoder,
        blend: f32,
    ) -> Result<DecoderPair<'a>, meshreel::Error> {
        let view = FrameView::between(first, second, blend, Pace::default())?;
        Ok(DecoderPair { first, second, view })
    }
    let start = interpolated(&first, &second, 0.0)?;
    let budget = Budget { ring: 1 << 30, ..Budget::default() };
    let mut gpu =
        GpuReel::new((&card.device, &card.queue), shaders, &start, VertexLayout::default(), budget)?;
    let mut output: Output = gpu.output(&card.device, shaders);
    let (mut updates, mut new, mut passes, mut dispatches) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for picture in 0..pictures {
        // Two pictures per frame: one loads it, one blends.
        show(&mut first, &mut second, (picture / 2) % frames)?;
        let blend = if picture % 2 == 0 { 0.25 } else { 0.75 };
        let shown = interpolated(&first, &second, blend)?;
        let (time, (cpu, done)) = card.time(|encoder| {
            let since = Instant::now();
            let done = gpu.update(shaders, &card.queue, encoder, &mut [(&mut output, &shown)]);
            (since.elapsed().as_secs_f64() * 1e6, done)
        })?;
        let done = done?;
        dispatches = dispatches.max(done.dispatches);
        // The first pictures create resources.
        if picture > 3 {
            if done.frames > 0 { &mut new } else { &mut updates }.push(cpu);
            passes.push(time);
        }
    }
    let [(played, _), (played_units, unit_bytes)] = [
        measure_playback(card, shaders, file, frames, true)?,
        measure_playback(card, shaders, file, frames, false)?,
    ];
    let sizes = gpu.sizes();
    let description = reel.description();
    let vertices: usize = description.meshes.iter().map(|mesh| mesh.vertices as usize).sum();
    let mut methods: Vec<String> =
        description.meshes.iter().map(|mesh| format!("{:?}", mesh.method).to_lowercase()).collect();
    methods.dedup();
    Ok(Cost {
        file: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        methods,
        vertices,
        raw_bytes: 12 * vertices as u64,
        slot_bytes: sizes.slot,
        fixed_bytes: sizes.fixed,
        vertex_bytes: sizes.vertices,
        dispatches,
        update: median(&mut updates),
        update_new: median(&mut new),
        played,
        played_units,
        unit_bytes,
        passes: median(&mut passes),
        copy: (2 * sizes.slot + sizes.fixed + sizes.vertices) as f64 / speed,
    })
}
