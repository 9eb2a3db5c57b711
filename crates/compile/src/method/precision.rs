//! Chooses the precision of positions from which normals are predicted. Coarser positions may cost more in
//! corrections of normals than they save: a first guess follows from the length of edges, and around it the
//! precision with the fewest bytes is searched.

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

/// Fraction of the normal tolerance by which positions may turn a triangle's normal; beyond it they cost more
/// in corrections of normals than they save. Measured on the corpus.
const TURN: f64 = 1.0;
/// Like [`TURN`], for meshes of many pieces, which mostly move rigidly, so that positions cost little.
const TURN_OF_PIECES: f64 = 0.25;
/// Positions are never made finer than this fraction of the diagonal over all frames for the sake of normals.
pub const LEAST_PART: f64 = 1.0 / (1 << 18) as f64;
/// The largest number of points × frames with trials: reading more for each trial takes too long.
pub const MOST_TRIED: usize = 1 << 22;
/// The number of trials expected for each mesh, for the displayed time left.
pub const TRIALS: u64 = 5;
/// Meshes of at least this many pieces use [`TURN_OF_PIECES`].
const PIECES: usize = 8;

/// The `--effort` of a trial; if less is requested, nothing is tried.
pub const WORK: u32 = 2;
/// The smallest and the largest error bound that is tried, as fractions of the guess.
const RANGE: [f64; 2] = [0.2, 3.0];
/// The smallest one for a mesh whose faces change, where the guess is just the tolerance.
const SMALLEST_OF_CHANGING: f64 = 0.05;
/// Significant bits of error bounds. A bound that follows from two tolerances differs in its last bits, and a
/// search that starts there can end elsewhere.
const SIGNIFICANT_BITS: u32 = 10;
/// Error bounds whose ratio is smaller than this count as equal.
const APART: f64 = 1.4;
/// A trial of a part of the frames whose bytes are within this ratio of the best is repeated with all frames.
const CLOSE: f64 = 1.1;
/// First digits of the tolerances that people usually request. These are tried, so that a request for a
/// larger tolerance gives what the smaller one would have given.
const DIGITS: [f64; 4] = [5.0, 3.0, 2.0, 1.0];
/// Meshes whose faces change are tried only if the tolerance is at least this fraction of their size.
const COARSE: f64 = 2e-3;
/// The ratio of the tolerance to the best error bound with normals from which on the user is told.
const WORTH_SAYING: f64 = 2.0;
/// The larger tolerance of normals, in degrees, whose effect is reported to the user.
const LARGER: f64 = 5.0;

/// The error bounds that positions of a mesh may have, in units of length.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// The largest: the mesh's tolerance.
    pub most: f64,
    /// The smallest that float32 can hold.
    pub least: f64,
    /// The one that is likely to take the fewest bytes.
    pub guess: f64,
    /// The error bound per unit of the tolerance as the user wrote it, in percent of the mesh's size or in
    /// units of length.
    pub per_asked: f64,
}

/// An error bound rounded down to [`SIGNIFICANT_BITS`].
pub fn rounded(radius: f64) -> f64 {
    f64::from_bits(radius.to_bits() & !((1 << (f64::MANTISSA_DIGITS - SIGNIFICANT_BITS)) - 1))
}

impl Allowed {
    /// Returns error bounds to try beside the guess, the finest first; they include those of all smaller
    /// tolerances that people usually request.
    fn tried(&self, is_changing: bool) -> Vec<f64> {
        let [mut low, high] = RANGE.map(|part| part * self.guess);
        if is_changing {
            low = SMALLEST_OF_CHANGING * self.guess;
        }
        let mut power = 10f64.powf((self.most / self.per_asked).log10().ceil());
        let mut out = Vec::new();
        while DIGITS[0] * power * self.per_asked > low && power.is_normal() {
            // With the same margin for rounding as the requested tolerance.
            out.extend(DIGITS.map(|digit| rounded(digit * power * self.per_asked)));
            power /= 10.0;
        }
        out.push(self.most);
        out.retain(|&r| r > low.max(self.least) && r < high && r <= self.most && r != self.guess);
        out.sort_by(f64::total_cmp);
        out.dedup_by(|a, b| *a < APART * *b);
        out
    }
}

