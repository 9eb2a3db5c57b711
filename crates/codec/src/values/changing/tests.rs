//! Tests of changing meshes: any triangles are reproduced, damage is refused or harmless, and the size of
//! surfaces of balls that merge and separate.

use crate::quantize::scalar::Axis;
use crate::values::changing::*;
use crate::values::error_bound;
use proptest::prelude::*;
use std::collections::HashMap;

/// A frame, its streams, and their costs.
type Made = (DecodedFrame, Vec<Vec<u16>>, [u64; 3]);

/// Balls that move through each other, cut by marching tetrahedra: the points of each triangle, and the
/// positions of points.
pub(super) fn balls(side: usize, time: f32) -> (Vec<[u32; 3]>, Vec<[f32; 3]>) {
    let at = |i: usize| {
        let a = time * (0.6 + 0.2 * i as f32) + 1.3 * i as f32;
        [0.5 + 0.24 * a.cos(), 0.5 + 0.24 * (1.3 * a).sin(), 0.5 + 0.2 * (0.7 * a).cos()]
    };
    let field = |p: [f32; 3]| -> f32 {
        let one = |i: usize| {
            let c = at(i);
            let d: f32 = (0..3).map(|k| (p[k] - c[k]).powi(2)).sum();
            0.012 / (d + 1e-4)
        };
        (0..6).map(one).sum::<f32>() - 1.0
    };
    let n = side + 1;
    let place = |i: usize| [i % n, i / n % n, i / (n * n)].map(|x| x as f32 / side as f32);
    let values: Vec<f32> = (0..n * n * n).map(|i| field(place(i))).collect();
    let (mut points, mut number) = (Vec::new(), HashMap::new());
    let mut triangles = Vec::new();
    // Six tetrahedra around the diagonal of a cube.
    const PATHS: [[usize; 2]; 6] = [[1, 3], [3, 2], [2, 6], [6, 4], [4, 5], [5, 1]];
    for cube in 0..side * side * side {
        let low = cube % side + n * (cube / side % side) + n * n * (cube / (side * side));
        let corner = |c: usize| low + (c & 1) + n * (c >> 1 & 1) + n * n * (c >> 2);
        for path in PATHS {
            let tetra = [corner(0), corner(path[0]), corner(path[1]), corner(7)];
            let mut cut = |a: usize, b: usize| {
                let key = (tetra[a].min(tetra[b]), tetra[a].max(tetra[b]));
                *number.entry(key).or_insert_with(|| {
                    let (va, vb) = (values[key.0], values[key.1]);
                    let t = va / (va - vb);
                    let (a, b) = (place(key.0), place(key.1));
                    points.push([0, 1, 2].map(|k| a[k] + t * (b[k] - a[k])));
                    points.len() as u32 - 1
                })
            };
            let inside: Vec<usize> = (0..4).filter(|&i| values[tetra[i]] > 0.0).collect();
            let outside: Vec<usize> = (0..4).filter(|&i| values[tetra[i]] <= 0.0).collect();
            let mut polygon: Vec<u32> = match (&inside[..], &outside[..]) {
                (&[a], &[b, c, d]) => vec![cut(a, b), cut(a, c), cut(a, d)],
                (&[a, b], &[c, d]) => vec![cut(a, c), cut(a, d), cut(b, d), cut(b, c)],
                (&[a, b, c], &[d]) => vec![cut(a, d), cut(b, d), cut(c, d)],
                _ => continue,
            };
            // Oriented outwards: away from the inside.
            let p = |i: usize| points[polygon[i] as usize];
            let (u, w) = ([0, 1, 2].map(|k| p(1)[k] - p(0)[k]), [0, 1, 2].map(|k| p(2)[k] - p(0)[k]));
            let normal = [u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]];
            let from = place(tetra[inside[0]]);
            let away: f32 = (0..3).map(|k| normal[k] * (p(0)[k] - from[k])).sum();
            if away < 0.0 {
                polygon.reverse();
            }
            for i in 2..polygon.len() {
                triangles.push([polygon[0], polygon[i - 1], polygon[i]]);
            }
        }
    }
    (triangles, points)
}

/// A frame: triangles of vertices, the point of each vertex, the position of each point, the material of each
/// triangle.
#[derive(Clone, Debug, Default)]
struct TestMesh {
    triangles: Vec<[u32; 3]>,
    point: Vec<u32>,
    positions: Vec<[f32; 3]>,
    material: Vec<u32>,
    materials: usize,
}

