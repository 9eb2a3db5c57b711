//! An animation that all codecs get: the vertices that a graphics card draws, with positions of the source.

use crate::peers::values::{Errors, Frame};
use crate::{assets, compare};
use anyhow::{Context, bail};
use meshreel::{FrameDecoder, Limits, Reel};
use meshreel_compile::{Report, Silent, compile};
use meshreel_options::{BetweenChoice, Options, Preset, Tolerance};
use meshreel_scene::sample::{self, ChannelSelection, TimeRange};
use meshreel_scene::{Mesh, Scene};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The channels of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channels {
    /// Positions, normals, uvs, and tangents where there are uvs.
    All,
    Positions,
}

impl Channels {
    pub const BOTH: [Channels; 2] = [Channels::All, Channels::Positions];

    pub fn name(self) -> &'static str {
        match self {
            Channels::All => "all",
            Channels::Positions => "positions",
        }
    }

    fn selection(self) -> ChannelSelection {
        let all = self == Channels::All;
        ChannelSelection { normals: all, uvs: all, colours: false, attributes: false }
    }
}

/// Orders of vertices that codecs are tried with: differences of adjacent ones depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VertexOrder {
    /// The order of the compiled file.
    File,
    /// The order of the source's points.
    Source,
    /// The order in which meshoptimizer's triangles use them first.
    Fetch,
}

impl VertexOrder {
    pub const ALL: [VertexOrder; 3] = [VertexOrder::File, VertexOrder::Source, VertexOrder::Fetch];
}

/// Returns an order of vertices, as the old number of each, and the triangles in an order that suits it.
fn order_of(frame: &Frame, order: VertexOrder) -> (Vec<u32>, Vec<u32>) {
    let count = frame.positions.len();
    let mut old_of_new: Vec<u32> = (0..count as u32).collect();
    let mut triangles = frame.triangles.clone();
    match order {
        VertexOrder::File => {}
        VertexOrder::Source => old_of_new.sort_by_key(|&v| frame.points[v as usize]),
        VertexOrder::Fetch => {
            triangles = meshopt::optimize_vertex_cache(&triangles, count);
            let new_of_old = meshopt::optimize_vertex_fetch_remap(&triangles, count);
            // Unused vertices come last.
            old_of_new.sort_by_key(|&v| new_of_old[v as usize]);
        }
    }
    (old_of_new, triangles)
}

/// The source of an animation.
pub struct Case {
    pub name: String,
    /// Size of the input, if it has nothing but this mesh.
    pub source_bytes: Option<u64>,
    /// The mesh alone, without transforms.
    pub scene: Arc<Scene>,
    range: Option<TimeRange>,
    /// Diagonal of the bounds over the whole animation.
    pub diagonal: f64,
}

/// The vertices of all frames.
pub struct Vertices {
    pub frames: Vec<Frame>,
    pub uvs: Vec<[f32; 2]>,
    /// Signs of tangents; empty without.
    pub signs: Vec<f32>,
    pub has_fixed_faces: bool,
    pub times: Vec<f64>,
}

impl Vertices {
    /// Returns the same vertices in another order.
    pub fn reordered(&self, order: VertexOrder) -> Vertices {
        let (mut frames, mut signs, mut uvs) = (Vec::new(), self.signs.clone(), self.uvs.clone());
        let mut both = (Vec::new(), Vec::new());
        for (number, frame) in self.frames.iter().enumerate() {
            if number == 0 || !self.has_fixed_faces {
                both = order_of(frame, order);
            }
            let first = number == 0 || !self.has_fixed_faces;
            frames.push(frame.reordered(&both.0, if first { &both.1 } else { &[] }));
        }
        if self.has_fixed_faces && !signs.is_empty() {
            signs = both.0.iter().map(|&old| self.signs[old as usize]).collect();
            uvs = both.0.iter().map(|&old| self.uvs[old as usize]).collect();
        }
        Vertices { frames, uvs, signs, has_fixed_faces: self.has_fixed_faces, times: self.times.clone() }
    }

    /// Returns the number of vertices of all frames together.
    pub fn total(&self) -> usize {
        self.frames.iter().map(|frame| frame.positions.len()).sum()
    }
}

/// A compiled file.
pub struct Compiled {
    pub reel: Reel,
    /// Size without the source map.
    pub bytes: u64,
    /// Its largest errors, as `verify` finds them.
    pub errors: Errors,
}

