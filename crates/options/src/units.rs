//! Values with units, as users write them: `0.01%`, `1deg`, `256MB`, `1/4096`, `0.5s:2s`, `30000/1001`.
//!
//! Every type parses from the command line (`FromStr`) and from an options file (`Deserialize`: a string, or
//! a plain number where a unit is not needed). Errors say what is accepted and give an example.

use crate::Error;
use meshreel_scene::LengthUnit;
use meshreel_scene::sample::TimeRange;
use serde::de::{self, Deserialize, Deserializer, Visitor};
use std::fmt;
use std::str::FromStr;

/// A promised distance (tolerance).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// In the file's length unit.
    Absolute(f64),
    /// A fraction of the diagonal of the mesh's largest bounds in any one frame in which it is visible
    /// (0.01 % = 1e-4).
    Relative(f64),
}

/// A promised distance as users write it; [`Distance::in_unit`] makes a [`Tolerance`] of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distance {
    /// In the file's length unit.
    Absolute(f64),
    /// A length in metres, whatever the file's unit is.
    Metres(f64),
    /// Percent of the diagonal of the mesh's bounds.
    Percent(f64),
}

/// A tolerance for everything, or for the objects that a glob matches: `0.01`, `*Hand*=0.05`.
#[derive(Debug, Clone, PartialEq)]
pub struct ToleranceFor {
    /// A glob over node paths if it begins with a slash, else over joints; `None`: everything.
    pub glob: Option<String>,
    /// The tolerance.
    pub tolerance: Distance,
}

/// A length above zero in the file's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Length(pub f64);

/// An angle, kept in degrees.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Angle(pub f64);

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ByteSize(pub u64);

/// A positive number, plain or as a fraction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ratio(pub f64);

/// A frame rate: `24`, `29.97` or `30000/1001`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate(pub f64);

/// Part of the animation: frames counted from 0 (`10:20`) or seconds (`0.5s:2s`), both ends included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span(pub TimeRange);

impl FromStr for Distance {
    type Err = String;
    fn from_str(text: &str) -> Result<Distance, String> {
        let hint = || {
            format!(
                "'{text}' is no tolerance: give a percentage of each mesh's size (0.01%), a length in the file's unit (0.5) or one with its own (0.5mm, 1cm, 0.01m, 0.2in)"
            )
        };
        let trimmed = text.trim();
        let (number, percent) = match trimmed.strip_suffix('%') {
            Some(number) => (number, true),
            None => (trimmed, false),
        };
        // The longer names first: "mm" also ends in "m".
        let metres = [("mm", 1e-3), ("cm", 1e-2), ("in", 0.0254), ("m", 1.0)];
        let metres = metres.iter().find_map(|(name, length)| Some((number.strip_suffix(name)?, length)));
        let (number, metres) = match metres {
            // A word that ends in a unit, such as "min", is no length.
            Some((number, length)) if !percent => (number, Some(length)),
            _ => (number, None),
        };
        let value = number.trim().parse::<f64>().map_err(|_| hint())?;
        if !value.is_finite() || value <= 0.0 {
            return Err(format!(
                "'{text}': a tolerance must be greater than 0 (where float32 cannot hold it, it is raised and a remark says so)"
            ));
        }
        if percent && value > 100.0 {
            return Err(format!("'{text}': that is more than all of it; give 100% at most, as in 0.01%"));
        }
        Ok(match metres {
            Some(metres) => Distance::Metres(value * metres),
            None if percent => Distance::Percent(value),
            None => Distance::Absolute(value),
        })
    }
}

impl Distance {
    /// Returns the tolerance in the length unit of a file.
    pub fn in_unit(self, unit: Option<LengthUnit>) -> Result<Tolerance, Error> {
        Ok(match (self, unit) {
            (Distance::Absolute(length), _) => Tolerance::Absolute(length),
            (Distance::Percent(percent), _) => Tolerance::Relative(percent / 100.0),
            (Distance::Metres(length), Some(unit)) => Tolerance::Absolute(length / unit.metres()),
            (Distance::Metres(_), None) => {
                return Err(Error::misuse(format!(
                    "a tolerance of {self} needs a unit to be told in, and the input names none: give it with --unit, or a tolerance in percent"
                )));
            }
        })
    }
}

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Distance::Absolute(value) => write!(f, "{value}"),
            Distance::Metres(value) => write!(f, "{value}m"),
            Distance::Percent(value) => write!(f, "{value}%"),
        }
    }
}

impl From<Distance> for ToleranceFor {
    fn from(tolerance: Distance) -> ToleranceFor {
        ToleranceFor { glob: None, tolerance }
    }
}

