//! What the caller wants: the flags of the command line as plain data.

use crate::Error;
use crate::clip::Strip;
use meshreel_codec::block::Format;
use meshreel_codec::clip::curve::Knots;
use meshreel_codec::stream::Work;
use meshreel_scene::sample::{Channels, FrameOptions, Range};

/// A promised distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// In the file's length unit.
    Absolute(f64),
    /// Of the diagonal of the mesh's bounds over its animation, as a fraction (0.01 % = 1e-4).
    Relative(f64),
}

/// Method asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MethodChoice {
    Auto,
    Static,
    Rigid,
    Skinned,
    Soft,
    Fluid,
}

/// What says which points of a mesh move as one part. A hint in any case: what does not move as it says is
/// looked at again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PartsChoice {
    /// Whole numbers on faces or points that agree with the motion, or else named sets of faces that do; then
    /// as [`PartsChoice::Analyse`].
    #[default]
    Auto,
    /// The whole numbers of this name.
    Attribute(String),
    /// Connected pieces, and nothing else.
    Connected,
    /// Connected pieces where they move as one, then motion alone.
    Analyse,
}

/// Overrides for the meshes whose path matches `glob`; later ones win.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshOverride {
    /// Glob over node paths.
    pub glob: String,
    /// Tolerance instead of the general one.
    pub tolerance: Option<Tolerance>,
    /// Method instead of the general one.
    pub method: Option<MethodChoice>,
    /// What tells parts, instead of the general choice.
    pub parts: Option<PartsChoice>,
    /// Whether faces that change are replaced by fixed ones, instead of the general choice.
    pub remesh: Option<bool>,
}

/// How clips are kept, and what is promised of them beside the tolerance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClipChoice {
    /// Codec.
    pub codec: CodecChoice,
    /// Distance of the error metric's points from joints that have none of their own, in the file's unit.
    /// None: 3 cm.
    pub shell: Option<f64>,
    /// Overrides of single joints; later ones win.
    pub joints: Vec<JointOverride>,
    /// Of codec `curve`.
    pub curve: CurveChoice,
    /// Layers, the base first; none: clips are in one piece, unless their source names layers.
    pub layers: Vec<LayerChoice>,
}

/// A layer of clips: which joints are in it, and how it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerChoice {
    /// Name.
    pub name: String,
    /// Globs over names and paths of joints.
    pub joints: Vec<String>,
    /// Automatic: joints whose importance is below this part of the largest, 0 … 1.
    pub below: Option<f64>,
    /// Automatic: so many of all joints, 0 … 1, the least important ones.
    pub share: Option<f64>,
    /// Samples per second, where that is less than the clip's.
    pub rate: Option<f64>,
    /// Samples that keep no residuals.
    pub strip: Strip,
    /// Number of tiers, 1 … 8. More than one: all but the base's first can be streamed.
    pub tiers: u8,
}

impl Default for LayerChoice {
    fn default() -> Self {
        LayerChoice {
            name: String::new(),
            joints: Vec::new(),
            below: None,
            share: None,
            rate: None,
            strip: Strip::None,
            tiers: 1,
        }
    }
}

/// Codec of clips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodecChoice {
    /// The one that takes fewer bytes.
    #[default]
    Auto,
    /// Uniform samples.
    Sampled,
    /// Keys and splines.
    Curve,
}

/// Overrides for the joints whose name, or path from the root, matches `glob`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JointOverride {
    /// Glob over names of joints, and over paths such as `hips/knee`.
    pub glob: String,
    /// Tolerance instead of the general one, in the file's unit.
    pub tolerance: Option<f64>,
    /// Shell distance instead of the general one.
    pub shell: Option<f64>,
    /// Local rule: recomputed against the decoded joints above it, so that it stays in place.
    pub pinned: bool,
    /// Name of the layer that it is in.
    pub layer: Option<String>,
    /// Automatic layers: how much more it matters than its geometry says.
    pub bias: Option<f64>,
    /// It is never interpolated: between two samples it has the value of the first.
    pub stepped: bool,
}

