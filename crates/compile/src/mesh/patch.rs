//! A patch of a large mesh: a few connected regions of its surface, in all frames. Choices that hold for the
//! whole mesh are tried on it, at a fraction of the time.

use crate::Error;
use crate::mesh::layout::tangent_groups;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::{FixedLayout, Prepared, number_classes, welded_points};
use crate::mesh::source::PositionScan;
use meshreel_codec::topology::grid::{Grid, GridShape};
use meshreel_process::faces::Faces;
use std::collections::VecDeque;
use std::sync::Arc;

/// The number of regions, spread over the mesh; a grid has one.
const REGIONS: usize = 3;

/// Returns the plan of a patch of about `points` points; `None` for a mesh of fewer than twice as many, and
/// if vertices come with each frame.
pub fn patch(plan: &MeshPlan, points: usize) -> Result<Option<Arc<MeshPlan>>, Error> {
    let prepared = &plan.prepared;
    let Some(fixed) = &prepared.fixed else {
        return Ok(None);
    };
    let point = welded_points(fixed);
    let count = point.iter().max().map_or(0, |most| *most as usize + 1);
    if count < 2 * points || prepared.particles.is_some() {
        return Ok(None);
    }
    let chosen = match &fixed.grid {
        Some(grid) => rectangle(&grid.shape, points),
        None => regions(&fixed.indices, &point, count, points),
    };
    let layout = restricted(fixed, &point, &chosen);
    let scan = PositionScan {
        points: layout.vertex_point.len(),
        points_total: (layout.vertex_point.len() * plan.source.frames) as u64,
        fixed: true,
        extent: prepared.scan.extent,
        object_extent: prepared.scan.object_extent,
        diagonals: prepared.scan.diagonals.clone(),
        moving: prepared.scan.moving,
        seconds: prepared.scan.seconds,
        ..PositionScan::default()
    };
    let mut own = Prepared {
        scan,
        channels: prepared.channels.clone(),
        particles: None,
        fixed: None,
        materials: prepared.materials.clone(),
    };
    let mut layout = layout;
    tangent_groups(&plan.source, &own, &mut layout)?;
    own.fixed = Some(Arc::new(layout));
    Ok(Some(Arc::new(MeshPlan { prepared: Arc::new(own), ..plan.clone() })))
}

/// Returns, by vertex, `true` for those of a rectangle in the middle of a grid.
fn rectangle(shape: &GridShape, points: usize) -> Vec<bool> {
    let part = (points as f64 / (f64::from(shape.width) * f64::from(shape.height))).sqrt();
    let middle = |size: u32| {
        let kept = ((f64::from(size) * part).ceil() as u32).clamp(2.min(size), size);
        (size - kept) / 2..(size - kept) / 2 + kept
    };
    let (columns, rows) = (middle(shape.width), middle(shape.height));
    let inside = |[i, j]: &[u32; 2]| columns.contains(i) && rows.contains(j);
    shape.columns_and_rows().iter().map(inside).collect()
}

/// Returns, by point, `true` for those of some regions that grow over triangles.
fn regions(indices: &[u32], point: &[u32], count: usize, wanted: usize) -> Vec<bool> {
    let (triangles, _) = indices.as_chunks::<3>();
    // By point, the start of its triangles in the list; the end of the last.
    let mut starts = vec![0usize; count + 1];
    indices.iter().for_each(|&v| starts[point[v as usize] as usize + 1] += 1);
    (0..count).for_each(|p| starts[p + 1] += starts[p]);
    let (mut next, mut around) = (starts.clone(), vec![0u32; indices.len()]);
    for (corner, &v) in indices.iter().enumerate() {
        let slot = &mut next[point[v as usize] as usize];
        around[*slot] = corner as u32 / 3;
        *slot += 1;
    }
    let (mut chosen, mut seen) = (vec![false; count], vec![false; triangles.len()]);
    let mut total = 0;
    for region in 0..REGIONS {
        let end = (region + 1) * wanted / REGIONS;
        let first = (2 * region + 1) * triangles.len() / (2 * REGIONS);
        // Where a part of the surface is used up, the next triangle begins another.
        for seed in (first..triangles.len()).chain(0..first) {
            let mut queue = VecDeque::from([seed as u32]);
            while let Some(triangle) = queue.pop_front().filter(|_| total < end) {
                if std::mem::replace(&mut seen[triangle as usize], true) {
                    continue;
                }
                for v in triangles[triangle as usize] {
                    let p = point[v as usize] as usize;
                    if !std::mem::replace(&mut chosen[p], true) {
                        total += 1;
                        queue.extend(&around[starts[p]..starts[p + 1]]);
                    }
                }
            }
            if total >= end {
                break;
            }
        }
    }
    chosen
}

