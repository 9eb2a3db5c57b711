//! Wrong and hostile input: an error with the file's name, and never a panic.

use crate::{FILES, between, golden};
use meshreel::{FrameDecoder, InstanceId, Limits, Options};
use meshreel_godot::model::clips::ClipMixer;
use meshreel_godot::model::facts::{self, ReelFacts};
use meshreel_godot::model::library::{Library, Report};
use meshreel_godot::model::settings::Settings;
use meshreel_godot::model::source::ReelSource;
use meshreel_godot::model::surface;
use meshreel_godot::model::tree::{mesh_frame, mesh_nodes, tree_nodes};
use meshreel_godot::model::vertices::Vertices;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Ticks until an instance has failed; returns the error.
fn error_of(library: &mut Library, id: InstanceId) -> String {
    let start = Instant::now();
    for frame in 1.. {
        library.see(id, frame);
        library.tick(frame, 0.01);
        for report in library.take_reports(id) {
            if let Report::Failed(error) = report {
                return error;
            }
        }
        assert!(start.elapsed() < Duration::from_secs(20), "nothing is reported");
        std::thread::sleep(Duration::from_millis(2));
    }
    unreachable!()
}

fn error_with(options: Options, source: &ReelSource) -> String {
    let mut library = Library::new(options).unwrap();
    let id = library.add_instance(source, Settings::default()).unwrap();
    let error = error_of(&mut library, id);
    assert!(library.frame(id).is_none());
    library.remove_instance(id);
    error
}

#[test]
fn a_file_that_is_not_there_is_reported_with_its_name() {
    let source = ReelSource::Path(golden("v0/none.reel"));
    assert!(error_with(Options::default(), &source).contains("none.reel"));
    assert!(facts::open(&source, &Limits::default()).unwrap_err().to_string().contains("none.reel"));
}

#[test]
fn a_file_of_clips_is_reported_with_what_plays_it() {
    let error = error_with(Options::default(), &ReelSource::Path(golden("clips/layers.reel")));
    assert!(error.contains("layers.reel") && error.contains("ReelClipPlayer"), "{error}");
}

#[test]
fn a_heap_without_room_is_reported_with_the_setting() {
    let options = Options::default().with_heap(64 << 10).with_resident(0).with_file_memory(64 << 20);
    let error = error_with(options, &ReelSource::Path(golden("v0/wall_small.reel")));
    assert!(error.contains("wall_small.reel") && error.contains("meshreel/heap_mib"), "{error}");
}

#[test]
fn an_instance_for_which_no_room_is_left_is_reported() {
    let mut library = Library::new(Options::default().with_heap(7 << 20).with_resident(0)).unwrap();
    let add = |library: &mut Library, name: &str| {
        library.add_instance(&ReelSource::Path(golden(name)), Settings::default()).unwrap()
    };
    let first = add(&mut library, "v0/wall_small.reel");
    let second = add(&mut library, "v0/wall_fast.reel");
    let start = Instant::now();
    let mut errors = Vec::new();
    for frame in 1.. {
        for id in [first, second] {
            library.see(id, frame);
            library.tick(frame, 0.01);
            let failed = |report| if let Report::Failed(error) = report { Some(error) } else { None };
            errors.extend(library.take_reports(id).into_iter().filter_map(failed));
        }
        if !errors.is_empty() && (library.frame(first).is_some() || library.frame(second).is_some()) {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{errors:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(errors[0].contains("wall_") && errors[0].contains("meshreel/heap_mib"), "{errors:?}");
    // With higher priority it is the other that is served.
    let shown = library.frame(first).is_some();
    let other = if shown { second } else { first };
    library.set_priority(other, 1);
    let start = Instant::now();
    for frame in 1_000_000.. {
        library.tick(frame, 0.01);
        if library.frame(other).is_some() {
            break;
        }
        assert!(start.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_file_that_is_cut_off_is_reported_with_its_name() {
    let bytes = std::fs::read(golden("v0/flag_small.reel")).unwrap();
    for length in [0, 1, 63, 64, 200, bytes.len() / 2, bytes.len() - 1] {
        let bytes: Arc<[u8]> = Arc::from(&bytes[..length]);
        let source = ReelSource::Bytes { name: "res://cut.reel".into(), bytes };
        let error = error_with(Options::default(), &source);
        assert!(error.contains("res://cut.reel"), "{length}: {error}");
    }
}

/// Uses all that is read of a file, as the nodes do.
fn use_everything(bytes: &[u8]) -> Result<(), meshreel::Error> {
    let source = ReelSource::Bytes { name: "damaged".into(), bytes: Arc::from(bytes) };
    let reel = facts::open(&source, &Limits::default().with_max_memory(64 << 20))?;
    let _ = ReelFacts::read(&reel);
    if let Ok(mut mixer) = ClipMixer::new(&reel, "") {
        let _ = mixer.tick(0.3);
    }
    let _ = tree_nodes(reel.description());
    let mut decoder = FrameDecoder::new(&reel)?;
    let mut vertices = Vertices::default();
    for frame in [0, reel.frame_count() / 2] {
        decoder.decode(frame)?;
        let view = between(&decoder, &decoder, 0.0);
        for own in mesh_nodes(reel.description()) {
            let Some(mesh) = mesh_frame(&view, &own.nodes) else { continue };
            vertices.read(&mesh)?;
            for part in surface::parts(&mesh) {
                let _ = (surface::indices(&mesh, &part), surface::lods(&mesh, &part));
            }
        }
    }
    Ok(())
}

#[test]
fn damaged_bytes_never_panic() {
    let (mut damaged, mut refused) = (0, 0);
    for file in FILES.iter().chain(&["clips/layers.reel"]) {
        let bytes = std::fs::read(golden(file)).unwrap();
        // A few places all over the file; more of them at its beginning, where its tables are.
        let places = (0..24).map(|k| k * 40 + 8).chain((0..24).map(|k| k * bytes.len() / 24));
        for place in places.filter(|place| *place < bytes.len()) {
            let mut other = bytes.clone();
            other[place] ^= 0x55;
            damaged += 1;
            refused += usize::from(use_everything(&other).is_err());
        }
    }
    assert!(refused > damaged / 2, "{refused} of {damaged}");
}
