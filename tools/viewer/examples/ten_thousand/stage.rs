//! A window, a camera and a pipeline: the parts of a program that do not depend on meshreel.

use eframe::{egui, egui_wgpu, wgpu};
use glam::camera::rh::{proj::directx, view};
use glam::{Mat4, Vec3};

/// The content of the window.
pub trait Scene: Send + Sync + 'static {
    /// Called before each picture: uploads data to the card, and records compute passes.
    fn update(&mut self, picture: &mut Picture<'_>);
    /// Draws a picture, with the camera bound as group 1.
    fn draw(&self, pass: &mut wgpu::RenderPass<'static>);
}

/// A picture in progress.
pub struct Picture<'a> {
    pub device: &'a wgpu::Device,
    pub queue: &'a wgpu::Queue,
    pub encoder: &'a mut wgpu::CommandEncoder,
    /// The camera; bound as a matrix in group 1.
    pub camera: &'a Camera,
    turn: f32,
    aspect: f32,
}

impl Picture<'_> {
    /// Moves the camera around the origin at the distance `far`. Returns its position, and the matrix from
    /// the world to clip space.
    pub fn look_from(&self, far: f32) -> (Vec3, Mat4) {
        let eye = far * Vec3::new(self.turn.sin(), 0.7, self.turn.cos());
        let lens = directx::perspective(1.0, self.aspect, 0.01 * far, 100.0 * far);
        let clip = lens * view::look_at_mat4(eye, Vec3::ZERO, Vec3::Y);
        self.queue.write_buffer(&self.camera.buffer, 0, bytemuck::bytes_of(&clip.to_cols_array()));
        (eye, clip)
    }
}

pub struct Camera {
    buffer: wgpu::Buffer,
    layout: wgpu::BindGroupLayout,
    group: wgpu::BindGroup,
}

impl Camera {
    fn new(device: &wgpu::Device) -> Camera {
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
        Camera { buffer, layout, group }
    }

    /// Returns a pipeline with the entry points `mesh` and `lit`, for vertices with a position and a normal;
    /// group 0 has the caller's layout.
    pub fn pipeline(
        &self,
        device: &wgpu::Device,
        text: String,
        group: &wgpu::BindGroupLayout,
    ) -> wgpu::RenderPipeline {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(text.into()),
        });
        let groups = [Some(group), Some(&self.layout)];
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
}

/// Draws a scene in the window's paint callback.
struct SceneCallback<S> {
    turn: f32,
    aspect: f32,
    scene: std::marker::PhantomData<fn() -> S>,
}

impl<S: Scene> egui_wgpu::CallbackTrait for SceneCallback<S> {
    fn prepare(
        &self,
        device: &wgpu::Device,
        queue: &wgpu::Queue,
        _: &egui_wgpu::ScreenDescriptor,
        encoder: &mut wgpu::CommandEncoder,
        all: &mut egui_wgpu::CallbackResources,
    ) -> Vec<wgpu::CommandBuffer> {
        let (scene, camera) = all.get_mut::<(S, Camera)>().expect("put there");
        let &SceneCallback { turn, aspect, .. } = self;
        scene.update(&mut Picture { device, queue, encoder, camera, turn, aspect });
        Vec::new()
    }

    fn paint(
        &self,
        _: egui::PaintCallbackInfo,
        pass: &mut wgpu::RenderPass<'static>,
        all: &egui_wgpu::CallbackResources,
    ) {
        let (scene, camera) = all.get::<(S, Camera)>().expect("put there");
        pass.set_bind_group(1, &camera.group, &[]);
        scene.draw(pass);
    }
}

struct App<S>(std::marker::PhantomData<fn() -> S>);

impl<S: Scene> eframe::App for App<S> {
    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        let area = ui.available_rect_before_wrap();
        let turn = 0.1 * ui.input(|i| i.time) as f32;
        let drawn = SceneCallback { turn, aspect: area.aspect_ratio(), scene: self.0 };
        ui.painter().add(egui_wgpu::Callback::new_paint_callback(area, drawn));
        ui.ctx().request_repaint();
    }
}

/// Draws a scene in a window until the window is closed.
pub fn run<S: Scene>(title: &str, scene: impl FnOnce(&wgpu::Device) -> S + 'static) -> eframe::Result {
    let options = eframe::NativeOptions { depth_buffer: 32, ..Default::default() };
    let made = move |context: &eframe::CreationContext<'_>| {
        let state = context.wgpu_render_state.as_ref().ok_or("no graphics adapter")?;
        let all = (scene(&state.device), Camera::new(&state.device));
        state.renderer.write().callback_resources.insert(all);
        Ok(Box::new(App::<S>(std::marker::PhantomData)) as Box<dyn eframe::App>)
    };
    eframe::run_native(title, options, Box::new(made))
}
