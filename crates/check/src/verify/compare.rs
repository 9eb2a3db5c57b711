//! Compares normals, uvs and colours of a mesh in one frame, however vertices and corners were matched.

use crate::verify::attribute::{self, SampledAttribute, velocities};
use crate::verify::channels::{Normals, normal_limit};
use crate::verify::meshes::{DecodedMesh, SourceMesh, vector};
use crate::verify::particles::stored_velocity;
use crate::verify::plan::{Findings, MeshPair, Worker, fail};
use crate::verify::polygons::{NO_INDEX, Polygons};
use crate::verify::report::{Stats, beyond, larger};
use crate::verify::survey::turn_normal;
use glam::{DMat4, DVec3};
use meshreel::raw::record::Semantic;
use meshreel_extract::convert;
use meshreel_extract::convert::error;
use meshreel_scene::{Attribute, Error, sample};
use std::cell::Cell;

/// A mesh of the source and a mesh of the file in one frame, whose attributes are compared.
pub(crate) struct AttributeComparison<'b> {
    pub worker: &'b Worker<'b>,
    pub mesh_pair: &'b MeshPair,
    pub frame: usize,
    pub source: &'b SourceMesh<'b>,
    pub decoded: &'b DecodedMesh<'b>,
    pub polygons: &'b Polygons,
    /// Smoothing group of each corner, and their number, if normals are computed.
    pub groups: &'b (Vec<u32>, usize),
    /// Smoothing groups by the first frame of a run, which may define creases as well.
    pub lead_groups: Option<&'b (Vec<u32>, usize)>,
}

/// Visits pairs of vertex and corner and returns the largest difference and its vertex.
pub(crate) type PairVisitor<'m> =
    dyn FnMut(CornerSelection, f64, &dyn Fn(u32, u32) -> Option<f64>) -> Option<(f64, u32)> + 'm;

/// The corners that a vertex is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CornerSelection {
    All,
    /// One of each smoothing group, since the others have the same value.
    OnePerGroup,
}

/// Returns the square of the tangent of half the angle between `a` and the unit vector `b`. It grows with the
/// angle, and takes a fraction of the time of an arc tangent.
fn half_tangent_squared(a: DVec3, b: DVec3) -> f64 {
    let length = a.length();
    let along = length + a.dot(b);
    match length == 0.0 {
        true => 0.0,
        // Opposite, within rounding.
        false if along <= 1e-9 * length => f64::INFINITY,
        false => a.cross(b).length_squared() / along.powi(2),
    }
}

/// Returns the angle, in degrees, for a result of [`half_tangent_squared`].
fn angle_of(half_tangent_squared: f64) -> f64 {
    2.0 * half_tangent_squared.sqrt().atan().to_degrees()
}

/// The largest difference of a channel.
struct LargestDifference<'a> {
    /// The difference and its vertex; `None` if nothing was compared.
    worst: Option<(f64, u32)>,
    limit: f64,
    /// Name of the channel, for messages.
    what: &'a str,
    /// Unit of difference and limit, for messages.
    unit: &'a str,
}

