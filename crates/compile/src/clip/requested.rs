//! The requested clips: those that `--include` and `--exclude` select, at the requested rate and range, over
//! skeletons with the shell distances and tolerances of single joints.

use super::ClipOptions;
use super::division::requested_division;
use super::layer::LayerDivision;
use crate::Error;
use crate::context::Tightening;
use globset::GlobSet;
use meshreel_options::globs::{glob_matches, globs};
use meshreel_options::{Options, Tolerance};
use meshreel_process::Cancellation;
use meshreel_scene::node_clip::TRANSFORMS_FORMAT;
use meshreel_scene::{Clip, LengthUnit, Remark, Scene, Skeleton};
use std::borrow::Cow;

/// Usual tolerance and shell distance, in metres.
const DEFAULT_TOLERANCE_METRES: f64 = 0.000_1;
const DEFAULT_SHELL_METRES: f64 = 0.03;

/// The clips that are compiled, and all skeletons, with their settings.
pub struct RequestedClips<'a> {
    /// The settings for all clips, lengths in the file's unit.
    pub options: ClipOptions,
    /// All skeletons of the scene, in order.
    pub skeletons: Vec<RequestedSkeleton>,
    /// The clips that are compiled, in order.
    pub clips: Vec<Cow<'a, Clip>>,
    /// The index of each of them in the scene.
    pub scene_indices: Vec<usize>,
}

/// A skeleton, with the settings of its joints.
pub struct RequestedSkeleton {
    /// The skeleton, with the requested shell distances.
    pub skeleton: Skeleton,
    /// Tolerances of single joints, one for each, 0 for the general one; or empty.
    pub tolerances: Vec<f64>,
    /// Indices of the joints that are pinned.
    pub pinned: Vec<usize>,
    /// Layers of its clips.
    pub division: Option<LayerDivision>,
    /// The largest tolerance that rigs on the skeleton allow its clips.
    pub max_tolerance: f64,
}

impl<'a> RequestedClips<'a> {
    /// Selects the clips of a scene that are compiled, with their settings; adds remarks on globs that match
    /// nothing.
    pub fn new(
        scene: &'a Scene,
        options: &Options,
        remarks: &mut Vec<Remark>,
    ) -> Result<RequestedClips<'a>, Error> {
        let clip_options = clip_options(scene, options)?;
        let mut skeletons = Vec::with_capacity(scene.skeletons.len());
        let mut used = vec![false; options.clips.joints.len()];
        let joints: Vec<String> = (options.clips.joints.iter()).map(|over| over.glob.clone()).collect();
        let sections = globs("the glob of a joint section", &joints)?;
        for skeleton in &scene.skeletons {
            if skeleton.joints.is_empty() {
                return Err(Error::Unsupported { what: format!("skeleton {} has no joints", skeleton.name) });
            }
            let mut wanted = RequestedSkeleton {
                skeleton: skeleton.clone(),
                tolerances: Vec::new(),
                pinned: Vec::new(),
                division: None,
                max_tolerance: f64::INFINITY,
            };
            for (j, matches) in matching_sections(&sections, skeleton).into_iter().enumerate() {
                for i in matches {
                    used[i] = true;
                    let section = &options.clips.joints[i];
                    if section.shell.is_some() {
                        wanted.skeleton.joints[j].shell = section.shell;
                    }
                    if let Some(tolerance) = section.tolerance {
                        wanted.tolerances.resize(skeleton.joints.len(), 0.0);
                        wanted.tolerances[j] = tolerance;
                    }
                    if section.pinned && wanted.pinned.last() != Some(&j) {
                        wanted.pinned.push(j);
                    }
                }
            }
            wanted.division = requested_division(&wanted.skeleton, &clip_options, options, remarks)?;
            skeletons.push(wanted);
        }
        for (section, _) in options.clips.joints.iter().zip(&used).filter(|(_, used)| !**used) {
            remarks.push(Remark::new(&section.glob, "matches no joint"));
        }
        let include = globs("--include", &options.include)?;
        let exclude = globs("--exclude", &options.exclude)?;
        let mut clips = Vec::with_capacity(scene.clips.len());
        let mut numbers = Vec::with_capacity(scene.clips.len());
        for (number, clip) in scene.clips.iter().enumerate() {
            if scene.skeletons.get(clip.skeleton).is_none() {
                return Err(Error::misuse(format!("clip {} has no skeleton", clip.name)));
            }
            let path = format!("/{}", clip.name);
            // For transforms, the globs have already selected joints.
            let chosen = scene.format == TRANSFORMS_FORMAT;
            if chosen
                || (include.is_empty() || glob_matches(&include, &path)) && !glob_matches(&exclude, &path)
            {
                clips.push(clip.portion(options.fps, options.range)?);
                numbers.push(number);
            }
        }
        if clips.is_empty() && scene.meshes.is_empty() {
            return Err(Error::Unsupported {
                what: format!(
                    "none of the {} clips is left to compile (check --include and --exclude; a clip's path is / and its name)",
                    scene.clips.len()
                ),
            });
        }
        Ok(RequestedClips { options: clip_options, skeletons, clips, scene_indices: numbers })
    }

    /// Halves every tolerance of joints.
    pub fn tighten(&mut self) {
        self.options.tolerance *= Tightening::FRACTION;
        let own = self.skeletons.iter_mut().flat_map(|skeleton| &mut skeleton.tolerances);
        own.for_each(|tolerance| *tolerance *= Tightening::FRACTION);
    }

    /// Returns the settings for the clips of a skeleton.
    pub fn skeleton_options(&self, skeleton: usize) -> ClipOptions {
        let tolerance = self.options.tolerance.min(self.skeletons[skeleton].max_tolerance);
        ClipOptions { tolerance, ..self.options.clone() }
    }
}

/// Returns the length of a unit in metres; a file without one is taken as centimetres.
fn metres(unit: Option<LengthUnit>) -> f64 {
    unit.unwrap_or(LengthUnit::Centimetre).metres()
}

/// Returns the options of clips from those of a compile.
fn clip_options(scene: &Scene, options: &Options) -> Result<ClipOptions, Error> {
    let unit = metres(options.unit.or(scene.unit));
    let tolerance = match options.tolerance {
        Tolerance::Absolute(t) => t,
        // The default, or a tolerance given for meshes.
        Tolerance::Relative(t) if t == 1e-4 || !scene.meshes.is_empty() => DEFAULT_TOLERANCE_METRES / unit,
        Tolerance::Relative(_) => {
            return Err(Error::misuse(
                "a clip's --tolerance is a length (of any joint's error), not a percentage; for example --tolerance 0.01",
            ));
        }
    };
    Ok(ClipOptions {
        tolerance,
        shell: options.shell.unwrap_or(DEFAULT_SHELL_METRES / unit),
        effort: options.effort as u8,
        // The largest interval of restarts up to the requested one.
        restart: options.index_every.map_or(7, |n| n.max(2).ilog2().min(7) as u8),
        cancellation: Cancellation::never(),
    })
}

/// Returns the sections that match each joint, in order, by its name or its path from the root.
fn matching_sections(sections: &GlobSet, skeleton: &Skeleton) -> Vec<Vec<usize>> {
    let joints = &skeleton.joints;
    if sections.is_empty() {
        return Vec::new();
    }
    (0..joints.len())
        .map(|j| {
            let mut matches = sections.matches(&joints[j].name);
            matches.extend(sections.matches(skeleton.path(j)));
            matches.sort_unstable();
            matches.dedup();
            matches
        })
        .collect()
}
