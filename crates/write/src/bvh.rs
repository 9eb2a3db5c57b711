//! Writes one clip and its skeleton as BVH text. Scale, which BVH cannot hold, is a remark; bind rotations
//! become part of the channels.

use super::Temporary;
use glam::{DMat3, DQuat, DVec3};
use meshreel_scene::clip::{Clip, Joint, Skeleton};
use meshreel_scene::{Error, Remark};
use std::f64::consts::{PI, TAU};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Writes `clip` to `path`, which is either complete or unchanged. Lengths are written in the clip's unit.
pub fn write(path: &Path, skeleton: &Skeleton, clip: &Clip) -> Result<Vec<Remark>, Error> {
    let mut remarks = Vec::new();
    let text = text(skeleton, clip, &mut remarks);
    let file = Temporary::create(path)?;
    let mut out = file.file();
    out.write_all(text.as_bytes()).map_err(|e| Error::io(file.target(), e))?;
    file.publish()?;
    Ok(remarks)
}

/// Returns the text of the file.
pub fn text(skeleton: &Skeleton, clip: &Clip, remarks: &mut Vec<Remark>) -> String {
    let joints = &skeleton.joints;
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); joints.len()];
    let mut roots = Vec::new();
    for (j, joint) in joints.iter().enumerate() {
        match joint.parent {
            Some(parent) => children[parent].push(j),
            None => roots.push(j),
        }
    }
    let moves = |j: usize| {
        let track = &clip.tracks[j].translation;
        joints[j].parent.is_none() || !track.is_constant() || track.sample(0) != joints[j].rest.translation
    };
    let scaled = (0..joints.len()).any(|j| {
        let track = &clip.tracks[j].scale;
        !track.is_constant() || track.sample(0) != DVec3::ONE
    });
    if scaled {
        remarks.push(Remark::new(&clip.name, "BVH holds no scale; it was left out"));
    }
    let mut out = String::from("HIERARCHY\n");
    // Joints in the order of the text; the stack holds those still to be opened, and `None` for a closing
    // brace.
    let mut order = Vec::with_capacity(joints.len());
    let mut stack: Vec<Option<usize>> = roots.iter().rev().map(|&root| Some(root)).collect();
    let mut depth = 0;
    while let Some(entry) = stack.pop() {
        let Some(j) = entry else {
            depth -= 1;
            let _ = writeln!(out, "{}}}", indent(depth));
            continue;
        };
        order.push(j);
        let joint = &joints[j];
        let kind = if joint.parent.is_none() { "ROOT" } else { "JOINT" };
        let tabs = indent(depth);
        let _ = writeln!(out, "{tabs}{kind} {}\n{tabs}{{", clean(&joint.name, j));
        depth += 1;
        let tabs = indent(depth);
        let _ = writeln!(out, "{tabs}OFFSET {}", vector(joint.rest.translation));
        let [a, b, c] = rotation_axes(joint).map(|axis| ["X", "Y", "Z"][axis]);
        let turns = format!("{a}rotation {b}rotation {c}rotation");
        let _ = match moves(j) {
            true => writeln!(out, "{tabs}CHANNELS 6 Xposition Yposition Zposition {turns}"),
            false => writeln!(out, "{tabs}CHANNELS 3 {turns}"),
        };
        let mut ends = joint.end_sites.clone();
        if ends.is_empty() && children[j].is_empty() {
            ends.push(DVec3::ZERO);
        }
        for end in ends {
            let _ = writeln!(out, "{tabs}End Site\n{tabs}{{\n{tabs}\tOFFSET {}\n{tabs}}}", vector(end));
        }
        stack.push(None);
        stack.extend(children[j].iter().rev().map(|&child| Some(child)));
    }
    let _ = writeln!(out, "MOTION\nFrames: {}", clip.samples);
    let _ = writeln!(out, "Frame Time: {:.9}", 1.0 / clip.fps);
    let mut last = vec![DVec3::ZERO; joints.len()];
    for i in 0..clip.samples {
        for (n, &j) in order.iter().enumerate() {
            let value = clip.tracks[j].transform(i);
            let turned = angles(value.rotation, rotation_axes(&joints[j]));
            let angles = nearest_angles(turned, last[j]);
            last[j] = angles;
            if n > 0 {
                out.push(' ');
            }
            if moves(j) {
                let _ = write!(out, "{} ", vector(value.translation));
            }
            let degrees = angles * (180.0 / PI);
            out.push_str(&vector(degrees));
        }
        out.push('\n');
    }
    out
}

