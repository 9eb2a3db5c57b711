//! The visible content of one frame: of the `.reel` by its decoder, of the extracted file by its reader.

use super::faces::{OrientedFaces, orientation_under};
use crate::verify::attribute::{SampledAttribute, velocities};
use crate::verify::polygons::NO_INDEX;
use crate::verify::survey::turn_normal;
use glam::{DMat4, DVec3};
use meshreel::raw::record::Semantic;
use meshreel::{FrameDecoder, MeshView, Reel};
use meshreel_extract::convert;
use meshreel_extract::convert::error;
use meshreel_extract::convert::ulp;
use meshreel_scene::sample::{self, World, largest_scale};
use meshreel_scene::{Attribute, Error, Mesh, PlacedObject, Scene, TIME_TOLERANCE, Winding};

/// `true` for glTF, also as the proxy of vertex animation textures.
pub(super) fn is_gltf(scene: &Scene) -> bool {
    matches!(scene.format, "gltf" | "openvat")
}

/// The kind of an attribute value of a vertex or corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttributeKind {
    Normal,
    /// A set of uvs, by its index among those.
    Uv(usize),
    Colour(usize),
    Velocity,
    Width,
}

impl AttributeKind {
    pub fn name(self) -> &'static str {
        match self {
            AttributeKind::Normal => "normal",
            AttributeKind::Uv(_) => "uv",
            AttributeKind::Colour(_) => "colour",
            AttributeKind::Velocity => "velocity",
            AttributeKind::Width => "width",
        }
    }

    /// `true` if streams of that semantic contain this kind.
    pub fn is_of(self, semantic: Semantic) -> bool {
        match self {
            AttributeKind::Normal => matches!(semantic, Semantic::Normal | Semantic::QTangent),
            AttributeKind::Uv(_) => semantic == Semantic::Uv,
            AttributeKind::Colour(_) => semantic == Semantic::Colour,
            AttributeKind::Velocity => semantic == Semantic::Velocity,
            AttributeKind::Width => semantic == Semantic::Width,
        }
    }

    /// Returns the distance of two values: degrees for normals, the largest component for colours.
    pub fn distance(self, a: &[f64], b: &[f64]) -> f64 {
        match self {
            AttributeKind::Normal => {
                let [a, b] = [a, b].map(DVec3::from_slice);
                a.cross(b).length().atan2(a.dot(b)).to_degrees()
            }
            AttributeKind::Colour(_) => a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max),
            _ => a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
        }
    }
}

/// Attribute values by kind, in world space if transforms change them.
pub(super) type PointValues = Vec<(AttributeKind, Vec<f64>)>;

/// The owner of a point, and the point's number there.
#[derive(Clone, Copy)]
pub(super) struct PointOwner {
    pub owner: usize,
    pub number: u32,
    /// The point belongs to a face with area; either side may leave out other faces.
    pub in_area: bool,
    /// Length of the shortest edge of a triangle at the point; infinite on the extracted side, and for
    /// particles.
    pub edge: f64,
}

/// The parts of a decoded frame that a kind of file holds.
#[derive(Clone, Copy)]
pub(super) struct FormatContents<'a> {
    /// Points that are of no face: only archives.
    pub particles: bool,
    /// Meshes that a transform flattens to a point: .obj files have them as points in one place.
    pub flattened: bool,
    /// By mesh of the `.reel` whether its normals are others there: textures have smooth ones where the
    /// source has none. Empty if no normals are.
    pub other_normals: &'a [bool],
}

/// Points in the world, with the faces between them.
#[derive(Default)]
pub(super) struct FrameGeometry {
    pub points: Vec<[f64; 3]>,
    pub owners: Vec<PointOwner>,
    /// Attribute values of each point; in the extracted file, values of corners are kept apart.
    pub values: Vec<PointValues>,
    /// For each owner, the rounding error of its points in f32.
    pub float_errors: Vec<f64>,
    pub faces: OrientedFaces,
    /// For each owner, the largest angle, in degrees, by which its transform turns a normal that was rounded
    /// to f32.
    pub normal_turns: Vec<f64>,
    /// For each owner, the kinds of its values that change.
    pub changing: Vec<Vec<AttributeKind>>,
}

