//! The layout of a decoded frame. Every frame of a file has the same layout, so a frame is one buffer of a
//! size that is known when the file is opened, and buffers can be reused for any other frame of it.
//!
//! A frame consists of 64-bit words; each part of 64 bytes or more starts at a multiple of 64 bytes:
//!
//! | part | content |
//! |---|---|
//! | visibility | a bit for each node whose visibility is animated |
//! | end states | a byte for each mesh: 0 while it moves, 1 in its state at the start, 2 at the end |
//! | transforms | [`Transform`]s of the animated nodes |
//! | states | the values from which other frames are predicted, if transforms are coded as a clip |
//! | streams | per animated stream of a mesh with fixed topology: quantized values, or residuals of normals |
//! | coded points | for a mesh whose points are not decoded, the frame's part of the words of a unit |
//! | bones | per mesh that bones move: transforms, states (rigid ones), handles (affine ones), residuals |
//! | particles | each: counts, ids, points of curves; in chains the motion of points, and bytes of links |
//! | fluid meshes | each: counts, ranges of materials, indices, quantized values, all at their largest size |

use meshreel_codec::Corrupt;
use meshreel_codec::clip::nodes::{Node, Nodes};
use meshreel_codec::mesh::decode::{index, scratch_len};
use meshreel_codec::mesh::skin::handles::HANDLES;
use meshreel_codec::mesh::skin::{Matrix, packed};
use meshreel_codec::record::{
    Bones, CODEC_CHAIN, CODEC_FAST, Coding, Description, MeshRecord, Method, Semantic, StreamRecord,
    Visibility,
};
use meshreel_codec::schedule::{INTERVAL, UNIT_FRAMES};
use meshreel_codec::transform::Transform;
use meshreel_codec::values::particles::chain;

/// 64-bit words per cache line: larger parts start at such a line.
const LINE: usize = 8;

/// A range of the index buffer. A mesh has one for each material, in the order of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Range {
    /// First index.
    pub first: u32,
    /// Number of indices, three per triangle.
    pub count: u32,
}

/// The place of a list of numbers in a frame's buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// Index of the first 64-bit word.
    pub at: usize,
    /// Bytes of one value.
    pub size: usize,
    /// The number of values.
    pub len: usize,
}

impl Place {
    /// Returns the number of 64-bit words that it takes.
    pub fn words(&self) -> usize {
        self.size.saturating_mul(self.len).div_ceil(8)
    }
}

/// The optional contents of a file that its frames are to hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    /// Animated vertex attributes.
    pub attributes: bool,
    /// Posed points of meshes that bones move.
    pub poses: bool,
    /// Decoded points of soft meshes of the preset `fast`.
    pub points: bool,
    /// Upper limit for the bytes per frame of any unit, on average over the unit's frames.
    pub most_coded: usize,
    /// Upper limit for the bytes of a unit with chain links.
    pub most_chained: usize,
}

impl Asked {
    fn leaves_coded(&self, mesh: &MeshRecord, stream: &StreamRecord) -> bool {
        !self.points && can_stay_coded(mesh, stream)
    }
}

/// `true` if a stream is points that need not be decoded. Never for a mesh with a lead-in or lead-out, whose
/// frames are numbered otherwise.
pub(crate) fn can_stay_coded(mesh: &MeshRecord, stream: &StreamRecord) -> bool {
    let fast = mesh.method == Method::Soft && mesh.codec == CODEC_FAST && mesh.moves.is_none();
    let points = stream.semantic == Semantic::Position && stream.animated;
    fast && points && matches!(stream.coding, Coding::FixedPoint | Coding::Heights)
}

/// The places of all values in a frame's buffer; derived from the description.
pub(crate) struct Layout {
    /// The visibility bit of each node whose visibility is animated.
    pub bits: Vec<Option<u32>>,
    /// The visibility bits, as bytes.
    pub visibility: Place,
    /// A byte for each mesh, which names its end state; empty if no mesh has one.
    pub end_states: Place,
    /// The index of each node among the animated transforms.
    pub transform_numbers: Vec<Option<u32>>,
    /// The animated transforms.
    pub transforms: Place,
    /// The decoder of the transforms if they are coded, and the place of its state.
    pub nodes: Option<Nodes>,
    pub states: Place,
    pub meshes: Vec<MeshLayout>,
    /// `true` if there are meshes whose points are not decoded.
    pub has_coded_points: bool,
    /// 64-bit words of a frame.
    pub words: usize,
    /// 64-bit words that decoding a unit needs besides its raw bytes: the largest fixed-point stream, once.
    pub scratch: usize,
}

