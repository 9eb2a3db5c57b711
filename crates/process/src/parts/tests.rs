//! Tests of the search for parts on independently moving lumps.

use super::*;
use crate::{Cancellation, Cancelled};
use glam::{DQuat, DVec3};

/// Returns a lump of `n` points around a place, no three on a line.
fn lump(at: DVec3, n: usize, seed: usize) -> Vec<DVec3> {
    let of = |i: usize, k: usize| ((i * (7 + 4 * k) + seed * 13 + k * 5) % 31) as f64 / 31.0 - 0.5;
    (0..n).map(|i| at + DVec3::new(of(i, 0), of(i, 1), of(i, 2))).collect()
}

/// Returns the pose of part `i` in frame `f`: it falls, rotates and drifts in its own way, from frame `start`
/// on.
fn motion(i: usize, f: usize, start: usize) -> (DQuat, DVec3) {
    let t = f.saturating_sub(start) as f64 * 0.1;
    let (a, b) = ((i * 37 % 17) as f64 / 17.0 - 0.5, (i * 23 % 13) as f64 / 13.0 - 0.5);
    let axis = DVec3::new(a, 0.3, b).normalize();
    let turn = DQuat::from_axis_angle(axis, t * (1.0 + a));
    (turn, DVec3::new(3.0 * a * t, -0.5 * t * t, 3.0 * b * t))
}

const FRAMES: usize = 40;

/// Returns frames of rest points, each moved by a function.
fn trajectories(rest: &[DVec3], moved: impl Fn(usize, usize, DVec3) -> DVec3) -> Trajectories {
    let frames = (0..FRAMES).flat_map(|f| {
        let moved = &moved;
        let points = rest.iter().enumerate();
        points.map(move |(p, &at)| moved(p, f, at).to_array().map(|v| v as f32))
    });
    Trajectories::new(rest.len(), frames.collect())
}

fn asked(all: &Trajectories) -> PartsRequest<'static> {
    PartsRequest { tolerance: 1e-5 * all.diagonal(), ..PartsRequest::default() }
}

/// Returns a wall of touching lumps, in one order and numbered by lump.
fn wall(count: usize, points: usize) -> (Vec<DVec3>, Vec<usize>) {
    let mut rest = Vec::new();
    let mut of = Vec::new();
    for i in 0..count {
        let at = DVec3::new((i % 8) as f64, (i / 8) as f64, 0.0);
        rest.extend(lump(at, points, i));
        of.extend(std::iter::repeat_n(i, points));
    }
    // Shuffled points: the result must not depend on their order.
    let mut order: Vec<usize> = (0..rest.len()).collect();
    order.sort_by_key(|i| (i * 7919) % 10007);
    (order.iter().map(|&i| rest[i]).collect(), order.iter().map(|&i| of[i]).collect())
}

/// Asserts that each true part is one found part, and no two are the same one.
fn assert_same(parts: &Parts, truth: &[usize]) {
    let mut pairs: Vec<(usize, u32)> = truth.iter().copied().zip(parts.point_part.iter().copied()).collect();
    pairs.sort_unstable();
    pairs.dedup();
    let count = truth.iter().max().map_or(0, |m| m + 1);
    assert_eq!(pairs.len(), count, "{pairs:?}");
    let mut found: Vec<u32> = pairs.iter().map(|p| p.1).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), count);
    assert!(!found.contains(&NO_PART));
}

/// Asserts that points are at the positions given by their part's transform.
fn assert_right(parts: &Parts, all: &Trajectories, tolerance: f64) {
    for (p, &part) in parts.point_part.iter().enumerate() {
        let Some(fits) = parts.transforms.get(part as usize) else {
            continue;
        };
        for (f, fit) in fits.iter().enumerate() {
            let (turn, shift) = fit.matrix();
            let off = turn * all.position(0, p as u32) + shift - all.position(f, p as u32);
            assert!(off.length() <= tolerance * (1.0 + 1e-9), "{part} {f} {}", off.length());
        }
    }
}

#[test]
fn e14_parts_that_touch_are_found_from_motion_alone() {
    let (rest, of) = wall(48, 30);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p], f, 0);
        turn * at + shift
    });
    let parts = find_parts(&all, &asked(&all));
    assert_same(&parts, &of);
    assert_right(&parts, &all, 1e-5 * all.diagonal());
}

#[test]
fn e14_parts_that_start_at_rest_one_after_the_other() {
    let (rest, of) = wall(24, 20);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p], f, 5 + of[p]);
        turn * at + shift
    });
    assert_same(&find_parts(&all, &asked(&all)), &of);
}

#[test]
fn e14_parts_that_move_together_for_a_while() {
    // Pairs fall as one, then break.
    let (rest, of) = wall(24, 20);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(100 + of[p] / 2, f.min(30), 0);
        let (own, away) = motion(of[p], f, 30);
        turn * (own * at + away) + shift
    });
    assert_same(&find_parts(&all, &asked(&all)), &of);
}

