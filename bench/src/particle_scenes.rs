//! Particles that no corpus has, made by simulation: a fountain, snow, debris, a cloud. Points with ids,
//! velocities and widths.

use crate::dice::Dice;
use glam::DVec3;
use meshreel_scene::{
    Attribute, Channel, LengthUnit, Mesh, Node, NodeKind, Particles, Scene, Scope, TimeSampling,
};
use std::path::Path;

/// Particles of one frame.
#[derive(Default, Clone)]
struct ParticleFrame {
    ids: Vec<u64>,
    points: Vec<[f32; 3]>,
    velocities: Vec<[f32; 3]>,
    widths: Vec<[f32; 1]>,
}

impl ParticleFrame {
    fn add(&mut self, id: u64, at: DVec3, velocity: DVec3, width: f64) {
        self.ids.push(id);
        self.points.push(at.as_vec3().to_array());
        self.velocities.push(velocity.as_vec3().to_array());
        self.widths.push([width as f32]);
    }
}

const FRAMES: usize = 120;
/// Frames per second.
const RATE: f64 = 24.0;
/// Metres per second squared.
const GRAVITY: f64 = 9.81;

/// Returns the simulations by name.
pub fn simulations(dice: &mut Dice) -> Vec<(&'static str, Scene)> {
    let all = [
        ("fountain", fountain(dice)),
        ("snow", snow(dice)),
        ("debris", debris(dice)),
        ("cloud", cloud(dice)),
    ];
    all.map(|(name, frames)| (name, scene(name, &frames))).into()
}

/// Writes the simulations as Alembic.
pub fn write(folder: &Path, dice: &mut Dice) -> anyhow::Result<()> {
    for (name, scene) in simulations(dice) {
        meshreel_write::alembic::write(&folder.join(name).with_extension("abc"), &scene, &mut |_, _| {})?;
        println!("{name}: particles, {FRAMES} frames");
    }
    Ok(())
}

fn scene(name: &str, frames: &[ParticleFrame]) -> Scene {
    let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 / RATE };
    fn channel<T: Clone + Send + Sync + 'static>(
        sampling: &TimeSampling,
        frames: &[ParticleFrame],
        of: impl Fn(&ParticleFrame) -> Vec<T>,
    ) -> Channel<T> {
        Channel::in_memory(sampling.clone(), frames.iter().map(of).collect())
    }
    let particles = Particles {
        ids: Some(channel(&sampling, frames, |f| f.ids.clone())),
        widths: Some(Attribute {
            name: "width".into(),
            scope: Scope::Vertex,
            values: channel(&sampling, frames, |f| f.widths.clone()),
            indices: None,
        }),
        curves: None,
    };
    let path = format!("/{name}");
    let positions = channel(&sampling, frames, |f| f.points.clone());
    let mesh = Mesh {
        velocities: Some(channel(&sampling, frames, |f| f.velocities.clone())),
        ..Mesh::from_particles(path.clone(), positions, particles)
    };
    let node = Node { mesh: Some(0), samples: frames.len(), ..Node::new(path, NodeKind::Points) };
    Scene { nodes: vec![node], meshes: vec![mesh], unit: Some(LengthUnit::Metre), ..Scene::default() }
}

/// Drops that rise from a nozzle, fall against air drag, splash once on the ground and disappear.
fn fountain(dice: &mut Dice) -> Vec<ParticleFrame> {
    const BIRTHS_PER_FRAME: usize = 60;
    const STEPS: usize = 4;
    struct Drop {
        id: u64,
        at: DVec3,
        velocity: DVec3,
        width: f64,
        splashed: bool,
        left: usize,
    }
    let step = 1.0 / (RATE * STEPS as f64);
    let mut drops: Vec<Drop> = Vec::new();
    let mut frames = Vec::new();
    for frame in 0..FRAMES + 48 {
        for k in 0..BIRTHS_PER_FRAME {
            let spread = DVec3::new(dice.roll() - 0.5, 0.0, dice.roll() - 0.5) * 2.4;
            drops.push(Drop {
                id: (frame * BIRTHS_PER_FRAME + k) as u64,
                at: DVec3::new(0.0, 0.4, 0.0) + dice.vector() * 0.03,
                velocity: DVec3::Y * (5.5 + dice.roll()) + spread,
                width: 0.004 + 0.008 * dice.roll(),
                splashed: false,
                left: 30 + (30.0 * dice.roll()) as usize,
            });
        }
        for drop in &mut drops {
            for _ in 0..STEPS {
                let drag = drop.velocity * (0.12 * drop.velocity.length());
                drop.velocity += (DVec3::NEG_Y * GRAVITY - drag) * step;
                drop.at += drop.velocity * step;
                if drop.at.y < 0.0 && !drop.splashed {
                    drop.splashed = true;
                    drop.at.y = 0.0;
                    drop.velocity = drop.velocity * DVec3::new(0.5, -0.3, 0.5) + dice.vector() * 0.3;
                }
            }
            drop.left -= 1;
        }
        drops.retain(|drop| drop.left > 0 && drop.at.y > -0.05);
        let mut out = ParticleFrame::default();
        drops.iter().for_each(|d| out.add(d.id, d.at, d.velocity, d.width));
        frames.push(out);
    }
    // The fountain is already running in the first frame.
    frames.split_off(48)
}

