//! The options with which a file was compiled, by the paths of objects and joints. They are all that a
//! checker takes from the file about what it should contain; everything else comes from the source.

use globset::{Glob, GlobMatcher};
use meshreel_options::{LayerChoice, Options, RigChoice};
use meshreel_scene::sample::FrameOptions;
use meshreel_scene::{Joint, Skeleton};

pub(crate) use meshreel_options::{Strip as Stripping, Tolerance};

/// The options that change content, as the compiler stored them in the file.
#[derive(Debug)]
pub(crate) struct RequestedOptions {
    pub tolerance: Tolerance,
    /// Allowed angle between normals, in degrees.
    pub normal_tolerance: f64,
    /// Allowed distance between uvs, in texture widths.
    pub uv_tolerance: f64,
    /// Allowed error of scalar tracks; a relative one is a fraction of each component's range.
    pub scalar_tolerance: Tolerance,
    /// Bits per colour component.
    pub colour_bits: u32,
    /// Edges that are folded by more than this many degrees are creases, where normals are computed.
    pub smooth_angle: Option<f64>,
    pub frames: FrameOptions,
    /// Objects hidden in the source are shown.
    pub show_hidden: bool,
    pub clips_only: bool,
    /// The number of LOD levels beside the mesh itself.
    pub lod: usize,
    /// Triangles may be left out while nobody can see them.
    pub triangle_visibility: bool,
    /// Animated vertex attributes may be in chunks of their own.
    pub attributes_apart: bool,
    /// The option for rigs of meshes.
    pub rig: RigMode,
    /// Allowed distance of players from the source between two frames, in tolerances, as far as the source
    /// defines the motion there. If it is given, the file may have frames between the source's samples.
    pub between: Option<f64>,
    include: Vec<GlobMatcher>,
    exclude: Vec<GlobMatcher>,
    meshes: Vec<(GlobMatcher, Tolerance)>,
    cycle: bool,
    remesh: bool,
    remesh_blend: Option<usize>,
    remeshes: Vec<(GlobMatcher, bool)>,
    pub clips: ClipOptions,
}

/// The option for rigs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RigMode {
    /// No mesh has a rig.
    #[default]
    None,
    /// Meshes may have rigs.
    Allowed,
    /// Each mesh that clips move has a rig, and does not move in frames.
    Only,
}

impl From<RigChoice> for RigMode {
    fn from(choice: RigChoice) -> RigMode {
        match choice {
            RigChoice::Bake => RigMode::None,
            RigChoice::Keep => RigMode::Allowed,
            RigChoice::Only => RigMode::Only,
        }
    }
}

/// Options of clips.
#[derive(Debug, Default)]
pub(crate) struct ClipOptions {
    /// Shell distance of joints that have none of their own, in the file's length unit.
    pub shell: Option<f64>,
    /// The local rule, under which each sub-track is held to a tolerance by itself: the tolerances of
    /// rotations, translations and scales, and whether they shrink towards the root.
    pub local: Option<([Option<f64>; 3], bool)>,
    tolerances: Vec<(GlobMatcher, f64)>,
    shells: Vec<(GlobMatcher, f64)>,
    pinned: Vec<GlobMatcher>,
    /// Clip layers, the base first. If empty, a clip has no layers, unless the source names some.
    pub layers: Vec<RequestedLayer>,
    joint_layers: Vec<(GlobMatcher, String)>,
    /// Factors on the importance of joints.
    biases: Vec<(GlobMatcher, f64)>,
    stepped: bool,
}

/// A requested clip layer.
#[derive(Debug, Default)]
pub(crate) struct RequestedLayer {
    pub name: String,
    /// Samples per second, if fewer than the clip's.
    pub rate: Option<f64>,
    pub strip: Stripping,
    pub tiers: usize,
    /// The limits for joints that are put into this layer by importance: those below this fraction of the
    /// largest importance, and this fraction of all joints, the least important ones.
    automatic: [Option<f64>; 2],
    joints: Vec<GlobMatcher>,
}

impl ClipOptions {
    /// Takes the options of clips.
    fn new(options: &Options) -> Result<ClipOptions, String> {
        let mut clips = ClipOptions {
            shell: options.shell,
            local: options.clips.curve.local.as_ref().map(|local| (local.tolerances, local.adaptive)),
            layers: options.clips.layers.iter().map(RequestedLayer::new).collect::<Result<_, _>>()?,
            ..ClipOptions::default()
        };
        for over in &options.clips.joints {
            // The option does not depend on which joints these are.
            if over.stepped {
                clips.stepped = true;
                continue;
            }
            let glob = glob(&over.glob)?;
            clips.tolerances.extend(over.tolerance.map(|tolerance| (glob.clone(), tolerance)));
            clips.shells.extend(over.shell.map(|shell| (glob.clone(), shell)));
            clips.biases.extend(over.bias.map(|bias| (glob.clone(), bias)));
            clips.joint_layers.extend(over.layer.clone().map(|layer| (glob.clone(), layer)));
            clips.pinned.extend(over.pinned.then_some(glob));
        }
        Ok(clips)
    }

