//! Stores identical meshes once: found by a hash of their first frame, proven by comparing everything.

use crate::Error;
use crate::context::Content;
use crate::report::Log;
use meshreel_process::Cancellation;
use meshreel_scene::{Attribute, Channel, Mesh, MeshId, Scene, Topology};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Returns, for each mesh of the `selected` objects, the first mesh that equals it, often itself.
pub fn first_equal(content: &Content, selected: &[bool], log: &mut Log) -> Result<Vec<MeshId>, Error> {
    let mut used = vec![false; content.scene.meshes.len()];
    for (place, _) in content.placed.iter().zip(selected).filter(|(_, s)| **s) {
        if let Some(mesh) = content.scene.nodes[place.node].mesh {
            used[mesh] = true;
        }
    }
    let same = find_equal(&content.scene, &used, &content.cancellation)?;
    let unique = same.iter().enumerate().filter(|(i, s)| used[*i] && *i == **s).count();
    let all = used.iter().filter(|u| **u).count();
    log.pass("identical", format!("{unique} different meshes of {all}"));
    Ok(same)
}

/// Returns, for each mesh, the first one that equals it (often itself). Only `used` meshes are compared.
fn find_equal(scene: &Scene, used: &[bool], cancellation: &Cancellation) -> Result<Vec<MeshId>, Error> {
    let mut same: Vec<MeshId> = (0..scene.meshes.len()).collect();
    let mut seen: HashMap<u64, Vec<MeshId>> = HashMap::new();
    for (id, mesh) in scene.meshes.iter().enumerate().filter(|(id, _)| used[*id]) {
        cancellation.check()?;
        let candidates = seen.entry(signature(mesh)?).or_default();
        let mut found = None;
        for &other in candidates.iter() {
            if equal_meshes(mesh, &scene.meshes[other], cancellation)? {
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
    points.iter().for_each(|p| p.map(f32::to_bits).hash(&mut hash));
    (mesh.positions.len(), mesh.uvs.len(), mesh.colours.len(), mesh.face_sets.len()).hash(&mut hash);
    Ok(hash.finish())
}

fn equal_meshes(a: &Mesh, b: &Mesh, cancellation: &Cancellation) -> Result<bool, Error> {
    let names = |m: &Mesh| m.face_sets.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    // Seldom identical, and expensive to compare.
    if a.particles.is_some()
        || b.particles.is_some()
        || a.winding != b.winding
        || names(a) != names(b)
        || a.uvs.len() != b.uvs.len()
        || a.colours.len() != b.colours.len()
    {
        return Ok(false);
    }
    if !(equal_channels(&a.face_counts, &b.face_counts, |x| x, cancellation)?
        && equal_channels(&a.face_indices, &b.face_indices, |x| x, cancellation)?
        && equal_channels(&a.positions, &b.positions, bits, cancellation)?
        && equal_optional(&a.normals, &b.normals, cancellation)?)
    {
        return Ok(false);
    }
    match (&a.velocities, &b.velocities) {
        (None, None) => {}
        (Some(x), Some(y)) if equal_channels(x, y, bits, cancellation)? => {}
        // Stored only if faces change.
        _ if a.topology != Topology::Heterogeneous => {}
        _ => return Ok(false),
    }
    for (x, y) in a.uvs.iter().zip(&b.uvs) {
        if !equal_attributes(x, y, cancellation)? {
            return Ok(false);
        }
    }
    for (x, y) in a.colours.iter().zip(&b.colours) {
        if !equal_attributes(x, y, cancellation)? {
            return Ok(false);
        }
    }
    for (x, y) in a.face_sets.iter().zip(&b.face_sets) {
        if !equal_channels(&x.faces, &y.faces, |x| x, cancellation)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn bits<const N: usize>(value: [f32; N]) -> [u32; N] {
    value.map(f32::to_bits)
}

fn equal_optional<const N: usize>(
    a: &Option<Attribute<[f32; N]>>,
    b: &Option<Attribute<[f32; N]>>,
    cancellation: &Cancellation,
) -> Result<bool, Error> {
    match (a, b) {
        (Some(a), Some(b)) => equal_attributes(a, b, cancellation),
        (None, None) => Ok(true),
        _ => Ok(false),
    }
}

fn equal_attributes<const N: usize>(
    a: &Attribute<[f32; N]>,
    b: &Attribute<[f32; N]>,
    cancellation: &Cancellation,
) -> Result<bool, Error> {
    if a.name != b.name || a.scope != b.scope || a.indices.is_some() != b.indices.is_some() {
        return Ok(false);
    }
    if let (Some(a), Some(b)) = (&a.indices, &b.indices)
        && !equal_channels(a, b, |x| x, cancellation)?
    {
        return Ok(false);
    }
    equal_channels(&a.values, &b.values, bits, cancellation)
}

fn equal_channels<T: Copy + Send + Sync + 'static, B: PartialEq>(
    a: &Channel<T>,
    b: &Channel<T>,
    bits: impl Fn(T) -> B,
    cancellation: &Cancellation,
) -> Result<bool, Error> {
    if a.len() != b.len() || a.sampling() != b.sampling() && a.len() > 1 {
        return Ok(false);
    }
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for i in 0..a.len() {
        if i > 0 && a.identity(i) == a.identity(i - 1) && b.identity(i) == b.identity(i - 1) {
            continue;
        }
        cancellation.check()?;
        a.read(i, &mut x)?;
        b.read(i, &mut y)?;
        if x.len() != y.len() || !x.iter().zip(&y).all(|(&x, &y)| bits(x) == bits(y)) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::{FaceSet, Scope, TimeSampling, Winding};

    fn channel<T: Clone + Send + Sync + 'static>(step: f64, samples: Vec<Vec<T>>) -> Channel<T> {
        Channel::in_memory(TimeSampling::Uniform { start: 0.0, step }, samples)
    }

    fn mesh() -> Mesh {
        let points = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, -0.0]];
        let moved = points.iter().map(|p: &[f32; 3]| p.map(|v| v + 1.0)).collect();
        let uvs = Attribute {
            name: "st".into(),
            scope: Scope::FaceVarying,
            values: channel(1.0, vec![vec![[0.5f32, 0.5]; 3]]),
            indices: Some(channel(1.0, vec![vec![0, 1, 2]])),
        };
        Mesh {
            path: "/a".into(),
            positions: channel(1.0, vec![points, moved]),
            face_counts: channel(1.0, vec![vec![3]]),
            face_indices: channel(1.0, vec![vec![0, 1, 2]]),
            winding: Winding::Clockwise,
            topology: Topology::Homogeneous,
            normals: None,
            uvs: vec![uvs],
            colours: Vec::new(),
            velocities: None,
            face_sets: vec![FaceSet { name: "red".into(), faces: channel(1.0, vec![vec![0]]) }],
            other_attributes: Vec::new(),
            is_subd: false,
            integers: Vec::new(),
            custom_attributes: Vec::new(),
            names: Vec::new(),
            skin: None,
            particles: None,
        }
    }

    fn pair(change: impl Fn(&mut Mesh)) -> bool {
        let mut other = mesh();
        change(&mut other);
        let scene = Scene { meshes: vec![mesh(), other], ..Scene::default() };
        let same = find_equal(&scene, &[true, true], &Cancellation::never()).unwrap();
        assert_eq!(same[0], 0);
        same[1] == 0
    }

    #[test]
    fn only_what_is_equal_in_every_bit_is_one() {
        assert!(pair(|_| {}));
        assert!(pair(|m| m.path = "/b".into()));
        let last = |bits: u32| {
            let mut samples = Vec::new();
            for i in 0..2 {
                let mut points = Vec::new();
                mesh().positions.read(i, &mut points).unwrap();
                samples.push(points);
            }
            samples[1][2][2] = f32::from_bits(samples[1][2][2].to_bits() ^ bits);
            samples
        };
        assert!(pair(|m| m.positions = channel(1.0, last(0))));
        assert!(!pair(|m| m.positions = channel(1.0, last(1))));
        assert!(!pair(|m| m.positions = channel(2.0, last(0))));
        assert!(!pair(|m| m.winding = Winding::CounterClockwise));
        assert!(!pair(|m| m.uvs[0].name.push('1')));
        assert!(!pair(|m| m.uvs[0].scope = Scope::Vertex));
        assert!(!pair(|m| m.uvs[0].indices = None));
        assert!(!pair(|m| m.uvs[0].indices = Some(channel(1.0, vec![vec![0, 1, 1]]))));
        assert!(!pair(|m| m.uvs.clear()));
        assert!(!pair(|m| m.normals = Some(Attribute {
            name: "N".into(),
            scope: Scope::Vertex,
            values: channel(1.0, vec![vec![[0.0; 3]; 3]]),
            indices: None,
        })));
        assert!(!pair(|m| m.face_sets[0].name = "blue".into()));
        assert!(!pair(|m| m.face_sets[0].faces = channel(1.0, vec![vec![]])));
        assert!(!pair(|m| m.face_indices = channel(1.0, vec![vec![0, 2, 1]])));
        // A single sample has no rate.
        assert!(pair(|m| m.face_counts = channel(9.0, vec![vec![3]])));
    }

    #[test]
    fn damage_equals_itself() {
        let bad = |m: &mut Mesh| m.positions = channel(1.0, vec![vec![[f32::NAN; 3]; 3]]);
        let mut first = mesh();
        bad(&mut first);
        let scene = Scene { meshes: vec![first.clone(), first], ..Scene::default() };
        assert_eq!(find_equal(&scene, &[true, true], &Cancellation::never()).unwrap(), [0, 0]);
    }

    #[test]
    fn unused_meshes_are_not_read() {
        let none = Mesh { positions: channel(1.0, Vec::new()), ..mesh() };
        let scene = Scene { meshes: vec![mesh(), none, mesh(), mesh()], ..Scene::default() };
        let same = find_equal(&scene, &[false, false, true, true], &Cancellation::never()).unwrap();
        assert_eq!(same, [0, 1, 2, 2]);
    }
}
