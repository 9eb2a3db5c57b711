//! Tests of the compression of clips in layers.

use super::layer::{LayerDivision, LayerSettings, LayeredClip, compress};
use super::tests::{clip, skeleton, swing};
use super::{ClipOptions, importance};
use glam::{DQuat, DVec3};
use meshreel_codec::clip::layer::merge;
use meshreel_codec::clip::streamed::{STRIPPED, Scratch, StreamedClip};
use meshreel_codec::transform::Transform;
use meshreel_options::Strip;
use meshreel_scene::{Clip, Qvv, Skeleton};

/// Returns a division in which the chain's last third, and all side branches, are cosmetic.
fn division(s: &Skeleton, parts: [LayerSettings; 2]) -> LayerDivision {
    let n = s.joints.len();
    LayerDivision {
        layers: parts.to_vec(),
        layer_of: (0..n).map(|j| u8::from(j % 3 == 1 || j * 3 >= n * 2)).collect(),
        stepped: vec![false; n],
    }
}

fn two() -> [LayerSettings; 2] {
    let part = |name: &str| LayerSettings { name: name.into(), ..LayerSettings::default() };
    [part("base"), part("cosmetic")]
}

fn layered(s: &Skeleton, c: &Clip, division: &LayerDivision) -> LayeredClip {
    let options = ClipOptions { effort: 3, ..ClipOptions::default() };
    let done = compress(s, c, &options, &[], division).unwrap();
    assert!(done.max_error <= 0.01, "{}", done.max_error);
    done
}

/// Returns the poses of all samples of a clip of one tier.
fn poses(done: &LayeredClip, bytes: &[u8]) -> Vec<Vec<Transform>> {
    let skeleton = done.joints.skeleton();
    let stored = StreamedClip::open(&skeleton, bytes).unwrap();
    let plan = &stored.layout;
    let mut scratch = Scratch::new(plan);
    let mut out = vec![plan.constant_pose().to_vec(); plan.header.samples as usize];
    for i in 0..plan.keys() {
        plan.pose(stored.key_values(i), &mut out[plan.key(i)]);
    }
    for s in 0..plan.segments() {
        stored.decode(s, &mut scratch).unwrap();
        for i in 1..plan.key(s + 1) - plan.key(s) {
            plan.pose(scratch.sample(plan, i), &mut out[plan.key(s) + i]);
        }
    }
    out
}

fn moving(s: &Skeleton) -> Clip {
    clip(s, 300, |j, i| match j {
        // Some static joints, and some with a constant transform other than the rest pose.
        3 => s.joints[j].rest,
        4 => Qvv { rotation: DQuat::from_rotation_x(0.5), ..s.joints[j].rest },
        5 => Qvv { translation: s.joints[j].rest.translation + DVec3::X * (i * 0.1).sin(), ..swing(s, j, i) },
        _ => swing(s, j, i),
    })
}

/// Merges the whole clip from its layers.
fn whole(done: &LayeredClip) -> Vec<u8> {
    let tiers: Vec<Vec<Vec<u8>>> = done.layers.iter().map(|l| l.tiers()).collect();
    let parts: Vec<Vec<&[u8]>> =
        (tiers.iter()).map(|tiers| tiers.iter().map(Vec::as_slice).collect()).collect();
    merge(&done.joints.skeleton(), &done.table.joint_layers, &parts).unwrap()
}

#[test]
fn g01_g03_base_and_cosmetic_are_the_whole_bit_for_bit() {
    let s = skeleton(12);
    let done = layered(&s, &moving(&s), &division(&s, two()));
    assert!(done.layers.iter().all(|l| l.separated));
    let unsplit = poses(&done, &whole(&done));
    let [base, cosmetic] = [0, 1].map(|l| poses(&done, &done.layers[l].tiers()[0]));
    for ((want, base), cosmetic) in unsplit.iter().zip(&base).zip(&cosmetic) {
        for j in 0..12 {
            let of = done.table.joint_layers[j];
            let (own, other) = if of == 0 { (base, cosmetic) } else { (cosmetic, base) };
            assert_eq!(own[j], want[j], "joint {j}");
            // Data is exclusive; joints of other layers are in the rest pose here.
            assert_eq!(other[j], done.joints.rest[j], "joint {j}");
        }
    }
}

#[test]
fn g02_joints_of_other_layers_are_default() {
    let s = skeleton(12);
    let done = layered(&s, &moving(&s), &division(&s, two()));
    for (l, layer) in done.layers.iter().enumerate() {
        for (j, &of) in done.table.joint_layers.iter().enumerate() {
            if usize::from(of) != l {
                assert_eq!(layer.plan.header.joint_components(j), 0);
                assert_eq!(layer.plan.header.rotations[j], meshreel_codec::clip::RotationSubTrack::Default);
            }
        }
    }
}

