//! Meshes that several files have in common, kept once (C08). Found by a hash, then compared: equal hashes prove nothing. Meshes
//! that are coded as cells are not looked at.

use crate::statics::{StaticMesh, Statics};
use crate::words::Words;
use meshreel_format::checksum;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The meshes of all open files, by the hash of their content.
#[derive(Default)]
pub(crate) struct Library {
    meshes: Mutex<HashMap<u64, Vec<Weak<StaticMesh>>>>,
}

impl Library {
    /// Puts equal meshes that are already there in the place of these.
    pub fn share(&self, statics: &Statics) -> Statics {
        let mut known = self.meshes.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, meshes| {
            meshes.retain(|mesh| mesh.strong_count() > 0);
            !meshes.is_empty()
        });
        let share = |mesh: &Arc<StaticMesh>| {
            if mesh.cells.iter().any(|parts| !parts.is_empty()) {
                return mesh.clone();
            }
            let alike = known.entry(hash(mesh)).or_default();
            let same = alike
                .iter()
                .filter_map(Weak::upgrade)
                .find(|other| is_same(other, mesh));
            same.unwrap_or_else(|| {
                alike.push(Arc::downgrade(mesh));
                mesh.clone()
            })
        };
        Statics {
            meshes: statics.meshes.iter().map(share).collect(),
        }
    }
}

fn is_same(a: &StaticMesh, b: &StaticMesh) -> bool {
    a.indices == b.indices && a.table == b.table && a.streams == b.streams
}

fn hash(mesh: &StaticMesh) -> u64 {
    let mut sums = vec![
        checksum(bytemuck::cast_slice(&mesh.indices)),
        checksum(bytemuck::cast_slice(&mesh.table)),
    ];
    sums.extend(mesh.streams.iter().map(|words| match words {
        Words::U8(words) => checksum(words),
        Words::U16(words) => checksum(bytemuck::cast_slice(words)),
        Words::U32(words) => checksum(bytemuck::cast_slice(words)),
    }));
    checksum(bytemuck::cast_slice(&sums))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statics(indices: &[u32]) -> Statics {
        let mesh = StaticMesh {
            indices: indices.to_vec(),
            ..StaticMesh::default()
        };
        Statics {
            meshes: vec![Arc::new(mesh)],
        }
    }

    #[test]
    fn equal_meshes_are_one_as_long_as_somebody_has_them() {
        let library = Library::default();
        let a = library.share(&statics(&[0, 1, 2]));
        let b = library.share(&statics(&[0, 1, 2]));
        let c = library.share(&statics(&[0, 2, 1]));
        assert!(Arc::ptr_eq(&a.meshes[0], &b.meshes[0]));
        assert!(!Arc::ptr_eq(&a.meshes[0], &c.meshes[0]));
        drop((a, b, c));
        library.share(&Statics { meshes: Vec::new() });
        assert!(library.meshes.lock().unwrap().is_empty());
    }
}
