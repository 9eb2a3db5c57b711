//! The grid on the ground, and the axes.

use crate::camera::Up;
use crate::drawing::Drawing;
use glam::DVec3;

/// Draws lines of a grid below a box, with cells of a power of ten, and of the axes.
pub fn floor([low, high]: [DVec3; 2], up: Up) -> Drawing {
    let (a, b, c) = match up {
        Up::Y => (0, 2, 1),
        Up::Z => (0, 1, 2),
    };
    let size = (high - low).length().max(1e-6);
    let cell = 10f64.powf((size / 8.0).log10().round());
    let cells = ((size / cell).ceil() as i32).clamp(4, 60);
    let middle = (low + high) / 2.0;
    let snap = |x: f64| (x / cell).round() * cell;
    let mut vertices: Vec<f32> = Vec::new();
    for i in -cells..=cells {
        for (along, across) in [(a, b), (b, a)] {
            for end in [-1.0, 1.0] {
                let mut at = [0.0f64; 3];
                at[c] = low[c];
                at[along] = snap(middle[along]) + f64::from(cells) * cell * end;
                at[across] = snap(middle[across]) + f64::from(i) * cell;
                vertices.extend(at.map(|v| v as f32));
                vertices.extend([0.0; 6]);
            }
        }
    }
    let grid = vertices.len() / 9;
    for axis in 0..3 {
        for end in [0.0, 1.0] {
            let mut at = [0.0; 3];
            at[axis] = (end * cell * f64::from(cells) * 0.25) as f32;
            vertices.extend(at);
            vertices.extend([0.0; 6]);
        }
    }
    let axes = [[230, 60, 60, 255], [80, 200, 60, 255], [70, 110, 240, 255]];
    let grey = std::iter::repeat_n([16, 17, 20, 255], grid);
    let colours = grey.chain(axes.into_iter().flat_map(|axis| [axis; 2])).collect();
    Drawing { vertices, colours }
}
