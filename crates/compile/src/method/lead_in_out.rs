//! The frames of a mesh that moves only in some frames of the file: its own units, and the end states in
//! which it stands still before and after.

use crate::Error;
use crate::mesh::plan::MeshPlan;
use crate::mesh::streams::EMPTY_BOUNDS;
use crate::method::coder::{FrameMeasure, Payload};
use meshreel_codec::schedule::{FrameWindow, Schedule, Unit};
use std::sync::{Mutex, PoisonError};

/// The frames of a mesh that stands still at the start or at the end, for units that extend beyond its own
/// frames.
pub struct LeadInOut {
    /// The frames that are coded.
    pub window: FrameWindow,
    /// Frames and units of the file.
    pub file: Schedule,
    /// Bounds of the two end states.
    bounds: [[f32; 6]; 2],
    /// Its payloads in its first and its last frame, if it stands still before, or after.
    pub end_payloads: Mutex<[Option<Payload>; 2]>,
}

impl LeadInOut {
    /// Returns the lead-in and lead-out; `None` if the mesh is coded in all frames.
    pub fn new(plan: &MeshPlan, file: Schedule) -> Result<Option<LeadInOut>, Error> {
        let Some([first, last]) = plan.source.moves else {
            return Ok(None);
        };
        let window = file.window(first, last);
        if (window.start, window.end) == (0, file.frames() - 1) {
            return Ok(None);
        }
        let (mut object, mut points) = (Vec::new(), Vec::new());
        let mut bounds = [EMPTY_BOUNDS; 2];
        for (frame, bounds) in [0, plan.source.times.len() - 1].into_iter().zip(&mut bounds) {
            let fixed = plan.prepared.fixed.as_ref();
            let fallback = fixed.map_or(&[][..], |f| &f.first_points);
            plan.source.object_points(frame, fallback, &mut object)?;
            plan.source.to_file_space(frame, &object, &mut points);
            for p in &points {
                for k in 0..3 {
                    let [low, high] = [-plan.error_bound, plan.error_bound].map(|r| f64::from(p[k]) + r);
                    bounds[k] = bounds[k].min((low as f32).next_down());
                    bounds[k + 3] = bounds[k + 3].max((high as f32).next_up());
                }
            }
        }
        Ok(Some(LeadInOut { window, file, bounds, end_payloads: Mutex::default() }))
    }

    /// Returns the payloads of units of the file, given those of the mesh's own units.
    pub fn file_payloads(&self, units: &[Unit], own: Vec<Payload>) -> Vec<Payload> {
        let (FrameWindow { start, end }, mut own) = (self.window, own.into_iter());
        let payload = |&unit: &Unit| {
            let frames = self.file.frames_of(unit);
            let inside = self.file.unit_within(self.window, unit);
            let Some(mut payload) = inside.and_then(|_| own.next()) else {
                let bounds = self.bounds[usize::from(frames.first().is_some_and(|&f| f > end))];
                let seen = |&frame: &u32| (frame, FrameMeasure { bounds, error: 0.0 });
                return Payload { measures: frames.iter().map(seen).collect(), ..Payload::default() };
            };
            payload.measures.iter_mut().for_each(|(frame, _)| *frame += start);
            let end = match frames[..] {
                [frame] if frame == start && start > 0 => 0,
                [frame] if frame == end && end + 1 < self.file.frames() => 1,
                _ => return payload,
            };
            let mut ends = self.end_payloads.lock().unwrap_or_else(PoisonError::into_inner);
            let seen = payload.measures.clone();
            ends[end] = Some(payload);
            Payload { measures: seen, ..Payload::default() }
        };
        units.iter().map(payload).collect()
    }
}
