//! Nodes, meshes and their channels.

use super::faces::{self, ExtractedFaces, FaceForm};
use super::frames::{DecodedFrames, VertexStream};
use super::objects::{self, Object, RecordTransform};
use super::shared::{BoneForm, Extraction};
use super::{cameras, clip, part_attributes, parts, rig, skin};
use crate::convert;
use crate::convert::error;
use meshreel::Reel;
use meshreel::raw::record;
use meshreel::raw::record::{MeshRecord, Method, Semantic, Visibility};
use meshreel::view::LodTriangles;
use meshreel_scene::{
    Attribute, Channel, Counts, CurveBasis, CurveEnds, Curves, CustomAttribute, Error, FaceSet, Identity,
    LocalTransform, Mesh, NamedRange, Node, NodeKind, Particles, Remark, Scene, Scope, Source,
    TIME_TOLERANCE, TimeSampling, Topology, Transform, Winding,
};
use std::sync::Arc;

/// Converts a file to a scene, with meshes as points. Reads static data and source maps at once, and frames
/// on demand.
pub fn to_scene(reel: &Reel) -> Result<Scene, Error> {
    Ok(to_scene_with_bones(reel, BoneForm::Points)?.0)
}

/// Converts a file to a scene. Meshes moved by bones have the form `bones`; those that cannot have it get a
/// remark. Skins have joints of their own.
pub fn to_scene_with_bones(reel: &Reel, bones: BoneForm) -> Result<(Scene, Vec<Remark>), Error> {
    to_scene_at_lod(reel, bones, 0)
}

/// Converts a file to a scene at LOD level `lod` (0: the meshes themselves): the level's triangles, and the
/// vertices that they use. A mesh with fewer levels has its last.
pub fn to_scene_at_lod(reel: &Reel, bones: BoneForm, lod: usize) -> Result<(Scene, Vec<Remark>), Error> {
    to_scene_with_faces(reel, bones, lod, FaceForm::Source)
}

/// As [`to_scene_at_lod`], with faces in the form `faces`.
pub fn to_scene_with_faces(
    reel: &Reel,
    bones: BoneForm,
    lod: usize,
    faces: FaceForm,
) -> Result<(Scene, Vec<Remark>), Error> {
    let shared = Extraction {
        bones,
        faces,
        lod,
        rigs: match bones {
            BoneForm::Auto | BoneForm::Rigs | BoneForm::Skins => rig::extracted_rigs(reel, bones)?,
            BoneForm::Points | BoneForm::Parts => Vec::new(),
        },
        frames: Arc::new(DecodedFrames::new(reel, faces)?),
        times: Arc::new(sampling(reel)),
        constant: Arc::new(TimeSampling::Uniform { start: 0.0, step: 1.0 }),
    };
    let (skeletons, clips) = clip::clips(reel).map_err(error)?;
    let description = reel.description();
    let mut meshes: Vec<Mesh> =
        (0..description.meshes.len()).map(|m| shared.mesh(m)).collect::<Result<_, _>>()?;
    part_attributes::fill(&shared, &mut meshes)?;
    let objects = objects::rebuild(&description.nodes);
    let mut nodes: Vec<Node> = (0..objects.len()).map(|i| shared.node(&objects, i)).collect();
    cameras::add(&shared, &objects, &mut nodes)?;
    let count = |kind: NodeKind| nodes.iter().filter(|n| n.kind == kind).count();
    let shown = nodes.iter().filter_map(|n| n.mesh);
    let mut scene = Scene {
        counts: Counts {
            xforms: count(NodeKind::Xform),
            meshes: count(NodeKind::PolyMesh),
            points: count(NodeKind::Points),
            curves: count(NodeKind::Curves),
            cameras: count(NodeKind::Camera),
            facesets: shown.map(|m| meshes[m].face_sets.len()).sum(),
            ..Counts::default()
        },
        unit: convert::unit(reel),
        fps: (description.fps > 0.0).then_some(description.fps),
        metadata: vec![("generator".into(), description.generator.clone())],
        ranges: (reel.ranges().iter())
            .map(|range| NamedRange {
                name: range.name.clone(),
                start: reel.time(range.first as usize),
                end: reel.time(range.last_frame() as usize),
            })
            .collect(),
        format: "reel",
        files: vec![reel.path().to_path_buf()],
        nodes,
        meshes,
        skeletons,
        clips,
    };
    let mut remarks = Vec::new();
    for (m, record) in description.meshes.iter().enumerate() {
        if faces == FaceForm::Source && record.method == Method::Fluid && !shared.frames.has_runs(m) {
            let what = "its faces change, and the file has no map of that (it was compiled with --short-source-map, --strip or --preset classic): it comes back in triangles";
            remarks.push(Remark::new(&record.path, what));
        }
    }
    for own in shared.rigs.iter().filter(|own| !own.shows_frames) {
        let what = "its clips show other frames than the file's, so it comes as points; --as skins leaves it to its clips";
        remarks.push(Remark::new(&description.meshes[own.rig.mesh()].path, what));
    }
    if bones == BoneForm::Parts {
        let orders = (0..scene.meshes.len()).map(|m| shared.point_vertices(m));
        let orders: Vec<_> = orders.collect::<Result<_, _>>()?;
        remarks.extend(parts::take_apart(&shared, &mut scene, &orders)?);
    }
    Ok((scene, remarks))
}

