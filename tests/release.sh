#!/usr/bin/env bash
# What a release consists of, made here as the workflow makes it, and tested from the archive. Nothing is published.
#   tests/release.sh           everything
#   tests/release.sh PART…     crates, program, library
# What is missing for a part is said, and the part counts as skipped. Needs Rust and a C and C++ compiler.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/release-archives"
archives=$(cd "$target/release-archives" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
parts=${*:-crates program library}

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }

crates() {
    step "crates: each can be built from what would be published"
    # Cargo sorts them by their dependencies; tests of a crate need the repository.
    cargo publish --locked --dry-run --workspace --allow-dirty
    step "crates: README, licences and nothing that only the repository has"
    cargo metadata --locked --no-deps --format-version 1 > "$made/metadata.json"
    python3 tests/release/crates.py "$made/metadata.json" "$target/package"
}

program() {
    step "program: the archive"
    tools/release/program.sh "$archives"
    step "program: from the archive, in a home of its own, without Rust"
    archive=$(ls "$archives"/meshreel-*-*.tar.gz | grep -v meshreel-c- | head -1)
    tar -xzf "$archive" -C "$made"
    folder=$(ls -d "$made"/meshreel-*)
    mkdir "$made/home"
    (cd "$made/home" && env -i HOME="$made/home" PATH="$folder:/usr/bin:/bin" meshreel demo --quiet)
    ls "$made/home/demo"
    test -s "$folder/completions/meshreel.bash" && test -s "$folder/man1/meshreel.1"
}

library() {
    step "library: the archive"
    tools/release/library.sh "$made/library"
    tests/release/library.sh "$made/library"/meshreel-c-*.tar.gz
    step "library: the recipes of vcpkg and Conan"
    tools/release/recipes.sh "$made/library"
    tests/release/recipes.sh "$made/library"
}

for part in $parts; do "$part"; done
step done
