//! Sizes of clips against errors, in both codecs, with the results of other systems on the same clips;
//! measured into a table, and drawn from it.

use crate::baselines::{ClipBaseline, clip_baselines};
use crate::clips::files;
use crate::svg::{BLUE, GREEN, INK, ORANGE, Picture};
use anyhow::{Context, bail};
use meshreel_compile::Silent;
use meshreel_options::{CodecChoice, Options, Tolerance};
use meshreel_read::ReadOptions;
use meshreel_scene::Scene;
use std::fmt::Write;
use std::path::PathBuf;

/// The table of results: codec, tolerance, raw bytes, bytes, largest error, number of clips that hold, number
/// of clips.
pub const TABLE: &str = "clip-size-error.csv";
const HEAD: &str = "codec,tolerance_cm,raw_bytes,bytes,max_error_cm,held,clips";
/// Tolerances in centimetres.
const TOLERANCES: [f64; 7] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0];

/// Compresses all clips at all tolerances in both codecs.
pub fn measure(inputs: &[PathBuf], effort: u32) -> anyhow::Result<String> {
    let scenes = (files(inputs)?.iter())
        .map(|file| {
            let (scene, _) = meshreel_read::open(file, &ReadOptions::default())
                .with_context(|| file.display().to_string())?;
            Ok(scene)
        })
        .collect::<anyhow::Result<Vec<Scene>>>()?;
    let mut out = format!("{HEAD}\n");
    for (name, codec) in [("sampled", CodecChoice::Sampled), ("curve", CodecChoice::Curve)] {
        for tolerance in TOLERANCES {
            let mut options =
                Options { tolerance: Tolerance::Absolute(tolerance), effort, ..Options::default() };
            options.codec = codec;
            // Curves of 48-bit rotations cannot hold every tolerance.
            let done: Vec<Option<[f64; 3]>> = (scenes.iter())
                .map(|scene| {
                    let chunks = meshreel_compile::clip_chunks(scene, &options, &mut Vec::new(), &Silent);
                    let (_, clips) = chunks.ok()?;
                    let sum =
                        |f: fn(&meshreel_compile::ClipReport) -> u64| clips.iter().map(f).sum::<u64>() as f64;
                    let worst = clips.iter().map(|c| c.max_error).fold(0.0, f64::max);
                    Some([sum(|c| c.raw_bytes), sum(|c| c.bytes), worst])
                })
                .collect();
            let held: Vec<&[f64; 3]> = done.iter().flatten().collect();
            let sum = |i: usize| held.iter().map(|c| c[i]).sum::<f64>();
            let worst = held.iter().map(|c| c[2]).fold(0.0, f64::max);
            let line =
                format!("{name},{tolerance},{},{},{worst},{},{}", sum(0), sum(1), held.len(), done.len());
            eprintln!("{line}");
            writeln!(out, "{line}")?;
        }
    }
    Ok(out)
}

/// Draws the ratio against the largest error, both logarithmic.
pub fn picture(table: &str) -> anyhow::Result<String> {
    let (left, top, width, height) = (62.0, 28.0, 560.0, 330.0);
    let mut p = Picture::new(left + width + 28.0, top + height + 92.0);
    // From 0.0005 to 3 cm, and from 3 to 300.
    let at = |error: f64, ratio: f64| {
        let x = (error / 0.0005).log10() / (3.0f64 / 0.0005).log10();
        let y = (ratio / 3.0).log10() / 2.0;
        [left + width * x, top + height * (1.0 - y)]
    };
    for ratio in [3.0, 10.0, 30.0, 100.0, 300.0] {
        p.line(at(0.0005, ratio), at(3.0, ratio), "#e4e4e4", 1.0);
        let [x, y] = at(0.0005, ratio);
        p.text([x - 6.0, y + 4.0], "end", 11.0, INK, &format!("{ratio}:1"));
    }
    for error in [0.001, 0.01, 0.1, 1.0] {
        p.line(at(error, 3.0), at(error, 300.0), "#e4e4e4", 1.0);
        let [x, y] = at(error, 3.0);
        p.text([x, y + 16.0], "middle", 11.0, INK, &format!("{error} cm"));
    }
    for (codec, colour, dashes) in [("sampled", BLUE, ""), ("curve", GREEN, "5,3")] {
        let mut points = Vec::new();
        for line in table.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let [name, _, raw, bytes, error, held, all] = cells[..] else {
                bail!("a line of {TABLE}: {line}");
            };
            // Only if every clip holds, so that all sums are of the same clips.
            if name == codec && held == all {
                let [raw, bytes, error] = [raw, bytes, error].map(str::parse::<f64>);
                points.push(at(error?, raw? / bytes?));
            }
        }
        p.path(&points, colour, 2.0, dashes);
        points.iter().for_each(|point| p.dot(*point, 3.0, colour));
    }
    for ClipBaseline { system, setting, tolerance: asked, ratio, worst } in clip_baselines()? {
        let acl = system.starts_with("ACL");
        if acl && setting != "automatic" {
            continue;
        }
        let point = at(worst, ratio);
        match acl {
            true => p.dot(point, 5.0, ORANGE),
            false => p.ring(point, 5.0, ORANGE),
        }
        let name = if acl { format!("asked {asked}") } else { "ozz".into() };
        p.text([point[0] + 9.0, point[1] + 4.0], "start", 10.5, INK, &name);
    }
    let y = top + height + 44.0;
    p.line([left, y - 4.0], [left + 30.0, y - 4.0], BLUE, 2.0);
    p.text([left + 36.0, y], "start", 12.0, INK, "codec sampled");
    p.path(&[[left + 150.0, y - 4.0], [left + 180.0, y - 4.0]], GREEN, 2.0, "5,3");
    p.text([left + 186.0, y], "start", 12.0, INK, "codec curve");
    p.dot([left + 290.0, y - 4.0], 5.0, ORANGE);
    p.text([left + 300.0, y], "start", 12.0, INK, "ACL 2.1");
    p.ring([left + 370.0, y - 4.0], 5.0, ORANGE);
    p.text([left + 380.0, y], "start", 12.0, INK, "ozz-animation 0.16");
    let what =
        "ratio to 40 bytes per joint and sample, by the largest error of any joint at any sample; 40 clips";
    p.text([left, y + 26.0], "start", 12.0, INK, what);
    Ok(p.finish())
}
