//! The table of options: each is defined once. Its rows generate
//!
//! * [`PartialOptions`]: the options as users give them, each of them optional; read from a command line or
//!   an options file, laid over others, and put into
//! * [`Options`]: the options for the compiler, with defaults;
//! * the lines in which a file stores these, written and read;
//! * [`TABLE`]: keys and help, from which a command line makes its arguments.
//!
//! A row:
//!
//! ```text
//! /// Help, as the command line prints it.
//! field: what users say = "key" "VALUE" in 1..=9 without "other-key", hidden
//!     => what the compiler takes = its default, stored PLACE WHEN as FORM;
//! ```
//!
//! * `in`: smallest and largest value of a number; `without`: keys that must not be given on the same command
//!   line; `hidden`: not shown in help.
//! * `stored`: its line in the options that a file stores. PLACE is the line's place among the others and,
//!   since it decides the bytes of files, frozen. WHEN: `always`, `changed` (if it is not the default),
//!   `classic` (with that preset) or `never` (written elsewhere, but read). FORM is a type of
//!   [`crate::stored`]. An option that is not stored changes how a run goes, not what a player shows, or
//!   follows from the source.

use crate::Error;
use crate::choices::{
    BetweenChoice, BlockChoice, ChannelList, CodecChoice, MergeAt, MethodChoice, PartsChoice, Preset,
    RigChoice, TransformForm, UnitName,
};
use crate::sections::{ClipChoice, MeshOverride};
use crate::stored::{
    BlockFormat, BoundedInteger, ChannelNames, DiagonalTolerance, Flag, Globs, Keyword, Lenient, Multiple,
    NonDefault, Number, Positive, RangeText, RangeTolerance, StoredForm, Text,
};
use crate::units::{Angle, ByteSize, Distance, Length, Rate, Ratio, Span, Tolerance, ToleranceFor};
use crate::user_value::{AppendedList, Assign, Bounds, UserValue, ValueCount};
use meshreel_scene::LengthUnit;
use meshreel_scene::sample::{ChannelSelection, TimeRange};
use serde::Deserialize;

/// The description of an option, without its type.
pub struct OptionDescription {
    /// Name on the command line, without the dashes, and in an options file.
    pub key: &'static str,
    /// Placeholder of the value in help.
    pub value: Option<&'static str>,
    /// The number of values that it takes.
    pub takes: ValueCount,
    /// Heading of its group in help.
    pub heading: &'static str,
    /// Lines of the help text, which is one or more sentences.
    help: &'static [&'static str],
    /// The option is not shown in help.
    pub hidden: bool,
    /// Keys that must not be given on the same command line.
    pub without: &'static [&'static str],
    /// The smallest and largest allowed values of a number.
    pub bounds: Bounds,
    check: fn(&str) -> Result<(), String>,
}

impl OptionDescription {
    /// Returns the help text in one line.
    pub fn help(&self) -> String {
        let lines: Vec<&str> = self.help.iter().map(|line| line.trim()).collect();
        lines.join(" ")
    }

    /// Checks a value for the option; the error says what is accepted.
    pub fn check(&self, text: &str) -> Result<(), String> {
        (self.check)(text)
    }
}

/// Returns the smallest and largest allowed values of the number of a key.
pub fn bounds(key: &str) -> Bounds {
    TABLE.iter().find(|option| option.key == key).and_then(|option| option.bounds)
}

/// Returns an optional element of a row.
const fn only<T: Copy>(what: &[T]) -> Option<T> {
    match what {
        [one] => Some(*one),
        _ => None,
    }
}

/// Refuses a number outside its bounds.
fn within(key: &str, value: Option<i64>, least: i64, most: i64) -> Result<(), String> {
    match value {
        Some(value) if !(least..=most).contains(&value) => {
            Err(format!("{key} = {value}: give {least} to {most}"))
        }
        _ => Ok(()),
    }
}

/// Receives the lines of stored options: the place of each among the others, its key and its value.
pub(crate) type Line<'a> = &'a mut dyn FnMut(u32, &str, String);

/// Whether an option is stored.
macro_rules! is_stored {
    (always $field:ident $options:ident $usual:ident) => {
        true
    };
    (changed $field:ident $options:ident $usual:ident) => {
        $options.$field != $usual.$field
    };
    (classic $field:ident $options:ident $usual:ident) => {
        $options.preset == Preset::Classic
    };
    (never $field:ident $options:ident $usual:ident) => {
        false
    };
}

