//! Chooses the method of a mesh: candidates are coded on a sample of their frames, and the smallest wins, if
//! it does not take longer to decode than its bytes are worth.

use super::hints::find_hints;
use super::model::BoneModel;
use super::posed::ErrorBudget;
use super::positions::Positions;
use super::residual::{SkinnedMesh, skin_coder};
use super::rigid::STATIC_FRACTION;
use super::source_rig;
use crate::Error;
use crate::mesh::plan::MeshPlan;
use crate::mesh::skin_search::SkinSearch;
use crate::method::coder::StreamCoder;
use crate::method::decoding_time::PositionForm;
use crate::method::estimate::{SegmentSample, estimate_size};
use crate::method::points;
use crate::method::points::PointFrames;
use crate::report::TriedMethod;
use meshreel_codec::mesh::skin::MAX_BONES;
use meshreel_codec::record::{BoneCounts, Method};
use meshreel_codec::schedule::Schedule;
use meshreel_options::{MethodChoice, Options, PartsChoice, TransformForm};
use meshreel_process::parts::NO_PART;
use meshreel_process::parts::ids::{PartHint, find_with_hints};
use meshreel_process::{bones, parts};
use meshreel_scene::Remark;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

// Tuning.
/// A point follows a part if the part moves it to within this fraction of the diagonal.
const FOLLOW_DISTANCE: f64 = 1e-5;
/// A point that follows a part is also within this fraction of the tolerance.
const FOLLOW_TOLERANCE_FRACTION: f64 = 0.25;
/// The fraction of the points that parts must have to be tried.
const COVERED: f64 = 0.05;
/// Skins are sought if parts leave more than this fraction of the points.
const MIN_UNCOVERED_FRACTION: f64 = 0.02;
/// If parts pay and have more than this fraction of the points, bones are also sought for the others alone.
const MIN_MIXED_FRACTION: f64 = 0.25;
/// The number of frames in which a regular grid is tested for motion by few bones; and the number of
/// components of motion that it may have, counting those larger than a fraction of its size.
const PROBED: u64 = 24;
const MAX_COMPONENTS: (usize, f64) = (12, 1e-5);
/// Parts pay if they take less than this fraction of the bytes of the method soft.
const MAX_PAYING_RATIO: f64 = 0.9;
/// Bits that a transform of a moving part takes in a frame: a low estimate that is never reached, and the
/// usual number.
const MIN_TRANSFORM_BITS: f64 = 16.0;
const TRANSFORM_BITS: f64 = 40.0;
/// A search that can save no more than this fraction of the bits is left out.
const MIN_SAVING: f64 = 0.03;
/// The largest number of bones that move one point.
const MAX_BONES_PER_POINT: usize = 4;
/// The number of bones if a skin is requested although none pays.
const DEFAULT_BONES: usize = 24;
/// Error budgets of parts: fractions of the tolerance for the rest pose, weights and handles.
const PART_BUDGETS: [[f64; 3]; 1] = [[0.5, 0.15, 0.15]];
/// Error budgets of skins, the best guess first.
const SKIN_BUDGETS: [[f64; 3]; 3] = [[0.39, 0.45, 0.75], [0.6, 0.6, 0.9], [0.3, 0.37, 0.5]];
/// No other division is tried after one that takes this many times the bytes of the method soft.
const MAX_BUDGET_RATIO: f64 = 1.3;
/// The least effort at which several divisions are tried.
const MIN_EFFORT_FOR_DIVISIONS: u32 = 3;
/// The least effort at which skins are sought if they are likely.
pub const MIN_EFFORT_FOR_SKINS: u32 = 4;
/// The least effort at which skins are sought for all meshes except grids.
const MIN_EFFORT_FOR_ALL_SKINS: u32 = 8;
/// The effort of the search for bones, by `--effort`.
const SEARCH_EFFORTS: [u32; 9] = [5, 5, 5, 5, 5, 5, 7, 7, 9];
/// Trials that on a sample take at most this many times the bytes of the best are coded completely before one
/// of them is taken.
const NEAR_RATIO: f64 = 1.2;

/// A method that was tried, and the coder that it made; `None` for soft, which has its coder already.
struct MethodTrial {
    tried: TriedMethod,
    made: Option<SkinnedMesh>,
    /// The bytes that its decoding time is worth.
    decoding_bytes: u64,
}