impl TestMesh {
    fn new((triangles, places): (Vec<[u32; 3]>, Vec<[f32; 3]>)) -> TestMesh {
        TestMesh {
            triangles,
            point: (0..places.len() as u32).collect(),
            positions: places,
            material: Vec::new(),
            materials: 1,
        }
    }

    fn axes() -> [Axis; 3] {
        [Axis::new(-4.0, 4.0, 2e-3).unwrap(); 3]
    }
}

/// A decoded frame.
#[derive(Clone, Debug, Default, PartialEq)]
struct DecodedFrame {
    head: FrameHead,
    ranges: Vec<[u32; 2]>,
    indices: Vec<u32>,
    point: Vec<u32>,
    positions: Vec<u16>,
    normals: Vec<u8>,
}

impl DecodedFrame {
    fn empty(head: FrameHead, materials: usize) -> DecodedFrame {
        let split = head.points != head.vertices;
        DecodedFrame {
            head,
            ranges: vec![[0; 2]; materials],
            indices: vec![0; 3 * head.triangles as usize],
            point: vec![0; if split { head.vertices as usize } else { 0 }],
            positions: vec![0; 3 * head.vertices as usize],
            normals: vec![0; 2 * head.vertices as usize],
        }
    }

    fn triangles(&mut self) -> TriangleBuffers<'_> {
        TriangleBuffers { ranges: &mut self.ranges, indices: &mut self.indices, point: &mut self.point }
    }
}

/// Returns the triangles, each starting at its smallest corner, in sorted order.
fn sorted(list: Vec<[u32; 3]>) -> Vec<[u32; 3]> {
    let turned = list.into_iter().map(|t| {
        let least = (0..3).min_by_key(|&k| (t[k], t[(k + 1) % 3])).unwrap();
        [0, 1, 2].map(|k| t[(least + k) % 3])
    });
    let mut all: Vec<_> = turned.collect();
    all.sort_unstable();
    all
}

/// Asserts that a decoder has the triangles of the shape in another order, and the same points of vertices.
fn assert_same_triangles(shape: &TestMesh, frame: &DecodedFrame, order: &[u32]) {
    for (m, range) in frame.ranges.iter().enumerate() {
        let part = &frame.indices[range[0] as usize..][..range[1] as usize];
        let back = part.as_chunks().0.iter();
        let back = back.map(|t: &[u32; 3]| t.map(|v| order[v as usize]));
        let of = |t: &usize| shape.material.get(*t).is_none_or(|x| *x as usize == m);
        let want = (0..shape.triangles.len()).filter(of).map(|t| shape.triangles[t]);
        assert_eq!(sorted(back.collect()), sorted(want.collect()));
    }
    for (v, &p) in frame.point.iter().enumerate() {
        let first = frame.point.iter().position(|q| *q == p).unwrap();
        let [a, b] = [v, first].map(|v| shape.point[order[v] as usize]);
        assert_eq!(a, b);
    }
}

/// Encodes the positions of a shape; the chosen ones are within the radius.
fn write_positions(
    writer: &mut ChangingWriter<'_>,
    shape: &TestMesh,
    order: &[u32],
    frame: &mut DecodedFrame,
    work: &mut ChangingBuffers,
) {
    let axes = TestMesh::axes();
    let radius = error_bound::radius(2e-3, &axes);
    let count = order.len();
    let mut offset = vec![0.0; 3 * count];
    for (v, &old) in order.iter().enumerate() {
        let place = shape.positions[shape.point[old as usize] as usize];
        for k in 0..3 {
            let (value, off) = axes[k].locate(f64::from(place[k]));
            frame.positions[k * count + v] = value as u16;
            offset[k * count + v] = off;
        }
    }
    let nearest = frame.positions.clone();
    let wanted = InputValues {
        codes: &mut frame.positions,
        offset: &offset,
        radius,
        code_counts: [axes[0].codes; 4],
        grain: 1,
    };
    writer.stream(StreamPrediction::Positions, 3, &[], &frame.point, work, wanted);
    for v in 0..count {
        let off = (0..3).map(|k| {
            let at = k * count + v;
            let moved = f64::from(frame.positions[at]) - f64::from(nearest[at]);
            (moved - f64::from(offset[at])).powi(2)
        });
        let far = off.sum::<f64>().sqrt();
        assert!(far <= f64::from(radius).max(0.9), "{far}");
    }
}

