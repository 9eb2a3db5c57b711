#!/usr/bin/env bash
# Builds the package's files into dist/: the module with registers of 128 bits, one without for engines that
# lack them, and one with the plan of a graphics card for pages that have WebGPU; then the worker and the
# bundles (`bundle.js`).
#   bindings/web/build.sh [simd|scalar|gpu]      one module, simd first; all where none is named
# Needs a Rust with the target wasm32-unknown-unknown, and `npm ci` in this folder.
set -euo pipefail
cd "$(dirname "$0")"

fail() { echo "build.sh: $*" >&2 && exit 1; }

target=${CARGO_TARGET_DIR:-../../target}/web
features="--enable-bulk-memory --enable-nontrapping-float-to-int --enable-sign-ext --enable-mutable-globals
    --enable-reference-types --enable-multivalue"
case ${1:-all} in
all | simd | scalar | gpu) ;;
*) echo "build.sh [simd|scalar|gpu], not $1" >&2 && exit 2 ;;
esac
# Compiling takes minutes: what it needs is checked before.
command -v cargo >/dev/null || fail "Rust is missing: https://rustup.rs installs it"
[ -d "$(rustc --print target-libdir --target wasm32-unknown-unknown)" ] ||
    fail "Rust lacks the target wasm32-unknown-unknown: run rustup target add wasm32-unknown-unknown"
[ -f node_modules/binaryen/bin/wasm-opt ] && [ -d node_modules/esbuild ] ||
    fail "the packages binaryen and esbuild are missing: run npm ci in bindings/web"
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
    esac
done
node bundle.js