pub(crate) struct MeshLayout {
    /// The place of each stream's quantized values; `None` if it is static or predicted.
    pub streams: Vec<Option<Place>>,
    /// Places of transforms, handles and residuals, for a mesh that bones move.
    pub bones: Option<BonesLayout>,
    /// Places of counts, triangles and materials, for a fluid mesh.
    pub fluid: Option<FluidLayout>,
    /// Places of counts, ids and curves, for particles.
    pub particles: Option<ParticlesLayout>,
    /// Places of the data that later frames need, for particles in chains.
    pub chain: Option<ChainLayout>,
    /// For each stream of predicted normals, the place of the states from which later frames are predicted.
    pub states: Vec<Option<Place>>,
    /// Index ranges of the materials of fixed topology.
    pub ranges: Vec<Range>,
    /// The place of coded words, for a mesh whose points are not decoded. The words of a unit continue from
    /// one of its frames to the next.
    pub coded: Option<Place>,
}

/// Places of the bones of a mesh in a frame, besides the positions that they give, see
/// [`meshreel_codec::mesh::skin`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct BonesLayout {
    /// Transforms of rigid bones.
    pub transforms: Place,
    /// The states that transforms of other frames are predicted from, or that packed transforms are made of.
    pub states: Place,
    /// Fixed-point positions of the handles of affine bones.
    pub handles: Place,
    /// Fixed-point residuals.
    pub residual: Place,
}

/// Places of a mesh that brings its own topology.
pub(crate) struct FluidLayout {
    /// u32: counts of vertices, indices, source points and points, and the run of this frame; see
    /// [`crate::decode::fluid`].
    pub counts: Place,
    /// [`Range`]s of indices, one for each material.
    pub materials: Place,
    /// u32: three per triangle.
    pub indices: Place,
    /// u32: point of each vertex, if vertices can share one.
    pub point: Place,
}

/// Places of particles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParticlesLayout {
    /// u32: counts of points and curves, and the run of this frame; see [`crate::decode::particles`].
    pub counts: Place,
    /// u64: id of each point, if they have ids.
    pub ids: Place,
    /// u32: number of points of each curve, if they are of curves.
    pub curves: Place,
}

/// Particles in chains, see [`crate::decode::chain`].
pub(crate) struct ChainLayout {
    /// The mesh's streams.
    pub streams: Vec<chain::Stream>,
    /// u32: the motion of the points of a key frame, stream by stream.
    pub moves: Place,
    /// u32: the number of bytes of links.
    pub size: Place,
    /// Bytes of links, with the first frame of the unit that has them.
    pub links: Place,
}

impl ChainLayout {
    fn new(mesh: &MeshRecord, asked: Asked, shelf: &mut Shelf) -> ChainLayout {
        let streams = mesh.streams.iter().map(|stream| chain::Stream {
            components: stream.semantic.components(),
            word: usize::from(stream.word),
        });
        let streams: Vec<chain::Stream> = streams.collect();
        let words: usize = streams.iter().map(|stream| chain::state_words(stream.components)).sum();
        let vertices = mesh.vertices as usize;
        let most = asked.most_chained.min(particles_bytes(mesh, u64::from(INTERVAL)) as usize);
        ChainLayout {
            moves: shelf.place(4, words.saturating_mul(vertices)),
            size: shelf.place(4, 1),
            links: shelf.place(1, most),
            streams,
        }
    }
}

/// Upper limit for the bytes of particles in a unit, or in links, of `frames` frames.
pub(crate) fn particles_bytes(mesh: &MeshRecord, frames: u64) -> u64 {
    const HEAD: u64 = 64;
    let vertices = u64::from(mesh.vertices);
    let curves = mesh.particles.and_then(|p| p.curves).map_or(0, |c| u64::from(c.most));
    // Kind and counts, ids or curves; then weights and values, which range coding can make longer than they
    // are.
    let points = HEAD + 12 * vertices + 6 * curves;
    let value = |stream: &StreamRecord| stream.semantic.components() as u64 * u64::from(stream.word);
    let streams = mesh.streams.iter().map(|stream| 4 * HEAD + vertices * (2 * value(stream) + 4));
    frames.saturating_mul(points + streams.sum::<u64>())
}

