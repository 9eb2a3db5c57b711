//! Surfaces: the bytes of Godot's buffers hold the numbers of the decoder, and triangles are clockwise.

use crate::{FILES, between, compiled, decoded, golden, open};
use meshreel::raw::record::Semantic;
use meshreel::{FrameDecoder, MeshFrame};
use meshreel_godot::model::format::SurfaceFormat;
use meshreel_godot::model::surface::{self, SurfacePart};
use meshreel_godot::model::tree::{mesh_frame, mesh_nodes};
use meshreel_godot::model::vertices::{Primitive, Vertices, primitive};

/// The values of a surface, read from its buffers by nothing but their documented layout.
struct Unpacked {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    colours: Vec<[f32; 4]>,
    uvs: [Vec<[f32; 2]>; 2],
}

fn float(bytes: &[u8]) -> f32 {
    f32::from_le_bytes(bytes[..4].try_into().unwrap())
}

/// Reads an octahedral normal: z is what remains, and where it is negative the corner is folded back.
fn normal(bytes: &[u8]) -> [f32; 3] {
    let number = |k: usize| f32::from(u16::from_le_bytes([bytes[k], bytes[k + 1]])) / 65535.0 * 2.0 - 1.0;
    let (u, v) = (number(0), number(2));
    let z = 1.0 - u.abs() - v.abs();
    let (x, y) = match z < 0.0 {
        true => ((1.0 - v.abs()).copysign(u), (1.0 - u.abs()).copysign(v)),
        false => (u, v),
    };
    let length = (x * x + y * y + z * z).sqrt();
    [x / length, y / length, z / length]
}

fn unpack(format: &SurfaceFormat, count: usize, buffer: &[u8], attributes: &[u8]) -> Unpacked {
    let axis = |vertex: usize, k: usize| float(&buffer[12 * vertex + 4 * k..]);
    let direction = if format.tangents { 8 } else { 4 };
    let stride =
        4 * usize::from(format.colours) + 8 * usize::from(format.uvs[0]) + 8 * usize::from(format.uvs[1]);
    let uv = |set: usize, vertex: usize| {
        let offset = 4 * usize::from(format.colours) + 8 * usize::from(set == 1 && format.uvs[0]);
        [0, 4].map(|k| float(&attributes[stride * vertex + offset + k..]))
    };
    let colour = |vertex: usize| std::array::from_fn(|k| f32::from(attributes[stride * vertex + k]) / 255.0);
    let all = |there: bool| 0..if there { count } else { 0 };
    Unpacked {
        positions: (0..count).map(|vertex| [0, 1, 2].map(|k| axis(vertex, k))).collect(),
        normals: all(format.normals).map(|k| normal(&buffer[12 * count + direction * k..])).collect(),
        colours: all(format.colours).map(colour).collect(),
        uvs: [0, 1].map(|set| all(format.uvs[set]).map(|vertex| uv(set, vertex)).collect()),
    }
}

/// The numbers of the decoder.
struct DecodedVertices {
    positions: Vec<[f32; 3]>,
    normals: Vec<[f32; 3]>,
    colours: Vec<[f32; 4]>,
    uvs: [Vec<[f32; 2]>; 2],
}

fn decoded_vertices(decoder: &FrameDecoder, mesh: usize) -> DecodedVertices {
    let view = decoder.mesh(mesh);
    let count = view.vertex_count();
    let has = |semantic, set| if view.find_stream(semantic, set).is_some() { count } else { 0 };
    let mut out = DecodedVertices {
        positions: vec![[0.0; 3]; count],
        normals: vec![[0.0; 3]; if view.has_normals() { count } else { 0 }],
        colours: vec![[0.0; 4]; has(Semantic::Colour, 0)],
        uvs: [0, 1].map(|set| vec![[0.0; 2]; has(Semantic::Uv, set)]),
    };
    view.positions_into(out.positions.as_flattened_mut()).unwrap();
    if !out.normals.is_empty() {
        view.normals_into(out.normals.as_flattened_mut()).unwrap();
    }
    if !out.colours.is_empty() {
        view.colours_into(0, out.colours.as_flattened_mut()).unwrap();
    }
    for (set, uvs) in (0..).zip(&mut out.uvs).filter(|(_, uvs)| !uvs.is_empty()) {
        view.uvs_into(set, uvs.as_flattened_mut()).unwrap();
    }
    out
}

