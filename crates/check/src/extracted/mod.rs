//! What was extracted against what the file decodes to: every frame by the runtime's own decoder, in the world,
//! every vertex against the nearest point that is there and every point against the nearest vertex, with what
//! hangs on them. It shares no code with `extract`, and takes names, orders and trees as each kind of file has
//! them: only what is seen counts.

mod clips;
mod faces;
mod sides;
mod times;
mod triangles;

use crate::error::error;
use crate::verify::Failure;
use crate::verify::attribute::ulp;
use crate::verify::kd_tree::KdTree;
use crate::verify::report::{Failures, beyond};
use crate::{double, lens};
pub use clips::ExtractedClip;
use meshreel::record::StreamRecord;
use meshreel::{FrameDecoder, FramePair, Reel};
use meshreel_options::{Options, RigChoice};
use meshreel_scene::sample::{World, lens_at};
use meshreel_scene::{Error, Placed, Scene, Unit};
use rayon::prelude::*;
use serde::Serialize;
use sides::{Extracted, Kind, Seen, Side, Values};

/// What is asked of an extracted file beside its kind.
#[derive(Debug, Clone, Copy, Default)]
pub struct Expected {
    /// How far a point may be off, in the `.reel`'s unit. None: what float32 holds; of skins, of parts that
    /// nodes move and of quantized files the mesh's own tolerance; twice that of rigs, which are as far from
    /// the source as the frames on the other side may be.
    pub tolerance: Option<f64>,
    /// The level of detail that was extracted.
    pub level: usize,
}

/// Outcome of [`compare`].
#[derive(Debug, Clone, Default, Serialize)]
pub struct ExtractedReport {
    /// Nothing failed.
    pub ok: bool,
    /// Frames of the `.reel`.
    pub frames: usize,
    /// Vertices that were compared, in all frames together.
    pub vertices: u64,
    /// Triangles that were compared, in all frames together.
    pub faces: u64,
    /// The largest distance, in the `.reel`'s unit.
    pub max_error: f64,
    /// The largest share of what it may be.
    pub share: f64,
    /// The node with that share.
    pub worst: String,
    /// Its frame.
    pub worst_frame: usize,
    /// The largest angle between normals, in degrees.
    pub normal_max_deg: Option<f64>,
    /// The largest differences of other values.
    pub uv_max_error: Option<f64>,
    /// As above.
    pub colour_max_error: Option<f64>,
    /// As above, units per second.
    pub velocity_max_error: Option<f64>,
    /// As above.
    pub width_max_error: Option<f64>,
    /// Locators that were compared, and the largest distance of a corner of their cubes.
    pub locators: usize,
    /// As above.
    pub locator_max_error: f64,
    /// Lenses that were compared.
    pub cameras: usize,
    /// Clips that were compared, and how far their joints are off.
    pub clips: Vec<ExtractedClip>,
    /// The first failures, by frame.
    pub failures: Vec<Failure>,
    /// Failures that are not in the list.
    pub more_failures: u64,
}

