//! Lead-in and lead-out: frames at the start and end in which a mesh stands still, found by comparing from
//! both ends, so that a mesh that moves throughout costs only two comparisons. Only the other frames are
//! compiled.

use crate::Error;
use crate::mesh::source::MeshSource;
use meshreel_codec::schedule::Schedule;
use meshreel_scene::{Attribute, Mesh, sample};

/// All values of a mesh at one time that can change while its faces do not.
#[derive(Default, PartialEq)]
struct MeshValues {
    points: Vec<[f32; 3]>,
    normals: Vec<sample::AttributeValues<[f32; 3]>>,
    uvs: Vec<sample::AttributeValues<[f32; 2]>>,
    colours: Vec<sample::AttributeValues<[f32; 4]>>,
}

/// Restricts a mesh to the frames in which it moves. Does nothing for a mesh that moves from the first frame
/// to the last, or never.
pub fn trim_lead_in_and_out(source: &mut MeshSource, schedule: Schedule) -> Result<(), Error> {
    let count = source.times.len();
    let still = source.mesh.positions.is_constant() && source.matrices.is_none();
    if count < 3 || still || !sample::has_fixed_topology(&source.mesh, &source.times)? {
        return Ok(());
    }
    let start = MeshValues::new(source, 0)?;
    // Damaged points are replaced by those of this frame, which is what is compiled.
    source.fallback.clone_from(&start.points);
    let end = MeshValues::new(source, count - 1)?;
    let mut first = 0;
    while first + 1 < count && shows_same(source, &start, 0, first + 1)? {
        first += 1;
    }
    let mut last = count - 1;
    while last > first && shows_same(source, &end, count - 1, last - 1)? {
        last -= 1;
    }
    if first >= last || (first, last) == (0, count - 1) {
        return Ok(());
    }
    source.keep_window(schedule, [first as u32, last as u32]);
    Ok(())
}

/// Returns `true` if `frame` shows the same as frame `of`, whose values are `look`.
fn shows_same(source: &MeshSource, look: &MeshValues, of: usize, frame: usize) -> Result<bool, Error> {
    let moved = source.matrices.as_ref().is_some_and(|all| all[of] != all[frame]);
    if moved {
        return Ok(false);
    }
    Ok(source.times[of] == source.times[frame] || MeshValues::new(source, frame)? == *look)
}

impl MeshValues {
    fn new(source: &MeshSource, frame: usize) -> Result<MeshValues, Error> {
        let (mesh, time) = (&*source.mesh, source.times[frame]);
        let mut points = Vec::new();
        source.object_points(frame, &source.fallback, &mut points)?;
        let list = |wanted: bool| if wanted { usize::MAX } else { 0 };
        Ok(MeshValues {
            points,
            normals: attribute_values(mesh.normals.iter().take(list(source.normals)), mesh, time)?,
            uvs: attribute_values(mesh.uvs.iter().take(list(source.uvs)), mesh, time)?,
            colours: attribute_values(mesh.colours.iter().take(list(source.colours)), mesh, time)?,
        })
    }
}

fn attribute_values<'a, const N: usize>(
    all: impl Iterator<Item = &'a Attribute<[f32; N]>>,
    mesh: &Mesh,
    time: f64,
) -> Result<Vec<sample::AttributeValues<[f32; N]>>, Error>
where
    [f32; N]: sample::Lerp + Default,
{
    let mut out = Vec::new();
    for attribute in all {
        let mut values = sample::AttributeValues::default();
        sample::attribute_at(attribute, mesh, time, &mut values)?;
        out.push(values);
    }
    Ok(out)
}
