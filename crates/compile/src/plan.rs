//! The list of passes, in the order they run. Each is a file of this crate; [`compile`] reads as the table of
//! contents.

use crate::mesh::channels::{self, Corners};
use crate::mesh::evaluate::Scratch;
use crate::mesh::lattice::choose_streams;
use crate::mesh::layout;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::{Normals, Prepared, diagonal};
use crate::mesh::scan::Scan;
use crate::mesh::skin_search::SkinSearch;
use crate::mesh::source::Source;
use crate::meter::{Meter, Share};
use crate::method::fineness;
use crate::method::mesh_coder::{self, Sources};
use crate::nodes::budget::{Budget, LEAST_ROOM, LEAST_ULPS, no_room};
use crate::nodes::flatten::{self, FlatNode};
use crate::nodes::locators;
use crate::nodes::motion::{self, Motion};
use crate::options::globs::glob;
use crate::report::{Between, Inspect, Phase, Progress, Report};
use crate::select::selection::{Selection, named_parts};
use crate::select::{between, identical, lead, left_out, ranges};
use crate::write::extras::Extras;
use crate::write::file::File;
use crate::write::job::Job;
use crate::write::node_coder::{self, NodeCoder};
use crate::write::report::Written;
use crate::{Error, MethodChoice, Options, PartsChoice, Preset, RigChoice, Tolerance};
use globset::GlobMatcher;
use meshreel_codec::record::Method;
use meshreel_codec::soft::schedule::Schedule;
use meshreel_process::extent::{self, ulp};
use meshreel_process::frame_set::FrameSet;
use meshreel_process::remesh::{self, Given, Outcome, Remeshed};
use meshreel_scene::sample::Channels;
use meshreel_scene::{MeshId, Node, Placed, Remark, SAME_TIME, Scene, hierarchy, rig, sample};
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

mod ahead;
mod transforms;

/// Bytes that each mesh keeps while a scene is compiled, besides its points: what small meshes were measured
/// to take.
const MESH: u64 = 23_000;

