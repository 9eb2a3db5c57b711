//! Clips at run time: every way to sample a pose gives the same values, at any time.

use crate::common::clips::{FPS, file, random_access_clip, random_access_file, scalars_record};
use crate::common::{Parts, golden, open};
use meshreel::Transform;
use meshreel::clip::{
    Clip, ClipCursor, Mask, PosePlanes, Query, Repeats, RootMotion, Rounding, SoaTransforms, blend,
    importance,
};
use proptest::prelude::*;

const ODD: Transform = Transform { rotation: [9.0; 4], translation: [9.0; 3], scale: [9.0; 3] };

fn clip(joints: usize, samples: usize) -> Clip {
    let reel = open(file(joints, samples, Some(&scalars_record(samples))).write()).unwrap();
    reel.clips().unwrap().remove(0)
}

fn random_access(joints: usize, samples: usize, layers: usize, stepped: bool) -> Clip {
    let reel = open(random_access_file(joints, samples, layers, stepped).write()).unwrap();
    reel.clips().unwrap().remove(0)
}

/// A place in a clip of any form.
struct AnyForm(std::cell::RefCell<ClipCursor>);

impl AnyForm {
    /// The streamed form, the random-access form in memory, and that form from files, in one piece and in
    /// layers.
    fn all_forms(joints: usize, samples: usize) -> [AnyForm; 4] {
        let whole = |layers: usize| random_access(joints, samples, layers, false);
        let memory = random_access_clip(joints, samples);
        [clip(joints, samples), memory, whole(1), whole(2)].map(|clip| AnyForm(clip.cursor().into()))
    }

    fn fill(&self, query: &Query<'_>, pose: &mut (impl meshreel::clip::Pose + ?Sized)) {
        self.0.borrow_mut().pose(query, pose).unwrap();
    }

    fn joints(&self) -> usize {
        self.0.borrow().clip().joints()
    }

    fn pose(&self, query: &Query<'_>) -> Vec<Transform> {
        let mut pose = vec![ODD; self.joints()];
        self.fill(query, &mut pose[..]);
        pose
    }

    fn joint(&self, joint: usize, query: &Query<'_>) -> Transform {
        self.0.borrow_mut().joint(joint, query).unwrap().local
    }

    fn root_motion(&self, times: (f64, f64), repeats: Repeats) -> Transform {
        self.0.borrow_mut().root_motion(0, times, repeats, RootMotion::All).unwrap()
    }
}

fn bits(pose: &[Transform]) -> Vec<u32> {
    let numbers = pose.iter().flat_map(|t| t.rotation.into_iter().chain(t.translation).chain(t.scale));
    numbers.map(f32::to_bits).collect()
}

fn near(a: &[Transform], b: &[Transform], far: f32) -> bool {
    let numbers = |pose: &[Transform]| bits(pose).into_iter().map(f32::from_bits).collect::<Vec<_>>();
    numbers(a).iter().zip(numbers(b)).all(|(a, b)| (a - b).abs() < far)
}

const ROUNDINGS: [Rounding; 4] = [Rounding::None, Rounding::Floor, Rounding::Ceil, Rounding::Nearest];

