//! `scenes`: writes moving meshes that no corpus has, generated from a seed: a fracture whose pieces touch,
//! one whose pieces share vertices, an explosion, a creature, a liquid, particles. Methods are compared on
//! them besides files from content tools.

use crate::dice::Dice;
use crate::particle_scenes;
use anyhow::Context;
use glam::{DAffine3, DMat3, DQuat, DVec3};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Arguments {
    /// Output folder for NAME.obj and NAME.pc2; frames of the liquid go to a folder of their own.
    folder: PathBuf,
    /// Seed; another number gives other scenes.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this: COUNT tetrahedra that fly apart, as parts for a graphics card.
    #[arg(long, value_name = "COUNT")]
    tetrahedra: Option<usize>,
    /// Only this: a grid of about POINTS points in waves.
    #[arg(long, value_name = "POINTS", conflicts_with = "tetrahedra")]
    grid: Option<usize>,
}

/// A mesh of quads.
#[derive(Default)]
struct Mesh {
    points: Vec<DVec3>,
    faces: Vec<Vec<usize>>,
}

pub fn run(arguments: &Arguments) -> anyhow::Result<bool> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut dice = Dice::new(arguments.seed);
    if let Some(count) = arguments.tetrahedra {
        let (mesh, frames) = tetrahedra(&mut dice, count);
        write(folder, "tetrahedra", &mesh, &frames)?;
        return Ok(true);
    }
    if let Some(points) = arguments.grid {
        let (mesh, frames) = grid(&mut dice, points);
        write(folder, "grid", &mesh, &frames)?;
        return Ok(true);
    }
    for (name, shared) in [("fracture", false), ("welded", true)] {
        let (mesh, frames) = fracture(&mut dice, shared);
        write(folder, name, &mesh, &frames)?;
    }
    let (mesh, frames) = explosion(&mut dice);
    write(folder, "explosion", &mesh, &frames)?;
    let (mesh, frames) = creature(&mut dice);
    write(folder, "octopus", &mesh, &frames)?;
    liquid(&folder.join("liquid"), &mut dice)?;
    particle_scenes::write(folder, &mut dice)?;
    Ok(true)
}

/// A cloth two metres wide with waves of several lengths, 24 frames.
fn grid(dice: &mut Dice, points: usize) -> (Mesh, Vec<Vec<DVec3>>) {
    let side = (points as f64).sqrt().round().max(2.0) as usize;
    let place = |i: usize| DVec3::new((i % side) as f64, 0.0, (i / side) as f64) * (2.0 / (side - 1) as f64);
    let mut mesh = Mesh { points: (0..side * side).map(place).collect(), faces: Vec::new() };
    for row in 0..side - 1 {
        let first = row * side..(row + 1) * side - 1;
        mesh.faces.extend(first.map(|a| vec![a, a + 1, a + side + 1, a + side]));
    }
    let waves: Vec<(DVec3, f64, f64)> = (0..12)
        .map(|k| {
            let length = 2.0 * 0.7f64.powi(k);
            let way = DVec3::new(dice.roll() - 0.5, 0.0, dice.roll() - 0.5).normalize();
            (way * (std::f64::consts::TAU / length), 0.04 * length, dice.roll() * std::f64::consts::TAU)
        })
        .collect();
    let moved = |frame: usize| {
        let time = frame as f64 / 24.0;
        let point = |at: &DVec3| {
            waves.iter().fold(*at, |sum, (way, size, phase)| {
                let angle = way.dot(*at) - 3.0 * way.length().sqrt() * time + phase;
                sum + DVec3::Y * (size * angle.sin()) + way.normalize() * (0.5 * size * angle.cos())
            })
        };
        mesh.points.iter().map(point).collect()
    };
    let frames = (0..24).map(moved).collect();
    (mesh, frames)
}

fn write(folder: &Path, name: &str, mesh: &Mesh, frames: &[Vec<DVec3>]) -> anyhow::Result<()> {
    obj(&folder.join(name).with_extension("obj"), mesh)?;
    let mut bytes = b"POINTCACHE2\0".to_vec();
    bytes.extend(1u32.to_le_bytes());
    bytes.extend((mesh.points.len() as u32).to_le_bytes());
    bytes.extend(0f32.to_le_bytes());
    bytes.extend(1f32.to_le_bytes());
    bytes.extend((frames.len() as u32).to_le_bytes());
    for point in frames.iter().flatten() {
        bytes.extend(point.as_vec3().to_array().iter().flat_map(|v| v.to_le_bytes()));
    }
    let path = folder.join(name).with_extension("pc2");
    std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    println!("{name}: {} vertices, {} frames", mesh.points.len(), frames.len());
    Ok(())
}

