//! Any bytes can be opened: errors or correct data, never a panic, and no more memory than the limits allow.

use crate::common::{Parts, Sample, assert_shows, open, sample, touch_everything};
use meshreel::raw::record::{ChunkLocation, Method, Semantic, Visibility};
use meshreel::raw::{format::kind, record};
use meshreel::{Error, FrameDecoder, Limits, Reel};
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

const FRAMES: usize = 8;
static SAMPLE: LazyLock<Sample> = LazyLock::new(|| sample(FRAMES, true));

/// Low limits, so that a huge size is refused and not merely survived.
fn limits() -> Limits {
    Limits::default().with_max_memory(64 << 20).with_max_vertices(1 << 20)
}

/// Opens a file, decodes all frames in two orders and reads everything, whether that works or not. Returns
/// the frames that decoded.
fn exercise(bytes: Vec<u8>) -> Result<Vec<usize>, Error> {
    let reel = Reel::from_source(Arc::new(bytes), &limits())?;
    for mesh in 0..reel.description().meshes.len() {
        let _ = reel.source_map(mesh);
    }
    let mut decoder = FrameDecoder::new(&reel)?;
    touch_everything(&decoder);
    let mut decoded = Vec::new();
    let frames = reel.frame_count();
    for frame in (0..frames).chain((0..frames).rev()) {
        if decoder.decode(frame).is_ok() {
            assert_eq!(decoder.frame(), Some(frame));
            decoded.push(frame);
        } else {
            assert_eq!(decoder.frame(), None);
        }
        touch_everything(&decoder);
    }
    Ok(decoded)
}

