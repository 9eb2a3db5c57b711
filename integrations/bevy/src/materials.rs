//! Materials, by the names that files give to parts of meshes.

use bevy::platform::collections::HashMap;
use bevy::prelude::*;

/// The materials of a [`ReelPlayer`](crate::ReelPlayer), by name: a component of its entity, or in
/// [`DefaultReelMaterials`] for all that have none. To use materials of another type, replace
/// `MeshMaterial3d` on the entities of [`ReelSurface`](crate::ReelSurface) when
/// [`ReelReady`](crate::ReelReady) is triggered.
#[derive(Component, Clone, Debug, Default)]
pub struct ReelMaterials {
    /// The materials by name.
    pub named: HashMap<String, Handle<StandardMaterial>>,
    /// The material of all others; light grey if there is none.
    pub other: Option<Handle<StandardMaterial>>,
}

impl ReelMaterials {
    /// Adds a material.
    pub fn with(mut self, name: impl Into<String>, material: Handle<StandardMaterial>) -> ReelMaterials {
        self.named.insert(name.into(), material);
        self
    }

    /// Sets the material of all parts whose names are not listed.
    pub fn with_other(self, material: Handle<StandardMaterial>) -> ReelMaterials {
        ReelMaterials { other: Some(material), ..self }
    }

    /// Returns the material of a name, or else [`ReelMaterials::other`].
    pub fn find(&self, name: &str) -> Option<&Handle<StandardMaterial>> {
        self.named.get(name).or(self.other.as_ref())
    }
}

/// The materials of all players that have none of their own.
#[derive(Resource, Clone, Debug, Default)]
pub struct DefaultReelMaterials(pub ReelMaterials);

/// The material of surfaces for which no other is named.
#[derive(Resource, Debug)]
pub(crate) struct PlainMaterial(pub Handle<StandardMaterial>);

impl FromWorld for PlainMaterial {
    fn from_world(world: &mut World) -> PlainMaterial {
        let plain = StandardMaterial {
            base_color: Color::srgb(0.8, 0.8, 0.8),
            perceptual_roughness: 0.8,
            // Cloth, leaves and paper are open surfaces.
            double_sided: true,
            cull_mode: None,
            ..default()
        };
        PlainMaterial(world.resource_mut::<Assets<StandardMaterial>>().add(plain))
    }
}
