//! The command line as types. The help of each option, with default and unit, stands here; that of the
//! options that change how a file is compiled ([`ContentOptions`]) stands in the table of `meshreel_options`.

use crate::content::ContentOptions;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use meshreel_commands::extract::{BoneForm, DirectoryFormat};
use meshreel_commands::shard::Shard;
use meshreel_options::{ByteSize, Distance, Rate};
use meshreel_write::glb::Extension;
use meshreel_write::openvat::{ImageFormat, NormalTarget};
use std::path::PathBuf;

/// Compiles baked animation into small files with a guaranteed error, inspects them, verifies the error, and
/// extracts them again.
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

/// The flags of every verb.
#[derive(Args, Clone, Copy, Default)]
pub struct OutputFlags {
    /// Print one JSON object on stdout, also on failure
    #[arg(long, global = true)]
    pub json: bool,
    /// No progress, no remarks, no summary; errors only
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Also print each step and how long it took
    #[arg(long, short, global = true)]
    pub verbose: bool,
}

/// The verbs.
#[derive(Subcommand)]
pub enum Command {
    /// Compile files of content tools into a .reel whose error is guaranteed
    Compile(Box<CompileArgs>),
    /// Decide how one large cache is compiled on many machines: 'part' does the work, 'join' makes the .reel
    Plan(Box<PlanArgs>),
    /// Make the K-th of N parts of a plan, on any machine that has the same program and inputs
    Part(PartArgs),
    /// Join all parts of a plan into the .reel, byte for byte the one that compile makes
    Join(JoinArgs),
    /// Show the content of a file: tree, methods, sizes, ratios
    Info(InfoArgs),
    /// Decode a .reel and compare it with its source, mesh by mesh
    Verify(VerifyArgs),
    /// Convert a .reel back to a format of content tools, in source vertex order if it has a source map
    Extract(ExtractArgs),
    /// Compile, verify and extract bundled real files and draw the results; needs no input
    Demo(DemoArgs),
    /// Play in real time without a picture, as a game would, and count missed frames
    Play(PlayArgs),
    /// Measure how fast this machine decodes a file, stage by stage
    Bench(BenchArgs),
    /// Draw the motion of a joint or a point over time, source against decoded, and the error below
    Plot(PlotArgs),
    /// Write completions for shells and manual pages, for those who package the program
    #[command(hide = true)]
    Manual(ManualArgs),
}

/// Width and height of a picture in pixels.
#[derive(Clone, Copy)]
pub struct PictureSize(pub [usize; 2]);

impl std::str::FromStr for PictureSize {
    type Err = String;

    fn from_str(text: &str) -> Result<PictureSize, String> {
        let sides = text.split_once('x').and_then(|(w, h)| Some([w.parse().ok()?, h.parse().ok()?]));
        let sides = sides.filter(|sides| sides.iter().all(|side| (1..=4096).contains(side)));
        sides.map(PictureSize).ok_or_else(|| "as in 640x480, at most 4096".into())
    }
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
    /// Draw the parts and bones of meshes in colours, and the residuals of points beside them, instead of
    /// curves
    #[arg(long, conflicts_with_all = ["vertex", "clip", "mesh", "source"])]
    pub parts: bool,
    /// Draw the triangles of the source and of the file, each in a colour of its own, and the distance
    /// between the surfaces; with --source
    #[arg(long, conflicts_with_all = ["vertex", "clip", "mesh", "parts"])]
    pub faces: bool,
    /// Draw levels of detail, instead of curves: the triangles of each in three frames
    #[arg(long, conflicts_with_all = ["vertex", "parts", "faces", "clip", "mesh", "source"])]
    pub levels: bool,
    /// Draw the triangles that cannot be seen, instead of curves: in three frames the visible triangles, and
    /// the others in red
    #[arg(long, conflicts_with_all = ["vertex", "parts", "faces", "levels", "clip", "mesh", "source"])]
    pub hidden: bool,
    /// Draw the frame of this number, instead of curves, without any graphics card; --json names the camera
    #[arg(
        long,
        value_name = "N",
        group = "picture",
        conflicts_with_all = ["joint", "vertex", "parts", "faces", "levels", "hidden", "clip", "mesh", "source"]
    )]
    pub frame: Option<usize>,
    /// Draw all frames, instead of curves, as an animated PNG without any graphics card
    #[arg(
        long,
        group = "picture",
        conflicts_with_all = [
            "frame", "joint", "vertex", "parts", "faces", "levels", "hidden", "clip", "mesh", "source"
        ]
    )]
    pub animate: bool,
    /// Width and height of the picture of --frame or --animate, at most 4096 [default: 640x480]
    #[arg(
        long,
        value_name = "WxH",
        default_value = "640x480",
        hide_default_value = true,
        requires = "picture"
    )]
    pub size: PictureSize,
    /// The point of a mesh, by its number in the source (without a source map: the vertex of the file); of
    /// particles by their ids
    #[arg(long, value_name = "N")]
    pub vertex: Option<u64>,
    /// The clip, if there are several
    #[arg(long, value_name = "NAME", conflicts_with = "vertex")]
    pub clip: Option<String>,
    /// The mesh, by the path of its node, if there are several
    #[arg(long, value_name = "PATH", conflicts_with = "joint")]
    pub mesh: Option<String>,
    /// The source files, to draw them and the error, too
    #[arg(long, value_name = "IN", num_args = 1..)]
    pub source: Vec<PathBuf>,
    /// Positions of an .obj over time
    #[arg(long, value_name = "FILE.pc2|.mdd")]
    pub points: Option<PathBuf>,
    /// Frames per second of inputs that carry no rate [default: the rate the .reel was compiled with]
    #[arg(long, value_name = "F")]
    pub source_fps: Option<Rate>,
    /// The picture [default: FILE.png]
    #[arg(long, short, value_name = "OUT.png")]
    pub output: Option<PathBuf>,
}

