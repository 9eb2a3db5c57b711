//! Determines what animations move, and evaluates it at a time.

use glam::DMat4;

/// Converts a matrix to column-vector form.
pub(super) fn matrix(m: &ufbx::Matrix) -> DMat4 {
    DMat4::from_cols_array_2d(&[
        [m.m00, m.m10, m.m20, 0.0],
        [m.m01, m.m11, m.m21, 0.0],
        [m.m02, m.m12, m.m22, 0.0],
        [m.m03, m.m13, m.m23, 1.0],
    ])
}

/// Tells which nodes an animation may move.
#[derive(Clone, Copy)]
pub(super) struct MotionDetector {
    /// `true` if `ufbx` has added helper nodes for scales, which move with their siblings: then any node may
    /// move.
    any_may_move: bool,
}

impl MotionDetector {
    pub fn new(parsed: &ufbx::Scene) -> MotionDetector {
        MotionDetector { any_may_move: parsed.nodes.into_iter().any(|node| node.is_scale_helper) }
    }

    pub fn may_move(self, anim: &ufbx::Anim, node: &ufbx::Node) -> bool {
        let by = |layer: &ufbx::AnimLayer| !ufbx::find_anim_props(layer, &node.element).is_empty();
        self.any_may_move
            || anim.layers.into_iter().any(by)
            || node.element.props.props.iter().any(is_connected)
    }
}

/// `true` if the property is driven by another one, which may be animated.
fn is_connected(property: &ufbx::Prop) -> bool {
    property.flags.has_any(ufbx::PropFlags::CONNECTED)
}

/// `true` if a property of an element may change in an animation.
pub(super) fn may_change(anim: &ufbx::Anim, element: &ufbx::Element, name: &str) -> bool {
    let by = |layer: &ufbx::AnimLayer| ufbx::find_anim_prop(layer, element, name).is_some();
    anim.layers.into_iter().any(by) || ufbx::find_prop(&element.props, name).is_some_and(is_connected)
}

/// The property that holds the visibility of a node.
pub(super) const VISIBILITY: &str = "Visibility";

/// `true` if a node itself is visible, regardless of its parents. The value read with the node does not
/// reflect animations, even constant ones, so the property is evaluated.
pub(super) fn is_shown(anim: &ufbx::Anim, node: &ufbx::Node, time: f64) -> bool {
    let element = &node.element;
    let known = ufbx::find_prop(&element.props, VISIBILITY).is_some();
    !known || ufbx::evaluate_prop_flags(anim, element, VISIBILITY, time, 0).value_int != 0
}

/// `true` if an animation moves the weight of a channel.
pub(super) fn moves_weight(anim: &ufbx::Anim, channel: &ufbx::BlendChannel) -> bool {
    may_change(anim, &channel.element, "DeformPercent")
}
