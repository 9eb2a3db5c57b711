//! Tolerances to lattices: chooses the precision of each mesh's values, and quantizes its first frame.
//! Coarser positions may cost more in corrections of the normals that are predicted from them than they save:
//! a first guess follows from the length of edges, and around it the precision with the fewest bytes is
//! searched.

use crate::Error;
use crate::context::Content;
use crate::mesh::patch::patch;
use crate::mesh::plan::{MeshPlan, Plans};
use crate::mesh::prepared::{FixedLayout, MeshCandidate, NormalOrigin, Prepared};
use crate::mesh::skin_search::SkinSearch;
use crate::meter::{ExpectedSet, ExpectedWork, MeshWork, Meter};
use crate::method::estimate::{SegmentSample, estimate_size};
use crate::method::mesh_coder::{self, CoderInput, MeshCoder};
use crate::method::skin;
use crate::nodes::budget::{Budget, MIN_VERTEX_ULPS, transform_fraction};
use crate::nodes::flatten::FlatNode;
use crate::report::{Log, NormalPrecision, VERIFY_TIME_RATIO};
use glam::Vec3;
use meshreel_codec::record::Method;
use meshreel_codec::schedule::{KEY_INTERVAL, Schedule};
use meshreel_options::{MethodChoice, Options, Preset, Tolerance, TransformForm};
use meshreel_process::extent::ulp;
use meshreel_process::{bones, extent};
use meshreel_scene::Remark;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

/// Chooses the precision of the values of each mesh, and quantizes static data.
pub fn plan_meshes(
    content: &Content,
    meshes: Vec<MeshCandidate>,
    (nodes, budgets): (&[FlatNode], &[Budget]),
    meter: &Meter,
    log: &mut Log,
) -> Result<Plans, Error> {
    let planner = Planner { content, budgets, moving: moving_objects(content, nodes) };
    // The total work is known before any of it is done.
    let plans: Vec<_> = meshes
        .into_iter()
        .filter(|m| !m.placements.is_empty())
        .map(|candidate| {
            let path = &candidate.source.mesh.path;
            let share = meter.add_mesh(path, expected_work(&candidate, &content.options));
            (candidate, share)
        })
        .collect();
    let plans: Vec<_> = plans
        .into_par_iter()
        .map(|(candidate, share)| {
            let mut remarks = Vec::new();
            let (plan, placements) = planner.plan(candidate, share, &mut remarks)?;
            Ok((plan, placements, remarks))
        })
        .collect::<Result<_, Error>>()?;
    let mut out = Vec::new();
    for (plan, placements, remarks) in plans {
        log.remarks.extend(remarks);
        out.push((plan, placements));
    }
    let bits: u64 = out.iter().map(|(p, _)| u64::from(p.streams[0].bits)).max().unwrap_or(0);
    log.pass("quantize", format!("{} meshes, positions in up to {bits} bits per axis", out.len()));
    Ok(out)
}

/// Bytes that each mesh takes while a scene is compiled, besides its points; measured on small meshes.
const MESH_BYTES: u64 = 23_000;
/// Bytes that each vertex takes meanwhile, with normals and tangents: of all meshes, and of the one that is
/// coded; measured on large sheets (`meshreel-bench memory`).
const VERTEX_BYTES: [u64; 2] = [350, 900];
/// Vertices that take less than this are not worth a remark.
const MIN_VERTEX_MEMORY: u64 = 64 << 20;

