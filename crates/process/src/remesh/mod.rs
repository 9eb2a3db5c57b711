//! `--remesh`: replaces the changing faces of a mesh by fixed ones, so that it can use the method soft. The
//! guarantee for it is the distance of every vertex from the other surface, both ways, instead of the
//! distance of each vertex from its own (PROMISE.md §1).
//!
//! A part of the tolerance is spent here, the rest is left to the coding of the result: a decoded triangle is
//! nowhere farther from the fixed mesh than its corners are, so the sum of both holds on either side. No
//! other part of the compiler is affected: it gets another scene.
//!
//! * `surface`: one frame, and the nearest place on it · `template`: the fixed mesh · `track`: one step
//!   of it · `runs`: the frames that share one · `blend`: loops.
//!
//! A fixed mesh cannot follow a surface that tears or merges. Then another one begins (a run, which `fluid`
//! supports anyway), and frames that no fixed mesh fits keep their own faces. Remarks give their number.

mod blend;
mod runs;
mod surface;
mod template;
mod track;

use crate::extent::{Extent, diagonal, is_usable_point};
use crate::frame_set::FrameSet;
use crate::{Cancellation, Error};
use glam::DVec3;
use meshreel_scene::sample::{ChannelSelection, World};
use meshreel_scene::{
    Channel, FaceSet, Identity, Mesh, MeshId, PlacedObject, Remark, Scene, Scope, Source, TimeSampling,
    Topology, Winding, sample,
};
use rayon::prelude::*;
use runs::{FoundRuns, Run, RunRequest};
use std::sync::Arc;
use surface::Surface;

/// The fraction of the tolerance that may be spent on the fixed mesh.
const SPENT_FRACTION: f64 = 0.5;

/// Divisor of the number of frames of a loop that are blended by default.
const BLEND_DIVISOR: usize = 8;

/// The outcome of re-meshing a mesh: its distance from the source, and the extent of its fixed faces.
#[derive(Clone, Debug, PartialEq)]
pub struct Remeshed {
    /// Largest distance of its points from the source's surface, and of the source's points from its own;
    /// object space.
    pub spent: f64,
    /// Bounds of the source, object space.
    pub extent: Extent<3>,
    /// By frame, the diagonal of the source's bounds, object space.
    pub diagonals: Vec<f64>,
    /// The number of points of the source, summed over frames.
    pub source_points: u64,
    /// The number of frames at the end that are blended into the start; they have no guarantee.
    pub blended: u32,
    /// The number of runs of fixed faces.
    pub runs: usize,
    /// The number of frames in these runs.
    pub frames: usize,
    /// The number of frames that keep their own faces.
    pub own_face_frames: usize,
    /// The largest number of points of a run.
    pub points: usize,
}

/// A scene in which meshes have fixed faces, with the outcome for each mesh.
pub struct RemeshOutcome {
    /// The scene.
    pub scene: Scene,
    /// By mesh, its outcome, if it was re-meshed.
    pub meshes: Vec<Option<Remeshed>>,
}

impl RemeshOutcome {
    /// Returns a sentence on each mesh that was re-meshed, for `--explain`.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        let all = self.scene.meshes.iter().zip(&self.meshes);
        all.filter_map(|(mesh, what)| {
            let what = what.as_ref()?;
            Some(format!(
                "{}: {} frames in {} runs of fixed faces, {} with their own, up to {} points",
                mesh.path, what.frames, what.runs, what.own_face_frames, what.points
            ))
        })
    }
}

/// The settings for all meshes.
#[derive(Clone, Copy, Debug)]
pub struct RemeshSettings {
    /// Effort, 1 … 9.
    pub effort: u32,
    /// Target for the working memory, in bytes.
    pub memory: u64,
    /// `true` if the animation is a closed cycle.
    pub cycle: bool,
    /// The number of frames at the end of a cycle that are blended into its start; `None` for the usual
    /// fraction.
    pub blend: Option<usize>,
    /// Channels that are compiled besides positions; they are lost here, with a remark.
    pub channels: ChannelSelection,
}