/// Encodes a shape as the next frame of an access unit; returns the frame as it must be decoded.
fn write_frame(
    writer: &mut ChangingWriter<'_>,
    shape: &TestMesh,
    number: usize,
    normals: bool,
    work: &mut ChangingBuffers,
) -> Result<DecodedFrame, Corrupt> {
    let points: Vec<[u32; 3]> =
        (shape.triangles.iter()).map(|t| t.map(|v| shape.point[v as usize])).collect();
    let head = FrameHead {
        kind: 1,
        source_points: 7,
        run: number as u32,
        vertices: shape.point.len() as u32,
        points: shape.positions.len() as u32,
        triangles: shape.triangles.len() as u32,
    };
    writer.head(head);
    let mut frame = DecodedFrame::empty(head, shape.materials);
    let mut given =
        InputTopology::new(&shape.triangles, &points, &shape.point, shape.positions.len(), &shape.material);
    writer.triangles(head, work, &mut frame.triangles(), &mut given)?;
    assert_same_triangles(shape, &frame, &given.order);
    write_positions(writer, shape, &given.order, &mut frame, work);
    if normals {
        work.predict_normals(&frame.indices, &frame.positions, 8);
        frame.normals = (0..2 * given.order.len()).map(|i| (i * i % 251) as u8).collect();
        let wanted = InputValues {
            codes: &mut frame.normals,
            offset: &[],
            radius: 0.0,
            code_counts: [0; 4],
            grain: 1,
        };
        writer.stream(StreamPrediction::Normals, 2, &[], &frame.point, work, wanted);
    }
    Ok(frame)
}

/// Encodes frames that each bring their triangles. Returns the bytes, the frames as they must be decoded, and
/// the size of the first string.
fn encode_all(shapes: &[TestMesh], normals: bool) -> (Vec<u8>, Vec<DecodedFrame>, usize) {
    let mut out = Vec::new();
    let mut work = ChangingBuffers::default();
    let frames = encode(&mut out, |writer| -> Result<Vec<DecodedFrame>, Corrupt> {
        let frames = shapes.iter().enumerate();
        frames.map(|(n, shape)| write_frame(writer, shape, n, normals, &mut work)).collect()
    });
    let first = Cursor::new(&out).varint().unwrap() as usize;
    (out, frames.unwrap(), first)
}

/// Decodes as many frames as there are `materials`, of at most the sizes `most`.
fn decode_all(
    bytes: &[u8],
    materials: &[usize],
    most: FrameHead,
    normals: bool,
) -> Result<Vec<DecodedFrame>, Corrupt> {
    let mut work = ChangingBuffers::default();
    work.reserve(most.vertices as usize, 3 * most.triangles as usize);
    let mut reader = ChangingReader::new(bytes)?;
    let mut frames = Vec::new();
    for &materials in materials {
        let head = reader.head();
        if head.kind != 1
            || head.vertices > most.vertices
            || head.triangles > most.triangles
            || head.points > head.vertices
        {
            return Err(Corrupt("too large"));
        }
        let mut frame = DecodedFrame::empty(head, materials);
        reader.triangles(head, &mut work, &mut frame.triangles())?;
        reader.stream(StreamPrediction::Positions, 3, &[], &frame.point, &mut work, &mut frame.positions)?;
        if normals {
            work.predict_normals(&frame.indices, &frame.positions, 8);
            reader.stream(StreamPrediction::Normals, 2, &[], &frame.point, &mut work, &mut frame.normals)?;
        } else {
            frame.normals.fill(0);
        }
        frames.push(frame);
    }
    reader.finish()?;
    Ok(frames)
}

fn max_head(shapes: &[TestMesh]) -> FrameHead {
    FrameHead {
        vertices: shapes.iter().map(|s| s.point.len()).max().unwrap_or(0) as u32,
        triangles: shapes.iter().map(|s| s.triangles.len()).max().unwrap_or(0) as u32,
        ..FrameHead::default()
    }
}

fn round_trip(shapes: &[TestMesh], normals: bool) -> (Vec<u8>, usize) {
    let (bytes, frames, first) = encode_all(shapes, normals);
    assert_eq!(encode_all(shapes, normals).0, bytes);
    let materials: Vec<usize> = shapes.iter().map(|s| s.materials).collect();
    let back = decode_all(&bytes, &materials, max_head(shapes), normals).unwrap();
    assert!(back == frames);
    (bytes, first)
}

