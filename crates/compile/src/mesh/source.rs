//! The source of a mesh's frames, with the times at which they are read.

use crate::Error;
use glam::{DMat4, DVec3};
use meshreel_codec::schedule::{FrameWindow, Schedule};
use meshreel_process::Cancellation;
use meshreel_process::extent::is_usable_point;
use meshreel_process::remesh::Remeshed;
use meshreel_scene::{Attribute, Mesh, MeshId, sample};
use std::sync::Arc;

/// A mesh to be compiled, with the times at which its frames are read. Frame numbers count its own frames:
/// those in which it moves.
pub struct MeshSource {
    /// The mesh in the scene.
    pub mesh: Arc<Mesh>,
    /// Its number in the scene.
    pub number: MeshId,
    /// Time read for each output frame: its own, or, if the mesh is hidden then, that of a nearby visible
    /// frame, so that hidden frames cost nothing.
    pub times: Vec<f64>,
    /// World matrix at each of these times, if the mesh is baked to world space.
    pub matrices: Option<Vec<DMat4>>,
    /// Time of the first frame of the animation, whether it shows the mesh or not.
    pub first_time: f64,
    /// `true` if normals are compiled.
    pub normals: bool,
    #[allow(missing_docs)]
    pub uvs: bool,
    /// Uvs of a point that are nearer to each other than this count as equal.
    pub uv_seam: f32,
    #[allow(missing_docs)]
    pub colours: bool,
    /// `true` if velocities of the source, and the other values of particles, are compiled.
    pub velocities: bool,
    /// The number of frames of the animation.
    pub frames: usize,
    /// Average time between frames of the animation, in seconds; 1/24 if there is one frame.
    pub seconds: f64,
    /// The frame of the animation at which its own frames begin.
    pub start: usize,
    /// The frames of the animation between which it moves: it stands still up to the first, and from the
    /// second on.
    pub moves: Option<[u32; 2]>,
    /// Points that replace those of its first frame that are not finite: the points of the animation's first
    /// frame, if that is another one.
    pub fallback: Vec<[f32; 3]>,
    /// Its fixed faces, if it was re-meshed.
    pub remeshed: Option<Arc<Remeshed>>,
    /// Cancels reading, which then ends with an error.
    pub cancellation: Cancellation,
}

impl MeshSource {
    /// Returns its own frame that shows the same as a frame of the animation.
    pub fn own_frame(&self, frame: usize) -> usize {
        frame.clamp(self.start, self.start + self.times.len() - 1) - self.start
    }

    /// Restricts a mesh to the frames in which it moves. Does nothing for a mesh that moves from the first
    /// frame to the last, or never.
    pub fn trim_lead_in_and_out(&mut self, schedule: Schedule) -> Result<(), Error> {
        let count = self.times.len();
        let still = self.mesh.positions.is_constant() && self.matrices.is_none();
        if count < 3 || still || !sample::has_fixed_topology(&self.mesh, &self.times)? {
            return Ok(());
        }
        let start = MeshValues::new(self, 0)?;
        // Damaged points are replaced by those of this frame, which is what is compiled.
        self.fallback.clone_from(&start.points);
        let end = MeshValues::new(self, count - 1)?;
        let mut first = 0;
        while first + 1 < count && self.shows_same(&start, 0, first + 1)? {
            first += 1;
        }
        let mut last = count - 1;
        while last > first && self.shows_same(&end, count - 1, last - 1)? {
            last -= 1;
        }
        if first >= last || (first, last) == (0, count - 1) {
            return Ok(());
        }
        self.keep_window(schedule, [first as u32, last as u32]);
        Ok(())
    }

    /// Returns `true` if `frame` shows the same as frame `of`, whose values are `look`.
    fn shows_same(&self, look: &MeshValues, of: usize, frame: usize) -> Result<bool, Error> {
        let moved = self.matrices.as_ref().is_some_and(|all| all[of] != all[frame]);
        if moved {
            return Ok(false);
        }
        Ok(self.times[of] == self.times[frame] || MeshValues::new(self, frame)? == *look)
    }

    /// Keeps only the frames of the window of a mesh that stands still up to frame `moves[0]` of the
    /// animation and from `moves[1]` on.
    pub fn keep_window(&mut self, schedule: Schedule, moves: [u32; 2]) {
        let FrameWindow { start, end } = schedule.window(moves[0], moves[1]);
        let kept = start as usize..end as usize + 1;
        (self.moves, self.start) = (Some(moves), kept.start);
        self.times = self.times[kept.clone()].to_vec();
        if let Some(matrices) = &mut self.matrices {
            *matrices = matrices[kept].to_vec();
        }
    }

