//! Decoded frames, on demand, for all channels of one scene together. A small animation is cached completely
//! once it has been decoded, so that a writer may go mesh by mesh; for a large one there is only a decoder,
//! which is fast when going forward.

use super::faces::{self, ExtractedFaces, FaceForm};
use crate::convert::error;
use meshreel::raw::record::{MeshRecord, Method, Semantic, Visibility};
use meshreel::view::{BoneMatrix, BonesView};
use meshreel::{FrameDecoder, MeshView, Reel, SourceMap, Transform};
use meshreel_scene::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The largest number of bytes of decoded floats and indices that are cached.
const MAX_CACHED_BYTES: u64 = 256 << 20;

/// The vertex stream of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VertexStream {
    Positions,
    Normals,
    Uvs(u8),
    Colours(u8),
    Velocities,
    Widths,
    /// Numbers attached to particles, from a stream of the record.
    Custom {
        stream: usize,
        components: usize,
    },
}

impl VertexStream {
    /// Floats per vertex.
    pub fn components(self) -> usize {
        match self {
            VertexStream::Positions | VertexStream::Normals | VertexStream::Velocities => 3,
            VertexStream::Uvs(_) => 2,
            VertexStream::Colours(_) => 4,
            VertexStream::Widths => 1,
            VertexStream::Custom { components, .. } => components,
        }
    }

    /// Returns the stream numbers of a record with the values that they contain, positions first; a QTangent
    /// stream contains normals.
    pub fn streams_of_record(record: &meshreel::raw::record::MeshRecord) -> Vec<(usize, VertexStream)> {
        let streams = record.streams.iter().enumerate();
        streams
            .map(|(i, stream)| {
                let values = match stream.semantic {
                    Semantic::Position => VertexStream::Positions,
                    Semantic::Normal | Semantic::QTangent => VertexStream::Normals,
                    Semantic::Uv => VertexStream::Uvs(stream.set),
                    Semantic::Colour => VertexStream::Colours(stream.set),
                    Semantic::Velocity => VertexStream::Velocities,
                    Semantic::Width => VertexStream::Widths,
                    custom => VertexStream::Custom { stream: i, components: custom.components() },
                };
                (i, values)
            })
            .collect()
    }

    /// Reads the values from a decoded frame.
    fn read(self, mesh: MeshView<'_>, out: &mut Vec<f32>) -> Result<(), meshreel::Error> {
        out.clear();
        out.resize(self.components() * mesh.vertex_count(), 0.0);
        match self {
            VertexStream::Positions => mesh.positions_into(out),
            VertexStream::Normals => mesh.normals_into(out),
            VertexStream::Uvs(set) => mesh.uvs_into(set, out),
            VertexStream::Colours(set) => mesh.colours_into(set, out),
            VertexStream::Velocities => mesh.velocities_into(out),
            VertexStream::Widths => mesh.widths_into(out),
            VertexStream::Custom { stream, .. } => mesh.custom_into(stream, out),
        }
    }
}

/// The faces of a fluid mesh in a frame: the source's if the file has its source map, else triangles.
#[derive(Debug, Clone, Default)]
pub(super) struct FluidFaces {
    /// Faces, whose corners are vertices.
    pub faces: ExtractedFaces,
    /// Point of each corner.
    pub points: Vec<i32>,
    /// Vertex of each point.
    pub point_vertices: Vec<u32>,
}

/// The decoder of a file and the frames that it has decoded, shared by all channels.
pub(super) struct DecodedFrames {
    reel: Reel,
    maps: Arc<Maps>,
    state: Mutex<DecoderState>,
    tracks: OnceLock<Tracks>,
}

/// Source maps of fluid meshes, by mesh.
type Maps = Vec<Option<SourceMap>>;

struct DecoderState {
    maps: Arc<Maps>,
    faces: FaceForm,
    decoder: FrameDecoder,
    /// Frame, mesh and shape last made for a large animation.
    last: Option<(usize, usize, Arc<FluidFaces>)>,
    /// Decoded data of each frame; empty if the animation is too large.
    cached_frames: Vec<Option<Arc<CachedFrame>>>,
}

/// One decoded frame: the streams of all meshes that change.
struct CachedFrame {
    meshes: Vec<CachedMesh>,
}

#[derive(Default)]
struct CachedMesh {
    values: Vec<(VertexStream, Vec<f32>)>,
    shape: Arc<FluidFaces>,
    points: Arc<PointLists>,
}

/// Ids of particles, or point counts of curves, in a frame.
#[derive(Debug, Clone, Default)]
pub(super) struct PointLists {
    /// Ids; empty if the particles have none.
    pub ids: Vec<u64>,
    /// Number of points of each curve; empty if there are no curves.
    pub curves: Vec<u32>,
}

impl PointLists {
    fn from_view(mesh: MeshView<'_>) -> PointLists {
        PointLists { ids: mesh.ids().to_vec(), curves: mesh.curves().to_vec() }
    }
}