/// Returns the times of the frames, as a uniform sampling if they are.
fn sampling(reel: &Reel) -> TimeSampling {
    let times: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
    let fps = reel.description().fps;
    let Some((&start, &end)) = times.first().zip(times.last()) else {
        return TimeSampling::Uniform { start: 0.0, step: 1.0 };
    };
    let step = match times.len() {
        1 if fps > 0.0 => 1.0 / fps,
        1 => 1.0,
        n => (end - start) / (n - 1) as f64,
    };
    // Well below the limit at which times count as equal, so that no time compared later misses its frame.
    let near = |(i, time): (usize, &f64)| (start + i as f64 * step - time).abs() < 0.01 * TIME_TOLERANCE;
    if times.iter().enumerate().all(near) {
        TimeSampling::Uniform { start, step }
    } else {
        TimeSampling::Acyclic { times }
    }
}

impl Extraction {
    pub fn channel<T, S>(&self, changes: bool, source: S) -> Channel<T>
    where
        T: Clone + Send + Sync + 'static,
        S: Source<T> + 'static,
    {
        let sampling = if changes { &self.times } else { &self.constant };
        Channel::new(sampling.clone(), Arc::new(source))
    }

    /// Returns the number of samples: one per frame if something changes, but one even if there is no frame.
    pub fn samples(&self, changes: bool) -> usize {
        if changes { self.frames.reel().frame_count().max(1) } else { 1 }
    }

    fn node(&self, objects: &[Object], i: usize) -> Node {
        let object = &objects[i];
        let records = &self.frames.reel().description().nodes;
        let mut samples = 1;
        let transform = object.transform.map(|carried| {
            let source = NodeTransforms::new(self, carried);
            samples = source.len;
            Transform { local: self.channel(source.len > 1, source), inherits: None }
        });
        // A hidden mesh would hide the objects below it, so those get a visibility of their own.
        let may_be_hidden = |mesh: usize| records[mesh].visibility != Visibility::Always;
        let above = std::iter::successors(object.parent, |&p| objects[p].parent);
        let below_hidden = above.filter_map(|p| objects[p].mesh).any(may_be_hidden);
        let visibility =
            (object.mesh.or(object.locator)).and_then(|record| match records[record].visibility {
                Visibility::Always => below_hidden.then(|| Channel::constant(vec![1])),
                Visibility::Never => Some(Channel::constant(vec![0])),
                Visibility::Animated => {
                    Some(self.channel(true, NodeVisibility { frames: self.frames.clone(), record }))
                }
            });
        let mesh = object.mesh.and_then(|record| records[record].mesh);
        if let Some(mesh) = mesh {
            let record = &self.frames.reel().description().meshes[mesh as usize];
            samples = samples.max(self.samples(is_animated(record)));
        }
        Node {
            name: object.name.clone(),
            path: object.path.clone(),
            parent: object.parent,
            kind: self.kind(mesh),
            transform,
            visibility,
            mesh: mesh.map(|m| m as usize),
            instance_of: None,
            samples,
            camera: None,
            user_properties: Vec::new(),
        }
    }

