//! Rebuilds the source's object tree, as far as flattening left it. A file stores for each node the path of
//! one source object and a transform that may be the product of several; objects in between that are gone
//! come back as groups.
//!
//! A mesh never has a transform itself: its transform is on the group above it, as in the source, if nothing
//! else hangs there, else on a group put in between. A node that the tree would move along with something
//! that it does not belong to (baked meshes, objects that ignore their parents) moves to a separate tree,
//! whose top is named `…_world`.

use meshreel::Transform;
use meshreel::raw::record::NodeRecord;
use std::collections::HashMap;

/// An object of the rebuilt tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Object {
    pub name: String,
    pub path: String,
    /// Index of the parent, which comes before this object.
    pub parent: Option<usize>,
    /// The record whose transform the object has.
    pub transform: Option<RecordTransform>,
    /// The record whose mesh the object shows.
    pub mesh: Option<usize>,
    /// The record of the locator, if the object is one.
    pub locator: Option<usize>,
}

/// A transform of a node record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordTransform {
    /// Relative to the record's parent.
    Local(usize),
    /// The product of the record's and all its parents'.
    World(usize),
}

/// Rebuilds the tree, depth first, parents before children.
pub(super) fn rebuild(nodes: &[NodeRecord]) -> Vec<Object> {
    let paths: Vec<String> =
        (nodes.iter().enumerate()).map(|(i, node)| absolute_path(&node.path, i)).collect();
    let mut tree = Tree::default();
    let leaders = assign_group_transforms(nodes, &paths, &mut tree);
    // Everything starts at its own place; objects that this moves wrongly are found below.
    let mut places = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        places.push(match node.mesh {
            None => {
                let at = tree.ensure(&paths[i]);
                if node.reach > 0.0 {
                    tree.objects[at].locator = Some(i);
                }
                at
            }
            Some(_) => {
                let own = needs_own(node, leaders[i], &paths[i], &tree);
                tree.place_mesh(&paths[i], own.then_some(RecordTransform::Local(i)), i)
            }
        });
    }
    for (i, node) in nodes.iter().enumerate() {
        let locator = node.reach > 0.0;
        if !locator && node.mesh.is_none()
            || tree.transforms_above(places[i]) == transforms_above_record(nodes, &leaders, i)
        {
            continue;
        }
        if locator {
            // Objects below it in the source no longer move with it, and are found to be wrong in turn.
            let old = &mut tree.objects[places[i]];
            old.locator = None;
            old.transform = old.transform.filter(|t| *t != RecordTransform::Local(i));
        } else {
            tree.remove_mesh(places[i]);
        }
        let path = tree.world_path(&paths[i]);
        let in_place = is_identity_in_world(nodes, i);
        if locator {
            tree.place_locator(&path, (!in_place).then_some(RecordTransform::World(i)), i);
            continue;
        }
        tree.place_mesh(&path, (!in_place).then_some(RecordTransform::World(i)), i);
    }
    tree.finish()
}

/// `true` if the transform of a record is the identity in all frames.
fn is_identity(node: &NodeRecord) -> bool {
    !node.animated && node.rest == Transform::IDENTITY
}

/// `true` if the transforms of a node and of all its parents are the identity in all frames.
fn is_identity_in_world(nodes: &[NodeRecord], mut i: usize) -> bool {
    loop {
        if !is_identity(&nodes[i]) {
            return false;
        }
        match nodes[i].parent {
            Some(parent) => i = parent as usize,
            None => return true,
        }
    }
}

/// Returns the absolute form of a path, without empty names.
fn absolute_path(path: &str, number: usize) -> String {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    match names.is_empty() {
        true => format!("/node{number}"),
        false => format!("/{}", names.join("/")),
    }
}

/// Returns the path of the parent; empty for the root.
fn parent_path(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..at])
}

fn last_name(path: &str) -> &str {
    path.rfind('/').map_or(path, |at| &path[at + 1..])
}

/// Returns the paths of all parents, the nearest first.
fn ancestor_paths(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(parent_path(path)), |p| Some(parent_path(p))).take_while(|p| !p.is_empty())
}

