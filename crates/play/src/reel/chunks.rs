//! Upper limits for the decoded size of chunks: what their kind and the counts of the description require,
//! or, for kinds that the description says nothing about, a multiple of their stored size. The chunk table is
//! checked against them before anything is decompressed, so that few bytes cannot ask for much memory. Twice
//! the size that any encoder writes is allowed.

use crate::Error;
use crate::reel::layout::{fixed_point_count, fixed_point_parts, particles_bytes, state_words};
use crate::reel::order::Order;
use meshreel_codec::entropy::block;
use meshreel_codec::record::{CODEC_CHAIN, Coding, Description, MeshRecord, Method, StreamRecord};
use meshreel_codec::schedule::INTERVAL;
use meshreel_format::{ChunkEntry, Reader, kind};
use std::path::Path;

/// Bytes of the coded tables of the soft codec.
const TABLES: u64 = 16 << 10;
/// Bytes of header before the values of vertices, triangles or points.
const HEAD: u64 = 64;
/// Upper limit for the bytes of a fixed-point position, in frame 0 or another one: a token, and an escape of
/// three words.
const POSITION: u64 = 16;
/// Upper limit for the bytes of a frame's headers, besides one for each position.
const HEADS: u64 = 80;
/// Bytes of a transform, or of its words.
const TRANSFORM: u64 = 64;
/// Bytes per vertex and index for faces that are not triangles.
const OTHER_FACES: u64 = 4;
/// A chunk may be this many times as large as the sum of its items.
const AT_MOST_TIMES: u64 = 2;

/// Upper limits for the decoded bytes of chunks of each kind, from the counts of the description.
#[derive(Default)]
struct Most {
    connectivity: u64,
    values: u64,
    source_map: u64,
    end_states: u64,
    lod: u64,
    visibility: u64,
    /// Bytes that each frame adds to a unit; `unit` are those that each unit has once.
    frame: u64,
    unit: u64,
    /// The number of frames of the file.
    frames: u64,
}

/// Checks the decoded size of all chunks against their limits.
pub(crate) fn check(
    description: &Description,
    reader: &Reader,
    units: &[u32],
    order: &Order,
) -> Result<(), Error> {
    let most = Most::new(description, reader.frames().len() as u64);
    let frames = |unit: usize| most.unit + order.frames(unit).len() as u64 * most.frame;
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
            kind::INDEX | kind::BETWEEN => {
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
        let any = block::most_content(chunk.size as usize) as u64;
        let allowed = allowed.saturating_mul(AT_MOST_TIMES).saturating_add(any);
        if u64::from(chunk.raw_size) > allowed {
            return Err(refused(reader.path(), c, chunk, allowed));
        }
    }
    Ok(())
}

/// Checks a chunk whose kind the description says nothing about against its own stored size.
pub(crate) fn check_ratio(path: &Path, number: usize, chunk: &ChunkEntry) -> Result<(), Error> {
    let allowed = block::most_content(chunk.size as usize) as u64;
    match u64::from(chunk.raw_size) > allowed {
        true => Err(refused(path, number, chunk, allowed)),
        false => Ok(()),
    }
}

fn refused(path: &Path, number: usize, chunk: &ChunkEntry, allowed: u64) -> Error {
    let what =
        format!("it would decode to {} bytes where {allowed} are the most that it can hold", chunk.raw_size);
    let at = format!("chunk {number} of kind {}", chunk.kind);
    Error::malformed(path, what, at)
}

impl Most {
    fn new(description: &Description, frames: u64) -> Most {
        let mut most = Most { frames, ..Most::default() };
        for mesh in &description.meshes {
            match mesh.method {
                Method::Fluid => most.fluid(mesh),
                Method::Particles => most.particles(mesh),
                _ => most.fixed(mesh),
            }
        }
        let nodes = description.nodes.len() as u64;
        most.frame += HEAD + nodes * (TRANSFORM + 1);
        most.unit += HEAD;
        most
    }

