//! The passes of a verification.

use super::channels::{Counterparts, MeshChannels};
use super::exact::{MapCorrespondence, SourceFaces};
use super::plan::{BetweenFrames, FilePlacement, MeshPair, Verification};
use super::polygons::Polygons;
use super::report::{ClipReport, Failures, LodReport, MatchMethod, MeshReport, Report, Stats};
use super::survey::Survey;
use super::{
    cameras, channels, clip, exact, locators, lod, part_attributes, particles, report, rig, source_map,
};
use crate::requested::{RequestedOptions, RigMode};
use meshreel::Reel;
use meshreel::raw::format::kind;
use meshreel::raw::record::Method;
use meshreel_extract::convert::error;
use meshreel_scene::sample::{self, World};
use meshreel_scene::{Error, MeshId, Scene, TIME_TOLERANCE, hidden, node_clip, rig as rigged};
use std::collections::HashMap;

/// Compares `reel` with `scene`. An `Err` means that something could not be read; broken promises are in the
/// report. `progress` receives the number of frames done and in all.
pub fn verify(scene: &Scene, reel: &Reel, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Report, Error> {
    let mut failures = Failures::default();
    let asked = match RequestedOptions::parse(&reel.description().options) {
        Ok(asked) => asked,
        Err(what) => {
            failures.add("", None, || what);
            return Ok(finish(reel, Vec::new(), Vec::new(), failures));
        }
    };
    let shown = asked.show_hidden.then(|| hidden::show_all(scene)).transpose()?;
    let scene = shown.as_ref().unwrap_or(scene);
    let clips_only = match asked.clips_only {
        true => {
            let selected = |path: &str| asked.selects(path);
            Some(node_clip::clips_only(scene, &selected, &mut Vec::new())?)
        }
        false => None,
    };
    let scene = clips_only.as_ref().unwrap_or(scene);
    let standing = (asked.rig == RigMode::Only).then(|| rigged::freeze_driven_meshes(scene));
    let scene = standing.as_ref().unwrap_or(scene);
    let clips = clip::verify(scene, reel, &asked, &mut failures);
    let clips_alone = scene.meshes.is_empty() && !scene.clips.is_empty();
    if clips_alone && reel.description().meshes.is_empty() {
        return Ok(finish(reel, Vec::new(), clips, failures));
    }
    let there: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
    let survey = locators::survey(scene, &asked, &there)?;
    let frames = match_frames(&survey, reel, &mut failures);
    match_ranges(&survey, reel, &mut failures);
    let mut shows = match_nodes(&survey, reel, &mut failures);
    let matching = Matching { survey: &survey, reel, asked: &asked, frames: &frames };
    let units = matching.mesh_pairs(&mut shows, &mut failures)?;
    let places = locators::match_nodes(&survey, reel, &mut failures);
    let between = BetweenFrames::new(&survey, &asked, &frames, &shows, &units);
    let plan = Verification {
        survey: &survey,
        reel,
        asked: &asked,
        frames,
        file_placements: shows,
        locator_nodes: places,
        mesh_pairs: units,
        between,
    };
    if !asked.triangle_visibility && reel.chunk_bytes(kind::VISIBILITY) > 0 {
        failures.add("", None, || "leaves triangles out, which was not asked for".into());
    }
    if !asked.attributes_apart && reel.chunk_bytes(kind::VERTEX_ATTRIBUTES) > 0 {
        failures.add("", None, || "has attributes apart, which was not asked for".into());
    }
    let lods = lod::check(reel, asked.lod, &mut failures)?;
    let part_attributes = part_attributes::check(&plan, &mut failures)?;
    let rigs = rig::check(&plan, &asked, &mut failures)?;
    let cameras = cameras::check(&plan, &mut failures)?;
    let (stats, locators, found) = plan.compare_frames(progress)?;
    let broken: Vec<String> = failures.list.iter().map(|f| f.path.clone()).collect();
    failures.append(found);
    let meshes = mesh_reports(&plan, &stats, &lods, &part_attributes, &broken);
    let locators = locators::reports(&survey, &plan.locator_nodes, &locators, &broken);
    let report = finish(reel, meshes, clips, failures);
    let ok = report.ok && rigs.iter().all(|rig| rig.ok) && locators.iter().all(|l| l.ok);
    let placements = &plan.survey.placements;
    let nothing_visible = !placements.is_empty() && placements.iter().all(|p| !p.visible.any());
    Ok(Report { ok, rigs, locators, cameras, between: asked.between, nothing_visible, ..report })
}

fn finish(reel: &Reel, meshes: Vec<MeshReport>, clips: Vec<ClipReport>, failures: Failures) -> Report {
    Report {
        ok: failures.list.is_empty() && meshes.iter().all(|m| m.ok) && clips.iter().all(|c| c.ok),
        clips,
        rigs: Vec::new(),
        locators: Vec::new(),
        cameras: Vec::new(),
        between: None,
        nothing_visible: false,
        frames: reel.frame_count(),
        meshes,
        failures: failures.list,
        more_failures: failures.more,
    }
}

fn mesh_reports(
    plan: &Verification<'_>,
    stats: &[Stats],
    lods: &[Vec<LodReport>],
    part_attributes: &[Option<f64>],
    broken: &[String],
) -> Vec<MeshReport> {
    let description = plan.reel.description();
    plan.survey
        .placements
        .iter()
        .enumerate()
        .map(|(i, placement)| {
            let stats = &stats[i];
            let path = plan.survey.path(i).to_owned();
            let show = plan.file_placements[i].as_ref();
            let record = show.map(|s| &description.meshes[s.record]);
            let by_map = show.is_some_and(|s| plan.mesh_pairs[s.mesh_pair].exact.is_some());
            MeshReport {
                ok: !stats.failed && !broken.contains(&path),
                path,
                method: record.map_or("missing", |r| method(r.method)),
                vertices: record.map_or(0, |r| r.vertices as usize),
                frames: stats.frames,
                tolerance: show.map_or(placement.tolerance, |s| s.tolerance),
                max_error: stats.max,
                rms_error: (stats.squares / stats.count.max(1) as f64).sqrt(),
                between_error: stats.between,
                between_worst: show.zip(stats.between).map(|(show, error)| match show.tolerance {
                    tolerance if tolerance > 0.0 => error / tolerance,
                    _ => error,
                }),
                normal_max_deg: stats.normal,
                uv_max_error: stats.uv,
                colour_max_error: stats.colour,
                velocity_max_error: stats.velocity,
                width_max_error: stats.width,
                attribute_max_error: show.and_then(|s| part_attributes[s.record]).or(stats.custom),
                lods: show.map_or(Vec::new(), |s| lods[s.record].clone()),
                matched: match record.and_then(|r| r.remeshed_blend_frames) {
                    Some(_) => MatchMethod::Surface,
                    None if record.is_some_and(|r| r.particles.is_some_and(|p| p.ids)) => MatchMethod::Ids,
                    None if record.is_some_and(|r| r.particles.is_some()) => MatchMethod::Numbers,
                    None if by_map => MatchMethod::Map,
                    None => MatchMethod::Nearest,
                },
                blended: record.and_then(|r| r.remeshed_blend_frames).unwrap_or(0) as usize,
            }
        })
        .collect()
}

/// Returns the average time between frames in seconds; a 24th of a second if there is only one frame.
fn seconds(reel: &Reel) -> f64 {
    let times = reel.frames();
    let span = times.last().zip(times.first()).map_or(0.0, |(last, first)| last.time - first.time);
    let steps = times.len().saturating_sub(1) as f64;
    if span > 0.0 { span / steps } else { 1.0 / 24.0 }
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Static => "static",
        Method::Soft => "soft",
        Method::Rigid => "rigid",
        Method::Skinned => "skinned",
        Method::Fluid => "fluid",
        Method::Particles => "particles",
    }
}