    /// Returns the points of its first frame in object space, with those that are not finite replaced.
    pub fn first_points(&self) -> Result<Vec<[f32; 3]>, Error> {
        let mut points = Vec::new();
        self.object_points(0, &self.fallback, &mut points)?;
        Ok(points)
    }

    /// Reads the points at `frame` in object space and replaces those that are not finite; returns their
    /// number.
    pub fn object_points(
        &self,
        frame: usize,
        fallback: &[[f32; 3]],
        out: &mut Vec<[f32; 3]>,
    ) -> Result<usize, Error> {
        self.cancellation.check()?;
        sample::positions_at(&self.mesh, self.times[frame], out)?;
        Ok(replace_non_finite(out, fallback))
    }
    /// Transforms object-space points to the space of the file: world space for baked meshes.
    pub fn to_file_space(&self, frame: usize, object: &[[f32; 3]], out: &mut Vec<[f32; 3]>) {
        out.clear();
        match &self.matrices {
            None => out.extend_from_slice(object),
            Some(matrices) => {
                let m = &matrices[frame];
                out.extend(object.iter().map(|&p| {
                    let p = m.transform_point3(DVec3::from_array(p.map(f64::from)));
                    p.to_array().map(|v| v as f32)
                }));
            }
        }
    }
    /// Transforms velocities (units per second) of points of `frame` from object space to the space of the
    /// file: for baked meshes, the change of the matrix per second is added.
    pub fn velocities_to_file_space(&self, frame: usize, object: &[[f32; 3]], velocities: &mut [[f32; 3]]) {
        let Some(matrices) = &self.matrices else {
            return;
        };
        let (before, after) = (frame.saturating_sub(1), (frame + 1).min(matrices.len() - 1));
        let seconds = self.times[after] - self.times[before];
        let change = match seconds > 0.0 {
            true => (matrices[after] - matrices[before]) * (1.0 / seconds),
            false => DMat4::ZERO,
        };
        let m = &matrices[frame];
        for (velocity, point) in velocities.iter_mut().zip(object) {
            // Velocities that are not finite count as zero.
            let own = velocity.map(|v| if v.is_finite() { v } else { 0.0 });
            let [v, p] = [own, *point].map(|v| DVec3::from_array(v.map(f64::from)));
            let moved = m.transform_vector3(v) + (change * p.extend(1.0)).truncate();
            *velocity = moved.to_array().map(|v| v as f32).map(|v| if v.is_finite() { v } else { 0.0 });
        }
    }
    /// Returns the average factor by which the space of the file scales lengths, over all directions.
    pub fn length_scale(&self, frame: usize) -> f64 {
        self.matrices.as_ref().map_or(1.0, |all| all[frame].determinant().abs().cbrt())
    }
    /// Returns `true` if world matrices mirror (decided on the first frame shown): faces are then wound the
    /// other way.
    pub fn is_mirrored(&self) -> bool {
        self.matrices.as_ref().and_then(|m| m.first()).is_some_and(|m| m.determinant() < 0.0)
    }
}

/// Replaces points that are not finite by those of `fallback`, or by the middle of the others; returns their
/// number.
pub fn replace_non_finite(points: &mut [[f32; 3]], fallback: &[[f32; 3]]) -> usize {
    if points.iter().all(is_usable_point) {
        return 0;
    }
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for p in points.iter().filter(|p| is_usable_point(p)) {
        for k in 0..3 {
            (low[k], high[k]) = (low[k].min(p[k]), high[k].max(p[k]));
        }
    }
    let middle = std::array::from_fn(|k| if low[k] <= high[k] { low[k] / 2.0 + high[k] / 2.0 } else { 0.0 });
    let mut mended = 0;
    for (i, p) in points.iter_mut().enumerate().filter(|(_, p)| !is_usable_point(p)) {
        *p = fallback.get(i).copied().unwrap_or(middle);
        mended += 1;
    }
    mended
}

/// All values of a mesh at one time that can change while its faces do not.
#[derive(Default, PartialEq)]
struct MeshValues {
    points: Vec<[f32; 3]>,
    normals: Vec<sample::AttributeValues<[f32; 3]>>,
    uvs: Vec<sample::AttributeValues<[f32; 2]>>,
    colours: Vec<sample::AttributeValues<[f32; 4]>>,
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

/// Returns the distance below which uvs of a point are equal, since exporters compute them anew for each
/// face: a fraction of the tolerance that quantization leaves unused.
pub fn uv_seam(tolerance: f64) -> f64 {
    tolerance / 64.0
}
