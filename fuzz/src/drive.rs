//! A whole `.reel` file through everything that reads one: the decoder in random order, views, clips,
//! databases, extraction, a player. Errors are fine. A panic is not, nor more memory than the limits allow,
//! nor a frame that is another one when it is decoded after others.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex};

use meshreel::clip::{
    Clip, Database, DatabaseOptions, Mask, Query, Repeats, RootMotion, Rounding, SoaTransforms,
};
use meshreel::raw::record::Semantic;
use meshreel::stream::{AsyncSource, Job, Pool, ReadRequest, ReadToken, Statistics};
use meshreel::view::packed::{PackedRig, PackedSequence};
use meshreel::{
    Command, DecodedFrame, FileId, FrameDecoder, FrameView, Limits, MeshView, Options, Pace, Player, Reel,
    Repeat, ShownFrames, Transform, VertexAttribute, VertexChannel, VertexFormat,
};
use meshreel_check::verify;
use meshreel_extract::{BoneForm, to_scene_at_lod};
use meshreel_format::checksum;
use meshreel_gpu::ReelPlan;
use meshreel_gpu::units::twin::BoundUnit;
use meshreel_scene::Scene;

use crate::forge::Random;
use crate::meter::measure;

/// Bytes of memory that a file may ask for.
const MEMORY: u64 = 64 << 20;
/// What is not counted: what is kept of tables and names, the decompressor, lists that have grown by
/// doubling.
const UNCOUNTED_BYTES: u64 = 2 << 20;
/// The same for each byte of the file.
const UNCOUNTED_PER_FILE_BYTE: u64 = 16;
/// A player's heap.
const HEAP: usize = 8 << 20;
/// Numbers of vertices that are decoded, all frames together, before a file has had its turn.
const MAX_DECODED_VERTICES: usize = 1 << 20;

/// What a file may ask for: little, so that a wild size is refused and not merely survived.
pub fn limits() -> Limits {
    let mut limits =
        Limits::default().with_max_memory(MEMORY).with_max_vertices(1 << 20).with_max_objects(1 << 16);
    limits.format.max_frames = 1 << 16;
    limits.format.max_chunks = 1 << 16;
    limits
}

/// Runs `run`, which must not allocate more than `allowed` bytes and what goes unaccounted in a file of that
/// size.
fn assert_memory<T>(what: &str, allowed: u64, file: usize, run: impl FnOnce() -> T) -> T {
    let (result, peak) = measure(run);
    let most = allowed + UNCOUNTED_BYTES + UNCOUNTED_PER_FILE_BYTE * file as u64;
    assert!(
        peak <= most,
        "{what}: {peak} bytes of memory, of which {allowed} were to be expected ({file} in the file)"
    );
    result
}

/// All of it. What is done in which order follows from the bytes.
pub fn drive(bytes: Vec<u8>) {
    let size = bytes.len();
    let mut random = Random(checksum(&bytes));
    let bytes = Arc::new(bytes);
    let limits = limits();
    let opened = assert_memory("opening and decoding", MEMORY, size, || {
        let reel = Reel::from_source(bytes.clone(), &limits).ok()?;
        let decoder = FrameDecoder::new(&reel);
        Some((reel, decoder))
    });
    // The database and the player open it themselves.
    if random.one_in(4) {
        assert_memory("a database", 4 * MEMORY, size, || {
            database(&bytes, &limits, &mut random);
        });
    }
    let Some((reel, decoder)) = opened else {
        if random.one_in(4) {
            play(&bytes, &limits, None, &mut random);
        }
        return;
    };
    let memory = reel.memory();
    let mut frames = HashMap::new();
    if let Ok(mut decoder) = decoder {
        // What looking takes.
        let largest = reel.description().meshes.iter().map(|m| m.vertices);
        let looking = 16 * u64::from(largest.max().unwrap_or(0));
        frames = assert_memory("decoding", memory + looking, size, || decode(&mut decoder, &mut random));
        assert_memory("views", 4 * MEMORY, size, || {
            views(&reel, &mut decoder, &mut random);
        });
        without_attributes(&bytes, &mut decoder, &frames, &mut random);
    }
    assert_memory("clips", 4 * MEMORY, size, || clips(&reel, &mut random));
    if random.one_in(3) {
        assert_memory("a player", 3 * MEMORY + HEAP as u64, size, || {
            play(&bytes, &limits, Some(&frames), &mut random);
        });
    }
    if random.one_in(3) {
        assert_memory("tables", 2 * MEMORY, size, || tables(&reel));
        extract(&reel, &mut random);
    }
}