#[test]
fn g06_a_second_layer_costs_a_header_and_two_bits_per_sub_track() {
    let s = skeleton(24);
    let c = clip(&s, 1200, |j, i| swing(&s, j, i));
    let done = layered(&s, &c, &division(&s, two()));
    let unsplit = whole(&done).len();
    let bytes: Vec<usize> = done.layers.iter().map(|l| l.tiers()[0].len()).collect();
    // A header without sub-tracks, the coder states of a second stream, and sizes.
    let segments = done.layers[1].plan.segments();
    let header = 35 + 6 * (segments + 1);
    let types = 3 * 2 * 24 / 8;
    // And the symbols of one layer no longer give context for the other.
    let contexts = unsplit / 400;
    let overhead = bytes.iter().sum::<usize>() as i64 - unsplit as i64;
    println!("{overhead} bytes more than {unsplit}");
    assert!(overhead <= (header + types + contexts) as i64, "{bytes:?} {unsplit} {segments}");
}

#[test]
fn g07_layers_merge_into_the_clip_that_they_were() {
    let s = skeleton(12);
    let mut parts = two();
    parts[0].tiers = 3;
    parts[1].tiers = 4;
    let done = layered(&s, &moving(&s), &division(&s, parts));
    let flat = layered(&s, &moving(&s), &division(&s, two()));
    // Tiers do not change decoded values, only their place in the file.
    assert_eq!(whole(&done), whole(&flat));
    let other = layered(
        &s,
        &moving(&s),
        &division(&s, {
            let mut parts = two();
            parts[1].rate = Some(10.0);
            parts
        }),
    );
    let tiers: Vec<Vec<Vec<u8>>> = other.layers.iter().map(|l| l.tiers()).collect();
    let parts: Vec<Vec<&[u8]>> = (tiers.iter()).map(|t| t.iter().map(Vec::as_slice).collect()).collect();
    // Layers with different samples cannot be merged.
    assert!(merge(&other.joints.skeleton(), &other.table.joint_layers, &parts).is_err());
}

#[test]
fn g10_each_layer_has_its_rate() {
    let s = skeleton(12);
    for (rate, samples) in [(10.0, 101), (7.0, 71), (29.9, 300)] {
        let mut parts = two();
        parts[1].rate = Some(rate);
        let done = layered(&s, &moving(&s), &division(&s, parts));
        let counts: Vec<u32> = done.layers.iter().map(|l| l.plan.header.samples).collect();
        assert_eq!(counts[0], 300);
        assert!(counts[1].abs_diff(samples) <= 1, "{rate} {counts:?}");
        if rate == 10.0 {
            let bytes: Vec<usize> = done.layers.iter().map(|l| l.tiers()[0].len()).collect();
            let full = layered(&s, &moving(&s), &division(&s, two()));
            assert!(bytes[1] < full.layers[1].tiers()[0].len(), "{bytes:?}");
        }
    }
    // The base layer may have a lower rate, too, and both together.
    let mut parts = two();
    (parts[0].rate, parts[1].rate) = (Some(15.0), Some(15.0));
    let done = layered(&s, &moving(&s), &division(&s, parts));
    assert!(done.layers.iter().all(|l| l.separated && l.plan.header.samples == 151));
}

#[test]
fn g05_cosmetic_is_stripped_harder() {
    let s = skeleton(12);
    let c = moving(&s);
    let plain = layered(&s, &c, &division(&s, two()));
    let mut parts = two();
    parts[1].strip = Strip::Error(0.05);
    let done = layered(&s, &c, &division(&s, parts));
    let (count, error) = done.layers[1].stripped;
    assert!(count > 50 && error <= 0.05 && error > 0.01, "{count} {error}");
    assert_eq!(done.layers[0].stripped, (0, 0.0));
    assert!(done.layers[1].tiers()[0].len() < plain.layers[1].tiers()[0].len());
    let mut parts = two();
    parts[0].strip = Strip::Fraction(0.1);
    parts[1].strip = Strip::Fraction(0.25);
    let done = layered(&s, &c, &division(&s, parts));
    assert_eq!(done.layers[0].stripped.0, 30);
    assert_eq!(done.layers[1].stripped.0, 75);
    let least = &done.layers[1].choices.1;
    assert!(least.iter().flatten().any(|r| r.shift == STRIPPED));
}

