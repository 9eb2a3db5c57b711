//! `soft`: size, speed and error of the soft codec alone, on sequences given as NAME.obj and NAME.pc2.

use anyhow::{Context, bail};
use meshreel_codec::Corrupt;
use meshreel_codec::mesh::decode::{
    CodedUnit, DecodedPoint, StaticPart, Width, decode_unit_with, scratch_len,
};
use meshreel_codec::mesh::encode::{EncodeBuffers, EncodeError, Encoder, Options, PositionSource};
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::quantize::lattice::{Extent, Lattice, LatticeChoice};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::simd::isa::Isa;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders with sequences, or paths of single ones (NAME.obj beside NAME.pc2).
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Only these sequences.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Tolerances, as fractions of the diagonal of the whole sequence's box.
    #[arg(long, value_delimiter = ',', default_values_t = [1e-3, 1e-4])]
    tolerance: Vec<f64>,
    /// Effort spent on size, 1 to 9.
    #[arg(long, value_delimiter = ',', default_values_t = [9])]
    effort: Vec<u32>,
    /// Number of keys from restart to restart.
    #[arg(long, default_value_t = 4)]
    restart: u32,
    /// Pack residuals instead of coding their entropy.
    #[arg(long)]
    packed: bool,
    /// Decodes of each unit; the fastest counts.
    #[arg(long, default_value_t = 5)]
    repeat: u32,
    /// Only this many frames, from the first on.
    #[arg(long)]
    frames: Option<u32>,
    /// Store tables in the file, never refer to a default set.
    #[arg(long)]
    own_tables: bool,
    /// Lattice and steps in place of the encoder's choice: centred or cubic, then how many times finer keys,
    /// the deepest frames and frame 0 are, then the worth of errors in bits, and the fit:
    /// `cubic,1.6,1,1.2,4,0`.
    #[arg(long)]
    choice: Option<String>,
}

/// Bytes that the container adds to each unit.
const UNIT_OVERHEAD: usize = 16;

/// A sequence in memory.
pub struct Sequence {
    pub name: String,
    pub points: usize,
    pub frames: u32,
    pub triangles: Vec<u32>,
    positions: Vec<[f32; 3]>,
}

impl PositionSource for Sequence {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        out.copy_from_slice(self.frame(frame));
    }
}

/// Returns `false` if an error is too large.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let choice = arguments.choice.as_deref().map(parse_choice).transpose()?;
    println!(
        "{:<16} {:>6} {:>2} {:>7} {:>8} {:>7} {:>7} {:>7} {:>7} {:>9} {:>8} {:>8} {:>8} {:>8}  steps",
        "sequence",
        "eps",
        "e",
        "bpvf",
        "static",
        "keys",
        "inner",
        "last",
        "over",
        "max err",
        "enc MB/s",
        "scalar",
        "dec MB/s",
        "memcpy"
    );
    let mut good = true;
    for path in find(&arguments.paths, &arguments.only)? {
        let mut sequence = Sequence::read(&path).with_context(|| path.display().to_string())?;
        if let Some(frames) = arguments.frames {
            sequence = sequence.frame_range(0, frames);
        }
        for &tolerance in &arguments.tolerance {
            for &effort in &arguments.effort {
                let options = Options {
                    effort,
                    packed: arguments.packed,
                    restart: arguments.restart,
                    choice,
                    own_tables: arguments.own_tables,
                    ..Options::default()
                };
                good &= match measure::<i16>(&sequence, tolerance, options, arguments.repeat) {
                    Err(e) if e.is::<EncodeError>() => {
                        measure::<i32>(&sequence, tolerance, options, arguments.repeat)
                    }
                    other => other,
                }
                .with_context(|| format!("{} at {tolerance}", sequence.name))?;
            }
        }
    }
    Ok(good)
}

fn parse_choice(text: &str) -> anyhow::Result<LatticeChoice> {
    let parts: Vec<&str> = text.split(',').collect();
    let [lattice, key, last, first, error_weight, fit] = parts[..] else {
        bail!("a choice has six parts");
    };
    Ok(LatticeChoice {
        lattice: match lattice {
            "cubic" => Lattice::Cubic,
            "centred" => Lattice::Centred,
            _ => bail!("no such lattice: {lattice}"),
        },
        key_precision: key.parse()?,
        deepest_precision: last.parse()?,
        first_precision: first.parse()?,
        error_weight: error_weight.parse()?,
        fit: fit.parse::<u8>()?.min(7),
    })
}