// Frames.

/// Walks through the frames at random, looks at each, and returns a digest of each that decodes.
fn decode(decoder: &mut FrameDecoder, random: &mut Random) -> HashMap<usize, Option<u64>> {
    let mut before: HashMap<usize, Option<u64>> = HashMap::new();
    for frame in walk(decoder.reel(), 48, random) {
        let shown = decoder.decode(frame).is_ok().then(|| digest(decoder));
        assert_eq!(decoder.frame(), shown.map(|_| frame));
        assert_eq!(*before.entry(frame).or_insert(shown), shown, "frame {frame}");
    }
    before
}

/// Frames in an order that steps, jumps, and comes back.
fn walk(reel: &Reel, steps: usize, random: &mut Random) -> Vec<usize> {
    let count = reel.frame_count();
    let of = |m: &meshreel::raw::record::MeshRecord| 1 + m.vertices as usize + m.indices as usize / 4;
    let each: usize = reel.description().meshes.iter().map(of).sum();
    let steps = steps.min(MAX_DECODED_VERTICES / each.max(1)).max(3);
    let mut at = random.below(count);
    let mut out = Vec::new();
    for _ in 0..if count > 0 { steps } else { 0 } {
        out.push(at);
        at = match random.below(8) {
            0..2 => random.below(count),
            2 => at.saturating_sub(1 + random.below(4)),
            3 => out[random.below(out.len())],
            _ => (at + 1).min(count - 1),
        };
    }
    out
}

/// Digest of what a decoder shows.
fn digest(decoder: &FrameDecoder) -> u64 {
    let mut out = DefaultHasher::new();
    let description = decoder.reel().description();
    for node in 0..description.nodes.len() {
        hash_node(decoder.visible(node), decoder.transform(node), &mut out);
        let _ = decoder.world(node);
    }
    for mesh in 0..description.meshes.len() {
        hash_mesh(decoder.mesh(mesh), &mut out);
    }
    out.finish()
}

/// The same of a frame that a player lends.
fn digest_of_lent(reel: &Reel, still: DecodedFrame<'_>) -> u64 {
    let mut out = DefaultHasher::new();
    for node in 0..reel.description().nodes.len() {
        hash_node(still.visible(node), still.transform(node), &mut out);
    }
    for mesh in 0..reel.description().meshes.len() {
        hash_mesh(still.mesh(mesh), &mut out);
    }
    out.finish()
}

fn hash_node(visible: bool, at: Transform, out: &mut DefaultHasher) {
    out.write_u8(visible.into());
    let numbers = at.rotation.iter().chain(&at.translation).chain(&at.scale);
    floats(numbers, out);
}

fn floats<'a>(numbers: impl IntoIterator<Item = &'a f32>, out: &mut DefaultHasher) {
    (numbers.into_iter()).for_each(|v| out.write_u32(v.to_bits()));
}