#[test]
fn balls_take_little() {
    for side in [12, 40] {
        let shapes: Vec<TestMesh> = (0..3).map(|t| TestMesh::new(balls(side, t as f32))).collect();
        let triangles: usize = shapes.iter().map(|s| s.triangles.len()).sum();
        let points: usize = shapes.iter().map(|s| s.positions.len()).sum();
        let (bytes, first) = round_trip(&shapes, false);
        let per_triangle = 8.0 * first as f64 / triangles as f64;
        let per_point = 8.0 * (bytes.len() - first) as f64 / points as f64;
        println!(
            "side {side}: {triangles} triangles, {per_triangle:.3} bits each; {points} points, {per_point:.2} bits each"
        );
        assert!(per_triangle < 2.5, "{per_triangle}");
    }
}

/// A shape in which each corner has its own vertex, so that points are shared and vertices are not; two
/// materials.
fn apart(side: usize) -> TestMesh {
    let (points, places) = balls(side, 0.4);
    let triangles = (0..points.len() as u32).map(|t| [3 * t, 3 * t + 1, 3 * t + 2]);
    TestMesh {
        triangles: triangles.collect(),
        point: points.as_flattened().to_vec(),
        material: (0..points.len() as u32).map(|t| u32::from(t % 7 < 3)).collect(),
        positions: places,
        materials: 3,
    }
}

#[test]
fn corners_can_part() {
    let mut some = apart(10);
    // Vertices that are shared by a whole point, by three points, and by none.
    let join = |v: u32| v % 5 > 1;
    let mut first: HashMap<u32, u32> = HashMap::new();
    for t in &mut some.triangles {
        for v in t.iter_mut().filter(|v| join(**v)) {
            *v = *first.entry(some.point[*v as usize]).or_insert(*v);
        }
    }
    some.positions.push([0.5; 3]);
    some.point.push(some.positions.len() as u32 - 1);
    some.point.push(3);
    round_trip(&[apart(6), some], true);
}

#[test]
fn edges_of_a_sheet_cost_little() {
    let side = 40u32;
    let at = |x: u32, y: u32| y * side + x;
    let cells = (0..(side - 1) * (side - 1)).map(|i| (i % (side - 1), i / (side - 1)));
    let triangles: Vec<[u32; 3]> = cells
        .flat_map(|(x, y)| {
            let corners = [at(x, y), at(x + 1, y), at(x + 1, y + 1), at(x, y + 1)];
            [[corners[0], corners[1], corners[2]], [corners[0], corners[2], corners[3]]]
        })
        .collect();
    let place = |i: u32| [(i % side) as f32 / 20.0, (i / side) as f32 / 20.0, 0.0];
    let shape = TestMesh::new((triangles, (0..side * side).map(place).collect()));
    let (bytes, first) = round_trip(&[shape], false);
    assert!(first < 100 && bytes.len() < 1500, "{first} {}", bytes.len());
}

#[test]
fn nothing_and_odd_triangles() {
    let places = |n: usize| (0..n).map(|i| [i as f32 * 0.1, 0.0, 1.0]).collect::<Vec<_>>();
    let odd: [&[[u32; 3]]; 7] = [
        &[],
        &[[0, 1, 2], [0, 1, 2], [2, 1, 0]],
        &[[0, 0, 0], [0, 0, 1], [1, 2, 2]],
        &[[0, 1, 2], [1, 0, 3], [0, 1, 4], [1, 0, 5]],
        &[[0, 1, 2], [3, 4, 5], [0, 3, 1], [1, 3, 4]],
        &[[0, 1, 2], [0, 2, 1], [0, 1, 3]],
        &[[5, 4, 3], [4, 5, 3], [4, 5, 3], [3, 4, 5]],
    ];
    let shapes: Vec<TestMesh> = odd.iter().map(|t| TestMesh::new((t.to_vec(), places(6)))).collect();
    round_trip(&shapes, true);
    round_trip(&[TestMesh::default(), TestMesh { materials: 2, ..TestMesh::default() }], false);
}

#[test]
fn damage_is_refused_or_harmless() {
    let shapes = [TestMesh::new(balls(6, 0.0)), apart(4)];
    let (bytes, _) = round_trip(&shapes, true);
    let most = FrameHead { vertices: 4000, triangles: 2000, ..FrameHead::default() };
    let materials = [1, 3];
    assert!(decode_all(&bytes, &materials, most, true).is_ok());
    // The bytes after a cut may have been zeros, so not every cut is detected.
    let mut seen = 0;
    for cut in 0..bytes.len() {
        seen += usize::from(decode_all(&bytes[..cut], &materials, most, true).is_err());
    }
    assert!(seen > bytes.len() / 2);
    for at in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (at % 8);
        let _ = decode_all(&bad, &materials, most, true);
    }
    let mut more = bytes.clone();
    more.push(1);
    assert!(decode_all(&more, &materials, most, true).is_err());
}

