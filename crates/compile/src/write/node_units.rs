//! The data of nodes in each unit: visibility, transforms, and world positions of the visible meshes.

use crate::Error;
use crate::mesh::streams::EMPTY_BOUNDS;
use crate::nodes::matrix::Matrix;
use crate::write::job::Job;
use crate::write::node_coder::NodeCoder;
use crate::write::node_frames::{FrameInput, NodeFrames, same_bits, unit_bounds};
use meshreel_codec::put_length_prefixed;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::transform::{self, Transform};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The data of nodes in a unit, which precedes that of meshes.
#[derive(Serialize, Deserialize)]
pub struct NodeUnit {
    /// Visibility and transforms as stored in the unit.
    pub bytes: Vec<u8>,
    /// Bytes of coded transforms among these.
    pub transform_bytes: usize,
    /// The frames of the unit, in order.
    pub frames: Vec<FrameShown>,
}

/// The visible meshes of a frame.
#[derive(Serialize, Deserialize)]
pub struct FrameShown {
    /// The number of the frame.
    pub frame: u32,
    /// World-space bounds of the meshes whose own bounds were known when this was made.
    pub constant_bounds: [f32; 6],
    /// The other meshes by number, each with a decoded world matrix.
    pub meshes: Vec<(u32, Matrix)>,
}

impl FrameShown {
    /// Returns the world-space bounds of everything visible; `own` returns the bounds of a mesh.
    pub fn bounds(&self, own: impl Fn(u32) -> [f32; 6]) -> [f32; 6] {
        let other = unit_bounds(&self.meshes, own);
        std::array::from_fn(|k| match k < 3 {
            true => self.constant_bounds[k].min(other[k]),
            false => self.constant_bounds[k].max(other[k]),
        })
    }
}

/// The source of the nodes' data in units.
pub trait NodeSource: Sync {
    /// Prepares all units of the groups before this one, and the keys that are written ahead of them.
    fn advance(&mut self, groups: u32) -> Result<(), Error>;
    /// Returns `true` if a unit is ready.
    fn is_ready(&self, unit: Unit) -> bool;
    /// Returns the data of nodes in a unit that is ready.
    fn node_unit(&self, unit: Unit) -> Result<NodeUnit, Error>;
    /// Drops the keys before this one, and the groups between these.
    fn forget(&mut self, key: u32);
}

/// Nodes that are read and coded frame by frame.
pub struct LiveNodes<'a, 'c> {
    schedule: Schedule,
    frames: NodeFrames<'a>,
    /// Frames that are still needed.
    inputs: BTreeMap<u32, FrameInput>,
    /// The coder of transforms; `None` if they are stored exactly.
    coder: Option<&'c mut NodeCoder<'a>>,
    /// The number of groups that are coded.
    groups: u32,
    /// By mesh, its bounds, if they are the same in all frames; empty if that is not used.
    constant_bounds: Vec<Option<[f32; 6]>>,
}

impl<'a, 'c> LiveNodes<'a, 'c> {
    /// Starts before the first frame.
    pub fn new(
        job: &'a Job,
        coder: Option<&'c mut NodeCoder<'a>>,
        schedule: Schedule,
    ) -> Result<LiveNodes<'a, 'c>, Error> {
        let frames = NodeFrames::new(job)?;
        Ok(LiveNodes {
            schedule,
            frames,
            inputs: BTreeMap::new(),
            coder,
            groups: 0,
            constant_bounds: Vec::new(),
        })
    }

    /// Replaces meshes that do not change by their bounds.
    pub fn with_constant_bounds(self, still: Vec<Option<[f32; 6]>>) -> LiveNodes<'a, 'c> {
        LiveNodes { constant_bounds: still, ..self }
    }

    /// Returns the world matrices of the visible meshes in a frame, by mesh.
    fn visible_meshes(&self, frame: u32) -> FrameShown {
        let shown = self.inputs.get(&frame).map(|input| match &self.coder {
            Some(coder) => coder.shown(frame, input),
            None => input.shown.clone(),
        });
        let known = |mesh: u32| self.constant_bounds.get(mesh as usize).copied().flatten();
        let (still, meshes): (Vec<_>, Vec<_>) =
            shown.unwrap_or_default().into_iter().partition(|(mesh, _)| known(*mesh).is_some());
        let still = unit_bounds(&still, |mesh| known(mesh).unwrap_or(EMPTY_BOUNDS));
        FrameShown { frame, constant_bounds: still, meshes }
    }
}

impl NodeSource for LiveNodes<'_, '_> {
    fn advance(&mut self, groups: u32) -> Result<(), Error> {
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
            coder.code(&self.inputs, groups)?;
        }
        self.groups = groups;
        Ok(())
    }

    fn is_ready(&self, unit: Unit) -> bool {
        let coded = match unit {
            Unit::Key(_) => true,
            Unit::LowerLayers(g) | Unit::TopLayer(g) => g < self.groups,
        };
        coded && self.schedule.frames_of(unit).iter().all(|frame| self.inputs.contains_key(frame))
    }

    fn node_unit(&self, unit: Unit) -> Result<NodeUnit, Error> {
        let frames = self.schedule.frames_of(unit);
        let mut bytes = Vec::new();
        for &frame in frames.iter() {
            let Some(input) = self.inputs.get(&frame) else {
                continue;
            };
            bytes.extend_from_slice(&input.visible);
            if !input.transforms.is_empty() && self.coder.is_none() {
                write_transforms(self.schedule, frame, &self.inputs, &input.transforms, &mut bytes)?;
            }
        }
        let start = bytes.len();
        if let Some(coder) = &self.coder {
            put_length_prefixed(&coder.unit(unit)?, &mut bytes);
        }
        let transforms = bytes.len() - start;
        Ok(NodeUnit {
            bytes,
            transform_bytes: transforms,
            frames: frames.iter().map(|&frame| self.visible_meshes(frame)).collect(),
        })
    }

    fn forget(&mut self, key: u32) {
        let keep = self.schedule.key_frame(key);
        self.inputs.retain(|&frame, _| frame >= keep);
        if let Some(coder) = &mut self.coder {
            coder.forget(keep);
        }
    }
}

/// Appends the exact transforms of a frame, as a difference from the frame that it refers to; decoded again.
fn write_transforms(
    schedule: Schedule,
    frame: u32,
    inputs: &BTreeMap<u32, FrameInput>,
    transforms: &[Transform],
    content: &mut Vec<u8>,
) -> Result<(), Error> {
    // As in the player: a key does not refer to the first frame here.
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
