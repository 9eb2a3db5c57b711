#!/usr/bin/env bash
# Bytes and decoding time beside other codecs: builds, gets the peers, measures, and writes docs/COMPARISON.md (between
# its markers) and bench/peers/results.csv. Nothing is installed outside a folder of its own.
#   bench/peers/run.sh [--quick] [FILES]
# FILES: animations of one mesh each, in place of those of the page; then nothing is written but what is printed.
# --quick: one pass over each animation; sizes are the same, speeds are not, and nothing is written either.
# BENCH: the program meshreel-bench, built already. PEERS_ENV: a folder where packages are kept for the next time.
# BPY: version of bpy, 5.0.1 by default. Needs Rust; for Draco Node 18 or later with npm; for Alembic as Blender writes
# it Python 3.11 with venv. Rows of what is missing say "not measured".
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3.11}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
packages=${PEERS_ENV:-$made/packages}
mkdir -p "$packages" "$made/work"

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

repeat=10
target=(--csv bench/peers/results.csv --page docs/COMPARISON.md)
if [ "${1:-}" = --quick ]; then
    repeat=1
    target=()
    shift
fi

if [ -z "${BENCH:-}" ]; then
    step "the program"
    cargo build --locked --release -p meshreel-bench
    BENCH=${CARGO_TARGET_DIR:-target}/release/meshreel-bench
fi

step "animations"
if [ $# -gt 0 ]; then
    files=("$@")
    target=()
else
    "$BENCH" scenes "$made/scenes" --grid 10000
    inputs=testdata/inputs
    files=("$inputs/a_flag_wind.abc" "$inputs/d_snake_skinned.abc" "$inputs/c_wall_fracture_onemesh.abc"
        "$inputs/e_metaballs.abc" "$made/scenes/grid.obj")
fi
"$BENCH" peers "${files[@]}" --work "$made/work" --prepare

step "Draco"
if node --version && [ -d "$packages/node_modules/draco3d" ] ||
    npm install --prefix "$packages" --silent --no-audit --no-fund draco3d@1.5.9; then
    NODE_MODULES=$packages node bench/peers/draco.mjs "$made/work" "$((repeat > 5 ? 5 : repeat))"
else
    echo "missing: Node or the package draco3d; Draco is not measured" >&2
fi

step "Blender"
venv=$packages/python
if [ ! -x "$venv/bin/python" ]; then "$python" -m venv "$venv" || true; fi
if "$venv/bin/python" -c 'import bpy' 2>/dev/null || "$venv/bin/pip" install --quiet "bpy==${BPY:-5.0.1}" numpy; then
    env -u PYTHONPATH "$venv/bin/python" bench/peers/blender.py "$made/work" >"$made/blender.log" 2>&1 ||
        { cat "$made/blender.log" >&2; exit 1; }
else
    echo "missing: Python 3.11 or bpy ${BPY:-5.0.1} for this system; Alembic is not measured" >&2
fi

step "all others"
"$BENCH" peers "${files[@]}" --work "$made/work" --repeat "$repeat" ${target[@]+"${target[@]}"}
step "done"
