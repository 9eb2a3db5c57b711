//! Ten thousand instances of one animation: cargo run --release --example ten_thousand -- FILE.reel
//! Of a file with levels of detail (`meshreel compile --lod 3`) they are shown by distance; what is small is left out.

use eframe::{egui, egui_wgpu, wgpu};
use glam::Vec3;
use glam::camera::rh::{proj::directx, view};
use meshreel::{Command, InstanceId, Options, Player, policy::Lens};
use meshreel_gpu::VertexLayout;
use meshreel_gpu::instances::{self, Model, Palette, View};
use meshreel_gpu::wgpu::{Budget, Frames, GpuReel, Instances, Output, Shaders};

const SHADER: &str = "
@group(1) @binding(0) var<uniform> clip: mat4x4f;
struct Seen { @builtin(position) at: vec4f, @location(0) normal: vec3f }
@vertex fn mesh(@location(0) p: vec3f, @location(1) n: vec3f, @builtin(instance_index) i: u32) -> Seen {
  let number = instance_of(i);
  return Seen(clip * vec4f(instance_point(number, p), 1.0), instance_vector(number, n));
}
@fragment fn lit(v: Seen) -> @location(0) vec4f { return vec4f(vec3f(0.55 + 0.4 * normalize(v.normal).y), 1.0); }";

/// An animation that plays, and on the card, once it shows something, its vertices and its instances.
struct Crowd {
    player: Player,
    instance: InstanceId,
    shaders: Shaders,
    clip: (wgpu::Buffer, wgpu::BindGroupLayout, wgpu::BindGroup),
    card: Option<(GpuReel, Output, Instances, wgpu::RenderPipeline, usize)>,
}

/// What is drawn of it.
struct Drawn(f32, f32);

impl Crowd {
    fn update(
        &mut self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        seen: &Drawn,
    ) {
        self.player.tick(1.0 / 60.0);
        let Some(shown) = self.player.frame(self.instance) else { return };
        let view = shown.view();
        if self.card.is_none() {
            let layout = VertexLayout::new(&[
                (meshreel::VertexChannel::Position, meshreel::Format::F32x3),
                (meshreel::VertexChannel::Normal, meshreel::Format::F32x3),
            ]);
            let reel = GpuReel::new((device, queue), &mut self.shaders, &shown, layout, Budget::default())
                .expect("room");
            let node = (0..).find(|node| view.mesh(*node).is_some()).expect("a mesh");
            let mesh = view.mesh(node).expect("found").number();
            let model = Model::of_mesh(&Frames::mesh(&shown, false, mesh), false);
            let world = view.world(node).map(|row| row.map(|v| v as f32));
            let step = 2.5 * model.radius;
            let place = |i: usize| {
                let mut rows = world;
                rows[0][3] += step * (i % 100) as f32 - 50.0 * step;
                rows[2][3] += step * (i / 100) as f32 - 50.0 * step;
                rows
            };
            let mut crowd = Instances::new(device, &Palette(vec![model]), 10_000).expect("room");
            crowd.place(queue, &(0..10_000).map(place).collect::<Vec<_>>(), &[0; 10_000]).expect("room");
            let pipeline = pipeline(device, &[crowd.pulled_layout(), &self.clip.1]);
            let output = reel.output(device, &self.shaders);
            self.card = Some((reel, output, crowd, pipeline, mesh));
        }
        let Some((reel, output, crowd, ..)) = &mut self.card else { return };
        reel.update(&self.shaders, queue, encoder, &mut [(output, &shown)]).expect("room");
        let far = 3.0 * Vec3::from_array(view.bounds()[3..].try_into().expect("three")).length();
        let eye = far * Vec3::new(seen.0.sin(), 0.7, seen.0.cos());
        let clip = directx::perspective(1.0, seen.1, 0.01 * far, 100.0 * far)
            * view::look_at_mat4(eye, Vec3::ZERO, Vec3::Y);
        queue.write_buffer(&self.clip.0, 0, bytemuck::bytes_of(&clip.to_cols_array()));
        let lens = Lens { angle: 1.0, height: 800.0 };
        crowd.update(queue, encoder, &View::new(&clip.to_cols_array_2d(), eye.to_array(), &lens));
    }

