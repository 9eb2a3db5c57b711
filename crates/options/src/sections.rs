//! Sections of an options file: options of some meshes, some joints, layers and curves. Each has two forms:
//! the user's, with lengths in any unit, and the compiler's, with lengths in the unit of the file. If no
//! length needs a unit, one form serves as both.

use crate::Error;
use crate::choices::{KeyChoice, KnotSpacing, MethodChoice, PartsChoice, RuleChoice};
use crate::units::{Distance, Length, Tolerance};
use meshreel_scene::LengthUnit;
use serde::{Deserialize, Deserializer};

/// Overrides for the meshes whose path matches `glob`; later ones win.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeshOverride {
    /// Glob over node paths.
    pub glob: String,
    /// Tolerance, replacing the general one.
    pub tolerance: Option<Tolerance>,
    /// Method, replacing the general one.
    pub method: Option<MethodChoice>,
    /// Way to find parts, replacing the general one.
    pub parts: Option<PartsChoice>,
    /// Whether changing faces are replaced by fixed ones, in place of the general choice.
    pub remesh: Option<bool>,
}

/// `[[mesh]]`: a [`MeshOverride`] as the user writes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct MeshSection {
    /// Glob over node paths.
    pub glob: String,
    /// Tolerance of these meshes.
    pub tolerance: Option<Distance>,
    /// Method of these meshes.
    pub method: Option<MethodChoice>,
    /// Way to find their parts.
    pub parts: Option<PartsChoice>,
    /// Whether changing faces are replaced by fixed ones.
    pub remesh: Option<bool>,
}

impl MeshSection {
    /// Returns the section in the length unit of a file.
    pub fn in_unit(&self, unit: Option<LengthUnit>) -> Result<MeshOverride, Error> {
        Ok(MeshOverride {
            glob: self.glob.clone(),
            tolerance: self.tolerance.map(|tolerance| tolerance.in_unit(unit)).transpose()?,
            method: self.method,
            parts: self.parts.clone(),
            remesh: self.remesh,
        })
    }
}

/// Options of clips, from the sections.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClipChoice {
    /// Overrides of single joints; later ones win.
    pub joints: Vec<JointOverride>,
    /// Options of curves.
    pub curve: CurveChoice,
    /// Clip layers, the base first; if empty, clips are not layered unless their source names layers.
    pub layers: Vec<LayerChoice>,
}

/// Overrides for the joints whose name, or path from the root, matches `glob`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct JointOverride {
    /// Glob over names of joints, and over paths such as `hips/knee`.
    pub glob: String,
    /// Tolerance in the file's unit, replacing the general one.
    #[serde(default, deserialize_with = "length")]
    pub tolerance: Option<f64>,
    /// Shell distance in the file's unit, replacing the general one.
    #[serde(default, deserialize_with = "length")]
    pub shell: Option<f64>,
    /// Local rule: the joint is recomputed against its decoded parents, so that it stays in place.
    #[serde(default)]
    pub pinned: bool,
    /// Name of the joint's layer.
    pub layer: Option<String>,
    /// Automatic layers: factor on the joint's importance.
    pub bias: Option<f64>,
    /// The joint is never interpolated: between two samples it has the value of the first.
    #[serde(default)]
    pub stepped: bool,
}

/// Reads an optional length.
fn length<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    Ok(Option::<Length>::deserialize(deserializer)?.map(|length| length.0))
}

/// A clip layer: its joints, and how they are stored.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerChoice {
    /// Name.
    pub name: String,
    /// Globs over names and paths of joints.
    pub joints: Vec<String>,
    /// Automatic: joints whose importance is below this fraction (0..=1) of the largest.
    pub below: Option<f64>,
    /// Automatic: this fraction (0..=1) of all joints, the least important ones.
    pub fraction: Option<f64>,
    /// Samples per second, if less than the clip's.
    pub rate: Option<f64>,
    /// The samples stored without residuals.
    pub strip: Strip,
    /// Number of tiers, 1..=8. If more than one, all but the base's first can be streamed.
    pub tiers: u8,
}

