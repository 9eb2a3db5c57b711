//! An open file takes no more memory than it declares, and declares it before: for very many small meshes,
//! for ordinary files, and for crafted ones whose few bytes ask for much. Counts the bytes that Rust code
//! holds.
#![allow(unsafe_code)] // The counting allocator.

mod common;

use common::{Sample, sample_of};
use meshreel::raw::format::{Summary, Writer};
use meshreel::raw::record::{
    CODEC_SMALL, ChunkLocation, Coding, Description, MaterialRecord, MeshRecord, Method, NodeRecord,
    Semantic, StreamRecord, Visibility,
};
use meshreel::raw::{format::kind, record};
use meshreel::{Error, FrameDecoder, Limits, Reel, Transform};
use meshreel_codec::entropy::block;
use meshreel_codec::entropy::block::{BlockFormat, Compressor};
use meshreel_codec::mesh::encode::{EncodeBuffers, Encoder, PositionSource};
use meshreel_codec::mesh::{encode, hierarchy};
use meshreel_codec::put_length_prefixed;
use meshreel_codec::quantize::lattice::Extent;
use meshreel_codec::schedule::{Schedule, Unit};
use meshreel_codec::topology::compact;
use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

static HELD: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);
/// One test at a time.
static TEST_LOCK: Mutex<()> = Mutex::new(());

struct Counting;

