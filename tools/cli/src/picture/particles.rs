//! Particles as small solids, curves as thin rods.

use super::render::Surface;
use super::sheet::clay;
use crate::output::Failure;
use glam::{DMat3, DVec3};
use meshreel::raw::record::{CurveEnds, Semantic};
use meshreel::{FrameDecoder, Reel};

/// Size of points without a width, and smallest size drawn, as a fraction of the mesh's size over all frames.
const POINT_WIDTH: f64 = 0.006;
/// The same for the width of rods.
const ROD_WIDTH: f64 = 0.003;

/// Returns the particles and curves of the decoded frame as surfaces in world space.
pub fn solids(reel: &Reel, decoder: &FrameDecoder) -> Result<Vec<Surface>, Failure> {
    let description = reel.description();
    let mut out = Vec::new();
    for (node, record) in description.nodes.iter().enumerate() {
        let Some(mesh) = record.mesh.filter(|_| decoder.visible(node)) else { continue };
        if description.meshes[mesh as usize].particles.is_some() {
            out.push(solid(decoder, node, mesh as usize)?);
        }
    }
    Ok(out)
}

fn solid(decoder: &FrameDecoder, node: usize, mesh: usize) -> Result<Surface, Failure> {
    let (view, world) = (decoder.mesh(mesh), decoder.world(node));
    let record = view.record();
    let count = view.vertex_count();
    let turn = DMat3::from_cols_array_2d(&[0, 1, 2].map(|k| world.map(|row| row[k])));
    let origin = DVec3::from_array(world.map(|row| row[3]));
    let mut places = vec![[0.0f32; 3]; count];
    view.positions_into(places.as_flattened_mut())?;
    let places: Vec<DVec3> =
        places.iter().map(|p| origin + turn * DVec3::from_array(p.map(f64::from))).collect();
    let has = |semantic: Semantic| record.streams.iter().any(|stream| stream.semantic == semantic);
    let mut colours = vec![[0.0f32; 4]; if has(Semantic::Colour) { count } else { 0 }];
    if !colours.is_empty() {
        view.colours_into(0, colours.as_flattened_mut())?;
    }
    let mut widths = vec![0.0f32; if has(Semantic::Width) { count } else { 0 }];
    if !widths.is_empty() {
        view.widths_into(&mut widths)?;
    }
    let [a, b, c, d, e, f] = record.bounds.map(f64::from);
    let size = (turn * DVec3::new(d - a, e - b, f - c)).length();
    // Widths scale with the node.
    let scale = turn.determinant().abs().cbrt();
    let half = |v: usize, least: f64| {
        let width = widths.get(v).map_or(0.0, |width| f64::from(*width) * scale);
        0.5 * width.max(least * size)
    };
    let colour = |v: usize| colours.get(v).map_or(clay(), |c| [c[0], c[1], c[2]]);
    let mut out = Surface { positions: Vec::new(), triangles: Vec::new(), colours: Vec::new() };
    let Some(curves) = record.particles.and_then(|particles| particles.curves) else {
        for (v, &place) in places.iter().enumerate() {
            octahedron(&mut out, place, half(v, POINT_WIDTH), colour(v));
        }
        return Ok(out);
    };
    let mut first = 0;
    for &length in view.curves() {
        let end = (first + length as usize).min(places.len());
        let last = (curves.curve_ends == CurveEnds::Closed && end > first + 2).then_some((end - 1, first));
        for (u, v) in (first + 1..end).map(|v| (v - 1, v)).chain(last) {
            rod(
                &mut out,
                [places[u], places[v]],
                [half(u, ROD_WIDTH), half(v, ROD_WIDTH)],
                [colour(u), colour(v)],
            );
        }
        first = end;
    }
    Ok(out)
}

fn octahedron(out: &mut Surface, place: DVec3, half: f64, colour: [f32; 3]) {
    let first = out.positions.len() as u32;
    for axis in DVec3::AXES {
        out.positions.extend([place + half * axis, place - half * axis]);
    }
    out.colours.extend([colour; 6]);
    for corner in 0..8u32 {
        out.triangles.push([0, 1, 2].map(|axis| first + 2 * axis + (corner >> axis & 1)));
    }
}

/// Adds a rod of four sides from one place to another.
fn rod(out: &mut Surface, ends: [DVec3; 2], halves: [f64; 2], colours: [[f32; 3]; 2]) {
    let Some(along) = (ends[1] - ends[0]).try_normalize() else { return };
    let (side, other) = along.any_orthonormal_pair();
    let first = out.positions.len() as u32;
    for ((end, half), colour) in ends.into_iter().zip(halves).zip(colours) {
        out.positions.extend([side, other, -side, -other].map(|way| end + half * way));
        out.colours.extend([colour; 4]);
    }
    for k in 0..4 {
        let next = (k + 1) % 4;
        let [a, b, c, d] = [k, next, 4 + k, 4 + next].map(|v| first + v);
        out.triangles.extend([[a, b, d], [a, d, c]]);
    }
}
