//! FBX with animated transforms, skins, blend shapes and lenses, read by the package `ufbx`: its C library
//! parses the file once, all data is copied out, and animation is evaluated from that, one frame at a time.
//!
//! Frames are at the file's own rate. The scene is rotated so that y is up; lengths stay in the file's unit.
//!
//! * Bones are joints of skeletons, and all animations are clips of these. Nodes that are joints and carry
//!   nothing are in skeletons only; a skinned mesh is in world space, so its joints are in the space of their
//!   skeleton.
//! * Cameras and lights look along -z, as everywhere in the scene model; the children of their nodes are
//!   rotated back.

mod bind_pose;
mod cache;
mod camera;
mod deform;
mod mesh;
mod moving;
mod needed_frames;
mod skeleton;
mod times;
mod tree;

use crate::ReadOptions;
use bind_pose::{BoneBinding, Program};
use glam::DMat4;
use mesh::Meshes;
use meshreel_files::PositionedFile;
use meshreel_scene::{Channel, Error, LengthUnit, NodeKind, Remark, Scene, Transform};
use skeleton::Rigs;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use times::FrameTimes;
use tree::Tree;

/// The largest file accepted, in bytes; it is held in memory while it is parsed.
const MAX_FILE_BYTES: u64 = 4 << 30;
/// Memory limit for parsing, as a multiple of the file size (compressed arrays expand at most this much), and
/// the amount allowed to any file in bytes.
const MAX_MEMORY_PER_FILE_BYTE: usize = 64;
const MIN_MEMORY_LIMIT_BYTES: usize = 256 << 20;
/// Upper limit for the depth of the node tree.
const MAX_DEPTH: u32 = 512;

/// Reads a file, and the geometry caches in its folder that it names. Textures and other files are not
/// opened.
pub fn open(path: &Path, read_options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let file = PositionedFile::open(path)?;
    if file.length() > MAX_FILE_BYTES {
        return Err(Error::limit(path, "bytes of an FBX file", file.length(), MAX_FILE_BYTES));
    }
    let mut bytes = vec![0; file.length() as usize];
    file.read_exact(0, &mut bytes)?;
    let parsed = ufbx::load_memory(&bytes, options(bytes.len())).map_err(|e| load_error(path, &e))?;
    drop(bytes);
    let mut remarks = Vec::new();
    let times = FrameTimes::new(path, &parsed, read_options.animation.as_deref())?;
    let tree = Arc::new(Tree::read(path, &parsed, &times)?);
    let scene = build(path, &parsed, &times, &tree, &mut remarks)?;
    if parsed.anim_stacks.len() > 1 && read_options.animation.is_none() {
        let names: Vec<String> = parsed.anim_stacks.into_iter().map(|s| s.element.name.to_string()).collect();
        let what = format!(
            "{} animations: {}; the first is played, --animation NAME plays another one, --animation all all of them",
            names.len(),
            names.join(", ")
        );
        remarks.push(Remark::new(path.display().to_string(), what));
    }
    remark_left_out(&parsed, &path.display().to_string(), &mut remarks);
    Ok((scene, remarks))
}

fn options(bytes: usize) -> ufbx::LoadOpts<'static> {
    let memory = || ufbx::AllocatorOpts {
        memory_limit: bytes.saturating_mul(MAX_MEMORY_PER_FILE_BYTE).saturating_add(MIN_MEMORY_LIMIT_BYTES),
        ..Default::default()
    };
    ufbx::LoadOpts {
        temp_allocator: memory(),
        result_allocator: memory(),
        ignore_embedded: true,
        load_external_files: false,
        node_depth_limit: MAX_DEPTH,
        index_error_handling: ufbx::IndexErrorHandling::AbortLoading,
        allow_missing_vertex_position: true,
        allow_empty_faces: true,
        file_format: ufbx::FileFormat::Fbx,
        geometry_transform_handling: ufbx::GeometryTransformHandling::HelperNodes,
        inherit_mode_handling: ufbx::InheritModeHandling::HelperNodes,
        space_conversion: ufbx::SpaceConversion::AdjustTransforms,
        target_axes: ufbx::axes_right_handed_y_up(),
        ..Default::default()
    }
}

