#!/usr/bin/env bash
# The Blender extension: it is packed with a wheel, installed in Blender as a Python module by Blender's own installer, and
# what that shows is held against the decoder; with the oldest version that it is for and the newest that there is.
#   tests/blender.sh [PYTEST ARGUMENTS]
# WHEELS: a folder with a wheel of the package that is built already. BLENDERS: versions of bpy, "4.2.0 5.0.1" by default; of those that
# cannot be had for this Python it says so. BLENDER_VENVS: a folder where environments are kept for the next time.
# Needs Python 3.11 with venv (Blender's own), packages that pip fetches (bpy, numpy, pytest; some 400 MB for each
# version) and, without WHEELS, what tools/release/wheel.sh needs.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}
blenders=${BLENDERS:-4.2.0 5.0.1}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
venvs=${BLENDER_VENVS:-$made/venvs}

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

if ! "$python" -c 'import sys, venv; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
    echo "missing: Python 3.11 with venv, for which Blender is a module; PYTHON names it" >&2
    exit 1
fi

if [ -z "${WHEELS:-}" ]; then
    step "the wheel"
    PYTHON=$python tools/release/wheel.sh "$made/wheels"
    WHEELS=$made/wheels
fi

step "the extension"
"$python" integrations/blender/build.py --wheels "$WHEELS" --out "$made/dist"
MESHREEL_EXTENSION=$(echo "$made"/dist/*.zip)
export MESHREEL_EXTENSION PYTHONDONTWRITEBYTECODE=1

ran=0
for version in $blenders; do
    step "Blender $version"
    # Blender 4 has NumPy 1 in it.
    case $version in 4.*) numpy='numpy==1.26.4' ;; *) numpy=numpy ;; esac
    use=$venvs/$version
    if [ ! -x "$use/bin/python" ]; then "$python" -m venv "$use"; fi
    if ! "$use/bin/pip" install --quiet "bpy==$version" "$numpy" pytest; then
        echo "missing: bpy $version for this Python and this system; not tested with it" >&2
        continue
    fi
    # No package of the environment's, but the one that is packed.
    env -u PYTHONPATH "$use/bin/python" -m pytest -p no:cacheprovider -q integrations/blender/tests "$@"
    ran=$((ran + 1))
done
if [ "$ran" -eq 0 ]; then
    echo "no version of Blender was there to test with" >&2
    exit 1
fi
step "passed with $ran versions of Blender"