/// Returns the triangles of each mesh at an LOD level; `None` for the mesh itself.
pub(super) fn lod_triangles(reel: &Reel, level: usize) -> Result<Vec<Option<Vec<u32>>>, Error> {
    let one = |mesh: usize| {
        let last = reel.lod_count(mesh).map_err(error)? - 1;
        match level.min(last) {
            0 => Ok(None),
            level => Ok(reel.lod(mesh, level).map_err(error)?.map(|lod| lod.indices)),
        }
    };
    (0..reel.description().meshes.len()).map(one).collect()
}

/// Returns the error that f32 causes in points of a node which are up to `size` from its origin along an
/// axis. Coordinates are rounded, and so is the transform of each node above: by its distance, which nodes
/// above that scale.
pub(super) fn float_limit(reel: &Reel, decoder: &FrameDecoder, node: usize, size: f64) -> f64 {
    let nodes = &reel.description().nodes;
    let world = |n: usize| convert::affine(&decoder.world(n));
    let mut reach = size;
    let mut limit = 4.0 * ulp(size) * largest_scale(&world(node));
    for n in std::iter::successors(Some(node), |&n| nodes[n].parent.map(|p| p as usize)) {
        let own = convert::qvv(&decoder.transform(n));
        reach = reach * own.scale.abs().max_element() + own.translation.abs().max_element();
        let above = nodes[n].parent.map_or(1.0, |p| largest_scale(&world(p as usize)));
        limit += 4.0 * ulp(reach) * above;
    }
    // Conversion to the format's unit, and rounding of coordinates in the world.
    limit + 4.0 * ulp(reach)
}

impl FrameGeometry {
    /// Reads the visible content of a decoded frame, as far as the kind of file holds it.
    pub fn from_reel(
        reel: &Reel,
        decoder: &FrameDecoder,
        levels: &[Option<Vec<u32>>],
        holds: FormatContents<'_>,
    ) -> Result<FrameGeometry, Error> {
        let nodes = &reel.description().nodes;
        let count = nodes.len();
        let mut side = FrameGeometry {
            float_errors: vec![0.0; count],
            normal_turns: vec![0.0; count],
            changing: vec![Vec::new(); count],
            ..FrameGeometry::default()
        };
        for (n, node) in nodes.iter().enumerate() {
            let Some(mesh) = node.mesh.map(|m| m as usize).filter(|_| decoder.visible(n)) else { continue };
            let view = decoder.mesh(mesh);
            let mut positions = vec![0.0; 3 * view.vertex_count()];
            view.positions_into(&mut positions).map_err(error)?;
            let world = convert::affine(&decoder.world(n));
            let particle = view.record().particles.is_some();
            if collapses_all(&world) && !holds.flattened || particle && !holds.particles {
                continue;
            }
            let (mut values, changing) = view_values(&view, &world)?;
            if holds.other_normals.get(mesh) == Some(&true) {
                values.retain(|(kind, _)| *kind != AttributeKind::Normal);
            }
            side.changing[n] = changing;
            let mut used = vec![view.record().particles.is_some(); view.vertex_count()];
            let triangles = levels[mesh].as_deref().unwrap_or(view.indices());
            triangles.iter().for_each(|&v| used[v as usize] = true);
            let size = positions.iter().fold(0.0f32, |most, v| most.max(v.abs()));
            // A transform of uneven scale turns normals by as much more.
            let uneven = largest_scale(&world) * largest_scale(&world.inverse());
            side.normal_turns[n] = (8.0 * ulp(1.0) * uneven).to_degrees();
            side.float_errors[n] = float_limit(reel, decoder, n, f64::from(size));
            let mut place = vec![0u32; used.len()];
            for v in (0..used.len()).filter(|v| used[*v]) {
                place[v] = side.points.len() as u32;
                let p = DVec3::from_array([0, 1, 2].map(|k| f64::from(positions[3 * v + k])));
                side.points.push(world.transform_point3(p).to_array());
                side.owners.push(PointOwner {
                    owner: n,
                    number: v as u32,
                    in_area: particle,
                    edge: f64::INFINITY,
                });
                let own = values.iter().filter_map(|(kind, all)| Some((*kind, all[v].clone()?)));
                side.values.push(own.collect());
            }
            let turn = orientation_under(&world);
            for corners in triangles.as_chunks::<3>().0 {
                let corners = corners.map(|v| place[v as usize]);
                let at = corners.map(|c| DVec3::from_array(side.points[c as usize]));
                let edges = [0, 1, 2].map(|k| at[k].distance(at[(k + 1) % 3]));
                let shortest = edges.into_iter().fold(f64::INFINITY, f64::min);
                for seen in corners.map(|c| c as usize) {
                    let seen = &mut side.owners[seen];
                    seen.in_area |= shortest > 0.0;
                    seen.edge = seen.edge.min(shortest);
                }
                side.faces.add(n, turn, corners);
            }
        }
        Ok(side)
    }
}

