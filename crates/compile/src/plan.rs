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
//! ranges      animations one after the other → named ranges of frames                        select/times
//! remesh      faces that change → fixed faces, in another scene                              process/remesh
//! identical   meshes → those that are different                                              select/identical
//! analyse     all frames of each mesh → bounds, triangles, vertices, what moves (`prepare`)  mesh/source, mesh/layout
//! flatten     objects → nodes of the file, tolerances, meshes baked to world space           nodes/flatten, mesh/budgets
//! quantize    tolerances → lattices, first frames in quantized values                        method/quantize
//! clip        skeletons, clips, rigs → chunks                                                write/clips, rig/
//! nodes       transforms that cannot be coded → transforms as they are                       write/node_coder
//! write       all of this → the file (`write`)                                               write/file, write/units
//! detail      triangles → LOD levels                                                         write/lod
//! attributes  attributes that are equal all over a part → part attributes                    write/part_attributes
//! cull        triangles that nobody can see → intervals of visibility                        write/visibility
//! ```

use crate::Error;
use crate::context::{CompileContext, Content, RequestedOptions, Tightening};
use crate::mesh::budgets::{FlattenRound, Flattening};
use crate::mesh::layout::CornerClasses;
use crate::mesh::prepared::{MeshCandidate, Prepared};
use crate::mesh::source::{MeshSource, PositionScan};
use crate::mesh::{budgets, layout, particles, prepared};
use crate::method::mesh_coder::{MeshCoder, choose_coders};
use crate::method::quantize::{memory_remark, plan_meshes};
use crate::nodes::budget::Budget;
use crate::nodes::flatten::FlatNode;
use crate::nodes::motion::Motion;
use crate::nodes::{flatten, locators, motion};
use crate::report::{BetweenFrames, ClipReport, Inspect, Log, Phase, Progress, Report};
use crate::select::selection::SelectedObjects;
use crate::select::{between, identical, left_out, selection, times};
use crate::threads::pool;
use crate::write::clips;
use crate::write::clips::CompiledClips;
use crate::write::extras::Extras;
use crate::write::file::FileWriter;
use crate::write::job::Job;
use crate::write::node_coder::NodeCoder;
use crate::write::report::WrittenFile;
use meshreel_codec::schedule::Schedule;
use meshreel_format::CompleteFile;
use meshreel_options::{MethodChoice, Options, Preset, RigChoice, Tolerance};
use meshreel_process::frame_set::FrameSet;
use meshreel_process::remesh;
use meshreel_scene::{MeshId, Remark, Scene, hidden, rig};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Compiles `scene` into `target`. `remarks` are those of the reader; the report has them and its own. The
/// target is replaced only when everything is written, within tolerance, and not refused by `inspect`; until
/// then the compile can be cancelled ([`Progress::cancellation`]).
pub fn compile(
    scene: impl Into<Arc<Scene>>,
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
    scene: impl Into<Arc<Scene>>,
    remarks: Vec<Remark>,
    target: &Path,
    (options, tighter): (&Options, &Tightening),
    progress: &dyn Progress,
) -> Result<Finished, Error> {
    let started = Instant::now();
    let context = CompileContext::new(RequestedOptions::new(options, tighter), progress)?;
    let (scene, mut log) = (scene.into(), Log { remarks, passes: Vec::new() });
    let compiled = context.run(|| {
        let scene = compiled_scene(scene, &context, &mut log)?;
        if is_clips_alone(&scene) {
            return clips::write_clip_file(&scene, log.remarks, target, &context);
        }
        let (mut job, results) = decide(scene, &context, &mut log)?;
        let (report, file) = match write(&job, target, &context) {
            Err(_) if job.needs_exact.load(Ordering::Relaxed) && !context.cancellation.is_cancelled() => {
                log.pass("nodes", "transforms are kept as they are".into());
                job.exact = true;
                write(&job, target, &context)?
            }
            done => done?,
        };
        Ok((complete_report(report, &job, results, log), file))
    });
    let (mut report, file) = context.or_cancelled(compiled)?;
    report.seconds = started.elapsed().as_secs_f64();
    Ok(Finished { report, file, target: target.into(), jobs: options.jobs })
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

/// Returns the part of a scene that is compiled: where the options ask for it, hidden objects as if they
/// were shown, clips alone, or skinned meshes in their bind pose.
pub(crate) fn compiled_scene(
    mut scene: Arc<Scene>,
    context: &CompileContext<'_>,
    log: &mut Log,
) -> Result<Arc<Scene>, Error> {
    let options = &*context.asked.options;
    if options.show_hidden {
        scene = Arc::new(hidden::show_all(&scene)?);
    }
    if let Some(clips_only) = selection::clips_only(&scene, options, log)? {
        scene = Arc::new(clips_only);
    }
    if options.rig == RigChoice::Only {
        scene = Arc::new(rig::freeze_driven_meshes(&scene));
    }
    if is_clips_alone(&scene) {
        log.remarks.extend(options.ineffective_option_remarks());
    }
    Ok(scene)
}

/// Runs the passes over a scene with meshes up to the finished job, each noted as input → output.
pub(crate) fn decide(
    scene: Arc<Scene>,
    context: &CompileContext<'_>,
    log: &mut Log,
) -> Result<(Job, PassResults), Error> {
    let mut content = Content::new(scene, &context.asked, &context.cancellation)?;
    // Paths → which objects are compiled; remarks on what is left out.
    let selected = selection::select(&content.scene, &content.placed, &content.options, log)?;
    log.remarks.extend(left_out::remarks(&content.scene, &content.placed, &selected.any, &content.options)?);
    // Samples → times of frames; curves between them → added frames; transforms in all frames → animated
    // objects and visibility.
    let FrameTimes { times, samples, motion, between } = all_frame_times(&content, &selected, log)?;
    content.times = times;
    log.remarks.extend(left_out::unseen_remarks(
        &content.placed,
        &selected.meshes,
        &motion,
        &content.options,
    ));
    // Animations one after the other → named ranges of frames.
    let ranges = times::frame_ranges(&content.scene, &content.times, &content.options, &mut log.remarks);
    times::explain(&ranges).into_iter().for_each(|sentence| log.pass("ranges", sentence));
    // Meshes near locators → assumed sizes of the locators.
    let both = [&selected.meshes[..], &selected.locators];
    let diagonals = locators::diagonals(&content, both, &motion.visible)?;
    // Changing faces → fixed ones, where that is asked for: from here on the scene is the re-meshed one.
    content = remesh_faces(content, &selected.meshes, &motion, log)?;
    // Meshes → distinct ones; where each is shown; the analysis of each (`prepare`).
    let same = identical::first_equal(&content, &selected.meshes, log)?;
    let mut meshes = analyse(&content, &selected, &same, (&motion, context.progress), log)?;
    // Objects → nodes of the file, the tolerance of each, and meshes baked to world space.
    let flattening = Flattening::new(&content, both, &diagonals, &motion, &meshes);
    let (nodes, budgets) = flatten_nodes(&content, flattening, &motion, &mut meshes, log)?;
    // Baked meshes → errors between frames in world space.
    let between = between::remeasure_if_needed(between, &nodes, content.placed.len(), |baked| {
        between::add_frames(&content, &selected, &motion, Some(baked))
    })?;
    between::report_deviation(between.as_ref(), samples, &content.options, log);
    if let Some(remark) = memory_remark(&meshes, &content.options)
        && !context.progress.announce(&remark)
    {
        log.remarks.push(remark);
    }
    // Tolerances → lattices, first frames in quantized values.
    let plans = plan_meshes(&content, meshes, (&nodes, &budgets), &context.meter, log)?;
    context.meter.flush();
    // Skeletons, clips, rigs → chunks.
    let CompiledClips { chunks: clip_chunks, reports: clips, rigs } =
        clips::compile_clips_and_rigs(&content, &plans, &budgets, context.progress, log)?;
    let job = Job {
        clip_chunks,
        rigs,
        clip_raw_bytes: clips::raw_bytes(&clips),
        samples,
        between: between.as_ref().and_then(|found| found.guaranteed_multiple(&content.options)),
        ranges,
        nodes,
        plans,
        tolerances: budgets,
        promised: context.asked.promised.clone(),
        raw_transform_bytes: motion::raw_bytes(&content.scene, &content.placed, &selected.any),
        motion,
        exact: content.tighter.exact,
        needs_exact: Default::default(),
        content,
    };
    Ok((job, PassResults { clips, between }))
}

/// The times of the frames, and what moves in them.
struct FrameTimes {
    /// Time of each frame, in seconds.
    times: Arc<[f64]>,
    /// The number of frames that are samples of the source.
    samples: usize,
    motion: Motion,
    /// Errors between samples, where they were measured.
    between: Option<BetweenFrames>,
}

/// Returns the times of all frames, added ones included.
fn all_frame_times(
    content: &Content,
    selected: &SelectedObjects,
    log: &mut Log,
) -> Result<FrameTimes, Error> {
    let at = |times: Vec<f64>| Content { times: times.into(), ..content.clone() };
    let sampled = at(times::frame_times(&content.scene, &content.placed, selected, &content.options, log)?);
    let motion = motion::scan_transforms(&sampled, &selected.any)?;
    let samples = sampled.times.len();
    let between = between::add_frames(&sampled, selected, &motion, None)?;
    let added = between.as_ref().filter(|found| found.added_frames > 0);
    let Some(times) = added.map(|found| found.times.clone()) else {
        return Ok(FrameTimes { times: sampled.times, samples, motion, between });
    };
    let all = at(times);
    Ok(FrameTimes {
        motion: motion::scan_transforms(&all, &selected.any)?,
        times: all.times,
        samples,
        between,
    })
}

/// Adds the results of the passes before writing to a report.
fn complete_report(
    mut report: Report,
    job: &Job,
    PassResults { clips, between }: PassResults,
    mut log: Log,
) -> Report {
    let content = &job.content;
    log.pass("write", format!("{} frames, {} bytes", content.times.len(), report.file_bytes));
    log.passes.extend(report.mesh_passes(&content.options));
    report.clips.extend(clips);
    report.between = between;
    report.tree = flatten::format_tree(&job.nodes, &content.placed);
    log.remarks.append(&mut report.remarks);
    log.remarks.sort();
    log.remarks.dedup();
    report.remarks = log.remarks;
    report.passes = log.passes;
    report
}

/// Returns the content with constant faces instead of changing ones, where that is requested and possible.
pub(crate) fn remesh_faces(
    content: Content,
    selected: &[bool],
    motion: &Motion,
    log: &mut Log,
) -> Result<Content, Error> {
    let options = &*content.options;
    let given = remesh::RemeshRequest {
        scene: &content.scene,
        placed: &content.placed,
        selected,
        times: &content.times,
        visible: &motion.visible,
        largest_scale: &motion.largest_scale,
        broken: &motion.broken,
        tolerance: &|path, diagonal| match content.by_path.tolerance(path) {
            Tolerance::Absolute(t) => t,
            Tolerance::Relative(part) => part * diagonal,
        },
        asked: &|path| content.by_path.remesh(path),
        settings: remesh::RemeshSettings {
            effort: options.effort,
            memory: options.memory,
            cycle: options.cycle,
            blend: options.remesh_blend,
            channels: options.channels,
        },
        cancellation: &content.cancellation,
    };
    let mut remarks = Vec::new();
    let outcome = remesh::remesh(&given, &mut remarks)?;
    log.remarks.append(&mut remarks);
    let Some(outcome) = outcome else { return Ok(content) };
    outcome.sentences().for_each(|what| log.pass("remesh", what));
    let remeshed = outcome.meshes.into_iter().map(|mesh| mesh.map(Arc::new)).collect();
    Ok(Content { scene: Arc::new(outcome.scene), remeshed, ..content })
}

/// Examines all frames of each distinct mesh.
fn analyse(
    content: &Content,
    selected: &SelectedObjects,
    same: &[MeshId],
    (motion, progress): (&Motion, &dyn Progress),
    log: &mut Log,
) -> Result<Vec<MeshCandidate>, Error> {
    let groups = prepared::group_placements(content, &selected.meshes, same);
    let done = AtomicU64::new(0);
    let total = groups.len() as u64;
    let found: Vec<_> = groups
        .into_par_iter()
        .map(|group| {
            let shown = group.visible_frames(motion, content.times.len());
            let mut remarks = Vec::new();
            let (mesh, method) = (group.mesh, group.method);
            let (source, prepared) = prepare_moving(content, (mesh, method), &shown, None, &mut remarks)?;
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
                    match &candidate.source.remeshed {
                        Some(_) => ", or a larger --tolerance with --remesh",
                        None => ", or --remesh",
                    }
                ),
            });
        }
        meshes.push(candidate);
    }
    log.pass("analyse", prepared::explain(&meshes));
    Ok(meshes)
}

