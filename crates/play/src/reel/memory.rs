//! The memory of an open file while it is decoded: the sum of everything that is allocated, computed from the
//! description and the tables alone, so that it can be checked against [`crate::Limits`] before. Only tables
//! of the soft codec that a file brings itself are counted when they are read
//! ([`TableSets`](meshreel_codec::mesh::table_sets::TableSets)), as it is not known before which streams
//! share them.

use crate::reel::end_states::MotionWindow;
use crate::reel::fixed_point::FixedPointStream;
use crate::reel::layout::{
    ArrayLayout, FrameLayout, IndexRange, MeshLayout, fixed_point_count, fixed_point_parts, needs_table,
    state_words,
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
    CODEC_CLASSIC, Coding, Description, MaterialRecord, MeshRecord, Method, NodeRecord, Semantic,
    StreamRecord,
};
use meshreel_codec::topology::compact;
use meshreel_codec::values::changing::ChangingBuffers;
use meshreel_codec::values::particles;
use meshreel_format::{ChunkEntry, FrameEntry, Reader, kind};
use std::collections::HashSet;

/// Bytes of static data per fixed-point position: its place in the hierarchy, neighbours and their weights.
const POSITION_BYTES: u64 = 32;
/// Bytes of static data per fixed-point position that bones predict: its bones besides.
const SKINNED_POSITION_BYTES: u64 = 256;
/// Bytes per part of a stream of fixed-point positions, whatever its size: room for one block more than there
/// are points, and small lists.
const STREAM_PART_BYTES: u64 = 640;
/// Bytes per bone: its region, its track, its matrix.
const BONE_BYTES: u64 = 512;
/// Bytes per vertex of predicted normals: its place, group and class, and buffers of the frame that is built,
/// also beyond both ends. Lists by corners are counted when they are made.
const NORMAL_BYTES_PER_VERTEX: u64 = 128;
/// Bytes per vertex of these lists on ordinary irregular meshes: of normals alone, and with tangents.
const EXPECTED_LIST_BYTES: [u64; 2] = [40, 100];
/// Bytes per stream of predicted normals: small lists, and blocks of vectors that are not full.
const NORMAL_STREAM_BYTES: u64 = 2048;
/// Bytes for normals that rigid bones turn: per vertex its normal and tangent at rest, and the bone of
/// points, groups and classes while they are made; per bone its rotation; blocks that are not full.
const TURNED_BYTES_PER_VERTEX: u64 = 32 + 16;
const TURNED_BYTES_PER_BONE: u64 = 48;
const TURNED_STREAM_BYTES: u64 = 1024;
/// Bytes while the hierarchy of a mesh is made, per point and per index: neighbours by vertex, sorted.
const BUILD_BYTES_PER_POINT: u64 = 256;
const BUILD_BYTES_PER_INDEX: u64 = 32;
/// The same for predicted normals: polygons, and corners sorted by the vector that they add to.
const NORMAL_BUILD_BYTES_PER_VERTEX: u64 = 64;
const NORMAL_BUILD_BYTES_PER_INDEX: u64 = 24;
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
        self.add_nodes(&mut sum);
        // A decoder allocates its frames when all static data is there.
        let mut decoder = ByteSum::default();
        self.add_decoder(&mut decoder);
        let build = self.description.meshes.iter().map(|m| self.build_bytes(m)).max();
        sum.add(1, decoder.0.max(build.unwrap_or(0)));
        self.add_chunks(&mut sum);
        sum.0
    }

    /// Returns the bytes that lists of predicted normals are expected to take, counted when they are made.
    pub fn expected_list_bytes(&self) -> u64 {
        let mut sum = ByteSum::default();
        for mesh in &self.description.meshes {
            for stream in mesh.streams.iter().filter(|stream| stream.coding == Coding::Predicted) {
                sum.add(
                    u64::from(mesh.vertices),
                    EXPECTED_LIST_BYTES[usize::from(stream.semantic == Semantic::QTangent)],
                );
            }
        }
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
                    let ids = mesh.particles.is_some_and(|particles| particles.ids);
                    sum.add(1, chain.context_bytes(ids, vertices, curves));
                    sum.list::<particles::chain::ChainStream>(chain.streams.len());
                }
                None => sum.add(1, particles::ParticleBuffers::bytes(vertices)),
            }
            return;
        }
        if mesh.method == Method::Fluid {
            match mesh.codec {
                // The table of a frame, and what it is derived from.
                CODEC_CLASSIC => sum.add(1, table_build_bytes(vertices, indices) + 6 * vertices),
                _ => sum.add(1, ChangingBuffers::bytes(vertices, indices)),
            }
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
        if let Some(particles) = mesh.particles {
            sum.add(if particles.ids { vertices } else { 0 }, 8);
            sum.add(particles.curves.map_or(0, |curves| curves.max_curves.into()), 4);
        }
        if mesh.has_table && needs_table(mesh) {
            sum.add(vertices, 6);
        }
        sum.list::<QuantizedBuffer>(mesh.streams.len());
        sum.list::<Vec<FixedPointStream>>(mesh.streams.len());
        sum.list::<Option<Box<PredictedNormals>>>(mesh.streams.len());
        sum.list::<u32>(mesh.streams.len());
        for (s, stream) in mesh.streams.iter().enumerate() {
            if !mesh.is_attribute(s) || self.limits.attributes {
                self.add_stream(mesh, stream, sum);
            }
        }
    }

    /// Adds the static data of one stream.
    fn add_stream(&self, mesh: &MeshRecord, stream: &StreamRecord, sum: &mut ByteSum) {
        let vertices = u64::from(mesh.vertices);
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
                sum.add(1, normal_bytes(mesh, stream));
                sum.list::<PredictedNormals>(1);
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
                // The point of each vertex.
                sum.add(vertices, 4);
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
        if mesh.has_table {
            sum.add(1, table_build_bytes(vertices, indices));
        }
        let mut hierarchy = ByteSum::default();
        if mesh.streams.iter().any(|s| s.coding.has_fixed_point()) {
            hierarchy.add(vertices, BUILD_BYTES_PER_POINT);
            hierarchy.add(indices, BUILD_BYTES_PER_INDEX);
        }
        // One after the other; static values need the table.
        sum.0 = sum.0.max(hierarchy.0);
        sum.add(if mesh.has_table { vertices } else { 0 }, 6);
        // Triangles are decoded before.
        let triangles = if mesh.method.changes() { 0 } else { compact::memory(vertices, indices) };
        let predicted = || mesh.streams.iter().filter(|s| s.coding == Coding::Predicted);
        if predicted().next().is_none() {
            return sum.0.max(triangles);
        }
        // Normals are made last: before, the memory of what they hold is free.
        let held: u64 = predicted().map(|stream| normal_bytes(mesh, stream)).sum();
        let mut normals = ByteSum::default();
        normals.add(vertices, NORMAL_BUILD_BYTES_PER_VERTEX);
        normals.add(indices, NORMAL_BUILD_BYTES_PER_INDEX);
        normals.0.max(sum.0.max(triangles).saturating_sub(held))
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
    }

    /// Adds the chunks that are read, and what decompresses them.
    fn add_chunks(&self, sum: &mut ByteSum) {
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

/// Returns the bytes from which a predictor table is derived: the corners of each vertex, choices of one.
fn table_build_bytes(vertices: u64, indices: u64) -> u64 {
    4 * indices + 4 * vertices + 1024
}

/// Returns the bytes of a stream of predicted normals, without the lists that are counted when they are made.
fn normal_bytes(mesh: &MeshRecord, stream: &StreamRecord) -> u64 {
    let mut sum = ByteSum::default();
    sum.add(u64::from(mesh.vertices), NORMAL_BYTES_PER_VERTEX);
    sum.add(u64::from(stream.states), 4);
    sum.add(1, NORMAL_STREAM_BYTES);
    sum.0
}
