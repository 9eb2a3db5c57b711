//! First pass over the positions of a mesh in all frames: bounds, motion, coincident points, and, where faces
//! change, runs of frames with the same faces.

use crate::Error;
use crate::mesh::source::{MeshSource, replace_non_finite};
use meshreel_options::MethodChoice;
use meshreel_process::extent::{Extent, MAX_COORDINATE, diagonal, is_usable_point};
use meshreel_process::split::{self, Splitter};
use meshreel_scene::{Mesh, Remark, sample};
use std::collections::BTreeMap;

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
