//! Bones of a tube that three bones bend.

use super::*;

/// A tube that three bones bend, `points` around and along it.
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
                let at: DVec3 = (0..3)
                    .map(|i| bones[i].transform_point3(p) * weights[i])
                    .sum();
                at.to_array().map(|v| v as f32)
            })
            .collect::<Vec<_>>()
    });
    Trajectories::new(points, all.collect())
}

fn worst(skin: &Skin, all: &Trajectories) -> f64 {
    let off = |f: usize, p: usize| (skin.place(f, p) - all.at(f, p as u32)).length();
    let frames = 0..all.frames();
    frames
        .flat_map(|f| (0..all.points()).map(move |p| (f, p)))
        .map(|(f, p)| off(f, p))
        .fold(0.0, f64::max)
}

#[test]
fn e05_three_bones_are_found() {
    let all = tube(600, 30);
    let request = Request::new(3, 1e-4 * all.diagonal());
    let Some(skin) = find(&all, &request) else {
        panic!("no skin");
    };
    assert!(
        skin.error < 2e-4 * all.diagonal(),
        "{}",
        skin.error / all.diagonal()
    );
    for list in &skin.weights {
        let sum: f64 = list.iter().map(|l| l.1).sum();
        assert!((sum - 1.0).abs() < 1e-9 && list.len() <= 4 && list.iter().all(|l| l.1 > 0.0));
    }
    assert!(worst(&skin, &all) < 5e-3 * all.diagonal());
}

#[test]
fn e05_a_sample_is_lifted_to_all_points_and_threads_do_not_matter() {
    let all = tube(1500, 20);
    let request = Request {
        sample: 400,
        ..Request::new(3, 1e-4 * all.diagonal())
    };
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.ok()
            .and_then(|pool| pool.install(|| find(&all, &request)))
    };
    let (Some(one), Some(three)) = (of(1), of(3)) else {
        panic!("no skin");
    };
    assert!(
        one.error < 3e-4 * all.diagonal(),
        "{}",
        one.error / all.diagonal()
    );
    assert_eq!(one.error.to_bits(), three.error.to_bits());
    assert_eq!(one.weights, three.weights);
}

#[test]
fn nothing_to_find_is_none() {
    let still = Trajectories::new(50, [[1.0, 2.0, 3.0]; 100].to_vec());
    assert!(find(&still, &Request::new(2, 1e-4)).is_none());
    let few = tube(7, 10);
    assert!(find(&few, &Request::new(2, 1e-4)).is_none());
}
