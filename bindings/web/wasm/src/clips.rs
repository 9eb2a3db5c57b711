//! Skeletons, clips and rigs of a file, for the page: `src/describe.js` reads them.

use crate::writer::Writer;
use meshreel::clip::{Clip, ClipCursor, Query, Repeats};
use meshreel::{Error, MeshRig, Reel, Transform};

/// The number of joints per vertex that are output, those with the largest weights: the number that vertex
/// shaders take.
const INFLUENCES: usize = 4;

/// A cursor for each clip of a file, and a pose that is reused.
#[derive(Default)]
pub(crate) struct Clips(Vec<ClipCursor>, Vec<Transform>);

impl Clips {
    /// Reads all clips, and writes them with their skeletons and the rigs that they move.
    pub fn read(reel: &Reel, out: &mut Writer) -> Result<Clips, Error> {
        let (skeletons, clips, rigs) = (reel.skeletons()?, reel.clips()?, reel.rigs()?);
        out.list(&skeletons, |out, skeleton| {
            out.text(&skeleton.name);
            out.u32(skeleton.parents.len());
            for (joint, (parent, rest)) in skeleton.parents.iter().zip(&skeleton.rest).enumerate() {
                out.text(skeleton.names.get(joint).map_or("", String::as_str));
                out.u32(*parent as usize);
                out.transform(rest);
            }
        });
        out.list(&clips, |out, clip| {
            out.text(clip.name());
            out.u32(clip.record().skeleton as usize);
            out.u32(clip.samples());
            out.f64(clip.fps());
            out.f64(clip.start());
        });
        out.list(&rigs, write_rig);
        Ok(Clips(clips.iter().map(Clip::cursor).collect(), Vec::new()))
    }

    /// Writes the local transforms of all joints, `seconds` after the first sample.
    pub fn pose(&mut self, clip: usize, seconds: f64, wraps: bool, out: &mut Writer) -> Result<(), Error> {
        let Clips(cursors, pose) = self;
        let count = cursors.len();
        let Some(cursor) = cursors.get_mut(clip) else {
            return Err(Error::misuse(format!("clip {clip} of {count} does not exist")));
        };
        pose.resize(cursor.clip().joints(), Transform::IDENTITY);
        let repeats = if wraps { Repeats::Wrap } else { Repeats::Clamp };
        cursor.pose(&Query::new(seconds).with_repeats(repeats), &mut pose[..])?;
        pose.iter().for_each(|joint| out.transform(joint));
        Ok(())
    }
}

/// Writes the mesh, the skeleton, the joints with their inverse bind matrices, and for each vertex the
/// position in the bind pose and the joints that move it.
fn write_rig(out: &mut Writer, rig: &MeshRig) {
    out.u32(rig.mesh());
    out.u32(rig.skeleton());
    out.list(rig.joints(), |out, joint| out.u32(*joint as usize));
    rig.inverse_bind().iter().for_each(|matrix| out.floats(matrix.as_flattened()));
    let vertices = rig.vertex_count();
    // Whether some vertices follow more joints than are output.
    let more = (0..vertices).any(|vertex| rig.influences(vertex).count() > INFLUENCES);
    out.u32(usize::from(more));
    out.u32(usize::from(rig.uses_dual_quaternions()));
    out.u32(vertices);
    (0..vertices).for_each(|vertex| out.floats(&rig.bind_position(vertex)));
    let mut weights: Vec<(usize, f32)> = Vec::new();
    for vertex in 0..vertices {
        weights.clear();
        weights.extend(rig.influences(vertex));
        weights.sort_by(|a, b| b.1.total_cmp(&a.1));
        weights.resize(INFLUENCES, (0, 0.0));
        weights.iter().for_each(|(joint, _)| out.u32(*joint));
        let sum: f32 = weights.iter().map(|(_, weight)| weight).sum();
        let scale = if sum > 0.0 { 1.0 / sum } else { 0.0 };
        weights.iter().for_each(|(_, weight)| out.f32(weight * scale));
    }
}
