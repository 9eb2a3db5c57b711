//! Writes cameras with their lenses.

use super::plan::ArchivePlan;
use super::property::{Content, Property};
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::{Channel, Lens};

/// Adds a camera as a child of `parent`.
pub(super) fn add_camera<'a>(
    plan: &mut ArchivePlan<'a>,
    camera: &'a Channel<Lens>,
    parent: usize,
    name: &str,
) -> usize {
    const SCHEMA: &str = "AbcGeom_Camera_v1";
    let object = plan.add_object(parent, name, &format!("schema={SCHEMA};schemaObjTitle={SCHEMA}:.geom"));
    let mut values = Vec::new();
    let core = plan.channel(".core", "", camera, (true, Pod::F64, 16), move |i, out| {
        camera.read(i, &mut values)?;
        let lens = values.first().copied().unwrap_or_default();
        out.extend(core(&lens).iter().flat_map(|v| v.to_le_bytes()));
        Ok(())
    });
    plan.objects[object].properties.push(Property {
        name: ".geom".into(),
        meta: format!("schema={SCHEMA}"),
        content: Content::Compound(vec![core]),
    });
    object
}

/// Converts millimetres to the centimetres of a film back, so that they read back as the same value.
fn film(millimetres: f64) -> f64 {
    let near = millimetres / 10.0;
    let reads = |v: &f64| v * 10.0 == millimetres;
    [near, near.next_down(), near.next_up()].into_iter().find(reads).unwrap_or(near)
}

/// Returns the numbers of the property `.core`.
fn core(lens: &Lens) -> [f64; 16] {
    let [left, right, top, bottom] = lens.overscan;
    [
        lens.focal_length,
        film(lens.aperture[0]),
        film(lens.aperture_offset[0]),
        film(lens.aperture[1]),
        film(lens.aperture_offset[1]),
        lens.squeeze,
        left,
        right,
        top,
        bottom,
        lens.f_stop,
        lens.focus_distance,
        lens.shutter[0],
        lens.shutter[1],
        lens.clipping[0],
        lens.clipping[1],
    ]
}
