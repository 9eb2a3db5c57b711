//! Reads attributes of a mesh at one time by corner, for any scope.

use meshreel_scene::identity::{ToBytes, content_identity};
use meshreel_scene::sample::{AttributeValues, Faces, Lerp, attribute_at, read_held};
use meshreel_scene::{Attribute, Error, Identity, Mesh, Scope};
use std::collections::HashMap;

/// An attribute's values at one time.
pub(crate) struct PerCorner<T> {
    pub scope: Scope,
    values: AttributeValues<T>,
}

impl<T: Lerp + Default> PerCorner<T> {
    /// Reads `attribute` at `time`.
    pub fn read(attribute: &Attribute<T>, mesh: &Mesh, time: f64) -> Result<PerCorner<T>, Error> {
        let mut values = AttributeValues { values: Vec::new(), indices: None };
        attribute_at(attribute, mesh, time, &mut values)?;
        Ok(PerCorner { scope: attribute.scope, values })
    }

    /// Returns the value at a corner of `face` on `point`, or `None` if the file has too few values.
    pub fn value(&self, point: usize, face: usize, corner: usize) -> Option<T> {
        let element = match self.scope {
            Scope::Constant => 0,
            Scope::Uniform => face,
            Scope::Varying | Scope::Vertex => point,
            Scope::FaceVarying => corner,
        };
        let value = match &self.values.indices {
            Some(indices) => *indices.get(element)? as usize,
            None => element,
        };
        self.values.values.get(value).copied()
    }

    /// Returns an identity that is equal for equal content.
    pub fn identity(&self) -> Identity
    where
        T: ToBytes,
    {
        let indices = self.values.indices.as_ref().map_or(0, |i| content_identity(i));
        content_identity(&self.values.values) ^ indices.rotate_left(1)
    }

    /// `true` if two corners of one point can differ.
    pub fn splits(&self) -> bool {
        matches!(self.scope, Scope::Uniform | Scope::FaceVarying)
    }
}

/// Distinct values, indexed in order of appearance.
pub(crate) struct DistinctValues<T, K> {
    numbers: HashMap<K, u32>,
    /// The values.
    pub list: Vec<T>,
}

impl<T, K: std::hash::Hash + Eq> DistinctValues<T, K> {
    /// Returns an empty list.
    pub fn new() -> DistinctValues<T, K> {
        DistinctValues { numbers: HashMap::new(), list: Vec::new() }
    }
    /// Returns the index of the value with this key, and adds it if it is new.
    pub fn insert(&mut self, key: K, value: T) -> u32 {
        *self.numbers.entry(key).or_insert_with(|| {
            self.list.push(value);
            self.list.len() as u32 - 1
        })
    }
}

/// Returns for each face the index of the first face set that contains it.
pub(crate) fn face_set_indices(mesh: &Mesh, faces: &Faces, time: f64) -> Result<Vec<Option<u32>>, Error> {
    let mut out = vec![None; faces.counts.len()];
    let mut list = Vec::new();
    for (number, set) in mesh.face_sets.iter().enumerate() {
        read_held(&set.faces, mesh, time, &mut list)?;
        for &face in &list {
            if let Some(slot) = usize::try_from(face).ok().and_then(|f| out.get_mut(f)) {
                slot.get_or_insert(number as u32);
            }
        }
    }
    Ok(out)
}