#[test]
fn f06_parts_with_the_same_motion_are_one() {
    let (rest, of) = wall(24, 20);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p] % 12, f, 0);
        turn * at + shift
    });
    let truth: Vec<usize> = of.iter().map(|i| i % 12).collect();
    assert_same(&find_parts(&all, &asked(&all)), &truth);
    // Also if ids separate them.
    let groups: Vec<u32> = of.iter().map(|&i| i as u32).collect();
    let request = PartsRequest { groups: &groups, ..asked(&all) };
    let parts = find_parts(&all, &request);
    assert_same(&parts, &truth);
    assert!(parts.broken_groups.is_empty());
}

#[test]
fn f06_many_parts_with_the_same_motion_are_one() {
    let (rest, of) = wall(400, 8);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p] % 5, f, 0);
        turn * at + shift
    });
    let groups: Vec<u32> = of.iter().map(|&i| i as u32).collect();
    let truth: Vec<usize> = of.iter().map(|i| i % 5).collect();
    assert_same(&find_parts(&all, &PartsRequest { groups: &groups, ..asked(&all) }), &truth);
}

#[test]
fn e14_shared_points_are_left_over_or_go_where_they_fit() {
    // Between lumps are points that half follow both.
    let (mut rest, mut of) = wall(12, 25);
    let own = rest.len();
    for i in 0..11 {
        rest.push(DVec3::new(i as f64 % 8.0 + 0.5, (i / 8) as f64, 0.0));
        of.push(i);
    }
    let at_frame = |i: usize, f: usize, at: DVec3| {
        let (turn, shift) = motion(i, f, 0);
        turn * at + shift
    };
    let all = trajectories(&rest, |p, f, at| match p < own {
        true => at_frame(of[p], f, at),
        false => (at_frame(of[p], f, at) + at_frame(of[p] + 1, f, at)) * 0.5,
    });
    let parts = find_parts(&all, &asked(&all));
    let truth: Vec<usize> = of[..own].to_vec();
    let lumps = Parts { point_part: parts.point_part[..own].to_vec(), ..parts.clone() };
    assert_same(&lumps, &truth);
    assert!(parts.point_part[own..].iter().all(|&part| part == NO_PART));
}

#[test]
fn e15_ids_are_taken_and_wrong_ones_are_analysed() {
    let (rest, of) = wall(12, 20);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p], f, 0);
        turn * at + shift
    });
    // Lumps 0 and 1 carry one id but do not move as one.
    let groups: Vec<u32> = of.iter().map(|&i| i.max(1) as u32).collect();
    let request = PartsRequest { groups: &groups, ..asked(&all) };
    let parts = find_parts(&all, &request);
    assert_same(&parts, &of);
    assert_eq!(parts.broken_groups, [1]);
}

#[test]
fn e14_the_hint_that_agrees_with_the_motion_is_used() {
    let (rest, of) = wall(12, 20);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p], f, 0);
        turn * at + shift
    });
    // One triangle per three points of a lump, and the same ids on faces and on points.
    let corners = triangles(&of);
    let counts = vec![3; corners.len() / 3];
    let on_points: Vec<i64> = of.iter().map(|&i| 1000 - 7 * i as i64).collect();
    let on_faces: Vec<i64> = (corners.chunks_exact(3)).map(|t| on_points[t[0] as usize]).collect();
    let wrong: Vec<i64> = (0..of.len() as i64).map(|p| p % 5).collect();
    let hints = [
        ids::PartHint::from_points("material", &wrong),
        ids::PartHint::from_faces("piece", of.len(), &counts, &corners, &on_faces),
        ids::PartHint::from_points("piece", &on_points),
        ids::PartHint::from_points("short", &on_points[1..]),
    ];
    assert_eq!(hints[1].groups.len(), hints[2].groups.len());
    let given = ids::find_with_hints(&all, &asked(&all), &hints).unwrap();
    assert_eq!(given.used, Some(1));
    assert!(given.parts.broken_groups.is_empty());
    assert_same(&given.parts, &of);
    // Swapped ids: both groups are broken, the others help, all parts are found.
    let mut swapped = on_points.clone();
    for p in (0..of.len()).filter(|&p| of[p] < 2).step_by(2) {
        swapped[p] = 1000 - 7 * (1 - of[p]) as i64;
    }
    let given =
        ids::find_with_hints(&all, &asked(&all), &[ids::PartHint::from_points("swapped", &swapped)]).unwrap();
    assert_eq!(given.used, Some(0));
    assert_eq!(given.parts.broken_groups.len(), 2);
    assert_same(&given.parts, &of);
    // Ids without information.
    let given = ids::find_with_hints(&all, &asked(&all), &hints[..1]).unwrap();
    assert_eq!(given.used, None);
    assert_same(&given.parts, &of);
}