fn obj(path: &Path, mesh: &Mesh) -> anyhow::Result<()> {
    let mut text = String::new();
    for p in &mesh.points {
        writeln!(text, "v {} {} {}", p.x as f32, p.y as f32, p.z as f32)?;
    }
    for face in &mesh.faces {
        text.push('f');
        for v in face {
            write!(text, " {}", v + 1)?;
        }
        text.push('\n');
    }
    std::fs::write(path, text).with_context(|| path.display().to_string())
}

/// Closed tetrahedra on a grid, four points each, that turn and drift apart: ten frames.
fn tetrahedra(dice: &mut Dice, count: usize) -> (Mesh, Vec<Vec<DVec3>>) {
    const FRAMES: usize = 10;
    const CORNERS: [[f64; 3]; 4] = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]];
    const SIDES: [[usize; 3]; 4] = [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]];
    let side = (count as f64).cbrt().ceil() as usize;
    let corners = CORNERS.map(|corner| DVec3::from_array(corner) * 0.2);
    let mut mesh = Mesh::default();
    let mut motions = Vec::with_capacity(count);
    for number in 0..count {
        let middle =
            DVec3::new((number % side) as f64, (number / side % side) as f64, (number / side / side) as f64);
        let first = 4 * number;
        mesh.points.extend(corners.map(|corner| middle + corner));
        mesh.faces.extend(SIDES.map(|face| face.map(|corner| first + corner).to_vec()));
        motions.push((middle, dice.vector() * 0.1, dice.vector() * 0.2));
    }
    let frame = |frame: usize| {
        let time = frame as f64;
        let moved = |&(middle, drift, spin): &(DVec3, DVec3, DVec3)| {
            let turn = DQuat::from_scaled_axis(spin * time);
            corners.map(|corner| middle + drift * time + turn * corner)
        };
        motions.iter().flat_map(moved).collect()
    };
    let frames = (0..FRAMES).map(frame).collect();
    (mesh, frames)
}

/// A wall of blocks with crooked sides that fit each other: some fall at once, some after a while, some
/// never. If vertices are `shared`, each follows one of the blocks that meet there, and faces between blocks
/// are stretched.
fn fracture(dice: &mut Dice, shared: bool) -> (Mesh, Vec<Vec<DVec3>>) {
    const BLOCKS: [usize; 3] = [14, 9, 2];
    // Corners along a block's edge.
    const SIDE: usize = 4;
    const FRAMES: usize = 90;
    let steps = SIDE - 1;
    // Crooked, but the same for all adjacent blocks.
    let mut crooked: BTreeMap<[usize; 3], DVec3> = BTreeMap::new();
    let mut mesh = Mesh::default();
    let mut owner = Vec::new();
    let mut known: BTreeMap<[usize; 3], usize> = BTreeMap::new();
    let blocks: Vec<[usize; 3]> = (0..BLOCKS[2])
        .flat_map(|z| (0..BLOCKS[1]).flat_map(move |y| (0..BLOCKS[0]).map(move |x| [x, y, z])))
        .collect();
    for (number, block) in blocks.iter().enumerate() {
        if !shared {
            known.clear();
        }
        // Squares on the surface of the block: axis, side, and position.
        for (axis, side, a, b) in (0..3).flat_map(|axis| {
            (0..2).flat_map(move |s| (0..steps).flat_map(move |a| (0..steps).map(move |b| (axis, s, a, b))))
        }) {
            let mut corner = |da: usize, db: usize| {
                let mut at = block.map(|c| c * steps);
                at[axis] += side * steps;
                at[(axis + 1) % 3] += a + da;
                at[(axis + 2) % 3] += b + db;
                let off = *crooked.entry(at).or_insert_with(|| dice.vector() * 0.08);
                *known.entry(at).or_insert_with(|| {
                    let grid = DVec3::from_array(at.map(|c| c as f64)) / steps as f64;
                    mesh.points.push(grid + off);
                    owner.push(number);
                    mesh.points.len() - 1
                })
            };
            let mut face = vec![corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)];
            if side == 0 {
                face.reverse();
            }
            mesh.faces.push(face);
        }
    }
    let centre = DVec3::new(7.0, 4.0, 1.0);
    let motions: Vec<Flight> = (blocks.iter())
        .map(|block| {
            let middle = DVec3::from_array(block.map(|c| c as f64 + 0.5));
            let away = middle - centre;
            let begins = match dice.roll() {
                r if r < 0.1 => FRAMES,
                _ => 8 + (away.length() * 2.5 + dice.roll() * 6.0) as usize,
            };
            Flight {
                middle,
                begins,
                speed: (away.normalize_or_zero() + dice.vector() * 0.4) * 0.12 + DVec3::Z * 0.1 * dice.roll(),
                spin: dice.vector() * 0.12,
                gravity: 0.012,
                lasts: f64::INFINITY,
            }
        })
        .collect();
    let thrown = motions.iter().filter(|m| m.begins < FRAMES).count();
    println!("{thrown} of {} blocks move", motions.len());
    let frames = animate(&mesh, &owner, &motions, Some(0.5), FRAMES);
    (mesh, frames)
}

