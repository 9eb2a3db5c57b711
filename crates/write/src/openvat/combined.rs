//! Combines all meshes of a scene into one, in world space, metres and glTF's axes, frame by frame.

use crate::vertices::{Corner, FirstFrame, MeshFrame, TrianglesBySet, normal_matrix, plan_runs};
use glam::{DMat4, DVec3};
use meshreel_scene::sample::World;
use meshreel_scene::{Error, MeshId, PlacedObject, Remark, Scene, Topology};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

/// A mesh that is placed at least once.
pub(super) struct MeshVertices {
    /// The corner that each vertex takes its values from.
    pub list: Vec<Corner>,
    /// Triangles of each face set.
    pub parts: TrianglesBySet,
    /// The values that do not move.
    pub first: FirstFrame,
}

/// A mesh at its place in the scene.
pub(super) struct PlacedMesh {
    placed: usize,
    /// The mesh.
    pub mesh: MeshId,
    /// Index of its first vertex in the combined mesh.
    pub first: usize,
    /// The centre of its bounds in the first frame, where it lies while it is hidden.
    pub centre: DVec3,
    /// `true` if it is visible in the frame that was evaluated last.
    pub visible: bool,
    /// `true` if its transform mirrors it in the first frame, which reverses its triangles.
    pub mirrored: bool,
}

/// The vertices of all placed meshes, at one frame.
pub(super) struct CombinedMesh<'a> {
    pub scene: &'a Scene,
    placed: &'a [PlacedObject],
    world: World<'a>,
    times: &'a [f64],
    scale: f64,
    /// The meshes.
    pub meshes: HashMap<MeshId, MeshVertices>,
    /// All placed meshes.
    pub placed_meshes: Vec<PlacedMesh>,
    /// Positions of all vertices.
    pub positions: Vec<DVec3>,
    /// Normals of all vertices, of length 1.
    pub normals: Vec<DVec3>,
    /// Remarks on meshes.
    pub remarks: BTreeSet<Remark>,
}

