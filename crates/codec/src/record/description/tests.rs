//! Tests of descriptions: round trips, and no bytes make the reader panic.

use super::{USUAL_LINES, lengthened, shortened};
use crate::Corrupt;
use crate::bytes::put_varint;
use crate::quantize::scalar::Axis;
use crate::record::*;
use crate::transform::Transform;
use proptest::prelude::*;

fn sample() -> Description {
    let axis = Axis { min: -1.0, step: 0.01, codes: 201 };
    let stream = |semantic: Semantic, animated, word, bits| StreamRecord {
        semantic,
        set: 0,
        name: "map1".into(),
        animated,
        coding: Coding::Quantized,
        word,
        bits,
        axes: if semantic.has_axes() { vec![axis; semantic.components()] } else { vec![] },
        states: 0,
        bones: BoneCounts::default(),
        tolerance: 1e-4,
    };
    Description {
        generator: "meshreel 0.1.0".into(),
        options: "tolerance = 0.01%\n".into(),
        unit: 2,
        fps: 29.97,
        period: 0.0,
        restart: 4,
        node_setup: vec![1, 2, 3],
        nodes: vec![
            NodeRecord {
                path: "/root".into(),
                parent: None,
                mesh: None,
                animated: true,
                visibility: Visibility::Always,
                rest: Transform { translation: [1.0, 2.0, -0.0], ..Transform::IDENTITY },
                tolerance: 0.0,
                baked: false,
                reach: 0.0,
            },
            NodeRecord {
                path: "/root/größe".into(),
                parent: Some(0),
                mesh: Some(0),
                animated: false,
                visibility: Visibility::Animated,
                rest: Transform::IDENTITY,
                tolerance: 0.5,
                baked: true,
                reach: 0.0,
            },
        ],
        meshes: vec![MeshRecord {
            path: "/root/größe/Shape".into(),
            method: Method::Soft,
            codec: CODEC_CLASSIC,
            vertices: 300,
            indices: 600,
            points: 120,
            source_points: 280,
            bounds: [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0],
            connectivity: ChunkLocation { chunk: 1, offset: 0, size: 812 },
            values: ChunkLocation { chunk: 2, offset: 77, size: 4000 },
            source_map: ChunkLocation::default(),
            has_table: true,
            remeshed_blend_frames: Some(300),
            separate_attributes: true,
            particles: None,
            moving_frames: Some([3, 200]),
            end_states: ChunkLocation { chunk: 9, offset: 5, size: 300 },
            streams: vec![
                stream(Semantic::Position, true, 2, 8),
                stream(Semantic::QTangent, true, 2, 10),
                stream(Semantic::Uv, false, 2, 16),
                stream(Semantic::Colour, false, 1, 8),
                stream(Semantic::Normal, false, 1, 8),
            ],
            materials: vec![
                MaterialRecord { id: 3, name: "mat_3".into(), first: 0, count: 300 },
                MaterialRecord { id: 4, name: String::new(), first: 300, count: 300 },
            ],
        }],
    }
}

fn bytes_of(d: &Description) -> Vec<u8> {
    let (mut bytes, mut again) = (Vec::new(), Vec::new());
    encode(d, &mut bytes);
    encode(d, &mut again);
    assert_eq!(bytes, again);
    bytes
}

#[test]
fn round_trips() {
    let d = sample();
    let back = decode(&bytes_of(&d)).unwrap();
    assert_eq!(back, d);
    assert!(back.nodes[0].rest.translation[2].is_sign_negative());
    let empty = Description::default();
    assert_eq!(decode(&bytes_of(&empty)), Ok(empty.clone()));
    let mut golden = vec![0; 4];
    golden.extend([0; 19]);
    assert_eq!(bytes_of(&empty), golden);
}

#[test]
fn damage() {
    let bytes = bytes_of(&sample());
    for cut in 0..bytes.len() {
        assert!(decode(&bytes[..cut]).is_err());
    }
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut bad = bytes.clone();
            bad[at] ^= 1 << bit;
            let _ = decode(&bad);
        }
        let mut bad = bytes.clone();
        bad[at] = 255;
        let _ = decode(&bad);
    }
}

#[test]
fn refuses_what_cannot_be() {
    type Change = fn(&mut Description);
    let changes: [Change; 16] = [
        |d| d.unit = 5,
        |d| d.fps = f64::NAN,
        |d| d.period = -1.0,
        |d| d.nodes[0].parent = Some(0),
        |d| d.nodes[1].parent = Some(9),
        |d| d.nodes[1].mesh = Some(1),
        |d| d.nodes[0].rest.scale[1] = f32::INFINITY,
        |d| d.meshes[0].indices = 601,
        |d| d.meshes[0].bounds[3] = f32::NAN,
        |d| d.meshes[0].codec = 3,
        |d| d.meshes[0].values.size = u32::MAX,
        |d| d.meshes[0].streams[0].word = 3,
        |d| d.meshes[0].streams[0].bits = 7,
        |d| d.meshes[0].streams[0].axes[0].codes = 0,
        |d| d.meshes[0].materials[1].count = 303,
        |d| d.meshes[0].streams.swap(0, 1),
    ];
    for (k, change) in changes.iter().enumerate() {
        let mut d = sample();
        change(&mut d);
        assert!(decode(&bytes_of(&d)).is_err(), "change {k}");
    }
}

#[test]
fn counts_are_not_believed() {
    let mut bytes = vec![0; 22];
    put_varint(u32::MAX, &mut bytes);
    assert_eq!(decode(&bytes), Err(Corrupt("description: more items than bytes").into()));
}

proptest! {
    #[test]
    fn any_bytes_are_safe(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = decode(&bytes);
    }

    #[test]
    fn numbers_come_back(vertices: u32, offset in 0u32..1 << 31, tolerance in 0.0f64..1e9, step in 0.0f32..1e9, id: u32) {
        let mut d = sample();
        d.meshes[0].vertices = vertices;
        d.meshes[0].values.offset = offset;
        d.meshes[0].streams[0].axes[1].step = step;
        d.meshes[0].materials[0].id = id;
        d.nodes[1].tolerance = tolerance;
        prop_assert_eq!(decode(&bytes_of(&d)), Ok(d));
    }
}

#[test]
fn usual_lines_of_options_take_a_byte() {
    let usual: String =
        USUAL_LINES.iter().filter(|l| !l.is_empty()).map(|line| format!("{line}\n")).collect();
    assert_eq!(shortened(&usual).len(), 10);
    for text in [
        "",
        "\n",
        "a",
        "preset = small",
        "preset = small\n",
        "\npreset = fast\n\nx = 1\neffort = 5\n",
        &usual,
    ] {
        assert_eq!(lengthened(&shortened(text)), text, "{text:?}");
    }
    assert_eq!(lengthened("\u{7}\u{0}\u{c}\n\u{9}ö"), "preset = small\n\u{0}\u{c}\neffort = 5\nö");
    let format = include_str!("../../../../../docs/FORMAT/mesh.md");
    let rows = (0..).zip(USUAL_LINES).filter(|(_, line)| !line.is_empty());
    let rows: String = rows.map(|(number, line)| format!("{number} {line}\n")).collect();
    assert!(format.contains(&format!("```usual lines\n{rows}```\n")));
}
