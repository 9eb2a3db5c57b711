//! The step of a farm that needs the whole source and is done once.

use crate::Error;
use crate::context::{CompileContext, Content, RequestedOptions, Tightening};
use crate::decisions::Decisions;
use crate::farm::record::{Assembly, MeshOutline, UnitsOutline, to_bytes};
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::NormalOrigin;
use crate::method::mesh_coder::{MeshCoder, choose_coders};
use crate::plan::{Prologue, compiled_scene, decide, is_clips_alone, prologue};
use crate::report::{Log, Progress};
use crate::write::clips;
use crate::write::file::{ChunkOutput, FileWriter};
use crate::write::job::{Chunk, Job};
use crate::write::node_coder::NodeCoder;
use crate::write::node_units::{LiveNodes, NodeSource};
use meshreel_codec::record;
use meshreel_options::{Options, Preset};
use meshreel_scene::{Remark, Scene};
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The data that parts and the join continue from.
pub struct FarmPlan {
    /// For parts: the decisions. Empty where there are no units to share out.
    pub decisions: Vec<u8>,
    /// For parts: the bytes of nodes in each unit, with the unit's number.
    pub nodes: Vec<(u32, Vec<u8>)>,
    /// For parts: coded key frames, by the number of a mesh and of a segment of its frames.
    pub keys: Vec<([u32; 2], Vec<u8>)>,
    /// For the join: everything of the file but its units.
    pub assembly: Vec<u8>,
    /// The number of frames of the file.
    pub frames: usize,
    /// Remarks of the reader and of the passes.
    pub remarks: Vec<Remark>,
}

/// The number of groups of frames whose nodes are coded at once.
const GROUPS: u32 = 16;
/// The largest number of segments at which parts are assumed to have less than a whole segment each.
const SHARED_SEGMENTS: u32 = 16;

/// Decides how `scene` is compiled, and does the work that cannot be shared out: seeks bones and settings,
/// codes nodes and clips, makes static data. For clips alone, for meshes that do not change and for the
/// preset classic, that is everything. `remarks` are those of the reader.
pub fn plan(
    scene: impl Into<Arc<Scene>>,
    remarks: Vec<Remark>,
    options: &Options,
    progress: &dyn Progress,
) -> Result<FarmPlan, Error> {
    let context = CompileContext::new(RequestedOptions::new(options, &Tightening::default()), progress)?;
    let (scene, log) = (scene.into(), Log { remarks, passes: Vec::new() });
    context.or_cancelled(context.run(|| plan_scene(scene, log, &context)))
}

fn plan_scene(scene: Arc<Scene>, mut log: Log, context: &CompileContext<'_>) -> Result<FarmPlan, Error> {
    let scene = compiled_scene(scene, context, &mut log)?;
    if is_clips_alone(&scene) {
        let (before, clips) = clips::clip_file_chunks(&scene, context, &mut log.remarks)?;
        let raw_bytes = clips::raw_bytes(&clips);
        let assembly =
            Assembly { leading_chunks: before, units: None, times: Vec::new(), boxes: Vec::new(), raw_bytes };
        return finish_plan(&assembly, None, log);
    }
    let (mut job, _) = decide(scene, context, &mut log)?;
    match plan_job(&job, context, Log { remarks: log.remarks.clone(), passes: Vec::new() }) {
        // Tried once more with exact transforms, as in a compile.
        Err(_) if job.needs_exact.load(Ordering::Relaxed) && !context.cancellation.is_cancelled() => {
            job.exact = true;
            plan_job(&job, context, log)
        }
        done => done,
    }
}

/// Decisions, nodes, and keys.
type PartInputs = (Decisions, Vec<(u32, Vec<u8>)>, Vec<([u32; 2], Vec<u8>)>);

fn finish_plan(assembly: &Assembly, parts: Option<PartInputs>, mut log: Log) -> Result<FarmPlan, Error> {
    log.remarks.sort();
    log.remarks.dedup();
    let (decisions, nodes, keys) = match parts {
        Some((decided, nodes, keys)) => (to_bytes(&decided)?, nodes, keys),
        None => Default::default(),
    };
    Ok(FarmPlan {
        decisions,
        nodes,
        keys,
        assembly: to_bytes(assembly)?,
        frames: assembly.times.len(),
        remarks: log.remarks,
    })
}

