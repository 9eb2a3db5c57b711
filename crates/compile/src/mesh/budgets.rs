//! The error of the flattened transforms, the tolerance that it leaves to each placement, and the objects
//! that must be baked to world space because of it.

use crate::Error;
use crate::context::Content;
use crate::mesh::prepared::MeshCandidate;
use crate::nodes::budget::{Budget, MIN_VERTEX_FRACTION, leaves_too_little};
use crate::nodes::flatten::{self, FlatNode};
use crate::nodes::locators::{self, LocatorTolerance};
use crate::nodes::matrix::transform_box;
use crate::nodes::motion::{self, Motion};
use crate::nodes::tracks::NodeTracks;
use crate::report::Log;
use meshreel_options::Tolerance;
use meshreel_process::extent::{self, Extent, ulp};
use meshreel_process::trs::{error_over_box, rows};
use meshreel_scene::Remark;
use meshreel_scene::sample::{self, World};

/// The outcome of one round of flattening the tree.
pub enum FlattenRound {
    /// Nothing more needs to be baked.
    Settled(Vec<FlatNode>, Vec<Budget>),
    /// Locators were baked to world space; the tree has changed.
    Again,
    /// Objects whose vertices must be baked to world space, and whether shear is the reason.
    Bake(Vec<(usize, bool)>),
}

/// Flattens the tree repeatedly until nothing more needs to be baked.
pub struct Flattening<'a> {
    content: &'a Content,
    selected: &'a [bool],
    locators: &'a [bool],
    locator_tolerances: Vec<Option<LocatorTolerance>>,
    /// By object, half the edge of the cube that stands for it, if it is a locator.
    locator_half_sizes: Vec<Option<f32>>,
    locator_remarks: Vec<Remark>,
    /// By object, `true` if it is in world space.
    baked: Vec<bool>,
    /// By object, the index of its mesh among the candidates.
    candidate_of: Vec<usize>,
}

impl<'a> Flattening<'a> {
    /// Starts with nothing baked. `found`: the objects whose meshes are compiled, and the locators.
    pub fn new(
        content: &'a Content,
        [selected, locators]: [&'a [bool]; 2],
        diagonals: &[Option<f64>],
        motion: &Motion,
        meshes: &[MeshCandidate],
    ) -> Flattening<'a> {
        let placed = &content.placed;
        let tolerance = |path: &str| content.by_path.tolerance(path);
        let promises = locators::locator_tolerances(placed, locators, diagonals, motion, tolerance);
        let mut candidate_of = vec![usize::MAX; placed.len()];
        for (c, candidate) in meshes.iter().enumerate() {
            candidate.placements.iter().for_each(|&i| candidate_of[i] = c);
        }
        Flattening {
            content,
            selected,
            locators,
            locator_half_sizes: promises.iter().map(|p| Some(p.as_ref()?.half_size)).collect(),
            locator_tolerances: promises,
            locator_remarks: Vec::new(),
            baked: vec![false; placed.len()],
            candidate_of,
        }
    }

    /// Flattens the tree and measures the tolerance that is left.
    pub fn round(
        &mut self,
        meshes: &[MeshCandidate],
        motion: &Motion,
        log: &mut Log,
    ) -> Result<FlattenRound, Error> {
        let content = self.content;
        let nodes =
            flatten::flatten(&content.placed, self.selected, &self.locator_half_sizes, &self.baked, motion);
        let mut budgets = measure_transforms(content, &nodes, meshes, &self.candidate_of, motion)?;
        let (mut more, mut apart) = (Vec::new(), false);
        self.locator_remarks.clear();
        for node in &nodes {
            let named = node.named;
            if node.half_size.is_some() {
                apart |= self.settle_locator(named, &mut budgets[named]);
            }
            let Some(i) = node.mesh else { continue };
            more.extend(self.settle_mesh(i, &meshes[self.candidate_of[i]], motion, &mut budgets[i], log));
        }
        if !more.is_empty() {
            return Ok(FlattenRound::Bake(more));
        }
        if apart {
            return Ok(FlattenRound::Again);
        }
        for (i, _) in self.locators.iter().enumerate().filter(|(i, f)| **f && motion.broken[*i]) {
            let what = "its transform is not finite in some frames, where the last one that is holds";
            self.locator_remarks.push(Remark::new(&content.placed[i].path, what));
        }
        log.remarks.append(&mut self.locator_remarks);
        let baked = self.baked.iter().zip(self.selected).filter(|(b, s)| **b && **s).count();
        log.pass(
            "flatten",
            format!(
                "{} objects to {} nodes ({} moving), {baked} meshes baked to world space",
                content.placed.len(),
                nodes.len(),
                nodes.iter().filter(|n| n.animated).count(),
            ),
        );
        Ok(FlattenRound::Settled(nodes, budgets))
    }

