//! `meshreel plot --faces`: draws the faces of a surface over time, and the distance between the surfaces of
//! the file and the source.

use super::parts::colour;
use crate::output::{Failure, Output, display_path};
use crate::picture::frames::{source_meshes, transform_point};
use crate::picture::render::{Surface, guess_up};
use crate::picture::sheet::{Column, Sheet, compose};
use glam::DVec3;
use meshreel::{FrameDecoder, Reel};
use meshreel_scene::Scene;
use meshreel_scene::sample::World;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// The output of `--json`.
#[derive(Serialize)]
struct FacesPlot {
    output: String,
    remeshed: usize,
    /// The largest distance as a multiple of the tolerance.
    worst: f32,
}

/// Draws the first frame, the last, and two in between.
pub fn draw(reel: &Reel, scene: &Scene, target: &Path, output: Output) -> Result<ExitCode, Failure> {
    let placed = scene.expand()?;
    let mut world = World::new(scene, &placed)?;
    let mut decoder = FrameDecoder::new(reel)?;
    let last = reel.frame_count() - 1;
    let mut frames = vec![0, last / 3, 2 * last / 3, last];
    frames.dedup();
    let (mut columns, mut points, mut farthest) = (Vec::new(), Vec::new(), 0f32);
    for frame in frames {
        decoder.decode(frame)?;
        let time = reel.time(frame);
        let source = source_meshes(scene, &placed, &mut world, time)?;
        let mut out = Column {
            title: format!("frame {frame}, {time:.2} s"),
            note: String::new(),
            source: Vec::new(),
            decoded: Vec::new(),
            errors: Vec::new(),
        };
        let mut worst = 0f32;
        for (node, record) in reel.description().nodes.iter().enumerate() {
            let Some(mesh) = record.mesh.filter(|_| decoder.visible(node)) else {
                continue;
            };
            let view = decoder.mesh(mesh as usize);
            let mut positions = vec![0.0f32; 3 * view.vertex_count()];
            view.positions_into(&mut positions)?;
            let matrix = decoder.world(node);
            let places = positions.chunks_exact(3).map(|p| transform_point(&matrix, p));
            let own = coloured(&places.collect::<Vec<_>>(), view.indices().as_chunks().0);
            // For the mesh that the source has at this path.
            let errors = match placed.iter().position(|place| place.path == record.path) {
                Some(i) => {
                    let mesh = scene.nodes[placed[i].node].mesh.map(|m| &scene.meshes[m]);
                    let matrix = world.matrix[i];
                    match mesh {
                        Some(mesh) => meshreel_check::distances(mesh, time, &matrix, &own.positions)?,
                        None => Vec::new(),
                    }
                }
                None => Vec::new(),
            };
            let part = |d: &f64| (d / record.tolerance) as f32;
            let errors: Vec<f32> = errors.iter().map(part).collect();
            worst = errors.iter().copied().fold(worst, f32::max);
            out.errors.push(errors);
            points.extend(own.positions.iter().copied());
            out.decoded.push(own);
        }
        for mesh in &source {
            let surface = &mesh.surface;
            out.source.push(coloured(&surface.positions, &surface.triangles));
        }
        out.note = format!("at most {:.0} % of it", 100.0 * worst);
        farthest = farthest.max(worst);
        columns.push(out);
    }
    let meshes = &reel.description().meshes;
    let remeshed = meshes.iter().filter(|m| m.remeshed_blend_frames.is_some()).count();
    let what = format!("{remeshed} of {} meshes re-meshed", meshes.len());
    let name = reel.path().file_name().unwrap_or_default();
    let sheet = Sheet {
        title: name.display().to_string(),
        subtitle: what.clone(),
        rows: ["source", "decoded", "distance"],
        columns,
        scale: "tolerance".into(),
        up: guess_up(scene.format, &points),
    };
    compose(sheet).write_png(target)?;
    let drawn = FacesPlot { output: target.display().to_string(), remeshed, worst: farthest };
    output.result(&drawn, true, || format!("{}: {what}", display_path(target)))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a surface with each triangle in a colour of its own, chosen by its index.
fn coloured(points: &[DVec3], triangles: &[[u32; 3]]) -> Surface {
    let all = triangles.iter().flatten();
    let count = triangles.len() as u32;
    Surface {
        positions: all.map(|&v| points[v as usize]).collect(),
        triangles: (0..count).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]).collect(),
        colours: (0..triangles.len()).flat_map(|t| [colour(t); 3]).collect(),
    }
}
