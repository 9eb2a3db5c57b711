//! Peers that are no Rust packages. Scripts beside `bench/peers/run.sh` get vertices in a folder, code and
//! decode them, and leave what they decoded there, which is compared here: Draco in JavaScript, Alembic by
//! Blender. Textures of vertices are written and read again by `meshreel-write`.

use crate::peers::case::{Case, Channels, Vertices};
use crate::peers::codecs::Quantized;
use crate::peers::values::{Errors, Frame};
use anyhow::Context;
use meshreel_write::openvat::{self, ExportOptions, NormalTarget};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The result of a peer: everything that is needed to draw.
#[derive(Debug, Clone, Copy)]
pub struct Measured {
    pub bytes: u64,
    pub errors: Errors,
    /// Seconds to decode all frames.
    pub seconds: Option<f64>,
}

/// Returns the folder of a case for scripts.
pub fn folder(work: &Path, case: &Case, channels: Channels) -> PathBuf {
    work.join(format!("{}-{}", case.name, channels.name()))
}

/// Writes the inputs of all scripts: vertices as 32-bit numbers, grids by tolerance, and an .abc.
pub fn write_inputs(
    folder: &Path,
    case: &Case,
    vertices: &Vertices,
    grids: &[(String, Quantized<'_>)],
) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let floats = |name: &str, take: fn(&Frame) -> &[[f32; 3]]| {
        let all = vertices.frames.iter().flat_map(take).flatten();
        std::fs::write(folder.join(name), all.flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())
    };
    floats("positions.f32", |frame| &frame.positions)?;
    floats("normals.f32", |frame| &frame.normals)?;
    floats("tangents.f32", |frame| &frame.tangents)?;
    let triangles = vertices.frames.iter().flat_map(|frame| &frame.triangles);
    let triangles: Vec<u8> = triangles.flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(folder.join("triangles.u32"), triangles)?;
    let counts: Vec<[usize; 2]> =
        vertices.frames.iter().map(|frame| [frame.positions.len(), frame.triangles.len()]).collect();
    let grids: Vec<_> = (grids.iter())
        .map(|(tolerance, quantized)| {
            let grid = &quantized.grid;
            let range = f64::from(grid.step) * f64::from((1u32 << grid.bits) - 1);
            serde_json::json!({
                "tolerance": tolerance, "origin": grid.origin, "range": range, "bits": grid.bits,
            })
        })
        .collect();
    let text = serde_json::json!({
        "fixed": vertices.has_fixed_faces, "frames": counts, "grids": grids, "times": vertices.times,
        "normals": !vertices.frames[0].normals.is_empty(), "tangents": !vertices.frames[0].tangents.is_empty(),
    });
    std::fs::write(folder.join("case.json"), text.to_string())?;
    meshreel_write::alembic::write(&folder.join("source.abc"), &case.scene, &mut |_, _| {})?;
    Ok(())
}

/// A line of what the script for Draco writes.
#[derive(Deserialize)]
struct DracoResult {
    method: String,
    tolerance: String,
    bytes: u64,
    seconds: f64,
    /// Decoded positions and normals of all frames.
    file: String,
}

/// Returns the result of Draco, without what no frame changes; `None` if the script has not run.
pub fn draco(
    folder: &Path,
    vertices: &Vertices,
    method: &str,
    tolerance: &str,
) -> anyhow::Result<Option<Measured>> {
    let Ok(text) = std::fs::read_to_string(folder.join("draco.json")) else {
        return Ok(None);
    };
    let results: Vec<DracoResult> = serde_json::from_str(&text)?;
    let Some(result) = results.iter().find(|r| r.method == method && r.tolerance == tolerance) else {
        return Ok(None);
    };
    let bytes = std::fs::read(folder.join(&result.file))?;
    let floats: Vec<f32> = bytes.as_chunks::<4>().0.iter().map(|b| f32::from_le_bytes(*b)).collect();
    let mut rest = &floats[..];
    let mut take = |count: usize| {
        let (own, after) = rest.split_at_checked(count).context("decoded frames are cut off")?;
        rest = after;
        anyhow::Ok(own)
    };
    let mut errors = Errors::default();
    for frame in &vertices.frames {
        let positions = take(3 * frame.positions.len())?;
        let normals = take(3 * frame.normals.len())?;
        errors.add(frame, positions, normals, 3);
    }
    Ok(Some(Measured { bytes: result.bytes, errors, seconds: Some(result.seconds) }))
}

/// Returns the size of what Blender wrote and its largest error; `None` if the script has not run.
pub fn blender(folder: &Path, case: &Case) -> anyhow::Result<Option<Measured>> {
    let path = folder.join("blender.abc");
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::metadata(&path)?.len();
    let (scene, _) = crate::assets::open(&path)?;
    let mesh = scene.meshes.first().context("Blender wrote no mesh")?;
    let mut errors = Errors::default();
    let (mut want, mut have) = (Vec::new(), Vec::new());
    for sample in 0..case.mesh().positions.len() {
        case.mesh().positions.read(sample, &mut want)?;
        mesh.positions.read(sample.min(mesh.positions.len().saturating_sub(1)), &mut have)?;
        let frame = Frame { positions: std::mem::take(&mut want), ..Default::default() };
        errors.add(&frame, have.as_flattened(), &[], 3);
        want = frame.positions;
    }
    Ok(Some(Measured { bytes, errors, seconds: None }))
}

/// Writes textures of vertices and returns their size and error; `None` where faces change.
pub fn textures(case: &Case, vertices: &Vertices, channels: Channels) -> anyhow::Result<Option<Measured>> {
    if !vertices.has_fixed_faces {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let normals = match channels {
        Channels::All => NormalTarget::Packed,
        Channels::Positions => NormalTarget::None,
    };
    let options = ExportOptions { normals, ..ExportOptions::default() };
    let target = folder.path().join("case_vat");
    let report = openvat::write(&target, &case.scene, &vertices.times, &options, &mut |_, _| {})?;
    let errors = Errors { position: report.error, normal: report.normal_error };
    Ok(Some(Measured { bytes: report.bytes, errors, seconds: None }))
}
