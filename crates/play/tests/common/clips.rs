//! Clips with every kind of sub-track, made directly by `codec`: any residuals decode.

use super::Parts;
use meshreel::Transform;
use meshreel::clip::{Clip, ClipCodec, ClipRecord, SkeletonRecord};
use meshreel::raw::format::kind;
use meshreel::raw::record::Description;
use meshreel_codec::clip::layer::{LayerRecord, LayerTable, TierPart};
use meshreel_codec::clip::random_access::{Origin, SEGMENT_SAMPLES, UnpackedSegment};
use meshreel_codec::clip::record::{encode_clip, encode_skeleton};
use meshreel_codec::clip::scalars::{Marker, ScalarComponent, ScalarTrack, ScalarsRecord};
use meshreel_codec::clip::streamed::{ClipLayout, SampleResiduals, SubTrackKind};
use meshreel_codec::clip::{
    ClipHeader, ClipSplit, ComponentSource, RotationAxis, RotationSubTrack, SmallestThree, VectorSubTrack,
    layer, random_access, scalars, streamed,
};
use meshreel_codec::entropy::block::BlockFormat;
use std::sync::Arc;

/// Samples per second.
pub const FPS: f64 = 30.0;

fn skeleton(joints: usize) -> SkeletonRecord {
    let rest = |j: usize| Transform { translation: [0.5, 10.0, j as f32 * 0.25], ..Transform::IDENTITY };
    SkeletonRecord {
        name: "chain".into(),
        names: (0..joints).map(|j| format!("j{j}")).collect(),
        parents: (0..joints as u32).map(|j| j.checked_sub(1 + j % 2).unwrap_or(u32::MAX)).collect(),
        rest: (0..joints).map(rest).collect(),
        shell: vec![3.0; joints],
        end_sites: vec![Vec::new(); joints],
        ..SkeletonRecord::default()
    }
}

/// Returns a plan with every kind of sub-track in turn.
fn plan(skeleton: &SkeletonRecord, samples: usize, layer_of: &[u8]) -> ClipLayout {
    let joints = skeleton.parents.len();
    let rest = SmallestThree::new([0.1, 0.7, 0.1, 0.7]);
    let (axis, second) = (RotationAxis::new([0.6, 0.0, 0.8]), RotationAxis::new([0.0, 1.0, 0.0]));
    let rotation = |j: usize| match j % 5 {
        0 | 4 => RotationSubTrack::Free,
        1 => RotationSubTrack::Hinge { rest, axis },
        2 => RotationSubTrack::TwoAxes { rest, first: axis, second },
        _ => RotationSubTrack::Default,
    };
    let vector = |moves: bool| {
        if moves { VectorSubTrack::Animated } else { VectorSubTrack::Default }
    };
    let mut header = ClipHeader {
        samples: samples as u32,
        fps: FPS,
        start: 0.0,
        base: 0.05,
        spread: 5,
        segment_log2: 4,
        fine: Vec::new(),
        rotations: (0..joints).map(rotation).collect(),
        translations: (0..joints).map(|j| vector(j % 7 == 0)).collect(),
        scales: (0..joints).map(|j| vector(j % 9 == 4)).collect(),
        sources: Vec::new(),
        starts: Vec::new(),
        split: ClipSplit { layers: layer_of.to_vec(), ..ClipSplit::default() },
    };
    let components = header.components();
    header.sources = vec![[ComponentSource::default(); 2]; components];
    header.starts = vec![0; components];
    ClipLayout::new(&skeleton.skeleton(), header).unwrap()
}

struct Random(u64);

impl Random {
    /// Returns a value within ±`most`.
    fn next(&mut self, most: i32) -> i32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as i32 % (most + 1) * if self.0 >> 32 & 1 == 0 { 1 } else { -1 }
    }
}

/// Returns random segments of the random-access form.
fn any_segments(plan: &ClipLayout, joints: usize) -> Vec<UnpackedSegment> {
    let samples = plan.header.samples as usize;
    let mut random = Random(joints as u64);
    let mut segments = Vec::new();
    for first in (0..samples).step_by(SEGMENT_SAMPLES) {
        let count = (samples - first).min(SEGMENT_SAMPLES);
        let origin = |kind: SubTrackKind, random: &mut Random| match kind {
            SubTrackKind::Free => {
                let q = [0, 1, 2, 3].map(|_| f64::from(random.next(100)) + 0.5);
                let n = q.iter().map(|v| v * v).sum::<f64>().sqrt();
                Origin::rotation(q.map(|v| v / n))
            }
            SubTrackKind::Hinge | SubTrackKind::TwoAxes => {
                Origin::Angles([random.next(i32::MAX - 1), random.next(1 << 28)])
            }
            SubTrackKind::Translation => Origin::Vector([0, 1, 2].map(|_| random.next(1000) as f32 * 0.1)),
            SubTrackKind::Scale => Origin::Vector([1.0, 1.5, 0.5]),
        };
        segments.push(UnpackedSegment {
            factor: 100 + (first % 97) as u8,
            origins: plan.sub_tracks.iter().map(|g| origin(g.kind, &mut random)).collect(),
            k: (0..count * plan.components).map(|i| random.next(3 + (i % 60) as i32)).collect(),
        });
    }
    segments
}

