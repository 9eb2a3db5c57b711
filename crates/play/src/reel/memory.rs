//! The memory of an open file while it is decoded: the sum of everything that is allocated, computed from the
//! description and the tables alone, so that it can be checked against [`crate::Limits`] before. Only tables
//! of the soft codec that a file brings itself are counted when they are read
//! ([`TableSets`](meshreel_codec::mesh::table_sets::TableSets)), as it is not known before which streams
//! share them.

use crate::reel::end_states::MotionWindow;
use crate::reel::fixed_point::FixedPointStream;
use crate::reel::layout::{
    ArrayLayout, FrameLayout, IndexRange, MeshLayout, fixed_point_count, fixed_point_parts, state_words,
};
use crate::reel::limits::Limits;
use crate::reel::normals::PredictedNormals;
use crate::reel::order::DecodeOrder;
use crate::reel::quantized::QuantizedBuffer;
use crate::reel::statics::StaticMesh;
use crate::reel::{lod, visibility};
use meshreel_codec::clip::nodes::NodeTrack;
use meshreel_codec::mesh::decode::StaticPart;
use meshreel_codec::record::ranges::FrameRange;
use meshreel_codec::record::{
    CODEC_CLASSIC, Coding, Description, MaterialRecord, MeshRecord, Method, NodeRecord, StreamRecord,
};
use meshreel_codec::topology::compact;
use meshreel_codec::values::changing::ChangingBuffers;
use meshreel_codec::values::particles;
use meshreel_format::{ChunkEntry, FrameEntry, Reader, kind};
use std::collections::HashSet;

/// Bytes of static data per fixed-point position: its place in the hierarchy, neighbours and their weights.
const POSITION_BYTES: u64 = 96;
/// Bytes of static data per fixed-point position that bones predict: its bones besides.
const SKINNED_POSITION_BYTES: u64 = 256;
/// Bytes per part of a stream of fixed-point positions, whatever its size: room for one block more than there
/// are points, and small lists.
const STREAM_PART_BYTES: u64 = 640;
/// Bytes per bone: its region, its track, its matrix.
const BONE_BYTES: u64 = 512;
/// Bytes per vertex and per index of predicted normals: groups, their neighbours, up to sixteen rows of
/// vectors and of points around each sixteen, polygons, buffers of the frame that is built.
const NORMAL_BYTES_PER_VERTEX: u64 = 384;
const NORMAL_BYTES_PER_INDEX: u64 = 64;
/// Bytes per stream of predicted normals: small lists, and blocks of vectors that are not full.
const NORMAL_STREAM_BYTES: u64 = 2048;
/// Bytes for normals that rigid bones turn: per vertex its normal and tangent at rest, and the bone of
/// points, groups and classes while they are made; per bone its rotation; blocks that are not full.
const TURNED_BYTES_PER_VERTEX: u64 = 32 + 16;
const TURNED_BYTES_PER_BONE: u64 = 48;
const TURNED_STREAM_BYTES: u64 = 1024;
/// Polygons are laid out in blocks of sixteen, by their number of corners. Bytes of a block that holds only
/// one: per index of that polygon, and the upper limit in total.
const BLOCK_BYTES_PER_INDEX: u64 = 320;
const MAX_BLOCK_BYTES: u64 = 43_000;
/// Bytes while the hierarchy of a mesh is made, per point and per index: neighbours by vertex, sorted.
const BUILD_BYTES_PER_POINT: u64 = 256;
const BUILD_BYTES_PER_INDEX: u64 = 32;
/// The same for predicted normals, per corner: corners, sorted by the vector that they add to.
const BUILD_BYTES_PER_CORNER: u64 = 144;
/// Bytes of the decompressors' contexts: one that decodes, one that reads static data.
const DECOMPRESSOR_BYTES: u64 = 2 * (192 << 10);
/// Bytes that an allocator adds to each allocation.
const ALLOCATION_OVERHEAD: u64 = 16;

/// A saturating sum of bytes.
#[derive(Default)]
pub(crate) struct ByteSum(u64);

impl ByteSum {
    fn add(&mut self, count: u64, bytes: u64) {
        self.0 = self.0.saturating_add(count.saturating_mul(bytes));
    }