    /// Returns the kind of a node that shows such a mesh.
    fn kind(&self, mesh: Option<u32>) -> NodeKind {
        let records = &self.frames.reel().description().meshes;
        match mesh.map(|mesh| records[mesh as usize].particles) {
            None => NodeKind::Xform,
            Some(None) => NodeKind::PolyMesh,
            Some(Some(particles)) if particles.curves.is_some() => NodeKind::Curves,
            Some(Some(_)) => NodeKind::Points,
        }
    }

    fn mesh(&self, mesh: usize) -> Result<Mesh, Error> {
        let record = &self.frames.reel().description().meshes[mesh];
        match record.method {
            Method::Fluid => self.fluid_mesh(mesh),
            _ if record.particles.is_some() => Ok(self.particles(mesh)),
            _ => self.fixed_mesh(mesh),
        }
    }

    /// Converts points without faces: particles, or the points of curves.
    fn particles(&self, mesh: usize) -> Mesh {
        let record = &self.frames.reel().description().meshes[mesh];
        let own = record.particles.unwrap_or_default();
        let attributes = MeshAttributes { shared: self, mesh, point_vertices: None, corners: None };
        let source = || ParticlePoints { frames: self.frames.clone(), mesh };
        let particles = Particles {
            ids: own.ids.then(|| self.channel::<u64, _>(true, source())),
            widths: attributes.matching_attributes(|v| v == VertexStream::Widths).into_iter().next(),
            curves: own.curves.map(|curves| Curves {
                counts: self.channel::<i32, _>(true, source()),
                basis: match curves.basis {
                    record::CurveBasis::Linear => CurveBasis::Linear,
                    record::CurveBasis::Bezier => CurveBasis::Bezier,
                    record::CurveBasis::BSpline => CurveBasis::BSpline,
                    record::CurveBasis::CatmullRom => CurveBasis::CatmullRom,
                },
                curve_ends: match curves.curve_ends {
                    record::CurveEnds::Open => CurveEnds::Open,
                    record::CurveEnds::Closed => CurveEnds::Closed,
                    record::CurveEnds::Pinned => CurveEnds::Pinned,
                },
            }),
        };
        let custom =
            VertexStream::streams_of_record(record).into_iter().filter_map(|(stream, values)| match values {
                VertexStream::Custom { components, .. } => {
                    let values = match components {
                        1 => widened(attributes.channel::<1>(values, true, None)),
                        2 => widened(attributes.channel::<2>(values, true, None)),
                        3 => widened(attributes.channel::<3>(values, true, None)),
                        _ => attributes.channel::<4>(values, true, None),
                    };
                    let name = record.streams[stream].name.clone();
                    let attribute = Attribute { name, scope: Scope::Vertex, values, indices: None };
                    Some(CustomAttribute { components, attribute })
                }
                _ => None,
            });
        let positions = attributes.channel(VertexStream::Positions, true, None);
        Mesh {
            uvs: attributes.uvs(),
            colours: attributes.colours(),
            velocities: attributes.velocities(),
            custom_attributes: custom.collect(),
            ..Mesh::from_particles(&record.path, positions, particles)
        }
    }

