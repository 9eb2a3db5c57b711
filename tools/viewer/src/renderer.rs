//! Draws a file into a texture: the same picture in the window and in a PNG.

use crate::camera::{Camera, Up};
use crate::document::{Document, Shown};
use crate::layout::{ATTRIBUTES, OVERLAY};
use crate::looks::{Look, of_error, of_part};
use crate::source::FrameErrors;
use glam::DMat4;
use meshreel_gpu::wgpu::Shaders;
use std::collections::{HashMap, HashSet};
use wgpu::util::{BufferInitDescriptor, DeviceExt};

pub const COLOUR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
const DEPTH: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
const SAMPLES: u32 = 4;
/// What is behind everything, as it is seen.
const BACKGROUND: wgpu::Color = wgpu::Color { r: 0.115, g: 0.125, b: 0.14, a: 1.0 };

/// What is the same for a mesh in a picture.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Uniform {
    clip: [f32; 16],
    world: [f32; 16],
    colour: [f32; 4],
    look: u32,
    has_normals: u32,
    velocity_scale: f32,
    spare: u32,
}

/// The shader's number for lines in the colours of their vertices.
const LINES_IN_COLOURS: u32 = 7;

/// Bytes from one to the next.
const STEP: u64 = 256;

/// How a picture is to look.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    pub look: Look,
    pub wire: bool,
    pub grid: bool,
    /// Level of detail that is drawn, as far as a mesh has it.
    pub level: usize,
    /// Triangles that cannot be seen are left out.
    pub visible: bool,
    /// The node whose outline is marked.
    pub selected: Option<usize>,
}

struct Target {
    size: [u32; 2],
    colour: wgpu::Texture,
    multi: wgpu::TextureView,
    depth: wgpu::TextureView,
}

/// Lines beneath everything, and the axes.
struct Floor {
    up: Up,
    vertices: wgpu::Buffer,
    colours: wgpu::Buffer,
    lines: wgpu::Buffer,
    count: u32,
}

/// Pipelines and textures on a device.
pub struct Renderer {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub shaders: Shaders,
    surface: wgpu::RenderPipeline,
    wire: wgpu::RenderPipeline,
    bindings: wgpu::BindGroupLayout,
    uniforms: wgpu::Buffer,
    bound: wgpu::BindGroup,
    room: u64,
    target: Option<Target>,
    /// Edges of meshes whose triangles no frame changes.
    edges: HashMap<usize, (wgpu::Buffer, u32)>,
    /// What the viewer says of the vertices of a node, and of what look and frame that is.
    overlays: HashMap<usize, wgpu::Buffer>,
    overlays_of: Option<(Look, Option<usize>)>,
    /// For all that have none.
    blank: wgpu::Buffer,
    floor: Option<Floor>,
}

