#!/usr/bin/env bash
# The Python package: its wheel is built, installed into a clean environment and tested there; the program is built as
# well, whose files are compared.
#   tests/python.sh [PYTEST ARGUMENTS]
# MESHREEL_PROFILE: profile of cargo's, `release` unless another is named (`dev` builds sooner). PYTHON: which one.
# Needs Rust, a C and C++ compiler, Python 3.10 or later with venv, and the packages maturin, numpy, pytest and xxhash,
# which pip fetches.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${MESHREEL_PROFILE:-release}
python=${PYTHON:-python3}
folder=$profile
if [ "$profile" = dev ]; then folder=debug; fi
target=${CARGO_TARGET_DIR:-$PWD/target}
export CARGO_TARGET_DIR=$target
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

step "an environment that builds"
"$python" -m venv "$made/build"
"$made/build/bin/pip" install --quiet 'maturin>=1.9,<2'

step "the program"
cargo build --locked -p meshreel-cli --profile "$profile"
export MESHREEL_CLI=$target/$folder/meshreel

step "the wheel"
"$made/build/bin/maturin" build --locked --profile "$profile" --manifest-path bindings/python/Cargo.toml \
    --interpreter "$python" --out "$made/wheels"
ls -l "$made/wheels"

step "an environment that uses it"
"$python" -m venv "$made/use"
"$made/use/bin/pip" install --quiet "$made"/wheels/*.whl pytest xxhash

step "tests"
# Not from the folder of the sources, whose package has no native part.
cd "$made"
"$made/use/bin/python" -m pytest -c "$OLDPWD/bindings/python/pyproject.toml" --rootdir "$OLDPWD/bindings/python" \
    -p no:cacheprovider -q "$OLDPWD/bindings/python/tests" "$@"