macro_rules! options {
    ($($heading:literal { $(
        $(#[doc = $help:literal])+
        $field:ident: $said:ty = $key:literal $($value:literal)? $(in $least:literal..=$most:literal)?
            $(without $($other:literal)+)? $(, $hidden:ident)?
            => $kept:ty = $default:expr $(, stored $place:literal $when:ident as $form:ty)?;
    )+ })+) => {
        /// All options, in the order of help.
        pub static TABLE: &[OptionDescription] = &[$($(OptionDescription {
            key: $key,
            value: only(&[$($value)?]),
            takes: <$said as UserValue>::VALUE_COUNT,
            heading: $heading,
            help: &[$($help),+],
            hidden: only::<&str>(&[$(stringify!($hidden))?]).is_some(),
            without: &[$($($other),+)?],
            bounds: only(&[$(($least, $most))?]),
            check: |text| <$said>::default().set(text, only(&[$(($least, $most))?])),
        },)+)+];

        /// Options as a user gives them, on the command line or in an options file; each is optional.
        #[derive(Clone, Debug, Default, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct PartialOptions {
            $($($(#[doc = $help])+ #[serde(rename = $key)] pub $field: $said,)+)+
        }

        impl PartialOptions {
            /// Parses and sets the value of a key as on the command line; for a key without a value, `true`.
            pub fn set(&mut self, key: &str, text: &str) -> Result<(), String> {
                match key {
                    $($($key => self.$field.set(text, bounds(key)),)+)+
                    _ => Err(format!("'{key}' is no option")),
                }
            }

            /// Returns these options, and those of `lower` that are not given here.
            pub fn over(self, mut lower: PartialOptions) -> PartialOptions {
                // A full source map, given here, revokes a short one below.
                lower.short_source_map &= !self.full_source_map;
                PartialOptions { $($($field: self.$field.over(lower.$field),)+)+ }
            }

            /// Refuses numbers outside their bounds, which an options file may contain.
            pub(crate) fn check_bounds(&self) -> Result<(), String> {
                $($($(within($key, self.$field.map(i64::from), $least, $most)?;)?)+)+
                Ok(())
            }

            /// Sets in `options` all that was given, in the length unit of a file.
            pub(crate) fn assign(&self, options: &mut Options, unit: Option<LengthUnit>) -> Result<(), Error> {
                $($(self.$field.assign(&mut options.$field, unit)?;)+)+
                Ok(())
            }
        }

        /// Options of a compile. `Default` is what the command line does without flags. Angles are in
        /// degrees, lengths in the unit of the input, memory in bytes, fractions 0 to 1; 0 threads means all
        /// cores.
        #[derive(Clone, Debug, PartialEq)]
        pub struct Options {
            $($($(#[doc = $help])+ pub $field: $kept,)+)+
            /// Options of some meshes only; later ones win.
            pub meshes: Vec<MeshOverride>,
            /// Options of some joints only, of clip layers and of curves.
            pub clips: ClipChoice,
        }

        impl Default for Options {
            fn default() -> Self {
                Options {
                    $($($field: $default,)+)+
                    meshes: Vec::new(),
                    clips: ClipChoice::default(),
                }
            }
        }

        impl Options {
            /// Writes the lines of the table's options.
            pub(crate) fn write_lines(&self, line: Line<'_>) {
                let usual = Options::default();
                $($($(if is_stored!($when $field self usual) {
                    for value in <$form as StoredForm<$kept>>::write(&self.$field) {
                        line($place, $key, value);
                    }
                })?)+)+
            }

            /// Takes a line if its key is one of the table's; `None` otherwise. `Some(None)`: its value is
            /// invalid.
            pub(crate) fn read_line(&mut self, key: &str, text: &str) -> Option<Option<()>> {
                match key {
                    $($($($key => {
                        Some(<$form as StoredForm<$kept>>::read(&mut self.$field, text, bounds(key)))
                    })?)+)+
                    _ => None,
                }
            }
        }
    };
}

options! {
    "The promise" {
        /// Largest distance, in world space, between source and decoded positions: a percentage of each
        /// mesh's size (the diagonal of its largest box in any one frame in which it is visible: how far it
        /// travels does not count), a length in the file's unit or one with its own (0.5mm, 1cm) [default:
        /// 0.01%]. Of clips: of points at the shell distance of any joint, a length [default: 0.01 cm].
        /// Repeatable with a glob, for some joints ('*Hand*=0.05') or meshes ('/hero/**=0.1%')
        tolerance: AppendedList<ToleranceFor> = "tolerance" "[GLOB=]T"
            => Tolerance = Tolerance::Relative(1e-4), stored 1 always as DiagonalTolerance;
        /// Clips: distance from each joint at which its error is measured, in the file's unit [default: 3 cm]
        shell: Option<Length> = "shell" "LENGTH"
            => Option<f64> = None, stored 30 changed as Positive;
        /// Largest angle between source and decoded normals [default: 1deg]
        normal_tolerance: Option<Angle> = "normal-tolerance" "ANGLE"
            => f64 = 1.0, stored 2 always as Positive;
        /// Largest distance between source and decoded texture coordinates [default: 1/4096]
        uv_tolerance: Option<Ratio> = "uv-tolerance" "RATIO"
            => f64 = 1.0 / 4096.0, stored 3 always as Positive;
        /// Largest error of scalar tracks and attributes: a percentage of each component's range, or a number
        /// [default: 0.01%]
        scalar_tolerance: Option<Distance> = "scalar-tolerance" "T"
            => Tolerance = Tolerance::Relative(1e-4), stored 4 changed as RangeTolerance;
        /// Skip the last step of compile: it reads the source again, decodes the finished file and compares
        /// them as 'verify' does, and refuses a file that breaks its promise. The file records that this was
        /// skipped
        no_verify: bool = "no-verify"
            => bool = false, stored 35 never as Flag;
        /// Bits per colour component, 1 to 16 [default: 8]
        colour_bits: Option<u8> = "colour-bits" "N" in 1..=16
            => u32 = 8, stored 5 always as BoundedInteger;
    }
    "Content" {
        /// What to keep: all, or a list of positions, normals, uvs, colours, attributes [default: all];
        /// tangents come with normals and uvs, attributes are other numbers that are equal all over a part
        channels: Option<ChannelList> = "channels" "LIST"
            => ChannelSelection = ChannelSelection::default(), stored 6 always as ChannelNames;
        /// Only nodes whose path matches (repeatable; * within a name, ** across names)
        include: Vec<String> = "include" "GLOB"
            => Vec<String> = Vec::new(), stored 25 changed as Globs;
        /// Without nodes whose path matches (repeatable)
        exclude: Vec<String> = "exclude" "GLOB"
            => Vec<String> = Vec::new(), stored 26 changed as Globs;
        /// Compile what the source hides as if it were shown: otherwise what is hidden in every frame is in
        /// the file, but is never seen
        show_hidden: bool = "show-hidden"
            => bool = false, stored 36 changed as Flag;
        /// With --merge, the start of numbered sequences: each at the number of its first file, counted from
        /// the lowest of them all (frame), and hidden before and after its own files; or all at once (zero)
        /// [default: frame]
        merge_at: Option<MergeAt> = "merge-at" "frame|zero"
            => MergeAt = MergeAt::Frame, stored 37 changed as Keyword;
        /// Part of the animation: frames counted from 0 (10:20) or seconds (0.5s:2s), both ends included
        range: Option<Span> = "range" "A:B"
            => Option<TimeRange> = None, stored 17 changed as RangeText;
        /// Resample to this many frames per second [default: the source's own sample times]
        fps: Option<Rate> = "fps" "F"
            => Option<f64> = None, stored 16 changed as Positive;
        /// Add frames where the source, between its samples, is farther than K tolerances from what players
        /// show there: they move points along lines, joints of a glTF file carry them on curves. Or off:
        /// frames as the source has them, and nothing is promised of the time between. With --fps none are
        /// added [default: auto, which is 4, but more where that would make more than three times as many
        /// frames]
        between: Option<BetweenChoice> = "between" "K|auto|off"
            => BetweenChoice = BetweenChoice::Auto, stored 34 never as Multiple;
        /// Frames per second of inputs that carry no rate [default: 30]
        source_fps: Option<Rate> = "source-fps" "F"
            => Option<f64> = None, stored 18 changed as Lenient<Number>;
        /// The animation of a glTF or FBX file that moves its meshes, or all: one after the other on one
        /// timeline, as named ranges. Those of skeletons are all kept as clips in any case [default: the
        /// first that moves something]
        animation: Option<String> = "animation" "NAME|N|all"
            => Option<String> = None, stored 19 changed as Text;
        /// Rigs of skinned meshes: bake (a mesh is what frames show), keep (beside that its bind pose,
        /// weights and joints, so that any clip of its skeleton, or a blend of clips, can move it, and
        /// extract gives it back as one character) or only (these without frames: far smaller, but the mesh
        /// stands still unless somebody moves it by a clip) [default: bake]
        rig: Option<RigChoice> = "rig" "RIG"
            => RigChoice = RigChoice::Bake, stored 20 changed as NonDefault<Keyword>;
        /// Length unit of inputs that carry none: m, cm, mm or in
        unit: Option<UnitName> = "unit" "UNIT"
            => Option<LengthUnit> = None;
        /// Edges sharper than this stay hard where normals have to be made [default: all smooth]
        smooth_angle: Option<Angle> = "smooth-angle" "ANGLE"
            => Option<f64> = None, stored 12 changed as Number;
        /// The animation is a closed cycle, also where the last frame differs from the first
        cycle: bool = "cycle"
            => bool = false, stored 13 changed as Flag;
        /// Meshes whose faces change get fixed ones as far as the tolerance allows, and are then as cheap as
        /// soft ones. The promise is then the distance of vertices from the other surface, both ways; texture
        /// coordinates and colours are left out
        remesh: bool = "remesh"
            => bool = false, stored 14 changed as Flag;
        /// With --remesh and --cycle: the number of frames at the end that are blended into the start
        /// [default: an eighth of all]
        remesh_blend: Option<u32> = "remesh-blend" "FRAMES"
            => Option<usize> = None, stored 15 changed as Number;
        /// Levels of detail of each mesh beside the mesh itself, 1 to 7: each has about half the triangles of
        /// the one before, between the same vertices, and says how far it is from the mesh in any frame
        /// [default: none]
        lod: Option<u8> = "lod" "N" in 1..=7
            => u32 = 0, stored 21 changed as Number;
        /// Leave out triangles while they cannot be seen: those between pieces that stand together before
        /// they break apart, and those on the side that pieces lie on in the end. In flight everything is
        /// drawn
        cull_hidden: bool = "cull-hidden"
            => bool = false, stored 22 changed as Flag;
        /// Store animated normals, tangents, uvs and colours of meshes of fixed topology apart from
        /// positions: a player that leaves them out neither reads nor decodes them (play --no-attributes);
        /// otherwise only the size changes a little
        attributes_apart: bool = "attributes-apart"
            => bool = false, stored 23 changed as Flag;
        /// Without meshes: the clips of the input or, where it has none, its moving transforms as one clip
        clips_only: bool = "clips-only"
            => bool = false, stored 24 changed as Flag;
        /// Keep no source map of meshes whose faces change, where it takes about as much as the mesh: extract
        /// then gives back their triangles, in an order of their own
        short_source_map: bool = "short-source-map" without "strip"
            => bool = false;
        /// The usual: the source map of meshes whose faces change is kept, too
        full_source_map: bool = "full-source-map" without "strip" "short-source-map", hidden
            => bool = false;
        /// Leave out the source map (smaller file; verify then matches by nearest points)
        strip: bool = "strip"
            => bool = false;
    }
    "Compression" {
        /// Method of meshes: auto, static, rigid, skinned, soft or fluid [default: auto]
        method: Option<MethodChoice> = "method" "METHOD"
            => MethodChoice = MethodChoice::Auto, stored 7 always as Lenient<Keyword>;
        /// Transforms of rigid parts: clip (fewest bytes) or packed (12 bytes each, as a graphics card reads
        /// them) [default: clip]
        transforms: Option<TransformForm> = "transforms" "FORM"
            => TransformForm = TransformForm::Clip, stored 8 changed as Lenient<Keyword>;
        /// How to find the parts of a mesh that move as one: attribute:NAME (whole numbers on faces or
        /// points), connected (pieces, nothing else), analyse (pieces and motion alone) or auto (any whole
        /// numbers or sets of faces that agree with the motion, then as analyse). All are hints: points that
        /// do not move with their part are analysed again [default: auto]
        parts: Option<PartsChoice> = "parts" "PARTS"
            => PartsChoice = PartsChoice::Auto;
        /// Form of clips: sampled (uniform samples), curve (keys and splines), auto (the smaller of the two)
        /// or random-access (samples by themselves: larger, for poses at any time without decoding) [default:
        /// auto]
        codec: Option<CodecChoice> = "codec" "CODEC"
            => CodecChoice = CodecChoice::Auto, stored 29 changed as Lenient<Keyword>;
        /// What matters most: small (fewest bytes), fast (fastest decoding) or classic (the source system's
        /// predictors, with --block) [default: small]
        preset: Option<Preset> = "preset" "PRESET"
            => Preset = Preset::Small, stored 9 always as Lenient<Keyword>;
        /// Block compression of the classic preset: store, deflate, lz4hc or zstd [default: zstd]
        block: Option<BlockChoice> = "block" "BLOCK"
            => BlockChoice = BlockChoice::Zstd, stored 10 classic as Lenient<BlockFormat>;
        /// Index frames at most this many frames apart, 1 to 64: closer seeks faster, wider is smaller. With
        /// --preset small a multiple of 16; clips restart at the power of two below [default: 16 for classic,
        /// 64 else, 128 for clips]
        index_every: Option<u32> = "index-every" "N" in 1..=64
            => Option<usize> = None, stored 11 always as Lenient<Number>;
        /// Effort spent on size, 1 to 9. With --preset classic and deflate or zstd, 7 and more also trade
        /// speed of decoding for it: frames take about twice as long [default: 5]
        effort: Option<u8> = "effort" "N" in 1..=9
            => u32 = 5, stored 27 always as Lenient<Number>;
    }
    "Running" {
        /// Threads [default: all cores]; the file does not depend on it
        jobs: Option<u32> = "jobs" "N" in 1..=4096
            => usize = 0;
        /// Memory to keep frames in, such as 256MB or 1GiB [default: 512MiB]
        memory: Option<ByteSize> = "memory" "SIZE"
            => u64 = 512 << 20;
        /// Make remarks an error, before anything is written
        strict: bool = "strict"
            => bool = false;
        /// Print the passes and the flattened tree
        explain: bool = "explain"
            => bool = false;
        /// Do everything but write nothing
        dry_run: bool = "dry-run"
            => bool = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_the_names_of_fields_and_all_different() {
        let mut keys: Vec<&str> = TABLE.iter().map(|option| option.key).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), TABLE.len());
        let fields = format!("{:?}", PartialOptions::default());
        for option in TABLE {
            assert!(fields.contains(&format!("{}: ", option.key.replace('-', "_"))), "{}", option.key);
            assert!(option.without.iter().all(|key| keys.contains(key)), "{}", option.key);
            assert!(!option.help().is_empty() && !option.help().ends_with('.'), "{}", option.key);
            assert_eq!(option.value.is_none(), option.takes == ValueCount::Zero, "{}", option.key);
        }
    }

    #[test]
    fn a_value_is_taken_or_refused_with_what_to_give() {
        let mut said = PartialOptions::default();
        said.set("effort", "9").unwrap();
        said.set("cull-hidden", "true").unwrap();
        said.set("include", "/a").unwrap();
        said.set("include", "/b").unwrap();
        assert_eq!((said.effort, said.cull_hidden, said.include.len()), (Some(9), true, 2));
        assert_eq!(said.set("effort", "10"), Err("10 is not in 1..=9".into()));
        assert!(said.set("efort", "1").is_err());
        let fps = TABLE.iter().find(|option| option.key == "fps").unwrap();
        assert!(fps.check("24").is_ok() && fps.check("0").unwrap_err().contains("frame rate"));
    }

    #[test]
    fn the_command_line_wins() {
        let upper = PartialOptions { block: Some(BlockChoice::Store), ..PartialOptions::default() };
        let lower =
            PartialOptions { block: Some(BlockChoice::Zstd), effort: Some(9), ..PartialOptions::default() };
        let merged = upper.over(lower);
        assert_eq!((merged.block, merged.effort), (Some(BlockChoice::Store), Some(9)));
        let upper = PartialOptions { full_source_map: true, ..PartialOptions::default() };
        let lower = PartialOptions { short_source_map: true, ..PartialOptions::default() };
        assert!(!upper.over(lower.clone()).short_source_map);
        assert!(PartialOptions::default().over(lower).short_source_map);
    }
}
