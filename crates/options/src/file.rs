//! The options file: the long option names as keys, and `[[mesh]]` sections for some meshes only.
//!
//! ```toml
//! tolerance = "0.01%"
//! block = "zstd"
//! exclude = ["/**/helper*"]
//!
//! [[mesh]]
//! glob = "/crowd/**"
//! tolerance = 0.5
//!
//! [[joint]]               # by name, or by path: "hips/**"
//! glob = "*Finger*"
//! tolerance = 0.05
//! shell = 1
//!
//! layer = "cosmetic"      # instead of what [[layer]] says
//! bias = 4                # matters so much more where layers are automatic
//! stepped = true          # never interpolated: keeps a sample's value until the next
//!
//! [[layer]]               # of clips; the first is the base, with all that no other takes
//! name = "base"
//! tiers = 3               # all but the base's first can be streamed
//!
//! [[layer]]
//! name = "cosmetic"
//! joints = ["*Finger*", "hips/**/Face*"]
//! below = 0.02            # automatic: joints less important than this part of the most important
//! share = 0.5             # automatic: so many of all joints
//! rate = 10               # samples per second
//! strip = "20%"           # samples without residuals: the least important, or those within a length
//! tiers = 3
//!
//! [curve]                 # codec curve
//! knots = "centripetal"   # or uniform, chordal
//! rotation-bits = 48      # or 32
//! keys = "fitted"         # or inserted
//! rule = "local"          # instead of guaranteed: each sub-track by itself, the tolerances below
//! rotation-tolerance = 0.1
//! translation-tolerance = 0.05
//! scale-tolerance = 0.05
//! adaptive = true         # 1, 1/2, 1/3 … up the hierarchy
//! ```

use crate::Error;
use crate::choices::Preset;
use crate::sections::{
    ClipChoice, CurveChoice, CurveSection, JointOverride, LayerSection, MeshOverride, MeshSection,
};
use crate::table::{Options, PartialOptions};
use crate::units::Tolerance;
use meshreel_scene::LengthUnit;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The options that a user gives: general ones, and those of some meshes, joints, layers and curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OptionSet {
    /// The general options: the keys of the table.
    pub general: PartialOptions,
    /// The mesh sections, in order; if several match a mesh, the last that gives a value wins.
    pub meshes: Vec<MeshSection>,
    /// The joint sections, likewise.
    pub joints: Vec<JointOverride>,
    /// The section for curves.
    pub curve: CurveSection,
    /// Clip layers, the base first.
    pub layers: Vec<LayerSection>,
}

impl OptionSet {
    /// Parses the text of an options file. The error is one line and names the line of the file.
    pub fn parse(text: &str) -> Result<OptionSet, String> {
        let line_of = |error: &toml::de::Error| match error.span() {
            Some(span) => {
                let before = text.bytes().take(span.start);
                format!("line {}: ", 1 + before.filter(|&byte| byte == b'\n').count())
            }
            None => String::new(),
        };
        let one_line =
            |error: toml::de::Error| format!("{}{}", line_of(&error), error.message().replace('\n', " "));
        let mut table: toml::Table = text.parse().map_err(one_line)?;
        let meshes =
            sections(&mut table, "mesh", "mesh sections are", |section: &MeshSection| vec![&section.glob])?;
        let joints = sections(&mut table, "joint", "joint sections are", |section: &JointOverride| {
            vec![&section.glob]
        })?;
        let layers = sections(&mut table, "layer", "layers are", |section: &LayerSection| {
            section.joints.iter().collect()
        })?;
        let mut curve = CurveSection::default();
        if let Some(section) = table.remove("curve") {
            curve = section.try_into().map_err(|e: toml::de::Error| format!("[curve]: {}", e.message()))?;
            curve.check()?;
        }
        let general = PartialOptions::deserialize(table).map_err(one_line)?;
        general.check_bounds()?;
        Ok(OptionSet { general, meshes, joints, curve, layers })
    }

