//! Visibility and transforms of all nodes, frame by frame, as the writer reads them.

use crate::Error;
use crate::nodes::matrix::transform_box;
use crate::nodes::motion::visibility;
use crate::nodes::tracks::NodeTracks;
use crate::write::job::Job;
use meshreel_codec::record::Visibility;
use meshreel_codec::transform::Transform;
use meshreel_options::Preset;
use meshreel_process::trs::{Trs, rows};

/// Visibility and transforms of all nodes in one frame.
pub struct FrameInput {
    pub visible: Vec<u8>,
    pub transforms: Vec<Transform>,
    /// Decoded world matrices of nodes with a visible mesh: the node's mesh number and matrix.
    pub shown: Vec<(u32, [[f64; 4]; 3])>,
    /// The nodes of these matrices.
    pub nodes: Vec<usize>,
    /// By moving node, its local transform, not rounded.
    pub decomposed: Vec<Trs>,
    /// By node, its world matrix in the source.
    pub source: Vec<[[f64; 4]; 3]>,
}

/// Visibility and transforms of all nodes, frame by frame.
pub struct NodeFrames<'a> {
    job: &'a Job,
    tracks: NodeTracks<'a>,
    /// By node, its mesh.
    mesh_of: Vec<Option<u32>>,
    /// Objects whose visibility changes.
    animated: Vec<usize>,
    next: usize,
}

impl<'a> NodeFrames<'a> {
    pub fn new(job: &'a Job) -> Result<NodeFrames<'a>, Error> {
        let mut of = vec![None; job.content.placed.len()];
        for (m, (_, placements)) in job.plans.iter().enumerate() {
            placements.iter().for_each(|&i| of[i] = Some(m as u32));
        }
        let visible = |i: usize| visibility(&job.motion.visible[i], job.content.times.len());
        let shown = job.nodes.iter().filter_map(|n| n.visible_object());
        Ok(NodeFrames {
            job,
            tracks: NodeTracks::new(&job.content.scene, &job.content.placed, &job.nodes)?,
            mesh_of: (job.nodes.iter()).map(|n| n.mesh.and_then(|i| of[i])).collect(),
            animated: shown.filter(|&i| visible(i) == Visibility::Animated).collect(),
            next: 0,
        })
    }

    /// Returns the frame that [`NodeFrames::read`] will return.
    pub fn next(&self) -> usize {
        self.next
    }

    /// Reads the next frame, which must exist.
    pub fn read(&mut self) -> Result<FrameInput, Error> {
        let (job, frame) = (self.job, self.next);
        job.content.cancellation.check()?;
        self.next += 1;
        self.tracks.evaluate(job.content.times[frame])?;
        let mut visible = vec![0u8; self.animated.len().div_ceil(8)];
        for (bit, &i) in self.animated.iter().enumerate() {
            if job.motion.visible[i].contains(frame) {
                visible[bit / 8] |= 1 << (bit % 8);
            }
        }
        let (nodes, shown) = (0..job.nodes.len())
            .filter_map(|n| Some((n, self.mesh_of[n]?, job.nodes[n].mesh?)))
            .filter(|(_, _, i)| job.motion.visible[*i].contains(frame))
            .map(|(n, m, _)| (n, (m, self.tracks.decoded[n])))
            .unzip();
        let moving = || (0..job.nodes.len()).filter(|&n| job.nodes[n].animated);
        let (mut parts, mut source) = (Vec::new(), Vec::new());
        if job.content.options.preset != Preset::Classic {
            parts.extend(moving().map(|n| self.tracks.decomposed(n)));
            let world = &self.tracks.world.matrix;
            source.extend(job.nodes.iter().map(|node| rows(&world[node.named])));
        }
        Ok(FrameInput {
            visible,
            transforms: moving().map(|n| self.tracks.local[n]).collect(),
            shown,
            nodes,
            decomposed: parts,
            source,
        })
    }
}

/// Returns the world-space bounds of the visible meshes; `own` returns the bounds of a mesh.
pub fn unit_bounds(shown: &[(u32, [[f64; 4]; 3])], own: impl Fn(u32) -> [f32; 6]) -> [f32; 6] {
    let mut bounds = crate::mesh::streams::EMPTY_BOUNDS;
    for (m, matrix) in shown {
        let own = own(*m);
        if own[0] <= own[3] {
            let world = transform_box(matrix, &own);
            for k in 0..3 {
                bounds[k] = bounds[k].min((world[k] as f32).next_down());
                bounds[k + 3] = bounds[k + 3].max((world[k + 3] as f32).next_up());
            }
        }
    }
    bounds
}

pub fn same_bits(a: &[Transform], b: &[Transform]) -> bool {
    let bits = |t: &Transform| {
        (t.rotation.map(f32::to_bits), t.translation.map(f32::to_bits), t.scale.map(f32::to_bits))
    };
    a.iter().map(bits).eq(b.iter().map(bits))
}
