//! Everything that a file shows as one number, to compare builds with each other and with
//! `testdata/golden/*/DIGESTS`.

use meshreel::{Error, FrameDecoder, Limits, Reel};
use meshreel_format::checksum;
use std::sync::Arc;

/// The checksum of all that a file shows: of each frame its time, the visibility and world matrix of each node,
/// and the triangles and vertex values of each mesh.
pub fn digest(bytes: Vec<u8>) -> Result<u64, Error> {
    let reel = Reel::from_source(Arc::new(bytes), &Limits::default())?;
    let mut decoder = FrameDecoder::new(&reel)?;
    let mut all = Vec::new();
    for frame in 0..reel.frame_count() {
        decoder.decode(frame)?;
        all.extend(reel.time(frame).to_le_bytes());
        for node in 0..reel.description().nodes.len() {
            all.push(u8::from(decoder.visible(node)));
            for number in decoder.world(node).concat() {
                all.extend(number.to_le_bytes());
            }
        }
        for mesh in 0..reel.description().meshes.len() {
            let view = decoder.mesh(mesh);
            let n = view.vertex_count();
            for index in view.indices() {
                all.extend(index.to_le_bytes());
            }
            let mut add = |components: usize, read: &dyn Fn(&mut [f32]) -> bool| {
                let mut out = vec![0.0; components * n];
                all.push(u8::from(read(&mut out)));
                for number in out {
                    all.extend(number.to_le_bytes());
                }
            };
            add(3, &|out| view.positions_into(out).is_ok());
            add(3, &|out| view.normals_into(out).is_ok());
            add(4, &|out| view.tangents_into(out).is_ok());
            add(2, &|out| view.uvs_into(0, out).is_ok());
            add(4, &|out| view.colours_into(0, out).is_ok());
        }
    }
    Ok(checksum(&all))
}
