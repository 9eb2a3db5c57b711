//! Sections of an options file: what is asked of some meshes, some joints, layers and curves. Each has two
//! forms: as users write it, with lengths in units of their own, and as the compiler takes it, in the unit of
//! the file. Where no length needs a unit, one form is both.

use crate::Error;
use crate::choices::{Keys, MethodChoice, PartsChoice, Rule, Spacing};
use crate::units::{Distance, Length, Tolerance};
use meshreel_scene::Unit;
use serde::{Deserialize, Deserializer};

/// Overrides for the meshes whose path matches `glob`; later ones win.
#[derive(Clone, Debug, Default, PartialEq)]
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

/// `[[mesh]]`: a [`MeshOverride`] as it is written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MeshSection {
    /// Which meshes, by node path.
    pub glob: String,
    /// Their tolerance.
    pub tolerance: Option<Distance>,
    /// Their method.
    pub method: Option<MethodChoice>,
    /// What tells their parts.
    pub parts: Option<PartsChoice>,
    /// Whether faces that change are replaced by fixed ones.
    pub remesh: Option<bool>,
}

impl MeshSection {
    /// In the length unit of a file.
    pub fn in_unit(&self, unit: Option<Unit>) -> Result<MeshOverride, Error> {
        Ok(MeshOverride {
            glob: self.glob.clone(),
            tolerance: self.tolerance.map(|tolerance| tolerance.in_unit(unit)).transpose()?,
            method: self.method,
            parts: self.parts.clone(),
            remesh: self.remesh,
        })
    }
}

/// What sections say of clips.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClipChoice {
    /// Overrides of single joints; later ones win.
    pub joints: Vec<JointOverride>,
    /// How curves are made.
    pub curve: CurveChoice,
    /// Layers, the base first; none: clips are in one piece, unless their source names layers.
    pub layers: Vec<LayerChoice>,
}

/// Overrides for the joints whose name, or path from the root, matches `glob`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JointOverride {
    /// Glob over names of joints, and over paths such as `hips/knee`.
    pub glob: String,
    /// Tolerance instead of the general one, in the file's unit.
    #[serde(default, deserialize_with = "length")]
    pub tolerance: Option<f64>,
    /// Shell distance instead of the general one.
    #[serde(default, deserialize_with = "length")]
    pub shell: Option<f64>,
    /// Local rule: recomputed against the decoded joints above it, so that it stays in place.
    #[serde(default)]
    pub pinned: bool,
    /// Name of the layer that it is in.
    pub layer: Option<String>,
    /// Automatic layers: how much more it matters than its geometry says.
    pub bias: Option<f64>,
    /// It is never interpolated: between two samples it has the value of the first.
    #[serde(default)]
    pub stepped: bool,
}

/// Reads a length that may be given.
fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(Option::<Length>::deserialize(deserializer)?.map(|length| length.0))
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

/// `[[layer]]`: a [`LayerChoice`] as it is written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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
    pub strip: Option<Distance>,
    /// Number of tiers.
    pub tiers: Option<u8>,
}

impl LayerSection {
    /// In the length unit of a file.
    pub fn in_unit(&self, unit: Option<Unit>) -> Result<LayerChoice, Error> {
        Ok(LayerChoice {
            name: self.name.clone(),
            joints: self.joints.clone(),
            below: self.below,
            share: self.share,
            rate: self.rate,
            strip: match self.strip.map(|strip| strip.in_unit(unit)).transpose()? {
                None => Strip::None,
                Some(Tolerance::Absolute(length)) => Strip::Error(length),
                Some(Tolerance::Relative(part)) => Strip::Share(part),
            },
            tiers: self.tiers.unwrap_or(1),
        })
    }
}

/// How curves are made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveChoice {
    /// Spacing of knots.
    pub knots: Spacing,
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

/// `[curve]`: a [`CurveChoice`] as it is written.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
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
    fn tolerances(&self) -> [Option<Length>; 3] {
        [self.rotation_tolerance, self.translation_tolerance, self.scale_tolerance]
    }

    /// Refuses what makes no sense.
    pub fn check(&self) -> Result<(), String> {
        if !matches!(self.rotation_bits, None | Some(32 | 48)) {
            return Err("[curve]: rotation-bits is 48 or 32".into());
        }
        let local = self.adaptive.is_some() || self.tolerances().iter().any(Option::is_some);
        match self.rule {
            Some(Rule::Local) => Ok(()),
            _ if local => {
                Err("[curve]: adaptive and tolerances of kinds of sub-tracks are for rule = \"local\"".into())
            }
            _ => Ok(()),
        }
    }
}

impl From<&CurveSection> for CurveChoice {
    fn from(section: &CurveSection) -> CurveChoice {
        let local = LocalRule {
            tolerances: section.tolerances().map(|tolerance| tolerance.map(|length| length.0)),
            adaptive: section.adaptive.unwrap_or(false),
        };
        CurveChoice {
            knots: section.knots.unwrap_or_default(),
            short: section.rotation_bits == Some(32),
            plain: section.keys == Some(Keys::Inserted),
            local: (section.rule == Some(Rule::Local)).then_some(local),
        }
    }
}
