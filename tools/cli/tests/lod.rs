//! Tests of LOD levels: they keep their stated error in every frame, keep pieces apart, can be extracted
//! alone, and no bytes break them.

use crate::flying::{Bricks, one_mesh};
use crate::replaced::replaced;
use meshreel::raw::format::kind;
use meshreel::{FrameDecoder, Reel};
use meshreel_check::verify;
use meshreel_codec::entropy::block::Decompressor;
use meshreel_compile::{Error, Report, Silent, compile};
use meshreel_extract::{BoneForm, to_scene_at_lod};
use meshreel_options::{Options, Preset, Tolerance};
use meshreel_scene::{Channel, FaceSet, Scene, sample};
use meshreel_testkit::{compiled, opened};

fn options(lod: u32) -> Options {
    Options { effort: 3, lod, tolerance: Tolerance::Relative(1e-4), ..Options::default() }
}

fn holds(scene: &Scene, options: &Options) -> (Reel, Report) {
    let (bytes, report) = compiled(scene, options);
    let reel = opened(bytes);
    let checked = verify(scene, &reel, &|_, _| ()).unwrap();
    assert!(checked.ok, "{checked:?}");
    assert_eq!(checked.meshes[0].lods.len(), report.meshes[0].lod_levels().len());
    (reel, report)
}

/// Returns a tube that bends, twists and bulges, closed at its ends.
fn tube(frames: usize) -> Scene {
    let (sides, rings) = (20, 48);
    let all = (0..frames).map(|f| {
        let time = f as f32 / frames as f32;
        let mut points = vec![[0.0f32; 3]; sides * rings + 2];
        for (i, point) in points.iter_mut().enumerate() {
            let (along, angle, wide) = match i.checked_sub(sides * rings) {
                Some(end) => (end as f32, 0.0, 0.0),
                None => {
                    let (r, s) = (i / sides, i % sides);
                    let along = r as f32 / (rings - 1) as f32;
                    let bulge = 0.08 * (12.0 * along - 9.0 * time).sin();
                    (along, s as f32 / sides as f32 * std::f32::consts::TAU, 0.25 + bulge)
                }
            };
            let angle = angle + 2.0 * time * along;
            let bend = 1.8 * time * along;
            let (x, y) = (wide * angle.cos(), wide * angle.sin());
            *point =
                [x, 3.0 * along * bend.sin() + y * bend.cos(), 3.0 * along * bend.cos() - y * bend.sin()];
        }
        points
    });
    let at = |r: usize, s: usize| (r * sides + s % sides) as i32;
    let (mut counts, mut indices) = (Vec::new(), Vec::new());
    for s in 0..sides {
        for r in 1..rings {
            counts.push(4);
            indices.extend([at(r - 1, s), at(r - 1, s + 1), at(r, s + 1), at(r, s)]);
        }
        let ends = [(sides * rings) as i32, (sides * rings) as i32 + 1];
        counts.extend([3, 3]);
        indices.extend([ends[0], at(0, s + 1), at(0, s)]);
        indices.extend([ends[1], at(rings - 1, s), at(rings - 1, s + 1)]);
    }
    one_mesh(all.collect(), counts, indices)
}

fn positions(decoder: &mut FrameDecoder, frame: usize) -> Vec<[f64; 3]> {
    decoder.decode(frame).unwrap();
    let mesh = decoder.mesh(0);
    let mut out = vec![[0.0f32; 3]; mesh.vertex_count()];
    mesh.positions_into(out.as_flattened_mut()).unwrap();
    out.into_iter().map(|p| p.map(f64::from)).collect()
}

/// Returns the distance of a point from a triangle, by a search in ever finer steps: slow, and independent of
/// other code.
fn distance(p: [f64; 3], t: [[f64; 3]; 3]) -> f64 {
    let minus = |a: [f64; 3], b: [f64; 3]| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let segment = |a: [f64; 3], b: [f64; 3]| {
        let (way, to) = (minus(b, a), minus(p, a));
        let t = (dot(way, to) / dot(way, way).max(1e-300)).clamp(0.0, 1.0);
        let off = [0, 1, 2].map(|k| to[k] - t * way[k]);
        dot(off, off).sqrt()
    };
    let (u, v, w) = (minus(t[1], t[0]), minus(t[2], t[0]), minus(p, t[0]));
    let n = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]];
    let inside = (0..3).all(|k| {
        let (a, b) = (t[k], t[(k + 1) % 3]);
        let (side, to) = (minus(b, a), minus(p, a));
        let across = [
            side[1] * to[2] - side[2] * to[1],
            side[2] * to[0] - side[0] * to[2],
            side[0] * to[1] - side[1] * to[0],
        ];
        dot(across, n) >= 0.0
    });
    let size = dot(n, n).sqrt();
    if inside && size > 0.0 {
        return dot(w, n).abs() / size;
    }
    (0..3).map(|k| segment(t[k], t[(k + 1) % 3])).fold(f64::INFINITY, f64::min)
}