/// Returns a remark if meshes take more memory than they should, whatever `--memory` says.
pub fn memory_remark(meshes: &[MeshCandidate], options: &Options) -> Option<Remark> {
    let shown = || meshes.iter().filter(|mesh| !mesh.placements.is_empty());
    let vertices = |mesh: &MeshCandidate| match &mesh.prepared.fixed {
        Some(fixed) => fixed.vertex_point.len() as u64,
        None => mesh.prepared.scan.points as u64,
    };
    let (all, largest): (u64, u64) = (shown().map(vertices).sum(), shown().map(vertices).max().unwrap_or(0));
    let of_vertices = all * VERTEX_BYTES[0] + largest * VERTEX_BYTES[1];
    let of_vertices = if of_vertices < MIN_VERTEX_MEMORY { 0 } else { of_vertices };
    let count = shown().count();
    let of_meshes = count as u64 * MESH_BYTES;
    let held = of_meshes + of_vertices;
    let advice = match of_meshes < of_vertices {
        true => "this part grows with the vertices of the largest mesh, not with the frames",
        false => "fewer at a time (--include) keep less",
    };
    let meshes = if count == 1 { "mesh" } else { "meshes" };
    let [held_mb, allowed_mb] = [held.div_ceil(1_000_000), options.memory / 1_000_000];
    let what = format!(
        "compiling {count} {meshes} of {all} vertices takes about {held_mb} MB at a time, more than the {allowed_mb} MB of --memory; {advice}"
    );
    (held > options.memory).then(|| Remark::new("/", what))
}

/// Returns, by object, `true` if it moves as a whole: then coded transforms take a part of its tolerance.
fn moving_objects(content: &Content, nodes: &[FlatNode]) -> Vec<bool> {
    let mut moved = vec![false; nodes.len()];
    let mut moving = vec![false; content.placed.len()];
    for (n, node) in nodes.iter().enumerate() {
        moved[n] = node.animated || node.parent.is_some_and(|p| moved[p]);
        if let (Some(i), true) = (node.mesh, content.options.preset != Preset::Classic) {
            moving[i] = moved[n];
        }
    }
    moving
}

struct Planner<'p> {
    content: &'p Content,
    budgets: &'p [Budget],
    moving: Vec<bool>,
}

impl Planner<'_> {
    fn plan(
        &self,
        candidate: MeshCandidate,
        search: MeshWork,
        remarks: &mut Vec<Remark>,
    ) -> Result<(Arc<MeshPlan>, Vec<usize>), Error> {
        let options = &self.content.options;
        let (mut allowed, least) = self.allowed_error_bounds(&candidate);
        let mut radius = allowed.largest;
        let prepared = candidate.prepared;
        if let (Some(fixed), true) = (&prepared.fixed, options.preset != Preset::Classic) {
            let predicted =
                prepared.channels.normals != NormalOrigin::None && prepared.channels.normals_animated;
            let finest = if predicted { normal_error_bound(fixed, options.normal_tolerance) } else { None };
            radius = radius.min(finest.unwrap_or(radius).max(least));
            if prepared.channels.normals != NormalOrigin::None {
                // Equal bits, whatever tolerance it follows from.
                allowed.largest = round_error_bound(allowed.largest).max(least.min(allowed.largest));
                radius = round_error_bound(radius).max(least.min(radius));
            }
            allowed.guess = radius;
        }
        let path = self.content.placed[candidate.placements[0]].path.clone();
        let requested_method = match prepared.particles {
            Some(_) => MethodChoice::Auto,
            None => candidate.method,
        };
        let method = initial_method(&prepared, requested_method, &path)?;
        let parts = self.content.by_path.parts(&path).clone();
        let mut plan = Arc::new(MeshPlan {
            path,
            source: Arc::new(candidate.source),
            prepared: Arc::new(prepared),
            requested_method,
            parts,
            method,
            streams: Vec::new(),
            table: Default::default(),
            has_table: false,
            bases: Vec::new(),
            error_bound: radius,
            explicit_normals: false,
            skin_search: Arc::new(SkinSearch::new(options.effort, Arc::new(search))),
            normal_precision: None,
            static_error: Vec::new(),
            shown: candidate.shown,
        });
        Arc::make_mut(&mut plan).quantize(radius, false, options, remarks)?;
        if options.preset != Preset::Classic {
            let schedule = Schedule::new(self.content.times.len() as u32, options.restart());
            choose_precision(&mut plan, allowed, schedule, options)?;
            if options.preset == Preset::Small {
                choose_frames_of_points(&mut plan, schedule, options)?;
            }
        }
        Ok((plan, candidate.placements))
    }

    /// Returns the allowed error bounds of points in the mesh's own space, and the smallest useful one.
    fn allowed_error_bounds(&self, candidate: &MeshCandidate) -> (AllowedErrorBounds, f64) {
        let prepared = &candidate.prepared;
        let moved = candidate.placements.iter().filter(|&&i| self.moving[i]).count();
        let coordinates = match (prepared.scan.moving, &prepared.fixed) {
            (false, Some(fixed)) => 3 * fixed.vertex_point.len() as u64,
            _ => 3 * prepared.scan.points_total,
        };
        let part = transform_fraction(moved * self.content.times.len(), coordinates);
        let object_reach = (0..3).flat_map(|k| <[f32; 2]>::from(prepared.scan.object_extent.component(k)));
        let object_reach = object_reach.fold(0.0f64, |m, v| m.max(f64::from(v).abs()));
        let mut radius = f64::INFINITY;
        for &i in &candidate.placements {
            let budget = &self.budgets[i];
            let mut room = budget.tolerance - budget.transform_error;
            if self.moving[i] {
                // Not less than rounding needs: of transforms, then of vertices.
                let own = part.max((budget.transform_error / room).min(0.75));
                let least = budget.scale * MIN_VERTEX_ULPS * ulp(object_reach);
                room = (room * (1.0 - own)).max(least.min(room));
            }
            radius = radius.min(if budget.scale > 0.0 { room / budget.scale } else { f64::INFINITY });
        }
        // A bound beyond the diagonal gains nothing. The factor leaves room for the arithmetic in f64.
        let diagonal = extent::diagonal(&prepared.scan.extent).max(f64::from(f32::MIN_POSITIVE));
        radius = radius.min(diagonal) * 0.9999;
        // Edges may be tiny compared with the distance that a mesh travels.
        let least = (MIN_VERTEX_ULPS * ulp(object_reach)).max(diagonal * MIN_DIAGONAL_FRACTION);
        let path = &self.content.placed[candidate.placements[0]].path;
        let asked = match self.content.by_path.tolerance(path) {
            Tolerance::Absolute(t) => t,
            Tolerance::Relative(part) => 100.0 * part,
        };
        (
            AllowedErrorBounds {
                largest: radius,
                smallest: least,
                guess: radius,
                per_requested_unit: radius / asked,
            },
            least,
        )
    }
}

