//! `meshreel plot`: draws the motion of a joint or a point over time, source against decoded, and the error
//! below.

use crate::cli::PlotArgs;
use crate::output::{Failure, Output, RemarkJson, display_path, one_line, remarks_json};
use crate::picture::chart::{COLOURS, CurveStyle, Panel, Series, draw};
use crate::picture::frames;
use crate::units;
use glam::{DQuat, DVec3};
use meshreel::clip::{Clip, Query};
use meshreel::raw::record::{MeshRecord, Method, NodeRecord};
use meshreel::{FrameDecoder, Reel, Transform};
use meshreel_check::machine_limits;
use meshreel_commands::reels;
use meshreel_extract::convert::{joint_matrix, qvv};
use meshreel_inputs::{self as inputs, InputOptions};
use meshreel_scene::sample::{World, ids_at};
use meshreel_scene::{PlacedObject, Qvv, Remark, Scene, hidden};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;

/// Largest number of samples of a curve: a few per pixel.
const MAX_SAMPLES: usize = 20_000;

/// Runs the verb.
pub fn run(arguments: &PlotArgs, output: Output) -> Result<ExitCode, Failure> {
    reels::expect_reel(&arguments.file)?;
    let target = match &arguments.output {
        Some(path) => path.clone(),
        None => arguments.file.with_extension("png"),
    };
    if !target.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
        return Err(Failure::usage(format!("{}: the picture is a .png", target.display())));
    }
    let reel = Reel::open(&arguments.file, &machine_limits())?;
    if let Some(frame) = arguments.frame {
        return super::frame::draw(&reel, frame, arguments.size, &target, output);
    }
    if arguments.animate {
        return super::frame::animate(&reel, arguments.size, &target, output);
    }
    if arguments.parts {
        return super::parts::draw(&reel, &target, output);
    }
    if arguments.hidden {
        return super::hidden::draw(&reel, &target, output);
    }
    if arguments.levels {
        return super::lod::draw(&reel, &target, output);
    }
    let (scene, remarks) = match arguments.source.is_empty() {
        true => (None, Vec::new()),
        false => {
            let stored = reels::options(&reel)?;
            let options = InputOptions {
                points: arguments.points.clone(),
                source_fps: arguments.source_fps,
                ..InputOptions::default()
            };
            let (scene, remarks) = inputs::open(&arguments.source, &options.with_compiled_options(&stored))?;
            let scene = if stored.show_hidden { hidden::show_all(&scene)? } else { scene };
            (Some(scene), remarks)
        }
    };
    output.remarks(&remarks);
    if arguments.faces {
        let scene = scene
            .as_ref()
            .ok_or_else(|| Failure::usage("--faces compares with the source: name it with --source IN"))?;
        return super::faces::draw(&reel, scene, &target, output);
    }
    let plot = match (&arguments.joint, arguments.vertex) {
        (Some(joint), _) => plot_joint(&reel, scene.as_ref(), joint, arguments.clip.as_deref())?,
        (None, Some(vertex)) => plot_vertex(&reel, scene.as_ref(), vertex, arguments.mesh.as_deref())?,
        (None, None) => match farthest_vertex(&reel, arguments.mesh.as_deref())? {
            Some((mesh, vertex)) => plot_vertex(&reel, scene.as_ref(), vertex, Some(&mesh))?,
            None => {
                let (clip, joint) = farthest_joint(&reel, arguments.clip.as_deref())?;
                plot_joint(&reel, scene.as_ref(), &joint, Some(&clip))?
            }
        },
    };
    let image = draw(&plot.title, &plot.subtitle, plot.times, &plot.panels);
    image.write_png(&target)?;
    let value = plot.json(&target, &remarks);
    output.result(&value, true, || {
        let error = plot.error.map_or("no source to compare with (--source IN)".into(), |(error, limit)| {
            format!("largest error {}, tolerance {}", units::short(error), units::short(limit))
        });
        format!("{}: {}; {error}", display_path(&target), one_line(&plot.subtitle))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The curves that are drawn, with their titles.
struct Plot {
    title: String,
    subtitle: String,
    times: [f64; 2],
    panels: Vec<Panel>,
    /// Largest error and tolerance, if there is a source.
    error: Option<(f64, f64)>,
    samples: usize,
}

impl Plot {
    fn json<'a>(&'a self, target: &Path, remarks: &[Remark]) -> PlotJson<'a> {
        PlotJson {
            output: target.display().to_string(),
            title: &self.title,
            samples: self.samples,
            start: self.times[0],
            end: self.times[1],
            max_error: self.error.map(|e| e.0),
            tolerance: self.error.map(|e| e.1),
            remarks: remarks_json(remarks),
        }
    }
}

