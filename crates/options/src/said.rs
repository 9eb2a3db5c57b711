//! Option values as the user gives them (as text, in an options file, repeatedly) and their conversion into
//! those of the compiler. The rows of the table differ only in these types.

use crate::Error;
use crate::choices::{
    BetweenChoice, Block, ChannelList, CodecChoice, MergeAt, MethodChoice, PartsChoice, Preset, RigChoice,
    TransformForm, UnitName,
};
use crate::units::{Angle, Distance, Length, Rate, Ratio, Size, Span, Tolerance, ToleranceFor};
use meshreel_scene::Unit;
use meshreel_scene::sample::{Channels, Range};
use serde::{Deserialize, Deserializer, de};
use std::ops::{Deref, DerefMut};

/// The number of values that a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// None: the key is a flag.
    Nothing,
    /// One value.
    One,
    /// Any number of values.
    Many,
}

/// The smallest and largest allowed values of a number.
pub type Bounds = Option<(i64, i64)>;

/// An option as given by the user, or not given: an [`Option`], a list, or a flag.
pub trait Said: Default {
    /// The number of values that the key takes.
    const TAKES: Takes;
    /// Parses and sets a value as on the command line. A flag takes `true` and `false`.
    fn say(&mut self, text: &str, bounds: Bounds) -> Result<(), String>;
    /// Returns this value, or `lower` if this one was not given.
    fn over(self, lower: Self) -> Self;
}

impl<T: Value> Said for Option<T> {
    const TAKES: Takes = Takes::One;
    fn say(&mut self, text: &str, bounds: Bounds) -> Result<(), String> {
        *self = Some(T::from_text(text, bounds)?);
        Ok(())
    }
    fn over(self, lower: Self) -> Self {
        self.or(lower)
    }
}

/// A list replaces the lower one.
impl<T: Value> Said for Vec<T> {
    const TAKES: Takes = Takes::Many;
    fn say(&mut self, text: &str, bounds: Bounds) -> Result<(), String> {
        self.push(T::from_text(text, bounds)?);
        Ok(())
    }
    fn over(self, lower: Self) -> Self {
        if self.is_empty() { lower } else { self }
    }
}

impl Said for bool {
    const TAKES: Takes = Takes::Nothing;
    fn say(&mut self, text: &str, _: Bounds) -> Result<(), String> {
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
pub struct Each<T>(pub Vec<T>);

impl<T> Default for Each<T> {
    fn default() -> Self {
        Each(Vec::new())
    }
}

impl<T> Deref for Each<T> {
    type Target = Vec<T>;
    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T> DerefMut for Each<T> {
    fn deref_mut(&mut self) -> &mut Vec<T> {
        &mut self.0
    }
}

impl<T: Value> Said for Each<T> {
    const TAKES: Takes = Takes::Many;
    fn say(&mut self, text: &str, bounds: Bounds) -> Result<(), String> {
        self.0.say(text, bounds)
    }
    fn over(self, mut lower: Self) -> Self {
        lower.0.extend(self.0);
        lower
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Each<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let many = match toml::Value::deserialize(deserializer)? {
            toml::Value::Array(many) => many,
            one => vec![one],
        };
        let read = |one| T::deserialize(one).map_err(de::Error::custom);
        many.into_iter().map(read).collect::<Result<_, _>>().map(Each)
    }
}

/// A single value.
pub trait Value: Sized {
    /// Parses a value as on the command line. Errors say what is accepted.
    fn from_text(text: &str, bounds: Bounds) -> Result<Self, String>;
}

impl Value for String {
    fn from_text(text: &str, _: Bounds) -> Result<Self, String> {
        Ok(text.into())
    }
}

macro_rules! whole_numbers {
    ($($number:ty),+) => {$(
        impl Value for $number {
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
        impl Value for $name {
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
    Size,
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
    Block,
    UnitName,
);

/// Sets the compiler's option from the given one, in the length unit of a file; if none was given, it stays.
pub trait Put<K> {
    /// Sets `kept`.
    fn put(&self, kept: &mut K, unit: Option<Unit>) -> Result<(), Error>;
}

impl<S: Clone + Becomes<K>, K> Put<K> for Option<S> {
    fn put(&self, kept: &mut K, unit: Option<Unit>) -> Result<(), Error> {
        if let Some(said) = self {
            *kept = said.clone().becomes(unit)?;
        }
        Ok(())
    }
}

impl Put<bool> for bool {
    fn put(&self, kept: &mut bool, _: Option<Unit>) -> Result<(), Error> {
        *kept = *self;
        Ok(())
    }
}

impl Put<Vec<String>> for Vec<String> {
    fn put(&self, kept: &mut Vec<String>, _: Option<Unit>) -> Result<(), Error> {
        kept.clone_from(self);
        Ok(())
    }
}

/// Sets the general tolerance; tolerances with globs go to sections.
impl Put<Tolerance> for Each<ToleranceFor> {
    fn put(&self, kept: &mut Tolerance, unit: Option<Unit>) -> Result<(), Error> {
        let general = self.iter().filter(|wanted| wanted.glob.is_none());
        for wanted in general {
            *kept = wanted.tolerance.in_unit(unit)?;
        }
        Ok(())
    }
}

/// Conversion of a user's value into the compiler's.
pub trait Becomes<K> {
    /// Returns the value, in the length unit of a file.
    fn becomes(self, unit: Option<Unit>) -> Result<K, Error>;
}

impl Becomes<Tolerance> for Distance {
    fn becomes(self, unit: Option<Unit>) -> Result<Tolerance, Error> {
        self.in_unit(unit)
    }
}

macro_rules! becomes {
    ($($said:ty => $kept:ty: $how:expr;)+) => {$(
        impl Becomes<$kept> for $said {
            fn becomes(self, _: Option<Unit>) -> Result<$kept, Error> {
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
    Size => u64: |size| size.0;
    Span => Option<Range>: |span| Some(span.0);
    ChannelList => Channels: |list| list.0;
    UnitName => Option<Unit>: |name| Some(name.into());
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
    Block => Block: |choice| choice;
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
        assert_eq!(Each(vec!["b".to_string()]).over(Each(vec!["a".into()])).0, ["a", "b"]);
        assert!(false.over(true) && true.over(false));
    }
}
