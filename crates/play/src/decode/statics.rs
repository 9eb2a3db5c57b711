//! Reads the static data of a file's meshes: indices, predictor tables, static streams, bases of animated
//! ones.

use crate::decode::classic::read_static;
use crate::decode::end_states;
use crate::decode::input::skip_stream;
use crate::reel::chunk_content::slice;
use crate::reel::fixed_point::{FixedPointStream, PositionDecoder};
use crate::reel::layout::{fixed_point_parts, needs_table};
use crate::reel::normals::PredictedNormals;
use crate::reel::open_file::Reel;
use crate::reel::quantized::{QuantizedBuffer, QuantizedInteger, for_quantized};
use crate::reel::statics::{StaticMesh, Statics};
use crate::reel::{lod, visibility};
use crate::{Error, error};
use meshreel_codec::entropy::block::Decompressor;
use meshreel_codec::mesh::byte_budget::ByteBudget;
use meshreel_codec::mesh::decode::StaticPart;
use meshreel_codec::mesh::height;
use meshreel_codec::mesh::hierarchy;
use meshreel_codec::mesh::hierarchy::Hierarchy;
use meshreel_codec::mesh::skin::Skin;
use meshreel_codec::mesh::table_sets::TableSets;
use meshreel_codec::record::{ChunkLocation, Coding, MeshRecord, ParticlesRecord, Semantic, StreamRecord};
use meshreel_codec::topology::grid::GridShape;
use meshreel_codec::topology::lod::LodEntries;
use meshreel_codec::topology::{compact, grid, index, weld};
use meshreel_codec::values::parallelogram::{self, PredictorTable};
use meshreel_codec::values::particles::ParticleKind;
use meshreel_codec::values::particles::point_set::PointSet;
use meshreel_codec::values::uvs::{self, UvSurface};
use meshreel_codec::{Corrupt, each_width, quantize, take_length_prefixed};
use meshreel_format::kind;
use std::sync::Arc;

impl Statics {
    /// Reads every chunk that a mesh needs, each once.
    pub fn load(reel: &Reel) -> Result<Statics, Error> {
        let records = &reel.description().meshes;
        let mut meshes: Vec<StaticMesh> = Vec::new();
        meshes.resize_with(records.len(), StaticMesh::default);
        let fixed = || (0..records.len()).filter(|&m| !records[m].method.changes());
        reel.each_chunk(fixed().map(|m| (chunk_of(records[m].connectivity), m)).collect(), |content, m| {
            let record = &records[m];
            let at = || format!("indices of mesh {}", record.path);
            let bytes = slice(reel.path(), content, record.connectivity, at)?;
            meshes[m].key.connectivity = bytes.to_vec();
            let corrupt = |c| error::corrupt(reel.path(), c, at());
            if let Some(particles) = record.particles {
                meshes[m].point_set = read_point_set(record, particles, bytes).map_err(corrupt)?;
                return Ok(());
            }
            (meshes[m].indices, meshes[m].vertex_point) = read_indices(record, bytes).map_err(corrupt)?;
            Ok(())
        })?;
        let mut sets = TableSets::new(ByteBudget::new(reel.memory_for_tables()));
        reel.each_chunk(fixed().map(|m| (chunk_of(records[m].values), m)).collect(), |content, m| {
            let record = &records[m];
            let at = || format!("static values of mesh {}", record.path);
            let bytes = slice(reel.path(), content, record.values, at)?;
            let attributes = reel.has_attributes();
            let read = read_values(record, attributes, &mut meshes[m], bytes, &mut sets);
            let made_of = &mut meshes[m].key;
            made_of.counts = (record.vertices, record.points, record.has_table);
            made_of.streams.clone_from(&record.streams);
            made_of.particles = record.particles;
            made_of.values = bytes.to_vec();
            read.map_err(|c| match sets.budget.refused() {
                Some(tables) => reel.too_much_memory(tables),
                None => error::corrupt(reel.path(), c, at()),
            })
        })?;
        reel.set_counted_bytes(sets.budget.used());
        drop(sets);
        load_lods(reel, &mut meshes)?;
        load_visibility(reel, &mut meshes)?;
        let mut statics =
            Statics { meshes: meshes.into_iter().map(Arc::new).collect(), end_states: Arc::default() };
        statics.end_states = Arc::new(end_states::load(reel, &statics)?);
        Ok(statics)
    }
}

