#!/usr/bin/env bash
# The documents as a site: builds it (tools/site/build.sh) with its gallery and live demo, checks all links, and opens
# it in Chromium without a window.
#   tests/site.sh [FOLDER]       the site goes to target/site, or to FOLDER
# Needs mdBook 0.5 (`cargo install --locked mdbook`, or MDBOOK names it), Python 3.11, Node and npm; the program
# (target/release/meshreel, or MESHREEL_PROGRAM) and the modules of bindings/web/dist, which it builds if they are
# missing (Rust with the target wasm32-unknown-unknown); for tests of pages the package chromium (CHROMIUM names it).
# Without Chromium those tests count as skipped. No test uses the network.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

target=${CARGO_TARGET_DIR:-target}
site=${1:-target/site}
mdbook=${MDBOOK:-mdbook}
if ! command -v "$mdbook" > /dev/null; then
    echo "mdBook is missing: cargo install --locked mdbook (MDBOOK names another)" >&2 && exit 1
fi
step "tests of the scripts"
python3 -m unittest discover -s tests/site -t tests/site
if [ -z "${MESHREEL_PROGRAM:-}" ]; then
    step "the program"
    cargo build --locked --release -p meshreel-cli
    export MESHREEL_PROGRAM=$target/release/meshreel
fi
if [ ! -d bindings/web/node_modules ]; then
    step packages
    npm ci --prefix bindings/web --omit-lockfile-registry-resolved
fi
if [ ! -f bindings/web/dist/meshreel.gpu.wasm ] || [ ! -f bindings/web/dist/meshreel.worker.js ]; then
    step modules
    if command -v rustup > /dev/null; then rustup target add wasm32-unknown-unknown; fi
    bindings/web/build.sh
fi
step "the site"
tools/site/build.sh "$site"
step links
python3 tests/site/links.py "$site"
step "tests in Chromium"
SITE=$site node --test tests/site/site.test.js
step "done: $site/index.html"
