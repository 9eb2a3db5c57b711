//! Numeric attributes over time, which define lenses and shapes without points.

use super::compose::{Prim, Stage};
use super::samples::{Timeline, f64s};
use meshreel_scene::{Channel, Error, Identity, TimeSampling};
use std::sync::Arc;

/// Some attributes of a prim, identified by index.
pub struct Parameters {
    channels: Vec<Option<Channel<f64>>>,
    sampling: Arc<TimeSampling>,
    times: Vec<f64>,
}

impl Parameters {
    /// Reads the attributes. The one with the most samples determines the sample times.
    pub fn read(
        stage: &mut Stage,
        prim: &Prim,
        timeline: &mut Timeline,
        names: impl IntoIterator<Item = &'static str>,
    ) -> Result<Parameters, Error> {
        let mut channels: Vec<Option<Channel<f64>>> = Vec::new();
        for name in names {
            let attribute = stage.attribute(prim, name)?;
            channels.push(attribute.map(|attribute| timeline.channel(&attribute, f64s())));
        }
        let longest = channels.iter().flatten().max_by_key(|channel| channel.len());
        let (sampling, samples) = match longest {
            Some(channel) => (channel.sampling().clone(), channel.len().max(1)),
            None => (Channel::<f64>::constant(Vec::new()).sampling().clone(), 1),
        };
        let times = (0..samples).map(|i| sampling.time(i)).collect();
        Ok(Parameters { channels, sampling, times })
    }

    pub fn sampling(&self) -> Arc<TimeSampling> {
        self.sampling.clone()
    }

    pub fn samples(&self) -> usize {
        self.times.len()
    }

    /// Returns the identity of sample `i`; the same for all samples if nothing changes.
    pub fn identity(&self, i: usize) -> Identity {
        let changes = self.channels.iter().flatten().any(|channel| !channel.is_constant());
        if changes { i as Identity } else { 0 }
    }

    /// Returns `N` numbers of an attribute at a sample; `None` if the file states no value.
    pub fn value<const N: usize>(&self, attribute: usize, sample: usize) -> Result<Option<[f64; N]>, Error> {
        let channel = self.channels.get(attribute).and_then(Option::as_ref);
        let Some(channel) = channel.filter(|channel| !channel.is_empty()) else {
            return Ok(None);
        };
        let time = self.times.get(sample).copied().unwrap_or_default();
        let mut numbers = Vec::new();
        let (i, fraction) = channel.locate(time);
        channel.read(i, &mut numbers)?;
        let Some(first) = numbers.first_chunk::<N>().copied() else {
            return Ok(None);
        };
        let mut out = first;
        if fraction > 0.0 {
            channel.read(i + 1, &mut numbers)?;
            for (out, next) in out.iter_mut().zip(&numbers) {
                *out += (next - *out) * fraction;
            }
        }
        Ok(Some(out))
    }
}
