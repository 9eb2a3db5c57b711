//! Vertices and triangles of a mesh: the normals, uvs, colours and materials that are present in all frames,
//! the corners that they split, and, where faces are constant, the triangles, vertices and their order.

use crate::Error;
use crate::codec_terms::block_format;
use crate::mesh::prepared::{
    FixedLayout, MeshChannels, NormalOrigin, Prepared, VertexChannel, number_classes,
};
use crate::mesh::source::{MeshSource, PositionScan, replace_non_finite, velocities};
use crate::mesh::streams::{RequestedValues, Scratch, VertexValues};
use meshreel_codec::entropy::block::Compressor;
use meshreel_codec::record::source_faces::trace_faces;
use meshreel_codec::record::source_map::{self, OtherFace, SourceMap};
use meshreel_codec::topology::grid::Grid;
use meshreel_codec::topology::{compact, index, weld};
use meshreel_options::{Options, Preset};
use meshreel_process::attributes::{Elements, ExpandedAttribute};
use meshreel_process::extent::Extent;
use meshreel_process::faces::{Faces, corner_faces, vertex_faces};
use meshreel_process::materials::{self, Assignment, Material};
use meshreel_process::order::{self, TriangleOrder};
use meshreel_process::split::Splitter;
use meshreel_process::tangents::{Oriented, Tangents, orient};
use meshreel_process::{normals, repeats, triangulate};
use meshreel_scene::{Attribute, Mesh, Remark, Winding, sample};
use std::cmp::Ordering;
use std::sync::Arc;

/// The faces of the first frame, and the classes of their corners so far: the corners of one class become one
/// vertex.
pub struct CornerClasses {
    /// Faces of the source, invalid ones included.
    raw: sample::Faces,
    /// The usable faces.
    faces: Faces,
    /// By corner of the source, its face.
    face_of: Vec<u32>,
    /// Classes of corners; empty if faces change.
    splitter: Splitter,
}

impl CornerClasses {
    /// Starts with one class per point.
    pub fn new(source: &MeshSource, scan: &PositionScan) -> Result<CornerClasses, Error> {
        let mut raw = sample::Faces::default();
        sample::faces_at(&source.mesh, source.times[0], &mut raw)?;
        let faces = Faces::new(&raw.counts, &raw.indices, scan.first.len());
        let splitter = Splitter::new(if scan.fixed { &faces.corner_point } else { &[] });
        let face_of = corner_faces(&faces);
        Ok(CornerClasses { raw, faces, face_of, splitter })
    }

    /// Returns a material for each face, from the sets of the first frame.
    fn materials(&self, source: &MeshSource) -> Result<Assignment, Error> {
        let sets = face_sets(&source.mesh, source.first_time)?;
        Ok(materials::assign(sets.iter().map(|(n, f)| (n.as_str(), f.as_slice())), self.raw.counts.len()))
    }
}

/// Examines normals, uvs and colours of all frames. If faces are constant, corners whose values differ in any
/// frame are split.
pub fn examine_channels(
    source: &MeshSource,
    scan: &PositionScan,
    corners: &mut CornerClasses,
    remarks: &mut Vec<Remark>,
) -> Result<MeshChannels, Error> {
    let mesh = &*source.mesh;
    let mut remark = |what: String| remarks.push(Remark::new(&mesh.path, what));
    let mut out = MeshChannels {
        normals: NormalOrigin::None,
        normals_animated: false,
        tangents: false,
        uvs: Vec::new(),
        colours: Vec::new(),
        velocities: None,
    };
    if let (true, false, Some(velocities)) = (source.velocities, scan.fixed, velocities(mesh)) {
        let found = examine_attribute(source, (&velocities, 0, 0.0), false, corners, &mut remark)?;
        out.velocities = placed_velocities(source, found)?;
    }
    if source.uvs {
        for (i, attribute) in mesh.uvs.iter().enumerate() {
            let own = (attribute, i, source.uv_seam);
            out.uvs.extend(examine_attribute(source, own, scan.fixed, corners, &mut remark)?);
        }
    }
    if source.colours {
        for (i, attribute) in mesh.colours.iter().enumerate() {
            out.colours.extend(examine_attribute(
                source,
                (attribute, i, 0.0),
                scan.fixed,
                corners,
                &mut remark,
            )?);
        }
    }
    if source.normals {
        out.normals = NormalOrigin::Generated;
        out.normals_animated = scan.moving;
        if let Some(attribute) = &mesh.normals
            && let Some(set) =
                examine_attribute::<3>(source, (attribute, 0, 0.0), scan.fixed, corners, &mut remark)?
        {
            out.normals = NormalOrigin::Source;
            out.normals_animated = set.animated || source.matrices.is_some() && scan.moving;
        }
        out.tangents = !out.uvs.is_empty();
    }
    if out.uvs.len() > 255 || out.colours.len() > 255 {
        return Err(Error::Limit {
            what: format!("{}: attribute sets of one kind", mesh.path),
            asked: out.uvs.len().max(out.colours.len()) as u64,
            allowed: 255,
        });
    }
    Ok(out)
}

