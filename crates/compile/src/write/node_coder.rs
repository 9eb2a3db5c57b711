//! Transforms of moving nodes through the clip codec: each as coarse as the vertices below it allow.
//!
//! What a mesh is promised is shared between its vertices and the transforms above it, so that the sum of
//! both is smallest ([`crate::nodes::budget::share`]). A node is coded after those above it and makes good
//! what they miss. What is decoded is measured on every vertex in every frame that shows it; where the
//! promise does not hold, the file keeps transforms as they are.

use crate::mesh::plan::MeshPlan;
use crate::nodes::flatten::FlatNode;
use crate::nodes::matrix::{IDENTITY, Matrix, apply, corners, farthest, inverse, outermost, product, whole};
use crate::nodes::search::{Found, Goal, Point, Room, search};
use crate::nodes::tracks::Tracks;
use crate::write::job::Job;
use crate::write::node_frames::FrameInput;
use crate::{Error, with_quantized};
use glam::DVec3;
use meshreel_codec::clip::nodes::{self as codec, Around, Choice, Node, Nodes, Setup};
use meshreel_codec::quantize;
use meshreel_codec::record::Method;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::transform::Transform;
use meshreel_process::trs::decompose;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// Step of a translation, as a part of what a node's points may be off.
const STEP: f64 = 0.9;
/// What moves by less than this part of what points may be off stands still.
const STILL: f64 = 0.01;
/// Vertices of a still mesh that are looked at one by one; of more, the corners of their box.
const VERTICES: usize = 4096;
/// Part of a limit that nodes above other moving ones are held to.
const ABOVE: f64 = 0.5;
/// Nodes that nobody sees in a frame may be this many times farther off.
const HIDDEN: f64 = 32.0;
/// Points of still meshes below a node that are looked at one by one.
const POINTS: usize = 512;

/// A mesh where a node shows it, or a locator, below something that moves.
struct Shape {
    node: usize,
    /// The object.
    placed: usize,
    /// Counts in all frames, whether it is shown or not: a locator.
    always: bool,
    /// Decoded vertices, or the corners of their box; of a locator, of its cube.
    points: Vec<[f64; 3]>,
    /// The points that lie outermost.
    few: Vec<[f64; 3]>,
    /// How far transforms may move a point.
    limit: f64,
    /// How far transforms may move a point where rounding of other transforms comes on top.
    room: f64,
    /// The track that moves it, and what lies between.
    above: usize,
    between: Matrix,
}

/// What is known of a track.
#[derive(Default)]
struct Place {
    /// The track above, and what lies between it and this one's node.
    above: Option<usize>,
    between: Matrix,
    /// Shapes that stand still in its space, and those that do not.
    still: Vec<usize>,
    deep: Vec<usize>,
    /// Alone, for looking at it.
    alone: Nodes,
}

/// A frame that was coded.
struct Coded {
    state: Vec<i32>,
    choices: Vec<Choice>,
    locals: Vec<Transform>,
    /// By track its world matrix as decoded.
    worlds: Vec<Matrix>,
}

/// Codes the transforms of all moving nodes.
pub struct NodeCoder<'a> {
    job: &'a Job<'a>,
    schedule: Schedule,
    nodes: Nodes,
    /// For the description.
    pub setup: Vec<u8>,
    shapes: Vec<Shape>,
    /// By placed object.
    shape_of: Vec<Option<usize>>,
    places: Vec<Place>,
    /// Tracks that have as many above them.
    depths: Vec<Vec<usize>>,
    frames: BTreeMap<u32, Coded>,
    /// Keys and groups that were coded.
    keys: u32,
    groups: u32,
    /// Per shape the largest error that was found.
    errors: Vec<f64>,
}

/// Nodes as the decoder will see them.
fn given(job: &Job<'_>, rest: &[Transform]) -> Vec<Node> {
    let mut bounds = vec![None; job.placed.len()];
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
                None => node.reach.map(Node::cube),
            },
        })
        .collect()
}

