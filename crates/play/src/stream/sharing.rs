//! Meshes that several files have in common, kept once. They are found by a hash of the bytes that they are
//! made from, which are then compared, as equal hashes prove nothing.

use crate::reel::statics::{StaticMesh, Statics};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The meshes of all open files, by the hash of their content.
#[derive(Default)]
pub(crate) struct MeshLibrary {
    meshes: Mutex<HashMap<u64, Vec<Weak<StaticMesh>>>>,
}

impl MeshLibrary {
    /// Replaces meshes by equal ones that exist already.
    pub fn deduplicate(&self, statics: &Statics) -> Statics {
        let mut known = self.meshes.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, meshes| {
            meshes.retain(|mesh| mesh.strong_count() > 0);
            !meshes.is_empty()
        });
        let share = |mesh: &Arc<StaticMesh>| {
            let alike = known.entry(mesh.key.hash()).or_default();
            let same = alike.iter().filter_map(Weak::upgrade).find(|other| other.key == mesh.key);
            same.unwrap_or_else(|| {
                alike.push(Arc::downgrade(mesh));
                mesh.clone()
            })
        };
        Statics { meshes: statics.meshes.iter().map(share).collect(), end_states: statics.end_states.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statics(values: &[u8]) -> Statics {
        let mut mesh = StaticMesh::default();
        mesh.key.values = values.to_vec();
        Statics { meshes: vec![Arc::new(mesh)], end_states: Arc::default() }
    }

    #[test]
    fn equal_meshes_are_one_as_long_as_somebody_has_them() {
        let library = MeshLibrary::default();
        let a = library.deduplicate(&statics(&[0, 1, 2]));
        let b = library.deduplicate(&statics(&[0, 1, 2]));
        let c = library.deduplicate(&statics(&[0, 2, 1]));
        assert!(Arc::ptr_eq(&a.meshes[0], &b.meshes[0]));
        assert!(!Arc::ptr_eq(&a.meshes[0], &c.meshes[0]));
        drop((a, b, c));
        library.deduplicate(&Statics { meshes: Vec::new(), end_states: Arc::default() });
        assert!(library.meshes.lock().unwrap().is_empty());
    }
}
