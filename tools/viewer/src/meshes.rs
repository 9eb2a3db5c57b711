//! The meshes of a file: two decoded frames, interpolated on the graphics card.

use crate::decoding::Decoding;
use crate::drawing::Drawing;
use crate::follow::{self, Extent};
use crate::layout::layout;
use crate::matrix::matrix;
use crate::streaming::Streaming;
use crate::{cameras, particles};
use glam::{DMat4, DVec3};
use meshreel::raw::record::Method;
use meshreel::{Camera, FrameDecoder, FrameView, MeshView, Pace, Reel};
use meshreel_gpu::wgpu::{Budget, DecoderPair, FrameSource, GpuReel, Output, Shaders, UpdateStatistics};
use std::ops::Range;

/// A file's meshes on the graphics card.
pub struct Meshes {
    reel: Reel,
    /// Pipelines of its compute passes.
    shaders: Shaders,
    pub gpu: GpuReel,
    pub output: Output,
    /// Decoders of the two current frames.
    decoders: [FrameDecoder; 2],
    /// Blend weight from the first to the second, and the seconds between them.
    blend_and_span: (f32, f64),
    /// Decodes on a thread of its own; without it, the caller waits for each frame.
    decoding: Option<Decoding>,
    /// The frames on the graphics card.
    uploaded: [u32; 2],
    /// Bytes uploaded for the last picture, and passes.
    pub update: UpdateStatistics,
    /// Recent maximum of decoding time in milliseconds: several frames may be decoded at once.
    pub decode_ms: f64,
    /// Particles, curves and cameras of the last moment shown: solids, and lines.
    pub particles: [Drawing; 2],
    /// Cameras of the file, and the size of their pyramids.
    cameras: (Vec<Camera>, f64),
}

/// Two frames, the blend weight from the first to the second, and the seconds between them.
#[derive(Clone, Copy)]
pub struct BlendedFrames {
    pub frame: usize,
    pub next: usize,
    pub blend: f32,
    pub span: f64,
}

/// The largest blend weight, which shows practically the second frame.
const MAX_BLEND: f32 = 1.0 - f32::EPSILON / 2.0;

/// Length of a camera as a fraction of the size of all meshes.
const CAMERA_SIZE: f64 = 0.06;

/// A node to draw.
pub struct VisibleNode {
    pub node: usize,
    pub mesh: usize,
    pub world: DMat4,
    pub has_normals: bool,
    pub method: Method,
}

/// The queue and the encoder that passes are recorded with.
type QueueAndEncoder<'a> = (&'a wgpu::Queue, &'a mut wgpu::CommandEncoder);

impl Meshes {
    /// Uploads the meshes; `decoders` hold the first frame.
    pub fn new(
        reel: &Reel,
        decoders: [FrameDecoder; 2],
        (device, queue): (&wgpu::Device, &wgpu::Queue),
    ) -> anyhow::Result<Meshes> {
        let [first, second] = &decoders;
        let mut shaders = Shaders::new(device);
        let view = FrameView::between(first, second, 0.0, Pace::default())?;
        let frames = DecoderPair { first, second, view };
        let gpu = GpuReel::new((device, queue), &mut shaders, &frames, layout(), Budget::default())?;
        let output = gpu.output(device, &shaders);
        let cameras = reel.cameras()?;
        let mut meshes = Meshes {
            reel: reel.clone(),
            shaders,
            gpu,
            output,
            decoders,
            blend_and_span: (0.0, 0.0),
            decoding: None,
            uploaded: [0; 2],
            update: UpdateStatistics::default(),
            decode_ms: 0.0,
            particles: Default::default(),
            cameras: (cameras, 1.0),
        };
        let [low, high] = meshes.bounds()?;
        let size = CAMERA_SIZE * (high - low).length();
        if size.is_finite() && size > 0.0 {
            meshes.cameras.1 = size;
        }
        Ok(meshes)
    }

    /// Returns the drawings of a moment that the viewer generates itself.
    fn draw(&self, view: &FrameView<'_>, hidden: &[bool]) -> anyhow::Result<[Drawing; 2]> {
        let mut drawings = particles::drawings(view, hidden)?;
        let (cameras, size) = &self.cameras;
        cameras::draw(view, cameras, *size, hidden, &mut drawings[1]);
        Ok(drawings)
    }

