//! A camera: its node, and its lens settings in each frame. Each number has the precision of f32.
//!
//! | offset | size | name | meaning |
//! |---|---|---|---|
//! | 0 | text | `path` | path of the source object |
//! | … | rest | `lens` | [scalar tracks](#scalar-tracks-and-markers), `clip` being the number of its node, `samples` the number of frames of the file, without markers |
//!
//! Tracks by name, with their number of components: `focal_length` 1 · `aperture` 2 · `aperture_offset` 2 ·
//! `squeeze` 1 · `overscan` 4 · `f_stop` 1 · `focus_distance` 1 · `shutter` 2 · `clipping` 2 ·
//! `orthographic` 1. A reader ignores unknown tracks.

use crate::Corrupt;
use crate::bytes::Cursor;
use crate::clip::scalars;
use crate::clip::scalars::ScalarsRecord;
#[cfg(feature = "encode")]
use crate::record::fields::put_text;
use crate::record::fields::text;

/// A camera of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct CameraRecord {
    /// The path of the source object.
    pub path: String,
    /// The node whose transform it has; it looks along −z.
    pub node: u32,
    /// The settings of its lens.
    pub lens: ScalarsRecord,
}

/// Appends a camera.
#[cfg(feature = "encode")]
pub fn encode(camera: &CameraRecord, out: &mut Vec<u8>) {
    put_text(&camera.path, out);
    let lens = ScalarsRecord { clip: camera.node, ..camera.lens.clone() };
    scalars::encode(&lens, out);
}

/// Decodes a camera of a file with this many nodes and frames.
pub fn decode(bytes: &[u8], nodes: u32, frames: u32) -> Result<CameraRecord, Corrupt> {
    let mut c = Cursor::new(bytes);
    let path = text(&mut c)?;
    let lens = scalars::decode(c.bytes(c.left())?)?;
    if lens.clip >= nodes || lens.samples != frames || !lens.markers.is_empty() {
        return Err(Corrupt("a camera of another file"));
    }
    Ok(CameraRecord { path, node: lens.clip, lens })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::scalars::{Marker, ScalarComponent, ScalarTrack};

    fn camera() -> CameraRecord {
        let zoom = ScalarComponent::Animated { low: 35.0, step: 0.5, k: vec![0, 1, 3, 3] };
        let tracks = vec![
            ScalarTrack { name: "focal_length".into(), components: vec![zoom] },
            ScalarTrack {
                name: "aperture".into(),
                components: vec![ScalarComponent::Constant(36.0), ScalarComponent::Zero],
            },
        ];
        let lens = ScalarsRecord { clip: 3, samples: 4, tracks, markers: Vec::new() };
        CameraRecord { path: "/shot/cam".into(), node: 3, lens }
    }

    #[test]
    fn cameras_come_back_and_fit_their_file() {
        let (camera, mut bytes) = (camera(), Vec::new());
        encode(&camera, &mut bytes);
        assert_eq!(decode(&bytes, 4, 4).unwrap(), camera);
        assert!(decode(&bytes, 3, 4).is_err() && decode(&bytes, 4, 5).is_err());
        let marked = CameraRecord {
            lens: ScalarsRecord {
                markers: vec![Marker { name: "m".into(), time: 0.0 }],
                ..camera.lens.clone()
            },
            ..camera
        };
        bytes.clear();
        encode(&marked, &mut bytes);
        assert!(decode(&bytes, 4, 4).is_err());
    }

    #[test]
    fn truncated_and_flipped_cameras_are_refused_or_harmless() {
        let mut bytes = Vec::new();
        encode(&camera(), &mut bytes);
        for size in 0..bytes.len() {
            let _ = decode(&bytes[..size], 4, 4);
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&damaged, 4, 4);
        }
    }
}