    /// Returns the triangles of a mesh at an LOD level; `None` at level 0.
    fn lod_triangles(&self, mesh: usize) -> Result<Option<LodTriangles>, Error> {
        let reel = self.frames.reel();
        let last = reel.lod_count(mesh).map_err(error)? - 1;
        match self.lod.min(last) {
            0 => Ok(None),
            level => reel.lod(mesh, level).map_err(error),
        }
    }

    /// Returns the vertex of each point of a mesh of fixed topology, if the file has its source map or an LOD
    /// level is extracted.
    pub fn point_vertices(&self, mesh: usize) -> Result<Option<Arc<Vec<u32>>>, Error> {
        let reel = self.frames.reel();
        let record = &reel.description().meshes[mesh];
        if record.method.changes() {
            return Ok(None);
        }
        if let Some(level) = self.lod_triangles(mesh)? {
            let mut used = level.indices;
            used.sort_unstable();
            used.dedup();
            return Ok(Some(Arc::new(used)));
        }
        let map = reel.source_map(mesh).map_err(error)?;
        Ok(map.map(|map| Arc::new(faces::point_vertices(record, &map))))
    }

    fn fixed_mesh(&self, mesh: usize) -> Result<Mesh, Error> {
        let reel = self.frames.reel();
        let record = &reel.description().meshes[mesh];
        let level = self.lod_triangles(mesh)?;
        let (indices, ranges, map): (_, Vec<(u32, u32)>, _) = match &level {
            Some(level) => {
                let ranges = level.materials.iter().map(|r| (r.first, r.count));
                (level.indices.clone(), ranges.collect(), None)
            }
            None => (
                reel.indices(mesh).map_err(error)?,
                record.materials.iter().map(|m| (m.first, m.count)).collect(),
                reel.source_map(mesh).map_err(error)?,
            ),
        };
        let faces = match &map {
            Some(map) if self.faces == FaceForm::Source => faces::rebuild(&indices, &ranges, map),
            _ => faces::triangles(&indices, &ranges),
        };
        // Vertex of each point, and point of each vertex; without a map the identity, and `order` is `None`.
        let order = self.point_vertices(mesh)?;
        let point = |vertex: u32| match (&level, &order, &map) {
            (Some(_), Some(used), _) => used.partition_point(|&v| v < vertex) as u32,
            (_, _, Some(map)) => map.vertex_point[vertex as usize],
            _ => vertex,
        };
        let alone = |o: &Arc<Vec<u32>>| (0..record.vertices).all(|v| o[point(v) as usize] == v);
        let split = level.is_none() && order.as_ref().is_some_and(|o| !alone(o));
        let corners: Vec<i32> = faces.vertices.iter().map(|&v| point(v) as i32).collect();
        let face_sets = face_sets(record, &faces);
        let skin = skin::skin(self, mesh, order.as_deref().map(Vec::as_slice));
        let corner_vertices = split.then(|| Channel::constant(faces.vertices.clone()));
        let attributes = MeshAttributes {
            shared: self,
            mesh,
            // If corners of one point differ, values stay in vertex order, and the corners index them.
            point_vertices: if split { None } else { order.clone() },
            corners: corner_vertices,
        };
        let animated = record.streams.first().is_some_and(|s| s.animated);
        Ok(Mesh {
            path: record.path.clone(),
            positions: attributes.channel(VertexStream::Positions, animated, order),
            face_counts: Channel::constant(faces.counts),
            face_indices: Channel::constant(corners),
            winding: Winding::CounterClockwise,
            topology: if animated { Topology::Homogeneous } else { Topology::Constant },
            normals: attributes.normals()?,
            uvs: attributes.uvs(),
            colours: attributes.colours(),
            velocities: None,
            face_sets,
            other_attributes: Vec::new(),
            is_subd: false,
            integers: Vec::new(),
            custom_attributes: Vec::new(),
            names: Vec::new(),
            skin,
            particles: None,
        })
    }