fn packed(vertices: &Vertices, part: &SurfacePart) -> Unpacked {
    let (format, range) = (SurfaceFormat::new(vertices), part.range(vertices.positions.len()));
    let mut buffer = vec![0; format.vertex_bytes(range.len())];
    let mut attributes = vec![0; format.attribute_stride() * range.len()];
    format.write_vertices(vertices, range.clone(), &mut buffer);
    format.write_attributes(vertices, range.clone(), &mut attributes);
    unpack(&format, range.len(), &buffer, &attributes)
}

/// Compares all parts of a mesh; returns the number of vertices of triangles that were compared.
fn compare(decoder: &FrameDecoder, mesh: &MeshFrame<'_>, vertices: &mut Vertices) -> usize {
    vertices.read(mesh).unwrap();
    let wanted = decoded_vertices(decoder, mesh.number());
    let mut compared = 0;
    for part in surface::parts(mesh) {
        let range = part.range(mesh.vertex_count());
        let own = packed(vertices, &part);
        assert_eq!(own.positions, wanted.positions[range.clone()]);
        for (own, wanted) in
            own.colours.iter().flatten().zip(wanted.colours.iter().skip(range.start).flatten())
        {
            // Godot's vertex colours end at 0 and 1.
            assert!((own - wanted.clamp(0.0, 1.0)).abs() <= 0.5 / 255.0 + 1e-6);
        }
        for set in 0..2 {
            let flipped = wanted.uvs[set].iter().skip(range.start).map(|[u, v]| [*u, 1.0 - v]);
            assert!(own.uvs[set].iter().copied().eq(flipped.take(own.uvs[set].len())));
        }
        for (own, wanted) in own.normals.iter().zip(wanted.normals.iter().skip(range.start)) {
            let cosine: f32 = (0..3).map(|k| own[k] * wanted[k]).sum();
            let length: f32 = wanted.iter().map(|value| value * value).sum::<f32>().sqrt();
            assert!(length < 0.5 || cosine / length > 0.999_999, "{own:?} {wanted:?}");
        }
        let Some(material) = part.material else { continue };
        let indices = surface::indices(mesh, &part);
        let source = mesh.material_indices(material).unwrap();
        assert_eq!(indices.len(), source.len());
        for (own, [a, b, c]) in indices.chunks(3).zip(source.as_chunks::<3>().0) {
            let corners = [own[0], own[1], own[2]].map(|index| index as usize + range.start);
            assert_eq!(corners, [*a, *c, *b].map(|index| index as usize));
            compared += 3;
        }
    }
    compared
}

#[test]
fn buffers_hold_the_numbers_of_the_decoder() {
    let mut vertices = Vertices::default();
    for file in FILES {
        let reel = open(&golden(file));
        let last = reel.frame_count() - 1;
        let mut compared = 0;
        for frame in [0, last / 2, last] {
            let decoder = decoded(&reel, frame);
            let view = between(&decoder, &decoder, 0.0);
            for own in mesh_nodes(reel.description()) {
                let Some(mesh) = mesh_frame(&view, &own.nodes) else { continue };
                compared += compare(&decoder, &mesh, &mut vertices);
            }
        }
        let has_triangles = reel.description().meshes.iter().any(|mesh| mesh.particles.is_none());
        assert_eq!(compared > 0, has_triangles, "{file}");
    }
}

/// Returns six times the volume that triangles enclose, positive if they are counter-clockwise from outside.
fn volume(positions: &[[f32; 3]], indices: &[u32]) -> f64 {
    let corner = |index: u32| positions[index as usize].map(f64::from);
    let (triangles, _) = indices.as_chunks::<3>();
    let part = |[a, b, c]: &[u32; 3]| {
        let (a, b, c) = (corner(*a), corner(*b), corner(*c));
        let cross = [b[1] * c[2] - b[2] * c[1], b[2] * c[0] - b[0] * c[2], b[0] * c[1] - b[1] * c[0]];
        (0..3).map(|k| a[k] * cross[k]).sum::<f64>()
    };
    triangles.iter().map(part).sum()
}

#[test]
fn closed_meshes_are_clockwise_from_outside() {
    let reel = open(&golden("v0/robot_small.reel"));
    let decoder = decoded(&reel, 0);
    let view = between(&decoder, &decoder, 0.0);
    let own = &mesh_nodes(reel.description())[0];
    let mesh = mesh_frame(&view, &own.nodes).unwrap();
    let mut vertices = Vertices::default();
    vertices.read(&mesh).unwrap();
    assert!(volume(&vertices.positions, mesh.indices()) > 0.0);
    let part = &surface::parts(&mesh)[0];
    let range = part.range(mesh.vertex_count());
    let clockwise = volume(&vertices.positions[range], &surface::indices(&mesh, part));
    assert!((clockwise + volume(&vertices.positions, mesh.indices())).abs() < 1e-6);
    // Normals point outwards all the same.
    let centre: [f32; 3] = std::array::from_fn(|k| {
        vertices.positions.iter().map(|p| p[k]).sum::<f32>() / mesh.vertex_count() as f32
    });
    let outwards = vertices.positions.iter().zip(&vertices.normals).filter(|(position, normal)| {
        (0..3).map(|k| (position[k] - centre[k]) * normal[k]).sum::<f32>() > 0.0
    });
    assert_eq!(outwards.count(), mesh.vertex_count());
}