impl Case {
    /// Reads the first mesh of an input, in its own space; at most `frames` frames of it.
    pub fn read(input: &Path, frames: Option<usize>) -> anyhow::Result<Case> {
        let (source, _) = assets::open(input)?;
        let name = input.file_stem().unwrap_or_default().to_string_lossy().replace(['.', '#'], "");
        let is_whole = source.meshes.len() == 1;
        let size = |path: &PathBuf| Ok(std::fs::metadata(path)?.len());
        let bytes = source.files.iter().map(size).sum::<std::io::Result<u64>>()?;
        let mut mesh = source.meshes.into_iter().next().context("an input without mesh")?;
        mesh.path = format!("/{name}");
        Ok(Case {
            name,
            diagonal: compare::whole_diagonal(&mesh)?,
            source_bytes: is_whole.then_some(bytes),
            scene: Arc::new(Scene { fps: source.fps, ..Scene::from_meshes(vec![mesh]) }),
            range: frames.map(|count| TimeRange::Frames(0, count.saturating_sub(1))),
        })
    }

    pub fn mesh(&self) -> &Mesh {
        &self.scene.meshes[0]
    }

    fn make(&self, options: Options, channels: Channels) -> anyhow::Result<(Reel, Report)> {
        let folder = tempfile::tempdir()?;
        let target = folder.path().join("case.reel");
        let options = Options {
            channels: channels.selection(),
            between: BetweenChoice::Off,
            range: self.range,
            ..options
        };
        let scene = self.scene.clone();
        let report = compile(scene, Vec::new(), &target, &options, &meshreel_check::reopen, &Silent)?;
        let bytes = std::fs::read(&target)?;
        Ok((Reel::from_source(Arc::new(bytes), &Limits::default())?, report))
    }

    /// Compiles with default options but the tolerance, a length, and verifies.
    pub fn compile(&self, preset: Preset, channels: Channels, tolerance: f64) -> anyhow::Result<Compiled> {
        let options = Options { preset, tolerance: Tolerance::Absolute(tolerance), ..Options::default() };
        let (reel, report) = self.make(options, channels)?;
        let found = meshreel_check::verify(&self.scene, &reel, &|_, _| {})?;
        let [mesh] = &found.meshes[..] else {
            bail!("{}: {} meshes were verified instead of one", self.name, found.meshes.len());
        };
        if !found.ok {
            bail!("{}: the file breaks its promise", self.name);
        }
        let errors = Errors { position: mesh.max_error, normal: mesh.normal_max_deg };
        Ok(Compiled { reel, bytes: report.file_bytes - report.source_map_bytes, errors })
    }

    /// Returns the vertices of all frames. Positions are the source's; normals and tangents are within a
    /// twentieth of a degree of it.
    pub fn vertices(&self, channels: Channels) -> anyhow::Result<Vertices> {
        let options = Options {
            preset: Preset::Fast,
            effort: 1,
            tolerance: Tolerance::Absolute(1e-6 * self.diagonal),
            normal_tolerance: 0.05,
            uv_tolerance: 1.0 / 65_536.0,
            ..Options::default()
        };
        let (reel, _) = self.make(options, channels)?;
        let fixed_map = reel.source_map(0)?;
        let maps = reel.full_source_map(0)?.context("a file without source map")?;
        let mut decoder = FrameDecoder::new(&reel)?;
        let (mut sources, mut frames, mut times) = (Vec::new(), Vec::<Frame>::new(), Vec::new());
        let (mut uvs, mut signs) = (Vec::new(), Vec::new());
        for number in 0..reel.frame_count() {
            decoder.decode(number)?;
            let view = decoder.mesh(0);
            let count = view.vertex_count();
            let map = fixed_map.as_ref().or_else(|| maps.frame_map(number));
            let map = map.with_context(|| format!("frame {number} has no source map"))?;
            sample::positions_at(self.mesh(), reel.time(number), &mut sources)?;
            let source = |&point: &u32| sources.get(point as usize).copied();
            let positions: Option<Vec<[f32; 3]>> = map.vertex_point.iter().map(source).collect();
            let positions = positions.filter(|p| p.len() == count).context("a wrong source map")?;
            let points = map.vertex_point.clone();
            let mut frame = Frame { positions, points, ..Frame::default() };
            let mut normals = vec![0.0; 3 * count];
            if channels == Channels::All && view.has_tangents() {
                let mut tangents = vec![0.0; 4 * count];
                view.directions_into(&mut normals, &mut tangents)?;
                let tangents = tangents.as_chunks::<4>().0;
                frame.tangents = tangents.iter().map(|&[x, y, z, _]| [x, y, z]).collect();
                signs = tangents.iter().map(|t| t[3]).collect();
                uvs.resize(count, [0.0; 2]);
                view.uvs_into(0, uvs.as_flattened_mut())?;
            } else if channels == Channels::All {
                view.normals_into(&mut normals)?;
            }
            if channels == Channels::All {
                frame.normals = normals.as_chunks::<3>().0.to_vec();
            }
            if number == 0 || fixed_map.is_none() {
                frame.triangles = view.indices().to_vec();
            }
            frames.push(frame);
            times.push(reel.time(number));
        }
        let has_fixed_faces = fixed_map.is_some();
        Ok(Vertices { frames, uvs, signs, has_fixed_faces, times })
    }
}
