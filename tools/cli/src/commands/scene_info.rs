//! What is in a source file: the tree, the meshes with their attributes, the frames, as data and as text.

use super::joints::{self, SkeletonInfo};
use super::ranges::{RangeInfo, range_lines};
use crate::output::{Failure, RemarkJson, remarks_json, table};
use crate::units;
use meshreel_scene::sample::{FrameOptions, frame_ranges, frame_times};
use meshreel_scene::{Attribute, Channel, Mesh, NodeKind, Placed, Scene, Scope, Topology, Unit};
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// Most rows of a table or tree that is only an overview.
const OVERVIEW_ROWS: usize = 24;

/// A source file as `--json` prints it.
#[derive(Serialize)]
pub struct SceneInfo {
    kind: &'static str,
    file: String,
    file_bytes: u64,
    unit: Option<&'static str>,
    fps: Option<f64>,
    metadata: Vec<(String, String)>,
    frames: usize,
    start: f64,
    duration: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ranges: Vec<RangeInfo>,
    counts: Counts,
    nodes: Vec<NodeInfo>,
    meshes: Vec<MeshInfo>,
    clips: Vec<super::clip::SourceInfo>,
    skeletons: Vec<SkeletonInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<Vec<f64>>,
    remarks: Vec<RemarkJson>,
}

#[derive(Serialize)]
struct Counts {
    xforms: usize,
    meshes: usize,
    subds: usize,
    curves: usize,
    points: usize,
    nurbs: usize,
    cameras: usize,
    lights: usize,
    facesets: usize,
    instances: usize,
}

#[derive(Serialize)]
struct NodeInfo {
    path: String,
    kind: &'static str,
    samples: usize,
    #[serde(skip)]
    parent: Option<usize>,
    #[serde(skip)]
    mesh: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance_of: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    animated_visibility: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    user_properties: Vec<(String, String)>,
}

#[derive(Serialize)]
struct MeshInfo {
    path: String,
    /// Of the first sample.
    points: usize,
    /// Of the first sample.
    faces: usize,
    samples: usize,
    topology: &'static str,
    subd: bool,
    face_sets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<Vec<StreamInfo>>,
}

#[derive(Serialize, Clone)]
struct StreamInfo {
    name: String,
    what: String,
    samples: usize,
    #[serde(skip_serializing_if = "is_false")]
    indexed: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The parts of the output that `--tree`, `--streams` and `--frames` ask for.
#[derive(Clone, Copy, Default)]
#[allow(missing_docs)]
pub struct Wanted {
    pub tree: bool,
    pub streams: bool,
    pub frames: bool,
}

impl SceneInfo {
    /// Looks at everything but the samples; of each mesh the first one is read.
    pub fn new(
        scene: &Scene,
        remarks: &[meshreel_scene::Remark],
        path: &Path,
        file_bytes: u64,
        wanted: Wanted,
    ) -> Result<SceneInfo, Failure> {
        let placed = scene.expand()?;
        let selected = vec![true; placed.len()];
        let times = frame_times(scene, &placed, &selected, &FrameOptions::default())?;
        let counts = scene.counts;
        Ok(SceneInfo {
            kind: scene.format,
            file: path.display().to_string(),
            file_bytes,
            unit: scene.unit.map(unit_name),
            fps: scene.fps,
            metadata: scene.metadata.clone(),
            frames: times.len(),
            start: times.first().copied().unwrap_or(0.0),
            duration: times.last().zip(times.first()).map_or(0.0, |(b, a)| b - a),
            ranges: (frame_ranges(&scene.ranges, &times).iter())
                .map(|(name, first, count)| RangeInfo::new(name, *first, *count, |frame| times[frame]))
                .collect(),
            counts: Counts {
                xforms: counts.xforms,
                meshes: counts.meshes,
                subds: counts.subds,
                curves: counts.curves,
                points: counts.points,
                nurbs: counts.nurbs,
                cameras: counts.cameras,
                lights: counts.lights,
                facesets: counts.facesets,
                instances: counts.instances,
            },
            nodes: nodes(scene, &placed),
            meshes: meshes(scene, &placed, wanted.streams)?,
            clips: super::clip::sources(scene),
            skeletons: joints::of_scene(scene),
            times: wanted.frames.then_some(times),
            remarks: remarks_json(remarks),
        })
    }

