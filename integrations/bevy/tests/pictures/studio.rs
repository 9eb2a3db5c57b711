//! An app that draws into an image.

use bevy::asset::AssetPlugin;
use bevy::camera::{OrthographicProjection, RenderTarget, ScalingMode};
use bevy::image::Image as BevyImage;
use bevy::prelude::*;
use bevy::render::RenderPlugin;
use bevy::render::render_resource::{TextureFormat, TextureUsages};
use bevy::render::renderer::RenderAdapterInfo;
use bevy::render::view::screenshot::{Screenshot, ScreenshotCaptured};
use bevy::time::TimeUpdateStrategy;
use bevy::window::{ExitCondition, WindowPlugin};
use bevy::winit::WinitPlugin;
use bevy_meshreel::meshreel::{self, Options};
use bevy_meshreel::{
    DefaultReelMaterials, MeshreelPlugin, ReelMaterials, ReelPlayer, ReelReady, ReelSurface,
};
use image::RgbaImage;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The width and height of a picture.
pub const SIZE: u32 = 320;
/// The frames after which something that should happen counts as missing.
const PATIENCE: usize = 2000;

pub struct Studio {
    app: App,
    target: Handle<BevyImage>,
}

#[derive(Resource, Default)]
struct Ready(Vec<Entity>);

#[derive(Resource, Default)]
struct Taken(Option<BevyImage>);

/// The folder of the repository's files.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata");

/// Returns the path of a golden file, or of one of the conformance set, below the folder of files.
fn below(name: &str) -> String {
    let golden = format!("golden/v0/{name}");
    if Path::new(FOLDER).join(&golden).exists() { golden } else { format!("conformance/{name}") }
}

/// Returns the path of a golden file, or of one of the conformance set.
pub fn path(name: &str) -> PathBuf {
    Path::new(FOLDER).join(below(name))
}

