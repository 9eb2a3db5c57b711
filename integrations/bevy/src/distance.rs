//! What is shown of distant players: coarser levels of detail, fewer frames, or something else.

use crate::hierarchy::{Entities, ReelCopy, ReelInstance, ShownMesh, card_meshes};
use crate::runtime::ReelRuntime;
use bevy::camera::primitives::Aabb;
use bevy::camera::{Camera, Projection};
use bevy::ecs::system::SystemParam;
use bevy::prelude::*;
use meshreel::policy::{
    DebugSwitches, Decision, DrawChoice, InstanceState, LodDistances, Policy, Projection as Lens, StandIns,
};

/// What is shown of a player by its distance from the nearest camera. Without it, levels of detail are chosen
/// by [`ReelPolicy::DEFAULT_PIXELS`], and nothing else changes.
#[derive(Component, Clone, Debug)]
pub struct ReelPolicy {
    /// The largest visible error of a level of detail, in pixels. Files have levels if they were compiled
    /// with `--lod`.
    pub lod_pixels: f32,
    /// Distances in metres: beyond [`Policy::stand_in_beyond`] the stand-in is shown and nothing is streamed,
    /// beyond [`Policy::half_rate_beyond`] and [`Policy::keys_beyond`] fewer frames are read and decoded.
    pub policy: Policy,
    /// An entity that is shown instead when the player and all its copies are too far, or nothing is decoded
    /// yet.
    pub stand_in: Option<Entity>,
    /// The decision of the frame before.
    decided: Decision,
}

impl ReelPolicy {
    /// The largest visible error of a level of detail by default.
    pub const DEFAULT_PIXELS: f32 = 1.0;

    /// Creates a policy of distances in metres. Its stand-in is an entity.
    pub fn new(policy: Policy) -> ReelPolicy {
        let policy = policy.with_stand_ins(StandIns::default());
        ReelPolicy {
            lod_pixels: ReelPolicy::DEFAULT_PIXELS,
            policy,
            stand_in: None,
            decided: Decision::default(),
        }
    }

    /// Shows an entity instead beyond [`Policy::stand_in_beyond`].
    pub fn with_stand_in(mut self, entity: Entity) -> ReelPolicy {
        self.stand_in = Some(entity);
        self.policy = self.policy.with_stand_ins(StandIns::default().with_default(0));
        self
    }

    /// Sets [`ReelPolicy::lod_pixels`].
    pub fn with_lod_pixels(self, lod_pixels: f32) -> ReelPolicy {
        ReelPolicy { lod_pixels, ..self }
    }
}

