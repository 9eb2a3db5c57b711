//! Attributes of parts, as `info` shows them.

use crate::output::{one_line, table};
use meshreel::{NodePartAttributes, Reel};
use serde::Serialize;

/// An attribute of some nodes.
#[derive(Serialize)]
pub struct AttributeInfo {
    name: String,
    /// Numbers of a group.
    components: usize,
    /// Groups that have numbers of their own.
    groups: usize,
    /// What a group is of: "mesh", "parts" or "vertices".
    of: &'static str,
    /// Paths of the nodes that have it.
    nodes: Vec<String>,
}

/// All attributes of a file.
pub fn infos(reel: &Reel) -> Result<Vec<AttributeInfo>, meshreel::Error> {
    let mut out = Vec::new();
    for NodePartAttributes { nodes, attributes } in reel.all_part_attributes()? {
        let path = |&n: &u32| reel.description().nodes[n as usize].path.clone();
        let nodes: Vec<String> = nodes.iter().map(path).collect();
        out.extend(attributes.iter().map(|attribute| AttributeInfo {
            name: attribute.name().to_owned(),
            components: attribute.components(),
            groups: attribute.groups(),
            of: match (attribute.of_parts(), attribute.of_vertices()) {
                (Some(_), _) => "parts",
                (_, Some(_)) => "vertices",
                _ => "mesh",
            },
            nodes: nodes.clone(),
        }));
    }
    Ok(out)
}

/// As a table of at most so many; nothing where there are none.
pub fn text(all: &[AttributeInfo], most: usize) -> String {
    let row = |a: &AttributeInfo| {
        let more = match a.nodes.len() {
            0 | 1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let node = a.nodes.first().map_or(String::new(), |n| one_line(n));
        vec![one_line(&a.name), node + &more, a.of.to_owned(), a.groups.to_string(), a.components.to_string()]
    };
    let mut rows: Vec<Vec<String>> = all.iter().take(most).map(row).collect();
    if all.len() > most {
        rows.push(vec![format!("… and {} more", all.len() - most)]);
    }
    match rows.is_empty() {
        true => String::new(),
        false => table(&["attribute", "<node", "<of", "groups", "numbers each"], &rows),
    }
}
