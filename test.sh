#!/usr/bin/env bash
# The tests. `--all` adds what takes long and is run before a change is called done: all of the corpus, the
# model checker, builds without optional parts, fuzz targets (`FUZZ_SECONDS` each).
# Needs: Rust (stable) and a C and C++ compiler. `--all` installs cargo-fuzz when it is missing.
set -euo pipefail
cd "$(dirname "$0")"

# Fuzz targets that run here: those that reach all others' code. `fuzz/run.sh` runs all there are.
broad="whole_file ogawa clip"
fuzz_seconds=${FUZZ_SECONDS:-5}
all=${1:-}

MESHREEL_SKIPPED=$(mktemp)
export MESHREEL_SKIPPED
trap 'rm -f "$MESHREEL_SKIPPED"' EXIT
if [ "$all" = --all ]; then export MESHREEL_ALL=1; fi

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

step formatting
cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --all --check
cargo fmt --manifest-path crates/play/model/Cargo.toml --all --check
cargo fmt --manifest-path crates/gpu/on_adapter/Cargo.toml --check
cargo fmt --manifest-path bindings/c/header/Cargo.toml --check
cargo fmt --manifest-path tools/viewer/Cargo.toml --check
cargo fmt --manifest-path integrations/bevy/Cargo.toml --check
cargo fmt --manifest-path bindings/python/Cargo.toml --check

step lints
cargo clippy --locked --workspace --all-targets -- -D warnings

step tests
# Object stores bring a hundred packages: tests/store.sh tests them.
cargo test --locked --workspace --exclude meshreel-store --no-fail-fast

step "a game's runtime: no C code, no encoders"
# `meshreel-runtime-test` decodes golden files. Alone, it and the runtime have default features only.
for package in meshreel meshreel-runtime-test meshreel-c; do
    if cargo tree --locked -p $package -e normal,build --prefix none \
        | grep -E '^(cc|cmake|libdeflate|lz4-sys|lz4 |zstd)'; then
        echo "$package builds C code without being asked to" && exit 1
    fi
    if cargo tree --locked -p $package -e normal,features --prefix none \
        | grep 'meshreel-codec feature "encode"'; then
        echo "$package has encoders" && exit 1
    fi
done
# It decodes little, and is built sooner where less is made of it.
cargo test --locked -p meshreel-runtime-test --config 'profile.dev.package.meshreel-codec.opt-level=1'

step documentation
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps

if [ "$all" = --all ]; then
    step what threads share, under the model checker
    cargo test --locked --release --manifest-path crates/play/model/Cargo.toml

    step without the optional parts
    cargo check --locked -p meshreel-codec
    cargo check --locked -p meshreel-read --no-default-features

    step with the optional parts
    cargo test --locked -p meshreel --features tracing --test tracing
    cargo check --locked -p meshreel-bench --features gpu
    cargo test --locked -p meshreel-read --features fbx --test all fbx
    cargo test --locked -p meshreel-cli --features fbx --test all i22

    step fuzz targets
    cargo check --locked --manifest-path fuzz/Cargo.toml
    fuzz/run.sh "$fuzz_seconds" $broad
fi

step done
skipped=$(wc -l < "$MESHREEL_SKIPPED")
if [ "$skipped" -gt 0 ]; then
    echo "$skipped skipped: $(sed 's/^[^:]*: //' "$MESHREEL_SKIPPED" | sort | uniq -c | sort -rn \
        | awk '{n = $1; sub(/^ *[0-9]+ /, ""); printf "%s%s (%d)", sep, $0, n; sep = ", "}')"
fi
