//! Batches: meshes of a file that one dispatch serves. The fixed words, the scratch between passes, and the
//! vertices of many meshes lie in the same buffers; a work list tells each workgroup its mesh and its first
//! item.

use crate::layout::VertexLayout;
use crate::params::Params;
use crate::plan::{MeshBlend, ReelPlan};
use crate::shaders::Pass;
use crate::workgroups;

/// The list of a dispatch begins at a multiple of this many workgroups: WebGPU's alignment of a binding with
/// an offset.
const LIST_ALIGNMENT: usize = 256 / size_of::<[u32; 2]>();
/// The first item of an idle workgroup: beyond the last one of any mesh.
const IDLE_ITEM: u32 = 1 << 31;

/// The place of a mesh in the buffers of its batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MeshPlacement {
    #[allow(missing_docs)]
    pub batch: usize,
    /// The first word of its fixed words; `scratch` and `vertices` are those of the data between its passes,
    /// and of its vertices.
    pub fixed: usize,
    #[allow(missing_docs)]
    pub scratch: usize,
    #[allow(missing_docs)]
    pub vertices: usize,
}

/// Meshes that share buffers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Batch {
    /// The numbers of the meshes.
    pub meshes: Vec<usize>,
    /// The words of each buffer; for vertices those of one moment.
    pub fixed: usize,
    #[allow(missing_docs)]
    pub scratch: usize,
    #[allow(missing_docs)]
    pub vertices: usize,
}

/// The batches of a file, with groups of meshes that have the same shaders.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Batches {
    #[allow(missing_docs)]
    pub batches: Vec<Batch>,
    /// The place of each mesh, by number.
    pub placements: Vec<MeshPlacement>,
    /// Meshes of one batch that have the same shaders.
    same_shaders: Vec<Vec<usize>>,
}

/// A pass over the meshes of a batch that have the same shaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dispatch {
    /// The entry point.
    pub pass: Pass,
    #[allow(missing_docs)]
    pub batch: usize,
    /// One of the meshes, which determines the shaders.
    pub mesh: usize,
    /// The index of its first workgroup in the work list.
    pub first: usize,
    /// The number of workgroups in x and y.
    pub groups: [u32; 2],
}

/// The work of all workgroups, and the dispatches that they belong to, in order. Keeps its memory from one
/// moment to the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkList {
    /// Per workgroup the number of the mesh whose parameters it uses, and its first item.
    pub work: Vec<[u32; 2]>,
    #[allow(missing_docs)]
    pub dispatches: Vec<Dispatch>,
}

impl Batches {
    /// Groups meshes into batches such that no buffer has more than `most` bytes, with room for the vertices
    /// of `moments` moments. A mesh that does not fit even alone has a batch of its own, as does one whose
    /// units the card decodes, which has its points in a ring of its own.
    #[must_use]
    pub fn new(plan: &ReelPlan, layout: &VertexLayout, moments: usize, most: u64) -> Batches {
        let mut out = Batches { batches: Vec::new(), placements: Vec::new(), same_shaders: Vec::new() };
        let mut open = None;
        for (number, mesh) in plan.meshes.iter().enumerate() {
            let vertices = mesh.vertex_words(layout);
            let fits = |batch: &Batch| {
                let words = [
                    batch.fixed + mesh.fixed.words.len(),
                    batch.scratch + mesh.scratch,
                    (batch.vertices + vertices) * moments,
                ];
                words.iter().all(|words| 4 * *words as u64 <= most)
            };
            let alone = mesh.fixed.coded.is_some();
            let batch = match open.filter(|at: &usize| !alone && fits(&out.batches[*at])) {
                Some(at) => at,
                None => {
                    out.batches.push(Batch::default());
                    out.batches.len() - 1
                }
            };
            if !alone {
                open = Some(batch);
            }
            let own = &mut out.batches[batch];
            out.placements.push(MeshPlacement {
                batch,
                fixed: own.fixed,
                scratch: own.scratch,
                vertices: own.vertices,
            });
            own.meshes.push(number);
            own.fixed += mesh.fixed.words.len();
            own.scratch += mesh.scratch;
            own.vertices += vertices;
            let same = |of: &&mut Vec<usize>| {
                out.placements[of[0]].batch == batch && plan.meshes[of[0]].variant() == mesh.variant()
            };
            match out.same_shaders.iter_mut().find(same) {
                Some(alike) => alike.push(number),
                None => out.same_shaders.push(vec![number]),
            }
        }
        out
    }

    /// Returns the fixed words of a batch.
    #[must_use]
    pub fn fixed_words(&self, plan: &ReelPlan, batch: usize) -> Vec<u32> {
        let words = self.batches[batch].meshes.iter().flat_map(|mesh| &plan.meshes[*mesh].fixed.words);
        words.copied().collect()
    }

    /// Returns the parameters of a moment of a mesh; [`MeshBlend::out`] is the beginning of the vertices of
    /// its batch.
    #[must_use]
    pub fn params(&self, plan: &ReelPlan, mesh: usize, moment: &MeshBlend) -> Params {
        let place = self.placements[mesh];
        let params = plan.meshes[mesh].params(moment).offset_by(place.fixed as u32, place.scratch as u32);
        Params { out: params.out + place.vertices as u32, ..params }
    }

    /// Writes the work for the meshes for which `params` returns the parameters of a moment, in workgroups of
    /// `group` invocations.
    pub fn write_work_list<'a>(
        &self,
        plan: &ReelPlan,
        layout: &VertexLayout,
        group: u32,
        params: impl Fn(usize) -> Option<&'a Params>,
        list: &mut WorkList,
    ) {
        list.work.clear();
        list.dispatches.clear();
        for &pass in Pass::ALL {
            for alike in &self.same_shaders {
                let first = list.work.len();
                for mesh in alike {
                    let Some(params) = params(*mesh) else { continue };
                    let items = plan.meshes[*mesh].items(pass, params, layout);
                    let starts = (0..items).step_by(group as usize);
                    list.work.extend(starts.map(|start| [*mesh as u32, start]));
                }
                let Some(groups) = workgroups::split_workgroups((list.work.len() - first) as u32) else {
                    continue;
                };
                let own = (groups[0] * groups[1]) as usize;
                list.work.resize(first + own.next_multiple_of(LIST_ALIGNMENT), [alike[0] as u32, IDLE_ITEM]);
                let batch = self.placements[alike[0]].batch;
                list.dispatches.push(Dispatch { pass, batch, mesh: alike[0], first, groups });
            }
        }
    }
}
