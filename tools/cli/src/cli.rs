//! The command line as types. What each option means to the user is said here, with its default and unit.
//!
//! Options that change how a file is compiled live in [`Content`], which is read from the command line and,
//! with the same keys, from an options file; every one is optional so that the two can be merged.

use crate::units::{
    Angle, Length, Range, Ratio, Size, Tolerance, ToleranceFor, deserialize_from_text, one_or_more,
};
use clap::{Args, Parser, Subcommand};
use meshreel_options::BetweenChoice;
use serde::{Deserialize, Deserializer};
use std::path::PathBuf;
use std::str::FromStr;

/// Compiles baked animation into small files with a guaranteed error, looks into them, proves the error,
/// takes them back.
#[derive(Parser)]
#[command(name = "meshreel", version, propagate_version = true, max_term_width = 110)]
#[command(
    after_help = "Exit codes: 0 all went well, 1 the work failed or a check did not hold, 2 wrong usage."
)]
pub struct Cli {
    /// How results and messages are printed
    #[command(flatten)]
    pub output: OutputFlags,
    /// The verb
    #[command(subcommand)]
    pub command: Command,
}

/// Flags that every verb has.
#[derive(Args, Clone, Copy, Default)]
pub struct OutputFlags {
    /// Print one JSON object on stdout, also when something fails
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress, no remarks, no summary; errors only
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Also say what is being done and how long it took
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// The verbs.
#[derive(Subcommand)]
pub enum Command {
    /// Compile files of content tools into a .reel whose error is guaranteed
    Compile(Box<CompileArgs>),
    /// Show what is in a file: tree, methods, sizes, ratios
    Info(InfoArgs),
    /// Decode a .reel and compare it with its source, mesh by mesh
    Verify(VerifyArgs),
    /// Take a .reel back to a content tool, in source vertex order where the source map is there
    Extract(ExtractArgs),
    /// Compile, verify and extract bundled real files and draw what came out; needs no input
    Demo(DemoArgs),
    /// Play in real time without a picture, as a game would, and count what is missed
    Play(PlayArgs),
    /// Measure how fast this machine decodes a file, stage by stage
    Bench(BenchArgs),
    /// Draw what a joint or a point does over time, source against decoded, and the error below
    Plot(PlotArgs),
}

/// `meshreel plot`.
#[derive(Args)]
pub struct PlotArgs {
    /// The .reel
    #[arg(value_name = "FILE.reel")]
    pub file: PathBuf,
    /// The joint, by name [default: without --vertex too, the point, or else the joint, that moves farthest]
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with_all = ["vertex", "parts", "faces", "levels", "hidden"]
    )]
    pub joint: Option<String>,
    /// Meshes that bones move, instead of curves: parts and bones in colours, and how far points have a
    /// residual beside them
    #[arg(long, conflicts_with_all = ["vertex", "clip", "mesh", "source"])]
    pub parts: bool,
    /// Triangles of the source and of the file, each in a colour of its own, and how far the surfaces are
    /// apart; with --source
    #[arg(long, conflicts_with_all = ["vertex", "clip", "mesh", "parts"])]
    pub faces: bool,
    /// Levels of detail, instead of curves: the triangles of each in three frames
    #[arg(long, conflicts_with_all = ["vertex", "parts", "faces", "clip", "mesh", "source"])]
    pub levels: bool,
    /// What is left out where nobody can see it, instead of curves: in three frames what is drawn, and in red
    /// what is not
    #[arg(long, conflicts_with_all = ["vertex", "parts", "faces", "levels", "clip", "mesh", "source"])]
    pub hidden: bool,
    /// The point of a mesh, by its number in the source (without a source map: the vertex of the file)
    #[arg(long, value_name = "N")]
    pub vertex: Option<u32>,
    /// Which clip, where there are several
    #[arg(long, value_name = "NAME", conflicts_with = "vertex")]
    pub clip: Option<String>,
    /// Which mesh, by the path of its node, where there are several
    #[arg(long, value_name = "PATH", conflicts_with = "joint")]
    pub mesh: Option<String>,
    /// The source files, to draw them and the error, too
    #[arg(long, value_name = "IN", num_args = 1..)]
    pub source: Vec<PathBuf>,
    /// Positions of an .obj over time
    #[arg(long, value_name = "FILE.pc2|.mdd")]
    pub points: Option<PathBuf>,
    /// Frames per second of inputs that carry no rate [default: what the .reel was compiled with]
    #[arg(long, value_name = "F")]
    pub source_fps: Option<Rate>,
    /// The picture [default: FILE.png]
    #[arg(long, short, value_name = "OUT.png")]
    pub output: Option<PathBuf>,
}