/// `true` if a face has three different points.
fn has_area(points: &[i32]) -> bool {
    let Some((first, others)) = points.split_first() else { return false };
    let second = others.iter().find(|point| *point != first);
    second.is_some_and(|second| others.iter().any(|point| point != first && point != second))
}

/// `true` if a transform collapses everything: a glTF hides a mesh by a scale of zero.
fn collapses_all(world: &DMat4) -> bool {
    largest_scale(world) == 0.0
}

/// Values of one kind, by vertex; `None` where a transform collapses the value.
type ValuesOfKind = (AttributeKind, Vec<Option<Vec<f64>>>);

/// Returns the values of all vertices of a decoded mesh, by kind, and the kinds that change.
fn view_values(view: &MeshView<'_>, world: &DMat4) -> Result<(Vec<ValuesOfKind>, Vec<AttributeKind>), Error> {
    let n = view.vertex_count();
    let (mut out, mut changing): (Vec<ValuesOfKind>, Vec<AttributeKind>) = (Vec::new(), Vec::new());
    let (mut uvs, mut colours) = (0, 0);
    for stream in &view.record().streams {
        let mut floats = vec![0.0f32; n * stream.semantic.components().max(3)];
        let (kind, width) = match stream.semantic {
            Semantic::Normal | Semantic::QTangent => {
                floats.truncate(3 * n);
                view.normals_into(&mut floats).map_err(error)?;
                (AttributeKind::Normal, 3)
            }
            Semantic::Uv => {
                floats.truncate(2 * n);
                view.uvs_into(stream.set, &mut floats).map_err(error)?;
                uvs += 1;
                (AttributeKind::Uv(uvs - 1), 2)
            }
            Semantic::Colour => {
                view.colours_into(stream.set, &mut floats).map_err(error)?;
                colours += 1;
                (AttributeKind::Colour(colours - 1), 4)
            }
            Semantic::Velocity => {
                view.velocities_into(&mut floats).map_err(error)?;
                (AttributeKind::Velocity, 3)
            }
            Semantic::Width => {
                floats.truncate(n);
                view.widths_into(&mut floats).map_err(error)?;
                (AttributeKind::Width, 1)
            }
            _ => continue,
        };
        let all = floats.chunks(width).map(|v| in_world(kind, v, world));
        out.push((kind, all.collect()));
        if stream.animated || view.record().method.changes() {
            changing.push(kind);
        }
    }
    Ok((out, changing))
}

