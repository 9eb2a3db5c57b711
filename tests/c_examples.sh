#!/usr/bin/env bash
# Runs programs that were built of bindings/c/examples over golden files.
#   tests/c_examples.sh FOLDER       with the programs
set -euo pipefail
programs=$(cd "$1" && pwd)
golden=$(cd "$(dirname "$0")/../testdata/golden" && pwd)
# shellcheck disable=SC2046
(cd "$golden/v0" && "$programs/digest" $(awk '{print $2}' DIGESTS)) | diff - "$golden/v0/DIGESTS"
# shellcheck disable=SC2046
(cd "$golden/clips" && "$programs/clips" $(awk '{print $2}' DIGESTS)) | diff - "$golden/clips/DIGESTS"
cd "$golden/v0"
"$programs/play" flag_small.reel wall_fast.reel robot_small.reel
"$programs/faults" flag_small.reel "$programs/scratch.reel"
"$programs/wrapper" everything_zstd.reel wall_fast.reel snake_small.reel
