//! A mesh of a file as an `ArrayMesh`: a surface for each material, whose vertex buffers are written in each
//! frame. A mesh whose faces change gets new surfaces instead.

use crate::model::format::{POSITION_BYTES, SurfaceFormat};
use crate::model::surface::{self, SurfacePart};
use crate::model::tree::MeshNodes;
use crate::model::vertices::{Primitive, Vertices, primitive};
use godot::classes::mesh::{ArrayFormat, ArrayType, PrimitiveType};
use godot::classes::{ArrayMesh, Material, RenderingServer};
use godot::prelude::*;
use meshreel::raw::record::Semantic;
use meshreel::{Error, MeshFrame};
use std::ops::Range;

/// A part of a mesh, and the bytes of its buffers.
struct PartBuffers {
    part: SurfacePart,
    /// The name of its material.
    material_name: GString,
    vertices: PackedByteArray,
    attributes: PackedByteArray,
}

/// The surfaces of a mesh of a file.
pub(crate) struct ShownMesh {
    /// The mesh's number, and the nodes that show it.
    pub(crate) mesh_nodes: MeshNodes,
    /// The mesh of the engine.
    pub(crate) array_mesh: Gd<ArrayMesh>,
    /// `true` if it has no vertices at this moment.
    pub(crate) is_empty: bool,
    parts: Vec<PartBuffers>,
    /// The part of each surface: a part without triangles at this moment has none.
    surfaces: Vec<usize>,
    primitive: Primitive,
    format: SurfaceFormat,
    /// `true` if its vertices change.
    changes: bool,
    /// `true` if uvs or colours change.
    attributes_change: bool,
    /// `true` if its surfaces are made anew for each moment: its faces change, or the engine has another
    /// layout of buffers than the one that is written.
    is_rebuilt: bool,
    /// The frames around the moment that it shows, and the bits of the blend weight.
    moment: ([u32; 2], u32),
}

/// Returns the material of a part by its name in the file: whether it has colours, and its primitives, decide
/// about the one that is used if no other is named.
pub(crate) type FindMaterial<'a> = dyn Fn(&GString, bool, Primitive) -> Gd<Material> + 'a;

impl ShownMesh {
    /// Creates the surfaces of a mesh as it is at a moment.
    pub(crate) fn new(
        mesh_nodes: MeshNodes,
        mesh: &MeshFrame<'_>,
        vertices: &mut Vertices,
        find: &FindMaterial<'_>,
    ) -> Result<ShownMesh, Error> {
        vertices.read(mesh)?;
        let part = |part: SurfacePart| PartBuffers {
            material_name: GString::from(part.material_name(mesh)),
            part,
            vertices: PackedByteArray::new(),
            attributes: PackedByteArray::new(),
        };
        let sets = [(Semantic::Uv, 0), (Semantic::Uv, 1), (Semantic::Colour, 0)];
        let mut shown = ShownMesh {
            mesh_nodes,
            array_mesh: ArrayMesh::new_gd(),
            is_empty: false,
            parts: surface::parts(mesh).into_iter().map(part).collect(),
            surfaces: Vec::new(),
            primitive: primitive(mesh),
            format: SurfaceFormat::new(vertices),
            changes: surface::changes(mesh),
            attributes_change: sets.iter().any(|(semantic, set)| mesh.is_animated(*semantic, *set)),
            is_rebuilt: mesh.is_fluid(),
            moment: moment(mesh),
        };
        let [x0, y0, z0, x1, y1, z1] = mesh.bounds();
        let (from, to) = (Vector3::new(x0, y0, z0), Vector3::new(x1, y1, z1));
        shown.array_mesh.set_custom_aabb(Aabb::new(from, to - from));
        shown.rebuild(mesh, vertices, find);
        shown.is_rebuilt |= !shown.has_layout();
        Ok(shown)
    }

    /// Shows a mesh as it is at a moment; does nothing if it shows that already.
    pub(crate) fn update(
        &mut self,
        mesh: &MeshFrame<'_>,
        vertices: &mut Vertices,
        find: &FindMaterial<'_>,
    ) -> Result<(), Error> {
        let moment = moment(mesh);
        if !self.changes || moment == self.moment {
            return Ok(());
        }
        self.moment = moment;
        vertices.read(mesh)?;
        if self.is_rebuilt {
            self.rebuild(mesh, vertices, find);
            return Ok(());
        }
        for (surface, part) in self.surfaces.iter().enumerate() {
            let part = &mut self.parts[*part];
            let range = part.part.range(vertices.positions.len());
            resize(&mut part.vertices, self.format.vertex_bytes(range.len()));
            self.format.write_vertices(vertices, range.clone(), part.vertices.as_mut_slice());
            self.array_mesh.surface_update_vertex_region(surface as i32, 0, &part.vertices);
            if self.attributes_change {
                resize(&mut part.attributes, self.format.attribute_stride() * range.len());
                self.format.write_attributes(vertices, range, part.attributes.as_mut_slice());
                self.array_mesh.surface_update_attribute_region(surface as i32, 0, &part.attributes);
            }
        }
        Ok(())
    }