/// Plans the file of a job.
fn plan_job(job: &Job, context: &CompileContext<'_>, mut log: Log) -> Result<FarmPlan, Error> {
    let Content { options, times, .. } = &job.content;
    let coders = choose_coders(&job.plans, job.schedule(), options)?;
    context.meter.flush();
    let mut file = FileWriter::in_memory(job);
    let Prologue { extras, mut nodes } = prologue(&mut file, job, &coders)?;
    for (m, coder) in coders.iter().enumerate() {
        log.remarks.extend(coder.remarks.iter().cloned());
        log.remarks.extend(extras.remarks(m));
    }
    let still = |coder: &MeshCoder| coder.constant_bounds().is_some();
    if options.preset == Preset::Classic || coders.iter().all(still) {
        let assembly = write_all_units(file, (&coders, &mut nodes), context.progress)?;
        return finish_plan(&assembly, None, log);
    }
    let before = take_chunks(&mut file);
    let node_units = code_nodes(job, &coders, nodes.as_mut())?;
    let decided = Decisions {
        times: times.to_vec(),
        nodes: job.nodes.len() as u32,
        remeshed: !job.content.remeshed.is_empty(),
        meshes: coders.par_iter().map(MeshCoder::decisions).collect(),
    };
    let keys = code_keys(job, &coders)?;
    file.clips_rigs_ranges()?;
    let mut description = Vec::new();
    record::encode(&file.description(&coders, nodes.as_ref()), &mut description);
    let outline = |(plan, _): &(Arc<MeshPlan>, Vec<usize>)| MeshOutline {
        faces_change: plan.prepared.fixed.is_none(),
        generated_normals: plan.prepared.channels.normals == NormalOrigin::Generated,
    };
    let units = UnitsOutline {
        restart: options.restart(),
        effort: options.effort,
        trailing_chunks: take_chunks(&mut file),
        description,
        meshes: job.plans.iter().map(outline).collect(),
        strip: options.strip,
    };
    let assembly = Assembly {
        leading_chunks: before,
        units: Some(units),
        times: times.to_vec(),
        boxes: Vec::new(),
        raw_bytes: file.raw_bytes(),
    };
    finish_plan(&assembly, Some((decided, node_units, keys)), log)
}

/// Keys of a segment: the numbers of the mesh and the segment, and the bytes.
type CodedKeys = ([u32; 2], Vec<u8>);

/// Codes the keys of all meshes, by mesh and segment, where the animation is so short that several parts
/// would share a segment and each would code its keys again; limited to a fraction of the memory.
fn code_keys(job: &Job, coders: &[MeshCoder]) -> Result<Vec<CodedKeys>, Error> {
    let mut left = job.content.options.memory / 4;
    let mut out = Vec::new();
    if job.schedule().segments() > SHARED_SEGMENTS {
        return Ok(out);
    }
    for (m, coder) in (0..).zip(coders) {
        job.content.cancellation.check()?;
        if let Some(size) = coder.known_size().filter(|size| *size <= left) {
            left -= size;
            for (segment, keys) in coder.known_keys()? {
                out.push(([m, segment], to_bytes(&keys)?));
            }
        }
    }
    Ok(out)
}

/// Writes all units of a file of the preset classic, or of meshes that do not change: there nodes are coded
/// one after the other, and each part would have to know all meshes.
fn write_all_units<'a>(
    mut file: FileWriter<'a>,
    (coders, nodes): (&[MeshCoder], &mut Option<NodeCoder<'a>>),
    progress: &dyn Progress,
) -> Result<Assembly, Error> {
    file.frames(coders, nodes, progress)?;
    file.end_states(coders)?;
    file.changing_source_maps(coders)?;
    file.clips_rigs_ranges()?;
    file.describe(coders, nodes.as_ref())?;
    Ok(Assembly {
        leading_chunks: take_chunks(&mut file),
        units: None,
        times: file.job.content.times.to_vec(),
        boxes: std::mem::take(&mut file.body.boxes),
        raw_bytes: file.raw_bytes(),
    })
}

/// Returns the chunks of a file that collects them in memory, and removes them there.
fn take_chunks(file: &mut FileWriter<'_>) -> Vec<Chunk> {
    match &mut file.body.output {
        ChunkOutput::Memory(chunks) => std::mem::take(chunks),
        _ => Vec::new(),
    }
}

/// Codes the nodes of each unit.
fn code_nodes<'a>(
    job: &'a Job,
    coders: &[MeshCoder],
    coder: Option<&mut NodeCoder<'a>>,
) -> Result<Vec<(u32, Vec<u8>)>, Error> {
    let schedule = job.schedule();
    let still = coders.iter().map(MeshCoder::constant_bounds).collect();
    let mut nodes = LiveNodes::new(job, coder, schedule)?.with_constant_bounds(still);
    let mut units = schedule.units_in_file_order().peekable();
    let mut out = Vec::new();
    let mut groups = 0;
    while units.peek().is_some() {
        job.content.cancellation.check()?;
        groups = (groups + GROUPS).min(schedule.groups());
        nodes.advance(groups)?;
        while let Some(unit) = units.next_if(|unit| nodes.is_ready(*unit)) {
            out.push((schedule.unit_number(unit), to_bytes(&nodes.node_unit(unit)?)?));
        }
        nodes.forget(groups.saturating_sub(1));
    }
    Ok(out)
}