#[test]
fn g11_stepped_joints_keep_what_is_before_and_after_a_change() {
    let s = skeleton(9);
    let c = clip(&s, 300, |j, i| match j {
        8 => Qvv {
            translation: DVec3::new(
                if i < 100.0 { 0.0 } else { 50.0 },
                if i < 251.0 { 0.0 } else { 9.0 },
                0.0,
            ),
            ..s.joints[j].rest
        },
        _ => swing(&s, j, i),
    });
    let mut parts = two();
    parts[1].rate = Some(10.0);
    parts[1].tiers = 3;
    parts[0].tiers = 3;
    let mut d = division(&s, parts);
    d.stepped[8] = true;
    let done = layered(&s, &c, &d);
    let list = done.table.layers[1].samples.list(300).unwrap();
    for change in [99, 100, 250, 251] {
        let i = list.binary_search(&change).unwrap();
        // A key: in the first tier, and never stripped.
        assert!(done.layers[1].plan.locate_sample(i).is_ok(), "{change}");
    }
    // Without the other tiers the joint is correct at every sample of the layer.
    let first = &done.layers[1].tiers()[0];
    let pose = poses(&done, first);
    for (i, at) in list.iter().enumerate() {
        let want = c.tracks[8].transform(*at as usize).translation;
        let got = pose[i][8].translation;
        assert!((f64::from(got[0]) - want.x).abs() < 0.02, "{at} {got:?}");
    }
}

#[test]
fn n_layers_and_none_that_is_not_closed() {
    let s = skeleton(12);
    let part = |name: &str| LayerSettings { name: name.into(), ..LayerSettings::default() };
    let d = LayerDivision {
        layers: vec![part("a"), part("b"), part("c"), part("d")],
        layer_of: (0..12).map(|j| (j / 3) as u8).collect(),
        stepped: vec![false; 12],
    };
    let done = layered(&s, &moving(&s), &d);
    assert_eq!(done.layers.len(), 4);
    let unsplit = poses(&done, &whole(&done));
    let each: Vec<_> = (done.layers.iter()).map(|l| poses(&done, &l.tiers()[0])).collect();
    for (i, want) in unsplit.iter().enumerate() {
        for j in 0..12 {
            assert_eq!(each[usize::from(done.table.joint_layers[j])][i][j], want[j]);
        }
    }
    let mut open = d.clone();
    open.layer_of[0] = 3;
    let error = compress(&s, &moving(&s), &ClipOptions::default(), &[], &open).unwrap_err();
    assert!(error.to_string().contains("parent"), "{error}");
}

#[test]
fn g12_joints_that_move_much_matter_most() {
    let s = skeleton(12);
    let joints = super::Joints::new(&s, 3.0);
    let all = importance::importance(&joints, &[1.0; 12]);
    // By hand: a leaf has only its three points.
    assert_eq!(all[11], 9.0);
    let way = (0.25 + 100.0 + 11.0f64.sin().powi(2)).sqrt();
    let parent = s.joints[11].parent.unwrap();
    assert!(parent == 9 && all[9] > 4.0 * way + 18.0);
    assert!((0..12).all(|j| s.joints[j].parent.is_none_or(|p| all[p] > all[j])));
    let cosmetic = importance::least_fraction(&all, 0.5);
    assert_eq!(cosmetic.iter().filter(|c| **c).count(), 6);
    // Closed under parents, whatever the share.
    for k in 0..=12 {
        let least = importance::least_fraction(&all, f64::from(k) / 12.0);
        assert!((0..12).all(|j| s.joints[j].parent.is_none_or(|p| !least[p] || least[j])));
    }
    assert_eq!(importance::below_fraction(&all, 2.0), [true; 12]);
    assert_eq!(importance::below_fraction(&all, 0.0), [false; 12]);
}

#[test]
fn g13_a_bias_lifts_a_joint_and_what_is_above_it() {
    let s = skeleton(12);
    let joints = super::Joints::new(&s, 3.0);
    let plain = importance::importance(&joints, &[1.0; 12]);
    let mut bias = [1.0; 12];
    bias[11] = 1000.0;
    let lifted = importance::importance(&joints, &bias);
    assert_eq!(lifted[11], plain[11] * 1000.0);
    let mut j = 11;
    while let Some(parent) = s.joints[j].parent {
        assert!(lifted[parent] >= lifted[11]);
        j = parent;
    }
    assert!(!importance::least_fraction(&lifted, 0.34)[11] && importance::least_fraction(&plain, 0.34)[11]);
    bias[11] = 0.0;
    assert_eq!(importance::importance(&joints, &bias)[11], 0.0);
}
