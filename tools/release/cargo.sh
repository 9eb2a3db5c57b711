#!/usr/bin/env bash
# `cargo build` or `cargo rustc` for a target of a release.
#   tools/release/cargo.sh build|rustc TARGET ARGUMENTS…
# With ZIG=1, cargo-zigbuild does it for Linux: against glibc 2.28, so that systems since 2018 can run the
# result, and statically against musl. Cargo alone asks for the glibc of the machine that builds.
set -euo pipefail
command=$1 target=$2
shift 2
# Messages of panics name sources of dependencies, and must not name the folders of the machine that builds.
# RUSTFLAGS would replace the flags of a target.
flags=CARGO_TARGET_$(echo "$target" | tr 'a-z-' 'A-Z_')_RUSTFLAGS
export "$flags=${!flags:-} --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
case ${ZIG:+$target} in
*-linux-gnu) exec cargo-zigbuild "${command/build/zigbuild}" --locked --target "$target.2.28" "$@" ;;
*-linux-musl) exec cargo-zigbuild "${command/build/zigbuild}" --locked --target "$target" "$@" ;;
*) exec cargo "$command" --locked --target "$target" "$@" ;;
esac