/// Flakes that sink and sway in gusts; those that reach the ground reappear above with another id.
fn snow(dice: &mut Dice) -> Vec<ParticleFrame> {
    const FLAKES: usize = 4000;
    let gusts: Vec<(DVec3, DVec3, f64, f64)> = (0..6)
        .map(|k| {
            let way = dice.vector() * (0.4 * 1.6f64.powi(k));
            (way, dice.vector() * (0.5 / 1.4f64.powi(k)), 0.5 + dice.roll(), dice.roll() * 6.3)
        })
        .collect();
    let mut next = FLAKES as u64;
    let mut flakes: Vec<(u64, DVec3, f64, f64)> = (0..FLAKES)
        .map(|id| {
            (id as u64, (dice.vector() + DVec3::Y) * DVec3::splat(4.0), 0.6 + 0.5 * dice.roll(), dice.roll())
        })
        .collect();
    let mut frames = Vec::new();
    for frame in 0..FRAMES {
        let time = frame as f64 / RATE;
        let mut out = ParticleFrame::default();
        for (id, at, sinks, width) in &mut flakes {
            let wind: DVec3 = gusts
                .iter()
                .map(|(way, size, pace, phase)| *size * (way.dot(*at) + pace * time + phase).sin())
                .sum();
            let velocity = wind - DVec3::Y * *sinks;
            *at += velocity / RATE;
            if at.y < 0.0 {
                (*id, next) = (next, next + 1);
                *at = (dice.vector() * DVec3::new(1.0, 0.0, 1.0) + DVec3::Y * 2.0) * 4.0;
            }
            out.add(*id, *at, velocity, 0.01 + 0.02 * *width);
        }
        // In the order of ids, as in files.
        let mut order: Vec<usize> = (0..out.ids.len()).collect();
        order.sort_by_key(|&i| out.ids[i]);
        let sorted = order.iter().fold(ParticleFrame::default(), |mut sorted, &i| {
            sorted.ids.push(out.ids[i]);
            sorted.points.push(out.points[i]);
            sorted.velocities.push(out.velocities[i]);
            sorted.widths.push(out.widths[i]);
            sorted
        });
        frames.push(sorted);
    }
    frames
}

/// A captured body of points: most stand still, the others turn, wave and tremble.
fn cloud(dice: &mut Dice) -> Vec<ParticleFrame> {
    const POINTS: usize = 10_000;
    const MOVING: usize = POINTS * 2 / 5;
    const TREMBLE: f64 = 0.0003;
    let mut start: Vec<DVec3> = (0..POINTS).map(|_| dice.vector().normalize_or_zero()).collect();
    start[MOVING..].iter_mut().for_each(|at| *at *= 3.0);
    let widths: Vec<f64> = (0..POINTS).map(|_| 0.005 + 0.01 * dice.roll()).collect();
    let mut frames = Vec::new();
    for frame in 0..FRAMES {
        let time = frame as f64 / RATE;
        let mut out = ParticleFrame::default();
        for (n, (&from, &width)) in start.iter().zip(&widths).enumerate() {
            let mut at = from;
            if n < MOVING {
                let waved = from * (1.0 + 0.1 * (6.0 * time + 3.0 * from.x).sin());
                let (sin, cos) = (0.5 * time).sin_cos();
                at = DVec3::new(cos * waved.x - sin * waved.y, sin * waved.x + cos * waved.y, waved.z);
                at += dice.vector() * TREMBLE;
            }
            out.add(n as u64, at, DVec3::ZERO, width);
        }
        frames.push(out);
    }
    frames
}

/// Rubble that rests, is thrown, bounces off the ground and comes to rest.
fn debris(dice: &mut Dice) -> Vec<ParticleFrame> {
    const PIECES: usize = 3000;
    const STEPS: usize = 4;
    let step = 1.0 / (RATE * STEPS as f64);
    let mut pieces: Vec<(DVec3, DVec3, usize, f64)> = (0..PIECES)
        .map(|_| {
            let at = (dice.vector() + DVec3::Y) * DVec3::new(1.0, 1.5, 1.0);
            let away = (at - DVec3::new(0.0, 0.4, 0.0)).normalize_or_zero();
            let thrown = 10 + (at.length() * 3.0) as usize;
            (at, away * (3.0 + 5.0 * dice.roll()) + dice.vector(), thrown, 0.02 + 0.1 * dice.roll().powi(3))
        })
        .collect();
    let mut frames = Vec::new();
    for frame in 0..FRAMES {
        let mut out = ParticleFrame::default();
        for (id, (at, velocity, thrown, width)) in pieces.iter_mut().enumerate() {
            let moves = frame >= *thrown && velocity.length() > 0.0;
            for _ in 0..if moves { STEPS } else { 0 } {
                *velocity += DVec3::NEG_Y * (GRAVITY * step);
                *at += *velocity * step;
                if at.y < 0.0 {
                    at.y = 0.0;
                    *velocity *= DVec3::new(0.6, -0.35, 0.6);
                    if velocity.length() < 0.4 {
                        *velocity = DVec3::ZERO;
                    }
                }
            }
            out.add(id as u64, *at, if moves { *velocity } else { DVec3::ZERO }, *width);
        }
        frames.push(out);
    }
    frames
}
