//! What is shown of the conformance set, as numbers: compared with those of the sources by
//! `tools/conformance/check.py`.

use crate::game::{Game, conformance};
use bevy::prelude::*;
use bevy_meshreel::meshreel::{Limits, Reel};
use bevy_meshreel::{ReelCamera, ReelClipPlayer, ReelJoint, ReelSurface};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Returns the three rows of a transform.
fn rows(place: &GlobalTransform) -> Vec<f32> {
    let m = place.affine();
    let [x, y, z, w] = [m.matrix3.x_axis, m.matrix3.y_axis, m.matrix3.z_axis, m.translation];
    (0..3).flat_map(|row| [x[row], y[row], z[row], w[row]]).collect()
}

fn floats(mesh: &Mesh, attribute: bevy::mesh::MeshVertexAttribute) -> Vec<f32> {
    use bevy::mesh::VertexAttributeValues::{Float32x2, Float32x3, Float32x4};
    match mesh.attribute(attribute) {
        Some(Float32x2(values)) => values.as_flattened().to_vec(),
        Some(Float32x3(values)) => values.as_flattened().to_vec(),
        Some(Float32x4(values)) => values.as_flattened().to_vec(),
        _ => Vec::new(),
    }
}

/// Returns a node, whose mesh is the sum of its surfaces.
fn node(game: &Game, path: &str, surfaces: &[Entity]) -> Value {
    let world = game.app.world();
    let mut values: BTreeMap<&str, Vec<f32>> = BTreeMap::new();
    let (mut indices, mut materials) = (Vec::new(), Vec::new());
    for surface in surfaces {
        let mesh = game.mesh(*surface);
        let first = values.get("positions").map_or(0, Vec::len) as u32 / 3;
        for (name, attribute) in [
            ("positions", Mesh::ATTRIBUTE_POSITION),
            ("normals", Mesh::ATTRIBUTE_NORMAL),
            ("uvs", Mesh::ATTRIBUTE_UV_0),
            ("colours", Mesh::ATTRIBUTE_COLOR),
        ] {
            values.entry(name).or_default().extend(floats(mesh, attribute));
        }
        let own: Vec<u32> =
            mesh.indices().into_iter().flat_map(|all| all.iter()).map(|i| i as u32 + first).collect();
        let material = &world.get::<ReelSurface>(*surface).unwrap().material;
        materials.push(json!({"name": material, "count": own.len()}));
        indices.extend(own);
    }
    let shown = |surface: &Entity| world.get::<InheritedVisibility>(*surface).unwrap().get();
    let place = world.get::<GlobalTransform>(surfaces[0]).unwrap();
    let mut out = json!({
        "path": path, "visible": surfaces.iter().all(shown), "world": rows(place), "indices": indices,
        "materials": materials,
    });
    values.into_iter().for_each(|(name, list)| out[name] = json!(list));
    out
}

/// Returns what is shown of a file at a moment.
fn moment(game: &mut Game, player: Entity, reel: &Reel) -> Value {
    let mut by_node: BTreeMap<usize, Vec<Entity>> = BTreeMap::new();
    for surface in game.surfaces(player) {
        let node = game.app.world().get::<ReelSurface>(surface).unwrap().node;
        by_node.entry(node).or_default().push(surface);
    }
    let records = &reel.description().nodes;
    let nodes: Vec<Value> =
        by_node.iter().map(|(number, surfaces)| node(game, &records[*number].path, surfaces)).collect();
    let own = reel.cameras().unwrap();
    let world = game.app.world_mut();
    let mut cameras = world.query::<(&ReelCamera, &GlobalTransform, &Projection)>();
    let camera = |(camera, place, lens): (&ReelCamera, &GlobalTransform, &Projection)| {
        let Projection::Perspective(lens) = lens else { panic!("a perspective") };
        // The cameras of the set have a picture 24 mm high.
        let focal_length = 12.0 / (lens.fov / 2.0).tan();
        json!({
            "path": own[camera.number].path(), "eye": place.translation().to_array(),
            "forward": place.forward().to_array(), "up": place.up().to_array(), "right": place.right().to_array(),
            "focal_length": focal_length,
        })
    };
    let cameras: Vec<Value> = cameras.iter(world).map(camera).collect();
    json!({"nodes": nodes, "cameras": cameras})
}

fn joints(game: &mut Game) -> Value {
    let world = game.app.world_mut();
    let mut joints = world.query_filtered::<(&Name, &GlobalTransform), With<ReelJoint>>();
    let joint = |(name, place): (&Name, &GlobalTransform)| {
        let (_, turn, position) = place.to_scale_rotation_translation();
        let axes: Vec<f32> =
            [Vec3::X, Vec3::Y, Vec3::Z].iter().flat_map(|axis| (turn * *axis).to_array()).collect();
        json!({"name": name.as_str(), "position": position.to_array(), "axes": axes})
    };
    let joints: Vec<Value> = joints.iter(world).map(joint).collect();
    json!({"joints": joints})
}

fn file(name: &str, times: &[f64]) -> Value {
    let mut game = Game::new(&[]);
    std::fs::copy(conformance(name), game.folder.path().join(name)).unwrap();
    let reel = Reel::open(conformance(name), &Limits::default()).unwrap();
    let is_clip = reel.frame_count() == 0;
    let player = match is_clip {
        true => {
            let asset = game.app.world().resource::<AssetServer>().load(name.to_owned());
            let entity = game.app.world_mut().spawn(ReelClipPlayer::new(asset)).id();
            game.app.world_mut().get_mut::<ReelClipPlayer>(entity).unwrap().plays = false;
            // Assets are loaded by threads of their own.
            for _ in 0..1000 {
                game.frames(1);
                if joints(&mut game)["joints"].as_array().is_some_and(|all| !all.is_empty()) {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            entity
        }
        false => game.ready(name, |player| player),
    };
    let moments = times.iter().map(|seconds| {
        match is_clip {
            true => game.app.world_mut().get_mut::<ReelClipPlayer>(player).unwrap().seek(*seconds),
            false => game.player(player).seek(*seconds),
        }
        game.frames(4);
        let mut out = if is_clip { joints(&mut game) } else { moment(&mut game, player, &reel) };
        out["seconds"] = json!(seconds);
        out
    });
    json!({"metres": 1.0, "moments": moments.collect::<Vec<_>>()})
}

#[test]
fn what_is_shown_are_the_numbers_of_the_sources() {
    let mut files = Map::new();
    for line in std::fs::read_to_string(conformance("moments.txt")).unwrap().lines() {
        let mut words = line.split(' ');
        let name = words.next().unwrap();
        let times: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
        files.insert(name.into(), file(name, &times));
    }
    let shown = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(shown.path(), json!({"engine": "bevy", "files": files}).to_string()).unwrap();
    let check = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/conformance/check.py");
    match Command::new("python3").arg(check).arg(shown.path()).output() {
        Ok(done) => assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stdout)),
        Err(error) => eprintln!("skipped: python3: {error}"),
    }
}
