//! Decoded frames, on demand, for all channels of one scene together. A small animation is kept whole once it has been
//! decoded, so that a writer may go mesh by mesh; of a large one there is a decoder, which is quick going forward.

use meshreel::record::{Method, Semantic, Visibility};
use meshreel::{BoneMatrix, BonesView, FrameDecoder, MeshView, Reel, Transform};
use meshreel_scene::Error;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Bytes of floats and indices that are kept.
const KEPT: u64 = 256 << 20;

/// What a channel is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Positions,
    Normals,
    Uvs(u8),
    Colours(u8),
}

impl Values {
    /// Floats per vertex.
    pub fn components(self) -> usize {
        match self {
            Values::Positions | Values::Normals => 3,
            Values::Uvs(_) => 2,
            Values::Colours(_) => 4,
        }
    }

    /// What the streams of a record give, positions first; a QTangent gives normals.
    pub fn of(record: &meshreel::record::MeshRecord) -> Vec<(usize, Values)> {
        let streams = record.streams.iter().enumerate();
        streams
            .map(|(i, stream)| {
                let values = match stream.semantic {
                    Semantic::Position => Values::Positions,
                    Semantic::Normal | Semantic::QTangent => Values::Normals,
                    Semantic::Uv => Values::Uvs(stream.set),
                    Semantic::Colour => Values::Colours(stream.set),
                };
                (i, values)
            })
            .collect()
    }

    /// Reads them from a frame.
    fn read(self, mesh: MeshView<'_>, out: &mut Vec<f32>) -> Result<(), meshreel::Error> {
        out.clear();
        out.resize(self.components() * mesh.vertex_count(), 0.0);
        match self {
            Values::Positions => mesh.positions_into(out),
            Values::Normals => mesh.normals_into(out),
            Values::Uvs(set) => mesh.uvs_into(set, out),
            Values::Colours(set) => mesh.colours_into(set, out),
        }
    }
}

/// The shape of a fluid mesh in a frame.
#[derive(Debug, Clone, Default)]
pub(super) struct Shape {
    pub indices: Vec<u32>,
    /// First index and number of indices of each material.
    pub ranges: Vec<(u32, u32)>,
}

/// Shared by all channels.
pub(super) struct Frames {
    reel: Reel,
    state: Mutex<State>,
    tracks: OnceLock<Tracks>,
}

struct State {
    decoder: FrameDecoder,
    /// Per frame what has been decoded of it; empty where the animation is too large.
    kept: Vec<Option<Arc<Frame>>>,
}

/// One frame of all meshes that change.
struct Frame {
    meshes: Vec<FrameMesh>,
}

#[derive(Default)]
struct FrameMesh {
    values: Vec<(Values, Vec<f32>)>,
    shape: Shape,
}

/// Transforms and visibility of all frames: little, and read node by node.
pub(super) struct Tracks {
    /// Per node, for moving ones: a transform per frame.
    pub transforms: Vec<Vec<Transform>>,
    /// Per node, for those that come and go: shown or not, per frame.
    pub visible: Vec<Vec<bool>>,
}

impl Frames {
    pub fn new(reel: &Reel) -> Result<Frames, Error> {
        let decoder = FrameDecoder::new(reel).map_err(error)?;
        let frames = reel.frame_count();
        let kept = if bytes_of(reel) <= KEPT { frames } else { 0 };
        Ok(Frames {
            reel: reel.clone(),
            state: Mutex::new(State {
                decoder,
                kept: vec![None; kept],
            }),
            tracks: OnceLock::new(),
        })
    }

    pub fn reel(&self) -> &Reel {
        &self.reel
    }

