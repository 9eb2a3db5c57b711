//! Bones and weights from trajectories alone: smooth skinning decomposition.
//!
//! ```text
//! x_v(f) = Σ_b w_vb · M_b(f) · [p_v; 1]        w ≥ 0, Σ_b w_vb = 1, few of them not zero
//! ```
//!
//! M are affine: with them everything is linear least squares, one factor at a time. Steps:
//!
//! ```text
//! space      principal components of the trajectories: tens of dimensions instead of thousands
//! start      rest positions are means over time; clusters of points that one motion explains, split where it is worst
//! alternate  weights of each point (nearest point of a hull; 8 of them at first), then all bones at once; after a while rest positions too
//! step       all bones, counting on points that follow
//! race       the same from several samples and with several numbers of bones; what promises the fewest bits goes on
//! fewer      8 weights become 7, 6, 5, 4, each time with a few steps: few from the start would stick
//! lift       the same for all points, started from those of the sample that move most like them
//! ```
//!
//! No step increases the error, except where weights are removed: points keep their old weights unless new
//! ones bring them nearer.
//!
//! Credit: B. H. Le, Z. Deng, Smooth skinning decomposition with rigid bones, 2012; G. Golub and V. Pereyra
//! 1973 for the steps. Different here: the small space, the free rest pose, affine bones, and starting with
//! many weights.

mod bits;
mod fit;
mod linear;
mod motion;
mod search;
mod skin;
pub mod source_rig;
mod space;
#[cfg(test)]
mod tests;
mod vertex;

pub use bits::{SkinBits, usual_weight_bits};
pub use fit::motions;
pub use search::{
    ChoiceRequest, SkinChoice, choose_skin, count_components, expected_steps, find_skin, is_likely,
};
pub use skin::{Skin, SkinRequest};
pub use vertex::MAX_INFLUENCES;
