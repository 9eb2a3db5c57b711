//! Encoded normals and tangents keep their tolerance.

use super::*;
use crate::mesh::normals;
use crate::mesh::normals::PointBones;
use crate::simd::lanes::Points;
use proptest::prelude::*;

/// A moving sheet with a uv seam along its middle column; computed without the machine's math functions.
struct Sheet {
    triangles: Vec<[u32; 3]>,
    faces: Vec<u32>,
    point: Vec<u32>,
    uvs: Vec<[f32; 2]>,
    frames: Vec<Frame>,
}

struct Frame {
    points: Vec<[i16; 4]>,
    normals: Vec<[f32; 3]>,
    tangents: Vec<[f32; 4]>,
}

/// The columns of vertices: one more than those of points, as the middle one occurs twice.
const SIDE: u32 = 9;

fn bump(x: f64, y: f64, time: f64) -> (f64, [f64; 2]) {
    let (a, b) = (x * x - 0.3, y * (1.0 - y) + 0.2 * time);
    let height = (a * b + 0.2 * x * time * y) * 9000.0;
    (height, [(2.0 * x * b + 0.2 * time * y) * 9000.0, (a * (1.0 - 2.0 * y) + 0.2 * x * time) * 9000.0])
}

/// Adds `noise` units to each coordinate; turns normals and tangents by about `lean` radians, each
/// differently.
fn sheet(noise: i32, lean: f32, frames: u32) -> Sheet {
    let mut seed = 3u32;
    let mut random = move || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 8) as i32
    };
    let columns = SIDE + 1;
    let mut out = Sheet {
        triangles: Vec::new(),
        faces: Vec::new(),
        point: Vec::new(),
        uvs: Vec::new(),
        frames: Vec::new(),
    };
    let column = |c: u32| if c > SIDE / 2 { c - 1 } else { c };
    let at = |p: u32| [f64::from(p % SIDE) / 8.0, f64::from(p / SIDE) / 8.0];
    let mut leans = Vec::new();
    for v in 0..columns * SIDE {
        let (c, r) = (v % columns, v / columns);
        let p = r * SIDE + column(c);
        out.point.push(p);
        let [x, y] = at(p);
        let mirrored = if c > SIDE / 2 { 1.0 - x } else { x };
        out.uvs.push([mirrored as f32, y as f32]);
        leans.push([random(), random()].map(|r| lean * ((r % 200) as f32 / 100.0 - 1.0)));
        if c + 1 < columns && r + 1 < SIDE && c != SIDE / 2 {
            out.triangles.push([v, v + 1, v + columns + 1]);
            out.triangles.push([v, v + columns + 1, v + columns]);
            out.faces.extend([v, v]);
        }
    }
    for time in 0..frames {
        let time = f64::from(time) / 8.0;
        let mut frame = Frame { points: Vec::new(), normals: Vec::new(), tangents: Vec::new() };
        for p in 0..SIDE * SIDE {
            let [x, y] = at(p);
            let exact = [x * 20_000.0, y * 20_000.0, bump(x, y, time).0];
            let near = exact.map(|e| (e as i32 + random() % (2 * noise + 1) - noise) as i16);
            frame.points.push([near[0], near[1], near[2], 0]);
        }
        for v in 0..(columns * SIDE) as usize {
            let [x, y] = at(out.point[v]);
            let slope = bump(x, y, time).1.map(|s| (s / 20_000.0) as f32);
            // The first vertex of a point decides, as they share the normal.
            let first = out.point.iter().position(|p| *p == out.point[v]).unwrap();
            let [a, b] = leans[first];
            let n = [a - slope[0], b - slope[1], 1.0];
            let scale = 1.0 / dot(n, n).sqrt();
            let n = n.map(|x| x * scale);
            let sign = if v as u32 % columns > SIDE / 2 { -1.0 } else { 1.0 };
            let along = [sign, leans[v][0], sign * slope[0]];
            let t = super::super::roots::project_to_plane(along, n).0;
            frame.normals.push(n);
            frame.tangents.push([t[0], t[1], t[2], sign]);
        }
        out.frames.push(frame);
    }
    out
}