    /// Settles the tolerance of a locator. Returns `true` if it was baked to world space.
    fn settle_locator(&mut self, i: usize, budget: &mut Budget) -> bool {
        let Some(promise) = &self.locator_tolerances[i] else {
            return false;
        };
        let path = &self.content.placed[i].path;
        let floor = 4.0 * ulp(budget.max_coordinate);
        let alone = self.baked[i] || budget.max_coordinate > f64::from(f32::MAX);
        self.baked[i] |=
            locators::settle_tolerance(path, promise, floor, alone, budget, &mut self.locator_remarks);
        self.baked[i] && !alone
    }

    /// Settles the tolerance of a mesh at one placement. If its vertices must be baked to world space,
    /// returns the object, and whether shear is the reason.
    fn settle_mesh(
        &self,
        i: usize,
        candidate: &MeshCandidate,
        motion: &Motion,
        budget: &mut Budget,
        log: &mut Log,
    ) -> Option<(usize, bool)> {
        let (path, baked) = (&self.content.placed[i].path, self.baked[i]);
        let extent = &candidate.prepared.scan.object_extent;
        let corners = (0..3).flat_map(|k| <[f32; 2]>::from(extent.component(k)));
        let object_reach = corners.fold(0.0f64, |m, v| m.max(f64::from(v).abs()));
        let diagonal = candidate.diagonal(&motion.visible[i]);
        if baked {
            // World positions are rounded to f32: half a unit along each axis.
            budget.transform_error = 0.75f64.sqrt() * ulp(budget.max_coordinate);
        } else {
            budget.scale = budget.scale.max(motion.largest_scale[i]);
        }
        let asked = match self.content.by_path.tolerance(path) {
            Tolerance::Absolute(t) => t,
            Tolerance::Relative(part) => part * diagonal * motion.largest_scale[i],
        };
        let floor = 4.0 * ulp(object_reach.max(budget.source_max_coordinate));
        let remeshed = candidate.source.remeshed.as_ref();
        budget.spent = remeshed.map_or(0.0, |r| r.spent * motion.largest_scale[i]);
        budget.tolerance = asked.max(floor) - budget.spent;
        self.tighten(path, floor, budget);
        if asked < floor && diagonal > 0.0 && !baked {
            log.remark(
                path,
                format!("tolerance raised from {asked:.3e} to {floor:.3e}: float32 holds no less at these coordinates"),
            );
        }
        if baked {
            return None;
        }
        // World matrices in f64 may exceed what the bounds of a frame can hold, which are f32.
        let beyond = budget.max_coordinate > f64::from(f32::MAX);
        let share = if extent::diagonal(extent) > 0.0 { MIN_VERTEX_FRACTION } else { 0.0 };
        let (error, scale) = (budget.transform_error, budget.scale);
        let bake = beyond || leaves_too_little(budget.tolerance, error, scale, object_reach, share);
        bake.then_some((i, budget.transform_error > 0.2 * budget.tolerance && !beyond))
    }

    /// Leaves a part of an object's tolerance unused where a verification found the tolerance exceeded, but
    /// keeps at least most of what f32 needs.
    fn tighten(&self, path: &str, floor: f64, budget: &mut Budget) {
        let tolerance = budget.tolerance;
        let part = self.content.tighter.fraction(path);
        budget.tolerance = (part * tolerance).max(0.75 * floor).min(tolerance);
        budget.spent += tolerance - budget.tolerance;
    }

    /// Removes an object from its mesh, which is baked to world space for it and becomes the next candidate.
    /// Returns the index of the old candidate.
    pub fn bake(
        &mut self,
        i: usize,
        shear: bool,
        motion: &Motion,
        meshes: &mut [MeshCandidate],
        log: &mut Log,
    ) -> usize {
        self.baked[i] = true;
        let why = match shear {
            _ if motion.broken[i] => {
                "its transform is not finite in some frames, where the last one that is holds"
            }
            true => {
                "translation, rotation and scale cannot express its transform within the tolerance (shear?)"
            }
            false => "float32 transforms leave no room in the tolerance",
        };
        log.remark(&self.content.placed[i].path, format!("{why}; its vertices are stored in world space"));
        let old = std::mem::replace(&mut self.candidate_of[i], meshes.len());
        meshes[old].placements.retain(|&p| p != i);
        old
    }
}