/// How curves are made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveChoice {
    /// Spacing of knots.
    pub knots: Knots,
    /// Rotations of 32 bits instead of 48.
    pub short: bool,
    /// Keys are only inserted, not moved off the samples and left out.
    pub plain: bool,
    /// Each sub-track by itself instead of the guarantee in object space.
    pub local: Option<LocalRule>,
}

/// The local rule: each sub-track by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalRule {
    /// Tolerances of rotations (as far as they move the end of the bone), translations and scales (times the
    /// bone); None: the general one.
    pub tolerances: [Option<f64>; 3],
    /// They shrink up the hierarchy: 1, ½, ⅓ ….
    pub adaptive: bool,
}

/// What becomes of the rig of a mesh that the source skins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RigChoice {
    /// The mesh is kept as what frames show; bones may be made of the rig, but they are the mesh's own.
    #[default]
    Bake,
    /// The same, and beside it bind pose, weights and joints, so that clips and poses of a game can move it.
    Keep,
    /// These alone: in frames the mesh stands as it does at first.
    Only,
}

/// Whether frames are added where the source, between its samples, is too far from what players show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BetweenChoice {
    /// Where it is more than four tolerances, but no more than make three times the source's frames.
    #[default]
    Auto,
    /// Where it is more than so many, at least [`Options::LEAST_BETWEEN`].
    Within(f64),
    /// None.
    Off,
}

impl BetweenChoice {
    /// Tolerances.
    pub fn multiple(self) -> Option<f64> {
        match self {
            BetweenChoice::Auto => Some(4.0),
            BetweenChoice::Within(multiple) => Some(multiple),
            BetweenChoice::Off => None,
        }
    }
}

/// How transforms of rigid parts are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransformForm {
    /// As a clip: the fewest bytes.
    #[default]
    Clip,
    /// 12 bytes each, as a graphics card may read them; what they leave is residual.
    Packed,
}

/// Options of a compile. `Default` is what the command line does without flags.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The promise (PROMISE.md §1).
    pub tolerance: Tolerance,
    /// Largest angle between source and decoded normals, degrees.
    pub normal_tolerance: f64,
    /// Largest distance between source and decoded uv.
    pub uv_tolerance: f64,
    /// Largest error of scalar tracks and attributes: absolute, or of the range of each component. Whole
    /// numbers are exact.
    pub scalar_tolerance: Tolerance,
    /// Bits per colour component, 1…16.
    pub colour_bits: u32,
    /// What is compiled beside positions.
    pub channels: Channels,
    /// Method for all meshes.
    pub method: MethodChoice,
    /// Transforms of rigid parts.
    pub transforms: TransformForm,
    /// What tells parts of a mesh.
    pub parts: PartsChoice,
    /// Block compression.
    pub block: Format,
    /// How moving points are kept.
    pub preset: Preset,
    /// Index frames (classic) or restart keys (small, fast) at most this many frames apart: 1…64, for the
    /// latter a multiple of 16. Without it 16 or 64.
    pub index_every: Option<usize>,
    /// Edges sharper than this stay hard where normals are made; None = all smooth.
    pub smooth_angle: Option<f64>,
    /// The animation is a closed cycle.
    pub cycle: bool,
    /// Faces that change are replaced by fixed ones, as far as the tolerance allows.
    pub remesh: bool,
    /// Frames at the end of a cycle that are blended into its start where faces are replaced; none: an eighth
    /// of all.
    pub remesh_blend: Option<usize>,
    /// Resample to this rate.
    pub fps: Option<f64>,
    /// Part of the animation.
    pub range: Option<Range>,
    /// Whether frames are added between samples of the source.
    pub between: BetweenChoice,
    /// Rate that the user gave for inputs that carry none; stored, so that a checker reads them at the same
    /// times.
    pub source_fps: Option<f64>,
    /// Name or number of the animation that was asked for; stored for the same reason.
    pub animation: Option<String>,
    /// What becomes of the rigs of skinned meshes.
    pub rig: RigChoice,
    /// Only nodes that match one of these globs (all, if empty) …
    pub include: Vec<String>,
    /// … and none of these.
    pub exclude: Vec<String>,
    /// Length unit stated by the user.
    pub unit: Option<meshreel_scene::Unit>,
    /// 1…9: how much work is spent on size.
    pub effort: u32,
    /// Threads, 0 = all.
    pub jobs: usize,
    /// Bytes of working memory aimed at.
    pub memory: u64,
    /// Remarks are errors.
    pub strict: bool,
    /// Do everything, write nothing.
    pub dry_run: bool,
    /// Leave the source map out.
    pub strip: bool,
    /// Keep that of meshes whose faces change, too.
    pub full_source_map: bool,
    /// Overrides by glob.
    pub meshes: Vec<MeshOverride>,
    /// Clips.
    pub clips: ClipChoice,
    /// Levels of detail of each mesh beside the mesh itself: 0 … 7, each of about half the triangles of the
    /// one before.
    pub lod: u32,
    /// Triangles that nobody can see while pieces stand together or have come to rest are left out then.
    pub cull_hidden: bool,
    /// Animated attributes of fixed topology lie in chunks of their own, which players can leave out.
    pub attributes_apart: bool,
    /// No meshes: the clips of the input, or if there are none, its transforms as one.
    pub clips_only: bool,
}

