//! Tests of the tolerance on adversarial clips.

use super::*;
use glam::{DQuat, DVec3};
use meshreel_codec::clip::random_access::{InterpolationWeights, RandomAccess};
use meshreel_scene::{Clip, Joint, Qvv, Skeleton, SubTrack, Track};

/// Returns a chain of `n` joints, with a side branch at every third.
pub(super) fn skeleton(n: usize) -> Skeleton {
    let joints = (0..n).map(|j| Joint {
        name: format!("j{j}"),
        parent: match j {
            0 => None,
            j if j % 3 == 2 => Some(j - 2),
            j => Some(j - 1),
        },
        rest: Qvv { translation: DVec3::new(0.5, 10.0, (j as f64).sin()), ..Qvv::IDENTITY },
        ..Joint::default()
    });
    Skeleton { name: "chain".into(), joints: joints.collect() }
}

pub(super) fn clip(skeleton: &Skeleton, samples: usize, value: impl Fn(usize, f64) -> Qvv) -> Clip {
    let tracks = (0..skeleton.joints.len()).map(|j| {
        let all: Vec<Qvv> = (0..samples).map(|i| value(j, i as f64)).collect();
        Track {
            rotation: SubTrack::new(all.iter().map(|q| q.rotation).collect()).unwrap(),
            translation: SubTrack::new(all.iter().map(|q| q.translation).collect()).unwrap(),
            scale: SubTrack::new(all.iter().map(|q| q.scale).collect()).unwrap(),
        }
    });
    Clip {
        name: "test".into(),
        skeleton: 0,
        start: 0.0,
        fps: 30.0,
        samples,
        tracks: tracks.collect(),
        scalars: Vec::new(),
        markers: Vec::new(),
    }
}

pub(super) fn swing(skeleton: &Skeleton, j: usize, i: f64) -> Qvv {
    let phase = i * 0.07 * (1.0 + j as f64 * 0.13);
    let turn = DQuat::from_euler(
        glam::EulerRot::XYZ,
        phase.sin() * 0.8,
        (phase * 1.3).cos() * 0.4,
        phase.cos() * 0.2,
    );
    Qvv { rotation: turn, ..skeleton.joints[j].rest }
}

fn holds(skeleton: &Skeleton, clip: &Clip, tolerance: f64) -> CompressedClip {
    let options = ClipOptions { tolerance, effort: 3, ..ClipOptions::default() };
    let done = compress(skeleton, clip, &options).unwrap();
    assert!(done.max_error <= tolerance, "{} > {tolerance}", done.max_error);
    assert_eq!(done.tolerance, tolerance);
    done
}

#[test]
fn swings_hold_every_tolerance_and_shrink() {
    let s = skeleton(12);
    let c = clip(&s, 300, |j, i| swing(&s, j, i));
    let sizes = [1e-4, 1e-2, 1.0].map(|t| holds(&s, &c, t).bytes.len());
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
    assert!(c.raw_bytes() as usize / sizes[1] > 10, "{sizes:?}");
}

/// Rigs of other programs: all joints below a scaled one, by as much as lengths differ. Errors are scaled
/// with them, so steps are.
#[test]
fn scaled_rigs_hold_the_same_tolerance() {
    let mut sizes = Vec::new();
    for scale in [1.0, 100.0, 0.01] {
        let mut s = skeleton(12);
        for joint in &mut s.joints[1..] {
            joint.rest.translation /= scale;
        }
        s.joints[0].rest.scale = DVec3::splat(scale);
        let c = clip(&s, 60, |j, i| swing(&s, j, i));
        // The shell is scaled as well: the same distance in object space.
        let options =
            ClipOptions { tolerance: 1e-3, effort: 3, shell: 3.0 / scale, ..ClipOptions::default() };
        let done = compress(&s, &c, &options).unwrap();
        assert!(done.max_error <= 1e-3 && done.tolerance == 1e-3, "{scale}: {}", done.max_error);
        sizes.push(done.bytes.len());
    }
    assert!(sizes[1] < sizes[0] * 23 / 20 && sizes[2] < sizes[0] * 23 / 20, "{sizes:?}");
}