/// `meshreel compile`.
#[derive(Args)]
pub struct CompileArgs {
    /// Inputs: .abc (Ogawa or HDF5), .glb, .gltf, .bvh, .obj with --points, a quoted sequence such as
    /// 'frame.####.obj', or a quoted glob of any of them. Several are compiled each for itself, or with
    /// --merge into one
    #[arg(required = true, value_name = "IN")]
    pub inputs: Vec<PathBuf>,
    /// The .reel to write, or a directory (existing, or ending in /) for one .reel per input. An existing
    /// file is replaced only when the new one is complete [default: the input's name, beside it]
    #[arg(long, short, value_name = "OUT.reel|DIR/")]
    pub output: Option<PathBuf>,
    /// One .reel of all inputs, merged by node path: geometry and transforms may come from different files
    #[arg(long)]
    pub merge: bool,
    /// Positions of an .obj over time
    #[arg(long, value_name = "FILE.pc2|.mdd")]
    pub points: Option<PathBuf>,
    /// Read options from a TOML file: the long names below as keys; [[mesh]] sections with `glob`,
    /// `tolerance`, `method`, `parts`, `remesh` for some meshes only; [[joint]] sections with `glob`,
    /// `tolerance`, `shell`, `pinned`; and [curve]. The command line wins
    #[arg(long, value_name = "FILE.toml")]
    pub options: Option<PathBuf>,
    /// Everything that can also stand in an options file
    #[command(flatten)]
    pub content: Content,
}