/// Returns the world matrices of some objects in all frames; one that is not finite is replaced by the last
/// finite one.
pub fn world_matrices(content: &Content, wanted: &[(usize, bool)]) -> Result<Vec<Vec<glam::DMat4>>, Error> {
    let mut world = World::new(&content.scene, &content.placed)?;
    let mut out = vec![Vec::with_capacity(content.times.len()); wanted.len()];
    for &time in content.times.iter() {
        world.evaluate(time)?;
        for (list, (i, _)) in out.iter_mut().zip(wanted) {
            let m = world.matrix[*i];
            // A matrix with NaN is replaced by the last finite one: the mesh keeps its place.
            let good = if m.is_finite() { m } else { list.last().copied().unwrap_or(glam::DMat4::IDENTITY) };
            list.push(good);
        }
    }
    Ok(out)
}

/// Returns the budget of each object, with the largest distance of decoded transforms from the source's, over
/// the whole mesh and all frames.
fn measure_transforms(
    content: &Content,
    nodes: &[FlatNode],
    meshes: &[MeshCandidate],
    candidate_of: &[usize],
    motion: &Motion,
) -> Result<Vec<Budget>, Error> {
    // Chunks start without a previous frame: allowed only for tracks that do not depend on it.
    let parallel = nodes
        .iter()
        .filter(|n| n.animated)
        .all(|node| !node.world && node.chain.iter().all(|&i| motion.local[i].steady));
    let parts = motion::in_chunks(&content.times, parallel, |_, times| {
        measure_part(content, nodes, meshes, candidate_of, times)
    })?;
    let mut budgets = vec![Budget::default(); content.placed.len()];
    for part in parts {
        for (all, part) in budgets.iter_mut().zip(part) {
            all.transform_error = all.transform_error.max(part.transform_error);
            all.scale = all.scale.max(part.scale);
            all.max_coordinate = all.max_coordinate.max(part.max_coordinate);
            all.source_max_coordinate = all.source_max_coordinate.max(part.source_max_coordinate);
        }
    }
    Ok(budgets)
}

fn measure_part(
    content: &Content,
    nodes: &[FlatNode],
    meshes: &[MeshCandidate],
    candidate_of: &[usize],
    times: &[f64],
) -> Result<Vec<Budget>, Error> {
    let mut budgets = vec![Budget::default(); content.placed.len()];
    let mut tracks = NodeTracks::new(&content.scene, &content.placed, nodes)?;
    for &time in times {
        tracks.evaluate(time)?;
        for (n, node) in nodes.iter().enumerate() {
            let Some(i) = node.visible_object() else { continue };
            let sides: [(f32, f32); 3] = match node.half_size {
                // If it has no finite position, it keeps its place.
                Some(_) if !tracks.world.matrix[i].is_finite() => continue,
                Some(reach) => [(-reach, reach); 3],
                None => {
                    let extent = &meshes[candidate_of[i]].prepared.scan.extent;
                    std::array::from_fn(|k| extent.component(k))
                }
            };
            let (low, high) = (sides.map(|s| f64::from(s.0)), sides.map(|s| f64::from(s.1)));
            let budget = &mut budgets[i];
            let source = &tracks.world.matrix[i];
            let extent = meshes.get(candidate_of[i]).map(|candidate| &candidate.prepared.scan.object_extent);
            let some = |extent: &&Extent<3>| source.is_finite() && extent.low[0] <= extent.high[0];
            if let Some(extent) = extent.filter(some) {
                let [x, y, z]: [(f32, f32); 3] = std::array::from_fn(|k| extent.component(k));
                let corners = transform_box(&rows(source), &[x.0, y.0, z.0, x.1, y.1, z.1]);
                budget.source_max_coordinate =
                    corners.iter().fold(budget.source_max_coordinate, |most, v| most.max(v.abs()));
            }
            let decoded = &tracks.decoded[n];
            if !node.baked {
                let error = error_over_box(&rows(&tracks.world.matrix[i]), decoded, low, high);
                // A NaN must count as unbounded.
                budget.transform_error =
                    if error >= 0.0 { budget.transform_error.max(error) } else { f64::INFINITY };
            }
            let m = glam::DMat4::from_cols_array_2d(
                &[0, 1, 2, 3]
                    .map(|c| [decoded[0][c], decoded[1][c], decoded[2][c], if c == 3 { 1.0 } else { 0.0 }]),
            );
            budget.scale = budget.scale.max(sample::largest_scale(&m));
            let corners = [low[0], low[1], low[2], high[0], high[1], high[2]].map(|v| v as f32);
            let reach = transform_box(decoded, &corners);
            budget.max_coordinate = reach.iter().fold(budget.max_coordinate, |m, v| m.max(v.abs()));
        }
    }
    Ok(budgets)
}
