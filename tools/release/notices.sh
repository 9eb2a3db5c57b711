#!/usr/bin/env bash
# For each part of a release: the licences of the packages linked into it, FOLDER/THIRD_PARTY-PART.txt, and
# their inventory in CycloneDX, FOLDER/meshreel-PART.cdx.json.
#   tools/release/notices.sh FOLDER
# Needs cargo-about 0.9 and cargo-cyclonedx 0.5, which, unlike cargo-sbom, describes one package with chosen
# features, without what only its tests need.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1"
folder=$(cd "$1" && pwd)

describe() {
    local part=$1 manifest=$2
    shift 2
    cargo about generate --locked --config tools/release/about.toml --manifest-path "$manifest" "$@" \
        --output-file "$folder/THIRD_PARTY-$part.txt" tools/release/about.hbs
    cargo cyclonedx --quiet --manifest-path "$manifest" --format json --spec-version 1.5 --target all "$@" \
        --override-filename release-inventory
    mv "$(dirname "$manifest")/release-inventory.json" "$folder/meshreel-$part.cdx.json"
    # It writes one for each package of the workspace.
    git ls-files -z '*Cargo.toml' | xargs -0 -n 1 dirname | sed 's|$|/release-inventory.json|' | xargs rm -f
}

describe program tools/cli/Cargo.toml --features "fbx store"
describe viewer tools/viewer/Cargo.toml
describe library bindings/c/Cargo.toml
describe python bindings/python/Cargo.toml
describe web bindings/web/wasm/Cargo.toml --features gpu
ls -l "$folder"
