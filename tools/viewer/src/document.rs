//! The open file: its meshes, its clips, and the current moment.

use crate::clips::Clips;
use crate::clock::Clock;
use crate::follow::{self, Extent};
use crate::meshes::{BlendedFrames, Meshes, VisibleNode};
use crate::sizes::SizeMeasurement;
use crate::streaming::Streaming;
use crate::style::Style;
use anyhow::Context;
use glam::DVec3;
use meshreel::clip::Clip;
use meshreel::{FrameDecoder, Reel};
use meshreel_compile::Report;
use std::path::PathBuf;
use std::sync::Arc;

/// An opened file that is not on the graphics card yet.
pub struct OpenedFile {
    /// The requested path, and the path of the compiled file.
    pub path: PathBuf,
    pub reel_path: PathBuf,
    pub reel: Reel,
    /// Two decoders of the first frame; `None` for a file without meshes.
    pub frames: Option<[FrameDecoder; 2]>,
    pub clips: Vec<Clip>,
    /// The compiler's report and the folder of the compiled file, if it was just compiled.
    pub report: Option<Report>,
    pub folder: Option<Arc<tempfile::TempDir>>,
}

/// An open file and its time. Without meshes, the time is that of the current clip.
pub struct Document {
    /// The requested path.
    pub path: PathBuf,
    /// Size in bytes of the file at `path`.
    pub path_bytes: u64,
    pub reel: Reel,
    pub meshes: Option<Meshes>,
    pub clips: Option<Clips>,
    /// The compiler's report, if the file was just compiled.
    pub report: Option<Report>,
    /// Corners of the bounds of everything.
    pub bounds: [DVec3; 2],
    /// `true` for each node that the user hides.
    pub hidden: Vec<bool>,
    pub clock: Clock,
    /// The player that streams the file, if this is switched on; else it is decoded frame by frame.
    pub streaming: Option<Streaming>,
    /// Sizes of meshes over all frames, once they are requested.
    pub sizes: Option<SizeMeasurement>,
    /// Path of the compiled file.
    reel_path: PathBuf,
    /// Folder of a compiled input, which exists as long as it is shown.
    _folder: Option<Arc<tempfile::TempDir>>,
}

impl Document {
    /// Uploads a file to the graphics card.
    pub fn new(ready: OpenedFile, card: (&wgpu::Device, &wgpu::Queue)) -> anyhow::Result<Document> {
        let OpenedFile { path, reel_path, reel, frames, clips, report, folder } = ready;
        let path_bytes = std::fs::metadata(&path).map_or(0, |found| found.len());
        let meshes = match frames {
            Some(frames) => Some(
                Meshes::new(&reel, frames, card)
                    .with_context(|| format!("{} on the graphics card", path.display()))?,
            ),
            None => None,
        };
        let clips = Clips::new(clips);
        let hidden = vec![false; reel.description().nodes.len()];
        let mut document = Document {
            path,
            path_bytes,
            reel,
            meshes,
            clips,
            report,
            bounds: [DVec3::ZERO; 2],
            hidden,
            clock: Clock::default(),
            streaming: None,
            sizes: None,
            reel_path,
            _folder: folder,
        };
        document.measure_bounds()?;
        document.rewind();
        Ok(document)
    }

    fn measure_bounds(&mut self) -> anyhow::Result<()> {
        self.bounds = match (&self.meshes, &mut self.clips) {
            (Some(meshes), _) => meshes.bounds()?,
            (None, Some(clips)) => clips.bounds()?,
            (None, None) => self.bounds,
        };
        Ok(())
    }

    /// Resets the range to all frames, and the time to the start.
    fn rewind(&mut self) {
        self.clock.range = [0, self.frame_count() - 1];
        self.clock.time = self.time(0);
    }

    /// Goes on where an older version of the file was, as far as this one has its clip, frames and nodes.
    pub fn resume(&mut self, before: &Document) -> anyhow::Result<()> {
        if let Some(clips) = &before.clips {
            self.choose_clip(clips.chosen())?;
        }
        let last = self.frame_count() - 1;
        let whole = before.clock.range == [0, before.frame_count() - 1];
        let range = if whole { [0, last] } else { before.clock.range.map(|frame| frame.min(last)) };
        self.clock = Clock { range, ..before.clock };
        let [start, end] = self.span();
        self.clock.time = self.clock.time.clamp(start, end.max(start));
        if self.hidden.len() == before.hidden.len() {
            self.hidden.clone_from(&before.hidden);
        }
        match &before.streaming {
            Some(streaming) => self.stream(Some(streaming.heap)),
            None => Ok(()),
        }
    }

    /// Shows another clip. The time of a file with meshes stays.
    pub fn choose_clip(&mut self, clip: usize) -> anyhow::Result<()> {
        if let Some(clips) = &mut self.clips {
            clips.choose(clip);
        }
        if self.meshes.is_none() {
            self.measure_bounds()?;
            self.rewind();
        }
        Ok(())
    }

    /// Returns the number of frames or, without meshes, of samples of the clip; at least 1.
    pub fn frame_count(&self) -> usize {
        match (&self.meshes, &self.clips) {
            (None, Some(clips)) => clips.samples(),
            _ => self.reel.frame_count().max(1),
        }
    }

