//! The contents of a file as data: what `info --json` prints and Python returns.

mod attributes;
mod cameras;
mod clips;
mod joints;
mod lod;
mod options;
mod ranges;
mod ratio;
mod reel;
mod rigs;
mod scene;

pub use attributes::AttributeInfo;
pub use cameras::CameraInfo;
pub use clips::{ClipInfo, SourceClipInfo, SubTrackCounts};
pub use joints::SkeletonInfo;
pub use lod::LodInfo;
pub use options::InfoOptions;
pub use ranges::RangeInfo;
pub use ratio::ratio;
pub use reel::{FrameInfo, MeshInfo, ReelInfo};
pub use rigs::RigInfo;
pub use scene::{Counts, SceneInfo, SceneNode, unit_name};