/// A scene, with the properties of its objects and the settings.
pub struct RemeshRequest<'a> {
    /// The source.
    pub scene: &'a Scene,
    /// Its placed objects.
    pub placed: &'a [PlacedObject],
    /// By object, `true` if its mesh is compiled.
    pub selected: &'a [bool],
    /// Time of each frame, in seconds.
    pub times: &'a [f64],
    /// By object, the frames in which it is visible.
    pub visible: &'a [FrameSet],
    /// By object, the largest scale of its world matrix.
    pub largest_scale: &'a [f64],
    /// By object, `true` if its world matrix is not finite in some frame.
    pub broken: &'a [bool],
    /// Resolves the tolerance of the object at a path: absolute in world units, from the world-space
    /// diagonal.
    pub tolerance: &'a (dyn Fn(&str, f64) -> f64 + Sync),
    /// Returns `true` if the object at a path is to be re-meshed.
    pub asked: &'a (dyn Fn(&str) -> bool + Sync),
    /// The settings for all meshes.
    pub settings: RemeshSettings,
    /// Cancels the work, which then ends with an error.
    pub cancellation: &'a Cancellation,
}

/// Returns the number of frames at the end of `frames` that a loop blends, as requested or the usual
/// fraction. `verify` computes it in the same way.
pub fn blend_window(frames: usize, asked: Option<usize>) -> usize {
    let most = frames.saturating_sub(2);
    asked.unwrap_or(frames.div_ceil(BLEND_DIVISOR)).min(most)
}

/// Re-meshes every mesh for which that is requested. `None` if nothing was changed.
pub fn remesh(given: &RemeshRequest<'_>, remarks: &mut Vec<Remark>) -> Result<Option<RemeshOutcome>, Error> {
    let mut placements: Vec<Vec<usize>> = vec![Vec::new(); given.scene.meshes.len()];
    for (i, place) in given.placed.iter().enumerate().filter(|(i, _)| given.selected[*i]) {
        if let Some(mesh) = given.scene.nodes[place.node].mesh {
            placements[mesh].push(i);
        }
    }
    let asked =
        |list: &Vec<usize>| !list.is_empty() && list.iter().all(|&i| (given.asked)(&given.placed[i].path));
    let wanted: Vec<MeshId> = (0..placements.len()).filter(|&m| asked(&placements[m])).collect();
    if wanted.is_empty() {
        return Ok(None);
    }
    let reach = reaches(given, &placements, &wanted)?;
    let done: Vec<RemeshResult> = wanted
        .par_iter()
        .zip(&reach)
        .map(|(&mesh, reach)| remesh_mesh(given, mesh, &placements[mesh], reach))
        .collect::<Result<_, Error>>()?;
    if done.iter().all(|(changed, said)| changed.is_none() && said.is_empty()) {
        let path = &given.scene.meshes[wanted[0]].path;
        remarks.push(Remark::new(path, "--remesh changes nothing: the faces of no mesh change"));
    }
    let mut out = RemeshOutcome { scene: given.scene.clone(), meshes: vec![None; given.scene.meshes.len()] };
    for (id, (changed, said)) in wanted.into_iter().zip(done) {
        remarks.extend(said);
        if let Some((mesh, what)) = changed {
            out.scene.meshes[id] = mesh;
            out.meshes[id] = Some(what);
        }
    }
    Ok(out.meshes.iter().any(Option::is_some).then_some(out))
}

/// Bounds of a mesh in object space, and its largest |coordinate| at each of its placements.
struct MeshReach {
    extent: Extent<3>,
    /// By frame, the diagonal of the bounds.
    diagonals: Vec<f64>,
    world: Vec<f64>,
}

fn reaches(
    given: &RemeshRequest<'_>,
    placements: &[Vec<usize>],
    wanted: &[MeshId],
) -> Result<Vec<MeshReach>, Error> {
    let mut out: Vec<MeshReach> = wanted
        .par_iter()
        .map(|&m| {
            let (mut extent, mut points) = (Extent::default(), Vec::new());
            let mut diagonals = Vec::with_capacity(given.times.len());
            for &time in given.times {
                given.cancellation.check()?;
                sample::positions_at(&given.scene.meshes[m], time, &mut points)?;
                let mut own = Extent::<3>::default();
                own.extend(points.iter().filter(|p| is_usable_point(p)));
                extent.join(&own);
                diagonals.push(diagonal(&own));
            }
            Ok(MeshReach { extent, diagonals, world: vec![0.0; placements[m].len()] })
        })
        .collect::<Result<_, Error>>()?;
    let mut world = World::new(given.scene, given.placed)?;
    for &time in given.times {
        world.evaluate(time)?;
        for (reach, &m) in out.iter_mut().zip(wanted) {
            let sides = [0, 1, 2].map(|k| reach.extent.component(k));
            for (far, &i) in reach.world.iter_mut().zip(&placements[m]) {
                for corner in 0..8 {
                    let side = |k: usize| [sides[k].0, sides[k].1][corner >> k & 1];
                    let p = DVec3::from_array([0, 1, 2].map(|k| f64::from(side(k))));
                    let there = world.matrix[i].transform_point3(p).abs().max_element();
                    *far = far.max(there);
                }
            }
        }
    }
    Ok(out)
}

