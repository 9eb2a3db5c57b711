//! How fine positions are kept where normals are predicted from them. Coarser ones may cost more in
//! corrections of normals than they save: a first guess follows from the length of edges, and around it what
//! takes the fewest bytes is sought.

use crate::Error;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::{Fixed, Normals};
use crate::mesh::skin_search::SkinSearch;
use crate::method::estimate::{Sample, size};
use crate::method::mesh_coder::{self, MeshCoder};
use crate::report::NormalsDecide;
use glam::Vec3;
use meshreel_codec::record::Method;
use meshreel_codec::schedule::Schedule;
use meshreel_options::{Options, TransformForm};
use std::collections::HashSet;

/// Positions that turn a triangle's normal by more than this part of what it may be turned cost more in
/// corrections of normals than they save; measured on the corpus.
const TURN: f64 = 1.0;
/// Like [`TURN`], of meshes of many pieces, which mostly move as they are, so that positions cost little.
const TURN_OF_PIECES: f64 = 0.25;
/// … and never finer than this part of the diagonal over all frames.
pub const LEAST_PART: f64 = 1.0 / (1 << 18) as f64;
/// With more points × frames than this nothing is tried: reading them all for each trial takes longer than it
/// is worth.
const MOST_TRIED: usize = 1 << 22;
/// Trials that are expected.
pub const TRIALS: u64 = 5;
/// Meshes of at least so many pieces have [`TURN_OF_PIECES`].
const PIECES: usize = 8;

/// Trials do so much work, and there are none where less is asked for.
const WORK: u32 = 2;
/// Around the guess so far is looked, unless what was tried on the way takes so many times the bytes of the
/// best.
const RANGE: [f64; 2] = [0.2, 3.0];
/// Candidates for the error bound whose ratio is smaller than this count as one.
const APART: f64 = 1.4;
const HOPELESS: f64 = 1.03;
/// Digits of the tolerances that people ask for. They are what is tried, so that who asks for a larger one
/// gets what the smaller would have given.
const DIGITS: [f64; 4] = [5.0, 3.0, 2.0, 1.0];
/// Meshes whose faces change are tried only where at least this part of the diagonal is allowed.
const COARSE: f64 = 2e-3;
/// What is allowed beyond so many times what is best for normals is said, and for which larger angle it would
/// be different.
const WORTH_SAYING: f64 = 2.0;
const LARGER: f64 = 5.0;

/// How far positions of a mesh may be off.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// By its tolerance.
    pub most: f64,
    /// By what float32 holds.
    pub least: f64,
    /// What is likely to take the fewest bytes.
    pub guess: f64,
    /// The number that was asked for, in percent of the diagonal or in units, which gave `most`.
    pub asked: f64,
}

impl Allowed {
    /// What is worth trying beside the guess, the finest first.
    fn tried(&self) -> Vec<f64> {
        let [low, high] = RANGE.map(|part| part * self.guess);
        let mut power = 10f64.powf(self.asked.log10().ceil());
        let mut out = Vec::new();
        while DIGITS[0] * power * self.most > low * self.asked && power.is_normal() {
            for digit in DIGITS {
                // In the same room for rounding as what was asked for.
                out.push(digit * power * self.most / self.asked);
            }
            power /= 10.0;
        }
        out.push(self.most);
        out.retain(|&r| r > low.max(self.least) && r < high && r <= self.most && r != self.guess);
        out.sort_by(f64::total_cmp);
        out.dedup_by(|a, b| *a < APART * *b);
        out
    }
}

/// Makes positions as fine as takes the fewest bytes, normals included.
pub fn choose(
    plan: &mut MeshPlan<'_>,
    allowed: Allowed,
    schedule: Schedule,
    options: &Options,
) -> Result<(), Error> {
    let prepared = &plan.prepared;
    let fluid = prepared.fixed.is_none();
    let predicted = prepared.normals != Normals::None && (fluid || prepared.normals_animated);
    if !predicted || !plan.streams[0].animated || options.effort < WORK || schedule.frames() < 3 {
        return Ok(());
    }
    if options.transforms == TransformForm::Packed {
        // Whoever reads these wants parts alone; what they cannot hold is no matter of bytes.
        return Ok(());
    }
    let trials = Options { effort: WORK, strict: false, ..options.clone() };
    let Allowed { most, guess, .. } = allowed;
    let finest = match fluid {
        true if most < COARSE * crate::mesh::prepared::diagonal(prepared) => return Ok(()),
        true => guess,
        false => for_normals_of(plan, options.normal_tolerance).unwrap_or(guess),
    };
    if most < finest {
        return Ok(());
    }
    let decide = |part, radius| NormalsDecide {
        finer: most / radius,
        degrees: options.normal_tolerance,
        larger: LARGER,
        part,
    };
    if prepared.points * schedule.frames() as usize > MOST_TRIED {
        plan.normals_decide = (most > guess * WORTH_SAYING && !fluid).then(|| decide(None, guess));
        return Ok(());
    }
    let real = plan.found.clone();
    let (share, found) = (&real.share, real.telling());
    share.trying("how fine normals want positions");
    let bytes_with = |plan: &mut MeshPlan<'_>, radius, stored, trials: &Options| {
        let bytes = bytes_with(plan, radius, stored, schedule, trials, &found);
        share.weighed();
        bytes
    };
    // What cannot be tried is not taken; if that is so of the guess, whoever compiles it says why.
    let Some(of_guess) = bytes_with(plan, guess, false, &trials) else {
        return plan.refine(guess, false, options);
    };
    // A trial knows nothing of skins: where one is better, the guess is good.
    if found.wanted() && skinned(plan, schedule, options, &real)? {
        plan.normals_decide = (most > guess * WORTH_SAYING).then(|| decide(None, guess));
        return Ok(());
    }
    let mut best = (of_guess, guess, false);
    let (finer, coarser): (Vec<f64>, Vec<f64>) = allowed.tried().into_iter().partition(|&r| r < guess);
    let mut walk = |list: &mut dyn Iterator<Item = f64>, mut luck: bool| {
        for radius in list {
            let Some(bytes) = bytes_with(plan, radius, false, &trials) else {
                break;
            };
            if bytes < best.0 {
                best = (bytes, radius, false);
            } else if bytes as f64 > HOPELESS * best.0 as f64 && !std::mem::take(&mut luck) {
                break;
            }
        }
    };
    walk(&mut coarser.into_iter(), false);
    // One that is worse may be bad luck.
    walk(&mut finer.into_iter().rev(), true);
    // Tangents are made from points and uvs: beside coarse ones they would take all the more.
    if most > best.1 * WORTH_SAYING && !fluid && !plan.prepared.tangents {
        let stored = bytes_with(plan, most, true, &trials);
        best = stored.map_or(best, |bytes| match bytes < best.0 {
            true => (bytes, most, true),
            false => best,
        });
    }
    let (bytes, radius, stored) = best;
    if most > radius * WORTH_SAYING && options.normal_tolerance < LARGER {
        let larger = Options { normal_tolerance: LARGER, ..trials };
        let radius_then = for_normals_of(plan, LARGER).unwrap_or(most).min(most);
        let then = bytes_with(plan, radius_then, false, &larger);
        let part = then.map(|then| then as f64 / bytes.max(1) as f64);
        plan.normals_decide = Some(decide(part, radius));
    }
    plan.refine(radius, stored, options)
}