/// Options that change what is written, or how it is worked out. One per key of an options file.
#[derive(Args, Deserialize, Clone, Default, Debug, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Content {
    /// Largest distance, in world space, between source and decoded positions: a percentage of each mesh's
    /// size, a length in the file's unit or one with its own (0.5mm, 1cm) [default: 0.01%]. Of clips: of
    /// points at the shell distance of any joint, a length [default: 0.01 cm]. Repeatable with a glob, for
    /// some joints ('*Hand*=0.05') or meshes ('/hero/**=0.1%')
    #[arg(long, value_name = "[GLOB=]T", help_heading = "The promise")]
    #[serde(deserialize_with = "one_or_more")]
    pub tolerance: Vec<ToleranceFor>,
    /// Clips: how far from each joint its error is measured, in the file's unit [default: 3 cm]
    #[arg(long, value_name = "LENGTH", help_heading = "The promise")]
    pub shell: Option<Length>,
    /// Largest angle between source and decoded normals [default: 1deg]
    #[arg(long, value_name = "ANGLE", help_heading = "The promise")]
    pub normal_tolerance: Option<Angle>,
    /// Largest distance between source and decoded texture coordinates [default: 1/4096]
    #[arg(long, value_name = "RATIO", help_heading = "The promise")]
    pub uv_tolerance: Option<Ratio>,
    /// Largest error of scalar tracks and attributes: a percentage of each component's range, or a number
    /// [default: 0.01%]
    #[arg(long, value_name = "T", help_heading = "The promise")]
    pub scalar_tolerance: Option<Tolerance>,
    /// Bits per colour component, 1 to 16 [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=16), help_heading = "The promise")]
    pub colour_bits: Option<u8>,

    /// What to keep: all, or a list of positions, normals, uvs, colours, attributes [default: all]; tangents
    /// come with normals and uvs, attributes are other numbers that are equal all over a part
    #[arg(long, value_name = "LIST", help_heading = "Content")]
    pub channels: Option<Channels>,
    /// Only nodes whose path matches (repeatable; * within a name, ** across names)
    #[arg(long, value_name = "GLOB", help_heading = "Content")]
    pub include: Vec<String>,
    /// Without nodes whose path matches (repeatable)
    #[arg(long, value_name = "GLOB", help_heading = "Content")]
    pub exclude: Vec<String>,
    /// Part of the animation: frames counted from 0 (10:20) or seconds (0.5s:2s), both ends included
    #[arg(long, value_name = "A:B", help_heading = "Content")]
    pub range: Option<Range>,
    /// Resample to this many frames per second [default: the source's own sample times]
    #[arg(long, value_name = "F", help_heading = "Content")]
    pub fps: Option<Rate>,
    /// Add frames where the source, between its samples, is farther than K tolerances from what players show
    /// there: they put points on lines, joints of a glTF file carry them on curves. Or off: frames as the
    /// source has them, and nothing is promised of the time between. With --fps none are added [default:
    /// auto, which is 4, but more where that would make more than three times as many frames]
    #[arg(long, value_name = "K|auto|off", help_heading = "Content")]
    pub between: Option<Between>,
    /// Frames per second of inputs that carry no rate [default: 30]
    #[arg(long, value_name = "F", help_heading = "Content")]
    pub source_fps: Option<Rate>,
    /// Which animation of a glTF file moves its meshes, or all: one after the other on one timeline, as named
    /// ranges. Those of skeletons are all kept as clips in any case [default: the first that moves something]
    #[arg(long, value_name = "NAME|N|all", help_heading = "Content")]
    pub animation: Option<String>,
    /// Rigs of skinned meshes: bake (a mesh is what frames show), keep (beside that its bind pose, weights
    /// and joints, so that any clip of its skeleton, or a blend of clips, can move it, and extract gives it
    /// back as one character) or only (these without frames: far smaller, but the mesh stands still unless
    /// somebody moves it by a clip) [default: bake]
    #[arg(long, value_name = "RIG", help_heading = "Content")]
    pub rig: Option<RigName>,
    /// Length unit of inputs that carry none: m, cm, mm or in
    #[arg(long, value_name = "UNIT", help_heading = "Content")]
    pub unit: Option<UnitName>,
    /// Edges sharper than this stay hard where normals have to be made [default: all smooth]
    #[arg(long, value_name = "ANGLE", help_heading = "Content")]
    pub smooth_angle: Option<Angle>,
    /// The animation is a closed cycle, also where the last frame differs from the first
    #[arg(long, help_heading = "Content")]
    pub cycle: bool,
    /// Meshes whose faces change get fixed ones as far as the tolerance allows, and are then as cheap as soft
    /// ones. Promised is the distance of vertices from the other surface, both ways; texture coordinates and
    /// colours are left out
    #[arg(long, help_heading = "Content")]
    pub remesh: bool,
    /// With --remesh and --cycle: so many frames at the end are blended into the start [default: an eighth of
    /// them]
    #[arg(long, value_name = "FRAMES", help_heading = "Content")]
    pub remesh_blend: Option<u32>,
    /// Levels of detail of each mesh beside the mesh itself, 1 to 7: each has about half the triangles of the
    /// one before, between the same vertices, and says how far it is from the mesh in any frame [default:
    /// none]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=7), help_heading = "Content")]
    pub lod: Option<u8>,
    /// Leave out, while they cannot be seen, triangles between pieces that stand together before they break
    /// apart, and on the side that they lie on in the end. In flight everything is drawn
    #[arg(long, help_heading = "Content")]
    pub cull_hidden: bool,
    /// Keep animated normals, tangents, uvs and colours of meshes of fixed topology in pieces of their own: a
    /// player that leaves them out neither reads nor decodes them (play --no-attributes); otherwise nothing
    /// changes but a little size
    #[arg(long, help_heading = "Content")]
    pub attributes_apart: bool,
    /// Without meshes: the clips of the input or, where it has none, its moving transforms as one clip
    #[arg(long, help_heading = "Content")]
    pub clips_only: bool,
    /// Keep no source map of meshes whose faces change, where it takes about as much as the mesh: extract
    /// then gives back their triangles, in an order of their own
    #[arg(long, conflicts_with = "strip", help_heading = "Content")]
    pub short_source_map: bool,
    /// The usual: the source map of meshes whose faces change is kept, too
    #[arg(long, conflicts_with_all = ["strip", "short_source_map"], hide = true)]
    pub full_source_map: bool,
    /// Leave out the source map (smaller file; verify then matches by nearest points)
    #[arg(long, help_heading = "Content")]
    pub strip: bool,

    /// How meshes are kept: auto, static, rigid, skinned, soft or fluid [default: auto]
    #[arg(long, value_name = "METHOD", help_heading = "Compression")]
    pub method: Option<Method>,
    /// Transforms of rigid parts: clip (fewest bytes) or packed (12 bytes each, as a graphics card reads
    /// them) [default: clip]
    #[arg(long, value_name = "FORM", help_heading = "Compression")]
    pub transforms: Option<Form>,
    /// What tells the parts of a mesh that move as one: attribute:NAME (whole numbers on faces or points),
    /// connected (pieces, nothing else), analyse (pieces and motion alone) or auto (any whole numbers or sets
    /// of faces that agree with the motion, then as analyse). All are hints: what does not move as they say
    /// is looked at again [default: auto]
    #[arg(long, value_name = "PARTS", help_heading = "Compression")]
    pub parts: Option<Parts>,
    /// How clips are kept: sampled (uniform samples), curve (keys and splines) or auto (the smaller of the
    /// two) [default: auto]
    #[arg(long, value_name = "CODEC", help_heading = "Compression")]
    pub codec: Option<Codec>,
    /// What matters most: small (fewest bytes), fast (fastest decoding) or classic (the source system's
    /// predictors, with --block) [default: small]
    #[arg(long, value_name = "PRESET", help_heading = "Compression")]
    pub preset: Option<Preset>,
    /// Block compression of the classic preset: store, deflate, lz4hc or zstd [default: zstd]
    #[arg(long, value_name = "BLOCK", help_heading = "Compression")]
    pub block: Option<Block>,
    /// Index frames at most this many frames apart, 1 to 64: closer seeks faster, wider is smaller. With
    /// --preset small a multiple of 16; clips restart at the power of two below [default: 16 for classic, 64
    /// else, 128 for clips]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Compression")]
    pub index_every: Option<u32>,
    /// How much work to put into size, 1 to 9. With --preset classic and deflate or zstd, 7 and more also
    /// trade speed of decoding for it: frames take about twice as long [default: 5]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=9), help_heading = "Compression")]
    pub effort: Option<u8>,

    /// Threads [default: all cores]; the file does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), help_heading = "Running")]
    pub jobs: Option<u32>,
    /// Memory to keep frames in, such as 256MB or 1GiB [default: 512MiB]
    #[arg(long, value_name = "SIZE", help_heading = "Running")]
    pub memory: Option<Size>,
    /// Make remarks an error, before anything is written
    #[arg(long, help_heading = "Running")]
    pub strict: bool,
    /// Print the passes and the flattened tree
    #[arg(long, help_heading = "Running")]
    pub explain: bool,
    /// Do everything but write nothing
    #[arg(long, help_heading = "Running")]
    pub dry_run: bool,
}

