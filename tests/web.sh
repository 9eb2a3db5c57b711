#!/usr/bin/env bash
# The web door: builds both modules and runs their tests, in Node and in Chromium without a window.
#   tests/web.sh                 builds and tests
#   tests/web.sh --figures       speed of the module beside that of the native runtime
# Needs Rust with the target wasm32-unknown-unknown, Node and npm; for browser tests the package chromium, for pictures
# the program (target/release/meshreel, or MESHREEL_PROGRAM). What is missing is said, and its tests count as skipped.
set -euo pipefail
cd "$(dirname "$0")/../bindings/web"

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

if command -v rustup >/dev/null && ! rustup target add wasm32-unknown-unknown; then
    echo "the target wasm32-unknown-unknown cannot be had" >&2 && exit 1
fi
step packages
npm ci --omit-lockfile-registry-resolved
step modules
./build.sh
for module in dist/*.wasm; do
    size=$(gzip -9 -c "$module" | wc -c)
    [ "$size" -le $((560 << 10)) ] || { echo "$module has $size bytes compressed" >&2 && exit 1; }
done
if [ "${1:-}" = --figures ]; then
    step figures
    node test/figures.js
    exit
fi
step types
npx tsc --noEmit --strict --skipLibCheck --module nodenext --target es2022 --lib es2022,dom src/index.d.ts \
    src/webgpu.d.ts
step tests in Node
npm run test:node
step "tests in Chromium"
npm run test:browser
step done
