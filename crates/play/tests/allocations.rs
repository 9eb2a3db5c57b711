//! Decoding meshes of fixed topology does not allocate: all memory is allocated when the decoder is made.
//! Playing them does not either, on any thread, after a warm-up; there the C libraries' allocations are
//! counted as well.
#![allow(unsafe_code)] // The counting allocator.

mod common;

use common::{assert_shows, golden, open, sample};
use meshreel::{Command, Event, FrameDecoder, Options, Player, Repeat};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

/// Allocations of all threads, including those of C libraries where module `c` exists.
static ALL_THREADS: AtomicUsize = AtomicUsize::new(0);
/// One test at a time.
static TEST_LOCK: Mutex<()> = Mutex::new(());

/// The C library's functions, preceded by a count; Rust's allocations go through them too.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod c {
    use super::{ALL_THREADS, Ordering};
    use std::ffi::c_void;

    unsafe extern "C" {
        fn __libc_malloc(size: usize) -> *mut c_void;
        fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
        fn __libc_realloc(pointer: *mut c_void, size: usize) -> *mut c_void;
        fn __libc_memalign(align: usize, size: usize) -> *mut c_void;
    }

    fn count() {
        ALL_THREADS.fetch_add(1, Ordering::Relaxed);
    }

    // SAFETY of all: the C library's own function with the same arguments; counting has no other effect.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn malloc(size: usize) -> *mut c_void {
        count();
        // SAFETY: as above.
        unsafe { __libc_malloc(size) }
    }
    #[unsafe(no_mangle)]
    unsafe extern "C" fn calloc(n: usize, size: usize) -> *mut c_void {
        count();
        // SAFETY: as above.
        unsafe { __libc_calloc(n, size) }
    }
    #[unsafe(no_mangle)]
    unsafe extern "C" fn realloc(pointer: *mut c_void, size: usize) -> *mut c_void {
        count();
        // SAFETY: as above.
        unsafe { __libc_realloc(pointer, size) }
    }
    #[unsafe(no_mangle)]
    unsafe extern "C" fn aligned_alloc(align: usize, size: usize) -> *mut c_void {
        count();
        // SAFETY: as above.
        unsafe { __libc_memalign(align, size) }
    }
}

struct Counting;

fn count() {
    // A thread that is ending has no counter any more.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
    ALL_THREADS.fetch_add(1, Ordering::Relaxed);
}

