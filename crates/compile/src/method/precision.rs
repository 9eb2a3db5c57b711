//! Chooses the precision of positions from which normals are predicted. Coarser positions may cost more in
//! corrections of normals than they save: a first guess follows from the length of edges, and around it the
//! precision with the fewest bytes is searched.

use crate::Error;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::{FixedLayout, NormalOrigin};
use crate::mesh::skin_search::SkinSearch;
use crate::method::estimate::{SegmentSample, estimate_size};
use crate::method::mesh_coder::{self, CoderInput, MeshCoder};
use crate::report::NormalPrecision;
use glam::Vec3;
use meshreel_codec::record::Method;
use meshreel_codec::schedule::Schedule;
use meshreel_options::{Options, TransformForm};
use std::collections::HashSet;
use std::sync::Arc;

/// Fraction of the normal tolerance by which positions may turn a triangle's normal; beyond it they cost more
/// in corrections of normals than they save. Measured on the corpus.
const MAX_TURN_FRACTION: f64 = 1.0;
/// Like [`MAX_TURN_FRACTION`], for meshes of many pieces, which mostly move rigidly, so that positions cost
/// little.
const MAX_TURN_FRACTION_OF_COMPONENTS: f64 = 0.25;
/// Positions are never made finer than this fraction of the diagonal over all frames for the sake of normals.
pub const MIN_DIAGONAL_FRACTION: f64 = 1.0 / (1 << 18) as f64;
/// The largest number of points × frames with trials: reading more for each trial takes too long.
pub const MAX_TRIED_VALUES: usize = 1 << 22;
/// Meshes of at least this many pieces use [`MAX_TURN_FRACTION_OF_COMPONENTS`].
const MIN_COMPONENTS: usize = 8;

/// The `--effort` of a trial; if less is requested, nothing is tried.
pub const TRIAL_EFFORT: u32 = 2;
/// The smallest and the largest error bound that is tried, as fractions of the guess.
const TRIED_RANGE: [f64; 2] = [0.2, 3.0];
/// The smallest one for a mesh whose faces change, where the guess is just the tolerance.
const MIN_CHANGING_FRACTION: f64 = 0.05;
/// Significant bits of error bounds. A bound that follows from two tolerances differs in its last bits, and a
/// search that starts there can end elsewhere.
const SIGNIFICANT_BITS: u32 = 10;
/// Error bounds whose ratio is smaller than this count as equal.
const MIN_BOUND_RATIO: f64 = 1.4;
/// A trial of a part of the frames whose bytes are within this ratio of the best is repeated with all frames.
const CLOSE_RATIO: f64 = 1.1;
/// First digits of the tolerances that people usually request. These are tried, so that a request for a
/// larger tolerance gives what the smaller one would have given.
const USUAL_DIGITS: [f64; 4] = [5.0, 3.0, 2.0, 1.0];
/// Meshes whose faces change are tried only if the tolerance is at least this fraction of their size.
const MIN_CHANGING_TOLERANCE: f64 = 2e-3;
/// The ratio of the tolerance to the best error bound with normals from which on the user is told.
const MIN_REMARK_RATIO: f64 = 2.0;
/// The larger tolerance of normals, in degrees, whose effect is reported to the user.
const LARGER_NORMAL_TOLERANCE: f64 = 5.0;

/// The error bounds that positions of a mesh may have, in units of length.
#[derive(Clone, Copy, Debug)]
pub struct AllowedErrorBounds {
    /// The largest: the mesh's tolerance.
    pub largest: f64,
    /// The smallest that float32 can hold.
    pub smallest: f64,
    /// The one that is likely to take the fewest bytes.
    pub guess: f64,
    /// The error bound per unit of the tolerance as the user wrote it, in percent of the mesh's size or in
    /// units of length.
    pub per_requested_unit: f64,
}

/// An error bound rounded down to [`SIGNIFICANT_BITS`].
pub fn round_error_bound(radius: f64) -> f64 {
    f64::from_bits(radius.to_bits() & !((1 << (f64::MANTISSA_DIGITS - SIGNIFICANT_BITS)) - 1))
}

impl AllowedErrorBounds {
    /// Returns error bounds to try beside the guess, the finest first; they include those of all smaller
    /// tolerances that people usually request.
    fn candidates(&self, is_changing: bool) -> Vec<f64> {
        let [mut low, high] = TRIED_RANGE.map(|part| part * self.guess);
        if is_changing {
            low = MIN_CHANGING_FRACTION * self.guess;
        }
        let mut power = 10f64.powf((self.largest / self.per_requested_unit).log10().ceil());
        let mut out = Vec::new();
        while USUAL_DIGITS[0] * power * self.per_requested_unit > low && power.is_normal() {
            // With the same margin for rounding as the requested tolerance.
            out.extend(USUAL_DIGITS.map(|digit| round_error_bound(digit * power * self.per_requested_unit)));
            power /= 10.0;
        }
        out.push(self.largest);
        out.retain(|&r| r > low.max(self.smallest) && r < high && r <= self.largest && r != self.guess);
        out.sort_by(f64::total_cmp);
        out.dedup_by(|a, b| *a < MIN_BOUND_RATIO * *b);
        out
    }
}