impl Studio {
    /// Creates an app whose camera sees black, and players in plain white without light. `card`: whether
    /// vertices are computed there. `None` if this machine cannot draw.
    pub fn new(card: bool) -> Option<Studio> {
        let mut app = App::new();
        let window =
            WindowPlugin { primary_window: None, exit_condition: ExitCondition::DontExit, ..default() };
        let drawing = RenderPlugin { synchronous_pipeline_compilation: true, ..default() };
        let assets = AssetPlugin { file_path: FOLDER.into(), ..default() };
        app.add_plugins(DefaultPlugins.set(window).set(drawing).set(assets).disable::<WinitPlugin>())
            .add_plugins(MeshreelPlugin {
                options: Options::default().with_threads(0).with_read_threads(0),
                card,
            })
            .insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_millis(20)))
            .insert_resource(ClearColor(Color::BLACK))
            .init_resource::<Ready>()
            .init_resource::<Taken>();
        app.add_observer(|ready: On<ReelReady>, mut list: ResMut<Ready>| list.0.push(ready.entity));
        while app.plugins_state() == bevy::app::PluginsState::Adding {
            bevy::tasks::tick_global_task_pools_on_main_thread();
        }
        app.finish();
        app.cleanup();
        if app.world().get_resource::<RenderAdapterInfo>().is_none() {
            println!("skipped: no graphics driver");
            return None;
        }
        let mut target = BevyImage::new_target_texture(SIZE, SIZE, TextureFormat::Rgba8UnormSrgb, None);
        target.texture_descriptor.usage |= TextureUsages::COPY_SRC;
        let target = app.world_mut().resource_mut::<Assets<BevyImage>>().add(target);
        let white = StandardMaterial { base_color: Color::WHITE, unlit: true, cull_mode: None, ..default() };
        let white = app.world_mut().resource_mut::<Assets<StandardMaterial>>().add(white);
        app.insert_resource(DefaultReelMaterials(ReelMaterials::default().with_other(white)));
        Some(Studio { app, target })
    }

    /// Looks along −z at all of a file; returns the visible area.
    pub fn look_at(&mut self, reel: &meshreel::Reel) -> Rect {
        let mut area = Rect::EMPTY;
        let mut depth = 0.0f32;
        for frame in 0..reel.frame_count() {
            let [x, y, z, x2, y2, z2] = reel.frame_bounds(frame);
            area = area.union(Rect::new(x, y, x2, y2));
            depth = depth.max(z.abs()).max(z2.abs());
        }
        let side = 1.05 * area.size().max_element();
        let area = Rect::from_center_size(area.center(), Vec2::splat(side));
        let metres = if reel.description().unit == 2 { 0.01 } else { 1.0 };
        let depth = (depth + side) * metres;
        let projection = Projection::Orthographic(OrthographicProjection {
            near: 0.0,
            far: 2.0 * depth,
            scaling_mode: ScalingMode::Fixed { width: side * metres, height: side * metres },
            ..OrthographicProjection::default_3d()
        });
        let place = Transform::from_translation((area.center() * metres).extend(depth));
        let target = RenderTarget::Image(self.target.clone().into());
        self.app.world_mut().spawn((Camera3d::default(), Msaa::Off, projection, place, target));
        area
    }

    /// Looks from a place at the origin, in perspective.
    pub fn look_from(&mut self, eye: Vec3) {
        let place = Transform::from_translation(eye).looking_at(Vec3::Y, Vec3::Y);
        let target = RenderTarget::Image(self.target.clone().into());
        self.app.world_mut().spawn((Camera3d::default(), Msaa::Off, place, target));
    }

    /// Spawns a player of a file.
    pub fn show(&mut self, file: &str, with: impl FnOnce(ReelPlayer) -> ReelPlayer) -> Entity {
        let reel = self.app.world().resource::<AssetServer>().load(below(file));
        self.app.world_mut().spawn(with(ReelPlayer::new(reel))).id()
    }

    /// Despawns everything that was spawned.
    pub fn clear(&mut self) {
        let world = self.app.world_mut();
        let all = world.query_filtered::<Entity, Or<(With<Camera3d>, With<ReelPlayer>)>>();
        let all: Vec<Entity> = { all }.iter(world).collect();
        all.into_iter().for_each(|entity| assert!(world.despawn(entity)));
    }

    /// Lights all surfaces, which are white, from the side.
    pub fn light(&mut self) {
        let world = self.app.world_mut();
        let white = StandardMaterial { cull_mode: None, double_sided: true, ..Color::WHITE.into() };
        let white = world.resource_mut::<Assets<StandardMaterial>>().add(white);
        world.insert_resource(DefaultReelMaterials(ReelMaterials::default().with_other(white)));
        let light = DirectionalLight { illuminance: 5_000.0, ..default() };
        world.spawn((light, Transform::IDENTITY.looking_to(Vec3::new(-1.0, -0.5, -1.0), Vec3::Y)));
    }

    pub fn frames(&mut self, count: usize) {
        (0..count).for_each(|_| self.app.update());
    }

    pub fn player(&mut self, entity: Entity) -> Mut<'_, ReelPlayer> {
        self.app.world_mut().get_mut(entity).expect("a player")
    }

    /// Returns the positions of all meshes of surfaces, as they are in memory.
    pub fn positions(&mut self) -> Vec<[f32; 3]> {
        let world = self.app.world_mut();
        let mut surfaces = world.query_filtered::<&Mesh3d, With<ReelSurface>>();
        let handles: Vec<Handle<Mesh>> = surfaces.iter(world).map(|mesh| mesh.0.clone()).collect();
        let meshes = world.resource::<Assets<Mesh>>();
        let positions = |handle| meshes.get(handle)?.attribute(Mesh::ATTRIBUTE_POSITION)?.as_float3();
        handles.iter().filter_map(positions).flatten().copied().collect()
    }

    /// Returns the number of triangles of all surfaces.
    pub fn triangles(&mut self) -> usize {
        let world = self.app.world_mut();
        let mut surfaces = world.query_filtered::<&Mesh3d, With<ReelSurface>>();
        let handles: Vec<Handle<Mesh>> = surfaces.iter(world).map(|mesh| mesh.0.clone()).collect();
        let meshes = world.resource::<Assets<Mesh>>();
        handles.iter().filter_map(|handle| Some(meshes.get(handle)?.indices()?.len() / 3)).sum()
    }

    /// Waits until a player shows its frame.
    pub fn wait(&mut self, entity: Entity) {
        for _ in 0..PATIENCE {
            self.app.update();
            if self.app.world().resource::<Ready>().0.contains(&entity) {
                return (0..5).for_each(|_| self.app.update());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        panic!("nothing is shown");
    }

    /// Draws the next frame.
    pub fn picture(&mut self, name: &str) -> RgbaImage {
        let screenshot = Screenshot::image(self.target.clone());
        let take = |taken: On<ScreenshotCaptured>, mut out: ResMut<Taken>| out.0 = Some(taken.image.clone());
        self.app.world_mut().spawn(screenshot).observe(take);
        for _ in 0..PATIENCE {
            self.app.update();
            if let Some(taken) = self.app.world_mut().resource_mut::<Taken>().0.take() {
                let picture = taken.try_into_dynamic().expect("a picture").to_rgba8();
                if let Some(folder) = std::env::var_os("PICTURES") {
                    picture.save(Path::new(&folder).join(name)).expect("written");
                }
                return picture;
            }
        }
        panic!("no picture");
    }
}