fn farthest(from: &[[f64; 3]], triangles: &[u32], at: &[[f64; 3]]) -> f64 {
    let all: Vec<[[f64; 3]; 3]> =
        (triangles.as_chunks::<3>().0.iter()).map(|t| t.map(|v| at[v as usize])).collect();
    let nearest = |&p: &[f64; 3]| all.iter().map(|&t| distance(p, t)).fold(f64::INFINITY, f64::min);
    from.iter().map(nearest).fold(0.0, f64::max)
}

#[test]
fn f08_levels_hold_their_error_in_every_frame() {
    const FRAMES: usize = 13;
    for preset in [Preset::Small, Preset::Classic] {
        let wanted = Options { preset, ..options(4) };
        let scene = tube(FRAMES);
        let (reel, report) = holds(&scene, &wanted);
        let details = report.meshes[0].lod_levels();
        assert_eq!((details.len(), reel.lod_count(0).unwrap()), (4, 5));
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        let indices = reel.indices(0).unwrap();
        let mut tightest = [0.0f64; 5];
        for frame in 0..FRAMES {
            let at = positions(&mut decoder, frame);
            for level in 1..5 {
                let lod = reel.lod(0, level).unwrap().unwrap();
                assert_eq!(lod.indices.len() / 3, details[level - 1].triangles as usize);
                assert!(lod.indices.len() * 4 <= reel.lod(0, level - 1).unwrap().unwrap().indices.len() * 3);
                let forth = farthest(&at, &lod.indices, &at);
                let middles: Vec<[f64; 3]> = (lod.indices.as_chunks::<3>().0.iter())
                    .map(|t| [0, 1, 2].map(|k| t.iter().map(|&v| at[v as usize][k]).sum::<f64>() / 3.0))
                    .collect();
                let back = farthest(&middles, &indices, &at);
                let most = forth.max(back);
                assert!(
                    most <= f64::from(lod.error),
                    "{preset:?} level {level} frame {frame}: {most} {}",
                    lod.error
                );
                tightest[level] = tightest[level].max(most / f64::from(lod.error));
            }
        }
        // The error is not just a large number, and a level of half the triangles is a good one.
        assert!(tightest[1..].iter().all(|&part| part > 0.3), "{tightest:?}");
        assert!(details[0].error < 0.03 && details[3].error < 0.3, "{details:?}");
    }
}

#[test]
fn f08_levels_cost_only_their_triangles() {
    let scene = tube(9);
    let (plain, _) = compiled(&scene, &options(0));
    let (with, report) = compiled(&scene, &options(5));
    let triangles: u32 = report.meshes[0].lod_levels().iter().map(|d| d.triangles).sum();
    let more = with.len() - plain.len();
    println!("{more} bytes for {triangles} triangles");
    assert!(more < triangles as usize / 2, "{more} {triangles}");
    let (plain, with) = (opened(plain), opened(with));
    assert_eq!(plain.indices(0).unwrap(), with.indices(0).unwrap());
    for reel in [&plain, &with] {
        let chunks = reel.chunks().iter().filter(|c| c.kind == kind::LOD);
        assert_eq!(chunks.count(), usize::from(std::ptr::eq(reel, &with)));
    }
    let (mut a, mut b) = (FrameDecoder::new(&plain).unwrap(), FrameDecoder::new(&with).unwrap());
    for frame in 0..9 {
        assert_eq!(positions(&mut a, frame), positions(&mut b, frame));
    }
    // The bytes do not depend on the number of threads.
    let one = Options { jobs: 1, ..options(5) };
    assert_eq!(compiled(&scene, &one).0, compiled(&scene, &options(5)).0);
}

