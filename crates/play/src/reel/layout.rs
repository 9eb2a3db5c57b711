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
use meshreel_codec::clip::nodes::{Node, NodeTracks};
use meshreel_codec::mesh::decode::{index, scratch_len};
use meshreel_codec::mesh::skin::handles::HANDLES;
use meshreel_codec::mesh::skin::{Matrix, packed};
use meshreel_codec::record::{
    BoneCounts, CODEC_FAST, Coding, Description, MeshRecord, Method, Semantic, StreamRecord, Visibility,
};
use meshreel_codec::schedule::{KEY_INTERVAL, MAX_UNIT_FRAMES};
use meshreel_codec::transform::Transform;
use meshreel_codec::values::particles::chain;

/// 64-bit words per cache line: larger parts start at such a line.
const CACHE_LINE_WORDS: usize = 8;

/// A range of the index buffer. A mesh has one for each material, in the order of its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct IndexRange {
    /// First index.
    pub first: u32,
    /// Number of indices, three per triangle.
    pub count: u32,
}

/// The location of an array of values in a frame's buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrayLayout {
    /// Index of the first 64-bit word.
    pub offset: usize,
    /// Bytes of one value.
    pub value_bytes: usize,
    /// The number of values.
    pub len: usize,
}

impl ArrayLayout {
    /// Returns the number of 64-bit words that it takes.
    pub fn words(&self) -> usize {
        self.value_bytes.saturating_mul(self.len).div_ceil(8)
    }
}

/// The optional contents of a file that its frames are to hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FrameContents {
    /// Animated vertex attributes.
    pub attributes: bool,
    /// Posed points of meshes that bones move.
    pub poses: bool,
    /// Decoded points of soft meshes of the preset `fast`.
    pub points: bool,
    /// Upper limit for the bytes per frame of any unit, on average over the unit's frames.
    pub max_coded_bytes: usize,
    /// Upper limit for the bytes of a unit with chain links.
    pub max_link_bytes: usize,
}

impl FrameContents {
    fn keeps_coded(&self, mesh: &MeshRecord, stream: &StreamRecord) -> bool {
        !self.points && can_stay_coded(mesh, stream)
    }
}

/// `true` if a stream is points that need not be decoded. Never for a mesh with a lead-in or lead-out, whose
/// frames are numbered otherwise.
pub(crate) fn can_stay_coded(mesh: &MeshRecord, stream: &StreamRecord) -> bool {
    let fast = mesh.method == Method::Soft && mesh.codec == CODEC_FAST && mesh.moving_frames.is_none();
    let points = stream.semantic == Semantic::Position && stream.animated;
    fast && points && matches!(stream.coding, Coding::FixedPoint | Coding::Heights)
}

/// The places of all values in a frame's buffer; derived from the description.
pub(crate) struct FrameLayout {
    /// The visibility bit of each node whose visibility is animated.
    pub visibility_bits: Vec<Option<u32>>,
    /// The visibility bits, as bytes.
    pub visibility: ArrayLayout,
    /// A byte for each mesh, which names its end state; empty if no mesh has one.
    pub end_states: ArrayLayout,
    /// The index of each node among the animated transforms.
    pub transform_indices: Vec<Option<u32>>,
    /// The animated transforms.
    pub transforms: ArrayLayout,
    /// The decoder of the transforms if they are coded, and the place of its state.
    pub node_decoder: Option<NodeTracks>,
    pub transform_states: ArrayLayout,
    pub meshes: Vec<MeshLayout>,
    /// `true` if there are meshes whose points are not decoded.
    pub has_coded_points: bool,
    /// 64-bit words of a frame.
    pub words: usize,
    /// 64-bit words that decoding a unit needs besides its raw bytes: the largest fixed-point stream, once.
    pub scratch_words: usize,
}

pub(crate) struct MeshLayout {
    /// The place of each stream's quantized values; `None` if it is static or predicted.
    pub streams: Vec<Option<ArrayLayout>>,
    /// Places of transforms, handles and residuals, for a mesh that bones move.
    pub bones: Option<BonesLayout>,
    /// Places of counts, triangles and materials, for a fluid mesh.
    pub fluid: Option<FluidLayout>,
    /// Places of counts, ids and curves, for particles.
    pub particles: Option<ParticlesLayout>,
    /// Places of the data that later frames need, for particles in chains.
    pub chain: Option<ChainLayout>,
    /// For each stream of predicted normals, the place of the states from which later frames are predicted.
    pub normal_states: Vec<Option<ArrayLayout>>,
    /// Index ranges of the materials of fixed topology.
    pub material_ranges: Vec<IndexRange>,
    /// The place of coded words, for a mesh whose points are not decoded. The words of a unit continue from
    /// one of its frames to the next.
    pub coded_points: Option<ArrayLayout>,
}

