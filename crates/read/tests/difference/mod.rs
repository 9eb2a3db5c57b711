//! Compares two scenes, bit for bit in every sample.

#![allow(dead_code)]

use glam::DMat4;
use meshreel_scene::{
    Attribute, Channel, CustomAttribute, LocalTransform, Mesh, Particles, PlacedObject, Scene,
};
use std::fmt::Debug;

/// Collects the differences, with paths.
pub struct Difference {
    pub found: Vec<String>,
    /// Number of samples compared.
    pub samples: usize,
}

/// Compares trees (instances expanded), meshes with all their attributes, transforms and visibility. `order`:
/// children must also have the same order.
pub fn scenes(a: &Scene, b: &Scene, order: bool) -> Difference {
    let mut d = Difference { found: Vec::new(), samples: 0 };
    let (mut x, mut y) = (a.expand().unwrap(), b.expand().unwrap());
    if !order {
        x.sort_by(|a, b| a.path.cmp(&b.path));
        y.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let paths = |list: &[PlacedObject]| list.iter().map(|p| p.path.clone()).collect::<Vec<_>>();
    if paths(&x) != paths(&y) {
        d.found.push(format!("trees: {:?} and {:?}", paths(&x), paths(&y)));
        return d;
    }
    for (p, q) in x.iter().zip(&y) {
        let (n, m) = (&a.nodes[p.node], &b.nodes[q.node]);
        d.check(&p.path, "kind", &n.kind, &m.kind);
        d.option(&p.path, "visibility", &n.visibility, &m.visibility, Difference::channel);
        d.option(&p.path, "transform", &n.transform, &m.transform, |d, path, what, t, u| {
            d.channel(path, what, &matrices(&t.local), &matrices(&u.local));
            // Absent means true.
            if t.inherits.as_ref().is_some_and(|c| !all(c)) || u.inherits.as_ref().is_some_and(|c| !all(c)) {
                d.option(path, "inherits", &t.inherits, &u.inherits, Difference::channel);
            }
        });
        d.option(&p.path, "camera", &n.camera, &m.camera, Difference::channel);
        let mesh = |s: &'_ Scene, id: Option<usize>| id.map(|id| s.meshes[id].clone());
        d.option(&p.path, "mesh", &mesh(a, n.mesh), &mesh(b, m.mesh), Difference::mesh);
    }
    d
}

fn matrices(channel: &Channel<LocalTransform>) -> Channel<DMat4> {
    let mut values = Vec::new();
    let mut read = |i: usize| {
        channel.read(i, &mut values).unwrap();
        values.iter().map(LocalTransform::matrix).collect()
    };
    let samples = (0..channel.len()).map(&mut read).collect();
    Channel::in_memory((**channel.sampling()).clone(), samples)
}

fn all(channel: &Channel<bool>) -> bool {
    let mut values = Vec::new();
    (0..channel.len()).all(|i| {
        channel.read(i, &mut values).unwrap();
        values.iter().all(|v| *v)
    })
}

impl Difference {
    fn check<T: PartialEq + Debug>(&mut self, path: &str, what: &str, a: &T, b: &T) {
        if a != b {
            self.found.push(format!("{path}: {what} {a:?} and {b:?}"));
        }
    }

    fn option<T>(
        &mut self,
        path: &str,
        what: &str,
        a: &Option<T>,
        b: &Option<T>,
        compare: impl FnOnce(&mut Self, &str, &str, &T, &T),
    ) {
        match (a, b) {
            (Some(a), Some(b)) => compare(self, path, what, a, b),
            (None, None) => {}
            _ => self.found.push(format!("{path}: {what} in one only ({})", a.is_some())),
        }
    }

    fn mesh(&mut self, path: &str, _: &str, a: &Mesh, b: &Mesh) {
        self.check(path, "topology", &a.topology, &b.topology);
        self.check(path, "subdivision", &a.is_subd, &b.is_subd);
        self.check(path, "winding", &a.winding, &b.winding);
        self.channel(path, "positions", &a.positions, &b.positions);
        self.channel(path, "face counts", &a.face_counts, &b.face_counts);
        self.channel(path, "face indices", &a.face_indices, &b.face_indices);
        self.option(path, "velocities", &a.velocities, &b.velocities, Self::channel);
        self.option(path, "normals", &a.normals, &b.normals, Self::attribute);
        self.list(path, "uvs", &a.uvs, &b.uvs);
        self.list(path, "colours", &a.colours, &b.colours);
        self.option(path, "particles", &a.particles, &b.particles, Self::particles);
        self.check(path, "attached", &a.custom_attributes.len(), &b.custom_attributes.len());
        for x in &a.custom_attributes {
            let same = |y: &&CustomAttribute| y.attribute.name == x.attribute.name;
            match b.custom_attributes.iter().find(same) {
                Some(y) => {
                    self.check(path, "components", &x.components, &y.components);
                    self.attribute(path, "attached", &x.attribute, &y.attribute);
                }
                None => self.found.push(format!("{path}: {} in one only", x.attribute.name)),
            }
        }
        let names = |m: &Mesh| {
            let mut names: Vec<_> = m.face_sets.iter().map(|s| s.name.clone()).collect();
            names.sort();
            names
        };
        self.check(path, "face sets", &names(a), &names(b));
        for set in &a.face_sets {
            if let Some(other) = b.face_sets.iter().find(|s| s.name == set.name) {
                self.channel(path, &set.name, &set.faces, &other.faces);
            }
        }
    }

    fn particles(&mut self, path: &str, _: &str, a: &Particles, b: &Particles) {
        self.option(path, "ids", &a.ids, &b.ids, Self::channel);
        self.option(path, "widths", &a.widths, &b.widths, Self::attribute);
        self.option(path, "curves", &a.curves, &b.curves, |d, path, _, a, b| {
            d.channel(path, "points of curves", &a.counts, &b.counts);
            d.check(path, "basis", &a.basis, &b.basis);
            d.check(path, "ends", &a.curve_ends, &b.curve_ends);
        });
    }

    /// Compares sets by name, since containers keep different orders.
    fn list<const N: usize>(
        &mut self,
        path: &str,
        what: &str,
        a: &[Attribute<[f32; N]>],
        b: &[Attribute<[f32; N]>],
    ) {
        self.check(path, what, &a.len(), &b.len());
        self.check(path, "first", &a.first().map(|x| &x.name), &b.first().map(|x| &x.name));
        for x in a {
            match b.iter().find(|y| y.name == x.name) {
                Some(y) => self.attribute(path, what, x, y),
                None => self.found.push(format!("{path}: {what} {} in one only", x.name)),
            }
        }
    }

    fn attribute<const N: usize>(
        &mut self,
        path: &str,
        what: &str,
        a: &Attribute<[f32; N]>,
        b: &Attribute<[f32; N]>,
    ) {
        let what = format!("{what} {}", a.name);
        self.check(path, &what, &a.name, &b.name);
        self.check(path, &what, &a.scope, &b.scope);
        // A palette may be written without its duplicates.
        if let (Some(own), Some(other)) = (&a.indices, &b.indices)
            && own.len() == a.values.len()
            && other.len() == b.values.len()
            && own.len() == other.len()
        {
            for i in 0..own.len() {
                let (x, y) = (resolved(a, own, i), resolved(b, other, i));
                let same = format!("{x:?}") == format!("{y:?}");
                self.samples += 1;
                if !same || (own.time(i) - other.time(i)).abs() > 1e-9 {
                    let (x, y) = (x.len(), y.len());
                    self.found.push(format!("{path}: {what} {i} differ ({x} and {y} elements)"));
                    return;
                }
            }
            return;
        }
        self.channel(path, &what, &a.values, &b.values);
        self.option(path, &what, &a.indices, &b.indices, Self::channel);
    }

    fn channel<T: Clone + Send + Sync + Debug + PartialEq + 'static>(
        &mut self,
        path: &str,
        what: &str,
        a: &Channel<T>,
        b: &Channel<T>,
    ) {
        self.check(path, what, &a.len(), &b.len());
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for i in 0..a.len().min(b.len()) {
            if (a.time(i) - b.time(i)).abs() > 1e-9 {
                self.found.push(format!("{path}: {what} {i} at {} and {}", a.time(i), b.time(i)));
                return;
            }
            a.read(i, &mut x).unwrap();
            b.read(i, &mut y).unwrap();
            self.samples += 1;
            // NaN equals itself when printed.
            if x != y && format!("{x:?}") != format!("{y:?}") {
                self.found.push(format!("{path}: {what} {i} differ ({} and {} values)", x.len(), y.len()));
                return;
            }
            let same = |c: &Channel<T>| i > 0 && c.identity(i) == c.identity(i - 1);
            if same(a) != same(b) {
                self.found.push(format!("{path}: {what} {i}: identities disagree"));
                return;
            }
        }
    }
}

/// Returns the value of each element at a sample; `None` if its index is out of range.
fn resolved<const N: usize>(
    attribute: &Attribute<[f32; N]>,
    indices: &Channel<u32>,
    i: usize,
) -> Vec<Option<[f32; N]>> {
    let (mut values, mut numbers) = (Vec::new(), Vec::new());
    attribute.values.read(i, &mut values).unwrap();
    indices.read(i, &mut numbers).unwrap();
    let value = |n: &u32| values.get(*n as usize).copied();
    numbers.iter().map(value).collect()
}