/// Returns the chunk to read for a location; `None` if the location is empty.
fn chunk_of(location: ChunkLocation) -> Option<u32> {
    (location.size > 0).then_some(location.chunk)
}

/// Reads the ids or curves of points that are the same in all frames.
fn read_point_set(
    record: &MeshRecord,
    particles: ParticlesRecord,
    bytes: &[u8],
) -> Result<PointSet, Corrupt> {
    let kind = ParticleKind { ids: particles.ids, curves: particles.curves.is_some() };
    let max_curves = particles.curves.map_or(0, |curves| curves.max_curves);
    PointSet::decode(bytes, kind, record.vertices as usize, max_curves as usize)
}

/// Reads the indices of a mesh, and the point of each vertex if these are compact triangles.
fn read_indices(record: &MeshRecord, bytes: &[u8]) -> Result<(Vec<u32>, Vec<u32>), Corrupt> {
    let mut indices = vec![0; record.indices as usize];
    if bytes.starts_with(&compact::MARKER) {
        let ranges: Vec<[u32; 2]> = record.materials.iter().map(|m| [m.first, m.count]).collect();
        let points = compact::decode(bytes, record.vertices, &ranges, &mut indices)?;
        return Ok((indices, points));
    }
    let used = index::decode(bytes, record.vertices, &mut indices)?;
    check_all_used(bytes, used)?;
    Ok((indices, Vec::new()))
}

/// Returns the point of each vertex: `compact`, which the triangles bring, or, if it is empty, from the start
/// of the values.
fn read_points(
    record: &MeshRecord,
    compact: Vec<u32>,
    bytes: &[u8],
    used: &mut usize,
) -> Result<Vec<u32>, Corrupt> {
    if compact.is_empty() {
        let mut points = vec![0; record.vertices as usize];
        *used += weld::decode(bytes, record.points, &mut points)?;
        return Ok(points);
    }
    // Points are numbered by their first vertices, without gaps.
    match compact.iter().max() {
        Some(most) if most + 1 == record.points => Ok(compact),
        _ => Err(Corrupt("another number of points than the triangles have")),
    }
}

