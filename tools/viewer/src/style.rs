//! The settings of a picture.

use crate::looks::DisplayMode;

/// Lights of the shader: from the eye, from above, and from above with contact shading.
pub const LIGHT_FROM_EYE: u32 = 0;
const LIGHT_FROM_ABOVE: u32 = 1;
pub const LIGHT_WITH_CONTACT: u32 = 2;

/// The settings of a picture.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    pub look: DisplayMode,
    pub wire: bool,
    pub grid: bool,
    /// LOD level to draw, limited to those of a mesh.
    pub level: usize,
    /// Leaves out triangles that cannot be seen.
    pub visible: bool,
    /// Draws skeletons of clips.
    pub bones: bool,
    /// Darkens surfaces where others are near, in looks that are lit.
    pub contact: bool,
    /// The node with a marked outline.
    pub selected: Option<usize>,
}

impl Style {
    /// `true` if triangles that cannot be seen are separated.
    pub fn parts_visible(self) -> bool {
        self.visible || self.look == DisplayMode::Hidden
    }

    /// Returns the shader's light of surfaces.
    pub fn light(self) -> u32 {
        match (self.look.is_lit(), self.contact) {
            (false, _) => LIGHT_FROM_EYE,
            (true, false) => LIGHT_FROM_ABOVE,
            (true, true) => LIGHT_WITH_CONTACT,
        }
    }

    /// `true` if the edges of a node are drawn.
    pub fn edges(self, node: usize) -> bool {
        self.wire || self.look == DisplayMode::Hidden || self.selected == Some(node)
    }
}
