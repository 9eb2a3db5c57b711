//! Meshes with the rig that they had in the source: any pose of the skeleton moves them, of a clip, blended,
//! or made by a game.

use crate::clip::SkeletonRecord;
use crate::decode::bones::BoneMatrix;
use crate::reel::open_file::Reel;
use crate::{Error, error};
use meshreel_codec::Corrupt;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::mesh::rig;
use meshreel_codec::mesh::rig::Rig;
use meshreel_codec::topology::lod::Entries;
use meshreel_format::kind;
use std::sync::Arc;

/// The rig of a mesh. Clones share it. What it puts out is in the space of the skeleton, that of
/// [`crate::clip::object_space`]; nothing but opening allocates.
///
/// ```no_run
/// use meshreel::clip::{ClipCursor, PoseSource, Repeats, Rounding, blend, object_space};
/// use meshreel::{Limits, Reel, Transform};
///
/// # fn main() -> Result<(), meshreel::Error> {
/// let reel = Reel::open("hero.reel", &Limits::default())?;
/// let (rigs, clips, skeletons) = (reel.rigs()?, reel.clips()?, reel.skeletons()?);
/// let (rig, walk, run) = (&rigs[0], &clips[0], &clips[1]);
/// let joints = walk.joints();
/// let (mut at_walk, mut at_run) = (ClipCursor::new(walk), ClipCursor::new(run));
/// let mut poses = [vec![Transform::IDENTITY; joints], vec![Transform::IDENTITY; joints], vec![Transform::IDENTITY; joints]];
/// let mut object = vec![Default::default(); joints];
/// let mut matrices = vec![Default::default(); rig.joints().len()];
/// let mut vertices = vec![[0.0; 3]; rig.vertices()];
/// // Every frame: half walking, half running.
/// let [a, b, both] = &mut poses;
/// walk.sample(&mut at_walk, 0.4, Repeats::Wrap, Rounding::None, a)?;
/// run.sample(&mut at_run, 0.2, Repeats::Wrap, Rounding::None, b)?;
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
    /// Number of the mesh in the file.
    pub fn mesh(&self) -> usize {
        self.mesh as usize
    }

    /// Number of the skeleton in the file: all its clips move the mesh.
    pub fn skeleton(&self) -> usize {
        self.rig.skeleton as usize
    }

    /// Joints of the skeleton that the mesh may hang on, by the numbers that [`MeshRig::influences`] has.
    pub fn joints(&self) -> &[u32] {
        &self.rig.joints
    }

    /// Per joint the matrix from the bind pose to the joint's space.
    pub fn inverse_bind(&self) -> &[BoneMatrix] {
        &self.rig.inverse
    }

    /// Vertices: those of the mesh.
    pub fn vertices(&self) -> usize {
        self.rig.point_of.len()
    }

    /// The position of a vertex in the bind pose. Panics where there is no such vertex.
    pub fn bind_position(&self, vertex: usize) -> [f32; 3] {
        self.rig.bind[self.rig.point_of[vertex] as usize]
    }

    /// Joints that move a vertex and their weights, with a sum of 1; none: it stays as it was bound. Panics
    /// where there is no such vertex.
    pub fn influences(&self, vertex: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        self.rig.influences(vertex)
    }

    /// Whether dual quaternions blend what joints do to vertices, all of it or a part.
    pub fn is_dual(&self) -> bool {
        self.rig.is_dual()
    }

    /// The part, 0 to 1, of how joints move a vertex that dual quaternions blend, the rest being linear. Panics
    /// where there is no such vertex.
    pub fn dual_part(&self, vertex: usize) -> f32 {
        self.rig.dual_part(vertex)
    }

    /// The clip and its sample that the mesh shows in the first frame of the file, where there is one: with
    /// its pose normals of that frame become those of the bind pose.
    pub fn first_frame(&self) -> Option<(usize, usize)> {
        let (clip, sample) = self.rig.first?;
        Some((clip as usize, sample as usize))
    }

    /// Promised: the largest distance of any vertex from where the source's rig puts it, at any sample of any
    /// clip of the skeleton.
    pub fn tolerance(&self) -> f64 {
        self.rig.tolerance
    }

    /// The largest such distance that was measured when the file was made.
    pub fn error(&self) -> f64 {
        self.rig.error
    }

    /// What takes the bind pose to a pose, by joint of the rig, as far as there is room in `out`. `object`:
    /// object-space matrices of the skeleton's joints, see [`crate::clip::object_space`]; those that it does
    /// not have are the identity.
    pub fn matrices(&self, object: &[BoneMatrix], out: &mut [BoneMatrix]) {
        self.rig.matrices(object, out);
    }

    /// Writes the vertices as these matrices move them, as far as there is room in `out`.
    pub fn positions(&self, matrices: &[BoneMatrix], out: &mut [[f32; 3]]) {
        self.rig.positions(matrices, out);
    }

    /// Turns normals of the bind pose as these matrices do, as far as there is room in `out`; of length 1.
    pub fn normals(&self, matrices: &[BoneMatrix], bind: &[[f32; 3]], out: &mut [[f32; 3]]) {
        self.rig.normals(matrices, bind, out);
    }

    /// Normals of the bind pose from those of another one: of the first frame, with the matrices of
    /// [`MeshRig::first_frame`].
    pub fn bind_normals(&self, matrices: &[BoneMatrix], posed: &[[f32; 3]], out: &mut [[f32; 3]]) {
        self.rig.unbound_normals(matrices, posed, out);
    }
}

impl Reel {
    /// All rigs of the file, in the order of their meshes. Reads the file.
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
            let mut entries = Entries::new(&content, least);
            while let Some((mesh, bytes)) = entries.next().map_err(damaged)? {
                least = mesh.saturating_add(1);
                let record = self.description().meshes.get(mesh as usize);
                let record = record.filter(|record| !record.method.changes());
                let record = record.ok_or(Corrupt("a rig of no mesh, or of one whose faces change"));
                let vertices = record.map_err(damaged)?.vertices;
                let indices = self.indices(mesh as usize)?;
                let rig = rig::decode(bytes, vertices, &indices).map_err(damaged)?;
                fits(&rig, &skeletons, clips).map_err(damaged)?;
                out.push(MeshRig { mesh, rig: Arc::new(rig) });
            }
        }
        Ok(out)
    }
}

/// Whether all that a rig names is there.
fn fits(rig: &Rig, skeletons: &[Arc<SkeletonRecord>], clips: usize) -> Result<(), Corrupt> {
    let Some(skeleton) = skeletons.get(rig.skeleton as usize) else {
        return Err(Corrupt("a rig of a skeleton that is not there"));
    };
    let joints = skeleton.parents.len();
    if rig.joints.iter().any(|joint| *joint as usize >= joints) {
        return Err(Corrupt("a rig of joints that are not there"));
    }
    match rig.first {
        Some((clip, _)) if clip as usize >= clips => Err(Corrupt("a rig of a clip that is not there")),
        _ => Ok(()),
    }
}