/// Returns the velocities of a mesh with their extent in world space, if the mesh is baked.
fn placed_velocities(
    source: &MeshSource,
    found: Option<VertexChannel<3>>,
) -> Result<Option<VertexChannel<3>>, Error> {
    let Some(set) = found.filter(|_| source.matrices.is_some()) else {
        return Ok(found);
    };
    let (mut extent, mut points, mut velocities) = (Extent::default(), Vec::new(), Vec::new());
    for (frame, &time) in source.times.iter().enumerate() {
        source.cancellation.check()?;
        sample::positions_at(&source.mesh, time, &mut points)?;
        replace_non_finite(&mut points, &[]);
        sample::velocities_at(&source.mesh, time, &mut velocities)?;
        source.velocities_to_file_space(frame, &points, &mut velocities);
        extent.extend(&velocities);
    }
    Ok(Some(VertexChannel { extent, ..set }))
}

/// Returns the materials of a mesh whose faces change: index ranges come per frame, in the order of all sets,
/// faces in no set last.
fn changing_materials(source: &MeshSource) -> Result<Vec<Material>, Error> {
    let sets = face_sets(&source.mesh, source.first_time)?;
    // One face in each set and one in none.
    let faces_of: Vec<Vec<i32>> = (0..sets.len()).map(|i| vec![i as i32]).collect();
    let all = materials::assign(
        sets.iter().zip(&faces_of).map(|((name, _), face)| (name.as_str(), face.as_slice())),
        sets.len() + 1,
    );
    Ok(all.materials)
}

/// Returns names and faces of the sets at a time.
pub fn face_sets(mesh: &Mesh, time: f64) -> Result<Vec<(String, Vec<i32>)>, Error> {
    mesh.face_sets
        .iter()
        .map(|set| {
            let mut list = Vec::new();
            sample::read_held(&set.faces, mesh, time, &mut list)?;
            Ok((set.name.clone(), list))
        })
        .collect()
}

