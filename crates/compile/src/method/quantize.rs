//! Tolerances to lattices: chooses the precision of each mesh's values, and quantizes its first frame.

use crate::Error;
use crate::context::Content;
use crate::mesh::evaluate::Scratch;
use crate::mesh::lattice::choose_streams;
use crate::mesh::plan::{MeshPlan, Plans};
use crate::mesh::prepared::MeshCandidate;
use crate::mesh::prepared::NormalOrigin;
use crate::mesh::skin_search::SkinSearch;
use crate::meter::{ExpectedSet, ExpectedWork, MeshWork, Meter};
use crate::method::precision::AllowedErrorBounds;
use crate::method::{mesh_coder, precision, skin};
use crate::nodes::budget::{Budget, MIN_VERTEX_ULPS, transform_fraction};
use crate::nodes::flatten::FlatNode;
use crate::report::{Log, VERIFY_TIME_RATIO};
use meshreel_codec::record::{Method, StreamRecord};
use meshreel_codec::schedule::Schedule;
use meshreel_options::{MethodChoice, Options, Preset, Tolerance};
use meshreel_process::extent::ulp;
use meshreel_process::{bones, extent};
use meshreel_scene::Remark;
use rayon::prelude::*;
use std::collections::BTreeSet;
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
    remark_on_memory(out.len(), &content.options, log);
    Ok(out)
}

/// Bytes that each mesh takes while a scene is compiled, besides its points; measured on small meshes.
const MESH_BYTES: u64 = 23_000;

/// Adds a remark if the meshes take more memory than they should.
fn remark_on_memory(meshes: usize, options: &Options, log: &mut Log) {
    let held = meshes as u64 * MESH_BYTES;
    if held > options.memory {
        log.remark(
            "/",
            format!(
                "{meshes} meshes keep about {} MB while they are compiled, more than the {} MB of --memory; fewer at a time (--include) keep less",
                held.div_ceil(1_000_000),
                options.memory / 1_000_000,
            ),
        );
    }
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
            let finest =
                if predicted { precision::normal_error_bound(fixed, options.normal_tolerance) } else { None };
            radius = radius.min(finest.unwrap_or(radius).max(least));
            if prepared.channels.normals != NormalOrigin::None {
                // Equal bits, whatever tolerance it follows from.
                allowed.largest =
                    precision::round_error_bound(allowed.largest).max(least.min(allowed.largest));
                radius = precision::round_error_bound(radius).max(least.min(radius));
            }
            allowed.guess = radius;
        }
        let streams = choose_streams(&candidate.source.mesh, &prepared, radius.max(0.0), options, remarks)?;
        let path = self.content.placed[candidate.placements[0]].path.clone();
        let method = match prepared.particles {
            Some(_) => Method::Particles,
            None => initial_method(prepared.fixed.is_some(), &streams, candidate.method, &path)?,
        };
        let parts = self.content.by_path.parts(&path).clone();
        let mut plan = Arc::new(MeshPlan {
            path,
            source: Arc::new(candidate.source),
            prepared: Arc::new(prepared),
            requested_method: candidate.method,
            parts,
            method,
            streams,
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
        let frames = plan.source.times.len();
        Arc::make_mut(&mut plan).quantize_first_frame(frames, &mut Scratch::default())?;
        if options.preset != Preset::Classic {
            let schedule = Schedule::new(self.content.times.len() as u32, options.restart());
            precision::choose_precision(&mut plan, allowed, schedule, options)?;
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
        let least = (MIN_VERTEX_ULPS * ulp(object_reach)).max(diagonal * precision::MIN_DIAGONAL_FRACTION);
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
fn initial_method(
    fixed: bool,
    streams: &[StreamRecord],
    asked: MethodChoice,
    path: &str,
) -> Result<Method, Error> {
    let animated = fixed && streams.iter().any(|s| s.animated);
    match (fixed, animated) {
        (false, _) => Ok(Method::Fluid),
        (true, true) if asked == MethodChoice::Static => Err(Error::Unsupported {
            what: format!("{path}: it changes over time, --method static cannot keep that"),
        }),
        (true, true) => Ok(Method::Soft),
        (true, false) => Ok(Method::Static),
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
pub fn expected_work(candidate: &MeshCandidate, options: &Arc<Options>) -> ExpectedWork {
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
    let has_trials = predicted && values as usize <= precision::MAX_TRIED_VALUES;
    let trial = values * (position(precision::TRIAL_EFFORT) + sum(CHANNELS));
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
                let steps = bones::expected_steps(points as usize, frames as usize, effort);
                set.skins += BONES * steps as u64;
            }
        }
        sets.push(set);
    }
    let coded = (values * sum(FINAL_NANOSECONDS)) as f64;
    ExpectedWork { sets, frames: (coded * (1.0 + VERIFY_TIME_RATIO)) as u64 }
}
