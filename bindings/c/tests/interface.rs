//! The interface as C sees it, called from here: golden files to the same bits, bad input, and that header
//! and workflow say what the sources do. `tests/c.sh` does the same from C.
#![allow(unsafe_code)] // It calls as C does.

use meshreel_c::command::{mr_command, mr_command_kind};
use meshreel_c::decoder::*;
use meshreel_c::events::*;
use meshreel_c::frame::*;
use meshreel_c::player::*;
use meshreel_c::reel::*;
use meshreel_c::source::mr_source;
use meshreel_c::status::mr_status;
use meshreel_c::vertex::mr_channel;
use std::ffi::{CString, c_void};
use std::mem::zeroed;
use std::path::{Path, PathBuf};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

fn ok(status: mr_status) {
    assert_eq!(status, mr_status::Ok);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A structure of the interface, all zeros.
fn zero<T: Copy>() -> T {
    // SAFETY: numbers, pointers and functions that may be missing, for all of which zeros are a value.
    unsafe { zeroed() }
}

/// A structure that says its size.
macro_rules! sized {
    ($type:ty) => {{
        let mut out: $type = zero();
        out.size = size_of::<$type>();
        out
    }};
}

/// Everything that a file shows as one number, as `meshreel_runtime_test::digest` makes it.
fn digest(bytes: &[u8]) -> u64 {
    let (mut reel, mut decoder, mut frame) = (null_mut(), null_mut(), null());
    let mut all = Vec::new();
    // SAFETY: every pointer is to what is here, as long as it says.
    unsafe {
        ok(mr_reel_open_memory(null(), bytes.as_ptr().cast(), bytes.len(), null(), &raw mut reel));
        let mut info = sized!(mr_reel_info);
        ok(mr_reel_get(reel, &raw mut info));
        ok(mr_decoder_new(reel, &raw mut decoder));
        ok(mr_decoder_frame(decoder, &raw mut frame));
        let nodes = info.nodes as usize;
        let (mut visible, mut worlds) = (vec![0u8; nodes], vec![0.0f64; 12 * nodes]);
        for number in 0..info.frames {
            let mut time = 0.0f64;
            ok(mr_decoder_decode(decoder, number));
            ok(mr_reel_time(reel, number, &raw mut time));
            all.extend(time.to_le_bytes());
            ok(mr_frame_visible(frame, visible.as_mut_ptr(), nodes, null_mut()));
            ok(mr_frame_worlds(frame, worlds.as_mut_ptr(), nodes));
            for (visible, world) in visible.iter().zip(worlds.chunks(12)) {
                all.push(*visible);
                all.extend(world.iter().flat_map(|v| v.to_le_bytes()));
            }
            for mesh in 0..info.meshes {
                add_mesh(frame, mesh, &mut all);
            }
        }
        ok(mr_decoder_free(decoder));
        ok(mr_reel_free(reel));
        let mut sum = 0;
        ok(mr_checksum(all.as_ptr().cast(), all.len(), &raw mut sum));
        sum
    }
}

/// # Safety
/// A frame that shows something.
unsafe fn add_mesh(frame: *const mr_frame, mesh: u32, all: &mut Vec<u8>) {
    let (mut node, mut state) = (0, sized!(mr_mesh_state));
    // SAFETY: every pointer is to what is here, as long as it says.
    unsafe {
        ok(mr_frame_node_of(frame, mesh, &raw mut node));
        ok(mr_frame_mesh(frame, node, &raw mut state));
        let mut indices = vec![0u32; state.indices as usize];
        ok(mr_frame_indices(frame, node, indices.as_mut_ptr(), indices.len(), &mut 0));
        all.extend(indices.iter().flat_map(|v| v.to_le_bytes()));
    }
    let channels = [
        (mr_channel::Position, 3),
        (mr_channel::Normal, 3),
        (mr_channel::Tangent, 4),
        (mr_channel::Uv, 2),
        (mr_channel::Colour, 4),
    ];
    for (channel, components) in channels {
        let mut values = vec![0.0f32; components * state.vertices as usize];
        // SAFETY: as above.
        let status =
            unsafe { mr_frame_floats(frame, node, channel as u32, 0, values.as_mut_ptr(), values.len()) };
        all.push(u8::from(status == mr_status::Ok));
        all.extend(values.iter().flat_map(|v| v.to_le_bytes()));
    }
}

#[test]
fn h04_golden_files_through_the_interface() {
    let digests = text("testdata/golden/v0/DIGESTS");
    let mut seen = 0;
    for line in digests.lines() {
        let (expected, name) = line.split_once("  ").expect("a digest and a name");
        let bytes = std::fs::read(root().join("testdata/golden/v0").join(name)).expect("a golden file");
        assert_eq!(format!("{:016x}", digest(&bytes)), expected, "{name}");
        seen += 1;
    }
    assert!(seen >= 9, "only {seen} golden files");
}

/// Bytes whose reads can fail.
struct Bytes {
    bytes: Vec<u8>,
    broken: AtomicBool,
    released: AtomicU32,
}

unsafe extern "C" fn read(user: *mut c_void, offset: u64, out: *mut c_void, count: usize) -> i32 {
    // SAFETY: `user` is a `Bytes` that outlives the source, `out` has so many bytes.
    unsafe {
        let own = &*user.cast::<Bytes>();
        if own.broken.load(Ordering::Relaxed) {
            return 7;
        }
        let from = &own.bytes[offset as usize..][..count];
        out.cast::<u8>().copy_from_nonoverlapping(from.as_ptr(), count);
    }
    0
}

unsafe extern "C" fn release(user: *mut c_void) {
    // SAFETY: as above.
    unsafe { &*user.cast::<Bytes>() }.released.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn h04_bad_input_has_its_class_and_the_last_frame_stays() {
    let bytes = std::fs::read(root().join("testdata/golden/v0/flag_small.reel")).expect("a golden file");
    let own = Bytes { bytes, broken: AtomicBool::new(false), released: AtomicU32::new(0) };
    let mut source = sized!(mr_source);
    source.user = (&raw const own).cast_mut().cast();
    source.bytes = own.bytes.len() as u64;
    source.read = Some(read);
    source.release = Some(release);
    let mut options = sized!(mr_player_options);
    let (mut player, mut file, mut instance) = (null_mut(), 0, 0);
    let mut event = sized!(mr_event);
    // SAFETY: every pointer is to what is here, as long as it says.
    unsafe {
        ok(mr_player_options_init(&raw mut options, size_of::<mr_player_options>()));
        options.heap = 4 << 20;
        options.resident = 0;
        options.read_size = 1;
        (options.threads, options.read_threads) = (0, 0);
        (options.decode_ahead, options.least_read_ahead, options.most_read_ahead) = (0.02, 0.02, 0.02);
        ok(mr_player_new(&raw const options, &raw mut player));
        let name = CString::new("own").unwrap();
        ok(mr_player_open_source(player, name.as_ptr(), &raw const source, &raw mut file));
        ok(mr_player_instance(player, file, &raw mut instance));
        let play = mr_command { kind: mr_command_kind::Play as u32, ..mr_command::default() };
        ok(mr_player_command(player, instance, &raw const play));
        let shown = || {
            let (mut frame, mut info) = (null_mut(), sized!(mr_frame_info));
            ok(mr_player_frame(player, instance, &raw mut frame));
            if frame.is_null() {
                return None;
            }
            ok(mr_frame_get(frame, &raw mut info));
            ok(mr_frame_free(frame));
            Some((info.first, info.late))
        };
        while shown().is_none_or(|(first, _)| first < 1) {
            ok(mr_player_tick(player, 1.0 / 120.0));
        }
        own.broken.store(true, Ordering::Relaxed);
        loop {
            ok(mr_player_event(player, &raw mut event));
            if event.kind == mr_event_kind::ReadFailed as u32 {
                break;
            }
            ok(mr_player_tick(player, 1.0 / 120.0));
            assert!(shown().is_some(), "something is shown all the time");
        }
        assert_eq!((event.status, event.file), (mr_status::Io as u32, file));
        for _ in 0..60 {
            ok(mr_player_tick(player, 1.0 / 120.0));
        }
        let stays = shown();
        ok(mr_player_tick(player, 1.0 / 120.0));
        assert!(stays.is_some_and(|(_, late)| late == 1) && shown() == stays);
        // Names of nothing, and an object of another size.
        assert_eq!(mr_player_close(player, file + 1), mr_status::Misuse);
        event.size = 0;
        assert_eq!(mr_player_event(player, &raw mut event), mr_status::Misuse);
        assert_eq!(mr_player_tick(null_mut(), 0.0), mr_status::Misuse);
        ok(mr_player_free(player));
        assert_eq!(own.released.load(Ordering::Relaxed), 1);
        let mut reel = null_mut();
        assert_eq!(
            mr_reel_open_source(name.as_ptr(), &raw const source, null(), &raw mut reel),
            mr_status::Io
        );
        assert!(reel.is_null() && own.released.load(Ordering::Relaxed) == 2);
        let cut = own.bytes.len() / 2;
        let status = mr_reel_open_memory(null(), own.bytes.as_ptr().cast(), cut, null(), &raw mut reel);
        assert_eq!(status, mr_status::Malformed);
        let mut limits = sized!(mr_limits);
        ok(mr_limits_init(&raw mut limits, size_of::<mr_limits>()));
        limits.max_vertices = 1;
        let all = own.bytes.len();
        let status =
            mr_reel_open_memory(null(), own.bytes.as_ptr().cast(), all, &raw const limits, &raw mut reel);
        assert_eq!(status, mr_status::Limit);
    }
}

#[test]
fn h04_the_header_has_every_function() {
    let header = text("bindings/c/include/meshreel.h");
    let mut functions = 0;
    for entry in std::fs::read_dir(root().join("bindings/c/src")).expect("sources").flatten() {
        let Ok(source) = std::fs::read_to_string(entry.path()) else {
            continue;
        };
        for line in source.lines().filter(|line| line.contains("extern \"C\" fn mr_")) {
            let name = line.split("fn ").nth(1).and_then(|rest| rest.split('(').next()).expect("a name");
            assert!(header.contains(&format!("{name}(")), "{name}: cargo run in bindings/c/header");
            functions += 1;
        }
    }
    assert!(functions > 80, "{functions}");
    assert_eq!(header.matches("must hold").count(), 0);
}

#[test]
fn h06_the_workflow_names_every_kind_of_machine() {
    let workflow = text(".github/workflows/release.yml");
    for kind in [
        "unknown-linux-gnu",
        "pc-windows-msvc",
        "apple-darwin",
        "linux-android",
        "apple-ios",
        "wasm32-unknown-unknown",
    ] {
        assert!(workflow.contains(&format!("{kind} ")) || workflow.contains(&format!("{kind},")), "{kind}");
    }
    assert!(workflow.contains("tools/release/library.sh") && workflow.contains("tools/release/program.sh"));
}