/// Returns the number of fixed-point positions in each part of a stream's frame: positions are of points, all
/// other streams of vertices.
pub(crate) fn fixed_point_count(mesh: &MeshRecord, stream: &StreamRecord) -> usize {
    match stream.semantic {
        Semantic::Position => mesh.points as usize,
        _ => mesh.vertices as usize,
    }
}

/// Returns the number of parts of a fixed-point stream, of three components each: colours have two.
pub(crate) fn fixed_point_parts(stream: &StreamRecord) -> usize {
    stream.semantic.components().div_ceil(3)
}

/// Returns the 64-bit words that decoding a unit of a fixed-point stream needs.
fn fixed_point_scratch(mesh: &MeshRecord, stream: &StreamRecord) -> usize {
    let words = |points: usize, word: u8| scratch_len(points) * usize::from(word) / 2;
    if stream.coding != Coding::Bones {
        return words(fixed_point_count(mesh, stream), stream.word);
    }
    let bones = stream.bones;
    let residual = words(bones.coded as usize, stream.word);
    let handles = words(HANDLES * bones.affine as usize, handle_word(&bones));
    residual.max(handles) + matrix_words(&bones)
}

/// Bytes per component of the handles.
pub(crate) fn handle_word(bones: &Bones) -> u8 {
    if bones.wide { 4 } else { 2 }
}

/// Returns the 32-bit words of state that rigid bones have in a frame: those that other frames are predicted
/// from, or packed transforms as they are.
pub(crate) fn state_words(bones: &Bones) -> usize {
    match bones.packed() {
        true => packed::frame_words(bones.rigid as usize),
        false => bones.words as usize,
    }
}

/// Returns the 64-bit words of the matrices of a frame.
pub(crate) fn matrix_words(bones: &Bones) -> usize {
    (bones.rigid as usize + bones.affine as usize + 1) * size_of::<Matrix>() / 8
}

/// Returns the decoder of node transforms; `None` if they are stored unpacked.
fn node_tracks(description: &Description) -> Result<Option<Nodes>, Corrupt> {
    if description.tracks.is_empty() {
        return Ok(None);
    }
    let meshes = &description.meshes;
    let nodes: Vec<Node> = (description.nodes.iter())
        .map(|node| Node {
            parent: node.parent,
            rest: node.rest,
            moves: node.animated,
            bounds: match node.mesh {
                Some(m) => meshes.get(m as usize).map(|mesh| mesh.bounds),
                None => (node.reach > 0.0).then(|| Node::cube(node.reach)),
            },
        })
        .collect();
    Nodes::new(&nodes, &description.tracks).map(Some)
}

/// Assigns places one after the other.
#[derive(Default)]
struct Shelf(usize);

impl Shelf {
    fn place(&mut self, size: usize, len: usize) -> Place {
        let mut place = Place { at: self.0, size, len };
        // There may be very many small parts, which are packed closely.
        if place.words() >= LINE {
            place.at = self.0.div_ceil(LINE).saturating_mul(LINE);
        }
        self.0 = place.at.saturating_add(place.words());
        place
    }

    fn stream(&mut self, mesh: &MeshRecord, stream: &StreamRecord, asked: Asked) -> Place {
        let word = usize::from(stream.word);
        match stream.coding {
            _ if asked.leaves_coded(mesh, stream) => self.place(4 * word, 0),
            Coding::Bones if !asked.poses => self.place(4 * word, 0),
            Coding::FixedPoint | Coding::Bones | Coding::Heights => {
                self.place(4 * word, fixed_point_parts(stream) * fixed_point_count(mesh, stream))
            }
            _ => self.place(word, stream.semantic.components() * mesh.vertices as usize),
        }
    }
}

