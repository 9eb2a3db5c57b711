//! Meshes with the rig that they had in the source: any pose of the skeleton moves them, whether of a clip,
//! blended, or made by a game.

use crate::clip::SkeletonRecord;
use crate::decode::bones::BoneMatrix;
use crate::reel::open_file::Reel;
use crate::{Error, error};
use meshreel_codec::Corrupt;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::mesh::rig;
use meshreel_codec::mesh::rig::Rig;
use meshreel_codec::topology::lod::LodEntries;
use meshreel_format::kind;
use std::sync::Arc;

/// The rig of a mesh. Clones share it. Its results are in the space of the skeleton, that of
/// [`crate::clip::object_space`]. Nothing but opening allocates.
///
/// ```no_run
/// use meshreel::clip::{Query, blend, object_space};
/// use meshreel::{Limits, Reel, Transform};
///
/// # fn main() -> Result<(), meshreel::Error> {
/// let reel = Reel::open("hero.reel", &Limits::default())?;
/// let (rigs, clips, skeletons) = (reel.rigs()?, reel.clips()?, reel.skeletons()?);
/// let (rig, walk, run) = (&rigs[0], &clips[0], &clips[1]);
/// let joints = walk.joints();
/// let (mut at_walk, mut at_run) = (walk.cursor(), run.cursor());
/// let mut poses = [vec![Transform::IDENTITY; joints], vec![Transform::IDENTITY; joints], vec![Transform::IDENTITY; joints]];
/// let mut object = vec![Default::default(); joints];
/// let mut matrices = vec![Default::default(); rig.joints().len()];
/// let mut vertices = vec![[0.0; 3]; rig.vertex_count()];
/// // Every frame: half walking, half running.
/// let [a, b, both] = &mut poses;
/// at_walk.pose(&Query::new(0.4).wrapped(), &mut a[..])?;
/// at_run.pose(&Query::new(0.2).wrapped(), &mut b[..])?;
/// blend(a, b, 0.5, both);
/// object_space(&skeletons[rig.skeleton()].parents, both, &mut object);
/// rig.matrices(&object, &mut matrices);
/// rig.positions(&matrices, &mut vertices);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct MeshRig {
    mesh: u32,
    rig: Arc<Rig>,
}

impl MeshRig {
    /// Returns the number of the mesh in the file.
    #[must_use]
    pub fn mesh(&self) -> usize {
        self.mesh as usize
    }

    /// Returns the number of the skeleton in the file; all its clips move the mesh.
    #[must_use]
    pub fn skeleton(&self) -> usize {
        self.rig.skeleton as usize
    }

    /// Returns the joints of the skeleton that can move the mesh; [`MeshRig::influences`] returns indices
    /// into them.
    #[must_use]
    pub fn joints(&self) -> &[u32] {
        &self.rig.joints
    }

    /// Returns for each joint the matrix from the bind pose to the joint's space.
    #[must_use]
    pub fn inverse_bind(&self) -> &[BoneMatrix] {
        &self.rig.inverse
    }

    /// Returns the number of vertices, which is that of the mesh.
    #[must_use]
    pub fn vertex_count(&self) -> usize {
        self.rig.point_of.len()
    }

    /// Returns the position of a vertex in the bind pose. Panics if there is no such vertex.
    #[must_use]
    pub fn bind_position(&self, vertex: usize) -> [f32; 3] {
        self.rig.bind[self.rig.point_of[vertex] as usize]
    }

    /// Returns the joints that move a vertex and their weights, whose sum is 1; a vertex without any stays as
    /// it was bound. Panics if there is no such vertex.
    pub fn influences(&self, vertex: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.rig.influences(vertex)
    }

    /// `true` if dual quaternions blend the joints, for some vertices or all, fully or in part.
    #[must_use]
    pub fn uses_dual_quaternions(&self) -> bool {
        self.rig.is_dual()
    }

    /// Returns the share, 0 to 1, of dual quaternion blending at a vertex; the rest is linear. Panics if
    /// there is no such vertex.
    #[must_use]
    pub fn dual_quaternion_weight(&self, vertex: usize) -> f32 {
        self.rig.dual_fraction(vertex)
    }