impl AttributeComparison<'_> {
    /// Compares all channels that can have changed. `find` visits the pairs.
    pub fn compare(
        &self,
        visible: &[usize],
        found: &mut Findings,
        find: &mut PairVisitor<'_>,
    ) -> Result<(), Error> {
        let channels = &self.mesh_pair.channels;
        if let Some(normals) = channels.normals
            && self.is_due(self.normals_change(normals))
        {
            let limit = normal_limit(self.worker.plan.asked);
            let worst = self.normals(normals, visible[0], limit, find)?;
            let largest = LargestDifference { worst, limit, what: "normal", unit: "°" };
            self.record_difference(visible, found, largest, |s| &mut s.normal);
        }
        let vertices = self.decoded.view.vertex_count();
        for set in &channels.uvs {
            if self.is_due(set.changes) {
                let mut values = vec![0.0; 2 * vertices];
                self.decoded.view.uvs_into(set.file_set, &mut values).map_err(error)?;
                let right = self.sample(&self.source.mesh.uvs[set.source_set])?;
                let distance = |d: [f64; 2]| (d[0] * d[0] + d[1] * d[1]).sqrt();
                let worst = self.values(&right, &values, set.tolerance, find, distance);
                let largest = LargestDifference { worst, limit: set.tolerance, what: "uv", unit: "" };
                self.record_difference(visible, found, largest, |s| &mut s.uv);
            }
        }
        for set in &channels.colours {
            if self.is_due(set.changes) {
                let mut values = vec![0.0; 4 * vertices];
                self.decoded.view.colours_into(set.file_set, &mut values).map_err(error)?;
                let right = self.sample(&self.source.mesh.colours[set.source_set])?;
                let distance = |d: [f64; 4]| d.into_iter().fold(0.0, |m: f64, x| m.max(x.abs()));
                let worst = self.values(&right, &values, set.tolerance, find, distance);
                let largest = LargestDifference { worst, limit: set.tolerance, what: "colour", unit: "" };
                self.record_difference(visible, found, largest, |s| &mut s.colour);
            }
        }
        if let (Some(limit), Some(velocities)) = (channels.velocities, velocities(self.source.mesh)) {
            let mut values = vec![0.0; 3 * vertices];
            self.decoded.view.velocities_into(&mut values).map_err(error)?;
            let right = self.sample(&velocities)?;
            let placed = match self.mesh_pair.baked {
                true => Some(self.worker.world_change(visible[0], self.frame)?),
                false => None,
            };
            let worst = find(CornerSelection::All, limit, &|vertex, corner| {
                let (face, point) = self.face_and_point(corner);
                let own = right.value(corner, face, point)?;
                let right = stored_velocity(own, *self.source.points.get(point as usize)?, placed)?;
                let got = vector(&values, vertex as usize);
                Some((got - DVec3::from_array(right)).length())
            });
            self.record_difference(
                visible,
                found,
                LargestDifference { worst, limit, what: "velocity", unit: "" },
                |s| &mut s.velocity,
            );
        }
        Ok(())
    }

    /// `true` if a channel is compared in this frame: one that never changes is compared once. Without a
    /// source map, nearest points are searched anew in each frame, so nothing is skipped.
    fn is_due(&self, changes: bool) -> bool {
        changes || self.mesh_pair.exact.is_none() || self.mesh_pair.shown.first() == Some(&self.frame)
    }

    fn normals_change(&self, normals: Normals) -> bool {
        let mesh = self.source.mesh;
        let source = match (normals, &mesh.normals) {
            (Normals::Source, Some(own)) => !attribute::is_constant(own),
            _ => !mesh.positions.is_constant(),
        };
        let stream = self
            .decoded
            .view
            .record()
            .streams
            .iter()
            .any(|s| s.animated && matches!(s.semantic, Semantic::Normal | Semantic::QTangent));
        source || stream || self.mesh_pair.baked
    }

    fn sample<const N: usize>(&self, attribute: &Attribute<[f32; N]>) -> Result<SampledAttribute<N>, Error>
    where
        [f32; N]: sample::Lerp,
    {
        SampledAttribute::read(attribute, self.source.mesh, self.source.time)
    }

    fn values<const N: usize>(
        &self,
        right: &SampledAttribute<N>,
        values: &[f32],
        limit: f64,
        find: &mut PairVisitor<'_>,
        measure: impl Fn([f64; N]) -> f64,
    ) -> Option<(f64, u32)>
    where
        [f32; N]: sample::Lerp,
    {
        find(CornerSelection::All, limit, &|vertex, corner| {
            let (face, point) = self.face_and_point(corner);
            let right = right.value(corner, face, point)?;
            Some(measure(std::array::from_fn(|k| {
                f64::from(values[N * vertex as usize + k]) - f64::from(right[k])
            })))
        })
    }

    fn normals(
        &self,
        normals: Normals,
        placement: usize,
        limit: f64,
        find: &mut PairVisitor<'_>,
    ) -> Result<Option<(f64, u32)>, Error> {
        let mut values = vec![0.0; 3 * self.decoded.view.vertex_count()];
        self.decoded.view.normals_into(&mut values).map_err(error)?;
        let plan = self.worker.plan;
        let matrix: Option<DMat4> =
            self.mesh_pair.baked.then(|| self.worker.world.matrix[plan.survey.placements[placement].placed]);
        if matrix.is_some_and(|m| !m.is_finite()) {
            return Ok(None);
        }
        // A singular matrix collapses the normal.
        let turned = |n: DVec3| match &matrix {
            None => Some(n),
            Some(m) => turn_normal(m, n),
        };
        let difference = |vertex: u32, right: DVec3| {
            let right = turned(right)?;
            Some(half_tangent_squared(vector(&values, vertex as usize), right))
        };
        let limit = (limit.min(180.0).to_radians() / 2.0).tan().powi(2);
        let found = match (normals, &self.source.mesh.normals) {
            (Normals::Source, Some(attribute)) => {
                let right = self.sample(attribute)?;
                // Corners of a vertex usually have one normal.
                let last = Cell::new((NO_INDEX, [0.0; 3], None));
                find(CornerSelection::All, limit, &|vertex, corner| {
                    let (face, point) = self.face_and_point(corner);
                    let n = right.value(corner, face, point)?;
                    let (known, normal, found) = last.get();
                    if (known, normal) == (vertex, n) {
                        return found;
                    }
                    let found = difference(vertex, convert::vector(n).try_normalize()?);
                    last.set((vertex, n, found));
                    found
                })
            }
            _ => {
                let made = |(groups, count): &(Vec<u32>, usize)| {
                    self.polygons.normals(&self.source.points, groups, *count)
                };
                let computed = made(self.groups);
                let by_lead = self.lead_groups.map(made);
                find(CornerSelection::OnePerGroup, limit, &|vertex, corner| {
                    let of = |(groups, _): &(Vec<u32>, usize), all: &[Option<DVec3>]| {
                        let group = groups[corner as usize];
                        difference(vertex, (*all.get(group as usize)?)?)
                    };
                    let own = of(self.groups, &computed)?;
                    match (self.lead_groups, &by_lead) {
                        (Some(groups), Some(all)) => Some(own.min(of(groups, all)?)),
                        _ => Some(own),
                    }
                })
            }
        };
        Ok(found.map(|(measure, vertex)| (angle_of(measure), vertex)))
    }

    /// Returns the face and the point of a corner.
    fn face_and_point(&self, corner: u32) -> (u32, u32) {
        let get = |list: &[u32]| list.get(corner as usize).copied().unwrap_or(NO_INDEX);
        (get(&self.polygons.face), get(&self.polygons.point))
    }

    /// Adds the largest difference of a channel to the statistics of all visible placements, and a failure if
    /// it exceeds the limit.
    fn record_difference(
        &self,
        visible: &[usize],
        found: &mut Findings,
        largest: LargestDifference<'_>,
        slot: impl Fn(&mut Stats) -> &mut Option<f64>,
    ) {
        let LargestDifference { worst: Some((worst, vertex)), limit, what, unit } = largest else { return };
        for &p in visible {
            let slot = slot(&mut found.stats[p]);
            *slot = larger(*slot, Some(worst));
            if beyond(worst, limit) {
                let what =
                    format!("{what} of vertex {vertex} is {worst}{unit} off, {limit}{unit} is allowed");
                fail(self.worker.plan, found, p, self.frame, what);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_come_back_from_their_half_tangents() {
        let at = |degrees: f64| {
            let (sine, cosine) = degrees.to_radians().sin_cos();
            angle_of(half_tangent_squared(DVec3::new(cosine, sine, 0.0) * 3.0, DVec3::X))
        };
        for degrees in [0.0, 1e-3, 1.0, 90.0, 179.0] {
            assert!((at(degrees) - degrees).abs() < 1e-9, "{degrees}");
        }
        let diagonal = DVec3::splat(1.0).normalize();
        for opposite in [-DVec3::X, -diagonal, diagonal * -0.1] {
            assert_eq!(angle_of(half_tangent_squared(opposite, opposite.normalize() * -1.0)), 180.0);
        }
    }
}
