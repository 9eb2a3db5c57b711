//! Upper limits for the decoded size of chunks: what their kind and the counts of the description require,
//! or, for kinds that the description says nothing about, a multiple of their stored size. The chunk table is
//! checked against them before anything is decompressed, so that few bytes cannot ask for much memory. Twice
//! the size that any encoder writes is allowed.

use crate::Error;
use crate::reel::layout::{fixed_point_count, fixed_point_parts, max_particles_bytes, state_words};
use crate::reel::order::DecodeOrder;
use meshreel_codec::entropy::block;
use meshreel_codec::record::{Coding, Description, MeshRecord, Method, StreamRecord};
use meshreel_codec::schedule::KEY_INTERVAL;
use meshreel_format::{ChunkEntry, Reader, kind};
use std::path::Path;

/// Bytes of the coded tables of the soft codec.
const SOFT_TABLE_BYTES: u64 = 16 << 10;
/// Bytes of header before the values of vertices, triangles or points.
const HEADER_BYTES: u64 = 64;
/// Upper limit for the bytes of a fixed-point position, in frame 0 or another one: a token, and an escape of
/// three words.
const MAX_POSITION_BYTES: u64 = 16;
/// Upper limit for the bytes of a frame's headers, besides one for each position.
const MAX_FRAME_HEADER_BYTES: u64 = 80;
/// Bytes of a transform, or of its words.
const TRANSFORM_BYTES: u64 = 64;
/// Bytes per vertex and index for faces that are not triangles.
const POLYGON_BYTES: u64 = 4;
/// A chunk may be this many times as large as the sum of its items.
const MAX_SIZE_FACTOR: u64 = 2;

/// Upper limits for the decoded bytes of chunks of each kind, from the counts of the description.
#[derive(Default)]
struct MaxChunkBytes {
    connectivity: u64,
    values: u64,
    source_map: u64,
    end_states: u64,
    lod: u64,
    visibility: u64,
    /// Bytes that each frame adds to a unit; `per_unit` are those that each unit has once.
    per_frame: u64,
    per_unit: u64,
    /// The number of frames of the file.
    frame_count: u64,
}

/// Checks the decoded size of all chunks against their limits.
pub(crate) fn check_sizes(
    description: &Description,
    reader: &Reader,
    units: &[u32],
    order: &DecodeOrder,
) -> Result<(), Error> {
    let most = MaxChunkBytes::new(description, reader.frames().len() as u64);
    let frames = |unit: usize| most.per_unit + order.frames(unit).len() as u64 * most.per_frame;
    let mut of_unit = 0;
    let mut unit = 0;
    for (c, chunk) in reader.chunks().iter().enumerate() {
        let allowed = match chunk.kind {
            kind::CONNECTIVITY => most.connectivity,
            kind::VALUES => most.values,
            kind::SOURCE_MAP => most.source_map,
            kind::END_STATES => most.end_states,
            kind::LOD => most.lod,
            kind::VISIBILITY => most.visibility,
            kind::INDEPENDENT_UNIT | kind::DEPENDENT_UNIT => {
                debug_assert_eq!(units.get(unit).copied(), Some(c as u32));
                of_unit = frames(unit);
                unit += 1;
                of_unit
            }
            // They belong to the unit before.
            kind::VERTEX_ATTRIBUTES => of_unit,
            _ => {
                check_ratio(reader.path(), c, chunk)?;
                continue;
            }
        };
        // A chunk as small as this is harmless in any case.
        let any = block::max_content_bytes(chunk.size as usize) as u64;
        let allowed = allowed.saturating_mul(MAX_SIZE_FACTOR).saturating_add(any);
        if u64::from(chunk.raw_size) > allowed {
            return Err(too_large(reader.path(), c, chunk, allowed));
        }
    }
    Ok(())
}

/// Checks a chunk whose kind the description says nothing about against its own stored size.
pub(crate) fn check_ratio(path: &Path, number: usize, chunk: &ChunkEntry) -> Result<(), Error> {
    let allowed = block::max_content_bytes(chunk.size as usize) as u64;
    match u64::from(chunk.raw_size) > allowed {
        true => Err(too_large(path, number, chunk, allowed)),
        false => Ok(()),
    }
}

fn too_large(path: &Path, number: usize, chunk: &ChunkEntry, allowed: u64) -> Error {
    let what =
        format!("it would decode to {} bytes where {allowed} are the most that it can hold", chunk.raw_size);
    let at = format!("chunk {number} of kind {}", chunk.kind);
    Error::malformed(path, what, at)
}

impl MaxChunkBytes {
    fn new(description: &Description, frames: u64) -> MaxChunkBytes {
        let mut most = MaxChunkBytes { frame_count: frames, ..MaxChunkBytes::default() };
        for mesh in &description.meshes {
            match mesh.method {
                Method::Fluid => most.add_fluid(mesh),
                Method::Particles => most.add_particles(mesh),
                _ => most.add_fixed_topology(mesh),
            }
        }
        let nodes = description.nodes.len() as u64;
        most.per_frame += HEADER_BYTES + nodes * (TRANSFORM_BYTES + 1);
        most.per_unit += HEADER_BYTES;
        most
    }

