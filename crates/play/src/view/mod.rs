//! Views of decoded frames as buffers that engines upload: interpolated frames, vertices, posed rigs, part
//! attributes.

pub(crate) mod cameras;
pub(crate) mod frame_view;
pub(crate) mod interpolate;
pub mod packed;
pub(crate) mod part_attributes;
pub(crate) mod rig;
pub(crate) mod shown_frames;
pub(crate) mod vertex;

pub use crate::decode::bones::{BoneMatrix, BonesView};
pub use crate::decode::node_transforms::MovingNodes;
pub use crate::reel::end_states::EndState;
pub use crate::reel::layout::IndexRange;
pub use crate::reel::lod::{Lod, LodTriangles};
pub use crate::reel::quantized::QuantizedValues;
pub use crate::reel::visibility::VisibleRanges;
pub use part_attributes::{NodePartAttributes, PartAttribute};
