//! Identical meshes are stored once (A16, C08): found by a hash of their first frame, proven by comparing everything.

use crate::Error;
use meshreel_scene::{Attribute, Channel, Mesh, MeshId, Scene};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// For each mesh the first one that equals it (often itself). Only `used` meshes are looked at.
pub fn find(scene: &Scene, used: &[bool]) -> Result<Vec<MeshId>, Error> {
    let mut same: Vec<MeshId> = (0..scene.meshes.len()).collect();
    let mut seen: HashMap<u64, Vec<MeshId>> = HashMap::new();
    for (id, mesh) in scene.meshes.iter().enumerate().filter(|(id, _)| used[*id]) {
        let candidates = seen.entry(signature(mesh)?).or_default();
        let mut found = None;
        for &other in candidates.iter() {
            if equal(mesh, &scene.meshes[other])? {
                found = Some(other);
                break;
            }
        }
        match found {
            Some(other) => same[id] = other,
            None => candidates.push(id),
        }
    }
    Ok(same)
}

fn signature(mesh: &Mesh) -> Result<u64, Error> {
    let mut hash = DefaultHasher::new();
    let mut points = Vec::new();
    if !mesh.positions.is_empty() {
        mesh.positions.read(0, &mut points)?;
    }
    points
        .iter()
        .for_each(|p| p.map(f32::to_bits).hash(&mut hash));
    (
        mesh.positions.len(),
        mesh.uvs.len(),
        mesh.colours.len(),
        mesh.face_sets.len(),
    )
        .hash(&mut hash);
    Ok(hash.finish())
}

fn equal(a: &Mesh, b: &Mesh) -> Result<bool, Error> {
    let names = |m: &Mesh| {
        m.face_sets
            .iter()
            .map(|s| s.name.clone())
            .collect::<Vec<_>>()
    };
    if a.winding != b.winding
        || names(a) != names(b)
        || a.uvs.len() != b.uvs.len()
        || a.colours.len() != b.colours.len()
    {
        return Ok(false);
    }
    if !(channels(&a.face_counts, &b.face_counts, |x| x)?
        && channels(&a.face_indices, &b.face_indices, |x| x)?
        && channels(&a.positions, &b.positions, bits)?
        && optional(&a.normals, &b.normals)?)
    {
        return Ok(false);
    }
    for (x, y) in a.uvs.iter().zip(&b.uvs) {
        if !attributes(x, y)? {
            return Ok(false);
        }
    }
    for (x, y) in a.colours.iter().zip(&b.colours) {
        if !attributes(x, y)? {
            return Ok(false);
        }
    }
    for (x, y) in a.face_sets.iter().zip(&b.face_sets) {
        if !channels(&x.faces, &y.faces, |x| x)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn bits<const N: usize>(value: [f32; N]) -> [u32; N] {
    value.map(f32::to_bits)
}

fn optional<const N: usize>(
    a: &Option<Attribute<[f32; N]>>,
    b: &Option<Attribute<[f32; N]>>,
) -> Result<bool, Error> {
    match (a, b) {
        (Some(a), Some(b)) => attributes(a, b),
        (None, None) => Ok(true),
        _ => Ok(false),
    }
}

fn attributes<const N: usize>(
    a: &Attribute<[f32; N]>,
    b: &Attribute<[f32; N]>,
) -> Result<bool, Error> {
    if a.name != b.name || a.scope != b.scope || a.indices.is_some() != b.indices.is_some() {
        return Ok(false);
    }
    if let (Some(a), Some(b)) = (&a.indices, &b.indices)
        && !channels(a, b, |x| x)?
    {
        return Ok(false);
    }
    channels(&a.values, &b.values, bits)
}

fn channels<T: Copy + Send + Sync + 'static, B: PartialEq>(
    a: &Channel<T>,
    b: &Channel<T>,
    bits: impl Fn(T) -> B,
) -> Result<bool, Error> {
    if a.len() != b.len() || a.sampling() != b.sampling() && a.len() > 1 {
        return Ok(false);
    }
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for i in 0..a.len() {
        if i > 0 && a.identity(i) == a.identity(i - 1) && b.identity(i) == b.identity(i - 1) {
            continue;
        }
        a.read(i, &mut x)?;
        b.read(i, &mut y)?;
        if x.len() != y.len() || !x.iter().zip(&y).all(|(&x, &y)| bits(x) == bits(y)) {
            return Ok(false);
        }
    }
    Ok(true)
}
