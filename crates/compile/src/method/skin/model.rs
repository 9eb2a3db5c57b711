//! The bones and weights of a mesh before they are coded; and the rounding of weights to whole numbers.

use glam::{DAffine3, DVec3};
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::skin::MAX_BONES;
use meshreel_codec::mesh::skin::weights::{Influence, MAX_WEIGHT_DEPTH, MAX_WEIGHT_SHIFT, SkinWeights};
use meshreel_process::bones;
use meshreel_process::parts::{NO_PART, Parts, Similarity, Trajectories};
use std::ops::Range;

/// Bones, and the influences of points. Rigid bones come first.
pub struct BoneModel {
    /// By point, its rest position.
    pub rest: Vec<[f32; 3]>,
    /// By point, its bones and weights, of sum 1; empty if it does not move except by its residual.
    pub influences: Vec<Vec<(u32, f64)>>,
    /// By bone and frame, the transform from the rest pose; the identity in frame 0.
    pub rigid: Vec<Vec<Similarity>>,
    /// By affine bone and frame, the transform from the rest pose to the frame.
    pub affine: Vec<Vec<DAffine3>>,
}

impl BoneModel {
    /// Makes a model of rigid parts; the rest pose is frame 0. Points without a part have no bone; nor have
    /// the smallest of more than [`MAX_BONES`] parts.
    pub fn from_parts(all: &Trajectories, parts: &Parts) -> BoneModel {
        // Part 0 does not move, but is a bone, so that its points need no residual.
        let mut number = vec![NO_PART; parts.len()];
        let mut rigid = Vec::new();
        let mut kept = vec![true; parts.len()];
        if parts.len() > MAX_BONES as usize {
            let mut sizes = vec![0u32; parts.len()];
            for &part in parts.point_part.iter().filter(|&&part| part != NO_PART) {
                sizes[part as usize] += 1;
            }
            let mut order: Vec<usize> = (0..parts.len()).collect();
            order.sort_by_key(|&part| (std::cmp::Reverse(sizes[part]), part));
            (order[MAX_BONES as usize..].iter()).for_each(|&part| kept[part] = false);
        }
        let influences = (parts.point_part.iter())
            .map(|&part| match number.get_mut(part as usize) {
                None => Vec::new(),
                Some(_) if !kept[part as usize] => Vec::new(),
                Some(number) => {
                    if *number == NO_PART {
                        *number = rigid.len() as u32;
                        rigid.push(parts.transforms[part as usize].clone());
                    }
                    vec![(*number, 1.0)]
                }
            })
            .collect();
        BoneModel { rest: all.frame(0).to_vec(), influences, rigid, affine: Vec::new() }
    }

    /// Makes a model of a skin.
    pub fn from_skin(skin: &bones::Skin) -> BoneModel {
        BoneModel {
            rest: skin.rest.iter().map(|p| p.as_vec3().to_array()).collect(),
            influences: skin.weights.clone(),
            rigid: Vec::new(),
            affine: skin.transforms.clone(),
        }
    }

    /// Adds a skin for some `points` without a part: bones of both kinds in one mesh.
    pub fn with_skin(mut self, skin: &bones::Skin, points: &[u32]) -> BoneModel {
        let first = self.bones() as u32;
        self.affine.extend(skin.transforms.iter().cloned());
        for ((&point, rest), weights) in points.iter().zip(&skin.rest).zip(&skin.weights) {
            self.rest[point as usize] = rest.as_vec3().to_array();
            let weights = weights.iter().map(|&(bone, weight)| (first + bone, weight));
            self.influences[point as usize] = weights.collect();
        }
        self
    }

    /// Returns the frames in which each rigid bone moves its points by more than `still`: from the first in
    /// which they are not at rest to the last before they stay in place, with the frame of arrival included.
    pub fn active_frames(&self, still: f64) -> Vec<Range<u32>> {
        let mut boxes = vec![[DVec3::INFINITY, DVec3::NEG_INFINITY]; self.rigid.len()];
        for (own, rest) in self.influences.iter().zip(&self.rest) {
            let at = DVec3::from_array(rest.map(f64::from));
            for (bone, _) in own {
                if let Some([low, high]) = boxes.get_mut(*bone as usize) {
                    (*low, *high) = (low.min(at), high.max(at));
                }
            }
        }
        let of = |(frames, [low, high]): (&Vec<Similarity>, &[DVec3; 2])| {
            let apart = |a: &Similarity, b: &Similarity| {
                let ((turn, shift), (other, to)) = (a.matrix(), b.matrix());
                (0..8).any(|corner| {
                    let pick = |k: usize| {
                        if corner >> k & 1 == 0 { low[k] } else { high[k] }
                    };
                    let p = DVec3::new(pick(0), pick(1), pick(2));
                    ((turn * p + shift) - (other * p + to)).length() > still
                })
            };
            let count = frames.len();
            let first = (0..count).find(|&f| apart(&frames[f], &frames[0]));
            let last = (0..count).rfind(|&f| apart(&frames[f], &frames[count - 1]));
            let first = first.unwrap_or(count);
            let end = last.map_or(0, |f| (f + 2).min(count));
            first as u32..end.max(first) as u32
        };
        self.rigid.iter().zip(&boxes).map(of).collect()
    }