impl MethodTrial {
    fn new(
        method: &'static str,
        from: &str,
        (made, bytes): CodedModel,
        decoding_bytes: u64,
        since: Instant,
    ) -> MethodTrial {
        let bones = made.as_ref().map_or(Default::default(), |made| made.bones);
        MethodTrial {
            tried: TriedMethod {
                method,
                from: from.into(),
                parts: bones.rigid as usize,
                bones: bones.affine as usize,
                points_with_residual: bones.coded as usize,
                bytes,
                chosen: false,
                seconds: since.elapsed().as_secs_f64(),
            },
            made,
            decoding_bytes,
        }
    }

    /// Returns the value by which methods are compared: its bytes, and those that its decoding time is worth.
    fn cost(&self) -> Option<u64> {
        self.tried.bytes.map(|bytes| bytes + self.decoding_bytes)
    }
}

/// The outcome of the choice among methods.
#[derive(Default)]
pub struct ChosenMethod {
    /// Bones, if they are smaller or requested; `None` for the method soft.
    pub made: Option<SkinnedMesh>,
    /// Every method that was tried, for `--explain`.
    pub tried: Vec<TriedMethod>,
    /// Remarks for the user.
    pub remarks: Vec<Remark>,
}

/// Chooses among methods: bones, if they are smaller or requested. `wide`: fixed-point positions of the
/// method soft have 32 bits.
pub fn choose_method(
    plan: &MeshPlan,
    frames: &Arc<PointFrames>,
    (soft, wide): (&dyn StreamCoder, bool),
    schedule: Schedule,
    options: &Options,
    found: &SkinSearch,
) -> Result<ChosenMethod, Error> {
    let wants = |method| plan.requested_method == MethodChoice::Auto || plan.requested_method == method;
    if !(wants(MethodChoice::Rigid) || wants(MethodChoice::Skinned)) || schedule.frames() < 3 {
        return Ok(ChosenMethod::default());
    }
    let points = soft.order().len();
    if points < 4 {
        return Ok(ChosenMethod::default());
    }
    let (count, memory) = (schedule.frames(), options.memory);
    let alone = || {
        // There is no other method to compare with.
        let mut soft = MethodTrial::new(SOFT_METHOD, "", (None, None), 0, Instant::now());
        soft.tried.chosen = true;
        ChosenMethod { tried: vec![soft.tried], ..ChosenMethod::default() }
    };
    let probed = frames.is_grid() && plan.requested_method == MethodChoice::Auto;
    if probed && !is_simple(frames, points, count)? {
        return Ok(alone());
    }
    let Some(positions) = Positions::read(frames, points, count, memory)? else {
        let what = format!(
            "parts and bones, which may make it many times smaller, were not looked for: {points} points in {count} frames ask for --memory {}MB",
            Positions::memory(points, count).div_ceil(1_000_000)
        );
        return Ok(ChosenMethod { remarks: vec![Remark::new(&plan.path, what)], ..ChosenMethod::default() });
    };
    let sample = SegmentSample::new(points, schedule, options.effort);
    let Some(extent) = points::extent(frames) else {
        return Ok(ChosenMethod::default());
    };
    let radius = extent.tolerance;
    let mut remarks = Vec::new();
    let mut search = MethodSearch {
        plan,
        soft,
        wide,
        frames: frames.clone(),
        schedule,
        options,
        skin_search: found,
        positions,
        sample,
        error_bound: radius,
        trials: Vec::new(),
        remarks: &mut remarks,
    };
    let rig = search.try_rig()?;
    let parts = search.try_parts(&rig)?;
    search.try_skins(&rig, parts)?;
    let mut trials = search.trials;
    if trials.is_empty() && plan.requested_method == MethodChoice::Auto {
        return Ok(ChosenMethod { remarks, ..alone() });
    }
    if !sample.whole {
        code_near_trials(&mut trials, soft, schedule, options)?;
    }
    let (made, tried) = smallest(trials);
    Ok(ChosenMethod { made, tried, remarks })
}

/// Returns `true` if the motion of a mesh looks like that of few bones. A patch of it may, where all of it
/// does not.
pub fn is_likely(frames: &Arc<PointFrames>, count: u32, memory: u64) -> Result<bool, Error> {
    let points = frames.points.first_vertex.len();
    if frames.is_grid() && !is_simple(frames, points, count)? {
        return Ok(false);
    }
    let positions = Positions::read(frames, points, count, memory)?;
    Ok(positions.is_some_and(|all| bones::is_likely(all.held(), !frames.is_grid())))
}

