//! Tests of animated attributes in chunks of their own. A file with them shows the same as without the
//! option; a player that leaves them out shows the same positions, and neither reads, nor holds, nor decodes
//! them.

use super::build::*;
use super::growing;
use meshreel::raw::format::kind;
use meshreel::raw::format::{ReadAt, Summary, Writer};
use meshreel::raw::record::{Coding, MeshRecord, Semantic, decode, encode};
use meshreel::stream::{AsyncSource, ReadRequest, Statistics};
use meshreel::{
    Command, Error, FrameDecoder, Limits, MeshView, Options as PlayerOptions, Player, Reel, Repeat,
};
use meshreel_codec::entropy::block::{BlockFormat, Compressor, Decompressor};
use meshreel_options::{Options, Preset};
use meshreel_scene::{Mesh, Scene, Scope};
use std::io;
use std::sync::{Arc, Mutex};

/// More than a group restarts in, and not a multiple of the group's length.
const LAST: usize = 150;

fn options(preset: Preset, apart: bool) -> Options {
    Options { effort: 1, preset, index_every: Some(16), attributes_apart: apart, ..Options::default() }
}

/// Maps frames to a motion from frame 40 to frame 70 only.
fn moved(frame: usize) -> usize {
    frame.clamp(40, 70)
}

/// Returns a sheet with normals, uvs and colours in every frame.
fn coloured(time: impl Fn(usize) -> usize) -> Mesh {
    let n = 8;
    let plain = sheet(n, LAST + 1);
    let count = (n + 1) * (n + 1);
    let all = |value: &dyn Fn(f32, f32, f32) -> Vec<f32>| -> Vec<Vec<Vec<f32>>> {
        let of = |f: usize| (0..count).map(move |i| (f, i));
        let at = |(f, i): (usize, usize)| value((i % (n + 1)) as f32, (i / (n + 1)) as f32, time(f) as f32);
        (0..=LAST).map(|f| of(f).map(at).collect()).collect()
    };
    fn arrays<const N: usize>(values: Vec<Vec<Vec<f32>>>) -> Vec<Vec<[f32; N]>> {
        let frame = |f: Vec<Vec<f32>>| f.into_iter().map(|v| v.try_into().unwrap()).collect();
        values.into_iter().map(frame).collect()
    }
    let mut positions = vec![Vec::new(); LAST + 1];
    for (f, points) in positions.iter_mut().enumerate() {
        plain.positions.read(time(f), points).unwrap();
    }
    let normal = |x: f32, _: f32, t: f32| {
        let slope = 0.9 * (x * 0.9 + t * 0.3).cos();
        let length = (1.0 + slope * slope + 0.04).sqrt();
        vec![-slope / length, -0.2 / length, 1.0 / length]
    };
    let uv = |x: f32, y: f32, t: f32| vec![0.1 * x + 0.01 * t, 0.1 * y + 0.05 * (0.2 * t + x).sin()];
    let colour =
        |x: f32, y: f32, t: f32| vec![0.5 + 0.4 * (0.1 * t + x).sin(), 0.1 * y, 0.5, 1.0 - 0.004 * t];
    let mut mesh = Mesh { positions: channel(positions), ..plain };
    mesh.normals = Some(attribute("N", Scope::Vertex, arrays(all(&normal))));
    mesh.uvs.push(attribute("st", Scope::Vertex, arrays(all(&uv))));
    mesh.colours.push(attribute("Cd", Scope::Vertex, arrays(all(&colour))));
    mesh
}

/// Returns every kind of mesh: soft, temporarily still, with points that never move, without animated
/// attributes, with changing faces, still.
fn scene() -> Scene {
    let mut tree = Tree::default();
    tree.mesh(None, "soft", coloured(|f| f));
    tree.mesh(None, "rests", coloured(moved));
    let mut points = Vec::new();
    let mut flat = coloured(|f| f);
    flat.positions.read(3, &mut points).unwrap();
    flat.positions = channel(vec![points]);
    tree.mesh(None, "flat", flat);
    tree.mesh(None, "plain", with_uvs(sheet(5, LAST + 1)));
    tree.mesh(None, "faces", with_uvs(growing(true)));
    tree.mesh(None, "cube", with_uvs(cube()));
    tree.0
}

fn bytes(preset: Preset, apart: bool) -> Vec<u8> {
    build(&scene(), &options(preset, apart)).unwrap().1
}