/// Puts transforms on groups: nodes without mesh have their own; the transform of a mesh goes to the group
/// above it if everything below that group moves with it. Returns, for each record, the one that carries its
/// transform (usually itself; meshes that share a group's transform have one for all).
fn assign_group_transforms(nodes: &[NodeRecord], paths: &[String], tree: &mut Tree) -> Vec<usize> {
    let mut leaders: Vec<usize> = (0..nodes.len()).collect();
    let mut below: HashMap<&str, usize> = HashMap::new();
    for path in paths {
        for above in ancestor_paths(path) {
            *below.entry(above).or_default() += 1;
        }
    }
    // Number of records in each subtree, including its root. Parents come before children.
    let mut subtree = vec![1usize; nodes.len()];
    for (i, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            subtree[parent as usize] += subtree[i];
        }
    }
    for (i, node) in nodes.iter().enumerate() {
        if node.mesh.is_none() && !is_identity(node) {
            let at = tree.ensure(&paths[i]);
            tree.objects[at].transform.get_or_insert(RecordTransform::Local(i));
        }
    }
    // Meshes below one group with equal constant transforms.
    type Key<'a> = (&'a str, Option<u32>, [u32; 10], Option<usize>);
    let mut together: HashMap<Key<'_>, Vec<usize>> = HashMap::new();
    let mut order = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        let group = parent_path(&paths[i]);
        if node.mesh.is_none() || is_identity(node) || group.is_empty() {
            continue;
        }
        let Transform { rotation: [a, b, c, d], translation: [e, f, g], scale: [h, j, k] } = node.rest;
        let bits = [a, b, c, d, e, f, g, h, j, k].map(f32::to_bits);
        let key = (group, node.parent, bits, node.animated.then_some(i));
        let list = together.entry(key).or_default();
        if list.is_empty() {
            order.push(key);
        }
        list.push(i);
    }
    for key in order {
        let list = &together[&key];
        let covered: usize = list.iter().map(|&i| subtree[i]).sum();
        let at = tree.ensure(key.0);
        if below.get(key.0) == Some(&covered) && tree.objects[at].transform.is_none() {
            tree.objects[at].transform = Some(RecordTransform::Local(list[0]));
            for &i in list {
                leaders[i] = list[0];
            }
        }
    }
    leaders
}

/// `true` if a mesh's transform is not on any group yet.
fn needs_own(node: &NodeRecord, leader: usize, path: &str, tree: &Tree) -> bool {
    let group = tree.by_path.get(parent_path(path));
    let carried = group.and_then(|&at| tree.objects[at].transform);
    !is_identity(node) && carried != Some(RecordTransform::Local(leader))
}

/// Returns the transforms that move a record, the nearest first, as leaders.
fn transforms_above_record(nodes: &[NodeRecord], leaders: &[usize], i: usize) -> Vec<RecordTransform> {
    let parents = std::iter::successors(Some(i), |&i| nodes[i].parent.map(|p| p as usize));
    parents.filter(|&i| !is_identity(&nodes[i])).map(|i| RecordTransform::Local(leaders[i])).collect()
}

/// The tree while it is built.
#[derive(Default)]
struct Tree {
    objects: Vec<Object>,
    by_path: HashMap<String, usize>,
    /// For each taken path, the number that is tried next as its suffix.
    numbers: HashMap<String, usize>,
    /// Top names of the separate trees, by the name in the source.
    worlds: HashMap<String, String>,
}

impl Tree {
    /// Returns the object at `path`; creates it, and the groups above it, if there is none.
    fn ensure(&mut self, path: &str) -> usize {
        if let Some(&at) = self.by_path.get(path) {
            return at;
        }
        let mut missing = vec![path];
        let mut parent = None;
        for above in ancestor_paths(path) {
            if let Some(&at) = self.by_path.get(above) {
                parent = Some(at);
                break;
            }
            missing.push(above);
        }
        for path in missing.into_iter().rev() {
            self.objects.push(Object {
                name: last_name(path).into(),
                path: path.into(),
                parent,
                transform: None,
                mesh: None,
                locator: None,
            });
            let at = self.objects.len() - 1;
            self.by_path.insert(path.into(), at);
            parent = Some(at);
        }
        self.objects.len() - 1
    }

    /// Returns a free path: `path`, or with a number as a suffix if that is taken.
    fn unused_path(&mut self, path: String) -> String {
        if !self.by_path.contains_key(&path) {
            return path;
        }
        // Remembering the number avoids quadratic work if very many objects have one path.
        let n = self.numbers.entry(path.clone()).or_insert(2usize);
        loop {
            let numbered = format!("{path}{n}");
            *n += 1;
            if !self.by_path.contains_key(&numbered) {
                return numbered;
            }
        }
    }

