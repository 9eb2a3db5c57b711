//! First pass, over the source alone: placements of meshes, their visibility and size, hence the tolerance of
//! each (PROMISE.md §1), and points that are welded in all frames.

use crate::requested::{RequestedOptions, Tolerance};
use crate::verify::polygons::is_usable;
use glam::{DMat4, DVec3};
use meshreel_extract::convert::ulp;
use meshreel_scene::sample::{self, World, largest_scale};
use meshreel_scene::{Error, Mesh, MeshId, PlacedObject, Scene, TIME_TOLERANCE, locators as nodes};
use rayon::prelude::*;
use std::collections::{HashMap, HashSet};

/// The contents that the file must have, by the source: frames, placements, tolerances.
pub(crate) struct Survey<'a> {
    pub scene: &'a Scene,
    pub placed: Vec<PlacedObject>,
    /// Time of each frame, in seconds.
    pub times: Vec<f64>,
    pub placements: Vec<Placement>,
    /// For each mesh of the source, its facts if it is placed.
    pub meshes: Vec<Option<MeshFacts>>,
    /// Nodes without meshes that must be in the file.
    pub locators: Vec<Locator>,
}

/// A mesh at a place in the tree.
pub(crate) struct Placement {
    /// Index among all placed objects.
    pub placed: usize,
    pub mesh: MeshId,
    pub visible: FrameSet,
    /// Largest distance allowed, in world units.
    pub tolerance: f64,
    /// The largest effect of its transforms on velocities.
    pub velocity_effect: VelocityEffect,
}

/// The effect of a placement's transforms on velocities, over all frames that show it.
#[derive(Clone, Copy, Default)]
pub(crate) struct VelocityEffect {
    /// The largest scale.
    scale: f64,
    /// The largest movement of a corner of the mesh's box from one frame to the next, per second.
    drift: f64,
}

impl VelocityEffect {
    /// Returns bounds of velocities in the world, from those in object space.
    pub fn world_bounds(&self, own: &[(f32, f32)]) -> Vec<(f32, f32)> {
        let largest = own.iter().map(|(low, high)| f64::from(low.abs().max(high.abs())));
        let length = largest.map(|v| v * v).sum::<f64>().sqrt();
        let most = (self.scale * length + self.drift) as f32;
        own.iter().map(|_| (-most, most)).collect()
    }
}

/// A set of frames, one bit each.
#[derive(Clone, Debug, Default)]
pub(crate) struct FrameSet(Vec<u64>);

impl FrameSet {
    pub fn new(frames: usize) -> FrameSet {
        FrameSet(vec![0; frames.div_ceil(64)])
    }
    pub fn set(&mut self, frame: usize) {
        self.0[frame / 64] |= 1 << (frame % 64);
    }
    pub fn get(&self, frame: usize) -> bool {
        self.0.get(frame / 64).is_some_and(|word| word >> (frame % 64) & 1 == 1)
    }
    pub fn any(&self) -> bool {
        self.0.iter().any(|word| *word != 0)
    }
}

/// Box, welded points and constant positions of a source mesh, over all frames.
pub(crate) struct MeshFacts {
    low: [f32; 3],
    high: [f32; 3],
    /// The diagonal of its box in each frame; a single one for all if it is constant.
    diagonals: Vec<f64>,
    /// Points that are bit-equal to an earlier one in every frame, and that one. Empty if the number of
    /// points changes.
    pub weld: Vec<(u32, u32)>,
    /// The points, if they never change.
    pub constant: Option<Vec<[f32; 3]>>,
}

/// A survey that has no locators yet.
pub(crate) struct MeshSurvey<'a> {
    pub survey: Survey<'a>,
    /// For each placed object, whether it is a locator.
    pub is_locator: Vec<bool>,
    /// For each placed object, the diagonal of its mesh in the world, if it has one.
    pub sizes: Vec<Option<f64>>,
}

