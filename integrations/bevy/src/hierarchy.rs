//! The entities of a file: its nodes, their surfaces and cameras.

use crate::asset::Reel;
use crate::camera::{ReelCamera, projection};
use crate::card::{CardMesh, can_compute};
use crate::materials::{PlainMaterial, ReelMaterials};
use crate::runtime::{PartMeshes, ReelRuntime};
use crate::surface::{SurfacePart, parts};
use bevy::camera::primitives::Aabb;
use bevy::camera::visibility::NoAutoAabb;
use bevy::prelude::*;
use meshreel::{Camera, Error, FileId, FrameView, InstanceId, MeshFrame};
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

/// The instance of a [`ReelPlayer`](crate::ReelPlayer): the clock's state, and the entities of the file.
/// Inserted when its file is opened.
#[derive(Component, Debug)]
pub struct ReelInstance {
    pub(crate) id: InstanceId,
    pub(crate) file: FileId,
    pub(crate) reel: AssetId<Reel>,
    pub(crate) has_ended: bool,
    pub(crate) meshes: Vec<ShownMesh>,
    /// The parts of those meshes that the card computes.
    pub(crate) on_card: Arc<[CardMesh]>,
    pub(crate) cameras: Vec<Camera>,
    pub(crate) entities: Entities,
}

/// Shows what a [`ReelPlayer`](crate::ReelPlayer) shows, at the place of its own entity. Nothing is decoded
/// for it, and meshes are shared, so that Bevy draws any number of copies in a few draws.
#[derive(Component, Debug)]
#[require(Transform, Visibility)]
pub struct ReelCopy {
    player: Entity,
    /// The uppermost entity of the player, when it was copied.
    pub(crate) copied: Option<Entity>,
    pub(crate) entities: Entities,
}

impl ReelCopy {
    /// Creates a copy of what the player of another entity shows.
    pub fn new(player: Entity) -> ReelCopy {
        ReelCopy { player, copied: None, entities: Entities::default() }
    }

    /// Returns the entity of the player.
    pub fn player(&self) -> Entity {
        self.player
    }

    /// Returns the entity of a node of the file; `None` before the first frame, and if there is no such node.
    pub fn node(&self, number: usize) -> Option<Entity> {
        self.entities.nodes.get(number).copied()
    }
}

/// The entities that show a file.
#[derive(Debug, Default)]
pub(crate) struct Entities {
    /// The entity above the nodes; `None` before the first frame.
    pub root: Option<Entity>,
    pub nodes: Vec<Entity>,
    pub surfaces: Vec<SpawnedSurface>,
    pub cameras: Vec<Entity>,
}

/// A surface as it was spawned.
#[derive(Debug)]
pub(crate) struct SpawnedSurface {
    pub entity: Entity,
    pub node: usize,
    /// Its index in [`ReelInstance::meshes`], and that of its part.
    pub mesh: usize,
    pub part: usize,
    /// The LOD level that it shows.
    pub level: usize,
}

impl Entities {
    pub fn despawn(&mut self, commands: &mut Commands) {
        if let Some(root) = std::mem::take(self).root {
            commands.entity(root).try_despawn();
        }
    }
}

/// A mesh of a file, with the meshes of Bevy that show it.
#[derive(Debug)]
pub(crate) struct ShownMesh {
    /// The number of the mesh in the file.
    pub mesh: usize,
    /// The nodes that show it.
    pub nodes: Vec<usize>,
    /// Its LOD levels, of which the first is always there. The others are created when they are first shown.
    pub lod_levels: Vec<Option<ShownLevel>>,
    /// The errors of the levels after the first, in object units.
    pub errors: Vec<f32>,
    /// One bit for each level that a surface shows, now and in the frame before.
    pub levels_in_use: u8,
    pub levels_before: u8,
    /// `true` if its vertices change.
    pub changes: bool,
    /// `true` if the card can compute it.
    pub is_computable: bool,
    /// `true` if it has no vertices at this moment.
    pub is_empty: bool,
}

/// A LOD level of a mesh.
#[derive(Debug)]
pub(crate) struct ShownLevel {
    pub parts: PartMeshes,
    /// The frames around the moment that it shows, and the bits of the blend weight.
    pub moment: ([u32; 2], u32),
}