/// The result of a plot, as `--json` prints it.
#[derive(Serialize)]
struct PlotJson<'a> {
    output: String,
    title: &'a str,
    samples: usize,
    /// Start in seconds.
    start: f64,
    end: f64,
    /// Largest error, if there is a source.
    max_error: Option<f64>,
    tolerance: Option<f64>,
    remarks: Vec<RemarkJson>,
}

/// Returns the item with this name, or the only one.
fn find_named<'a, T>(
    all: &'a [T],
    wanted: Option<&str>,
    what: &str,
    name: impl Fn(&T) -> String,
) -> Result<(usize, &'a T), Failure> {
    let some = |names: Vec<String>| {
        let more = if names.len() > 12 { ", …" } else { "" };
        format!("{}{more}", names[..names.len().min(12)].join(", "))
    };
    let names = || some(all.iter().map(&name).collect());
    match (wanted, all) {
        (_, []) => Err(Failure::usage(format!("there is no {what} in the file"))),
        (None, [only]) => Ok((0, only)),
        (None, _) => Err(Failure::usage(format!("name a --{what}: {}", names()))),
        (Some(wanted), _) => (all.iter().enumerate())
            .find(|(_, one)| name(one) == wanted)
            .ok_or_else(|| Failure::usage(format!("no {what} is called {wanted}; there are {}", names()))),
    }
}