    fn paint(&self, pass: &mut wgpu::RenderPass<'static>) {
        let Some((_, output, crowd, pipeline, mesh)) = &self.card else { return };
        pass.set_pipeline(pipeline);
        pass.set_bind_group(1, &self.clip.2, &[]);
        pass.set_vertex_buffer(0, output.vertices(*mesh));
        pass.set_index_buffer(output.indices(*mesh).slice(..), wgpu::IndexFormat::Uint32);
        (0..crowd.draws().len()).for_each(|draw| crowd.draw(pass, 0, draw));
    }
}

fn pipeline(device: &wgpu::Device, groups: &[&wgpu::BindGroupLayout]) -> wgpu::RenderPipeline {
    let text = instances::pull(0) + SHADER;
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let groups: Vec<_> = groups.iter().map(|layout| Some(*layout)).collect();
    let layout = wgpu::PipelineLayoutDescriptor { bind_group_layouts: &groups, ..Default::default() };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: None,
        layout: Some(&device.create_pipeline_layout(&layout)),
        vertex: wgpu::VertexState {
            module: &module,
            entry_point: Some("mesh"),
            compilation_options: Default::default(),
            buffers: &[Some(wgpu::VertexBufferLayout {
                array_stride: 24,
                step_mode: wgpu::VertexStepMode::Vertex,
                attributes: &wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3],
            })],
        },
        primitive: Default::default(),
        depth_stencil: Some(wgpu::DepthStencilState {
            format: wgpu::TextureFormat::Depth32Float,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::Less),
            stencil: Default::default(),
            bias: Default::default(),
        }),
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState {
            module: &module,
            entry_point: Some("lit"),
            compilation_options: Default::default(),
            targets: &[Some(wgpu::TextureFormat::Bgra8Unorm.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}

impl egui_wgpu::CallbackTrait for Drawn {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _: &egui_wgpu::ScreenDescriptor,
        encoder: &mut wgpu::CommandEncoder,
        all: &mut egui_wgpu::CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        all.get_mut::<Crowd>().expect("put there").update(device, queue, encoder, self);
        Vec::new()
    }

    fn paint(
        &self,
        _: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        all: &egui_wgpu::CallbackResources,
    ) {
        all.get::<Crowd>().expect("put there").paint(pass);
    }
}

struct App;

impl eframe::App for App {
    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        let area = ui.available_rect_before_wrap();
        let drawn = Drawn(0.1 * ui.input(|i| i.time) as f32, area.aspect_ratio());
        ui.painter().add(egui_wgpu::Callback::new_paint_callback(area, drawn));
        ui.ctx().request_repaint();
    }
}

fn main() -> eframe::Result {
    let file = std::env::args().nth(1).expect("usage: ten_thousand FILE.reel");
    let options = eframe::NativeOptions { depth_buffer: 32, ..Default::default() };
    let made = move |context: &eframe::CreationContext<'_>| {
        let state = context.wgpu_render_state.as_ref().ok_or("no graphics adapter")?;
        let mut player = Player::new(Options::default());
        let opened = player.open(&file);
        let instance = player.instance(opened).ok_or("not opened")?;
        player.command(instance, Command::Repeat(meshreel::Repeat::Loop));
        player.command(instance, Command::Play);
        let device = &state.device;
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let uniform = wgpu::BufferDescriptor { label: None, size: 64, usage, mapped_at_creation: false };
        let buffer = device.create_buffer(&uniform);
        let ty = wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: None,
        };
        let visibility = wgpu::ShaderStages::VERTEX;
        let entries = &[wgpu::BindGroupLayoutEntry { binding: 0, visibility, ty, count: None }];
        let layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries });
        let entries = &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }];
        let group =
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries });
        let shaders = Shaders::new(device);
        let crowd = Crowd { player, instance, shaders, clip: (buffer, layout, group), card: None };
        state.renderer.write().callback_resources.insert(crowd);
        Ok(Box::new(App) as Box<dyn eframe::App>)
    };
    eframe::run_native("ten thousand", options, Box::new(made))
}
