#!/usr/bin/env bash
# Packs the program: FOLDER/meshreel-TARGET with the program, its completions, manual pages and licences, and
# the archive of it (pack.sh). With FBX and object stores, which builds from source leave out.
#   tools/release/program.sh FOLDER [TARGET]
# VIEWER=1: the viewer too. NOTICES: a folder with the licences of all that is linked (notices.sh). ZIG=1: see
# cargo.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
host=$(rustc -vV | sed -n 's/^host: //p')
target=${2:-$host}
built=${CARGO_TARGET_DIR:-target}/$target/release
packed=$1/meshreel-$target
notices=(program)

# Without symbols programs are a sixth smaller.
export CARGO_PROFILE_RELEASE_STRIP=symbols
tools/release/cargo.sh build "$target" --release -p meshreel-cli --features fbx,store
if [ -n "${VIEWER:-}" ]; then
    tools/release/cargo.sh build "$target" --release --manifest-path tools/viewer/Cargo.toml \
        --target-dir "${CARGO_TARGET_DIR:-target}"
    notices+=(viewer)
fi
rm -rf "$packed"
mkdir -p "$packed"
cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$packed"
for name in meshreel ${VIEWER:+meshreel-view}; do
    for file in "$built/$name" "$built/$name.exe"; do
        if [ -f "$file" ]; then cp "$file" "$packed"; fi
    done
done
if [ -n "${NOTICES:-}" ]; then
    for name in "${notices[@]}"; do cp "$NOTICES/THIRD_PARTY-$name.txt" "$packed"; done
fi
# A program for another processor or system cannot write them; the one of this machine can.
if [ "${target%-*}" = "${host%-*}" ]; then
    "$packed/meshreel" manual -o "$packed" --quiet
else
    cargo run --locked --release -p meshreel-cli -- manual -o "$packed" --quiet
fi
tools/release/pack.sh "$packed"
