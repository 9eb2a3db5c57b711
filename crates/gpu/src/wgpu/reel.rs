//! A file on the card.

use crate::card::{Budget, CardReel, Frames};
use crate::layout::VertexLayout;
use crate::wgpu::access::Access;
use crate::wgpu::{Output, Shaders, Update, Wgpu};
use meshreel::{Ahead, Error, InstanceId, Player};

/// A file on the card: what no frame changes, a ring of frames, and one of points that the card decodes.
pub type GpuReel = CardReel<Wgpu>;

impl GpuReel {
    /// Makes what all outputs of a file share; `frames` are any of it. Limit where the ring is too small for two
    /// frames or a mesh too large for a binding of the device, misuse where the layout is not possible.
    pub fn new(
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        shaders: &mut Shaders,
        frames: &dyn Frames,
        layout: VertexLayout,
        budget: Budget,
    ) -> Result<GpuReel, Error> {
        CardReel::make(&mut Access { device, queue, shaders, encoder: () }, frames, layout, budget)
    }

    /// Room for the vertices of a moment.
    pub fn output(&self, device: &wgpu::Device, shaders: &Shaders) -> Output {
        self.output_on(&mut Access { device, queue: (), shaders, encoder: () })
    }

    /// Decodes on the card what an instance shows, then, within so many bytes that go up, what it will show next: of a
    /// file that was opened without points ([`meshreel::Limits::points`]), for each of its instances, before
    /// [`GpuReel::update`]. Does nothing of other files.
    pub fn decode(
        &mut self,
        (device, queue): (&wgpu::Device, &wgpu::Queue),
        shaders: &Shaders,
        encoder: &mut wgpu::CommandEncoder,
        shown: (&Player, InstanceId),
        most_bytes: u64,
    ) -> Result<Update, Error> {
        self.decode_with(&mut Access { device, queue, shaders, encoder }, shown, most_bytes)
    }

    /// Uploads what is new of the moments of all outputs that are shown now, and records what makes their vertices.
    /// Limit where the ring does not hold all of their frames at once.
    pub fn update(
        &mut self,
        shaders: &Shaders,
        queue: &wgpu::Queue,
        encoder: &mut wgpu::CommandEncoder,
        outputs: &mut [(&mut Output, &dyn Frames)],
    ) -> Result<Update, Error> {
        self.update_with(&mut Access { device: (), queue, shaders, encoder }, outputs)
    }

    /// Uploads frames that will be shown, soonest first, while the card draws those of now: at most so many bytes, and
    /// none that would take the place of what was asked for in the last [`GpuReel::update`]. Returns the bytes.
    pub fn prepare(
        &mut self,
        queue: &wgpu::Queue,
        frames: impl Iterator<Item = Ahead>,
        most_bytes: u64,
    ) -> Result<u64, Error> {
        let mut card = Access { device: (), queue, shaders: (), encoder: () };
        self.prepare_with(&mut card, frames, most_bytes)
    }
}
