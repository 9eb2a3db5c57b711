//! The forms in which option values are stored in a file. Part of the format: the written text changes the
//! bytes of files, and the text that is read is untrusted.
//!
//! The reader of a file checks with these options what the compiler promised, so a value on which a promise
//! depends must be valid. A value that only tells how the bytes were made, such as the method or the effort
//! ([`Lenient`]), is ignored if it is not understood: a later version of the compiler may have written it.

use crate::choices::{BetweenChoice, BlockChoice, ChannelList};
use crate::units::{Span, Tolerance};
use crate::user_value::Bounds;
use meshreel_scene::sample::{ChannelSelection, TimeRange};
use std::fmt::Display;
use std::marker::PhantomData;
use std::str::FromStr;

/// A form in which values are stored. An f64 is printed in its shortest form and reads back exactly.
pub trait StoredForm<K> {
    /// Returns the values of the lines that store `kept`, one per line.
    fn write(kept: &K) -> Vec<String>;
    /// Takes the value of one line; `None` if it is invalid.
    fn read(kept: &mut K, text: &str, bounds: Bounds) -> Option<()>;
}

/// A value that may be absent: an `Option`, or a plain value.
trait OptionalValue: Sized {
    type Inner;
    fn inner(&self) -> Option<&Self::Inner>;
    fn from_inner(inner: Self::Inner) -> Self;
}

macro_rules! maybe {
    ($($kind:ty),+) => {$(
        impl OptionalValue for $kind {
            type Inner = $kind;
            fn inner(&self) -> Option<&$kind> {
                Some(self)
            }
            fn from_inner(inner: $kind) -> Self {
                inner
            }
        }
    )+};
}
maybe!(f64, u32);

impl<T> OptionalValue for Option<T> {
    type Inner = T;
    fn inner(&self) -> Option<&T> {
        self.as_ref()
    }
    fn from_inner(inner: T) -> Self {
        Some(inner)
    }
}

fn to_lines<K: OptionalValue<Inner: Display>>(kept: &K) -> Vec<String> {
    kept.inner().map(ToString::to_string).into_iter().collect()
}

/// A number above zero.
pub struct Positive;

impl<K: OptionalValue<Inner = f64>> StoredForm<K> for Positive {
    fn write(kept: &K) -> Vec<String> {
        to_lines(kept)
    }
    fn read(kept: &mut K, text: &str, _: Bounds) -> Option<()> {
        *kept = K::from_inner(read_positive(text)?);
        Some(())
    }
}

/// Any number.
pub struct Number;

impl<K: OptionalValue<Inner: Display + FromStr>> StoredForm<K> for Number {
    fn write(kept: &K) -> Vec<String> {
        to_lines(kept)
    }
    fn read(kept: &mut K, text: &str, _: Bounds) -> Option<()> {
        *kept = K::from_inner(text.parse().ok()?);
        Some(())
    }
}

/// An integer within its bounds.
pub struct BoundedInteger;

impl StoredForm<u32> for BoundedInteger {
    fn write(kept: &u32) -> Vec<String> {
        vec![kept.to_string()]
    }
    fn read(kept: &mut u32, text: &str, bounds: Bounds) -> Option<()> {
        let within = |number: i64| bounds.is_none_or(|(least, most)| (least..=most).contains(&number));
        *kept = text.parse().ok().filter(|number: &u32| within((*number).into()))?;
        Some(())
    }
}

/// A tolerance; a relative one is a fraction of each mesh's diagonal.
pub struct DiagonalTolerance;

impl StoredForm<Tolerance> for DiagonalTolerance {
    fn write(kept: &Tolerance) -> Vec<String> {
        vec![write_tolerance(*kept, "*diagonal")]
    }
    fn read(kept: &mut Tolerance, text: &str, _: Bounds) -> Option<()> {
        *kept = read_tolerance(text, "*diagonal")?;
        Some(())
    }
}

/// A tolerance; a relative one is a fraction of each component's range.
pub struct RangeTolerance;

impl StoredForm<Tolerance> for RangeTolerance {
    fn write(kept: &Tolerance) -> Vec<String> {
        vec![write_tolerance(*kept, "*range")]
    }
    fn read(kept: &mut Tolerance, text: &str, _: Bounds) -> Option<()> {
        *kept = read_tolerance(text, "*range")?;
        Some(())
    }
}

/// `true` or `false`.
pub struct Flag;

impl StoredForm<bool> for Flag {
    fn write(kept: &bool) -> Vec<String> {
        vec![kept.to_string()]
    }
    fn read(kept: &mut bool, text: &str, _: Bounds) -> Option<()> {
        *kept = text.parse().ok()?;
        Some(())
    }
}

/// One of several words.
pub struct Keyword;

impl<K: Display + FromStr> StoredForm<K> for Keyword {
    fn write(kept: &K) -> Vec<String> {
        vec![kept.to_string()]
    }
    fn read(kept: &mut K, text: &str, _: Bounds) -> Option<()> {
        *kept = text.parse().ok()?;
        Some(())
    }
}