/// Chooses the precision of positions that takes the fewest bytes, normals included.
pub fn choose_precision(
    plan: &mut MeshPlan<'_>,
    allowed: Allowed,
    schedule: Schedule,
    options: &Options,
) -> Result<(), Error> {
    let Allowed { most, guess, .. } = allowed;
    let fluid = plan.prepared.fixed.is_none();
    if !has_a_choice(plan, allowed, schedule, options) {
        return Ok(());
    }
    let decided = |bytes_larger, radius| NormalsDecide {
        finer: most / radius,
        degrees: options.normal_tolerance,
        larger: LARGER,
        part: bytes_larger,
        bytes_then: None,
    };
    if plan.prepared.points * schedule.frames() as usize > MOST_TRIED {
        plan.normals_decide = (most > guess * WORTH_SAYING && !fluid).then(|| decided(None, guess));
        return Ok(());
    }
    let search = plan.found.clone();
    let found = search.telling();
    search.work.trying("how fine normals want positions");
    let trials = Trials {
        schedule,
        options: Options { effort: WORK, strict: false, ..options.clone() },
        found: &found,
        weighs_all: false,
    };
    // A precision that fails is not taken; if the guess fails, its compile reports why.
    let Some(of_guess) = trials.bytes(plan, guess, false) else {
        return plan.refine(guess, false, options);
    };
    // Skins are not tried here: if one is better, the guess is good.
    if found.were_likely() {
        search.work.once_more();
        // Likely skins are mostly the best.
        search.work.trials(0);
        let skinned = skinned(plan, schedule, options, &search)?;
        search.work.settled();
        if skinned {
            plan.normals_decide = (most > guess * WORTH_SAYING).then(|| decided(None, guess));
            return Ok(());
        }
        search.work.trials(TRIALS - 1);
    }
    let best = trials.around_guess(plan, allowed, of_guess);
    let best = trials.with_stored_normals(plan, most, best);
    if most > best.radius * WORTH_SAYING && options.normal_tolerance < LARGER {
        let part = trials.at_larger_angle(plan, most).map(|then| then as f64 / best.bytes.max(1) as f64);
        plan.normals_decide = Some(decided(part, best.radius));
    }
    plan.refine(best.radius, best.normals_stored, options)
}

/// Returns `true` if a precision other than that of the tolerance may take fewer bytes: normals are predicted
/// from moving positions, and the tolerance is larger than these normals need.
fn has_a_choice(plan: &MeshPlan<'_>, allowed: Allowed, schedule: Schedule, options: &Options) -> bool {
    let prepared = &plan.prepared;
    let fluid = prepared.fixed.is_none();
    let predicted = prepared.normals != Normals::None && (fluid || prepared.normals_animated);
    if !predicted || !plan.streams[0].animated || options.effort < WORK || schedule.frames() < 3 {
        return false;
    }
    if options.transforms == TransformForm::Packed {
        // The readers of such a file want only parts; a failure to hold them does not depend on bytes.
        return false;
    }
    let Allowed { most, guess, .. } = allowed;
    if fluid {
        return most >= COARSE * crate::mesh::prepared::diagonal(prepared) && most >= guess;
    }
    most >= for_normals_of(plan, options.normal_tolerance).unwrap_or(guess)
}

/// A precision of positions that was tried, and the approximate bytes of the mesh with it.
#[derive(Clone, Copy)]
struct Trial {
    bytes: u64,
    /// The error bound of positions.
    radius: f64,
    /// `true` if normals are stored, not predicted from positions.
    normals_stored: bool,
}

/// Trials of the precision of positions of one mesh.
struct Trials<'t> {
    schedule: Schedule,
    /// The options of the compile, with less effort.
    options: Options,
    found: &'t SkinSearch<'t>,
    /// `true` if trials code all frames, not a part of them.
    weighs_all: bool,
}