    /// Puts a record's mesh at `path`, below a transform of its own if `carried` says so.
    fn place_mesh(&mut self, path: &str, carried: Option<RecordTransform>, record: usize) -> usize {
        let free =
            |at: usize, tree: &Tree| tree.objects[at].mesh.is_none() && tree.objects[at].transform.is_none();
        let mut at = self.ensure(path);
        if !free(at, self) {
            let free = self.unused_path(path.to_owned());
            at = self.ensure(&free);
        }
        if let Some(carried) = carried {
            self.objects[at].transform = Some(carried);
            let path = &self.objects[at].path;
            let shape = format!("{path}/{}Shape", last_name(path));
            let shape = self.unused_path(shape);
            at = self.ensure(&shape);
        }
        self.objects[at].mesh = Some(record);
        at
    }

    /// Puts a locator at `path`, with a number as a suffix if that is taken.
    fn place_locator(&mut self, path: &str, carried: Option<RecordTransform>, record: usize) {
        let free = self.unused_path(path.to_owned());
        let at = self.ensure(&free);
        self.objects[at].transform = carried;
        self.objects[at].locator = Some(record);
    }

    /// Removes a mesh, together with the transform that was made for it alone.
    fn remove_mesh(&mut self, at: usize) {
        let Some(record) = self.objects[at].mesh.take() else {
            return;
        };
        if let Some(parent) = self.objects[at].parent
            && self.objects[parent].path == parent_path(&self.objects[at].path)
            && self.objects[parent].transform == Some(RecordTransform::Local(record))
            && !self.has_others(parent, at)
        {
            self.objects[parent].transform = None;
        }
    }

    /// `true` if an object has children other than `child`.
    fn has_others(&self, parent: usize, child: usize) -> bool {
        (self.objects.iter().enumerate()).any(|(i, o)| o.parent == Some(parent) && i != child)
    }

    /// Returns the transforms that move an object, the nearest first.
    fn transforms_above(&self, at: usize) -> Vec<RecordTransform> {
        std::iter::successors(Some(at), |&at| self.objects[at].parent)
            .filter_map(|at| self.objects[at].transform)
            .collect()
    }

    /// Returns a path in the separate tree, for something that does not move with the objects above it.
    fn world_path(&mut self, path: &str) -> String {
        let rest = path.strip_prefix('/').unwrap_or(path);
        let (top, rest) = match rest.split_once('/') {
            Some((top, rest)) => (top, Some(rest)),
            None => (rest, None),
        };
        if !self.worlds.contains_key(top) {
            let free = self.unused_path(format!("/{top}_world"));
            self.worlds.insert(top.into(), free);
        }
        let world = &self.worlds[top];
        let found = match rest {
            Some(rest) => format!("{world}/{rest}"),
            None => world.clone(),
        };
        // By now an object above it may have a transform there, too.
        let moved = ancestor_paths(&found).any(|above| {
            let object = self.by_path.get(above).map(|&at| &self.objects[at]);
            object.is_some_and(|object| object.transform.is_some())
        });
        match moved {
            true => self.unused_path(format!("/{}_world", last_name(path))),
            false => found,
        }
    }