fn plot_joint(reel: &Reel, scene: Option<&Scene>, joint: &str, clip: Option<&str>) -> Result<Plot, Failure> {
    let clips = reel.clips()?;
    let (_, clip) = find_named(&clips, clip, "clip", |c| c.name().into())?;
    let names = &clip.skeleton().names;
    let (j, _) = find_named(names, Some(joint), "joint", |n| n.clone())?;
    let source = scene.map(|scene| source_clip(reel, scene, clip)).transpose()?;
    let record = clip.record();
    let own = clip.skeleton().tolerance.get(j).copied().unwrap_or(0.0);
    let limit = if own > 0.0 { own } else { record.tolerance };
    // Also between samples, as far as there are pixels.
    let parts = (MAX_SAMPLES / clip.samples()).clamp(1, 4);
    let every = clip.samples().div_ceil(MAX_SAMPLES);
    let count = (clip.samples() - 1) * parts / every + 1;
    let mut cursor = clip.cursor();
    let mut pose = vec![Transform::IDENTITY; clip.joints()];
    let parents = &clip.skeleton().parents;
    let shell = f64::from(clip.skeleton().shell[j]);
    let (mut decoded, mut wanted, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..count {
        let at = (i * every) as f64 / parts as f64;
        let time = clip.start() + at / clip.fps();
        cursor.pose(&Query::new(at / clip.fps()), &mut pose[..])?;
        decoded.push((time, qvv(&pose[j])));
        if let Some(source) = &source {
            wanted.push((time, source.interpolated(j, at)));
            let place = joint_matrix(parents, j, |k| qvv(&pose[k]));
            let truth = joint_matrix(parents, j, |k| source.interpolated(k, at));
            let error = DVec3::AXES.map(|axis| {
                let point = axis * shell;
                place.transform_point3(point).distance(truth.transform_point3(point))
            });
            errors.push([time, error.into_iter().fold(0.0, f64::max)]);
        }
    }
    let keys = clip.curves().map(|curves| key_times(curves, j, clip)).unwrap_or_default();
    let unit = unit(reel);
    let curve = |part: usize, names: &[&str], title: String| {
        component_panel(part, names, title, &wanted, &decoded, &keys)
    };
    let mut panels = vec![
        curve(0, &["x", "y", "z", "w"], "rotation, unit quaternion (local)".into()),
        curve(1, &["x", "y", "z"], format!("translation{unit} (local)")),
    ];
    let scaled =
        |list: &[(f64, Qvv)]| list.iter().any(|(_, q)| (q.scale - DVec3::ONE).abs().max_element() > 1e-6);
    if scaled(&decoded) || scaled(&wanted) {
        panels.push(curve(2, &["x", "y", "z"], "scale (local)".into()));
    }
    let worst = errors.iter().step_by(parts).map(|e| e[1]).fold(0.0, f64::max);
    if source.is_some() {
        panels.push(error_panel(
            format!("error{unit} (object space, {} from the joint)", units::short(shell)),
            errors,
            (!record.per_sub_track).then_some(limit),
        ));
    }
    Ok(Plot {
        title: format!("{}: {joint}", clip.name()),
        subtitle: format!(
            "{} samples, codec {}{}",
            clip.samples(),
            record.codec.name(),
            if source.is_some() { "; pale: source, dark: decoded" } else { "" }
        ),
        times: [clip.start(), clip.start() + clip.duration()],
        panels,
        error: source.is_some().then_some((worst, limit)),
        samples: clip.samples(),
    })
}

/// Returns the source's clip of the same name, or the only one, as it was compiled.
fn source_clip(reel: &Reel, scene: &Scene, clip: &Clip) -> Result<meshreel_scene::Clip, Failure> {
    let found = match &scene.clips[..] {
        [only] => Some(only),
        all => all.iter().find(|c| c.name == clip.name()),
    };
    let Some(source) = found else {
        return Err(Failure::usage(format!("the source has no clip {}", clip.name())));
    };
    let said = reels::options(reel)?;
    let source = source.portion(said.fps, said.range)?;
    if source.tracks.len() != clip.joints() || source.samples != clip.samples() {
        return Err(Failure::usage(format!(
            "the source's clip {} has other joints or samples than the file's",
            source.name
        )));
    }
    Ok(source.into_owned())
}

/// Returns the times of the keys of a joint's rotation, translation and scale.
fn key_times(curves: &meshreel_codec::clip::curve::CurveClip, joint: usize, clip: &Clip) -> [Vec<f64>; 3] {
    let mut out = [Vec::new(), Vec::new(), Vec::new()];
    for key in curves.keys().iter().filter(|key| usize::from(key.joint) == joint) {
        out[key.part as usize].push(clip.start() + f64::from(key.time) / clip.fps());
    }
    out.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    out
}

/// Returns components over time; quaternions with the sign nearer to the one before (the first: to `side`),
/// so that curves do not jump.
fn component_values(part: usize, list: &[(f64, Qvv)], side: Option<DQuat>) -> Vec<(f64, [f64; 4])> {
    let mut before = side.unwrap_or(DQuat::IDENTITY);
    let mut out = Vec::with_capacity(list.len());
    for (time, q) in list {
        let value = match part {
            0 => {
                before = match before.dot(q.rotation) < 0.0 {
                    true => -q.rotation,
                    false => q.rotation,
                };
                before.to_array()
            }
            1 => q.translation.extend(0.0).to_array(),
            _ => q.scale.extend(0.0).to_array(),
        };
        out.push((*time, value));
    }
    out
}

fn component_panel(
    part: usize,
    names: &[&str],
    title: String,
    wanted: &[(f64, Qvv)],
    decoded: &[(f64, Qvv)],
    keys: &[Vec<f64>; 3],
) -> Panel {
    let wanted = component_values(part, wanted, None);
    let side = wanted.first().map(|(_, v)| DQuat::from_array(*v));
    let decoded = component_values(part, decoded, side);
    let mut series = Vec::new();
    for (look, list) in [(CurveStyle::Broad, &wanted), (CurveStyle::Thin, &decoded)] {
        for (k, name) in names.iter().enumerate().filter(|_| !list.is_empty()) {
            series.push(Series {
                name: if look == CurveStyle::Thin { name.to_string() } else { String::new() },
                colour: COLOURS[k],
                style: look,
                points: list.iter().map(|(time, v)| [*time, v[k]]).collect(),
            });
        }
    }
    // Keys lie on the decoded curves.
    for (k, _) in names.iter().enumerate().filter(|_| !keys[part].is_empty()) {
        let near = |time: &f64| {
            let i = decoded.partition_point(|(t, _)| *t < time - 1e-9);
            decoded.get(i).map(|(_, v)| [*time, v[k]])
        };
        series.push(Series {
            name: if k == 0 { format!("{} keys", keys[part].len()) } else { String::new() },
            colour: COLOURS[k],
            style: CurveStyle::Dots,
            points: keys[part].iter().filter_map(near).collect(),
        });
    }
    Panel { title, series, limit: None, from_zero: false }
}

fn error_panel(title: String, errors: Vec<[f64; 2]>, limit: Option<f64>) -> Panel {
    Panel {
        title,
        series: vec![Series {
            name: "error".into(),
            colour: [40, 40, 44],
            style: CurveStyle::Thin,
            points: errors,
        }],
        limit: limit.map(|limit| (limit, format!("tolerance {}", units::short(limit)))),
        from_zero: true,
    }
}

/// Returns the unit as text: " in cm" and so on.
fn unit(reel: &Reel) -> &'static str {
    match reel.description().unit {
        1 => " in m",
        2 => " in cm",
        3 => " in mm",
        4 => " in inches",
        _ => "",
    }
}

