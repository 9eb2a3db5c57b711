//! Encodes the LOD levels of a mesh.

use crate::Error;
use crate::mesh::plan::MeshPlan;
use crate::mesh::prepared::{FixedLayout, welded_points};
use crate::mesh::streams::{RequestedValues, Scratch, VertexValues};
use meshreel_codec::topology::lod::{LodLevel, collapse, encode, may_follow};
use meshreel_options::Options;
use meshreel_process::lod;
use meshreel_scene::Remark;

/// The encoded LOD levels of a mesh.
#[derive(Default)]
pub struct Lod {
    /// The size and error of each level.
    pub lod_levels: Vec<LodLevel>,
    /// Bytes of the levels.
    pub bytes: Vec<u8>,
    /// Remarks for the user.
    pub remarks: Vec<Remark>,
}

/// Makes the levels of a mesh, at most the requested number.
pub fn make_lod(plan: &MeshPlan, options: &Options) -> Result<Lod, Error> {
    let mut out = Lod::default();
    let mut remark = |what: String| out.remarks.push(Remark::new(&plan.path, what));
    let layout = match (&plan.prepared.particles, &plan.prepared.fixed) {
        (Some(_), _) => Err("it has no faces"),
        (None, None) => Err("its faces change"),
        (None, Some(fixed)) => Ok(fixed),
    };
    let fixed = match layout {
        Ok(fixed) => fixed,
        Err(why) => {
            remark(format!("{why}, so it has no levels of detail"));
            return Ok(out);
        }
    };
    let point = welded_points(fixed);
    let made = lod::make_levels(
        &lod::LodMesh {
            triangles: fixed.indices.as_chunks().0,
            material: &materials(fixed),
            point: &point,
            vertex_point: &fixed.vertex_point,
            vertex_attributes: &vertex_attributes(plan, fixed)?,
            moving: plan.prepared.scan.moving,
            frames: &visible_frames(plan),
            error_bound: plan.error_bound,
            read: &|frame, out| {
                let mut scratch = Scratch::default();
                scratch.read(&plan.source, frame, &fixed.first_points)?;
                out.clear();
                out.extend_from_slice(scratch.points());
                Ok::<_, Error>(())
            },
            cancellation: &plan.source.cancellation,
        },
        options.lod as usize,
        |before, now| may_follow(before as u32, now as u32),
    )?;
    if made.lod_levels.len() < options.lod as usize {
        remark(format!(
            "{} of {} levels of detail: fewer triangles than {} are not left of its pieces",
            made.lod_levels.len(),
            options.lod,
            made.triangles
        ));
    }
    if let Some(level) = made.first_jumping_level {
        remark(format!(
            "from level of detail {level} on, edges or seams of textures and normals are not kept: nothing else was left to take away"
        ));
    }
    let mut from: Vec<u32> = (0..point.len() as u32).collect();
    let mut indices = fixed.indices.clone();
    let mut coded = Vec::new();
    for (all, error) in made.lod_levels {
        // From the level before, for the vertices that it has.
        let step: Vec<u32> = (from.iter().enumerate())
            .map(|(v, &f)| if f as usize == v { all[v] } else { v as u32 })
            .collect();
        indices = collapse(&indices, &step).flatten().collect();
        let level = LodLevel { triangles: indices.len() as u32 / 3, error };
        coded.push((level, step));
        from = all;
    }
    if !coded.is_empty() {
        encode(&fixed.indices, point.len() as u32, &coded, &mut out.bytes);
    }
    out.lod_levels = coded.into_iter().map(|(level, _)| level).collect();
    Ok(out)
}

fn materials(fixed: &FixedLayout) -> Vec<u32> {
    let mut out = vec![0; fixed.indices.len() / 3];
    for (m, &(first, count)) in (0..).zip(&fixed.ranges) {
        out[first as usize / 3..(first + count) as usize / 3].fill(m);
    }
    out
}

/// Returns, by vertex, its first uv and its normal in the first frame.
fn vertex_attributes(plan: &MeshPlan, fixed: &FixedLayout) -> Result<Vec<[f32; 5]>, Error> {
    let (mut values, mut scratch) = (VertexValues::default(), Scratch::default());
    let wanted = RequestedValues { normals: true, uvs: true, ..RequestedValues::default() };
    fixed.evaluate(&plan.source, &plan.prepared, 0, wanted, &mut scratch, &mut values)?;
    let uvs = values.uvs.first();
    let of = |v: usize| {
        let [s, t] = uvs.and_then(|uvs| uvs.get(v)).copied().unwrap_or_default();
        let [x, y, z] = values.normals.get(v).copied().unwrap_or_default();
        [s, t, x, y, z]
    };
    Ok((0..fixed.vertex_point.len()).map(of).collect())
}

/// Returns the mesh's own frames that are shown; the first if none is.
fn visible_frames(plan: &MeshPlan) -> Vec<usize> {
    let shown = (0..plan.source.frames).filter(|&f| plan.shown.contains(f));
    let mut own: Vec<usize> = shown.map(|f| plan.source.own_frame(f)).collect();
    own.dedup();
    if own.is_empty() { vec![0] } else { own }
}
