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

use crate::cli::{Content, Keys, Method, Parts, Rule, Spacing};
use crate::output::Failure;
use crate::units::{Length, Tolerance};
use serde::Deserialize;
use std::path::Path;

/// Largest options file that is read.
const MAX_BYTES: u64 = 16 << 20;

/// What an options file says.
#[derive(Debug, Default, PartialEq)]
pub struct OptionsFile {
    /// Values of the top-level keys.
    pub content: Content,
    /// The sections, in order; for a mesh that several match, the last that gives a value wins.
    pub meshes: Vec<MeshSection>,
    /// The same of joints.
    pub joints: Vec<JointSection>,
    /// How curves are made.
    pub curve: CurveSection,
    /// Layers of clips, the base first.
    pub layers: Vec<LayerSection>,
}

/// A layer of clips.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LayerSection {
    /// Name.
    pub name: String,
    /// Globs over names and paths of joints.
    #[serde(default)]
    pub joints: Vec<String>,
    /// Automatic: less important than this part of the most important.
    pub below: Option<f64>,
    /// Automatic: so many of all joints.
    pub share: Option<f64>,
    /// Samples per second.
    pub rate: Option<f64>,
    /// A length, or a percentage of the samples.
    pub strip: Option<Tolerance>,
    /// Number of tiers.
    pub tiers: Option<u8>,
}

/// Overrides for the joints whose name or path matches.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JointSection {
    /// Which joints.
    pub glob: String,
    /// Their tolerance.
    pub tolerance: Option<Length>,
    /// Their shell distance.
    pub shell: Option<Length>,
    /// Local rule: they stay in place.
    #[serde(default)]
    pub pinned: bool,
    /// Their layer.
    pub layer: Option<String>,
    /// How much more they matter than their geometry says.
    pub bias: Option<f64>,
    /// They are never interpolated.
    #[serde(default)]
    pub stepped: bool,
}

/// `[curve]`.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CurveSection {
    /// Spacing of knots.
    pub knots: Option<Spacing>,
    /// 48 or 32.
    pub rotation_bits: Option<u32>,
    /// How keys are found.
    pub keys: Option<Keys>,
    /// What the tolerance means.
    pub rule: Option<Rule>,
    /// Of the local rule; without one it is `tolerance`.
    pub rotation_tolerance: Option<Length>,
    /// The same.
    pub translation_tolerance: Option<Length>,
    /// The same.
    pub scale_tolerance: Option<Length>,
    /// Tolerances shrink up the hierarchy.
    pub adaptive: Option<bool>,
}

impl CurveSection {
    fn check(&self) -> Result<(), String> {
        if !matches!(self.rotation_bits, None | Some(32 | 48)) {
            return Err("[curve]: rotation-bits is 48 or 32".into());
        }
        let lengths = [self.rotation_tolerance, self.translation_tolerance, self.scale_tolerance];
        let local = self.adaptive.is_some() || lengths.iter().any(Option::is_some);
        match self.rule {
            Some(Rule::Local) => Ok(()),
            _ if local => {
                Err("[curve]: adaptive and tolerances of kinds of sub-tracks are for rule = \"local\"".into())
            }
            _ => Ok(()),
        }
    }
}

/// Overrides for the meshes whose path matches.
#[derive(Debug, Clone, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MeshSection {
    /// Which meshes, by node path.
    pub glob: String,
    /// Their tolerance.
    pub tolerance: Option<Tolerance>,
    /// Their method.
    pub method: Option<Method>,
    /// What tells their parts.
    pub parts: Option<Parts>,
    /// Whether faces that change are replaced by fixed ones.
    pub remesh: Option<bool>,
}

/// Reads an options file.
pub fn read(path: &Path) -> Result<OptionsFile, Failure> {
    let file = meshreel_files::open(path).map_err(|e| Failure::io(path, &e))?;
    let size = file.metadata().map_err(|e| Failure::io(path, &e))?.len();
    if size > MAX_BYTES {
        return Err(Failure::usage(format!(
            "{}: {size} bytes is too much for an options file",
            path.display()
        )));
    }
    let text = std::io::read_to_string(file).map_err(|e| Failure::io(path, &e))?;
    parse(&text).map_err(|what| Failure::usage(format!("{}: {what}", path.display())))
}

