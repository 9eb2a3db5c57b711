#!/usr/bin/env bash
# Packs the packages for engines with the libraries of all targets, and a checksum beside each:
#   com.meshreel.runtime-VERSION.tgz     for Unity's package manager
#   meshreel-unreal-VERSION.zip          the plugin folder `Meshreel`
#   meshreel-godot-VERSION.zip           the folder `addons`
# Libraries are taken from a folder with meshreel-c-TARGET.tar.gz (`library.sh`), meshreel-c-xcframework.zip, and
# meshreel-godot-TARGET/ with the library of that extension. Targets that are not there are left out, and said.
#   tools/release/engines.sh FOLDER ARCHIVES
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1"
folder=$(cd "$1" && pwd)
archives=$(cd "$2" && pwd)
version=$(cargo pkgid -p meshreel-c)
version=${version##*[#@]}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# `library TARGET FILE PLACE`: a file of the archive of a target. `FILE` may be a pattern of one file; links are
# followed, since packages hold none.
library() {
    local archive=$archives/meshreel-c-$1.tar.gz
    if [ ! -f "$archive" ]; then
        [ -e "$made/no-$1" ] || echo "left out: $1 (${archive##*/} is not there)" >&2
        touch "$made/no-$1"
        return
    fi
    if [ ! -d "$made/$1" ]; then mkdir "$made/$1" && tar -xzf "$archive" -C "$made/$1" --strip-components 1; fi
    mkdir -p "$(dirname "$3")"
    # shellcheck disable=SC2086
    cp -L "$made/$1"/$2 "$3"
}
checksum() { (cd "$folder" && sha256sum "$1" | tee "$1.sha256"); }
# `copy FROM TO`: without tests and what a build left.
copy() { mkdir -p "$2" && (cd "$1" && git ls-files -z . | tar --null -T - -cf -) | tar -C "$2" -xf -; }
licences() { cp LICENSE-APACHE LICENSE-MIT "$1"; }

unity=$made/unity/package
copy integrations/unity "$unity"
rm -rf "$unity/Tests~" "$unity/Shaders~"
library x86_64-pc-windows-msvc bin/meshreel_c.dll "$unity/Plugins/Windows/x86_64/meshreel_c.dll"
library aarch64-pc-windows-msvc bin/meshreel_c.dll "$unity/Plugins/Windows/arm64/meshreel_c.dll"
library x86_64-unknown-linux-gnu lib/libmeshreel_c.so "$unity/Plugins/Linux/x86_64/libmeshreel_c.so"
library aarch64-linux-android lib/libmeshreel_c.so "$unity/Plugins/Android/arm64-v8a/libmeshreel_c.so"
library armv7-linux-androideabi lib/libmeshreel_c.so "$unity/Plugins/Android/armeabi-v7a/libmeshreel_c.so"
library x86_64-linux-android lib/libmeshreel_c.so "$unity/Plugins/Android/x86_64/libmeshreel_c.so"
library wasm32-unknown-emscripten lib/libmeshreel_c.a "$unity/Plugins/WebGL/libmeshreel_c.a"
for machine in aarch64 x86_64; do
    library $machine-apple-darwin lib/libmeshreel_c.dylib "$made/macos/$machine.dylib"
    library $machine-apple-darwin lib/libmeshreel_c.a "$made/macos/$machine.a"
done
# `universal EXTENSION PLACE`: one library for both machines, where there is a tool to join them.
universal() {
    if [ ! -f "$made/macos/aarch64.$1" ] || [ ! -f "$made/macos/x86_64.$1" ]; then return; fi
    local lipo
    lipo=$(command -v lipo || command -v llvm-lipo || ls /usr/bin/llvm-lipo-* 2> /dev/null | tail -1) \
        || { echo "left out: macOS (lipo or llvm-lipo is missing)" >&2 && return; }
    mkdir -p "$(dirname "$2")"
    "$lipo" -create "$made/macos/aarch64.$1" "$made/macos/x86_64.$1" -output "$2"
}
universal dylib "$unity/Plugins/macOS/libmeshreel_c.dylib"
if [ -f "$archives/meshreel-c-xcframework.zip" ]; then
    mkdir -p "$unity/Plugins/iOS" && unzip -q "$archives/meshreel-c-xcframework.zip" -d "$unity/Plugins/iOS"
fi
licences "$unity"
"$unity/Tools~/metas.sh" > /dev/null
tar -C "$made/unity" -czf "$folder/com.meshreel.runtime-$version.tgz" package
checksum "com.meshreel.runtime-$version.tgz"

unreal=$made/unreal/Meshreel
copy integrations/unreal "$unreal"
rm -rf "$unreal/Tests"
third=$unreal/Source/ThirdParty/MeshreelLibrary
mkdir -p "$third/include" && cp bindings/c/include/meshreel.h "$third/include"
for file in bin/meshreel_c.dll lib/meshreel_c.dll.lib; do
    library x86_64-pc-windows-msvc $file "$third/lib/x86_64-pc-windows-msvc/${file##*/}"
done
for target in {x86_64,aarch64}-unknown-linux-gnu aarch64-apple-ios aarch64-linux-android; do
    library $target lib/libmeshreel_c.a "$third/lib/$target/libmeshreel_c.a"
done
universal a "$third/lib/universal-apple-darwin/libmeshreel_c.a"
licences "$unreal"
(cd "$made/unreal" && rm -f "$folder/meshreel-unreal-$version.zip" && zip -qr "$folder/meshreel-unreal-$version.zip" Meshreel)
checksum "meshreel-unreal-$version.zip"

godot=$made/godot/addons/meshreel
copy integrations/godot/addons "$made/godot/addons"
for built in "$archives"/meshreel-godot-*/; do
    [ -d "$built" ] || { echo "left out: Godot's libraries (meshreel-godot-TARGET is not there)" >&2 && break; }
    target=${built%/} target=${target##*/meshreel-godot-}
    mkdir -p "$godot/bin/$target" && cp "$built"* "$godot/bin/$target"
done
licences "$godot"
(cd "$made/godot" && rm -f "$folder/meshreel-godot-$version.zip" && zip -qr "$folder/meshreel-godot-$version.zip" addons)
checksum "meshreel-godot-$version.zip"
