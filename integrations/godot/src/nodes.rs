//! The nodes that show a file: one for each node of its hierarchy, with its meshes and cameras.

use crate::mesh::{FindMaterial, ShownMesh};
use crate::model::lens::{Projection, camera_values};
use crate::model::tree::{basis_columns, mesh_frame, mesh_nodes, node_name, tree_nodes, unit_metres};
use crate::model::vertices::Vertices;
use godot::classes::node::PhysicsInterpolationMode;
use godot::classes::{Camera3D, MeshInstance3D};
use godot::prelude::*;
use meshreel::{Camera, FrameView};

/// The nodes of a file.
pub(crate) struct FileNodes {
    /// The node above all others, which scales to metres.
    root: Gd<Node3D>,
    nodes: Vec<Gd<Node3D>>,
    /// The numbers of the nodes that move.
    moving: Vec<usize>,
    /// The meshes, each with its instances in the order of its nodes.
    pub(crate) meshes: Vec<(ShownMesh, Vec<Gd<MeshInstance3D>>)>,
    cameras: Vec<(Camera, Gd<Camera3D>)>,
    /// The metres of the file's unit.
    pub(crate) metres: f32,
}

impl FileNodes {
    /// Creates the nodes of a file as they are at a moment. What cannot be decoded is left out, and returned
    /// as errors.
    pub(crate) fn new(
        view: &FrameView<'_>,
        vertices: &mut Vertices,
        find: &FindMaterial<'_>,
    ) -> (FileNodes, Vec<String>) {
        let (description, mut errors) = (view.reel().description(), Vec::new());
        let metres = unit_metres(description.unit);
        let mut root = Node3D::new_alloc();
        root.set_name("Reel");
        root.set_scale(Vector3::splat(metres));
        // Frames are interpolated already, and not in the physics' ticks.
        root.set_physics_interpolation_mode(PhysicsInterpolationMode::OFF);
        let mut out = FileNodes {
            root,
            nodes: Vec::new(),
            moving: Vec::new(),
            meshes: Vec::new(),
            cameras: Vec::new(),
            metres,
        };
        for (number, node) in tree_nodes(description).into_iter().enumerate() {
            let mut own = Node3D::new_alloc();
            own.set_name(&node.name);
            own.set_transform(transform(&view.local(number)));
            // Parents come before their children.
            let parent = node.parent.and_then(|parent| out.nodes.get_mut(parent));
            parent.unwrap_or(&mut out.root).add_child(&own);
            out.nodes.push(own);
            if node.moves {
                out.moving.push(number);
            }
        }
        for own in mesh_nodes(description) {
            let Some(mesh) = mesh_frame(view, &own.nodes) else { continue };
            match ShownMesh::new(own, &mesh, vertices, find) {
                Ok(shown) => out.add_mesh(shown, view),
                Err(error) => errors.push(error.to_string()),
            }
        }
        match view.reel().cameras() {
            Ok(cameras) => cameras.into_iter().for_each(|camera| out.add_camera(camera, view)),
            Err(error) => errors.push(error.to_string()),
        }
        (out, errors)
    }

    fn add_mesh(&mut self, shown: ShownMesh, view: &FrameView<'_>) {
        let mut instances = Vec::new();
        for node in &shown.mesh_nodes.nodes {
            let mut instance = MeshInstance3D::new_alloc();
            instance.set_name("Mesh");
            instance.set_mesh(&shown.array_mesh);
            instance.set_visible(view.visible(*node) && !shown.is_empty);
            self.nodes[*node].add_child_ex(&instance).force_readable_name(true).done();
            instances.push(instance);
        }
        self.meshes.push((shown, instances));
    }