fn indent(depth: usize) -> String {
    // The indent is limited: a chain of thousands of joints would grow with the square of its length.
    "\t".repeat(depth.min(32))
}

/// Returns a name that can be read back: one line, not empty, no braces.
fn clean(name: &str, joint: usize) -> String {
    let name: String =
        name.chars().map(|c| if c.is_control() || c == '{' || c == '}' { '_' } else { c }).collect();
    match name.trim() {
        "" => format!("joint{joint}"),
        name => name.into(),
    }
}

fn vector(v: DVec3) -> String {
    format!("{} {} {}", number(v.x), number(v.y), number(v.z))
}

/// Prints six decimals, as is usual: an error of 1e-8 rad in degrees, and a negligible one in centimetres.
fn number(value: f64) -> String {
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Returns the axes in the order of a joint's channels: the file's, or z, y, x.
fn rotation_axes(joint: &Joint) -> [usize; 3] {
    let order = joint.rotation_order.unwrap_or([2, 1, 0]);
    let mut sorted = order;
    sorted.sort_unstable();
    match sorted {
        [0, 1, 2] => order.map(usize::from),
        _ => [2, 1, 0],
    }
}

/// Returns the angles of a rotation as a product of rotations about the axes i, j and k.
fn angles(q: DQuat, [i, j, k]: [usize; 3]) -> DVec3 {
    let m = DMat3::from_quat(q);
    let at = |row: usize, column: usize| m.col(column)[row];
    // 1 for cyclic orders (x y z, y z x, z x y), −1 for the others.
    let round = if (i + 1) % 3 == j { 1.0 } else { -1.0 };
    let sine: f64 = round * at(i, k);
    let middle = sine.clamp(-1.0, 1.0).asin();
    if sine.abs() < 1.0 - 1e-12 {
        let first = (-round * at(j, k)).atan2(at(k, k));
        let last = (-round * at(i, j)).atan2(at(i, i));
        DVec3::new(first, middle, last)
    } else {
        // Two axes coincide (gimbal lock), so one of the angles is free.
        DVec3::new((round * at(k, j)).atan2(at(j, j)), middle, 0.0)
    }
}

/// Returns angles of the same rotation that are nearest to `last`, so that curves do not jump.
fn nearest_angles(angles: DVec3, last: DVec3) -> DVec3 {
    let turns = |a: DVec3| a + ((last - a) / TAU).round() * TAU;
    let first = turns(angles);
    let other = turns(DVec3::new(angles.x + PI, PI - angles.y, angles.z + PI));
    if (other - last).abs().element_sum() < (first - last).abs().element_sum() { other } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn angles_of_every_order_give_the_rotation_again() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let product = |angles: DVec3| {
                let turn = |n: usize| DQuat::from_axis_angle(DVec3::AXES[order[n]], angles[n]);
                turn(0) * turn(1) * turn(2)
            };
            let right = PI / 2.0;
            for given in [[0.3, -1.2, 2.5], [-3.0, 0.1, 0.0], [1.0, right, 0.4], [1.0, -right, 0.4]] {
                let q = product(given.into());
                let found = angles(q, order);
                let off = product(found).dot(q).abs();
                assert!(off > 1.0 - 1e-9, "{order:?} {given:?} {found} {off}");
                if given[1].abs() < 1.5 {
                    assert!((found - DVec3::from(given)).length() < 1e-9);
                }
            }
        }
    }
}
