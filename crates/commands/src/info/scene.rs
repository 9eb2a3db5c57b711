//! The contents of a source file: the tree, the meshes with their attributes, the frames.

use super::clips::{self, SourceClipInfo};
use super::joints::{self, SkeletonInfo};
use super::options::InfoOptions;
use super::ranges::RangeInfo;
use crate::failure::{Failure, RemarkJson, remarks_json};
use meshreel_scene::sample::{FrameOptions, frame_ranges, frame_times};
use meshreel_scene::{Attribute, Channel, LengthUnit, Mesh, NodeKind, PlacedObject, Scene, Scope, Topology};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// A source file as `--json` prints it.
#[derive(Serialize)]
#[allow(missing_docs)]
pub struct SceneInfo {
    pub kind: &'static str,
    pub file: String,
    pub file_bytes: u64,
    pub unit: Option<&'static str>,
    pub fps: Option<f64>,
    pub metadata: Vec<(String, String)>,
    pub frames: usize,
    pub start: f64,
    pub duration: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<RangeInfo>,
    pub counts: Counts,
    pub nodes: Vec<SceneNode>,
    pub meshes: Vec<SceneMesh>,
    pub clips: Vec<SourceClipInfo>,
    pub skeletons: Vec<SkeletonInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Vec<f64>>,
    pub remarks: Vec<RemarkJson>,
}

#[derive(Serialize)]
#[allow(missing_docs)]
pub struct Counts {
    pub xforms: usize,
    pub meshes: usize,
    pub subds: usize,
    pub curves: usize,
    pub points: usize,
    pub nurbs: usize,
    pub cameras: usize,
    pub lights: usize,
    pub facesets: usize,
    pub instances: usize,
}

#[derive(Serialize)]
#[allow(missing_docs)]
pub struct SceneNode {
    pub path: String,
    pub kind: &'static str,
    pub samples: usize,
    #[serde(skip)]
    pub parent: Option<usize>,
    #[serde(skip)]
    pub mesh: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_of: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub animated_visibility: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub user_properties: Vec<(String, String)>,
}

#[derive(Serialize)]
#[allow(missing_docs)]
pub struct SceneMesh {
    pub path: String,
    /// Number of points in the first sample.
    pub points: usize,
    /// Number of faces in the first sample.
    pub faces: usize,
    pub samples: usize,
    /// The topology (changes of faces over time), or "points" or "curves".
    pub topology: &'static str,
    pub subd: bool,
    pub face_sets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<Vec<SceneStream>>,
}

#[derive(Serialize, Clone)]
#[allow(missing_docs)]
pub struct SceneStream {
    pub name: String,
    pub what: String,
    pub samples: usize,
    #[serde(skip_serializing_if = "is_false")]
    pub indexed: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl SceneInfo {
    /// Describes everything but the samples; only the first sample of each mesh is read.
    pub fn new(
        scene: &Scene,
        remarks: &[meshreel_scene::Remark],
        path: &Path,
        file_bytes: u64,
        wanted: InfoOptions,
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
            clips: clips::sources(scene),
            skeletons: joints::scene_skeletons(scene),
            times: wanted.frames.then_some(times),
            remarks: remarks_json(remarks),
        })
    }
}

fn nodes(scene: &Scene, placed: &[PlacedObject]) -> Vec<SceneNode> {
    // Paths of instance objects, to tell which nodes of the expanded tree stand for others.
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
            SceneNode {
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

/// Lists placed meshes in tree order; instances of one mesh share what was read.
fn meshes(scene: &Scene, placed: &[PlacedObject], streams: bool) -> Result<Vec<SceneMesh>, Failure> {
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
        out.push(SceneMesh {
            path: place.path.clone(),
            points,
            faces,
            samples: node.samples,
            topology: match (&mesh.particles, mesh.topology) {
                (Some(particles), _) if particles.curves.is_some() => "curves",
                (Some(_), _) => "points",
                (None, Topology::Constant) => "constant",
                (None, Topology::Homogeneous) => "homogeneous",
                (None, Topology::Heterogeneous) => "heterogeneous",
            },
            subd: mesh.is_subd,
            face_sets: mesh.face_sets.iter().map(|set| set.name.clone()).collect(),
            streams: streams.then(|| stream_list(mesh)),
        });
    }
    Ok(out)
}

/// Returns the number of values in the first sample.
fn first_len<T: Clone + Send + Sync + 'static>(channel: &Channel<T>) -> Result<usize, Failure> {
    if channel.is_empty() {
        return Ok(0);
    }
    let mut values = Vec::new();
    channel.read(0, &mut values)?;
    Ok(values.len())
}

fn stream_list(mesh: &Mesh) -> Vec<SceneStream> {
    fn attribute<T: Clone + Send + Sync + 'static>(what: &str, of: &Attribute<T>) -> SceneStream {
        let scope = match of.scope {
            Scope::Constant => "one for the mesh",
            Scope::Uniform => "per face",
            Scope::Varying => "per point (varying)",
            Scope::Vertex => "per point",
            Scope::FaceVarying => "per corner",
        };
        SceneStream {
            name: of.name.clone(),
            what: format!("{what}, {scope}"),
            samples: of.values.len(),
            indexed: of.indices.is_some(),
        }
    }
    let plain = |name: &str, what: &str, samples: usize| SceneStream {
        name: name.into(),
        what: what.into(),
        samples,
        indexed: false,
    };
    let mut list = vec![plain("positions", "per point", mesh.positions.len())];
    match &mesh.particles {
        None => list.push(plain("faces", "corners and their points", mesh.face_indices.len())),
        Some(particles) => {
            list.extend(particles.curves.iter().map(|c| plain("curves", "points of each", c.counts.len())));
            list.extend(particles.ids.iter().map(|ids| plain("ids", "per point", ids.len())));
            list.extend(particles.widths.iter().map(|a| attribute("widths", a)));
        }
    }
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

/// Returns the name of a length unit.
pub fn unit_name(unit: LengthUnit) -> &'static str {
    match unit {
        LengthUnit::Metre => "m",
        LengthUnit::Centimetre => "cm",
        LengthUnit::Millimetre => "mm",
        LengthUnit::Inch => "in",
    }
}