    /// Returns the compiler's options for files of a length unit.
    pub fn resolve(&self, unit: Option<LengthUnit>) -> Result<Options, Error> {
        let general = &self.general;
        let mut options = Options::default();
        if general.block.is_some() {
            options.preset = Preset::Classic;
        }
        general.assign(&mut options, unit)?;
        options.meshes = self.meshes.iter().map(|section| section.in_unit(unit)).collect::<Result<_, _>>()?;
        options.clips = ClipChoice {
            joints: self.joints.clone(),
            layers: self.layers.iter().map(|section| section.in_unit(unit)).collect::<Result<_, _>>()?,
            curve: CurveChoice::from(&self.curve),
        };
        for wanted in general.tolerance.iter() {
            let Some(glob) = wanted.glob.clone() else {
                continue;
            };
            let tolerance = wanted.tolerance.in_unit(unit)?;
            match tolerance {
                _ if glob.starts_with('/') => {
                    let tolerance = Some(tolerance);
                    options.meshes.push(MeshOverride { glob, tolerance, ..MeshOverride::default() });
                }
                Tolerance::Absolute(length) => {
                    let tolerance = Some(length);
                    options.clips.joints.push(JointOverride { glob, tolerance, ..JointOverride::default() });
                }
                // Already refused by the parser.
                Tolerance::Relative(_) => {}
            }
        }
        if general.block.is_some() && options.preset != Preset::Classic {
            return Err(Error::misuse(format!(
                "--block is for --preset classic; {} has an entropy coder of its own",
                options.preset
            )));
        }
        Ok(options)
    }
}