    /// Decodes on a thread of its own from now on; `done` is called whenever a frame is ready.
    pub fn decode_in_background(&mut self, done: impl Fn() + Send + 'static) {
        self.decoding = Some(Decoding::start(&self.reel, done));
    }

    /// Returns the world bounds of all meshes in all frames, with nodes as in the first one.
    pub fn bounds(&self) -> anyhow::Result<[DVec3; 2]> {
        let view = FrameView::between(&self.decoders[0], &self.decoders[1], 0.0, Pace::default())?;
        let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
        for node in 0..view.reel().description().nodes.len() {
            if let Some([a, b, c, d, e, f]) = view.node_bounds(node) {
                low = low.min(DVec3::new(a.into(), b.into(), c.into()));
                high = high.max(DVec3::new(d.into(), e.into(), f.into()));
            }
        }
        Ok([low, high])
    }

    /// Shows the frames that a player has in memory now; nothing before the first one.
    pub fn show_streamed(
        &mut self,
        streaming: &Streaming,
        hidden: &[bool],
        (queue, encoder): QueueAndEncoder<'_>,
    ) -> anyhow::Result<Vec<VisibleNode>> {
        let Some(shown) = streaming.shown() else { return Ok(Vec::new()) };
        let mut outputs = [(&mut self.output, &shown as &dyn FrameSource)];
        self.update = self.gpu.update(&self.shaders, queue, encoder, &mut outputs)?;
        let pair = shown.pair();
        self.uploaded = [pair.first, pair.second];
        self.particles = self.draw(&shown.view(), hidden)?;
        Ok(visible_nodes(&self.decoders[0], &shown.view(), hidden))
    }

    /// Shows a moment; with a decoding thread, the last one whose frames are ready.
    pub fn show(
        &mut self,
        moment: BlendedFrames,
        hidden: &[bool],
        (queue, encoder): QueueAndEncoder<'_>,
    ) -> anyhow::Result<Vec<VisibleNode>> {
        self.decode_moment(moment)?;
        let [first, second] = &self.decoders;
        let (blend, span) = self.blend_and_span;
        let view = FrameView::between(first, second, blend, Pace::new(span, 1.0))?;
        let frames = DecoderPair { first, second, view };
        self.update = self.gpu.update(&self.shaders, queue, encoder, &mut [(&mut self.output, &frames)])?;
        self.uploaded = [first, second].map(|decoder| decoder.frame().unwrap_or_default() as u32);
        self.particles = self.draw(&view, hidden)?;
        Ok(visible_nodes(first, &view, hidden))
    }

    /// Returns the extent of the picked node, or of all that moves, at the moment that is shown, and the time
    /// of that moment.
    pub fn extent(
        &self,
        hidden: &[bool],
        picked: Option<usize>,
    ) -> Result<Option<(Extent, f64)>, meshreel::Error> {
        let [first, second] = &self.decoders;
        let (blend, span) = self.blend_and_span;
        let view = FrameView::between(first, second, blend, Pace::new(span, 1.0))?;
        let time = self.reel.time(first.frame().unwrap_or_default()) + f64::from(blend) * span;
        Ok(follow::extent(&view, hidden, picked)?.map(|extent| (extent, time)))
    }

    /// Decodes the frames of a moment as far as necessary, or requests them.
    fn decode_moment(&mut self, moment: BlendedFrames) -> anyhow::Result<()> {
        let BlendedFrames { frame, next, blend, span } = moment;
        if let Some(decoding) = &mut self.decoding {
            let before = self.decoders.each_ref().map(FrameDecoder::frame);
            let there = decoding.swap_or_request(&mut self.decoders, [frame, next])?;
            let now = self.decoders.each_ref().map(FrameDecoder::frame);
            if let Some(took) = decoding.milliseconds.take() {
                self.decode_ms = took.max(self.decode_ms * 0.98);
            }
            if there {
                self.blend_and_span = (blend, span);
            } else if now[1] == Some(frame) {
                // The moment's first frame, held until the next one is ready.
                self.blend_and_span.0 = MAX_BLEND;
            } else if now != before {
                self.blend_and_span = (0.0, span);
            }
            return Ok(());
        }
        let [first, second] = &mut self.decoders;
        if first.frame() != Some(frame) && second.frame() == Some(frame) {
            std::mem::swap(first, second);
        }
        for (decoder, wanted) in [(first, frame), (second, next)] {
            if decoder.frame() != Some(wanted) {
                decoder.decode(wanted)?;
            }
        }
        self.blend_and_span = (blend, span);
        Ok(())
    }

