//! Transforms of moving nodes, coded with the clip codec as coarsely as the vertices below them allow.
//!
//! The tolerance of a mesh is shared between its vertices and the transforms above it, so that the sum of
//! both is smallest ([`crate::nodes::budget::transform_fraction`]). A node is coded after its parents and
//! compensates for their errors. Decoded transforms are measured on every vertex in every frame that shows
//! it; if the tolerance is exceeded, the file stores exact transforms.

use crate::Error;
use crate::nodes::matrix::{
    IDENTITY, Matrix, apply, corners, inverse, max_distance_squared, product, to_dmat4,
};
use crate::nodes::tracks::NodeTracks;
use crate::nodes::transform_search::{
    CodedTransform, GoalPoint, NEIGHBOUR_LIMIT_FACTOR, NeighbourRequirement, TransformGoal, Workspace,
    find_transform,
};
use crate::write::job::Job;
use crate::write::node_frames::FrameInput;
use crate::write::node_shapes::{MovedShape, moved_shapes, track_above};
use glam::{DQuat, DVec3};
use meshreel_codec::clip::nodes::{
    self as codec, Node, NodeResiduals, NodeSetup, SurroundingCodes, TrackCodes,
};
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::transform::Transform;
use meshreel_options::Preset;
use meshreel_process::trs::{Trs, decompose};
use rayon::prelude::*;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;

/// Step of a translation, as a fraction of the allowed error of a node's points.
const STEP_FRACTION: f64 = 0.9;
/// A node whose points move by less than this fraction of their limit counts as static.
const STATIC_FRACTION: f64 = 0.01;
/// Nodes above other moving ones must keep this fraction of a limit.
const PARENT_LIMIT_FRACTION: f64 = 0.5;
/// The factor by which the error of nodes may be larger in frames in which they are not visible.
const HIDDEN_ERROR_FACTOR: f64 = 32.0;
/// If things are this many times larger in a neighbouring frame, a transform's error is also limited at that
/// size.
const MIN_SIZE_RATIO: f64 = 2.0;
/// The largest number of tracks whose transforms are held apart from their frames.
const TRACKS_AT_ONCE: usize = 256;
/// The largest number of points of still meshes below a node that are checked one by one.
const MAX_CHECKED_POINTS: usize = 512;

/// The track above a track, and the shapes that it moves.
#[derive(Default)]
struct TrackLinks {
    /// The track above.
    parent: Option<usize>,
    /// The product of still transforms between that track and this one's node.
    between: Matrix,
    /// Shapes that are still in its space.
    constant_shapes: Vec<usize>,
    /// Shapes that tracks below it also move.
    deep_shapes: Vec<usize>,
}

/// The kind of the points by which a track is chosen in a frame.
#[derive(Clone, Copy)]
struct PointSelection {
    /// `true` if no shape is visible.
    hidden: bool,
    /// `true` if still shapes have too many points, and are represented by a box.
    boxed: bool,
    /// The number of points of still shapes that are checked themselves.
    constant_points: usize,
}

/// A coded frame.
struct CodedFrame {
    /// By track, its codes.
    codes: Vec<TrackCodes>,
    choices: Vec<NodeResiduals>,
    locals: Vec<Transform>,
    /// By track, its decoded world matrix.
    worlds: Vec<Matrix>,
}

/// Codes the transforms of all moving nodes.
pub struct NodeCoder<'a> {
    job: &'a Job,
    schedule: Schedule,
    nodes: codec::NodeTracks,
    /// The setup of all tracks as bytes, for the description.
    pub setup: Vec<u8>,
    shapes: Vec<MovedShape>,
    /// By placed object, its shape, if something moves it.
    object_shapes: Vec<Option<usize>>,
    links: Vec<TrackLinks>,
    /// Tracks by the number of tracks above them.
    depths: Vec<Vec<usize>>,
    /// By track and frame, the requirements of neighbouring frames, if the file guarantees a tolerance
    /// between frames. Most frames have none.
    neighbours: HashMap<(usize, u32), Vec<NeighbourRequirement>>,
    /// By track, if its points hardly depend on its rotation: by frame, the angle to the neighbouring frames.
    neighbour_angles: Vec<Vec<f32>>,
    frames: BTreeMap<u32, CodedFrame>,
    /// The number of keys that were coded.
    keys: u32,
    /// The number of groups that were coded.
    groups: u32,
    /// By shape, the largest error that was found.
    errors: Vec<f64>,
}

