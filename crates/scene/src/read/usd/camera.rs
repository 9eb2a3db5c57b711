//! Camera: what its lens says, attribute by attribute.

use super::compose::{Prim, Stage};
use super::samples::{Timeline, f64s};
use crate::{Channel, Error, Identity, Lens, Source};
use std::sync::Arc;

/// Names of attributes, and how many numbers each has; what nothing is said of is the format's default.
const ATTRIBUTES: [(&str, usize); 10] = [
    ("focalLength", 1),
    ("horizontalAperture", 1),
    ("verticalAperture", 1),
    ("horizontalApertureOffset", 1),
    ("verticalApertureOffset", 1),
    ("fStop", 1),
    ("focusDistance", 1),
    ("shutter:open", 1),
    ("shutter:close", 1),
    ("clippingRange", 2),
];

/// The lens of a camera. Lengths of film are tenths of the scene's unit in the format, which all that write it
/// take for millimetres; times are in frames.
pub fn read(
    stage: &mut Stage,
    prim: &Prim,
    timeline: &mut Timeline,
    rate: f64,
) -> Result<Channel<Lens>, Error> {
    let mut channels: Vec<Option<Channel<f64>>> = Vec::new();
    for (name, _) in ATTRIBUTES {
        let attribute = stage.attribute(prim, name)?;
        channels.push(attribute.map(|attribute| timeline.channel(&attribute, f64s())));
    }
    let orthographic = stage.attribute_text(prim, "projection")?.as_deref() == Some("orthographic");
    // The one with most samples says when there are some.
    let longest = channels.iter().flatten().max_by_key(|channel| channel.len());
    let (sampling, samples) = match longest {
        Some(channel) => (channel.sampling().clone(), channel.len().max(1)),
        None => (Channel::<f64>::constant(Vec::new()).sampling().clone(), 1),
    };
    let times: Vec<f64> = (0..samples).map(|i| sampling.time(i)).collect();
    Ok(Channel::new(sampling, Arc::new(Lenses { channels, times, orthographic, rate })))
}

struct Lenses {
    /// In the order of [`ATTRIBUTES`].
    channels: Vec<Option<Channel<f64>>>,
    times: Vec<f64>,
    orthographic: bool,
    /// Frames per second.
    rate: f64,
}

impl Lenses {
    /// Numbers of an attribute at a time; none where nothing is said.
    fn at(&self, attribute: usize, time: f64) -> Result<Option<[f64; 2]>, Error> {
        let Some(channel) = self.channels[attribute].as_ref().filter(|channel| !channel.is_empty()) else {
            return Ok(None);
        };
        let count = ATTRIBUTES[attribute].1;
        let mut numbers = Vec::new();
        let (i, fraction) = channel.locate(time);
        channel.read(i, &mut numbers)?;
        if numbers.len() < count {
            return Ok(None);
        }
        let mut out = [0.0; 2];
        out[..count].copy_from_slice(&numbers[..count]);
        if fraction > 0.0 {
            channel.read(i + 1, &mut numbers)?;
            for (out, next) in out[..count].iter_mut().zip(&numbers) {
                *out += (next - *out) * fraction;
            }
        }
        Ok(Some(out))
    }
}

impl Source<Lens> for Lenses {
    fn len(&self) -> usize {
        self.times.len()
    }

    fn identity(&self, i: usize) -> Identity {
        let changes = self.channels.iter().flatten().any(|channel| !channel.is_constant());
        if changes { i as Identity } else { 0 }
    }

    fn read(&self, i: usize, out: &mut Vec<Lens>) -> Result<(), Error> {
        let time = self.times.get(i).copied().unwrap_or_default();
        let one = |attribute: usize, otherwise: f64| -> Result<f64, Error> {
            Ok(self.at(attribute, time)?.map_or(otherwise, |numbers| numbers[0]))
        };
        out.clear();
        out.push(Lens {
            focal_length: one(0, 50.0)?,
            aperture: [one(1, 20.955)?, one(2, 15.2908)?],
            aperture_offset: [one(3, 0.0)?, one(4, 0.0)?],
            squeeze: 1.0,
            overscan: [0.0; 4],
            f_stop: one(5, 0.0)?,
            focus_distance: one(6, 0.0)?,
            shutter: [one(7, 0.0)? / self.rate, one(8, 0.0)? / self.rate],
            clipping: self.at(9, time)?.unwrap_or([1.0, 1_000_000.0]),
            orthographic: self.orthographic,
        });
        Ok(())
    }
}