fn without() -> Limits {
    Limits::default().with_attributes(false)
}

fn opened(bytes: &[u8], limits: &Limits) -> Result<Reel, Error> {
    Reel::from_source(Arc::new(bytes.to_vec()), limits)
}

/// Bits of the content of a mesh, as far as it is there: indices and positions, normals, tangents, uvs,
/// colours.
type MeshBits = [Vec<u32>; 5];

fn bits(view: MeshView<'_>) -> MeshBits {
    let values = |components: usize, read: &dyn Fn(&mut [f32]) -> Result<(), Error>| {
        let mut out = vec![0.0; components * view.vertex_count()];
        match read(&mut out) {
            Ok(()) => out.iter().map(|v| v.to_bits()).collect(),
            Err(_) => Vec::new(),
        }
    };
    let mut positions = values(3, &|out| view.positions_into(out));
    positions.extend(view.indices());
    [
        positions,
        values(3, &|out| view.normals_into(out)),
        values(4, &|out| view.tangents_into(out)),
        values(2, &|out| view.uvs_into(0, out)),
        values(4, &|out| view.colours_into(0, out)),
    ]
}

/// Removes the channels that are left out without animated attributes.
fn leave_out(record: &MeshRecord, shown: &mut MeshBits) {
    for (s, stream) in record.streams.iter().enumerate() {
        if record.is_attribute(s) {
            let gone = match stream.semantic {
                Semantic::Position => continue,
                Semantic::Normal => 1..2,
                Semantic::QTangent => 1..3,
                Semantic::Uv => 3..4,
                Semantic::Colour => 4..5,
                // Their vertices come with each frame.
                _ => continue,
            };
            shown[gone].iter_mut().for_each(Vec::clear);
        }
    }
}

/// Returns the content of all meshes of a frame.
fn frame_bits(decoder: &mut FrameDecoder, frame: usize) -> Result<Vec<MeshBits>, Error> {
    decoder.decode(frame)?;
    let meshes = 0..decoder.reel().description().meshes.len();
    Ok(meshes.map(|m| bits(decoder.mesh(m))).collect())
}

fn all_frame_bits(reel: &Reel) -> Vec<Vec<MeshBits>> {
    let mut decoder = FrameDecoder::new(reel).unwrap();
    let frames = 0..reel.frame_count();
    frames.map(|f| frame_bits(&mut decoder, f).unwrap()).collect()
}

/// Returns the content of all frames without animated attributes.
fn stripped(reel: &Reel) -> Vec<Vec<MeshBits>> {
    let mut frames = all_frame_bits(reel);
    for frame in &mut frames {
        let meshes = frame.iter_mut().zip(&reel.description().meshes);
        meshes.for_each(|(mesh, record)| leave_out(record, mesh));
    }
    frames
}

#[test]
fn f16_attributes_apart_change_nothing_that_is_shown() {
    for preset in [Preset::Small, Preset::Fast] {
        let [plain, apart] = [false, true].map(|apart| holds(&scene(), &options(preset, apart)));
        let streams = |m: usize| &apart.reel.description().meshes[m].streams;
        let codings: Vec<Coding> = (0..4).flat_map(streams).map(|s| s.coding).collect();
        for coding in [Coding::FixedPoint, Coding::Predicted, Coding::Quantized] {
            assert!(codings.contains(&coding), "{coding:?} is tried");
        }
        assert!(apart.reel.description().meshes[1].end_states.size > 0, "an end state is tried");
        let are: Vec<bool> = apart.reel.description().meshes.iter().map(|m| m.separate_attributes).collect();
        assert_eq!(are, [true, true, true, true, false, false]);
        // Every unit is directly followed by its attributes.
        let kinds: Vec<u16> = apart.reel.chunks().iter().map(|c| c.kind).collect();
        let units =
            kinds.iter().filter(|k| matches!(**k, kind::INDEPENDENT_UNIT | kind::DEPENDENT_UNIT)).count();
        let pairs = kinds.windows(2).filter(|p| p[1] == kind::VERTEX_ATTRIBUTES);
        assert_eq!(pairs.clone().count(), units);
        assert!(pairs.clone().all(|p| matches!(p[0], kind::INDEPENDENT_UNIT | kind::DEPENDENT_UNIT)));
        // Without the option there is no sign of it.
        assert_eq!(plain.reel.chunk_bytes(kind::VERTEX_ATTRIBUTES), 0);
        assert!(plain.reel.description().meshes.iter().all(|m| !m.separate_attributes));
        assert!(!plain.reel.description().options.contains("apart"));
        // The cost: an entry of the chunk table for each unit, a block header, and less efficient compression
        // of separate blocks.
        let (is, was) = (apart.bytes.len(), plain.bytes.len());
        println!("{preset:?}: {was} bytes, {is} apart, {units} units");
        assert!(is > was && is - was < 32 * units + was / 100, "{is} {was} {units}");
        let frames = all_frame_bits(&plain.reel);
        assert!(frames == all_frame_bits(&apart.reel));
        let mut decoder = FrameDecoder::new(&apart.reel).unwrap();
        for step in [LAST, 64, 37] {
            for i in 0..=LAST {
                let frame = (i * step + 20) % (LAST + 1);
                assert!(frame_bits(&mut decoder, frame).unwrap() == frames[frame], "{step}: {frame}");
            }
        }
    }
}

