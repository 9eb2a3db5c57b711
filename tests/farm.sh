#!/usr/bin/env bash
# One cache by many processes: Dask on this machine, an Open Job Description template, and what Slurm would run.
#   tests/farm.sh [PYTEST ARGUMENTS]
# MESHREEL_PROFILE: profile of cargo's, `release` unless another is named. MESHREEL_CLI: a program that is built already.
# Needs Rust, a C compiler, Python with venv, and the packages dask[distributed], openjd-cli and pytest, which pip fetches.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${MESHREEL_PROFILE:-release}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
if [ -z "${MESHREEL_CLI:-}" ]; then
    cargo build --locked -p meshreel-cli --profile "$profile"
    folder=$profile
    if [ "$profile" = dev ]; then folder=debug; fi
    MESHREEL_CLI=${CARGO_TARGET_DIR:-$PWD/target}/$folder/meshreel
fi
export MESHREEL_CLI
"${PYTHON:-python3}" -m venv "$made/python"
"$made/python/bin/pip" install --quiet 'dask[distributed]' openjd-cli pytest
"$made/python/bin/python" -m pytest -p no:cacheprovider -q tests/farm "$@"