    /// Returns the objects depth first, siblings in the order of the records, without groups that have become
    /// empty.
    fn finish(self) -> Vec<Object> {
        let count = self.objects.len();
        // The first record in each subtree; `usize::MAX` if it is empty.
        let mut first = vec![usize::MAX; count];
        let mut children = vec![Vec::new(); count];
        let mut roots = Vec::new();
        // Here, too, parents come before children.
        for (i, object) in self.objects.iter().enumerate().rev() {
            let carried = object.transform.map(|c| match c {
                RecordTransform::Local(record) | RecordTransform::World(record) => record,
            });
            let shown = object.mesh.into_iter().chain(object.locator);
            let own = shown.chain(carried).min();
            first[i] = first[i].min(own.unwrap_or(usize::MAX));
            if first[i] == usize::MAX {
                continue;
            }
            match object.parent {
                Some(parent) => {
                    first[parent] = first[parent].min(first[i]);
                    children[parent].push(i);
                }
                None => roots.push(i),
            }
        }
        // A stack: the last one is taken first.
        let sort = |list: &mut Vec<usize>| list.sort_by_key(|&i| std::cmp::Reverse((first[i], i)));
        children.iter_mut().for_each(sort);
        sort(&mut roots);
        let mut stack: Vec<(usize, Option<usize>)> = roots.iter().map(|&i| (i, None)).collect();
        let mut objects: Vec<Option<Object>> = self.objects.into_iter().map(Some).collect();
        let mut out: Vec<Object> = Vec::new();
        while let Some((i, parent)) = stack.pop() {
            let own = out.len();
            stack.extend(children[i].iter().map(|&child| (child, Some(own))));
            if let Some(object) = objects[i].take() {
                out.push(Object { parent, ..object });
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel::raw::record::Visibility;

    fn node(path: &str, parent: Option<u32>, mesh: Option<u32>, x: f32, animated: bool) -> NodeRecord {
        NodeRecord {
            path: path.into(),
            parent,
            mesh,
            animated,
            visibility: Visibility::Always,
            rest: Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY },
            tolerance: 0.0,
            baked: false,
            reach: 0.0,
        }
    }

    fn shown(nodes: &[NodeRecord]) -> Vec<String> {
        let objects = rebuild(nodes);
        for (i, object) in objects.iter().enumerate() {
            let parent = object.parent.map(|p| &objects[p].path[..]);
            assert_eq!(parent.unwrap_or(""), parent_path(&object.path));
            assert!(object.parent.is_none_or(|p| p < i));
            assert_eq!(last_name(&object.path), object.name);
        }
        objects
            .iter()
            .map(|o| {
                let carried = match o.transform {
                    None => String::new(),
                    Some(RecordTransform::Local(i)) => format!(" local{i}"),
                    Some(RecordTransform::World(i)) => format!(" world{i}"),
                };
                let mesh = o.mesh.map_or(String::new(), |m| format!(" mesh{m}"));
                format!("{}{carried}{mesh}", o.path)
            })
            .collect()
    }

    #[test]
    fn groups_come_back_and_carry_the_transform() {
        let nodes = [
            node("/a", None, None, 1.0, true),
            node("/a/b/shape", Some(0), Some(0), 2.0, false),
            node("/a/c/still", Some(0), Some(1), 0.0, false),
        ];
        let want = ["/a local0", "/a/b local1", "/a/b/shape mesh1", "/a/c", "/a/c/still mesh2"];
        assert_eq!(shown(&nodes), want);
    }

    #[test]
    fn meshes_below_one_group_share_its_transform() {
        let nodes = [
            node("/g/one", None, Some(0), 2.0, false),
            node("/g/two", None, Some(1), 2.0, false),
            node("/h/one", None, Some(0), 2.0, false),
            node("/h/two", None, Some(1), 3.0, false),
            node("/top", None, Some(1), 3.0, true),
        ];
        let want = [
            "/g local0",
            "/g/one mesh0",
            "/g/two mesh1",
            "/h",
            "/h/one local2",
            "/h/one/oneShape mesh2",
            "/h/two local3",
            "/h/two/twoShape mesh3",
            "/top local4",
            "/top/topShape mesh4",
        ];
        assert_eq!(shown(&nodes), want);
    }

    #[test]
    fn what_does_not_move_with_its_parents_stands_apart() {
        let nodes = [
            node("/rig", None, None, 1.0, true),
            node("/rig/body/skin", None, Some(0), 0.0, false),
            node("/rig/free", None, Some(1), 5.0, true),
            node("/rig/hat", Some(0), Some(1), 0.0, false),
        ];
        let want = [
            "/rig local0",
            "/rig/hat mesh3",
            "/rig_world",
            "/rig_world/body",
            "/rig_world/body/skin mesh1",
            "/rig_world/free world2",
            "/rig_world/free/freeShape mesh2",
        ];
        assert_eq!(shown(&nodes), want);
    }

    #[test]
    fn bad_paths_are_no_matter() {
        let nodes = [
            node("", None, Some(0), 0.0, false),
            node("//x//", None, Some(0), 0.0, false),
            node("/x", None, Some(0), 1.0, false),
            node("/x", Some(2), Some(0), 1.0, false),
        ];
        let shown = shown(&nodes);
        for mesh in 0..4 {
            let name = format!(" mesh{mesh}");
            assert_eq!(shown.iter().filter(|s| s.ends_with(&name)).count(), 1, "{shown:?}");
        }
    }

    /// If the work grew with the square of the number of objects, this test would not end.
    #[test]
    fn very_many_of_one_path_get_names_of_their_own() {
        let nodes: Vec<NodeRecord> =
            (0..100_000).map(|i| node("/x", None, Some(i), 1.0, i % 2 == 0)).collect();
        let mut paths: Vec<String> = rebuild(&nodes).into_iter().map(|o| o.path).collect();
        let count = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), count);
    }
}