fn more(bytes: usize) {
    let held = HELD.fetch_add(bytes as u64, Ordering::Relaxed) + bytes as u64;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

fn less(bytes: usize) {
    HELD.fetch_sub(bytes as u64, Ordering::Relaxed);
}

// SAFETY: every call goes on to the system's allocator unchanged; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        more(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        more(size);
        less(layout.size());
        // SAFETY: as above; `pointer` came from the system's allocator, as all of this one's do.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        less(layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns the result of `work`, the most additional bytes that were held at once meanwhile, and those held
/// afterwards.
fn measure_memory<T>(work: impl FnOnce() -> T) -> (T, u64, u64) {
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let done = work();
    let peak = PEAK.load(Ordering::Relaxed).saturating_sub(before);
    let left = HELD.load(Ordering::Relaxed).saturating_sub(before);
    (done, peak, left)
}

/// A strip of triangles, each of which bends differently.
struct Strip {
    points: u32,
    phase: f32,
}

impl PositionSource for Strip {
    fn positions(&self, frame: u32, out: &mut [[f32; 3]]) {
        for (v, out) in out.iter_mut().enumerate() {
            let wave = (frame as f32 * 0.21 + self.phase + v as f32 * 1.3).sin();
            *out = [(v / 2) as f32 * 0.5, (v % 2) as f32 + 0.1 * wave, 0.4 * wave];
        }
    }
}

const FRAMES: u32 = 33;

/// The coded data of a strip in a file.
struct Coded {
    connectivity: Vec<u8>,
    values: Vec<u8>,
    /// The frames' data by unit.
    units: Vec<Vec<u8>>,
}

impl Strip {
    fn indices(&self) -> Vec<u32> {
        (0..self.points - 2).flat_map(|t| [t, t + 1, t + 2]).collect()
    }

    fn code(&self, own_tables: bool) -> Coded {
        let own: Vec<u32> = (0..self.points).collect();
        let triangles = self.indices();
        let compact = compact::encode(triangles.as_chunks().0, (&own, own.len()), (&[], 1));
        let indices = compact.indices;
        let schedule = Schedule::new(FRAMES, 4);
        let extent = Extent {
            low: [0.0, -0.2, -0.5],
            high: [self.points as f32, 1.2, 0.5],
            tolerance: 1e-3f64.max(2e-4 * f64::from(self.points)),
            axes: 3,
        };
        let options = encode::Options { effort: 1, own_tables, ..encode::Options::default() };
        let work = &mut EncodeBuffers::<i16>::default();
        let levels = hierarchy::build_with_grid(None, self.points, &indices);
        let encoder = Encoder::new(levels, FRAMES, extent, options, self, work).unwrap();
        let mut coded: BTreeMap<u32, Vec<u8>> = BTreeMap::new();
        let mut keys: BTreeMap<u32, Vec<[i16; 4]>> = BTreeMap::new();
        for segment in 0..schedule.segments() {
            let each = &mut |key: u32, bytes: Vec<u8>, frame: &[[i16; 4]]| {
                coded.insert(schedule.unit_number(Unit::Key(key)), bytes);
                keys.insert(schedule.key_frame(key), frame.to_vec());
            };
            encoder.encode_segment(segment, work, each).unwrap();
        }
        for group in 0..schedule.groups() {
            let key = |frame: u32| &keys[&frame][..];
            let units = encoder.encode_group(group, &key, work, &mut |_, _, _| {}).unwrap();
            for (unit, bytes) in [Unit::LowerLayers(group), Unit::TopLayer(group)].into_iter().zip(units) {
                coded.insert(schedule.unit_number(unit), bytes);
            }
        }
        let mut values = Vec::new();
        put_length_prefixed(encoder.static_bytes(), &mut values);
        Coded {
            connectivity: compact.bytes,
            values,
            units: schedule.units_in_file_order().map(|u| coded[&schedule.unit_number(u)].clone()).collect(),
        }
    }
}

fn append_located(content: &mut Vec<u8>, chunk: u32, bytes: &[u8]) -> ChunkLocation {
    let offset = content.len() as u32;
    content.extend_from_slice(bytes);
    ChunkLocation { chunk, offset, size: bytes.len() as u32 }
}

/// Returns the contents of the chunks of a file with these meshes, each repeated as often as it says.
fn chunks(meshes: &[(&Strip, &Coded, usize)]) -> Vec<(u16, Vec<u8>)> {
    let schedule = Schedule::new(FRAMES, 4);
    let (mut connectivity, mut values) = (Vec::new(), Vec::new());
    let mut description =
        Description { generator: "test".into(), restart: 4, fps: 24.0, ..Description::default() };
    let all = meshes.iter().flat_map(|m| std::iter::repeat_n((m.0, m.1), m.2));
    let all: Vec<(&Strip, &Coded)> = all.collect();
    for (i, (strip, coded)) in all.iter().enumerate() {
        let path = format!("/piece_{i:05}");
        description.nodes.push(NodeRecord {
            path: path.clone(),
            parent: None,
            mesh: Some(i as u32),
            animated: false,
            visibility: Visibility::Always,
            rest: Transform::IDENTITY,
            tolerance: 1e-3,
            baked: false,
            reach: 0.0,
        });
        description.meshes.push(MeshRecord {
            path,
            method: Method::Soft,
            codec: CODEC_SMALL,
            vertices: strip.points,
            indices: 3 * (strip.points - 2),
            source_points: strip.points,
            points: strip.points,
            bounds: [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
            connectivity: append_located(&mut connectivity, 1, &coded.connectivity),
            values: append_located(&mut values, 2, &coded.values),
            source_map: ChunkLocation::default(),
            has_table: false,
            moving_frames: None,
            end_states: ChunkLocation::default(),
            remeshed_blend_frames: None,
            separate_attributes: false,
            particles: None,
            streams: vec![StreamRecord {
                semantic: Semantic::Position,
                set: 0,
                name: String::new(),
                animated: true,
                coding: Coding::FixedPoint,
                word: 2,
                bits: 0,
                axes: Vec::new(),
                states: 0,
                bones: Default::default(),
                tolerance: 1e-3,
            }],
            materials: vec![MaterialRecord {
                id: 0,
                name: String::new(),
                first: 0,
                count: 3 * (strip.points - 2),
            }],
        });
    }
    let mut raw = Vec::new();
    record::encode(&description, &mut raw);
    let mut out = vec![(kind::DESCRIPTION, raw), (kind::CONNECTIVITY, connectivity), (kind::VALUES, values)];
    for (u, unit) in schedule.units_in_file_order().enumerate() {
        let mut content = Vec::new();
        for (_, coded) in &all {
            put_length_prefixed(&coded.units[u], &mut content);
        }
        let frame = schedule.frames_of(unit).first().copied().unwrap_or(0);
        let alone = matches!(unit, Unit::Key(_)) && schedule.references(frame).iter().all(|&r| r == 0);
        out.push((if alone { kind::INDEPENDENT_UNIT } else { kind::DEPENDENT_UNIT }, content));
    }
    out
}

/// Returns a file of these chunks. `crafted` replaces one of them: its number, its declared size, and its
/// stored bytes.
fn file(chunks: &[(u16, Vec<u8>)], crafted: Option<(usize, u32, &[u8])>) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("test.reel");
    let mut writer = Writer::create(&path).unwrap();
    let mut compressor = Compressor::new(BlockFormat::Zstd, 3);
    for (i, (kind, raw)) in chunks.iter().enumerate() {
        match crafted {
            Some((at, size, bytes)) if at == i => writer.add_chunk(*kind, size, bytes).unwrap(),
            _ => {
                let mut out = Vec::new();
                compressor.compress(raw, &mut out);
                writer.add_chunk(*kind, raw.len() as u32, &out).unwrap()
            }
        };
    }
    for frame in 0..FRAMES {
        writer.add_frame(f64::from(frame) / 24.0, [0.0; 6]).unwrap();
    }
    let summary = Summary { bounds: [0.0; 6], raw_bytes: 1, flags: 0 };
    writer.finish(summary).unwrap();
    std::fs::read(&path).unwrap()
}

fn open(bytes: &Arc<Vec<u8>>, limits: &Limits) -> Result<Reel, Error> {
    Reel::from_source(bytes.clone(), limits)
}

/// Opens a file and decodes all frames. Returns the bytes that it declared, the most that it took, and those
/// held at the end.
fn decoded(bytes: Vec<u8>) -> [u64; 3] {
    let bytes = Arc::new(bytes);
    let (held, peak, left) = measure_memory(|| {
        let reel = open(&bytes, &Limits::default()).unwrap();
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        for frame in 0..reel.frame_count() {
            decoder.decode(frame).unwrap();
        }
        (reel, decoder)
    });
    [held.0.memory(), peak, left]
}

fn lock_tests() -> std::sync::MutexGuard<'static, ()> {
    TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn many_small_meshes_take_what_is_said() {
    let _alone = lock_tests();
    let strip = Strip { points: 3, phase: 0.3 };
    let coded = strip.code(false);
    let mut before = 0;
    for count in [1, 1000, 20_000] {
        let [said, peak, left] = decoded(file(&chunks(&[(&strip, &coded, count)]), None));
        println!("{count} meshes: {said} bytes said, {peak} taken, {left} held");
        assert!(peak <= said, "{count} meshes: {said} said, {peak} taken");
        // The first one includes the tables.
        let each = (said - before) / count as u64;
        assert!(count == 1 || each < 8 << 10, "{each} bytes each");
        assert!(count == 1 || said < 3 * left, "{said} said, {left} held");
        before = said;
    }
}

#[test]
fn tables_of_meshes_are_shared_counted_and_limited() {
    let _alone = lock_tests();
    // A small one, and three with so many points that their tables are the large ones.
    let strips = [20, 600, 640, 680].map(|points| Strip { points, phase: points as f32 });
    let coded: Vec<Coded> = strips.iter().map(|s| s.code(true)).collect();
    let one = file(&chunks(&[(&strips[0], &coded[0], 1)]), None);
    let same = file(&chunks(&[(&strips[0], &coded[0], 100)]), None);
    let all: Vec<(&Strip, &Coded, usize)> = strips.iter().zip(&coded).map(|(s, c)| (s, c, 1)).collect();
    let all = file(&chunks(&all), None);
    let [one, same, different] = [one, same, all.clone()].map(|bytes| {
        let [said, peak, _] = decoded(bytes);
        assert!(peak <= said, "{said} said, {peak} taken");
        said
    });
    assert!(same < one + 100 * (16 << 10), "{one} for one, {same} for 100 equal");
    // The memory known when the file is opened leaves no room for them: nothing of that size is allocated.
    let all = Arc::new(all);
    let limits = |max_memory| Limits::default().with_max_memory(max_memory);
    let reel = open(&all, &limits(different)).unwrap();
    FrameDecoder::new(&reel).unwrap();
    let reel = open(&all, &limits(different - 1)).unwrap();
    match FrameDecoder::new(&reel).err() {
        Some(Error::Limit { asked, allowed, .. }) => {
            assert_eq!((asked, allowed), (different, different - 1))
        }
        other => panic!("{other:?}"),
    }
    let least = reel.memory();
    assert!(least < different - 3 * (40 << 10));
    let (refused, peak, _) = measure_memory(|| {
        let reel = open(&all, &limits(least)).unwrap();
        FrameDecoder::new(&reel).err()
    });
    assert!(matches!(refused, Some(Error::Limit { .. })), "{refused:?}");
    assert!(peak <= least, "{peak} of {least}");
    assert!(open(&all, &limits(least - 1)).is_err());
}

#[test]
fn ordinary_files_take_what_is_said() {
    let _alone = lock_tests();
    let strip = Strip { points: 4000, phase: 0.0 };
    let coded = strip.code(false);
    let layered = file(&chunks(&[(&strip, &coded, 2)]), None);
    let classic = |fluid, side| {
        let Sample { parts, .. } = sample_of(12, fluid, side);
        parts.write()
    };
    let files = [
        ("layered", layered),
        ("small classic", classic(true, 5)),
        ("classic", classic(false, 60)),
        ("fluid", classic(true, 60)),
    ];
    for (name, bytes) in files {
        let [said, peak, left] = decoded(bytes);
        println!("{name}: {said} bytes said, {peak} taken, {left} held");
        assert!(peak <= said, "{name}: {said} said, {peak} taken");
        assert!(said < 4 * left + (1 << 20), "{name}: {said} said, {left} held");
    }
}

/// Reads everything that a file offers.
fn everything(bytes: &Arc<Vec<u8>>) -> Result<(), Error> {
    let reel = open(bytes, &Limits::default())?;
    let mut first = Ok(());
    let mut note = |result: Result<(), Error>| {
        if first.is_ok() {
            first = result;
        }
    };
    for mesh in 0..reel.description().meshes.len() {
        note(reel.source_map(mesh).map(|_| ()));
        note(reel.lod_count(mesh).map(|_| ()));
        note(reel.hidden_triangles(mesh).map(|_| ()));
        note(reel.grid(mesh).map(|_| ()));
    }
    note(reel.all_part_attributes().map(|_| ()));
    note(reel.skeletons().map(|_| ()));
    note(reel.clips().map(|_| ()));
    note(
        FrameDecoder::new(&reel)
            .and_then(|mut decoder| (0..reel.frame_count()).try_for_each(|frame| decoder.decode(frame))),
    );
    first
}

#[test]
fn few_bytes_cannot_ask_for_much_memory() {
    let _alone = lock_tests();
    const MUCH: usize = 96 << 20;
    let strip = Strip { points: 30, phase: 0.0 };
    let coded = strip.code(false);
    let plain = chunks(&[(&strip, &coded, 3)]);
    everything(&Arc::new(file(&plain, None))).unwrap();
    let mut zeros = Vec::new();
    Compressor::new(BlockFormat::Zstd, 3).compress(&vec![0; MUCH], &mut zeros);
    assert!(zeros.len() < MUCH / 1000);
    for of_kind in kind::DESCRIPTION..=kind::PART_ATTRIBUTES {
        let mut all = plain.clone();
        let at = all.iter().position(|c| c.0 == of_kind).unwrap_or_else(|| {
            // Behind static data, which is referred to by number.
            all.insert(3, (of_kind, Vec::new()));
            3
        });
        let bytes = Arc::new(file(&all, Some((at, MUCH as u32, &zeros))));
        let (refused, peak, _) = measure_memory(|| everything(&bytes));
        let error = refused.expect_err("it holds too much");
        println!("kind {of_kind}: {peak} bytes for {}: {error}", bytes.len());
        let most = block::max_content_bytes(bytes.len()) as u64;
        assert!(peak < 4 * most, "kind {of_kind}: {peak} for {}", bytes.len());
    }
}

#[test]
fn counts_that_nothing_justifies_are_refused() {
    let _alone = lock_tests();
    // Sizes in a description are checked against the limits before anything is allocated.
    let strip = Strip { points: 3, phase: 0.0 };
    let coded = strip.code(false);
    let limits = Limits::default().with_max_memory(32 << 20);
    type Change = fn(&mut MeshRecord);
    let changes: [Change; 5] = [
        |m| m.vertices = 1 << 26,
        |m| m.indices = 3 << 26,
        |m| (m.vertices, m.points) = (1 << 26, 1 << 26),
        |m| {
            m.streams[0].coding = Coding::Bones;
            m.streams[0].bones.rigid = 1 << 30;
        },
        |m| {
            m.streams[0].coding = Coding::Bones;
            m.streams[0].bones.coded = 1 << 30;
        },
    ];
    for change in changes {
        let mut all = chunks(&[(&strip, &coded, 1)]);
        let mut description = record::decode(&all[0].1).unwrap();
        change(&mut description.meshes[0]);
        all[0].1.clear();
        record::encode(&description, &mut all[0].1);
        let bytes = Arc::new(file(&all, None));
        let (result, peak, _) = measure_memory(|| {
            let reel = open(&bytes, &limits)?;
            FrameDecoder::new(&reel).map(|_| ())
        });
        assert!(result.is_err());
        assert!(peak <= limits.max_memory, "{peak}");
    }
}

/// Provides memory for one heap, and counts it.
#[derive(Default)]
struct Host {
    given: AtomicU64,
    returned: AtomicU64,
    empty: bool,
}

// SAFETY: memory of the global allocator, with the layout that was asked for.
unsafe impl meshreel::stream::Allocator for Host {
    fn allocate(&self, layout: Layout) -> *mut u8 {
        if self.empty {
            return std::ptr::null_mut();
        }
        self.given.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: a heap has a size.
        let memory = unsafe { std::alloc::alloc(layout) };
        // The memory may have any content.
        // SAFETY: that many bytes were just allocated.
        unsafe { memory.write_bytes(0xA5, layout.size()) };
        memory
    }
    unsafe fn deallocate(&self, memory: *mut u8, layout: Layout) {
        self.returned.fetch_add(layout.size() as u64, Ordering::Relaxed);
        // SAFETY: from `allocate`, by the caller's promise.
        unsafe { std::alloc::dealloc(memory, layout) }
    }
}

#[test]
fn a_heap_lies_in_the_hosts_memory() {
    let _alone = TEST_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let host = Arc::new(Host::default());
    let options = |host: &Arc<Host>| {
        meshreel::Options::default()
            .with_heap(4 << 20)
            .with_allocator(host.clone())
            .with_threads(0)
            .with_read_threads(0)
    };
    let mut player = meshreel::Player::new(options(&host)).unwrap();
    assert_eq!(host.given.load(Ordering::Relaxed), 4 << 20);
    let bytes =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/golden/v0/flag_small.reel"));
    let file = player.open_bytes(Arc::new(bytes.unwrap()));
    let instance = player.add_instance(file).unwrap();
    player.command(instance, meshreel::Command::Play);
    player.tick(0.0);
    player.tick(0.01);
    let shown = player.frame(instance).expect("a frame");
    drop(player);
    assert_eq!(host.returned.load(Ordering::Relaxed), 0, "a frame that was lent is still there");
    drop(shown);
    assert_eq!(host.returned.load(Ordering::Relaxed), 4 << 20);
    let empty = Arc::new(Host { empty: true, ..Host::default() });
    let refused = meshreel::Player::new(options(&empty)).err();
    assert!(matches!(refused, Some(Error::Misuse { .. })));
}

/// Of every kind of content.
#[test]
fn golden_files_take_what_is_said() {
    let _alone = lock_tests();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden");
    let mut seen = 0;
    for file in walk(&folder) {
        let Ok(reel) = open(&Arc::new(std::fs::read(&file).unwrap()), &Limits::default()) else { continue };
        drop(reel);
        let [said, peak, left] = decoded(std::fs::read(&file).unwrap());
        println!("{}: {said} bytes said, {peak} taken, {left} held", file.display());
        assert!(peak <= said, "{}: {said} said, {peak} taken", file.display());
        assert!(said < 3 * left + (1 << 20), "{}: {said} said, {left} held", file.display());
        seen += 1;
    }
    assert!(seen > 10);
}

/// Returns the files of a folder and of those in it.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}