/// Lengths of a hundred metres with a tolerance of a tenth of a millimetre: the smallest steps, and many of
/// them.
#[test]
fn large_rigs_hold_a_small_tolerance() {
    let s = skeleton(12);
    let c = clip(&s, 18, |j, i| swing(&s, j, 8.0 * i));
    let options = ClipOptions { tolerance: 1e-4, shell: 0.03, effort: 3, ..ClipOptions::default() };
    let done = compress(&s, &c, &options).unwrap();
    assert!(done.max_error <= 1e-4 && done.tolerance == 1e-4, "{}", done.max_error);
}

#[test]
fn constant_clips_cost_next_to_nothing() {
    let s = skeleton(31);
    let c = clip(&s, 1000, |j, _| s.joints[j].rest);
    let done = holds(&s, &c, 0.01);
    assert!(done.bytes.len() < 60, "{}", done.bytes.len());
    assert_eq!(done.rotations, [31, 0, 0, 0, 0]);
}

#[test]
fn spins_flips_and_gimbals_on_every_joint() {
    let s = skeleton(8);
    for speed in [0.3, 1.6, 3.1, 3.13, 5.0] {
        let c = clip(&s, 140, |j, i| Qvv {
            rotation: DQuat::from_axis_angle(DVec3::new(1.0, j as f64, 0.3).normalize(), speed * i)
                * DQuat::from_axis_angle(DVec3::Y, i * 0.9 + j as f64),
            ..s.joints[j].rest
        });
        holds(&s, &c, 0.01);
    }
    // Half-turns from one sample to the next, and signs that flip.
    let c = clip(&s, 130, |j, i| Qvv {
        rotation: match (i as usize + j) % 4 {
            0 => DQuat::IDENTITY,
            1 => DQuat::from_xyzw(1.0, 0.0, 0.0, 0.0),
            2 => -DQuat::IDENTITY,
            _ => DQuat::from_xyzw(0.0, 0.6, -0.8, 0.0),
        },
        ..s.joints[j].rest
    });
    holds(&s, &c, 0.01);
    let c = clip(&s, 100, |j, i| Qvv {
        rotation: DQuat::from_euler(glam::EulerRot::ZYX, i * 0.1, std::f64::consts::FRAC_PI_2, j as f64),
        ..s.joints[j].rest
    });
    holds(&s, &c, 0.01);
}

#[test]
fn translations_and_scales_on_any_joint() {
    let s = skeleton(9);
    let c = clip(&s, 200, |j, i| Qvv {
        translation: s.joints[j].rest.translation + DVec3::new((i * 0.1).sin(), 0.2 * i, j as f64),
        scale: DVec3::new(1.0 + 0.3 * (i * 0.05).sin(), 1.0, (i * 0.04 + j as f64).cos()),
        ..swing(&s, j, i)
    });
    holds(&s, &c, 0.01);
    // Scales through zero, and mirrored.
    let c = clip(&s, 60, |j, i| Qvv { scale: DVec3::splat(1.0 - i * 0.04), ..swing(&s, j, i) });
    holds(&s, &c, 0.01);
}

#[test]
fn any_number_of_samples() {
    let s = skeleton(5);
    for samples in [1, 2, 3, 15, 16, 17, 127, 128, 129, 130, 257] {
        let c = clip(&s, samples, |j, i| swing(&s, j, i));
        holds(&s, &c, 0.01);
    }
}

#[test]
fn noise_holds() {
    let s = skeleton(7);
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 24) as f64 - 0.5
    };
    let values: Vec<f64> = (0..7 * 90 * 4).map(|_| random()).collect();
    let c = clip(&s, 90, |j, i| {
        let v = &values[(i as usize * 7 + j) * 4..];
        Qvv { rotation: DQuat::from_xyzw(v[0], v[1], v[2], v[3] + 1e-3).normalize(), ..s.joints[j].rest }
    });
    holds(&s, &c, 0.01);
    holds(&s, &c, 2.0);
}

#[test]
fn far_away_the_tolerance_is_what_f32_holds() {
    let s = skeleton(4);
    let c = clip(&s, 50, |j, i| Qvv {
        translation: if j == 0 {
            DVec3::new(1e7 + i * 30.0, -3e6, 5.0)
        } else {
            s.joints[j].rest.translation
        },
        ..swing(&s, j, i)
    });
    let done = compress(&s, &c, &ClipOptions::default()).unwrap();
    assert!(done.tolerance > 1.0 && done.tolerance < 10.0, "{}", done.tolerance);
    assert!(done.max_error <= done.tolerance);
}

