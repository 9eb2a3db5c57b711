//! The cameras of a file with their lenses in each frame, for the page: `src/describe.js` reads them.

use crate::writer::Writer;
use meshreel::time::FramePair;
use meshreel::{Error, Reel};

/// Writes all cameras: their nodes, and the lens of each in each frame.
pub(crate) fn write_cameras(reel: &Reel, out: &mut Writer) -> Result<(), Error> {
    out.list(&reel.cameras()?, |out, camera| {
        out.text(camera.path());
        out.u32(camera.node());
        out.u32(usize::from(camera.is_animated()));
        out.u32(reel.frame_count());
        for frame in 0..reel.frame_count() {
            let lens = camera.lens(FramePair::single(frame as u32));
            out.f32(lens.focal_length);
            out.floats(&lens.aperture);
            out.floats(&lens.aperture_offset);
            out.f32(lens.squeeze);
            out.floats(&lens.overscan);
            out.f32(lens.f_stop);
            out.f32(lens.focus_distance);
            out.floats(&lens.shutter);
            out.floats(&lens.clipping);
            out.u32(usize::from(lens.orthographic));
            out.f32(lens.vertical_angle());
        }
    });
    Ok(())
}