/// A source in memory that records its reads.
struct RecordingSource {
    bytes: Vec<u8>,
    ranges: Mutex<Vec<[u64; 2]>>,
}

impl RecordingSource {
    fn new(bytes: Vec<u8>) -> Arc<RecordingSource> {
        let ranges = Mutex::default();
        Arc::new(RecordingSource { bytes, ranges })
    }

    fn note(&self, offset: u64, out: &mut [u8]) {
        let end = offset + out.len() as u64;
        self.ranges.lock().unwrap().push([offset, end]);
        out.copy_from_slice(&self.bytes[offset as usize..end as usize]);
    }

    /// Returns the bytes read since the last call, and whether separate attributes were among them.
    fn read(&self, reel: &Reel) -> (u64, bool) {
        let ranges = std::mem::take(&mut *self.ranges.lock().unwrap());
        let apart = (reel.chunks().iter()).filter(|c| c.kind == kind::VERTEX_ATTRIBUTES);
        let read = |start: u64, end: u64| ranges.iter().any(|r| r[0] < end && start < r[1]);
        let found = apart.clone().any(|c| read(c.offset, c.offset + u64::from(c.size)));
        (ranges.iter().map(|r| r[1] - r[0]).sum(), found)
    }
}

impl ReadAt for RecordingSource {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.note(offset, out);
        Ok(())
    }
}

impl AsyncSource for RecordingSource {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn start(&self, mut read: ReadRequest) {
        let offset = read.offset();
        self.note(offset, read.buffer());
        let size = read.buffer().len();
        read.complete(Ok(size));
    }
}

#[test]
fn f16_what_is_left_out_is_not_decoded_and_the_rest_is_the_same() {
    for (preset, apart) in
        [(Preset::Small, true), (Preset::Fast, true), (Preset::Small, false), (Preset::Classic, false)]
    {
        let bytes = bytes(preset, apart);
        let source = RecordingSource::new(bytes.clone());
        let with = Reel::from_source(source.clone(), &Limits::default()).unwrap();
        // Before tables are read, which only positions have.
        let memory_with = with.memory();
        let frames = stripped(&with);
        let (read_with, found) = source.read(&with);
        assert_eq!(found, apart);
        let reel = Reel::from_source(source.clone(), &without()).unwrap();
        let memory = reel.memory();
        assert!(frames == all_frame_bits(&reel), "{preset:?} {apart}");
        let (read, found) = source.read(&reel);
        assert!(!found && (read < read_with) == apart, "{preset:?}: {read} {read_with}");
        println!("{preset:?} {apart}: {read} of {read_with} bytes read, {memory} of {memory_with} of memory");
        // Contexts of decompressors are the same for both.
        let same = if apart { 512 << 10 } else { 0 };
        assert!(memory < memory_with && memory < memory_with / if apart { 2 } else { 1 } + same);
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        for i in 0..=LAST {
            let frame = (i * 64 + 20) % (LAST + 1);
            assert!(frame_bits(&mut decoder, frame).unwrap() == frames[frame], "{frame}");
        }
        // As for a mesh without such attributes; static ones remain.
        let view = decoder.mesh(0);
        let mut out = vec![0.0; 2 * view.vertex_count()];
        assert!(!view.has_normals() && !view.has_tangents());
        assert!(
            view.find_stream(Semantic::Uv, 0).is_none() && view.find_stream(Semantic::Position, 0) == Some(0)
        );
        let refused = view.uvs_into(0, &mut out);
        assert!(matches!(refused, Err(Error::Misuse { .. })), "{refused:?}");
        for stream in 1..view.record().streams.len() {
            assert!(view.quantized(stream).is_empty());
        }
        let view = decoder.mesh(3);
        let mut out = vec![0.0; 2 * view.vertex_count()];
        view.uvs_into(0, &mut out).unwrap();
    }
}

