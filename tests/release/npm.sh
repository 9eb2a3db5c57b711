#!/usr/bin/env bash
# Installs a packed npm package beside three.js in an empty folder, and decodes a file with it in Node.
#   tests/release/npm.sh FOLDER/meshreel-VERSION.tgz
set -euo pipefail
package=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/../.."
reel=$PWD/testdata/golden/v0/flag_small.reel
page=$(mktemp -d)
trap 'rm -rf "$page"' EXIT
cd "$page"
npm init --yes > /dev/null
npm install --silent "$package" three
node --input-type module --eval "
    import { readFileSync } from 'node:fs'
    import { open } from 'meshreel'
    await import('meshreel/three')
    const reel = await open(readFileSync('$reel'))
    console.log(reel.description.frames, 'frames')
    await reel.close()
    process.exit()"
