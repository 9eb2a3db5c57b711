//! Selects the frames that a long animation needs.

use super::moving::{MotionDetector, VISIBILITY, is_shown, matrix, may_change, moves_weight};
use meshreel_scene::sample::sparse;
use meshreel_scene::sample::{LONG_ANIMATION_FRAMES, MIN_FRAME_REDUCTION};

/// Upper limit for the numbers in the selected frames.
const MAX_SELECTED_VALUES: usize = 1 << 26;

/// Returns the frames that are needed, of `count` from `start` at `rate`; `None` if all are kept.
pub(super) fn needed_frames(
    parsed: &ufbx::Scene,
    anim: &ufbx::Anim,
    (start, rate, count): (f64, f64, usize),
) -> Option<Vec<usize>> {
    if count <= LONG_ANIMATION_FRAMES {
        return None;
    }
    let moving = AnimatedValues::new(parsed, anim);
    let most = (count / MIN_FRAME_REDUCTION).min(MAX_SELECTED_VALUES / moving.slots.max(1));
    let keys = frames_beside_keys(anim, (start, rate, count), most)?;
    let at = |frame: usize| moving.values(anim, start + frame as f64 / rate);
    let mut near = vec![0.0f64; moving.slots];
    for frame in &keys {
        moving.widen(&at(*frame), &mut near);
    }
    near.iter_mut().for_each(|size| *size *= sparse::RELATIVE_TOLERANCE);
    sparse::needed_frames(keys, most, &near, &at)
}

/// Returns the first frame, the last, and those around each key of any curve; `None` if these are more than
/// `most`.
fn frames_beside_keys(
    anim: &ufbx::Anim,
    (start, rate, count): (f64, f64, usize),
    most: usize,
) -> Option<Vec<usize>> {
    let last = count - 1;
    let mut out = vec![0, last];
    let mut add = |time: f64| {
        out.extend(sparse::frames_around((time - start) * rate, last));
        if out.len() > 8 * most {
            out.sort_unstable();
            out.dedup();
        }
        out.len() <= 8 * most
    };
    let values = anim.layers.into_iter().flat_map(|layer| &layer.anim_values);
    let curves = values.flat_map(|value| value.curves.iter().flatten());
    for curve in curves.filter(|curve| !curve.keyframes.is_empty()) {
        let keys = || curve.keyframes.iter().map(|key| key.time).filter(|time| time.is_finite());
        let length = curve.max_time - curve.min_time;
        let end = start + last as f64 / rate;
        let before = cycles(&curve.pre_extrapolation, curve.min_time - start, length);
        let after = cycles(&curve.post_extrapolation, end - curve.max_time, length);
        if (before + after) * curve.keyframes.len() as f64 > most as f64 {
            return None;
        }
        for cycle in -(before as i64)..=after as i64 {
            if !keys().all(|time| add(time + cycle as f64 * length)) {
                return None;
            }
        }
    }
    out.sort_unstable();
    out.dedup();
    (out.len() <= most).then_some(out)
}

/// Returns how often a curve of length `length` repeats within `time`, both in seconds.
fn cycles(goes_on: &ufbx::Extrapolation, time: f64, length: f64) -> f64 {
    let repeats = matches!(
        goes_on.mode,
        ufbx::ExtrapolationMode::Repeat
            | ufbx::ExtrapolationMode::Mirror
            | ufbx::ExtrapolationMode::RepeatRelative
    );
    if repeats && length > 0.0 && time > 0.0 { (time / length).ceil() } else { 0.0 }
}

/// Everything an animation moves that the reader uses.
struct AnimatedValues<'a> {
    nodes: Vec<(&'a ufbx::Node, bool)>,
    channels: Vec<&'a ufbx::BlendChannel>,
    /// The animated properties of cameras.
    properties: Vec<(&'a ufbx::Element, &'a str)>,
    /// The number of values at each time.
    slots: usize,
}

impl<'a> AnimatedValues<'a> {
    fn new(parsed: &'a ufbx::Scene, anim: &'a ufbx::Anim) -> AnimatedValues<'a> {
        let movers = MotionDetector::new(parsed);
        let nodes = parsed.nodes.into_iter().filter(|node| movers.may_move(anim, node));
        let nodes: Vec<_> = nodes.map(|node| (node, may_change(anim, &node.element, VISIBILITY))).collect();
        let channels = parsed.blend_channels.into_iter();
        let channels: Vec<_> = channels.filter(|own| moves_weight(anim, own)).collect();
        let all = anim.layers.into_iter().flat_map(|layer| &layer.anim_props);
        let cameras = all.filter(|own| own.element.type_ == ufbx::ElementType::Camera);
        let properties: Vec<_> = cameras.map(|own| (&*own.element, &*own.prop_name)).collect();
        let slots = 13 * nodes.len() + channels.len() + properties.len();
        AnimatedValues { nodes, channels, properties, slots }
    }

    /// Returns for each node its matrix, column by column, and its visibility; then all other numbers.
    fn values(&self, anim: &ufbx::Anim, time: f64) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.slots);
        for (node, hides) in &self.nodes {
            let local = matrix(&ufbx::transform_to_matrix(&ufbx::evaluate_transform(anim, node, time)));
            for column in local.to_cols_array_2d() {
                out.extend(&column[..3]);
            }
            out.push(if *hides { f64::from(u8::from(is_shown(anim, node, time))) } else { 0.0 });
        }
        out.extend(self.channels.iter().map(|own| ufbx::evaluate_blend_weight(anim, own, time)));
        let value = |(element, name): &(&ufbx::Element, &str)| {
            ufbx::evaluate_prop_flags(anim, element, name, time, 0).value_vec4.x
        };
        out.extend(self.properties.iter().map(value));
        out
    }

    /// Raises the largest magnitude of each kind to include these numbers; a matrix has two kinds, its linear
    /// part and its translation.
    fn widen(&self, numbers: &[f64], largest: &mut [f64]) {
        let (of_nodes, others) = numbers.split_at(13 * self.nodes.len());
        for (own, largest) in of_nodes.chunks(13).zip(largest.chunks_mut(13)) {
            for kind in [0..9, 9..12] {
                let size = own[kind.clone()].iter().fold(largest[kind.start], |size, v| size.max(v.abs()));
                largest[kind].fill(size);
            }
        }
        let largest = &mut largest[of_nodes.len()..];
        largest.iter_mut().zip(others).for_each(|(size, own)| *size = size.max(own.abs()));
    }
}
