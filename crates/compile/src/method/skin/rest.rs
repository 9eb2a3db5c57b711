//! Parts that come to rest.

use super::model::BoneModel;
use crate::report::RestingParts;
use glam::DVec3;
use meshreel_codec::mesh::skin::SkinRig;

/// Finds the frame from which on parts are at rest and the most frames of parts could be left out. `near`:
/// the distance that counts as rest.
pub fn find_rest(model: &BoneModel, rig: &SkinRig, near: f64) -> Option<RestingParts> {
    let frames = model.rigid.first()?.len();
    let ends: Vec<usize> = (model.rigid.iter().zip(&rig.regions))
        .map(|(motion, region)| {
            let middle = DVec3::from_array(region.middle);
            let half = DVec3::from_array(region.half);
            let corners: [DVec3; 8] = std::array::from_fn(|i| {
                let side = |bit: usize| if i >> bit & 1 == 1 { 1.0 } else { -1.0 };
                middle + half * DVec3::new(side(0), side(1), side(2))
            });
            let places = |frame: usize| {
                let (turn, shift) = motion[frame].matrix();
                corners.map(|c| turn * c + shift)
            };
            let last = places(frames - 1);
            let moves = |&frame: &usize| {
                let now = places(frame);
                (now.iter().zip(&last)).any(|(a, b)| (*a - *b).length() > near)
            };
            // The first frame from which on it stays.
            (0..frames).rev().find(moves).map_or(0, |frame| frame + 1)
        })
        .collect();
    let moving: Vec<usize> = ends.into_iter().filter(|&end| end > 0).collect();
    let mut best: Option<RestingParts> = None;
    for frame in 1..frames {
        let parts = moving.iter().filter(|&&end| end <= frame).count();
        let share = (parts * (frames - frame)) as f64 / (moving.len() * frames).max(1) as f64;
        if parts > 0 && best.is_none_or(|b| share > b.fraction) {
            best =
                Some(RestingParts { parts, moving_parts: moving.len(), frame, time: 0.0, fraction: share });
        }
    }
    best
}
