//! glTF 2.0, text and binary: nodes, meshes with morph targets and skins, animations.
//!
//! * Nodes are transforms; a mesh is a child of its node under its own name, once for each of its instances
//!   (EXT_mesh_gpu_instancing). Nodes that are joints and carry nothing are in skeletons only.
//! * Hidden nodes (KHR_node_visibility) hide all below them.
//! * Skins become skeletons; each animation becomes a clip of each skeleton that it moves. In a file without
//!   meshes and skins, all nodes are one skeleton if something other than cameras and their parents moves.
//! * A skinned mesh is in world space, as the format defines it: its points are blended at the uniform times
//!   of the animation.
//! * Meshes and nodes follow the animation that was asked for, otherwise the first that moves something, and
//!   nodes that it does not move follow the first that moves them; or all animations play one after the
//!   other, as named ranges. Clips are made of all animations.
//! * If a LINEAR rotation turns far from one key to the next, samples are added between them, since the keys
//!   alone do not tell the direction.
//! * Node extras `layer`, `bias` and `shell` apply to a joint; animation extras `events` become markers,
//!   `scalars` scalar tracks. Skins with the extra `clip`: false have no clips: their joints serve a mesh
//!   only.

mod accessor;
mod animation;
mod builder;
mod camera;
mod deform;
mod document;
mod instances;
mod mesh;
mod meshopt;
mod pointer;
mod primitives;
mod rig;
mod skeleton;
mod takes;
mod tree;

use super::ReadOptions;
use animation::Animation;
use builder::SceneBuilder;
use document::Document;
use meshreel_scene::{Error, Remark, Scene};
use rig::Rig;
use skeleton::Skeletons;
use std::path::Path;
use std::sync::Arc;
use takes::Takes;
use tree::Tree;

/// Opens a `.gltf` or `.glb` file.
pub fn open(path: &Path, options: &ReadOptions) -> Result<(Scene, Vec<Remark>), Error> {
    let fps = options.source_fps;
    if !(fps.is_finite() && fps > 0.0) {
        return Err(Error::misuse(format!("{fps} frames per second: must be above 0")));
    }
    let document = Arc::new(Document::open(path)?);
    let mut remarks = Vec::new();
    let mut tree = Tree::new(&document, &mut remarks)?;
    let root = &document.root;
    let file = path.display().to_string();
    check_references(&document)?;
    let targets =
        |mesh: usize| root.meshes[mesh].primitives.first().map_or(0, |primitive| primitive.targets.len());
    let animations = animation::read(&document, targets, &mut remarks)?;
    let played = choose_animation(&document, &animations, options.animation.as_deref())?;
    let chosen = scene_roots(&document, &mut tree, &mut remarks)?;
    let all = is_skeleton(&document, &tree, &animations);
    let skeletons = Skeletons::new(&document, &tree, &animations, all, &mut remarks)?;
    let (clips, of_clip) = skeletons.clips(&document, &tree, &animations, fps, &mut remarks)?;
    let (takes, disputed) = takes(&animations, played, &skeletons, fps, &document)?;
    let ranges = match played {
        AnimationChoice::All => takes.ranges(),
        _ => Vec::new(),
    };
    let tree = Arc::new(tree);
    let rig = Arc::new(Rig { tree: tree.clone(), takes });
    let alone: Vec<Arc<Rig>> = (of_clip.iter())
        .map(|&a| Arc::new(Rig { tree: tree.clone(), takes: Takes::any_time(&animations[a]) }))
        .collect();
    let drivers = clips.iter().map(|clip| clip.skeleton).zip(alone).collect();
    let mut builder = SceneBuilder::new(&document, &rig, &skeletons, drivers, remarks);
    builder.scene = Scene { fps: rig.takes.fps(), ranges, files: document.buffer_files(), ..builder.scene };
    builder.nodes(&chosen)?;
    let (mut scene, mut remarks, sampled) = (builder.scene, builder.remarks, builder.sampled);
    let moved = sampled || scene.nodes.iter().any(|n| n.samples > 1);
    if let (Some(fps), true) = (rig.takes.guessed(), sampled) {
        let what = format!("the keys are not at even times; meshes were sampled at {fps} frames per second");
        remarks.push(Remark::new(&file, what));
    }
    remarks.extend(rig.takes.idle_remark().map(|what| Remark::new(&file, what)));
    if let (true, true, AnimationChoice::First(first)) = (moved, disputed, played) {
        remarks.push(Remark::new(&file, disputed_animations(&animations, first)));
    }
    remark_left_out(&document, &file, &mut remarks);
    let asset = &root.asset;
    for (key, value) in [("generator", &asset.generator), ("copyright", &asset.copyright)] {
        if let Some(value) = value {
            scene.metadata.push((key.into(), value.clone()));
        }
    }
    // Comparisons need to know the precision of the file's numbers.
    if root.extensions_used.iter().any(|e| e == "KHR_mesh_quantization") {
        scene.metadata.push(("extensions".into(), root.extensions_used.join(" ")));
    }
    scene.skeletons = skeletons.list;
    scene.clips = clips;
    scene.counts = scene.count()?;
    scene.counts.cameras = root.cameras.len();
    Ok((scene, remarks))
}

