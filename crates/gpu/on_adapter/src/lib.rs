//! A device and files for tests.

use meshreel::{Limits, Reel};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens the first adapter, with WebGPU's default limits and no features; `None` if there is none.
pub fn device() -> Option<(wgpu::Device, wgpu::Queue, String)> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter =
        pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).ok()?;
    let wanted = wgpu::DeviceDescriptor { required_limits: wgpu::Limits::default(), ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&wanted)).ok()?;
    Some((device, queue, adapter.get_info().name))
}

/// Reads back the first bytes of a part of a buffer.
pub fn read_buffer(
    device: &wgpu::Device,
    queue: &wgpu::Queue,
    from: wgpu::BufferSlice<'_>,
    bytes: u64,
) -> Vec<u8> {
    let target = device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(from.buffer(), from.offset(), &target, 0, bytes);
    queue.submit([encoder.finish()]);
    let slice = target.slice(..);
    slice.map_async(wgpu::MapMode::Read, |done| done.expect("mapped"));
    device.poll(wgpu::PollType::wait_indefinitely()).expect("the device works");
    slice.get_mapped_range().expect("mapped").to_vec()
}

/// Opens a file.
pub fn open(path: &Path) -> Reel {
    let bytes = std::fs::read(path).expect("a file");
    Reel::from_source(Arc::new(bytes), &Limits::default()).expect("a .reel file")
}

/// Returns the folder of the golden files.
pub fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../testdata/golden/v0")
}

/// Returns the files of `MESHREEL_GPU_FILES`, or the golden ones.
pub fn files() -> Vec<PathBuf> {
    let folder = std::env::var_os("MESHREEL_GPU_FILES").map_or_else(golden_folder, PathBuf::from);
    let all = std::fs::read_dir(folder).expect("a folder").map(|e| e.expect("readable").path());
    let mut out: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|e| e == "reel")).collect();
    // This file tests only the container; it is not a reel.
    out.retain(|path| !path.ends_with("container.reel"));
    out.sort();
    assert!(!out.is_empty(), "no files");
    out
}
