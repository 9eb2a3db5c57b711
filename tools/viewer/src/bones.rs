//! Skeletons as triangles and lines: each bone an octahedron that is thickest near its joint, as in content
//! tools.

use crate::clips::{Bone, Clips};
use crate::drawing::Drawing;
use crate::looks::{DisplayMode, heat_colour, hue};
use crate::source::ClipErrors;
use glam::DVec3;

/// Draws the skeleton of the current clip. `size` is that of the whole content. Colours: one per layer, dark
/// if not played, orange for the selected joint; in the look "error" each joint's error against the source.
pub fn solid(clips: &Clips, size: f64, look: DisplayMode, errors: Option<&ClipErrors>) -> Drawing {
    let mut out = Drawing::default();
    let colours: Vec<[u8; 4]> = (0..clips.skeleton().parents.len())
        .map(|joint| match (look, errors) {
            (DisplayMode::Error, Some(errors)) => heat_colour(errors.fractions.get(joint).copied()),
            _ => colour(clips, joint),
        })
        .collect();
    let least = size * 0.004;
    for Bone { joint, from, to } in clips.bones() {
        let colour = match clips.joint == Some(joint) {
            true => [235, 130, 20, 255],
            false => colours[joint],
        };
        let length = from.distance(to);
        if length > 2.0 * least {
            let radius = (length * 0.09).min(size * 0.02);
            out.octahedron([from, from.lerp(to, 0.15), to], radius, colour);
        }
        // The joint itself, which is all there is of a bone without length.
        let radius = if length > 0.0 { (length * 0.05).clamp(least * 0.5, least) } else { least };
        let [down, up] = [-DVec3::Y, DVec3::Y].map(|way| from + way * radius);
        out.octahedron([down, from, up], radius, colour);
    }
    out
}

/// Draws lines along the bones of another pose of the same skeleton.
pub fn lines(bones: &[Bone]) -> Drawing {
    let mut out = Drawing::default();
    for bone in bones {
        out.push_vertex(bone.from, [120, 220, 255, 255]);
        out.push_vertex(bone.to, [120, 220, 255, 255]);
    }
    out
}

fn colour(clips: &Clips, joint: usize) -> [u8; 4] {
    let Some(layer) = clips.layer_of(joint) else { return [165, 170, 178, 255] };
    match clips.tiers().get(layer) {
        Some(0) => [45, 45, 50, 255],
        _ => {
            let [r, g, b] = hue(0.58 + layer as f32 * 0.618_034);
            [r, g, b, 1.0].map(|v| (v * 255.0) as u8)
        }
    }
}
