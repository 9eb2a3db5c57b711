//! What the caller wants: the flags of the command line as plain data.

pub mod by_path;
mod check;
pub mod globs;
mod text;

use meshreel_codec::classic::stream::Work;
use meshreel_codec::clip::curve::Knots;
use meshreel_codec::entropy::block::Format;
use meshreel_scene::sample::{Channels, FrameOptions, Range};

/// A promised distance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// In the file's length unit.
    Absolute(f64),
    /// A fraction of the diagonal of the mesh's bounds over its animation (0.01 % = 1e-4).
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
    /// How curves are made.
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
    /// As [`RigChoice::Bake`], and beside it bind pose, weights and joints, so that clips and poses of a game
    /// can move the mesh.
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

    /// Keys of a layered file from one restart to the next.
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
}

/// Which samples are stripped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Strip {
    /// None.
    #[default]
    None,
    /// Samples whose prediction is no farther from the source than this length.
    Error(f64),
    /// This part of all samples, 0 … 1: those whose prediction from their true neighbours is nearest.
    Share(f64),
}
