//! Which method a mesh gets: candidates are made, coded on a sample of their frames, and the smallest wins.

use super::hints::hints;
use super::model::Model;
use super::posed::Shares;
use super::positions::Positions;
use super::residual::{Made, coder};
use super::rigid::STILL;
use super::source_rig::{self, Given};
use crate::Error;
use crate::mesh::plan::MeshPlan;
use crate::mesh::skin_search::SkinSearch;
use crate::method::coder::Coder;
use crate::method::estimate::{Sample, size};
use crate::method::points::{self, Frames};
use crate::report::Tried;
use meshreel_codec::mesh::skin::MOST_BONES;
use meshreel_codec::record::Method;
use meshreel_codec::schedule::Schedule;
use meshreel_options::{MethodChoice, Options, PartsChoice, TransformForm};
use meshreel_process::bones;
use meshreel_process::parts::ids::given as given_parts;
use meshreel_process::parts::{self, NONE, Trajectories};
use meshreel_scene::Remark;
use std::time::Instant;

// Tuning.
/// Distance at which a point follows a part, of the diagonal; never more than so much of the tolerance.
const FOLLOWS: f64 = 1e-5;
const OF_TOLERANCE: f64 = 0.25;
/// Parts are worth a try where they have so much of the points, skins where parts leave so much.
const COVERED: f64 = 0.05;
const LEFT: f64 = 0.02;
/// Where parts pay and have so much, bones are also sought for what they leave alone.
const MIXED: f64 = 0.25;
/// Bones of a point, at most; number of bones where a skin is asked for that does not pay.
const INFLUENCES: usize = 4;
/// A skin is sought on while its estimate is below this many times the bytes of the soft codec; estimates
/// before anything is coded are too high rather than too low.
const WORTH: f64 = 1.5;
/// Shares of the rest pose, weights and handles: for parts, for skins, the best guess first.
const OF_PARTS: [[f64; 3]; 1] = [[0.5, 0.15, 0.15]];
const OF_SKINS: [[f64; 3]; 3] = [[0.39, 0.45, 0.75], [0.6, 0.6, 0.9], [0.3, 0.37, 0.5]];
/// Effort from which several are tried.
const SEVERAL: u32 = 3;
/// Effort from which skins are sought where they are likely, and where they are not.
pub const HASTY: u32 = 4;
const PATIENT: u32 = 8;
const USUAL: usize = 24;
/// By effort how thoroughly skins are sought.
const SEARCHES: [u32; 9] = [5, 5, 5, 5, 5, 5, 7, 7, 9];
/// What seems to take no more than so many times what the best seems to take is coded whole before one is
/// taken.
const NEAR: f64 = 1.2;

/// A method that was tried, and what it made; nothing of soft.
struct Trial<'a> {
    tried: Tried,
    made: Option<Made<'a>>,
}

impl<'a> Trial<'a> {
    fn new(
        method: &'static str,
        from: &str,
        made: Option<Made<'a>>,
        bytes: Option<u64>,
        since: Instant,
    ) -> Trial<'a> {
        let bones = made.as_ref().map_or(Default::default(), |made| made.bones);
        Trial {
            tried: Tried {
                method,
                from: from.into(),
                bones: [bones.rigid as usize, bones.affine as usize],
                residual: bones.coded as usize,
                bytes,
                taken: false,
                seconds: since.elapsed().as_secs_f64(),
            },
            made,
        }
    }
}

/// What a mesh is kept as.
#[derive(Default)]
pub struct Chosen<'a> {
    /// Bones, where they are smaller or asked for.
    pub made: Option<Made<'a>>,
    /// What was tried.
    pub tried: Vec<Tried>,
    /// What the user should know.
    pub remarks: Vec<Remark>,
}

