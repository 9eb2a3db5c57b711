//! One polygon mesh of one file, in memory: the result of the OBJ and PLY parsers, and its conversion to the
//! scene model.

use meshreel_scene::{
    Attribute, Channel, Counts, FaceSet, Mesh, Node, NodeKind, Remark, Scene, Scope, Topology, Winding,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// A parsed mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ParsedMesh {
    /// The object's name in the file, if it has one.
    pub name: Option<String>,
    pub positions: Vec<[f32; 3]>,
    pub face_counts: Vec<i32>,
    pub face_indices: Vec<i32>,
    pub normals: Option<ParsedAttribute<[f32; 3]>>,
    pub uvs: Option<ParsedAttribute<[f32; 2]>>,
    pub colours: Option<ParsedAttribute<[f32; 4]>>,
    /// Material or group names, each with its faces.
    pub face_sets: Vec<(String, Vec<i32>)>,
}

/// Values of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParsedAttribute<T> {
    pub scope: Scope,
    pub values: Vec<T>,
    pub indices: Option<Vec<u32>>,
}

impl<T> ParsedAttribute<T> {
    /// Wraps values without indices, one per element.
    pub fn unindexed(scope: Scope, values: Vec<T>) -> ParsedAttribute<T> {
        ParsedAttribute { scope, values, indices: None }
    }
}

/// Irregularities met while reading, counted by kind, so that a million of one kind make one remark.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally(BTreeMap<Cow<'static, str>, Entry>);

#[derive(Clone, Debug)]
struct Entry {
    count: u64,
    first: String,
    files: u64,
}

impl Tally {
    /// Counts one more `what`; `place` ("line 7") is called for the first one only.
    pub fn add(&mut self, what: impl Into<Cow<'static, str>>, place: impl FnOnce() -> String) {
        let what = what.into();
        match self.0.get_mut(&what) {
            Some(entry) => entry.count += 1,
            None => {
                self.0.insert(what, Entry { count: 1, first: place(), files: 1 });
            }
        }
    }
    /// Removes `what`, where another remark says it better.
    pub fn forget(&mut self, what: &str) {
        self.0.remove(what);
    }
    /// `true` if `what` was counted.
    pub fn has(&self, what: &str) -> bool {
        self.0.contains_key(what)
    }
    /// Adds the counts of `file`.
    pub fn merge(&mut self, other: &Tally, file: &str) {
        for (what, entry) in &other.0 {
            let all = self.0.entry(what.clone()).or_insert_with(|| Entry {
                count: 0,
                first: format!("{file}, {}", entry.first),
                files: 0,
            });
            all.count += entry.count;
            all.files += 1;
        }
    }
    /// Returns one remark about `node` per kind.
    pub fn remarks(&self, node: &str) -> Vec<Remark> {
        let remark = |(what, entry): (&Cow<'static, str>, &Entry)| {
            let many = if entry.count > 1 { format!(" ({} times", entry.count) } else { " (once".into() };
            let files = if entry.files > 1 { format!(" in {} files", entry.files) } else { String::new() };
            Remark::new(node, format!("{what}{many}{files}; first: {})", entry.first))
        };
        self.0.iter().map(remark).collect()
    }
}

/// Tally entry for faces with fewer than three corners.
pub(crate) const SMALL_FACE: &str = "faces with fewer than 3 corners draw nothing";
/// Tally entry for faces with indices out of range.
pub(crate) const BAD_FACE: &str = "faces refer to points that are not there and were left out";
/// Tally entry for meshes without faces.
pub(crate) const NO_FACES: &str = "there are points but no faces, so there is nothing to draw";

/// Returns names for the meshes of a file, unique among siblings: the object's name, or `fallback`.
pub(crate) fn node_names<'a>(names: impl Iterator<Item = Option<&'a str>>, fallback: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut out = Vec::new();
    for name in names {
        let name = name.unwrap_or(fallback).replace('/', "_");
        let name = if name.is_empty() { "mesh".to_string() } else { name };
        let mut unique = name.clone();
        while seen.contains_key(&unique) {
            let number = seen.get_mut(&name).map_or(2, |n| {
                *n += 1;
                *n
            });
            unique = format!("{name}.{number}");
        }
        seen.insert(unique.clone(), 1);
        out.push(unique);
    }
    out
}