    fn fluid_mesh(&self, mesh: usize) -> Result<Mesh, Error> {
        let record = &self.frames.reel().description().meshes[mesh];
        let corners = self.frames.splits(mesh).then(|| {
            let frames = self.frames.clone();
            self.channel(true, CornerVertices { frames, mesh })
        });
        let attributes = MeshAttributes { shared: self, mesh, point_vertices: None, corners };
        let shape = |part| {
            let frames = self.frames.clone();
            self.channel(true, FluidFaceList { frames, mesh, part })
        };
        let named = record.materials.iter().enumerate().filter(|m| !m.1.name.is_empty());
        Ok(Mesh {
            path: record.path.clone(),
            positions: attributes.channel(VertexStream::Positions, true, None),
            face_counts: shape(FaceList::Counts),
            face_indices: shape(FaceList::Indices),
            winding: Winding::CounterClockwise,
            topology: Topology::Heterogeneous,
            normals: attributes.normals()?,
            uvs: attributes.uvs(),
            colours: attributes.colours(),
            velocities: attributes.velocities(),
            face_sets: named
                .map(|(i, material)| FaceSet {
                    name: material.name.clone(),
                    faces: shape(FaceList::Faces(i)),
                })
                .collect(),
            other_attributes: Vec::new(),
            is_subd: false,
            integers: Vec::new(),
            custom_attributes: Vec::new(),
            names: Vec::new(),
            skin: None,
            particles: None,
        })
    }
}

/// `true` if anything of a mesh changes over time.
fn is_animated(record: &MeshRecord) -> bool {
    record.method.changes() || record.streams.iter().any(|s| s.animated)
}

/// Returns the named materials as sets of faces.
fn face_sets(record: &MeshRecord, all: &ExtractedFaces) -> Vec<FaceSet> {
    let mut faces = vec![Vec::new(); record.materials.len()];
    for (face, material) in all.materials.iter().enumerate() {
        if let Some(material) = material {
            faces[*material as usize].push(face as i32);
        }
    }
    let named = record.materials.iter().zip(faces).filter(|m| !m.0.name.is_empty());
    named
        .map(|(material, faces)| FaceSet { name: material.name.clone(), faces: Channel::constant(faces) })
        .collect()
}

/// Builds the attributes of one mesh.
struct MeshAttributes<'a> {
    shared: &'a Extraction,
    mesh: usize,
    /// Vertex of each point, for point attributes.
    point_vertices: Option<Arc<Vec<u32>>>,
    /// Vertex of each corner, for corner attributes.
    corners: Option<Channel<u32>>,
}

impl MeshAttributes<'_> {
    fn channel<const N: usize>(
        &self,
        values: VertexStream,
        animated: bool,
        order: Option<Arc<Vec<u32>>>,
    ) -> Channel<[f32; N]> {
        let source = VertexValues {
            frames: self.shared.frames.clone(),
            mesh: self.mesh,
            values,
            samples: self.shared.samples(animated),
            by_point: match values {
                VertexStream::Positions | VertexStream::Velocities => true,
                _ => self.corners.is_none(),
            },
            point_vertices: order,
        };
        self.shared.channel(animated, source)
    }

    fn matching_attributes<const N: usize>(
        &self,
        wanted: impl Fn(VertexStream) -> bool,
    ) -> Vec<Attribute<[f32; N]>> {
        let record = &self.shared.frames.reel().description().meshes[self.mesh];
        let found = VertexStream::streams_of_record(record).into_iter().filter(|(_, v)| wanted(*v));
        found
            .map(|(stream, values)| {
                let stream = &record.streams[stream];
                let animated = stream.animated || record.method.changes();
                Attribute {
                    name: stream.name.clone(),
                    scope: match self.corners {
                        Some(_) => Scope::FaceVarying,
                        None => Scope::Vertex,
                    },
                    values: self.channel(values, animated, self.point_vertices.clone()),
                    indices: self.corners.clone(),
                }
            })
            .collect()
    }

    /// Returns the source's normals; `None` if it had none, and the file's were computed.
    fn normals(&self) -> Result<Option<Attribute<[f32; 3]>>, Error> {
        let made = self.shared.frames.reel().has_generated_normals(self.mesh);
        if made.map_err(error)? {
            return Ok(None);
        }
        let all = self.matching_attributes(|v| v == VertexStream::Normals);
        Ok(all.into_iter().next().map(|normals| Attribute { name: "N".into(), ..normals }))
    }
    fn uvs(&self) -> Vec<Attribute<[f32; 2]>> {
        self.matching_attributes(|v| matches!(v, VertexStream::Uvs(_)))
    }
    /// Returns velocities by point, which a mesh whose faces change stores as values of vertices.
    fn velocities(&self) -> Option<Channel<[f32; 3]>> {
        let record = &self.shared.frames.reel().description().meshes[self.mesh];
        let stored = record.streams.iter().any(|s| s.semantic == Semantic::Velocity);
        stored.then(|| self.channel(VertexStream::Velocities, true, None))
    }
    fn colours(&self) -> Vec<Attribute<[f32; 4]>> {
        self.matching_attributes(|v| matches!(v, VertexStream::Colours(_)))
    }
}