/// Flattens the tree, bakes meshes whose transforms cannot hold the tolerance, and repeats until no other
/// mesh has to be baked.
fn flatten_nodes(
    content: &Content,
    mut flattening: Flattening<'_>,
    motion: &Motion,
    meshes: &mut Vec<MeshCandidate>,
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
                prepare_moving(content, (mesh, method), &shown, Some(matrices), &mut Vec::new())?;
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
fn prepare_moving(
    content: &Content,
    (mesh, method): (MeshId, MethodChoice),
    shown: &FrameSet,
    matrices: Option<Vec<glam::DMat4>>,
    remarks: &mut Vec<Remark>,
) -> Result<(MeshSource, Prepared), Error> {
    let options = &*content.options;
    let trims = options.preset != Preset::Classic
        && method != MethodChoice::Fluid
        && content.scene.meshes[mesh].particles.is_none();
    let trim = trims.then(|| Schedule::new(content.times.len() as u32, options.restart()));
    let source = MeshSource::new(content, mesh, shown, matrices.clone(), trim)?;
    let prepared = prepare(&source, method, options, remarks)?;
    if source.moves.is_none() || prepared.fixed.is_some() && prepared.is_animated() {
        return Ok((source, prepared));
    }
    // The same faces on a changing number of points, or only values change that a file does not keep.
    remarks.clear();
    let source = MeshSource::new(content, mesh, shown, matrices, None)?;
    let prepared = prepare(&source, method, options, remarks)?;
    Ok((source, prepared))
}

/// Writes the file, pass by pass, and reports. The file has no name yet; on a dry run there is none.
fn write(
    job: &Job,
    target: &Path,
    context: &CompileContext<'_>,
) -> Result<(Report, Option<CompleteFile>), Error> {
    // Plans → the method and the settings of each mesh with the fewest bytes.
    let coders = choose_coders(&job.plans, job.schedule(), &job.content.options)?;
    context.meter.flush();
    // Decisions → an open file.
    let mut file = FileWriter::create(job, target)?;
    let Prologue { extras, mut nodes } = prologue(&mut file, job, &coders)?;
    // Coders → units or frames, in parallel and in order → chunks.
    file.frames(&coders, &mut nodes, context.progress)?;
    // Data that is known when all frames are coded.
    file.end_states(&coders)?;
    file.changing_source_maps(&coders)?;
    file.frame_table()?;
    file.clips_rigs_ranges()?;
    let description = file.describe(&coders, nodes.as_ref())?;
    // All chunks → a complete file.
    let (bytes, complete) = file.complete()?;
    let written = WrittenFile {
        job,
        file: &file,
        coders: &coders,
        nodes: nodes.as_ref(),
        extras: &extras,
        description: &description,
    };
    Ok((written.report(bytes), complete))
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
    job: &'a Job,
    coders: &[MeshCoder],
) -> Result<Prologue<'a>, Error> {
    // Coders → chunks of triangles, static values, source maps.
    file.static_data(coders)?;
    // Meshes → LOD levels, triangle visibility, part attributes → chunks.
    let extras = Extras::new(job, coders)?;
    file.extras(&extras)?;
    // Moving nodes → coders of their transforms.
    let nodes = match job.content.options.preset != Preset::Classic {
        true => NodeCoder::new(job, job.schedule())?,
        false => None,
    };
    Ok(Prologue { extras, nodes })
}