/// Returns the paths of the sequences in folders and of single ones, without extension.
pub fn find(paths: &[PathBuf], only: &[String]) -> anyhow::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut here: Vec<PathBuf> =
                std::fs::read_dir(path)?.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
            here.sort();
            out.extend(
                here.into_iter().filter(|p| {
                    p.extension().is_some_and(|e| e == "obj") && p.with_extension("pc2").is_file()
                }),
            );
        } else {
            out.push(path.with_extension("obj"));
        }
    }
    let stem = |p: &Path| p.file_stem().map(|s| s.to_string_lossy().into_owned());
    out.retain(|p| only.is_empty() || stem(p).is_some_and(|s| only.contains(&s)));
    if out.is_empty() {
        bail!("no sequence was found");
    }
    Ok(out)
}

impl Sequence {
    /// Returns the positions in a frame.
    pub fn frame(&self, frame: u32) -> &[[f32; 3]] {
        let start = frame as usize * self.points;
        &self.positions[start..start + self.points]
    }

    /// Returns a range of its frames.
    pub fn frame_range(&self, first: u32, frames: u32) -> Sequence {
        let first = first.min(self.frames);
        let frames = frames.min(self.frames - first);
        let at = |frame: u32| frame as usize * self.points;
        Sequence {
            name: self.name.clone(),
            points: self.points,
            frames,
            triangles: self.triangles.clone(),
            positions: self.positions[at(first)..at(first + frames)].to_vec(),
        }
    }

    pub fn read(path: &Path) -> anyhow::Result<Sequence> {
        let text = std::fs::read_to_string(path)?;
        let mut triangles = Vec::new();
        for line in text.lines().filter(|l| l.starts_with("f ")) {
            let corner = |c: &str| -> anyhow::Result<u32> {
                let number: u32 = c.split('/').next().unwrap_or("").parse()?;
                number.checked_sub(1).context("corner 0")
            };
            let face: Vec<u32> = line[2..].split_whitespace().map(corner).collect::<anyhow::Result<_>>()?;
            for k in 2..face.len() {
                triangles.extend([face[0], face[k - 1], face[k]]);
            }
        }
        let cache = std::fs::read(path.with_extension("pc2"))?;
        let number = |at: usize| -> anyhow::Result<u32> {
            let bytes = cache.get(at..at + 4).context("a short point cache")?;
            Ok(u32::from_le_bytes(bytes.try_into()?))
        };
        let (points, frames) = (number(16)? as usize, number(28)?);
        let positions: Vec<[f32; 3]> = cache
            .get(32..32 + 12 * points * frames as usize)
            .context("a short point cache")?
            .chunks_exact(12)
            .map(|c| [0, 4, 8].map(|k| f32::from_le_bytes([c[k], c[k + 1], c[k + 2], c[k + 3]])))
            .collect();
        let name = path.file_stem().map(|s| s.to_string_lossy().into_owned());
        Ok(Sequence { name: name.unwrap_or_default(), points, frames, triangles, positions })
    }

    /// Returns its box, with a tolerance that is a fraction of the box's diagonal.
    pub fn extent(&self, tolerance: f64) -> Extent {
        let (mut low, mut high) = ([f32::MAX; 3], [f32::MIN; 3]);
        for p in &self.positions {
            for k in 0..3 {
                low[k] = low[k].min(p[k]);
                high[k] = high[k].max(p[k]);
            }
        }
        let side = |k: usize| f64::from(high[k]) - f64::from(low[k]);
        let diagonal = (side(0).powi(2) + side(1).powi(2) + side(2).powi(2)).sqrt();
        Extent { low, high, tolerance: tolerance * diagonal, axes: 3 }
    }
}

/// A coded sequence: the static part, and the units by number.
struct Coded {
    static_part: Vec<u8>,
    units: Vec<Vec<u8>>,
    schedule: Schedule,
    steps: String,
}

