//! A waving sheet with uvs, made frame by frame when it is read, so that it takes no memory itself.

use crate::dice::Dice;
use meshreel_scene::{
    Attribute, Channel, Error, Identity, Mesh, Node, NodeKind, Scene, Scope, Source, TimeSampling, Topology,
    Winding,
};
use std::sync::Arc;

/// The connectivity of a sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SheetShape {
    /// Rows and columns, in order.
    Grid,
    /// The same points, moved a little and in random order, with diagonals in both directions.
    Irregular,
}

impl SheetShape {
    pub const ALL: [SheetShape; 2] = [SheetShape::Grid, SheetShape::Irregular];

    /// Returns the name of the shape.
    pub fn name(self) -> &'static str {
        match self {
            SheetShape::Grid => "grid",
            SheetShape::Irregular => "irregular",
        }
    }
}

/// A square sheet four units wide.
pub struct Sheet {
    side: usize,
    frames: usize,
    shape: SheetShape,
    /// The place of each point in the sheet, from 0 to 1.
    places: Vec<[f32; 2]>,
    /// The number of the point of each row and column.
    numbers: Vec<u32>,
}

impl Sheet {
    /// Creates a sheet of about this many vertices.
    pub fn new(vertices: u32, frames: usize, shape: SheetShape) -> Sheet {
        let side = f64::from(vertices).sqrt().round().max(2.0) as usize;
        let mut numbers: Vec<u32> = (0..(side * side) as u32).collect();
        let mut places = vec![[0.0; 2]; side * side];
        let mut dice = Dice::new(7);
        let irregular = shape == SheetShape::Irregular;
        if irregular {
            for last in (1..numbers.len()).rev() {
                numbers.swap(last, (dice.roll() * (last + 1) as f64) as usize);
            }
        }
        for (place, &number) in numbers.iter().enumerate() {
            let mut at = |k: usize| {
                let off = if irregular { 0.6 * (dice.roll() - 0.5) } else { 0.0 };
                ((k as f64 + off) / (side - 1) as f64) as f32
            };
            places[number as usize] = [at(place % side), at(place / side)];
        }
        Sheet { side, frames, shape, places, numbers }
    }

    /// Returns the number of vertices.
    pub fn vertices(&self) -> u32 {
        self.numbers.len() as u32
    }

    fn triangles(&self) -> Vec<i32> {
        let mut dice = Dice::new(11);
        let (side, number) = (self.side, |place: usize| self.numbers[place] as i32);
        let mut out = Vec::with_capacity(6 * (side - 1) * (side - 1));
        for row in 0..side - 1 {
            for a in row * side..row * side + side - 1 {
                let [a, b, c, d] = [a, a + 1, a + side + 1, a + side].map(number);
                let turned = self.shape == SheetShape::Irregular && dice.roll() < 0.5;
                out.extend(if turned { [a, b, d, b, c, d] } else { [a, b, c, a, c, d] });
            }
        }
        out
    }

    /// Returns a scene of the sheet alone.
    pub fn scene(self) -> Scene {
        let rate = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
        let triangles = self.triangles();
        let uvs = Attribute {
            name: "st".into(),
            scope: Scope::Vertex,
            values: Channel::constant(self.places.clone()),
            indices: None,
        };
        let mut scene = Scene::default();
        let positions = Channel::new(Arc::new(rate), Arc::new(self));
        add_mesh(&mut scene, "/sheet".into(), positions, triangles);
        scene.meshes[0].uvs.push(uvs);
        scene
    }
}

impl Source<[f32; 3]> for Sheet {
    fn len(&self) -> usize {
        self.frames
    }

    fn identity(&self, frame: usize) -> Identity {
        frame as Identity
    }

    fn read(&self, frame: usize, out: &mut Vec<[f32; 3]>) -> Result<(), Error> {
        let t = frame as f32;
        out.clear();
        out.extend(self.places.iter().map(|&[u, v]| {
            let waves = 0.1 * (12.0 * u + 0.2 * t).sin()
                + 0.05 * (17.0 * v + 0.13 * t).sin() * (5.0 * u).cos()
                + 0.02 * (40.0 * u * v + 0.3 * t).sin();
            [4.0 * u + 0.02 * (9.0 * v + 0.1 * t).sin(), waves, 4.0 * v]
        }));
        Ok(())
    }
}

/// Adds a node with a mesh of triangles.
pub fn add_mesh(scene: &mut Scene, path: String, positions: Channel<[f32; 3]>, triangles: Vec<i32>) {
    scene.nodes.push(Node {
        name: path[1..].into(),
        path: path.clone(),
        parent: None,
        kind: NodeKind::PolyMesh,
        transform: None,
        visibility: None,
        mesh: Some(scene.meshes.len()),
        instance_of: None,
        samples: 1,
        camera: None,
        user_properties: Vec::new(),
    });
    scene.meshes.push(Mesh {
        path,
        positions,
        face_counts: Channel::constant(vec![3; triangles.len() / 3]),
        face_indices: Channel::constant(triangles),
        winding: Winding::Clockwise,
        topology: Topology::Homogeneous,
        normals: None,
        uvs: Vec::new(),
        colours: Vec::new(),
        velocities: None,
        face_sets: Vec::new(),
        other_attributes: Vec::new(),
        is_subd: false,
        integers: Vec::new(),
        custom_attributes: Vec::new(),
        names: Vec::new(),
        skin: None,
        particles: None,
    });
}
