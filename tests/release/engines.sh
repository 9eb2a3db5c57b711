#!/usr/bin/env bash
# The packages for engines are complete: descriptions of this version, licences, the header of the library, a description
# of each of Unity's files, and libraries where their engines look for them.
#   tests/release/engines.sh FOLDER [--all]      --all: the libraries of all targets must be there
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
folder=$(cd "$1" && pwd)
all=${2:-}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
(cd "$folder" && sha256sum --quiet -c -- *.sha256)
tar -xzf "$folder"/com.meshreel.runtime-*.tgz -C "$made"
unzip -q "$folder"/meshreel-unreal-*.zip -d "$made"
unzip -q "$folder"/meshreel-godot-*.zip -d "$made"
unity=$made/package unreal=$made/Meshreel godot=$made/addons/meshreel

python3 - "$root" "$unity" "$unreal" "$godot" <<'END'
import json, pathlib, re, sys, tomllib
root, unity, unreal, godot = map(pathlib.Path, sys.argv[1:])
version = tomllib.loads((root / 'Cargo.toml').read_text())['workspace']['package']['version']
assert json.loads((unity / 'package.json').read_text())['version'] == version
assert json.loads((unreal / 'Meshreel.uplugin').read_text())['VersionName'] == version
for package in (unity, unreal, godot):
    assert (package / 'LICENSE-MIT').is_file() and (package / 'LICENSE-APACHE').is_file(), package
    assert not [path for path in package.rglob('*') if path.is_symlink()], f'{package}: links'
hidden = lambda path: any(part.endswith('~') or part.startswith('.') for part in path.relative_to(unity).parts)
guids = {}
for path in unity.rglob('*'):
    if hidden(path) or path.suffix == '.meta':
        continue
    meta = path.with_name(path.name + '.meta')
    assert meta.is_file(), f'Unity ignores {path.relative_to(unity)}: it has no .meta'
    guid = re.search(r'^guid: ([0-9a-f]{32})$', meta.read_text(), re.M)
    assert guid and guid[1] not in guids, f'{meta}: its guid'
    guids[guid[1]] = path
assert len(guids) > 30, len(guids)
header = unreal / 'Source/ThirdParty/MeshreelLibrary/include/meshreel.h'
assert header.read_bytes() == (root / 'bindings/c/include/meshreel.h').read_bytes()
extension = (godot / 'meshreel.gdextension').read_text()
print(f'{len(guids)} files of Unity, version {version}')
sys.exit(0 if 'gdext_rust_init' in extension else 'meshreel.gdextension has no entry symbol')
END
libraries=$(cd "$made" && find . -name '*meshreel_c.*' -o -name '*meshreel_godot.*' | grep -vE '\.(meta|h)$' | sort)
echo "$libraries"
[ -n "$libraries" ] || { echo "no library in any package" >&2 && exit 1; }
if [ "$all" = --all ]; then
    # What the descriptions of packages name.
    for library in $(grep -oE 'bin/[^"]+' "$godot/meshreel.gdextension"); do
        case $library in *android*) continue ;; esac
        [ -f "$godot/$library" ] || { echo "Godot: $library is missing" >&2 && exit 1; }
    done
    for library in Windows/x86_64/meshreel_c.dll Windows/arm64/meshreel_c.dll macOS/libmeshreel_c.dylib \
        Linux/x86_64/libmeshreel_c.so Android/{arm64-v8a,armeabi-v7a,x86_64}/libmeshreel_c.so iOS/meshreel_c.xcframework \
        WebGL/libmeshreel_c.a; do
        [ -e "$unity/Plugins/$library" ] || { echo "Unity: $library is missing" >&2 && exit 1; }
    done
fi