    /// For people.
    pub fn text(&self, wanted: Wanted) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{}", self.file);
        let mut field = |name: &str, value: String| {
            let _ = writeln!(out, "  {name:<18} {value}");
        };
        field("kind", format!("{}, {}", self.kind, units::bytes(self.file_bytes)));
        for (key, value) in self.metadata.iter().filter(|(_, value)| !value.is_empty()) {
            field(&readable_key(key), crate::output::one_line(value));
        }
        field("unit", self.unit.unwrap_or("not stated").to_string());
        if let Some(fps) = self.fps {
            field("rate", format!("{} frames per second", units::short(fps)));
        }
        let time = match self.frames {
            1 => format!("1 frame at {} s: nothing moves", units::short(self.start)),
            n => format!(
                "{n} frames, {} s to {} s ({} s)",
                units::short(self.start),
                units::short(self.start + self.duration),
                units::short(self.duration)
            ),
        };
        let clips_alone = self.meshes.is_empty() && !self.clips.is_empty();
        if !clips_alone {
            field("time", time);
            for range in range_lines(&self.ranges) {
                field("range", range);
            }
            field("content", self.counts.text());
        }
        out.push('\n');
        if !self.clips.is_empty() {
            out.push_str(&super::clip::source_table(&self.clips));
        }
        if clips_alone {
            if wanted.tree {
                out.push_str(&joints::text(&self.skeletons));
            }
            return out;
        }
        if wanted.tree {
            out.push_str(&self.tree(usize::MAX));
            out.push_str(&joints::text(&self.skeletons));
        } else if wanted.streams || wanted.frames {
            // The overview would only push away what was asked for.
        } else if self.nodes.len() <= OVERVIEW_ROWS {
            out.push_str(&self.tree(OVERVIEW_ROWS));
        } else {
            out.push_str(&self.mesh_table(OVERVIEW_ROWS));
        }
        if wanted.streams {
            out.push_str(&self.stream_table());
        }
        if let Some(times) = &self.times {
            let rows: Vec<Vec<String>> =
                times.iter().enumerate().map(|(i, time)| vec![i.to_string(), format!("{time:.6}")]).collect();
            out.push_str(&table(&["frame", "seconds"], &rows));
        }
        out
    }

    fn mesh_table(&self, most: usize) -> String {
        if self.meshes.is_empty() {
            return "no meshes\n".into();
        }
        let mut rows: Vec<Vec<String>> = self
            .meshes
            .iter()
            .take(most)
            .map(|mesh| {
                vec![
                    crate::output::one_line(&mesh.path),
                    units::count(mesh.points as u64),
                    units::count(mesh.faces as u64),
                    mesh.samples.to_string(),
                    mesh.topology.to_string(),
                ]
            })
            .collect();
        if self.meshes.len() > most {
            rows.push(vec![format!("… and {} more; --tree shows all", self.meshes.len() - most)]);
        }
        table(&["mesh", "points", "faces", "samples", "<topology"], &rows)
    }

    fn stream_table(&self) -> String {
        let mut rows = Vec::new();
        for mesh in &self.meshes {
            rows.push(vec![crate::output::one_line(&mesh.path)]);
            for stream in mesh.streams.iter().flatten() {
                let indexed = if stream.indexed { ", indexed" } else { "" };
                rows.push(vec![
                    format!("    {}", crate::output::one_line(&stream.name)),
                    format!("{}{indexed}", stream.what),
                    stream.samples.to_string(),
                ]);
            }
        }
        table(&["mesh and stream", "<what", "samples"], &rows)
    }

