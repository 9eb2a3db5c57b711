//! Writes what players show into entities and meshes, once a frame.

use crate::camera::projection;
use crate::card::{CardFrame, CardFrames};
use crate::event::ReelReady;
use crate::hierarchy::{ReelInstance, ReelNode, Spawner, mesh_of, transform};
use crate::materials::{DefaultReelMaterials, PlainMaterial, ReelMaterials};
use crate::plugin::fail;
use crate::runtime::ReelRuntime;
use bevy::camera::Projection;
use bevy::prelude::*;
use meshreel::{Error, FrameView};

/// Spawns the entities of players whose first frame is there.
pub(crate) fn spawn_hierarchies(
    mut commands: Commands,
    mut runtime: ResMut<ReelRuntime>,
    mut meshes: ResMut<Assets<Mesh>>,
    default_materials: Option<Res<DefaultReelMaterials>>,
    plain: Res<PlainMaterial>,
    mut players: Query<(Entity, &mut ReelInstance, Option<&ReelMaterials>)>,
) {
    for (entity, mut instance, materials) in &mut players {
        if instance.root.is_some() {
            continue;
        }
        let Some(shown) = runtime.player.frame(instance.id) else { continue };
        let mut spawner = Spawner {
            commands: &mut commands,
            runtime: &mut runtime,
            meshes: &mut meshes,
            materials: materials.or(default_materials.as_ref().map(|all| &all.0)),
            plain: &plain,
        };
        let error = spawner.spawn(entity, &mut instance, &shown);
        commands.trigger(ReelReady { entity });
        if let Some(error) = error {
            fail(&mut commands, entity, &error);
        }
    }
}

/// Moves the nodes, and writes the meshes that have changed.
pub(crate) fn show_frames(
    mut commands: Commands,
    mut runtime: ResMut<ReelRuntime>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut players: Query<(Entity, &mut ReelInstance)>,
    mut nodes: Query<&mut Transform, With<ReelNode>>,
    mut visibilities: Query<&mut Visibility>,
    mut projections: Query<&mut Projection>,
    mut card: Option<ResMut<CardFrames>>,
) {
    for (file, error) in card.iter().flat_map(|card| card.take_failed()) {
        warn!("{error}: vertices are computed on the CPU");
        runtime.not_on_card.push(file);
    }
    for (entity, mut instance) in &mut players {
        let Some(shown) = runtime.player.frame(instance.id).filter(|_| instance.root.is_some()) else {
            continue;
        };
        let view = shown.view();
        for (number, node) in view.reel().description().nodes.iter().enumerate() {
            if node.animated
                && let Ok(mut place) = nodes.get_mut(instance.nodes[number])
            {
                place.set_if_neq(transform(&view.local(number)));
            }
        }
        let written = write_meshes(&mut instance, &view, &mut runtime, &mut meshes);
        if let Err(error) = written {
            fail(&mut commands, entity, &error);
        }
        if let Some(card) = &mut card
            && runtime.is_on_card(instance.file)
            && !instance.on_card.is_empty()
        {
            let (frames, meshes) = (shown.clone(), instance.on_card.clone());
            card.frames.push(CardFrame { instance: instance.id, frames, meshes });
        }
        let empty = |node: usize| instance.meshes.iter().any(|m| m.is_empty && m.nodes.contains(&node));
        for (surface, node) in &instance.surfaces {
            let visible = view.visible(*node) && !empty(*node);
            if let Ok(mut visibility) = visibilities.get_mut(*surface) {
                visibility.set_if_neq(if visible { Visibility::Inherited } else { Visibility::Hidden });
            }
        }
        for (camera, lens) in instance.cameras.iter().filter(|(_, camera)| camera.is_animated()) {
            if let Ok(mut own) = projections.get_mut(*camera) {
                *own = projection(&lens.lens(view.pair()), instance.metres);
            }
        }
    }
}

/// Writes the meshes that show another moment than before.
fn write_meshes(
    instance: &mut ReelInstance,
    view: &FrameView<'_>,
    runtime: &mut ReelRuntime,
    meshes: &mut Assets<Mesh>,
) -> Result<(), Error> {
    let on_card = runtime.is_on_card(instance.file);
    for shown in instance.meshes.iter_mut().filter(|shown| !(on_card && shown.is_computable)) {
        let Some(mesh) = mesh_of(view, &shown.nodes) else { continue };
        let moment = (mesh.frames(), mesh.blend().to_bits());
        if moment == shown.moment {
            continue;
        }
        shown.moment = moment;
        runtime.vertices.read(&mesh)?;
        shown.is_empty = runtime.vertices.is_empty();
        for (part, handle) in &shown.parts {
            if let Some(mut out) = meshes.get_mut(handle) {
                runtime.vertices.write(&mesh, part, &mut out);
            }
        }
    }
    Ok(())
}