/// Compiles `scene` into `target`. `remarks` are those of the reader; the report has them and its own. The
/// target is replaced only when everything is written, has kept its promise, and `inspect` does not refuse
/// it.
pub fn compile(
    scene: &Scene,
    remarks: Vec<Remark>,
    target: &Path,
    options: &Options,
    inspect: Inspect<'_>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let started = Instant::now();
    options.check()?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(options.jobs)
        .build()
        .map_err(|e| Error::misuse(format!("--jobs {}: {e}", options.jobs)))?;
    let mut remarks = remarks;
    let clips_only = match options.clips_only {
        true => {
            let selection = Selection::new(options)?;
            let selected = |path: &str| selection.has(path);
            Some(hierarchy::clips_only(scene, &selected, &mut remarks)?)
        }
        false => None,
    };
    let scene = clips_only.as_ref().unwrap_or(scene);
    let standing = (options.rig == RigChoice::Only).then(|| rig::standing(scene));
    let scene = standing.as_ref().unwrap_or(scene);
    if scene.meshes.is_empty() && !scene.clips.is_empty() {
        remarks.extend(options.for_nothing());
        let mut report =
            pool.install(|| crate::write::clips::write(scene, remarks, target, options, inspect, progress))?;
        report.seconds = started.elapsed().as_secs_f64();
        return Ok(report);
    }
    let overrides = options
        .meshes
        .iter()
        .map(|over| glob("the glob of a mesh section", &over.glob))
        .collect::<Result<_, Error>>()?;
    let meter = Meter::new(progress);
    let mut compiler = Compiler { scene, options, overrides, remarks, passes: Vec::new(), remeshed: &[] };

    let placed = scene.expand()?;
    let (selected, locators) = compiler.select(&placed)?;
    let found = [&selected[..], &locators];
    let kept: Vec<bool> = selected.iter().zip(&locators).map(|(s, l)| *s || *l).collect();
    let left_out = left_out::remarks(scene, &placed, &kept, options)?;
    compiler.remarks.extend(left_out);
    let samples = compiler.times(&placed, &selected, &kept)?;
    let mut motion = pool.install(|| motion::scan(scene, &placed, &kept, &samples))?;
    let between = pool.install(|| compiler.between(&placed, found, &motion, &samples, None))?;
    let times = match &between {
        Some(more) if more.added > 0 => {
            motion = pool.install(|| motion::scan(scene, &placed, &kept, &more.times))?;
            more.times.clone()
        }
        _ => samples.clone(),
    };
    let ranges = ranges::of_frames(scene, &times, options, &mut compiler.remarks);
    if let Some(said) = ranges::said(&ranges) {
        compiler.pass("ranges", said);
    }
    let diagonals = pool.install(|| locators::diagonals(scene, &placed, found, &times))?;
    let outcome = pool.install(|| compiler.remesh(&placed, &selected, &motion, &times))?;
    let scene = outcome.as_ref().map_or(scene, |outcome| &outcome.scene);
    if let Some(outcome) = &outcome {
        (compiler.scene, compiler.remeshed) = (&outcome.scene, &outcome.meshes);
    }
    let same = compiler.identical(&placed, &selected)?;
    let mut meshes =
        pool.install(|| compiler.analyse(&placed, &selected, &same, &motion, &times, progress))?;
    let (nodes, errors) =
        pool.install(|| compiler.flatten(&placed, found, &diagonals, &mut motion, &mut meshes, &times))?;
    let between = pool.install(|| {
        let again = |baked: &[bool]| compiler.between(&placed, found, &motion, &times, Some(baked));
        between::settle(between, &nodes, placed.len(), again)
    })?;
    compiler.say_between(between.as_ref(), samples.len());
    let plans = pool.install(|| compiler.plan_meshes(&placed, meshes, &nodes, &errors, &times, &meter))?;
    let held = plans.len() as u64 * MESH;
    if held > options.memory {
        compiler.remarks.push(Remark::new(
            "/",
            format!(
                "{} meshes keep about {} MB while they are compiled, more than the {} MB of --memory; fewer at a time (--include) keep less",
                plans.len(),
                held.div_ceil(1_000_000),
                options.memory / 1_000_000,
            ),
        ));
    }
    let rigs =
        crate::rig::candidates::candidates(scene, &plans, &errors, times[0], options, &mut compiler.remarks)?;
    let (clip_chunks, clips, rigs) = match scene.clips.is_empty() {
        true => Default::default(),
        false => pool.install(|| {
            let remarks = &mut compiler.remarks;
            crate::write::clips::chunks_and_rigs(scene, options, &rigs, remarks, progress)
        })?,
    };
    if options.strict && !compiler.remarks.is_empty() {
        return Err(Error::Strict { remarks: compiler.remarks });
    }
    if options.rig == RigChoice::Only {
        crate::rig::candidates::none_missing(&plans, &rigs, &compiler.remarks)?;
    }
    let mut job = Job {
        clip_chunks,
        rigs,
        clip_raw_bytes: clips.iter().map(|clip| clip.raw_bytes).sum(),
        scene,
        placed: &placed,
        times: &times,
        samples: samples.len(),
        between: between.as_ref().and_then(|found| found.stored(options)),
        ranges,
        nodes: &nodes,
        plans,
        tolerances: errors,
        options,
        motion: &motion,
        raw_transform_bytes: motion::raw_bytes(scene, &placed, &kept),
        exact: false,
        loose: Default::default(),
    };
    let mut report = match write(&job, target, &pool, inspect, progress) {
        Err(_) if job.loose.load(Ordering::Relaxed) => {
            compiler.pass("nodes", "transforms are kept as they are".into());
            job.exact = true;
            write(&job, target, &pool, inspect, progress)?
        }
        done => done?,
    };
    compiler.pass("write", format!("{} frames, {} bytes", times.len(), report.file_bytes));
    compiler.passes.extend(report.of_triangles(options));
    report.clips.extend(clips);
    report.between = between;
    report.tree = flatten::print(&nodes, &placed);
    compiler.remarks.append(&mut report.remarks);
    compiler.remarks.sort();
    compiler.remarks.dedup();
    report.remarks = compiler.remarks;
    report.passes = compiler.passes;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(report)
}

/// Writes the file, pass by pass, and reports.
pub fn write(
    job: &Job<'_>,
    target: &Path,
    pool: &rayon::ThreadPool,
    inspect: Inspect<'_>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    let layered = job.options.preset != Preset::Classic;
    let schedule = Schedule::new(job.times.len() as u32, job.options.restart());
    // What was decided → an open file.
    let mut file = File::create(job, target)?;
    // Plans → points, where vertices coincide, and the frames of their streams.
    let points: Vec<_> = job.plans.iter().map(|(plan, _)| mesh_coder::points(plan)).collect();
    let sources = Sources::new(&job.plans, &points);
    // These → by mesh the method and the settings that take the fewest bytes.
    let ladder = mesh_coder::ladder(job.options);
    let coders = match layered {
        true => pool.install(|| sources.coders(&job.plans, schedule, &ladder))?,
        false => Vec::new(),
    };
    // Coders → chunks of triangles, static values, maps back to the source.
    file.static_data(&coders)?;
    // Meshes → LOD levels, triangle visibility, part attributes → chunks.
    let extras = Extras::new(job, &coders, pool)?;
    file.extras(&extras)?;
    // Moving nodes → coders of their transforms.
    let mut nodes = match layered {
        true => pool.install(|| NodeCoder::new(job, schedule))?,
        false => None,
    };
    // Coders → units or frames, in parallel and in order → chunks.
    file.frames(&coders, &mut nodes, schedule, pool, progress)?;
    // What is known when all frames are coded.
    file.end_states(&coders)?;
    file.changing_source_maps(&coders)?;
    file.frame_table()?;
    file.clips_rigs_ranges()?;
    let description = file.describe(&coders, nodes.as_ref())?;
    // A complete file → one that was opened, decoded, and has its name.
    let mut remarks = Vec::new();
    let bytes = file.publish(pool, inspect, progress, &mut remarks)?;
    let written = Written {
        job,
        file: &file,
        coders: &coders,
        nodes: nodes.as_ref(),
        extras: &extras,
        description: &description,
    };
    Ok(written.report(bytes, remarks))
}

