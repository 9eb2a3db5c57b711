//! The tree of nodes: names, parents, and transforms that make the decoder's world matrices.

use crate::{FILES, between, decoded, golden, open};
use meshreel_godot::model::facts::ReelFacts;
use meshreel_godot::model::tree::{basis_columns, matrix_rows, mesh_nodes, multiply_rows, tree_nodes};
use std::collections::HashSet;

#[test]
fn nodes_have_unique_names_below_their_parents() {
    for file in FILES {
        let reel = open(&golden(file));
        let nodes = tree_nodes(reel.description());
        assert_eq!(nodes.len(), reel.description().nodes.len());
        let mut names = HashSet::new();
        for (number, node) in nodes.iter().enumerate() {
            assert!(node.parent.is_none_or(|parent| parent < number), "{file}");
            assert!(!node.name.contains(['.', ':', '@', '/', '"', '%']), "{}", node.name);
            assert!(names.insert((node.parent, node.name.clone())), "{file}: {}", node.name);
        }
    }
    let reel = open(&golden("v0/robot_small.reel"));
    let names: Vec<String> = tree_nodes(reel.description()).into_iter().map(|node| node.name).collect();
    assert!(names.contains(&"Cylinder".to_owned()) && names.contains(&"Cylinder_2".to_owned()), "{names:?}");
}

#[test]
fn transforms_multiply_to_world_matrices() {
    // Where a mesh is about to vanish, the decoder blends its node for the nodes below it, but not for
    // itself.
    let files =
        [("v0/robot_small.reel", 0.5), ("v0/everything_store.reel", 0.0), ("v0/particles_small.reel", 0.5)];
    for (file, blend) in files {
        let reel = open(&golden(file));
        let nodes = tree_nodes(reel.description());
        let (first, second) = (decoded(&reel, 4), decoded(&reel, 5));
        let view = between(&first, &second, blend);
        let mut worlds: Vec<[f32; 12]> = Vec::new();
        for (number, node) in nodes.iter().enumerate() {
            let local = view.local(number);
            let [x, y, z] = basis_columns(&local);
            let row = |k: usize| [x[k], y[k], z[k], local.translation[k]];
            let own: [f32; 12] = [row(0), row(1), row(2)].concat().try_into().unwrap();
            let world = node.parent.map_or(own, |parent| multiply_rows(&worlds[parent], &own));
            let wanted = matrix_rows(&view.world(number));
            for (own, wanted) in world.iter().zip(&wanted) {
                assert!(
                    (own - wanted).abs() <= 1e-5 * wanted.abs().max(1.0),
                    "{file} {number} {own} {wanted}"
                );
            }
            worlds.push(world);
        }
        assert!(nodes.iter().any(|node| node.moves));
    }
}

#[test]
fn a_mesh_that_several_nodes_show_is_one_mesh() {
    let reel = open(&golden("v0/robot_small.reel"));
    let meshes = mesh_nodes(reel.description());
    assert_eq!(meshes.len(), 1);
    assert_eq!(meshes[0].nodes.len(), 10);
}

#[test]
fn facts_are_those_of_the_file() {
    let facts = ReelFacts::read(&open(&golden("v0/wall_small.reel"))).unwrap();
    assert_eq!((facts.frames, facts.frame_rate), (38, 24.0));
    assert!((facts.duration - 37.0 / 24.0).abs() < 1e-9);
    assert_eq!(facts.meshes, ["/JoinedWall/Joined"]);
    assert_eq!(facts.materials, ["inside", "outside"]);
    assert_eq!(facts.bytes, std::fs::metadata(golden("v0/wall_small.reel")).unwrap().len());
    let facts = ReelFacts::read(&open(&golden("clips/layers.reel"))).unwrap();
    assert_eq!((facts.frames, facts.duration, facts.unit_metres), (0, 0.0, 0.01));
    assert_eq!(facts.clips.len(), 2);
    assert_eq!((facts.clips[0].name.as_str(), facts.clips[0].joints), ("walk", 9));
    assert!((facts.clips[0].duration - 299.0 / 30.0).abs() < 1e-9);
}
