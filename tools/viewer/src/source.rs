//! The source of a file, opened beside it to measure the error of each vertex against its source point, and
//! of each joint against the source's.

use crate::clips::{Clips, shell_distance};
use crate::errors::one_line;
use crate::worker::Worker;
use anyhow::anyhow;
use glam::{DMat4, DVec3};
use meshreel::clip::{Clip, Query, Rounding};
use meshreel::{FrameDecoder, Reel, SourceMap, Transform};
use meshreel_inputs::{InputOptions, open};
use meshreel_options::Options;
use meshreel_scene::sample::{World, positions_at};
use meshreel_scene::{Scene, hidden};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// The source of a file, the source point of each vertex, and its clips as they were compiled.
pub struct SourceFile {
    pub path: PathBuf,
    scene: Scene,
    maps: Vec<Option<SourceMap>>,
    /// By clip of the file; `None` if the source has none with the same joints and samples.
    clips: Vec<Option<meshreel_scene::Clip>>,
}

/// A source that is being opened.
pub struct SourceOpening {
    pub path: PathBuf,
    result: Receiver<Result<SourceFile, String>>,
}

/// Errors of the vertices of a node.
pub struct NodeErrors {
    pub node: usize,
    /// By vertex, as a fraction of the tolerance.
    pub fractions: Vec<f32>,
}

/// Errors of a frame against the source.
#[derive(Default)]
pub struct FrameErrors {
    pub frame: usize,
    pub nodes: Vec<NodeErrors>,
    /// Number of nodes that the source lacks, or has with other points.
    pub unknown: usize,
    /// The vertex with the largest error.
    pub worst: Option<LargestError>,
}

/// The vertex with the largest error, which `fraction` gives in tolerances.
#[derive(Clone, Copy)]
pub struct LargestError {
    pub distance: f64,
    pub fraction: f32,
    pub node: usize,
    pub vertex: usize,
    pub position: DVec3,
}

/// Returns the source of a compiled file, if it lies beside it.
pub fn find_source(reel: &Path) -> Option<PathBuf> {
    let kinds = ["abc", "glb", "gltf", "usdc", "usda", "usd", "obj", "bvh"];
    kinds.iter().map(|kind| reel.with_extension(kind)).find(|path| path.is_file())
}

/// Returns options for opening an input: an .obj with the .pc2 beside it.
pub fn input_options(path: &Path) -> InputOptions {
    let points = path.with_extension("pc2");
    let is_obj = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("obj"));
    InputOptions { points: (is_obj && points.is_file()).then_some(points), ..InputOptions::default() }
}

impl SourceOpening {
    /// Starts opening in the background.
    pub fn start(path: &Path, reel: &Reel) -> SourceOpening {
        let (told, result) = channel();
        let (own, reel) = (path.to_path_buf(), reel.clone());
        std::thread::spawn(move || drop(told.send(open_source(&own, &reel).map_err(|e| one_line(&e)))));
        SourceOpening { path: path.into(), result }
    }

    /// Returns the result, once it is ready.
    pub fn poll(&self) -> Option<Result<SourceFile, String>> {
        match self.result.try_recv() {
            Ok(result) => Some(result),
            Err(std::sync::mpsc::TryRecvError::Empty) => None,
            Err(std::sync::mpsc::TryRecvError::Disconnected) => Some(Err("it could not be opened".into())),
        }
    }

    /// Waits for the result.
    pub fn wait(self) -> Result<SourceFile, String> {
        self.result.recv().unwrap_or_else(|_| Err("it could not be opened".into()))
    }
}

fn open_source(path: &Path, reel: &Reel) -> anyhow::Result<SourceFile> {
    let wanted = Options::from_text(&reel.description().options)?;
    let (scene, _) = open(&[path.to_path_buf()], &input_options(path).with_compiled_options(&wanted))?;
    let scene = if wanted.show_hidden { hidden::show_all(&scene)? } else { scene };
    let maps = (0..reel.description().meshes.len()).map(|mesh| reel.source_map(mesh));
    let maps = maps.collect::<Result<_, _>>()?;
    let clips = reel.clips()?.iter().map(|clip| source_clip(&scene, clip, &wanted)).collect();
    let source = SourceFile { path: path.into(), scene, maps, clips };
    let has_meshes = source.scene.nodes.iter().any(|node| node.mesh.is_some());
    match has_meshes || source.clips.iter().any(Option::is_some) {
        true => Ok(source),
        false => Err(anyhow!("{}: it has nothing that is in the file", path.display())),
    }
}

/// Returns the clip of the same name, or the only one, as it was compiled.
fn source_clip(scene: &Scene, clip: &Clip, wanted: &Options) -> Option<meshreel_scene::Clip> {
    let found = match &scene.clips[..] {
        [only] => Some(only),
        all => all.iter().find(|c| c.name == clip.name()),
    };
    let source = found?.portion(wanted.fps, wanted.range).ok()?;
    let same = source.tracks.len() == clip.joints() && source.samples == clip.samples();
    same.then(|| source.into_owned())
}

/// Errors of the joints of a pose against the source's, as fractions of the tolerance.
pub struct ClipErrors {
    pub fractions: Vec<f32>,
    /// The largest error, as a length and as a fraction of the tolerance, and the joint.
    pub worst: (f64, f32, usize),
}

/// A sample of a clip, with the tiers that are played.
#[derive(Clone, PartialEq)]
pub struct ClipSample {
    clip: usize,
    sample: usize,
    tiers: Vec<usize>,
}