#[test]
fn every_truncation_is_refused() {
    let bytes = SAMPLE.parts.write();
    for len in 0..bytes.len() {
        let error = open(bytes[..len].to_vec()).expect_err("it is cut");
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn every_flipped_byte_gives_an_error_or_the_right_data() {
    let bytes = SAMPLE.parts.write();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        let Ok(reel) = open(damaged) else { continue };
        let Ok(mut decoder) = FrameDecoder::new(&reel) else {
            continue;
        };
        for frame in 0..FRAMES {
            if decoder.decode(frame).is_ok() {
                assert_shows(&decoder, &SAMPLE.expected[frame]);
            }
        }
    }
}

/// Damages the bytes of a frame in the file.
fn damage_frame(bytes: &mut [u8], frame: usize) {
    let reel = open(bytes.to_vec()).unwrap();
    let entry = *reel.frame_chunk(frame);
    bytes[entry.offset as usize + entry.size as usize / 2] ^= 0x10;
}

#[test]
fn a_damaged_frame_harms_only_those_that_need_it() {
    let mut bytes = SAMPLE.parts.write();
    damage_frame(&mut bytes, 2);
    let reel = open(bytes).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    // Index frames 0, 5, 7: 2 is damaged, 3 and 4 follow from it.
    for frame in [0, 1, 2, 1, 0, 3, 6, 4, 5, 2, 7, 2, 2, 1] {
        let result = decoder.decode(frame);
        if (2..=4).contains(&frame) {
            let message = result.expect_err("it is damaged").to_string();
            assert!(message.contains("frame 2"), "{message}");
            assert_eq!(decoder.frame(), None);
            touch_everything(&decoder);
        } else {
            result.unwrap();
            assert_shows(&decoder, &SAMPLE.expected[frame]);
        }
    }
}

#[test]
fn errors_name_frame_and_mesh() {
    // Cut within the last mesh's bytes, behind the checksums.
    let mut parts = SAMPLE.parts.clone();
    let content = &mut parts.frames[4].2;
    content.truncate(content.len() - 5);
    let reel = open(parts.write()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let message = decoder.decode(4).expect_err("it is cut").to_string();
    assert!(message.contains("frame 4"), "{message}");
    assert!(message.contains("/water"), "{message}");
    decoder.decode(3).unwrap();
    assert_shows(&decoder, &SAMPLE.expected[3]);

    // Left-over bytes are as wrong as missing ones.
    parts.frames[4].2.extend([0; 9]);
    let reel = open(parts.write()).unwrap();
    assert!(FrameDecoder::new(&reel).unwrap().decode(4).is_err());
}

#[test]
fn flipped_content_behind_the_checksums_never_panics() {
    let mut cases = 0;
    for stride in [1usize, 2] {
        for frame in 0..FRAMES {
            let len = SAMPLE.parts.frames[frame].2.len();
            for at in (frame % 13 * stride..len).step_by(97) {
                let mut parts = SAMPLE.parts.clone();
                parts.frames[frame].2[at] ^= 1 << ((at + stride) % 8);
                let _ = exercise(parts.write());
                cases += 1;
            }
        }
    }
    for chunk in 0..SAMPLE.parts.chunks.len() {
        let len = SAMPLE.parts.chunks[chunk].1.len();
        for at in (0..len).step_by(23) {
            let mut parts = SAMPLE.parts.clone();
            parts.chunks[chunk].1[at] ^= 1 << (at % 8);
            let _ = exercise(parts.write());
            cases += 1;
        }
    }
    assert!(cases > 100);
}

fn refused(change: impl Fn(&mut Parts)) -> Error {
    let mut parts = SAMPLE.parts.clone();
    change(&mut parts);
    let reel = Reel::from_source(Arc::new(parts.write()), &limits());
    match reel.and_then(|reel| FrameDecoder::new(&reel)) {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error,
    }
}

#[test]
fn limits_are_held_before_anything_is_allocated() {
    let huge = refused(|p| p.description.meshes[0].vertices = u32::MAX);
    assert!(matches!(huge, Error::Limit { .. }), "{huge}");
    let huge = refused(|p| {
        let mesh = &mut p.description.meshes[3];
        mesh.indices = u32::MAX / 3 * 3;
        mesh.materials.clear();
    });
    assert!(matches!(huge, Error::Limit { .. }), "{huge}");

    let bytes = SAMPLE.parts.write();
    let exact = open(bytes.clone()).unwrap().memory();
    let with = |limits: Limits| Reel::from_source(Arc::new(bytes.clone()), &limits);
    let memory = |max_memory| Limits::default().with_max_memory(max_memory);
    assert!(with(memory(exact)).is_ok());
    let error = with(memory(exact - 1)).expect_err("one byte less");
    let Error::Limit { asked, allowed, .. } = error else {
        panic!("{error}");
    };
    assert_eq!((asked, allowed), (exact, exact - 1));
    let objects = Limits::default().with_max_objects(10);
    assert!(matches!(with(objects), Err(Error::Limit { .. })));
    let vertices = Limits::default().with_max_vertices(157);
    assert!(matches!(with(vertices), Err(Error::Limit { .. })));
    let mut chunk = Limits::default();
    chunk.format.max_chunk = 100;
    assert!(matches!(with(chunk), Err(Error::Limit { .. })));
}

#[test]
fn unknown_codecs_and_methods_are_named() {
    let error = refused(|p| p.description.meshes[1].codec = 7);
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("codec 7"), "{error}");

    // A number that no method has, in place of a static one.
    let mut content = Vec::new();
    record::encode(&SAMPLE.parts.description, &mut content);
    let path = b"/root/rock\0";
    let at = (content.windows(path.len()).rposition(|w| w == path)).unwrap() + path.len() - 1;
    content[at] = 7;
    let error = open(SAMPLE.parts.write_with(&content)).expect_err("method 7");
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("method 7"), "{error}");
}