    /// Adds a mesh with fixed topology.
    fn add_fixed_topology(&mut self, mesh: &MeshRecord) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        // Per triangle and corner a byte, per far corner five more; or a bit per cell of a grid.
        self.connectivity += HEADER_BYTES + 8 * indices;
        if let Some(particles) = mesh.particles {
            // Three varints for each id, two for each curve.
            let curves = particles.curves.map_or(0, |curves| u64::from(curves.max_curves));
            self.connectivity += if particles.ids { 15 * vertices } else { 10 * curves };
        }
        // Points of vertices, table; the streams follow.
        let mut values = HEADER_BYTES + 6 * vertices;
        let (mut frame, mut unit) = (0, HEADER_BYTES);
        for stream in &mesh.streams {
            values += max_static_bytes(mesh, stream);
            if stream.animated {
                let (per_frame, per_unit) = max_animated_bytes(mesh, stream);
                frame += per_frame;
                unit += per_unit;
            }
        }
        self.values += values;
        self.per_frame += frame;
        self.per_unit += unit;
        // Two frames, each a unit of its own.
        self.end_states += 2 * (frame + unit);
        // Three arrays of up to four planes, one more for faces, a bit per frame, and the faces that are not
        // triangles.
        self.source_map += HEADER_BYTES + 8 * vertices + 8 * indices / 3;
        self.source_map += self.frame_count.div_ceil(8) + POLYGON_BYTES * (vertices + indices);
        // Seven LOD levels: which vertices are removed and what each becomes, uncompressed at worst.
        self.lod += HEADER_BYTES + 7 * (16 + 8 * vertices);
        // At most as many intervals as triangles, and the interval of each triangle.
        self.visibility += HEADER_BYTES + 15 * indices / 3;
    }

    /// Adds a mesh whose triangles change from frame to frame.
    fn add_fluid(&mut self, mesh: &MeshRecord) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        // Triangles, corners, points and ranges; then values, which range coding can make longer than they
        // are.
        self.per_frame += HEADER_BYTES + 16 * indices + 16 * vertices + 10 * mesh.materials.len() as u64;
        for stream in &mesh.streams {
            self.per_frame += HEADER_BYTES + vertices * (2 * code_bytes(stream) + 4);
        }
        self.per_unit += HEADER_BYTES;
        // Per frame as much as for a mesh with fixed topology.
        let other_faces = POLYGON_BYTES * (vertices + indices);
        let of_frame = HEADER_BYTES + 8 * vertices + 8 * indices / 3 + other_faces;
        self.source_map += HEADER_BYTES + self.frame_count.saturating_mul(of_frame);
    }

    /// Adds particles.
    fn add_particles(&mut self, mesh: &MeshRecord) {
        self.per_frame += max_particles_bytes(mesh, 1);
        self.per_unit += HEADER_BYTES;
        if mesh.chain_coding().is_some() {
            // Links are those of all frames between two key frames.
            self.per_unit += max_particles_bytes(mesh, u64::from(KEY_INTERVAL));
        }
    }
}

/// Bytes of a vertex's quantized values.
fn code_bytes(stream: &StreamRecord) -> u64 {
    stream.semantic.components() as u64 * u64::from(stream.word)
}

/// Upper limit for the bytes that a stream has once, in the static data.
fn max_static_bytes(mesh: &MeshRecord, stream: &StreamRecord) -> u64 {
    let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
    let positions =
        |points: u64| HEADER_BYTES + SOFT_TABLE_BYTES + MAX_FRAME_HEADER_BYTES + MAX_POSITION_BYTES * points;
    match stream.coding {
        Coding::Quantized => HEADER_BYTES + vertices * (code_bytes(stream) + 2),
        Coding::FixedPoint | Coding::Heights => {
            fixed_point_parts(stream) as u64 * positions(fixed_point_count(mesh, stream) as u64)
        }
        Coding::Bones => {
            let b = stream.bones;
            let points = fixed_point_count(mesh, stream) as u64;
            let bones = u64::from(b.rigid) + u64::from(b.affine);
            // The rest pose; eight bones and weights per point; the records of bones; handles; residuals.
            let weights = 32 * points + 2 * TRANSFORM_BYTES * bones;
            positions(points) + weights + positions(4 * u64::from(b.affine)) + positions(b.coded.into())
        }
        // Faces, groups, signs, classes, bases and initial probabilities.
        Coding::Predicted => SOFT_TABLE_BYTES + 16 * vertices + 8 * indices + 8 * u64::from(stream.states),
    }
}

/// Upper limits for the bytes that an animated stream has per frame, and besides per unit.
fn max_animated_bytes(mesh: &MeshRecord, stream: &StreamRecord) -> (u64, u64) {
    let vertices = u64::from(mesh.vertices);
    let positions = |points: u64| (MAX_POSITION_BYTES + 1) * points + MAX_FRAME_HEADER_BYTES.min(16 + points);
    match stream.coding {
        Coding::Quantized => (HEADER_BYTES + vertices * (code_bytes(stream) + 2), HEADER_BYTES),
        Coding::FixedPoint | Coding::Heights => {
            let parts = fixed_point_parts(stream) as u64;
            let frame = positions(fixed_point_count(mesh, stream) as u64);
            (parts * frame, parts * 2 * HEADER_BYTES)
        }
        Coding::Bones => {
            let b = stream.bones;
            let words = 8 * state_words(&b) as u64;
            let bones = TRANSFORM_BYTES * u64::from(b.rigid) + words;
            let frame = bones + positions(4 * u64::from(b.affine)) + positions(b.coded.into());
            (HEADER_BYTES + frame, 6 * HEADER_BYTES)
        }
        Coding::Predicted => (HEADER_BYTES + 8 * u64::from(stream.states), HEADER_BYTES),
    }
}
