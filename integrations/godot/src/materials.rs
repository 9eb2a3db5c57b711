//! The materials of surfaces for which a node names none.

use crate::model::vertices::Primitive;
use godot::classes::base_material_3d::{CullMode, Flags, ShadingMode};
use godot::classes::{Material, StandardMaterial3D};
use godot::prelude::*;
use std::cell::RefCell;
use std::collections::HashMap;

/// The size of points in pixels.
const POINT_PIXELS: f32 = 2.0;

/// The materials by name that a node has, and plain ones for all others.
#[derive(Default)]
pub(crate) struct SurfaceMaterials {
    /// The materials by the names in the file.
    pub(crate) named: HashMap<GString, Gd<Material>>,
    /// The material of all others.
    pub(crate) other: Option<Gd<Material>>,
    /// The plain ones that were used so far.
    plain: RefCell<HashMap<(bool, Primitive), Gd<Material>>>,
}

impl SurfaceMaterials {
    /// Returns the material of a name, else that of all others, else a plain one: light grey, or of the
    /// colours of the vertices.
    pub(crate) fn find(&self, name: &GString, has_colours: bool, primitive: Primitive) -> Gd<Material> {
        let named = self.named.get(name).or(self.other.as_ref());
        let plain = || {
            let mut known = self.plain.borrow_mut();
            known.entry((has_colours, primitive)).or_insert_with(|| plain(has_colours, primitive)).clone()
        };
        named.cloned().unwrap_or_else(plain)
    }
}

fn plain(has_colours: bool, primitive: Primitive) -> Gd<Material> {
    let mut out = StandardMaterial3D::new_gd();
    // Cloth, leaves and paper are open surfaces.
    out.set_cull_mode(CullMode::DISABLED);
    out.set_roughness(0.8);
    match has_colours {
        true => out.set_flag(Flags::ALBEDO_FROM_VERTEX_COLOR, true),
        false => out.set_albedo(Color::from_rgb(0.8, 0.8, 0.8)),
    }
    if primitive != Primitive::Triangles {
        out.set_shading_mode(ShadingMode::UNSHADED);
    }
    if primitive == Primitive::Points {
        out.set_flag(Flags::USE_POINT_SIZE, true);
        out.set_point_size(POINT_PIXELS);
    }
    out.upcast()
}