/// What there is to know of a mesh before tolerances come into it, pass by pass.
pub fn prepare(
    source: &Source<'_>,
    method: MethodChoice,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<Prepared, Error> {
    // Positions of all frames → bounds, what moves, which points coincide, runs of equal faces.
    let scan = Scan::new(source, method, remarks)?;
    // Faces of the first frame → those that can be used, and their corners.
    let mut corners = Corners::new(source, &scan)?;
    // Normals, uvs and colours of all frames → which are there, and which corners differ.
    let channels = channels::channels(source, &scan, &mut corners, remarks)?;
    // Face sets → a material for each face.
    let materials = corners.materials(source)?;
    let mut prepared = Prepared::new(&scan, channels);
    let dropped = corners.faces.dropped.sentence();
    let mut remark = |what: String| remarks.push(Remark::new(&source.mesh.path, what));
    if !scan.fixed {
        // Everything else comes frame by frame.
        dropped.into_iter().for_each(|sentence| remark(format!("{sentence} (first frame)")));
        prepared.materials = channels::changing_materials(source)?;
        return Ok(prepared);
    }
    dropped.into_iter().chain(materials.remarks.iter().cloned()).for_each(&mut remark);
    // Angles between faces → groups of corners that share a normal.
    let groups = layout::smoothing_groups(&scan, &mut corners, prepared.normals, options.smooth_angle);
    // Faces and corners → triangles and vertices.
    let (mut fixed, mut unordered) = layout::triangles(source, &scan, corners, groups, &materials, remarks);
    // Triangles → the same, vertices split where bitangents turn either way.
    let oriented = layout::orientation(source, &prepared, &fixed, &mut unordered)?;
    // These → the order of a grid, or the one that is predicted and drawn best.
    let count = materials.materials.len();
    let order = layout::order(&mut fixed, &oriented, &unordered, count, options.preset);
    let from = layout::put_in_order(&mut fixed, order, &oriented, &unordered);
    // Ordered triangles → what the source map says of faces, tangent groups, vertices that coincide.
    layout::source_faces(source, &mut fixed, &unordered, &from, &materials, options);
    layout::tangent_groups(source, &prepared, &mut fixed)?;
    fixed.weld = layout::welded(scan.weld, &fixed.vertex_point);
    prepared.materials = materials.materials;
    prepared.fixed = Some(fixed);
    Ok(prepared)
}

/// A unique mesh on its way: where it is shown, and what was found.
pub struct Candidate<'a> {
    /// The source mesh.
    pub mesh: MeshId,
    /// Objects that show it.
    pub placements: Vec<usize>,
    /// Shown somewhere in these frames.
    pub shown: FrameSet,
    /// Baked to world space (then it has one placement).
    pub baked: bool,
    /// Method asked for.
    pub method: MethodChoice,
    /// Where its frames come from.
    pub source: Source<'a>,
    /// Outcome of the first pass.
    pub prepared: Prepared,
}

struct Compiler<'a> {
    scene: &'a Scene,
    options: &'a Options,
    /// Which paths the sections in `options.meshes` are for.
    overrides: Vec<GlobMatcher>,
    remarks: Vec<Remark>,
    passes: Vec<(String, String)>,
    /// By mesh what was done to its faces.
    remeshed: &'a [Option<Remeshed>],
}

impl<'a> Compiler<'a> {
    fn pass(&mut self, name: &str, what: String) {
        self.passes.push((name.into(), what));
    }

