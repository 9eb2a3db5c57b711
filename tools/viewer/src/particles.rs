//! Draws particles as small solids and curves as lines, generated for each picture.

use crate::drawing::Drawing;
use crate::matrix::matrix;
use glam::DVec3;
use meshreel::raw::record::{CurveEnds, Semantic};
use meshreel::{Error, FrameView};

/// Size of points without a width, as a fraction of the mesh's size over all frames.
const POINT_SIZE: f64 = 0.002;
/// Colour of particles that have none.
const COLOUR: [u8; 4] = [225, 200, 150, 255];

/// Returns the particles and curves of a moment, in world space: solids, and lines.
pub fn drawings(view: &FrameView<'_>, hidden: &[bool]) -> Result<[Drawing; 2], Error> {
    let mut out = <[Drawing; 2]>::default();
    let description = view.reel().description();
    for (node, record) in description.nodes.iter().enumerate() {
        let Some(mesh) = record.mesh.filter(|_| view.visible(node) && !hidden[node]) else { continue };
        if description.meshes[mesh as usize].particles.is_some() {
            draw(view, (node, mesh as usize), &mut out)?;
        }
    }
    Ok(out)
}

fn draw(view: &FrameView<'_>, (node, mesh): (usize, usize), out: &mut [Drawing; 2]) -> Result<(), Error> {
    let [solids, lines] = out;
    let Some(frame) = view.mesh(node) else { return Ok(()) };
    let (record, world) = (&view.reel().description().meshes[mesh], matrix(view.world(node)));
    let count = frame.vertex_count();
    let places = floats::<3>(count, |out| frame.positions_into(out))?;
    let places: Vec<DVec3> = places.iter().map(|p| world.transform_point3(p.map(f64::from).into())).collect();
    let has = |semantic: Semantic| record.streams.iter().any(|stream| stream.semantic == semantic);
    let colours = match has(Semantic::Colour) {
        true => floats::<4>(count, |out| frame.colours_into(0, out))?,
        false => Vec::new(),
    };
    let colour =
        |v: usize| colours.get(v).map_or(COLOUR, |c| [c[0], c[1], c[2], 1.0].map(|v| (v * 255.0) as u8));
    if let Some(curves) = record.particles.and_then(|particles| particles.curves) {
        let mut first = 0;
        for &length in frame.curves() {
            let end = (first + length as usize).min(places.len());
            for v in first + 1..end {
                [v - 1, v].into_iter().for_each(|v| lines.push_vertex(places[v], colour(v)));
            }
            if curves.curve_ends == CurveEnds::Closed && end > first + 2 {
                [end - 1, first].into_iter().for_each(|v| lines.push_vertex(places[v], colour(v)));
            }
            first = end;
        }
        return Ok(());
    }
    let [a, b, c, d, e, f] = record.bounds.map(f64::from);
    let size = world.transform_vector3(DVec3::new(d - a, e - b, f - c)).length();
    let widths = match has(Semantic::Width) {
        true => floats::<1>(count, |out| frame.widths_into(out))?,
        false => Vec::new(),
    };
    // Widths scale with the node.
    let scale = world.determinant().abs().cbrt();
    for (v, &at) in places.iter().enumerate() {
        let width = widths.get(v).map_or(POINT_SIZE * size, |[width]| f64::from(*width) * scale);
        // Small particles get a visible size.
        let half = (0.5 * width).max(0.5 * POINT_SIZE * size);
        solids.octahedron([at - DVec3::Y * half, at, at + DVec3::Y * half], half, colour(v));
    }
    Ok(())
}

fn floats<const N: usize>(
    count: usize,
    write: impl Fn(&mut [f32]) -> Result<(), Error>,
) -> Result<Vec<[f32; N]>, Error> {
    let mut out = vec![[0.0; N]; count];
    write(out.as_flattened_mut())?;
    Ok(out)
}