/// Chooses among methods: bones, where they are smaller or asked for.
pub fn choose<'a>(
    plan: &MeshPlan<'_>,
    frames: &'a Frames<'a>,
    soft: &dyn Coder,
    schedule: Schedule,
    options: &Options,
    found: &SkinSearch<'_>,
) -> Result<Chosen<'a>, Error> {
    let mut remarks = Vec::new();
    let asked = plan.asked;
    let wants = |method| asked == MethodChoice::Auto || asked == method;
    if !(wants(MethodChoice::Rigid) || wants(MethodChoice::Skinned)) || schedule.frames() < 3 {
        return Ok(Chosen::default());
    }
    let points = soft.order().len();
    if points < 4 {
        return Ok(Chosen::default());
    }
    let (count, memory) = (schedule.frames(), options.memory);
    let Some(positions) = Positions::read(frames, points, count, memory)? else {
        let what = format!(
            "parts and bones, which may make it many times smaller, were not looked for: {points} points in {count} frames ask for --memory {}MB",
            Positions::memory(points, count).div_ceil(1_000_000)
        );
        return Ok(Chosen { remarks: vec![Remark::new(&plan.path, what)], ..Chosen::default() });
    };
    let all = positions.looked();
    let mut trials: Vec<Trial<'a>> = Vec::new();
    let sample = Sample::new(points, schedule, options.effort);
    let mut soft_bytes = None;
    if asked == MethodChoice::Auto {
        let since = Instant::now();
        soft_bytes = Some(size(soft, schedule, sample, options)?);
        trials.push(Trial::new("soft", "", None, soft_bytes, since));
    }
    let Some(extent) = points::extent(frames) else {
        return Ok(Chosen::default());
    };
    let (_, triangles) = points::levels(frames);
    let mut add_model = |method, from: &str, model: &Model, since: Instant| {
        let try_shares = |shares| {
            let made = make(model, frames, &positions, schedule, shares, options)?;
            let bytes = (made.as_ref()).map(|made| size(&*made.coder, schedule, sample, options));
            Ok::<_, Error>((made, bytes.transpose()?))
        };
        let (made, bytes) = best_shares(model, options.effort, try_shares)?;
        trials.push(Trial::new(method, from, made, bytes, since));
        Ok::<_, Error>(bytes)
    };
    let since = Instant::now();
    let given = match wants(MethodChoice::Skinned) {
        true => source_rig::rig(frames, &positions, extent.radius, options.memory / 4)?,
        false => Given::None,
    };
    if let Given::Other(points) = given {
        let what = format!(
            "its rig does not move it as it moves ({points} of {} points are elsewhere); bones are sought in its motion",
            all.points()
        );
        remarks.push(Remark::new(&plan.path, what));
    }
    let rig = match given {
        Given::Rig(model) => {
            add_model("skinned", RIG, &model, since)?;
            true
        }
        _ => false,
    };
    // Of a rig whose points hang on one joint each, the joints may be parts.
    let groups = match (rig, &plan.source.mesh.skin) {
        (true, Some(skin)) => source_rig::joints(skin, frames),
        _ => None,
    };
    let mut left = 1.0;
    // Parts, and the points that none of them has.
    let mut mixed = None;
    if wants(MethodChoice::Rigid) && (!rig || groups.is_some() || asked == MethodChoice::Rigid) {
        let since = Instant::now();
        found.share.trying("parts");
        let request = parts::Request {
            tolerance: (all.diagonal() * FOLLOWS).min(extent.radius * OF_TOLERANCE),
            groups: groups.as_deref().unwrap_or_default(),
            triangles: &triangles,
            pieces_only: plan.parts == PartsChoice::Connected,
        };
        let hints = match groups {
            Some(_) => Vec::new(),
            None => hints(frames, &plan.parts, &plan.path, &mut remarks)?,
        };
        let found = given_parts(all, &request, &hints);
        let parts = found.parts;
        let (from, broken) = match (&groups, found.used.map(|i| &hints[i])) {
            (Some(_), _) => (RIG, None),
            (None, Some(hint)) => (&hint.name[..], Some(hint.count())),
            (None, None) if request.pieces_only => (PIECES, None),
            (None, None) => (MOTION, None),
        };
        if let (PartsChoice::Attribute(name), [hint]) = (&plan.parts, &hints[..]) {
            let what = match (broken, parts.broken_groups.len()) {
                (Some(_), 0) => None,
                (Some(count), broken) => Some(format!(
                    "{broken} of {count} parts of attribute '{name}' do not move as one; they were sought in the motion"
                )),
                (None, _) => Some(format!(
                    "most of the {} parts of attribute '{name}' do not move as one; parts were sought in the motion",
                    hint.count()
                )),
            };
            remarks.extend(what.map(|what| Remark::new(&plan.path, what)));
        }
        if parts.len() > MOST_BONES as usize {
            let what = format!(
                "{} parts, {MOST_BONES} at most in one mesh: the smallest are kept point by point; split the mesh to keep them as parts",
                parts.len()
            );
            remarks.push(Remark::new(&plan.path, what));
        }
        let without: Vec<u32> =
            (0u32..).zip(&parts.of).filter_map(|(p, &part)| (part == NONE).then_some(p)).collect();
        left = without.len() as f64 / points as f64;
        if 1.0 - left > COVERED || asked == MethodChoice::Rigid {
            let model = Model::of_parts(all, &parts);
            let model = positions.complete(model, extent.radius * STILL)?;
            let model = match options.transforms {
                TransformForm::Clip => model,
                TransformForm::Packed => model.by_time(extent.radius * STILL),
            };
            let bytes = add_model("rigid", from, &model, since)?;
            let pays = bytes.is_some_and(|bytes| soft_bytes.is_some_and(|soft| bytes < soft));
            mixed = (pays && 1.0 - left > MIXED && left > LEFT).then_some((model, without));
        }
    }
    if wants(MethodChoice::Skinned) && !rig && (left > LEFT || asked == MethodChoice::Skinned) {
        let limit = match (asked, soft_bytes) {
            (MethodChoice::Auto, Some(bytes)) => bytes as f64 * 8.0 * WORTH,
            _ => f64::INFINITY,
        };
        // Regular grids are cloth and water.
        let rich = !frames.is_grid();
        let find = |of: &Trajectories| {
            let hopeful = found.effort >= PATIENT
                || asked == MethodChoice::Skinned
                || found.effort >= HASTY && bones::likely(of, rich);
            let effort = SEARCHES[options.effort.clamp(1, 9) as usize - 1];
            let told = |part| found.share.sought(part);
            let choose = || bones::choose(of, extent.radius, INFLUENCES, effort, limit, &told);
            hopeful.then(|| found.once(effort, of.points(), choose)).flatten()
        };
        if let Some((parts, without)) = mixed {
            let since = Instant::now();
            if let Some(choice) = find(&all.of(&without)) {
                let model = parts.and_skin(&choice.skin, &without);
                let model = positions.complete(model, extent.radius * STILL)?;
                add_model("skinned", MOTION, &model, since)?;
            }
        }
        let since = Instant::now();
        let chosen = find(all);
        let skin = match (chosen, asked) {
            (Some(choice), _) => Some(choice.skin),
            // It was asked for.
            (None, MethodChoice::Skinned) => {
                let bones = USUAL.min(points / 4);
                bones::find(all, &bones::Request::new(bones, extent.radius))
            }
            _ => None,
        };
        if let Some(skin) = skin {
            let model = positions.complete(Model::of_skin(&skin), extent.radius * STILL)?;
            add_model("skinned", MOTION, &model, since)?;
        }
    }
    if !sample.whole {
        count_near(&mut trials, soft, schedule, options)?;
    }
    let bytes = |trial: &Trial<'_>| trial.tried.bytes;
    let best = (0..trials.len()).filter(|&i| bytes(&trials[i]).is_some());
    let best = best.min_by_key(|&i| bytes(&trials[i]));
    if let Some(best) = best {
        trials[best].tried.taken = true;
    }
    Ok(Chosen {
        made: best.and_then(|best| trials[best].made.take()),
        tried: trials.into_iter().map(|trial| trial.tried).collect(),
        remarks,
    })
}