    /// Which placed objects' meshes are compiled, and which are locators.
    fn select(&mut self, placed: &[Placed]) -> Result<(Vec<bool>, Vec<bool>), Error> {
        let selection = Selection::new(self.options)?;
        let mut selected = vec![false; placed.len()];
        let mut all = 0;
        let locators = meshreel_scene::locators::find(self.scene, placed, &|_| true);
        let meshes = (placed.iter().zip(&locators))
            .filter(|(place, locator)| **locator || self.scene.nodes[place.node].mesh.is_some());
        let paths = meshes.map(|(place, _)| &place.path[..]);
        let unused = Selection::unused(self.options, self.scene.clips.is_empty(), paths)?;
        self.remarks.extend(unused);
        for (i, place) in placed.iter().enumerate() {
            let Some(mesh) = self.scene.nodes[place.node].mesh else {
                continue;
            };
            all += 1;
            if selection.has(&place.path) {
                let mesh = &self.scene.meshes[mesh];
                if mesh.positions.is_empty() {
                    self.remarks.push(Remark::new(&place.path, "has no samples of points and is left out"));
                } else {
                    selected[i] = true;
                }
            }
        }
        let count = selected.iter().filter(|s| **s).count();
        let moves = |node: &Node| (node.transform.as_ref()).is_some_and(|t| t.matrix.len() > 1);
        if count == 0 {
            let what = match all {
                0 => format!(
                    "there is no mesh with samples in the input: nothing to compile{}",
                    match self.scene.nodes.iter().filter(|node| moves(node)).count() {
                        0 => String::new(),
                        moving => format!(
                            "; --clips-only keeps its {moving} moving transforms (of cameras, locators or joints) as a clip"
                        ),
                    }
                ),
                _ => format!("none of the {all} meshes is left to compile (check --include and --exclude)"),
            };
            return Err(Error::Unsupported { what });
        }
        let has = |(place, locator): (&Placed, bool)| locator && selection.has(&place.path);
        let locators: Vec<bool> = placed.iter().zip(locators).map(has).collect();
        let said = match locators.iter().filter(|l| **l).count() {
            0 => String::new(),
            others => format!(", {others} locators (nodes without meshes)"),
        };
        self.pass("select", format!("{count} of {all} placed meshes{said}"));
        named_parts(self.scene, self.options, placed, &selected)?;
        Ok((selected, locators))
    }

    fn times(&mut self, placed: &[Placed], selected: &[bool], kept: &[bool]) -> Result<Vec<f64>, Error> {
        let times = sample::frame_times(self.scene, placed, kept, &self.options.frame_options())?;
        // Without attributes: where they alone make it longer, that is a slip of an exporter, most of the
        // time.
        let (start, end) = (times[0], times[times.len() - 1]);
        if self.options.range.is_none() {
            let moving = sample::FrameOptions {
                channels: Channels { normals: false, uvs: false, colours: false, attributes: false },
                ..self.options.frame_options()
            };
            let own = sample::frame_times(self.scene, placed, kept, &moving)?;
            let (first, last) = (own[0], own[own.len() - 1]);
            let beyond = |first: f64, last: f64| start + SAME_TIME < first || last + SAME_TIME < end;
            if own.len() > 1 && beyond(first, last) {
                self.remarks.push(Remark::new(
                    "/",
                    format!(
                        "normals, uvs, colours or other attributes change from {start} s to {end} s and all else from {first} s to {last} s; --range {first}s:{last}s leaves away what is beyond"
                    ),
                ));
            } else if kept != selected {
                let options = self.options.frame_options();
                let own = sample::frame_times(self.scene, placed, selected, &options)?;
                let (first, last) = (own[0], own[own.len() - 1]);
                if own.len() > 1 && beyond(first, last) {
                    let what = format!(
                        "locators (nodes without meshes) move from {start} s to {end} s and meshes from {first} s to {last} s; --range {first}s:{last}s leaves away what is beyond, --exclude the nodes"
                    );
                    self.remarks.push(Remark::new("/", what));
                }
            }
        }
        if times.len() > sample::MAX_FRAMES {
            return Err(Error::Limit {
                what: "frames".into(),
                asked: times.len() as u64,
                allowed: sample::MAX_FRAMES as u64,
            });
        }
        self.pass(
            "times",
            format!("{} frames from {:.6} s to {:.6} s", times.len(), times[0], times[times.len() - 1]),
        );
        Ok(times)
    }

    /// What is between samples, and frames where it bends away. `baked`: only looks.
    fn between(
        &self,
        placed: &[Placed],
        [selected, locators]: [&[bool]; 2],
        motion: &Motion,
        times: &[f64],
        baked: Option<&[bool]>,
    ) -> Result<Option<Between>, Error> {
        between::frames(&between::Given {
            scene: self.scene,
            placed,
            selected,
            locators,
            baked,
            motion,
            times,
            tolerance: &|path| self.tolerance(path),
            rigs: self.options.rig == RigChoice::Keep,
            choice: self.options.between,
            add: self.options.fps.is_none() && baked.is_none(),
        })
    }

    fn say_between(&mut self, found: Option<&Between>, samples: usize) {
        if let Some(found) = found {
            self.pass("between", found.said(samples));
            self.remarks.extend(found.remark(self.options));
        }
    }