fn time() -> impl Strategy<Value = f64> {
    prop_oneof![
        -3.0f64..5.0,
        (-80i32..120).prop_map(|i| f64::from(i) / FPS),
        Just(f64::NAN),
        Just(f64::INFINITY),
        Just(f64::NEG_INFINITY),
        Just(1e300),
        Just(-0.0),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn planes_and_lanes_hold_the_pose_to_the_bit(seconds in time(), wraps in any::<bool>(), round in 0usize..4, joints in 1usize..30) {
        for clip in AnyForm::all_forms(joints, 37) {
            let mut query = Query::new(seconds).with_rounding(ROUNDINGS[round]);
            if wraps {
                query = query.wrapped();
            }
            let want = clip.pose(&query);
            let mut all = vec![0.0f32; 10 * joints];
            let mut parts = all.chunks_mut(joints);
            let mut next = || parts.next().unwrap();
            let mut planes = PosePlanes {
                rotation: [next(), next(), next(), next()],
                translation: [next(), next(), next()],
                scale: [next(), next(), next()],
            };
            clip.fill(&query, &mut planes);
            let at = |plane: usize, j: usize| all[plane * joints + j];
            let got: Vec<Transform> = (0..joints).map(|j| Transform {
                rotation: [at(0, j), at(1, j), at(2, j), at(3, j)],
                translation: [at(4, j), at(5, j), at(6, j)],
                scale: [at(7, j), at(8, j), at(9, j)],
            }).collect();
            prop_assert_eq!(bits(&got), bits(&want));
            let mut four = vec![SoaTransforms::<4>::IDENTITY; SoaTransforms::<4>::item_count(joints)];
            let mut eight = vec![SoaTransforms::<8>::IDENTITY; SoaTransforms::<8>::item_count(joints)];
            clip.fill(&query, &mut four[..]);
            clip.fill(&query, &mut eight[..]);
            let got: Vec<Transform> = (0..joints).map(|j| four[j / 4].lane(j % 4)).collect();
            prop_assert_eq!(bits(&got), bits(&want));
            let got: Vec<Transform> = (0..joints).map(|j| eight[j / 8].lane(j % 8)).collect();
            prop_assert_eq!(bits(&got), bits(&want));
            for (j, want) in want.iter().enumerate() {
                prop_assert_eq!(bits(&[clip.joint(j, &query)]), bits(&[*want]));
            }
        }
    }

    #[test]
    fn a_mask_gives_its_joints_and_leaves_the_others(seconds in time(), wanted in prop::collection::vec(any::<bool>(), 23)) {
        let mask = Mask::from_joints(23, (0..23).filter(|j| wanted[*j]));
        for clip in AnyForm::all_forms(23, 40) {
            let query = Query::new(seconds).wrapped();
            let mut want = clip.pose(&query);
            for (j, want) in want.iter_mut().enumerate() {
                if !mask.contains(j) {
                    *want = ODD;
                }
            }
            prop_assert_eq!(bits(&clip.pose(&query.with_mask(&mask))), bits(&want));
        }
    }

    #[test]
    fn each_joint_is_rounded_by_itself(seconds in time(), wraps in any::<bool>(), each in prop::collection::vec(0usize..4, 0..20)) {
        let each: Vec<Rounding> = each.into_iter().map(|i| ROUNDINGS[i]).collect();
        for clip in AnyForm::all_forms(17, 35) {
            let mut query = Query::new(seconds).with_rounding(Rounding::Floor);
            if wraps {
                query = query.wrapped();
            }
            let got = clip.pose(&query.with_roundings(&each));
            for (j, got) in got.iter().enumerate() {
                let rounding = each.get(j).copied().unwrap_or(Rounding::Floor);
                let want = clip.pose(&query.with_rounding(rounding))[j];
                prop_assert_eq!(bits(&[*got]), bits(&[want]), "{} {:?}", j, rounding);
            }
        }
    }

    #[test]
    fn roundings_are_samples(sample in 0usize..40, part in 0.01f64..0.99) {
        for clip in AnyForm::all_forms(11, 41) {
            let at = |sample: usize| clip.pose(&Query::new(sample as f64 / FPS));
            let query = Query::new((sample as f64 + part) / FPS);
            prop_assert_eq!(clip.pose(&query.with_rounding(Rounding::Floor)), at(sample));
            prop_assert_eq!(clip.pose(&query.with_rounding(Rounding::Ceil)), at(sample + 1));
            if (part - 0.5).abs() > 1e-6 {
                let nearest = if part < 0.5 { sample } else { sample + 1 };
                prop_assert_eq!(clip.pose(&query.with_rounding(Rounding::Nearest)), at(nearest));
            }
        }
    }

    #[test]
    fn clips_wrap_and_clamp_at_any_time(seconds in 0.0f64..1.5, turns in -50i32..50, samples in prop_oneof![Just(1usize), Just(2), Just(16), Just(17), Just(45)]) {
        for clip in AnyForm::all_forms(9, samples) {
            let period = samples as f64 / FPS;
            let inside = seconds % period;
            let once = clip.pose(&Query::new(inside).wrapped());
            let again = clip.pose(&Query::new(inside + f64::from(turns) * period).wrapped());
            // Times are not exact, and a turn of the residuals here is large.
            prop_assert!(near(&once, &again, 0.1), "{} {}", inside, turns);
            let last = (samples - 1) as f64 / FPS;
            prop_assert_eq!(clip.pose(&Query::new(-seconds - 1e-9)), clip.pose(&Query::new(0.0)));
            prop_assert_eq!(clip.pose(&Query::new(last + seconds)), clip.pose(&Query::new(last)));
            let nonsense = clip.pose(&Query::new(f64::NAN).wrapped());
            prop_assert_eq!(nonsense, clip.pose(&Query::new(0.0)));
        }
    }

    #[test]
    fn root_motion_of_steps_is_that_of_the_whole(steps in prop::collection::vec(-0.3f64..0.9, 1..12), from in -2.0f64..2.0) {
        for clip in AnyForm::all_forms(5, 33) {
            for repeats in [Repeats::Clamp, Repeats::Wrap] {
                let mut at = from;
                let mut chain = Vec::new();
                for step in &steps {
                    chain.push(clip.root_motion((at, at + step), repeats));
                    at += step;
                }
                // The product of a chain of joints is that of its steps.
                let parents: Vec<u32> = (0..chain.len() as u32).map(|j| j.wrapping_sub(1)).collect();
                let mut all = vec![[[0.0; 4]; 3]; chain.len()];
                meshreel::clip::object_space(&parents, &chain, &mut all);
                let mut whole = [[[0.0; 4]; 3]];
                meshreel::clip::object_space(&[u32::MAX], &[clip.root_motion((from, at), repeats)], &mut whole);
                let size = whole[0].iter().flatten().fold(1.0f32, |m, v| m.max(v.abs()));
                for (a, b) in all[chain.len() - 1].iter().flatten().zip(whole[0].iter().flatten()) {
                    prop_assert!((a - b).abs() < 2e-3 * size, "{} {}", a, b);
                }
            }
        }
    }
}

#[test]
fn within_a_segment_or_across_it_is_between_its_samples() {
    for clip in AnyForm::all_forms(12, 40) {
        for sample in 0..39 {
            let at = |part: f64| clip.pose(&Query::new((sample as f64 + part) / FPS));
            let (a, b, middle) = (at(0.0), at(1.0), at(0.5));
            let mut want = a.clone();
            blend(&a, &b, 0.5, &mut want);
            for (j, (middle, want)) in middle.iter().zip(&want).enumerate() {
                let dot: f32 = middle.rotation.iter().zip(want.rotation).map(|(a, b)| a * b).sum();
                assert!(dot.abs() > 0.99, "sample {sample}, joint {j}: {dot}");
                let n: f32 = middle.rotation.iter().map(|v| v * v).sum();
                assert!((n - 1.0).abs() < 1e-4, "sample {sample}, joint {j}: {n}");
            }
        }
    }
}

#[test]
fn importance_is_an_order_of_parents_before_children() {
    let clip = random_access_clip(31, 2);
    let order = importance(clip.skeleton());
    let mut place = [0; 31];
    for (at, j) in order.iter().enumerate() {
        place[*j as usize] = at;
    }
    for (j, parent) in clip.skeleton().parents.iter().enumerate() {
        assert!(*parent == u32::MAX || place[*parent as usize] < place[j]);
    }
    for count in 0..=31 {
        let mask = Mask::most_important(&order, count);
        assert_eq!(mask.count(), count);
        assert_eq!(mask.clone().with_parents(&clip.skeleton().parents), mask);
    }
}

#[test]
fn wrong_usage_is_said() {
    for clip in AnyForm::all_forms(8, 5) {
        let mut small = [ODD; 7];
        let query = Query::new(0.0);
        let mut cursor = clip.0.borrow_mut();
        assert!(cursor.joint(8, &query).is_err() && cursor.clip().scalar(2, &query).is_err());
        let answer = cursor.pose(&query, &mut small[..]);
        assert!(matches!(answer, Err(meshreel::Error::Misuse { .. })));
        assert_eq!(small, [ODD; 7]);
    }
}

#[test]
fn e11_scalars_and_events_ride_along() {
    let clip = clip(3, 40);
    let want = scalars_record(40);
    assert_eq!(clip.scalar_tracks(), want.tracks);
    for i in 0..39 {
        let query = Query::new((f64::from(i) + 0.5) / FPS);
        let [a, b] = [0, 1].map(|n| want.tracks[0].values(i as usize + n)[0]);
        let got = clip.scalar(0, &query).unwrap()[0];
        assert!((got - (a + b) / 2.0).abs() < 1e-4);
        assert_eq!(clip.scalar(0, &query.with_rounding(Rounding::Floor)).unwrap()[0], a);
        assert_eq!(clip.scalar(0, &query.with_rounding(Rounding::Ceil)).unwrap()[0], b);
    }
    let mut all = [[9.0; 4]; 3];
    clip.scalars(&Query::new(0.0), &mut all);
    assert_eq!(all, [[-1.0, 0.0, 0.0, 0.0], [0.5, 0.0, 2.0, 0.0], [9.0; 4]]);
    // A loop is forty intervals.
    let period = 40.0 / FPS;
    let names = |from: f64, to: f64| -> Vec<String> {
        let events = clip.events(from, to, Repeats::Wrap);
        events.map(|e| e.marker.name.clone()).collect()
    };
    assert_eq!(names(0.05, 0.2), ["left"]);
    assert_eq!(names(0.2, period + 0.1 + 1e-9), ["right", "right", "start", "left"]);
    assert_eq!(names(0.3, 0.05), ["right", "right", "left"]);
    assert_eq!(clip.events(0.2, 100.0, Repeats::Clamp).count(), 2);
    let mut count = 0;
    let mut at = -0.5;
    while at < 10.0 * period {
        count += clip.events(at, at + 1.0 / 144.0, Repeats::Wrap).count();
        at += 1.0 / 144.0;
    }
    assert_eq!(count, clip.events(-0.5, at, Repeats::Wrap).count());
}

#[test]
fn scalars_of_another_clip_are_refused() {
    type Change = fn(&mut meshreel_codec::clip::scalars::ScalarsRecord);
    let changes: [Change; 2] = [|e| e.clip = 1, |e| *e = scalars_record(39)];
    for change in changes {
        let mut other = scalars_record(40);
        change(&mut other);
        let reel = open(file(3, 40, Some(&other)).write()).unwrap();
        assert!(reel.clips().is_err());
    }
    let mut twice = file(3, 40, Some(&scalars_record(40)));
    twice.chunks.push(twice.chunks[2].clone());
    assert!(open(twice.write()).unwrap().clips().is_err());
    assert!(open(file(3, 40, None).write()).unwrap().clips().unwrap()[0].markers().is_empty());
}

/// Samples poses of any clip, with joints left out, and each joint rounded in its own way.
fn poses(clip: &Clip) -> Vec<u32> {
    let mask = Mask::from_joints(clip.joints(), (0..clip.joints()).step_by(2));
    let each = [Rounding::Ceil, Rounding::None, Rounding::Nearest, Rounding::Floor];
    let mut cursor = clip.cursor();
    let mut out = Vec::new();
    for i in 0..60 {
        let query = Query::new(f64::from(i) * 0.173 - 1.0).wrapped();
        for query in [query, query.with_mask(&mask), query.with_roundings(&each)] {
            let mut pose = vec![ODD; clip.joints()];
            cursor.pose(&query, &mut pose[..]).unwrap();
            out.extend(bits(&pose));
            out.extend(bits(&[cursor.joint(clip.joints() / 2, &query).unwrap().local]));
        }
    }
    out
}

#[test]
fn random_access_files_pose_as_memory_does() {
    for (joints, samples) in [(1, 1), (9, 16), (23, 40), (31, 33)] {
        let memory = random_access_clip(joints, samples);
        let want = poses(&memory);
        let whole = random_access(joints, samples, 1, false);
        assert_eq!(poses(&whole), want, "{joints}");
        assert!(whole.layers().is_empty() && whole.streamed().is_none() && whole.curves().is_none());
        assert_eq!(whole.record().codec, meshreel::clip::ClipCodec::RandomAccess);
        let layered = random_access(joints, samples, 2, false);
        let (mut cursor, mut pose) = (layered.cursor(), vec![ODD; joints]);
        for i in 0..samples {
            cursor.sample(i, &mut pose).unwrap();
            let mut same = vec![ODD; joints];
            let query = Query::new(i as f64 / FPS).with_rounding(Rounding::Nearest);
            cursor.pose(&query, &mut same[..]).unwrap();
            assert_eq!(bits(&pose), bits(&same), "{joints} {i}");
        }
    }
}

#[test]
fn layers_of_random_access_files_can_be_left_out() {
    let clip = random_access(12, 40, 2, false);
    let infos = clip.layers();
    let names: Vec<&str> = infos.iter().map(|layer| &layer.name[..]).collect();
    assert_eq!((names, infos[0].tiers.len()), (vec!["base", "upper"], 1));
    assert_eq!((infos[1].joints.clone(), infos[1].samples.len()), ((7..12).collect::<Vec<u32>>(), 40));
    let query = Query::new(0.41).wrapped();
    let mut cursor = clip.cursor();
    let pose = |cursor: &mut ClipCursor| {
        let mut pose = vec![ODD; 12];
        cursor.pose(&query, &mut pose[..]).unwrap();
        pose
    };
    let all = pose(&mut cursor);
    for tiers in [[1, 0], [0, 1], [0, 0]] {
        cursor.set_tiers(&tiers);
        let got = pose(&mut cursor);
        let same = pose(&mut clip.with_tiers(&tiers).cursor());
        assert_eq!(bits(&got), bits(&same), "{tiers:?}");
        for j in 0..12 {
            let there = tiers[usize::from(clip.joint_layer(j).unwrap())] > 0;
            let want = if there { all[j] } else { clip.skeleton().rest[j] };
            assert_eq!(bits(&[got[j]]), bits(&[want]), "{tiers:?} {j}");
            let one = cursor.joint(j, &query).unwrap();
            assert_eq!((bits(&[one.local]), one.bind), (bits(&[want]), !there), "{tiers:?} {j}");
        }
    }
}

#[test]
fn stepped_joints_of_random_access_files_stay() {
    let (stepped, plain) = (random_access(12, 40, 2, true), random_access(12, 40, 2, false));
    for i in 0..39 {
        let query = Query::new((f64::from(i) + 0.7) / FPS);
        let (mut cursor, mut plain) = (stepped.cursor(), plain.cursor());
        let pose = |cursor: &mut ClipCursor, query: &Query<'_>| {
            let mut pose = vec![ODD; 12];
            cursor.pose(query, &mut pose[..]).unwrap();
            pose
        };
        let got = pose(&mut cursor, &query);
        let (between, before) =
            (pose(&mut plain, &query), pose(&mut plain, &query.with_rounding(Rounding::Floor)));
        for j in 0..12 {
            let want = if j % 4 == 3 { before[j] } else { between[j] };
            assert_eq!(bits(&[got[j]]), bits(&[want]), "{i} {j}");
            assert_eq!(bits(&[cursor.joint(j, &query).unwrap().local]), bits(&[want]), "{i} {j}");
        }
        let ceil = query.with_rounding(Rounding::Ceil);
        assert_eq!(bits(&pose(&mut cursor, &ceil)), bits(&pose(&mut plain, &ceil)));
    }
}

