#!/usr/bin/env bash
# Codec, container and runtime on machines of other kinds: as WebAssembly in Node, with and without its registers of
# 128 bits, and for ARM under qemu. What is missing for a part is said, and the part counts as skipped.
#   tests/portable.sh                       builds and tests
#   tests/portable.sh --figures [FILE…]     speed of WebAssembly beside that of AVX2 on this machine, and instructions
#                                           on ARM beside those without kernels; of golden files where none are named
# A Rust with these targets comes from `rustup target add`. Where that has none, Debian's packages do: rustc-web
# cargo-web rust-web-src lld-19 (WebAssembly), libstd-rust-web-dev:arm64 (ARM).
set -euo pipefail

figures=
if [ "${1:-}" = --figures ]; then
    figures=1
    shift
    # Programs in WebAssembly know no folder that they are started in.
    if [ $# -gt 0 ]; then
        found=$(realpath -e -- "$@")
        mapfile -t files <<<"$found"
        set -- "${files[@]}"
    fi
fi
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}/portable
mkdir -p "$target"
target=$(cd "$target" && pwd)
skipped=()

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }
skip() {
    echo "skipped: $1: $2" >&2
    skipped+=("$1")
}
has() { command -v "$1" >/dev/null 2>&1; }
# Whether rustup has a target, or gets it.
rustup_has() { has rustup && rustup target add "$1" >/dev/null 2>&1; }
# The Rust of the distribution, which finds its targets in its own folder.
packaged() { PATH=/usr/bin:$PATH RUSTC=/usr/bin/rustc /usr/bin/cargo "$@"; }

# --- WebAssembly: `wasm TRIPLE FEATURES cargo's arguments`

bare=wasm32-unknown-unknown
wasi=wasm32-wasip1
from=
if rustup_has $bare && rustup_has $wasi; then
    from=rustup
elif [ -x /usr/bin/cargo ] && [ -d /usr/lib/rustlib/src/rust/library ] && has wasm-ld-19; then
    from=packages
fi
missing_wasm() {
    [ -n "$from" ] || { echo "neither rustup nor the packages rustc-web cargo-web rust-web-src lld-19 have its targets" && return; }
    has node || { echo "node is missing" && return; }
}
# Tests need these on top: their encoders are in C.
missing_wasi() {
    missing_wasm
    { has clang-19 || has clang; } || { echo "clang is missing (packages clang-19 libclang-rt-19-dev-wasm32)" && return; }
    [ -f /usr/lib/wasm32-wasi/libc.a ] || echo "a C library is missing (package wasi-libc)"
}
wasm() {
    local triple=$1 flags="-C target-feature=$2" command=$3
    shift 3
    # One thread collects garbage: with more, Node 20 ends now and then ("unreachable code") where memory grows.
    export CARGO_TARGET_WASM32_WASIP1_RUNNER="node --no-warnings --single-threaded-gc $PWD/tests/portable/wasi.mjs"
    export CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER="node $PWD/tests/portable/bare.mjs"
    local cc
    cc=$(command -v clang-19 || command -v clang || true)
    export CC_wasm32_wasip1="$cc" AR_wasm32_wasip1=llvm-ar CFLAGS_wasm32_wasip1="--target=wasm32-wasi --sysroot=/usr"
    has llvm-ar || AR_wasm32_wasip1=$(command -v llvm-ar-19 || command -v ar)
    local own="$target/wasm"
    if [ $triple = $wasi ] && [ -n "$cc" ] && [ -f /usr/lib/wasm32-wasi/libc.a ]; then
        # What lz4's package expects, and with the packages' C library, which is older than the standard library, that
        # too. What rustup brings links with a C library of its own.
        local own_libc=-DOWN_LIBC
        [ $from = rustup ] || own_libc=
        "$cc" --target=wasm32-wasi --sysroot=/usr -O1 $own_libc -c tests/portable/wasi.c -o "$target/wasi.o"
        flags="$flags -C link-arg=$target/wasi.o"
        [ $from = rustup ] || flags="$flags -L /usr/lib/wasm32-wasi -C link-arg=-lc -C link-self-contained=no \
            -C link-arg=/usr/lib/wasm32-wasi/crt1-command.o"
    fi
    if [ $from = rustup ]; then
        # Arguments after a lone `--` are the program's.
        RUSTFLAGS="$flags" CARGO_TARGET_DIR="$own" cargo $command --target $triple "$@"
    else
        RUSTFLAGS="$flags" CARGO_TARGET_DIR="$own" RUSTC_BOOTSTRAP=1 CARGO_UNSTABLE_BUILD_STD=std,panic_abort,panic_unwind \
            CARGO_TARGET_WASM32_WASIP1_LINKER=wasm-ld-19 CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19 \
            packaged $command --target $triple "$@"
    fi
}

# --- ARM

arm=aarch64-unknown-linux-gnu
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
# Its libraries are those of the linker's package: a machine that has others of this kind would find these first, and
# the loader of one with the C library of another does not start threads.
qemu="qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=/usr/aarch64-linux-gnu/lib"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$qemu
arm_from=
if rustup_has $arm; then
    arm_from=rustup
elif [ -d /usr/lib/rustlib/$arm ]; then
    arm_from=packages
fi
missing_arm() {
    [ -n "$arm_from" ] || { echo "neither rustup nor the package libstd-rust-web-dev:arm64 has its target" && return; }
    has aarch64-linux-gnu-gcc || { echo "a linker is missing (package gcc-aarch64-linux-gnu)" && return; }
    has qemu-aarch64 || echo "qemu-aarch64 is missing (package qemu-user)"
}
arm() {
    local command=$1
    shift
    # Arguments after a lone `--` are the program's.
    if [ $arm_from = rustup ]; then
        CARGO_TARGET_DIR="$target/arm" cargo $command --target $arm "$@"
    else
        CARGO_TARGET_DIR="$target/arm" packaged $command --target $arm "$@"
    fi
}

