//! The list of passes, in the order in which they run. [`compile`] decides everything about a scene,
//! [`prepare`] examines one mesh, `write` makes the file: each pass is a line there, with its input and
//! output, and a file elsewhere in this crate, or in `meshreel-process` where it is about geometry alone.
//! `--explain` prints what a pass did, under the name in the first column.
//!
//! ```text
//! --explain   takes → gives                                                                  file
//! clip        skeletons and clips → a file of clips, where there are no meshes               write/clips
//! select      paths, --include, --exclude → objects that are compiled                        select/selection
//! times       samples, --fps, --range → seconds of each frame                                select/times
//! between     curves between samples → frames that are added                                 select/between
//! ranges      animations one after the other → named ranges of frames                        select/ranges
//! remesh      faces that change → fixed faces, in another scene                              mesh/remesh
//! identical   meshes → those that are different                                              select/identical
//! analyse     all frames of each mesh → bounds, triangles, vertices, what moves (`prepare`)  mesh/
//! flatten     objects → nodes of the file, tolerances, meshes baked to world space           nodes/flatten, mesh/budgets
//! quantize    tolerances → lattices, first frames in quantized values                        method/quantize
//! clip        skeletons, clips, rigs → chunks                                                write/clips, rig/
//! nodes       transforms that cannot be coded → transforms as they are                       write/node_coder
//! write       all of this → the file (`write`)                                               write/
//! detail      triangles → LOD levels                                                         write/lod
//! attributes  attributes that are equal all over a part → part attributes                    write/part_attributes
//! cull        triangles that nobody can see → intervals of visibility                        write/visibility
//! ```

use crate::Error;
use crate::decisions::{Decisions, MeshDecisions};
use crate::finished::Finished;
use crate::mesh::budgets::{FlattenRound, Flattening};
use crate::mesh::candidate::MeshCandidate;
use crate::mesh::channels::CornerClasses;
use crate::mesh::prepared::Prepared;
use crate::mesh::remesh::remesh_faces;
use crate::mesh::scan::PositionScan;
use crate::mesh::source::MeshSource;
use crate::mesh::{budgets, candidate, channels, layout, particles};
use crate::meter::Meter;
use crate::method::mesh_coder;
use crate::method::mesh_coder::{CoderInputs, MeshCoder};
use crate::method::quantize::{Plans, plan_meshes};
use crate::method::resume::FrameSpan;
use crate::nodes::budget::Budget;
use crate::nodes::content::Content;
use crate::nodes::flatten::FlatNode;
use crate::nodes::motion::Motion;
use crate::nodes::{flatten, locators, motion};
use crate::pipeline::pool;
use crate::report::{BetweenFrames, ClipReport, Inspect, Log, Phase, Progress, Report};
use crate::select::selection::SelectedObjects;
use crate::select::{between, identical, lead, left_out, ranges, selection, times, unseen};
use crate::tighter::{RequestedOptions, Tightening};
use crate::write::clips;
use crate::write::clips::CompiledClips;
use crate::write::extras::Extras;
use crate::write::file::FileWriter;
use crate::write::job::Job;
use crate::write::node_coder::NodeCoder;
use crate::write::report::WrittenFile;
use meshreel_codec::schedule::Schedule;
use meshreel_format::CompleteFile;
use meshreel_options::by_path::ByPath;
use meshreel_options::{MethodChoice, Options, Preset, RigChoice};
use meshreel_process::Cancellation;
use meshreel_process::frame_set::FrameSet;
use meshreel_process::remesh::Remeshed;
use meshreel_scene::{MeshId, Remark, Scene, hidden, rig};
use rayon::prelude::*;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Compiles `scene` into `target`. `remarks` are those of the reader; the report has them and its own. The
/// target is replaced only when everything is written, within tolerance, and not refused by `inspect`; until
/// then the compile can be cancelled ([`Progress::cancellation`]).
pub fn compile(
    scene: &Scene,
    remarks: Vec<Remark>,
    target: &Path,
    options: &Options,
    inspect: Inspect<'_>,
    progress: &dyn Progress,
) -> Result<Report, Error> {
    compile_unnamed(scene, remarks, target, (options, &Tightening::default()), progress)?
        .publish(inspect, progress)
}

