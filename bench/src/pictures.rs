//! `pictures`: draws the pictures of docs/METHODS.md as SVG. If sequences are given, sizes against errors are
//! measured and kept in a table, from which they are drawn again.

use crate::baselines::Baselines;
use crate::svg::{BLUE, GREEN, INK, ORANGE, PALE, Picture};
use crate::{clip_sizes, soft};
use anyhow::Context;
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::schedule::Schedule;
use meshreel_codec::topology::grid::GridShape;
use std::fmt::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Output folder of the pictures.
    #[arg(short, long, default_value = "docs/images")]
    output: PathBuf,
    /// A folder with the sequences (NAME.obj and NAME.pc2): measure sizes anew.
    #[arg(long)]
    sequences: Option<PathBuf>,
    /// Measure only these, and keep the others as they are.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// BVH files, or folders of them: measure sizes of clips anew.
    #[arg(long)]
    clips: Vec<PathBuf>,
    /// Effort spent on the size of clips, 1 to 9.
    #[arg(long, default_value_t = 9)]
    effort: u32,
    /// Tolerances, as fractions of the diagonal.
    #[arg(long, value_delimiter = ',', default_values = ["1e-2", "3e-3", "1e-3", "3e-4", "1e-4", "3e-5", "1e-5"])]
    tolerance: Vec<String>,
}

/// The table of measured sizes: sequence, preset, tolerance, bits per vertex and frame.
const TABLE: &str = "size-error.csv";
const HEAD: &str = "sequence,preset,tolerance,bits_per_vertex_frame";

pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let folder = &arguments.output;
    std::fs::create_dir_all(folder)?;
    if let Some(sequences) = &arguments.sequences {
        measure(sequences, arguments, &folder.join(TABLE))?;
    }
    if !arguments.clips.is_empty() {
        let table = clip_sizes::measure(&arguments.clips, arguments.effort)?;
        std::fs::write(folder.join(clip_sizes::TABLE), table)?;
    }
    let mut pictures = vec![
        ("schedule.svg", schedule()),
        ("levels.svg", hierarchy_levels(false)),
        ("quincunx.svg", hierarchy_levels(true)),
        ("ball.svg", residual_lattice()),
        ("block.svg", block()),
    ];
    match std::fs::read_to_string(folder.join(TABLE)) {
        Ok(table) => pictures.push(("size-error.svg", size_error(&table)?)),
        Err(_) => eprintln!("no {TABLE}: sizes against errors are not drawn"),
    }
    match std::fs::read_to_string(folder.join(clip_sizes::TABLE)) {
        Ok(table) => pictures.push(("clip-size-error.svg", clip_sizes::picture(&table)?)),
        Err(_) => eprintln!("no {}: sizes of clips are not drawn", clip_sizes::TABLE),
    }
    for (name, picture) in pictures {
        let path = folder.join(name);
        std::fs::write(&path, picture).with_context(|| path.display().to_string())?;
        println!("{}", path.display());
    }
    Ok(true)
}

fn measure(folder: &Path, arguments: &Arguments, table: &Path) -> anyhow::Result<()> {
    let before = std::fs::read_to_string(table).unwrap_or_default();
    let mut out = format!("{HEAD}\n");
    for sequence in &Baselines::read()?.sequence {
        let name = &sequence.name;
        if !arguments.only.is_empty() && !arguments.only.contains(name) {
            let own = |line: &&str| line.split(',').next() == Some(name);
            before.lines().filter(own).for_each(|line| out += &format!("{line}\n"));
            continue;
        }
        for (preset, packed) in [("small", false), ("fast", true)] {
            for tolerance in &arguments.tolerance {
                let path = folder.join(sequence.file());
                let bits = soft::bits(&path, tolerance.parse()?, packed)
                    .with_context(|| format!("{name} at {tolerance}"))?;
                eprintln!("{name} {preset} {tolerance}: {bits:.3}");
                writeln!(out, "{name},{preset},{tolerance},{bits:.4}")?;
            }
        }
    }
    Ok(std::fs::write(table, out)?)
}