impl Layout {
    /// Allocates no more than the description has; the sizes that it states are checked against limits
    /// afterwards. Contents that are not asked for have no place.
    pub fn new(description: &Description, asked: Asked) -> Result<Layout, Corrupt> {
        let coded = node_tracks(description)?;
        let mut shelf = Shelf::default();
        let number = |next: &mut u32, there: bool| {
            there.then(|| {
                *next += 1;
                *next - 1
            })
        };
        let (mut bits, mut animated) = (0, 0);
        let nodes = &description.nodes;
        let visible =
            (nodes.iter()).map(|n| number(&mut bits, n.visibility == Visibility::Animated)).collect();
        let transform_numbers = (nodes.iter()).map(|n| number(&mut animated, n.animated)).collect();
        let visibility = shelf.place(1, bits.div_ceil(8) as usize);
        let any_at_rest = description.meshes.iter().any(|m| m.moves.is_some());
        let end_states = shelf.place(1, if any_at_rest { description.meshes.len() } else { 0 });
        let transforms = shelf.place(size_of::<Transform>(), animated as usize);
        let states = shelf.place(size_of::<i32>(), coded.as_ref().map_or(0, |n| n.words));
        let meshes: Vec<MeshLayout> =
            (description.meshes.iter()).map(|mesh| MeshLayout::new(mesh, asked, &mut shelf)).collect();
        let streams = (description.meshes.iter())
            .flat_map(|mesh| (mesh.streams.iter().enumerate()).map(move |(s, stream)| (mesh, s, stream)))
            .filter(|(mesh, s, _)| asked.attributes || !mesh.is_attribute(*s))
            .map(|(mesh, _, stream)| (mesh, stream));
        let fixed_point = streams.filter(|(_, stream)| stream.coding.has_fixed_point());
        let scratch = fixed_point.map(|(mesh, stream)| fixed_point_scratch(mesh, stream));
        let kept = meshes.iter().filter_map(|mesh| mesh.coded).map(|place| UNIT_FRAMES * place.words());
        let scratch = scratch.chain(kept).max().unwrap_or(0);
        Ok(Layout {
            bits: visible,
            visibility,
            end_states,
            transform_numbers,
            transforms,
            nodes: coded,
            states,
            has_coded_points: meshes.iter().any(|mesh| mesh.coded.is_some()),
            meshes,
            words: shelf.0,
            scratch,
        })
    }
}

impl MeshLayout {
    fn new(mesh: &MeshRecord, asked: Asked, shelf: &mut Shelf) -> MeshLayout {
        let of_frame = |s: usize| match mesh.method {
            Method::Static => false,
            Method::Soft | Method::Rigid | Method::Skinned => {
                mesh.streams[s].animated && (asked.attributes || !mesh.is_attribute(s))
            }
            Method::Fluid | Method::Particles => true,
        };
        let coded = mesh.streams.iter().find(|stream| asked.leaves_coded(mesh, stream)).map(|stream| {
            let points = fixed_point_count(mesh, stream);
            shelf.place(4, index::most_words(points, stream.word != 2, asked.most_coded))
        });
        let bones = mesh.streams.first().filter(|s| s.coding == Coding::Bones);
        let bones = bones.map(|s| (s.bones, usize::from(s.word)));
        MeshLayout {
            fluid: (mesh.method == Method::Fluid).then(|| FluidLayout {
                counts: shelf.place(4, 5),
                materials: shelf.place(size_of::<Range>(), mesh.materials.len()),
                indices: shelf.place(4, mesh.indices as usize),
                point: shelf.place(4, if mesh.points > 0 { mesh.vertices as usize } else { 0 }),
            }),
            particles: mesh.particles.map(|particles| ParticlesLayout {
                counts: shelf.place(4, 3),
                ids: shelf.place(8, if particles.ids { mesh.vertices as usize } else { 0 }),
                curves: shelf.place(4, particles.curves.map_or(0, |curves| curves.most as usize)),
            }),
            chain: (mesh.codec == CODEC_CHAIN).then(|| ChainLayout::new(mesh, asked, shelf)),
            streams: (mesh.streams.iter().enumerate())
                .map(|(at, s)| {
                    (of_frame(at) && s.coding != Coding::Predicted).then(|| shelf.stream(mesh, s, asked))
                })
                .collect(),
            states: (mesh.streams.iter().enumerate())
                .map(|(at, s)| {
                    let kept = s.coding == Coding::Predicted && of_frame(at);
                    kept.then(|| shelf.place(2, s.states as usize))
                })
                .collect(),
            // After the positions, which are computed from them.
            bones: bones.map(|(bones, word)| BonesLayout {
                transforms: shelf.place(size_of::<Transform>(), bones.rigid as usize),
                states: shelf.place(size_of::<u32>(), state_words(&bones)),
                handles: shelf.place(4 * usize::from(handle_word(&bones)), HANDLES * bones.affine as usize),
                residual: shelf.place(4 * word, bones.coded as usize),
            }),
            ranges: (mesh.materials.iter()).map(|m| Range { first: m.first, count: m.count }).collect(),
            coded,
        }
    }
}
