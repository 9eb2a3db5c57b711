//! Finds runs: from each frame on, as many frames as one fixed mesh fits, then another one.

use super::surface::Surface;
use super::template::Template;
use super::track::{SurfaceFit, compare, track_refined, track_step};
use crate::{Cancellation, Error};
use glam::DVec3;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Consecutive frames that share a fixed mesh.
pub struct Run {
    /// Its first frame, as an index into the examined frames.
    pub first: usize,
    /// The fixed mesh that its frames share.
    pub template: Template,
    /// Positions of its vertices in each of the run's frames.
    pub points: RunPositions,
}

/// The runs that were found.
#[derive(Default)]
pub struct FoundRuns {
    /// The runs, in the order of frames; frames in none keep their own faces.
    pub runs: Vec<Run>,
    /// The smallest distance that would have extended a run by a frame, of those that were tried and did not
    /// hold.
    pub needed: Option<f64>,
    /// `true` if the allowed work was used up before the end.
    pub cut: bool,
}

/// The frames in which runs are sought, and the limits.
pub struct RunRequest<'a> {
    /// Number of frames.
    pub frames: usize,
    /// Reads a frame.
    #[allow(clippy::type_complexity)]
    pub read: &'a (dyn Fn(usize) -> Result<Surface, Error> + Sync),
    /// By frame, `true` if it is the same as the one before it.
    pub same: &'a [bool],
    /// The largest allowed distance, object space.
    pub limit: f64,
    /// The largest total number of points that are moved by a frame or compared with it.
    pub work: u64,
    /// The number of rounds in which a mesh may be refined.
    pub rounds: u32,
    /// Limit for the bytes of cached surfaces, and for those of the points of runs.
    pub memory: u64,
    /// Cancels the search, which then ends with an error.
    pub cancellation: &'a Cancellation,
}

/// The largest ratio of the points of a fixed mesh to those of its frame.
const MAX_POINT_RATIO: usize = 8;

/// The number of points that a fixed mesh may have in any case.
const ALLOWED_POINTS: usize = 4000;

/// The largest ratio of the points of a fixed mesh to those of the source in all frames of its run: the run
/// must be long enough to be worth it.
const MAX_RUN_POINT_RATIO: f64 = 0.3;

/// Approximate bytes of a triangle of a surface.
const TRIANGLE: u64 = 320;

struct RunSearch<'a> {
    wanted: &'a RunRequest<'a>,
    surfaces: BTreeMap<usize, Arc<Surface>>,
    bytes: u64,
    done: u64,
    /// Bytes of the points of all runs.
    held: u64,
}

/// Finds the runs in all frames.
pub fn find_runs(wanted: &RunRequest<'_>) -> Result<FoundRuns, Error> {
    let mut search = RunSearch { wanted, surfaces: BTreeMap::new(), bytes: 0, done: 0, held: 0 };
    let mut found = FoundRuns::default();
    let mut first = 0;
    while first < wanted.frames {
        if search.done >= wanted.work {
            found.cut = true;
            break;
        }
        let (run, needed) = search.longest_run(first)?;
        if let Some(needed) = needed {
            found.needed = Some(found.needed.map_or(needed, |n: f64| n.min(needed)));
        }
        match run {
            Some(run) => {
                first += run.points.len();
                search.held += run_bytes(&run);
                found.runs.push(run);
            }
            None => first += 1,
        }
    }
    Ok(found)
}

