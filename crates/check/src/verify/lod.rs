//! Checks LOD levels: their triangles are those of their mesh's vertices, fewer from level to level, and
//! within the distance from the mesh that the file claims.

use crate::verify::report::{Failures, LodReport};
use crate::verify::surface::FaceTree;
use glam::DVec3;
use meshreel::raw::record::Method;
use meshreel::view::LodTriangles;
use meshreel::{FrameDecoder, Reel};
use meshreel_extract::convert;
use meshreel_extract::convert::error;
use meshreel_scene::Error;

/// The number of frames in which distances are measured, and the largest number of vertices measured per
/// mesh.
const MEASURED_FRAMES: usize = 6;
const MAX_MEASURED_VERTICES: usize = 20_000;

/// Checks the LOD levels of all meshes; returns a report of each level, by mesh of the file. `asked`: the
/// allowed number of levels.
pub(crate) fn check(
    reel: &Reel,
    asked: usize,
    failures: &mut Failures,
) -> Result<Vec<Vec<LodReport>>, Error> {
    let meshes = &reel.description().meshes;
    let mut out = vec![Vec::new(); meshes.len()];
    let mut all: Vec<Vec<LodTriangles>> = Vec::new();
    for (m, record) in meshes.iter().enumerate() {
        let mut levels = Vec::new();
        for level in 1..reel.lod_count(m).map_err(error)? {
            levels.extend(reel.lod(m, level).map_err(error)?);
        }
        if levels.len() > asked {
            failures.add(&record.path, None, || {
                format!("{} levels of detail, {asked} were asked for", levels.len())
            });
        }
        let mut before = record.indices as usize;
        for (l, level) in (1..).zip(&levels) {
            let wrong = structural_fault(level, before, record.vertices);
            if let Some(what) = wrong {
                failures.add(&record.path, None, || format!("level of detail {l}: {what}"));
            }
            before = level.indices.len();
            out[m].push(LodReport {
                triangles: level.indices.len() / 3,
                error: f64::from(level.error),
                max_error: 0.0,
            });
        }
        all.push(levels);
    }
    if all.iter().all(Vec::is_empty) || !failures.list.is_empty() {
        return Ok(out);
    }
    let mut decoder = FrameDecoder::new(reel).map_err(error)?;
    let frames = reel.frame_count();
    let step = frames.div_ceil(MEASURED_FRAMES).max(1);
    for frame in (0..frames).step_by(step).chain(frames.checked_sub(1)) {
        decoder.decode(frame).map_err(error)?;
        for (m, levels) in all.iter().enumerate() {
            if levels.is_empty() || meshes[m].method == Method::Fluid {
                continue;
            }
            // Hidden frames are not measured.
            let nodes = reel.description().nodes.iter().enumerate();
            let mut shown = nodes.filter(|(_, node)| node.mesh == Some(m as u32));
            if !shown.any(|(n, _)| decoder.visible(n)) {
                continue;
            }
            let view = decoder.mesh(m);
            let mut floats = vec![0.0; 3 * view.vertex_count()];
            view.positions_into(&mut floats).map_err(error)?;
            let (at, _) = floats.as_chunks::<3>();
            for (l, level) in levels.iter().enumerate() {
                let (most, vertex) = farthest(view.indices(), level, at);
                let report = &mut out[m][l];
                report.max_error = report.max_error.max(most);
                // The distance is computed in f64 from f32 positions.
                if most > report.error * (1.0 + 1e-6) {
                    failures.add(&meshes[m].path, Some(frame), || {
                        format!(
                            "level of detail {}: vertex {vertex} is more than {:e} away",
                            l + 1,
                            level.error
                        )
                    });
                }
            }
        }
    }
    Ok(out)
}

/// Returns what is wrong with the triangles of an LOD level. `before`: the number of indices of the next
/// finer level; `vertices`: the number of vertices of the mesh.
fn structural_fault(level: &LodTriangles, before: usize, vertices: u32) -> Option<&'static str> {
    let (triangles, rest) = level.indices.as_chunks::<3>();
    let sums: u64 = level.materials.iter().map(|r| u64::from(r.count)).sum();
    if !rest.is_empty() || level.indices.len() >= before {
        return Some("not fewer triangles than before");
    }
    if level.indices.iter().any(|&v| v >= vertices) {
        return Some("a vertex that is not there");
    }
    if triangles.iter().any(|[a, b, c]| a == b || b == c || c == a) {
        return Some("a triangle with two equal corners");
    }
    if sums != level.indices.len() as u64 && !level.materials.is_empty() {
        return Some("its materials do not have its triangles");
    }
    (level.becomes.len() != vertices as usize).then_some("not all vertices have become some")
}

/// Returns the vertex farthest from a level, and its distance, capped at 1.01 times the level's error.
fn farthest(indices: &[u32], level: &LodTriangles, at: &[[f32; 3]]) -> (f64, u32) {
    let reach = f64::from(level.error) * 1.01;
    let points: Vec<DVec3> = (at.iter()).map(|p| convert::vector(*p)).collect();
    let triangles = level.indices.len() / 3;
    let faces = FaceTree::new(&points, level.indices.clone(), std::iter::repeat_n(3, triangles));
    let mut used: Vec<u32> = indices.to_vec();
    used.sort_unstable();
    used.dedup();
    let step = used.len().div_ceil(MAX_MEASURED_VERTICES).max(1);
    let mut most = (0.0, 0);
    for &v in used.iter().step_by(step) {
        let own = points[v as usize];
        let became = points[level.becomes[v as usize] as usize];
        let distance = faces.within(own, own.distance(became).min(reach));
        if distance > most.0 {
            most = (distance, v);
        }
    }
    most
}
