//! Tests of part attributes of any scope: values that are constant within each part are looked up by part, in
//! every frame and between frames; values that vary between points are no part attributes.

use crate::flying::{Bricks, one_mesh};
use crate::replaced::replaced;
use meshreel::raw::format::kind;
use meshreel::time::FramePair;
use meshreel::view::PartAttribute;
use meshreel::{FrameDecoder, Reel};
use meshreel_check::verify;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_compile::{Silent, compile};
use meshreel_options::{Options, PartsChoice, Preset};
use meshreel_read::ReadOptions;
use meshreel_scene::{
    Attribute, Channel, CustomAttribute, Mesh, Scene, Scope, TimeSampling, Topology, sample,
};
use meshreel_testkit::{opened, verified};
use std::sync::Arc;

const BRICKS: usize = 6;

fn options(preset: Preset) -> Options {
    Options { preset, effort: 2, ..Options::default() }
}

fn every_frame() -> TimeSampling {
    TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 }
}

fn custom_attribute(
    name: &str,
    scope: Scope,
    components: usize,
    samples: Vec<Vec<[f32; 4]>>,
) -> CustomAttribute {
    CustomAttribute {
        components,
        attribute: Attribute {
            name: name.into(),
            scope,
            values: Channel::in_memory(every_frame(), samples),
            indices: None,
        },
    }
}

/// Returns the temperature of a brick.
fn heat(brick: usize, frame: usize) -> f32 {
    300.0 + 100.0 * brick as f32 + 7.0 * ((frame + brick) as f32 * 0.4).sin()
}

/// Returns a wall that bursts, with attributes of all scopes.
fn wall() -> Scene {
    let mut bricks = Bricks::wall(3, 2);
    let frames = bricks.frames.len();
    let (points, faces) = (Bricks::POINTS as usize, 24);
    assert_eq!(bricks.frames[0].len(), BRICKS * points);
    assert_eq!(bricks.faces.len(), BRICKS * faces);
    // A brick that never moves beside them: it is no part, or one at rest.
    let first = bricks.frames[0].len() as i32;
    for frame in &mut bricks.frames {
        frame.extend([[-9.0, 0.0, 0.0], [-8.0, 0.0, 0.0], [-8.0, 1.0, 0.0], [-9.0, 1.0, 0.0]]);
    }
    bricks.faces.push([first, first + 1, first + 2, first + 3]);
    let mut scene = bricks.scene();
    let mesh = &mut scene.meshes[0];
    let all = |of: &dyn Fn(usize, usize) -> [f32; 4], each: usize, last: usize| {
        (0..frames)
            .map(|frame| {
                let own = (0..BRICKS).flat_map(|b| vec![of(b, frame); each]);
                own.chain(vec![of(BRICKS, frame); last]).collect()
            })
            .collect::<Vec<Vec<[f32; 4]>>>()
    };
    let hot = |b: usize, f: usize| [heat(b, f), 0.0, 0.0, 0.0];
    let tint = |b: usize, _: usize| [b as f32 / 8.0, 0.5, 1.0 / (1.0 + b as f32), 0.0];
    let wind = |_: usize, f: usize| [f as f32, -(f as f32), 0.0, 1.0];
    let rough = (0..BRICKS * points + 4).map(|p| [(p as f32 * 1.7).sin(), 0.0, 0.0, 0.0]);
    mesh.custom_attributes = vec![
        custom_attribute("heat", Scope::Uniform, 1, all(&hot, faces, 1)),
        custom_attribute("tint", Scope::Vertex, 3, all(&tint, points, 4)),
        custom_attribute("same", Scope::FaceVarying, 1, all(&hot, 4 * faces, 4)),
        custom_attribute("wind", Scope::Constant, 4, (0..frames).map(|f| vec![wind(0, f)]).collect()),
        custom_attribute("rough", Scope::Vertex, 1, vec![rough.collect()]),
        custom_attribute("broken", Scope::Constant, 1, vec![vec![[f32::NAN; 4]]]),
        custom_attribute("empty", Scope::Constant, 1, vec![vec![]]),
    ];
    let piece = (0..BRICKS + 1).flat_map(|b| vec![b as i64 * 70_001; if b < BRICKS { faces } else { 1 }]);
    mesh.integers = vec![Attribute {
        name: "piece".into(),
        scope: Scope::Uniform,
        values: Channel::constant(piece.collect()),
        indices: None,
    }];
    scene
}