impl RunSearch<'_> {
    fn surface(&mut self, frame: usize) -> Result<Arc<Surface>, Error> {
        self.wanted.cancellation.check()?;
        if let Some(surface) = self.surfaces.get(&frame) {
            return Ok(surface.clone());
        }
        let surface = Arc::new((self.wanted.read)(frame)?);
        let bytes = surface.triangles.len() as u64 * TRIANGLE;
        if self.bytes + bytes <= self.wanted.memory {
            self.bytes += bytes;
            self.surfaces.insert(frame, surface.clone());
        }
        Ok(surface)
    }

    fn forget_before(&mut self, frame: usize) {
        let later = self.surfaces.split_off(&frame);
        for surface in std::mem::replace(&mut self.surfaces, later).into_values() {
            self.bytes -= surface.triangles.len() as u64 * TRIANGLE;
        }
    }

    /// Returns the longest run from `first` on that is worth it, and the distance at which it would have
    /// continued.
    fn longest_run(&mut self, first: usize) -> Result<(Option<Run>, Option<f64>), Error> {
        self.forget_before(first);
        let limit = self.wanted.limit;
        let key = self.surface(first)?;
        let mut template = Template::new(&key);
        if template.triangles.is_empty() {
            return Ok((None, None));
        }
        let most = (MAX_POINT_RATIO * template.points.len()).max(ALLOWED_POINTS);
        let (mut points, mut fits) = self.follow_surface(first, &template)?;
        let mut best: Option<Run> = None;
        let mut needed = None;
        for round in 0.. {
            let fit = fits.iter().take_while(|fit| fit.holds(limit)).count();
            needed = fits.get(fit).filter(|fit| fit.folded == 0).map(|fit| fit.worst);
            let sources: usize = (fits[..fit].iter()).map(|fit| fit.points).sum();
            let worth = template.points.len() as f64 <= MAX_RUN_POINT_RATIO * sources as f64;
            if fit > 1 && worth && best.as_ref().is_none_or(|b| fit > b.points.len()) {
                best = Some(Run { first, template: template.clone(), points: points[..fit].to_vec() });
            }
            let all = fits.iter().position(|fit| !fit.may_be_refined(limit));
            fits.truncate(all.unwrap_or(fits.len()));
            points.truncate(fits.len());
            if round >= self.wanted.rounds || fits.len() <= fit || self.done >= self.wanted.work {
                break;
            }
            let mut levels = vec![0u8; template.triangles.len()];
            for fit in &fits {
                for (all, own) in levels.iter_mut().zip(&fit.halvings) {
                    *all = (*own).max(*all);
                }
            }
            if template.refined_points(&levels) > most {
                break;
            }
            let (fine, halved) = template.refine(&levels);
            self.check_memory(points.len(), fine.points.len())?;
            for (k, points) in points.iter_mut().enumerate() {
                let surface = self.surface(first + k)?;
                self.done += (fine.points.len() + surface.points.len()) as u64 / 4;
                *points = rounded(&track_refined(&fine, &halved, widened(points), &surface));
                fits[k] = compare(&fine, &widened(points), &surface, limit);
            }
            template = fine;
        }
        Ok((best, needed))
    }

    /// Moves a mesh from frame to frame as long as finer triangles could hold it; returns the fit in each
    /// frame.
    fn follow_surface(
        &mut self,
        first: usize,
        template: &Template,
    ) -> Result<(RunPositions, Vec<SurfaceFit>), Error> {
        let limit = self.wanted.limit;
        let mut points: RunPositions = vec![rounded(&template.points)];
        let mut fits = vec![SurfaceFit { points: template.points.len(), ..SurfaceFit::default() }];
        for frame in first + 1..self.wanted.frames {
            if self.done >= self.wanted.work {
                break;
            }
            self.check_memory(points.len() + 1, template.points.len())?;
            if self.wanted.same[frame] {
                points.push(points[points.len() - 1].clone());
                fits.push(fits[fits.len() - 1].clone());
                continue;
            }
            let surface = self.surface(frame)?;
            if surface.triangles.is_empty() {
                break;
            }
            self.done += (template.points.len() + surface.points.len()) as u64;
            let from = widened(&points[points.len() - 1]);
            let ahead = (points.len() > 1).then(|| {
                let before = widened(&points[points.len() - 2]);
                let on = from.iter().zip(&before).map(|(a, b)| *a * 2.0 - *b);
                on.collect::<Vec<DVec3>>()
            });
            let to = rounded(&track_step(template, &from, ahead.as_deref(), &surface));
            let fit = compare(template, &widened(&to), &surface, limit);
            let on = fit.may_be_refined(limit);
            points.push(to);
            fits.push(fit);
            if !on {
                break;
            }
        }
        Ok((points, fits))
    }

    /// Checks the memory, in which points are held until they are written.
    fn check_memory(&self, frames: usize, points: usize) -> Result<(), Error> {
        let asked = self.held + 12 * (frames * points) as u64;
        match asked > self.wanted.memory {
            true => Err(Error::Limit {
                what: "--remesh holds points of all frames in memory, raise --memory: bytes".into(),
                asked,
                allowed: self.wanted.memory,
            }),
            false => Ok(()),
        }
    }
}

/// Points by frame.
type RunPositions = Vec<Vec<[f32; 3]>>;

fn run_bytes(run: &Run) -> u64 {
    12 * (run.points.len() * run.template.points.len()) as u64
}

fn rounded(points: &[DVec3]) -> Vec<[f32; 3]> {
    points.iter().map(|p| p.to_array().map(|v| v as f32)).collect()
}

fn widened(points: &[[f32; 3]]) -> Vec<DVec3> {
    points.iter().map(|p| DVec3::from_array(p.map(f64::from))).collect()
}
