//! Compresses clips as finely as the rigs that they move need them.

use crate::clip::Joints;
use crate::clip::choice::{ChosenClip, compress_clip, compress_clips};
use crate::clip::requested::RequestedClips;
use crate::rig::candidates::{BUDGETS, BuiltRig, EncodedRig, ROUNDS, RigCandidate};
use crate::{Error, Progress};
use meshreel_options::Options;
use meshreel_scene::{Clip, Remark};
use rayon::prelude::*;

/// If finer clips leave more than this fraction of an error, the clips are not its cause.
const MAX_HELPED_RATIO: f64 = 0.9;

/// Compresses all clips, and the rigs of `candidates` that hold with them; clips become finer where rigs need
/// it. Returns the clips in the order of `wanted`.
pub fn compress(
    wanted: &mut RequestedClips<'_>,
    candidates: &[RigCandidate<'_>],
    options: &Options,
    remarks: &mut Vec<Remark>,
    progress: &dyn Progress,
) -> Result<(Vec<ChosenClip>, Vec<EncodedRig>), Error> {
    let usual: Vec<Vec<Option<f64>>> =
        (wanted.skeletons.iter()).map(|own| own.skeleton.joints.iter().map(|j| j.shell).collect()).collect();
    let mut done = compress_clips(wanted, options, progress)?;
    let (rigs, mut errors) = build_rigs(wanted, candidates, options, remarks, &done)?;
    let finer = make_finer(wanted, &rigs, &mut errors, options, &mut done)?;
    let (made, given_up) = keep_rigs(wanted, (rigs, errors), &finer, options, remarks, &done)?;
    // Clips that no kept rig needs finer are compressed as requested.
    for (s, _) in given_up.iter().enumerate().filter(|(_, given_up)| **given_up) {
        let own = &mut wanted.skeletons[s];
        own.max_tolerance = f64::INFINITY;
        for (joint, shell) in own.skeleton.joints.iter_mut().zip(&usual[s]) {
            joint.shell = *shell;
        }
    }
    compress_again(wanted, &given_up, options, &mut done)?;
    Ok((done, made))
}

/// Builds the rigs that can be kept, and measures each with the current clips; adds remarks on the others.
fn build_rigs<'c>(
    wanted: &RequestedClips<'_>,
    candidates: &'c [RigCandidate<'_>],
    options: &Options,
    remarks: &mut Vec<Remark>,
    done: &[ChosenClip],
) -> Result<(Vec<BuiltRig<'c>>, Vec<f64>), Error> {
    let mut rigs = Vec::new();
    for candidate in candidates {
        let s = candidate.skeleton();
        let own = &wanted.skeletons[s];
        let clips = own_clips(wanted, s);
        if own.division.is_some() {
            remarks.push(candidate.left_out_remark("its clips are in layers, which it does not know"));
        } else if clips.is_empty() {
            remarks.push(candidate.left_out_remark("no clip of its skeleton is compiled"));
        } else {
            let clips: Vec<(usize, &Clip)> = clips.iter().map(|(_, n, c)| (*n, *c)).collect();
            let error = candidate.unexplained(&own.skeleton, &clips)?;
            if let Some(remark) = candidate.unexplained_remark(error) {
                remarks.push(remark);
                continue;
            }
            match coarsest_rig(wanted, candidate, options, done)? {
                Some(rig) => rigs.push(rig),
                None => remarks.push(candidate.left_out_remark("its bind pose cannot be kept so finely")),
            }
        }
    }
    Ok(rigs.into_iter().unzip())
}

/// Makes clips finer where rigs do not hold with them, as far as that helps, and updates the `errors` of the
/// rigs. Returns which skeletons are affected.
fn make_finer(
    wanted: &mut RequestedClips<'_>,
    rigs: &[BuiltRig<'_>],
    errors: &mut Vec<f64>,
    options: &Options,
    done: &mut [ChosenClip],
) -> Result<Vec<bool>, Error> {
    let demanding = tighten_to_demand(wanted, rigs, errors);
    // An error that finer clips hardly reduce is not caused by them.
    let mut before = errors.clone();
    match compress_again(wanted, &demanding, options, done) {
        Ok(()) if demanding.contains(&true) => *errors = measure_errors(wanted, rigs, done)?,
        // Clips cannot be so fine; the existing ones are measured.
        Ok(()) | Err(Error::Unsupported { .. }) => {}
        Err(other) => return Err(other),
    }
    for _ in 0..ROUNDS {
        let mut which = vec![false; wanted.skeletons.len()];
        for ((rig, &error), before) in rigs.iter().zip(&*errors).zip(&before) {
            if !rig.holds(error) && error < MAX_HELPED_RATIO * before {
                let s = rig.candidate().skeleton();
                let own = &mut wanted.skeletons[s];
                own.max_tolerance = own.max_tolerance.min(rig.needed_tolerance(own.max_tolerance, error));
                which[s] = true;
            }
        }
        if !which.contains(&true) {
            break;
        }
        match compress_again(wanted, &which, options, done) {
            Ok(()) => before = std::mem::replace(errors, measure_errors(wanted, rigs, done)?),
            // Clips cannot be so fine.
            Err(Error::Unsupported { .. }) => break,
            Err(other) => return Err(other),
        }
    }
    Ok(demanding)
}

/// Tightens tolerances and shell distances of skeletons whose clips, compressed for their metric, are too
/// coarse for a rig; returns which skeletons these are.
fn tighten_to_demand(wanted: &mut RequestedClips<'_>, rigs: &[BuiltRig<'_>], errors: &[f64]) -> Vec<bool> {
    let mut which = vec![false; wanted.skeletons.len()];
    for (rig, _) in (rigs.iter().zip(errors)).filter(|(rig, error)| !rig.holds(**error)) {
        let s = rig.candidate().skeleton();
        which[s] = true;
        let general = &wanted.options;
        let own = &mut wanted.skeletons[s];
        let shells = Joints::new(&own.skeleton, general.shell).shell;
        let shells: Vec<f64> = shells.into_iter().map(f64::from).collect();
        let demand = rig.candidate().demand(&shells, general.tolerance);
        own.max_tolerance = own.max_tolerance.min(demand.tolerance);
        let joints = own.skeleton.joints.iter_mut();
        for (joint, (shell, before)) in joints.zip(demand.shells.iter().zip(&shells)) {
            if shell > before {
                joint.shell = Some(*shell);
            }
        }
    }
    which
}

