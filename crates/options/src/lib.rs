//! The options of the compiler, each defined once, in [`table`]. This crate knows no command line, codec or
//! file; those get everything about an option from its row.
//!
//! The options that a user gives are an [`OptionSet`]: the text of an options file, overridden by values of
//! single keys ([`PartialOptions::say`]). [`OptionSet::resolve`] turns it into [`Options`] for inputs of one
//! length unit. [`Options::check`] checks these, the compiler takes them, and a file stores them as text
//! ([`Options::to_text`], [`Options::from_text`]).

mod units;

pub mod by_path;
mod check;
mod choices;
mod error;
mod file;
pub mod globs;
mod said;
mod sections;
pub mod stored;
pub mod table;
mod text;
mod wanted;

pub use choices::{
    BetweenChoice, Block, ChannelList, CodecChoice, Keys, MergeAt, MethodChoice, PartsChoice, Preset,
    RigChoice, Rule, Spacing, TransformForm, UnitName,
};
pub use error::Error;
pub use file::OptionSet;
pub use said::{Bounds, Each, Said, Takes};
pub use sections::{
    ClipChoice, CurveChoice, CurveSection, JointOverride, LayerChoice, LayerSection, LocalRule, MeshOverride,
    MeshSection, Strip,
};
pub use table::{Description, Options, PartialOptions, TABLE};
pub use units::{Angle, Distance, Length, Rate, Ratio, Size, Span, Tolerance, ToleranceFor};