#[test]
fn frames_of_a_run_cost_what_moves() {
    let (triangles, places) = balls(16, 0.0);
    let count = places.len();
    let axes = TestMesh::axes();
    let moved = |t: f32| -> Vec<u16> {
        let wave = |p: &[f32; 3], k: usize| p[k] + 0.02 * t * (3.0 * p[(k + 1) % 3]).sin();
        let plane = |k: usize| places.iter().map(move |p| axes[k].code(wave(p, k)) as u16);
        (0..3).flat_map(plane).collect()
    };
    let mut work = ChangingBuffers::default();
    let mut bytes = Vec::new();
    let head = FrameHead {
        kind: 1,
        source_points: 3,
        run: 4,
        vertices: count as u32,
        points: count as u32,
        triangles: triangles.len() as u32,
    };
    let point: Vec<u32> = (0..count as u32).collect();
    let done = encode(&mut bytes, |writer| -> Result<Made, Corrupt> {
        let mut frame = DecodedFrame::empty(head, 1);
        let mut given = InputTopology::new(&triangles, &triangles, &point, count, &[]);
        writer.head(head);
        writer.triangles(head, &mut work, &mut frame.triangles(), &mut given)?;
        let ordered = |codes: Vec<u16>| -> Vec<u16> {
            let order = &given.order;
            (0..3)
                .flat_map(|k| order.iter().map(move |&v| k * count + v as usize))
                .map(|i| codes[i])
                .collect()
        };
        let mut all: Vec<Vec<u16>> = Vec::new();
        let mut bits = [0; 3];
        for (i, t) in [0.0, 2.0, 1.0].into_iter().enumerate() {
            if i > 0 {
                writer.head(FrameHead { kind: 2, source_points: 3, ..FrameHead::default() });
                work.reuse_triangles(&frame.triangles(), count, count);
            }
            let mut codes = ordered(moved(t));
            let before = all.clone();
            let frames: Vec<&[u16]> = before.iter().map(Vec::as_slice).collect();
            let wanted =
                InputValues { codes: &mut codes, offset: &[], radius: 0.0, code_counts: [0; 4], grain: 1 };
            bits[i] = writer.stream(StreamPrediction::Positions, 3, &frames, &[], &mut work, wanted);
            all.push(codes);
        }
        Ok((frame, all, bits))
    });
    let (wanted, all, bits) = done.unwrap();
    assert!(bits[1] < bits[0] / 2 && bits[2] < bits[1], "{bits:?}");
    let mut reader = ChangingReader::new(&bytes).unwrap();
    let mut frame = DecodedFrame::empty(head, 1);
    for i in 0..3 {
        let head = reader.head();
        assert_eq!(head.kind, 1 + u32::from(i > 0));
        if i == 0 {
            reader.triangles(head, &mut work, &mut frame.triangles()).unwrap();
            assert_eq!(frame.indices, wanted.indices);
        }
        let frames: Vec<&[u16]> = all[..i].iter().map(Vec::as_slice).collect();
        let mut out = vec![0u16; 3 * count];
        reader.stream(StreamPrediction::Positions, 3, &frames, &[], &mut work, &mut out).unwrap();
        assert!(out == all[i]);
    }
    reader.finish().unwrap();
}

proptest! {
    #[test]
    fn any_triangles_come_back(
        corners in prop::collection::vec(0u32..24, 0..120),
        apart in prop::collection::vec(any::<bool>(), 24),
        materials in 1usize..4,
    ) {
        let triangles: Vec<[u32; 3]> = corners.as_chunks().0.to_vec();
        // Some points have two vertices: an odd vertex may share the point of the even one before.
        let mut point = Vec::new();
        let mut points = 0;
        for (v, &apart) in apart.iter().enumerate() {
            if v % 2 == 1 && !apart {
                point.push(points - 1);
            } else {
                point.push(points);
                points += 1;
            }
        }
        let material = (0..triangles.len() as u32).map(|t| t * t % materials as u32).collect();
        let positions = (0..points).map(|p| [p as f32 * 0.05, 0.1, (p % 3) as f32]).collect();
        let shape = TestMesh { triangles, point, positions, material, materials };
        round_trip(&[shape], true);
    }

    #[test]
    fn any_bytes_are_safe(bytes in prop::collection::vec(any::<u8>(), 0..200), materials in 0usize..3) {
        let most = FrameHead { vertices: 60, triangles: 90, ..FrameHead::default() };
        let _ = decode_all(&bytes, &[materials, 1], most, true);
    }
}
