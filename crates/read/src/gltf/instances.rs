//! Instances of a node's mesh, each with its own transform (EXT_mesh_gpu_instancing).

use super::animation::{is_unusable, unit};
use super::document::Document;
use glam::DVec3;
use meshreel_scene::{Error, Qvv, Remark};

/// Upper limit for the instances of a file; each becomes a node.
const MAX_INSTANCES: usize = 1 << 20;

/// Reads the transforms of a node's mesh instances, relative to the node. Custom attributes of instances are
/// not kept.
pub(super) struct InstanceReader {
    /// The number of instances of all nodes so far.
    total: usize,
}

impl InstanceReader {
    pub fn new() -> InstanceReader {
        InstanceReader { total: 0 }
    }

    /// Returns the transforms of the mesh instances of node number `node`; `None` if it is not instanced.
    pub fn transforms(
        &mut self,
        document: &Document,
        node: usize,
        remarks: &mut Vec<Remark>,
    ) -> Result<Option<Vec<Qvv>>, Error> {
        let json = &document.root.nodes[node];
        let Some(instancing) = json.extensions.instancing.as_ref().filter(|_| json.mesh.is_some()) else {
            return Ok(None);
        };
        let attributes = &instancing.attributes;
        let mut counts = attributes.iter().filter_map(|(_, a)| Some(document.root.accessors.get(a)?.count));
        let Some(count) = counts.next() else {
            return Ok(None);
        };
        if counts.any(|other| other != count) {
            let what = "its instances have attributes of several lengths";
            return Err(document.malformed(what, format!("node {node}")));
        }
        let asked = (self.total as u64).saturating_add(count);
        if asked > MAX_INSTANCES as u64 {
            return Err(Error::limit(&document.path, "instances of meshes", asked, MAX_INSTANCES as u64));
        }
        self.total = asked as usize;
        let vectors = |name: &str| -> Result<Option<Vec<DVec3>>, Error> {
            let values = attributes.get(name).map(|a| document.values(a, 3)?.floats::<3>()).transpose()?;
            Ok(values.map(|all| all.iter().map(|v| DVec3::from_array(v.map(f64::from))).collect()))
        };
        let (translations, scales) = (vectors("TRANSLATION")?, vectors("SCALE")?);
        let rotations = attributes.get("ROTATION").map(|a| document.values(a, 4)?.floats::<4>());
        let rotations = rotations.transpose()?;
        let place = |i: usize| Qvv {
            translation: translations.as_ref().map_or(DVec3::ZERO, |all| all[i]),
            rotation: rotations.as_ref().map_or(glam::DQuat::IDENTITY, |all| unit(all[i].map(f64::from))),
            scale: scales.as_ref().map_or(DVec3::ONE, |all| all[i]),
        };
        let mut places: Vec<Qvv> = (0..count as usize).map(place).collect();
        let is_usable = |place: &Qvv| {
            let numbers = place.matrix().to_cols_array();
            !numbers.into_iter().any(is_unusable)
        };
        places.retain(is_usable);
        let lost = count as usize - places.len();
        if lost > 0 {
            let what = format!(
                "EXT_mesh_gpu_instancing: {lost} of {count} instances have no numbers for a place; left out"
            );
            remarks.push(Remark::new(node_name(document, node), what));
        }
        if json.skin.is_some() && places.len() > 1 {
            // Joints alone place a skinned mesh, so all its instances coincide.
            let what = format!(
                "EXT_mesh_gpu_instancing: {} of {count} instances of a skinned mesh are left out: joints say where it is",
                places.len() - 1
            );
            remarks.push(Remark::new(node_name(document, node), what));
            return Ok(None);
        }
        Ok(Some(places))
    }
}

/// Returns the name of a node in messages.
pub(super) fn node_name(document: &Document, node: usize) -> String {
    let name = document.root.nodes.get(node).and_then(|json| json.name.as_deref());
    name.map_or(format!("node {node}"), super::document::abbreviated)
}