/// Transforms a value to the world. `None` for a normal that the transform collapses: its direction is
/// undefined.
fn in_world(kind: AttributeKind, value: &[f32], world: &DMat4) -> Option<Vec<f64>> {
    let wide: Vec<f64> = value.iter().map(|v| f64::from(*v)).collect();
    match kind {
        AttributeKind::Normal => {
            Some(turn_normal(world, DVec3::from_slice(&wide))?.normalize().to_array().to_vec())
        }
        AttributeKind::Velocity => {
            Some(world.transform_vector3(DVec3::from_slice(&wide)).to_array().to_vec())
        }
        _ => Some(wide),
    }
}

/// The visible content of the extracted file at a time.
pub(super) struct ExtractedFrame<'a> {
    pub side: FrameGeometry,
    scene: &'a Scene,
    placed: &'a [PlacedObject],
    /// For each mesh, whether points are only within the tolerance where those of the `.reel` move, and
    /// everywhere.
    loose: &'a [[bool; 2]],
    /// The largest size of a face that may be hidden: textures have vertices of hidden meshes in one point.
    hidden_size: Option<f64>,
    /// For each placed object, whether its mesh has values of an earlier time: a glTF has those of its first
    /// frame.
    earlier: Vec<bool>,
    /// For each placed object, the f32 error that results from points stored as differences from the first
    /// frame (glTF).
    base_errors: Vec<f64>,
    /// Values of corners, grouped by point; `first` has the start of each group.
    corners: Vec<PointValues>,
    first: Vec<usize>,
}