    /// Layer number `l`.
    pub fn layer(&self, l: usize) -> Option<&RequestedLayer> {
        self.layers.get(l)
    }

    /// `true` if clips of this skeleton are in layers.
    pub fn has_layers(&self, skeleton: &Skeleton) -> bool {
        let plain = |l: &RequestedLayer| l.rate.is_none() && l.strip == Stripping::None && l.tiers == 1;
        match &self.layers[..] {
            [] => self.stepped || skeleton.joints.iter().any(|j| j.layer.is_some()),
            [one] => !plain(one) || self.stepped,
            _ => true,
        }
    }

    /// Returns, for each joint, the number of the highest layer that it may be in; in a lower one it is
    /// decoded more exactly. `shells`: the shell distance of each joint. `names`: the names of the layers,
    /// the base first.
    pub fn highest_layers(&self, skeleton: &Skeleton, shells: &[f64], names: &[&str]) -> Vec<usize> {
        let number = |name: &str| names.iter().position(|own| *own == name);
        let paths: Vec<String> = (0..skeleton.joints.len()).map(|j| skeleton.path(j)).collect();
        let joints = || skeleton.joints.iter().zip(&paths);
        let biases: Vec<f64> =
            joints().map(|(j, path)| self.bias(&j.name, path).or(j.bias).unwrap_or(1.0)).collect();
        let matters = importance(skeleton, shells, &biases);
        let limits: Vec<f64> = (self.layers.iter()).map(|layer| layer.max_importance(&matters)).collect();
        let layer = |(joint, path): (&Joint, &String), matters: &f64| {
            let hit = |glob: &GlobMatcher| glob.is_match(&joint.name) || glob.is_match(path);
            let named = joint.layer.as_deref().and_then(number);
            let own = (self.joint_layers.iter().rev()).find(|(glob, _)| hit(glob));
            let own = own.and_then(|(_, name)| number(name));
            let listed = (self.layers.iter()).rposition(|layer| layer.joints.iter().any(hit));
            let automatic = limits.iter().rposition(|limit| matters <= limit);
            own.or(listed).or(named).or(automatic).unwrap_or(0)
        };
        joints().zip(&matters).map(|(j, m)| layer(j, m)).collect()
    }

    /// Returns the tolerance of a joint, if it has one of its own. `path`: the names from the root.
    pub fn tolerance(&self, name: &str, path: &str) -> Option<f64> {
        last(&self.tolerances, name, path)
    }

    /// Returns the shell distance of a joint, if it has one of its own.
    pub fn shell(&self, name: &str, path: &str) -> Option<f64> {
        last(&self.shells, name, path)
    }

    /// Returns the factor on a joint's importance, if it has one.
    pub fn bias(&self, name: &str, path: &str) -> Option<f64> {
        last(&self.biases, name, path)
    }

    /// `true` if a joint must stay in its place.
    pub fn pinned(&self, name: &str, path: &str) -> bool {
        let hit = |glob: &GlobMatcher| glob.is_match(name) || glob.is_match(path);
        self.pinned.iter().any(hit)
    }
}

impl RequestedLayer {
    fn new(layer: &LayerChoice) -> Result<RequestedLayer, String> {
        Ok(RequestedLayer {
            name: layer.name.clone(),
            rate: layer.rate,
            strip: layer.strip,
            tiers: layer.tiers.into(),
            automatic: [layer.below, layer.fraction],
            joints: globs(&layer.joints)?,
        })
    }

    /// Returns the largest importance that a joint may have to be put into this layer for it; −1 if no joint
    /// may.
    fn max_importance(&self, matters: &[f64]) -> f64 {
        let [below, share] = self.automatic;
        let mut sorted = matters.to_vec();
        sorted.sort_by(f64::total_cmp);
        let most = sorted.last().copied().unwrap_or(0.0);
        let count = (share.unwrap_or(0.0).min(1.0) * sorted.len() as f64) as usize;
        let shared = match count {
            0 => -1.0,
            count => sorted[count - 1],
        };
        let limit = below.map_or(-1.0, |part| part * most).max(shared);
        // The compiler adds up in f32 and in another order, so nearly equal counts as equal.
        if limit < 0.0 { limit } else { limit * (1.0 + 1e-6) }
    }
}

