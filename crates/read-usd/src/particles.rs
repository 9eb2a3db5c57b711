//! Points and curves: points without faces, and their attributes.

use super::compose::{Prim, Stage};
use super::inherited::InheritedPrimvar;
use super::mesh::{ElementLengths, PrimvarReader, read_points};
use super::samples::{AttributeLengths, Decode, Timeline, floats, i32s, i64s, lengths};
use super::value::Value;
use meshreel_scene::{CurveBasis, CurveEnds, Curves, Error, Mesh, Particles, Scope};

/// `true` if prims of this type are points or curves.
pub fn is_type(type_name: &str) -> bool {
    matches!(type_name, "Points" | "BasisCurves" | "HermiteCurves" | "NurbsCurves")
}

/// Reads points or curves; `None` if there are no points.
pub fn read(
    stage: &mut Stage,
    prim: &Prim,
    type_name: &str,
    timeline: &mut Timeline,
    inherited: &[InheritedPrimvar],
) -> Result<Option<Mesh>, Error> {
    let Some(points) = read_points(stage, prim)? else {
        stage.remark(&prim.path, "has no points; left out");
        return Ok(None);
    };
    let positions = timeline.channel(&points, floats::<3>(0.0));
    let mut particles = Particles::default();
    // Points have one element for the whole prim, in place of curves.
    let mut elements = AttributeLengths { first: 1, last: 1, vary: false };
    if type_name == "Points" {
        if let Some(ids) = stage.attribute(prim, "ids")? {
            particles.ids = Some(timeline.channel(&ids, unsigned_ids(i64s())));
        }
    } else {
        let Some(counts) = stage.attribute(prim, "curveVertexCounts")? else {
            stage.remark(&prim.path, "does not say which points are of which curve; left out");
            return Ok(None);
        };
        elements = lengths(Some(&counts))?;
        let (basis, ends) = curve_basis(stage, prim, type_name)?;
        particles.curves =
            Some(Curves { counts: timeline.channel(&counts, i32s()), basis, curve_ends: ends });
    }
    let mut mesh = Mesh::from_particles(prim.path.as_str(), positions, particles);
    let sizes =
        ElementLengths { points: lengths(Some(&points))?, faces: elements, corners: lengths(Some(&points))? };
    let mut reader = PrimvarReader { stage, prim, timeline, sizes, mesh: &mut mesh };
    let mut widths = None;
    for name in ["primvars:widths", "widths"] {
        if let (None, Some(primvar)) = (&widths, reader.primvar(name, Scope::Vertex)?) {
            widths = reader.attribute_or_remark(&primvar, floats::<1>(0.0))?;
        }
    }
    reader.normals()?;
    reader.primvars(inherited)?;
    reader.velocities()?;
    if let Some(particles) = &mut mesh.particles {
        particles.widths = widths;
    }
    Ok(Some(mesh))
}

/// Reinterprets the bits of signed ids as unsigned.
fn unsigned_ids(decode: Decode<i64>) -> Decode<u64> {
    Box::new(move |value: Value, out: &mut Vec<u64>| {
        let mut ids = Vec::new();
        let fits = decode(value, &mut ids);
        out.extend(ids.into_iter().map(|id| id as u64));
        fits
    })
}

/// Reads the basis and the ends of curves.
fn curve_basis(stage: &mut Stage, prim: &Prim, type_name: &str) -> Result<(CurveBasis, CurveEnds), Error> {
    let text = |stage: &mut Stage, name: &str| stage.attribute_text(prim, name);
    let ends = match text(stage, "wrap")?.as_deref() {
        Some("periodic") => CurveEnds::Closed,
        Some("pinned") => CurveEnds::Pinned,
        _ => CurveEnds::Open,
    };
    if type_name != "BasisCurves" {
        let what = "curves of a kind that is not kept (Hermite, NURBS): their points are joined by lines";
        stage.remark(&prim.path, what);
        return Ok((CurveBasis::Linear, ends));
    }
    // Cubic Bézier curves are the default.
    let basis = match (text(stage, "type")?.as_deref(), text(stage, "basis")?.as_deref()) {
        (Some("linear"), _) => CurveBasis::Linear,
        (_, Some("bspline")) => CurveBasis::BSpline,
        (_, Some("catmullRom")) => CurveBasis::CatmullRom,
        _ => CurveBasis::Bezier,
    };
    Ok((basis, ends))
}
