#!/usr/bin/env bash
# The package for Unity: its declarations are held against meshreel.h; its assemblies are compiled as C# 7 against
# stand-ins for the engine, and run by mono with the real library on golden files and on files that the program makes;
# its shaders are those of their generator; every asset has its .meta. What is missing for a part is said, and the part
# counts as skipped. Nothing here runs in the engine.
#   tests/unity.sh
# Needs a C compiler, cargo and mono with its compiler (Debian, Ubuntu: mono-mcs mono-runtime libmono-system-core4.0-cil).
# glslangValidator, if it is there, compiles the shaders (glslang-tools).
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/unity"
target=$(cd "$target" && pwd)
made=$target/unity
package=$root/integrations/unity
golden=$root/testdata/golden
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

step "every asset has its .meta"
"$package/Tools~/metas.sh" --check

step "the library"
case $(uname) in
Darwin) library=libmeshreel_c.dylib ;;
*) library=libmeshreel_c.so ;;
esac
if [ ! -e "$target/release/$library" ]; then cargo build --locked --release -p meshreel-c; fi

if has mcs && has mono; then
    step "assemblies"
    compile=(mcs -langversion:7 -unsafe -nologo -warn:4 -nowarn:649,67,660,661)
    cd "$package"
    "${compile[@]}" -target:library -out:"$made/UnityEngine.dll" Tests~/Engine/*.cs
    mapfile -t runtime < <(find Runtime -name '*.cs' -not -path '*/Timeline/*')
    "${compile[@]}" -warnaserror -target:library -out:"$made/Meshreel.Runtime.dll" -r:"$made/UnityEngine.dll" "${runtime[@]}"
    "${compile[@]}" -out:"$made/Meshreel.Tests.exe" -r:System.Core.dll -r:"$made/UnityEngine.dll" \
        -r:"$made/Meshreel.Runtime.dll" Tests~/Cases/*.cs
    cd "$root"
    run() { LD_LIBRARY_PATH=$target/release DYLD_LIBRARY_PATH=$target/release mono --debug "$made/Meshreel.Tests.exe" "$@"; }

    step "declarations"
    run --layouts > "$made/layouts.c"
    "$cc" -std=c11 -Wall -Wextra -Werror -I bindings/c/include "$made/layouts.c" -L "$target/release" -lmeshreel_c \
        "-Wl,-rpath,$target/release" -o "$made/layouts"
    "$made/layouts"

    step "files for the tests"
    program=${MESHREEL:-$target/release/meshreel}
    files=-
    if [ -x "$program" ]; then
        files=$made/files
        mkdir -p "$files"
    else
        skip "levels of detail, cameras, particles, the importer" \
            "the program is not built (cargo build --release -p meshreel-cli, or MESHREEL=PROGRAM)"
    fi

    step "tests"
    run "$golden" "$files"
else
    skip "assemblies and tests" "mono is missing (Debian, Ubuntu: mono-mcs mono-runtime libmono-system-core4.0-cil)"
fi

step done
if [ "${#skipped[@]}" -gt 0 ]; then echo "${#skipped[@]} skipped: ${skipped[*]}"; fi
