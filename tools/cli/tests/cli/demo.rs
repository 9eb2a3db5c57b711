//! Tests of `demo`: from nothing to verified files, a table and pictures.

use super::common::{bundled, names, run_line};
use meshreel_testkit::is_thorough;

const SMALL: [&str; 5] = [
    "e_metaballs.abc",
    "g_scene_attributes.abc",
    "j_visibility_particles.abc",
    "m_scale_shear.abc",
    "n_robot_bone_parented.abc",
];

#[test]
fn into_a_fresh_directory() {
    let directory = tempfile::tempdir().unwrap();
    let (inputs, out) = (directory.path().join("inputs"), directory.path().join("demo"));
    // All files of the demo would take a minute in a test build.
    std::fs::create_dir(&inputs).unwrap();
    for name in SMALL {
        std::fs::copy(bundled(name), inputs.join(name)).unwrap();
    }
    let line = if is_thorough() { "demo -o $OUT --json" } else { "demo --inputs $IN -o $OUT --json" };
    let run = run_line(line, &[("$IN", &inputs), ("$OUT", &out)]).expect(0);
    let json = run.json();
    assert_eq!(json["ok"], true);
    let files = json["files"].as_array().unwrap();
    assert!(files.len() >= 5, "{}", files.len());
    for file in files {
        assert_eq!(file["ok"], true, "{file}");
        assert!(file["max_error"].as_f64() <= file["tolerance"].as_f64(), "{file}");
        for key in ["source_bytes", "raw_bytes", "reel_bytes", "ratio", "seconds"] {
            assert!(file[key].as_f64().is_some_and(|value| value > 0.0), "{key}: {file}");
        }
        for key in ["reel", "extracted", "sheet"] {
            let size = std::fs::metadata(file[key].as_str().unwrap()).unwrap().len();
            assert!(size > 1000, "{key}: {file}");
        }
    }
    // Beside the picture of all; bundled scenes are written too.
    assert_eq!(names(&out).len(), 3 * files.len() + 1 + usize::from(is_thorough()));
    let overview = std::fs::File::open(json["overview"].as_str().unwrap()).unwrap();
    let size = overview.metadata().unwrap().len();
    // The README shows it.
    assert!((100_000..1_500_000).contains(&size), "{size}");
    let reader = png::Decoder::new(std::io::BufReader::new(overview)).read_info().unwrap();
    assert_eq!(reader.info().animation_control().unwrap().num_frames, 48);
    for file in files {
        check_sheet(file["sheet"].as_str().unwrap());
    }
}

/// Source and decoded pictures must look alike and show something, and the error row must be coloured without
/// any red.
fn check_sheet(path: &str) {
    let decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(path).unwrap()));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    let (width, height) = (info.width as usize, info.height as usize);
    assert!(width > 800 && height > 400, "{path}: {width} x {height}");
    // The legend at the bottom has the red of errors beyond the tolerance; above it there must be none.
    let red = pixels[..(height - 60) * width * 3]
        .chunks_exact(3)
        .filter(|p| p[0] > 150 && p[1] < 70 && p[2] < 70)
        .count();
    assert_eq!(red, 0, "{path}");
    let coloured =
        pixels.chunks_exact(3).filter(|p| p.iter().max().unwrap() - p.iter().min().unwrap() > 60).count();
    assert!(coloured > 2000, "{path}: {coloured} coloured pixels");
}

#[test]
fn other_inputs_and_a_table_for_people() {
    let directory = tempfile::tempdir().unwrap();
    let (inputs, out) = (directory.path().join("in"), directory.path().join("out"));
    std::fs::create_dir(&inputs).unwrap();
    std::fs::copy(bundled("m_scale_shear.abc"), inputs.join("cones.abc")).unwrap();
    let paths = [("$IN", inputs.as_path()), ("$OUT", out.as_path())];
    let text = run_line("demo --inputs $IN -o $OUT --tolerance 1%", &paths).expect(0).stdout;
    assert!(text.contains("cones") && text.contains("tolerance") && text.contains(" ok "), "{text}");
    // A broken file among them is reported, and the others are still done.
    std::fs::write(inputs.join("broken.abc"), b"nothing").unwrap();
    let run = run_line("demo --inputs $IN -o $OUT", &paths).expect(1);
    assert!(run.error_line().contains("broken.abc"), "{}", run.stderr);
    assert!(run.stdout.contains("cones"), "{}", run.stdout);
    std::fs::create_dir(directory.path().join("empty")).unwrap();
    let empty = directory.path().join("empty");
    run_line("demo --inputs $IN", &[("$IN", &empty)]).expect(2);
}
