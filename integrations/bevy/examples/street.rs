//! A street of things that move: `cargo run --release --example street -- flag.reel wall.reel`, with files in
//! `assets/`. Each is placed along the street a few times, each copy a little later than the one before.

use bevy::prelude::*;
use bevy_meshreel::{MeshreelPlugin, ReelPlayer, ReelReady};

/// The number of copies of each file.
const COPIES: usize = 6;
/// The distance from one thing to the next, in metres.
const DISTANCE: f32 = 4.0;

fn main() {
    App::new()
        .add_plugins((DefaultPlugins, MeshreelPlugin::default()))
        .add_systems(Startup, build_street)
        .add_systems(Update, walk)
        .add_observer(|ready: On<ReelReady>| info!("{} moves", ready.entity))
        .run();
}

fn build_street(
    mut commands: Commands,
    assets: Res<AssetServer>,
    mut meshes: ResMut<Assets<Mesh>>,
    mut materials: ResMut<Assets<StandardMaterial>>,
) {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let length = DISTANCE * (COPIES * files.len()) as f32;
    for (number, file) in files.iter().cycle().take(COPIES * files.len()).enumerate() {
        let reel = assets.load(file.clone());
        let side = if number % 2 == 0 { -2.5 } else { 2.5 };
        commands.spawn((
            ReelPlayer::new(reel).playing().looping().starting_at(0.3 * number as f64),
            Transform::from_xyz(side, 0.0, -DISTANCE * number as f32),
        ));
    }
    let ground = meshes.add(Plane3d::default().mesh().size(20.0, 2.0 * length + 20.0));
    commands.spawn((Mesh3d(ground), MeshMaterial3d(materials.add(Color::srgb(0.25, 0.27, 0.3)))));
    let sun = DirectionalLight { shadow_maps_enabled: true, ..default() };
    commands.spawn((sun, Transform::IDENTITY.looking_to(Vec3::new(-0.5, -1.0, -0.7), Vec3::Y)));
    commands.spawn((Camera3d::default(), Transform::from_xyz(0.0, 1.7, 4.0)));
}

fn walk(time: Res<Time>, mut camera: Single<&mut Transform, With<Camera3d>>) {
    camera.translation.z -= 0.8 * time.delta_secs();
}