/// Returns the nodes as a decoder sees them.
fn described_nodes(job: &Job, rest: &[Transform]) -> Vec<Node> {
    let mut bounds = vec![None; job.content.placed.len()];
    for (plan, placements) in &job.plans {
        placements.iter().for_each(|&i| bounds[i] = Some(plan.bounds()));
    }
    (job.nodes.iter().zip(rest))
        .map(|(node, rest)| Node {
            parent: node.parent.map(|p| p as u32),
            rest: *rest,
            moves: node.animated,
            bounds: match node.mesh {
                Some(i) => bounds[i],
                None => node.half_size.map(Node::locator_bounds),
            },
        })
        .collect()
}

/// The motion of one node over all frames.
#[derive(Clone, Copy, Default)]
struct NodeMotion {
    /// The largest distances from the first frame: of translation, rotation (as an angle), scale.
    farthest: [f64; 3],
    /// The sums of the accelerations of the origin and of the middle of the box: a measure of uneven motion.
    uneven: [f64; 2],
}

impl NodeMotion {
    /// Returns which components of the node are coded, and with which steps. `limit`: the allowed error of
    /// its points; `steps`: that divided by the smallest limit of all nodes.
    fn setup(&self, bounds: &[f64; 6], limit: f64, steps: f64) -> NodeSetup {
        // Measured at points that are as far from the origin as any.
        let reach = bounds.iter().fold(0.0f64, |most, side| most.max(side.abs()));
        let reach = if reach.is_finite() { reach } else { 0.0 };
        let [t, r, s] = self.farthest;
        let still = STATIC_FRACTION * limit;
        let moves = [t, r * reach, s * reach].map(|by| by > still || by.is_nan());
        let [t, r, s] = moves;
        let [origin, pivot] = self.uneven;
        NodeSetup {
            moves,
            pivot: t && (r || s) && pivot <= origin,
            step_code: (128.0 + 4.0 * steps.log2()).round().clamp(0.0, 255.0) as u8,
        }
    }
}