#[test]
fn e14_ids_on_faces_are_of_the_points_that_agree() {
    // Two faces share points 1 and 2; point 4 has no face; corner 9 refers to a missing point.
    let hint = ids::PartHint::from_faces("id", 5, &[3, 3, 1], &[0, 1, 2, 2, 1, 3, 9], &[8, -8, 3]);
    assert_eq!(hint.groups, [0, NO_PART, NO_PART, 1, NO_PART]);
    let hint = ids::PartHint::from_faces("id", 2, &[4_000_000_000, 3], &[0, 1], &[5, 6]);
    assert_eq!(hint.groups, [0, 0]);
}

#[test]
fn e05_what_rigid_parts_leave_is_taken_out_for_bones() {
    let (rest, of) = wall(4, 10);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p], f, 0);
        turn * at + shift
    });
    let chosen = [7, 3, 3, 0];
    let some = all.subset(&chosen);
    assert_eq!((some.points(), some.frames()), (4, all.frames()));
    for f in 0..all.frames() {
        for (i, &p) in chosen.iter().enumerate() {
            assert_eq!(some.position(f, i as u32), all.position(f, p));
        }
    }
}

/// Returns triangles over the points of each lump.
fn triangles(of: &[usize]) -> Vec<u32> {
    let count = of.iter().max().map_or(0, |m| m + 1);
    let mut out = Vec::new();
    for i in 0..count {
        let members: Vec<u32> = (0..of.len() as u32).filter(|&p| of[p as usize] == i).collect();
        for t in members.windows(3) {
            out.extend_from_slice(t);
        }
    }
    out
}

#[test]
fn e08_mirrored_growing_and_dying_parts_are_parts() {
    let (rest, of) = wall(12, 20);
    let scale = |i: usize, f: usize| match i % 4 {
        0 if f >= 20 => -1.0,
        1 => 1.0 + f as f64 * 0.02,
        2 => (1.0 - f as f64 / 30.0).max(0.0),
        _ => 1.0,
    };
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p], f, 0);
        turn * at * scale(of[p], f) + shift
    });
    let triangles = triangles(&of);
    let request = PartsRequest { triangles: &triangles, ..asked(&all) };
    let parts = find_parts(&all, &request);
    assert_same(&parts, &of);
    assert_right(&parts, &all, 1e-5 * all.diagonal());
}

#[test]
fn lines_pairs_and_single_points() {
    let mut rest: Vec<DVec3> = (0..5).map(|i| DVec3::X * i as f64).collect();
    rest.extend([DVec3::Y * 4.0, DVec3::Y * 5.0, DVec3::Z * 9.0]);
    let of = [0, 0, 0, 0, 0, 1, 1, 2];
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p], f, 0);
        turn * at + shift
    });
    let corners = [0, 1, 2, 2, 3, 4];
    let request = PartsRequest { triangles: &corners, ..asked(&all) };
    let parts = find_parts(&all, &request);
    assert_right(&parts, &all, request.tolerance);
    // A connected line moves as one; its rotation about itself is not visible, so there is none.
    assert!(parts.point_part[..5].iter().all(|&part| part == 1));
    assert!(parts.point_part[5..].iter().all(|&part| part == NO_PART));
}

#[test]
fn e06_what_stands_still_is_part_0_and_one_frame_is_all_still() {
    let (rest, of) = wall(8, 10);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p], f, 0);
        match of[p] {
            0 | 3 => at,
            _ => turn * at + shift,
        }
    });
    let parts = find_parts(&all, &asked(&all));
    for (p, &i) in of.iter().enumerate() {
        assert_eq!(parts.point_part[p] == 0, i == 0 || i == 3);
    }
    let one = Trajectories::new(rest.len(), all.frame(7).to_vec());
    assert!(find_parts(&one, &asked(&one)).point_part.iter().all(|&part| part == 0));
}

#[test]
fn a_search_ends_when_it_is_cancelled() {
    let (rest, of) = wall(6, 20);
    let all = trajectories(&rest, |p, f, at| {
        let (turn, shift) = motion(of[p], f, 0);
        turn * at + shift
    });
    let request = asked(&all);
    request.cancellation.cancel();
    assert!(ids::find_with_hints(&all, &request, &[]).is_ok(), "that never ends");
    let cancellation = Cancellation::new();
    let request = PartsRequest { cancellation: cancellation.clone(), ..request };
    assert!(ids::find_with_hints(&all, &request, &[]).is_ok());
    cancellation.cancel();
    assert_eq!(ids::find_with_hints(&all, &request, &[]).map(|_| ()), Err(Cancelled));
    // Nothing is found, since nothing is sought.
    assert!(find_parts(&all, &request).point_part.iter().all(|&part| part == NO_PART));
}