/// Does everything that [`compile`] does but the last step: the file is complete and has no name yet.
/// `tighter` lists the objects that exceeded their tolerance when the same scene was compiled before.
pub fn compile_unnamed(
    scene: &Scene,
    remarks: Vec<Remark>,
    target: &Path,
    (options, tighter): (&Options, &Tightening),
    progress: &dyn Progress,
) -> Result<Finished, Error> {
    let started = Instant::now();
    let asked = RequestedOptions { promised: options, options: &tighter.options(options), tighter };
    let (mut report, file) = with_scene(scene, remarks, asked, progress, |scene, log, around| {
        if is_clips_alone(scene) {
            return around
                .pool
                .install(|| clips::write_clip_file(scene, log.remarks, target, asked, progress));
        }
        with_job(scene, asked.options, log, around, |job, found, mut log| {
            // Decisions → the file (`write`).
            let output = OutputTarget { target, pool: around.pool, progress };
            let (report, file) = write_or_fall_back_to_exact(job, &output, &mut log)?;
            Ok((complete_report(report, job, found, log), file))
        })
    })?;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(Finished { report, file, target: target.into(), jobs: options.jobs })
}

/// The thread pool, the progress sink, and the options.
pub(crate) struct CompileContext<'a> {
    pub pool: &'a rayon::ThreadPool,
    pub progress: &'a dyn Progress,
    pub cancellation: &'a Cancellation,
    /// The options that the file stores.
    pub promised: &'a Options,
    pub tighter: &'a Tightening,
}

/// The target of a file, the thread pool and the progress sink.
struct OutputTarget<'a> {
    target: &'a Path,
    pool: &'a rayon::ThreadPool,
    progress: &'a dyn Progress,
}

/// Results of the passes before writing, for the report.
pub(crate) struct PassResults {
    clips: Vec<ClipReport>,
    between: Option<BetweenFrames>,
}

/// Returns `true` if the file holds clips and nothing else.
pub(crate) fn is_clips_alone(scene: &Scene) -> bool {
    scene.meshes.is_empty() && !scene.clips.is_empty()
}

