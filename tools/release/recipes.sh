#!/usr/bin/env bash
# Packs the recipes of vcpkg and Conan with the checksums of the archives in a folder, those of `library.sh`
# for all targets: meshreel-recipes.tar.gz, and its checksum beside it.
#   tools/release/recipes.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(cd "$1" && pwd)
version=$(cargo pkgid -p meshreel-c)
version=${version##*[#@]}
name=meshreel-recipes
released=https://github.com/meshreel/meshreel/releases/download/v$version

for recipe in integrations/vcpkg/vcpkg.json integrations/conan/conanfile.py; do
    if ! grep -q "version.*\"$version\"" "$recipe"; then
        echo "$recipe is not for version $version: change it there" >&2 && exit 1
    fi
done
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
out=$made/$name
mkdir "$out"
cp -r integrations/vcpkg integrations/conan LICENSE-APACHE LICENSE-MIT "$out"
printf 'sources:\n  "%s":\n' "$version" > "$out/conan/conandata.yml"
for archive in "$folder"/meshreel-c-*-*-*.tar.gz; do
    file=${archive##*/} target=${archive##*/meshreel-c-}
    target=${target%.tar.gz}
    echo "set(sha512_$target $(sha512sum < "$archive" | cut -d ' ' -f 1))" >> "$out/vcpkg/checksums.cmake"
    printf '    %s:\n      url: %s/%s\n      sha256: %s\n' "$target" "$released" "$file" \
        "$(sha256sum < "$archive" | cut -d ' ' -f 1)" >> "$out/conan/conandata.yml"
done
tar -C "$made" -czf "$folder/$name.tar.gz" "$name"
cd "$folder"
sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256"