/// Returns the frame of the source for each frame of the file.
fn match_frames(survey: &Survey<'_>, reel: &Reel, failures: &mut Failures) -> Vec<Option<usize>> {
    let mut out = vec![None; reel.frame_count()];
    let mut next = 0;
    for (i, frame) in reel.frames().iter().enumerate() {
        while let Some(&time) = survey.times.get(next).filter(|t| **t < frame.time - TIME_TOLERANCE) {
            failures.add("", None, || format!("the frame at {time} s is missing"));
            next += 1;
        }
        match survey.times.get(next) {
            Some(&time) if (time - frame.time).abs() <= TIME_TOLERANCE => {
                out[i] = Some(next);
                next += 1;
            }
            _ => {
                failures.add("", Some(i), || format!("the source has no frame at its time, {} s", frame.time))
            }
        }
    }
    for &time in &survey.times[next..] {
        failures.add("", None, || format!("the frame at {time} s is missing"));
    }
    out
}

/// Checks that the file has the source's named ranges of frames, and no others.
fn match_ranges(survey: &Survey<'_>, reel: &Reel, failures: &mut Failures) {
    let wanted = sample::frame_ranges(&survey.scene.ranges, &survey.times);
    let there = reel.ranges().iter().map(|range| {
        let (first, frames) = (range.first as usize, range.frames as usize);
        (range.name.clone(), first, frames)
    });
    if !there.eq(wanted.iter().cloned()) {
        failures.add("", None, || {
            let names: Vec<&str> = wanted.iter().map(|(name, ..)| &name[..]).collect();
            format!(
                "its named ranges of frames are not those of the source's animations ({})",
                names.join(", ")
            )
        });
    }
}

