//! Frames of a mesh whose faces change (A03, E02): each is triangulated, split and laid out for itself.

use crate::evaluate::{Origin, Scratch, Want, fill};
use crate::mesh::{
    attributes::Expand,
    faces::Faces,
    materials, normals, optimize, split,
    split::Splitter,
    tangents::{Oriented, Tangents, orient},
    triangulate,
};
use crate::prepare::{Normals, Prepared, Source, corner_faces, face_of, face_sets};
use crate::streams::VertexValues;
use crate::{Error, Options};
use meshreel_scene::{Attribute, sample};

/// One frame, ready to be quantized.
#[derive(Default)]
pub struct FluidFrame {
    /// Values of all vertices.
    pub values: VertexValues,
    /// Three vertices per triangle.
    pub indices: Vec<u32>,
    /// First index and number of indices, one per material of the mesh.
    pub ranges: Vec<(u32, u32)>,
    /// Points of the source.
    pub points: usize,
}

/// Lays out `frame`.
pub fn evaluate(
    source: &Source<'_>,
    prepared: &Prepared,
    frame: usize,
    options: &Options,
    scratch: &mut Scratch,
) -> Result<FluidFrame, Error> {
    let mesh = source.mesh;
    let time = source.times[frame];
    scratch.read(source, frame, &[])?;
    let mut raw = sample::Faces::default();
    sample::faces_at(mesh, time, &mut raw)?;
    let faces = Faces::new(&raw.counts, &raw.indices, scratch.points().len());
    let corner_face = corner_faces(&faces);
    let mut splitter = Splitter::new(&faces.corner_point);
    for set in &prepared.uvs {
        refine(
            &mut splitter,
            &mesh.uvs[set.source],
            source,
            time,
            &corner_face,
        )?;
    }
    for set in &prepared.colours {
        refine(
            &mut splitter,
            &mesh.colours[set.source],
            source,
            time,
            &corner_face,
        )?;
    }
    let mut groups = normals::Groups::default();
    match (prepared.normals, &mesh.normals) {
        (Normals::File, Some(attribute)) => {
            refine(&mut splitter, attribute, source, time, &corner_face)?
        }
        (Normals::Made, _) => {
            groups = normals::smooth_groups(scratch.object(), &faces, options.smooth_angle);
            splitter.refine(|c| [groups.corner[c as usize]]);
        }
        _ => {}
    }
    let mut triangles = triangulate::triangulate_faces(scratch.object(), &faces, mesh.winding);
    if source.mirrored() {
        triangles.corners.iter_mut().for_each(|t| t.swap(1, 2));
    }
    let want = Want {
        normals: prepared.normals != Normals::None,
        uvs: true,
        colours: true,
    };
    let split = splitter.finish(&faces.corner_point, faces.points);
    let by_vertex: Vec<[u32; 3]> = triangles
        .corners
        .iter()
        .map(|t| t.map(|c| split.corner_vertex[c as usize]))
        .collect();
    let face = face_of(&split.vertex_corner, &corner_face);
    let mut oriented = Oriented {
        triangles: by_vertex,
        vertex: (0..split.vertex_point.len() as u32).collect(),
        signs: Vec::new(),
    };
    if prepared.tangents {
        let origin = Origin {
            point: &split.vertex_point,
            corner: &split.vertex_corner,
            face: &face,
            faces: &faces,
            groups: &groups,
        };
        let mut values = VertexValues::default();
        fill(source, prepared, frame, want, scratch, origin, &mut values)?;
        let tangents = Tangents::new(oriented.triangles.clone(), values.vertices());
        oriented = orient(
            &oriented.triangles,
            &tangents.corners(values.vertices()),
            split.vertex_point.len(),
        );
    }
    let sets = face_sets(mesh, time)?;
    let assignment = materials::assign(
        sets.iter().map(|(n, f)| (n.as_str(), f.as_slice())),
        raw.counts.len(),
    );
    // Numbers of this frame's materials among the mesh's.
    let number: Vec<u32> = assignment
        .materials
        .iter()
        .map(|m| {
            prepared
                .materials
                .iter()
                .position(|all| all.name == m.name)
                .unwrap_or(prepared.materials.len() - 1) as u32
        })
        .collect();
    let material: Vec<u32> = triangles
        .faces
        .iter()
        .map(|&f| number[assignment.face_material[f as usize] as usize])
        .collect();
    let layout = optimize::layout(
        &oriented.triangles,
        &material,
        prepared.materials.len(),
        oriented.vertex.len(),
    );
    let order = |list: &[u32]| {
        layout
            .vertex_order
            .iter()
            .map(|&v| list[oriented.vertex[v as usize] as usize])
            .collect::<Vec<u32>>()
    };
    let (point, corner, face) = (
        order(&split.vertex_point),
        order(&split.vertex_corner),
        order(&face),
    );
    let sign: Vec<f32> = layout
        .vertex_order
        .iter()
        .map(|&v| oriented.signs.get(v as usize).copied().unwrap_or(1.0))
        .collect();
    let mut out = FluidFrame {
        values: VertexValues::default(),
        indices: layout.indices,
        ranges: layout.ranges,
        points: scratch.points().len(),
    };
    let origin = Origin {
        point: &point,
        corner: &corner,
        face: &face,
        faces: &faces,
        groups: &groups,
    };
    fill(
        source,
        prepared,
        frame,
        want,
        scratch,
        origin,
        &mut out.values,
    )?;
    if prepared.tangents {
        let tangents = Tangents::new(out.indices.as_chunks().0.to_vec(), out.values.vertices());
        out.values.tangents = tangents.vertices(out.values.vertices(), &sign);
    }
    Ok(out)
}

fn refine<const N: usize>(
    splitter: &mut Splitter,
    attribute: &Attribute<[f32; N]>,
    source: &Source<'_>,
    time: f64,
    corner_face: &[u32],
) -> Result<(), Error>
where
    [f32; N]: sample::Mix + Default,
{
    let mut values = sample::Values::default();
    sample::attribute_at(attribute, source.mesh, time, &mut values)?;
    let expand = Expand::new(attribute.scope, &values.values, values.indices.as_deref());
    if expand.splits() {
        splitter.refine(|c| split::all_bits(expand.at(c, corner_face[c as usize], 0)));
    }
    Ok(())
}
