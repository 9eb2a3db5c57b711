//! The node that shows many copies of what another node plays.

use crate::instance::ReelInstance3D;
use crate::model::tree::{matrix_rows, multiply_rows};
use crate::nodes::FileNodes;
use crate::runtime::{ReelRuntime, frame_number};
use godot::classes::multi_mesh::TransformFormat;
use godot::classes::node::{InternalMode, PhysicsInterpolationMode};
use godot::classes::notify::Node3DNotification;
use godot::classes::{INode3D, MultiMesh, MultiMeshInstance3D};
use godot::prelude::*;
use meshreel::FrameView;

/// The copies of a mesh at one node of the file.
struct CopiedMesh {
    /// Its number among the meshes that the other node shows, and the number of the node.
    mesh: usize,
    node: usize,
    instance: Gd<MultiMeshInstance3D>,
    multi_mesh: Gd<MultiMesh>,
    /// The transform of the node in metres that was written last.
    rows: Option<[f32; 12]>,
}

/// Shows copies of what a [ReelInstance3D] plays, for crowds: a mesh is decoded once and drawn as a
/// [MultiMesh].
///
/// The copies stand at `transforms`, relative to this node. The other node may be hidden, and its own place
/// does not matter.
#[derive(GodotClass)]
#[class(tool, init, base = Node3D)]
pub struct ReelCopies3D {
    /// The node that plays.
    #[export]
    #[var(set = set_source)]
    source: Option<Gd<ReelInstance3D>>,

    /// The places of the copies.
    #[export]
    #[var(set = set_transforms)]
    transforms: Array<Transform3D>,

    /// The places as rows of matrices.
    places: Vec<[f32; 12]>,
    meshes: Vec<CopiedMesh>,
    /// The number of times that the nodes of the file were created, when these copies were.
    build: Option<u64>,
    base: Base<Node3D>,
}

#[godot_api]
impl INode3D for ReelCopies3D {
    // Not by the virtual methods: a script that has these too would take their place.
    fn on_notification(&mut self, what: Node3DNotification) {
        match what {
            Node3DNotification::ENTER_TREE => self.base_mut().set_process_internal(true),
            Node3DNotification::EXIT_TREE => self.clear(),
            Node3DNotification::INTERNAL_PROCESS => self.advance(),
            _ => {}
        }
    }
}

#[godot_api]
impl ReelCopies3D {
    #[func]
    fn set_source(&mut self, source: Option<Gd<ReelInstance3D>>) {
        self.clear();
        self.source = source;
    }

    #[func]
    fn set_transforms(&mut self, transforms: Array<Transform3D>) {
        self.places = transforms.iter_shared().map(|place| rows(&place)).collect();
        self.transforms = transforms;
        self.meshes.iter_mut().for_each(|mesh| mesh.rows = None);
    }

    /// Returns the number of multimeshes that show the copies.
    #[func]
    fn get_multimesh_count(&self) -> i64 {
        self.meshes.len() as i64
    }
}

impl ReelCopies3D {
    /// Shows the copies as they are now.
    fn advance(&mut self) {
        // One that was freed must not be cloned.
        let Some(mut source) = self.source.as_ref().filter(|source| source.is_instance_valid()).cloned()
        else {
            return self.clear();
        };
        if self.base().is_visible_in_tree() {
            source.bind_mut().set_copied(frame_number());
        }
        let source = source.bind();
        let (Some(id), Some((nodes, build))) = (source.id(), source.file_nodes()) else {
            return self.clear();
        };
        if self.build != Some(build) {
            self.clear();
            self.create(nodes);
            self.build = Some(build);
        }
        let shown = ReelRuntime::with_library(|library| library.frame(id)).flatten();
        if let Some(shown) = shown {
            self.show(&shown.view(), nodes);
        }
    }

    fn clear(&mut self) {
        self.build = None;
        for mut mesh in self.meshes.drain(..) {
            if mesh.instance.is_instance_valid() {
                mesh.instance.queue_free();
            }
        }
    }

    /// Creates a multimesh for each mesh at each node.
    fn create(&mut self, nodes: &FileNodes) {
        for (mesh, (shown, _)) in nodes.meshes.iter().enumerate() {
            for node in &shown.mesh_nodes.nodes {
                let mut multi_mesh = MultiMesh::new_gd();
                multi_mesh.set_transform_format(TransformFormat::TRANSFORM_3D);
                multi_mesh.set_mesh(&shown.array_mesh);
                let mut instance = MultiMeshInstance3D::new_alloc();
                instance.set_multimesh(&multi_mesh);
                instance.set_physics_interpolation_mode(PhysicsInterpolationMode::OFF);
                self.base_mut().add_child_ex(&instance).internal(InternalMode::BACK).done();
                self.meshes.push(CopiedMesh { mesh, node: *node, instance, multi_mesh, rows: None });
            }
        }
    }

    /// Moves the copies to where they are at a moment. Those whose node does not move are not written again.
    fn show(&mut self, view: &FrameView<'_>, nodes: &FileNodes) {
        for own in self.meshes.iter_mut().filter(|own| own.instance.is_instance_valid()) {
            let is_empty = nodes.meshes.get(own.mesh).is_none_or(|(shown, _)| shown.is_empty);
            let visible = view.visible(own.node) && !is_empty;
            if own.instance.is_visible() != visible {
                own.instance.set_visible(visible);
            }
            let rows = matrix_rows(&view.world(own.node)).map(|value| value * nodes.metres);
            if own.rows != Some(rows) {
                own.rows = Some(rows);
                if own.multi_mesh.get_instance_count() as usize != self.places.len() {
                    own.multi_mesh.set_instance_count(self.places.len() as i32);
                }
                let products = self.places.iter().flat_map(|place| multiply_rows(place, &rows));
                let buffer: PackedFloat32Array = products.collect();
                if !buffer.is_empty() {
                    own.multi_mesh.set_buffer(&buffer);
                }
            }
        }
    }
}

/// Returns a transform as the rows of a matrix.
fn rows(place: &Transform3D) -> [f32; 12] {
    let [x, y, z] = place.basis.rows;
    let origin = place.origin;
    [x.x, x.y, x.z, origin.x, y.x, y.y, y.z, origin.y, z.x, z.y, z.z, origin.z]
}