/// Examines one mesh in all frames, before tolerances come into it: the passes, each with its input → output.
pub fn prepare(
    source: &MeshSource,
    method: MethodChoice,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<Prepared, Error> {
    // Points without faces need no further pass.
    if source.mesh.particles.is_some() {
        if method != MethodChoice::Auto {
            let what = "points and curves have a method of their own; --method is for meshes";
            remarks.push(Remark::new(&source.mesh.path, what));
        }
        return particles::prepare(source, options.preset != Preset::Classic, remarks);
    }
    // Positions of all frames → bounds, moving points, coincident points, runs of equal faces.
    let scan = PositionScan::new(source, method, remarks)?;
    // Faces of the first frame → the usable ones, and their corners.
    let mut corners = CornerClasses::new(source, &scan)?;
    // Normals, uvs and colours of all frames → those that are present, and the corners where they differ.
    let channels = layout::examine_channels(source, &scan, &mut corners, remarks)?;
    let mut prepared = Prepared { scan, channels, particles: None, fixed: None, materials: Vec::new() };
    // These → materials; where faces are constant, triangles and vertices, and their order.
    layout::lay_out(source, &mut prepared, corners, options, remarks)?;
    prepared.scan.first = Vec::new();
    Ok(prepared)
}

/// A compiled file that is complete, but has no name yet. Dropping it removes the file; the target stays as
/// it is.
pub struct Finished {
    pub(crate) report: Report,
    /// The file; `None` on a dry run.
    pub(crate) file: Option<CompleteFile>,
    pub(crate) target: PathBuf,
    /// Number of threads for the inspection; 0 stands for all cores.
    pub(crate) jobs: usize,
}

impl Finished {
    /// The report of the compile.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Moves the file to its target unless `inspect` refuses it. On a dry run nothing is inspected.
    pub fn publish(mut self, inspect: Inspect<'_>, progress: &dyn Progress) -> Result<Report, Error> {
        if let Some(file) = self.file {
            let cancellation = progress.cancellation();
            progress.update(Phase::Inspect, 0, 1);
            cancellation.check()?;
            let look = |path: &Path| pool(self.jobs)?.install(|| inspect(path));
            let published = publish(file, &self.target, &look, &mut self.report.remarks);
            published.map_err(|error| if cancellation.is_cancelled() { Error::Cancelled } else { error })?;
        }
        Ok(self.report)
    }
}

/// Moves a file to its target if it opens and decodes. Returns its size in bytes.
pub(crate) fn publish(
    file: CompleteFile,
    target: &Path,
    inspect: Inspect<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<u64, Error> {
    inspect(file.path()).map_err(|source| Error::Refused { source, target: target.into() })?;
    let published = file.publish()?;
    if let Some(error) = published.unsynced {
        remarks.push(Remark::new(
            target.display().to_string(),
            format!("the file is complete and in its place, but its folder could not be synced ({error}): the older one may be back after a power cut in the next seconds"),
        ));
    }
    Ok(published.size)
}
