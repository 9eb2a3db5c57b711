//! Advice in words that an artist understands: what takes the bytes, what could be left out, and what exceeds
//! the usual sizes of such systems.

use crate::report::readable::{count, short};
use crate::report::{MeshReport, Report};
use meshreel_codec::record::Description;
use serde::Serialize;

/// The number of transforms of most scenes, of large ones, and the maximum, in the system that this follows;
/// and the number in all of its tests together.
const TRANSFORMS: [usize; 3] = [4_096, 32_768, 65_535];
const TESTED: usize = 1 << 20;
/// The number of frames of most sequences, and the maximum.
const FRAMES: [usize; 2] = [1_800, 7_200];
/// The number of triangles in its tests.
const TRIANGLES: usize = 1 << 22;

/// Shares from which on advice is given: bytes of a part among the others, frames of parts at rest, bytes of
/// a mesh among the others.
const MIN_PART_FRACTION: f64 = 0.2;
const MIN_REST_FRACTION: f64 = 0.1;
const MIN_MESH_FRACTION: f64 = 0.5;
/// The least ratio of a part's bytes to its even share, and the least number of parts or meshes, for advice.
const MIN_PART_RATIO: f64 = 4.0;
const MIN_COUNT: usize = 4;

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Its subject: `part`, `rest`, `residual`, `mesh`, `transforms`, `frames`, `triangles`.
    pub about: &'static str,
    /// Path of the mesh; empty if the advice is about the file.
    pub path: String,
    /// The advice as text.
    pub text: String,
}

impl Advice {
    fn new(about: &'static str, path: &str, text: String) -> Advice {
        Advice { about, path: path.to_owned(), text }
    }

    /// Returns the advice as one line.
    pub fn line(&self) -> String {
        match self.path.is_empty() {
            true => self.text.clone(),
            false => format!("{}: {}", self.path, self.text),
        }
    }
}

/// Totals over a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// The number of parts and bones of meshes, and of nodes that move.
    pub transforms: usize,
    /// The number of frames.
    pub frames: usize,
    /// The number of triangles.
    pub triangles: usize,
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Returns advice on unusual sizes.
pub fn from_totals(totals: Totals) -> Vec<Advice> {
    let [usual, large, most] = TRANSFORMS;
    let mut out = Vec::new();
    let n = totals.transforms;
    if n > usual {
        let than = match n {
            n if n > TESTED => format!("the {} that such systems were tested with", count(TESTED as u64)),
            n if n > most => format!("the {} that one mesh can have", count(most as u64)),
            n if n > large => format!("the {} of large scenes", count(large as u64)),
            _ => format!("the {} of most scenes", count(usual as u64)),
        };
        let text = format!(
            "{} parts, bones and nodes move by themselves, {} more than {than}: join what moves together, or leave out what nobody sees",
            count(n as u64),
            count(
                (n - match n {
                    n if n > TESTED => TESTED,
                    n if n > most => most,
                    n if n > large => large,
                    _ => usual,
                }) as u64
            ),
        );
        out.push(Advice::new("transforms", "", text));
    }
    let [usual, most] = FRAMES;
    if totals.frames > usual {
        let than = match totals.frames > most {
            true => format!("more than the {} of the longest sequences", count(most as u64)),
            false => format!("more than the {} of most sequences", count(usual as u64)),
        };
        let text = format!(
            "{} frames, {than}: segments that follow each other are culled and streamed one by one",
            count(totals.frames as u64)
        );
        out.push(Advice::new("frames", "", text));
    }
    if totals.triangles > TRIANGLES {
        let text = format!(
            "{} triangles, more than the {} that such systems were tested with",
            count(totals.triangles as u64),
            count(TRIANGLES as u64)
        );
        out.push(Advice::new("triangles", "", text));
    }
    out
}

/// Returns advice on the mesh that takes most of the bytes, if there are several. `meshes`: path and bytes.
pub fn heaviest_mesh<'a>(meshes: impl Iterator<Item = (&'a str, u64)>) -> Option<Advice> {
    let meshes: Vec<(&str, u64)> = meshes.collect();
    let all: u64 = meshes.iter().map(|m| m.1).sum();
    let (path, bytes) = meshes.iter().max_by_key(|m| m.1).filter(|_| meshes.len() >= MIN_COUNT)?;
    let share = *bytes as f64 / all.max(1) as f64;
    let meshes = count(meshes.len() as u64);
    let text = format!("uses {} of the bytes of all {meshes} meshes", percent(share));
    (share >= MIN_MESH_FRACTION).then(|| Advice::new("mesh", path, text))
}

