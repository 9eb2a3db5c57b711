#!/usr/bin/env bash
# Builds the documents, the gallery and the live demo as a site of plain files.
#   tools/site/build.sh FOLDER
# Needs mdBook (`cargo install --locked mdbook`, or MDBOOK names it), Python 3.11, Node, the program
# (target/release/meshreel, or MESHREEL_PROGRAM), and `bindings/web/dist` with the packages of `bindings/web`.
set -euo pipefail
cd "$(dirname "$0")/../.."

fail() { echo "build.sh: $*" >&2 && exit 1; }

[ $# -eq 1 ] || { echo "build.sh FOLDER" >&2 && exit 2; }
mkdir -p "$1"
site=$(cd "$1" && pwd)
mdbook=${MDBOOK:-mdbook}
program=${MESHREEL_PROGRAM:-${CARGO_TARGET_DIR:-target}/release/meshreel}
command -v "$mdbook" > /dev/null || fail "mdBook is missing: cargo install --locked mdbook"
[ -x "$program" ] || fail "$program is missing: cargo build --release -p meshreel-cli (MESHREEL_PROGRAM names another)"
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

python3 tools/site/stage.py "$made"
python3 tools/site/gallery.py "$program" "$made"
# mdBook only warns of some faults.
"$mdbook" build "$made" --dest-dir "$site" 2>&1 | tee "$made/log"
if grep -qE '(WARN|ERROR)' "$made/log"; then fail "mdBook has warned"; fi
node bindings/web/demo/build.js "$site/player" "$made/scenes/scenes.json"
