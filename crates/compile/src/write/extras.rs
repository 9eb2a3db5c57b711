//! Data about whole meshes besides their frames: LOD levels, triangle visibility, part attributes.

use crate::Error;
use crate::clip::scalars::encode_component;
use crate::method::mesh_coder::MeshCoder;
use crate::nodes::flatten::FlatNode;
use crate::write::job::Job;
use crate::write::lod::{self, Lod};
use crate::write::part_attributes::{self, PartAttributes};
use crate::write::visibility::{self, EncodedVisibility};
use meshreel_codec::clip::scalars::{MAX_VALUES, ScalarTrack, ScalarsRecord};
use meshreel_codec::record::cameras::CameraRecord;
use meshreel_options::Tolerance;
use meshreel_scene::{Lens, Remark, sample};
use rayon::prelude::*;

/// The extras of all meshes, as requested.
pub struct Extras {
    /// LOD levels, by mesh.
    pub lods: Vec<Lod>,
    /// Triangle visibility, by mesh.
    pub visibility: Vec<EncodedVisibility>,
    /// Part attributes, of groups of nodes.
    pub attributes: Vec<PartAttributes>,
}

impl Extras {
    /// Makes the requested extras.
    pub fn new(job: &Job, coders: &[MeshCoder]) -> Result<Extras, Error> {
        let lods: Vec<Lod> = match job.content.options.lod {
            0 => Vec::new(),
            _ => {
                let plans = job.plans.par_iter();
                let all = plans.map(|(plan, _)| lod::make_lod(plan, &job.content.options));
                all.collect::<Result<_, Error>>()?
            }
        };
        let visibility: Vec<EncodedVisibility> = match job.content.options.cull_hidden {
            true => visibility::find_hidden(job)?,
            false => Vec::new(),
        };
        let attributes = part_attributes::collect_part_attributes(job, coders)?;
        let mut said: Vec<_> = (lods.iter()).flat_map(|own| own.remarks.clone()).collect();
        said.extend(visibility.iter().flat_map(|own| own.remarks.clone()));
        said.extend(attributes.iter().flat_map(|own| own.remarks.clone()));
        if job.content.options.strict && !said.is_empty() {
            return Err(Error::Strict { remarks: said });
        }
        Ok(Extras { lods, visibility, attributes })
    }

    /// Returns the remarks on a mesh.
    pub fn remarks(&self, mesh: usize) -> Vec<Remark> {
        let visibility = self.visibility.get(mesh).into_iter().flat_map(|own| own.remarks.clone());
        let lods = self.lods.get(mesh).into_iter().flat_map(|own| own.remarks.clone());
        visibility.chain(lods).chain(self.attributes_of(mesh).flat_map(|own| own.remarks.clone())).collect()
    }

    /// Returns the part attributes of a mesh.
    pub fn attributes_of(&self, mesh: usize) -> impl Iterator<Item = &PartAttributes> {
        self.attributes.iter().filter(move |own| own.mesh == mesh)
    }
}

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