/// Transforms and visibility of all frames: little data, read node by node.
pub(super) struct Tracks {
    /// For each moving node, a transform per frame.
    pub transforms: Vec<Vec<Transform>>,
    /// For each node that is shown only at times, its visibility per frame.
    pub visible: Vec<Vec<bool>>,
}

impl DecodedFrames {
    pub fn new(reel: &Reel, faces: FaceForm) -> Result<DecodedFrames, Error> {
        let decoder = FrameDecoder::new(reel).map_err(error)?;
        let frames = reel.frame_count();
        let kept = if bytes_of(reel) <= MAX_CACHED_BYTES { frames } else { 0 };
        let records = reel.description().meshes.iter().enumerate();
        let map = |(m, record): (usize, &MeshRecord)| match record.method {
            Method::Fluid => reel.full_source_map(m),
            _ => Ok(None),
        };
        let maps: Maps = records.map(map).collect::<Result<_, _>>().map_err(error)?;
        let maps = Arc::new(maps);
        Ok(DecodedFrames {
            reel: reel.clone(),
            maps: maps.clone(),
            state: Mutex::new(DecoderState {
                maps,
                faces,
                last: None,
                decoder,
                cached_frames: vec![None; kept],
            }),
            tracks: OnceLock::new(),
        })
    }

    pub fn reel(&self) -> &Reel {
        &self.reel
    }

    /// Reads the values of a mesh, by vertex. A file without frames yields its static data.
    pub fn values(
        &self,
        frame: usize,
        mesh: usize,
        values: VertexStream,
        out: &mut Vec<f32>,
    ) -> Result<(), Error> {
        let record = &self.reel.description().meshes[mesh];
        if record.method == Method::Static || self.reel.frame_count() == 0 {
            let state = self.lock();
            return values.read(state.decoder.mesh(mesh), out).map_err(error);
        }
        let mut state = self.lock();
        match state.frame(frame)? {
            Some(kept) => {
                match kept.meshes[mesh].values.iter().find(|v| v.0 == values) {
                    Some((_, held)) => {
                        out.clear();
                        out.extend_from_slice(held);
                        Ok(())
                    }
                    // Streams that never change are not cached per frame.
                    None => values.read(state.decoder.mesh(mesh), out).map_err(error),
                }
            }
            None => values.read(state.decoder.mesh(mesh), out).map_err(error),
        }
    }

    /// Returns the matrices of the bones of a mesh; empty if it has none.
    pub fn bones(&self, frame: usize, mesh: usize) -> Result<Vec<BoneMatrix>, Error> {
        let mut state = self.lock();
        if self.reel.frame_count() > 0 {
            state.decoder.decode(frame).map_err(error)?;
        }
        let bones = state.decoder.mesh(mesh).bones();
        Ok(bones.map_or(Vec::new(), |bones| bones.matrices()))
    }

