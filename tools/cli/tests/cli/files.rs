//! Tests of compiling, verifying and extracting: results, and the state of files after an error.

use super::common::{bundled, names, run, run_line};
use serde_json::{Value, json};
use std::path::Path;

/// Writes a square of two triangles that moves up over three frames, as a sequence of OBJ files in
/// `directory`.
fn sequence(directory: &Path) {
    for frame in 1..=3 {
        let z = frame as f32 * 0.5;
        let text = format!("v 0 0 {z}\nv 1 0 {z}\nv 1 1 {z}\nv 0 1 {z}\nf 1 2 3 4\n");
        std::fs::write(directory.join(format!("square.{frame:04}.obj")), text).unwrap();
    }
}

#[test]
fn there_and_back() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let source = bundled("g_scene_attributes.abc");
    let (reel, abc, glb, obj) = (at("scene.reel"), at("scene.abc"), at("scene.glb"), at("frames/"));
    let paths = [
        ("$IN", source.as_path()),
        ("$REEL", reel.as_path()),
        ("$ABC", abc.as_path()),
        ("$GLB", glb.as_path()),
        ("$OBJ", obj.as_path()),
    ];
    let json = run_line("compile $IN -o $REEL --json", &paths).expect(0).json();
    for key in [
        "file_bytes",
        "source_map_bytes",
        "raw_bytes",
        "ratio",
        "frames",
        "seconds",
        "remarks",
        "meshes",
        "clips",
    ] {
        assert_ne!(json[key], Value::Null, "{key}");
    }
    assert_eq!(json["file_bytes"], std::fs::metadata(&reel).unwrap().len());
    if cfg!(target_os = "linux") {
        assert!(json["peak_anon_bytes"].as_u64().is_some_and(|bytes| bytes > 100_000));
    }
    let mesh = &json["meshes"][0];
    for key in [
        "path",
        "method",
        "vertices",
        "source_points",
        "frames",
        "parts",
        "bones",
        "tolerance",
        "bytes",
        "position_bytes",
        "bits_per_vertex_frame",
    ] {
        assert_ne!(mesh[key], Value::Null, "{key}");
    }

    let json = run_line("verify $IN $REEL --json", &paths).expect(0).json();
    assert_eq!(json["ok"], true);
    assert_eq!(json["frames"], 40);
    assert_eq!(json["meshes"].as_array().map(Vec::len), Some(9));
    for mesh in json["meshes"].as_array().unwrap() {
        assert_eq!(mesh["ok"], true);
        assert!(mesh["max_error"].as_f64() <= mesh["tolerance"].as_f64(), "{mesh}");
        for key in ["path", "method", "vertices", "frames", "rms_error"] {
            assert_ne!(mesh[key], Value::Null, "{key}");
        }
    }
    let text = run_line("verify $IN $REEL", &paths).expect(0).stdout;
    assert!(text.contains("every promise holds"), "{text}");

    for (line, output) in [("extract $REEL -o $ABC", &abc), ("extract $REEL -o $GLB", &glb)] {
        run_line(line, &paths).expect(0);
        assert!(std::fs::metadata(output).unwrap().len() > 10_000);
    }
    run_line("extract $REEL -o $OBJ", &paths).expect(0);
    assert_eq!(names(&obj).iter().filter(|name| name.ends_with(".obj")).count(), 40);
    let json = run_line("info $ABC --json", &paths).expect(0).json();
    assert_eq!((&json["frames"], &json["counts"]["meshes"]), (&40.into(), &9.into()));
    assert!(names(directory.path()).iter().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn the_wrong_source_does_not_verify() {
    let directory = tempfile::tempdir().unwrap();
    let reel = directory.path().join("x.reel");
    let (flag, robot) = (bundled("a_flag_wind.abc"), bundled("n_robot_bone_parented.abc"));
    let paths = [("$IN", flag.as_path()), ("$OTHER", robot.as_path()), ("$OUT", reel.as_path())];
    run_line("compile $IN -o $OUT --quiet", &paths).expect(0);
    let run = run_line("verify $OTHER $OUT --json", &paths).expect(1);
    let json = run.json();
    assert_eq!((&json["ok"], &json["error"]["class"]), (&false.into(), &"check".into()));
    let text = run_line("verify $OTHER $OUT", &paths).expect(1).stdout;
    assert!(text.contains("broken: ") && text.contains("NOT as promised"), "{text}");
}

#[test]
fn quiet_says_nothing_and_dry_run_writes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let reel = directory.path().join("x.reel");
    let source = bundled("n_robot_bone_parented.abc");
    let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
    let run = run_line("compile $IN -o $OUT --quiet", &paths).expect(0);
    assert_eq!((run.stdout.as_str(), run.stderr.as_str()), ("", ""));
    let size = std::fs::metadata(&reel).unwrap().len();
    std::fs::remove_file(&reel).unwrap();

    let json = run_line("compile $IN -o $OUT --dry-run --json", &paths).expect(0).json();
    assert_eq!((&json["written"], &json["file_bytes"]), (&false.into(), &size.into()));
    run_line("compile $IN --dry-run", &paths).expect(0);
    assert!(names(directory.path()).is_empty());
}

