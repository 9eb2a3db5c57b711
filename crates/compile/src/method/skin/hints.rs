//! Ids of parts in the source of a mesh: whole numbers or names on faces, points or corners, and named sets
//! of faces.

use crate::Error;
use crate::method::points::PointFrames;
use meshreel_options::PartsChoice;
use meshreel_process::parts::NO_PART;
use meshreel_process::parts::ids::PartHint;
use meshreel_scene::{Attribute, Mesh, Remark, Scope, sample};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The largest number of attributes that are examined.
const MAX_ATTRIBUTES: usize = 16;
/// The largest number of an attribute's samples that are compared; of more, this many are used, spread
/// evenly.
const MAX_COMPARED_SAMPLES: usize = 64;

/// Returns the attributes and face sets that may separate parts, by point of the stream. Remarks are given
/// only on attributes that were named.
pub fn find_hints(
    frames: &PointFrames,
    wanted: &PartsChoice,
    path: &str,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<PartHint>, Error> {
    let mesh = &frames.source().mesh;
    let named = |name: &str| match wanted {
        PartsChoice::Attribute(wanted) => wanted == name,
        PartsChoice::Auto => true,
        PartsChoice::Connected | PartsChoice::Analyse => false,
    };
    let explicit = matches!(wanted, PartsChoice::Attribute(_));
    let mut faces = sample::Faces::default();
    let time = frames.source().times.first().copied().unwrap_or(0.0);
    sample::faces_at(mesh, time, &mut faces)?;
    let shape = MeshFaces {
        points: frames.source_point_count(),
        counts: faces.counts.iter().map(|&c| c.max(0) as u32).collect(),
        corners: (faces.indices.iter()).map(|&i| u32::try_from(i).unwrap_or(NO_PART)).collect(),
    };
    let mut out = Vec::new();
    let whole = mesh.integers.iter().filter(|a| named(&a.name));
    let mut chosen: Vec<(String, Scope, ConstantIntegers)> = Vec::new();
    for attribute in whole.take(MAX_ATTRIBUTES) {
        chosen.push((attribute.name.clone(), attribute.scope, constant_values(attribute)?));
    }
    for attribute in mesh.names.iter().filter(|a| named(&a.name)).take(MAX_ATTRIBUTES) {
        // Equal names get equal numbers.
        let mut numbers = BTreeMap::new();
        let number = |name: Arc<str>| {
            let next = numbers.len() as i64;
            *numbers.entry(name).or_insert(next)
        };
        let values = constant_values(attribute)?.map(|names| names.into_iter().map(number).collect());
        chosen.push((attribute.name.clone(), attribute.scope, values));
    }
    for (name, scope, values) in chosen {
        let quoted = format!("attribute '{name}'");
        match shape.attribute_groups(scope, values, &quoted) {
            Ok(hint) => out.push(hint),
            Err(what) if explicit => {
                let what = format!("{quoted} {what}; parts are sought in the motion");
                remarks.push(Remark::new(path, what));
            }
            Err(_) => {}
        }
    }
    if *wanted == PartsChoice::Auto && mesh.face_sets.len() > 1 {
        out.extend(shape.face_set_groups(mesh)?);
    }
    // By point of the stream.
    for hint in &mut out {
        let of = |p: u32| hint.groups.get(p as usize).copied().unwrap_or(NO_PART);
        hint.groups = frames.source_points().map(of).collect();
    }
    Ok(out)
}

/// The faces of a mesh.
struct MeshFaces {
    points: usize,
    counts: Vec<u32>,
    corners: Vec<u32>,
}

impl MeshFaces {
    /// Returns an attribute as groups of points, or the reason why it is unusable.
    fn attribute_groups(
        &self,
        scope: Scope,
        values: ConstantIntegers,
        name: &str,
    ) -> Result<PartHint, String> {
        let values = values?;
        let count = match scope {
            Scope::Constant => return Err("has one value for the mesh".into()),
            Scope::Uniform => self.counts.len(),
            Scope::Varying | Scope::Vertex => self.points,
            Scope::FaceVarying => self.corners.len(),
        };
        if values.len() != count {
            return Err(format!("has {} values for {count}", values.len()));
        }
        let (points, counts, corners) = (self.points, &self.counts, &self.corners);
        Ok(match scope {
            Scope::Uniform => PartHint::from_faces(name, points, counts, corners, &values),
            // Each corner as a face of its own: points whose corners differ are in no group.
            Scope::FaceVarying => PartHint::from_faces(name, points, &vec![1; count], corners, &values),
            _ => PartHint::from_points(name, &values),
        })
    }

    /// Returns the named sets of faces; a face in several is in the first, one in none is in no group.
    fn face_set_groups(&self, mesh: &Mesh) -> Result<Option<PartHint>, Error> {
        let mut of: Vec<Option<i64>> = vec![None; self.counts.len()];
        let mut list = Vec::new();
        for (number, set) in (0..).zip(&mesh.face_sets) {
            if set.faces.is_empty() || !set.faces.is_constant() {
                return Ok(None);
            }
            set.faces.read(0, &mut list)?;
            for &face in &list {
                let own = usize::try_from(face).ok().and_then(|f| of.get_mut(f));
                if let Some(own @ None) = own {
                    *own = Some(number);
                }
            }
        }
        // A group for each face without a set, which separates nothing.
        let alone = (0..).map(|i: i64| -1 - i);
        let values: Vec<i64> = (of.iter().zip(alone)).map(|(own, alone)| own.unwrap_or(alone)).collect();
        let (counts, corners) = (&self.counts, &self.corners);
        let name = "sets of faces";
        Ok(Some(PartHint::from_faces(name, self.points, counts, corners, &values)))
    }
}

/// One whole number per element, or the reason why there is none.
type ConstantIntegers = Result<Vec<i64>, String>;

/// Returns the values of an attribute that never change, one per element, or the reason why they are
/// unusable.
fn constant_values<T: Clone + PartialEq + Send + Sync + 'static>(
    attribute: &Attribute<T>,
) -> Result<Result<Vec<T>, String>, Error> {
    let read = |i: usize| -> Result<Option<Vec<T>>, Error> {
        let mut values = Vec::new();
        attribute.values.read(i.min(attribute.values.len() - 1), &mut values)?;
        let Some(indices) = &attribute.indices else {
            return Ok(Some(values));
        };
        let mut list = Vec::new();
        indices.read(i.min(indices.len() - 1), &mut list)?;
        Ok((list.iter()).map(|&i| values.get(i as usize).cloned()).collect())
    };
    let indexed = attribute.indices.as_ref();
    if attribute.values.is_empty() || indexed.is_some_and(|i| i.is_empty()) {
        return Ok(Err("has no samples".into()));
    }
    let Some(first) = read(0)? else {
        return Ok(Err("has indices beyond its values".into()));
    };
    let samples = attribute.values.len().max(indexed.map_or(0, |i| i.len()));
    let constant = attribute.values.is_constant() && indexed.is_none_or(|i| i.is_constant());
    if !constant {
        for look in 1..MAX_COMPARED_SAMPLES.min(samples) {
            let i = look * (samples - 1) / (MAX_COMPARED_SAMPLES.min(samples) - 1).max(1);
            if read(i)?.as_ref() != Some(&first) {
                return Ok(Err("changes over time".into()));
            }
        }
    }
    Ok(Ok(first))
}

/// Returns the names of all attributes of some meshes that can separate parts, each once, for messages.
pub fn hint_names<'a>(meshes: impl Iterator<Item = &'a Mesh>) -> Vec<String> {
    let of = |mesh: &'a Mesh| {
        let whole = mesh.integers.iter().map(|a| &a.name[..]);
        whole.chain(mesh.names.iter().map(|a| &a.name[..]))
    };
    let once: BTreeMap<&str, ()> = meshes.flat_map(of).map(|name| (name, ())).collect();
    once.into_keys().map(str::to_owned).collect()
}
