//! Parts of a mesh that move rigidly, found from ids, from connectivity and from motion alone.
//!
//! Every part is verified: each of its points has been moved by the part's transform and compared in every
//! frame. Points that no part explains are left to another method.

mod analyse;
mod fit;
pub mod ids;
pub mod neighbours;
#[cfg(test)]
mod tests;

pub use analyse::{Parts, PartsRequest, find_parts, is_stiff};
pub use fit::{FitSums, Similarity, TransformModel};

use glam::DVec3;

/// The part number of a point without a part.
pub const NO_PART: u32 = u32::MAX;

/// Positions of all points in all frames, frame after frame.
#[derive(Clone, Debug)]
pub struct Trajectories {
    points: usize,
    positions: Vec<[f32; 3]>,
}

impl Trajectories {
    /// Creates the trajectories. `positions`: those of frame 0, then of frame 1, …; all finite.
    pub fn new(points: usize, positions: Vec<[f32; 3]>) -> Trajectories {
        debug_assert!(positions.len().is_multiple_of(points.max(1)));
        Trajectories { points, positions }
    }

    /// Returns some of the points, in the order of `chosen`.
    pub fn subset(&self, chosen: &[u32]) -> Trajectories {
        let frames = (0..self.frames()).map(|f| self.frame(f));
        let positions = frames.flat_map(|frame| chosen.iter().map(move |&p| frame[p as usize]));
        Trajectories::new(chosen.len(), positions.collect())
    }

    /// Returns the number of points.
    pub fn points(&self) -> usize {
        self.points
    }

    /// Returns the number of frames.
    pub fn frames(&self) -> usize {
        self.positions.len() / self.points.max(1)
    }

    /// Returns the positions of a frame.
    pub fn frame(&self, f: usize) -> &[[f32; 3]] {
        &self.positions[f * self.points..][..self.points]
    }

    /// Returns the position of a point in a frame.
    pub fn position(&self, f: usize, p: u32) -> DVec3 {
        DVec3::from_array(self.positions[f * self.points + p as usize].map(f64::from))
    }

    /// Returns the diagonal of the bounds of all points in all frames.
    pub fn diagonal(&self) -> f64 {
        let mut low = DVec3::INFINITY;
        let mut high = DVec3::NEG_INFINITY;
        for p in &self.positions {
            let p = DVec3::from_array(p.map(f64::from));
            low = low.min(p);
            high = high.max(p);
        }
        (high - low).max(DVec3::ZERO).length()
    }
}
