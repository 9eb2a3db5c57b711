//! Remarks on meshes that are hidden in every frame: the file holds them, but they are never visible.

use crate::nodes::motion::Motion;
use meshreel_options::Options;
use meshreel_scene::{PlacedObject, Remark};

/// Returns a remark for each mesh that is visible in no frame, and one if no mesh is ever visible.
pub fn remarks(
    placed: &[PlacedObject],
    selected: &[bool],
    motion: &Motion,
    options: &Options,
) -> Vec<Remark> {
    let is_seen = |i: usize| motion.visible[i].count() > 0;
    let meshes = || (0..placed.len()).filter(|&i| selected[i]);
    let (state, cure) = match options.show_hidden {
        // The mesh has nothing to show.
        true => ("there in no frame", String::new()),
        false => ("hidden in every frame", "; --show-hidden compiles it as if it were shown".to_owned()),
    };
    let what = format!("is {state}, so nothing of it is ever seen{cure}; --exclude leaves it out");
    let mut out: Vec<Remark> =
        meshes().filter(|&i| !is_seen(i)).map(|i| Remark::new(&placed[i].path, what.clone())).collect();
    if !out.is_empty() && out.len() == meshes().count() {
        let cure = cure.replace("it as if it were", "them as if they were");
        let what = format!("nothing is ever seen: no mesh is shown in any frame{cure}");
        out.insert(0, Remark::new("/", what));
    }
    out
}
