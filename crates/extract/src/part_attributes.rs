//! Part attributes as attributes of points, for output formats that have only these.

use super::shared::Extraction;
use crate::convert::error;
use crate::skinning::vertex_group;
use meshreel::time::FramePair;
use meshreel::view::PartAttribute;
use meshreel_scene::{Attribute, CustomAttribute, Error, Identity, Mesh, Scope, Source};

/// Gives meshes the part attributes of their nodes; none if the nodes of a mesh differ.
pub(super) fn fill(shared: &Extraction, meshes: &mut [Mesh]) -> Result<(), Error> {
    let reel = shared.frames.reel();
    let nodes = &reel.description().nodes;
    let all = reel.all_part_attributes().map_err(error)?;
    for (m, mesh) in meshes.iter_mut().enumerate() {
        let shown: Vec<u32> =
            (0u32..).zip(nodes).filter(|(_, node)| node.mesh == Some(m as u32)).map(|(n, _)| n).collect();
        let Some(own) = all.iter().find(|own| own.nodes == shown) else {
            continue;
        };
        let order = shared.point_vertices(m)?;
        for attribute in &own.attributes {
            mesh.custom_attributes.extend(part_attribute(
                shared,
                m,
                order.as_deref().map(Vec::as_slice),
                attribute,
            ));
        }
    }
    Ok(())
}

/// Converts a part attribute of a mesh to an attribute of the scene: of points, or of the whole mesh.
/// `order`: the vertex of each point. `None` if parts have no values, or none that the scene can have.
fn part_attribute(
    shared: &Extraction,
    mesh: usize,
    order: Option<&[u32]>,
    attribute: &PartAttribute,
) -> Option<CustomAttribute> {
    let record = &shared.frames.reel().description().meshes[mesh];
    let vertices = 0..record.vertices as usize;
    let of_vertex: Option<Vec<u32>> = match (attribute.part_groups(), attribute.vertex_groups()) {
        (Some(_), _) => shared.frames.with_bones(mesh, |bones| {
            vertices.map(|v| vertex_group(attribute, Some(&bones), v)).collect::<Option<_>>()
        })?,
        (_, Some(groups)) => Some(groups.to_vec()),
        _ => None,
    };
    let (scope, groups) = match of_vertex {
        // For a mesh whose faces change, only attributes of the whole mesh are kept.
        Some(_) if record.method.changes() => return None,
        Some(of_vertex) => {
            let of = |&v: &u32| of_vertex.get(v as usize).copied();
            let groups = match order {
                Some(order) => order.iter().map(of).collect::<Option<_>>()?,
                None => of_vertex,
            };
            (Scope::Vertex, groups)
        }
        None => (Scope::Constant, vec![0]),
    };
    let samples = shared.samples(true);
    let at = |group: usize, i: usize| attribute.values(group, FramePair::single(i as u32));
    let changes = (0..attribute.groups()).any(|g| (1..samples).any(|i| at(g, i) != at(g, 0)));
    let source = GroupValues { attribute: attribute.clone(), groups, samples: shared.samples(changes) };
    Some(CustomAttribute {
        components: attribute.components(),
        attribute: Attribute {
            name: attribute.name().to_owned(),
            scope,
            values: shared.channel(changes, source),
            indices: None,
        },
    })
}

/// The values of each point, which are those of its group.
struct GroupValues {
    attribute: PartAttribute,
    groups: Vec<u32>,
    samples: usize,
}

impl Source<[f32; 4]> for GroupValues {
    fn len(&self) -> usize {
        self.samples
    }

    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }

    fn read(&self, i: usize, out: &mut Vec<[f32; 4]>) -> Result<(), Error> {
        let mut table = vec![[0.0; 4]; self.attribute.groups()];
        self.attribute.write_table(FramePair::single(i as u32), &mut table);
        out.clear();
        let of = |&g: &u32| table.get(g as usize).copied().unwrap_or_default();
        out.extend(self.groups.iter().map(of));
        Ok(())
    }
}