    /// Returns the clip and its sample that the mesh shows in the first frame of the file, if there is one.
    /// With its pose the normals of that frame become those of the bind pose.
    #[must_use]
    pub fn first_frame(&self) -> Option<(usize, usize)> {
        let (clip, sample) = self.rig.first_sample?;
        Some((clip as usize, sample as usize))
    }

    /// Returns the guaranteed upper limit for the distance of any vertex from where the source's rig puts it,
    /// at any sample of any clip of the skeleton.
    #[must_use]
    pub fn tolerance(&self) -> f64 {
        self.rig.tolerance
    }

    /// Returns the largest such distance that was measured when the file was made.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.rig.error
    }

    /// Writes for each joint of the rig the matrix from the bind pose to a pose, as many as `out` has room
    /// for. `object` holds the object-space matrices of the skeleton's joints, see
    /// [`crate::clip::object_space`]; missing ones are the identity.
    pub fn matrices(&self, object: &[BoneMatrix], out: &mut [BoneMatrix]) {
        self.rig.matrices(object, out);
    }

    /// Writes the vertices as these matrices move them, as many as `out` has room for.
    pub fn positions(&self, matrices: &[BoneMatrix], out: &mut [[f32; 3]]) {
        self.rig.positions(matrices, out);
    }

    /// Writes the normals of the bind pose as these matrices turn them, with length 1, as many as `out` has
    /// room for.
    pub fn normals(&self, matrices: &[BoneMatrix], bind: &[[f32; 3]], out: &mut [[f32; 3]]) {
        self.rig.normals(matrices, bind, out);
    }

    /// Writes the normals of the bind pose from those of another pose: from the first frame's, with the
    /// matrices of [`MeshRig::first_frame`].
    pub fn bind_normals(&self, matrices: &[BoneMatrix], posed: &[[f32; 3]], out: &mut [[f32; 3]]) {
        self.rig.unbound_normals(matrices, posed, out);
    }
}

impl Reel {
    /// Reads all rigs of the file, in the order of their meshes.
    pub fn rigs(&self) -> Result<Vec<MeshRig>, Error> {
        if self.chunks_of(kind::RIGS).next().is_none() {
            return Ok(Vec::new());
        }
        let skeletons = self.skeletons()?;
        let clips = self.chunks_of(kind::CLIP).count();
        let mut decompressor = Decompressor::new();
        let (mut out, mut least) = (Vec::new(), 0);
        for chunk in self.chunks_of(kind::RIGS) {
            let content = self.chunk(chunk, &mut decompressor)?;
            let damaged = |what| error::corrupt(self.path(), what, format!("rigs in chunk {chunk}"));
            let mut entries = LodEntries::new(&content, least);
            while let Some((mesh, bytes)) = entries.next().map_err(damaged)? {
                least = mesh.saturating_add(1);
                let record = self.description().meshes.get(mesh as usize);
                let record = record.filter(|record| !record.method.changes());
                let record = record.ok_or(Corrupt("a rig of no mesh, or of one whose faces change"));
                let vertices = record.map_err(damaged)?.vertices;
                let indices = self.indices(mesh as usize)?;
                let rig = rig::decode(bytes, vertices, &indices).map_err(damaged)?;
                check_references(&rig, &skeletons, clips).map_err(damaged)?;
                out.push(MeshRig { mesh, rig: Arc::new(rig) });
            }
        }
        Ok(out)
    }
}

/// Checks that everything that a rig refers to exists.
fn check_references(rig: &Rig, skeletons: &[Arc<SkeletonRecord>], clips: usize) -> Result<(), Corrupt> {
    let Some(skeleton) = skeletons.get(rig.skeleton as usize) else {
        return Err(Corrupt("a rig of a skeleton that is not there"));
    };
    let joints = skeleton.parents.len();
    if rig.joints.iter().any(|joint| *joint as usize >= joints) {
        return Err(Corrupt("a rig of joints that are not there"));
    }
    match rig.first_sample {
        Some((clip, _)) if clip as usize >= clips => Err(Corrupt("a rig of a clip that is not there")),
        _ => Ok(()),
    }
}
