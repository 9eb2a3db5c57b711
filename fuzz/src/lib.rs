//! What the fuzz targets share: a file that is written anew for each input, a walk through a scene, and a way past checksums.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use meshreel_format::{
    CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_SIZE, FRAME_ENTRY_FIELDS, FRAME_ENTRY_SIZE, Field,
    HEADER_FIELDS, HEADER_SIZE, MAGIC, checksum,
};
use meshreel_scene::{Attribute, Channel, Scene};

/// Readers take paths: `data` as a file called `name` in a folder of this process, in memory where the system has such a place.
pub fn file(name: &str, data: &[u8]) -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let shared = Path::new("/dev/shm");
        let base = if shared.is_dir() {
            shared.to_path_buf()
        } else {
            std::env::temp_dir()
        };
        let folder = base.join(format!("meshreel-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        folder
    });
    let path = folder.join(name);
    fs::write(&path, data).expect("a temporary file");
    path
}

/// Does what a compiler would do with a scene, on a few samples of everything. Errors are fine, panics are not.
pub fn walk(scene: &Scene) {
    let _ = scene.expand();
    for node in scene.nodes.iter().take(1000) {
        if let Some(transform) = &node.transform {
            channel(&transform.matrix);
            transform.inherits.as_ref().map(channel);
        }
        node.visibility.as_ref().map(channel);
    }
    for mesh in scene.meshes.iter().take(200) {
        channel(&mesh.positions);
        channel(&mesh.face_counts);
        channel(&mesh.face_indices);
        mesh.normals.as_ref().map(attribute);
        mesh.uvs.iter().for_each(attribute);
        mesh.colours.iter().for_each(attribute);
        mesh.velocities.as_ref().map(channel);
        mesh.face_sets.iter().for_each(|set| channel(&set.faces));
    }
}

fn attribute<T: Clone + Send + Sync + 'static>(attribute: &Attribute<T>) {
    channel(&attribute.values);
    attribute.indices.as_ref().map(channel);
}

fn channel<T: Clone + Send + Sync + 'static>(channel: &Channel<T>) {
    let n = channel.len();
    if n == 0 {
        return;
    }
    let mut out = Vec::new();
    for i in [0, 1, n / 2, n - 1] {
        if i < n {
            let _ = channel.identity(i);
            let _ = channel.read(i, &mut out);
        }
    }
    for time in [-1e9, 0.0, 0.5, channel.time(n - 1), f64::MAX] {
        let (at, _) = channel.locate(time);
        assert!(at < n);
    }
}

/// Makes all checksums of a `.reel` file right and its length honest, so that changed bytes get further than the first check.
/// False where there is not even a header.
pub fn seal(bytes: &mut [u8]) -> bool {
    if bytes.len() < HEADER_SIZE {
        return false;
    }
    bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
    let len = bytes.len() as u64;
    put(bytes, 0, field(HEADER_FIELDS, "version"), 0);
    put(bytes, 0, field(HEADER_FIELDS, "file_size"), len);
    for (noun, fields, size) in [
        ("frame", FRAME_ENTRY_FIELDS, FRAME_ENTRY_SIZE),
        ("chunk", CHUNK_ENTRY_FIELDS, CHUNK_ENTRY_SIZE),
    ] {
        let header = |name: &str| field(HEADER_FIELDS, &format!("{noun}_{name}"));
        let table = get(bytes, 0, header("table")) as usize;
        let count = get(bytes, 0, header("count")) as usize;
        let Some(end) = count
            .checked_mul(size)
            .and_then(|size| table.checked_add(size))
            .filter(|&end| end <= bytes.len())
        else {
            continue;
        };
        for entry in (table..end).step_by(size) {
            let start = get(bytes, entry, field(fields, "offset")) as usize;
            let size = get(bytes, entry, field(fields, "size")) as usize;
            if let Some(part) = bytes.get(start..start.saturating_add(size)) {
                let sum = checksum(part);
                put(bytes, entry, field(fields, "checksum"), sum);
            }
        }
        let sum = checksum(&bytes[table..end]);
        put(bytes, 0, header("table_checksum"), sum);
    }
    let at = field(HEADER_FIELDS, "checksum");
    let sum = checksum(&bytes[..at.offset]);
    put(bytes, 0, at, sum);
    true
}

fn field(fields: &[Field], name: &str) -> Field {
    *fields
        .iter()
        .find(|field| field.name == name)
        .expect("a field of this name")
}

fn get(bytes: &[u8], structure: usize, field: Field) -> u64 {
    let mut value = [0; 8];
    let at = structure + field.offset;
    value[..field.size].copy_from_slice(&bytes[at..at + field.size]);
    u64::from_le_bytes(value)
}

fn put(bytes: &mut [u8], structure: usize, field: Field, value: u64) {
    let at = structure + field.offset;
    bytes[at..at + field.size].copy_from_slice(&value.to_le_bytes()[..field.size]);
}

/// Takes numbers off the front of an input, zeros where it has ended.
pub struct Numbers<'a>(pub &'a [u8]);

impl<'a> Numbers<'a> {
    /// One byte.
    pub fn u8(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }
    /// Two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes([self.u8(), self.u8()])
    }
    /// Four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from(self.u16()) | u32::from(self.u16()) << 16
    }
    /// What is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }
}