/// Returns `true` if a sample of frames shows a regular grid moved by few bones: most grids are cloth and
/// water.
fn is_simple(frames: &Arc<PointFrames>, points: usize, count: u32) -> Result<bool, Error> {
    let memory = Positions::sample_memory(points, PROBED);
    let Some(positions) = Positions::read(frames, points, count, memory)? else {
        return Ok(true);
    };
    let all = positions.held();
    let (_, triangles) = points::build_hierarchy(frames);
    Ok(parts::is_stiff(all, &triangles, all.diagonal() * FOLLOW_DISTANCE)
        || bones::count_components(all, MAX_COMPONENTS.1) <= MAX_COMPONENTS.0)
}

/// Takes the result of the best trial; returns the reports of all trials, the best marked as taken.
fn smallest(mut trials: Vec<MethodTrial>) -> (Option<SkinnedMesh>, Vec<TriedMethod>) {
    let best = (0..trials.len()).filter(|&i| trials[i].cost().is_some());
    let best = best.min_by_key(|&i| trials[i].cost());
    if let Some(best) = best {
        trials[best].tried.chosen = true;
    }
    let made = best.and_then(|best| trials[best].made.take());
    (made, trials.into_iter().map(|trial| trial.tried).collect())
}

/// Trials of rigs, parts and bones on one mesh.
struct MethodSearch<'s> {
    plan: &'s MeshPlan,
    /// The coder of the method soft, and whether its fixed-point positions have 32 bits.
    soft: &'s dyn StreamCoder,
    wide: bool,
    frames: Arc<PointFrames>,
    schedule: Schedule,
    options: &'s Options,
    skin_search: &'s SkinSearch,
    positions: Positions,
    /// The frames by which trials are compared.
    sample: SegmentSample,
    /// The error bound of positions.
    error_bound: f64,
    trials: Vec<MethodTrial>,
    remarks: &'s mut Vec<Remark>,
}

/// The usable facts about the source's rig.
struct RigFacts {
    /// `true` if it moves the points, so no other bones need be sought.
    moves: bool,
    /// Joint of each point, if nearly all follow one joint each: the joints may be parts.
    joints: Option<Vec<u32>>,
}

/// The points that are left for bones after parts were tried.
struct PointsLeft {
    /// The fraction of all points that belong to no part.
    uncovered_fraction: f64,
    /// The parts, if they pay but leave many points.
    mixed: Option<MixedParts>,
}

/// Parts that pay, and the points that are left for bones with weights.
struct MixedParts {
    parts: BoneModel,
    without: Vec<u32>,
    /// The approximate bits of the motion of the parts.
    motion_bits: f64,
}

impl MixedParts {
    /// Returns `true` if the parts may take fewer bits than `skin`, which moves all points, takes for theirs.
    fn may_pay_beside(&self, skin: &bones::SkinChoice) -> bool {
        let points = skin.skin.rest.len();
        let covered = points - self.without.len();
        let motion = (skin.bits.bones + skin.bits.residual) * covered as f64 / points as f64;
        let of_points = bones::usual_weight_bits(covered) + motion;
        of_points - self.motion_bits > MIN_SAVING * skin.bits.total()
    }
}

