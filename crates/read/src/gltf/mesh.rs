//! Meshes: joins the primitives of a glTF mesh into one mesh, with its points over time if morph targets and
//! skins move them.

use super::deform::{Deformation, DeformedSource, DeformedValue, Placement};
use super::primitives::MeshAccessors;
use crate::parsed_mesh;
use meshreel_scene::{
    Attribute, Channel, CustomAttribute, Error, FaceSet, Identity, Mesh, Remark, Scope, Source, TimeSampling,
    Topology, Winding,
};
use std::sync::Arc;

type ReadMesh<T> = Box<dyn Fn(&MeshAccessors, &mut Vec<T>) -> Result<(), Error> + Send + Sync>;

/// A channel of one sample, read on demand.
struct Constant<T> {
    shape: Arc<MeshAccessors>,
    read: ReadMesh<T>,
}

impl<T: Send + Sync> Source<T> for Constant<T> {
    fn len(&self) -> usize {
        1
    }
    fn identity(&self, _: usize) -> Identity {
        0
    }
    fn read(&self, _: usize, out: &mut Vec<T>) -> Result<(), Error> {
        (self.read)(&self.shape, out)
    }
}

fn constant<T: Clone + Send + Sync + 'static>(
    shape: &Arc<MeshAccessors>,
    read: impl Fn(&MeshAccessors, &mut Vec<T>) -> Result<(), Error> + Send + Sync + 'static,
) -> Channel<T> {
    let sampling = TimeSampling::Uniform { start: 0.0, step: 1.0 };
    let source = Constant { shape: shape.clone(), read: Box::new(read) };
    Channel::new(Arc::new(sampling), Arc::new(source))
}

/// Makes the mesh for the scene; with a `placement`, it is deformed by it.
pub(super) fn mesh(
    shape: &Arc<MeshAccessors>,
    path: &str,
    placement: Option<Placement<'_>>,
    remarks: &mut Vec<Remark>,
) -> Result<Mesh, Error> {
    let (moved, skin) = match placement {
        Some(placement) => {
            let remark = |what| remarks.push(Remark::new(path, what));
            let (moved, skin) = Deformation::new(shape, placement, remark)?;
            (Some(Arc::new(moved)), skin)
        }
        None => (None, None),
    };
    let channel = |what: DeformedValue, unmoved: Channel<[f32; 3]>| match &moved {
        Some(moved) => {
            let source = Arc::new(DeformedSource(moved.clone(), what));
            Channel::new(moved.times.clone(), source)
        }
        None => unmoved,
    };
    let numbered = |name: &str, set: usize| match set {
        0 => name.to_string(),
        set => format!("{name}{set}"),
    };
    let positions = channel(DeformedValue::Positions, constant(shape, MeshAccessors::positions));
    Ok(Mesh {
        path: path.into(),
        topology: match positions.len() {
            0 | 1 => Topology::Constant,
            _ => Topology::Homogeneous,
        },
        positions,
        face_counts: constant(shape, |shape, out| {
            out.clear();
            out.resize(shape.faces, 3);
            Ok(())
        }),
        face_indices: constant(shape, MeshAccessors::corners),
        winding: Winding::CounterClockwise,
        normals: shape.has_normals.then(|| {
            let normals = channel(DeformedValue::Normals, constant(shape, MeshAccessors::normals));
            attribute(parsed_mesh::NORMALS.into(), normals)
        }),
        uvs: (0..shape.uvs)
            .map(|set| {
                let values = constant(shape, move |shape: &MeshAccessors, out| shape.uvs(set, out));
                attribute(numbered(parsed_mesh::UVS, set), values)
            })
            .collect(),
        colours: (0..shape.colours)
            .map(|set| {
                let values = constant(shape, move |shape: &MeshAccessors, out| shape.colours(set, out));
                attribute(numbered(parsed_mesh::COLOURS, set), values)
            })
            .collect(),
        velocities: None,
        face_sets: face_sets(shape),
        other_attributes: (shape.integers.iter())
            .map(|name| (name.clone(), "whole numbers, vertex".into()))
            .chain(
                (shape.custom_attributes.iter())
                    .map(|(name, n)| (name.clone(), format!("float x{n}, vertex"))),
            )
            .collect(),
        integers: integers(shape),
        custom_attributes: custom_attributes(shape),
        names: Vec::new(),
        is_subd: false,
        skin,
        particles: None,
    })
}

/// Upper limit for the materials of one mesh.
const MAX_FACE_SETS: usize = 4096;

fn attribute<T>(name: String, values: Channel<T>) -> Attribute<T> {
    Attribute { name, scope: Scope::Vertex, values, indices: None }
}

/// Returns the faces of each named material, for the first [`MAX_FACE_SETS`] materials.
fn face_sets(shape: &Arc<MeshAccessors>) -> Vec<FaceSet> {
    let mut named: Vec<&str> = Vec::new();
    for name in shape.primitives.iter().filter_map(|p| p.material.as_deref()) {
        if !named.contains(&name) {
            named.push(name);
        }
        if named.len() == MAX_FACE_SETS {
            break;
        }
    }
    let set = |name: &str| {
        let own = name.to_string();
        let faces = constant(shape, move |shape, out| {
            out.clear();
            let mut first = 0;
            for primitive in &shape.primitives {
                if primitive.material.as_deref() == Some(&own) {
                    out.extend((first..first + primitive.faces).map(|f| f as i32));
                }
                first += primitive.faces;
            }
            Ok(())
        });
        FaceSet { name: name.into(), faces }
    };
    named.into_iter().map(set).collect()
}

/// Returns the application-specific attributes that have integer values.
fn integers(shape: &Arc<MeshAccessors>) -> Vec<Attribute<i64>> {
    let integers = shape.integers.iter();
    integers
        .map(|name| {
            let own = name.clone();
            let values =
                constant(shape, move |shape: &MeshAccessors, out| shape.integers(&own, out).map(|_| ()));
            attribute(name.clone(), values)
        })
        .collect()
}

/// Returns the other application-specific attributes.
fn custom_attributes(shape: &Arc<MeshAccessors>) -> Vec<CustomAttribute> {
    let numbers = shape.custom_attributes.iter();
    numbers
        .map(|(name, components)| {
            let own = name.clone();
            let values = constant(shape, move |shape: &MeshAccessors, out| shape.custom_values(&own, out));
            CustomAttribute { components: *components, attribute: attribute(name.clone(), values) }
        })
        .collect()
}