    /// Calls `take` with the bones of a mesh, as far as they are the same in all frames. `None` if it has no
    /// bones.
    pub fn with_bones<T>(&self, mesh: usize, take: impl FnOnce(BonesView<'_>) -> T) -> Option<T> {
        let state = self.lock();
        state.decoder.mesh(mesh).bones().map(take)
    }

    /// `true` if the file has source maps for the frames of a fluid mesh.
    pub fn has_runs(&self, mesh: usize) -> bool {
        let map = self.maps[mesh].as_ref();
        map.is_some_and(|map| !map.run_maps.is_empty())
    }

    /// `true` if corners of one point of a fluid mesh can differ.
    pub fn splits(&self, mesh: usize) -> bool {
        let apart = |run: &SourceMap| run.vertex_point.len() > run.points as usize;
        let runs = self.maps[mesh].as_ref().map_or(&[][..], |map| &map.run_maps);
        self.reel.description().meshes[mesh].points > 0 || runs.iter().any(apart)
    }

    /// Returns the faces and points of a fluid mesh.
    pub fn fluid_faces(&self, frame: usize, mesh: usize) -> Result<Arc<FluidFaces>, Error> {
        if self.reel.frame_count() == 0 {
            return Ok(Arc::default());
        }
        let mut state = self.lock();
        Ok(match state.frame(frame)? {
            Some(kept) => kept.meshes[mesh].shape.clone(),
            None => {
                let last = state.last.as_ref().filter(|l| (l.0, l.1) == (frame, mesh));
                if let Some((.., shape)) = last {
                    return Ok(shape.clone());
                }
                let map = self.maps[mesh].as_ref().and_then(|map| map.frame_map(frame));
                let shape = Arc::new(build_fluid_faces(state.decoder.mesh(mesh), map, state.faces));
                state.last = Some((frame, mesh, shape.clone()));
                shape
            }
        })
    }

    /// Returns the ids of particles, or the point counts of curves, in a frame.
    pub fn points(&self, frame: usize, mesh: usize) -> Result<Arc<PointLists>, Error> {
        if self.reel.frame_count() == 0 {
            return Ok(Arc::default());
        }
        let mut state = self.lock();
        Ok(match state.frame(frame)? {
            Some(kept) => kept.meshes[mesh].points.clone(),
            None => Arc::new(PointLists::from_view(state.decoder.mesh(mesh))),
        })
    }

    /// Returns transforms and visibility, which are decoded in one go at the first call.
    pub fn tracks(&self) -> Result<&Tracks, Error> {
        if let Some(tracks) = self.tracks.get() {
            return Ok(tracks);
        }
        let nodes = &self.reel.description().nodes;
        let mut tracks =
            Tracks { transforms: vec![Vec::new(); nodes.len()], visible: vec![Vec::new(); nodes.len()] };
        let mut state = self.lock();
        for frame in 0..self.reel.frame_count() {
            // This fills the cache, too.
            state.frame(frame)?;
            state.decoder.decode(frame).map_err(error)?;
            for (i, node) in nodes.iter().enumerate() {
                if node.animated {
                    tracks.transforms[i].push(state.decoder.transform(i));
                }
                if node.visibility == Visibility::Animated {
                    tracks.visible[i].push(state.decoder.visible(i));
                }
            }
        }
        drop(state);
        Ok(self.tracks.get_or_init(|| tracks))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, DecoderState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl DecoderState {
    /// Returns a frame of the cache; `None` for a large animation, when the decoder is at the frame.
    fn frame(&mut self, frame: usize) -> Result<Option<Arc<CachedFrame>>, Error> {
        if let Some(Some(kept)) = self.cached_frames.get(frame) {
            return Ok(Some(kept.clone()));
        }
        self.decoder.decode(frame).map_err(error)?;
        let Some(place) = self.cached_frames.get_mut(frame) else {
            return Ok(None);
        };
        let records = &self.decoder.reel().description().meshes;
        let mut meshes = Vec::with_capacity(records.len());
        for (m, record) in records.iter().enumerate() {
            let mut of_mesh = CachedMesh::default();
            let mesh = self.decoder.mesh(m);
            let fluid = record.method == Method::Fluid;
            of_mesh.points = Arc::new(PointLists::from_view(mesh));
            for (stream, values) in VertexStream::streams_of_record(record) {
                if record.method.changes() || record.streams[stream].animated {
                    let mut floats = Vec::new();
                    values.read(mesh, &mut floats).map_err(error)?;
                    of_mesh.values.push((values, floats));
                }
            }
            if fluid {
                let map = self.maps[m].as_ref();
                let map = map.and_then(|map| map.frame_map(frame));
                of_mesh.shape = Arc::new(build_fluid_faces(mesh, map, self.faces));
            }
            meshes.push(of_mesh);
        }
        Ok(Some(place.insert(Arc::new(CachedFrame { meshes })).clone()))
    }
}

fn build_fluid_faces(mesh: MeshView<'_>, map: Option<&SourceMap>, form: FaceForm) -> FluidFaces {
    let ranges: Vec<(u32, u32)> = (mesh.materials().iter()).map(|r| (r.first, r.count)).collect();
    let (vertices, indices) = (mesh.vertex_count(), mesh.indices());
    let fits =
        |map: &&SourceMap| map.vertex_point.len() == vertices && 3 * map.triangle_face.len() == indices.len();
    let (faces, of_vertex, points) = match map.filter(fits) {
        Some(map) => {
            let faces = match form {
                FaceForm::Source => faces::rebuild(indices, &ranges, map),
                FaceForm::Triangles => faces::triangles(indices, &ranges),
            };
            (faces, &map.vertex_point[..], map.points as usize)
        }
        None => {
            let welded = mesh.fluid_points();
            let points = welded.iter().max().map_or(vertices, |most| *most as usize + 1);
            (faces::triangles(indices, &ranges), welded, points)
        }
    };
    let point = |v: u32| of_vertex.get(v as usize).copied().unwrap_or(v);
    let mut order = vec![0; points];
    for v in (0..vertices as u32).rev() {
        if let Some(slot) = order.get_mut(point(v) as usize) {
            *slot = v;
        }
    }
    FluidFaces {
        points: faces.vertices.iter().map(|&v| point(v) as i32).collect(),
        faces,
        point_vertices: order,
    }
}

/// Returns the size of the floats and indices of all frames in bytes (for fluid meshes, an upper limit).
fn bytes_of(reel: &Reel) -> u64 {
    let frames = reel.frame_count() as u64;
    let of_mesh = |mesh: &meshreel::raw::record::MeshRecord| {
        let fluid = mesh.method == Method::Fluid;
        let changing = mesh.streams.iter().filter(|s| mesh.method.changes() || s.animated);
        let floats: u64 = changing.map(|s| s.semantic.components() as u64).sum();
        // Corners are stored twice, points and faces once each.
        let (indices, points) = (u64::from(mesh.indices), u64::from(mesh.source_points));
        let shape = if fluid { 3 * indices + points } else { 0 };
        let curves = mesh.particles.and_then(|p| p.curves).map_or(0, |curves| u64::from(curves.max_curves));
        let ids = mesh.particles.map_or(0, |_| 2 * u64::from(mesh.vertices));
        4 * (floats * u64::from(mesh.vertices) + shape + curves + ids)
    };
    let per_frame = reel.description().meshes.iter().map(of_mesh);
    frames.saturating_mul(per_frame.fold(0, u64::saturating_add))
}