/// Compares `scene`, which was read from an extracted file, with what `reel` decodes to. An `Err` says that
/// something could not be read; whatever differs is in the report. `progress` is told how many frames of how
/// many are done.
pub fn compare(
    scene: &Scene,
    reel: &Reel,
    expected: &Expected,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<ExtractedReport, Error> {
    let placed = scene.expand()?;
    let mut failures = Failures::default();
    let comparison = Comparison {
        scene,
        reel,
        placed: &placed,
        expected,
        factor: factor(reel, scene.unit),
        times: times::times(scene, reel, &mut failures)?,
        ranks: sides::ranks(reel, expected.level)?,
        loose: sides::loose(scene),
        rigged: reel.rigs().map_err(error)?.iter().map(|rig| rig.mesh()).collect(),
        rig_only: Options::from_text(&reel.description().options).is_ok_and(|o| o.rig == RigChoice::Only),
    };
    let mut all = Found::default();
    let done = std::sync::atomic::AtomicU64::new(0);
    let total = comparison.times.len() as u64;
    let jobs: Vec<Vec<usize>> =
        (0..comparison.times.len()).collect::<Vec<_>>().chunks(16).map(<[usize]>::to_vec).collect();
    let found = jobs.par_iter().map(|frames| -> Result<Found, Error> {
        let mut found = Found::default();
        let mut decoder = FrameDecoder::new(reel).map_err(error)?;
        let mut world = World::new(scene, &placed)?;
        for &frame in frames {
            if let Some(time) = comparison.times[frame] {
                decoder.decode(frame).map_err(error)?;
                world.evaluate(time)?;
                comparison.frame((frame, time), &decoder, &world, &mut found)?;
            }
            progress(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, total);
        }
        Ok(found)
    });
    // In the order of frames, whatever threads do.
    for found in found.collect::<Vec<Result<Found, Error>>>() {
        all.append(found?);
    }
    failures.append(std::mem::take(&mut all.failures));
    let mut report = all.report;
    if holds_nodes(scene) {
        report.cameras = comparison.cameras(&mut failures)?;
    }
    let there = clips::There { scene, placed: &placed, factor: comparison.factor };
    report.clips = clips::compare(&there, reel, &mut failures)?;
    report.frames = reel.frame_count();
    report.ok = failures.list.is_empty();
    Ok(ExtractedReport { failures: failures.list, more_failures: failures.more, ..report })
}

/// Whether such a file holds nodes without meshes.
fn holds_nodes(scene: &Scene) -> bool {
    scene.format.starts_with("alembic") || scene.format == "gltf"
}

/// Whether it is .obj files, which have no fourth component of a colour.
fn is_obj(scene: &Scene) -> bool {
    scene.format.starts_with("obj")
}

/// From the extracted file's unit to the `.reel`'s; 1 where one of them says none.
fn factor(reel: &Reel, there: Option<Unit>) -> f64 {
    double::unit(reel).zip(there).map_or(1.0, |(own, there)| there.metres() / own.metres())
}

/// What was found in some frames.
#[derive(Default)]
struct Found {
    report: ExtractedReport,
    failures: Failures,
}

fn most(into: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *into = Some(into.unwrap_or(0.0).max(value));
    }
}

impl Found {
    fn append(&mut self, other: Found) {
        let (own, more) = (&mut self.report, other.report);
        own.vertices += more.vertices;
        own.faces += more.faces;
        own.max_error = own.max_error.max(more.max_error);
        if beyond(more.share, own.share) {
            (own.share, own.worst, own.worst_frame) = (more.share, more.worst, more.worst_frame);
        }
        most(&mut own.normal_max_deg, more.normal_max_deg);
        most(&mut own.uv_max_error, more.uv_max_error);
        most(&mut own.colour_max_error, more.colour_max_error);
        most(&mut own.velocity_max_error, more.velocity_max_error);
        most(&mut own.width_max_error, more.width_max_error);
        own.locators = own.locators.max(more.locators);
        own.locator_max_error = own.locator_max_error.max(more.locator_max_error);
        self.failures.append(other.failures);
    }

    fn distance(&mut self, distance: f64, limit: f64, node: &str, frame: usize) -> bool {
        let share = if limit > 0.0 { distance / limit } else { distance };
        self.report.max_error = self.report.max_error.max(distance);
        if beyond(share, self.report.share) || self.report.worst.is_empty() {
            (self.report.share, self.report.worst, self.report.worst_frame) = (share, node.into(), frame);
        }
        !beyond(share, 1.0)
    }

    fn value(&mut self, kind: Kind, off: f64) {
        let slot = match kind {
            Kind::Normal => &mut self.report.normal_max_deg,
            Kind::Uv(_) => &mut self.report.uv_max_error,
            Kind::Colour(_) => &mut self.report.colour_max_error,
            Kind::Velocity => &mut self.report.velocity_max_error,
            Kind::Width => &mut self.report.width_max_error,
        };
        most(slot, Some(off));
    }
}

/// Both sides, and what is the same in all frames.
struct Comparison<'a> {
    scene: &'a Scene,
    reel: &'a Reel,
    placed: &'a [Placed],
    expected: &'a Expected,
    factor: f64,
    /// By frame its time in the extracted file.
    times: Vec<Option<f64>>,
    /// By mesh of the `.reel` the triangles of the level of detail; none: all of the frame's.
    ranks: Vec<Option<Vec<u32>>>,
    /// By mesh of the extracted file whether its points are only as near as the tolerance.
    loose: Vec<[bool; 2]>,
    /// Meshes of the `.reel` that have a rig.
    rigged: Vec<usize>,
    /// These are moved by clips alone, whatever frames show.
    rig_only: bool,
}

/// Coincident points that are looked at for the values of one vertex.
const COINCIDENT: usize = 4096;