    /// Values of a mesh, by vertex. A file without frames shows its static data.
    pub fn values(
        &self,
        frame: usize,
        mesh: usize,
        values: Values,
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
                    // Streams that never change are not kept per frame.
                    None => values.read(state.decoder.mesh(mesh), out).map_err(error),
                }
            }
            None => values.read(state.decoder.mesh(mesh), out).map_err(error),
        }
    }

    /// Matrices of the bones of a mesh, none where it has none.
    pub fn bones(&self, frame: usize, mesh: usize) -> Result<Vec<BoneMatrix>, Error> {
        let mut state = self.lock();
        if self.reel.frame_count() > 0 {
            state.decoder.decode(frame).map_err(error)?;
        }
        let bones = state.decoder.mesh(mesh).bones();
        Ok(bones.map_or(Vec::new(), |bones| bones.matrices()))
    }

    /// What bones of a mesh do not change: gives `take` a look at it.
    pub fn rig<T>(&self, mesh: usize, take: impl FnOnce(BonesView<'_>) -> T) -> Option<T> {
        let state = self.lock();
        state.decoder.mesh(mesh).bones().map(take)
    }

    /// Indices and material ranges of a fluid mesh.
    pub fn shape(&self, frame: usize, mesh: usize) -> Result<Shape, Error> {
        if self.reel.frame_count() == 0 {
            return Ok(Shape::default());
        }
        let mut state = self.lock();
        Ok(match state.frame(frame)? {
            Some(kept) => kept.meshes[mesh].shape.clone(),
            None => shape_of(state.decoder.mesh(mesh)),
        })
    }

    /// Transforms and visibility, decoded in one go at the first call.
    pub fn tracks(&self) -> Result<&Tracks, Error> {
        if let Some(tracks) = self.tracks.get() {
            return Ok(tracks);
        }
        let nodes = &self.reel.description().nodes;
        let mut tracks = Tracks {
            transforms: vec![Vec::new(); nodes.len()],
            visible: vec![Vec::new(); nodes.len()],
        };
        let mut state = self.lock();
        for frame in 0..self.reel.frame_count() {
            // Fills what is kept, too.
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

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// A frame that is kept; for large animations `None`, and the decoder shows it.
    fn frame(&mut self, frame: usize) -> Result<Option<Arc<Frame>>, Error> {
        if let Some(Some(kept)) = self.kept.get(frame) {
            return Ok(Some(kept.clone()));
        }
        self.decoder.decode(frame).map_err(error)?;
        let Some(place) = self.kept.get_mut(frame) else {
            return Ok(None);
        };
        let records = &self.decoder.reel().description().meshes;
        let mut meshes = Vec::with_capacity(records.len());
        for (m, record) in records.iter().enumerate() {
            let mut of_mesh = FrameMesh::default();
            let mesh = self.decoder.mesh(m);
            let fluid = record.method == Method::Fluid;
            for (stream, values) in Values::of(record) {
                if fluid || record.streams[stream].animated {
                    let mut floats = Vec::new();
                    values.read(mesh, &mut floats).map_err(error)?;
                    of_mesh.values.push((values, floats));
                }
            }
            if fluid {
                of_mesh.shape = shape_of(mesh);
            }
            meshes.push(of_mesh);
        }
        Ok(Some(place.insert(Arc::new(Frame { meshes })).clone()))
    }
}

fn shape_of(mesh: MeshView<'_>) -> Shape {
    let ranges = mesh.materials().iter().map(|r| (r.first, r.count));
    Shape {
        indices: mesh.indices().to_vec(),
        ranges: ranges.collect(),
    }
}

/// Floats and indices of all frames (of fluid meshes at most that).
fn bytes_of(reel: &Reel) -> u64 {
    let frames = reel.frame_count() as u64;
    let of_mesh = |mesh: &meshreel::record::MeshRecord| {
        let fluid = mesh.method == Method::Fluid;
        let changing = mesh.streams.iter().filter(|s| fluid || s.animated);
        let floats: u64 = changing.map(|s| s.semantic.components() as u64).sum();
        let indices = if fluid { u64::from(mesh.indices) } else { 0 };
        4 * (floats * u64::from(mesh.vertices) + indices)
    };
    let per_frame = reel.description().meshes.iter().map(of_mesh);
    frames.saturating_mul(per_frame.fold(0, u64::saturating_add))
}

/// The runtime's error as the scene's: the same five classes.
pub(crate) fn error(error: meshreel::Error) -> Error {
    use meshreel::Error as R;
    match error {
        R::Io { path, source, .. } => Error::Io { path, source },
        R::Malformed { path, what, at } => Error::Malformed { path, what, at },
        R::Unsupported { path, what } => Error::Unsupported { path, what },
        R::Limit {
            path,
            what,
            asked,
            allowed,
        } => Error::Limit {
            path,
            what,
            asked,
            allowed,
        },
        R::Misuse { what } => Error::Misuse { what },
        other => Error::Misuse {
            what: other.to_string(),
        },
    }
}