fn encode<W: Width>(s: &Sequence, extent: Extent, options: Options) -> anyhow::Result<Coded> {
    let mut work = EncodeBuffers::<W>::default();
    let hierarchy = hierarchy::build(s.points as u32, &s.triangles);
    let encoder = Encoder::new(hierarchy, s.frames, extent, options, s, &mut work)?;
    let schedule = *encoder.schedule();
    let mut units = vec![Vec::new(); schedule.units() as usize];
    let mut keys: Vec<Vec<DecodedPoint<W>>> = vec![Vec::new(); schedule.keys() as usize];
    for segment in 0..schedule.segments() {
        encoder.encode_segment(segment, &mut work, &mut |key, bytes, frame| {
            units[schedule.unit_number(Unit::Key(key)) as usize] = bytes;
            keys[key as usize] = frame.to_vec();
        })?;
    }
    for group in 0..schedule.groups() {
        let key = |frame: u32| match schedule.key_of(frame) {
            Some(k) => &keys[k as usize][..],
            None => &[],
        };
        let [inner, last] = encoder.encode_group(group, &key, &mut work, &mut |_, _, _| {})?;
        units[schedule.unit_number(Unit::LowerLayers(group)) as usize] = inner;
        units[schedule.unit_number(Unit::TopLayer(group)) as usize] = last;
    }
    Ok(Coded { static_part: encoder.static_bytes().to_vec(), units, schedule, steps: describe(&encoder) })
}

fn describe<W: Width>(encoder: &Encoder<W>) -> String {
    let (tables, set, bytes) = encoder.tables();
    let c = encoder.choice();
    let steps = encoder.grid().steps;
    format!(
        "{:?} {:.2} {:.2} {:.2} {} {} {steps:?} {tables} tables {bytes} B set {set}",
        c.lattice, c.key_precision, c.deepest_precision, c.first_precision, c.error_weight, c.fit
    )
}

/// Returns the processor time of this thread in seconds, which excludes other programs; if the system does
/// not provide it, the seconds since the first call.
fn cpu_seconds() -> f64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|t| t.split(' ').next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| FIRST.get_or_init(Instant::now).elapsed().as_secs_f64(), |n| n * 1e-9)
}

/// Returns the shortest time of several runs, in seconds.
fn best(repeat: u32, mut run: impl FnMut() -> Result<(), Corrupt>) -> Result<f64, Corrupt> {
    let mut shortest = f64::MAX;
    for _ in 0..repeat.max(1) {
        let start = Instant::now();
        run()?;
        shortest = shortest.min(start.elapsed().as_secs_f64());
    }
    Ok(shortest)
}

fn measure<W: Width>(s: &Sequence, tolerance: f64, options: Options, repeat: u32) -> anyhow::Result<bool> {
    let extent = s.extent(tolerance);
    let start = cpu_seconds();
    let coded = encode::<W>(s, extent, options)?;
    let encoding = cpu_seconds() - start;

    let hierarchy = hierarchy::build(s.points as u32, &s.triangles);
    let fixed = StaticPart::decode(&coded.static_part, hierarchy, None)?;
    let (frames, seconds) = decode::<W>(s, &coded, &fixed, repeat)?;
    let error = largest_error(s, &fixed, &frames) / extent.tolerance;

    let values = s.points as f64 * f64::from(s.frames);
    let bits = |bytes: usize| 8.0 * bytes as f64 / values;
    let schedule = coded.schedule;
    let kind = |wanted: fn(Unit) -> bool| -> usize {
        let numbers = (0..schedule.units()).filter(|&n| wanted(schedule.unit(n)));
        numbers.map(|n| coded.units[n as usize].len()).sum()
    };
    let over = UNIT_OVERHEAD * coded.units.iter().filter(|u| !u.is_empty()).count();
    let parts = [
        coded.static_part.len(),
        kind(|u| matches!(u, Unit::Key(_))),
        kind(|u| matches!(u, Unit::LowerLayers(_))),
        kind(|u| matches!(u, Unit::TopLayer(_))),
        over,
    ];
    let ok = error <= 1.0;
    println!(
        "{:<16} {:>6} {:>2} {:>7.4} {:>8.4} {:>7.4} {:>7.4} {:>7.4} {:>7.4} {:>9.6} {:>8.1} {:>8.1} {:>8.1} {:>8.1}  {}{}",
        s.name,
        format!("{tolerance:.0e}"),
        options.effort,
        bits(parts.iter().sum()),
        bits(parts[0]),
        bits(parts[1]),
        bits(parts[2]),
        bits(parts[3]),
        bits(parts[4]),
        error,
        12e-6 * values / encoding,
        12e-6 * values / seconds.scalar,
        12e-6 * values / seconds.vector,
        12e-6 * values / seconds.copy,
        coded.steps,
        if ok { "" } else { "   ERROR TOO LARGE" }
    );
    Ok(ok)
}