impl<'a> NodeCoder<'a> {
    /// Examines all frames; returns `None` if nothing moves.
    pub fn new(job: &'a Job, schedule: Schedule) -> Result<Option<NodeCoder<'a>>, Error> {
        let moving: Vec<usize> = (0..job.nodes.len()).filter(|&n| job.nodes[n].animated).collect();
        if moving.is_empty() || job.exact {
            return Ok(None);
        }
        let mut tracks = NodeTracks::new(&job.content.scene, &job.content.placed, &job.nodes)?;
        tracks.evaluate(job.content.times[0])?;
        let rest = tracks.local.clone();
        let described = described_nodes(job, &rest);
        let boxes = codec::subtree_bounds(&described);
        let mut track_of = vec![None; job.nodes.len()];
        moving.iter().enumerate().for_each(|(m, &n)| track_of[n] = Some(m));
        let shapes = moved_shapes(job, &rest, &track_of);
        let mut coder = NodeCoder {
            job,
            schedule,
            nodes: codec::NodeTracks::default(),
            setup: Vec::new(),
            errors: vec![0.0; shapes.len()],
            shapes,
            object_shapes: vec![None; job.content.placed.len()],
            links: Vec::new(),
            neighbours: HashMap::new(),
            neighbour_angles: vec![Vec::new(); moving.len()],
            depths: Vec::new(),
            frames: BTreeMap::new(),
            keys: 0,
            groups: 0,
        };
        coder.link_tracks(&moving, &rest, &track_of);
        let motions = coder.measure_motion(&moving, (tracks, &rest), &boxes)?;
        let limits = coder.limits(&moving, &rest);
        let least = limits.iter().copied().fold(f64::INFINITY, f64::min);
        let base = (least * STEP_FRACTION).clamp(1e-29, 1e29) as f32;
        let setups: Vec<NodeSetup> = (moving.iter().zip(&motions).zip(&limits))
            .map(|((&n, motion), limit)| motion.setup(&boxes[n], *limit, limit / least))
            .collect();
        let packed = job.content.options.preset == Preset::Fast;
        codec::encode_setup(base, packed, &setups, &mut coder.setup);
        coder.nodes = codec::NodeTracks::new(&described, &coder.setup).map_err(|e| Error::Promise {
            what: format!("what is said of moving nodes does not read back ({})", e.0),
            target: Default::default(),
        })?;
        Ok(Some(coder))
    }

    /// Measures the moving nodes in all frames; `tracks` are at the first one. `boxes`: bounds of all nodes,
    /// in their own space.
    fn measure_motion(
        &mut self,
        moving: &[usize],
        (mut tracks, rest): (NodeTracks<'_>, &[Transform]),
        boxes: &[[f64; 6]],
    ) -> Result<Vec<NodeMotion>, Error> {
        let job = self.job;
        let middle = |n: usize| DVec3::from_array([0, 1, 2].map(|k| (boxes[n][k] + boxes[n][k + 3]) / 2.0));
        let mut motions = vec![NodeMotion::default(); moving.len()];
        let own = self.extents();
        let mut last: Option<(Vec<NodeSize>, Vec<DQuat>)> = None;
        let mut paths = vec![[[DVec3::ZERO; 2]; 2]; moving.len()];
        for (frame, &time) in job.content.times.iter().enumerate() {
            job.content.cancellation.check()?;
            if frame > 0 {
                tracks.evaluate(time)?;
            }
            if job.between.is_some() {
                let sizes = self.sizes(moving, &tracks, &own);
                let rotations: Vec<DQuat> = moving.iter().map(|&n| tracks.decomposed(n).rotation).collect();
                if let Some((before, from)) = &last {
                    self.find_neighbour_requirements(frame, [before, &sizes], [from, &rotations]);
                }
                last = Some((sizes, rotations));
            }
            for ((motion, path), &n) in motions.iter_mut().zip(&mut paths).zip(moving) {
                let t = tracks.decomposed(n);
                let moved = transform_distances(&rest[n], &tracks.local[n]);
                motion.farthest.iter_mut().zip(moved).for_each(|(far, by)| *far = far.max(by));
                let at = [t.translation, t.translation + t.rotation * (t.scale * middle(n))];
                let [last, before] = *path;
                if frame > 1 {
                    for k in 0..2 {
                        motion.uneven[k] += (at[k] - 2.0 * last[k] + before[k]).length();
                    }
                }
                *path = [at, last];
            }
        }
        Ok(motions)
    }

    /// Finds the requirements that a frame and the one before it impose on each other.
    fn find_neighbour_requirements(
        &mut self,
        frame: usize,
        [before, now]: [&[NodeSize]; 2],
        [from, to]: [&[DQuat]; 2],
    ) {
        for (m, (before, now)) in before.iter().zip(now).enumerate() {
            for (frame, own, other) in [(frame - 1, before, now), (frame, now, before)] {
                if let Some(larger) = size_requirement(own, other) {
                    self.neighbours.entry((m, frame as u32)).or_default().push(larger);
                }
            }
            let (dot, turns) = (from[m].dot(to[m]).abs(), &mut self.neighbour_angles[m]);
            let angle = if dot < 1.0 { 2.0 * dot.acos() as f32 } else { 0.0 };
            let links = &self.links[m];
            let limit =
                links.constant_shapes.iter().map(|&s| self.shapes[s].limit).fold(f64::INFINITY, f64::min);
            let thin = |size: &NodeSize| {
                let reach = matrix_scale(&size.parent_world) * size.scale.max_element() * size.reach;
                size.spread < 0.5 * size.reach * f64::from(angle)
                    || (size.spread / size.reach * reach).powi(2) < 0.5 * limit * reach
            };
            if angle > 0.0
                && !links.constant_shapes.is_empty()
                && (!turns.is_empty() || thin(before) || thin(now))
            {
                turns.resize(self.job.content.times.len(), 0.0);
                [frame - 1, frame].into_iter().for_each(|f| turns[f] = turns[f].max(angle));
            }
        }
    }

    /// Measures the still shapes of each track, in its space: the largest distance from its origin, and half
    /// the second longest side of the box around them.
    fn extents(&self) -> Vec<[f64; 2]> {
        let of = |links: &TrackLinks| {
            let (mut low, mut high, mut reach) = (DVec3::INFINITY, DVec3::NEG_INFINITY, 0.0f64);
            for shape in links.constant_shapes.iter().map(|&s| &self.shapes[s]) {
                for p in shape.outermost.iter().map(|&p| DVec3::from_array(apply(&shape.between, p))) {
                    (low, high, reach) = (low.min(p), high.max(p), reach.max(p.length()));
                }
            }
            let mut sides = ((high - low) / 2.0).to_array();
            sides.sort_by(f64::total_cmp);
            [reach, sides[1].max(0.0)]
        };
        self.links.iter().map(of).collect()
    }

    /// Returns the size of things below each track in the frame of `tracks`. `own`: [`Self::extents`].
    fn sizes(&self, moving: &[usize], tracks: &NodeTracks<'_>, own: &[[f64; 2]]) -> Vec<NodeSize> {
        let far = |p: [f64; 3]| DVec3::from_array(p).length();
        let size = |(&[reach, spread], &n): (&[f64; 2], &usize)| NodeSize {
            parent_world: self.job.nodes[n].parent.map_or(IDENTITY, |parent| tracks.decoded[parent]),
            scale: tracks.decomposed(n).scale.abs(),
            reach,
            spread,
        };
        let mut sizes: Vec<NodeSize> = own.iter().zip(moving).map(size).collect();
        // Children come after their parents.
        for m in (0..sizes.len()).rev() {
            if let Some(above) = self.links[m].parent {
                let between = &self.links[m].between;
                let own = matrix_scale(between) * sizes[m].scale.max_element() * sizes[m].reach;
                let at = apply(between, tracks.decomposed(moving[m]).translation.to_array());
                sizes[above].reach = sizes[above].reach.max(far(at) + own);
            }
        }
        sizes
    }

    /// Returns, by track, the allowed error of the points that it moves, in the space of its node's parent;
    /// the least of all where it moves no points.
    fn limits(&self, moving: &[usize], rest: &[Transform]) -> Vec<f64> {
        let job = self.job;
        let limit = |(links, &n): (&TrackLinks, &usize)| {
            // The scale from the space of the node's transform to world space.
            let world = job.nodes[n].parent.map_or(1.0, |p| matrix_scale(&world_at_rest(job, rest, p)));
            let world = if world > 0.0 { world } else { 1.0 };
            let still = links.constant_shapes.iter().map(|&s| self.shapes[s].limit);
            let deep = links.deep_shapes.iter().map(|&s| self.shapes[s].room * PARENT_LIMIT_FRACTION);
            still.chain(deep).fold(f64::INFINITY, f64::min) / world
        };
        let limits: Vec<f64> = self.links.iter().zip(moving).map(limit).collect();
        let finite = limits.iter().copied().filter(|limit| limit.is_finite());
        let least = finite.reduce(f64::min).unwrap_or(1.0);
        limits.into_iter().map(|limit| if limit.is_finite() { limit } else { least }).collect()
    }

    /// Finds the track above each track, and the shapes that each moves.
    fn link_tracks(&mut self, moving: &[usize], rest: &[Transform], track_of: &[Option<usize>]) {
        let nodes = &self.job.nodes;
        let mut depth = vec![0usize; moving.len()];
        for (m, &n) in moving.iter().enumerate() {
            let (above, between) = match nodes[n].parent {
                None => (None, IDENTITY),
                Some(parent) => track_above(nodes, rest, track_of, parent),
            };
            depth[m] = above.map_or(0, |a| depth[a] + 1);
            if self.depths.len() <= depth[m] {
                self.depths.push(Vec::new());
            }
            self.depths[depth[m]].push(m);
            self.links.push(TrackLinks { parent: above, between, ..TrackLinks::default() });
        }
        for (s, shape) in self.shapes.iter().enumerate() {
            self.object_shapes[shape.placed] = Some(s);
            self.links[shape.track].constant_shapes.push(s);
            let mut above = self.links[shape.track].parent;
            while let Some(m) = above {
                self.links[m].deep_shapes.push(s);
                above = self.links[m].parent;
            }
        }
    }

    /// Returns `true` if a shape is checked in a frame: it is visible, or a locator.
    fn is_checked(&self, shape: &MovedShape, frame: u32) -> bool {
        shape.is_locator || self.job.motion.visible[shape.placed].contains(frame as usize)
    }

    /// Codes everything that the available frames allow.
    pub fn code(&mut self, inputs: &BTreeMap<u32, FrameInput>, groups: u32) -> Result<(), Error> {
        let there = |key: &u32| inputs.contains_key(&self.schedule.key_frame(*key));
        let keys: Vec<u32> = (self.keys..self.schedule.keys()).take_while(there).collect();
        let mut units: Vec<Unit> = keys.iter().map(|&key| Unit::Key(key)).collect();
        for g in self.groups..groups {
            units.extend([Unit::LowerLayers(g), Unit::TopLayer(g)]);
        }
        let n = self.nodes.tracks.len();
        let frames: Vec<u32> =
            units.iter().flat_map(|unit| self.schedule.frames_of(*unit).to_vec()).collect();
        for &frame in &frames {
            let coded = CodedFrame {
                codes: vec![TrackCodes::default(); n],
                choices: vec![NodeResiduals::default(); n],
                locals: vec![Transform::IDENTITY; n],
                worlds: vec![IDENTITY; n],
            };
            self.frames.insert(frame, coded);
        }
        for depth in std::mem::take(&mut self.depths) {
            for tracks in depth.chunks(TRACKS_AT_ONCE) {
                self.code_tracks(tracks, &units, inputs)?;
            }
            self.depths.push(depth);
        }
        self.keys += keys.len() as u32;
        self.groups = groups;
        self.measure(&frames, inputs)
    }

    /// Codes tracks in all frames of these units. None of them moves another one.
    fn code_tracks(
        &mut self,
        tracks: &[usize],
        units: &[Unit],
        inputs: &BTreeMap<u32, FrameInput>,
    ) -> Result<(), Error> {
        let this = &*self;
        let found: Vec<Vec<(u32, CodedTransform)>> = (tracks.par_iter())
            .map_init(Workspace::default, |workspace, &m| this.code_track(m, units, inputs, workspace))
            .collect::<Result<_, Error>>()?;
        for (&m, found) in tracks.iter().zip(found) {
            for (frame, found) in found {
                if let Some(coded) = self.frames.get_mut(&frame) {
                    coded.codes[m] = found.codes;
                    coded.choices[m] = found.choice;
                    coded.locals[m] = found.local;
                    coded.worlds[m] = found.world;
                }
            }
        }
        Ok(())
    }

    /// Codes one track in all frames of these units.
    fn code_track(
        &self,
        m: usize,
        units: &[Unit],
        inputs: &BTreeMap<u32, FrameInput>,
        workspace: &mut Workspace,
    ) -> Result<Vec<(u32, CodedTransform)>, Error> {
        let track = &self.nodes.tracks[m];
        let mut done: Vec<(u32, CodedTransform)> = Vec::new();
        let mut points = Vec::new();
        for &unit in units {
            self.job.content.cancellation.check()?;
            let frames = self.schedule.frames_of(unit);
            for (i, &frame) in frames.iter().enumerate() {
                let Some(input) = inputs.get(&frame) else {
                    return Err(mismatch_error(frame));
                };
                let find = |wanted: u32| match done.iter().rev().find(|(frame, _)| *frame == wanted) {
                    Some((_, found)) => Some(&found.codes),
                    None => self.frames.get(&wanted)?.codes.get(m),
                };
                let around = SurroundingCodes::new(&track.rest_codes, self.schedule, &frames, i, find);
                let around = around.map_err(|_| mismatch_error(frame))?;
                let found = self.code_frame(m, frame, input, &around, &mut points, workspace);
                done.push((frame, found));
            }
        }
        Ok(done)
    }

    /// Codes one track in one frame: finds the transform with the fewest bits that keeps all of its points
    /// within their limits.
    fn code_frame(
        &self,
        m: usize,
        frame: u32,
        input: &FrameInput,
        around: &SurroundingCodes<'_>,
        points: &mut Vec<GoalPoint>,
        workspace: &mut Workspace,
    ) -> CodedTransform {
        let links = &self.links[m];
        let track = &self.nodes.tracks[m];
        let decoded = self.frames.get(&frame);
        let above = links.parent.and_then(|a| decoded.map(|decoded| &decoded.worlds[a]));
        let above = above.map_or(links.between, |world| product(world, &links.between));
        let looked = self.frame_points(m, frame, input, points);
        let points = &*points;
        let measure = |world: &Matrix| self.worst_error(m, frame, input, (points, looked), world);
        let target = self.target(m, input, &above);
        let mut beside = self.neighbours.get(&(m, frame)).cloned().unwrap_or_default();
        if let (Some(&angle), false) = (self.neighbour_angles[m].get(frame as usize), points.is_empty()) {
            let reach = points.iter().map(|p| DVec3::from_array(p.position).length()).fold(0.0, f64::max);
            let limit = points.iter().map(|p| p.limit).fold(f64::INFINITY, f64::min);
            beside.extend(rotation_requirement(&target, &above, (reach, limit), f64::from(angle)));
        }
        let goal = TransformGoal {
            packed: self.nodes.packed,
            track,
            around,
            parent_world: &above,
            exact: &input.transforms[m],
            target,
            points,
            neighbours: &beside,
            measure: &measure,
            hidden: looked.hidden,
        };
        find_transform(&goal, workspace)
    }

    /// Returns the local transform that a track aims at, below the decoded `above`: it compensates for the
    /// error of the parent; components that do not move are as in the rest pose.
    fn target(&self, m: usize, input: &FrameInput, above: &Matrix) -> Trs {
        let track = &self.nodes.tracks[m];
        let source = &input.decomposed[m];
        let own = &input.source[track.node];
        let aimed = match self.links[m].parent {
            None => None,
            Some(_) => {
                inverse(above).and_then(|back| decompose(&to_dmat4(&product(&back, own)), Some(source)))
            }
        };
        let mut target = aimed.unwrap_or(*source);
        let rest = &track.rest;
        if !track.setup.moves[0] {
            target.translation = DVec3::from_array(rest.translation.map(f64::from));
        }
        if !track.setup.moves[1] {
            target.rotation = DQuat::from_array(rest.rotation.map(f64::from)).normalize();
        }
        if !track.setup.moves[2] {
            target.scale = DVec3::from_array(rest.scale.map(f64::from));
        }
        target
    }

    /// Collects the points by which a track is chosen in a frame: of visible shapes, or of all if none is
    /// visible. First points of still shapes, or the corners of their box if they are many; then the corners
    /// of the box around shapes that other tracks also move.
    fn frame_points(
        &self,
        m: usize,
        frame: u32,
        input: &FrameInput,
        points: &mut Vec<GoalPoint>,
    ) -> PointSelection {
        let links = &self.links[m];
        let own = &input.source[self.nodes.tracks[m].node];
        let shown = |s: &&usize| self.is_checked(&self.shapes[**s], frame);
        let hidden = !links.constant_shapes.iter().chain(&links.deep_shapes).any(|s| shown(&s));
        let seen = |s: &&usize| hidden || shown(s);
        let looser = if hidden { HIDDEN_ERROR_FACTOR } else { 1.0 };
        points.clear();
        for &s in links.constant_shapes.iter().filter(seen) {
            let shape = &self.shapes[s];
            let goal = &input.source[shape.node];
            points.extend(shape.outermost.iter().map(|&p| GoalPoint {
                position: apply(&shape.between, p),
                goal: apply(goal, p),
                limit: shape.limit * looser,
            }));
        }
        let boxed = points.len() > MAX_CHECKED_POINTS;
        if boxed {
            let all = points.iter().map(|p| p.position);
            let limit =
                links.constant_shapes.iter().map(|&s| self.shapes[s].room).fold(f64::INFINITY, f64::min);
            *points = box_corners(all.collect(), own, limit * looser);
        }
        let of_still = if boxed { 0 } else { points.len() };
        if let (true, Some(back)) = (links.deep_shapes.iter().any(|s| seen(&s)), inverse(own)) {
            let (mut all, mut limit) = (Vec::new(), f64::INFINITY);
            for &s in links.deep_shapes.iter().filter(seen) {
                let shape = &self.shapes[s];
                let inside = product(&back, &input.source[shape.node]);
                all.extend(shape.outermost.iter().map(|&p| apply(&inside, p)));
                limit = limit.min((shape.limit * PARENT_LIMIT_FRACTION).min(shape.room));
            }
            points.extend(box_corners(all, own, limit * looser));
        }
        PointSelection { hidden, boxed, constant_points: of_still }
    }

    /// Returns the largest error, as a fraction of the limit, that the decoded matrix `world` of a track
    /// leaves on every point of visible still shapes, and on the corners of boxes.
    fn worst_error(
        &self,
        m: usize,
        frame: u32,
        input: &FrameInput,
        (points, looked): (&[GoalPoint], PointSelection),
        world: &Matrix,
    ) -> f64 {
        let mut worst = 0.0f64;
        let mut add = |part: f64| worst = if part <= worst { worst } else { part };
        let shown = |s: &&usize| self.is_checked(&self.shapes[**s], frame);
        for &s in
            self.links[m].constant_shapes.iter().filter(shown).take(if looked.boxed { 0 } else { usize::MAX })
        {
            let shape = &self.shapes[s];
            let moved = product(world, &shape.between);
            let far = max_distance_squared(&moved, &input.source[shape.node], &shape.points).sqrt();
            add(far / shape.limit);
        }
        for point in &points[looked.constant_points..] {
            let at = apply(world, point.position);
            let d: f64 = at.iter().zip(&point.goal).map(|(a, b)| (a - b) * (a - b)).sum();
            add(d.sqrt() / point.limit);
        }
        worst
    }

    /// Measures the decoded transforms of frames.
    fn measure(&mut self, frames: &[u32], inputs: &BTreeMap<u32, FrameInput>) -> Result<(), Error> {
        let this = &*self;
        let of = |frame: &u32| -> Vec<f64> {
            let (Some(coded), Some(input)) = (this.frames.get(frame), inputs.get(frame)) else {
                return Vec::new();
            };
            let error = |shape: &MovedShape| {
                if !this.is_checked(shape, *frame) {
                    return 0.0;
                }
                // A locator without a finite position keeps its place.
                let nowhere = |row: &[f64; 4]| row.iter().any(|v| !v.is_finite());
                if shape.is_locator && input.source[shape.node].iter().any(nowhere) {
                    return 0.0;
                }
                let world = product(&coded.worlds[shape.track], &shape.between);
                max_distance_squared(&world, &input.source[shape.node], &shape.points).sqrt()
            };
            this.shapes.iter().map(error).collect()
        };
        let errors: Vec<Vec<f64>> = frames.par_iter().map(of).collect();
        for (frame, errors) in frames.iter().zip(errors) {
            for ((shape, error), most) in self.shapes.iter().zip(errors).zip(&mut self.errors) {
                if error.is_nan() || error > shape.limit {
                    self.job.needs_exact.store(true, Relaxed);
                    let path = &self.job.content.placed[shape.placed].path;
                    return Err(Error::Promise {
                        what: format!(
                            "{path}: the transforms of frame {frame} are {error} off, more than {}",
                            shape.limit
                        ),
                        target: Default::default(),
                    });
                }
                *most = most.max(error);
            }
        }
        Ok(())
    }

    /// Returns the world matrices of the visible meshes in a frame, by mesh.
    pub fn shown(&self, frame: u32, input: &FrameInput) -> Vec<(u32, Matrix)> {
        let Some(coded) = self.frames.get(&frame) else {
            return input.shown.clone();
        };
        let mut out = input.shown.clone();
        // Both are in the order of the nodes.
        let mut shapes = self.shapes.iter().peekable();
        for ((_, matrix), &node) in out.iter_mut().zip(&input.nodes) {
            while shapes.next_if(|shape| shape.node < node).is_some() {}
            if let Some(shape) = shapes.next_if(|shape| shape.node == node) {
                *matrix = product(&coded.worlds[shape.track], &shape.between);
            }
        }
        out
    }

    /// Returns the bytes of a unit, which are decoded again and compared.
    pub fn unit(&self, unit: Unit) -> Result<Vec<u8>, Error> {
        let frames = self.schedule.frames_of(unit);
        let coded: Vec<&CodedFrame> = frames.iter().filter_map(|frame| self.frames.get(frame)).collect();
        let first = || mismatch_error(frames.first().copied().unwrap_or(0));
        if coded.len() != frames.len() {
            return Err(first());
        }
        let find = |frame: u32| self.frames.get(&frame).map(|coded| &coded.codes[..]);
        let choices: Vec<&[NodeResiduals]> = coded.iter().map(|coded| &coded.choices[..]).collect();
        let mut bytes = Vec::new();
        codec::encode_unit(&self.nodes, self.schedule, unit, &find, &choices, &mut bytes)
            .map_err(|_| first())?;
        let state = |frame: &u32| Some((*frame, self.nodes.frame_state(find(*frame)?)));
        let known: BTreeMap<u32, Vec<i32>> =
            self.schedule.dependencies(unit).iter().filter_map(state).collect();
        let known = |frame: u32| known.get(&frame).map(|state| &state[..]);
        let mut states = vec![vec![0; self.nodes.codes_per_frame]; frames.len()];
        let mut locals = vec![vec![Transform::IDENTITY; self.nodes.tracks.len()]; frames.len()];
        let mut to: Vec<&mut [i32]> = states.iter_mut().map(|s| &mut s[..]).collect();
        let mut out: Vec<&mut [Transform]> = locals.iter_mut().map(|s| &mut s[..]).collect();
        let done = self.nodes.decode_unit(self.schedule, unit, &bytes, &known, &mut to, &mut out);
        let same = |i: usize| {
            states[i] == self.nodes.frame_state(&coded[i].codes)
                && crate::write::node_frames::same_bits(&locals[i], &coded[i].locals)
        };
        match done.is_ok() && (0..frames.len()).all(same) {
            true => Ok(bytes),
            false => Err(first()),
        }
    }

    /// Drops the frames before this one.
    pub fn forget(&mut self, frame: u32) {
        self.frames.retain(|&f, _| f >= frame);
    }

    /// Returns the largest error that transforms leave on a placed object; `None` if nothing moves it.
    pub fn error(&self, placed: usize) -> Option<f64> {
        let at = self.object_shapes.get(placed).copied()??;
        Some(self.errors[at])
    }

    /// Returns the moving nodes, numbered as in the codec.
    pub fn tracks(&self) -> &[codec::NodeTrack] {
        &self.nodes.tracks
    }

    /// Returns the tolerance of the object whose error is largest relative to it, and the largest error that
    /// transforms leave on that object.
    pub fn worst_tolerance_and_error(&self) -> (f64, f64) {
        let tolerance = |shape: &MovedShape| self.job.tolerances[shape.placed].tolerance;
        let all = self.shapes.iter().map(tolerance).zip(self.errors.iter().copied());
        all.max_by(|a, b| (a.1 * b.0).total_cmp(&(b.1 * a.0))).unwrap_or_default()
    }
}

fn mismatch_error(frame: u32) -> Error {
    Error::Promise {
        what: format!("the transforms of frame {frame} do not decode to what was encoded"),
        target: Default::default(),
    }
}

/// The size that a node gives to things in a frame.
struct NodeSize {
    /// World matrix of its parent.
    parent_world: Matrix,
    scale: DVec3,
    /// The largest distance of the things that it moves from its origin, in its space.
    reach: f64,
    /// Half the second longest side of the box around the things that are still in its space.
    spread: f64,
}

/// Returns the requirement of `to` on its neighbour `from`; `None` unless things are much larger in `to`.
fn size_requirement(from: &NodeSize, to: &NodeSize) -> Option<NeighbourRequirement> {
    let [before, after] = [from, to].map(|size| matrix_scale(&size.parent_world) * size.scale * size.reach);
    let much = |before: f64, after: f64| after > MIN_SIZE_RATIO * before;
    let stretched = (0..3).any(|k| much(before[k], after[k]));
    let axes = much(from.reach, to.reach).then_some((to.reach, NEIGHBOUR_LIMIT_FACTOR));
    (stretched || much(matrix_scale(&from.parent_world), matrix_scale(&to.parent_world))).then_some(
        NeighbourRequirement { parent_world: to.parent_world, scale: from.scale.max(to.scale), axes },
    )
}

/// Limits the error of a rotation that its points hardly determine, so that between frames no point leaves
/// its path by more than half its limit: rotations with an error of `e` each move along an arc over the angle
/// to the next frame that is higher or lower by about `(2·angle·e + e²)·reach / 8`.
fn rotation_requirement(
    target: &Trs,
    above: &Matrix,
    (reach, limit): (f64, f64),
    angle: f64,
) -> Option<NeighbourRequirement> {
    let world = matrix_scale(above) * target.scale.abs().max_element() * reach;
    let times = (2.0 / angle).min((2.0 * world / limit).sqrt());
    // A larger limit has no effect.
    (angle > 0.0 && times.is_finite() && times * limit < 4.0 * world).then_some(NeighbourRequirement {
        parent_world: *above,
        scale: target.scale.abs(),
        axes: Some((reach, times)),
    })
}

/// Returns the distances of a transform from the first one: in translation, in angle (for small ones), in
/// scale.
fn transform_distances(first: &Transform, now: &Transform) -> [f64; 3] {
    let far = |a: &[f32], b: &[f32]| {
        let far = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2));
        far.sum::<f64>().sqrt()
    };
    let turned = now.rotation.map(|v| -v);
    let rotation = far(&first.rotation, &now.rotation).min(far(&first.rotation, &turned));
    [far(&first.translation, &now.translation), 2.0 * rotation, far(&first.scale, &now.scale)]
}

/// Returns the corners of the box around points in a node's space, with their target positions in world
/// space.
fn box_corners(points: Vec<[f64; 3]>, world: &Matrix, limit: f64) -> Vec<GoalPoint> {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for p in &points {
        for k in 0..3 {
            (low[k], high[k]) = (low[k].min(p[k]), high[k].max(p[k]));
        }
    }
    let all = if points.is_empty() { Vec::new() } else { corners(low, high) };
    all.into_iter().map(|at| GoalPoint { position: at, goal: apply(world, at), limit }).collect()
}

/// Returns the world matrix of a node in the first frame.
fn world_at_rest(job: &Job, rest: &[Transform], node: usize) -> Matrix {
    let own = rest[node].matrix();
    match job.nodes[node].parent {
        Some(parent) => product(&world_at_rest(job, rest, parent), &own),
        None => own,
    }
}

fn matrix_scale(m: &Matrix) -> f64 {
    meshreel_scene::sample::largest_scale(&to_dmat4(m))
}
