"""Each package that is linked into a release has a licence that `tools/release/about.toml` accepts.

    licences.py MANIFEST [FEATURES]

Follows the dependencies of the package at MANIFEST for all systems, without those of builds and tests.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Older packages separate choices by a slash.
TOKEN = re.compile(r'\(|\)|/|[^\s()/]+')


def satisfied(expression: str, accepted: set[str]) -> bool:
    """Whether accepted licences satisfy an SPDX expression; AND binds more tightly than OR."""
    tokens = TOKEN.findall(expression)

    def any_of() -> bool:
        result = all_of()
        while tokens and tokens[0] in ('OR', '/'):
            tokens.pop(0)
            result |= all_of()
        return result

    def all_of() -> bool:
        result = one()
        while tokens and tokens[0] == 'AND':
            tokens.pop(0)
            result &= one()
        return result

    def one() -> bool:
        token = tokens.pop(0)
        if token == '(':
            result = any_of()
            assert tokens.pop(0) == ')', expression
            return result
        if tokens and tokens[0] == 'WITH':
            tokens.pop(0)
            token = f'{token} WITH {tokens.pop(0)}'
        return token in accepted

    result = any_of()
    assert not tokens, expression
    return result


def linked(metadata: dict, manifest: pathlib.Path) -> set[str]:
    """The identities of the packages that end up in the package of `manifest`, itself included."""
    procedural = {package['id'] for package in metadata['packages']
                  if any('proc-macro' in target['kind'] for target in package['targets'])}
    nodes = {node['id']: node for node in metadata['resolve']['nodes']}
    waiting = [package['id'] for package in metadata['packages'] if package['manifest_path'] == str(manifest)]
    assert len(waiting) == 1, f'{manifest}: no package'
    found = set()
    while waiting:
        identity = waiting.pop()
        if identity in found or identity in procedural:
            continue
        found.add(identity)
        waiting += [dependency['pkg'] for dependency in nodes[identity]['deps']
                    if any(kind['kind'] is None for kind in dependency['dep_kinds'])]
    return found


def main() -> None:
    for wrong in ['GPL-3.0', 'MIT AND GPL-3.0', '(MIT OR GPL-3.0) AND X', 'Apache-2.0 WITH LLVM-exception']:
        assert not satisfied(wrong, {'MIT', 'Apache-2.0'}), wrong
    for right in ['MIT/Apache-2.0', 'GPL-3.0 OR MIT AND Apache-2.0', 'Apache-2.0 AND (GPL-3.0 OR MIT)']:
        assert satisfied(right, {'MIT', 'Apache-2.0'}), right

    accepted = set(tomllib.loads((ROOT / 'tools/release/about.toml').read_text())['accepted'])
    manifest = (ROOT / sys.argv[1]).resolve()
    command = ['cargo', 'metadata', '--locked', '--format-version', '1', '--manifest-path', str(manifest)]
    if len(sys.argv) > 2:
        command += ['--features', sys.argv[2]]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    packages = {package['id']: package for package in metadata['packages']}
    identities = linked(metadata, manifest)
    refused = [f"{package['name']} {package['version']}: {package['license'] or 'no licence'}"
               for package in map(packages.get, sorted(identities))
               if not satisfied(package['license'] or 'none', accepted)]
    if refused:
        sys.exit('\n'.join([f'{sys.argv[1]}: not accepted by tools/release/about.toml:', *refused]))
    print(f'{len(identities):5} packages  {sys.argv[1]}')


if __name__ == '__main__':
    main()