    /// Sorts rigid bones by the frame in which they begin to move, then by the frame in which they stop.
    pub fn sorted_by_time(mut self, still: f64) -> BoneModel {
        let live = self.active_frames(still);
        let mut order: Vec<usize> = (0..self.rigid.len()).collect();
        order.sort_by_key(|&b| (live[b].start, live[b].end, b));
        let mut number = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            number[old] = new as u32;
        }
        for (bone, _) in self.influences.iter_mut().flatten() {
            if let Some(&new) = number.get(*bone as usize) {
                *bone = new;
            }
        }
        let mut rigid: Vec<_> = self.rigid.drain(..).map(Some).collect();
        self.rigid = order.iter().filter_map(|&old| rigid[old].take()).collect();
        self
    }

    /// Returns the points of each rigid bone.
    pub fn bone_points(&self) -> Vec<Vec<u32>> {
        let mut out = vec![Vec::new(); self.rigid.len()];
        for (p, own) in (0u32..).zip(&self.influences) {
            if let [(bone, _)] = own[..]
                && let Some(list) = out.get_mut(bone as usize)
            {
                list.push(p);
            }
        }
        out
    }

    /// Returns the number of bones.
    pub fn bones(&self) -> usize {
        self.rigid.len() + self.affine.len()
    }

    /// Returns `true` if some point follows several bones.
    pub fn blends(&self) -> bool {
        self.influences.iter().any(|own| own.len() > 1)
    }

    fn move_point(&self, bone: u32, frame: usize, p: DVec3) -> DVec3 {
        let bone = bone as usize;
        match bone.checked_sub(self.rigid.len()) {
            None => {
                let (turn, shift) = self.rigid[bone][frame].matrix();
                turn * p + shift
            }
            Some(bone) => self.affine[bone][frame].transform_point3(p),
        }
    }

    /// Returns the weights in hierarchy order, each rounded as coarsely as keeps its point within `room` of
    /// its place in the given `frames`.
    pub fn weights(&self, hierarchy: &Hierarchy, frames: &[usize], room: f64) -> SkinWeights {
        let rounded = |point: &u32| self.round_weights(*point as usize, frames, room);
        let all: Vec<Vec<Influence>> = hierarchy.order.iter().map(rounded).collect();
        // No finer than any point needs.
        let finest = |own: &Vec<Influence>| own.iter().map(|i| i.1.trailing_zeros()).min();
        let blended = all.iter().filter(|own| own.len() > 1);
        let spare = blended.filter_map(finest).min().unwrap_or(MAX_WEIGHT_DEPTH - 3);
        let depth = MAX_WEIGHT_DEPTH - spare.min(MAX_WEIGHT_DEPTH - 3);
        let mut out = SkinWeights::new(depth);
        for own in all {
            let own: Vec<Influence> = match own[..] {
                [(bone, _)] => vec![(bone, 1 << depth)],
                _ => (own.iter()).map(|&(bone, w)| (bone, w >> (MAX_WEIGHT_DEPTH - depth))).collect(),
            };
            out.push(&own, own.is_empty());
        }
        out
    }

    /// Rounds the weights of a point, in units of 2⁻¹⁴.
    fn round_weights(&self, point: usize, frames: &[usize], room: f64) -> Vec<Influence> {
        let own = &self.influences[point];
        if own.len() < 2 {
            return own.iter().map(|&(bone, _)| (bone as u16, 1 << MAX_WEIGHT_DEPTH)).collect();
        }
        let rest = DVec3::from_array(self.rest[point].map(f64::from));
        let arms: Vec<Vec<DVec3>> = (own.iter())
            .map(|&(bone, _)| frames.iter().map(|&f| self.move_point(bone, f, rest)).collect())
            .collect();
        let mut best = Vec::new();
        for shift in 0..=MAX_WEIGHT_SHIFT + 4 {
            let steps = 1u32 << (MAX_WEIGHT_DEPTH - shift).min(MAX_WEIGHT_DEPTH);
            let Some(list) = to_integers(own, steps) else { break };
            let off = |f: usize| {
                let of = |(k, w): (usize, &u32)| arms[k][f] * (f64::from(*w) / f64::from(steps) - own[k].1);
                list.iter().enumerate().map(of).sum::<DVec3>().length()
            };
            let most = (0..frames.len()).map(off).fold(0.0, f64::max);
            if shift > 0 && most > room {
                break;
            }
            best = (own.iter().zip(&list))
                .filter(|(_, w)| **w > 0)
                .map(|(i, w)| (i.0 as u16, (w << shift) as u16))
                .collect();
        }
        best
    }
}

/// Rounds weights to whole numbers of the given sum; `None` if that leaves nothing.
fn to_integers(own: &[(u32, f64)], sum: u32) -> Option<Vec<u32>> {
    let exact: Vec<f64> = own.iter().map(|i| i.1 * f64::from(sum)).collect();
    let mut out: Vec<u32> = exact.iter().map(|x| x.max(0.0).floor() as u32).collect();
    let left = sum.checked_sub(out.iter().sum())?;
    let mut order: Vec<usize> = (0..own.len()).collect();
    order.sort_by(|&a, &b| {
        let part = |k: usize| exact[k] - f64::from(out[k]);
        part(b).total_cmp(&part(a)).then(a.cmp(&b))
    });
    for k in 0..left as usize {
        out[order[k % order.len()]] += 1;
    }
    (sum >= 8).then_some(out)
}