/// `true` if a file without meshes and skins is a skeleton: something other than cameras and their parents
/// moves.
fn is_skeleton(document: &Document, tree: &Tree, animations: &[Animation]) -> bool {
    let root = &document.root;
    if !root.skins.is_empty() || root.nodes.iter().any(|node| node.mesh.is_some()) {
        return false;
    }
    // Cameras and the nodes above them.
    let mut films: Vec<bool> = root.nodes.iter().map(|node| node.camera.is_some()).collect();
    for &node in tree.order.iter().rev() {
        if let (true, Some(parent)) = (films[node], tree.parents[node]) {
            films[parent] = true;
        }
    }
    animations.iter().any(|animation| animation.nodes.keys().any(|node| !films[*node]))
}

/// Checks that the meshes and skins of nodes exist.
fn check_references(document: &Document) -> Result<(), Error> {
    let root = &document.root;
    for (n, node) in root.nodes.iter().enumerate() {
        let missing = |what: &str, number: Option<usize>, there: usize| match number {
            Some(i) if i >= there => {
                Err(document.malformed(format!("{what} {i} is not there"), format!("node {n}")))
            }
            _ => Ok(()),
        };
        missing("mesh", node.mesh, root.meshes.len())?;
        missing("skin", node.skin, root.skins.len())?;
        missing("camera", node.camera, root.cameras.len())?;
    }
    Ok(())
}

/// Returns a remark that several animations move a node, and which one it follows.
fn disputed_animations(animations: &[Animation], first: usize) -> String {
    format!(
        "{} animations: {}; what several of them move follows '{}' (--animation NAME or number takes another, --animation all has them one after the other)",
        animations.len(),
        listed(animations),
        animations[first].name
    )
}

/// Adds remarks on lights, extensions and extras that are left out.
fn remark_left_out(document: &Document, file: &str, remarks: &mut Vec<Remark>) {
    let root = &document.root;
    if root.extensions_used.iter().any(|e| e == "KHR_lights_punctual") {
        let what = "lights: their transforms are kept as nodes, colours and intensities are left out";
        remarks.push(Remark::new(file, what));
    }
    for extension in root.extensions_used.iter().filter(|e| !document::is_known(e)) {
        let own = |node: &usize| root.nodes[*node].extensions.others.contains_key(&**extension);
        let nodes: Vec<usize> = (0..root.nodes.len()).filter(own).collect();
        let shown = document::abbreviated(extension);
        let what = match &nodes[..] {
            [] => format!("what extension {shown} adds was left out"),
            [first, ..] => format!(
                "extension {shown}: what it adds to {} nodes ('{}'{}) was left out",
                nodes.len(),
                instances::node_name(document, *first),
                if nodes.len() > 1 { " …" } else { "" }
            ),
        };
        remarks.push(Remark::new(file, what));
    }
    remarks.extend(extras(document));
}

/// Returns remarks on extras that are left out, by the objects they belong to.
fn extras(document: &Document) -> Vec<Remark> {
    /// The largest number of keys that are named.
    const MAX_SHOWN_KEYS: usize = 12;
    let root = &document.root;
    let of = |whose: &str, all: &mut dyn Iterator<Item = &serde_json::Value>, known: &[&str]| {
        let (mut keys, mut count) = (std::collections::BTreeSet::new(), 0usize);
        for extras in all {
            let unknown: Vec<&str> = match extras {
                serde_json::Value::Null => Vec::new(),
                serde_json::Value::Object(map) => {
                    let keys = map.keys().map(String::as_str);
                    keys.filter(|key| !known.contains(key)).collect()
                }
                _ => vec!["(no name)"],
            };
            count += usize::from(!unknown.is_empty());
            keys.extend(unknown);
        }
        let more = match keys.len().saturating_sub(MAX_SHOWN_KEYS) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let shown: Vec<String> =
            keys.iter().take(MAX_SHOWN_KEYS).map(|key| document::abbreviated(key)).collect();
        let what = format!("extras of {count} {whose} are not kept: {}{more}; left out", shown.join(", "));
        (count > 0).then(|| Remark::new(document.path.display().to_string(), what))
    };
    let nodes = of("nodes", &mut root.nodes.iter().map(|n| &n.extras), &["layer", "bias", "shell"]);
    let meshes = of("meshes", &mut root.meshes.iter().map(|m| &m.extras), &["targetNames"]);
    let skins = of("skins", &mut root.skins.iter().map(|s| &s.extras), &["clip"]);
    let animations = of("animations", &mut root.animations.iter().map(|a| &a.extras), &["events", "scalars"]);
    [nodes, meshes, skins, animations].into_iter().flatten().collect()
}

