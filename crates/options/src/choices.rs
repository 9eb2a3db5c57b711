//! Options that are one of several words, some of them with a value.

use crate::units::deserialize_from_text;
use meshreel_scene::LengthUnit;
use meshreel_scene::sample::ChannelSelection;
use serde::{Deserialize, Deserializer};
use std::fmt;
use std::str::FromStr;

/// Defines an enum from a closed list of words: its type, its name in errors, and each word with its meaning.
macro_rules! words {
    (
        $(#[$doc:meta])* $name:ident, $noun:literal:
        $($(#[$about:meta])* $variant:ident = $word:literal,)+
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $name { $($(#[$about])* $variant),+ }

        impl $name {
            /// Returns the word, as on the command line.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(text: &str) -> Result<$name, String> {
                let words = [$($word),+].join(", ");
                match text {
                    $($word => Ok($name::$variant),)+
                    _ => Err(format!("'{text}' is no {}: give one of: {words}", $noun)),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        deserialize_from_text!($name);
    };
}

words!(
    /// The requested method.
    MethodChoice, "method":
    /// The method that takes the fewest bytes.
    #[default]
    Auto = "auto",
    /// Nothing moves.
    Static = "static",
    /// Parts that move as one.
    Rigid = "rigid",
    /// Bones with weights.
    Skinned = "skinned",
    /// Each point by itself, predicted by its neighbours in time and space.
    Soft = "soft",
    /// Faces that change.
    Fluid = "fluid",
);
words!(
    /// The form of the transforms of rigid parts.
    TransformForm, "form of transforms":
    /// As a clip: the fewest bytes.
    #[default]
    Clip = "clip",
    /// 12 bytes each, as a graphics card may read them; their errors are corrected by residuals.
    Packed = "packed",
);
words!(
    /// The treatment of the rig of a mesh that the source skins.
    RigChoice, "way to treat rigs":
    /// The mesh is stored as the frames show it; bones may be derived from the rig, but belong to the mesh.
    #[default]
    Bake = "bake",
    /// As [`RigChoice::Bake`], and in addition bind pose, weights and joints, so that clips and poses of a
    /// game can move the mesh.
    Keep = "keep",
    /// The rig alone: in frames the mesh stands as it does in the first.
    Only = "only",
);
words!(
    /// The start of numbered sequences that are merged.
    MergeAt, "way to merge sequences":
    /// Each at the number of its first file: their numbers are frames of one clock.
    #[default]
    Frame = "frame",
    /// All at once.
    Zero = "zero",
);
words!(
    /// Codec of clips.
    CodecChoice, "codec":
    /// The one that takes fewer bytes.
    #[default]
    Auto = "auto",
    /// Uniform samples.
    Sampled = "sampled",
    /// Keys and splines.
    Curve = "curve",
    /// Uniform samples, each decodable by itself: for poses at any time, from memory.
    RandomAccess = "random-access",
);
words!(
    /// The choice of codecs for moving points.
    Preset, "preset":
    /// Fewest bytes.
    #[default]
    Small = "small",
    /// Fastest decoding.
    Fast = "fast",
    /// The source system's predictors and block compression.
    Classic = "classic",
);
words!(
    /// Block compression.
    BlockChoice, "block compression":
    /// None.
    Store = "store",
    /// Deflate, at the requested effort.
    Deflate = "deflate",
    /// LZ4, compressed by its slower and stronger encoder.
    Lz4hc = "lz4hc",
    /// Zstandard.
    #[default]
    Zstd = "zstd",
);
words!(
    /// Spacing of a curve's knots.
    KnotSpacing, "spacing of knots":
    /// Equal, whatever the times.
    Uniform = "uniform",
    /// Proportional to the time between keys.
    Chordal = "chordal",
    /// Proportional to the square root of that: between the two others, without cusps.
    #[default]
    Centripetal = "centripetal",
);
words!(
    /// The way in which a curve's keys are found.
    KeyChoice, "way to find keys":
    /// Keys are moved off the samples, and left out where that needs fewer.
    #[default]
    Fitted = "fitted",
    /// Keys are only inserted.
    Inserted = "inserted",
);
words!(
    /// The meaning of a curve's tolerance.
    RuleChoice, "rule of curves":
    /// Every point of every joint is within the tolerance.
    #[default]
    Guaranteed = "guaranteed",
    /// Each sub-track by itself is.
    Local = "local",
);
words!(
    /// A length unit.
    UnitName, "unit":
    /// Metres.
    #[default]
    Metre = "m",
    /// Centimetres.
    Centimetre = "cm",
    /// Millimetres.
    Millimetre = "mm",
    /// Inches.
    Inch = "in",
);

impl From<UnitName> for LengthUnit {
    fn from(name: UnitName) -> LengthUnit {
        match name {
            UnitName::Metre => LengthUnit::Metre,
            UnitName::Centimetre => LengthUnit::Centimetre,
            UnitName::Millimetre => LengthUnit::Millimetre,
            UnitName::Inch => LengthUnit::Inch,
        }
    }
}

/// The source of the parts of a mesh that move as one. Always a hint: points that do not move with their part
/// are analysed again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PartsChoice {
    /// Whole numbers on faces or points that agree with the motion, else named sets of faces that do, else as
    /// [`PartsChoice::Analyse`].
    #[default]
    Auto,
    /// The whole-number attribute of this name.
    Attribute(String),
    /// Connected pieces only.
    Connected,
    /// Connected pieces if they move as one, then motion alone.
    Analyse,
}

impl FromStr for PartsChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<PartsChoice, String> {
        match (text, text.strip_prefix("attribute:")) {
            ("auto", _) => Ok(PartsChoice::Auto),
            ("connected", _) => Ok(PartsChoice::Connected),
            ("analyse" | "analyze", _) => Ok(PartsChoice::Analyse),
            (_, Some(name)) if !name.is_empty() => Ok(PartsChoice::Attribute(name.into())),
            _ => Err(format!("'{text}' tells no parts: give attribute:NAME, connected, analyse or auto")),
        }
    }
}

impl fmt::Display for PartsChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartsChoice::Auto => f.write_str("auto"),
            PartsChoice::Attribute(name) => write!(f, "attribute:{name}"),
            PartsChoice::Connected => f.write_str("connected"),
            PartsChoice::Analyse => f.write_str("analyse"),
        }
    }
}

/// The condition under which frames are added where players, between samples, would be too far from the
/// source.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BetweenChoice {
    /// Added above four tolerances, but at most three times the source's frames in all.
    #[default]
    Auto,
    /// Added above this number of tolerances, at least [`BetweenChoice::MIN_MULTIPLE`].
    Within(f64),
    /// No frames are added.
    Off,
}

impl BetweenChoice {
    /// The smallest multiple: decoding itself takes one tolerance.
    pub const MIN_MULTIPLE: f64 = 1.5;

    /// Returns the multiple of the tolerance.
    pub fn multiple(self) -> Option<f64> {
        match self {
            BetweenChoice::Auto => Some(4.0),
            BetweenChoice::Within(multiple) => Some(multiple),
            BetweenChoice::Off => None,
        }
    }
}

impl FromStr for BetweenChoice {
    type Err = String;
    fn from_str(text: &str) -> Result<BetweenChoice, String> {
        let least = BetweenChoice::MIN_MULTIPLE;
        match (text, text.parse::<f64>()) {
            ("auto", _) => Ok(BetweenChoice::Auto),
            ("off", _) | (_, Ok(0.0)) => Ok(BetweenChoice::Off),
            (_, Ok(multiple)) if multiple >= least && multiple.is_finite() => {
                Ok(BetweenChoice::Within(multiple))
            }
            _ => Err(format!(
                "'{text}' says nothing of the time between frames: give a number of tolerances from {least} on, auto or off"
            )),
        }
    }
}

impl fmt::Display for BetweenChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BetweenChoice::Auto => f.write_str("auto"),
            BetweenChoice::Within(multiple) => write!(f, "{multiple}"),
            BetweenChoice::Off => f.write_str("off"),
        }
    }
}