/// `meshreel compile`.
#[derive(Args)]
pub struct CompileArgs {
    /// Inputs: .abc (Ogawa or HDF5), .usd, .usda, .usdc, .usdz, .glb, .gltf, .bvh, .obj with --points, a
    /// quoted sequence such as 'frame.####.obj', or a quoted glob of any of them. Several are compiled
    /// separately, or with --merge into one
    #[arg(required = true, value_name = "IN")]
    pub inputs: Vec<PathBuf>,
    /// The .reel to write, or a directory (existing, or ending in /) for one .reel per input. An existing
    /// file is replaced only when the new one is complete [default: the input's name, beside it]
    #[arg(long, short, value_name = "OUT.reel|DIR/")]
    pub output: Option<PathBuf>,
    /// One .reel of all inputs, merged by node path: geometry and transforms may come from different files
    #[arg(long)]
    pub merge: bool,
    /// Of several inputs, compile separately only the K-th of N shares: N machines do all of them. Inputs are
    /// sorted by name and dealt out in turn, so every machine must name the same ones
    #[arg(long, value_name = "K/N", conflicts_with = "merge")]
    pub shard: Option<Shard>,
    /// Skip outputs that would come out the same: inputs, options and the .reel have not changed since, by
    /// content. A small file beside each .reel records what it was made of
    #[arg(long)]
    pub changed_only: bool,
    /// Positions of an .obj over time
    #[arg(long, value_name = "FILE.pc2|.mdd")]
    pub points: Option<PathBuf>,
    /// Read options from a TOML file: the long names below as keys; [[mesh]] sections with `glob`,
    /// `tolerance`, `method`, `parts`, `remesh` for some meshes only; [[joint]] sections with `glob`,
    /// `tolerance`, `shell`, `pinned`; and [curve]. The command line wins
    #[arg(long, value_name = "FILE.toml")]
    pub options: Option<PathBuf>,
    /// The options that can also stand in an options file
    #[command(flatten)]
    pub content: ContentOptions,
}

/// `meshreel plan`.
#[derive(Args)]
pub struct PlanArgs {
    /// Inputs, as for compile; several become one file, merged by node path
    #[arg(required = true, value_name = "IN")]
    pub inputs: Vec<PathBuf>,
    /// The plan to write
    #[arg(long, short, value_name = "X.plan")]
    pub output: PathBuf,
    /// Positions of an .obj over time
    #[arg(long, value_name = "FILE.pc2|.mdd")]
    pub points: Option<PathBuf>,
    /// Read options from a TOML file, as compile does; the plan stores them
    #[arg(long, value_name = "FILE.toml")]
    pub options: Option<PathBuf>,
    /// The options that can also stand in an options file
    #[command(flatten)]
    pub content: ContentOptions,
}

/// `meshreel part`.
#[derive(Args)]
pub struct PartArgs {
    /// The plan
    #[arg(value_name = "X.plan")]
    pub plan: PathBuf,
    /// The part, and the number of parts, which is the same for all parts of a file
    #[arg(value_name = "K/N")]
    pub share: Shard,
    /// The part to write; a complete one of this plan that exists already is left alone
    #[arg(long, short, value_name = "K.part")]
    pub output: PathBuf,
    /// The inputs, if they lie elsewhere on this machine; they must be the same as when the plan was made
    #[arg(long, value_name = "IN", num_args = 1..)]
    pub source: Vec<PathBuf>,
    /// Positions of an .obj over time, if these lie elsewhere
    #[arg(long, value_name = "FILE.pc2|.mdd", requires = "source")]
    pub points: Option<PathBuf>,
    /// Threads [default: all cores]; the part does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub jobs: Option<u32>,
}