/// Number of frames or samples that are examined to find the largest motion.
const EXAMINED_SAMPLES: usize = 16;

/// Returns the point that moves farthest in the world while it exists, of the named mesh, or of all meshes
/// whose faces never change and all particles: the path of its node, and its number for [`plot_vertex`].
/// `None` if there is no such mesh.
fn farthest_vertex(reel: &Reel, mesh: Option<&str>) -> Result<Option<(String, u64)>, Failure> {
    let description = reel.description();
    let of = |node: &NodeRecord| node.mesh.and_then(|m| description.meshes.get(m as usize));
    let comparable = |node: &NodeRecord| {
        let is = |m: &MeshRecord| m.method == Method::Particles || m.vertices > 0 && !m.method.changes();
        of(node).is_some_and(is)
    };
    let nodes: Vec<usize> = (0..description.nodes.len())
        .filter(|&n| comparable(&description.nodes[n]))
        .filter(|&n| mesh.is_none_or(|path| description.nodes[n].path == path))
        .collect();
    if nodes.is_empty() {
        return match mesh {
            Some(path) => {
                Err(Failure::usage(format!("no mesh is called {path}, or its faces change: name a --vertex")))
            }
            None => Ok(None),
        };
    }
    let mut decoder = FrameDecoder::new(reel)?;
    let mut first: Vec<HashMap<u64, DVec3>> = vec![HashMap::new(); nodes.len()];
    let (mut best, mut farthest) = ((nodes[0], 0), -1.0);
    let (count, mut floats) = (reel.frame_count(), Vec::new());
    for i in 0..EXAMINED_SAMPLES.min(count) {
        decoder.decode(i * (count - 1) / (EXAMINED_SAMPLES.min(count) - 1).max(1))?;
        for (k, &node) in nodes.iter().enumerate() {
            let view = decoder.mesh(description.nodes[node].mesh.unwrap_or(0) as usize);
            floats.resize(3 * view.vertex_count(), 0.0f32);
            view.positions_into(&mut floats)?;
            let matrix = decoder.world(node);
            for (vertex, place) in floats.as_chunks().0.iter().enumerate() {
                let number = view.ids().get(vertex).copied().unwrap_or(vertex as u64);
                let to = world_position(&matrix, place);
                let way = first[k].entry(number).or_insert(to).distance(to);
                if way > farthest {
                    (best, farthest) = ((node, number), way);
                }
            }
        }
    }
    let (node, number) = best;
    let record = &description.nodes[node];
    let map = reel.source_map(record.mesh.unwrap_or(0) as usize)?;
    let point = map.and_then(|map| map.vertex_point.get(usize::try_from(number).ok()?).copied());
    Ok(Some((record.path.clone(), point.map_or(number, u64::from))))
}

