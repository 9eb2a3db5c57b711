//! `meshreel plot --parts`: draws the influence of each bone, and the residual.

use crate::output::{Failure, Output, display_path};
use crate::picture::frames::transform_point;
use crate::picture::image::to_linear;
use crate::picture::render::{Surface, guess_up};
use crate::picture::sheet::{Column, Sheet, clay, compose};
use glam::DVec3;
use meshreel::raw::record::Method;
use meshreel::{FrameDecoder, Reel};
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// The output of `--json`.
#[derive(Serialize)]
struct PartsPlot {
    output: String,
    parts: u32,
    bones: u32,
    residual_points: u32,
}

/// Draws the first frame, the last, and the one in the middle.
pub fn draw(reel: &Reel, target: &Path, output: Output) -> Result<ExitCode, Failure> {
    let description = reel.description();
    let moved = |method| matches!(method, Method::Rigid | Method::Skinned);
    if !description.meshes.iter().any(|mesh| moved(mesh.method)) {
        return Err(Failure::usage(
            "no mesh of the file has parts or bones; 'meshreel compile --explain' shows what was tried",
        ));
    }
    let mut decoder = FrameDecoder::new(reel)?;
    let last = reel.frame_count() - 1;
    let mut frames = vec![0, last / 2, last];
    frames.dedup();
    let mut columns = Vec::new();
    for frame in frames {
        decoder.decode(frame)?;
        columns.push(column(reel, &decoder, frame)?);
    }
    let bones = (description.meshes.iter().filter_map(|m| m.streams.first())).map(|s| s.bones);
    let (mut rigid, mut affine, mut coded) = (0, 0, 0);
    for own in bones {
        rigid += own.rigid;
        affine += own.affine;
        coded += own.coded;
    }
    let points: Vec<DVec3> = (columns.iter().flat_map(|c| &c.source))
        .flat_map(|surface| surface.positions.iter().copied())
        .collect();
    let what = format!("{rigid} parts, {affine} bones that blend, {coded} points with a residual");
    let sheet = Sheet {
        title: reel.path().file_name().unwrap_or_default().display().to_string(),
        subtitle: what.clone(),
        rows: ["decoded", "bones", "residual"],
        columns,
        scale: "10 times the tolerance".into(),
        up: guess_up("", &points),
    };
    compose(sheet).write_png(target)?;
    let drawn = PartsPlot {
        output: target.display().to_string(),
        parts: rigid,
        bones: affine,
        residual_points: coded,
    };
    output.result(&drawn, true, || format!("{}: {what}", display_path(target)))?;
    Ok(ExitCode::SUCCESS)
}

fn column(reel: &Reel, decoder: &FrameDecoder, frame: usize) -> Result<Column, Failure> {
    let mut out = Column {
        title: format!("frame {frame}, {:.2} s", reel.time(frame)),
        note: String::new(),
        source: Vec::new(),
        decoded: Vec::new(),
        errors: Vec::new(),
    };
    let (mut positions, mut worst) = (Vec::new(), 0f32);
    for (node, record) in reel.description().nodes.iter().enumerate() {
        let Some(mesh) = record.mesh.filter(|_| decoder.visible(node)) else {
            continue;
        };
        let view = decoder.mesh(mesh as usize);
        positions.resize(3 * view.vertex_count(), 0.0f32);
        view.positions_into(&mut positions)?;
        let world = decoder.world(node);
        let surface = |colours| Surface {
            positions: positions.chunks_exact(3).map(|p| transform_point(&world, p)).collect(),
            triangles: view.indices().as_chunks().0.to_vec(),
            colours,
        };
        out.source.push(surface(vec![clay()]));
        let count = view.vertex_count();
        let bones = view.bones();
        let colour = |v| bones.map_or(clay(), |bones| mixed(bones.influences(v)));
        out.decoded.push(surface((0..count).map(colour).collect()));
        let tolerance = 10.0 * record.tolerance as f32;
        let residuals = bones.and_then(|bones| bones.residuals());
        let residuals = residuals.unwrap_or_else(|| vec![0.0; count]);
        worst = residuals.iter().copied().fold(worst, f32::max);
        out.errors.push(residuals.iter().map(|r| r / tolerance).collect());
    }
    out.note = format!("largest residual {}", crate::units::short(worst.into()));
    Ok(out)
}

/// Returns the colours of bones, mixed by weight; the colour of clay if there are none.
fn mixed(bones: impl Iterator<Item = (usize, f32)>) -> [f32; 3] {
    let (mut sum, mut whole) = ([0.0; 3], 0.0);
    for (bone, weight) in bones {
        let colour = colour(bone);
        (0..3).for_each(|k| sum[k] += colour[k] * weight);
        whole += weight;
    }
    if whole > 0.0 { sum } else { clay() }
}

/// Returns the colour of a bone: consecutive bones are far apart on the colour wheel.
pub fn colour(bone: usize) -> [f32; 3] {
    let hue = (bone as f64 * 0.618_033_988_749_895).fract() * 6.0;
    let pale = [0.35, 0.5, 0.2][bone % 3];
    let channel = |shift: f64| {
        let x = (hue + shift) % 6.0;
        let full = (2.0 - (x - 3.0).abs()).clamp(0.0, 1.0);
        ((pale + (1.0 - pale) * full) * 235.0) as u8
    };
    to_linear([channel(3.0), channel(1.0), channel(5.0)])
}