/// Asks for all that a mesh has, and appends it.
fn hash_mesh(mesh: MeshView<'_>, out: &mut DefaultHasher) {
    let vertices = mesh.vertex_count();
    let check = |indices: &[u32], ranges: &[meshreel::view::IndexRange]| {
        assert!(indices.iter().all(|&i| (i as usize) < vertices));
        for range in ranges {
            assert!(range.first as usize + range.count as usize <= indices.len());
        }
    };
    check(mesh.indices(), mesh.materials());
    mesh.indices().iter().for_each(|&i| out.write_u32(i));
    for level in 0..mesh.lod_count().min(8) {
        let lod = mesh.lod(level);
        check(lod.indices, lod.materials);
        assert!(lod.becomes.iter().all(|&v| (v as usize) < vertices));
        assert!(level == 0 || lod.becomes.len() == vertices);
    }
    check(mesh.indices_by_visibility(), &[]);
    for range in mesh.visible_ranges([0, 1], None) {
        assert!(range.first as usize + range.count as usize <= mesh.indices_by_visibility().len());
    }
    let mut values = vec![0.0; 4 * vertices];
    let (three, two) = (3 * vertices, 2 * vertices);
    mesh.positions_into(&mut values[..three]).expect("positions");
    floats(&values[..three], out);
    let mut keep = |size: usize, write: &dyn Fn(&mut [f32]) -> bool| {
        if write(&mut values[..size]) {
            floats(&values[..size], out);
        }
    };
    keep(three, &|to| mesh.normals_into(to).is_ok());
    keep(4 * vertices, &|to| mesh.tangents_into(to).is_ok());
    for set in 0..2 {
        keep(two, &|to| mesh.uvs_into(set, to).is_ok());
        keep(4 * vertices, &|to| mesh.colours_into(set, to).is_ok());
    }
    for (i, stream) in mesh.record().streams.iter().enumerate() {
        if !stream.coding.has_fixed_point() {
            let _ = mesh.quantized(i);
        }
    }
    if let Some(bones) = mesh.bones() {
        assert_eq!(bones.matrices().len(), bones.count());
        let _ = bones.residuals();
        let _ = bones.points_with_residual();
        for vertex in (0..vertices).step_by(1 + vertices / 16) {
            let _ = bones.rest_position(vertex);
            for (bone, _) in bones.influences(vertex) {
                assert!(bone < bones.count());
            }
        }
    }
    let _ = mesh.end_state();
}

/// Without animated attributes what could be decoded can be, and shows the same positions.
fn without_attributes(
    bytes: &Arc<Vec<u8>>,
    decoder: &mut FrameDecoder,
    frames: &HashMap<usize, Option<u64>>,
    random: &mut Random,
) {
    let mut limits = limits();
    limits.attributes = false;
    if random.one_in(2) {
        return;
    }
    let plain = Reel::from_source(bytes.clone(), &limits).and_then(|reel| FrameDecoder::new(&reel));
    let mut plain = plain.expect("less of what was opened");
    let points = |decoder: &FrameDecoder, mesh: usize| {
        let view = decoder.mesh(mesh);
        let mut out = vec![0.0; 3 * view.vertex_count()];
        view.positions_into(&mut out).expect("positions");
        out.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
    };
    for frame in walk(decoder.reel(), 6, random) {
        if frames.get(&frame).is_some_and(|shown| shown.is_some()) {
            plain.decode(frame).expect("less of what was decoded");
            decoder.decode(frame).expect("what was decoded before");
            for mesh in 0..plain.reel().description().meshes.len() {
                assert_eq!(points(&plain, mesh), points(decoder, mesh), "frame {frame}");
            }
        }
    }
}

// Views.

const FORMATS: &[VertexFormat] = &[
    VertexFormat::F32x2,
    VertexFormat::F32x3,
    VertexFormat::F32x4,
    VertexFormat::F16x2,
    VertexFormat::F16x4,
    VertexFormat::U8x4,
    VertexFormat::U16x2,
    VertexFormat::U16x4,
    VertexFormat::I8x2,
    VertexFormat::I8x4,
    VertexFormat::I16x2,
    VertexFormat::I16x4,
];

/// What two decoders of a file show between their frames.
fn views(reel: &Reel, first: &mut FrameDecoder, random: &mut Random) {
    let Ok(mut second) = FrameDecoder::new(reel) else {
        return;
    };
    let frames = walk(reel, 8, random);
    for pair in frames.windows(2) {
        if first.decode(pair[0]).is_err() || second.decode(pair[1]).is_err() {
            continue;
        }
        let blend = [0.0, 0.25, 0.999][random.below(3)];
        let pace = Pace::new([0.0, 0.04, 1e-300][random.below(3)], [1.0, -1.0, 0.0, 1e30][random.below(4)]);
        let view = FrameView::between(first, &second, blend, pace).expect("two frames");
        request_all(view, random);
    }
    for mesh in 0..reel.description().meshes.len().min(4) {
        if let Ok(rig) = PackedRig::new(&first.mesh(mesh)) {
            let mut out = vec![[0.0; 3]; rig.vertices.len()];
            if let Some(frame) = first.mesh(mesh).packed() {
                rig.pose(&frame, &mut out);
            }
            if let Ok(sequence) = PackedSequence::read(first, mesh) {
                for frame in 0..sequence.offsets.len().min(4) {
                    let frame = sequence.frame(frame).expect("a frame of the sequence");
                    rig.pose(&frame, &mut out);
                }
            }
        }
    }
}