/// Chooses the precision of positions that takes the fewest bytes, normals included.
pub fn choose_precision(
    plan: &mut Arc<MeshPlan>,
    allowed: AllowedErrorBounds,
    schedule: Schedule,
    options: &Arc<Options>,
) -> Result<(), Error> {
    let work = plan.skin_search.work.clone();
    if !has_a_choice(plan, allowed, schedule, options) {
        work.skip_set();
        return Ok(());
    }
    let chosen = choose_by_trials(plan, allowed, schedule, options);
    work.count_set();
    chosen
}

/// Chooses the precision by trials, unless the mesh is too large for them.
fn choose_by_trials(
    plan: &mut Arc<MeshPlan>,
    allowed: AllowedErrorBounds,
    schedule: Schedule,
    options: &Arc<Options>,
) -> Result<(), Error> {
    let AllowedErrorBounds { largest: most, guess, .. } = allowed;
    let fluid = plan.prepared.fixed.is_none();
    let decided = |bytes_larger, radius| NormalPrecision {
        finer: most / radius,
        degrees: options.normal_tolerance,
        larger: LARGER_NORMAL_TOLERANCE,
        estimated_fraction: bytes_larger,
        bytes_then: None,
    };
    if plan.prepared.scan.points * schedule.frames() as usize > MAX_TRIED_VALUES {
        Arc::make_mut(plan).normal_precision =
            (most > guess * MIN_REMARK_RATIO && !fluid).then(|| decided(None, guess));
        return Ok(());
    }
    let search = plan.skin_search.clone();
    let found = search.for_trials();
    search.work.trying("how fine normals want positions");
    let trials = PrecisionTrials {
        schedule,
        options: Arc::new(Options { effort: TRIAL_EFFORT, strict: false, ..Options::clone(options) }),
        skin_search: &found,
        codes_all_frames: false,
    };
    // A precision that fails is not taken; if the guess fails, its compile reports why.
    let Some(of_guess) = trials.bytes(plan, guess, false) else {
        return Arc::make_mut(plan).requantize(guess, false, options);
    };
    // Skins are not tried here: if one is better, the guess is good.
    if found.were_likely() && is_smallest_skinned(plan, schedule, options, &search)? {
        Arc::make_mut(plan).normal_precision =
            (most > guess * MIN_REMARK_RATIO).then(|| decided(None, guess));
        return Ok(());
    }
    let best = trials.around_guess(plan, allowed, of_guess);
    let best = trials.with_explicit_normals(plan, most, best);
    if most > best.error_bound * MIN_REMARK_RATIO && options.normal_tolerance < LARGER_NORMAL_TOLERANCE {
        let part = trials.at_larger_angle(plan, most).map(|then| then as f64 / best.bytes.max(1) as f64);
        Arc::make_mut(plan).normal_precision = Some(decided(part, best.error_bound));
    }
    Arc::make_mut(plan).requantize(best.error_bound, best.explicit_normals, options)
}

/// Returns `true` if a precision other than that of the tolerance may take fewer bytes: normals are predicted
/// from moving positions, and the tolerance is larger than these normals need.
fn has_a_choice(plan: &MeshPlan, allowed: AllowedErrorBounds, schedule: Schedule, options: &Options) -> bool {
    let prepared = &plan.prepared;
    let fluid = prepared.fixed.is_none();
    let predicted =
        prepared.channels.normals != NormalOrigin::None && (fluid || prepared.channels.normals_animated);
    if !predicted || !plan.streams[0].animated || options.effort < TRIAL_EFFORT || schedule.frames() < 3 {
        return false;
    }
    if options.transforms == TransformForm::Packed {
        // The readers of such a file want only parts; a failure to hold them does not depend on bytes.
        return false;
    }
    let AllowedErrorBounds { largest: most, guess, .. } = allowed;
    if fluid {
        return most >= MIN_CHANGING_TOLERANCE * crate::mesh::prepared::diagonal(prepared) && most >= guess;
    }
    most >= plan_normal_bound(plan, options.normal_tolerance).unwrap_or(guess)
}

/// A precision of positions that was tried, and the approximate bytes of the mesh with it.
#[derive(Clone, Copy)]
struct PrecisionTrial {
    bytes: u64,
    /// The error bound of positions.
    error_bound: f64,
    /// `true` if normals are stored, not predicted from positions.
    explicit_normals: bool,
}

/// Trials of the precision of positions of one mesh.
struct PrecisionTrials<'t> {
    schedule: Schedule,
    /// The options of the compile, with less effort.
    options: Arc<Options>,
    skin_search: &'t SkinSearch,
    /// `true` if trials code all frames, not a part of them.
    codes_all_frames: bool,
}

