#!/usr/bin/env bash
# An archive of the C library, in clean folders: its examples, in C99 and C++17, built by CMake with an
# installed and with an unpacked library; and the program of docs/ENGINES.md, built as it says with CMake,
# pkg-config and the compiler alone. Shared and static; programs find their library by themselves.
#   tests/release/library.sh ARCHIVE
set -euo pipefail
archive=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/../.."
root=$PWD
flag=$root/testdata/golden/v0/flag_small.reel
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
name=$(basename "$archive" .tar.gz)
export MESHREEL=$made/$name
unset LD_LIBRARY_PATH DYLD_LIBRARY_PATH
warnings="-Wall -Wextra -Werror -pedantic"

step() { printf '\n== %4d s  library: %s\n' "$SECONDS" "$*"; }
has() { command -v "$1" > /dev/null 2>&1; }
# `listing LANGUAGE NUMBER`: that one of docs/ENGINES.md.
listing() {
    awk -v fence="\`\`\`$1" -v wanted="$2" \
        '$0 == fence {on = ++seen == wanted; next} /^```$/ {on = 0} on' "$MESHREEL/ENGINES.md"
}
# `runs PROGRAM`: it says what is in a file.
runs() { "$1" "$flag" | grep -xE '[1-9][0-9]* frames, [1-9][0-9]* meshes'; }
# `is_static PROGRAM`: it needs no shared library of ours.
is_static() { if has ldd && ldd "$1" 2>&1 | grep meshreel; then echo "$1 is not static" >&2 && exit 1; fi; }

step "the archive"
if has sha256sum; then sum=sha256sum; else sum=shasum; fi
(cd "$(dirname "$archive")" && $sum -c "$name.tar.gz.sha256")
tar -xzf "$archive" -C "$made"
(cd "$MESHREEL" && find . -not -type d -printf '%9s  %P %l\n' 2> /dev/null | sort -k 2 || ls -lR)
if [ "$(uname)" = Linux ]; then
    objdump -p "$MESHREEL/lib/libmeshreel_c.so" | grep 'SONAME *libmeshreel_c\.so\.[0-9.]*$'
    if nm -D --defined-only "$MESHREEL/lib/libmeshreel_c.so" | awk '$3 !~ /^mr_/' | grep .; then
        echo "the shared library shows more than its interface" >&2 && exit 1
    fi
fi
mkdir "$made/a prefix"
cp -a "$MESHREEL/include" "$MESHREEL/lib" "$made/a prefix"

mkdir "$made/game"
cd "$made/game"
listing c 1 > game.c
if has cmake; then
    cmake() { command cmake "$@" > "$made/log" || { cat "$made/log" && exit 1; }; }
    # `examples NAME ARGUMENTS…`: configures with these arguments, builds, runs.
    examples() {
        local build=$made/$1
        shift
        cmake -B "$build" -D CMAKE_C_FLAGS="$warnings" -D CMAKE_CXX_FLAGS="$warnings" "$@"
        cmake --build "$build" --parallel 2
        if [ -d "$build/examples" ]; then build=$build/examples; fi
        "$root/tests/c_examples.sh" "$build"
    }
    step "examples: CMake, installed"
    examples installed -S "$MESHREEL/examples" -D CMAKE_PREFIX_PATH="$made/a prefix"
    step "examples: CMake, installed, static"
    examples static -S "$MESHREEL/examples" -D CMAKE_PREFIX_PATH="$made/a prefix" -D MESHREEL_STATIC=ON
    is_static "$made/static/digest"
    step "examples: CMake, add_subdirectory"
    examples subdirectory -S "$MESHREEL"

    step "docs/ENGINES.md: CMake"
    listing cmake 1 > CMakeLists.txt
    sh -e <(listing sh 1)
    runs build/game
    # Other versions are refused.
    for version in 0.0.9 0.2 1.0 0.1.1000; do
        mkdir -p "$made/refused"
        sed "s/meshreel 0.1/meshreel $version/" CMakeLists.txt > "$made/refused/CMakeLists.txt"
        if command cmake -S "$made/refused" -B "$made/refused/build" -D CMAKE_PREFIX_PATH="$MESHREEL" \
            > "$made/log" 2>&1; then
            echo "version $version was taken for it" >&2 && exit 1
        fi
        grep -q 'considered but not accepted' "$made/log"
    done

    step "docs/ENGINES.md: FetchContent, installed and moved"
    listing cmake 2 > CMakeLists.txt
    version=$(sed -n 's/^Version: //p' "$MESHREEL/lib/pkgconfig/meshreel.pc")
    grep -q "/v$version/meshreel-c-.*\.tar\.gz" CMakeLists.txt
    sed -i.bak "s|https://.*\.tar\.gz|file://$archive|" CMakeLists.txt
    cmake -B fetched
    cmake --build fetched
    cmake --install fetched --prefix "$made/installed game"
    rm -rf fetched
    mv "$made/installed game" "$made/moved game"
    runs "$made/moved game/bin/game"
else
    echo "skipped: library, CMake: cmake is missing (Debian, Ubuntu: cmake)" >&2
fi

step "docs/ENGINES.md: pkg-config"
if has pkg-config; then
    sh -e <(listing sh 2)
    runs ./game
    runs ./game-static
    is_static ./game-static
    if [ "$(uname)" = Linux ]; then
        # shellcheck disable=SC2046
        PKG_CONFIG_PATH=$MESHREEL/lib/pkgconfig cc -static game.c $(PKG_CONFIG_PATH=$MESHREEL/lib/pkgconfig \
            pkg-config --static --cflags --libs meshreel) -o game-without-shared
        runs ./game-without-shared
    fi
else
    echo "skipped: library, pkg-config: it is missing (Debian, Ubuntu: pkg-config)" >&2
fi

step "docs/ENGINES.md: the compiler alone"
rm -f game game-static
sh -e <(listing sh 3)
runs ./game
runs ./game-static
is_static ./game-static