fn load_error(path: &Path, error: &ufbx::Error) -> Error {
    let what = error.description.to_string();
    match error.type_ {
        ufbx::ErrorType::MemoryLimit | ufbx::ErrorType::AllocationLimit | ufbx::ErrorType::OutOfMemory => {
            Error::limit(
                path,
                "times its own size in memory, for an FBX file",
                MAX_MEMORY_PER_FILE_BYTE as u64 + 1,
                MAX_MEMORY_PER_FILE_BYTE as u64,
            )
        }
        ufbx::ErrorType::NodeDepthLimit => {
            Error::limit(path, "nodes below each other", u64::from(MAX_DEPTH) + 1, u64::from(MAX_DEPTH))
        }
        ufbx::ErrorType::UnsupportedVersion => {
            Error::unsupported(path, format!("FBX of this version: {what}"))
        }
        _ => Error::malformed(path, what, "FBX"),
    }
}

fn build(
    path: &Path,
    parsed: &ufbx::Scene,
    times: &FrameTimes<'_>,
    tree: &Arc<Tree>,
    remarks: &mut Vec<Remark>,
) -> Result<Scene, Error> {
    let mut scene =
        Scene { unit: unit(parsed, path, remarks), fps: Some(times.rate), format: "fbx", ..Scene::default() };
    let creator = parsed.metadata.creator.to_string();
    scene.metadata.push(("generator".into(), creator));
    let sampling = times.sampling();
    let mut bound = read_bindings(parsed, tree, remarks)?;
    let skins: Vec<(usize, Vec<usize>)> = bound.iter().map(|(n, own)| (*n, own.nodes())).collect();
    let rigs = Rigs::read(path, parsed, tree, &skins, remarks)?;
    let shown = rigs.scene_nodes(parsed, tree);
    let mut meshes = Meshes::new(path, tree.clone(), times, &rigs);
    let mut own: Vec<Option<usize>> = vec![None; tree.parents.len()];
    let mut taken: HashMap<(Option<usize>, String), usize> = HashMap::new();
    for (n, node) in parsed.nodes.into_iter().enumerate().skip(1).filter(|(n, _)| shown[*n]) {
        let parent = tree.parents[n].and_then(|p| own[p]);
        let name = unique(&mut taken, parent, &node.element.name);
        let at = scene.nodes.len();
        own[n] = Some(at);
        let mut out = tree.node(n, &name, parent, &scene, &sampling);
        if let Some(camera) = &node.camera {
            out.camera = camera::lens(camera, times);
            out.samples = out.samples.max(out.camera.as_ref().map_or(1, Channel::len));
            if out.camera.is_none() {
                let what = "its camera shows nothing with the numbers it has; left out";
                remarks.push(Remark::new(&out.path, what));
            }
        }
        scene.nodes.push(out);
        if let Some(mesh) = &node.mesh {
            let name = if mesh.element.name.is_empty() { &node.element.name } else { &mesh.element.name };
            let name = unique(&mut taken, Some(at), name);
            let bound = bound.remove(&n);
            let carried = bound.as_ref().map(|bound| bound.posed_to_node);
            let id = meshes.add_mesh(
                parsed,
                (n, mesh),
                bound,
                &format!("{}/{name}", scene.nodes[at].path),
                &mut scene,
                remarks,
            )?;
            let kind = if scene.meshes[id].is_subd { NodeKind::SubD } else { NodeKind::PolyMesh };
            let mut below = meshreel_scene::Node::new(format!("{}/{name}", scene.nodes[at].path), kind);
            (below.parent, below.mesh, below.name) = (Some(at), Some(id), name);
            below.samples = scene.meshes[id].positions.len();
            let carried = carried.filter(|_| scene.meshes[id].skin.is_some());
            below.transform = match (carried, tree.inverse_axis_rotation(n)) {
                // Bones place the mesh in world space.
                (Some(None), _) => Some((DMat4::IDENTITY, Some(Channel::constant(vec![false])))),
                (Some(Some(unbound)), back) => Some((back.unwrap_or(DMat4::IDENTITY) * unbound, None)),
                (None, back) => back.map(|back| (back, None)),
            }
            .map(|(matrix, inherits)| Transform { local: Channel::constant(vec![matrix.into()]), inherits });
            scene.nodes.push(below);
        }
    }
    scene.files = meshes.caches.files;
    (scene.skeletons, scene.clips) = (rigs.skeletons, rigs.clips);
    scene.ranges = times.ranges();
    scene.counts = scene.count()?;
    (scene.counts.cameras, scene.counts.lights) = (parsed.cameras.len(), parsed.lights.len());
    Ok(scene)
}