impl Renderer {
    pub fn new(device: wgpu::Device, queue: wgpu::Queue) -> Renderer {
        let module = device.create_shader_module(wgpu::include_wgsl!("draw.wgsl"));
        let bindings = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("draw"),
            entries: &[wgpu::BindGroupLayoutEntry {
                binding: 0,
                visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: true,
                    min_binding_size: None,
                },
                count: None,
            }],
        });
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("draw"),
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: 0,
        });
        // Surfaces step back a little, so that lines on them are seen.
        let pipeline =
            |entry, topology, bias| pipeline(&device, (&module, &pipeline_layout), entry, topology, bias);
        let surface = pipeline("surface", wgpu::PrimitiveTopology::TriangleList, -4);
        let wire = pipeline("line", wgpu::PrimitiveTopology::LineList, 0);
        let shaders = Shaders::new(&device);
        let blank = overlay(&device, &[[0, 255, 0, 255]]);
        let (uniforms, bound) = uniforms(&device, &bindings, 64);
        Renderer {
            device,
            queue,
            shaders,
            surface,
            wire,
            bindings,
            uniforms,
            bound,
            room: 64,
            target: None,
            edges: HashMap::new(),
            overlays: HashMap::new(),
            overlays_of: None,
            blank,
            floor: None,
        }
    }

    /// Another file is drawn from now on.
    pub fn forget(&mut self) {
        self.edges.clear();
        self.overlays.clear();
        self.overlays_of = None;
        self.floor = None;
    }

    /// Draws a moment; the texture stays until the next picture.
    pub fn draw(
        &mut self,
        document: Option<&mut Document>,
        errors: Option<&FrameErrors>,
        camera: &Camera,
        style: Style,
        size: [u32; 2],
    ) -> anyhow::Result<&wgpu::Texture> {
        let size = size.map(|n| n.clamp(1, 8192));
        if self.target.as_ref().is_none_or(|target| target.size != size) {
            self.target = Some(target(&self.device, size));
        }
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut shown = Vec::new();
        if let Some(document) = document {
            shown = document.prepare(&self.shaders, &self.queue, &mut encoder)?;
            let scale = document.size();
            if style.wire || style.selected.is_some() {
                self.prepare_edges(document, &shown);
            }
            self.prepare_overlays(document, &shown, style.look, errors);
            self.write(&shown, camera, style, scale, size);
            self.prepare_floor(document, camera.up);
            let target = self.target.as_ref().expect("made above");
            self.record(&mut encoder, target, Some(document), &shown, style);
        } else {
            let target = self.target.as_ref().expect("made above");
            self.record(&mut encoder, target, None, &shown, style);
        }
        self.queue.submit([encoder.finish()]);
        Ok(&self.target.as_ref().expect("made above").colour)
    }

    fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        target: &Target,
        document: Option<&Document>,
        shown: &[Shown],
        style: Style,
    ) {
        let resolved = target.colour.create_view(&Default::default());
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("draw"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &target.multi,
                depth_slice: None,
                resolve_target: Some(&resolved),
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(BACKGROUND),
                    store: wgpu::StoreOp::Discard,
                },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &target.depth,
                depth_ops: Some(wgpu::Operations {
                    load: wgpu::LoadOp::Clear(0.0),
                    store: wgpu::StoreOp::Discard,
                }),
                stencil_ops: None,
            }),
            timestamp_writes: None,
            occlusion_query_set: None,
            multiview_mask: None,
        });
        let Some(document) = document else { return };
        pass.set_pipeline(&self.surface);
        for (i, shown) in shown.iter().enumerate() {
            let output = &document.output;
            pass.set_bind_group(0, &self.bound, &[(i as u64 * STEP) as u32]);
            pass.set_vertex_buffer(0, output.vertices(shown.mesh).slice(..));
            pass.set_vertex_buffer(1, self.overlays.get(&shown.node).unwrap_or(&self.blank).slice(..));
            pass.set_index_buffer(output.indices(shown.mesh).slice(..), wgpu::IndexFormat::Uint32);
            for range in document.drawn(shown.mesh, style.level, style.visible) {
                pass.draw_indexed(range, 0, 0..1);
            }
        }
        pass.set_pipeline(&self.wire);
        for (i, shown) in shown.iter().enumerate() {
            let marked = style.selected == Some(shown.node);
            let Some((edges, count)) = self.edges.get(&shown.mesh).filter(|_| style.wire || marked) else {
                continue;
            };
            let at = (self.room / 2 + i as u64) * STEP;
            pass.set_bind_group(0, &self.bound, &[at as u32]);
            pass.set_vertex_buffer(0, document.output.vertices(shown.mesh).slice(..));
            pass.set_vertex_buffer(1, self.blank.slice(..));
            pass.set_index_buffer(edges.slice(..), wgpu::IndexFormat::Uint32);
            pass.draw_indexed(0..*count, 0, 0..1);
        }
        if let Some(floor) = self.floor.as_ref().filter(|_| style.grid) {
            pass.set_bind_group(0, &self.bound, &[((self.room - 1) * STEP) as u32]);
            pass.set_vertex_buffer(0, floor.vertices.slice(..));
            pass.set_vertex_buffer(1, floor.colours.slice(..));
            pass.set_index_buffer(floor.lines.slice(..), wgpu::IndexFormat::Uint32);
            pass.draw_indexed(0..floor.count, 0, 0..1);
        }
    }

    /// Uniforms: of surfaces in the first half, of lines in the second, of the floor at the end.
    fn write(&mut self, shown: &[Shown], camera: &Camera, style: Style, size: f64, pixels: [u32; 2]) {
        let wanted = 2 * (shown.len() as u64 + 1);
        if wanted > self.room {
            self.room = wanted.next_power_of_two();
            (self.uniforms, self.bound) = uniforms(&self.device, &self.bindings, self.room);
        }
        let (view, clip) = (camera.view(), camera.projection(f64::from(pixels[0]) / f64::from(pixels[1])));
        let mut bytes = vec![0u8; (self.room * STEP) as usize];
        let mut put = |at: u64, uniform: Uniform| {
            let start = (at * STEP) as usize;
            bytes[start..start + size_of::<Uniform>()].copy_from_slice(bytemuck::bytes_of(&uniform));
        };
        for (i, shown) in shown.iter().enumerate() {
            let world = view * shown.world;
            let [r, g, b] = style.look.colour(shown.mesh, shown.method);
            let uniform = Uniform {
                clip: (clip * world).as_mat4().to_cols_array(),
                world: world.as_mat4().to_cols_array(),
                colour: [r, g, b, 1.0],
                look: style.look.number(),
                has_normals: u32::from(shown.has_normals),
                velocity_scale: (1.0 / size.max(1e-12)) as f32,
                spare: 0,
            };
            put(i as u64, uniform);
            let marked = style.selected == Some(shown.node);
            let colour = if marked { [0.9, 0.45, 0.02, 1.0] } else { [0.01, 0.01, 0.015, 1.0] };
            put(self.room / 2 + i as u64, Uniform { colour, ..uniform });
        }
        let floor = Uniform {
            clip: (clip * view).as_mat4().to_cols_array(),
            world: DMat4::IDENTITY.as_mat4().to_cols_array(),
            colour: [0.06, 0.065, 0.075, 1.0],
            look: LINES_IN_COLOURS,
            has_normals: 1,
            velocity_scale: 0.0,
            spare: 0,
        };
        put(self.room - 1, floor);
        self.queue.write_buffer(&self.uniforms, 0, &bytes);
    }

    /// What the viewer itself says of vertices: the part that moves each, its distance from the source.
    fn prepare_overlays(
        &mut self,
        document: &Document,
        shown: &[Shown],
        look: Look,
        errors: Option<&FrameErrors>,
    ) {
        let most = shown.iter().map(|s| document.output.vertex_count(s.mesh)).max().unwrap_or(0);
        if self.blank.size() < 4 * u64::from(most) {
            self.blank = overlay(&self.device, &vec![of_error(None); most as usize]);
        }
        let of = match look {
            Look::Parts => Some((look, None)),
            Look::Error => Some((look, errors.map(|errors| errors.frame))),
            _ => None,
        };
        if self.overlays_of != of {
            self.overlays.clear();
            self.overlays_of = of;
        }
        for shown in shown.iter().filter(|_| of.is_some()) {
            if self.overlays.contains_key(&shown.node) {
                continue;
            }
            let view = document.decoder().mesh(shown.mesh);
            let colours: Vec<[u8; 4]> = match look {
                Look::Parts => {
                    let bones = view.bones();
                    let of = |vertex| {
                        let bones = bones.as_ref()?;
                        bones.influences(vertex).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(bone, _)| bone)
                    };
                    (0..view.vertex_count()).map(|vertex| of_part(of(vertex))).collect()
                }
                _ => {
                    let own = errors.and_then(|e| e.nodes.iter().find(|own| own.node == shown.node));
                    let parts = own.map_or(&[][..], |own| &own.parts);
                    (0..view.vertex_count()).map(|v| of_error(parts.get(v).copied())).collect()
                }
            };
            if !colours.is_empty() {
                self.overlays.insert(shown.node, overlay(&self.device, &colours));
            }
        }
    }

    fn prepare_edges(&mut self, document: &Document, shown: &[Shown]) {
        for shown in shown {
            let fluid = shown.method == meshreel::record::Method::Fluid;
            if self.edges.contains_key(&shown.mesh) && !fluid {
                continue;
            }
            let mut known = HashSet::new();
            let mut lines: Vec<u32> = Vec::new();
            for triangle in document.indices(shown.mesh).as_chunks::<3>().0 {
                for k in 0..3 {
                    let (a, b) = (triangle[k], triangle[(k + 1) % 3]);
                    if known.insert((a.min(b), a.max(b))) {
                        lines.extend([a, b]);
                    }
                }
            }
            let contents = bytemuck::cast_slice(if lines.is_empty() { &[0, 0] } else { &lines[..] });
            let usage = wgpu::BufferUsages::INDEX;
            let buffer = self.device.create_buffer_init(&BufferInitDescriptor {
                label: Some("edges"),
                contents,
                usage,
            });
            self.edges.insert(shown.mesh, (buffer, lines.len() as u32));
        }
    }

    /// A grid beneath everything, with a cell of a power of ten.
    fn prepare_floor(&mut self, document: &Document, up: Up) {
        if self.floor.as_ref().is_some_and(|floor| floor.up == up) {
            return;
        }
        let [low, high] = document.bounds;
        let (a, b, c) = match up {
            Up::Y => (0, 2, 1),
            Up::Z => (0, 1, 2),
        };
        let size = (high - low).length().max(1e-6);
        let cell = 10f64.powf((size / 8.0).log10().round());
        let cells = ((size / cell).ceil() as i32).clamp(4, 60);
        let middle = (low + high) / 2.0;
        let snap = |x: f64| (x / cell).round() * cell;
        let mut vertices: Vec<f32> = Vec::new();
        for i in -cells..=cells {
            for (along, across) in [(a, b), (b, a)] {
                for end in [-1.0, 1.0] {
                    let mut at = [0.0f64; 3];
                    at[c] = low[c];
                    at[along] = snap(middle[along]) + f64::from(cells) * cell * end;
                    at[across] = snap(middle[across]) + f64::from(i) * cell;
                    vertices.extend(at.map(|v| v as f32));
                    vertices.extend([0.0; 6]);
                }
            }
        }
        let grid = vertices.len() / 9;
        for axis in 0..3 {
            for end in [0.0, 1.0] {
                let mut at = [0.0; 3];
                at[axis] = (end * cell * f64::from(cells) * 0.25) as f32;
                vertices.extend(at);
                vertices.extend([0.0; 6]);
            }
        }
        let count = vertices.len() as u32 / 9;
        let axes = [[230, 60, 60, 255], [80, 200, 60, 255], [70, 110, 240, 255]];
        let grey = std::iter::repeat_n([16, 17, 20, 255], grid);
        let colours: Vec<[u8; 4]> = grey.chain(axes.into_iter().flat_map(|axis| [axis; 2])).collect();
        let lines: Vec<u32> = (0..count).collect();
        let buffer = |contents, usage| {
            self.device.create_buffer_init(&BufferInitDescriptor { label: Some("floor"), contents, usage })
        };
        let vertices = buffer(bytemuck::cast_slice(&vertices), wgpu::BufferUsages::VERTEX);
        let lines = buffer(bytemuck::cast_slice(&lines), wgpu::BufferUsages::INDEX);
        let colours = overlay(&self.device, &colours);
        self.floor = Some(Floor { up, vertices, colours, lines, count });
    }

    /// The last picture, rgba.
    pub fn pixels(&self) -> anyhow::Result<Vec<u8>> {
        let Some(target) = &self.target else { anyhow::bail!("nothing was drawn") };
        let [width, height] = target.size;
        let row = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("picture"),
            size: u64::from(row) * u64::from(height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encoder.copy_texture_to_buffer(
            target.colour.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(row),
                    rows_per_image: Some(height),
                },
            },
            wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        );
        self.queue.submit([encoder.finish()]);
        let slice = buffer.slice(..);
        let (told, done) = std::sync::mpsc::channel();
        slice.map_async(wgpu::MapMode::Read, move |result| drop(told.send(result)));
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        done.recv()??;
        let bytes = slice.get_mapped_range()?;
        let rows = bytes.chunks_exact(row as usize).take(height as usize);
        Ok(rows.flat_map(|row| &row[..4 * width as usize]).copied().collect())
    }
}

