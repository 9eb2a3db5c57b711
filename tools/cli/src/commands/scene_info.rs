//! Prints the content of a source file as text.

use super::ranges::range_lines;
use super::{clip, joints};
use crate::cli::InfoArgs;
use crate::output::table;
use crate::units;
use meshreel_commands::info::{Counts, SceneInfo, SceneNode};
use std::fmt::Write;

/// Largest number of rows of a table or tree in the overview.
const OVERVIEW_ROWS: usize = 24;

/// Returns the text of a source file.
pub fn text(info: &SceneInfo, wanted: &InfoArgs) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", crate::output::one_line(&info.file));
    let mut field = |name: &str, value: String| {
        let _ = writeln!(out, "  {name:<18} {value}");
    };
    field("kind", format!("{}, {}", info.kind, units::bytes(info.file_bytes)));
    for (key, value) in info.metadata.iter().filter(|(_, value)| !value.is_empty()) {
        field(&readable_key(key), crate::output::one_line(value));
    }
    field("unit", info.unit.unwrap_or("not stated").to_string());
    if let Some(fps) = info.fps {
        field("rate", format!("{} frames per second", units::short(fps)));
    }
    let time = match info.frames {
        1 => format!("1 frame at {} s: nothing moves", units::short(info.start)),
        n => format!(
            "{n} frames, {} s to {} s ({} s)",
            units::short(info.start),
            units::short(info.start + info.duration),
            units::short(info.duration)
        ),
    };
    let clips_alone = info.meshes.is_empty() && !info.clips.is_empty();
    if !clips_alone {
        field("time", time);
        for range in range_lines(&info.ranges) {
            field("range", range);
        }
        field("content", counts_text(&info.counts));
    }
    out.push('\n');
    if !info.clips.is_empty() {
        out.push_str(&clip::source_table(&info.clips));
    }
    if clips_alone {
        if wanted.tree {
            out.push_str(&joints::text(&info.skeletons));
        }
        return out;
    }
    if wanted.tree {
        out.push_str(&tree(info, usize::MAX));
        out.push_str(&joints::text(&info.skeletons));
    } else if wanted.streams || wanted.frames {
        // The overview would only push the requested part off the screen.
    } else if info.nodes.len() <= OVERVIEW_ROWS {
        out.push_str(&tree(info, OVERVIEW_ROWS));
    } else {
        out.push_str(&mesh_table(info, OVERVIEW_ROWS));
    }
    if wanted.streams {
        out.push_str(&stream_table(info));
    }
    if let Some(times) = &info.times {
        let rows: Vec<Vec<String>> =
            times.iter().enumerate().map(|(i, time)| vec![i.to_string(), format!("{time:.6}")]).collect();
        out.push_str(&table(&["frame", "seconds"], &rows));
    }
    out
}

fn mesh_table(info: &SceneInfo, most: usize) -> String {
    if info.meshes.is_empty() {
        return "no meshes\n".into();
    }
    let mut rows: Vec<Vec<String>> = info
        .meshes
        .iter()
        .take(most)
        .map(|mesh| {
            vec![
                crate::output::one_line(&mesh.path),
                units::count(mesh.points as u64),
                units::count(mesh.faces as u64),
                mesh.samples.to_string(),
                mesh.topology.to_string(),
            ]
        })
        .collect();
    if info.meshes.len() > most {
        rows.push(vec![format!("… and {} more; --tree shows all", info.meshes.len() - most)]);
    }
    table(&["mesh", "points", "faces", "samples", "<topology"], &rows)
}

fn stream_table(info: &SceneInfo) -> String {
    let mut rows = Vec::new();
    for mesh in &info.meshes {
        rows.push(vec![crate::output::one_line(&mesh.path)]);
        for stream in mesh.streams.iter().flatten() {
            let indexed = if stream.indexed { ", indexed" } else { "" };
            rows.push(vec![
                format!("    {}", crate::output::one_line(&stream.name)),
                format!("{}{indexed}", stream.what),
                stream.samples.to_string(),
            ]);
        }
    }
    table(&["mesh and stream", "<what", "samples"], &rows)
}

