//! Remarks on everything in the source that a file does not keep, so that nothing is lost silently.
//! Attributes that may be kept as part attributes are excluded, since that is known only after all frames are
//! read; see [`crate::write::part_attributes`].

use crate::Error;
use crate::nodes::motion::Motion;
use meshreel_options::{Options, PartsChoice};
use meshreel_scene::{
    Attribute, Channel, Lens, Mesh, MeshId, NodeId, PlacedObject, Remark, Scene, Scope, Topology,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// An attribute that Blender writes at each mesh to tell its own importer of subdivision; no artist put it
/// there.
const EXPORTERS_MARK: &str = "meshtype";

/// Returns remarks on data of the `kept` objects, and of those above them, that a file cannot keep.
pub fn remarks(
    scene: &Scene,
    placed: &[PlacedObject],
    kept: &[bool],
    options: &Options,
) -> Result<Vec<Remark>, Error> {
    let mut out = Vec::new();
    // No remarks where attributes are turned off.
    if !options.channels.attributes {
        return Ok(out);
    }
    let mut needed = kept.to_vec();
    for i in (0..placed.len()).rev() {
        if let (true, Some(parent)) = (needed[i], placed[i].parent) {
            needed[parent] = true;
        }
    }
    let nodes: BTreeSet<NodeId> =
        (placed.iter().zip(&needed)).filter_map(|(place, needed)| needed.then_some(place.node)).collect();
    // Attributes of a transform apply to its meshes as well.
    let mut below: HashMap<NodeId, Vec<MeshId>> = HashMap::new();
    for &id in &nodes {
        let node = &scene.nodes[id];
        for of in node.parent.into_iter().chain([id]) {
            below.entry(of).or_default().extend(node.mesh);
        }
    }
    let mut seen = HashSet::new();
    for &id in &nodes {
        let node = &scene.nodes[id];
        if let Some(id) = node.mesh.filter(|mesh| seen.insert(*mesh)) {
            add_mesh_remarks(&scene.meshes[id], options, &mut out)?;
        }
        if let Some(camera) = &node.camera {
            out.extend(lens_problem(camera)?.map(|what| Remark::new(&node.path, what)));
        }
        let own = node.user_properties.iter().map(|(name, _)| name);
        for name in own.filter(|name| *name != EXPORTERS_MARK) {
            let meshes = below.get(&id).into_iter().flatten();
            let numbers = meshes.flat_map(|&mesh| &scene.meshes[mesh].custom_attributes);
            if !numbers.into_iter().any(|n| n.attribute.name == *name) {
                let what = format!("user property {name} is not kept; left out");
                out.push(Remark::new(&node.path, what));
            }
        }
    }
    Ok(out)
}

/// Returns the sentence on invalid samples of a camera's lens, if there are any.
fn lens_problem(camera: &Channel<Lens>) -> Result<Option<String>, Error> {
    let (mut bad, mut values) = (0, Vec::new());
    for i in 0..camera.len() {
        camera.read(i, &mut values)?;
        bad += usize::from(!values.first().is_some_and(Lens::is_usable));
    }
    Ok(match bad {
        0 => None,
        all if all == camera.len() => {
            Some("no sample of its lens is readable; the camera's place alone is kept".into())
        }
        some => Some(format!(
            "{some} of {} samples of its lens are not readable, where the one before holds",
            camera.len()
        )),
    })
}

fn add_mesh_remarks(mesh: &Mesh, options: &Options, out: &mut Vec<Remark>) -> Result<(), Error> {
    let mut say = |what: String| out.push(Remark::new(&mesh.path, what));
    let changes = mesh.particles.is_some() || mesh.topology == Topology::Heterogeneous;
    if mesh.velocities.as_ref().is_some_and(|v| !v.is_empty()) && !changes {
        say("velocities are not kept; left out (where points go between frames says how fast they are)"
            .into());
    }
    for (name, kind) in &mesh.other_attributes {
        let is = |other: &str| other == name;
        let numbers = mesh.custom_attributes.iter().any(|n| is(&n.attribute.name));
        if numbers || mesh.integers.iter().any(|a| is(&a.name)) {
            continue;
        }
        match mesh.names.iter().find(|a| is(&a.name)) {
            Some(names) if is_used(mesh, names, options)? => {}
            Some(_) => say(format!(
                "attribute {name} ({kind}) names things, and is neither that of materials nor asked for by --parts; left out"
            )),
            None => say(format!(
                "attribute {name} ({kind}) is of a kind that is not kept, or does not fit the mesh; left out"
            )),
        }
    }
    Ok(())
}

/// Returns `true` if the names are those of materials, or separate parts.
fn is_used(mesh: &Mesh, names: &Attribute<Arc<str>>, options: &Options) -> Result<bool, Error> {
    let sections = options.meshes.iter().filter_map(|o| o.parts.as_ref());
    let tells = |parts: &PartsChoice| matches!(parts, PartsChoice::Attribute(asked) if *asked == names.name);
    if sections.chain([&options.parts]).any(tells) {
        return Ok(true);
    }
    if names.scope != Scope::Uniform || mesh.face_sets.is_empty() || names.values.is_empty() {
        return Ok(false);
    }
    let mut there = Vec::new();
    names.values.read(0, &mut there)?;
    let there: HashSet<&str> = there.iter().map(|name| &**name).collect();
    Ok(mesh.face_sets.iter().all(|set| there.contains(&set.name[..])))
}

/// Returns a remark for each mesh that is visible in no frame, and one if no mesh is ever visible.
pub fn unseen_remarks(
    placed: &[PlacedObject],
    selected: &[bool],
    motion: &Motion,
    options: &Options,
) -> Vec<Remark> {
    let is_seen = |i: usize| motion.visible[i].count() > 0;
    let meshes = || (0..placed.len()).filter(|&i| selected[i]);
    let (state, cure) = match options.show_hidden {
        // The mesh has nothing to show.
        true => ("there in no frame", String::new()),
        false => ("hidden in every frame", "; --show-hidden compiles it as if it were shown".to_owned()),
    };
    let what = format!("is {state}, so nothing of it is ever seen{cure}; --exclude leaves it out");
    let mut out: Vec<Remark> =
        meshes().filter(|&i| !is_seen(i)).map(|i| Remark::new(&placed[i].path, what.clone())).collect();
    if !out.is_empty() && out.len() == meshes().count() {
        let cure = cure.replace("it as if it were", "them as if they were");
        let what = format!("nothing is ever seen: no mesh is shown in any frame{cure}");
        out.insert(0, Remark::new("/", what));
    }
    out
}
