//! Clips as fine as the rigs that they move ask for.

use crate::clip::Joints;
use crate::clip::choice::{Chosen, choose};
use crate::clip::wanted::Wanted;
use crate::rig::candidates::{Built, Candidate, Made, ROUNDS, SHARES};
use crate::{Error, Phase, Progress};
use meshreel_options::Options;
use meshreel_scene::{Clip, Remark};
use rayon::prelude::*;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// An error that is larger than this part of what it was before has another reason.
const HELPED: f64 = 0.9;

/// Compresses all clips, and the rigs of `candidates` that hold with them.
pub fn compress(
    wanted: &mut Wanted<'_>,
    candidates: &[Candidate<'_>],
    options: &Options,
    remarks: &mut Vec<Remark>,
    progress: &dyn Progress,
) -> Result<(Vec<Chosen>, Vec<Made>), Error> {
    let usual: Vec<Vec<Option<f64>>> =
        (wanted.skeletons.iter()).map(|own| own.skeleton.joints.iter().map(|j| j.shell).collect()).collect();
    let mut done: Vec<Option<Chosen>> = wanted.clips.iter().map(|_| None).collect();
    let all = vec![true; wanted.skeletons.len()];
    again(wanted, &all, options, Some(progress), &mut done)?;
    let mut rigs = Vec::new();
    for candidate in candidates {
        let s = candidate.skeleton();
        let own = &wanted.skeletons[s];
        if own.division.is_some() {
            remarks.push(candidate.left_out("its clips are in layers, which it does not know"));
        } else if own_clips(wanted, s).is_empty() {
            remarks.push(candidate.left_out("no clip of its skeleton is compiled"));
        } else {
            let clips = own_clips(wanted, s);
            let clips: Vec<(usize, &Clip)> = clips.iter().map(|(_, n, c)| (*n, *c)).collect();
            let error = candidate.unexplained(&own.skeleton, &clips)?;
            if let Some(remark) = candidate.other(error) {
                remarks.push(remark);
                continue;
            }
            match coarsest(wanted, candidate, options, &done)? {
                Some(rig) => rigs.push(rig),
                None => remarks.push(candidate.left_out("its bind pose cannot be kept so finely")),
            }
        }
    }
    let mut errors: Vec<f64> = rigs.iter().map(|(_, error)| *error).collect();
    let rigs: Vec<Built<'_>> = rigs.into_iter().map(|(rig, _)| rig).collect();
    // Clips as fine as the metric wants them do not do for these.
    let mut which = vec![false; wanted.skeletons.len()];
    for (rig, _) in (rigs.iter().zip(&errors)).filter(|(rig, error)| !rig.holds(**error)) {
        let s = rig.candidate().skeleton();
        which[s] = true;
        let general = &wanted.options;
        let own = &mut wanted.skeletons[s];
        let shells = Joints::new(&own.skeleton, general.shell).shell;
        let shells: Vec<f64> = shells.into_iter().map(f64::from).collect();
        let demand = rig.candidate().demand(&shells, general.tolerance);
        own.most = own.most.min(demand.tolerance);
        let joints = own.skeleton.joints.iter_mut();
        for (joint, (shell, before)) in joints.zip(demand.shells.iter().zip(&shells)) {
            if shell > before {
                joint.shell = Some(*shell);
            }
        }
    }
    // What finer clips have not helped much is not theirs.
    let mut before = errors.clone();
    match again(wanted, &which, options, None, &mut done) {
        Ok(()) if which.contains(&true) => errors = measured(wanted, &rigs, &done)?,
        // Clips cannot be so fine; what is there is measured.
        Ok(()) | Err(Error::Unsupported { .. }) => {}
        Err(other) => return Err(other),
    }
    let finer = which.clone();
    for _ in 0..ROUNDS {
        let mut which = vec![false; wanted.skeletons.len()];
        for ((rig, &error), before) in rigs.iter().zip(&errors).zip(&before) {
            if !rig.holds(error) && error < HELPED * before {
                let s = rig.candidate().skeleton();
                let own = &mut wanted.skeletons[s];
                own.most = own.most.min(rig.finer(own.most, error));
                which[s] = true;
            }
        }
        if !which.contains(&true) {
            break;
        }
        match again(wanted, &which, options, None, &mut done) {
            Ok(()) => before = std::mem::replace(&mut errors, measured(wanted, &rigs, &done)?),
            // Finer than clips can be.
            Err(Error::Unsupported { .. }) => break,
            Err(other) => return Err(other),
        }
    }
    let mut made = Vec::new();
    let mut held = vec![false; wanted.skeletons.len()];
    let mut given_up = vec![false; wanted.skeletons.len()];
    for (rig, error) in rigs.into_iter().zip(errors) {
        let s = rig.candidate().skeleton();
        if rig.holds(error) {
            held[s] = true;
            // Finer clips may leave it more than they did before.
            let again = match finer[s] {
                true => coarsest(wanted, rig.candidate(), options, &done)?,
                false => None,
            };
            let (rig, error) = match again {
                Some((coarse, error)) if coarse.holds(error) => (coarse, error),
                _ => (rig, error),
            };
            made.push(rig.finish(&own_clips(wanted, s), error)?);
        } else {
            given_up[s] = true;
            remarks.push(rig.remark(error));
        }
    }
    // What no rig asks for in the end is as it would have been.
    let plain: Vec<bool> = (given_up.iter().zip(&held)).map(|(g, h)| *g && !h).collect();
    for (s, _) in plain.iter().enumerate().filter(|(_, plain)| **plain) {
        let own = &mut wanted.skeletons[s];
        own.most = f64::INFINITY;
        for (joint, shell) in own.skeleton.joints.iter_mut().zip(&usual[s]) {
            joint.shell = *shell;
        }
    }
    again(wanted, &plain, options, None, &mut done)?;
    let done = done.into_iter().collect::<Option<Vec<_>>>();
    Ok((done.ok_or_else(|| Error::misuse("a clip without a codec"))?, made))
}

/// The rig with the largest shares that hold with these clips, else with the smallest; and its error.
fn coarsest<'c>(
    wanted: &Wanted<'_>,
    candidate: &'c Candidate<'_>,
    options: &Options,
    done: &[Option<Chosen>],
) -> Result<Option<(Built<'c>, f64)>, Error> {
    let s = candidate.skeleton();
    let clips = own_clips(wanted, s);
    let clips: Vec<&Clip> = clips.iter().map(|(.., clip)| *clip).collect();
    let mut last = None;
    for shares in SHARES {
        let skeleton = &wanted.skeletons[s].skeleton;
        let Some(rig) = candidate.build(skeleton, &clips, shares, options)? else {
            break;
        };
        let rigs = [rig];
        let error = measured(wanted, &rigs, done)?[0];
        let [rig] = rigs;
        let holds = rig.holds(error);
        last = Some((rig, error));
        if holds {
            break;
        }
    }
    Ok(last)
}