    /// Decodes the frame that is shown next, and waits for it.
    pub fn decode(&mut self, frame: usize) -> anyhow::Result<&FrameDecoder> {
        self.decoders[0].decode(frame)?;
        Ok(&self.decoders[0])
    }

    /// Returns the decoder of the current frame, or of the first of the two that are interpolated.
    pub fn decoder(&self) -> &FrameDecoder {
        &self.decoders[0]
    }

    fn view(&self, mesh: usize) -> MeshView<'_> {
        self.decoders[0].mesh(mesh)
    }

    /// Returns the largest number of LOD levels of any mesh.
    pub fn lod_levels(&self) -> usize {
        (0..self.reel.description().meshes.len()).map(|m| self.view(m).lod_count()).max().unwrap_or(1)
    }

    /// Returns the LOD level to draw of a mesh: `level`, or its last one if it has fewer.
    pub fn level_of(&self, mesh: usize, level: usize) -> usize {
        level.min(self.view(mesh).lod_count() - 1)
    }

    /// Returns the number of triangles of a mesh's LOD level, and its largest distance to the mesh in any
    /// frame.
    pub fn level_facts(&self, mesh: usize, level: usize) -> (usize, f64) {
        let lod = self.view(mesh).lod(level);
        (lod.indices.len() / 3, lod.error.into())
    }

    /// Returns index ranges of a mesh in the order on the card: the drawn triangles, and those that cannot be
    /// seen, which are separated only for the finest level and if `apart`.
    pub fn triangle_ranges(&self, mesh: usize, level: usize, apart: bool) -> [Vec<Range<u32>>; 2] {
        let Some(own) = self.gpu.lod_range(mesh, level) else {
            let all = 0..self.output.index_count(mesh);
            return [Vec::from([all]), Vec::new()];
        };
        if !apart || self.level_of(mesh, level) > 0 {
            return [vec![own], Vec::new()];
        }
        let ranges = self.view(mesh).visible_ranges(self.uploaded, None);
        let seen: Vec<Range<u32>> = ranges.map(|range| range.first..range.first + range.count).collect();
        let (mut unseen, mut at) = (Vec::new(), own.start);
        for range in &seen {
            unseen.extend((at < range.start).then_some(at..range.start));
            at = range.end;
        }
        unseen.extend((at < own.end).then_some(at..own.end));
        [seen, unseen]
    }

    /// Returns the number of triangles of the file, and how many of them cannot be seen now.
    pub fn hidden_triangles(&self) -> [u32; 2] {
        let mut out = [0; 2];
        for mesh in 0..self.reel.description().meshes.len() {
            let [seen, unseen] = self.triangle_ranges(mesh, 0, true);
            let count = |ranges: &[Range<u32>]| ranges.iter().map(|r| r.end - r.start).sum::<u32>() / 3;
            out = [out[0] + count(&seen) + count(&unseen), out[1] + count(&unseen)];
        }
        out
    }
}

/// Returns the nodes of a view to draw.
fn visible_nodes(decoder: &FrameDecoder, view: &FrameView<'_>, hidden: &[bool]) -> Vec<VisibleNode> {
    let description = view.reel().description();
    let mut out = Vec::new();
    for (node, record) in description.nodes.iter().enumerate() {
        let Some(mesh) = record.mesh.filter(|_| view.visible(node) && !hidden[node]) else {
            continue;
        };
        let mesh = mesh as usize;
        out.push(VisibleNode {
            node,
            mesh,
            world: matrix(view.world(node)),
            has_normals: decoder.mesh(mesh).has_normals(),
            method: description.meshes[mesh].method,
        });
    }
    out
}