impl Default for LayerChoice {
    fn default() -> Self {
        LayerChoice {
            name: String::new(),
            joints: Vec::new(),
            below: None,
            fraction: None,
            rate: None,
            strip: Strip::None,
            tiers: 1,
        }
    }
}

/// The choice of samples that are stripped (stored without residuals).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Strip {
    /// None.
    #[default]
    None,
    /// Samples whose prediction is no farther from the source than this length.
    Error(f64),
    /// This fraction (0..=1) of all samples: those whose prediction from their exact neighbours is closest.
    Fraction(f64),
}

/// `[[layer]]`: a [`LayerChoice`] as the user writes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct LayerSection {
    /// Name.
    pub name: String,
    /// Globs over names and paths of joints.
    #[serde(default)]
    pub joints: Vec<String>,
    /// Automatic: joints whose importance is below this fraction of the largest.
    pub below: Option<f64>,
    /// Automatic: this fraction of all joints.
    pub share: Option<f64>,
    /// Samples per second.
    pub rate: Option<f64>,
    /// Samples to strip: a length, or a percentage of the samples.
    pub strip: Option<Distance>,
    /// Number of tiers.
    pub tiers: Option<u8>,
}

impl LayerSection {
    /// Returns the section in the length unit of a file.
    pub fn in_unit(&self, unit: Option<LengthUnit>) -> Result<LayerChoice, Error> {
        Ok(LayerChoice {
            name: self.name.clone(),
            joints: self.joints.clone(),
            below: self.below,
            fraction: self.share,
            rate: self.rate,
            strip: match self.strip.map(|strip| strip.in_unit(unit)).transpose()? {
                None => Strip::None,
                Some(Tolerance::Absolute(length)) => Strip::Error(length),
                Some(Tolerance::Relative(part)) => Strip::Fraction(part),
            },
            tiers: self.tiers.unwrap_or(1),
        })
    }
}

/// Options of curves.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveChoice {
    /// Spacing of knots.
    pub knots: KnotSpacing,
    /// Rotations take 32 bits instead of 48.
    pub short_rotations: bool,
    /// Keys are only inserted, neither moved off the samples nor left out.
    pub insert_only: bool,
    /// The tolerance applies to each sub-track by itself instead of to points in object space.
    pub local: Option<LocalRule>,
}

/// The local rule: each sub-track by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalRule {
    /// Tolerances of rotations (by the movement of the bone's end), translations and scales (times the bone's
    /// length); `None`: the general one.
    pub tolerances: [Option<f64>; 3],
    /// Tolerances shrink up the hierarchy: 1, ½, ⅓ ….
    pub adaptive: bool,
}

/// `[curve]`: a [`CurveChoice`] as the user writes it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CurveSection {
    /// Spacing of knots.
    pub knots: Option<KnotSpacing>,
    /// Bits of a rotation: 48 or 32.
    pub rotation_bits: Option<u32>,
    /// The way in which keys are found.
    pub keys: Option<KeyChoice>,
    /// The meaning of the tolerance.
    pub rule: Option<RuleChoice>,
    /// Tolerance of rotations under the local rule; `tolerance` if not given.
    pub rotation_tolerance: Option<Length>,
    /// Tolerance of translations, likewise.
    pub translation_tolerance: Option<Length>,
    /// Tolerance of scales, likewise.
    pub scale_tolerance: Option<Length>,
    /// Tolerances shrink up the hierarchy.
    pub adaptive: Option<bool>,
}

impl CurveSection {
    fn tolerances(&self) -> [Option<Length>; 3] {
        [self.rotation_tolerance, self.translation_tolerance, self.scale_tolerance]
    }

    /// Refuses nonsensical values and combinations.
    pub fn check(&self) -> Result<(), String> {
        if !matches!(self.rotation_bits, None | Some(32 | 48)) {
            return Err("[curve]: rotation-bits is 48 or 32".into());
        }
        let local = self.adaptive.is_some() || self.tolerances().iter().any(Option::is_some);
        match self.rule {
            Some(RuleChoice::Local) => Ok(()),
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
            short_rotations: section.rotation_bits == Some(32),
            insert_only: section.keys == Some(KeyChoice::Inserted),
            local: (section.rule == Some(RuleChoice::Local)).then_some(local),
        }
    }
}