/// Draws one group: frames by depth, and the references of three of them.
fn schedule() -> String {
    let mut p = Picture::new(860.0, 320.0);
    let schedule = Schedule::new(49, 4);
    // The group's frames side by side, the keys of its neighbours at the edges.
    let at = |frame: u32| match frame {
        0 => [90.0, 45.0],
        48 => [835.0, 45.0],
        _ => {
            let depth = f64::from(schedule.depth(frame));
            let x = 230.0 + 30.0 * (f64::from(frame) - 16.0);
            [x, 45.0 + 58.0 * depth]
        }
    };
    let shown = [(24, BLUE), (20, GREEN), (23, ORANGE)];
    for (frame, colour) in shown {
        for &reference in schedule.references(frame).iter() {
            p.line(at(frame), at(reference), colour, 1.5);
        }
    }
    for frame in [0, 48].into_iter().chain(16..=32) {
        let key = schedule.depth(frame) == 0;
        let (radius, colour) = if key { (9.0, INK) } else { (7.0, PALE) };
        p.dot(at(frame), radius, colour);
        let [x, y] = at(frame);
        p.text([x, y + 23.0], "middle", 11.0, INK, &frame.to_string());
    }
    for (frame, colour) in shown {
        p.dot(at(frame), 7.0, colour);
    }
    for (row, name) in ["keys", "depth 1", "depth 2", "depth 3", "depth 4"].into_iter().enumerate() {
        p.text([20.0, 49.0 + 58.0 * row as f64], "start", 12.0, INK, name);
    }
    p.text([90.0, 165.0], "start", 12.0, INK, "inner unit");
    p.text([90.0, 281.0], "start", 12.0, INK, "last unit");
    p.finish()
}

/// Draws a grid of points, larger for coarser hierarchy levels, and the rings of two of them, with the
/// hierarchy for any mesh or that for grids.
fn hierarchy_levels(of_grids: bool) -> String {
    const SIDE: u32 = 17;
    let shape = GridShape { width: SIDE, height: SIDE, closed: false, reversed: false };
    let mut triangles = Vec::new();
    for a in (0..SIDE * (SIDE - 1)).filter(|a| a % SIDE < SIDE - 1) {
        triangles.extend([a, a + 1, a + SIDE, a + SIDE, a + 1, a + SIDE + 1]);
    }
    let h = hierarchy::build_with_grid(of_grids.then_some(&shape), SIDE * SIDE, &triangles);
    let places = shape.columns_and_rows();
    let mut p = Picture::new(640.0, 560.0);
    let corner = |x: u32, y: u32| [30.0 + 32.0 * f64::from(x), 25.0 + 32.0 * f64::from(y)];
    let plain = |point: u32| corner(point % SIDE, point / SIDE);
    let at = |point: u32| match of_grids {
        true => corner(places[point as usize][0], places[point as usize][1]),
        false => plain(point),
    };
    for t in triangles.chunks_exact(3) {
        for k in 0..3 {
            p.line(plain(t[k]), plain(t[(k + 1) % 3]), "#e4e4e4", 1.0);
        }
    }
    let count = h.level_count();
    // The middle point of a coarse and of the finest level.
    for (level, colour) in [(count - 1, ORANGE), (count - 4, BLUE)] {
        let range = h.level(level);
        let nearest = |new: &usize| {
            let [x, y] = at(h.order[*new]);
            (x - 300.0).abs() as u64 + (y - if colour == BLUE { 150.0 } else { 380.0 }).abs() as u64
        };
        let new = range.min_by_key(nearest).unwrap_or(0);
        for &near in h.ring_of(new) {
            p.line(at(h.order[new]), at(h.order[near as usize]), colour, 3.0);
        }
    }
    for level in 0..count {
        let depth = level as f64 / (count - 1) as f64;
        let shade = (depth * 190.0) as u8;
        let colour = format!("rgb({shade},{shade},{shade})");
        for new in h.level(level) {
            p.dot(at(h.order[new]), 8.5 - 5.0 * depth, &colour);
        }
    }
    p.text([560.0, 30.0], "start", 12.0, INK, "level");
    for level in 0..count {
        let depth = level as f64 / (count - 1) as f64;
        let shade = (depth * 190.0) as u8;
        let y = 52.0 + 24.0 * level as f64;
        p.dot([570.0, y - 4.0], 8.5 - 5.0 * depth, &format!("rgb({shade},{shade},{shade})"));
        p.text([588.0, y], "start", 12.0, INK, &format!("{level}: {}", h.level(level).len()));
    }
    p.finish()
}