/// Returns the node of the file for each placement of the source, by path.
fn match_nodes(survey: &Survey<'_>, reel: &Reel, failures: &mut Failures) -> Vec<Option<FilePlacement>> {
    let nodes = &reel.description().nodes;
    let mut by_path: HashMap<&str, usize> = HashMap::new();
    for (n, node) in nodes.iter().enumerate().filter(|(_, node)| node.mesh.is_some()) {
        if by_path.insert(&node.path, n).is_some() {
            failures.add(&node.path, None, || "is in the file twice".into());
        }
    }
    let shows = (0..survey.placements.len())
        .map(|i| {
            let placement = &survey.placements[i];
            let path = survey.path(i);
            let Some(node) = by_path.remove(path) else {
                if placement.visible.any() {
                    failures.add(path, None, || "is not in the file".into());
                }
                return None;
            };
            let stored = nodes[node].tolerance;
            if report::beyond(stored, placement.tolerance * (1.0 + 1e-9)) {
                failures.add(path, None, || {
                    format!(
                        "the file promises {stored:e} only, {:e} follows from what was asked for",
                        placement.tolerance
                    )
                });
            }
            Some(FilePlacement {
                node,
                record: nodes[node].mesh.unwrap_or(0) as usize,
                baked: nodes[node].baked,
                tolerance: if stored <= placement.tolerance { stored } else { placement.tolerance },
                mesh_pair: 0,
            })
        })
        .collect();
    for path in by_path.into_keys().collect::<std::collections::BTreeSet<_>>() {
        failures.add(path, None, || "is in the file, but nothing like it is compiled from the source".into());
    }
    shows
}

/// Inputs for matching meshes of the file with meshes of the source.
struct Matching<'a> {
    survey: &'a Survey<'a>,
    reel: &'a Reel,
    asked: &'a RequestedOptions,
    /// Frame of the source for each frame of the file.
    frames: &'a [Option<usize>],
}

