#!/usr/bin/env bash
# Writes a .meta file for each asset of the package. Packages are read-only in a project, so that Unity cannot create
# these files there, and ignores assets without them. The GUID is the MD5 of the path, hence the same forever.
#   Tools~/metas.sh           writes what is missing or different, and removes those of assets that are gone
#   Tools~/metas.sh --check   only says what is missing, different or too much; fails if there is anything
set -euo pipefail
cd "$(dirname "$0")/.."
check=0
if [ "${1:-}" = --check ]; then check=1; fi
wrong=0

guid() { printf 'com.meshreel.runtime/%s' "$1" | md5sum | cut -c1-32; }

# Settings of a library for one platform: Unity loads it only there.
plugin() {
    local platform=$1 cpu=$2 os=$3 editor=$4
    printf 'PluginImporter:\n  externalObjects: {}\n  serializedVersion: 2\n  iconMap: {}\n  executionOrder: {}\n'
    printf '  defineConstraints: []\n  isPreloaded: 0\n  isOverridable: 1\n  isExplicitlyReferenced: 0\n'
    printf '  validateReferences: 1\n  platformData:\n'
    printf '  - first:\n      Any: \n    second:\n      enabled: 0\n      settings: {}\n'
    printf '  - first:\n      Editor: Editor\n    second:\n      enabled: %s\n      settings:\n' "$editor"
    printf '        CPU: %s\n        DefaultValueInitialized: true\n        OS: %s\n' "$cpu" "$os"
    printf '  - first:\n      %s\n    second:\n      enabled: 1\n      settings:\n        CPU: %s\n' "$platform" "$cpu"
}

importer() {
    local asset=$1
    if [ -d "$asset" ] && [[ "$asset" != *.xcframework ]]; then
        printf 'folderAsset: yes\nDefaultImporter:\n  externalObjects: {}\n'
        return
    fi
    case $asset in
    *.cs)
        printf 'MonoImporter:\n  externalObjects: {}\n  serializedVersion: 2\n  defaultReferences: []\n'
        printf '  executionOrder: 0\n  icon: {instanceID: 0}\n'
        ;;
    *.asmdef) printf 'AssemblyDefinitionImporter:\n  externalObjects: {}\n' ;;
    package.json) printf 'PackageManifestImporter:\n  externalObjects: {}\n' ;;
    *.md | *.json | *.txt) printf 'TextScriptImporter:\n  externalObjects: {}\n' ;;
    *.compute) printf 'ComputeShaderImporter:\n  externalObjects: {}\n  preprocessorOverride: 0\n' ;;
    *.hlsl) printf 'ShaderIncludeImporter:\n  externalObjects: {}\n' ;;
    *.shader) printf 'ShaderImporter:\n  externalObjects: {}\n  defaultTextures: []\n  nonModifiableTextures: []\n' ;;
    Plugins/Windows/x86_64/*) plugin 'Standalone: Win64' x86_64 Windows 1 ;;
    Plugins/Windows/arm64/*) plugin 'Standalone: Win64' ARM64 Windows 1 ;;
    Plugins/macOS/*) plugin 'Standalone: OSXUniversal' AnyCPU OSX 1 ;;
    Plugins/Linux/x86_64/*) plugin 'Standalone: Linux64' x86_64 Linux 1 ;;
    Plugins/Android/arm64-v8a/*) plugin 'Android: Android' ARM64 AnyOS 0 ;;
    Plugins/Android/armeabi-v7a/*) plugin 'Android: Android' ARMv7 AnyOS 0 ;;
    Plugins/Android/x86_64/*) plugin 'Android: Android' X86_64 AnyOS 0 ;;
    Plugins/iOS/*) plugin 'iPhone: iOS' AnyCPU AnyOS 0 ;;
    Plugins/WebGL/*) plugin 'WebGL: WebGL' AnyCPU AnyOS 0 ;;
    *) printf 'DefaultImporter:\n  externalObjects: {}\n' ;;
    esac
    printf '  userData: \n  assetBundleName: \n  assetBundleVariant: \n'
}

meta() {
    printf 'fileFormatVersion: 2\nguid: %s\n' "$(guid "$1")"
    importer "$1"
    if [ -d "$1" ] && [[ "$1" != *.xcframework ]]; then
        printf '  userData: \n  assetBundleName: \n  assetBundleVariant: \n'
    fi
}

# Unity ignores folders whose name ends with ~ and everything that begins with a dot. A framework is one asset.
assets() {
    find . -mindepth 1 \( -name '*~' -o -name '.*' \) -prune -o -name '*.xcframework' -print -prune -o \
        ! -name '*.meta' -print | sed 's|^\./||' | LC_ALL=C sort
}

while IFS= read -r asset; do
    if [ "$(meta "$asset")" = "$(cat "$asset.meta" 2>/dev/null)" ]; then continue; fi
    if [ $check = 1 ]; then
        echo "$asset.meta is missing or different" >&2
        wrong=1
    else
        meta "$asset" > "$asset.meta"
    fi
done < <(assets)
while IFS= read -r file; do
    if [ -e "${file%.meta}" ]; then continue; fi
    if [ $check = 1 ]; then
        echo "$file belongs to no asset" >&2
        wrong=1
    else
        rm "$file"
    fi
done < <(find . -mindepth 1 \( -name '*~' -o -name '.*' \) -prune -o -name '*.meta' -print)
duplicates=$(find . -name '*.meta' -exec grep -h '^guid:' {} + | sort | uniq -d)
if [ -n "$duplicates" ]; then
    echo "GUIDs that stand twice: $duplicates" >&2
    wrong=1
fi
exit $wrong
