//! Frames in any order are bit-identical to what was encoded.

use crate::common::faults::Random;
use crate::common::{assert_shows, open, sample, sample_with, touch_everything};
use meshreel::view::QuantizedValues;
use meshreel::{FrameDecoder, FrameKind, Reel};
use meshreel_codec::entropy::block::BlockFormat;

const FRAMES: usize = 14;

fn shows(decoder: &mut FrameDecoder, sample: &crate::common::Sample, frame: usize) {
    decoder.decode(frame).unwrap();
    assert_eq!(decoder.frame(), Some(frame));
    assert_shows(decoder, &sample.expected[frame]);
}

#[test]
fn forward_backward_and_random_order_are_identical() {
    for fluid in [false, true] {
        let sample = sample(FRAMES, fluid);
        let reel = open(sample.parts.write()).unwrap();
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        for frame in 0..FRAMES {
            shows(&mut decoder, &sample, frame);
        }
        for frame in (0..FRAMES).rev() {
            shows(&mut decoder, &sample, frame);
        }
        for step in [2, 3, 5, 7, 11] {
            for frame in 0..FRAMES {
                shows(&mut decoder, &sample, frame * step % FRAMES);
            }
        }
        // Every pair of frames one after the other, on one decoder and on a new one.
        for first in 0..FRAMES {
            for second in 0..FRAMES {
                shows(&mut decoder, &sample, first);
                shows(&mut decoder, &sample, second);
            }
            let mut fresh = FrameDecoder::new(&reel).unwrap();
            shows(&mut fresh, &sample, first);
        }
        touch_everything(&decoder);
    }
}

/// Steps forward and backward, near and far jumps: each frame decodes whatever was decoded before it.
#[test]
fn no_walk_leads_to_a_frame_that_is_refused() {
    const FRAMES: usize = 40;
    let index_every = |n: usize| {
        let index = move |f: usize| f.is_multiple_of(n) || f + 1 == FRAMES;
        (0..FRAMES).map(index).collect::<Vec<bool>>()
    };
    let mut random = Random(3);
    let uneven = |random: &mut Random| {
        let index = |f| f == 0 || f + 1 == FRAMES || random.one_in(7);
        (0..FRAMES).map(index).collect::<Vec<bool>>()
    };
    let mut kinds: Vec<Vec<bool>> = [2, 3, 4, 5, 9, 16, 39].map(index_every).into();
    kinds.extend([uneven(&mut random), uneven(&mut random)]);
    for (k, index) in kinds.iter().enumerate() {
        let kind = |&index: &bool| match index {
            true => FrameKind::Index,
            false => FrameKind::Predicted,
        };
        let frames: Vec<FrameKind> = index.iter().map(kind).collect();
        let sample = sample_with(&frames, k == 0, 4);
        let reel = open(sample.parts.write()).unwrap();
        for seed in 0..3 {
            let mut decoder = FrameDecoder::new(&reel).unwrap();
            for frame in walk(FRAMES, 500, seed) {
                shows(&mut decoder, &sample, frame);
            }
        }
    }
}

/// Returns frames in random order.
fn walk(frames: usize, steps: usize, seed: u64) -> Vec<usize> {
    let mut random = Random(seed);
    let (mut at, mut forward) = (0, true);
    let step = |_| {
        match random.below(8) {
            0 => forward = !forward,
            1 => at = random.below(frames),
            2 => at = (at + random.below(7)).saturating_sub(3),
            _ => at = if forward { at + 1 } else { at.saturating_sub(1) },
        }
        at = at.min(frames - 1);
        at
    };
    (0..steps).map(step).collect()
}

#[test]
fn every_block_format_decodes() {
    for format in [BlockFormat::Store, BlockFormat::Deflate, BlockFormat::Lz4, BlockFormat::Zstd] {
        let mut sample = sample(7, true);
        sample.parts.format = format;
        let reel = open(sample.parts.write()).unwrap();
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        for frame in [6, 3, 0, 4] {
            shows(&mut decoder, &sample, frame);
        }
    }
}