    fn identical(&mut self, placed: &[Placed], selected: &[bool]) -> Result<Vec<MeshId>, Error> {
        let mut used = vec![false; self.scene.meshes.len()];
        for (place, _) in placed.iter().zip(selected).filter(|(_, s)| **s) {
            if let Some(mesh) = self.scene.nodes[place.node].mesh {
                used[mesh] = true;
            }
        }
        let same = identical::find(self.scene, &used)?;
        let unique = same.iter().enumerate().filter(|(i, s)| used[*i] && *i == **s).count();
        self.pass(
            "identical",
            format!("{unique} different meshes of {}", used.iter().filter(|u| **u).count()),
        );
        Ok(same)
    }

    fn remesh(
        &mut self,
        placed: &[Placed],
        selected: &[bool],
        motion: &Motion,
        times: &[f64],
    ) -> Result<Option<Outcome>, Error> {
        let this = &*self;
        let given = Given {
            scene: self.scene,
            placed,
            selected,
            times,
            visible: &motion.visible,
            largest_scale: &motion.largest_scale,
            broken: &motion.broken,
            tolerance: &|path, diagonal| match this.tolerance(path) {
                Tolerance::Absolute(t) => t,
                Tolerance::Relative(part) => part * diagonal,
            },
            asked: &|path| {
                let sections = this.overrides(path).filter_map(|o| o.remesh);
                sections.last().unwrap_or(this.options.remesh)
            },
            settings: remesh::Settings {
                effort: self.options.effort,
                memory: self.options.memory,
                cycle: self.options.cycle,
                blend: self.options.remesh_blend,
                channels: self.options.channels,
            },
        };
        let mut remarks = Vec::new();
        let outcome = remesh::remesh(&given, &mut remarks)?;
        self.remarks.append(&mut remarks);
        let said = outcome.iter().flat_map(Outcome::sentences);
        self.passes.extend(said.map(|what| ("remesh".into(), what)));
        Ok(outcome)
    }

    fn method(&self, path: &str) -> MethodChoice {
        self.overrides(path).filter_map(|o| o.method).last().unwrap_or(self.options.method)
    }

    fn parts<'b>(&'b self, path: &'b str) -> &'b PartsChoice {
        let over = self.overrides(path).filter_map(|o| o.parts.as_ref());
        over.last().unwrap_or(&self.options.parts)
    }

    fn tolerance(&self, path: &str) -> Tolerance {
        self.overrides(path).filter_map(|o| o.tolerance).last().unwrap_or(self.options.tolerance)
    }

    fn overrides<'b>(&'b self, path: &'b str) -> impl Iterator<Item = &'b crate::MeshOverride> {
        let sections = self.overrides.iter().zip(&self.options.meshes);
        sections.filter(move |(glob, _)| glob.is_match(path)).map(|(_, over)| over)
    }

