//! Part attributes.

use meshreel::Reel;
use meshreel::view::NodePartAttributes;
use serde::Serialize;

/// A part attribute of some nodes.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct AttributeInfo {
    pub name: String,
    /// Number of components of a value.
    pub components: usize,
    /// Number of groups with values of their own.
    pub groups: usize,
    /// The kind of group: "mesh", "parts" or "vertices".
    pub of: &'static str,
    /// Paths of the nodes that have the attribute.
    pub nodes: Vec<String>,
}

/// Returns all attributes of a file.
pub fn infos(reel: &Reel) -> Result<Vec<AttributeInfo>, meshreel::Error> {
    let mut out = Vec::new();
    for NodePartAttributes { nodes, attributes, .. } in reel.all_part_attributes()? {
        let path = |&n: &u32| reel.description().nodes[n as usize].path.clone();
        let nodes: Vec<String> = nodes.iter().map(path).collect();
        out.extend(attributes.iter().map(|attribute| AttributeInfo {
            name: attribute.name().to_owned(),
            components: attribute.components(),
            groups: attribute.groups(),
            of: match (attribute.part_groups(), attribute.vertex_groups()) {
                (Some(_), _) => "parts",
                (_, Some(_)) => "vertices",
                _ => "mesh",
            },
            nodes: nodes.clone(),
        }));
    }
    Ok(out)
}
