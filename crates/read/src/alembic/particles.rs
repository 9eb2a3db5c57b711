//! Points and Curves: points without faces, and their attributes.

use super::attributes::{ElementCounts, Param};
use super::channel::{ArchiveObject, floats, i32s, numbers, read_bytes};
use super::core::{PropertyHeader, PropertyKind};
use super::mesh::{AttributeReader, MeshFault, find_sampled, lengths, read_attributes};
use meshreel_scene::layout::alembic::Pod;
use meshreel_scene::{Attribute, CurveBasis, CurveEnds, Curves, Error, Mesh, NodeKind, Particles, Remark};

/// Reads the points in the compound with `properties`, of a Points or Curves node.
pub fn read(
    object: &ArchiveObject,
    properties: &[PropertyHeader],
    kind: NodeKind,
    remarks: &mut Vec<Remark>,
) -> Result<Result<Mesh, MeshFault>, Error> {
    let Some(points) = find_sampled(properties, "P") else {
        return Ok(Err("has no points".into()));
    };
    let Some(decode) = floats::<3, 3>(points.pod, false, 0.0).filter(|_| points.extent == 3) else {
        return Ok(Err("its points are not three floats each".into()));
    };
    let positions = object.channel(points, decode);
    let sizes = lengths(object, Some(points), &positions)?;
    let mut particles = Particles::default();
    let mut curves = [0, 0];
    if kind == NodeKind::Curves {
        let counts = find_sampled(properties, "nVertices").and_then(|p| Some((p, i32s(p.pod)?)));
        let Some((header, decode)) = counts else {
            return Ok(Err("does not say which points are of which curve".into()));
        };
        let counts = object.channel(header, decode);
        let lengths = lengths(object, Some(header), &counts)?;
        curves = [lengths.first, lengths.last];
        let (basis, ends) = match curve_basis(object, properties, remarks)? {
            Ok(shape) => shape,
            Err(fault) => return Ok(Err(fault)),
        };
        particles.curves = Some(Curves { counts, basis, curve_ends: ends });
    } else if let Some(header) = find_sampled(properties, ".pointIds") {
        match header.pod {
            Pod::U64 => particles.ids = Some(object.channel(header, numbers(u64::from_le_bytes))),
            Pod::I64 => {
                particles.ids = Some(object.channel(header, numbers(|b| i64::from_le_bytes(b) as u64)));
            }
            _ => remarks.push(Remark::new(&*object.path, "its ids are not numbers of 64 bits; left out")),
        }
    }
    let mut mesh = Mesh::from_particles(&*object.path, positions, particles);
    let of = |points: usize, faces: usize| ElementCounts { points, faces, corners: usize::MAX };
    let mut reader = AttributeReader {
        object,
        first: of(sizes.first, curves[0]),
        last: of(sizes.last, curves[1]),
        mesh: &mut mesh,
        remarks,
    };
    let widths = widths(&mut reader, properties)?;
    read_attributes(reader, properties)?;
    if let Some(particles) = &mut mesh.particles {
        particles.widths = widths;
    }
    Ok(Ok(mesh))
}

/// Reads the basis and the ends of curves.
fn curve_basis(
    object: &ArchiveObject,
    properties: &[PropertyHeader],
    remarks: &mut Vec<Remark>,
) -> Result<Result<(CurveBasis, CurveEnds), MeshFault>, Error> {
    let named = |p: &&PropertyHeader| p.name == "curveBasisAndType";
    let header = properties.iter().find(named);
    let Some(header) = header.filter(|p| p.kind != PropertyKind::Compound && p.samples > 0) else {
        return Ok(Ok((CurveBasis::Linear, CurveEnds::Open)));
    };
    // Type, wrap, basis, and the basis again.
    let read = read_bytes(&*object.archive, header.id, 0, |bytes| bytes.first_chunk::<3>().copied())?;
    let Some([kind, wrap, basis]) = read else {
        return Ok(Err("its type and basis are cut off".into()));
    };
    let ends = if wrap == 1 { CurveEnds::Closed } else { CurveEnds::Open };
    let mut say = |what: &str| remarks.push(Remark::new(&*object.path, what));
    let basis = match (kind, basis) {
        (1, _) => CurveBasis::Linear,
        (0, 1) => CurveBasis::Bezier,
        (0, 2) => CurveBasis::BSpline,
        (0, 3) => CurveBasis::CatmullRom,
        (0, 0) => CurveBasis::Linear,
        (0, _) => {
            say("a basis of curves that is not kept (Hermite, power): its points are joined by lines");
            CurveBasis::Linear
        }
        _ => {
            say("curves whose order varies (NURBS): their control points are joined by lines");
            CurveBasis::Linear
        }
    };
    Ok(Ok((basis, ends)))
}

/// Reads the diameters of points or curves.
fn widths(
    reader: &mut AttributeReader<'_>,
    properties: &[PropertyHeader],
) -> Result<Option<Attribute<[f32; 1]>>, Error> {
    let named = |p: &&PropertyHeader| matches!(p.name.as_str(), ".widths" | "width");
    let Some(header) = properties.iter().find(named) else {
        return Ok(None);
    };
    match Param::open(reader.object, header)? {
        Some(param) => reader.attribute_or_remark(&param, |param| param.single_floats()),
        None => Ok(None),
    }
}