    /// Gives its surfaces their materials.
    pub(crate) fn set_materials(&mut self, find: &FindMaterial<'_>) {
        for (surface, part) in self.surfaces.iter().enumerate() {
            let material = find(&self.parts[*part].material_name, self.format.colours, self.primitive);
            self.array_mesh.surface_set_material(surface as i32, &material);
        }
    }

    /// Makes all surfaces anew.
    fn rebuild(&mut self, mesh: &MeshFrame<'_>, vertices: &Vertices, find: &FindMaterial<'_>) {
        self.array_mesh.clear_surfaces();
        self.surfaces.clear();
        self.format = SurfaceFormat::new(vertices);
        let primitive_type = match self.primitive {
            Primitive::Triangles => PrimitiveType::TRIANGLES,
            Primitive::Lines => PrimitiveType::LINES,
            Primitive::Points => PrimitiveType::POINTS,
        };
        for (number, part) in self.parts.iter().enumerate() {
            let range = part.part.range(vertices.positions.len());
            let indices = surface::indices(mesh, &part.part);
            if range.is_empty() || (indices.is_empty() && self.primitive != Primitive::Points) {
                continue;
            }
            let mut lods = VarDictionary::new();
            for lod in surface::lods(mesh, &part.part) {
                lods.set(lod.error, &packed_indices(&lod.indices));
            }
            self.array_mesh
                .add_surface_from_arrays_ex(primitive_type, &arrays(vertices, range, &indices))
                .lods(&lods)
                .flags(ArrayFormat::FLAG_USE_DYNAMIC_UPDATE)
                .done();
            self.surfaces.push(number);
        }
        self.is_empty = self.surfaces.is_empty();
        self.set_materials(find);
    }

    /// `true` if the engine lays the surfaces out as the bytes that are written.
    fn has_layout(&self) -> bool {
        let server = RenderingServer::singleton();
        (0..self.surfaces.len()).all(|surface| {
            let format = self.array_mesh.surface_get_format(surface as i32);
            let format = godot::classes::rendering_server::ArrayFormat::from_ord(format.ord());
            let count = self.array_mesh.surface_get_array_len(surface as i32);
            let normals = ArrayType::NORMAL.ord();
            server.mesh_surface_get_format_vertex_stride(format, count) as usize == POSITION_BYTES
                && server.mesh_surface_get_format_normal_tangent_stride(format, count) as usize
                    == self.format.direction_bytes()
                && server.mesh_surface_get_format_attribute_stride(format, count) as usize
                    == self.format.attribute_stride()
                && (!self.format.normals
                    || server.mesh_surface_get_format_offset(format, count, normals) as usize
                        == POSITION_BYTES * count as usize)
        })
    }
}

fn moment(mesh: &MeshFrame<'_>) -> ([u32; 2], u32) {
    (mesh.frames(), mesh.blend().to_bits())
}

fn resize(bytes: &mut PackedByteArray, size: usize) {
    if bytes.len() != size {
        bytes.resize(size);
    }
}

fn packed_indices(indices: &[u32]) -> PackedInt32Array {
    indices.iter().map(|index| *index as i32).collect()
}

/// Returns the arrays of a surface.
fn arrays(vertices: &Vertices, range: Range<usize>, indices: &[u32]) -> AnyArray {
    let vector = |[x, y, z]: &[f32; 3]| Vector3::new(*x, *y, *z);
    let uv = |[u, v]: &[f32; 2]| Vector2::new(*u, *v);
    let colour = |[r, g, b, a]: &[f32; 4]| Color::from_rgba(*r, *g, *b, *a);
    let mut out: VarArray = (0..ArrayType::MAX.ord()).map(|_| Variant::nil()).collect();
    let mut set = |number: ArrayType, value: Variant| out.set(number.ord() as usize, &value);
    if let Some(own) = vertices.positions.get(range.clone()) {
        set(ArrayType::VERTEX, own.iter().map(vector).collect::<PackedVector3Array>().to_variant());
    }
    // Lists of attributes that the mesh does not have are empty.
    if let Some(own) = vertices.normals.get(range.clone()) {
        set(ArrayType::NORMAL, own.iter().map(vector).collect::<PackedVector3Array>().to_variant());
    }
    if let Some(own) = vertices.tangents.get(range.clone()) {
        set(ArrayType::TANGENT, PackedFloat32Array::from(own.as_flattened()).to_variant());
    }
    if let Some(own) = vertices.colours.get(range.clone()) {
        set(ArrayType::COLOR, own.iter().map(colour).collect::<PackedColorArray>().to_variant());
    }
    for (number, uvs) in [ArrayType::TEX_UV, ArrayType::TEX_UV2].into_iter().zip(&vertices.uvs) {
        if let Some(own) = uvs.get(range.clone()) {
            set(number, own.iter().map(uv).collect::<PackedVector2Array>().to_variant());
        }
    }
    if !indices.is_empty() {
        set(ArrayType::INDEX, packed_indices(indices).to_variant());
    }
    out.upcast_any_array()
}
