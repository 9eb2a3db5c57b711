#!/usr/bin/env bash
# The tests that need a graphics adapter: every stage of the shader on it, against its twin on the CPU. A driver that
# computes without a card will do. Files of a folder instead of the bundled ones: MESHREEL_GPU_FILES=FOLDER tests/gpu.sh
set -euo pipefail
cd "$(dirname "$0")/.."

drivers=$(find /usr/share/vulkan/icd.d /etc/vulkan/icd.d -name '*.json' 2>/dev/null | head -1 || true)
if [ "$(uname)" = Linux ] && [ -z "$drivers" ]; then
    echo "no Vulkan driver: install that of your card, or mesa-vulkan-drivers (Debian, Ubuntu), which needs none" >&2
    exit 1
fi
cargo test --locked --release --manifest-path crates/gpu/on_adapter/Cargo.toml -- --nocapture