#[test]
fn descriptions_that_contradict_the_file_are_refused() {
    let beyond = ChunkLocation { chunk: 2, offset: u32::MAX, size: u32::MAX };
    let mut errors = vec![
        refused(|p| p.description.meshes[0].values = beyond),
        refused(|p| p.description.meshes[0].connectivity.chunk = 99),
        refused(|p| p.description.meshes[0].connectivity.chunk = 2),
        refused(|p| p.description.meshes[0].connectivity.size += 1),
        refused(|p| p.description.meshes[0].connectivity.size -= 1),
        refused(|p| p.description.meshes[0].values.size -= 1),
        refused(|p| p.description.meshes[0].values.offset += 1),
        refused(|p| p.description.meshes[2].streams[0].animated = true),
        refused(|p| p.description.meshes[2].streams.swap(0, 1)),
        refused(|p| p.description.meshes[0].streams[3].set = 0),
        refused(|p| p.description.meshes[0].streams.clear()),
        refused(|p| p.chunks[0].0 = kind::VALUES),
        refused(|p| p.chunks.push((kind::DESCRIPTION, vec![0; 10]))),
    ];
    // One vertex less: the indices reach beyond.
    errors.push(refused(|p| p.description.meshes[2].vertices -= 1));
    for error in errors {
        let wrong = matches!(error, Error::Malformed { .. } | Error::Unsupported { .. });
        assert!(wrong, "{error}");
    }
}

/// One change of one value, which random bytes seldom reach.
#[derive(Debug, Clone)]
struct Change {
    what: u8,
    mesh: usize,
    stream: usize,
    node: usize,
    value: u32,
}

fn change() -> impl Strategy<Value = Change> {
    let value = prop_oneof![
        Just(0u32),
        Just(1),
        Just(u32::MAX),
        Just(u32::MAX - 1),
        Just(3),
        0u32..300,
        any::<u32>(),
    ];
    (0u8..22, 0usize..4, 0usize..5, 0usize..7, value).prop_map(|(what, mesh, stream, node, value)| Change {
        what,
        mesh,
        stream,
        node,
        value,
    })
}

fn apply(parts: &mut Parts, change: &Change) {
    let value = change.value;
    let mesh = &mut parts.description.meshes[change.mesh];
    let streams = mesh.streams.len();
    let stream = &mut mesh.streams[change.stream % streams];
    let node = &mut parts.description.nodes[change.node];
    match change.what {
        0 => mesh.vertices = value,
        1 => mesh.indices = value,
        2 => mesh.source_points = value,
        3 => mesh.connectivity.chunk = value,
        4 => mesh.connectivity.offset = value,
        5 => mesh.connectivity.size = value,
        6 => mesh.values.offset = value,
        7 => mesh.values.size = value,
        8 => mesh.source_map.offset = value,
        9 => mesh.has_table ^= true,
        10 => stream.word = value as u8,
        11 => stream.bits = value as u8,
        12 => stream.animated ^= true,
        13 => {
            let axis = stream.axes.first_mut();
            let Some(axis) = axis else { return };
            (axis.codes, axis.step) = (value, f32::from_bits(value));
        }
        14 => stream.set = value as u8,
        15 => stream.semantic = Semantic::Colour,
        16 => mesh.method = [Method::Static, Method::Soft, Method::Fluid][value as usize % 3],
        17 => node.parent = Some(value & 0xFFFF),
        18 => node.mesh = Some(value & 0xFFFF),
        19 => node.visibility = Visibility::Animated,
        20 => node.animated ^= true,
        _ => {
            if let Some(material) = mesh.materials.first_mut() {
                (material.first, material.count) = (value, value);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn changed_descriptions_never_panic(changes in prop::collection::vec(change(), 1..4)) {
        let mut parts = SAMPLE.parts.clone();
        for change in &changes {
            apply(&mut parts, change);
        }
        let _ = exercise(parts.write());
    }

    #[test]
    fn changed_description_bytes_never_panic(at in any::<prop::sample::Index>(), byte: u8) {
        let mut content = Vec::new();
        record::encode(&SAMPLE.parts.description, &mut content);
        let at = at.index(content.len());
        content[at] = byte;
        let _ = exercise(SAMPLE.parts.write_with(&content));
    }

    #[test]
    fn cut_content_never_panics(frame in 0..FRAMES, at in any::<prop::sample::Index>()) {
        let mut parts = SAMPLE.parts.clone();
        let content = &mut parts.frames[frame].2;
        content.truncate(at.index(content.len()));
        let decoded = exercise(parts.write()).unwrap();
        prop_assert!(!decoded.contains(&frame));
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(exercise(bytes.clone()).is_err());
        let mut parts = SAMPLE.parts.clone();
        parts.frames[3].2 = bytes;
        let _ = exercise(parts.write());
    }
}