/// Returns advice on one compiled mesh.
fn from_mesh(mesh: &MeshReport) -> Vec<Advice> {
    let mut out = Vec::new();
    let mut say = |about, text| out.push(Advice::new(about, &mesh.path, text));
    let measures = &mesh.measures;
    if let Some(heaviest) = measures.heaviest {
        let parts = mesh.parts;
        let even = MIN_PART_RATIO / parts.max(1) as f64;
        if parts >= MIN_COUNT && heaviest.fraction >= MIN_PART_FRACTION.max(even) {
            say(
                "part",
                format!(
                    "part {} uses {} of the bytes of the motion of {} parts (it has point {})",
                    heaviest.part,
                    percent(heaviest.fraction),
                    count(parts as u64),
                    heaviest.point
                ),
            );
        }
    }
    if let Some(rest) = measures.rest.filter(|rest| rest.fraction >= MIN_REST_FRACTION) {
        say(
            "rest",
            format!(
                "{} of {} pieces never move after {} s: a sequence that ends there, with an end state, has {} fewer of their frames",
                count(rest.parts as u64),
                count(rest.moving_parts as u64),
                short(rest.time),
                percent(rest.fraction)
            ),
        );
    }
    if let Some(spikes) = measures.residual {
        say(
            "residual",
            format!(
                "{} of {} points with a residual keep {} of it: look for spikes, or points that hang on the wrong part (one is point {})",
                count(spikes.points as u64),
                count(spikes.points_with_residual as u64),
                percent(spikes.fraction),
                spikes.point
            ),
        );
    }
    out
}

/// Returns advice on a compiled file.
pub fn from_report(report: &Report) -> Vec<Advice> {
    let nodes: usize =
        (report.clips.iter()).filter(|clip| clip.name == "nodes").map(|clip| clip.joints).sum();
    let bones: usize = report.meshes.iter().map(|m| m.parts + m.bones).sum();
    let mut out = from_totals(Totals {
        transforms: nodes + bones,
        frames: report.frames,
        triangles: report.meshes.iter().map(|m| m.triangles).sum(),
    });
    out.extend(heaviest_mesh(report.meshes.iter().map(|m| (&m.path[..], m.bytes))));
    out.extend(report.meshes.iter().flat_map(from_mesh));
    out
}

/// Returns the advice on a file that needs no decoded frames. `sizes`: bytes of each mesh, where they are
/// known.
pub fn from_description(description: &Description, frames: usize, sizes: Option<&[u64]>) -> Vec<Advice> {
    let moving = description.nodes.iter().filter(|node| node.animated).count();
    let bones = description.meshes.iter().filter_map(|m| m.streams.first());
    let bones: u32 = bones.map(|s| s.bones.rigid + s.bones.affine).sum();
    let mut out = from_totals(Totals {
        transforms: moving + bones as usize,
        frames,
        triangles: description.meshes.iter().map(|m| m.indices as usize / 3).sum(),
    });
    if let Some(sizes) = sizes {
        let meshes = description.meshes.iter().zip(sizes);
        out.extend(heaviest_mesh(meshes.map(|(mesh, bytes)| (&mesh.path[..], *bytes))));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f09_limits_are_said_from_the_first_number_beyond_them() {
        let about = |totals| -> Vec<&'static str> { from_totals(totals).iter().map(|a| a.about).collect() };
        let totals = Totals { transforms: 4_096, frames: 1_800, triangles: 1 << 22 };
        assert!(about(totals).is_empty());
        for (transforms, word) in [
            (4_097, "1 more than the 4 096 of most scenes"),
            (32_769, "1 more than the 32 768 of large scenes"),
            (65_537, "2 more than the 65 535 that one mesh can have"),
            (1_048_577, "1 more than the 1 048 576 that such systems were tested with"),
        ] {
            let said = &from_totals(Totals { transforms, ..totals })[0];
            let plain: String = said.text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
            assert!(said.about == "transforms" && plain.contains(word), "{plain}");
        }
        for frames in [1_801, 7_201] {
            assert_eq!(about(Totals { frames, ..totals }), ["frames"]);
        }
        let triangles = (1 << 22) + 1;
        assert_eq!(about(Totals { triangles, ..totals }), ["triangles"]);
    }

    #[test]
    fn f09_a_mesh_that_takes_most_of_the_bytes_is_named() {
        let of = |bytes: [u64; 4]| heaviest_mesh(["/a", "/b", "/c", "/d"].into_iter().zip(bytes));
        assert_eq!(of([10, 10, 10, 20]), None);
        let said = of([10, 61, 19, 10]).map(|a| a.line());
        assert_eq!(said.as_deref(), Some("/b: uses 61 % of the bytes of all 4 meshes"));
    }
}
