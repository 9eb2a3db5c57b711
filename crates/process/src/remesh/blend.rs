//! Loops: the last frames are moved towards the start, so that the motion continues there without a jump. The
//! missing offset at the seam is faded in, which preserves the motion; a fade between two shapes would slow
//! it down.

use super::runs::Run;
use super::surface::Surface;
use super::track::{compare, track_step};
use crate::Error;
use glam::DVec3;
use meshreel_scene::{Mesh, sample};

/// Blends the last `window` frames. Returns the number of blended frames, or the reason why there are none.
#[allow(clippy::type_complexity)]
pub fn blend(
    runs: &mut [Run],
    read: &(dyn Fn(usize) -> Result<Surface, Error> + Sync),
    times: &[f64],
    mesh: &Mesh,
    limit: f64,
    window: usize,
    always: bool,
) -> Result<Result<usize, String>, Error> {
    let frames = times.len();
    if !always {
        return Ok(Err("it is not visible in all frames".into()));
    }
    let Some(run) = runs.last_mut().filter(|run| run.first + run.points.len() == frames) else {
        return Ok(Err("the last frames have faces of their own".into()));
    };
    // The first frame of a run stays, since others refer to its shape.
    let window = window.min(run.points.len() - 1);
    if window == 0 {
        return Ok(Err("no frames are left to blend".into()));
    }
    let last = widened(&run.points[run.points.len() - 1]);
    let on: Vec<DVec3> = match run.points.len() {
        0 | 1 => last.clone(),
        n => {
            let before = widened(&run.points[n - 2]);
            last.iter().zip(&before).map(|(a, b)| *a * 2.0 - *b).collect()
        }
    };
    let closes = closes(mesh, times)?;
    let from = if closes { &last } else { &on };
    let to = match run.first {
        0 => widened(&run.points[0]),
        _ => {
            let surface = read(0)?;
            let to = track_step(&run.template, &last, Some(&on), &surface);
            let there = compare(&run.template, &to, &surface, limit);
            if there.worst > limit || there.folded > 0 {
                return Ok(Err("its faces cannot take the shape of the first frame".into()));
            }
            to
        }
    };
    let offset: Vec<DVec3> = to.iter().zip(from).map(|(to, from)| *to - *from).collect();
    // With equal ends the last frame is the first; else the first follows the last.
    let steps = if closes { window } else { window + 1 };
    let begin = run.points.len() - window;
    for (k, points) in run.points[begin..].iter_mut().enumerate() {
        let x = (k + 1) as f64 / steps as f64;
        let part = x * x * (3.0 - 2.0 * x);
        for (p, offset) in points.iter_mut().zip(&offset) {
            let moved = DVec3::from_array(p.map(f64::from)) + *offset * part;
            *p = moved.to_array().map(|v| v as f32);
        }
    }
    Ok(Ok(window))
}

/// Returns `true` if the last frame equals the first.
fn closes(mesh: &Mesh, times: &[f64]) -> Result<bool, Error> {
    let at = |time: f64| -> Result<_, Error> {
        let (mut points, mut faces) = (Vec::new(), sample::Faces::default());
        sample::positions_at(mesh, time, &mut points)?;
        sample::faces_at(mesh, time, &mut faces)?;
        Ok((points, faces))
    };
    Ok(at(times[0])? == at(times[times.len() - 1])?)
}

fn widened(points: &[[f32; 3]]) -> Vec<DVec3> {
    points.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect()
}
