//! Draws files without a window and looks at the pictures. Needs a graphics driver; Mesa's lavapipe will do.
//! Skipped, and says so, where there is none. `PICTURES=FOLDER` keeps what was drawn.

mod studio;

use bevy::prelude::*;
use bevy_meshreel::meshreel::{Command, FrameDecoder, Limits, Reel};
use studio::{SIZE, Studio, path};

/// The part of the larger of two areas that both have in common.
fn overlap(a: &[bool], b: &[bool]) -> f64 {
    let count = |list: &[bool]| list.iter().filter(|covered| **covered).count();
    let both = a.iter().zip(b).filter(|(a, b)| **a && **b).count();
    both as f64 / count(a).max(count(b)).max(1) as f64
}

/// Returns the pixels whose centres the triangles of a frame cover, seen along −z within `bounds`.
fn covered(file: &str, frame: usize, view: Rect) -> Vec<bool> {
    let reel = Reel::open(path(file), &Limits::default()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(frame).unwrap();
    let mut out = vec![false; (SIZE * SIZE) as usize];
    for (number, node) in reel.description().nodes.iter().enumerate() {
        let Some(mesh) = node.mesh.filter(|_| decoder.visible(number)) else { continue };
        let mesh = decoder.mesh(mesh as usize);
        let mut points = vec![[0.0; 3]; mesh.vertex_count()];
        mesh.positions_into(points.as_flattened_mut()).unwrap();
        let world = decoder.world(number);
        let pixel = |index: &u32| {
            let [x, y, z] = points[*index as usize].map(f64::from);
            let [x, y] = [0, 1].map(|k| {
                let [a, b, c, d] = world[k];
                (a * x + b * y + c * z + d) as f32
            });
            let at = (Vec2::new(x, y) - view.min) / view.size() * SIZE as f32;
            Vec2::new(at.x, SIZE as f32 - at.y)
        };
        for triangle in mesh.indices().as_chunks::<3>().0 {
            fill(triangle.each_ref().map(pixel), &mut out);
        }
    }
    out
}

fn fill([a, b, c]: [Vec2; 3], out: &mut [bool]) {
    let (low, high) = (a.min(b).min(c).floor(), a.max(b).max(c).ceil());
    for y in low.y.max(0.0) as u32..(high.y.max(0.0) as u32).min(SIZE) {
        for x in low.x.max(0.0) as u32..(high.x.max(0.0) as u32).min(SIZE) {
            let p = Vec2::new(x as f32 + 0.5, y as f32 + 0.5);
            let sides = [(b - a).perp_dot(p - a), (c - b).perp_dot(p - b), (a - c).perp_dot(p - c)];
            if sides.iter().all(|s| *s >= 0.0) || sides.iter().all(|s| *s <= 0.0) {
                out[(y * SIZE + x) as usize] = true;
            }
        }
    }
}

/// What is drawn is what the decoder decodes, projected by hand: at first, and after a jump.
fn pixels_are_those_of_triangles(card: bool) {
    let Some(mut studio) = Studio::new(card) else { return };
    for (file, frames) in [
        ("flag_fast.reel", [17, 3]),
        ("wall_fast.reel", [30, 12]),
        ("robot_small.reel", [9, 2]),
        ("snake_small.reel", [3, 20]),
    ] {
        let reel = Reel::open(path(file), &Limits::default()).unwrap();
        let view = studio.look_at(&reel);
        let entity = studio.show(file, |player| player.with(Command::GoToFrame(frames[0])));
        studio.wait(entity);
        for frame in frames {
            studio.player(entity).command(Command::GoToFrame(frame));
            studio.frames(5);
            let picture = studio.picture(&format!("{file}.{frame}.{card}.png"));
            let drawn: Vec<bool> = picture.pixels().map(|pixel| pixel.0[0] > 100).collect();
            let common = overlap(&drawn, &covered(file, frame, view));
            assert!(common > 0.97, "{file}, frame {frame}: {common}");
        }
        studio.clear();
    }
}

#[test]
fn the_cpu_draws_frames_where_their_triangles_are() {
    pixels_are_those_of_triangles(false);
}

#[test]
fn the_card_draws_frames_where_their_triangles_are() {
    pixels_are_those_of_triangles(true);
}

/// Light falls on a mesh of the card as on one of the CPU: normals are the same. The vertices of the card are
/// not those that Bevy's mesh has in memory, which is as at first.
#[test]
fn the_card_draws_what_the_cpu_draws() {
    lit_pictures_are_equal("flag_fast.reel", 0.61);
}

/// A level of detail is computed by the card as well.
#[test]
fn the_card_draws_levels_of_detail() {
    lit_pictures_are_equal("levels.reel", 0.3);
}

fn lit_pictures_are_equal(file: &str, seconds: f64) {
    let pictures = [false, true].map(|card| {
        let mut studio = Studio::new(card)?;
        studio.light();
        let reel = Reel::open(path(file), &Limits::default()).unwrap();
        match file {
            // Far enough for a level.
            "levels.reel" => studio.look_from(Vec3::new(2.0, 3.0, 4.0)),
            _ => drop(studio.look_at(&reel)),
        }
        let entity = studio.show(file, |player| player);
        studio.wait(entity);
        if file == "levels.reel" {
            assert_eq!(studio.triangles(), 576);
        }
        let before = studio.positions();
        studio.player(entity).seek(seconds);
        studio.frames(5);
        assert_eq!(studio.positions() == before, card);
        Some(studio.picture(&format!("lit.{file}.{card}.png")))
    });
    let [Some(cpu), Some(card)] = pictures else { return };
    let off = cpu.pixels().zip(card.pixels()).filter(|(a, b)| (0..3).any(|k| a.0[k].abs_diff(b.0[k]) > 2));
    assert_eq!(off.count(), 0);
    let shades: std::collections::BTreeSet<u8> = cpu.pixels().map(|pixel| pixel.0[0]).collect();
    assert!(shades.len() > 30, "it is lit: {shades:?}");
}

/// The sides of the lettered cube are where their letters say: +X is red, +Y green, +Z blue.
#[test]
fn the_cube_is_neither_turned_nor_mirrored() {
    let Some(mut studio) = Studio::new(false) else { return };
    studio.look_from(Vec3::new(3.0, 3.5, 4.0));
    let entity = studio.show("cube.reel", |player| player);
    studio.wait(entity);
    let picture = studio.picture("cube.png");
    let mean = |strongest: usize| {
        let of_letters = picture.enumerate_pixels().filter(|(_, _, pixel)| {
            let others = [(strongest + 1) % 3, (strongest + 2) % 3].map(|k| i32::from(pixel.0[k]));
            others.iter().all(|other| i32::from(pixel.0[strongest]) - other > 60)
        });
        let (sum, count) = of_letters.fold((Vec2::ZERO, 0), |(sum, count), (x, y, _)| {
            (sum + Vec2::new(x as f32, y as f32), count + 1)
        });
        assert!(count > 100, "letters of colour {strongest}: {count}");
        sum / count as f32
    };
    let [red, green, blue] = [0, 1, 2].map(mean);
    assert!(green.y < red.y && green.y < blue.y, "{red} {green} {blue}");
    assert!(blue.x < red.x, "{red} {green} {blue}");
}
