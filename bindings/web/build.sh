#!/usr/bin/env bash
# Builds the modules of the npm package into dist/: with registers of 128 bits, and without for engines that lack them;
# and one with the plan of a graphics card, for pages that have WebGPU.
#   bindings/web/build.sh [simd|scalar|gpu]      one of them; all where none is named
# Needs a Rust with the target wasm32-unknown-unknown (`rustup target add wasm32-unknown-unknown`) and `npm ci` in this
# folder, for wasm-opt.
set -euo pipefail
cd "$(dirname "$0")"

target=${CARGO_TARGET_DIR:-../../target}/web
features="--enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals
    --enable-reference-types --enable-multivalue"
mkdir -p dist

build() {
    local name=$1 flags=$2 more=$3
    shift 3
    RUSTFLAGS="$flags -C link-arg=--import-memory -C link-arg=--stack-first" CARGO_TARGET_DIR="$target" \
        cargo build --locked --profile web -p meshreel-web --target wasm32-unknown-unknown "$@"
    local made="$target/wasm32-unknown-unknown/web/meshreel_web"
    node trim.js "$made.wasm" "$made.trimmed.wasm"
    node node_modules/binaryen/bin/wasm-opt -Os $features $more --strip-debug --strip-producers \
        --strip-target-features "$made.trimmed.wasm" -o "dist/$name"
    printf '%s: %d bytes, %d gzip\n' "$name" "$(wc -c <"dist/$name")" "$(gzip -9 -c "dist/$name" | wc -c)"
}

for which in ${1:-simd scalar gpu}; do
    case $which in
    simd) build meshreel.wasm "-C target-feature=+simd128" --enable-simd ;;
    scalar) build meshreel.scalar.wasm "" "" ;;
    gpu) build meshreel.gpu.wasm "-C target-feature=+simd128" --enable-simd --features gpu ;;
    *) echo "build.sh [simd|scalar|gpu], not $which" >&2 && exit 2 ;;
    esac
done