/// `meshreel info`.
#[derive(Args)]
pub struct InfoArgs {
    /// Any input, or a .reel
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Positions of an .obj over time
    #[arg(long, value_name = "FILE.pc2|.mdd")]
    pub points: Option<PathBuf>,
    /// Frames per second of inputs that carry no rate [default: 30]
    #[arg(long, value_name = "F")]
    pub source_fps: Option<Rate>,
    /// Which animation of a glTF file moves its meshes, or all, one after the other [default: the first that
    /// moves something]
    #[arg(long, value_name = "NAME|N|all")]
    pub animation: Option<String>,
    /// The whole tree, with user properties
    #[arg(long)]
    pub tree: bool,
    /// The attributes or streams of every mesh
    #[arg(long)]
    pub streams: bool,
    /// Every frame: its time, and in a .reel its kind and size
    #[arg(long)]
    pub frames: bool,
}

/// `meshreel play`.
#[derive(Args)]
pub struct PlayArgs {
    /// Files to play, all at the same time
    #[arg(required = true, value_name = "FILE.reel")]
    pub files: Vec<PathBuf>,
    /// How long to play [default: to the end; 10 with --loop, --seek-every, --rate 0, or where the end is
    /// more than a day away]
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,
    /// Ticks per second
    #[arg(long, value_name = "F", default_value_t = 60.0)]
    pub fps: f64,
    /// Seconds of animation per second; negative plays backwards
    #[arg(long, value_name = "R", default_value_t = 1.0, allow_negative_numbers = true)]
    pub rate: f64,
    /// Begin again at the end; a closed cycle is interpolated over its seam
    #[arg(long = "loop")]
    pub repeat: bool,
    /// Jump somewhere else every S seconds; the places are the same in every run
    #[arg(long, value_name = "S")]
    pub seek_every: Option<f64>,
    /// Seconds that are decoded before playing starts or goes on after a jump
    #[arg(long, value_name = "S", default_value_t = 0.25)]
    pub pre_roll: f64,
    /// Memory for reading and decoding
    #[arg(long, value_name = "SIZE", default_value = "128MiB")]
    pub heap: Size,
    /// Files that take no more when decoded are played from memory; 0 for none
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = Size::or_none)]
    pub resident: Size,
    /// Instances of each file, each at another place
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub copies: u32,
    /// Threads that decode [default: one less than there are cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Leave out animated normals, tangents, uvs and colours of meshes of fixed topology; where a file has
    /// them apart (compile --attributes-apart) they are not read either
    #[arg(long)]
    pub no_attributes: bool,
    /// Compare every frame that is shown with a plain decode; exit 1 where one differs, or none is shown
    #[arg(long)]
    pub check: bool,
}