    fn list<T>(&mut self, count: usize) {
        self.add(count as u64, size_of::<T>() as u64);
        self.add(1, ALLOCATION_OVERHEAD);
    }
}

/// Returns the bytes of the description in memory.
pub(crate) fn description_bytes(description: &Description) -> u64 {
    let mut sum = ByteSum::default();
    sum.list::<u8>(description.generator.len() + description.options.len());
    sum.list::<u8>(description.node_setup.len());
    sum.list::<NodeRecord>(description.nodes.len());
    sum.list::<MeshRecord>(description.meshes.len());
    for node in &description.nodes {
        sum.list::<u8>(node.path.len());
    }
    for mesh in &description.meshes {
        sum.list::<u8>(mesh.path.len());
        sum.add(1, stream_record_bytes(&mesh.streams));
        sum.list::<MaterialRecord>(mesh.materials.len());
        for material in &mesh.materials {
            sum.list::<u8>(material.name.len());
        }
    }
    sum.0
}

fn stream_record_bytes(streams: &[StreamRecord]) -> u64 {
    let mut sum = ByteSum::default();
    sum.list::<StreamRecord>(streams.len());
    for stream in streams {
        sum.list::<u8>(stream.name.len());
        sum.add(stream.axes.len() as u64, 12);
    }
    sum.0
}

/// Returns the bytes of the windows in which meshes move: at most a few numbers for each unit of the file.
pub(crate) fn window_bytes(description: &Description, units: usize) -> u64 {
    let moves = description.meshes.iter().filter_map(|m| m.moving_frames);
    let windows: HashSet<[u32; 2]> = moves.collect();
    windows.len() as u64 * (64 + 24 * units as u64)
}

/// Returns the bytes of named ranges, each of which takes three bytes or more in the file.
pub(crate) fn range_bytes(reader: &Reader) -> u64 {
    let chunks = reader.chunks().iter().filter(|c| c.kind == kind::RANGES);
    let raw: u64 = chunks.map(|c| u64::from(c.raw_size)).sum();
    raw / 3 * (2 * size_of::<FrameRange>() as u64 + ALLOCATION_OVERHEAD) + 2 * raw
}

/// Everything about a file that determines how much memory it takes.
pub(crate) struct MemoryInputs<'a> {
    pub description: &'a Description,
    pub reader: &'a Reader,
    pub layout: &'a FrameLayout,
    pub order: &'a DecodeOrder,
    pub motion_windows: &'a [Option<MotionWindow>],
    /// Bytes of the lists in `motion_windows`, and of the named ranges.
    pub window_and_range_bytes: u64,
    pub limits: &'a Limits,
    /// `true` if there are chunks of these kinds.
    pub has_lods: bool,
    pub has_triangle_visibility: bool,
}