fn world_position(matrix: &[[f64; 4]; 3], place: &[f32; 3]) -> DVec3 {
    let row = |r: &[f64; 4]| (0..3).map(|k| r[k] * f64::from(place[k])).sum::<f64>() + r[3];
    DVec3::new(row(&matrix[0]), row(&matrix[1]), row(&matrix[2]))
}

/// Returns the names of the named or first clip, and of its joint that moves farthest in object space.
fn farthest_joint(reel: &Reel, clip: Option<&str>) -> Result<(String, String), Failure> {
    let clips = reel.clips()?;
    let clip = match (clip, clips.first()) {
        (None, Some(first)) => first,
        _ => find_named(&clips, clip, "clip", |c| c.name().into())?.1,
    };
    let skeleton = clip.skeleton();
    let mut cursor = clip.cursor();
    let mut pose = vec![Transform::IDENTITY; clip.joints()];
    let mut first: Vec<DVec3> = Vec::new();
    let (mut best, mut farthest) = (0, -1.0);
    for i in 0..EXAMINED_SAMPLES {
        let at = clip.duration() * i as f64 / (EXAMINED_SAMPLES - 1) as f64;
        cursor.pose(&Query::new(at), &mut pose[..])?;
        let place = |joint| joint_matrix(&skeleton.parents, joint, |k| qvv(&pose[k])).translation;
        let places: Vec<DVec3> = (0..pose.len()).map(place).collect();
        if first.is_empty() {
            first.clone_from(&places);
        }
        for (joint, (from, to)) in first.iter().zip(&places).enumerate() {
            let way = from.distance(*to);
            if way > farthest {
                (best, farthest) = (joint, way);
            }
        }
    }
    let joint = skeleton.names.get(best).cloned().unwrap_or_default();
    Ok((clip.name().into(), joint))
}

/// Plots a point. `point`: index of the source's point if there is a source map, else of a vertex of the
/// file; the id of particles that have ids.
fn plot_vertex(reel: &Reel, scene: Option<&Scene>, point: u64, mesh: Option<&str>) -> Result<Plot, Failure> {
    let description = reel.description();
    let nodes: Vec<usize> =
        (0..description.nodes.len()).filter(|n| description.nodes[*n].mesh.is_some()).collect();
    let (_, &node) = find_named(&nodes, mesh, "mesh", |n| description.nodes[*n].path.clone())?;
    let record = &description.nodes[node];
    let number = record.mesh.unwrap_or(0) as usize;
    let particles = description.meshes[number].particles;
    let map = reel.source_map(number)?.filter(|_| particles.is_none());
    let what = match (&map, particles.is_some_and(|particles| particles.ids)) {
        (_, true) => "id",
        (Some(_), false) => "point",
        (None, false) => "vertex",
    };
    let vertex = match &map {
        Some(map) => map.vertex_point.iter().position(|p| u64::from(*p) == point),
        None => usize::try_from(point).ok(),
    };
    let mut decoder = FrameDecoder::new(reel)?;
    let placed = scene.map(Scene::expand).transpose()?;
    let mut source = match (scene, &placed) {
        (Some(scene), Some(placed)) => Some(SourcePoint {
            scene,
            placed,
            world: World::new(scene, placed)?,
            path: &record.path,
            point,
            ids: Vec::new(),
        }),
        _ => None,
    };
    let mut course = PointPath { decoded: Vec::new(), reference: Vec::new(), errors: Vec::new() };
    let mut floats = Vec::new();
    for (frame, of) in reel.frames().iter().enumerate() {
        decoder.decode(frame)?;
        if !decoder.visible(node) {
            continue;
        }
        let view = decoder.mesh(number);
        let vertex = match what {
            "id" => view.ids().binary_search(&point).ok(),
            _ => vertex.filter(|v| *v < view.vertex_count()),
        };
        let Some(vertex) = vertex else {
            if particles.is_some() {
                continue;
            }
            let what = format!("--vertex {point}: {} has no such {what} at {} s", record.path, of.time);
            return Err(Failure::usage(what));
        };
        floats.resize(3 * view.vertex_count(), 0.0f32);
        view.positions_into(&mut floats)?;
        let place = world_position(&decoder.world(node), &floats.as_chunks().0[vertex]);
        let at = |translation: DVec3| (of.time, Qvv { translation, ..Qvv::IDENTITY });
        course.decoded.push(at(place));
        let Some(source) = source.as_mut().filter(|_| map.is_some() || particles.is_some()) else {
            continue;
        };
        if let Some(truth) = source.position(of.time)? {
            course.reference.push(at(truth));
            course.errors.push([of.time, truth.distance(place)]);
        }
    }
    if course.decoded.is_empty() {
        return Err(Failure::usage(match particles {
            Some(_) => format!("--vertex {point}: {} has no such {what} in any frame", record.path),
            None => format!("{} is never visible", record.path),
        }));
    }
    if scene.is_some() && course.reference.is_empty() {
        return Err(Failure::usage(format!(
            "{}: the source has no such mesh, or the file no source map to match its points",
            record.path
        )));
    }
    let title = format!("{}: {what} {point}", record.path);
    Ok(path_plot(title, unit(reel), record.tolerance, &course))
}