/// A thrown piece.
struct Flight {
    middle: DVec3,
    begins: usize,
    /// Movement per frame.
    speed: DVec3,
    /// Radians per frame about each axis.
    spin: DVec3,
    /// Downward acceleration per frame squared.
    gravity: f64,
    /// Number of frames until it has shrunk to nothing.
    lasts: f64,
}

impl Flight {
    /// Returns the transform in a frame; `floor` is the height at which its middle comes to rest, sliding on
    /// for a while.
    fn transform(&self, frame: usize, floor: Option<f64>) -> DAffine3 {
        let gravity = self.gravity;
        let t = frame.saturating_sub(self.begins) as f64;
        // The landing time: y + v·t − g·t²/2 is the floor.
        let lands = floor.map_or(f64::INFINITY, |floor| {
            let (v, high) = (self.speed.y, (self.middle.y - floor).max(0.0));
            (v + (v * v + 2.0 * gravity * high).sqrt()) / gravity
        });
        let (air, ground) = (t.min(lands), (t - lands).clamp(0.0, 12.0));
        let slides = ground - ground * ground / 24.0;
        let mut at = self.middle + self.speed * air;
        at.y -= gravity * air * air * 0.5;
        at += self.speed * DVec3::new(1.0, 0.0, 1.0) * slides;
        let turned = DQuat::from_scaled_axis(self.spin * (air + 0.3 * slides));
        let scale = (1.0 - (t / self.lasts).powi(2)).max(0.0);
        DAffine3::from_translation(at)
            * DAffine3::from_quat(turned)
            * DAffine3::from_scale(DVec3::splat(scale))
            * DAffine3::from_translation(-self.middle)
    }
}

/// Returns the points of each frame; `owner` has the piece of each point.
fn animate(
    mesh: &Mesh,
    owner: &[usize],
    motions: &[Flight],
    floor: Option<f64>,
    frames: usize,
) -> Vec<Vec<DVec3>> {
    let of_frame = |frame: usize| {
        let placed: Vec<DAffine3> = motions.iter().map(|m| m.transform(frame, floor)).collect();
        let moved = mesh.points.iter().zip(owner);
        moved.map(|(p, &o)| placed[o].transform_point3(*p)).collect()
    };
    (0..frames).map(of_frame).collect()
}

/// A ball whose shell bursts into patches that spin, shrink and disappear.
fn explosion(dice: &mut Dice) -> (Mesh, Vec<Vec<DVec3>>) {
    const SIDE: usize = 48;
    const FRAMES: usize = 72;
    const PIECES: usize = 220;
    let seeds: Vec<DVec3> = (0..PIECES).map(|_| dice.vector().normalize_or_zero()).collect();
    let near = |p: DVec3| {
        let far = |s: &DVec3| s.distance_squared(p);
        (0..PIECES).min_by(|a, b| far(&seeds[*a]).total_cmp(&far(&seeds[*b])))
    };
    let mut mesh = Mesh::default();
    let mut owner = Vec::new();
    let mut known: BTreeMap<(usize, [i64; 3]), usize> = BTreeMap::new();
    for (axis, side, a, b) in (0..3).flat_map(|axis| {
        (0..2).flat_map(move |s| (0..SIDE).flat_map(move |a| (0..SIDE).map(move |b| (axis, s, a, b))))
    }) {
        // A square of a cube, projected to a ball.
        let at = |da: usize, db: usize| {
            let mut p = [0i64; 3];
            p[axis] = if side == 0 { -1 } else { 1 } * SIDE as i64;
            p[(axis + 1) % 3] = 2 * (a + da) as i64 - SIDE as i64;
            p[(axis + 2) % 3] = 2 * (b + db) as i64 - SIDE as i64;
            (p, DVec3::from_array(p.map(|v| v as f64)).normalize())
        };
        let corners = [at(0, 0), at(1, 0), at(1, 1), at(0, 1)];
        let middle = corners.iter().map(|c| c.1).sum::<DVec3>() / 4.0;
        let piece = near(middle).unwrap_or(0);
        let face = corners.map(|(key, p)| {
            *known.entry((piece, key)).or_insert_with(|| {
                mesh.points.push(p);
                owner.push(piece);
                mesh.points.len() - 1
            })
        });
        let mut face = face.to_vec();
        if side == 0 {
            face.reverse();
        }
        mesh.faces.push(face);
    }
    let motions: Vec<Flight> = (seeds.iter())
        .map(|&middle| Flight {
            middle,
            begins: 5 + (8.0 * (1.0 + middle.y)) as usize,
            speed: middle * (0.05 + 0.15 * dice.roll()) + dice.vector() * 0.02,
            spin: dice.vector() * 0.3,
            gravity: 0.002,
            lasts: 25.0 + 50.0 * dice.roll(),
        })
        .collect();
    let frames = animate(&mesh, &owner, &motions, None, FRAMES);
    (mesh, frames)
}