impl FromStr for ToleranceFor {
    type Err = String;
    fn from_str(text: &str) -> Result<ToleranceFor, String> {
        let Some((glob, value)) = text.rsplit_once('=') else {
            return text.parse::<Distance>().map(ToleranceFor::from);
        };
        let tolerance = value.parse()?;
        globset::Glob::new(glob).map_err(|e| format!("'{text}': {e}"))?;
        if matches!(tolerance, Distance::Percent(_)) && !glob.starts_with('/') {
            return Err(format!(
                "'{text}': the tolerance of a joint is a length, as in '{glob}=0.05' (paths of meshes begin with a slash)"
            ));
        }
        Ok(ToleranceFor { glob: Some(glob.into()), tolerance })
    }
}

impl fmt::Display for ToleranceFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.glob {
            Some(glob) => write!(f, "{glob}={}", self.tolerance),
            None => write!(f, "{}", self.tolerance),
        }
    }
}

impl FromStr for Length {
    type Err = String;
    fn from_str(text: &str) -> Result<Length, String> {
        match text.trim().parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 => Ok(Length(value)),
            _ => Err(format!("'{text}' is no length: give a number above 0 in the file's unit, as in 3")),
        }
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Angle {
    type Err = String;
    fn from_str(text: &str) -> Result<Angle, String> {
        let trimmed = text.trim();
        let (number, factor) = if let Some(number) = trimmed.strip_suffix("deg") {
            (number, 1.0)
        } else if let Some(number) = trimmed.strip_suffix('°') {
            (number, 1.0)
        } else if let Some(number) = trimmed.strip_suffix("rad") {
            (number, 180.0 / std::f64::consts::PI)
        } else {
            (trimmed, 1.0)
        };
        match number.trim().parse::<f64>() {
            Ok(value) if value.is_finite() && value > 0.0 && value * factor <= 180.0 => {
                Ok(Angle(value * factor))
            }
            _ => Err(format!("'{text}' is no angle: give degrees above 0 and up to 180, as in 1deg")),
        }
    }
}

impl fmt::Display for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}deg", self.0)
    }
}

impl FromStr for ByteSize {
    type Err = String;
    fn from_str(text: &str) -> Result<ByteSize, String> {
        let error = || format!("'{text}' is no size: give bytes with a unit, as in 256MB, 128MiB or 1.5GB");
        let trimmed = text.trim();
        let split = trimmed.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(split);
        let factor: u64 = match unit.to_ascii_lowercase().as_str() {
            "" | "b" => 1,
            "k" | "kb" => 1_000,
            "m" | "mb" => 1_000_000,
            "g" | "gb" => 1_000_000_000,
            "t" | "tb" => 1_000_000_000_000,
            "kib" => 1 << 10,
            "mib" => 1 << 20,
            "gib" => 1 << 30,
            "tib" => 1 << 40,
            _ => return Err(error()),
        };
        let value = number.trim().parse::<f64>().map_err(|_| error())?;
        let bytes = value * factor as f64;
        if !(1.0..=(1u64 << 62) as f64).contains(&bytes) {
            return Err(error());
        }
        Ok(ByteSize(bytes as u64))
    }
}

impl ByteSize {
    /// Reads a size; here `0` is allowed, too.
    pub fn parse_or_zero(text: &str) -> Result<ByteSize, String> {
        match text.trim() {
            "0" => Ok(ByteSize(0)),
            text => text.parse(),
        }
    }
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

impl FromStr for Ratio {
    type Err = String;
    fn from_str(text: &str) -> Result<Ratio, String> {
        let parse = |part: &str| part.trim().parse::<f64>().ok();
        let value = match text.split_once('/') {
            Some((above, below)) => parse(above).zip(parse(below)).map(|(a, b)| a / b),
            None => parse(text),
        };
        match value {
            Some(value) if value.is_finite() && value > 0.0 => Ok(Ratio(value)),
            _ => Err(format!("'{text}' is no ratio: give a number above 0, as in 1/4096 or 0.0005")),
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

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

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl FromStr for Span {
    type Err = String;
    fn from_str(text: &str) -> Result<Span, String> {
        let error =
            || format!("'{text}' is no range: give frames counted from 0 (10:20) or seconds (0.5s:2s)");
        let (first, last) = text.split_once(':').ok_or_else(error)?;
        let seconds = |part: &str| {
            let value = part.trim().strip_suffix('s')?.trim().parse::<f64>().ok()?;
            value.is_finite().then_some(value)
        };
        let frame = |part: &str| part.trim().parse::<usize>().ok();
        let (range, forward) = match (seconds(first), seconds(last), frame(first), frame(last)) {
            (Some(first), Some(last), ..) => (TimeRange::Seconds(first, last), first <= last),
            (.., Some(first), Some(last)) => (TimeRange::Frames(first, last), first <= last),
            _ => return Err(error()),
        };
        if !forward {
            return Err(format!("'{text}': the range ends before it begins"));
        }
        Ok(Span(range))
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            TimeRange::Frames(first, last) => write!(f, "{first}:{last}"),
            TimeRange::Seconds(first, last) => write!(f, "{first}s:{last}s"),
        }
    }
}

/// Reads a value of an options file: a string, or a number that is read like its text.
pub fn from_text<'de, D: Deserializer<'de>, T: FromStr<Err = String>>(
    deserializer: D,
) -> Result<T, D::Error> {
    struct TextVisitor<T>(std::marker::PhantomData<T>);
    impl<T: FromStr<Err = String>> Visitor<'_> for TextVisitor<T> {
        type Value = T;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string or a number")
        }
        fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
            text.parse().map_err(E::custom)
        }
        fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
            self.visit_str(&value.to_string())
        }
        fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
            self.visit_str(&value.to_string())
        }
        fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
            self.visit_str(&value.to_string())
        }
    }
    deserializer.deserialize_any(TextVisitor(std::marker::PhantomData))
}