/// Reads the text of an options file. The error is one line and names the line of the file.
fn parse(text: &str) -> Result<OptionsFile, String> {
    let line_of = |error: &toml::de::Error| match error.span() {
        Some(span) => {
            format!("line {}: ", 1 + text.bytes().take(span.start).filter(|&byte| byte == b'\n').count())
        }
        None => String::new(),
    };
    let one_line =
        |error: toml::de::Error| format!("{}{}", line_of(&error), error.message().replace('\n', " "));
    let mut table: toml::Table = text.parse().map_err(one_line)?;
    let mut meshes = Vec::new();
    if let Some(sections) = table.remove("mesh") {
        let toml::Value::Array(sections) = sections else {
            return Err("mesh sections are written [[mesh]]".into());
        };
        for (i, section) in sections.into_iter().enumerate() {
            let section: MeshSection = section
                .try_into()
                .map_err(|e: toml::de::Error| format!("[[mesh]] number {}: {}", i + 1, e.message()))?;
            globset::Glob::new(&section.glob).map_err(|e| format!("[[mesh]] number {}: {e}", i + 1))?;
            meshes.push(section);
        }
    }
    let mut joints = Vec::new();
    if let Some(sections) = table.remove("joint") {
        let toml::Value::Array(sections) = sections else {
            return Err("joint sections are written [[joint]]".into());
        };
        for (i, section) in sections.into_iter().enumerate() {
            let section: JointSection = section
                .try_into()
                .map_err(|e: toml::de::Error| format!("[[joint]] number {}: {}", i + 1, e.message()))?;
            globset::Glob::new(&section.glob).map_err(|e| format!("[[joint]] number {}: {e}", i + 1))?;
            joints.push(section);
        }
    }
    let mut layers = Vec::new();
    if let Some(sections) = table.remove("layer") {
        let toml::Value::Array(sections) = sections else {
            return Err("layers are written [[layer]]".into());
        };
        for (i, section) in sections.into_iter().enumerate() {
            let section: LayerSection = section
                .try_into()
                .map_err(|e: toml::de::Error| format!("[[layer]] number {}: {}", i + 1, e.message()))?;
            for glob in &section.joints {
                globset::Glob::new(glob).map_err(|e| format!("[[layer]] number {}: {e}", i + 1))?;
            }
            layers.push(section);
        }
    }
    let mut curve = CurveSection::default();
    if let Some(section) = table.remove("curve") {
        curve = section.try_into().map_err(|e: toml::de::Error| format!("[curve]: {}", e.message()))?;
        curve.check()?;
    }
    let content = Content::deserialize(table).map_err(one_line)?;
    content.check()?;
    Ok(OptionsFile { content, meshes, joints, curve, layers })
}

impl Content {
    /// These options, and `lower`'s where these say nothing.
    pub fn over(self, lower: Content) -> Content {
        fn list(mut upper: Vec<String>, lower: Vec<String>) -> Vec<String> {
            if upper.is_empty() {
                upper = lower;
            }
            upper
        }
        let mut tolerance = lower.tolerance;
        tolerance.extend(self.tolerance);
        Content {
            tolerance,
            shell: self.shell.or(lower.shell),
            codec: self.codec.or(lower.codec),
            transforms: self.transforms.or(lower.transforms),
            normal_tolerance: self.normal_tolerance.or(lower.normal_tolerance),
            uv_tolerance: self.uv_tolerance.or(lower.uv_tolerance),
            scalar_tolerance: self.scalar_tolerance.or(lower.scalar_tolerance),
            colour_bits: self.colour_bits.or(lower.colour_bits),
            channels: self.channels.or(lower.channels),
            include: list(self.include, lower.include),
            exclude: list(self.exclude, lower.exclude),
            range: self.range.or(lower.range),
            fps: self.fps.or(lower.fps),
            between: self.between.or(lower.between),
            source_fps: self.source_fps.or(lower.source_fps),
            animation: self.animation.or(lower.animation),
            rig: self.rig.or(lower.rig),
            unit: self.unit.or(lower.unit),
            smooth_angle: self.smooth_angle.or(lower.smooth_angle),
            cycle: self.cycle || lower.cycle,
            remesh: self.remesh || lower.remesh,
            remesh_blend: self.remesh_blend.or(lower.remesh_blend),
            strip: self.strip || lower.strip,
            full_source_map: self.full_source_map || lower.full_source_map,
            short_source_map: self.short_source_map || (lower.short_source_map && !self.full_source_map),
            clips_only: self.clips_only || lower.clips_only,
            lod: self.lod.or(lower.lod),
            cull_hidden: self.cull_hidden || lower.cull_hidden,
            attributes_apart: self.attributes_apart || lower.attributes_apart,
            method: self.method.or(lower.method),
            parts: self.parts.or(lower.parts),
            preset: self.preset.or(lower.preset),
            block: self.block.or(lower.block),
            index_every: self.index_every.or(lower.index_every),
            effort: self.effort.or(lower.effort),
            jobs: self.jobs.or(lower.jobs),
            memory: self.memory.or(lower.memory),
            strict: self.strict || lower.strict,
            explain: self.explain || lower.explain,
            dry_run: self.dry_run || lower.dry_run,
        }
    }

