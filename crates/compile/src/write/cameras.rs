//! Cameras: the settings of their lenses in each frame, rounded to f32.

use crate::Error;
use crate::clip::scalars::encode_component;
use crate::nodes::flatten::FlatNode;
use crate::write::job::Job;
use meshreel_codec::clip::scalars::{MAX_VALUES, ScalarTrack, ScalarsRecord};
use meshreel_codec::record::cameras::CameraRecord;
use meshreel_options::Tolerance;
use meshreel_scene::{Lens, sample};

/// Returns the cameras at nodes of the file, in the order of the source.
pub fn collect_cameras(job: &Job) -> Result<Vec<CameraRecord>, Error> {
    if !job.content.options.channels.attributes {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for (i, place) in job.content.placed.iter().enumerate() {
        let Some(camera) = &job.content.scene.nodes[place.node].camera else {
            continue;
        };
        let Some(node) = locator_node(&job.nodes, i).or_else(|| locator_node(&job.nodes, place.parent?))
        else {
            continue;
        };
        let lenses: Vec<_> =
            sample::lenses_at(camera, &job.content.times)?.iter().map(Lens::tracks).collect();
        if lenses.is_empty() {
            continue;
        }
        let mut tracks = Vec::new();
        for (t, (name, count)) in Lens::TRACKS.into_iter().enumerate() {
            let mut components = Vec::new();
            for k in 0..count {
                let values: Vec<f64> = lenses.iter().map(|lens| lens[t][k]).collect();
                let found = encode_component(&values, Tolerance::Absolute(0.0));
                let beyond = || Error::Unsupported {
                    what: format!(
                        "{}: {name} of the camera is a number beyond those of f32, or none",
                        place.path
                    ),
                };
                components.push(found.ok_or_else(beyond)?.0);
            }
            tracks.push(ScalarTrack { name: name.into(), components });
        }
        let samples = job.content.times.len();
        if samples.saturating_mul(Lens::TRACKS.len()) > MAX_VALUES {
            return Err(Error::Unsupported { what: format!("{}: too many frames of a camera", place.path) });
        }
        let lens = ScalarsRecord { clip: node as u32, samples: samples as u32, tracks, markers: Vec::new() };
        out.push(CameraRecord { path: place.path.clone(), node: node as u32, lens });
    }
    Ok(out)
}

/// Returns the locator that stands for an object.
fn locator_node(nodes: &[FlatNode], placed: usize) -> Option<usize> {
    nodes.iter().position(|node| node.named == placed && node.half_size.is_some())
}