/// Takes the sections of a name out of a table; refuses invalid globs.
fn sections<T: DeserializeOwned>(
    table: &mut toml::Table,
    name: &str,
    these_are: &str,
    globs: impl Fn(&T) -> Vec<&String>,
) -> Result<Vec<T>, String> {
    let found = match table.remove(name) {
        None => return Ok(Vec::new()),
        Some(toml::Value::Array(found)) => found,
        Some(_) => return Err(format!("{these_are} written [[{name}]]")),
    };
    let read = |(i, section): (usize, toml::Value)| {
        let wrong = |what: &str| format!("[[{name}]] number {}: {what}", i + 1);
        let section: T = section.try_into().map_err(|e: toml::de::Error| wrong(e.message()))?;
        for glob in globs(&section) {
            globset::Glob::new(glob).map_err(|e| wrong(&e.to_string()))?;
        }
        Ok(section)
    };
    found.into_iter().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::{BlockChoice, CodecChoice, KeyChoice, KnotSpacing, MethodChoice, RuleChoice};
    use crate::units::{Distance, Length, Rate};

    #[test]
    fn keys_are_the_long_names() {
        let file = OptionSet::parse(
            "tolerance = \"0.02%\"\nblock = \"deflate\"\nfps = 25\nindex-every = 8\nmemory = \"64MB\"\ncycle = true\n\
             exclude = [\"/a/*\"]\n[[mesh]]\nglob = \"/hero/**\"\ntolerance = 0.5\nmethod = \"soft\"\n[[mesh]]\nglob = \"/b\"\n",
        )
        .unwrap();
        assert_eq!(file.general.tolerance.0, [Distance::Percent(0.02).into()]);
        assert_eq!(file.general.block, Some(BlockChoice::Deflate));
        assert_eq!(file.general.fps, Some(Rate(25.0)));
        assert_eq!(file.general.exclude, ["/a/*"]);
        assert!(file.general.cycle);
        assert_eq!(file.meshes.len(), 2);
        assert_eq!(file.meshes[0].tolerance, Some(Distance::Absolute(0.5)));
        assert_eq!(file.meshes[0].method, Some(MethodChoice::Soft));
    }

    #[test]
    fn clips_have_sections() {
        let file = OptionSet::parse(
            "tolerance = [0.1, \"*Toe*=0.02\"]\ncodec = \"curve\"\nshell = 2\n[[joint]]\nglob = \"*Hand\"\ntolerance = 0.05\n\
             [[joint]]\nglob = \"hips/**\"\nshell = 1.5\npinned = true\n[curve]\nknots = \"uniform\"\nrotation-bits = 32\n\
             keys = \"inserted\"\nrule = \"local\"\nscale-tolerance = 0.3\nadaptive = true\n",
        )
        .unwrap();
        assert_eq!(file.general.tolerance.len(), 2);
        assert_eq!(file.general.tolerance[1].glob.as_deref(), Some("*Toe*"));
        assert_eq!((file.general.codec, file.general.shell), (Some(CodecChoice::Curve), Some(Length(2.0))));
        assert_eq!(file.joints[0].tolerance, Some(0.05));
        assert!(file.joints[1].pinned && !file.joints[0].pinned);
        let curve = &file.curve;
        assert_eq!((curve.knots, curve.rotation_bits), (Some(KnotSpacing::Uniform), Some(32)));
        assert_eq!((curve.keys, curve.rule), (Some(KeyChoice::Inserted), Some(RuleChoice::Local)));
        assert_eq!((curve.scale_tolerance, curve.adaptive), (Some(Length(0.3)), Some(true)));
    }

    #[test]
    fn mistakes_are_named_in_one_line() {
        for (text, part) in [
            ("tolerence = 1", "tolerence"),
            ("a = 1\ntolerance = ", "line 2"),
            ("tolerance = \"much\"", "'much' is no tolerance"),
            ("method = \"stiff\"", "is no method"),
            ("effort = 12", "1 to 9"),
            ("joint = 3", "[[joint]]"),
            ("[[joint]]\ntolerance = 1", "glob"),
            ("[[joint]]\nglob = \"a\"\ntolerance = \"1%\"", "length"),
            ("tolerance = \"Hand=1%\"", "length"),
            ("[curve]\nknots = \"round\"", "knots"),
            ("[curve]\nrotation-bits = 16", "48 or 32"),
            ("[curve]\nadaptive = true", "local"),
            ("[curve]\nspeed = 3", "speed"),
            ("codec = \"best\"", "auto, sampled, curve"),
            ("mesh = 3", "[[mesh]]"),
            ("[[mesh]]\ntolerance = 1", "glob"),
            ("[[mesh]]\nglob = \"[\"", "number 1"),
            ("[[mesh]]\nglob = \"/a\"\nblock = \"zstd\"", "block"),
        ] {
            let error = OptionSet::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn nothing_said_means_the_compilers_defaults() {
        assert_eq!(OptionSet::default().resolve(None).unwrap(), Options::default());
    }

    #[test]
    fn percent_is_a_fraction_inside() {
        let mut set = OptionSet::default();
        for text in ["0.1%", "/a/*=2", "Hand*=0.5"] {
            set.general.set("tolerance", text).unwrap();
        }
        let options = set.resolve(None).unwrap();
        assert_eq!(options.tolerance, Tolerance::Relative(0.1 / 100.0));
        assert_eq!(options.meshes[0].glob, "/a/*");
        assert_eq!(options.clips.joints[0].tolerance, Some(0.5));
    }

    #[test]
    fn lengths_with_a_unit_are_told_in_the_files() {
        let mut set = OptionSet::default();
        set.general.set("tolerance", "5mm").unwrap();
        let of = |unit| Ok::<_, Error>(set.resolve(unit)?.tolerance);
        assert_eq!(of(Some(LengthUnit::Centimetre)).unwrap(), Tolerance::Absolute(0.5));
        assert_eq!(of(Some(LengthUnit::Metre)).unwrap(), Tolerance::Absolute(0.005));
        assert!(of(None).unwrap_err().to_string().contains("--unit"));
    }

    #[test]
    fn block_compression_is_the_classic_presets() {
        let of = |text: &str| OptionSet::parse(text).unwrap().resolve(None);
        let classic = of("block = \"store\"").unwrap();
        assert_eq!((classic.preset, classic.block), (Preset::Classic, BlockChoice::Store));
        assert!(of("block = \"store\"\npreset = \"fast\"").unwrap_err().to_string().contains("fast"));
    }
}
