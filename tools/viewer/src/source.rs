//! The source of a file, opened beside it: how far each vertex is from the point that it comes from.

use glam::{DMat4, DVec3};
use meshreel::{FrameDecoder, Reel, SourceMap};
use meshreel_inputs::{InputOptions, open};
use meshreel_scene::Scene;
use meshreel_scene::sample::{World, positions_at};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

/// The source of a file, and which of its points each vertex is.
pub struct Source {
    pub path: PathBuf,
    scene: Scene,
    maps: Vec<Option<SourceMap>>,
}

/// A source that is being opened.
pub struct Opening {
    pub path: PathBuf,
    result: Receiver<Result<Source, String>>,
}

/// How far the vertices of a node are from the source.
pub struct NodeErrors {
    pub node: usize,
    /// By vertex, as a part of the tolerance.
    pub parts: Vec<f32>,
}

/// How far a frame is from the source.
#[derive(Default)]
pub struct FrameErrors {
    pub frame: usize,
    pub nodes: Vec<NodeErrors>,
    /// Nodes that the source does not have, or not with the same points.
    pub unknown: usize,
    /// The largest distance: how far, as a part of the tolerance, of which node and vertex, and where in the world.
    pub worst: Option<Worst>,
}

/// The vertex that is farthest off.
#[derive(Clone, Copy)]
pub struct Worst {
    pub distance: f64,
    pub part: f32,
    pub node: usize,
    pub vertex: usize,
    pub at: DVec3,
}

/// Where the source of a compiled file lies, if it lies beside it.
pub fn beside(reel: &Path) -> Option<PathBuf> {
    let kinds = ["abc", "glb", "gltf", "usdc", "usda", "usd", "obj", "bvh"];
    kinds.iter().map(|kind| reel.with_extension(kind)).find(|path| path.is_file())
}

/// How inputs are opened: an .obj with the .pc2 beside it.
pub fn input_options(path: &Path) -> InputOptions {
    let points = path.with_extension("pc2");
    let is_obj = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("obj"));
    InputOptions { points: (is_obj && points.is_file()).then_some(points), ..InputOptions::default() }
}

impl Opening {
    /// Begins, in the background.
    pub fn start(path: &Path, reel: &Reel) -> Opening {
        let (told, result) = channel();
        let (own, reel) = (path.to_path_buf(), reel.clone());
        std::thread::spawn(move || drop(told.send(opened(&own, &reel))));
        Opening { path: path.into(), result }
    }

    /// The result, once it is there.
    pub fn poll(&self) -> Option<Result<Source, String>> {
        match self.result.try_recv() {
            Ok(result) => Some(result),
            Err(std::sync::mpsc::TryRecvError::Empty) => None,
            Err(std::sync::mpsc::TryRecvError::Disconnected) => Some(Err("it could not be opened".into())),
        }
    }

    /// Waits for it.
    pub fn wait(self) -> Result<Source, String> {
        self.result.recv().unwrap_or_else(|_| Err("it could not be opened".into()))
    }
}

fn opened(path: &Path, reel: &Reel) -> Result<Source, String> {
    let (scene, _) = open(&[path.to_path_buf()], &input_options(path)).map_err(|e| e.to_string())?;
    let maps = (0..reel.description().meshes.len()).map(|mesh| reel.source_map(mesh));
    let maps = maps.collect::<Result<_, _>>().map_err(|e: meshreel::Error| e.to_string())?;
    Ok(Source { path: path.into(), scene, maps })
}

impl Source {
    /// Measures the frame that a decoder shows against the source at its time.
    pub fn measure(&self, decoder: &FrameDecoder) -> anyhow::Result<FrameErrors> {
        let reel = decoder.reel();
        let frame = decoder.frame().unwrap_or_default();
        let placed = self.scene.expand()?;
        let mut world = World::new(&self.scene, &placed)?;
        let time = reel.time(frame);
        world.evaluate(time)?;
        let mut out = FrameErrors { frame, ..FrameErrors::default() };
        let (mut points, mut vertices) = (Vec::new(), Vec::new());
        for (node, record) in reel.description().nodes.iter().enumerate() {
            let Some(mesh) = record.mesh.filter(|_| decoder.visible(node)) else { continue };
            let mesh = mesh as usize;
            let place = placed.iter().position(|place| place.path == record.path);
            let source = place.and_then(|i| Some((i, self.scene.nodes[placed[i].node].mesh?)));
            let (Some((i, source)), Some(map)) = (source, &self.maps[mesh]) else {
                out.unknown += 1;
                continue;
            };
            positions_at(&self.scene.meshes[source], time, &mut points)?;
            let view = decoder.mesh(mesh);
            let count = view.vertex_count();
            if map.points as usize != points.len() || map.vertex_point.len() != count {
                out.unknown += 1;
                continue;
            }
            vertices.resize(3 * count, 0.0f32);
            view.positions_into(&mut vertices)?;
            let here = crate::document::matrix(decoder.world(node));
            let there: DMat4 = world.matrix[i];
            let mut parts = Vec::with_capacity(count);
            for (vertex, (own, &point)) in
                vertices.as_chunks::<3>().0.iter().zip(&map.vertex_point).enumerate()
            {
                let at = here.transform_point3(double(*own));
                let wanted = points.get(point as usize).map(|p| there.transform_point3(double(*p)));
                let distance = wanted.map_or(0.0, |wanted| wanted.distance(at));
                let part = if record.tolerance > 0.0 { (distance / record.tolerance) as f32 } else { 0.0 };
                parts.push(part);
                if out.worst.is_none_or(|worst| worst.part < part) {
                    out.worst = Some(Worst { distance, part, node, vertex, at });
                }
            }
            out.nodes.push(NodeErrors { node, parts });
        }
        Ok(out)
    }
}

fn double([x, y, z]: [f32; 3]) -> DVec3 {
    DVec3::new(x.into(), y.into(), z.into())
}
