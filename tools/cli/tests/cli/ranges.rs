//! Tests of all animations of a file on one timeline: named ranges from the source to the file, in the
//! player's clock, and back.

use super::common::run_line;
use super::files::animated;
use meshreel::time::{Clock, Timeline};
use meshreel::{Command, FrameDecoder, Limits, Reel};
use meshreel_read::ReadOptions;

#[test]
fn all_animations_one_after_the_other() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (gltf, out, glb) = (at("a.gltf"), at("a.reel"), at("b.glb"));
    let (abc, again) = (at("b.abc"), at("b.reel"));
    animated(&gltf);
    let paths = [
        ("$IN", gltf.as_path()),
        ("$OUT", out.as_path()),
        ("$GLB", glb.as_path()),
        ("$ABC", abc.as_path()),
        ("$AGAIN", again.as_path()),
    ];
    run_line("compile $IN -o $OUT --animation all", &paths).expect(0);
    let checked = run_line("verify $IN $OUT --json", &paths).expect(0).json();
    assert_eq!(checked["ok"], true);
    // A single animation has no ranges.
    run_line("compile $IN -o $AGAIN --animation up", &paths).expect(0);
    let one = Reel::open(&again, &Limits::default()).unwrap();
    assert!(one.ranges().is_empty());
    // The same for the source and the file.
    for file in ["$IN --animation all", "$OUT"] {
        let json = run_line(&format!("info {file} --json"), &paths).expect(0).json();
        let ranges: Vec<(&str, u64, u64)> = (json["ranges"].as_array().unwrap().iter())
            .map(|r| {
                let number = |key: &str| r[key].as_u64().unwrap();
                (r["name"].as_str().unwrap(), number("first"), number("frames"))
            })
            .collect();
        assert_eq!(ranges, [("rest", 0, 2), ("up", 2, 2), ("child", 4, 2)]);
        let text = run_line(&format!("info {file}"), &paths).expect(0).stdout;
        assert!(text.contains("child: frames 4 to 5, 1 s from"), "{text}");
    }
    let reel = Reel::open(&out, &Limits::default()).unwrap();
    let node = (reel.description().nodes.iter()).position(|n| n.mesh.is_some()).unwrap();
    let mut decoder = FrameDecoder::new(&reel).unwrap();
    let heights: Vec<f64> = (0..6)
        .map(|frame| {
            decoder.decode(frame).unwrap();
            decoder.world(node)[2][3]
        })
        .collect();
    for (got, wanted) in heights.iter().zip([0.0, 0.0, 0.0, 8.0, 0.0, 8.0]) {
        assert!((got - wanted).abs() < 1e-2, "{heights:?}");
    }
    // Between two ranges the last frame of the first holds; within one, frames are interpolated.
    let timeline = Timeline::from_reel(&reel);
    let mut clock = Clock::new(&timeline);
    let mut shown = |at: f64| {
        clock.command(Command::Play);
        clock.command(Command::GoTo(at));
        clock.advance(0.0);
        clock.demand().now.unwrap()
    };
    let gap = (timeline.time(3) + timeline.time(4)) / 2.0;
    assert_eq!((shown(gap).first, shown(gap).second), (3, 3));
    assert_eq!((shown(timeline.time(3)).first, shown(timeline.time(3)).second), (3, 3));
    let inside = shown((timeline.time(4) + timeline.time(5)) / 2.0);
    assert_eq!((inside.first, inside.second), (4, 5));
    assert!((inside.blend - 0.5).abs() < 1e-3);
    // Back to glTF: one animation per range, which begins at 0 and equals the file.
    run_line("extract $OUT -o $GLB", &paths).expect(0);
    for (name, height) in [("rest", 0.0), ("up", 8.0), ("child", 8.0)] {
        let options = ReadOptions { animation: Some(name.into()), ..ReadOptions::default() };
        let (scene, _) = meshreel_read::open(&glb, &options).unwrap();
        let placed = scene.expand().unwrap();
        let mut world = meshreel_scene::sample::World::new(&scene, &placed).unwrap();
        world.evaluate(1.0).unwrap();
        let mesh = placed.iter().position(|p| scene.nodes[p.node].mesh.is_some()).unwrap();
        let z = world.matrix[mesh].w_axis.z;
        assert!((z - height).abs() < 1e-2, "{name}: {z}");
    }
    let said = run_line("extract $OUT -o $ABC", &paths).expect(0);
    assert!(said.stderr.contains("rest, up, child"), "{}", said.stderr);
}