/// Places of the bones of a mesh in a frame, besides the positions that they give, see
/// [`meshreel_codec::mesh::skin`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct BonesLayout {
    /// Transforms of rigid bones.
    pub transforms: ArrayLayout,
    /// The states that transforms of other frames are predicted from, or that packed transforms are made of.
    pub states: ArrayLayout,
    /// Fixed-point positions of the handles of affine bones.
    pub handles: ArrayLayout,
    /// Fixed-point residuals.
    pub residual: ArrayLayout,
}

/// Places of a mesh that brings its own topology.
pub(crate) struct FluidLayout {
    /// u32: counts of vertices, indices, source points and points, and the run of this frame; see
    /// [`crate::decode::fluid`].
    pub counts: ArrayLayout,
    /// [`IndexRange`]s, one for each material.
    pub materials: ArrayLayout,
    /// u32: three per triangle.
    pub indices: ArrayLayout,
    /// u32: point of each vertex, if vertices can share one.
    pub point: ArrayLayout,
}

/// Places of particles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ParticlesLayout {
    /// u32: counts of points and curves, and the run of this frame; see [`crate::decode::particles`].
    pub counts: ArrayLayout,
    /// u64: id of each point, if they have ids.
    pub ids: ArrayLayout,
    /// u32: number of points of each curve, if they are of curves.
    pub curves: ArrayLayout,
}

/// Particles in chains, see [`crate::decode::chain`].
pub(crate) struct ChainLayout {
    /// The coding of links.
    pub coding: chain::ChainCoding,
    /// The mesh's streams.
    pub streams: Vec<chain::ChainStream>,
    /// u32: the motion of the points of a key frame, stream by stream.
    pub motion: ArrayLayout,
    /// u32: the number of bytes of links.
    pub link_size: ArrayLayout,
    /// Bytes of links, with the first frame of the unit that has them.
    pub links: ArrayLayout,
}

impl ChainLayout {
    /// Returns the bytes of memory that decoding takes besides frames, for this many points and curves.
    pub fn context_bytes(&self, ids: bool, points: u64, curves: u64) -> u64 {
        const FRAME_BYTES: usize = 96;
        let components = || self.streams.iter().map(|stream| stream.components);
        let values: usize = self.streams.iter().map(|stream| stream.components * stream.word).sum();
        let each = values + if ids { 8 } else { 0 };
        let lists = FRAME_BYTES + self.streams.len() * (size_of::<Vec<u32>>() + 4);
        let waiting = points.saturating_mul(each as u64).saturating_add(4 * curves + lists as u64);
        chain::Chain::bytes(self.coding, points, curves, components())
            .saturating_add(waiting.saturating_mul(2 * WAITING_FRAMES as u64))
    }

    fn new(
        mesh: &MeshRecord,
        coding: chain::ChainCoding,
        asked: FrameContents,
        shelf: &mut LayoutBuilder,
    ) -> ChainLayout {
        let streams = mesh.streams.iter().map(|stream| chain::ChainStream {
            components: stream.semantic.components(),
            word: usize::from(stream.word),
        });
        let streams: Vec<chain::ChainStream> = streams.collect();
        let words: usize = streams.iter().map(|stream| coding.state_len(stream.components)).sum();
        let vertices = mesh.vertices as usize;
        let most = asked.max_link_bytes.min(max_particles_bytes(mesh, u64::from(KEY_INTERVAL)) as usize);
        ChainLayout {
            coding,
            motion: shelf.add_array(4, words.saturating_mul(vertices)),
            link_size: shelf.add_array(4, 1),
            links: shelf.add_array(1, most),
            streams,
        }
    }
}

/// The frames of a group that decoding keeps until their own units come: all but its keys. They are kept of
/// two groups.
pub(crate) const WAITING_FRAMES: usize = KEY_INTERVAL as usize - 1;