/// A pipeline that draws with an entry point of the shader for fragments.
fn pipeline(
    device: &wgpu::Device,
    (module, layout): (&wgpu::ShaderModule, &wgpu::PipelineLayout),
    entry: &str,
    topology: wgpu::PrimitiveTopology,
    bias: i32,
) -> wgpu::RenderPipeline {
    let vertices = crate::layout::layout();
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some(entry),
        layout: Some(layout),
        vertex: wgpu::VertexState {
            module,
            entry_point: Some("seen"),
            compilation_options: Default::default(),
            buffers: &[
                Some(wgpu::VertexBufferLayout {
                    array_stride: vertices.stride as u64,
                    step_mode: wgpu::VertexStepMode::Vertex,
                    attributes: &ATTRIBUTES,
                }),
                Some(wgpu::VertexBufferLayout {
                    array_stride: 4,
                    step_mode: wgpu::VertexStepMode::Vertex,
                    attributes: &OVERLAY,
                }),
            ],
        },
        primitive: wgpu::PrimitiveState { topology, ..Default::default() },
        depth_stencil: Some(wgpu::DepthStencilState {
            format: DEPTH,
            depth_write_enabled: Some(true),
            depth_compare: Some(wgpu::CompareFunction::GreaterEqual),
            stencil: Default::default(),
            bias: wgpu::DepthBiasState { constant: bias, slope_scale: bias as f32 * 0.25, clamp: 0.0 },
        }),
        multisample: wgpu::MultisampleState { count: SAMPLES, ..Default::default() },
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: Some(entry),
            compilation_options: Default::default(),
            targets: &[Some(COLOUR.into())],
        }),
        multiview_mask: None,
        cache: None,
    })
}