impl<'a> Survey<'a> {
    /// Surveys the meshes; [`super::locators::survey`] adds the locators. `there`: times of the file's
    /// frames, in seconds.
    pub fn of_meshes(
        scene: &'a Scene,
        asked: &RequestedOptions,
        there: &[f64],
    ) -> Result<MeshSurvey<'a>, Error> {
        let placed = scene.expand()?;
        let selected: Vec<bool> = placed
            .iter()
            .map(|p| {
                let mesh = scene.nodes[p.node].mesh.map(|m| &scene.meshes[m]);
                mesh.is_some_and(|m| !m.positions.is_empty()) && asked.selects(&p.path)
            })
            .collect();
        let found = nodes::find(scene, &placed, &|path| asked.selects(path));
        let kept: Vec<bool> = selected.iter().zip(&found).map(|(s, f)| *s || *f).collect();
        let mut times = sample::frame_times(scene, &placed, &kept, &asked.frames)?;
        if asked.between.is_some() && asked.frames.fps.is_none() {
            times = add_between_frames(scene, times, there);
        }
        let mut placements = Vec::new();
        for (i, place) in placed.iter().enumerate().filter(|(i, _)| selected[*i]) {
            if let Some(mesh) = scene.nodes[place.node].mesh {
                placements.push(Placement {
                    placed: i,
                    mesh,
                    visible: FrameSet::new(times.len()),
                    tolerance: 0.0,
                    velocity_effect: VelocityEffect::default(),
                });
            }
        }
        let mut used = vec![false; scene.meshes.len()];
        placements.iter().for_each(|p| used[p.mesh] = true);
        let meshes = scene
            .meshes
            .par_iter()
            .zip(used)
            .map(|(mesh, used)| used.then(|| MeshFacts::new(mesh, &times)).transpose())
            .collect::<Result<Vec<_>, Error>>()?;
        let mut survey = Survey { scene, placed, times, placements, meshes, locators: Vec::new() };
        let sizes = survey.resolve(asked)?;
        Ok(MeshSurvey { survey, is_locator: found, sizes })
    }

    /// Visits all frames once for visibility, scales and coordinates. Returns the size of each placed mesh in
    /// the world, if it has one.
    fn resolve(&mut self, asked: &RequestedOptions) -> Result<Vec<Option<f64>>, Error> {
        let mut world = World::new(self.scene, &self.placed)?;
        let mut scale = vec![0.0f64; self.placements.len()];
        let mut reach = vec![0.0f64; self.placements.len()];
        // Corners in the world at the previous frame, and its time.
        let mut last: Vec<Option<([DVec3; 8], f64)>> = vec![None; self.placements.len()];
        let corners: Vec<Option<[DVec3; 8]>> =
            self.meshes.iter().map(|facts| facts.as_ref().map(MeshFacts::corners)).collect();
        for (frame, &time) in self.times.iter().enumerate() {
            world.evaluate(time)?;
            for (i, placement) in self.placements.iter_mut().enumerate() {
                if world.visible[placement.placed] {
                    placement.visible.set(frame);
                }
                let matrix = &world.matrix[placement.placed];
                if !matrix.is_finite() {
                    continue;
                }
                scale[i] = scale[i].max(largest_scale(matrix));
                let Some(corners) = &corners[placement.mesh] else {
                    continue;
                };
                let here = corners.map(|corner| matrix.transform_point3(corner));
                reach[i] = here.iter().fold(reach[i], |most, corner| most.max(corner.abs().max_element()));
                if world.visible[placement.placed] {
                    placement.velocity_effect.scale =
                        placement.velocity_effect.scale.max(largest_scale(matrix));
                }
                if let Some((there, before)) = last[i].replace((here, time)).filter(|last| last.1 < time) {
                    let ways = here.iter().zip(&there).map(|(here, there)| here.distance(*there));
                    let drift = ways.fold(0.0, f64::max) / (time - before);
                    placement.velocity_effect.drift = placement.velocity_effect.drift.max(drift);
                }
            }
        }
        let mut sizes = vec![None; self.placed.len()];
        for (i, placement) in self.placements.iter_mut().enumerate() {
            let Some(facts) = &self.meshes[placement.mesh] else {
                continue;
            };
            let diagonal = facts.largest_diagonal(&placement.visible);
            let size = diagonal * scale[i];
            sizes[placement.placed] = Some(size).filter(|size| *size > 0.0 && size.is_finite());
            let distance = match asked.tolerance(&self.placed[placement.placed].path) {
                Tolerance::Absolute(t) => t,
                Tolerance::Relative(part) => part * diagonal * scale[i],
            };
            // The precision of f32, slightly above the largest coordinate, so that the compiler's rounding of
            // it, through decoded transforms, does not fall into the next power of two.
            let object = facts.low().abs().max(facts.high().abs()).max_element();
            let largest = reach[i].max(f64::from(object)) * (1.0 + 1e-6);
            placement.tolerance = distance.max(4.0 * ulp(largest));
        }
        Ok(sizes)
    }

    /// Returns the path of a placement.
    pub fn path(&self, placement: usize) -> &str {
        &self.placed[self.placements[placement].placed].path
    }
}