/// Reads bones and influences of all meshes with a skin, by node.
fn read_bindings(
    parsed: &ufbx::Scene,
    tree: &Tree,
    remarks: &mut Vec<Remark>,
) -> Result<BTreeMap<usize, BoneBinding>, Error> {
    let mut out = BTreeMap::new();
    let by = Program::from_scene(parsed);
    for (n, node) in parsed.nodes.into_iter().enumerate() {
        let Some(mesh) = &node.mesh else { continue };
        if let Some(bound) = BoneBinding::read((n, mesh), tree, by, &node.element.name, remarks)? {
            out.insert(n, bound);
        }
    }
    Ok(out)
}

/// Returns a name without slashes that no other child of the same parent has.
fn unique(taken: &mut HashMap<(Option<usize>, String), usize>, parent: Option<usize>, name: &str) -> String {
    let clean: String = name.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
    let clean = if clean.is_empty() { "node".into() } else { clean };
    let mut own = clean.clone();
    loop {
        let number = taken.entry((parent, own.clone())).or_insert(0);
        *number += 1;
        if *number == 1 {
            return own;
        }
        own = format!("{clean}_{number}");
    }
}

/// Returns the file's length unit, if it is one of the named ones.
fn unit(parsed: &ufbx::Scene, path: &Path, remarks: &mut Vec<Remark>) -> Option<LengthUnit> {
    let metres = parsed.settings.unit_meters;
    let units = [LengthUnit::Metre, LengthUnit::Centimetre, LengthUnit::Millimetre, LengthUnit::Inch];
    let unit = units.into_iter().find(|unit| (unit.metres() - metres).abs() < 1e-6 * metres);
    if unit.is_none() {
        let what = format!("its length unit is {metres} m, which has no name here: say --unit");
        remarks.push(Remark::new(path.display().to_string(), what));
    }
    unit
}

/// Adds remarks on content that is left out.
fn remark_left_out(parsed: &ufbx::Scene, file: &str, remarks: &mut Vec<Remark>) {
    let curves = parsed.line_curves.len() + parsed.nurbs_curves.len();
    let surfaces = parsed.nurbs_surfaces.len() + parsed.procedural_geometries.len();
    let left = [
        (
            parsed.lights.len(),
            "lights: their transforms are kept as nodes, colours and intensities are left out",
        ),
        (curves, "curves: left out"),
        (surfaces, "NURBS and procedural surfaces: left out"),
        (parsed.constraints.len(), "constraints: left out; bake them into keys"),
        (parsed.lod_groups.len(), "groups of levels of detail: all levels are shown"),
        (
            parsed
                .display_layers
                .into_iter()
                .filter(|layer| !layer.visible && !layer.nodes.is_empty())
                .count(),
            "display layers that are hidden: what is on them is shown; hide its nodes, or --exclude them",
        ),
    ];
    for (count, what) in left.iter().filter(|(count, _)| *count > 0) {
        remarks.push(Remark::new(file, format!("{count} {what}")));
    }
    for warning in &parsed.metadata.warnings {
        remarks.push(Remark::new(file, warning.description.to_string()));
    }
}