/// Returns a clip in the random-access form in memory.
pub fn random_access_clip(joints: usize, samples: usize) -> Clip {
    let skeleton = skeleton(joints);
    let plan = plan(&skeleton, samples, &[]);
    let bytes = random_access::encode(&plan, &any_segments(&plan, joints)).unwrap();
    Clip::from_random_access(&Arc::new(skeleton), &[&bytes]).unwrap()
}

/// Returns a file of one clip in the random-access form, in one piece or in two layers of half of the joints
/// each. Every fourth joint of the layers is stepped if `stepped`.
pub fn random_access_file(joints: usize, samples: usize, layers: usize, stepped: bool) -> Parts {
    let skeleton = skeleton(joints);
    let layer_of: Vec<u8> = match layers {
        1 => Vec::new(),
        _ => (0..joints).map(|j| u8::from(2 * j > joints)).collect(),
    };
    let plan = plan(&skeleton, samples, &layer_of);
    let segments = any_segments(&plan, joints);
    let (mut stored, mut chunks) = (Vec::new(), Vec::new());
    if layers == 1 {
        stored = random_access::encode(&plan, &segments).unwrap();
    } else {
        let part =
            |layer: u8| random_access::extract_layer(&skeleton.skeleton(), &plan, layer, &segments).unwrap();
        let ((base, base_segments), (upper, upper_segments)) = (part(0), part(1));
        stored.extend(random_access::encode(&base, &base_segments).unwrap());
        let piece = random_access::encode_body(&upper, &upper_segments).unwrap();
        let record =
            |name: &str, header: Vec<u8>| LayerRecord { name: name.into(), header, ..LayerRecord::default() };
        let table = LayerTable {
            clip: 0,
            samples: samples as u32,
            layers: vec![record("base", Vec::new()), record("upper", layer::header_bytes(&upper.header))],
            tier_parts: vec![TierPart {
                layer: 1,
                size: piece.len() as u32,
                segments: samples.div_ceil(SEGMENT_SAMPLES) as u32,
                ..TierPart::default()
            }],
            stepped: (0..joints).map(|j| stepped && j % 4 == 3).collect(),
            joint_layers: layer_of,
            interleaved: false,
        };
        let mut bytes = Vec::new();
        layer::encode(&table, &mut bytes);
        chunks.extend([(kind::LAYERS, bytes), (kind::TIERS, piece)]);
    }
    let (mut clip, mut bones) = (Vec::new(), Vec::new());
    let record = ClipRecord {
        name: "test".into(),
        codec: ClipCodec::RandomAccess,
        requested_tolerance: 0.05,
        tolerance: 0.05,
        ..ClipRecord::default()
    };
    encode_clip(&record, &stored, &mut clip);
    encode_skeleton(&skeleton, &mut bones);
    chunks.splice(0..0, [(kind::SKELETON, bones), (kind::CLIP, clip)]);
    Parts { description: Description::default(), chunks, frames: Vec::new(), format: BlockFormat::Store }
}

/// Returns the scalar tracks and markers of [`file`].
pub fn scalars_record(samples: usize) -> ScalarsRecord {
    let marker = |(name, time): (&str, f64)| Marker { name: name.into(), time };
    ScalarsRecord {
        clip: 0,
        samples: samples as u32,
        tracks: vec![
            ScalarTrack {
                name: "blink".into(),
                components: vec![ScalarComponent::Animated {
                    low: -1.0,
                    step: 0.25,
                    k: (0..samples as i32).map(|i| i * i % 23).collect(),
                }],
            },
            ScalarTrack {
                name: "colour".into(),
                components: vec![
                    ScalarComponent::Constant(0.5),
                    ScalarComponent::Zero,
                    ScalarComponent::Constant(2.0),
                    ScalarComponent::Zero,
                ],
            },
        ],
        markers: [("start", 0.0), ("left", 0.1), ("right", 0.25), ("right", 0.25)].map(marker).to_vec(),
    }
}

/// Returns a file of one clip in the streamed form.
pub fn file(joints: usize, samples: usize, extras: Option<&ScalarsRecord>) -> Parts {
    let skeleton = skeleton(joints);
    let plan = plan(&skeleton, samples, &[]);
    let mut random = Random(7 + joints as u64);
    let mut residuals = |most: i32| SampleResiduals {
        shift: 0,
        k: (0..plan.components).map(|_| random.next(most)).collect(),
    };
    let keys: Vec<SampleResiduals> = (0..plan.keys()).map(|_| residuals(30)).collect();
    let segments: Vec<Vec<SampleResiduals>> =
        (0..plan.segments()).map(|s| plan.segment_steps(s).map(|_| residuals(2)).collect()).collect();
    let (mut stored, mut clip, mut bones) = (Vec::new(), Vec::new(), Vec::new());
    streamed::encode(&plan, &keys, &segments, &mut stored);
    let record = ClipRecord {
        name: "test".into(),
        skeleton: 0,
        requested_tolerance: 0.05,
        tolerance: 0.05,
        ..ClipRecord::default()
    };
    encode_clip(&record, &stored, &mut clip);
    encode_skeleton(&skeleton, &mut bones);
    let mut chunks = vec![(kind::SKELETON, bones), (kind::CLIP, clip)];
    if let Some(extras) = extras {
        let mut bytes = Vec::new();
        scalars::encode(extras, &mut bytes);
        chunks.push((kind::SCALARS, bytes));
    }
    Parts { description: Description::default(), chunks, frames: Vec::new(), format: BlockFormat::Zstd }
}