impl<'a> ExtractedFrame<'a> {
    pub fn read(
        scene: &'a Scene,
        placed: &'a [PlacedObject],
        world: &World<'_>,
        loose: &'a [[bool; 2]],
        (time, factor): (f64, f64),
        hidden_size: Option<f64>,
    ) -> Result<ExtractedFrame<'a>, Error> {
        let mut out = ExtractedFrame {
            side: FrameGeometry::default(),
            scene,
            placed,
            loose,
            hidden_size,
            earlier: vec![false; placed.len()],
            base_errors: vec![0.0; placed.len()],
            corners: Vec::new(),
            first: vec![0],
        };
        let shown = |p: &usize| world.visible[*p] && !collapses_all(&world.matrix[*p]);
        for (p, object) in placed.iter().enumerate().filter(|(p, _)| shown(p)) {
            if let Some(mesh) = scene.nodes[object.node].mesh {
                let scale = DMat4::from_scale(DVec3::splat(factor));
                out.mesh(p, &scene.meshes[mesh], &(scale * world.matrix[p]), time)?;
            }
        }
        Ok(out)
    }

    fn mesh(&mut self, owner: usize, mesh: &Mesh, world: &DMat4, time: f64) -> Result<(), Error> {
        let (mut points, mut faces) = (Vec::new(), sample::Faces::default());
        sample::positions_at(mesh, time, &mut points)?;
        sample::faces_at(mesh, time, &mut faces)?;
        // A glTF hides a mesh on joints by a scale of zero above them.
        let is_nothing = mesh.skin.is_some() && points.windows(2).all(|pair| pair[0] == pair[1]);
        let attributes = SampledAttributes::read(mesh, time)?;
        if is_gltf(self.scene) && !mesh.positions.is_empty() {
            self.earlier[owner] = time > mesh.positions.time(0) + TIME_TOLERANCE;
            let mut first = Vec::new();
            if mesh.positions.len() > 1 {
                mesh.positions.read(0, &mut first)?;
            }
            let size = first.iter().flatten().fold(0.0f32, |most, v| most.max(v.abs()));
            self.base_errors[owner] = 2.0 * ulp(f64::from(size)) * largest_scale(world);
        }
        let mut of_point: Vec<Vec<(u32, u32)>> = vec![Vec::new(); points.len()];
        let mut in_area = vec![mesh.particles.is_some(); points.len()];
        let mut corner = 0u32;
        for (face, &count) in (0u32..).zip(&faces.counts) {
            let count = count.max(0) as u32;
            let corners = corner..corner.saturating_add(count);
            corner = corners.end;
            let own = faces.indices.get(corners.start as usize..corners.end as usize).unwrap_or(&[]);
            if own.len() < 3 {
                continue;
            }
            let of_area = has_area(own) && !is_nothing && !self.may_be_hidden(&points, own, world);
            for (corner, point) in corners.zip(own) {
                let used = usize::try_from(*point).ok().and_then(|p| in_area.get_mut(p));
                used.into_iter().for_each(|used| *used |= of_area);
                if let Some(list) = usize::try_from(*point).ok().and_then(|p| of_point.get_mut(p)) {
                    list.push((face, corner));
                }
            }
        }
        let mut place = vec![0u32; points.len()];
        for (i, (point, corners)) in points.iter().zip(&of_point).enumerate() {
            place[i] = self.side.points.len() as u32;
            // A point that no face uses is not seen.
            if corners.is_empty() && mesh.particles.is_none() {
                continue;
            }
            self.side.points.push(world.transform_point3(convert::vector(*point)).to_array());
            let (number, edge) = (i as u32, f64::INFINITY);
            self.side.owners.push(PointOwner { owner, number, in_area: in_area[i], edge });
            let single = [(NO_INDEX, NO_INDEX)];
            let list = if mesh.particles.is_some() { &single[..] } else { &corners[..] };
            let all =
                list.iter().map(|&(face, corner)| attributes.corner_values(corner, face, number, world));
            self.corners.extend(all);
            self.first.push(self.corners.len());
        }
        let turn = match mesh.winding {
            // Textures do not turn faces of what a transform mirrors in later frames.
            _ if self.hidden_size.is_some() && self.earlier[owner] => 0,
            Winding::CounterClockwise => orientation_under(world),
            Winding::Clockwise => -orientation_under(world),
        };
        let mut rest = &faces.indices[..];
        for &count in faces.counts.iter().filter(|_| !is_nothing) {
            let (own, others) = rest.split_at(rest.len().min(count.max(0) as usize));
            rest = others;
            if own.len() < 3 {
                continue;
            }
            let corners: Option<Vec<u32>> =
                own.iter().map(|&i| usize::try_from(i).ok().and_then(|i| place.get(i).copied())).collect();
            if let Some(corners) = corners {
                self.side.faces.add(owner, turn, corners);
                if self.may_be_hidden(&points, own, world) {
                    self.side.faces.set_last_hidden();
                }
            }
        }
        Ok(())
    }

    /// `true` if a face is so small that its mesh may be hidden.
    fn may_be_hidden(&self, points: &[[f32; 3]], face: &[i32], world: &DMat4) -> bool {
        let Some(size) = self.hidden_size else { return false };
        let place = |i: &i32| {
            let point = usize::try_from(*i).ok().and_then(|i| points.get(i));
            point.map(|point| world.transform_point3(convert::vector(*point)))
        };
        let first = face.first().and_then(place);
        first.is_some_and(|first| {
            let size = size + 8.0 * ulp(first.abs().max_element());
            face.iter().all(|i| place(i).is_none_or(|point| point.distance(first) <= size))
        })
    }

    /// Returns the values of the corners at a point.
    pub fn corners(&self, point: usize) -> &[PointValues] {
        &self.corners[self.first[point]..self.first[point + 1]]
    }

    /// Returns the error of a point of a placed mesh that results from the first frame.
    pub fn base_error(&self, owner: usize) -> f64 {
        self.base_errors[owner]
    }

    /// `true` if such a value of a placed mesh may be of an earlier time, if it changes.
    pub fn is_earlier(&self, owner: usize, kind: AttributeKind) -> bool {
        self.earlier[owner] && matches!(kind, AttributeKind::Uv(_) | AttributeKind::Colour(_))
    }

    /// `true` if points of a placed mesh are only within the mesh's tolerance. `moves`: those of the `.reel`
    /// move.
    pub fn is_loose(&self, owner: usize, moves: bool) -> bool {
        let mesh = self.scene.nodes[self.placed[owner].node].mesh;
        mesh.is_some_and(|mesh| self.loose[mesh][usize::from(!moves)])
    }
}

