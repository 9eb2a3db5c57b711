//! Cameras: reads the lens.

use super::channel::{Place, f64s};
use super::core::{Pod, PropertyHeader, PropertyKind};
use crate::{Channel, Lens};

/// The number of values in `.core`, which has a fixed order.
const CORE: usize = 16;

/// Returns the lens of the camera in the compound with `properties`, or `None` if it cannot be read.
pub fn read(place: &Place, properties: &[PropertyHeader]) -> Option<Channel<Lens>> {
    let core = properties.iter().find(|p| p.name == ".core")?;
    let is = core.kind != PropertyKind::Compound && core.samples > 0 && core.extent == CORE;
    if !is || !matches!(core.pod, Pod::F64 | Pod::F32) {
        return None;
    }
    let pod = core.pod;
    let decode = move |bytes: &[u8], out: &mut Vec<Lens>| {
        let mut numbers = Vec::new();
        f64s(pod, bytes, &mut numbers);
        out.extend(numbers.as_chunks::<CORE>().0.first().map(lens));
    };
    Some(place.channel(core, Box::new(decode)))
}

/// Converts the values of `.core`, which measures film in centimetres.
fn lens(core: &[f64; CORE]) -> Lens {
    const FILM: f64 = 10.0;
    let &[
        focal_length,
        width,
        across,
        height,
        upwards,
        squeeze,
        left,
        right,
        top,
        bottom,
        f_stop,
        focus_distance,
        opens,
        closes,
        near,
        far,
    ] = core;
    Lens {
        focal_length,
        aperture: [width * FILM, height * FILM],
        aperture_offset: [across * FILM, upwards * FILM],
        squeeze,
        overscan: [left, right, top, bottom],
        f_stop,
        focus_distance,
        shutter: [opens, closes],
        clipping: [near, far],
        orthographic: false,
    }
}