/// `meshreel bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// The file
    #[arg(value_name = "FILE.reel")]
    pub file: PathBuf,
    /// How long each stage is measured at least, up to 60
    #[arg(long, value_name = "S", default_value_t = 0.5, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Leave out animated normals, tangents, uvs and colours of meshes of fixed topology
    #[arg(long)]
    pub no_attributes: bool,
}

/// `meshreel verify`.
#[derive(Args)]
pub struct VerifyArgs {
    /// The source files, then the .reel that was made of them
    // Options may stand between them, which two at least would not allow.
    #[arg(required = true, num_args = 1.., value_name = "IN> <OUT.reel")]
    pub files: Vec<PathBuf>,
    /// Positions of an .obj over time
    #[arg(long, value_name = "FILE.pc2|.mdd")]
    pub points: Option<PathBuf>,
    /// Frames per second of inputs that carry no rate [default: what the .reel was compiled with]
    #[arg(long, value_name = "F")]
    pub source_fps: Option<Rate>,
}

/// `meshreel extract`.
#[derive(Args)]
pub struct ExtractArgs {
    /// The .reel
    #[arg(value_name = "FILE.reel")]
    pub file: PathBuf,
    /// .abc (Alembic), .glb (glTF), .bvh (a clip), or a directory for a sequence of .obj
    #[arg(long, short, value_name = "OUT.abc|OUT.glb|OUT.bvh|DIR/")]
    pub output: PathBuf,
    /// How meshes kept as parts or bones come back: points (frame by frame, as decoded), skins (.glb only: a
    /// skin whose joints move; what points have beside that is left out, and how much that is, is said),
    /// parts (.glb and .abc: each rigid part a still mesh below a node that moves; what is of no part comes
    /// as points) or auto (in a .glb a skin where it keeps the promise, else points) [default: auto]
    #[arg(long = "as", value_name = "BONES")]
    pub bones: Option<Bones>,
    /// A level of detail of a file that has some (compile --lod): the vertices that it needs and its
    /// triangles. A mesh with fewer levels comes at its last [default: 0, the mesh itself]
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=7))]
    pub lod: u8,
}

