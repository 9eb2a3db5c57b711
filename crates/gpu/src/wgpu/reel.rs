//! A file on the card.

use crate::card::{Budget, CardReel, FrameSource};
use crate::layout::VertexLayout;
use crate::wgpu::access::Access;
use crate::wgpu::{Output, Shaders, UpdateStatistics, Wgpu};
use meshreel::{Error, InstanceId, Player, UpcomingFrame};

/// A file on the card: its static data, a ring of frames, and a ring of points that the card decodes.
pub type GpuReel = CardReel<Wgpu>;

impl GpuReel {
    /// Creates the buffers that all outputs of a file share; `frames` may be any of it. A limit error if the
    /// ring is too small for two frames or a mesh too large for a binding of the device, a misuse error if
    /// the layout is not possible.
    pub fn new(
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        shaders: &mut Shaders,
        frames: &dyn FrameSource,
        layout: VertexLayout,
        budget: Budget,
    ) -> Result<GpuReel, Error> {
        CardReel::create(&mut Access { device, queue, shaders, encoder: () }, frames, layout, budget)
    }

    /// Creates the buffers for the vertices of a moment.
    pub fn output(&self, device: &wgpu::Device, shaders: &Shaders) -> Output {
        self.output_on(&mut Access { device, queue: (), shaders, encoder: () })
    }

    /// Decodes on the card the frames that an instance shows and then, within `most_bytes` of uploads, those
    /// that it will show next. Call it before [`GpuReel::update`] for each instance of a file that was opened
    /// without points ([`meshreel::Limits::points`]). Does nothing for other files.
    pub fn decode(
        &mut self,
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        shaders: &Shaders,
        encoder: &mut wgpu::CommandEncoder,
        shown: (&Player, InstanceId),
        most_bytes: u64,
    ) -> Result<UpdateStatistics, Error> {
        self.decode_with(&mut Access { device, queue, shaders, encoder }, shown, most_bytes)
    }

    /// Uploads new frames for the moments of all outputs that are shown now, and records the passes that
    /// compute their vertices. A limit error if the ring cannot hold all of their frames at once.
    pub fn update(
        &mut self,
        shaders: &Shaders,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        outputs: &mut [(&mut Output, &dyn FrameSource)],
    ) -> Result<UpdateStatistics, Error> {
        self.update_with(&mut Access { device: (), queue, shaders, encoder }, outputs)
    }

    /// Uploads frames that will be shown, soonest first, while the card draws the current ones: at most
    /// `most_bytes`, and none that would replace a frame of the last [`GpuReel::update`]. Returns the bytes.
    pub fn prepare(
        &mut self,
        queue: &wgpu::Queue,
        frames: impl Iterator<Item = UpcomingFrame>,
        most_bytes: u64,
    ) -> Result<u64, Error> {
        let mut card = Access { device: (), queue, shaders: (), encoder: () };
        self.prepare_with(&mut card, frames, most_bytes)
    }
}