/// `meshreel join`.
#[derive(Args)]
pub struct JoinArgs {
    /// All parts of one plan, in any order
    #[arg(required = true, value_name = "K.part")]
    pub parts: Vec<PathBuf>,
    /// The .reel to write. An existing file is replaced only when the new one is complete
    #[arg(long, short, value_name = "OUT.reel")]
    pub output: PathBuf,
    /// Verify the joined file with these inputs, as compile does, before it gets its name [default: it is
    /// opened and decoded, and not verified]
    #[arg(long, value_name = "IN", num_args = 1..)]
    pub source: Vec<PathBuf>,
    /// Positions of an .obj over time
    #[arg(long, value_name = "FILE.pc2|.mdd", requires = "source")]
    pub points: Option<PathBuf>,
    /// Threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub jobs: Option<u32>,
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
    /// The animation of a glTF or FBX file that moves its meshes, or all, one after the other [default: the
    /// first that moves something]
    #[arg(long, value_name = "NAME|N|all")]
    pub animation: Option<String>,
    /// Show the whole tree, with user properties
    #[arg(long)]
    pub tree: bool,
    /// Show the attributes or streams of every mesh
    #[arg(long)]
    pub streams: bool,
    /// Show every frame: its time, and in a .reel its kind and size
    #[arg(long)]
    pub frames: bool,
}

/// `meshreel play`.
#[derive(Args)]
pub struct PlayArgs {
    /// Files to play, all at the same time
    #[arg(required = true, value_name = "FILE.reel")]
    pub files: Vec<PathBuf>,
    /// How long to play [default: to the end; 10 with --loop, --seek-every, --rate 0, or if the end is more
    /// than a day away]
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,
    /// Ticks per second
    #[arg(long, value_name = "F", default_value_t = 60.0)]
    pub fps: f64,
    /// Seconds of animation per second; negative plays backwards
    #[arg(long, value_name = "R", default_value_t = 1.0, allow_negative_numbers = true)]
    pub rate: f64,
    /// Start again at the end; a closed cycle is interpolated over its seam
    #[arg(long = "loop")]
    pub repeat: bool,
    /// Jump to another time every S seconds; the times are the same in every run
    #[arg(long, value_name = "S")]
    pub seek_every: Option<f64>,
    /// Seconds that are decoded before playback starts or continues after a jump
    #[arg(long, value_name = "S", default_value_t = 0.25)]
    pub pre_roll: f64,
    /// Memory for reading and decoding [default: 128MiB, or what the files need to be shown]
    #[arg(long, value_name = "SIZE")]
    pub heap: Option<ByteSize>,
    /// Files that take no more when decoded are played from memory; 0 for none
    #[arg(long, value_name = "SIZE", default_value = "16MiB", value_parser = ByteSize::parse_or_zero)]
    pub resident: ByteSize,
    /// Instances of each file, each at another time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub copies: u32,
    /// Show every frame (1), every second (2), or only every 16th (16) as a game does for distant instances:
    /// the others are neither read nor decoded, in files of the presets small and fast
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = PossibleValuesParser::new(["1", "2", "16"]).try_map(|n| n.parse::<u32>()))]
    pub frame_step: u32,
    /// Threads that decode [default: one less than there are cores]
    #[arg(long, value_name = "N")]
    pub threads: Option<usize>,
    /// Leave out animated normals, tangents, uvs and colours of meshes of fixed topology; if a file has them
    /// apart (compile --attributes-apart) they are not read either
    #[arg(long)]
    pub no_attributes: bool,
    /// Compare every displayed frame with a plain decode; exit 1 if one differs, or none is displayed
    #[arg(long)]
    pub check: bool,
}

/// `meshreel bench`.
#[derive(Args)]
pub struct BenchArgs {
    /// The file
    #[arg(value_name = "FILE.reel")]
    pub file: PathBuf,
    /// The shortest time for measuring each stage, up to 60
    #[arg(long, value_name = "S", default_value_t = 0.5, allow_negative_numbers = true)]
    pub seconds: f64,
    /// Leave out animated normals, tangents, uvs and colours of meshes of fixed topology
    #[arg(long)]
    pub no_attributes: bool,
}