/// Returns a file name without folder and extension.
pub(crate) fn stem(path: &std::path::Path) -> String {
    path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_else(|| "mesh".into())
}

/// Makes a node directly below the root that holds mesh number `mesh`.
pub(crate) fn mesh_node(name: &str, mesh: usize, samples: usize) -> Node {
    Node {
        name: name.into(),
        path: format!("/{name}"),
        parent: None,
        kind: NodeKind::PolyMesh,
        transform: None,
        visibility: None,
        mesh: Some(mesh),
        instance_of: None,
        samples,
        camera: None,
        user_properties: Vec::new(),
    }
}

/// Makes a scene of these nodes and meshes.
pub(crate) fn scene(format: &'static str, nodes: Vec<Node>, meshes: Vec<Mesh>) -> Scene {
    let counts = Counts {
        meshes: meshes.len(),
        facesets: meshes.iter().map(|m| m.face_sets.len()).sum(),
        ..Counts::default()
    };
    Scene { nodes, meshes, format, counts, ..Scene::default() }
}

/// Makes a scene in which nothing moves.
pub(crate) fn constant_scene(format: &'static str, shapes: Vec<ParsedMesh>, fallback: &str) -> Scene {
    let names = node_names(shapes.iter().map(|s| s.name.as_deref()), fallback);
    let nodes = names.iter().enumerate().map(|(i, name)| mesh_node(name, i, 1)).collect();
    let meshes = shapes.into_iter().zip(&names).map(|(shape, name)| constant_mesh(shape, name)).collect();
    scene(format, nodes, meshes)
}

fn constant_mesh(shape: ParsedMesh, name: &str) -> Mesh {
    fn attribute<T: Clone + Send + Sync + 'static>(name: &str, values: ParsedAttribute<T>) -> Attribute<T> {
        Attribute {
            name: name.into(),
            scope: values.scope,
            values: Channel::constant(values.values),
            indices: values.indices.map(Channel::constant),
        }
    }
    Mesh {
        path: format!("/{name}"),
        positions: Channel::constant(shape.positions),
        face_counts: Channel::constant(shape.face_counts),
        face_indices: Channel::constant(shape.face_indices),
        winding: Winding::CounterClockwise,
        topology: Topology::Constant,
        normals: shape.normals.map(|v| attribute(NORMALS, v)),
        uvs: shape.uvs.map(|v| attribute(UVS, v)).into_iter().collect(),
        colours: shape.colours.map(|v| attribute(COLOURS, v)).into_iter().collect(),
        velocities: None,
        face_sets: shape
            .face_sets
            .into_iter()
            .map(|(name, faces)| FaceSet { name, faces: Channel::constant(faces) })
            .collect(),
        other_attributes: Vec::new(),
        is_subd: false,
        integers: Vec::new(),
        custom_attributes: Vec::new(),
        names: Vec::new(),
        skin: None,
        particles: None,
    }
}

/// Names for attributes, for files that have no names for them.
pub(crate) const NORMALS: &str = "N";
pub(crate) const UVS: &str = "uv";
pub(crate) const COLOURS: &str = "Cd";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let names = node_names(["a", "a", "a.2", "a", "x/y", ""].into_iter().map(Some).chain([None]), "file");
        let mut sorted = names.clone();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), names.len(), "{names:?}");
        assert_eq!(names[0], "a");
        assert_eq!(names[4], "x_y");
        assert_eq!(names[6], "file");
    }

    #[test]
    fn tally_counts_and_names_the_first() {
        let mut tally = Tally::default();
        tally.add(SMALL_FACE, || "line 3".into());
        tally.add(SMALL_FACE, || "line 4".into());
        let mut all = Tally::default();
        all.merge(&tally, "a.obj");
        all.merge(&tally, "b.obj");
        let remarks = all.remarks("f");
        assert_eq!(remarks.len(), 1);
        assert!(remarks[0].what.ends_with("(4 times in 2 files; first: a.obj, line 3)"), "{}", remarks[0]);
    }
}