#[test]
fn explain_prints_passes_and_tree() {
    let source = bundled("g_scene_attributes.abc");
    let paths = [("$IN", source.as_path())];
    let text = run_line("compile $IN --dry-run --explain", &paths).expect(0).stdout;
    for part in ["passes", "flatten", "quantize", "tree"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = run_line("compile $IN --dry-run --explain --json", &paths).expect(0).json();
    assert!(json["passes"].as_array().is_some_and(|passes| passes.len() >= 5));
    assert!(json["tree"].as_str().is_some_and(|tree| tree.contains('/')));
}

#[test]
fn strict_turns_remarks_into_an_error_and_keeps_the_old_file() {
    let directory = tempfile::tempdir().unwrap();
    let reel = directory.path().join("x.reel");
    std::fs::write(&reel, b"the old file").unwrap();
    let source = bundled("g_scene_attributes.abc");
    let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
    let run = run_line("compile $IN -o $OUT --strict", &paths).expect(1);
    assert!(run.error_line().contains("--strict"), "{}", run.stderr);
    let json = run_line("compile $IN -o $OUT --strict --json", &paths).expect(1).json();
    assert_eq!(json["error"]["class"], "strict");
    assert!(json["error"]["remarks"].as_array().is_some_and(|remarks| !remarks.is_empty()));
    assert_eq!(std::fs::read(&reel).unwrap(), b"the old file");
    // Without the option the file is replaced.
    run_line("compile $IN -o $OUT --quiet", &paths).expect(0);
    assert!(std::fs::metadata(&reel).unwrap().len() > 1000);
    assert_eq!(names(directory.path()), ["x.reel"]);
}

#[test]
fn a_target_that_cannot_be_written() {
    let directory = tempfile::tempdir().unwrap();
    let source = bundled("n_robot_bone_parented.abc");
    let out = directory.path().join("no/such/directory/x.reel");
    let paths = [("$IN", source.as_path()), ("$OUT", out.as_path())];
    let run = run_line("compile $IN -o $OUT", &paths).expect(1);
    assert!(run.error_line().contains("x.reel"), "{}", run.stderr);
    assert!(names(directory.path()).is_empty());
}

#[test]
fn each_for_itself_continues_after_a_failure() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("broken.abc"), b"nothing of the kind").unwrap();
    let (broken, out) = (at("broken.abc"), at("out/"));
    let (robot, cones) = (bundled("n_robot_bone_parented.abc"), bundled("m_scale_shear.abc"));
    let paths =
        [("$A", robot.as_path()), ("$B", broken.as_path()), ("$C", cones.as_path()), ("$OUT", out.as_path())];
    let run = run_line("compile $A $B $C -o $OUT --json", &paths).expect(1);
    let json = run.json();
    assert_eq!((&json["compiled"], &json["failed"]), (&2.into(), &1.into()));
    let files = json["files"].as_array().unwrap();
    assert_eq!(files.len(), 3);
    assert_eq!(files[1]["error"]["class"], "malformed");
    assert!(files[2]["file_bytes"].is_u64());
    assert_eq!(names(&out), ["m_scale_shear.reel", "n_robot_bone_parented.reel"]);
    let run = run_line("compile $A $C -o $OUT", &paths).expect(0);
    assert!(run.stdout.contains("2 of 2 files compiled"), "{}", run.stdout);
    // Two inputs with the same output name.
    run_line("compile $A $A -o $OUT", &paths).expect(2);
}