/// Returns the method of a mesh before its coder tries others.
fn initial_method(prepared: &Prepared, asked: MethodChoice, path: &str) -> Result<Method, Error> {
    match (&prepared.fixed, prepared.is_animated()) {
        (None, _) if prepared.particles.is_some() => Ok(Method::Particles),
        (None, _) => Ok(Method::Fluid),
        (Some(_), true) if asked == MethodChoice::Static => Err(Error::Unsupported {
            what: format!("{path}: it changes over time, --method static cannot keep that"),
        }),
        (Some(_), true) => Ok(Method::Soft),
        (Some(_), false) => Ok(Method::Static),
    }
}

// Tuning: nanoseconds of one core of an AMD EPYC, for a skinned creature with 3,000 and 12,000 points, a
// broken wall, captured bodies (horse, samba) and BrainStem. Mostly their ratios matter, since the speed is
// learned on the way.
/// Per point and frame: finding settings for its position, by `--effort`; the efforts of the ladder were
/// measured.
const POSITION: [u64; 9] = [100, 120, 120, 120, 200, 800, 1000, 1000, 2300];
/// Per point and frame: finding settings for its normal and its tangent, and coding them with its position to
/// compare options; hardly dependent on the effort.
const CHANNELS: [u64; 3] = [200, 900, 200];
/// The divisor of that if only one set of options is tried, so that nothing is coded.
const SINGLE_SET_DIVISOR: u64 = 4;
/// The number of trials of the precision of positions.
const TRIALS: u64 = 5;
/// Per point and frame: coding position, normal and tangent in the end.
const FINAL_NANOSECONDS: [u64; 3] = [200, 300, 100];
/// Work of a skin within one division of the tolerance, relative to that of the settings of positions:
/// measured 1 to 3 times.
const SKIN: u64 = 2;
/// Per point and step of the search for bones, with 24 bones; 60 take twice as long.
const BONES: u64 = 20_000;