# --- Figures

example=(--locked --release -p meshreel-runtime-test --example figures)
# Fields of what the example prints: `field POSITIONS-OR-NORMALS OFFSET` of standard input.
field() { awk -v name="$1" -v off="$2" '{ for (i = 1; i <= NF; i++) if ($i == name) print $(i + off) }'; }
table() {
    local files=("$@") file what native page wasm_speed plain
    step "MB/s of f32 positions: AVX2, WebAssembly, WebAssembly without registers"
    for file in "${files[@]}"; do
        # Many turns: Node compiles what is used often, and takes its time.
        native=$(MESHREEL_AVX2=1 "$target/native/release/examples/figures" --repeat 60 "$file")
        page=(node --no-warnings tests/portable/wasi.mjs "$target/wasm/$wasi/release/examples/figures.wasm" --repeat 60)
        wasm_speed=$("${page[@]}" "$file")
        plain=$(MESHREEL_SCALAR=1 "${page[@]}" "$file")
        for what in positions normals; do
            [ -n "$(field $what 1 <<<"$native")" ] || continue
            if [ "$(field $what 2 <<<"$native")" != "$(field $what 2 <<<"$wasm_speed")" ]; then
                echo "$file: $what are others in WebAssembly" && exit 1
            fi
            awk -v name="$(basename "$file" .reel)" -v what=$what -v a="$(field $what 1 <<<"$native")" \
                -v b="$(field $what 1 <<<"$wasm_speed")" -v c="$(field $what 1 <<<"$plain")" \
                'BEGIN { printf "%-24s %-10s %7d %7d %7d   %.2f of AVX2\n", name, what, a, b, c, b / a }'
        done
    done
}
# Instructions of one more turn through a file, so that opening it does not count.
count() {
    local few many
    few=$($qemu -plugin "$target/count.so" "$@" --repeat 1 "$file" 2>&1 >/dev/null | sed -n 's/instructions: //p')
    many=$($qemu -plugin "$target/count.so" "$@" --repeat 3 "$file" 2>&1 >/dev/null | sed -n 's/instructions: //p')
    echo $(((many - few) / 2))
}
instructions() {
    local file
    step "ARM: millions of instructions, with kernels and without"
    cc -O2 -shared -fPIC -o "$target/count.so" tests/portable/count.c
    for file in "$@"; do
        local program="$target/arm/$arm/release/examples/figures" with without
        for what in positions normals; do
            with=$(count "$program" --only $what)
            without=$(MESHREEL_SCALAR=1 count "$program" --only $what)
            [ "$with" -gt 0 ] || continue
            awk -v name="$(basename "$file" .reel)" -v what=$what -v a="$with" -v b="$without" \
                'BEGIN { printf "%-24s %-10s %9.2f %9.2f   %.2f times fewer\n", name, what, a / 1e6, b / 1e6, b / a }'
        done
    done
}
if [ -n "$figures" ]; then
    golden=$PWD/testdata/golden/v0
    [ $# -gt 0 ] || set -- "$golden/flag_small.reel" "$golden/flag_fast.reel"
    step building
    CARGO_TARGET_DIR="$target/native" cargo build "${example[@]}"
    missing=$(missing_wasm)
    if [ -n "$missing" ]; then skip figures "$missing"; else
        wasm $wasi +simd128 build "${example[@]}"
        table "$@"
    fi
    missing=$(missing_arm)
    if [ -n "$missing" ]; then skip instructions "$missing"; else
        arm build "${example[@]}"
        instructions "$@"
    fi
    exit
fi

# --- Tests

# Some of what each property is tried with on other machines is enough: these are slow here.
export PROPTEST_CASES=${PROPTEST_CASES:-16}

missing=$(missing_wasm)
if [ -n "$missing" ]; then skip WebAssembly "$missing"; else
    for features in -simd128 +simd128; do
        step "a page: golden files decode and play, one thread, no imports ($features)"
        wasm $bare $features run --locked --release -p meshreel-runtime-test --example bare
    done
    missing=$(missing_wasi)
    if [ -n "$missing" ]; then skip "tests in WebAssembly" "$missing"; else
        step tests in WebAssembly
        wasm $wasi +simd128 test --locked -p meshreel-codec --lib -- --test-threads=1
        wasm $wasi +simd128 test --locked -p meshreel-format --lib
        wasm $wasi +simd128 test --locked -p meshreel --lib
        wasm $wasi +simd128 test --locked -p meshreel-runtime-test
    fi
fi

missing=$(missing_arm)
if [ -n "$missing" ]; then skip ARM "$missing"; else
    step tests for ARM
    # Those left out start their own program again, which the system does not know to be one for qemu.
    arm test --locked -p meshreel-codec -p meshreel-format --lib --tests -- --skip full_quota --skip killed_at_any_moment
    arm test --locked -p meshreel --lib --test all
    arm test --locked -p meshreel-runtime-test
fi

for other in x86_64-pc-windows-msvc aarch64-pc-windows-msvc aarch64-apple-darwin aarch64-apple-ios aarch64-linux-android; do
    if rustup_has $other; then
        step "the runtime for $other"
        CARGO_TARGET_DIR="$target/other" cargo check --locked -p meshreel --target $other
    else
        skip $other "rustup has no standard library for it here"
    fi
done

step done
[ ${#skipped[@]} -eq 0 ] || echo "${#skipped[@]} skipped: $(printf '%s, ' "${skipped[@]}" | sed 's/, $//')"
