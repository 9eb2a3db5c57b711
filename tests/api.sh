#!/usr/bin/env bash
# The public interface of the runtime: crates/play/api.txt lists it, so that a change is seen in a diff.
#   tests/api.sh           fails if the interface differs from the list
#   tests/api.sh --store   writes the list
# Needs a nightly toolchain, for rustdoc's JSON, and cargo-public-api 0.52, which is installed when it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
list=crates/play/api.txt

cargo public-api --version >/dev/null 2>&1 || cargo install --locked cargo-public-api@0.52.0
made=$(mktemp)
trap 'rm -f "$made"' EXIT
cargo public-api --package meshreel --omit blanket-impls,auto-trait-impls,auto-derived-impls > "$made"
if [ "${1:-}" = --store ]; then
    cp "$made" "$list"
else
    diff -u "$list" "$made"
fi