/// How moving points are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// Fewest bytes.
    Small,
    /// Fastest decoding.
    Fast,
    /// The source system's predictors and block compression.
    Classic,
}

impl Preset {
    /// As on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Small => "small",
            Preset::Fast => "fast",
            Preset::Classic => "classic",
        }
    }
}

/// From this effort on, size comes before the speed of decoding.
const SMALLEST_FROM: u32 = 7;

impl Default for Options {
    fn default() -> Self {
        Options {
            tolerance: Tolerance::Relative(1e-4),
            normal_tolerance: 1.0,
            uv_tolerance: 1.0 / 4096.0,
            scalar_tolerance: Tolerance::Relative(1e-4),
            colour_bits: 8,
            channels: Channels::default(),
            method: MethodChoice::Auto,
            transforms: TransformForm::Clip,
            parts: PartsChoice::Auto,
            block: Format::Zstd,
            preset: Preset::Small,
            index_every: None,
            smooth_angle: None,
            cycle: false,
            remesh: false,
            remesh_blend: None,
            fps: None,
            range: None,
            between: BetweenChoice::Auto,
            source_fps: None,
            animation: None,
            rig: RigChoice::Bake,
            include: Vec::new(),
            exclude: Vec::new(),
            unit: None,
            effort: 5,
            jobs: 0,
            memory: 512 << 20,
            strict: false,
            dry_run: false,
            strip: false,
            full_source_map: true,
            meshes: Vec::new(),
            clips: ClipChoice::default(),
            lod: 0,
            cull_hidden: false,
            attributes_apart: false,
            clips_only: false,
        }
    }
}

