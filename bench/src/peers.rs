//! `peers`: bytes and decoding time of whole animations beside other codecs, at the same largest error of
//! positions, which is measured on what each of them decodes. `bench/peers/run.sh` runs it with all scripts.

mod case;
mod codecs;
mod foreign;
mod page;
mod values;

use crate::assets::{self, Buffers};
use anyhow::Context;
use case::{Case, Channels, Compiled, VertexOrder, Vertices};
use codecs::{Coded, METHODS, Quantized};
use foreign::Measured;
use meshreel::FrameDecoder;
use meshreel_options::Preset;
use page::{Outcome, Row, Summary};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Arguments {
    /// Inputs; the first mesh of each is compared. An .obj with the .pc2 of the same name beside it.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Tolerances as fractions of the diagonal of the whole animation.
    #[arg(long, value_delimiter = ',', default_value = "1e-4,1e-3")]
    tolerance: Vec<String>,
    /// Only this many frames, from the first on.
    #[arg(long)]
    frames: Option<usize>,
    /// Passes over each animation, all codecs in turn; the fastest of each counts.
    #[arg(long, default_value_t = 30)]
    repeat: usize,
    /// Folder for exchange with the scripts; without it their peers are not measured.
    #[arg(long)]
    work: Option<PathBuf>,
    /// Only write the inputs of the scripts to the folder.
    #[arg(long, requires = "work")]
    prepare: bool,
    /// Write all figures to this file.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Write tables between the markers of this page.
    #[arg(long)]
    page: Option<PathBuf>,
}

/// Part of the allowed error by which rounding may exceed it: vertices of a file are 32-bit floats.
const ROUNDING: f64 = 1e-6;

/// Returns `true` if every measured error that is bound by the tolerance is within it.
pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let (mut rows, mut cases) = (Vec::new(), Vec::new());
    for file in &arguments.files {
        let (own, summary) =
            measure_case(arguments, file).with_context(|| format!("comparing {}", file.display()))?;
        rows.extend(own);
        cases.extend(summary);
    }
    if arguments.prepare {
        return Ok(true);
    }
    let text = page::tables(&rows, &cases)?;
    println!("{text}");
    if let Some(path) = &arguments.csv {
        std::fs::write(path, page::csv(&rows)).with_context(|| path.display().to_string())?;
    }
    if let Some(path) = &arguments.page {
        page::write(path, &text)?;
    }
    let mut ok = true;
    for row in rows.iter().filter(|row| !is_within(row)) {
        eprintln!("{} of {} at {}: an error above what was asked for", row.peer, row.case, row.tolerance);
        ok = false;
    }
    Ok(ok)
}

/// `true` if a row keeps the largest error. Textures have as many bits as they have, whatever is asked.
fn is_within(row: &Row) -> bool {
    match row.outcome {
        Outcome::Measured(m) if row.peer != TEXTURES => m.errors.position <= row.allowed * (1.0 + ROUNDING),
        _ => true,
    }
}

const TEXTURES: &str = "OpenVAT, 16-bit PNG";
const SOURCE: &str = "the source file";

