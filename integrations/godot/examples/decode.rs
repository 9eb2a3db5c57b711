//! Prints the numbers of a frame as JSON, as the decoder has them, to compare what the engine shows with
//! them.
//!
//! ```text
//! cargo run --example decode -- FILE.reel FRAME
//! ```

use meshreel::clip::Query;
use meshreel::{Error, FrameDecoder, Limits, Reel, Transform};
use std::fmt::Display;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, frame] = &arguments[..] else {
        return Err("decode FILE.reel FRAME".into());
    };
    let reel = Reel::open(file, &Limits::default())?;
    let (meshes, nodes) = match reel.frame_count() {
        0 => (Vec::new(), Vec::new()),
        _ => decode(&reel, frame.parse()?)?,
    };
    let clips: Result<Vec<String>, Error> = reel.clips()?.iter().map(clip).collect();
    println!(
        "{{\"frames\": {}, \"meshes\": [{}], \"nodes\": [{}], \"clips\": [{}]}}",
        reel.frame_count(),
        meshes.join(", "),
        nodes.join(", "),
        clips?.join(", ")
    );
    Ok(())
}

/// Returns the meshes and nodes of a frame.
fn decode(reel: &Reel, frame: usize) -> Result<(Vec<String>, Vec<String>), Error> {
    let mut decoder = FrameDecoder::new(reel)?;
    decoder.decode(frame)?;
    let description = reel.description();
    let mut meshes = Vec::new();
    for (number, record) in description.meshes.iter().enumerate() {
        let mesh = decoder.mesh(number);
        let mut positions = vec![0.0; 3 * mesh.vertex_count()];
        mesh.positions_into(&mut positions)?;
        let mut normals = vec![0.0; if mesh.has_normals() { 3 * mesh.vertex_count() } else { 0 }];
        if mesh.has_normals() {
            mesh.normals_into(&mut normals)?;
        }
        let ranges = record.materials.iter().zip(mesh.materials());
        let materials = ranges.map(|(material, range)| {
            let (first, count) = (range.first as usize, range.count as usize);
            let indices = list(&mesh.indices()[first..first + count]);
            format!("{{\"name\": {:?}, \"indices\": {indices}}}", material.name)
        });
        meshes.push(format!(
            "{{\"path\": {:?}, \"positions\": {}, \"normals\": {}, \"materials\": [{}]}}",
            record.path,
            list(&positions),
            list(&normals),
            materials.collect::<Vec<_>>().join(", ")
        ));
    }
    let node = |number: usize| {
        let (path, world) = (&description.nodes[number].path, decoder.world(number));
        format!("{{\"path\": {path:?}, \"world\": {}}}", list(world.as_flattened()))
    };
    Ok((meshes, (0..description.nodes.len()).map(node).collect()))
}

/// Returns a clip with its pose at a third of its length.
fn clip(clip: &meshreel::clip::Clip) -> Result<String, Error> {
    let seconds = clip.duration() / 3.0;
    let mut pose = vec![Transform::IDENTITY; clip.joints()];
    clip.cursor().pose(&Query::new(seconds), &mut pose[..])?;
    let joints = clip.skeleton().names.iter().zip(&pose).map(|(name, joint)| {
        let (rotation, translation) = (list(&joint.rotation), list(&joint.translation));
        format!("{{\"name\": {name:?}, \"rotation\": {rotation}, \"translation\": {translation}}}")
    });
    let joints = joints.collect::<Vec<_>>().join(", ");
    Ok(format!("{{\"name\": {:?}, \"seconds\": {seconds}, \"joints\": [{joints}]}}", clip.name()))
}

fn list(values: &[impl Display]) -> String {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    format!("[{}]", texts.join(", "))
}