/// A body with jointed arms that wave, and a breathing motion that no bone has.
fn creature(dice: &mut Dice) -> (Mesh, Vec<Vec<DVec3>>) {
    const ARMS: usize = 7;
    const JOINTS: usize = 5;
    const FRAMES: usize = 100;
    const RINGS: usize = 90;
    const AROUND: usize = 28;
    let mut mesh = Mesh::default();
    // Arm of each vertex, and its position along that, in joints.
    let mut along = Vec::new();
    let reach = 3.0;
    for arm in 0..ARMS {
        let turn = DQuat::from_rotation_y(std::f64::consts::TAU * arm as f64 / ARMS as f64);
        let first = mesh.points.len();
        for ring in 0..RINGS {
            let part = ring as f64 / (RINGS - 1) as f64;
            let thick = 0.45 * (1.0 - 0.85 * part);
            for k in 0..AROUND {
                let angle = std::f64::consts::TAU * k as f64 / AROUND as f64;
                let bump = 1.0 + 0.05 * (2.0 * dice.roll() - 1.0);
                let p =
                    DVec3::new(0.4 + reach * part, thick * bump * angle.cos(), thick * bump * angle.sin());
                mesh.points.push(turn * p);
                along.push((arm, part * JOINTS as f64));
            }
        }
        for ring in 0..RINGS - 1 {
            for k in 0..AROUND {
                let at = |r: usize, k: usize| first + r * AROUND + k % AROUND;
                let face = vec![at(ring, k), at(ring, k + 1), at(ring + 1, k + 1), at(ring + 1, k)];
                mesh.faces.push(face);
            }
        }
    }
    let waves: Vec<[DVec3; 2]> =
        (0..ARMS * JOINTS).map(|_| [dice.vector() * 0.5, dice.vector() * 3.0]).collect();
    let frames = (0..FRAMES)
        .map(|frame| {
            let t = std::f64::consts::TAU * frame as f64 / 50.0;
            let body = DAffine3::from_rotation_translation(
                DQuat::from_rotation_y(0.3 * t.sin()),
                DVec3::Y * 0.4 * (t * 0.5).sin(),
            );
            let arms: Vec<Vec<DAffine3>> = (0..ARMS)
                .map(|arm| {
                    let turn = DQuat::from_rotation_y(std::f64::consts::TAU * arm as f64 / ARMS as f64);
                    let mut all = vec![body];
                    for joint in 0..JOINTS {
                        let [size, phase] = waves[arm * JOINTS + joint];
                        let angles = DVec3::from_array([0, 1, 2].map(|k| size[k] * (t + phase[k]).sin()));
                        let pivot = turn * DVec3::new(0.4 + reach * joint as f64 / JOINTS as f64, 0.0, 0.0);
                        let bend = DAffine3::from_translation(pivot)
                            * DAffine3::from_quat(DQuat::from_scaled_axis(turn * angles))
                            * DAffine3::from_translation(-pivot);
                        all.push(all[joint] * bend);
                    }
                    all
                })
                .collect();
            let moved = mesh.points.iter().zip(&along).map(|(p, &(arm, at))| {
                // Within half a joint of each pivot the weight passes from one bone to the next.
                let joint = (at + 0.5).floor();
                let part = (at + 0.5 - joint).clamp(0.0, 1.0);
                let smooth = part * part * (3.0 - 2.0 * part);
                let bones = &arms[arm];
                let (low, high) = (joint as usize, (joint as usize + 1).min(JOINTS));
                let low = low.min(JOINTS);
                let breath = 1.0 + 0.004 * (t + 4.0 * at).sin();
                let mean = bones[low].transform_point3(*p) * (1.0 - smooth)
                    + bones[high].transform_point3(*p) * smooth;
                mean * breath
            });
            moved.collect()
        })
        .collect();
    (mesh, frames)
}