/// Writes a triangle that two animations move to different places, and a third one leaves alone.
pub fn animated(path: &Path) {
    let numbers: [f32; 23] = [
        0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, // the triangle
        0.0, 1.0, // times
        0.0, 0.0, 0.0, 0.0, 0.0, 0.0, // rest
        0.0, 0.0, 0.0, 0.0, 0.0, 8.0, // up
    ];
    let bytes: Vec<u8> = numbers.iter().flat_map(|v| v.to_le_bytes()).collect();
    std::fs::write(path.with_extension("bin"), &bytes).unwrap();
    let view =
        |first: usize, count: usize| json!({"buffer": 0, "byteOffset": 4 * first, "byteLength": 4 * count});
    let accessor = |view: usize, kind: &str, count: usize| json!({"bufferView": view, "componentType": 5126, "type": kind, "count": count});
    let animation = |name: &str, node: usize, output: usize| {
        json!({"name": name, "samplers": [{"input": 1, "output": output}],
            "channels": [{"sampler": 0, "target": {"node": node, "path": "translation"}}]})
    };
    let file = json!({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"name": "a", "children": [1]}, {"name": "b", "mesh": 0}],
        "meshes": [{"name": "tri", "primitives": [{"attributes": {"POSITION": 0}}]}],
        "buffers": [{"uri": "a.bin", "byteLength": bytes.len()}],
        "bufferViews": [view(0, 9), view(9, 2), view(11, 6), view(17, 6)],
        "accessors": [accessor(0, "VEC3", 3), accessor(1, "SCALAR", 2), accessor(2, "VEC3", 2), accessor(3, "VEC3", 2)],
        "animations": [animation("rest", 0, 2), animation("up", 0, 3), animation("child", 1, 3)],
    });
    std::fs::write(path, file.to_string()).unwrap();
}

#[test]
fn an_animation_by_name_or_number() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (gltf, reel, settings) = (at("a.gltf"), at("a.reel"), at("a.toml"));
    animated(&gltf);
    std::fs::write(&settings, "animation = 'child'\n").unwrap();
    let bvh = at("walk.bvh");
    std::fs::write(&bvh, "HIERARCHY\n").unwrap();
    let paths = [
        ("$IN", gltf.as_path()),
        ("$OUT", reel.as_path()),
        ("$TOML", settings.as_path()),
        ("$BVH", bvh.as_path()),
    ];
    // Without the option both nodes move: by different animations, the first of which does nothing.
    for (asked, moved) in [
        ("", [true, true]),
        ("--animation up", [true, false]),
        ("--animation 2", [false, true]),
        ("--options $TOML", [false, true]),
        ("--animation rest", [false, false]),
    ] {
        run_line(&format!("compile $IN -o $OUT {asked}"), &paths).expect(0);
        let json = run_line("verify $IN $OUT --json", &paths).expect(0).json();
        assert_eq!(json["ok"], true, "{asked}");
        let reel = meshreel::Reel::open(&reel, &meshreel::Limits::default()).unwrap();
        let nodes = &reel.description().nodes;
        let last = reel.frame_count() - 1;
        let mut decoder = meshreel::FrameDecoder::new(&reel).unwrap();
        decoder.decode(last).unwrap();
        let node = nodes.iter().position(|n| n.mesh.is_some()).unwrap();
        let height = 8.0 * moved.iter().filter(|m| **m).count() as f64;
        assert!((decoder.world(node)[2][3] - height).abs() < 1e-3, "{asked}");
    }
    let refused = run_line("compile $IN -o $OUT --animation run", &paths).expect(2);
    assert!(refused.stderr.contains("'run': there are 0 'rest', 1 'up', 2 'child'"), "{}", refused.stderr);
    let refused = run_line("compile $BVH -o $OUT --animation up", &paths).expect(2);
    assert!(refused.stderr.contains("glTF"), "{}", refused.stderr);
}

