//! The search that is ahead of a mesh, for the time left that is shown.

use crate::mesh::candidate::Candidate;
use crate::mesh::prepared::Normals;
use crate::meter::ExpectedWork;
use crate::method::{mesh_coder, precision, skin};
use meshreel_options::{MethodChoice, Options, Preset};

/// The work that is expected of a mesh; none for one that stands still.
pub fn expected_work(candidate: &Candidate<'_>, options: &Options) -> ExpectedWork {
    let (source, prepared) = (&candidate.source, &candidate.prepared);
    let frames = match (prepared.moving, source.moves) {
        (false, _) => 0,
        (true, Some([first, last])) => u64::from(last - first) + 1,
        (true, None) => source.frames as u64,
    };
    let ahead = ExpectedWork { points: prepared.points as u64, frames, ..ExpectedWork::default() };
    let (Some(fixed), 1.., false) =
        (&prepared.fixed, ahead.points * frames, options.preset == Preset::Classic)
    else {
        return ahead;
    };
    let predicted = prepared.normals != Normals::None && prepared.normals_animated;
    let blends = matches!(candidate.method, MethodChoice::Auto | MethodChoice::Skinned);
    let values = (ahead.points * frames) as usize;
    ExpectedWork {
        options: mesh_coder::tried(&mesh_coder::ladder(options), values).len() as u64,
        trials: if predicted && values <= precision::MOST_TRIED { precision::TRIALS } else { 0 },
        normals: predicted,
        tangents: predicted && prepared.tangents,
        bones: blends && options.effort >= skin::HASTY && fixed.grid.is_none(),
        ..ahead
    }
}