impl Comparison<'_> {
    /// Compares one frame, both ways.
    fn frame(
        &self,
        (frame, time): (usize, f64),
        decoder: &FrameDecoder,
        world: &World<'_>,
        found: &mut Found,
    ) -> Result<(), Error> {
        let decoded = {
            let holds = (self.scene.format.starts_with("alembic"), is_obj(self.scene));
            Side::of_reel(self.reel, decoder, &self.ranks, holds)?
        };
        let extracted = Extracted::read(self.scene, self.placed, world, &self.loose, (time, self.factor))?;
        let nodes = &self.reel.description().nodes;
        let (here, there) = (KdTree::new(&decoded.points), KdTree::new(&extracted.side.points));
        let mut lost = vec![0usize; nodes.len()];
        let (mut near_points, mut all_near): (Vec<(u32, u32)>, bool) = (Vec::new(), true);
        let by_clips = |owner: usize| {
            self.rig_only && nodes[owner].mesh.is_some_and(|m| self.rigged.contains(&(m as usize)))
        };
        for (v, &seen) in decoded.seen.iter().enumerate().filter(|(_, seen)| !by_clips(seen.owner)) {
            found.report.vertices += 1;
            let p = decoded.points[v];
            let (distance, nearest) = there.nearest(p).unwrap_or((f64::INFINITY, u32::MAX));
            let limit =
                self.limit(seen.owner, extracted.side.seen.get(nearest as usize), &extracted, &decoded);
            if !seen.in_area && beyond(distance, limit) {
                continue;
            }
            let near = found.distance(distance, limit, &nodes[seen.owner].path, frame);
            if !near {
                if lost[seen.owner] == 0 {
                    found.failures.add(&nodes[seen.owner].path, Some(frame), || {
                        format!(
                            "vertex {} is {distance:e} from what was extracted, {limit:e} is allowed",
                            seen.number
                        )
                    });
                }
                lost[seen.owner] += 1;
                continue;
            }
            let from = near_points.len();
            let (_, more) = there.within(p, limit, COINCIDENT, |i| {
                near_points.push((v as u32, i));
                false
            });
            all_near &= !more;
            let near: Vec<u32> = near_points[from..].iter().map(|(_, i)| *i).collect();
            let Some(mut best) = self.best_values(&decoded, v, &extracted, &near) else { continue };
            if best.share > 1.0 {
                // Vertices of one corner of the source, whose values the file rounds each for itself, are one
                // corner again.
                here.within(p, limit, COINCIDENT, |other| {
                    if self.is_twin(&decoded, v, other as usize)
                        && let Some(own) = self.best_values(&decoded, other as usize, &extracted, &near)
                        && own.share <= 1.0
                    {
                        best = own;
                    }
                    best.share <= 1.0
                });
            }
            let path = &nodes[seen.owner].path;
            for (kind, off, limit) in best.differences {
                found.value(kind, off);
                if beyond(off, limit) {
                    found.failures.add(path, Some(frame), || {
                        let (what, number) = (kind.name(), seen.number);
                        format!("{what} of vertex {number} is {off:e} off, {limit:e} is allowed")
                    });
                }
            }
        }
        let on_joints = |owner: usize| {
            let mesh = self.scene.nodes[self.placed[owner].node].mesh;
            self.rig_only && mesh.is_some_and(|mesh| self.scene.meshes[mesh].skin.is_some())
        };
        let compared = |seen: &Seen| seen.in_area && !on_joints(seen.owner);
        for (i, &seen) in extracted.side.seen.iter().enumerate().filter(|(_, seen)| compared(seen)) {
            let p = extracted.side.points[i];
            let (distance, nearest) = here.nearest(p).unwrap_or((f64::INFINITY, u32::MAX));
            let owner = decoded.seen.get(nearest as usize).map(|seen| seen.owner);
            let limit = owner.map_or(0.0, |owner| self.limit(owner, Some(&seen), &extracted, &decoded));
            let path = &self.placed[seen.owner].path;
            if !found.distance(distance, limit, path, frame) {
                let what = format!(
                    "point {} is {distance:e} from what is decoded, {limit:e} is allowed",
                    seen.number
                );
                found.failures.add(path, Some(frame), || what);
                break;
            }
        }
        if found.failures.list.is_empty() && all_near && !(self.rig_only && !self.rigged.is_empty()) {
            let near = faces::Lists::new(decoded.points.len(), near_points.iter().copied());
            found.report.faces += decoded.faces.len() as u64;
            match triangles::compare(&decoded, &extracted.side, &near) {
                None => {}
                Some(triangles::Difference::Decoded(node, what)) => {
                    found.failures.add(&nodes[node].path, Some(frame), || what);
                }
                Some(triangles::Difference::Extracted(placed, what)) => {
                    found.failures.add(&self.placed[placed].path, Some(frame), || what);
                }
            }
        }
        if holds_nodes(self.scene) {
            self.locators(frame, decoder, world, found);
        }
        Ok(())
    }

    /// How far a point may be off that belongs to a node, if it is such a one of the extracted file.
    fn limit(&self, owner: usize, seen: Option<&Seen>, extracted: &Extracted<'_>, decoded: &Side) -> f64 {
        let nodes = &self.reel.description().nodes;
        let float = decoded.float[owner] + seen.map_or(0.0, |seen| extracted.base(seen.owner));
        let moves = nodes[owner].mesh.is_some_and(|m| {
            let record = &self.reel.description().meshes[m as usize];
            record.method.changes() || record.streams.first().is_some_and(|s| s.animated)
        });
        let loose = seen.is_some_and(|seen| extracted.is_loose(seen.owner, moves));
        match self.expected.tolerance {
            Some(tolerance) => tolerance.max(float),
            None if loose => {
                let has_rig = nodes[owner].mesh.is_some_and(|m| self.rigged.contains(&(m as usize)));
                (nodes[owner].tolerance * if has_rig { 2.0 } else { 1.0 }).max(float)
            }
            None => float,
        }
    }

    /// What hangs on a vertex against what hangs on the corners that lie where it does: those that fit best.
    fn best_values(
        &self,
        decoded: &Side,
        v: usize,
        extracted: &Extracted<'_>,
        near: &[u32],
    ) -> Option<Differences> {
        let own = &decoded.values[v];
        let mut best: Option<Differences> = None;
        let changing = &decoded.changing[decoded.seen[v].owner];
        for &i in near {
            let seen = &extracted.side.seen[i as usize];
            for corner in extracted.corners(i as usize) {
                let Seen { owner, edge, .. } = decoded.seen[v];
                let loose = extracted.is_loose(seen.owner, true);
                // Where points may be off, faces may turn.
                let tolerance = if loose { self.reel.description().nodes[owner].tolerance } else { 0.0 };
                let turn =
                    decoded.turns[owner] + (2.0 * tolerance / edge).min(std::f64::consts::PI).to_degrees();
                let mut all = self.differences(own, corner, (loose, turn));
                all.retain(|(kind, ..)| {
                    !(changing.contains(kind) && extracted.is_earlier(seen.owner, *kind))
                });
                let share = all.iter().map(|(_, off, limit)| off / limit).fold(0.0, f64::max);
                if best.as_ref().is_none_or(|best| share < best.share) {
                    best = Some(Differences { share, differences: all });
                }
            }
            if best.as_ref().is_some_and(|best| best.share == 0.0) {
                break;
            }
        }
        best
    }

    /// Whether the values of two vertices of one mesh may be those of one corner of the source: each within the
    /// tolerances of the file.
    fn is_twin(&self, decoded: &Side, v: usize, other: usize) -> bool {
        let owner = decoded.seen[v].owner;
        let Some(mesh) = self.reel.description().nodes[owner].mesh else { return false };
        let streams = &self.reel.description().meshes[mesh as usize].streams;
        let tolerance = |kind: Kind| {
            let of_kind = |s: &&StreamRecord| kind.is_of(s.semantic);
            streams.iter().filter(of_kind).map(|s| s.tolerance).fold(0.0, f64::max)
        };
        let (a, b) = (&decoded.values[v], &decoded.values[other]);
        v != other
            && decoded.seen[other].owner == owner
            && a.len() == b.len()
            && a.iter().zip(b).all(|((kind, a), (_, b))| {
                // Transforms that are not even turn some normals farther apart.
                let even = decoded.turns[owner] <= EVEN;
                kind.distance(a, b) <= 2.0 * tolerance(*kind) || *kind == Kind::Normal && !even
            })
    }

    /// Compares where locators are: by their name, and where that was changed, with whatever fits.
    fn locators(&self, frame: usize, decoder: &FrameDecoder, world: &World<'_>, found: &mut Found) {
        // A glTF of nodes alone is read as a skeleton, whose clips are compared.
        if self.placed.is_empty() && !self.scene.skeletons.is_empty() {
            return;
        }
        let nodes = &self.reel.description().nodes;
        let mut count = 0;
        for (n, node) in nodes.iter().enumerate().filter(|(_, node)| node.reach > 0.0) {
            count += 1;
            let own = double::affine(&decoder.world(n));
            let corner = |k: usize| {
                let side = |axis: usize| f64::from(node.reach) * if k >> axis & 1 == 1 { 1.0 } else { -1.0 };
                glam::DVec3::new(side(0), side(1), side(2))
            };
            let off = |p: usize| {
                let scaled = glam::DMat4::from_scale(glam::DVec3::splat(self.factor)) * world.matrix[p];
                let distance =
                    |k| (scaled.transform_point3(corner(k)) - own.transform_point3(corner(k))).length();
                (0..8).map(distance).fold(0.0, f64::max)
            };
            let name = node.path.rsplit('/').next().unwrap_or_default();
            let named = |p: &usize| self.placed[*p].path.rsplit('/').next() == Some(name);
            let least = |all: &mut dyn Iterator<Item = usize>| all.map(&off).fold(f64::INFINITY, f64::min);
            let by_name = least(&mut (0..self.placed.len()).filter(named));
            let limit = sides::float_limit(self.reel, decoder, n, f64::from(node.reach));
            let distance = match beyond(by_name, limit) {
                true => least(&mut (0..self.placed.len())),
                false => by_name,
            };
            found.report.locator_max_error = found.report.locator_max_error.max(distance);
            if beyond(distance, limit) {
                let what = format!("no node is where this one is: {distance:e} off, {limit:e} is allowed");
                found.failures.add(&node.path, Some(frame), || what);
            }
        }
        found.report.locators = count;
    }

    /// Compares lenses of cameras; how many. A glTF has those of the first frame.
    fn cameras(&self, failures: &mut Failures) -> Result<usize, Error> {
        let mut count = 0;
        if self.scene.format == "gltf" {
            return Ok(0);
        }
        for camera in self.reel.cameras().map_err(error)? {
            let name = camera.path().rsplit('/').next().unwrap_or_default();
            let lenses = self.placed.iter().filter(|p| p.path.rsplit('/').next() == Some(name));
            let mut lenses = lenses.filter_map(|p| self.scene.nodes[p.node].camera.as_ref());
            let Some(there) = lenses.next() else {
                failures.add(camera.path(), None, || "the camera was not extracted".into());
                continue;
            };
            count += 1;
            for (frame, time) in self.times.iter().enumerate() {
                let Some(time) = *time else { continue };
                let Some(right) = lens_at(there, time)? else { continue };
                let own = lens::of_file(&camera.lens(FramePair::single(frame as u32))).tracks();
                let pairs = own.as_flattened().iter().zip(right.tracks().as_flattened().to_vec());
                if let Some((a, b)) = pairs.into_iter().find(|(a, b)| (**a - b).abs() > 8.0 * ulp(a.abs())) {
                    failures
                        .add(camera.path(), Some(frame), || format!("its lens has {a}, {b} was extracted"));
                    break;
                }
            }
        }
        Ok(count)
    }
}