#[test]
fn a_sequence_and_a_point_cache() {
    let directory = tempfile::tempdir().unwrap();
    sequence(directory.path());
    let at = |name: &str| directory.path().join(name);
    let (pattern, reel) = (at("square.####.obj"), at("square.reel"));
    let paths = [("$IN", pattern.as_path()), ("$OUT", reel.as_path())];
    let json = run_line("compile $IN -o $OUT --source-fps 10 --json", &paths).expect(0).json();
    assert_eq!(json["frames"], 3);
    let info = run_line("info $OUT --json", &paths).expect(0).json();
    assert!((info["duration"].as_f64().unwrap() - 0.2).abs() < 1e-9);
    // The rate is stored: verify needs no option to find the same times.
    assert_eq!(run_line("verify $IN $OUT --json", &paths).expect(0).json()["ok"], true);

    // PC2: the same motion, for the mesh of the first frame.
    let mut cache = b"POINTCACHE2\0".to_vec();
    cache.extend(1i32.to_le_bytes());
    cache.extend(4i32.to_le_bytes());
    cache.extend(0f32.to_le_bytes());
    cache.extend(1f32.to_le_bytes());
    cache.extend(3i32.to_le_bytes());
    for frame in 1..=3 {
        for [x, y] in [[0f32, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]] {
            for value in [x, y, frame as f32 * 0.5] {
                cache.extend(value.to_le_bytes());
            }
        }
    }
    std::fs::write(at("square.pc2"), cache).unwrap();
    let (mesh, points) = (at("square.0001.obj"), at("square.pc2"));
    let paths = [("$IN", mesh.as_path()), ("$PC2", points.as_path()), ("$OUT", reel.as_path())];
    for line in ["compile $IN --points $PC2 -o $OUT --json", "compile $IN $PC2 -o $OUT --json"] {
        assert_eq!(run_line(line, &paths).expect(0).json()["frames"], 3, "{line}");
    }
    run_line("verify $IN $PC2 $OUT", &paths).expect(0);
    run_line("compile $PC2 -o $OUT", &paths).expect(2);
}

#[test]
fn inputs_merge_by_node_path() {
    let directory = tempfile::tempdir().unwrap();
    sequence(directory.path());
    let at = |name: &str| directory.path().join(name);
    std::fs::rename(at("square.0002.obj"), at("other.obj")).unwrap();
    let (a, b, reel) = (at("square.0001.obj"), at("other.obj"), at("both.reel"));
    let paths = [("$A", a.as_path()), ("$B", b.as_path()), ("$OUT", reel.as_path())];
    run_line("compile $A $B --merge -o $OUT", &paths).expect(0);
    let json = run_line("verify $A $B $OUT --json", &paths).expect(0).json();
    assert_eq!(json["meshes"].as_array().map(Vec::len), Some(2));
    // Without one of them verification fails.
    run_line("verify $A $OUT", &paths).expect(1);
}