/// Another form whose default value is never stored, and refused when read.
pub struct NonDefault<F>(PhantomData<F>);

impl<K: Default + PartialEq, F: StoredForm<K>> StoredForm<K> for NonDefault<F> {
    fn write(kept: &K) -> Vec<String> {
        F::write(kept)
    }
    fn read(kept: &mut K, text: &str, bounds: Bounds) -> Option<()> {
        F::read(kept, text, bounds)?;
        (*kept != K::default()).then_some(())
    }
}

/// Another form whose unknown values are ignored.
pub struct Lenient<F>(PhantomData<F>);

impl<K, F: StoredForm<K>> StoredForm<K> for Lenient<F> {
    fn write(kept: &K) -> Vec<String> {
        F::write(kept)
    }
    fn read(kept: &mut K, text: &str, bounds: Bounds) -> Option<()> {
        let _ = F::read(kept, text, bounds);
        Some(())
    }
}

/// Any text without line breaks.
pub struct Text;

impl StoredForm<Option<String>> for Text {
    fn write(kept: &Option<String>) -> Vec<String> {
        kept.iter().cloned().collect()
    }
    fn read(kept: &mut Option<String>, text: &str, _: Bounds) -> Option<()> {
        *kept = Some(text.into());
        Some(())
    }
}

/// Globs, one per line.
pub struct Globs;

impl StoredForm<Vec<String>> for Globs {
    fn write(kept: &Vec<String>) -> Vec<String> {
        kept.clone()
    }
    fn read(kept: &mut Vec<String>, text: &str, _: Bounds) -> Option<()> {
        kept.push(read_glob(text)?);
        Some(())
    }
}

/// Names of channels, separated by commas; unknown names, of later versions, are ignored.
pub struct ChannelNames;

impl StoredForm<ChannelSelection> for ChannelNames {
    fn write(kept: &ChannelSelection) -> Vec<String> {
        vec![ChannelList(*kept).to_string()]
    }
    fn read(kept: &mut ChannelSelection, text: &str, _: Bounds) -> Option<()> {
        let has = |name: &str| text.split(',').any(|v| v == name);
        *kept = ChannelSelection {
            normals: has("normals"),
            uvs: has("uvs"),
            colours: has("colours"),
            attributes: has("attributes"),
        };
        Some(())
    }
}

/// The first and last frame, or first and last second, of a range.
pub struct RangeText;

impl StoredForm<Option<TimeRange>> for RangeText {
    fn write(kept: &Option<TimeRange>) -> Vec<String> {
        kept.iter().map(|range| Span(*range).to_string()).collect()
    }
    fn read(kept: &mut Option<TimeRange>, text: &str, _: Bounds) -> Option<()> {
        let (first, last) = text.split_once(':')?;
        *kept = Some(match (first.strip_suffix('s'), last.strip_suffix('s')) {
            (Some(first), Some(last)) => TimeRange::Seconds(first.parse().ok()?, last.parse().ok()?),
            _ => TimeRange::Frames(first.parse().ok()?, last.parse().ok()?),
        });
        Some(())
    }
}

/// The allowed distance of players from the source between frames, as a multiple of the tolerance.
pub struct Multiple;

impl StoredForm<BetweenChoice> for Multiple {
    fn write(kept: &BetweenChoice) -> Vec<String> {
        kept.multiple().map(|multiple| multiple.to_string()).into_iter().collect()
    }
    fn read(kept: &mut BetweenChoice, text: &str, _: Bounds) -> Option<()> {
        *kept = BetweenChoice::Within(read_positive(text)?);
        Some(())
    }
}

/// Block compression; for LZ4 only the format, whatever compressor was used.
pub struct BlockFormat;

impl StoredForm<BlockChoice> for BlockFormat {
    fn write(kept: &BlockChoice) -> Vec<String> {
        vec![if *kept == BlockChoice::Lz4hc { "lz4".into() } else { kept.to_string() }]
    }
    fn read(kept: &mut BlockChoice, text: &str, _: Bounds) -> Option<()> {
        *kept = if text == "lz4" { BlockChoice::Lz4hc } else { text.parse().ok()? };
        Some(())
    }
}

/// Writes a tolerance; `part` is the suffix of a relative one.
pub fn write_tolerance(tolerance: Tolerance, part: &str) -> String {
    match tolerance {
        Tolerance::Absolute(length) => format!("{length}"),
        Tolerance::Relative(relative) => format!("{relative}{part}"),
    }
}

/// Reads a tolerance written by [`write_tolerance`].
pub fn read_tolerance(text: &str, part: &str) -> Option<Tolerance> {
    match text.strip_suffix(part) {
        Some(relative) => read_positive(relative).map(Tolerance::Relative),
        None => read_positive(text).map(Tolerance::Absolute),
    }
}

/// Reads a finite number above zero.
pub fn read_positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|v: &f64| v.is_finite() && *v > 0.0)
}

/// Reads a glob; `None` if it is invalid.
pub fn read_glob(text: &str) -> Option<String> {
    globset::Glob::new(text).is_ok().then(|| text.into())
}