/// Reads the static values of a mesh; without `attributes`, animated vertex attributes are skipped.
fn read_values(
    record: &MeshRecord,
    attributes: bool,
    mesh: &mut StaticMesh,
    bytes: &[u8],
    sets: &mut TableSets,
) -> Result<(), Corrupt> {
    let vertices = record.vertices as usize;
    let mut used = 0;
    let points = match record.streams.iter().any(|s| s.coding.has_fixed_point()) {
        true => read_points(record, std::mem::take(&mut mesh.vertex_point), bytes, &mut used)?,
        false => Vec::new(),
    };
    if record.has_table {
        let (table, size) = parallelogram::decode_table(remaining(bytes, used), &mesh.indices, vertices)?;
        mesh.predictor_table = table;
        used += size;
    }
    let mut fixed_point = FixedPointReader {
        sets,
        indices: &mesh.indices,
        points: &points,
        shape: if record.particles.is_none() { grid::read_shape(&mesh.key.connectivity) } else { None },
        domains: Default::default(),
    };
    // Predicted normals also depend on streams that come after them.
    let mut predicted = Vec::new();
    // Exact sizes, as there may be very many meshes.
    mesh.streams.reserve_exact(record.streams.len());
    mesh.fixed_point.reserve_exact(record.streams.len());
    mesh.normals.reserve_exact(record.streams.len());
    mesh.stream_bytes.reserve_exact(record.streams.len());
    for (s, stream) in record.streams.iter().enumerate() {
        let (first_byte, rest) = (used, remaining(bytes, used));
        let mut parts = Vec::new();
        if stream.coding.has_fixed_point() {
            parts.reserve_exact(fixed_point_parts(stream));
        }
        let mut words = QuantizedBuffer::zeroed(1, 0);
        match stream.coding {
            _ if record.is_attribute(s) && !attributes => used += skip_stream(record, stream, rest, 1)?,
            Coding::FixedPoint | Coding::Bones | Coding::Heights => {
                used += fixed_point.read(record, stream, rest, &mut parts)?
            }
            Coding::Predicted => {
                predicted.push((s, rest));
                used += take_length_prefixed(rest)?.1;
            }
            Coding::Quantized => {
                words = QuantizedBuffer::zeroed(stream.word, stream.semantic.components() * vertices);
                used += read_quantized(stream, rest, mesh, &mut words)?;
            }
        }
        mesh.streams.push(words);
        mesh.fixed_point.push(parts);
        mesh.normals.push(None);
        mesh.stream_bytes.push((used - first_byte) as u32);
    }
    if !needs_table(record) {
        mesh.predictor_table = PredictorTable::default();
    }
    for (s, rest) in predicted {
        let stream = &record.streams[s];
        let positions = mesh.fixed_point.first().and_then(|parts| parts.first());
        let positions = positions.ok_or(Corrupt("predicted normals without fixed-point positions"))?;
        let uvs = match stream.semantic {
            Semantic::QTangent => first_uvs(record, mesh)?,
            _ => Vec::new(),
        };
        let kind = (stream.semantic, stream.states);
        let triangles = (&mesh.indices[..], grid::read_shape(&mesh.key.connectivity));
        let (made, _) = PredictedNormals::read(rest, kind, triangles, positions, (&uvs, &mut sets.budget))?;
        mesh.normals[s] = Some(Box::new(made));
    }
    check_all_used(bytes, used)
}

/// Reads the quantized values of a stream; returns the bytes used.
fn read_quantized(
    stream: &StreamRecord,
    bytes: &[u8],
    mesh: &StaticMesh,
    out: &mut QuantizedBuffer,
) -> Result<usize, Corrupt> {
    if stream.semantic == Semantic::Uv && !stream.animated && bytes.first() == Some(&uvs::PREDICTOR) {
        return Ok(1 + read_surface_uvs(stream, &bytes[1..], mesh, out)?);
    }
    let table = &mesh.predictor_table;
    match out {
        QuantizedBuffer::U8(_) => read_static::<u8>(stream, bytes, table, out),
        QuantizedBuffer::U16(_) => read_static::<u16>(stream, bytes, table, out),
        QuantizedBuffer::U32(_) => read_static::<u32>(stream, bytes, table, out),
    }
}

/// Reads texture coordinates that are predicted from the points of the first frame; returns the bytes used.
fn read_surface_uvs(
    stream: &StreamRecord,
    bytes: &[u8],
    mesh: &StaticMesh,
    out: &mut QuantizedBuffer,
) -> Result<usize, Corrupt> {
    let points = mesh.fixed_point.first().and_then(|parts| parts.first());
    let (Some(points), [u, v]) = (points, &stream.axes[..]) else {
        return Err(Corrupt("texture coordinates on a surface without fixed-point positions"));
    };
    let positions: Vec<[i32; 3]> = each_width!(points.decoder.first().as_points(), first => {
        first.iter().map(|&[x, y, z, _]| [x, y, z].map(i32::from)).collect()
    });
    let surface = UvSurface {
        indices: &mesh.indices,
        vertex_points: &points.vertex_points,
        positions: &positions,
        steps: [u.step, v.step],
        codes: [u.codes, v.codes],
    };
    match out {
        QuantizedBuffer::U8(_) => uvs::decode(bytes, surface, u8::slice_mut(out)),
        QuantizedBuffer::U16(_) => uvs::decode(bytes, surface, u16::slice_mut(out)),
        QuantizedBuffer::U32(_) => uvs::decode(bytes, surface, u32::slice_mut(out)),
    }
}

