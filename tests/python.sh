#!/usr/bin/env bash
# The Python package: its wheel is built, checked, installed into a clean environment and tested there,
# without Rust in reach.
#   tests/python.sh [PYTEST ARGUMENTS]
# MESHREEL_PROFILE: profile of cargo's, `release` unless another is named (`dev` builds sooner). PYTHON: which
# one. WHEELS: a folder with a wheel that is built already. MESHREEL_CLI: the program, whose files are
# compared; without it, it is built.
# Needs Python 3.10 or later with venv, and packages that pip fetches: auditwheel, mypy, numpy, pytest, xxhash
# and dask[distributed]; without WHEELS also what tools/release/wheel.sh needs.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
profile=${MESHREEL_PROFILE:-release}
python=${PYTHON:-python3}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

step "tools"
"$python" -m venv "$made/tools"
"$made/tools/bin/pip" install --quiet auditwheel mypy numpy

if [ -z "${MESHREEL_CLI:-}" ]; then
    step "the program"
    folder=$profile
    if [ "$profile" = dev ]; then folder=debug; fi
    export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
    cargo build --locked -p meshreel-cli --profile "$profile"
    MESHREEL_CLI=$CARGO_TARGET_DIR/$folder/meshreel
fi
export MESHREEL_CLI

if [ -z "${WHEELS:-}" ]; then
    step "the wheel and the sources"
    WHEELS=$made/wheels
    MESHREEL_PROFILE=$profile PYTHON=$python tools/release/wheel.sh "$WHEELS"
fi
wheel=$(ls "$WHEELS"/meshreel-*.whl)
ls -l "$WHEELS"
"$python" bindings/python/tests/check_archives.py "$WHEELS"

step "the systems that the wheel is for"
if [ "$(uname)" = Linux ]; then
    # The tag says from which glibc on; the name of the wheel must not promise more.
    "$made/tools/bin/auditwheel" show "$wheel" | tee "$made/audit"
    tag=$(basename "$wheel" .whl | sed 's/.*-abi3-//; s/[.].*//')
    grep -qw "$tag" "$made/audit"
else
    echo "skipped: auditwheel is for Linux"
fi

step "types"
"$made/tools/bin/pip" install --quiet --no-deps "$wheel"
cd "$made"
types=(tools/bin/mypy --config-file "$root/bindings/python/pyproject.toml")
"${types[@]}" -p meshreel
"${types[@]}" "$root/bindings/python/tests/typed_use.py"

step "an environment that uses it, without Rust"
"$python" -m venv "$made/use"
"$made/use/bin/pip" install --quiet "$wheel" 'dask[distributed]' pytest xxhash
mkdir "$made/home"
alone=(env -i HOME="$made/home" PATH="$made/use/bin" MESHREEL_CLI="$MESHREEL_CLI")
# Not from the folder of the sources, whose package has no native part.
cd "$made/home"
"${alone[@]}" meshreel --version
"${alone[@]}" meshreel compile "$root/testdata/inputs/prism.glb" -o prism.reel
"${alone[@]}" meshreel verify "$root/testdata/inputs/prism.glb" prism.reel
flag=$root/testdata/inputs/a_flag_wind.abc
"${alone[@]}" python -m meshreel.farm "$flag" -o farm.reel --parts 2 --workers 2 -- --effort 1
"${alone[@]}" meshreel compile "$flag" -o alone.reel --effort 1 --quiet
cmp farm.reel alone.reel

step "tests"
"${alone[@]}" python -m pytest -c "$root/bindings/python/pyproject.toml" --rootdir "$root/bindings/python" \
    -p no:cacheprovider -q "$root/bindings/python/tests" "$@"
