//! Draws ten thousand instances of one animation: `cargo run --release --example ten_thousand -- FILE.reel`.
//! If the file has LOD levels (`meshreel compile --lod 3`), they are chosen by distance; instances that are
//! too small are not drawn.

mod stage;

use eframe::wgpu;
use glam::Vec3;
use meshreel::{
    Command, InstanceId, Options, Player, Repeat, VertexChannel, VertexFormat, policy::Projection,
};
use meshreel_gpu::VertexLayout;
use meshreel_gpu::instances::{self, InstanceView, Model, Palette};
use meshreel_gpu::wgpu::{Budget, FrameSource, GpuReel, Instances, Output, Shaders};

const SHADER: &str = "
@group(1) @binding(0) var<uniform> clip: mat4x4f;
struct Seen { @builtin(position) at: vec4f, @location(0) normal: vec3f }
@vertex fn mesh(@location(0) p: vec3f, @location(1) n: vec3f, @builtin(instance_index) i: u32) -> Seen {
  let number = instance_of(i);
  return Seen(clip * vec4f(instance_point(number, p), 1.0), instance_vector(number, n));
}
@fragment fn lit(v: Seen) -> @location(0) vec4f { return vec4f(vec3f(0.55 + 0.4 * normalize(v.normal).y), 1.0); }";

/// The player and the instance that it plays; and, once a frame is in memory, the file's vertices on the
/// card, its instances, and the pipeline that draws its first mesh.
struct Crowd(Player, InstanceId, Shaders, Option<(Output, GpuReel, Instances, wgpu::RenderPipeline)>);

impl stage::Scene for Crowd {
    fn update(&mut self, picture: &mut stage::Picture<'_>) {
        let (device, queue) = (picture.device, picture.queue);
        let Crowd(player, instance, shaders, card) = self;
        player.tick(1.0 / 60.0);
        let Some(shown) = player.frame(*instance) else { return };
        let (output, reel, crowd, _) = card.get_or_insert_with(|| {
            let vertex =
                [VertexChannel::Position, VertexChannel::Normal].map(|what| (what, VertexFormat::F32x3));
            let (layout, budget) = (VertexLayout::new(&vertex), Budget::default());
            let reel = GpuReel::new((device, queue), shaders, &shown, layout, budget).expect("room");
            let model = Model::from_mesh(&FrameSource::mesh(&shown, false, 0), false);
            let places: Vec<[[f32; 4]; 3]> = (0..10_000)
                .map(|i| [i % 100, i / 100].map(|at| 2.5 * model.radius * (at as f32 - 50.0)))
                .map(|[x, z]| [[1.0, 0.0, 0.0, x], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, z]])
                .collect();
            let mut crowd = Instances::new(device, &Palette(vec![model]), places.len()).expect("room");
            crowd.set_instances(queue, &places, &vec![0; places.len()]).expect("room");
            let text = instances::pull_wgsl(0) + SHADER;
            let pipeline = picture.camera.pipeline(device, text, crowd.pulled_layout());
            (reel.output(device, shaders), reel, crowd, pipeline)
        });
        reel.update(shaders, queue, picture.encoder, &mut [(output, &shown)]).expect("room");
        let far = 12.0 * Vec3::from_slice(&shown.view().bounds()[3..]).length();
        let (eye, clip) = picture.look_from(far);
        let lens = Projection::new(1.0, 800.0);
        crowd.update(
            queue,
            picture.encoder,
            &InstanceView::new(&clip.to_cols_array_2d(), eye.to_array(), &lens),
        );
    }

    fn draw(&self, pass: &mut wgpu::RenderPass<'static>) {
        let Some((output, _, crowd, pipeline)) = &self.3 else { return };
        pass.set_pipeline(pipeline);
        pass.set_vertex_buffer(0, output.vertices(0));
        pass.set_index_buffer(output.indices(0).slice(..), wgpu::IndexFormat::Uint32);
        (0..crowd.draws().len()).for_each(|draw| crowd.draw(pass, 0, draw));
    }
}

fn main() -> eframe::Result {
    let file = std::env::args().nth(1).expect("usage: ten_thousand FILE.reel");
    let mut player = Player::new(Options::default()).unwrap();
    let opened = player.open(&file);
    let instance = player.add_instance(opened).expect("a file");
    player.command(instance, Command::Repeat(Repeat::Loop));
    player.command(instance, Command::Play);
    stage::run("ten thousand", move |device| Crowd(player, instance, Shaders::new(device), None))
}