/// Returns the uvs from which tangents are computed: those of the first set, which must be static.
fn first_uvs(record: &MeshRecord, mesh: &StaticMesh) -> Result<Vec<[f32; 2]>, Corrupt> {
    let first = |s: &StreamRecord| s.semantic == Semantic::Uv && s.set == 0 && !s.animated;
    let at = record.streams.iter().position(first);
    let at = at.ok_or(Corrupt("predicted tangents without uvs that do not change"))?;
    let mut uvs = vec![[0.0; 2]; record.vertices as usize];
    let (axes, out) = (&record.streams[at].axes[..], uvs.as_flattened_mut());
    for_quantized!(mesh.streams[at].values(), codes => quantize::dequantize(axes, codes, out));
    Ok(uvs)
}

/// The points or vertices of fixed-point streams: their hierarchy and triangles.
struct Domain {
    hierarchy: Hierarchy,
    triangles: Vec<u32>,
    /// The place of each vertex in the order of the hierarchy.
    vertex_points: Arc<Vec<u32>>,
}

/// Reads the static part of fixed-point streams. Streams of points and streams of vertices have one hierarchy
/// each, made once.
struct FixedPointReader<'a> {
    sets: &'a mut TableSets,
    indices: &'a [u32],
    /// The point of each vertex.
    points: &'a [u32],
    /// The shape of the regular grid, if the mesh is one.
    shape: Option<GridShape>,
    domains: [Option<Domain>; 2],
}

impl FixedPointReader<'_> {
    fn read(
        &mut self,
        record: &MeshRecord,
        stream: &StreamRecord,
        bytes: &[u8],
        out: &mut Vec<FixedPointStream>,
    ) -> Result<usize, Corrupt> {
        let of_points = stream.semantic == Semantic::Position;
        let shape = self.shape;
        self.make_domain(record, of_points);
        let Some(Domain { hierarchy, triangles, vertex_points: places }) =
            &self.domains[usize::from(of_points)]
        else {
            return Ok(0);
        };
        let sets = &mut *self.sets;
        let mut used = 0;
        for _ in 0..fixed_point_parts(stream) {
            let (part, size) = take_length_prefixed(remaining(bytes, used))?;
            let (mut height_axis, mut places) = (None, places.clone());
            let coded = match stream.coding {
                Coding::Heights => {
                    let shape = shape.ok_or(Corrupt("heights without a grid"))?;
                    let (made, axis) = height::decode(part, hierarchy.clone(), &shape, sets)?;
                    height_axis = Some(axis);
                    PositionDecoder::Soft(Box::new(made))
                }
                Coding::Bones => {
                    let wide = stream.word == 4;
                    let bones = stream.bones;
                    let mut skin = Skin::decode(part, bones, wide, hierarchy, triangles, sets)?;
                    let numbers = skin.number_by_bones();
                    let of = |&place: &u32| numbers[place as usize];
                    places = Arc::new(places.iter().map(of).collect());
                    PositionDecoder::Skin(Box::new(skin))
                }
                _ => {
                    let levels = hierarchy.clone();
                    PositionDecoder::Soft(Box::new(StaticPart::decode_sharing(part, levels, None, sets)?))
                }
            };
            let wide = coded.first().is_wide();
            if wide != (stream.word == 4) {
                return Err(Corrupt("fixed-point positions of another width than the description says"));
            }
            out.push(FixedPointStream { decoder: coded, height_axis, vertex_points: places });
            used += size;
        }
        Ok(used)
    }

    fn make_domain(&mut self, record: &MeshRecord, of_points: bool) {
        let (indices, points, shape) = (self.indices, self.points, self.shape);
        self.domains[usize::from(of_points)].get_or_insert_with(|| {
            let triangles: Vec<u32> = match of_points {
                true => indices.iter().map(|&v| points[v as usize]).collect(),
                false => indices.to_vec(),
            };
            let count = if of_points { record.points } else { record.vertices };
            let hierarchy = hierarchy::build_with_grid(shape.as_ref(), count, &triangles);
            let mut place = vec![0; hierarchy.order.len()];
            for (new, &old) in (0..).zip(&hierarchy.order) {
                place[old as usize] = new;
            }
            if of_points {
                place = points.iter().map(|&p| place[p as usize]).collect();
            }
            Domain { hierarchy, triangles, vertex_points: Arc::new(place) }
        });
    }
}

