#!/usr/bin/env bash
# USD that `extract` writes, read by usd-core: each frame of a layer has the points of the same frame as .obj, in the
# binary form and as text, and usd-core's validators find nothing wrong.
#   tests/usd.sh [SOURCE…]     bundled sources where none is named; a character (.glb) is compiled with its rig
# MESHREEL_CLI: a program that is built already. Needs Rust, a C compiler, Python with venv, and the packages usd-core,
# numpy and scipy, which pip fetches.
set -euo pipefail
cd "$(dirname "$0")/.."
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
if [ -z "${MESHREEL_CLI:-}" ]; then
    cargo build --locked --release -p meshreel-cli
    MESHREEL_CLI=${CARGO_TARGET_DIR:-target}/release/meshreel
fi
python3 -m venv "$made/python"
"$made/python/bin/pip" install --quiet usd-core numpy scipy
inputs=testdata/inputs
if [ $# = 0 ]; then
    set -- $inputs/{a_flag_wind,d_snake_skinned,e_metaballs,g_scene_attributes,m_scale_shear,n_robot_bone_parented}.abc \
        $inputs/{beam,prism}.glb
fi
"$made/python/bin/python" tests/usd.py "$(realpath "$MESHREEL_CLI")" "$made" "$@"