#[test]
fn options_from_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let (options, reel) = (at("o.toml"), at("x.reel"));
    let source = bundled("n_robot_bone_parented.abc");
    let paths = [("$IN", source.as_path()), ("$TOML", options.as_path()), ("$OUT", reel.as_path())];
    std::fs::write(
        &options,
        "tolerance = 0.25\nblock = \"deflate\"\nchannels = \"positions\"\n\n[[mesh]]\nglob = \"/**\"\ntolerance = \"0.5\"\n",
    )
    .unwrap();
    run_line("compile $IN -o $OUT --options $TOML --block store", &paths).expect(0);
    let json = run_line("info $OUT --json", &paths).expect(0).json();
    let stored: Vec<(&str, &str)> = json["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
        .collect();
    assert!(
        stored.contains(&("tolerance", "0.25")) && stored.contains(&("channels", "positions")),
        "{stored:?}"
    );
    assert!(stored.contains(&("block", "store")), "the command line wins: {stored:?}");
    let verified = run_line("verify $IN $OUT --json", &paths).expect(0).json();
    assert_eq!(verified["meshes"][0]["tolerance"], 0.5, "the section's");

    std::fs::write(&options, "tolerence = 0.25\n").unwrap();
    let run = run_line("compile $IN -o $OUT --options $TOML", &paths).expect(2);
    assert!(run.error_line().contains("tolerence"), "{}", run.stderr);
    std::fs::remove_file(&options).unwrap();
    run_line("compile $IN -o $OUT --options $TOML", &paths).expect(1);
}

#[test]
fn the_file_does_not_depend_on_jobs_or_memory() {
    let directory = tempfile::tempdir().unwrap();
    let source = bundled("e_metaballs.abc");
    let mut files = Vec::new();
    for (i, flags) in ["--jobs 1", "--jobs 2 --memory 16MB", "--jobs 7"].iter().enumerate() {
        let reel = directory.path().join(format!("{i}.reel"));
        let paths = [("$IN", source.as_path()), ("$OUT", reel.as_path())];
        run_line(&format!("compile $IN -o $OUT -q {flags}"), &paths).expect(0);
        files.push(std::fs::read(&reel).unwrap());
    }
    assert!(files.iter().all(|file| *file == files[0]));
}

#[test]
fn ten_thousand_files_need_no_shell_tricks() {
    // Not ten thousand, but enough to show that nothing accumulates and the summary stays short.
    let directory = tempfile::tempdir().unwrap();
    let mut arguments: Vec<std::ffi::OsString> = vec!["compile".into()];
    for i in 0..60 {
        let path = directory.path().join(format!("tile{i}.obj"));
        std::fs::write(&path, format!("v 0 0 {i}\nv 1 0 {i}\nv 0 1 {i}\nf 1 2 3\n")).unwrap();
        arguments.push(path.into());
    }
    let out = directory.path().join("out/");
    arguments.extend(["-o".into(), out.clone().into_os_string()]);
    let run = run(&arguments).expect(0);
    assert_eq!(names(&out).len(), 60);
    assert!(run.stdout.contains("60 of 60 files compiled"), "{}", run.stdout);
    assert!(run.stdout.lines().count() < 60, "a summary: {}", run.stdout);
}

#[test]
fn frames_without_anything_of_a_sequence() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    sequence(directory.path());
    // Empty files before and after.
    std::fs::write(at("square.0000.obj"), "").unwrap();
    std::fs::write(at("square.0004.obj"), "# nothing\n").unwrap();
    let (pattern, reel) = (at("square.####.obj"), at("square.reel"));
    for preset in ["small", "fast", "classic"] {
        for more in [&["--remesh", "--tolerance=2%"][..], &[]] {
            let arguments = ["compile", &pattern, "-o", &reel, "--preset", preset];
            let ran = run(arguments.iter().chain(more)).expect(0);
            assert!(ran.stderr.contains("in which nothing is shown"), "{}", ran.stderr);
            let report = run(["verify", &pattern, &reel, "--json"]).expect(0).json();
            assert_eq!((&report["frames"], &report["meshes"][0]["frames"]), (&5.into(), &3.into()));
        }
    }
    run(["compile", &pattern, "-o", &reel, "--strict"]).expect(1);
}

