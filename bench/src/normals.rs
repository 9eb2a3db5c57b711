//! `normals`: what normals and tangents cost when they are predicted from decoded points, whose error is made
//! here: evenly spread in the ball of the tolerance, which is somewhat worse than what the soft codec leaves.

use anyhow::Context;
use meshreel_codec::mesh::normals::encode::{Encoder, Errors, Source, Wanted};
use meshreel_codec::mesh::normals::{Normals, Shape};
use meshreel_codec::topology::partition::Sharing;
use meshreel_compile::mesh::evaluate::{Scratch, Want};
use meshreel_compile::mesh::source;
use meshreel_compile::mesh::streams::VertexValues;
use meshreel_compile::plan;
use meshreel_options::{MethodChoice, Options};
use meshreel_scene::{read, sample};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Arguments {
    /// Scenes; of each the meshes that move and keep their faces.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Error of the points, as a part of the diagonal of the mesh's bounds.
    #[arg(long, default_value_t = 1e-4)]
    tolerance: f64,
    /// Largest angle of normals and tangents, in degrees.
    #[arg(long, default_value_t = 1.0)]
    degrees: f64,
}

/// A mesh as the coder sees it.
struct Mesh {
    triangles: Vec<[u32; 3]>,
    faces: Vec<u32>,
    /// Point of each vertex, and a vertex of each point.
    point: Vec<u32>,
    first: Vec<usize>,
    signs: Vec<f32>,
    tangents: bool,
    frames: Vec<VertexValues>,
    /// Decoded points of each frame, and decoded uvs of the first.
    points: Vec<Vec<[i16; 4]>>,
    uvs: Vec<[f32; 2]>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    println!(
        "{:<34} {:>6} {:>6} {:>6} {:>4} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7}",
        "mesh",
        "verts",
        "points",
        "groups",
        "kind",
        "bpvf",
        "static",
        "max n",
        "max t",
        "enc µs",
        "dec µs",
        "build µs"
    );
    let mut good = true;
    for path in &arguments.files {
        for (name, mesh) in load(path, arguments.tolerance)? {
            for tangents in [false, true] {
                if !tangents || mesh.tangents {
                    good &= measure(&name, &mesh, tangents, arguments.degrees)
                        .with_context(|| format!("{} {name}", path.display()))?;
                }
            }
        }
    }
    Ok(good)
}

fn load(path: &Path, tolerance: f64) -> anyhow::Result<Vec<(String, Mesh)>> {
    let (scene, _) = read::open(path, &read::ReadOptions::default())?;
    let options = Options::default();
    let placed = scene.expand()?;
    let all = vec![true; placed.len()];
    let times = sample::frame_times(&scene, &placed, &all, &options.frame_options())?;
    let mut out = Vec::new();
    for mesh in scene.meshes.iter().filter(|m| !m.positions.is_constant()) {
        let source = source::Source {
            mesh,
            times: times.clone(),
            matrices: None,
            normals: true,
            uvs: true,
            colours: false,
            frames: times.len(),
            start: 0,
            moves: None,
            first_time: times[0],
            fallback: Vec::new(),
            remeshed: None,
        };
        let prepared = plan::prepare(&source, MethodChoice::Soft, &options, &mut Vec::new())?;
        let Some(fixed) = &prepared.fixed else {
            continue;
        };
        let want = Want { normals: true, uvs: true, colours: false };
        let (mut scratch, mut frames) = (Scratch::default(), Vec::new());
        for frame in 0..times.len() {
            let mut values = VertexValues::default();
            fixed.evaluate(&source, &prepared, frame, want, &mut scratch, &mut values)?;
            frames.push(values);
        }
        let own: Vec<u32> = (0..fixed.vertex_point.len() as u32).collect();
        let weld = fixed.weld.as_ref().unwrap_or(&own);
        let (mut point, mut first) = (vec![u32::MAX; weld.len()], Vec::new());
        for (v, &w) in weld.iter().enumerate() {
            if w as usize == v {
                point[v] = first.len() as u32;
                first.push(v);
            }
            point[v] = point[w as usize];
        }
        let mut mesh = (
            mesh.path.clone(),
            Mesh {
                triangles: fixed.indices.as_chunks::<3>().0.to_vec(),
                faces: fixed.triangle_face.clone(),
                point,
                first,
                signs: fixed.vertex_sign.clone(),
                tangents: prepared.tangents,
                frames,
                points: Vec::new(),
                uvs: Vec::new(),
            },
        );
        mesh.1.quantize(tolerance);
        out.push(mesh);
    }
    Ok(out)
}

