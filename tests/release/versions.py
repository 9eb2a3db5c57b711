"""All packages of the repository have one version. For a tag it is the tag's, and CHANGELOG.md names it."""

import json
import os
import pathlib
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def toml(path: str) -> dict:
    return tomllib.loads((ROOT / path).read_text())


workspace = toml('Cargo.toml')['workspace']
version = workspace['package']['version']
lock = json.loads((ROOT / 'bindings/web/package-lock.json').read_text())
found = {
    'bindings/python/Cargo.toml': toml('bindings/python/Cargo.toml')['package']['version'],
    'tools/viewer/Cargo.toml': toml('tools/viewer/Cargo.toml')['package']['version'],
    'bindings/web/package.json': json.loads((ROOT / 'bindings/web/package.json').read_text())['version'],
    'bindings/web/package-lock.json': lock['version'],
    'bindings/web/package-lock.json, first package': lock['packages']['']['version'],
    'integrations/bevy': toml('integrations/bevy/Cargo.toml')['package']['version'],
    'integrations/godot': toml('integrations/godot/Cargo.toml')['package']['version'],
    'integrations/unity': json.loads((ROOT / 'integrations/unity/package.json').read_text())['version'],
    'integrations/unreal': json.loads((ROOT / 'integrations/unreal/Meshreel.uplugin').read_text())['VersionName'],
    'integrations/blender': toml('integrations/blender/meshreel_blender/blender_manifest.toml')['version'],
}
for name, dependency in workspace['dependencies'].items():
    if name.startswith('meshreel') and 'version' in dependency:
        found[f'Cargo.toml, {name}'] = dependency['version']
if os.environ.get('GITHUB_REF_TYPE') == 'tag':
    found['the tag'] = os.environ['GITHUB_REF_NAME'].removeprefix('v')
    changes = (ROOT / 'CHANGELOG.md').read_text().splitlines()
    sections = [line.split()[1] for line in changes if line.startswith('## ')]
    assert version in sections, f'CHANGELOG.md has no section "## {version}"'
different = {place: other for place, other in found.items() if other != version}
assert not different, f'Cargo.toml has version {version}, but {different}'
print(f'{version} in {len(found) + 1} places')
