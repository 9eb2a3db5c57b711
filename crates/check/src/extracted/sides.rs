//! What is seen in one frame: of the `.reel` by its decoder, of the extracted file by its reader.

use crate::double;
use crate::error::error;
use crate::verify::attribute::{Sampled, ulp, velocities};
use crate::verify::survey::turn_normal;
use glam::{DMat4, DVec3};
use meshreel::record::Semantic;
use meshreel::{FrameDecoder, MeshView, Reel};
use meshreel_scene::sample::{self, World, largest_scale};
use meshreel_scene::{Attribute, Error, Mesh, Placed, Scene};

/// What hangs on a vertex or a corner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    /// By its place among those of its kind.
    Uv(usize),
    Colour(usize),
    Velocity,
    Width,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Normal => "normal",
            Kind::Uv(_) => "uv",
            Kind::Colour(_) => "colour",
            Kind::Velocity => "velocity",
            Kind::Width => "width",
        }
    }
}

/// Values by kind, in the world where they turn with it.
pub(super) type Values = Vec<(Kind, Vec<f64>)>;

/// Whose point it is, and its number there.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub owner: usize,
    pub number: u32,
}

/// Points in the world that something is made of.
#[derive(Default)]
pub(super) struct Side {
    pub points: Vec<[f64; 3]>,
    pub seen: Vec<Seen>,
    /// Of each point what hangs on it; of the extracted file those of corners are apart.
    pub values: Vec<Values>,
    /// By owner what float32 holds of its points.
    pub float: Vec<f64>,
}

/// By mesh its triangles at a level of detail; none for the mesh itself.
pub(super) fn ranks(reel: &Reel, level: usize) -> Result<Vec<Option<Vec<u32>>>, Error> {
    let one = |mesh: usize| {
        let last = reel.lods(mesh).map_err(error)? - 1;
        match level.min(last) {
            0 => Ok(None),
            level => Ok(reel.lod(mesh, level).map_err(error)?.map(|lod| lod.indices)),
        }
    };
    (0..reel.description().meshes.len()).map(one).collect()
}

/// What float32 holds of points of a node that are up to `size` from its origin along an axis: each transform
/// above it is rounded, too.
pub(super) fn float_limit(reel: &Reel, decoder: &FrameDecoder, node: usize, size: f64) -> f64 {
    let nodes = &reel.description().nodes;
    let own = double::affine(&decoder.world(node));
    let mut reach = size * largest_scale(&own);
    let mut depth = 0.0;
    for n in std::iter::successors(Some(node), |&n| nodes[n].parent.map(|p| p as usize)) {
        reach = reach.max(double::affine(&decoder.world(n)).w_axis.truncate().abs().max_element());
        depth += 1.0;
    }
    (4.0 + 4.0 * depth) * ulp(reach)
}

impl Side {
    /// All that is shown of a decoded frame.
    pub fn of_reel(reel: &Reel, decoder: &FrameDecoder, levels: &[Option<Vec<u32>>]) -> Result<Side, Error> {
        let nodes = &reel.description().nodes;
        let mut side = Side { float: vec![0.0; nodes.len()], ..Side::default() };
        for (n, node) in nodes.iter().enumerate() {
            let Some(mesh) = node.mesh.map(|m| m as usize).filter(|_| decoder.visible(n)) else { continue };
            let view = decoder.mesh(mesh);
            let mut positions = vec![0.0; 3 * view.vertex_count()];
            view.positions_into(&mut positions).map_err(error)?;
            let world = double::affine(&decoder.world(n));
            if is_nothing(&world) {
                continue;
            }
            let values = of_view(&view, &world)?;
            let mut used = vec![view.record().particles.is_some(); view.vertex_count()];
            let triangles = levels[mesh].as_deref().unwrap_or(view.indices());
            triangles.iter().for_each(|&v| used[v as usize] = true);
            let size = positions.iter().fold(0.0f32, |most, v| most.max(v.abs()));
            side.float[n] = float_limit(reel, decoder, n, f64::from(size));
            for v in (0..used.len()).filter(|v| used[*v]) {
                let p = DVec3::from_array([0, 1, 2].map(|k| f64::from(positions[3 * v + k])));
                side.points.push(world.transform_point3(p).to_array());
                side.seen.push(Seen { owner: n, number: v as u32 });
                side.values.push(values.iter().map(|(kind, all)| (*kind, all[v].clone())).collect());
            }
        }
        Ok(side)
    }
}