/// The cameras that look at players.
#[derive(SystemParam)]
pub(crate) struct Eyes<'w, 's> {
    cameras: Query<'w, 's, (&'static Camera, &'static Projection, &'static GlobalTransform)>,
}

/// A camera: where it is, and the pixels of a length of one metre at a distance of one metre; for one that
/// shows everything in the same size, at any distance.
struct Eye {
    at: Vec3,
    pixels: f32,
    has_perspective: bool,
}

impl Eyes<'_, '_> {
    fn all(&self) -> Vec<Eye> {
        let eye = |(camera, projection, at): (&Camera, &Projection, &GlobalTransform)| {
            let height = camera.physical_viewport_size().map_or(1080.0, |size| size.y as f32);
            let (pixels, has_perspective) = match projection {
                Projection::Perspective(lens) => (Lens::new(lens.fov, height).pixels_at_one(), true),
                Projection::Orthographic(lens) => (height / lens.area.height().max(1e-6), false),
                Projection::Custom(_) => return None,
            };
            camera.is_active.then_some(Eye { at: at.translation(), pixels, has_perspective })
        };
        self.cameras.iter().filter_map(eye).collect()
    }
}

/// A lens of one pixel for a length of 1 at the distance 1: distances in its scale are metres per pixel.
const ONE_PIXEL: Lens = Lens::new(std::f32::consts::FRAC_PI_2, 2.0);

/// The bounds of surfaces.
type Bounds<'w, 's> = Query<'w, 's, (&'static GlobalTransform, &'static Aabb)>;

/// Returns the distance from an eye to bounds, at least 0.
fn distance(eye: &Eye, (place, bounds): (&GlobalTransform, &Aabb)) -> f32 {
    let radius = bounds.half_extents.length() * largest_scale(place);
    (place.transform_point(bounds.center.into()).distance(eye.at) - radius).max(0.0)
}

fn largest_scale(place: &GlobalTransform) -> f32 {
    place.scale().abs().max_element()
}

/// Chooses the LOD level of each surface.
pub(crate) fn choose_levels(
    eyes: Eyes,
    mut players: Query<(&mut ReelInstance, Option<&ReelPolicy>)>,
    mut copies: Query<&mut ReelCopy>,
    bounds: Bounds,
) {
    let eyes = eyes.all();
    if eyes.is_empty() {
        return;
    }
    for (instance, policy) in &mut players {
        let pixels = policy.map_or(ReelPolicy::DEFAULT_PIXELS, |policy| policy.lod_pixels);
        let instance = instance.into_inner();
        for shown in instance.meshes.iter_mut().filter(|shown| shown.lod_levels.len() > 1) {
            shown.levels_before = std::mem::take(&mut shown.levels_in_use);
        }
        choose(&eyes, pixels, &mut instance.entities, &mut instance.meshes, &bounds);
    }
    for mut copy in &mut copies {
        let player = copy.player();
        if let Ok((instance, policy)) = players.get_mut(player)
            && copy.copied.is_some()
            && copy.copied == instance.entities.root
        {
            let pixels = policy.map_or(ReelPolicy::DEFAULT_PIXELS, |policy| policy.lod_pixels);
            choose(&eyes, pixels, &mut copy.entities, &mut instance.into_inner().meshes, &bounds);
        }
    }
    for (mut instance, _) in &mut players {
        if instance.meshes.iter().any(|shown| shown.levels_in_use != shown.levels_before) {
            instance.on_card = card_meshes(&instance.meshes);
        }
    }
}

/// Chooses the levels of the surfaces of a file.
fn choose(eyes: &[Eye], pixels: f32, entities: &mut Entities, meshes: &mut [ShownMesh], bounds: &Bounds) {
    for surface in &mut entities.surfaces {
        let shown = &mut meshes[surface.mesh];
        if shown.lod_levels.len() < 2 {
            continue;
        }
        if let Ok((place, own)) = bounds.get(surface.entity) {
            let per_pixel = |eye: &Eye| match eye.has_perspective {
                true => distance(eye, (place, own)) / eye.pixels,
                false => 1.0 / eye.pixels,
            };
            let nearest = eyes.iter().map(per_pixel).fold(f32::INFINITY, f32::min);
            let ends = LodDistances::from_errors(&shown.errors, largest_scale(place), &ONE_PIXEL, pixels);
            surface.level = ends.level(nearest, surface.level).min(shown.lod_levels.len() - 1);
        }
        shown.levels_in_use |= 1 << surface.level;
    }
}

/// Decides by distance what is shown and streamed of players with a policy.
pub(crate) fn apply_policies(
    eyes: Eyes,
    mut runtime: ResMut<ReelRuntime>,
    mut players: Query<(Entity, &ReelInstance, &mut ReelPolicy)>,
    copies: Query<&ReelCopy>,
    bounds: Bounds,
    mut visibilities: Query<&mut Visibility>,
) {
    let eyes = eyes.all();
    for (entity, instance, mut policy) in &mut players {
        let Some(clock) = runtime.player.clock(instance.id) else { continue };
        let own = copies.iter().filter(|copy| copy.player() == entity).map(|copy| &copy.entities);
        let surfaces = own.chain([&instance.entities]).flat_map(|entities| &entities.surfaces);
        let placed = surfaces.filter_map(|surface| bounds.get(surface.entity).ok());
        let distances = placed.flat_map(|own| eyes.iter().map(move |eye| distance(eye, own)));
        let nearest = distances.fold(f32::INFINITY, f32::min);
        let is_spawned = instance.entities.root.is_some();
        // Until it has entities, nobody knows how far it is.
        let nearest = if is_spawned && !eyes.is_empty() { nearest } else { 0.0 };
        let state = InstanceState::new(nearest).with_ready(is_spawned);
        let was = policy.decided;
        let now = policy.policy.decide(&state, clock, &was, DebugSwitches::ON);
        let commands: Vec<_> = now.commands(&was, clock).collect();
        policy.bypass_change_detection().decided = now;
        commands.into_iter().for_each(|command| runtime.player.command(instance.id, command));
        let stands_in = matches!(now.draw, DrawChoice::StandIn(_));
        if !now.stream {
            runtime.player.set_visible(instance.id, false);
        }
        let Some(stand_in) = policy.stand_in else { continue };
        let roots = [(instance.entities.root, !stands_in), (Some(stand_in), stands_in)];
        for (root, is_shown) in roots {
            if let Some(mut own) = root.and_then(|root| visibilities.get_mut(root).ok()) {
                own.set_if_neq(if is_shown { Visibility::Inherited } else { Visibility::Hidden });
            }
        }
    }
}
