//! Tetrahedral meshes, which are read as their visible surface.

use super::attribute::UsdAttribute;
use super::compose::{Prim, Stage};
use super::samples::{AttributeLengths, Decode, Timeline, lengths};
use super::value::Value;
use meshreel_scene::{Channel, Error};
use std::collections::HashMap;

/// The corners of each face of a tetrahedron, counter-clockwise as seen from outside.
const FACES: [[usize; 3]; 4] = [[1, 2, 3], [0, 3, 2], [0, 1, 3], [0, 2, 1]];

/// The triangles of a surface: the number of corners of each face, and the points at the corners.
pub struct Surface {
    pub counts: Channel<i32>,
    pub corners: Channel<i32>,
    /// The number of triangles.
    pub faces: AttributeLengths,
}

impl Surface {
    /// Reads the triangles that a prim states, or else those that belong to only one of its tetrahedra;
    /// `None` if it has neither.
    pub fn read(stage: &Stage, prim: &Prim, timeline: &mut Timeline) -> Result<Option<Surface>, Error> {
        if let Some(said) = stage.attribute(prim, "surfaceFaceVertexIndices")? {
            let [counts, corners] = [true, false].map(|counts| timeline.channel(&said, triangles(3, counts)));
            return Ok(Some(Surface { counts, corners, faces: lengths(Some(&said))? }));
        }
        let Some(solid) = stage.attribute(prim, "tetVertexIndices")? else {
            return Ok(None);
        };
        let [counts, corners] = [true, false].map(|counts| timeline.channel(&solid, triangles(4, counts)));
        let faces = faces(&solid, &counts)?;
        Ok(Some(Surface { counts, corners, faces }))
    }
}

/// Returns the number of surface triangles in the first and the last value, and whether it varies.
fn faces(solid: &UsdAttribute, counts: &Channel<i32>) -> Result<AttributeLengths, Error> {
    let mut out = AttributeLengths { first: 0, last: 0, vary: false };
    let mut values = Vec::new();
    for i in (0..counts.len()).filter(|i| *i == 0 || !solid.values.repeats(*i)) {
        counts.read(i, &mut values)?;
        out.last = values.len();
        if i == 0 {
            out.first = out.last;
        }
        out.vary |= out.last != out.first;
    }
    Ok(out)
}

/// Returns a decoder of triangles, or of tetrahedra (`width` 4) to the triangles of their surface. It gives
/// corners or, if `counts`, the number of corners of each face.
fn triangles(width: usize, counts: bool) -> Decode<i32> {
    Box::new(move |value, out| {
        let mut points = Vec::new();
        let Value::Numbers(numbers) = value else {
            return false;
        };
        if numbers.width != width || !numbers.i32s(&mut points) {
            return false;
        }
        out.clear();
        match width {
            4 => out.extend(surface(points.as_chunks::<4>().0).as_flattened()),
            _ => out.append(&mut points),
        }
        if counts {
            *out = vec![3; out.len() / 3];
        }
        true
    })
}

/// Returns the triangles that belong to only one tetrahedron.
fn surface(solid: &[[i32; 4]]) -> Vec<[i32; 3]> {
    let mut known: HashMap<[i32; 3], usize> = HashMap::with_capacity(2 * solid.len());
    let all = || solid.iter().flat_map(|tet| FACES.map(|face| face.map(|corner| tet[corner])));
    let sorted = |mut face: [i32; 3]| {
        face.sort_unstable();
        face
    };
    for face in all() {
        *known.entry(sorted(face)).or_default() += 1;
    }
    all().filter(|face| known.get(&sorted(*face)) == Some(&1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tetrahedra_that_touch_have_six_triangles() {
        let faces = surface(&[[0, 1, 2, 3], [1, 4, 2, 3]]);
        assert_eq!(faces.len(), 6);
        assert!(faces.contains(&[0, 2, 1]) && !faces.contains(&[1, 2, 3]), "{faces:?}");
        assert!(surface(&[[0, 1, 2, 3], [3, 2, 1, 0]]).is_empty());
    }
}