/// Whether a transform leaves nothing to be seen: a scale of zero is how a glTF hides a mesh.
fn is_nothing(world: &DMat4) -> bool {
    largest_scale(world) == 0.0
}

/// Values of one kind, by vertex.
type OfKind = (Kind, Vec<Vec<f64>>);

/// Values of all vertices of a decoded mesh, by kind. Normals that the source did not have do not count.
fn of_view(view: &MeshView<'_>, world: &DMat4) -> Result<Vec<OfKind>, Error> {
    let n = view.vertex_count();
    let mut out: Vec<OfKind> = Vec::new();
    let (mut uvs, mut colours) = (0, 0);
    for stream in &view.record().streams {
        let mut floats = vec![0.0f32; n * stream.semantic.components().max(3)];
        let (kind, width) = match stream.semantic {
            Semantic::Normal | Semantic::QTangent => {
                floats.truncate(3 * n);
                view.normals_into(&mut floats).map_err(error)?;
                (Kind::Normal, 3)
            }
            Semantic::Uv => {
                floats.truncate(2 * n);
                view.uvs_into(stream.set, &mut floats).map_err(error)?;
                uvs += 1;
                (Kind::Uv(uvs - 1), 2)
            }
            Semantic::Colour => {
                view.colours_into(stream.set, &mut floats).map_err(error)?;
                colours += 1;
                (Kind::Colour(colours - 1), 4)
            }
            Semantic::Velocity => {
                view.velocities_into(&mut floats).map_err(error)?;
                (Kind::Velocity, 3)
            }
            Semantic::Width => {
                floats.truncate(n);
                view.widths_into(&mut floats).map_err(error)?;
                (Kind::Width, 1)
            }
            _ => continue,
        };
        let all = floats.chunks(width).map(|v| in_world(kind, v, world));
        out.push((kind, all.collect()));
    }
    Ok(out)
}

/// A value as it is in the world.
fn in_world(kind: Kind, value: &[f32], world: &DMat4) -> Vec<f64> {
    let wide: Vec<f64> = value.iter().map(|v| f64::from(*v)).collect();
    match kind {
        Kind::Normal => {
            let turned = turn_normal(world, DVec3::from_slice(&wide));
            turned.map_or(wide, |n| n.normalize_or_zero().to_array().to_vec())
        }
        Kind::Velocity => world.transform_vector3(DVec3::from_slice(&wide)).to_array().to_vec(),
        _ => wide,
    }
}

/// All that is shown of the extracted file at a time.
pub(super) struct Extracted<'a> {
    pub side: Side,
    scene: &'a Scene,
    placed: &'a [Placed],
    quantized: bool,
    /// Values of corners, and where those of each point begin.
    corners: Vec<Values>,
    first: Vec<usize>,
}