/// Asks for everything that a moment has.
fn request_all(view: FrameView<'_>, random: &mut Random) {
    let _ = view.bounds();
    let nodes = view.reel().description().nodes.len();
    let mut worlds = vec![[[0.0; 4]; 3]; nodes];
    view.worlds_into(&mut worlds).expect("room for all");
    for node in (0..nodes).take(64) {
        let _ = (view.visible(node), view.local(node), view.world(node));
        let _ = (view.world_velocity(node), view.node_bounds(node));
        let Some(mesh) = view.mesh(node) else {
            continue;
        };
        let vertices = mesh.vertex_count();
        let mut values = vec![0.0; 4 * vertices];
        let _ = mesh.positions_into(&mut values[..3 * vertices]);
        let _ = mesh.normals_into(&mut values[..3 * vertices]);
        let _ = mesh.tangents_into(&mut values);
        let _ = mesh.uvs_into(0, &mut values[..2 * vertices]);
        let _ = mesh.colours_into(0, &mut values);
        let _ = mesh.velocities_into(&mut values[..3 * vertices]);
        let (points, indices) = view.collision_size(node);
        let mut triangles = vec![0; indices];
        let _ = view.collision_into(node, &mut values[..3 * points], &mut triangles);
        let (from, to) = (random.below(vertices + 1), random.below(vertices + 1));
        let range = from.min(to)..from.max(to);
        for channel in [
            VertexChannel::Position,
            VertexChannel::Normal,
            VertexChannel::Tangent,
            VertexChannel::TangentFrame,
            VertexChannel::Uv(0),
            VertexChannel::Colour(0),
            VertexChannel::Velocity,
        ] {
            let format = FORMATS[random.below(FORMATS.len())];
            let stride = format.size() + 4 * random.below(3);
            let mut out = vec![0; range.len() * stride];
            let attribute = VertexAttribute { channel, format, offset: 0 };
            let _ = mesh.write(&[attribute], stride, range.clone(), &mut out);
        }
        for (material, range) in mesh.materials().iter().enumerate().take(4) {
            let mut small = vec![0; range.count as usize];
            let _ = mesh.material_indices_u16_into(material, &mut small);
            for range in mesh.visible_ranges(Some(material)) {
                assert!(range.first as usize + range.count as usize <= mesh.indices_by_visibility().len());
            }
        }
        let _ = (mesh.uv_range(0), mesh.blends(), mesh.bounds());
        let _ = mesh.is_animated(Semantic::Uv, 0);
        for stream in 0..mesh.record().streams.len() {
            if !mesh.record().streams[stream].coding.has_fixed_point() {
                let _ = mesh.quantized(stream);
            }
        }
    }
}

/// What is kept for tools.
fn tables(reel: &Reel) {
    for mesh in 0..reel.description().meshes.len().min(64) {
        let _ = reel.indices(mesh);
        let _ = reel.source_map(mesh);
        let _ = (reel.hidden_triangles(mesh), reel.grid(mesh));
        for level in 0..reel.lod_count(mesh).unwrap_or(0).min(8) {
            let _ = reel.lod(mesh, level);
        }
    }
    let _ = reel.all_part_attributes();
}

// Clips.

const ROUNDINGS: [Rounding; 4] = [Rounding::None, Rounding::Floor, Rounding::Ceil, Rounding::Nearest];

fn seconds(duration: f64, random: &mut Random) -> f64 {
    let part = random.below(1001) as f64 / 1000.0;
    match random.below(12) {
        0 => -1.0,
        1 => 1e300,
        2 => f64::NAN,
        3 => duration,
        _ => part * duration,
    }
}

fn bits(pose: &[Transform]) -> u64 {
    let mut out = DefaultHasher::new();
    for at in pose {
        hash_node(true, *at, &mut out);
    }
    out.finish()
}

/// Any matrices move every vertex of every rig; ranges name frames that are there.
fn rigs(reel: &Reel, random: &mut Random) {
    let frames = reel.frame_count();
    assert!((reel.ranges().iter()).all(|range| (range.last_frame() as usize) < frames));
    for rig in reel.rigs().iter().flatten().take(4) {
        let mut matrices = vec![meshreel::view::BoneMatrix::default(); rig.joints().len()];
        let object = vec![[[random.below(7) as f32; 4]; 3]; random.below(9)];
        rig.matrices(&object, &mut matrices);
        let mut positions = vec![[0.0; 3]; rig.vertex_count()];
        rig.positions(&matrices, &mut positions);
        let normals = positions.clone();
        rig.normals(&matrices, &normals, &mut positions);
        rig.bind_normals(&matrices, &normals, &mut positions);
    }
}