/// Returns the attribute if it is present in all frames; then it takes part in splitting, where values within
/// the last of the numbers count as equal.
fn examine_attribute<const N: usize>(
    source: &MeshSource,
    (attribute, number, within): (&Attribute<[f32; N]>, usize, f32),
    fixed: bool,
    corners: &mut CornerClasses,
    remark: &mut impl FnMut(String),
) -> Result<Option<VertexChannel<N>>, Error>
where
    [f32; N]: sample::Lerp + Default,
{
    let mesh = &*source.mesh;
    let mut set = VertexChannel { source: number, animated: false, extent: Extent::default() };
    let (mut first, mut values) = (sample::AttributeValues::default(), sample::AttributeValues::default());
    let (mut faces, mut points) = (sample::Faces::default(), Vec::new());
    let steady = fixed
        && sample::with_position_times(&attribute.values, mesh).is_constant()
        && attribute.indices.as_ref().is_none_or(|i| sample::with_position_times(i, mesh).is_constant());
    let frames = if steady { 1 } else { source.times.len() };
    for frame in 0..frames {
        let time = source.times[frame];
        let out = if frame == 0 { &mut first } else { &mut values };
        source.cancellation.check()?;
        sample::attribute_at(attribute, mesh, time, out)?;
        if frame == 0 || !fixed {
            sample::faces_at(mesh, time, &mut faces)?;
            sample::positions_at(mesh, time, &mut points)?;
        }
        let elements =
            Elements { faces: faces.counts.len(), points: points.len(), corners: faces.indices.len() };
        let out = if frame == 0 { &first } else { &values };
        let expand = ExpandedAttribute::new(attribute.scope, &out.values, out.indices.as_deref());
        // Without points no value can be missing.
        if let (true, Err(why)) = (elements.points > 0, expand.check(elements)) {
            remark(format!("{} left out: {why} (frame {frame})", attribute.name));
            return Ok(None);
        }
        let differs = frame > 0 && first != values;
        if frame == 0 || differs {
            set.animated |= differs;
            set.extent.extend(&out.values);
            if fixed && expand.can_split() {
                let face_of = &corners.face_of;
                corners.splitter.refine_within(|c| expand.corner_value(c, face_of[c as usize], 0), within);
            }
        }
        if expand.missing_count() > 0 {
            remark(format!(
                "{} has {} bad indices (frame {frame}); zeros taken",
                attribute.name,
                expand.missing_count()
            ));
        }
    }
    Ok(Some(set))
}

/// Limit for the bytes of such faces, per vertex and index: beyond it, polygons are restored only as far as
/// triangles determine them.
const MAX_BYTES_PER_ELEMENT: usize = 4;

/// The vertices at the corners of the source's faces.
pub struct FaceCorners<'a> {
    /// By corner of a usable face, its vertex before triangles were put into order.
    pub vertex: &'a [u32],
    /// By vertex of the file, the one that it was before ordering.
    pub unordered_vertex: &'a [u32],
    /// By face, its material.
    pub material: &'a [u32],
}

/// Returns `starts` and `others` for the source map of a mesh whose vertices and triangles are known.
/// Parameters: the map and its triangles, the usable faces, counts and points of all faces; `flip`: `true` if
/// the faces are wound opposite to the triangles.
pub fn find_source_faces(
    (map, indices_now): (&SourceMap, &[u32]),
    faces: &Faces,
    (counts, indices): (&[i32], &[i32]),
    flip: bool,
    corners: FaceCorners<'_>,
) -> (Vec<u32>, Vec<OtherFace>) {
    let found = trace_faces(indices_now, map);
    let mut of_point = vec![u32::MAX; faces.points];
    for (v, &point) in (0..).zip(&map.vertex_point) {
        of_point[point as usize] = v;
    }
    let splits = corners.unordered_vertex.iter().max().map_or(0, |v| *v as usize + 1);
    let mut now = vec![0; splits];
    for (v, &before) in (0..).zip(corners.unordered_vertex) {
        now[before as usize] = v;
    }
    let mut usable = faces.list.iter().peekable();
    let (mut starts, mut others) = (Vec::with_capacity(found.counts.len()), Vec::new());
    let (mut next, mut at, mut first) = (0, 0, 0usize);
    let mut bytes = 0;
    for (number, &count) in (0u32..).zip(counts) {
        let count = count.max(0) as usize;
        let range = first..first.saturating_add(count);
        let Some(points) = indices.get(range.clone()) else {
            break;
        };
        first = range.end;
        let is_usable = usable.next_if(|face| face.number == number).is_some();
        // The polygons that its triangles form: a single one, if they match this face.
        let own = next;
        let begin = at;
        while found.faces.get(next) == Some(&number) {
            at += found.counts[next] as usize;
            next += 1;
        }
        let order = |k: usize| match flip {
            true => (count - k) % count.max(1),
            false => k,
        };
        let wanted = |k: usize| points[order(k)];
        let traced = &found.vertices[begin..at];
        let point = |v: u32| map.vertex_point[v as usize] as i32;
        if is_usable && next == own + 1 && traced.len() == count {
            let start = traced.iter().position(|&v| point(v) == wanted(0));
            let same = |&s: &usize| (0..count).all(|k| point(traced[(s + k) % count]) == wanted(k));
            if let Some(start) = start.filter(same) {
                starts.push(start as u32);
                continue;
            }
        }
        starts.extend((own..next).map(|_| 0));
        let of_corner = |k: usize| match is_usable {
            true => now.get(corners.vertex[range.start + order(k)] as usize).copied(),
            false => (of_point.get(usize::try_from(wanted(k)).ok()?).copied()).filter(|v| *v != u32::MAX),
        };
        let vertices: Option<Vec<u32>> = (0..count).map(of_corner).collect();
        // Faces that refer to missing points cannot be restored.
        if let Some(vertices) = vertices {
            bytes += 15 + 5 * count;
            others.push(OtherFace {
                face: number,
                material: corners.material.get(number as usize).copied().unwrap_or(0),
                vertices,
            });
        }
    }
    if bytes > MAX_BYTES_PER_ELEMENT * (map.vertex_point.len() + indices_now.len()) {
        others.clear();
    }
    (starts, others)
}

