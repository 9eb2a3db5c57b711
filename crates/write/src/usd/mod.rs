//! Scene → USD: a layer in the binary form (`.usdc`, `.usd`) or as text (`.usda`).
//!
//! A layer is planned first: prims, attributes and relationships. The binary form then reads sample 0 of
//! every attribute, sample 1, and so on, so that a source which decodes frame by frame decodes each frame
//! once; the text form has all samples of an attribute in one place, and decodes frames once per attribute.
//!
//! Meshes keep the winding of their faces (`orientation`). Meshes on a skeleton become UsdSkel skins, below
//! one prim of the type `SkelRoot`. Time codes are frames.

mod binary;
mod integers;
mod layer;
mod mesh;
mod prims;
mod skeleton;
mod text;
mod value;

use layer::Layer;
pub use layer::Progress;
use meshreel_scene::{Error, Remark, Scene};
use std::path::Path;

/// Writes `scene` to `path`, which is replaced only when the new file is complete. `times`: seconds of the
/// frames. A name that ends in `.usda` gets text, any other the binary form. Remarks tell what a layer cannot
/// hold.
pub fn write(
    path: &Path,
    scene: &Scene,
    times: &[f64],
    progress: &mut Progress,
) -> Result<Vec<Remark>, Error> {
    let mut layer = Layer::new(scene, times);
    let remarks = layer.add_scene(scene)?;
    let is_text = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("usda"));
    match is_text {
        true => text::write(path, layer, progress)?,
        false => binary::write(path, layer, progress)?,
    }
    Ok(remarks)
}