/// Decoding times of all units of a sequence in seconds, the best of several runs of each.
#[derive(Default)]
struct DecodeSeconds {
    /// Decoding without vector instructions.
    scalar: f64,
    /// Decoding with the best ones of this machine.
    vector: f64,
    /// Copying as many f32 positions.
    copy: f64,
}

/// Decodes the fixed-point positions of each frame, in the order of the hierarchy.
fn decode<W: Width>(
    s: &Sequence,
    coded: &Coded,
    fixed: &StaticPart,
    repeat: u32,
) -> anyhow::Result<(Vec<Vec<DecodedPoint<W>>>, DecodeSeconds)> {
    let mut frames: Vec<Vec<DecodedPoint<W>>> = vec![vec![[W::default(); 4]; s.points]; s.frames as usize];
    let mut scratch = vec![[W::default(); 4]; scratch_len(s.points)];
    let mut seconds = DecodeSeconds::default();
    let schedule = &coded.schedule;
    let mut numbers: Vec<u32> = (0..schedule.units()).collect();
    numbers.sort_by_key(|&n| !matches!(schedule.unit(n), Unit::Key(_)));
    for number in numbers {
        let unit = schedule.unit(number);
        let list = schedule.frames_of(unit);
        let mut out: Vec<Vec<DecodedPoint<W>>> =
            list.iter().map(|&f| std::mem::take(&mut frames[f as usize])).collect();
        let mut slices: Vec<&mut [DecodedPoint<W>]> = out.iter_mut().map(|o| &mut o[..]).collect();
        let reference = |f: u32| frames.get(f as usize).map(|f| &f[..]);
        let unit_bytes = CodedUnit { schedule, unit, bytes: &coded.units[number as usize] };
        let slices = &mut slices[..];
        for (isa, time) in [(Isa::Scalar, &mut seconds.scalar), (Isa::get(), &mut seconds.vector)] {
            *time +=
                best(repeat, || decode_unit_with(isa, fixed, unit_bytes, &reference, slices, &mut scratch))
                    .with_context(|| format!("{unit:?}"))?;
        }
        let from = vec![[1f32; 3]; s.points * list.len()];
        let mut to = from.clone();
        seconds.copy += best(repeat, || {
            to.copy_from_slice(std::hint::black_box(&from));
            std::hint::black_box(&mut to);
            Ok(())
        })?;
        for (&f, o) in list.iter().zip(out) {
            frames[f as usize] = o;
        }
    }
    Ok((frames, seconds))
}

/// Returns the largest distance between source and decoded points, in the source's unit.
fn largest_error<W: Width>(s: &Sequence, fixed: &StaticPart, frames: &[Vec<DecodedPoint<W>>]) -> f64 {
    let mut worst = 0.0f64;
    for (f, frame) in frames.iter().enumerate() {
        for (new, rec) in frame.iter().enumerate() {
            let point = fixed.hierarchy.order[new] as usize;
            let source = s.positions[f * s.points + point];
            let at = fixed.grid.position([rec[0].to_i32(), rec[1].to_i32(), rec[2].to_i32()]);
            let d = [0, 1, 2].map(|k| f64::from(at[k]) - f64::from(source[k]));
            worst = worst.max(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
        }
    }
    worst.sqrt()
}

/// Returns the bits per vertex and frame of a sequence, given as a path without extension.
pub fn bits(path: &Path, tolerance: f64, packed: bool) -> anyhow::Result<f64> {
    let sequence = Sequence::read(&path.with_extension("obj"))?;
    let extent = sequence.extent(tolerance);
    let options = Options { packed, ..Options::default() };
    let coded = match encode::<i16>(&sequence, extent, options) {
        Err(e) if e.is::<EncodeError>() => encode::<i32>(&sequence, extent, options),
        other => other,
    }?;
    let units = coded.units.iter().filter(|u| !u.is_empty());
    let bytes: usize = units.map(|u| u.len() + UNIT_OVERHEAD).sum();
    let values = sequence.points as f64 * f64::from(sequence.frames);
    Ok(8.0 * (coded.static_part.len() + bytes) as f64 / values)
}
