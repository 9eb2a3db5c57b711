//! Option values as the user gives them (as text, in an options file, repeatedly) and their conversion into
//! those of the compiler. The rows of the table differ only in these types.

use crate::Error;
use crate::choices::{
    BetweenChoice, BlockChoice, ChannelList, CodecChoice, MergeAt, MethodChoice, PartsChoice, Preset,
    RigChoice, TransformForm, UnitName,
};
use crate::units::{Angle, ByteSize, Distance, Length, Rate, Ratio, Span, Tolerance, ToleranceFor};
use meshreel_scene::LengthUnit;
use meshreel_scene::sample::{ChannelSelection, TimeRange};
use serde::{Deserialize, Deserializer, de};
use std::ops::{Deref, DerefMut};

/// The number of values that a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueCount {
    /// None: the key is a flag.
    Zero,
    /// One value.
    One,
    /// Any number of values.
    Many,
}

/// The smallest and largest allowed values of a number.
pub type Bounds = Option<(i64, i64)>;

/// An option as given by the user, or not given: an [`Option`], a list, or a flag.
pub trait UserValue: Default {
    /// The number of values that the key takes.
    const VALUE_COUNT: ValueCount;
    /// Parses and sets a value as on the command line. A flag takes `true` and `false`.
    fn set(&mut self, text: &str, bounds: Bounds) -> Result<(), String>;
    /// Returns this value, or `lower` if this one was not given.
    fn over(self, lower: Self) -> Self;
}

impl<T: SingleValue> UserValue for Option<T> {
    const VALUE_COUNT: ValueCount = ValueCount::One;
    fn set(&mut self, text: &str, bounds: Bounds) -> Result<(), String> {
        *self = Some(T::from_text(text, bounds)?);
        Ok(())
    }
    fn over(self, lower: Self) -> Self {
        self.or(lower)
    }
}

/// A list replaces the lower one.
impl<T: SingleValue> UserValue for Vec<T> {
    const VALUE_COUNT: ValueCount = ValueCount::Many;
    fn set(&mut self, text: &str, bounds: Bounds) -> Result<(), String> {
        self.push(T::from_text(text, bounds)?);
        Ok(())
    }
    fn over(self, lower: Self) -> Self {
        if self.is_empty() { lower } else { self }
    }
}

impl UserValue for bool {
    const VALUE_COUNT: ValueCount = ValueCount::Zero;
    fn set(&mut self, text: &str, _: Bounds) -> Result<(), String> {
        *self = text.parse().map_err(|_| format!("'{text}' is neither true nor false"))?;
        Ok(())
    }
    fn over(self, lower: Self) -> Self {
        self || lower
    }
}

/// A list that is appended to the lower one, so that its last values win. An options file may give a single
/// value in place of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct AppendedList<T>(pub Vec<T>);

impl<T> Default for AppendedList<T> {
    fn default() -> Self {
        AppendedList(Vec::new())
    }
}

impl<T> Deref for AppendedList<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for AppendedList<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: SingleValue> UserValue for AppendedList<T> {
    const VALUE_COUNT: ValueCount = ValueCount::Many;
    fn set(&mut self, text: &str, bounds: Bounds) -> Result<(), String> {
        self.0.set(text, bounds)
    }
    fn over(self, mut lower: Self) -> Self {
        lower.0.extend(self.0);
        lower
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AppendedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let many = match toml::Value::deserialize(deserializer)? {
            toml::Value::Array(many) => many,
            one => vec![one],
        };
        let read = |one| T::deserialize(one).map_err(de::Error::custom);
        many.into_iter().map(read).collect::<Result<_, _>>().map(AppendedList)
    }
}

/// A single value.
pub trait SingleValue: Sized {
    /// Parses a value as on the command line. Errors say what is accepted.
    fn from_text(text: &str, bounds: Bounds) -> Result<Self, String>;
}

impl SingleValue for String {
    fn from_text(text: &str, _: Bounds) -> Result<Self, String> {
        Ok(text.into())
    }
}

macro_rules! whole_numbers {
    ($($number:ty),+) => {$(
        impl SingleValue for $number {
            fn from_text(text: &str, bounds: Bounds) -> Result<Self, String> {
                let (least, most) = bounds.unwrap_or((<$number>::MIN.into(), <$number>::MAX.into()));
                let number: i64 = text.parse().map_err(|e: std::num::ParseIntError| e.to_string())?;
                let fits = (least..=most).contains(&number).then(|| number.try_into().ok()).flatten();
                fits.ok_or_else(|| format!("{number} is not in {least}..={most}"))
            }
        }
    )+};
}
whole_numbers!(u8, u32);

