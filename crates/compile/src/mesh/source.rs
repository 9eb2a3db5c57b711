//! The source of a mesh's frames, with the times at which they are read; and the first pass over its
//! positions in all frames: bounds, motion, coincident points, and, where faces change, runs of frames with
//! the same faces.

use crate::Error;
use crate::context::Content;
use glam::{DMat4, DVec3};
use meshreel_codec::schedule::{FrameWindow, Schedule};
use meshreel_options::MethodChoice;
use meshreel_process::Cancellation;
use meshreel_process::extent::{Extent, MAX_COORDINATE, diagonal, is_usable_point};
use meshreel_process::frame_set::FrameSet;
use meshreel_process::remesh::Remeshed;
use meshreel_process::split::{self, Splitter};
use meshreel_scene::{Attribute, Mesh, MeshId, Remark, Scope, sample};
use std::collections::BTreeMap;
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
    /// Returns the source of a mesh's frames. Hidden frames read the last frame shown before them, or the
    /// first one after. `matrices`: by frame, for a mesh that is baked to world space. `trim`: the file's
    /// schedule, if only the frames in which the mesh moves are wanted.
    pub fn new(
        content: &Content,
        mesh: MeshId,
        shown: &FrameSet,
        matrices: Option<Vec<DMat4>>,
        trim: Option<Schedule>,
    ) -> Result<MeshSource, Error> {
        let (times, channels) = (&content.times, content.options.channels);
        let mut last = (0..times.len()).find(|&f| shown.contains(f)).unwrap_or(0);
        let read: Vec<usize> = (0..times.len())
            .map(|f| {
                last = if shown.contains(f) { f } else { last };
                last
            })
            .collect();
        // Hidden frames read the time of others, but keep their own duration.
        let span = times.last().zip(times.first()).map_or(0.0, |(last, first)| last - first);
        let seconds = if span > 0.0 { span / (times.len() - 1) as f64 } else { 1.0 / 24.0 };
        let first_time = times[0];
        let times: Vec<f64> = read.iter().map(|&f| times[f]).collect();
        let matrices = matrices.map(|all| read.iter().map(|&f| all[f]).collect());
        let mut source = MeshSource {
            mesh: Arc::new(content.scene.meshes[mesh].clone()),
            number: mesh,
            frames: times.len(),
            seconds,
            start: 0,
            moves: None,
            first_time,
            fallback: Vec::new(),
            times,
            matrices,
            normals: channels.normals,
            uvs: channels.uvs,
            uv_seam: uv_seam(content.options.uv_tolerance) as f32,
            colours: channels.colours,
            velocities: channels.attributes,
            remeshed: content.remeshed.get(mesh).cloned().flatten(),
            cancellation: content.cancellation.clone(),
        };
        if let Some(schedule) = trim {
            source.trim_lead_in_and_out(schedule)?;
        }
        Ok(source)
    }

    /// Returns its own frame that shows the same as a frame of the animation.
    pub fn own_frame(&self, frame: usize) -> usize {
        frame.clamp(self.start, self.start + self.times.len() - 1) - self.start
    }

    /// Restricts a mesh to the frames in which it moves. Does nothing for a mesh that moves from the first
    /// frame to the last, or never.
    fn trim_lead_in_and_out(&mut self, schedule: Schedule) -> Result<(), Error> {
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
    // In blocks without branches, which vectorize.
    let all = |block: &[[f32; 3]]| block.iter().fold(true, |all, p| all & is_usable_point(p));
    if points.chunks(1024).all(all) {
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

/// Returns the velocities of a mesh as an attribute of its points.
pub fn velocities(mesh: &Mesh) -> Option<Attribute<[f32; 3]>> {
    let values = mesh.velocities.clone().filter(|values| !values.is_empty())?;
    Some(Attribute { name: "velocities".into(), scope: Scope::Vertex, values, indices: None })
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

/// Everything that follows from the positions of a mesh in all frames.
#[derive(Default)]
pub struct PositionScan {
    /// `true` if faces and the number of points are constant.
    pub fixed: bool,
    /// Points of the first frame in object space.
    pub first: Vec<[f32; 3]>,
    /// Classes of points that coincide in all frames, if there are any and faces are constant.
    pub weld: Option<Splitter>,
    /// Bounds over all frames, in the space of the file.
    pub extent: Extent<3>,
    /// Bounds over all frames in object space, before a mesh is baked to world space.
    pub object_extent: Extent<3>,
    /// By frame, the diagonal of its bounds in object space.
    pub diagonals: Vec<f64>,
    /// The largest number of points of a frame.
    pub points: usize,
    /// The number of points, summed over frames.
    pub points_total: u64,
    /// `true` if positions differ between frames.
    pub moving: bool,
    /// Average time between frames, in seconds.
    pub seconds: f64,
    /// By frame of a mesh whose faces change, the first frame of its run.
    pub runs: Vec<u32>,
    /// By the first frame of a run in all of whose frames points coincide: by point, the first point
    /// coincident with it.
    pub run_welds: BTreeMap<u32, Vec<u32>>,
}

impl PositionScan {
    /// Reads all frames.
    pub fn new(
        source: &MeshSource,
        method: MethodChoice,
        remarks: &mut Vec<Remark>,
    ) -> Result<PositionScan, Error> {
        let mesh = &*source.mesh;
        let fixed = method != MethodChoice::Fluid && sample::has_fixed_topology(mesh, &source.times)?;
        let mut scan = PositionScan {
            first: source.fallback.clone(),
            seconds: source.seconds,
            ..PositionScan::default()
        };
        let (mut object, mut placed, mut alone) = (Vec::new(), Vec::new(), Vec::new());
        let (mut mended, mut steady) = (0usize, true);
        let mut runs = RunFinder::default();
        for frame in 0..source.times.len() {
            let time = source.times[frame];
            source.cancellation.check()?;
            sample::positions_at(mesh, time, &mut object)?;
            // Replaced points say nothing about the size of the mesh.
            let mut own = Extent::<3>::default();
            own.extend(object.iter().filter(|p| is_usable_point(p)));
            scan.add_bounds(&own);
            let bad = replace_non_finite(&mut object, &scan.first);
            mended += bad;
            source.to_file_space(frame, &object, &mut placed);
            if !placed.as_flattened().iter().all(|v| v.is_finite()) {
                return Err(beyond_float32(mesh, frame));
            }
            scan.extent.extend(&placed);
            if bad > 0 {
                // If faces change, no first frame is used to replace damaged points.
                sample::positions_at(mesh, time, &mut alone)?;
                replace_non_finite(&mut alone, &[]);
                source.to_file_space(frame, &alone, &mut placed);
                scan.extent.extend(&placed);
            }
            if !fixed {
                // In the way in which frames with changing faces are read later.
                runs.add(mesh, time, if bad == 0 { &object } else { &alone })?;
            }
            scan.points = scan.points.max(placed.len());
            scan.points_total += placed.len() as u64;
            scan.compare(frame, &object, fixed, &mut steady);
        }
        let moves = |all: &Vec<glam::DMat4>| all.iter().any(|m| *m != all[0]);
        scan.moving |= source.matrices.as_ref().is_some_and(moves);
        if mended > 0 {
            let what = format!(
                "{mended} positions (over all frames) are not finite or beyond {MAX_COORDINATE:e} and were replaced"
            );
            remarks.push(Remark::new(&mesh.path, what));
        }
        runs.end();
        if let Some(remeshed) = &source.remeshed {
            // Tolerances follow from the source's size.
            scan.object_extent = remeshed.extent;
        }
        scan.fixed = fixed && steady;
        scan.points_total += (scan.points * (source.frames - source.times.len())) as u64;
        if !scan.fixed && !matches!(method, MethodChoice::Auto | MethodChoice::Fluid) {
            let what = "its faces change, so it gets the method fluid; --method is for fixed faces, which --remesh makes";
            remarks.push(Remark::new(&mesh.path, what));
        }
        (scan.runs, scan.run_welds) = (runs.lead, runs.welds);
        if !scan.fixed && scan.runs.is_empty() {
            // The same faces on a changing number of points: each frame is a run of its own.
            scan.runs = (0..source.times.len() as u32).collect();
        }
        Ok(scan)
    }

    /// Adds the bounds of the next frame, in object space.
    pub fn add_bounds(&mut self, own: &Extent<3>) {
        self.object_extent.join(own);
        self.diagonals.push(diagonal(own));
    }

    /// Compares a frame with the first one: whether it moves, and which points still coincide.
    fn compare(&mut self, frame: usize, object: &[[f32; 3]], fixed: bool, steady: &mut bool) {
        if frame == 0 {
            self.first = object.to_vec();
            let mut classes = Splitter::new(&vec![0; if fixed { object.len() } else { 0 }]);
            classes.refine(|p| split::all_bits(object[p as usize]));
            self.weld = (classes.class_count() < object.len() && fixed).then_some(classes);
            return;
        }
        self.moving |= object != self.first;
        *steady &= object.len() == self.first.len();
        if let (Some(classes), true) = (&mut self.weld, *steady) {
            classes.refine(|p| split::all_bits(object[p as usize]));
        }
    }
}

/// Returns the error for a mesh that a transform moves beyond float32.
pub fn beyond_float32(mesh: &Mesh, frame: usize) -> Error {
    Error::Unsupported {
        what: format!("{}: its transform takes it beyond what float32 holds (frame {frame})", mesh.path),
    }
}

/// Finds runs of equal faces, frame by frame.
#[derive(Default)]
struct RunFinder {
    lead: Vec<u32>,
    welds: BTreeMap<u32, Vec<u32>>,
    faces: sample::Faces,
    identity: (u128, u128),
    /// Points of the run's first frame.
    first: Vec<[f32; 3]>,
    /// Points that coincide in all frames of the run so far, if it has several.
    classes: Option<Splitter>,
}

impl RunFinder {
    fn add(&mut self, mesh: &Mesh, time: f64, object: &[[f32; 3]]) -> Result<(), Error> {
        let identity = sample::topology_identity(mesh, time);
        let mut goes_on = !self.lead.is_empty() && object.len() == self.first.len();
        if goes_on && identity != self.identity {
            let mut faces = sample::Faces::default();
            sample::faces_at(mesh, time, &mut faces)?;
            goes_on = faces == self.faces;
            self.faces = faces;
        } else if !goes_on {
            sample::faces_at(mesh, time, &mut self.faces)?;
        }
        self.identity = identity;
        if !goes_on {
            self.end();
            self.first.clear();
            self.first.extend_from_slice(object);
        }
        let lead = match self.lead.last() {
            Some(&lead) if goes_on => lead,
            _ => self.lead.len() as u32,
        };
        self.lead.push(lead);
        if goes_on {
            let first = &self.first;
            let classes = self.classes.get_or_insert_with(|| {
                let mut classes = Splitter::new(&vec![0; first.len()]);
                classes.refine(|p| split::all_bits(first[p as usize]));
                classes
            });
            classes.refine(|p| split::all_bits(object[p as usize]));
        }
        Ok(())
    }

    /// Ends the last run.
    fn end(&mut self) {
        let points = self.first.len();
        let classes = self.classes.take().filter(|c| c.class_count() < points);
        if let (Some(classes), Some(&lead)) = (classes, self.lead.last()) {
            let mut first = vec![split::NO_INDEX; classes.class_count()];
            let of = |p: u32| {
                let first = &mut first[classes.class_of(p) as usize];
                *first = (*first).min(p);
                *first
            };
            self.welds.insert(lead, (0..points as u32).map(of).collect());
        }
    }
}