/// Returns the importance of each joint: the sum of the lengths of the paths, along the bones of the rest
/// pose, to the origins of all joints that it moves and to the three points where their error is measured,
/// times its bias; at least that of its children. `shells`: the shell distance of each joint.
fn importance(skeleton: &Skeleton, shells: &[f64], biases: &[f64]) -> Vec<f64> {
    let n = skeleton.joints.len();
    let mut out = vec![0.0; n];
    for k in 0..n {
        // All joints that move k, from itself upwards.
        let (mut way, mut at) = (0.0, Some(k));
        while let Some(j) = at {
            out[j] += 4.0 * way + 3.0 * shells[k];
            way += skeleton.joints[j].rest.translation.length();
            at = skeleton.joints[j].parent;
        }
    }
    for j in (0..n).rev() {
        out[j] *= biases[j];
    }
    for j in (0..n).rev() {
        if let Some(parent) = skeleton.joints[j].parent {
            out[parent] = out[parent].max(out[j]);
        }
    }
    out
}

/// Returns the value of the last glob that matches.
fn last(sections: &[(GlobMatcher, f64)], name: &str, path: &str) -> Option<f64> {
    let mut later = sections.iter().rev();
    later.find(|(glob, _)| glob.is_match(name) || glob.is_match(path)).map(|(_, value)| *value)
}

impl RequestedOptions {
    /// Parses the options of a file; the error says which line is invalid. Keys that do not concern content
    /// are ignored.
    pub fn parse(text: &str) -> Result<RequestedOptions, String> {
        let options = Options::from_text(text).map_err(|error| error.to_string())?;
        let (mut meshes, mut remeshes) = (Vec::new(), Vec::new());
        for over in &options.meshes {
            if let Some(tolerance) = over.tolerance {
                meshes.push((glob(&over.glob)?, tolerance));
            }
            if let Some(remesh) = over.remesh {
                remeshes.push((glob(&over.glob)?, remesh));
            }
        }
        Ok(RequestedOptions {
            tolerance: options.tolerance,
            normal_tolerance: options.normal_tolerance,
            uv_tolerance: options.uv_tolerance,
            scalar_tolerance: options.scalar_tolerance,
            colour_bits: options.colour_bits,
            smooth_angle: options.smooth_angle,
            frames: options.frame_options(),
            show_hidden: options.show_hidden,
            clips_only: options.clips_only,
            lod: options.lod as usize,
            triangle_visibility: options.cull_hidden,
            attributes_apart: options.attributes_apart,
            rig: options.rig.into(),
            between: options.between.multiple(),
            include: globs(&options.include)?,
            exclude: globs(&options.exclude)?,
            meshes,
            cycle: options.cycle,
            remesh: options.remesh,
            remesh_blend: options.remesh_blend,
            remeshes,
            clips: ClipOptions::new(&options)?,
        })
    }

    /// `true` if the object at `path` is compiled. A pattern that matches a group also matches everything
    /// below it.
    pub fn selects(&self, path: &str) -> bool {
        let hit =
            |patterns: &[GlobMatcher]| ancestors(path).any(|p| patterns.iter().any(|glob| glob.is_match(p)));
        (self.include.is_empty() || hit(&self.include)) && !hit(&self.exclude)
    }

    /// `true` if the object at `path` may get other faces.
    pub fn remeshes(&self, path: &str) -> bool {
        let own = self.remeshes.iter().rev().find(|(glob, _)| glob.is_match(path));
        own.map_or(self.remesh, |(_, remesh)| *remesh)
    }

    /// Returns how many of the `frames` of a loop may be blended: the given number, or an eighth.
    pub fn blended(&self, frames: usize) -> usize {
        match (self.cycle, self.remesh_blend) {
            (false, _) => 0,
            (true, Some(asked)) => asked.min(frames.saturating_sub(2)),
            (true, None) => frames.div_ceil(8).min(frames.saturating_sub(2)),
        }
    }

    /// Returns the tolerance for the object at `path`.
    pub fn tolerance(&self, path: &str) -> Tolerance {
        self.meshes
            .iter()
            .rev()
            .find(|(glob, _)| glob.is_match(path))
            .map_or(self.tolerance, |(_, tolerance)| *tolerance)
    }
}

/// Returns a path and all paths above it: `/a/b/c`, `/a/b`, `/a`.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |p| p.rfind('/').filter(|&slash| slash > 0).map(|slash| &p[..slash]))
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    Ok(Glob::new(text).map_err(|error| error.to_string())?.compile_matcher())
}