    /// The tree with lines, kinds and sizes.
    fn tree(&self, most: usize) -> String {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut roots = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            match node.parent {
                Some(parent) => children[parent].push(i),
                None => roots.push(i),
            }
        }
        let mut out = String::new();
        let mut stack: Vec<(usize, String, &str, &str)> = Vec::new();
        for (k, &root) in roots.iter().enumerate().rev() {
            let last = k + 1 == roots.len();
            stack.push((
                root,
                String::new(),
                if last { "└─ " } else { "├─ " },
                if last { "   " } else { "│  " },
            ));
        }
        let mut shown = 0;
        while let Some((i, prefix, branch, below)) = stack.pop() {
            if shown == most {
                let _ = writeln!(out, "… and {} more; --tree shows all", self.nodes.len() - shown);
                break;
            }
            shown += 1;
            let node = &self.nodes[i];
            let name = node.path.rsplit('/').next().unwrap_or(&node.path);
            let _ =
                writeln!(out, "{prefix}{branch}{}  {}", crate::output::one_line(name), self.describe(node));
            let prefix = format!("{prefix}{below}");
            for (key, value) in &node.user_properties {
                let bar = if children[i].is_empty() { ' ' } else { '│' };
                let _ = writeln!(
                    out,
                    "{prefix}{bar}  · {}: {}",
                    crate::output::one_line(key),
                    crate::output::one_line(value)
                );
            }
            for (k, &child) in children[i].iter().enumerate().rev() {
                let last = k + 1 == children[i].len();
                stack.push((
                    child,
                    prefix.clone(),
                    if last { "└─ " } else { "├─ " },
                    if last { "   " } else { "│  " },
                ));
            }
        }
        out
    }

    /// Kind, size and animation of a node.
    fn describe(&self, node: &NodeInfo) -> String {
        let mut parts = vec![node.kind.to_string()];
        if let Some(target) = &node.instance_of {
            parts.push(format!("instance of {}", crate::output::one_line(target)));
        }
        if let Some(mesh) = node.mesh.and_then(|mesh| self.meshes.get(mesh)) {
            parts.push(format!("{} points", units::count(mesh.points as u64)));
            parts.push(format!("{} faces", units::count(mesh.faces as u64)));
            match mesh.topology {
                "constant" => {}
                "heterogeneous" => parts.push("changing topology".into()),
                _ => parts.push("moving points".into()),
            }
            if !mesh.face_sets.is_empty() {
                parts.push(format!("face sets {}", crate::output::one_line(&mesh.face_sets.join(" "))));
            }
        }
        if node.samples > 1 {
            parts.push(format!("{} samples", node.samples));
        }
        if node.animated_visibility {
            parts.push("blinks".into());
        }
        parts.join(", ")
    }
}

impl Counts {
    fn text(&self) -> String {
        let named = [
            (self.xforms, "transform", "transforms"),
            (self.meshes, "mesh", "meshes"),
            (self.subds, "subdivision surface", "subdivision surfaces"),
            (self.curves, "curves object", "curves objects"),
            (self.points, "points object", "points objects"),
            (self.nurbs, "NURBS patch", "NURBS patches"),
            (self.cameras, "camera", "cameras"),
            (self.lights, "light", "lights"),
            (self.facesets, "face set", "face sets"),
            (self.instances, "instance", "instances"),
        ];
        let parts: Vec<String> = named
            .iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many)| {
                format!("{} {}", units::count(*count as u64), if *count == 1 { one } else { many })
            })
            .collect();
        match parts.is_empty() {
            true => "nothing".into(),
            false => parts.join(", "),
        }
    }
}

fn nodes(scene: &Scene, placed: &[Placed]) -> Vec<NodeInfo> {
    // Paths of instance objects, so that the expanded tree can say which of its nodes stand for others.
    let instances: HashMap<&str, &str> = scene
        .nodes
        .iter()
        .filter_map(|node| {
            let target = scene.nodes.get(node.instance_of?)?;
            Some((node.path.as_str(), target.path.as_str()))
        })
        .collect();
    let mut mesh = 0;
    placed
        .iter()
        .map(|place| {
            let node = &scene.nodes[place.node];
            NodeInfo {
                path: place.path.clone(),
                kind: kind_name(node.kind),
                samples: node.samples,
                parent: place.parent,
                mesh: node.mesh.map(|_| {
                    mesh += 1;
                    mesh - 1
                }),
                instance_of: instances.get(place.path.as_str()).map(|target| target.to_string()),
                animated_visibility: node
                    .visibility
                    .as_ref()
                    .is_some_and(|channel| channel.len() > 1 && !channel.is_constant()),
                user_properties: node.user_properties.clone(),
            }
        })
        .collect()
}

