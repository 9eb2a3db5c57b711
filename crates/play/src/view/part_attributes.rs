//! Part attributes: values of parts, such as temperature, viscosity or age, that drive shading and events.
//! They are looked up by part or group, not stored per vertex, and not streamed: read them once, keep the
//! result, and query it in every frame.

use crate::reel::open_file::Reel;
use crate::time::demand::FramePair;
use crate::{Error, error};
use meshreel_codec::Corrupt;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::record::attributes;
use meshreel_codec::record::attributes::AttributeGroups;
use meshreel_codec::topology::lod::LodEntries;
use meshreel_format::kind;

/// An attribute with one to four values for each group of vertices of a mesh, in every frame.
#[derive(Clone, Debug, PartialEq)]
pub struct PartAttribute {
    inner: attributes::PartAttributeRecord,
}

impl PartAttribute {
    /// Returns its name in the source.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// Returns the number of values per group, 1 … 4.
    #[must_use]
    pub fn components(&self) -> usize {
        self.inner.components
    }

    /// Returns the number of groups; at least one if the mesh has a vertex.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.inner.tracks.len()
    }

    /// Returns the group of each part (a rigid bone, see [`super::BonesView`]), if values belong to parts.
    #[must_use]
    pub fn part_groups(&self) -> Option<&[u32]> {
        match &self.inner.groups {
            AttributeGroups::Parts(groups) => Some(groups),
            _ => None,
        }
    }

    /// Returns the group of each vertex, if values belong to vertices; `None` if they belong to parts or to
    /// the whole mesh, which is group 0.
    #[must_use]
    pub fn vertex_groups(&self) -> Option<&[u32]> {
        match &self.inner.groups {
            AttributeGroups::Vertices(groups) => Some(groups),
            _ => None,
        }
    }

    /// Returns the values of a group, linearly interpolated between two frames. Components that it does not
    /// have are 0, as are all values of a group that does not exist. Does not allocate.
    #[must_use]
    pub fn values(&self, group: usize, pair: FramePair) -> [f32; 4] {
        let Some(track) = self.inner.tracks.get(group) else {
            return [0.0; 4];
        };
        let first = track.values(pair.first as usize);
        if pair.blend == 0.0 {
            return first;
        }
        let second = track.values(pair.second as usize);
        std::array::from_fn(|i| first[i] + (second[i] - first[i]) * pair.blend)
    }

    /// Writes the values of all groups, in order, as many as `out` has room for: a table for a shader. Does
    /// not allocate.
    pub fn write_table(&self, pair: FramePair, out: &mut [[f32; 4]]) {
        for (group, out) in (0..self.groups()).zip(out) {
            *out = self.values(group, pair);
        }
    }
}

/// Nodes that show one mesh, ascending, and their attributes.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
#[non_exhaustive]
pub struct NodePartAttributes {
    pub nodes: Vec<u32>,
    pub attributes: Vec<PartAttribute>,
}

impl Reel {
    /// Reads the attributes of a node from the file; empty if it has none.
    pub fn attributes(&self, node: usize) -> Result<Vec<PartAttribute>, Error> {
        let description = self.description();
        if node >= description.nodes.len() {
            return Err(Error::misuse(format!("node {node} of {}", description.nodes.len())));
        }
        let mut found = Vec::new();
        self.for_each_attribute(&mut |nodes, all| {
            if nodes.contains(&(node as u32)) {
                found = all;
            }
        })?;
        Ok(found.into_iter().map(|inner| PartAttribute { inner }).collect())
    }

    /// Reads the attributes of all nodes that have any, in the order of the file.
    pub fn all_part_attributes(&self) -> Result<Vec<NodePartAttributes>, Error> {
        let mut out = Vec::new();
        self.for_each_attribute(&mut |nodes, all| {
            let attributes = all.into_iter().map(|inner| PartAttribute { inner });
            out.push(NodePartAttributes { nodes, attributes: attributes.collect() });
        })?;
        Ok(out)
    }

    fn for_each_attribute(
        &self,
        take: &mut dyn FnMut(Vec<u32>, Vec<attributes::PartAttributeRecord>),
    ) -> Result<(), Error> {
        let (description, frames) = (self.description(), self.frame_count() as u32);
        let mut decompressor = Decompressor::new();
        let mut least = 0;
        let mut said = vec![false; description.nodes.len()];
        let chunks = (0u32..).zip(self.chunks());
        for (c, _) in chunks.filter(|(_, c)| c.kind == kind::PART_ATTRIBUTES) {
            let content = self.chunk(c, &mut decompressor)?;
            let damaged = |what| error::corrupt(self.path(), what, format!("chunk {c}"));
            let mut entries = LodEntries::new(&content, least);
            while let Some((node, bytes)) = entries.next().map_err(damaged)? {
                let mesh_of = |n: u32| description.nodes.get(n as usize).and_then(|n| n.mesh);
                let mesh = mesh_of(node).ok_or(Corrupt("part attributes of a mesh that is not there"));
                let mesh = mesh.map_err(damaged)?;
                least = node + 1;
                let record = &description.meshes[mesh as usize];
                let parts = record.streams.first().map_or(0, |s| s.bones.rigid);
                // The vertices of a mesh whose faces change are not the same from frame to frame.
                let vertices = match record.method {
                    method if method.changes() => 0,
                    _ => record.vertices,
                };
                let (nodes, all) =
                    attributes::decode(bytes, node, [vertices, parts], frames).map_err(damaged)?;
                for &n in &nodes {
                    let own = said.get_mut(n as usize).filter(|_| mesh_of(n) == Some(mesh));
                    match own {
                        Some(own @ false) => *own = true,
                        _ => {
                            return Err(damaged(Corrupt(
                                "part attributes of a node twice, or of another mesh",
                            )));
                        }
                    }
                }
                take(nodes, all);
            }
        }
        Ok(())
    }
}
