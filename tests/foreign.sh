#!/usr/bin/env bash
# Other people's files: each one of a folder is compiled, verified, taken back and compared with an independent reader:
# usd-core for USD, ufbx's evaluation for FBX, an evaluator in Python for glTF, Blender's importer for Alembic. What differs
# is printed, and a table of all outcomes.
#   tests/foreign.sh FOLDER [--baseline FILE [--store]] [--jobs N]
# With a baseline it fails where an outcome is another one than there; a baseline that is not there yet is stored.
# MESHREEL: the program with FBX, built already. FOREIGN_VENV: a folder where the environment is kept for the next time.
# BPY=1 takes Blender as well. Needs Python 3.11 with venv; pip fetches usd-core, numpy, scipy (and bpy).
set -euo pipefail
if [ $# -lt 1 ]; then
    sed -n '2,/^set/p' "$0" | sed '$d; s/^# \?//' >&2
    exit 2
fi
folder=$(cd "$1" && pwd)
shift
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
venv=${FOREIGN_VENV:-$made/venv}
target=${CARGO_TARGET_DIR:-target}

if [ -z "${MESHREEL:-}" ]; then
    cargo build --locked --release -p meshreel-cli --features fbx
    MESHREEL=$target/release/meshreel
fi
if [ ! -x "$venv/bin/python" ]; then "${PYTHON:-python3}" -m venv "$venv"; fi
"$venv/bin/pip" install --quiet usd-core numpy scipy
more=()
if [ -f tests/oracles/fbx/Cargo.toml ] && [ -n "$(find "$folder" -iname '*.fbx' -print -quit)" ]; then
    cargo build --release --manifest-path tests/oracles/fbx/Cargo.toml --target-dir "$target/oracle"
    more+=(--fbx "$target/oracle/release/meshreel-fbx-oracle")
fi
if [ "${BPY:-}" = 1 ]; then
    if [ ! -x "$venv-bpy/bin/python" ]; then "${PYTHON:-python3}" -m venv "$venv-bpy"; fi
    "$venv-bpy/bin/pip" install --quiet bpy==4.2.0 'numpy==1.26.4'
    more+=(--blender-python "$venv-bpy/bin/python")
fi
"$venv/bin/python" tests/foreign.py "$folder" --program "$(realpath "$MESHREEL")" "${more[@]}" "$@"