/// Returns the root nodes of the scene that is shown.
fn scene_roots(document: &Document, tree: &mut Tree, remarks: &mut Vec<Remark>) -> Result<Vec<usize>, Error> {
    let root = &document.root;
    let Some(scene) = root.scenes.get(root.scene.unwrap_or(0)) else {
        if root.scene.is_some() {
            return Err(document.malformed("the scene is not there", "the scenes"));
        }
        let is_root = |node: &usize| tree.parents[*node].is_none();
        return Ok((0..root.nodes.len()).filter(is_root).collect());
    };
    let mut listed = vec![false; root.nodes.len()];
    let mut roots = Vec::new();
    for &node in &scene.nodes {
        let Some(listed) = listed.get_mut(node) else {
            return Err(document.malformed(format!("node {node} is not there"), "the scene"));
        };
        if !std::mem::replace(listed, true) {
            roots.push(node);
        }
    }
    // Exporters also list nodes that are children of others. A node whose parent is not in the scene becomes
    // a root, as in other readers; one whose parent is in the scene is there already.
    let mut below = vec![false; listed.len()];
    for &node in &tree.order {
        below[node] = tree.parents[node].is_some_and(|parent| listed[parent] || below[parent]);
    }
    roots.retain(|&node| !below[node]);
    let mut hang = roots.len() < scene.nodes.len();
    for &node in &roots {
        hang |= tree.parents[node].is_some();
        tree.detach(node);
    }
    if hang {
        let what = "nodes of the scene hang below others, or are there twice: each is shown once, and without parents that are not in the scene";
        remarks.push(Remark::new(document.path.display().to_string(), what));
    }
    Ok(roots)
}

/// The animations that meshes and nodes follow.
#[derive(Clone, Copy)]
enum AnimationChoice {
    /// This animation; nodes that it does not move follow the first that moves them.
    First(usize),
    /// This animation alone.
    Only(usize),
    /// All animations, one after the other.
    All,
}

/// Returns the animation that is `wanted` by name or number, otherwise the first in which anything changes:
/// many files begin with a pose.
fn choose_animation(
    document: &Document,
    animations: &[Animation],
    wanted: Option<&str>,
) -> Result<AnimationChoice, Error> {
    let Some(wanted) = wanted else {
        let moving = animations.iter().position(Animation::moves);
        return Ok(AnimationChoice::First(moving.unwrap_or(0)));
    };
    if wanted == ReadOptions::ALL_ANIMATIONS {
        return Ok(AnimationChoice::All);
    }
    let named = animations.iter().position(|a| a.name == wanted);
    let number = || wanted.parse().ok().filter(|n| *n < animations.len());
    named.or_else(number).map(AnimationChoice::Only).ok_or_else(|| {
        let there = match animations {
            [] => "it has none".into(),
            _ => format!("there are {}", listed(animations)),
        };
        let path = document.path.display();
        Error::misuse(format!("{path}: no animation is called '{wanted}': {there}"))
    })
}

/// Lists numbers and names of the animations; of many only the first ones.
fn listed(animations: &[Animation]) -> String {
    const MAX_LISTED: usize = 24;
    let one = |(a, animation): (usize, &Animation)| format!("{a} '{}'", animation.name);
    let mut list: Vec<String> = animations.iter().enumerate().take(MAX_LISTED).map(one).collect();
    if animations.len() > MAX_LISTED {
        list.push(format!("and {} more", animations.len() - MAX_LISTED));
    }
    list.join(", ")
}

/// Returns the animations that move meshes and nodes; and whether several animations move one of them.
fn takes(
    animations: &[Animation],
    played: AnimationChoice,
    skeletons: &Skeletons,
    fps: f64,
    document: &Arc<Document>,
) -> Result<(Takes, bool), Error> {
    if let AnimationChoice::All = played
        && let Some(takes) = Takes::sequence(animations, fps, document)?
    {
        return Ok((takes, false));
    }
    let (take, disputed) = merge_animations(animations, played, skeletons);
    Ok((Takes::single(take, fps, document)?, disputed))
}

/// Merges the animations that move each skeleton and each other node; the flag is `true` if another animation
/// also moves one of them.
fn merge_animations(
    animations: &[Animation],
    played: AnimationChoice,
    skeletons: &Skeletons,
) -> (Animation, bool) {
    let mut disputed = false;
    let mut out = Animation::default();
    let mut of_skeleton: Vec<Option<usize>> = vec![None; skeletons.nodes.len()];
    let (first, others) = match played {
        AnimationChoice::First(first) => (first, animations.len()),
        AnimationChoice::Only(only) => (only, 0),
        AnimationChoice::All => (0, 0),
    };
    let order = [first].into_iter().chain((0..others).filter(|a| *a != first));
    for (a, animation) in order.filter_map(|a| Some((a, animations.get(a)?))) {
        for (&node, curves) in &animation.nodes {
            if let Some((s, _)) = skeletons.node_joints[node]
                && *of_skeleton[s].get_or_insert(a) != a
            {
                disputed = true;
                continue;
            }
            disputed |= out.nodes.contains_key(&node);
            out.nodes.entry(node).or_insert_with(|| curves.clone());
        }
        for (&camera, parts) in &animation.cameras {
            disputed |= out.cameras.contains_key(&camera);
            out.cameras.entry(camera).or_insert_with(|| parts.clone());
        }
    }
    (out, disputed)
}
