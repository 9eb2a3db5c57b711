//! The placements that deviate between frames, and the nodes that the file will have above them.

use crate::Error;
use crate::nodes::budget::{MIN_VERTEX_FRACTION, leaves_too_little};
use crate::nodes::flatten::{FlatNode, flatten};
use crate::nodes::motion::Motion;
use crate::nodes::tracks::NodeTracks;
use glam::DVec3;
use meshreel_options::{BetweenChoice, Tolerance};
use meshreel_process::Cancellation;
use meshreel_process::extent::{is_usable_point, ulp};
use meshreel_process::trs::{error_over_box, rows};
use meshreel_scene::sample::{World, largest_scale};
use meshreel_scene::{MeshId, PlacedObject, Scene, rig, sample};
use rayon::prelude::*;

/// The objects and frames that are examined.
pub(super) struct BetweenRequest<'a> {
    /// The source.
    pub(super) scene: &'a Scene,
    /// Its placed objects.
    pub(super) placed: &'a [PlacedObject],
    /// By object, `true` if its mesh is compiled.
    pub(super) selected: &'a [bool],
    /// By object, `true` if it is a kept node without a mesh.
    pub(super) locators: &'a [bool],
    /// By object, `true` if its vertices are in world space; if `None`, that is estimated.
    pub(super) baked: Option<&'a [bool]>,
    /// The motion of objects at `times`.
    pub(super) motion: &'a Motion,
    /// Times of the frames between which is measured, in seconds.
    pub(super) times: &'a [f64],
    /// The tolerance of the object at a path.
    pub(super) tolerance: &'a (dyn Fn(&str) -> Tolerance + Sync),
    /// `true` if meshes with a rig that clips can move need no frames.
    pub(super) rigs: bool,
    /// The requested multiple of the tolerance.
    pub(super) choice: BetweenChoice,
    /// `true` if frames may be added.
    pub(super) add: bool,
    /// Cancels the work, which then ends with an error.
    pub(super) cancellation: &'a Cancellation,
}

/// A placement that can deviate between frames.
pub(super) struct DeviatingItem {
    pub(super) placed: usize,
    pub(super) tolerance: f64,
    /// Largest world scale, and largest |coordinate| in its own space.
    pub(super) scale: f64,
    pub(super) max_coordinate: f64,
    /// Nodes of the file from the root down to the one that shows it; empty if its vertices are in world
    /// space.
    pub(super) nodes: Vec<usize>,
    pub(super) points: ItemPoints,
}

/// The points of a mesh that are measured.
pub(super) enum ItemPoints {
    /// Points that never move: the corners of their box suffice, since distance is convex.
    Constant([DVec3; 8]),
    /// Moving points: index in [`SourcePose::points`].
    Moving(usize),
}

pub(super) struct DeviatingItems {
    pub(super) list: Vec<DeviatingItem>,
    /// Meshes whose points move.
    pub(super) meshes: Vec<MeshId>,
    pub(super) nodes: Vec<FlatNode>,
    /// By node, `true` if it is above one of the items, or shows it.
    pub(super) needed: Vec<bool>,
    /// By node, how near to a half turn a rotation counts as one: cosine of half the angle.
    pub(super) half_turn: Vec<f64>,
    /// `true` if transforms are decomposed alike, whatever the frame before is.
    pub(super) steady: bool,
}