fn check_all_used(bytes: &[u8], used: usize) -> Result<(), Corrupt> {
    if used == bytes.len() { Ok(()) } else { Err(Corrupt("bytes left over")) }
}

fn remaining(bytes: &[u8], used: usize) -> &[u8] {
    bytes.get(used..).unwrap_or(&[])
}

/// Reads the LOD levels of all meshes; `meshes` have their indices.
pub(crate) fn load_lods(reel: &Reel, meshes: &mut [StaticMesh]) -> Result<(), Error> {
    let mut decompressor = Decompressor::new();
    let mut least = 0;
    for (c, _) in (0u32..).zip(reel.chunks()).filter(|(_, c)| c.kind == kind::LOD) {
        let content = reel.chunk(c, &mut decompressor)?;
        let mut entries = LodEntries::new(&content, least);
        let damaged = |what| error::corrupt(reel.path(), what, format!("chunk {c}"));
        while let Some((m, levels)) = entries.next().map_err(damaged)? {
            let record = reel.description().meshes.get(m as usize);
            let Some(record) = record.filter(|record| !record.method.changes()) else {
                return Err(damaged(Corrupt("LOD levels of a mesh that is not there")));
            };
            least = m + 1;
            let mesh = &mut meshes[m as usize];
            let at = || format!("levels of detail of mesh {}", record.path);
            mesh.lods = lod::read(record, &mesh.indices, levels)
                .map_err(|what| error::corrupt(reel.path(), what, at()))?;
            mesh.key.lods = levels.to_vec();
        }
    }
    Ok(())
}

/// Reads the triangle visibility of all meshes; `meshes` have their indices.
pub(crate) fn load_visibility(reel: &Reel, meshes: &mut [StaticMesh]) -> Result<(), Error> {
    let mut decompressor = Decompressor::new();
    let mut least = 0;
    let chunks = (0u32..).zip(reel.chunks());
    for (c, _) in chunks.filter(|(_, c)| c.kind == kind::VISIBILITY) {
        let content = reel.chunk(c, &mut decompressor)?;
        let mut entries = LodEntries::new(&content, least);
        let damaged = |what| error::corrupt(reel.path(), what, format!("chunk {c}"));
        while let Some((m, bytes)) = entries.next().map_err(damaged)? {
            let record = reel.description().meshes.get(m as usize);
            let Some(record) = record.filter(|record| !record.method.changes()) else {
                return Err(damaged(Corrupt("triangle visibility of a mesh that is not there")));
            };
            least = m + 1;
            let mesh = &mut meshes[m as usize];
            let at = || format!("what is drawn of mesh {}", record.path);
            let visibility = visibility::read(record, &mesh.indices, bytes, reel.frame_count() as u32)
                .map_err(|what| error::corrupt(reel.path(), what, at()))?;
            mesh.visibility = Some(visibility);
            mesh.key.visibility = bytes.to_vec();
        }
    }
    Ok(())
}