impl<'a> Extracted<'a> {
    pub fn read(
        scene: &'a Scene,
        placed: &'a [Placed],
        world: &World<'_>,
        time: f64,
        factor: f64,
    ) -> Result<Extracted<'a>, Error> {
        let quantized =
            scene.metadata.iter().any(|(key, value)| key == "extensions" && value.contains("quantization"));
        let mut out = Extracted {
            side: Side::default(),
            scene,
            placed,
            quantized,
            corners: Vec::new(),
            first: vec![0],
        };
        let shown = |p: &usize| world.visible[*p] && !is_nothing(&world.matrix[*p]);
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
        let attributes = Attributes::read(mesh, time)?;
        let mut of_point: Vec<Vec<(u32, u32)>> = vec![Vec::new(); points.len()];
        let mut corner = 0u32;
        for (face, &count) in (0u32..).zip(&faces.counts) {
            for _ in 0..count.max(0) {
                let point = faces.indices.get(corner as usize).copied().unwrap_or(-1);
                if let Some(list) = usize::try_from(point).ok().and_then(|p| of_point.get_mut(p)) {
                    list.push((face, corner));
                }
                corner += 1;
            }
        }
        for (i, (point, corners)) in points.iter().zip(&of_point).enumerate() {
            // A point that no face uses is not seen.
            if corners.is_empty() && mesh.particles.is_none() {
                continue;
            }
            self.side.points.push(world.transform_point3(double::vector(*point)).to_array());
            self.side.seen.push(Seen { owner, number: i as u32 });
            let none = crate::verify::polygons::NONE;
            let single = [(none, none)];
            let list = if mesh.particles.is_some() { &single[..] } else { &corners[..] };
            let all = list.iter().map(|&(face, corner)| attributes.at(corner, face, i as u32, world));
            self.corners.extend(all);
            self.first.push(self.corners.len());
        }
        Ok(())
    }

    /// Values of the corners at a point.
    pub fn corners(&self, point: usize) -> &[Values] {
        &self.corners[self.first[point]..self.first[point + 1]]
    }

    /// Whether points of a placed mesh are only as near as the mesh's tolerance: where joints or nodes move what
    /// the `.reel` has as points, and in quantized files.
    pub fn is_loose(&self, owner: usize, moves: bool) -> bool {
        let mesh = self.scene.nodes[self.placed[owner].node].mesh.map(|m| &self.scene.meshes[m]);
        mesh.is_some_and(|mesh| {
            self.quantized || mesh.skin.is_some() || moves && mesh.positions.is_constant()
        })
    }
}

/// Everything that hangs on a mesh of the extracted file, at one time.
struct Attributes {
    normals: Option<Sampled<3>>,
    uvs: Vec<Sampled<2>>,
    colours: Vec<Sampled<4>>,
    velocities: Option<Sampled<3>>,
    widths: Option<Sampled<1>>,
}

impl Attributes {
    fn read(mesh: &Mesh, time: f64) -> Result<Attributes, Error> {
        fn one<const N: usize>(
            attribute: Option<&Attribute<[f32; N]>>,
            mesh: &Mesh,
            time: f64,
        ) -> Result<Option<Sampled<N>>, Error>
        where
            [f32; N]: sample::Mix,
        {
            attribute.map(|a| Sampled::read(a, mesh, time)).transpose()
        }
        let widths = mesh.particles.as_ref().and_then(|particles| particles.widths.as_ref());
        Ok(Attributes {
            normals: one(mesh.normals.as_ref(), mesh, time)?,
            uvs: mesh.uvs.iter().map(|a| Sampled::read(a, mesh, time)).collect::<Result<_, _>>()?,
            colours: mesh.colours.iter().map(|a| Sampled::read(a, mesh, time)).collect::<Result<_, _>>()?,
            velocities: one(velocities(mesh).as_ref(), mesh, time)?,
            widths: one(widths, mesh, time)?,
        })
    }

    fn at(&self, corner: u32, face: u32, point: u32, world: &DMat4) -> Values {
        let mut out = Values::new();
        let mut add = |kind: Kind, value: Option<&[f32]>| {
            out.extend(value.map(|value| (kind, in_world(kind, value, world))));
        };
        let normal = self.normals.as_ref().and_then(|a| a.at(corner, face, point));
        add(Kind::Normal, normal.as_ref().map(|v| &v[..]));
        for (i, uvs) in self.uvs.iter().enumerate() {
            add(Kind::Uv(i), uvs.at(corner, face, point).as_ref().map(|v| &v[..]));
        }
        for (i, colours) in self.colours.iter().enumerate() {
            add(Kind::Colour(i), colours.at(corner, face, point).as_ref().map(|v| &v[..]));
        }
        let velocity = self.velocities.as_ref().and_then(|a| a.at(corner, face, point));
        add(Kind::Velocity, velocity.as_ref().map(|v| &v[..]));
        let width = self.widths.as_ref().and_then(|a| a.at(corner, face, point));
        add(Kind::Width, width.as_ref().map(|v| &v[..]));
        out
    }
}