/// Upper limit for the bytes of particles in a unit, or in links, of `frames` frames.
pub(crate) fn max_particles_bytes(mesh: &MeshRecord, frames: u64) -> u64 {
    const HEADER_BYTES: u64 = 64;
    let vertices = u64::from(mesh.vertices);
    let curves = mesh.particles.and_then(|p| p.curves).map_or(0, |c| u64::from(c.max_curves));
    // Kind and counts, ids or curves; then weights and values, which range coding can make longer than they
    // are.
    let points = HEADER_BYTES + 12 * vertices + 6 * curves;
    let value = |stream: &StreamRecord| stream.semantic.components() as u64 * u64::from(stream.word);
    // Packed blocks that are not full take as much as full ones.
    let padding = |stream: &StreamRecord| 3 * HEADER_BYTES * stream.semantic.components() as u64;
    let streams = (mesh.streams.iter())
        .map(|stream| 4 * HEADER_BYTES + padding(stream) + vertices * (2 * value(stream) + 4));
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

/// `true` if frames of a mesh, and not only its static values, are decoded by its predictor table.
pub(crate) fn needs_table(mesh: &MeshRecord) -> bool {
    mesh.streams.iter().any(|stream| stream.animated && stream.coding == Coding::Quantized)
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
    let handles = words(HANDLES * bones.affine as usize, handle_bytes(&bones));
    residual.max(handles) + matrix_words(&bones)
}

/// Bytes per component of the handles.
pub(crate) fn handle_bytes(bones: &BoneCounts) -> u8 {
    if bones.wide { 4 } else { 2 }
}

/// Returns the 32-bit words of state that rigid bones have in a frame: those that other frames are predicted
/// from, or packed transforms as they are.
pub(crate) fn state_words(bones: &BoneCounts) -> usize {
    match bones.packed() {
        true => packed::frame_words(bones.rigid as usize),
        false => bones.codes_per_frame as usize,
    }
}

/// Returns the 64-bit words of the matrices of a frame.
pub(crate) fn matrix_words(bones: &BoneCounts) -> usize {
    (bones.rigid as usize + bones.affine as usize + 1) * size_of::<Matrix>() / 8
}

/// Returns the decoder of node transforms; `None` if they are stored unpacked.
fn node_decoder(description: &Description) -> Result<Option<NodeTracks>, Corrupt> {
    if description.node_setup.is_empty() {
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
                None => (node.reach > 0.0).then(|| Node::locator_bounds(node.reach)),
            },
        })
        .collect();
    NodeTracks::new(&nodes, &description.node_setup).map(Some)
}

/// Assigns places one after the other.
#[derive(Default)]
struct LayoutBuilder(usize);

impl LayoutBuilder {
    fn add_array(&mut self, size: usize, len: usize) -> ArrayLayout {
        let mut place = ArrayLayout { offset: self.0, value_bytes: size, len };
        // There may be very many small parts, which are packed closely.
        if place.words() >= CACHE_LINE_WORDS {
            place.offset = self.0.div_ceil(CACHE_LINE_WORDS).saturating_mul(CACHE_LINE_WORDS);
        }
        self.0 = place.offset.saturating_add(place.words());
        place
    }

    fn add_stream(&mut self, mesh: &MeshRecord, stream: &StreamRecord, asked: FrameContents) -> ArrayLayout {
        let word = usize::from(stream.word);
        match stream.coding {
            _ if asked.keeps_coded(mesh, stream) => self.add_array(4 * word, 0),
            Coding::Bones if !asked.poses => self.add_array(4 * word, 0),
            Coding::FixedPoint | Coding::Bones | Coding::Heights => {
                self.add_array(4 * word, fixed_point_parts(stream) * fixed_point_count(mesh, stream))
            }
            _ => self.add_array(word, stream.semantic.components() * mesh.vertices as usize),
        }
    }
}

