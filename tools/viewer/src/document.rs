//! A file that is looked at: decoded on the CPU, put together on the card, played by a clock.

use crate::clock::Clock;
use crate::layout::layout;
use crate::streaming::Streaming;
use anyhow::{Context, bail};
use glam::{DMat4, DVec3};
use meshreel::record::Method;
use meshreel::{FrameDecoder, FrameView, Limits, Pace, Reel};
use meshreel_gpu::wgpu::{Budget, Decoded, Frames, GpuReel, Output, Shaders};
use std::path::{Path, PathBuf};

/// A file, two of its frames, and what lies between.
pub struct Document {
    /// The path that was asked for.
    pub path: PathBuf,
    pub reel: Reel,
    pub gpu: GpuReel,
    pub output: Output,
    first: FrameDecoder,
    second: FrameDecoder,
    /// Corners of a box around everything.
    pub bounds: [DVec3; 2],
    /// By node, whether the user hides it.
    pub hidden: Vec<bool>,
    pub clock: Clock,
    /// The player that streams it, where it is looked at that way; else it is decoded frame by frame.
    pub streaming: Option<Streaming>,
    /// Where the compiled file lies.
    reel_path: PathBuf,
    /// The frames that are shown.
    pair: [u32; 2],
    /// Bytes that went to the card for the last picture, and passes.
    pub update: meshreel_gpu::wgpu::Update,
    /// Where a compiled input lies as long as it is shown.
    _folder: Option<tempfile::TempDir>,
}

/// A node that is drawn.
pub struct Shown {
    pub node: usize,
    pub mesh: usize,
    pub world: DMat4,
    pub has_normals: bool,
    pub method: Method,
}

impl Document {
    /// Opens a `.reel` file.
    pub fn open(
        path: &Path,
        shown_as: &Path,
        folder: Option<tempfile::TempDir>,
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        shaders: &mut Shaders,
    ) -> anyhow::Result<Document> {
        let reel = Reel::open(path, &Limits::default())?;
        if reel.frame_count() == 0 || reel.description().meshes.is_empty() {
            bail!("{}: nothing to see: the file has no meshes", shown_as.display());
        }
        let (mut first, mut second) = (FrameDecoder::new(&reel)?, FrameDecoder::new(&reel)?);
        first.decode(0)?;
        second.decode(0)?;
        let view = FrameView::between(&first, &second, 0.0, Pace::default())?;
        let frames = Decoded { first: &first, second: &second, view };
        let bounds = bounds(&view);
        let gpu = GpuReel::new((device, queue), shaders, &frames, layout(), Budget::default())
            .with_context(|| format!("{} on the graphics card", shown_as.display()))?;
        let output = gpu.output(device, shaders);
        let clock = Clock {
            time: reel.time(0),
            playing: true,
            rate: 1.0,
            repeats: true,
            range: [0, reel.frame_count() - 1],
            interpolates: true,
        };
        let hidden = vec![false; reel.description().nodes.len()];
        let update = Default::default();
        Ok(Document {
            path: shown_as.into(),
            reel,
            gpu,
            output,
            bounds,
            first,
            second,
            hidden,
            streaming: None,
            reel_path: path.into(),
            pair: [0; 2],
            clock,
            update,
            _folder: folder,
        })
    }

    /// Times of the first and the last frame that are played.
    pub fn span(&self) -> [f64; 2] {
        self.clock.range.map(|frame| self.reel.time(frame))
    }

