//! Renders a file to a texture: the same picture in the window and in a PNG.

use crate::bones;
use crate::camera::{Camera, Up};
use crate::contact::ContactShading;
use crate::document::Document;
use crate::drawing::Drawing;
use crate::floor::floor;
use crate::follow::Following;
use crate::looks::{DisplayMode, HIDDEN_COLOUR, error_heat, part_colour};
use crate::meshes::{Meshes, VisibleNode};
use crate::pipelines::{
    Target, UNIFORM_STRIDE, edge_bindings, edges, filled_buffer, front_depth, overlay, pipeline, target,
    uniforms,
};
use crate::source::{ClipErrors, FrameErrors};
use crate::style::{LIGHT_FROM_EYE, LIGHT_WITH_CONTACT, Style};
use crate::timing::Timer;
use glam::DMat4;
use std::collections::HashMap;

/// Background colour, as displayed.
const BACKGROUND: wgpu::Color = wgpu::Color { r: 0.115, g: 0.125, b: 0.14, a: 1.0 };

/// The uniforms of a draw.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct Uniform {
    clip: [f32; 16],
    world: [f32; 16],
    colour: [f32; 4],
    look: u32,
    has_normals: u32,
    velocity_scale: f32,
    light: u32,
    up: [f32; 4],
}

/// The shader's mode for lines in the colours of their vertices.
const LINES_IN_COLOURS: u32 = 7;

/// Number of uniforms of a node: surface, invisible part, edges. After those of all nodes come the uniforms
/// of lines and bones in world space.
const UNIFORMS_PER_NODE: u64 = 3;
const SURFACE: u64 = 0;
const UNSEEN_PART: u64 = 1;
const EDGES: u64 = 2;
const WORLD_LINES: u64 = 0;
const WORLD_BONES: u64 = 1;
const WORLD_PARTICLES: u64 = 2;

/// Errors against the source, and the source's pose to draw beside the decoded one.
#[derive(Clone, Copy, Default)]
pub struct SourceComparison<'a> {
    pub frame: Option<&'a FrameErrors>,
    pub clip: Option<&'a ClipErrors>,
    pub pose: &'a [crate::clips::Bone],
}

/// Vertices with a colour each.
struct ColouredBuffer {
    vertices: wgpu::Buffer,
    colours: wgpu::Buffer,
    count: u32,
}

/// The buffers for the edges of a mesh: the vertices and triangles of its surface.
struct Edges {
    vertices: (wgpu::Buffer, u64),
    bind_group: wgpu::BindGroup,
}

