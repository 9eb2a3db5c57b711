#!/usr/bin/env bash
# Builds fuzz targets and runs each of them, all or those that are named: fuzz/run.sh SECONDS [TARGET…]
# Installs cargo-fuzz when it is missing. What is found lies in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:?usage: fuzz/run.sh SECONDS [TARGET…]}
shift

command -v cargo-fuzz >/dev/null || cargo install --locked cargo-fuzz
fuzz/seeds.sh

# cargo-fuzz passes flags that stable Rust keeps to itself; this lets the stable compiler take them.
export RUSTC_BOOTSTRAP=1
# The crates have no unsafe code, so by default nothing but panics, overflows, time and memory are watched, at full speed.
# FUZZ_SANITIZER=address looks into the C libraries behind the block formats as well.
sanitizer=${FUZZ_SANITIZER:-none}
# gcc keeps constant tables of C functions outside the stack and still marks them as out of scope: a false alarm in zstd.
[ "$sanitizer" = none ] || export CFLAGS="${CFLAGS:-} -fno-sanitize-address-use-after-scope"

if [ $# -gt 0 ]; then
    for target; do cargo fuzz build --sanitizer "$sanitizer" "$target"; done
else
    cargo fuzz build --sanitizer "$sanitizer"
    set -- $(cargo fuzz list)
fi
case " $* " in *" runtime "*) [ -n "$(ls fuzz/corpus/runtime 2>/dev/null)" ] || fuzz/forge_seeds.sh ;; esac
for target; do
    printf '\n-- %s, %s s\n' "$target" "$seconds"
    cargo fuzz run --sanitizer "$sanitizer" "$target" -- -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 -verbosity=0
done
