//! What nodes have in each unit: visibility, transforms, and where in the world meshes are shown.

use crate::Error;
use crate::mesh::streams::NOTHING;
use crate::nodes::matrix::Matrix;
use crate::write::job::Job;
use crate::write::node_coder::NodeCoder;
use crate::write::node_frames::{FrameInput, NodeFrames, same_bits, unit_bounds};
use meshreel_codec::put_sized;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::transform::{self, Transform};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What nodes have in a unit, ahead of what meshes have.
#[derive(Serialize, Deserialize)]
pub struct NodePart {
    /// Visibility and transforms as they stand in the unit.
    pub bytes: Vec<u8>,
    /// Bytes of these that coded transforms take.
    pub transforms: usize,
    /// The frames of the unit, in order.
    pub frames: Vec<FrameShown>,
}

/// What a frame shows.
#[derive(Serialize, Deserialize)]
pub struct FrameShown {
    /// The frame.
    pub frame: u32,
    /// Box in the world around meshes whose own boxes were known when this was made.
    pub still: [f32; 6],
    /// The other meshes by number, each with a world matrix as decoded.
    pub meshes: Vec<(u32, Matrix)>,
}

impl FrameShown {
    /// Box in the world around all that is shown; `own` gives the box of a mesh.
    pub fn bounds(&self, own: impl Fn(u32) -> [f32; 6]) -> [f32; 6] {
        let other = unit_bounds(&self.meshes, own);
        std::array::from_fn(|k| match k < 3 {
            true => self.still[k].min(other[k]),
            false => self.still[k].max(other[k]),
        })
    }
}

/// Where units get from what nodes have in them.
pub trait NodeSource: Sync {
    /// Makes all units ready of the groups before this one, and the keys that are written ahead of them.
    fn advance(&mut self, groups: u32, pool: &rayon::ThreadPool) -> Result<(), Error>;
    /// Whether a unit is ready.
    fn has(&self, unit: Unit) -> bool;
    /// What nodes have in a unit that is ready.
    fn part(&self, unit: Unit) -> Result<NodePart, Error>;
    /// Keys before this one, and groups between these, are not needed any more.
    fn forget(&mut self, key: u32);
}

/// Nodes that are read and coded frame after frame.
pub struct LiveNodes<'a, 'c> {
    schedule: Schedule,
    frames: NodeFrames<'a>,
    /// Frames that are still needed.
    inputs: BTreeMap<u32, FrameInput>,
    /// None where transforms are kept as they are.
    coder: Option<&'c mut NodeCoder<'a>>,
    /// Groups that are coded.
    groups: u32,
    /// By mesh its box, where that is the same in all frames; nothing where that does not matter.
    still: Vec<Option<[f32; 6]>>,
}

impl<'a, 'c> LiveNodes<'a, 'c> {
    /// Nodes before their first frame.
    pub fn new(
        job: &'a Job<'a>,
        coder: Option<&'c mut NodeCoder<'a>>,
        schedule: Schedule,
    ) -> Result<LiveNodes<'a, 'c>, Error> {
        let frames = NodeFrames::new(job)?;
        Ok(LiveNodes { schedule, frames, inputs: BTreeMap::new(), coder, groups: 0, still: Vec::new() })
    }

    /// Lets boxes of meshes that do not change stand for these.
    pub fn with_still(self, still: Vec<Option<[f32; 6]>>) -> LiveNodes<'a, 'c> {
        LiveNodes { still, ..self }
    }

    /// World matrices of what is shown in a frame, by mesh.
    fn shown(&self, frame: u32) -> FrameShown {
        let shown = self.inputs.get(&frame).map(|input| match &self.coder {
            Some(coder) => coder.shown(frame, input),
            None => input.shown.clone(),
        });
        let known = |mesh: u32| self.still.get(mesh as usize).copied().flatten();
        let (still, meshes): (Vec<_>, Vec<_>) =
            shown.unwrap_or_default().into_iter().partition(|(mesh, _)| known(*mesh).is_some());
        let still = unit_bounds(&still, |mesh| known(mesh).unwrap_or(NOTHING));
        FrameShown { frame, still, meshes }
    }
}

impl NodeSource for LiveNodes<'_, '_> {
    fn advance(&mut self, groups: u32, pool: &rayon::ThreadPool) -> Result<(), Error> {
        let schedule = self.schedule;
        // All frames of these groups, and the two keys that are written ahead of them.
        let end = match groups >= schedule.groups() {
            true => schedule.frames(),
            false => schedule.key_frame((groups + 1).min(schedule.keys() - 1)) + 1,
        };
        while self.frames.next() < end as usize {
            let frame = self.frames.next() as u32;
            self.inputs.insert(frame, self.frames.read()?);
        }
        if let Some(coder) = &mut self.coder {
            pool.install(|| coder.code(&self.inputs, groups))?;
        }
        self.groups = groups;
        Ok(())
    }

    fn has(&self, unit: Unit) -> bool {
        let coded = match unit {
            Unit::Key(_) => true,
            Unit::LowerLayers(g) | Unit::TopLayer(g) => g < self.groups,
        };
        coded && self.schedule.frames_of(unit).iter().all(|frame| self.inputs.contains_key(frame))
    }

    fn part(&self, unit: Unit) -> Result<NodePart, Error> {
        let frames = self.schedule.frames_of(unit);
        let mut bytes = Vec::new();
        for &frame in frames.iter() {
            let Some(input) = self.inputs.get(&frame) else {
                continue;
            };
            bytes.extend_from_slice(&input.visible);
            if !input.transforms.is_empty() && self.coder.is_none() {
                put_transforms(self.schedule, frame, &self.inputs, &input.transforms, &mut bytes)?;
            }
        }
        let start = bytes.len();
        if let Some(coder) = &self.coder {
            put_sized(&coder.unit(unit)?, &mut bytes);
        }
        let transforms = bytes.len() - start;
        Ok(NodePart { bytes, transforms, frames: frames.iter().map(|&frame| self.shown(frame)).collect() })
    }

    fn forget(&mut self, key: u32) {
        let keep = self.schedule.key_frame(key);
        self.inputs.retain(|&frame, _| frame >= keep);
        if let Some(coder) = &mut self.coder {
            coder.forget(keep);
        }
    }
}

/// Adds the transforms of a frame as they are, as a difference to the frame that it refers to; decoded again.
fn put_transforms(
    schedule: Schedule,
    frame: u32,
    inputs: &BTreeMap<u32, FrameInput>,
    transforms: &[Transform],
    content: &mut Vec<u8>,
) -> Result<(), Error> {
    // As in the player: what a key would take from the first frame it does not.
    let key = schedule.key_of(frame).is_some();
    let references = schedule.references(frame);
    let mut list = references.iter().filter(|&&r| !(key && r == 0));
    let previous = list.next().and_then(|r| inputs.get(r));
    let previous = previous.map(|input| &input.transforms[..]);
    let start = content.len();
    transform::encode(transforms, previous, content);
    let mut back = vec![Transform::IDENTITY; transforms.len()];
    let used = transform::decode(&content[start..], previous, &mut back);
    match used == Ok(content.len() - start) && same_bits(&back, transforms) {
        true => Ok(()),
        false => Err(Error::Promise {
            what: format!("the transforms of frame {frame} do not decode to what was encoded"),
            target: Default::default(),
        }),
    }
}
