//! Codes a share of a file's units from the stored decisions.

use crate::Error;
use crate::context::{CompileContext, Content, RequestedOptions, Tightening};
use crate::decisions::{Decisions, MeshDecisions};
use crate::farm::record::{ChangingTail, MeshTail, Tail, from_bytes, malformed, to_bytes};
use crate::mesh::plan::Plans;
use crate::method::mesh_coder::MeshCoder;
use crate::method::resume::{FrameSpan, resume_coders};
use crate::nodes::motion;
use crate::plan::{compiled_scene, remesh_faces};
use crate::report::{Log, Progress};
use crate::select::selection;
use crate::write::node_units::{NodeSource, NodeUnit};
use crate::write::units::{Encoding, UnitRange};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_options::Options;
use meshreel_scene::Scene;
use rayon::prelude::*;
use std::sync::Arc;

/// Returns the keys of a mesh and a segment of its frames, by their numbers; `None` if they were not coded.
pub type KeySource = Arc<dyn Fn([u32; 2]) -> Result<Option<Vec<u8>>, Error> + Send + Sync>;

/// The data of a plan that parts use.
pub struct PlannedUnits<'a> {
    /// The decisions.
    pub decisions: &'a [u8],
    /// Returns the bytes of nodes in the unit of a given number.
    pub nodes: &'a (dyn Fn(u32) -> Result<Vec<u8>, Error> + Sync),
    /// Returns the keys of a mesh and a segment of its frames, where these were coded.
    pub keys: KeySource,
}

/// Receives the number of a unit and its bytes.
pub type TakeUnit<'a> = &'a mut (dyn FnMut(u32, Vec<u8>) -> Result<(), Error> + Send);

/// Codes part `number` (from 1) of `count` of the units of a planned file, and hands them to `take` in the
/// order of the file. `scene` and `options` must be those of the plan. Returns the tail.
pub fn part(
    scene: impl Into<Arc<Scene>>,
    options: &Options,
    planned: PlannedUnits<'_>,
    (number, count): (u32, u32),
    progress: &dyn Progress,
    take: TakeUnit<'_>,
) -> Result<Vec<u8>, Error> {
    if !(1..=count).contains(&number) {
        return Err(Error::misuse(format!("part {number} of {count}: from 1 to {count}")));
    }
    if planned.decisions.is_empty() {
        return empty_tail();
    }
    let decided: Decisions = from_bytes(planned.decisions, "what was decided")?;
    check_times(&decided)?;
    let schedule = Schedule::new(decided.times.len() as u32, options.restart());
    let chains = decided.meshes.iter().any(|mesh| mesh.chains);
    let range = UnitRange::part(schedule, chains, number, count);
    let Some(frames) = range.frames(schedule) else {
        let none = decided.meshes.iter().map(|_| MeshTail { end_states: [None, None], changing: None });
        return to_bytes(&Tail { meshes: none.collect() });
    };
    // All remarks were given by the plan.
    let options = Options { strict: false, dry_run: false, ..options.clone() };
    let keys = planned.keys.clone();
    let keys = Arc::new(move |mesh: usize, segment: u32| {
        let bytes = keys([mesh as u32, segment])?;
        bytes.map(|bytes| from_bytes(&bytes, "the keys of a mesh")).transpose()
    });
    let scene = scene.into();
    let context = CompileContext::new(RequestedOptions::new(&options, &Tightening::default()), progress)?;
    let coded = context.run(|| {
        let scene = compiled_scene(scene, &context, &mut Log::default())?;
        let content = resume_content(scene, &context, &decided)?;
        let plans = resume_plans(&content, &decided)?;
        let span = FrameSpan { keys, frames };
        let coders = resume_coders(&plans, schedule, &content.options, &decided.meshes, &span)?;
        let same =
            |(coder, mesh): (&MeshCoder, &MeshDecisions)| coder.static_checksum() == mesh.static_checksum;
        if !coders.iter().zip(&decided.meshes).all(same) {
            // Never observed; frames coded against other static data would be garbage.
            return Err(malformed("static data comes out otherwise than on the machine that planned"));
        }
        // In the order of the file.
        let mut order = schedule.units_in_file_order().filter(|unit| range.contains(*unit));
        let encoding = Encoding {
            plans: &plans,
            nodes: decided.nodes as usize,
            options: &content.options,
            cancellation: &content.cancellation,
            coders: &coders,
            schedule,
            range: range.clone(),
            progress,
        };
        let mut nodes = PlannedNodes { schedule, nodes: planned.nodes };
        encoding.encode(&mut nodes, &mut |output| {
            let unit = order.next().ok_or_else(|| malformed("more units than there are"))?;
            take(schedule.unit_number(unit), to_bytes(&output)?)
        })?;
        let tail = coders.iter().map(|coder| MeshTail {
            end_states: coder.end_state_units(),
            changing: coder.changing_data().map(|(maps, counted)| ChangingTail::new(&maps, counted)),
        });
        to_bytes(&Tail { meshes: tail.collect() })
    });
    context.or_cancelled(coded)
}