macro_rules! values {
    ($($name:ty),+ $(,)?) => {$(
        impl SingleValue for $name {
            fn from_text(text: &str, _: Bounds) -> Result<Self, String> {
                text.parse()
            }
        }
    )+};
}
values!(
    Distance,
    ToleranceFor,
    Length,
    Angle,
    ByteSize,
    Ratio,
    Rate,
    Span,
    ChannelList,
    BetweenChoice,
    MergeAt,
    PartsChoice,
    MethodChoice,
    TransformForm,
    RigChoice,
    CodecChoice,
    Preset,
    BlockChoice,
    UnitName,
);

/// Sets the compiler's option from the given one, in the length unit of a file; if none was given, it stays.
pub trait Assign<K> {
    /// Sets `kept`.
    fn assign(&self, kept: &mut K, unit: Option<LengthUnit>) -> Result<(), Error>;
}

impl<S: Clone + ConvertTo<K>, K> Assign<K> for Option<S> {
    fn assign(&self, kept: &mut K, unit: Option<LengthUnit>) -> Result<(), Error> {
        if let Some(said) = self {
            *kept = said.clone().convert(unit)?;
        }
        Ok(())
    }
}

impl Assign<bool> for bool {
    fn assign(&self, kept: &mut bool, _: Option<LengthUnit>) -> Result<(), Error> {
        *kept = *self;
        Ok(())
    }
}

impl Assign<Vec<String>> for Vec<String> {
    fn assign(&self, kept: &mut Vec<String>, _: Option<LengthUnit>) -> Result<(), Error> {
        kept.clone_from(self);
        Ok(())
    }
}

/// Sets the general tolerance; tolerances with globs go to sections.
impl Assign<Tolerance> for AppendedList<ToleranceFor> {
    fn assign(&self, kept: &mut Tolerance, unit: Option<LengthUnit>) -> Result<(), Error> {
        let general = self.iter().filter(|wanted| wanted.glob.is_none());
        for wanted in general {
            *kept = wanted.tolerance.in_unit(unit)?;
        }
        Ok(())
    }
}

/// Conversion of a user's value into the compiler's.
pub trait ConvertTo<K> {
    /// Returns the value, in the length unit of a file.
    fn convert(self, unit: Option<LengthUnit>) -> Result<K, Error>;
}

impl ConvertTo<Tolerance> for Distance {
    fn convert(self, unit: Option<LengthUnit>) -> Result<Tolerance, Error> {
        self.in_unit(unit)
    }
}

macro_rules! becomes {
    ($($said:ty => $kept:ty: $how:expr;)+) => {$(
        impl ConvertTo<$kept> for $said {
            fn convert(self, _: Option<LengthUnit>) -> Result<$kept, Error> {
                let how: fn($said) -> $kept = $how;
                Ok(how(self))
            }
        }
    )+};
}
becomes! {
    Length => Option<f64>: |length| Some(length.0);
    Angle => f64: |angle| angle.0;
    Angle => Option<f64>: |angle| Some(angle.0);
    Ratio => f64: |ratio| ratio.0;
    Rate => Option<f64>: |rate| Some(rate.0);
    ByteSize => u64: |size| size.0;
    Span => Option<TimeRange>: |span| Some(span.0);
    ChannelList => ChannelSelection: |list| list.0;
    UnitName => Option<LengthUnit>: |name| Some(name.into());
    String => Option<String>: Some;
    u8 => u32: u32::from;
    u32 => usize: |number| number as usize;
    u32 => Option<usize>: |number| Some(number as usize);
    BetweenChoice => BetweenChoice: |choice| choice;
    MergeAt => MergeAt: |choice| choice;
    PartsChoice => PartsChoice: |choice| choice;
    MethodChoice => MethodChoice: |choice| choice;
    TransformForm => TransformForm: |choice| choice;
    RigChoice => RigChoice: |choice| choice;
    CodecChoice => CodecChoice: |choice| choice;
    Preset => Preset: |choice| choice;
    BlockChoice => BlockChoice: |choice| choice;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bounds() {
        assert_eq!(u8::from_text("7", Some((1, 9))), Ok(7));
        assert_eq!(u8::from_text("10", Some((1, 9))), Err("10 is not in 1..=9".into()));
        assert_eq!(u8::from_text("-1", None), Err("-1 is not in 0..=255".into()));
        assert_eq!(u32::from_text("x", None), Err("invalid digit found in string".into()));
    }

    #[test]
    fn the_upper_wins() {
        assert_eq!(Some("b".to_string()).over(Some("a".into())), Some("b".into()));
        assert_eq!(None.over(Some("a".to_string())), Some("a".into()));
        assert_eq!(vec!["b".to_string()].over(vec!["a".into()]), ["b"]);
        assert_eq!(Vec::new().over(vec!["a".to_string()]), ["a"]);
        assert_eq!(AppendedList(vec!["b".to_string()]).over(AppendedList(vec!["a".into()])).0, ["a", "b"]);
        assert!(false.over(true) && true.over(false));
    }
}