impl Matching<'_> {
    /// Returns pairs of a mesh of the file and a mesh of the source, with all data that is the same in all
    /// frames.
    fn mesh_pairs(
        &self,
        shows: &mut [Option<FilePlacement>],
        failures: &mut Failures,
    ) -> Result<Vec<MeshPair>, Error> {
        let mut units = self.pair_meshes(shows);
        let first = self.find_shown(shows, &mut units);
        let world = World::new(self.survey.scene, &self.survey.placed)?;
        let mut world = WorldCache { world, time: None };
        for unit in &mut units {
            if let Some(&first) = first.get(&unit.record) {
                self.fill_pair(unit, first, shows, &mut world, failures)?;
            }
        }
        Ok(units)
    }

    /// Returns the pairs with their placements; each placement gets the number of its pair.
    fn pair_meshes(&self, shows: &mut [Option<FilePlacement>]) -> Vec<MeshPair> {
        let mut units: Vec<MeshPair> = Vec::new();
        let mut number: HashMap<(usize, MeshId), usize> = HashMap::new();
        for (i, show) in shows.iter_mut().enumerate() {
            let Some(show) = show else { continue };
            let mesh = self.survey.placements[i].mesh;
            show.mesh_pair = *number.entry((show.record, mesh)).or_insert_with(|| {
                units.push(MeshPair::new(show.record, mesh));
                units.len() - 1
            });
            units[show.mesh_pair].placements.push(i);
        }
        units
    }

    /// Fills in the frames in which each pair is shown. Returns, for each record, the first frame in which
    /// anything shows that mesh of the file: the compiler took its faces and creases from there.
    fn find_shown(&self, shows: &[Option<FilePlacement>], units: &mut [MeshPair]) -> HashMap<usize, usize> {
        let mut first: HashMap<usize, usize> = HashMap::new();
        for (i, frame) in self.frames.iter().enumerate() {
            let Some(frame) = *frame else { continue };
            for (show, placement) in shows.iter().zip(&self.survey.placements) {
                let Some(show) = show.as_ref().filter(|_| placement.visible.get(frame)) else {
                    continue;
                };
                first.entry(show.record).or_insert(i);
                let list = &mut units[show.mesh_pair].shown;
                if list.last() != Some(&i) {
                    list.push(i);
                }
            }
        }
        first
    }

    /// Fills in the data of a pair that is the same in all frames. `first`: the first frame that shows its
    /// record.
    fn fill_pair(
        &self,
        unit: &mut MeshPair,
        first: usize,
        shows: &[Option<FilePlacement>],
        world: &mut WorldCache<'_>,
        failures: &mut Failures,
    ) -> Result<(), Error> {
        let Matching { survey, reel, asked, frames } = *self;
        let Some(frame) = frames[first] else {
            return Ok(());
        };
        unit.first_shown = first;
        let path = survey.path(unit.placements[0]).to_owned();
        let record = &reel.description().meshes[unit.record];
        let mesh = &survey.scene.meshes[unit.mesh];
        let shown: Vec<f64> = unit.shown.iter().filter_map(|&i| frames[i]).map(|f| survey.times[f]).collect();
        unit.is_remeshed = record.remeshed_blend_frames.is_some();
        let baked = unit.placements.iter().find(|&&p| shows[p].as_ref().is_some_and(|s| s.baked));
        unit.baked = baked.is_some();
        let pace = baked.map(|&p| survey.placements[p].velocity_effect);
        let pair = Counterparts { mesh, record, shown: &shown, path: &path, velocity_effect: pace };
        if record.particles.is_some() != mesh.particles.is_some() {
            failures
                .add(&path, None, || "has faces where the source has points alone, or the other way".into());
            unit.has_wrong_map = true;
            return Ok(());
        }
        if mesh.particles.is_some() {
            unit.particles = Some(particles::find_streams(&pair, asked, seconds(reel), failures)?);
            return Ok(());
        }
        if let Some(blended) = record.remeshed_blend_frames {
            let paths = unit.placements.iter().map(|&p| survey.path(p));
            check_remeshed(mesh, &shown, paths, blended, asked, reel.frame_count(), failures)?;
        } else {
            unit.channels = channels::find_channels(&pair, asked, seconds(reel), failures)?;
        }
        if unit.baked {
            if unit.placements.len() > 1 {
                failures.add(&path, None, || "is in world space, but shown more than once".into());
                return Ok(());
            }
            unit.flip = world.mirrors(survey, survey.placements[unit.placements[0]].placed, frame)?;
        }
        if record.method != Method::Fluid && !unit.is_remeshed {
            unit.exact = self.check_source_map(unit, &pair, survey.times[frame], failures)?;
        }
        if record.method == Method::Fluid
            && !unit.is_remeshed
            && let Some(map) = reel.source_map(unit.record).map_err(error)?
        {
            if let Some(what) = source_map::normals(&map, unit) {
                failures.add(&path, None, || what);
            }
            unit.frame_maps = Some(map).filter(|map| !map.run_maps.is_empty());
        }
        let creased = asked.smooth_angle.is_some_and(|angle| angle < 180.0)
            && unit.channels.normals == Some(channels::Normals::Computed);
        if unit.exact.is_none() && creased {
            let times = unit.shown.clone();
            let times = (times.into_iter()).filter_map(|i| Some((i, survey.times[frames[i]?])));
            unit.find_run_starts(mesh, times)?;
        }
        Ok(())
    }

    /// Checks the source map, if there is one, against the source's faces at `time` (seconds).
    fn check_source_map(
        &self,
        unit: &mut MeshPair,
        pair: &Counterparts<'_>,
        time: f64,
        failures: &mut Failures,
    ) -> Result<Option<MapCorrespondence>, Error> {
        let Matching { survey, reel, asked, .. } = *self;
        let &Counterparts { mesh, record, path, .. } = pair;
        let Some(map) = reel.source_map(unit.record).map_err(error)? else {
            return Ok(None);
        };
        let indices = reel.indices(unit.record).map_err(error)?;
        let mut points = Vec::new();
        sample::positions_at(mesh, time, &mut points)?;
        sample::faces_at(mesh, time, &mut unit.faces)?;
        let polygons = Polygons::new(&unit.faces, points.len(), mesh.winding);
        let mut sets = Vec::new();
        for set in &mesh.face_sets {
            let mut list = Vec::new();
            // Materials are those of the first frame, even if it does not show the mesh.
            sample::read_held(&set.faces, mesh, survey.times.first().copied().unwrap_or(time), &mut list)?;
            sets.push((set.name.clone(), list));
        }
        exact::check_materials(record, &map.triangle_face, &sets, unit.faces.counts.len(), path, failures);
        let weld = survey.meshes[unit.mesh].as_ref().map_or(&[][..], |f| &f.weld);
        let corners = unit.faces.indices.len();
        let sizes = map.vertex_point.len() == record.vertices as usize
            && 3 * map.triangle_face.len() == indices.len();
        let back = (sizes && map.faces as usize == unit.faces.counts.len())
            .then(|| source_map::faces(&map, &indices, &unit.faces, mesh.winding, unit.flip));
        let normals = source_map::normals(&map, unit);
        for what in back.flatten().into_iter().chain(normals) {
            failures.add(path, None, || what);
        }
        let mut fail = |what: String| failures.add(path, None, || what);
        let source = SourceFaces { polygons, corners, weld, flip: unit.flip, sets: &sets };
        let mut exact = exact::build(map, &indices, source, &mut fail);
        // The reason was reported; matching nearest points would only repeat it less clearly.
        unit.has_wrong_map = exact.is_none();
        if let Some(exact) = &mut exact
            && unit.channels.normals == Some(channels::Normals::Computed)
        {
            exact.set_groups(exact.polygons.groups(&points, asked.smooth_angle));
        }
        Ok(exact)
    }
}

