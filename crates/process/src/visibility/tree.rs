//! A tree of triangles for ray casting.

use glam::DVec3;

/// The largest number of triangles of a leaf.
const LEAF: usize = 4;

/// A triangle and its piece.
#[derive(Clone, Copy)]
pub struct ComponentTriangle {
    pub corners: [DVec3; 3],
    /// The number of the piece.
    pub component: u32,
}

struct Node {
    low: DVec3,
    high: DVec3,
    /// A leaf's first triangle, or the second child; the first child is the next node.
    next: u32,
    /// The number of triangles of a leaf; 0 for other nodes.
    count: u32,
}

/// A tree of bounding boxes.
pub struct RayTree {
    nodes: Vec<Node>,
    targets: Vec<ComponentTriangle>,
}

impl RayTree {
    pub fn new(mut targets: Vec<ComponentTriangle>) -> RayTree {
        let mut nodes = Vec::new();
        if !targets.is_empty() {
            build(&mut targets, 0, &mut nodes);
        }
        RayTree { nodes, targets }
    }

    /// Returns a length that leads out of the tree from anywhere in it.
    pub fn exit_length(&self) -> f64 {
        let root = self.nodes.first();
        root.map_or(1.0, |root| 2.0 * (root.high - root.low).length() + 1e-30)
    }

    /// Calls `seen` for each triangle that the segment from `from` to `from + way` passes through, until it
    /// returns `true`. It gets the triangle, and whether the segment passes through it from inside.
    pub fn cast(&self, from: DVec3, way: DVec3, mut seen: impl FnMut(&ComponentTriangle, bool) -> bool) {
        let inverse = way.recip();
        let mut stack = [0u32; 64];
        let mut depth = usize::from(!self.nodes.is_empty());
        while depth > 0 {
            depth -= 1;
            let n = stack[depth];
            let node = &self.nodes[n as usize];
            if !crosses(node, from, inverse) {
                continue;
            }
            if node.count == 0 {
                // Halves of halves: the stack is always deep enough.
                if depth + 2 <= stack.len() {
                    stack[depth] = node.next;
                    stack[depth + 1] = n + 1;
                    depth += 2;
                }
                continue;
            }
            let own = node.next as usize..(node.next + node.count) as usize;
            for target in &self.targets[own] {
                if let Some(out) = intersect(target, from, way)
                    && seen(target, out)
                {
                    return;
                }
            }
        }
    }
}

fn build(targets: &mut [ComponentTriangle], first: u32, nodes: &mut Vec<Node>) {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for corner in targets.iter().flat_map(|t| t.corners) {
        (low, high) = (low.min(corner), high.max(corner));
    }
    let own = nodes.len();
    nodes.push(Node { low, high, next: first, count: targets.len() as u32 });
    if targets.len() <= LEAF {
        return;
    }
    let size = high - low;
    let axis = (0..3).fold(0, |a, b| if size[b] > size[a] { b } else { a });
    let middle = targets.len() / 2;
    let at = |t: &ComponentTriangle| t.corners.iter().map(|c| c[axis]).sum::<f64>();
    targets.select_nth_unstable_by(middle, |a, b| at(a).total_cmp(&at(b)));
    let (left, right) = targets.split_at_mut(middle);
    build(left, first, nodes);
    nodes[own].next = nodes.len() as u32;
    nodes[own].count = 0;
    build(right, first + middle as u32, nodes);
}

fn crosses(node: &Node, from: DVec3, inverse: DVec3) -> bool {
    let (mut near, mut far) = (0.0f64, 1.0f64);
    for k in 0..3 {
        let a = (node.low[k] - from[k]) * inverse[k];
        let b = (node.high[k] - from[k]) * inverse[k];
        // NaN if a side lies in the plane of the ray: not decided by this axis.
        near = near.max(a.min(b));
        far = far.min(a.max(b));
    }
    near <= far + 1e-12
}

/// Returns whether a ray passes through a triangle, and if so whether from behind. (Tomas Möller and Ben
/// Trumbore, 1997.)
fn intersect(target: &ComponentTriangle, from: DVec3, way: DVec3) -> Option<bool> {
    let [a, b, c] = target.corners;
    let (u, v) = (b - a, c - a);
    let p = way.cross(v);
    let volume = u.dot(p);
    if volume == 0.0 {
        return None;
    }
    let s = from - a;
    let q = s.cross(u);
    let (x, y, t) = (s.dot(p) / volume, way.dot(q) / volume, v.dot(q) / volume);
    let hit = x >= -1e-9 && y >= -1e-9 && x + y <= 1.0 + 1e-9 && (0.0..=1.0).contains(&t);
    // volume = −way · normal
    hit.then_some(volume < 0.0)
}
