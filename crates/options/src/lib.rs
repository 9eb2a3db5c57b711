//! What may be asked of the compiler: every option once, in [`table`]. Nothing here knows a command line, a
//! codec or a file; all of them get what they need of an option from its row.
//!
//! What a user says is an [`OptionSet`]: text of an options file, and values of single keys
//! ([`PartialOptions::say`]) over it. [`OptionSet::resolve`] makes [`Options`] of it for inputs of one length
//! unit, which [`Options::check`] looks through, a compiler takes, and a file stores as text
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
