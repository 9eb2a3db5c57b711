//! Cameras: reads the lens.

use super::channel::{ArchiveObject, f64s};
use super::core::{PropertyHeader, PropertyKind};
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::{Channel, Lens};

/// The number of values in `.core`, which has a fixed order.
const CORE_VALUES: usize = 16;

/// Returns the lens of the camera in the compound with `properties`, or `None` if it cannot be read.
pub fn read(object: &ArchiveObject, properties: &[PropertyHeader]) -> Option<Channel<Lens>> {
    let core = properties.iter().find(|p| p.name == ".core")?;
    let is = core.kind != PropertyKind::Compound && core.samples > 0 && core.extent == CORE_VALUES;
    if !is || !matches!(core.pod, Pod::F64 | Pod::F32) {
        return None;
    }
    let pod = core.pod;
    let decode = move |bytes: &[u8], out: &mut Vec<Lens>| {
        let mut numbers = Vec::new();
        f64s(pod, bytes, &mut numbers);
        out.extend(numbers.as_chunks::<CORE_VALUES>().0.first().map(lens));
    };
    Some(object.channel(core, Box::new(decode)))
}

/// Converts the values of `.core`, which measures film in centimetres.
fn lens(core: &[f64; CORE_VALUES]) -> Lens {
    const MILLIMETRES_PER_CENTIMETRE: f64 = 10.0;
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
        aperture: [width * MILLIMETRES_PER_CENTIMETRE, height * MILLIMETRES_PER_CENTIMETRE],
        aperture_offset: [across * MILLIMETRES_PER_CENTIMETRE, upwards * MILLIMETRES_PER_CENTIMETRE],
        squeeze,
        overscan: [left, right, top, bottom],
        f_stop,
        focus_distance,
        shutter: [opens, closes],
        clipping: [near, far],
        orthographic: false,
    }
}