/// `meshreel demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// Where the files and pictures go
    #[arg(long, short, value_name = "DIR", default_value = "demo")]
    pub output: PathBuf,
    /// A directory of .abc files to use instead of the bundled ones
    #[arg(long, value_name = "DIR")]
    pub inputs: Option<PathBuf>,
    /// Largest error: a percentage of each mesh's size or a length in the file's unit
    #[arg(long, value_name = "T", default_value = "0.01%")]
    pub tolerance: Tolerance,
}

/// What is said of options that are planned and that this version lacks.
pub const NOT_BUILT: &str = "not built yet in this version";

/// A frame rate: `24`, `29.97` or `30000/1001`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate(pub f64);

impl FromStr for Rate {
    type Err = String;
    fn from_str(text: &str) -> Result<Rate, String> {
        match text.parse::<Ratio>() {
            Ok(Ratio(value)) if (1e-3..=1e5).contains(&value) => Ok(Rate(value)),
            _ => Err(format!(
                "'{text}' is no frame rate: give frames per second, as in 24, 29.97 or 30000/1001"
            )),
        }
    }
}

/// How many tolerances players may be off between frames: `4`, `auto`, or `off` (also `0`) for whatever it
/// is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Between(pub BetweenChoice);

impl FromStr for Between {
    type Err = String;
    fn from_str(text: &str) -> Result<Between, String> {
        let least = meshreel_options::Options::LEAST_BETWEEN;
        match (text, text.parse::<f64>()) {
            ("auto", _) => Ok(Between(BetweenChoice::Auto)),
            ("off", _) | (_, Ok(0.0)) => Ok(Between(BetweenChoice::Off)),
            (_, Ok(multiple)) if multiple >= least && multiple.is_finite() => {
                Ok(Between(BetweenChoice::Within(multiple)))
            }
            _ => Err(format!(
                "'{text}' says nothing of the time between frames: give a number of tolerances from {least} on, auto or off"
            )),
        }
    }
}

/// The vertex channels to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Channels {
    pub normals: bool,
    pub uvs: bool,
    pub colours: bool,
    pub attributes: bool,
}

impl FromStr for Channels {
    type Err = String;
    fn from_str(text: &str) -> Result<Channels, String> {
        let mut channels = Channels { normals: false, uvs: false, colours: false, attributes: false };
        for name in text.split(',').map(str::trim) {
            match name {
                "all" => channels = Channels { normals: true, uvs: true, colours: true, attributes: true },
                "positions" => {}
                "normals" => channels.normals = true,
                "uvs" => channels.uvs = true,
                "colours" | "colors" => channels.colours = true,
                "attributes" => channels.attributes = true,
                _ => {
                    return Err(format!(
                        "'{name}' is no channel: give all, or a list of positions, normals, uvs, colours, attributes"
                    ));
                }
            }
        }
        Ok(channels)
    }
}

