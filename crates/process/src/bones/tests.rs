//! Tests on the bones of a tube that is bent by three bones.

use super::*;
use crate::parts::Trajectories;
use crate::{Cancellation, Cancelled};
use glam::{DAffine3, DVec3};
use proptest::prelude::*;

fn found(all: &Trajectories, request: &SkinRequest) -> Option<Skin> {
    find_skin(all, request, &Cancellation::never()).unwrap()
}

fn chosen(all: &Trajectories, tolerance: f64, effort: u32) -> Option<SkinChoice> {
    choose_skin(all, request(tolerance, effort), &|_| (), &Cancellation::never()).unwrap()
}

fn request(tolerance: f64, effort: u32) -> ChoiceRequest {
    ChoiceRequest { tolerance, influences: 4, effort, rest: 0.0, limit: f64::INFINITY }
}

/// Cancelled at the first report of progress.
#[test]
fn a_search_ends_when_it_is_cancelled() {
    let all = tube(600, 40);
    let cancellation = Cancellation::new();
    let told = std::sync::Mutex::new(0);
    let tell = |_: f64| {
        *told.lock().unwrap() += 1;
        cancellation.cancel();
    };
    let choice = choose_skin(&all, request(1e-4, 9), &tell, &cancellation);
    assert_eq!(choice.map(|_| ()), Err(Cancelled));
    assert_eq!(*told.lock().unwrap(), 1);
    assert_eq!(find_skin(&all, &SkinRequest::new(3, 1e-4), &cancellation).map(|_| ()), Err(Cancelled));
}

/// Returns a tube bent by three bones, with `points` points around and along it.
fn tube(points: usize, frames: usize) -> Trajectories {
    let rest: Vec<DVec3> = (0..points)
        .map(|i| {
            let (a, z) = (i as f64 * 2.399_963, i as f64 / points as f64 * 3.0);
            DVec3::new(a.cos() * 0.3, a.sin() * 0.3, z)
        })
        .collect();
    let smooth = |x: f64| {
        let x = x.clamp(0.0, 1.0);
        x * x * (3.0 - 2.0 * x)
    };
    let all = (0..frames).flat_map(|f| {
        let t = f as f64 * 0.2;
        let first = DAffine3::from_rotation_x(0.4 * t.sin());
        let joint = |z: f64, m: DAffine3| {
            DAffine3::from_translation(DVec3::Z * z) * m * DAffine3::from_translation(DVec3::Z * -z)
        };
        let second = first * joint(1.0, DAffine3::from_rotation_y(0.7 * (1.3 * t).sin()));
        let third = second * joint(2.0, DAffine3::from_rotation_x(0.9 * (0.7 * t + 1.0).sin()));
        let bones = [first, second, third];
        rest.iter()
            .map(move |&p| {
                let (a, b) = (smooth((p.z - 0.7) / 0.6), smooth((p.z - 1.7) / 0.6));
                let weights = [1.0 - a, a - b.min(a), b.min(a)];
                let at: DVec3 = (0..3).map(|i| bones[i].transform_point3(p) * weights[i]).sum();
                at.to_array().map(|v| v as f32)
            })
            .collect::<Vec<_>>()
    });
    Trajectories::new(points, all.collect())
}

fn worst(skin: &Skin, all: &Trajectories) -> f64 {
    let off = |f: usize, p: usize| (skin.position(f, p) - all.position(f, p as u32)).length();
    let frames = 0..all.frames();
    frames.flat_map(|f| (0..all.points()).map(move |p| (f, p))).map(|(f, p)| off(f, p)).fold(0.0, f64::max)
}

#[test]
fn e05_three_bones_are_found() {
    let all = tube(600, 30);
    let request = SkinRequest::new(3, 1e-4 * all.diagonal());
    let Some(skin) = found(&all, &request) else {
        panic!("no skin");
    };
    assert!(skin.error < 2e-4 * all.diagonal(), "{}", skin.error / all.diagonal());
    for list in &skin.weights {
        let sum: f64 = list.iter().map(|l| l.1).sum();
        assert!((sum - 1.0).abs() < 1e-9 && list.len() <= 4 && list.iter().all(|l| l.1 > 0.0));
    }
    assert!(worst(&skin, &all) < 5e-3 * all.diagonal());
}

#[test]
fn e05_a_sample_is_lifted_to_all_points_and_threads_do_not_matter() {
    let all = tube(1500, 20);
    let request = SkinRequest { sample: 400, ..SkinRequest::new(3, 1e-4 * all.diagonal()) };
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.ok().and_then(|pool| pool.install(|| found(&all, &request)))
    };
    let (Some(one), Some(three)) = (of(1), of(3)) else {
        panic!("no skin");
    };
    assert!(one.error < 3e-4 * all.diagonal(), "{}", one.error / all.diagonal());
    assert_eq!(one.error.to_bits(), three.error.to_bits());
    assert_eq!(one.weights, three.weights);
}

#[test]
fn nothing_to_find_is_none() {
    assert!(chosen(&tube(7, 1), 1e-4, 5).is_none());
    let mut wild = tube(80, 10).frame(3).to_vec();
    wild.extend_from_slice(&wild.clone());
    wild[9][1] = f32::NAN;
    assert!(found(&Trajectories::new(80, wild), &SkinRequest::new(2, 1e-4)).is_none());
    let still = Trajectories::new(50, [[1.0, 2.0, 3.0]; 100].to_vec());
    assert!(found(&still, &SkinRequest::new(2, 1e-4)).is_none());
    let few = tube(7, 10);
    assert!(found(&few, &SkinRequest::new(2, 1e-4)).is_none());
}

