#!/usr/bin/env bash
# The web package: builds the modules and runs their tests, in Node and in Chromium without a window.
#   tests/web.sh                 builds and tests
#   tests/web.sh --figures       speed of the module beside that of the native runtime
# Needs Rust with the target wasm32-unknown-unknown, Node and npm; for browser tests the package chromium, for
# pictures the program (target/release/meshreel, or MESHREEL_PROGRAM), for bundlers npm's registry. What is
# missing is said, and its tests count as skipped.
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
# Bytes with gzip that each may have: what they had when this was written, and 2 % more.
while read -r module most; do
    size=$(gzip -9 -c "dist/$module" | wc -c)
    [ "$size" -le "$most" ] || { echo "$module has $size bytes compressed, more than $most" >&2 && exit 1; }
done <<END
meshreel.wasm 517900
meshreel.scalar.wasm 494300
meshreel.gpu.wasm 576000
END
if [ "${1:-}" = --figures ]; then
    step figures
    node test/figures.js
    exit
fi
step types
npx tsc --noEmit --strict --skipLibCheck --module nodenext --target es2022 --lib es2022,dom src/index.d.ts \
    src/three.d.ts src/webgpu.d.ts src/inline.d.ts
step tests in Node
npm run test:node
step "tests in Chromium"
npm run test:browser
step "tests of bundlers, the files for pages without one, and examples"
npm run test:bundlers
step done
