#!/usr/bin/env bash
# All checks, as the build machine runs them. `--no-fuzz` leaves out the fuzz targets.
# Needs: Rust (stable) and a C and C++ compiler. Installs cargo-fuzz when it is missing.
set -euo pipefail
cd "$(dirname "$0")"

# Fuzz targets that run here, each for so many seconds: those that reach all others' code. `fuzz/run.sh` runs all there are.
broad="whole_file ogawa clip"
fuzz_seconds=${FUZZ_SECONDS:-5}

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

step formatting
cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --all --check
cargo fmt --manifest-path crates/play/model/Cargo.toml --all --check

step lints
cargo clippy --locked --workspace --all-targets -- -D warnings

step tests
cargo test --locked --workspace

step what threads share, under the model checker
cargo test --locked --release --manifest-path crates/play/model/Cargo.toml

step without the optional parts
cargo check --locked -p meshreel-codec
cargo check --locked -p meshreel
if cargo tree --locked -p meshreel -e normal,build --prefix none | grep -E '^(cc|cmake|libdeflate|lz4-sys|lz4 |zstd)'; then
    echo "the runtime builds C code without being asked to" && exit 1
fi
if cargo tree --locked -p meshreel -e normal,features --prefix none | grep 'meshreel-codec feature "encode"'; then
    echo "the runtime has encoders" && exit 1
fi
cargo check --locked -p meshreel-scene --no-default-features

step with the optional parts
cargo test --locked -p meshreel --features tracing --test tracing

step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

if [ "${1:-}" = --no-fuzz ]; then
    step done, without the fuzz targets
    exit 0
fi

step fuzz targets
cargo check --locked --manifest-path fuzz/Cargo.toml
fuzz/run.sh "$fuzz_seconds" $broad

step done