#[test]
fn several_roots_and_long_chains() {
    let mut s = skeleton(6);
    s.joints[3].parent = None;
    let c = clip(&s, 40, |j, i| swing(&s, j, i));
    holds(&s, &c, 0.01);
    let mut s = skeleton(150);
    for j in 1..150 {
        s.joints[j].parent = Some(j - 1);
    }
    let c = clip(&s, 20, |j, i| Qvv {
        rotation: DQuat::from_rotation_x((i * 0.1 + j as f64 * 0.05).sin() * 0.05),
        ..s.joints[j].rest
    });
    holds(&s, &c, 0.01);
}

#[test]
fn shells_of_single_joints_count() {
    let mut s = skeleton(3);
    s.joints[2].shell = Some(300.0);
    let c = clip(&s, 60, |j, i| swing(&s, j, i));
    let wide = holds(&s, &c, 0.01);
    s.joints[2].shell = None;
    assert!(wide.bytes.len() > holds(&s, &c, 0.01).bytes.len());
}

#[test]
fn what_is_no_clip_is_refused() {
    let s = skeleton(3);
    let good = clip(&s, 10, |j, i| swing(&s, j, i));
    let refused = |change: &dyn Fn(&mut Clip)| {
        let mut c = good.clone();
        change(&mut c);
        compress(&s, &c, &ClipOptions::default()).unwrap_err().to_string()
    };
    refused(&|c| c.samples = 0);
    refused(&|c| {
        c.tracks.pop();
    });
    let nan = refused(&|c| c.tracks[1].translation = SubTrack::constant(DVec3::new(f64::NAN, 0.0, 0.0)));
    assert!(nan.contains("joint j1"), "{nan}");
    refused(&|c| c.tracks[1].rotation = SubTrack::constant(DQuat::from_xyzw(0.0, 0.0, 0.0, 0.0)));
    let zero = ClipOptions { tolerance: 0.0, ..ClipOptions::default() };
    assert!(compress(&s, &good, &zero).is_err());
}

#[test]
fn the_same_bytes_every_time_and_on_any_number_of_threads() {
    let s = skeleton(10);
    let c = clip(&s, 400, |j, i| swing(&s, j, i));
    let first = holds(&s, &c, 0.01).bytes;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(first, pool.install(|| holds(&s, &c, 0.01).bytes));
}

/// Margins shrink towards the root.
#[test]
fn margins_shrink_up_the_hierarchy() {
    let mut s = skeleton(5);
    for j in 1..5 {
        s.joints[j].parent = Some(j - 1);
    }
    let c = clip(&s, 60, |j, i| swing(&s, j, i));
    let done = holds(&s, &c, 0.01);
    let stored = StreamedClip::open(&done.joints.skeleton(), &done.bytes).unwrap();
    let finest: Vec<f64> = (stored.layout.steps.iter()).map(|s| s.rotation[0].min(s.rotation[1])).collect();
    assert!(finest.windows(2).all(|w| w[0] <= w[1]), "{finest:?}");
    assert!(finest[0] < finest[4] / 3.0);
}

#[test]
fn every_truncation_is_refused_and_no_flip_panics() {
    let s = skeleton(4);
    let c = clip(&s, 150, |j, i| Qvv {
        scale: DVec3::splat(1.0 + 0.1 * (i * 0.2).sin()),
        translation: s.joints[j].rest.translation + DVec3::X * (i * 0.3).sin(),
        ..swing(&s, j, i)
    });
    let done = holds(&s, &c, 0.5);
    let skeleton = done.joints.skeleton();
    let mut scratch = Scratch::default();
    let mut decode = |bytes: &[u8]| -> Result<(), meshreel_codec::Corrupt> {
        let stored = StreamedClip::open(&skeleton, bytes)?;
        for s in 0..stored.layout.segments().min(8) {
            stored.begin_segment(s, &mut scratch)?;
            let _ = stored.decode_sample((s, 9), &mut scratch);
            stored.decode(s, &mut scratch)?;
        }
        Ok(())
    };
    decode(&done.bytes).unwrap();
    for end in 0..done.bytes.len() {
        assert!(decode(&done.bytes[..end]).is_err(), "{end}");
    }
    for at in 0..done.bytes.len() * 8 {
        let mut bytes = done.bytes.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let _ = decode(&bytes);
    }
}