impl Options {
    /// One tolerance is what decoding takes.
    pub const LEAST_BETWEEN: f64 = 1.5;

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), Error> {
        let positive = |what: &str, v: f64| match v.is_finite() && v > 0.0 {
            true => Ok(()),
            false => Err(Error::misuse(format!("{what} must be a positive number, not {v}"))),
        };
        let (Tolerance::Absolute(t) | Tolerance::Relative(t)) = self.tolerance;
        positive("--tolerance", t)?;
        for over in &self.meshes {
            if let Some(Tolerance::Absolute(t) | Tolerance::Relative(t)) = over.tolerance {
                positive("tolerance of a mesh section", t)?;
            }
        }
        if let Some(animation) = &self.animation
            && animation.contains(char::is_control)
        {
            return Err(Error::misuse(
                "--animation: a name with line breaks or other control characters; give the animation's number",
            ));
        }
        if self.rig != RigChoice::Bake && self.strip {
            return Err(Error::misuse(
                "--rig and --strip: rigs are checked by the source map; leave one of both out",
            ));
        }
        let methods = self.meshes.iter().filter_map(|over| over.method);
        let bones = |m: MethodChoice| matches!(m, MethodChoice::Rigid | MethodChoice::Skinned);
        if self.preset == Preset::Classic && self.transforms == TransformForm::Packed {
            return Err(Error::misuse(
                "--preset classic has no parts, so no packed transforms: leave --transforms away, or take --preset small",
            ));
        }
        if self.preset == Preset::Classic && methods.chain([self.method]).any(bones) {
            return Err(Error::misuse(
                "--preset classic has no methods rigid and skinned: leave --method away, or take --preset small",
            ));
        }
        let told = |parts: Option<&PartsChoice>| parts.is_some_and(|p| *p != PartsChoice::Auto);
        let sections = self.meshes.iter();
        let pairs = (sections.map(|over| (over.parts.as_ref(), over.method)))
            .chain([(Some(&self.parts), Some(self.method))]);
        for (parts, method) in pairs.filter(|(parts, _)| told(*parts)) {
            if self.preset == Preset::Classic {
                return Err(Error::misuse(
                    "--preset classic has no parts: leave --parts away, or take --preset small",
                ));
            }
            if let Some(method) = method.filter(|m| !matches!(m, MethodChoice::Auto) && !bones(*m)) {
                let name = format!("{method:?}").to_lowercase();
                return Err(Error::misuse(format!(
                    "--parts says what is rigid, --method {name} has no parts: leave one of them away"
                )));
            }
            if let Some(PartsChoice::Attribute(name)) = parts
                && (name.is_empty() || name.contains(char::is_control))
            {
                return Err(Error::misuse(format!("--parts attribute:{name:?} is no name")));
            }
        }
        self.check_remesh()?;
        // The options are stored one per line.
        let joints = self.clips.joints.iter().map(|over| &over.glob);
        let sections = self.meshes.iter().map(|over| &over.glob).chain(joints);
        for glob in self.include.iter().chain(&self.exclude).chain(sections) {
            if glob.contains(char::is_control) {
                return Err(Error::misuse(format!("a glob with a control character in it: {glob:?}")));
            }
        }
        self.clips.check()?;
        positive("--normal-tolerance", self.normal_tolerance)?;
        positive("--uv-tolerance", self.uv_tolerance)?;
        let (Tolerance::Absolute(t) | Tolerance::Relative(t)) = self.scalar_tolerance;
        positive("--scalar-tolerance", t)?;
        let within = |what: &str, v: usize, low: usize, high: usize| match (low..=high).contains(&v) {
            true => Ok(()),
            false => Err(Error::misuse(format!("{what} must be {low} to {high}, not {v}"))),
        };
        within("--colour-bits", self.colour_bits as usize, 1, 16)?;
        within("--index-every", self.index_every(), 1, 64)?;
        if self.preset != Preset::Classic && !self.index_every().is_multiple_of(16) {
            return Err(Error::misuse(format!(
                "--index-every must be a multiple of 16 with --preset {}, not {}",
                self.preset.name(),
                self.index_every()
            )));
        }
        within("--lod", self.lod as usize, 0, crate::detail::MOST as usize)?;
        if self.cull_hidden && self.clips_only {
            return Err(Error::misuse(
                "--cull-hidden is for meshes, --clips-only leaves them out: leave one of them away",
            ));
        }
        if self.attributes_apart && self.preset == Preset::Classic {
            return Err(Error::misuse(
                "--preset classic keeps attributes with the rest of its frames: leave --attributes-apart away, or take --preset small or fast",
            ));
        }
        if self.attributes_apart && self.clips_only {
            return Err(Error::misuse(
                "--attributes-apart is for meshes, --clips-only leaves them out: leave one of them away",
            ));
        }
        if self.lod > 0 && self.clips_only {
            return Err(Error::misuse(
                "--lod is for meshes, --clips-only leaves them out: leave one of them away",
            ));
        }
        within("--effort", self.effort as usize, 1, 9)?;
        if let Some(angle) = self.smooth_angle
            && !(0.0..=180.0).contains(&angle)
        {
            return Err(Error::misuse(format!("--smooth-angle must be 0 to 180 degrees, not {angle}")));
        }
        if let Some(fps) = self.fps {
            positive("--fps", fps)?;
        }
        let least = Options::LEAST_BETWEEN;
        match self.between {
            BetweenChoice::Within(multiple) if !(multiple >= least && multiple.is_finite()) => {
                Err(Error::misuse(format!(
                    "--between must be off, or tolerances from {least} on, not {multiple}"
                )))
            }
            _ => Ok(()),
        }?;
        Ok(())
    }

    fn check_remesh(&self) -> Result<(), Error> {
        let general = (Some(self.remesh), Some(self.method));
        let sections = self.meshes.iter().map(|over| (over.remesh, over.method));
        let fluid = |(remesh, method)| (remesh, method) == (Some(true), Some(MethodChoice::Fluid));
        if sections.clone().chain([general]).any(fluid) {
            return Err(Error::misuse(
                "--remesh makes faces that stay, --method fluid is for faces that change: leave one of them away",
            ));
        }
        let any = self.remesh || sections.into_iter().any(|(remesh, _)| remesh == Some(true));
        match self.remesh_blend {
            Some(_) if !any => Err(Error::misuse(
                "--remesh-blend says how loops of --remesh are blended: add --remesh, or leave it away",
            )),
            Some(_) if !self.cycle => {
                Err(Error::misuse("--remesh-blend is for loops: add --cycle, or leave it away"))
            }
            _ => Ok(()),
        }
    }

    /// What does nothing where there are clips and no mesh.
    pub(crate) fn for_nothing(&self) -> impl Iterator<Item = meshreel_scene::Remark> {
        let flags = [
            (self.lod > 0, "--lod"),
            (self.cull_hidden, "--cull-hidden"),
            (self.attributes_apart, "--attributes-apart"),
        ];
        let used = flags.into_iter().filter(|(used, _)| *used);
        used.map(|(_, flag)| {
            let what = format!("{flag} does nothing: there are clips and no mesh");
            meshreel_scene::Remark::new("", what)
        })
    }

    /// Frames from one index frame or restart key to the next.
    pub fn index_every(&self) -> usize {
        let usual = if self.preset == Preset::Classic { 16 } else { 64 };
        self.index_every.unwrap_or(usual)
    }

    /// The same in keys of a layered file.
    pub fn restart(&self) -> u32 {
        (self.index_every() / 16).max(1) as u32
    }

    /// How classic frames are encoded. Store and LZ4 are taken for the speed of decoding; deflate and zstd
    /// only at efforts that ask for the least size.
    pub(crate) fn work(&self) -> Work {
        Work {
            effort: self.effort,
            quick: match self.block {
                Format::Store | Format::Lz4 => true,
                Format::Deflate | Format::Zstd => self.effort < SMALLEST_FROM,
            },
        }
    }

    /// What decides the frame times.
    pub fn frame_options(&self) -> FrameOptions {
        FrameOptions { channels: self.channels, fps: self.fps, range: self.range }
    }

    /// Everything that changes content, one `key = value` per line, keys as on the command line. Stored in
    /// the file, so that a checker needs nothing else, but what holds between frames, which follows from the
    /// source, too. f64 prints shortest and reads back exactly.
    pub fn to_text(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        let mut line = |key: &str, value: String| {
            let _ = writeln!(text, "{key} = {value}");
        };
        let tolerance = |t: Tolerance| match t {
            Tolerance::Absolute(t) => format!("{t}"),
            Tolerance::Relative(t) => format!("{t}*diagonal"),
        };
        let method = |m: MethodChoice| format!("{m:?}").to_lowercase();
        line("tolerance", tolerance(self.tolerance));
        line("normal-tolerance", format!("{}", self.normal_tolerance));
        line("uv-tolerance", format!("{}", self.uv_tolerance));
        match self.scalar_tolerance {
            // What stands there when nobody said anything.
            Tolerance::Relative(1e-4) => {}
            Tolerance::Relative(t) => line("scalar-tolerance", format!("{t}*range")),
            Tolerance::Absolute(t) => line("scalar-tolerance", format!("{t}")),
        }
        line("colour-bits", format!("{}", self.colour_bits));
        let mut channels = vec!["positions"];
        channels.extend(self.channels.normals.then_some("normals"));
        channels.extend(self.channels.uvs.then_some("uvs"));
        channels.extend(self.channels.colours.then_some("colours"));
        channels.extend(self.channels.attributes.then_some("attributes"));
        line("channels", channels.join(","));
        line("method", method(self.method));
        if self.transforms == TransformForm::Packed {
            line("transforms", "packed".into());
        }
        line("preset", self.preset.name().into());
        if self.preset == Preset::Classic {
            line("block", format!("{:?}", self.block).to_lowercase());
        }
        line("index-every", format!("{}", self.index_every()));
        if let Some(angle) = self.smooth_angle {
            line("smooth-angle", format!("{angle}"));
        }
        if self.cycle {
            line("cycle", "true".into());
        }
        if self.remesh {
            line("remesh", "true".into());
        }
        if let Some(frames) = self.remesh_blend {
            line("remesh-blend", format!("{frames}"));
        }
        if let Some(fps) = self.fps {
            line("fps", format!("{fps}"));
        }
        match self.range {
            Some(Range::Frames(a, b)) => line("range", format!("{a}:{b}")),
            Some(Range::Seconds(a, b)) => line("range", format!("{a}s:{b}s")),
            None => {}
        }
        if let Some(fps) = self.source_fps {
            line("source-fps", format!("{fps}"));
        }
        if let Some(animation) = &self.animation {
            line("animation", animation.clone());
        }
        match self.rig {
            RigChoice::Bake => {}
            RigChoice::Keep => line("rig", "keep".into()),
            RigChoice::Only => line("rig", "only".into()),
        }
        if self.lod > 0 {
            line("lod", format!("{}", self.lod));
        }
        if self.cull_hidden {
            line("cull-hidden", "true".into());
        }
        if self.attributes_apart {
            line("attributes-apart", "true".into());
        }
        if self.clips_only {
            line("clips-only", "true".into());
        }
        for glob in &self.include {
            line("include", glob.clone());
        }
        for glob in &self.exclude {
            line("exclude", glob.clone());
        }
        line("effort", format!("{}", self.effort));
        for over in &self.meshes {
            if let Some(t) = over.tolerance {
                line("mesh-tolerance", format!("{} {}", tolerance(t), over.glob));
            }
            if let Some(m) = over.method {
                line("mesh-method", format!("{} {}", method(m), over.glob));
            }
            if let Some(remesh) = over.remesh {
                line("mesh-remesh", format!("{remesh} {}", over.glob));
            }
        }
        self.clips.lines(&mut line);
        text
    }
}