fn named<'a>(all: &'a [PartAttribute], name: &str) -> &'a PartAttribute {
    all.iter().find(|a| a.name() == name).unwrap_or_else(|| panic!("no {name}"))
}

/// Returns the group of each brick, found by its vertices.
fn groups(reel: &Reel, attribute: &PartAttribute) -> Vec<usize> {
    let map = reel.source_map(0).unwrap().unwrap();
    let mut decoder = FrameDecoder::new(reel).unwrap();
    decoder.decode(0).unwrap();
    let view = decoder.mesh(0);
    let mut out = vec![usize::MAX; BRICKS + 1];
    for (v, &point) in map.vertex_point.iter().enumerate() {
        let group = match (attribute.part_groups(), attribute.vertex_groups()) {
            (Some(of), None) => of[view.bones().unwrap().influences(v).next().unwrap().0],
            (None, Some(of)) => of[v],
            _ => 0,
        } as usize;
        let own = &mut out[(point / Bricks::POINTS) as usize];
        assert!(*own == usize::MAX || *own == group, "one brick, two groups");
        *own = group;
    }
    out
}

#[test]
fn e11_numbers_of_parts_are_looked_up() {
    let scene = wall();
    for preset in [Preset::Small, Preset::Fast, Preset::Classic] {
        let (reel, report) = verified(&scene, &options(preset));
        let all = reel.attributes(0).unwrap();
        let names: Vec<&str> = all.iter().map(PartAttribute::name).collect();
        assert_eq!(names, ["heat", "tint", "same", "wind", "piece"]);
        let said: Vec<&str> = (report.remarks.iter()).map(|r| &r.what[..]).collect();
        assert!(said.iter().any(|s| s.contains("attribute broken") && s.contains("or none")), "{said:?}");
        assert!(said.iter().any(|s| s.contains("attribute empty") && s.contains("no value")), "{said:?}");
        let own = report.meshes[0].part_attributes.as_ref().unwrap();
        let kept: Vec<usize> = own.attributes.iter().map(|a| a.groups).collect();
        assert_eq!(kept, [BRICKS + 1, BRICKS + 1, BRICKS + 1, 1, BRICKS + 1]);
        assert!(own.bytes > 0);
        let hot = named(&all, "heat");
        assert_eq!(hot.part_groups().is_some(), preset != Preset::Classic, "{preset:?}");
        assert_eq!((hot.components(), named(&all, "tint").components()), (1, 3));
        let (of_heat, of_piece) = (groups(&reel, hot), groups(&reel, named(&all, "piece")));
        let mut different = of_heat.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), BRICKS + 1);
        // A ten-thousandth of the range over all frames.
        let tolerance = 1e-4 * 620.0;
        for frame in 0..reel.frame_count() {
            let still = FramePair::single(frame as u32);
            for brick in 0..=BRICKS {
                let [value, rest @ ..] = hot.values(of_heat[brick], still);
                assert!((value - heat(brick, frame)).abs() <= tolerance && rest == [0.0; 3]);
                let [piece, ..] = named(&all, "piece").values(of_piece[brick], still);
                assert_eq!(piece, brick as f32 * 70_001.0, "whole numbers are exact");
            }
            let [x, y, z, w] = named(&all, "wind").values(0, still);
            let frame = frame as f32;
            assert!((x - frame).abs() < 0.01 && (y + frame).abs() < 0.01 && (z, w) == (0.0, 1.0));
        }
        // Interpolated linearly between frames, as everything is.
        let half = FramePair { first: 12, second: 13, blend: 0.25 };
        let mut table = vec![[0.0; 4]; hot.groups()];
        hot.write_table(half, &mut table);
        for brick in 0..=BRICKS {
            let wanted = 0.75 * heat(brick, 12) + 0.25 * heat(brick, 13);
            assert!((table[of_heat[brick]][0] - wanted).abs() <= tolerance);
        }
        assert_eq!(hot.values(99, half), [0.0; 4]);
    }
}

