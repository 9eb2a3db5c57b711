//! Writes an animation for each named range of the timeline: all keys are in the file once, and each
//! animation uses its part of them.

use super::buffer::AccessorUse;
use super::tree::Tree;
use gltf_json::accessor::{Accessor, Type};
use gltf_json::animation::{Channel, Sampler};
use gltf_json::validation::Checked::Valid;
use gltf_json::validation::USize64;
use gltf_json::{Extras, Index};
use meshreel_scene::sample::frame_ranges;
use meshreel_scene::{Clip, Error, NamedRange, Remark, Scene};
use std::collections::HashMap;

/// Accessors of parts that exist already, by whole accessor, first key, last key, and for times the bits of
/// the start.
type AccessorParts = HashMap<(usize, usize, usize, u32), Index<Accessor>>;

impl Tree<'_> {
    /// Makes one animation per range, starting at 0 s, of the channels added since the last animation.
    pub(super) fn close_ranges(&mut self, ranges: &[NamedRange]) -> Result<(), Error> {
        let frames = frame_ranges(ranges, self.meshes.times);
        let covered: usize = frames.iter().map(|(.., count)| count).sum();
        let others = self.meshes.times.len().saturating_sub(covered);
        if others > 0 {
            let what = format!("{others} frames are of no named range and were left out");
            self.meshes.remarks.insert(Remark::new("animation", what));
        }
        let channels = std::mem::take(&mut self.channels);
        let samplers = std::mem::take(&mut self.samplers);
        let mut parts = AccessorParts::new();
        for (name, first, count) in frames {
            let span = [first, first + count - 1].map(|frame| self.meshes.keys[frame]);
            for channel in &channels {
                let Some(sampler) = samplers.get(channel.sampler.value()) else {
                    continue;
                };
                let Some(sampler) = self.sampler_part(sampler, span, &mut parts)? else {
                    continue;
                };
                let sampler = Index::push(&mut self.samplers, sampler);
                self.channels.push(Channel { sampler, ..channel.clone() });
            }
            self.close_animation(&name, None);
        }
        Ok(())
    }

    /// Makes an animation of a clip from the channels added since the last one. If a range has the same name
    /// and length, both become one animation, of the mesh and the joints.
    pub(super) fn close_clip(&mut self, scene: &Scene, clip: &Clip, extras: Extras) {
        let fits = |range: &NamedRange| {
            range.name == clip.name
                && clip.start == 0.0
                && (range.end - range.start - clip.duration()).abs() < 1e-3
        };
        let mut all = self.animations.iter_mut();
        let own = all.find(|a| a.name.as_deref() == Some(&*clip.name) && a.extras.is_none());
        let Some(own) = own.filter(|_| scene.ranges.iter().any(fits)) else {
            return self.close_animation(&clip.name, extras);
        };
        let first = own.samplers.len() as u32;
        own.samplers.append(&mut self.samplers);
        for mut channel in self.channels.drain(..) {
            channel.sampler = Index::new(first + channel.sampler.value() as u32);
            own.channels.push(channel);
        }
        own.extras = extras;
    }

    /// Returns the part of a sampler from the key at or before the start of a span to the last key in it.
    fn sampler_part(
        &mut self,
        sampler: &Sampler,
        [start, end]: [f32; 2],
        parts: &mut AccessorParts,
    ) -> Result<Option<Sampler>, Error> {
        let document = &mut self.meshes.document;
        let (input, output) = (sampler.input.value(), sampler.output.value());
        let Some(keys) = document.key_times.get(&input).filter(|k| !k.is_empty()) else {
            return Ok(None);
        };
        let from = keys.partition_point(|k| *k <= start).saturating_sub(1);
        let to = keys.partition_point(|k| *k <= end).saturating_sub(1);
        let to = to.max(from);
        let times: Vec<[f32; 1]> = keys[from..=to].iter().map(|k| [(k - start).max(0.0)]).collect();
        let all = keys.len();
        let at = (input, from, to, start.to_bits());
        let own_input = match parts.get(&at) {
            Some(known) => *known,
            None => document.floats(&times, AccessorUse::Animation, true)?,
        };
        parts.insert(at, own_input);
        let at = (output, from, to, u32::MAX);
        let own_output = match parts.get(&at) {
            Some(known) => *known,
            None => {
                let mut accessor = document.root.accessors[output].clone();
                // Weights have several numbers per key.
                let of_key = accessor.count.0 as usize / all;
                let bytes = match accessor.type_ {
                    Valid(Type::Vec3) => 12,
                    Valid(Type::Vec4) => 16,
                    _ => 4,
                };
                let before = accessor.byte_offset.map_or(0, |offset| offset.0);
                accessor.byte_offset = Some(USize64(before + (from * of_key * bytes) as u64));
                accessor.count = USize64::from((to - from + 1) * of_key);
                Index::push(&mut document.root.accessors, accessor)
            }
        };
        parts.insert(at, own_output);
        Ok(Some(Sampler { input: own_input, output: own_output, ..sampler.clone() }))
    }
}