impl<'a> CombinedMesh<'a> {
    /// Combines the meshes; `metres` is the scene's length unit. Meshes whose faces change are refused.
    pub fn new(
        path: &Path,
        scene: &'a Scene,
        placed: &'a [PlacedObject],
        times: &'a [f64],
        metres: f64,
    ) -> Result<CombinedMesh<'a>, Error> {
        let world = World::new(scene, placed)?;
        let mut combined = CombinedMesh {
            scene,
            placed,
            world,
            times,
            scale: metres,
            meshes: HashMap::new(),
            placed_meshes: Vec::new(),
            positions: Vec::new(),
            normals: Vec::new(),
            remarks: BTreeSet::new(),
        };
        let shown = combined.ever_shown()?;
        for i in (0..placed.len()).filter(|&i| shown[i]) {
            combined.add_placed_mesh(path, i)?;
        }
        Ok(combined)
    }

    /// Returns for each placed object whether it has a mesh that is visible in some frame.
    fn ever_shown(&mut self) -> Result<Vec<bool>, Error> {
        let nodes = &self.scene.nodes;
        let mut shown: Vec<bool> = vec![false; self.placed.len()];
        let hides = nodes.iter().any(|node| node.visibility.is_some());
        for &time in if hides { self.times } else { &self.times[..1] } {
            self.world.evaluate(time)?;
            shown.iter_mut().zip(&self.world.visible).for_each(|(shown, now)| *shown |= now);
        }
        for ((shown, object), p) in shown.iter_mut().zip(self.placed).zip(0..) {
            let mesh = nodes[object.node].mesh.is_some();
            if mesh && !*shown {
                let what = "it is never shown, and was left out";
                self.remarks.insert(Remark::new(&self.placed[p].path, what));
            }
            *shown &= mesh;
        }
        Ok(shown)
    }

    fn add_placed_mesh(&mut self, path: &Path, placed: usize) -> Result<(), Error> {
        let object = &self.placed[placed];
        let Some(id) = self.scene.nodes[object.node].mesh else {
            return Ok(());
        };
        if !self.meshes.contains_key(&id) {
            let shape = self.mesh_vertices(path, id)?;
            self.meshes.insert(id, shape);
        }
        let shape = &self.meshes[&id];
        if shape.list.is_empty() || shape.parts.is_empty() {
            self.remarks.insert(Remark::new(&object.path, "it has no faces, and was left out"));
            return Ok(());
        }
        let last = self.placed_meshes.last();
        let first =
            last.map_or(0, |placed_mesh| placed_mesh.first + self.meshes[&placed_mesh.mesh].list.len());
        let centre = DVec3::ZERO;
        self.placed_meshes.push(PlacedMesh {
            placed,
            mesh: id,
            first,
            centre,
            visible: true,
            mirrored: false,
        });
        Ok(())
    }

    fn mesh_vertices(&mut self, path: &Path, id: MeshId) -> Result<MeshVertices, Error> {
        let mesh = &self.scene.meshes[id];
        let changes = || {
            let what = format!(
                "the faces of {} change, which a texture of vertices cannot hold: compile it with --remesh, or give .abc, .glb or a sequence of .obj",
                mesh.path
            );
            Error::unsupported(path, what)
        };
        if mesh.topology == Topology::Heterogeneous {
            return Err(changes());
        }
        let plans = plan_runs(mesh, self.times)?;
        let [plan] = &plans[..] else {
            return Err(changes());
        };
        let time = self.times[0];
        let first = FirstFrame::read(mesh, time)?;
        let mut remark = |what: &str| self.remarks.insert(Remark::new(&mesh.path, what));
        if mesh.normals.is_none() {
            remark("it has no normals: they were made of its faces, smooth everywhere");
        }
        if first.uvs.len() > 1 {
            remark("the second set of uvs is that of the texture; others than the first were left out");
        }
        if first.colours.len() > 1 {
            remark("one set of colours is kept; the others were left out");
        }
        let moves = |constant: Option<bool>| constant == Some(false);
        if moves(mesh.uvs.first().map(|a| a.values.is_constant()))
            || moves(mesh.colours.first().map(|a| a.values.is_constant()))
        {
            remark(
                "uvs or colours move, which a texture of vertices cannot hold: their first frame was taken",
            );
        }
        if !mesh.custom_attributes.is_empty() || mesh.velocities.is_some() {
            remark("a texture of vertices holds no other attributes; they were left out");
        }
        let vertices = first.vertices(plan);
        let parts = first.triangles(mesh, time, &vertices)?;
        Ok(MeshVertices { list: vertices.list, parts, first })
    }

    /// Returns the number of all vertices.
    pub fn count(&self) -> usize {
        self.placed_meshes
            .last()
            .map_or(0, |placed_mesh| placed_mesh.first + self.meshes[&placed_mesh.mesh].list.len())
    }

    /// Returns the path of a placed mesh.
    pub fn path(&self, placed_mesh: usize) -> &str {
        &self.placed[self.placed_meshes[placed_mesh].placed].path
    }

    /// Evaluates the first frame, with hidden meshes, and determines where meshes lie while they are hidden.
    pub fn evaluate_rest(&mut self) -> Result<(), Error> {
        self.evaluate_vertices(0, false)?;
        for placed_mesh in &mut self.placed_meshes {
            let own = placed_mesh.first..placed_mesh.first + self.meshes[&placed_mesh.mesh].list.len();
            let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
            for p in &self.positions[own] {
                (low, high) = (low.min(*p), high.max(*p));
            }
            placed_mesh.centre = (low + high) / 2.0;
            placed_mesh.mirrored = self.world.matrix[placed_mesh.placed].determinant() < 0.0;
        }
        Ok(())
    }

    /// Evaluates a frame; the vertices of a hidden mesh lie in one point.
    pub fn evaluate(&mut self, frame: usize) -> Result<(), Error> {
        self.evaluate_vertices(frame, true)
    }

    fn evaluate_vertices(&mut self, frame: usize, hides: bool) -> Result<(), Error> {
        let time = self.times[frame];
        self.world.evaluate(time)?;
        self.positions.clear();
        self.normals.clear();
        let mut cleaned = false;
        for placed_mesh in &mut self.placed_meshes {
            let (mesh, shape) = (&self.scene.meshes[placed_mesh.mesh], &self.meshes[&placed_mesh.mesh]);
            let matrix = DMat4::from_scale(DVec3::splat(self.scale)) * self.world.matrix[placed_mesh.placed];
            placed_mesh.visible = self.world.visible[placed_mesh.placed];
            if hides && !placed_mesh.visible {
                self.positions.resize(placed_mesh.first + shape.list.len(), placed_mesh.centre);
                self.normals.resize(placed_mesh.first + shape.list.len(), DVec3::Y);
                continue;
            }
            let frame = MeshFrame::read(mesh, time)?;
            let places = frame.vertices(&shape.list, &mut cleaned);
            let place = |p: &[f32; 3]| matrix.transform_point3(DVec3::from_array(p.map(f64::from)));
            self.positions.extend(places.iter().map(place));
            match frame.vertex_normals(&shape.list) {
                Some(normals) => {
                    let turn = normal_matrix(&matrix);
                    let normal = |n: &[f32; 3]| {
                        (turn * DVec3::from_array(n.map(f64::from))).try_normalize().unwrap_or(DVec3::Y)
                    };
                    self.normals.extend(normals.iter().map(normal));
                }
                None => {
                    let mirrored = matrix.determinant() < 0.0;
                    smooth(shape, &self.positions[placed_mesh.first..], mirrored, &mut self.normals);
                }
            }
        }
        if cleaned {
            let what = "positions that are no finite numbers were replaced";
            self.remarks.insert(Remark::new("/", what));
        }
        Ok(())
    }
}

/// Computes normals of points from the faces around each, weighted by area.
fn smooth(shape: &MeshVertices, positions: &[DVec3], mirrored: bool, out: &mut Vec<DVec3>) {
    let points = shape.list.iter().map(|c| c.point as usize + 1).max().unwrap_or_default();
    let mut sums = vec![DVec3::ZERO; points];
    for triangle in shape.parts.values().flat_map(|part| part.chunks_exact(3)) {
        let [a, b, c] = [0, 1, 2].map(|k| positions[triangle[k] as usize]);
        let area = (b - a).cross(c - a) * if mirrored { -1.0 } else { 1.0 };
        triangle.iter().for_each(|&v| sums[shape.list[v as usize].point as usize] += area);
    }
    out.extend(shape.list.iter().map(|c| sums[c.point as usize].try_normalize().unwrap_or(DVec3::Y)));
}