fn clips(reel: &Reel, random: &mut Random) {
    rigs(reel, random);
    let Ok(clips) = reel.clips() else {
        return;
    };
    for clip in clips.iter().take(4) {
        sample(clip, random);
        let tiers: Vec<usize> = (0..3).map(|_| random.below(4)).collect();
        sample(&clip.with_tiers(&tiers), random);
        for layer in clip.layers() {
            let _ = layer;
        }
        if let Some(Ok(merged)) = clip.merged() {
            assert!(!merged.is_empty());
        }
    }
}

fn sample(clip: &Clip, random: &mut Random) {
    let joints = clip.joints();
    if joints > 4096 {
        return;
    }
    let mut cursor = clip.cursor();
    let mut pose = vec![Transform::IDENTITY; joints];
    let mut other = vec![SoaTransforms::<4>::IDENTITY; SoaTransforms::<4>::item_count(joints)];
    for _ in 0..12 {
        let at = seconds(clip.duration(), random);
        let rounding = ROUNDINGS[random.below(4)];
        let mut query = Query::new(at).with_rounding(rounding);
        if random.one_in(2) {
            query = query.wrapped();
        }
        let kept = cursor.pose(&query, &mut pose[..]).is_ok();
        let found = kept.then(|| bits(&pose));
        // A cursor that has been elsewhere gives what a new one gives.
        let mut fresh = clip.cursor();
        let there = fresh.pose(&query, &mut pose[..]).is_ok();
        assert_eq!(found, there.then(|| bits(&pose)), "{} at {at}", clip.name());
        let mask = Mask::from_joints(joints, [random.below(joints)]);
        let _ = cursor.pose(&query.with_mask(&mask), &mut other[..]);
        if joints > 0 {
            let joint = random.below(joints);
            let _ = cursor.joint(joint, &query);
            let (from, to) = (at, seconds(clip.duration(), random));
            let repeats = [Repeats::Clamp, Repeats::Wrap][random.below(2)];
            let _ = cursor.root_motion(joint, (from, to), repeats, RootMotion::All);
        }
        for track in 0..clip.scalar_tracks().len().min(4) {
            let _ = clip.scalar(track, &query);
        }
        let to = seconds(clip.duration(), random);
        let _ = clip.events(at, to, Repeats::Clamp).take(100).count();
        let _ = clip.events(at, to, Repeats::Wrap).take(100).count();
    }
    let sample = random.below(clip.samples());
    let _ = cursor.sample(sample, &mut pose);
}

fn database(bytes: &Arc<Vec<u8>>, limits: &Limits, random: &mut Random) {
    let options = DatabaseOptions::default().with_memory([1 << 20, 5000, 0][random.below(3)]).with_threads(0);
    let Ok(mut database) = Database::from_bytes("forged", bytes.clone(), limits, options) else {
        return;
    };
    let parts = database.layer_tiers();
    let count = database.clip_count().min(4);
    let clips: Vec<_> = (0..count).filter_map(|c| database.clip(c).ok()).collect();
    let mut cursors: Vec<_> = clips.iter().map(|clip| clip.cursor()).collect();
    for _ in 0..24 {
        if !parts.is_empty() {
            let part = parts[random.below(parts.len())];
            let clip = random.one_in(2).then(|| random.below(count));
            match random.below(4) {
                0..2 => drop(database.stream_in(part, clip)),
                2 => drop(database.stream_out(part, clip)),
                _ => drop(database.cancel(part, clip)),
            }
            let _ = database.state(part, clip);
        }
        let _ = database.tick();
        for (clip, cursor) in clips.iter().zip(&mut cursors) {
            if clip.joints() > 4096 {
                continue;
            }
            let mut pose = vec![Transform::IDENTITY; clip.joints()];
            let at = seconds(clip.duration(), random);
            let kept = cursor.pose(&Query::new(at).wrapped(), &mut pose[..]);
            let found = kept.is_ok().then(|| bits(&pose));
            let mut fresh = clip.cursor();
            let there = fresh.pose(&Query::new(at).wrapped(), &mut pose[..]);
            assert_eq!(found, there.is_ok().then(|| bits(&pose)), "at {at}");
        }
    }
}