impl MethodSearch<'_> {
    fn is_wanted(&self, method: MethodChoice) -> bool {
        self.plan.requested_method == MethodChoice::Auto || self.plan.requested_method == method
    }

    fn remark(&mut self, what: String) {
        self.remarks.push(Remark::new(&self.plan.path, what));
    }

    /// Returns the approximate bytes of the method soft, computed on the first call; `None` if that is not
    /// wanted.
    fn soft_bytes(&mut self) -> Result<Option<u64>, Error> {
        if self.plan.requested_method != MethodChoice::Auto {
            return Ok(None);
        }
        if let Some(known) = self.trials.iter().find(|trial| trial.tried.method == SOFT_METHOD) {
            return Ok(known.tried.bytes);
        }
        let since = Instant::now();
        let bytes = Some(estimate_size(self.soft, self.schedule, self.sample, self.options)?);
        let decoding_bytes = self.decoding_bytes(None);
        self.trials.insert(0, MethodTrial::new(SOFT_METHOD, "", (None, bytes), decoding_bytes, since));
        Ok(bytes)
    }

    /// Returns the bytes that the decoding time of bones is worth, or of the method soft.
    fn decoding_bytes(&self, made: Option<&SkinnedMesh>) -> u64 {
        let form = match made {
            None => PositionForm { wide: self.wide, bones: None },
            Some(made) => PositionForm { wide: made.wide, bones: Some(made.bones) },
        };
        form.bytes((self.positions.held().points(), self.schedule.frames()), self.options)
    }

    /// Completes a model with the motion in all frames, except for points that stand still.
    fn complete(&self, model: BoneModel) -> Result<BoneModel, Error> {
        self.positions.complete(model, self.error_bound * STATIC_FRACTION)
    }

    /// Codes a model on the sample, and adds it to the trials; returns its bytes, `None` if it cannot hold
    /// the tolerance.
    fn add_model(
        &mut self,
        method: &'static str,
        from: &str,
        model: &BoneModel,
        since: Instant,
    ) -> Result<Option<u64>, Error> {
        let soft_bytes = self.soft_bytes()?;
        let (schedule, options) = (self.schedule, self.options);
        let divisions = divisions(!model.affine.is_empty(), options.effort);
        // Trials of the precision are reported as a whole, and parts alone take little work.
        if !model.affine.is_empty() && !self.skin_search.is_for_trials() {
            self.skin_search.work.trying("what bones take");
        }
        let try_budget = |budget| {
            let made = make_coder(model, &self.frames, &self.positions, schedule, budget, options)?;
            let bytes =
                (made.as_ref()).map(|made| estimate_size(&*made.coder, schedule, self.sample, options));
            Ok::<_, Error>((made, bytes.transpose()?))
        };
        let made = best_budget(divisions, soft_bytes, try_budget)?;
        let (bytes, decoding_bytes) = (made.1, self.decoding_bytes(made.0.as_ref()));
        self.trials.push(MethodTrial::new(method, from, made, decoding_bytes, since));
        Ok(bytes)
    }

    /// Tries the rig of the source.
    fn try_rig(&mut self) -> Result<RigFacts, Error> {
        let since = Instant::now();
        let rig = match self.is_wanted(MethodChoice::Skinned) {
            true => source_rig::read_rig(
                &self.frames,
                &self.positions,
                self.error_bound,
                self.options.memory / 4,
            )?,
            false => source_rig::RigModel::None,
        };
        let moves = match rig {
            source_rig::RigModel::None => false,
            source_rig::RigModel::Mismatched(points) => {
                let all = self.positions.held().points();
                self.remark(format!(
                    "its rig does not move it as it moves ({points} of {all} points are elsewhere); bones are sought in its motion"
                ));
                false
            }
            source_rig::RigModel::Matching(model) => {
                self.skin_search.work.without_skins();
                self.add_model("skinned", RIG_ORIGIN, &model, since)?;
                true
            }
        };
        let joints = match (moves, &self.plan.source.mesh.skin) {
            (true, Some(skin)) => source_rig::single_joints(skin, &self.frames),
            _ => None,
        };
        Ok(RigFacts { moves, joints })
    }

    /// Seeks rigid parts, and tries them if they have enough of the points.
    fn try_parts(&mut self, rig: &RigFacts) -> Result<PointsLeft, Error> {
        let nothing = PointsLeft { uncovered_fraction: 1.0, mixed: None };
        let asked = self.plan.requested_method;
        let possible = !rig.moves || rig.joints.is_some() || asked == MethodChoice::Rigid;
        if !self.is_wanted(MethodChoice::Rigid) || !possible {
            return Ok(nothing);
        }
        let since = Instant::now();
        self.skin_search.work.trying("parts");
        let (parts, from) = self.find_parts(rig)?;
        if parts.len() > MAX_BONES as usize {
            self.remark(format!(
                "{} parts, {MAX_BONES} at most in one mesh: the smallest are kept point by point; split the mesh to keep them as parts",
                parts.len()
            ));
        }
        let without: Vec<u32> =
            (0u32..).zip(&parts.point_part).filter_map(|(p, &part)| (part == NO_PART).then_some(p)).collect();
        let all = self.positions.held();
        let left = without.len() as f64 / all.points() as f64;
        if 1.0 - left <= COVERED && asked != MethodChoice::Rigid {
            return Ok(PointsLeft { uncovered_fraction: left, mixed: None });
        }
        if asked == MethodChoice::Auto && self.cannot_pay(&parts, 1.0 - left)? {
            return Ok(PointsLeft { uncovered_fraction: left, mixed: None });
        }
        let all = self.positions.held();
        let motion_bits = self.motion_bits(&parts, TRANSFORM_BITS);
        let model = self.complete(BoneModel::from_parts(all, &parts))?;
        let model = match self.options.transforms {
            TransformForm::Clip => model,
            TransformForm::Packed => model.sorted_by_time(self.error_bound * STATIC_FRACTION),
        };
        let bytes = self.add_model("rigid", &from, &model, since)?;
        let soft_bytes = self.soft_bytes()?;
        let pays = bytes
            .zip(soft_bytes)
            .is_some_and(|(bytes, soft)| (bytes as f64) < MAX_PAYING_RATIO * soft as f64);
        let mixed = (pays && 1.0 - left > MIN_MIXED_FRACTION && left > MIN_UNCOVERED_FRACTION)
            .then_some(MixedParts { parts: model, without, motion_bits });
        Ok(PointsLeft { uncovered_fraction: left, mixed })
    }

    /// Returns `true` if parts take more than they save, even if soft needed no more bytes for their points.
    fn cannot_pay(&mut self, parts: &parts::Parts, covered: f64) -> Result<bool, Error> {
        let bytes = self.motion_bits(parts, MIN_TRANSFORM_BITS) / 8.0;
        Ok(self.soft_bytes()?.is_some_and(|soft| bytes > covered * soft as f64))
    }

    /// Returns the bits of the motion of parts whose transforms take `each` where they move.
    fn motion_bits(&self, parts: &parts::Parts, each: f64) -> f64 {
        let near = self.error_bound * STATIC_FRACTION;
        let moves =
            |t: &Vec<parts::Similarity>| t.windows(2).filter(|t| !nearly_equal(&t[0], &t[1], near)).count();
        let moved: usize = parts.transforms.iter().map(moves).sum();
        let frames = f64::from(self.schedule.frames()) / self.positions.held().frames() as f64;
        moved as f64 * frames * each
    }

    /// Finds parts by the rig's joints, an attribute, connected pieces or the motion; returns them and their
    /// origin.
    fn find_parts(&mut self, rig: &RigFacts) -> Result<(parts::Parts, String), Error> {
        let (plan, groups) = (self.plan, &rig.joints);
        let (_, triangles) = points::build_hierarchy(&self.frames);
        let hints = match groups {
            Some(_) => Vec::new(),
            None => find_hints(&self.frames, &plan.parts, &plan.path, self.remarks)?,
        };
        let all = self.positions.held();
        let request = parts::PartsRequest {
            tolerance: (all.diagonal() * FOLLOW_DISTANCE).min(self.error_bound * FOLLOW_TOLERANCE_FRACTION),
            groups: groups.as_deref().unwrap_or_default(),
            triangles: &triangles,
            connected_only: plan.parts == PartsChoice::Connected,
            thorough: plan.requested_method == MethodChoice::Rigid,
            cancellation: plan.source.cancellation.clone(),
        };
        let seek = || Ok(find_with_hints(all, &request, &hints)?);
        let found = match groups {
            Some(_) => seek()?,
            None => self.skin_search.parts(request.tolerance, seek)?,
        };
        let used = found.used.map(|i| &hints[i]);
        if let (PartsChoice::Attribute(name), [hint]) = (&plan.parts, &hints[..])
            && let Some(what) = broken_parts(name, hint, used.is_some(), found.parts.broken_groups.len())
        {
            self.remark(what);
        }
        let from = match (groups, used) {
            (Some(_), _) => RIG_ORIGIN,
            (None, Some(hint)) => &hint.name,
            (None, None) if request.connected_only => CONNECTED_ORIGIN,
            (None, None) => MOTION_ORIGIN,
        };
        Ok((found.parts, from.to_owned()))
    }

    /// Seeks bones with weights, for the points that parts leave and for all points, and tries them.
    fn try_skins(&mut self, rig: &RigFacts, parts: PointsLeft) -> Result<(), Error> {
        let asked = self.plan.requested_method;
        let possible = parts.uncovered_fraction > MIN_UNCOVERED_FRACTION || asked == MethodChoice::Skinned;
        if rig.moves {
            return Ok(());
        }
        if !self.is_wanted(MethodChoice::Skinned) || !possible {
            self.skin_search.work.without_skins();
            return Ok(());
        }
        let since = Instant::now();
        let choice = self.find_skin(None, 0.0)?;
        let skin = match (&choice, asked) {
            (Some(choice), _) => Some(Cow::Borrowed(&choice.skin)),
            // Explicitly requested.
            (None, MethodChoice::Skinned) => {
                let all = self.positions.held();
                let bones = DEFAULT_BONES.min(all.points() / 4);
                let request = bones::SkinRequest::new(bones, self.error_bound);
                bones::find_skin(all, &request, &self.plan.source.cancellation)?.map(Cow::Owned)
            }
            _ => None,
        };
        if let Some(skin) = skin {
            let model = self.complete(BoneModel::from_skin(&skin))?;
            self.add_model("skinned", MOTION_ORIGIN, &model, since)?;
        }
        let pays = |mixed: &MixedParts| choice.as_ref().is_none_or(|skin| mixed.may_pay_beside(skin));
        if let Some(MixedParts { parts, without, motion_bits }) = parts.mixed.filter(pays) {
            let since = Instant::now();
            if let Some(choice) = self.find_skin(Some(&without), motion_bits)? {
                let model = self.complete(parts.with_skin(&choice.skin, &without))?;
                self.add_model("skinned", MOTION_ORIGIN, &model, since)?;
            }
        }
        Ok(())
    }

    /// Returns the best skin of some points, or of all, if one is likely enough to be sought at this effort.
    /// `taken`: bits that the motion of the other points takes.
    fn find_skin(&mut self, points: Option<&[u32]>, taken: f64) -> Result<Option<bones::SkinChoice>, Error> {
        let (found, asked) = (self.skin_search, self.plan.requested_method);
        let some = points.map(|points| self.positions.held().subset(points));
        // Regular grids are mostly cloth and water.
        let rich = !self.frames.is_grid();
        let hopeful = found.effort >= MIN_EFFORT_FOR_ALL_SKINS && rich
            || asked == MethodChoice::Skinned
            || found.effort >= MIN_EFFORT_FOR_SKINS
                && !found.are_skins_ruled_out()
                && bones::is_likely(some.as_ref().unwrap_or(self.positions.held()), rich);
        if !hopeful && points.is_none() {
            found.work.without_skins();
        }
        if !hopeful || found.record_likely() {
            return Ok(None);
        }
        // Only a skin that is smaller than all that was tried is wanted.
        self.soft_bytes()?;
        let least = self.trials.iter().filter_map(MethodTrial::cost).min();
        let without_residual = PositionForm { wide: false, bones: Some(BoneCounts::default()) };
        let points_and_frames = (self.positions.held().points(), self.schedule.frames());
        let decoding_bytes = without_residual.bytes(points_and_frames, self.options);
        let limit = match (asked, least) {
            (MethodChoice::Auto, Some(cost)) => (cost as f64 - decoding_bytes as f64) * 8.0 - taken,
            _ => f64::INFINITY,
        };
        let of = some.as_ref().unwrap_or(self.positions.held());
        let effort = search_effort(self.options.effort);
        let request = bones::ChoiceRequest {
            tolerance: self.error_bound,
            influences: MAX_BONES_PER_POINT,
            effort,
            rest: 8.0 * self.soft.static_bytes().len() as f64 * of.points() as f64
                / self.positions.held().points() as f64,
            limit,
        };
        // A search for some of the points comes before that for all, and is not expected.
        let told = |part| {
            if points.is_none() {
                found.work.set_search_progress(part);
            }
        };
        let cancellation = &self.plan.source.cancellation;
        let choose = || Ok(bones::choose_skin(of, request, &told, cancellation)?);
        let skin = found.skin(effort, of.points(), choose)?;
        if skin.is_none() && points.is_none() {
            // Nothing is coded, and more effort or less hardly finds anything either.
            found.work.without_skins();
        }
        Ok(skin)
    }
}