    /// The frame that is shown now, or begins what is shown.
    pub fn frame(&self) -> usize {
        let (mut low, mut high) = (0, self.reel.frame_count());
        while high - low > 1 {
            let middle = (low + high) / 2;
            // Times that were added up from frames' lengths are a little off.
            match self.reel.time(middle) <= self.clock.time + 1e-9 {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// Goes to a frame, as far as there are any.
    pub fn go_to(&mut self, frame: usize) {
        self.clock.time = self.reel.time(frame.min(self.reel.frame_count() - 1));
    }

    /// Lets time pass.
    pub fn tick(&mut self, seconds: f64) {
        if let Some(streaming) = &mut self.streaming {
            return streaming.advance(&mut self.clock, seconds);
        }
        let [start, end] = self.span();
        if !self.clock.playing || end <= start {
            return;
        }
        let time = self.clock.time + seconds * self.clock.rate;
        self.clock.time = match self.clock.repeats {
            true => start + (time - start).rem_euclid(end - start),
            false => time.clamp(start, end),
        };
        if !self.clock.repeats && (time <= start || time >= end) {
            self.clock.playing = (time <= start) != (self.clock.rate < 0.0);
        }
    }

    /// Plays it through a player with a heap of so many bytes, or, without, frame by frame again.
    pub fn stream(&mut self, heap: Option<usize>) -> anyhow::Result<()> {
        self.streaming = heap.map(|heap| Streaming::new(&self.reel_path, heap)).transpose()?;
        Ok(())
    }

    /// Decodes what the clock shows, records what makes its vertices, and tells what is to be drawn.
    pub fn prepare(
        &mut self,
        shaders: &Shaders,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
    ) -> anyhow::Result<Vec<Shown>> {
        if let Some(streaming) = &self.streaming {
            // Before the first frame is there, nothing is seen.
            let Some(shown) = streaming.shown() else { return Ok(Vec::new()) };
            let mut outputs = [(&mut self.output, &shown as &dyn Frames)];
            self.update = self.gpu.update(shaders, queue, encoder, &mut outputs)?;
            let pair = shown.pair();
            self.pair = [pair.first, pair.second];
            return Ok(self.list(&shown.view()));
        }
        let frame = self.frame();
        let next = (frame + 1).min(self.reel.frame_count() - 1);
        let (from, to) = (self.reel.time(frame), self.reel.time(next));
        let between = if to > from { (self.clock.time - from) / (to - from) } else { 0.0 };
        let blend = if self.clock.interpolates { between.clamp(0.0, 1.0) as f32 } else { 0.0 };
        if self.first.frame() != Some(frame) && self.second.frame() == Some(frame) {
            std::mem::swap(&mut self.first, &mut self.second);
        }
        for (decoder, wanted) in [(&mut self.first, frame), (&mut self.second, next)] {
            if decoder.frame() != Some(wanted) {
                decoder.decode(wanted)?;
            }
        }
        let pace = Pace { span: to - from, speed: 1.0 };
        let view = FrameView::between(&self.first, &self.second, blend, pace)?;
        let frames = Decoded { first: &self.first, second: &self.second, view };
        self.update = self.gpu.update(shaders, queue, encoder, &mut [(&mut self.output, &frames)])?;
        self.pair = [frame as u32, next as u32];
        Ok(self.list(&view))
    }

    /// What is drawn of a view.
    fn list(&self, view: &FrameView<'_>) -> Vec<Shown> {
        let description = self.reel.description();
        let mut out = Vec::new();
        for (node, record) in description.nodes.iter().enumerate() {
            let Some(mesh) = record.mesh.filter(|_| view.visible(node) && !self.hidden[node]) else {
                continue;
            };
            let mesh = mesh as usize;
            out.push(Shown {
                node,
                mesh,
                world: matrix(view.world(node)),
                has_normals: self.first.mesh(mesh).has_normals(),
                method: description.meshes[mesh].method,
            });
        }
        out
    }

    /// Decodes a frame, the one that is shown next.
    pub fn show(&mut self, frame: usize) -> anyhow::Result<&FrameDecoder> {
        self.first.decode(frame)?;
        Ok(&self.first)
    }

    /// The decoder of the frame that is shown, or begins what is shown.
    pub fn decoder(&self) -> &FrameDecoder {
        &self.first
    }

    /// Most levels of detail that a mesh has.
    pub fn levels(&self) -> usize {
        (0..self.reel.description().meshes.len()).map(|m| self.first.mesh(m).lods()).max().unwrap_or(1)
    }

    /// Indices that are drawn of a mesh: those of a level, of the finest only the triangles that can be seen, if
    /// wanted.
    pub fn drawn(&self, mesh: usize, level: usize, visible: bool) -> Vec<std::ops::Range<u32>> {
        let all = || vec![0..self.output.index_count(mesh)];
        let Some(own) = self.gpu.level(mesh, level) else { return all() };
        if !visible || level > 0 {
            return vec![own];
        }
        let ranges = self.first.mesh(mesh).visible_ranges(self.pair, None);
        ranges.map(|range| range.first..range.first + range.count).collect()
    }

    /// The node whose surface a ray meets first, in the frame that is shown.
    pub fn pick(&self, origin: DVec3, direction: DVec3) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        let mut points = Vec::new();
        for (node, record) in self.reel.description().nodes.iter().enumerate() {
            let shown = self.first.visible(node) && !self.hidden[node];
            let Some(mesh) = record.mesh.filter(|_| shown) else { continue };
            let view = self.first.mesh(mesh as usize);
            points.resize(3 * view.vertex_count(), 0.0f32);
            if view.positions_into(&mut points).is_err() {
                continue;
            }
            let own = matrix(self.first.world(node)).inverse();
            let (from, along) = (own.transform_point3(origin), own.transform_vector3(direction));
            let at = |i: u32| {
                points
                    .get(3 * i as usize..3 * i as usize + 3)
                    .map(|p| DVec3::new(p[0].into(), p[1].into(), p[2].into()))
            };
            for triangle in view.indices().as_chunks::<3>().0 {
                let [Some(a), Some(b), Some(c)] = triangle.map(at) else { continue };
                if let Some(t) = meets(from, along, [a, b, c])
                    && best.is_none_or(|(nearest, _)| t < nearest)
                {
                    best = Some((t, node));
                }
            }
        }
        best.map(|(_, node)| node)
    }

    /// Triangles of a mesh in the frame that is shown.
    pub fn indices(&self, mesh: usize) -> &[u32] {
        self.first.mesh(mesh).indices()
    }

    /// The length of the diagonal of its bounds.
    pub fn size(&self) -> f64 {
        let [low, high] = self.bounds;
        if low.cmple(high).all() { (high - low).length() } else { 1.0 }
    }
}

/// How far along a ray it meets a triangle (Möller, Trumbore, "Fast, minimum storage ray/triangle intersection", 1997).
fn meets(from: DVec3, along: DVec3, [a, b, c]: [DVec3; 3]) -> Option<f64> {
    let (e, f) = (b - a, c - a);
    let p = along.cross(f);
    let area = e.dot(p);
    let s = from - a;
    let u = s.dot(p) / area;
    let q = s.cross(e);
    let (v, t) = (along.dot(q) / area, f.dot(q) / area);
    (area != 0.0 && u >= 0.0 && v >= 0.0 && u + v <= 1.0 && t > 0.0).then_some(t)
}

/// World bounds of all meshes in all frames, as their nodes stand in the first.
fn bounds(view: &FrameView<'_>) -> [DVec3; 2] {
    let (mut low, mut high) = (DVec3::INFINITY, DVec3::NEG_INFINITY);
    for node in 0..view.reel().description().nodes.len() {
        if let Some([a, b, c, d, e, f]) = view.node_bounds(node) {
            low = low.min(DVec3::new(a.into(), b.into(), c.into()));
            high = high.max(DVec3::new(d.into(), e.into(), f.into()));
        }
    }
    [low, high]
}

/// A matrix of its rows.
pub fn matrix(rows: [[f64; 4]; 3]) -> DMat4 {
    let [x, y, z] = rows;
    DMat4::from_cols_array_2d(&[
        [x[0], y[0], z[0], 0.0],
        [x[1], y[1], z[1], 0.0],
        [x[2], y[2], z[2], 0.0],
        [x[3], y[3], z[3], 1.0],
    ])
}