fn globs(texts: &[String]) -> Result<Vec<GlobMatcher>, String> {
    texts.iter().map(|text| glob(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshreel_scene::sample::TimeRange;

    #[test]
    fn a_full_set_of_options() {
        let asked = RequestedOptions::parse(
            "tolerance = 0.0001*diagonal\nnormal-tolerance = 0.5\nuv-tolerance = 0.001\ncolour-bits = 10\n\
             channels = positions,uvs\nmethod = auto\nfps = 30\nrange = 0.5s:2s\ninclude = /a/*\nexclude = /a/b\n\
             mesh-tolerance = 0.5 /a/c*\nmesh-tolerance = 0.25*diagonal /a/cc d\nsmooth-angle = 30\n",
        )
        .unwrap();
        assert_eq!(asked.tolerance, Tolerance::Relative(1e-4));
        assert_eq!(asked.tolerance("/a/c1"), Tolerance::Absolute(0.5));
        assert_eq!(asked.tolerance("/a/cc d"), Tolerance::Relative(0.25));
        assert_eq!(asked.frames.range, Some(TimeRange::Seconds(0.5, 2.0)));
        assert_eq!(asked.frames.fps, Some(30.0));
        assert!(asked.frames.channels.uvs && !asked.frames.channels.normals);
        assert!(asked.selects("/a/x") && asked.selects("/a/x/deep"));
        assert!(!asked.selects("/a/b") && !asked.selects("/a/b/c") && !asked.selects("/q"));
        assert_eq!(asked.smooth_angle, Some(30.0));
        let asked = RequestedOptions::parse(
            "tolerance = 0.1\nshell = 2\njoint-tolerance = 0.5 *Hand*\njoint-tolerance = 0.25 hips/arm/**\njoint-shell = 1 Toe\n\
             joint-pinned = *Foot\ncurve-local = 0.1 - 0.3 adaptive\n",
        )
        .unwrap();
        let clips = &asked.clips;
        assert_eq!(clips.tolerance("LeftHand", "hips/arm/LeftHand"), Some(0.25));
        assert_eq!(clips.tolerance("LeftHand", "hips/LeftHand"), Some(0.5));
        assert_eq!(clips.tolerance("Toe", "Toe"), None);
        assert_eq!((clips.shell("Toe", "Toe"), clips.shell), (Some(1.0), Some(2.0)));
        assert!(clips.pinned("LeftFoot", "hips/LeftFoot") && !clips.pinned("Toe", "Toe"));
        assert_eq!(clips.local, Some(([Some(0.1), None, Some(0.3)], true)));
    }

    #[test]
    fn automatic_layers_are_worked_out_again() {
        // A chain of three, whose last joint carries two tips; all bones are 10 long.
        let joint = |name: &str, parent: Option<usize>| Joint {
            name: name.into(),
            parent,
            rest: meshreel_scene::Qvv {
                translation: glam::DVec3::new(0.0, 10.0, 0.0),
                ..meshreel_scene::Qvv::IDENTITY
            },
            ..Joint::default()
        };
        let skeleton = Skeleton {
            name: "s".into(),
            joints: vec![
                joint("a", None),
                joint("b", Some(0)),
                joint("c", Some(1)),
                joint("tip1", Some(2)),
                joint("tip2", Some(2)),
            ],
        };
        let matters = importance(&skeleton, &[3.0; 5], &[1.0; 5]);
        // The tips: three points at distance 3. c: itself, and two tips 10 away, with four points each.
        assert_eq!(matters[2..], [9.0 * 3.0 + 80.0, 9.0, 9.0]);
        let highest = |more: &str| {
            let text = format!("tolerance = 0.1\nlayer = - - 1 base\nlayer = - - 1 c\n{more}");
            let asked = RequestedOptions::parse(&text).unwrap();
            asked.clips.highest_layers(&skeleton, &[3.0; 5], &["base", "c"])
        };
        assert_eq!(highest("layer-auto = - 0.2 c\n"), [0, 0, 0, 1, 1]);
        assert_eq!(highest("layer-auto = - 0.6 c\n"), [0, 0, 1, 1, 1]);
        assert_eq!(highest("layer-auto = 0.05 - c\n"), [0, 0, 0, 1, 1]);
        assert_eq!(highest("layer-auto = 0.01 - c\n"), [0; 5]);
        assert_eq!(highest("layer-auto = - 0.2 c\njoint-bias = 50 *1\n"), [0, 0, 0, 0, 1]);
        assert_eq!(highest("layer-auto = - 0.6 c\njoint-layer = base c\n"), [0, 0, 0, 1, 1]);
        assert!(RequestedOptions::parse("tolerance = 1\nlayer = - - 1 c\nlayer-auto = x - c\n").is_err());
        assert!(RequestedOptions::parse("tolerance = 1\njoint-bias = -1 c\n").is_err());
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "tolerance = -1",
            "tolerance = nan",
            "tolerance = 1\nrange = 3",
            "tolerance = 1\ncolour-bits = 40",
            "tolerance = 1\nshell = 0",
            "tolerance = 1\njoint-shell = 3",
            "tolerance = 1\ncurve-local = 1 2 alike",
            "tolerance = 1\ncurve-local = 1 2 - up",
            "tolerance",
        ] {
            assert!(RequestedOptions::parse(text).is_err(), "{text}");
        }
    }
}