/// Returns the expected work on a mesh; empty for one that stands still.
fn expected_work(candidate: &MeshCandidate, options: &Arc<Options>) -> ExpectedWork {
    let (source, prepared) = (&candidate.source, &candidate.prepared);
    let frames = match (prepared.scan.moving, source.moves) {
        (false, _) => 0,
        (true, Some([first, last])) => u64::from(last - first) + 1,
        (true, None) => source.frames as u64,
    };
    let points = prepared.scan.points as u64;
    let values = points * frames;
    if values == 0 || options.preset == Preset::Classic {
        return ExpectedWork::default();
    }
    let fixed = prepared.fixed.as_ref();
    let predicted = prepared.channels.normals != NormalOrigin::None
        && prepared.channels.normals_animated
        && fixed.is_some();
    let there = [true, predicted, predicted && prepared.channels.tangents];
    let sum =
        |of: [u64; 3]| -> u64 { there.iter().zip(of).map(|(&there, work)| u64::from(there) * work).sum() };
    let position = |effort: u32| POSITION[effort.clamp(1, 9) as usize - 1];
    let ladder = mesh_coder::effort_ladder(options);
    let tried = mesh_coder::tried_options(&ladder, values as usize);
    let channels = sum(CHANNELS) / if tried.len() > 1 { 1 } else { SINGLE_SET_DIVISOR };
    let blends = matches!(candidate.method, MethodChoice::Auto | MethodChoice::Skinned);
    let skins = blends
        && options.effort >= skin::MIN_EFFORT_FOR_SKINS
        && fixed.is_some_and(|fixed| fixed.grid.is_none());
    // Of large meshes a patch is tried.
    let is_large = points >= 2 * MAX_TRIED_POINTS as u64;
    let tried_values = if is_large { MAX_TRIED_POINTS as u64 * frames } else { values };
    let has_trials = predicted && (is_large || values as usize <= MAX_TRIED_VALUES);
    let trial = tried_values * (position(TRIAL_EFFORT) + sum(CHANNELS));
    let trials = if has_trials { TRIALS * trial } else { 0 };
    let mut sets = vec![ExpectedSet { settings: trials, ..ExpectedSet::default() }];
    // Skins that were sought with the same effort before are known.
    let mut efforts = BTreeSet::new();
    // In the order in which they are tried: most work first.
    for options in tried.iter().rev() {
        let mut set = ExpectedSet::default();
        // Changing faces have no settings.
        if fixed.is_some() {
            set.settings = values * (position(options.effort) + channels);
        }
        if skins {
            let (effort, divisions) = skin::expected_search(options.effort);
            set.skins = values * position(options.effort) * SKIN * divisions as u64;
            if efforts.insert(effort) {
                let steps = bones::expected_steps(points as usize, effort);
                set.skins += BONES * steps as u64;
            }
        }
        sets.push(set);
    }
    let coded = (values * sum(FINAL_NANOSECONDS)) as f64;
    ExpectedWork { sets, frames: (coded * (1.0 + VERIFY_TIME_RATIO)) as u64 }
}

/// Fraction of the normal tolerance by which positions may turn a triangle's normal; beyond it they cost more
/// in corrections of normals than they save. Measured on the corpus.
const MAX_TURN_FRACTION: f64 = 1.0;
/// Like [`MAX_TURN_FRACTION`], for meshes of many pieces, which mostly move rigidly, so that positions cost
/// little.
const MAX_TURN_FRACTION_OF_COMPONENTS: f64 = 0.25;
/// Positions are never made finer than this fraction of the diagonal over all frames for the sake of normals.
const MIN_DIAGONAL_FRACTION: f64 = 1.0 / (1 << 18) as f64;
/// The largest number of points × frames with trials: reading more for each trial takes too long.
const MAX_TRIED_VALUES: usize = 1 << 22;
/// The number of points of a patch that is tried in place of a mesh of at least twice as many.
const MAX_TRIED_POINTS: usize = 8_000;
/// Meshes of at least this many pieces use [`MAX_TURN_FRACTION_OF_COMPONENTS`].
const MIN_COMPONENTS: usize = 8;