impl Sheet {
    fn shape(&self, tangents: bool) -> MeshGeometry<'_> {
        let uvs = if tangents { &self.uvs[..] } else { &[] };
        let first = Points::Narrow(&self.frames[0].points);
        MeshGeometry {
            triangles: &self.triangles,
            point: &self.point,
            uvs,
            grid: None,
            first,
            point_bones: None,
        }
    }

    fn sources(&self, tangents: bool) -> Vec<NormalSource<'_, [i16; 4]>> {
        self.frames
            .iter()
            .map(|f| NormalSource {
                points: &f.points,
                normals: &f.normals,
                tangents: if tangents { &f.tangents } else { &[] },
                transforms: &[],
            })
            .collect()
    }

    fn encoder(&self, tangents: bool, degrees: f64, packed: bool) -> Encoder {
        let mut sharing = super::super::partition::NormalSharing::new(&self.point);
        self.frames.iter().for_each(|f| sharing.split_by_normals(&f.normals));
        let signs: Vec<f32> = self.frames[0].tangents.iter().map(|t| t[3]).collect();
        let wanted = NormalSettings {
            groups: sharing.classes(),
            faces: &self.faces,
            signs: if tangents { &signs } else { &[] },
            degrees,
            frames: self.frames.len(),
            packed,
            bits_per_nanosecond: 0.0,
            weighting: None,
            tasks: TaskRunner::default(),
        };
        Encoder::new(self.shape(tangents), wanted, &self.sources(tangents)).unwrap()
    }
}

/// Two parts, each rotated differently, with `noise` units of noise; normals and tangents lean as they do at
/// rest.
struct RigidParts {
    sheet: Sheet,
    transforms: Vec<[Transform; 2]>,
    at_rest: Vec<[i16; 4]>,
    bones: Vec<u32>,
}

fn rigid_parts(noise: i32, frames: u32) -> RigidParts {
    let mut sheet = sheet(0, 0.3, 1);
    let still = sheet.frames.remove(0);
    let at_rest: Vec<[i16; 4]> = sheet.point.iter().map(|p| still.points[*p as usize]).collect();
    let bones = (0..at_rest.len() as u32).map(|v| u32::from(v % (SIDE + 1) > SIDE / 2)).collect::<Vec<_>>();
    sheet.point = (0..at_rest.len() as u32).collect();
    let mut transforms = Vec::new();
    for time in 0..frames {
        let time = time as f32 * 0.2;
        let own = [[time, -0.3 * time, 0.1, 1.0], [0.5 * time, time, -time, 2.0]];
        let own = own.map(|rotation| Transform { rotation, ..Transform::IDENTITY });
        let turn = |v: usize, p: [f32; 3]| {
            let [a, b, c] = super::super::turned::rotation(own[bones[v] as usize].rotation);
            [0, 1, 2].map(|k| a[k] * p[0] + b[k] * p[1] + c[k] * p[2])
        };
        let mut frame = Frame { points: Vec::new(), normals: Vec::new(), tangents: Vec::new() };
        for (v, p) in at_rest.iter().enumerate() {
            let off = (v as i32 * 7 + p[0] as i32) % (2 * noise + 1) - noise;
            let [x, y, z] = turn(v, [p[0], p[1], p[2]].map(|x| f32::from(x) * 0.5));
            frame.points.push([x as i16 + off as i16, y as i16 - off as i16, z as i16, 0]);
            frame.normals.push(turn(v, still.normals[v]));
            let [x, y, z, sign] = still.tangents[v];
            let [x, y, z] = turn(v, [x, y, z]);
            frame.tangents.push([x, y, z, sign]);
        }
        sheet.frames.push(frame);
        transforms.push(own);
    }
    RigidParts { sheet, transforms, at_rest, bones }
}