#[test]
fn f08_parts_stay_apart() {
    // Bricks that stand side by side, corner on corner, and then fly: no triangle may reach from one to
    // another, at any level.
    let scene = Bricks::wall(3, 2).scene();
    let (reel, report) = holds(&scene, &options(7));
    assert!(report.meshes[0].lod_levels().len() >= 5);
    let map = reel.source_map(0).unwrap().unwrap();
    let piece = |v: u32| map.vertex_point[v as usize] / Bricks::POINTS;
    let mut gone = Vec::new();
    for level in 1..reel.lod_count(0).unwrap() {
        let lod = reel.lod(0, level).unwrap().unwrap();
        for t in lod.indices.as_chunks::<3>().0 {
            assert!(piece(t[0]) == piece(t[1]) && piece(t[1]) == piece(t[2]), "level {level}");
        }
        assert!((0..).zip(&lod.becomes).all(|(v, &b)| piece(v) == piece(b)));
        let mut left: Vec<u32> = lod.indices.iter().map(|&v| piece(v)).collect();
        left.sort_unstable();
        left.dedup();
        gone.push(6 - left.len());
    }
    // Pieces vanish at last, and the stated error is at least their size.
    let last = report.meshes[0].lod_levels().last().unwrap();
    if gone.last() > Some(&0) {
        assert!(last.error > 1.0, "{gone:?} {last:?}");
    }
    assert_eq!(gone[0], 0, "{gone:?}");
}

#[test]
fn f08_materials_and_seams_stay() {
    // Two halves of a tube in face sets: their border is an edge in every level.
    let mut scene = tube(5);
    let faces = 20 * 49;
    scene.meshes[0].face_sets =
        vec![FaceSet { name: "half".into(), faces: Channel::constant((0..faces / 2).collect()) }];
    let (reel, report) = holds(&scene, &options(3));
    assert_eq!(report.meshes[0].lod_levels().len(), 3);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(2).unwrap();
    let mesh = decoder.mesh(0);
    for level in 0..4 {
        let lod = mesh.lod(level);
        let sum: u32 = lod.materials.iter().map(|r| r.count).sum();
        assert_eq!(sum as usize, lod.indices.len());
        assert_eq!(lod.materials.len(), 2);
        // Vertices shared by both materials at a level are shared in the mesh itself.
        let of = |m: usize| {
            let r = lod.materials[m];
            let range = &lod.indices[r.first as usize..][..r.count as usize];
            range.iter().copied().collect::<std::collections::BTreeSet<u32>>()
        };
        let own = mesh.materials();
        let first = |m: usize| {
            let r = own[m];
            let range = &mesh.indices()[r.first as usize..][..r.count as usize];
            range.iter().copied().collect::<std::collections::BTreeSet<u32>>()
        };
        for v in of(0).intersection(&of(1)) {
            assert!(first(0).contains(v) && first(1).contains(v));
        }
    }
    assert_eq!((mesh.lod_count(), mesh.lod(99).indices.len()), (4, mesh.lod(3).indices.len()));
}

#[test]
fn f08_a_level_comes_back_alone() {
    let (reel, _) = holds(&tube(5), &options(3));
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    for level in [1, 3, 9] {
        let (scene, _) = to_scene_at_lod(&reel, BoneForm::Points, level).unwrap();
        let lod = reel.lod(0, level.min(3)).unwrap().unwrap();
        let mesh = &scene.meshes[0];
        let (mut counts, mut indices, mut points) = (Vec::new(), Vec::new(), Vec::new());
        mesh.face_counts.read(0, &mut counts).unwrap();
        mesh.face_indices.read(0, &mut indices).unwrap();
        assert_eq!(counts, vec![3; lod.indices.len() / 3]);
        for frame in [0, 4] {
            let at = positions(&mut decoder, frame);
            sample::positions_at(mesh, reel.time(frame), &mut points).unwrap();
            assert!(points.len() < at.len());
            assert!((0..points.len()).all(|p| indices.contains(&(p as i32))));
            for (&i, &v) in indices.iter().zip(&lod.indices) {
                assert_eq!(points[i as usize].map(f64::from), at[v as usize]);
            }
        }
    }
}

