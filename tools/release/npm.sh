#!/usr/bin/env bash
# Builds the npm package: FOLDER/meshreel-VERSION.tgz.
#   tools/release/npm.sh FOLDER
# NOTICES: a folder with the licences of all that is linked (notices.sh). Needs Rust with the target
# wasm32-unknown-unknown, Node and npm.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../../bindings/web"
npm ci --omit-lockfile-registry-resolved
./build.sh
rm -f "$folder"/meshreel-*.tgz
npm pack --pack-destination "$folder"