/// Colours of vertices.
fn overlay(device: &wgpu::Device, colours: &[[u8; 4]]) -> wgpu::Buffer {
    let (contents, usage) = (bytemuck::cast_slice(colours), wgpu::BufferUsages::VERTEX);
    device.create_buffer_init(&BufferInitDescriptor { label: Some("overlay"), contents, usage })
}

fn uniforms(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    room: u64,
) -> (wgpu::Buffer, wgpu::BindGroup) {
    let buffer = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("draw"),
        size: room * STEP,
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let bound = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("draw"),
        layout,
        entries: &[wgpu::BindGroupEntry {
            binding: 0,
            resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: &buffer,
                offset: 0,
                size: wgpu::BufferSize::new(size_of::<Uniform>() as u64),
            }),
        }],
    });
    (buffer, bound)
}

fn target(device: &wgpu::Device, size: [u32; 2]) -> Target {
    let texture = |format, samples, usage| {
        device.create_texture(&wgpu::TextureDescriptor {
            label: Some("picture"),
            size: wgpu::Extent3d { width: size[0], height: size[1], depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: samples,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage,
            view_formats: &[],
        })
    };
    let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
    let read = wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_SRC;
    Target {
        size,
        colour: texture(COLOUR, 1, attachment | read),
        multi: texture(COLOUR, SAMPLES, attachment).create_view(&Default::default()),
        depth: texture(DEPTH, SAMPLES, attachment).create_view(&Default::default()),
    }
}
