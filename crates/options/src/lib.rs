//! The options of the compiler, each defined once, in [`table`]. This crate knows no command line, codec or
//! file; those get everything about an option from its row.
//!
//! The options that a user gives are an [`OptionSet`]: the text of an options file, overridden by values of
//! single keys ([`PartialOptions::set`]). [`OptionSet::resolve`] turns it into [`Options`] for inputs of one
//! length unit. [`Options::check`] checks these, the compiler takes them, and a file stores them as text
//! ([`Options::to_text`], [`Options::from_text`]).

mod units;

pub mod by_path;
mod check;
mod choices;
mod derived;
mod error;
mod file;
pub mod globs;
mod sections;
pub mod stored;
pub mod table;
mod text;
mod user_value;

pub use choices::{
    BetweenChoice, BlockChoice, ChannelList, CodecChoice, KeyChoice, KnotSpacing, MergeAt, MethodChoice,
    PartsChoice, Preset, RigChoice, RuleChoice, TransformForm, UnitName,
};
pub use error::Error;
pub use file::OptionSet;
pub use sections::{
    ClipChoice, CurveChoice, CurveSection, JointOverride, LayerChoice, LayerSection, LocalRule, MeshOverride,
    MeshSection, Strip,
};
pub use table::{OptionDescription, Options, PartialOptions, TABLE};
pub use units::{Angle, ByteSize, Distance, Length, Rate, Ratio, Span, Tolerance, ToleranceFor};
pub use user_value::{AppendedList, Bounds, UserValue, ValueCount};