#[test]
fn e11_on_request_only() {
    let scene = wall();
    let without = Options {
        channels: sample::ChannelSelection { attributes: false, ..sample::ChannelSelection::default() },
        ..options(Preset::Small)
    };
    let (with, report) = verified(&scene, &options(Preset::Small));
    let (reel, _) = verified(&scene, &without);
    assert!(reel.all_part_attributes().unwrap().is_empty());
    assert!(reel.attributes(0).unwrap().is_empty());
    let more = with.file_bytes() - reel.file_bytes();
    assert!(more.abs_diff(report.meshes[0].part_attributes.as_ref().unwrap().bytes) < 64, "{more}");
    assert!(matches!(reel.attributes(7), Err(meshreel::Error::Misuse { .. })));
    // The check knows the requested tolerance.
    let others = verify(&Bricks::wall(3, 2).scene(), &with, &|_, _| ()).unwrap();
    assert!(!others.ok);
    let mut colder = wall();
    colder.meshes[0].custom_attributes[3] =
        custom_attribute("wind", Scope::Constant, 4, vec![vec![[0.0; 4]]]);
    let checked = verify(&colder, &with, &|_, _| ()).unwrap();
    assert!(!checked.ok && checked.failures[0].what.contains("wind"), "{checked:?}");
    let mut more = wall();
    more.meshes[0].custom_attributes.push(custom_attribute(
        "new",
        Scope::Constant,
        1,
        vec![vec![[1.0, 0.0, 0.0, 0.0]]],
    ));
    let checked = verify(&more, &with, &|_, _| ()).unwrap();
    assert!(!checked.ok && checked.failures[0].what.contains("new is missing"), "{checked:?}");
}

/// Returns squares side by side, all with the same points, each with an age.
fn squares(ages: &[f32]) -> Scene {
    let square = || {
        one_mesh(
            vec![vec![[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0]]],
            vec![4],
            vec![0, 1, 2, 3],
        )
    };
    let mut scene = Scene::default();
    for (i, &age) in ages.iter().enumerate() {
        let mut one = square();
        let (mut node, mut mesh) = (one.nodes.remove(0), one.meshes.remove(0));
        (node.name, node.path, node.mesh) = (format!("m{i}"), format!("/m{i}"), Some(i));
        mesh.path = node.path.clone();
        mesh.custom_attributes =
            vec![custom_attribute("age", Scope::Constant, 1, vec![vec![[age, 0.0, 0.0, 0.0]]])];
        scene.nodes.push(node);
        scene.meshes.push(mesh);
    }
    scene
}

#[test]
fn e11_what_shows_one_mesh_may_differ_in_numbers() {
    let (reel, _) = verified(&squares(&[1.0, 2.0, 2.0, 9.0]), &options(Preset::Small));
    assert_eq!(reel.description().meshes.len(), 1);
    for (node, age) in [1.0, 2.0, 2.0, 9.0].into_iter().enumerate() {
        let all = reel.attributes(node).unwrap();
        assert_eq!(named(&all, "age").values(0, FramePair::single(0)), [age, 0.0, 0.0, 0.0]);
        assert!(all[0].part_groups().is_none() && all[0].vertex_groups().is_none());
    }
    // Instances of one mesh share one attribute.
    let mut scene = squares(&[4.0, 5.0]);
    for node in 2..40 {
        let mut more = scene.nodes[0].clone();
        (more.name, more.path) = (format!("n{node}"), format!("/n{node}"));
        scene.nodes.push(more);
    }
    let (reel, _) = verified(&scene, &options(Preset::Small));
    let all = reel.all_part_attributes().unwrap();
    let nodes: Vec<usize> = all.iter().map(|own| own.nodes.len()).collect();
    assert_eq!(nodes, [39, 1]);
    assert_eq!(named(&reel.attributes(39).unwrap(), "age").values(0, FramePair::single(0))[0], 4.0);
}