/// A mesh with fixed faces and its outcome, if it has any; and remarks.
type RemeshResult = (Option<(Mesh, Remeshed)>, Vec<Remark>);

/// Gives fixed faces to a mesh whose faces change, if they fit enough of its frames.
fn remesh_mesh(
    given: &RemeshRequest<'_>,
    id: MeshId,
    placements: &[usize],
    reach: &MeshReach,
) -> Result<RemeshResult, Error> {
    let mesh = &given.scene.meshes[id];
    let mut remarks = Vec::new();
    let mut say = |what: String| remarks.push(Remark::new(&mesh.path, what));
    let shown: Vec<usize> = (0..given.times.len())
        .filter(|&f| placements.iter().any(|&i| given.visible[i].contains(f)))
        .collect();
    let times: Vec<f64> = shown.iter().map(|&f| given.times[f]).collect();
    if times.len() < 2 || sample::has_fixed_topology(mesh, &times)? && has_constant_points(mesh, &times)? {
        return Ok((None, remarks));
    }
    let Some(limit) = distance_limit(given, placements, reach) else {
        say("is not re-meshed: its tolerance or its transform leaves no room for that".into());
        return Ok((None, remarks));
    };
    let same: Vec<bool> =
        (0..times.len()).map(|k| k > 0 && same_samples(mesh, times[k - 1], times[k])).collect();
    let read = |frame: usize| {
        given.cancellation.check()?;
        Surface::read(mesh, times[frame])
    };
    let settings = given.settings;
    let source_points = count_points(mesh, &times)?;
    let effort = u64::from(settings.effort);
    let mut found = runs::find_runs(&RunRequest {
        frames: times.len(),
        read: &read,
        same: &same,
        limit,
        // Each frame several times, with meshes that are finer than it.
        work: source_points * 6 * (1 + effort),
        rounds: 1 + settings.effort / 2,
        memory: settings.memory,
        cancellation: given.cancellation,
    })?;
    let frames: usize = found.runs.iter().map(|run| run.points.len()).sum();
    if let Some(why) = too_few_frames(frames, times.len(), &found, limit) {
        say(why);
        return Ok((None, remarks));
    }
    let mut blended = 0;
    if settings.cycle {
        let window = blend_window(times.len(), settings.blend);
        let always = shown.len() == given.times.len();
        match blend::blend(&mut found.runs, &read, &times, mesh, limit, window, always)? {
            Ok(count) => blended = count,
            Err(why) => say(format!("the end is not blended into the start: {why}")),
        }
    }
    let what = Remeshed {
        spent: limit,
        extent: reach.extent,
        diagonals: reach.diagonals.clone(),
        source_points,
        blended: blended as u32,
        runs: found.runs.len(),
        frames,
        own_face_frames: times.len() - frames,
        points: found.runs.iter().map(|run| run.template.points.len()).max().unwrap_or(0),
    };
    remarks.extend(outcome_remarks(given, mesh, &what, &found, &shown));
    let mesh = replace(mesh, found.runs, &shown, given.times, &same);
    Ok((Some((mesh, what)), remarks))
}

/// Returns the largest distance that the fixed mesh may have from the source, in object space: a fraction of
/// the tightest tolerance. `None` if an object's tolerance leaves no room for that, or its transform is
/// broken.
fn distance_limit(given: &RemeshRequest<'_>, placements: &[usize], reach: &MeshReach) -> Option<f64> {
    let sides = [0, 1, 2].map(|k| reach.extent.component(k)).map(|(low, high)| [low, high]);
    let object = sides.as_flattened().iter().fold(0.0f64, |m, v| m.max(f64::from(v.abs())));
    let mut limit = f64::INFINITY;
    for (&i, world) in placements.iter().zip(&reach.world) {
        let scale = given.largest_scale[i];
        let diagonal = given.visible[i].largest(reach.diagonals.len(), |frame| reach.diagonals[frame]);
        let tolerance = (given.tolerance)(&given.placed[i].path, diagonal * scale);
        // Room for the precision of float32 must remain.
        let least = 2.0 * 4.0 * crate::extent::ulp(world.max(object));
        if given.broken[i] || tolerance < least {
            limit = 0.0;
        } else if scale > 0.0 {
            limit = limit.min(SPENT_FRACTION * tolerance / scale);
        }
    }
    (limit > 0.0 && limit.is_finite()).then_some(limit)
}