// SAFETY: every call goes on to the system's allocator unchanged; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above; `pointer` came from the system's allocator, as all of this one's do.
        unsafe { System.realloc(pointer, layout, size) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// LOD levels of the sample's first mesh: each second column of its grid is removed, then each second row,
/// and so on.
fn lod_chunk(indices: &[u32], side: u32) -> Vec<u8> {
    use meshreel_codec::topology::lod::{LodLevel, collapse, encode, write_entry};
    let (mut before, mut levels) = (indices.to_vec(), Vec::new());
    for (level, [x, y]) in (1..).zip([[2, 1], [2, 2], [4, 4]]) {
        let ends: Vec<u32> = (0..side * side).map(|v| v / side / y * y * side + v % side / x * x).collect();
        before = collapse(&before, &ends).flatten().collect();
        let triangles = before.len() as u32 / 3;
        let error = level as f32;
        levels.push((LodLevel { triangles, error }, ends));
    }
    let (mut own, mut out) = (Vec::new(), Vec::new());
    encode(indices, side * side, &levels, &mut own);
    write_entry(0, &own, &mut out);
    out
}

#[test]
fn f08_switching_levels_allocates_nothing() {
    let _alone = TEST_LOCK.lock();
    let mut sample = sample(15, false);
    let plain = open(sample.parts.write()).unwrap();
    let side = f64::from(plain.description().meshes[0].vertices).sqrt() as u32;
    let chunk = lod_chunk(&plain.indices(0).unwrap(), side);
    sample.parts.chunks.push((meshreel::raw::format::kind::LOD, chunk));
    let reel = open(sample.parts.write()).unwrap();
    assert_eq!(reel.lod_count(0).unwrap(), 4);
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    decoder.decode(0).unwrap();
    let mut rules = meshreel::policy::LodDistances::SINGLE_LEVEL;
    let lens = meshreel::policy::Projection::new(1.0, 1080.0);
    let before = ALLOCATIONS.get();
    let (mut level, mut seen) = (0, [false; 4]);
    for step in 0..60 {
        decoder.decode(step % 15).unwrap();
        let mesh = decoder.mesh(0);
        let mut errors = [0.0; 3];
        (1..mesh.lod_count()).for_each(|l| errors[l - 1] = mesh.lod(l).error);
        rules = meshreel::policy::LodDistances::from_errors(&errors, 1.0, &lens, rules.margin * 20.0);
        level = rules.level(120.0 * step as f32, level);
        let lod = mesh.lod(level);
        seen[level] = true;
        let sum: u32 = lod.materials.iter().map(|r| r.count).sum();
        assert_eq!(sum as usize, lod.indices.len());
        assert!(lod.indices.iter().all(|&v| (v as usize) < mesh.vertex_count()));
    }
    assert_eq!(ALLOCATIONS.get(), before);
    assert_eq!(seen, [true; 4]);
}

#[test]
fn f17_moving_a_mesh_by_its_rig_allocates_nothing() {
    use meshreel::Transform;
    use meshreel::clip::{blend, object_space};
    use meshreel::view::BoneMatrix;
    const JOINTS: usize = 6;
    let _alone = TEST_LOCK.lock();
    let mut parts = sample(9, false).parts;
    let plain = open(parts.write()).unwrap();
    let vertices = plain.description().meshes[0].vertices;
    let indices = plain.indices(0).unwrap();
    let chunk = common::rigs::chunk(0, vertices, &indices, JOINTS as u32);
    parts.chunks.extend(common::clips::file(JOINTS, 40, None).chunks);
    parts.chunks.push((meshreel::raw::format::kind::RIGS, chunk));
    let reel = open(parts.write()).unwrap();
    let (rigs, clips) = (reel.rigs().unwrap(), reel.clips().unwrap());
    let (rig, clip) = (&rigs[0], &clips[0]);
    let skeleton = clip.skeleton();
    let mut cursor = clip.cursor();
    let mut poses = [[Transform::IDENTITY; JOINTS]; 3];
    let mut object = [BoneMatrix::default(); JOINTS];
    let mut matrices = [BoneMatrix::default(); JOINTS];
    let mut positions = vec![[0.0; 3]; rig.vertex_count()];
    let normals = vec![[0.0, 0.0, 1.0]; rig.vertex_count()];
    let mut turned = normals.clone();
    cursor.sample(0, &mut poses[0]).unwrap();
    let before = ALLOCATIONS.get();
    for i in 0..40 {
        let [a, b, both] = &mut poses;
        cursor.sample(i, b).unwrap();
        blend(a, b, 0.5, both);
        object_space(&skeleton.parents, both, &mut object);
        rig.matrices(&object, &mut matrices);
        rig.positions(&matrices, &mut positions);
        rig.normals(&matrices, &normals, &mut turned);
        assert!(positions.as_flattened().iter().all(|v| v.is_finite()));
    }
    assert_eq!(ALLOCATIONS.get(), before);
}

#[test]
fn decoding_allocates_nothing() {
    use meshreel_codec::entropy::block::BlockFormat;
    const FRAMES: usize = 14;
    let _alone = TEST_LOCK.lock();
    for fluid in [false, true] {
        for format in [BlockFormat::Store, BlockFormat::Deflate, BlockFormat::Lz4, BlockFormat::Zstd] {
            let mut sample = sample(FRAMES, fluid);
            sample.parts.format = format;
            let reel = open(sample.parts.write()).unwrap();
            let mut decoder = FrameDecoder::new(&reel).unwrap();
            let mut positions = vec![0.0; 3 * decoder.mesh(0).vertex_count()];
            // The predictor tables of fluid meshes are allocated with the first of their frames.
            decoder.decode(0).unwrap();
            let before = ALLOCATIONS.get();
            for step in [1, 3, 13, 5] {
                for frame in 0..FRAMES {
                    decoder.decode(frame * step % FRAMES).unwrap();
                    decoder.mesh(0).positions_into(&mut positions).unwrap();
                }
            }
            let allocations = ALLOCATIONS.get() - before;
            assert_eq!(allocations, 0, "{format:?}, fluid: {fluid}");
            decoder.decode(3).unwrap();
            assert_shows(&decoder, &sample.expected[3]);
            assert!(ALLOCATIONS.get() > before, "the counter counts");
        }
    }
}

#[test]
fn clips_allocate_nothing() {
    use common::clips;
    use meshreel::Transform;
    use meshreel::clip::*;
    let _alone = TEST_LOCK.lock();
    let joints = 31;
    let mut resident = clips::random_access_clip(joints, 50).cursor();
    let extras = clips::scalars_record(50);
    let clip = open(clips::file(joints, 50, Some(&extras)).write()).unwrap().clips().unwrap().remove(0);
    let mut cursor = clip.cursor();
    let mask = Mask::most_important(&importance(clip.skeleton()), 12).with_parents(&clip.skeleton().parents);
    let each = [Rounding::Ceil, Rounding::Nearest, Rounding::Floor];
    let mut pose = vec![Transform::IDENTITY; joints];
    let mut other = pose.clone();
    let mut lanes = vec![SoaTransforms::<8>::IDENTITY; SoaTransforms::<8>::item_count(joints)];
    let mut numbers = vec![0.0f32; 10 * joints];
    let mut world = vec![[[0.0; 4]; 3]; joints];
    let weights = vec![0.5; joints];
    let parents = clip.skeleton().parents.clone();
    let up = RootMotion::Planar { up: [0.0, 1.0, 0.0] };
    let mut scalars = [[0.0; 4]; 2];
    let before = ALLOCATIONS.get();
    let mut passed = 0;
    for tick in -200..400 {
        let seconds = f64::from(tick) * 0.017;
        for query in [
            Query::new(seconds),
            Query::new(seconds).wrapped().with_roundings(&each),
            Query::new(seconds).wrapped().with_mask(&mask),
        ] {
            cursor.pose(&query, &mut pose[..]).unwrap();
            resident.pose(&query, &mut other[..]).unwrap();
            resident.pose(&query, &mut lanes[..]).unwrap();
            let mut planes = numbers.chunks_mut(joints);
            let mut next = || planes.next().unwrap();
            let mut planes = PosePlanes {
                rotation: [next(), next(), next(), next()],
                translation: [next(), next(), next()],
                scale: [next(), next(), next()],
            };
            resident.pose(&query, &mut planes).unwrap();
            cursor.joint(3, &query).unwrap();
            clip.scalars(&query, &mut scalars);
        }
        resident.joint(7, &Query::new(seconds).wrapped()).unwrap();
        resident.root_motion(0, (seconds, seconds + 2.0), Repeats::Wrap, up).unwrap();
        cursor.root_motion(0, (seconds, seconds + 2.0), Repeats::Wrap, up).unwrap();
        let top = &other;
        blend_masked(top, top, 0.5, &weights, &mut pose);
        blend(top, top, 0.25, &mut pose);
        Additive::Relative.apply(top, top, 0.5, &mut pose);
        Additive::Additive1.difference(top, top, &mut pose);
        object_space(&parents, &pose, &mut world);
        object_space_masked(&mask, &parents, &pose, &mut world);
        object_joint(&parents, &pose, 30).unwrap();
        passed += clip.events(seconds, seconds + 0.5, Repeats::Wrap).count();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert!(passed > 100);
}

#[test]
fn showing_allocates_nothing() {
    use meshreel::time::{Clock, Timeline};
    use meshreel::{FrameView, VertexAttribute, VertexChannel, VertexFormat};
    let _alone = TEST_LOCK.lock();
    let reel = open(sample(14, false).parts.write()).unwrap();
    let mut decoders = [0, 1].map(|_| FrameDecoder::new(&reel).unwrap());
    let mut clock = Clock::new(&Timeline::from_reel(&reel));
    let attributes = [
        (VertexChannel::Position, VertexFormat::U16x4, 0),
        (VertexChannel::TangentFrame, VertexFormat::I16x4, 8),
        (VertexChannel::Uv(0), VertexFormat::F16x2, 16),
        (VertexChannel::Velocity, VertexFormat::F16x4, 20),
    ]
    .map(|(what, format, offset)| VertexAttribute { channel: what, format, offset });
    let vertices = decoders[0].mesh(0).vertex_count();
    let mut bytes = vec![0; 28 * vertices];
    let mut worlds = vec![[[0.0; 4]; 3]; reel.description().nodes.len()];
    let (mut points, mut indices) = (vec![0.0; 3 * vertices], vec![0; reel.indices(0).unwrap().len()]);
    let before = ALLOCATIONS.get();
    for repeat in [Repeat::Loop, Repeat::PingPong, Repeat::Cycle] {
        clock.command(Command::Play);
        clock.command(Command::Repeat(repeat));
        for _ in 0..50 {
            clock.advance(0.031);
            let demand = clock.demand();
            let pair = demand.now.unwrap();
            let [first, second] = &mut decoders;
            first.decode(pair.first as usize).unwrap();
            second.decode(pair.second as usize).unwrap();
            let view = FrameView::between(first, second, pair.blend, clock.pace()).unwrap();
            view.worlds_into(&mut worlds).unwrap();
            view.collision_into(1, &mut points, &mut indices).unwrap();
            let mesh = view.mesh(1).unwrap();
            mesh.write(&attributes, 28, 0..vertices, &mut bytes).unwrap();
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn a_database_allocates_nothing_once_it_is_open() {
    use meshreel::clip::{Database, DatabaseOptions, Query};
    let _alone = TEST_LOCK.lock();
    let bytes = golden("clips/layers.reel");
    let options = DatabaseOptions::default().with_threads(0);
    let limits = meshreel::Limits::default();
    let mut database = Database::from_bytes("x", Arc::new(bytes), &limits, options).unwrap();
    let parts = database.layer_tiers();
    let clip = database.clip(0).unwrap();
    let mut cursor = clip.cursor();
    let mut pose = vec![meshreel::Transform::IDENTITY; clip.joints()];
    let mut sample = |at: f64| {
        for i in 0..30 {
            let seconds = at + f64::from(i) * 0.21;
            cursor.pose(&Query::new(seconds).wrapped(), &mut pose[..]).unwrap();
        }
    };
    let before = ALLOCATIONS.get();
    for round in 0..3 {
        for part in &parts {
            assert!(database.stream_in(*part, None).unwrap() > 0);
            sample(0.1);
            assert!(database.tick().arrived > 0);
            sample(f64::from(round));
        }
        for part in &parts {
            assert!(database.stream_out(*part, None) > 0);
            sample(0.3);
        }
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

#[test]
fn f16_playing_with_or_without_attributes_allocates_nothing() {
    let _alone = TEST_LOCK.lock();
    let bytes: Arc<[u8]> = golden("v0/flag_apart.reel").into();
    let mut peaks = [0; 2];
    for (peak, attributes) in peaks.iter_mut().zip([true, false]) {
        let limits = meshreel::Limits::default().with_attributes(attributes);
        let reel = meshreel::Reel::from_source(Arc::new(bytes.clone()), &limits).unwrap();
        let frames = reel.frame_count();
        let mut decoder = FrameDecoder::new(&reel).unwrap();
        let vertices = decoder.mesh(0).vertex_count();
        let (mut positions, mut normals) = (vec![0.0; 3 * vertices], vec![0.0; 3 * vertices]);
        let mut player = Player::new(
            Options::default()
                .with_heap(16 << 20)
                .with_resident(0)
                .with_read_size(1)
                .with_threads(0)
                .with_read_threads(0)
                .with_limits(limits),
        )
        .unwrap();
        let file = player.open_bytes(Arc::new(bytes.clone()));
        let instance = player.add_instance(file).unwrap();
        player.command(instance, Command::Repeat(Repeat::Loop));
        player.command(instance, Command::Play);
        let mut before = 0;
        for tick in 0..400 {
            if tick == 100 {
                before = ALLOCATIONS.get();
            }
            decoder.decode(tick * 7 % frames).unwrap();
            decoder.mesh(0).positions_into(&mut positions).unwrap();
            if tick % 40 == 39 {
                player.command(instance, Command::GoToFrame(tick * 3 % frames));
                player.command(instance, Command::Play);
            }
            player.tick(1.0 / 60.0);
            if let Some(shown) = player.frame(instance) {
                let still = shown.first();
                let mesh = still.mesh(0);
                mesh.positions_into(&mut positions).unwrap();
                assert_eq!(mesh.has_normals(), attributes);
                if attributes {
                    mesh.normals_into(&mut normals).unwrap();
                }
            }
        }
        assert_eq!(ALLOCATIONS.get() - before, 0);
        let mut statistics = meshreel::stream::Statistics::default();
        player.statistics(&mut statistics);
        *peak = statistics.heap.peak_bytes;
        assert!(statistics.streams[0].counters.frames_decoded >= frames as u64);
    }
    assert!(3 * peaks[1] < 2 * peaks[0], "{peaks:?}");
}

#[test]
fn playing_allocates_nothing_on_any_thread() {
    use meshreel_codec::entropy::block::BlockFormat;
    let _alone = TEST_LOCK.lock();
    // The harness may still be reporting the other test's result.
    std::thread::sleep(std::time::Duration::from_millis(100));
    for resident in [0, 16 << 20] {
        let mut player = Player::new(
            Options::default()
                .with_heap(2 << 20)
                .with_resident(resident)
                .with_read_size(10_000)
                .with_threads(2),
        )
        .unwrap();
        let mut instances = Vec::new();
        for (i, format) in [BlockFormat::Store, BlockFormat::Deflate, BlockFormat::Lz4, BlockFormat::Zstd]
            .into_iter()
            .enumerate()
        {
            for frames in [15, 60, 240] {
                let mut sample = sample(frames, false);
                sample.parts.format = format;
                let file = player.open_bytes(Arc::new(sample.parts.write()));
                let instance = player.add_instance(file).unwrap();
                player.command(instance, Command::Rate([1.0, -1.0, 2.5, 0.3][i]));
                player.command(instance, Command::Repeat(Repeat::Loop));
                player.command(instance, Command::Play);
                instances.push(instance);
            }
        }
        let mut opened = 0;
        while opened < instances.len() {
            player.tick(0.0);
            while let Some(event) = player.next_event() {
                assert!(matches!(event, Event::Opened(_)), "{event:?}");
                opened += 1;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let mut before = 0;
        let mut positions = vec![0.0; 3 * 81];
        for tick in 0..900 {
            if tick == 300 {
                before = ALL_THREADS.load(Ordering::Relaxed);
            }
            player.tick(1.0 / 60.0);
            for (i, &instance) in instances.iter().enumerate() {
                let shown = player.frame(instance);
                if let Some(shown) = shown {
                    shown.first().mesh(0).positions_into(&mut positions).unwrap();
                }
                if (tick + 7 * i) % 50 == 0 {
                    player.command(instance, Command::GoToFrame((tick * 7) % 240));
                }
            }
            std::thread::sleep(std::time::Duration::from_micros(500));
        }
        let allocations = ALL_THREADS.load(Ordering::Relaxed) - before;
        assert_eq!(allocations, 0);
        assert!(player.next_event().is_none());
        drop(player);
    }
    let before = ALL_THREADS.load(Ordering::Relaxed);
    drop(FrameDecoder::new(&open(sample(3, false).parts.write()).unwrap()));
    assert!(ALL_THREADS.load(Ordering::Relaxed) > before, "the counter counts");
}
