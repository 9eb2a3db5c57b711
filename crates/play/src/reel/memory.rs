//! The memory of an open file while it is decoded: the sum of everything that is allocated, computed from the
//! description and the tables alone, so that it can be checked against [`crate::Limits`] before. Only tables
//! of the soft codec that a file brings itself are counted when they are read
//! ([`Sets`](meshreel_codec::mesh::shared::Sets)), as it is not known before which streams share them.

use crate::reel::end_states::MotionWindow;
use crate::reel::fixed_point::FixedPoint;
use crate::reel::layout::{
    Layout, MeshLayout, Place, Range, fixed_point_count, fixed_point_parts, state_words,
};
use crate::reel::limits::Limits;
use crate::reel::normals::Predicted;
use crate::reel::order::Order;
use crate::reel::quantized::QuantizedBuffer;
use crate::reel::statics::StaticMesh;
use crate::reel::{lod, visibility};
use meshreel_codec::clip::nodes::Track;
use meshreel_codec::mesh::decode::Static;
use meshreel_codec::record::ranges::FrameRange;
use meshreel_codec::record::{
    CODEC_CLASSIC, Coding, Description, Material, MeshRecord, Method, NodeRecord, StreamRecord,
};
use meshreel_codec::values::changing::Work;
use meshreel_codec::values::particles;
use meshreel_format::{ChunkEntry, FrameEntry, Reader, kind};
use std::collections::HashSet;

/// Bytes of static data per fixed-point position: its place in the hierarchy, neighbours and their weights.
const CELL: u64 = 96;
/// Bytes of static data per fixed-point position that bones predict: its bones besides.
const RIG_CELL: u64 = 256;
/// Bytes per part of a stream of fixed-point positions, whatever its size: room for one block more than there
/// are points, and small lists.
const PART: u64 = 640;
/// Bytes per bone: its region, its track, its matrix.
const BONE: u64 = 512;
/// Bytes per vertex and per index of predicted normals: groups, their neighbours, up to sixteen rows of
/// vectors and of points around each sixteen, polygons, buffers of the frame that is built.
const NORMAL_VERTEX: u64 = 384;
const NORMAL_INDEX: u64 = 64;
/// Bytes per stream of predicted normals: small lists, and blocks of vectors that are not full.
const NORMALS: u64 = 2048;
/// Bytes for normals that rigid bones turn: per vertex its normal and tangent at rest, and the bone of
/// points, groups and classes while they are made; per bone its rotation; blocks that are not full.
const TURNED_VERTEX: u64 = 32 + 16;
const TURNED_BONE: u64 = 48;
const TURNED: u64 = 1024;
/// Polygons are laid out in blocks of sixteen, by their number of corners. Bytes of a block that holds only
/// one: per index of that polygon, and the upper limit in total.
const BLOCK_INDEX: u64 = 320;
const BLOCKS: u64 = 43_000;
/// Bytes while the hierarchy of a mesh is made, per point and per index: neighbours by vertex, sorted.
const MAKING_CELL: u64 = 256;
const MAKING_INDEX: u64 = 32;
/// The same for predicted normals, per corner: corners, sorted by the vector that they add to.
const MAKING_CORNER: u64 = 144;
/// Bytes of the decompressors' contexts: one that decodes, one that reads static data.
const DECOMPRESSORS: u64 = 2 * (192 << 10);
/// Bytes that an allocator adds to each allocation.
const ALLOCATION: u64 = 16;

/// A saturating sum of bytes.
#[derive(Default)]
pub(crate) struct Sum(u64);

impl Sum {
    fn add(&mut self, count: u64, bytes: u64) {
        self.0 = self.0.saturating_add(count.saturating_mul(bytes));
    }

    fn list<T>(&mut self, count: usize) {
        self.add(count as u64, size_of::<T>() as u64);
        self.add(1, ALLOCATION);
    }
}

/// Returns the bytes of the description in memory.
pub(crate) fn of_description(description: &Description) -> u64 {
    let mut sum = Sum::default();
    sum.list::<u8>(description.generator.len() + description.options.len());
    sum.list::<u8>(description.tracks.len());
    sum.list::<NodeRecord>(description.nodes.len());
    sum.list::<MeshRecord>(description.meshes.len());
    for node in &description.nodes {
        sum.list::<u8>(node.path.len());
    }
    for mesh in &description.meshes {
        sum.list::<u8>(mesh.path.len());
        sum.add(1, of_streams(&mesh.streams));
        sum.list::<Material>(mesh.materials.len());
        for material in &mesh.materials {
            sum.list::<u8>(material.name.len());
        }
    }
    sum.0
}

