#!/usr/bin/env bash
# The crate for Bevy: formats, lints, documentation, players in an app without a window, pictures, and a build for the
# web. Needs a C compiler and, for pictures, a Vulkan driver (Mesa's lavapipe will do; tests say that they are skipped
# without one). Cold, Bevy takes about ten minutes to build on two cores.
#   tests/bevy.sh
#   PICTURES=FOLDER tests/bevy.sh     keeps what was drawn
set -euo pipefail
cd "$(dirname "$0")/../integrations/bevy"
export XDG_RUNTIME_DIR=${XDG_RUNTIME_DIR:-/tmp} RUST_LOG=${RUST_LOG:-error}

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

step formatting
cargo fmt --check
step lints
cargo clippy --locked --all-targets -- -D warnings
step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps
step players
cargo test --locked --lib --doc
cargo test --locked --test all
step pictures
cargo test --locked --test pictures -- --test-threads 1
step "the web"
if rustc --print sysroot | xargs -I{} test -d {}/lib/rustlib/wasm32-unknown-unknown; then
    cargo check --locked --no-default-features --target wasm32-unknown-unknown
else
    echo "skipped: the target wasm32-unknown-unknown is not installed (rustup target add)"
fi
step done