/// Returns `true` if two transforms are equal up to rounding, with translations at most `near` apart.
fn nearly_equal(a: &parts::Similarity, b: &parts::Similarity, near: f64) -> bool {
    a.rotation.dot(b.rotation).abs() > 1.0 - 1e-12 && a.translation.distance(b.translation) <= near
}

/// Returns a remark on parts by an attribute of which some, or most, do not move as one.
fn broken_parts(name: &str, hint: &PartHint, used: bool, broken: usize) -> Option<String> {
    match (used, broken) {
        (true, 0) => None,
        (true, broken) => Some(format!(
            "{broken} of {} parts of attribute '{name}' do not move as one; they were sought in the motion",
            hint.group_count()
        )),
        (false, _) => Some(format!(
            "most of the {} parts of attribute '{name}' do not move as one; parts were sought in the motion",
            hint.group_count()
        )),
    }
}

fn search_effort(effort: u32) -> u32 {
    SEARCH_EFFORTS[effort.clamp(1, 9) as usize - 1]
}

/// Returns the divisions of the tolerance that are worth trying at this effort.
fn divisions(blends: bool, effort: u32) -> &'static [[f64; 3]] {
    match (blends, effort) {
        (false, _) => &PART_BUDGETS[..],
        (true, ..MIN_EFFORT_FOR_DIVISIONS) => &SKIN_BUDGETS[..1],
        _ => &SKIN_BUDGETS,
    }
}

