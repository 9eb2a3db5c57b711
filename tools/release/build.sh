#!/usr/bin/env bash
# Builds one package for a release: `cargo build --release` for a target, with more arguments of Cargo's.
#   tools/release/build.sh TARGET ARGUMENTS…
# With ZIG=1, cargo-zigbuild builds for Linux: against glibc 2.28, so that systems since 2018 can run the
# result, and statically against musl. A plain build asks for the glibc of the machine that builds.
set -euo pipefail
target=$1
shift
command=build triple=$target
if [ -n "${ZIG:-}" ]; then
    case $target in
    *-linux-gnu) command=zigbuild triple=$target.2.28 ;;
    *-linux-musl) command=zigbuild ;;
    esac
fi
exec cargo "$command" --locked --release --target "$triple" "$@"