/// Finds the materials of a mesh and, where its faces are constant, its triangles and vertices: the passes,
/// each with its input → output.
pub fn lay_out(
    source: &MeshSource,
    prepared: &mut Prepared,
    mut corners: CornerClasses,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<(), Error> {
    let dropped = corners.faces.dropped.sentence();
    let mut remark = |what: String| remarks.push(Remark::new(&source.mesh.path, what));
    if !prepared.scan.fixed {
        // Everything else is made frame by frame.
        dropped.into_iter().for_each(|sentence| remark(format!("{sentence} (first frame)")));
        prepared.materials = changing_materials(source)?;
        return Ok(());
    }
    // Face sets → a material for each face.
    let materials = corners.materials(source)?;
    dropped.into_iter().chain(materials.remarks.iter().cloned()).for_each(&mut remark);
    // Angles between faces → groups of corners that share a normal.
    let groups = smoothing_groups(prepared, &mut corners, options.smooth_angle);
    // Faces and corners → triangles and vertices.
    let (mut fixed, mut unordered) = triangles(source, &prepared.scan, corners, groups, &materials, remarks);
    // Triangles → the same, vertices split where bitangents have both signs.
    let oriented = orientation(source, prepared, &fixed, &mut unordered)?;
    // These → the order of a grid, or the order that predicts and draws best.
    let weld = prepared.scan.weld.take();
    let order = order(&mut fixed, &oriented, &unordered, (materials.materials.len(), weld.as_ref()), options);
    let from = reorder(&mut fixed, order, &oriented, &unordered);
    // Ordered triangles → source faces, tangent groups, coincident vertices.
    source_faces(source, &mut fixed, &unordered, &from, &materials, options);
    tangent_groups(source, prepared, &mut fixed)?;
    fixed.weld = vertex_welds(weld.as_ref(), &fixed.vertex_point);
    prepared.materials = materials.materials;
    prepared.fixed = Some(Arc::new(fixed));
    Ok(())
}

/// Triangles and vertices before they are ordered.
struct Unordered {
    /// Three vertices per triangle.
    triangles: Vec<[u32; 3]>,
    /// By triangle, its face in the source.
    faces: Vec<u32>,
    /// By triangle, its material.
    material: Vec<u32>,
    /// By corner of the source, its vertex.
    corner_vertex: Vec<u32>,
    /// The source's faces.
    raw: sample::Faces,
}

/// Returns groups of corners that share a generated normal, and splits corners by them.
fn smoothing_groups(
    prepared: &Prepared,
    corners: &mut CornerClasses,
    angle: Option<f64>,
) -> normals::SmoothingGroups {
    let mut groups = normals::SmoothingGroups::default();
    if prepared.channels.normals == NormalOrigin::Generated {
        groups = normals::smooth_groups(&prepared.scan.first, &corners.faces, angle);
        if groups.splits_points {
            corners.splitter.refine(|c| [groups.corner[c as usize]]);
        }
    }
    groups
}

/// Returns the triangles of all faces except repeated ones, and a vertex for each class of corners.
fn triangles(
    source: &MeshSource,
    scan: &PositionScan,
    corners: CornerClasses,
    groups: normals::SmoothingGroups,
    materials: &Assignment,
    remarks: &mut Vec<Remark>,
) -> (FixedLayout, Unordered) {
    let CornerClasses { raw, faces, face_of: corner_face, splitter } = corners;
    let mut triangles = triangulate::triangulate_faces(&scan.first, &faces, source.mesh.winding);
    if source.is_mirrored() {
        triangles.corners.iter_mut().for_each(|t| t.swap(1, 2));
    }
    let split = splitter.finish(&faces.corner_point, faces.points);
    let repeats = repeats::repeats(&faces, &split.corner_vertex, &materials.face_material);
    if !repeats.is_empty() {
        let what = format!("faces left out: {} that repeat earlier ones", repeats.len());
        remarks.push(Remark::new(&source.mesh.path, what));
        triangles.leave_out(&repeats);
    }
    let vertices = |t: &[u32; 3]| t.map(|c| split.corner_vertex[c as usize]);
    let unordered = Unordered {
        triangles: triangles.corners.iter().map(vertices).collect(),
        material: triangles.faces.iter().map(|&f| materials.face_material[f as usize]).collect(),
        faces: triangles.faces,
        corner_vertex: split.corner_vertex,
        raw,
    };
    let fixed = FixedLayout {
        vertex_face: vertex_faces(&split.vertex_corner, &corner_face),
        vertex_point: split.vertex_point,
        vertex_corner: split.vertex_corner,
        face_count: unordered.raw.counts.len(),
        faces,
        groups,
        first_points: scan.first.clone(),
        ..FixedLayout::default()
    };
    (fixed, unordered)
}

/// Splits vertices again where the bitangents of their triangles differ in sign.
fn orientation(
    source: &MeshSource,
    prepared: &Prepared,
    fixed: &FixedLayout,
    unordered: &mut Unordered,
) -> Result<Oriented, Error> {
    let triangles = std::mem::take(&mut unordered.triangles);
    let vertices = fixed.vertex_point.len();
    if !prepared.channels.tangents {
        return Ok(Oriented { triangles, vertex: (0..vertices as u32).collect(), signs: Vec::new() });
    }
    let values = first_values(source, prepared, fixed)?;
    let tangents = Tangents::new(triangles.clone(), values.vertices());
    Ok(orient(&triangles, &tangents.corners(values.vertices()), vertices))
}

/// Returns the order of triangles and vertices: that of a regular grid, if they form one, or the one that
/// compact triangles have in the preset small (both are recorded in `fixed`), else the one that predicts and
/// draws best. `weld`: the classes of points that coincide in all frames.
fn order(
    fixed: &mut FixedLayout,
    oriented: &Oriented,
    unordered: &Unordered,
    (materials, weld): (usize, Option<&Splitter>),
    options: &Options,
) -> TriangleOrder {
    let material = &unordered.material;
    if options.preset != Preset::Classic && material.windows(2).all(|w| w[0] == w[1]) {
        fixed.grid = find_grid(oriented, &fixed.vertex_point);
    }
    let Some(grid) = &fixed.grid else {
        let plain = order::order_triangles(&oriented.triangles, material, materials, oriented.vertex.len());
        let Some((order, bytes)) =
            compact_order(&plain, fixed, oriented, unordered, (materials, weld), options)
        else {
            return plain;
        };
        fixed.compact = Some(bytes);
        return order;
    };
    let (count, used) = (3 * grid.triangles.len() as u32, material[0]);
    let range = |m: u32| match m.cmp(&used) {
        Ordering::Less => (0, 0),
        Ordering::Equal => (0, count),
        Ordering::Greater => (count, 0),
    };
    let vertex = point_vertex(oriented, &fixed.vertex_point);
    let number = |p: &u32| vertex[*p as usize];
    TriangleOrder {
        indices: grid.indices(),
        triangle_order: grid.triangles.clone(),
        vertex_order: grid.vertices.iter().map(number).collect(),
        ranges: (0..materials as u32).map(range).collect(),
    }
}

/// The bits of a plain triangle below which triangles come in an order that repeats: values and the source
/// map then also repeat, which any other order would end.
const REGULAR_TRIANGLE_BITS: usize = 1;

/// The part of plain triangles, points and source map that compact ones must save, and bytes besides: plain
/// ones of several meshes are compressed together and then take less than each alone, and so do values in
/// their order.
const MIN_COMPACT_SAVING: (usize, usize) = (1, 6);
const MIN_COMPACT_BYTES: usize = 32;

/// Returns the order of compact triangles and their bytes, if the preset is small and they take clearly less,
/// with their source map, than triangles in the order `plain` and the points of its vertices.
fn compact_order(
    plain: &TriangleOrder,
    fixed: &FixedLayout,
    oriented: &Oriented,
    unordered: &Unordered,
    (materials, weld): (usize, Option<&Splitter>),
    options: &Options,
) -> Option<(TriangleOrder, Vec<u8>)> {
    let triangles = &oriented.triangles;
    if options.preset != Preset::Small || triangles.is_empty() {
        return None;
    }
    let mut compressor = Compressor::new(block_format(options.block), options.effort);
    let mut size = |bytes: &[u8]| {
        let mut out = Vec::new();
        compressor.compress(bytes, &mut out);
        out.len()
    };
    let mut bytes = Vec::new();
    index::encode(&plain.indices, &mut bytes);
    let indices = size(&bytes);
    if 8 * indices < REGULAR_TRIANGLE_BITS * triangles.len() {
        return None;
    }
    let source = |v: u32| fixed.vertex_point[oriented.vertex[v as usize] as usize];
    let (point, points) = welded(weld, (0..oriented.vertex.len() as u32).map(source));
    let coded = compact::encode(triangles, (&point, points), (&unordered.material, materials));
    let order = TriangleOrder {
        indices: coded.indices,
        triangle_order: coded.triangle_order,
        vertex_order: coded.vertex_order,
        ranges: coded.ranges.into_iter().map(|[first, count]| (first, count)).collect(),
    };
    bytes.clear();
    weld::encode(&number_classes(plain.vertex_order.iter().map(|&v| point[v as usize])).0, &mut bytes);
    let mut sizes = [indices + size(&bytes), coded.bytes.len()];
    if !options.strip {
        for (order, size_of) in [plain, &order].into_iter().zip(&mut sizes) {
            let map = SourceMap {
                vertex_point: order.vertex_order.iter().map(|&v| source(v)).collect(),
                triangle_face: order.triangle_order.iter().map(|&t| unordered.faces[t as usize]).collect(),
                ..SourceMap::default()
            };
            bytes.clear();
            source_map::encode(&map, &mut bytes);
            *size_of += size(&bytes);
        }
    }
    let worth = sizes[0] * MIN_COMPACT_SAVING.0 / MIN_COMPACT_SAVING.1 + MIN_COMPACT_BYTES;
    (sizes[1] + worth < sizes[0]).then_some((order, coded.bytes))
}

/// Puts triangles and vertices into their order. Returns, by vertex, the one that it was before it was
/// oriented.
fn reorder(
    fixed: &mut FixedLayout,
    layout: TriangleOrder,
    oriented: &Oriented,
    unordered: &Unordered,
) -> Vec<u32> {
    let from = reordered(&layout.vertex_order, &oriented.vertex);
    let order = |list: &[u32]| from.iter().map(|&v| list[v as usize]).collect::<Vec<u32>>();
    fixed.vertex_point = order(&fixed.vertex_point);
    fixed.vertex_corner = order(&fixed.vertex_corner);
    fixed.vertex_face = order(&fixed.vertex_face);
    fixed.vertex_sign =
        layout.vertex_order.iter().map(|&v| oriented.signs.get(v as usize).copied().unwrap_or(1.0)).collect();
    fixed.triangle_face = layout.triangle_order.iter().map(|&t| unordered.faces[t as usize]).collect();
    fixed.indices = layout.indices;
    fixed.ranges = layout.ranges;
    from
}

/// Adds to the source map the faces of the source that triangles do not determine. `from`: by vertex, the one
/// that it was before ordering.
fn source_faces(
    source: &MeshSource,
    fixed: &mut FixedLayout,
    unordered: &Unordered,
    from: &[u32],
    materials: &Assignment,
    options: &Options,
) {
    if options.strip || source.remeshed.is_some() {
        return;
    }
    let flip = (source.mesh.winding == Winding::Clockwise) != source.is_mirrored();
    let corners = FaceCorners {
        vertex: &unordered.corner_vertex,
        unordered_vertex: from,
        material: &materials.face_material,
    };
    let raw = (&unordered.raw.counts[..], &unordered.raw.indices[..]);
    let map = SourceMap {
        vertex_point: fixed.vertex_point.clone(),
        triangle_face: fixed.triangle_face.clone(),
        ..SourceMap::default()
    };
    let made = (&map, &fixed.indices[..]);
    (fixed.face_starts, fixed.undetermined_faces) = find_source_faces(made, &fixed.faces, raw, flip, corners);
}

/// Returns positions, normals and uvs of the first frame.
fn first_values(
    source: &MeshSource,
    prepared: &Prepared,
    fixed: &FixedLayout,
) -> Result<VertexValues, Error> {
    let mut values = VertexValues::default();
    let wanted = RequestedValues { normals: true, uvs: true, ..RequestedValues::default() };
    fixed.evaluate(source, prepared, 0, wanted, &mut Scratch::default(), &mut values)?;
    Ok(values)
}

/// Finds groups of triangles that share a tangent.
pub fn tangent_groups(
    source: &MeshSource,
    prepared: &Prepared,
    fixed: &mut FixedLayout,
) -> Result<(), Error> {
    if prepared.channels.tangents {
        let values = first_values(source, prepared, fixed)?;
        fixed.tangents = Some(Tangents::new(fixed.indices.as_chunks().0.to_vec(), values.vertices()));
    }
    Ok(())
}

/// Returns, by vertex, the number of its point, without gaps, and the number of points: vertices of one
/// position in all frames share one. `source`: the point of each vertex in the source.
fn welded(weld: Option<&Splitter>, source: impl Iterator<Item = u32>) -> (Vec<u32>, usize) {
    let class = |point: u32| weld.map_or(point, |classes| classes.class_of(point));
    number_classes(source.map(class))
}

/// Returns, by vertex, the first one whose position is the same in all frames; `None` if all differ.
fn vertex_welds(weld: Option<&Splitter>, vertex_point: &[u32]) -> Option<Vec<u32>> {
    let (point, points) = welded(weld, vertex_point.iter().copied());
    let mut first = vec![u32::MAX; points];
    let of = |(v, point): (u32, u32)| {
        let slot = &mut first[point as usize];
        *slot = v.min(*slot);
        *slot
    };
    let representative = (0..).zip(point).map(of).collect();
    (points < vertex_point.len()).then_some(representative)
}

/// Returns the entries of `list` in the given order.
fn reordered(order: &[u32], list: &[u32]) -> Vec<u32> {
    order.iter().map(|&v| list[v as usize]).collect()
}

/// Returns the vertex of each point; every point must have one.
fn point_vertex(oriented: &Oriented, vertex_point: &[u32]) -> Vec<u32> {
    let mut out = vec![0; oriented.vertex.len()];
    for (v, &of) in (0..).zip(&oriented.vertex) {
        out[vertex_point[of as usize] as usize] = v;
    }
    out
}

/// Returns the grid that the triangles form, if they do and its vertices are the source's points, row by row.
fn find_grid(oriented: &Oriented, vertex_point: &[u32]) -> Option<Grid> {
    let mut points: Vec<u32> = (oriented.vertex.iter()).map(|&v| vertex_point[v as usize]).collect();
    let by_point = |t: &[u32; 3]| t.map(|v| points[v as usize]);
    let triangles: Vec<[u32; 3]> = oriented.triangles.iter().map(by_point).collect();
    points.sort_unstable();
    // A seam of uvs or normals gives a point several vertices.
    let once = points.iter().copied().eq(0..points.len() as u32);
    once.then(|| Grid::find(&triangles, points.len())).flatten()
}