#[test]
fn e11_numbers_alone_make_frames() {
    let mut scene = squares(&[0.0]);
    let samples = (0..20).map(|i| vec![[(i * i) as f32, 0.0, 0.0, 0.0]]).collect();
    scene.meshes[0].custom_attributes = vec![custom_attribute("age", Scope::Constant, 1, samples)];
    let (reel, _) = verified(&scene, &options(Preset::Small));
    assert_eq!(reel.frame_count(), 20);
    let all = reel.attributes(0).unwrap();
    for frame in 0..20u32 {
        let [age, ..] = named(&all, "age").values(0, FramePair::single(frame));
        assert!((age - (frame * frame) as f32).abs() <= 1e-4 * 361.0);
    }
}

#[test]
fn e11_faces_that_change_keep_numbers_of_the_whole() {
    let mut scene = Bricks::wall(2, 1).scene();
    let mesh = &mut scene.meshes[0];
    mesh.topology = Topology::Heterogeneous;
    // The last face is missing in every other frame.
    let all = [4; 48];
    let counts = (0..36).map(|f| all[..48 - f % 2].to_vec()).collect();
    let mut indices = Vec::new();
    mesh.face_indices.read(0, &mut indices).unwrap();
    let corners = (0..36).map(|f| indices[..4 * (48 - f % 2)].to_vec()).collect();
    mesh.face_counts = Channel::in_memory(every_frame(), counts);
    mesh.face_indices = Channel::in_memory(every_frame(), corners);
    let one = |v: f32| [v, 0.0, 0.0, 0.0];
    mesh.custom_attributes = vec![
        custom_attribute("age", Scope::Constant, 1, (0..36).map(|f| vec![one(f as f32)]).collect()),
        custom_attribute("part", Scope::Vertex, 1, vec![vec![one(3.0); 52]]),
    ];
    let (reel, report) = verified(&scene, &options(Preset::Small));
    assert_eq!(report.meshes[0].method, "fluid");
    let all = reel.attributes(0).unwrap();
    assert_eq!(all.len(), 1);
    assert!((all[0].values(0, FramePair::single(35))[0] - 35.0).abs() < 0.01);
}

#[test]
fn f01_scopes_come_through_alembic() {
    let scene = wall();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("wall.abc");
    meshreel_write::alembic::write(&path, &scene, &mut |_, _| ()).unwrap();
    let (back, _) = meshreel_read::open(&path, &ReadOptions::default()).unwrap();
    let of = |mesh: &Mesh| -> Vec<(String, Scope, usize)> {
        let all = mesh.custom_attributes.iter().filter(|n| n.attribute.name != "empty");
        all.map(|n| (n.attribute.name.clone(), n.attribute.scope, n.components)).collect()
    };
    assert_eq!(of(&back.meshes[0]), of(&scene.meshes[0]));
    let (reel, _) = verified(&back, &options(Preset::Small));
    let all = reel.attributes(0).unwrap();
    let names: Vec<&str> = all.iter().map(PartAttribute::name).collect();
    assert_eq!(names, ["heat", "tint", "same", "wind"]);
    let hot = named(&all, "heat");
    let of_heat = groups(&reel, hot);
    for brick in 0..=BRICKS {
        let [value, ..] = hot.values(of_heat[brick], FramePair::single(20));
        assert!((value - heat(brick, 20)).abs() <= 0.062, "{value}");
    }
}