/// File names can hold anything; control sequences never reach a terminal.
#[test]
#[cfg(unix)]
fn names_of_files_do_not_act_on_a_terminal() {
    let directory = tempfile::tempdir().unwrap();
    let hostile = "a\u{1b}[2J\u{202e}b\nx: every promise holds\u{7f}";
    let at = |end: &str| directory.path().join(format!("{hostile}{end}"));
    let (source, reel, back, folder) = (at(".obj"), at(".reel"), at(".abc"), at("/"));
    std::fs::write(&source, "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n").unwrap();
    let picture = at(".png");
    let paths = [
        ("$IN", source.as_path()),
        ("$OUT", reel.as_path()),
        ("$ABC", back.as_path()),
        ("$DIR", folder.as_path()),
        ("$PNG", picture.as_path()),
        ("$NONE", Path::new("\u{202e}none\u{9b}2J.reel")),
    ];
    for line in [
        "compile $IN -o $OUT",
        "compile $IN -o $DIR",
        "compile $IN -o $OUT --verbose",
        "compile $IN -o $OUT --json",
        "info $OUT",
        "info $OUT --json",
        "info $IN",
        "verify $IN $OUT",
        "verify $IN $OUT --json",
        "extract $OUT -o $ABC",
        "extract $OUT -o $ABC --json",
        "verify --extracted $ABC $OUT",
        "play $OUT --seconds 0.1",
        "bench $OUT",
        "info $OUT --frame 0 -o $PNG",
        "verify $IN $NONE",
        "info $NONE --json",
    ] {
        let done = run_line(line, &paths);
        for text in [&done.stdout, &done.stderr] {
            let acts = |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
            assert!(!text.contains(acts), "{line}: {text:?}");
            assert!(!text.lines().any(|line| line.starts_with("x: every")), "{line}: {text:?}");
        }
    }
}

/// Names in a folder are chosen by the program: none of them leads out of it.
#[test]
#[cfg(unix)]
fn nothing_is_written_through_links_in_a_folder() {
    let directory = tempfile::tempdir().unwrap();
    sequence(directory.path());
    let at = |name: &str| directory.path().join(name);
    let (input, reel) = (at("square.####.obj"), at("square.reel"));
    let victim = at("victim");
    std::fs::write(&victim, "mine").unwrap();
    let make = |folder: &str, name: &str| {
        std::fs::create_dir(at(folder)).unwrap();
        std::os::unix::fs::symlink(&victim, at(folder).join(name)).unwrap();
        at(folder)
    };
    let objs = make("out", "out.0002.obj");
    let textures = make("o_vat", "o-remap_info.json");
    let reels = make("reels", "square.reel");
    let paths = [
        ("$IN", input.as_path()),
        ("$REEL", reel.as_path()),
        ("$OBJ", objs.as_path()),
        ("$VAT", textures.as_path()),
        ("$REELS", reels.as_path()),
    ];
    run_line("compile $IN -o $REEL --quiet", &paths).expect(0);
    for line in ["extract $REEL -o $OBJ", "extract $REEL -o $VAT --format openvat", "compile $IN -o $REELS"] {
        let refused = run_line(line, &paths);
        assert!(refused.code != 0 && refused.stderr.contains("symbolic link"), "{line}: {}", refused.stderr);
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine", "{line}");
    }
    // A link that the user names is followed.
    std::os::unix::fs::symlink(at("elsewhere.abc"), at("link.abc")).unwrap();
    std::fs::write(at("elsewhere.abc"), "old").unwrap();
    let link = at("link.abc");
    run_line("extract $REEL -o $LINK --quiet", &[("$REEL", &reel), ("$LINK", &link)]).expect(0);
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::fs::metadata(at("elsewhere.abc")).unwrap().len() > 100);
}
