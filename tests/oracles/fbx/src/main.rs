//! Where the FBX library has the points of a file, in the world, y up, in the file's unit: geometric
//! transforms, blend shapes, skins and caches of the library's own evaluation of the whole scene.
//!
//! Each line of the output is a JSON object. The first says what the file is, the others where the points of
//! a mesh on a node are in a frame:
//!
//! ```text
//! {"unit":0.01,"rate":24,"start":0,"end":0.5,"saved_by":"Maya","animations":["Take 001"]}
//! {"frame":0,"time":0,"node":"/Group/Cube","visible":true,"points":[0,1,2,…]}
//! ```
//!
//! Frames are at the file's rate from where the animation starts, or at the seconds that `--times` lists.
//! Maya lets the node of a skinned mesh carry it on from where it was bound, which the library leaves to
//! whoever asks: in files that Maya saved, the bind pose says from where.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::process::ExitCode;

const USAGE: &str =
    "usage: meshreel-fbx-oracle FILE.fbx [--animation NAME] [--every N] [--most N] [--times S,S,…]";

/// What is asked for.
struct Asked {
    file: String,
    animation: Option<String>,
    /// Every so many frames, and no more than so many.
    every: usize,
    most: usize,
    times: Option<Vec<f64>>,
}

fn main() -> ExitCode {
    let printed = asked().ok_or_else(|| USAGE.into()).and_then(|asked| print(&asked));
    match printed {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn asked() -> Option<Asked> {
    let mut out = Asked { file: String::new(), animation: None, every: 1, most: usize::MAX, times: None };
    let mut given = std::env::args().skip(1);
    while let Some(word) = given.next() {
        match &word[..] {
            "--animation" => out.animation = Some(given.next()?),
            "--every" => out.every = given.next()?.parse().ok().filter(|every| *every > 0)?,
            "--most" => out.most = given.next()?.parse().ok()?,
            "--times" => {
                let times: Result<_, _> = given.next()?.split(',').map(str::parse).collect();
                out.times = Some(times.ok()?);
            }
            _ if word.starts_with('-') || !out.file.is_empty() => return None,
            _ => out.file = word,
        }
    }
    (!out.file.is_empty()).then_some(out)
}

fn print(asked: &Asked) -> Result<(), String> {
    let said = |error: ufbx::Error| format!("{}: {}", asked.file, &*error.description);
    let options = ufbx::LoadOpts {
        target_axes: ufbx::axes_right_handed_y_up(),
        load_external_files: true,
        ignore_missing_external_files: true,
        ..Default::default()
    };
    let scene = ufbx::load_file(&asked.file, options).map_err(said)?;
    let anim = match &asked.animation {
        None => &*scene.anim,
        Some(name) => {
            let named = scene.anim_stacks.into_iter().find(|stack| *stack.element.name == **name);
            &*named.ok_or_else(|| format!("{}: no animation is called {name}", asked.file))?.anim
        }
    };
    let rate = scene.settings.frames_per_second;
    let (start, end) = played(anim);
    let mut out = BufWriter::new(std::io::stdout().lock());
    let names: Vec<String> = scene.anim_stacks.into_iter().map(|s| quoted(&s.element.name)).collect();
    let lost = |error: std::io::Error| error.to_string();
    let unit = scene.settings.unit_meters;
    let saved_by = quoted(&scene.metadata.latest_application.name);
    let names = names.join(",");
    writeln!(
        out,
        r#"{{"unit":{unit},"rate":{rate},"start":{start},"end":{end},"saved_by":{saved_by},"animations":[{names}]}}"#
    )
    .map_err(lost)?;
    let frames = ((end - start) * rate).round() as usize;
    let all = (0..=frames).step_by(asked.every).take(asked.most);
    let times: Vec<(usize, f64)> = match &asked.times {
        Some(times) => times.iter().copied().enumerate().collect(),
        None => all.map(|frame| (frame, start + frame as f64 / rate)).collect(),
    };
    for (frame, time) in times {
        let options = ufbx::EvaluateOpts {
            evaluate_skinning: true,
            evaluate_caches: true,
            load_external_files: true,
            ..Default::default()
        };
        let moment = ufbx::evaluate_scene(&scene, anim, time, options).map_err(said)?;
        for node in &moment.nodes {
            if let Some(mesh) = &node.mesh {
                writeln!(out, "{}", line(frame, time, node, mesh, &moment)).map_err(lost)?;
            }
        }
    }
    out.flush().map_err(lost)
}

/// When an animation is played: as it says, or from its first key to its last.
fn played(anim: &ufbx::Anim) -> (f64, f64) {
    if anim.time_end > anim.time_begin {
        return (anim.time_begin, anim.time_end);
    }
    let values = anim.layers.into_iter().flat_map(|layer| &layer.anim_values);
    let curves = values.flat_map(|value| value.curves.iter().flatten());
    let keys = curves.flat_map(|curve| curve.keyframes.iter().map(|key| key.time));
    let both = keys.fold((f64::MAX, f64::MIN), |(low, high), time| (low.min(time), high.max(time)));
    if both.0 <= both.1 { both } else { (anim.time_begin, anim.time_begin) }
}

/// What is printed of a mesh on a node.
fn line(frame: usize, time: f64, node: &ufbx::Node, mesh: &ufbx::Mesh, scene: &ufbx::Scene) -> String {
    let place = match mesh.skinned_is_local {
        true => Some(node.geometry_to_world),
        false => carried(node, mesh, scene),
    };
    let mut points = String::new();
    for point in mesh.skinned_position.values.iter() {
        let at = place.as_ref().map_or(*point, |place| ufbx::transform_position(place, *point));
        for number in [at.x, at.y, at.z] {
            let comma = if points.is_empty() { "" } else { "," };
            let _ = match number.is_finite() {
                true => write!(points, "{comma}{number}"),
                false => write!(points, "{comma}null"),
            };
        }
    }
    let (path, visible) = (quoted(&path(node)), is_visible(node));
    format!(r#"{{"frame":{frame},"time":{time},"node":{path},"visible":{visible},"points":[{points}]}}"#)
}

/// What carries points on from where bones put them, where Maya saved the file.
fn carried(node: &ufbx::Node, mesh: &ufbx::Mesh, scene: &ufbx::Scene) -> Option<ufbx::Matrix> {
    if !scene.metadata.latest_application.name.contains("Maya") {
        return None;
    }
    let own = |node: &ufbx::Node| {
        let pose = node.bind_pose.as_ref()?;
        Some(ufbx::get_bone_pose(pose, node)?.bone_to_world)
    };
    // One pose does for all nodes of a mesh.
    let bound = own(node).or_else(|| mesh.element.instances.into_iter().find_map(own))?;
    Some(ufbx::matrix_mul(&node.node_to_world, &ufbx::matrix_invert(&bound)))
}

/// Whether a node is shown, and all above it down to one that does not inherit what is above that.
fn is_visible(node: &ufbx::Node) -> bool {
    let inherits = ufbx::find_prop(&node.element.props, "Visibility Inheritance");
    let alone = inherits.is_some_and(|inherits| inherits.value_int == 0);
    node.visible && (alone || node.parent.as_ref().is_none_or(|parent| is_visible(parent)))
}

fn path(node: &ufbx::Node) -> String {
    match &node.parent {
        Some(parent) => format!("{}/{}", path(parent), &*node.element.name),
        None => String::new(),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if u32::from(c) < 32 => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
