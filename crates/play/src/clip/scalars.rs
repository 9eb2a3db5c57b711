//! Scalar tracks of a clip, and its events.

use super::events::{PassedMarkers, passed_markers};
use super::opened::Clip;
use super::query::{Query, Repeats, locate};
use crate::Error;
use meshreel_codec::clip::scalars::{Marker, ScalarTrack};

impl Clip {
    /// Returns the scalar tracks, each of one to four values, such as the weights of morph targets.
    #[must_use]
    pub fn scalar_tracks(&self) -> &[ScalarTrack] {
        &self.shared.scalars.tracks
    }

    /// Returns the values of a scalar track; components that it does not have are 0. They are interpolated
    /// linearly or rounded, according to `query.rounding`. Does not allocate.
    pub fn scalar(&self, track: usize, query: &Query<'_>) -> Result<[f32; 4], Error> {
        match self.scalar_tracks().get(track) {
            Some(track) => Ok(self.interpolated(track, query)),
            None => Err(Error::misuse(format!("scalar track {track} of {}", self.scalar_tracks().len()))),
        }
    }

    /// Writes the values of all scalar tracks, one after the other, as many as `out` has room for.
    pub fn scalars(&self, query: &Query<'_>, out: &mut [[f32; 4]]) {
        for (track, out) in self.scalar_tracks().iter().zip(out) {
            *out = self.interpolated(track, query);
        }
    }

    fn interpolated(&self, track: &ScalarTrack, query: &Query<'_>) -> [f32; 4] {
        let found = locate(self.samples(), self.fps(), query.seconds, query.repeats);
        let (left, right, part) = found;
        let part = query.rounding.weight(part as f32);
        let (a, b) = (track.values(left), track.values(right));
        match part {
            0.0 => a,
            1.0 => b,
            _ => std::array::from_fn(|i| a[i] + (b[i] - a[i]) * part),
        }
    }

    /// Returns the events, in order of time.
    #[must_use]
    pub fn markers(&self) -> &[Marker] {
        &self.shared.scalars.markers
    }

    /// Returns the events that a step from `from` to `to` passes, in seconds after the first sample; a
    /// reverse step if `to` is the smaller. With [`Repeats::Wrap`] they recur in every loop, whose length is
    /// as many intervals as there are samples. See [`passed_markers`]. Does not allocate.
    pub fn events(&self, from: f64, to: f64, repeats: Repeats) -> PassedMarkers<'_> {
        let period = self.samples() as f64 / self.fps();
        passed_markers(self.markers(), period, (from, to), repeats)
    }
}