/// What tells parts.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Parts {
    Auto,
    Attribute(String),
    Connected,
    Analyse,
}

impl FromStr for Parts {
    type Err = String;
    fn from_str(text: &str) -> Result<Parts, String> {
        match (text, text.strip_prefix("attribute:")) {
            ("auto", _) => Ok(Parts::Auto),
            ("connected", _) => Ok(Parts::Connected),
            ("analyse" | "analyze", _) => Ok(Parts::Analyse),
            (_, Some(name)) if !name.is_empty() => Ok(Parts::Attribute(name.into())),
            _ => Err(format!("'{text}' tells no parts: give attribute:NAME, connected, analyse or auto")),
        }
    }
}

/// A closed list of words, some of which this version only knows by name.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident, $noun:literal: $($variant:ident = $word:literal),+; later: $($later:literal),*) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),+ }
        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<$name, String> {
                let later: &[&str] = &[$($later),*];
                let words = [$($word),+].join(", ");
                match text {
                    $($word => Ok($name::$variant),)+
                    _ if later.contains(&text) => {
                        Err(format!("{} '{text}': {NOT_BUILT}; give one of: {words}", $noun))
                    }
                    _ => Err(format!("'{text}' is no {}: give one of: {words}", $noun)),
                }
            }
        }
        deserialize_from_text!($name);
    };
}

words!(
    /// How a mesh is kept.
    Method, "method": Auto = "auto", Static = "static", Rigid = "rigid", Skinned = "skinned", Soft = "soft", Fluid = "fluid"; later:);
words!(
    /// How transforms of rigid parts are kept.
    Form, "form of transforms": Clip = "clip", Packed = "packed"; later:);
words!(
    /// What becomes of rigs.
    RigName, "way to treat rigs": Bake = "bake", Keep = "keep", Only = "only"; later:);
words!(
    /// How bones come back.
    Bones, "way to give bones back": Auto = "auto", Points = "points", Skins = "skins", Parts = "parts"; later:);
words!(
    /// Spacing of a curve's knots.
    Spacing, "spacing of knots": Uniform = "uniform", Chordal = "chordal", Centripetal = "centripetal"; later:);
words!(
    /// How a curve's keys are found.
    Keys, "way to find keys": Fitted = "fitted", Inserted = "inserted"; later:);
words!(
    /// What a curve's tolerance means.
    Rule, "rule of curves": Guaranteed = "guaranteed", Local = "local"; later:);
words!(
    /// How clips are kept.
    Codec, "codec": Auto = "auto", Sampled = "sampled", Curve = "curve"; later:);
words!(
    /// The codec family.
    Preset, "preset": Small = "small", Fast = "fast", Classic = "classic"; later:);
words!(
    /// Block compression.
    Block, "block compression": Store = "store", Deflate = "deflate", Lz4hc = "lz4hc", Zstd = "zstd"; later:);
words!(
    /// A length unit.
    UnitName, "unit": Metre = "m", Centimetre = "cm", Millimetre = "mm", Inch = "in"; later:);
deserialize_from_text!(Rate, Between, Channels, Parts);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn words_and_lists() {
        assert_eq!("soft".parse(), Ok(Method::Soft));
        assert_eq!("rigid".parse(), Ok(Method::Rigid));
        assert!("stiff".parse::<Method>().unwrap_err().contains("rigid"));
        assert_eq!("small".parse(), Ok(Preset::Small));
        assert!("tiny".parse::<Preset>().unwrap_err().contains("fast"));
        assert!("zip".parse::<Block>().unwrap_err().contains("zstd"));
        let only = "positions,uvs".parse::<Channels>().unwrap();
        assert!(only.uvs && !only.normals && !only.colours);
        assert!("positions,weights".parse::<Channels>().is_err());
        assert_eq!("30000/1001".parse(), Ok(Rate(30000.0 / 1001.0)));
        assert!("0".parse::<Rate>().is_err());
    }
}
