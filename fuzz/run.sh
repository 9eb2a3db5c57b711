#!/usr/bin/env bash
# Builds all fuzz targets and runs each of them: fuzz/run.sh SECONDS [TARGET…]
# Installs cargo-fuzz when it is missing. What is found lies in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET…]}
shift

command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
fuzz/seeds.sh

# The sanitizer is not in stable Rust yet; this lets the stable compiler use it.
export RUSTC_BOOTSTRAP=1
# gcc keeps constant tables of C functions outside the stack and still marks them as out of scope: a false alarm in zstd.
export CFLAGS="${CFLAGS:-} -fno-sanitize-address-use-after-scope"

cargo fuzz build
[ $# -gt 0 ] || set -- $(cargo fuzz list)
for target; do
    printf '\n-- %s, %s s\n' "$target" "$seconds"
    cargo fuzz run "$target" -- -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -verbosity=0
done
