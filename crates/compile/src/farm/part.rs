//! Codes a share of a file's units from the stored decisions.

use crate::Error;
use crate::decisions::{Decisions, MeshDecisions};
use crate::farm::record::{ChangingTail, MeshTail, Tail, from_bytes, malformed, to_bytes};
use crate::method::mesh_coder::MeshCoder;
use crate::method::resume::FrameSpan;
use crate::plan::{with_coders, with_decided, with_scene};
use crate::report::Progress;
use crate::tighter::RequestedOptions;
use crate::write::node_units::{NodeSource, NodeUnit};
use crate::write::units::{Encoding, UnitRange};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_options::Options;
use meshreel_scene::Scene;

/// The data of a plan that parts use.
#[derive(Clone, Copy)]
pub struct PlannedUnits<'a> {
    /// The decisions.
    pub decisions: &'a [u8],
    /// Returns the bytes of nodes in the unit of a given number.
    pub nodes: &'a (dyn Fn(u32) -> Result<Vec<u8>, Error> + Sync),
    /// Returns the keys of a mesh and a segment of its frames, where these were coded.
    pub keys: &'a (dyn Fn([u32; 2]) -> Result<Option<Vec<u8>>, Error> + Sync),
}

/// Receives the number of a unit and its bytes.
pub type TakeUnit<'a> = &'a mut (dyn FnMut(u32, Vec<u8>) -> Result<(), Error> + Send);

/// Codes part `number` (from 1) of `count` of the units of a planned file, and hands them to `take` in the
/// order of the file. `scene` and `options` must be those of the plan. Returns the tail.
pub fn part(
    scene: &Scene,
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
    let options = &Options { strict: false, dry_run: false, ..options.clone() };
    let keys = |mesh: usize, segment: u32| {
        let bytes = (planned.keys)([mesh as u32, segment])?;
        bytes.map(|bytes| from_bytes(&bytes, "the keys of a mesh")).transpose()
    };
    with_scene(scene, Vec::new(), RequestedOptions::untightened(options), progress, |scene, _, around| {
        with_decided(scene, options, around, &decided, |plans| {
            let again = Some((&decided.meshes[..], FrameSpan { keys: &keys, frames }));
            with_coders(plans, (options, schedule), around.pool, again, |coders| {
                let same = |(coder, mesh): (&MeshCoder<'_>, &MeshDecisions)| {
                    coder.static_checksum() == mesh.static_checksum
                };
                if !coders.iter().zip(&decided.meshes).all(same) {
                    // Never observed; frames coded against other static data would be garbage.
                    return Err(malformed(
                        "static data comes out otherwise than on the machine that planned",
                    ));
                }
                let encoding = Encoding {
                    plans,
                    nodes: decided.nodes as usize,
                    options,
                    cancellation: around.cancellation,
                    coders,
                    schedule,
                    range: range.clone(),
                    pool: around.pool,
                    progress,
                };
                let mut nodes = PlannedNodes { schedule, nodes: planned.nodes };
                // In the order of the file.
                let mut order = schedule.units_in_file_order().filter(|unit| range.contains(*unit));
                encoding.encode(&mut nodes, &mut |output| {
                    let unit = order.next().ok_or_else(|| malformed("more units than there are"))?;
                    take(schedule.unit_number(unit), to_bytes(&output)?)
                })?;
                let tail = coders.iter().map(|coder| MeshTail {
                    end_states: coder.end_state_units(),
                    changing: coder.changing_data().map(|(maps, counted)| ChangingTail::new(&maps, counted)),
                });
                to_bytes(&Tail { meshes: tail.collect() })
            })
        })
    })
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
    fn advance(&mut self, _: u32, _: &rayon::ThreadPool) -> Result<(), Error> {
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
