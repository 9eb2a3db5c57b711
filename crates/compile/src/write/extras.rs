//! Data about whole meshes besides their frames: LOD levels, triangle visibility, part attributes.

use crate::Error;
use crate::method::mesh_coder::MeshCoder;
use crate::write::job::Job;
use crate::write::lod::{self, Lod};
use crate::write::part_attributes::{self, PartAttributes};
use crate::write::visibility::{self, EncodedVisibility};
use meshreel_scene::Remark;
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