impl MeshFacts {
    fn new(mesh: &Mesh, times: &[f64]) -> Result<MeshFacts, Error> {
        let mut facts = MeshFacts {
            low: [f32::INFINITY; 3],
            high: [f32::NEG_INFINITY; 3],
            diagonals: Vec::new(),
            weld: Vec::new(),
            constant: None,
        };
        let constant = mesh.positions.is_constant();
        let mut points = Vec::new();
        let mut count = None;
        for &time in &times[..if constant { 1 } else { times.len() }] {
            sample::positions_at(mesh, time, &mut points)?;
            let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
            for p in points.iter().filter(|p| is_usable(**p)) {
                for (k, &v) in p.iter().enumerate() {
                    (low[k], high[k]) = (low[k].min(v), high[k].max(v));
                }
            }
            let sides = [0, 1, 2].map(|k| (f64::from(high[k]) - f64::from(low[k])).max(0.0));
            facts.diagonals.push(DVec3::from_array(sides).length());
            for k in 0..3 {
                facts.low[k] = facts.low[k].min(low[k]);
                facts.high[k] = facts.high[k].max(high[k]);
            }
            match count {
                None => facts.weld = first_weld(&points),
                Some(n) if n == points.len() => refine_weld(&mut facts.weld, &points),
                Some(_) => facts.weld.clear(),
            }
            count = Some(points.len());
        }
        facts.constant = constant.then_some(points);
        Ok(facts)
    }

    /// Returns the largest diagonal of the box in any one of these frames; if there are none, in any frame.
    fn largest_diagonal(&self, visible: &FrameSet) -> f64 {
        let shown = |frame: usize| self.constant.is_some() || !visible.any() || visible.get(frame);
        let diagonals = self.diagonals.iter().enumerate().filter(|(frame, _)| shown(*frame));
        diagonals.map(|(_, diagonal)| *diagonal).fold(0.0, f64::max)
    }

    fn low(&self) -> glam::Vec3 {
        if self.low[0] <= self.high[0] { self.low.into() } else { glam::Vec3::ZERO }
    }

    fn high(&self) -> glam::Vec3 {
        if self.low[0] <= self.high[0] { self.high.into() } else { glam::Vec3::ZERO }
    }

    fn corners(&self) -> [DVec3; 8] {
        let sides = [self.low().as_dvec3(), self.high().as_dvec3()];
        std::array::from_fn(|i| DVec3::from_array([0, 1, 2].map(|k| sides[i >> k & 1][k])))
    }
}

/// Returns the source's frames, and those of the file that lie between two of them, within one range if there
/// are ranges.
fn add_between_frames(scene: &Scene, own: Vec<f64>, there: &[f64]) -> Vec<f64> {
    let ranges = sample::frame_ranges(&scene.ranges, &own);
    let starts: HashSet<usize> = ranges.iter().map(|(_, first, _)| *first).collect();
    let inside = |time: &&f64| {
        let after = own.partition_point(|t| t < time);
        let near = |i: usize| own.get(i).is_some_and(|t| (t - **time).abs() <= TIME_TOLERANCE);
        let ends = after == 0 || after == own.len() || starts.contains(&after);
        !ends && !near(after) && !near(after - 1)
    };
    let between: Vec<f64> = there.iter().filter(inside).copied().collect();
    let mut all = own;
    all.extend(between);
    all.sort_by(f64::total_cmp);
    all
}

/// Returns the bits of a point, −0 as 0; `None` if it is unusable.
fn point_bits(p: [f32; 3]) -> Option<[u32; 3]> {
    is_usable(p).then(|| p.map(|v| (v + 0.0).to_bits()))
}