/// Clips of a skeleton: number in the file, number in the source, and the clip.
fn own_clips<'w>(wanted: &'w Wanted<'_>, skeleton: usize) -> Vec<(usize, usize, &'w Clip)> {
    (wanted.clips.iter().zip(&wanted.numbers).enumerate())
        .filter(|(_, (clip, _))| clip.skeleton == skeleton)
        .map(|(own, (clip, number))| (own, *number, clip.as_ref()))
        .collect()
}

/// Compresses the clips of some skeletons.
fn again(
    wanted: &Wanted<'_>,
    which: &[bool],
    options: &Options,
    progress: Option<&dyn Progress>,
    done: &mut [Option<Chosen>],
) -> Result<(), Error> {
    let count = AtomicU64::new(0);
    let total = wanted.clips.len() as u64;
    (wanted.clips.par_iter().zip(done.par_iter_mut())).filter(|(clip, _)| which[clip.skeleton]).try_for_each(
        |(clip, done)| {
            let skeleton = &wanted.skeletons[clip.skeleton];
            let own = wanted.options_of(clip.skeleton);
            *done = Some(choose(skeleton, clip, &own, options)?);
            if let Some(progress) = progress {
                progress.update(Phase::Encode, count.fetch_add(1, Relaxed) + 1, total);
            }
            Ok(())
        },
    )
}

/// Largest error of each rig.
fn measured(wanted: &Wanted<'_>, rigs: &[Built<'_>], done: &[Option<Chosen>]) -> Result<Vec<f64>, Error> {
    let worst = |rig: &Built<'_>| {
        let s = rig.candidate().skeleton();
        let joints = Joints::new(&wanted.skeletons[s].skeleton, wanted.options.shell);
        let mut worst = 0.0f64;
        for (own, number, clip) in own_clips(wanted, s) {
            if let Some(done) = &done[own] {
                let error = rig.measure(&joints, (number, clip), done)?;
                worst = if error <= worst { worst } else { error };
            }
        }
        Ok(worst)
    };
    rigs.iter().map(worst).collect()
}
