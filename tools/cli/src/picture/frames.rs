//! Frames to draw: of a scene at a time, and of an open `.reel` with the error of every vertex.

use super::render::Surface;
use super::sheet;
use crate::output::Failure;
use glam::DVec3;
use meshreel::{FrameDecoder, Reel, SourceMap};
use meshreel_scene::sample::{Faces, World, faces_at, positions_at};
use meshreel_scene::{PlacedObject, Scene};
use std::collections::HashMap;

/// A mesh of the source at a time, in world space.
pub struct SourceMesh {
    /// Path in the expanded tree.
    pub path: String,
    /// All points, and the faces as fans.
    pub surface: Surface,
}

/// Returns all visible meshes of a scene at `time`.
pub fn source_meshes(
    scene: &Scene,
    placed: &[PlacedObject],
    world: &mut World,
    time: f64,
) -> Result<Vec<SourceMesh>, Failure> {
    world.evaluate(time)?;
    let (mut positions, mut faces) = (Vec::new(), Faces::default());
    let mut out = Vec::new();
    for (i, place) in placed.iter().enumerate() {
        let Some(mesh) = scene.nodes[place.node].mesh.filter(|_| world.visible[i]) else {
            continue;
        };
        let mesh = &scene.meshes[mesh];
        positions_at(mesh, time, &mut positions)?;
        faces_at(mesh, time, &mut faces)?;
        let matrix = world.matrix[i];
        out.push(SourceMesh {
            path: place.path.clone(),
            surface: Surface {
                positions: positions
                    .iter()
                    .map(|&[x, y, z]| matrix.transform_point3(DVec3::new(x.into(), y.into(), z.into())))
                    .collect(),
                triangles: fans(&faces, positions.len()),
                colours: vec![sheet::clay()],
            },
        });
    }
    Ok(out)
}

/// Returns every face as a fan, which is good enough for a small picture. Corners without a point are left
/// out.
fn fans(faces: &Faces, points: usize) -> Vec<[u32; 3]> {
    let mut triangles = Vec::new();
    let mut rest = &faces.indices[..];
    for &count in &faces.counts {
        let Some((corners, after)) = rest.split_at_checked(count.max(0) as usize) else {
            break;
        };
        rest = after;
        let corner = |k: usize| u32::try_from(corners[k]).ok().filter(|&p| (p as usize) < points);
        for k in 2..corners.len() {
            if let (Some(a), Some(b), Some(c)) = (corner(0), corner(k - 1), corner(k)) {
                triangles.push([a, b, c]);
            }
        }
    }
    triangles
}

/// A decoder and the source maps of its vertices.
pub struct MappedDecoder {
    decoder: FrameDecoder,
    maps: Vec<Option<SourceMap>>,
}

/// A decoded frame.
pub struct DecodedFrame {
    /// All visible surfaces.
    pub surfaces: Vec<Surface>,
    /// Per surface and vertex: distance to the source as a fraction of the tolerance.
    pub errors: Vec<Vec<f32>>,
    /// The largest of all errors.
    pub worst: f32,
}

impl MappedDecoder {
    /// Reads the static data and the source maps.
    pub fn new(reel: &Reel) -> Result<MappedDecoder, Failure> {
        let maps = (0..reel.description().meshes.len())
            .map(|mesh| reel.source_map(mesh))
            .collect::<Result<_, _>>()?;
        Ok(MappedDecoder { decoder: FrameDecoder::new(reel)?, maps })
    }

    /// Decodes `frame` and measures it against the source at its time.
    pub fn frame(&mut self, frame: usize, source: &[SourceMesh]) -> Result<DecodedFrame, Failure> {
        self.decoder.decode(frame)?;
        let by_path: HashMap<&str, &SourceMesh> =
            source.iter().map(|mesh| (mesh.path.as_str(), mesh)).collect();
        let mut out = DecodedFrame { surfaces: Vec::new(), errors: Vec::new(), worst: 0.0 };
        let reel = self.decoder.reel().clone();
        let mut positions = Vec::new();
        for (node, record) in reel.description().nodes.iter().enumerate() {
            let Some(mesh) = record.mesh.filter(|_| self.decoder.visible(node)) else {
                continue;
            };
            let view = self.decoder.mesh(mesh as usize);
            positions.resize(3 * view.vertex_count(), 0.0f32);
            view.positions_into(&mut positions)?;
            let matrix = self.decoder.world(node);
            let world: Vec<DVec3> = positions.chunks_exact(3).map(|p| transform_point(&matrix, p)).collect();
            let errors = match by_path.get(record.path.as_str()) {
                Some(source) => {
                    let points = &source.surface.positions;
                    let map = self.maps.get(mesh as usize).and_then(Option::as_ref);
                    distances(&world, points, map, record.tolerance)
                }
                None => {
                    let all: Vec<DVec3> =
                        source.iter().flat_map(|mesh| &mesh.surface.positions).copied().collect();
                    distances(&world, &all, None, record.tolerance)
                }
            };
            out.worst = errors.iter().copied().fold(out.worst, f32::max);
            out.errors.push(errors);
            out.surfaces.push(Surface {
                triangles: view.indices().as_chunks().0.to_vec(),
                positions: world,
                colours: vec![sheet::clay()],
            });
        }
        Ok(out)
    }
}