/// What hangs on a vertex, how far it is off, and how far it may be.
type Difference = (Kind, f64, f64);

/// What hangs on a vertex against a corner.
struct Differences {
    /// The largest share of what is allowed.
    share: f64,
    differences: Vec<Difference>,
}

/// Rounding turns normals by at most so many degrees where a transform is as large in all directions.
const EVEN: f64 = 1e-4;

impl Comparison<'_> {
    /// By what hangs on both how far it is off, and may be. `loose`: of a file that was quantized or is a skin. `turn`: by
    /// how much normals may be off because of their transform.
    fn differences(&self, own: &Values, there: &Values, (loose, turn): (bool, f64)) -> Vec<Difference> {
        let mut out = Vec::new();
        for (kind, a) in own {
            let Some((_, b)) = there.iter().find(|(other, _)| other == kind) else { continue };
            let clamped;
            let a = match kind {
                // Colours of a glTF go from 0 to 1.
                Kind::Colour(_) if self.scene.format == "gltf" => {
                    clamped = a.iter().map(|v| v.clamp(0.0, 1.0)).collect();
                    &clamped
                }
                _ => a,
            };
            let largest = a.iter().chain(b).fold(1.0f64, |most, v| most.max(v.abs()));
            let off = match kind {
                Kind::Colour(_) if is_obj(self.scene) => kind.distance(&a[..3], b),
                _ => kind.distance(a, b),
            };
            // Octets, and 12 bits of a texture's width, are the least that compressed files keep.
            let limit = match kind {
                Kind::Normal if loose => 2.0 + turn,
                Kind::Normal => 0.05 + turn,
                Kind::Uv(_) if loose => largest / 4096.0,
                Kind::Colour(_) if loose => largest / 254.0,
                _ => 8.0 * ulp(largest),
            };
            out.push((*kind, off, limit));
        }
        out
    }
}