    fn source(
        &self,
        mesh: MeshId,
        times: &[f64],
        shown: &FrameSet,
        matrices: Option<Vec<glam::DMat4>>,
    ) -> Source<'a> {
        let channels = self.options.channels;
        // Hidden frames read the last frame shown before them, or the first one after.
        let mut last = (0..times.len()).find(|&f| shown.contains(f)).unwrap_or(0);
        let read: Vec<usize> = (0..times.len())
            .map(|f| {
                last = if shown.contains(f) { f } else { last };
                last
            })
            .collect();
        let times: Vec<f64> = read.iter().map(|&f| times[f]).collect();
        let matrices = matrices.map(|all| read.iter().map(|&f| all[f]).collect());
        Source {
            mesh: &self.scene.meshes[mesh],
            frames: times.len(),
            start: 0,
            moves: None,
            first_time: times[0],
            fallback: Vec::new(),
            times,
            matrices,
            normals: channels.normals,
            uvs: channels.uvs,
            colours: channels.colours,
            remeshed: self.remeshed.get(mesh).and_then(Option::as_ref),
        }
    }

    /// The same, as far as it moves, and what is to be known of it.
    fn prepared(
        &self,
        mesh: MeshId,
        times: &[f64],
        shown: &FrameSet,
        matrices: Option<Vec<glam::DMat4>>,
        method: MethodChoice,
        remarks: &mut Vec<Remark>,
    ) -> Result<(Source<'a>, Prepared), Error> {
        let mut source = self.source(mesh, times, shown, matrices.clone());
        if self.options.preset != Preset::Classic && method != MethodChoice::Fluid {
            let schedule = Schedule::new(times.len() as u32, self.options.restart());
            lead::trim(&mut source, schedule)?;
        }
        let prepared = prepare(&source, method, self.options, remarks)?;
        if source.moves.is_none() || prepared.fixed.is_some() && prepared.is_animated() {
            return Ok((source, prepared));
        }
        // The same faces on points whose number changes, or what changes is nothing that a file keeps.
        remarks.clear();
        let source = self.source(mesh, times, shown, matrices);
        let prepared = prepare(&source, method, self.options, remarks)?;
        Ok((source, prepared))
    }

    fn analyse(
        &mut self,
        placed: &[Placed],
        selected: &[bool],
        same: &[MeshId],
        motion: &Motion,
        times: &[f64],
        progress: &dyn Progress,
    ) -> Result<Vec<Candidate<'a>>, Error> {
        let mut groups: Vec<(MeshId, MethodChoice, Vec<usize>)> = Vec::new();
        let mut slot = std::collections::HashMap::new();
        for (i, place) in placed.iter().enumerate().filter(|(i, _)| selected[*i]) {
            let Some(mesh) = self.scene.nodes[place.node].mesh else {
                continue;
            };
            let (mesh, method) = (same[mesh], self.method(&place.path));
            let at = *slot.entry((mesh, method as u8)).or_insert_with(|| {
                groups.push((mesh, method, Vec::new()));
                groups.len() - 1
            });
            groups[at].2.push(i);
        }
        let done = AtomicU64::new(0);
        let total = groups.len() as u64;
        let this = &*self;
        let found: Vec<_> = groups
            .into_par_iter()
            .map(|(mesh, method, placements)| {
                let mut shown = FrameSet::new(times.len());
                placements.iter().for_each(|&i| shown.extend(&motion.visible[i]));
                let mut remarks = Vec::new();
                let (source, prepared) = this.prepared(mesh, times, &shown, None, method, &mut remarks)?;
                progress.update(Phase::Analyse, done.fetch_add(1, Ordering::Relaxed) + 1, total);
                Ok((Candidate { mesh, placements, shown, baked: false, method, source, prepared }, remarks))
            })
            .collect::<Result<_, Error>>()?;
        let mut meshes = Vec::new();
        for (candidate, remarks) in found {
            self.remarks.extend(remarks);
            if candidate.prepared.fixed.is_none()
                && matches!(candidate.method, MethodChoice::Soft | MethodChoice::Static)
            {
                return Err(Error::Unsupported {
                    what: format!(
                        "{}: its faces change over time; only --method auto or fluid can keep that{}",
                        candidate.source.mesh.path,
                        match candidate.source.remeshed {
                            Some(_) => ", or a larger --tolerance with --remesh",
                            None => ", or --remesh",
                        }
                    ),
                });
            }
            meshes.push(candidate);
        }
        let count = |f: fn(&Prepared) -> bool| meshes.iter().filter(|m| f(&m.prepared)).count();
        let what = format!(
            "{} meshes: {} still, {} deforming, {} with changing faces",
            meshes.len(),
            count(|p| p.fixed.is_some() && !p.moving),
            count(|p| p.fixed.is_some() && p.moving),
            count(|p| p.fixed.is_none())
        );
        self.pass("analyse", what);
        Ok(meshes)
    }

    /// Flattens the tree; bakes what transforms cannot hold, and flattens again until nothing more needs to
    /// be baked.
    fn flatten(
        &mut self,
        placed: &[Placed],
        [selected, found]: [&[bool]; 2],
        diagonals: &[Option<f64>],
        motion: &mut Motion,
        meshes: &mut Vec<Candidate<'a>>,
        times: &[f64],
    ) -> Result<(Vec<FlatNode>, Vec<Budget>), Error> {
        let promises = locators::promises(placed, found, diagonals, motion, |path| self.tolerance(path));
        let reach: Vec<Option<f32>> = promises.iter().map(|p| Some(p.as_ref()?.reach)).collect();
        let mut locator_remarks = Vec::new();
        let mut baked = vec![false; placed.len()];
        let mut candidate_of = vec![usize::MAX; placed.len()];
        for (c, candidate) in meshes.iter().enumerate() {
            candidate.placements.iter().for_each(|&i| candidate_of[i] = c);
        }
        loop {
            let nodes = flatten::flatten(placed, selected, &reach, &baked, motion);
            let mut budgets =
                self.measure_transforms(placed, &nodes, meshes, &candidate_of, motion, times)?;
            let (mut more, mut apart) = (Vec::new(), false);
            locator_remarks.clear();
            for node in &nodes {
                let i = node.named;
                if let (Some(_), Some(promise)) = (node.reach, &promises[i]) {
                    let (budget, path) = (&mut budgets[i], &placed[i].path);
                    let floor = 4.0 * ulp(budget.reach);
                    let alone = baked[i] || budget.reach > f64::from(f32::MAX);
                    baked[i] |= locators::settle(path, promise, floor, alone, budget, &mut locator_remarks);
                    apart |= baked[i] && !alone;
                }
                let Some(i) = node.mesh else { continue };
                let candidate = &meshes[candidate_of[i]];
                let extent = &candidate.prepared.object_extent;
                let corners = (0..3).flat_map(|k| <[f32; 2]>::from(extent.component(k)));
                let object_reach = corners.fold(0.0f64, |m, v| m.max(f64::from(v).abs()));
                let diagonal = diagonal(&candidate.prepared);
                let budget = &mut budgets[i];
                if baked[i] {
                    // World positions are rounded to f32: half a unit along each axis.
                    budget.transform_error = 0.75f64.sqrt() * ulp(budget.reach);
                } else {
                    budget.scale = budget.scale.max(motion.largest_scale[i]);
                }
                let asked = match self.tolerance(&placed[i].path) {
                    Tolerance::Absolute(t) => t,
                    Tolerance::Relative(part) => part * diagonal * motion.largest_scale[i],
                };
                let floor = 4.0 * ulp(object_reach.max(budget.reach));
                let remeshed = candidate.source.remeshed;
                budget.spent = remeshed.map_or(0.0, |r| r.spent * motion.largest_scale[i]);
                budget.tolerance = asked.max(floor) - budget.spent;
                if asked < floor && diagonal > 0.0 && !baked[i] {
                    self.remarks.push(Remark::new(
                        &placed[i].path,
                        format!("tolerance raised from {asked:.3e} to {floor:.3e}: float32 holds no less at these coordinates"),
                    ));
                }
                if baked[i] {
                    continue;
                }
                // World matrices in f64 may lead where the bounds of a frame, f32, cannot follow.
                let beyond = budget.reach > f64::from(f32::MAX);
                let share = if diagonal > 0.0 { LEAST_ROOM } else { 0.0 };
                let (error, scale) = (budget.transform_error, budget.scale);
                if beyond || no_room(budget.tolerance, error, scale, object_reach, share) {
                    more.push((i, budget.transform_error > 0.2 * budget.tolerance && !beyond));
                }
            }
            if more.is_empty() && apart {
                continue;
            }
            if more.is_empty() {
                for (i, _) in found.iter().enumerate().filter(|(i, f)| **f && motion.broken[*i]) {
                    locator_remarks.push(Remark::new(
                        &placed[i].path,
                        "its transform is not finite in some frames, where the last one that is holds",
                    ));
                }
                self.remarks.append(&mut locator_remarks);
                self.pass(
                    "flatten",
                    format!(
                        "{} objects to {} nodes ({} moving), {} meshes baked to world space",
                        placed.len(),
                        nodes.len(),
                        nodes.iter().filter(|n| n.animated).count(),
                        baked.iter().zip(selected).filter(|(b, s)| **b && **s).count()
                    ),
                );
                return Ok((nodes, budgets));
            }
            let matrices = self.world_matrices(placed, times, &more)?;
            for ((i, shear), matrices) in more.into_iter().zip(matrices) {
                baked[i] = true;
                let why = match shear {
                    _ if motion.broken[i] => {
                        "its transform is not finite in some frames, where the last one that is holds"
                    }
                    true => {
                        "translation, rotation and scale cannot express its transform within the tolerance (shear?)"
                    }
                    false => "float32 transforms leave no room in the tolerance",
                };
                self.remarks.push(Remark::new(
                    &placed[i].path,
                    format!("{why}; its vertices are stored in world space"),
                ));
                let old = &mut meshes[candidate_of[i]];
                old.placements.retain(|&p| p != i);
                let (mesh, method) = (old.mesh, old.method);
                let shown = motion.visible[i].clone();
                let mut ignored = Vec::new();
                let (source, prepared) =
                    self.prepared(mesh, times, &shown, Some(matrices), method, &mut ignored)?;
                candidate_of[i] = meshes.len();
                meshes.push(Candidate {
                    mesh,
                    placements: vec![i],
                    shown,
                    baked: true,
                    method,
                    source,
                    prepared,
                });
            }
        }
    }

    /// Tolerances to lattices; first frames quantized.
    fn plan_meshes(
        &mut self,
        placed: &[Placed],
        meshes: Vec<Candidate<'a>>,
        nodes: &[FlatNode],
        budgets: &[Budget],
        times: &[f64],
        meter: &'a Meter<'a>,
    ) -> Result<Vec<(MeshPlan<'a>, Vec<usize>)>, Error> {
        let this = &*self;
        // What moves as a whole, by object; coded transforms take a part of what it is promised.
        let mut moved = vec![false; nodes.len()];
        let mut moving = vec![false; placed.len()];
        for (n, node) in nodes.iter().enumerate() {
            moved[n] = node.animated || node.parent.is_some_and(|p| moved[p]);
            if let (Some(i), true) = (node.mesh, self.options.preset != Preset::Classic) {
                moving[i] = moved[n];
            }
        }
        // All that is ahead is known before any of it is done.
        let plans: Vec<_> = meshes
            .into_iter()
            .filter(|m| !m.placements.is_empty())
            .map(|candidate| {
                let path = &candidate.source.mesh.path;
                let share = meter.share(path, candidate.ahead(self.options));
                (candidate, share)
            })
            .collect();
        let plans: Vec<_> = plans
            .into_par_iter()
            .map(|(candidate, share)| this.plan_mesh(placed, candidate, share, &moving, budgets, times))
            .collect::<Result<_, Error>>()?;
        let mut out = Vec::new();
        for (plan, placements, remarks) in plans {
            self.remarks.extend(remarks);
            out.push((plan, placements));
        }
        let levels: u64 = out.iter().map(|(p, _)| u64::from(p.streams[0].bits)).max().unwrap_or(0);
        self.pass("quantize", format!("{} meshes, positions in up to {levels} bits per axis", out.len()));
        Ok(out)
    }

    #[allow(clippy::type_complexity)]
    fn plan_mesh(
        &self,
        placed: &[Placed],
        candidate: Candidate<'a>,
        search: Share<'a>,
        moving: &[bool],
        budgets: &[Budget],
        times: &[f64],
    ) -> Result<(MeshPlan<'a>, Vec<usize>, Vec<Remark>), Error> {
        let prepared = candidate.prepared;
        let mut remarks = Vec::new();
        let mut radius = f64::INFINITY;
        let moved = candidate.placements.iter().filter(|&&i| moving[i]).count();
        let coordinates = match (prepared.moving, &prepared.fixed) {
            (false, Some(fixed)) => 3 * fixed.vertex_point.len() as u64,
            _ => 3 * prepared.points_total,
        };
        let share = node_coder::share(moved * times.len(), coordinates);
        let object_reach = (0..3).flat_map(|k| <[f32; 2]>::from(prepared.object_extent.component(k)));
        let object_reach = object_reach.fold(0.0f64, |m, v| m.max(f64::from(v).abs()));
        for &i in &candidate.placements {
            let budget = &budgets[i];
            let mut room = budget.tolerance - budget.transform_error;
            if moving[i] {
                // Not less than rounding needs: of transforms, then of vertices.
                let own = share.max((budget.transform_error / room).min(0.75));
                let least = budget.scale * LEAST_ULPS * ulp(object_reach);
                room = (room * (1.0 - own)).max(least.min(room));
            }
            radius = radius.min(if budget.scale > 0.0 { room / budget.scale } else { f64::INFINITY });
        }
        // Beyond the diagonal there is nothing to gain. The rest is for the arithmetic in f64.
        let diagonal = extent::diagonal(&prepared.extent).max(f64::from(f32::MIN_POSITIVE));
        radius = radius.min(diagonal) * 0.9999;
        // Edges may be nothing beside the way that a mesh goes.
        let least = (LEAST_ULPS * ulp(object_reach)).max(diagonal * fineness::LEAST_PART);
        let mut allowed = fineness::Allowed {
            most: radius,
            least,
            guess: radius,
            asked: match self.tolerance(&placed[candidate.placements[0]].path) {
                Tolerance::Absolute(t) => t,
                Tolerance::Relative(part) => 100.0 * part,
            },
        };
        if let (Some(fixed), true) = (&prepared.fixed, self.options.preset != Preset::Classic) {
            let predicted = prepared.normals != Normals::None && prepared.normals_animated;
            let finest =
                if predicted { fineness::for_normals(fixed, self.options.normal_tolerance) } else { None };
            radius = radius.min(finest.unwrap_or(radius).max(least));
            allowed.guess = radius;
        }
        let streams =
            choose_streams(candidate.source.mesh, &prepared, radius.max(0.0), self.options, &mut remarks)?;
        let animated = prepared.fixed.is_some() && streams.iter().any(|s| s.animated);
        let path = placed[candidate.placements[0]].path.clone();
        let method = match (prepared.fixed.is_some(), animated) {
            (false, _) => Method::Fluid,
            (true, true) if candidate.method == MethodChoice::Static => {
                return Err(Error::Unsupported {
                    what: format!("{path}: it changes over time, --method static cannot keep that"),
                });
            }
            (true, true) => Method::Soft,
            (true, false) => Method::Static,
        };
        let parts = self.parts(&path).clone();
        let mut plan = MeshPlan {
            path,
            source: candidate.source,
            prepared,
            asked: candidate.method,
            parts,
            method,
            streams,
            table: Default::default(),
            has_table: false,
            bases: Vec::new(),
            radius,
            normals_stored: false,
            found: Arc::new(SkinSearch::new(self.options.effort, Arc::new(search))),
            normals_decide: None,
            static_error: Vec::new(),
            shown: candidate.shown,
        };
        plan.finish(plan.source.times.len(), &mut Scratch::default())?;
        if self.options.preset != Preset::Classic {
            let schedule = Schedule::new(times.len() as u32, self.options.restart());
            fineness::choose(&mut plan, allowed, schedule, self.options)?;
        }
        Ok((plan, candidate.placements, remarks))
    }
}
