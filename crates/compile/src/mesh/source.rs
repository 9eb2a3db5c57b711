//! Where the frames of a mesh come from: the source with the times at which it is read.

use crate::Error;
use glam::{DMat4, DVec3};
use meshreel_codec::schedule::{Schedule, Window};
use meshreel_process::Cancellation;
use meshreel_process::extent::usable;
use meshreel_process::remesh::Remeshed;
use meshreel_scene::{Mesh, MeshId, sample};

/// A mesh to be compiled: the source with the times at which its frames are read. Frames are its own: those
/// in which it moves.
pub struct Source<'a> {
    /// The source.
    pub mesh: &'a Mesh,
    /// Its number in the scene.
    pub number: MeshId,
    /// Time read for each output frame: its own, or, where nothing of the mesh is visible, that of a visible
    /// one near it, so that hidden frames cost nothing.
    pub times: Vec<f64>,
    /// World matrix at each of these times, for a mesh that is baked to world space.
    pub matrices: Option<Vec<DMat4>>,
    /// Time of the first frame of the animation, whether it shows the mesh or not.
    pub first_time: f64,
    /// Normals are compiled.
    pub normals: bool,
    #[allow(missing_docs)]
    pub uvs: bool,
    /// Uvs of a point that are nearer to each other than this are one.
    pub uv_seam: f32,
    #[allow(missing_docs)]
    pub colours: bool,
    /// Velocities of the source, and what else particles have, are compiled.
    pub velocities: bool,
    /// Frames of the animation.
    pub frames: usize,
    /// Seconds from a frame of the animation to the next, on the average; a 24th where there is one frame.
    pub seconds: f64,
    /// Where its own frames begin among them.
    pub start: usize,
    /// Up to the first of these frames of the animation it stands still, and from the second on.
    pub moves: Option<[u32; 2]>,
    /// Points that replace those of its first frame that are not finite: the points of the animation's first
    /// frame, where that is another.
    pub fallback: Vec<[f32; 3]>,
    /// The fixed faces that it has got, if it was re-meshed.
    pub remeshed: Option<&'a Remeshed>,
    /// Ends reading with an error.
    pub cancellation: &'a Cancellation,
}

impl Source<'_> {
    /// The frame of its own that shows what a frame of the animation does.
    pub fn own(&self, frame: usize) -> usize {
        frame.clamp(self.start, self.start + self.times.len() - 1) - self.start
    }

    /// Keeps only the frames of the window of a mesh that stands still up to frame `moves[0]` of the
    /// animation and from `moves[1]` on.
    pub fn keep_window(&mut self, schedule: Schedule, moves: [u32; 2]) {
        let Window { start, end } = schedule.window(moves[0], moves[1]);
        let kept = start as usize..end as usize + 1;
        (self.moves, self.start) = (Some(moves), kept.start);
        self.times = self.times[kept.clone()].to_vec();
        if let Some(matrices) = &mut self.matrices {
            *matrices = matrices[kept].to_vec();
        }
    }

    /// Points of its first frame in object space, those that are not finite replaced.
    pub fn first_points(&self) -> Result<Vec<[f32; 3]>, Error> {
        let mut points = Vec::new();
        self.object_points(0, &self.fallback, &mut points)?;
        Ok(points)
    }

    /// Points at `frame` in object space, those that are not finite replaced; returns how many were.
    pub fn object_points(
        &self,
        frame: usize,
        fallback: &[[f32; 3]],
        out: &mut Vec<[f32; 3]>,
    ) -> Result<usize, Error> {
        self.cancellation.check()?;
        sample::positions_at(self.mesh, self.times[frame], out)?;
        Ok(mend(out, fallback))
    }
    /// Moves object points to where the file keeps them: world space for baked meshes.
    pub fn place(&self, frame: usize, object: &[[f32; 3]], out: &mut Vec<[f32; 3]>) {
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
    /// Moves velocities (units per second) of points of `frame` in object space to where the file keeps
    /// these: of baked meshes with what the matrix changes by in a second.
    pub fn place_velocities(&self, frame: usize, object: &[[f32; 3]], velocities: &mut [[f32; 3]]) {
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
            // What is not finite is nothing.
            let own = velocity.map(|v| if v.is_finite() { v } else { 0.0 });
            let [v, p] = [own, *point].map(|v| DVec3::from_array(v.map(f64::from)));
            let moved = m.transform_vector3(v) + (change * p.extend(1.0)).truncate();
            *velocity = moved.to_array().map(|v| v as f32).map(|v| if v.is_finite() { v } else { 0.0 });
        }
    }
    /// How much longer lengths are where the file keeps points, on the average of all directions.
    pub fn length_scale(&self, frame: usize) -> f64 {
        self.matrices.as_ref().map_or(1.0, |all| all[frame].determinant().abs().cbrt())
    }
    /// True where world matrices mirror (decided on the first frame shown): faces then turn the other way.
    pub fn mirrored(&self) -> bool {
        self.matrices.as_ref().and_then(|m| m.first()).is_some_and(|m| m.determinant() < 0.0)
    }
}

/// Replaces points that are not finite by those of `fallback`, or by the middle of the others.
pub fn mend(points: &mut [[f32; 3]], fallback: &[[f32; 3]]) -> usize {
    if points.iter().all(usable) {
        return 0;
    }
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for p in points.iter().filter(|p| usable(p)) {
        for k in 0..3 {
            (low[k], high[k]) = (low[k].min(p[k]), high[k].max(p[k]));
        }
    }
    let middle = std::array::from_fn(|k| if low[k] <= high[k] { low[k] / 2.0 + high[k] / 2.0 } else { 0.0 });
    let mut mended = 0;
    for (i, p) in points.iter_mut().enumerate().filter(|(_, p)| !usable(p)) {
        *p = fallback.get(i).copied().unwrap_or(middle);
        mended += 1;
    }
    mended
}