/// Drops that move through each other: a surface of changing topology, by marching tetrahedra (A. Doi and A.
/// Koide, *An efficient method of triangulating equi-valued surfaces by using tetrahedral cells*, 1991).
fn liquid(folder: &Path, dice: &mut Dice) -> anyhow::Result<()> {
    const SIDE: usize = 40;
    const FRAMES: usize = 36;
    const DROPS: usize = 9;
    // The tetrahedra of a cube, around its diagonal.
    const TETRAHEDRA: [[usize; 4]; 6] =
        [[0, 1, 3, 7], [0, 3, 2, 7], [0, 2, 6, 7], [0, 6, 4, 7], [0, 4, 5, 7], [0, 5, 1, 7]];
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let drops: Vec<[DVec3; 2]> = (0..DROPS).map(|_| [dice.vector(), dice.vector() * 3.0]).collect();
    let mut most = 0;
    for frame in 0..FRAMES {
        let t = std::f64::consts::TAU * frame as f64 / FRAMES as f64;
        let middles: Vec<DVec3> = (drops.iter())
            .map(|[size, phase]| DVec3::from_array([0, 1, 2].map(|k| 0.6 * size[k] * (t + phase[k]).cos())))
            .collect();
        let place = |c: [usize; 3]| DVec3::from_array(c.map(|v| 2.4 * v as f64 / SIDE as f64 - 1.2));
        let depth = |c: [usize; 3]| {
            let p = place(c);
            let pull = |m: &DVec3| 0.05 / (p.distance_squared(*m) + 0.01);
            middles.iter().map(pull).sum::<f64>() - 1.0
        };
        let number = |c: [usize; 3]| (c[2] * (SIDE + 1) + c[1]) * (SIDE + 1) + c[0];
        let mut mesh = Mesh::default();
        let mut known: BTreeMap<[usize; 2], usize> = BTreeMap::new();
        for cube in (0..SIDE).flat_map(|z| (0..SIDE).flat_map(move |y| (0..SIDE).map(move |x| [x, y, z]))) {
            let corner = |k: usize| [cube[0] + (k & 1), cube[1] + (k >> 1 & 1), cube[2] + (k >> 2)];
            for four in TETRAHEDRA {
                let inside: Vec<usize> = four.into_iter().filter(|k| depth(corner(*k)) > 0.0).collect();
                let outside: Vec<usize> = four.into_iter().filter(|k| !inside.contains(k)).collect();
                let mut cut = |a: usize, b: usize| {
                    let ends = [corner(a), corner(b)];
                    let mut key = ends.map(number);
                    key.sort_unstable();
                    *known.entry(key).or_insert_with(|| {
                        let [x, y] = ends.map(depth);
                        mesh.points.push(place(ends[0]).lerp(place(ends[1]), x / (x - y)));
                        mesh.points.len() - 1
                    })
                };
                let loops = match (&inside[..], &outside[..]) {
                    (&[a], &[b, c, d]) => vec![cut(a, b), cut(a, c), cut(a, d)],
                    (&[b, c, d], &[a]) => vec![cut(b, a), cut(c, a), cut(d, a)],
                    (&[a, b], &[c, d]) => vec![cut(a, c), cut(a, d), cut(b, d), cut(b, c)],
                    _ => continue,
                };
                // Faces outwards, away from the inner corner.
                let p = |k: usize| mesh.points[loops[k]];
                let side = DMat3::from_cols(p(1) - p(0), p(2) - p(0), place(corner(inside[0])) - p(0));
                let mut face = loops.clone();
                if side.determinant() > 0.0 {
                    face.reverse();
                }
                for k in 1..face.len() - 1 {
                    mesh.faces.push(vec![face[0], face[k], face[k + 1]]);
                }
            }
        }
        most = most.max(mesh.points.len());
        obj(&folder.join(format!("liquid.{:04}.obj", frame + 1)), &mesh)?;
    }
    println!("liquid: up to {most} vertices, {FRAMES} frames");
    Ok(())
}
