//! The entities of a file: its nodes, their surfaces and cameras.

use crate::asset::Reel;
use crate::camera::{ReelCamera, projection};
use crate::card::{CardMesh, can_compute};
use crate::materials::{PlainMaterial, ReelMaterials};
use crate::runtime::{PartMeshes, ReelRuntime};
use crate::surface::{SurfacePart, Vertices, parts};
use bevy::camera::primitives::Aabb;
use bevy::camera::visibility::NoAutoAabb;
use bevy::prelude::*;
use meshreel::{Camera, Error, FileId, FrameView, InstanceId, MeshFrame, ShownFrames};
use std::path::Path;
use std::sync::Arc;

/// A node of a file; a child of the entity that shows its parent.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[require(Transform, Visibility)]
pub struct ReelNode {
    /// The number of the node in the file.
    pub number: usize,
}

/// A mesh of a node, or the part of it that has one material; a child of the node's entity.
#[derive(Component, Clone, Debug, PartialEq, Eq)]
#[require(Transform, Visibility)]
pub struct ReelSurface {
    /// The number of the node in the file.
    pub node: usize,
    /// The number of the mesh in the file.
    pub mesh: usize,
    /// The name of the material in the source; empty for faces without one, and for points and curves.
    pub material: String,
}

/// What a [`ReelPlayer`](crate::ReelPlayer) shows: the clock's state, and the entities of the file. Inserted when
/// its file is opened.
#[derive(Component, Debug)]
pub struct ReelInstance {
    pub(crate) id: InstanceId,
    pub(crate) file: FileId,
    pub(crate) reel: AssetId<Reel>,
    pub(crate) has_ended: bool,
    pub(crate) nodes: Vec<Entity>,
    pub(crate) meshes: Vec<ShownMesh>,
    /// The parts of those meshes that the card computes.
    pub(crate) on_card: Arc<[CardMesh]>,
    pub(crate) surfaces: Vec<(Entity, usize)>,
    pub(crate) cameras: Vec<(Entity, Camera)>,
    /// The entity above the nodes; `None` before the first frame.
    pub(crate) root: Option<Entity>,
    /// The metres of the file's unit.
    pub(crate) metres: f32,
}

/// A mesh that changes, with the meshes of Bevy that are written.
#[derive(Debug)]
pub(crate) struct ShownMesh {
    /// The nodes that show it.
    pub nodes: Vec<usize>,
    pub parts: PartMeshes,
    /// The frames around the moment that it shows, and the bits of the blend weight.
    pub moment: ([u32; 2], u32),
    /// `true` if it has no vertices at this moment.
    pub is_empty: bool,
    /// `true` if the card can compute it.
    pub is_computable: bool,
}

impl ReelInstance {
    pub(crate) fn new(id: InstanceId, file: FileId, reel: AssetId<Reel>) -> ReelInstance {
        ReelInstance {
            id,
            file,
            reel,
            has_ended: false,
            nodes: Vec::new(),
            meshes: Vec::new(),
            on_card: Arc::default(),
            surfaces: Vec::new(),
            cameras: Vec::new(),
            root: None,
            metres: 1.0,
        }
    }

    /// Returns its number in [`ReelRuntime::player`]: for its clock, statistics and priority.
    pub fn id(&self) -> InstanceId {
        self.id
    }

    /// Returns the player's number of its file.
    pub fn file(&self) -> FileId {
        self.file
    }

    /// `true` if it has played to the end, and does not repeat.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Returns the entity of a node of the file; `None` before the first frame, and if there is no such node.
    pub fn node(&self, number: usize) -> Option<Entity> {
        self.nodes.get(number).copied()
    }

    /// Despawns its entities.
    pub(crate) fn despawn(&mut self, commands: &mut Commands) {
        if let Some(root) = self.root {
            commands.entity(root).try_despawn();
        }
        *self = ReelInstance::new(self.id, self.file, self.reel);
    }
}

/// Spawns the entities of a file below an entity.
pub(crate) struct Spawner<'a, 'w, 's> {
    pub commands: &'a mut Commands<'w, 's>,
    pub runtime: &'a mut ReelRuntime,
    pub meshes: &'a mut Assets<Mesh>,
    pub materials: Option<&'a ReelMaterials>,
    pub plain: &'a PlainMaterial,
}