    fn add_camera(&mut self, camera: Camera, view: &FrameView<'_>) {
        let Some(node) = self.nodes.get_mut(camera.node()) else { return };
        let mut own = Camera3D::new_alloc();
        own.set_name(&node_name(camera.path()));
        // A camera's view is not scaled.
        own.set_scale(Vector3::splat(1.0 / self.metres));
        show_camera(&mut own, &camera, view, self.metres);
        node.add_child_ex(&own).force_readable_name(true).done();
        self.cameras.push((camera, own));
    }

    /// Returns the node above all others.
    pub(crate) fn root(&self) -> &Gd<Node3D> {
        &self.root
    }

    /// Shows or hides all nodes.
    pub(crate) fn show_root(&mut self, visible: bool) {
        if self.root.is_instance_valid() && self.root.is_visible() != visible {
            self.root.set_visible(visible);
        }
    }

    /// Returns a node of the file by its number.
    pub(crate) fn node(&self, number: usize) -> Option<Gd<Node3D>> {
        self.nodes.get(number).filter(|node| node.is_instance_valid()).cloned()
    }

    /// Returns the cameras.
    pub(crate) fn cameras(&self) -> impl Iterator<Item = &Gd<Camera3D>> {
        self.cameras.iter().map(|(_, camera)| camera).filter(|camera| camera.is_instance_valid())
    }

    /// Shows a moment. Nodes that the game has freed are passed over. What cannot be decoded stays as it was,
    /// and is returned as errors.
    pub(crate) fn show(
        &mut self,
        view: &FrameView<'_>,
        vertices: &mut Vertices,
        find: &FindMaterial<'_>,
    ) -> Vec<String> {
        let mut errors = Vec::new();
        for number in &self.moving {
            let node = &mut self.nodes[*number];
            if node.is_instance_valid() {
                node.set_transform(transform(&view.local(*number)));
            }
        }
        for (shown, instances) in &mut self.meshes {
            // One that is hidden is written when it is shown again.
            let is_shown = shown.mesh_nodes.nodes.iter().any(|node| view.visible(*node));
            if is_shown
                && let Some(mesh) = mesh_frame(view, &shown.mesh_nodes.nodes)
                && let Err(error) = shown.update(&mesh, vertices, find)
            {
                errors.push(error.to_string());
            }
            for (node, instance) in shown.mesh_nodes.nodes.iter().zip(instances) {
                let visible = view.visible(*node) && !shown.is_empty;
                if instance.is_instance_valid() && instance.is_visible() != visible {
                    instance.set_visible(visible);
                }
            }
        }
        for (camera, own) in self.cameras.iter_mut().filter(|(camera, _)| camera.is_animated()) {
            if own.is_instance_valid() {
                show_camera(own, camera, view, self.metres);
            }
        }
        errors
    }

    /// Gives all surfaces their materials.
    pub(crate) fn set_materials(&mut self, find: &FindMaterial<'_>) {
        self.meshes.iter_mut().for_each(|(shown, _)| shown.set_materials(find));
    }

    /// Frees all nodes.
    pub(crate) fn free(mut self) {
        if self.root.is_instance_valid() {
            // They are freed at the end of the frame; until then, others may need the name.
            self.root.set_name("Freed");
            self.root.queue_free();
        }
    }
}

fn show_camera(own: &mut Gd<Camera3D>, camera: &Camera, view: &FrameView<'_>, metres: f32) {
    let values = camera_values(&camera.lens(view.pair()), metres);
    let [near, far] = values.clipping;
    match values.projection {
        Projection::Perspective(angle) => own.set_perspective(angle, near, far),
        Projection::Orthogonal(size) => own.set_orthogonal(size, near, far),
    }
}

/// Returns a transform as the engine's.
pub(crate) fn transform(of: &meshreel::Transform) -> Transform3D {
    let [x, y, z] = basis_columns(of).map(|[x, y, z]| Vector3::new(x, y, z));
    let [tx, ty, tz] = of.translation;
    Transform3D::new(Basis::from_cols(x, y, z), Vector3::new(tx, ty, tz))
}