/// Returns, for an `--effort`, the effort of the search for bones, and the number of coders that are made of
/// a skin, for the displayed time left.
pub fn expected_search(effort: u32) -> (u32, usize) {
    (search_effort(effort), divisions(true, effort).len())
}

/// Codes a model with each of these divisions of the tolerance, and returns the result with the fewest bytes.
/// Ends after one that is so much larger than the method soft that no other makes up for it.
fn best_budget(
    list: &[[f64; 3]],
    soft_bytes: Option<u64>,
    mut make: impl FnMut(ErrorBudget) -> Result<CodedModel, Error>,
) -> Result<CodedModel, Error> {
    let mut best = (None, None);
    for &[rest, weights, handles] in list {
        let own = make(ErrorBudget { rest, weights, handles })?;
        let less = |bytes: u64| best.1.is_none_or(|least| bytes < least);
        if own.1.is_some_and(less) {
            best = own;
        }
        let lost = |(bytes, soft): (u64, u64)| bytes as f64 > MAX_BUDGET_RATIO * soft as f64;
        if best.1.zip(soft_bytes).is_some_and(lost) {
            break;
        }
    }
    Ok(best)
}

/// The coder of a model, and its approximate bytes; `None` if it cannot hold the tolerance.
type CodedModel = (Option<SkinnedMesh>, Option<u64>);