/// Returns the tree with lines, kinds and sizes.
fn tree(info: &SceneInfo, most: usize) -> String {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); info.nodes.len()];
    let mut roots = Vec::new();
    for (i, node) in info.nodes.iter().enumerate() {
        match node.parent {
            Some(parent) => children[parent].push(i),
            None => roots.push(i),
        }
    }
    let mut out = String::new();
    let mut stack: Vec<(usize, String, &str, &str)> = Vec::new();
    for (k, &root) in roots.iter().enumerate().rev() {
        let last = k + 1 == roots.len();
        stack.push((root, String::new(), if last { "└─ " } else { "├─ " }, if last { "   " } else { "│  " }));
    }
    let mut shown = 0;
    while let Some((i, prefix, branch, below)) = stack.pop() {
        if shown == most {
            let _ = writeln!(out, "… and {} more; --tree shows all", info.nodes.len() - shown);
            break;
        }
        shown += 1;
        let node = &info.nodes[i];
        let name = node.path.rsplit('/').next().unwrap_or(&node.path);
        let _ = writeln!(out, "{prefix}{branch}{}  {}", crate::output::one_line(name), describe(info, node));
        let prefix = format!("{prefix}{below}");
        for (key, value) in &node.user_properties {
            let bar = if children[i].is_empty() { ' ' } else { '│' };
            let _ = writeln!(
                out,
                "{prefix}{bar}  · {}: {}",
                crate::output::one_line(key),
                crate::output::one_line(value)
            );
        }
        for (k, &child) in children[i].iter().enumerate().rev() {
            let last = k + 1 == children[i].len();
            stack.push((
                child,
                prefix.clone(),
                if last { "└─ " } else { "├─ " },
                if last { "   " } else { "│  " },
            ));
        }
    }
    out
}

/// Returns kind, size and animation of a node.
fn describe(info: &SceneInfo, node: &SceneNode) -> String {
    let mut parts = vec![node.kind.to_string()];
    if let Some(target) = &node.instance_of {
        parts.push(format!("instance of {}", crate::output::one_line(target)));
    }
    if let Some(mesh) = node.mesh.and_then(|mesh| info.meshes.get(mesh)) {
        parts.push(format!("{} points", units::count(mesh.points as u64)));
        let points_alone = matches!(node.kind, "points" | "curves");
        if !points_alone {
            parts.push(format!("{} faces", units::count(mesh.faces as u64)));
        }
        match mesh.topology {
            _ if points_alone => {}
            "constant" => {}
            "heterogeneous" => parts.push("changing topology".into()),
            _ => parts.push("moving points".into()),
        }
        if !mesh.face_sets.is_empty() {
            parts.push(format!("face sets {}", crate::output::one_line(&mesh.face_sets.join(" "))));
        }
    }
    if node.samples > 1 {
        parts.push(format!("{} samples", node.samples));
    }
    if node.animated_visibility {
        parts.push("blinks".into());
    }
    parts.join(", ")
}

/// Returns the number of objects of each kind.
fn counts_text(counts: &Counts) -> String {
    let named = [
        (counts.xforms, "transform", "transforms"),
        (counts.meshes, "mesh", "meshes"),
        (counts.subds, "subdivision surface", "subdivision surfaces"),
        (counts.curves, "curves object", "curves objects"),
        (counts.points, "points object", "points objects"),
        (counts.nurbs, "NURBS patch", "NURBS patches"),
        (counts.cameras, "camera", "cameras"),
        (counts.lights, "light", "lights"),
        (counts.facesets, "face set", "face sets"),
        (counts.instances, "instance", "instances"),
    ];
    let parts: Vec<String> = named
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, many)| {
            format!("{} {}", units::count(*count as u64), if *count == 1 { one } else { many })
        })
        .collect();
    match parts.is_empty() {
        true => "nothing".into(),
        false => parts.join(", "),
    }
}

/// Strips the meaningless prefix `_ai_` of Alembic's keys.
fn readable_key(key: &str) -> String {
    let key = key.strip_prefix("_ai_").unwrap_or(key);
    key.chars().take(24).collect::<String>().to_lowercase()
}