#[test]
fn one_frame_and_no_frame() {
    let mut one = sample(1, true);
    let reel = open(one.parts.write()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    shows(&mut decoder, &one, 0);
    assert!(matches!(decoder.decode(1), Err(meshreel::Error::Misuse { .. })));
    shows(&mut decoder, &one, 0);

    one.parts.frames.clear();
    let reel = open(one.parts.write()).unwrap();
    assert_eq!(reel.frame_count(), 0);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    assert!(matches!(decoder.decode(0), Err(meshreel::Error::Misuse { .. })));
    touch_everything(&decoder);
}

#[test]
fn before_the_first_frame_the_static_data_is_shown() {
    let sample = sample(6, true);
    let reel = open(sample.parts.write()).unwrap();
    let decoder = FrameDecoder::new(&reel).unwrap();
    assert_eq!(decoder.frame(), None);
    let mut expected = sample.expected[0].clone();
    expected.visible = vec![true, true, true, false, false, false, false];
    let fluid = &mut expected.meshes[3];
    fluid.vertices = 0;
    fluid.indices.clear();
    fluid.materials.clear();
    fluid.streams.iter_mut().for_each(Vec::clear);
    assert_shows(&decoder, &expected);
}

#[test]
fn worlds_are_the_chain_of_transforms() {
    let sample = sample(4, true);
    let reel = open(sample.parts.write()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(2).unwrap();
    let transforms = &sample.expected[2].transforms;
    // The hand's ancestors: root, arm, hand.
    let mut point = [0.25, -0.5, 1.0];
    for node in [3, 2, 0] {
        let matrix = transforms[node].matrix();
        point = matrix.map(|[x, y, z, w]| x * point[0] + y * point[1] + z * point[2] + w);
    }
    let world = decoder.world(3).map(|[x, y, z, w]| 0.25 * x - 0.5 * y + z + w);
    for (a, b) in point.iter().zip(world) {
        assert!((a - b).abs() < 1e-12, "{point:?} {world:?}");
    }
    assert_eq!(decoder.world(6), decoder.transform(6).matrix());
}

#[test]
fn floats_are_what_the_lattice_says() {
    let sample = sample(6, true);
    let reel = open(sample.parts.write()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(4).unwrap();
    let mesh = decoder.mesh(1);
    let n = mesh.vertex_count();
    let mut positions = vec![0.0; 3 * n];
    mesh.positions_into(&mut positions).unwrap();
    let QuantizedValues::U32(levels) = mesh.quantized(0) else {
        panic!("20 bits are kept in u32");
    };
    let axes = &mesh.record().streams[0].axes;
    for v in 0..n {
        for k in 0..3 {
            let value = axes[k].value(levels[k * n + v]);
            assert_eq!(positions[3 * v + k].to_bits(), value.to_bits());
        }
    }
    let mut normals = vec![0.0; 3 * n];
    for mesh in [mesh, decoder.mesh(2)] {
        normals.resize(3 * mesh.vertex_count(), 0.0);
        mesh.normals_into(&mut normals).unwrap();
        for normal in normals.as_chunks::<3>().0 {
            let length = normal.iter().map(|x| x * x).sum::<f32>().sqrt();
            assert!((length - 1.0).abs() < 1e-5);
        }
    }
    // Wrong lengths and missing channels are reported as misuse.
    let misuse = [
        mesh.positions_into(&mut positions[1..]),
        mesh.tangents_into(&mut vec![0.0; 4 * n]),
        mesh.uvs_into(0, &mut vec![0.0; 2 * n]),
        mesh.colours_into(0, &mut vec![0.0; 4 * n]),
        mesh.normals_into(&mut []),
    ];
    for result in misuse {
        assert!(matches!(result, Err(meshreel::Error::Misuse { .. })));
    }
}

#[test]
fn source_maps_and_sizes() {
    let sample = sample(3, true);
    let bytes = sample.parts.write();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.reel");
    std::fs::write(&path, &bytes).unwrap();
    let reel = Reel::open(&path, &meshreel::Limits::default()).unwrap();
    assert_eq!(reel.file_bytes(), bytes.len() as u64);
    assert_eq!(reel.path(), path);
    let chunks: u64 = (1..=4).map(|kind| reel.chunk_bytes(kind)).sum();
    assert!(chunks + reel.frame_bytes() < reel.file_bytes());
    let map = reel.source_map(0).unwrap().unwrap();
    assert_eq!(map.vertex_point, (0..81).collect::<Vec<_>>());
    assert!(reel.source_map(3).unwrap().is_none());
    assert!(reel.source_map(4).is_err());
    assert_eq!(reel.indices(2).unwrap(), crate::common::grid(4));
    assert!(reel.indices(3).unwrap().is_empty());
}

#[test]
fn public_types_can_be_sent_to_threads() {
    fn send<T: Send>() {}
    fn shared<T: Send + Sync>() {}
    fn error<T: std::error::Error + Send + Sync + 'static>() {}
    send::<meshreel::Player>();
    send::<FrameDecoder>();
    send::<meshreel::clip::ClipCursor>();
    send::<meshreel::clip::Database>();
    send::<meshreel::stream::Job>();
    send::<meshreel::stream::ReadRequest>();
    shared::<Reel>();
    shared::<meshreel::clip::Clip>();
    shared::<meshreel::FrameView<'_>>();
    shared::<meshreel::MeshRig>();
    shared::<meshreel::MeshView<'_>>();
    shared::<meshreel::Options>();
    shared::<meshreel::ShownFrames>();
    shared::<meshreel::time::sequencer::Sequencer>();
    error::<meshreel::Error>();
}

#[test]
fn decoders_can_be_sent_to_threads() {
    let sample = sample(FRAMES, true);
    let reel = open(sample.parts.write()).unwrap();
    std::thread::scope(|scope| {
        for start in [0, 4, 9] {
            let (reel, sample) = (&reel, &sample);
            scope.spawn(move || {
                let mut decoder = FrameDecoder::new(reel).unwrap();
                for frame in start..FRAMES {
                    shows(&mut decoder, sample, frame);
                }
            });
        }
    });
}