/// One entry per placed mesh, in tree order; instances of one mesh share what was read.
fn meshes(scene: &Scene, placed: &[Placed], streams: bool) -> Result<Vec<MeshInfo>, Failure> {
    let mut sizes: HashMap<usize, (usize, usize)> = HashMap::new();
    let mut out = Vec::new();
    for place in placed {
        let node = &scene.nodes[place.node];
        let Some(mesh_id) = node.mesh else { continue };
        let mesh = &scene.meshes[mesh_id];
        let (points, faces) = match sizes.get(&mesh_id) {
            Some(known) => *known,
            None => {
                let known = (first_len(&mesh.positions)?, first_len(&mesh.face_counts)?);
                sizes.insert(mesh_id, known);
                known
            }
        };
        out.push(MeshInfo {
            path: place.path.clone(),
            points,
            faces,
            samples: node.samples,
            topology: match mesh.topology {
                Topology::Constant => "constant",
                Topology::Homogeneous => "homogeneous",
                Topology::Heterogeneous => "heterogeneous",
            },
            subd: mesh.is_subd,
            face_sets: mesh.face_sets.iter().map(|set| set.name.clone()).collect(),
            streams: streams.then(|| stream_list(mesh)),
        });
    }
    Ok(out)
}

/// Number of values in the first sample.
fn first_len<T: Clone + Send + Sync + 'static>(channel: &Channel<T>) -> Result<usize, Failure> {
    if channel.is_empty() {
        return Ok(0);
    }
    let mut values = Vec::new();
    channel.read(0, &mut values)?;
    Ok(values.len())
}

fn stream_list(mesh: &Mesh) -> Vec<StreamInfo> {
    fn attribute<T: Clone + Send + Sync + 'static>(what: &str, of: &Attribute<T>) -> StreamInfo {
        let scope = match of.scope {
            Scope::Constant => "one for the mesh",
            Scope::Uniform => "per face",
            Scope::Varying => "per point (varying)",
            Scope::Vertex => "per point",
            Scope::FaceVarying => "per corner",
        };
        StreamInfo {
            name: of.name.clone(),
            what: format!("{what}, {scope}"),
            samples: of.values.len(),
            indexed: of.indices.is_some(),
        }
    }
    let plain = |name: &str, what: &str, samples: usize| StreamInfo {
        name: name.into(),
        what: what.into(),
        samples,
        indexed: false,
    };
    let mut list = vec![
        plain("positions", "per point", mesh.positions.len()),
        plain("faces", "corners and their points", mesh.face_indices.len()),
    ];
    list.extend(mesh.normals.iter().map(|a| attribute("normals", a)));
    list.extend(mesh.uvs.iter().map(|a| attribute("uvs", a)));
    list.extend(mesh.colours.iter().map(|a| attribute("colours", a)));
    if let Some(velocities) = &mesh.velocities {
        list.push(plain("velocities", "per point", velocities.len()));
    }
    for set in &mesh.face_sets {
        list.push(plain(&set.name, "face set", set.faces.len()));
    }
    for (name, what) in &mesh.other_attributes {
        list.push(plain(name, &format!("{what} (not compiled)"), 1));
    }
    list
}

fn kind_name(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Xform => "xform",
        NodeKind::PolyMesh => "polymesh",
        NodeKind::SubD => "subd",
        NodeKind::Curves => "curves",
        NodeKind::Points => "points",
        NodeKind::NuPatch => "nupatch",
        NodeKind::Camera => "camera",
        NodeKind::Light => "light",
        NodeKind::Material => "material",
        NodeKind::Other => "other",
    }
}

/// Name of a length unit.
pub fn unit_name(unit: Unit) -> &'static str {
    match unit {
        Unit::Metre => "m",
        Unit::Centimetre => "cm",
        Unit::Millimetre => "mm",
        Unit::Inch => "in",
    }
}

/// Alembic's keys begin with `_ai_`, which says nothing to anybody.
fn readable_key(key: &str) -> String {
    let key = key.strip_prefix("_ai_").unwrap_or(key);
    key.chars().take(24).collect::<String>().to_lowercase()
}
