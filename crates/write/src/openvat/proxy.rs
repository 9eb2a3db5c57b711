//! The mesh that a reader displaces: vertices of the first frame, with their place in the textures as the
//! second set of uvs.

use super::combined::CombinedMesh;
use super::layout::Layout;
use crate::glb::buffer::{AccessorUse, Document};
use crate::glb::plain_material;
use crate::vertices::{Corner, finite_or_zero};
use glam::DVec3;
use gltf_json::mesh::{Mode, Primitive, Semantic};
use gltf_json::validation::Checked::Valid;
use gltf_json::{Index, Node};
use meshreel_scene::Error;
use std::collections::BTreeMap;
use std::path::Path;

/// Writes the file; `positions` are those of the vertices, in metres.
pub(super) fn write(
    target: &Path,
    name: &str,
    combined: &CombinedMesh<'_>,
    layout: &Layout,
    positions: &[[f32; 3]],
) -> Result<Document, Error> {
    let mut document = Document::create(target, None)?;
    let mut attributes = BTreeMap::new();
    let floats = document.floats(positions, AccessorUse::Vertices, true)?;
    attributes.insert(Valid(Semantic::Positions), floats);
    let normal = |n: &DVec3| n.as_vec3().to_array();
    let normals: Vec<[f32; 3]> = combined.normals.iter().map(normal).collect();
    attributes.insert(Valid(Semantic::Normals), document.floats(&normals, AccessorUse::Vertices, false)?);
    let uvs = document.floats(&own_uvs(combined), AccessorUse::Vertices, false)?;
    attributes.insert(Valid(Semantic::TexCoords(0)), uvs);
    let places: Vec<[f32; 2]> = (0..positions.len()).map(|v| layout.uv(v)).collect();
    attributes.insert(Valid(Semantic::TexCoords(1)), document.floats(&places, AccessorUse::Vertices, false)?);
    if let Some(colours) = own_colours(combined) {
        let colours = document.floats(&colours, AccessorUse::Vertices, false)?;
        attributes.insert(Valid(Semantic::Colors(0)), colours);
    }

    let mut primitives = Vec::new();
    for (material, indices) in triangles(combined) {
        let material = material.map(|name| Index::push(&mut document.root.materials, plain_material(&name)));
        let indices = document.indices(&indices, positions.len())?;
        primitives.push(Primitive {
            attributes: attributes.clone(),
            extensions: None,
            extras: Default::default(),
            indices: Some(indices),
            material,
            mode: Valid(Mode::Triangles),
            targets: None,
        });
    }
    let root = &mut document.root;
    let mesh = gltf_json::Mesh {
        extensions: None,
        extras: Default::default(),
        name: Some(name.into()),
        primitives,
        weights: None,
    };
    let mesh = Index::push(&mut root.meshes, mesh);
    let node = Node { mesh: Some(mesh), name: Some(name.into()), ..Node::default() };
    let nodes = vec![Index::push(&mut root.nodes, node)];
    let scene = gltf_json::Scene { extensions: None, extras: Default::default(), name: None, nodes };
    root.scene = Some(Index::push(&mut root.scenes, scene));
    root.asset.generator = Some(format!("meshreel {}", env!("CARGO_PKG_VERSION")));
    Ok(document)
}

/// Returns the triangles of each material, as indices into all vertices.
fn triangles(combined: &CombinedMesh<'_>) -> BTreeMap<Option<String>, Vec<u32>> {
    let mut all: BTreeMap<Option<String>, Vec<u32>> = BTreeMap::new();
    for placed_mesh in &combined.placed_meshes {
        let sets = &combined.scene.meshes[placed_mesh.mesh].face_sets;
        for (set, indices) in &combined.meshes[&placed_mesh.mesh].parts {
            let own = all.entry(set.map(|s| sets[s as usize].name.clone())).or_default();
            for triangle in indices.chunks_exact(3) {
                let [a, b, c] = [0, 1, 2].map(|k| triangle[k] + placed_mesh.first as u32);
                own.extend(if placed_mesh.mirrored { [a, c, b] } else { [a, b, c] });
            }
        }
    }
    all
}

/// Returns the first set of uvs of each mesh, or zeros, so that the texture's uvs are always the second set.
fn own_uvs(combined: &CombinedMesh<'_>) -> Vec<[f32; 2]> {
    let mut out = Vec::with_capacity(combined.count());
    for placed_mesh in &combined.placed_meshes {
        let shape = &combined.meshes[&placed_mesh.mesh];
        let uvs = shape.first.uvs.first();
        // The origin of glTF's images is at the top.
        let uv = |c: &Corner| {
            let uv = uvs.and_then(|a| a.value(c.point as usize, c.face as usize, c.corner as usize));
            uv.map_or([0.0; 2], |[u, v]| [finite_or_zero(u), finite_or_zero(1.0 - v)])
        };
        out.extend(shape.list.iter().map(uv));
    }
    out
}

/// Returns colours, white for meshes without; `None` if no mesh has any.
fn own_colours(combined: &CombinedMesh<'_>) -> Option<Vec<[f32; 4]>> {
    combined
        .placed_meshes
        .iter()
        .find(|placed_mesh| !combined.meshes[&placed_mesh.mesh].first.colours.is_empty())?;
    let mut out = Vec::with_capacity(combined.count());
    for placed_mesh in &combined.placed_meshes {
        let shape = &combined.meshes[&placed_mesh.mesh];
        let colours = shape.first.colours.first();
        let colour = |c: &Corner| {
            let value = colours.and_then(|a| a.value(c.point as usize, c.face as usize, c.corner as usize));
            value.unwrap_or([1.0; 4]).map(|v| if v.is_nan() { 0.0 } else { v.clamp(0.0, 1.0) })
        };
        out.extend(shape.list.iter().map(colour));
    }
    Some(out)
}
