//! Writes a scene as USD text, sample by sample.

use meshreel_scene::{Channel, Error, LocalTransform, Mesh, Node, NodeKind, Scene};
use std::fmt::Write;

/// Returns the text of a scene. A time code is a second. Instances are written without their prototype's
/// content.
pub fn text(scene: &Scene) -> Result<String, Error> {
    let mut out =
        String::from("#usda 1.0\n( metersPerUnit = 1\n upAxis = \"Y\"\n timeCodesPerSecond = 1 )\n");
    for id in (0..scene.nodes.len()).filter(|id| scene.nodes[*id].parent.is_none()) {
        node(scene, id, &mut out)?;
    }
    Ok(out)
}

fn node(scene: &Scene, id: usize, out: &mut String) -> Result<(), Error> {
    let own = &scene.nodes[id];
    let mesh = own.mesh.map(|mesh| &scene.meshes[mesh]);
    let kind = match (mesh, own.kind) {
        (Some(mesh), _) if mesh.particles.as_ref().is_some_and(|p| p.curves.is_some()) => "BasisCurves",
        (Some(mesh), _) if mesh.particles.is_some() => "Points",
        (Some(_), _) => "Mesh",
        (None, NodeKind::Camera) => "Camera",
        _ => "Xform",
    };
    *out += &format!("def {kind} \"{}\"\n{{\n", own.name);
    transform(own, out)?;
    if let Some(visibility) = &own.visibility {
        let token = |v: &i8| if *v == 0 { "\"invisible\"".into() } else { "\"inherited\"".to_string() };
        values("token visibility", visibility, false, token, out)?;
    }
    if let Some(mesh) = mesh {
        shape(mesh, out)?;
    }
    for child in (0..scene.nodes.len()).filter(|n| scene.nodes[*n].parent == Some(id)) {
        node(scene, child, out)?;
    }
    *out += "}\n";
    Ok(())
}

fn transform(own: &Node, out: &mut String) -> Result<(), Error> {
    let Some(transform) = &own.transform else {
        return Ok(());
    };
    let matrix = |local: &LocalTransform| {
        let m = local.matrix();
        let row = |k: usize| {
            let c = m.col(k);
            format!("({}, {}, {}, {})", c.x, c.y, c.z, c.w)
        };
        format!("( {}, {}, {}, {} )", row(0), row(1), row(2), row(3))
    };
    values("matrix4d xformOp:transform", &transform.local, false, matrix, out)?;
    *out += "uniform token[] xformOpOrder = [\"xformOp:transform\"]\n";
    Ok(())
}

fn shape(mesh: &Mesh, out: &mut String) -> Result<(), Error> {
    let triple = |[x, y, z]: &[f32; 3]| format!("({x}, {y}, {z})");
    values("point3f[] points", &mesh.positions, true, triple, out)?;
    if let Some(velocities) = &mesh.velocities {
        values("vector3f[] velocities", velocities, true, triple, out)?;
    }
    match &mesh.particles {
        None => {
            values("int[] faceVertexCounts", &mesh.face_counts, true, i32::to_string, out)?;
            values("int[] faceVertexIndices", &mesh.face_indices, true, i32::to_string, out)?;
            *out += "uniform token subdivisionScheme = \"none\"\n";
        }
        Some(particles) => {
            if let Some(ids) = &particles.ids {
                values("int64[] ids", ids, true, u64::to_string, out)?;
            }
            if let Some(widths) = &particles.widths {
                values("float[] widths", &widths.values, true, |[w]| w.to_string(), out)?;
            }
            if let Some(curves) = &particles.curves {
                *out += "uniform token type = \"linear\"\n";
                values("int[] curveVertexCounts", &curves.counts, true, i32::to_string, out)?;
            }
        }
    }
    Ok(())
}

/// Writes a property with its samples.
fn values<T: Clone + Send + Sync + 'static>(
    name: &str,
    channel: &Channel<T>,
    list: bool,
    one: impl Fn(&T) -> String,
    out: &mut String,
) -> Result<(), Error> {
    let sample = |i: usize| -> Result<String, Error> {
        let mut values = Vec::new();
        channel.read(i, &mut values)?;
        let all: Vec<String> = values.iter().map(&one).collect();
        Ok(match list {
            true => format!("[{}]", all.join(", ")),
            false => all.into_iter().next().unwrap_or_else(|| "None".into()),
        })
    };
    if channel.len() == 1 {
        let _ = writeln!(out, "{name} = {}", sample(0)?);
        return Ok(());
    }
    let _ = writeln!(out, "{name}.timeSamples = {{");
    for i in 0..channel.len() {
        let _ = writeln!(out, "{}: {},", channel.time(i), sample(i)?);
    }
    *out += "}\n";
    Ok(())
}
