#!/usr/bin/env bash
# The package for Unity: its declarations are held against meshreel.h; its assemblies are compiled as C# 7 against
# stand-ins for the engine, and run by mono with the real library on golden files and on files that the program makes;
# its shaders are those of their generator, and are run with Vulkan on recorded moments; every asset has its .meta. What
# is missing for a part is said, and the part counts as skipped. Nothing here runs in the engine.
#   tests/unity.sh
#   CARD=all tests/unity.sh      also runs the shaders with packed transforms, which take minutes to compile
# Needs a C compiler, cargo, and mono with its compiler (Debian, Ubuntu: mono-mcs mono-runtime
# libmono-system-core4.0-cil); for shaders glslangValidator (glslang-tools), and to run them Vulkan (libvulkan-dev
# mesa-vulkan-drivers).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/unity"
target=$(cd "$target" && pwd)
made=$target/unity
package=$root/integrations/unity
golden=$root/testdata/golden
inputs=$root/testdata/inputs
skipped=()

step() { printf '\n== %4d s  %s\n' "$SECONDS" "$*"; }
skip() {
    echo "skipped: $1: $2" >&2
    skipped+=("$1")
}
has() { command -v "$1" >/dev/null 2>&1; }

cc=${CC:-cc}
for tool in "$cc" cargo; do
    has "$tool" || { echo "$tool is missing: install a C compiler (Debian, Ubuntu: gcc) and Rust" >&2 && exit 1; }
done
c11=("$cc" -O1 -std=c11 -Wall -Wextra -Werror)

step "every asset has its .meta"
"$package/Tools~/metas.sh" --check

step "the library"
case $(uname) in
Darwin) library=libmeshreel_c.dylib ;;
*) library=libmeshreel_c.so ;;
esac
if [ ! -e "$target/release/$library" ]; then cargo build --locked --release -p meshreel-c; fi
link=(-I bindings/c/include -L "$target/release" -lmeshreel_c "-Wl,-rpath,$target/release")

step "the shaders are those of their generator"
cat > "$made/wgsl.c" <<'C'
#include <meshreel.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    size_t length = 0;
    if (mr_gpu_wgsl(NULL, 0, &length) != MR_STATUS_OK) return 1;
    char *text = malloc(length + 1);
    if (text == NULL || mr_gpu_wgsl(text, length + 1, NULL) != MR_STATUS_OK) return 1;
    return fwrite(text, 1, length, stdout) == length ? 0 : 1;
}
C
"${c11[@]}" "$made/wgsl.c" "${link[@]}" -o "$made/wgsl"
"$made/wgsl" > "$made/passes.wgsl"
generator=$package/Shaders~/Cargo.toml
cargo fmt --check --manifest-path "$generator"
cargo build --locked --quiet --release --manifest-path "$generator" --target-dir "$made/shaders"
"$made/shaders/release/meshreel-unity-shaders" < "$made/passes.wgsl" > "$made/Passes.compute"
shaders=$package/Runtime/Resources/Meshreel
cmp "$made/Passes.compute" "$shaders/Passes.compute" \
    || { echo "the shader of the library has changed: cp $made/Passes.compute $shaders/" >&2 && exit 1; }

if ! { has mcs && has mono; }; then
    skip "everything that mono runs" "it is missing (Debian, Ubuntu: mono-mcs mono-runtime libmono-system-core4.0-cil)"
    exit 0
fi