impl ClipChoice {
    fn check(&self) -> Result<(), Error> {
        let length = |what: &str, v: Option<f64>| match v {
            Some(v) if !(v > 1e-15 && v < 1e15) => {
                Err(Error::misuse(format!("{what} must be a length above zero, not {v}")))
            }
            _ => Ok(()),
        };
        length("--shell", self.shell)?;
        for over in &self.joints {
            length("the tolerance of a joint section", over.tolerance)?;
            length("the shell of a joint section", over.shell)?;
        }
        self.check_layers()?;
        let pinned = self.joints.iter().any(|over| over.pinned);
        match &self.curve.local {
            None if pinned => Err(Error::misuse(
                "pinned joints are for the local rule of curves; add rule = \"local\" to [curve], or give them a smaller tolerance",
            )),
            None => Ok(()),
            Some(_) if self.codec != CodecChoice::Curve => Err(Error::misuse(
                "the local rule is for --codec curve alone: it promises other things than codec sampled",
            )),
            Some(_) if self.joints.iter().any(|over| over.tolerance.is_some()) => Err(Error::misuse(
                "tolerances of single joints are for the guaranteed rule; the local one has a tolerance for each kind of sub-track",
            )),
            Some(local) => {
                let names = ["rotation", "translation", "scale"];
                (names.iter().zip(local.tolerances))
                    .try_for_each(|(name, t)| length(&format!("{name}-tolerance"), t))
            }
        }
    }

