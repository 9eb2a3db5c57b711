//! The reader of vertex animation textures: bytes of small sets are changed in place, so that the files still
//! refer to each other. One set has PNG textures with packed normals, the other EXR textures with normals of
//! their own. Every sample is read.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use meshreel_fuzz::{file, walk};
use meshreel_read::openvat as reader;
use meshreel_write::openvat::{ExportOptions, ImageFormat, NormalTarget, write};

const SCENE: &str = r#"#usda 1.0
def Mesh "m" {
    int[] faceVertexCounts = [4]
    int[] faceVertexIndices = [0, 1, 2, 3]
    normal3f[] normals = [(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1)] (interpolation = "vertex")
    point3f[] points.timeSamples = {
        0: [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)],
        1: [(0, 0, 1), (1, 0, 0), (1, 1, 0), (0, 1, 2)],
    }
}
"#;

/// A folder of textures, and the content of its files.
struct Set {
    folder: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
}

fn sets() -> &'static [Set] {
    static SETS: OnceLock<Vec<Set>> = OnceLock::new();
    SETS.get_or_init(|| {
        let (scene, _) =
            meshreel_read_usd::open(&file("a.usda", SCENE.as_bytes())).expect("the scene is well-formed");
        let kinds = [(ImageFormat::Png, NormalTarget::Packed), (ImageFormat::Exr, NormalTarget::Separate)];
        let set = |(image, normals)| {
            let folder = file(&format!("{image:?}"), &[]).with_extension("vat");
            let options = ExportOptions { normals, image, tolerance: None };
            let frames = [0.0, 0.5, 1.0].map(|frame| frame / 24.0);
            write(&folder, &scene, &frames, &options, &mut |_, _| ()).expect("the scene has textures");
            let entries = fs::read_dir(&folder).expect("the folder was written");
            let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
            paths.sort();
            let content = |path: PathBuf| (path.clone(), fs::read(path).expect("a file that was written"));
            Set { folder, files: paths.into_iter().map(content).collect() }
        };
        kinds.into_iter().map(set).collect()
    })
}

// Two bytes choose the set and the length of a file that is cut; each group of four changes one byte: the
// file, its offset in two bytes, and the value.
fuzz_target!(|data: &[u8]| {
    let Some(([set, cut], changes)) = data.split_first_chunk() else { return };
    let set = &sets()[usize::from(*set) % sets().len()];
    let mut files = set.files.clone();
    let count = files.len();
    for [file, high, low, value] in changes.as_chunks().0 {
        let bytes = &mut files[usize::from(*file) % count].1;
        let offset = usize::from(u16::from_be_bytes([*high, *low])) % bytes.len().max(1);
        if let Some(byte) = bytes.get_mut(offset) {
            *byte = *value;
        }
    }
    if *cut > 0 {
        let bytes = &mut files[usize::from(*cut) % count].1;
        bytes.truncate(bytes.len() * usize::from(*cut) / 256);
    }
    for (path, bytes) in &files {
        fs::write(path, bytes).expect("a temporary file");
    }
    if let Ok(textures) = reader::open(&set.folder) {
        walk(&textures.scene);
    }
});
