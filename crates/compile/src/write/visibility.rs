//! Triangle visibility: finds and encodes the frames in which each triangle is drawn.

use crate::Error;
use crate::mesh::prepared::welded_points;
use crate::report::HiddenTriangles;
use crate::write::job::Job;
use glam::{DMat4, DVec3};
use meshreel_codec::topology::visibility;
use meshreel_codec::topology::visibility::{Interval, sort_key};
use meshreel_process::visibility::{Body, visible_intervals};
use meshreel_scene::Remark;
use meshreel_scene::sample::World;

/// Triangle visibility of a mesh.
#[derive(Default)]
pub struct EncodedVisibility {
    /// Encoded intervals; empty if all triangles are always drawn.
    pub bytes: Vec<u8>,
    /// The numbers of triangles that are left out in the first frame, in the last, and in all frames.
    pub hidden: HiddenTriangles,
    /// Remarks for the user.
    pub remarks: Vec<Remark>,
}

/// Finds the hidden triangles of all meshes.
pub fn find_hidden(job: &Job) -> Result<Vec<EncodedVisibility>, Error> {
    let mut out: Vec<EncodedVisibility> = Vec::new();
    out.resize_with(job.plans.len(), EncodedVisibility::default);
    let frames = job.content.times.len() as u32;
    if frames < 3 {
        return Ok(out);
    }
    let (mut bodies, mut places) = (Vec::new(), Vec::new());
    for (mesh, (plan, placements)) in job.plans.iter().enumerate() {
        let Some(fixed) = &plan.prepared.fixed else {
            continue;
        };
        for &placement in placements {
            bodies.push(Body {
                triangles: fixed.indices.as_chunks().0,
                vertex_point: &fixed.vertex_point,
                point: welded_points(fixed),
                rest_tolerance: job.tolerances[placement].tolerance,
                visible: &job.motion.visible[placement],
                wanted: placements.len() == 1,
            });
            places.push((mesh, placement));
        }
    }
    let mut world = World::new(&job.content.scene, &job.content.placed)?;
    let (mut at, mut raw) = (usize::MAX, Vec::new());
    let mut read = |frame: usize, body: usize, out: &mut Vec<DVec3>| {
        if at != frame {
            world.evaluate(job.content.times[frame])?;
            at = frame;
        }
        world_points(job, &world, places[body], frame, &mut raw, out)
    };
    let when = visible_intervals(&bodies, frames, &mut read, &job.content.cancellation)?;
    for ((mesh, _), when) in places.into_iter().zip(when) {
        let out = &mut out[mesh];
        let (plan, placements) = &job.plans[mesh];
        if placements.len() > 1 {
            if out.remarks.is_empty() {
                let what = "is shown in several places, each with other neighbours: nothing of it is culled";
                out.remarks.push(Remark::new(&plan.path, what));
            }
            continue;
        }
        encode(&when, frames, out);
    }
    Ok(out)
}

/// Encodes `when`: by triangle, the frames in which it is drawn.
fn encode(when: &[Interval], frames: u32, out: &mut EncodedVisibility) {
    let mut intervals = when.to_vec();
    intervals.sort_unstable_by_key(|&i| sort_key(i, frames));
    intervals.dedup();
    // Also if there are no triangles.
    if intervals.iter().all(|i| *i == [0, frames]) {
        return;
    }
    let number = |i: &Interval| {
        let own = sort_key(*i, frames);
        intervals.partition_point(|&o| sort_key(o, frames) < own) as u32
    };
    let which: Vec<u32> = when.iter().map(number).collect();
    visibility::encode(&intervals, &which, frames, &mut out.bytes);
    let count = |f: &dyn Fn(Interval) -> bool| when.iter().filter(|i| f(**i)).count();
    let gone = |f: u32| move |i: Interval| !visibility::is_visible(i, f, f);
    out.hidden = HiddenTriangles {
        first_frame: count(&gone(0)),
        last_frame: count(&gone(frames - 1)),
        all_frames: count(&|[from, to]| from >= to),
    };
}

/// Returns the points of a mesh at a placement, in world space, in a frame.
fn world_points(
    job: &Job,
    world: &World<'_>,
    (mesh, placement): (usize, usize),
    frame: usize,
    raw: &mut Vec<[f32; 3]>,
    out: &mut Vec<DVec3>,
) -> Result<(), Error> {
    let source = &job.plans[mesh].0.source;
    let own = source.own_frame(frame);
    let fixed = job.plans[mesh].0.prepared.fixed.as_ref();
    let first = fixed.map_or(&[][..], |f| &f.first_points);
    source.object_points(own, first, raw)?;
    let matrix: &DMat4 = match &source.matrices {
        Some(matrices) => &matrices[own],
        None => &world.matrix[placement],
    };
    out.clear();
    let point = |p: &[f32; 3]| matrix.transform_point3(DVec3::from_array(p.map(f64::from)));
    out.extend(raw.iter().map(point));
    Ok(())
}
