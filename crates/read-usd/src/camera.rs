//! Cameras: reads the attributes of the lens.

use super::compose::{Prim, Stage};
use super::parameters::Parameters;
use super::samples::Timeline;
use meshreel_scene::{Channel, Error, Identity, Lens, Source};
use std::sync::Arc;

/// The names of the attributes; an attribute without a value has the format's default.
const ATTRIBUTES: [&str; 10] = [
    "focalLength",
    "horizontalAperture",
    "verticalAperture",
    "horizontalApertureOffset",
    "verticalApertureOffset",
    "fStop",
    "focusDistance",
    "shutter:open",
    "shutter:close",
    "clippingRange",
];

/// Reads the lens of a camera. The format defines film lengths as tenths of the scene's unit, which all
/// writers take for millimetres; times are in frames.
pub fn read(
    stage: &mut Stage,
    prim: &Prim,
    timeline: &mut Timeline,
    rate: f64,
) -> Result<Channel<Lens>, Error> {
    let parameters = Parameters::read(stage, prim, timeline, ATTRIBUTES)?;
    let orthographic = stage.attribute_text(prim, "projection")?.as_deref() == Some("orthographic");
    let sampling = parameters.sampling();
    Ok(Channel::new(sampling, Arc::new(LensSource { parameters, orthographic, rate })))
}

struct LensSource {
    /// The values, in the order of [`ATTRIBUTES`].
    parameters: Parameters,
    orthographic: bool,
    /// Frames per second.
    rate: f64,
}

impl Source<Lens> for LensSource {
    fn len(&self) -> usize {
        self.parameters.samples()
    }

    fn identity(&self, i: usize) -> Identity {
        self.parameters.identity(i)
    }

    fn read(&self, i: usize, out: &mut Vec<Lens>) -> Result<(), Error> {
        let one = |attribute: usize, otherwise: f64| -> Result<f64, Error> {
            Ok(self.parameters.value(attribute, i)?.map_or(otherwise, |[number]| number))
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
            clipping: self.parameters.value(9, i)?.unwrap_or([1.0, 1_000_000.0]),
            orthographic: self.orthographic,
        });
        Ok(())
    }
}