/// The vertex channels to keep, by comma-separated names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChannelList(pub ChannelSelection);

/// Positions only.
const NO_CHANNELS: ChannelSelection =
    ChannelSelection { normals: false, uvs: false, colours: false, attributes: false };

impl FromStr for ChannelList {
    type Err = String;
    fn from_str(text: &str) -> Result<ChannelList, String> {
        let mut channels = NO_CHANNELS;
        for name in text.split(',').map(str::trim) {
            match name {
                "all" => {
                    channels = ChannelSelection { normals: true, uvs: true, colours: true, attributes: true }
                }
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
        Ok(ChannelList(channels))
    }
}

impl fmt::Display for ChannelList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = vec!["positions"];
        names.extend(self.0.normals.then_some("normals"));
        names.extend(self.0.uvs.then_some("uvs"));
        names.extend(self.0.colours.then_some("colours"));
        names.extend(self.0.attributes.then_some("attributes"));
        f.write_str(&names.join(","))
    }
}

deserialize_from_text!(PartsChoice, BetweenChoice, ChannelList);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_lists() {
        assert_eq!("soft".parse(), Ok(MethodChoice::Soft));
        assert_eq!("rigid".parse(), Ok(MethodChoice::Rigid));
        assert!("stiff".parse::<MethodChoice>().unwrap_err().contains("rigid"));
        assert_eq!("small".parse(), Ok(Preset::Small));
        assert!("tiny".parse::<Preset>().unwrap_err().contains("fast"));
        assert!("zip".parse::<BlockChoice>().unwrap_err().contains("zstd"));
        let only = "positions,uvs".parse::<ChannelList>().unwrap().0;
        assert!(only.uvs && !only.normals && !only.colours);
        assert!("positions,weights".parse::<ChannelList>().is_err());
    }

    #[test]
    fn printed_values_parse_again() {
        for text in ["auto", "attribute:group id", "connected", "analyse"] {
            assert_eq!(text.parse::<PartsChoice>().unwrap().to_string(), text);
        }
        for text in ["auto", "2.5", "off"] {
            assert_eq!(text.parse::<BetweenChoice>().unwrap().to_string(), text);
        }
        for text in ["positions", "positions,normals,uvs,colours,attributes"] {
            assert_eq!(text.parse::<ChannelList>().unwrap().to_string(), text);
        }
    }
}