/// A point of a mesh of the source.
struct SourcePoint<'a> {
    scene: &'a Scene,
    placed: &'a [PlacedObject],
    world: World<'a>,
    path: &'a str,
    /// Its index, or its id.
    point: u64,
    ids: Vec<u64>,
}

impl SourcePoint<'_> {
    /// Returns its place in the world; `None` if it does not exist at that time.
    fn position(&mut self, time: f64) -> Result<Option<DVec3>, Failure> {
        let meshes = frames::source_meshes(self.scene, self.placed, &mut self.world, time)?;
        let Some(mesh) = meshes.iter().find(|mesh| mesh.path == self.path) else { return Ok(None) };
        let own = self.placed.iter().find(|place| place.path == self.path);
        if let Some(own) = own.and_then(|place| self.scene.nodes[place.node].mesh) {
            ids_at(&self.scene.meshes[own], time, &mut self.ids)?;
        }
        let number = match self.ids.is_empty() {
            true => usize::try_from(self.point).ok(),
            false => self.ids.iter().position(|id| *id == self.point),
        };
        Ok(number.and_then(|number| mesh.surface.positions.get(number).copied()))
    }
}

/// The path of a point in world space, decoded and in the source, over time; and their distance.
struct PointPath {
    decoded: Vec<(f64, Qvv)>,
    reference: Vec<(f64, Qvv)>,
    errors: Vec<[f64; 2]>,
}

fn path_plot(title: String, unit: &str, tolerance: f64, course: &PointPath) -> Plot {
    let PointPath { decoded, reference: wanted, errors } = course;
    let none = [Vec::new(), Vec::new(), Vec::new()];
    let position = format!("position{unit} (world)");
    let mut panels = vec![component_panel(1, &["x", "y", "z"], position, wanted, decoded, &none)];
    let worst = errors.iter().map(|e| e[1]).fold(0.0, f64::max);
    let error = (!wanted.is_empty()).then_some((worst, tolerance));
    if error.is_some() {
        panels.push(error_panel(format!("error{unit} (world)"), errors.clone(), Some(tolerance)));
    }
    let times = [decoded[0].0, decoded[decoded.len() - 1].0];
    Plot {
        title,
        subtitle: format!(
            "{} frames{}",
            decoded.len(),
            if error.is_some() { "; pale: source, dark: decoded" } else { "" }
        ),
        times,
        panels,
        error,
        samples: decoded.len(),
    }
}