/// The transforms of the source, evaluated at most once for each time.
struct WorldCache<'a> {
    world: World<'a>,
    /// The time in seconds at which they are evaluated.
    time: Option<f64>,
}

impl WorldCache<'_> {
    /// `true` if a placed node mirrors in a frame of the source. An invalid transform keeps the last valid
    /// one, even from frames in which nothing was shown.
    fn mirrors(&mut self, survey: &Survey<'_>, placed: usize, mut frame: usize) -> Result<bool, Error> {
        loop {
            let time = survey.times[frame];
            if self.time != Some(time) {
                self.world.evaluate(time)?;
                self.time = Some(time);
            }
            let matrix = &self.world.matrix[placed];
            if matrix.is_finite() || frame == 0 {
                return Ok(matrix.is_finite() && matrix.determinant() < 0.0);
            }
            frame -= 1;
        }
    }
}

/// Returns failures of a mesh of the file that has other faces than the source, although it may not.
fn check_remeshed<'p>(
    mesh: &meshreel_scene::Mesh,
    shown: &[f64],
    paths: impl Iterator<Item = &'p str>,
    blended: u32,
    asked: &RequestedOptions,
    frames: usize,
    failures: &mut Failures,
) -> Result<(), Error> {
    let mut counts = std::collections::BTreeSet::new();
    let mut points = Vec::new();
    for &time in shown {
        sample::positions_at(mesh, time, &mut points)?;
        counts.insert(points.len());
    }
    let fixed = counts.len() < 2 && sample::has_fixed_topology(mesh, shown)?;
    for path in paths {
        if fixed || !asked.remeshes(path) {
            let why = if fixed { "the source's do not change" } else { "nobody asked for that" };
            failures.add(path, None, || format!("has other faces than the source, but {why}"));
        }
        if blended as usize > asked.blended(frames) {
            failures.add(path, None, || {
                format!("{blended} frames are blended, {} were asked for", asked.blended(frames))
            });
        }
    }
    Ok(())
}

impl MeshPair {
    fn new(record: usize, mesh: MeshId) -> MeshPair {
        MeshPair {
            record,
            mesh,
            placements: Vec::new(),
            shown: Vec::new(),
            first_shown: 0,
            baked: false,
            flip: false,
            has_wrong_map: false,
            is_remeshed: false,
            channels: MeshChannels::default(),
            particles: None,
            faces: sample::Faces::default(),
            exact: None,
            frame_maps: None,
            run_starts: HashMap::new(),
        }
    }

    /// Finds the first frames of runs. `at`: its frames of the file with their times.
    fn find_run_starts(
        &mut self,
        mesh: &meshreel_scene::Mesh,
        at: impl Iterator<Item = (usize, f64)>,
    ) -> Result<(), Error> {
        let (mut faces, mut last) = (sample::Faces::default(), sample::Faces::default());
        let (mut points, mut count) = (Vec::new(), None);
        let mut lead = 0.0;
        for (frame, time) in at {
            sample::faces_at(mesh, time, &mut faces)?;
            sample::positions_at(mesh, time, &mut points)?;
            if count != Some(points.len()) || faces != last {
                lead = time;
                count = Some(points.len());
                std::mem::swap(&mut faces, &mut last);
            }
            self.run_starts.insert(frame, lead);
        }
        Ok(())
    }
}
