//! Rigs and ranges of files: opened, used, and refused if they do not fit.

use crate::common::{Parts, clips, open, rigs, sample};
use meshreel::clip::object_space;
use meshreel::raw::format::kind;
use meshreel::view::BoneMatrix;
use meshreel::{Reel, Transform};
use meshreel_codec::record::ranges;
use meshreel_codec::record::ranges::FrameRange;

const JOINTS: usize = 6;

/// The sample's first mesh with a rig on a skeleton that one clip moves.
fn rigged() -> Parts {
    let mut parts = sample(9, false).parts;
    let plain = open(parts.write()).unwrap();
    let vertices = plain.description().meshes[0].vertices;
    let chunk = rigs::chunk(0, vertices, &plain.indices(0).unwrap(), JOINTS as u32);
    parts.chunks.extend(clips::file(JOINTS, 9, None).chunks);
    parts.chunks.push((kind::RIGS, chunk));
    parts
}

#[test]
fn f17_a_pose_moves_the_mesh() {
    let reel = open(rigged().write()).unwrap();
    let rigs = reel.rigs().unwrap();
    let [rig] = &rigs[..] else { panic!("{rigs:?}") };
    assert_eq!((rig.mesh(), rig.skeleton(), rig.joints().len()), (0, 0, JOINTS));
    assert_eq!((rig.first_frame(), rig.tolerance(), rig.error()), (Some((0, 2)), 0.5, 0.25));
    // All joints moved alike, and the second one farther.
    let shift = |x: f32| Transform { translation: [x, 0.0, 0.0], ..Transform::IDENTITY };
    let mut pose = vec![Transform::IDENTITY; JOINTS];
    (pose[0], pose[1]) = (shift(10.0), shift(4.0));
    let parents = [u32::MAX, 0, 0, 0, 0, 0];
    let mut object = vec![BoneMatrix::default(); JOINTS];
    let mut matrices = vec![BoneMatrix::default(); JOINTS];
    let mut out = vec![[0.0; 3]; rig.vertex_count()];
    object_space(&parents, &pose, &mut object);
    rig.matrices(&object, &mut matrices);
    rig.positions(&matrices, &mut out);
    for (v, at) in out.iter().enumerate() {
        let bind = rig.bind_position(v);
        let far = rig.influences(v).any(|(joint, _)| joint == 1);
        let wanted = bind[0] + if far { 12.0 } else { 10.0 };
        assert!((at[0] - wanted).abs() < 1e-3 && (at[1] - bind[1]).abs() < 1e-3, "{v}");
    }
    // Room for fewer vertices, and fewer matrices than joints, do not panic.
    rig.positions(&matrices[..1], &mut out[..3]);
    rig.matrices(&object[..1], &mut matrices);
}

#[test]
fn rigs_that_do_not_fit_are_refused() {
    let refused = |change: &dyn Fn(&mut Parts)| {
        let mut parts = rigged();
        change(&mut parts);
        open(parts.write()).and_then(|reel| reel.rigs().map(|_| ())).unwrap_err()
    };
    let last = |parts: &mut Parts, with: Vec<u8>| {
        let at = parts.chunks.len() - 1;
        parts.chunks[at].1 = with;
    };
    let plain = open(sample(9, false).parts.write()).unwrap();
    let (indices, vertices) = (plain.indices(0).unwrap(), plain.description().meshes[0].vertices);
    let chunk = |mesh, vertices, joints| rigs::chunk(mesh, vertices, &indices, joints);
    // Rigs of another mesh, of a missing one, with more joints or vertices, without a skeleton; twice.
    for (mesh, vertices, joints) in
        [(1, vertices, 6), (99, vertices, 6), (0, vertices + 1, 6), (0, vertices, 7)]
    {
        let error = refused(&|parts| last(parts, chunk(mesh, vertices, joints)));
        assert!(error.to_string().contains("rig"), "{error}");
    }
    refused(&|parts| parts.chunks.retain(|(kind, _)| *kind != kind::SKELETON));
    refused(&|parts| parts.chunks.push(parts.chunks[parts.chunks.len() - 1].clone()));
    // Cut anywhere, and any bit flipped: an error or a rig, never a panic.
    let whole = chunk(0, vertices, 6);
    for at in (1..whole.len()).step_by(7) {
        refused(&|parts| last(parts, whole[..at].to_vec()));
        let mut parts = rigged();
        let mut turned = whole.clone();
        turned[at] ^= 1 << (at % 8);
        last(&mut parts, turned);
        let _ = open(parts.write()).and_then(|reel| reel.rigs());
    }
}

fn ranged(ranges: &[FrameRange]) -> Result<Reel, meshreel::Error> {
    let mut parts = sample(9, false).parts;
    let mut bytes = Vec::new();
    ranges::encode(ranges, &mut bytes);
    parts.chunks.push((kind::RANGES, bytes));
    open(parts.write())
}

#[test]
fn ranges_are_there_or_refused() {
    let range = |name: &str, first, frames| FrameRange { name: name.into(), first, frames };
    let ranges = [range("walk", 0, 4), range("run", 5, 4)];
    let reel = ranged(&ranges).unwrap();
    assert_eq!(reel.ranges(), ranges);
    assert!(open(sample(9, false).parts.write()).unwrap().ranges().is_empty());
    // Beyond the end; twice.
    assert!(ranged(&[range("walk", 5, 5)]).is_err());
    let mut parts = sample(9, false).parts;
    parts.chunks.extend([(kind::RANGES, vec![0]), (kind::RANGES, vec![0])]);
    assert!(open(parts.write()).is_err());
    parts.chunks.pop();
    assert!(open(parts.write()).unwrap().ranges().is_empty());
}