    /// Adds a mesh with fixed topology.
    fn fixed(&mut self, mesh: &MeshRecord) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        // Per triangle and corner a byte, per far corner five more; or a bit per cell of a grid.
        self.connectivity += HEAD + 8 * indices;
        // Points of vertices, table; the streams follow.
        let mut values = HEAD + 6 * vertices;
        let (mut frame, mut unit) = (0, HEAD);
        for stream in &mesh.streams {
            values += once(mesh, stream);
            if stream.animated {
                let (per_frame, per_unit) = repeated(mesh, stream);
                frame += per_frame;
                unit += per_unit;
            }
        }
        self.values += values;
        self.frame += frame;
        self.unit += unit;
        // Two frames, each a unit of its own.
        self.end_states += 2 * (frame + unit);
        // Three arrays of up to four planes, one more for faces, a bit per frame, and the faces that are not
        // triangles.
        self.source_map += HEAD + 8 * vertices + 8 * indices / 3;
        self.source_map += self.frames.div_ceil(8) + OTHER_FACES * (vertices + indices);
        // Seven LOD levels: which vertices are removed and what each becomes, uncompressed at worst.
        self.lod += HEAD + 7 * (16 + 8 * vertices);
        // At most as many intervals as triangles, and the interval of each triangle.
        self.visibility += HEAD + 15 * indices / 3;
    }

    /// Adds a mesh whose triangles change from frame to frame.
    fn fluid(&mut self, mesh: &MeshRecord) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        // Triangles, corners, points and ranges; then values, which range coding can make longer than they
        // are.
        self.frame += HEAD + 16 * indices + 16 * vertices + 10 * mesh.materials.len() as u64;
        for stream in &mesh.streams {
            self.frame += HEAD + vertices * (2 * levels(stream) + 4);
        }
        self.unit += HEAD;
        // Per frame as much as for a mesh with fixed topology.
        let other_faces = OTHER_FACES * (vertices + indices);
        let of_frame = HEAD + 8 * vertices + 8 * indices / 3 + other_faces;
        self.source_map += HEAD + self.frames.saturating_mul(of_frame);
    }

    /// Adds particles.
    fn particles(&mut self, mesh: &MeshRecord) {
        self.frame += particles_bytes(mesh, 1);
        self.unit += HEAD;
        if mesh.codec == CODEC_CHAIN {
            // Links are those of all frames between two key frames.
            self.unit += particles_bytes(mesh, u64::from(INTERVAL));
        }
    }
}

/// Bytes of a vertex's quantized values.
fn levels(stream: &StreamRecord) -> u64 {
    stream.semantic.components() as u64 * u64::from(stream.word)
}

/// Upper limit for the bytes that a stream has once, in the static data.
fn once(mesh: &MeshRecord, stream: &StreamRecord) -> u64 {
    let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
    let positions = |points: u64| HEAD + TABLES + HEADS + POSITION * points;
    match stream.coding {
        Coding::Quantized => HEAD + vertices * (levels(stream) + 2),
        Coding::FixedPoint | Coding::Heights => {
            fixed_point_parts(stream) as u64 * positions(fixed_point_count(mesh, stream) as u64)
        }
        Coding::Bones => {
            let b = stream.bones;
            let points = fixed_point_count(mesh, stream) as u64;
            let bones = u64::from(b.rigid) + u64::from(b.affine);
            // The rest pose; eight bones and weights per point; the records of bones; handles; residuals.
            let weights = 32 * points + 2 * TRANSFORM * bones;
            positions(points) + weights + positions(4 * u64::from(b.affine)) + positions(b.coded.into())
        }
        // Faces, groups, signs, classes, bases and initial probabilities.
        Coding::Predicted => TABLES + 16 * vertices + 8 * indices + 8 * u64::from(stream.states),
    }
}

/// Upper limits for the bytes that an animated stream has per frame, and besides per unit.
fn repeated(mesh: &MeshRecord, stream: &StreamRecord) -> (u64, u64) {
    let vertices = u64::from(mesh.vertices);
    let positions = |points: u64| (POSITION + 1) * points + HEADS.min(16 + points);
    match stream.coding {
        Coding::Quantized => (HEAD + vertices * (levels(stream) + 2), HEAD),
        Coding::FixedPoint | Coding::Heights => {
            let parts = fixed_point_parts(stream) as u64;
            let frame = positions(fixed_point_count(mesh, stream) as u64);
            (parts * frame, parts * 2 * HEAD)
        }
        Coding::Bones => {
            let b = stream.bones;
            let words = 8 * state_words(&b) as u64;
            let bones = TRANSFORM * u64::from(b.rigid) + words;
            let frame = bones + positions(4 * u64::from(b.affine)) + positions(b.coded.into());
            (HEAD + frame, 6 * HEAD)
        }
        Coding::Predicted => (HEAD + 8 * u64::from(stream.states), HEAD),
    }
}