impl DeviatingItems {
    pub(super) fn new(given: &BetweenRequest<'_>) -> Result<Option<DeviatingItems>, Error> {
        let BetweenRequest { scene, placed, .. } = *given;
        let bends = |i: &usize| {
            let mesh = scene.nodes[placed[*i].node].mesh;
            let rig = given.rigs && mesh.is_some_and(|mesh| rig::is_driven(&scene.meshes[mesh]));
            given.selected[*i] && !rig && sample::has_own_interpolation(scene, placed, *i)
        };
        let bending: Vec<usize> = (0..placed.len()).filter(bends).collect();
        if bending.is_empty() || given.times.len() < 2 {
            return Ok(None);
        }
        let mut meshes: Vec<MeshId> = Vec::new();
        let mut list = Vec::new();
        for i in bending {
            let Some(mesh) = scene.nodes[placed[i].node].mesh else {
                continue;
            };
            let mut place = || {
                let known = meshes.iter().position(|other| *other == mesh);
                known.unwrap_or_else(|| {
                    meshes.push(mesh);
                    meshes.len() - 1
                })
            };
            let points = match scene.meshes[mesh].positions.is_constant() {
                true => ItemPoints::Constant([DVec3::ZERO; 8]),
                false => ItemPoints::Moving(place()),
            };
            list.push(DeviatingItem {
                placed: i,
                tolerance: 0.0,
                scale: 0.0,
                max_coordinate: 0.0,
                nodes: Vec::new(),
                points,
            });
        }
        let (nodes, needed, half_turn) = (Vec::new(), Vec::new(), Vec::new());
        let mut items = DeviatingItems { list, meshes, nodes, needed, half_turn, steady: true };
        let corners = items.resolve(given)?;
        let mut baked = vec![false; placed.len()];
        match given.baked {
            Some(known) => {
                baked.copy_from_slice(known);
                items.flatten(given, &baked);
            }
            None => loop {
                items.flatten(given, &baked);
                let more = items.without_room(given, &baked, &corners)?;
                if more.is_empty() {
                    break;
                }
                more.into_iter().for_each(|i| baked[i] = true);
            },
        }
        Ok(Some(items))
    }

    /// Computes the nodes that the file will have.
    pub(super) fn flatten(&mut self, given: &BetweenRequest<'_>, baked: &[bool]) {
        // The size of locators changes no node.
        let reach = |&locator: &bool| locator.then_some(0.0);
        let locators: Vec<Option<f32>> = given.locators.iter().map(reach).collect();
        self.nodes = flatten(given.placed, given.selected, &locators, baked, given.motion);
        self.needed = vec![false; self.nodes.len()];
        self.half_turn = vec![0.0; self.nodes.len()];
        let mut of_placed = vec![None; given.placed.len()];
        for (n, node) in self.nodes.iter().enumerate() {
            if let Some(i) = node.mesh {
                of_placed[i] = Some(n);
            }
        }
        for item in &mut self.list {
            item.nodes.clear();
            let mut at = of_placed[item.placed].filter(|_| !baked[item.placed]);
            while let Some(n) = at {
                self.needed[n] = true;
                // The largest rotation error that coding may add to a node.
                let turn = item.tolerance / (item.scale * item.max_coordinate);
                self.half_turn[n] = self.half_turn[n].max(turn.clamp(1e-4, 0.5));
                item.nodes.push(n);
                at = self.nodes[n].parent;
            }
            item.nodes.reverse();
        }
        let steady =
            |node: &FlatNode| !node.world && node.chain.iter().all(|&i| given.motion.local[i].steady);
        let needed = self.nodes.iter().zip(&self.needed).filter(|(node, needed)| **needed && node.animated);
        self.steady = needed.map(|(node, _)| node).all(steady);
    }

    /// Returns the objects whose transforms leave no room in their tolerance: their vertices will be in world
    /// space.
    pub(super) fn without_room(
        &self,
        given: &BetweenRequest<'_>,
        baked: &[bool],
        corners: &[[DVec3; 8]],
    ) -> Result<Vec<usize>, Error> {
        let mut errors = vec![0.0f64; self.list.len()];
        let mut tracks = NodeTracks::new(given.scene, given.placed, &self.nodes)?;
        for &time in given.times {
            tracks.evaluate(time)?;
            for (k, item) in self.list.iter().enumerate() {
                if let Some(&node) = item.nodes.last() {
                    let (low, high) = (corners[k][0].to_array(), corners[k][7].to_array());
                    let right = rows(&tracks.world.matrix[item.placed]);
                    let error = error_over_box(&right, &tracks.decoded[node], low, high);
                    errors[k] = if error >= 0.0 { errors[k].max(error) } else { f64::INFINITY };
                }
            }
        }
        let tight = |(item, error): &(&DeviatingItem, f64)| {
            let (scale, reach) = (item.scale, item.max_coordinate);
            !baked[item.placed]
                && leaves_too_little(item.tolerance, *error, scale, reach, MIN_VERTEX_FRACTION)
        };
        let all = self.list.iter().zip(errors).filter(tight);
        Ok(all.map(|(item, _)| item.placed).collect())
    }

