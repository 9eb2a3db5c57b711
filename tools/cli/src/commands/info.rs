//! `meshreel info`: prints the content of a file. Sources are described by [`super::scene_info`], our own
//! files here.

use super::ranges::range_lines;
use super::{attributes, clip, joints, lod, rigs, scene_info};
use crate::cli::InfoArgs;
use crate::output::{Failure, Output, advice_text, one_line, table};
use crate::units;
use meshreel::Reel;
use meshreel_check::machine_limits;
use meshreel_commands::info::{CameraInfo, FrameInfo, InfoOptions, MeshInfo, ReelInfo, SceneInfo};
use meshreel_commands::reels;
use meshreel_inputs::{self as inputs, InputOptions};
use std::fmt::Write;
use std::process::ExitCode;

/// Runs the verb.
pub fn run(arguments: &InfoArgs, output: Output) -> Result<ExitCode, Failure> {
    let wanted = InfoOptions { streams: arguments.streams, frames: arguments.frames };
    if reels::is_reel(&arguments.file) {
        let reel = Reel::open(&arguments.file, &machine_limits())?;
        let info = ReelInfo::new(&reel, wanted)?;
        output.result(&info, false, || text(&info, arguments))?;
        return Ok(ExitCode::SUCCESS);
    }
    let paths = [arguments.file.clone()];
    let options = InputOptions {
        points: arguments.points.clone(),
        source_fps: arguments.source_fps,
        animation: arguments.animation.clone(),
        ..InputOptions::default()
    };
    let (scene, remarks) = inputs::open(&paths, &options)?;
    let bytes = inputs::source_bytes(&scene);
    let info = SceneInfo::new(&scene, &remarks, &arguments.file, bytes, wanted)
        .map_err(|failure| failure.or_at(&arguments.file))?;
    output.remarks(&remarks);
    output.result(&info, false, || scene_info::text(&info, arguments))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a table with one row per camera.
fn camera_table(cameras: &[CameraInfo]) -> String {
    let row = |camera: &CameraInfo| {
        let pair = |[a, b]: [f32; 2]| format!("{} × {}", units::short(a.into()), units::short(b.into()));
        vec![
            one_line(&camera.path),
            format!(
                "{} mm{}",
                units::short(camera.focal_length.into()),
                if camera.animated { ", changes" } else { "" }
            ),
            format!("{} mm", pair(camera.aperture)),
            pair(camera.clipping).replace('×', "to"),
            units::short(camera.f_stop.into()),
            units::short(camera.focus_distance.into()),
        ]
    };
    let head = ["camera", "<lens", "aperture", "clipping", "f-stop", "focus"];
    match cameras.is_empty() {
        true => String::new(),
        false => table(&head, &cameras.iter().map(row).collect::<Vec<_>>()),
    }
}

fn text(info: &ReelInfo, wanted: &InfoArgs) -> String {
    let mut out = fields(info);
    out.push('\n');
    if !info.clips.is_empty() {
        out.push_str(&clip::info_table(&info.clips));
    }
    out.push_str(&rigs::info_table(&info.rigs));
    out.push_str(&camera_table(&info.cameras));
    if !info.meshes.is_empty() || info.clips.is_empty() {
        out.push_str(&mesh_table(info, if wanted.streams || wanted.tree { usize::MAX } else { 24 }));
        let culled =
            info.meshes.iter().filter_map(|m| Some((&m.path[..], m.triangles as usize, m.hidden_triangles?)));
        out.push_str(&lod::hidden_table(culled.take(24)));
        let detailed = info.meshes.iter().filter(|mesh| !mesh.levels.is_empty());
        let detailed = detailed.map(|mesh| (&mesh.path[..], mesh.levels.clone()));
        out.push_str(&lod::table(detailed.take(24)));
        let most = if wanted.streams { usize::MAX } else { 24 };
        out.push_str(&attributes::attribute_table(&info.attributes, most));
    }
    if wanted.tree {
        out.push('\n');
        out.push_str(&tree(info));
        out.push_str(&joints::text(&info.skeletons));
    }
    if wanted.streams {
        out.push('\n');
        out.push_str(&stream_table(info));
    }
    if !info.advice.is_empty() {
        out.push('\n');
        out.push_str(&advice_text(&info.advice));
    }
    if let Some(frames) = &info.frame_table {
        out.push('\n');
        out.push_str(&frame_lines(frames));
    }
    out
}

/// Returns facts about the file as a whole, one per line.
fn fields(info: &ReelInfo) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", one_line(&info.file));
    let mut field = |name: &str, value: String| {
        let _ = writeln!(out, "  {name:<12}{value}");
    };
    field("kind", format!("reel, format version {}, by {}", info.version, one_line(&info.generator)));
    field(
        "size",
        format!(
            "{} + {} source map; uncompressed {}, ratio {}:1",
            units::bytes(info.file_bytes - info.source_map_bytes),
            units::bytes(info.source_map_bytes),
            units::bytes(info.raw_bytes),
            units::short(info.ratio)
        ),
    );
    field(
        "of that",
        format!(
            "frames {}, clips {}, values {}, connectivity {}, description {}, tables {}",
            units::bytes(info.bytes.frames),
            units::bytes(info.bytes.clips),
            units::bytes(info.bytes.values),
            units::bytes(info.bytes.connectivity),
            units::bytes(info.bytes.description),
            units::bytes(info.bytes.tables)
        ),
    );
    if info.bytes.attributes > 0 {
        let apart = units::bytes(info.bytes.attributes);
        field("apart", format!("{apart} of animated attributes, beside the frames"));
    }
    if info.bytes.levels > 0 {
        field("levels", units::bytes(info.bytes.levels));
    }
    if info.bytes.numbers > 0 {
        field("numbers", format!("{} of parts", units::bytes(info.bytes.numbers)));
    }
    if info.bytes.rigs > 0 {
        field("rigs", units::bytes(info.bytes.rigs));
    }
    field("unit", info.unit.unwrap_or("not stated").to_string());
    if let Some(fps) = info.fps {
        field("rate", format!("{} frames per second", units::short(fps)));
    }
    field("time", duration_text(info));
    for range in range_lines(&info.ranges) {
        field("range", range);
    }
    field("decoder", format!("{} of memory", units::bytes(info.decoder_memory_bytes)));
    if info.frames > 0 {
        let heap = units::bytes(info.player_heap_bytes);
        field("player", format!("a heap of {heap} at least, besides static data"));
    }
    if info.no_verify {
        field("verified", "no: compiled with --no-verify".to_string());
    }
    let options: Vec<String> =
        info.options.iter().map(|(key, value)| format!("{key} {}", option_text(value))).collect();
    field("options", one_line(&options.join(", ")));
    out
}