// A player.

/// Reads that wait until they are asked for, and go wrong then.
struct FaultyDisk {
    bytes: Arc<Vec<u8>>,
    pending: Mutex<Vec<ReadRequest>>,
}

impl FaultyDisk {
    /// Completes reads in any order: whole, short, late, or not at all.
    fn step(&self, faults: bool, random: &mut Random) {
        let mut pending = std::mem::take(&mut *self.pending.lock().expect("no panic"));
        while !pending.is_empty() {
            let read = pending.swap_remove(random.below(pending.len()));
            match if faults { random.below(8) } else { 7 } {
                0 => self.pending.lock().expect("no panic").push(read),
                1 => drop(read),
                2 => read.complete(Err(std::io::ErrorKind::TimedOut.into())),
                3 => {
                    let most = random.below(4096);
                    self.fill(read, most);
                }
                _ => self.fill(read, usize::MAX),
            }
        }
    }

    fn fill(&self, mut read: ReadRequest, most: usize) {
        let start = (read.offset() as usize).min(self.bytes.len());
        let buffer = read.buffer();
        let count = buffer.len().min(self.bytes.len() - start).min(most);
        buffer[..count].copy_from_slice(&self.bytes[start..start + count]);
        read.complete(Ok(count));
    }
}

impl AsyncSource for FaultyDisk {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn start(&self, read: ReadRequest) {
        match read.is_opening() {
            true => self.fill(read, usize::MAX),
            false => self.pending.lock().expect("no panic").push(read),
        }
    }
    fn cancel(&self, token: ReadToken) {
        let mut pending = self.pending.lock().expect("no panic");
        // Some disks care, others do not.
        let at = pending.iter().position(|read| read.token() == token);
        let read = at.filter(|at| at % 2 == 0).map(|at| pending.swap_remove(at));
        drop(pending);
        drop(read);
    }
}

/// Jobs that wait until they are asked for.
#[derive(Default)]
struct DeferredPool(Mutex<Vec<Job>>);

impl DeferredPool {
    fn step(&self, random: &mut Random) {
        for _ in 0..64 {
            let mut jobs = self.0.lock().expect("no panic");
            if jobs.is_empty() {
                return;
            }
            let at = random.below(jobs.len());
            let job = jobs.swap_remove(at);
            drop(jobs);
            if !random.one_in(16) {
                job.run();
            }
        }
    }
}

impl Pool for DeferredPool {
    fn start(&self, job: Job) {
        self.0.lock().expect("no panic").push(job);
    }
    fn threads(&self) -> usize {
        2
    }
}

/// Decodes the unit of a frame as a graphics card does, which must not read beyond what it was given.
fn decode_on_card(player: &Player, file: FileId, shown: &ShownFrames) {
    let Some(units) = player.coded_units(file) else { return };
    let Ok(plan) = ReelPlan::new(shown.reel(), |mesh| shown.first().mesh(mesh)) else { return };
    for frame in [shown.pair().first, shown.pair().second] {
        let unit = units.unit_of(frame);
        for (number, mesh) in plan.meshes.iter().enumerate() {
            let Some(own) = &mesh.fixed.coded else { continue };
            // All frames in one slot: what is in it does not matter.
            let (mut words, slot) = (Vec::new(), own.points * own.point_words());
            let Some(params) = own.write(&units, (unit, number), |_| Some(0), &mut words) else { continue };
            let mut bound = BoundUnit {
                plan: own,
                params: &params,
                unit: &words,
                fixed: &mesh.fixed.words,
                scratch: &mut vec![0; own.scratch_words()],
                decoded: &mut vec![0; slot],
            };
            bound.decode();
        }
    }
}