/// A pose costs no more than the samples that it is predicted from.
#[test]
fn samples_of_a_segment_are_decoded_in_any_order_and_need_no_more_than_their_bytes() {
    let s = skeleton(6);
    for samples in [300, 131, 3, 2] {
        let done = holds(&s, &clip(&s, samples, |j, i| swing(&s, j, i)), 0.01);
        let skeleton = done.joints.skeleton();
        let stored = StreamedClip::open(&skeleton, &done.bytes).unwrap();
        let plan = &stored.layout;
        let (mut whole, mut parts) = (Scratch::new(plan), Scratch::new(plan));
        for segment in 0..plan.segments() {
            let length = plan.key(segment + 1) - plan.key(segment);
            stored.decode(segment, &mut whole).unwrap();
            for factor in [1, 7919, 1_000_003] {
                stored.begin_segment(segment, &mut parts).unwrap();
                for i in (0..=2 * length).map(|i| i * factor % (length + 1)) {
                    let codes = stored.decode_sample((segment, i), &mut parts).unwrap();
                    assert_eq!(codes, whole.sample(plan, i), "{samples}: {segment}, {i}");
                }
            }
            // The sample in the middle is first in the file.
            let bytes = stored.segment(segment).unwrap();
            let middle = plan.segment_steps(segment).next().map_or(0, |step| step.sample);
            parts.begin_segment(plan, stored.keys(), segment).unwrap();
            let short = [&bytes[..bytes.len().min(bytes.len() / 2 + 64)]];
            let codes = parts.decode_sample(plan, &short, middle).unwrap();
            assert_eq!(codes, whole.sample(plan, middle), "{samples}: {segment}");
            assert!(parts.decode_sample(plan, &short, length + 1).is_err());
        }
        assert!(stored.begin_segment(plan.segments(), &mut parts).is_err());
    }
}

fn random_access_holds(skeleton: &Skeleton, clip: &Clip, tolerance: f64) -> CompressedClip {
    let options = ClipOptions { tolerance, ..ClipOptions::default() };
    let done = crate::clip::random_access::compress(skeleton, clip, &options).unwrap();
    assert!(done.max_error <= tolerance, "{} > {tolerance}", done.max_error);
    done
}

#[test]
fn the_random_access_form_holds_too() {
    let s = skeleton(12);
    let c = clip(&s, 300, |j, i| swing(&s, j, i));
    let sizes = [1e-3, 1e-2, 1.0].map(|t| random_access_holds(&s, &c, t).bytes.len());
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2], "{sizes:?}");
    let c = clip(&s, 70, |j, i| Qvv {
        rotation: DQuat::from_axis_angle(DVec3::new(1.0, j as f64, 0.3).normalize(), 1.6 * i)
            * DQuat::from_axis_angle(DVec3::Y, i * 0.9 + j as f64),
        ..s.joints[j].rest
    });
    random_access_holds(&s, &c, 0.05);
    let c = clip(&s, 50, |j, i| Qvv {
        translation: s.joints[j].rest.translation + DVec3::new((i * 0.1).sin(), 0.2 * i, j as f64),
        scale: DVec3::new(1.0 + 0.3 * (i * 0.05).sin(), 1.0, (i * 0.04 + j as f64).cos()),
        ..swing(&s, j, i)
    });
    random_access_holds(&s, &c, 0.05);
    for samples in [1, 2, 15, 16, 17, 33] {
        random_access_holds(&s, &clip(&s, samples, |j, i| swing(&s, j, i)), 0.01);
    }
    let still = clip(&s, 40, |j, _| s.joints[j].rest);
    random_access_holds(&s, &still, 0.01);
}