/// Pipelines and textures of a device.
pub struct Renderer {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    /// `None` if the card has no clock.
    pub timer: Option<Timer>,
    surface: wgpu::RenderPipeline,
    lines: wgpu::RenderPipeline,
    edge_lines: wgpu::RenderPipeline,
    bindings: wgpu::BindGroupLayout,
    edge_bindings: wgpu::BindGroupLayout,
    uniforms: wgpu::Buffer,
    bind_group: wgpu::BindGroup,
    uniform_capacity: u64,
    target: Option<Target>,
    /// `true` if shaders can read depth and colours of samples, which contact shading needs.
    reads_samples: bool,
    /// Contact shading, once it is needed, and whether this picture has it.
    contact: Option<ContactShading>,
    has_contact: bool,
    /// Depth of bones over surfaces whose own depth is needed.
    front_depth: Option<([u32; 2], wgpu::TextureView)>,
    edges: HashMap<usize, Edges>,
    /// Overlay colours of the vertices of each node; the next field is the look and frame that they belong
    /// to.
    overlays: HashMap<usize, wgpu::Buffer>,
    overlays_key: Option<(DisplayMode, Option<usize>)>,
    /// Overlay for nodes without one.
    blank: wgpu::Buffer,
    floor: Option<(Up, ColouredBuffer)>,
    /// The skeleton, and the source's beside it.
    bones: [Option<ColouredBuffer>; 2],
    /// Particles as solids, and the lines of curves.
    particles: [Option<ColouredBuffer>; 2],
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
        let edge_bindings = edge_bindings(&device);
        let layout = |groups: &[Option<&wgpu::BindGroupLayout>]| {
            device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("draw"),
                bind_group_layouts: groups,
                immediate_size: 0,
            })
        };
        let plain = layout(&[Some(&bindings)]);
        // Surfaces are pushed back a little, so that lines on them are visible.
        let surface = pipeline(&device, (&module, &plain), ["seen", "surface"], -4);
        let lines = pipeline(&device, (&module, &plain), ["seen", "line"], 0);
        let with_edges = layout(&[Some(&bindings), Some(&edge_bindings)]);
        let edge_lines = pipeline(&device, (&module, &with_edges), ["edge", "line"], 0);
        let timer = Timer::new(&device, &queue);
        // Shaders of OpenGL load no samples of depth.
        let reads_samples = device.adapter_info().backend != wgpu::Backend::Gl;
        let blank = overlay(&device, &[[0, 255, 0, 255]]);
        let (uniforms, bound) = uniforms(&device, &bindings, 64, size_of::<Uniform>() as u64);
        Renderer {
            device,
            queue,
            timer,
            surface,
            lines,
            edge_lines,
            bindings,
            edge_bindings,
            uniforms,
            bind_group: bound,
            uniform_capacity: 64,
            target: None,
            reads_samples,
            contact: None,
            has_contact: false,
            front_depth: None,
            edges: HashMap::new(),
            overlays: HashMap::new(),
            overlays_key: None,
            blank,
            floor: None,
            bones: [None, None],
            particles: [None, None],
        }
    }

    /// Forgets the current file's resources, before another one is drawn.
    pub fn forget(&mut self) {
        self.edges.clear();
        self.overlays.clear();
        self.overlays_key = None;
        self.floor = None;
    }

    /// Draws a moment; the texture stays valid until the next picture. A camera that follows the content
    /// moves with it, so many seconds after the last picture.
    pub fn draw(
        &mut self,
        document: Option<&mut Document>,
        beside: SourceComparison<'_>,
        camera: &mut Camera,
        following: Option<(&mut Following, f64)>,
        style: Style,
        size: [u32; 2],
    ) -> anyhow::Result<&wgpu::Texture> {
        let size = size.map(|n| n.clamp(1, 8192));
        let style = Style { contact: style.contact && self.reads_samples, ..style };
        if self.target.as_ref().is_none_or(|target| target.size != size) {
            self.target = Some(target(&self.device, size, self.reads_samples));
        }
        let mut encoder = self.device.create_command_encoder(&Default::default());
        self.stamp(&mut encoder, 0);
        let (mut shown, mut meshes) = (Vec::new(), None);
        if let Some(document) = document {
            shown = document.prepare(&self.queue, &mut encoder)?;
            self.stamp(&mut encoder, 1);
            if let Some((following, seconds)) = following {
                let picked = document.picked(style);
                if let Some((extent, time)) = document.extent(picked)? {
                    following.advance(camera, picked, &extent, time, seconds);
                }
            }
            self.prepare_bones(document, beside, style);
            let drawings = document.meshes.as_ref().map(|meshes| meshes.particles.each_ref());
            self.particles =
                drawings.map_or([None, None], |all| all.map(|drawing| self.coloured_buffer(drawing)));
            self.prepare_floor(document, camera.up);
            self.prepare(document.meshes.as_ref(), &shown, style, beside.frame);
            self.prepare_contact(document, camera, style);
            self.write(document, &shown, camera, style, size);
            meshes = document.meshes.as_ref();
            self.record(&mut encoder, meshes, &shown, style);
        } else {
            self.stamp(&mut encoder, 1);
            self.bones = [None, None];
            self.particles = [None, None];
            self.floor = None;
            self.has_contact = false;
            self.record(&mut encoder, meshes, &shown, style);
        }
        self.stamp(&mut encoder, 2);
        self.queue.submit([encoder.finish()]);
        if let Some(timer) = &mut self.timer {
            timer.submitted(&self.device);
        }
        Ok(&self.target.as_ref().expect("made above").colour)
    }

    fn stamp(&mut self, encoder: &mut wgpu::CommandEncoder, stamp: u32) {
        if let Some(timer) = &mut self.timer {
            timer.stamp(encoder, stamp);
        }
    }

    /// Returns the offset of a node's uniform, or, with the number of nodes, of one of those after them.
    fn offset(node: usize, which: u64) -> u32 {
        ((UNIFORMS_PER_NODE * node as u64 + which) * UNIFORM_STRIDE) as u32
    }

    fn record(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        meshes: Option<&Meshes>,
        shown: &[VisibleNode],
        style: Style,
    ) {
        let target = self.target.as_ref().expect("made before anything is drawn");
        let resolved = target.colour.create_view(&Default::default());
        let has_bones = self.bones.iter().any(Option::is_some);
        let contact = self.contact.as_ref().filter(|_| self.has_contact);
        // Contact shading makes the picture of samples.
        let resolved_after = |last: bool| (last && contact.is_none()).then_some(&resolved);
        // It darkens the floor, too.
        let background = match contact {
            Some(_) if style.grid => wgpu::Color { a: 0.0, ..BACKGROUND },
            _ => BACKGROUND,
        };
        let clear = (wgpu::LoadOp::Clear(background), wgpu::LoadOp::Clear(0.0));
        let mut pass = begin(encoder, target, &target.depth, clear, resolved_after(!has_bones));
        if let Some(meshes) = meshes {
            self.record_surfaces(&mut pass, meshes, shown, style);
        }
        let [solids, lines] = &self.particles;
        if let Some(solids) = solids {
            pass.set_pipeline(&self.surface);
            self.record_coloured(&mut pass, solids, Self::offset(shown.len(), WORLD_PARTICLES));
        }
        if let Some(contact) = contact {
            // Lines darken nothing.
            drop(pass);
            contact.record_shades(encoder);
            pass = begin(encoder, target, &target.depth, (wgpu::LoadOp::Load, wgpu::LoadOp::Load), None);
        }
        if let Some(meshes) = meshes {
            self.record_edges(&mut pass, meshes, shown, style);
        }
        if let Some(lines) = lines {
            pass.set_pipeline(&self.lines);
            self.record_coloured(&mut pass, lines, Self::offset(shown.len(), WORLD_LINES));
        }
        if let Some((_, floor)) = self.floor.as_ref().filter(|_| style.grid) {
            pass.set_pipeline(&self.lines);
            self.record_coloured(&mut pass, floor, Self::offset(shown.len(), WORLD_LINES));
        }
        drop(pass);
        if has_bones {
            // Bones are visible through surfaces.
            let load = if meshes.is_some() { wgpu::LoadOp::Clear(0.0) } else { wgpu::LoadOp::Load };
            let depth = self.front_depth.as_ref().map_or(&target.depth, |(_, depth)| depth);
            let mut pass = begin(encoder, target, depth, (wgpu::LoadOp::Load, load), resolved_after(true));
            self.record_bones(&mut pass, shown.len());
        }
        if let Some(contact) = contact {
            contact.record_picture(encoder, &resolved);
        }
    }

    fn record_bones(&self, pass: &mut wgpu::RenderPass<'_>, nodes: usize) {
        let [decoded, source] = &self.bones;
        if let Some(bones) = decoded {
            pass.set_pipeline(&self.surface);
            self.record_coloured(pass, bones, Self::offset(nodes, WORLD_BONES));
        }
        if let Some(bones) = source {
            pass.set_pipeline(&self.lines);
            self.record_coloured(pass, bones, Self::offset(nodes, WORLD_LINES));
        }
    }

    fn record_coloured(&self, pass: &mut wgpu::RenderPass<'_>, extra: &ColouredBuffer, offset: u32) {
        pass.set_bind_group(0, &self.bind_group, &[offset]);
        pass.set_vertex_buffer(0, extra.vertices.slice(..));
        pass.set_vertex_buffer(1, extra.colours.slice(..));
        pass.draw(0..extra.count, 0..1);
    }

    fn record_surfaces(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        meshes: &Meshes,
        shown: &[VisibleNode],
        style: Style,
    ) {
        let output = &meshes.output;
        pass.set_pipeline(&self.surface);
        for (i, shown) in shown.iter().enumerate() {
            pass.set_vertex_buffer(0, output.vertices(shown.mesh));
            pass.set_vertex_buffer(1, self.overlays.get(&shown.node).unwrap_or(&self.blank).slice(..));
            pass.set_index_buffer(output.indices(shown.mesh).slice(..), wgpu::IndexFormat::Uint32);
            let [seen, unseen] = meshes.triangle_ranges(shown.mesh, style.level, style.parts_visible());
            // Invisible triangles are drawn, the rest as edges only.
            let (which, ranges) = match style.look {
                DisplayMode::Hidden => (UNSEEN_PART, unseen),
                _ => (SURFACE, seen),
            };
            pass.set_bind_group(0, &self.bind_group, &[Self::offset(i, which)]);
            ranges.into_iter().for_each(|range| pass.draw_indexed(range, 0, 0..1));
        }
    }

    fn record_edges(
        &self,
        pass: &mut wgpu::RenderPass<'_>,
        meshes: &Meshes,
        shown: &[VisibleNode],
        style: Style,
    ) {
        pass.set_pipeline(&self.edge_lines);
        for (i, shown) in shown.iter().enumerate().filter(|(_, shown)| style.edges(shown.node)) {
            let Some(edges) = self.edges.get(&shown.mesh) else { continue };
            pass.set_bind_group(0, &self.bind_group, &[Self::offset(i, EDGES)]);
            pass.set_bind_group(1, &edges.bind_group, &[]);
            let [seen, _] = meshes.triangle_ranges(shown.mesh, style.level, style.parts_visible());
            // Two edge vertices per corner.
            seen.into_iter().for_each(|range| pass.draw(2 * range.start..2 * range.end, 0..1));
        }
    }

    /// Writes the uniforms of a picture.
    fn write(
        &mut self,
        document: &Document,
        shown: &[VisibleNode],
        camera: &Camera,
        style: Style,
        pixels: [u32; 2],
    ) {
        let wanted = UNIFORMS_PER_NODE * (shown.len() as u64 + 1);
        if wanted > self.uniform_capacity {
            self.uniform_capacity = wanted.next_power_of_two();
            let seen = size_of::<Uniform>() as u64;
            (self.uniforms, self.bind_group) =
                uniforms(&self.device, &self.bindings, self.uniform_capacity, seen);
        }
        let (view, clip) = (camera.view(), camera.projection(f64::from(pixels[0]) / f64::from(pixels[1])));
        let mut bytes = vec![0u8; (wanted * UNIFORM_STRIDE) as usize];
        let mut put = |node: usize, which: u64, uniform: Uniform| {
            let start = Self::offset(node, which) as usize;
            bytes[start..start + size_of::<Uniform>()].copy_from_slice(bytemuck::bytes_of(&uniform));
        };
        let plain = |world: DMat4| Uniform {
            clip: (clip * world).as_mat4().to_cols_array(),
            world: world.as_mat4().to_cols_array(),
            colour: [0.0, 0.0, 0.0, 1.0],
            look: 0,
            has_normals: 0,
            velocity_scale: (1.0 / document.size().max(1e-12)) as f32,
            light: LIGHT_FROM_EYE,
            up: view.transform_vector3(camera.up.axis()).extend(0.0).as_vec4().to_array(),
        };
        for (i, shown) in shown.iter().enumerate() {
            let level = document.meshes.as_ref().map_or(0, |meshes| meshes.level_of(shown.mesh, style.level));
            let [r, g, b] = style.look.colour(shown.mesh, shown.method, level);
            let has_normals = u32::from(shown.has_normals);
            let look = style.look.number();
            let (colour, light) = ([r, g, b, 1.0], style.light());
            let uniform = Uniform { colour, look, has_normals, light, ..plain(view * shown.world) };
            put(i, SURFACE, uniform);
            let [r, g, b] = HIDDEN_COLOUR;
            put(i, UNSEEN_PART, Uniform { colour: [r, g, b, 1.0], ..uniform });
            let colour = match style.look {
                _ if style.selected == Some(shown.node) => [0.9, 0.45, 0.02, 1.0],
                DisplayMode::Hidden => [0.2, 0.21, 0.22, 1.0],
                _ => [0.01, 0.01, 0.015, 1.0],
            };
            put(i, EDGES, Uniform { colour, ..uniform });
        }
        let lines = Uniform { look: LINES_IN_COLOURS, has_normals: 1, ..plain(view) };
        put(shown.len(), WORLD_LINES, lines);
        let coloured = Uniform { look: DisplayMode::Parts.number(), ..plain(view) };
        put(shown.len(), WORLD_BONES, coloured);
        put(shown.len(), WORLD_PARTICLES, Uniform { light: style.light(), ..coloured });
        self.queue.write_buffer(&self.uniforms, 0, &bytes);
    }

    fn prepare(
        &mut self,
        meshes: Option<&Meshes>,
        shown: &[VisibleNode],
        style: Style,
        errors: Option<&FrameErrors>,
    ) {
        let Some(meshes) = meshes else { return };
        for shown in shown.iter().filter(|shown| style.edges(shown.node)) {
            self.prepare_edges(meshes, shown.mesh);
        }
        self.prepare_overlays(meshes, shown, style.look, errors);
    }

    /// Computes overlay colours of vertices: the part with the most influence, or the error against the
    /// source.
    fn prepare_overlays(
        &mut self,
        meshes: &Meshes,
        shown: &[VisibleNode],
        look: DisplayMode,
        errors: Option<&FrameErrors>,
    ) {
        let most = shown.iter().map(|s| meshes.output.vertex_count(s.mesh)).max().unwrap_or(0);
        if self.blank.size() < 4 * u64::from(most) {
            self.blank = overlay(&self.device, &vec![error_heat(None); most as usize]);
        }
        let of = match look {
            DisplayMode::Parts => Some((look, None)),
            DisplayMode::Error => Some((look, errors.map(|errors| errors.frame))),
            _ => None,
        };
        if self.overlays_key != of {
            self.overlays.clear();
            self.overlays_key = of;
        }
        for shown in shown.iter().filter(|_| of.is_some()) {
            if self.overlays.contains_key(&shown.node) {
                continue;
            }
            let view = meshes.decoder().mesh(shown.mesh);
            let colours: Vec<[u8; 4]> = match look {
                DisplayMode::Parts => {
                    let bones = view.bones();
                    let of = |vertex| {
                        let bones = bones.as_ref()?;
                        bones.influences(vertex).max_by(|a, b| a.1.total_cmp(&b.1)).map(|(bone, _)| bone)
                    };
                    (0..view.vertex_count()).map(|vertex| part_colour(of(vertex))).collect()
                }
                _ => {
                    let own = errors.and_then(|e| e.nodes.iter().find(|own| own.node == shown.node));
                    let parts = own.map_or(&[][..], |own| &own.fractions);
                    (0..view.vertex_count()).map(|v| error_heat(parts.get(v).copied())).collect()
                }
            };
            if !colours.is_empty() {
                self.overlays.insert(shown.node, overlay(&self.device, &colours));
            }
        }
    }

    fn prepare_edges(&mut self, meshes: &Meshes, mesh: usize) {
        let (vertices, indices) = (meshes.output.vertices(mesh), meshes.output.indices(mesh));
        let of = (vertices.buffer().clone(), vertices.offset());
        if self.edges.get(&mesh).is_none_or(|edges| edges.vertices != of) {
            let bound = edges(&self.device, &self.edge_bindings, vertices, indices);
            self.edges.insert(mesh, Edges { vertices: of, bind_group: bound });
        }
    }

    fn prepare_bones(&mut self, document: &Document, beside: SourceComparison<'_>, style: Style) {
        let clips = document.clips.as_ref().filter(|_| style.bones);
        let decoded = clips.map(|clips| bones::solid(clips, document.size(), style.look, beside.clip));
        let source = clips.map(|_| bones::lines(beside.pose));
        self.bones = [decoded, source].map(|drawing| self.coloured_buffer(&drawing?));
    }

    fn prepare_floor(&mut self, document: &Document, up: Up) {
        if self.floor.as_ref().is_none_or(|floor| floor.0 != up) {
            self.floor = self.coloured_buffer(&floor(document.bounds, up)).map(|floor| (up, floor));
        }
    }

    fn prepare_contact(&mut self, document: &Document, camera: &Camera, style: Style) {
        self.has_contact = style.light() == LIGHT_WITH_CONTACT && document.meshes.is_some();
        self.front_depth = self.front_depth.take().filter(|_| self.has_contact);
        let Some(target) = self.target.as_ref().filter(|_| self.has_contact) else { return };
        let contact = self.contact.get_or_insert_with(|| ContactShading::new(&self.device));
        let floor = style.grid.then(|| document.bounds[0].dot(camera.up.axis()));
        contact.prepare((&self.device, &self.queue), target, camera, document.size(), floor);
        let has_bones = self.bones.iter().any(Option::is_some);
        if has_bones && self.front_depth.as_ref().is_none_or(|(size, _)| *size != target.size) {
            self.front_depth = Some((target.size, front_depth(&self.device, target.size)));
        }
    }

    fn coloured_buffer(&self, drawing: &Drawing) -> Option<ColouredBuffer> {
        let count = drawing.len();
        let vertices = bytemuck::cast_slice(&drawing.vertices);
        (count > 0).then(|| ColouredBuffer {
            vertices: filled_buffer(&self.device, vertices, wgpu::BufferUsages::VERTEX),
            colours: overlay(&self.device, &drawing.colours),
            count,
        })
    }

    /// Returns the last picture as RGBA.
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

/// Begins a pass over the target; with `resolved` it is the last one of a picture.
fn begin<'a>(
    encoder: &'a mut wgpu::CommandEncoder,
    target: &Target,
    depth_view: &wgpu::TextureView,
    (colour, depth): (wgpu::LoadOp<wgpu::Color>, wgpu::LoadOp<f32>),
    resolved: Option<&wgpu::TextureView>,
) -> wgpu::RenderPass<'a> {
    let store = if resolved.is_some() { wgpu::StoreOp::Discard } else { wgpu::StoreOp::Store };
    encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
        label: Some("draw"),
        color_attachments: &[Some(wgpu::RenderPassColorAttachment {
            view: &target.multi,
            depth_slice: None,
            resolve_target: resolved,
            ops: wgpu::Operations { load: colour, store },
        })],
        depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
            view: depth_view,
            depth_ops: Some(wgpu::Operations { load: depth, store }),
            stencil_ops: None,
        }),
        timestamp_writes: None,
        occlusion_query_set: None,
        multiview_mask: None,
    })
}