/// Values of a mesh, by vertex or by point.
struct VertexValues {
    frames: Arc<DecodedFrames>,
    mesh: usize,
    values: VertexStream,
    samples: usize,
    /// Vertex of each point.
    point_vertices: Option<Arc<Vec<u32>>>,
    /// Values are in the order of the frame's points, not of its vertices (fluid meshes).
    by_point: bool,
}

impl<const N: usize> Source<[f32; N]> for VertexValues {
    fn len(&self) -> usize {
        self.samples
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<[f32; N]>) -> Result<(), Error> {
        out.clear();
        let mut floats = Vec::new();
        self.frames.values(i, self.mesh, self.values, &mut floats)?;
        let (values, _) = floats.as_chunks::<N>();
        let fluid = self.frames.reel().description().meshes[self.mesh].method == Method::Fluid;
        let shape = match fluid && self.by_point {
            true => Some(self.frames.fluid_faces(i, self.mesh)?),
            false => None,
        };
        let order = match (&shape, &self.point_vertices) {
            (Some(shape), _) => Some(&shape.point_vertices),
            (None, order) => order.as_deref(),
        };
        match order {
            None => out.extend_from_slice(values),
            // Such a point belongs to no face, so no vertex stands for it.
            Some(order) => {
                out.extend((order.iter()).map(|&v| values.get(v as usize).copied().unwrap_or([0.0; N])))
            }
        }
        Ok(())
    }
}

/// Ids of particles, or point counts of curves.
struct ParticlePoints {
    frames: Arc<DecodedFrames>,
    mesh: usize,
}

impl Source<u64> for ParticlePoints {
    fn len(&self) -> usize {
        self.frames.reel().frame_count().max(1)
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<u64>) -> Result<(), Error> {
        out.clone_from(&self.frames.points(i, self.mesh)?.ids);
        Ok(())
    }
}

impl Source<i32> for ParticlePoints {
    fn len(&self) -> usize {
        self.frames.reel().frame_count().max(1)
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<i32>) -> Result<(), Error> {
        out.clear();
        out.extend(self.frames.points(i, self.mesh)?.curves.iter().map(|&count| count as i32));
        Ok(())
    }
}

/// Pads values with zeros to four components.
fn widened<const N: usize>(channel: Channel<[f32; N]>) -> Channel<[f32; 4]> {
    struct Widened<const N: usize>(Channel<[f32; N]>);
    impl<const N: usize> Source<[f32; 4]> for Widened<N> {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn identity(&self, i: usize) -> Identity {
            self.0.identity(i)
        }
        fn read(&self, i: usize, out: &mut Vec<[f32; 4]>) -> Result<(), Error> {
            let mut values = Vec::new();
            self.0.read(i, &mut values)?;
            out.clear();
            out.extend(values.iter().map(|v| std::array::from_fn(|k| v.get(k).copied().unwrap_or(0.0))));
            Ok(())
        }
    }
    Channel::new(channel.sampling().clone(), Arc::new(Widened(channel)))
}