impl RigidParts {
    /// Returns the encoder, given these bones of points, and the bytes of all frames.
    fn encoded(&self, bones: &[u32]) -> (Encoder, usize) {
        let signs: Vec<f32> = self.sheet.frames[0].tangents.iter().map(|t| t[3]).collect();
        let wanted = NormalSettings {
            groups: &self.sheet.point,
            faces: &self.sheet.faces,
            signs: &signs,
            degrees: 1.0,
            frames: self.sheet.frames.len(),
            packed: false,
            bits_per_nanosecond: 0.0,
            weighting: None,
            tasks: TaskRunner::default(),
        };
        let rest = Some(PointBones { bones, rigid: 2 });
        let shape = MeshGeometry {
            point_bones: rest,
            first: Points::Narrow(&self.at_rest),
            ..self.sheet.shape(true)
        };
        let mut sources = self.sheet.sources(true);
        for (source, transforms) in sources.iter_mut().zip(&self.transforms) {
            source.transforms = transforms;
        }
        let encoder = Encoder::new(shape, wanted, &sources).unwrap();
        check_read(&encoder, shape);
        let (mut states, mut bytes) = (Vec::new(), Vec::new());
        let errors = encode(&encoder, &sources, &[], &mut states, &mut bytes);
        assert!(errors.normal <= 1.0 && errors.tangent <= 1.0, "{errors:?}");
        let back = decode(encoder.decoder(), &bytes, &[], sources.len()).unwrap();
        let mut work = encoder.decoder().buffers();
        for ((state, source), frame) in back.iter().zip(&sources).zip(&self.sheet.frames) {
            let points = Points::Narrow(source.points);
            let moment = normals::NormalsFrame { points, state, transforms: source.transforms };
            let built = encoder.decoder().build(moment.into(), true, &mut work);
            for (v, wanted) in frame.normals.iter().enumerate() {
                assert!(apart(built.normal(v), *wanted) <= 1.0);
                let [x, y, z, _] = built.tangent(v);
                let [a, b, c, _] = frame.tangents[v];
                assert!(apart([x, y, z], [a, b, c]) <= 1.0);
            }
        }
        (encoder, bytes.len())
    }
}

#[test]
fn what_bones_turn_needs_no_corrections() {
    // Rounding alone rotates polygons by degrees.
    let pieces = rigid_parts(120, 9);
    let (encoder, turned) = pieces.encoded(&pieces.bones);
    assert!(encoder.decoder().turned.is_some());
    // A bone that rotates differently does not help.
    let (encoder, made) = pieces.encoded(&vec![2; pieces.bones.len()]);
    assert!(encoder.decoder().turned.is_none());
    assert!(8 * turned < made, "{turned} {made}");
}

fn apart(a: [f32; 3], b: [f32; 3]) -> f64 {
    degrees(chord(a, b))
}

/// Reads the static part, which gives the encoder's decoder, without what only its coding needs.
fn check_read(encoder: &Encoder, shape: MeshGeometry<'_>) -> Normals {
    let normals = Normals::read(encoder.static_bytes(), shape, &mut ByteBudget::unlimited()).unwrap();
    let mut expected = encoder.decoder().clone();
    expected.forget_classes();
    assert!(normals == expected);
    normals
}