/// Whether bones that blend are better than parts and points; they are sought.
fn skinned(
    plan: &mut MeshPlan<'_>,
    schedule: Schedule,
    options: &Options,
    found: &SkinSearch<'_>,
) -> Result<bool, Error> {
    plan.refine(plan.radius, false, options)?;
    let ladder = mesh_coder::ladder(options);
    let (points, own) = (mesh_coder::points(plan), ladder.last().unwrap_or(options));
    let frames = mesh_coder::frames(plan, points.as_ref());
    let coder = MeshCoder::new(plan, points.as_ref(), &frames, schedule, own, found);
    Ok(coder.is_ok_and(|coder| coder.method() == Method::Skinned))
}

/// About how many bytes the mesh takes; none where that cannot be told.
fn bytes_with(
    plan: &mut MeshPlan<'_>,
    radius: f64,
    normals_stored: bool,
    schedule: Schedule,
    options: &Options,
    found: &SkinSearch<'_>,
) -> Option<u64> {
    plan.refine(radius, normals_stored, options).ok()?;
    let points = mesh_coder::points(plan);
    let frames = mesh_coder::frames(plan, points.as_ref());
    let coder = MeshCoder::new(plan, points.as_ref(), &frames, schedule, options, found).ok()?;
    let sample = Sample::new(plan.prepared.points, coder.schedule(), options.effort);
    size(&coder, coder.schedule(), sample, options).ok()
}

fn for_normals_of(plan: &MeshPlan<'_>, degrees: f64) -> Option<f64> {
    for_normals(plan.prepared.fixed.as_ref()?, degrees)
}

/// How far positions may be off before the normals that are predicted from them are.
pub fn for_normals(fixed: &Fixed, degrees: f64) -> Option<f64> {
    let point = |v: u32| Vec3::from(fixed.first_points[fixed.vertex_point[v as usize] as usize]);
    let (triangles, _) = fixed.indices.as_chunks::<3>();
    let edges = triangles.iter().flat_map(|&[a, b, c]| [[a, b], [b, c], [c, a]]);
    let mut lengths: Vec<f32> =
        edges.map(|[a, b]| point(a).distance(point(b))).filter(|length| length.is_normal()).collect();
    let middle = lengths.len() / 2;
    let (_, length, _) =
        (!lengths.is_empty()).then(|| lengths.select_nth_unstable_by(middle, f32::total_cmp))?;
    let count = fixed.first_points.len() as u32;
    let joined = triangles.iter().map(|t| t.map(|v| fixed.vertex_point[v as usize]));
    let turn = match pieces(count, joined) < PIECES {
        true => TURN,
        false => TURN_OF_PIECES,
    };
    Some(turn * degrees.to_radians() * f64::from(*length))
}

/// Pieces of several points that triangles of points make.
fn pieces(points: u32, triangles: impl Iterator<Item = [u32; 3]>) -> usize {
    fn root(above: &mut [u32], mut p: u32) -> u32 {
        while above[p as usize] != p {
            above[p as usize] = above[above[p as usize] as usize];
            p = above[p as usize];
        }
        p
    }
    let mut above: Vec<u32> = (0..points).collect();
    let mut used = vec![false; points as usize];
    for [a, b, c] in triangles {
        for other in [b, c] {
            let (to, from) = (root(&mut above, a), root(&mut above, other));
            above[from as usize] = to;
        }
        used[a as usize] = true;
    }
    (0..points).filter(|&p| used[p as usize]).map(|p| root(&mut above, p)).collect::<HashSet<_>>().len()
}