/// Returns the layout of the triangles whose points are all chosen. Corners, faces and points keep the
/// numbers of the source.
fn restricted(fixed: &FixedLayout, point: &[u32], chosen: &[bool]) -> FixedLayout {
    let (triangles, _) = fixed.indices.as_chunks::<3>();
    let inside = |t: &&[u32; 3]| t.iter().all(|&v| chosen[point[v as usize] as usize]);
    let kept = || triangles.iter().enumerate().filter(|(_, t)| inside(t));
    let mut number = vec![u32::MAX; point.len()];
    kept().flat_map(|(_, t)| t).for_each(|&v| number[v as usize] = 0);
    // In the order of rows, as grids are found.
    let mut vertices: Vec<u32> = (0..point.len() as u32).filter(|&v| number[v as usize] == 0).collect();
    if let Some(grid) = &fixed.grid {
        let place = grid.shape.columns_and_rows();
        vertices.sort_by_key(|&v| (place[v as usize][1], place[v as usize][0]));
    }
    (0..).zip(&vertices).for_each(|(new, &v)| number[v as usize] = new);
    let mut indices: Vec<[u32; 3]> = kept().map(|(_, t)| t.map(|v| number[v as usize])).collect();
    let mut triangle_face: Vec<u32> = kept().map(|(t, _)| fixed.triangle_face[t]).collect();
    let grid = fixed.grid.as_ref().and_then(|_| Grid::find(&indices, vertices.len()));
    if let Some(grid) = &grid {
        vertices = grid.vertices.iter().map(|&v| vertices[v as usize]).collect();
        triangle_face = grid.triangles.iter().map(|&t| triangle_face[t as usize]).collect();
        indices = grid.indices().as_chunks().0.to_vec();
    }
    let of = |list: &[u32]| -> Vec<u32> { vertices.iter().map(|&v| list[v as usize]).collect() };
    let vertex_point = of(&fixed.vertex_point);
    let mut in_patch = vec![false; fixed.first_points.len()];
    vertex_point.iter().for_each(|&p| in_patch[p as usize] = true);
    // Those around a point determine its normal.
    let near = |range: std::ops::Range<usize>| {
        fixed.faces.corner_point[range].iter().any(|&p| in_patch.get(p as usize) == Some(&true))
    };
    let list = fixed.faces.list.iter().filter(|face| near(face.range())).cloned().collect();
    FixedLayout {
        faces: Faces { list, ..fixed.faces.clone() },
        face_count: fixed.face_count,
        groups: fixed.groups.clone(),
        vertex_corner: of(&fixed.vertex_corner),
        vertex_face: of(&fixed.vertex_face),
        vertex_sign: vertices.iter().map(|&v| fixed.vertex_sign[v as usize]).collect(),
        weld: fixed.weld.as_ref().map(|_| first_of_class(&of(point))),
        ranges: vec![(0, 3 * indices.len() as u32)],
        indices: indices.into_flattened(),
        first_points: fixed.first_points.clone(),
        vertex_point,
        grid,
        triangle_face,
        ..FixedLayout::default()
    }
}

/// Returns, by vertex, the first vertex of its class.
fn first_of_class(class: &[u32]) -> Vec<u32> {
    let (class, count) = number_classes(class.iter().copied());
    let mut first = vec![u32::MAX; count];
    for (v, &class) in (0..).zip(&class) {
        let slot = &mut first[class as usize];
        *slot = v.min(*slot);
    }
    class.iter().map(|&class| first[class as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid of quads as triangles, row by row.
    fn sheet(width: u32, height: u32) -> Vec<[u32; 3]> {
        let cell = |i: u32, j: u32| {
            let a = j * width + i;
            [[a, a + 1, a + width + 1], [a, a + width + 1, a + width]]
        };
        (0..height - 1).flat_map(|j| (0..width - 1).flat_map(move |i| cell(i, j))).collect()
    }

    fn layout(triangles: &[[u32; 3]], vertices: usize) -> FixedLayout {
        FixedLayout {
            indices: triangles.as_flattened().to_vec(),
            vertex_point: (0..vertices as u32).collect(),
            vertex_corner: vec![0; vertices],
            vertex_face: vec![0; vertices],
            vertex_sign: vec![1.0; vertices],
            triangle_face: (0..triangles.len() as u32).collect(),
            first_points: vec![[0.0; 3]; vertices],
            ..FixedLayout::default()
        }
    }

    #[test]
    fn regions_are_connected_and_of_the_wanted_size() {
        let triangles = sheet(60, 60);
        let fixed = layout(&triangles, 3600);
        let point: Vec<u32> = (0..3600).collect();
        let chosen = regions(&fixed.indices, &point, 3600, 600);
        let count = chosen.iter().filter(|chosen| **chosen).count();
        assert!((600..640).contains(&count), "{count}");
        let patch = restricted(&fixed, &point, &chosen);
        // Nearly all triangles of a compact region are inside.
        assert!(patch.indices.len() / 3 > 900 && patch.vertex_point.len() > 550);
        for (t, face) in patch.indices.as_chunks::<3>().0.iter().zip(&patch.triangle_face) {
            assert_eq!(t.map(|v| patch.vertex_point[v as usize]), triangles[*face as usize]);
        }
    }

    #[test]
    fn scattered_triangles_are_enough() {
        let triangles: Vec<[u32; 3]> = (0..500).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect();
        let fixed = layout(&triangles, 1500);
        let point: Vec<u32> = (0..1500).collect();
        let chosen = regions(&fixed.indices, &point, 1500, 300);
        assert_eq!(chosen.iter().filter(|chosen| **chosen).count(), 300);
    }

    #[test]
    fn a_patch_of_a_grid_is_a_grid() {
        let triangles = sheet(80, 40);
        let grid = Grid::find(&triangles, 3200).unwrap();
        let fixed = FixedLayout {
            grid: Some(grid.clone()),
            vertex_point: grid.vertices.clone(),
            ..layout(grid.indices().as_chunks().0, 3200)
        };
        let chosen = rectangle(&grid.shape, 800);
        let point: Vec<u32> = (0..3200).collect();
        let patch = restricted(&fixed, &point, &chosen);
        let shape = patch.grid.unwrap().shape;
        assert_eq!((shape.width, shape.height), (40, 20));
        assert_eq!(patch.vertex_point.len(), 800);
        // The same points stand side by side.
        for &[a, b, c] in patch.indices.as_chunks::<3>().0 {
            let place = [a, b, c].map(|v| patch.vertex_point[v as usize]).map(|p| [p % 80, p / 80]);
            for axis in 0..2 {
                let side = place.map(|p| p[axis]);
                assert!(side.iter().max().unwrap() - side.iter().min().unwrap() <= 1);
            }
        }
    }
}