/// `meshreel verify`.
#[derive(Args)]
pub struct VerifyArgs {
    /// The source files, then the .reel that was compiled from them
    // Options may come in between, which two arguments would not allow.
    #[arg(required = true, num_args = 1.., value_name = "IN> <OUT.reel")]
    pub files: Vec<PathBuf>,
    /// Positions of an .obj over time
    #[arg(long, value_name = "FILE.pc2|.mdd")]
    pub points: Option<PathBuf>,
    /// Frames per second of inputs that carry no rate [default: the rate the .reel was compiled with]
    #[arg(long, value_name = "F")]
    pub source_fps: Option<Rate>,
    /// IN is the output of `extract` for this .reel, a file or a folder of .obj: compare it with the decoded
    /// .reel, frame by frame, as precisely as such a file allows
    #[arg(long)]
    pub extracted: bool,
    /// --extracted: how far a point may be off, a length [default: the precision of 32-bit floats; for skins,
    /// parts and compressed files the mesh's own tolerance]
    #[arg(long, value_name = "T", requires = "extracted")]
    pub tolerance: Option<Distance>,
    /// --extracted: the level of detail that was extracted
    #[arg(long, value_name = "K", requires = "extracted", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=7))]
    pub lod: u8,
}

/// `meshreel extract`.
#[derive(Args)]
pub struct ExtractArgs {
    /// The .reel
    #[arg(value_name = "FILE.reel")]
    pub file: PathBuf,
    /// .abc (Alembic), .usdc or .usda (USD), .glb (glTF), .bvh (a clip), or a directory for a sequence of
    /// .obj, or for vertex animation textures (--format openvat)
    #[arg(long, short, value_name = "OUT.abc|OUT.usdc|OUT.glb|OUT.bvh|DIR/")]
    pub output: PathBuf,
    /// How meshes stored as parts or bones come back: points (frame by frame, as decoded), skins (.glb only:
    /// a skin with moving joints; any residual is left out and its size is reported), parts (.glb, .abc and
    /// .usd: each rigid part a still mesh below a node that moves; the rest comes as points) or auto (in a
    /// .glb a skin if it keeps the tolerance, in a .usd the skin of --rig keep, else points) [default: auto]
    #[arg(long = "as", value_name = "BONES")]
    pub bones: Option<BoneForm>,
    /// A level of detail of a file that has some (compile --lod): the vertices that it needs and its
    /// triangles. A mesh with fewer levels comes at its last. 0: the mesh itself
    #[arg(long, value_name = "K", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=7))]
    pub lod: u8,
    /// The content of a directory: obj (a sequence of files) or openvat (vertex animation textures in
    /// OpenVAT's form, and the mesh that they move, which shaders of Unity, Unreal, Godot, Bevy, three.js and
    /// Blender play without this program; changing faces are refused) [default: obj]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<DirectoryFormat>,
    /// openvat: the place of normals: packed (the lower half of the texture), separate (a texture of their
    /// own) or none [default: packed]
    #[arg(long, value_name = "WHERE")]
    pub normals: Option<NormalTarget>,
    /// openvat: the kind of texture: png (16 bits) or exr (32-bit floats, for values that need more than 16
    /// bits, and for loaders that keep 8 bits of a .png, such as those of browsers) [default: png]
    #[arg(long, value_name = "KIND")]
    pub image: Option<ImageFormat>,
    /// openvat: fail if a vertex would be further off than this: a length in the file's unit or with one
    /// (0.5mm), or a percentage of the size of everything [default: no limit; the error is measured and
    /// printed]. --compress: how far positions may be off the decoded ones, a length [default: the file's own
    /// tolerance]
    #[arg(long, value_name = "T")]
    pub tolerance: Option<Distance>,
    /// .glb: compress it: meshopt (EXT_meshopt_compression, which three.js, Babylon.js and others load) or
    /// khr-meshopt (KHR_meshopt_compression, smaller, for newer loaders). Positions and normals get as few
    /// bits as their tolerances allow; a mesh of more than 256 different frames that is no skin is refused
    #[arg(long, value_name = "KIND")]
    pub compress: Option<Extension>,
}

/// `meshreel demo`.
#[derive(Args)]
pub struct DemoArgs {
    /// The directory for files and pictures
    #[arg(long, short, value_name = "DIR", default_value = "demo")]
    pub output: PathBuf,
    /// A directory of .abc files to use instead of the bundled ones
    #[arg(long, value_name = "DIR")]
    pub inputs: Option<PathBuf>,
    /// Largest error: a percentage of each mesh's size or a length in the file's unit
    #[arg(long, value_name = "T", default_value = "0.01%")]
    pub tolerance: Distance,
}

/// `meshreel manual`.
#[derive(Args)]
pub struct ManualArgs {
    /// The directory for completions/ and man1/
    #[arg(long, short, value_name = "DIR")]
    pub output: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
