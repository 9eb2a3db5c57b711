//! Computes vertices on the graphics card: decoded frames are uploaded as integers, and compute passes write
//! positions, normals and tangents into the buffers from which Bevy draws.
//!
//! ```text
//! main world     CardFrames          what instances show; taken by the render world each frame
//! render world   CardFiles           each file on the card, with an output for each instance
//! before cameras compute_vertices    uploads, passes of meshreel-gpu, placing
//! ```

mod device;
mod place;

use bevy::asset::AssetId;
use bevy::core_pipeline::schedule::camera_driver;
use bevy::mesh::Mesh;
use bevy::platform::collections::HashMap;
use bevy::prelude::*;
use bevy::render::mesh::RenderMesh;
use bevy::render::mesh::allocator::{MeshAllocator, MeshAllocatorSettings};
use bevy::render::render_asset::RenderAssets;
use bevy::render::renderer::{RenderContext, RenderDevice, RenderGraph, RenderQueue};
use bevy::render::{ExtractSchedule, MainWorld, RenderApp};
use device::{Access, Shaders, Wgpu};
use meshreel::raw::record::Semantic;
use meshreel::{Error, FileId, InstanceId, MeshFrame, ShownFrames};
use meshreel_gpu::card::{Budget, CardOutput, CardReel, FrameSource};
use place::{Placer, computed_layout};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// A part of a mesh, and the mesh of Bevy that shows it.
#[derive(Debug, Clone)]
pub(crate) struct CardMesh {
    /// The number of the mesh in its file.
    pub mesh: usize,
    pub vertices: Range<u32>,
    pub target: AssetId<Mesh>,
}

/// The frames that an instance shows.
#[derive(Debug)]
pub(crate) struct CardFrame {
    pub instance: InstanceId,
    pub frames: ShownFrames,
    pub meshes: Arc<[CardMesh]>,
}

/// The frames of all instances whose vertices are computed on the card, and the files for which that failed.
#[derive(Resource, Debug, Default)]
pub(crate) struct CardFrames {
    pub frames: Vec<CardFrame>,
    pub failed: Arc<Mutex<Vec<(FileId, String)>>>,
}

