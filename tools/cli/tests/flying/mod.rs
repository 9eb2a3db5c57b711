//! A wall of closed bricks in one mesh, which stands, bursts, and lies on the ground.

use glam::{DQuat, DVec3};
use meshreel_scene::{Channel, Mesh, Node, NodeKind, Scene, TimeSampling};

/// A wall of bricks.
pub struct Bricks {
    /// The points of all bricks, by frame.
    pub frames: Vec<Vec<[f32; 3]>>,
    /// Quads, counter-clockwise seen from outside.
    pub faces: Vec<[i32; 4]>,
}

impl Bricks {
    /// Points of a brick: a grid on each side, joined at edges.
    pub const POINTS: u32 = 26;
    /// The frames in which it stands, flies, and lies.
    pub const STANDS: usize = 10;
    pub const FLIES: usize = 14;
    pub const LIES: usize = 12;
    /// Width, height and depth of a brick.
    pub const SIZE: [f64; 3] = [2.0, 1.0, 1.0];

    /// Like [`Bricks::wall_from`], with all bricks leaving at the same time.
    pub fn wall(wide: usize, high: usize) -> Bricks {
        Bricks::wall_from(wide, high, |_| Self::STANDS)
    }

    /// Returns a wall of `wide` × `high` bricks, each of which leaves its place in a frame of its own. A
    /// brick has 3 × 3 × 3 points without the one in the middle.
    pub fn wall_from(wide: usize, high: usize, starts: impl Fn(usize) -> usize) -> Bricks {
        let mut out =
            Bricks { frames: vec![Vec::new(); Self::STANDS + Self::FLIES + Self::LIES], faces: Vec::new() };
        for brick in 0..wide * high {
            out.brick(brick % wide, brick / wide, starts(brick));
        }
        out
    }

    fn brick(&mut self, column: usize, row: usize, start: usize) {
        let [w, h, d] = Self::SIZE;
        let low = DVec3::new(w * column as f64, h * row as f64, 0.0);
        let middle = low + DVec3::new(w, h, d) / 2.0;
        let first = self.frames[0].len() as i32;
        let number = |x: usize, y: usize, z: usize| {
            let i = x + 3 * y + 9 * z;
            first + (i - usize::from(i > 13)) as i32
        };
        for axis in 0..3 {
            for side in [0, 2] {
                for i in 0..4 {
                    let at = |a: usize, b: usize| {
                        let mut p = [side; 3];
                        p[(axis + 1) % 3] = i % 2 + a;
                        p[(axis + 2) % 3] = i / 2 + b;
                        number(p[0], p[1], p[2])
                    };
                    let mut face = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
                    if side == 0 {
                        face.reverse();
                    }
                    self.faces.push(face);
                }
            }
        }
        let seed = (column * 7 + row * 13) as f64;
        let rest = DVec3::new(
            middle.x + 3.0 * (seed * 1.3).sin(),
            h / 2.0,
            6.0 + 3.0 * column as f64 + 9.0 * row as f64,
        );
        for (f, frame) in self.frames.iter_mut().enumerate() {
            let time = f as f64 - (start as f64 - 1.0);
            let time = (time / Self::FLIES as f64).clamp(0.0, 1.0);
            let axis = DVec3::new((seed * 1.7).sin(), (seed * 2.3).cos(), 0.4).normalize();
            // A full turn: it lies as it stood.
            let turn = DQuat::from_axis_angle(axis, std::f64::consts::TAU * time);
            let hop = DVec3::Y * 6.0 * time * (1.0 - time);
            let centre = middle + (rest - middle) * time + hop;
            for i in (0..27).filter(|&i| i != 13) {
                let part = DVec3::new((i % 3) as f64, (i / 3 % 3) as f64, (i / 9) as f64) / 2.0;
                let p = low + part * DVec3::new(w, h, d);
                let moves = time > 0.0 && time < 1.0;
                let p = match moves {
                    true => centre + turn * (p - middle),
                    false => centre + (p - middle),
                };
                frame.push(p.as_vec3().to_array());
            }
        }
    }

    /// Returns a scene of one mesh.
    pub fn scene(self) -> Scene {
        let counts = vec![4; self.faces.len()];
        one_mesh(self.frames, counts, self.faces.as_flattened().to_vec())
    }
}

/// Returns a scene of one mesh with constant faces.
pub fn one_mesh(frames: Vec<Vec<[f32; 3]>>, counts: Vec<i32>, indices: Vec<i32>) -> Scene {
    let times = TimeSampling::Uniform { start: 0.0, step: 1.0 / 24.0 };
    Scene {
        nodes: vec![Node { mesh: Some(0), samples: frames.len(), ..Node::new("/mesh", NodeKind::PolyMesh) }],
        meshes: vec![Mesh::new(
            "/mesh",
            Channel::in_memory(times, frames),
            Channel::constant(counts),
            Channel::constant(indices),
        )],
        ..Scene::default()
    }
}