#[test]
fn between_frames_positions_are_blended() {
    let reel = open(&golden("v0/flag_small.reel"));
    let (first, second) = (decoded(&reel, 11), decoded(&reel, 12));
    let (a, b) = (decoded_vertices(&first, 0).positions, decoded_vertices(&second, 0).positions);
    let view = between(&first, &second, 0.25);
    let mesh = mesh_frame(&view, &mesh_nodes(reel.description())[0].nodes).unwrap();
    let mut vertices = Vertices::default();
    vertices.read(&mesh).unwrap();
    let own = packed(&vertices, &surface::parts(&mesh)[0]);
    let mut moved = 0;
    for ((own, a), b) in own.positions.iter().zip(&a).zip(&b) {
        for k in 0..3 {
            assert!((own[k] - (a[k] + (b[k] - a[k]) * 0.25)).abs() < 1e-5);
            moved += usize::from(a[k] != b[k]);
        }
    }
    assert!(moved > 1000, "{moved}");
}

#[test]
fn parts_have_the_names_of_materials_and_only_their_vertices() {
    let reel = open(&golden("v0/wall_small.reel"));
    let decoder = decoded(&reel, 0);
    let view = between(&decoder, &decoder, 0.0);
    let mesh = mesh_frame(&view, &mesh_nodes(reel.description())[0].nodes).unwrap();
    let parts = surface::parts(&mesh);
    let names: Vec<&str> = parts.iter().map(|part| part.material_name(&mesh)).collect();
    assert_eq!(names, ["inside", "outside"]);
    for part in &parts {
        let range = part.range(mesh.vertex_count());
        let indices = surface::indices(&mesh, part);
        assert_eq!(indices.iter().min(), Some(&0));
        assert_eq!(indices.iter().max().map(|index| *index as usize + 1), Some(range.len()));
    }
}

#[test]
fn points_have_no_triangles_and_no_normals() {
    let reel = open(&golden("v0/points_fast.reel"));
    let decoder = decoded(&reel, 3);
    let view = between(&decoder, &decoder, 0.0);
    let mesh = mesh_frame(&view, &mesh_nodes(reel.description())[0].nodes).unwrap();
    assert_eq!(primitive(&mesh), Primitive::Points);
    let parts = surface::parts(&mesh);
    assert_eq!(parts.len(), 1);
    assert!(surface::indices(&mesh, &parts[0]).is_empty());
    let mut vertices = Vertices::default();
    vertices.read(&mesh).unwrap();
    let format = SurfaceFormat::new(&vertices);
    assert!(!format.normals && !format.tangents);
    assert_eq!(packed(&vertices, &parts[0]).positions, decoded_vertices(&decoder, 0).positions);
}

#[test]
fn lods_use_the_vertices_of_the_surface() {
    let Some(path) = compiled("wall_lods.reel") else { return };
    let reel = open(&path);
    let decoder = decoded(&reel, 5);
    let view = between(&decoder, &decoder, 0.0);
    let mesh = mesh_frame(&view, &mesh_nodes(reel.description())[0].nodes).unwrap();
    assert!(mesh.lod_count() > 1);
    let mut triangles = vec![0; mesh.lod_count()];
    for part in surface::parts(&mesh) {
        let range = part.range(mesh.vertex_count());
        triangles[0] += surface::indices(&mesh, &part).len() / 3;
        let lods = surface::lods(&mesh, &part);
        assert_eq!(lods.len(), mesh.lod_count() - 1);
        for (level, lod) in (1..).zip(&lods) {
            assert!(lod.error > 0.0 && lod.error.is_finite());
            assert!(lod.indices.iter().all(|index| (*index as usize) < range.len()));
            triangles[level] += lod.indices.len() / 3;
        }
        assert!(lods.windows(2).all(|pair| pair[0].error <= pair[1].error));
    }
    assert!(triangles.windows(2).all(|pair| pair[1] < pair[0]), "{triangles:?}");
}
