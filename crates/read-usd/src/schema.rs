//! The types of the attributes that OpenUSD's schemas define, as far as they are read here.

use super::text::kind_of_type;
use super::value::ValueKind;

const TEXTS: &[&str] = &[
    "axis",
    "basis",
    "blendShapes",
    "elementType",
    "familyName",
    "joints",
    "orientation",
    "primvars:skel:skinningMethod",
    "projection",
    "purpose",
    "skel:blendShapes",
    "skel:joints",
    "subdivisionScheme",
    "type",
    "visibility",
    "wrap",
    "xformOpOrder",
];
const WHOLE_NUMBERS: &[&str] = &[
    "curveVertexCounts",
    "faceVertexCounts",
    "faceVertexIndices",
    "holeIndices",
    "ids",
    "indices",
    "invisibleIds",
    "pointIndices",
    "primvars:skel:jointIndices",
    "protoIndices",
];
const NUMBERS: &[&str] = &[
    "accelerations",
    "angularVelocities",
    "bindTransforms",
    "blendShapeWeights",
    "clippingRange",
    "fStop",
    "focalLength",
    "focusDistance",
    "height",
    "horizontalAperture",
    "horizontalApertureOffset",
    "length",
    "normalOffsets",
    "normals",
    "offsets",
    "orientations",
    "orientationsf",
    "points",
    "positions",
    "primvars:skel:geomBindTransform",
    "primvars:skel:jointWeights",
    "radius",
    "radiusBottom",
    "radiusTop",
    "restTransforms",
    "rotations",
    "scales",
    "shutter:close",
    "shutter:open",
    "size",
    "translations",
    "velocities",
    "verticalAperture",
    "verticalApertureOffset",
    "width",
    "widths",
];

/// The kind of the values of a schema's attribute; `None` for names that no schema has.
fn kind(name: &str) -> Option<ValueKind> {
    if TEXTS.contains(&name) {
        return Some(ValueKind::Text);
    }
    if NUMBERS.contains(&name) || name.starts_with("xformOp:") {
        return Some(ValueKind::Number);
    }
    let width = match name {
        "surfaceFaceVertexIndices" => 3,
        "tetVertexIndices" => 4,
        _ => WHOLE_NUMBERS.contains(&name).then_some(1)?,
    };
    Some(ValueKind::Whole { width })
}

/// `true` if a schema's attribute can be read from values of a type. OpenUSD, too, takes one of another kind
/// as not there. Names that no schema has may have any type, and so may those whose type is not said.
pub fn allows(name: &str, type_name: &str) -> bool {
    if type_name.is_empty() {
        return true;
    }
    match kind(name) {
        None => true,
        Some(ValueKind::Number) => {
            matches!(kind_of_type(type_name), Some(ValueKind::Number | ValueKind::Whole { .. }))
        }
        kind => kind == kind_of_type(type_name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_of_schemas_have_one_kind_of_values() {
        for (name, types) in [
            ("visibility", &["token", "string"][..]),
            ("protoIndices", &["int[]", "int64[]", "uint[]", "uchar[]"]),
            ("tetVertexIndices", &["int4[]"]),
            ("points", &["point3f[]", "float3[]", "double3[]", "half3[]"]),
            ("xformOp:translate:pivot", &["double3", "float3"]),
            ("xformOp:orient", &["quatf", "quatd"]),
            ("xformOp:transform", &["matrix4d"]),
            ("radius", &["double", "float", "int"]),
            ("anything", &["token", "int[]", "double"]),
        ] {
            for own in types {
                assert!(allows(name, own), "{name}: {own}");
            }
        }
        for (name, own) in [
            ("visibility", "bool"),
            ("protoIndices", "float[]"),
            ("protoIndices", "int2[]"),
            ("points", "string"),
            ("xformOp:translate", "token"),
            ("radius", "asset"),
        ] {
            assert!(!allows(name, own), "{name}: {own}");
        }
        assert!(allows("visibility", ""));
    }
}
