//! The content of a file, for the page: `describe` of `src/describe.js` reads it.

use crate::frame::Formats;
use crate::writer::Writer;
use meshreel::Reel;
use meshreel::raw::record::{MeshRecord, NodeRecord};

/// Stands for an absent parent or mesh.
const NO_NUMBER: usize = u32::MAX as usize;

/// Writes the frames, nodes and meshes of an open file.
pub(crate) fn describe(reel: &Reel, exact: bool, out: &mut Writer) {
    let description = reel.description();
    out.text(&description.generator);
    out.u32(usize::from(description.unit));
    out.f64(description.fps);
    out.f64(description.period);
    out.f64(reel.file_bytes() as f64);
    out.u32(reel.frame_count());
    reel.frames().iter().for_each(|frame| out.f64(frame.time));
    out.list(reel.ranges(), |out, range| {
        out.text(&range.name);
        out.u32(range.first as usize);
        out.u32(range.last_frame() as usize);
    });
    out.list(&description.nodes, write_node);
    out.list(&description.meshes, |out, mesh| write_mesh(mesh, exact, out));
}

fn write_node(out: &mut Writer, node: &NodeRecord) {
    out.text(&node.path);
    out.u32(node.parent.map_or(NO_NUMBER, |parent| parent as usize));
    out.u32(node.mesh.map_or(NO_NUMBER, |mesh| mesh as usize));
    out.u32(usize::from(node.animated));
    out.u32(node.visibility as usize);
    out.f32(node.reach);
}

fn write_mesh(mesh: &MeshRecord, exact: bool, out: &mut Writer) {
    out.text(&mesh.path);
    out.u32(mesh.method as usize);
    out.u32(mesh.particles.map_or(0, |particles| 1 + usize::from(particles.curves.is_some())));
    out.u32(mesh.vertices as usize);
    out.u32(mesh.indices as usize);
    out.floats(&mesh.bounds);
    let cube = Formats::for_mesh(mesh, exact).cube;
    out.f32(cube.map_or(0.0, |cube| cube.side));
    out.list(&mesh.materials, |out, material| {
        out.u32(material.id as usize);
        out.text(&material.name);
        out.u32(material.first as usize);
        out.u32(material.count as usize);
    });
    out.list(&mesh.streams, |out, stream| {
        out.u32(stream.semantic as usize);
        out.u32(usize::from(stream.set));
        out.u32(usize::from(stream.animated));
        out.text(&stream.name);
        out.f64(stream.tolerance);
    });
}
