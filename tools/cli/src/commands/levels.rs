//! Levels of detail: as tables and JSON, and `meshreel plot --levels`, which draws them.

use crate::output::{Failure, Output, one_line};
use crate::picture::font;
use crate::picture::frames::apply;
use crate::picture::image::Image;
use crate::picture::render::{self, Camera, Light, Surface, guess_up};
use crate::picture::sheet::clay;
use crate::units;
use glam::DVec3;
use meshreel::{FrameDecoder, Reel};
use meshreel_compile::MeshReport;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Columns of the picture at most: levels that are left out are in the middle.
const COLUMNS: usize = 5;
const TILE: [usize; 2] = [300, 240];
const GAP: usize = 8;
const MARGIN: usize = 28;
const HEADER: usize = 100;
const FOOTER: usize = 24;
const PAPER: [u8; 3] = [248, 248, 246];
const INK: [u8; 3] = [32, 34, 38];
const FAINT: [u8; 3] = [112, 116, 122];

/// A level of detail of a mesh.
#[derive(Clone, Copy, Serialize)]
pub struct Level {
    /// Triangles.
    pub triangles: usize,
    /// Largest distance to the mesh in any frame, in its own space.
    pub error: f64,
}

/// All levels of a mesh of a file, the mesh itself first; nothing where it has no others.
pub fn of(reel: &Reel, mesh: usize) -> Result<Vec<Level>, meshreel::Error> {
    let count = reel.lods(mesh)?;
    let mut out = Vec::new();
    for level in (0..count).filter(|_| count > 1) {
        out.extend(reel.lod(mesh, level)?.map(|lod| Level {
            triangles: lod.indices.len() / 3,
            error: lod.error.into(),
        }));
    }
    Ok(out)
}

/// The coarsest level of any mesh.
pub fn most(reel: &Reel) -> Result<usize, meshreel::Error> {
    let mut most = 0;
    for mesh in 0..reel.description().meshes.len() {
        most = most.max(reel.lods(mesh)? - 1);
    }
    Ok(most)
}

/// The same of a mesh that was compiled.
pub fn compiled(mesh: &MeshReport) -> Vec<Level> {
    let itself = Level {
        triangles: mesh.triangles,
        error: 0.0,
    };
    let others = mesh.details.iter().map(|level| Level {
        triangles: level.triangles as usize,
        error: level.error.into(),
    });
    std::iter::once(itself).chain(others).collect()
}

/// As `--json` prints them.
pub fn json(levels: &[Level]) -> Value {
    json!(levels)
}

/// A row for each mesh: triangles and error of each level. Nothing where there are none.
pub fn table<'a>(meshes: impl Iterator<Item = (&'a str, Vec<Level>)>) -> String {
    let mut rows = Vec::new();
    for (path, levels) in meshes {
        for (l, level) in levels.iter().enumerate() {
            rows.push(vec![
                if l == 0 {
                    one_line(path)
                } else {
                    String::new()
                },
                l.to_string(),
                units::count(level.triangles as u64),
                if l == 0 {
                    "–".into()
                } else {
                    units::short(level.error)
                },
            ]);
        }
    }
    match rows.is_empty() {
        true => String::new(),
        false => crate::output::table(&["mesh", "level", "triangles", "error in any frame"], &rows),
    }
}

/// Draws the levels from left to right in three frames, each triangle in a shade of its own.
pub fn draw(reel: &Reel, target: &Path, output: Output) -> Result<ExitCode, Failure> {
    let most = most(reel)?;
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
        let row = levels.iter().map(|&level| surfaces(reel, &decoder, level));
        tiles.push(row.collect::<Result<_, _>>()?);
    }
    let points: Vec<DVec3> = (tiles.iter().flatten().flatten())
        .flat_map(|surface| surface.positions.iter().copied())
        .collect();
    let points = render::main_part(&points);
    let [width, height] = TILE;
    let camera = Camera::framing(&points, guess_up("", &points), width as f64 / height as f64);
    let left = |c: usize| MARGIN + c * (width + GAP);
    let top = |r: usize| HEADER + r * (height + GAP);
    let mut image = Image::new(
        left(levels.len()) + MARGIN - GAP,
        top(frames.len()) + FOOTER,
        PAPER,
    );
    let name = reel
        .path()
        .file_name()
        .unwrap_or_default()
        .display()
        .to_string();
    font::draw(&mut image, &name, MARGIN as f32, 20.0, 20.0, INK);
    let what = format!("{most} levels of detail; frames {frames:?} from above to below");
    font::draw(&mut image, &what, MARGIN as f32, 54.0, 11.0, FAINT);
    for (c, &level) in levels.iter().enumerate() {
        let (mut triangles, mut error) = (0, 0f32);
        for m in 0..reel.description().meshes.len() {
            let last = reel.lods(m)? - 1;
            if let Some(lod) = reel.lod(m, level.min(last))? {
                triangles += lod.indices.len() / 3;
                error = error.max(lod.error);
            }
        }
        let title = format!(
            "level {level}: {} triangles",
            units::count(triangles as u64)
        );
        font::draw(&mut image, &title, left(c) as f32, 72.0, 10.0, INK);
        let note = format!("error in any frame {}", units::short(error.into()));
        font::draw(&mut image, &note, left(c) as f32, 86.0, 9.0, FAINT);
        for (r, row) in tiles.iter().enumerate() {
            let tile = render::draw(&row[c], &camera, Light::Studio, width, height);
            image.paste(&tile, left(c), top(r));
        }
    }
    image.write_png(target)?;
    let value = json!({ "output": target.display().to_string(), "levels": most, "frames": frames });
    output.result(&value, true, || format!("{}: {what}", target.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// All that is shown, at a level, in triangles of their own.
fn surfaces(reel: &Reel, decoder: &FrameDecoder, level: usize) -> Result<Vec<Surface>, Failure> {
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
        let place = |&v: &u32| apply(&world, &positions[3 * v as usize..][..3]);
        let indices = view.lod(level).indices;
        let triangles = indices.len() as u32 / 3;
        let shade = |t: u32| {
            let part = t.wrapping_mul(0x9E37_79B9) >> 24;
            let light = 0.62 + 0.5 * part as f32 / 255.0;
            clay().map(|v| v * light)
        };
        out.push(Surface {
            positions: indices.iter().map(place).collect(),
            triangles: (0..triangles)
                .map(|t| [3 * t, 3 * t + 1, 3 * t + 2])
                .collect(),
            colours: (0..triangles).flat_map(|t| [shade(t); 3]).collect(),
        });
    }
    Ok(out)
}