fn first_weld(points: &[[f32; 3]]) -> Vec<(u32, u32)> {
    let mut first = HashMap::new();
    let mut weld = Vec::new();
    for (i, p) in points.iter().enumerate() {
        if let Some(bits) = point_bits(*p) {
            let earlier = *first.entry(bits).or_insert(i as u32);
            if earlier != i as u32 {
                weld.push((i as u32, earlier));
            }
        }
    }
    weld
}

/// Refines sets of welded points by one more frame: points that are still bit-equal stay together.
fn refine_weld(weld: &mut Vec<(u32, u32)>, points: &[[f32; 3]]) {
    let mut parted: HashMap<(u32, [u32; 3]), u32> = HashMap::new();
    weld.retain_mut(|(point, first)| {
        let Some(own) = point_bits(points[*point as usize]) else {
            return false;
        };
        if point_bits(points[*first as usize]) == Some(own) {
            return true;
        }
        let earlier = *parted.entry((*first, own)).or_insert(*point);
        *first = earlier;
        earlier != *point
    });
}

/// Multiplies a 3×4 matrix, given by rows, with a point.
pub(crate) fn transform_point(m: &[[f64; 4]; 3], p: DVec3) -> DVec3 {
    DVec3::from_array(m.map(|r| r[0] * p.x + r[1] * p.y + r[2] * p.z + r[3]))
}

/// If a matrix shrinks a normal below this fraction of the largest possible, it counts as flat: the rest is
/// magnified rounding.
const FLAT: f64 = 1e-6;

/// Turns a normal as a transform does, including mirrors: outside stays outside. `None` if the matrix is flat
/// in its direction.
pub(crate) fn turn_normal(matrix: &DMat4, n: DVec3) -> Option<DVec3> {
    let m = glam::DMat3::from_mat4(*matrix);
    let cofactor =
        glam::DMat3::from_cols(m.y_axis.cross(m.z_axis), m.z_axis.cross(m.x_axis), m.x_axis.cross(m.y_axis));
    let sign = if m.determinant() < 0.0 { -1.0 } else { 1.0 };
    let turned = cofactor * n * sign;
    let columns = [cofactor.x_axis, cofactor.y_axis, cofactor.z_axis];
    let most = columns.map(DVec3::length).into_iter().fold(0.0, f64::max);
    turned.try_normalize().filter(|_| turned.length() > FLAT * most)
}

/// A locator of the source.
pub(crate) struct Locator {
    /// Index among all placed objects.
    pub placed: usize,
    pub visible: FrameSet,
    /// Largest distance that was requested and that f32 can represent, in world units.
    pub tolerance: f64,
    /// Half an edge of its cube, in its own space.
    pub half_edge: f64,
    /// The largest distance between its transform and translation, rotation and scale in f32.
    pub trs_error: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_stay_welded_only_while_equal() {
        let p = |v: f32| [v, 0.0, 0.0];
        let mut weld = first_weld(&[p(1.0), p(1.0), p(0.0), p(-0.0), p(1.0), p(1.0), p(f32::NAN)]);
        assert_eq!(weld, [(1, 0), (3, 2), (4, 0), (5, 0)]);
        // 4 and 5 leave together, 3 leaves alone.
        refine_weld(&mut weld, &[p(2.0), p(2.0), p(0.0), p(1.0), p(3.0), p(3.0), p(0.0)]);
        assert_eq!(weld, [(1, 0), (5, 4)]);
    }

    #[test]
    fn mirrored_normals_stay_outside() {
        let mirror = DMat4::from_scale(DVec3::new(-2.0, 1.0, 1.0));
        assert_eq!(turn_normal(&mirror, DVec3::X), Some(DVec3::NEG_X));
        assert_eq!(turn_normal(&mirror, DVec3::Y), Some(DVec3::Y));
        assert_eq!(turn_normal(&DMat4::ZERO, DVec3::Y), None);
        // No normal of a flattened object lies in the plane.
        let flat = DMat4::from_scale(DVec3::new(1.0, 1.0, 0.0));
        assert_eq!(turn_normal(&flat, DVec3::new(1.0, 0.0, 1e-9)), None);
        assert_eq!(turn_normal(&flat, DVec3::Z), Some(DVec3::Z));
    }
}
