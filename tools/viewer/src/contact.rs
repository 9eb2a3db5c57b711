//! Contact shading: three passes after the surfaces, which darken them where others are near.

use crate::camera::{Camera, NEAR};
use crate::pipelines::{COLOUR_FORMAT, Target, texture};
use glam::DVec3;

/// Obscurance, and the distance from the eye.
const SHADE_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rg16Float;

/// As far as surfaces darken each other: as a fraction of the content's size, and of the picture's height.
const RADIUS: f64 = 0.1;
const RADIUS_IN_PICTURE: f64 = 0.11;

/// The uniforms of the passes.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
struct View {
    floor: [f32; 4],
    tangent: [f32; 2],
    pixels: [f32; 2],
    near: f32,
    radius: f32,
    part: f32,
    spare: f32,
}

/// The passes.
pub struct ContactShading {
    uniforms: wgpu::Buffer,
    /// Obscurance from depth, its blur, and the picture.
    pipelines: [wgpu::RenderPipeline; 3],
    sized: Option<Textures>,
}

/// Textures and bindings for a target.
struct Textures {
    size: [u32; 2],
    shades: [wgpu::TextureView; 2],
    bind_groups: [wgpu::BindGroup; 3],
}

impl ContactShading {
    pub fn new(device: &wgpu::Device) -> ContactShading {
        let module = device.create_shader_module(wgpu::include_wgsl!("contact.wgsl"));
        let pipeline = |fragment, format: wgpu::TextureFormat| {
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some(fragment),
                layout: None,
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some("whole"),
                    compilation_options: Default::default(),
                    buffers: &[],
                },
                primitive: wgpu::PrimitiveState::default(),
                depth_stencil: None,
                multisample: wgpu::MultisampleState::default(),
                fragment: Some(wgpu::FragmentState {
                    module: &module,
                    entry_point: Some(fragment),
                    compilation_options: Default::default(),
                    targets: &[Some(format.into())],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let uniforms = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("contact"),
            size: size_of::<View>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let passes = [("obscured", SHADE_FORMAT), ("blurred", SHADE_FORMAT), ("combined", COLOUR_FORMAT)];
        let pipelines = passes.map(|(fragment, format)| pipeline(fragment, format));
        ContactShading { uniforms, pipelines, sized: None }
    }

    /// Adapts to the target, and writes the uniforms of a picture of content of this size, with the lowest
    /// height of the content as its floor.
    pub fn prepare(
        &mut self,
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        target: &Target,
        camera: &Camera,
        size: f64,
        floor: Option<f64>,
    ) {
        if self.sized.as_ref().is_none_or(|textures| textures.size != target.size) {
            self.sized = Some(self.textures(device, target));
        }
        let [width, height] = target.size.map(f64::from);
        let tangent = (camera.angle / 2.0).tan();
        let plane = floor.and_then(|floor| floor_plane(camera, floor)).unwrap_or_default();
        let view = View {
            floor: plane.map(|v| v as f32),
            tangent: [tangent * width / height, tangent].map(|v| v as f32),
            pixels: [width as f32, height as f32],
            near: NEAR as f32,
            radius: (RADIUS * size / camera.distance) as f32,
            part: (RADIUS_IN_PICTURE * 2.0 * tangent) as f32,
            spare: 0.0,
        };
        queue.write_buffer(&self.uniforms, 0, bytemuck::bytes_of(&view));
    }

    fn textures(&self, device: &wgpu::Device, target: &Target) -> Textures {
        let shades = [(); 2].map(|()| {
            let usage = wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::TEXTURE_BINDING;
            texture(device, target.size, (SHADE_FORMAT, 1, usage)).create_view(&Default::default())
        });
        let view = |binding, view| wgpu::BindGroupEntry {
            binding,
            resource: wgpu::BindingResource::TextureView(view),
        };
        let uniforms = wgpu::BindGroupEntry { binding: 0, resource: self.uniforms.as_entire_binding() };
        let group = |pass: usize, entries: &[wgpu::BindGroupEntry<'_>]| {
            device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("contact"),
                layout: &self.pipelines[pass].get_bind_group_layout(0),
                entries,
            })
        };
        let (depth, colours) = (view(1, &target.depth), view(3, &target.multi));
        let [raw, blurred] = [&shades[0], &shades[1]].map(|shade| view(2, shade));
        let bind_groups = [
            group(0, &[uniforms.clone(), depth.clone()]),
            group(1, &[uniforms.clone(), raw]),
            group(2, &[uniforms, depth, blurred, colours]),
        ];
        Textures { size: target.size, shades, bind_groups }
    }

    /// Records the passes that look at the depth of surfaces, before lines are drawn.
    pub fn record_shades(&self, encoder: &mut wgpu::CommandEncoder) {
        let Some(textures) = &self.sized else { return };
        self.record(encoder, 0, &textures.shades[0]);
        self.record(encoder, 1, &textures.shades[1]);
    }

    /// Records the last pass, from the samples to the picture.
    pub fn record_picture(&self, encoder: &mut wgpu::CommandEncoder, picture: &wgpu::TextureView) {
        self.record(encoder, 2, picture);
    }

    fn record(&self, encoder: &mut wgpu::CommandEncoder, pass: usize, target: &wgpu::TextureView) {
        let Some(textures) = &self.sized else { return };
        let load =
            wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store };
        let mut render = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("contact"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: target,
                depth_slice: None,
                resolve_target: None,
                ops: load,
            })],
            depth_stencil_attachment: None,
            timestamp_writes: None,
            occlusion_query_set: None,
            multiview_mask: None,
        });
        render.set_pipeline(&self.pipelines[pass]);
        render.set_bind_group(0, &textures.bind_groups[pass], &[]);
        render.draw(0..3, 0..1);
    }
}

/// Returns the floor at a height as the camera sees it, its normal and w, in distances of the camera; `None`
/// from below.
fn floor_plane(camera: &Camera, height: f64) -> Option<[f64; 4]> {
    let view = camera.view();
    let normal = view.transform_vector3(camera.up.axis());
    let point = view.transform_point3(camera.up.axis() * height);
    let w = normal.dot(point) / camera.distance;
    let DVec3 { x, y, z } = normal;
    (w < 0.0).then_some([x, y, z, w])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::camera::Up;

    #[test]
    fn the_floor_is_below_the_eye() {
        for up in [Up::Y, Up::Z] {
            let mut camera = Camera { up, ..Camera::default() };
            camera.look_at(DVec3::splat(4.0), DVec3::new(1.0, 2.0, 0.5));
            let [x, y, z, w] = floor_plane(&camera, -2.0).unwrap();
            // The eye is at the origin, 6 above it.
            assert!((w * camera.distance + 6.0).abs() < 1e-9);
            let low = camera.view().transform_point3(DVec3::splat(-2.0)) / camera.distance;
            assert!((DVec3::new(x, y, z).dot(low) - w).abs() < 1e-9);
            assert_eq!(floor_plane(&camera, 4.5), None);
        }
    }
}