impl Mesh {
    /// What the encoder gets of each frame.
    fn sources(&self, tangents: bool) -> Vec<Source<'_, [i16; 4]>> {
        let pairs = self.frames.iter().zip(&self.points);
        pairs
            .map(|(frame, points)| Source {
                points,
                uvs: &[],
                normals: &frame.normals,
                tangents: if tangents { &frame.tangents } else { &[] },
            })
            .collect()
    }

    /// Makes decoded points and uvs.
    fn quantize(&mut self, tolerance: f64) {
        let (mut low, mut high) = ([f64::MAX; 3], [f64::MIN; 3]);
        for p in self.frames.iter().flat_map(|f| &f.positions) {
            for k in 0..3 {
                low[k] = low[k].min(p[k].into());
                high[k] = high[k].max(p[k].into());
            }
        }
        let size: [f64; 3] = std::array::from_fn(|k| high[k] - low[k]);
        let diagonal = size.iter().map(|s| s * s).sum::<f64>().sqrt();
        let unit = (size.into_iter().fold(0.0, f64::max) / 62_000.0).max(f64::MIN_POSITIVE);
        let mut seed = 1u64;
        let mut random = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / f64::from(1u32 << 30) - 1.0
        };
        for frame in &self.frames {
            let near = |&v: &usize| {
                let error = loop {
                    let e = [random(), random(), random()];
                    if e.iter().map(|x| x * x).sum::<f64>() <= 1.0 {
                        break e.map(|x| x * tolerance * diagonal);
                    }
                };
                let at = |k: usize| f64::from(frame.positions[v][k]) - (low[k] + high[k]) / 2.0;
                let [x, y, z] = [0, 1, 2].map(|k| ((at(k) + error[k]) / unit).round() as i16);
                [x, y, z, 0]
            };
            self.points.push(self.first.iter().map(near).collect());
        }
        if let Some(uvs) = self.frames.first().and_then(|f| f.uvs.first()) {
            let step = std::f32::consts::SQRT_2 / 4096.0;
            let near = |uv: &[f32; 2]| uv.map(|x| (x / step).round() * step);
            self.uvs = uvs.iter().map(near).collect();
        }
    }
}

/// The frames of a unit, and those that it may refer to.
type UnitFrames = (Vec<usize>, Vec<usize>);

/// Units of a sequence, as a soft file has them.
fn units(frames: usize) -> Vec<UnitFrames> {
    let mut keys: Vec<usize> = (0..frames).step_by(16).collect();
    if keys.last() != Some(&(frames - 1)) {
        keys.push(frames - 1);
    }
    let mut out = Vec::new();
    for (i, key) in keys.iter().enumerate() {
        let before = (i % 4 != 0).then(|| keys[i - 1]);
        out.push((vec![*key], before.into_iter().collect()));
    }
    for ends in keys.windows(2) {
        let (mut inner, mut last) = (Vec::new(), Vec::new());
        let mut spans = vec![(ends[0], ends[1])];
        for depth in 1.. {
            spans.retain(|(a, b)| b - a > 1);
            let middles: Vec<usize> = spans.iter().map(|(a, b)| (a + b) / 2).collect();
            if middles.is_empty() {
                break;
            }
            if depth <= 3 { &mut inner } else { &mut last }.extend(&middles);
            let split = |((a, b), m): (&(usize, usize), &usize)| [(*a, *m), (*m, *b)];
            spans = spans.iter().zip(&middles).flat_map(split).collect();
        }
        let refs = vec![ends[0], ends[1]];
        let later = [&refs[..], &inner].concat();
        out.push((inner, refs));
        out.push((last, later));
    }
    out.retain(|u| !u.0.is_empty());
    out
}

/// Encodes and decodes the normals (and tangents) of a mesh, prints size, error and time, and says whether the
/// angle was kept and the decoder had the encoder's states.
fn measure(name: &str, mesh: &Mesh, tangents: bool, degrees: f64) -> anyhow::Result<bool> {
    let shape =
        Shape { triangles: &mesh.triangles, point: &mesh.point, uvs: if tangents { &mesh.uvs } else { &[] } };
    let sources = mesh.sources(tangents);
    let units = units(sources.len());
    let coded = encode(mesh, shape, &sources, &units, tangents, degrees)?;
    let normals = Normals::read(&coded.fixed, shape)?;
    let (decoded, decode) = decode(&normals, &units, &coded)?;
    let (worst, build) = build(&normals, mesh, &sources, &decoded, tangents);

    let count = mesh.point.len();
    let bits = |bytes: usize| 8.0 * bytes as f64 / (mesh.first.len() * sources.len()) as f64;
    let each = |d: Duration| 1e6 * d.as_secs_f64() / (count * sources.len()) as f64;
    let good = worst.normal <= degrees && worst.tangent <= degrees && coded.states == decoded;
    println!(
        "{name:<34} {count:>6} {:>6} {:>6} {:>4} {:>7.3} {:>7.3} {:>7.4} {:>7.4} {:>7.3} {:>7.4} {:>7.3}{}",
        mesh.first.len(),
        normals.groups(),
        if tangents { "n, t" } else { "n" },
        bits(coded.fixed.len() + coded.units.iter().map(Vec::len).sum::<usize>()),
        bits(coded.fixed.len()),
        worst.normal,
        worst.tangent,
        each(coded.time),
        each(decode),
        each(build * sources.len() as u32),
        if good { "" } else { "   NOT MET" }
    );
    Ok(good)
}

