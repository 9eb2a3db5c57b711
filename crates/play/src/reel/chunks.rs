//! What chunks may decode to: no more than their kind and the counts of the description ask for, and a
//! multiple of their own size, which is all that there is where those say nothing of it. Held against the
//! chunk table before anything is decompressed, so that few bytes cannot ask for much memory. Twice what any
//! encoder writes is allowed.

use crate::Error;
use crate::reel::layout::{fixed_point_count, fixed_point_parts, particles_bytes, state_words};
use crate::reel::order::Order;
use meshreel_codec::entropy::block;
use meshreel_codec::record::{CODEC_CHAIN, Coding, Description, MeshRecord, Method, StreamRecord};
use meshreel_codec::schedule::INTERVAL;
use meshreel_format::{ChunkEntry, Reader, kind};
use std::path::Path;

/// Tables of the soft codec, coded.
const TABLES: u64 = 16 << 10;
/// Numbers before what there is one of per vertex, triangle or point.
const HEAD: u64 = 64;
/// Most bytes of a fixed-point position, in frame 0 or another one: a token, and an escape of three words.
const POSITION: u64 = 16;
/// Most bytes of the heads of a frame, beside one for each position.
const HEADS: u64 = 80;
/// A transform, or its words.
const TRANSFORM: u64 = 64;
/// Bytes of faces that triangles do not tell, per vertex and index.
const OTHER_FACES: u64 = 4;
/// A chunk may be so many times as large as the sizes of its items say.
const AT_MOST_TIMES: u64 = 2;

/// The most bytes that chunks of each kind may decode to, as the counts of the description say.
#[derive(Default)]
struct Most {
    connectivity: u64,
    values: u64,
    source_map: u64,
    end_states: u64,
    lod: u64,
    visibility: u64,
    /// Bytes that each frame of a unit adds, and below those that each unit has once.
    frame: u64,
    unit: u64,
    /// Frames of the file.
    frames: u64,
}

/// Holds all chunks against what they may decode to.
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
            // Those of the unit before.
            kind::VERTEX_ATTRIBUTES => of_unit,
            _ => {
                check_ratio(reader.path(), c, chunk)?;
                continue;
            }
        };
        // What so few bytes may hold in any case does no harm.
        let any = block::most_content(chunk.size as usize) as u64;
        let allowed = allowed.saturating_mul(AT_MOST_TIMES).saturating_add(any);
        if u64::from(chunk.raw_size) > allowed {
            return Err(refused(reader.path(), c, chunk, allowed));
        }
    }
    Ok(())
}

/// Holds a chunk of a kind that the description says nothing of against its own size.
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

    /// A mesh with fixed topology.
    fn fixed(&mut self, mesh: &MeshRecord) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        // Per triangle and corner a byte, per far corner five more; or a bit per cell of a grid.
        self.connectivity += HEAD + 8 * indices;
        // Points of vertices, table; streams below.
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
        // Three arrays of up to four planes, another for faces, a bit per frame, and faces that are no
        // triangles.
        self.source_map += HEAD + 8 * vertices + 8 * indices / 3;
        self.source_map += self.frames.div_ceil(8) + OTHER_FACES * (vertices + indices);
        // Seven levels: who is gone, and what has become of it, plain at worst.
        self.lod += HEAD + 7 * (16 + 8 * vertices);
        // As many intervals as triangles at most, and which each has.
        self.visibility += HEAD + 15 * indices / 3;
    }

    /// A mesh whose triangles come with its frames.
    fn fluid(&mut self, mesh: &MeshRecord) {
        let (vertices, indices) = (u64::from(mesh.vertices), u64::from(mesh.indices));
        // Triangles, corners, points and ranges; then values, which range coding can make longer than they
        // are.
        self.frame += HEAD + 16 * indices + 16 * vertices + 10 * mesh.materials.len() as u64;
        for stream in &mesh.streams {
            self.frame += HEAD + vertices * (2 * levels(stream) + 4);
        }
        self.unit += HEAD;
        // Frame by frame as of a mesh with fixed topology.
        let other_faces = OTHER_FACES * (vertices + indices);
        let of_frame = HEAD + 8 * vertices + 8 * indices / 3 + other_faces;
        self.source_map += HEAD + self.frames.saturating_mul(of_frame);
    }

    /// Points that come with their frames.
    fn particles(&mut self, mesh: &MeshRecord) {
        self.frame += particles_bytes(mesh, 1);
        self.unit += HEAD;
        if mesh.codec == CODEC_CHAIN {
            // Links are of all frames between two keys.
            self.unit += particles_bytes(mesh, u64::from(INTERVAL));
        }
    }
}

/// Bytes of a value kept as levels.
fn levels(stream: &StreamRecord) -> u64 {
    stream.semantic.components() as u64 * u64::from(stream.word)
}

/// Most bytes that a stream has once, in the static data.
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
            // The rest pose; eight bones and weights per point; what is said of bones; handles; residuals.
            let weights = 32 * points + 2 * TRANSFORM * bones;
            positions(points) + weights + positions(4 * u64::from(b.affine)) + positions(b.coded.into())
        }
        // Faces, groups, signs, classes, bases and starting chances.
        Coding::Predicted => TABLES + 16 * vertices + 8 * indices + 8 * u64::from(stream.states),
    }
}

/// Most bytes that an animated stream has per frame, and per unit besides.
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