    fn check_layers(&self) -> Result<(), Error> {
        let wrong = |name: &str, what: String| Err(Error::misuse(format!("layer {name:?}: {what}")));
        let divided = !self.layers.is_empty() || self.joints.iter().any(|over| over.stepped);
        if divided && self.codec == CodecChoice::Curve {
            return Err(Error::misuse("layers are for codec sampled; leave --codec curve out"));
        }
        for (l, layer) in self.layers.iter().enumerate() {
            let name = &layer.name;
            if name.is_empty() || name.contains(|c: char| c.is_control() || c == ' ') {
                return wrong(name, "a name without blanks is needed".into());
            }
            if self.layers[..l].iter().any(|other| other.name == *name) {
                return wrong(name, "there is one of that name already".into());
            }
            let part = |v: Option<f64>| v.is_none_or(|v| (0.0..=1.0).contains(&v));
            if !part(layer.below) || !part(layer.share) {
                return wrong(name, "below and share are 0 to 1".into());
            }
            if l == 0 && (layer.below.or(layer.share).is_some()) {
                return wrong(
                    name,
                    "the first layer is the base, which has all that no other layer takes".into(),
                );
            }
            if layer.rate.is_some_and(|r| !(r > 0.0 && r.is_finite())) {
                return wrong(name, "rate is samples per second, above zero".into());
            }
            if !(1..=8).contains(&layer.tiers) {
                return wrong(name, format!("tiers is 1 to 8, not {}", layer.tiers));
            }
            let sane = match layer.strip {
                Strip::None => true,
                Strip::Error(e) => (0.0..1e15).contains(&e),
                Strip::Share(s) => (0.0..=1.0).contains(&s),
            };
            if !sane {
                return wrong(name, "strip is a length, or a percentage up to 100%".into());
            }
            if layer.joints.iter().any(|glob| glob.contains(char::is_control)) {
                return wrong(name, "a glob with a control character in it".into());
            }
        }
        let bias = |over: &&JointOverride| over.bias.is_some_and(|b| !(b >= 0.0 && b.is_finite()));
        match self.joints.iter().find(bias) {
            Some(over) => Err(Error::misuse(format!("joint {}: bias is a number from 0 on", over.glob))),
            None => Ok(()),
        }
    }