macro_rules! deserialize_from_text {
    ($($name:ty),+) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                crate::units::from_text(deserializer)
            }
        }
    )+};
}
pub(crate) use deserialize_from_text;
deserialize_from_text!(Distance, ToleranceFor, Length, Angle, ByteSize, Ratio, Rate, Span);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_units() {
        assert_eq!("0.01%".parse(), Ok(Distance::Percent(0.01)));
        assert_eq!("0.5".parse(), Ok(Distance::Absolute(0.5)));
        assert_eq!("1e-3 %".parse(), Ok(Distance::Percent(1e-3)));
        for (text, metres) in [("0.5mm", 0.5e-3), ("1 cm", 0.01), ("2m", 2.0), ("1in", 0.0254)] {
            assert_eq!(text.parse(), Ok(Distance::Metres(metres)));
        }
        assert_eq!("100%".parse(), Ok(Distance::Percent(100.0)));
        assert_eq!("1deg".parse(), Ok(Angle(1.0)));
        assert_eq!("2.5".parse(), Ok(Angle(2.5)));
        assert_eq!("256MB".parse(), Ok(ByteSize(256_000_000)));
        assert_eq!("128MiB".parse(), Ok(ByteSize(128 << 20)));
        assert_eq!("1.5g".parse(), Ok(ByteSize(1_500_000_000)));
        assert_eq!("77".parse(), Ok(ByteSize(77)));
        assert_eq!(
            (ByteSize::parse_or_zero("0"), ByteSize::parse_or_zero("1k")),
            (Ok(ByteSize(0)), Ok(ByteSize(1000)))
        );
        assert_eq!("1/4096".parse(), Ok(Ratio(1.0 / 4096.0)));
        assert_eq!("0.001".parse(), Ok(Ratio(0.001)));
        assert_eq!("30000/1001".parse(), Ok(Rate(30000.0 / 1001.0)));
        assert!("0".parse::<Rate>().is_err());
        assert_eq!("10:20".parse(), Ok(Span(TimeRange::Frames(10, 20))));
        assert_eq!("0.5s:2s".parse(), Ok(Span(TimeRange::Seconds(0.5, 2.0))));
        assert_eq!("-1s:2s".parse(), Ok(Span(TimeRange::Seconds(-1.0, 2.0))));
    }

    #[test]
    fn tolerances_of_some() {
        let of = |text: &str| text.parse::<ToleranceFor>();
        assert_eq!(of("0.5").unwrap(), Distance::Absolute(0.5).into());
        let hand = of("*Hand*=0.05").unwrap();
        assert_eq!((hand.glob.as_deref(), hand.tolerance), (Some("*Hand*"), Distance::Absolute(0.05)));
        assert_eq!(of("/hero/**=0.1%").unwrap().tolerance, Distance::Percent(0.1));
        for text in ["=", "a=", "a=-1", "[=1", "Hand=1%", "="] {
            assert!(of(text).is_err(), "{text}");
        }
        for text in ["", "0", "-3", "3cm", "nan"] {
            assert!(text.parse::<Length>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_refused() {
        for text in ["", "%", "-1", "0", "nan", "inf%", "1 km", "mm", "0mm", "101%", "1mm%", "1 m m"] {
            assert!(text.parse::<Distance>().is_err(), "{text}");
        }
        for text in ["", "0deg", "-3", "181", "nan", "1 grad"] {
            assert!(text.parse::<Angle>().is_err(), "{text}");
        }
        for text in ["", "MB", "-1MB", "3 apples", "0", "1e30TB"] {
            assert!(text.parse::<ByteSize>().is_err(), "{text}");
        }
        for text in ["", "1/0", "0/5", "-1", "a/b", "1/2/3"] {
            assert!(text.parse::<Ratio>().is_err(), "{text}");
        }
        for text in ["", ":", "5", "9:3", "a:b", "1:2s", "2s:1s", "-1:4", "3:", ":3"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn printed_values_parse_again() {
        for text in ["0.01%", "0.5", "0.5mm"] {
            let value: Distance = text.parse().unwrap();
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        for text in ["0.5", "*Hand*=0.5", "/hero/**=1%"] {
            let value: ToleranceFor = text.parse().unwrap();
            assert_eq!(value.to_string(), text);
        }
        for text in ["3:9", "0.5s:2s"] {
            let value: Span = text.parse().unwrap();
            assert_eq!(value.to_string().parse(), Ok(value));
        }
    }
}