/// Draws a plane of the residual lattice, and the ball in which the residual may be zero.
fn residual_lattice() -> String {
    let mut p = Picture::new(640.0, 330.0);
    let (centre, step) = ([200.0, 165.0], 42.0);
    let radius = step * 5f64.sqrt() / 2.0 * 1.0;
    for x in -4i32..=4 {
        for y in -3i32..=3 {
            let at = [centre[0] + step * f64::from(x), centre[1] + step * f64::from(y)];
            if (x & 1) == (y & 1) {
                let even = x & 1 == 0;
                p.dot(at, if even { 4.0 } else { 3.0 }, if even { INK } else { PALE });
            }
        }
    }
    p.ring(centre, radius, BLUE);
    let inside = [centre[0] + 30.0, centre[1] - 22.0];
    p.line(centre, inside, BLUE, 1.5);
    p.dot(inside, 4.0, BLUE);
    let outside = [centre[0] + 70.0, centre[1] + 35.0];
    let nearest = [centre[0] + 2.0 * step, centre[1]];
    p.ring(outside, radius, ORANGE);
    p.line(outside, nearest, ORANGE, 1.5);
    p.dot(outside, 4.0, ORANGE);
    p.dot(nearest, 5.0, ORANGE);
    let note = |p: &mut Picture, y: f64, colour: &str, text: &str| {
        p.text([400.0, y], "start", 12.5, colour, text);
    };
    note(&mut p, 60.0, BLUE, "prediction misses by less than");
    note(&mut p, 77.0, BLUE, "the tolerance: nothing is coded");
    note(&mut p, 120.0, ORANGE, "by more: the nearest lattice point,");
    note(&mut p, 137.0, ORANGE, "which is never farther off");
    note(&mut p, 180.0, INK, "all coordinates even (black),");
    note(&mut p, 197.0, INK, "or all odd (grey, half a step");
    note(&mut p, 214.0, INK, "above and below this plane)");
    p.finish()
}

/// Draws how a unit of eight frames is decoded: all times of a vertex are in one cache line.
fn block() -> String {
    let mut p = Picture::new(800.0, 250.0);
    let cell = 26.0;
    for f in 0..8 {
        for v in 0..6 {
            let at = [40.0 + cell * f64::from(f), 60.0 + cell * f64::from(v)];
            p.rectangle(at, [cell - 3.0, cell - 3.0], if v == 5 { "#f6d3b3" } else { "#dbe8f2" }, PALE);
        }
    }
    p.text([40.0, 30.0], "start", 12.5, INK, "innovations of coarser vertices:");
    p.text([40.0, 46.0], "start", 12.5, INK, "one line each, all frames of the unit");
    let to = [470.0, 120.0];
    for v in [0, 1, 3, 4] {
        let y = 71.0 + cell * f64::from(v);
        p.line([40.0 + 8.0 * cell, y], to, BLUE, 1.5);
    }
    p.text([to[0] - 135.0, 85.0], "start", 12.5, BLUE, "× W");
    p.rectangle([470.0, 108.0], [8.0 * 14.0, 24.0], "#f6d3b3", ORANGE);
    p.text([595.0, 125.0], "start", 12.5, ORANGE, "predicted, 8 frames");
    let steps = [
        ("+ S · q", "residuals of the unit"),
        ("= line", "the vertex's own, kept for finer ones"),
        ("+ T", "from four frames, at the vertex alone"),
        ("= frames", "decoded, written one by one"),
    ];
    for (row, (what, remark)) in steps.into_iter().enumerate() {
        let y = 160.0 + 22.0 * row as f64;
        p.text([470.0, y], "start", 12.5, INK, what);
        p.text([535.0, y], "start", 12.5, INK, remark);
    }
    p.finish()
}