    fn layer_lines(&self, line: &mut dyn FnMut(&str, String)) {
        let number = |v: Option<f64>| v.map_or("-".to_string(), |v| format!("{v}"));
        for layer in &self.layers {
            let strip = match layer.strip {
                Strip::None => "-".into(),
                Strip::Error(e) => format!("{e}"),
                Strip::Share(s) => format!("{s}*samples"),
            };
            let (rate, tiers) = (number(layer.rate), layer.tiers);
            line("layer", format!("{rate} {strip} {tiers} {}", layer.name));
            if layer.below.or(layer.share).is_some() {
                let (below, share) = (number(layer.below), number(layer.share));
                line("layer-auto", format!("{below} {share} {}", layer.name));
            }
            for glob in &layer.joints {
                line("layer-joints", format!("{} {glob}", layer.name));
            }
        }
        for over in &self.joints {
            if let Some(layer) = &over.layer {
                line("joint-layer", format!("{layer} {}", over.glob));
            }
            if let Some(bias) = over.bias {
                line("joint-bias", format!("{bias} {}", over.glob));
            }
            if over.stepped {
                line("joint-stepped", over.glob.clone());
            }
        }
    }

    fn lines(&self, line: &mut dyn FnMut(&str, String)) {
        match self.codec {
            CodecChoice::Auto => {}
            CodecChoice::Sampled => line("codec", "sampled".into()),
            CodecChoice::Curve => line("codec", "curve".into()),
        }
        if let Some(shell) = self.shell {
            line("shell", format!("{shell}"));
        }
        for over in &self.joints {
            if let Some(t) = over.tolerance {
                line("joint-tolerance", format!("{t} {}", over.glob));
            }
            if let Some(shell) = over.shell {
                line("joint-shell", format!("{shell} {}", over.glob));
            }
            if over.pinned {
                line("joint-pinned", over.glob.clone());
            }
        }
        self.layer_lines(line);
        let curve = &self.curve;
        if curve.knots != Knots::default() {
            line("curve-knots", format!("{:?}", curve.knots).to_lowercase());
        }
        if curve.short {
            line("curve-rotation-bits", "32".into());
        }
        if curve.plain {
            line("curve-keys", "inserted".into());
        }
        if let Some(local) = &curve.local {
            let own = |t: Option<f64>| t.map_or("-".into(), |t| format!("{t}"));
            let [r, t, s] = local.tolerances.map(own);
            let up = if local.adaptive { "adaptive" } else { "alike" };
            line("curve-local", format!("{r} {t} {s} {up}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nonsense_is_refused() {
        type Change = fn(&mut Options);
        let good: [Change; 6] = [
            |_| {},
            |o| o.tolerance = Tolerance::Absolute(1e-30),
            |o| o.smooth_angle = Some(0.0),
            |o| (o.colour_bits, o.index_every, o.effort) = (16, Some(64), 9),
            |o| o.fps = Some(0.001),
            |o| (o.jobs, o.memory) = (0, 0),
        ];
        for change in good {
            let mut options = Options::default();
            change(&mut options);
            options.check().unwrap();
        }
        let bad: [Change; 20] = [
            |o| (o.attributes_apart, o.preset) = (true, Preset::Classic),
            |o| (o.parts, o.method) = (PartsChoice::Analyse, MethodChoice::Soft),
            |o| (o.parts, o.preset) = (PartsChoice::Connected, Preset::Classic),
            |o| o.parts = PartsChoice::Attribute(String::new()),
            |o| o.include = vec!["/a\neffort = 9".into()],
            |o| o.tolerance = Tolerance::Absolute(0.0),
            |o| o.tolerance = Tolerance::Relative(-1.0),
            |o| o.tolerance = Tolerance::Relative(f64::NAN),
            |o| o.tolerance = Tolerance::Absolute(f64::INFINITY),
            |o| o.normal_tolerance = 0.0,
            |o| o.uv_tolerance = f64::NAN,
            |o| o.colour_bits = 0,
            |o| o.colour_bits = 17,
            |o| o.index_every = Some(0),
            |o| o.index_every = Some(65),
            |o| o.effort = 0,
            |o| o.effort = 10,
            |o| o.smooth_angle = Some(f64::NAN),
            |o| o.fps = Some(f64::INFINITY),
            |o| {
                o.meshes = vec![MeshOverride {
                    glob: "*".into(),
                    tolerance: Some(Tolerance::Absolute(0.0)),
                    method: None,
                    parts: None,
                    remesh: None,
                }]
            },
        ];
        for (i, change) in bad.into_iter().enumerate() {
            let mut options = Options::default();
            change(&mut options);
            assert!(matches!(options.check(), Err(Error::Misuse { .. })), "{i}");
        }
    }

    #[test]
    fn what_is_stored_says_everything_once() {
        let options = Options {
            tolerance: Tolerance::Absolute(0.1 + 0.2),
            range: Some(Range::Seconds(0.5, 2.0)),
            fps: Some(30000.0 / 1001.0),
            include: vec!["/a/*".into()],
            smooth_angle: Some(30.0),
            cycle: true,
            meshes: vec![MeshOverride {
                glob: "/a b".into(),
                tolerance: Some(Tolerance::Relative(0.5)),
                method: Some(MethodChoice::Fluid),
                parts: None,
                remesh: None,
            }],
            ..Options::default()
        };
        let text = options.to_text();
        let mut lines: Vec<&str> = text.lines().collect();
        for line in [
            "tolerance = 0.30000000000000004",
            "range = 0.5s:2s",
            "fps = 29.97002997002997",
            "include = /a/*",
            "smooth-angle = 30",
            "cycle = true",
            "mesh-tolerance = 0.5*diagonal /a b",
            "mesh-method = fluid /a b",
            "index-every = 64",
        ] {
            assert!(lines.contains(&line), "{line} in {text}");
        }
        // What a run uses but the content does not depend on stays out.
        for key in ["jobs", "memory", "strict", "strip", "source-map"] {
            assert!(!text.contains(key), "{key}");
        }
        let count = lines.len();
        lines.sort();
        lines.dedup();
        assert_eq!(lines.len(), count);
    }
}