/// Finishes the rigs that hold, and adds remarks on the others; returns by skeleton whether only others
/// needed finer clips. `finer`: skeletons whose clips have become finer.
fn keep_rigs(
    wanted: &RequestedClips<'_>,
    (rigs, errors): (Vec<BuiltRig<'_>>, Vec<f64>),
    finer: &[bool],
    options: &Options,
    remarks: &mut Vec<Remark>,
    done: &[ChosenClip],
) -> Result<(Vec<EncodedRig>, Vec<bool>), Error> {
    let mut made = Vec::new();
    let mut held = vec![false; wanted.skeletons.len()];
    let mut given_up = vec![false; wanted.skeletons.len()];
    for (rig, error) in rigs.into_iter().zip(errors) {
        let s = rig.candidate().skeleton();
        if rig.holds(error) {
            held[s] = true;
            // Finer clips may leave the rig a larger budget than before.
            let again = match finer[s] {
                true => coarsest_rig(wanted, rig.candidate(), options, done)?,
                false => None,
            };
            let (rig, error) = match again {
                Some((coarse, error)) if coarse.holds(error) => (coarse, error),
                _ => (rig, error),
            };
            made.push(rig.finish(&own_clips(wanted, s), error)?);
        } else {
            given_up[s] = true;
            remarks.push(rig.tolerance_remark(error));
        }
    }
    let plain: Vec<bool> = (given_up.iter().zip(&held)).map(|(g, h)| *g && !h).collect();
    Ok((made, plain))
}

/// Returns the rig with the largest budget that holds with these clips, else with the smallest; and its
/// error.
fn coarsest_rig<'c>(
    wanted: &RequestedClips<'_>,
    candidate: &'c RigCandidate<'_>,
    options: &Options,
    done: &[ChosenClip],
) -> Result<Option<(BuiltRig<'c>, f64)>, Error> {
    let s = candidate.skeleton();
    let clips = own_clips(wanted, s);
    let clips: Vec<&Clip> = clips.iter().map(|(.., clip)| *clip).collect();
    let mut last = None;
    for budget in BUDGETS {
        let skeleton = &wanted.skeletons[s].skeleton;
        let Some(rig) = candidate.build(skeleton, &clips, budget, options)? else {
            break;
        };
        let rigs = [rig];
        let error = measure_errors(wanted, &rigs, done)?[0];
        let [rig] = rigs;
        let holds = rig.holds(error);
        last = Some((rig, error));
        if holds {
            break;
        }
    }
    Ok(last)
}

/// Returns the clips of a skeleton: number in the file, number in the source, and the clip.
fn own_clips<'w>(wanted: &'w RequestedClips<'_>, skeleton: usize) -> Vec<(usize, usize, &'w Clip)> {
    (wanted.clips.iter().zip(&wanted.scene_indices).enumerate())
        .filter(|(_, (clip, _))| clip.skeleton == skeleton)
        .map(|(own, (clip, number))| (own, *number, clip.as_ref()))
        .collect()
}

/// Compresses the clips of the skeletons marked in `which` again.
fn compress_again(
    wanted: &RequestedClips<'_>,
    which: &[bool],
    options: &Options,
    done: &mut [ChosenClip],
) -> Result<(), Error> {
    let all = wanted.clips.par_iter().zip(done.par_iter_mut());
    all.filter(|(clip, _)| which[clip.skeleton]).try_for_each(|(clip, done)| {
        *done = compress_clip(wanted, clip, options)?;
        Ok(())
    })
}

/// Returns the largest error of each rig over all clips of its skeleton, in units of length.
fn measure_errors(
    wanted: &RequestedClips<'_>,
    rigs: &[BuiltRig<'_>],
    done: &[ChosenClip],
) -> Result<Vec<f64>, Error> {
    let worst = |rig: &BuiltRig<'_>| {
        let s = rig.candidate().skeleton();
        let joints = Joints::new(&wanted.skeletons[s].skeleton, wanted.options.shell);
        let mut worst = 0.0f64;
        for (own, number, clip) in own_clips(wanted, s) {
            let error = rig.largest_error(&joints, (number, clip), &done[own])?;
            worst = if error <= worst { worst } else { error };
        }
        Ok(worst)
    };
    rigs.iter().map(worst).collect()
}