step "assemblies"
compile=(mcs -langversion:7 -unsafe -nologo -warn:4 -warnaserror -nowarn:649,67,660,661)
engine=(-r:"$made/UnityEngine.dll")
cd "$package"
"${compile[@]}" -target:library -out:"$made/UnityEngine.dll" Tests~/Engine/*.cs
"${compile[@]}" -target:library -out:"$made/Unity.Timeline.dll" "${engine[@]}" Tests~/Timeline/*.cs
"${compile[@]}" -target:library -out:"$made/UnityEditor.dll" -r:System.Core.dll "${engine[@]}" Tests~/Editor/*.cs
# Each assembly sees what its .asmdef names, and nothing else.
mapfile -t runtime < <(find Runtime -name '*.cs' -not -path '*/Timeline/*' | sort)
"${compile[@]}" -target:library -out:"$made/Meshreel.Runtime.dll" "${engine[@]}" "${runtime[@]}"
"${compile[@]}" -target:library -out:"$made/Meshreel.Timeline.dll" "${engine[@]}" -r:"$made/Unity.Timeline.dll" \
    -r:"$made/Meshreel.Runtime.dll" Runtime/Timeline/*.cs
"${compile[@]}" -target:library -out:"$made/Meshreel.Editor.dll" "${engine[@]}" -r:"$made/UnityEditor.dll" \
    -r:"$made/Meshreel.Runtime.dll" Editor/*.cs
"${compile[@]}" -target:library -out:"$made/Street.dll" "${engine[@]}" -r:"$made/Meshreel.Runtime.dll" \
    Samples~/Street/*.cs
references=("${engine[@]}" -r:System.Core.dll)
for assembly in UnityEditor Unity.Timeline Meshreel.Runtime Meshreel.Timeline Meshreel.Editor Street; do
    references+=(-r:"$made/$assembly.dll")
done
"${compile[@]}" -out:"$made/Meshreel.Tests.exe" "${references[@]}" Tests~/Cases/*.cs
cd "$root"

# `run_with FOLDER [OPTIONS OF MONO] -- ARGUMENTS`: the tests with the library of a folder.
run_with() {
    local folder=$1 options=()
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    LD_LIBRARY_PATH=$folder DYLD_LIBRARY_PATH=$folder MESHREEL_SHADERS=$shaders \
        mono "${options[@]}" "$made/Meshreel.Tests.exe" "$@"
}

step "declarations"
run_with "$target/release" -- --layouts > "$made/layouts.c"
"${c11[@]}" "$made/layouts.c" "${link[@]}" -o "$made/layouts"
"$made/layouts"
run_with "$target/release" -- --layouts32 > "$made/layouts32.c"
case $(uname -m) in
x86_64) "$cc" -std=c11 -m32 -malign-double -ffreestanding -fsyntax-only -I bindings/c/include "$made/layouts32.c" ;;
*) skip "structures of 32 bits" "the check needs a compiler for x86" ;;
esac

step "files for the tests"
export MESHREEL=${MESHREEL:-$target/release/meshreel}
files=-
if [ -x "$MESHREEL" ]; then
    files=$made/files
    mkdir -p "$files"
    for name in g_scene_attributes j_visibility_particles e_metaballs m_scale_shear; do
        "$MESHREEL" compile -q --changed-only "$inputs/$name.abc" -o "$files/$name.reel"
    done
    "$MESHREEL" compile -q --changed-only "$inputs/c_wall_fracture_onemesh.abc" --lod 3 -o "$files/levels.reel"
    "$MESHREEL" compile -q --changed-only "$inputs/a_flag_wind.abc" --unit cm -o "$files/flag_cm.reel"
    "$MESHREEL" compile -q --changed-only --rig keep "$inputs/beam.glb" -o "$files/rig.reel"
    "$MESHREEL" compile -q --changed-only --animation all "$inputs/prism.glb" -o "$files/prism.reel"
else
    skip "levels of detail, cameras, characters, the importer" \
        "the program is not built (cargo build --release -p meshreel-cli, or MESHREEL=PROGRAM)"
fi

step "tests"
mkdir -p "$made/moments"
rm -f "$made/moments"/*
has python3 || skip "comparing the conformance set" "python3 is missing"
MESHREEL_CARD=$made/moments run_with "$target/release" --debug -- "$golden" "$files"

step "a library of another version, and none"
mkdir -p "$made/other" "$made/none"
cat > "$made/other.c" <<'C'
unsigned mr_version(void);
unsigned mr_check_version(unsigned header);
const char *mr_last_error(void);
unsigned mr_version(void) { return 9 << 16 | 8 << 8 | 7; }
unsigned mr_check_version(unsigned header) { return header == mr_version() ? 0 : 3; }
const char *mr_last_error(void) { return "another version"; }
C
"${c11[@]}" -shared -fPIC "$made/other.c" -o "$made/other/$library"
run_with "$made/other" -- "$golden" - OtherVersionTests
run_with "$made/none" -- "$golden" - OtherMissingTests

step "every public method is called"
if [ "$files" = - ]; then
    skip "every public method is called" "some need files that the program makes"
else
    # Removing handlers is the compiler's code; types of reports are created by the engine.
    run_with "$target/release" -- --public | grep -vE 'ReelReport/.*:\.ctor' | sort -u > "$made/public"
    trace=N:Meshreel,N:Meshreel.Timeline,N:Meshreel.Editor
    run_with "$target/release" -O=-inline --trace=$trace -- "$golden" "$files" \
        CardTests ClipTests CrowdTests EditorTests PlayingTests SampleTests TimelineTests TroubleTests \
        | grep -oE 'ENTER: [^ ]*' | cut -c8- | sort -u > "$made/called"
    comm -23 "$made/public" "$made/called" > "$made/uncalled"
    if [ -s "$made/uncalled" ]; then
        echo "no test calls:" && cat "$made/uncalled" && exit 1
    fi
    echo "$(wc -l < "$made/public") public methods"
fi

step "the shaders compile"
# `spirv VARIANT PASS`: once for each content of the shader.
spirv() {
    local out=$made/spirv/$1.$2.spv entry=$2 source=$made/spirv/Passes.hlsl
    if [ -e "$out" ]; then return; fi
    if ! glslangValidator -D -V -D"$1=1" -S comp -e "$entry" "$source" -o "$out" > "$made/glslang"; then
        cat "$made/glslang" && exit 1
    fi
}
variants=(POINTS_NARROW POINTS_WIDE POINTS_HEIGHTS POINTS_BONES POINTS_BONES_APART)
if [ "${CARD:-}" = all ]; then variants+=(POINTS_CODES POINTS_BONES_PACKED); fi
if has glslangValidator; then
    if ! cmp -s "$made/Passes.compute" "$made/spirv/Passes.compute"; then rm -rf "$made/spirv"; fi
    mkdir -p "$made/spirv"
    for shader in Passes Place; do
        cp "$shaders/$shader.compute" "$made/spirv/"
        awk -f "$package/Tests~/Card/vulkan.awk" "$shaders/$shader.compute" "$shaders/$shader.compute" \
            > "$made/spirv/$shader.hlsl"
    done
    glslangValidator -D -V -S comp -e place "$made/spirv/Place.hlsl" -o "$made/spirv/place.spv"
    for variant in "${variants[@]}"; do
        for pass in normals tangents vertices_; do spirv "$variant" "$pass"; done
        case $variant in *_APART | *_PACKED) spirv "$variant" points ;; esac
    done
    echo "$(find "$made/spirv" -name '*.spv' | wc -l) kernels"
    step "the shaders make the vertices of the CPU"
    if "$cc" -O1 "$package/Tests~/Card/card.c" -lvulkan -lm -o "$made/card" 2>/dev/null; then
        "${c11[@]}" "$package/Tests~/Card/card.c" -lvulkan -lm -o "$made/card"
        moments=("$made"/moments/*.card)
        if [ "${CARD:-}" != all ]; then
            mapfile -t moments < <(printf '%s\n' "${moments[@]}" | grep -v wall_packed)
        fi
        if "$made/card" "$made/spirv" "${moments[@]}"; then :
        elif [ $? = 77 ]; then skip "running the shaders" "there is no Vulkan device (mesa-vulkan-drivers)"
        else exit 1
        fi
    else
        skip "running the shaders" "Vulkan is missing (Debian, Ubuntu: libvulkan-dev)"
    fi
else
    skip "compiling and running the shaders" "glslangValidator is missing (Debian, Ubuntu: glslang-tools)"
fi

step done
if [ "${#skipped[@]}" -gt 0 ]; then echo "${#skipped[@]} skipped: ${skipped[*]}"; fi