/// Encodes a unit; returns the largest errors.
fn encode<P: IntegerPoint>(
    encoder: &Encoder,
    frames: &[NormalSource<'_, P>],
    refs: &[&[i16]],
    states: &mut Vec<Vec<i16>>,
    out: &mut Vec<u8>,
) -> Errors {
    let mut unit = encoder.begin_unit(refs);
    let mut errors = Errors::default();
    for frame in frames {
        let (_, own) = encoder.push_frame(&mut unit, frame);
        errors.normal = errors.normal.max(own.normal);
        errors.tangent = errors.tangent.max(own.tangent);
    }
    *states = unit.finish(out);
    errors
}

fn decode(normals: &Normals, bytes: &[u8], refs: &[&[i16]], frames: usize) -> Result<Vec<Vec<i16>>, Corrupt> {
    let mut states = vec![vec![0; normals.state_len()]; frames];
    let mut slices: Vec<&mut [i16]> = states.iter_mut().map(Vec::as_mut_slice).collect();
    normals.decode(bytes, refs, &mut slices)?;
    Ok(states)
}

/// Encodes all frames, the first and then the others, decodes and measures; returns the sizes of static part
/// and units.
fn round_trip(sheet: &Sheet, tangents: bool, limit: f64, packed: bool) -> [usize; 2] {
    let encoder = sheet.encoder(tangents, limit, packed);
    let normals = check_read(&encoder, sheet.shape(tangents));
    let sources = sheet.sources(tangents);
    let (mut key, mut rest, mut first, mut others) = (vec![], vec![], vec![], vec![]);
    let mut errors = vec![encode(&encoder, &sources[..1], &[], &mut first, &mut key)];
    errors.push(encode(&encoder, &sources[1..], &[&first[0]], &mut others, &mut rest));
    assert_eq!(decode(&normals, &key, &[], 1).unwrap(), first);
    let refs: [&[i16]; 1] = [&first[0]];
    assert_eq!(decode(&normals, &rest, &refs, sources.len() - 1).unwrap(), others);
    let mut work = normals.buffers();
    let mut worst = Errors::default();
    for (state, frame) in first.iter().chain(&others).zip(&sheet.frames) {
        let built =
            normals.build(normals::NormalsFrame::new(&frame.points[..], state).into(), tangents, &mut work);
        for v in 0..sheet.point.len() {
            let n = built.normal(v);
            worst.normal = worst.normal.max(apart(n, frame.normals[v]));
            assert!((dot(n, n) - 1.0).abs() < 1e-5);
            if tangents {
                let [x, y, z, sign] = built.tangent(v);
                let [a, b, c, wanted] = frame.tangents[v];
                worst.tangent = worst.tangent.max(apart([x, y, z], [a, b, c]));
                assert_eq!(sign, wanted);
            }
        }
    }
    assert!(worst.normal <= limit && worst.tangent <= limit, "{worst:?}");
    assert_eq!(errors[0].normal.max(errors[1].normal), worst.normal);
    [encoder.static_bytes().len(), key.len() + rest.len()]
}

#[test]
fn the_tolerance_holds_whatever_is_asked() {
    for (noise, lean) in [(0, 0.0), (20, 0.0), (300, 0.0), (20, 0.7), (300, 3.0)] {
        for tangents in [false, true] {
            for limit in [30.0, 1.0, 0.02] {
                for packed in [false, true] {
                    round_trip(&sheet(noise, lean, 9), tangents, limit, packed);
                }
            }
        }
    }
}

#[test]
fn good_geometry_costs_nothing() {
    let [fixed, units] = round_trip(&sheet(3, 0.0, 17), false, 5.0, false);
    assert!(fixed < 80 && units == 0, "{fixed} {units}");
    // A constant lean is stored once.
    let [fixed, units] = round_trip(&sheet(3, 0.4, 17), true, 1.0, false);
    assert!(fixed < 700 && units < 400, "{fixed} {units}");
}

#[test]
fn golden() {
    let sheet = sheet(60, 0.05, 3);
    let encoder = sheet.encoder(true, 2.0, false);
    let (mut states, mut bytes) = (vec![], vec![]);
    encode(&encoder, &sheet.sources(true), &[], &mut states, &mut bytes);
    let sum = |bytes: &[u8]| {
        let step = |h: u32, b: &u8| (h ^ u32::from(*b)).wrapping_mul(16_777_619);
        bytes.iter().fold(2_166_136_261u32, step)
    };
    let fixed = encoder.static_bytes();
    let golden = [fixed.len() as u32, sum(fixed), bytes.len() as u32, sum(&bytes)];
    assert_eq!(golden, [196, 2_851_418_898, 26, 1_905_045_096]);
}

#[test]
fn normals_that_look_inside_and_meshes_of_nothing() {
    let mut inside = sheet(3, 0.0, 9);
    for frame in &mut inside.frames {
        frame.normals.iter_mut().for_each(|n| *n = n.map(|x| -x));
    }
    let [_, units] = round_trip(&inside, false, 5.0, true);
    assert_eq!(units, 0);
    let empty = MeshGeometry {
        triangles: &[],
        point: &[],
        uvs: &[],
        grid: None,
        first: Points::Narrow(&[]),
        point_bones: None,
    };
    let wanted = NormalSettings {
        groups: &[],
        faces: &[],
        signs: &[],
        degrees: 1.0,
        frames: 1,
        packed: false,
        bits_per_nanosecond: 0.0,
        weighting: None,
        tasks: TaskRunner::default(),
    };
    let encoder = Encoder::new::<[i16; 4]>(empty, wanted, &[]).unwrap();
    let normals = Normals::read(encoder.static_bytes(), empty, &mut ByteBudget::unlimited()).unwrap();
    assert_eq!(decode(&normals, &[], &[], 2).unwrap(), vec![vec![]; 2]);
    normals.build(normals::NormalsFrame::new(&[] as &[[i16; 4]], &[]).into(), false, &mut normals.buffers());
}

#[test]
fn points_without_faces_keep_their_normals() {
    let point: Vec<u32> = (0..5).collect();
    let first = [[0i16; 4]; 5];
    let first = Points::Narrow(&first);
    let shape =
        MeshGeometry { triangles: &[], point: &point, uvs: &[], grid: None, first, point_bones: None };
    let wanted = NormalSettings {
        groups: &point,
        faces: &[],
        signs: &[],
        degrees: 1.0,
        frames: 1,
        packed: false,
        bits_per_nanosecond: 0.0,
        weighting: None,
        tasks: TaskRunner::default(),
    };
    let all = [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.6, -0.8, 0.0], [0.0, 0.6, -0.8]];
    let source = NormalSource { points: &[[0i32; 4]; 5], normals: &all, tangents: &[], transforms: &[] };
    let encoder = Encoder::new(shape, wanted, &[source]).unwrap();
    let (mut states, mut bytes) = (vec![], vec![]);
    let errors = encode(&encoder, &[source], &[], &mut states, &mut bytes);
    assert!(errors.normal <= 1.0);
}

