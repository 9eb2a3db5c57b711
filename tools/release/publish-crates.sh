#!/usr/bin/env bash
# Publishes all crates in the order of their dependencies, that for Bevy last, which has a workspace of its own. It
# leaves out those that are published in this version, and so can be run again after an interruption.
set -euo pipefail
cd "$(dirname "$0")/../.."
for manifest in Cargo.toml integrations/bevy/Cargo.toml; do
    missing=()
    while read -r name version; do
        if cargo info --quiet --registry crates-io "$name@$version" > /dev/null 2>&1; then
            echo "$name $version is published"
        else
            missing+=(--package "$name")
        fi
    done < <(cargo metadata --locked --no-deps --format-version 1 --manifest-path "$manifest" \
        | python3 -c 'import json, sys
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] is None: print(package["name"], package["version"])')
    if [ "${#missing[@]}" -gt 0 ]; then cargo publish --locked --manifest-path "$manifest" "${missing[@]}"; fi
done