#[test]
fn one_joint_of_the_random_access_form_is_that_of_the_pose() {
    let s = skeleton(9);
    let c = clip(&s, 40, |j, i| Qvv {
        translation: s.joints[j].rest.translation * (1.0 + 0.1 * (i * 0.3).sin()),
        ..swing(&s, j, i)
    });
    let done = random_access_holds(&s, &c, 0.05);
    let resident = RandomAccess::open(&done.joints.skeleton(), &done.bytes).unwrap();
    let mut pose = resident.layout.constant_pose().to_vec();
    for (sample, part) in [(0, 0.0), (3, 0.25), (15, 0.0), (15, 0.5), (17, 0.75), (31, 1.0), (39, 0.0)] {
        resident.pose(sample, (sample + 1).min(39), &InterpolationWeights::same(part), &mut pose[..]);
        for (j, want) in pose.iter().enumerate() {
            let mut got = resident.layout.constant_pose()[j];
            resident.joint(sample, (sample + 1).min(39), part, j, &mut got);
            assert_eq!(got, *want);
        }
    }
}

/// Compares all bits of poses at samples and between, for every instruction set and joint by joint.
fn is_the_same_everywhere(skeleton: &meshreel_codec::clip::Skeleton<'_>, bytes: &[u8]) {
    use meshreel_codec::simd::isa::Isa;
    let resident = RandomAccess::open(skeleton, bytes).unwrap();
    let last = resident.layout.header.samples as usize - 1;
    let still = resident.layout.constant_pose();
    let pose = |isa: Isa, left: usize, right: usize, part: f32| {
        let mut pose = still.to_vec();
        resident.pose_on(isa, left, right, &InterpolationWeights::same(part), &mut pose[..]);
        pose
    };
    let bits = |pose: &[Transform]| -> Vec<u32> {
        let numbers = pose.iter().flat_map(|t| (t.rotation.into_iter()).chain(t.translation).chain(t.scale));
        numbers.map(f32::to_bits).collect()
    };
    for left in 0..=last {
        let right = if left == last { 0 } else { left + 1 };
        for part in [0.0, 0.3, 1.0] {
            let want = pose(Isa::Scalar, left, right, part);
            for isa in Isa::all() {
                assert_eq!(bits(&pose(isa, left, right, part)), bits(&want), "{isa:?} {left} {part}");
            }
            if part == 1.0 {
                assert_eq!(bits(&pose(Isa::Scalar, right, right, 0.0)), bits(&want));
            }
            for j in (left % 5..still.len()).step_by(5) {
                let mut one = still[j];
                resident.joint(left, right, part, j, &mut one);
                assert_eq!(bits(&[one]), bits(&want[j..=j]), "joint {j}, {left} {part}");
            }
        }
    }
}

#[test]
fn the_random_access_form_gives_the_same_bits_everywhere() {
    for joints in [1, 7, 8, 9, 30] {
        let s = skeleton(joints);
        let c = clip(&s, 40, |j, i| Qvv {
            translation: s.joints[j].rest.translation * (1.0 + 0.1 * (i * 0.3 * (j % 2) as f64).sin()),
            scale: DVec3::new(1.0 + 0.3 * (i * 0.05 * (j % 3) as f64).sin(), 1.0, 1.0),
            ..swing(&s, j, i)
        });
        let done = random_access_holds(&s, &c, 0.05);
        is_the_same_everywhere(&done.joints.skeleton(), &done.bytes);
    }
}

#[test]
fn every_truncation_of_the_random_access_form_is_refused_and_no_flip_panics() {
    let s = skeleton(4);
    let c = clip(&s, 40, |j, i| swing(&s, j, i));
    let done = random_access_holds(&s, &c, 0.5);
    let skeleton = done.joints.skeleton();
    let decode = |bytes: &[u8]| -> Result<(), meshreel_codec::Corrupt> {
        let resident = RandomAccess::open(&skeleton, bytes)?;
        let mut pose = resident.layout.constant_pose().to_vec();
        for sample in 0..(resident.layout.header.samples as usize).min(100) {
            resident.pose(sample, sample, &InterpolationWeights::same(0.5), &mut pose[..]);
            resident.pose(sample, 0, &InterpolationWeights::same(0.5), &mut pose[..]);
        }
        resident.pose(usize::MAX, usize::MAX, &InterpolationWeights::same(0.5), &mut pose[..]);
        resident.pose(0, usize::MAX, &InterpolationWeights::same(0.5), &mut pose[..]);
        Ok(())
    };
    decode(&done.bytes).unwrap();
    for end in 0..done.bytes.len() {
        assert!(decode(&done.bytes[..end]).is_err(), "{end}");
    }
    for at in 0..done.bytes.len() * 8 {
        let mut bytes = done.bytes.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        let _ = decode(&bytes);
    }
}