impl<'a> NodeCoder<'a> {
    /// Looks at all frames; none where nothing moves.
    pub fn new(job: &'a Job<'a>, schedule: Schedule) -> Result<Option<NodeCoder<'a>>, Error> {
        let moving: Vec<usize> = (0..job.nodes.len()).filter(|&n| job.nodes[n].animated).collect();
        if moving.is_empty() || job.exact {
            return Ok(None);
        }
        let mut tracks = Tracks::new(job.scene, job.placed, job.nodes)?;
        tracks.evaluate(job.times[0])?;
        let rest = tracks.local.clone();
        let given = given(job, &rest);
        let space = codec::boxes(&given);
        let middle = |n: usize| DVec3::from_array([0, 1, 2].map(|k| (space[n][k] + space[n][k + 3]) / 2.0));
        // What moves, and how evenly the origin and the middle of the box do.
        let mut far = vec![[0.0f64; 3]; moving.len()];
        let mut paths = vec![[[DVec3::ZERO; 2]; 2]; moving.len()];
        let mut uneven = vec![[0.0f64; 2]; moving.len()];
        for (frame, &time) in job.times.iter().enumerate() {
            if frame > 0 {
                tracks.evaluate(time)?;
            }
            for (m, &n) in moving.iter().enumerate() {
                let t = tracks.parts(n);
                let moved = moved(&rest[n], &tracks.local[n]);
                far[m].iter_mut().zip(moved).for_each(|(far, by)| *far = far.max(by));
                let at = [t.translation, t.translation + t.rotation * (t.scale * middle(n))];
                let [last, before] = paths[m];
                if frame > 1 {
                    for k in 0..2 {
                        uneven[m][k] += (at[k] - 2.0 * last[k] + before[k]).length();
                    }
                }
                paths[m] = [at, last];
            }
        }
        let mut track_of = vec![None; job.nodes.len()];
        moving.iter().enumerate().for_each(|(m, &n)| track_of[n] = Some(m));
        let shapes = shapes(job, &rest, &track_of);
        let mut coder = NodeCoder {
            job,
            schedule,
            nodes: Nodes::default(),
            setup: Vec::new(),
            shapes,
            shape_of: vec![None; job.placed.len()],
            places: Vec::new(),
            depths: Vec::new(),
            frames: BTreeMap::new(),
            keys: 0,
            groups: 0,
            errors: Vec::new(),
        };
        coder.errors = vec![0.0; coder.shapes.len()];
        coder.find_places(&moving, &rest, &track_of);
        let world: Vec<f64> = (moving.iter())
            .map(|&n| {
                // How much larger things are in the world than where the node's transform is.
                let above = job.nodes[n].parent.map_or(1.0, |p| largest(&tracks_world(job, &rest, p)));
                if above > 0.0 { above } else { 1.0 }
            })
            .collect();
        let limits: Vec<f64> = (coder.places.iter().zip(&world))
            .map(|(place, world)| {
                let still = place.still.iter().map(|&s| coder.shapes[s].limit);
                let deep = place.deep.iter().map(|&s| coder.shapes[s].room * ABOVE);
                still.chain(deep).fold(f64::INFINITY, f64::min) / world
            })
            .map(|limit| if limit.is_finite() { limit } else { 1.0 })
            .collect();
        let least = limits.iter().copied().fold(f64::INFINITY, f64::min);
        let base = (least * STEP).clamp(1e-29, 1e29) as f32;
        let setups: Vec<Setup> = (0..moving.len())
            .map(|m| {
                // By how much points move that are as far from the origin as any is.
                let reach = space[moving[m]].iter().fold(0.0f64, |most, side| most.max(side.abs()));
                let reach = if reach.is_finite() { reach } else { 0.0 };
                let [t, r, s] = far[m];
                let still = STILL * limits[m];
                let moves = [t, r * reach, s * reach].map(|by| by > still || by.is_nan());
                let [t, r, s] = moves;
                let [origin, pivot] = uneven[m];
                Setup {
                    moves,
                    pivot: t && (r || s) && pivot <= origin,
                    code: (128.0 + 4.0 * (limits[m] / least).log2()).round().clamp(0.0, 255.0) as u8,
                }
            })
            .collect();
        codec::encode_setup(base, &setups, &mut coder.setup);
        coder.nodes = Nodes::new(&given, &coder.setup).map_err(|e| Error::Promise {
            what: format!("what is said of moving nodes does not read back ({})", e.0),
            target: Default::default(),
        })?;
        for (m, place) in coder.places.iter_mut().enumerate() {
            place.alone = coder.nodes.single(m);
        }
        Ok(Some(coder))
    }

    /// Who moves whom.
    fn find_places(&mut self, moving: &[usize], rest: &[Transform], track_of: &[Option<usize>]) {
        let nodes = self.job.nodes;
        let mut depth = vec![0usize; moving.len()];
        for (m, &n) in moving.iter().enumerate() {
            let (above, between) = match nodes[n].parent {
                None => (None, IDENTITY),
                Some(parent) => still_above(nodes, rest, track_of, parent),
            };
            depth[m] = above.map_or(0, |a| depth[a] + 1);
            if self.depths.len() <= depth[m] {
                self.depths.push(Vec::new());
            }
            self.depths[depth[m]].push(m);
            self.places.push(Place { above, between, ..Place::default() });
        }
        for (s, shape) in self.shapes.iter().enumerate() {
            self.shape_of[shape.placed] = Some(s);
            self.places[shape.above].still.push(s);
            let mut above = self.places[shape.above].above;
            while let Some(m) = above {
                self.places[m].deep.push(s);
                above = self.places[m].above;
            }
        }
    }

    /// Whether a frame has to be right where a shape is.
    fn counts(&self, shape: &Shape, frame: u32) -> bool {
        shape.always || self.job.motion.visible[shape.placed].contains(frame as usize)
    }

    /// Codes what can be coded of the frames that are there.
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
            let coded = Coded {
                state: vec![0; self.nodes.words],
                choices: vec![Choice::default(); n],
                locals: vec![Transform::IDENTITY; n],
                worlds: vec![IDENTITY; n],
            };
            self.frames.insert(frame, coded);
        }
        for depth in std::mem::take(&mut self.depths) {
            let this = &*self;
            let found: Vec<Vec<(u32, Found)>> = (depth.par_iter())
                .map_init(Room::default, |room, &m| this.code_track(m, &units, inputs, room))
                .collect::<Result<_, Error>>()?;
            for (&m, found) in depth.iter().zip(found) {
                let track = self.nodes.tracks[m];
                for (frame, found) in found {
                    if let Some(coded) = self.frames.get_mut(&frame) {
                        coded.state[track.word..track.word + track.words]
                            .copy_from_slice(&found.words[..track.words]);
                        coded.choices[m] = found.choice;
                        coded.locals[m] = found.local;
                        coded.worlds[m] = found.world;
                    }
                }
            }
            self.depths.push(depth);
        }
        self.keys += keys.len() as u32;
        self.groups = groups;
        self.measure(&frames, inputs)
    }

    /// One track in all frames of these units.
    fn code_track(
        &self,
        m: usize,
        units: &[Unit],
        inputs: &BTreeMap<u32, FrameInput>,
        room: &mut Room,
    ) -> Result<Vec<(u32, Found)>, Error> {
        let place = &self.places[m];
        let track = self.nodes.tracks[m];
        let own = track.word..track.word + track.words;
        let mut done: Vec<(u32, Found)> = Vec::new();
        let mut points = Vec::new();
        for &unit in units {
            let frames = self.schedule.frames_of(unit);
            for (i, &frame) in frames.iter().enumerate() {
                let Some(input) = inputs.get(&frame) else {
                    return Err(broken(frame));
                };
                let find = |wanted: u32| match done.iter().rev().find(|(frame, _)| *frame == wanted) {
                    Some((_, found)) => Some(&found.words[..track.words]),
                    None => self.frames.get(&wanted)?.state.get(own.clone()),
                };
                let around = Around::new(&place.alone, self.schedule, &frames, i, find);
                let around = around.map_err(|_| broken(frame))?;
                let found = self.code_frame(m, frame, input, &around, &mut points, room);
                done.push((frame, found));
            }
        }
        Ok(done)
    }

    fn code_frame(
        &self,
        m: usize,
        frame: u32,
        input: &FrameInput,
        around: &Around<'_>,
        points: &mut Vec<Point>,
        room: &mut Room,
    ) -> Found {
        let place = &self.places[m];
        let track = &place.alone.tracks[0];
        let source = &input.parts[m];
        let own = &input.source[track.node];
        let coded = self.frames.get(&frame);
        let above = place.above.and_then(|a| coded.map(|coded| &coded.worlds[a]));
        let above = above.map_or(place.between, |world| product(world, &place.between));
        // What the parent misses is made good here.
        let aimed = match place.above {
            None => None,
            Some(_) => inverse(&above).and_then(|back| decompose(&whole(&product(&back, own)), Some(source))),
        };
        let mut target = aimed.unwrap_or(*source);
        let rest = &track.rest;
        if !track.setup.moves[0] {
            target.translation = DVec3::from_array(rest.translation.map(f64::from));
        }
        if !track.setup.moves[1] {
            target.rotation = glam::DQuat::from_array(rest.rotation.map(f64::from)).normalize();
        }
        if !track.setup.moves[2] {
            target.scale = DVec3::from_array(rest.scale.map(f64::from));
        }
        let shown = |s: &&usize| self.counts(&self.shapes[**s], frame);
        let hidden = !place.still.iter().chain(&place.deep).any(|s| shown(&s));
        let seen = |s: &&usize| hidden || shown(s);
        let slack = if hidden { HIDDEN } else { 1.0 };
        points.clear();
        for &s in place.still.iter().filter(seen) {
            let shape = &self.shapes[s];
            let goal = &input.source[shape.node];
            points.extend(shape.few.iter().map(|&p| Point {
                at: apply(&shape.between, p),
                goal: apply(goal, p),
                limit: shape.limit * slack,
            }));
        }
        let many = points.len() > POINTS;
        if many {
            let all = points.iter().map(|p| p.at);
            let limit = place.still.iter().map(|&s| self.shapes[s].room).fold(f64::INFINITY, f64::min);
            *points = boxed(all.collect(), own, limit * slack);
        }
        let alone = if many { 0 } else { points.len() };
        if let (true, Some(back)) = (place.deep.iter().any(|s| seen(&s)), inverse(own)) {
            let (mut all, mut limit) = (Vec::new(), f64::INFINITY);
            for &s in place.deep.iter().filter(seen) {
                let shape = &self.shapes[s];
                let inside = product(&back, &input.source[shape.node]);
                all.extend(shape.few.iter().map(|&p| apply(&inside, p)));
                limit = limit.min((shape.limit * ABOVE).min(shape.room));
            }
            points.extend(boxed(all, own, limit * slack));
        }
        let points = &*points;
        let measure = |world: &Matrix| {
            let mut worst = 0.0f64;
            let mut add = |part: f64| worst = if part <= worst { worst } else { part };
            for &s in place.still.iter().filter(shown).take(if many { 0 } else { usize::MAX }) {
                let shape = &self.shapes[s];
                let moved = product(world, &shape.between);
                let far = farthest(&moved, &input.source[shape.node], &shape.points).sqrt();
                add(far / shape.limit);
            }
            for point in &points[alone..] {
                let at = apply(world, point.at);
                let d: f64 = at.iter().zip(&point.goal).map(|(a, b)| (a - b) * (a - b)).sum();
                add(d.sqrt() / point.limit);
            }
            worst
        };
        let goal = Goal {
            track,
            around,
            above: &above,
            exact: &input.transforms[m],
            target,
            points,
            measure: &measure,
            hidden,
        };
        search(&goal, room)
    }

    /// Measures what was decoded of frames.
    fn measure(&mut self, frames: &[u32], inputs: &BTreeMap<u32, FrameInput>) -> Result<(), Error> {
        let this = &*self;
        let of = |frame: &u32| -> Vec<f64> {
            let (Some(coded), Some(input)) = (this.frames.get(frame), inputs.get(frame)) else {
                return Vec::new();
            };
            let error = |shape: &Shape| {
                if !this.counts(shape, *frame) {
                    return 0.0;
                }
                // Where a locator is nowhere, it stays where it was.
                let nowhere = |row: &[f64; 4]| row.iter().any(|v| !v.is_finite());
                if shape.always && input.source[shape.node].iter().any(nowhere) {
                    return 0.0;
                }
                let world = product(&coded.worlds[shape.above], &shape.between);
                farthest(&world, &input.source[shape.node], &shape.points).sqrt()
            };
            this.shapes.iter().map(error).collect()
        };
        let errors: Vec<Vec<f64>> = frames.par_iter().map(of).collect();
        for (frame, errors) in frames.iter().zip(errors) {
            for ((shape, error), most) in self.shapes.iter().zip(errors).zip(&mut self.errors) {
                if error.is_nan() || error > shape.limit {
                    self.job.loose.store(true, Relaxed);
                    let path = &self.job.placed[shape.placed].path;
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

    /// World matrices of what is shown in a frame, by mesh.
    pub fn shown(&self, frame: u32, input: &FrameInput) -> Vec<(u32, Matrix)> {
        let Some(coded) = self.frames.get(&frame) else {
            return input.shown.clone();
        };
        let mut out = input.shown.clone();
        // Both in the order of the nodes.
        let mut shapes = self.shapes.iter().peekable();
        for ((_, matrix), &node) in out.iter_mut().zip(&input.nodes) {
            while shapes.next_if(|shape| shape.node < node).is_some() {}
            if let Some(shape) = shapes.next_if(|shape| shape.node == node) {
                *matrix = product(&coded.worlds[shape.above], &shape.between);
            }
        }
        out
    }

    /// Bytes of a unit, which are decoded again and compared.
    pub fn unit(&self, unit: Unit) -> Result<Vec<u8>, Error> {
        let frames = self.schedule.frames_of(unit);
        let coded: Vec<&Coded> = frames.iter().filter_map(|frame| self.frames.get(frame)).collect();
        let first = || broken(frames.first().copied().unwrap_or(0));
        if coded.len() != frames.len() {
            return Err(first());
        }
        let find = |frame: u32| self.frames.get(&frame).map(|coded| &coded.state[..]);
        let choices: Vec<&[Choice]> = coded.iter().map(|coded| &coded.choices[..]).collect();
        let mut bytes = Vec::new();
        codec::encode_unit(&self.nodes, self.schedule, unit, &find, &choices, &mut bytes)
            .map_err(|_| first())?;
        let mut states = vec![vec![0; self.nodes.words]; frames.len()];
        let mut locals = vec![vec![Transform::IDENTITY; self.nodes.tracks.len()]; frames.len()];
        let mut to: Vec<&mut [i32]> = states.iter_mut().map(|s| &mut s[..]).collect();
        let mut out: Vec<&mut [Transform]> = locals.iter_mut().map(|s| &mut s[..]).collect();
        let done = self.nodes.decode_unit(self.schedule, unit, &bytes, &find, &mut to, &mut out);
        let same = |i: usize| {
            states[i] == coded[i].state && crate::write::node_frames::same_bits(&locals[i], &coded[i].locals)
        };
        match done.is_ok() && (0..frames.len()).all(same) {
            true => Ok(bytes),
            false => Err(first()),
        }
    }

    /// Forgets frames before this one.
    pub fn forget(&mut self, frame: u32) {
        self.frames.retain(|&f, _| f >= frame);
    }

    /// The largest error that transforms left on a placed object; none where nothing moves it.
    pub fn error(&self, placed: usize) -> Option<f64> {
        let at = self.shape_of.get(placed).copied()??;
        Some(self.errors[at])
    }

    /// Moving nodes.
    pub fn tracks(&self) -> &[codec::Track] {
        &self.nodes.tracks
    }

    /// Of all that they move the object that transforms bring nearest to its tolerance: that, and the largest
    /// error that they leave on it.
    pub fn promised(&self) -> (f64, f64) {
        let tolerance = |shape: &Shape| self.job.tolerances[shape.placed].tolerance;
        let all = self.shapes.iter().map(tolerance).zip(self.errors.iter().copied());
        all.max_by(|a, b| (a.1 * b.0).total_cmp(&(b.1 * a.0))).unwrap_or_default()
    }
}

fn broken(frame: u32) -> Error {
    Error::Promise {
        what: format!("the transforms of frame {frame} do not decode to what was encoded"),
        target: Default::default(),
    }
}

/// How far a transform is from the first one: its translation, the angle (for small ones), its scale.
fn moved(first: &Transform, now: &Transform) -> [f64; 3] {
    let far = |a: &[f32], b: &[f32]| {
        let far = a.iter().zip(b).map(|(a, b)| f64::from(a - b).powi(2));
        far.sum::<f64>().sqrt()
    };
    let turned = now.rotation.map(|v| -v);
    let rotation = far(&first.rotation, &now.rotation).min(far(&first.rotation, &turned));
    [far(&first.translation, &now.translation), 2.0 * rotation, far(&first.scale, &now.scale)]
}

/// The corners of a box around points in a node's space.
fn boxed(points: Vec<[f64; 3]>, world: &Matrix, limit: f64) -> Vec<Point> {
    let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
    for p in &points {
        for k in 0..3 {
            (low[k], high[k]) = (low[k].min(p[k]), high[k].max(p[k]));
        }
    }
    let all = if points.is_empty() { Vec::new() } else { corners(low, high) };
    all.into_iter().map(|at| Point { at, goal: apply(world, at), limit }).collect()
}

/// The nearest track at or above a node, and what lies between it and the node.
fn still_above(
    nodes: &[FlatNode],
    rest: &[Transform],
    track_of: &[Option<usize>],
    mut node: usize,
) -> (Option<usize>, Matrix) {
    let mut between = IDENTITY;
    loop {
        if let Some(track) = track_of[node] {
            return (Some(track), between);
        }
        between = product(&rest[node].matrix(), &between);
        match nodes[node].parent {
            Some(parent) => node = parent,
            None => return (None, between),
        }
    }
}

/// Meshes and locators at or below moving nodes, in the order of the nodes.
fn shapes(job: &Job<'_>, rest: &[Transform], track_of: &[Option<usize>]) -> Vec<Shape> {
    let mut plan_of = vec![None; job.placed.len()];
    for (m, (_, placements)) in job.plans.iter().enumerate() {
        placements.iter().for_each(|&i| plan_of[i] = Some(m));
    }
    let mut out = Vec::new();
    for (n, node) in job.nodes.iter().enumerate() {
        let plan = node.mesh.and_then(|i| plan_of[i]);
        let placed = match (node.shown(), plan) {
            (Some(placed), Some(_)) => placed,
            (Some(placed), None) if node.reach.is_some() => placed,
            _ => continue,
        };
        let (Some(above), between) = still_above(job.nodes, rest, track_of, n) else {
            continue;
        };
        let budget = &job.tolerances[placed];
        let (points, own) = match (plan, node.reach) {
            (Some(m), _) => points(&job.plans[m].0),
            (None, reach) => {
                let reach = f64::from(reach.unwrap_or(0.0));
                (corners([-reach; 3], [reach; 3]), 0.0)
            }
        };
        // What verification computes differs from this by less.
        let limit = (budget.tolerance - budget.scale * own) * (1.0 - 1e-6);
        out.push(Shape {
            node: n,
            placed,
            always: node.reach.is_some(),
            few: outermost(&points),
            points,
            limit,
            room: (limit - budget.transform_error).max(limit * 1e-3),
            above,
            between,
        });
    }
    out
}

/// What is looked at of a mesh, and how far it is off already.
fn points(plan: &MeshPlan<'_>) -> (Vec<[f64; 3]>, f64) {
    let mut points = Vec::new();
    let mut own = plan.radius;
    let few = plan.method == Method::Static && plan.bases.first().is_some_and(|b| b.len() <= 3 * VERTICES);
    if let (true, Some(base), Some(record)) = (few, plan.bases.first(), plan.streams.first()) {
        let mut values = vec![[0.0f32; 3]; base.len() / 3];
        with_quantized!(base, v => quantize::dequantize(&record.axes, v, values.as_flattened_mut()));
        values.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        values.dedup();
        points.extend(values.iter().map(|v| v.map(f64::from)));
        own = plan.static_error.first().copied().unwrap_or(own);
    } else {
        let b = plan.bounds().map(f64::from);
        points = corners([b[0], b[1], b[2]], [b[3], b[4], b[5]]);
    }
    (points, own)
}

/// World matrix of a node in the first frame.
fn tracks_world(job: &Job<'_>, rest: &[Transform], node: usize) -> Matrix {
    let own = rest[node].matrix();
    match job.nodes[node].parent {
        Some(parent) => product(&tracks_world(job, rest, parent), &own),
        None => own,
    }
}

fn largest(m: &Matrix) -> f64 {
    meshreel_scene::sample::largest_scale(&whole(m))
}
