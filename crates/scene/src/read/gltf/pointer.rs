//! The target of an animation channel: a property named by the core format, or one that a JSON pointer refers
//! to (KHR_animation_pointer).

use super::camera::LensPart;
use super::document::{Root, TargetJson};

/// The target of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moved {
    /// A property of a node.
    Node(usize, Property),
    /// The weights of a mesh, on all nodes without weights of their own: all of them, or one.
    Mesh(usize, Option<usize>),
    /// A number of a camera.
    Camera(usize, LensPart),
}

/// A property of a node that can be animated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Property {
    Translation,
    Rotation,
    Scale,
    Weights,
    /// A single weight.
    Weight(usize),
    Visible,
}

/// Returns the target of a channel, or its text in the file if it is not supported.
pub(super) fn moved(target: &TargetJson) -> Result<Moved, &str> {
    if let Some(pointer) = target.pointer() {
        return at(pointer).ok_or(pointer);
    }
    let property = match &*target.path {
        "translation" => Property::Translation,
        "rotation" => Property::Rotation,
        "scale" => Property::Scale,
        "weights" => Property::Weights,
        path => return Err(path),
    };
    target.node.map(|node| Moved::Node(node, property)).ok_or(&target.path)
}

fn at(pointer: &str) -> Option<Moved> {
    let parts: Vec<&str> = pointer.strip_prefix('/')?.split('/').collect();
    let number = |text: &str| text.parse::<usize>().ok();
    Some(match parts[..] {
        ["nodes", node, "translation"] => Moved::Node(number(node)?, Property::Translation),
        ["nodes", node, "rotation"] => Moved::Node(number(node)?, Property::Rotation),
        ["nodes", node, "scale"] => Moved::Node(number(node)?, Property::Scale),
        ["nodes", node, "weights"] => Moved::Node(number(node)?, Property::Weights),
        ["nodes", node, "weights", one] => Moved::Node(number(node)?, Property::Weight(number(one)?)),
        ["nodes", node, "extensions", "KHR_node_visibility", "visible"] => {
            Moved::Node(number(node)?, Property::Visible)
        }
        ["meshes", mesh, "weights"] => Moved::Mesh(number(mesh)?, None),
        ["meshes", mesh, "weights", one] => Moved::Mesh(number(mesh)?, Some(number(one)?)),
        ["cameras", camera, kind, part] => Moved::Camera(number(camera)?, LensPart::of(kind, part)?),
        _ => return None,
    })
}

impl Moved {
    /// Returns a message if the target does not exist in the file.
    pub fn missing(self, root: &Root) -> Option<String> {
        let (what, number, there) = match self {
            Moved::Node(node, _) => ("node", node, root.nodes.len()),
            Moved::Mesh(mesh, _) => ("mesh", mesh, root.meshes.len()),
            Moved::Camera(camera, _) => ("camera", camera, root.cameras.len()),
        };
        (number >= there).then(|| format!("{what} {number} is not there"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_lead_to_what_moves() {
        let node = |property| Some(Moved::Node(3, property));
        for (pointer, found) in [
            ("/nodes/3/rotation", node(Property::Rotation)),
            ("/nodes/3/weights/12", node(Property::Weight(12))),
            ("/nodes/3/extensions/KHR_node_visibility/visible", node(Property::Visible)),
            ("/meshes/0/weights", Some(Moved::Mesh(0, None))),
            ("/cameras/1/perspective/yfov", Some(Moved::Camera(1, LensPart::Yfov))),
            ("/cameras/1/orthographic/zfar", Some(Moved::Camera(1, LensPart::Zfar))),
            ("/cameras/1/perspective/xmag", None),
            ("/materials/0/emissiveFactor", None),
            ("/nodes/x/rotation", None),
            ("nodes/3/rotation", None),
            ("", None),
        ] {
            assert_eq!(at(pointer), found, "{pointer}");
        }
    }
}