    /// Ranges of plain numbers, which the command line's parser checks for itself.
    fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: Option<u64>, low: u64, high: u64| match value {
            Some(value) if value < low || value > high => {
                Err(format!("{name} = {value}: give {low} to {high}"))
            }
            _ => Ok(()),
        };
        within("colour-bits", self.colour_bits.map(u64::from), 1, 16)?;
        within("index-every", self.index_every.map(u64::from), 1, 64)?;
        within("lod", self.lod.map(u64::from), 1, 7)?;
        within("effort", self.effort.map(u64::from), 1, 9)?;
        within("jobs", self.jobs.map(u64::from), 1, 4096)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Block, Codec, Rate};

    #[test]
    fn keys_are_the_long_names() {
        let file = parse(
            "tolerance = \"0.02%\"\nblock = \"deflate\"\nfps = 25\nindex-every = 8\nmemory = \"64MB\"\ncycle = true\n\
             exclude = [\"/a/*\"]\n[[mesh]]\nglob = \"/hero/**\"\ntolerance = 0.5\nmethod = \"soft\"\n[[mesh]]\nglob = \"/b\"\n",
        )
        .unwrap();
        assert_eq!(file.content.tolerance, [Tolerance::Percent(0.02).into()]);
        assert_eq!(file.content.block, Some(Block::Deflate));
        assert_eq!(file.content.fps, Some(Rate(25.0)));
        assert_eq!(file.content.exclude, ["/a/*"]);
        assert!(file.content.cycle);
        assert_eq!(file.meshes.len(), 2);
        assert_eq!(file.meshes[0].tolerance, Some(Tolerance::Absolute(0.5)));
        assert_eq!(file.meshes[0].method, Some(Method::Soft));
    }

    #[test]
    fn clips_have_sections() {
        let file = parse(
            "tolerance = [0.1, \"*Toe*=0.02\"]\ncodec = \"curve\"\nshell = 2\n[[joint]]\nglob = \"*Hand\"\ntolerance = 0.05\n\
             [[joint]]\nglob = \"hips/**\"\nshell = 1.5\npinned = true\n[curve]\nknots = \"uniform\"\nrotation-bits = 32\n\
             keys = \"inserted\"\nrule = \"local\"\nscale-tolerance = 0.3\nadaptive = true\n",
        )
        .unwrap();
        assert_eq!(file.content.tolerance.len(), 2);
        assert_eq!(file.content.tolerance[1].glob.as_deref(), Some("*Toe*"));
        assert_eq!((file.content.codec, file.content.shell), (Some(Codec::Curve), Some(Length(2.0))));
        assert_eq!(file.joints[0].tolerance, Some(Length(0.05)));
        assert!(file.joints[1].pinned && !file.joints[0].pinned);
        let curve = &file.curve;
        assert_eq!((curve.knots, curve.rotation_bits), (Some(Spacing::Uniform), Some(32)));
        assert_eq!((curve.keys, curve.rule), (Some(Keys::Inserted), Some(Rule::Local)));
        assert_eq!((curve.scale_tolerance, curve.adaptive), (Some(Length(0.3)), Some(true)));
    }

    #[test]
    fn the_command_line_wins() {
        let upper = Content { block: Some(Block::Store), ..Content::default() };
        let lower = parse("block = \"zstd\"\neffort = 9").unwrap().content;
        let merged = upper.over(lower);
        assert_eq!((merged.block, merged.effort), (Some(Block::Store), Some(9)));
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
            let error = parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