impl Spawner<'_, '_, '_> {
    /// Spawns all nodes as they are at a moment. What cannot be decoded is left out; the first error is
    /// returned.
    pub fn spawn(
        &mut self,
        entity: Entity,
        instance: &mut ReelInstance,
        shown: &ShownFrames,
    ) -> Option<Error> {
        let view = shown.view();
        let description = view.reel().description();
        instance.metres = metres(description.unit);
        let scale = Transform::from_scale(Vec3::splat(instance.metres));
        let root = self.commands.spawn((scale, Visibility::Inherited, ChildOf(entity))).id();
        instance.root = Some(root);
        for (number, node) in description.nodes.iter().enumerate() {
            let parent = node.parent.map_or(root, |parent| instance.nodes[parent as usize]);
            let name = Name::new(last_name(&node.path).to_owned());
            let place = transform(&view.local(number));
            let spawned = self.commands.spawn((ReelNode { number }, name, place, ChildOf(parent))).id();
            instance.nodes.push(spawned);
        }
        let mut error = None;
        for number in 0..description.meshes.len() {
            let nodes = description.nodes.iter().enumerate();
            let nodes = nodes.filter(|(_, node)| node.mesh == Some(number as u32)).map(|(node, _)| node);
            let nodes: Vec<usize> = nodes.collect();
            let Some(mesh) = mesh_of(&view, &nodes) else { continue };
            if let Err(failed) = self.spawn_mesh(instance, &view, (mesh, nodes)) {
                error.get_or_insert(failed);
            }
        }
        instance.on_card = card_meshes(instance, &view);
        match view.reel().cameras() {
            Ok(cameras) => self.spawn_cameras(instance, &view, cameras),
            Err(failed) => drop(error.get_or_insert(failed)),
        }
        error
    }

    fn spawn_mesh(
        &mut self,
        instance: &mut ReelInstance,
        view: &FrameView<'_>,
        (mesh, nodes): (MeshFrame<'_>, Vec<usize>),
    ) -> Result<(), Error> {
        let key = (instance.file, mesh.number());
        let changes = mesh.is_fluid() || mesh.record().streams.iter().any(|stream| stream.animated);
        let parts = match self.runtime.shared.get(&key) {
            Some(parts) if !changes => parts.clone(),
            _ => {
                let vertices = &mut self.runtime.vertices;
                vertices.read(&mesh)?;
                let parts = build_parts(&mesh, vertices, self.meshes);
                if !changes {
                    self.runtime.shared.insert(key, parts.clone());
                }
                parts
            }
        };
        for &node in &nodes {
            for (part, handle) in &parts {
                let surface = self.spawn_surface(instance.nodes[node], (node, &mesh), (part, handle));
                let visible = if view.visible(node) { Visibility::Inherited } else { Visibility::Hidden };
                self.commands.entity(surface).insert(visible);
                instance.surfaces.push((surface, node));
            }
        }
        if changes {
            let moment = (mesh.frames(), mesh.blend().to_bits());
            let (is_empty, is_computable) = (mesh.vertex_count() == 0, can_compute(&mesh));
            instance.meshes.push(ShownMesh { nodes, parts, moment, is_empty, is_computable });
        }
        Ok(())
    }

    fn spawn_surface(
        &mut self,
        parent: Entity,
        (node, mesh): (usize, &MeshFrame<'_>),
        (part, handle): (&SurfacePart, &Handle<Mesh>),
    ) -> Entity {
        let record = mesh.record();
        let material = part.material.map_or("", |material| &record.materials[material].name);
        let found = self.materials.and_then(|materials| materials.find(material));
        // Of all frames, so that it is not computed in each.
        let [x, y, z, x2, y2, z2] = mesh.bounds();
        let bounds = Aabb::from_min_max(Vec3::new(x, y, z), Vec3::new(x2, y2, z2));
        let surface = ReelSurface { node, mesh: mesh.number(), material: material.to_owned() };
        let material = MeshMaterial3d(found.unwrap_or(&self.plain.0).clone());
        let drawn = (Mesh3d(handle.clone()), material, bounds, NoAutoAabb);
        self.commands.spawn((surface, drawn, ChildOf(parent))).id()
    }

    fn spawn_cameras(&mut self, instance: &mut ReelInstance, view: &FrameView<'_>, cameras: Vec<Camera>) {
        for (number, camera) in cameras.into_iter().enumerate() {
            let Some(node) = instance.node(camera.node()) else { continue };
            let name = Name::new(last_name(camera.path()).to_owned());
            // A camera's view is not scaled.
            let place = Transform::from_scale(Vec3::splat(1.0 / instance.metres));
            let lens = projection(&camera.lens(view.pair()), instance.metres);
            let spawned = self.commands.spawn((ReelCamera { number }, name, place, lens, ChildOf(node)));
            instance.cameras.push((spawned.id(), camera));
        }
    }
}

/// Returns the parts of all meshes that the card can compute.
fn card_meshes(instance: &ReelInstance, view: &FrameView<'_>) -> Arc<[CardMesh]> {
    let description = view.reel().description();
    let part = |shown: &ShownMesh, (part, handle): &(SurfacePart, Handle<Mesh>)| {
        let mesh = description.nodes[*shown.nodes.first()?].mesh? as usize;
        let vertices = part.vertices.clone()?;
        let vertices = vertices.start as u32..vertices.end as u32;
        Some(CardMesh { mesh, vertices, target: handle.id() })
    };
    let computable = instance.meshes.iter().filter(|shown| shown.is_computable);
    computable.flat_map(|shown| shown.parts.iter().filter_map(move |p| part(shown, p))).collect()
}

/// Returns the meshes of all parts of a mesh.
fn build_parts(mesh: &MeshFrame<'_>, vertices: &Vertices, meshes: &mut Assets<Mesh>) -> PartMeshes {
    let build = |part: SurfacePart| {
        let handle = meshes.add(vertices.build(mesh, &part));
        (part, handle)
    };
    parts(mesh).into_iter().map(build).collect()
}

/// Returns a mesh as the first of its nodes shows it that blends, or else the first that is visible, or any: nodes
/// that are about to vanish do not blend.
pub(crate) fn mesh_of<'a>(view: &FrameView<'a>, nodes: &[usize]) -> Option<MeshFrame<'a>> {
    let visible = || nodes.iter().filter(|node| view.visible(**node)).filter_map(|node| view.mesh(*node));
    let blends = visible().find(MeshFrame::blends).or_else(|| visible().next());
    blends.or_else(|| view.mesh(*nodes.first()?))
}

/// Returns a transform as Bevy's.
pub(crate) fn transform(of: &meshreel::Transform) -> Transform {
    Transform {
        translation: Vec3::from_array(of.translation),
        rotation: Quat::from_array(of.rotation),
        scale: Vec3::from_array(of.scale),
    }
}

/// Returns the metres of a file's unit; 1 if it names none.
fn metres(unit: u8) -> f32 {
    match unit {
        2 => 0.01,
        3 => 0.001,
        4 => 0.0254,
        _ => 1.0,
    }
}

fn last_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