pub fn transform_point(matrix: &[[f64; 4]; 3], point: &[f32]) -> DVec3 {
    let row = |row: &[f64; 4]| {
        row[0] * f64::from(point[0]) + row[1] * f64::from(point[1]) + row[2] * f64::from(point[2]) + row[3]
    };
    DVec3::new(row(&matrix[0]), row(&matrix[1]), row(&matrix[2]))
}

/// Returns the distance of each vertex to its source point, or the nearest one without a map, in tolerances.
fn distances(world: &[DVec3], points: &[DVec3], map: Option<&SourceMap>, tolerance: f64) -> Vec<f32> {
    let fraction = |distance: f64| match tolerance > 0.0 {
        true => (distance / tolerance) as f32,
        false if distance == 0.0 => 0.0,
        false => f32::INFINITY,
    };
    match map {
        Some(map) if map.points as usize == points.len() => world
            .iter()
            .zip(&map.vertex_point)
            .map(|(vertex, &point)| {
                let point = points.get(point as usize).copied();
                fraction(point.map_or(f64::INFINITY, |point| point.distance(*vertex)))
            })
            .collect(),
        _ => {
            let nearest = PointGrid::new(points, 2.0 * tolerance);
            world.iter().map(|vertex| fraction(nearest.distance(*vertex))).collect()
        }
    }
}

/// Points sorted into the cells of a grid; finds those nearer than a cell's size.
struct PointGrid<'a> {
    points: &'a [DVec3],
    cell: f64,
    cells: HashMap<[i64; 3], Vec<u32>>,
}

impl PointGrid<'_> {
    fn new(points: &[DVec3], cell: f64) -> PointGrid<'_> {
        let mut nearest = PointGrid {
            points,
            cell: if cell > 0.0 { cell } else { 1e-9 },
            cells: HashMap::with_capacity(points.len()),
        };
        for (i, point) in points.iter().enumerate() {
            let key = nearest.key(*point);
            nearest.cells.entry(key).or_default().push(i as u32);
        }
        nearest
    }

    fn key(&self, point: DVec3) -> [i64; 3] {
        (point / self.cell).floor().to_array().map(|v| v as i64)
    }

    /// Returns the distance to the nearest point; infinite if it is more than a cell.
    fn distance(&self, from: DVec3) -> f64 {
        let centre = self.key(from);
        let mut best = f64::INFINITY;
        for step in 0..27i64 {
            let around = [step % 3 - 1, step / 3 % 3 - 1, step / 9 - 1];
            let key = std::array::from_fn(|i| centre[i].saturating_add(around[i]));
            for &point in self.cells.get(&key).into_iter().flatten() {
                best = best.min(self.points[point as usize].distance(from));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faces_become_fans_and_bad_corners_are_left_out() {
        let faces =
            Faces { counts: vec![4, 2, 3, -1, 3, 9], indices: vec![0, 1, 2, 3, 0, 1, 0, 1, 9, 1, 2, 3, 0] };
        assert_eq!(fans(&faces, 4), [[0, 1, 2], [0, 2, 3], [1, 2, 3]]);
    }

    #[test]
    fn the_nearest_of_many() {
        let points: Vec<DVec3> = (0..100).map(|i| DVec3::splat(f64::from(i))).collect();
        let nearest = PointGrid::new(&points, 0.5);
        assert!((nearest.distance(DVec3::splat(41.1)) - 0.1 * 3f64.sqrt()).abs() < 1e-9);
        assert_eq!(nearest.distance(DVec3::splat(500.0)), f64::INFINITY);
    }
}
