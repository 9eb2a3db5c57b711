//! First pass over a mesh: bounds, what moves, welded points, triangles, vertices, order. What it finds does
//! not depend on tolerances; [`crate::mesh::evaluate`] then gives the values of any frame.

use crate::mesh::prepared::{Fixed, Normals, Prepared, Set};
use crate::mesh::source::{Source, mend};
use crate::mesh::source_faces::{self, Corners};
use crate::{Error, MethodChoice, Options, Preset};
use meshreel_codec::grid::Grid;
use meshreel_codec::source_map::SourceMap;
use meshreel_process::attributes::{Elements, Expand};
use meshreel_process::extent::{Extent, LARGEST, usable};
use meshreel_process::faces::Faces;
use meshreel_process::split::{self, Splitter};
use meshreel_process::tangents::{Oriented, Tangents, orient};
use meshreel_process::{materials, normals, order, repeats, triangulate};
use meshreel_scene::{Attribute, Mesh, Remark, Winding, sample};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Finds runs of equal faces, frame by frame.
#[derive(Default)]
struct Runs {
    lead: Vec<u32>,
    welds: BTreeMap<u32, Vec<u32>>,
    faces: sample::Faces,
    identity: (u128, u128),
    /// Points of its first frame.
    first: Vec<[f32; 3]>,
    /// Points that coincide in all frames of the run so far, if it has several.
    classes: Option<Splitter>,
}

impl Runs {
    fn add(&mut self, mesh: &Mesh, time: f64, object: &[[f32; 3]]) -> Result<(), Error> {
        let identity = sample::topology_identity(mesh, time);
        let mut goes_on = !self.lead.is_empty() && object.len() == self.first.len();
        if goes_on && identity != self.identity {
            let mut faces = sample::Faces::default();
            sample::faces_at(mesh, time, &mut faces)?;
            goes_on = faces == self.faces;
            self.faces = faces;
        } else if !goes_on {
            sample::faces_at(mesh, time, &mut self.faces)?;
        }
        self.identity = identity;
        if !goes_on {
            self.end();
            self.first.clear();
            self.first.extend_from_slice(object);
        }
        let lead = match self.lead.last() {
            Some(&lead) if goes_on => lead,
            _ => self.lead.len() as u32,
        };
        self.lead.push(lead);
        if goes_on {
            let first = &self.first;
            let classes = self.classes.get_or_insert_with(|| {
                let mut classes = Splitter::new(&vec![0; first.len()]);
                classes.refine(|p| split::all_bits(first[p as usize]));
                classes
            });
            classes.refine(|p| split::all_bits(object[p as usize]));
        }
        Ok(())
    }

    /// The last run is over.
    fn end(&mut self) {
        let points = self.first.len();
        let classes = self.classes.take().filter(|c| c.classes() < points);
        if let (Some(classes), Some(&lead)) = (classes, self.lead.last()) {
            let mut first = vec![split::NONE; classes.classes()];
            let of = |p: u32| {
                let first = &mut first[classes.class_of(p) as usize];
                *first = (*first).min(p);
                *first
            };
            self.welds.insert(lead, (0..points as u32).map(of).collect());
        }
    }
}