/// A coded sequence of normals.
struct Coded {
    /// Bytes of the static part.
    fixed: Vec<u8>,
    /// Bytes of each unit.
    units: Vec<Vec<u8>>,
    /// The encoder's quantized state of each frame, which the decoder must arrive at.
    states: Vec<Vec<i16>>,
    time: Duration,
}

fn encode(
    mesh: &Mesh,
    shape: Shape<'_>,
    sources: &[Source<'_, [i16; 4]>],
    units: &[UnitFrames],
    tangents: bool,
    degrees: f64,
) -> anyhow::Result<Coded> {
    let mut sharing = Sharing::new(&vec![0; mesh.point.len()]);
    mesh.frames.iter().for_each(|f| sharing.normals(&f.normals));
    let wanted = Wanted {
        groups: sharing.classes(),
        faces: &mesh.faces,
        signs: if tangents { &mesh.signs } else { &[] },
        degrees,
        frames: mesh.frames.len(),
    };
    let apart = sources.len().div_ceil(24).max(1);
    let samples: Vec<_> = sources.iter().copied().step_by(apart).collect();
    let start = Instant::now();
    let encoder = Encoder::new(shape, wanted, &samples)?;
    let mut states = vec![Vec::new(); sources.len()];
    let mut coded = Vec::new();
    for (frames, refs) in units {
        let frames_of: Vec<_> = frames.iter().map(|f| sources[*f]).collect();
        let refs: Vec<&[i16]> = refs.iter().map(|r| &states[*r][..]).collect();
        let (mut new, mut bytes) = (Vec::new(), Vec::new());
        encoder.encode(&frames_of, &refs, &mut new, &mut bytes);
        for (frame, state) in frames.iter().zip(new) {
            states[*frame] = state;
        }
        coded.push(bytes);
    }
    let time = start.elapsed();
    Ok(Coded { fixed: encoder.static_bytes().to_vec(), units: coded, states, time })
}

/// The decoded state of each frame, and the time of all units.
fn decode(
    normals: &Normals,
    units: &[UnitFrames],
    coded: &Coded,
) -> anyhow::Result<(Vec<Vec<i16>>, Duration)> {
    let mut decoded = vec![vec![0; normals.state_len()]; coded.states.len()];
    let start = Instant::now();
    for ((frames, refs), bytes) in units.iter().zip(&coded.units) {
        let mut out: Vec<Vec<i16>> = frames.iter().map(|f| std::mem::take(&mut decoded[*f])).collect();
        let refs: Vec<&[i16]> = refs.iter().map(|r| &decoded[*r][..]).collect();
        let mut slices: Vec<&mut [i16]> = out.iter_mut().map(Vec::as_mut_slice).collect();
        normals.decode(bytes, &refs, &mut slices)?;
        for (frame, state) in frames.iter().zip(out) {
            decoded[*frame] = state;
        }
    }
    Ok((decoded, start.elapsed()))
}

/// Builds the normals (and tangents) of every frame from decoded points and states: the largest errors, and the
/// time of the quickest frame, because for others the machine may have had to be shared.
fn build(
    normals: &Normals,
    mesh: &Mesh,
    sources: &[Source<'_, [i16; 4]>],
    decoded: &[Vec<i16>],
    tangents: bool,
) -> (Errors, Duration) {
    let mut quickest = Duration::MAX;
    let mut work = normals.work();
    normals.set_uvs(&mesh.uvs, &mut work);
    let mut worst = Errors::default();
    let count = mesh.point.len();
    let (mut n, mut t) = (vec![[0.0; 3]; count], vec![[0.0; 4]; count]);
    for (source, state) in sources.iter().zip(decoded) {
        let start = Instant::now();
        let built = normals.build(source.points, state, &mut work);
        for v in 0..count {
            n[v] = built.normal(v);
        }
        if tangents {
            for v in 0..count {
                t[v] = built.tangent(v);
            }
        }
        quickest = quickest.min(start.elapsed());
        for v in 0..count {
            worst.normal = worst.normal.max(angle(n[v], source.normals[v]));
            if tangents {
                let xyz = |t: [f32; 4]| [t[0], t[1], t[2]];
                worst.tangent = worst.tangent.max(angle(xyz(t[v]), xyz(source.tangents[v])));
            }
        }
    }
    (worst, quickest)
}

/// Degrees between two directions.
fn angle(a: [f32; 3], b: [f32; 3]) -> f64 {
    let (a, b) = (a.map(f64::from), b.map(f64::from));
    let dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let cross = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
    let sine = cross.iter().map(|x| x * x).sum::<f64>().sqrt();
    sine.atan2(dot).to_degrees()
}
