//! What rides along in a clip: scalar tracks, and events at times.

use super::events::{Events, passed};
use super::pose_source::PoseSource;
use super::query::{Query, Repeats, locate};
use super::streamed::Clip;
use crate::Error;
use meshreel_codec::clip::scalars::{Marker, ScalarTrack};

impl Clip {
    /// Tracks of one to four numbers, such as the weights of morph targets.
    pub fn scalar_tracks(&self) -> &[ScalarTrack] {
        &self.shared.extras.tracks
    }

    /// The numbers of a scalar track; components that it does not have are 0. Interpolated linearly, as
    /// `query.rounding` says. Allocates nothing.
    pub fn scalar(&self, track: usize, query: &Query<'_>) -> Result<[f32; 4], Error> {
        match self.scalar_tracks().get(track) {
            Some(track) => Ok(self.mixed(track, query)),
            None => Err(Error::misuse(format!("scalar track {track} of {}", self.scalar_tracks().len()))),
        }
    }

    /// The numbers of all scalar tracks, one after the other, as far as there is room in `out`.
    pub fn scalars(&self, query: &Query<'_>, out: &mut [[f32; 4]]) {
        for (track, out) in self.scalar_tracks().iter().zip(out) {
            *out = self.mixed(track, query);
        }
    }

    fn mixed(&self, track: &ScalarTrack, query: &Query<'_>) -> [f32; 4] {
        let found = locate(self.samples(), self.fps(), query.seconds, query.repeats);
        let (left, right, part) = found;
        let part = query.rounding.part(part as f32);
        let (a, b) = (track.at(left), track.at(right));
        match part {
            0.0 => a,
            1.0 => b,
            _ => std::array::from_fn(|i| a[i] + (b[i] - a[i]) * part),
        }
    }

    /// Events, in the order of time.
    pub fn markers(&self) -> &[Marker] {
        &self.shared.extras.markers
    }

    /// The events that a step from `from` to `to` passes, in seconds after the first sample; in reverse if
    /// `to` is the smaller. With [`Repeats::Wrap`] they come again in every loop, of as many intervals as
    /// there are samples. See [`passed`]. Allocates nothing.
    pub fn events(&self, from: f64, to: f64, repeats: Repeats) -> Events<'_> {
        let period = self.samples() as f64 / self.fps();
        passed(self.markers(), period, (from, to), repeats)
    }
}