/// Looks at all frames of a mesh.
pub fn prepare(
    source: &Source<'_>,
    method: MethodChoice,
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<Prepared, Error> {
    let mesh = source.mesh;
    let mut remark = |what: String| remarks.push(Remark::new(&mesh.path, what));
    let frames = source.times.len();
    let fixed = method != MethodChoice::Fluid && sample::fixed_topology(mesh, &source.times)?;

    // Positions: bounds, motion, welding; whether the number of points stays.
    let (mut object, mut points, mut first) = (Vec::new(), Vec::new(), source.fallback.clone());
    let mut raw_points = Vec::new();
    let mut weld: Option<Splitter> = None;
    let (mut extent, mut object_extent) = (Extent::default(), Extent::default());
    let (mut most, mut total, mut mended, mut moving, mut steady) = (0usize, 0u64, 0usize, false, true);
    let mut runs = Runs::default();
    for frame in 0..frames {
        sample::positions_at(mesh, source.times[frame], &mut object)?;
        // What takes the place of damage says nothing about the mesh's size.
        object_extent.extend(object.iter().filter(|p| usable(p)));
        let bad = mend(&mut object, &first);
        mended += bad;
        source.place(frame, &object, &mut points);
        if !points.as_flattened().iter().all(|v| v.is_finite()) {
            return Err(Error::Unsupported {
                what: format!(
                    "{}: its transform takes it beyond what float32 holds (frame {frame})",
                    mesh.path
                ),
            });
        }
        extent.extend(&points);
        if bad > 0 {
            // Frames with changing faces have no first frame to fall back on.
            sample::positions_at(mesh, source.times[frame], &mut raw_points)?;
            mend(&mut raw_points, &[]);
            source.place(frame, &raw_points, &mut points);
            extent.extend(&points);
        }
        if !fixed {
            match bad {
                0 => runs.add(mesh, source.times[frame], &object)?,
                // As frames with changing faces are read later.
                _ => {
                    sample::positions_at(mesh, source.times[frame], &mut raw_points)?;
                    mend(&mut raw_points, &[]);
                    runs.add(mesh, source.times[frame], &raw_points)?;
                }
            }
        }
        most = most.max(points.len());
        total += points.len() as u64;
        if frame == 0 {
            first = object.clone();
            let mut classes = Splitter::new(&vec![0; if fixed { object.len() } else { 0 }]);
            classes.refine(|p| split::all_bits(object[p as usize]));
            weld = (classes.classes() < object.len() && fixed).then_some(classes);
        } else {
            moving |= object != first;
            steady &= object.len() == first.len();
            if let (Some(classes), true) = (&mut weld, steady) {
                classes.refine(|p| split::all_bits(object[p as usize]));
            }
        }
    }
    moving |= source.matrices.as_ref().is_some_and(|all| all.iter().any(|m| *m != all[0]));
    if mended > 0 {
        remark(format!(
            "{mended} positions (over all frames) are not finite or beyond {LARGEST:e} and were replaced"
        ));
    }
    runs.end();
    if let Some(remeshed) = source.remeshed {
        // Tolerances follow from the source's size.
        object_extent = remeshed.extent;
    }
    let fixed = fixed && steady;
    total += (most * (source.frames - frames)) as u64;
    if !fixed && runs.lead.is_empty() {
        // The same faces on points whose number changes: each frame by itself.
        runs.lead = (0..frames as u32).collect();
    }

    let mut prepared = Prepared {
        extent,
        object_extent,
        points: most,
        points_total: total,
        moving,
        normals: Normals::None,
        normals_animated: false,
        tangents: false,
        uvs: Vec::new(),
        colours: Vec::new(),
        fixed: None,
        runs: runs.lead,
        run_welds: runs.welds,
        materials: Vec::new(),
    };
    let mut raw = sample::Faces::default();
    sample::faces_at(mesh, source.times[0], &mut raw)?;
    let faces = Faces::new(&raw.counts, &raw.indices, first.len());
    let mut splitter = Splitter::new(if fixed { &faces.corner_point } else { &[] });
    let corner_face = corner_faces(&faces);

    if source.uvs {
        for (i, attribute) in mesh.uvs.iter().enumerate() {
            if let Some(set) = look(source, attribute, i, fixed, &mut splitter, &corner_face, &mut remark)? {
                prepared.uvs.push(set);
            }
        }
    }
    if source.colours {
        for (i, attribute) in mesh.colours.iter().enumerate() {
            if let Some(set) = look(source, attribute, i, fixed, &mut splitter, &corner_face, &mut remark)? {
                prepared.colours.push(set);
            }
        }
    }
    if source.normals {
        prepared.normals = Normals::Made;
        prepared.normals_animated = moving;
        if let Some(attribute) = &mesh.normals
            && let Some(set) =
                look::<3>(source, attribute, 0, fixed, &mut splitter, &corner_face, &mut remark)?
        {
            prepared.normals = Normals::File;
            prepared.normals_animated = set.animated || source.matrices.is_some() && moving;
        }
        prepared.tangents = !prepared.uvs.is_empty();
    }
    if prepared.uvs.len() > 255 || prepared.colours.len() > 255 {
        return Err(Error::Limit {
            what: format!("{}: attribute sets of one kind", mesh.path),
            asked: prepared.uvs.len().max(prepared.colours.len()) as u64,
            allowed: 255,
        });
    }

    let sets = face_sets(mesh, source.first_time)?;
    let assignment =
        materials::assign(sets.iter().map(|(n, f)| (n.as_str(), f.as_slice())), raw.counts.len());
    if !fixed {
        // Ranges come per frame, in the order of all sets, faces in none last: a face in each set and one
        // beyond.
        let faces_of: Vec<Vec<i32>> = (0..sets.len()).map(|i| vec![i as i32]).collect();
        let all = materials::assign(
            sets.iter().zip(&faces_of).map(|((name, _), face)| (name.as_str(), face.as_slice())),
            sets.len() + 1,
        );
        prepared.materials = all.materials;
        if let Some(sentence) = faces.dropped.sentence() {
            remark(format!("{sentence} (first frame)"));
        }
        return Ok(prepared);
    }
    if let Some(sentence) = faces.dropped.sentence() {
        remark(sentence);
    }
    assignment.remarks.into_iter().for_each(&mut remark);

    let mut groups = normals::Groups::default();
    if prepared.normals == Normals::Made {
        groups = normals::smooth_groups(&first, &faces, options.smooth_angle);
        if groups.parted {
            splitter.refine(|c| [groups.corner[c as usize]]);
        }
    }
    let mut triangles = triangulate::triangulate_faces(&first, &faces, mesh.winding);
    if source.mirrored() {
        triangles.corners.iter_mut().for_each(|t| t.swap(1, 2));
    }
    let split = splitter.finish(&faces.corner_point, faces.points);
    let repeats = repeats::repeats(&faces, &split.corner_vertex, &assignment.face_material);
    if !repeats.is_empty() {
        remark(format!("faces left out: {} that repeat earlier ones", repeats.len()));
        triangles.leave_out(&repeats);
    }
    let by_vertex: Vec<[u32; 3]> =
        triangles.corners.iter().map(|t| t.map(|c| split.corner_vertex[c as usize])).collect();
    let mut fixed = Fixed {
        vertex_face: face_of(&split.vertex_corner, &corner_face),
        vertex_point: split.vertex_point,
        vertex_corner: split.vertex_corner,
        vertex_sign: Vec::new(),
        tangents: None,
        faces,
        face_count: raw.counts.len(),
        groups,
        indices: Vec::new(),
        grid: None,
        ranges: Vec::new(),
        triangle_face: Vec::new(),
        starts: Vec::new(),
        others: Vec::new(),
        weld: None,
        first_points: first,
    };
    let mut oriented = Oriented {
        triangles: by_vertex,
        vertex: (0..fixed.vertex_point.len() as u32).collect(),
        signs: Vec::new(),
    };
    if prepared.tangents {
        let values = fixed.first_values(source, &prepared)?;
        let tangents = Tangents::new(oriented.triangles.clone(), values.vertices());
        oriented =
            orient(&oriented.triangles, &tangents.corners(values.vertices()), fixed.vertex_point.len());
    }
    let triangle_material: Vec<u32> =
        triangles.faces.iter().map(|&f| assignment.face_material[f as usize]).collect();
    if options.preset != Preset::Classic && triangle_material.windows(2).all(|w| w[0] == w[1]) {
        fixed.grid = grid_of(&oriented, &fixed.vertex_point);
    }
    let layout = match &fixed.grid {
        Some(grid) => {
            let (count, used) = (3 * grid.triangles.len() as u32, triangle_material[0]);
            let range = |m: u32| match m.cmp(&used) {
                Ordering::Less => (0, 0),
                Ordering::Equal => (0, count),
                Ordering::Greater => (count, 0),
            };
            let vertex = point_vertex(&oriented, &fixed.vertex_point);
            let number = |p: &u32| vertex[*p as usize];
            order::Layout {
                indices: grid.indices(),
                triangle_order: grid.triangles.clone(),
                vertex_order: grid.vertices.iter().map(number).collect(),
                ranges: (0..assignment.materials.len() as u32).map(range).collect(),
            }
        }
        None => order::layout(
            &oriented.triangles,
            &triangle_material,
            assignment.materials.len(),
            oriented.vertex.len(),
        ),
    };
    let from = order_of(&layout.vertex_order, &oriented.vertex);
    let order = |list: &[u32]| from.iter().map(|&v| list[v as usize]).collect::<Vec<u32>>();
    fixed.vertex_point = order(&fixed.vertex_point);
    fixed.vertex_corner = order(&fixed.vertex_corner);
    fixed.vertex_face = order(&fixed.vertex_face);
    fixed.vertex_sign =
        layout.vertex_order.iter().map(|&v| oriented.signs.get(v as usize).copied().unwrap_or(1.0)).collect();
    fixed.triangle_face = layout.triangle_order.iter().map(|&t| triangles.faces[t as usize]).collect();
    fixed.indices = layout.indices;
    fixed.ranges = layout.ranges;
    if !options.strip && source.remeshed.is_none() {
        let flip = (mesh.winding == Winding::Clockwise) != source.mirrored();
        let corners =
            Corners { vertex: &split.corner_vertex, of: &from, material: &assignment.face_material };
        let raw = (&raw.counts[..], &raw.indices[..]);
        let map = SourceMap {
            vertex_point: fixed.vertex_point.clone(),
            triangle_face: fixed.triangle_face.clone(),
            ..SourceMap::default()
        };
        let made = (&map, &fixed.indices[..]);
        (fixed.starts, fixed.others) = source_faces::find(made, &fixed.faces, raw, flip, corners);
    }
    if prepared.tangents {
        let values = fixed.first_values(source, &prepared)?;
        fixed.tangents = Some(Tangents::new(fixed.indices.as_chunks().0.to_vec(), values.vertices()));
    }
    fixed.weld = welded(weld, &fixed.vertex_point);
    prepared.materials = assignment.materials;
    prepared.fixed = Some(fixed);
    Ok(prepared)
}

/// Entries of `list` in an order.
fn order_of(order: &[u32], list: &[u32]) -> Vec<u32> {
    order.iter().map(|&v| list[v as usize]).collect()
}

/// The vertex of each point, where every point has one.
fn point_vertex(oriented: &Oriented, vertex_point: &[u32]) -> Vec<u32> {
    let mut out = vec![0; oriented.vertex.len()];
    for (v, &of) in (0..).zip(&oriented.vertex) {
        out[vertex_point[of as usize] as usize] = v;
    }
    out
}

/// The grid that triangles are, if they are one: vertices are points of the source, row by row.
fn grid_of(oriented: &Oriented, vertex_point: &[u32]) -> Option<Grid> {
    let mut points: Vec<u32> = (oriented.vertex.iter()).map(|&v| vertex_point[v as usize]).collect();
    let by_point = |t: &[u32; 3]| t.map(|v| points[v as usize]);
    let triangles: Vec<[u32; 3]> = oriented.triangles.iter().map(by_point).collect();
    points.sort_unstable();
    // A seam of uvs or normals gives a point several vertices.
    let once = points.iter().copied().eq(0..points.len() as u32);
    once.then(|| Grid::find(&triangles, points.len())).flatten()
}

fn welded(weld: Option<Splitter>, vertex_point: &[u32]) -> Option<Vec<u32>> {
    let mut representative: Vec<u32> = Vec::new();
    let of = |v: usize| {
        let point = vertex_point[v];
        weld.as_ref().map_or(point, |classes| classes.class_of(point)) as usize
    };
    let mut first = vec![u32::MAX; (0..vertex_point.len()).map(of).max().map_or(0, |m| m + 1)];
    let mut any = false;
    for v in 0..vertex_point.len() {
        let slot = &mut first[of(v)];
        match *slot {
            u32::MAX => *slot = v as u32,
            _ => any = true,
        }
        representative.push(*slot);
    }
    any.then_some(representative)
}

/// Face of each corner of the file; u32::MAX for those of unusable faces.
pub fn corner_faces(faces: &Faces) -> Vec<u32> {
    let mut out = vec![u32::MAX; faces.corner_point.len()];
    for face in &faces.list {
        out[face.range()].fill(face.number);
    }
    out
}

/// Face of each vertex, through its corner.
pub fn face_of(vertex_corner: &[u32], corner_face: &[u32]) -> Vec<u32> {
    vertex_corner.iter().map(|&c| corner_face.get(c as usize).copied().unwrap_or(u32::MAX)).collect()
}

/// Names and faces of the sets at a time.
pub fn face_sets(mesh: &Mesh, time: f64) -> Result<Vec<(String, Vec<i32>)>, Error> {
    mesh.face_sets
        .iter()
        .map(|set| {
            let mut list = Vec::new();
            sample::held(&set.faces, mesh, time, &mut list)?;
            Ok((set.name.clone(), list))
        })
        .collect()
}

/// Whether an attribute is there in all frames; if so it takes part in splitting.
fn look<const N: usize>(
    source: &Source<'_>,
    attribute: &Attribute<[f32; N]>,
    number: usize,
    fixed: bool,
    splitter: &mut Splitter,
    corner_face: &[u32],
    remark: &mut impl FnMut(String),
) -> Result<Option<Set<N>>, Error>
where
    [f32; N]: sample::Mix + Default,
{
    let mesh = source.mesh;
    let mut set = Set { source: number, animated: false, extent: Extent::default() };
    let (mut first, mut values) = (sample::Values::default(), sample::Values::default());
    let (mut faces, mut points) = (sample::Faces::default(), Vec::new());
    let steady = fixed
        && sample::follow(&attribute.values, mesh).is_constant()
        && attribute.indices.as_ref().is_none_or(|i| sample::follow(i, mesh).is_constant());
    let frames = if steady { 1 } else { source.times.len() };
    for frame in 0..frames {
        let time = source.times[frame];
        let out = if frame == 0 { &mut first } else { &mut values };
        sample::attribute_at(attribute, mesh, time, out)?;
        if frame == 0 || !fixed {
            sample::faces_at(mesh, time, &mut faces)?;
            sample::positions_at(mesh, time, &mut points)?;
        }
        let elements =
            Elements { faces: faces.counts.len(), points: points.len(), corners: faces.indices.len() };
        let out = if frame == 0 { &first } else { &values };
        let expand = Expand::new(attribute.scope, &out.values, out.indices.as_deref());
        // Where there are no points, nothing could have a value.
        if let (true, Err(why)) = (elements.points > 0, expand.check(elements)) {
            remark(format!("{} left out: {why} (frame {frame})", attribute.name));
            return Ok(None);
        }
        let differs = frame > 0 && first != values;
        if frame == 0 || differs {
            set.animated |= differs;
            set.extent.extend(&out.values);
            if fixed && expand.splits() {
                splitter.refine(|c| split::all_bits(expand.at(c, corner_face[c as usize], 0)));
            }
        }
        if expand.bad() > 0 {
            remark(format!(
                "{} has {} bad indices (frame {frame}); zeros taken",
                attribute.name,
                expand.bad()
            ));
        }
    }
    Ok(Some(set))
}