/// Returns the duration with start and end.
fn duration_text(info: &ReelInfo) -> String {
    let clips = (info.clips.iter()).filter(|_| info.frames == 0);
    let longest = clips.max_by(|a, b| a.duration.total_cmp(&b.duration));
    match longest {
        Some(clip) if info.clips.len() == 1 => format!(
            "{} samples, {} s to {} s ({} s)",
            clip.samples,
            units::short(clip.start),
            units::short(clip.start + clip.duration),
            units::short(clip.duration)
        ),
        Some(clip) => {
            format!("{} clips, the longest of {} s", info.clips.len(), units::short(clip.duration))
        }
        None => format!(
            "{} frames, {} s to {} s ({} s{})",
            info.frames,
            units::short(info.start),
            units::short(info.start + info.duration),
            units::short(info.duration),
            match info.period {
                Some(period) => format!(", a cycle of {} s", units::short(period)),
                None => String::new(),
            }
        ),
    }
}

fn mesh_table(info: &ReelInfo, most: usize) -> String {
    let mut rows: Vec<Vec<String>> = info
        .meshes
        .iter()
        .take(most)
        .map(|mesh| {
            let position = mesh.streams.first();
            vec![
                one_line(&mesh.path),
                method_text(mesh),
                units::count(u64::from(mesh.vertices)),
                units::count(u64::from(mesh.triangles)),
                units::count(u64::from(mesh.points)),
                position.map_or(String::new(), |s| s.bits.to_string()),
                mesh.tolerance.map_or(String::new(), units::short),
                mesh.bytes.map_or("–".into(), units::bytes),
            ]
        })
        .collect();
    if info.meshes.len() > most {
        rows.push(vec![format!("… and {} more; --tree shows all", info.meshes.len() - most)]);
    }
    table(&["mesh", "<method", "vertices", "triangles", "source points", "bits", "tolerance", "bytes"], &rows)
}

