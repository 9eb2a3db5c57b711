//! Which method a mesh gets: candidates are made, coded on a sample of their frames, and the smallest wins (E01, E07).

use super::{Made, Model, coder};
use crate::cells::{self, Coder, Frames};
use crate::encode::MeshPlan;
use crate::extract::{self, NONE, Trajectories};
use crate::{Error, MethodChoice, Options};
use meshreel_codec::record::Method;
use meshreel_codec::soft::encode::Source;
use meshreel_codec::soft::schedule::Schedule;
use rayon::prelude::*;

// Tuning.
/// Distance at which a point follows a part, of the diagonal; never more than so much of the tolerance.
const FOLLOWS: f64 = 1e-5;
const OF_TOLERANCE: f64 = 0.25;
/// Parts are worth a try where they have so much of the points, skins where parts leave so much.
const COVERED: f64 = 0.05;
const LEFT: f64 = 0.02;
/// Numbers of bones that are tried, by effort.
const BONES: [&[usize]; 9] = [
    &[],
    &[16],
    &[24],
    &[12, 26],
    &[12, 20, 28],
    &[12, 20, 28],
    &[8, 14, 20, 26, 32],
    &[8, 14, 20, 26, 32],
    &[6, 10, 14, 18, 22, 26, 30, 36],
];
/// Segments that a trial codes; all, where there are fewer groups than so many.
const SEGMENTS: [u32; 9] = [1, 1, 1, 2, 2, 2, 3, 4, 6];
const FEW: u32 = 8;

/// A method that was tried, for `--explain`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Its name, and what it found.
    pub what: String,
    /// About how many bytes positions would take, of all frames.
    pub bytes: u64,
    /// It was taken.
    pub taken: bool,
}

/// What a mesh is kept as: bones, where they are smaller or asked for. Also what was tried.
pub fn choose<'a>(
    plan: &MeshPlan<'_>,
    frames: &'a Frames<'a>,
    soft: &dyn Coder,
    schedule: Schedule,
    options: &Options,
) -> Result<(Option<Made<'a>>, Vec<Tried>), Error> {
    let mut tried = Vec::new();
    let asked = plan.asked;
    let wants = |method| asked == MethodChoice::Auto || asked == method;
    if !(wants(MethodChoice::Rigid) || wants(MethodChoice::Skinned)) || schedule.frames() < 3 {
        return Ok((None, tried));
    }
    let points = soft.order().len();
    let raw = points as u64 * u64::from(schedule.frames()) * 12;
    if raw > options.memory / 2 || points < 4 {
        return Ok((None, tried));
    }
    let all = trajectories(frames, points, schedule.frames())?;
    let mut best: Option<(u64, Option<Made<'a>>)> = None;
    let mut add = |what: String, made: Option<Made<'a>>, bytes: u64| {
        let taken = best.as_ref().is_none_or(|b| bytes < b.0);
        if taken {
            tried.iter_mut().for_each(|t: &mut Tried| t.taken = false);
            best = Some((bytes, made));
        }
        tried.push(Tried { what, bytes, taken });
    };
    if asked == MethodChoice::Auto {
        add("soft".into(), None, size(soft, schedule, options)?);
    }
    let Some(extent) = cells::extent(frames) else {
        return Ok((None, Vec::new()));
    };
    let (_, triangles) = cells::levels(frames);
    let mut left = 1.0;
    if wants(MethodChoice::Rigid) {
        let request = extract::Request {
            tolerance: (all.diagonal() * FOLLOWS).min(extent.radius * OF_TOLERANCE),
            groups: &[],
            triangles: &triangles,
        };
        let parts = extract::find(&all, &request);
        let without = parts.of.iter().filter(|&&part| part == NONE).count();
        left = without as f64 / points as f64;
        if 1.0 - left > COVERED || asked == MethodChoice::Rigid {
            let model = Model::of_parts(&all, &parts);
            if let Some(made) = make(&model, frames, &all, schedule, options)? {
                let bytes = size(&*made.coder, schedule, options)?;
                let what = format!("rigid: {} parts, {without} points without", parts.len() - 1);
                add(what, Some(made), bytes);
            }
        }
    }
    if wants(MethodChoice::Skinned) && (left > LEFT || asked == MethodChoice::Skinned) {
        let effort = usize::from(options.effort.clamp(1, 9) as u8) - 1;
        let skins: Vec<_> = (BONES[effort].par_iter())
            .filter_map(|&bones| {
                let request = extract::skin::Request::new(bones, extent.radius);
                Some((bones, extract::skin::find(&all, &request)?))
            })
            .collect();
        for (bones, skin) in skins {
            if let Some(made) = make(&Model::of_skin(&skin), frames, &all, schedule, options)? {
                let bytes = size(&*made.coder, schedule, options)?;
                let what = format!("skinned: {bones} bones, {} points with residual", made.bones.coded);
                add(what, Some(made), bytes);
            }
        }
    }
    Ok((best.and_then(|b| b.1), tried))
}