/// Returns, for each mesh, whether points are only within the tolerance: where joints or nodes move points
/// that the `.reel` stores as moving points, and everywhere in quantized files.
pub(super) fn loose_meshes(scene: &Scene) -> Vec<[bool; 2]> {
    let quantized =
        scene.metadata.iter().any(|(key, value)| key == "extensions" && value.contains("quantization"));
    let of_mesh = |mesh: &Mesh| {
        let always = quantized || mesh.skin.is_some();
        [always || mesh.positions.is_constant(), always]
    };
    scene.meshes.iter().map(of_mesh).collect()
}

/// All attributes of a mesh of the extracted file, at one time.
struct SampledAttributes {
    /// The mesh is moved by joints.
    on_joints: bool,
    normals: Option<SampledAttribute<3>>,
    uvs: Vec<SampledAttribute<2>>,
    colours: Vec<SampledAttribute<4>>,
    velocities: Option<SampledAttribute<3>>,
    widths: Option<SampledAttribute<1>>,
}

impl SampledAttributes {
    fn read(mesh: &Mesh, time: f64) -> Result<SampledAttributes, Error> {
        fn one<const N: usize>(
            attribute: Option<&Attribute<[f32; N]>>,
            mesh: &Mesh,
            time: f64,
        ) -> Result<Option<SampledAttribute<N>>, Error>
        where
            [f32; N]: sample::Lerp,
        {
            attribute.map(|a| SampledAttribute::read(a, mesh, time)).transpose()
        }
        let widths = mesh.particles.as_ref().and_then(|particles| particles.widths.as_ref());
        Ok(SampledAttributes {
            on_joints: mesh.skin.is_some(),
            normals: one(mesh.normals.as_ref(), mesh, time)?,
            uvs: mesh.uvs.iter().map(|a| SampledAttribute::read(a, mesh, time)).collect::<Result<_, _>>()?,
            colours: mesh
                .colours
                .iter()
                .map(|a| SampledAttribute::read(a, mesh, time))
                .collect::<Result<_, _>>()?,
            velocities: one(velocities(mesh).as_ref(), mesh, time)?,
            widths: one(widths, mesh, time)?,
        })
    }

    fn corner_values(&self, corner: u32, face: u32, point: u32, world: &DMat4) -> PointValues {
        let mut out = PointValues::new();
        let mut add = |kind: AttributeKind, value: Option<&[f32]>| {
            out.extend(value.and_then(|value| Some((kind, in_world(kind, value, world)?))));
        };
        // Joints turn normals in their own way, whatever the faces do.
        let normals = self.normals.as_ref().filter(|_| !self.on_joints);
        let normal = normals.and_then(|a| a.value(corner, face, point));
        add(AttributeKind::Normal, normal.as_ref().map(|v| &v[..]));
        for (i, uvs) in self.uvs.iter().enumerate() {
            add(AttributeKind::Uv(i), uvs.value(corner, face, point).as_ref().map(|v| &v[..]));
        }
        for (i, colours) in self.colours.iter().enumerate() {
            add(AttributeKind::Colour(i), colours.value(corner, face, point).as_ref().map(|v| &v[..]));
        }
        let velocity = self.velocities.as_ref().and_then(|a| a.value(corner, face, point));
        add(AttributeKind::Velocity, velocity.as_ref().map(|v| &v[..]));
        let width = self.widths.as_ref().and_then(|a| a.value(corner, face, point));
        add(AttributeKind::Width, width.as_ref().map(|v| &v[..]));
        out
    }
}