/// A reader that has checked a container has not checked the bytes in its chunks: each chunk is cut and
/// flipped behind valid checksums.
#[test]
fn damaged_random_access_files_are_refused_or_play() {
    for layers in [1, 2] {
        let whole = random_access_file(5, 20, layers, layers == 2);
        let try_one = |parts: &Parts| -> bool {
            let Ok(clips) = open(parts.write()).and_then(|reel| reel.clips()) else {
                return false;
            };
            for clip in clips {
                let mut cursor = clip.cursor();
                let mut pose = vec![ODD; clip.joints()];
                for at in [0.0, 0.49, 0.51, 0.6, 1e9] {
                    let _ = cursor.pose(&Query::new(at).wrapped(), &mut pose[..]);
                    let _ = cursor.joint(1, &Query::new(at));
                }
                let _ = clip.layers();
            }
            true
        };
        assert!(try_one(&whole));
        for chunk in 0..whole.chunks.len() {
            let bytes = &whole.chunks[chunk].1;
            let damaged = |bytes: Vec<u8>| {
                let mut parts = whole.clone();
                parts.chunks[chunk].1 = bytes;
                try_one(&parts)
            };
            // Only some of the samples' bits: a test of the codec flips them all.
            let step = 1 + bytes.len() / 100;
            for end in (0..bytes.len()).step_by(step) {
                assert!(!damaged(bytes[..end].to_vec()), "{layers} {chunk}: cut at {end}");
            }
            for at in (0..bytes.len() * 8).step_by(3 * step) {
                let mut bytes = bytes.clone();
                bytes[at / 8] ^= 1 << (at % 8);
                damaged(bytes);
            }
        }
    }
}

#[test]
fn databases_refuse_random_access_clips() {
    use meshreel::clip::{Database, DatabaseOptions};
    let bytes = std::sync::Arc::new(random_access_file(5, 20, 2, false).write());
    let options = DatabaseOptions::default().with_threads(0);
    let answer = Database::from_bytes("x", bytes, &meshreel::Limits::default(), options);
    assert!(matches!(answer, Err(meshreel::Error::Misuse { .. })));
}

#[test]
fn a_clip_of_a_database_poses_like_any_other() {
    use meshreel::clip::{Database, DatabaseOptions};
    let bytes = golden("clips/layers.reel");
    let options = DatabaseOptions::default().with_threads(0);
    let limits = meshreel::Limits::default();
    let mut database = Database::from_bytes("x", std::sync::Arc::new(bytes), &limits, options).unwrap();
    for part in database.layer_tiers() {
        database.stream_in(part, None).unwrap();
        assert!(database.tick().arrived > 0);
    }
    for (i, clip) in database.reel().clips().unwrap().iter().enumerate() {
        assert_eq!(poses(&database.clip(i).unwrap()), poses(clip), "{i}");
    }
}