fn of_streams(streams: &[StreamRecord]) -> u64 {
    let mut sum = Sum::default();
    sum.list::<StreamRecord>(streams.len());
    for stream in streams {
        sum.list::<u8>(stream.name.len());
        sum.add(stream.axes.len() as u64, 12);
    }
    sum.0
}

/// Returns the bytes of the windows in which meshes move: at most a few numbers for each unit of the file.
pub(crate) fn of_windows(description: &Description, units: usize) -> u64 {
    let moves = description.meshes.iter().filter_map(|m| m.moves);
    let windows: HashSet<[u32; 2]> = moves.collect();
    windows.len() as u64 * (64 + 24 * units as u64)
}

/// Returns the bytes of named ranges, each of which takes three bytes or more in the file.
pub(crate) fn of_ranges(reader: &Reader) -> u64 {
    let chunks = reader.chunks().iter().filter(|c| c.kind == kind::RANGES);
    let raw: u64 = chunks.map(|c| u64::from(c.raw_size)).sum();
    raw / 3 * (2 * size_of::<FrameRange>() as u64 + ALLOCATION) + 2 * raw
}

/// Everything about a file that determines how much memory it takes.
pub(crate) struct Parts<'a> {
    pub description: &'a Description,
    pub reader: &'a Reader,
    pub layout: &'a Layout,
    pub order: &'a Order,
    pub own: &'a [Option<MotionWindow>],
    /// Bytes of the lists in `own`.
    pub own_bytes: u64,
    pub limits: &'a Limits,
    /// `true` if there are chunks of these kinds.
    pub lods: bool,
    pub triangle_visibility: bool,
}

