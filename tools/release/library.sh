#!/usr/bin/env bash
# Packs the C library: meshreel-c-TARGET.tar.gz with the header, the libraries, what CMake and pkg-config
# need, examples and licences, and its checksum beside it. The archive is a prefix that can lie anywhere: use
# it where it was unpacked, or copy `include`, `lib` and (Windows) `bin` to another prefix, such as
# /usr/local, with `cp -a`.
#   tools/release/library.sh FOLDER [TARGET]
# iOS and Emscripten get the static library alone, as Unity's `__Internal` wants it; others get both.
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p "$1"
folder=$(cd "$1" && pwd)
host=$(rustc -vV | sed -n 's/^host: //p')
target=${2:-$host}
built=${CARGO_TARGET_DIR:-target}/$target/library
name=meshreel-c-$target
version=$(cargo pkgid -p meshreel-c)
version=${version##*[#@]}
# As `mr_check_version`: before 1.0, every minor version may break programs.
case $version in
0.*) abi=${version%.*} ;;
*) abi=${version%%.*} ;;
esac

# Names as the system has them, and its arguments for the linker. `links` lead to the library of that version.
types=cdylib,staticlib static=libmeshreel_c.a linked=meshreel_c
made_as='' shared='' soname='' links=() arguments=()
case $target in
*-ios* | *-emscripten) types=staticlib ;;
*-android*)
    # Packages of Android hold no links and no names with versions.
    made_as=libmeshreel_c.so shared=lib/$made_as soname=$made_as
    arguments=(-C "link-arg=-Wl,-soname,$soname")
    ;;
*-darwin)
    made_as=libmeshreel_c.dylib shared=lib/libmeshreel_c.$version.dylib soname=@rpath/libmeshreel_c.$abi.dylib
    links=("libmeshreel_c.$abi.dylib" "$made_as")
    arguments=(-C "link-arg=-Wl,-install_name,$soname,-current_version,$version,-compatibility_version,$abi")
    ;;
*-windows-msvc) made_as=meshreel_c.dll shared=bin/$made_as static=meshreel_c.lib linked=meshreel_c.dll ;;
*)
    made_as=libmeshreel_c.so shared=lib/$made_as.$version soname=$made_as.$abi
    links=("$soname" "$made_as")
    arguments=(-C "link-arg=-Wl,-soname,$soname")
    ;;
esac

# `cargo rustc` leaves out the type `rlib`, with which Cargo does no link-time optimization. The SONAME is
# given here, not in a build script, so that programs linked to other builds run without links. cargo-c
# writes neither packages for CMake nor archives.
mkdir -p "$built"
tools/release/cargo.sh rustc "$target" --profile library -p meshreel-c --lib --crate-type "$types" -- \
    ${arguments[@]+"${arguments[@]}"} --print "native-static-libs=$built/system"
# Compilers add their own and those of C themselves, also for programs without any shared library.
system=$(tr ' ' '\n' < "$built/system" \
    | sed -E '/^(-lgcc_s|-lc|-lSystem|\/defaultlib:.*)$/d' | paste -sd ' ' -)
pointer_bits=$(rustc --print cfg --target "$target" | sed -n 's/^target_pointer_width="\(.*\)"/\1/p')

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
out=$made/$name
mkdir -p "$out/include" "$out/lib/pkgconfig" "$out/lib/cmake/meshreel" "$out/examples"
cp LICENSE-APACHE LICENSE-MIT docs/ENGINES.md "$out"
if [ -n "${NOTICES:-}" ]; then cp "$NOTICES/THIRD_PARTY-library.txt" "$out"; fi
cp bindings/c/include/meshreel.h "$out/include"
cp bindings/c/examples/*.[ch]* "$out/examples"
cp "$built/$static" "$out/lib"
if [ "$static" = libmeshreel_c.a ]; then
    # Lines for debuggers, of the standard library. Rust's own tool knows every target.
    rust=$(rustc --print sysroot)
    LD_LIBRARY_PATH=$rust/lib DYLD_LIBRARY_PATH=$rust/lib "$rust/lib/rustlib/$host/bin/rust-objcopy" \
        --strip-debug "$out/lib/$static"
fi
if [ -n "$shared" ]; then
    mkdir -p "$(dirname "$out/$shared")"
    cp "$built/$made_as" "$out/$shared"
    for link in ${links[@]+"${links[@]}"}; do ln -s "${shared##*/}" "$out/lib/$link"; done
fi
if [ -f "$built/$linked.lib" ]; then cp "$built/$linked.lib" "$out/lib"; fi

# `fill FILE PLACE`: a file of bindings/c/package with the names of this archive.
fill() {
    sed -e "s|@VERSION@|$version|g; s|@ABI@|$abi|g; s|@POINTER_BYTES@|$((pointer_bits / 8))|g" \
        -e "s|@STATIC@|$static|g; s|@SHARED@|$shared|g; s|@SONAME@|$soname|g; s|@LINKED@|$linked|g" \
        -e "s|@SYSTEM@|$system|g; s|@SYSTEM_LIST@|${system// /;}|g" \
        "bindings/c/package/$1" > "$out/$2"
}
fill CMakeLists.txt CMakeLists.txt
fill examples.cmake examples/CMakeLists.txt
fill meshreel-config.cmake lib/cmake/meshreel/meshreel-config.cmake
fill meshreel-config-version.cmake lib/cmake/meshreel/meshreel-config-version.cmake
if [ -n "$shared" ]; then fill meshreel.pc lib/pkgconfig/meshreel.pc; fi
fill meshreel-static.pc lib/pkgconfig/meshreel-static.pc

tar -C "$made" -czf "$folder/$name.tar.gz" "$name"
cd "$folder"
if command -v sha256sum > /dev/null; then sum=(sha256sum); else sum=(shasum -a 256); fi
"${sum[@]}" "$name.tar.gz" | tee "$name.tar.gz.sha256"
