"""The manifests that tools/release/manifests.py filled: all fields have values, and winget's are consistent.

    manifests.py FILLED ARCHIVES
"""

import hashlib
import pathlib
import sys

import yaml

filled, archives = map(pathlib.Path, sys.argv[1:])
sums = {hashlib.sha256(path.read_bytes()).hexdigest(): path.name for path in archives.iterdir()}
texts = {path.name: path.read_text() for path in filled.iterdir()}
for name, text in texts.items():
    assert '{' not in text.replace('#{', ''), f'{name}: a field without a value'

formula = texts.pop('meshreel.rb').splitlines()
pairs = [(formula[number], formula[number + 1]) for number, line in enumerate(formula) if ' url ' in line]
assert len(pairs) == 4, pairs
for url, sha256 in pairs:
    assert sums[sha256.split('"')[1]] == url.split('"')[1].rsplit('/', 1)[1], url

manifests = {name: yaml.safe_load(text) for name, text in texts.items()}
kinds = sorted(manifest['ManifestType'] for manifest in manifests.values())
assert kinds == ['defaultLocale', 'installer', 'version'], kinds
for key in ['PackageIdentifier', 'PackageVersion', 'ManifestVersion']:
    assert len({manifest[key] for manifest in manifests.values()}) == 1, key
for installer in manifests['meshreel.meshreel.installer.yaml']['Installers']:
    archive = installer['InstallerUrl'].rsplit('/', 1)[1]
    assert sums[installer['InstallerSha256']] == archive, archive
    for file in installer['NestedInstallerFiles']:
        assert file['RelativeFilePath'].split('\\')[0] == archive.removesuffix('.zip'), file
print(f'{len(pairs)} archives for Homebrew, {len(manifests)} manifests for winget')