impl ShownLevel {
    /// Creates the meshes of a level, as they are at a moment; those that do not change are shared.
    pub fn create(
        file: FileId,
        (mesh, level): (&MeshFrame<'_>, usize),
        runtime: &mut ReelRuntime,
        meshes: &mut Assets<Mesh>,
    ) -> Result<ShownLevel, Error> {
        let moment = (mesh.frames(), mesh.blend().to_bits());
        let key = (file, mesh.number(), level);
        if let Some(shared) = runtime.shared.get(&key) {
            return Ok(ShownLevel { parts: shared.clone(), moment });
        }
        runtime.vertices.read(mesh)?;
        let build = |part: SurfacePart| {
            let handle = meshes.add(runtime.vertices.build((mesh, level), &part));
            (part, handle)
        };
        let parts: PartMeshes = parts(mesh).into_iter().map(build).collect();
        if !changes(mesh) {
            runtime.shared.insert(key, parts.clone());
        }
        Ok(ShownLevel { parts, moment })
    }
}

impl ShownMesh {
    /// Returns the meshes of the first level.
    fn first_level(&self) -> &PartMeshes {
        const NO_PARTS: &PartMeshes = &Vec::new();
        self.lod_levels.first().and_then(Option::as_ref).map_or(NO_PARTS, |level| &level.parts)
    }

    /// Returns the mesh that a surface shows.
    pub fn mesh_of(&self, surface: &SpawnedSurface) -> Option<&Handle<Mesh>> {
        let level = self.lod_levels.get(surface.level)?.as_ref()?;
        level.parts.get(surface.part).map(|(_, handle)| handle)
    }
}

/// `true` if the vertices of a mesh change.
fn changes(mesh: &MeshFrame<'_>) -> bool {
    mesh.is_fluid() || mesh.record().streams.iter().any(|stream| stream.animated)
}

impl ReelInstance {
    pub(crate) fn new(id: InstanceId, file: FileId, reel: AssetId<Reel>) -> ReelInstance {
        ReelInstance {
            id,
            file,
            reel,
            has_ended: false,
            meshes: Vec::new(),
            on_card: Arc::default(),
            cameras: Vec::new(),
            entities: Entities::default(),
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
        self.entities.nodes.get(number).copied()
    }

    /// Despawns its entities.
    pub(crate) fn despawn(&mut self, commands: &mut Commands) {
        self.entities.despawn(commands);
        *self = ReelInstance::new(self.id, self.file, self.reel);
    }

    /// Creates the meshes of a file as they are at a moment. What cannot be decoded is left out; the first
    /// error is returned.
    pub(crate) fn create_meshes(
        &mut self,
        view: &FrameView<'_>,
        runtime: &mut ReelRuntime,
        meshes: &mut Assets<Mesh>,
    ) -> Result<(), Error> {
        let description = view.reel().description();
        let mut first = Ok(());
        for number in 0..description.meshes.len() {
            let nodes = description.nodes.iter().enumerate();
            let nodes = nodes.filter(|(_, node)| node.mesh == Some(number as u32)).map(|(node, _)| node);
            let nodes: Vec<usize> = nodes.collect();
            let Some(mesh) = mesh_of(view, &nodes) else { continue };
            match ShownLevel::create(self.file, (&mesh, 0), runtime, meshes) {
                Ok(first) => self.meshes.push(ShownMesh {
                    mesh: number,
                    nodes,
                    lod_levels: [Some(first)]
                        .into_iter()
                        .chain((1..mesh.lod_count()).map(|_| None))
                        .collect(),
                    errors: (1..mesh.lod_count()).map(|level| mesh.lod(level).error).collect(),
                    levels_in_use: 1,
                    levels_before: 1,
                    changes: changes(&mesh),
                    is_computable: changes(&mesh) && can_compute(&mesh),
                    is_empty: mesh.vertex_count() == 0,
                }),
                Err(error) => first = first.and(Err(error)),
            }
        }
        self.on_card = card_meshes(&self.meshes);
        match view.reel().cameras() {
            Ok(cameras) => self.cameras = cameras,
            Err(error) => first = first.and(Err(error)),
        }
        first
    }
}

/// Spawns the entities of a file.
pub(crate) struct Spawner<'a, 'w, 's> {
    pub commands: &'a mut Commands<'w, 's>,
    pub materials: Option<&'a ReelMaterials>,
    pub plain: &'a PlainMaterial,
}

impl Spawner<'_, '_, '_> {
    /// Spawns all nodes, surfaces and cameras of a file below an entity, as they are at a moment.
    pub fn spawn(&mut self, entity: Entity, view: &FrameView<'_>, instance: &ReelInstance) -> Entities {
        let description = view.reel().description();
        let scale = Transform::from_scale(Vec3::splat(metres(description.unit)));
        let root = self.commands.spawn((scale, Visibility::Inherited, ChildOf(entity))).id();
        let mut out = Entities { root: Some(root), ..Entities::default() };
        for (number, node) in description.nodes.iter().enumerate() {
            let parent = node.parent.map_or(root, |parent| out.nodes[parent as usize]);
            let name = Name::new(last_name(&node.path).to_owned());
            let place = transform(&view.local(number));
            let spawned = self.commands.spawn((ReelNode { number }, name, place, ChildOf(parent))).id();
            out.nodes.push(spawned);
        }
        for (index, shown) in instance.meshes.iter().enumerate() {
            for &node in &shown.nodes {
                let Some(mesh) = view.mesh(node) else { continue };
                for (part, own) in shown.first_level().iter().enumerate() {
                    let entity = self.spawn_surface(out.nodes[node], (node, &mesh), own);
                    out.surfaces.push(SpawnedSurface { entity, node, mesh: index, part, level: 0 });
                }
            }
        }
        for (number, camera) in instance.cameras.iter().enumerate() {
            let name = Name::new(last_name(camera.path()).to_owned());
            // A camera's view is not scaled.
            let place = Transform::from_scale(Vec3::splat(1.0 / metres(description.unit)));
            let lens = projection(&camera.lens(view.pair()), metres(description.unit));
            let node = ChildOf(out.nodes[camera.node()]);
            out.cameras.push(self.commands.spawn((ReelCamera { number }, name, place, lens, node)).id());
        }
        out
    }

