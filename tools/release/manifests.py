#!/usr/bin/env python3
"""Fills the formula of Homebrew and the manifests of winget: version, addresses and checksums of archives.

    manifests.py ARCHIVES OUT

ARCHIVES is a folder with meshreel-TARGET.tar.gz and .zip, as tools/release/pack.sh makes them; the templates
are in templates/. The version is that of the workspace. Python 3.11 or later.
"""

import hashlib
import pathlib
import re
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
FIELD = re.compile(r'\{(version|url|sha256)(?::([a-z0-9_-]+))?\}')


def main() -> None:
    archives, out = map(pathlib.Path, sys.argv[1:])
    package = tomllib.loads((HERE.parents[1] / 'Cargo.toml').read_text())['workspace']['package']

    def value(match: re.Match) -> str:
        field, target = match.groups()
        if field == 'version':
            return package['version']
        archive = archives / f"meshreel-{target}.{'zip' if 'windows' in target else 'tar.gz'}"
        if not archive.is_file():
            sys.exit(f'{archive} is missing: the templates name its target; pack it, or change them')
        if field == 'url':
            return f"{package['repository']}/releases/download/v{package['version']}/{archive.name}"
        return hashlib.sha256(archive.read_bytes()).hexdigest()

    out.mkdir(parents=True, exist_ok=True)
    for template in sorted((HERE / 'templates').iterdir()):
        (out / template.name).write_text(FIELD.sub(value, template.read_text()))
        print(out / template.name)


if __name__ == '__main__':
    main()