fn make<'a>(
    model: &Model,
    frames: &'a Frames<'a>,
    all: &Trajectories,
    schedule: Schedule,
    options: &Options,
) -> Result<Option<Made<'a>>, Error> {
    match model.bones() {
        0 => Ok(None),
        n if n > meshreel_codec::skin::MOST_BONES as usize => Ok(None),
        _ => coder(model, frames, all, schedule, options),
    }
}

impl Made<'_> {
    /// As the file says.
    pub fn method(&self) -> Method {
        match self.blends || self.bones.affine > 0 {
            true => Method::Skinned,
            false => Method::Rigid,
        }
    }
}

fn trajectories(frames: &Frames<'_>, points: usize, count: u32) -> Result<Trajectories, Error> {
    let mut positions = vec![[0.0f32; 3]; points * count as usize];
    (positions.par_chunks_mut(points).enumerate())
        .for_each(|(frame, out)| frames.positions(frame as u32, out));
    frames.check()?;
    Ok(Trajectories::new(points, positions))
}

/// About how many bytes a coder takes: what is stored once, and a sample of segments and their groups.
fn size(coder: &dyn Coder, schedule: Schedule, options: &Options) -> Result<u64, Error> {
    let (segments, groups) = (schedule.segments(), schedule.groups());
    let effort = options.effort.clamp(1, 9) as usize - 1;
    let count = match groups <= FEW {
        true => segments,
        false => SEGMENTS[effort].min(segments),
    };
    let chosen: Vec<u32> = (0..count).map(|i| (2 * i + 1) * segments / (2 * count)).collect();
    let mut keys = 0u64;
    let mut needed: Vec<u32> = Vec::new();
    for &s in &chosen {
        needed.extend([s.saturating_sub(1), s, (s + 1).min(segments - 1)]);
    }
    needed.sort_unstable();
    needed.dedup();
    let coded: Vec<u64> = (needed.par_iter())
        .map(|&s| {
            let keys = coder.segment(s, false)?.keys;
            let bytes: usize = keys.iter().map(|k| k.1.len()).sum();
            Ok(if chosen.contains(&s) { bytes as u64 } else { 0 })
        })
        .collect::<Result<_, Error>>()?;
    keys += coded.iter().sum::<u64>();
    let restart = schedule.restart();
    let list: Vec<u32> = (chosen.iter())
        .flat_map(|&s| s * restart..((s + 1) * restart).min(groups))
        .collect();
    let of_groups: u64 = (list.par_iter())
        .map(|&g| {
            let [a, b] = coder.group(g, false)?.units;
            Ok((a.len() + b.len()) as u64)
        })
        .collect::<Result<Vec<u64>, Error>>()?
        .iter()
        .sum();
    coder.forget(u32::MAX);
    let sampled = list.len().max(1) as u64;
    Ok(coder.static_bytes().len() as u64 + (keys + of_groups) * u64::from(groups.max(1)) / sampled)
}