    /// Resolves the tolerance of each item (PROMISE.md §1), and returns the corners of a box around it.
    pub(super) fn resolve(&mut self, given: &BetweenRequest<'_>) -> Result<Vec<[DVec3; 8]>, Error> {
        let BetweenRequest { scene, placed, .. } = *given;
        let empty = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        let grow = |(low, high): (DVec3, DVec3), p: DVec3| (low.min(p), high.max(p));
        let join = |a: (DVec3, DVec3), b: (DVec3, DVec3)| (a.0.min(b.0), a.1.max(b.1));
        let extent = |mesh: MeshId, time: f64| -> Result<(DVec3, DVec3), Error> {
            let mut points = Vec::new();
            sample::positions_at(&scene.meshes[mesh], time, &mut points)?;
            let finite = points.iter().filter(|p| is_usable_point(p));
            Ok(finite.map(|p| DVec3::from_array(p.map(f64::from))).fold(empty, grow))
        };
        // By mesh, its boxes in all frames.
        let moving: Vec<Vec<(DVec3, DVec3)>> = (self.meshes.iter())
            .map(|&mesh| given.times.par_iter().map(|&time| extent(mesh, time)).collect())
            .collect::<Result<_, Error>>()?;
        let (mut corners, mut diagonals) = (Vec::new(), Vec::new());
        for item in &mut self.list {
            let still;
            let boxes = match item.points {
                ItemPoints::Moving(place) => &moving[place][..],
                ItemPoints::Constant(_) => {
                    let mesh = scene.nodes[placed[item.placed].node].mesh;
                    still = [mesh.map_or(Ok(empty), |mesh| extent(mesh, given.times[0]))?];
                    &still[..]
                }
            };
            let size = |(low, high): (DVec3, DVec3)| if low.x <= high.x { low.distance(high) } else { 0.0 };
            let visible = &given.motion.visible[item.placed];
            diagonals.push(visible.largest(given.times.len(), |f| size(boxes[f.min(boxes.len() - 1)])));
            // Hidden frames are not stored.
            let there = |f: &usize| boxes.len() == 1 || visible.contains(*f);
            let (low, high) = (0..boxes.len()).filter(there).map(|f| boxes[f]).fold(empty, join);
            let (low, high) = match low.x <= high.x {
                true => (low, high),
                false => (DVec3::ZERO, DVec3::ZERO),
            };
            let sides = [low, high];
            let box_corners: [DVec3; 8] =
                std::array::from_fn(|i| DVec3::from_array([0, 1, 2].map(|k| sides[i >> k & 1][k])));
            if let ItemPoints::Constant(own) = &mut item.points {
                *own = box_corners;
            }
            corners.push(box_corners);
        }
        let mut scale = vec![0.0f64; self.list.len()];
        let mut reach = vec![0.0f64; self.list.len()];
        let mut world = World::new(scene, placed)?;
        for &time in given.times {
            world.evaluate(time)?;
            for (k, item) in self.list.iter().enumerate() {
                let matrix = &world.matrix[item.placed];
                if matrix.is_finite() {
                    scale[k] = scale[k].max(largest_scale(matrix));
                    let far = |p: &DVec3| matrix.transform_point3(*p).abs().max_element();
                    reach[k] = corners[k].iter().map(far).fold(reach[k], f64::max);
                }
            }
        }
        for (k, item) in self.list.iter_mut().enumerate() {
            let object = corners[k].iter().map(|p| p.abs().max_element());
            (item.scale, item.max_coordinate) = (scale[k], object.fold(0.0, f64::max));
            let floor = 4.0 * ulp(item.max_coordinate.max(reach[k]));
            let asked = match (given.tolerance)(&placed[item.placed].path) {
                Tolerance::Absolute(t) => t,
                Tolerance::Relative(part) => part * diagonals[k] * scale[k],
            };
            item.tolerance = asked.max(floor);
        }
        Ok(corners)
    }
}