/// Plays a file. What is handed out is what a plain decode gave.
fn play(
    bytes: &Arc<Vec<u8>>,
    limits: &Limits,
    expected: Option<&HashMap<usize, Option<u64>>>,
    random: &mut Random,
) {
    let pool = Arc::new(DeferredPool::default());
    // For a graphics card that puts points where they are.
    let card = random.one_in(3);
    let limits = limits.clone().with_points(!card).with_poses(!card);
    let mut player = Player::new(
        Options::default()
            .with_heap([HEAP, HEAP / 4, HEAP / 64][random.below(3)])
            .with_resident([0, 1 << 20][random.below(2)])
            .with_read_size([1, 20_000, 1 << 20][random.below(3)])
            .with_threads(0)
            .with_read_threads(0)
            .with_unload_after(0.3)
            .with_pool(pool.clone())
            .with_limits(limits),
    )
    .unwrap();
    let disk = Arc::new(FaultyDisk { bytes: bytes.clone(), pending: Mutex::default() });
    let file = player.open_source("forged", disk.clone());
    let ids: Vec<_> = (0..1 + random.below(3)).filter_map(|_| player.add_instance(file)).collect();
    for &id in &ids {
        player.command(id, Command::Repeat(Repeat::Loop));
        player.command(id, Command::Play);
    }
    let ticks = 40;
    let mut statistics = Statistics::default();
    let mut lent: Vec<ShownFrames> = Vec::new();
    for tick in 0..ticks {
        player.tick([0.016, 0.1, 0.0][random.below(3)]);
        disk.step(tick < ticks - 10, random);
        pool.step(random);
        let Some(&id) = ids.get(random.below(ids.len())) else {
            break;
        };
        match random.below(12) {
            0 => player.command(id, Command::GoToFrame(random.below(64))),
            1 => player.command(id, Command::Rate([-1.0, 4.0, 0.5][random.below(3)])),
            2 => player.command(id, Command::FrameStep([1, 2, 16][random.below(3)])),
            3 => player.set_visible(id, random.one_in(2)),
            4 => player.command(id, Command::Repeat(Repeat::PingPong)),
            _ => {}
        }
        while player.next_event().is_some() {}
        if let Some(shown) = player.frame(id) {
            let pair = shown.pair();
            for (frame, still) in [(pair.first, shown.first()), (pair.second, shown.second())] {
                let plain = expected.filter(|_| !card).and_then(|all| all.get(&(frame as usize)));
                if let Some(plain) = plain {
                    let found = digest_of_lent(shown.reel(), still);
                    assert_eq!(Some(found), *plain, "frame {frame}, played");
                }
            }
            request_all(shown.view(), random);
            if card {
                decode_on_card(&player, file, &shown);
            }
            if random.one_in(4) {
                lent.push(shown);
            }
        }
        if random.one_in(8) {
            lent.clear();
        }
        player.statistics(&mut statistics);
    }
    if random.one_in(2) {
        player.close(file);
        player.tick(0.1);
    }
}

// Back to a scene.

fn extract(reel: &Reel, random: &mut Random) {
    let bones = [BoneForm::Points, BoneForm::Auto, BoneForm::Skins, BoneForm::Parts][random.below(4)];
    let Ok((scene, _)) = to_scene_at_lod(reel, bones, random.below(3)) else {
        return;
    };
    let vertices: u64 =
        (reel.description().meshes.iter()).map(|m| u64::from(m.vertices.max(m.indices))).sum();
    if vertices * reel.frame_count() as u64 > MAX_DECODED_VERTICES as u64 || scene.nodes.len() > 1000 {
        return;
    }
    crate::walk(&scene);
    match random.below(6) {
        0 => drop(verify(&scene, reel, &|_, _| ())),
        1 => written(reel, &scene, random),
        _ => {}
    }
}

fn written(reel: &Reel, scene: &Scene, random: &mut Random) {
    let times: Vec<f64> = reel.frames().iter().map(|frame| frame.time).collect();
    let name = ["out.abc", "out.glb", "out.bvh", "out"][random.below(4)];
    let folder = crate::file("unused", &[]);
    let path = folder.with_file_name(name);
    let mut quiet = |_: usize, _: usize| {};
    match name {
        "out.abc" => drop(meshreel_write::alembic::write(&path, scene, &mut quiet)),
        "out.glb" => drop(meshreel_write::glb::write(&path, scene, &times, &mut quiet)),
        "out.bvh" => {
            for clip in scene.clips.iter().take(1) {
                let _ = meshreel_write::bvh::write(&path, &scene.skeletons[clip.skeleton], clip);
            }
        }
        _ if times.len() <= 16 => drop(meshreel_write::obj::write(&path, scene, &times, &mut quiet)),
        _ => {}
    }
}