/// The largest number of points × frames in which two forms of points are compared; if that is less than a
/// group of frames, they are a mesh.
const MAX_TRIED_POINT_VALUES: usize = 1 << 19;

/// Trials may hold this part of the memory: one over it.
const TRIAL_MEMORY: u64 = 4;
/// The `--effort` of a trial; if less is requested, nothing is tried.
const TRIAL_EFFORT: u32 = 2;
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
struct AllowedErrorBounds {
    /// The largest: the mesh's tolerance.
    largest: f64,
    /// The smallest that float32 can hold.
    smallest: f64,
    /// The one that is likely to take the fewest bytes.
    guess: f64,
    /// The error bound per unit of the tolerance as the user wrote it, in percent of the mesh's size or in
    /// units of length.
    per_requested_unit: f64,
}

/// Returns an error bound rounded down to [`SIGNIFICANT_BITS`].
fn round_error_bound(radius: f64) -> f64 {
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
fn choose_precision(
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
    // What is found on a patch does not serve the whole mesh.
    let (mut tried, search) = match patch(plan, MAX_TRIED_POINTS)? {
        Some(patch) => (patch, Arc::new(SkinSearch::new(options.effort, work.clone()))),
        None => (plan.clone(), plan.skin_search.clone()),
    };
    search.keep_source_normals(trial_memory(options));
    let chosen = choose_by_trials(plan, (&mut tried, &search), allowed, schedule, options);
    search.keep_source_normals(0);
    work.count_set();
    chosen
}

/// Chooses the precision by trials, unless the mesh is too large for them. `tried`: the mesh, or a patch of
/// it, and what is found on that.
fn choose_by_trials(
    plan: &mut Arc<MeshPlan>,
    (tried, search): (&mut Arc<MeshPlan>, &Arc<SkinSearch>),
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
    let is_patch = !Arc::ptr_eq(&tried.prepared, &plan.prepared);
    if !is_patch && tried_values(tried, schedule) > MAX_TRIED_VALUES {
        Arc::make_mut(plan).normal_precision =
            (most > guess * MIN_REMARK_RATIO && !fluid).then(|| decided(None, guess));
        return Ok(());
    }
    let found = search.for_trials();
    search.work.trying("how fine normals want positions");
    let trials = PrecisionTrials {
        schedule,
        options: Arc::new(Options { effort: TRIAL_EFFORT, strict: false, ..Options::clone(options) }),
        skin_search: &found,
        codes_all_frames: false,
    };
    // A precision that fails is not taken; if the guess fails, its compile reports why.
    let Some(of_guess) = trials.bytes(tried, guess, false) else {
        return Arc::make_mut(plan).quantize(guess, false, options, &mut Vec::new());
    };
    if is_patch {
        plan.skin_search.take_weighting(search);
    }
    // Trials only tell whether skins are likely.
    let mut likely = found.were_likely();
    if likely && is_patch {
        likely = may_be_skinned(plan, schedule, options)?
            && skinned_bytes(tried, guess, schedule, options, search)?.is_some();
        if !likely {
            plan.skin_search.rule_out_skins();
        }
    }
    let search = plan.skin_search.clone();
    if likely && let Some(skinned) = skinned_bytes(plan, guess, schedule, options, &search)? {
        let radius = coarsest_skinned(plan, (allowed, skinned), schedule, options, &search);
        Arc::make_mut(plan).quantize(radius, false, options, &mut Vec::new())?;
        Arc::make_mut(plan).normal_precision =
            (most > radius * MIN_REMARK_RATIO).then(|| decided(None, radius));
        return Ok(());
    }
    let best = trials.around_guess(tried, allowed, of_guess);
    let best = trials.with_explicit_normals(tried, most, best);
    if most > best.error_bound * MIN_REMARK_RATIO && options.normal_tolerance < LARGER_NORMAL_TOLERANCE {
        let part = trials.at_larger_angle(tried, most).map(|then| then as f64 / best.bytes.max(1) as f64);
        Arc::make_mut(plan).normal_precision = Some(decided(part, best.error_bound));
    }
    Arc::make_mut(plan).quantize(best.error_bound, best.explicit_normals, options, &mut Vec::new())
}

/// Returns `true` if the motion of the whole mesh looks like that of few bones.
fn may_be_skinned(plan: &Arc<MeshPlan>, schedule: Schedule, options: &Options) -> Result<bool, Error> {
    match CoderInput::new(plan).frames.first().map(Vec::as_slice) {
        Some([positions]) => skin::is_likely(positions, schedule.frames(), options.memory),
        _ => Ok(false),
    }
}

/// Returns the number of points × frames of a mesh.
fn tried_values(plan: &MeshPlan, schedule: Schedule) -> usize {
    plan.prepared.scan.points * schedule.frames() as usize
}

/// Returns the bytes of normals that the trials of a mesh may share: meshes are tried side by side.
fn trial_memory(options: &Options) -> usize {
    (options.memory / TRIAL_MEMORY) as usize / rayon::current_num_threads()
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

/// A precision of positions that was tried, and the approximate bytes of the mesh with it, among them those
/// that the decoding time is worth.
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
        Arc::make_mut(plan).quantize(radius, normals_stored, options, &mut Vec::new()).ok()?;
        let input = CoderInput::new(plan);
        let coder = MeshCoder::new(&input, self.schedule, options, self.skin_search).ok()?;
        let sample = match self.codes_all_frames {
            true => SegmentSample::all_segments(coder.schedule()),
            false => SegmentSample::new(plan.prepared.scan.points, coder.schedule(), options.effort),
        };
        let bytes = estimate_size(&coder, coder.schedule(), sample, options).ok()?;
        Some(bytes + coder.decoding_bytes(options))
    }

    /// Returns the result of [`PrecisionTrials::bytes`] for each of these error bounds, tried in parallel.
    fn all_bytes(&self, plan: &Arc<MeshPlan>, bounds: &[f64]) -> Vec<Option<u64>> {
        let bytes = |&radius: &f64| {
            // What one trial finds must not depend on when another one ends.
            let skin_search = self.skin_search.copy();
            let trials =
                PrecisionTrials { options: self.options.clone(), skin_search: &skin_search, ..*self };
            trials.bytes(&mut plan.clone(), radius, false)
        };
        bounds.par_iter().map(bytes).collect()
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
        let candidates = allowed.candidates(is_changing);
        let tried = candidates.iter().copied().zip(self.all_bytes(plan, &candidates));
        all.extend(tried.filter_map(|(error_bound, bytes)| {
            Some(PrecisionTrial { bytes: bytes?, error_bound, explicit_normals: false })
        }));
        let smallest =
            |all: &[PrecisionTrial]| all.iter().copied().min_by_key(|trial| trial.bytes).unwrap_or(all[0]);
        let best = smallest(&all);
        let sample = SegmentSample::new(plan.prepared.scan.points, self.schedule, self.options.effort);
        if sample.whole || tried_values(plan, self.schedule) > MAX_TRIED_VALUES {
            return best;
        }
        all.retain(|trial| trial.bytes as f64 <= CLOSE_RATIO * best.bytes as f64);
        if all.len() < 2 {
            return best;
        }
        let whole = PrecisionTrials { codes_all_frames: true, options: self.options.clone(), ..*self };
        let bounds: Vec<f64> = all.iter().map(|trial| trial.error_bound).collect();
        for (trial, bytes) in all.iter_mut().zip(whole.all_bytes(plan, &bounds)) {
            trial.bytes = bytes.unwrap_or(trial.bytes);
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

/// Chooses the smaller form of points without faces that are the same in all frames: as a mesh, or in frames
/// of their own, which follow points that bounce more closely, but take 30 times as long to decode.
fn choose_frames_of_points(
    plan: &mut Arc<MeshPlan>,
    schedule: Schedule,
    options: &Arc<Options>,
) -> Result<(), Error> {
    let points = plan.prepared.scan.points;
    let frames = (MAX_TRIED_POINT_VALUES / points.max(1)) as u32;
    let moves = plan.prepared.particles.is_some() && plan.method == Method::Soft;
    if !moves || frames < KEY_INTERVAL {
        return Ok(());
    }
    let schedule = Schedule::new(schedule.frames().min(frames + 1), options.restart());
    // Of its own, as what is found in fewer frames does not serve all.
    let search = SkinSearch::new(options.effort, plan.skin_search.work.clone()).for_trials();
    let bytes = |plan: &Arc<MeshPlan>| {
        let coder = MeshCoder::new(&CoderInput::new(plan), schedule, options, &search)?;
        let sample = SegmentSample::new(points, schedule, options.effort);
        estimate_size(&coder, schedule, sample, options)
    };
    let radius = plan.error_bound;
    // A form that fails is not taken; if both do, the compile of the mesh reports why.
    let as_mesh = bytes(plan).unwrap_or(u64::MAX);
    let Some(layout) = exchange_layout(plan, None) else {
        return Ok(());
    };
    Arc::make_mut(plan).quantize(radius, false, options, &mut Vec::new())?;
    if bytes(plan).is_ok_and(|bytes| bytes < as_mesh) {
        return Ok(());
    }
    exchange_layout(plan, Some(layout));
    Arc::make_mut(plan).quantize(radius, false, options, &mut Vec::new())
}

/// Gives points another layout, or none, with the method that follows from it; returns the layout they had.
fn exchange_layout(plan: &mut Arc<MeshPlan>, layout: Option<Arc<FixedLayout>>) -> Option<Arc<FixedLayout>> {
    let plan = Arc::make_mut(plan);
    let prepared = Arc::get_mut(&mut plan.prepared)?;
    plan.method = if layout.is_some() { Method::Soft } else { Method::Particles };
    // Made again with a layout; particles have none of it.
    plan.bases.clear();
    plan.static_error.clear();
    (plan.has_table, plan.table) = Default::default();
    std::mem::replace(&mut prepared.fixed, layout)
}

/// Returns the approximate bytes of a mesh that is smallest as skinned with this error bound, `None` if it is
/// not; seeks bones to find out.
fn skinned_bytes(
    plan: &mut Arc<MeshPlan>,
    radius: f64,
    schedule: Schedule,
    options: &Arc<Options>,
    found: &SkinSearch,
) -> Result<Option<u64>, Error> {
    Arc::make_mut(plan).quantize(radius, false, options, &mut Vec::new())?;
    let ladder = mesh_coder::effort_ladder(options);
    let own = ladder.last().unwrap_or(options);
    let coder = MeshCoder::skinned(&CoderInput::new(plan), schedule, own, found);
    let Some(coder) = coder.ok().flatten() else {
        return Ok(None);
    };
    let sample = SegmentSample::new(plan.prepared.scan.points, coder.schedule(), own.effort);
    Ok(Some(estimate_size(&coder, coder.schedule(), sample, own)? + coder.decoding_bytes(own)))
}

/// Returns the error bound at which a skinned mesh takes the fewest bytes, from the guess upwards. A bound
/// that fails is not taken.
fn coarsest_skinned(
    plan: &mut Arc<MeshPlan>,
    (allowed, mut least): (AllowedErrorBounds, u64),
    schedule: Schedule,
    options: &Arc<Options>,
    found: &SkinSearch,
) -> f64 {
    let mut best = allowed.guess;
    for radius in allowed.candidates(false).into_iter().filter(|&radius| radius > allowed.guess) {
        match skinned_bytes(plan, radius, schedule, options, found) {
            Ok(Some(bytes)) if bytes < least => (best, least) = (radius, bytes),
            _ => break,
        }
    }
    best
}

fn plan_normal_bound(plan: &MeshPlan, degrees: f64) -> Option<f64> {
    normal_error_bound(plan.prepared.fixed.as_ref()?, degrees)
}

/// Returns the error bound of positions at which the normals predicted from them are off by `degrees`; `None`
/// without edges.
fn normal_error_bound(fixed: &FixedLayout, degrees: f64) -> Option<f64> {
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
