//! Requirements for graphics adapters.

use crate::timing;

/// Returns the optional features that are used if the adapter has them.
pub fn features(adapter: &wgpu::Adapter) -> wgpu::Features {
    adapter.features() & timing::timestamp_features()
}

/// The error message if no adapter can draw.
pub const NO_ADAPTER: &str = "no graphics adapter: install the Vulkan driver of your card or, where there is no card, one that \
                          draws on the processor (mesa-vulkan-drivers on Debian, Ubuntu and Fedora, vulkan-swrast on \
                          Arch Linux)";
