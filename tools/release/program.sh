#!/usr/bin/env bash
# Packs the program: meshreel-TARGET.tar.gz with the program, its completions and manual pages, and licences, and its
# checksum beside it. With FBX and object stores, which builds from source leave out.
#   tools/release/program.sh FOLDER [TARGET]
# VIEWER=1: the viewer too.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1"
folder=$(cd "$1" && pwd)
host=$(rustc -vV | sed -n 's/^host: //p')
target=${2:-$host}
built=${CARGO_TARGET_DIR:-target}/$target/release
name=meshreel-$target

cargo build --locked --profile release -p meshreel-cli --features fbx,store --target "$target"
if [ -n "${VIEWER:-}" ]; then
    cargo build --locked --release --manifest-path tools/viewer/Cargo.toml --target "$target" --target-dir "${CARGO_TARGET_DIR:-target}"
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
mkdir "$made/$name"
cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md "$made/$name"
for program in meshreel meshreel-view; do
    for file in "$built/$program" "$built/$program.exe"; do
        if [ -f "$file" ]; then cp "$file" "$made/$name"; fi
    done
done
# A program for another machine is not run: its pages are those of the machine's own.
if [ "$target" = "$host" ]; then
    "$made/$name/meshreel" manual -o "$made/$name" --quiet
else
    cargo run --locked --release -p meshreel-cli -- manual -o "$made/$name" --quiet
fi
tar -C "$made" -czf "$folder/$name.tar.gz" "$name"
(cd "$folder" && if command -v sha256sum > /dev/null; then sha256sum "$name.tar.gz"; else shasum -a 256 "$name.tar.gz"; fi > "$name.tar.gz.sha256")
cat "$folder/$name.tar.gz.sha256"