#[test]
fn damage_is_refused_or_harmless() {
    for packed in [false, true] {
        damage(packed);
    }
}

fn damage(packed: bool) {
    let sheet = sheet(200, 0.3, 4);
    let encoder = sheet.encoder(true, 1.0, packed);
    let normals = encoder.decoder();
    let (mut states, mut bytes) = (vec![], vec![]);
    encode(&encoder, &sheet.sources(true), &[], &mut states, &mut bytes);
    let points = &sheet.frames[0].points;
    let look = |normals: &Normals, states: &[Vec<i16>]| {
        let mut work = normals.buffers();
        for state in states {
            let built = normals.build(
                normals::NormalsFrame::new(&points[..], state).into(),
                normals.has_tangents(),
                &mut work,
            );
            for v in 0..normals.vertices() {
                let n = built.normal(v);
                assert!((dot(n, n) - 1.0).abs() < 1e-4);
                if normals.has_tangents() {
                    assert!(built.tangent(v).iter().all(|x| x.abs() < 1.001));
                }
            }
        }
    };
    let try_unit = |bytes: &[u8]| {
        if let Ok(states) = decode(normals, bytes, &[], 4) {
            look(normals, &states);
        }
    };
    let try_static = |bytes: &[u8]| {
        if let Ok(normals) = Normals::read(bytes, sheet.shape(true), &mut ByteBudget::unlimited()) {
            look(&normals, &[normals.base().to_vec()]);
        }
    };
    for cut in 0..bytes.len() {
        try_unit(&bytes[..cut]);
    }
    for i in 0..bytes.len() {
        let mut bytes = bytes.clone();
        for bit in 0..8 {
            bytes[i] ^= 1 << bit;
            try_unit(&bytes);
            bytes[i] ^= 1 << bit;
        }
    }
    let fixed = encoder.static_bytes();
    for cut in 0..fixed.len() {
        try_static(&fixed[..cut]);
    }
    for i in 0..fixed.len() {
        let mut bytes = fixed.to_vec();
        for bit in 0..8 {
            bytes[i] ^= 1 << bit;
            try_static(&bytes);
            bytes[i] ^= 1 << bit;
        }
    }
    // States that are not those of this mesh, and extra bytes.
    let mut short = vec![0; normals.state_len() - 1];
    assert!(normals.decode(&bytes, &[], &mut [&mut short]).is_err());
    bytes.extend([1; 9]);
    assert!(decode(normals, &bytes, &[], 4).is_err());
}

proptest! {
    #[test]
    fn any_bytes_give_normals_or_are_refused(
        bytes in prop::collection::vec(any::<u8>(), 0..60),
        head in prop::option::of(any::<u8>()),
        triangles in prop::collection::vec(prop::array::uniform3(0u32..9), 0..12),
        point in prop::collection::vec(0u32..6, 8),
        uvs in prop::collection::vec(prop::array::uniform2(-2f32..2.0), 8),
        points in prop::collection::vec(prop::array::uniform4(any::<i32>()), 8),
    ) {
        // Without a valid head, hardly anything is read.
        let mut fixed = bytes.clone();
        if let Some(flags) = head {
            fixed.splice(0..0, [&[flags][..], &0.01f32.to_le_bytes(), &0.02f32.to_le_bytes()].concat());
        }
        let first = Points::Wide(&points);
        let shape = MeshGeometry { triangles: &triangles, point: &point, uvs: &uvs, grid: None, first, point_bones: None };
        if let Ok(normals) = Normals::read(&fixed, shape, &mut ByteBudget::unlimited()) {
            let mut work = normals.buffers();
            if let Ok(states) = decode(&normals, &bytes, &[], 2) {
                let built = normals.build(normals::NormalsFrame::new(&points[..], &states[1]).into(), false, &mut work);
                for v in 0..8 {
                    prop_assert!(built.normal(v).iter().all(|x| x.abs() < 1.001));
                }
            }
        }
    }
}