    fn spawn_surface(
        &mut self,
        parent: Entity,
        (node, mesh): (usize, &MeshFrame<'_>),
        (part, handle): &(SurfacePart, Handle<Mesh>),
    ) -> Entity {
        let record = mesh.record();
        let material = part.material.map_or("", |material| &record.materials[material].name);
        let found = self.materials.and_then(|materials| materials.find(material));
        // Of all frames, so that it is not computed in each.
        let [x, y, z, x2, y2, z2] = mesh.bounds();
        let bounds = Aabb::from_min_max(Vec3::new(x, y, z), Vec3::new(x2, y2, z2));
        let surface = ReelSurface { node, mesh: mesh.number(), material: material.to_owned() };
        let material = MeshMaterial3d(found.unwrap_or(&self.plain.0).clone());
        let visuals = (Mesh3d(handle.clone()), material, bounds, NoAutoAabb);
        self.commands.spawn((surface, visuals, Visibility::Hidden, ChildOf(parent))).id()
    }
}

/// Returns the parts of all levels in use that the card can compute.
pub(crate) fn card_meshes(meshes: &[ShownMesh]) -> Arc<[CardMesh]> {
    let part = |mesh: usize, (part, handle): &(SurfacePart, Handle<Mesh>)| {
        let vertices = part.vertices.clone()?;
        let vertices = vertices.start as u32..vertices.end as u32;
        Some(CardMesh { mesh, vertices, target: handle.id() })
    };
    let of_mesh = |shown: &ShownMesh| {
        let levels = shown.lod_levels.iter().enumerate();
        let used = levels.filter(|(level, _)| shown.levels_in_use >> level & 1 != 0);
        let parts = used.filter_map(|(_, level)| level.as_ref()).flat_map(|level| &level.parts);
        parts.filter_map(|own| part(shown.mesh, own)).collect::<Vec<CardMesh>>()
    };
    meshes.iter().filter(|shown| shown.is_computable).flat_map(of_mesh).collect()
}

/// Returns a mesh as the first of its nodes shows it that blends, or else the first that is visible, or any:
/// nodes that are about to vanish do not blend.
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
pub(crate) fn metres(unit: u8) -> f32 {
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
