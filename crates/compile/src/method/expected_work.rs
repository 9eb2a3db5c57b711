//! Estimates the search ahead of a mesh, for the displayed time left.

use crate::mesh::candidate::MeshCandidate;
use crate::mesh::prepared::NormalOrigin;
use crate::meter::{ExpectedSet, ExpectedWork};
use crate::method::{mesh_coder, precision, skin};
use meshreel_options::{MethodChoice, Options, Preset};
use meshreel_process::bones;
use std::sync::Arc;

// Tuning: nanoseconds of one core of an AMD EPYC, for a skinned creature with 3,000 and 12,000 points, a
// broken wall, captured bodies (horse, samba) and BrainStem. Only their ratios matter, since the speed of
// each kind of work is learned on the way.
/// Per point and frame: finding settings for its position, by `--effort`; the efforts of the ladder were
/// measured.
const POSITION: [u64; 9] = [100, 120, 120, 120, 200, 800, 1000, 1000, 2300];
/// Per point and frame: finding settings for its normal and its tangent, and coding them with its position to
/// compare options; hardly dependent on the effort.
const CHANNELS: [u64; 3] = [200, 900, 200];
/// The divisor of that if only one set of options is tried, so that nothing is coded.
const SINGLE_SET_DIVISOR: u64 = 4;
/// Per point and frame: coding position, normal and tangent in the end.
const FINAL_NANOSECONDS: [u64; 3] = [200, 300, 100];
/// Work of a skin within one division of the tolerance, relative to that of the settings of positions:
/// measured 1 to 3 times.
const SKIN: u64 = 2;
/// Per point and step of the search for bones, with 24 bones; 60 take twice as long.
const BONES: u64 = 20_000;

/// Returns the expected work on a mesh; empty for one that stands still.
pub fn expected_work(candidate: &MeshCandidate, options: &Arc<Options>) -> ExpectedWork {
    let (source, prepared) = (&candidate.source, &candidate.prepared);
    let frames = match (prepared.moving, source.moves) {
        (false, _) => 0,
        (true, Some([first, last])) => u64::from(last - first) + 1,
        (true, None) => source.frames as u64,
    };
    let points = prepared.points as u64;
    let values = points * frames;
    if values == 0 || options.preset == Preset::Classic {
        return ExpectedWork::default();
    }
    let fixed = prepared.fixed.as_ref();
    let predicted = prepared.normals != NormalOrigin::None && prepared.normals_animated && fixed.is_some();
    let there = [true, predicted, predicted && prepared.tangents];
    let sum =
        |of: [u64; 3]| -> u64 { there.iter().zip(of).map(|(&there, work)| u64::from(there) * work).sum() };
    let position = |effort: u32| POSITION[effort.clamp(1, 9) as usize - 1];
    let ladder = mesh_coder::effort_ladder(options);
    let tried = mesh_coder::tried_options(&ladder, values as usize);
    let channels = sum(CHANNELS) / if tried.len() > 1 { 1 } else { SINGLE_SET_DIVISOR };
    let set = |options: &Arc<Options>| {
        let (effort, divisions) = skin::expected_search(options.effort);
        ExpectedSet {
            // Changing faces have no settings.
            positions: if fixed.is_some() { values * position(options.effort) } else { 0 },
            channels: values * channels,
            skin: values * position(options.effort) * SKIN * divisions as u64,
            bones: BONES * bones::expected_steps(points as usize, frames as usize, effort) as u64,
            effort,
        }
    };
    let blends = matches!(candidate.method, MethodChoice::Auto | MethodChoice::Skinned);
    let skins = blends
        && options.effort >= skin::MIN_EFFORT_FOR_SKINS
        && fixed.is_some_and(|fixed| fixed.grid.is_none());
    let trials = if predicted && values as usize <= precision::MAX_TRIED_VALUES {
        precision::EXPECTED_TRIALS
    } else {
        0
    };
    ExpectedWork {
        trials,
        trial: values * (position(precision::TRIAL_EFFORT) + sum(CHANNELS)),
        // In the order in which they are tried: most work first.
        sets: tried.iter().rev().map(set).collect(),
        sought: f64::from(u8::from(skins)),
        coded: u64::from(skins),
        frames: values * sum(FINAL_NANOSECONDS),
    }
}
