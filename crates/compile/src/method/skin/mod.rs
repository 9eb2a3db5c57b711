//! Meshes moved by bones: points that bones leave outside the tolerance have a residual in the soft codec, so
//! the guarantee is the same.
//!
//! ```text
//! model      parts or a skin, from the extraction                                         model
//! rest       one frame of the soft codec; weights as coarse as they may be
//! bones      against the rest pose *as decoded*: rigid ones through the clip codec         rigid
//!            affine ones as four points each, through the soft codec
//! residual   points that all this leaves farther off than the tolerance in any frame: the soft codec, with bones as prediction
//! ```

mod choice;
mod handles;
mod hints;
mod measure;
mod model;
mod posed;
mod positions;
mod residual;
mod rest;
mod rigid;
mod single_frame;
mod source_rig;

pub use choice::{ChosenMethod, MIN_EFFORT_FOR_SKINS, choose_method, expected_search, is_likely};
pub use hints::hint_names;
pub use model::BoneModel;
pub use residual::resume;
pub use single_frame::{encode_single_frame, encode_weights};
