//! Measures GPU times by the graphics card's own clock, if it has one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the features of a device whose encoders write timestamps.
pub fn timestamp_features() -> wgpu::Features {
    wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS
}

/// Number of timestamps: before the passes that make vertices, after them, after drawing.
const STAMPS: u32 = 3;
const BYTES: u64 = 8 * STAMPS as u64;

/// Measures one picture at a time and reads the result later, so that nothing waits for it.
pub struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    read: wgpu::Buffer,
    /// Nanoseconds per tick.
    tick: f32,
    state: State,
    arrived: Arc<AtomicBool>,
    /// Smoothed times of the passes that make vertices and of drawing, in milliseconds.
    pub smoothed_ms: [f64; 2],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Recorded,
    Mapping,
}

impl Timer {
    /// Returns a timer; `None` if the device has no such clock.
    pub fn new(device: &wgpu::Device, queue: &wgpu::Queue) -> Option<Timer> {
        if !device.features().contains(timestamp_features()) {
            return None;
        }
        let buffer = |usage| {
            let label = Some("times");
            device.create_buffer(&wgpu::BufferDescriptor {
                label,
                size: BYTES,
                usage,
                mapped_at_creation: false,
            })
        };
        let ty = wgpu::QueryType::Timestamp;
        Some(Timer {
            queries: device.create_query_set(&wgpu::QuerySetDescriptor { label: None, ty, count: STAMPS }),
            resolved: buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC),
            read: buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST),
            tick: queue.get_timestamp_period(),
            state: State::Free,
            arrived: Arc::default(),
            smoothed_ms: [0.0; 2],
        })
    }

    /// Writes a timestamp, 0, 1 and then 2, unless the last result is still pending.
    pub fn stamp(&mut self, encoder: &mut wgpu::CommandEncoder, stamp: u32) {
        if self.state != State::Free {
            return;
        }
        encoder.write_timestamp(&self.queries, stamp);
        if stamp + 1 == STAMPS {
            encoder.resolve_query_set(&self.queries, 0..STAMPS, &self.resolved, 0);
            encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, BYTES);
            self.state = State::Recorded;
        }
    }

    /// Called after submission: requests the result, or takes it.
    pub fn submitted(&mut self, device: &wgpu::Device) {
        match self.state {
            State::Free => {}
            State::Recorded => {
                self.state = State::Mapping;
                let arrived = self.arrived.clone();
                let told = move |result: Result<_, _>| arrived.store(result.is_ok(), Ordering::Release);
                self.read.slice(..).map_async(wgpu::MapMode::Read, told);
            }
            State::Mapping => {
                // A lost device is reported elsewhere.
                drop(device.poll(wgpu::PollType::Poll));
                if self.arrived.swap(false, Ordering::Acquire) {
                    self.read_result();
                    self.read.unmap();
                    self.state = State::Free;
                }
            }
        }
    }

    fn read_result(&mut self) {
        let Ok(bytes) = self.read.slice(..).get_mapped_range() else { return };
        let mut stamps = [0u64; STAMPS as usize];
        for (stamp, bytes) in stamps.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *stamp = u64::from_le_bytes(*bytes);
        }
        for (k, took) in self.smoothed_ms.iter_mut().enumerate() {
            let ticks = stamps[k + 1].saturating_sub(stamps[k]);
            let milliseconds = ticks as f64 * f64::from(self.tick) * 1e-6;
            *took += (milliseconds - *took) * 0.2;
        }
    }
}