#[test]
fn e05_the_number_of_bones_follows_from_the_size() {
    let all = tube(240, 40);
    let tolerance = 1e-4 * all.diagonal();
    let Some(choice) = chosen(&all, tolerance, 1) else {
        panic!("no skin");
    };
    let bones = choice.skin.transforms.len();
    assert!((3..=9).contains(&bones), "{bones}");
    assert!(choice.bits.ratio() < 0.2, "{:?}", choice.bits);
    assert_eq!(
        choice.bits,
        bits::estimate_skin(&choice.skin, &all, tolerance, 0.0),
        "estimates are of the skin"
    );
    // Each point moves by itself: no bones fit.
    let mut random = 7u64;
    let mut noise = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 40) as f32 / 16_777_216.0
    };
    let wild = (0..20 * 200).map(|_| [noise(), noise(), noise()]).collect();
    assert!(chosen(&Trajectories::new(200, wild), 1e-4, 1).is_none());
}

/// What cannot be saved is not sought: nothing is reported, so no start was made.
#[test]
fn e05_no_bones_are_sought_that_cannot_pay() {
    let all = tube(600, 40);
    let tolerance = 1e-4 * all.diagonal();
    let starts = |limit: f64| {
        let told = std::sync::atomic::AtomicUsize::new(0);
        let tell = |_: f64| {
            told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        let asked = ChoiceRequest { rest: 5e3, limit, ..request(tolerance, 1) };
        let found = choose_skin(&all, asked, &tell, &Cancellation::never()).unwrap();
        (found.is_some(), told.into_inner())
    };
    assert_eq!(starts(5e3 + bits::min_weight_bits(600) - 1.0), (false, 0));
    let (found, all_reports) = starts(f64::INFINITY);
    assert!(found);
    // Weights and rest pose leave little: one start shows that.
    let (found, reports) = starts(5e3 + bits::min_weight_bits(600) + 1.0);
    assert!(!found && reports == 1 && reports < all_reports, "{reports} of {all_reports}");
}

#[test]
fn f17_a_rig_that_is_given_is_checked_or_followed() {
    let all = tube(300, 12);
    let request = SkinRequest { starts: 1, ..SkinRequest::new(3, 1e-4 * all.diagonal()) };
    let Some(skin) = found(&all, &request) else {
        panic!("no skin");
    };
    // Four times the weight, in another order, gives the same.
    let heavy: Vec<Vec<(u32, f64)>> =
        (skin.weights.iter()).map(|list| list.iter().rev().map(|&(b, w)| (b, 4.0 * w)).collect()).collect();
    let rig = source_rig::SourceRig { rest: &skin.rest, weights: &heavy, bones: 3 };
    let Some(checked) = source_rig::with_motions(&all, &rig, &skin.transforms) else {
        panic!("refused");
    };
    assert!((checked.skin.error - skin.error).abs() < 1e-9);
    assert!((checked.worst.iter().fold(0.0, |a: f64, &b| a.max(b)) - worst(&skin, &all)).abs() < 1e-9);
    // Unknown motions are recovered; a fourth bone without points does not move.
    let rig = source_rig::SourceRig { bones: 4, ..rig };
    let Some(followed) = source_rig::fit_motions(&all, &rig) else {
        panic!("refused");
    };
    assert!(followed.skin.error <= skin.error * (1.0 + 1e-6) + 1e-9);
    for m in &followed.skin.transforms[3] {
        assert!(m.abs_diff_eq(DAffine3::IDENTITY, 1e-6), "{m:?}");
    }
    // No weight, or a negative one: at rest. A missing bone: refused.
    let mut wrong = heavy.clone();
    (wrong[0], wrong[1]) = (vec![], vec![(1, -3.0), (2, 0.0)]);
    let odd = source_rig::SourceRig { weights: &wrong, ..rig };
    let Some(odd) = source_rig::fit_motions(&all, &odd) else {
        panic!("refused");
    };
    assert!(odd.skin.weights[0].is_empty() && odd.skin.weights[1].is_empty());
    wrong[2] = vec![(4, 1.0)];
    let none = source_rig::SourceRig { weights: &wrong, ..rig };
    assert!(source_rig::fit_motions(&all, &none).is_none());
    wrong[2] = vec![(1, f64::NAN)];
    let none = source_rig::SourceRig { weights: &wrong, ..rig };
    assert!(source_rig::fit_motions(&all, &none).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Few points, few places, few frames, all on a line or in one place: a skin with valid weights, or none.
    #[test]
    fn any_points_are_fine(
        places in proptest::collection::vec(any::<[i8; 3]>(), 1..12),
        points in 1usize..60,
        frames in 1usize..7,
        bones in 1usize..6,
        flat in 0usize..4,
        still in any::<bool>(),
    ) {
        let at = |f: usize, p: usize| {
            let f = if still { 0 } else { f };
            let place = places[(p * (f + 1) + f) % places.len()];
            std::array::from_fn(|k| if k < flat { 0.0 } else { f32::from(place[k]) })
        };
        let frames = (0..frames).flat_map(|f| (0..points).map(move |p| (f, p)));
        let all = Trajectories::new(points, frames.map(|(f, p)| at(f, p)).collect());
        let request = SkinRequest { steps: [2, 1, 2, 1], starts: 1, sample: 20, ..SkinRequest::new(bones, 1e-3) };
        let found = [found(&all, &request), chosen(&all, 1e-3, 1).map(|choice| choice.skin)];
        for skin in found.into_iter().flatten() {
            prop_assert!(skin.error.is_finite());
            for list in &skin.weights {
                let sum: f64 = list.iter().map(|l| l.1).sum();
                prop_assert!((sum - 1.0).abs() < 1e-9 && list.len() <= 4, "{list:?}");
                prop_assert!(list.iter().all(|l| l.1 > 0.0 && (l.0 as usize) < skin.transforms.len()));
            }
        }
    }
}