impl CardFrames {
    /// Returns the files that failed since the last call, with the reason.
    pub fn take_failed(&self) -> Vec<(FileId, String)> {
        std::mem::take(&mut *self.failed.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// `true` if the card can compute all of a mesh that changes.
pub(crate) fn can_compute(mesh: &MeshFrame<'_>) -> bool {
    let record = mesh.record();
    let is_direction = |semantic| matches!(semantic, Semantic::Normal | Semantic::QTangent);
    let computed = |semantic| semantic == Semantic::Position || is_direction(semantic);
    !mesh.is_fluid()
        && record.particles.is_none()
        && record.streams.iter().any(|stream| is_direction(stream.semantic))
        && record.streams.iter().all(|stream| computed(stream.semantic) || !stream.animated)
}

/// Prepares the render world. Returns `false` if there is none, or its device has no compute shaders.
pub(crate) fn prepare(app: &mut App) -> bool {
    let frames = CardFrames::default();
    let failed = frames.failed.clone();
    let Some(render) = app.get_sub_app_mut(RenderApp) else { return false };
    let limits = render.world().get_resource::<RenderDevice>().map(|device| device.limits());
    if limits.is_none_or(|limits| limits.max_compute_workgroups_per_dimension == 0) {
        return false;
    }
    let Some(mut settings) = render.world_mut().get_resource_mut::<MeshAllocatorSettings>() else {
        return false;
    };
    settings.extra_buffer_usages |= wgpu::BufferUsages::STORAGE;
    render
        .insert_resource(CardFrames { frames: Vec::new(), failed })
        .init_resource::<CardFiles>()
        .add_systems(ExtractSchedule, take_frames)
        .add_systems(RenderGraph, compute_vertices.before(camera_driver));
    app.insert_resource(frames);
    true
}

/// A file on the card.
struct CardFile {
    tables: meshreel::Reel,
    reel: CardReel<Wgpu>,
    outputs: HashMap<InstanceId, CardOutput<Wgpu>>,
}

/// All files on the card.
#[derive(Resource, Default)]
struct CardFiles {
    shaders: Shaders,
    placer: Option<Placer>,
    files: HashMap<FileId, CardFile>,
}

fn take_frames(mut main: ResMut<MainWorld>, mut own: ResMut<CardFrames>) {
    own.frames.clear();
    if let Some(mut theirs) = main.get_resource_mut::<CardFrames>() {
        std::mem::swap(&mut own.frames, &mut theirs.frames);
    }
}

fn compute_vertices(
    mut context: RenderContext,
    mut card: ResMut<CardFiles>,
    mut shown: ResMut<CardFrames>,
    (device, queue): (Res<RenderDevice>, Res<RenderQueue>),
    (allocator, meshes): (Res<MeshAllocator>, Res<RenderAssets<RenderMesh>>),
) {
    let CardFiles { shaders, placer, files } = &mut *card;
    let shows = |file: &FileId| shown.frames.iter().any(|frame| frame.frames.file() == *file);
    files.retain(|file, _| shows(file));
    let (device, encoder) = (device.wgpu_device(), context.command_encoder());
    let mut access = Access { device, queue: &queue, shaders, encoder };
    let mut ids: Vec<FileId> = shown.frames.iter().map(|frame| frame.frames.file()).collect();
    ids.sort();
    ids.dedup();
    for id in ids {
        let of_file: Vec<&CardFrame> =
            shown.frames.iter().filter(|frame| frame.frames.file() == id).collect();
        if let Err(error) = update_file(files, id, &of_file, &mut access) {
            files.remove(&id);
            shown.failed.lock().unwrap_or_else(PoisonError::into_inner).push((id, error.to_string()));
        }
    }
    let placer = placer.get_or_insert_with(|| Placer::new(device));
    for frame in &shown.frames {
        let file = files.get(&frame.frames.file());
        let Some(output) = file.and_then(|file| file.outputs.get(&frame.instance)) else { continue };
        for CardMesh { mesh, vertices, target } in frame.meshes.iter().filter(|m| output.is_shown(m.mesh)) {
            let to = allocator.mesh_vertex_slice(target).zip(meshes.get(*target));
            if let Some((slice, built)) = to {
                placer.add((output.vertices_of(*mesh), vertices), (&slice, built));
            }
        }
    }
    placer.record(device, &queue, access.encoder);
    // Frames are lent from the player's heap: no longer than necessary.
    shown.frames.clear();
}

/// Uploads what is new of a file, and records the passes of all its outputs.
fn update_file(
    files: &mut HashMap<FileId, CardFile>,
    id: FileId,
    shown: &[&CardFrame],
    access: &mut Access<'_>,
) -> Result<(), Error> {
    let Some(first) = shown.first() else { return Ok(()) };
    let tables = first.frames.reel();
    // A file that was replaced has the same id.
    files.retain(|of, file| *of != id || std::ptr::eq(file.tables.description(), tables.description()));
    if !files.contains_key(&id) {
        let reel = CardReel::create(access, &first.frames, computed_layout(), Budget::default())?;
        files.insert(id, CardFile { tables: tables.clone(), reel, outputs: HashMap::default() });
    }
    let Some(CardFile { reel, outputs, .. }) = files.get_mut(&id) else { return Ok(()) };
    outputs.retain(|instance, _| shown.iter().any(|frame| frame.instance == *instance));
    for frame in shown {
        outputs.entry(frame.instance).or_insert_with(|| reel.output_on(access));
    }
    let frames: HashMap<InstanceId, &ShownFrames> =
        shown.iter().map(|frame| (frame.instance, &frame.frames)).collect();
    let mut all: Vec<(&mut CardOutput<Wgpu>, &dyn FrameSource)> =
        outputs.iter_mut().map(|(instance, output)| (output, frames[instance] as &dyn FrameSource)).collect();
    reel.update_with(access, &mut all)?;
    Ok(())
}