/// What a model makes with the shares that take the fewest bytes.
fn best_shares<'a>(
    model: &Model,
    effort: u32,
    mut make: impl FnMut(Shares) -> Result<Coded<'a>, Error>,
) -> Result<Coded<'a>, Error> {
    let list = match (model.affine.is_empty(), effort) {
        (true, _) => &OF_PARTS[..],
        (false, ..SEVERAL) => &OF_SKINS[..1],
        _ => &OF_SKINS,
    };
    let mut best = (None, None);
    for &[rest, weights, handles] in list {
        let own = make(Shares { rest, weights, handles })?;
        let less = |bytes: u64| best.1.is_none_or(|least| bytes < least);
        if own.1.is_some_and(less) {
            best = own;
        }
    }
    Ok(best)
}

/// What a model makes, and about how many bytes it takes; none, where it cannot hold the tolerance.
type Coded<'a> = (Option<Made<'a>>, Option<u64>);

/// Codes whole what lies near the best on a sample, so that nothing is taken that is larger than soft, or
/// than another, by more than a sample can tell.
fn count_near(
    trials: &mut [Trial<'_>],
    soft: &dyn Coder,
    schedule: Schedule,
    options: &Options,
) -> Result<(), Error> {
    let Some(best) = trials.iter().filter_map(|t| t.tried.bytes).min() else {
        return Ok(());
    };
    let limit = (best as f64 * NEAR) as u64;
    let mut near: Vec<&mut Trial<'_>> =
        (trials.iter_mut()).filter(|t| t.tried.bytes.is_some_and(|bytes| bytes <= limit)).collect();
    if near.len() < 2 {
        return Ok(());
    }
    for trial in &mut near {
        let since = Instant::now();
        let coder = trial.made.as_ref().map_or(soft, |made| &*made.coder);
        trial.tried.bytes = Some(size(coder, schedule, Sample::whole(schedule), options)?);
        trial.tried.seconds += since.elapsed().as_secs_f64();
    }
    Ok(())
}

/// Where bones come from.
const MOTION: &str = "motion";
const RIG: &str = "rig of the file";
const PIECES: &str = "connected pieces";

fn make<'a>(
    model: &Model,
    frames: &'a Frames<'a>,
    all: &Positions<'_>,
    schedule: Schedule,
    shares: Shares,
    options: &Options,
) -> Result<Option<Made<'a>>, Error> {
    match model.bones() {
        0 => Ok(None),
        n if n > meshreel_codec::mesh::skin::MOST_BONES as usize => Ok(None),
        _ => coder(model, frames, all, schedule, shares, options),
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