impl FrameLayout {
    /// Allocates no more than the description has; the sizes that it states are checked against limits
    /// afterwards. Contents that are not asked for have no place.
    pub fn new(description: &Description, asked: FrameContents) -> Result<FrameLayout, Corrupt> {
        let coded = node_decoder(description)?;
        let mut shelf = LayoutBuilder::default();
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
        let visibility = shelf.add_array(1, bits.div_ceil(8) as usize);
        let any_at_rest = description.meshes.iter().any(|m| m.moving_frames.is_some());
        let end_states = shelf.add_array(1, if any_at_rest { description.meshes.len() } else { 0 });
        let transforms = shelf.add_array(size_of::<Transform>(), animated as usize);
        let states = shelf.add_array(size_of::<i32>(), coded.as_ref().map_or(0, |n| n.codes_per_frame));
        let meshes: Vec<MeshLayout> =
            (description.meshes.iter()).map(|mesh| MeshLayout::new(mesh, asked, &mut shelf)).collect();
        let streams = (description.meshes.iter())
            .flat_map(|mesh| (mesh.streams.iter().enumerate()).map(move |(s, stream)| (mesh, s, stream)))
            .filter(|(mesh, s, _)| asked.attributes || !mesh.is_attribute(*s))
            .map(|(mesh, _, stream)| (mesh, stream));
        let fixed_point = streams.filter(|(_, stream)| stream.coding.has_fixed_point());
        let scratch = fixed_point.map(|(mesh, stream)| fixed_point_scratch(mesh, stream));
        let kept =
            meshes.iter().filter_map(|mesh| mesh.coded_points).map(|place| MAX_UNIT_FRAMES * place.words());
        let scratch = scratch.chain(kept).max().unwrap_or(0);
        Ok(FrameLayout {
            visibility_bits: visible,
            visibility,
            end_states,
            transform_indices: transform_numbers,
            transforms,
            node_decoder: coded,
            transform_states: states,
            has_coded_points: meshes.iter().any(|mesh| mesh.coded_points.is_some()),
            meshes,
            words: shelf.0,
            scratch_words: scratch,
        })
    }
}

impl MeshLayout {
    fn new(mesh: &MeshRecord, asked: FrameContents, shelf: &mut LayoutBuilder) -> MeshLayout {
        let of_frame = |s: usize| match mesh.method {
            Method::Static => false,
            Method::Soft | Method::Rigid | Method::Skinned => {
                mesh.streams[s].animated && (asked.attributes || !mesh.is_attribute(s))
            }
            Method::Fluid | Method::Particles => true,
        };
        let coded = mesh.streams.iter().find(|stream| asked.keeps_coded(mesh, stream)).map(|stream| {
            let points = fixed_point_count(mesh, stream);
            shelf.add_array(4, index::max_words(points, stream.word != 2, asked.max_coded_bytes))
        });
        let bones = mesh.streams.first().filter(|s| s.coding == Coding::Bones);
        let bones = bones.map(|s| (s.bones, usize::from(s.word)));
        MeshLayout {
            fluid: (mesh.method == Method::Fluid).then(|| FluidLayout {
                counts: shelf.add_array(4, 5),
                materials: shelf.add_array(size_of::<IndexRange>(), mesh.materials.len()),
                indices: shelf.add_array(4, mesh.indices as usize),
                point: shelf.add_array(4, if mesh.points > 0 { mesh.vertices as usize } else { 0 }),
            }),
            particles: mesh.particles.filter(|_| mesh.method.changes()).map(|particles| ParticlesLayout {
                counts: shelf.add_array(4, 3),
                ids: shelf.add_array(8, if particles.ids { mesh.vertices as usize } else { 0 }),
                curves: shelf.add_array(4, particles.curves.map_or(0, |curves| curves.max_curves as usize)),
            }),
            chain: mesh.chain_coding().map(|coding| ChainLayout::new(mesh, coding, asked, shelf)),
            streams: (mesh.streams.iter().enumerate())
                .map(|(at, s)| {
                    (of_frame(at) && s.coding != Coding::Predicted).then(|| shelf.add_stream(mesh, s, asked))
                })
                .collect(),
            normal_states: (mesh.streams.iter().enumerate())
                .map(|(at, s)| {
                    let kept = s.coding == Coding::Predicted && of_frame(at);
                    kept.then(|| shelf.add_array(2, s.states as usize))
                })
                .collect(),
            // After the positions, which are computed from them.
            bones: bones.map(|(bones, word)| BonesLayout {
                transforms: shelf.add_array(size_of::<Transform>(), bones.rigid as usize),
                states: shelf.add_array(size_of::<u32>(), state_words(&bones)),
                handles: shelf
                    .add_array(4 * usize::from(handle_bytes(&bones)), HANDLES * bones.affine as usize),
                residual: shelf.add_array(4 * word, bones.coded as usize),
            }),
            material_ranges: (mesh.materials.iter())
                .map(|m| IndexRange { first: m.first, count: m.count })
                .collect(),
            coded_points: coded,
        }
    }
}