#[test]
fn f16_a_player_reads_past_attributes() {
    let bytes = bytes(Preset::Small, true);
    let frames = all_frame_bits(&opened(&bytes, &Limits::default()).unwrap());
    let mut held = [0; 2];
    let mut read = [0; 2];
    for (i, attributes) in [true, false].into_iter().enumerate() {
        let source = RecordingSource::new(bytes.clone());
        let limits = Limits::default().with_attributes(attributes);
        let mut player = Player::new(
            PlayerOptions::default()
                .with_heap(16 << 20)
                .with_resident(0)
                .with_threads(0)
                .with_read_threads(0)
                .with_limits(limits),
        )
        .unwrap();
        let file = player.open_source("noted", source.clone());
        let instance = player.add_instance(file).unwrap();
        player.command(instance, Command::Repeat(Repeat::Loop));
        player.command(instance, Command::Play);
        player.tick(0.0);
        let opening = source.read(player.reel(file).unwrap()).0;
        let mut waited = 0;
        for tick in 0..600 {
            if tick % 97 == 96 {
                player.command(instance, Command::GoToFrame(tick * 53 % LAST));
                player.command(instance, Command::Play);
            }
            player.tick(1.0 / 60.0);
            let Some(shown) = player.frame(instance) else {
                waited += 1;
                continue;
            };
            waited += usize::from(shown.is_late());
            let reel = shown.reel();
            for (number, still) in
                [(shown.pair().first, shown.first()), (shown.pair().second, shown.second())]
            {
                for (m, record) in reel.description().meshes.iter().enumerate() {
                    let mut expected = frames[number as usize][m].clone();
                    if !attributes {
                        leave_out(record, &mut expected);
                    }
                    assert!(bits(still.mesh(m)) == expected, "frame {number}");
                }
            }
        }
        // Reads of single units are issued together, so that jumps do not wait longer.
        assert!(waited <= 7, "{waited}");
        let (later, found) = source.read(player.reel(file).unwrap());
        assert_eq!(found, attributes, "what is read");
        let mut statistics = Statistics::default();
        player.statistics(&mut statistics);
        let bytes_read = statistics.streams[0].counters.bytes_read;
        assert!(later <= bytes_read && bytes_read < opening + later);
        (read[i], held[i]) = (bytes_read, statistics.heap.peak_bytes);
    }
    println!("bytes read {read:?}, heap {held:?}");
    assert!(2 * read[1] < read[0] && 2 * held[1] < held[0], "{read:?} {held:?}");
}

/// Returns the file with changed chunks: kind and content of each are edited, or it is left out. All
/// checksums are right.
fn rewritten(reel: &Reel, change: &dyn Fn(usize, &mut u16, &mut Vec<u8>) -> usize) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.reel");
    let mut writer = Writer::create(&path).unwrap();
    let (mut places, mut count) = (Vec::new(), 0);
    for (i, chunk) in reel.chunks().iter().enumerate() {
        let (mut bytes, mut kind) = (Vec::new(), chunk.kind);
        reel.reader().read_chunk(i, &mut bytes).unwrap();
        let mut content = vec![0; chunk.raw_size as usize];
        Decompressor::new().decompress(&bytes, &mut content).unwrap();
        let copies = change(i, &mut kind, &mut content);
        places.push(count);
        count += copies as u32;
        // It comes last, and has the places of others.
        if kind == kind::DESCRIPTION
            && let Ok(mut description) = decode(&content)
        {
            for m in &mut description.meshes {
                for location in [&mut m.connectivity, &mut m.values, &mut m.source_map, &mut m.end_states] {
                    location.chunk = places[location.chunk as usize];
                }
            }
            content.clear();
            encode(&description, &mut content);
        }
        bytes.clear();
        Compressor::new(BlockFormat::Store, 1).compress(&content, &mut bytes);
        for _ in 0..copies {
            writer.add_chunk(kind, content.len() as u32, &bytes).unwrap();
        }
    }
    for frame in reel.frames() {
        writer.add_frame(frame.time, frame.bounds).unwrap();
    }
    let (bounds, raw_bytes) = (reel.reader().header().bounds, reel.reader().header().raw_bytes);
    let summary = Summary { bounds, raw_bytes, flags: 0 };
    writer.finish(summary).unwrap();
    std::fs::read(&path).unwrap()
}