impl Trials<'_> {
    /// Returns the approximate bytes of the mesh; `None` if they cannot be determined.
    fn bytes(&self, plan: &mut MeshPlan<'_>, radius: f64, normals_stored: bool) -> Option<u64> {
        let bytes = self.estimated(plan, radius, normals_stored);
        self.found.work.weighed();
        bytes
    }

    /// Lays the mesh out with this precision and estimates its bytes.
    fn estimated(&self, plan: &mut MeshPlan<'_>, radius: f64, normals_stored: bool) -> Option<u64> {
        let options = &self.options;
        plan.refine(radius, normals_stored, options).ok()?;
        let points = mesh_coder::mesh_points(plan);
        let frames = mesh_coder::mesh_frames(plan, points.as_ref());
        let coder =
            MeshCoder::new(plan, points.as_ref(), &frames, self.schedule, options, self.found).ok()?;
        let sample = match self.weighs_all {
            true => Sample::whole(coder.schedule()),
            false => Sample::new(plan.prepared.points, coder.schedule(), options.effort),
        };
        size(&coder, coder.schedule(), sample, options).ok()
    }

    /// Returns the best precision around the guess. If trials code only a part of the frames, the close ones
    /// are repeated with all frames.
    fn around_guess(&self, plan: &mut MeshPlan<'_>, allowed: Allowed, of_guess: u64) -> Trial {
        let is_changing = plan.prepared.fixed.is_none();
        let mut all = vec![Trial { bytes: of_guess, radius: allowed.guess, normals_stored: false }];
        // Bounds that float32 cannot hold, and those that exceed the memory, are left out.
        all.extend(allowed.tried(is_changing).into_iter().filter_map(|radius| {
            Some(Trial { bytes: self.bytes(plan, radius, false)?, radius, normals_stored: false })
        }));
        let smallest = |all: &[Trial]| all.iter().copied().min_by_key(|trial| trial.bytes).unwrap_or(all[0]);
        let best = smallest(&all);
        if Sample::new(plan.prepared.points, self.schedule, self.options.effort).whole {
            return best;
        }
        all.retain(|trial| trial.bytes as f64 <= CLOSE * best.bytes as f64);
        if all.len() < 2 {
            return best;
        }
        let whole = Trials { weighs_all: true, options: self.options.clone(), ..*self };
        for trial in &mut all {
            if let Some(bytes) = whole.bytes(plan, trial.radius, false) {
                trial.bytes = bytes;
            }
        }
        let chosen = smallest(&all);
        // Later comparisons are with trials of a part of the frames.
        Trial { bytes: best.bytes, ..chosen }
    }

    /// Returns the better one of `best` and positions as coarse as the tolerance allows, with stored normals.
    fn with_stored_normals(&self, plan: &mut MeshPlan<'_>, most: f64, best: Trial) -> Trial {
        // Tangents are made from points and uvs: beside coarse points they would take even more bytes.
        let fluid = plan.prepared.fixed.is_none();
        if most <= best.radius * WORTH_SAYING || fluid || plan.prepared.tangents {
            return best;
        }
        match self.bytes(plan, most, true) {
            Some(bytes) if bytes < best.bytes => Trial { bytes, radius: most, normals_stored: true },
            _ => best,
        }
    }

    /// Returns the approximate bytes of the mesh if the tolerance of normals were [`LARGER`].
    fn at_larger_angle(&self, plan: &mut MeshPlan<'_>, most: f64) -> Option<u64> {
        let options = Options { normal_tolerance: LARGER, ..self.options.clone() };
        let radius = for_normals_of(plan, LARGER).unwrap_or(most).min(most);
        Trials { options, ..*self }.bytes(plan, radius, false)
    }
}

/// Returns `true` if the mesh is smallest as skinned; seeks bones to find out.
fn skinned(
    plan: &mut MeshPlan<'_>,
    schedule: Schedule,
    options: &Options,
    found: &SkinSearch<'_>,
) -> Result<bool, Error> {
    plan.refine(plan.radius, false, options)?;
    let ladder = mesh_coder::ladder(options);
    let (points, own) = (mesh_coder::mesh_points(plan), ladder.last().unwrap_or(options));
    let frames = mesh_coder::mesh_frames(plan, points.as_ref());
    let coder = MeshCoder::new(plan, points.as_ref(), &frames, schedule, own, found);
    Ok(coder.is_ok_and(|coder| coder.method() == Method::Skinned))
}

fn for_normals_of(plan: &MeshPlan<'_>, degrees: f64) -> Option<f64> {
    for_normals(plan.prepared.fixed.as_ref()?, degrees)
}

/// Returns the error bound of positions at which the normals predicted from them are off by `degrees`; `None`
/// without edges.
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

/// Returns the number of connected pieces of triangles.
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
