//! What the tree of nodes that is left makes of the source's transforms.

use super::{Candidate, Compiler};
use crate::Error;
use crate::nodes::budget::Budget;
use crate::nodes::flatten::FlatNode;
use crate::nodes::matrix::transform_box;
use crate::nodes::motion::{self, Motion};
use crate::nodes::tracks::Tracks;
use meshreel_process::trs::{error_over_box, rows};
use meshreel_scene::{
    Placed,
    sample::{self, World},
};

impl<'a> Compiler<'a> {
    pub(super) fn world_matrices(
        &self,
        placed: &[Placed],
        times: &[f64],
        wanted: &[(usize, bool)],
    ) -> Result<Vec<Vec<glam::DMat4>>, Error> {
        let mut world = World::new(self.scene, placed)?;
        let mut out = vec![Vec::with_capacity(times.len()); wanted.len()];
        for &time in times {
            world.evaluate(time)?;
            for (list, (i, _)) in out.iter_mut().zip(wanted) {
                let m = world.matrix[*i];
                // A matrix with NaN keeps the last good one: the mesh stays where it was.
                let good =
                    if m.is_finite() { m } else { list.last().copied().unwrap_or(glam::DMat4::IDENTITY) };
                list.push(good);
            }
        }
        Ok(out)
    }

    /// How far the decoded transforms are from the source's, over the whole mesh and all frames.
    pub(super) fn measure_transforms(
        &self,
        placed: &[Placed],
        nodes: &[FlatNode],
        meshes: &[Candidate<'a>],
        candidate_of: &[usize],
        motion: &Motion,
        times: &[f64],
    ) -> Result<Vec<Budget>, Error> {
        // Parts start without a frame before them: only for tracks that would be the same with one.
        let parallel = nodes
            .iter()
            .filter(|n| n.animated)
            .all(|node| !node.world && node.chain.iter().all(|&i| motion.local[i].steady));
        let parts = motion::in_chunks(times, parallel, |_, times| {
            self.measure_part(placed, nodes, meshes, candidate_of, times)
        })?;
        let mut budgets = vec![Budget::default(); placed.len()];
        for part in parts {
            for (all, part) in budgets.iter_mut().zip(part) {
                all.transform_error = all.transform_error.max(part.transform_error);
                all.scale = all.scale.max(part.scale);
                all.reach = all.reach.max(part.reach);
            }
        }
        Ok(budgets)
    }

    fn measure_part(
        &self,
        placed: &[Placed],
        nodes: &[FlatNode],
        meshes: &[Candidate<'a>],
        candidate_of: &[usize],
        times: &[f64],
    ) -> Result<Vec<Budget>, Error> {
        let mut budgets = vec![Budget::default(); placed.len()];
        let mut tracks = Tracks::new(self.scene, placed, nodes)?;
        for &time in times {
            tracks.evaluate(time)?;
            for (n, node) in nodes.iter().enumerate() {
                let Some(i) = node.shown() else { continue };
                let sides: [(f32, f32); 3] = match node.reach {
                    // Where it is nowhere, it stays where it was.
                    Some(_) if !tracks.world.matrix[i].is_finite() => continue,
                    Some(reach) => [(-reach, reach); 3],
                    None => {
                        let extent = &meshes[candidate_of[i]].prepared.extent;
                        std::array::from_fn(|k| extent.component(k))
                    }
                };
                let (low, high) = (sides.map(|s| f64::from(s.0)), sides.map(|s| f64::from(s.1)));
                let budget = &mut budgets[i];
                let decoded = &tracks.decoded[n];
                if !node.baked {
                    let error = error_over_box(&rows(&tracks.world.matrix[i]), decoded, low, high);
                    // NaN must count as unbounded.
                    budget.transform_error =
                        if error >= 0.0 { budget.transform_error.max(error) } else { f64::INFINITY };
                }
                let m =
                    glam::DMat4::from_cols_array_2d(&[0, 1, 2, 3].map(|c| {
                        [decoded[0][c], decoded[1][c], decoded[2][c], if c == 3 { 1.0 } else { 0.0 }]
                    }));
                budget.scale = budget.scale.max(sample::largest_scale(&m));
                let corners = [low[0], low[1], low[2], high[0], high[1], high[2]].map(|v| v as f32);
                let reach = transform_box(decoded, &corners);
                budget.reach = reach.iter().fold(budget.reach, |m, v| m.max(v.abs()));
            }
        }
        Ok(budgets)
    }
}