#[test]
fn f01_names_tell_parts() {
    let mut scene = wall();
    let mesh = &mut scene.meshes[0];
    (mesh.integers, mesh.custom_attributes) = (Vec::new(), Vec::new());
    let name = |b: usize| Arc::from(format!("brick {b}"));
    let points = (0..BRICKS).flat_map(|b| vec![name(b); Bricks::POINTS as usize]);
    mesh.names = vec![Attribute {
        name: "name".into(),
        scope: Scope::Vertex,
        values: Channel::constant(points.chain(vec![name(BRICKS); 4]).collect()),
        indices: None,
    }];
    let named = |name: &str| Options { parts: PartsChoice::Attribute(name.into()), ..options(Preset::Small) };
    let (reel, report) = verified(&scene, &named("name"));
    assert_eq!((report.meshes[0].parts, report.meshes[0].bones), (BRICKS + 1, 0));
    assert!(reel.all_part_attributes().unwrap().is_empty());
    let from: Vec<&str> = (report.meshes[0].tried.iter()).map(|t| &t.from[..]).collect();
    assert!(from.iter().any(|f| f.contains("'name'")), "{from:?}");
    let dir = tempfile::tempdir().unwrap();
    let wrong = compile(
        scene.clone(),
        Vec::new(),
        &dir.path().join("a.reel"),
        &named("nam"),
        &meshreel_check::reopen,
        &Silent,
    );
    assert!(wrong.unwrap_err().to_string().contains("there are name"));
}

#[test]
fn e11_numbers_come_back_out() {
    let scene = wall();
    let (reel, _) = verified(&scene, &options(Preset::Small));
    let back = meshreel_extract::to_scene(&reel).unwrap();
    let all = sample::custom_attributes(&scene.meshes[0]);
    for own in &back.meshes[0].custom_attributes {
        let wanted = all.iter().find(|n| n.attribute.name == own.attribute.name).unwrap();
        assert_eq!(own.components, wanted.components);
        let (mut faces, mut values, mut other) = Default::default();
        for frame in [0, 11, 35] {
            let time = frame as f64 / 24.0;
            sample::attribute_at(&own.attribute, &back.meshes[0], time, &mut values).unwrap();
            sample::attribute_at(&wanted.attribute, &scene.meshes[0], time, &mut other).unwrap();
            sample::faces_at(&scene.meshes[0], time, &mut faces).unwrap();
            let by_point = match wanted.attribute.scope {
                Scope::Constant => other.values.clone(),
                scope => {
                    sample::values_by_point(scope, &faces, values.values.len(), &other).unwrap().unwrap()
                }
            };
            assert_eq!(values.values.len(), by_point.len());
            for (a, b) in values.values.iter().zip(&by_point) {
                assert!((0..4).all(|i| (a[i] - b[i]).abs() <= 0.062), "{a:?} {b:?}");
            }
        }
    }
    assert_eq!(back.meshes[0].custom_attributes.len(), 5);
}

#[test]
fn e11_damage_is_refused() {
    let (reel, _) = verified(&wall(), &options(Preset::Small));
    let chunk = reel.chunks().iter().position(|c| c.kind == kind::PART_ATTRIBUTES).unwrap();
    let mut packed = Vec::new();
    reel.reader().read_chunk(chunk, &mut packed).unwrap();
    let mut content = vec![0; Decompressor::raw_size(&packed).unwrap()];
    Decompressor::new().decompress(&packed, &mut content).unwrap();
    let check = |content: &[u8], must_fail: bool| {
        let damaged = opened(with_attributes(&reel, content));
        match damaged.all_part_attributes() {
            Err(error) => assert!(matches!(error, meshreel::Error::Malformed { .. }), "{error}"),
            Ok(all) => {
                assert!(!must_fail);
                for attribute in all.iter().flat_map(|own| &own.attributes) {
                    let mut table = vec![[0.0; 4]; attribute.groups()];
                    attribute.write_table(FramePair::single(u32::MAX), &mut table);
                }
            }
        }
    };
    for cut in (1..content.len()).step_by(7) {
        check(&content[..cut], true);
    }
    for at in (0..content.len()).step_by(3) {
        let mut bad = content.clone();
        bad[at] ^= 1 << (at % 8);
        check(&bad, false);
    }
    // Twice, and for a node that does not exist.
    check(&[&content[..], &content].concat(), true);
    check(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 2, 0, 0], true);
    let mut other = content.clone();
    other[0] = 9;
    check(&other, true);
}

/// Returns the file with another chunk of attributes.
fn with_attributes(reel: &Reel, content: &[u8]) -> Vec<u8> {
    replaced(reel, kind::PART_ATTRIBUTES, &|old| *old = content.to_vec())
}