/// Runs `then` with the part of `scene` that is compiled: its clips alone, or its skinned meshes in their
/// bind pose, where the options ask for that. After a cancellation every error becomes `Error::Cancelled`.
pub(crate) fn with_scene<R>(
    scene: &Scene,
    remarks: Vec<Remark>,
    asked: RequestedOptions<'_>,
    progress: &dyn Progress,
    then: impl FnOnce(&Scene, Log, &CompileContext<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let RequestedOptions { promised, options, tighter } = asked;
    let cancellation = &progress.cancellation();
    let run = || {
        cancellation.check()?;
        options.check()?;
        let pool = &pool(options.jobs)?;
        let mut log = Log { remarks, passes: Vec::new() };
        let shown = options.show_hidden.then(|| hidden::show_all(scene)).transpose()?;
        let scene = shown.as_ref().unwrap_or(scene);
        let clips_only = selection::clips_only(scene, options, &mut log)?;
        let scene = clips_only.as_ref().unwrap_or(scene);
        let standing = (options.rig == RigChoice::Only).then(|| rig::freeze_driven_meshes(scene));
        let scene = standing.as_ref().unwrap_or(scene);
        if is_clips_alone(scene) {
            log.remarks.extend(options.ineffective_option_remarks());
        }
        then(scene, log, &CompileContext { pool, progress, cancellation, promised, tighter })
    };
    // A cancelled compile can fail with many kinds of errors.
    run().map_err(|error| if cancellation.is_cancelled() { Error::Cancelled } else { error })
}

/// Runs the passes over a scene with meshes up to the finished job, each noted as input → output, and hands
/// the job to `then`.
pub(crate) fn with_job<R>(
    scene: &Scene,
    options: &Options,
    mut log: Log,
    around: &CompileContext<'_>,
    then: impl FnOnce(&mut Job<'_>, PassResults, Log) -> Result<R, Error>,
) -> Result<R, Error> {
    let CompileContext { pool, progress, cancellation, promised, tighter } = *around;
    let by_path = &ByPath::new(options)?;
    let meter = Meter::new(progress);
    let placed = &scene.expand()?;
    // Paths → which objects are compiled; remarks on what is left out.
    let selected = selection::select(scene, placed, options, &mut log)?;
    log.remarks.extend(left_out::remarks(scene, placed, &selected.any, options)?);
    // Samples → times of frames; curves between them → added frames; transforms in all frames → animated
    // objects and visibility.
    let content = Content { scene, placed, times: &[], options, tighter, by_path, cancellation };
    let mut timed = all_frame_times(&content, &selected, around, &mut log)?;
    let (times, motion) = (&timed.times, &timed.motion);
    log.remarks.extend(unseen::remarks(placed, &selected.meshes, motion, options));
    let content = Content { times, ..content };
    // Animations one after the other → named ranges of frames.
    let ranges = ranges::frame_ranges(scene, times, options, &mut log.remarks);
    ranges::explain(&ranges).into_iter().for_each(|sentence| log.pass("ranges", sentence));
    // Meshes near locators → assumed sizes of the locators.
    let both = [&selected.meshes[..], &selected.locators];
    let shown = (&times[..], &motion.visible[..]);
    let diagonals = pool.install(|| locators::diagonals(scene, placed, both, shown, cancellation))?;
    // Changing faces → fixed ones, where that is asked for: from here on `scene` is the re-meshed scene.
    let outcome = pool.install(|| remesh_faces(&content, &selected.meshes, motion, &mut log))?;
    let (scene, remeshed) = outcome.as_ref().map_or((scene, &[][..]), |o| (&o.scene, &o.meshes));
    let content = Content { scene, ..content };
    // Meshes → distinct ones; where each is shown; the analysis of each (`prepare`).
    let same = identical::first_equal(&content, &selected.meshes, &mut log)?;
    let mut meshes =
        pool.install(|| analyse(&content, remeshed, &selected, &same, (motion, progress), &mut log))?;
    // Objects → nodes of the file, the tolerance of each, and meshes baked to world space.
    let (nodes, budgets) = pool.install(|| {
        let flattening = Flattening::new(content, both, &diagonals, motion, &meshes);
        flatten_nodes(&content, remeshed, flattening, motion, &mut meshes, &mut log)
    })?;
    // Baked meshes → errors between frames in world space.
    let found = pool.install(|| {
        let again = |baked: &[bool]| between::add_frames(&content, &selected, motion, Some(baked));
        between::remeasure_if_needed(timed.between.take(), &nodes, placed.len(), again)
    })?;
    between::report_deviation(found.as_ref(), timed.samples, options, &mut log);
    // Tolerances → lattices; how fine normals want positions.
    let plans = pool.install(|| plan_meshes(&content, meshes, (&nodes, &budgets), &meter, &mut log))?;
    // Skeletons, clips, rigs → chunks.
    let clips = clips::compile_clips_and_rigs(&content, &plans, &budgets, pool, progress, &mut log)?;
    let CompiledClips { chunks: clip_chunks, reports: clips, rigs } = clips;
    let mut job = Job {
        clip_chunks,
        rigs,
        clip_raw_bytes: clips::raw_bytes(&clips),
        scene,
        placed,
        times,
        samples: timed.samples,
        between: found.as_ref().and_then(|found| found.guaranteed_multiple(options)),
        ranges,
        nodes: &nodes,
        plans,
        tolerances: budgets,
        options,
        promised,
        motion,
        raw_transform_bytes: motion::raw_bytes(scene, placed, &selected.any),
        exact: tighter.exact,
        needs_exact: Default::default(),
        cancellation,
    };
    then(&mut job, PassResults { clips, between: found }, log)
}

/// Runs the passes for a process that continues from stored decisions; `then` gets the meshes. Only the first
/// frame of each mesh is read, and all frames only where meshes are re-meshed.
pub(crate) fn with_decided<R>(
    scene: &Scene,
    options: &Options,
    around: &CompileContext<'_>,
    decided: &Decisions,
    then: impl FnOnce(&Plans<'_>) -> Result<R, Error>,
) -> Result<R, Error> {
    let CompileContext { pool, progress, cancellation, tighter, .. } = *around;
    let by_path = &ByPath::new(options)?;
    let meter = Meter::new(progress);
    let times = &decided.times;
    let content = Content { scene, placed: &[], times, options, tighter, by_path, cancellation };
    // Changing faces → fixed ones, where that was done.
    let outcome = match decided.remeshed {
        true => {
            let (placed, mut log) = (&scene.expand()?, Log::default());
            let content = Content { placed, ..content };
            let selected = selection::select(scene, placed, options, &mut log)?;
            pool.install(|| {
                let motion =
                    motion::scan_transforms(scene, placed, &selected.any, content.times, cancellation)?;
                remesh_faces(&content, &selected.meshes, &motion, &mut log)
            })?
        }
        false => None,
    };
    let (scene, remeshed) = outcome.as_ref().map_or((scene, &[][..]), |o| (&o.scene, &o.meshes));
    let content = Content { scene, ..content };
    // Stored results of the analysis, first frames → meshes with everything decided.
    let plan = |mesh: &MeshDecisions| {
        let bound = (mesh.error_bound, mesh.explicit_normals);
        Ok((mesh.analysis.plan(&content, remeshed, bound, &meter)?, Vec::new()))
    };
    let plans = pool.install(|| decided.meshes.par_iter().map(plan).collect::<Result<_, Error>>())?;
    then(&plans)
}

/// The times of the frames, and what moves in them.
struct FrameTimes {
    /// Time of each frame, in seconds.
    times: Vec<f64>,
    /// The number of frames that are samples of the source.
    samples: usize,
    motion: Motion,
    /// Errors between samples, where they were measured.
    between: Option<BetweenFrames>,
}

/// Returns the times of all frames, added ones included.
fn all_frame_times(
    content: &Content<'_>,
    selected: &SelectedObjects,
    around: &CompileContext<'_>,
    log: &mut Log,
) -> Result<FrameTimes, Error> {
    let Content { scene, placed, options, cancellation, .. } = *content;
    let scan = |times: &[f64]| {
        around.pool.install(|| motion::scan_transforms(scene, placed, &selected.any, times, cancellation))
    };
    let samples = times::frame_times(scene, placed, selected, options, log)?;
    let motion = scan(&samples)?;
    let content = Content { times: &samples, ..*content };
    let between = around.pool.install(|| between::add_frames(&content, selected, &motion, None))?;
    let added = between.as_ref().filter(|found| found.added_frames > 0);
    Ok(match added.map(|found| found.times.clone()) {
        Some(times) => FrameTimes { motion: scan(&times)?, times, samples: samples.len(), between },
        None => FrameTimes { motion, samples: samples.len(), times: samples, between },
    })
}

/// Writes the file; if coded transforms exceed their tolerance, writes it again with exact ones.
fn write_or_fall_back_to_exact(
    job: &mut Job<'_>,
    output: &OutputTarget<'_>,
    log: &mut Log,
) -> Result<(Report, Option<CompleteFile>), Error> {
    let OutputTarget { target, pool, progress } = *output;
    match write(job, target, pool, progress) {
        Err(_) if job.needs_exact.load(Ordering::Relaxed) && !job.cancellation.is_cancelled() => {
            log.pass("nodes", "transforms are kept as they are".into());
            job.exact = true;
            write(job, target, pool, progress)
        }
        done => done,
    }
}

/// Adds the results of the passes before writing to a report.
fn complete_report(
    mut report: Report,
    job: &Job<'_>,
    PassResults { clips, between }: PassResults,
    mut log: Log,
) -> Report {
    log.pass("write", format!("{} frames, {} bytes", job.times.len(), report.file_bytes));
    log.passes.extend(report.mesh_passes(job.options));
    report.clips.extend(clips);
    report.between = between;
    report.tree = flatten::format_tree(job.nodes, job.placed);
    log.remarks.append(&mut report.remarks);
    log.remarks.sort();
    log.remarks.dedup();
    report.remarks = log.remarks;
    report.passes = log.passes;
    report
}

/// Examines all frames of each distinct mesh.
fn analyse<'a>(
    content: &Content<'a>,
    remeshed: &'a [Option<Remeshed>],
    selected: &SelectedObjects,
    same: &[MeshId],
    (motion, progress): (&Motion, &dyn Progress),
    log: &mut Log,
) -> Result<Vec<MeshCandidate<'a>>, Error> {
    let groups = candidate::group_placements(content, &selected.meshes, same);
    let done = AtomicU64::new(0);
    let total = groups.len() as u64;
    let found: Vec<_> = groups
        .into_par_iter()
        .map(|group| {
            let shown = group.visible_frames(motion, content.times.len());
            let mut remarks = Vec::new();
            let (mesh, method) = (group.mesh, group.method);
            let (source, prepared) =
                prepare_moving(content, remeshed, (mesh, method), &shown, None, &mut remarks)?;
            progress.update(Phase::Analyse, done.fetch_add(1, Ordering::Relaxed) + 1, total);
            let placements = group.placements;
            Ok((MeshCandidate { mesh, placements, shown, baked: false, method, source, prepared }, remarks))
        })
        .collect::<Result<_, Error>>()?;
    let mut meshes = Vec::new();
    for (candidate, remarks) in found {
        log.remarks.extend(remarks);
        if candidate.prepared.fixed.is_none()
            && candidate.prepared.particles.is_none()
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
    log.pass("analyse", candidate::explain(&meshes));
    Ok(meshes)
}

/// Flattens the tree, bakes meshes whose transforms cannot hold the tolerance, and repeats until no other
/// mesh has to be baked.
fn flatten_nodes<'a>(
    content: &Content<'a>,
    remeshed: &'a [Option<Remeshed>],
    mut flattening: Flattening<'_>,
    motion: &Motion,
    meshes: &mut Vec<MeshCandidate<'a>>,
    log: &mut Log,
) -> Result<(Vec<FlatNode>, Vec<Budget>), Error> {
    loop {
        let more = match flattening.round(meshes, motion, log)? {
            FlattenRound::Settled(nodes, budgets) => return Ok((nodes, budgets)),
            FlattenRound::Again => continue,
            FlattenRound::Bake(more) => more,
        };
        let matrices = budgets::world_matrices(content, &more)?;
        for ((i, shear), matrices) in more.into_iter().zip(matrices) {
            let old = flattening.bake(i, shear, motion, meshes, log);
            let (mesh, method) = (meshes[old].mesh, meshes[old].method);
            let shown = motion.visible[i].clone();
            // The remarks were already given at the first analysis.
            let (source, prepared) =
                prepare_moving(content, remeshed, (mesh, method), &shown, Some(matrices), &mut Vec::new())?;
            meshes.push(MeshCandidate {
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

/// Examines the frames of a mesh in which it moves, or all frames if it does not stand still in the others as
/// expected.
fn prepare_moving<'a>(
    content: &Content<'a>,
    remeshed: &'a [Option<Remeshed>],
    (mesh, method): (MeshId, MethodChoice),
    shown: &FrameSet,
    matrices: Option<Vec<glam::DMat4>>,
    remarks: &mut Vec<Remark>,
) -> Result<(MeshSource<'a>, Prepared), Error> {
    let options = content.options;
    let mut source = candidate::mesh_source(content, remeshed, mesh, shown, matrices.clone());
    if options.preset != Preset::Classic && method != MethodChoice::Fluid && source.mesh.particles.is_none() {
        let schedule = Schedule::new(content.times.len() as u32, options.restart());
        lead::trim_lead_in_and_out(&mut source, schedule)?;
    }
    let prepared = prepare(&source, method, options, remarks)?;
    if source.moves.is_none() || prepared.fixed.is_some() && prepared.is_animated() {
        return Ok((source, prepared));
    }
    // The same faces on a changing number of points, or only values change that a file does not keep.
    remarks.clear();
    let source = candidate::mesh_source(content, remeshed, mesh, shown, matrices);
    let prepared = prepare(&source, method, options, remarks)?;
    Ok((source, prepared))
}

/// Writes the file, pass by pass, and reports. The file has no name yet; on a dry run there is none.
pub fn write(
    job: &Job<'_>,
    target: &Path,
    pool: &rayon::ThreadPool,
    progress: &dyn Progress,
) -> Result<(Report, Option<CompleteFile>), Error> {
    let schedule = job.schedule();
    with_coders(&job.plans, (job.options, schedule), pool, None, |coders| {
        // Decisions → an open file.
        let mut file = FileWriter::create(job, target)?;
        let Prologue { extras, mut nodes } = prologue(&mut file, job, coders, schedule, pool)?;
        // Coders → units or frames, in parallel and in order → chunks.
        file.frames(coders, &mut nodes, schedule, pool, progress)?;
        // Data that is known when all frames are coded.
        file.end_states(coders)?;
        file.changing_source_maps(coders)?;
        file.frame_table()?;
        file.clips_rigs_ranges()?;
        let description = file.describe(coders, nodes.as_ref())?;
        // All chunks → a complete file.
        let (bytes, complete) = file.complete()?;
        let written = WrittenFile {
            job,
            file: &file,
            coders,
            nodes: nodes.as_ref(),
            extras: &extras,
            description: &description,
        };
        Ok((written.report(bytes), complete))
    })
}

/// Makes the coders of all meshes and hands them to `then`, with the order of frames.
pub(crate) fn with_coders<R>(
    plans: &Plans<'_>,
    (options, schedule): (&Options, Schedule),
    pool: &rayon::ThreadPool,
    decided: Option<(&[MeshDecisions], FrameSpan<'_>)>,
    then: impl FnOnce(&[MeshCoder<'_>]) -> Result<R, Error>,
) -> Result<R, Error> {
    // Plans → points, coincident vertices, and the frames of their streams.
    let points: Vec<_> = plans.iter().map(|(plan, _)| mesh_coder::mesh_points(plan)).collect();
    let sources = CoderInputs::new(plans, &points);
    // These → the method and the settings of each mesh with the fewest bytes, or the decided ones.
    let ladder = mesh_coder::effort_ladder(options);
    let coders = match (options.preset, decided) {
        (Preset::Classic, _) => Vec::new(),
        (_, None) => pool.install(|| sources.coders(plans, schedule, &ladder))?,
        (_, Some(decided)) => pool.install(|| sources.resume_coders(plans, schedule, &ladder, decided))?,
    };
    then(&coders)
}

/// Data that is made before frames are coded.
pub(crate) struct Prologue<'a> {
    pub extras: Extras,
    /// The coder of transforms, if any are coded.
    pub nodes: Option<NodeCoder<'a>>,
}

/// Writes everything that stands before the frames.
pub(crate) fn prologue<'a>(
    file: &mut FileWriter<'_>,
    job: &'a Job<'a>,
    coders: &[MeshCoder<'_>],
    schedule: Schedule,
    pool: &rayon::ThreadPool,
) -> Result<Prologue<'a>, Error> {
    // Coders → chunks of triangles, static values, source maps.
    file.static_data(coders)?;
    // Meshes → LOD levels, triangle visibility, part attributes → chunks.
    let extras = Extras::new(job, coders, pool)?;
    file.extras(&extras)?;
    // Moving nodes → coders of their transforms.
    let nodes = match job.options.preset != Preset::Classic {
        true => pool.install(|| NodeCoder::new(job, schedule))?,
        false => None,
    };
    Ok(Prologue { extras, nodes })
}

/// Examines one mesh in all frames, before tolerances come into it: the passes, each with its input → output.
pub fn prepare(
    source: &MeshSource<'_>,
    method: MethodChoice,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<Prepared, Error> {
    // Points without faces need no further pass.
    if source.mesh.particles.is_some() {
        return particles::prepare(source, remarks);
    }
    // Positions of all frames → bounds, moving points, coincident points, runs of equal faces.
    let scan = PositionScan::new(source, method, remarks)?;
    // Faces of the first frame → the usable ones, and their corners.
    let mut corners = CornerClasses::new(source, &scan)?;
    // Normals, uvs and colours of all frames → those that are present, and the corners where they differ.
    let channels = channels::examine_channels(source, &scan, &mut corners, remarks)?;
    // Face sets → a material for each face.
    let materials = corners.materials(source)?;
    let mut prepared = Prepared::new(&scan, channels);
    let dropped = corners.faces.dropped.sentence();
    let mut remark = |what: String| remarks.push(Remark::new(&source.mesh.path, what));
    if !scan.fixed {
        // Everything else is made frame by frame.
        dropped.into_iter().for_each(|sentence| remark(format!("{sentence} (first frame)")));
        prepared.materials = channels::changing_materials(source)?;
        return Ok(prepared);
    }
    dropped.into_iter().chain(materials.remarks.iter().cloned()).for_each(&mut remark);
    // Angles between faces → groups of corners that share a normal.
    let groups = layout::smoothing_groups(&scan, &mut corners, prepared.normals, options.smooth_angle);
    // Faces and corners → triangles and vertices.
    let (mut fixed, mut unordered) = layout::triangles(source, &scan, corners, groups, &materials, remarks);
    // Triangles → the same, vertices split where bitangents have both signs.
    let oriented = layout::orientation(source, &prepared, &fixed, &mut unordered)?;
    // These → the order of a grid, or the order that predicts and draws best.
    let count = materials.materials.len();
    let order = layout::order(&mut fixed, &oriented, &unordered, count, options.preset);
    let from = layout::reorder(&mut fixed, order, &oriented, &unordered);
    // Ordered triangles → source faces, tangent groups, coincident vertices.
    layout::source_faces(source, &mut fixed, &unordered, &from, &materials, options);
    layout::tangent_groups(source, &prepared, &mut fixed)?;
    fixed.weld = layout::vertex_welds(scan.weld, &fixed.vertex_point);
    prepared.materials = materials.materials;
    prepared.fixed = Some(fixed);
    Ok(prepared)
}