/// Measures all codecs on an input, with all channels and with positions alone.
fn measure_case(arguments: &Arguments, file: &Path) -> anyhow::Result<(Vec<Row>, Option<Summary>)> {
    let case = Case::read(file, arguments.frames)?;
    let mut rows = Vec::new();
    let mut summary: Option<Summary> = None;
    for channels in Channels::BOTH {
        let vertices = in_best_order(case.vertices(channels)?, 1e-4 * case.diagonal)?;
        let count = |f: &values::Frame| f.positions.len();
        let most = vertices.frames.iter().map(count).max().context("no frames")?;
        let triangles = vertices.frames.iter().map(|f| f.triangles.len() / 3).max().unwrap_or(0);
        let own = summary.get_or_insert_with(|| Summary {
            name: case.name.clone(),
            frames: vertices.frames.len(),
            vertices: [most; 2],
            triangles,
            has_tangents: !vertices.signs.is_empty(),
            has_fixed_faces: vertices.has_fixed_faces,
        });
        own.vertices[1] = most;
        let grids = (arguments.tolerance.iter())
            .map(|tolerance| {
                let allowed = case.diagonal * tolerance.parse::<f64>().context("a tolerance is no number")?;
                let quantized = Quantized::new(&vertices, allowed).context("positions need over 16 bits")?;
                Ok((tolerance.clone(), quantized))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let folder = arguments.work.as_ref().map(|work| foreign::folder(work, &case, channels));
        if let Some(folder) = folder.as_ref().filter(|_| arguments.prepare) {
            foreign::write_inputs(folder, &case, &vertices, &grids)?;
            continue;
        }
        let folder = folder.unwrap_or_default();
        let unchanging = unchanging(&case, &vertices, channels, &folder)?;
        for (tolerance, quantized) in &grids {
            let allowed = case.diagonal * tolerance.parse::<f64>()?;
            let mut outcomes = packages(arguments, &case, quantized, channels, allowed)?;
            outcomes.extend(draco(&folder, quantized, tolerance)?);
            outcomes.extend(&unchanging);
            rows.extend(outcomes.into_iter().map(|(peer, outcome)| Row {
                case: case.name.clone(),
                channels,
                tolerance: tolerance.clone(),
                peer,
                outcome,
                vertices: vertices.total(),
                allowed,
            }));
        }
    }
    Ok((rows, summary))
}

/// A peer and its result.
type Entry = (&'static str, Outcome);

fn entry(peer: &'static str, measured: Option<Measured>, otherwise: Outcome) -> Entry {
    (peer, measured.map_or(otherwise, Outcome::Measured))
}

/// Returns the results that do not depend on the tolerance.
fn unchanging(
    case: &Case,
    vertices: &Vertices,
    channels: Channels,
    folder: &Path,
) -> anyhow::Result<[Entry; 3]> {
    let source = |bytes| Measured { bytes, errors: values::Errors::default(), seconds: None };
    Ok([
        entry(TEXTURES, foreign::textures(case, vertices, channels)?, Outcome::Impossible),
        entry("Alembic, written by Blender", foreign::blender(folder, case)?, Outcome::Missing),
        entry(SOURCE, case.source_bytes.map(source), Outcome::Impossible),
    ])
}

/// Returns the results of Draco, with what is coded once for all frames.
fn draco(folder: &Path, quantized: &Quantized<'_>, tolerance: &str) -> anyhow::Result<Vec<Entry>> {
    let with_static = |(method, peer): (&str, &'static str)| {
        let mut decoded = foreign::draco(folder, quantized.vertices, method, tolerance)?;
        if let Some(decoded) = &mut decoded {
            let more = match method {
                "sequential" => quantized.static_bytes()?,
                _ => quantized.uv_bytes()?,
            };
            decoded.bytes += more as u64;
        }
        Ok(entry(peer, decoded, Outcome::Missing))
    };
    DRACO.into_iter().map(with_static).collect()
}

/// Methods of the script for Draco, and the names of their rows.
const DRACO: [(&str, &str); 2] =
    [("sequential", "Draco, sequential (wasm)"), ("edgebreaker", "Draco, edgebreaker (wasm)")];

/// Returns the vertices in the order that meshoptimizer's codec makes smallest, by the first frame.
fn in_best_order(vertices: Vertices, tolerance: f64) -> anyhow::Result<Vertices> {
    let mut best: Option<(usize, Vertices)> = None;
    for order in VertexOrder::ALL {
        let other = vertices.reordered(order);
        let size = match Quantized::new(&other, tolerance) {
            Some(quantized) => quantized.first_frame_bytes()?,
            None => usize::MAX,
        };
        if best.as_ref().is_none_or(|(least, _)| size < *least) {
            best = Some((size, other));
        }
    }
    Ok(best.context("no order of vertices")?.1)
}

/// A codec whose passes are timed: decoding, and what is subtracted from it.
struct Timed<'a> {
    peer: &'static str,
    bytes: u64,
    errors: values::Errors,
    pass: Box<dyn FnMut() -> anyhow::Result<()> + 'a>,
    overhead: Box<dyn Fn() + 'a>,
    seconds: [f64; 2],
}

/// Compiles, codes, and times all codecs in turn.
fn packages(
    arguments: &Arguments,
    case: &Case,
    quantized: &Quantized<'_>,
    channels: Channels,
    allowed: f64,
) -> anyhow::Result<Vec<Entry>> {
    let presets = [(Preset::Small, "meshreel `small`"), (Preset::Fast, "meshreel `fast`")];
    let compiled = (presets.into_iter())
        .map(|(preset, name)| Ok((name, case.compile(preset, channels, allowed)?)))
        .collect::<anyhow::Result<Vec<(&'static str, Compiled)>>>()?;
    let coded = (METHODS.iter())
        .map(|method| Ok((method.name, codecs::encode(*method, quantized)?)))
        .collect::<anyhow::Result<Vec<(&'static str, Option<Coded>)>>>()?;
    let mut timed = Vec::new();
    for (peer, file) in &compiled {
        let mut decoder = FrameDecoder::new(&file.reel)?;
        let frames = file.reel.frame_count();
        let most = quantized.vertices.frames.iter().map(|frame| frame.positions.len()).max().unwrap_or(0);
        let largest = file.reel.description().meshes.iter().map(|mesh| mesh.vertices as usize).max();
        let mut out = Buffers::new(most.max(largest.unwrap_or(0)));
        timed.push(Timed {
            peer,
            bytes: file.bytes,
            errors: file.errors,
            pass: Box::new(move || {
                Ok(assets::pass(&mut decoder, frames, &mut out, channels == Channels::All)?)
            }),
            overhead: Box::new(|| ()),
            seconds: [f64::INFINITY; 2],
        });
    }
    for (peer, coded) in &coded {
        let Some(coded) = coded else { continue };
        let mut decoder = coded.decoder()?;
        timed.push(Timed {
            peer,
            bytes: (coded.bytes() + quantized.static_bytes()?) as u64,
            errors: coded.errors(quantized.vertices)?,
            pass: Box::new(move || decoder.pass(&mut |_, out| _ = black_box(out))),
            overhead: Box::new(move || coded.allocate()),
            seconds: [f64::INFINITY; 2],
        });
    }
    for _ in 0..arguments.repeat.max(1) {
        for own in &mut timed {
            let start = Instant::now();
            (own.pass)()?;
            let passed = Instant::now();
            (own.overhead)();
            let times = [passed - start, passed.elapsed()];
            for (seconds, time) in own.seconds.iter_mut().zip(times) {
                *seconds = seconds.min(time.as_secs_f64());
            }
        }
    }
    let outcome = |peer: &'static str| {
        let own = timed.iter().find(|own| own.peer == peer);
        let measured = own.map(|own| Measured {
            bytes: own.bytes,
            errors: own.errors,
            seconds: Some(own.seconds[0] - own.seconds[1]),
        });
        (peer, measured.map_or(Outcome::Impossible, Outcome::Measured))
    };
    let peers = presets.iter().map(|preset| preset.1).chain(METHODS.iter().map(|method| method.name));
    Ok(peers.map(outcome).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of one bundled input is complete, and what each codec decodes is within the tolerance.
    #[test]
    fn codecs_are_measured_at_the_same_largest_error() {
        let inputs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/inputs");
        let arguments = Arguments {
            files: Vec::new(),
            tolerance: vec!["1e-3".into(), "1e-4".into()],
            frames: Some(5),
            repeat: 1,
            work: None,
            prepare: false,
            csv: None,
            page: None,
        };
        let (rows, summary) = measure_case(&arguments, &inputs.join("a_flag_wind.abc")).unwrap();
        let summary = summary.unwrap();
        assert!(summary.frames == 5 && summary.has_fixed_faces);
        assert_eq!(rows.len(), 2 * 2 * (2 + METHODS.len() + DRACO.len() + 3));
        for row in &rows {
            match row.outcome {
                Outcome::Measured(m) => {
                    assert!(m.bytes > 0 && is_within(row), "{row:?}");
                    // A codec that is told to be coarser is not lossless.
                    let is_source = row.peer == SOURCE || row.peer == TEXTURES;
                    assert!(is_source || m.errors.position > 0.01 * row.allowed, "{row:?}");
                    let has_normals = !is_source && row.channels == Channels::All;
                    assert!(!has_normals || m.errors.normal.unwrap() < 1.001, "{row:?}");
                }
                Outcome::Missing => assert!(row.peer.starts_with("Draco") || row.peer.starts_with("Alembic")),
                Outcome::Impossible => panic!("{row:?}"),
            }
        }
        let text = page::tables(&rows, &[summary]).unwrap();
        let peers = METHODS.iter().map(|method| method.name).chain(["meshreel `small`", "Draco, sequential"]);
        assert!(peers.into_iter().all(|peer| text.matches(peer).count() >= 8), "{text}");
        assert_eq!(page::csv(&rows).lines().count(), rows.len() + 1);
    }
}