/// Returns the content of the stored decisions: their times, and fixed faces where the plan made them.
fn resume_content(
    scene: Arc<Scene>,
    context: &CompileContext<'_>,
    decided: &Decisions,
) -> Result<Content, Error> {
    let content = Content::new(scene, &context.asked, &context.cancellation)?;
    let content = Content { times: decided.times.as_slice().into(), ..content };
    if !decided.remeshed {
        return Ok(content);
    }
    let mut log = Log::default();
    let selected = selection::select(&content.scene, &content.placed, &content.options, &mut log)?;
    let motion = motion::scan_transforms(&content, &selected.any)?;
    remesh_faces(content, &selected.meshes, &motion, &mut log)
}

/// Returns the meshes of the stored decisions. Only the first frame of each is read.
fn resume_plans(content: &Content, decided: &Decisions) -> Result<Plans, Error> {
    let plan = |mesh: &MeshDecisions| {
        let bound = (mesh.error_bound, mesh.explicit_normals);
        Ok((Arc::new(mesh.analysis.plan(content, bound)?), Vec::new()))
    };
    decided.meshes.par_iter().map(plan).collect()
}

/// Returns the tail of a part of a plan that has nothing to share out.
pub fn empty_tail() -> Result<Vec<u8>, Error> {
    to_bytes(&Tail { meshes: Vec::new() })
}

/// Returns an error if the stored times are not valid.
fn check_times(decided: &Decisions) -> Result<(), Error> {
    let times = &decided.times;
    let ordered = times.windows(2).all(|pair| pair[0] < pair[1]);
    let few = (1..u32::MAX as usize).contains(&times.len());
    match ordered && few && times.iter().all(|time| time.is_finite()) {
        true => Ok(()),
        false => Err(malformed("times of frames that are not in order")),
    }
}

/// Nodes as coded by the plan.
struct PlannedNodes<'a> {
    schedule: Schedule,
    nodes: &'a (dyn Fn(u32) -> Result<Vec<u8>, Error> + Sync),
}

impl NodeSource for PlannedNodes<'_> {
    fn advance(&mut self, _: u32) -> Result<(), Error> {
        Ok(())
    }

    fn is_ready(&self, _: Unit) -> bool {
        true
    }

    fn node_unit(&self, unit: Unit) -> Result<NodeUnit, Error> {
        let bytes = (self.nodes)(self.schedule.unit_number(unit))?;
        let part: NodeUnit = from_bytes(&bytes, "what nodes have in a unit")?;
        let frames = self.schedule.frames_of(unit);
        match part.frames.iter().map(|f| f.frame).eq(frames.iter().copied()) {
            true => Ok(part),
            false => Err(malformed("nodes of other frames than a unit has")),
        }
    }

    fn forget(&mut self, _: u32) {}
}
