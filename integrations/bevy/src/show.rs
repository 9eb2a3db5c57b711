//! Writes what players show into entities and meshes, once a frame.

use crate::camera::projection;
use crate::card::{CardFrame, CardFrames};
use crate::event::{ReelReady, fail};
use crate::hierarchy::{
    Entities, ReelCopy, ReelInstance, ReelNode, ShownLevel, ShownMesh, Spawner, card_meshes, mesh_of, metres,
    transform,
};
use crate::materials::{DefaultReelMaterials, PlainMaterial, ReelMaterials};
use crate::runtime::ReelRuntime;
use bevy::camera::Projection;
use bevy::ecs::system::SystemParam;
use bevy::platform::collections::HashMap;
use bevy::prelude::*;
use meshreel::{Error, FrameView};

/// The materials of all players.
#[derive(SystemParam)]
pub(crate) struct MaterialsOfAll<'w> {
    default: Option<Res<'w, DefaultReelMaterials>>,
    plain: Res<'w, PlainMaterial>,
}

impl MaterialsOfAll<'_> {
    fn spawner<'a, 'w, 's>(
        &'a self,
        commands: &'a mut Commands<'w, 's>,
        own: Option<&'a ReelMaterials>,
    ) -> Spawner<'a, 'w, 's> {
        let materials = own.or(self.default.as_ref().map(|all| &all.0));
        Spawner { commands, materials, plain: &self.plain }
    }
}

/// Spawns the entities of players whose first frame is there.
pub(crate) fn spawn_players(
    mut commands: Commands,
    mut runtime: ResMut<ReelRuntime>,
    mut meshes: ResMut<Assets<Mesh>>,
    materials: MaterialsOfAll,
    mut players: Query<(Entity, &mut ReelInstance, Option<&ReelMaterials>)>,
) {
    for (entity, mut instance, own) in &mut players {
        if instance.entities.root.is_some() {
            continue;
        }
        let Some(shown) = runtime.player.frame(instance.id) else { continue };
        let view = shown.view();
        let created = instance.create_meshes(&view, &mut runtime, &mut meshes);
        instance.entities = materials.spawner(&mut commands, own).spawn(entity, &view, &instance);
        commands.trigger(ReelReady { entity });
        if let Err(error) = created {
            fail(&mut commands, entity, &error);
        }
    }
}

/// Spawns the entities of copies, and despawns those of copies whose player shows others by now, or none.
pub(crate) fn spawn_copies(
    mut commands: Commands,
    runtime: Res<ReelRuntime>,
    materials: MaterialsOfAll,
    players: Query<(&ReelInstance, Option<&ReelMaterials>)>,
    mut copies: Query<(Entity, &mut ReelCopy, Option<&ReelMaterials>)>,
) {
    for (entity, mut copy, own) in &mut copies {
        let player = players.get(copy.player()).ok();
        let root = player.and_then(|(instance, _)| instance.entities.root);
        if copy.copied == root {
            continue;
        }
        copy.entities.despawn(&mut commands);
        copy.copied = None;
        let Some((instance, of_player)) = player.filter(|_| root.is_some()) else { continue };
        let Some(shown) = runtime.player.frame(instance.id) else { continue };
        let mut spawner = materials.spawner(&mut commands, own.or(of_player));
        copy.entities = spawner.spawn(entity, &shown.view(), instance);
        copy.copied = root;
    }
}

/// The nodes of a file at a moment.
struct NodeStates {
    /// The transforms of the nodes that move.
    moved: Vec<(usize, Transform)>,
    /// By node, `true` if its mesh is visible.
    visible: Vec<bool>,
    /// The lenses of cameras that change.
    lenses: Vec<(usize, Projection)>,
}

impl NodeStates {
    fn new(view: &FrameView<'_>, instance: &ReelInstance) -> NodeStates {
        let description = view.reel().description();
        let nodes = description.nodes.iter().enumerate();
        let moved = nodes.filter(|(_, node)| node.animated);
        let mut visible: Vec<bool> = (0..description.nodes.len()).map(|node| view.visible(node)).collect();
        for shown in instance.meshes.iter().filter(|shown| shown.is_empty) {
            shown.nodes.iter().for_each(|node| visible[*node] = false);
        }
        let cameras = instance.cameras.iter().enumerate().filter(|(_, camera)| camera.is_animated());
        let lens =
            |camera: &meshreel::Camera| projection(&camera.lens(view.pair()), metres(description.unit));
        NodeStates {
            moved: moved.map(|(number, _)| (number, transform(&view.local(number)))).collect(),
            visible,
            lenses: cameras.map(|(number, camera)| (number, lens(camera))).collect(),
        }
    }
}

