#!/usr/bin/env bash
# The recipes of vcpkg and Conan in `meshreel-recipes.tar.gz`, over the archives beside it: both are parsed,
# take this machine's archive, and give a package that the program of docs/ENGINES.md is built with, shared
# and static. vcpkg's own functions are stand-ins (vcpkg.cmake); Conan is the real one, where pip can install
# it.
#   tests/release/recipes.sh FOLDER
set -euo pipefail
folder=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
root=$PWD
flag=$root/testdata/golden/v0/flag_small.reel
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
recipes=$made/meshreel-recipes
unset LD_LIBRARY_PATH DYLD_LIBRARY_PATH

step() { printf '\n== %4d s  recipes: %s\n' "$SECONDS" "$*"; }
has() { command -v "$1" > /dev/null 2>&1; }

step "the archive"
tar -xzf "$folder/meshreel-recipes.tar.gz" -C "$made"
(cd "$recipes" && find . -type f | sort)
python3 -m json.tool "$recipes/vcpkg/vcpkg.json" > /dev/null
python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$recipes/conan/conanfile.py"
if ! has cmake; then
    echo "skipped: recipes: cmake is missing (Debian, Ubuntu: cmake)" >&2
    exit
fi

mkdir "$made/game"
cd "$made/game"
awk '/^```c$/ {on = 1; next} /^```$/ {on = 0} on' "$root/docs/ENGINES.md" > game.c
awk '$0 == "```cmake" {on = ++seen == 1; next} /^```$/ {on = 0} on' "$root/docs/ENGINES.md" > CMakeLists.txt
# `game NAME ARGUMENTS…`: builds and runs it.
game() {
    local build=$made/$1
    shift
    cmake -B "$build" -D CMAKE_BUILD_TYPE=Release "$@" > "$made/log" || { cat "$made/log" && exit 1; }
    cmake --build "$build" > "$made/log" || { cat "$made/log" && exit 1; }
    "$build/game" "$flag"
}

case $(uname -m) in
x86_64 | amd64) cpu=x64 ;;
*) cpu=arm64 ;;
esac
if [ "$(uname)" = Darwin ]; then system=OSX; else system=LINUX; fi
for linkage in dynamic static; do
    step "vcpkg, $linkage"
    cmake -D PORT="$recipes/vcpkg" -D ARCHIVES="$folder" -D OUT="$made/vcpkg_$linkage" \
        -D CPU=$cpu -D LINKAGE=$linkage -D VCPKG_TARGET_IS_$system=ON \
        -P "$root/tests/release/vcpkg.cmake" > "$made/log" || { cat "$made/log" && exit 1; }
    game "game_vcpkg_$linkage" -D CMAKE_PREFIX_PATH="$made/vcpkg_$linkage"
done
# Not without checksums, and not for a machine that there is no archive for.
while IFS=: read -r port system cpu message; do
    if cmake -D PORT="$port" -D ARCHIVES="$folder" -D OUT="$made/refused" -D CPU="$cpu" -D LINKAGE=static \
        -D VCPKG_TARGET_IS_"$system"=ON -P "$root/tests/release/vcpkg.cmake" > "$made/log" 2>&1; then
        echo "the port was installed for $cpu, $system" >&2 && exit 1
    fi
    grep "$message" "$made/log"
done <<< "$root/integrations/vcpkg:LINUX:x64:checksums.cmake is missing
$recipes/vcpkg:LINUX:riscv64:has no library for riscv64-unknown-linux-gnu
$recipes/vcpkg:WINDOWS:x64:has no library for x86_64-pc-windows-msvc
$recipes/vcpkg:ANDROID:arm:has no library for armv7-linux-androideabi
$recipes/vcpkg:ANDROID:arm64:has no library for aarch64-linux-android
$recipes/vcpkg:IOS:arm64:has no library for aarch64-apple-ios"

step "Conan"
if ! (python3 -m venv "$made/python" && "$made/python/bin/pip" install --quiet conan) > "$made/log" 2>&1; then
    echo "skipped: recipes, Conan: pip cannot install it: $(tail -1 "$made/log")" >&2
    exit
fi
export CONAN_HOME=$made/conan
conan() { "$made/python/bin/conan" "$@" > "$made/log" 2>&1 || { cat "$made/log" && exit 1; }; }
conan profile detect
sed -i.bak "s|https://github.com/.*/v[0-9.]*/|file://$folder/|" "$recipes/conan/conandata.yml"
if "$made/python/bin/conan" create "$root/integrations/conan" > "$made/log" 2>&1; then
    echo "the recipe works without checksums" >&2 && exit 1
fi
grep 'conandata.yml is missing' "$made/log"
version=$(sed -n 's/^    version = "\(.*\)"/\1/p' "$recipes/conan/conanfile.py")
for shared in True False; do
    conan create "$recipes/conan" -o "meshreel/*:shared=$shared"
    conan install --requires="meshreel/$version" -o "meshreel/*:shared=$shared" \
        -g CMakeDeps -g CMakeToolchain --output-folder "$made/deps_$shared"
    game "game_conan_$shared" -D CMAKE_TOOLCHAIN_FILE="$made/deps_$shared/conan_toolchain.cmake"
done
