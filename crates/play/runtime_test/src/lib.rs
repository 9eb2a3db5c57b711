//! Reduces everything that a file shows to one number, to compare builds with each other and with
//! `testdata/golden/*/DIGESTS`; and plays files without threads, a file system or a clock.

use meshreel::{Command, Error, FrameDecoder, Limits, MeshView, Options, Player, Reel, Repeat, Transform};
use meshreel_format::checksum;
use std::sync::Arc;

/// Returns the checksum of everything that a file shows: for each frame its time, the visibility and world
/// matrix of each node, and the triangles and vertex values of each mesh.
pub fn digest(bytes: Vec<u8>) -> Result<u64, Error> {
    let reel = Reel::from_source(Arc::new(bytes), &Limits::default())?;
    let mut decoder = FrameDecoder::new(&reel)?;
    let mut all = Vec::new();
    for frame in 0..reel.frame_count() {
        decoder.decode(frame)?;
        all.extend(reel.time(frame).to_le_bytes());
        for node in 0..reel.description().nodes.len() {
            all.push(u8::from(decoder.visible(node)));
            for number in decoder.world(node).concat() {
                all.extend(number.to_le_bytes());
            }
        }
        for mesh in 0..reel.description().meshes.len() {
            add_mesh(decoder.mesh(mesh), &mut all);
        }
    }
    Ok(checksum(&all))
}

/// Adds triangles and vertex values.
fn add_mesh(view: MeshView<'_>, all: &mut Vec<u8>) {
    let n = view.vertex_count();
    for index in view.indices() {
        all.extend(index.to_le_bytes());
    }
    let mut add = |components: usize, read: &dyn Fn(&mut [f32]) -> bool| {
        let mut out = vec![0.0; components * n];
        all.push(u8::from(read(&mut out)));
        for number in out {
            all.extend(number.to_le_bytes());
        }
    };
    add(3, &|out| view.positions_into(out).is_ok());
    add(3, &|out| view.normals_into(out).is_ok());
    add(4, &|out| view.tangents_into(out).is_ok());
    add(2, &|out| view.uvs_into(0, out).is_ok());
    add(4, &|out| view.colours_into(0, out).is_ok());
}

fn add_node(visible: bool, transform: Transform, all: &mut Vec<u8>) {
    all.push(u8::from(visible));
    let Transform { rotation, translation, scale } = transform;
    for number in rotation.iter().chain(&translation).chain(&scale) {
        all.extend(number.to_le_bytes());
    }
}

/// Plays a file twice through in ticks that do all of the work, and compares the frames with a plain decode.
/// Returns the number of frames that were shown.
///
/// # Panics
/// If they differ, or if the file does not play.
pub fn play(bytes: Vec<u8>) -> Result<usize, Error> {
    let bytes: Arc<Vec<u8>> = Arc::new(bytes);
    let reel = Reel::from_source(bytes.clone(), &Limits::default())?;
    let mut decoder = FrameDecoder::new(&reel)?;
    let mut expected = Vec::new();
    for frame in 0..reel.frame_count() {
        decoder.decode(frame)?;
        let mut all = Vec::new();
        for node in 0..reel.description().nodes.len() {
            add_node(decoder.visible(node), decoder.transform(node), &mut all);
        }
        for mesh in 0..reel.description().meshes.len() {
            add_mesh(decoder.mesh(mesh), &mut all);
        }
        expected.push(checksum(&all));
    }
    let options = Options::default().with_threads(0).with_read_threads(0).with_heap(16 << 20);
    let mut player = Player::new(options)?;
    let file = player.open_bytes(bytes);
    let instance = player.add_instance(file).expect("a file that is open");
    player.command(instance, Command::Repeat(Repeat::Loop));
    player.command(instance, Command::Play);
    let mut seen = vec![false; expected.len()];
    let count = reel.frame_count();
    let length = reel.time(count - 1) - reel.time(0);
    for _ in 0..2 * count {
        player.tick(length / count as f64);
        let Some(shown) = player.frame(instance) else {
            continue;
        };
        let pair = shown.pair();
        for (frame, still) in [(pair.first, shown.first()), (pair.second, shown.second())] {
            let mut all = Vec::new();
            for node in 0..reel.description().nodes.len() {
                add_node(still.visible(node), still.transform(node), &mut all);
            }
            for mesh in 0..reel.description().meshes.len() {
                add_mesh(still.mesh(mesh), &mut all);
            }
            assert_eq!(checksum(&all), expected[frame as usize], "frame {frame}");
            seen[frame as usize] = true;
        }
    }
    Ok(seen.into_iter().filter(|seen| *seen).count())
}
