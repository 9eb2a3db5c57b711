//! Prints LOD levels as tables and JSON, and draws them for `meshreel plot --levels`.

use crate::output::{Failure, Output, display_path, one_line};
use crate::picture::frames::transform_point;
use crate::picture::grid::Grid;
use crate::picture::render::Surface;
use crate::picture::sheet::clay;
use crate::units;
use meshreel::{FrameDecoder, Reel};
use meshreel_commands::extract::coarsest_level;
use meshreel_commands::info::LodInfo;
use meshreel_compile::LodReports;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// Largest number of columns of the picture: middle levels are left out.
const COLUMNS: usize = 5;
/// Width and height of a tile in pixels.
pub const TILE: [usize; 2] = [300, 240];

/// The output of `--json` for a picture.
#[derive(Serialize)]
struct LodPlot {
    output: String,
    levels: usize,
    frames: Vec<usize>,
}

/// Returns all LOD levels of a compiled mesh, the mesh itself first.
pub fn lod_infos(lod: &LodReports) -> Vec<LodInfo> {
    let level = lod.levels.iter();
    level.map(|level| LodInfo { triangles: level.triangles as usize, error: level.error.into() }).collect()
}

/// Returns a table of triangles and error of each level, by mesh. Empty if there are no levels.
pub fn table<'a>(meshes: impl Iterator<Item = (&'a str, Vec<LodInfo>)>) -> String {
    let mut rows = Vec::new();
    for (path, levels) in meshes {
        for (l, level) in levels.iter().enumerate() {
            rows.push(vec![
                if l == 0 { one_line(path) } else { String::new() },
                l.to_string(),
                units::count(level.triangles as u64),
                if l == 0 { "–".into() } else { units::short(level.error) },
            ]);
        }
    }
    match rows.is_empty() {
        true => String::new(),
        false => crate::output::table(&["mesh", "level", "triangles", "error in any frame"], &rows),
    }
}

/// Returns a table of the visible triangles of meshes before they break apart, in flight and at the end.
/// Empty if all are always visible.
pub fn hidden_table<'a>(meshes: impl Iterator<Item = (&'a str, usize, [usize; 3])>) -> String {
    let count = |n: usize| units::count(n as u64);
    let rows: Vec<Vec<String>> = meshes
        .map(|(path, all, [first, last, never])| {
            vec![one_line(path), count(all), count(all - first), count(all - never), count(all - last)]
        })
        .collect();
    let head = ["mesh", "triangles", "drawn at first", "in flight", "at last"];
    match rows.is_empty() {
        true => String::new(),
        false => crate::output::table(&head, &rows),
    }
}

/// Draws the levels from left to right in three frames, each triangle in a shade of its own.
pub fn draw(reel: &Reel, target: &Path, output: Output) -> Result<ExitCode, Failure> {
    let most = coarsest_level(reel)?;
    if most == 0 {
        return Err(Failure::usage(
            "the file has no levels of detail; 'meshreel compile --lod N' makes some",
        ));
    }
    let levels: Vec<usize> = match most < COLUMNS {
        true => (0..=most).collect(),
        false => (0..COLUMNS).map(|c| c * most / (COLUMNS - 1)).collect(),
    };
    let last = reel.frame_count() - 1;
    let mut frames = vec![0, last / 2, last];
    frames.dedup();
    let mut decoder = FrameDecoder::new(reel)?;
    let mut tiles: Vec<Vec<Vec<Surface>>> = Vec::new();
    for &frame in &frames {
        decoder.decode(frame)?;
        let row = levels.iter().map(|&level| surfaces(reel, &decoder, level, shades));
        tiles.push(row.collect::<Result<_, _>>()?);
    }
    let mut heads = Vec::new();
    for &level in &levels {
        let (mut triangles, mut error) = (0, 0f32);
        for m in 0..reel.description().meshes.len() {
            let last = reel.lod_count(m)? - 1;
            if let Some(lod) = reel.lod(m, level.min(last))? {
                triangles += lod.indices.len() / 3;
                error = error.max(lod.error);
            }
        }
        heads.push([
            format!("level {level}: {} triangles", units::count(triangles as u64)),
            format!("error in any frame {}", units::short(error.into())),
        ]);
    }
    let grid = Grid { rows: tiles, heads, size: TILE };
    let what = format!("{most} levels of detail; frames {frames:?} from above to below");
    grid.draw(&file_name(reel), &what).write_png(target)?;
    let drawn = LodPlot { output: target.display().to_string(), levels: most, frames };
    output.result(&drawn, true, || format!("{}: {what}", display_path(target)))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the file's name without its folder.
pub fn file_name(reel: &Reel) -> String {
    let name = reel.path().file_name().unwrap_or_default();
    one_line(&name.to_string_lossy())
}

/// Returns a shade of clay for a triangle, so that neighbours can be told apart.
fn shades(t: u32) -> [f32; 3] {
    let part = t.wrapping_mul(0x9E37_79B9) >> 24;
    let light = 0.62 + 0.5 * part as f32 / 255.0;
    clay().map(|v| v * light)
}

/// Returns all visible meshes at a level, with separate triangles, each in the colour of its index.
pub fn surfaces(
    reel: &Reel,
    decoder: &FrameDecoder,
    level: usize,
    shade: fn(u32) -> [f32; 3],
) -> Result<Vec<Surface>, Failure> {
    let mut out = Vec::new();
    let mut positions = Vec::new();
    for (node, record) in reel.description().nodes.iter().enumerate() {
        let Some(mesh) = record.mesh.filter(|_| decoder.visible(node)) else {
            continue;
        };
        let view = decoder.mesh(mesh as usize);
        positions.resize(3 * view.vertex_count(), 0.0f32);
        view.positions_into(&mut positions)?;
        let world = decoder.world(node);
        let place = |&v: &u32| transform_point(&world, &positions[3 * v as usize..][..3]);
        let indices = view.lod(level).indices;
        let triangles = indices.len() as u32 / 3;
        out.push(Surface {
            positions: indices.iter().map(place).collect(),
            triangles: (0..triangles).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect(),
            colours: (0..triangles).flat_map(|t| [shade(t); 3]).collect(),
        });
    }
    Ok(out)
}