#[test]
fn f16_missing_and_damaged_attributes_are_refused_and_positions_play() {
    let reel = opened(&bytes(Preset::Small, true), &Limits::default()).unwrap();
    let positions = stripped(&reel);
    let chunks = reel.chunks();
    let are: Vec<usize> = (0..chunks.len()).filter(|&i| chunks[i].kind == kind::VERTEX_ATTRIBUTES).collect();
    // With attributes an error, on opening or when a frame is decoded; without them all frames decode.
    let refused = |bytes: &[u8], name: &str| -> bool {
        let plain = opened(bytes, &without()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(all_frame_bits(&plain) == positions, "{name}");
        let decoded = opened(bytes, &Limits::default()).and_then(|reel| {
            let mut decoder = FrameDecoder::new(&reel)?;
            (0..=LAST).try_for_each(|f| frame_bits(&mut decoder, f).map(|_| ()))
        });
        decoded.is_err()
    };
    assert!(!refused(&rewritten(&reel, &|_, _, _| 1), "nothing is changed"));
    let middle = are[are.len() / 2];
    assert!(refused(&rewritten(&reel, &|i, _, _| usize::from(i != middle)), "one is missing"));
    assert!(refused(&rewritten(&reel, &|i, _, _| usize::from(!are.contains(&i))), "all are missing"));
    assert!(refused(&rewritten(&reel, &|i, _, _| 1 + usize::from(i == middle)), "one is there twice"));
    let other = |i: usize, kind: &mut u16, _: &mut Vec<u8>| {
        *kind = if i == middle { 99 } else { *kind };
        1
    };
    assert!(refused(&rewritten(&reel, &other), "one is of another kind"));
    // The right number of them, but one follows another chunk.
    let apart = |i: usize, kind: &mut u16, _: &mut Vec<u8>| {
        let is = |k: usize| i == are[k];
        *kind = if is(1) { 99 } else { *kind };
        1 + usize::from(is(0))
    };
    assert!(refused(&rewritten(&reel, &apart), "one is elsewhere"));
    for at in 0..12 {
        let cut = |i: usize, _: &mut u16, content: &mut Vec<u8>| {
            if i == middle {
                content.truncate(content.len() * at / 12);
            }
            1
        };
        assert!(refused(&rewritten(&reel, &cut), "one is cut"), "{at}");
        let longer = |i: usize, _: &mut u16, content: &mut Vec<u8>| {
            content.extend(if i == are[at] { &[0][..] } else { &[] });
            1
        };
        assert!(refused(&rewritten(&reel, &longer), "one is longer"), "{at}");
        // Changed bits may decode to anything, but without a panic.
        let flip = |i: usize, _: &mut u16, content: &mut Vec<u8>| {
            if i == middle {
                let place = content.len() * at / 12;
                content[place] ^= 1 << (at % 8);
            }
            1
        };
        refused(&rewritten(&reel, &flip), "one is changed");
    }
    // Bytes that do not match their checksum.
    let mut damaged = rewritten(&reel, &|_, _, _| 1);
    let whole = opened(&damaged, &Limits::default()).unwrap();
    let chunk = whole.chunks()[middle];
    damaged[chunk.offset as usize + chunk.size as usize / 2] ^= 4;
    assert!(refused(&damaged, "a checksum is wrong"));
    // The statement in the description.
    let record = |mesh: usize, change: &dyn Fn(&mut MeshRecord)| {
        rewritten(&reel, &|_, kind, content| {
            if *kind == kind::DESCRIPTION {
                let mut description = decode(content).unwrap();
                change(&mut description.meshes[mesh]);
                content.clear();
                encode(&description, content);
            }
            1
        })
    };
    for mesh in 0..4 {
        let changed = opened(&record(mesh, &|m| m.separate_attributes = false), &Limits::default()).unwrap();
        let mut decoder = FrameDecoder::new(&changed).unwrap();
        assert!((0..=LAST).any(|f| decoder.decode(f).is_err()), "{mesh}");
    }
    // A mesh without animation has no attributes to separate.
    for mesh in 4..6 {
        assert!(opened(&record(mesh, &|m| m.separate_attributes = true), &without()).is_err());
    }
}