/// Returns the number of points of the source, summed over these times.
fn count_points(mesh: &Mesh, times: &[f64]) -> Result<u64, Error> {
    let mut count = 0u64;
    let mut points = Vec::new();
    for &time in times {
        sample::positions_at(mesh, time, &mut points)?;
        count += points.len() as u64;
    }
    Ok(count)
}

/// Returns the reason why a mesh is not re-meshed, if fixed faces fit less than half of its frames: the
/// others would lose their part of the tolerance for them.
fn too_few_frames(frames: usize, all: usize, found: &FoundRuns, limit: f64) -> Option<String> {
    if frames == 0 {
        return Some(format!("is not re-meshed: {}", why_not(found, limit)));
    }
    (2 * frames < all).then(|| {
        format!(
            "is not re-meshed: fixed faces would hold {frames} of {all} frames only; {}",
            why_not(found, limit)
        )
    })
}

/// Returns the remarks on a mesh that was re-meshed.
fn outcome_remarks(
    given: &RemeshRequest<'_>,
    mesh: &Mesh,
    what: &Remeshed,
    found: &FoundRuns,
    shown: &[usize],
) -> Vec<Remark> {
    let mut remarks = Vec::new();
    let mut say = |what: String| remarks.push(Remark::new(&mesh.path, what));
    // No remark if one fixed mesh fits all frames.
    if what.runs > 1 || what.own_face_frames > 0 {
        say(sentence(what, found, shown));
    }
    if what.own_face_frames > 0 {
        say(format!(
            "{} of {} frames keep their own faces: {}",
            what.own_face_frames,
            what.own_face_frames + what.frames,
            why_not(found, what.spent)
        ));
    }
    if what.blended > 0 {
        let last = given.times.len() - 1;
        say(format!(
            "frames {} to {last} are blended into the start; nothing is promised of their distance from the source",
            last + 1 - what.blended as usize
        ));
    }
    let channels = given.settings.channels;
    let dropped = [
        (mesh.normals.is_some() && channels.normals, "its own normals (new ones are made)"),
        (!mesh.uvs.is_empty() && channels.uvs, "texture coordinates"),
        (!mesh.colours.is_empty() && channels.colours, "colours"),
    ];
    let dropped: Vec<&str> = dropped.iter().filter(|d| d.0).map(|d| d.1).collect();
    if !dropped.is_empty() {
        say(format!("re-meshed without {}", dropped.join(" and ")));
    }
    remarks
}

fn sentence(what: &Remeshed, found: &FoundRuns, shown: &[usize]) -> String {
    let spans: Vec<String> = (found.runs.iter().take(4))
        .map(|run| {
            let last = run.first + run.points.len() - 1;
            format!("{}–{}", shown[run.first], shown[last])
        })
        .collect();
    let more = if found.runs.len() > 4 { ", …" } else { "" };
    let faces = match what.runs {
        1 => "fixed faces".into(),
        runs => format!("{runs} sets of fixed faces, one after the other"),
    };
    format!(
        "re-meshed: frames {}{more} have {faces}, of at most {} points; its promise is the distance of vertices from the other surface",
        spans.join(", "),
        what.points
    )
}

fn why_not(found: &FoundRuns, limit: f64) -> String {
    match (found.cut, found.needed) {
        (true, _) => "the work that --effort allows was done before".into(),
        (_, Some(needed)) => format!(
            "no fixed faces hold them; a tolerance of {} times the present one would carry more of them",
            ((needed / limit) * 10.0).ceil() / 10.0
        ),
        (_, None) => {
            "no fixed faces hold them, because parts of the surface tear, fold, or grow together".into()
        }
    }
}