/// Codes completely every trial near the best on the sample, so that none is taken that exceeds soft, or
/// another, by less than a sample can show.
fn code_near_trials(
    trials: &mut [MethodTrial],
    soft: &dyn StreamCoder,
    schedule: Schedule,
    options: &Options,
) -> Result<(), Error> {
    let Some(best) = trials.iter().filter_map(MethodTrial::cost).min() else {
        return Ok(());
    };
    let limit = (best as f64 * NEAR_RATIO) as u64;
    let mut near: Vec<&mut MethodTrial> =
        (trials.iter_mut()).filter(|t| t.cost().is_some_and(|cost| cost <= limit)).collect();
    if near.len() < 2 {
        return Ok(());
    }
    for trial in &mut near {
        let since = Instant::now();
        let coder = trial.made.as_ref().map_or(soft, |made| &*made.coder);
        trial.tried.bytes =
            Some(estimate_size(coder, schedule, SegmentSample::all_segments(schedule), options)?);
        trial.tried.seconds += since.elapsed().as_secs_f64();
    }
    Ok(())
}

/// Name of the method without bones in reports.
const SOFT_METHOD: &str = "soft";
/// Origin in reports of bones that were found in the motion.
const MOTION_ORIGIN: &str = "motion";
/// Origin in reports of bones of the source's rig.
const RIG_ORIGIN: &str = "rig of the file";
/// Origin in reports of parts that are the connected pieces of the mesh.
const CONNECTED_ORIGIN: &str = "connected pieces";

/// Creates the coder of a model; `None` if it has no bones or too many, or cannot hold the tolerance.
fn make_coder(
    model: &BoneModel,
    frames: &Arc<PointFrames>,
    all: &Positions,
    schedule: Schedule,
    budget: ErrorBudget,
    options: &Options,
) -> Result<Option<SkinnedMesh>, Error> {
    match model.bones() {
        0 => Ok(None),
        n if n > meshreel_codec::mesh::skin::MAX_BONES as usize => Ok(None),
        _ => skin_coder(model, frames, all, schedule, budget, options),
    }
}

impl SkinnedMesh {
    /// Returns the method that is stored in the file.
    pub fn method(&self) -> Method {
        match self.blends || self.bones.affine > 0 {
            true => Method::Skinned,
            false => Method::Rigid,
        }
    }
}
