//! What graphics adapters are asked for.

use crate::timing;

/// The features of graphics cards that are used where they are there.
pub fn features(adapter: &wgpu::Adapter) -> wgpu::Features {
    adapter.features() & timing::clock()
}

/// What is said where nothing can draw.
pub const NO_ADAPTER: &str = "no graphics adapter: install the Vulkan driver of your card or, where there is no card, one that \
                          draws on the processor (mesa-vulkan-drivers on Debian, Ubuntu and Fedora, vulkan-swrast on \
                          Arch Linux)";