fn stream_table(info: &ReelInfo) -> String {
    let bytes = |size: Option<u64>| size.map_or("-".to_string(), units::bytes);
    let mut rows = Vec::new();
    for mesh in &info.meshes {
        rows.push(vec![one_line(&mesh.path)]);
        for stream in &mesh.streams {
            rows.push(vec![
                format!("    {}", one_line(&stream.name)),
                stream.what.to_string(),
                if stream.animated { "every frame" } else { "once" }.to_string(),
                stream.bits.to_string(),
                stream.word_bytes.to_string(),
                units::short(stream.tolerance),
                bytes(stream.static_bytes),
                bytes(stream.frame_bytes),
            ]);
        }
        for (what, size) in [("triangles", mesh.connectivity_bytes), ("source map", mesh.source_map_bytes)] {
            if size > 0 {
                let mut row = vec![format!("    {what}"), String::new(), "once".to_string()];
                row.extend([const { String::new() }; 3]);
                row.extend([units::bytes(size), bytes(None)]);
                rows.push(row);
            }
        }
    }
    table(&["mesh and stream", "<what", "<kept", "bits", "word", "tolerance", "static", "in frames"], &rows)
}

fn tree(info: &ReelInfo) -> String {
    let mut depths: Vec<usize> = Vec::with_capacity(info.nodes.len());
    let mut out = String::new();
    for node in &info.nodes {
        let depth = match node.parent {
            Some(parent) => depths.get(parent as usize).map_or(0, |depth| depth + 1),
            None => 0,
        };
        depths.push(depth);
        let mut parts = vec![node.kind.to_string()];
        if let Some(mesh) = node.mesh.and_then(|mesh| info.meshes.get(mesh as usize)) {
            parts.push(format!("mesh {}", one_line(&mesh.path)));
        }
        if node.samples > 1 {
            parts.push("transform every frame".into());
        }
        if node.visibility != "always" {
            parts.push(format!("visible {}", node.visibility));
        }
        if node.baked {
            parts.push("baked to world space".into());
        }
        if let Some(tolerance) = node.tolerance {
            parts.push(format!("tolerance {}", units::short(tolerance)));
        }
        let _ = writeln!(out, "{}{}  {}", "  ".repeat(depth), one_line(&node.path), parts.join(", "));
    }
    out
}

/// Returns the method, with grid, re-meshing and moving frames.
fn method_text(mesh: &MeshInfo) -> String {
    let heights = if mesh.heights { " of heights" } else { "" };
    let grid = mesh.grid.map(|[w, h]| format!(", grid {w} × {h}{heights}"));
    let moves = mesh.moves.map(|[a, b]| format!(", moves in frames {a} to {b}"));
    let remeshed = mesh.remeshed.then(|| ", re-meshed".into());
    let rest = [grid, remeshed, moves].map(Option::unwrap_or_default).concat();
    format!("{}{rest}", mesh.method)
}

/// Returns an option's value in the user's form: fractions of a size as percentages.
fn option_text(value: &str) -> String {
    let part =
        (value.split_once('*')).filter(|(_, of)| ["diagonal", "range"].iter().any(|o| of.starts_with(o)));
    let percent = part.and_then(|(part, of)| Some((part.parse::<f64>().ok()? * 100.0, of)));
    match percent {
        // 0.0001 × 100 is not exactly 0.01.
        Some((percent, of)) => {
            let rest = of.split_once(' ').map_or(String::new(), |(_, rest)| format!(" {rest}"));
            format!("{} %{rest}", (percent * 1e12).round() / 1e12)
        }
        None => value.to_string(),
    }
}

/// Returns the frames, one per line.
fn frame_lines(frames: &[FrameInfo]) -> String {
    let rows: Vec<Vec<String>> = frames
        .iter()
        .enumerate()
        .map(|(i, frame)| {
            let (bytes, raw) = match frame.with {
                Some(first) => (format!("with {first}"), String::new()),
                None => (units::count(u64::from(frame.bytes)), units::count(u64::from(frame.raw_bytes))),
            };
            let time = format!("{:.6}", frame.time);
            vec![i.to_string(), time, frame.kind.to_string(), bytes, raw]
        })
        .collect();
    table(&["frame", "seconds", "<kind", "bytes", "unpacked"], &rows)
}
