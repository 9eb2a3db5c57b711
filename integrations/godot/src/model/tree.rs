//! The hierarchy of a file as a tree of nodes with names that Godot allows.

use meshreel::raw::record::Description;
use meshreel::{FrameView, MeshFrame, Transform};
use std::collections::HashSet;

/// A node of a file, as it is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeNode {
    /// Its name, which no other child of the same parent has.
    pub name: String,
    /// The number of its parent, which comes before it; `None` below the root.
    pub parent: Option<usize>,
    /// The number of its mesh.
    pub mesh: Option<usize>,
    /// `true` if its transform changes.
    pub moves: bool,
}

/// A mesh of a file, and the nodes that show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshNodes {
    /// The number of the mesh.
    pub mesh: usize,
    /// The numbers of the nodes, at least one.
    pub nodes: Vec<usize>,
}

/// Returns the nodes of a file, in its order.
pub fn tree_nodes(description: &Description) -> Vec<TreeNode> {
    let mut used: HashSet<(Option<u32>, String)> = HashSet::new();
    let node = |node: &meshreel::raw::record::NodeRecord| TreeNode {
        name: unique_name(node.parent, &node_name(&node.path), &mut used),
        parent: node.parent.map(|parent| parent as usize),
        mesh: node.mesh.map(|mesh| mesh as usize),
        moves: node.animated,
    };
    description.nodes.iter().map(node).collect()
}

/// Returns the meshes that nodes show, in the order of their numbers.
pub fn mesh_nodes(description: &Description) -> Vec<MeshNodes> {
    let mut out: Vec<MeshNodes> =
        (0..description.meshes.len()).map(|mesh| MeshNodes { mesh, nodes: Vec::new() }).collect();
    for (number, node) in description.nodes.iter().enumerate() {
        if let Some(shown) = node.mesh.and_then(|mesh| out.get_mut(mesh as usize)) {
            shown.nodes.push(number);
        }
    }
    out.retain(|shown| !shown.nodes.is_empty());
    out
}

/// Returns a mesh as the first of its nodes shows it that blends, or else the first that is visible, or any:
/// nodes that are about to vanish do not blend.
pub fn mesh_frame<'a>(view: &FrameView<'a>, nodes: &[usize]) -> Option<MeshFrame<'a>> {
    let visible = || nodes.iter().filter(|node| view.visible(**node)).filter_map(|node| view.mesh(*node));
    let blends = visible().find(MeshFrame::blends).or_else(|| visible().next());
    blends.or_else(|| view.mesh(*nodes.first()?))
}

/// Returns the metres of a file's unit; 1 if it names none.
pub fn unit_metres(unit: u8) -> f32 {
    match unit {
        2 => 0.01,
        3 => 0.001,
        4 => 0.0254,
        _ => 1.0,
    }
}

/// Returns the twelve numbers of a transform in the order of Godot's multimesh buffers: three rows of a 3×4
/// matrix, for column vectors.
pub fn matrix_rows(world: &[[f64; 4]; 3]) -> [f32; 12] {
    std::array::from_fn(|k| world[k / 4][k % 4] as f32)
}

/// Returns the product of two transforms, each as [`matrix_rows`] has them: `second` is applied first.
pub fn multiply_rows(first: &[f32; 12], second: &[f32; 12]) -> [f32; 12] {
    std::array::from_fn(|k| {
        let (row, column) = (k / 4 * 4, k % 4);
        let product: f32 = (0..3).map(|i| first[row + i] * second[4 * i + column]).sum();
        if column == 3 { product + first[row + 3] } else { product }
    })
}

/// Returns the columns of the basis of a transform, rotation times scale.
pub fn basis_columns(transform: &Transform) -> [[f32; 3]; 3] {
    let [x, y, z, w] = transform.rotation;
    let length = (x * x + y * y + z * z + w * w).sqrt();
    let [x, y, z, w] = if length > 0.0 { [x, y, z, w].map(|v| v / length) } else { [0.0, 0.0, 0.0, 1.0] };
    let columns = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + z * w), 2.0 * (x * z - y * w)],
        [2.0 * (x * y - z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + x * w)],
        [2.0 * (x * z + y * w), 2.0 * (y * z - x * w), 1.0 - 2.0 * (x * x + y * y)],
    ];
    std::array::from_fn(|k| columns[k].map(|v| v * transform.scale[k]))
}

/// Returns the last name of a path, with an underscore for each character that Godot forbids in node names.
pub fn node_name(path: &str) -> String {
    let last = path.rsplit(['/', '|']).find(|name| !name.is_empty()).unwrap_or("");
    let allowed = |c: char| match c {
        '.' | ':' | '@' | '/' | '"' | '%' => '_',
        c if c.is_control() => '_',
        c => c,
    };
    let name: String = last.trim().chars().map(allowed).collect();
    if name.is_empty() { "Node".to_owned() } else { name }
}

fn unique_name(parent: Option<u32>, name: &str, used: &mut HashSet<(Option<u32>, String)>) -> String {
    let mut out = name.to_owned();
    let mut number = 2;
    while !used.insert((parent, out.clone())) {
        out = format!("{name}_{number}");
        number += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_godot_allows() {
        assert_eq!(node_name("/root/Arm.L"), "Arm_L");
        assert_eq!(node_name("|group|ns:leg|"), "ns_leg");
        assert_eq!(node_name("a@b\"c%d"), "a_b_c_d");
        assert_eq!(node_name(""), "Node");
        assert_eq!(node_name("/"), "Node");
        assert_eq!(node_name("/a/Ärmel"), "Ärmel");
    }

    #[test]
    fn siblings_have_different_names() {
        let mut used = HashSet::new();
        let mut name = |parent| unique_name(parent, "arm", &mut used);
        assert_eq!([name(None), name(None), name(Some(0)), name(None)], ["arm", "arm_2", "arm", "arm_3"]);
    }

    #[test]
    fn products_apply_the_second_first() {
        let turn = [0.0, -1.0, 0.0, 5.0, 1.0, 0.0, 0.0, 6.0, 0.0, 0.0, 1.0, 7.0];
        let double = [2.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0];
        // (0, 1, 0) → (1, 2, 0) → (3, 7, 7)
        let both = multiply_rows(&turn, &double);
        let image: Vec<f32> = (0..3).map(|row| both[4 * row + 1] + both[4 * row + 3]).collect();
        assert_eq!(image, [3.0, 7.0, 7.0]);
    }

    #[test]
    fn units_are_lengths_in_metres() {
        assert_eq!([0, 1, 2, 3, 4, 9].map(unit_metres), [1.0, 1.0, 0.01, 0.001, 0.0254, 1.0]);
    }

    #[test]
    fn a_basis_turns_and_scales() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let quarter =
            Transform { rotation: [0.0, 0.0, half, half], scale: [2.0, 3.0, 4.0], ..Transform::IDENTITY };
        let columns = basis_columns(&quarter);
        let wanted = [[0.0, 2.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 0.0, 4.0]];
        for (column, wanted) in columns.iter().flatten().zip(wanted.iter().flatten()) {
            assert!((column - wanted).abs() < 1e-6, "{columns:?}");
        }
        let none = Transform { rotation: [0.0; 4], ..Transform::IDENTITY };
        assert_eq!(basis_columns(&none), [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
    }
}