/// The components of the entities of files.
#[derive(SystemParam)]
pub(crate) struct Parts<'w, 's> {
    nodes: Query<'w, 's, &'static mut Transform, With<ReelNode>>,
    visibilities: Query<'w, 's, &'static mut Visibility>,
    projections: Query<'w, 's, &'static mut Projection>,
    meshes: Query<'w, 's, &'static mut Mesh3d>,
}

impl Parts<'_, '_> {
    fn show(&mut self, entities: &Entities, states: &NodeStates, meshes: &[ShownMesh]) {
        for (number, place) in &states.moved {
            if let Ok(mut own) = self.nodes.get_mut(entities.nodes[*number]) {
                own.set_if_neq(*place);
            }
        }
        for surface in &entities.surfaces {
            if let Ok(mut own) = self.visibilities.get_mut(surface.entity) {
                let visible = states.visible[surface.node];
                own.set_if_neq(if visible { Visibility::Inherited } else { Visibility::Hidden });
            }
            let shown = &meshes[surface.mesh];
            if shown.lod_levels.len() > 1
                && let Ok(mut own) = self.meshes.get_mut(surface.entity)
                && let Some(handle) = shown.mesh_of(surface)
                && own.0 != *handle
            {
                own.0 = handle.clone();
            }
        }
        for (number, lens) in &states.lenses {
            if let Ok(mut own) = self.projections.get_mut(entities.cameras[*number]) {
                *own = lens.clone();
            }
        }
    }
}

/// Moves nodes, and writes the meshes that have changed or gives them to the card.
pub(crate) fn show_frames(
    mut commands: Commands,
    mut runtime: ResMut<ReelRuntime>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut card: Option<ResMut<CardFrames>>,
    mut players: Query<(Entity, &mut ReelInstance)>,
    copies: Query<&ReelCopy>,
    mut parts: Parts,
) {
    for (file, error) in card.iter().flat_map(|card| card.take_failed()) {
        warn!("{error}: vertices are computed on the CPU");
        runtime.not_on_card.push(file);
    }
    let mut states_of = HashMap::new();
    for (entity, mut instance) in &mut players {
        let Some(root) = instance.entities.root else { continue };
        let Some(shown) = runtime.player.frame(instance.id) else { continue };
        let view = shown.view();
        if let Err(error) = write_meshes(&mut instance, &view, &mut runtime, &mut meshes) {
            fail(&mut commands, entity, &error);
        }
        let states = NodeStates::new(&view, &instance);
        parts.show(&instance.entities, &states, &instance.meshes);
        states_of.insert(root, (states, entity));
        if let Some(card) = &mut card
            && runtime.is_on_card(instance.file)
            && !instance.on_card.is_empty()
        {
            let (frames, meshes) = (shown.clone(), instance.on_card.clone());
            card.frames.push(CardFrame { instance: instance.id, frames, meshes });
        }
    }
    for copy in &copies {
        if let Some((states, player)) = copy.copied.and_then(|root| states_of.get(&root))
            && let Ok((_, instance)) = players.get(*player)
        {
            parts.show(&copy.entities, states, &instance.meshes);
        }
    }
}

/// Writes the meshes that show another moment than before, and creates those of LOD levels that are shown for
/// the first time.
fn write_meshes(
    instance: &mut ReelInstance,
    view: &FrameView<'_>,
    runtime: &mut ReelRuntime,
    meshes: &mut Assets<Mesh>,
) -> Result<(), Error> {
    let (file, on_card) = (instance.file, runtime.is_on_card(instance.file));
    let mut has_new_level = false;
    for shown in &mut instance.meshes {
        let Some(mesh) = mesh_of(view, &shown.nodes) else { continue };
        let moment = (mesh.frames(), mesh.blend().to_bits());
        let is_written = shown.changes && !(on_card && shown.is_computable);
        let mut is_read = false;
        for (number, level) in shown.lod_levels.iter_mut().enumerate() {
            if shown.levels_in_use >> number & 1 == 0 {
                continue;
            }
            let Some(level) = level else {
                *level = Some(ShownLevel::create(file, (&mesh, number), runtime, meshes)?);
                (has_new_level, is_read) = (true, true);
                continue;
            };
            if !is_written || level.moment == moment {
                continue;
            }
            level.moment = moment;
            if !std::mem::replace(&mut is_read, true) {
                runtime.vertices.read(&mesh)?;
                shown.is_empty = runtime.vertices.is_empty();
            }
            for (part, handle) in &level.parts {
                if let Some(mut out) = meshes.get_mut(handle) {
                    runtime.vertices.write(&mesh, part, &mut out);
                }
            }
        }
    }
    if has_new_level {
        instance.on_card = card_meshes(&instance.meshes);
    }
    Ok(())
}