/// Draws curves of size against error, by sequence, and the best other system at two points.
fn size_error(table: &str) -> anyhow::Result<String> {
    let mut rows = Vec::new();
    for line in table.lines().skip(1) {
        let [sequence, preset, tolerance, bits] = line.split(',').collect::<Vec<_>>()[..] else {
            anyhow::bail!("a line of {TABLE}: {line}");
        };
        rows.push((sequence, preset, tolerance.parse::<f64>()?, bits.parse::<f64>()?));
    }
    // Bits per vertex and frame at the ends of the axes.
    const MIN_BITS: f64 = 0.02;
    const MAX_BITS: f64 = 30.0;
    let (width, height) = (300.0, 230.0);
    let mut p = Picture::new(3.0 * width + 40.0, 2.0 * height + 80.0);
    let sequences = Baselines::read()?.sequence;
    for (i, sequence) in sequences.iter().enumerate() {
        let left = 45.0 + width * (i % 3) as f64;
        let top = 40.0 + (height + 10.0) * (i / 3) as f64;
        let (w, h) = (width - 55.0, height - 55.0);
        let at = |error: f64, bits: f64| {
            let x = (-2.0 - error.log10()) / 3.0;
            let y = (bits / MIN_BITS).log10() / (MAX_BITS / MIN_BITS).log10();
            [left + w * x, top + h * (1.0 - y)]
        };
        for bits in [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0] {
            p.line(at(1e-2, bits), at(1e-5, bits), "#e4e4e4", 1.0);
            let [x, y] = at(1e-2, bits);
            p.text([x - 6.0, y + 4.0], "end", 10.5, INK, &bits.to_string());
        }
        for exponent in 2..=5 {
            let error = 10f64.powi(-exponent);
            p.line(at(error, MIN_BITS), at(error, MAX_BITS), "#e4e4e4", 1.0);
            let [x, y] = at(error, MIN_BITS);
            p.text([x, y + 15.0], "middle", 10.5, INK, &format!("1e-{exponent}"));
        }
        p.text([left + 6.0, top - 6.0], "start", 13.0, INK, &sequence.name);
        for (preset, colour, dashes) in [("small", BLUE, ""), ("fast", GREEN, "5,3")] {
            let chosen = rows.iter().filter(|r| r.0 == sequence.name && r.1 == preset);
            let points: Vec<[f64; 2]> = chosen.map(|r| at(r.2, r.3)).collect();
            p.path(&points, colour, 2.0, dashes);
            points.iter().for_each(|&point| p.dot(point, 2.5, colour));
        }
        for tolerance in ["1e-3", "1e-4"] {
            if let Some(bits) = sequence.baseline("small", tolerance) {
                p.dot(at(tolerance.parse()?, bits), 5.0, ORANGE);
            }
        }
    }
    let y = 2.0 * height + 62.0;
    p.line([60.0, y - 4.0], [90.0, y - 4.0], BLUE, 2.0);
    p.text([96.0, y], "start", 12.0, INK, "small");
    p.path(&[[150.0, y - 4.0], [180.0, y - 4.0]], GREEN, 2.0, "5,3");
    p.text([186.0, y], "start", 12.0, INK, "fast");
    p.dot([240.0, y - 4.0], 5.0, ORANGE);
    p.text([250.0, y], "start", 12.0, INK, "the smallest of all others measured");
    p.text(
        [width * 3.0 + 20.0, y],
        "end",
        12.0,
        INK,
        "bits per vertex and frame, by largest error over the diagonal",
    );
    Ok(p.finish())
}