impl Parts<'_> {
    /// Returns the bytes that the static data and one decoder take together, with all that is held to open
    /// the file.
    pub fn bytes(&self) -> u64 {
        let mut sum = Sum::default();
        self.opened(&mut sum);
        for (mesh, layout) in self.description.meshes.iter().zip(&self.layout.meshes) {
            self.mesh(mesh, layout, &mut sum);
        }
        let scratch = self.description.meshes.iter().map(|m| self.making(m)).max();
        sum.add(1, scratch.unwrap_or(0));
        self.nodes(&mut sum);
        self.decoder(&mut sum);
        sum.0
    }

    /// Adds the tables, the description, and what is derived from them.
    fn opened(&self, sum: &mut Sum) {
        let units = match self.order {
            Order::Serial { groups } => groups.len(),
            Order::Layered { units, .. } => units.len(),
        };
        sum.list::<FrameEntry>(self.reader.frames().len());
        sum.list::<ChunkEntry>(self.reader.chunks().len());
        sum.add(1, of_description(self.description));
        // Number, place, frames or groups; lists that grew by doubling.
        sum.add(units as u64, 40);
        sum.list::<Option<MotionWindow>>(self.own.len());
        sum.add(1, self.own_bytes);
    }

    /// Adds one mesh: its layout and its static data.
    fn mesh(&self, mesh: &MeshRecord, layout: &MeshLayout, sum: &mut Sum) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        sum.list::<MeshLayout>(1);
        sum.list::<Option<Place>>(layout.streams.len());
        sum.list::<Option<Place>>(layout.states.len());
        sum.list::<Range>(layout.ranges.len());
        // Once while it is made and once where it is held; its place in the list of all.
        sum.list::<StaticMesh>(2);
        sum.add(1, 64);
        if mesh.method == Method::Particles {
            match &layout.chain {
                Some(chain) => {
                    let curves = mesh.particles.and_then(|p| p.curves).map_or(0, |c| u64::from(c.most));
                    let components = chain.streams.iter().map(|stream| stream.components);
                    sum.add(1, particles::chain::Chain::bytes(vertices, curves, components));
                    sum.list::<particles::chain::Stream>(chain.streams.len());
                }
                None => sum.add(1, particles::Work::bytes(vertices)),
            }
            return;
        }
        if mesh.method == Method::Fluid {
            if mesh.codec != CODEC_CLASSIC {
                sum.add(1, Work::bytes(vertices, indices));
            }
            sum.add(vertices, 6);
            return;
        }
        let made_of = u64::from(mesh.connectivity.size) + u64::from(mesh.values.size);
        sum.add(1, made_of + 2 * ALLOCATION);
        sum.add(1, of_streams(&mesh.streams));
        sum.add(indices, 4);
        sum.add(1, ALLOCATION);
        if self.lods {
            sum.add(1, lod::bytes(mesh));
        }
        if self.triangle_visibility {
            sum.add(1, visibility::bytes(mesh));
        }
        if mesh.has_table {
            sum.add(vertices, 6);
        }
        sum.list::<QuantizedBuffer>(mesh.streams.len());
        sum.list::<Vec<FixedPoint>>(mesh.streams.len());
        sum.list::<Option<Box<Predicted>>>(mesh.streams.len());
        for (s, stream) in mesh.streams.iter().enumerate() {
            if !mesh.is_attribute(s) || self.limits.attributes {
                self.stream(mesh, stream, sum);
            }
        }
    }

    /// Adds the static data of one stream.
    fn stream(&self, mesh: &MeshRecord, stream: &StreamRecord, sum: &mut Sum) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        let word = u64::from(stream.word);
        let part = |sum: &mut Sum, points: u64, each: u64| {
            sum.add(points, each + 4 * word);
            sum.add(1, size_of::<Static>() as u64 + PART);
        };
        match stream.coding {
            Coding::Quantized => {
                sum.add(vertices * stream.semantic.components() as u64, word);
            }
            Coding::Predicted => {
                // Points between two frames.
                sum.add(vertices, 16);
                sum.add(u64::from(stream.states), 4);
                sum.add(vertices, NORMAL_VERTEX);
                sum.add(indices, NORMAL_INDEX);
                sum.list::<Predicted>(1);
                sum.add(1, NORMALS + BLOCKS.min(indices.saturating_mul(BLOCK_INDEX)));
                let rigid = mesh.streams.first().map_or(0, |positions| positions.bones.rigid);
                if rigid > 0 {
                    sum.add(vertices, TURNED_VERTEX);
                    sum.add(1 + u64::from(rigid), TURNED_BONE);
                    sum.add(1, TURNED);
                }
            }
            Coding::FixedPoint | Coding::Heights => {
                sum.list::<FixedPoint>(fixed_point_parts(stream));
                for _ in 0..fixed_point_parts(stream) {
                    part(sum, fixed_point_count(mesh, stream) as u64, CELL);
                }
                // The point of each vertex; the plane of heights.
                sum.add(vertices, 4);
                if stream.coding == Coding::Heights {
                    sum.add(vertices, 16);
                }
            }
            Coding::Bones => {
                let b = stream.bones;
                sum.list::<FixedPoint>(1);
                part(sum, fixed_point_count(mesh, stream) as u64, RIG_CELL);
                part(sum, u64::from(b.coded), CELL);
                part(sum, 4 * u64::from(b.affine), CELL + 8);
                sum.add(u64::from(b.rigid) + u64::from(b.affine), BONE);
                sum.add(state_words(&b) as u64, 8);
                sum.add(vertices, 8);
                // A rig, with lists by the number of bones of a point.
                sum.add(1, 8192);
            }
        }
    }

    /// Returns the bytes that are needed temporarily to make the static data of a mesh.
    fn making(&self, mesh: &MeshRecord) -> u64 {
        let mut sum = Sum::default();
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        if mesh.has_table || mesh.method == Method::Fluid {
            // Deriving a predictor table: the corners of each vertex, and at most six choices per corner and
            // one per vertex, never more than 32 per vertex, in a list that grows by doubling.
            let choices = (32 * vertices).min(6 * indices + vertices);
            sum.add(1, 4 * indices + 8 * vertices + 3 * 6 * choices);
        }
        let fixed_point = |s: &StreamRecord| s.coding.has_fixed_point() || s.coding == Coding::Predicted;
        if mesh.streams.iter().any(fixed_point) {
            sum.add(vertices, MAKING_CELL);
            sum.add(indices, MAKING_INDEX);
        }
        if mesh.streams.iter().any(|s| s.coding == Coding::Predicted) {
            sum.add(indices, MAKING_CORNER);
        }
        sum.0
    }

    fn nodes(&self, sum: &mut Sum) {
        let nodes = &self.description.nodes;
        let animated = nodes.iter().filter(|n| n.animated).count();
        // Numbers of its bit and its transform; its world matrix.
        sum.add(nodes.len() as u64, 16 + 96);
        if !self.description.tracks.is_empty() {
            // Its tracks, up to eleven words of initial state, and what making them takes.
            sum.add(animated as u64, 2 * size_of::<Track>() as u64 + 44);
            sum.add(nodes.len() as u64, 256);
        }
    }

    /// Adds the frames that are held, and what decoding a unit needs.
    fn decoder(&self, sum: &mut Sum) {
        let still = if self.own.iter().any(Option::is_some) { 2 } else { 0 };
        let words = self.layout.words as u64;
        sum.add(self.order.slots() + still, 8 * words + 64);
        sum.add(self.layout.scratch as u64, 8);
        sum.add(self.description.meshes.len() as u64, 8);
        sum.add(self.order.longest_wait() as u64, 8);
        sum.add(1, DECOMPRESSORS);
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