impl ClipSample {
    /// Returns a moment of the current clip.
    pub fn new(clips: &Clips, sample: usize) -> ClipSample {
        ClipSample { clip: clips.chosen(), sample, tiers: clips.tiers().to_vec() }
    }
}

/// Measures one moment after the other in the background; requests in between are skipped.
pub struct ErrorMeasurement {
    frames: Worker<usize, Result<FrameErrors, String>>,
    frame: Option<usize>,
    samples: Worker<(ClipSample, Clip), Result<Option<ClipErrors>, String>>,
    moment: Option<ClipSample>,
}

impl ErrorMeasurement {
    /// Starts the threads; `done` is called after each frame and each sample.
    pub fn start(
        source: Arc<SourceFile>,
        reel: &Reel,
        done: impl Fn() + Send + Clone + 'static,
    ) -> ErrorMeasurement {
        let (reel, mut decoder, own) = (reel.clone(), None, source.clone());
        let frame = move |frame| measure_frame(&own, &reel, &mut decoder, frame).map_err(|e| one_line(&e));
        let sample = move |(moment, clip): (ClipSample, Clip)| {
            source.measure_clip(moment.clip, &clip, moment.sample).map_err(|e| one_line(&e))
        };
        ErrorMeasurement {
            frames: Worker::start(frame, done.clone()),
            frame: None,
            samples: Worker::start(sample, done),
            moment: None,
        }
    }

    /// Requests a frame, and returns the latest measurement.
    pub fn frame(&mut self, frame: usize) -> Option<Result<FrameErrors, String>> {
        if self.frame != Some(frame) {
            self.frame = Some(frame);
            self.frames.ask(frame);
        }
        self.frames.poll()
    }

    /// Requests a sample of the current clip, and returns the latest measurement, which is `None` for a clip
    /// that the source lacks.
    pub fn sample(&mut self, clips: &Clips, sample: usize) -> Option<Result<Option<ClipErrors>, String>> {
        let moment = ClipSample::new(clips, sample);
        if self.moment.as_ref() != Some(&moment) {
            self.moment = Some(moment.clone());
            self.samples.ask((moment, clips.played().clone()));
        }
        self.samples.poll()
    }
}

fn measure_frame(
    source: &SourceFile,
    reel: &Reel,
    decoder: &mut Option<FrameDecoder>,
    frame: usize,
) -> anyhow::Result<FrameErrors> {
    let decoder = match decoder {
        Some(decoder) => decoder,
        None => decoder.insert(FrameDecoder::new(reel)?),
    };
    decoder.decode(frame)?;
    source.measure(decoder)
}

impl SourceFile {
    /// Returns the source's clip for this index in the file.
    pub fn clip(&self, clip: usize) -> Option<&meshreel_scene::Clip> {
        self.clips.get(clip)?.as_ref()
    }

    /// Returns the source's joints of the current clip at a time; by joint, in object space.
    pub fn joints(&self, clips: &Clips, time: f64) -> Option<Vec<glam::DAffine3>> {
        let source = self.clip(clips.chosen())?;
        let at = ((time - source.start) * source.fps).clamp(0.0, (source.samples - 1) as f64);
        let mut out: Vec<glam::DAffine3> = Vec::with_capacity(source.tracks.len());
        for (joint, &parent) in clips.skeleton().parents.iter().enumerate() {
            let own = source.interpolated(joint, at).matrix();
            out.push(out.get(parent as usize).map_or(own, |above| *above * own));
        }
        Some(out)
    }

    /// Measures a sample of the file's clip with this index; `None` if the source lacks it.
    pub fn measure_clip(
        &self,
        number: usize,
        clip: &Clip,
        sample: usize,
    ) -> anyhow::Result<Option<ClipErrors>> {
        let Some(source) = self.clip(number) else { return Ok(None) };
        let skeleton = clip.skeleton();
        let mut pose = vec![Transform::IDENTITY; clip.joints()];
        let seconds = sample as f64 / clip.fps();
        let mut cursor = clip.cursor();
        cursor.pose(&Query::new(seconds).with_rounding(Rounding::Nearest), &mut pose[..])?;
        let mut out = ClipErrors { fractions: Vec::with_capacity(pose.len()), worst: (0.0, 0.0, 0) };
        for joint in 0..pose.len() {
            let shell = f64::from(skeleton.shell[joint]);
            let [one, other]: [&dyn Fn(usize) -> meshreel_scene::Qvv; 2] =
                [&|j| meshreel_extract::convert::qvv(&pose[j]), &|j| source.interpolated(j, sample as f64)];
            let off = shell_distance(&skeleton.parents, joint, shell, one, other);
            let own = skeleton.tolerance.get(joint).copied().filter(|own| *own > 0.0);
            let part = (off / own.unwrap_or(clip.record().tolerance)) as f32;
            if part > out.worst.1 {
                out.worst = (off, part, joint);
            }
            out.fractions.push(part);
        }
        Ok(Some(out))
    }

    /// Measures the decoder's frame against the source at its time.
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
            let here = crate::matrix::matrix(decoder.world(node));
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
                if out.worst.is_none_or(|worst| worst.fraction < part) {
                    out.worst = Some(LargestError { distance, fraction: part, node, vertex, position: at });
                }
            }
            out.nodes.push(NodeErrors { node, fractions: parts });
        }
        Ok(out)
    }
}

fn double([x, y, z]: [f32; 3]) -> DVec3 {
    DVec3::new(x.into(), y.into(), z.into())
}