    /// Returns the time of a frame in seconds.
    pub fn time(&self, frame: usize) -> f64 {
        match (&self.meshes, &self.clips) {
            (None, Some(clips)) => clips.time(frame),
            _ => self.reel.time(frame),
        }
    }

    /// Returns the times of the first and the last frame that are played.
    pub fn span(&self) -> [f64; 2] {
        self.clock.range.map(|frame| self.time(frame))
    }

    /// Returns the current frame, or the first of the two that are interpolated.
    pub fn frame(&self) -> usize {
        let (mut low, mut high) = (0, self.frame_count());
        while high - low > 1 {
            let middle = (low + high) / 2;
            // Times accumulated from frame durations are slightly off.
            match self.time(middle) <= self.clock.time + 1e-9 {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// Returns the current sample of the clip, or the first of the two that are interpolated.
    pub fn clip_sample(&self) -> usize {
        let Some(clips) = &self.clips else { return 0 };
        let at = (self.clock.time - clips.time(0)) * clips.played().fps();
        ((at + 1e-6).max(0.0) as usize).min(clips.samples() - 1)
    }

    /// Goes to a frame, limited to those that exist.
    pub fn go_to(&mut self, frame: usize) {
        self.clock.time = self.time(frame.min(self.frame_count() - 1));
    }

    /// Advances the time.
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

    /// Plays the file through a player with a heap of this size in bytes, or, with `None`, frame by frame.
    pub fn stream(&mut self, heap: Option<usize>) -> anyhow::Result<()> {
        self.streaming = heap.map(|heap| Streaming::new(&self.reel_path, heap)).transpose()?;
        Ok(())
    }

    /// Returns the frames around the clock's time.
    fn moment(&self) -> BlendedFrames {
        let frame = self.frame();
        let next = (frame + 1).min(self.frame_count() - 1);
        let (from, to) = (self.time(frame), self.time(next));
        let between = if to > from { (self.clock.time - from) / (to - from) } else { 0.0 };
        let blend = if self.clock.interpolates { between.clamp(0.0, 1.0) as f32 } else { 0.0 };
        BlendedFrames { frame, next, blend, span: to - from }
    }

    /// Decodes or requests the current moment, records the passes for its vertices, and returns the nodes to
    /// draw.
    pub fn prepare(
        &mut self,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
    ) -> anyhow::Result<Vec<VisibleNode>> {
        if let Some(clips) = &mut self.clips {
            clips.pose(self.clock.time, self.clock.interpolates)?;
        }
        let moment = self.moment();
        let Some(meshes) = &mut self.meshes else { return Ok(Vec::new()) };
        let card = (queue, encoder);
        match &self.streaming {
            Some(streaming) => meshes.show_streamed(streaming, &self.hidden, card),
            None => meshes.show(moment, &self.hidden, card),
        }
    }

    /// Returns the node and the joint that are picked.
    pub fn picked(&self, style: Style) -> [Option<usize>; 2] {
        let clips = self.clips.as_ref().filter(|_| style.bones);
        [style.selected, clips.and_then(|clips| clips.joint)]
    }

    /// Returns the extent of the picked joint or node, or of all that moves, at the moment that is shown, and
    /// the time of that moment; `None` if nothing is shown. The box of a joint is that of its skeleton.
    pub fn extent(&mut self, [node, joint]: [Option<usize>; 2]) -> anyhow::Result<Option<(Extent, f64)>> {
        let (time, hidden) = (self.clock.time, &self.hidden);
        let skeleton = self.clips.as_mut().filter(|_| joint.is_some() || self.meshes.is_none());
        if let Some(clips) = skeleton {
            clips.pose(time, self.clock.interpolates)?;
            let joints = (0..clips.played().joints()).map(|joint| clips.joint_position(joint));
            let whole = Extent::new(joints);
            let middle = joint.map(|joint| clips.joint_position(joint));
            return Ok(whole.map(|all| (Extent { middle: middle.unwrap_or(all.middle), ..all }, time)));
        }
        Ok(match (&self.meshes, &self.streaming) {
            (None, _) => None,
            (Some(meshes), None) => meshes.extent(hidden, node)?,
            (Some(_), Some(streaming)) => match streaming.shown() {
                Some(shown) => follow::extent(&shown.view(), hidden, node)?.map(|extent| (extent, time)),
                None => None,
            },
        })
    }

    /// Returns the largest number of LOD levels of any mesh.
    pub fn lod_levels(&self) -> usize {
        self.meshes.as_ref().map_or(1, Meshes::lod_levels)
    }

    /// Returns the length of the diagonal of its bounds.
    pub fn size(&self) -> f64 {
        let [low, high] = self.bounds;
        if low.cmple(high).all() && low != high { (high - low).length() } else { 1.0 }
    }

    /// Returns its length unit, with a space before it.
    pub fn unit(&self) -> &'static str {
        match self.reel.description().unit {
            1 => " m",
            2 => " cm",
            3 => " mm",
            4 => " in",
            _ => "",
        }
    }
}