/// Returns `true` if the number of points is constant.
fn has_constant_points(mesh: &Mesh, times: &[f64]) -> Result<bool, Error> {
    let (mut points, mut count) = (Vec::new(), None);
    for &time in times {
        sample::positions_at(mesh, time, &mut points)?;
        if *count.get_or_insert(points.len()) != points.len() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns `true` if the mesh is the same at both times, by the samples' identities.
fn same_samples(mesh: &Mesh, a: f64, b: f64) -> bool {
    let at = |time| mesh.positions.locate(time);
    let ((i, f), (j, g)) = (at(a), at(b));
    let positions =
        f == g && (f == 0.0 || i == j) && mesh.positions.identity(i) == mesh.positions.identity(j);
    positions && sample::topology_identity(mesh, a) == sample::topology_identity(mesh, b)
}

/// The source of a frame's mesh.
#[derive(Clone, Copy)]
enum FrameSource {
    /// The source mesh at this time.
    Own(f64),
    /// A run, and a frame of it.
    Run(usize, usize),
}

/// The changed mesh, frame by frame.
struct RemeshedFrames {
    mesh: Mesh,
    runs: Vec<Run>,
    frame_sources: Vec<FrameSource>,
    /// By frame, the first frame that has the same points.
    first: Vec<usize>,
}

impl RemeshedFrames {
    /// Returns identities that are equal if the faces are.
    fn faces(&self, i: usize) -> Identity {
        match self.frame_sources[i] {
            FrameSource::Run(run, _) => 1 << 64 | run as Identity,
            FrameSource::Own(_) => self.first[i] as Identity,
        }
    }

    fn read_own(
        &self,
        i: usize,
        out: &mut Vec<i32>,
        read: impl Fn(&Mesh, f64, &mut Vec<i32>) -> Result<(), meshreel_scene::Error>,
        make: impl Fn(&Run, &mut Vec<i32>),
    ) -> Result<(), meshreel_scene::Error> {
        out.clear();
        match self.frame_sources[i] {
            FrameSource::Own(time) => read(&self.mesh, time, out),
            FrameSource::Run(run, _) => {
                make(&self.runs[run], out);
                Ok(())
            }
        }
    }
}

struct RemeshedPositions(Arc<RemeshedFrames>);
struct RemeshedCounts(Arc<RemeshedFrames>);
struct RemeshedCorners(Arc<RemeshedFrames>);
/// A set of faces, and its triangles by run.
struct RemeshedFaceSet(Arc<RemeshedFrames>, usize, Vec<Vec<i32>>);

impl Source<[f32; 3]> for RemeshedPositions {
    fn len(&self) -> usize {
        self.0.frame_sources.len()
    }
    fn identity(&self, i: usize) -> Identity {
        self.0.first[i] as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; 3]>) -> Result<(), meshreel_scene::Error> {
        match self.0.frame_sources[i] {
            FrameSource::Own(time) => sample::positions_at(&self.0.mesh, time, out),
            FrameSource::Run(run, frame) => {
                out.clone_from(&self.0.runs[run].points[frame]);
                Ok(())
            }
        }
    }
}

impl Source<i32> for RemeshedCounts {
    fn len(&self) -> usize {
        self.0.frame_sources.len()
    }
    fn identity(&self, i: usize) -> Identity {
        self.0.faces(i)
    }
    fn read(&self, i: usize, out: &mut Vec<i32>) -> Result<(), meshreel_scene::Error> {
        let read = |mesh: &Mesh, time, out: &mut _| sample::read_held(&mesh.face_counts, mesh, time, out);
        self.0.read_own(i, out, read, |run, out| out.resize(run.template.triangles.len(), 3))
    }
}

impl Source<i32> for RemeshedCorners {
    fn len(&self) -> usize {
        self.0.frame_sources.len()
    }
    fn identity(&self, i: usize) -> Identity {
        self.0.faces(i)
    }
    fn read(&self, i: usize, out: &mut Vec<i32>) -> Result<(), meshreel_scene::Error> {
        let read = |mesh: &Mesh, time, out: &mut _| sample::read_held(&mesh.face_indices, mesh, time, out);
        self.0.read_own(i, out, read, |run, out| {
            for &[a, b, c] in &run.template.triangles {
                let corners = match self.0.mesh.winding {
                    Winding::CounterClockwise => [a, b, c],
                    Winding::Clockwise => [a, c, b],
                };
                out.extend(corners.map(|v| v as i32));
            }
        })
    }
}

impl Source<i32> for RemeshedFaceSet {
    fn len(&self) -> usize {
        self.0.frame_sources.len()
    }
    fn identity(&self, i: usize) -> Identity {
        self.0.faces(i)
    }
    fn read(&self, i: usize, out: &mut Vec<i32>) -> Result<(), meshreel_scene::Error> {
        match self.0.frame_sources[i] {
            FrameSource::Own(time) => {
                let mesh = &self.0.mesh;
                sample::read_held(&mesh.face_sets[self.1].faces, mesh, time, out)
            }
            FrameSource::Run(run, _) => {
                out.clone_from(&self.2[run]);
                Ok(())
            }
        }
    }
}

/// Returns `mesh` with the faces and points of `runs`; other frames are unchanged.
fn replace(mesh: &Mesh, runs: Vec<Run>, shown: &[usize], times: &[f64], same: &[bool]) -> Mesh {
    let mut of_shown: Vec<FrameSource> = shown.iter().map(|&f| FrameSource::Own(times[f])).collect();
    for (r, run) in runs.iter().enumerate() {
        for k in 0..run.points.len() {
            of_shown[run.first + k] = FrameSource::Run(r, k);
        }
    }
    let mut first_shown: Vec<usize> = (0..shown.len()).collect();
    for k in 1..shown.len() {
        let goes_on = match (of_shown[k - 1], of_shown[k]) {
            (FrameSource::Own(_), FrameSource::Own(_)) => same[k],
            (FrameSource::Run(a, i), FrameSource::Run(b, j)) => {
                a == b && runs[a].points[i] == runs[b].points[j]
            }
            _ => false,
        };
        if goes_on {
            first_shown[k] = first_shown[k - 1];
        }
    }
    // Hidden frames repeat the last visible one, or the first.
    let mut at = 0;
    let (mut places, mut first) = (Vec::new(), Vec::new());
    for frame in 0..times.len() {
        while at + 1 < shown.len() && shown[at + 1] <= frame {
            at += 1;
        }
        places.push(of_shown[at]);
        first.push(first_shown[at]);
    }
    // By run and set, the triangles whose faces are in the set in the run's first frame.
    let sets: Vec<Vec<Vec<i32>>> = (0..mesh.face_sets.len())
        .map(|s| {
            let members = |run: &Run| {
                let mut faces = Vec::new();
                let time = times[shown[run.first]];
                // A failure to read is not expected here, since the same was read before.
                sample::read_held(&mesh.face_sets[s].faces, mesh, time, &mut faces).unwrap_or_default();
                faces.sort_unstable();
                let is_in = |t: &usize| faces.binary_search(&(run.template.face[*t] as i32)).is_ok();
                (0..run.template.triangles.len()).filter(is_in).map(|t| t as i32).collect()
            };
            runs.iter().map(members).collect()
        })
        .collect();
    let whole = runs.len() == 1 && runs[0].points.len() == shown.len();
    let names: Vec<String> = mesh.face_sets.iter().map(|set| set.name.clone()).collect();
    let frames = Arc::new(RemeshedFrames { mesh: mesh.clone(), runs, frame_sources: places, first });
    let sampling = Arc::new(TimeSampling::Acyclic { times: times.to_vec() });
    let faces = |source: Arc<dyn Source<i32>>| Channel::new(sampling.clone(), source);
    let set_faces = |s, sets| faces(Arc::new(RemeshedFaceSet(frames.clone(), s, sets)));
    Mesh {
        path: mesh.path.clone(),
        positions: Channel::new(sampling.clone(), Arc::new(RemeshedPositions(frames.clone()))),
        face_counts: faces(Arc::new(RemeshedCounts(frames.clone()))),
        face_indices: faces(Arc::new(RemeshedCorners(frames.clone()))),
        winding: mesh.winding,
        topology: match whole {
            true => Topology::Homogeneous,
            false => Topology::Heterogeneous,
        },
        normals: None,
        uvs: Vec::new(),
        colours: Vec::new(),
        velocities: None,
        face_sets: (names.into_iter().zip(sets).enumerate())
            .map(|(s, (name, sets))| FaceSet { name, faces: set_faces(s, sets) })
            .collect(),
        other_attributes: Vec::new(),
        is_subd: mesh.is_subd,
        integers: Vec::new(),
        custom_attributes: (mesh.custom_attributes.iter())
            .filter(|n| n.attribute.scope == Scope::Constant)
            .cloned()
            .collect(),
        names: Vec::new(),
        skin: None,
        particles: None,
    }
}