#[test]
fn f08_wrong_uses_are_named() {
    let misuse = |options: Options| match options.check() {
        Err(meshreel_options::Error::Misuse { what }) => what,
        other => panic!("{other:?}"),
    };
    assert!(misuse(options(8)).contains("--lod must be 0 to 7"));
    let clips = Options { clips_only: true, ..options(2) };
    assert!(misuse(clips).contains("--clips-only"));
    // Changing faces have no levels; a mesh that is too small has fewer.
    let mut scene = tube(3);
    let forced = Options { method: meshreel_options::MethodChoice::Fluid, ..options(2) };
    let (bytes, report) = compiled(&scene, &forced);
    let said = |report: &Report, what: &str| report.remarks.iter().any(|r| r.what.contains(what));
    assert!(said(&report, "its faces change"), "{:?}", report.remarks);
    assert!(opened(bytes).chunks().iter().all(|c| c.kind != kind::LOD));
    scene = one_mesh(vec![vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], vec![3], vec![0, 1, 2]);
    let (bytes, report) = compiled(&scene, &options(2));
    assert!(said(&report, "0 of 2 levels of detail"), "{:?}", report.remarks);
    assert_eq!(opened(bytes).lod_count(0).unwrap(), 1);
    let strict = Options { strict: true, ..options(2) };
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("a.reel");
    let refused = compile(scene.clone(), Vec::new(), &target, &strict, &meshreel_check::reopen, &Silent);
    assert!(matches!(refused, Err(Error::Strict { .. })) && !target.exists());
}

#[test]
fn f08_damage_and_what_was_not_asked_for_are_found() {
    let scene = tube(4);
    let reel = opened(compiled(&scene, &options(3)).0);
    let chunk = reel.chunks().iter().position(|c| c.kind == kind::LOD).unwrap();
    let mut packed = Vec::new();
    reel.reader().read_chunk(chunk, &mut packed).unwrap();
    let mut content = vec![0; Decompressor::raw_size(&packed).unwrap()];
    Decompressor::new().decompress(&packed, &mut content).unwrap();
    let check = |content: &[u8]| {
        let bytes = with_lod_chunk(&reel, content);
        let damaged = opened(bytes);
        match FrameDecoder::new(&damaged) {
            Err(error) => assert!(matches!(error, meshreel::Error::Malformed { .. }), "{error}"),
            Ok(_) => {
                for level in 0..damaged.lod_count(0).unwrap() {
                    let lod = damaged.lod(0, level).unwrap().unwrap();
                    let vertices = damaged.description().meshes[0].vertices;
                    assert!(lod.indices.iter().all(|&v| v < vertices));
                }
            }
        }
    };
    for cut in (0..content.len()).step_by(content.len() / 60 + 1) {
        check(&content[..cut]);
    }
    for at in (0..content.len()).step_by(content.len() / 60 + 1) {
        for bit in [0, 3, 7] {
            let mut bad = content.clone();
            bad[at] ^= 1 << bit;
            check(&bad);
        }
    }
    // For another mesh, and twice.
    let mut bad = content.clone();
    bad[0] = 1;
    check(&bad);
    check(&[&content[..], &content].concat());
    // An error that is too small, and a level more than requested, are found by the check. The error of level
    // 1 follows a varint of two bytes.
    let at = content.len();
    let errors: Vec<usize> = (0..at - 4)
        .filter(|&i| content[i..i + 4] == reel.lod(0, 1).unwrap().unwrap().error.to_le_bytes())
        .collect();
    let mut bad = content.clone();
    bad[errors[0]..errors[0] + 4].copy_from_slice(&1e-6f32.to_le_bytes());
    let checked = verify(&scene, &opened(with_lod_chunk(&reel, &bad)), &|_, _| ()).unwrap();
    assert!(!checked.ok && checked.failures[0].what.contains("level of detail 1"), "{checked:?}");
    let plain = opened(compiled(&scene, &options(1)).0);
    let checked = verify(&scene, &opened(with_lod_chunk(&plain, &content)), &|_, _| ()).unwrap();
    assert!(checked.failures[0].what.contains("3 levels of detail, 1 were asked for"), "{checked:?}");
}

/// Returns the file with another chunk of levels.
fn with_lod_chunk(reel: &Reel, content: &[u8]) -> Vec<u8> {
    replaced(reel, kind::LOD, &|old| *old = content.to_vec())
}
