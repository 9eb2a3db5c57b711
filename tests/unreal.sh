#!/usr/bin/env bash
# The plugin for Unreal Engine: compiled with stand-ins for the engine's headers and run against the library on
# files, again with sanitizers, and with a library of another version; compiled for versions of the engine whose
# interfaces differ, with and without the editor. Needs a compiler of C++20 and Python 3; takes some four minutes
# on two cores. The library and the program are those of `cargo build --release`, and are built if absent.
# With a compiler without sanitizers these are skipped, which the last line says.
#   tests/unreal.sh [--each]               --each: compiles each source by itself as well
#   CXX=clang++ CC=clang tests/unreal.sh
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
plugin=$root/integrations/unreal
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/unreal"
target=$(cd "$target" && pwd)
built=$target/release
out=$target/unreal
made=$out/made
inputs=$root/testdata/inputs
cc=${CC:-cc}
cxx=${CXX:-c++}
skipped=()

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }
skip() {
    echo "skipped: $1: $2" >&2
    skipped+=("$1")
}

for tool in "$cc" "$cxx" python3; do
    command -v "$tool" >/dev/null 2>&1 || {
        echo "$tool is missing: install a compiler of C++20 and Python 3 (Debian, Ubuntu: gcc g++ python3)" >&2
        exit 1
    }
done
case $(uname) in
Darwin) shared=libmeshreel_c.dylib system=(-framework CoreFoundation -liconv) ;;
*) shared=libmeshreel_c.so system=(-lgcc_s -lpthread -lm -ldl) ;;
esac
[ -e "$built/$shared" ] || cargo build --locked --release -p meshreel-c
program=${MESHREEL:-$built/meshreel}
[ -x "$program" ] || cargo build --locked --release -p meshreel-cli
flags=(-g -std=c++20 -Wall -Wextra -Werror -pthread)
# Unreal's own functions return `const bool`, which compilers call pointless.
flags+=(-Wno-ignored-qualifiers)
headers=("$plugin"/Source/*/Public/*.h "$plugin"/Samples/Street/*.h)
include=(-I "$plugin/Tests/StandIns" -I "$out/generated" -I "$root/bindings/c/include")
for folder in Source/Meshreel{,Editor}/{Public,Private} Samples/Street Tests/Driver; do
    include+=(-I "$plugin/$folder")
done

# `together OUT FILES…`: one source of several, as the engine's build tool compiles modules.
together() {
    local file=$1 each
    shift
    for each in "$@"; do printf '#include "%s"\n' "$each"; done > "$file"
}

step "what the engine's tools would generate"
rm -rf "$out/generated" "$made"
mkdir -p "$out/generated" "$made"
python3 "$plugin/Tests/headers.py" "$out/generated" "${headers[@]}"
python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$plugin/Meshreel.uplugin"
together "$out/runtime.cpp" "$plugin"/Source/Meshreel/Private/*.cpp "$plugin"/Samples/Street/*.cpp
together "$out/editor.cpp" "$plugin"/Source/MeshreelEditor/Private/*.cpp
together "$out/driver.cpp" "$plugin"/Tests/Driver/*.cpp

step "versions of the engine, with and without the editor"
# What runs below is 5.4 with the editor.
for minor in 3 6 7; do
    editor=$((minor == 6))
    version=(-DENGINE_MAJOR_VERSION=5 "-DENGINE_MINOR_VERSION=$minor" "-DWITH_EDITOR=$editor")
    "$cxx" "${flags[@]}" "${version[@]}" "${include[@]}" -fsyntax-only "$out/runtime.cpp"
    if [ "$editor" = 1 ]; then
        "$cxx" "${flags[@]}" "${version[@]}" "${include[@]}" -fsyntax-only "$out/editor.cpp"
    fi
    echo "5.$minor, editor $editor"
done
if [ "${1:-}" = --each ]; then
    step "each source by itself"
    for file in "$plugin"/Source/*/Private/*.cpp; do
        "$cxx" "${flags[@]}" "${include[@]}" -fsyntax-only "$file"
    done
fi

step "files"
compile() { "$program" compile -q "${@:2}" -o "$made/$1.reel"; }
compile levels "$inputs/c_wall_fracture_onemesh.abc" --lod 3
compile hidden "$inputs/c_wall_fracture_onemesh.abc" --cull-hidden
compile scene "$inputs/g_scene_attributes.abc"
compile mirror "$inputs/m_scale_shear.abc"
compile materials "$inputs/prism.glb"
compile fluid "$inputs/e_metaballs.abc"
compile attributes "$inputs/j_visibility_particles.abc"
compile ranges "$inputs/prism.glb" --animation all
compile bare "$inputs/a_flag_wind.abc" --channels positions
cp "$inputs/n_robot_bone_parented.abc" "$made/source.abc"
cp "$inputs/prism.glb" "$made/prism.glb"

# `build_and_run NAME LINKED FLAGS…`
build_and_run() {
    local name=$1 linked=$2
    shift 2
    mkdir -p "$out/$name"
    for unit in runtime editor driver; do
        "$cxx" "${flags[@]}" "$@" "${include[@]}" -c "$out/$unit.cpp" -o "$out/$name/$unit.o"
    done
    # shellcheck disable=SC2086
    "$cxx" -pthread "$@" "$out/$name"/*.o $linked -o "$out/$name/driver"
    "$out/$name/driver" "$root/testdata/golden" "$made" "$program"
}

step "the plugin with the shared library"
build_and_run shared "-L $built -lmeshreel_c -Wl,-rpath,$built" -O1
step "the plugin with the static library and sanitizers"
echo 'int main() { return 0; }' > "$out/empty.cpp"
if "$cxx" -fsanitize=address,undefined "$out/empty.cpp" -o "$out/empty" 2>/dev/null && "$out/empty"; then
    leaks=1
    if [ "$(uname)" = Darwin ]; then leaks=0; fi
    ASAN_OPTIONS=detect_leaks=$leaks UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        build_and_run sanitized "$built/libmeshreel_c.a ${system[*]}" \
        -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
else
    skip sanitizers "the compiler has none (Debian, Ubuntu: libasan8 libubsan1, with gcc)"
fi

step "a library of another version"
# Answers for its version alone: any other call ends the program, so the plugin must not make one.
{
    echo '#include <stdlib.h>'
    grep -oE '\bmr_[a-z0-9_]+\(' bindings/c/include/meshreel.h | tr -d '(' | sort -u \
        | grep -vxE 'mr_(new|open|free|check_version|version|last_error|status_name)' \
        | sed 's/.*/void &(void) { abort(); }/'
    echo 'unsigned mr_version(void) { return 0x000900; }'
    echo 'unsigned mr_check_version(unsigned header) { return header == 0x000900 ? 0 : 3; }'
    echo 'const char *mr_last_error(void) { return "the library is of another version"; }'
    echo 'const char *mr_status_name(unsigned status) { return status ? "unsupported" : "ok"; }'
} > "$out/other.c"
mkdir -p "$out/other"
"$cc" -shared -fPIC "$out/other.c" -o "$out/other/$shared"
"$cxx" -pthread "$out/shared"/*.o -L "$out/other" -lmeshreel_c "-Wl,-rpath,$out/other" -o "$out/other/driver"
"$out/other/driver" --wrong-version

step done
if [ "${#skipped[@]}" -gt 0 ]; then echo "${#skipped[@]} skipped: ${skipped[*]}"; fi