impl PrecisionTrials<'_> {
    /// Lays the mesh out with this precision; returns its approximate bytes, `None` if they cannot be
    /// determined.
    fn bytes(&self, plan: &mut Arc<MeshPlan>, radius: f64, normals_stored: bool) -> Option<u64> {
        let options = &self.options;
        Arc::make_mut(plan).requantize(radius, normals_stored, options).ok()?;
        let input = CoderInput::new(plan);
        let coder = MeshCoder::new(&input, self.schedule, options, self.skin_search).ok()?;
        let sample = match self.codes_all_frames {
            true => SegmentSample::all_segments(coder.schedule()),
            false => SegmentSample::new(plan.prepared.scan.points, coder.schedule(), options.effort),
        };
        estimate_size(&coder, coder.schedule(), sample, options).ok()
    }

    /// Returns the best precision around the guess. If trials code only a part of the frames, the close ones
    /// are repeated with all frames.
    fn around_guess(
        &self,
        plan: &mut Arc<MeshPlan>,
        allowed: AllowedErrorBounds,
        of_guess: u64,
    ) -> PrecisionTrial {
        let is_changing = plan.prepared.fixed.is_none();
        let mut all =
            vec![PrecisionTrial { bytes: of_guess, error_bound: allowed.guess, explicit_normals: false }];
        // Bounds that float32 cannot hold, and those that exceed the memory, are left out.
        all.extend(allowed.candidates(is_changing).into_iter().filter_map(|radius| {
            Some(PrecisionTrial {
                bytes: self.bytes(plan, radius, false)?,
                error_bound: radius,
                explicit_normals: false,
            })
        }));
        let smallest =
            |all: &[PrecisionTrial]| all.iter().copied().min_by_key(|trial| trial.bytes).unwrap_or(all[0]);
        let best = smallest(&all);
        if SegmentSample::new(plan.prepared.scan.points, self.schedule, self.options.effort).whole {
            return best;
        }
        all.retain(|trial| trial.bytes as f64 <= CLOSE_RATIO * best.bytes as f64);
        if all.len() < 2 {
            return best;
        }
        let whole = PrecisionTrials { codes_all_frames: true, options: self.options.clone(), ..*self };
        for trial in &mut all {
            if let Some(bytes) = whole.bytes(plan, trial.error_bound, false) {
                trial.bytes = bytes;
            }
        }
        let chosen = smallest(&all);
        // Later comparisons are with trials of a part of the frames.
        PrecisionTrial { bytes: best.bytes, ..chosen }
    }

    /// Returns the better one of `best` and positions as coarse as the tolerance allows, with stored normals.
    fn with_explicit_normals(
        &self,
        plan: &mut Arc<MeshPlan>,
        most: f64,
        best: PrecisionTrial,
    ) -> PrecisionTrial {
        // Tangents are made from points and uvs: beside coarse points they would take even more bytes.
        let fluid = plan.prepared.fixed.is_none();
        if most <= best.error_bound * MIN_REMARK_RATIO || fluid || plan.prepared.channels.tangents {
            return best;
        }
        match self.bytes(plan, most, true) {
            Some(bytes) if bytes < best.bytes => {
                PrecisionTrial { bytes, error_bound: most, explicit_normals: true }
            }
            _ => best,
        }
    }

    /// Returns the approximate bytes of the mesh if the tolerance of normals were
    /// [`LARGER_NORMAL_TOLERANCE`].
    fn at_larger_angle(&self, plan: &mut Arc<MeshPlan>, most: f64) -> Option<u64> {
        let options = Options { normal_tolerance: LARGER_NORMAL_TOLERANCE, ..Options::clone(&self.options) };
        let options = Arc::new(options);
        let radius = plan_normal_bound(plan, LARGER_NORMAL_TOLERANCE).unwrap_or(most).min(most);
        PrecisionTrials { options, ..*self }.bytes(plan, radius, false)
    }
}

/// Returns `true` if the mesh is smallest as skinned; seeks bones to find out.
fn is_smallest_skinned(
    plan: &mut Arc<MeshPlan>,
    schedule: Schedule,
    options: &Arc<Options>,
    found: &SkinSearch,
) -> Result<bool, Error> {
    let error_bound = plan.error_bound;
    Arc::make_mut(plan).requantize(error_bound, false, options)?;
    let ladder = mesh_coder::effort_ladder(options);
    let own = ladder.last().unwrap_or(options);
    let coder = MeshCoder::new(&CoderInput::new(plan), schedule, own, found);
    Ok(coder.is_ok_and(|coder| coder.method() == Method::Skinned))
}

fn plan_normal_bound(plan: &MeshPlan, degrees: f64) -> Option<f64> {
    normal_error_bound(plan.prepared.fixed.as_ref()?, degrees)
}

/// Returns the error bound of positions at which the normals predicted from them are off by `degrees`; `None`
/// without edges.
pub fn normal_error_bound(fixed: &FixedLayout, degrees: f64) -> Option<f64> {
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
    let turn = match count_components(count, joined) < MIN_COMPONENTS {
        true => MAX_TURN_FRACTION,
        false => MAX_TURN_FRACTION_OF_COMPONENTS,
    };
    Some(turn * degrees.to_radians() * f64::from(*length))
}

/// Returns the number of connected pieces of triangles.
fn count_components(points: u32, triangles: impl Iterator<Item = [u32; 3]>) -> usize {
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