impl MemoryInputs<'_> {
    /// Returns the bytes that the static data and one decoder take together, with all that is held to open
    /// the file.
    pub fn bytes(&self) -> u64 {
        let mut sum = ByteSum::default();
        self.add_tables(&mut sum);
        for (mesh, layout) in self.description.meshes.iter().zip(&self.layout.meshes) {
            self.add_mesh(mesh, layout, &mut sum);
        }
        let scratch = self.description.meshes.iter().map(|m| self.build_bytes(m)).max();
        sum.add(1, scratch.unwrap_or(0));
        self.add_nodes(&mut sum);
        self.add_decoder(&mut sum);
        sum.0
    }

    /// Adds the tables, the description, and what is derived from them.
    fn add_tables(&self, sum: &mut ByteSum) {
        let units = match self.order {
            DecodeOrder::Serial { groups } => groups.len(),
            DecodeOrder::Layered { units, .. } => units.len(),
        };
        sum.list::<FrameEntry>(self.reader.frames().len());
        sum.list::<ChunkEntry>(self.reader.chunks().len());
        sum.add(1, description_bytes(self.description));
        // Number, place, frames or groups; lists that grew by doubling.
        sum.add(units as u64, 40);
        sum.list::<Option<MotionWindow>>(self.motion_windows.len());
        sum.list::<Option<[u32; 2]>>(self.description.meshes.len());
        sum.add(1, self.window_and_range_bytes);
    }

    /// Adds one mesh: its layout and its static data.
    fn add_mesh(&self, mesh: &MeshRecord, layout: &MeshLayout, sum: &mut ByteSum) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        sum.list::<MeshLayout>(1);
        sum.list::<Option<ArrayLayout>>(layout.streams.len());
        sum.list::<Option<ArrayLayout>>(layout.normal_states.len());
        sum.list::<IndexRange>(layout.material_ranges.len());
        // Once while it is made and once where it is held; its place in the list of all.
        sum.list::<StaticMesh>(2);
        sum.add(1, 64);
        if mesh.method == Method::Particles {
            match &layout.chain {
                Some(chain) => {
                    let curves = mesh.particles.and_then(|p| p.curves).map_or(0, |c| u64::from(c.max_curves));
                    let components = chain.streams.iter().map(|stream| stream.components);
                    sum.add(1, particles::chain::Chain::bytes(vertices, curves, components));
                    sum.list::<particles::chain::ChainStream>(chain.streams.len());
                }
                None => sum.add(1, particles::ParticleBuffers::bytes(vertices)),
            }
            return;
        }
        if mesh.method == Method::Fluid {
            if mesh.codec != CODEC_CLASSIC {
                sum.add(1, ChangingBuffers::bytes(vertices, indices));
            }
            sum.add(vertices, 6);
            return;
        }
        let made_of = u64::from(mesh.connectivity.size) + u64::from(mesh.values.size);
        sum.add(1, made_of + 2 * ALLOCATION_OVERHEAD);
        sum.add(1, stream_record_bytes(&mesh.streams));
        sum.add(indices, 4);
        // The point of each vertex, which compact triangles bring.
        sum.add(vertices, 4);
        sum.add(1, 2 * ALLOCATION_OVERHEAD);
        if self.has_lods {
            sum.add(1, lod::max_bytes(mesh));
        }
        if self.has_triangle_visibility {
            sum.add(1, visibility::max_bytes(mesh));
        }
        if mesh.has_table {
            sum.add(vertices, 6);
        }
        sum.list::<QuantizedBuffer>(mesh.streams.len());
        sum.list::<Vec<FixedPointStream>>(mesh.streams.len());
        sum.list::<Option<Box<PredictedNormals>>>(mesh.streams.len());
        for (s, stream) in mesh.streams.iter().enumerate() {
            if !mesh.is_attribute(s) || self.limits.attributes {
                self.add_stream(mesh, stream, sum);
            }
        }
    }

    /// Adds the static data of one stream.
    fn add_stream(&self, mesh: &MeshRecord, stream: &StreamRecord, sum: &mut ByteSum) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        let word = u64::from(stream.word);
        let part = |sum: &mut ByteSum, points: u64, each: u64| {
            sum.add(points, each + 4 * word);
            sum.add(1, size_of::<StaticPart>() as u64 + STREAM_PART_BYTES);
        };
        match stream.coding {
            Coding::Quantized => {
                sum.add(vertices * stream.semantic.components() as u64, word);
            }
            Coding::Predicted => {
                // Points between two frames.
                sum.add(vertices, 16);
                sum.add(u64::from(stream.states), 4);
                sum.add(vertices, NORMAL_BYTES_PER_VERTEX);
                sum.add(indices, NORMAL_BYTES_PER_INDEX);
                sum.list::<PredictedNormals>(1);
                sum.add(
                    1,
                    NORMAL_STREAM_BYTES + MAX_BLOCK_BYTES.min(indices.saturating_mul(BLOCK_BYTES_PER_INDEX)),
                );
                let rigid = mesh.streams.first().map_or(0, |positions| positions.bones.rigid);
                if rigid > 0 {
                    sum.add(vertices, TURNED_BYTES_PER_VERTEX);
                    sum.add(1 + u64::from(rigid), TURNED_BYTES_PER_BONE);
                    sum.add(1, TURNED_STREAM_BYTES);
                }
            }
            Coding::FixedPoint | Coding::Heights => {
                sum.list::<FixedPointStream>(fixed_point_parts(stream));
                for _ in 0..fixed_point_parts(stream) {
                    part(sum, fixed_point_count(mesh, stream) as u64, POSITION_BYTES);
                }
                // The point of each vertex; the plane of heights.
                sum.add(vertices, 4);
                if stream.coding == Coding::Heights {
                    sum.add(vertices, 16);
                }
            }
            Coding::Bones => {
                let b = stream.bones;
                sum.list::<FixedPointStream>(1);
                part(sum, fixed_point_count(mesh, stream) as u64, SKINNED_POSITION_BYTES);
                part(sum, u64::from(b.coded), POSITION_BYTES);
                part(sum, 4 * u64::from(b.affine), POSITION_BYTES + 8);
                sum.add(u64::from(b.rigid) + u64::from(b.affine), BONE_BYTES);
                sum.add(state_words(&b) as u64, 8);
                sum.add(vertices, 8);
                // A rig, with lists by the number of bones of a point.
                sum.add(1, 8192);
            }
        }
    }

    /// Returns the bytes that are needed temporarily to make the static data of a mesh.
    fn build_bytes(&self, mesh: &MeshRecord) -> u64 {
        let mut sum = ByteSum::default();
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        if mesh.has_table || mesh.method == Method::Fluid {
            // Deriving a predictor table: the corners of each vertex, and at most six choices per corner and
            // one per vertex, never more than 32 per vertex, in a list that grows by doubling.
            let choices = (32 * vertices).min(6 * indices + vertices);
            sum.add(1, 4 * indices + 8 * vertices + 3 * 6 * choices);
        }
        let fixed_point = |s: &StreamRecord| s.coding.has_fixed_point() || s.coding == Coding::Predicted;
        if mesh.streams.iter().any(fixed_point) {
            sum.add(vertices, BUILD_BYTES_PER_POINT);
            sum.add(indices, BUILD_BYTES_PER_INDEX);
        }
        if mesh.streams.iter().any(|s| s.coding == Coding::Predicted) {
            sum.add(indices, BUILD_BYTES_PER_CORNER);
        }
        // Triangles are decoded before.
        let triangles = if mesh.method.changes() { 0 } else { compact::memory(vertices, indices) };
        sum.0.max(triangles)
    }

    fn add_nodes(&self, sum: &mut ByteSum) {
        let nodes = &self.description.nodes;
        let animated = nodes.iter().filter(|n| n.animated).count();
        // Numbers of its bit and its transform; its world matrix.
        sum.add(nodes.len() as u64, 16 + 96);
        if !self.description.node_setup.is_empty() {
            // Its tracks, up to eleven words of initial state, and what making them takes.
            sum.add(animated as u64, 2 * size_of::<NodeTrack>() as u64 + 44);
            sum.add(nodes.len() as u64, 256);
        }
    }

    /// Adds the frames that are held, and what decoding a unit needs.
    fn add_decoder(&self, sum: &mut ByteSum) {
        let still = if self.motion_windows.iter().any(Option::is_some) { 2 } else { 0 };
        let words = self.layout.words as u64;
        sum.add(self.order.held_frames() + still, 8 * words + 64);
        sum.add(self.layout.scratch_words as u64, 8);
        sum.add(self.description.meshes.len() as u64, 8);
        sum.add(self.order.max_wait_units() as u64, 8);
        sum.add(1, DECOMPRESSOR_BYTES);
        // One unit, and while static data loads one chunk, compressed and not.
        let chunks = || {
            (self.reader.chunks().iter())
                .filter(|c| self.limits.attributes || c.kind != kind::VERTEX_ATTRIBUTES)
        };
        let largest = |size: fn(&ChunkEntry) -> u32| chunks().map(size).max();
        sum.add(2, u64::from(largest(|c| c.size).unwrap_or(0)));
        sum.add(2, u64::from(largest(|c| c.raw_size).unwrap_or(0)));
        // The last chunk of source maps that was asked for.
        let maps = chunks().filter(|c| c.kind == kind::SOURCE_MAP);
        sum.add(1, u64::from(maps.map(|c| c.raw_size).max().unwrap_or(0)));
        // The location of each mesh's source map.
        sum.add(self.description.meshes.len() as u64, 24);
    }
}
