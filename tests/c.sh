#!/usr/bin/env bash
# The C interface: the header is that of its sources; programs in C99 and C++17 are compiled and run against the shared
# and the static library, and again with sanitizers; what they show of the conformance set is compared; and what of the
# release workflow this machine can do is done. What is missing for a part is said, and the part counts as skipped.
#   tests/c.sh [PROFILE]       release unless another profile of cargo's is named
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
profile=${1:-release}
folder=$profile
if [ "$profile" = dev ]; then folder=debug; fi
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/c"
target=$(cd "$target" && pwd)
made=$target/c
golden=$root/testdata/golden
examples=$root/bindings/c/examples
skipped=()

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }
skip() {
    echo "skipped: $1: $2" >&2
    skipped+=("$1")
}
has() { command -v "$1" >/dev/null 2>&1; }

cc=${CC:-cc}
cxx=${CXX:-c++}
for tool in "$cc" "$cxx" cargo; do
    has "$tool" || { echo "$tool is missing: install a C and C++ compiler (Debian, Ubuntu: gcc g++) and Rust" >&2 && exit 1; }
done
c99=("$cc" -g -O1 -std=c99 -Wall -Wextra -Werror -pedantic)
cpp17=("$cxx" -g -O1 -std=c++17 -Wall -Wextra -Werror -pedantic -pthread)
include=(-I "$root/bindings/c/include" -I "$examples")

step "the header is that of its sources"
cargo run --locked --quiet --manifest-path bindings/c/header/Cargo.toml --target-dir "$target/c/header" -- --check

step "no C code in the library"
if cargo tree --locked -p meshreel-c -e normal,build --prefix none \
    | grep -E '^(cc|cmake|libdeflate|lz4-sys|lz4 |zstd)'; then
    echo "meshreel-c builds C code" >&2 && exit 1
fi
if cargo tree --locked -p meshreel-c -e normal,features --prefix none | grep 'meshreel-codec feature "encode"'; then
    echo "meshreel-c has encoders" >&2 && exit 1
fi

step "the library"
cargo build --locked -p meshreel-c --profile "$profile"
case $(uname) in
Darwin) shared=libmeshreel_c.dylib system=(-framework CoreFoundation -liconv) ;;
*) shared=libmeshreel_c.so system=(-lgcc_s -lpthread -lm -ldl) ;;
esac
dynamic=(-L "$target/$folder" -lmeshreel_c "-Wl,-rpath,$target/$folder")
static=("$target/$folder/libmeshreel_c.a" "${system[@]}")
if has nm && [ "$(uname)" = Linux ]; then
    # Every function of the header is there, and nothing else of ours can be seen.
    nm -D --defined-only "$target/$folder/$shared" | awk '$2 == "T" {print $3}' | sort > "$made/exported"
    grep -oE '\bmr_[a-z0-9_]+\(' bindings/c/include/meshreel.h | tr -d '(' | sort -u \
        | grep -vxE 'mr_(new|open|free)' > "$made/declared"
    comm -3 "$made/exported" "$made/declared" > "$made/different"
    if [ -s "$made/different" ]; then
        echo "header and library differ:" && cat "$made/different" && exit 1
    fi
fi

# `build_and_run NAME LINKED FLAGS…`: compiles all programs, and runs them.
build_and_run() {
    local name=$1 kind=$2 out=$made/$1 link
    shift 2
    link=("${dynamic[@]}")
    if [ "$kind" = static ]; then link=("${static[@]}"); fi
    mkdir -p "$out"
    for program in digest play clips faults rigs conformance; do
        "${c99[@]}" "$@" "${include[@]}" "$examples/$program.c" "${link[@]}" -o "$out/$program"
    done
    "${cpp17[@]}" "$@" "${include[@]}" "$examples/wrapper.cpp" "${link[@]}" -o "$out/wrapper"
    tests/c_examples.sh "$out"
    "$out/conformance" "$root/testdata/conformance" > "$out/shown.json"
    if has python3; then python3 tools/conformance/check.py "$out/shown.json"; else skip conformance "no python3"; fi
}

step "programs with the shared library"
build_and_run shared dynamic
step "programs with the static library"
build_and_run static static
step "programs with sanitizers"
echo 'int main(void) { return 0; }' > "$made/empty.c"
if "${c99[@]}" -fsanitize=address,undefined "$made/empty.c" -o "$made/empty" 2>/dev/null && "$made/empty"; then
    leaks=1
    if [ "$(uname)" = Darwin ]; then leaks=0; fi
    ASAN_OPTIONS=detect_leaks=$leaks:abort_on_error=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        build_and_run sanitized static -fsanitize=address,undefined -fno-sanitize-recover=all
else
    skip sanitizers "the C compiler has none (Debian, Ubuntu: libasan8 libubsan1, with gcc)"
fi

step "levels of detail, rigs, part attributes"
# No golden file has any; the program makes some.
program=${MESHREEL:-$target/$folder/meshreel}
if [ -x "$program" ]; then
    "$program" compile -q testdata/inputs/c_wall_fracture_onemesh.abc -o "$made/levels.reel" --lod 3 --cull-hidden
    "$made/shared/wrapper" "$made/levels.reel" | tee "$made/levels"
    grep -q '4 levels' "$made/levels"
    "$program" compile -q --rig keep testdata/inputs/beam.glb -o "$made/rig.reel"
    "$program" compile -q testdata/inputs/j_visibility_particles.abc -o "$made/attributes.reel"
    for build in shared static sanitized; do
        if [ -x "$made/$build/rigs" ]; then "$made/$build/rigs" "$made/rig.reel" "$made/attributes.reel"; fi
    done
else
    skip "levels of detail, rigs, part attributes" "the program is not built (cargo build --release -p meshreel-cli, or MESHREEL=PROGRAM)"
fi

step "targets of the release workflow"
mapfile -t triples < <(grep -oE 'target: [a-z0-9_]+-[a-z0-9_-]+' .github/workflows/release.yml | awk '{print $2}' | sort -u)
[ "${#triples[@]}" -ge 10 ] || { echo "the release workflow names ${#triples[@]} targets" >&2 && exit 1; }
host=$(rustc -vV | awk '/^host:/ {print $2}')
for triple in "${triples[@]}"; do
    if [ "$triple" = "$host" ]; then
        echo "$triple: built above"
    elif has rustup && rustup target add "$triple" >/dev/null 2>&1; then
        cargo check --locked -p meshreel-c --target "$triple"
        echo "$triple: checked"
    else
        skip "$triple" "its standard library is not here (rustup target add $triple)"
    fi
done

step done
if [ "${#skipped[@]}" -gt 0 ]; then echo "${#skipped[@]} skipped: ${skipped[*]}"; fi
