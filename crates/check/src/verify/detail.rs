//! Levels of detail: that they are triangles of their mesh, fewer from level to level, and as near to it as they say.

use crate::scene::frames::error;
use crate::verify::report::{Failures, LevelReport};
use meshreel::record::Method;
use meshreel::{FrameDecoder, LodTriangles, Reel};
use meshreel_scene::Error;
use std::collections::HashMap;

/// Frames in which distances are measured, and vertices of a mesh, at most.
const FRAMES: usize = 6;
const VERTICES: usize = 20_000;

/// Checks the levels of all meshes; by mesh of the file what was found. `asked`: how many there may be.
pub(crate) fn check(
    reel: &Reel,
    asked: usize,
    failures: &mut Failures,
) -> Result<Vec<Vec<LevelReport>>, Error> {
    let meshes = &reel.description().meshes;
    let mut out = vec![Vec::new(); meshes.len()];
    let mut all: Vec<Vec<LodTriangles>> = Vec::new();
    for (m, record) in meshes.iter().enumerate() {
        let mut levels = Vec::new();
        for level in 1..reel.lods(m).map_err(error)? {
            levels.extend(reel.lod(m, level).map_err(error)?);
        }
        if levels.len() > asked {
            failures.add(&record.path, None, || {
                format!("{} levels of detail, {asked} were asked for", levels.len())
            });
        }
        let mut before = record.indices as usize;
        for (l, level) in (1..).zip(&levels) {
            let wrong = structure(level, before, record.vertices);
            if let Some(what) = wrong {
                failures.add(&record.path, None, || {
                    format!("level of detail {l}: {what}")
                });
            }
            before = level.indices.len();
            out[m].push(LevelReport {
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
    let step = frames.div_ceil(FRAMES).max(1);
    for frame in (0..frames).step_by(step).chain(frames.checked_sub(1)) {
        decoder.decode(frame).map_err(error)?;
        for (m, levels) in all.iter().enumerate() {
            if levels.is_empty() || meshes[m].method == Method::Fluid {
                continue;
            }
            // Hidden frames are nobody's.
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
                // The distance is worked out in f64 from f32 positions.
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

/// What is wrong with a level after one of so many indices.
fn structure(level: &LodTriangles, before: usize, vertices: u32) -> Option<&'static str> {
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

/// The vertex farthest from a level, and how far: 1.01 times the level's error for all that are farther.
fn farthest(indices: &[u32], level: &LodTriangles, at: &[[f32; 3]]) -> (f64, u32) {
    let reach = f64::from(level.error) * 1.01;
    let (triangles, _) = level.indices.as_chunks::<3>();
    let place = |v: u32| at[v as usize].map(f64::from);
    // Cells as large as the reach, or as triangles are on average.
    let mut sizes = 0.0;
    for t in triangles {
        let [a, b, c] = t.map(place);
        let side = |k: usize| a[k].max(b[k]).max(c[k]) - a[k].min(b[k]).min(c[k]);
        sizes += side(0).max(side(1)).max(side(2));
    }
    let cell = (sizes / triangles.len().max(1) as f64)
        .max(reach)
        .max(1e-30);
    let number = |v: f64| (v / cell).floor() as i64;
    let mut cells: HashMap<[i64; 3], Vec<u32>> = HashMap::new();
    for (i, t) in (0..).zip(triangles) {
        let [a, b, c] = t.map(place);
        let low: [i64; 3] = std::array::from_fn(|k| number(a[k].min(b[k]).min(c[k]) - reach));
        let high: [i64; 3] = std::array::from_fn(|k| number(a[k].max(b[k]).max(c[k]) + reach));
        for x in low[0]..=high[0] {
            for y in low[1]..=high[1] {
                for z in low[2]..=high[2] {
                    cells.entry([x, y, z]).or_default().push(i);
                }
            }
        }
    }
    let mut used: Vec<u32> = indices.to_vec();
    used.sort_unstable();
    used.dedup();
    let step = used.len().div_ceil(VERTICES).max(1);
    let mut most = (0.0, 0);
    for &v in used.iter().step_by(step) {
        let own = place(v);
        let near = cells.get(&own.map(number)).map_or(&[][..], Vec::as_slice);
        let became = place(level.becomes[v as usize]);
        let to = |p: [f64; 3]| {
            (0..3)
                .map(|k| (p[k] - own[k]) * (p[k] - own[k]))
                .sum::<f64>()
        };
        let mut least = to(became);
        for &t in near {
            least = least.min(to(nearest(own, triangles[t as usize].map(place))));
        }
        let distance = least.sqrt().min(reach);
        if distance > most.0 {
            most = (distance, v);
        }
    }
    most
}

/// The place of a triangle nearest to a point: Christer Ericson, *Real-time collision detection*, 2005.
fn nearest(p: [f64; 3], [a, b, c]: [[f64; 3]; 3]) -> [f64; 3] {
    let minus = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let on = |v: f64, w: f64| -> [f64; 3] {
        std::array::from_fn(|k| a[k] + v * (b[k] - a[k]) + w * (c[k] - a[k]))
    };
    let (ab, ac) = (minus(b, a), minus(c, a));
    let (ap, bp, cp) = (minus(p, a), minus(p, b), minus(p, c));
    let (d1, d2) = (dot(ab, ap), dot(ac, ap));
    if d1 <= 0.0 && d2 <= 0.0 {
        return a;
    }
    let (d3, d4) = (dot(ab, bp), dot(ac, bp));
    if d3 >= 0.0 && d4 <= d3 {
        return b;
    }
    let vc = d1 * d4 - d3 * d2;
    if vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0 {
        return on(d1 / (d1 - d3), 0.0);
    }
    let (d5, d6) = (dot(ab, cp), dot(ac, cp));
    if d6 >= 0.0 && d5 <= d6 {
        return c;
    }
    let vb = d5 * d2 - d1 * d6;
    if vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0 {
        return on(0.0, d2 / (d2 - d6));
    }
    let va = d3 * d6 - d5 * d4;
    if va <= 0.0 && d4 - d3 >= 0.0 && d5 - d6 >= 0.0 {
        let w = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        return on(1.0 - w, w);
    }
    let sum = va + vb + vc;
    match sum > 0.0 {
        true => on(vb / sum, vc / sum),
        false => a,
    }
}