/// The index list of a fluid mesh that a channel reads.
#[derive(Clone, Copy)]
enum FaceList {
    Counts,
    Indices,
    /// Faces of a material.
    Faces(usize),
}

/// Faces of a fluid mesh.
struct FluidFaceList {
    frames: Arc<DecodedFrames>,
    mesh: usize,
    part: FaceList,
}

impl Source<i32> for FluidFaceList {
    fn len(&self) -> usize {
        self.frames.reel().frame_count().max(1)
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<i32>) -> Result<(), Error> {
        out.clear();
        let shape = self.frames.fluid_faces(i, self.mesh)?;
        match self.part {
            FaceList::Counts => out.extend_from_slice(&shape.faces.counts),
            FaceList::Indices => out.extend_from_slice(&shape.points),
            FaceList::Faces(material) => {
                let faces = (0i32..).zip(&shape.faces.materials);
                let own = faces.filter(|(_, m)| **m == Some(material as u32));
                out.extend(own.map(|(face, _)| face));
            }
        }
        Ok(())
    }
}

/// Vertex of each corner of a fluid mesh.
struct CornerVertices {
    frames: Arc<DecodedFrames>,
    mesh: usize,
}

impl Source<u32> for CornerVertices {
    fn len(&self) -> usize {
        self.frames.reel().frame_count().max(1)
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<u32>) -> Result<(), Error> {
        out.clear();
        out.extend_from_slice(&self.frames.fluid_faces(i, self.mesh)?.faces.vertices);
        Ok(())
    }
}

/// The visibility of a node in each frame.
struct NodeVisibility {
    frames: Arc<DecodedFrames>,
    record: usize,
}

impl Source<i8> for NodeVisibility {
    fn len(&self) -> usize {
        self.frames.reel().frame_count().max(1)
    }
    fn identity(&self, i: usize) -> Identity {
        // Values repeat while they are held, but comparing them would mean decoding the frames.
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<i8>) -> Result<(), Error> {
        out.clear();
        let tracks = self.frames.tracks()?;
        let shown = tracks.visible[self.record].get(i).copied().unwrap_or(false);
        out.push(i8::from(shown));
        Ok(())
    }
}

/// The transforms of a node in each frame.
struct NodeTransforms {
    frames: Arc<DecodedFrames>,
    /// Records whose transforms are multiplied, from the top down.
    chain: Vec<usize>,
    len: usize,
}

impl NodeTransforms {
    fn new(shared: &Extraction, carried: RecordTransform) -> NodeTransforms {
        let records = &shared.frames.reel().description().nodes;
        let chain = match carried {
            RecordTransform::Local(record) => vec![record],
            RecordTransform::World(record) => {
                let parent = |&r: &usize| records[r].parent.map(|p| p as usize);
                let mut chain: Vec<usize> = std::iter::successors(Some(record), parent).collect();
                chain.reverse();
                chain
            }
        };
        let moves = chain.iter().any(|&r| records[r].animated);
        NodeTransforms { frames: shared.frames.clone(), chain, len: shared.samples(moves) }
    }
}

impl Source<LocalTransform> for NodeTransforms {
    fn len(&self) -> usize {
        self.len
    }
    fn identity(&self, i: usize) -> Identity {
        i as Identity
    }
    fn read(&self, i: usize, out: &mut Vec<LocalTransform>) -> Result<(), Error> {
        out.clear();
        let records = &self.frames.reel().description().nodes;
        let mut product = LocalTransform::IDENTITY;
        for &r in &self.chain {
            let record = &records[r];
            let moved = if record.animated { self.frames.tracks()?.transforms[r].get(i) } else { None };
            product = product.compose(&convert::qvv(moved.unwrap_or(&record.rest)).into());
        }
        out.push(product);
        Ok(())
    }
}
