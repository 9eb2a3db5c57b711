//! The target of an animation channel: a property named by the core format, or one that a JSON pointer refers
//! to (KHR_animation_pointer).

use super::camera::LensParameter;
use super::document::{Root, TargetJson};

/// The target of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChannelTarget {
    /// A property of a node.
    Node(usize, NodeProperty),
    /// The weights of a mesh, on all nodes without weights of their own: all of them, or one.
    Mesh(usize, Option<usize>),
    /// A number of a camera.
    Camera(usize, LensParameter),
}

/// A property of a node that can be animated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeProperty {
    Translation,
    Rotation,
    Scale,
    Weights,
    /// A single weight.
    Weight(usize),
    Visible,
}

/// Returns the target of a channel, or its text in the file if it is not supported.
pub(super) fn channel_target(target: &TargetJson) -> Result<ChannelTarget, &str> {
    if let Some(pointer) = target.pointer() {
        return parse_pointer(pointer).ok_or(pointer);
    }
    let property = match &*target.path {
        "translation" => NodeProperty::Translation,
        "rotation" => NodeProperty::Rotation,
        "scale" => NodeProperty::Scale,
        "weights" => NodeProperty::Weights,
        path => return Err(path),
    };
    target.node.map(|node| ChannelTarget::Node(node, property)).ok_or(&target.path)
}

fn parse_pointer(pointer: &str) -> Option<ChannelTarget> {
    let parts: Vec<&str> = pointer.strip_prefix('/')?.split('/').collect();
    let number = |text: &str| text.parse::<usize>().ok();
    Some(match parts[..] {
        ["nodes", node, "translation"] => ChannelTarget::Node(number(node)?, NodeProperty::Translation),
        ["nodes", node, "rotation"] => ChannelTarget::Node(number(node)?, NodeProperty::Rotation),
        ["nodes", node, "scale"] => ChannelTarget::Node(number(node)?, NodeProperty::Scale),
        ["nodes", node, "weights"] => ChannelTarget::Node(number(node)?, NodeProperty::Weights),
        ["nodes", node, "weights", one] => {
            ChannelTarget::Node(number(node)?, NodeProperty::Weight(number(one)?))
        }
        ["nodes", node, "extensions", "KHR_node_visibility", "visible"] => {
            ChannelTarget::Node(number(node)?, NodeProperty::Visible)
        }
        ["meshes", mesh, "weights"] => ChannelTarget::Mesh(number(mesh)?, None),
        ["meshes", mesh, "weights", one] => ChannelTarget::Mesh(number(mesh)?, Some(number(one)?)),
        ["cameras", camera, kind, part] => {
            ChannelTarget::Camera(number(camera)?, LensParameter::from_name(kind, part)?)
        }
        _ => return None,
    })
}

impl ChannelTarget {
    /// Returns a message if the target does not exist in the file.
    pub fn missing(self, root: &Root) -> Option<String> {
        let (what, number, there) = match self {
            ChannelTarget::Node(node, _) => ("node", node, root.nodes.len()),
            ChannelTarget::Mesh(mesh, _) => ("mesh", mesh, root.meshes.len()),
            ChannelTarget::Camera(camera, _) => ("camera", camera, root.cameras.len()),
        };
        (number >= there).then(|| format!("{what} {number} is not there"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_lead_to_what_moves() {
        let node = |property| Some(ChannelTarget::Node(3, property));
        for (pointer, found) in [
            ("/nodes/3/rotation", node(NodeProperty::Rotation)),
            ("/nodes/3/weights/12", node(NodeProperty::Weight(12))),
            ("/nodes/3/extensions/KHR_node_visibility/visible", node(NodeProperty::Visible)),
            ("/meshes/0/weights", Some(ChannelTarget::Mesh(0, None))),
            ("/cameras/1/perspective/yfov", Some(ChannelTarget::Camera(1, LensParameter::Yfov))),
            ("/cameras/1/orthographic/zfar", Some(ChannelTarget::Camera(1, LensParameter::Zfar))),
            ("/cameras/1/perspective/xmag", None),
            ("/materials/0/emissiveFactor", None),
            ("/nodes/x/rotation", None),
            ("nodes/3/rotation", None),
            ("", None),
        ] {
            assert_eq!(parse_pointer(pointer), found, "{pointer}");
        }
    }
}
