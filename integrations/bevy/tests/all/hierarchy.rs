//! The entities of files, and their values beside those of the decoder.

use crate::game::{Game, decoded, golden};
use bevy::mesh::VertexAttributeValues;
use bevy::prelude::*;
use bevy_meshreel::meshreel::{Limits, MeshView, Reel};
use bevy_meshreel::{DefaultReelMaterials, ReelMaterials, ReelNode, ReelSurface};

fn positions(mesh: &Mesh) -> Vec<[f32; 3]> {
    match mesh.attribute(Mesh::ATTRIBUTE_POSITION) {
        Some(VertexAttributeValues::Float32x3(values)) => values.clone(),
        other => panic!("{other:?}"),
    }
}

fn normals(mesh: &Mesh) -> Vec<[f32; 3]> {
    match mesh.attribute(Mesh::ATTRIBUTE_NORMAL) {
        Some(VertexAttributeValues::Float32x3(values)) => values.clone(),
        other => panic!("{other:?}"),
    }
}

/// Returns the range of vertices that the triangles of a material use.
fn vertices_of(mesh: &MeshView<'_>, material: &str) -> std::ops::Range<usize> {
    if mesh.record().method.changes() {
        return 0..mesh.vertex_count();
    }
    let number = mesh.record().materials.iter().position(|record| record.name == material).unwrap();
    let range = mesh.materials()[number];
    let indices = &mesh.indices()[range.first as usize..][..range.count as usize];
    let (first, last) = (indices.iter().min().unwrap(), indices.iter().max().unwrap());
    *first as usize..*last as usize + 1
}

#[test]
fn a_file_becomes_a_hierarchy_of_its_nodes() {
    let mut game = Game::new(&["robot_small.reel"]);
    let entity = game.ready("robot_small.reel", |player| player);
    let reel = Reel::open(golden("robot_small.reel"), &Limits::default()).unwrap();
    let nodes = &reel.description().nodes;
    assert!(nodes.len() > 3);
    for (number, node) in nodes.iter().enumerate() {
        let spawned = game.instance(entity).node(number).unwrap();
        let world = game.app.world();
        assert_eq!(world.get::<ReelNode>(spawned), Some(&ReelNode { number }));
        assert!(node.path.ends_with(world.get::<Name>(spawned).unwrap().as_str()), "{}", node.path);
        let parent = world.get::<ChildOf>(spawned).unwrap().parent();
        match node.parent {
            Some(number) => assert_eq!(world.get::<ReelNode>(parent).unwrap().number, number as usize),
            None => assert_eq!(world.get::<ChildOf>(parent).unwrap().parent(), entity),
        }
    }
    let shown = nodes.iter().filter(|node| node.mesh.is_some()).count();
    assert_eq!(game.surfaces(entity).len(), shown);
}

#[test]
fn vertices_are_those_of_the_decoder() {
    for (file, frame) in [
        ("flag_small.reel", 11),
        ("wall_fast.reel", 30),
        ("snake_small.reel", 5),
        ("everything_zstd.reel", 4),
    ] {
        let decoder = decoded(file, frame);
        let time = decoder.reel().time(frame) - decoder.reel().time(0);
        let mut game = Game::new(&[file]);
        let entity = game.ready(file, |player| player);
        game.player(entity).seek(time);
        game.frames(3);
        let mut checked = 0;
        for surface in game.surfaces(entity) {
            let of = game.app.world().get::<ReelSurface>(surface).unwrap().clone();
            let view = decoder.mesh(of.mesh);
            if !decoder.visible(of.node) {
                continue;
            }
            let mut expected = vec![[0.0; 3]; view.vertex_count()];
            view.positions_into(expected.as_flattened_mut()).unwrap();
            let range = vertices_of(&view, &of.material);
            assert_eq!(positions(game.mesh(surface)), expected[range.clone()], "{file}");
            if view.normals_into(expected.as_flattened_mut()).is_ok() {
                assert_eq!(normals(game.mesh(surface)), expected[range], "{file}");
            }
            checked += 1;
        }
        assert!(checked > 0, "{file}");
    }
}

/// World space in metres: the product of all transforms is the decoder's matrix.
#[test]
fn nodes_stand_where_the_decoder_says() {
    let decoder = decoded("robot_small.reel", 9);
    let time = decoder.reel().time(9) - decoder.reel().time(0);
    let mut game = Game::new(&["robot_small.reel"]);
    let entity = game.ready("robot_small.reel", |player| player.starting_at(time));
    game.frames(3);
    let metres = match decoder.reel().description().unit {
        2 => 0.01,
        3 => 0.001,
        4 => 0.0254,
        _ => 1.0,
    };
    for number in 0..decoder.reel().description().nodes.len() {
        let node = game.instance(entity).node(number).unwrap();
        let world = game.app.world().get::<GlobalTransform>(node).unwrap().affine();
        let expected = decoder.world(number);
        for (row, expected) in expected.iter().enumerate() {
            let own = [world.x_axis[row], world.y_axis[row], world.z_axis[row], world.translation[row]];
            for (a, b) in own.iter().zip(expected) {
                let (b, scale) = ((b * metres) as f32, metres as f32);
                assert!((a - b).abs() <= 1e-4 * scale.max(b.abs()), "node {number}: {own:?} {expected:?}");
            }
        }
    }
}

#[test]
fn parts_of_a_mesh_have_their_materials() {
    let file = "everything_zstd.reel";
    let mut game = Game::new(&[file]);
    let reel = Reel::open(golden(file), &Limits::default()).unwrap();
    let meshes = &reel.description().meshes;
    let named = meshes.iter().flat_map(|mesh| &mesh.materials).find(|material| !material.name.is_empty());
    let name = named.expect("a named material").name.clone();
    let red = game.app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(Color::srgb(1.0, 0.0, 0.0));
    game.app.insert_resource(DefaultReelMaterials(ReelMaterials::default().with(&name, red.clone())));
    let entity = game.ready(file, |player| player);
    let mut triangles = vec![0; meshes.len()];
    let mut found = 0;
    for surface in game.surfaces(entity) {
        let world = game.app.world();
        let of = world.get::<ReelSurface>(surface).unwrap();
        let material = world.get::<MeshMaterial3d<StandardMaterial>>(surface).unwrap();
        assert_eq!(material.0 == red, of.material == name);
        found += usize::from(material.0 == red);
        let mesh = game.mesh(surface);
        let vertices = mesh.count_vertices();
        let indices: Vec<usize> = mesh.indices().into_iter().flat_map(|indices| indices.iter()).collect();
        assert!(indices.iter().all(|index| *index < vertices));
        triangles[of.mesh] += indices.len();
    }
    assert!(found > 0);
    assert!(triangles.iter().sum::<usize>() > 0);
}

#[test]
fn instances_share_the_meshes_that_do_not_change() {
    let mut game = Game::new(&["robot_small.reel", "flag_fast.reel"]);
    let handles = |game: &mut Game, entity: Entity| -> Vec<Handle<Mesh>> {
        let surfaces = game.surfaces(entity);
        surfaces.iter().map(|s| game.app.world().get::<Mesh3d>(*s).unwrap().0.clone()).collect()
    };
    let both = [0, 1].map(|_| game.ready("robot_small.reel", |player| player));
    let [a, b] = both.map(|entity| handles(&mut game, entity));
    assert_eq!(a, b);
    let both = [0, 1].map(|_| game.ready("flag_fast.reel", |player| player));
    let [a, b] = both.map(|entity| handles(&mut game, entity));
    assert_ne!(a, b);
}
